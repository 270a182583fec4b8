"""NAdam."""

from __future__ import annotations

from .. import Tensor
from .optimizer import Params, new_count
from .parameterwise import ParameterwiseOptimizer, average, average_square, count, start


class NAdam(ParameterwiseOptimizer):
    """NAdam: Adam with Nesterov's momentum (Dozat 2016).

    With gradient g, plus weight_decay * p: m and v as Adam's; mu(t) = beta1 * (1 - 0.96**(t * momentum_decay) / 2), and
    p -= lr * m' / (sqrt(v / (1 - beta2**t)) + eps) at step t, where M(t) is the product of mu(1) to mu(t) and
    m' = mu(t + 1) m / (1 - M(t + 1)) + (1 - mu(t)) g / (1 - M(t)).

    Args:
        params: parameters or groups of them, see Optimizer.
        lr: learning rate, a number or a 0-d Tensor.
        betas: beta1 and beta2.
        momentum_decay: how quickly mu rises from half of beta1 to beta1.
        decoupled_weight_decay: multiply p by 1 - lr * weight_decay instead of adding to the gradient, as AdamW.
        maximize: go up the gradient instead of down.
        foreach, capturable: ignored.

    Raises:
        ValueError: a negative option, or a beta outside [0, 1).

    Example:
        >>> import rushlight as rl
        >>> w = rl.ones(1, requires_grad=True)
        >>> optimizer = rl.optim.NAdam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.8944], requires_grad=True)
    """

    _counts = ("step", "mu_product")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
            },
        )

    def _start(self, p, group):
        return start(p, "exp_avg", "exp_avg_sq") | {"mu_product": new_count(1.0)}

    def _update(self, p, g, state, group):
        steps = count(state)
        lr, (beta1, beta2) = float(group["lr"]), group["betas"]
        momentum = lambda t: beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"]))
        now, then = momentum(steps), momentum(steps + 1)
        state["mu_product"] *= now
        product = state["mu_product"].item()
        mean = average(state["exp_avg"], g, beta1)
        root = average_square(state["exp_avg_sq"], g, beta2).div(1 - beta2**steps).sqrt_().add_(group["eps"])
        p.addcdiv_(g, root, value=-lr * (1 - now) / (1 - product))
        p.addcdiv_(mean, root, value=-lr * then / (1 - product * then))
