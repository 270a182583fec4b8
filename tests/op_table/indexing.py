"""Reading and writing at positions given by tensors; sorting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .core import ALL, NUMBERS, E, Error, Gen, N, Op, S, Sample

IN_ORDER = ("transposed", "step", "offset")  # values that an expanded layout would repeat


def gather_ref(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    if x.ndim == 0 or index.ndim == 0:
        return x.reshape(-1)[index.reshape(-1)].reshape(index.shape)
    grid = list(np.indices(index.shape, sparse=True))
    grid[dim] = index
    return x[tuple(grid)]


def gather_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(4, 3), 0, g.index(2, 3, n=4))
    yield S(g(4, 3), 1, g.index(4, 5, n=3))
    yield S(g(4, 3, 2), -1, g.index(2, 3, 4, n=2))
    yield S(g(5), 0, g.index(7, n=5))
    yield S(g(), 0, g.index(n=1))
    yield S(g(4, 3), 0, g.index(2, 1, n=4))
    yield N(g(4, 3), 0, g.index(0, 3, n=4))
    yield N(g(67, 3), 0, g.index(70, 3, n=67))


def gather_errors(g: Gen) -> Iterator[Error]:
    yield E((IndexError, RuntimeError), g(4, 3), 0, np.full((1, 3), 4))
    yield E((IndexError, RuntimeError), g(4, 3), 0, np.full((1, 3), -1))
    yield E(IndexError, g(4, 3), 2, g.index(1, 3, n=2))
    yield E(RuntimeError, g(4, 3), 0, g.index(3, n=3))
    yield E(RuntimeError, g(4, 3), 0, g.index(2, 4, n=3))
    yield E(RuntimeError, g(4), 0, np.zeros(2, np.float32))


def scatter_ref(add: bool) -> Callable:
    def ref(x: np.ndarray, dim: int, index: np.ndarray, src: Any) -> np.ndarray:
        out = x.copy()
        if index.ndim == 0:
            index, src = index.reshape(1), np.reshape(src, 1)
        target = out.reshape(1) if out.ndim == 0 else out
        for at in np.ndindex(index.shape):
            to = list(at)
            to[dim] = index[at]
            value = src[at] if isinstance(src, np.ndarray) else src
            if add:
                target[tuple(to)] += value
            else:
                target[tuple(to)] = value
        return out

    return ref


def scatter_add_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(4, 3), 0, g.index(2, 3, n=4), g(2, 3))
    yield S(g(4, 3), 1, g.index(4, 5, n=3), g(4, 5))
    yield N(g(4, 3), -1, g.index(2, 2, n=3), g(4, 3))  # a source larger than the index has no gradient in PyTorch
    yield S(g(3), 0, np.asarray([1, 1, 1, 0]), g(4))
    yield S(g(), 0, g.index(n=1), g())
    yield N(g(4, 3), 0, g.index(0, 3, n=4), g(2, 3))


def scatter_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(4, 3), 0, np.asarray([[0, 1, 2], [2, 0, 1]]), g(2, 3))
    yield N(g(4), 0, np.asarray([2, 0]), g(3))
    yield S(g(4, 3), 1, np.asarray([[0], [1]]), g.scalar())
    yield N(g(4, 3), 0, g.index(0, 3, n=4), g(2, 3))


def scatter_errors(g: Gen) -> Iterator[Error]:
    yield E((IndexError, RuntimeError), g(4), 0, np.asarray([4]), g(1))
    yield E(RuntimeError, g(4), 0, np.asarray([0, 1]), g(1))
    yield E(RuntimeError, g(4, 3), 0, np.asarray([0]), g(1))
    yield E(IndexError, g(4), 1, np.asarray([0]), g(1))


def index_select_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(4, 3), 0, g.index(5, n=4))
    yield S(g(4, 3), 1, np.asarray([2, 0]))
    yield S(g(4, 3, 2), -2, g.index(2, n=3))
    yield S(g(4), 0, g.index(2, n=4).astype(np.int32))
    yield S(g(4), 0, g.index(n=4))
    yield N(g(4, 3), 0, g.index(0, n=4))
    yield N(g(0, 3), 0, g.index(0, n=1))


def index_select_errors(g: Gen) -> Iterator[Error]:
    yield E((IndexError, RuntimeError), g(4), 0, np.asarray([4]))
    yield E(IndexError, g(4), 1, np.asarray([0]))
    yield E((IndexError, RuntimeError), g(4), 0, np.asarray([[0]]))
    yield E((IndexError, RuntimeError), g(4), 0, np.asarray([0.0]))


def index_select_ref(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    return np.take(x, np.atleast_1d(index), axis=dim)


def masked_fill_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g.mask(2, 3), g.scalar())
    yield S(g(2, 3), g.mask(3), 1)
    yield S(g(2, 3), g.mask(2, 1), g())
    yield S(g(), g.mask(), 1)
    yield S(g(3), g.mask(2, 3), 1)
    yield N(g(0), g.mask(0), 1)
    if g.is_float:
        yield N(g(67), g.mask(67), float("-inf"))


def masked_fill_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2), g.mask(3), 1)
    yield E(RuntimeError, g(2), g.index(2, n=2), 1)
    yield E(RuntimeError, g(2), g.mask(2), g(2))


def nonzero_samples(g: Gen) -> Iterator[Sample]:
    for shape in [(5,), (3, 4), (), (2, 2, 3), (0,), (2, 0), (67,)]:
        yield N(g(*shape, low=0, high=1) if not g.is_float else np.asarray(np.round(g(*shape))))
    yield N(np.zeros(3, g.np_dtype))
    yield N(np.ones((), g.np_dtype))


def nonzero_tuple_samples(g: Gen) -> Iterator[Sample]:
    yield N(np.round(g(3, 4)), as_tuple=True)
    yield N(g.mask(4), as_tuple=True)


def nonzero_ref(x: np.ndarray, *, as_tuple: bool = False) -> Any:
    if as_tuple:
        return np.nonzero(x)
    if x.ndim == 0:
        return np.zeros((int(bool(x)), 0), np.int64)
    return np.argwhere(x)


def masked_select_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g.mask(2, 3))
    yield S(g(2, 3), g.mask(3))
    yield S(g(3), g.mask(2, 1))
    yield N(g(0), g.mask(0))


def masked_select_ref(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    x, mask = np.broadcast_arrays(x, mask)
    return x[mask]


def sort_ref(x: np.ndarray, dim: int = -1, descending: bool = False, stable: bool = False):
    if x.ndim == 0:
        return x, np.asarray(0)
    if descending:  # stable: equal values keep their order
        flipped = np.flip(x, dim)
        order = np.flip(np.argsort(flipped, axis=dim, kind="stable"), dim)
        order = x.shape[dim] - 1 - order
    else:
        order = np.argsort(x, axis=dim, kind="stable")
    return np.take_along_axis(x, order, dim), order


def sort_samples(g: Gen) -> Iterator[Sample]:
    yield S(g.distinct(7))
    yield S(g.distinct(3, 4), 1)
    yield S(g.distinct(3, 4), 0, True)
    yield S(g.distinct(2, 3, 2), -2, descending=True)
    yield S(g.distinct())
    yield N(g(0))
    yield N(g(2, 0), 1)
    yield N(g.distinct(200))
    yield N(g.distinct(3, 70), 1, True)
    if g.is_float:
        yield N(np.asarray([1, np.nan, -np.inf, np.inf, 0], g.np_dtype))


def stable_samples(g: Gen) -> Iterator[Sample]:
    yield N(g(40, low=0, high=3).round(), stable=True)
    yield N(g(40, low=0, high=3).round(), stable=True, descending=True)
    yield N(g(5, 40, low=0, high=3).round(), dim=1, stable=True)
    yield N(g(40, 3, low=0, high=3).round(), dim=0, stable=True)


def sort_errors(g: Gen) -> Iterator[Error]:
    yield E(IndexError, g(3), 1)
    yield E(TypeError, g(3), "text")


def topk_ref(x: np.ndarray, k: int, dim: int = -1, largest: bool = True, sorted: bool = True):
    values, order = sort_ref(x, dim, largest)
    if x.ndim == 0:
        return (values, order) if k else (np.zeros(0), np.zeros(0, np.int64))
    return np.take(values, range(k), axis=dim), np.take(order, range(k), axis=dim)


def topk_samples(g: Gen) -> Iterator[Sample]:
    yield S(g.distinct(7), 3)
    yield S(g.distinct(3, 4), 2, 0)
    yield S(g.distinct(3, 4), 4, 1, False)
    yield S(g.distinct(2, 5), 1, dim=-1, largest=False, sorted=True)
    yield S(g.distinct(), 1)
    yield N(g.distinct(5), 0)
    yield N(g.distinct(300), 10)
    yield N(g.distinct(3, 70), 60)


def topk_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(3), 4)
    yield E(RuntimeError, g(3), -1)
    yield E(IndexError, g(3), 1, 1)


def argsort_samples(g: Gen) -> Iterator[Sample]:
    yield N(g.distinct(7))
    yield N(g.distinct(3, 4), 0)
    yield N(g.distinct(3, 4), -1, True)


def kthvalue_ref(x: np.ndarray, k: int, dim: int = -1, keepdim: bool = False):
    values, order = sort_ref(x, dim)
    if x.ndim == 0:
        return values, order
    values, order = (np.take(a, [k - 1], axis=dim) for a in (values, order))
    return (values, order) if keepdim else (values.squeeze(dim), order.squeeze(dim))


def median_ref(x: np.ndarray, dim: int | None = None, keepdim: bool = False) -> Any:
    if dim is None:
        return np.sort(x.reshape(-1))[(x.size - 1) // 2]
    return kthvalue_ref(x, (x.shape[dim] + 1) // 2 if x.ndim else 1, dim, keepdim)


def index_change_ref(how: str) -> Callable:
    def ref(x: np.ndarray, dim: int, index: np.ndarray, value: Any, alpha: float = 1) -> np.ndarray:
        out = x.copy()
        if x.ndim == 0:
            return np.asarray(x + alpha * value if how == "add" else value).astype(x.dtype)
        target = np.moveaxis(out, dim, 0)
        value = np.moveaxis(value, dim, 0) if getattr(value, "ndim", 0) else value
        if how == "add":
            np.add.at(target, index, (alpha * value).astype(x.dtype))
        else:
            target[index] = value
        return out

    return ref


def index_change_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(4, 3), 0, np.asarray([2, 0]), g(2, 3))
    yield S(g(4, 3), 1, np.asarray([2, 0]), g(4, 2))
    yield S(g(4, 3, 2), -2, np.asarray([1]), g(4, 1, 2))
    yield S(g(4), 0, np.asarray([3, 1, 0]), g(3))
    yield N(g(4, 3), 0, g.index(0, n=4), g(0, 3))


def index_add_samples(g: Gen) -> Iterator[Sample]:
    yield from index_change_samples(g)
    yield S(g(4, 3), 0, np.asarray([1, 1, 3]), g(3, 3), alpha=2)


def index_change_errors(g: Gen) -> Iterator[Error]:
    yield E((IndexError, RuntimeError), g(4), 0, np.asarray([4]), g(1))
    yield E((IndexError, RuntimeError), g(4), 0, np.asarray([0, 1]), g(1))
    yield E(IndexError, g(4), 1, np.asarray([0]), g(1))


def index_fill_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(4, 3), 0, np.asarray([2, 0]), g.scalar())
    yield S(g(4, 3), -1, np.asarray([2]), g())
    yield N(g(4, 3), 1, np.asarray([-1]), 1)


def take_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(4, 3), g.index(2, 2, n=12))
    yield S(g(4, 3), np.asarray([-1, 3, 3]))
    yield S(g(5), np.asarray(4))
    yield N(g(4), g.index(0, n=4))


def take_along_dim_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(4, 3), g.index(2, 3, n=4), 0)
    yield S(g(4, 3), g.index(4, 1, n=3), 1)
    yield S(g(1, 3), g.index(4, 2, n=3), -1)
    yield S(g(4, 3), g.index(5, n=12))


def take_along_dim_ref(x: np.ndarray, index: np.ndarray, dim: int | None = None) -> np.ndarray:
    if dim is None:
        return x.reshape(-1)[index]
    shape = list(np.broadcast_shapes(*(tuple(np.delete(a.shape, dim % x.ndim)) for a in (x, index))))
    wide = [tuple(np.insert(shape, dim % x.ndim, a.shape[dim])) for a in (x, index)]
    return np.take_along_axis(np.broadcast_to(x, wide[0]), np.broadcast_to(index, wide[1]), dim)


def masked_scatter_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g.mask(2, 3), g(7))
    yield S(g(2, 3), g.mask(3), g(2, 3))
    yield N(g(0), g.mask(0), g(2))


def masked_scatter_ref(x: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    out = x.copy()
    mask = np.broadcast_to(mask, x.shape)
    out[mask] = source.reshape(-1)[: mask.sum()]
    return out


def masked_scatter_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2), np.asarray([True, True]), g(1))
    yield E(RuntimeError, g(2), g.index(2, n=2), g(2))


def scatter_reduce_samples(g: Gen) -> Iterator[Sample]:
    index = np.asarray([[0, 1, 2], [0, 1, 0], [3, 1, 0]])
    for reduce in ("sum", "prod", "amax", "amin"):
        yield S(g.distinct(4, 3), 0, index, g.distinct(3, 3) + g.np_dtype.type(1), reduce)
        yield S(g.distinct(4, 3), 0, index, g.distinct(3, 3) + g.np_dtype.type(1), reduce, include_self=False)
    if g.is_float:
        yield S(g(4, 3), 0, index, g(3, 3), "mean")
        yield S(g(4, 3), 0, index, g(3, 3), "mean", include_self=False)


def scatter_reduce_ref(
    x: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray, reduce: str, include_self: bool = True
):
    out = x.copy()
    for at in np.ndindex(x.shape):
        sent = [src[k] for k in np.ndindex(index.shape) if k[1:] == at[1:] and index[k] == at[0]]
        if not sent:
            continue
        group = np.asarray(sent + ([x[at]] if include_self else []), x.dtype)
        function = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min}[reduce]
        out[at] = function(group).astype(x.dtype)
    return out


def embedding_like(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    return x[index]


def advanced_samples(g: Gen) -> Iterator[Sample]:
    rows, columns = g.index(3, n=4), g.index(3, n=5)
    yield S(g(4, 5), rows)
    yield S(g(4, 5), (rows, columns))
    yield S(g(4, 5), (slice(None), columns))
    yield S(g(4, 5), (rows[:, None], columns))
    yield S(g(4, 5), (1, columns))
    yield S(g(4, 5), g.mask(4, 5))
    yield S(g(4, 5), g.mask(4))
    yield S(g(4, 5), (Ellipsis, g.mask(5)))
    yield S(g(4, 5, 2), (rows, slice(1, 4), np.asarray([0, 1, 1])))  # the index's dimension comes first
    yield S(g(4, 5), (rows, None, columns))
    yield S(g(4, 5), np.zeros(0, np.int64))
    yield S(g(4, 5), -rows - 1)


def advanced_errors(g: Gen) -> Iterator[Error]:
    yield E(IndexError, g(4, 5), np.asarray([4]))
    yield E(IndexError, g(4, 5), np.asarray([-5]))
    yield E(IndexError, g(4, 5), np.asarray([True, False]))
    yield E(IndexError, g(4, 5), (np.asarray([0, 1]), np.asarray([0, 1, 2])))
    yield E(IndexError, g(4, 5), np.asarray([0.5]))


def index_put_ref(x: np.ndarray, indices: tuple, values: np.ndarray, accumulate: bool = False) -> np.ndarray:
    out = x.copy()
    if accumulate:
        np.add.at(out, indices, values)
    else:
        out[indices] = values
    return out


def index_put_samples(g: Gen) -> Iterator[Sample]:
    rows, columns = np.asarray([0, 2, 1]), np.asarray([1, 0, 3])
    yield S(g(4, 5), (rows,), g(3, 5))
    yield S(g(4, 5), (rows, columns), g(3))
    yield S(g(4, 5), (rows, columns), g())
    yield S(g(4, 5), (g.mask(4, 5),), g())
    if g.dtype != "bool":
        yield S(g(4, 5), (np.asarray([1, 1, 2]),), g(3, 5), accumulate=True)


def index_put_errors(g: Gen) -> Iterator[Error]:
    yield E(IndexError, g(4), (np.asarray([4]),), g(1))
    yield E(RuntimeError, g(4, 5), (np.asarray([0, 1]),), g(3))


INDEXING = [
    Op("index_put", index_put_samples, index_put_ref, dtypes=ALL, grad=True, method=True, inplace=True).but(
        errors=index_put_errors, layouts=IN_ORDER
    ),
    Op("gather", gather_samples, gather_ref, dtypes=ALL, grad=True, method=True, out=True, errors=gather_errors),
    Op(
        "scatter",
        scatter_samples,
        scatter_ref(add=False),
        dtypes=ALL,
        grad=True,
        method=True,
        inplace=True,
        out=True,
        errors=scatter_errors,
        layouts=IN_ORDER,
    ),
    Op(
        "scatter_add",
        scatter_add_samples,
        scatter_ref(add=True),
        dtypes=NUMBERS,
        grad=True,
        method=True,
        inplace=True,
        out=True,
        errors=scatter_errors,
    ),
    Op(
        "index_select",
        index_select_samples,
        index_select_ref,
        dtypes=ALL,
        grad=True,
        method=True,
        out=True,
        errors=index_select_errors,
    ),
    Op(
        "masked_fill",
        masked_fill_samples,
        lambda x, mask, value: np.where(mask, np.asarray(value).astype(x.dtype), x),
        dtypes=ALL,
        grad=True,
        method=True,
        inplace=True,
        errors=masked_fill_errors,
    ),
    Op("masked_select", masked_select_samples, masked_select_ref, dtypes=ALL, grad=True, method=True, out=True),
    Op("nonzero", nonzero_samples, nonzero_ref, dtypes=ALL, result="int64", method=True, out=True),
    Op(
        "nonzero",
        nonzero_tuple_samples,
        nonzero_ref,
        dtypes=ALL,
        result=lambda s, d: ("int64",) * s.args[0].ndim,
        method=True,
        test="as_tuple",
    ),
    Op(
        "sort",
        sort_samples,
        sort_ref,
        dtypes=NUMBERS,
        result=lambda s, d: (d, "int64"),
        grad=True,
        method=True,
        out=True,
        errors=sort_errors,
        layouts=IN_ORDER,
    ),
    Op(
        "sort",
        stable_samples,
        sort_ref,
        dtypes=NUMBERS,
        result=lambda s, d: (d, "int64"),
        method=True,
        out=True,
        test="stable",
    ),
    Op("argsort", argsort_samples, lambda *a: sort_ref(*a)[1], dtypes=NUMBERS, result="int64", method=True).but(
        layouts=IN_ORDER, registered=("argsort", "sort")
    ),
    Op(
        "topk",
        topk_samples,
        topk_ref,
        dtypes=NUMBERS,
        result=lambda s, d: (d, "int64"),
        grad=True,
        method=True,
        out=True,
        errors=topk_errors,
        layouts=IN_ORDER,
    ),
    Op(
        "Tensor.__getitem__",
        advanced_samples,
        lambda x, i: x[i],
        dtypes=ALL,
        grad=True,
        test="advanced",
        errors=advanced_errors,
        registered=("index",),
    ),
    Op("argwhere", nonzero_samples, nonzero_ref, dtypes=ALL, result="int64", method=True),
    Op(
        "index_add",
        index_add_samples,
        index_change_ref("add"),
        dtypes=NUMBERS,
        grad=True,
        method=True,
        inplace=True,
        errors=index_change_errors,
    ),
    Op(
        "index_copy",
        index_change_samples,
        index_change_ref("copy"),
        dtypes=ALL,
        grad=True,
        method=True,
        inplace=True,
        errors=index_change_errors,
        layouts=IN_ORDER,
    ),
    Op(
        "index_fill",
        index_fill_samples,
        index_change_ref("fill"),
        dtypes=ALL,
        grad=True,
        method=True,
        inplace=True,
        layouts=IN_ORDER,
    ),
    Op("take", take_samples, lambda x, i: x.reshape(-1)[i], dtypes=ALL, grad=True, method=True),
    Op("take_along_dim", take_along_dim_samples, take_along_dim_ref, dtypes=ALL, grad=True, method=True).but(
        registered=("take_along_dim", "gather"), layouts=("offset",)
    ),
    Op(
        "masked_scatter",
        masked_scatter_samples,
        masked_scatter_ref,
        dtypes=ALL,
        grad=True,
        method=True,
        inplace=True,
        errors=masked_scatter_errors,
    ),
    Op(
        "scatter_reduce",
        scatter_reduce_samples,
        scatter_reduce_ref,
        dtypes=("float64", "int64"),
        grad=True,
        method=True,
        inplace=True,
        layouts=IN_ORDER,
    ),
    Op(
        "bincount",
        lambda g: iter([N(g.index(9, n=5)), N(g.index(9, n=5), minlength=8), N(g.index(0, n=1))]),
        lambda x, weights=None, minlength=0: np.bincount(x, weights, minlength),
        dtypes=("int64",),
        result="int64",
        method=True,
    ),
    Op(
        "kthvalue",
        lambda g: iter(
            [S(g.distinct(7), 3), S(g.distinct(3, 4), 1, 0), S(g.distinct(3, 4), 4, 1, True), S(g.distinct(), 1)]
        ),
        kthvalue_ref,
        dtypes=NUMBERS,
        result=lambda s, d: (d, "int64"),
        grad=True,
        method=True,
        layouts=IN_ORDER,
    ),
    Op(
        "median",
        lambda g: iter([S(g.distinct(7)), S(g.distinct(3, 4)), S(g.distinct())]),
        median_ref,
        dtypes=NUMBERS,
        grad=True,
        method=True,
        layouts=IN_ORDER,
    ),
    Op(
        "median",
        lambda g: iter([S(g.distinct(7), 0), S(g.distinct(3, 4), 1), S(g.distinct(3, 4), 0, True)]),
        median_ref,
        dtypes=NUMBERS,
        result=lambda s, d: (d, "int64"),
        grad=True,
        method=True,
        layouts=IN_ORDER,
        test="dim",
    ),
    Op(
        "msort",
        lambda g: iter([S(g.distinct(7)), S(g.distinct(3, 4))]),
        lambda x: np.sort(x, 0),
        dtypes=NUMBERS,
        grad=True,
        method=True,
        layouts=IN_ORDER,
    ).but(registered=("msort", "sort")),
]
