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


class Dropout1d(_Dropout):
    """As Dropout, for whole channels of an (N, C, L) or (C, L) input.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Dropout1d(0.2).eval()(rl.ones(1, 2, 3)).shape
        torch.Size([1, 2, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """As Dropout, for whole channels of an (N, C, D, H, W) input.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Dropout3d(0.2).eval()(rl.ones(1, 2, 1, 1, 1)).shape
        torch.Size([1, 2, 1, 1, 1])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """Dropout that keeps mean 0 and variance 1 of what SELU gives (Klambauer et al. 2017).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.AlphaDropout(0.2).eval()(rl.ones(2, 3)).shape
        torch.Size([2, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_Dropout):
    """As AlphaDropout, for whole channels of an (N, C, ...) input.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.FeatureAlphaDropout(0.2).eval()(rl.ones(1, 2, 3)).shape
        torch.Size([1, 2, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
