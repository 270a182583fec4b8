"""Schedules that move rates up and down, and momentum the other way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, check_optimizer, one_per_group, set_option, with_attributes, without_functions


class _CycledMomentum(LRScheduler):
    """The base of schedules that move momentum too: the option of this name, or the first of the betas."""

    cycle_momentum: bool
    use_beta1: bool

    def _prepare_momentum(self, optimizer, cycle_momentum, base_momentum, max_momentum, begin):
        """Looks for the option and notes both ends in the groups; returns them."""
        groups = optimizer.param_groups
        lows = one_per_group("base_momentum", base_momentum, groups)
        highs = one_per_group("max_momentum", max_momentum, groups)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = "betas" in optimizer.defaults
            if not self.use_beta1 and "momentum" not in optimizer.defaults:
                raise ValueError(
                    f"{type(self).__name__}: {type(optimizer).__name__} has no momentum and no betas to cycle\n"
                    "  hint: pass cycle_momentum=False"
                )
            if begin:
                for group, low, high in zip(groups, lows, highs, strict=True):
                    self._set_momentum(group, high)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        return lows, highs

    def _set_momentum(self, group, value):
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_CycledMomentum):
    """Moves the rates up and down between two bounds, a step every batch (Smith 2015).

    Args:
        optimizer: see LRScheduler.
        base_lr, max_lr: the bounds, each a number or a list of one for each group.
        step_size_up: steps from the lower to the upper.
        step_size_down: steps back; unless given, as many.
        mode: ``"triangular"``, ``"triangular2"`` (the height halves every cycle) or ``"exp_range"`` (it is multiplied
            by gamma every step).
        scale_fn: a function that the height is multiplied by, in place of a mode.
        scale_mode: what that function gets: ``"cycle"`` for the cycle's number from 1, ``"iterations"`` for the steps.
        cycle_momentum: move the momentum the other way, between max_momentum and base_momentum.

    Raises:
        ValueError: an unknown mode, a list of another length than there are groups, or cycle_momentum with an
            optimizer that has none.

    Example:
        >>> import rushlight as rl
        >>> optimizer = rl.optim.SGD([rl.zeros(1, requires_grad=True)], lr=0.1, momentum=0.9)
        >>> scheduler = rl.optim.lr_scheduler.CyclicLR(optimizer, base_lr=1.0, max_lr=2.0, step_size_up=2)
        >>> rates = []
        >>> for step in range(6):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step(); scheduler.step()
        >>> rates
        [1.0, 1.5, 2.0, 1.5, 1.0, 1.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8,
        max_momentum: float | Sequence[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(
                f"CyclicLR: there is no mode {mode!r}\n"
                "  hint: mode='triangular', 'triangular2' or 'exp_range', or give a scale_fn"
            )
        groups = optimizer.param_groups
        base_lrs = one_per_group("base_lr", base_lr, groups)
        if last_epoch == -1:
            for group, low in zip(groups, base_lrs, strict=True):
                set_option(group, "lr", low)
        self.max_lrs = one_per_group("max_lr", max_lr, groups)
        up, down = float(step_size_up), float(step_size_up if step_size_down is None else step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self.scale_mode = "iterations" if scale_fn is None and mode == "exp_range" else scale_mode
        self._scale_fn_custom = scale_fn
        self.base_momentums, self.max_momentums = self._prepare_momentum(
            optimizer, cycle_momentum, base_momentum, max_momentum, last_epoch == -1
        )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """What the height is multiplied by, in cycle x or, by scale_mode, after x steps."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return 1 / 2.0 ** (x - 1)
        return self.gamma**x if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[Any]:
        self._current()
        cycles = self.last_epoch / self.total_size
        cycle = math.floor(1 + cycles)
        x = 1.0 + cycles - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in bounds:
                self._set_momentum(group, high - (high - low) * height * scale)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """The schedule's state; a scale_fn is left out, of a callable object its attributes are kept."""
        custom = self._scale_fn_custom
        return super().state_dict() | {"_scale_fn_custom": custom if custom is None else without_functions([custom])[0]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what ``state_dict()`` gave."""
        state = dict(state_dict)
        with_attributes([self._scale_fn_custom], [state.pop("_scale_fn_custom")])
        super().load_state_dict(state)


class OneCycleLR(_CycledMomentum):
    """Takes the rates up to max_lr and down far below where they began, a step every batch (Smith and Topin 2017).

    Args:
        optimizer: see LRScheduler.
        max_lr: the highest rate, or a list of one for each group.
        total_steps: the length; or epochs and steps_per_epoch, whose product it is.
        pct_start: the part of it that goes up.
        anneal_strategy: along half a cosine (``"cos"``) or straight (``"linear"``).
        cycle_momentum: move the momentum the other way, between max_momentum and base_momentum.
        div_factor: the first rate is max_lr / div_factor,
        final_div_factor: and the last is this part of the first.
        three_phase: go down to the first rate as fast as up, and then on to the last.

    Raises:
        ValueError: no length, or one that is no integer above 0; pct_start outside [0, 1]; an unknown strategy; a list
            of another length than there are groups; cycle_momentum with an optimizer that has none; or, at a step,
            more steps than total_steps.

    Example:
        >>> import rushlight as rl
        >>> optimizer = rl.optim.SGD([rl.zeros(1, requires_grad=True)], lr=0.1, momentum=0.9)
        >>> scheduler = rl.optim.lr_scheduler.OneCycleLR(
        ...     optimizer, max_lr=1.0, total_steps=5, pct_start=0.4, anneal_strategy="linear", div_factor=4)
        >>> rates = []
        >>> for step in range(5):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step(); scheduler.step()
        >>> [round(rate, 3) for rate in rates]
        [0.25, 1.0, 0.667, 0.333, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.total_steps = _length(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, (int, float)) or not 0 <= pct_start <= 1:
            raise ValueError(f"pct_start is between 0 and 1, but got {pct_start!r}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy is 'cos' or 'linear', but got {anneal_strategy!r}")
        self._anneal_func_type = anneal_strategy
        # What the groups are to hold at the end of each phase; in steps, which begin with 0.
        up = float(pct_start * self.total_steps) - 1
        turns: list[tuple[float, str, str]] = [(0, "initial_lr", "max_momentum"), (up, "max_lr", "base_momentum")]
        if three_phase:
            turns.append((2 * up, "initial_lr", "max_momentum"))
        turns.append((self.total_steps - 1, "min_lr", "max_momentum"))
        self._schedule_phases: list[dict[str, Any]] = [
            {
                "end_step": end,
                "start_lr": start_lr,
                "end_lr": end_lr,
                "start_momentum": start_momentum,
                "end_momentum": end_momentum,
            }
            for (_, start_lr, start_momentum), (end, end_lr, end_momentum) in zip(turns, turns[1:], strict=False)
        ]
        groups = optimizer.param_groups
        for group, highest in zip(groups, one_per_group("max_lr", max_lr, groups), strict=True):
            if last_epoch == -1:
                group["initial_lr"] = highest / div_factor
                group["max_lr"] = highest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self._prepare_momentum(optimizer, cycle_momentum, base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._current()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"OneCycleLR has {self.total_steps} steps, and this is number {step}\n"
                "  hint: total_steps counts the batches of all epochs"
            )
        begin = 0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            begin = phase["end_step"]
        part = (step - begin) / (phase["end_step"] - begin)
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                self._set_momentum(
                    group, self._between(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
                )
        return [self._between(group[phase["start_lr"]], group[phase["end_lr"]], part) for group in groups]

    def _between(self, start, end, part):
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (1 + math.cos(math.pi * part))


def _length(total_steps, epochs, steps_per_epoch):
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ValueError("OneCycleLR must know its length\n  hint: give total_steps, or epochs and steps_per_epoch")
    given = (
        {"total_steps": total_steps}
        if total_steps is not None
        else {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    )
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"{name} must be an integer above 0, but got {value!r}")
    return math.prod(given.values())
