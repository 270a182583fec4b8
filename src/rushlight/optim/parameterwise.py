"""The common part of optimizers that are written over operations on whole tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl

from .. import Tensor
from .optimizer import (
    Optimizer,
    Params,
    check_at_least_zero,
    check_betas,
    counts_as_tensors,
    new_count,
    refuse_differentiable,
)

# Options that must not be negative, and what their errors call them.
_AT_LEAST_ZERO = {
    "lr": "learning rate",
    "eps": "epsilon value",
    "weight_decay": "weight_decay value",
    "momentum": "momentum value",
    "momentum_decay": "momentum_decay value",
    "lr_decay": "lr_decay value",
    "initial_accumulator_value": "initial_accumulator_value value",
}


class ParameterwiseOptimizer(Optimizer):
    """The base of optimizers that update each parameter by itself.

    A subclass defines ``_start``, the state of a parameter before its first step, and ``_update``, a step. Before
    that, the gradient is turned around for ``maximize`` and ``weight_decay * p`` is added to it; where decay is
    decoupled (``_decoupled``, or the option ``decoupled_weight_decay``) p is multiplied by ``1 - lr * weight_decay``.
    """

    _decoupled = False
    _counts: tuple[str, ...] = ("step",)  # what of a state is a number kept in a tensor

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        for name, description in _AT_LEAST_ZERO.items():
            if name in defaults:
                check_at_least_zero(description, defaults[name])
        if "betas" in defaults:
            check_betas(defaults["betas"])
        refuse_differentiable(defaults.get("differentiable"))
        super().__init__(params, defaults)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Changes the parameters by one step; see Optimizer.step."""
        loss = self._evaluate(closure)
        with rl.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    g = p.grad
                    if g is None:
                        continue
                    state = self.state[p]
                    if not state:
                        state.update(self._start(p, group))
                    if group.get("maximize"):
                        g = -g
                    self._update(p, self._decay(p, g, group), state, group)
        return loss

    def _decay(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> Tensor:
        decay = group.get("weight_decay")
        if not decay:
            return g
        if not group.get("decoupled_weight_decay", self._decoupled):
            return g.add(p, alpha=decay)
        p.mul_(1 - float(group["lr"]) * decay)
        return g

    def _start(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        counts_as_tensors(self, self._counts)


def start(p: Tensor, *names: str) -> dict[str, Tensor]:
    """A state of zero steps, and of zeros like p under the given names."""
    state = {name: rl.zeros_like(p, memory_format=rl.preserve_format, requires_grad=False) for name in names}
    return {"step": new_count(), **state}


def count(state: dict[str, Any]) -> float:
    """Counts a step; returns how many there have been."""
    state["step"] += 1
    return state["step"].item()


def average(mean: Tensor, value: Tensor, decay: float) -> Tensor:
    """Moves an exponential moving average on, in place."""
    return mean.lerp_(value, 1 - decay)


def average_square(mean: Tensor, value: Tensor, decay: float) -> Tensor:
    """Moves an exponential moving average of squares on, in place."""
    return mean.mul_(decay).addcmul_(value, value, value=1 - decay)
