"""utils.checkpoint gives what the function gives, with its gradients, and less memory is held meanwhile."""

import contextlib
import warnings

import pytest

import rushlight as rl
from rushlight import nn
from rushlight.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential

BOTH = pytest.mark.parametrize("use_reentrant", [False, True])


def model():
    rl.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Dropout(0.5), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))


def gradients(run, net, x):
    """The loss, all gradients, and what random numbers come after."""
    net.zero_grad()
    x = x.detach().requires_grad_()
    rl.manual_seed(1)
    y = run(net, x)
    y.square().sum().backward()
    return [y, x.grad, *(p.grad for p in net.parameters()), rl.rand(3)]


RUNS = {
    "function": lambda use_reentrant: lambda net, x: checkpoint(net, x, use_reentrant=use_reentrant),
    "twice": lambda r: lambda net, x: checkpoint(net[3:], checkpoint(net[:3], x, use_reentrant=r), use_reentrant=r),
    "nested": lambda r: (
        lambda net, x: checkpoint(lambda x: net[3:](checkpoint(net[:3], x, use_reentrant=r)), x, use_reentrant=r)
    ),
    "sequential": lambda r: lambda net, x: checkpoint_sequential(net, 3, x, use_reentrant=r),
    "one segment": lambda r: lambda net, x: checkpoint_sequential(list(net), 1, x, use_reentrant=r),
    "many segments": lambda r: lambda net, x: checkpoint_sequential(net, 5, x, use_reentrant=r),
}


@BOTH
@pytest.mark.parametrize("name", RUNS)
def test_the_same_gradients(name, use_reentrant):
    net, x = model(), rl.randn(5, 8)
    expected = gradients(lambda net, x: net(x), net, x)
    for got, want in zip(gradients(RUNS[name](use_reentrant), net, x), expected, strict=True):
        rl.testing.assert_close(got, want, rtol=0, atol=0)


def test_structures_and_what_comes_from_outside():
    x, w = rl.randn(3, requires_grad=True), rl.randn(3, requires_grad=True)

    def function(inputs, factor, *, power):
        outside = w.exp()
        y = inputs["x"] * factor[0] ** power * outside
        return {"y": y, "n": 3, "index": y.argmax(), "pair": (y.sin(), inputs["plain"])}

    def loss(run):
        factor = (w * 2).sin()  # has a history that both the function and others go through
        given = {"x": x, "plain": rl.ones(2)}
        result = run(given, [factor], power=2)
        assert result["n"] == 3 and result["index"].dtype == rl.int64 and not result["pair"][1].requires_grad
        return (result["y"] * factor).sum() + result["pair"][0].sum()

    expected = rl.autograd.grad(loss(function), (x, w))
    got = rl.autograd.grad(loss(lambda *a, **k: checkpoint(function, *a, use_reentrant=False, **k)), (x, w))
    rl.testing.assert_close(got, expected)
    assert x.grad is None and w.grad is None


@BOTH
def test_holds_less_memory(use_reentrant):
    x = rl.ones(1 << 18, requires_grad=True)

    def function(x):
        for _ in range(8):
            x = x.sin()
        return x

    def held(run):
        before = rl.memory_stats()["allocated"]
        y = run(x)
        after = rl.memory_stats()["allocated"]
        y.sum().backward()
        return after - before

    held(function)
    size = x.numel() * 4
    assert held(function) >= 8 * size
    assert held(lambda x: checkpoint(function, x, use_reentrant=use_reentrant)) < 2 * size


def test_random_state():
    x = rl.ones(100, requires_grad=True)
    drop = nn.Dropout()
    y = checkpoint(drop, x, use_reentrant=False)
    after = rl.get_rng_state()
    y.sum().backward()
    assert rl.equal(x.grad, y.detach()) and rl.equal(rl.get_rng_state(), after)
    x.grad = None
    y = checkpoint(drop, x, use_reentrant=False, preserve_rng_state=False)
    y.sum().backward()
    assert not rl.equal(x.grad, y.detach())


def test_contexts():
    entered = []

    @contextlib.contextmanager
    def note(which):
        entered.append(which)
        yield

    x = rl.ones(2, requires_grad=True)
    y = checkpoint(rl.exp, x, use_reentrant=False, context_fn=lambda: (note("first"), note("second")))
    y.sum().backward()
    assert entered == ["first", "second"]


def test_where_no_gradient_is_wanted():
    x = rl.ones(2)
    assert not checkpoint(rl.exp, x, use_reentrant=False).requires_grad
    with pytest.warns(UserWarning, match="none of the inputs requires grad"):
        assert not checkpoint(rl.exp, x, use_reentrant=True).requires_grad
    with rl.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not checkpoint(rl.exp, x.clone().requires_grad_(), use_reentrant=True).requires_grad
    layer = nn.Linear(2, 1)
    checkpoint(layer, x, use_reentrant=False).sum().backward()  # parameters do want one
    assert layer.weight.grad.tolist() == [[1, 1]]


def test_errors():
    x = rl.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="use_reentrant"):
        checkpoint(rl.exp, x)
    with pytest.raises(ValueError, match="keyword"):
        checkpoint(lambda x, k: x, x, use_reentrant=True, k=1)
    with pytest.raises(ValueError, match="context_fn"):
        checkpoint(rl.exp, x, use_reentrant=True, context_fn=lambda: (None, None))
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(rl.exp, x, use_reentrant=False, determinism_check="novel")
    with pytest.raises(RuntimeError, match="no second derivative"):
        rl.autograd.grad(checkpoint(rl.exp, x, use_reentrant=False).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="in place"):
        checkpoint(lambda x: x.relu_(), rl.ones(2, requires_grad=True) * 2, use_reentrant=False)
    runs = []

    def growing(x):
        runs.append(1)
        return x.expand(len(runs), 2).exp()

    with pytest.raises(CheckpointError, match="do the same both times"):
        checkpoint(growing, x, use_reentrant=False).sum().backward()
    y = checkpoint(rl.exp, x, use_reentrant=False)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time|freed"):
        y.sum().backward()
