"""The mechanism of autograd: graphs, leaves, hooks, modes, errors."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
import pytest

import rushlight as torch


def leaf(*values: float, dtype: Any = None) -> Any:
    return torch.tensor(list(values), dtype=dtype or torch.float64, requires_grad=True)


# -- leaves and results ---------------------------------------------------------------------------------------------


def test_methods_of_one_argument() -> None:
    x = torch.ones(2, 3)
    assert x.requires_grad_(requires_grad=True) is x and x.requires_grad
    assert not x.requires_grad_(False).requires_grad
    assert x.size(dim=1) == 3 and x.stride(dim=0) == 3
    with pytest.raises(TypeError, match="at most 1 argument, 2 were given"):
        x.size(0, 1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'axis'"):
        x.stride(axis=0)


def test_in_place_function_returns_what_it_wrote_to() -> None:
    x, y = torch.ones(2), torch.ones(2)
    assert torch._C.add_(other=y, self=x) is x and x.tolist() == [2, 2]


def test_leaves_and_results() -> None:
    x = leaf(1, 2)
    y = x * 2
    assert x.is_leaf and x.grad_fn is None and x.requires_grad and x.grad is None
    assert not y.is_leaf and y.requires_grad and y.grad_fn is not None
    z = torch.ones(2)
    assert z.is_leaf and not z.requires_grad
    assert (z + 1).is_leaf
    assert not y.detach().requires_grad and y.detach().is_leaf
    y.requires_grad_()
    with pytest.raises(RuntimeError):
        y.requires_grad_(False)
    with pytest.raises(RuntimeError):
        y.requires_grad = False
    x.requires_grad = False
    assert not (x * 2).requires_grad


def test_backward_accumulates_into_leaves() -> None:
    x = leaf(1, 2)
    for times in (1, 2, 3):
        (x * x).sum().backward()
        assert x.grad.tolist() == [2 * times, 4 * times]
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_backward_of_a_value_used_twice() -> None:
    x = leaf(2.0)
    y = x * x
    (y + y * y + y).backward()
    assert x.grad.tolist() == [2 * 2 * 2 + 4 * 8]


def test_grad_of_results_is_not_kept_and_reading_it_warns() -> None:
    x = leaf(1.0)
    y = x * 2
    y.backward()
    with pytest.warns(UserWarning, match="leaf"):
        assert y.grad is None


def test_retain_grad() -> None:
    x = leaf(1, 2)
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3, 3]
    x.retain_grad()
    assert not x.retains_grad
    with pytest.raises(RuntimeError):
        torch.ones(1).retain_grad()


def test_retained_grad_follows_in_place() -> None:
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.backward()
    assert y.grad.tolist() == [1] and x.grad.tolist() == [6]


def test_backward_needs_a_scalar_or_a_gradient() -> None:
    x = leaf(1, 2)
    with pytest.raises(RuntimeError, match="scalar"):
        (x * 2).backward()
    (x * 2).backward(torch.ones(2, dtype=torch.float64))
    (x * 2).backward(gradient=torch.ones(2, dtype=torch.float64))
    assert x.grad.tolist() == [4, 4]
    with pytest.raises(RuntimeError):
        (x * 2).backward(torch.ones(3, dtype=torch.float64))
    with pytest.raises(RuntimeError):
        torch.ones(1).backward()
    with pytest.raises(TypeError):
        (x * 2).backward("text")


def test_incoming_gradient_is_cast() -> None:
    x = leaf(1.0, 2.0, dtype=torch.float32)
    (x * 2).backward(torch.ones(2, dtype=torch.float64))
    assert x.grad.dtype == torch.float32


def test_second_backward_needs_retain_graph() -> None:
    x = leaf(1, 2)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4, 8]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    z = (x + 1).sum()  # saves nothing, so nothing was freed
    z.backward()
    z.backward()


def test_backward_frees_what_was_saved() -> None:
    x = torch.rand(1000, requires_grad=True)
    saved = x.exp()
    y = saved.sin().sum()
    gone = weakref.ref(saved)
    del saved
    y.backward()
    assert gone() is None


def test_create_graph() -> None:
    x = leaf(2.0)
    (x**3).backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    x.grad = None
    first.backward()
    assert x.grad.tolist() == [12]


def test_third_derivative() -> None:
    x = leaf(1.5)
    y = x.sin()
    for expected in (np.cos, lambda v: -np.sin(v), lambda v: -np.cos(v), np.sin):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        np.testing.assert_allclose(y.item(), expected(1.5))


def test_accumulation_under_create_graph_is_not_in_place() -> None:
    x = leaf(2.0)
    (x * x).backward(create_graph=True)
    first = x.grad
    (x * x).backward(create_graph=True)
    assert first.tolist() == [4] and x.grad.tolist() == [8] and x.grad is not first


def test_accumulation_without_create_graph_is_in_place() -> None:
    x = leaf(2.0)
    (x * x).backward()
    first = x.grad
    (x * x).backward()
    assert x.grad is first and first.tolist() == [8]


def test_gradients_are_stolen_only_from_a_single_owner() -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    (x + y).sum().backward()
    x.grad.add_(10)
    assert y.grad.tolist() == [1, 1]
    given = torch.ones(2, dtype=torch.float64)
    z = leaf(0, 0)
    (z * 1).backward(given)
    z.grad.add_(5)
    assert given.tolist() == [1, 1]


def test_a_gradient_nobody_else_holds_is_stolen() -> None:
    pointers = []

    class Probe(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            own = grad * 2
            pointers.append(own.data_ptr())
            return own

    x = torch.rand(100, requires_grad=True)
    Probe.apply(x).sum().backward()
    assert x.grad.data_ptr() == pointers[0]


def test_gradient_has_the_layout_of_its_leaf() -> None:
    x = torch.rand(3, 4).t().requires_grad_()
    assert not x.is_contiguous()
    (x * torch.rand(4, 3)).sum().backward()
    assert x.grad.stride() == x.stride()


def test_setting_grad() -> None:
    x = leaf(1, 2)
    x.grad = torch.ones(2, dtype=torch.float64)
    (x * 1).sum().backward()
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError):
        x.grad = torch.ones(3, dtype=torch.float64)
    with pytest.raises(RuntimeError):
        x.grad = torch.ones(2, dtype=torch.float32)
    with pytest.raises(RuntimeError):
        x.grad = x
    with pytest.raises(TypeError):
        x.grad = 1
    del x.grad
    assert x.grad is None


# -- autograd.grad --------------------------------------------------------------------------------------------------


def test_grad_does_not_touch_leaves() -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    gx, gy = torch.autograd.grad((x * y).sum(), [x, y])
    assert gx.tolist() == [3, 4] and gy.tolist() == [1, 2]
    assert x.grad is None and y.grad is None
    (gx,) = torch.autograd.grad((x * y).sum(), x)
    assert isinstance(torch.autograd.grad((x * y).sum(), x), tuple)


def test_grad_of_inner_results() -> None:
    x = leaf(2.0)
    y = x * x
    z = y * y
    gy, gx = torch.autograd.grad(z, [y, x])
    assert gy.tolist() == [8] and gx.tolist() == [32]
    z = y.exp() * 1
    (same,) = torch.autograd.grad(z, z)
    assert same.tolist() == [1]


def test_grad_of_unused_inputs() -> None:
    x, y = leaf(1.0), leaf(1.0)
    out = x * 2
    with pytest.raises(RuntimeError, match="unused|not have been used"):
        torch.autograd.grad(out, [x, y], retain_graph=True)
    gx, gy = torch.autograd.grad(out, [x, y], allow_unused=True, retain_graph=True)
    assert gx.tolist() == [2] and gy is None
    gx, gy = torch.autograd.grad(out, [x, y], materialize_grads=True, retain_graph=True)
    assert gy.tolist() == [0] and not gy.requires_grad
    with pytest.raises(ValueError):
        torch.autograd.grad(out, [x, y], allow_unused=False, materialize_grads=True)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(out, [torch.ones(1)])


def test_grad_outputs() -> None:
    x = leaf(1, 2)
    y, z = x * 2, (x * x).sum()
    weight = torch.tensor([1.0, 10.0], dtype=torch.float64)
    (g,) = torch.autograd.grad([y, z], x, [weight, None])
    assert g.tolist() == [2 + 2, 20 + 4]
    with pytest.raises(RuntimeError):
        torch.autograd.grad(x * 2, x)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(x * 2, x, torch.ones(5, dtype=torch.float64))
    w = weight.clone().requires_grad_()
    (g,) = torch.autograd.grad(x * 2, x, w, create_graph=True)
    g.sum().backward()
    assert w.grad.tolist() == [2, 2]


def test_backward_of_several_outputs() -> None:
    x = leaf(1, 2)
    torch.autograd.backward([x.sum(), x * x], [None, torch.ones(2, dtype=torch.float64)])
    assert x.grad.tolist() == [3, 5]


def test_backward_with_inputs() -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    inner = x * y
    inner.retain_grad()
    inner.sum().backward(inputs=[x])
    assert x.grad.tolist() == [3, 4] and y.grad is None
    (x * y).sum().backward(inputs=y)
    assert y.grad.tolist() == [1, 2] and x.grad.tolist() == [3, 4]
    with pytest.raises(RuntimeError):
        (x * y).sum().backward(inputs=[])


def test_only_what_leads_to_the_inputs_is_run() -> None:
    calls = []

    class Noted(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            calls.append(1)
            return grad

    x, y = leaf(1.0), leaf(1.0)
    torch.autograd.grad(Noted.apply(x) + y, y)
    assert not calls
    torch.autograd.grad(Noted.apply(x) + y, x)
    assert calls == [1]


# -- graph ----------------------------------------------------------------------------------------------------------


def test_graph_can_be_walked() -> None:
    x, y = leaf(1.0), leaf(2.0)
    z = x * y + x
    node = z.grad_fn
    assert node.name() == "AddBackward0" and type(node).__name__ == "AddBackward0"
    (product, index), (accumulator, _) = node.next_functions
    assert product.name() == "MulBackward0" and index == 0
    assert accumulator.name() == "torch::autograd::AccumulateGrad" or accumulator.name().endswith("AccumulateGrad")
    assert accumulator.variable is x
    assert [n.variable is v for (n, _), v in zip(product.next_functions, (x, y), strict=True)] == [True, True]
    assert product.next_functions[0][0] is accumulator
    constant = (x * 2).grad_fn.next_functions
    assert constant[-1] == (None, 0) or len(constant) == 1
    assert z.grad_fn is node
    assert isinstance(node.metadata, dict)


def test_outputs_of_one_node() -> None:
    x = leaf(3, 1, 2)
    values, indices = x.sort()
    a, b, c = x.unbind()
    assert a.grad_fn is not None and a.output_nr == 0 and c.output_nr == 2
    assert not indices.requires_grad
    (values[0] * 2 + a + c).backward()
    assert x.grad.tolist() == [1, 2, 1]


# -- modes ----------------------------------------------------------------------------------------------------------


def test_no_grad() -> None:
    x = leaf(1.0)
    with torch.no_grad():
        assert not torch.is_grad_enabled()
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad
        assert torch.ones(1, requires_grad=True).requires_grad
        x.add_(1)
    assert torch.is_grad_enabled() and x.tolist() == [2]
    with torch.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    assert torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    torch.set_grad_enabled(True)


def test_modes_survive_exceptions() -> None:
    with pytest.raises(KeyError), torch.no_grad():
        raise KeyError
    assert torch.is_grad_enabled()


def test_modes_as_decorators() -> None:
    x = leaf(1.0)

    @torch.no_grad()
    def plain() -> Any:
        """Doc."""
        return x * 2

    @torch.no_grad
    def bare() -> Any:
        return x * 2

    @torch.enable_grad()
    def on() -> Any:
        return x * 2

    @torch.set_grad_enabled(False)
    def off() -> Any:
        return x * 2

    assert torch.is_grad_enabled()
    assert not plain().requires_grad and plain.__name__ == "plain" and plain.__doc__ == "Doc."
    assert not bare().requires_grad and not off().requires_grad
    with torch.no_grad():
        assert on().requires_grad
    assert not plain().requires_grad  # may be called again


def test_modes_decorate_generators() -> None:
    """The mode holds while the generator runs, and only then."""
    seen = []

    @torch.no_grad()
    def produce() -> Any:
        try:
            seen.append(torch.is_grad_enabled())
            got = yield 1
            seen.append((torch.is_grad_enabled(), got))
            try:
                yield 2
            except ValueError:
                seen.append("caught")
                yield 3
        finally:
            seen.append(torch.is_grad_enabled())
        return 4

    generator = produce()
    assert next(generator) == 1 and torch.is_grad_enabled()
    assert generator.send("sent") == 2 and torch.is_grad_enabled()
    assert generator.throw(ValueError) == 3 and torch.is_grad_enabled()
    with pytest.raises(StopIteration) as stopped:
        next(generator)
    assert stopped.value.value == 4
    assert seen == [False, (False, "sent"), "caught", False] and torch.is_grad_enabled()


def test_modes_decorate_methods_and_classes_keep_working() -> None:
    class Model:
        @torch.no_grad()
        def step(self, x: Any) -> Any:
            return (x * 2).requires_grad

    assert Model().step(leaf(1.0)) is False


def test_inference_mode() -> None:
    x = leaf(1.0)
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        y = x * 2
        assert y.is_inference() and not y.requires_grad
        y.add_(1)
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()
    assert not x.is_inference()
    with pytest.raises(RuntimeError):
        y.requires_grad_()
    with pytest.raises(RuntimeError):
        (x * y).sum().backward()
    assert (x + y.clone()).requires_grad
    with torch.inference_mode(False):
        assert torch.is_grad_enabled()

    @torch.inference_mode()
    def decorated() -> bool:
        return (x * 2).is_inference()

    assert decorated()


def test_modes_are_of_one_thread() -> None:
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_backward_inside_no_grad() -> None:
    x = leaf(2.0)
    y = x * x
    with torch.no_grad():
        y.backward()
    assert x.grad.tolist() == [4]


# -- hooks ----------------------------------------------------------------------------------------------------------


def test_tensor_hooks() -> None:
    x = leaf(1.0)
    seen = []
    y = x * 2
    first = y.register_hook(lambda g: seen.append(("first", g.item())))
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: seen.append(("last", g.item())))
    (y * 3).backward()
    assert seen == [("first", 3), ("last", 30)]
    assert x.grad.tolist() == [60]
    first.remove()
    seen.clear()
    (x * 2).backward()
    assert seen == []


def test_hook_on_leaf_runs_before_accumulation() -> None:
    x = leaf(1.0)
    seen = []
    handle = x.register_hook(lambda g: seen.append((g.item(), x.grad)) or g * 2)
    (x * 3).backward()
    assert seen == [(3, None)] and x.grad.tolist() == [6]
    handle.remove()
    (x * 3).backward()
    assert x.grad.tolist() == [9] and len(seen) == 1


def test_hooks_run_for_autograd_grad() -> None:
    x = leaf(1.0)
    x.register_hook(lambda g: g * 2)
    (g,) = torch.autograd.grad(x * 3, x)
    assert g.tolist() == [6]


def test_hook_handles_as_context_managers() -> None:
    x = leaf(1.0)
    with x.register_hook(lambda g: g * 100):
        (x * 1).backward()
    (x * 1).backward()
    assert x.grad.tolist() == [101]


def test_bad_hooks() -> None:
    with pytest.raises(RuntimeError):
        torch.ones(1).register_hook(lambda g: g)
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: "text")
    with pytest.raises(TypeError):
        (x * 1).sum().backward()
    y = leaf(1.0, 2.0)
    y.register_hook(lambda g: g.sum())
    with pytest.raises(RuntimeError):
        (y * 1).sum().backward()


def test_exception_in_hook_is_raised_by_backward() -> None:
    x = leaf(1.0)

    def fail(grad: Any) -> None:
        raise KeyError("from the hook")

    x.register_hook(fail)
    with pytest.raises(KeyError, match="from the hook"):
        (x * 1).backward()


def test_hook_under_retain_grad_sees_order() -> None:
    x = leaf(1.0)
    y = x * 1
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    (y * 1).backward()
    assert y.grad.tolist() == [2]


def test_post_accumulate_hook() -> None:
    x = leaf(1.0)
    seen = []

    def step(parameter: Any) -> None:
        assert parameter is x
        seen.append(parameter.grad.item())
        parameter.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 3).backward()
    assert seen == [3] and x.grad is None
    handle.remove()
    (x * 3).backward()
    assert seen == [3] and x.grad.tolist() == [3]
    with pytest.raises(RuntimeError):
        (x * 2).register_post_accumulate_grad_hook(step)


def test_node_hooks() -> None:
    x = leaf(1.0)
    y = x * 2
    seen = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(("post", inputs[0].item(), outputs[0].item())))
    y.grad_fn.register_prehook(lambda outputs: seen.append(("pre", outputs[0].item())) or (outputs[0] * 10,))
    (y * 3).backward()
    assert seen == [("pre", 3), ("post", 60, 30)]
    assert x.grad.tolist() == [60]
    z = x * 2
    handle = z.grad_fn.register_hook(lambda inputs, outputs: tuple(i if i is None else i * 7 for i in inputs))
    z.backward(retain_graph=True)
    assert x.grad.tolist() == [74]
    handle.remove()
    z.backward()
    assert x.grad.tolist() == [76]


def test_node_called_by_hand() -> None:
    x = leaf(1, 2)
    y = x.exp()
    (g,) = y.grad_fn(torch.ones(2, dtype=torch.float64))
    assert torch.equal(g, y)
    assert y.grad_fn(None)[0].tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="expects 1 gradients, got 0"):
        y.grad_fn()
    with pytest.raises(RuntimeError, match=r"gradient of shape \(3,\)"):
        y.grad_fn(torch.ones(3, dtype=torch.float64))


def test_prehook_of_wrong_shape_is_refused() -> None:
    x = leaf(1, 2)
    y = x.softmax(0)
    y.grad_fn.register_prehook(lambda grads: (torch.ones(1, dtype=torch.float64),))
    with pytest.raises(RuntimeError, match=r"gradient of shape \(1,\)"):
        y.sum().backward()


def test_hook_survives_its_tensor() -> None:
    x = leaf(1.0)
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.item()))
    z = y * 3
    del y
    z.backward()
    assert seen == [3]


def test_hook_moves_along_with_in_place() -> None:
    """A hook stays with the value it was registered on; what is registered later sees the newer."""
    x = leaf(1.0)
    seen = []
    y = x * 1
    y.register_hook(lambda g: seen.append(("old", g.item())))
    y.mul_(2)
    y.register_hook(lambda g: seen.append(("new", g.item())))
    (y * 3).backward()
    assert seen == [("new", 3), ("old", 6)]


# -- refusals -------------------------------------------------------------------------------------------------------


def test_changed_saved_tensor_is_refused() -> None:
    x = leaf(1, 2)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace|modified in place|in-place"):
        y.sum().backward()
    a, b = leaf(1.0), torch.ones(1, dtype=torch.float64)
    product = a * b
    b.add_(1)
    with pytest.raises(RuntimeError):
        product.backward()
    c = a + b  # saves nothing
    b.add_(1)
    c.backward()
    d = (x * 2).sin()
    with torch.no_grad():
        x.add_(1)  # not what sin saved
    d.sum().backward()


def test_change_through_any_view_is_noticed() -> None:
    a = leaf(1, 2, 3)
    b = torch.ones(3, dtype=torch.float64)
    part = b[:1]
    product = a * b
    part.zero_()
    with pytest.raises(RuntimeError):
        product.sum().backward()
    b = torch.ones(3, dtype=torch.float64)
    product = a * b
    b.detach().zero_()
    with pytest.raises(RuntimeError):
        product.sum().backward()
    b = torch.ones(3, dtype=torch.float64)
    product = a * b
    b.data.zero_()  # what .data is for
    product.sum().backward()


def test_in_place_on_leaf_is_refused() -> None:
    x = leaf(1, 2)
    with pytest.raises(RuntimeError, match="leaf"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="leaf"):
        x[0] = 1
    with pytest.raises(RuntimeError, match="leaf"):
        x.view(2).mul_(2)
    with pytest.raises(RuntimeError):
        torch.add(x, 1, out=x)
    with torch.no_grad():
        x.add_(1)
        x[0] = 5
    x.detach().add_(1)
    assert x.tolist() == [6, 4]


@pytest.mark.parametrize("loss", ["cross_entropy", "nll_loss"])
@pytest.mark.parametrize("what", ["target", "weight"])
def test_changed_target_of_a_loss_is_refused(loss: str, what: str) -> None:
    x = torch.zeros(2, 3, requires_grad=True)
    target, weight = torch.tensor([0, 1]), torch.ones(3)
    y = getattr(torch.nn.functional, loss)(x, target, weight)
    (target if what == "target" else weight).mul_(10**6)
    with pytest.raises(RuntimeError, match="modified in place"):
        y.backward()


def test_target_changed_unseen_writes_nowhere() -> None:
    x = torch.zeros(2, 3, requires_grad=True)
    target = np.array([0, 1])
    y = torch.nn.functional.cross_entropy(x, torch.from_numpy(target))
    target[1] = 10**12
    y.backward()
    assert x.grad[0].tolist() != [0, 0, 0]


def test_nan_in_saved_output_of_failed_backward_does_not_poison() -> None:
    x = leaf(1.0)
    y = x.exp()
    with pytest.raises(RuntimeError):
        y.backward(torch.ones(3, dtype=torch.float64))
    y.backward()
    assert x.grad is not None
