"""What a row of the operation table is made of.

A row (``Op``) names an operation, yields sample calls, and gives a reference in NumPy. Samples hold NumPy arrays, so
that one table drives the package and, in tests/oracle, PyTorch.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
INTS = ("uint8", "int32", "int64")
NUMBERS = FLOATS + INTS
ALL = (*NUMBERS, "bool")
BITS = (*INTS, "bool")


class Dtype(str):
    """A dtype passed as an argument, by name: ``Dtype("int64")`` becomes ``rushlight.int64``."""


@dataclass(frozen=True)
class Const:
    """An array that takes no gradient even when it is floating point (a class weight, a running mean)."""

    array: np.ndarray


@dataclass(frozen=True)
class Sample:
    """One call. ``grad`` is false where the call is not differentiable: a kink, a tie, the edge of a domain.

    ``half`` is the half type that float32 arrays, whose values it holds, become tensors of: NumPy has no bfloat16.
    """

    args: tuple
    kwargs: dict = field(default_factory=dict)
    grad: bool = True
    half: str = ""

    def __repr__(self) -> str:
        def show(value: Any) -> str:
            if isinstance(value, Const):
                return show(value.array)
            if isinstance(value, np.ndarray):
                return f"{value.dtype}{list(value.shape)}"
            if isinstance(value, (list, tuple)):
                return "[" + ", ".join(map(show, value)) + "]"
            return repr(value)

        parts = [show(a) for a in self.args] + [f"{k}={show(v)}" for k, v in self.kwargs.items()]
        return f"({', '.join(parts)}){self.half}"


def S(*args: Any, **kwargs: Any) -> Sample:
    return Sample(args, kwargs)


def N(*args: Any, **kwargs: Any) -> Sample:
    """A sample without gradient."""
    return Sample(args, kwargs, grad=False)


@dataclass(frozen=True)
class Error:
    """A call that must raise: of this type, with a message that matches ``match``."""

    type: type[BaseException]
    sample: Sample
    match: str = ""


def E(type: type[BaseException], *args: Any, **kwargs: Any) -> Error:
    return Error(type, Sample(args, kwargs))


class Gen:
    """Arrays of one dtype from a seed that depends on the operation's name and the dtype only."""

    def __init__(self, name: str, dtype: str):
        self.dtype = dtype
        self.np_dtype = np.dtype(dtype)
        self.rng = np.random.default_rng(zlib.crc32(f"{name}:{dtype}".encode()))

    @property
    def is_float(self) -> bool:
        return self.np_dtype.kind == "f"

    def __call__(self, *shape: int, low: float = -3, high: float = 3) -> np.ndarray:
        if self.is_float:
            return np.asarray(self.rng.uniform(low, high, shape)).astype(self.np_dtype)
        if self.dtype == "bool":
            return np.asarray(self.rng.random(shape) < 0.5)
        low = max(0, int(low)) if self.dtype == "uint8" else int(low)
        return np.asarray(self.rng.integers(low, max(int(high), low + 2) + 1, shape)).astype(self.np_dtype)

    def away(self, *shape: int, zero: float = 0.0, gap: float = 0.4, high: float = 2.5) -> np.ndarray:
        """Values at least ``gap`` (integers: one) away from ``zero``."""
        if self.dtype == "bool":
            return np.ones(shape, bool)
        size = np.asarray(self.rng.uniform(gap, high, shape))
        sign = np.asarray(self.rng.choice([-1.0, 1.0], shape))
        if self.is_float:
            return np.asarray(zero + size * sign).astype(self.np_dtype)
        return np.asarray(zero + np.ceil(size) * (1 if self.dtype == "uint8" else sign)).astype(self.np_dtype)

    def distinct(self, *shape: int) -> np.ndarray:
        """Values no two of which are equal (bool cannot), well apart, so that order is not changed by a small step."""
        n = int(np.prod(shape))
        if self.dtype == "bool":
            return self(*shape)
        order = self.rng.permutation(n).reshape(shape)
        values = order * 0.37 - n * 0.17 if self.is_float else order
        return np.asarray(values).astype(self.np_dtype)

    def index(self, *shape: int, n: int) -> np.ndarray:
        return np.asarray(self.rng.integers(0, n, shape)).astype(np.int64)

    def mask(self, *shape: int) -> np.ndarray:
        return np.asarray(self.rng.random(shape) < 0.5)

    def special(self) -> np.ndarray:
        """The values where floating-point functions go wrong."""
        values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e-38, -1e-38, 30.0, -30.0, 1e30, -1e30]
        return np.asarray(values, self.np_dtype)

    def scalar(self, f: float = 1.5, i: int = 2) -> float | int | bool:
        return f if self.is_float else (True if self.dtype == "bool" else i)


def rounded(value: Any, half: str) -> Any:
    """The arguments with every float32 rounded to what the half type holds (to nearest, ties to even)."""
    if isinstance(value, Const):
        return Const(rounded(value.array, half))
    if type(value) in (list, tuple):
        return type(value)(rounded(v, half) for v in value)
    if not isinstance(value, np.ndarray) or value.dtype != np.float32:
        return value
    if half == "float16":
        with np.errstate(over="ignore"):
            return value.astype(np.float16).astype(np.float32)
    bits = value.view(np.uint32)
    nearest = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.asarray(np.where(np.isnan(value), value, nearest.view(np.float32)))


@dataclass(frozen=True)
class Op:
    """A row: everything the tests know about one operation.

    name: its path in the package, such as ``add``, ``nn.functional.relu`` or ``Tensor.view``.
    samples: yields sample calls, given a ``Gen``.
    ref: the same call on NumPy arrays, where floating-point arrays are float64; None: values are not compared
        (``empty``, random numbers).
    dtypes: dtypes that samples are made for.
    result: the result's dtype: ``same`` as the first tensor's, ``float`` (integers become float32), ``promote``,
        ``sum`` (integers become int64), a dtype's name, or a function of (sample, dtype).
    grad: differentiable with respect to every floating-point array not wrapped in ``Const``.
    method, inplace, out: whether these forms exist; a string is the form's name; a function says for which samples.
    view: True: shares memory with its first argument; None: may share.
    errors: calls that must raise, given a ``Gen``.
    registered: names under which the engine registers the operation, when not the last part of ``name``.
    rtol, atol: tolerances against the reference by dtype name, where the usual ones are too tight.
    triangle: of a sample, which array is read in one triangle only, and whether in the upper. We have no gradient in
        the other, where PyTorch may have one.
    out_strides: whether an out= that is resized has PyTorch's strides (see docs/differences.md).
    layouts: whether samples may be given in other memory layouts ("expanded" repeats the first slice).
    halves: whether float16 and bfloat16 are taken as float32 is.
    """

    name: str
    samples: Callable[[Gen], Iterator[Sample]]
    ref: Callable | None = None
    dtypes: tuple[str, ...] = FLOATS
    result: str | Callable[[Sample, str], Any] = "same"
    grad: bool = False
    gradgrad: bool = True
    method: bool | str = False
    inplace: bool | str = False
    out: bool | Callable[[Sample], bool] = False
    view: bool | None = False
    errors: Callable[[Gen], Iterator[Error]] | None = None
    registered: tuple[str, ...] = ()
    rtol: float | None = None
    atol: float | None = None
    layouts: tuple[str, ...] = ("transposed", "step", "offset", "expanded")
    triangle: Callable[[Sample], tuple[int, bool]] | None = None
    out_strides: bool = True
    random: bool = False
    grad_atol: float = 1e-5
    halves: bool = True
    test: str = ""  # distinguishes rows of the same name (``max`` of a tensor, along a dimension, of two tensors)

    @property
    def id(self) -> str:
        return self.name + (f"-{self.test}" if self.test else "")

    @property
    def short(self) -> str:
        return self.name.rsplit(".", 1)[-1]

    @property
    def method_name(self) -> str | None:
        return self.short if self.method is True else (self.method or None)

    @property
    def inplace_name(self) -> str | None:
        return self.short + "_" if self.inplace is True else (self.inplace or None)

    @property
    def registered_names(self) -> set[str]:
        names = set(self.registered) or {self.short}
        return names | ({self.inplace_name} if self.inplace_name else set())

    def gen(self, dtype: str) -> Gen:
        return Gen(self.id, dtype)

    def has_out(self, sample: Sample) -> bool:
        return self.out(sample) if callable(self.out) else self.out

    @property
    def all_dtypes(self) -> tuple[str, ...]:
        return (*self.dtypes, *(HALVES if self.halves and "float32" in self.dtypes else ()))

    def calls(self, dtype: str) -> list[Sample]:
        if dtype not in HALVES:
            return list(self.samples(self.gen(dtype)))
        return [
            replace(
                sample,
                args=rounded(sample.args, dtype),
                kwargs={k: rounded(v, dtype) for k, v in sample.kwargs.items()},
                half=dtype,
            )
            for sample in self.samples(self.gen("float32"))
        ]

    def but(self, **changes: Any) -> Op:
        return replace(self, **changes)


# -- dtype promotion ------------------------------------------------------------------------------------------------

# Tensors of the same rank class: row with column. Written out by hand; it is the specification, not a computation.
_NAMES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
_MATRIX = """
bool     uint8    int8     int16    int32    int64    float16  bfloat16 float32  float64
uint8    uint8    int16    int16    int32    int64    float16  bfloat16 float32  float64
int8     int16    int8     int16    int32    int64    float16  bfloat16 float32  float64
int16    int16    int16    int16    int32    int64    float16  bfloat16 float32  float64
int32    int32    int32    int32    int32    int64    float16  bfloat16 float32  float64
int64    int64    int64    int64    int64    int64    float16  bfloat16 float32  float64
float16  float16  float16  float16  float16  float16  float16  float32  float32  float64
bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 float32  bfloat16 float32  float64
float32  float32  float32  float32  float32  float32  float32  float32  float32  float64
float64  float64  float64  float64  float64  float64  float64  float64  float64  float64
"""
PROMOTE = {
    (row, column): cell
    for row, line in zip(_NAMES, _MATRIX.split("\n")[1:-1], strict=True)
    for column, cell in zip(_NAMES, line.split(), strict=True)
}
_CATEGORY = {"bool": 0} | dict.fromkeys(_NAMES[1:6], 1) | dict.fromkeys(_NAMES[6:], 2)


def promote(*operands: Any) -> str:
    """The dtype of arithmetic on arrays and Python numbers.

    A zero-dimensional tensor counts only if its category (bool, integer, floating) is above that of the tensors with
    dimensions; a Python number only if its is above both, and then as the default dtype of its category.
    """
    ranks: list[str | None] = [None, None, None]  # with dimensions, zero-dimensional, Python number
    for value in operands:
        if isinstance(value, Const):
            value = value.array
        if isinstance(value, np.ndarray):
            rank, name = (0 if value.ndim else 1), value.dtype.name
        elif isinstance(value, (bool, int, float)):
            rank, name = 2, {bool: "bool", int: "int64", float: "float32"}[type(value)]
        else:
            continue
        ranks[rank] = name if ranks[rank] is None else PROMOTE[ranks[rank], name]
    result: str | None = None
    for name in ranks:
        if name is not None and (result is None or _CATEGORY[name] > _CATEGORY[result]):
            result = name
    assert result is not None
    return result


def result_dtype(op: Op, sample: Sample, dtype: str) -> Any:
    """The dtype's name that ``op`` gives for ``sample`` (a tuple for several results), or None for unchecked."""
    if sample.half:
        names = result_dtype(op, replace(sample, half=""), "float32")
        given = any(isinstance(v, Dtype) for v in (*sample.args, *sample.kwargs.values()))
        if names is None or given or op.result == "float32":
            return names
        halved = tuple(sample.half if n == "float32" else n for n in ([names] if isinstance(names, str) else names))
        return halved[0] if isinstance(names, str) else halved
    if callable(op.result):
        return op.result(sample, dtype)
    if op.result == "same":
        return dtype
    if op.result == "float":
        return dtype if dtype in FLOATS else "float32"
    if op.result == "sum":
        return dtype if dtype in FLOATS else "int64"
    if op.result in ("promote", "promote_float"):
        name = promote(*sample.args, *(v for k, v in sample.kwargs.items() if k in ("other", "weight")))
        return "float32" if op.result == "promote_float" and _CATEGORY[name] < 2 else name
    return op.result
