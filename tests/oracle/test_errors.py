"""The mistakes of tests/test_errors.py under PyTorch: the same exception, and the same mend."""

from __future__ import annotations

import pytest
import torch

from tests.test_errors import ROWS, exception, mended, run


@pytest.mark.parametrize("name", ROWS)
def test_exception_like_pytorch(name: str) -> None:
    row = ROWS[name]
    expected = exception(torch, row.error if row.pytorch is None else row.pytorch)
    with pytest.raises(BaseException) as caught:
        run(torch, row.snippet, name)
    assert type(caught.value) is expected


@pytest.mark.parametrize("name", ROWS)
def test_mend_under_pytorch(name: str) -> None:
    row = ROWS[name]
    assert eval(row.check, run(torch, mended(row), name))
