"""RAdam."""

from __future__ import annotations

import math

from .. import Tensor
from .optimizer import Params
from .parameterwise import ParameterwiseOptimizer, average, average_square, count, start


class RAdam(ParameterwiseOptimizer):
    """RAdam: Adam that adapts no sooner than the variance of its rate is bounded (Liu et al. 2019).

    With gradient g, plus weight_decay * p: m and v as Adam's, m' = m / (1 - beta1**t), and at step t, with
    rho = 2 / (1 - beta2) - 1 and r = rho - 2 t beta2**t / (1 - beta2**t): if r > 5,
    p -= lr * m' * sqrt((r - 4) (r - 2) rho / ((rho - 4) (rho - 2) r)) * sqrt(1 - beta2**t) / (sqrt(v) + eps), else
    p -= lr * m'.

    Args:
        params: parameters or groups of them, see Optimizer.
        lr: learning rate, a number or a 0-d Tensor.
        betas: beta1 and beta2.
        decoupled_weight_decay: multiply p by 1 - lr * weight_decay instead of adding to the gradient, as AdamW.
        maximize: go up the gradient instead of down.
        foreach, capturable: ignored.

    Raises:
        ValueError: a negative option, or a beta outside [0, 1).

    Example:
        >>> import rushlight as rl
        >>> w = rl.ones(1, requires_grad=True)
        >>> optimizer = rl.optim.RAdam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "decoupled_weight_decay": decoupled_weight_decay,
                "differentiable": differentiable,
            },
        )

    def _start(self, p, group):
        return start(p, "exp_avg", "exp_avg_sq")

    def _update(self, p, g, state, group):
        steps = count(state)
        beta1, beta2 = group["betas"]
        mean = average(state["exp_avg"], g, beta1)
        square = average_square(state["exp_avg_sq"], g, beta2)
        rate = float(group["lr"]) / (1 - beta1**steps)
        missing = 1 - beta2**steps  # 1 less the weight of the zeros that the average began with
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * steps * beta2**steps / missing
        if length > 5:
            grown = (length - 4) * (length - 2) * longest
            whole = (longest - 4) * (longest - 2) * length
            rate *= math.sqrt(grown / whole) * math.sqrt(missing)
            p.addcdiv_(mean, square.sqrt().add_(group["eps"]), value=-rate)
        else:
            p.add_(mean, alpha=-rate)
