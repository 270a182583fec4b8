"""Rushlight: a small, fast deep learning framework that speaks PyTorch's API."""

from __future__ import annotations

from . import _C
from ._C import *  # noqa: F403

# isort: split
# What is written in Python goes over the engine's.
from math import e, inf, nan, pi

from . import _tensor, autograd, overrides, random
from ._C import OutOfMemoryError, Tensor, device, dtype
from ._composites.contraction import *  # noqa: F403
from ._composites.dropout import *  # noqa: F403
from ._composites.layers import *  # noqa: F403
from ._composites.loss import *  # noqa: F403
from ._composites.matrices import *  # noqa: F403
from ._composites.products import *  # noqa: F403
from ._composites.real import *  # noqa: F403
from ._composites.reduction import *  # noqa: F403
from ._composites.sets import *  # noqa: F403
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
    scalar_tensor,
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
complex32 = chalf = _C.complex32  # named only: no tensor has these
complex64 = cfloat = _C.complex64
complex128 = cdouble = _C.complex128

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


def is_complex(input):
    """False: there are no complex dtypes."""
    return input.is_complex()


def is_signed(input):
    """Whether the dtype of ``input`` has negative numbers."""
    return input.is_signed()


def is_same_size(input, other):
    """Whether two tensors have the same shape."""
    return input.is_same_size(other)


def is_inference(input):
    """Whether ``input`` was made under ``inference_mode()``."""
    return input.is_inference()


def is_nonzero(input):
    """Whether the one element of ``input`` is not 0."""
    return input.is_nonzero()


def detach(input):
    """The same memory without history."""
    return input.detach()


def get_device(input):
    """-1 for the CPU."""
    return input.get_device()


TYPE_CHECKING = False  # typing's own would have to be imported
if TYPE_CHECKING:
    from . import (
        accelerator,
        amp,
        backends,
        compat,
        compiler,
        cpu,
        cuda,
        distributed,
        distributions,
        func,
        hub,
        jit,
        linalg,
        mps,
        multiprocessing,
        nn,
        onnx,
        optim,
        serialization,
        special,
        storage,
        testing,
        torch_version,
        types,
        utils,
        version,
        vision,
        xpu,
    )  # fmt: skip
    from ._finfo import finfo, iinfo
    from ._settings import (
        are_deterministic_algorithms_enabled,
        compiled_with_cxx11_abi,
        get_default_device,
        get_deterministic_debug_mode,
        get_device_module,
        get_float32_matmul_precision,
        get_num_interop_threads,
        is_deterministic_algorithms_warn_only_enabled,
        is_vulkan_available,
        is_warn_always_enabled,
        set_default_device,
        set_default_tensor_type,
        set_deterministic_debug_mode,
        set_float32_matmul_precision,
        set_flush_denormal,
        set_num_interop_threads,
        set_warn_always,
        use_deterministic_algorithms,
    )  # fmt: skip
    from ._tensor_types import (
        BFloat16Tensor,
        BoolTensor,
        ByteTensor,
        CharTensor,
        DoubleTensor,
        FloatTensor,
        HalfTensor,
        IntTensor,
        LongTensor,
        ShortTensor,
        typename,
    )  # fmt: skip
    from .amp import GradScaler, autocast
    from .amp.autocast_mode import (
        autocast_decrement_nesting,
        autocast_increment_nesting,
        clear_autocast_cache,
        get_autocast_cpu_dtype,
        get_autocast_dtype,
        get_autocast_gpu_dtype,
        is_autocast_cache_enabled,
        is_autocast_cpu_enabled,
        is_autocast_enabled,
        set_autocast_cache_enabled,
        set_autocast_cpu_dtype,
        set_autocast_cpu_enabled,
        set_autocast_dtype,
        set_autocast_enabled,
        set_autocast_gpu_dtype,
    )
    from .compiler import compile
    from .serialization import load, save
    from .storage import TypedStorage, UntypedStorage, is_storage

_TENSOR_TYPES = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
_SETTINGS = """
    use_deterministic_algorithms are_deterministic_algorithms_enabled is_deterministic_algorithms_warn_only_enabled
    set_deterministic_debug_mode get_deterministic_debug_mode set_float32_matmul_precision get_float32_matmul_precision
    set_flush_denormal get_num_interop_threads set_num_interop_threads set_warn_always is_warn_always_enabled
    set_default_device get_default_device get_device_module set_default_tensor_type compiled_with_cxx11_abi
    is_vulkan_available
"""
_AUTOCAST = """
    is_autocast_enabled set_autocast_enabled get_autocast_dtype set_autocast_dtype is_autocast_cache_enabled
    set_autocast_cache_enabled clear_autocast_cache autocast_increment_nesting autocast_decrement_nesting
    is_autocast_cpu_enabled set_autocast_cpu_enabled get_autocast_cpu_dtype set_autocast_cpu_dtype
    get_autocast_gpu_dtype set_autocast_gpu_dtype
"""
_MODULES = """
    accelerator amp backends compat compiler cpu distributed func functional hub jit mps multiprocessing onnx
    profiler testing torch_version types version xpu
"""

__getattr__, __dir__ = lazily(
    __name__,
    globals(),
    {
        **{name: name for name in _MODULES.split()},
        **{name: f"_settings:{name}" for name in _SETTINGS.split()},
        "autocast": "amp:autocast",
        "GradScaler": "amp:GradScaler",
        **{name: f"amp.autocast_mode:{name}" for name in _AUTOCAST.split()},
        **{f"{name}Tensor": f"_tensor_types:{name}Tensor" for name in _TENSOR_TYPES},
        "typename": "_tensor_types:typename",
        "is_storage": "storage:is_storage",
        **{
            f"{name}_window": f"_windows:{name}_window"
            for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")
        },
        **{
            f"{name}_window": f"_windows:{name}_window"
            for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")
        },
        "finfo": "_finfo:finfo",
        "iinfo": "_finfo:iinfo",
        "compile": "compiler:compile",
        "cuda": "cuda",
        "distributions": "distributions",
        "nn": "nn",
        "special": "special",
        "linalg": "linalg",
        "cholesky": "linalg:_cholesky",
        "det": "linalg:det",
        "inverse": "linalg:inv",
        "logdet": "linalg:logdet",
        "lu_solve": "linalg:lu_solve",
        "lu_unpack": "linalg:lu_unpack",
        "matrix_exp": "linalg:matrix_exp",
        "matrix_power": "linalg:matrix_power",
        "pinverse": "linalg:pinv",
        "qr": "linalg:_qr",
        "slogdet": "linalg:slogdet",
        "svd": "linalg:_svd",
        "triangular_solve": "linalg:triangular_solve",
        "optim": "optim",
        "utils": "utils",
        "vision": "vision",
        "__config__": "__config__",
        "serialization": "serialization",
        "storage": "storage",
        "load": "serialization:load",
        "save": "serialization:save",
        "UntypedStorage": "storage:UntypedStorage",
        "TypedStorage": "storage:TypedStorage",
    },
)
