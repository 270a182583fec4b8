"""Autocast for functions written in Python: what csrc/autograd/autocast.h is for the engine's operations."""

from __future__ import annotations

from . import _C
from ._decorators import wraps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    _Function = TypeVar("_Function", bound=Any)


def cast(value, dtype):
    """The value with floating-point tensors (float64 left alone) in ``dtype``, through lists, tuples and dicts."""
    if isinstance(value, _C.Tensor):
        return _C._autocast_to(value, dtype)
    if type(value) in (list, tuple):
        return type(value)(cast(v, dtype) for v in value)
    if type(value) is dict:
        return {key: cast(v, dtype) for key, v in value.items()}
    return value


def _in_precision(function: _Function, choose) -> _Function:
    @wraps(function)
    def chosen(*args, **kwargs):
        if not _C._autocast_enabled() or kwargs.get("out") is not None:
            return function(*args, **kwargs)
        dtype = choose()
        if dtype is not None:
            args, kwargs = cast(args, dtype), cast(kwargs, dtype)
        _C._set_autocast(False)
        try:
            return function(*args, **kwargs)
        finally:
            _C._set_autocast(True)

    return chosen  # type: ignore[return-value]


def in_float32(function: _Function) -> _Function:
    """Decorates a function that computes in float32 inside a region of autocast."""
    return _in_precision(function, lambda: _C.float32)


def as_given(function: _Function) -> _Function:
    """Decorates a function over products that computes in its inputs' dtypes inside a region of autocast too."""
    return _in_precision(function, lambda: None)


def in_lower_precision(function: _Function) -> _Function:
    """Decorates a function that computes in the region's dtype inside a region of autocast."""
    return _in_precision(function, _C._autocast_dtype)
