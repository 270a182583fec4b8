"""The programs in examples/ beside PyTorch: `python -m benchmarks.examples [PROGRAM ...]`.

Each program runs in processes of its own, in turn under Rushlight and PyTorch. Its lines of progress are noted with the
time when they come; the median time between two of them, which starting and importing are no part of, is what counts.
Other work on the machine lengthens it; `--processor` asks for the time that the process itself ran, in all its threads,
instead (on Linux).
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).parents[1] / "examples"
PROGRESS = re.compile(r"(process 0, )?(epoch|step|episode)\b")

# Settings with enough lines, all of which do the same work. Without learning, both play the same episodes of chance.
COMMANDS = [
    "image_classification.py --epochs 4 --limit 1600",
    "rnn_rows.py --model LSTM --epochs 4",
    "rnn_rows.py --model GRU --epochs 4",
    "rnn_rows.py --model RNN --epochs 4",
    "vae.py --epochs 4",
    "siamese.py --epochs 4 --limit 3200",
    "polynomial_regression.py",
    "time_sequence.py --steps 5",
    "word_lm.py --model LSTM --epochs 6 --limit 10000",
    "word_lm.py --model GRU --epochs 6 --limit 10000",
    "word_lm.py --model Transformer --epochs 6 --limit 10000",
    "char_gpt.py --steps 30 --every 4 --sample 1",
    "hogwild.py --processes 1 --epochs 8",
    "hogwild.py --processes 2 --epochs 8",
    "reinforce.py --episodes 160 --every 20 --lr 0",
    "actor_critic.py --episodes 160 --every 20 --lr 0",
    "gat.py --epochs 60",
    "maml.py --steps 120 --every 15",
]


def time_between_lines(python: list[str], command: str, threads: int, processor: bool = False) -> float:
    """Seconds, the median over one run."""
    program, *arguments = command.split()
    times = []
    with subprocess.Popen(
        [*python, str(FOLDER / program), *arguments],
        env={**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        # Linux numbers the clocks of processes so.
        clock = (~process.pid << 3) | 2 if processor else time.CLOCK_MONOTONIC
        for line in process.stdout:
            if PROGRESS.match(line):
                times.append(time.clock_gettime(clock))
    if process.returncode:
        raise RuntimeError(f"{command} ended with status {process.returncode}; its error is above")
    return statistics.median(after - before for before, after in zip(times, times[1:], strict=False))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.examples", description=__doc__)
    parser.add_argument("programs", nargs="*", help="part of a command in the table; without it, all")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--processor", action="store_true")
    args = parser.parse_args()
    rushlight, pytorch = [sys.executable, "-m", "rushlight", "run"], [sys.executable]
    print("| setting | ms between lines, Rushlight | PyTorch | PyTorch / Rushlight |\n|---|---|---|---|")
    for command in COMMANDS:
        if args.programs and not any(part in command for part in args.programs):
            continue
        pairs = [
            [time_between_lines(python, command, args.threads, args.processor) for python in (rushlight, pytorch)]
            for _ in range(args.pairs)
        ]
        own, other = (1000 * statistics.median(times) for times in zip(*pairs, strict=True))
        ratio = statistics.median(theirs / ours for ours, theirs in pairs)
        print(f"| {command} | {own:.1f} | {other:.1f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
