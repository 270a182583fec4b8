"""Reductions and scans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.special

from .core import ALL, FLOATS, NUMBERS, Dtype, E, Error, Gen, N, Op, S, Sample


def along(sample: Sample) -> bool:
    """Only reductions along dimensions write to ``out``."""
    return len(sample.args) > 1 and not isinstance(sample.args[1], bool) or "dim" in sample.kwargs


FORMS = {"method": True, "out": along}


def axes(dim: Any) -> Any:
    """PyTorch reads an empty list of dimensions as all of them."""
    return (tuple(dim) or None) if isinstance(dim, (list, tuple)) else dim


def reduction(function: Callable, **fixed: Any) -> Callable:
    def ref(x: np.ndarray, dim: Any = None, keepdim: bool = False, *, dtype: str | None = None) -> np.ndarray:
        x = x if dtype is None else x.astype(dtype)
        if x.ndim == 0:
            return function(x)
        return function(x, axis=axes(dim), keepdims=keepdim, **fixed)

    return ref


def reduction_samples(
    values: Callable[[Gen], Callable],
    many: bool = True,
    whole: bool = True,
    empty: bool = True,
    everything: bool = True,
):
    """Samples over one dimension, several (``many``), or all without an argument (``whole``); ``empty``: of nothing;
    ``everything``: an empty list of dimensions means all."""

    def samples(g: Gen) -> Iterator[Sample]:
        x = values(g)
        if whole:
            for shape in [(5,), (2, 3), (), (2, 1, 3)]:
                yield S(x(*shape))
            yield N(x(13, 77))
        yield S(x(4), 0)
        yield S(x(2, 3), 1)
        yield S(x(2, 3), -2)
        yield S(x(2, 3), 0, True)
        yield S(x(2, 3, 2), dim=1, keepdim=True)
        yield S(x(), 0)
        yield S(x(), -1, keepdim=True)
        yield N(x(3, 67), 1)
        yield N(x(67, 3), 0)
        yield N(x(4, 0, 3), 0)
        yield N(x(4, 0, 3), 2)
        if many:
            yield S(x(2, 3, 2), (0, 2))
            yield S(x(2, 3, 2), [-1, 1], True)
            yield S(x(2, 3), [0, 1])
            if everything:
                yield S(x(2, 3), ())
            yield N(x(5, 7, 9), (0, 1))
            yield N(x(5, 7, 9), (1, 2))
        if empty:
            yield N(x(0))
            yield N(x(2, 0), 1)
            yield N(x(0, 3), 0, True)

    return samples


def dim_errors(g: Gen) -> Iterator[Error]:
    yield Error(IndexError, S(g(2, 3), 2))
    yield Error(IndexError, S(g(2, 3), -3))
    yield E(IndexError, g(), 1)
    yield E(TypeError, g(2), "text")
    yield E(TypeError)


def repeated_dim(g: Gen) -> Iterator[Error]:
    yield from dim_errors(g)
    yield Error(RuntimeError, S(g(2, 3), (0, 0)))
    yield Error(RuntimeError, S(g(2, 3), (1, -1)))


def no_identity(g: Gen) -> Iterator[Error]:
    yield from dim_errors(g)
    yield Error(IndexError, S(g(2, 0), 1))


def plain(g: Gen) -> Callable:
    return g


def distinct(g: Gen) -> Callable:
    return g.distinct


def sum_samples(g: Gen) -> Iterator[Sample]:
    yield from reduction_samples(plain)(g)
    yield N(g(2, 3), dtype=Dtype("float64"))
    yield N(g(2, 3), 1, dtype=Dtype("int64"))
    yield N(g(2, 3), (0,), True, dtype=Dtype("float32"))


def sum_result(sample: Sample, dtype: str) -> str:
    return str(sample.kwargs.get("dtype") or (dtype if dtype in FLOATS else "int64"))


def mean_samples(g: Gen) -> Iterator[Sample]:
    yield from reduction_samples(plain)(g)
    yield N(g(2, 3), dtype=Dtype("float64"))
    yield N(g(2, 3).astype("int64"), 1, dtype=Dtype("float32"))


def mean_result(sample: Sample, dtype: str) -> str:
    return str(sample.kwargs.get("dtype") or dtype)


def var_ref(x: np.ndarray, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    ddof = int(unbiased) if correction is None else correction
    return np.var(x, axis=axes(dim), ddof=ddof, keepdims=keepdim)


def var_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(5))
    yield S(g(2, 3))
    yield S(g(2, 3), False)
    yield S(g(2, 3), 1)
    yield S(g(2, 3), [-2])
    yield S(g(2, 3, 2), (0, 2), False)
    yield S(g(2, 3, 2), dim=(0, 1), keepdim=True)
    yield S(g(2, 3), dim=1, correction=0)
    yield S(g(4), correction=2)
    yield S(g(2, 3), dim=0, unbiased=True, keepdim=True)
    yield N(g(3, 67), 1)
    yield N(g(67, 3), 0)
    yield N(g(1000, low=1000, high=1001))  # far from zero: a sum of squares would lose it
    yield N(g(2, 0), 0)


def logsumexp_ref(x: np.ndarray, dim: Any, keepdim: bool = False) -> np.ndarray:
    return scipy.special.logsumexp(x, axis=axes(dim), keepdims=keepdim)


def logsumexp_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(5), 0)
    yield S(g(2, 3), 1)
    yield S(g(2, 3), (0, 1))
    yield S(g(2, 3, 2), [-1, 0], True)
    yield S(g(), 0)
    yield N(g(2, 3, low=-1000, high=1000), 1)
    yield N(np.asarray([[np.inf, 1], [-np.inf, -np.inf], [-np.inf, 2]], g.np_dtype), 1)
    yield N(g(67, 5), 0)


def extremum_dim(values: Callable, indices: Callable) -> Callable:
    def ref(x: np.ndarray, dim: int, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
        if x.ndim == 0:
            return x, np.asarray(0)
        return values(x, axis=dim, keepdims=keepdim), indices(x, axis=dim, keepdims=keepdim)

    return ref


def extremum_dim_samples(g: Gen) -> Iterator[Sample]:
    if g.dtype == "bool":  # of equal values any index may be given
        yield N(np.asarray([[True, False], [False, True]]), 1)
        return
    yield from reduction_samples(distinct, many=False, whole=False, empty=False)(g)


def whole_samples(g: Gen) -> Iterator[Sample]:
    yield from (S(g.distinct(*shape)) for shape in [(5,), (2, 3), (), (2, 1, 3)])
    yield N(g.distinct(3, 5, 4))
    if g.is_float:
        yield N(np.asarray([1, np.nan, 3], g.np_dtype))


def whole_errors(g: Gen) -> Iterator[Error]:
    yield Error(RuntimeError, S(g(0)))


def pair_samples(g: Gen) -> Iterator[Sample]:
    yield S(g.distinct(2, 3), g.distinct(3))
    yield S(g.distinct(4), g.distinct())


def arg_ref(function: Callable) -> Callable:
    def ref(x: np.ndarray, dim: int | None = None, keepdim: bool = False) -> np.ndarray:
        if x.ndim == 0:
            return np.asarray(0)
        return function(x, axis=dim, keepdims=keepdim)

    return ref


def arg_samples(g: Gen) -> Iterator[Sample]:
    yield from (S(g.distinct(*shape)) for shape in [(5,), (2, 3), (), (2, 1, 3)])
    yield from reduction_samples(distinct, many=False, whole=False, empty=False)(g)
    if g.is_float:
        yield N(np.asarray([1, np.nan, 3, np.nan], g.np_dtype))


def arg_errors(g: Gen) -> Iterator[Error]:
    yield from no_identity(g)
    yield Error(IndexError, S(g(0)))


def cumsum_ref(x: np.ndarray, dim: int, *, dtype: str | None = None) -> np.ndarray:
    x = x if dtype is None else x.astype(dtype)
    return np.cumsum(x, axis=dim) if x.ndim else np.asarray(x + (0 if x.dtype != bool else np.int64(0)))


def cumsum_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(5), 0)
    yield S(g(2, 3), 1)
    yield S(g(2, 3), -2)
    yield S(g(2, 3, 2), 1)
    yield S(g(), 0)
    yield N(g(0), 0)
    yield N(g(2, 0), 0)
    yield N(g(67), 0)
    yield N(g(3), 0, dtype=Dtype("float64"))


def amax_samples(g: Gen) -> Iterator[Sample]:
    yield from reduction_samples(distinct, empty=False)(g)
    tied = np.asarray([[1, 1, 0], [0, 1, 1]], g.np_dtype)
    yield N(tied, 1)  # the gradient is shared between equal values
    yield N(tied)
    if g.is_float:
        yield N(np.asarray([1, np.nan, 3], g.np_dtype))


def truth_samples(g: Gen) -> Iterator[Sample]:
    yield from reduction_samples(lambda g: lambda *s: g(*s, low=0, high=1), everything=False)(g)
    yield N(np.ones((2, 3), g.np_dtype), 1)
    yield N(np.zeros((2, 3), g.np_dtype))


def truth_result(sample: Sample, dtype: str) -> str:
    return "uint8" if dtype == "uint8" else "bool"  # uint8 stays, a relic of masks before bool


def std_ref(*args: Any, **kwargs: Any) -> np.ndarray:
    return np.sqrt(var_ref(*args, **kwargs))


def spread_and_mean(spread: Callable) -> Callable:
    def ref(x: np.ndarray, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        result = spread(x, dim, unbiased, keepdim, correction=correction)
        return result, np.mean(x, axis=axes(dim), keepdims=keepdim)

    return ref


def prod_samples(g: Gen) -> Iterator[Sample]:
    yield from reduction_samples(lambda g: lambda *s: g.away(*s, gap=0.4), many=False, empty=False)(g)
    with_zeros = np.asarray([[1, 0, 2], [0, 0, 3], [2, 1, 3]], g.np_dtype)
    yield S(with_zeros, 1)
    yield S(with_zeros)
    yield N(g(0))
    yield N(g(2, 0), 1)


def cumprod_samples(g: Gen) -> Iterator[Sample]:
    yield from cumsum_samples(g)
    yield S(np.asarray([2, 0, 3, 0, 1], g.np_dtype), 0)


def cumprod_ref(x: np.ndarray, dim: int, *, dtype: str | None = None) -> np.ndarray:
    x = x if dtype is None else x.astype(dtype)
    return np.cumprod(x, axis=dim) if x.ndim else np.asarray(x + (0 if x.dtype != bool else np.int64(0)))


def norm_samples(g: Gen) -> Iterator[Sample]:
    for p in (2, 1, 3, 2.5, 0.5, np.inf, -np.inf):
        yield S(g.distinct(2, 3), p)
        yield S(g.distinct(2, 3), p, 1)
        yield S(g.distinct(2, 3, 2), p, (0, 2), True)
    yield S(g.away(2, 3, gap=0.2))
    yield S(g.away(gap=0.2), 2)
    yield N(g(5), 0)
    yield N(g(0), 2)
    yield N(np.zeros(3, g.np_dtype), 2)
    yield N(g(3, 67), 2, 1)
    yield N(g(67, 3), 2, 0)


def norm_ref(x: np.ndarray, p: Any = "fro", dim: Any = None, keepdim: bool = False) -> np.ndarray:
    a, axis = np.abs(x), axes(dim)
    if p == "fro":
        p = 2
    if p == 0:
        return np.sum(a != 0, axis=axis, keepdims=keepdim).astype(x.dtype)
    if np.isinf(p):
        return (np.max if p > 0 else np.min)(a, axis=axis, keepdims=keepdim)
    return np.sum(a**p, axis=axis, keepdims=keepdim) ** (1 / p)


def aminmax_samples(g: Gen) -> Iterator[Sample]:
    for shape in [(5,), (2, 3), ()]:
        yield S(g.distinct(*shape))
    yield S(g.distinct(2, 3), dim=1)
    yield S(g.distinct(2, 3), dim=0, keepdim=True)


def aminmax_ref(x: np.ndarray, *, dim: int | None = None, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    return np.min(x, axis=dim, keepdims=keepdim), np.max(x, axis=dim, keepdims=keepdim)


def count_samples(g: Gen) -> Iterator[Sample]:
    for shape in [(5,), (2, 3), (), (0,)]:
        yield N(g(*shape, low=0, high=1))
    yield N(g(2, 3, low=0, high=1), 1)
    yield N(g(2, 3, 2, low=0, high=1), (0, 2))


SCAN = {"result": sum_result, "grad": True, "method": True, "out": True, "inplace": True, "errors": dim_errors}

REDUCE = [
    Op("sum", sum_samples, None, dtypes=ALL, result=sum_result, grad=True, errors=repeated_dim, **FORMS).but(
        ref=lambda x, dim=None, keepdim=False, *, dtype=None: np.sum(
            x if dtype is None else x.astype(dtype),
            axis=axes(dim),
            keepdims=keepdim,
            dtype=(np.float64 if x.dtype.kind == "f" else np.int64) if dtype is None else None,
        ),
    ),
    Op("mean", mean_samples, reduction(np.mean), result=mean_result, grad=True, errors=repeated_dim, **FORMS),
    Op("amax", amax_samples, reduction(np.max), dtypes=ALL, grad=True, errors=no_identity, **FORMS),
    Op("amin", amax_samples, reduction(np.min), dtypes=ALL, grad=True, errors=no_identity, **FORMS),
    Op("max", whole_samples, np.max, dtypes=ALL, grad=True, method=True, out=True, test="all").but(errors=whole_errors),
    Op("min", whole_samples, np.min, dtypes=ALL, grad=True, method=True, out=True, test="all").but(errors=whole_errors),
    Op("max", pair_samples, np.maximum, dtypes=ALL, grad=True, method=True, out=True, test="pair"),
    Op("min", pair_samples, np.minimum, dtypes=ALL, grad=True, method=True, out=True, test="pair"),
    Op(
        "max",
        extremum_dim_samples,
        extremum_dim(np.max, np.argmax),
        dtypes=ALL,
        result=lambda s, d: (d, "int64"),
        grad=True,
        errors=no_identity,
        test="dim",
        layouts=("transposed", "step", "offset"),
        **FORMS,
    ),
    Op(
        "min",
        extremum_dim_samples,
        extremum_dim(np.min, np.argmin),
        dtypes=ALL,
        result=lambda s, d: (d, "int64"),
        grad=True,
        errors=no_identity,
        test="dim",
        layouts=("transposed", "step", "offset"),
        **FORMS,
    ),
    Op("argmax", arg_samples, arg_ref(np.argmax), dtypes=NUMBERS, result="int64", errors=arg_errors, **FORMS).but(
        layouts=("transposed", "step", "offset")
    ),
    Op("argmin", arg_samples, arg_ref(np.argmin), dtypes=NUMBERS, result="int64", errors=arg_errors, **FORMS).but(
        layouts=("transposed", "step", "offset")
    ),
    Op("all", truth_samples, reduction(np.all), dtypes=ALL, result=truth_result, errors=dim_errors, **FORMS),
    Op("any", truth_samples, reduction(np.any), dtypes=ALL, result=truth_result, errors=dim_errors, **FORMS),
    Op("var", var_samples, var_ref, grad=True, errors=repeated_dim, **FORMS),
    Op("logsumexp", logsumexp_samples, logsumexp_ref, grad=True, **FORMS),
    Op("cumsum", cumsum_samples, cumsum_ref, dtypes=ALL, **SCAN),
    Op("prod", prod_samples, None, dtypes=ALL, result=sum_result, grad=True, **FORMS).but(
        ref=reduction(np.prod), gradgrad=True
    ),
    Op("std", var_samples, std_ref, grad=True, errors=repeated_dim, **FORMS),
    Op("var_mean", var_samples, spread_and_mean(var_ref), grad=True),
    Op("std_mean", var_samples, spread_and_mean(std_ref), grad=True),
    Op("norm", norm_samples, norm_ref, grad=True, method=True, registered=("linalg_vector_norm",)),
    Op("aminmax", aminmax_samples, aminmax_ref, dtypes=NUMBERS, grad=True, method=True),
    Op(
        "count_nonzero",
        count_samples,
        lambda x, dim=None: np.count_nonzero(x, axis=axes(dim)),
        dtypes=ALL,
        result="int64",
        method=True,
    ),
    Op("cumprod", cumprod_samples, cumprod_ref, dtypes=NUMBERS, **SCAN),
]
