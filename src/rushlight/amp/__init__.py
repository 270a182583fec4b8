"""Mixed precision. Rushlight has none yet: the spellings for CUDA warn and disable themselves where there is no device,
as they do in PyTorch, and those for the CPU say that it is not there.
"""

from __future__ import annotations

import functools

from .. import _C
from .._settings import unavailable
from .._warnings import warn

_on_cpu = unavailable("torch.autocast on the CPU", "mixed precision is not there yet")


class autocast:
    """As a context or decorator: would choose a dtype for each operation. For "cuda" it warns and changes nothing.

    Raises:
        NotImplementedError: for "cpu", unless ``enabled=False``.

    >>> import rushlight as rl
    >>> with rl.autocast("cpu", enabled=False):
    ...     (rl.ones(2, 2) @ rl.ones(2, 2)).dtype
    torch.float32
    """

    def __init__(self, device_type: str, dtype=None, enabled: bool = True, cache_enabled: bool | None = None):
        if not isinstance(device_type, str):
            raise ValueError(f"autocast: device_type is a string such as 'cpu', not {device_type!r}")
        self.device, self.fast_dtype = device_type, dtype or get_autocast_dtype(device_type)
        if enabled and device_type == "cuda":
            warn("autocast for CUDA without a CUDA device: disabled")
        elif enabled:
            _on_cpu()
        self._enabled = False

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def inside(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return inside


class GradScaler:
    """Would scale the loss so that gradients of float16 do not vanish. For "cuda" it warns and passes all on as it is.

    Raises:
        NotImplementedError: for "cpu", unless ``enabled=False``.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        if enabled and device == "cuda":
            warn("GradScaler for CUDA without a CUDA device: disabled")
        elif enabled:
            unavailable("torch.amp.GradScaler on the CPU", "mixed precision is not there yet")()

    def scale(self, outputs):
        """The outputs as they are."""
        return outputs

    def unscale_(self, optimizer) -> None:
        """Nothing was scaled."""

    def step(self, optimizer, *args, **kwargs):
        """``optimizer.step(...)``."""
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale=None) -> None:
        """There is no scale."""

    def get_scale(self) -> float:
        """1."""
        return 1.0

    def is_enabled(self) -> bool:
        """False."""
        return False

    def state_dict(self) -> dict:
        """Empty: there is no state."""
        return {}

    def load_state_dict(self, state_dict: dict) -> None:
        """There is no state."""


def custom_fwd(fwd=None, *, device_type: str = "cuda", cast_inputs=None):
    """Marks the forward of a custom function; there is nothing to cast, so it stays as it is."""
    return (lambda function: function) if fwd is None else fwd


def custom_bwd(bwd=None, *, device_type: str = "cuda"):
    """Marks the backward of a custom function; it stays as it is."""
    return (lambda function: function) if bwd is None else bwd


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast chooses dtypes on this kind of device."""
    return False


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast chooses dtypes now."""
    return False


def get_autocast_dtype(device_type: str):
    """The dtype that autocast would choose."""
    return _C.float16 if device_type == "cuda" else _C.bfloat16
