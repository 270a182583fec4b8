"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl

from .. import _C, Tensor
from .optimizer import Optimizer, Params, check_at_least_zero, refuse_differentiable, with_gradients


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum and Nesterov's if wanted (Sutskever et al. 2013).

    With gradient g, plus weight_decay * p: buf = momentum * buf + (1 - dampening) * g (at first buf = g), and
    p -= lr * buf; with Nesterov's p -= lr * (g + momentum * buf).

    Args:
        params: parameters or groups of them, see Optimizer.
        lr: learning rate, a number or a 0-d Tensor.
        maximize: go up the gradient instead of down.
        foreach, fused: ignored; all parameters of a group are always updated in one call.

    Raises:
        ValueError: a negative option, or ``nesterov`` without momentum or with dampening.

    Example:
        >>> import rushlight as rl
        >>> w = rl.ones(1, requires_grad=True)
        >>> optimizer = rl.optim.SGD([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_at_least_zero("learning rate", lr)
        check_at_least_zero("momentum value", momentum)
        check_at_least_zero("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        refuse_differentiable(differentiable)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Changes the parameters by one step; see Optimizer.step."""
        loss = self._evaluate(closure)
        for group in self.param_groups:
            params, gradients = with_gradients(group["params"])
            if not group["momentum"]:
                if params:
                    self._update(group, params, gradients, [], False)
                continue
            states = [self.state[p] for p in params]
            buffers = [s.get("momentum_buffer") for s in states]
            if all(b is not None for b in buffers):
                if params:
                    self._update(group, params, gradients, buffers, False)
                continue
            # Parameters whose first gradient this is: the buffer becomes the gradient.
            for first in (False, True):
                some = [i for i, b in enumerate(buffers) if (b is None) == first]
                if not some:
                    continue
                if first:
                    for i in some:
                        buffers[i] = states[i]["momentum_buffer"] = rl.empty_like(
                            params[i], memory_format=rl.preserve_format, requires_grad=False
                        )
                pick = lambda values, some=some: [values[i] for i in some]
                self._update(group, pick(params), pick(gradients), pick(buffers), first)
        return loss

    @staticmethod
    def _update(group, params, gradients, buffers, first):
        _C._sgd_step(
            params,
            gradients,
            buffers,
            float(group["lr"]),
            float(group["momentum"]),
            float(group["dampening"]),
            float(group["weight_decay"]),
            group["nesterov"],
            group["maximize"],
            first,
        )
