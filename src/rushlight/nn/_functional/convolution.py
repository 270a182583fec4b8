"""Convolutions."""

from __future__ import annotations

import rushlight as rl

from ... import _C
from .._sizes import several

__all__ = ["conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """``conv2d`` of sequences: input (N, C, L) or (C, L), weight (out_channels, C / groups, kernel length).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.conv1d(rl.tensor([[0., 1., 2., 4., 8.]]), rl.tensor([[[-1., 1.]]]))
        tensor([[1., 1., 2., 4.]])
    """
    if isinstance(padding, str):
        input, padding = _padded("conv1d", input, weight, stride, padding, dilation, 1)
    return _C.conv1d(input, weight, bias, stride, padding, dilation, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Two-dimensional convolution (cross-correlation) of images with learned kernels.

    Args:
        input: (N, C, H, W) or (C, H, W).
        weight: (out_channels, C / groups, kernel height, kernel width), of input's dtype.
        bias: (out_channels) or None.
        stride, padding, dilation: a number, or one for each of the two dimensions. ``padding`` may also be "valid"
            (none) or "same" (as much as keeps the size; stride 1 only).
        groups: channels are split into that many groups that do not see each other.

    Returns:
        (N, out_channels, H', W').

    Raises:
        RuntimeError: shapes do not fit, or padding is "same" with a stride.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.conv2d(rl.ones(1, 3, 8, 8), rl.ones(5, 3, 3, 3), padding="same").shape
        torch.Size([1, 5, 8, 8])
    """
    if isinstance(padding, str):
        input, padding = _padded("conv2d", input, weight, stride, padding, dilation, 2)
    return _C.conv2d(input, weight, bias, stride, padding, dilation, groups)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """``conv2d`` of volumes: input (N, C, D, H, W) or (C, D, H, W), weight (out_channels, C / groups, *kernel).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.conv3d(rl.ones(1, 3, 4, 8, 8), rl.ones(5, 3, 2, 3, 3), padding=(0, 1, 1)).shape
        torch.Size([1, 5, 3, 8, 8])
    """
    if isinstance(padding, str):
        input, padding = _padded("conv3d", input, weight, stride, padding, dilation, 3)
    return _C.conv3d(input, weight, bias, stride, padding, dilation, groups)


def _padded(name, input, weight, stride, padding, dilation, spatial):
    """The input and the padding in numbers, for padding by name."""
    if padding == "valid":
        return input, 0
    if padding != "same":
        raise RuntimeError(f"{name}: padding is '{padding}'\n  hint: use 'valid', 'same' or numbers")
    if any(s != 1 for s in several(stride, spatial)):
        raise RuntimeError(
            f"padding='same' is not supported for strided convolutions (stride is {stride})\n"
            "  hint: give the padding in numbers"
        )
    totals = [d * (k - 1) for d, k in zip(several(dilation, spatial), weight.shape[-spatial:], strict=True)]
    if any(total % 2 for total in totals):  # an even kernel: one more at the end
        input = rl.nn.functional.pad(input, [width for total in reversed(totals) for width in (0, total % 2)])
    return input, tuple(total // 2 for total in totals)


conv_transpose1d = _C.conv_transpose1d
conv_transpose2d = _C.conv_transpose2d
conv_transpose3d = _C.conv_transpose3d


def conv_tbc(input, weight, bias, pad=0):
    """``conv1d`` with time first and channels last.

    Args:
        input: (T, N, C).
        weight: (kernel length, C, out_channels).
        bias: (out_channels).
        pad: zeros at both ends of the time.

    Returns:
        (T', N, out_channels).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.conv_tbc(rl.ones(5, 2, 3), rl.ones(3, 3, 4), rl.zeros(4)).shape
        torch.Size([3, 2, 4])
    """
    return _C.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad).permute(2, 0, 1)
