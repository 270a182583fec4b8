"""Switches that programs set before they compute. Where there is nothing to switch, they remember what was asked."""

from __future__ import annotations

from . import _C

_deterministic = 0  # as get_deterministic_debug_mode counts: 0 off, 1 warns, 2 raises
_precision = "highest"
_interop_threads: int | None = None
_warn_always = False


# --- Determinism ------------------------------------------------------------------------------------------------------


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks for operations whose results do not depend on timing: all of Rushlight's are so, whatever is asked here.

    >>> import rushlight as rl
    >>> rl.use_deterministic_algorithms(True)
    >>> rl.are_deterministic_algorithms_enabled()
    True
    >>> rl.use_deterministic_algorithms(False)
    """
    global _deterministic
    _deterministic = 0 if not mode else 1 if warn_only else 2


def are_deterministic_algorithms_enabled() -> bool:
    """Whether :func:`use_deterministic_algorithms` was asked for them."""
    return _deterministic > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether :func:`use_deterministic_algorithms` was asked to warn only."""
    return _deterministic == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same as :func:`use_deterministic_algorithms` in one word: "default", "warn" or "error", or 0, 1 or 2.

    Raises:
        RuntimeError: for anything else.
    """
    global _deterministic
    modes = {"default": 0, "warn": 1, "error": 2, 0: 0, 1: 1, 2: 2}
    if debug_mode not in modes:
        raise RuntimeError(f"set_deterministic_debug_mode: expects 'default', 'warn' or 'error', not {debug_mode!r}")
    _deterministic = modes[debug_mode]


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2 for default, warn and error."""
    return _deterministic


# --- Precision --------------------------------------------------------------------------------------------------------


def set_float32_matmul_precision(precision: str) -> None:
    """Allows products of float32 matrices to be less precise, which Rushlight makes no use of on the CPU.

    Raises:
        ValueError: for anything but "highest", "high" and "medium".
    """
    global _precision
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"set_float32_matmul_precision: expects 'highest', 'high' or 'medium', not {precision!r}")
    _precision = precision


def get_float32_matmul_precision() -> str:
    """What :func:`set_float32_matmul_precision` was given; "highest" at first.

    >>> import rushlight as rl
    >>> rl.get_float32_matmul_precision()
    'highest'
    """
    return _precision


def set_flush_denormal(mode: bool) -> bool:
    """Whether numbers too small for full precision could be set to be taken for 0: they are always computed with."""
    return False


# --- Threads ----------------------------------------------------------------------------------------------------------


def get_num_interop_threads() -> int:
    """How many operations may run beside one another: what :func:`set_num_interop_threads` was given, or 1."""
    return _interop_threads or 1


def set_num_interop_threads(threads: int) -> None:
    """Remembered: operations run one after another, each on the threads of :func:`set_num_threads`.

    Raises:
        RuntimeError: a number below 1.
    """
    global _interop_threads
    if threads < 1:
        raise RuntimeError(f"set_num_interop_threads: expects a number above 0, not {threads}")
    _interop_threads = threads


# --- Warnings ---------------------------------------------------------------------------------------------------------


def set_warn_always(b: bool) -> None:
    """Remembered for :func:`is_warn_always_enabled`; Python's ``warnings`` filters decide how often a warning shows."""
    global _warn_always
    _warn_always = bool(b)


def is_warn_always_enabled() -> bool:
    """What :func:`set_warn_always` was given."""
    return _warn_always


# --- Devices and defaults ---------------------------------------------------------------------------------------------


def set_default_device(device) -> None:
    """Takes None and "cpu", where tensors are made anyway.

    Raises:
        RuntimeError: for a device that is not there.
        NotImplementedError: for "meta"; functions take ``device="meta"``.
    """
    if device is None:
        return
    kind = _C.device(device)
    if kind.type == "meta":
        raise NotImplementedError("set_default_device('meta')\n  hint: give device='meta' to the function")
    _C._empty((0,), None, kind)  # says that there is no such device


def get_default_device():
    """Where tensors are made unless a device is named.

    >>> import rushlight as rl
    >>> rl.get_default_device()
    device(type='cpu')
    """
    return _C.device("cpu")


def get_device_module(device=None):
    """The module of a kind of device, such as ``rushlight.cuda``; ``rushlight.cpu`` where none is given.

    Raises:
        RuntimeError: there is no module for the device.
    """
    from importlib import import_module

    kind = "cpu" if device is None else _C.device(device).type
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(f"get_device_module: there is no module for {kind!r}")
    return import_module(f"rushlight.{kind}")


def set_default_tensor_type(t) -> None:
    """Sets the default dtype by the name or the class of a tensor type, such as ``rushlight.DoubleTensor``.

    Raises:
        TypeError: for a type that is not of floating point, or of a device that is not there.
    """
    from ._tensor_types import tensortype, type_of_name

    if isinstance(t, str):
        t = type_of_name(t)
    if not isinstance(t, tensortype):
        raise TypeError(
            f"set_default_tensor_type: expects a tensor type such as torch.DoubleTensor, not {t!r}\n"
            "  hint: for a dtype, use set_default_dtype()"
        )
    if t.is_cuda:
        raise TypeError(f"{t.full_name} is not available: {NO_CUDA}")
    _C.set_default_dtype(t.dtype)


def compiled_with_cxx11_abi() -> bool:
    """True, as for every C++20 library."""
    return True


def is_vulkan_available() -> bool:
    """False: there is no such backend."""
    return False


NO_CUDA = (
    "no CUDA device: this build of Rushlight computes on the CPU\n"
    '  hint: use device="cpu", or "cuda" if rushlight.cuda.is_available() else "cpu"'
)


def without_device(name: str, why: str):
    """A function that stands for one that needs a device, and says why there is none."""

    def function(*args, **kwargs):
        raise RuntimeError(f"{name}: {why}")

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"Raises RuntimeError: {why.splitlines()[0]}."
    return function


def unavailable(name: str, why: str):
    """A function that stands for one that Rushlight does not have."""

    def function(*args, **kwargs):
        raise NotImplementedError(
            f"{name}: {why}\n  hint: docs/differences.md lists what Rushlight does not have of PyTorch"
        )

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"Raises NotImplementedError: {why}."
    return function
