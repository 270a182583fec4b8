"""`import rushlight` is quick and brings along nothing that is not needed yet."""

import json
import statistics
import subprocess
import sys

LIMIT = 0.100  # seconds beyond Python's own start
LEFT_OUT = {"numpy", "inspect", "multiprocessing", "PIL", "torch", "scipy", "matplotlib"}
CODE = """
import sys, time
before = set(sys.modules)
start = time.perf_counter()
import rushlight
seconds = time.perf_counter() - start
import json
print(json.dumps({"seconds": seconds, "modules": sorted(set(sys.modules) - before)}))
"""


def cold_import() -> dict:
    out = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout)


def test_import_leaves_out():
    assert not LEFT_OUT & set(cold_import()["modules"])


def test_what_is_imported_later_is_listed():
    code = "import rushlight as rl; print({'nn', 'optim', 'save'} - {*dir(rl)}, {'data'} - {*dir(rl.utils)})"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "set() set()\n"


def test_import_is_quick():
    medians = []
    for _ in range(4):  # the suite runs on every core, so give a busy machine another chance
        medians.append(statistics.median(cold_import()["seconds"] for _ in range(5)))
        if medians[-1] <= LIMIT:
            return
    assert min(medians) <= LIMIT, f"import rushlight took {min(medians) * 1000:.0f} ms; the limit is {LIMIT * 1000:.0f}"
