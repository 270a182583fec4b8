"""Reading a pickle of numbers, strings, containers and NumPy arrays that is not trusted.

Files of Python 2 (CIFAR's are) and of Python 3 are understood, by protocols 2 to 4.
"""

from __future__ import annotations

import math
import os
import pickle
from typing import Any

from rushlight._restricted_pickle import RestrictedUnpickler

_DTYPES = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"}


class _Dtype:
    """What the pickle says of a dtype: a name, then the order of its bytes."""

    def __init__(self, name: Any, align: Any = False, copy: Any = False):
        if name not in _DTYPES:
            raise ValueError(f"arrays of dtype {name!r} are not allowed")
        self.name, self.order = name, "="

    def __setstate__(self, state: tuple) -> None:
        if state[1] not in ("<", ">", "|", "="):
            raise ValueError(f"{state[1]!r} is no order of bytes")
        self.order = state[1]


class _Array:
    """An array that has yet to be filled: shape, dtype, whether columns come first, bytes."""

    made: Any = None

    def __setstate__(self, state: tuple) -> None:
        import numpy

        _, shape, dtype, columns_first, content = state
        if isinstance(content, str):  # bytes, as Python 2 wrote them
            content = content.encode("latin1")
        if type(dtype) is not _Dtype or type(content) is not bytes or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError("an array is not described by a shape, a dtype and bytes")
        kind = numpy.dtype(dtype.name).newbyteorder(dtype.order)
        if len(content) != math.prod(shape) * kind.itemsize:
            raise ValueError(f"an array of shape {shape} has {len(content)} bytes")
        self.made = numpy.frombuffer(content, kind).reshape(shape, order="F" if columns_first else "C")


def _reconstruct(kind: Any, shape: Any, dtype: Any) -> _Array:
    return _Array()


def _encode(text: str, encoding: str) -> bytes:
    """How Python 3 writes bytes by protocol 2."""
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"bytes are encoded as {encoding!r}")
    return text.encode("latin1")


_NAMES = {
    ("numpy.core.multiarray", "_reconstruct"): (_reconstruct, _reconstruct),
    ("numpy._core.multiarray", "_reconstruct"): (_reconstruct, _reconstruct),
    ("numpy", "ndarray"): (_Array, None),
    ("numpy", "dtype"): (_Dtype, _Dtype),
    ("_codecs", "encode"): (_encode, _encode),
}


def _look_up(module: str, name: str):
    if (module, name) not in _NAMES:
        raise pickle.UnpicklingError(f"the pickle asks for {module}.{name}, which is not allowed")
    return _NAMES[module, name]


def _no_storage(reference):
    raise pickle.UnpicklingError("the pickle refers to something outside of it")


def read_arrays(path: str | os.PathLike) -> Any:
    """The object in the file, with arrays among its values as ``numpy.ndarray``.

    Raises:
        RuntimeError: the file is damaged, or would do more than build such values.
    """
    with open(path, "rb") as file:
        try:
            found = RestrictedUnpickler(file, _look_up, _no_storage, (_Array, _Dtype), encoding="latin1").load()
        except pickle.UnpicklingError as error:
            raise RuntimeError(f"{os.fspath(path)} cannot be read: {error}\n  hint: download it again") from None
    return _arrays(found)


def _arrays(value: Any) -> Any:
    if type(value) is dict:
        return {name: _arrays(item) for name, item in value.items()}
    return value.made if type(value) is _Array else value
