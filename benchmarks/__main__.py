"""`python -m benchmarks`: how many times as long PyTorch takes, row by row."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import pathlib
import platform
import sys
from dataclasses import asdict

from .measure import Result, measure
from .rows import ROWS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rows", metavar="NAMES", help=f"only these, with commas between: {', '.join(ROWS)}")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, with commas between (1,2)")
    parser.add_argument("--pairs", type=int, default=15, help="timings of each (15; at least 9 for a claim)")
    parser.add_argument("--quick", action="store_true", help="5 short pairs: a first look, no claim")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write the results there as well")
    parser.add_argument("--check", action="store_true", help="exit with status 1 where a row misses its target")
    args = parser.parse_args()
    names = args.rows.split(",") if args.rows else list(ROWS)
    if unknown := [name for name in names if name not in ROWS]:
        parser.error(f"no such row: {', '.join(unknown)}\n  hint: the rows are {', '.join(ROWS)}")
    for package in ("rushlight", "torch"):
        if version(package) is None:
            parser.error(f"{package} is not installed here\n  hint: pip install {package}")
    pairs, seconds = (5, 0.02) if args.quick else (args.pairs, 0.1)
    threads = [int(n) for n in args.threads.split(",")]

    print(heading(), flush=True)
    results: list[Result] = []
    for name in names:
        row = ROWS[name]
        for n in threads[:1] if row.cold else threads:
            results.append(measure(row, n, pairs, seconds, ("rushlight", "torch", "torch")))
            print(line(results[-1]), flush=True)
    if any(result.void for result in results):
        print("\nvoid: PyTorch against itself was off by more than 5 % each time; the machine is busy.")
    if args.json:
        args.json.write_text(
            json.dumps({"machine": machine(), "results": [record(r) for r in results]}, indent=1) + "\n"
        )
    return int(args.check and not all(result.met for result in results))


def heading() -> str:
    about = machine()
    return (
        f"PyTorch {about['torch']}'s time over Rushlight {about['rushlight']}'s on {about['processor']}, "
        f"{about['processors']} processors\n\n"
        "| | threads | PyTorch | Rushlight | ratio | 95 % interval | control | at least | |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )


def line(r: Result) -> str:
    verdict = "void" if r.void else "met" if r.met else "missed"
    return (
        f"| {r.title} | {r.threads} | {duration(r.pytorch)} | {duration(r.rushlight)} | **{r.ratio:.2f}** | "
        f"{r.low:.2f} to {r.high:.2f} | {r.control:.3f} | {r.target:g} | {verdict} |"
    )


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def record(result: Result) -> dict:
    return {**asdict(result), "void": result.void, "met": result.met}


def machine() -> dict:
    return {
        "rushlight": version("rushlight"),
        "torch": version("torch"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": processor(),
        "processors": os.cpu_count(),
    }


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor() -> str:
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main())
