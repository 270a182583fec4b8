"""Decompositions that are unique up to signs only, what cannot be decomposed, and other results of rushlight.linalg
that are no row of the table."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import rushlight as torch

RNG = np.random.default_rng(0)


def array(*shape: int, dtype: str = "float64") -> Any:
    return torch.from_numpy(RNG.uniform(-1, 1, shape).astype(dtype))


def close(a: Any, b: Any, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), tolerance, tolerance)


def eye_like(a: Any) -> Any:
    return torch.eye(a.shape[-1], dtype=a.dtype).expand(a.shape)


SHAPES = [(3, 3), (5, 2), (2, 5), (2, 4, 3), (1, 1), (40, 17)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full", [False, True])
def test_svd(shape: tuple[int, ...], full: bool) -> None:
    a = array(*shape)
    u, s, vh = torch.linalg.svd(a, full_matrices=full)
    m, n, k = *shape[-2:], min(shape[-2:])
    assert u.shape[-2:] == (m, m if full else k) and vh.shape[-2:] == (n if full else k, n) and s.shape[-1] == k
    close(u.mT @ u, eye_like(u.mT @ u))
    close(vh @ vh.mT, eye_like(vh @ vh.mT))
    close((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :], a)
    assert bool((s[..., :-1] >= s[..., 1:]).all()) and bool((s >= 0).all())
    np.testing.assert_allclose(s.numpy(), np.linalg.svd(a.numpy(), compute_uv=False), 1e-12, 1e-12)


@pytest.mark.parametrize("values", [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1e200, 1.0, 1e-200], [1.0, 1.0, 1.0]])
def test_svd_of_few_ranks(values: list[float]) -> None:
    q = torch.linalg.qr(array(4, 3)).Q
    a = (q * torch.tensor(values, dtype=torch.float64)) @ torch.linalg.qr(array(3, 3)).Q
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    np.testing.assert_allclose(s.numpy(), sorted(values, reverse=True), 1e-12, 1e-15 * max(values))
    close(u.mT @ u, eye_like(u.mT @ u))
    np.testing.assert_allclose(((u * s) @ vh).numpy(), a.numpy(), 0, 1e-14 * max(values) + 1e-300)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (1, 1), (30, 30)])
def test_eigh(shape: tuple[int, ...]) -> None:
    a = array(*shape)
    a = a + a.mT
    values, vectors = torch.linalg.eigh(a)
    close(vectors.mT @ vectors, eye_like(a))
    close(a @ vectors, vectors * values.unsqueeze(-2))
    assert bool((values[..., 1:] >= values[..., :-1]).all())
    lower = a.tril() + array(*shape).triu(1)
    close(torch.linalg.eigvalsh(lower), values)
    close(torch.linalg.eigvalsh(lower.mT, UPLO="U"), values)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_qr(shape: tuple[int, ...], mode: str) -> None:
    a = array(*shape)
    q, r = torch.linalg.qr(a, mode)
    close(r, r.triu())
    if mode == "r":
        assert q.numel() == 0
        return
    close(q @ r, a)
    close(q.mT @ q, eye_like(q.mT @ q))


def weighed(*parts: Any) -> Any:
    """A function of the parts that does not see the signs of vectors."""
    return sum((p * torch.arange(1.0, p.numel() + 1, dtype=p.dtype).reshape(p.shape)).sum() for p in parts)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: weighed(*[(u := torch.linalg.svd(a, full_matrices=False)).S, u.U.square(), u.Vh.square()]),
        lambda a: weighed((u := torch.linalg.svd(a[:2], full_matrices=False)).U @ u.Vh),
        lambda a: weighed((e := torch.linalg.eigh(a + a.mT)).eigenvalues, e.eigenvectors.square()),
        lambda a: weighed(torch.linalg.eigvalsh(a @ a.mT)),
        lambda a: weighed(torch.linalg.cholesky(a @ a.mT)),
        lambda a: weighed(torch.linalg.cholesky(a @ a.mT, upper=True)),
        lambda a: weighed(torch.cholesky(a @ a.mT)),
        lambda a: weighed(*torch.linalg.qr(a)),
        lambda a: weighed(*torch.linalg.qr(a[:, :2])),
        lambda a: weighed(*torch.linalg.qr(a[:2])),
        lambda a: weighed(torch.linalg.qr(a[:2]).R.square()),
        lambda a: weighed(torch.linalg.pinv(a[:, :2])),
        lambda a: weighed(torch.linalg.lstsq(a, a[:, :2] * 2 + 1).solution),
        lambda a: weighed(torch.linalg.lu_solve(*torch.linalg.lu_factor(a), a[:, :2])),
        lambda a: weighed(torch.linalg.cond(a), torch.norm(a, "nuc")),
    ],
)
def test_gradients(function: Any) -> None:
    a = (array(3, 3) + 2 * torch.eye(3, dtype=torch.float64)).requires_grad_()
    assert torch.autograd.gradcheck(function, a, atol=1e-4)


def test_what_cannot_be_done_says_so() -> None:
    zero, error = torch.zeros(2, 2), torch.linalg.LinAlgError
    for call in (
        lambda: torch.linalg.inv(zero),
        lambda: torch.inverse(zero),
        lambda: torch.linalg.solve(zero, torch.ones(2)),
        lambda: torch.linalg.cholesky(-torch.eye(2)),
        lambda: torch.cholesky(-torch.eye(2)),
        lambda: torch.linalg.inv_ex(zero, check_errors=True),
        lambda: torch.linalg.cholesky_ex(zero, check_errors=True),
        lambda: torch.linalg.svd(torch.full((2, 2), float("nan"))),
        lambda: torch.linalg.lu_factor(zero),
    ):
        with pytest.raises(error):
            call()
    with pytest.raises(error, match="matrix 1 of the batch"):
        torch.linalg.cholesky(torch.stack([torch.eye(2), -torch.eye(2)]))
    assert issubclass(error, RuntimeError)
    assert torch.linalg.inv_ex(zero).info.item() == 1
    assert torch.linalg.cholesky_ex(-torch.eye(2)).info.item() == 1
    for name in ("eig", "eigvals", "householder_product"):
        with pytest.raises(NotImplementedError, match=name):
            getattr(torch.linalg, name)(zero)


def test_powers() -> None:
    a = array(2, 2, 2)
    close(torch.linalg.matrix_power(a, 0), eye_like(a))
    assert torch.vander(torch.tensor([2, 3]), 3, increasing=True).tolist() == [[1, 2, 4], [1, 3, 9]]


def test_of_singular_matrices() -> None:
    zero = torch.zeros(2, 2)
    assert torch.det(zero).item() == 0
    sign, log = torch.linalg.slogdet(zero)
    assert sign.item() == 0 and log.item() == -float("inf")
    assert torch.logdet(-torch.eye(3)).isnan().item() and torch.logdet(zero).item() == -float("inf")
    assert torch.linalg.cond(zero, 1).item() == float("inf")
    a = torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torch.float64, requires_grad=True)
    torch.det(a).backward()
    np.testing.assert_allclose(a.grad.numpy(), [[4, -2], [-2, 1]], 1e-12, 1e-12)


def test_lu() -> None:
    for shape in [(3, 3), (4, 2), (2, 4), (2, 3, 3)]:
        a = array(*shape)
        p, lower, upper = torch.linalg.lu(a)
        close(p @ lower @ upper, a)
        close(torch.linalg.lu_factor(a)[0].triu()[..., : upper.shape[-2], :], upper)
        p, lower, upper = torch.lu_unpack(*torch.linalg.lu_factor(a))
        close(p @ lower @ upper, a)
    a, b = array(3, 3), array(3, 2)
    factors = torch.linalg.lu_factor(a)
    close(a @ torch.linalg.lu_solve(*factors, b), b)
    close(a.mT @ torch.linalg.lu_solve(*factors, b, adjoint=True), b)
    close(torch.linalg.lu_solve(*factors, b.mT, left=False) @ a, b.mT)
    close(torch.linalg.lu_solve(*factors, b.mT, left=False, adjoint=True) @ a.mT, b.mT)


def test_least_squares() -> None:
    for m, n in [(5, 3), (3, 5), (3, 3)]:
        a, b = array(m, n), array(m, 2)
        expected = np.linalg.lstsq(a.numpy(), b.numpy(), rcond=None)[0]
        found = torch.linalg.lstsq(a, b)
        np.testing.assert_allclose(found.solution.numpy(), expected, 1e-10, 1e-10)
        assert found.rank.item() == min(m, n) and found.residuals.numel() == (2 if m > n else 0)
    a = torch.ones(4, 2, dtype=torch.float64)
    np.testing.assert_allclose(torch.linalg.lstsq(a, torch.ones(4, 1, dtype=torch.float64)).solution.numpy(), 0.5)


def test_names_of_before() -> None:
    a = array(3, 3)
    u, s, v = torch.svd(a)
    close((u * s) @ v.mT, a)
    close(a.inverse() @ a, eye_like(a), 1e-9)
    close(torch.triangular_solve(a[:, :2], a).solution, torch.linalg.solve_triangular(a, a[:, :2], upper=True))
    q, r = a.qr()
    close(q @ r, a)
    close(torch.norm(a, "nuc"), torch.linalg.svdvals(a).sum())
    close(torch.linalg.inv(A=a), a.inverse())


def test_float32_is_rounded_once() -> None:
    a = array(30, 30, dtype="float32")
    exact = np.linalg.inv(a.numpy().astype("float64"))
    np.testing.assert_allclose(torch.linalg.inv(a).numpy(), exact, 1e-6, 1e-6)


def test_limits_of_dtypes() -> None:
    for name in ("float16", "float32", "float64"):
        ours, theirs = torch.finfo(getattr(torch, name)), np.finfo(name)
        assert (ours.bits, ours.eps, ours.max, ours.min) == (theirs.bits, theirs.eps, theirs.max, theirs.min)
        assert ours.tiny == ours.smallest_normal == theirs.tiny and ours.dtype == name
    assert torch.finfo(torch.bfloat16).eps == 2**-7 and torch.finfo().dtype == "float32"
    for name in ("int8", "uint8", "int16", "int32", "int64"):
        ours, theirs = torch.iinfo(getattr(torch, name)), np.iinfo(name)
        assert (ours.bits, ours.max, ours.min) == (theirs.bits, theirs.max, theirs.min)
    for wrong in (
        lambda: torch.finfo(torch.int32),
        lambda: torch.iinfo(torch.float32),
        lambda: torch.iinfo(torch.bool),
    ):
        with pytest.raises(TypeError):
            wrong()
    assert pickle.loads(pickle.dumps(torch.finfo(torch.float32))) == torch.finfo(torch.float32)


def test_diagonals_are_filled_in_place() -> None:
    x = torch.zeros(3, 3)
    assert x.fill_diagonal_(2.0) is x and x.tolist() == [[2, 0, 0], [0, 2, 0], [0, 0, 2]]
    assert torch.zeros(2, 3).t().fill_diagonal_(1).tolist() == [[1, 0], [0, 1], [0, 0]]
    assert torch.zeros(7, 3).fill_diagonal_(1, wrap=True).sum().item() == 6
    for wrong in (torch.zeros(3), torch.zeros(2, 2, 3)):
        with pytest.raises(RuntimeError):
            wrong.fill_diagonal_(1)


def test_polygamma_and_float_power_in_place() -> None:
    x = torch.tensor([1.0, 2.0])
    close(x.polygamma(1), torch.polygamma(1, x))
    assert x.clone().polygamma_(1).tolist() == torch.polygamma(1, x).tolist()
    assert torch.tensor([2.0], dtype=torch.float64).float_power_(3).tolist() == [8]
    with pytest.raises(RuntimeError):
        x.float_power_(2)


def test_vecdot_takes_no_list():
    """An integer tensor times a list would be the list repeated."""
    with pytest.raises(TypeError):
        torch.linalg.vecdot(torch.tensor(1, dtype=torch.int32), [])
