"""Losses that compare: distributions, distances and scores. Each takes reduction: "none", "mean" or "sum"."""

from __future__ import annotations

from math import log, pi

import rushlight as rl

from ... import _C
from ..._composites import loss as _whole
from ..._warnings import warn
from .._reduction import code as _reduction_code

cosine_similarity = _whole.cosine_similarity
pairwise_distance = _whole.pairwise_distance
pdist = _C.pdist


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The Kullback-Leibler divergence: target * (log(target) - input), reduced.

    Args:
        input: log-probabilities, any shape.
        target: probabilities, or with ``log_target`` their logarithms, of input's shape.
        reduction: also "batchmean", the sum divided by the first size, which is the divergence of the batch.

    Raises:
        ValueError: an unknown reduction.
        RuntimeError: an integer dtype, or the shapes do not broadcast.

    Example:
        >>> import rushlight as rl
        >>> p = rl.tensor([[0.25, 0.75]])
        >>> rl.nn.functional.kl_div(rl.tensor([[0.5, 0.5]]).log(), p, reduction="batchmean")
        tensor(0.1308)
    """
    if size_average is None and reduce is None:
        if reduction == "batchmean":
            total = _whole.kl_div(input, target, 2, log_target=log_target)
            return total / input.shape[0] if input.dim() else total
        if reduction == "mean":
            warn(
                "kl_div: reduction 'mean' divides by the number of elements, which is not the divergence\n"
                "  hint: 'batchmean' divides by the batch alone"
            )
    return _whole.kl_div(input, target, _reduction_code(reduction, size_average, reduce), log_target=log_target)


def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"
):
    """The negative log-likelihood of counts under Poisson distributions: exp(input) - target * input, reduced.

    Args:
        input: the logarithm of the expected count or, without ``log_input``, the count itself, any shape.
        target: the count, of a shape that broadcasts with it.
        full: add Stirling's approximation of log(target!) where target is above 1.
        eps: keeps log(input + eps) finite, without ``log_input``.

    Raises:
        ValueError: an unknown reduction.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.poisson_nll_loss(rl.zeros(2), rl.tensor([1., 3.]))
        tensor(1.)
    """
    code = _reduction_code(reduction, size_average, reduce)
    return _whole.poisson_nll_loss(input, target, log_input, full, eps, code)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """The negative log-likelihood under normal distributions: (log(var) + (input - target) ** 2 / var) / 2, reduced.

    Args:
        input: the expected values, any shape.
        target: of the same shape, or one that broadcasts with it.
        var: the variances: a number, of input's shape, or with one value for all of the last dimension.
        full: add the constant log(2 pi) / 2.
        eps: variances below it are taken to be it; this has no part in the gradient.

    Raises:
        ValueError: a negative variance, one of another shape, or an unknown reduction.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.gaussian_nll_loss(rl.zeros(2), rl.tensor([1., 3.]), rl.ones(2))
        tensor(2.5000)
    """
    if not isinstance(var, rl.Tensor):
        if var < 0:
            raise ValueError(f"gaussian_nll_loss: the variance must not be negative, got {var}")
        var = input.new_full(input.shape, var)
    elif not var.is_meta and bool((var < 0).any()):
        raise ValueError(f"gaussian_nll_loss: var has negative entries, the least is {var.min().item():.4g}")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif input.shape[:-1] != var.shape[:-1] or var.shape[-1] != 1:
            raise ValueError(
                f"gaussian_nll_loss: var of shape {tuple(var.shape)} is of incorrect size for input of shape "
                f"{tuple(input.shape)}\n  hint: give one value for each element, or for each of the leading dimensions"
            )
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid\n  hint: use 'none', 'mean' or 'sum'")
    var = var.clone()
    var.detach().clamp_min_(eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * log(2 * pi)
    return _whole._reduced(loss, _reduction_code(reduction))


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where target is 1, max(0, margin - input) where it is -1, reduced; input is a distance.

    Args:
        input: any shape.
        target: 1 or -1, of input's shape.

    Raises:
        ValueError: an unknown reduction.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.hinge_embedding_loss(rl.tensor([0.5, 0.2]), rl.tensor([1, -1]), reduction="none")
        tensor([0.5000, 0.8000])
    """
    return _whole.hinge_embedding_loss(input, target, margin, _reduction_code(reduction, size_average, reduce))


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -target * (input1 - input2) + margin), reduced: target 1 wants input1 above input2, -1 below.

    Args:
        input1, input2, target: as many dimensions each, of shapes that broadcast.

    Raises:
        ValueError: an unknown reduction.
        RuntimeError: numbers of dimensions differ.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.margin_ranking_loss(rl.tensor([1.]), rl.tensor([3.]), rl.tensor([1.]))
        tensor(2.)
    """
    code = _reduction_code(reduction, size_average, reduce)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss: all inputs should have the same number of dimensions, got shapes "
            f"{tuple(input1.shape)}, {tuple(input2.shape)} and {tuple(target.shape)}"
        )
    return _whole.margin_ranking_loss(input1, input2, target, margin, code)


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - the cosine of two vectors where target is 1, max(0, cosine - margin) where it is -1, reduced.

    Args:
        input1, input2: (N, D) or (D).
        target: 1 or -1, (N) or ().

    Raises:
        ValueError: an unknown reduction.
        RuntimeError: shapes do not fit.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.cosine_embedding_loss(rl.tensor([3., 4.]), rl.tensor([4., 3.]), rl.tensor(1))
        tensor(0.0400)
    """
    code = _reduction_code(reduction, size_average, reduce)
    return _whole.cosine_embedding_loss(input1, input2, target, margin, code)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input)), reduced, for targets of 1 and -1.

    Raises:
        ValueError: an unknown reduction.
        RuntimeError: the shapes do not fit.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.soft_margin_loss(rl.zeros(2), rl.tensor([1., -1.]))
        tensor(0.6931)
    """
    return _C.soft_margin_loss(input, target, _reduction_code(reduction, size_average, reduce))


def multi_margin_loss(
    input,
    target,
    p=1,
    margin=1.0,
    weight=None,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """The mean over all wrong classes of max(0, margin - input[target] + input[class]) ** p, reduced over the batch.

    Args:
        input: scores, (N, C) or (C).
        target: class numbers, int64, (N) or ().
        p: 1 or 2.
        weight: (C), a factor for each target's class.

    Raises:
        ValueError: p is neither 1 nor 2, or an unknown reduction.
        RuntimeError: shapes or dtypes do not fit, or a class number is out of range.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.multi_margin_loss(rl.tensor([[0.1, 0.2, 0.4, 0.8]]), rl.tensor([3]))
        tensor(0.3250)
    """
    code = _reduction_code(reduction, size_average, reduce)
    return _C.multi_margin_loss(input, target, p, margin, weight, code)


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """For rows with several labels: the sum of max(0, 1 - input[label] + input[class]) over labels and other classes,
    divided by the number of classes, reduced over the batch.

    Args:
        input: scores, (N, C) or (C).
        target: int64, of input's shape: each row's labels, then -1.

    Raises:
        ValueError: an unknown reduction.
        RuntimeError: shapes or dtypes do not fit, or a class number is out of range.

    Example:
        >>> import rushlight as rl
        >>> scores = rl.tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> rl.nn.functional.multilabel_margin_loss(scores, rl.tensor([[3, 0, -1, 1]]))
        tensor(0.8500)
    """
    return _C.multilabel_margin_loss(input, target, _reduction_code(reduction, size_average, reduce))


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Binary cross-entropy of sigmoid(input), its mean over the classes, reduced over the batch.

    Args:
        input: logits, (..., C).
        target: 0 or 1, of input's shape.
        weight: (C), a factor for each class.

    Raises:
        ValueError: an unknown reduction.
        NotImplementedError: input is not floating point.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.multilabel_soft_margin_loss(rl.zeros(1, 2), rl.tensor([[1., 0.]]))
        tensor(0.6931)
    """
    code = _reduction_code(reduction, size_average, reduce)
    if not input.is_floating_point():
        raise NotImplementedError(
            f"multilabel_soft_margin_loss is not implemented for {input.dtype}\n  hint: convert with .float()"
        )
    loss = -(target * _C.log_sigmoid(input) + (1 - target) * _C.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _whole._reduced(loss.sum(-1) / input.shape[-1], code)


def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin=1.0,
    p=2,
    eps=1e-6,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """max(0, margin + d(anchor, positive) - d(anchor, negative)), reduced, d the p-norm distance (Schroff et al. 2015).

    Args:
        anchor, positive, negative: (N, D) or (D).
        margin: how much nearer the positive should be, above 0.
        eps: added to differences.
        swap: take d(positive, negative) where that is less than d(anchor, negative).

    Raises:
        ValueError: the margin is not above 0, or an unknown reduction.
        RuntimeError: shapes do not fit.

    Example:
        >>> import rushlight as rl
        >>> a, p, n = rl.tensor([[0., 0.]]), rl.tensor([[3., 4.]]), rl.tensor([[0., 2.]])
        >>> rl.nn.functional.triplet_margin_loss(a, p, n)
        tensor(4.0000)
    """
    code = _reduction_code(reduction, size_average, reduce)
    _check_margin(margin)
    return _whole.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, code)


def _check_margin(margin):
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """triplet_margin_loss with a distance of your own.

    Args:
        distance_function: takes two Tensors and gives their distances; ``pairwise_distance`` unless given.

    Raises:
        ValueError: the margin is not above 0, or an unknown reduction.
        RuntimeError: numbers of dimensions differ.

    Example:
        >>> import rushlight as rl
        >>> a, p, n = rl.tensor([[0., 0.]]), rl.tensor([[3., 4.]]), rl.tensor([[0., 2.]])
        >>> far = lambda x, y: (x - y).abs().amax(-1)
        >>> rl.nn.functional.triplet_margin_with_distance_loss(a, p, n, distance_function=far)
        tensor(3.)
    """
    code = _reduction_code(reduction)
    _check_margin(margin)
    _whole._check_triplet(anchor, positive, negative)
    distance = _whole.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = rl.minimum(far, distance(positive, negative))
    return _whole._reduced((margin + near - far).clamp_min(0), code)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The negative log-likelihood of label sequences, summed over all ways to align them (Graves et al. 2006).

    Args:
        log_probs: logarithms of probabilities, as of log_softmax: (T, N, C) or (T, C), float32 or float64.
        targets: labels, (N, S), or those of all samples one after another.
        input_lengths: how many moments of each sample count: (N), as a Tensor or a tuple.
        target_lengths: how many labels each sample has, likewise.
        blank: the class that stands for no label.
        reduction: "mean" divides each loss by its number of labels first.
        zero_infinity: labels that do not fit into their moments have loss and gradient 0, not infinity.

    Raises:
        ValueError: an unknown reduction.
        RuntimeError: lengths or shapes do not fit, or a label is out of range.
        NotImplementedError: another dtype, or a second derivative is asked for.

    Example:
        >>> import rushlight as rl
        >>> log_probs = rl.zeros(3, 1, 2).log_softmax(-1)
        >>> rl.nn.functional.ctc_loss(log_probs, rl.tensor([[1]]), (3,), (1,))
        tensor(0.2877)
    """
    code = _reduction_code(reduction)
    return _whole.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, code, zero_infinity)


__all__ = [
    "cosine_embedding_loss",
    "cosine_similarity",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "kl_div",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "pairwise_distance",
    "pdist",
    "poisson_nll_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]
