"""A switch for a faster path through attention in evaluation, which is remembered and changes nothing."""

from __future__ import annotations

_enabled = True


def get_fastpath_enabled() -> bool:
    """What :func:`set_fastpath_enabled` was given; True at first."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Remembered."""
    global _enabled
    _enabled = bool(value)
