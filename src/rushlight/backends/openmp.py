"""Whether OpenMP is used: Rushlight computes with kernels and threads of its own."""

from __future__ import annotations


def is_available() -> bool:
    """False: it is not used."""
    return False
