"""Products of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .core import FLOATS, INTS, E, Error, Gen, N, Op, S, Sample

PRODUCT = {"grad": True, "dtypes": (*FLOATS, "int64", "int32"), "method": True, "out": True}

# Every combination of vectors, matrices and batches, some broadcast.
MATMUL_SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 2)),
    ((1, 3), (3, 1)),
    ((4, 2, 3), (3,)),
    ((3,), (4, 3, 2)),
    ((4, 2, 3), (3, 2)),
    ((2, 3), (4, 3, 2)),
    ((2, 2, 3), (2, 3, 2)),
    ((2, 1, 2, 3), (2, 3, 1)),
    ((2, 1, 1, 3), (1, 2, 3, 2)),
]
MATMUL_EMPTY = [
    ((0,), (0,)),
    ((2, 0), (0, 3)),
    ((0, 3), (3, 2)),
    ((2, 3), (3, 0)),
    ((0, 2, 3), (3, 2)),
    ((0, 2, 3), (0, 3, 2)),
    ((2, 2, 0), (2, 0, 3)),
    ((4, 0), (0,)),
]
MATMUL_LARGE = [((33, 65), (65, 17)), ((128, 31), (31,)), ((5, 17, 33), (5, 33, 9)), ((1, 70), (70, 90))]


def matmul_samples(g: Gen) -> Iterator[Sample]:
    for a, b in MATMUL_SHAPES:
        yield S(g(*a), g(*b))
    for a, b in MATMUL_EMPTY + MATMUL_LARGE:
        yield N(g(*a), g(*b))


def of_shapes(*ranks: tuple[int, int]) -> Any:
    def samples(g: Gen) -> Iterator[Sample]:
        for a, b in MATMUL_SHAPES + MATMUL_EMPTY + MATMUL_LARGE:
            broadcast = len(a) == len(b) == 3 and a[0] != b[0]
            if (len(a), len(b)) in ranks and not broadcast:
                small = np.prod(a) * np.prod(b) < 500
                yield Sample((g(*a), g(*b)), grad=bool(small))

    return samples


def product_errors(*shapes: tuple[tuple, tuple]) -> Any:
    def errors(g: Gen) -> Iterator[Error]:
        for a, b in shapes:
            yield E(RuntimeError, g(*a), g(*b))
        yield E(TypeError, g(2), "text")
        yield E(TypeError, g(2))
        if g.dtype == "float64":
            a, b = shapes[0][0], tuple(reversed(shapes[0][0]))
            yield E(RuntimeError, g(*a), g(*b).astype("float32"))

    return errors


def addmm_ref(x: np.ndarray, a: np.ndarray, b: np.ndarray, *, beta: float = 1, alpha: float = 1) -> np.ndarray:
    return (beta * x if beta else 0) + alpha * (a @ b)


def addmm_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 4), g(2, 3), g(3, 4))
    yield S(g(4), g(2, 3), g(3, 4))
    yield S(g(2, 1), g(2, 3), g(3, 4))
    yield S(g(), g(2, 3), g(3, 4))
    yield S(g(2, 4), g(2, 3), g(3, 4), beta=2, alpha=3)
    yield N(g(2, 4), g(2, 3), g(3, 4), beta=0)
    yield N(g(2, 4), g(2, 0), g(0, 4))
    yield N(g(0, 4), g(0, 3), g(3, 4))
    yield N(g(17), g(33, 65), g(65, 17))
    if g.is_float:
        yield S(g(2, 4), g(2, 3), g(3, 4), beta=0.5, alpha=-1.5)
        yield N(np.full((2, 4), np.nan, g.np_dtype), g(2, 3), g(3, 4), beta=0)  # zero times nan is not counted


def addmm_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2, 4), g(2, 3), g(4, 4))
    yield E(RuntimeError, g(3, 4), g(2, 3), g(3, 4))
    yield E(RuntimeError, g(4), g(3), g(3, 4))
    yield E(TypeError, g(4), g(2, 3))


def baddbmm_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 2, 4), g(2, 2, 3), g(2, 3, 4))
    yield S(g(4), g(2, 2, 3), g(2, 3, 4), beta=2, alpha=3)
    yield N(g(2, 2, 4), g(2, 2, 0), g(2, 0, 4))


def baddbmm_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(4), g(2, 2, 3), g(3, 3, 4))


def linear_ref(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    y = x @ weight.T
    return y if bias is None else y + bias


def linear_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g(4, 3))
    yield S(g(2, 3), g(4, 3), g(4))
    yield S(g(3), g(4, 3), g(4))
    yield S(g(2, 2, 3), g(4, 3), g(4))
    yield S(g(2, 3), g(4, 3), None)
    yield S(g(2, 3), g(4, 3), bias=g(4))
    yield N(g(0, 3), g(4, 3), g(4))
    yield N(g(2, 0), g(4, 0), g(4))
    yield N(g(33, 65), g(17, 65), g(17))
    yield N(g(3, 5, 64), g(64, 64), g(64))


def linear_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2, 3), g(4, 2))
    yield E(RuntimeError, g(2, 3), g(4, 3), g(3))
    yield E(TypeError, g(2, 3))
    yield E(TypeError, g(2, 3), "text")


def tensordot_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g(3, 4), 1)
    yield S(g(2, 2, 3), g(2, 3, 2))
    yield S(g(2), g(3), 0)
    yield S(g(3, 4, 2), g(4, 3, 2), dims=([1, 0], [0, 1]))
    yield S(g(2, 3), g(4, 3), ((-1,), (1,)))
    yield N(g(2, 0), g(0, 3), dims=1)
    yield N(g(), g(2), dims=0)


def tensordot_errors(g: Gen) -> Iterator[Error]:
    for dims in (-1, 3, ((1,), (0, 1)), ((1, 1), (0, 0)), ((1,), (1,)), "x"):
        yield E(RuntimeError, g(2, 3), g(3, 4), dims)
    yield E(IndexError, g(2, 3), g(3, 4), ((2,), (0,)))
    yield E(ValueError, g(2, 3), g(3, 4), ([1],))
    if g.dtype == "float64":
        yield E(RuntimeError, g(2, 3), g(3, 4).astype("float32"), 1)


LINALG = [
    Op(
        "tensordot",
        tensordot_samples,
        lambda a, b, dims=2: np.tensordot(a, b, dims),
        grad=True,
        errors=tensordot_errors,
        dtypes=(*FLOATS, "int64", "int32"),
        out=True,
    ),
    Op("matmul", matmul_samples, np.matmul, **PRODUCT).but(
        errors=product_errors(((2, 3), (2, 3)), ((), (3,)), ((3,), ()), ((3,), (4,)), ((2, 2, 3), (3, 3, 2)))
    ),
    Op("mm", of_shapes((2, 2)), np.matmul, **PRODUCT).but(errors=product_errors(((2, 3), (2, 3)), ((3,), (3, 2)))),
    Op("bmm", of_shapes((3, 3)), np.matmul, **PRODUCT).but(
        errors=product_errors(((2, 2, 3), (2, 2, 3)), ((2, 2, 3), (1, 3, 2)), ((2, 3), (3, 2)))
    ),
    Op("mv", of_shapes((2, 1)), np.matmul, **PRODUCT).but(errors=product_errors(((2, 3), (2,)), ((3,), (3,)))),
    Op("dot", of_shapes((1, 1)), np.dot, **PRODUCT).but(
        errors=product_errors(((3,), (2,)), ((2, 3), (3,))), dtypes=(*FLOATS, *INTS)
    ),
    Op("addmm", addmm_samples, addmm_ref, inplace=True, errors=addmm_errors, **PRODUCT),
    Op("baddbmm", baddbmm_samples, addmm_ref, inplace=True, errors=baddbmm_errors, **PRODUCT),
    Op("nn.functional.linear", linear_samples, linear_ref, grad=True, errors=linear_errors),
]
