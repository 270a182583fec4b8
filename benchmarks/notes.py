"""`python -m benchmarks.notes`: the claims of docs/pytorch-notes.md that are about speed.

Each claim is two ways to do one thing, timed in turn within one process; the table gives the first one's time over the
second's for Rushlight, and for PyTorch where it is installed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

Pair = tuple[Callable[[], Any], Callable[[], Any]]


def stack(torch: Any, count: int, *size: int) -> Pair:
    return (
        lambda: torch.stack([torch.rand(*size) for _ in range(count)]),
        lambda: torch.empty(count, *size).uniform_(0, 1),
    )


def allocate(torch: Any) -> Pair:
    return lambda: [torch.empty(256).uniform_() for _ in range(1000)], lambda: torch.empty(1000, 256).uniform_()


def write(torch: Any) -> Pair:
    x = torch.zeros(2**24)
    return lambda: x + 1, lambda: x.add_(1)


def record(torch: Any, n: int) -> Pair:
    model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(n, n), torch.nn.ReLU()) for _ in range(4)))
    x = torch.rand(n, n)

    def silent():
        with torch.no_grad():
            model(x)

    return lambda: model(x), silent


def leaky_relu(torch: Any, n: int) -> Pair:
    class MyLeakyReLU(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input, slope=0.01):
            ctx.save_for_backward(input)
            ctx.slope = slope
            return input.clamp(min=0) + slope * input.clamp(max=0)

        @staticmethod
        def backward(ctx, grad_output):
            (input,) = ctx.saved_tensors
            mask = (input > 0).float()
            return grad_output * (mask + ctx.slope * (1 - mask)), None

    x = torch.randn(n, requires_grad=True)
    ones = torch.ones(n)

    def step(function):
        x.grad = None
        function(x).backward(ones)

    return lambda: step(MyLeakyReLU.apply), lambda: step(torch.nn.functional.leaky_relu)


def numpy_matmul(torch: Any, n: int) -> Pair:
    a, b = torch.rand(n, n), torch.rand(n, n)
    x, y = a.numpy(), b.numpy()
    return lambda: x @ y, lambda: a @ b


def mixed_precision(torch: Any, dtype: str, network: str) -> Pair:
    nn = torch.nn
    if network == "cnn":  # the demo's
        first = (nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2))
        model = nn.Sequential(*first, nn.Dropout(0.25), nn.Flatten(), nn.Linear(1600, 10))
        inputs = torch.rand(64, 1, 28, 28)
    else:
        model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
        inputs = torch.rand(64, 512)
    targets = torch.randint(10, (64,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(enabled):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=getattr(torch, dtype), enabled=enabled):
            loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()

    return lambda: step(True), lambda: step(False)


CLAIMS: dict[str, tuple[str, Callable[[Any], Pair]]] = {
    "stack_small": ("stack of five 3x3 over `empty().uniform_()`", lambda torch: stack(torch, 5, 3, 3)),
    "stack_large": ("the same, eight of 512x512", lambda torch: stack(torch, 8, 512, 512)),
    "allocate": ("a thousand tensors of 256 over one of 1,000x256", allocate),
    "inplace": ("`x + 1` over `x.add_(1)`, 64 MiB", write),
    "record_small": ("four layers of 16, recorded over `no_grad()`", lambda torch: record(torch, 16)),
    "record_large": ("four layers of 512, recorded over `no_grad()`", lambda torch: record(torch, 512)),
    "leaky_small": ("own LeakyReLU over `F.leaky_relu` with backward, 4", lambda torch: leaky_relu(torch, 4)),
    "leaky_large": ("the same, a million", lambda torch: leaky_relu(torch, 10**6)),
    "mixed_cnn": (
        "the demo's network, a batch of 64: bfloat16 over float32",
        lambda torch: mixed_precision(torch, "bfloat16", "cnn"),
    ),
    "mixed_cnn_half": ("the same with float16", lambda torch: mixed_precision(torch, "float16", "cnn")),
    "mixed_mlp": (
        "three layers of 512, a batch of 64: bfloat16 over float32",
        lambda torch: mixed_precision(torch, "bfloat16", "mlp"),
    ),
    "matmul": ("NumPy's product of two 1024x1024 over ours", lambda torch: numpy_matmul(torch, 1024)),
}


def timed(f: Callable[[], Any], repeat: int) -> float:
    start = time.perf_counter()
    for _ in range(repeat):
        f()
    return (time.perf_counter() - start) / repeat


def ratios(pair: Pair, pairs: int, seconds: float) -> list[float]:
    repeats = []
    for f in pair:
        timed(f, 2)
        repeats.append(max(1, int(seconds / max(timed(f, 2), 1e-7))))
    found = []
    for turn in range(pairs):
        order = (0, 1) if turn % 2 else (1, 0)
        taken = {i: timed(pair[i], repeats[i]) for i in order}
        found.append(taken[0] / taken[1])
    return found


def work(framework: str, names: list[str], pairs: int, seconds: float) -> None:
    torch = importlib.import_module(framework)
    torch.set_num_threads(2)
    for name in names:
        torch.manual_seed(0)
        print(json.dumps({name: ratios(CLAIMS[name][1](torch), pairs, seconds)}), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.notes", description=__doc__)
    parser.add_argument("--claims", default=",".join(CLAIMS), help="only these, with commas between")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.05, help="how long each timing takes, about")
    parser.add_argument("--work", metavar="FRAMEWORK", help=argparse.SUPPRESS)
    args = parser.parse_args()
    names = args.claims.split(",")
    if unknown := [name for name in names if name not in CLAIMS]:
        parser.error(f"no such claim: {', '.join(unknown)}\n  hint: they are {', '.join(CLAIMS)}")
    if args.work:
        work(args.work, names, args.pairs, args.seconds)
        return 0
    print("| how many times as long | Rushlight | PyTorch |\n|---|---|---|", flush=True)
    for name in names:
        cells = [cell(framework, name, args) for framework in ("rushlight", "torch")]
        print(f"| {CLAIMS[name][0]} | {' | '.join(cells)} |", flush=True)
    return 0


def cell(framework: str, name: str, args: argparse.Namespace) -> str:
    if importlib.util.find_spec(framework) is None:
        return ""
    command = [sys.executable, "-m", "benchmarks.notes", "--work", framework, "--claims", name]
    options = ["--pairs", str(args.pairs), "--seconds", str(args.seconds)]
    answer = subprocess.run([*command, *options], stdout=subprocess.PIPE, text=True, check=True).stdout
    low, middle, high = statistics.quantiles(json.loads(answer)[name], n=4)
    return f"**{middle:.2f}** ({low:.2f} to {high:.2f})"


if __name__ == "__main__":
    sys.exit(main())
