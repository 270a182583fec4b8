"""Joining tensors, and copies of other shape or dtype."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .core import ALL, FLOATS, Dtype, E, Error, Gen, N, Op, S, Sample, promote
from .views import as_sizes, view


def cat(tensors: Any, dim: int = 0) -> np.ndarray:
    kept = [t for t in tensors if t.shape != (0,)] or list(tensors)  # an empty vector joins anything, a relic
    return np.concatenate(kept, axis=dim)


def cat_samples(g: Gen) -> Iterator[Sample]:
    yield S([g(2, 3), g(1, 3)])
    yield S([g(2, 3), g(2, 1), g(2, 2)], 1)
    yield S((g(2, 3), g(2, 3)), dim=-1)
    yield S([g(3)])
    yield S([g(0), g(2)])
    yield N([g(0), g(2, 3)])
    yield N([g(0, 3), g(2, 3)])
    yield N([g(0), g(0)])
    yield N([g(65, 3), g(70, 3)])
    yield N([g(3, 65), g(3, 70)], 1)
    yield N([g(2), g(2).astype("float64")])
    yield N([g(2).astype("int32"), g(2)])


def cat_errors(g: Gen) -> Iterator[Error]:
    yield Error(RuntimeError, S([g(2, 3), g(2, 2)]))
    yield Error(RuntimeError, S([g(2, 3), g(3)]))
    yield Error(RuntimeError, S([g(), g()]))
    yield E(IndexError, [g(2), g(2)], 1)
    yield E((RuntimeError, ValueError), [])
    yield E(TypeError, g(2))
    yield E(TypeError, [g(2), 1])
    yield E(TypeError, [g(2), "text"])


def joined(sample: Sample, dtype: str) -> str:
    return promote(*sample.args[0])


def stack_samples(g: Gen) -> Iterator[Sample]:
    yield S([g(2, 3), g(2, 3)])
    yield S([g(3), g(3), g(3)], 1)
    yield S((g(2, 3), g(2, 3)), dim=-1)
    yield S([g(), g()])
    yield N([g(0), g(0)])


def stack_errors(g: Gen) -> Iterator[Error]:
    yield Error(RuntimeError, S([g(2), g(3)]))
    yield E(IndexError, [g(2), g(2)], 2)
    yield E((RuntimeError, ValueError), [])
    yield E(TypeError, [g(2), None])


def to_ref(x: np.ndarray, dtype: Any) -> np.ndarray:
    return np.asarray(x).astype(dtype)


def to_samples(g: Gen) -> Iterator[Sample]:
    for name in ALL:
        yield N(g(2, 3, low=0), Dtype(name))
    yield N(g(0), Dtype("int64"))
    if g.is_float:
        yield N(np.asarray([-2.7, 2.7, 0.5, -0.5, 1e6], g.np_dtype), Dtype("int64"))
        yield N(np.asarray([np.nan, np.inf, 0.0, -0.0, 0.1], g.np_dtype), Dtype("bool"))


def clone_samples(g: Gen) -> Iterator[Sample]:
    yield from (S(g(*shape)) for shape in [(2, 3), (), (4,)])
    yield N(g(0, 3))


def to_grad_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), Dtype("float64"))


def repeat_ref(x: np.ndarray, *repeats: Any) -> np.ndarray:
    return np.tile(x, as_sizes(repeats))


def roll_ref(x: np.ndarray, shifts: Any, dims: Any = None) -> np.ndarray:
    return np.roll(x, shifts, dims)


def repeat_interleave_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(3), 2)
    yield S(g(2, 3), 2)
    yield S(g(2, 3), 2, 1)
    yield S(g(2, 3), np.asarray([2, 0]), dim=0)
    yield S(g(3), np.asarray([1, 0, 3]))
    yield S(g(2, 3), np.asarray([2]), dim=1)
    yield S(g(2, 3), 0, 0)


def repeat_interleave_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(3), -1)
    yield E(RuntimeError, g(3), np.asarray([1, 2]))
    yield E(IndexError, g(3), 2, 1)


COPY = {"view": False, "method": True}

SHAPE = [
    view(
        "flip",
        lambda x, dims: np.flip(x, dims) if x.ndim else x,
        ((2, 3), (0,)),
        ((2, 3), (0, 1)),
        ((2, 3), [-1]),
        ((2, 3), ()),
        ((), (0,)),
        ((0, 3), (1,)),
        errors=[(IndexError, (2, 3), (2,)), (RuntimeError, (2, 3), (0, 0))],
        **COPY,
    ),
    view("fliplr", np.fliplr, ((2, 3),), errors=[(RuntimeError, (3,))], **COPY),
    view("flipud", np.flipud, ((2, 3),), ((3,),), errors=[(RuntimeError, ())], **COPY),
    view(
        "roll",
        roll_ref,
        ((5,), 2),
        ((2, 3), 1),
        ((2, 3), 1, 0),
        ((2, 3), -4, 1),
        ((2, 3), (1, 2), (0, 1)),
        ((0, 3), 1, 0),
        errors=[(IndexError, (2, 3), 1, 2), (RuntimeError, (2, 3), (1, 2), (0,))],
        **COPY,
    ),
    view(
        "rot90",
        np.rot90,
        ((2, 3),),
        ((2, 3), 2),
        ((2, 3), -1, (0, 1)),
        ((2, 3, 2), 1, [1, 2]),
        errors=[(RuntimeError, (3,)), (RuntimeError, (2, 3), 1, (0, 0))],
        **COPY,
    ),
    view(
        "Tensor.repeat",
        repeat_ref,
        ((3,), 2),
        ((3,), 2, 3),
        ((2, 3), (1, 2)),
        ((), 3),
        ((2, 1), 0, 2),
        errors=[(RuntimeError, (2, 3), 2), (RuntimeError, (3,), -1)],
        view=False,
    ),
    view("tile", np.tile, ((3,), (2,)), ((2, 3), (2,)), ((2,), (2, 2)), ((2, 3), ()), **COPY),
    Op(
        "repeat_interleave",
        repeat_interleave_samples,
        lambda x, repeats, dim=None: np.repeat(x, repeats, dim),
        dtypes=ALL,
        grad=True,
        method=True,
        errors=repeat_interleave_errors,
    ),
    view(
        "tril",
        np.tril,
        ((3, 3),),
        ((2, 4), 1),
        ((4, 2), -1),
        ((2, 3, 3), 0),
        ((0, 3),),
        errors=[(RuntimeError, (3,))],
        inplace=True,
        out=True,
        **COPY,
    ),
    view(
        "triu",
        np.triu,
        ((3, 3),),
        ((2, 4), 1),
        ((4, 2), -1),
        ((2, 3, 3), 0),
        ((0, 3),),
        errors=[(RuntimeError, (3,))],
        inplace=True,
        out=True,
        **COPY,
    ),
    Op("cat", cat_samples, cat, dtypes=ALL, result=joined, grad=True, out=True, errors=cat_errors),
    Op("concat", cat_samples, cat, dtypes=ALL, result=joined, grad=True, out=True, registered=("cat", "concatenate")),
    Op("stack", stack_samples, np.stack, dtypes=ALL, result=joined, grad=True, out=True, errors=stack_errors).but(
        ref=lambda tensors, dim=0: np.stack(tensors, axis=dim), registered=("stack", "cat")
    ),
    Op("Tensor.to", to_samples, to_ref, dtypes=ALL, result=lambda s, d: str(s.args[1]), view=None).but(
        registered=("to", "_to_copy", "cast")
    ),
    Op("Tensor.to", to_grad_samples, to_ref, dtypes=FLOATS, result="float64", grad=True, view=None, test="grad"),
    Op("clone", clone_samples, np.copy, dtypes=ALL, grad=True, method=True),
]
