"""Schedules against formulas of the epoch."""

import math

import numpy as np
import pytest

import rushlight as rl
from rushlight import optim

SCHEDULES = [
    (lambda o: optim.lr_scheduler.StepLR(o, 3, 0.5), lambda e: 0.5 ** (e // 3)),
    (lambda o: optim.lr_scheduler.MultiStepLR(o, [2, 5], 0.1), lambda e: 0.1 ** ((e >= 2) + (e >= 5))),
    (lambda o: optim.lr_scheduler.ConstantLR(o, 0.25, 3), lambda e: 0.25 if e < 3 else 1),
    (lambda o: optim.lr_scheduler.ConstantLR(o, 0.0, 3), lambda e: 0 if e < 3 else 1),
    (lambda o: optim.lr_scheduler.LinearLR(o, 0.2, 0.7, 5), lambda e: 0.2 + 0.5 * min(e, 5) / 5),
    (lambda o: optim.lr_scheduler.ExponentialLR(o, 0.9), lambda e: 0.9**e),
    (lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 4), lambda e: (1 + math.cos(math.pi * e / 4)) / 2),
    (lambda o: optim.lr_scheduler.LambdaLR(o, lambda e: 1 / (e + 1)), lambda e: 1 / (e + 1)),
    (lambda o: optim.lr_scheduler.MultiplicativeLR(o, lambda e: e), lambda e: math.factorial(e)),
    (lambda o: optim.lr_scheduler.PolynomialLR(o, 6, 2.0), lambda e: (1 - min(e, 6) / 6) ** 2),
    (lambda o: optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 3), lambda e: half_cosine(e % 3 / 3)),
    (
        lambda o: optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 2, 2),
        lambda e: half_cosine(e / 2 if e < 2 else (e - 2) / 4 if e < 6 else (e - 6) / 8),
    ),
    (
        lambda o: optim.lr_scheduler.CyclicLR(o, 1.0, 3.0, 2, 3, cycle_momentum=False),
        lambda e: 0.5 + min(e % 5 / 2, (5 - e % 5) / 3),
    ),
    (
        lambda o: optim.lr_scheduler.CyclicLR(o, 1.0, 3.0, 2, mode="triangular2", cycle_momentum=False),
        lambda e: 0.5 + min(e % 4 / 2, 2 - e % 4 / 2) / 2 ** (e // 4),
    ),
    (
        lambda o: optim.lr_scheduler.CyclicLR(o, 1.0, 3.0, 2, mode="exp_range", gamma=0.9, cycle_momentum=False),
        lambda e: 0.5 + min(e % 4 / 2, 2 - e % 4 / 2) * 0.9**e,
    ),
    (
        lambda o: optim.lr_scheduler.OneCycleLR(
            o, 2.0, 11, pct_start=5 / 11, anneal_strategy="linear", cycle_momentum=False, div_factor=2
        ),
        lambda e: 0.5 + 0.5 * e / 4 if e <= 4 else 1 - (1 - 0.5e-4) * (e - 4) / 6,
    ),
    (
        lambda o: optim.lr_scheduler.OneCycleLR(
            o, 2.0, 11, pct_start=4 / 11, cycle_momentum=False, div_factor=2, three_phase=True
        ),
        lambda e: (
            1 - 0.5 * half_cosine(e / 3)
            if e <= 3
            else 0.5 + 0.5 * half_cosine((e - 3) / 3)
            if e <= 6
            else 0.5e-4 + (0.5 - 0.5e-4) * half_cosine((e - 6) / 4)
        ),
    ),
    (lambda o: combined(o, "SequentialLR", [3]), lambda e: 0.5 if e < 3 else 0.9 ** (e - 3)),
    (lambda o: combined(o, "ChainedScheduler"), lambda e: (0.5 if e < 4 else 1) * 0.9**e),
    # A sequence of sequences and of chains, which restart with it.
    (
        lambda o: optim.lr_scheduler.SequentialLR(
            o, [combined(o, "SequentialLR", [2]), combined(o, "SequentialLR", [1])], [5]
        ),
        lambda e: 0.5 if e < 2 or e == 5 else 0.9 ** (e - 2) if e < 5 else 0.9 ** (e - 6),
    ),
    (
        lambda o: optim.lr_scheduler.SequentialLR(
            o, [combined(o, "ChainedScheduler"), optim.lr_scheduler.ConstantLR(o, 0.25, 9)], [6]
        ),
        lambda e: (0.5 if e < 4 else 1) * 0.9**e if e < 6 else 0.25,
    ),
]


def half_cosine(x):
    return (1 + math.cos(math.pi * x)) / 2


def combined(optimizer, name, *milestones):
    s = optim.lr_scheduler
    parts = [s.ConstantLR(optimizer, 0.5, 4), s.ExponentialLR(optimizer, 0.9)]
    return s.SequentialLR(optimizer, parts, *milestones) if milestones else getattr(s, name)(parts)


@pytest.mark.parametrize("build, factor", SCHEDULES)
def test_schedule(build, factor):
    w = rl.ones(1, requires_grad=True)
    optimizer = optim.SGD([w], lr=2.0)
    scheduler = build(optimizer)
    for epoch in range(10):
        np.testing.assert_allclose(optimizer.param_groups[0]["lr"], 2 * factor(epoch), rtol=1e-12, atol=1e-15)
        assert scheduler.get_last_lr() == [optimizer.param_groups[0]["lr"]]
        assert getattr(scheduler, "last_epoch", epoch) == epoch
        optimizer.step()
        scheduler.step()


def test_schedules_warn():
    w = rl.ones(1, requires_grad=True)
    scheduler = optim.lr_scheduler.StepLR(optim.SGD([w]), 2)
    with pytest.warns(UserWarning, match="before the optimizer took its first step"):
        scheduler.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        scheduler.get_lr()
    assert "optimizer" not in scheduler.state_dict()


@pytest.mark.parametrize("kind, read", [("SGD", lambda g: g["momentum"]), ("Adam", lambda g: g["betas"][0])])
def test_momentum_goes_the_other_way(kind, read):
    optimizer = getattr(optim, kind)([rl.ones(1, requires_grad=True)], **({"momentum": 0.5} if kind == "SGD" else {}))
    scheduler = optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.2, 2, base_momentum=0.6, max_momentum=0.8)
    found = []
    for _ in range(5):
        found.append(read(optimizer.param_groups[0]))
        optimizer.step()
        scheduler.step()
    np.testing.assert_allclose(found, [0.8, 0.7, 0.6, 0.7, 0.8], rtol=1e-12)
    scheduler = optim.lr_scheduler.OneCycleLR(optimizer, 1.0, 5, pct_start=0.6, anneal_strategy="linear")
    found = []
    for _ in range(5):
        found.append(read(optimizer.param_groups[0]))
        optimizer.step()
        scheduler.step()
    np.testing.assert_allclose(found, [0.95, 0.9, 0.85, 0.9, 0.95], rtol=1e-12)


def test_plateau():
    optimizer = optim.SGD([rl.ones(1, requires_grad=True)], lr=1.0)
    scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=2, min_lr=0.2)
    rates = []
    for loss in (5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4):
        scheduler.step(loss)
        rates.append(optimizer.param_groups[0]["lr"])
        assert scheduler.get_last_lr() == [rates[-1]]
    assert rates == [1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2]
    assert scheduler.best == 4 and scheduler.last_epoch == 14
    optimizer.add_param_group({"params": rl.ones(1, requires_grad=True), "lr": 1.0})
    for _ in range(4):
        scheduler.step(float("nan"))  # never an improvement
    assert [g["lr"] for g in optimizer.param_groups] == [0.2, 0.5] and scheduler.min_lrs == [0.2, 0.2]


def test_restarts_go_on_at_an_epoch():
    make = lambda o, **more: optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 3, 2, **more)
    optimizer = optim.SGD([rl.ones(1, requires_grad=True)], lr=1.0)
    scheduler = make(optimizer)
    for _ in range(30):
        resumed = make(optimizer, last_epoch=scheduler.last_epoch)
        scheduler.step()
        assert resumed.get_last_lr() == scheduler.get_last_lr()
        assert (resumed.T_cur, resumed.T_i) == (scheduler.T_cur, scheduler.T_i)


@pytest.mark.parametrize(
    "build, hint",
    [
        (lambda s, o: s.CyclicLR(o, 0.1, 1.0, mode="square"), "mode='triangular'"),
        (lambda s, o: s.CyclicLR(optim.Adagrad(o.param_groups[0]["params"]), 0.1, 1.0), "cycle_momentum=False"),
        (lambda s, o: s.OneCycleLR(o, 1.0), "give total_steps, or epochs and steps_per_epoch"),
        (lambda s, o: s.OneCycleLR(o, 1.0, 2, last_epoch=2), "counts the batches of all epochs"),
        (lambda s, o: s.LambdaLR(o, [abs, abs]), "one for each"),
        (lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1), s.ReduceLROnPlateau(o)], [1]), "step that one beside it"),
    ],
)
def test_schedules_say_what_to_do(build, hint):
    optimizer = optim.SGD([rl.ones(1, requires_grad=True)], momentum=0.9)
    optimizer.param_groups[0]["initial_lr"] = 1.0
    with pytest.raises(ValueError, match=rf"\n  hint: .*{hint}"):
        build(optim.lr_scheduler, optimizer)


class Warmup(optim.lr_scheduler.LRScheduler):
    """A schedule as users write them."""

    def __init__(self, optimizer, steps, last_epoch=-1):
        self.steps = steps
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [base * min(1.0, (self.last_epoch + 1) / self.steps) for base in self.base_lrs]


def test_a_schedule_of_ones_own():
    optimizer = optim.SGD([rl.ones(1, requires_grad=True)], lr=1.0)
    s = optim.lr_scheduler
    scheduler = s.SequentialLR(
        optimizer, [Warmup(optimizer, 2), Warmup(optimizer, 4), s.ExponentialLR(optimizer, 0.5)], [2, 4]
    )
    rates = []
    for _ in range(7):
        rates += scheduler.get_last_lr()
        optimizer.step()
        scheduler.step()
    assert rates == [0.5, 1.0, 0.25, 0.5, 1.0, 0.5, 0.25]
