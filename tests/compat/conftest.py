"""Programs are run in processes of their own, where `torch` on the path is a package that must not be imported."""

import os
import subprocess
import sys

import pytest


@pytest.fixture
def folder(tmp_path):
    """Holds `torch` and `torchvision` that end the process, and is the programs' working folder."""
    for name in ("torch", "torchvision"):
        (tmp_path / "site" / name).mkdir(parents=True)
        (tmp_path / "site" / name / "__init__.py").write_text(
            f"raise SystemExit('the installed {name} was imported')\n"
        )
    return tmp_path


@pytest.fixture
def python(folder):
    """Runs python with arguments; what it printed, once it ended with the status expected."""

    def run(*arguments, status=0, input=None, **environment):
        path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(folder / "site")])
        path = os.pathsep.join([os.path.abspath(p) for p in path.split(os.pathsep)])
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "", **environment},
            text=True,
            capture_output=True,
            input=input,
            timeout=120,
        )
        assert done.returncode == status, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run
