"""What scripts ask about accelerators of any kind: Rushlight computes on the CPU, so there is none.

>>> import rushlight as rl
>>> rl.accelerator.is_available()
False
"""

from __future__ import annotations

from ._lazy import only
from ._settings import without_device

_WHY = (
    "there is no accelerator: this build of Rushlight computes on the CPU\n  hint: ask accelerator.is_available() first"
)


def is_available() -> bool:
    """Whether there is an accelerator to compute on."""
    return False


def device_count() -> int:
    """How many accelerators there are."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """None: there is no accelerator."""


def synchronize(device=None) -> None:
    """There is nothing to wait for."""


def empty_cache() -> None:
    """There is no accelerator's memory to give back."""


for _name in """
    current_device_index current_device_idx set_device_index set_device_idx current_stream set_stream memory_allocated
    max_memory_allocated memory_reserved max_memory_reserved memory_stats reset_peak_memory_stats get_memory_info
    reset_accumulated_memory_stats get_device_capability device_index
""".split():
    globals()[_name] = without_device(f"torch.accelerator.{_name}", _WHY)

__getattr__ = only(__name__)
