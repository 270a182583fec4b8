"""Which numbers a tensor takes, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import rushlight
from tests.test_limits import FIT, UNFIT

WRITERS: dict[str, Callable[[Any, str, float], Any]] = {
    "full": lambda m, d, v: m.full((1,), v, dtype=getattr(m, d)),
    "tensor": lambda m, d, v: m.tensor([v], dtype=getattr(m, d)),
    "fill_": lambda m, d, v: m.ones(1, dtype=getattr(m, d)).fill_(v),
    "fill_ of a tensor": lambda m, d, v: m.ones(1, dtype=getattr(m, d)).fill_(m.tensor(int(v))),
    "masked_fill": lambda m, d, v: m.ones(1, dtype=getattr(m, d)).masked_fill(m.tensor([True]), v),
    "index_fill": lambda m, d, v: m.ones(1, dtype=getattr(m, d)).index_fill(0, m.tensor([0]), v),
}
OTHERWISE = {  # what PyTorch makes a wrong number of, or refuses though it rounds to infinity
    ("int64", 2.0**63, w) for w in WRITERS
} | {("float16", 1e30, w) for w in WRITERS}


def outcome(module: Any, writer: str, dtype: str, v: float) -> Any:
    try:
        return WRITERS[writer](module, dtype, v).tolist()
    except (RuntimeError, ValueError, OverflowError) as error:
        return type(error)


@pytest.mark.parametrize("writer", WRITERS)
def test_numbers_that_fit(writer: str) -> None:
    for dtype, v in [*UNFIT, *((d, v) for d, v, _ in FIT)]:
        if (dtype, v, writer) not in OTHERWISE and v == v:
            assert outcome(rushlight, writer, dtype, v) == outcome(torch, writer, dtype, v), (dtype, v)
