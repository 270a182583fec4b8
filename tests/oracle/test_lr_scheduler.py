"""Schedules beside PyTorch's: rates, momentum, state, errors, warnings."""

import copy
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import rushlight as rl  # noqa: E402


class Halving:
    """A callable with state."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return 1 / (1 + x / 2)


def simple(name, *args, **options):
    return lambda package, o, **more: getattr(package.optim.lr_scheduler, name)(o, *args, **options, **more)


def sequence(*parts, milestones):
    return lambda package, o: package.optim.lr_scheduler.SequentialLR(o, [p(package, o) for p in parts], milestones)


def chain(*parts):
    return lambda package, o: package.optim.lr_scheduler.ChainedScheduler([p(package, o) for p in parts])


constant, exponential = simple("ConstantLR", 0.1, 4), simple("ExponentialLR", 0.9)
SCHEDULES = {
    "StepLR": simple("StepLR", 3, gamma=0.5),
    "MultiStepLR": simple("MultiStepLR", [2, 5, 5, 30]),
    "ConstantLR": simple("ConstantLR", factor=0.5, total_iters=4),
    "LinearLR": simple("LinearLR", start_factor=0.2, end_factor=0.8, total_iters=4),
    "ExponentialLR": exponential,
    "PolynomialLR": simple("PolynomialLR"),
    "PolynomialLR squared": simple("PolynomialLR", total_iters=30, power=2.0),
    "CosineAnnealingLR": simple("CosineAnnealingLR", 4, eta_min=0.01),
    "CosineAnnealingLR odd": simple("CosineAnnealingLR", 5),
    "WarmRestarts": simple("CosineAnnealingWarmRestarts", 5),
    "WarmRestarts longer": simple("CosineAnnealingWarmRestarts", 3, T_mult=2, eta_min=0.01),
    "LambdaLR": simple("LambdaLR", lambda e: 1 / (1 + e)),
    "LambdaLR each": simple("LambdaLR", [lambda e: 0.5**e, lambda e: e]),
    "LambdaLR object": lambda package, o, **more: package.optim.lr_scheduler.LambdaLR(o, Halving(), **more),
    "MultiplicativeLR": simple("MultiplicativeLR", lambda e: 0.9 if e % 3 else 1.1),
    "MultiplicativeLR each": simple("MultiplicativeLR", [lambda e: 0.9, lambda e: 1.01]),
    "CyclicLR": simple("CyclicLR", 0.1, 1.0, step_size_up=5),
    "CyclicLR skewed": simple("CyclicLR", [0.1, 0.2], [1.0, 2.0], 3, 9, mode="triangular2"),
    "CyclicLR exp": simple("CyclicLR", 0.1, 1.0, 4, mode="exp_range", gamma=0.95, base_momentum=0.3),
    "CyclicLR function": simple("CyclicLR", 0.1, 1.0, 4, scale_fn=lambda x: 1 / x, cycle_momentum=False),
    "CyclicLR object": lambda package, o, **more: package.optim.lr_scheduler.CyclicLR(
        o, 0.1, 1.0, 4, scale_fn=Halving(), scale_mode="iterations", **more
    ),
    "OneCycleLR": simple("OneCycleLR", 1.0, total_steps=60),
    "OneCycleLR linear": simple("OneCycleLR", [1.0, 2.0], epochs=6, steps_per_epoch=10, anneal_strategy="linear"),
    "OneCycleLR three": simple("OneCycleLR", 1.0, total_steps=55, three_phase=True, pct_start=0.25, div_factor=10),
    "OneCycleLR without momentum": simple("OneCycleLR", 1.0, total_steps=51, cycle_momentum=False),
    "SequentialLR": sequence(constant, exponential, milestones=[5]),
    "SequentialLR long": sequence(
        simple("LinearLR", 0.1, total_iters=5),
        simple("CosineAnnealingLR", 20),
        simple("StepLR", 3),
        simple("CosineAnnealingWarmRestarts", 4),
        milestones=[5, 20, 35],
    ),
    "SequentialLR of functions": sequence(
        simple("LambdaLR", lambda e: 0.1 + e), simple("MultiplicativeLR", lambda e: 0.9), milestones=[7]
    ),
    "SequentialLR to a cycle": sequence(constant, simple("OneCycleLR", 1.0, total_steps=60), milestones=[3]),
    "SequentialLR from restarts": sequence(simple("CosineAnnealingWarmRestarts", 4), exponential, milestones=[9]),
    "ChainedScheduler": chain(constant, exponential),
    "ChainedScheduler of sequences": chain(sequence(constant, exponential, milestones=[3]), simple("StepLR", 7)),
}


def scheduled(package, build, optimizer="SGD"):
    options = {"momentum": 0.9} if optimizer == "SGD" else {}
    p = [package.zeros(2, requires_grad=True) for _ in range(3)]
    groups = [{"params": p[:2]}, {"params": p[2:], "lr": 0.3}]
    optimizer = getattr(package.optim, optimizer)(groups, lr=1.0, **options)
    return optimizer, build(package, optimizer)


def settings(optimizer):
    return [
        float(x) for g in optimizer.param_groups for x in (g["lr"], *(g["betas"] if "betas" in g else [g["momentum"]]))
    ]


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedule(name, kind):
    build = SCHEDULES[name]
    runs = []
    for package in (rl, torch):
        optimizer, scheduler = scheduled(package, build, kind)
        rows = [settings(optimizer)]
        for epoch in range(50):
            optimizer.step()
            scheduler.step()
            if epoch == 16:  # go on from saved state
                saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
                optimizer, scheduler = scheduled(package, build, kind)
                optimizer.load_state_dict(saved[0])
                scheduler.load_state_dict(saved[1])
            rows.append(settings(optimizer))
            assert scheduler.get_last_lr() == [g["lr"] for g in optimizer.param_groups]
        if not isinstance(
            scheduler, (package.optim.lr_scheduler.SequentialLR, package.optim.lr_scheduler.ChainedScheduler)
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scheduler.step(3)
            rows.append(settings(optimizer))
        runs.append(rows)
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("to, since", [(rl, torch), (torch, rl)], ids=["from_pytorch", "to_pytorch"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_going_on_from_the_others_state(name, to, since):
    optimizer, scheduler = scheduled(since, SCHEDULES[name])
    for _ in range(8):
        optimizer.step()
        scheduler.step()
    other, continued = scheduled(to, SCHEDULES[name])
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    continued.load_state_dict(copy.deepcopy(scheduler.state_dict()))
    for _ in range(20):
        for o, s in ((optimizer, scheduler), (other, continued)):
            o.step()
            s.step()
        np.testing.assert_allclose(settings(other), settings(optimizer), rtol=1e-12, atol=1e-15)


PLATEAUS = [
    {},
    {"patience": 2, "cooldown": 3, "factor": 0.5},
    {"patience": 0, "mode": "max", "min_lr": [0.1, 0.01]},
    {"patience": 1, "threshold": 0.2, "threshold_mode": "abs", "min_lr": 0.02},
    {"patience": 1, "threshold": 0.1, "mode": "max", "threshold_mode": "abs", "eps": 0.1},
    {"patience": 1, "threshold": 0.1, "mode": "max"},
]


@pytest.mark.parametrize("change", [None, rl, torch], ids=["", "to_pytorch", "from_pytorch"])
@pytest.mark.parametrize("options", PLATEAUS)
def test_plateau(options, change):
    measures = np.random.default_rng(0).standard_normal(50).cumsum() * 0.1
    runs = []
    for package in (rl, torch):
        optimizer, scheduler = scheduled(package, simple("ReduceLROnPlateau", **options))
        rows = []
        for epoch, measure in enumerate(measures):
            scheduler.step(package.tensor(measure) if epoch % 2 else measure)
            if epoch == 20:
                saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
                if change is not None:
                    package = torch if change is rl else rl
                optimizer, scheduler = scheduled(package, simple("ReduceLROnPlateau", **options))
                optimizer.load_state_dict(saved[0])
                scheduler.load_state_dict(saved[1])
            rows.append(
                [*scheduler.get_last_lr(), scheduler.best, scheduler.num_bad_epochs, scheduler.cooldown_counter]
            )
        runs.append(rows)
    np.testing.assert_allclose(*runs, rtol=1e-12)


def test_fractions_of_epochs():
    runs = []
    for package in (rl, torch):
        for multiple in (1, 2):
            optimizer, scheduler = scheduled(package, simple("CosineAnnealingWarmRestarts", 3, multiple))
            rows = []
            for epoch in (0.5, 1.25, 2.9, 3.0, 8.999, 9, 22.5, 4):
                scheduler.step(epoch)
                rows.append([*settings(optimizer), scheduler.T_cur, scheduler.T_i, scheduler.last_epoch])
            runs.append(rows)
    np.testing.assert_allclose(runs[0], runs[2], rtol=1e-12)
    np.testing.assert_allclose(runs[1], runs[3], rtol=1e-12)


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedule_of_a_tensor_rate(name):
    runs = []
    for package in (rl, torch):
        p = package.zeros(2, requires_grad=True)
        rate = package.tensor(1.0, dtype=package.float64)
        groups = [{"params": [p]}, {"params": [package.zeros(1, requires_grad=True)], "lr": rate.clone()}]
        optimizer = package.optim.SGD(groups, lr=rate, momentum=0.9)
        scheduler = SCHEDULES[name](package, optimizer)
        rows = []
        for _ in range(8):
            optimizer.step()
            scheduler.step()
            rows.append(settings(optimizer) + [float(r) for r in scheduler.get_last_lr()])
        assert isinstance(optimizer.param_groups[0]["lr"], package.Tensor)
        runs.append(rows)
    np.testing.assert_allclose(*runs, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("epoch", [0, 4, 5])
@pytest.mark.parametrize("name", [n for n in SCHEDULES if n.split()[0] not in ("SequentialLR", "ChainedScheduler")])
def test_resuming_at_an_epoch(name, epoch):
    """``last_epoch=``, with rates as the optimizer has kept them."""
    if name == "WarmRestarts longer" and epoch > 4:
        pytest.skip("PyTorch begins a period anew; tests/optim holds ours")
    runs = []
    for package in (rl, torch):
        optimizer, scheduler = scheduled(package, SCHEDULES[name])
        for _ in range(epoch):
            optimizer.step()
            scheduler.step()
        scheduler = SCHEDULES[name](package, optimizer, last_epoch=epoch)
        rows = [settings(optimizer)]
        for _ in range(6):
            optimizer.step()
            scheduler.step()
            rows.append(settings(optimizer))
        runs.append(rows)
    np.testing.assert_allclose(*runs, rtol=1e-12, atol=1e-15)


def adam(package, count=1):
    return package.optim.Adam([{"params": [package.ones(1, requires_grad=True)]} for _ in range(count)], lr=0.1)


def steps(scheduler, count):
    for _ in range(count):
        scheduler.step()


ERRORS = [
    lambda s, o, p: s.StepLR(3, 2),
    lambda s, o, p: s.StepLR(o, 2, last_epoch=4),
    lambda s, o, p: s.LambdaLR(o, [abs, abs]),
    lambda s, o, p: s.MultiplicativeLR(o, [abs, abs]),
    lambda s, o, p: s.LinearLR(o, 0),
    lambda s, o, p: s.ConstantLR(o, 2),
    lambda s, o, p: s.CosineAnnealingWarmRestarts(o, 0),
    lambda s, o, p: s.CosineAnnealingWarmRestarts(o, 2, 1.5),
    lambda s, o, p: s.CosineAnnealingWarmRestarts(o, 2, 1, "low"),
    lambda s, o, p: s.CosineAnnealingWarmRestarts(o, 2).step(-1),
    lambda s, o, p: s.CyclicLR(3, 0.1, 1.0),
    lambda s, o, p: s.CyclicLR(o, 0.1, 1.0, mode="square"),
    lambda s, o, p: s.CyclicLR(o, [0.1, 0.2], 1.0),
    lambda s, o, p: s.CyclicLR(p.optim.Adagrad([p.ones(1, requires_grad=True)]), 0.1, 1.0),
    lambda s, o, p: s.OneCycleLR(3, 1.0, 10),
    lambda s, o, p: s.OneCycleLR(o, 1.0),
    lambda s, o, p: s.OneCycleLR(o, 1.0, epochs=3),
    lambda s, o, p: s.OneCycleLR(o, 1.0, -1),
    lambda s, o, p: s.OneCycleLR(o, 1.0, 1.5),
    lambda s, o, p: s.OneCycleLR(o, 1.0, epochs=3, steps_per_epoch=-1),
    lambda s, o, p: s.OneCycleLR(o, 1.0, 10, pct_start=2),
    lambda s, o, p: s.OneCycleLR(o, 1.0, 10, anneal_strategy="square"),
    lambda s, o, p: s.OneCycleLR(o, [1.0, 2.0], 10),
    lambda s, o, p: s.OneCycleLR(p.optim.Adagrad([p.ones(1, requires_grad=True)]), 1.0, 10),
    lambda s, o, p: steps(s.OneCycleLR(o, 1.0, 10), 11),
    lambda s, o, p: s.ReduceLROnPlateau(3),
    lambda s, o, p: s.ReduceLROnPlateau(o, factor=1.0),
    lambda s, o, p: s.ReduceLROnPlateau(o, mode="least"),
    lambda s, o, p: s.ReduceLROnPlateau(o, threshold_mode="part"),
    lambda s, o, p: s.ReduceLROnPlateau(o, min_lr=[1, 2]),
    lambda s, o, p: s.ReduceLROnPlateau(o).step(),
    lambda s, o, p: s.ReduceLROnPlateau(o).step("low"),
    lambda s, o, p: s.ReduceLROnPlateau(o).get_lr(),
    lambda s, o, p: s.SequentialLR(o, [], []),
    lambda s, o, p: s.SequentialLR(o, [s.ConstantLR(o)], [1]),
    lambda s, o, p: s.SequentialLR(o, [s.ConstantLR(o), s.ConstantLR(adam(p))], [1]),
    lambda s, o, p: s.SequentialLR(o, [s.ConstantLR(o), s.ReduceLROnPlateau(o)], [1]),
    lambda s, o, p: s.SequentialLR(o, [s.ConstantLR(o), 3], [1]),
    lambda s, o, p: s.ChainedScheduler([]),
    lambda s, o, p: s.ChainedScheduler([s.ConstantLR(o), s.ConstantLR(adam(p))]),
    lambda s, o, p: s.ChainedScheduler([s.ConstantLR(o)], adam(p)),
    lambda s, o, p: s.ChainedScheduler([s.ConstantLR(o), s.ReduceLROnPlateau(o)]),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("provoke", ERRORS)
def test_error_types(provoke):
    kinds = []
    for package in (rl, torch):
        with pytest.raises(Exception) as caught:
            provoke(package.optim.lr_scheduler, adam(package), package)
        kinds.append(type(caught.value))
    assert kinds[0] is kinds[1]


@pytest.mark.parametrize("name", SCHEDULES)
def test_warnings(name):
    """As many as PyTorch's where a schedule's first step comes before the optimizer's, and for get_lr() outside it."""
    counts = []
    for package in (rl, torch):
        _, scheduler = scheduled(package, SCHEDULES[name])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scheduler.step()
            counts.append(len(caught))
            try:
                scheduler.get_lr()
            except NotImplementedError:
                counts.append("none")
            counts.append(len(caught))
    assert counts[: len(counts) // 2] == counts[len(counts) // 2 :]
