"""Products and combinations of vectors, diagonals, distances, differences and integrals."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.linalg
import scipy.spatial.distance

from .core import ALL, FLOATS, INTS, NUMBERS, E, Error, Gen, N, Op, S, Sample, promote
from .views import view

COPY = {"view": False, "method": True}


def of(*shapes: tuple, **kwargs: Any) -> Callable[[Gen], Iterator[Sample]]:
    """Samples of tensors of these shapes, a tuple of shapes for each."""

    def samples(g: Gen) -> Iterator[Sample]:
        for sample in shapes:
            yield Sample(tuple(g(*s) for s in sample), dict(kwargs), grad=0 not in [n for s in sample for n in s])

    return samples


def wrong(*calls: tuple) -> Callable[[Gen], Iterator[Error]]:
    """Errors: (type, shape, ...), where what is no tuple is an argument as it is."""

    def errors(g: Gen) -> Iterator[Error]:
        for kind, *args in calls:
            yield E(kind, *(g(*a) if isinstance(a, tuple) else a for a in args))

    return errors


def promoted(sample: Sample, dtype: str) -> str:
    return promote(*sample.args)


def diag_embed_ref(x: np.ndarray, offset: int = 0, dim1: int = -2, dim2: int = -1) -> np.ndarray:
    n = x.shape[-1] + abs(offset)
    y = np.zeros((*x.shape[:-1], n, n), x.dtype)
    i = np.arange(x.shape[-1])
    y[..., i + max(0, -offset), i + max(0, offset)] = x
    return np.moveaxis(y, (-2, -1), (dim1, dim2))


def diag_ref(x: np.ndarray, k: int = 0) -> np.ndarray:
    return np.diag(x, k)


def addmv_ref(x: np.ndarray, a: np.ndarray, v: np.ndarray, *, beta: Any = 1, alpha: Any = 1) -> np.ndarray:
    return beta * x + alpha * (a @ v)


def addr_ref(x: np.ndarray, a: np.ndarray, b: np.ndarray, *, beta: Any = 1, alpha: Any = 1) -> np.ndarray:
    return beta * x + alpha * np.outer(a, b)


def addbmm_ref(x: np.ndarray, a: np.ndarray, b: np.ndarray, *, beta: Any = 1, alpha: Any = 1) -> np.ndarray:
    return beta * x + alpha * (a @ b).sum(0)


def scaled(*shapes: tuple) -> Callable[[Gen], Iterator[Sample]]:
    def samples(g: Gen) -> Iterator[Sample]:
        yield S(*(g(*s) for s in shapes))
        yield S(*(g(*s) for s in shapes), beta=2, alpha=3)
        if g.is_float:
            yield S(*(g(*s) for s in shapes), beta=0.5, alpha=-1.5)
        yield S(g(1), *(g(*s) for s in shapes[1:]))

    return samples


# PyTorch keeps even the offset into the storage.
GAPS = ("transposed", "step", "expanded")


def part_scatter(name: str, ref: Callable, *calls: tuple) -> Op:
    def samples(g: Gen) -> Iterator[Sample]:
        for shape, part, *args in calls:
            yield S(g(*shape), g(*part), *args)

    return Op(
        name,
        samples,
        ref,
        dtypes=ALL,
        grad=True,
        method=True,
        layouts=GAPS,
        errors=wrong((RuntimeError, (3, 3), (5,), 0, 1)),
    )


def replaced(x: np.ndarray, where: Any, src: np.ndarray) -> np.ndarray:
    y = x.copy()
    y[where] = src
    return y


def diagonal_replaced(x: np.ndarray, src: np.ndarray, offset: int = 0) -> np.ndarray:
    y = x.copy()
    i = np.arange(src.shape[-1])
    y[i + max(0, -offset), i + max(0, offset)] = src
    return y


def cross_ref(a: np.ndarray, b: np.ndarray, dim: int | None = None) -> np.ndarray:
    dim = dim if dim is not None else next(d for d, n in enumerate(a.shape) if n == 3)
    a, b = np.broadcast_arrays(a, b)
    return np.cross(a, b, axis=dim)


def cross_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(3), g(3))
    yield S(g(2, 3), g(2, 3))
    yield S(g(3, 2), g(3, 2), 0)
    yield S(g(1, 3), g(2, 3), -1)
    yield N(g(0, 3), g(0, 3), 1)


def block_ref(*ts: np.ndarray) -> np.ndarray:
    return scipy.linalg.block_diag(*ts)


def combinations_ref(x: np.ndarray, r: int = 2, with_replacement: bool = False) -> np.ndarray:
    f = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(f(x.tolist(), r))
    return np.asarray(rows, x.dtype).reshape(len(rows), r) if r else np.zeros(0, x.dtype)


def diff_ref(x: np.ndarray, n: int = 1, dim: int = -1, **around: Any) -> np.ndarray:
    return np.diff(x, n, dim, **around)


def diff_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(5))
    yield S(g(2, 3))
    yield S(g(5), 2)
    yield S(g(3, 2), 1, 0)
    yield S(g(3), prepend=g(2))
    yield S(g(2, 3), append=g(2, 1), prepend=g(2, 1))
    yield N(g(1))
    yield N(g(0, 3))


def trapezoid_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(4))
    yield S(g(2, 3))
    yield S(g(2, 3), dx=0.5)
    yield S(g(3, 2), dim=0)
    yield S(g(2, 3), g(3))
    yield S(g(2, 3), g(2, 3))
    yield S(g(3, 2), g(3), dim=0)
    yield S(g(1))


def trapezoid_ref(y: np.ndarray, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> np.ndarray:
    return scipy.integrate.trapezoid(y, x, dx, dim)


def cumulative_ref(y: np.ndarray, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> np.ndarray:
    return scipy.integrate.cumulative_trapezoid(y, x, dx, dim)


def dist_ref(a: np.ndarray, b: np.ndarray, p: float = 2) -> np.ndarray:
    d = np.abs(a - b).reshape(-1)
    if p == 0:
        return np.count_nonzero(d) * np.ones((), d.dtype)
    return d.max(initial=0) if np.isinf(p) else (d**p).sum() ** (1 / p)


ORDERS = (0, 1, 2, 3, 1.5, float("inf"))


def dist_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g(2, 3))
    for p in ORDERS:
        yield S(g.distinct(4), g(4), p)
    yield S(g(2, 3), g(3), 2)
    yield N(g(4), g(4), 0)
    yield N(g(0), g(0))


def renorm_samples(g: Gen) -> Iterator[Sample]:
    for p in (1, 2, 3, float("inf")):
        yield S(g.away(3, 4), p, 0, 2.0)
        yield S(g.away(2, 3, 2), p, 1, 1.0)
    yield S(g(3, 4), 2, -1, 100)
    yield N(g(0, 3), 2, 0, 1)


def renorm_ref(x: np.ndarray, p: float, dim: int, maxnorm: float) -> np.ndarray:
    others = tuple(d for d in range(x.ndim) if d != dim % x.ndim)
    n = (
        np.abs(x).max(others, keepdims=True, initial=0)
        if np.isinf(p)
        else (np.abs(x) ** p).sum(others, keepdims=True) ** (1 / p)
    )
    return x * np.where(n > maxnorm, maxnorm / (n + 1e-7), 1)


def cdist_samples(g: Gen) -> Iterator[Sample]:
    for p in ORDERS:
        yield S(g.distinct(3, 2), g(4, 2), p)
    yield S(g(2, 3, 2), g(2, 2, 2))
    yield S(g(2, 3, 2), g(1, 2))
    yield S(g(3, 2), g(2, 2), compute_mode="donot_use_mm_for_euclid_dist")
    yield N(g(30, 5), g(28, 5))
    yield N(g(30, 5), g(28, 5), 1.0)
    yield N(g(0, 3), g(2, 3))
    yield N(g(2, 0), g(3, 0))


def cdist_ref(a: np.ndarray, b: np.ndarray, p: float = 2, compute_mode: str = "") -> np.ndarray:
    d = np.abs(a[..., :, None, :] - b[..., None, :, :])
    if p == 0:
        return (d != 0).sum(-1).astype(a.dtype)
    return d.max(-1, initial=0) if np.isinf(p) else (d**p).sum(-1) ** (1 / p)


def put_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), np.asarray([[5, 0], [-2, 1]]), g(2, 2))
    yield S(g(2, 3), np.asarray([5, 0, 5]), g(3), True)
    yield S(g(3), np.asarray([-1]), g(1), accumulate=True)
    yield S(g(), np.asarray(0), g())
    yield N(g(2, 3), np.asarray([], np.int64), g(0))


def put_ref(x: np.ndarray, index: np.ndarray, source: np.ndarray, accumulate: bool = False) -> np.ndarray:
    y = x.reshape(-1).copy()
    if accumulate:
        (np.logical_or if y.dtype == bool else np.add).at(y, index, source)
    else:
        y[index] = source
    return y.reshape(x.shape)


def put_errors(g: Gen) -> Iterator[Error]:
    yield E(IndexError, g(3), np.asarray([3]), g(1))
    yield E(IndexError, g(3), np.asarray([0, 1]), g(1))
    yield E(RuntimeError, g(3), np.asarray([0], np.int32), g(1))
    yield E(RuntimeError, g(3), np.asarray([0]), g(1).astype("float16"))


def vander_ref(x: np.ndarray, N: int | None = None, increasing: bool = False) -> np.ndarray:
    return np.vander(x, N, increasing)


PRODUCTS = [
    view("diag", diag_ref, ((3,),), ((3,), 1), ((3,), -1), ((3, 3),), ((2, 4), 1), ((4, 2), -2), ((0,),), **COPY).but(
        errors=wrong((RuntimeError, ()), (RuntimeError, (2, 2, 2))), out=True
    ),
    view("diagflat", np.diagflat, ((3,),), ((2, 2), 1), ((),), ((0,),), **COPY),
    view(
        "diag_embed",
        diag_embed_ref,
        ((3,),),
        ((2, 3),),
        ((2, 3), 1),
        ((2, 3), -1, 0, 2),
        ((2, 3), 0, 2, 1),
        errors=[(RuntimeError, (2,), 0, 1, 1), (IndexError, (2,), 0, 0, 2)],
        **COPY,
    ),
    Op("trace", of(((3, 3),), ((2, 4),), ((0, 2),)), np.trace, dtypes=NUMBERS, result="sum", grad=True).but(
        method=True, errors=wrong((RuntimeError, (3,)), (RuntimeError, (2, 2, 2)))
    ),
    Op(
        "outer",
        of(((3,), (2,)), ((1,), (4,)), ((0,), (2,))),
        np.outer,
        dtypes=ALL,
        result=promoted,
        grad=True,
        method=True,
        out=True,
        errors=wrong((RuntimeError, (2, 2), (2,)), (RuntimeError, (), (2,))),
    ),
    Op("ger", of(((3,), (2,))), np.outer, dtypes=ALL, result=promoted, grad=True, method=True, out=True),
    Op("inner", of(((3,), (3,)), ((2, 3), (4, 3)), ((3,), (2, 2, 3)), ((), (3,)), ((2, 3), ())), np.inner).but(
        dtypes=(*FLOATS, *INTS), grad=True, method=True, out=True, errors=wrong((RuntimeError, (2, 3), (2, 2)))
    ),
    Op("vdot", of(((3,), (3,)), ((0,), (0,))), np.vdot, dtypes=(*FLOATS, *INTS), grad=True, method=True, out=True).but(
        errors=wrong((RuntimeError, (3,), (2,)), (RuntimeError, (2, 3), (3,)))
    ),
    Op("kron", of(((2, 3), (3, 2)), ((2,), (3, 2)), ((2, 1, 2), (2,)), ((), (2,)), ((0,), (2,))), np.kron).but(
        dtypes=ALL, grad=True, method=True, out=True, layouts=("step", "offset", "expanded")
    ),
    Op("addmv", scaled((2,), (2, 3), (3,)), addmv_ref, dtypes=(*FLOATS, *INTS), grad=True).but(
        method=True,
        inplace=True,
        out=True,
        errors=wrong((RuntimeError, (2,), (2, 3), (2,)), (RuntimeError, (3,), (2, 3), (3,))),
    ),
    Op("addr", scaled((2, 3), (2,), (3,)), addr_ref, dtypes=NUMBERS, grad=True, method=True, inplace=True).but(
        out=True, errors=wrong((RuntimeError, (2, 3), (2, 2), (3,)))
    ),
    Op("addbmm", scaled((2, 3), (2, 2, 4), (2, 4, 3)), addbmm_ref, dtypes=(*FLOATS, *INTS), grad=True, method=True).but(
        inplace=True, out=True, errors=wrong((RuntimeError, (2, 3), (2, 2, 4), (3, 4, 3)))
    ),
    Op("cross", cross_samples, cross_ref, dtypes=NUMBERS, grad=True, method=True, out=True).but(
        errors=wrong((RuntimeError, (2,), (2,)), (RuntimeError, (3,), (4,)), (RuntimeError, (3, 3), (3,)))
    ),
    Op("linalg.cross", lambda g: iter([S(g(2, 3), g(2, 3)), S(g(3, 2), g(3, 2), dim=0)]), cross_ref).but(
        grad=True,
        out=True,
        registered=("linalg_cross",),
        dtypes=NUMBERS,
        ref=lambda a, b, dim=-1: np.cross(a, b, axis=dim),
    ),
    Op(
        "chain_matmul",
        of(((2, 3), (3, 4), (4, 2)), ((2, 3), (3, 2)), ((2, 3),)),
        lambda *m: m[0] if len(m) == 1 else np.linalg.multi_dot(m),
    ).but(grad=True, errors=wrong((RuntimeError, (2, 3), (2, 3)), (RuntimeError, (3,), (3, 2)))),
    Op(
        "linalg.multi_dot",
        lambda g: iter([S([g(2, 3), g(3, 4), g(4, 2)]), S([g(3), g(3, 4), g(4)]), S([g(3), g(3, 2)])]),
        np.linalg.multi_dot,
    ).but(grad=True, out=True),
    Op("block_diag", of(((2, 3), (1, 2)), ((2,), (), (2, 1)), ((1, 1),)), block_ref, dtypes=ALL, grad=True).but(
        errors=wrong((RuntimeError, (2, 2, 2)))
    ),
    Op("cartesian_prod", of(((2,), (3,)), ((2,), (1,), (2,))), None, dtypes=ALL, grad=True).but(
        ref=lambda *ts: np.asarray(list(itertools.product(*(t.tolist() for t in ts))), ts[0].dtype),
        errors=wrong((RuntimeError, (2, 2), (2,))),
    ),
    view(
        "combinations",
        combinations_ref,
        ((4,),),
        ((4,), 3),
        ((3,), 2, True),
        ((3,), 1),
        ((2,), 3),
        **(COPY | {"method": False}),
    ).but(errors=wrong((RuntimeError, (2, 2)), (RuntimeError, (2,), -1))),
    view("vander", vander_ref, ((3,),), ((3,), 4), **(COPY | {"method": False})).but(
        dtypes=NUMBERS, result="sum", errors=wrong((RuntimeError, (2, 2)))
    ),
    Op("linalg.vander", lambda g: iter([S(g(3)), S(g(2, 3), N=2)]), None, grad=True).but(
        ref=lambda x, N=None: np.stack([x**k for k in range(x.shape[-1] if N is None else N)], -1)
    ),
    Op("diff", diff_samples, diff_ref, dtypes=ALL, grad=True, method=True, out=True).but(
        errors=wrong((RuntimeError, ()), (IndexError, (2,), 1, 1))
    ),
    Op("trapezoid", trapezoid_samples, trapezoid_ref, grad=True),
    Op("trapz", lambda g: iter([S(g(4)), S(g(2, 3), g(3))]), trapezoid_ref, grad=True),
    Op("cumulative_trapezoid", trapezoid_samples, cumulative_ref, grad=True),
    part_scatter(
        "select_scatter",
        lambda x, src, dim, i: replaced(x, (slice(None),) * (dim % x.ndim) + (i,), src),
        ((2, 3), (3,), 0, 1),
        ((2, 3), (2,), 1, -1),
        ((3,), (), 0, 0),
    ),
    part_scatter(
        "slice_scatter",
        lambda x, src, dim=0, start=None, end=None, step=1: replaced(
            x, (slice(None),) * (dim % x.ndim) + (slice(start, end, step),), src
        ),
        ((4, 2), (2, 2), 0, 1, 3),
        ((2, 5), (2, 2), 1, 0, 4, 2),
        ((3,), (3,)),
    ).but(errors=wrong((RuntimeError, (3, 3), (5,), 0, 1))),
    part_scatter("diagonal_scatter", diagonal_replaced, ((3, 3), (3,)), ((2, 4), (2,), 1), ((4, 2), (2,), -1)).but(
        errors=wrong((RuntimeError, (3, 3), (2,)))
    ),
    Op("put", put_samples, put_ref, dtypes=ALL, grad=True, method=True, inplace=True, errors=put_errors),
    Op("dist", dist_samples, dist_ref, grad=True, method=True, gradgrad=False),
    Op("renorm", renorm_samples, renorm_ref, grad=True, method=True, inplace=True, out=True, gradgrad=False).but(
        errors=wrong((RuntimeError, (3,), 2, 0, 1), (RuntimeError, (2, 3), 0, 0, 1), (IndexError, (2, 3), 2, 2, 1))
    ),
    Op("cdist", cdist_samples, cdist_ref, grad=True, gradgrad=False, rtol=1e-5, atol=1e-5).but(
        errors=wrong((RuntimeError, (3,), (2, 3)), (RuntimeError, (2, 3), (2, 2)), (RuntimeError, (2, 3), (2, 3), -1))
    ),
    Op("cov", of(((2, 4),), ((5,),)), np.cov, grad=True, method=True).but(errors=wrong((RuntimeError, (2, 2, 2)))),
    Op("corrcoef", of(((2, 4),), ((3, 5),)), np.corrcoef, grad=True, method=True, grad_atol=1e-4),
    Op("tril_indices", lambda g: iter([N(3, 3), N(2, 4, 1), N(4, 2, -1)]), None, result="int64").but(
        ref=lambda r, c, k=0: np.stack(np.tril_indices(r, k, c)), dtypes=("float32",), layouts=()
    ),
    Op("triu_indices", lambda g: iter([N(3, 3), N(2, 4, 1), N(4, 2, -1)]), None, result="int64").but(
        ref=lambda r, c, k=0: np.stack(np.triu_indices(r, k, c)), dtypes=("float32",), layouts=()
    ),
    Op("scalar_tensor", lambda g: iter([N(2), N(1.5)]), None, result="float32", dtypes=("float32",), layouts=()),
]
