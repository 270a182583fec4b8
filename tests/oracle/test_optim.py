"""optim beside PyTorch's: updates, state, errors."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import rushlight as rl  # noqa: E402

OPTIMIZERS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.01, "betas": (0.7, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "amsgrad": True, "maximize": True}),
    ("Adam", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.2, "decoupled_weight_decay": True}),
    ("AdamW", {"lr": 0.01}),
    ("AdamW", {"lr": 0.01, "weight_decay": 0.3, "amsgrad": True}),
    ("RMSprop", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.01, "alpha": 0.8, "momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01, "centered": True, "eps": 1e-3, "maximize": True}),
    ("RMSprop", {"lr": 0.01, "centered": True, "eps": 1e-3, "momentum": 0.5}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adadelta", {"lr": 1.0}),
    ("Adadelta", {"lr": 0.5, "rho": 0.7, "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {"lr": 0.01}),
    ("Adamax", {"lr": 0.01, "betas": (0.6, 0.8), "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.01}),
    ("NAdam", {"lr": 0.01, "betas": (0.7, 0.9), "momentum_decay": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.01}),
    ("RAdam", {"lr": 0.01, "betas": (0.7, 0.8), "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("RAdam", {"lr": 0.01, "betas": (0.7, 0.9), "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("ASGD", {"lr": 0.1}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 5, "weight_decay": 0.1, "maximize": True}),
    ("Rprop", {"lr": 0.01}),
    ("Rprop", {"lr": 0.01, "etas": (0.3, 1.7), "step_sizes": (5e-3, 0.05), "maximize": True}),
    ("Adafactor", {"lr": 0.01}),
    ("Adafactor", {"lr": 0.9, "eps": (0.1, 0.5), "d": 1.5, "beta2_decay": -0.4, "maximize": True}),
    ("Adafactor", {"lr": 0.5, "weight_decay": 0.3}),
    ("Muon", {"lr": 0.01}),
    ("Muon", {"lr": 0.01, "nesterov": False, "momentum": 0.5, "weight_decay": 0.0}),
    ("Muon", {"lr": 0.01, "adjust_lr_fn": "match_rms_adamw", "ns_steps": 2}),
]
SHAPES = [(3, 5), (17,), (), (0,), (2, 3, 4, 5)]


MATRICES = [(3, 5), (17, 4), (8, 8)]


def parameters(package, dtype, name=None):
    """Of shapes that the optimizer takes: Muon none but matrices, PyTorch's Adafactor nothing empty."""
    rng = np.random.default_rng(0)
    shapes = MATRICES if name == "Muon" else [s for s in SHAPES if name != "Adafactor" or 0 not in s]
    return [package.from_numpy(np.asarray(rng.standard_normal(s), dtype)).requires_grad_() for s in shapes]


def set_gradients(package, params, step, skip=()):
    rng = np.random.default_rng(100 + step)
    for i, p in enumerate(params):
        g = np.asarray(rng.standard_normal(tuple(p.shape)), str(p.dtype).removeprefix("torch."))
        p.grad = None if i in skip else package.from_numpy(g)


def assert_same(ours, theirs, dtype, name=None):
    rtol, atol = (1e-6, 1e-6) if dtype == "float32" else (1e-12, 1e-13)
    if name == "Muon":  # PyTorch orthogonalizes in bfloat16
        atol = 5e-3
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=rtol, atol=atol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, options", OPTIMIZERS)
def test_steps(name, options, dtype):
    ours, theirs = parameters(rl, dtype, name), parameters(torch, dtype, name)
    a = getattr(rl.optim, name)(ours, **options)
    b = getattr(torch.optim, name)(theirs, **options)
    assert repr(a) == repr(b)
    for step in range(20):
        skip = {0: (1,), 1: (), 2: (0, 2)}.get(step, ())  # some parameters start later, some rest
        set_gradients(rl, ours, step, skip)
        set_gradients(torch, theirs, step, skip)
        a.step()
        b.step()
        assert_same(ours, theirs, dtype, name)
    compare_state(a.state_dict(), b.state_dict(), dtype)


def compare_state(ours, theirs, dtype):
    assert ours["param_groups"] == theirs["param_groups"]
    assert list(ours["state"]) == list(theirs["state"])
    for number, theirs_one in theirs["state"].items():
        ours_one = ours["state"][number]
        assert sorted(ours_one) == sorted(theirs_one)
        for key, value in theirs_one.items():
            if value is None:
                assert ours_one[key] is None
            else:
                assert str(ours_one[key].dtype) == str(value.dtype)
                np.testing.assert_allclose(ours_one[key].numpy(), value.numpy(), rtol=1e-5, atol=1e-6)


def converted(package, value):
    """A state_dict as the other package would have it."""
    if hasattr(value, "numpy"):
        return package.from_numpy(value.numpy().copy())
    if isinstance(value, dict):
        return {k: converted(package, v) for k, v in value.items()}
    if isinstance(value, list):
        return [converted(package, v) for v in value]
    return value


@pytest.mark.parametrize("to, since", [(rl, torch), (torch, rl)], ids=["from_pytorch", "to_pytorch"])
@pytest.mark.parametrize("name, options", OPTIMIZERS)
def test_going_on_from_the_others_state(name, options, to, since):
    before = parameters(since, "float64", name)
    a = getattr(since.optim, name)(before, **options)
    for step in range(5):
        set_gradients(since, before, step)
        a.step()
    state = a.state_dict()
    results = []
    for package in (since, to):
        params = [package.from_numpy(p.detach().numpy().copy()).requires_grad_() for p in before]
        b = getattr(package.optim, name)(params, lr=1.0)
        b.load_state_dict(converted(package, state))
        for step in range(5, 10):
            set_gradients(package, params, step)
            b.step()
        results.append(params)
    assert_same(*results, "float64", name)


LBFGS = [
    {},
    {"lr": 0.1, "max_iter": 4},
    {"lr": 0.5, "history_size": 3},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "max_iter": 3, "max_eval": 30},
    {"line_search_fn": "strong_wolfe", "lr": 3.0, "history_size": 2},
    {"line_search_fn": "strong_wolfe", "lr": 1e-3, "max_iter": 6},
]


def rosenbrock(x, y):
    return ((1 - x) ** 2).sum() + (10 * (y - x * x) ** 2).sum()


def wavy(x, y):
    return ((3 * x).sin() + 0.1 * x * x).sum() + ((y - 1) ** 4).sum() + (x[0] * y[0]).exp()


def lbfgs(package, loss_of, options, steps, start=None, state=None):
    rng = np.random.default_rng(3)
    values = [rng.standard_normal(4), rng.standard_normal(4)] if start is None else start
    params = [package.from_numpy(v.copy()).requires_grad_() for v in values]
    optimizer = package.optim.LBFGS(params, **options)
    if state is not None:
        optimizer.load_state_dict(state)

    losses = []

    def closure():
        optimizer.zero_grad()
        loss = loss_of(*params)
        loss.backward()
        losses.append(float(loss.detach()))
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return optimizer, losses, [p.detach().numpy() for p in params]


@pytest.mark.parametrize("loss_of", [rosenbrock, wavy])
@pytest.mark.parametrize("options", LBFGS)
def test_lbfgs(loss_of, options):
    if loss_of is rosenbrock and "line_search_fn" not in options:
        options = options | {"lr": 0.02}
    (a, ours, ends), (b, theirs, their_ends) = (lbfgs(package, loss_of, options, 8) for package in (rl, torch))
    assert repr(a) == repr(b)
    # Both problems are chaotic: what is rounding at first moves the last steps visibly.
    for count, tolerance in ((10, 1e-11), (30, 1e-9), (60, 1e-6)):
        np.testing.assert_allclose(ours[:count], theirs[:count], rtol=tolerance)
    if "line_search_fn" in options:
        np.testing.assert_allclose(ours[-1], theirs[-1], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(ends, their_ends, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("to, since", [(rl, torch), (torch, rl)], ids=["from_pytorch", "to_pytorch"])
@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_goes_on_from_the_others_state(to, since, search):
    options = {"lr": 0.1, "max_iter": 4, "line_search_fn": search}
    a, _, values = lbfgs(since, wavy, options, 3)
    state = a.state_dict()
    _, losses, there = lbfgs(to, wavy, options, 3, values, converted(to, state))
    _, expected, here = lbfgs(since, wavy, options, 3, values, state)
    np.testing.assert_allclose(losses, expected, rtol=1e-12)
    np.testing.assert_allclose(there, here, rtol=1e-9)


def test_groups():
    results = []
    for package in (rl, torch):
        p = parameters(package, "float32")
        optimizer = package.optim.AdamW(
            [{"params": p[0], "lr": 0.5}, {"params": iter(p[1:3]), "weight_decay": 0.0}], lr=0.1
        )
        optimizer.add_param_group({"params": p[3:], "betas": (0.5, 0.6)})
        for step in range(3):
            set_gradients(package, p, step)
            optimizer.step()
        results.append((p, optimizer.state_dict()["param_groups"], repr(optimizer)))
    assert_same(results[0][0], results[1][0], "float32")
    assert results[0][1:] == results[1][1:]


def test_named_parameters():
    groups = []
    for package in (rl, torch):
        p = parameters(package, "float32")
        optimizer = package.optim.SGD([(f"p{i}", q) for i, q in enumerate(p)])
        groups.append(optimizer.state_dict()["param_groups"])
    assert groups[0] == groups[1]


ERRORS = [
    lambda p, w: p.optim.SGD([], lr=0.1),
    lambda p, w: p.optim.SGD(w, lr=0.1),
    lambda p, w: p.optim.SGD([w * 2], lr=0.1),
    lambda p, w: p.optim.SGD([3], lr=0.1),
    lambda p, w: p.optim.SGD([w], lr=-1),
    lambda p, w: p.optim.SGD([w], momentum=-1),
    lambda p, w: p.optim.SGD([w], nesterov=True),
    lambda p, w: p.optim.SGD([{"params": {w}}]),
    lambda p, w: p.optim.SGD([("a", w), p.ones(1)]),
    lambda p, w: p.optim.SGD([{"params": [w]}, {"params": [w]}]),
    lambda p, w: p.optim.Adam([w], eps=-1),
    lambda p, w: p.optim.Adam([w], betas=(1.0, 0.9)),
    lambda p, w: p.optim.Adam([w], weight_decay=-1),
    lambda p, w: p.optim.Adam([w]).add_param_group([w]),
    lambda p, w: p.optim.Adam([w]).load_state_dict({"state": {}, "param_groups": []}),
    lambda p, w: p.optim.Adam([w]).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}),
    lambda p, w: p.optim.RMSprop([w], alpha=-1),
    lambda p, w: p.optim.RMSprop([w], momentum=-1),
    lambda p, w: p.optim.Adagrad([w], lr_decay=-1),
    lambda p, w: p.optim.Adagrad([w], initial_accumulator_value=-1),
    lambda p, w: p.optim.Adadelta([w], rho=1.5),
    lambda p, w: p.optim.Adamax([w], betas=(0.5, 1.0)),
    lambda p, w: p.optim.NAdam([w], momentum_decay=-1),
    lambda p, w: p.optim.RAdam([w], eps=-1),
    lambda p, w: p.optim.ASGD([w], weight_decay=-1),
    lambda p, w: p.optim.Rprop([w], etas=(1.2, 0.5)),
    lambda p, w: p.optim.Adafactor([w], beta2_decay=1),
    lambda p, w: p.optim.Adafactor([w], eps=(-1, 1)),
    lambda p, w: p.optim.Adafactor([w], eps=(None, -1)),
    lambda p, w: p.optim.Adafactor([w], d=0.5),
    lambda p, w: p.optim.Muon([w]),
    lambda p, w: p.optim.Muon([p.ones(2, 2, requires_grad=True)], adjust_lr_fn="mean"),
    lambda p, w: p.optim.Muon([p.ones(2, 2, requires_grad=True)], momentum=-1),
    lambda p, w: p.optim.LBFGS([w], lr=-1),
    lambda p, w: p.optim.LBFGS([w]).step(),
    lambda p, w: p.optim.LBFGS([{"params": [w]}, {"params": [p.ones(1, requires_grad=True)]}]),
]


@pytest.mark.parametrize("provoke", ERRORS)
def test_error_types(provoke):
    kinds = []
    for package in (rl, torch):
        with pytest.raises(Exception) as caught:
            provoke(package, package.ones(2, requires_grad=True))
        kinds.append(type(caught.value))
    assert kinds[0] is kinds[1]
