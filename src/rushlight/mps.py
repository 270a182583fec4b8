"""What scripts ask about Apple's GPUs: there is none to compute on.

>>> import rushlight as rl
>>> rl.mps.is_available()
False
"""

from __future__ import annotations

from ._lazy import only
from ._settings import without_device

_WHY = (
    "there is no MPS device: this build of Rushlight computes on the CPU\n  hint: ask backends.mps.is_available() first"
)


def is_available() -> bool:
    """Whether there is such a device."""
    return False


def device_count() -> int:
    """How many such devices there are."""
    return 0


def manual_seed(seed: int) -> None:
    """There is no generator to seed."""


def seed() -> None:
    """There is no generator to seed."""


def synchronize() -> None:
    """There is nothing to wait for."""


def empty_cache() -> None:
    """There is no memory to give back."""


def current_allocated_memory() -> int:
    """0: tensors hold no memory of such a device."""
    return 0


def driver_allocated_memory() -> int:
    """0: the driver holds no memory of such a device."""
    return 0


recommended_max_memory = without_device("torch.mps.recommended_max_memory", _WHY)
set_per_process_memory_fraction = without_device("torch.mps.set_per_process_memory_fraction", _WHY)
get_rng_state = without_device("torch.mps.get_rng_state", _WHY)
set_rng_state = without_device("torch.mps.set_rng_state", _WHY)
compile_shader = without_device("torch.mps.compile_shader", _WHY)

__getattr__ = only(__name__)
