"""Random programs of views, in-place writes, modes, hooks and backward passes, step by step against PyTorch."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import rushlight
from tests.helpers import dtype_name

UNARY = ["exp", "sin", "sigmoid", "tanh", "relu", "neg", "abs", "cos", "erf"]
BINARY = ["add", "sub", "mul", "maximum", "minimum", "div"]
IN_PLACE = ["exp_", "sin_", "sigmoid_", "neg_", "relu_", "zero_", "tanh_", "cos_"]
VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x.view(-1),
    lambda x: x.reshape(-1),
    lambda x: x[::2],
    lambda x: x[0],
    lambda x: x[1:],
    lambda x: x.unsqueeze(0),
    lambda x: x.transpose(0, -1),
    lambda x: x.t(),
    lambda x: x.squeeze(),
    lambda x: x.expand(2, *x.shape),
    lambda x: x.diagonal(),
    lambda x: x.narrow(0, 0, 1),
    lambda x: x.unbind()[0],
    lambda x: x.split(1)[-1],
    lambda x: x.chunk(2)[0],
    lambda x: x.view_as(x),
    lambda x: x.permute(tuple(range(x.dim()))[::-1]),
    lambda x: x.detach(),
    lambda x: x.data,
    lambda x: x.clone(),
    lambda x: x.contiguous(),
    lambda x: x.unfold(0, 2, 1),
    lambda x: x.flatten(),
    lambda x: x.as_strided((2,), (1,)),
    lambda x: x.sum(0),
    lambda x: x.sort().values,
    lambda x: x.cumsum(0),
]


def program(seed: int) -> list[tuple]:
    """Instructions with numbers that pick operands; what they mean does not depend on the library."""
    rng = random.Random(seed)
    steps: list[tuple] = []
    for _ in range(rng.randint(5, 25)):
        kind = rng.choice(
            ["unary", "binary", "view", "view", "view", "in-place", "in-place", "in-place binary", "copy", "setitem"]
            + ["fill", "no_grad view", "no_grad write", "requires_grad", "backward", "grad", "retain_grad", "hook"]
            + ["detach_", "mask", "cat", "inference"]
        )
        steps.append((kind, *(rng.randrange(10**6) for _ in range(4))))
    return steps


def run(lib: Any, steps: list[tuple]) -> list[Any]:
    """What each step left behind."""
    rng = np.random.default_rng(0)
    double = {"dtype": lib.float64}
    leaves = [lib.from_numpy(rng.uniform(0.5, 1.5, s)).requires_grad_() for s in [(2, 2), (2, 2), (4,)]]
    pool = [*leaves, lib.ones(2, 2, **double), lib.arange(4, **double), leaves[0] * 1]
    trace: list[Any] = []

    def state(x: Any) -> tuple:
        node = x.grad_fn
        return (
            tuple(x.shape),
            tuple(x.stride()),
            x.storage_offset(),
            x.requires_grad,
            x.is_leaf,
            x._version if not x.is_inference() else None,
            x._is_view(),
            type(node).__name__ if node is not None else None,
            x.output_nr,
            x.tolist(),
        )

    def push(y: Any, *operands: Any) -> None:
        # PyTorch fills some results by in-place writes, which count where an operand is of inference_mode().
        of_inference = any(x.is_inference() for x in operands)
        pool.append(y.data if of_inference and y.grad_fn is None and not y.is_inference() else y)

    def forget_gradients() -> None:  # how far a backward came before it failed is not defined
        for x in pool:
            x.grad = None

    def execute(kind: str, a: int, b: int, c: int, d: int) -> Any:
        x, y = pool[a % len(pool)], pool[b % len(pool)]
        match kind:
            case "unary":
                push(getattr(lib, UNARY[c % len(UNARY)])(x), x)
            case "binary":
                push(getattr(lib, BINARY[c % len(BINARY)])(x, y), x, y)
            case "view":
                push(VIEWS[c % len(VIEWS)](x), x)
            case "no_grad view":
                with lib.no_grad():
                    push(VIEWS[c % len(VIEWS)](x), x)
            case "in-place":
                getattr(x, IN_PLACE[c % len(IN_PLACE)])()
                return state(x)
            case "in-place binary":
                # x.mul_(x) has a gradient here; PyTorch refuses to give it.
                getattr(x, ["add_", "mul_", "sub_"][c % 3])(y * 1 if y is x else y)
                return state(x)
            case "no_grad write":
                with lib.no_grad():
                    x.mul_(0.5)
                return state(x)
            case "copy":
                x.copy_(y)
                return state(x)
            case "fill":
                x.fill_(0.25)
                return state(x)
            case "setitem":
                x[c % 2] = y if d % 2 else 0.75
                return state(x)
            case "mask":
                x[x > 1] = 0.5
                return state(x)
            case "cat":
                push(lib.cat([x, y]) if c % 2 else lib.stack([x, y]), x, y)
            case "requires_grad":
                x.requires_grad_(bool(c % 3))
                return state(x)
            case "detach_":
                x.detach_()
                return state(x)
            case "inference":
                with lib.inference_mode():
                    pool.append(x * 1)
            case "retain_grad":
                x.retain_grad()
                return x.retains_grad
            case "hook":
                if x.grad_fn is not None or not x._is_view():  # PyTorch crashes for views made under no_grad
                    x.register_hook(lambda g: g * 2)
                return None
            case "backward":
                x.sum().backward(retain_graph=bool(c % 2))
                return gradients(leaves)
            case "grad":
                grads = lib.autograd.grad(
                    (x * x).sum(), leaves, allow_unused=True, create_graph=bool(c % 2), retain_graph=bool(d % 2)
                )
                if c % 2:
                    pool.extend(
                        g * 1 for g in grads if g is not None
                    )  # how derivatives are composed is nobody's promise
                return [None if g is None else g.tolist() for g in grads]
        return state(pool[-1])

    for step in steps:
        if step[0] in ("in-place", "in-place binary", "no_grad write", "copy") and overlapping(
            pool[step[1] % len(pool)]
        ):
            trace.append(None)
            continue
        x = pool[step[1] % len(pool)]
        memory = x.detach().as_strided((x.untyped_storage().nbytes() // 8,), (1,), 0).detach()
        before = memory.tolist()
        try:
            trace.append(execute(*step))
        except Exception as error:
            trace.append(type(error))
            if step[0] == "backward":
                forget_gradients()
            if x.is_inference() and str(memory.tolist()) != str(before):
                # PyTorch writes to a tensor of inference_mode() and refuses afterwards; Rushlight refuses first.
                assert lib is torch
                memory.copy_(lib.tensor(before, **double))
    for x in pool:
        try:
            trace.append(state(x))
        except Exception as error:
            trace.append(type(error))
    try:
        sum(x.sum() for x in pool if x.requires_grad).backward()
    except Exception as error:
        trace.append(type(error))
        forget_gradients()
    trace.append(gradients(pool))
    return trace


def overlapping(x: Any) -> bool:
    """Windows that unfold() makes: what comes of writing to them is not defined. (What expand() makes is refused.)"""
    places = {sum(i * s for i, s in zip(at, x.stride(), strict=True)) for at in np.ndindex(*x.shape)}
    return len(places) < x.numel() and all(x.stride())


def gradients(tensors: list[Any]) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [None if x.grad is None else (dtype_name(x.grad.dtype), x.grad.tolist()) for x in tensors]


def alike(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, float) and isinstance(ours, float):
        return bool(np.isclose(ours, theirs, rtol=1e-9, atol=1e-12, equal_nan=True))
    if isinstance(theirs, (list, tuple)) and type(ours) is type(theirs):
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))
    return bool(ours == theirs)


@pytest.mark.parametrize("seed", range(300))
def test_random_program(seed: int) -> None:
    steps = program(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = run(rushlight, steps), run(torch, steps)
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        step = steps[i] if i < len(steps) else f"value {i - len(steps)} at the end"
        assert alike(a, b), f"seed {seed}, step {i} {step}:\nours   {a}\ntheirs {b}\nprogram {steps[: i + 1]}"


def test_programs_do_something() -> None:
    """That most steps succeed, and that all kinds of refusals occur."""
    done = refused = 0
    for seed in range(100):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trace = run(torch, program(seed))
        refused += sum(isinstance(t, type) for t in trace)
        done += sum(not isinstance(t, type) for t in trace)
    assert done > refused > 50
