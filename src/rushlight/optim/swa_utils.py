"""Averages of a model's weights over training: stochastic weight averaging and exponential moving averages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

import rushlight as rl

from .. import Tensor
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from .lr_scheduler.base import LRScheduler, check_optimizer, one_per_group
from .optimizer import Optimizer

AverageFunction = Callable[[Tensor, Tensor, Any], Tensor]
MultiAverageFunction = Callable[[list[Tensor], list[Tensor], Any], None]


def get_swa_avg_fn() -> AverageFunction:
    """The plain mean, as a function of the average so far, a new value and how many have been averaged."""

    def mean(averaged: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        return averaged + (current - averaged) / (num_averaged + 1)

    return rl.no_grad()(mean)


def get_ema_avg_fn(decay: float = 0.999) -> AverageFunction:
    """The exponential moving average, as a function of the average so far, a new value and how many have been averaged.

    Raises:
        ValueError: decay is not between 0 and 1.
    """
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"decay is between 0 and 1, but got {decay}")

    def moving(averaged: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        if averaged.is_floating_point():
            return averaged.lerp(current, 1 - decay)
        return averaged * decay + current * (1 - decay)

    return rl.no_grad()(moving)


def _each(average):
    """Of a function of two tensors, one that updates a list of averages in place."""

    def update(averaged: list[Tensor], current: list[Tensor], num_averaged: Any) -> None:
        for a, c in zip(averaged, current, strict=True):
            a.copy_(average(a, c, num_averaged))

    return rl.no_grad()(update)


def get_swa_multi_avg_fn() -> MultiAverageFunction:
    """The plain mean, as a function that updates a list of averages in place."""
    return _each(get_swa_avg_fn())


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverageFunction:
    """The exponential moving average, as a function that updates a list of averages in place.

    Raises:
        ValueError: decay is not between 0 and 1.
    """
    return _each(get_ema_avg_fn(decay))


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's, as it trains.

    The plain mean unless a function is given: stochastic weight averaging (Izmailov et al. 2018). With
    ``multi_avg_fn=get_ema_multi_avg_fn(decay)`` it is an exponential moving average (Polyak and Juditsky 1992).

    Args:
        model: what is copied.
        device: where the averages lie; unless given, beside the model's parameters.
        avg_fn: the new average, a function of (average, parameter, how many have been averaged).
        multi_avg_fn: the same over lists of tensors of one dtype, in place.
        use_buffers: average buffers too, such as running statistics, rather than copy them.

    Raises:
        AssertionError: both functions are given.

    Example:
        >>> import rushlight as rl
        >>> from rushlight.optim.swa_utils import AveragedModel
        >>> model = rl.nn.Linear(1, 1, bias=False)
        >>> averaged = AveragedModel(model)
        >>> for value in (1.0, 2.0, 6.0):
        ...     _ = rl.nn.init.constant_(model.weight, value)
        ...     averaged.update_parameters(model)
        >>> averaged(rl.ones(1)).item()
        3.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: AverageFunction | None = None,
        multi_avg_fn: MultiAverageFunction | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("AveragedModel takes avg_fn or multi_avg_fn, but got both")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", rl.tensor(0, dtype=rl.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Takes the model's present parameters into the averages."""
        averaged, current = self._averaged_tensors(self.module), self._averaged_tensors(model)
        pairs = [(a.detach(), c.detach().to(a.device)) for a, c in zip(averaged, current, strict=True)]
        with rl.no_grad():
            if self.n_averaged == 0:
                for a, c in pairs:
                    a.copy_(c)
            elif self.avg_fn is not None:
                for a, c in pairs:
                    a.copy_(self.avg_fn(a, c, self.n_averaged))
            else:
                self._update_by_dtype(pairs)
            if not self.use_buffers:
                for a, c in zip(self.module.buffers(), model.buffers(), strict=True):
                    a.copy_(c)
            self.n_averaged += 1

    def _averaged_tensors(self, model):
        return [*model.parameters(), *(model.buffers() if self.use_buffers else ())]

    def _update_by_dtype(self, pairs):
        update = get_swa_multi_avg_fn() if self.multi_avg_fn is None else self.multi_avg_fn
        for dtype in dict.fromkeys(a.dtype for a, _ in pairs):
            some = [pair for pair in pairs if pair[0].dtype == dtype]
            update([a for a, _ in some], [c for _, c in some], self.n_averaged)


@rl.no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Computes the running statistics of a model's batch normalization anew, as means over one pass of the data.

    An averaged model needs this: its weights never saw the statistics of the weights that were averaged.

    Args:
        loader: batches, each the model's input or a tuple or list that begins with it.
        model: modules of batch normalization in it that keep statistics start over; everything else stays.
        device: where inputs are moved to.

    Example:
        >>> import rushlight as rl
        >>> model = rl.nn.BatchNorm1d(1)
        >>> rl.optim.swa_utils.update_bn([rl.ones(4, 1), 3 * rl.ones(4, 1)], model)
        >>> model.running_mean
        tensor([2.])
    """
    normalizing = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not normalizing:
        return
    momenta, training = [m.momentum for m in normalizing], model.training
    try:
        model.train()
        for module in normalizing:
            module.reset_running_stats()
            module.momentum = None
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    finally:
        for module, momentum in zip(normalizing, momenta, strict=True):
            module.momentum = momentum
        model.train(training)


class SWALR(LRScheduler):
    """Takes the rates from where they are to swa_lr in anneal_epochs, and keeps them there.

    Args:
        optimizer: see LRScheduler.
        swa_lr: the rate in the end, or a list of one for each group.
        anneal_epochs: epochs on the way.
        anneal_strategy: along half a cosine (``"cos"``) or straight (``"linear"``).
        last_epoch: see LRScheduler.

    Raises:
        ValueError: an unknown strategy, anneal_epochs that is no integer of at least 0, or a list of another length
            than there are groups.

    Example:
        >>> import rushlight as rl
        >>> optimizer = rl.optim.SGD([rl.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = rl.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step(); scheduler.step()
        >>> rates
        [1.0, 0.75, 0.5, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | Sequence[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        for group, rate in zip(
            optimizer.param_groups, one_per_group("swa_lr", swa_lr, optimizer.param_groups), strict=True
        ):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy is 'cos' or 'linear', but got {anneal_strategy!r}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be an integer of at least 0, but got {anneal_epochs!r}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        rates = self._current()
        # What is left of the way after a step; the rates stand where the step before has put them.
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        left, before = self._way_left(step), self._way_left(step - 1)
        ratio = left / before if before else 0.0
        ends = [group["swa_lr"] for group in self.optimizer.param_groups]
        return [end + (rate - end) * ratio for rate, end in zip(rates, ends, strict=True)]

    def _way_left(self, step):
        part = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 + math.cos(math.pi * part)) / 2 if self._anneal_strategy == "cos" else 1 - part
