"""Normalization, distances, and losses beside the common ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.special

from .core import Const, E, Error, Gen, N, Op, S, Sample
from .nn import reduced

# -- normalization ---------------------------------------------------------------------------------------------------


def affine(y, weight, bias):
    shape = (1, -1) + (1,) * (y.ndim - 2)
    y = y if weight is None else y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


def group_norm_ref(x, groups, weight=None, bias=None, eps=1e-5):
    if not x.size:
        return x
    split = x.reshape(x.shape[0], groups, -1)
    y = (split - split.mean(-1, keepdims=True)) / np.sqrt(split.var(-1, keepdims=True) + eps)
    return affine(y.reshape(x.shape), weight, bias)


def group_norm_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 4), 2)
    yield S(g(2, 4, 3), 2, g(4), g(4))
    yield S(g(1, 3, 2, 2), 3, g(3))
    yield S(g(2, 2, 3), 1, None, g(2), 1e-3)
    yield S(g(2, 6), 3, g(6), g(6))
    yield N(g(0, 4, 3), 2)
    yield N(g(3, 8, 9, 9), 4, g(8), g(8))
    yield N(g(2, 8, 67, low=1000, high=1001), 2)


def group_norm_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2, 4), 3)
    yield E(ValueError, g(1, 4), 4)
    yield E(RuntimeError, g(4), 4)
    yield E(RuntimeError, g(2, 4), 2, g(3))
    yield E(RuntimeError, g(2, 4), 2, None, g(3))
    yield E(NotImplementedError, g.index(2, 4, n=3), 2)
    yield E(TypeError, g(2, 4))


def rms_norm_ref(x, shape, weight=None, eps=None):
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    eps = np.finfo(np.float32).eps if eps is None else eps
    y = x / np.sqrt((x * x).mean(axes, keepdims=True) + eps)
    return y if weight is None else y * weight


def rms_norm_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 4), (4,))
    yield S(g(2, 4), (4,), g(4))
    yield S(g(2, 2, 3), [2, 3], g(2, 3), 1e-3)
    yield S(g(3), (3,), None, 1e-5)
    yield N(g(0, 4), (4,), g(4))
    yield N(g(5, 67), (67,), g(67))


def rms_norm_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2, 4), (3,))
    yield E(RuntimeError, g(2, 4), (4,), g(3))
    yield E(RuntimeError, g(2, 4), ())
    yield E(TypeError, g(2, 4))


def instance_norm_ref(
    x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5
):
    if use_input_stats:
        axes = tuple(range(2, x.ndim))
        mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    else:
        shape = (1, -1) + (1,) * (x.ndim - 2)
        mean, var = running_mean.reshape(shape), running_var.reshape(shape)
    return affine((x - mean) / np.sqrt(var + eps), weight, bias)


def instance_norm_samples(g: Gen) -> Iterator[Sample]:
    def running() -> tuple[Const, Const]:
        return Const(g(2)), Const(g(2, low=0.5, high=2))

    yield S(g(2, 2, 3))
    yield S(g(2, 2, 3), None, None, g(2), g(2), eps=1e-3)
    yield S(g(1, 2, 2, 2), *running(), g(2))
    yield S(g(2, 2, 1, 3), *running(), None, g(2), momentum=0.3)
    yield S(g(2, 2, 3), *running(), g(2), g(2), False)
    yield N(g(3, 2, 9, 9), *running(), g(2), g(2))


def instance_norm_errors(g: Gen) -> Iterator[Error]:
    yield E(ValueError, g(2, 4, 1))
    yield E(ValueError, g(2, 4))
    yield E(RuntimeError, g(2, 4, 3), use_input_stats=False)
    yield E(RuntimeError, g(2, 4, 3), weight=g(3))
    yield E(RuntimeError, g(2, 4, 3), g(3), g(4))


def local_response_norm_ref(x, size, alpha=1e-4, beta=0.75, k=1.0):
    squares = np.pad(x * x, [(0, 0), (size // 2, (size - 1) // 2), *((0, 0),) * (x.ndim - 2)])
    mean = sum(squares[:, i : i + x.shape[1]] for i in range(size)) / size
    return x / (k + alpha * mean) ** beta


def local_response_norm_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 4, 3), 2)
    yield S(g(1, 3, 2, 2), 3, 0.5, 0.6, 2.0)
    yield S(g(2, 3, 2, 2, 1), 5, alpha=0.1)
    yield N(g(2, 5, 9, 9), 5)


def local_response_norm_errors(g: Gen) -> Iterator[Error]:
    yield E(ValueError, g(2, 4), 2)
    yield E(RuntimeError, g(2, 4, 3), 0)


# -- distances -------------------------------------------------------------------------------------------------------


def norm_ref(d: np.ndarray, p: float, axis: int = -1, keepdims: bool = False) -> np.ndarray:
    d = np.abs(d)
    if np.isinf(p):
        return d.max(axis, keepdims=keepdims)
    return (d != 0).sum(axis, keepdims=keepdims) if p == 0 else (d**p).sum(axis, keepdims=keepdims) ** (1 / p)


def cosine_similarity_ref(a, b, dim=1, eps=1e-8):
    a, b = np.broadcast_arrays(a, b)
    lengths = [np.maximum(np.sqrt((x * x).sum(dim, keepdims=True)), eps) for x in (a, b)]
    return (a / lengths[0] * (b / lengths[1])).sum(dim)


def cosine_similarity_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g(2, 3))
    yield S(g(4), g(4), 0)
    yield S(g(2, 3), g(3), dim=-1)
    yield S(g(2, 3, 2), g(2, 1, 2), 2, 1e-6)
    yield N(g(2, 0), g(2, 0))
    yield N(np.zeros((2, 3), g.np_dtype), g(2, 3))
    yield N(g(5, 67), g(5, 67))


def cosine_similarity_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2, 3), g(2, 4))
    yield E(RuntimeError, g.index(2, 3, n=4), g.index(2, 3, n=4))
    yield E(IndexError, g(2, 3), g(2, 3), 2)


def pairwise_distance_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g(2, 3))
    yield S(g(3), g(3))
    yield S(g(2, 3), g(3), 3.0)
    yield S(g(2, 3), g(2, 3), 1.0, 1e-3, True)
    yield S(g(2, 3), g(2, 3), p=float("inf"))
    yield N(g(0, 3), g(0, 3))
    yield N(g(5, 67), g(5, 67))


def pairwise_distance_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2, 3), g(2, 4))


def pdist_ref(x, p=2.0):
    i, j = np.triu_indices(x.shape[0], 1)
    return norm_ref(x[i] - x[j], p) if i.size and x.shape[1] else np.zeros(i.size)


def pdist_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(4, 3))
    yield S(g.distinct(3, 2), 1.0)
    yield S(g(3, 2), 3.0)
    yield S(g.distinct(3, 2), 1.5)
    yield S(g(3, 2), float("inf"))
    yield N(g(3, 2), 0.0)
    yield N(g(1, 2))
    yield N(g(3, 0))
    yield N(g(9, 67))


def pdist_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(3))
    yield E(RuntimeError, g(3, 2), -1.0)
    yield E(RuntimeError, g.index(3, 2, n=4))


def bilinear_ref(a, b, weight, bias=None):
    y = np.einsum("...i,kij,...j->...k", a, weight, b)
    return y if bias is None else y + bias


def bilinear_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g(2, 2), g(4, 3, 2), g(4))
    yield S(g(3), g(2), g(2, 3, 2))
    yield S(g(2, 2, 2), g(2, 2, 1), g(3, 2, 1), g(3))
    yield N(g(0, 3), g(0, 2), g(4, 3, 2))
    yield N(g(5, 9), g(5, 11), g(7, 9, 11), g(7))


def bilinear_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2, 3), g(3, 2), g(4, 3, 2))
    yield E(RuntimeError, g(2, 3), g(2, 3), g(4, 3, 2))
    yield E(RuntimeError, g(2, 2), g(2, 2), g(4, 3, 2))
    yield E(RuntimeError, g(2, 3), g(2, 2), g(4, 3, 2), g(3))


# -- losses ----------------------------------------------------------------------------------------------------------

REDUCTIONS = ("mean", "sum", "none")


def loss(each: Callable) -> Callable:
    """A loss from what it gives without reduction."""
    return lambda *args, reduction="mean", **kwargs: reduced(each(*args, **kwargs), reduction)


def pair_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2, 3), g(2, 4))
    yield E(ValueError, g(2, 3), g(2, 3), reduction="text")


def signs(g: Gen, *shape: int) -> Const:
    return Const(np.where(g.mask(*shape), 1, -1).astype(g.np_dtype))


def kl_div_ref(x, target, *, reduction="mean", log_target=False):
    each = np.exp(target) * (target - x) if log_target else scipy.special.xlogy(target, target) - target * x
    if reduction == "batchmean":
        return each.sum() / (x.shape[0] if x.ndim else 1)
    return reduced(each, reduction)


def kl_div_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g(2, 3, low=0.1, high=1))
    for reduction in ("sum", "none", "batchmean"):
        yield S(g(2, 3), g(2, 3, low=0.1, high=1), reduction=reduction)
        yield S(g(2, 3), g(2, 3), reduction=reduction, log_target=True)
    yield S(g(), g(low=0.1, high=1), reduction="batchmean")
    yield S(g(2, 3), g(3, low=0.1, high=1), reduction="sum")
    yield N(g(4), np.asarray([0, 1, -1, np.nan], g.np_dtype), reduction="none")


def kl_div_errors(g: Gen) -> Iterator[Error]:
    yield from pair_errors(g)
    yield E(RuntimeError, g(2, 3), g.index(2, 3, n=2))


def poisson_each(x, target, log_input=True, full=False, eps=1e-8):
    each = np.exp(x) - target * x if log_input else x - target * np.log(x + eps)
    if full:
        stirling = target * np.log(target) - target + 0.5 * np.log(2 * np.pi * target)
        each = each + np.where(target > 1, stirling, 0)
    return each


def poisson_samples(g: Gen) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield S(g(2, 3), g(2, 3, low=0, high=5), reduction=reduction)
    yield S(g(4, low=0.5, high=4), g(4, low=0, high=5), False)
    yield S(g(4, low=0.5, high=4), g(4, low=1.5, high=5), log_input=False, full=True, reduction="none", eps=1e-3)
    yield N(g(3), np.asarray([0, 1, 5], g.np_dtype), full=True, reduction="none")


def gaussian_each(x, target, var, full=False, eps=1e-6):
    if np.ndim(var) == x.ndim - 1 and np.ndim(var):
        var = var[..., None]
    var = np.maximum(var, eps)
    each = 0.5 * (np.log(var) + (x - target) ** 2 / var)
    return each + 0.5 * np.log(2 * np.pi) if full else each


def gaussian_samples(g: Gen) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield S(g(2, 3), g(2, 3), g(2, 3, low=0.5, high=2), reduction=reduction)
    yield S(g(2, 3), g(2, 3), g(2, 1, low=0.5, high=2), full=True)
    yield S(g(2, 3), g(2, 3), g(2, low=0.5, high=2), reduction="none")
    yield S(g(3), g(3), 2.0)
    yield N(g(2), g(2), np.zeros(2, g.np_dtype), eps=1e-3)


def gaussian_errors(g: Gen) -> Iterator[Error]:
    yield E(ValueError, g(2, 3), g(2, 3), np.asarray([[1, -1, 1], [1, 1, 1]], g.np_dtype))
    yield E(ValueError, g(2, 3), g(2, 3), -1.0)
    yield E(ValueError, g(2, 3), g(2, 3), g(3, low=1))
    yield E(ValueError, g(2, 3), g(2, 3), 1.0, reduction="text")


def hinge_each(x, target, margin=1.0):
    return np.where(target != 1, np.maximum(margin - x, 0), 0) + np.where(target != -1, x, 0)


def hinge_samples(g: Gen) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield S(g.away(2, 3, zero=1.0, gap=0.1), signs(g, 2, 3), reduction=reduction)
    yield S(g.away(4, zero=0.5, gap=0.1), signs(g, 4), 0.5)
    yield N(g(3), np.asarray([1, -1, 0]))


def ranking_each(a, b, target, margin=0):
    return np.maximum(-target * (a - b) + margin, 0)


def ranking_samples(g: Gen) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield S(g(2, 3), g(2, 3) + g.np_dtype.type(10), signs(g, 2, 3), reduction=reduction)
    yield S(g(4), g(4) + g.np_dtype.type(10), signs(g, 4), 0.5)
    yield N(g(67), g(67), signs(g, 67))


def ranking_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(3), g(2), g(3))
    yield E(RuntimeError, g(3, 3), g(3, 3), g(3))
    yield E(ValueError, g(3), g(3), g(3), reduction="text")


def cosine_embedding_each(a, b, target, margin=0):
    cosine = (a * b).sum(-1) / np.sqrt(((a * a).sum(-1) + 1e-12) * ((b * b).sum(-1) + 1e-12))
    return np.where(target == 1, 1 - cosine, 0) + np.where(target == -1, np.maximum(cosine - margin, 0), 0)


def cosine_embedding_samples(g: Gen) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield S(g(2, 3), g(2, 3), np.asarray([1, -1]), reduction=reduction)
    yield S(g(3), g(3), np.asarray(1))
    yield S(g(2, 3), g(2, 3), signs(g, 2), -0.999)
    yield N(g(5, 67), g(5, 67), signs(g, 5))


def cosine_embedding_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2, 3), g(2, 3), np.asarray(1))
    yield E(RuntimeError, g(2, 3), g(3), np.asarray([1, 1]))
    yield E(RuntimeError, g(2, 3), g(2, 4), np.asarray([1, 1]))
    yield E(ValueError, g(2, 3), g(2, 3), np.asarray([1, 1]), reduction="text")


def soft_margin_samples(g: Gen) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield S(g(2, 3), signs(g, 2, 3), reduction=reduction)
    yield S(g(), signs(g))
    yield N(g(3), np.asarray([1, -1, 1]))
    yield N(g(67), signs(g, 67))


def soft_margin_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(3), g(2))
    yield E(RuntimeError, g(3, 1), g(3))
    yield E(ValueError, g(3), g(3), reduction="text")


def multi_margin_ref(x, target, p=1, margin=1.0, weight=None, *, reduction="mean"):
    rows = np.atleast_2d(x)
    labels = np.reshape(target, -1)
    right = np.take_along_axis(rows, labels[:, None], 1)
    z = np.maximum(margin - right + rows, 0) ** p
    np.put_along_axis(z, labels[:, None], 0, 1)
    each = z.sum(1) / rows.shape[1] * (1 if weight is None else weight[labels])
    return reduced(each.reshape(np.shape(target)), reduction)


def multi_margin_samples(g: Gen) -> Iterator[Sample]:
    weight = Const(g(4, low=0.5, high=2))
    for reduction in REDUCTIONS:
        yield S(g.distinct(2, 4), g.index(2, n=4), reduction=reduction)
        yield S(g.distinct(2, 4), g.index(2, n=4), 2, 0.7, weight, reduction=reduction)
    yield S(g.distinct(4), g.index(n=4))
    yield S(g.distinct(4), g.index(1, n=4), reduction="none")
    yield N(g(20, 7), g.index(20, n=7))


def multi_margin_errors(g: Gen) -> Iterator[Error]:
    yield E(ValueError, g(2, 3), np.asarray([1, 0]), p=3)
    yield E(RuntimeError, g(2, 3), np.asarray([1, 3]))
    yield E(RuntimeError, g(2, 3), np.asarray([1, -1]))
    yield E(RuntimeError, g(2, 3), np.asarray([1]))
    yield E(RuntimeError, g(2, 3), np.asarray([1, 0]), weight=g(2))
    yield E(RuntimeError, g(2, 3), np.asarray([1, 0], np.float32))
    yield E(RuntimeError, g(2, 3, 1), np.asarray([1, 0]))


def multilabel_margin_ref(x, target, *, reduction="mean"):
    rows, labels = np.atleast_2d(x), np.atleast_2d(target)
    each = np.zeros(rows.shape[0])
    for i, (row, given) in enumerate(zip(rows, labels, strict=True)):
        right = list(given[: np.argmax(given < 0)] if (given < 0).any() else given)
        others = [c for c in range(len(row)) if c not in right]
        each[i] = sum(max(0, 1 - row[a] + row[b]) for a in right for b in others) / len(row)
    return reduced(each if x.ndim == 2 else each[0], reduction)


def multilabel_margin_samples(g: Gen) -> Iterator[Sample]:
    labels = np.asarray([[0, 3, -1, 1], [2, -1, 0, 0]])
    for reduction in REDUCTIONS:
        yield S(g.distinct(2, 4), labels, reduction=reduction)
    yield S(g.distinct(4), labels[0])
    yield S(g.distinct(2, 2), np.asarray([[-1, 0], [1, 0]]), reduction="none")


def multilabel_margin_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(3), np.asarray([0, 3, -1]))
    yield E(RuntimeError, g(2, 3), np.asarray([0, 1, -1]))
    yield E(RuntimeError, g(2, 3), np.asarray([[0, 1], [1, 0]]))
    yield E(RuntimeError, g(2), np.asarray([1, 0], np.float32))


def multilabel_soft_margin_ref(x, target, weight=None, *, reduction="mean"):
    each = target * np.logaddexp(0, -x) + (1 - target) * np.logaddexp(0, x)
    return reduced((each if weight is None else each * weight).mean(-1), reduction)


def multilabel_soft_margin_samples(g: Gen) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield S(g(2, 3), g(2, 3, low=0, high=1), reduction=reduction)
    yield S(g(2, 3), g(2, 3, low=0, high=1), g(3, low=0.5, high=2))
    yield S(g(3), g(3, low=0, high=1), reduction="none")


def triplet_each(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False):
    near, far = norm_ref(anchor - positive + eps, p), norm_ref(anchor - negative + eps, p)
    if swap:
        far = np.minimum(far, norm_ref(positive - negative + eps, p))
    return np.maximum(margin + near - far, 0)


def triplet_samples(g: Gen) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield S(g(2, 3), g(2, 3), g(2, 3), 9.0, reduction=reduction)
    yield S(g(2, 3), g(2, 3), g(2, 3), margin=9.0, swap=True)
    yield S(g(3), g(3), g(3), 9.0, 1)
    yield S(g(2, 3), g(2, 3), g(2, 3), 9.0, p=3, eps=1e-3)
    yield N(g(20, 7), g(20, 7), g(20, 7))


def triplet_errors(g: Gen) -> Iterator[Error]:
    yield E(ValueError, g(2, 3), g(2, 3), g(2, 3), margin=-1.0)
    yield E(RuntimeError, g(2, 3), g(3), g(2, 3))
    yield E(RuntimeError, g(2, 3), g(2, 3), g(2, 4))
    yield E(ValueError, g(2, 3), g(2, 3), g(2, 3), reduction="text")


def triplet_own_samples(g: Gen) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield S(g(2, 3), g(2, 3), g(2, 3), margin=9.0, reduction=reduction)
    yield S(g(2, 3), g(2, 3), g(2, 3), margin=9.0, swap=True)


def triplet_own_errors(g: Gen) -> Iterator[Error]:
    yield E(ValueError, g(2, 3), g(2, 3), g(2, 3), margin=-1.0)
    yield E(RuntimeError, g(2, 3), g(3), g(2, 3))
    yield E(ValueError, g(2, 3), g(2, 3), g(2, 3), reduction="text")


def ctc_each(x, targets, moments, counts, blank):
    """By the sum over all paths, one label or blank for each moment."""
    import itertools

    losses, begin = [], 0
    for i, (t, n) in enumerate(zip(moments, counts, strict=True)):
        wanted = list(targets[i][:n] if targets.ndim == 2 else targets[begin : begin + n])
        begin += n
        total = 0.0
        for path in itertools.product(range(x.shape[2]), repeat=int(t)):
            labels = [c for k, c in enumerate(path) if c != blank and (k == 0 or c != path[k - 1])]
            if labels == wanted:
                total += np.exp(sum(x[k, i, c] for k, c in enumerate(path)))
        losses.append(-np.log(total))
    return np.asarray(losses)


def ctc_ref(x, targets, moments, counts, blank=0, *, reduction="mean", zero_infinity=False):
    single = x.ndim == 2
    moments, counts = np.reshape(moments, -1), np.reshape(counts, -1)
    each = ctc_each(x[:, None] if single else x, np.atleast_1d(targets), moments, counts, blank)
    each = np.where(np.isinf(each), 0, each) if zero_infinity else each
    if reduction == "mean":
        return (each / np.maximum(counts, 1)).mean()
    return each.sum() if reduction == "sum" else each[0] if single else each


def ctc_samples(g: Gen) -> Iterator[Sample]:
    def logs(*shape: int) -> np.ndarray:
        return scipy.special.log_softmax(g(*shape), -1).astype(g.np_dtype)

    for reduction in REDUCTIONS:
        yield S(logs(4, 2, 3), np.asarray([[1, 2], [2, 2]]), (4, 3), (2, 2), reduction=reduction)
    yield S(logs(4, 2, 3), np.asarray([1, 2, 1]), np.asarray([4, 4]), np.asarray([2, 1]))
    yield S(logs(4, 2, 3), np.asarray([[1, 2], [0, 2]]), [4, 2], [0, 2], 1, reduction="none")
    yield S(logs(4, 3), np.asarray([1, 2]), (4,), (2,), reduction="none")
    yield S(logs(2, 2, 3), np.asarray([[1, 1], [1, 2]]), (2, 2), (2, 2), zero_infinity=True)
    yield N(logs(2, 2, 3), np.asarray([[1, 1], [1, 2]]), (2, 2), (2, 2), reduction="none")


def ctc_errors(g: Gen) -> Iterator[Error]:
    two = np.asarray([[1, 2], [2, 1]])
    yield E(RuntimeError, g(4, 2, 3), two, (4, 5), (2, 2))
    yield E(RuntimeError, g(4, 2, 3), two, (4, 4), (2, 3))
    yield E(RuntimeError, g(4, 2, 3), two, (4,), (2, 2))
    yield E(RuntimeError, g(4, 2, 3), two, (4, 4), (2,))
    yield E(RuntimeError, g(4, 2, 3), two, (4, 4), (2, 2), blank=3)
    yield E(RuntimeError, g(4, 2, 3), np.asarray([1, 2, 1]), (4, 4), (2, 2))
    yield E(TypeError, g(4, 2, 3), two, np.asarray([4, 4]), (2, 2))
    yield E(ValueError, g(4, 2, 3), two, (4, 4), (2, 2), reduction="text")


# -- bags of embeddings ----------------------------------------------------------------------------------------------


def embedding_bag_ref(
    index,
    weight,
    offsets=None,
    *,
    mode="mean",
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
    scale_grad_by_freq=False,
):
    if index.ndim == 2:
        offsets = np.arange(index.shape[0] + 1) * index.shape[1]
        index = index.reshape(-1)
        factors = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    else:
        factors = per_sample_weights
        offsets = np.append(offsets[: -1 if include_last_offset else None], len(index))
    result = np.zeros((len(offsets) - 1, weight.shape[1]))
    for b in range(len(offsets) - 1):
        places = [i for i in range(offsets[b], offsets[b + 1]) if padding_idx is None or index[i] != padding_idx]
        if not places:
            continue
        rows = weight[index[places]]
        if factors is not None:
            rows = rows * factors[places, None]
        result[b] = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode](rows, axis=0)
    return result


def embedding_bag_samples(g: Gen) -> Iterator[Sample]:
    for mode in ("sum", "mean", "max"):
        table = g.distinct(5, 2)
        yield S(np.asarray([0, 1, 1, 4]), table, np.asarray([0, 2, 2]), mode=mode)
        yield S(np.asarray([[0, 2], [2, 3]]), table, mode=mode)
        yield S(np.asarray([0, 1, 1, 4]), table, np.asarray([0, 1, 3]), mode=mode, include_last_offset=True)
        yield S(np.asarray([0, 1, 1, 4]), table, np.asarray([0, 2]), mode=mode, padding_idx=1)
        yield N(np.asarray([0, 1], np.int32), table, np.asarray([0], np.int32), mode=mode)
        yield N(np.zeros(0, np.int64), table, np.asarray([0]), mode=mode)
        yield N(g.index(200, n=50), g(50, 19), np.arange(0, 200, 10), mode=mode)
    yield S(np.asarray([0, 1, 4]), g(5, 2), np.asarray([0, 2]), mode="sum", per_sample_weights=g(3))
    yield S(np.asarray([[0, 1], [4, 4]]), g(5, 2), mode="sum", per_sample_weights=g(2, 2), padding_idx=1)
    yield N(np.asarray([0, 1, 1]), g(5, 2), np.asarray([0, 1]), mode="sum", scale_grad_by_freq=True)


def embedding_bag_errors(g: Gen) -> Iterator[Error]:
    one, start = np.asarray([0, 1, 1]), np.asarray([0])
    yield E(ValueError, one, g(3, 2))
    yield E(ValueError, one[None], g(3, 2), start)
    yield E(RuntimeError, one, g(3, 2), np.asarray([1]))
    yield E(RuntimeError, one, g(3, 2), np.asarray([0, 4]))
    yield E(RuntimeError, np.asarray([0, 3]), g(3, 2), start)
    yield E(RuntimeError, np.asarray([0, -1]), g(3, 2), start)
    yield E(ValueError, one, g(3, 2), start, mode="text")
    yield E(NotImplementedError, one, g(3, 2), start, per_sample_weights=g(3))
    yield E(ValueError, one, g(3, 2), start, mode="sum", per_sample_weights=g(2))
    yield E(RuntimeError, one, g(3, 2), start, padding_idx=5)
    yield E(RuntimeError, one.astype(np.float32), g(3, 2), start)


PLAIN: Any = {"grad": True, "layouts": ("transposed", "step", "offset")}
FLOAT_OF_SECOND: Any = {"result": lambda sample, dtype: dtype}

LOSSES = [
    Op("nn.functional.group_norm", group_norm_samples, group_norm_ref, errors=group_norm_errors, **PLAIN).but(
        grad_atol=1e-4
    ),
    Op("nn.functional.rms_norm", rms_norm_samples, rms_norm_ref, errors=rms_norm_errors, **PLAIN),
    Op("nn.functional.instance_norm", instance_norm_samples, instance_norm_ref, **PLAIN).but(
        errors=instance_norm_errors, grad_atol=1e-4
    ),
    Op("nn.functional.local_response_norm", local_response_norm_samples, local_response_norm_ref, **PLAIN).but(
        errors=local_response_norm_errors
    ),
    Op("cosine_similarity", cosine_similarity_samples, cosine_similarity_ref, errors=cosine_similarity_errors, **PLAIN),
    Op(
        "pairwise_distance",
        pairwise_distance_samples,
        lambda a, b, p=2.0, eps=1e-6, keepdim=False: norm_ref(a - b + eps, p, keepdims=keepdim),
        errors=pairwise_distance_errors,
        **PLAIN,
    ),
    Op("pdist", pdist_samples, pdist_ref, errors=pdist_errors, **PLAIN),
    Op("bilinear", bilinear_samples, bilinear_ref, errors=bilinear_errors, **PLAIN),
    Op("nn.functional.kl_div", kl_div_samples, kl_div_ref, errors=kl_div_errors, **PLAIN),
    Op("nn.functional.poisson_nll_loss", poisson_samples, loss(poisson_each), errors=pair_errors, **PLAIN),
    Op("nn.functional.gaussian_nll_loss", gaussian_samples, loss(gaussian_each), errors=gaussian_errors, **PLAIN),
    Op("nn.functional.hinge_embedding_loss", hinge_samples, loss(hinge_each), errors=pair_errors, **PLAIN),
    Op("nn.functional.margin_ranking_loss", ranking_samples, loss(ranking_each), errors=ranking_errors, **PLAIN),
    Op("nn.functional.cosine_embedding_loss", cosine_embedding_samples, loss(cosine_embedding_each), **PLAIN).but(
        errors=cosine_embedding_errors
    ),
    Op(
        "nn.functional.soft_margin_loss",
        soft_margin_samples,
        loss(lambda x, target: np.logaddexp(0, -target * x)),
        errors=soft_margin_errors,
        **PLAIN,
    ),
    Op("nn.functional.multi_margin_loss", multi_margin_samples, multi_margin_ref, errors=multi_margin_errors, **PLAIN),
    Op("nn.functional.multilabel_margin_loss", multilabel_margin_samples, multilabel_margin_ref, **PLAIN).but(
        errors=multilabel_margin_errors
    ),
    Op(
        "nn.functional.multilabel_soft_margin_loss",
        multilabel_soft_margin_samples,
        multilabel_soft_margin_ref,
        errors=pair_errors,
        **PLAIN,
    ),
    Op("nn.functional.triplet_margin_loss", triplet_samples, loss(triplet_each), errors=triplet_errors, **PLAIN),
    Op(
        "nn.functional.triplet_margin_with_distance_loss",
        triplet_own_samples,
        loss(triplet_each),
        errors=triplet_own_errors,
        **PLAIN,
    ),
    # PyTorch's derivative by log_probs is right only for what goes on through log_softmax; see tests/nn.
    Op("nn.functional.ctc_loss", ctc_samples, ctc_ref, errors=ctc_errors, halves=False, layouts=()),
    Op(
        "nn.functional.embedding_bag",
        embedding_bag_samples,
        embedding_bag_ref,
        errors=embedding_bag_errors,
        **(PLAIN | FLOAT_OF_SECOND),
    ),
]
