"""Gradient clipping."""

from __future__ import annotations

import math

import rushlight as rl

from ... import _C, Tensor
from ..._warnings import warn


def _gradients(parameters):
    if isinstance(parameters, Tensor):
        parameters = (parameters,)
    return [p.grad for p in parameters if p.grad is not None]


def _check_finite(total_norm, norm_type, error_if_nonfinite):
    if error_if_nonfinite and not bool(total_norm.isfinite()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped.\n  hint: pass error_if_nonfinite=False to scale by the non-finite norm all the same"
        )


def _clip(gradients, max_norm, norm_type, error_if_nonfinite):
    if not gradients:
        return rl.tensor(0.0)
    if norm_type in (2, math.inf) and not error_if_nonfinite:
        return _C._clip_grad_norm_(gradients, float(max_norm), float(norm_type))
    total_norm = get_total_norm(gradients, norm_type, error_if_nonfinite)
    _scale(gradients, max_norm, total_norm)
    return total_norm


def _scale(gradients, max_norm, total_norm):
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    with rl.no_grad():
        for gradient in gradients:
            gradient.mul_(factor.to(gradient.device))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales gradients in place so that their norm, all taken as one vector, is at most max_norm (Pascanu et al. 2013).

    Args:
        parameters: an iterable of Tensors, or one; those without a gradient are skipped.
        max_norm: the bound.
        norm_type: the order of the norm, inf for the largest absolute value.
        error_if_nonfinite: raise where the norm is NaN or infinite.
        foreach: ignored; all gradients are always taken in one call.

    Returns:
        the norm before clipping, a 0-d Tensor.

    Raises:
        RuntimeError: the norm is not finite and ``error_if_nonfinite`` is set; no gradient has changed then.

    Example:
        >>> import rushlight as rl
        >>> w = rl.zeros(2, requires_grad=True)
        >>> w.grad = rl.tensor([3., 4.])
        >>> rl.nn.utils.clip_grad_norm_([w], 1.0)
        tensor(5.)
    """
    return _clip(_gradients(parameters), max_norm, norm_type, error_if_nonfinite)


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Deprecated: the old name of clip_grad_norm_."""
    warn("nn.utils.clip_grad_norm is deprecated: use clip_grad_norm_", FutureWarning)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of several tensors, all taken as one vector: a 0-d Tensor. Arguments as for clip_grad_norm_.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.utils.get_total_norm([rl.tensor([3.]), rl.tensor([4.])])
        tensor(5.)
    """
    norm_type = float(norm_type)
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return rl.tensor(0.0)
    first = tensors[0].device
    total_norm = rl.norm(rl.stack([rl.norm(t.detach(), norm_type).to(first) for t in tensors]), norm_type)
    _check_finite(total_norm, norm_type, error_if_nonfinite)
    return total_norm


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales gradients in place by max_norm / total_norm where that is below 1; total_norm as get_total_norm gives.

    Example:
        >>> import rushlight as rl
        >>> w = rl.zeros(2, requires_grad=True)
        >>> w.grad = rl.tensor([3., 4.])
        >>> rl.nn.utils.clip_grads_with_norm_([w], 1.0, rl.tensor(5.0))
        >>> w.grad
        tensor([0.6000, 0.8000])
    """
    _scale(_gradients(parameters), max_norm, total_norm)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Clamps each element of the gradients, in place, to [-clip_value, clip_value].

    Example:
        >>> import rushlight as rl
        >>> w = rl.zeros(2, requires_grad=True)
        >>> w.grad = rl.tensor([3., -0.1])
        >>> rl.nn.utils.clip_grad_value_([w], 1.0)
        >>> w.grad
        tensor([ 1.0000, -0.1000])
    """
    clip_value = float(clip_value)
    with rl.no_grad():
        for gradient in _gradients(parameters):
            gradient.clamp_(min=-clip_value, max=clip_value)
