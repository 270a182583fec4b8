"""Schedules along cosines."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler


class CosineAnnealingLR(LRScheduler):
    """Takes the rates along half a cosine from their initial values down to eta_min in T_max epochs, and up again.

    From Loshchilov and Hutter 2016, without the restarts. Each rate is computed from the one before, so that a change
    made by something else stays.

    Example:
        >>> import rushlight as rl
        >>> optimizer = rl.optim.SGD([rl.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = rl.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
        >>> optimizer.step(); scheduler.step()
        >>> round(scheduler.get_last_lr()[0], 4)
        0.5
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        rates, epoch, low = self._current(), self.last_epoch, self.eta_min
        if self._is_initial:
            return rates
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # just past the minimum, where the ratio below is 0/0
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - low) * rise for rate, base in zip(rates, self.base_lrs, strict=True)]
        height = lambda e: 1 + math.cos(math.pi * e / self.T_max)
        return [height(epoch) / height(epoch - 1) * (rate - low) + low for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        height = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Takes the rates along half a cosine from their initial values down to eta_min, again and again.

    SGDR of Loshchilov and Hutter 2016.

    Args:
        optimizer: see LRScheduler.
        T_0: epochs until the first restart.
        T_mult: each period is so many times as long as the one before.
        eta_min: the lowest rate.
        last_epoch: see LRScheduler.

    Raises:
        ValueError: T_0 or T_mult is no integer above 0.

    Example:
        >>> import rushlight as rl
        >>> optimizer = rl.optim.SGD([rl.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = rl.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2, T_mult=2)
        >>> rates = []
        >>> for epoch in range(7):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step(); scheduler.step()
        >>> [round(rate, 4) for rate in rates]
        [1.0, 0.5, 1.0, 0.8536, 0.5, 0.1464, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be an integer of at least 1, but got {value!r}")
        if not isinstance(eta_min, (int, float)):
            raise ValueError(f"eta_min must be a number, but got {eta_min!r}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        if last_epoch >= 0:
            self.T_cur, self.T_i = self._within_period(last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._current()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Goes to the next epoch, or to the given one, which may be a fraction: ``epoch + batch / batches``."""
        self._go_to(epoch)

    def _go_to(self, epoch=None):
        if epoch is not None and epoch < 0:
            raise ValueError(f"epoch must not be negative, but got {epoch}")
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            self.last_epoch += 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            self.last_epoch = math.floor(epoch)
            self.T_cur, self.T_i = self._within_period(epoch)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set(rates)

    def _within_period(self, epoch):
        """How far into its period an epoch is, and that period's length."""
        if self.T_mult == 1:
            return epoch % self.T_0 if epoch >= self.T_0 else epoch, self.T_0
        begin, length = 0, self.T_0
        while epoch >= begin + length:
            begin += length
            length *= self.T_mult
        return epoch - begin, length
