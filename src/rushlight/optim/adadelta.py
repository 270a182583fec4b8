"""Adadelta."""

from __future__ import annotations

from .. import Tensor
from .optimizer import Params
from .parameterwise import ParameterwiseOptimizer, average_square, count, start


class Adadelta(ParameterwiseOptimizer):
    """Adadelta (Zeiler 2012).

    With gradient g, plus weight_decay * p: v = rho v + (1 - rho) g**2, d = g * sqrt(u + eps) / sqrt(v + eps),
    u = rho u + (1 - rho) d**2, and p -= lr * d.

    Args:
        params: parameters or groups of them, see Optimizer.
        lr: a factor of the step, a number or a 0-d Tensor.
        rho: how slowly both averages move.
        maximize: go up the gradient instead of down.
        foreach, capturable: ignored.

    Raises:
        ValueError: a negative option, or rho above 1.

    Example:
        >>> import rushlight as rl
        >>> w = rl.ones(1, requires_grad=True)
        >>> optimizer = rl.optim.Adadelta([w])
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9968], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}\n  hint: it is between 0 and 1")
        super().__init__(
            params,
            {
                "lr": lr,
                "rho": rho,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "capturable": capturable,
                "foreach": foreach,
                "differentiable": differentiable,
            },
        )

    def _start(self, p, group):
        return start(p, "square_avg", "acc_delta")

    def _update(self, p, g, state, group):
        count(state)
        rho, eps = group["rho"], group["eps"]
        root = average_square(state["square_avg"], g, rho).add(eps).sqrt_()
        delta = state["acc_delta"].add(eps).sqrt_().div_(root).mul_(g)
        average_square(state["acc_delta"], delta, rho)
        p.add_(delta, alpha=-float(group["lr"]))
