"""The programs in examples/: short settings, and what their last line, `result: name=value ...`, must say."""

import os
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

FOLDER = pathlib.Path(__file__).parents[2] / "examples"


class Row(NamedTuple):
    name: str
    command: str
    bounds: dict[str, tuple[float, float]]  # what the result must lie between; it does not with a learning rate of 0
    like: float | None = 1e-3  # how far numbers may be from PyTorch's, relatively; None: only the bounds hold there too
    beside: str = ""  # a still shorter setting beside PyTorch, where the bounds are not asked for


WORDS = "--limit 10000 --width 64 --lr 0.005 --dropout 0.1 --batch-size 10 --length 20"  # frequencies: perplexity 94

DIGITS_BY_ROW = "--epochs 2 --limit 1600 --lr 0.005"

ROWS = [
    # In float32, rounding errors move the curve: many of its weights have gradients near 0, which Adam makes large.
    Row(
        "image_classification",
        "image_classification.py --epochs 2 --limit 1000 --batch-size 32",
        {"accuracy": (0.7, 1)},
        beside="image_classification.py --epochs 1 --limit 400 --batch-size 16 --double",
    ),
    Row("polynomial_regression", "polynomial_regression.py --steps 200", {"error": (0, 0.02)}),
    Row("rnn_rows LSTM", f"rnn_rows.py --model LSTM {DIGITS_BY_ROW}", {"accuracy": (0.65, 1)}),
    Row("rnn_rows GRU", f"rnn_rows.py --model GRU {DIGITS_BY_ROW}", {"accuracy": (0.6, 1)}),
    Row("rnn_rows RNN", f"rnn_rows.py --model RNN {DIGITS_BY_ROW} --lr 0.002", {"accuracy": (0.45, 1)}),
    Row("vae", "vae.py --epochs 1 --limit 2000", {"nats": (150, 240)}),
    Row("siamese", "siamese.py --epochs 2 --limit 2000", {"accuracy": (0.8, 1)}),
    Row(
        "time_sequence",
        "time_sequence.py --steps 4 --waves 8 --length 60 --future 30 --hidden 12",
        {"error": (0, 0.05)},
        beside="time_sequence.py --steps 2 --waves 8 --length 30 --future 10 --hidden 12",
    ),
    Row("word_lm LSTM", f"word_lm.py --model LSTM --tied --epochs 3 {WORDS}", {"perplexity": (60, 85)}),
    Row("word_lm GRU", f"word_lm.py --model GRU --epochs 3 {WORDS}", {"perplexity": (50, 80)}),
    # Were the future not masked, it would be far below.
    Row("word_lm Transformer", f"word_lm.py --model Transformer --epochs 2 {WORDS}", {"perplexity": (40, 70)}),
    Row(
        "char_gpt",
        "char_gpt.py --steps 200 --width 64 --layers 1 --length 32 --lr 0.01 --dropout 0"
        " --sample 40 --top-k 5 --prompt An",
        {"loss": (1.8, 2.35)},  # frequencies: 3.14; were the future not masked, it would be far below
        beside="char_gpt.py --steps 40 --every 10 --width 64 --layers 2 --length 32 --sample 20 --top-k 5",
    ),
    Row(
        "reinforce",
        "reinforce.py --episodes 100",
        {"ticks": (60, 500)},
        beside="reinforce.py --episodes 40 --every 10",
    ),
    Row(
        "actor_critic",
        "actor_critic.py --episodes 120",
        {"ticks": (60, 500)},
        beside="actor_critic.py --episodes 40 --every 10",
    ),
    Row("gat", "gat.py --epochs 20", {"accuracy": (0.95, 1)}),
    Row("gat --blind", "gat.py --epochs 20 --blind", {"accuracy": (0.4, 0.75)}),
    Row(
        "maml",
        "maml.py --steps 500 --tasks 5 --lr 0.005",
        {"after": (0, 1.8), "after_ten": (0, 1.2)},
        beside="maml.py --steps 60 --every 10 --tasks 4 --inner-steps 2",
    ),
    Row(
        "hogwild alone",
        "hogwild.py --processes 1 --epochs 8",
        {"accuracy": (0.9, 1)},
        beside="hogwild.py --processes 1 --epochs 2",
    ),
    Row("hogwild", "hogwild.py --processes 2", {"accuracy": (0.95, 1)}, like=None),
]
IDS = [row.name for row in ROWS]


def run(*python, command):
    """What the program prints, run by `python *python`; it must end well and have nothing to complain of."""
    program, *arguments = command.split()
    done = subprocess.run(
        [sys.executable, *python, FOLDER / program, *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0 and done.stderr == "", f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout.splitlines()


def result(lines):
    """`result: accuracy=0.5` as {"accuracy": 0.5}."""
    title, *values = lines[-1].split()
    assert title == "result:"
    return {name: float(value) for name, value in (pair.split("=") for pair in values)}


def within(row, values):
    return all(low <= values[name] <= high for name, (low, high) in row.bounds.items())


def numbers(lines):
    """Every number in the lines of progress and the result."""
    told = [line for line in lines if re.match(r"(process \d+, )?(epoch|step|episode|result)\b", line)]
    return [float(number) for line in told for number in re.findall(r"\d+(?:\.\d+)?(?:e[-+]\d+)?", line)]
