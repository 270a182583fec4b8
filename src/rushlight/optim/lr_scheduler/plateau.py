"""A schedule that follows a measure."""

from __future__ import annotations

import math
from typing import SupportsFloat

from ..._warnings import warn
from ..optimizer import Optimizer
from .base import LRScheduler, check_optimizer, one_per_group, present_rates, set_option


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rates by factor when a measure has not improved for more than patience epochs.

    Args:
        optimizer: see LRScheduler.
        mode: ``"min"`` where a lower measure is better, ``"max"`` where a higher.
        factor: below 1.
        patience: epochs without improvement that change nothing.
        threshold: what counts as an improvement: by this part of the best so far (threshold_mode ``"rel"``), or by
            this much (``"abs"``).
        cooldown: epochs after a reduction that are not looked at.
        min_lr: the lowest rate, or a list of one for each group.
        eps: smaller reductions are not made.

    Raises:
        ValueError: factor is 1 or more, an unknown mode, or a list of another length than there are groups.

    Example:
        >>> import rushlight as rl
        >>> optimizer = rl.optim.SGD([rl.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = rl.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        >>> rates = []
        >>> for loss in (3.0, 2.0, 2.0, 2.0, 1.0):
        ...     scheduler.step(loss)
        ...     rates += scheduler.get_last_lr()
        >>> rates
        [1.0, 1.0, 1.0, 0.1, 0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        check_optimizer(optimizer)
        if factor >= 1.0:
            raise ValueError(f"factor must be below 1, or rates would not go down, but got {factor}")
        if mode not in ("min", "max"):
            raise ValueError(f"mode is 'min' or 'max', but got {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold_mode is 'rel' or 'abs', but got {threshold_mode!r}")
        self.optimizer = optimizer
        self.factor = factor
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = one_per_group("min_lr", min_lr, optimizer.param_groups)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.mode = mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0
        self.last_epoch = 0
        self._last_lr = present_rates(optimizer.param_groups)

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs are not looked at, since the rates have just gone down."""
        return self.cooldown_counter > 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Takes an epoch's measure into account, a number or a tensor of one element."""
        measure = float(metrics)
        if epoch is not None:
            warn("scheduler.step() with an epoch is deprecated\n  hint: call step(measure); it goes to the next epoch")
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(measure):
            self.best = measure
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = present_rates(self.optimizer.param_groups)

    def _is_better(self, measure):
        sign = 1 if self.mode == "min" else -1
        margin = self.threshold if self.threshold_mode == "abs" else self.threshold * self.best * sign
        if math.isinf(self.best):  # nothing yet
            margin = 0.0
        return sign * measure < sign * self.best - margin

    def _reduce(self):
        groups = self.optimizer.param_groups
        for i, group in enumerate(groups):
            if i == len(self.min_lrs):  # a group that was added later
                if self.default_min_lr is None:
                    raise RuntimeError(
                        f"min_lr has {len(self.min_lrs)} values, the optimizer {len(groups)} groups by now\n"
                        "  hint: append to scheduler.min_lrs, or give min_lr as a number"
                    )
                self.min_lrs.append(self.default_min_lr)
            rate = float(group["lr"])
            lower = max(rate * self.factor, self.min_lrs[i])
            if rate - lower > self.eps:
                set_option(group, "lr", lower)
