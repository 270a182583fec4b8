"""Sliding blocks of images."""

from __future__ import annotations

from ... import _C
from .._sizes import several

__all__ = ["fold", "unfold"]


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The blocks that a window sliding over an image sees, as columns.

    Args:
        input: (N, C, H, W) or (C, H, W), floating point.
        kernel_size, dilation, padding, stride: a number, or one for each of the two dimensions.

    Returns:
        (N, C * kernel height * kernel width, number of blocks).

    Raises:
        RuntimeError: the window is larger than the padded image.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.unfold(rl.arange(6.).view(1, 2, 3), (2, 2))
        tensor([[0., 1.],
                [1., 2.],
                [3., 4.],
                [4., 5.]])
    """
    return _C.im2col(input, several(kernel_size, 2), several(dilation, 2), several(padding, 2), several(stride, 2))


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Adds up columns, as ``unfold`` makes them, to images.

    Args:
        input: (N, C * kernel height * kernel width, number of blocks), or without N.
        output_size: (H, W) of the images, or one number for both.
        kernel_size, dilation, padding, stride: those of ``unfold``.

    Returns:
        (N, C, H, W).

    Raises:
        RuntimeError: input has not as many blocks, or not as large ones, as make an image of output_size.

    Example:
        >>> import rushlight as rl
        >>> F = rl.nn.functional
        >>> F.fold(F.unfold(rl.ones(1, 2, 3), 2), (2, 3), 2)  # the middle is in two blocks
        tensor([[[1., 2., 1.],
                 [1., 2., 1.]]])
    """
    return _C.col2im(
        input,
        several(output_size, 2),
        several(kernel_size, 2),
        several(dilation, 2),
        several(padding, 2),
        several(stride, 2),
    )
