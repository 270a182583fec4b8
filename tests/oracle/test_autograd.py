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
            + ["detach_", "mask", "cat", "inference", "inference view", "inference write", "pieces", "geometry"]
            + ["data", "forget", "node hook", "accumulate hook", "backward inputs", "grad of", "function"]
        )
        steps.append((kind, *(rng.randrange(10**6) for _ in range(4))))
    return steps


def custom_functions(lib: Any) -> list[Any]:
    class Twice(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * (x == x), None

    class Itself(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 3, None

    class View(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.shape = x.shape
            return x.view(-1)

        @staticmethod
        def backward(ctx, g):
            return g.reshape(ctx.shape) * 2, None

    class Write(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            ctx.save_for_backward(y)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * 2, y * 0

    class Plain(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            result = x * 1
            ctx.mark_non_differentiable(result)
            return result

        @staticmethod
        def backward(ctx, g):
            return g, g

    return [Twice, Itself, View, Write, Plain]


def run(lib: Any, steps: list[tuple]) -> list[Any]:
    """What each step left behind."""
    rng = np.random.default_rng(0)
    double = {"dtype": lib.float64}
    leaves = [lib.from_numpy(rng.uniform(0.5, 1.5, s)).requires_grad_() for s in [(2, 2), (2, 2), (4,)]]
    functions = custom_functions(lib)
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

    def halve(leaf: Any) -> None:
        leaf.grad.mul_(0.5)

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
            case "inference view":
                with lib.inference_mode():
                    pool.append(VIEWS[c % len(VIEWS)](x))
            case "inference write":
                with lib.inference_mode():
                    x.mul_(0.5)
                return state(x)
            case "pieces":
                pool.extend([x.split(1), x.unbind(), x.chunk(2, -1)][c % 3][:2])
                return state(pool[-1]), state(pool[-2])
            case "geometry":
                [lambda: x.t_(), lambda: x.transpose_(0, -1), lambda: x.unsqueeze_(0), lambda: x.squeeze_(0)][c % 4]()
                return state(x)
            case "data":
                x.data = y
                return state(x)
            case "forget":
                x.grad = None
                return None
            case "node hook":
                if x.grad_fn is not None:
                    x.grad_fn.register_hook(lambda after, before: tuple(None if g is None else g * 2 for g in after))
                return None
            case "accumulate hook":
                x.register_post_accumulate_grad_hook(halve)
                return None
            case "backward inputs":
                x.sum().backward(inputs=[y], retain_graph=bool(c % 2))
                return gradients(pool)
            case "grad of":
                grads = lib.autograd.grad(x.sum(), [y], allow_unused=True, retain_graph=bool(c % 2))
                return [None if g is None else g.tolist() for g in grads]
            case "function":
                pool.append(functions[c % len(functions)].apply(x, y))
            case "retain_grad":
                x.retain_grad()
                return x.retains_grad
            case "hook":
                if x.grad_fn is not None or not x._is_view():  # PyTorch crashes for views made under no_grad
                    x.register_hook(lambda g: None if g is None else g * 2)
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
        x, y = pool[step[1] % len(pool)], pool[step[2] % len(pool)]
        if undefined(step[0], x, y, pool):
            trace.append(None)
            continue
        memory = x.detach().as_strided((x.untyped_storage().nbytes() // 8,), (1,), 0).detach()
        before = memory.tolist()
        try:
            trace.append(execute(*step))
        except Exception as error:
            trace.append(type(error))
            if "backward" in step[0]:
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


WRITES = ["in-place", "in-place binary", "no_grad write", "inference write", "copy", "fill", "setitem", "mask"]
BINARY_WRITES = ["in-place binary", "copy"]


def undefined(kind: str, x: Any, y: Any, pool: list[Any]) -> bool:
    """Whether a step would do what PyTorch leaves undefined, or fails an assertion of its own at."""
    if kind == "data":
        # A graph that leads to x would bring gradients of another shape; in PyTorch, views of the memory that x had
        # go on counting its writes.
        shared = sum(p.untyped_storage().data_ptr() == x.untyped_storage().data_ptr() for p in pool if p is not x)
        return x.is_inference() != y.is_inference() or x.shape != y.shape or shared > 0
    if kind == "geometry":  # PyTorch changes it and refuses afterwards; it retains a gradient of the former shape
        return x.is_inference() or x.retains_grad
    if kind == "function" and (x.is_inference() or y.is_inference()):  # PyTorch refuses when half is done
        return True
    if kind not in [*WRITES, "function"]:
        return False
    base = x._base if x._is_view() else x
    if base.retains_grad and base.is_leaf:  # after detach_(), the next recorded write is an internal error
        return True
    if kind in ("fill", "setitem", "mask"):
        return False
    # Windows of unfold(): what comes of writing to them depends on the order. (What expand() makes is refused.)
    if places(x) < x.numel() and all(x.stride()):
        return True
    # Operands that share memory are refused, but only where both fill their part of it.
    shares = x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr() and (
        x.shape != y.shape or x.stride() != y.stride() or x.storage_offset() != y.storage_offset()
    )
    if kind in BINARY_WRITES and shares and not (fills(x) and fills(y)):
        return True
    # A detached tensor of inference_mode() takes a history, but what is computed from it is not recorded.
    return kind in BINARY_WRITES and x.is_inference() and y.requires_grad


def places(x: Any) -> int:
    return len({sum(i * s for i, s in zip(at, x.stride(), strict=True)) for at in np.ndindex(*x.shape)})


def fills(x: Any) -> bool:
    span = sum((n - 1) * s for n, s in zip(x.shape, x.stride(), strict=True)) + 1
    return places(x) == x.numel() == span


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


@pytest.mark.parametrize("seed", range(600))
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
