"""Dropout that is more than a mask and a factor."""

from __future__ import annotations

from math import sqrt

from .. import _C
from .._creation import empty_like
from ..overrides import overridable

_SELU_AT_MINUS_INFINITY = 1.7580993408473766  # its absolute value: 1.0507... * 1.6732...


def _check(p):
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")


def _kept(input, p, by_channel):
    """Ones for what stays and zeros for what is dropped: for each element, or each channel of (N, C, ...)."""
    if not by_channel:
        return empty_like(input).bernoulli_(1 - p)
    if input.dim() < 2:
        raise RuntimeError(
            f"dropout of channels needs (N, C, ...), got shape {tuple(input.shape)}\n"
            "  hint: add the missing dimension with unsqueeze(0)"
        )
    return input.new_empty((*input.shape[:2], *(1 for _ in input.shape[2:]))).bernoulli_(1 - p)


def _dropped(input, p, train, by_channel, inplace):
    _check(p)
    if p == 0 or not train or input.numel() == 0:
        return input
    multiply = input.mul_ if inplace else input.mul
    if p == 1:
        return multiply(input.new_zeros(()))
    return multiply(_kept(input, p, by_channel).div_(1 - p))


def _alpha_dropped(input, p, train, by_channel, inplace):
    _check(p)
    if p == 0 or not train or input.numel() == 0:
        return input
    multiply = input.mul_ if inplace else input.mul
    if p == 1:
        return multiply(input.new_zeros(()))
    # What is dropped becomes -alpha; the whole is then scaled and moved so that mean 0 and variance 1 stay.
    alpha = _SELU_AT_MINUS_INFINITY
    scale = 1 / sqrt((alpha * alpha * p + 1) * (1 - p))
    kept = _kept(input, p, by_channel)
    moved = (kept - 1).mul_(alpha * scale).add_(alpha * scale * p)
    result = multiply(kept.mul_(scale))
    return result.add_(moved) if inplace else result.add(moved)


@overridable
def alpha_dropout(input, p, train):
    """Dropout that keeps mean 0 and variance 1 of what selu gives; see ``nn.functional.alpha_dropout``."""
    return _alpha_dropped(input, p, train, False, False)


@overridable
def alpha_dropout_(input, p, train):
    """:func:`alpha_dropout` in place."""
    return _alpha_dropped(input, p, train, False, True)


@overridable
def feature_alpha_dropout(input, p, train):
    """:func:`alpha_dropout` of whole channels of an (N, C, ...) input."""
    return _alpha_dropped(input, p, train, True, False)


@overridable
def feature_alpha_dropout_(input, p, train):
    """:func:`feature_alpha_dropout` in place."""
    return _alpha_dropped(input, p, train, True, True)


@overridable
def feature_dropout(input, p, train):
    """Dropout of whole channels of an (N, C, ...) input.

    >>> import rushlight as rl
    >>> rl.feature_dropout(rl.ones(1, 2, 3), 0.5, train=False)
    tensor([[[1., 1., 1.],
             [1., 1., 1.]]])
    """
    return _dropped(input, p, train, True, False)


@overridable
def feature_dropout_(input, p, train):
    """:func:`feature_dropout` in place."""
    return _dropped(input, p, train, True, True)


@overridable
def dropout_(input, p, train):
    """:func:`rushlight.dropout` in place."""
    return input.copy_(_C.dropout(input, p, train)) if train else input


__all__ = [
    "alpha_dropout",
    "alpha_dropout_",
    "dropout_",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "feature_dropout",
    "feature_dropout_",
]
