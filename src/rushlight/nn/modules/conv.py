"""Convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import rushlight as rl

from ... import Tensor
from .. import functional as F
from .. import init
from .._sizes import several
from ..common_types import Device, Size1, Size2, Size3
from ..parameter import Parameter
from .module import Module


class _Conv(Module):
    """What convolutions have in common; ``spatial`` is the number of dimensions beside batch and channels."""

    spatial: int
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size,
        stride,
        padding,
        dilation,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Device,
        dtype: rl.dtype | None,
        output_padding=0,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError(f"groups must be a positive integer, got {groups}")
        if in_channels % groups:
            raise ValueError(f"in_channels must be divisible by groups: {in_channels} by {groups}")
        if out_channels % groups:
            raise ValueError(f"out_channels must be divisible by groups: {out_channels} by {groups}")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                f"padding_mode must be one of 'zeros', 'reflect', 'replicate', 'circular', got {padding_mode!r}"
            )
        n = self.spatial
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = several(kernel_size, n)
        self.stride = several(stride, n)
        self.padding = padding if isinstance(padding, str) else several(padding, n)
        self.dilation = several(dilation, n)
        self.transposed = type(self).transposed
        self.output_padding = several(output_padding, n)
        self.groups = groups
        self.padding_mode = padding_mode
        if padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        # As F.pad takes them, for padding modes other than zeros: (before, after), the last dimension first.
        self._reversed_padding_repeated_twice = self._widths()
        ends = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        self.weight = Parameter(rl.empty((ends[0], ends[1] // groups, *self.kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(rl.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _widths(self) -> list[int]:
        if isinstance(self.padding, str):
            totals = [
                d * (k - 1) * (self.padding == "same") for d, k in zip(self.dilation, self.kernel_size, strict=True)
            ]
            return [width for total in reversed(totals) for width in (total // 2, total - total // 2)]
        return [width for width in reversed(self.padding) for _ in range(2)]

    def reset_parameters(self) -> None:
        """Draws weight and bias anew, uniform within 1 / sqrt(inputs of one output)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def _convolve(self, function, input: Tensor) -> Tensor:
        around = self.padding_mode != "zeros"
        if around:
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        padding = 0 if around else self.padding
        return function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        n = self.spatial
        s = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * n:
            s += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            s += f", dilation={self.dilation}"
        if self.output_padding != (0,) * n:
            s += f", output_padding={self.output_padding}"
        if self.groups != 1:
            s += f", groups={self.groups}"
        if self.bias is None:
            s += ", bias=False"
        if self.padding_mode != "zeros":
            s += f", padding_mode={self.padding_mode}"
        return s


class Conv1d(_Conv):
    """Convolution of sequences with learned kernels; see ``nn.functional.conv1d`` and, for the arguments, ``Conv2d``.

    Shapes:
        input (N, in_channels, L) or (in_channels, L), output likewise with out_channels;
        weight (out_channels, in_channels / groups, kernel_size), bias (out_channels).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Conv1d(16, 33, 3, stride=2)(rl.ones(20, 16, 50)).shape
        torch.Size([20, 33, 24])
    """

    spatial = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size1,
        stride: Size1 = 1,
        padding: str | Size1 = 0,
        dilation: Size1 = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        return self._convolve(F.conv1d, input)


class Conv2d(_Conv):
    """Two-dimensional convolution with learned kernels; see ``nn.functional.conv2d``.

    Args:
        padding: a number, one for each dimension, "valid" (none) or "same" (the output has the input's size).
        padding_mode: what stands there: "zeros", or as ``nn.functional.pad`` has it "reflect", "replicate" or
            "circular".

    Shapes:
        input (N, in_channels, H, W) or (in_channels, H, W), output likewise with out_channels, where
        H' = (H + 2 padding - dilation (kernel - 1) - 1) // stride + 1;
        weight (out_channels, in_channels / groups, *kernel_size), bias (out_channels).

    Raises:
        ValueError: channels not divisible by groups, or an impossible padding.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Conv2d(16, 33, 3, stride=2)(rl.ones(20, 16, 50, 100)).shape
        torch.Size([20, 33, 24, 49])
    """

    spatial = 2

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
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        return self._convolve(F.conv2d, input)


class Conv3d(_Conv):
    """Convolution of volumes with learned kernels; see ``nn.functional.conv3d`` and, for the arguments, ``Conv2d``.

    Shapes:
        input (N, in_channels, D, H, W) or (in_channels, D, H, W), output likewise with out_channels;
        weight (out_channels, in_channels / groups, *kernel_size), bias (out_channels).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Conv3d(2, 4, (3, 5, 2), stride=(2, 1, 1), padding=(4, 2, 0))(rl.ones(1, 2, 10, 9, 8)).shape
        torch.Size([1, 4, 8, 9, 7])
    """

    spatial = 3

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size3,
        stride: Size3 = 1,
        padding: str | Size3 = 0,
        dilation: Size3 = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        return self._convolve(F.conv3d, input)


class _ConvTranspose(_Conv):
    transposed = True

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        if self.padding_mode != "zeros":
            raise ValueError(
                f"{type(self).__name__}: padding_mode must be 'zeros', got {self.padding_mode!r}: "
                "its padding takes away from the output"
            )

    def _convolve_transposed(self, function, input: Tensor, output_size: Sequence[int] | None) -> Tensor:
        output_padding = self.output_padding if output_size is None else self._output_padding(input, output_size)
        return function(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )

    def _output_padding(self, input: Tensor, output_size: Sequence[int]) -> tuple[int, ...]:
        """What makes the output as large as asked for."""
        n = self.spatial
        wanted = list(output_size)
        if len(wanted) == input.dim():
            wanted = wanted[-n:]
        if len(wanted) != n:
            raise ValueError(
                f"{type(self).__name__}: output_size must have {n} or {input.dim()} elements for an input of "
                f"{tuple(input.shape)}, got {tuple(output_size)}"
            )
        sizes = input.shape[-n:]
        least = [
            (size - 1) * s - 2 * p + d * (k - 1) + 1
            for size, s, p, d, k in zip(sizes, self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        ]
        most = [size + s - 1 for size, s in zip(least, self.stride, strict=True)]
        if any(not low <= w <= high for low, w, high in zip(least, wanted, most, strict=True)):
            raise ValueError(
                f"{type(self).__name__}: output_size {tuple(wanted)} is not within {tuple(least)} and {tuple(most)}, "
                f"what an input of {tuple(sizes)} can give"
            )
        return tuple(w - low for w, low in zip(wanted, least, strict=True))


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution of sequences; see ``ConvTranspose2d``.

    Shapes:
        input (N, in_channels, L) or (in_channels, L), output likewise with out_channels;
        weight (in_channels, out_channels / groups, kernel_size), bias (out_channels).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ConvTranspose1d(4, 2, 3, stride=2)(rl.ones(1, 4, 5)).shape
        torch.Size([1, 2, 11])
    """

    spatial = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size1,
        stride: Size1 = 1,
        padding: Size1 = 0,
        output_padding: Size1 = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size1 = 1,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
            output_padding,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return self._convolve_transposed(F.conv_transpose1d, input, output_size)


class ConvTranspose2d(_ConvTranspose):
    """The gradient of a convolution by its input, as a layer: it makes images larger where Conv2d makes them smaller.

    Args:
        padding: takes as much away at each side as Conv2d would add.
        output_padding: makes the output larger at the end; several sizes lead to the same one through Conv2d's stride.

    Shapes:
        input (N, in_channels, H, W) or (in_channels, H, W), output likewise with out_channels, where
        H' = (H - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1;
        weight (in_channels, out_channels / groups, *kernel_size), bias (out_channels).
        ``output_size``, when the layer is called, asks for a size in the place of output_padding.

    Raises:
        ValueError: channels not divisible by groups, a padding_mode other than "zeros", or an impossible output_size.

    Example:
        >>> import rushlight as rl
        >>> up = rl.nn.ConvTranspose2d(16, 8, 3, stride=2, padding=1)
        >>> up(rl.ones(1, 16, 6, 6)).shape, up(rl.ones(1, 16, 6, 6), output_size=(12, 12)).shape
        (torch.Size([1, 8, 11, 11]), torch.Size([1, 8, 12, 12]))
    """

    spatial = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size2,
        stride: Size2 = 1,
        padding: Size2 = 0,
        output_padding: Size2 = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size2 = 1,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
            output_padding,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return self._convolve_transposed(F.conv_transpose2d, input, output_size)


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of volumes; see ``ConvTranspose2d``.

    Shapes:
        input (N, in_channels, D, H, W) or (in_channels, D, H, W), output likewise with out_channels;
        weight (in_channels, out_channels / groups, *kernel_size), bias (out_channels).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ConvTranspose3d(4, 2, 3, stride=2)(rl.ones(1, 4, 3, 4, 5)).shape
        torch.Size([1, 2, 7, 9, 11])
    """

    spatial = 3

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size3,
        stride: Size3 = 1,
        padding: Size3 = 0,
        output_padding: Size3 = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size3 = 1,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
            output_padding,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return self._convolve_transposed(F.conv_transpose3d, input, output_size)
