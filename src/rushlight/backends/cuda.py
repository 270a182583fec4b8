"""How PyTorch computes on CUDA devices, of which there are none.

>>> import rushlight as rl
>>> rl.backends.cuda.is_built()
False
>>> rl.backends.cuda.matmul.allow_tf32 = True
"""

from __future__ import annotations

import contextlib


def is_built() -> bool:
    """Whether this build has code for CUDA."""
    return False


class _MatmulSwitches:
    """How products of matrices may be computed."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    fp32_precision = "none"


matmul = _MatmulSwitches()
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def flash_sdp_enabled() -> bool:
    """What :func:`enable_flash_sdp` was given."""
    return _attention["flash"]


def mem_efficient_sdp_enabled() -> bool:
    """What :func:`enable_mem_efficient_sdp` was given."""
    return _attention["mem_efficient"]


def math_sdp_enabled() -> bool:
    """What :func:`enable_math_sdp` was given."""
    return _attention["math"]


def cudnn_sdp_enabled() -> bool:
    """What :func:`enable_cudnn_sdp` was given."""
    return _attention["cudnn"]


def enable_flash_sdp(enabled: bool) -> None:
    """Remembered: attention on the CPU has one way of its own."""
    _attention["flash"] = bool(enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Remembered: attention on the CPU has one way of its own."""
    _attention["mem_efficient"] = bool(enabled)


def enable_math_sdp(enabled: bool) -> None:
    """Remembered: attention on the CPU has one way of its own."""
    _attention["math"] = bool(enabled)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Remembered: attention on the CPU has one way of its own."""
    _attention["cudnn"] = bool(enabled)


@contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """A context in which these switches are set otherwise."""
    before = dict(_attention)
    _attention.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _attention.update(before)
