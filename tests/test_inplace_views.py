"""In-place operations, views, and what they do to graphs and version counters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as torch


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


def result(*values: float) -> tuple[Any, Any]:
    """A leaf and a result that may be written to."""
    x = leaf(*values)
    return x, x * 1


# -- views ----------------------------------------------------------------------------------------------------------

VIEWS: dict[str, Callable[[Any], Any]] = {
    "view": lambda x: x.view(2, 3),
    "reshape": lambda x: x.reshape(3, 2),
    "slice": lambda x: x[1:4],
    "step": lambda x: x[::2],
    "select": lambda x: x[2],
    "narrow": lambda x: x.narrow(0, 1, 3),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": lambda x: x.view(1, 6).squeeze(0),
    "transpose": lambda x: x.view(2, 3).t(),
    "permute": lambda x: x.view(1, 2, 3).permute(2, 0, 1),
    "diagonal": lambda x: x.view(2, 3).diagonal(),
    "unfold": lambda x: x.unfold(0, 2, 2),
    "as_strided": lambda x: x.as_strided((2, 2), (3, 1), 1),
    "view_as": lambda x: x.view_as(torch.ones(3, 2)),
    "unflatten": lambda x: x.unflatten(0, (3, 2)),
    "movedim": lambda x: x.view(2, 3).movedim(0, 1),
    "of a view": lambda x: x.view(2, 3)[1].view(3, 1)[1:],
    "newaxis": lambda x: x[None, :, None],
}
each_view = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)


@each_view
def test_views_know_their_base(view: Callable) -> None:
    x = torch.arange(6.0)
    v = view(x)
    assert v._is_view() and v._base is x and not x._is_view() and x._base is None
    assert v.data_ptr() >= x.data_ptr()
    assert v.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


@each_view
def test_version_is_shared(view: Callable) -> None:
    x = torch.arange(6.0)
    v = view(x)
    assert x._version == v._version == 0
    v.add_(1)
    assert x._version == v._version == 1
    x.mul_(2)
    view(x).zero_()
    assert x._version == v._version == 3


def expected_gradient(view: Callable, write: Callable, read: Callable) -> tuple[list, list]:
    """By finite differences, without any graph."""
    rng = np.random.default_rng(0)
    start, weight = rng.uniform(1, 2, 6), torch.from_numpy(rng.uniform(1, 2, 6))

    def run(values: np.ndarray) -> float:
        x = torch.from_numpy(values.copy())
        v = view(x)
        write(v)
        return (read(x) * weight).sum().item()

    numerical = []
    for i in range(6):
        step = np.zeros(6)
        step[i] = 1e-6
        numerical.append((run(start + step) - run(start - step)) / 2e-6)
    leaf_ = torch.from_numpy(start.copy()).requires_grad_()
    y = leaf_ * 1
    write(view(y))
    (read(y) * weight).sum().backward()
    return leaf_.grad.tolist(), numerical


WRITES: dict[str, Callable[[Any], Any]] = {
    "mul_": lambda v: v.mul_(3),
    "exp_": lambda v: v.exp_(),
    "fill_": lambda v: v.fill_(2.0),
    "zero_": lambda v: v.zero_(),
    "copy_": lambda v: v.copy_(torch.full_like(v, 0.5)),
    "square": lambda v: v.mul_(v.clone()),
    "setitem": lambda v: v.__setitem__(..., 4.0),
    "twice": lambda v: v.mul_(2).sin_(),
    "add_of_itself": lambda v: v.add_(v.detach() * 0 + 1),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@each_view
def test_writing_to_a_view_reaches_the_base_and_its_gradient(view: Callable, write: Callable) -> None:
    analytical, numerical = expected_gradient(view, write, lambda y: y * y)
    np.testing.assert_allclose(analytical, numerical, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@each_view
def test_writing_to_the_base_reaches_its_views(view: Callable, write: Callable) -> None:
    x, y = result(1, 2, 3, 4, 5, 6)
    v = view(y)
    before = v.grad_fn
    write(y)
    assert v.grad_fn is not before
    twin_x, twin = result(1, 2, 3, 4, 5, 6)
    write(twin)
    same = view(twin)
    assert v.tolist() == same.tolist()
    (v * v).sum().backward()
    (same * same).sum().backward()
    assert x.grad.tolist() == twin_x.grad.tolist()


def test_view_made_before_base_needed_grad() -> None:
    base = torch.zeros(4, dtype=torch.float64)
    v = base[:2]
    x = leaf(3.0)
    base.mul_(x)
    base.add_(x)
    assert v.requires_grad and v.grad_fn is not None
    v.sum().backward()
    assert x.grad.tolist() == [2]


def test_writing_a_result_into_a_constant() -> None:
    base = torch.zeros(4, dtype=torch.float64)
    v, w = base[:2], base[1:]
    x = leaf(3.0, 5.0)
    v.copy_(x)
    assert base.requires_grad and w.requires_grad and not base.is_leaf
    (w * torch.tensor([10.0, 1, 1], dtype=torch.float64)).sum().backward()
    assert x.grad.tolist() == [0, 10]


def test_grad_fn_names_after_writing_to_a_view() -> None:
    _, y = result(1, 2, 3)
    v = y[:2]
    v.mul_(2)
    assert type(y.grad_fn).__name__ == "CopySlices"
    assert v.grad_fn.name() in ("AsStridedBackward0", "SliceBackward0")
    _, z = result(1, 2)
    z.mul_(2)
    assert z.grad_fn.name() == "MulBackward0"


def test_writes_that_overlap_in_turn() -> None:
    x, y = result(1, 2, 3, 4)
    y[:3].mul_(2)
    y[1:].mul_(3)
    y[0] = y[3]
    y.sum().backward()
    assert x.grad.tolist() == [0, 6, 6, 6]


def test_swap_through_views() -> None:
    x, y = result(1, 2)
    a, b = y[0], y[1]
    old = a.clone()
    a.copy_(b)
    b.copy_(old)
    assert y.tolist() == [2, 1]
    (y * torch.tensor([1.0, 10.0], dtype=torch.float64)).sum().backward()
    assert x.grad.tolist() == [10, 1]


def test_write_to_a_view_then_second_derivative() -> None:
    x, y = result(1, 2, 3)
    y[1:].mul_(y[1:].clone())
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    g.sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), [2, 12 * 4, 12 * 9])


def test_written_view_of_a_detached_base_does_not_record() -> None:
    x, y = result(1, 2)
    y.detach()[0] = 5
    assert y.tolist() == [5, 2] and y.grad_fn.name() == "MulBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_views_made_without_gradient() -> None:
    x, y = result(1, 2)
    with torch.no_grad():
        v = y[:1]
    with pytest.raises(RuntimeError):
        v.mul_(2)
    with torch.no_grad():
        v.mul_(2)
    assert y.tolist() == [2, 2]


def test_leaf_views_are_refused() -> None:
    x = leaf(1, 2)
    for view in (x[:1], x.view(2, 1), x.t()):
        with pytest.raises(RuntimeError, match="leaf"):
            view.add_(1)


MULTI: dict[str, Callable[[Any], Any]] = {
    "split": lambda x: x.split(1),
    "chunk": lambda x: x.chunk(2),
    "unbind": lambda x: x.unbind(),
    "split sizes": lambda x: x.split([1, 1]),
}


@pytest.mark.parametrize("multi", MULTI.values(), ids=MULTI)
def test_in_place_on_one_of_several_views(multi: Callable) -> None:
    _, y = result(1, 2)
    parts = multi(y)
    with pytest.raises(RuntimeError, match="view"):
        parts[0].mul_(2)
    fine = torch.tensor([1.0, 2.0])
    multi(fine)[0].mul_(5)
    assert fine.tolist() == [5, 2]
    x, y = result(1, 2)
    part = multi(y)[0]
    with torch.no_grad():
        part.mul_(2)  # may be done, but is not recorded
    assert y.tolist() == [2, 2]


@pytest.mark.parametrize("multi", MULTI.values(), ids=MULTI)
def test_reading_several_views_after_base_was_written(multi: Callable) -> None:
    x, y = result(1, 2)
    parts = multi(y)
    y.mul_(3)
    with pytest.raises(RuntimeError, match="view"):
        parts[1].sum().backward()


# -- versions and saved tensors --------------------------------------------------------------------------------------


def test_versions_count() -> None:
    x = torch.zeros(3)
    for count, write in enumerate(
        [
            lambda: x.add_(1),
            lambda: x.__setitem__(0, 2),
            lambda: torch.add(x, 1, out=x),
            lambda: x.copy_(torch.ones(3)),
            lambda: x.zero_(),
            lambda: x.uniform_(),
            lambda: x.view(3, 1).fill_(2),
            lambda: x.masked_fill_(x > 0, 1.0),
            lambda: x.unsqueeze_(0).squeeze_(0),
        ]
    ):
        before = x._version
        write()
        assert x._version > before, count
    before = x._version
    _ = x + 1, x.view(3, 1), x.clone(), x.tolist(), x[0]
    assert x._version == before


def test_clone_and_operations_have_their_own_version() -> None:
    x = torch.zeros(2)
    y, z = x.clone(), x + 1
    x.add_(1)
    assert y._version == z._version == 0


def test_saved_tensor_changed_through_a_view_of_a_view() -> None:
    x, y = result(1, 2, 3, 4)
    z = y.sin()
    y.view(2, 2)[1].add_(1)
    with pytest.raises(RuntimeError):
        z.sum().backward()


def test_saved_output_changed() -> None:
    for name in ("exp", "sqrt", "tanh", "sigmoid", "relu"):
        _, y = result(1, 2)
        z = getattr(y, name)()
        z.add_(1)
        with pytest.raises(RuntimeError, match="modified|in-place|in place"):
            z.sum().backward()


def test_in_place_saves_what_it_needs() -> None:
    """An in-place operation whose derivative needs its result keeps it; needing its input, it could not."""
    for name in ("exp_", "sqrt_", "tanh_", "sigmoid_", "relu_", "rsqrt_"):
        x, y = result(1, 2)
        getattr(y, name)()
        y.sum().backward()
        twin = leaf(1, 2)
        getattr(twin, name[:-1])().sum().backward()
        np.testing.assert_allclose(x.grad.tolist(), twin.grad.tolist())


def test_in_place_with_itself() -> None:
    x, y = result(2, 3)
    y.mul_(y.detach())
    with pytest.raises(RuntimeError):
        y.sum().backward()  # what it saved is what it wrote to
    x, y = result(2, 3)
    y.mul_(y.clone())
    y.sum().backward()
    assert x.grad.tolist() == [4, 6]
    x, y = result(2, 3)
    y.add_(y)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_in_place_broadcasts_its_argument_only() -> None:
    x, b = result(1, 2), leaf(3.0)
    x[1].mul_(b)
    x[1].sum().backward()
    assert b.grad.tolist() == [3] and x[0].grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError):
        torch.ones(1).add_(torch.ones(2))
    with pytest.raises(RuntimeError):
        torch.ones(2, dtype=torch.int64).add_(1.5)
    with pytest.raises(RuntimeError):
        torch.ones(2, dtype=torch.bool).add_(1)
    assert torch.ones(2).add_(1).dtype == torch.float32
    assert torch.ones(2, dtype=torch.uint8).mul_(torch.ones(2, dtype=torch.int64)).dtype == torch.uint8


def test_in_place_chains_return_the_tensor() -> None:
    x = torch.ones(2)
    assert x.add_(1).mul_(3).sub_(1) is x and x.tolist() == [5, 5]
    y = x
    y += 1
    y *= 2
    y -= 2
    y /= 2
    y **= 2
    assert y is x and x.tolist() == [25, 25]
    i = torch.tensor([7, 8])
    j = i
    j //= 2
    j &= 5
    j |= 2
    j ^= 1
    j <<= 2
    j >>= 1
    assert j is i


def test_requires_grad_of_a_view_of_a_constant() -> None:
    base = torch.zeros(3)
    v = base[:2].requires_grad_()
    assert v.is_leaf and v.requires_grad and not base.requires_grad
    (v * 2).sum().backward()
    assert v.grad.tolist() == [2, 2]


def test_detach_in_place_of_a_view_is_refused() -> None:
    _, y = result(1, 2)
    with pytest.raises(RuntimeError):
        y[:1].detach_()


def test_shape_changing_in_place() -> None:
    x, y = result(1, 2, 3, 4)
    y.unsqueeze_(0)
    assert y.shape == (1, 4)
    y.t_()
    assert y.shape == (4, 1)
    y.squeeze_()
    y.mul_(torch.tensor([1.0, 2, 3, 4], dtype=torch.float64))
    y.sum().backward()
    assert x.grad.tolist() == [1, 2, 3, 4]


def test_out_of_a_view() -> None:
    base = torch.zeros(4)
    torch.add(torch.ones(2), 1, out=base[:2])
    assert base.tolist() == [2, 2, 0, 0]
    torch.mul(torch.ones(2), 3, out=base[::2])
    assert base.tolist() == [3, 2, 3, 0]


def test_set_and_resize() -> None:
    x = torch.arange(6.0)
    x.resize_(2, 2)
    assert x.tolist() == [[0, 1], [2, 3]]
    x.resize_(2, 3)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(RuntimeError):
        leaf(1.0).resize_(3)
    y = torch.ones(2)
    y.set_(torch.zeros(3))
    assert y.tolist() == [0, 0, 0]


def test_as_strided_gradient_of_overlapping_windows() -> None:
    x = leaf(1, 2, 3, 4)
    x.as_strided((3, 2), (1, 1)).sum().backward()
    assert x.grad.tolist() == [1, 2, 2, 1]
    y = leaf(1, 2, 3, 4)
    (y * 1).view(2, 2).t().as_strided((2,), (3,)).sum().backward()
    assert y.grad.tolist() == [1, 0, 0, 1]


def test_expand_gradient() -> None:
    x = leaf(1, 2)
    y = x.expand(3, 2)
    (y * torch.tensor([[1.0], [2], [3]], dtype=torch.float64)).sum().backward()
    assert x.grad.tolist() == [6, 6]
    with pytest.raises(RuntimeError):
        torch.ones(2).expand(3, 2).add_(1)
    with pytest.raises(RuntimeError):
        torch.ones(2).expand(3, 2).copy_(torch.ones(3, 2))


def test_view_refused_where_strides_do_not_allow() -> None:
    x = torch.arange(6.0).view(2, 3).t()
    with pytest.raises(RuntimeError, match="view"):
        x.view(6)
    assert x.reshape(6).tolist() == [0, 3, 1, 4, 2, 5]
    assert x.view(3, 2, 1).shape == (3, 2, 1)
    assert torch.ones(2, 3)[:, :2].view(2, 2, 1).shape == (2, 2, 1)


def test_data_dependent_writes() -> None:
    x, y = result(-1, 2, -3)
    y[y < 0] = 0
    (y * y).sum().backward()
    assert x.grad.tolist() == [0, 4, 0]
    x, y = result(-1, 2, -3)
    y[y < 0] *= 2
    y.sum().backward()
    assert x.grad.tolist() == [2, 1, 2]
