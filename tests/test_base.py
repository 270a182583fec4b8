"""The allocator, thread pool and generator under threads, forks and sanitizers: builds and runs base_stress.cpp."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CSRC = HERE.parent / "csrc"
COMPILER = shutil.which(os.environ.get("CXX", "c++"))

BUILDS = {
    "plain": [],
    "address,undefined": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread"],
}


@pytest.mark.skipif(not COMPILER, reason="needs a C++ compiler")
@pytest.mark.parametrize("build", ["plain", *(pytest.param(b, marks=pytest.mark.slow) for b in BUILDS if b != "plain")])
def test_base_under_strain(build, tmp_path):
    program = tmp_path / "stress"
    command = [COMPILER, "-std=c++20", "-O1", "-g1", "-pthread", f"-I{CSRC}", *BUILDS[build], "-o", program]
    sources = [HERE / "base_stress.cpp", *sorted((CSRC / "base").glob("*.cpp"))]
    built = subprocess.run([*command, *sources], capture_output=True, text=True)
    if "cannot find -l" in built.stderr or "unsupported option" in built.stderr:
        pytest.skip("the compiler has no such sanitizer")
    assert built.returncode == 0, built.stderr
    # Threads of the parent's are not the child's to join.
    settings = {"TSAN_OPTIONS": "die_after_fork=0 report_thread_leaks=0", "ASAN_OPTIONS": "detect_leaks=0"}
    for no_cache in ("0", "1") if build == "plain" else ("0",):
        env = os.environ | settings | {"RUSHLIGHT_NO_CACHE": no_cache}
        ran = subprocess.run([program], capture_output=True, text=True, timeout=300, env=env)
        assert ran.returncode == 0 and ran.stdout == "ok\n", ran.stdout + ran.stderr
