"""autograd.Function: operations written in Python, in both styles."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight.autograd import Function
from rushlight.autograd.function import once_differentiable


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


class Product(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x, y = ctx.saved_tensors
        return grad * y, grad * x


class ProductInTwoParts(Function):
    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return x * y

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x, y = ctx.saved_tensors
        return grad * y, grad * x


both_styles = pytest.mark.parametrize("product", [Product, ProductInTwoParts])


@both_styles
def test_forward_and_backward(product: Any) -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    z = product.apply(x, y)
    assert z.tolist() == [3, 8] and z.requires_grad
    assert type(z.grad_fn).__name__ == f"{product.__name__}Backward" and z.grad_fn.name() == type(z.grad_fn).__name__
    z.sum().backward()
    assert x.grad.tolist() == [3, 4] and y.grad.tolist() == [1, 2]


@both_styles
def test_derivatives_of_all_orders(product: Any) -> None:
    x, y = leaf(0.5, 2), leaf(3, 4)
    assert torch.autograd.gradcheck(product.apply, (x, y))
    assert torch.autograd.gradgradcheck(product.apply, (x, y))


@both_styles
def test_modes_inside(product: Any) -> None:
    with torch.no_grad():
        assert not product.apply(leaf(1.0), leaf(2.0)).requires_grad
    assert not product.apply(torch.ones(1), torch.ones(1)).requires_grad


def test_forward_runs_without_recording_and_backward_as_the_caller_asks() -> None:
    seen = []

    class Look(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.append(torch.is_grad_enabled())
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(torch.is_grad_enabled())
            return grad

    x = leaf(1.0)
    Look.apply(x).backward()
    Look.apply(x).backward(create_graph=True)
    assert seen == [False, False, False, True]


def test_other_arguments() -> None:
    class Scale(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float, note: dict, *rest: Any) -> Any:
            ctx.factor, ctx.count = factor, 3 + len(rest)
            assert note == {"a": 1}
            return x * factor

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            assert ctx.needs_input_grad == (True,) + (False,) * (ctx.count - 1)
            return (grad * ctx.factor,) + (None,) * (ctx.count - 1)

    x = leaf(1.0)
    Scale.apply(x, 5.0, {"a": 1}, None, "text").backward()
    assert x.grad.tolist() == [5]


def test_needs_input_grad() -> None:
    seen = []

    class Look(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            seen.append(ctx.needs_input_grad)
            return x + y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(ctx.needs_input_grad)
            return grad, None

    Look.apply(leaf(1.0), torch.ones(1, dtype=torch.float64)).backward()
    assert seen == [(True, False), (True, False)]


def test_several_outputs() -> None:
    class Split(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x[0] * 1, "not a tensor", x[1] * 2

        @staticmethod
        def backward(ctx: Any, first: Any, nothing: Any, second: Any) -> Any:
            assert nothing is None
            return torch.stack([first, second * 2])

    x = leaf(1, 2)
    a, text, b = Split.apply(x)
    assert text == "not a tensor" and isinstance(Split.apply(x), tuple)
    (a + 10 * b).backward()
    assert x.grad.tolist() == [1, 20]
    x.grad = None
    b2 = Split.apply(x)[2]
    b2.backward()
    assert x.grad.tolist() == [0, 2]  # the gradient that is missing arrives as zeros


def test_set_materialize_grads() -> None:
    seen = []

    class Pair(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            seen.append((first is None, second is None))
            return second * 2

    x = leaf(1.0)
    Pair.apply(x)[1].backward()
    assert seen == [(True, False)] and x.grad.tolist() == [2]


def test_mark_non_differentiable() -> None:
    class SortPart(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            values, order = x.sort()
            double = order.double()
            ctx.mark_non_differentiable(order, double)
            ctx.save_for_backward(order)
            return values, order, double

        @staticmethod
        def backward(ctx: Any, grad: Any, g1: Any, g2: Any) -> Any:
            (order,) = ctx.saved_tensors
            return torch.zeros_like(grad).scatter(0, order, grad)

    x = leaf(3, 1, 2)
    values, order, double = SortPart.apply(x)
    assert values.requires_grad and not order.requires_grad and not double.requires_grad
    (values * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [3, 1, 2]


class AddInPlace(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, amount: float) -> Any:
        ctx.mark_dirty(x)
        return x.add_(amount)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 7, None


def test_mark_dirty() -> None:
    x = leaf(1.0)
    y = x * 2
    version = y._version
    z = AddInPlace.apply(y, 5)
    assert z is y and y.tolist() == [7] and y._version > version
    assert y.grad_fn.name() == "AddInPlaceBackward"
    y.backward()
    assert x.grad.tolist() == [14]
    with pytest.raises(RuntimeError, match="leaf"):
        AddInPlace.apply(x, 1)


def test_mark_dirty_of_a_view() -> None:
    x = leaf(1, 2)
    y = x * 2
    AddInPlace.apply(y[0], 5)
    assert y.tolist() == [7, 4]
    y.sum().backward()
    assert x.grad.tolist() == [14, 2]


def test_mark_dirty_of_a_constant() -> None:
    buffer = torch.zeros(1, dtype=torch.float64)

    class CopyIn(Function):
        @staticmethod
        def forward(ctx: Any, target: Any, source: Any) -> Any:
            ctx.mark_dirty(target)
            target.copy_(source)
            return target

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None, grad * 3

    x = leaf(4.0)
    CopyIn.apply(buffer, x)
    assert buffer.requires_grad and buffer.tolist() == [4]
    buffer.backward()
    assert x.grad.tolist() == [3]


def test_once_differentiable() -> None:
    class Once(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad: Any) -> Any:
            assert not torch.is_grad_enabled()
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    x = leaf(3.0)
    Once.apply(x).backward()
    assert x.grad.tolist() == [6]
    (g,) = torch.autograd.grad(Once.apply(x), x, create_graph=True)
    with pytest.raises(RuntimeError):
        g.backward()


def test_saved_input_changed_later_is_refused() -> None:
    x = leaf(1.0)
    y = x * 1
    z = Product.apply(y, y)
    y.add_(1)
    with pytest.raises(RuntimeError):
        z.backward()


def test_saved_output() -> None:
    class Exp(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (y,) = ctx.saved_tensors
            return grad * y

    x = leaf(0.5, 1)
    assert torch.autograd.gradcheck(Exp.apply, x)
    assert torch.autograd.gradgradcheck(Exp.apply, x)
    y = Exp.apply(x)
    gone = weakref.ref(y)
    del y
    gc.collect()
    assert gone() is None


def test_saved_none_and_freed() -> None:
    class Odd(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, None)
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, none = ctx.saved_tensors
            assert none is None and x.tolist() == [1]
            return grad

    y = Odd.apply(leaf(1.0))
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    with pytest.raises(TypeError):

        class SavesText(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward("text")
                return x * 1

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad

        SavesText.apply(leaf(1.0)).backward()


def test_input_returned_as_it_is() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 5

    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x and not y.is_leaf and y.data_ptr() == x.data_ptr()
    y.backward()
    assert x.grad.tolist() == [5] and x.is_leaf


def test_view_returned() -> None:
    class FirstHalf(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x[:1]

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return torch.cat([grad, grad * 0])

    x = leaf(1, 2)
    FirstHalf.apply(x).backward()
    assert x.grad.tolist() == [1, 0]


def with_backward(result: Any) -> Any:
    class Made(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return result(grad)

    return Made.apply


def test_bad_backwards() -> None:
    x, y = leaf(1, 2), leaf(1, 2)
    for result, kind in [
        (lambda g: g, RuntimeError),
        (lambda g: (g, g, g), RuntimeError),
        (lambda g: (g[:1].expand(3), g), RuntimeError),
        (lambda g: ("text", g), (TypeError, RuntimeError)),
        (lambda g: (1.0, g), (TypeError, RuntimeError)),
    ]:
        with pytest.raises(kind):
            with_backward(result)(x, y).sum().backward()
    with_backward(lambda g: (g, g, None, None))(x, y).sum().backward()  # superfluous Nones do no harm
    x.grad = None
    with_backward(lambda g: (g.float(), None))(x, y).sum().backward()
    assert x.grad.dtype == torch.float64  # cast to the input's dtype


def test_gradient_is_summed_to_the_inputs_shape() -> None:
    x, y = leaf(1.0), leaf(1, 2)
    with_backward(lambda g: (g, g))(x, y).sum().backward()
    assert x.grad.tolist() == [2]


def test_exceptions_pass_through() -> None:
    class Fails(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            if x.item() == 0:
                raise KeyError("forward")
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            raise KeyError("backward")

    with pytest.raises(KeyError, match="forward"):
        Fails.apply(leaf(0.0))
    with pytest.raises(KeyError, match="backward"):
        Fails.apply(leaf(1.0)).backward()


def test_missing_parts() -> None:
    class NoBackward(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

    with pytest.raises(NotImplementedError):
        NoBackward.apply(leaf(1.0)).backward()

    class NoForward(Function):
        pass

    with pytest.raises(NotImplementedError):
        NoForward.apply(leaf(1.0))
    with pytest.raises(RuntimeError):
        Product()(leaf(1.0), leaf(1.0))


def test_ctx_is_the_node() -> None:
    held = []

    class Look(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.note = "from forward"
            held.append(ctx)
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            assert ctx.note == "from forward"
            return grad

    y = Look.apply(leaf(1.0))
    assert y.grad_fn is held[0] and y.grad_fn.note == "from forward"
    assert y.grad_fn.next_functions[0][0].variable is not None
    y.backward()


def test_function_in_no_grad_leaves_ctx_free() -> None:
    class Big:
        pass

    kept = []

    class Keeps(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.big = Big()
            kept.append(weakref.ref(ctx.big))
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    with torch.no_grad():
        Keeps.apply(leaf(1.0))
    gc.collect()
    assert kept[0]() is None
    y = Keeps.apply(leaf(1.0))
    y.backward()
    del y
    gc.collect()
    assert kept[1]() is None


def test_nested_functions() -> None:
    class Outer(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with torch.enable_grad():
                inner = x.detach().requires_grad_()
                y = Product.apply(inner, inner)
            ctx.inner, ctx.y = inner, y
            return y.detach()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (g,) = torch.autograd.grad(ctx.y, ctx.inner, grad)
            return g

    x = leaf(3.0)
    Outer.apply(x).backward()
    np.testing.assert_allclose(x.grad.tolist(), [6])


def test_backward_of_a_chain_drops_buffers_as_it_goes() -> None:
    alive: list[Any] = []

    class Track(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 1
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            made = grad * 1
            alive.append(weakref.ref(made))
            assert sum(r() is not None for r in alive) <= 3
            return made

    x = leaf(1.0)
    y = x
    for _ in range(20):
        y = Track.apply(y)
    y.backward()
