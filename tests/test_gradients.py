"""Derivatives of every differentiable row: against finite differences, and fused against composed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from tests.helpers import EPSILON, LAYOUTS, TOLERANCE, Call, outputs, resolve, to_numpy, widened
from tests.op_table import HALVES, OPS, SEED, Op, Sample

ROWS = [op for op in OPS if op.grad]
LARGEST = 60  # elements of inputs that finite differences are taken by

differentiable = pytest.mark.parametrize("op", ROWS, ids=lambda op: op.id)


def samples(op: Op, dtype: str = "float64") -> list[Sample]:
    return [s for s in op.calls(dtype) if s.grad]


def as_function(op: Op, call: Call) -> Any:
    """The call as a function of its leaves, wherever in its arguments they are."""
    function = resolve(torch, op.name)
    places = {id(leaf): i for i, leaf in enumerate(call.leaves)}
    constants = {id(constant) for constant in call.constants}

    def swap(value: Any, leaves: tuple) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(swap(v, leaves) for v in value)
        if id(value) in constants:
            return value.clone()  # running statistics move at every call
        return leaves[places[id(value)]] if id(value) in places else value

    def apply(*leaves: Any) -> Any:
        if op.random:
            torch.manual_seed(SEED)
        return function(*(swap(a, leaves) for a in call.args), **{k: swap(v, leaves) for k, v in call.kwargs.items()})

    return apply


@differentiable
def test_gradient(op: Op) -> None:
    for sample in samples(op):
        call = Call(torch, sample, requires_grad=True)
        assert call.leaves, f"{op.id}{sample} has nothing to differentiate by"
        assert sum(leaf.numel() for leaf in call.leaves) <= LARGEST, f"{op.id}{sample} is large; mark it N"
        try:
            torch.autograd.gradcheck(as_function(op, call), call.leaves, atol=op.grad_atol)
        except Exception as error:
            raise AssertionError(f"{op.id}{sample}") from error


@pytest.mark.parametrize("op", [op for op in ROWS if op.gradgrad], ids=lambda op: op.id)
def test_second_gradient(op: Op) -> None:
    for sample in samples(op):
        call = Call(torch, sample, requires_grad=True)
        try:
            torch.autograd.gradgradcheck(as_function(op, call), call.leaves, atol=op.grad_atol)
        except Exception as error:
            raise AssertionError(f"{op.id}{sample}") from error


def gradients(op: Op, call: Call, create_graph: bool) -> tuple[list[Any], list[Any]]:
    results = [r for r in outputs(as_function(op, call)(*call.leaves)) if r.requires_grad]
    rng = np.random.default_rng(0)
    incoming = [torch.from_numpy(np.asarray(rng.normal(size=tuple(r.shape)))).to(r.dtype) for r in results]
    if create_graph:
        incoming = [g.requires_grad_() for g in incoming]
    grads = torch.autograd.grad(results, call.leaves, incoming, create_graph=create_graph, allow_unused=True)
    return results, list(grads)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@differentiable
def test_fused_equals_composed(op: Op, dtype: str) -> None:
    """Backward runs fused kernels unless ``create_graph`` asks for a derivative of the derivative."""
    if dtype not in op.dtypes:
        pytest.skip("not a dtype of the row")
    for sample in samples(op, dtype):
        for layout in ("contiguous", *LAYOUTS):
            if layout not in ("contiguous", *op.layouts):
                continue
            call = Call(torch, sample, layout, requires_grad=True)
            _, fused = gradients(op, call, create_graph=False)
            _, composed = gradients(op, call, create_graph=True)
            for leaf, f, c in zip(call.leaves, fused, composed, strict=True):
                assert (f is None) == (c is None)
                if f is None:
                    continue
                assert f.shape == c.shape == leaf.shape and f.dtype == c.dtype == leaf.dtype
                assert not f.requires_grad
                rtol, atol = TOLERANCE[dtype]
                np.testing.assert_allclose(to_numpy(f), to_numpy(c), rtol, atol, err_msg=f"{op.id}{sample} {layout}")


@pytest.mark.parametrize("half", HALVES)
@differentiable
def test_gradient_of_halves(op: Op, half: str) -> None:
    """Near the gradient in float64 of the same values, in the inputs' dtypes."""
    if half not in op.all_dtypes:
        pytest.skip("the row does not take half types")
    for sample in samples(op, half):
        wide = widened(sample)
        if "dtype" in sample.kwargs:
            continue
        calls = [Call(torch, s, requires_grad=True) for s in (sample, wide)]
        incoming: list[Any] = []
        found = []
        for call in calls:
            results = [r for r in outputs(as_function(op, call)(*call.leaves)) if r.requires_grad]
            if not incoming:  # of values that the half type holds
                rng = np.random.default_rng(0)
                incoming = [torch.from_numpy(np.asarray(rng.normal(size=tuple(r.shape)))).to(r.dtype) for r in results]
            given = [g.to(r.dtype) for g, r in zip(incoming, results, strict=True)]
            found.append(torch.autograd.grad(results, call.leaves, given, allow_unused=True))
        for leaf, a, e in zip(calls[0].leaves, *found, strict=True):
            assert (a is None) == (e is None)
            if a is None:
                continue
            assert a.dtype == leaf.dtype and a.shape == leaf.shape
            a, e = to_numpy(a), to_numpy(e)
            # Results that forward rounded are what backward computes from.
            scale = max(1, np.abs(e).max(initial=0))
            np.testing.assert_allclose(a, e, 8 * EPSILON[half], 8 * EPSILON[half] * scale, err_msg=f"{op.id}{sample}")


@differentiable
def test_gradient_of_layouts(op: Op) -> None:
    """The gradient does not depend on how the inputs lie in memory."""
    for sample in samples(op):
        _, expected = gradients(op, Call(torch, sample, requires_grad=True), create_graph=False)
        for layout in ("transposed", "step", "offset"):
            if layout not in op.layouts:
                continue
            _, actual = gradients(op, Call(torch, sample, layout, requires_grad=True), create_graph=False)
            for a, e in zip(actual, expected, strict=True):
                assert (a is None) == (e is None)
                if a is not None:
                    np.testing.assert_allclose(
                        to_numpy(a), to_numpy(e), 1e-7, 1e-7, err_msg=f"{op.id}{sample} {layout}"
                    )


@differentiable
def test_each_input_alone(op: Op) -> None:
    """Gradients that are not needed are not computed, and those that are stay the same."""
    for sample in samples(op):
        whole = Call(torch, sample, requires_grad=True)
        if len(whole.leaves) < 2:
            continue
        _, expected = gradients(op, whole, create_graph=False)
        for i in range(len(whole.leaves)):
            call = Call(torch, sample, requires_grad=True)
            for j, leaf in enumerate(call.leaves):
                leaf.requires_grad_(i == j)
            results = [r for r in outputs(as_function(op, call)(*call.leaves)) if r.requires_grad]
            if expected[i] is None:
                continue
            rng = np.random.default_rng(0)
            incoming = [torch.from_numpy(np.asarray(rng.normal(size=tuple(r.shape)))).to(r.dtype) for r in results]
            (actual,) = torch.autograd.grad(results, call.leaves[i], incoming)
            np.testing.assert_allclose(to_numpy(actual), to_numpy(expected[i]), 1e-7, 1e-7, err_msg=f"{op.id}{sample}")


@pytest.mark.parametrize("op", [op for op in ROWS if op.inplace], ids=lambda op: op.id)
def test_gradient_in_place(op: Op) -> None:
    """The in-place form has the function's gradient, on a whole tensor and on a view of one."""
    for sample in samples(op):
        if not sample.args or not isinstance(sample.args[0], np.ndarray) or "dtype" in sample.kwargs:
            continue
        function = resolve(torch, op.name)
        call = Call(torch, sample, requires_grad=True)
        expected = function(*call.args, **call.kwargs)
        if expected.shape != call.args[0].shape or not expected.numel():
            continue
        (expected * 1.5).sum().backward()
        for through_view in (False, True):
            again = Call(torch, sample, requires_grad=True)
            x = again.args[0]
            if through_view:
                base = torch.stack([x, x])
                getattr(base[0], op.inplace_name)(*again.args[1:], **again.kwargs)
                result = base[0]
            else:
                result = x.clone()
                getattr(result, op.inplace_name)(*again.args[1:], **again.kwargs)
            (result * 1.5).sum().backward()
            for a, e in zip(again.leaves, call.leaves, strict=True):
                np.testing.assert_allclose(to_numpy(a.grad), to_numpy(e.grad), 1e-7, 1e-7, err_msg=f"{op.id}{sample}")


@pytest.mark.parametrize("name", ["amax", "amin", "max", "min"])
def test_equal_extrema_share_the_gradient(name: str) -> None:
    x = torch.tensor([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]], dtype=torch.float64, requires_grad=True)
    value = 1.0 if name in ("amax", "max") else 0.0
    getattr(torch, name)(x).backward()
    ties = x.detach() == value
    np.testing.assert_allclose(to_numpy(x.grad), to_numpy(ties.double() / ties.sum()))


KINKS = [
    ("relu", 0.0, 0.0),
    ("abs", 0.0, 0.0),
    ("sqrt", 0.0, float("inf")),
    ("log", 0.0, float("inf")),
]


@pytest.mark.parametrize(("name", "at", "slope"), KINKS)
def test_gradient_at_kinks(name: str, at: float, slope: float) -> None:
    x = torch.tensor([at], requires_grad=True)
    getattr(torch, name)(x).backward()
    assert x.grad.item() == slope


def test_gradient_of_clamp_at_its_bounds() -> None:
    x = torch.tensor([-1.0, 0.0, 1.0], requires_grad=True)
    x.clamp(-1, 1).sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_gradient_of_pow_at_zero() -> None:
    x = torch.zeros(3, requires_grad=True)
    p = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    (x**p).sum().backward()
    assert x.grad.tolist() == [0, 1, 0]
    y = torch.zeros(1, requires_grad=True)
    (y**0).sum().backward()
    assert y.grad.item() == 0


def test_masked_gradient_has_no_nan() -> None:
    """where() does not let the branch not taken spoil the gradient of what it does not touch."""
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    torch.where(x > 0, x, torch.ones_like(x)).sqrt().sum().backward()
    assert x.grad.tolist() == [0.0, 0.25]


def test_integers_take_no_gradient() -> None:
    with pytest.raises(RuntimeError):
        torch.ones(2, dtype=torch.int64, requires_grad=True)
    with pytest.raises(RuntimeError):
        torch.ones(2, dtype=torch.bool).requires_grad_()
    assert not (torch.ones(2, requires_grad=True) > 0).requires_grad
    assert not torch.ones(2, requires_grad=True).to(torch.int64).requires_grad
    assert torch.ones(2, requires_grad=True).to(torch.float64).requires_grad


def test_gradient_through_mixed_dtypes_is_cast_back() -> None:
    a = torch.ones(2, 3, dtype=torch.float32, requires_grad=True)
    b = torch.ones(3, dtype=torch.float64, requires_grad=True)
    (a * b).sum().backward()
    assert a.grad.dtype == torch.float32 and b.grad.dtype == torch.float64
    assert b.grad.tolist() == [2, 2, 2]


# -- gradcheck itself --------------------------------------------------------------------------------------------


def doubles(*shape: int) -> Any:
    values = np.random.default_rng(1).uniform(0.5, 2, shape)
    return torch.from_numpy(np.asarray(values)).requires_grad_()


class Wrong(torch.autograd.Function):
    """Squares, with a derivative that is off by ``Wrong.factor``."""

    factor = 1.1

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 2 * x * Wrong.factor


@pytest.mark.parametrize("fast_mode", [False, True])
def test_gradcheck_finds_a_wrong_gradient(fast_mode: bool) -> None:
    x = doubles(3)
    with pytest.raises(RuntimeError, match="differs from finite differences"):
        torch.autograd.gradcheck(Wrong.apply, x, fast_mode=fast_mode)
    assert not torch.autograd.gradcheck(Wrong.apply, x, raise_exception=False, fast_mode=fast_mode)
    assert torch.autograd.gradcheck(lambda x: x * x, x, fast_mode=fast_mode)
    assert torch.autograd.gradgradcheck(lambda x: x * x * x, x, fast_mode=fast_mode)


def test_gradgradcheck_finds_a_wrong_second_gradient() -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 3 * x * x.detach()  # right, but for its own derivative

    x = doubles(3)
    assert torch.autograd.gradcheck(Cube.apply, x)
    with pytest.raises(RuntimeError):
        torch.autograd.gradgradcheck(Cube.apply, x)


def test_gradcheck_refuses_unfit_inputs() -> None:
    with pytest.raises(ValueError, match="requires grad"):
        torch.autograd.gradcheck(torch.exp, torch.ones(2, dtype=torch.float64))
    with pytest.raises(ValueError, match="overlaps"):
        torch.autograd.gradcheck(torch.exp, torch.ones(1, dtype=torch.float64).expand(3).requires_grad_())
    with pytest.warns(UserWarning, match="float64"):
        torch.autograd.gradcheck(lambda x: x * 2, torch.ones(1, requires_grad=True), eps=1e-2, atol=1e-2)


def test_gradcheck_finds_random_backward() -> None:
    class Unsteady(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * (2 + 1e-9 * torch.rand(()).item())

    x = doubles(2)
    with pytest.raises(RuntimeError, match="two different gradients"):
        torch.autograd.gradcheck(Unsteady.apply, x)
    assert torch.autograd.gradcheck(Unsteady.apply, x, nondet_tol=1e-6)


def test_gradcheck_passes_other_arguments_and_several_outputs() -> None:
    def function(x: Any, n: int, y: Any) -> Any:
        return x.sum() * n, x * y, n

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.autograd.gradcheck(function, (doubles(2), 3, doubles(1)), check_grad_dtypes=True)
        assert torch.autograd.gradgradcheck(function, (doubles(2), 3, doubles(1)))
