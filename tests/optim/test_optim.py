"""The machinery around optimizers."""

import copy
import pickle

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn, optim

ALL = [
    (optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    (optim.Adam, {"lr": 0.01}),
    (optim.AdamW, {"lr": 0.01}),
    (optim.RMSprop, {"lr": 0.01}),
    (optim.Adagrad, {"lr": 0.1}),
    (optim.Adadelta, {"lr": 5.0}),
    (optim.Adamax, {"lr": 0.01}),
    (optim.NAdam, {"lr": 0.01}),
    (optim.RAdam, {"lr": 0.01}),
    (optim.ASGD, {"lr": 0.1}),
    (optim.Rprop, {"lr": 0.01}),
    (optim.Adafactor, {"lr": 0.1}),
    (optim.LBFGS, {"max_iter": 3, "line_search_fn": "strong_wolfe"}),
]


@pytest.mark.parametrize("cls, options", ALL)
def test_training_goes_down(cls, options):
    rl.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    x = rl.rand(64, 2)
    y = x[:, :1] * x[:, 1:]
    optimizer = cls(model.parameters(), **options)

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    losses = [float(optimizer.step(closure).detach()) for _ in range(60)]
    assert losses[-1] < 0.3 * losses[0]


def test_state_in_shared_memory():
    w = rl.ones(3, requires_grad=True)
    optimizer = optim.Adagrad([w])
    optimizer.share_memory()
    assert all(value.is_shared() for value in optimizer.state[w].values())
    w.grad = rl.ones(3)
    optimizer.step()
    assert optimizer.state[w]["sum"].is_shared() and optimizer.state[w]["sum"].tolist() == [1, 1, 1]


def test_steps_count_as_changes_in_place():
    w = rl.ones(2, requires_grad=True)
    y = w * w
    w.grad = rl.ones(2)
    optim.SGD([w], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation|modified in place"):
        y.sum().backward()


def test_groups_and_errors():
    a, b = rl.ones(1, requires_grad=True), rl.ones(1, requires_grad=True)
    optimizer = optim.SGD([{"params": a}, {"params": b, "lr": 1.0}], lr=0.5)
    a.grad, b.grad = rl.ones(1), rl.ones(1)
    optimizer.step()
    assert a.tolist() == [0.5] and b.tolist() == [0.0]
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": a})
    with pytest.raises(ValueError, match="hint"):
        optim.SGD(iter([]))
    with pytest.raises(NotImplementedError, match="hint"):
        optim.Adam([a], differentiable=True)


def test_closure():
    w = rl.ones(1, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    with rl.no_grad():
        assert float(optimizer.step(closure)) == 1.0
    np.testing.assert_allclose(w.tolist(), [0.8], rtol=1e-6)


def test_zero_grad():
    w = rl.ones(1, requires_grad=True)
    optimizer = optim.SGD([w])
    w.grad = rl.ones(1)
    optimizer.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0]
    optimizer.zero_grad()
    assert w.grad is None
    optimizer.step()  # nothing to do
    assert w.tolist() == [1]


@pytest.mark.parametrize("cls", [cls for cls, _ in ALL if cls is not optim.LBFGS])
@pytest.mark.parametrize("copier", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_copies(copier, cls):
    w = rl.ones(3, requires_grad=True)
    optimizer = cls([w], lr=0.5)
    w.grad = rl.ones(3)
    optimizer.step()
    twin = copier(optimizer)
    (v,) = twin.param_groups[0]["params"]
    assert v is not w and v.tolist() == w.tolist() and repr(twin) == repr(optimizer)
    w.grad, v.grad = rl.ones(3), rl.ones(3)
    optimizer.step()
    twin.step()
    assert v.tolist() == w.tolist()


def test_state_is_cast_to_the_parameters_dtype():
    w = rl.ones(3, requires_grad=True)
    optimizer = optim.Adam([w])
    w.grad = rl.ones(3)
    optimizer.step()
    v = rl.ones(3, dtype=rl.float64, requires_grad=True)
    other = optim.Adam([v])
    other.load_state_dict(optimizer.state_dict())
    assert other.state[v]["exp_avg"].dtype == rl.float64 and other.state[v]["step"].dtype == rl.float32
    other.load_state_dict({"state": {0: {"step": 3}}, "param_groups": optimizer.state_dict()["param_groups"]})
    assert float(other.state[v]["step"]) == 3


@pytest.mark.parametrize(
    "options, kind",
    [
        ({"lr": "0.1"}, TypeError),
        ({"lr": None}, TypeError),
        ({"lr": rl.ones(2)}, ValueError),
        ({"lr": -1.0}, ValueError),
        ({"lr": float("nan")}, ValueError),
        ({"betas": 0.9}, TypeError),
        ({"betas": (0.9, 1.0)}, ValueError),
    ],
)
def test_options_that_are_refused(options, kind):
    with pytest.raises(kind, match="Invalid|two numbers"):
        optim.Adam([rl.ones(1, requires_grad=True)], **options)


@pytest.mark.parametrize("cls", [optim.Adagrad, optim.ASGD, optim.Rprop, optim.RAdam, optim.NAdam, optim.Adafactor])
def test_differentiating_through_steps_is_refused_and_tensor_rates_taken(cls):
    w = rl.ones(1, requires_grad=True)
    if cls is not optim.Adafactor:
        with pytest.raises(NotImplementedError, match="hint"):
            cls([w], differentiable=True)
    results = []
    for lr in (0.5, rl.tensor(0.5)):
        w = rl.ones(1, requires_grad=True)
        optimizer = cls([w], lr=lr)
        w.grad = rl.ones(1)
        optimizer.step()
        results.append(w.item())
    assert results[0] == results[1] < 1


@pytest.mark.parametrize("lr", [1, np.float32(0.5), rl.tensor(0.5), rl.tensor([0.5])])
def test_kinds_of_numbers(lr):
    w = rl.ones(1, requires_grad=True)
    optimizer = optim.SGD([w], lr=lr)
    w.grad = rl.ones(1)
    optimizer.step()
    assert w.item() == 1 - float(lr)


def test_hooks():
    w = rl.ones(1, requires_grad=True)
    optimizer = optim.SGD([w])
    log = []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: log.append("pre"))
    handle = optimizer.register_step_post_hook(lambda o, args, kwargs: log.append("post"))
    everywhere = optim.optimizer.register_optimizer_step_pre_hook(lambda o, args, kwargs: log.append("all"))
    optimizer.step()
    everywhere.remove()
    handle.remove()
    optimizer.step()
    with pytest.raises(RuntimeError, match="a step pre-hook of SGD returned 1\n  hint"):
        with_hook = optim.SGD([w])
        with_hook.register_step_pre_hook(lambda o, args, kwargs: 1)
        with_hook.step()
    assert log == ["all", "pre", "post", "pre"]
    optimizer.register_state_dict_post_hook(lambda o, state: state.update(mark=1))
    optimizer.register_load_state_dict_pre_hook(lambda o, state: log.append(state["mark"]))
    optimizer.load_state_dict(optimizer.state_dict())
    assert log[-1] == 1


class Halve(optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 0.5})

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                with rl.no_grad():
                    p.mul_(group["lr"])


def test_an_optimizer_of_ones_own():
    w = rl.ones(1, requires_grad=True)
    optimizer = Halve([w])
    scheduler = optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    for expected in (0.5, 0.125):
        optimizer.step()
        scheduler.step()
        assert w.tolist() == [expected]
