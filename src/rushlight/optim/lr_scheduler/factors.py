"""Schedules that multiply the rates by a factor of the epoch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, check_optimizer, one_per_group, with_attributes, without_functions


class _FunctionLR(LRScheduler):
    """The base of schedules that functions of the epoch define, one for each group."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.lr_lambdas = one_per_group("lr_lambda", lr_lambda, optimizer.param_groups)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """The schedule's state; functions are left out, of callable objects their attributes are kept."""
        return super().state_dict() | {"lr_lambdas": without_functions(self.lr_lambdas)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what ``state_dict()`` gave."""
        state = dict(state_dict)
        with_attributes(self.lr_lambdas, state.pop("lr_lambdas"))
        super().load_state_dict(state)


class LambdaLR(_FunctionLR):
    """Initial rates times a function of the epoch.

    Args:
        optimizer: see LRScheduler.
        lr_lambda: a function of the epoch's number, or a list of one for each group.

    Raises:
        ValueError: a list of another length than there are groups.

    Example:
        >>> import rushlight as rl
        >>> optimizer = rl.optim.SGD([rl.zeros(1, requires_grad=True)], lr=0.5)
        >>> scheduler = rl.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5 ** epoch)
        >>> optimizer.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]
    """

    def get_lr(self) -> list[Any]:
        self._current()
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(_FunctionLR):
    """Multiplies the rates by a function of the epoch, every epoch.

    Args:
        optimizer: see LRScheduler.
        lr_lambda: a function of the epoch's number, or a list of one for each group.

    Raises:
        ValueError: a list of another length than there are groups.

    Example:
        >>> import rushlight as rl
        >>> optimizer = rl.optim.SGD([rl.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = rl.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 1 / epoch)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step(); scheduler.step()
        >>> [round(rate, 4) for rate in rates]
        [1.0, 1.0, 0.5, 0.1667]
    """

    def get_lr(self) -> list[Any]:
        rates = self._current()
        if self._is_initial:
            return rates
        return [rate * f(self.last_epoch) for rate, f in zip(rates, self.lr_lambdas, strict=True)]


class StepLR(LRScheduler):
    """Multiplies the rates by gamma every step_size epochs.

    Example:
        >>> import rushlight as rl
        >>> optimizer = rl.optim.SGD([rl.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = rl.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        >>> rates = []
        >>> for epoch in range(5):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step(); scheduler.step()
        >>> rates
        [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        rates = self._current()
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return rates
        return [rate * self.gamma for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies the rates by gamma at each of the milestones, a list of epochs.

    Example:
        >>> import rushlight as rl
        >>> optimizer = rl.optim.SGD([rl.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = rl.optim.lr_scheduler.MultiStepLR(optimizer, [1, 3], gamma=0.5)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step(); scheduler.step()
        >>> rates
        [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        from collections import Counter

        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        factor = self.gamma ** self.milestones[self.last_epoch]
        return [rate * factor if self.last_epoch in self.milestones else rate for rate in self._current()]

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Multiplies the initial rates by factor until total_iters epochs have passed.

    Raises:
        ValueError: factor is not between 0 and 1.

    Example:
        >>> import rushlight as rl
        >>> optimizer = rl.optim.SGD([rl.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = rl.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step(); scheduler.step()
        >>> rates
        [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        rates = self._current()
        if self.last_epoch == 0:
            return [rate * self.factor for rate in rates]
        if self.last_epoch == self.total_iters:
            return [rate * (1.0 / self.factor) for rate in rates] if self.factor else list(self.base_lrs)
        return rates

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self.factor if self.last_epoch < self.total_iters else 1
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Multiplies the initial rates by a factor that goes straight from start_factor to end_factor in total_iters.

    Raises:
        ValueError: a factor is not between 0 and 1, or start_factor is 0.

    Example:
        >>> import rushlight as rl
        >>> optimizer = rl.optim.SGD([rl.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = rl.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=3)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step(); scheduler.step()
        >>> rates
        [0.25, 0.5, 0.75, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        rates = self._current()
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in rates]
        if self._is_initial or self.last_epoch > self.total_iters:
            return rates
        change = self.end_factor - self.start_factor
        ratio = 1 + change / (self.total_iters * self.start_factor + (self.last_epoch - 1) * change)
        return [rate * ratio for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        part = min(self.last_epoch, self.total_iters) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * part) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies the rates by gamma every epoch.

    Example:
        >>> import rushlight as rl
        >>> optimizer = rl.optim.SGD([rl.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = rl.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step(); scheduler.step()
        >>> rates
        [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        rates = self._current()
        return rates if self._is_initial else [rate * self.gamma for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Takes the rates down to 0 in total_iters epochs: at epoch t they are (1 - t / total_iters) ** power of the first.

    Example:
        >>> import rushlight as rl
        >>> optimizer = rl.optim.SGD([rl.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = rl.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4, power=2.0)
        >>> rates = []
        >>> for epoch in range(5):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step(); scheduler.step()
        >>> [round(rate, 4) for rate in rates]
        [1.0, 0.5625, 0.25, 0.0625, 0.0]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        rates = self._current()
        if self._is_initial or self.last_epoch > self.total_iters:
            return rates
        left = lambda epoch: 1.0 - epoch / self.total_iters
        ratio = (left(self.last_epoch) / left(self.last_epoch - 1)) ** self.power
        return [rate * ratio for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.last_epoch, self.total_iters) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]
