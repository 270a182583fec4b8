"""Decompositions against PyTorch where signs do not matter: gradients of functions that do not see them, and the names
of nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import rushlight
from tests.helpers import outputs

RNG = np.random.default_rng(0)
SQUARE = RNG.uniform(-1, 1, (3, 3)) + 2 * np.eye(3)

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "cholesky": lambda lib, a: lib.linalg.cholesky(a),
    "cholesky upper": lambda lib, a: lib.linalg.cholesky(a, upper=True),
    "older cholesky": lambda lib, a: lib.cholesky(a),
    "eigvalsh": lambda lib, a: lib.linalg.eigvalsh(a),
    "eigh": lambda lib, a: lib.linalg.eigh(a)[1] ** 4,
    "svd U": lambda lib, a: lib.linalg.svd(a, full_matrices=False)[0] ** 4,
    "svd Vh": lambda lib, a: lib.linalg.svd(a, full_matrices=False)[2] ** 4,
    "pinv": lambda lib, a: lib.linalg.pinv(a),
    "nuclear norm": lambda lib, a: lib.norm(a, "nuc"),
    "wide qr": lambda lib, a: lib.linalg.qr(a[:2])[1],
    "lstsq": lambda lib, a: lib.linalg.lstsq(a, a[:, :2] + 1)[0],
    "solution of lu": lambda lib, a: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), a[:, :2] + 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name: str) -> None:
    given = SQUARE @ SQUARE.T
    seen = []
    for lib in (rushlight, torch):
        a = lib.from_numpy(given.copy()).requires_grad_()
        y = FUNCTIONS[name](lib, a)
        (y * lib.from_numpy(np.arange(1.0, y.numel() + 1).reshape(tuple(y.shape)))).sum().backward()
        seen.append((y.detach().numpy(), a.grad.numpy()))
    for ours, theirs in zip(*seen, strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-8, 1e-8)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "svd": lambda lib, a: lib.linalg.svd(a, full_matrices=False),
    "wide svd": lambda lib, a: lib.linalg.svd(a[:2], full_matrices=True),
    "eigh": lambda lib, a: lib.linalg.eigh(a),
    "qr": lambda lib, a: lib.linalg.qr(a, mode="complete"),
    "cholesky": lambda lib, a: lib.linalg.cholesky(a),
    "older cholesky": lambda lib, a: lib.cholesky(a),
    "cholesky_ex": lambda lib, a: lib.linalg.cholesky_ex(a),
    "inv_ex": lambda lib, a: lib.linalg.inv_ex(a),
    "solve_ex": lambda lib, a: lib.linalg.solve_ex(a, a),
    "lu": lambda lib, a: lib.linalg.lu(a),
    "lu_factor_ex": lambda lib, a: lib.linalg.lu_factor_ex(a),
}


@pytest.mark.parametrize("name", CALLS)
def test_shapes_strides_and_nodes(name: str) -> None:
    seen = []
    for lib in (rushlight, torch):
        a = lib.from_numpy(SQUARE @ SQUARE.T).requires_grad_()
        result = CALLS[name](lib, a)
        seen.append(
            [
                (str(r.dtype), tuple(r.shape), tuple(r.stride()), r.grad_fn.name() if r.grad_fn is not None else None)
                for r in outputs(result)
            ]
        )
    assert seen[0] == seen[1]
