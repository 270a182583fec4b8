"""Distances between vectors."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F
from .module import Module


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along a dimension; see ``functional.cosine_similarity``.

    Shapes:
        both inputs (*, D, *), the output without that dimension.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.CosineSimilarity()(rl.tensor([[3., 4.]]), rl.tensor([[4., 3.]]))
        tensor([0.9600])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of the difference of two vectors; see ``functional.pairwise_distance``.

    Shapes:
        both inputs (N, D) or (D); the output (N) or (), with keepdim (N, 1) or (1).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.PairwiseDistance()(rl.tensor([[3., 4.]]), rl.zeros(1, 2))
        tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
