"""Printing against PyTorch: the texts of tests/test_printing.py, and many random tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import rushlight
from tests.test_printing import CASES


@pytest.mark.parametrize("source", CASES)
def test_expected_texts_are_pytorchs(source: str) -> None:
    assert repr(eval(source, {"torch": torch})) == CASES[source]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool"])
def test_random_tensors(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        shape = tuple(rng.integers(0, 6, rng.integers(0, 5)))
        values: Any = rng.normal(size=shape) * 10.0 ** rng.integers(-6, 9) * (rng.random(shape) < 0.8)
        if rng.random() < 0.3:
            values = np.round(values)
        if "float" in dtype and rng.random() < 0.3:
            values = np.where(rng.random(shape) < 0.3, rng.choice([np.nan, np.inf, -np.inf]), values)
        if "float" not in dtype:
            values = np.clip(values, 0, 200)
        texts = [
            repr(lib.from_numpy(np.array(values, dtype=np.float64)).to(getattr(lib, dtype)))
            for lib in (rushlight, torch)
        ]
        assert texts[0] == texts[1]


def test_large_tensors_are_summarized_alike() -> None:
    for shape in [(1001,), (50, 50), (7, 8, 20), (2000, 1), (1, 2000), (5, 1, 300), (10, 10, 10, 10)]:
        values = np.random.default_rng(0).normal(size=shape)
        assert repr(rushlight.from_numpy(values)) == repr(torch.from_numpy(values))
