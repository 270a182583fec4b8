"""What scripts ask about Intel's GPUs: there is none to compute on."""

from __future__ import annotations

from ._lazy import only


def is_available() -> bool:
    """Whether there is such a device."""
    return False


def device_count() -> int:
    """How many such devices there are."""
    return 0


def manual_seed(seed: int) -> None:
    """There is no generator to seed."""


def manual_seed_all(seed: int) -> None:
    """There are no generators to seed."""


def synchronize(device=None) -> None:
    """There is nothing to wait for."""


def empty_cache() -> None:
    """There is no memory to give back."""


__getattr__ = only(__name__)
