"""Views, and what copies only when it must."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .core import ALL, Dtype, E, Error, Gen, N, Op, S, Sample

VIEW = {"dtypes": ALL, "grad": True, "view": True}


def view(name: str, ref: Callable, *calls: tuple, errors: list[tuple] = (), **changes: Any) -> Op:
    """A row whose samples are ``(shape, *arguments)``; a dict at the end holds keyword arguments. ``errors`` are
    ``(type, shape, *arguments)``."""

    def split(call: tuple) -> tuple[tuple, tuple, dict]:
        shape, *rest = call
        kwargs = rest.pop() if rest and isinstance(rest[-1], dict) else {}
        return shape, tuple(rest), kwargs

    def samples(g: Gen) -> Iterator[Sample]:
        for call in calls:
            shape, args, kwargs = split(call)
            yield Sample((g(*shape), *args), kwargs)

    def error_samples(g: Gen) -> Iterator[Error]:
        for kind, *call in errors:
            shape, args, kwargs = split(tuple(call))
            yield Error(kind, Sample((g(*shape), *args), kwargs))

    return Op(name, samples, ref, errors=error_samples, **(VIEW | changes))


def as_sizes(sizes: tuple) -> tuple:
    return tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes


def reshape(x: np.ndarray, *shape: Any) -> np.ndarray:
    return x.reshape(as_sizes(shape))


def expand(x: np.ndarray, *sizes: Any) -> np.ndarray:
    sizes = as_sizes(sizes)
    own = (1,) * (len(sizes) - x.ndim) + x.shape
    return np.broadcast_to(x, tuple(o if s == -1 else s for s, o in zip(sizes, own, strict=True)))


def permute(x: np.ndarray, *dims: Any) -> np.ndarray:
    return x.transpose(as_sizes(dims))


def swap(x: np.ndarray, a: int, b: int) -> np.ndarray:
    return np.swapaxes(x, a, b) if x.ndim else x


def squeeze(x: np.ndarray, dim: Any = None) -> np.ndarray:
    if dim is None:
        return np.squeeze(x)
    dims = (dim,) if isinstance(dim, int) else dim
    return np.squeeze(x, tuple(d for d in dims if x.ndim and x.shape[d] == 1))


def narrow(x: np.ndarray, dim: int, start: int, length: int) -> np.ndarray:
    start = start if start >= 0 else start + x.shape[dim]
    return np.take(x, range(start, start + length), axis=dim)


def select(x: np.ndarray, dim: int, index: int) -> np.ndarray:
    return np.take(x, index, axis=dim)


def diagonal(x: np.ndarray, offset: int = 0, dim1: int = 0, dim2: int = 1) -> np.ndarray:
    return np.diagonal(x, offset, dim1, dim2)


def unfold(x: np.ndarray, dimension: int, size: int, step: int) -> np.ndarray:
    if x.ndim == 0:
        return x.reshape(1)[:size]
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=dimension)
    index = [slice(None)] * windows.ndim
    index[dimension % x.ndim] = slice(None, None, step)
    return windows[tuple(index)]


def flatten(x: np.ndarray, start_dim: int = 0, end_dim: int = -1) -> np.ndarray:
    if x.ndim == 0:
        return x.reshape(1)
    start, end = start_dim % x.ndim, end_dim % x.ndim
    size = int(np.prod(x.shape[start : end + 1]))
    return x.reshape(*x.shape[:start], size, *x.shape[end + 1 :])


def unflatten(x: np.ndarray, dim: int, sizes: tuple) -> np.ndarray:
    dim %= x.ndim
    sizes = tuple(sizes)
    if -1 in sizes:
        rest = -int(np.prod(sizes))
        sizes = tuple(x.shape[dim] // rest if s == -1 else s for s in sizes)
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


def as_strided(x: np.ndarray, size: Any, stride: Any, storage_offset: int = 0) -> np.ndarray:
    flat = x.reshape(-1)[storage_offset:]
    return np.lib.stride_tricks.as_strided(flat, size, [s * x.itemsize for s in stride]).copy()


def split(x: np.ndarray, sizes: Any, dim: int = 0) -> tuple:
    if isinstance(sizes, int):
        stops = range(sizes, x.shape[dim], sizes) if sizes else []
    else:
        stops = np.cumsum(sizes)[:-1]
    return tuple(np.split(x, stops, axis=dim))


def chunk(x: np.ndarray, chunks: int, dim: int = 0) -> tuple:
    if x.shape[dim] == 0:
        return (x,) * chunks
    return split(x, -(-x.shape[dim] // chunks), dim)


def tensor_split(x: np.ndarray, how: Any, dim: int = 0) -> tuple:
    return tuple(np.array_split(x, how, axis=dim))


def unbind(x: np.ndarray, dim: int = 0) -> tuple:
    return tuple(np.moveaxis(x, dim, 0))


def getitem_calls() -> list[tuple]:
    return [
        ((4, 3), 1),
        ((4, 3), -1),
        ((4, 3), slice(1, 3)),
        ((4, 3), slice(None, None, 2)),
        ((4, 3), (slice(None), 1)),
        ((4, 3), (Ellipsis, 0)),
        ((4, 3), None),
        ((4, 3), (None, 1, None)),
        ((4, 3), (slice(5, 1), 0)),
        ((2, 3, 4), (0, Ellipsis, slice(-2, None))),
        ((2, 3, 4), (Ellipsis,)),
        ((), ()),
        ((), Ellipsis),
        ((), None),
        ((0, 3), slice(0, 5)),
    ]


BAD_DIM = [(IndexError, (2, 3), 2), (IndexError, (2, 3), -3), (TypeError, (2, 3), "text")]

VIEWS = [
    view(
        "Tensor.view",
        reshape,
        ((2, 3), 6),
        ((2, 3), 3, 2),
        ((2, 3), (3, -1)),
        ((4,), [2, 2]),
        ((), 1),
        ((1,), ()),
        ((), ()),
        ((0, 3), 3, 0),
        ((2, 0), 0, 5),
        errors=[
            (RuntimeError, (2, 3), 5),
            (RuntimeError, (2, 3), -1, -1),
            (RuntimeError, (2, 3), -2, 3),
            (RuntimeError, (0, 2), -1, 0),
            (TypeError, (2, 3), "text"),
            (TypeError, (2, 3), 1.5),
        ],
        layouts=("offset",),
    ),
    view(
        "reshape",
        reshape,
        ((2, 3), (6,)),
        ((2, 3), (3, -1)),
        ((), (1, 1)),
        ((0, 3), (3, 0, 2)),
        ((2, 3, 2), [-1]),
        errors=[(RuntimeError, (2, 3), (5,)), (RuntimeError, (2, 3), (-1, -1)), (TypeError, (2, 3), "text")],
        method=True,
        view=None,
    ),
    view("Tensor.view_as", lambda x, o: x.reshape(o.shape), layouts=("offset",)).but(
        samples=lambda g: iter([S(g(2, 3), g(6)), S(g(), g(1, 1)), S(g(0), g(2, 0))]),
        errors=lambda g: iter([E(RuntimeError, g(2), g(3)), E(TypeError, g(2), 3)]),
    ),
    view("Tensor.reshape_as", lambda x, o: x.reshape(o.shape), view=None, registered=("reshape",)).but(
        samples=lambda g: iter([S(g(2, 3), g(6)), S(g(), g(1, 1)), S(g(0), g(2, 0))]),
        errors=lambda g: iter([E(RuntimeError, g(2), g(3)), E(TypeError, g(2), 3)]),
    ),
    view(
        "Tensor.expand",
        expand,
        ((3,), 2, 3),
        ((2, 1), (2, 3)),
        ((2, 1), -1, 4),
        ((), 2, 2),
        ((), ()),
        ((1,), 0),
        ((2, 1, 3), 2, 0, 3),
        ((3,), 1, -1),
        errors=[
            (RuntimeError, (3,), 2),
            (RuntimeError, (2, 3), 3),
            (RuntimeError, (3,), -1, 3),
            (RuntimeError, (1,), -2),
        ],
    ),
    view("Tensor.expand_as", lambda x, o: np.broadcast_to(x, o.shape), registered=("expand",)).but(
        samples=lambda g: iter([S(g(3), g(2, 3)), S(g(), g(2))]),
        errors=lambda g: iter([E(RuntimeError, g(2), g(3))]),
    ),
    view(
        "broadcast_to",
        lambda x, s: np.broadcast_to(x, s),
        ((3,), (2, 3)),
        ((), (2,)),
        errors=[(RuntimeError, (3,), (2,))],
        method=True,
        registered=("expand",),
    ),
    view(
        "permute",
        permute,
        ((2, 3, 4), (2, 0, 1)),
        ((2, 3), (-1, 0)),
        ((), ()),
        ((0, 3), (1, 0)),
        errors=[(RuntimeError, (2, 3), (0,)), (RuntimeError, (2, 3), (0, 0)), (IndexError, (2, 3), (0, 2))],
        method=True,
    ),
    view(
        "transpose",
        swap,
        ((2, 3), 0, 1),
        ((2, 3, 4), -1, 0),
        ((2, 3), 1, 1),
        ((), 0, -1),
        ((0, 3), 0, 1),
        errors=[(IndexError, (2, 3), 0, 2), (IndexError, (2, 3), -3, 0), (TypeError, (2, 3), 0)],
        method=True,
        inplace=True,
    ),
    view("swapaxes", swap, ((2, 3), 0, 1), ((2, 3, 4), -1, 0), method=True, inplace=True, registered=("transpose",)),
    view("swapdims", swap, ((2, 3), 0, 1), ((2, 3, 4), -1, 0), method=True, inplace=True, registered=("transpose",)),
    view(
        "t",
        np.transpose,
        ((2, 3),),
        ((3,),),
        ((),),
        ((0, 2),),
        errors=[(RuntimeError, (2, 3, 4))],
        method=True,
        inplace=True,
    ),
    view("Tensor.T", np.transpose, ((2, 3),), ((0, 2),), registered=("permute",)),
    view("Tensor.mT", lambda x: x.swapaxes(-1, -2), ((2, 3),), ((4, 2, 3),), registered=("transpose",)).but(
        errors=lambda g: iter([E(RuntimeError, g(3))])
    ),
    view("Tensor.H", np.transpose, ((2, 3),), registered=("transpose",)),
    view("Tensor.mH", lambda x: x.swapaxes(-1, -2), ((2, 3),), ((4, 2, 3),), registered=("transpose",)),
    view("adjoint", lambda x: x.swapaxes(-1, -2), ((2, 3),), ((4, 2, 3),), method=True, registered=("transpose",)),
    view(
        "movedim",
        np.moveaxis,
        ((2, 3, 4), 0, 2),
        ((2, 3, 4), -1, 0),
        ((2, 3, 4), (0, 1), (2, 0)),
        errors=[(IndexError, (2, 3), 0, 2), (RuntimeError, (2, 3, 4), (0, 0), (1, 2)), (RuntimeError, (2,), (0,), ())],
        method=True,
        registered=("permute",),
    ),
    view("moveaxis", np.moveaxis, ((2, 3, 4), 0, 2), ((2, 3), -1, 0), method=True, registered=("permute",)),
    view(
        "squeeze",
        squeeze,
        ((1, 2, 1, 3),),
        ((1, 2, 1), 0),
        ((1, 2, 1), -1),
        ((2, 3), 0),
        ((),),
        ((), 0),
        ((1, 2, 1), (0, 2)),
        ((1, 2, 1), (0, 1)),
        ((1, 0),),
        errors=[*BAD_DIM, (RuntimeError, (1, 1), (0, 0))],
        method=True,
        inplace=True,
        layouts=("transposed", "step", "offset"),
    ),
    view(
        "unsqueeze",
        np.expand_dims,
        ((2, 3), 0),
        ((2, 3), 1),
        ((2, 3), -1),
        ((2, 3), -3),
        ((), 0),
        ((0,), 1),
        errors=[(IndexError, (2, 3), 3), (IndexError, (2, 3), -4), (TypeError, (2, 3), "text"), (TypeError, (2, 3))],
        method=True,
        inplace=True,
    ),
    view(
        "narrow",
        narrow,
        ((4, 3), 0, 1, 2),
        ((4, 3), 1, 0, 3),
        ((4, 3), -1, -2, 1),
        ((4, 3), 0, 4, 0),
        ((0, 3), 0, 0, 0),
        errors=[
            (IndexError, (4, 3), 2, 0, 1),
            (RuntimeError, (4, 3), 0, 3, 2),
            (RuntimeError, (4, 3), 0, 0, -1),
            (IndexError, (4, 3), 0, 5, 0),
        ],
        method=True,
    ),
    view(
        "select",
        select,
        ((4, 3), 0, 1),
        ((4, 3), 1, -1),
        ((4, 3, 2), -2, 0),
        ((3,), 0, 2),
        errors=[(IndexError, (4, 3), 0, 4), (IndexError, (4, 3), 2, 0), (IndexError, (), 0, 0)],
        method=True,
    ),
    view(
        "diagonal",
        diagonal,
        ((3, 3),),
        ((2, 4), 1),
        ((4, 2), -1),
        ((2, 3, 3), 0, 1, 2),
        ((2, 3, 4), {"offset": 1, "dim1": -1, "dim2": 0}),
        ((2, 3), 5),
        ((0, 3),),
        errors=[(IndexError, (3,)), (RuntimeError, (3, 3), 0, 1, 1), (IndexError, (3, 3), 0, 0, 2)],
        method=True,
    ),
    view(
        "Tensor.unfold",
        unfold,
        ((7,), 0, 3, 2),
        ((2, 5), 1, 2, 1),
        ((2, 5), -1, 5, 3),
        ((4, 3), 0, 1, 1),
        ((), 0, 1, 1),
        errors=[(RuntimeError, (4,), 0, 5, 1), (RuntimeError, (4,), 0, 2, 0), (IndexError, (4,), 1, 2, 1)],
    ),
    view(
        "flatten",
        flatten,
        ((2, 3, 4),),
        ((2, 3, 4), 1),
        ((2, 3, 4), 0, 1),
        ((),),
        ((0, 3),),
        ((2, 3), -1),
        errors=[(IndexError, (2, 3), 2), (RuntimeError, (2, 3), 1, 0)],
        method=True,
        view=None,
        registered=("reshape",),
    ),
    view("ravel", np.ravel, ((2, 3),), ((),), ((0, 3),), method=True, view=None, registered=("reshape",)),
    view(
        "unflatten",
        unflatten,
        ((2, 6), 1, (2, 3)),
        ((6,), 0, (-1, 2)),
        ((6, 2), -2, [3, 2]),
        errors=[(RuntimeError, (2, 6), 1, (4, 2)), (IndexError, (2, 6), 2, (2, 3)), (RuntimeError, (6,), 0, ())],
        method=True,
        registered=("view",),
        layouts=("offset", "step", "transposed"),
    ),
    view(
        "as_strided",
        as_strided,
        ((6,), (2, 3), (3, 1)),
        ((6,), (2, 2), (1, 2), 1),
        ((4,), (3, 2), (1, 1)),
        ((4,), (3,), (0,)),
        ((2, 3), (), (), 4),
        ((3,), (0,), (1,)),
        errors=[
            (RuntimeError, (6,), (2, 4), (4, 1)),
            (RuntimeError, (6,), (2,), (3, 1)),
            (RuntimeError, (6,), (2,), (-1,)),
            (RuntimeError, (6,), (-1,), (1,)),
            (RuntimeError, (6,), (2,), (1,), 5),
        ],
        method=True,
        layouts=(),
    ),
    view("Tensor.detach", np.asarray, ((2, 3),), ((),), ((0,),), grad=False).but(registered=("detach", "alias")),
    view("Tensor.contiguous", np.asarray, ((2, 3),), ((),), ((0, 3),), view=None),
    view("positive", lambda x: +x, ((2, 3),), ((),), dtypes=("float32", "float64", "int64"), method=True).but(
        registered=()
    ),
    view("Tensor.real", np.asarray, ((2, 3),), dtypes=("float32", "float64"), registered=()),
    view(
        "split",
        split,
        ((5, 2), 2),
        ((2, 4), 3, 1),
        ((5,), [2, 3]),
        ((5,), (1, 0, 4), 0),
        ((2, 6), [2, 4], -1),
        ((0, 2), 2),
        errors=[
            (RuntimeError, (5,), [2, 2]),
            (RuntimeError, (5,), 0),
            (RuntimeError, (5,), -1),
            (RuntimeError, (5,), [6, -1]),
            (IndexError, (5,), 1, 1),
        ],
        method=True,
    ),
    view("split_with_sizes", split, ((5,), [2, 3]), ((2, 4), (1, 3), 1), method=True, registered=("split",)),
    view(
        "chunk",
        chunk,
        ((5,), 2),
        ((6, 2), 3),
        ((2, 5), 4, 1),
        ((3,), 7),
        ((0,), 2),
        errors=[(RuntimeError, (5,), 0), (IndexError, (5,), 2, 1), (RuntimeError, (), 2)],
        method=True,
        registered=("split", "chunk"),
    ),
    view(
        "tensor_split",
        tensor_split,
        ((5,), 2),
        ((2, 6), 4, 1),
        ((7, 2), (1, 3)),
        ((5,), [2, 9]),
        errors=[(RuntimeError, (5,), 0), (RuntimeError, (), 2)],
        method=True,
        registered=("split", "tensor_split"),
    ),
    view("hsplit", np.hsplit, ((4, 6), 2), ((6,), (1, 4)), method=True, registered=("split",)),
    view("vsplit", np.vsplit, ((4, 6), 2), ((6, 1), (1, 4)), method=True, registered=("split",)),
    view("dsplit", np.dsplit, ((1, 2, 4), 2), ((1, 2, 6), (1, 4)), method=True, registered=("split",)),
    view(
        "unbind",
        unbind,
        ((3, 2),),
        ((2, 3), 1),
        ((2, 3, 2), -1),
        errors=[(IndexError, (2, 3), 2), (IndexError, ())],
        method=True,
    ),
    view(
        "Tensor.__getitem__",
        operator.getitem,
        *getitem_calls(),
        errors=[
            (IndexError, (4, 3), 4),
            (IndexError, (4, 3), (0, -4)),
            (IndexError, (4, 3), (0, 0, 0)),
            (IndexError, (), 0),
            (ValueError, (4, 3), slice(None, None, -1)),
            (IndexError, (4, 3), "text"),
        ],
        registered=("slice", "select", "index", "getitem"),
    ),
    Op(
        "Tensor.view",
        lambda g: iter([N(g(2, 4), Dtype(g.dtype)), N(g(2, 8), Dtype("uint8"))]),
        lambda x, d: x.view(d) if x.dtype != np.float64 else None,
        dtypes=("float32", "int32", "uint8"),
        result=lambda s, d: str(s.args[1]),
        view=True,
        layouts=("offset",),
        test="dtype",
        halves=False,
        registered=("view", "view_dtype"),
    ),
]
