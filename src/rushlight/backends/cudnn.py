"""cuDNN, which there is none of without CUDA.

>>> import rushlight as rl
>>> rl.backends.cudnn.benchmark = True
>>> rl.backends.cudnn.is_available(), rl.backends.cudnn.version()
(False, None)
"""

from __future__ import annotations

from ._flags import switched

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True
fp32_precision = "none"


def is_available() -> bool:
    """Whether there is cuDNN."""
    return False


def version() -> None:
    """None: there is no cuDNN."""


def is_acceptable(tensor) -> bool:
    """Whether cuDNN would take the tensor."""
    return False


def flags(enabled=None, benchmark=None, benchmark_limit=None, deterministic=None, allow_tf32=None, fp32_precision=None):
    """A context in which switches are set otherwise."""
    return switched(globals(), **locals())


def set_flags(_enabled=None, _benchmark=None, _benchmark_limit=None, _deterministic=None, _allow_tf32=None):
    """Sets switches; what they were before, as a tuple."""
    before = (enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    new = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)
    names = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")
    globals().update({name: value for name, value in zip(names, new, strict=True) if value is not None})
    return before
