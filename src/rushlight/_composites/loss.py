"""Distances, and losses made of other operations. Their ``reduction`` is a number: 0 none, 1 mean, 2 sum."""

from __future__ import annotations

from .. import _C
from .._autocast import in_float32
from .._C import Tensor
from ..overrides import overridable
from .shape import broadcast_tensors


def _reduced(loss, reduction):
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


# Distances


@overridable
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between vectors: their product, each first divided by its length, or by eps if that is
    larger.

    Args:
        x1, x2: floating point, of shapes that broadcast.
        dim: the dimension along which the vectors lie.
        eps: bounds the lengths from below.

    Returns:
        The broadcast shape without ``dim``.

    Raises:
        RuntimeError: neither is floating point, or the shapes do not broadcast.
        IndexError: there is no dimension ``dim``.

    >>> import rushlight as rl
    >>> rl.cosine_similarity(rl.tensor([[3.0, 4.0]]), rl.tensor([[4.0, 3.0]]))
    tensor([0.9600])
    """
    dtype = _C.result_type(x1, x2)
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"cosine_similarity: expects floating point, got {x1.dtype} and {x2.dtype}\n  hint: convert with .float()"
        )
    x1, x2 = x1.to(dtype), x2.to(dtype)
    if x1.shape != x2.shape:
        x1, x2 = broadcast_tensors(x1, x2)
    if dtype.itemsize == 2:  # eps would be rounded to 0
        return cosine_similarity(x1.float(), x2.float(), dim, eps).to(dtype)
    # The bound is no part of the derivative: where a length is below it, the slope is that of the length.
    units = []
    for x in (x1, x2):
        length = _C.linalg_vector_norm(x, 2, dim, True).clone()
        length.detach().clamp_min_(eps)
        units.append(x / length)
    return (units[0] * units[1]).sum(dim)


@overridable
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of ``x1 - x2 + eps`` along the last dimension.

    Args:
        x1, x2: of shapes that broadcast; (N, D) or (D).
        p: the norm's order; may be negative or infinite.
        eps: added to the difference, so that the slope is finite where x1 equals x2.
        keepdim: keep the last dimension, with size 1.

    Raises:
        RuntimeError: the shapes do not broadcast.

    >>> import rushlight as rl
    >>> rl.pairwise_distance(rl.tensor([[3.0, 4.0]]), rl.zeros(1, 2))
    tensor([5.0000])
    """
    return _C._norm(x1 - x2 + eps, p, -1, keepdim)


# Losses


@overridable
@in_float32
def kl_div(input, target, reduction=1, *, log_target=False):
    """``target * (log(target) - input)`` of each element, reduced; see ``nn.functional.kl_div``."""
    if not (input.is_floating_point() and target.is_floating_point()):
        raise RuntimeError(
            f"kl_div: input and target must be floating point, got {input.dtype} and {target.dtype}\n"
            "  hint: target holds probabilities, not class numbers; those are for nll_loss"
        )
    if log_target:
        return _reduced(target.exp() * (target - input), reduction)
    return _reduced(_C.xlogy(target, target) - target * input, reduction)


@overridable
@in_float32
def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1):
    """``max(0, -target * (input1 - input2) + margin)`` of each element, reduced."""
    return _reduced((-target * (input1 - input2) + float(margin)).clamp_min(0), reduction)


@overridable
@in_float32
def hinge_embedding_loss(input, target, margin=1.0, reduction=1):
    """``input`` where target is 1, ``max(0, margin - input)`` where it is -1, reduced."""
    zeros = input.new_zeros(())
    apart = _C.where(target != 1, (input.new_full((), margin) - input).clamp_min(0), zeros)
    near = _C.where(target != -1, input, zeros)
    return _reduced(apart + near, reduction)


@overridable
@in_float32
def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=1):
    """1 - the cosine of two vectors where target is 1, ``max(0, cosine - margin)`` where it is -1, reduced."""
    wanted = {0: 1, 1: 2}.get(target.dim())
    if wanted is None or input1.dim() != wanted or input2.dim() != wanted:
        raise RuntimeError(
            f"cosine_embedding_loss: inputs (N, D) go with a target (N), inputs (D) with one without dimensions; got "
            f"{tuple(input1.shape)}, {tuple(input2.shape)} and {tuple(target.shape)}"
        )
    tiny = 1e-12
    product = (input1 * input2).sum(-1)
    squares1, squares2 = (input1 * input1).sum(-1) + tiny, (input2 * input2).sum(-1) + tiny
    cosine = product / (squares1 * squares2).sqrt()
    zeros = cosine.new_zeros(())
    near = _C.where(target == 1, 1 - cosine, zeros)
    apart = _C.where(target == -1, (cosine - margin).clamp_min(0), zeros)
    return _reduced(near + apart, reduction)


@overridable
@in_float32
def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """The negative log-likelihood of counts under Poisson distributions; see ``nn.functional.poisson_nll_loss``."""
    for name, value in (("input", input), ("target", target)):
        if not isinstance(value, Tensor):
            raise TypeError(f"poisson_nll_loss: {name} must be a Tensor, not a {type(value).__name__}")
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:  # Stirling's approximation of log(target!)
        stirling = target * target.log() - target + 0.5 * (6.283185307179586 * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return _reduced(loss, reduction)


def _check_triplet(anchor, positive, negative):
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_loss: anchor, positive and negative must have as many dimensions, got shapes "
            f"{tuple(anchor.shape)}, {tuple(positive.shape)} and {tuple(negative.shape)}"
        )


@overridable
@in_float32
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=1):
    """``max(0, margin + d(anchor, positive) - d(anchor, negative))``; see ``nn.functional.triplet_margin_loss``."""
    _check_triplet(anchor, positive, negative)
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = _C.minimum(far, pairwise_distance(positive, negative, p, eps))
    return _reduced((margin + near - far).clamp_min(0), reduction)


def _lengths(lengths):
    return lengths.reshape(-1).tolist() if isinstance(lengths, Tensor) else list(lengths)


@overridable
@in_float32
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False):
    """The negative log-likelihood of label sequences over all alignments; see ``nn.functional.ctc_loss``."""
    if isinstance(input_lengths, Tensor) != isinstance(target_lengths, Tensor):
        raise TypeError("ctc_loss: input_lengths and target_lengths must both be tensors, or both tuples of ints")
    for lengths in (input_lengths, target_lengths):
        if isinstance(lengths, Tensor) and (lengths.is_floating_point() or lengths.dtype == _C.bool):
            raise TypeError(f"ctc_loss: lengths must be integers, not {lengths.dtype}\n  hint: convert with .long()")
    single = log_probs.dim() == 2
    batch = log_probs.unsqueeze(1) if single else log_probs
    target_lengths = _lengths(target_lengths)
    labels = targets.long() if targets.dim() else targets.long().reshape(1)
    losses = _C._ctc_loss(batch, labels, _lengths(input_lengths), target_lengths, blank, zero_infinity)
    if reduction == 1:
        counts = losses.new_tensor(target_lengths).clamp_min(1)
        return (losses / counts).mean()
    if reduction == 2:
        return losses.sum()
    return losses.squeeze(0) if single else losses


__all__ = [
    "cosine_embedding_loss",
    "cosine_similarity",
    "ctc_loss",
    "hinge_embedding_loss",
    "kl_div",
    "margin_ranking_loss",
    "pairwise_distance",
    "poisson_nll_loss",
    "triplet_margin_loss",
]
