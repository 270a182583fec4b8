"""What scripts ask about CUDA before they choose a device: Rushlight computes on the CPU, so there is none.

>>> import rushlight as rl
>>> rl.device("cuda" if rl.cuda.is_available() else "cpu")
device(type='cpu')
"""

from __future__ import annotations

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all"]


def is_available() -> bool:
    """Whether there is a CUDA device to compute on."""
    return False


def device_count() -> int:
    """How many CUDA devices there are."""
    return 0


def manual_seed(seed: int) -> None:
    """Seeds the current CUDA device's generator; without a device it does nothing, as in PyTorch."""


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all CUDA devices; without a device it does nothing, as in PyTorch."""


def empty_cache() -> None:
    """Gives memory that is cached for CUDA devices back; without a device it does nothing, as in PyTorch."""
