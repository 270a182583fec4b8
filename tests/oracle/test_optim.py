"""optim beside PyTorch's: updates, state, schedules."""

import copy
import warnings

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
]
SHAPES = [(3, 5), (17,), (), (0,), (2, 3, 4, 5)]


def parameters(package, dtype):
    rng = np.random.default_rng(0)
    return [package.from_numpy(np.asarray(rng.standard_normal(s), dtype)).requires_grad_() for s in SHAPES]


def set_gradients(package, params, step, skip=()):
    rng = np.random.default_rng(100 + step)
    for i, p in enumerate(params):
        g = np.asarray(rng.standard_normal(tuple(p.shape)), str(p.dtype).removeprefix("torch."))
        p.grad = None if i in skip else package.from_numpy(g)


def assert_same(ours, theirs, dtype):
    rtol, atol = (1e-6, 5e-7) if dtype == "float32" else (1e-12, 1e-13)
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=rtol, atol=atol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, options", OPTIMIZERS)
def test_steps(name, options, dtype):
    ours, theirs = parameters(rl, dtype), parameters(torch, dtype)
    a = getattr(rl.optim, name)(ours, **options)
    b = getattr(torch.optim, name)(theirs, **options)
    assert repr(a) == repr(b)
    for step in range(6):
        skip = {0: (1,), 1: (), 2: (0, 2)}.get(step, ())  # some parameters start later, some rest
        set_gradients(rl, ours, step, skip)
        set_gradients(torch, theirs, step, skip)
        a.step()
        b.step()
        assert_same(ours, theirs, dtype)
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


def to_ours(value):
    if isinstance(value, torch.Tensor):
        return rl.from_numpy(value.numpy().copy())
    if isinstance(value, dict):
        return {k: to_ours(v) for k, v in value.items()}
    return value


@pytest.mark.parametrize("name, options", OPTIMIZERS)
def test_going_on_from_pytorchs_state(name, options):
    theirs = parameters(torch, "float32")
    b = getattr(torch.optim, name)(theirs, **options)
    for step in range(3):
        set_gradients(torch, theirs, step)
        b.step()
    ours = [rl.from_numpy(p.detach().numpy().copy()).requires_grad_() for p in theirs]
    a = getattr(rl.optim, name)(ours, lr=1.0)
    a.load_state_dict(to_ours(b.state_dict()))
    for step in range(3, 6):
        set_gradients(rl, ours, step)
        set_gradients(torch, theirs, step)
        a.step()
        b.step()
    assert_same(ours, theirs, "float32")


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
    lambda p, w: p.optim.lr_scheduler.StepLR(3, 2),
    lambda p, w: p.optim.lr_scheduler.StepLR(p.optim.Adam([w]), 2, last_epoch=4),
    lambda p, w: p.optim.lr_scheduler.LambdaLR(p.optim.Adam([w]), [abs, abs]),
    lambda p, w: p.optim.lr_scheduler.LinearLR(p.optim.Adam([w]), 0),
    lambda p, w: p.optim.lr_scheduler.ConstantLR(p.optim.Adam([w]), 2),
]


@pytest.mark.parametrize("provoke", ERRORS)
def test_error_types(provoke):
    kinds = []
    for package in (rl, torch):
        with pytest.raises(Exception) as caught:
            provoke(package, package.ones(2, requires_grad=True))
        kinds.append(type(caught.value))
    assert kinds[0] is kinds[1]


SCHEDULES = [
    ("StepLR", (3,), {"gamma": 0.5}),
    ("MultiStepLR", ([2, 5, 5],), {}),
    ("ConstantLR", (), {"factor": 0.5, "total_iters": 4}),
    ("LinearLR", (), {"start_factor": 0.2, "end_factor": 0.8, "total_iters": 4}),
    ("ExponentialLR", (0.9,), {}),
    ("CosineAnnealingLR", (4,), {"eta_min": 0.01}),
    ("CosineAnnealingLR", (5,), {}),
    ("LambdaLR", (lambda e: 1 / (1 + e),), {}),
    ("LambdaLR", ([lambda e: 0.5**e, lambda e: e],), {}),
]


def scheduled(package, name, args, options):
    p = parameters(package, "float32")
    optimizer = package.optim.SGD([{"params": p[:2]}, {"params": p[2:], "lr": 0.3}], lr=1.0)
    return optimizer, getattr(package.optim.lr_scheduler, name)(optimizer, *args, **options)


@pytest.mark.parametrize("name, args, options", SCHEDULES)
def test_schedule(name, args, options):
    runs = []
    for package in (rl, torch):
        optimizer, scheduler = scheduled(package, name, args, options)
        rates = [scheduler.get_last_lr()]
        for epoch in range(12):
            optimizer.step()
            scheduler.step()
            if epoch == 6:  # go on from saved state
                saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
                optimizer, scheduler = scheduled(package, name, args, options)
                optimizer.load_state_dict(saved[0])
                scheduler.load_state_dict(saved[1])
            rates.append([float(group["lr"]) for group in optimizer.param_groups])
            assert rates[-1] == scheduler.get_last_lr()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scheduler.step(3)
        rates.append(scheduler.get_last_lr())
        runs.append(rates)
    assert runs[0] == runs[1]


def test_schedule_of_a_tensor_rate():
    rates = []
    for package in (rl, torch):
        p = parameters(package, "float32")
        optimizer = package.optim.SGD(p, lr=package.tensor(1.0))
        scheduler = package.optim.lr_scheduler.StepLR(optimizer, 1)
        optimizer.step()
        scheduler.step()
        rates.append([float(r) for r in scheduler.get_last_lr()] + [float(optimizer.param_groups[0]["lr"])])
    assert rates[0] == rates[1]
