"""Adagrad."""

from __future__ import annotations

from typing import Any

import rushlight as rl

from .. import Tensor
from .optimizer import Params, new_count
from .parameterwise import ParameterwiseOptimizer, count


class Adagrad(ParameterwiseOptimizer):
    """Adagrad (Duchi, Hazan and Singer 2011).

    With gradient g, plus weight_decay * p: s += g**2, and p -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps) at
    step t.

    Args:
        params: parameters or groups of them, see Optimizer.
        lr: learning rate, a number or a 0-d Tensor.
        initial_accumulator_value: what s begins with.
        maximize: go up the gradient instead of down.
        foreach, fused: ignored.

    Raises:
        ValueError: a negative option.

    Example:
        >>> import rushlight as rl
        >>> w = rl.ones(1, requires_grad=True)
        >>> optimizer = rl.optim.Adagrad([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group; see Optimizer.add_param_group. Its state begins here, so that processes may share it."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for p in group["params"]:
            self.state[p].update(self._start(p, group))

    def share_memory(self) -> None:
        """Moves the state to shared memory, for training in several processes."""
        for state in self.state.values():
            for value in state.values():
                value.share_memory_()

    def _start(self, p, group):
        value = group["initial_accumulator_value"]
        total = rl.full_like(p, value, memory_format=rl.preserve_format, requires_grad=False)
        return {"step": new_count(), "sum": total}

    def _update(self, p, g, state, group):
        steps = count(state)
        lr = float(group["lr"]) / (1 + (steps - 1) * group["lr_decay"])
        total = state["sum"].addcmul_(g, g)
        p.addcdiv_(g, total.sqrt().add_(group["eps"]), value=-lr)
