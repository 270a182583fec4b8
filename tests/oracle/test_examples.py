"""The programs in examples/ tell the same story under Rushlight and PyTorch: same seed, same curves."""

import numpy as np
import pytest

from tests.examples import table


@pytest.mark.parametrize("row", table.ROWS, ids=table.IDS)
def test_like_pytorch(row):
    command = row.beside or row.command
    theirs = table.run(command=command)
    if row.like is None:
        assert table.within(row, table.result(theirs)), theirs[-1]  # tests/examples asks the same of Rushlight
        return
    ours = table.run("-m", "rushlight", "run", command=command)
    np.testing.assert_allclose(table.numbers(ours), table.numbers(theirs), rtol=row.like)
