"""Adafactor."""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl

from .. import Tensor
from .optimizer import Params, check_at_least_zero, new_count
from .parameterwise import ParameterwiseOptimizer, average, count

# The smallest number that changes 1, by dtype.
_EPSILON = {rl.float64: 2.0**-52, rl.float32: 2.0**-23, rl.float16: 2.0**-10, rl.bfloat16: 2.0**-7}


class Adafactor(ParameterwiseOptimizer):
    """Adafactor, whose memory of a matrix is a row and a column (Shazeer and Stern 2018), without its momentum.

    At step t, with gradient g and w = t**beta2_decay: v = (1 - w) v + w g**2. Of parameters of two dimensions and more
    only the means of v over rows (r) and over columns (c) are kept, and v is r c / mean(r). u = g / sqrt(v), divided by
    max(1, RMS(u) / d), and p -= max(eps[1], RMS(p)) * min(lr, 1 / sqrt(t)) * u, where RMS is the root of the mean
    square. Decay is decoupled: p is first multiplied by 1 - lr * weight_decay.

    Args:
        params: parameters or groups of them, see Optimizer.
        lr: the largest relative step, a number or a 0-d Tensor.
        beta2_decay: power of the share w of a new gradient.
        eps: eps[0] keeps v from 0, None for the dtype's epsilon; eps[1] is the least RMS of p that counts.
        d: where updates are clipped.
        maximize: go up the gradient instead of down.
        foreach: ignored.

    Raises:
        ValueError: a negative option, a positive beta2_decay, or d below 1.

    Example:
        >>> import rushlight as rl
        >>> w = rl.ones(1, requires_grad=True)
        >>> optimizer = rl.optim.Adafactor([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_at_least_zero("learning rate", lr)
        check_at_least_zero("weight_decay value", weight_decay)
        if beta2_decay > 0:
            raise ValueError(f"Invalid beta2_decay: {beta2_decay}\n  hint: it is negative, as the share goes down")
        for i, value in enumerate(eps):
            if value is not None:
                check_at_least_zero(f"eps[{i}]", value)
        if not d >= 1:
            raise ValueError(f"Invalid d: {d}\n  hint: it is at least 1")
        # Not by way of the base's checks, whose eps is a number.
        super(ParameterwiseOptimizer, self).__init__(
            params,
            {
                "lr": lr,
                "beta2_decay": beta2_decay,
                "eps": eps,
                "d": d,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
            },
        )

    def _start(self, p, group):
        if p.dim() < 2:
            return {"step": new_count(), "variance": p.new_zeros(p.shape)}
        *batch, rows, columns = p.shape
        return {
            "step": new_count(),
            "row_var": p.new_zeros([*batch, rows, 1]),
            "col_var": p.new_zeros([*batch, 1, columns]),
        }

    def _decay(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> Tensor:
        return g  # not yet: the step's size depends on p as it is

    def _update(self, p, g, state, group):
        steps = count(state)
        if p.numel() == 0:
            return
        lr, (smallest, least) = float(group["lr"]), group["eps"]
        if smallest is None:
            smallest = _EPSILON[p.dtype]
        size = max(least, _root_mean_square(p)) * min(lr, 1 / math.sqrt(steps))
        if group["weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        keep = 1 - steps ** group["beta2_decay"]
        square = g * g
        if "variance" in state:
            variance = average(state["variance"], square, keep).clone()
        else:
            rows = average(state["row_var"], square.mean(-1, keepdim=True), keep)
            columns = average(state["col_var"], square.mean(-2, keepdim=True), keep)
            variance = (rows @ columns).div_(rows.mean(-2, keepdim=True).clamp_(min=smallest))
        update = variance.clamp_(min=smallest * smallest).rsqrt_().mul_(g)
        p.add_(update, alpha=-size / max(1.0, _root_mean_square(update) / group["d"]))


def _root_mean_square(x):
    return x.norm().item() / math.sqrt(x.numel())
