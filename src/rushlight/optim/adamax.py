"""Adamax."""

from __future__ import annotations

import rushlight as rl

from .. import Tensor
from .optimizer import Params
from .parameterwise import ParameterwiseOptimizer, average, count, start


class Adamax(ParameterwiseOptimizer):
    """Adamax: Adam with the largest gradient in place of the root of the average square (Kingma and Ba 2014).

    With gradient g, plus weight_decay * p: m = beta1 m + (1 - beta1) g, u = max(beta2 u, |g| + eps), and
    p -= lr / (1 - beta1**t) * m / u at step t.

    Args:
        params: parameters or groups of them, see Optimizer.
        lr: learning rate, a number or a 0-d Tensor.
        betas: beta1 and beta2.
        maximize: go up the gradient instead of down.
        foreach, capturable: ignored.

    Raises:
        ValueError: a negative option, or a beta outside [0, 1).

    Example:
        >>> import rushlight as rl
        >>> w = rl.ones(1, requires_grad=True)
        >>> optimizer = rl.optim.Adamax([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _start(self, p, group):
        return start(p, "exp_avg", "exp_inf")

    def _update(self, p, g, state, group):
        steps = count(state)
        beta1, beta2 = group["betas"]
        mean = average(state["exp_avg"], g, beta1)
        largest = state["exp_inf"]
        rl.maximum(largest.mul_(beta2), g.abs().add_(group["eps"]), out=largest)
        p.addcdiv_(mean, largest, value=-float(group["lr"]) / (1 - beta1**steps))
