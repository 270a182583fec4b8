"""Every step makes its graph anew: by Python's own control flow, under its debugger, for sequences of any length."""

from __future__ import annotations

import bdb
import io
import pdb
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from tests.programs import run


class Gated(nn.Module):
    """Takes another path for each input."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(3, 3)
        self.down = nn.Linear(3, 3)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        steps = 0
        while x.norm() < 4 and steps < 6:
            x = self.up(x) * 1.5
            steps += 1
        if x.sum() > 0:
            x = self.down(x)
        for i in range(steps % 3):
            x = rl.tanh(x) if i % 2 else rl.sin(x)
        return x.sum()


def by_hand(model: Gated, x: np.ndarray) -> tuple[float, dict[str, np.ndarray], int]:
    """The same in NumPy with its derivative written out, and how many steps it took."""
    p = {k: v.detach().numpy() for k, v in model.named_parameters()}
    grads = {k: np.zeros_like(v) for k, v in p.items()}
    tape: list[tuple[str, np.ndarray]] = []
    steps = 0
    while np.linalg.norm(x) < 4 and steps < 6:
        tape.append(("up", x))
        x = (p["up.weight"] @ x + p["up.bias"]) * 1.5
        steps += 1
    if x.sum() > 0:
        tape.append(("down", x))
        x = p["down.weight"] @ x + p["down.bias"]
    for i in range(steps % 3):
        tape.append(("tanh" if i % 2 else "sin", x))
        x = np.tanh(x) if i % 2 else np.sin(x)
    g = np.ones(3)
    for kind, before in reversed(tape):
        if kind == "tanh":
            g = g * (1 - np.tanh(before) ** 2)
        elif kind == "sin":
            g = g * np.cos(before)
        else:
            g = g * (1.5 if kind == "up" else 1)
            grads[f"{kind}.weight"] += np.outer(g, before)
            grads[f"{kind}.bias"] += g
            g = p[f"{kind}.weight"].T @ g
    return float(x.sum()), grads, steps


def test_control_flow_that_changes_every_step() -> None:
    rl.manual_seed(3)
    model = Gated().double()
    rng = np.random.default_rng(0)
    shapes = set()
    for _ in range(30):
        x = rng.normal(size=3) * rng.choice([0.1, 1, 5])
        model.zero_grad()
        loss = model(rl.from_numpy(x))
        value, grads, steps = by_hand(model, x)
        shapes.add(steps)
        np.testing.assert_allclose(loss.item(), value, rtol=1e-10)
        if not loss.requires_grad:
            continue
        loss.backward()
        for name, p in model.named_parameters():
            g = np.zeros(p.shape) if p.grad is None else p.grad.numpy()
            np.testing.assert_allclose(g, grads[name], rtol=1e-9, atol=1e-12, err_msg=name)
        with rl.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= 0.01 * p.grad
    assert len(shapes) > 2  # the graphs did differ


@pytest.mark.parametrize("length", [1, 2, 3, 7, 20])
def test_sequences_of_every_length(length: int) -> None:
    rng = np.random.default_rng(length)
    w = rng.normal(size=(2, 2)) * 0.5
    inputs = rng.normal(size=(length, 2))
    weight = rl.from_numpy(w).requires_grad_()
    h = rl.zeros(2, dtype=rl.float64)
    for x in rl.from_numpy(inputs):
        h = rl.tanh(weight @ h + x)
    h.sum().backward()
    states = [np.zeros(2)]
    for x in inputs:
        states.append(np.tanh(w @ states[-1] + x))
    g, expected = np.ones(2), np.zeros((2, 2))
    for before, after in zip(states[-2::-1], states[:0:-1], strict=True):
        g = g * (1 - after**2)
        expected += np.outer(g, before)
        g = w.T @ g
    np.testing.assert_allclose(weight.grad.numpy(), expected, rtol=1e-10, atol=1e-14)


def test_recursion_over_trees() -> None:
    w = rl.tensor(0.5, dtype=rl.float64, requires_grad=True)

    def fold(tree: Any) -> rl.Tensor:
        if isinstance(tree, tuple):
            return w * (fold(tree[0]) + fold(tree[1]))
        return rl.tensor(float(tree), dtype=rl.float64)

    value = fold(((1, 2), (3, (4, 5))))  # w (w (1 + 2) + w (3 + w (4 + 5))) = 6 w^2 + 9 w^3
    value.backward()
    assert value.item() == 6 * 0.25 + 9 * 0.125
    assert w.grad.item() == 12 * 0.5 + 27 * 0.25


PROGRAM = textwrap.dedent(
    """
    nn = torch.nn
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)
        def forward(self, x):
            hidden = self.fc(x)
            total = hidden.sum()
            return total
    model = Net()
    loss = model(torch.ones(1, 2))
    loss.backward()
    grad = model.fc.weight.grad
    """
).lstrip()


def test_breakpoint_in_a_model(tmp_path: Path) -> None:
    text = PROGRAM.replace("        total =", "        import pdb; debugger.set_trace()\n        total =")
    commands = [
        "p tuple(hidden.shape)",
        "p hidden.grad_fn.name()",
        "p hidden.requires_grad",
        "n",
        "n",
        "p total.dim()",
        "up",
        "p 'Module' in type(self).__mro__[1].__name__",
        "down",
        "c",
    ]
    out = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO("\n".join(commands) + "\n"), stdout=out, nosigint=True, readrc=False)
    debugger.use_rawinput = False
    path = tmp_path / "program.py"
    before = sys.gettrace()
    try:
        path.write_text(text)
        names: dict[str, Any] = {"torch": rl, "__name__": "__main__", "debugger": debugger}
        exec(compile(text, str(path), "exec"), names)
    finally:
        sys.settrace(before)
    said = out.getvalue()
    for answer in ("(1, 2)", "'AddmmBackward0'", "True", "\n(Pdb) 0"):
        assert answer in said, said
    assert names["grad"].tolist() == [[1, 1], [1, 1]]


class Watch(bdb.Bdb):
    """Steps through every line of one file and looks at all tensors that it sees."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.seen = str(path), []

    def user_line(self, frame: Any) -> None:
        if frame.f_code.co_filename == self.path:
            shown = {k: repr(v) for k, v in frame.f_locals.items() if isinstance(v, rl.Tensor)}
            self.seen.append((frame.f_lineno, shown))
        self.set_step()


def test_stepping_through_changes_nothing(tmp_path: Path) -> None:
    rl.manual_seed(0)
    plain = run(PROGRAM, tmp_path / "plain.py")
    rl.manual_seed(0)
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    watch = Watch(path)
    names: dict[str, Any] = {"torch": rl, "__name__": "__main__"}
    before = sys.gettrace()
    try:
        watch.run(compile(PROGRAM, str(path), "exec"), names, names)
    finally:
        sys.settrace(before)
    assert names["loss"].item() == plain["loss"].item()
    assert names["grad"].tolist() == plain["grad"].tolist()
    lines = [n for n, shown in watch.seen if "hidden" in shown]
    assert lines == [8, 9]
    assert any("grad_fn" in shown.get("hidden", "") for _, shown in watch.seen)


def test_lines_are_named_while_a_debugger_watches(tmp_path: Path) -> None:
    text = "x = torch.ones(1, requires_grad=True)\ny = (\n    x\n    .exp()\n)\n"
    path = tmp_path / "program.py"
    path.write_text(text)
    names: dict[str, Any] = {"torch": rl, "__name__": "__main__"}
    before = sys.gettrace()
    try:
        Watch(path).run(compile(text, str(path), "exec"), names, names)
    finally:
        sys.settrace(before)
    assert names["y"].grad_fn._where == run(text, path)["y"].grad_fn._where != ""
