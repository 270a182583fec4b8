"""Pairs of timings from processes side by side, and what may be said from them.

Three processes hold Rushlight, PyTorch, and PyTorch again as the control. After warming up each is timed in turn,
the order rotating, so that whatever slows the machine slows all three; each turn gives a ratio. The median of the
ratios is reported with an interval that holds it in at least 95 of 100 repetitions, whatever the distribution: that
of order statistics by the sign test. Where PyTorch against itself is off by more than 5 %, the row is measured anew.
"""

from __future__ import annotations

import contextlib
import json
import math
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

from .rows import Row

CONTROL_LIMIT = 0.05
ATTEMPTS = 5
SETTLE = 0.02  # seconds for another process's threads to stop spinning


@dataclass
class Result:
    row: str
    title: str
    threads: int
    target: float
    ratio: float  # PyTorch's time over Rushlight's: median of the pairs
    low: float
    high: float
    control: float  # PyTorch's time over that of PyTorch in another process
    rushlight: float  # seconds, medians
    pytorch: float
    pairs: int
    attempts: int = 1

    @property
    def void(self) -> bool:
        return abs(self.control - 1) > CONTROL_LIMIT

    @property
    def met(self) -> bool:
        return not self.void and self.low >= self.target


class Worker:
    """A framework in a process of its own."""

    def __init__(self, framework: str):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", framework],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **request) -> dict:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"a worker ended with status {self.process.wait()} on {request}; its error is above")
        return json.loads(answer)

    def prepare(self, row: Row, threads: int, seconds: float) -> None:
        """Makes the row's data, warms up and finds how many repetitions take about `seconds`."""
        self.ask(prepare=row.name, threads=threads)
        self.repeat = 1
        self.ask(repeat=1)
        while not row.cold:
            took = self.ask(repeat=self.repeat)["seconds"]
            if took >= seconds / 2:
                self.repeat = max(1, round(self.repeat * seconds / took))
                break
            self.repeat = max(self.repeat * 2, min(self.repeat * 100, int(self.repeat * seconds / max(took, 1e-9))))
        self.time(row)

    def time(self, row: Row) -> float:
        """Seconds of one repetition."""
        if not row.cold:
            time.sleep(SETTLE)
            self.ask(repeat=self.repeat // 20 + 1)  # caches and threads awake again
        return self.ask(repeat=self.repeat)["seconds"] / self.repeat

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError), self.process:  # which closes its ends of the pipes, then waits
            pass


def measure(row: Row, threads: int, pairs: int, seconds: float, frameworks: tuple[str, str, str]) -> Result:
    """The row's result; measured anew in new processes while the control is off."""
    result: Result | None = None
    for attempt in range(1, ATTEMPTS + 1):
        again = measure_once(row, threads, pairs, seconds, frameworks)
        if result is None or abs(again.control - 1) < abs(result.control - 1):
            result = again
        result.attempts = attempt
        if not result.void:
            break
    assert result
    return result


def measure_once(row: Row, threads: int, pairs: int, seconds: float, frameworks: tuple[str, str, str]) -> Result:
    workers: list[Worker] = []
    try:
        workers += map(Worker, frameworks)
        for worker in workers:
            worker.prepare(row, threads, seconds)
        times = []
        for turn in range(pairs):
            order = [(turn + i) % 3 for i in range(3)]
            taken = {i: workers[i].time(row) for i in order}
            times.append([taken[i] for i in range(3)])
    finally:
        for worker in workers:
            worker.close()
    own, other, control = zip(*times, strict=True)
    ratios = sorted(t / r for r, t in zip(own, other, strict=True))
    low, high = median_interval(ratios)
    return Result(
        row=row.name,
        title=row.title,
        threads=threads,
        target=row.target,
        ratio=statistics.median(ratios),
        low=low,
        high=high,
        control=statistics.median(t / c for t, c in zip(other, control, strict=True)),
        rushlight=statistics.median(own),
        pytorch=statistics.median(other),
        pairs=pairs,
    )


def median_interval(ordered: list[float], confidence: float = 0.95) -> tuple[float, float]:
    """The narrowest pair of order statistics around the median that misses it with at most 1 - confidence.

    With fewer than 6 values no such pair exists, and the whole range is given.
    """
    n, outside, k = len(ordered), 0.0, 0
    while k < n // 2:  # the k + 1 lowest values may be cut off where at most k of n coin tosses is this unlikely
        outside += math.comb(n, k) / 2**n
        if 2 * outside > 1 - confidence:
            break
        k += 1
    k = max(k - 1, 0)
    return ordered[k], ordered[n - 1 - k]
