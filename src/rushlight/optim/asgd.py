"""Averaged stochastic gradient descent."""

from __future__ import annotations

from .. import Tensor
from .optimizer import Params, new_count
from .parameterwise import ParameterwiseOptimizer, count, start


class ASGD(ParameterwiseOptimizer):
    """Averaged stochastic gradient descent (Polyak and Juditsky 1992), with the rates of Bottou 2012 and Xu 2011.

    With gradient g, plus weight_decay * p: p = (1 - lambd * eta) p - eta g, where eta = lr before the first step and
    lr / (1 + lambd * lr * t)**alpha after step t. ``state[p]["ax"]`` is the mean of p from step t0 + 2 on, and before
    that p.

    Args:
        params: parameters or groups of them, see Optimizer.
        lr: learning rate, a number or a 0-d Tensor.
        lambd: decay of the parameters.
        alpha: power of the rate's decay.
        t0: the step where averaging begins.
        maximize: go up the gradient instead of down.
        foreach, capturable: ignored.

    Raises:
        ValueError: a negative lr or weight_decay.

    Example:
        >>> import rushlight as rl
        >>> w = rl.ones(1, requires_grad=True)
        >>> optimizer = rl.optim.ASGD([w], lr=0.1, t0=0)
        >>> for _ in range(3):
        ...     optimizer.zero_grad()
        ...     (w * w).sum().backward()
        ...     optimizer.step()
        >>> w, optimizer.state[w]["ax"]
        (tensor([0.5120], requires_grad=True), tensor([0.5760]))
    """

    _counts = ("step", "eta", "mu")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _start(self, p, group):
        return start(p, "ax") | {"eta": new_count(float(group["lr"])), "mu": new_count(1.0)}

    def _update(self, p, g, state, group):
        steps = count(state)
        lr, lambd = float(group["lr"]), group["lambd"]
        eta, mu, mean = state["eta"].item(), state["mu"].item(), state["ax"]
        p.mul_(1 - lambd * eta).add_(g, alpha=-eta)
        if mu == 1:
            mean.copy_(p)
        else:
            mean.add_(p.sub(mean), alpha=mu)
        state["eta"] = new_count(lr / (1 + lambd * lr * steps) ** group["alpha"])
        state["mu"] = new_count(1 / max(1, steps - group["t0"]))
