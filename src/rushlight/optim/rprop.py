"""Resilient backpropagation."""

from __future__ import annotations

import rushlight as rl

from .. import Tensor
from .optimizer import Params
from .parameterwise import ParameterwiseOptimizer, count, start


class Rprop(ParameterwiseOptimizer):
    """Resilient backpropagation (Riedmiller and Braun 1993): steps by the signs of gradients, for full batches.

    Every element has a step of its own, lr at first. While the gradient keeps its sign the step grows by etas[1]; where
    the sign has changed it shrinks by etas[0], and the element rests for this once. p -= step * sign(g).

    Args:
        params: parameters or groups of them, see Optimizer.
        lr: the first step, a number or a 0-d Tensor.
        etas: factors below and above 1.
        step_sizes: the smallest and the largest step.
        maximize: go up the gradient instead of down.
        foreach, capturable: ignored.

    Raises:
        ValueError: a negative lr, or etas that are not below and above 1.

    Example:
        >>> import rushlight as rl
        >>> w = rl.ones(1, requires_grad=True)
        >>> optimizer = rl.optim.Rprop([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}\n  hint: the first below 1, the second above")
        super().__init__(
            params,
            {
                "lr": lr,
                "etas": etas,
                "step_sizes": step_sizes,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _start(self, p, group):
        state = start(p, "prev", "step_size")
        state["step_size"].fill_(float(group["lr"]))
        return state

    def _update(self, p, g, state, group):
        count(state)
        shrink, grow = group["etas"]
        smallest, largest = group["step_sizes"]
        sizes, agreement = state["step_size"], g * state["prev"]
        turned = agreement < 0
        changed = rl.where(turned, sizes * shrink, rl.where(agreement > 0, sizes * grow, sizes))
        sizes.copy_(changed.clamp_(smallest, largest))
        g = g.masked_fill(turned, 0)  # the next gradient meets a zero, and so neither agrees nor disagrees
        p.sub_(g.sign().mul_(sizes))
        state["prev"].copy_(g)
