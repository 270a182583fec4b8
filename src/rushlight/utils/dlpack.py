"""Exchange of memory with other libraries by DLPack.

>>> import rushlight as rl
>>> from rushlight.utils.dlpack import from_dlpack, to_dlpack
>>> x = rl.zeros(2)
>>> from_dlpack(to_dlpack(x)).data_ptr() == x.data_ptr()
True
"""

from __future__ import annotations

from .._creation import from_dlpack
from .._lazy import only

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor):
    """A capsule over the tensor's memory, which can be taken once; ``from_dlpack`` takes the tensor itself too.

    Raises:
        BufferError: the tensor requires grad.
    """
    return tensor.__dlpack__()


__getattr__ = only(__name__)
