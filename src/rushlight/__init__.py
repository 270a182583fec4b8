"""Rushlight: a small, fast deep learning framework that speaks PyTorch's API."""

from __future__ import annotations

from . import _C
from ._C import *  # noqa: F403
from ._C import OutOfMemoryError, Tensor, device, dtype
from ._size import Size
from ._types import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from . import _tensor
from ._creation import (
    as_tensor,
    asarray,
    empty,
    empty_like,
    empty_strided,
    from_dlpack,
    from_numpy,
    full,
    full_like,
    ones,
    ones_like,
    tensor,
    zeros,
    zeros_like,
)
from .autograd.grad_mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled

float32 = float = _C.float32
float64 = double = _C.float64
float16 = half = _C.float16
int64 = long = _C.int64
int32 = int = _C.int32
int16 = short = _C.int16
bool = _C.bool

from math import e, inf, nan, pi  # noqa: E402

__version__ = "0.1.0"
