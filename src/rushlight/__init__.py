"""Rushlight: a small, fast deep learning framework that speaks PyTorch's API."""

from __future__ import annotations

from . import _C
from ._C import *  # noqa: F403

# isort: split
# What is written in Python goes over the engine's.
from math import e, inf, nan, pi

from . import _tensor, autograd, overrides, random
from ._C import OutOfMemoryError, Tensor, device, dtype
from ._composites.reduction import *  # noqa: F403
from ._composites.shape import *  # noqa: F403
from ._creation import (
    arange,
    as_tensor,
    asarray,
    empty,
    empty_like,
    empty_strided,
    eye,
    from_dlpack,
    from_numpy,
    frombuffer,
    full,
    full_like,
    linspace,
    logspace,
    ones,
    ones_like,
    tensor,
    zeros,
    zeros_like,
)
from ._creation import range_ as range
from ._lazy import lazily
from ._size import Size
from ._tensor_str import set_printoptions
from ._types import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from .autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .random import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    normal,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
    seed,
    set_rng_state,
)

__version__ = "0.1.0"

_C._set_package_folder(__file__.removesuffix("__init__.py"))

float32 = float = _C.float32
float64 = double = _C.float64
float16 = half = _C.float16
int64 = long = _C.int64
int32 = int = _C.int32
int16 = short = _C.int16
bool = _C.bool

newaxis = None


def is_tensor(obj):
    """Whether ``obj`` is a Tensor."""
    return isinstance(obj, Tensor)


def numel(input):
    """The number of elements."""
    return input.numel()


def is_floating_point(input):
    """Whether the dtype of ``input`` is a floating point one."""
    return input.is_floating_point()


TYPE_CHECKING = False  # typing's own would have to be imported
if TYPE_CHECKING:
    from . import cuda, nn, optim, serialization, storage, utils, vision
    from .serialization import load, save
    from .storage import TypedStorage, UntypedStorage

__getattr__, __dir__ = lazily(
    __name__,
    globals(),
    {
        "cuda": "cuda",
        "nn": "nn",
        "optim": "optim",
        "utils": "utils",
        "vision": "vision",
        "serialization": "serialization",
        "storage": "storage",
        "load": "serialization:load",
        "save": "serialization:save",
        "UntypedStorage": "storage:UntypedStorage",
        "TypedStorage": "storage:TypedStorage",
    },
)
