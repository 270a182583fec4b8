"""Schedules made of others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, present_rates, set_option
from .plateau import ReduceLROnPlateau


class _Combined(LRScheduler):
    """The base of schedules that step others, all of the same optimizer."""

    _schedulers: list[LRScheduler]

    def _take(self, schedulers, optimizer):
        name = type(self).__name__
        if not schedulers:
            raise ValueError(f"{name} needs at least one scheduler")
        for i, scheduler in enumerate(schedulers):
            kind = type(scheduler).__name__
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name}: number {i} is {kind}, which is not a scheduler")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} cannot step ReduceLROnPlateau (number {i}): step() has no measure to pass on\n"
                    "  hint: step that one beside it"
                )
            if optimizer is None:
                optimizer = scheduler.optimizer
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    f"{name}: all schedulers must be of the same optimizer, but number {i} ({kind}) is of another"
                )
        self.optimizer = optimizer
        self._schedulers = list(schedulers)

    def state_dict(self) -> dict[str, Any]:
        """All of the schedule's state but the optimizer."""
        return super().state_dict() | {"_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what ``state_dict()`` gave."""
        state = dict(state_dict)
        for scheduler, saved in zip(self._schedulers, state.pop("_schedulers"), strict=True):
            scheduler.load_state_dict(saved)
        super().load_state_dict(state)


class SequentialLR(_Combined):
    """One schedule after another.

    Args:
        optimizer: that of all schedulers.
        schedulers: the schedules, in the order of their turns.
        milestones: epochs where the next takes over, at its own epoch 0; one fewer than schedulers.
        last_epoch: see LRScheduler.

    Raises:
        ValueError: no schedulers, a wrong number of milestones, schedulers of different optimizers, or
            ReduceLROnPlateau among them.
        TypeError: something that is no scheduler.

    Example:
        >>> import rushlight as rl
        >>> from rushlight.optim.lr_scheduler import ExponentialLR, LinearLR, SequentialLR
        >>> optimizer = rl.optim.SGD([rl.zeros(1, requires_grad=True)], lr=1.0)
        >>> warmup = LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> scheduler = SequentialLR(optimizer, [warmup, ExponentialLR(optimizer, 0.5)], milestones=[2])
        >>> rates = []
        >>> for epoch in range(5):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step(); scheduler.step()
        >>> rates
        [0.5, 0.75, 1.0, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        self._take(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR needs one milestone between two schedulers: {len(schedulers)} schedulers take "
                f"{len(schedulers) - 1}, but got {len(milestones)}"
            )
        self._milestones = list(milestones)
        self.last_epoch = last_epoch
        # Each schedule has taken its first step when it was made; only the first one should have.
        for group in optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        for scheduler in self._schedulers:
            scheduler._take_back()
        self._begin()

    def _begin(self):
        self.last_epoch += 1
        self._schedulers[0]._begin()
        self._last_lr = self._schedulers[0].get_last_lr()

    def _take_back(self):
        super()._take_back()
        self._schedulers[0]._take_back()

    def step(self) -> None:  # type: ignore[override]
        """Goes to the next epoch and sets the learning rates."""
        self._go_to()

    def _go_to(self, epoch=None):
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if epoch == 0 or (turn > 0 and self._milestones[turn - 1] == self.last_epoch):
            scheduler._go_to(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Several schedules at once: each changes what the ones before it have set.

    Args:
        schedulers: the schedules, which should compute rates from the present ones, as most do.
        optimizer: that of all schedulers; unless given, that of the first.

    Raises:
        ValueError: no schedulers, schedulers of different optimizers, or ReduceLROnPlateau among them.
        TypeError: something that is no scheduler.

    Example:
        >>> import rushlight as rl
        >>> from rushlight.optim.lr_scheduler import ChainedScheduler, ConstantLR, ExponentialLR
        >>> optimizer = rl.optim.SGD([rl.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = ChainedScheduler([ConstantLR(optimizer, 0.5, total_iters=2), ExponentialLR(optimizer, 0.5)])
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step(); scheduler.step()
        >>> rates
        [0.5, 0.25, 0.25, 0.125]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self._take(schedulers, optimizer)
        self._last_lr = present_rates(self.optimizer.param_groups)

    def _begin(self):
        for scheduler in self._schedulers:
            scheduler._begin()
        self._last_lr = present_rates(self.optimizer.param_groups)

    def _take_back(self):
        for scheduler in self._schedulers:
            scheduler._take_back()

    def step(self) -> None:  # type: ignore[override]
        """Goes to the next epoch and sets the learning rates."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = present_rates(self.optimizer.param_groups)

    def _go_to(self, epoch=None):
        for scheduler in self._schedulers:
            scheduler._go_to(epoch)
        self._last_lr = present_rates(self.optimizer.param_groups)
