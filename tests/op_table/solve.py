"""Linear algebra. Decompositions that are unique up to signs only are in tests/test_linalg.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.linalg

from .core import E, Error, Gen, N, Op, S, Sample
from .products import wrong

LAYOUTS = {"layouts": ("transposed", "step", "offset"), "rtol": 1e-5, "atol": 1e-5}
SINGLE = {"grad": True, "out": True, **LAYOUTS}
# Their gradients are symmetric, which finite differences of one triangle are not: see tests/test_linalg.py.
SYMMETRIC = SINGLE | {"grad": False}


def matrix(g: Gen, *shape: int) -> np.ndarray:
    """Well away from singular: ones on the diagonal outweigh the rest."""
    n = shape[-1]
    return (g(*shape, low=-1, high=1) + 2 * n**0.5 * np.eye(n)).astype(g.np_dtype)


def positive(g: Gen, *shape: int) -> np.ndarray:
    a = g(*shape, low=-1, high=1)
    return (a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])).astype(g.np_dtype)


def squares(make: Callable, *more: tuple) -> Callable[[Gen], Iterator[Sample]]:
    def samples(g: Gen) -> Iterator[Sample]:
        yield S(make(g, 3, 3))
        yield S(make(g, 2, 2, 2))
        yield S(make(g, 1, 1))
        yield N(make(g, 17, 17))
        yield N(np.zeros((0, 3, 3), g.np_dtype))
        for kwargs in more:
            yield Sample((make(g, 3, 3),), dict(kwargs))

    return samples


def matrix_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(3))
    yield E(RuntimeError, g(2, 3))
    yield E(RuntimeError, g(2, 2).astype("int64"))


def solve_samples(g: Gen) -> Iterator[Sample]:
    yield S(matrix(g, 3, 3), g(3, 2))
    yield S(matrix(g, 3, 3), g(3))
    yield S(matrix(g, 2, 2, 2), g(2, 2, 1))
    yield S(matrix(g, 2, 2, 2), g(2, 2))
    yield S(matrix(g, 2, 2), g(2, 2, 1))
    yield S(matrix(g, 3, 3), g(2, 3), left=False)
    yield N(matrix(g, 3, 3), g(3, 0))


def solve_ref(a: np.ndarray, b: np.ndarray, *, left: bool = True) -> np.ndarray:
    if not left:
        return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)
    if b.shape == a.shape[:-1]:
        return np.linalg.solve(a, b[..., None])[..., 0]
    return np.linalg.solve(a, b)


def solve_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, matrix(g, 3, 3), g(2, 2))
    yield E(RuntimeError, g(2, 3), g(2))
    yield E(RuntimeError, matrix(g, 2, 2), g(2).astype("int64"))


def triangular_samples(g: Gen) -> Iterator[Sample]:
    yield S(matrix(g, 3, 3), g(3, 2), upper=True)
    yield S(matrix(g, 3, 3), g(3, 2), upper=False)
    yield S(matrix(g, 3, 3), g(2, 3), upper=True, left=False)
    yield S(matrix(g, 3, 3), g(2, 3), upper=False, left=False)
    yield S(matrix(g, 3, 3), g(3, 1), upper=True, unitriangular=True)
    yield S(matrix(g, 2, 2, 2), g(2, 1), upper=False)
    yield N(matrix(g, 17, 17), g(17, 5), upper=False)


def triangular_ref(
    a: np.ndarray, b: np.ndarray, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> np.ndarray:
    t = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        t = t - t * np.eye(t.shape[-1]) + np.eye(t.shape[-1])
    return solve_ref(t, b, left=left) if left else solve_ref(t, b, left=False)


def cholesky_ref(a: np.ndarray, *, upper: bool = False) -> np.ndarray:
    lower = np.linalg.cholesky(a)
    return np.swapaxes(lower, -1, -2) if upper else lower


def factor(g: Gen, *shape: int) -> np.ndarray:
    return np.linalg.cholesky(positive(g, *shape).astype("float64")).astype(g.np_dtype)


def cholesky_solve_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(3, 2), factor(g, 3, 3))
    yield S(g(3, 1), np.ascontiguousarray(factor(g, 3, 3).T), True)
    yield S(g(2, 2, 2), factor(g, 2, 2, 2))


def cholesky_solve_ref(b: np.ndarray, f: np.ndarray, upper: bool = False) -> np.ndarray:
    t = np.swapaxes(f, -1, -2)
    return np.linalg.solve(t @ f if upper else f @ t, b)


def cholesky_inverse_ref(f: np.ndarray, upper: bool = False) -> np.ndarray:
    t = np.swapaxes(f, -1, -2)
    return np.linalg.inv(t @ f if upper else f @ t)


def norm_samples(g: Gen) -> Iterator[Sample]:
    yield S(g.distinct(5))
    yield S(g.distinct(2, 3))
    yield S(g.distinct(2, 3), "fro")
    for ord in (1, -1, float("inf"), -float("inf")):
        yield S(g.distinct(2, 3), ord)
        yield S(g.distinct(5), ord)
    yield S(g.distinct(2, 3), 2)
    yield S(g.distinct(3, 2), -2)
    yield S(g.distinct(3, 2), "nuc")
    yield S(g.distinct(2, 3), 2, 1)
    yield S(g.distinct(2, 3), dim=0, keepdim=True)
    yield S(g.away(2, 3, 2), 1, (0, 2), True)
    yield S(g.distinct(5), 3)


def norm_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2, 2), 3)
    yield E(RuntimeError, g(2), "fro")
    yield E(RuntimeError, g(2, 2, 2), 2)
    yield E(RuntimeError, g(2).astype("int64"))


def norm_ref(x: np.ndarray, ord: Any = None, dim: Any = None, keepdim: bool = False) -> np.ndarray:
    return np.linalg.norm(x, ord, dim, keepdim)


def matrix_norm_ref(x: np.ndarray, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False) -> np.ndarray:
    return np.linalg.norm(x, ord, tuple(dim), keepdim)


def matrix_norm_samples(g: Gen) -> Iterator[Sample]:
    for ord in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")):
        yield S(g.distinct(2, 3), ord)
        yield S(g.distinct(2, 3, 2), ord, (0, 1), True)
    yield S(g.distinct(2, 3, 2), 1, (2, 0))


def vector_norm_samples(g: Gen) -> Iterator[Sample]:
    for ord in (0, 1, 2, 3, float("inf"), -float("inf")):
        yield Sample((g.distinct(2, 3), ord), grad=ord != 0)
    yield S(g.distinct(2, 3), 2, 0, True)
    yield S(g.distinct(2, 3), dim=(0, 1))


def vector_norm_ref(x: np.ndarray, ord: float = 2, dim: Any = None, keepdim: bool = False) -> np.ndarray:
    if dim is None or isinstance(dim, tuple):
        return np.linalg.norm(x.reshape(-1), ord)
    return np.linalg.norm(x, ord, dim, keepdim)


def power_samples(g: Gen) -> Iterator[Sample]:
    for n in (1, 2, 3, 5, 8, -1, -2, -3):
        yield S(matrix(g, 2, 2) / 4, n)
    yield S(matrix(g, 2, 2, 2) / 4, 3)


def slogdet_ref(a: np.ndarray) -> tuple:
    return tuple(np.linalg.slogdet(a))


def tall(g: Gen) -> Iterator[Sample]:
    yield S(g(3, 3))
    yield S(g(4, 2))
    yield S(g(2, 3, 2))
    yield S(g(2, 3))
    yield N(g(20, 7))


def qr_ref(a: np.ndarray, mode: str = "reduced") -> Any:
    return tuple(np.linalg.qr(a, mode))


def symmetric(g: Gen) -> Iterator[Sample]:
    yield S(positive(g, 3, 3))
    yield S(positive(g, 2, 2, 2))
    yield S(positive(g, 3, 3), UPLO="U")
    yield N(positive(g, 20, 20))


def eigvalsh_ref(a: np.ndarray, UPLO: str = "L") -> np.ndarray:
    return np.linalg.eigvalsh(a, UPLO)


def lu_ref(a: np.ndarray) -> Any:
    if not a.size:
        return a, a, a
    parts = [scipy.linalg.lu(m) for m in a.reshape(-1, *a.shape[-2:])]
    return tuple(np.stack(p).reshape(*a.shape[:-2], *p[0].shape) for p in zip(*parts, strict=True))


SOLVE = [
    Op("linalg.inv", squares(matrix), np.linalg.inv, registered=("linalg_inv_ex",), errors=matrix_errors, **SINGLE),
    Op("inverse", squares(matrix), np.linalg.inv, method=True, registered=("linalg_inv_ex",), **SINGLE),
    Op("linalg.solve", solve_samples, solve_ref, registered=("linalg_solve_ex",), errors=solve_errors, **SINGLE),
    Op("linalg.solve_triangular", triangular_samples, triangular_ref, **SINGLE).but(
        registered=("linalg_solve_triangular",), errors=lambda g: iter([E(RuntimeError, g(2, 3), g(2, 1), upper=True)])
    ),
    Op("linalg.det", squares(matrix), np.linalg.det, registered=("linalg_det",), errors=matrix_errors, **SINGLE),
    Op("det", squares(matrix), np.linalg.det, method=True, grad=True, registered=("linalg_det",), **LAYOUTS),
    Op("linalg.slogdet", squares(matrix), slogdet_ref, **SINGLE).but(
        registered=("linalg_slogdet",), errors=matrix_errors
    ),
    Op("slogdet", squares(matrix), slogdet_ref, method=True, grad=True, registered=("linalg_slogdet",), **LAYOUTS),
    Op("logdet", squares(positive), lambda a: np.linalg.slogdet(a)[1], method=True, grad=True, **LAYOUTS),
    Op("linalg.cholesky", squares(positive, {"upper": True}), cholesky_ref, **SYMMETRIC).but(
        registered=("linalg_cholesky_ex",), errors=matrix_errors
    ),
    Op(
        "cholesky",
        squares(positive, {"upper": True}),
        cholesky_ref,
        method=True,
        registered=("_cholesky",),
        **SYMMETRIC,
    ),
    Op("cholesky_solve", cholesky_solve_samples, cholesky_solve_ref, method=True, **SINGLE).but(
        errors=wrong((RuntimeError, (2,), (2, 2)), (RuntimeError, (3, 2), (2, 2))),
        triangle=lambda sample: (1, len(sample.args) > 2),
    ),
    Op("cholesky_inverse", squares(factor), cholesky_inverse_ref, method=True, **SINGLE).but(
        triangle=lambda sample: (0, False), out_strides=False
    ),
    Op("linalg.lu", squares(matrix), lu_ref, registered=("linalg_lu", "linalg_lu_factor_ex"), **SINGLE),
    Op("linalg.matrix_exp", squares(lambda g, *s: g(*s, low=-1, high=1)), scipy.linalg.expm, grad=True, **LAYOUTS).but(
        registered=("linalg_matrix_exp",), errors=matrix_errors, gradgrad=False
    ),
    Op("matrix_exp", squares(lambda g, *s: g(*s, low=-9, high=9)), scipy.linalg.expm, method=True, **LAYOUTS).but(
        registered=("linalg_matrix_exp",), rtol=1e-3
    ),
    Op("linalg.matrix_power", power_samples, np.linalg.matrix_power, **SINGLE).but(
        errors=wrong((RuntimeError, (2, 3), 2))
    ),
    Op("matrix_power", power_samples, np.linalg.matrix_power, method=True, **SINGLE),
    Op("linalg.qr", tall, qr_ref, registered=("linalg_qr",), gradgrad=False, **SINGLE).but(out_strides=False),
    Op("linalg.eigvalsh", symmetric, eigvalsh_ref, registered=("linalg_eigh",), **SYMMETRIC),
    Op("linalg.svdvals", tall, lambda a: np.linalg.svd(a, compute_uv=False), registered=("linalg_svd",), **SINGLE),
    Op("linalg.pinv", tall, np.linalg.pinv, out=True, **LAYOUTS),
    Op("pinverse", tall, np.linalg.pinv, method=True, **LAYOUTS),
    Op("linalg.matrix_rank", tall, np.linalg.matrix_rank, result="int64", out=True, **LAYOUTS),
    Op("linalg.cond", squares(matrix), np.linalg.cond, out=True, **LAYOUTS),
    Op("linalg.vector_norm", vector_norm_samples, vector_norm_ref, registered=("linalg_vector_norm",), **SINGLE),
    Op("linalg.matrix_norm", matrix_norm_samples, matrix_norm_ref, gradgrad=False, **SINGLE),
    Op("linalg.norm", norm_samples, norm_ref, errors=norm_errors, gradgrad=False, **SINGLE),
    Op(
        "linalg.vecdot", lambda g: iter([S(g(3), g(3)), S(g(2, 3), g(3)), S(g(3, 2), g(3, 2), dim=0)]), None, **SINGLE
    ).but(ref=lambda a, b, *, dim=-1: (a * b).sum(dim)),
]
