"""`import rushlight` is quick and brings along nothing that is not needed yet."""

import json
import statistics
import subprocess
import sys

LIMIT = 0.100  # seconds of the processor beyond Python's own start
LEFT_OUT = {"numpy", "inspect", "multiprocessing", "PIL", "torch", "scipy", "matplotlib"}
CODE = """
import sys, time
before = set(sys.modules)
start = time.process_time()  # what it costs, whatever else the machine does
import rushlight
seconds = time.process_time() - start
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
    seconds = statistics.median(cold_import()["seconds"] for _ in range(5))
    assert seconds <= LIMIT, f"import rushlight took {seconds * 1000:.0f} ms; the limit is {LIMIT * 1000:.0f}"
