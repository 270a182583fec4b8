"""What distributions share."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

import rushlight
from rushlight import Tensor
from rushlight._finfo import finfo

euler_constant = 0.57721566490153286060


def is_number(value) -> bool:
    """Whether it is a plain number, not a tensor."""
    return isinstance(value, Number)


def engine(name: str, purpose: str) -> Callable:
    """A function of the package by its name, or NotImplementedError saying what needs it."""
    function = getattr(rushlight, name, None)
    if function is None:
        raise NotImplementedError(
            f"{purpose} needs {name}, which Rushlight does not have yet\n"
            "  hint: docs/differences.md lists what is missing"
        )
    return function


def broadcast_all(*values) -> list[Tensor]:
    """Numbers and tensors as tensors of one shape.

    Numbers take dtype and device of the first tensor; where there is none, the default dtype.

    Raises:
        ValueError: a value that is neither number nor tensor.

    >>> import rushlight as rl
    >>> rl.distributions.utils.broadcast_all(rl.zeros(2), 1)
    [tensor([0., 0.]), tensor([1., 1.])]
    """
    like: Any = None
    for value in values:
        if isinstance(value, Tensor):
            like = value if like is None else like
        elif not is_number(value) and not hasattr(type(value), "__torch_function__"):
            raise ValueError(f"expected numbers or tensors, got {type(value).__name__}\n  hint: torch.tensor(...)")
    dtype, device = (rushlight.get_default_dtype(), None) if like is None else (like.dtype, like.device)
    tensors = [rushlight.tensor(v, dtype=dtype, device=device) if is_number(v) else v for v in values]
    return list(rushlight.broadcast_tensors(*tensors))


def standard_normal(shape, dtype, device) -> Tensor:
    """Draws from the normal distribution with mean 0 and standard deviation 1."""
    return rushlight.empty(shape, dtype=dtype, device=device).normal_()


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """The sum over the last `dims` dimensions."""
    return value if dims == 0 else value.flatten(value.dim() - dims).sum(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept a rounding error away from 0 and 1, so that their logarithms are finite."""
    small = finfo(probs.dtype).eps
    return probs.clamp(small, 1 - small)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log probabilities, or log odds where each probability is that of one of two outcomes."""
    probs = clamp_probs(probs)
    return probs.log() - (-probs).log1p() if is_binary else probs.log()


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from log odds, or from unnormalized log probabilities along the last dimension."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


class lazy_property:
    """An attribute that is computed when first asked for, with gradients recorded, and then kept."""

    def __init__(self, function: Callable):
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance, owner=None) -> Any:
        if instance is None:
            return self
        with rushlight.enable_grad():
            value = self.function(instance)
        instance.__dict__[self.function.__name__] = value  # found there from now on, before this descriptor
        return value


def one_of(kind: str, probs, logits) -> None:
    """Raises ValueError unless just one of the two ways to give probabilities is used."""
    if (probs is None) == (logits is None):
        given = "neither" if probs is None else "both"
        raise ValueError(f"{kind} takes either probs or logits, got {given}")
