"""What is measured. Each row is written once, over a module `T` that is either PyTorch or Rushlight.

A row's function prepares its data and gives a statement and the names it uses; the statement is what is timed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Statement = tuple[str, dict[str, Any]]


@dataclass
class Row:
    name: str
    title: str
    target: float  # PyTorch's time over Rushlight's, at least
    prepare: Callable[[Any], Statement]
    cold: bool = False  # timed in a new process each time


ROWS: dict[str, Row] = {}


def row(name: str, title: str, target: float, cold: bool = False):
    def add(prepare):
        ROWS[name] = Row(name, title, target, prepare, cold)
        return prepare

    return add


@row("import", "import", 15, cold=True)
def import_(T):
    return f"import {T.__name__}", {}


@row("add", "`a + b`, 4 elements", 6)
def add(T):
    return "a + b", {"a": T.randn(4), "b": T.randn(4)}


@row("add_grad", "`a + b`, 4 elements, with grad", 6)
def add_grad(T):
    return "a + b", {"a": T.randn(4, requires_grad=True), "b": T.randn(4)}


@row("scalar_backward", "scalar `x**2 + 3*x` with backward", 20)
def scalar_backward(T):
    return "x.grad = None; (x**2 + 3 * x).backward()", {"x": T.tensor(2.0, requires_grad=True)}


def training_step(T, model, images, classes, optimizer, clip=None):
    criterion = T.nn.functional.cross_entropy

    def step():
        optimizer.zero_grad()
        criterion(model(images), classes).backward()
        if clip is not None:
            T.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()

    return "step()", {"step": step}


def mlp_step(T, optimizer):
    nn = T.nn
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return training_step(T, model, T.randn(32, 64), T.arange(32) % 10, optimizer(model.parameters()))


@row("mlp_sgd", "small MLP step (64-64-64-10, batch 32), SGD", 7)
def mlp_sgd(T):
    return mlp_step(T, lambda parameters: T.optim.SGD(parameters, lr=0.01))


@row("mlp_adam", "small MLP step (64-64-64-10, batch 32), Adam", 8)
def mlp_adam(T):
    return mlp_step(T, lambda parameters: T.optim.Adam(parameters, lr=0.001))


@row("sequential", "ten nested Sequentials around an Identity", 2.5)
def sequential(T):
    model = T.nn.Identity()
    for _ in range(10):
        model = T.nn.Sequential(model)
    return "model(x)", {"model": model, "x": T.randn(4)}


@row("add_64mb", "out-of-place `a + b`, 64 MB each", 4)
def add_64mb(T):
    return "a + b", {"a": T.randn(1 << 24), "b": T.randn(1 << 24)}


@row("exp", "exp, a million float32", 2)
def exp(T):
    return "exp(x)", {"exp": T.exp, "x": T.randn(1_000_000)}


@row("tanh", "tanh, a million float32", 2)
def tanh(T):
    return "tanh(x)", {"tanh": T.tanh, "x": T.randn(1_000_000)}


@row("gelu", "gelu, a million float32", 2)
def gelu(T):
    return "gelu(x)", {"gelu": T.nn.functional.gelu, "x": T.randn(1_000_000)}


def demo_step(T, batch):
    nn = T.nn
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(1600, 10),
    )
    optimizer = T.optim.Adam(model.parameters(), lr=0.001)
    return training_step(T, model, T.randn(batch, 1, 28, 28), T.arange(batch) % 10, optimizer, clip=0.5)


@row("demo_64", "the demo's training step, batch 64", 2)
def demo_64(T):
    return demo_step(T, 64)


@row("demo_1", "the demo's training step, batch 1", 4)
def demo_1(T):
    return demo_step(T, 1)


@row("matmul_256", "matmul 256, float32", 0.95)
def matmul_256(T):
    return "a @ b", {"a": T.randn(256, 256), "b": T.randn(256, 256)}


@row("matmul_1024", "matmul 1024, float32", 0.95)
def matmul_1024(T):
    return "a @ b", {"a": T.randn(1024, 1024), "b": T.randn(1024, 1024)}
