"""Several Python threads at once: long operations run without the interpreter's lock, so that they truly overlap.

Values are compared with those of one thread; under the thread sanitizer (see CONTRIBUTING) races are found as well.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
import rushlight.nn.functional as F

THREADS = 4
LARGE = 150_000  # elements: more than are worth keeping the lock for

a = torch.linspace(-3, 3, LARGE).reshape(300, 500)
b = torch.linspace(0.5, 2, LARGE).reshape(300, 500)
images = torch.linspace(-1, 1, 2 * 4 * 140 * 140).reshape(2, 4, 140, 140)
kernel = torch.linspace(-1, 1, 8 * 4 * 3 * 3).reshape(8, 4, 3, 3)
places = torch.arange(LARGE).reshape(300, 500).flip(1) % 300

OPERATIONS: dict[str, Callable[[], Any]] = {
    "add": lambda: a + b,
    "add with broadcast": lambda: a + b[0],
    "exp of a transpose": lambda: a.t().exp(),
    "cast": lambda: a.to(torch.bfloat16),
    "sum": lambda: a.sum(),
    "sum over rows": lambda: a.sum(0),
    "argmax": lambda: a.argmax(1),
    "cumsum": lambda: a.cumsum(1),
    "sort": lambda: a.sort(1, descending=True).values,
    "matmul": lambda: a @ b.t(),
    "softmax": lambda: F.softmax(a, 1),
    "layer_norm": lambda: F.layer_norm(a, (500,)),
    "conv2d": lambda: F.conv2d(images, kernel),
    "max_pool2d": lambda: F.max_pool2d(images, 2),
    "cat": lambda: torch.cat([a, b]),
    "gather": lambda: a.gather(0, places),
    "scatter_add": lambda: torch.zeros(300, 500).scatter_add(0, places, b),
    "cross_entropy": lambda: F.cross_entropy(a, places[:, 0]),
    "tril": lambda: a.tril(),
}


def together(work: Callable[[int], None], threads: int = THREADS) -> None:
    """Calls work(0), work(1)... in a thread each, from the same moment on."""
    failures: list[BaseException] = []
    start = threading.Barrier(threads)

    def run(i: int) -> None:
        try:
            start.wait()
            work(i)
        except BaseException as error:
            failures.append(error)

    made = [threading.Thread(target=run, args=(i,)) for i in range(threads)]
    for thread in made:
        thread.start()
    for thread in made:
        thread.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_in_many_threads(name: str) -> None:
    operation = OPERATIONS[name]
    expected = operation()

    def work(i: int) -> None:
        for _ in range(5):
            assert torch.equal(operation(), expected)

    together(work)


def test_different_operations_at_once() -> None:
    expected = {name: operation() for name, operation in OPERATIONS.items()}

    def work(i: int) -> None:
        names = list(OPERATIONS)
        for name in names[i:] + names[:i]:
            assert torch.equal(OPERATIONS[name](), expected[name]), name

    together(work)


def test_pool_and_cache_change_meanwhile() -> None:
    before = torch.get_num_threads()
    expected = a @ b.t()

    def work(i: int) -> None:
        for round in range(20):
            if i == 0:
                torch.set_num_threads(1 + round % 3)
                torch._C.empty_cache()
                assert torch._C.memory_stats()["allocated"] > 0
            else:
                assert torch.allclose(a @ b.t(), expected)
                assert torch.equal(a + b, b + a)

    try:
        together(work)
    finally:
        torch.set_num_threads(before)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads by way of /proc")
def test_pool_grows_again() -> None:
    """After a time with one thread only, the workers are back."""
    code = """
import os
import rushlight as torch
a = torch.ones(1 << 20)
counts = []
for n in (3, 1, 3):
    torch.set_num_threads(n)
    a + a
    counts.append(len(os.listdir("/proc/self/task")))
assert counts[0] == counts[2] == counts[1] + 2, counts
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_first_calls_at_once() -> None:
    """What an operation takes is worked out at its first call, which many threads may make."""
    code = """
import sys, threading
import rushlight as torch
sys.setswitchinterval(1e-9)
x = torch.ones(4)
calls = [lambda: x.sum(0), lambda: x.std(0), lambda: x.clamp(0, 1), lambda: x.max(0), lambda: x.prod(0)]
calls += [lambda: x.split(2), lambda: torch.var_mean(x, 0), lambda: x.repeat_interleave(2), lambda: x.median(0)]
start = threading.Barrier(8)
failures = []
def work():
    for call in calls:
        start.wait()
        try:
            call()
        except Exception as error:
            failures.append(error)
threads = [threading.Thread(target=work) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
assert not failures, failures[0]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_backward_over_a_shared_graph() -> None:
    x = a.clone().requires_grad_()
    shared = (x * b).exp()
    loss = (shared / (1 + shared)).sum() + x.relu().sum()
    (expected,) = torch.autograd.grad(loss, x, retain_graph=True)

    def work(i: int) -> None:
        for _ in range(3):
            (grad,) = torch.autograd.grad(loss, x, retain_graph=True)
            assert torch.equal(grad, expected)
            (x.detach().requires_grad_() * shared.detach()).sum().backward()
        loss.backward(retain_graph=True)

    together(work)
    assert torch.allclose(x.grad, THREADS * expected)


def test_backward_of_a_shared_loss() -> None:
    """Its kernels read a target that is converted for each backward."""
    x = a.clone().requires_grad_()
    loss = F.cross_entropy(x, places[:, 0].int())
    (expected,) = torch.autograd.grad(loss, x, retain_graph=True)

    def work(i: int) -> None:
        for _ in range(20):
            (grad,) = torch.autograd.grad(loss, x, retain_graph=True)
            assert torch.equal(grad, expected)

    together(work)


def test_a_model_trained_by_many_threads() -> None:
    """Each with a graph of its own that ends in the same parameters, as data-parallel training without copies has."""
    model = torch.nn.Sequential(
        torch.nn.Linear(500, 64), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 8)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def work(i: int) -> None:
        for _ in range(5):
            F.cross_entropy(model(a), places[:, 0] % 8).backward()
            with torch.no_grad():
                assert model(a).shape == (300, 8)

    together(work)
    optimizer.step()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_parts_of_a_tensor_written_by_many_threads() -> None:
    whole = torch.zeros(THREADS, LARGE)

    def work(i: int) -> None:
        for _ in range(10):
            whole[i].add_(i)

    together(work)
    assert whole._version == 10 * THREADS
    assert torch.equal(whole, 10.0 * torch.arange(THREADS)[:, None].expand(THREADS, LARGE))


def test_draws_by_many_threads() -> None:
    """Whoever draws first, the numbers drawn are those of the seed."""
    torch.manual_seed(3)
    expected = torch.rand(THREADS, 3, LARGE)
    torch.manual_seed(3)
    drawn: list[Any] = [None] * THREADS

    def work(i: int) -> None:
        drawn[i] = [torch.rand(LARGE) for _ in range(3)]

    together(work)
    firsts = sorted(t[0].item() for own in drawn for t in own)
    assert firsts == sorted(expected[..., 0].flatten().tolist())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forks_while_threads_compute() -> None:
    expected = a @ b.t()
    done = threading.Event()

    def work(i: int) -> None:
        if i:
            while not done.is_set():
                a @ b.t(), a + b
            return
        try:
            for _ in range(5):
                child = os.fork()
                if not child:
                    try:
                        os._exit(0 if torch.equal(a @ b.t(), expected) else 1)
                    finally:
                        os._exit(2)
                for _ in range(600):
                    ended, status = os.waitpid(child, os.WNOHANG)
                    if ended:
                        break
                    threading.Event().wait(0.05)
                else:
                    os.kill(child, 9)
                    os.waitpid(child, 0)
                    pytest.fail("the child hangs")
                assert os.waitstatus_to_exitcode(status) == 0
        finally:
            done.set()

    together(work)
