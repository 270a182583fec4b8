"""Convolutions."""

from __future__ import annotations

import math

import rushlight as rl

from ... import Tensor
from .. import functional as F
from .. import init
from ..common_types import Device, Size2
from ..parameter import Parameter
from .module import Module


class Conv2d(Module):
    """Two-dimensional convolution with learned kernels; see ``nn.functional.conv2d``.

    Shapes:
        input (N, in_channels, H, W) or (in_channels, H, W), output likewise with out_channels, where
        H' = (H + 2 padding - dilation (kernel - 1) - 1) // stride + 1;
        weight (out_channels, in_channels / groups, *kernel_size), bias (out_channels).

    Raises:
        ValueError: channels not divisible by groups, or an impossible padding.
        NotImplementedError: a padding_mode other than "zeros".

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Conv2d(16, 33, 3, stride=2)(rl.ones(20, 16, 50, 100)).shape
        torch.Size([20, 33, 24, 49])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size2,
        stride: Size2 = 1,
        padding: str | Size2 = 0,
        dilation: Size2 = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError(f"groups must be a positive integer, got {groups}")
        if in_channels % groups:
            raise ValueError(f"in_channels must be divisible by groups: {in_channels} by {groups}")
        if out_channels % groups:
            raise ValueError(f"out_channels must be divisible by groups: {out_channels} by {groups}")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                f"padding_mode must be one of 'zeros', 'reflect', 'replicate', 'circular', got {padding_mode!r}"
            )
        if padding_mode != "zeros":
            raise NotImplementedError(
                f"Conv2d: padding_mode '{padding_mode}' is not supported\n  hint: use padding_mode='zeros'"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = F._pair(kernel_size)
        self.stride = F._pair(stride)
        self.padding = padding if isinstance(padding, str) else F._pair(padding)
        self.dilation = F._pair(dilation)
        self.transposed = False
        self.output_padding = (0, 0)
        self.groups = groups
        self.padding_mode = padding_mode
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
            if padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        self.weight = Parameter(
            rl.empty((out_channels, in_channels // groups, *self.kernel_size), device=device, dtype=dtype)
        )
        if bias:
            self.bias = Parameter(rl.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias anew, uniform within 1 / sqrt(inputs of one output)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        s = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0, 0):
            s += f", padding={self.padding}"
        if self.dilation != (1, 1):
            s += f", dilation={self.dilation}"
        if self.groups != 1:
            s += f", groups={self.groups}"
        if self.bias is None:
            s += ", bias=False"
        return s
