"""Making tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .core import ALL, FLOATS, NUMBERS, Dtype, E, Error, Gen, N, Op, Sample

NO_LAYOUT = {"layouts": ()}


def sized(*fill: Any, as_list: bool = True) -> Callable[[Gen], Iterator[Sample]]:
    """Calls of a function of sizes, then ``fill``."""

    def samples(g: Gen) -> Iterator[Sample]:
        dtype = Dtype(g.dtype)
        for size in [(2, 3), (), (0,), (1, 0, 2), (4,)]:
            yield N(size, *fill, dtype=dtype)
            yield N(list(size), *fill, dtype=dtype)
        if not fill:
            yield N(2, 3, dtype=dtype)
            yield N(3, dtype=dtype)

    return samples


def full(value: Any) -> Callable:
    def ref(*size: Any, dtype: Any = None, **_: Any) -> np.ndarray:
        if len(size) == 1 and isinstance(size[0], (list, tuple)):
            size = tuple(size[0])
        return np.full(size, value, dtype)

    return ref


def size_errors(*fill: Any) -> Callable[[Gen], Iterator[Error]]:
    def errors(g: Gen) -> Iterator[Error]:
        yield E(RuntimeError, (-1,), *fill)
        yield E(TypeError, "text", *fill)
        yield E(TypeError, (2.5,), *fill)
        yield E(RuntimeError, (2**31, 2**31, 2**31), *fill)

    return errors


def named_dtype(sample: Sample, dtype: str) -> str:
    return str(sample.kwargs.get("dtype", dtype))


def like_samples(*fill: Any) -> Callable[[Gen], Iterator[Sample]]:
    def samples(g: Gen) -> Iterator[Sample]:
        for shape in [(2, 3), (), (0, 2)]:
            yield N(g(*shape), *fill)
        yield N(g(2), *fill, dtype=Dtype("int64"))

    return samples


def like_ref(value: Any) -> Callable:
    return lambda x, *fill, dtype=None: np.full(x.shape, value, dtype or x.dtype)


def new_samples(*fill: Any) -> Callable[[Gen], Iterator[Sample]]:
    def samples(g: Gen) -> Iterator[Sample]:
        for size in [(2, 3), (), [0]]:
            yield N(g(2), size, *fill)
        yield N(g(), (2,), *fill, dtype=Dtype("float64"))

    return samples


def new_ref(value: Any) -> Callable:
    return lambda x, size, *fill, dtype=None: np.full(size, value, dtype or x.dtype)


def new_errors(g: Gen) -> Iterator[Error]:
    yield E(TypeError, g(2), (2,), dtpye="a slip of the keyboard")
    yield E(TypeError, g(2), 2, size=(2,))


def tensor_samples(g: Gen) -> Iterator[Sample]:
    dtype = Dtype(g.dtype)
    yield N([[1, 0], [3, 4]], dtype=dtype)
    yield N(1, dtype=dtype)
    yield N([], dtype=dtype)
    yield N([[], []], dtype=dtype)
    yield N((1, (0)), dtype=dtype)
    yield N([True, False], dtype=dtype)


def inferred_samples(g: Gen) -> Iterator[Sample]:
    for data in (1, 1.5, True, [1, 2], [1, 2.5], [True, False], [True, 2], [True, 0.5], [], [[1.0], [2.0]]):
        yield N(data)


def inferred(sample: Sample, dtype: str) -> str:
    kind = np.asarray(sample.args[0]).dtype.kind
    return {"i": "int64", "f": "float32", "b": "bool"}[kind]


def tensor_errors(g: Gen) -> Iterator[Error]:
    yield E(ValueError, [[1, 2], [3]])
    yield E((ValueError, TypeError), [[1, 2], 3])
    yield E(TypeError, "text")
    yield E((TypeError, ValueError), [1, "text"])
    yield E((TypeError, RuntimeError), [None])
    yield E((TypeError, RuntimeError), {"a": 1})
    yield E(ValueError, 2**70)
    yield E(TypeError)


def arange_samples(g: Gen) -> Iterator[Sample]:
    dtype = Dtype(g.dtype)
    yield N(5, dtype=dtype)
    yield N(1, 7, dtype=dtype)
    yield N(1, 8, 3, dtype=dtype)
    yield N(0, dtype=dtype)
    yield N(3, 3, dtype=dtype)
    if g.dtype != "uint8":
        yield N(4, -3, -2, dtype=dtype)
    if g.is_float:
        yield N(0, 1, 0.25, dtype=dtype)
        yield N(0.0, 1.0, 0.1, dtype=dtype)
        yield N(2.5, dtype=dtype)
    yield N(100, dtype=dtype)


def arange_inferred(g: Gen) -> Iterator[Sample]:
    yield N(3)
    yield N(3.0)
    yield N(1, 2, 0.5)


def arange_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, 1, 0, 1)
    yield E(RuntimeError, 0, 1, 0)
    yield E(RuntimeError, 0, float("inf"))
    yield E(RuntimeError, float("nan"))
    yield E(TypeError, "text")
    yield E(TypeError)


def range_samples(g: Gen) -> Iterator[Sample]:
    dtype = Dtype(g.dtype)
    for bounds in [(1, 4), (0, 2.7), (3, 3), (5, 1, -1.5), (0, 1, 0.25), (0, 1, 0.1)]:
        yield N(*bounds, dtype=dtype)


def range_errors(g: Gen) -> Iterator[Error]:
    yield E(TypeError, 2)
    yield E(RuntimeError, 1, 0, 1)
    yield E(RuntimeError, 0, 1, 0)


def range_ref(start: float, end: float, step: float = 1, *, dtype: Any) -> np.ndarray:
    return start + step * np.arange(math.floor((end - start) / step) + 1)


def linspace_samples(g: Gen) -> Iterator[Sample]:
    dtype = Dtype(g.dtype)
    yield N(0, 1, 5, dtype=dtype)
    yield N(-2.5, 10, steps=7, dtype=dtype)
    yield N(3, 3, 2, dtype=dtype)
    yield N(1, 5, 1, dtype=dtype)
    yield N(1, 5, 0, dtype=dtype)
    yield N(10, -10, 100, dtype=dtype)


def logspace_samples(g: Gen) -> Iterator[Sample]:
    dtype = Dtype(g.dtype)
    yield N(0, 1, 3, dtype=dtype)
    yield N(0, 3, steps=4, base=2, dtype=dtype)
    yield N(1, 5, 0, dtype=dtype)


def logspace_ref(start: float, end: float, steps: int, base: float = 10.0, *, dtype: Any) -> np.ndarray:
    return np.logspace(start, end, steps, base=base).astype(dtype)


def linspace_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, 0, 1, -1)
    yield E(TypeError, 0, 1)
    yield E(TypeError, 0, "text", 3)


def eye_samples(g: Gen) -> Iterator[Sample]:
    dtype = Dtype(g.dtype)
    yield N(3, dtype=dtype)
    yield N(2, 4, dtype=dtype)
    yield N(4, 2, dtype=dtype)
    yield N(0, dtype=dtype)
    yield N(0, 3, dtype=dtype)


def eye_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, -1)
    yield E(RuntimeError, 2, -1)
    yield E(TypeError, "text")


def from_numpy_samples(g: Gen) -> Iterator[Sample]:
    yield N(g(2, 3))
    yield N(g(3))


def fill_samples(g: Gen) -> Iterator[Sample]:
    yield N(g(2, 3), g.scalar())
    yield N(g(), 1)
    yield N(g(0), 1)


CREATION = [
    Op("tensor", tensor_samples, np.array, dtypes=ALL, result=named_dtype, errors=tensor_errors, **NO_LAYOUT),
    Op("tensor", inferred_samples, np.array, dtypes=("float32",), result=inferred, test="inferred", **NO_LAYOUT),
    Op("as_tensor", tensor_samples, np.array, dtypes=ALL, result=named_dtype, errors=tensor_errors, **NO_LAYOUT),
    Op("zeros", sized(), full(0), dtypes=ALL, result=named_dtype, out=True, errors=size_errors(), **NO_LAYOUT),
    Op("ones", sized(), full(1), dtypes=ALL, result=named_dtype, out=True, errors=size_errors(), **NO_LAYOUT),
    Op("empty", sized(), None, dtypes=ALL, result=named_dtype, out=True, errors=size_errors(), **NO_LAYOUT),
    Op("full", sized(1), lambda size, value, dtype: np.full(size, value, dtype), dtypes=ALL, result=named_dtype).but(
        out=True, errors=size_errors(1), **NO_LAYOUT
    ),
    Op("zeros_like", like_samples(), like_ref(0), dtypes=ALL, result=named_dtype),
    Op("ones_like", like_samples(), like_ref(1), dtypes=ALL, result=named_dtype),
    Op("empty_like", like_samples(), None, dtypes=ALL, result=named_dtype),
    Op("full_like", like_samples(3), like_ref(3), dtypes=NUMBERS, result=named_dtype),
    Op("Tensor.new_zeros", new_samples(), new_ref(0), dtypes=ALL, result=named_dtype, errors=new_errors),
    Op("Tensor.new_ones", new_samples(), new_ref(1), dtypes=ALL, result=named_dtype, errors=new_errors),
    Op("Tensor.new_empty", new_samples(), None, dtypes=ALL, result=named_dtype, errors=new_errors),
    Op("Tensor.new_full", new_samples(3), new_ref(3), dtypes=NUMBERS, result=named_dtype),
    Op(
        "Tensor.new_tensor",
        lambda g: iter([N(g(2), [1, 0]), N(g(2), 1)]),
        lambda x, data: np.asarray(data, x.dtype),
        dtypes=ALL,
    ),
    Op("arange", arange_samples, lambda *a, dtype: np.arange(*a, dtype=np.float64).astype(dtype), dtypes=NUMBERS).but(
        result=named_dtype, out=True, errors=arange_errors, **NO_LAYOUT
    ),
    Op(
        "arange",
        arange_inferred,
        np.arange,
        dtypes=("float32",),
        result=lambda s, d: "int64" if all(isinstance(a, int) for a in s.args) else "float32",
        test="inferred",
        **NO_LAYOUT,
    ),
    Op("linspace", linspace_samples, lambda a, b, steps, dtype: np.linspace(a, b, steps), dtypes=FLOATS).but(
        result=named_dtype, out=True, errors=linspace_errors, **NO_LAYOUT
    ),
    Op("range", range_samples, range_ref, dtypes=FLOATS, result=named_dtype, out=True).but(
        errors=range_errors, **NO_LAYOUT
    ),
    Op("logspace", logspace_samples, logspace_ref, dtypes=("float32", "float64", "int32", "int64")).but(
        result=named_dtype, out=True, errors=linspace_errors, **NO_LAYOUT
    ),
    Op("eye", eye_samples, lambda n, m=None, *, dtype: np.eye(n, m, dtype=dtype), dtypes=ALL, result=named_dtype).but(
        out=True, errors=eye_errors, **NO_LAYOUT
    ),
    Op(
        "Tensor.fill_",
        fill_samples,
        lambda x, value: np.full(x.shape, value, x.dtype),
        dtypes=ALL,
        view=True,
        layouts=("transposed", "step", "offset"),
    ),
    Op(
        "Tensor.zero_",
        lambda g: iter([N(g(2, 3)), N(g()), N(g(0))]),
        lambda x: np.zeros_like(x),
        dtypes=ALL,
        view=True,
        layouts=("transposed", "step", "offset"),
    ),
    Op(
        "Tensor.copy_",
        lambda g: iter([N(g(2, 3), g(2, 3)), N(g(2, 3), g(3)), N(g(), g()), N(g(2), np.asarray([1, 0]))]),
        lambda x, y: np.broadcast_to(y, x.shape).astype(x.dtype),
        dtypes=ALL,
        view=True,
        layouts=("transposed", "step", "offset"),
        errors=lambda g: iter([E(RuntimeError, g(2), g(3)), E(TypeError, g(2), "text")]),
        registered=("copy_", "copy"),
    ),
]
