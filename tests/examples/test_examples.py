"""The programs in examples/ learn what they are meant to."""

import pytest

from tests.examples import table

RUN = ("-m", "rushlight", "run")


@pytest.mark.parametrize("row", table.ROWS, ids=table.IDS)
def test_reaches_its_bound(row):
    values = table.result(table.run(*RUN, command=row.command))
    assert table.within(row, values), values


@pytest.mark.slow
@pytest.mark.parametrize("row", table.ROWS, ids=table.IDS)
def test_bound_is_missed_without_learning(row):
    values = table.result(table.run(*RUN, command=f"{row.command} --lr 0"))
    assert not table.within(row, values), values


def test_every_program_is_tried():
    elsewhere = {"mnist.py", "forgetting_zero_grad.py"}  # tests/test_demo.py and test_notes.py
    assert {path.name for path in table.FOLDER.glob("[!_]*.py")} - elsewhere == {
        row.command.split()[0] for row in table.ROWS
    }
