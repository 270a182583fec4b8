"""Muon."""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl

from .. import Tensor
from .optimizer import Params
from .parameterwise import ParameterwiseOptimizer, average

_ADJUSTMENTS = {
    "original": lambda rows, columns: math.sqrt(max(1.0, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
}


class Muon(ParameterwiseOptimizer):
    """Muon: momentum whose singular values are all brought close to 1 (Jordan et al. 2024), for matrices.

    With gradient g: buf = momentum * buf + (1 - momentum) * g, u = buf, or with Nesterov's momentum * buf +
    (1 - momentum) * g. u is divided by its norm and orthogonalized by steps of Newton's and Schulz' iteration,
    X = a X + b (X X^T) X + c (X X^T)**2 X, and p = (1 - lr * weight_decay) p - lr * f * u. f is chosen by
    adjust_lr_fn: ``"original"`` (and None) is sqrt(max(1, rows / columns)), ``"match_rms_adamw"`` is
    0.2 sqrt(max(rows, columns)), which makes steps as large as AdamW's (Liu et al. 2025).

    Args:
        params: parameters of two dimensions, or groups of them, see Optimizer. The others, and embeddings and the
            last layer, are usually left to AdamW.
        lr: learning rate, a number or a 0-d Tensor.
        ns_coefficients: a, b and c.
        eps: the least norm to divide by.
        ns_steps: how many steps, below 100.

    Raises:
        ValueError: a parameter that is no matrix, a negative option, or an unknown adjust_lr_fn.

    Example:
        >>> import rushlight as rl
        >>> w = rl.zeros(2, 2, requires_grad=True)
        >>> optimizer = rl.optim.Muon([w], lr=0.1)
        >>> (w * rl.tensor([[5.0, 0.0], [0.0, -1.0]])).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([[-0.0722,  0.0000],
                [ 0.0000,  0.0797]], requires_grad=True)
    """

    _decoupled = True

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if adjust_lr_fn is not None and adjust_lr_fn not in _ADJUSTMENTS:
            raise ValueError(f"Invalid adjust_lr_fn: {adjust_lr_fn!r}\n  hint: {' or '.join(map(repr, _ADJUSTMENTS))}")
        if len(ns_coefficients) != 3:
            raise ValueError(f"ns_coefficients are three numbers, but got {ns_coefficients}")
        if ns_steps >= 100:
            raise ValueError(f"Invalid ns_steps: {ns_steps}\n  hint: it is below 100; 5 are enough")
        super().__init__(
            params,
            {
                "lr": lr,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "nesterov": nesterov,
                "ns_coefficients": ns_coefficients,
                "eps": eps,
                "ns_steps": ns_steps,
                "adjust_lr_fn": adjust_lr_fn,
            },
        )

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group; see Optimizer.add_param_group."""
        super().add_param_group(param_group)
        for i, p in enumerate(self.param_groups[-1]["params"]):
            if p.dim() != 2:
                del self.param_groups[-1]
                raise ValueError(
                    f"Muon is for matrices, but parameter {i} has shape {tuple(p.shape)}\n"
                    "  hint: give vectors and convolutions to AdamW"
                )

    def _start(self, p, group):
        return {"momentum_buffer": rl.zeros_like(p, memory_format=rl.preserve_format, requires_grad=False)}

    def _update(self, p, g, state, group):
        if p.numel() == 0:
            return
        momentum = group["momentum"]
        buffer = average(state["momentum_buffer"], g, momentum)
        update = g.lerp(buffer, momentum) if group["nesterov"] else buffer
        update = _orthogonalized(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        factor = _ADJUSTMENTS[group["adjust_lr_fn"] or "original"](*p.shape)
        p.add_(update, alpha=-float(group["lr"]) * factor)


def _orthogonalized(x, coefficients, steps, eps):
    a, b, c = coefficients
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x
