"""Every row runs on Rushlight, and the arithmetic of intervals is right. No speed is claimed here."""

import json
import subprocess
import sys

import pytest

import rushlight
from benchmarks import examples, notes
from benchmarks.measure import Result, Worker, measure_once, median_interval
from benchmarks.rows import ROWS


def test_rows_run():
    worker = Worker("rushlight")
    try:
        for row in ROWS.values():
            worker.ask(prepare=row.name, threads=1)
            assert worker.ask(repeat=1)["seconds"] > 0
    finally:
        worker.close()


def test_a_dead_worker_is_named_and_closed():
    worker = Worker("nosuch")
    with pytest.raises((RuntimeError, BrokenPipeError)):
        worker.ask(prepare="add", threads=1)
        worker.ask(repeat=1)
    worker.close()
    assert worker.process.stdin.closed and worker.process.stdout.closed


def test_measure_against_itself():
    result = measure_once(ROWS["add"], 1, 5, 0.002, ("rushlight",) * 3)
    assert 0.2 < result.ratio < 5 and result.low <= result.ratio <= result.high


@pytest.mark.parametrize("n, low, high", [(5, 0, 4), (6, 0, 5), (9, 1, 7), (15, 3, 11), (17, 4, 12)])
def test_median_interval(n, low, high):
    assert median_interval(list(range(n))) == (low, high)


def test_void_and_met():
    figures = {"row": "r", "title": "r", "threads": 1, "rushlight": 1.0, "pytorch": 7.0, "pairs": 9, "attempts": 1}
    good = Result(**figures, target=6, ratio=7, low=6.5, high=7.5, control=1.01)
    assert good.met and not good.void
    assert not Result(**figures, target=6, ratio=7, low=5.9, high=7.5, control=1.01).met
    assert Result(**figures, target=6, ratio=7, low=6.5, high=7.5, control=1.06).void


def test_unknown_row_is_refused():
    out = subprocess.run([sys.executable, "-m", "benchmarks", "--rows", "nosuch"], capture_output=True, text=True)
    assert out.returncode == 2 and "no such row: nosuch" in out.stderr and "hint" in out.stderr


def test_answers_are_json():
    out = subprocess.run(
        [sys.executable, "-m", "benchmarks.worker", "rushlight"],
        input='{"prepare": "add", "threads": 1}\n{"repeat": 10}\n',
        capture_output=True,
        text=True,
        check=True,
    )
    version, seconds = map(json.loads, out.stdout.splitlines())
    assert version["version"] and seconds["seconds"] > 0


def test_claims_of_the_notes():
    for name in ("stack_small", "record_small", "leaky_small"):
        found = notes.ratios(notes.CLAIMS[name][1](rushlight), pairs=3, seconds=0.001)
        assert len(found) == 3 and min(found) > 0
    command = [sys.executable, "-m", "benchmarks.notes", "--claims", "nosuch"]
    out = subprocess.run(command, capture_output=True, text=True)
    assert out.returncode == 2 and "no such claim: nosuch" in out.stderr


def test_time_between_lines_of_an_example():
    run = [sys.executable, "-m", "rushlight", "run"]
    assert 0 < examples.time_between_lines(run, "gat.py --nodes 50 --epochs 30", 1) < 60
    if sys.platform == "linux":
        assert 0 < examples.time_between_lines(run, "gat.py --nodes 50 --epochs 30", 1, processor=True) < 60
    with pytest.raises(RuntimeError, match="status 2"):
        examples.time_between_lines(run, "gat.py --no-such-option", 1)
