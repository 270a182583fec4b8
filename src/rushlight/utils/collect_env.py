"""What a bug report needs to know of a machine: ``python -m rushlight.utils.collect_env``.

Under ``rushlight run -m torch.utils.collect_env`` it is found by PyTorch's name for it.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

import rushlight

_PACKAGES = re.compile(r"(?i)^(rushlight|torch.*|numpy|pillow|scipy|nanobind|mypy|mypy-extensions|onnx.*|triton.*)$")


class SystemEnv(NamedTuple):
    """The facts, each as text or None; the names are PyTorch's."""

    rushlight_version: str
    rushlight_path: str
    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str | None
    os: str
    gcc_version: str | None
    clang_version: str | None
    cmake_version: str | None
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    cpu_capability: str
    cpu_info: str
    threads: str
    pip_packages: str


def get_env_info() -> SystemEnv:
    """Looks at this machine, and at the packages of this Python."""
    return SystemEnv(
        rushlight_version=rushlight.__version__,
        rushlight_path=os.path.dirname(rushlight.__file__),
        torch_version=str(rushlight.version.__version__),
        is_debug_build=str(rushlight.version.debug),
        cuda_compiled_version=rushlight.version.cuda,
        os=_os_name(),
        gcc_version=_version_of("gcc"),
        clang_version=_version_of("clang"),
        cmake_version=_version_of("cmake"),
        libc_version="-".join(platform.libc_ver()),
        python_version=f"{sys.version.replace(chr(10), ' ')} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        python_platform=platform.platform(),
        is_cuda_available=str(rushlight.cuda.is_available()),
        cpu_capability=rushlight.backends.cpu.get_cpu_capability(),
        cpu_info=_processor(),
        threads=f"{rushlight.get_num_threads()} of {os.cpu_count()} processors",
        pip_packages=_packages(),
    )


def get_pretty_env_info() -> str:
    """:func:`get_env_info` as text."""
    return pretty_str(get_env_info())


def pretty_str(info: SystemEnv) -> str:
    """The facts, a line each."""
    return f"""\
Rushlight version: {info.rushlight_version}
Installed in: {info.rushlight_path}
PyTorch version: {info.torch_version} (the API that is followed)
Is debug build: {info.is_debug_build}
CUDA used to build: {info.cuda_compiled_version}

OS: {info.os}
GCC version: {info.gcc_version or "not found"}
Clang version: {info.clang_version or "not found"}
CMake version: {info.cmake_version or "not found"}
Libc version: {info.libc_version}

Python version: {info.python_version}
Python platform: {info.python_platform}
Is CUDA available: {info.is_cuda_available}

CPU: {info.cpu_info}
Vector instructions: {info.cpu_capability}
Threads: {info.threads}

Versions of relevant libraries:
{info.pip_packages}"""


def _os_name() -> str:
    try:
        release = platform.freedesktop_os_release()
        return f"{release.get('PRETTY_NAME', release['NAME'])} ({platform.machine()})"
    except OSError:
        return f"{platform.system()} {platform.release()} ({platform.machine()})"


def _version_of(command: str) -> str | None:
    """The first line of what a program says of its version, without its name."""
    path = shutil.which(command)
    if path is None:
        return None
    try:
        out = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    return re.sub(r"^\S+ (version )?", "", out.splitlines()[0]) if out else None


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        return f"{names[0]} ({len(names)} processors)"
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def _packages() -> str:
    from importlib.metadata import distributions

    found = {(d.metadata["Name"] or "", d.version) for d in distributions()}
    return "\n".join(f"[pip3] {name}=={version}" for name, version in sorted(found) if _PACKAGES.match(name))


def main() -> None:
    """Prints :func:`get_pretty_env_info`."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
