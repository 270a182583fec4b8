"""Which of PyTorch's implementations of attention may be used: remembered, as Rushlight has one for all.

>>> import rushlight as rl
>>> from rushlight.nn.attention import SDPBackend, sdpa_kernel
>>> q = rl.ones(1, 2, 4)
>>> with sdpa_kernel(SDPBackend.MATH):
...     rl.nn.functional.scaled_dot_product_attention(q, q, q).shape
torch.Size([1, 2, 4])
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import IntEnum

from ..backends import cuda

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(IntEnum):
    """PyTorch's names for its implementations."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_SWITCHES = {
    SDPBackend.MATH: "math",
    SDPBackend.FLASH_ATTENTION: "flash",
    SDPBackend.EFFICIENT_ATTENTION: "mem_efficient",
    SDPBackend.CUDNN_ATTENTION: "cudnn",
}


@contextlib.contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Notes for a with block which implementations are wished; ``backends.cuda.flash_sdp_enabled()`` and its kin tell.

    Raises:
        AssertionError: what is given is no SDPBackend, nor a list of some.
    """
    wished = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(wished, (list, tuple)) or not wished or not all(isinstance(b, SDPBackend) for b in wished):
        raise AssertionError(f"sdpa_kernel takes an SDPBackend or a list of some, got {backends!r}")
    switches = cuda._attention
    before = dict(switches)
    switches.update({name: backend in wished for backend, name in _SWITCHES.items()})
    try:
        yield
    finally:
        switches.update(before)
