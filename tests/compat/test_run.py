"""`rushlight run` runs a program as python does, with Rushlight as torch, in its child processes too."""

import pathlib
import signal
import textwrap

import pytest

import rushlight

PACKAGE = pathlib.Path(rushlight.__file__).parent.parent
ANSWER = """
import json, sys
print(json.dumps([sys.argv, sys.path[0], __name__, globals().get("__file__"), __spec__ and __spec__.name, __package__,
                  sorted(set(globals()) - {"json", "sys"})]))
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ["program.py"],
        ["program.py", "-m", "--help", "a b", ""],
        ["pack/program.py", "x"],
        ["./link.py"],
        ["-m", "pack.program", "-v", "x"],
        ["-m", "pack"],
        ["pack"],
        ["-c", ANSWER, "-x"],
    ],
    ids=lambda a: " ".join(a)[:20],
)
def test_as_python_does(python, folder, arguments):
    for name in ("program.py", "pack/program.py", "pack/__main__.py"):
        write(folder / name, ANSWER)
    write(folder / "pack" / "__init__.py", "")
    (folder / "link.py").symlink_to("pack/program.py")
    assert python("-m", "rushlight", "run", *arguments).stdout == python(*arguments).stdout


@pytest.mark.parametrize(
    "program",
    [
        "raise SystemExit(7)",
        "raise SystemExit('words')",
        "import sys; sys.exit()",
        "1 / 0",
        "def f():\n    raise KeyError('x')\nf()",
        "x = = 1",
        "import os; os._exit(3)",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "raise KeyboardInterrupt",
        "import atexit; atexit.register(print, 'bye'); print(input())",
        "raise ImportError('none')",
    ],
)
def test_ends_as_under_python(python, folder, program):
    path = write(folder / "program.py", "import sys\n" + program + "\n")
    status = {"SystemExit(7)": 7, "SystemExit('words')": 1, "sys.exit()": 0, "_exit(3)": 3}
    status = next((code for text, code in status.items() if text in program), 1)
    status = -signal.SIGTERM if "SIGTERM" in program else -signal.SIGINT if "Keyboard" in program else status
    status = 0 if "atexit" in program else status
    under = python("-m", "rushlight", "run", path, status=status, input="typed\n")
    plain = python(path, status=status, input="typed\n")
    assert (under.stdout, under.stderr) == (plain.stdout, plain.stderr)


@pytest.mark.parametrize(
    "arguments, status, words",
    [
        (["run", "no.py"], 2, "can't open file"),
        (["run", "-m", "no_such_module"], 1, "No module named no_such_module"),
        (["run"], 2, "needs a program"),
        (["run", "--help"], 0, "in place of torch"),
    ],
)
def test_what_is_no_program(python, arguments, status, words):
    done = python("-m", "rushlight", *arguments, status=status)
    assert words in " ".join((done.stderr + done.stdout).split())


def test_options_of_python_are_kept(python, folder):
    path = write(folder / "program.py", "import sys; print(sys.flags.optimize, sys.flags.dont_write_bytecode)")
    assert python("-O", "-B", "-m", "rushlight", "run", path).stdout == "1 1\n"
    # PYTHONPATH, as -S hides what is installed
    assert "-S hide" in python("-S", "-m", "rushlight", "run", path, status=1, PYTHONPATH=str(PACKAGE)).stderr


IMPORTS = """
import torch
import torch.nn as nn
import torch.utils.data as data
import torchvision
from torch.nn import functional as F
from torchvision import transforms
assert torch.__version__.endswith("+rushlight"), torch
assert type(torch.zeros(1)).__module__.startswith("rushlight")
"""

CHILDREN = (
    IMPORTS
    + """
import multiprocessing, os, sys

def work(queue):
    import torch, torchvision.transforms
    queue.put((torch.__version__, torch.nn.Linear is nn.Linear, torch.ones(2).sum().item(), os.getpid()))

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.Queue()
    process = context.Process(target=work, args=(queue,))
    process.start()
    version, same, total, pid = queue.get(timeout=60)
    process.join()
    assert (version, same, total) == (torch.__version__, True, 2.0) and pid != os.getpid() and not process.exitcode
    print("done")
"""
)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("how", ["run", "run -m", "install"])
def test_children(python, folder, method, how):
    """The method `forkserver` imports the main module in its server where Python does so; that is covered as well."""
    if how == "install":
        text = "import rushlight.compat\nrushlight.compat.install()\n" + CHILDREN
        done = python(write(folder / "program.py", text), method)
    else:
        write(folder / "program.py", CHILDREN)
        program = ["program.py"] if how == "run" else ["-m", "program"]
        done = python("-m", "rushlight", "run", *program, method)
    assert done.stdout == "done\n"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pool_and_workers(python, folder, method):
    path = write(
        folder / "program.py",
        """
        import sys
        from concurrent.futures import ProcessPoolExecutor
        import multiprocessing
        import torch
        from torch.utils.data import DataLoader, TensorDataset

        def double(x):
            return 2 * x

        class Net(torch.nn.Module):
            def forward(self, x):
                return x + 1

        if __name__ == "__main__":
            multiprocessing.set_start_method(sys.argv[1])
            with ProcessPoolExecutor(1) as pool:
                assert pool.submit(double, torch.arange(3)).result().tolist() == [0, 2, 4]
                assert pool.submit(Net(), torch.arange(2)).result().tolist() == [1, 2]
            loader = DataLoader(TensorDataset(torch.arange(4)), batch_size=2, num_workers=1)
            print([batch.tolist() for (batch,) in loader])
        """,
    )
    assert python("-m", "rushlight", "run", path, method).stdout == "[[0, 1], [2, 3]]\n"


def test_programs_that_it_starts(python, folder):
    inner = write(folder / "inner.py", IMPORTS + "print('inner')")
    text = f"import subprocess, sys\nsubprocess.run([sys.executable, {str(inner)!r}], check=True)\n"
    outer = write(folder / "outer.py", text + "print([p for p in sys.path if 'hook' in p])")
    assert python("-m", "rushlight", "run", outer).stdout == "inner\n[]\n"


def test_other_folder(python, folder):
    """Rushlight found by way of the folder one is in is found from elsewhere too."""
    path = write(folder / "program.py", "import os\nos.chdir('/')\n" + IMPORTS + "print('done')")
    text = f"import sys; sys.path.insert(0, {str(PACKAGE)!r}); sys.argv = ['rushlight', 'run', {str(path)!r}]\n"
    text += "from rushlight.__main__ import main; main()"
    if not list((PACKAGE / "rushlight").glob("_C*")):
        pytest.skip("installed in editable mode: the engine lies elsewhere")
    assert python("-c", text, PYTHONPATH=str(folder / "site")).stdout == "done\n"


def test_the_systems_sitecustomize_runs_too(python, folder):
    write(folder / "site" / "sitecustomize.py", "print('custom')")
    path = write(folder / "program.py", IMPORTS + "import sitecustomize; print(sitecustomize.__file__)")
    assert python("-m", "rushlight", "run", path).stdout == f"custom\ncustom\n{folder / 'site' / 'sitecustomize.py'}\n"
