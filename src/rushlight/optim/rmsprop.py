"""RMSprop."""

from __future__ import annotations

from .. import Tensor
from .optimizer import Params, check_at_least_zero
from .parameterwise import ParameterwiseOptimizer, average, average_square, count, start


class RMSprop(ParameterwiseOptimizer):
    """RMSprop (Hinton's lectures, 2012), and its centered form (Graves 2013).

    With gradient g, plus weight_decay * p: v = alpha v + (1 - alpha) g**2, and p -= lr * g / (sqrt(v) + eps). Centered,
    m**2 is taken from v, where m is the same average of g. With momentum, buf = momentum * buf + g / (sqrt(v) + eps),
    and p -= lr * buf.

    Args:
        params: parameters or groups of them, see Optimizer.
        lr: learning rate, a number or a 0-d Tensor.
        alpha: how slowly the average of squares moves.
        centered: divide by the deviation from the mean.
        maximize: go up the gradient instead of down.
        foreach, capturable: ignored.

    Raises:
        ValueError: a negative option.

    Example:
        >>> import rushlight as rl
        >>> w = rl.ones(1, requires_grad=True)
        >>> optimizer = rl.optim.RMSprop([w], lr=0.01)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_at_least_zero("alpha value", alpha)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
                "capturable": capturable,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def _start(self, p, group):
        names = ["square_avg"]
        if group["momentum"] > 0:
            names.append("momentum_buffer")
        if group["centered"]:
            names.append("grad_avg")
        return start(p, *names)

    def _update(self, p, g, state, group):
        count(state)
        lr, alpha = float(group["lr"]), group["alpha"]
        spread = average_square(state["square_avg"], g, alpha)
        if group["centered"]:
            mean = average(state["grad_avg"], g, alpha)
            spread = spread.addcmul(mean, mean, value=-1)
        root = spread.sqrt().add_(group["eps"])
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(g, root)
            p.add_(buffer, alpha=-lr)
        else:
            p.addcdiv_(g, root, value=-lr)
