"""What numbers a dtype can hold."""

from __future__ import annotations

import math

from . import _C

# Bits of mantissa and exponent.
_FORMATS = {_C.float16: (10, 5), _C.bfloat16: (7, 8), _C.float32: (23, 8), _C.float64: (52, 11)}


class _Info:
    _fields: tuple[str, ...]

    def __init__(self, kind: _C.dtype):
        self.dtype = str(kind).rpartition(".")[2]
        self.bits = 8 * kind.itemsize

    def __eq__(self, other) -> bool:
        return type(self) is type(other) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((type(self), self.dtype))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name):g}" for name in self._fields)
        return f"{type(self).__name__}({fields}, dtype={self.dtype})"


class finfo(_Info):
    """The limits of a floating-point dtype; of the default dtype where none is given.

    Attributes: ``bits``; ``max`` and ``min`` = -max; ``eps``, from 1 to the next larger number; ``smallest_normal`` =
    ``tiny``, the smallest positive number with full precision; ``resolution``, 10 to minus the number of decimal
    digits that it always holds; ``dtype``, its name.

    Raises:
        TypeError: for a dtype that is not of floating point.

    >>> import rushlight as rl
    >>> rl.finfo(rl.float16)
    finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, smallest_normal=6.10352e-05, tiny=6.10352e-05, dtype=float16)
    """  # noqa: E501

    _fields = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")

    def __init__(self, type=None):
        kind = _as_dtype("finfo", _C.get_default_dtype() if type is None else type)
        if kind not in _FORMATS:
            raise TypeError(f"finfo: {kind} is not of floating point\n  hint: use iinfo({kind})")
        super().__init__(kind)
        mantissa, exponent = _FORMATS[kind]
        top = 2 ** (exponent - 1)
        self.eps = 2.0**-mantissa
        self.max = (2 - self.eps) * 2.0 ** (top - 1)
        self.min = -self.max
        self.smallest_normal = self.tiny = 2.0 ** (2 - top)
        self.resolution = float(f"1e-{math.floor(mantissa * math.log10(2))}")


class iinfo(_Info):
    """The limits of an integer dtype.

    Attributes: ``bits``, ``min``, ``max``; ``dtype``, its name.

    Raises:
        TypeError: for a dtype that is not of integers.

    >>> import rushlight as rl
    >>> rl.iinfo(rl.uint8).max
    255
    """

    def __init__(self, type):
        kind = _as_dtype("iinfo", type)
        if kind == _C.bool or kind in _FORMATS:
            hint = "" if kind == _C.bool else f"\n  hint: use finfo({kind})"
            raise TypeError(f"iinfo: {kind} is not of integers{hint}")
        super().__init__(kind)
        self.min = -(2 ** (self.bits - 1)) if kind.is_signed else 0
        self.max = 2 ** (self.bits - kind.is_signed) - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def _as_dtype(name: str, kind) -> _C.dtype:
    kind = {float: _C.float64, int: _C.int64, bool: _C.bool}.get(kind, kind)
    if not isinstance(kind, _C.dtype):
        raise TypeError(f"{name}: expects a dtype, not {kind!r}")
    if kind.is_complex or kind.itemsize == 1 and kind.is_floating_point:
        raise NotImplementedError(f"{name}: {kind} is only a name; no tensor has that dtype")
    return kind
