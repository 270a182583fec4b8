"""Dropout."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F
from .._functional.dropout import _check_probability
from .module import Module


class _Dropout(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        _check_probability(p)
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """In training, zeroes each element with probability p and scales the others by 1 / (1 - p).

    Raises:
        ValueError: p is not between 0 and 1.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Dropout(0.2).eval()(rl.ones(2))
        tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """As Dropout, for whole channels of an (N, C, H, W) input.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Dropout2d(0.2).eval()(rl.ones(1, 1, 1, 2))
        tensor([[[[1., 1.]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)
