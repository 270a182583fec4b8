"""Adam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl

from .. import _C, Tensor
from .optimizer import (
    Optimizer,
    Params,
    check_at_least_zero,
    check_betas,
    counts_as_tensors,
    refuse_differentiable,
    with_gradients,
)


class Adam(Optimizer):
    """Adam (Kingma and Ba 2014), and AMSGrad (Reddi et al. 2018).

    With gradient g, plus weight_decay * p: m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g**2, and
    p -= lr * m' / (sqrt(v') + eps), where m' = m / (1 - beta1**t) and v' = v / (1 - beta2**t) after t steps.

    Args:
        params: parameters or groups of them, see Optimizer.
        lr: learning rate, a number or a 0-d Tensor.
        betas: beta1 and beta2.
        amsgrad: divide by the largest v so far.
        maximize: go up the gradient instead of down.
        decoupled_weight_decay: multiply p by 1 - lr * weight_decay instead of adding to the gradient, as AdamW.
        foreach, fused, capturable: ignored; all parameters of a group are always updated in one call.

    Raises:
        ValueError: a negative option, or a beta outside [0, 1).

    Example:
        >>> import rushlight as rl
        >>> w = rl.ones(1, requires_grad=True)
        >>> optimizer = rl.optim.Adam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_at_least_zero("learning rate", lr)
        check_at_least_zero("epsilon value", eps)
        check_betas(betas)
        check_at_least_zero("weight_decay value", weight_decay)
        refuse_differentiable(differentiable)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Changes the parameters by one step; see Optimizer.step."""
        loss = self._evaluate(closure)
        for group in self.param_groups:
            params, gradients = with_gradients(group["params"])
            if not params:
                continue
            amsgrad = group["amsgrad"]
            states = [self.state[p] for p in params]
            if not all(states):
                for p, state in zip(params, states, strict=True):
                    if not state:
                        self._start(state, p, amsgrad)
            beta1, beta2 = group["betas"]
            _C._adam_step(
                params,
                gradients,
                [s["exp_avg"] for s in states],
                [s["exp_avg_sq"] for s in states],
                [s["max_exp_avg_sq"] for s in states] if amsgrad else [],
                [s["step"] for s in states],
                float(group["lr"]),
                float(beta1),
                float(beta2),
                float(group["eps"]),
                float(group["weight_decay"]),
                amsgrad,
                group["maximize"],
                group["decoupled_weight_decay"],
            )
        return loss

    @staticmethod
    def _start(state, p, amsgrad):
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if amsgrad else ("exp_avg", "exp_avg_sq")
        state["step"] = rl.zeros((), dtype=rl.float32)
        for name in names:
            state[name] = rl.zeros_like(p, memory_format=rl.preserve_format, requires_grad=False)

    def __setstate__(self, state):
        super().__setstate__(state)
        counts_as_tensors(self)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2017): p is first multiplied by 1 - lr * weight_decay.

    Arguments as Adam's; weight_decay is 0.01 unless given.

    Example:
        >>> import rushlight as rl
        >>> w = rl.ones(1, requires_grad=True)
        >>> optimizer = rl.optim.AdamW([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.8990], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
