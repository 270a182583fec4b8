"""Indices put together at random, against PyTorch: what is read, written and differentiated, and which errors."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import rushlight
from tests.helpers import storage_pointer

SEEDS = range(150)


def random_part(rng: random.Random, size: int, legal: bool) -> Any:
    """An index of one dimension; lists of ("tensor", values, dtype) become tensors."""
    reach = size if legal else size + 1
    kind = rng.choice(
        ["int", "slice", "slice", "slice", "none", "ellipsis", "list", "tensor", "tensor", "zero", "mask", "bool"]
    )
    pick = lambda: rng.randint(-reach, max(reach - 1, -reach))
    match kind:
        case "int":
            return pick()
        case "slice":
            end = lambda: rng.choice([None, rng.randint(-size - 2, size + 2)])
            return slice(end(), end(), rng.choice([None, 1, 2, 3] if legal else [None, 1, 2, -1, 0]))
        case "none":
            return None
        case "ellipsis":
            return ...
        case "list":
            return [pick() for _ in range(rng.randint(1, 3))]
        case "tensor":
            shape = rng.choice(
                [(3,), (3,), (1,), (2, 3), (2, 1), (0,)] if not legal else [(3,), (3,), (1,), (2, 3), (2, 1)]
            )
            values = [pick() for _ in range(int(np.prod(shape)))]
            return ("tensor", np.array(values, dtype=rng.choice(["int64", "int32", "int64"])).reshape(shape))
        case "zero":
            return ("tensor", np.array(pick()))
        case "mask":
            length = size if legal or rng.random() < 0.7 else size + 1
            mask = np.zeros(length, bool)
            mask[rng.sample(range(length), min(3, length))] = True
            return ("tensor", mask)
        case _:
            return rng.choice([True, False]) if not legal else True


def random_index(rng: random.Random, shape: tuple, legal: bool) -> Any:
    parts: list[Any] = []
    dimension = 0
    for _ in range(rng.randint(1, len(shape) + 1)):
        part = random_part(rng, shape[min(dimension, len(shape) - 1)], legal)
        if part is ... and ... in [p for p in parts if p is ...]:
            continue
        if part is not None and part is not ... and part is not True and part is not False:
            if dimension >= len(shape) and legal:
                continue
            if any(p is ... for p in parts) and legal:
                continue  # which dimension it meets is not known here
            dimension += 1
        parts.append(part)
    return parts[0] if len(parts) == 1 and rng.random() < 0.5 and not isinstance(parts[0], list) else tuple(parts)


def convert(lib: Any, index: Any) -> Any:
    if isinstance(index, tuple) and len(index) == 2 and isinstance(index[0], str):
        return lib.from_numpy(index[1].copy())
    return tuple(convert(lib, i) for i in index) if isinstance(index, tuple) else index


def values(shape: tuple) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape)


def outcome(action: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return action()
        except Exception as error:
            return type(error)


def read(lib: Any, index: Any, shape: tuple) -> Any:
    x = lib.from_numpy(values(shape)).requires_grad_()
    y = x[convert(lib, index)]
    weight = np.random.default_rng(1).normal(size=tuple(y.shape))
    y.backward(lib.from_numpy(np.asarray(weight)))
    shares = bool(y.numel()) and storage_pointer(y) == storage_pointer(x)
    return tuple(y.shape), tuple(y.stride()), shares, y.tolist(), x.grad.tolist()


def write(lib: Any, index: Any, shape: tuple, fill: Any) -> Any:
    x = lib.from_numpy(values(shape)).requires_grad_()
    y = x * 1
    at = convert(lib, index)
    value: Any = fill
    if fill is None:
        value = lib.from_numpy(np.asarray(values(tuple(y[at].shape))))
    elif fill == "misfit":
        value = lib.ones(7, 11, dtype=lib.float64)
    y[at] = value
    (y * lib.from_numpy(values(shape) + 2)).sum().backward()
    return y.tolist(), x.grad.tolist()


def unique(index: Any, shape: tuple) -> bool:
    places = torch.arange(int(np.prod(shape))).reshape(shape)[convert(torch, index)]
    return bool(places.unique().numel() == places.numel())


@pytest.mark.parametrize("legal", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_reading_and_writing(seed: int, legal: bool) -> None:
    rng = random.Random(f"{seed}{legal}")
    shape = tuple(rng.choice([1, 2, 3, 4, 5]) for _ in range(rng.randint(1, 4)))
    index = random_index(rng, shape, legal)
    theirs = outcome(lambda: read(torch, index, shape))
    ours = outcome(lambda: read(rushlight, index, shape))
    if isinstance(theirs, type) or isinstance(ours, type):
        assert ours == theirs, index
        return
    assert ours[:4] == theirs[:4], index
    np.testing.assert_allclose(np.array(ours[4]), np.array(theirs[4]), err_msg=str(index))
    for fill in (2.5, None, "misfit"):
        if fill is None and not unique(index, shape):
            continue  # which of several writes to one place wins is not defined
        assert outcome(lambda fill=fill: write(rushlight, index, shape, fill)) == outcome(
            lambda fill=fill: write(torch, index, shape, fill)
        ), (index, fill)


def test_random_indices_are_mostly_legal() -> None:
    """That the test above tests what it says."""
    good = 0
    for seed in SEEDS:
        rng = random.Random(f"{seed}True")
        shape = tuple(rng.choice([1, 2, 3, 4, 5]) for _ in range(rng.randint(1, 4)))
        good += not isinstance(outcome(lambda r=rng, s=shape: read(torch, random_index(r, s, True), s)), type)
    assert good > len(SEEDS) * 0.6
