"""Sliding blocks of images."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F
from ..common_types import Size2
from .module import Module


class Unfold(Module):
    """The blocks that a window sliding over an image sees, as columns; see ``nn.functional.unfold``.

    Shapes:
        input (N, C, H, W) or (C, H, W); output (N, C * kernel height * kernel width, number of blocks) or without N.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Unfold((2, 3))(rl.ones(2, 5, 3, 4)).shape
        torch.Size([2, 30, 4])
    """

    def __init__(self, kernel_size: Size2, dilation: Size2 = 1, padding: Size2 = 0, stride: Size2 = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """Adds up columns, as ``Unfold`` makes them, to images; see ``nn.functional.fold``.

    Shapes:
        input (N, C * kernel height * kernel width, number of blocks) or without N; output (N, C, H, W) or (C, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Fold((4, 5), (2, 2))(rl.ones(1, 12, 12)).shape
        torch.Size([1, 3, 4, 5])
    """

    def __init__(
        self, output_size: Size2, kernel_size: Size2, dilation: Size2 = 1, padding: Size2 = 0, stride: Size2 = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )
