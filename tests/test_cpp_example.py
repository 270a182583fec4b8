"""A C++ program builds against the installed library and computes with it."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import rushlight.utils

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent / "examples" / "cpp"
PREFIX = pathlib.Path(rushlight.utils.cmake_prefix_path)

needs_compiler = pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C++ compiler")


def module(name, *arguments):
    """cmake and ninja come from PyPI; the scripts beside this interpreter are those."""
    script = pathlib.Path(sys.executable).with_name(name)
    return [str(script) if script.exists() else name, *map(str, arguments)]


def call(*arguments, **options):
    out = subprocess.run(arguments, capture_output=True, text=True, **options)
    assert out.returncode == 0, out.stdout + out.stderr
    return out.stdout


@needs_compiler
def test_fit_line(tmp_path):
    ninja = module("ninja")[0]
    call(*module("cmake", "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", "-S", EXAMPLE, "-B", tmp_path,
                 f"-DCMAKE_PREFIX_PATH={PREFIX}"))  # fmt: skip
    call(*module("cmake", "--build", tmp_path))
    said = call(tmp_path / "fit_line")
    slope, intercept = map(float, re.search(r"y = (\S+) x \+ (\S+)", said).groups())
    assert abs(slope - 2) < 0.05 and abs(intercept - 1) < 0.05


@needs_compiler
def test_public_headers_need_only_the_standard_library(tmp_path):
    """Each header that is shipped compiles by itself, with no other include path than its own."""
    include = PREFIX.parent.parent / "include" / "rushlight"
    headers = sorted(include.rglob("*.h"))
    assert include / "rushlight.h" in headers
    compiler = next(filter(shutil.which, ("c++", "g++", "clang++")))
    source = tmp_path / "all.cpp"
    source.write_text("".join(f'#include "{h.relative_to(include)}"\n' for h in headers))
    call(compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{include}", source)
    assert not [h for h in headers if re.search(r"#\s*include\s*<(Python\.h|nanobind)", h.read_text())]
