"""Pooling."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F
from ..common_types import Size2
from .module import Module


class MaxPool2d(Module):
    """The largest value in each window; see ``nn.functional.max_pool2d``.

    Shapes:
        input (N, C, H, W) or (C, H, W), output likewise;
        H' = (H + 2 padding - dilation (kernel - 1) - 1) // stride + 1.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.MaxPool2d(3, stride=2)(rl.ones(20, 16, 50, 32)).shape
        torch.Size([20, 16, 24, 15])
    """

    def __init__(
        self,
        kernel_size: Size2,
        stride: Size2 | None = None,
        padding: Size2 = 0,
        dilation: Size2 = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class AvgPool2d(Module):
    """The mean of each window.

    Args:
        kernel_size, stride, padding: a number, or one for each of the two dimensions.
        ceil_mode: round the output's size up instead of down.
        count_include_pad: whether padded zeros count in the mean.
        divisor_override: divide by this instead of the window's size.

    Shapes:
        input (N, C, H, W) or (C, H, W); output likewise, H' = (H + 2 padding - kernel) // stride + 1.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.AvgPool2d(2)(rl.arange(4.).view(1, 1, 2, 2))
        tensor([[[[1.5000]]]])
    """

    def __init__(
        self,
        kernel_size: Size2,
        stride: Size2 | None = None,
        padding: Size2 = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
