"""Regions in which operations choose the precision of their inputs, after Micikevicius et al., "Mixed Precision
Training", 2018."""

from __future__ import annotations

from _thread import _local  # what threading.local is

from .. import _C
from .._autocast import cast
from .._decorators import wraps
from .._warnings import warn
from ..autograd.grad_mode import _GradMode

_ON_CPU = (_C.bfloat16, _C.float16)
_DEVICES = {"cuda": _C.float16, "xpu": _C.float16, "mps": _C.float16, "hpu": _C.bfloat16, "xla": _C.bfloat16}


class _Elsewhere(_local):
    """What this thread has set for devices that are not there: remembered, with nothing behind it."""

    def __init__(self):
        self.enabled: dict[str, bool] = {}
        self.dtype = dict(_DEVICES)


_elsewhere = _Elsewhere()


def _known(device_type) -> str:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if device_type not in ("cpu", "meta", *_DEVICES):
        raise RuntimeError(f"autocast: {device_type!r} is no kind of device\n  hint: 'cpu' is the one that is there")
    return device_type


class autocast(_GradMode):
    """A context, and a decorator, in which operations choose the precision of their inputs.

    Products of matrices, ``linear`` and convolutions take the lower precision, losses and some sums float32, each by
    casting its floating-point inputs; other operations take inputs as they come. float64 is left alone, and so are the
    in-place and ``out=`` forms. A parameter is cast once for a whole region; its gradient comes in its own dtype.
    Backward runs outside: call it after the region.

    Args:
        device_type: "cpu". For a device that is not there, as for another dtype, it warns and changes nothing.
        dtype: bfloat16 or float16; by default what :func:`get_autocast_dtype` says.
        enabled: False leaves the surrounding region.
        cache_enabled: whether casts of parameters are kept; by default as around it.

    Raises:
        ValueError: ``device_type`` is no string.
        RuntimeError: it names no device.

    >>> import rushlight as rl
    >>> layer = rl.nn.Linear(2, 3)
    >>> with rl.autocast("cpu", dtype=rl.bfloat16):
    ...     y = layer(rl.ones(1, 2))
    ...     loss = rl.nn.functional.mse_loss(y, rl.zeros(1, 3))
    >>> y.dtype, loss.dtype
    (torch.bfloat16, torch.float32)
    >>> loss.backward()
    >>> layer.weight.grad.dtype
    torch.float32
    """

    def __init__(self, device_type: str, dtype=None, enabled: bool = True, cache_enabled: bool | None = None):
        self.device = _known(device_type)
        if not is_autocast_available(device_type):
            raise RuntimeError(f"autocast is not there for {device_type!r}\n  hint: autocast('cpu')")
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        if enabled and device_type != "cpu":
            warn(f"autocast for {device_type!r}: there is no such device here; it is disabled")
            enabled = False
        elif enabled and self.fast_dtype not in _ON_CPU:
            warn(f"autocast on the CPU takes bfloat16 and float16, not {self.fast_dtype}; it is disabled")
            enabled = False
        self._enabled = bool(enabled)
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._before: list = []  # a stack, since one object may be entered again before it is left

    def __enter__(self):
        device = self.device
        self._before.append((is_autocast_enabled(device), get_autocast_dtype(device), is_autocast_cache_enabled()))
        set_autocast_enabled(device, self._enabled)
        if self.fast_dtype.is_floating_point:  # else it was refused, and is disabled
            set_autocast_dtype(device, self.fast_dtype)
        set_autocast_cache_enabled(self._cache_enabled)
        autocast_increment_nesting()
        return self

    def __exit__(self, *exception):
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        enabled, dtype, cache = self._before.pop()
        set_autocast_enabled(self.device, enabled)
        set_autocast_dtype(self.device, dtype)
        set_autocast_cache_enabled(cache)
        return False

    def _clone(self):
        """For one call of a decorated function, which several threads may run at once."""
        clone = object.__new__(type(self))
        clone.__dict__.update(self.__dict__, _before=[])
        return clone


# ---- What is set now


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows this kind of device.

    Raises:
        RuntimeError: it is no kind of device.
    """
    return _known(device_type) != "meta"


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on in this thread, by default for "cuda".

    >>> import rushlight as rl
    >>> with rl.autocast("cpu"):
    ...     rl.is_autocast_enabled("cpu"), rl.is_autocast_enabled()
    (True, False)
    """
    if device_type == "cpu":
        return _C._autocast_enabled()
    return _elsewhere.enabled.get(_known("cuda" if device_type is None else device_type), False)


def set_autocast_enabled(device_type, enabled: bool | None = None) -> None:
    """Switches autocast on or off in this thread; with one argument, that is ``enabled``, for "cuda"."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    if _known(device_type) == "cpu":
        _C._set_autocast(enabled)
    else:
        _elsewhere.enabled[device_type] = bool(enabled)


def get_autocast_dtype(device_type: str):
    """The lower precision of this thread's regions: bfloat16 on the CPU and float16 on "cuda", unless set otherwise.

    Raises:
        RuntimeError: there is none for this device.
    """
    if _known(device_type) == "cpu":
        return _C._autocast_dtype()
    if device_type not in _elsewhere.dtype:
        raise RuntimeError(f"autocast has no dtype for {device_type!r}")
    return _elsewhere.dtype[device_type]


def set_autocast_dtype(device_type: str, dtype) -> None:
    """Sets what :func:`get_autocast_dtype` gives in this thread."""
    if _known(device_type) == "cpu":
        _C._set_autocast_dtype(dtype)
    else:
        _elsewhere.dtype[device_type] = dtype


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are kept to the end of the region."""
    return _C._autocast_cache_enabled()


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Sets what :func:`is_autocast_cache_enabled` gives in this thread."""
    _C._set_autocast_cache_enabled(enabled)


def clear_autocast_cache() -> None:
    """Forgets the casts of parameters in this thread."""
    _C._clear_autocast_cache()


def autocast_increment_nesting() -> int:
    """Enters a region, as :class:`autocast` does; returns how many this thread is in."""
    return _C._autocast_nesting(1)


def autocast_decrement_nesting() -> int:
    """Leaves a region; whoever leaves the last one clears the cache."""
    return _C._autocast_nesting(-1)


# The older names, of one device each.


def is_autocast_cpu_enabled() -> bool:
    """``is_autocast_enabled("cpu")``."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """``set_autocast_enabled("cpu", enabled)``."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype():
    """``get_autocast_dtype("cpu")``."""
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype) -> None:
    """``set_autocast_dtype("cpu", dtype)``."""
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype():
    """``get_autocast_dtype("cuda")``."""
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype) -> None:
    """``set_autocast_dtype("cuda", dtype)``."""
    set_autocast_dtype("cuda", dtype)


# ---- Custom functions


def custom_fwd(fwd=None, *, device_type: str, cast_inputs=None):
    """Decorates the ``forward`` of an ``autograd.Function``, to make it fit for autocast.

    Args:
        device_type: "cpu", or what autocast is asked for.
        cast_inputs: a dtype that floating-point inputs are cast to inside a region; autocast is off then within
            ``forward`` and ``backward``. None: inputs stay as they are, and autocast as it is around.

    Raises:
        ValueError: ``device_type`` is no string.

    >>> import rushlight as rl
    >>> class Square(rl.autograd.Function):
    ...     @staticmethod
    ...     @rl.amp.custom_fwd(device_type="cpu", cast_inputs=rl.float32)
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @rl.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return 2 * g * ctx.saved_tensors[0]
    >>> with rl.autocast("cpu"):
    ...     Square.apply(rl.ones(2, dtype=rl.bfloat16)).dtype
    torch.float32
    """
    _known(device_type)
    if fwd is None:
        return lambda fwd: custom_fwd(fwd, device_type=device_type, cast_inputs=cast_inputs)

    @wraps(fwd)
    def forward(ctx, *args, **kwargs):
        on = is_autocast_enabled(device_type)
        ctx._autocast_dtype, ctx._forward_used_autocast = get_autocast_dtype(device_type), on and cast_inputs is None
        if not on or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *cast(args, cast_inputs), **cast(kwargs, cast_inputs))

    return forward


def custom_bwd(bwd=None, *, device_type: str):
    """Decorates the ``backward`` that goes with a :func:`custom_fwd`: autocast is on in it where it was in forward.

    Raises:
        ValueError: ``device_type`` is no string.
    """
    _known(device_type)
    if bwd is None:
        return lambda bwd: custom_bwd(bwd, device_type=device_type)

    @wraps(bwd)
    def backward(ctx, *args, **kwargs):
        with autocast(device_type, ctx._autocast_dtype, enabled=ctx._forward_used_autocast):
            return bwd(ctx, *args, **kwargs)

    return backward
