"""The base of schedules."""

from __future__ import annotations

from typing import Any

from ... import Tensor
from ..._warnings import warn
from ..optimizer import Optimizer


class LRScheduler:
    """The base class of schedules: a subclass defines ``get_lr``, a list of one learning rate for each group.

    Args:
        optimizer: its groups' ``"lr"`` is set at each step; ``"initial_lr"`` keeps where it began.
        last_epoch: the number of the last epoch when training goes on; -1 to begin.

    Raises:
        TypeError: ``optimizer`` is not an Optimizer.
        KeyError: ``last_epoch`` is given but the optimizer's groups do not know their initial rates.
    """

    _get_lr_called_within_step = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                rate = group["lr"]
                group.setdefault("initial_lr", rate.clone() if isinstance(rate, Tensor) else rate)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming an optimizer\n"
                    "  hint: load the optimizer's state_dict first, or set last_epoch=-1"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._last_lr: list[Any] = []
        self._begin()

    def _begin(self):
        """The first step, which the optimizer's need not precede, and which finds the rates of the epoch before or,
        where training goes on (last_epoch is given), those of this epoch already."""
        self.optimizer._opt_called = False
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def _take_back(self):
        """Undoes the count of the first step, for another schedule that will take it later."""
        self.last_epoch -= 1

    def get_lr(self) -> list[Any]:
        """The learning rates at ``last_epoch``, computed from the optimizer's present ones."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def get_last_lr(self) -> list[Any]:
        """The learning rates set by the last step."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Goes to the next epoch (or, deprecated, to the given one) and sets the learning rates."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warn(
                "the scheduler went on before the optimizer took its first step, so that no step is made with the "
                "schedule's first rate\n  hint: call optimizer.step() first, then scheduler.step()"
            )
        self._step_count += 1
        if epoch is not None:
            warn("scheduler.step() with an epoch is deprecated\n  hint: call step() without; it goes to the next epoch")
        self._go_to(epoch)

    def _go_to(self, epoch=None):
        """Sets the rates of the next epoch or of the given one, and whatever else the schedule moves."""
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = getattr(self, "_get_closed_form_lr", self.get_lr)()
        finally:
            self._get_lr_called_within_step = False
        self._set(rates)

    def _set(self, rates):
        groups = self.optimizer.param_groups
        for group, rate in zip(groups, rates, strict=False):
            set_option(group, "lr", rate)
        self._last_lr = present_rates(groups)

    def _current(self):
        """The groups' present rates; get_lr starts from them, which makes sense within step alone."""
        if not self._get_lr_called_within_step:
            warn(
                "get_lr() computes the next rates from the present ones, which is of use within step() alone\n"
                "  hint: get_last_lr() tells the rates that the last step has set"
            )
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """All of the schedule's state but the optimizer."""
        return {
            key: value for key, value in self.__dict__.items() if key not in ("optimizer", "_get_lr_called_within_step")
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what ``state_dict()`` gave. The optimizer's own state_dict holds the present rates: load it too."""
        self.__dict__.update(state_dict)


def check_optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def one_per_group(name, values, groups):
    """A list of one value for each group, of a list or of a single value; ValueError where the list is too short."""
    if not isinstance(values, (list, tuple)):
        return [values] * len(groups)
    if len(values) != len(groups):
        raise ValueError(
            f"{name} has {len(values)} values, the optimizer {len(groups)} groups\n  hint: one for each, or a number"
        )
    return list(values)


def set_option(group, name, value):
    """Sets an option of a group; a Tensor stays the same Tensor."""
    if isinstance(group[name], Tensor):
        group[name].fill_(float(value))
    else:
        group[name] = value


def present_rates(groups):
    """The groups' rates; Tensors are copied, since they change in place."""
    return [rate.clone() if isinstance(rate, Tensor) else rate for rate in (group["lr"] for group in groups)]


def without_functions(values):
    """What a state_dict keeps of callables: the attributes of objects, and nothing (None) of functions."""
    return [None if _is_function(f) else dict(f.__dict__) for f in values]


def with_attributes(values, saved):
    """Gives callables the attributes that ``without_functions`` kept."""
    for f, attributes in zip(values, saved, strict=True):
        if attributes is not None:
            f.__dict__.update(attributes)


def _is_function(f):
    return isinstance(f, type(_is_function)) or not hasattr(f, "__dict__")
