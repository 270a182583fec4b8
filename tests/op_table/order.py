"""Modes, medians, distinct elements, quantiles, searching, counting, running extrema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .core import ALL, NUMBERS, Const, E, Error, Gen, N, Op, S, Sample
from .products import wrong
from .reduce import dim_errors

PAIR = {"result": lambda sample, dtype: (dtype, "int64")}


def repeated(g: Gen, *shape: int) -> np.ndarray:
    """Integers, so that some are equal."""
    return np.asarray(g.rng.integers(0, 2 if g.dtype == "bool" else 4, shape)).astype(g.np_dtype)


def moved(x: np.ndarray, dim: int) -> np.ndarray:
    return np.moveaxis(x, dim, -1) if x.ndim else x.reshape(1)


def chosen(x: np.ndarray, dim: int, keepdim: bool, place: Any) -> tuple[np.ndarray, np.ndarray]:
    """The elements that ``place(line)`` names in each line, and where they are."""
    lines = moved(x, dim)
    if not lines.size:
        shape = lines.shape[:-1]
        return np.zeros(shape, x.dtype), np.zeros(shape, np.int64)
    at = np.apply_along_axis(place, -1, lines)
    values = np.take_along_axis(lines, at[..., None], -1)[..., 0]
    if x.ndim and keepdim:
        values, at = np.expand_dims(values, dim), np.expand_dims(at, dim)
    return values.reshape(values.shape if x.ndim else ()), at.reshape(at.shape if x.ndim else ())


def mode_ref(x: np.ndarray, dim: int = -1, keepdim: bool = False) -> Any:
    def place(line: np.ndarray) -> int:
        values, counts = np.unique(line, return_counts=True, equal_nan=False)
        return int(np.flatnonzero(line == values[counts.argmax()])[-1])

    return chosen(x, dim, keepdim, place)


def mode_samples(g: Gen) -> Iterator[Sample]:
    yield N(repeated(g, 7))
    yield N(repeated(g, 3, 5))
    yield N(repeated(g, 4, 3), 0)
    yield N(repeated(g, 2, 5, 2), 1, True)
    yield N(repeated(g))
    yield N(repeated(g, 0, 3))
    if g.is_float:
        yield S(g.distinct(2, 3))


def nanmedian_ref(x: np.ndarray, dim: Any = None, keepdim: bool = False) -> Any:
    def place(line: np.ndarray) -> int:
        n = int((line == line).sum())
        return int(np.argsort(line, kind="stable")[max(n - 1, 0) // 2])

    if dim is None:
        flat = x.reshape(-1)
        return np.asarray(flat[place(flat)] if flat.size else np.nan, x.dtype)
    return chosen(x, dim, keepdim, place)


def with_nan(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    if x.dtype.kind == "f":
        x.reshape(-1)[::3] = np.nan
    return x


def unique_samples(g: Gen) -> Iterator[Sample]:
    yield N(repeated(g, 7))
    yield N(repeated(g, 2, 5))
    yield N(repeated(g))
    yield N(repeated(g, 0))
    yield N(repeated(g, 3, 4), return_inverse=True)
    yield N(repeated(g, 9), return_counts=True)
    yield N(repeated(g, 2, 5), True, True, True)
    yield N(repeated(g, 6, 2), dim=0)
    yield N(repeated(g, 2, 6), True, True, True, 1)
    yield N(repeated(g, 0, 3), dim=0)


def unique_result(sample: Sample, dtype: str) -> Any:
    extra = [a for a in (*sample.args[2:4], *(sample.kwargs.get(k) for k in ("return_inverse", "return_counts"))) if a]
    if len(sample.args) > 1 and sample.args[1:3] == (True, True) and len(sample.args) == 3:
        extra = [True, True]
    return (dtype, *(["int64"] * len(extra))) if extra else dtype


def unique_ref(
    x: np.ndarray, sorted: bool = True, inverse: Any = False, counts: Any = False, dim: Any = None, **k: Any
) -> Any:
    inverse, counts = k.get("return_inverse", inverse), k.get("return_counts", counts)
    if x.size == 0:
        return x.reshape(0) if dim is None else x
    found = np.unique(x, return_inverse=True, return_counts=True, axis=dim)
    values, places, n = found
    places = places.reshape(x.shape) if dim is None else places.reshape(-1)
    parts = [values, *([places] if inverse else []), *([n] if counts else [])]
    return parts[0] if len(parts) == 1 else tuple(parts)


def consecutive_samples(g: Gen) -> Iterator[Sample]:
    yield N(repeated(g, 9))
    yield N(repeated(g, 2, 5), True, True)
    yield N(repeated(g))
    yield N(repeated(g, 0))
    yield N(repeated(g, 9), return_counts=True)
    yield N(repeated(g, 6, 1), True, True, 0)


def consecutive_result(sample: Sample, dtype: str) -> Any:
    return unique_result(Sample((sample.args[0], True, *sample.args[1:]), sample.kwargs), dtype)


def consecutive_ref(x: np.ndarray, inverse: Any = False, counts: Any = False, dim: Any = None, **k: Any) -> Any:
    inverse, counts = k.get("return_inverse", inverse), k.get("return_counts", counts)
    rows = x.reshape(x.shape[0], -1) if dim == 0 else x.reshape(-1, 1)
    new = np.concatenate([[True], (rows[1:] != rows[:-1]).any(1)])[: len(rows)]
    starts = np.flatnonzero(new)
    values = x[starts] if dim == 0 else x.reshape(-1)[starts]
    places = np.cumsum(new) - 1
    parts = [
        values,
        *([places if dim == 0 else places.reshape(x.shape)] if inverse else []),
        *([np.diff([*starts, len(rows)])] if counts else []),
    ]
    return parts[0] if len(parts) == 1 else tuple(parts)


def searchsorted_samples(g: Gen) -> Iterator[Sample]:
    line = np.sort(repeated(g, 6))
    yield N(line, repeated(g, 2, 3))
    yield N(line, repeated(g, 4), right=True)
    yield N(line, repeated(g, 4), side="right")
    yield N(line, repeated(g))
    yield N(line, 2)
    yield N(np.sort(repeated(g, 2, 6)), repeated(g, 2, 3))
    yield N(np.sort(repeated(g, 2, 6)), repeated(g, 2, 3), right=True, out_int32=True)
    yield N(line, repeated(g, 0))
    yield N(repeated(g, 0), repeated(g, 3))
    x = repeated(g, 5)
    yield N(x, repeated(g, 3), sorter=np.argsort(x, kind="stable"))


def searchsorted_ref(
    a: np.ndarray, v: Any, *, right: bool = False, side: Any = None, sorter: Any = None, **k: Any
) -> Any:
    side = side or ("right" if right else "left")
    if a.ndim == 1:
        return np.searchsorted(a, v, side, sorter)
    return np.stack([np.searchsorted(x, y, side) for x, y in zip(a, v, strict=True)])


def integers(sample: Sample, dtype: str) -> str:
    return "int32" if sample.kwargs.get("out_int32") else "int64"


def bucketize_samples(g: Gen) -> Iterator[Sample]:
    line = np.sort(repeated(g, 5))
    yield N(repeated(g, 2, 3), line)
    yield N(repeated(g, 2, 3), line, right=True)
    yield N(2, line)
    yield N(repeated(g, 0), line)


def isin_samples(g: Gen) -> Iterator[Sample]:
    yield N(repeated(g, 2, 3), repeated(g, 2))
    yield N(g(20), g(15))
    yield N(repeated(g, 3), repeated(g, 2), invert=True)
    yield N(repeated(g, 3), 1)
    yield N(1, repeated(g, 3))
    yield N(repeated(g, 0), repeated(g, 2))
    yield N(repeated(g, 3), repeated(g, 0))


def quantile_samples(g: Gen) -> Iterator[Sample]:
    yield S(g.distinct(5), 0.4)
    yield S(g.distinct(2, 3), 0.3)
    yield S(g.distinct(2, 3), 0.3, 1)
    yield S(g.distinct(2, 3), 0.3, 0, True)
    yield S(g.distinct(2, 3), 0.6, keepdim=True)
    yield S(g.distinct(4, 3), Const(np.asarray([0.1, 0.5, 0.77], g.np_dtype)), 0)
    yield S(g.distinct(2, 3, 2), Const(np.asarray([0.25], g.np_dtype)), 1, True)
    yield S(g.distinct(2, 3, 2), Const(np.asarray([0.25, 0.5], g.np_dtype)), -1)
    yield S(g.distinct(7), Const(np.asarray([0.2, 0.9], g.np_dtype)))
    for way in ("lower", "higher", "midpoint", "nearest"):
        yield S(g.distinct(6), 0.43, interpolation=way)
    yield S(g.distinct(), 0.5)
    yield N(with_nan(g.distinct(3, 4)), 0.5, 1)


def quantile_ref(
    x: np.ndarray, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    q = q.array if isinstance(q, Const) else q
    if x.ndim == 0:
        return np.quantile(x.reshape(1), q, method=interpolation)
    return np.quantile(x, q, axis=dim, keepdims=keepdim, method=interpolation)


def nanquantile_ref(
    x: np.ndarray, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    q = q.array if isinstance(q, Const) else q
    if x.ndim == 0:
        return np.nanquantile(x.reshape(1), q, method=interpolation)
    return np.nanquantile(x, q, axis=dim, keepdims=keepdim, method=interpolation)


def quantile_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(0), 0.5)
    yield E(RuntimeError, g(2), 1.5)
    yield E(RuntimeError, g(2), np.asarray([[0.5]], g.np_dtype))
    yield E(IndexError, g(2), 0.5, 1)
    yield E(RuntimeError, g(2), 0.5, interpolation="none")


def histc_samples(g: Gen) -> Iterator[Sample]:
    yield N(g(20), 5)
    yield N(g(20), 4, -2, 2)
    yield N(g(3, 5), bins=3, min=0, max=1)
    yield N(np.ones(3, g.np_dtype), 3)
    yield N(g(0), 3)


def histc_ref(x: np.ndarray, bins: int = 100, min: float = 0, max: float = 0) -> np.ndarray:
    low, high = (min, max) if min != max else ((x.min(), x.max()) if x.size else (0, 0))
    if low == high:
        low, high = low - 1, high + 1
    return np.histogram(x, bins, (low, high))[0].astype(x.dtype)


def histogram_samples(g: Gen) -> Iterator[Sample]:
    yield N(g(20), 5)
    yield N(g(20), 4, range=(-2.0, 2.0))
    yield N(g(20), np.asarray([-2, 0, 0.5, 3], g.np_dtype))
    yield N(g(3, 5), 3, density=True)
    yield N(g(6), 3, weight=g(6, low=0, high=1))


def histogram_ref(x: np.ndarray, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    hist, edges = np.histogram(x, bins, range, density, weight)
    return hist.astype(x.dtype), edges.astype(x.dtype)


def running(better: Any) -> Any:
    def ref(x: np.ndarray, dim: int) -> Any:
        if not x.ndim or not x.size:
            return x, np.zeros(x.shape, np.int64)
        lines = np.moveaxis(x, dim, -1)
        values, at = lines.copy(), np.zeros(lines.shape, np.int64)
        for line, v, a in zip(*(t.reshape(-1, t.shape[-1]) for t in (lines, values, at)), strict=True):
            best = 0
            for i, e in enumerate(line):
                if e != e or (line[best] == line[best] and better(e, line[best])):
                    best = i
                v[i], a[i] = line[best], best
        return np.moveaxis(values, -1, dim), np.moveaxis(at, -1, dim)

    return ref


def running_samples(g: Gen) -> Iterator[Sample]:
    yield S(g.distinct(5), 0)
    yield S(g.distinct(2, 3), 1)
    yield S(g.distinct(3, 2), 0)
    yield S(g.distinct(2, 3, 2), -2)
    yield S(g.distinct(), 0)
    yield N(repeated(g, 9), 0)
    yield N(g(0, 3), 0)
    yield N(g(3, 67), 1)
    if g.is_float:
        yield N(np.asarray([1, np.nan, 2, np.nan, 3], g.np_dtype), 0)


def logcumsumexp_ref(x: np.ndarray, dim: int) -> np.ndarray:
    return np.logaddexp.accumulate(x, axis=dim) if x.ndim else x


def logcumsumexp_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(5), 0)
    yield S(g(2, 3), 1)
    yield S(g(3, 2), 0)
    yield S(g(2, 3, 2), -2)
    yield S(g(), 0)
    yield N(g(0, 3), 0)
    yield N(g(3, 67, low=-300, high=300), 1)


def nansum_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(5))
    yield S(g(2, 3), 1)
    yield S(g(2, 3), (0, 1))
    yield S(g(2, 3, 2), -2, True)
    yield S(g())
    yield N(with_nan(g(2, 3)))
    yield N(with_nan(g(2, 4)), 0)
    yield N(g(0))


def nansum_ref(x: np.ndarray, dim: Any = None, keepdim: bool = False) -> np.ndarray:
    return np.nansum(x, axis=dim if x.ndim else None, keepdims=keepdim)


def nanmean_ref(x: np.ndarray, dim: Any = None, keepdim: bool = False) -> np.ndarray:
    return np.nanmean(x, axis=dim if x.ndim else None, keepdims=keepdim)


def along(sample: Sample) -> bool:
    return len(sample.args) > 1


ORDER = [
    Op("mode", mode_samples, mode_ref, dtypes=ALL, grad=True, method=True, out=True, **PAIR).but(
        errors=wrong((IndexError, (2, 3), 2), (IndexError, (2, 0))), layouts=("transposed", "step", "offset")
    ),
    Op(
        "nanmedian",
        lambda g: iter([S(g.distinct(5)), S(g.distinct(2, 3)), N(with_nan(g.distinct(7))), S(g.distinct())]),
        nanmedian_ref,
    ).but(dtypes=NUMBERS, grad=True, method=True),
    Op(
        "nanmedian",
        lambda g: iter(
            [
                S(g.distinct(5), 0),
                S(g.distinct(2, 3), 1, True),
                S(g.distinct(3, 2), 0),
                N(with_nan(g.distinct(3, 4)), 1),
                S(g.distinct(), 0),
            ]
        ),
        nanmedian_ref,
        test="dim",
        grad=True,
        method=True,
        out=True,
        layouts=("transposed", "step", "offset"),
        dtypes=NUMBERS,
        **PAIR,
    ),
    Op("unique", unique_samples, unique_ref, dtypes=ALL, method=True, result=unique_result).but(
        registered=("_unique2",), errors=wrong((IndexError, (2,), True, False, False, 1))
    ),
    Op("unique_consecutive", consecutive_samples, consecutive_ref, dtypes=ALL, method=True).but(
        registered=("_unique_consecutive",), result=consecutive_result
    ),
    Op(
        "searchsorted",
        searchsorted_samples,
        searchsorted_ref,
        dtypes=NUMBERS,
        result=integers,
        out=lambda sample: isinstance(sample.args[1], np.ndarray),
    ).but(
        registered=("_searchsorted",),
        layouts=("transposed", "step", "offset"),
        errors=wrong((RuntimeError, (), (2,)), (RuntimeError, (2, 3), (2,)), (RuntimeError, (2, 3), (3, 3))),
    ),
    Op(
        "bucketize", bucketize_samples, lambda x, b, right=False: np.searchsorted(b, x, "right" if right else "left")
    ).but(
        dtypes=NUMBERS,
        result="int64",
        out=lambda sample: isinstance(sample.args[0], np.ndarray),
        errors=wrong((RuntimeError, (2,), (2, 2))),
        layouts=("transposed", "step", "offset"),
    ),
    Op(
        "isin", isin_samples, lambda a, b, invert=False: np.isin(a, b, invert=invert), dtypes=NUMBERS, result="bool"
    ).but(errors=wrong((TypeError, 1, 1))),
    Op(
        "quantile",
        quantile_samples,
        quantile_ref,
        halves=False,
        grad=True,
        method=True,
        out=True,
        errors=quantile_errors,
    ).but(layouts=("transposed", "step", "offset")),
    Op(
        "nanquantile",
        quantile_samples,
        nanquantile_ref,
        halves=False,
        grad=True,
        method=True,
        out=True,
        errors=quantile_errors,
    ).but(layouts=("transposed", "step", "offset")),
    Op("histc", histc_samples, histc_ref, method=True, out=True).but(
        errors=wrong((RuntimeError, (3,), 0), (RuntimeError, (3,), 3, 2, 1))
    ),
    Op("histogram", histogram_samples, histogram_ref, method=True),
    Op(
        "cummax", running_samples, running(lambda a, b: a >= b), dtypes=ALL, grad=True, method=True, out=True, **PAIR
    ).but(errors=dim_errors, layouts=("transposed", "step", "offset")),
    Op(
        "cummin", running_samples, running(lambda a, b: a <= b), dtypes=ALL, grad=True, method=True, out=True, **PAIR
    ).but(errors=dim_errors, layouts=("transposed", "step", "offset")),
    Op("logcumsumexp", logcumsumexp_samples, logcumsumexp_ref, grad=True, method=True, out=True, errors=dim_errors),
    Op("nansum", nansum_samples, nansum_ref, dtypes=NUMBERS, result="sum", grad=True, method=True, out=along),
    Op("nanmean", nansum_samples, nanmean_ref, grad=True, method=True, out=along),
]
