"""Pooling."""

from __future__ import annotations

from collections.abc import Sequence

from ... import Tensor
from .. import functional as F
from .._sizes import several
from ..common_types import Size1
from .module import Module

Size = int | tuple[int, ...]


class _MaxPool(Module):
    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
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

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest value in each window of a sequence; see ``nn.functional.max_pool1d``.

    Shapes:
        input (N, C, L) or (C, L), output likewise; L' = (L + 2 padding - dilation (kernel - 1) - 1) // stride + 1.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.MaxPool1d(3, stride=2)(rl.ones(20, 16, 50)).shape
        torch.Size([20, 16, 24])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class MaxPool2d(_MaxPool):
    """The largest value in each window; see ``nn.functional.max_pool2d``.

    Shapes:
        input (N, C, H, W) or (C, H, W), output likewise;
        H' = (H + 2 padding - dilation (kernel - 1) - 1) // stride + 1.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.MaxPool2d(3, stride=2)(rl.ones(20, 16, 50, 32)).shape
        torch.Size([20, 16, 24, 15])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class MaxPool3d(_MaxPool):
    """The largest value in each box of a volume; see ``nn.functional.max_pool3d``.

    Shapes:
        input (N, C, D, H, W) or (C, D, H, W), output likewise.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.MaxPool3d((3, 2, 2), stride=(2, 1, 2))(rl.ones(2, 3, 11, 7, 6)).shape
        torch.Size([2, 3, 5, 6, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class _MaxUnpool(Module):
    def __init__(self, kernel_size, stride=None, padding=0) -> None:
        super().__init__()
        n = self.spatial
        self.kernel_size = several(kernel_size, n)
        self.stride = several(kernel_size if stride is None else stride, n)
        self.padding = several(padding, n)

    spatial: int

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Puts the values that MaxPool1d kept back where they were, among zeros; see ``nn.functional.max_unpool1d``.

    Example:
        >>> import rushlight as rl
        >>> pool, unpool = rl.nn.MaxPool1d(2, return_indices=True), rl.nn.MaxUnpool1d(2)
        >>> unpool(*pool(rl.tensor([[1., 3., 2., 0.]])))
        tensor([[0., 3., 2., 0.]])
    """

    spatial = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpool):
    """Puts the values that MaxPool2d kept back where they were, among zeros; see ``nn.functional.max_unpool2d``.

    Example:
        >>> import rushlight as rl
        >>> pool, unpool = rl.nn.MaxPool2d(2, return_indices=True), rl.nn.MaxUnpool2d(2)
        >>> unpool(*pool(rl.ones(1, 8, 6, 5)), output_size=(6, 5)).shape
        torch.Size([1, 8, 6, 5])
    """

    spatial = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpool):
    """Puts the values that MaxPool3d kept back where they were, among zeros; see ``nn.functional.max_unpool3d``.

    Example:
        >>> import rushlight as rl
        >>> pool, unpool = rl.nn.MaxPool3d(2, return_indices=True), rl.nn.MaxUnpool3d(2)
        >>> unpool(*pool(rl.ones(1, 8, 6, 4, 2))).shape
        torch.Size([1, 8, 6, 4, 2])
    """

    spatial = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class AvgPool1d(Module):
    """The mean of each window of a sequence.

    Args:
        kernel_size, stride, padding: a number.
        ceil_mode: round the output's size up instead of down.
        count_include_pad: whether padded zeros count in the mean.

    Shapes:
        input (N, C, L) or (C, L); output likewise, L' = (L + 2 padding - kernel) // stride + 1.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.AvgPool1d(3, stride=2)(rl.tensor([[1., 2., 3., 4., 5., 6., 7.]]))
        tensor([[2., 4., 6.]])
    """

    def __init__(
        self,
        kernel_size: Size1,
        stride: Size1 | None = None,
        padding: Size1 = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = several(kernel_size, 1)
        self.stride = several(kernel_size if stride is None else stride, 1)
        self.padding = several(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(Module):
    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
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

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
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


class AvgPool3d(_AvgPool):
    """The mean of each box of a volume; arguments as for ``AvgPool2d``.

    Shapes:
        input (N, C, D, H, W) or (C, D, H, W); output likewise.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.AvgPool3d(2)(rl.arange(8.).view(1, 2, 2, 2))
        tensor([[[[3.5000]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class _LPPool(Module):
    def __init__(
        self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """The norm of each window, (sum of x ** p) ** (1 / p); see ``nn.functional.lp_pool2d``.

    Shapes:
        input (N, C, L) or (C, L); output likewise.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LPPool1d(2, 2)(rl.tensor([[3., 4., 6., 8.]]))
        tensor([[ 5., 10.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPool):
    """The norm of each window, (sum of x ** p) ** (1 / p); see ``nn.functional.lp_pool2d``.

    Shapes:
        input (N, C, H, W) or (C, H, W); output likewise.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LPPool2d(2, 2)(rl.ones(1, 2, 2))
        tensor([[[2.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPool):
    """The norm of each window, (sum of x ** p) ** (1 / p); see ``nn.functional.lp_pool2d``.

    Shapes:
        input (N, C, D, H, W) or (C, D, H, W); output likewise.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LPPool3d(2, 2)(rl.ones(20, 16, 4, 6, 2)).shape
        torch.Size([20, 16, 2, 3, 1])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class _FractionalMaxPool(Module):
    spatial: int

    def __init__(
        self,
        kernel_size: Size,
        output_size: Size | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{type(self).__name__} takes output_size or output_ratio, one of them")
        n = self.spatial
        self.kernel_size = several(kernel_size, n)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = several(output_size, n) if output_size is not None else None
        self.output_ratio = several(output_ratio, n) if output_ratio is not None else None
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1, got {output_ratio}")

    def _pool(self, function, input: Tensor) -> Tensor:
        return function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """Max pooling with windows at random distances; see ``nn.functional.fractional_max_pool2d``.

    Shapes:
        input (N, C, H, W) or (C, H, W); output likewise.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.FractionalMaxPool2d(3, output_ratio=(0.5, 0.5))(rl.ones(20, 16, 50, 32)).shape
        torch.Size([20, 16, 25, 16])
    """

    spatial = 2

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.fractional_max_pool2d, input)


class FractionalMaxPool3d(_FractionalMaxPool):
    """``FractionalMaxPool2d`` of volumes, (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.FractionalMaxPool3d(2, output_size=(5, 4, 3))(rl.ones(2, 3, 9, 8, 7)).shape
        torch.Size([2, 3, 5, 4, 3])
    """

    spatial = 3

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.fractional_max_pool3d, input)


class _AdaptivePool(Module):
    def __init__(self, output_size) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptivePool):
    """The mean of each of output_size windows; see ``nn.functional.adaptive_avg_pool2d``.

    Shapes:
        input (N, C, L) or (C, L); output likewise, of length output_size.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.AdaptiveAvgPool1d(2)(rl.arange(4.).view(1, 4))
        tensor([[0.5000, 2.5000]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptivePool):
    """The mean of each of as many windows as asked for; see ``nn.functional.adaptive_avg_pool2d``.

    Args:
        output_size: (H', W'), or one number for both; None keeps the input's.

    Shapes:
        input (N, C, H, W) or (C, H, W); output likewise.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.AdaptiveAvgPool2d((1, 1))(rl.ones(2, 64, 7, 7)).shape
        torch.Size([2, 64, 1, 1])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptivePool):
    """``AdaptiveAvgPool2d`` of volumes, (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.AdaptiveAvgPool3d((5, 7, None))(rl.ones(1, 2, 8, 9, 10)).shape
        torch.Size([1, 2, 5, 7, 10])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMaxPool(_AdaptivePool):
    def __init__(self, output_size, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The largest value of each of output_size windows; see ``nn.functional.adaptive_max_pool1d``.

    Shapes:
        input (N, C, L) or (C, L); output likewise, of length output_size.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.AdaptiveMaxPool1d(2)(rl.arange(4.).view(1, 4))
        tensor([[1., 3.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The largest value of each of as many windows as asked for; see ``nn.functional.adaptive_max_pool2d``.

    Args:
        output_size: (H', W'), or one number for both; None keeps the input's.
        return_indices: also give where in its (H, W) plane each maximum was.

    Shapes:
        input (N, C, H, W) or (C, H, W); output likewise.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.AdaptiveMaxPool2d((5, None))(rl.ones(1, 64, 10, 9)).shape
        torch.Size([1, 64, 5, 9])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """``AdaptiveMaxPool2d`` of volumes, (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.AdaptiveMaxPool3d(7)(rl.ones(1, 2, 10, 9, 8)).shape
        torch.Size([1, 2, 7, 7, 7])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)
