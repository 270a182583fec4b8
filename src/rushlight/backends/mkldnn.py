"""Whether oneDNN is used: Rushlight computes with kernels and threads of its own."""

from __future__ import annotations

from ._flags import switched

enabled = True  # a switch that is remembered


def is_available() -> bool:
    """False: it is not used."""
    return False


def flags(enabled=None):
    """A context in which the switch is set otherwise."""
    return switched(globals(), enabled=enabled)
