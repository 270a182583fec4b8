"""What becomes of history, hooks, retained gradients and version counters when tensors change under them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from rushlight.nn import functional as F


def leaf(*shape: int) -> Any:
    return torch.ones(*shape, dtype=torch.float64).mul_(2).requires_grad_()


def table(cases: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


def without_grad(f: Callable, mode: Any = torch.no_grad) -> Any:
    with mode():
        return f()


# -- Views whose history is not known ---------------------------------------------------------------------------------


class Seen(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, g):
        return g.view(2, 2)


LOST_VIEWS = {
    "no_grad": lambda y: without_grad(lambda: y[0]),
    "no_grad, of a view": lambda y: without_grad(lambda: y.view(-1)[:2]),
    "view of one made under no_grad": lambda y: without_grad(lambda: y.t())[0],
    "inference_mode": lambda y: without_grad(lambda: y[0], torch.inference_mode),
    "split": lambda y: y.split(1)[0],
    "unbind": lambda y: y.unbind()[1],
    "unbind under no_grad": lambda y: without_grad(lambda: y.unbind()[1]),
    "view of a chunk": lambda y: y.chunk(2)[0].view(-1),
    "Function": Seen.apply,
}


@table(LOST_VIEWS)
def test_views_without_known_history_cannot_follow_their_base(case: Callable) -> None:
    y = leaf(2, 2) * 1
    view = case(y)
    assert view.requires_grad and view._is_view()
    y.mul_(2)
    with pytest.raises(RuntimeError):
        view.grad_fn  # noqa: B018
    with pytest.raises(RuntimeError):
        view * 2


@table(LOST_VIEWS)
def test_views_without_known_history_cannot_be_written(case: Callable) -> None:
    for write in [lambda v: v.mul_(2), lambda v: v.copy_(torch.zeros_like(v)), lambda v: v.fill_(0)]:
        view = case(leaf(2, 2) * 1)
        before = view.tolist()
        with pytest.raises(RuntimeError):
            write(view)
        assert view.tolist() == before and view._version == 0


def test_a_view_made_under_no_grad_of_a_constant_cannot_take_a_history() -> None:
    base = torch.zeros(2, dtype=torch.float64)
    view = without_grad(lambda: base[:1])
    view.add_(1)  # nothing is recorded
    with pytest.raises(RuntimeError):
        view.add_(leaf(1))
    assert base.tolist() == [1, 0]


# -- Inference mode ---------------------------------------------------------------------------------------------------


@table(
    {"view": lambda x: x.view(4), "slice": lambda x: x[1:], "expand": lambda x: x.expand(3, 2, 2), "t": lambda x: x.t()}
)
def test_views_of_inference_tensors_are_inference_tensors_and_know_no_base(case: Callable) -> None:
    x = without_grad(lambda: torch.ones(2, 2), torch.inference_mode)
    view = case(x)
    assert view.is_inference() and not view._is_view()
    for read in (lambda: view._version, lambda: view.add_(1), lambda: view.requires_grad_()):
        with pytest.raises(RuntimeError):
            read()


@table({"detach": lambda x: x.detach(), "data": lambda x: x.data})
def test_detached_inference_tensors_count_their_own_writes(case: Callable) -> None:
    x = without_grad(lambda: torch.ones(2), torch.inference_mode)
    d = case(x)
    d.add_(1)
    assert d.is_inference() and d._version == 1 and x.tolist() == [2, 2]
    with pytest.raises(RuntimeError):
        d[:1].add_(1)


# -- Leaves that change after they were used --------------------------------------------------------------------------


@table({"detach_": lambda x: x.detach_(), "requires_grad_(False)": lambda x: x.requires_grad_(False)})
def test_no_gradient_for_a_leaf_that_no_longer_requires_one(case: Callable) -> None:
    x, other = leaf(2), leaf(2)
    y = (x * other).sum()
    case(x)
    y.backward()
    assert x.grad is None and other.grad.tolist() == [2, 2]


def test_a_leaf_that_became_a_result_is_refused() -> None:
    x = leaf(2)
    y = (x + 1).sum()
    x.detach_().mul_(leaf(2))
    with pytest.raises(RuntimeError, match="became|become"):
        y.backward()


def test_a_saved_tensor_that_lost_its_history_is_refused() -> None:
    x = leaf(2) * 1
    y = x.exp() + x.sin()
    x.detach_()
    with pytest.raises(RuntimeError, match="detach_"):
        y.sum().backward()


def test_hooks_stay_with_a_detached_tensor_and_go_with_a_new_history() -> None:
    x = leaf(2) * 1
    x.register_hook(lambda g: g * 10)
    x.detach_().requires_grad_()
    x.sum().backward()
    assert x.grad.tolist() == [10, 10]
    y = leaf(2).detach_()
    y.requires_grad_().register_hook(lambda g: g * 10)
    y.detach_()
    source = leaf(2)
    y.copy_(source)
    y.sum().backward()
    assert source.grad.tolist() == [1, 1]


def test_new_data_keeps_the_version() -> None:
    x = torch.zeros(2).add_(1).add_(1)
    x.data = torch.ones(2)
    assert x._version == 2
    assert x.add_(1)._version == x[:1]._version == 3


# -- retain_grad ------------------------------------------------------------------------------------------------------


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


RETAINED_WRITES = {
    "itself": lambda y: (y, lambda: y.mul_(3)),
    "through a view": lambda y: (y, lambda: y[:1].mul_(3)),
    "through two views": lambda y: (y, lambda: y.view(2, 1)[:1].mul_(3)),
    "a view, itself": lambda y: ((v := y[:2]), lambda: v.mul_(3)),
    "a view, through its base": lambda y: (y[:2], lambda: y.mul_(3)),
    "a view, through a sibling": lambda y: (y[:2], lambda: y.view(2, 1).mul_(3)),
    "under no_grad": lambda y: (y[:2], lambda: without_grad(lambda: y.mul_(3))),
    "a Function": lambda y: (y, lambda: Doubled.apply(y)),
}


@table(RETAINED_WRITES)
def test_retain_grad_means_the_tensor_as_it_is_in_the_end(case: Callable) -> None:
    kept, write = case(leaf(2) * 1)
    kept.retain_grad()
    write()
    assert kept.retains_grad
    (kept * 5).sum().backward()
    assert kept.grad.tolist() == [5, 5]


def test_a_write_through_a_function_forgets_the_gradient() -> None:
    y = leaf(2) * 1
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    Doubled.apply(y)
    assert y.grad is None


# -- Running backward -------------------------------------------------------------------------------------------------


SECOND_BACKWARD = {  # whether a second one is refused: where something was saved, and through any write to a view
    "add": (lambda x: x + 1, False),
    "view": (lambda x: x.view(-1), False),
    "stack": (lambda x: torch.stack([x, x]), False),
    "mul": (lambda x: x * 2, True),
    "product": (lambda x: x * x, True),
    "exp": (lambda x: x.exp(), True),
    "mask": (lambda x: (y := x * 1).__setitem__(y > 0, 1.0) or y, True),
    "index_put": (lambda x: x.index_put((torch.tensor([0]),), torch.zeros((), dtype=x.dtype)), True),
    "row": (lambda x: (y := x * 1).__setitem__(0, 1.0) or y, True),
    "view written": (lambda x: (y := x * 1)[0].add_(1) is None or y, True),
}


@table(SECOND_BACKWARD)
def test_second_backward(case: tuple[Callable, bool]) -> None:
    f, refused = case
    x = leaf(2, 2)
    y = f(x).sum()
    y.backward()
    if refused:
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()
    else:
        y.backward()


def test_backward_writes_results_among_its_inputs_and_frees_them() -> None:
    x = leaf(2)
    y = x * x
    y.sum().backward(inputs=[y])
    assert y.retains_grad and y.grad.tolist() == [1, 1] and x.grad is None
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def test_grad_takes_an_input_without_place_in_the_graph_for_unused() -> None:
    y = leaf(2) * 1
    view = without_grad(lambda: y[:1])
    assert torch.autograd.grad(y.sum(), [view], allow_unused=True, retain_graph=True) == (None,)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(y.sum(), [view])


def test_a_bad_root_is_told_before_inputs_change() -> None:
    y = leaf(2) * 1
    with pytest.raises(RuntimeError):
        torch.ones(()).backward(inputs=[y])
    assert not y.retains_grad


def test_hooks_after_accumulation_must_return_nothing() -> None:
    x = leaf(2)
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad)
    with pytest.raises(RuntimeError, match="None"):
        x.sum().backward()


@table({"numerator": (True, False), "denominator": (False, True)})
def test_division_keeps_only_what_it_needs(case: tuple[bool, bool]) -> None:
    a, b = (torch.full((2,), 2.0, dtype=torch.float64, requires_grad=need) for need in case)
    numerator = a * 1
    y = numerator / b
    without_grad(lambda: numerator.add_(1))
    if case[0]:  # the derivative by the numerator does not ask for it
        y.sum().backward()
        assert a.grad.tolist() == [0.5, 0.5]
    else:
        with pytest.raises(RuntimeError):
            y.sum().backward()


# -- Shared memory ----------------------------------------------------------------------------------------------------


REFUSED_OVERLAPS = {
    "shifted": lambda x: x[1:].copy_(x[:-1]),
    "shifted product": lambda x: x[1:].mul_(x[:-1]),
    "first element": lambda x: x.sub_(x[0]),
    "last element": lambda x: x.mul_(x[3:]),
    "clamp": lambda x: x.clamp_(x[0]),
    "broadcast": lambda x: x.copy_(x[0]),
    "transposed": lambda x: (s := x.view(int(len(x) ** 0.5), -1)).copy_(s.t()),
    "assigned": lambda x: x.__setitem__(slice(1, None), x[:-1]),
    "out=": lambda x: torch.add(x[:2], x[1:3], out=x[:2]),
    "expanded": lambda x: x.expand(2, -1).add_(1),
    "expanded copy": lambda x: x.expand(2, -1).copy_(torch.ones(2, len(x))),
}


@table(REFUSED_OVERLAPS)
@pytest.mark.parametrize("n", [4, 4096])
def test_writes_over_shared_memory_are_refused(case: Callable, n: int) -> None:
    x = torch.arange(float(n)) + 1
    before = x.tolist()
    with pytest.raises(RuntimeError):
        case(x)
    assert x.tolist() == before


ALLOWED_OVERLAPS = {
    "itself": (lambda x: x.copy_(x), [1, 2, 3, 4]),
    "same view": (lambda x: x[:2].copy_(x[:2]), [1, 2, 3, 4]),
    "apart": (lambda x: x[:2].copy_(x[2:]), [3, 4, 3, 4]),
    "reversed copy": (lambda x: x.copy_(x.flip(0)), [4, 3, 2, 1]),
    "own element": (lambda x: x.fill_(x[1]), [2, 2, 2, 2]),
    "masked by own element": (lambda x: x.masked_fill_(x > 2, x[0]), [1, 2, 1, 1]),
    "expanded onto itself": (lambda x: x.expand(2, 4).copy_(x.expand(2, 4)), [1, 2, 3, 4]),
    "expanded fill": (lambda x: x.expand(2, 4).fill_(7), [7, 7, 7, 7]),
    "expanded zero": (lambda x: x.expand(2, 4).zero_(), [0, 0, 0, 0]),
    "expanded mask": (lambda x: (e := x.expand(2, 4)).__setitem__(e > 2, 0.0), [1, 2, 0, 0]),
    "expanded row of a mask": (
        lambda x: x.expand(2, 4).masked_fill_(
            torch.tensor([[True, False, False, False], [False, True, False, False]]), 9
        ),
        [9, 9, 3, 4],
    ),
    "expanded index": (lambda x: x.expand(2, 4).__setitem__(torch.tensor([1]), 5.0), [5, 5, 5, 5]),
    "expanded index_fill": (lambda x: x.expand(2, 4).index_fill_(1, torch.tensor([1]), 8), [1, 8, 3, 4]),
}


@table(ALLOWED_OVERLAPS)
def test_writes_over_shared_memory_that_are_well_defined(case: tuple[Callable, list]) -> None:
    write, expected = case
    x = torch.arange(4.0) + 1
    write(x)
    assert x.tolist() == expected


# -- Shapes changed in place, indices, Functions ----------------------------------------------------------------------


IN_PLACE_VIEWS = {
    "t_": (lambda v: v.t_(), "TBackward1"),
    "transpose_": (lambda v: v.transpose_(0, 1), "TransposeBackward1"),
    "unsqueeze_": (lambda v: v.unsqueeze_(0), "UnsqueezeBackward1"),
    "squeeze_": (lambda v: v.squeeze_(), "SqueezeBackward3"),
    "squeeze_(dim)": (lambda v: v.squeeze_(0), "SqueezeBackward4"),
}


@table(IN_PLACE_VIEWS)
@pytest.mark.parametrize("of_view", [False, True])
def test_in_place_views_have_nodes_of_their_own(case: tuple[Callable, str], of_view: bool) -> None:
    change, name = case
    x = leaf(2, 3)
    base = x * 1
    y = base[:1] if of_view else base
    change(y)
    assert y.grad_fn.name() == name and y.is_contiguous() in (True, False)
    assert (y.grad_fn.next_functions[0][0].name() == "SliceBackward0") == of_view
    base.mul_(3)  # a view follows, in its new shape
    y.sum().backward()
    assert x.grad.tolist() == ([[3] * 3, [0] * 3] if of_view else [[3] * 3] * 2)


def test_an_index_out_of_bounds_is_told_before_a_lost_history() -> None:
    y = leaf(2) * 1
    view = without_grad(lambda: y.view(1, 2))
    y.mul_(2)
    with pytest.raises(IndexError):
        view[1] = 0.0


def test_reshape_of_what_is_not_contiguous_names_its_node() -> None:
    y = leaf(2, 2) * 1
    assert y.reshape(-1).grad_fn.name() == "ViewBackward0"
    assert y.diagonal().reshape(-1).grad_fn.name() == "ReshapeAliasBackward0"


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g


@pytest.mark.parametrize("needs", [False, True])
def test_functions_give_views_away(needs: bool) -> None:
    x = torch.ones(2, 2, dtype=torch.float64, requires_grad=needs)
    for f in (Same, Seen):
        y = f.apply(x)
        assert y is not x and y._is_view() and y._base is x and y.requires_grad == needs
    z = x * 1
    assert Doubled.apply(z) is z and z._version == 2 and z.requires_grad == needs


def test_a_function_runs_though_no_gradient_came() -> None:
    seen = []

    class Zeros(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(g.tolist())
            return g

    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, None

    x, other = leaf(2), leaf(2)
    Stop.apply(x, Zeros.apply(other)).sum().backward()
    assert seen == [[0, 0]] and other.grad.tolist() == [0, 0]


ARGUMENTS_OF_BACKWARD = {  # what the derivative by x reads beside x
    "gather": lambda x, i, m, w: (x.gather(1, i), i),
    "scatter_add": lambda x, i, m, w: (torch.zeros(3, 4).scatter_add(1, i, x), i),
    "index_select": lambda x, i, m, w: (x.index_select(1, i[0]), i),
    "x[i]": lambda x, i, m, w: (x[i[:, 0]], i),
    "x[m]": lambda x, i, m, w: (x[m], m),
    "x[m] by rows": lambda x, i, m, w: (x[m[:, 0]], m),
    "x[i.int()]": lambda x, i, m, w: (lambda j: (x[j], j))(i[0, :2].int()),
    "z[i] = x": lambda x, i, m, w: (torch.zeros(3, 4).index_put((i[:, 0],), x), i),
    "embedding": lambda x, i, m, w: (F.embedding(i, x), i),
    "masked_fill": lambda x, i, m, w: (x.masked_fill(m, 0), m),
    "where": lambda x, i, m, w: (torch.where(m, x, 0), m),
    "nll_loss target": lambda x, i, m, w: (F.nll_loss(x, i[:, 0]), i),
    "nll_loss weight": lambda x, i, m, w: (F.nll_loss(x, i[:, 0], weight=w), w),
    "cross_entropy target": lambda x, i, m, w: (F.cross_entropy(x, i[:, 0]), i),
    "cross_entropy weight": lambda x, i, m, w: (F.cross_entropy(x, i[:, 0], weight=w), w),
    "mse_loss": lambda x, i, m, w: (F.mse_loss(x, w.expand(3, 4)), w),
    "layer_norm": lambda x, i, m, w: (F.layer_norm(x, (4,), w), w),
    "batch_norm": lambda x, i, m, w: (F.batch_norm(x, None, None, w, training=True), w),
    "linear": lambda x, i, m, w: (F.linear(x, w[None]), w),
    "mul": lambda x, i, m, w: (x * w, w),
}


@table(ARGUMENTS_OF_BACKWARD)
@pytest.mark.parametrize("second", [False, True])
def test_what_backward_reads_must_not_change(case: Callable, second: bool) -> None:
    x = torch.randn(3, 4, requires_grad=True)
    i, m, w = torch.zeros(3, 4, dtype=torch.int64), torch.ones(3, 4, dtype=torch.bool), torch.ones(4)
    y, changed = case(x, i, m, w)
    y.sum().backward(retain_graph=True)
    changed.zero_()
    with pytest.raises(RuntimeError, match="modified in place"):
        if second:
            torch.autograd.grad(y.sum(), x, create_graph=True)
        else:
            y.sum().backward()
