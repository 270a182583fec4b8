"""Losses. Each takes reduction: "none" gives a loss per element or sample, "mean" and "sum" one number."""

from __future__ import annotations

import rushlight as rl

from ... import _C
from ..._autocast import in_float32
from ..._warnings import warn
from .._reduction import code as _reduction_code


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """The negative log-likelihood of the right classes under softmax(input).

    Args:
        input: logits, (N, C), (C) or (N, C, d1, ...).
        target: class numbers, int64, (N), () or (N, d1, ...); or probabilities of input's shape and dtype.
        weight: (C), a factor for each class.
        ignore_index: a class number that does not count.
        reduction: "none", "mean" (by the sum of weights) or "sum".
        label_smoothing: the share of probability spread over all classes, 0 to 1.

    Raises:
        ValueError: an unknown reduction.
        IndexError: a class number out of range.
        RuntimeError: shapes or dtypes do not fit.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.cross_entropy(rl.zeros(1, 4), rl.tensor([2]))
        tensor(1.3863)
    """
    code = _reduction_code(reduction, size_average, reduce)
    return _C.cross_entropy_loss(input, target, weight, code, ignore_index, label_smoothing)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The negative of input at the right classes, for log-probabilities; arguments as for cross_entropy.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.nll_loss(rl.tensor([[-1., -2.]]), rl.tensor([1]))
        tensor(2.)
    """
    return _C.nll_loss(input, target, weight, _reduction_code(reduction, size_average, reduce), ignore_index)


def _warn_of_shapes(name, input, target):
    if input.shape != target.shape:
        warn(
            f"{name}: target's size {target.shape} differs from input's {input.shape}; they are broadcast, "
            "which is rarely meant. Make them the same size."
        )


def _reduced(loss, code):
    return loss if code == 0 else loss.mean() if code == 1 else loss.sum()


def _weighted(loss, weight, code):
    """Multiplied by the weights and reduced; the mean is by the sum of weights."""
    if weight is None:
        return _reduced(loss, code)
    if weight.shape != loss.shape:
        raise ValueError(f"weight has shape {weight.shape}, input {loss.shape}: they must have the same size")
    loss = loss * weight
    return loss.sum() / weight.sum() if code == 1 else _reduced(loss, code)


@in_float32
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """(input - target) ** 2, reduced; both of any one shape.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.mse_loss(rl.tensor([1., 3.]), rl.zeros(2))
        tensor(5.)
    """
    _warn_of_shapes("mse_loss", input, target)
    code = _reduction_code(reduction, size_average, reduce)
    if weight is not None:
        return _weighted(_C.mse_loss(input, target, 0), weight, code)
    return _C.mse_loss(input, target, code)


@in_float32
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """abs(input - target), reduced; both of any one shape.

    Raises:
        ValueError: an unknown reduction.
        RuntimeError: the shapes do not broadcast.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.l1_loss(rl.tensor([1., 3.]), rl.zeros(2))
        tensor(2.)
    """
    _warn_of_shapes("l1_loss", input, target)
    return _weighted((input - target).abs(), weight, _reduction_code(reduction, size_average, reduce))


@in_float32
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """With d = abs(input - target): d**2 / (2 beta) below beta, d - beta / 2 from there on (Girshick 2015).

    Raises:
        ValueError: an unknown reduction.
        RuntimeError: beta is negative, or the shapes do not broadcast.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.smooth_l1_loss(rl.tensor([1., 3.]), rl.zeros(2), reduction='none')
        tensor([0.5000, 2.5000])
    """
    _warn_of_shapes("smooth_l1_loss", input, target)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    d = (input - target).abs()
    if beta > 0:
        d = rl.where(d < beta, d * d * (0.5 / beta), d - 0.5 * beta)
    return _reduced(d, _reduction_code(reduction, size_average, reduce))


@in_float32
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """With d = abs(input - target): d**2 / 2 up to delta, delta * (d - delta / 2) beyond (Huber 1964).

    Raises:
        ValueError: an unknown reduction.
        RuntimeError: delta is not above 0, or the shapes do not broadcast.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.huber_loss(rl.tensor([1., 3.]), rl.zeros(2), reduction='none', delta=2.)
        tensor([0.5000, 4.0000])
    """
    _warn_of_shapes("huber_loss", input, target)
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, got {delta}")
    d = (input - target).abs()
    loss = rl.where(d <= delta, d * d * 0.5, (d - 0.5 * delta) * delta)
    return _weighted(loss, weight, _reduction_code(reduction))


def _check_same_shape(input, target):
    if input.shape != target.shape:
        raise ValueError(
            f"target has size {target.shape}, input {input.shape}: they must have the same size\n"
            "  hint: target.view_as(input) or target.unsqueeze(-1) may be what is missing"
        )


@in_float32
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """-(t log(p) + (1 - t) log(1 - p)), each logarithm at least -100, for probabilities p and targets t.

    Args:
        input: probabilities between 0 and 1, any shape.
        target: of input's shape and dtype.
        weight: a factor for each element, broadcast.

    Raises:
        ValueError: shapes differ.
        RuntimeError: an input below 0, above 1 or NaN.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.binary_cross_entropy(rl.tensor([0.5, 0.9]), rl.ones(2), reduction='none')
        tensor([0.6931, 0.1054])
    """
    _check_same_shape(input, target)
    if not input.is_meta and not bool(((input >= 0) & (input <= 1)).all()):
        raise RuntimeError(
            "binary_cross_entropy: the input must hold probabilities between 0 and 1, but holds "
            f"{input.min().item():.4g} to {input.max().item():.4g}\n"
            "  hint: pass scores through sigmoid() first, or better give them to binary_cross_entropy_with_logits()"
        )
    loss = -(target * _bounded_log(input) + (1 - target) * _bounded_log(1 - input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss, _reduction_code(reduction, size_average, reduce))


def _bounded_log(p):
    # log never sees 0, where its slope is infinite and the gradient would be NaN.
    positive = p > 0
    return rl.where(positive, rl.where(positive, p, rl.ones_like(p)).log(), p.new_tensor(-100.0)).clamp(min=-100)


@in_float32
def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """binary_cross_entropy of sigmoid(input), without its loss of precision.

    Args:
        input: logits, any shape.
        target: of input's shape, between 0 and 1.
        weight: a factor for each element, broadcast.
        pos_weight: a factor for each class's positive targets, broadcast.

    Raises:
        ValueError: shapes differ.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.binary_cross_entropy_with_logits(rl.zeros(2), rl.ones(2))
        tensor(0.6931)
    """
    _check_same_shape(input, target)
    if pos_weight is None:
        loss = _C.softplus(input, 1.0, 40.0) - input * target
    else:
        loss = (1 - target) * input + ((pos_weight - 1) * target + 1) * _C.softplus(-input, 1.0, 40.0)
    if weight is not None:
        loss = loss * weight
    return _reduced(loss, _reduction_code(reduction, size_average, reduce))


__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "huber_loss",
    "l1_loss",
    "mse_loss",
    "nll_loss",
    "smooth_l1_loss",
]
