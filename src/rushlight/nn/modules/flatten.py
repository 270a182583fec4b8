"""Flatten and its inverse."""

from __future__ import annotations

from collections.abc import Sequence

from ... import Tensor
from .module import Module


class Flatten(Module):
    """Makes one dimension of those from start_dim to end_dim.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Flatten()(rl.ones(32, 1, 5, 5)).shape
        torch.Size([32, 25])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits dimension dim into several of the given sizes, one of which may be -1.

    Raises:
        TypeError: sizes that are not integers.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Unflatten(1, (2, 5, 5))(rl.ones(2, 50)).shape
        torch.Size([2, 2, 5, 5])
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError(f"Unflatten: dim must be an int, got {type(dim).__name__}: dimensions have no names here")
        if not isinstance(unflattened_size, (tuple, list)) or not all(isinstance(n, int) for n in unflattened_size):
            raise TypeError(f"unflattened_size must be a tuple of ints, got {unflattened_size!r}")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
