"""What PyTorch has here, building extensions in C++, is missing: its names raise an error that says so."""

from __future__ import annotations

from .._lazy import only

__path__: list[str] = []  # a package in PyTorch: a module below it is missing, and is said to be
__getattr__ = only(
    __name__,
    "extensions written for PyTorch in C++ are not built; see examples/cpp for a program that uses the engine",
)
