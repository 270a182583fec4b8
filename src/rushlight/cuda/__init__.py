"""What scripts ask about CUDA before they choose a device: Rushlight computes on the CPU, so there is none.

Counts are 0, what seeds, waits or frees does nothing, and what needs a device says why there is none.

>>> import rushlight as rl
>>> rl.device("cuda" if rl.cuda.is_available() else "cpu")
device(type='cpu')
"""

from __future__ import annotations

from .. import _C
from .._lazy import lazily
from .._settings import NO_CUDA, without_device

default_generators: tuple = ()
has_half = has_magma = False

get_rng_state = without_device("torch.cuda.get_rng_state", NO_CUDA)
_set_device = without_device("torch.cuda.set_device", NO_CUDA)
current_stream = without_device("torch.cuda.current_stream", NO_CUDA)
for _name in """
    init current_device get_device_name get_device_capability get_device_properties default_stream initial_seed
    set_per_process_memory_fraction mem_get_info can_device_access_peer utilization temperature power_draw clock_rate
    memory_usage list_gpu_processes cudart current_blas_handle caching_allocator_alloc make_graphed_callables
    graph_pool_handle get_allocator_backend
""".split():
    globals()[_name] = without_device(f"torch.cuda.{_name}", NO_CUDA)


def set_device(device) -> None:
    """Makes a CUDA device the current one; a negative number changes nothing, and there is no other.

    Raises:
        RuntimeError: for any device.
    """
    if not (isinstance(device, int) and device < 0):
        _set_device()


def is_available() -> bool:
    """Whether there is a CUDA device to compute on."""
    return False


def device_count() -> int:
    """How many CUDA devices there are."""
    return 0


def is_initialized() -> bool:
    """Whether CUDA was set up: never, without a device."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a CUDA device computes in bfloat16."""
    return False


def is_tf32_supported() -> bool:
    """Whether a CUDA device computes in TF32."""
    return False


def is_current_stream_capturing() -> bool:
    """Whether a CUDA graph is being recorded."""
    return False


def get_arch_list() -> list[str]:
    """The CUDA architectures that this build has code for."""
    return []


def get_gencode_flags() -> str:
    """The compiler's flags for those architectures."""
    return ""


def manual_seed(seed: int) -> None:
    """Seeds the current CUDA device's generator; without a device it does nothing, as in PyTorch."""


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all CUDA devices; without a device it does nothing, as in PyTorch."""


def seed() -> None:
    """Seeds the current device's generator from the system's randomness; without a device it does nothing."""


def seed_all() -> None:
    """Seeds the generators of all devices from the system's randomness; without a device it does nothing."""


def get_rng_state_all() -> list:
    """The states of the generators of all CUDA devices."""
    return []


def set_rng_state_all(new_states) -> None:
    """Puts the generators of all CUDA devices into the states given: for each device one, so none.

    Raises:
        RuntimeError: there are states, and no devices.
    """
    for _ in new_states:
        get_rng_state()


def set_rng_state(new_state, device="cuda") -> None:
    """Puts the generator of a CUDA device into a state; without a device it does nothing, as in PyTorch."""


def empty_cache() -> None:
    """Gives memory that is cached for CUDA devices back; without a device it does nothing, as in PyTorch."""


def ipc_collect() -> None:
    """Frees CUDA memory that other processes have let go; without a device it does nothing."""


def synchronize(device=None) -> None:
    """Waits for the work on a CUDA device; without a device there is none to wait for."""


def memory_stats(device=None) -> dict:
    """Counts of the memory of a CUDA device; none without one. Those of the CPU: ``rushlight.memory_stats()``."""
    return {}


memory_stats_as_nested_dict = memory_stats


def memory_snapshot(*args, **options) -> list:
    """The blocks of CUDA memory in use."""
    return []


def memory_summary(device=None, abbreviated: bool = False) -> str:
    """A table of the memory of a CUDA device, for printing."""
    return "no CUDA device, so no CUDA memory"


def _zero(name: str, what: str):
    def function(device=None) -> int:
        return 0

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what} of a CUDA device, in bytes: 0 without one."
    return function


memory_allocated = _zero("memory_allocated", "The memory that tensors hold")
max_memory_allocated = _zero("max_memory_allocated", "The most memory that tensors held")
memory_reserved = memory_cached = _zero("memory_reserved", "The memory that the allocator holds")
max_memory_reserved = max_memory_cached = _zero("max_memory_reserved", "The most memory that the allocator held")


def reset_peak_memory_stats(device=None) -> None:
    """Counts the most memory held from now on; without a device it does nothing."""


reset_max_memory_allocated = reset_max_memory_cached = reset_accumulated_memory_stats = reset_peak_memory_stats


class _Absent:
    """A thing of a CUDA device, which cannot be made without one."""

    def __init__(self, *args, **options):
        raise RuntimeError(f"torch.cuda.{type(self).__name__}: {NO_CUDA}")


class Stream(_Absent):
    """A queue of work on a CUDA device. Raises RuntimeError: there is none."""


class ExternalStream(Stream):
    """A queue of another library. Raises RuntimeError: there is no device."""


class Event(_Absent):
    """A mark in a queue of work. Raises RuntimeError: there is none; ``time.perf_counter()`` times work on the CPU."""


class CUDAGraph(_Absent):
    """Recorded work. Raises RuntimeError: there is no device to record."""


class graph(_Absent):
    """Records work. Raises RuntimeError: there is no device to record."""


class MemPool(_Absent):
    """Memory set apart. Raises RuntimeError: there is no device."""


class StreamContext:
    """Has work queued on a stream; None changes nothing, and there is no other."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            current_stream()

    def __exit__(self, *exception):
        return False


stream = StreamContext


def set_stream(stream) -> None:
    """Has work queued on a stream; None changes nothing, and there is no other."""
    with StreamContext(stream):
        pass


class device:
    """Has work done on another CUDA device; None and -1 change nothing, and there is no other."""

    def __init__(self, device):
        self.idx = -1 if device is None else device

    def __enter__(self):
        set_device(self.idx)

    def __exit__(self, *exception):
        return False


class device_of(device):
    """Has work done where a tensor is; tensors on the CPU change nothing."""

    def __init__(self, obj):
        super().__init__(None)


OutOfMemoryError = _C.OutOfMemoryError

__getattr__, __dir__ = lazily(
    __name__,
    globals(),
    {
        "amp": "amp",
        "nvtx": "nvtx",
        "memory": "memory",
        "random": "random",
        **{
            f"{name}Tensor": f"_tensor_types:{name}Tensor"
            for name in ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
        },
    },
)
