"""Apple's GPUs, which Rushlight does not compute on."""

from __future__ import annotations


def is_available() -> bool:
    """Whether there is such a device to compute on."""
    return False


def is_built() -> bool:
    """Whether this build has code for such devices."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether this is macOS with such a device, and so new."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether this is macOS 13 with such a device, or newer."""
    return False
