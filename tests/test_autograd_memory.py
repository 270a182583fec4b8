"""What autograd holds and lets go: identity, cycles, depth, copies, threads, processes."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import rushlight as torch


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


# -- deep and wide graphs -------------------------------------------------------------------------------------------


def test_deep_graph() -> None:
    """A million nodes run backward and are freed without recursion."""
    x = torch.ones((), requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1
    del y
    y = x
    for _ in range(1_000_000):
        y = y * 1
    del y  # without having run


def test_deep_graph_of_views_and_saved_tensors() -> None:
    x = torch.ones(4, requires_grad=True)
    y = x
    for _ in range(50_000):
        y = y.view(2, 2).view(4).sin()
    del y
    gc.collect()


def test_wide_graph_runs_in_time() -> None:
    """Each node runs once, though the number of paths doubles at each step."""
    x = torch.ones((), dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(60):
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**60


def test_deep_graph_of_functions() -> None:
    class Plus(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x + 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    x = torch.ones((), requires_grad=True)
    y = x
    for _ in range(20_000):
        y = Plus.apply(y)
    y.backward()
    assert x.grad.item() == 1
    del y
    gc.collect()


# -- identity, copies, memory ---------------------------------------------------------------------------------------


def test_identity() -> None:
    x = leaf(1.0)
    (x * 1).backward()
    assert x.grad is x.grad
    x.grad.note = "kept"
    gc.collect()
    assert x.grad.note == "kept"
    node = (x * 1).grad_fn
    assert node.next_functions[0][0].variable is x


def test_attributes_survive_while_only_the_graph_holds_the_tensor() -> None:
    class Mine(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Mine).requires_grad_()
    x.note = {"a": 1}
    y = x * 1
    del x
    gc.collect()
    node = y.grad_fn
    while not hasattr(node, "variable"):
        node = node.next_functions[0][0]
    held = node.variable
    assert type(held) is Mine and held.note == {"a": 1}


@pytest.mark.parametrize("on", ["leaf", "result"])
def test_cycle_through_hook_is_collected(on: str) -> None:
    class Big:
        pass

    big = Big()
    gone = weakref.ref(big)
    x = leaf(1.0)
    y = x if on == "leaf" else x * 2
    y.register_hook(lambda g, y=y, big=big: g)
    del x, y, big
    gc.collect()
    assert gone() is None


class Last:
    """A hook that does something when it is freed."""

    def __init__(self, act: Any) -> None:
        self.act = act

    def __call__(self, grad: Any) -> None:
        pass

    def __del__(self) -> None:
        self.act()


def test_leaf_used_while_its_graph_is_freed() -> None:
    x, w = leaf(1.0), leaf(1.0)
    made: list[Any] = []
    t = w * 2
    t.register_hook(Last(lambda: made.append(x * 3)))
    y = t * x
    del t, y
    gc.collect()
    made[0].sum().backward()
    (x * 4).sum().backward()
    assert x.grad.tolist() == [7]


def test_dying_tensor_is_not_found_by_weak_reference() -> None:
    x = leaf(1.0)
    x.note = "kept with its object"
    found: list[Any] = []
    reference = weakref.ref(x)
    x.register_hook(Last(lambda: found.append(reference())))
    y = x * 3
    del x
    assert reference() is not None
    del y
    assert found == [None]


def test_cycle_through_ctx_is_collected() -> None:
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, box: list) -> Any:
            ctx.box = box
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2, None

    class Big:
        pass

    box: list[Any] = [Big()]
    gone = weakref.ref(box[0])
    y = Keeps.apply(leaf(1.0), box)
    box.append(y)
    del y, box
    gc.collect()
    assert gone() is None


def test_cycle_through_attribute_is_collected() -> None:
    x = torch.ones(2)
    x.itself = x
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None


def test_tensors_are_freed_at_once_without_cycles() -> None:
    gc.disable()
    try:
        x = leaf(1.0)
        y = x.exp()  # saves its own output
        gone = weakref.ref(y)
        del y
        assert gone() is None
        z = x.tanh().sum()
        z.backward()
        gone = weakref.ref(x)
        del x, z
        assert gone() is None
    finally:
        gc.enable()


def test_memory_is_steady() -> None:
    resource = pytest.importorskip("resource")
    x = torch.rand(64, 64, requires_grad=True)
    w = torch.rand(64, 64, requires_grad=True)

    def steps(count: int) -> int:
        for _ in range(count):
            ((x @ w).relu() * 2).sum().backward()
            x.grad = w.grad = None
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = steps(100)
    after = steps(2000)
    assert after - before < 4096, f"grew by {after - before} KiB"


def test_detach_shares_memory_and_version() -> None:
    x = torch.ones(2)
    d = x.detach()
    assert d.data_ptr() == x.data_ptr() and d._version == x._version
    d.add_(1)
    assert x.tolist() == [2, 2] and x._version == d._version == 1
    y = x.data
    y.add_(1)
    assert x.tolist() == [3, 3] and x._version == 1 and y._version == 1
    z = leaf(1.0) * 1
    z.detach_()
    assert not z.requires_grad and z.is_leaf


def test_setting_data() -> None:
    x = leaf(1.0)
    other = torch.tensor([5.0, 6.0], dtype=torch.float64)
    x.data = other
    assert x.tolist() == [5, 6] and x.data_ptr() == other.data_ptr() and x.requires_grad
    with pytest.raises((RuntimeError, TypeError)):
        x.data = 3


def test_data_cannot_be_deleted() -> None:
    x = leaf(1.0)
    with pytest.raises(TypeError, match="cannot be deleted"):
        del x.data


def test_gradient_in_memory_of_numpy_is_copied() -> None:
    array = np.ones(2)

    class Borrow(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return torch.from_numpy(array)

    x = leaf(1.0, 2.0)
    Borrow.apply(x).sum().backward()
    x.grad.add_(5)
    assert array.tolist() == [1, 1]
    (Borrow.apply(x) + x * 0).sum().backward()
    assert array.tolist() == [1, 1]


def test_deepcopy_and_pickle() -> None:
    x = leaf(1.0)
    (x * 3).backward()
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert twin.tolist() == x.tolist() and twin.requires_grad and twin.is_leaf
        assert twin.data_ptr() != x.data_ptr()
    assert copy.deepcopy(x).grad.tolist() == [3]
    with pytest.raises(RuntimeError):
        copy.deepcopy(x * 2)
    shared = torch.ones(4)
    a, b = copy.deepcopy([shared, shared[:2]])
    a.zero_()
    assert b.tolist() == [0, 0]
    memo = copy.deepcopy({"x": x, "again": x})
    assert memo["x"] is memo["again"]
    assert copy.copy(x).data_ptr() == x.data_ptr()


# -- threads and processes ------------------------------------------------------------------------------------------


def test_backward_in_many_threads() -> None:
    """Graphs of their own, and one leaf that all share."""
    shared = torch.zeros(1000, dtype=torch.float64, requires_grad=True)
    failures = []

    def work() -> None:
        try:
            for _ in range(20):
                own = torch.ones(1000, dtype=torch.float64, requires_grad=True)
                (own * own + shared).sum().backward()
                assert (own.grad == 2).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert (shared.grad == 80).all()


def test_backward_calls_backward() -> None:
    """As checkpointing does."""

    class Recompute(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.detach().exp()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                again = x.detach().requires_grad_()
                again.exp().backward(grad)
            return again.grad

    x = leaf(0.5)
    y = x
    for _ in range(3):
        y = Recompute.apply(y)
    y.backward()
    e = np.exp
    np.testing.assert_allclose(x.grad.item(), e(0.5) * e(e(0.5)) * e(e(e(0.5))))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_after_threads_computed() -> None:
    x = torch.rand(300, 300, requires_grad=True)
    (x @ x).exp().sum().backward()  # threads and backward have run
    child = os.fork()
    if not child:
        try:
            y = torch.rand(300, 300, requires_grad=True)
            (y @ y).exp().sum().backward()
            os._exit(0 if y.grad.shape == (300, 300) else 1)
        except BaseException:
            os._exit(2)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        threading.Event().wait(0.05)
    os.kill(child, 9)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")
