"""Tensors as pictures."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, BinaryIO

import rushlight
from rushlight import Tensor
from rushlight._lazy import only as _only
from rushlight.vision.transforms.functional import pillow

__all__ = ["make_grid", "save_image"]


def make_grid(
    tensor: Tensor | Sequence[Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Images side by side, as one image (channels, height, width).

    Args:
        tensor: (N, channels, height, width), or a list of images of one size; images of one channel become grey ones of
            three. One image alone, (channels, height, width) or (height, width), is returned without a border.
        nrow: how many images stand in a row.
        padding: the width of the border around each, in pixels.
        normalize: shifts and scales values to [0, 1].
        value_range: (lowest, highest), which become 0 and 1; those that occur where it is not given.
        scale_each: whether each image is normalized for itself.
        pad_value: the colour of the border.

    Raises:
        TypeError: no tensor, and no list of them.
        ValueError: scale_each without normalize, or a value_range the wrong way round.

    >>> import rushlight as rl
    >>> from rushlight.vision.utils import make_grid
    >>> make_grid(rl.rand(6, 3, 10, 10), nrow=3).shape
    torch.Size([3, 26, 38])
    """
    if not isinstance(tensor, Tensor):
        if not isinstance(tensor, (list, tuple)) or not all(isinstance(image, Tensor) for image in tensor):
            raise TypeError(f"tensor or list of tensors expected, got {type(tensor).__name__}")
        tensor = rushlight.stack(list(tensor), 0)
    if tensor.ndim not in (2, 3, 4):
        raise ValueError(f"make_grid takes images of 2 to 4 dimensions, got shape {tuple(tensor.shape)}")
    with rushlight.no_grad():
        if tensor.ndim == 2:
            tensor = tensor.unsqueeze(0)
        if tensor.ndim == 3:
            tensor = tensor.unsqueeze(0)
        if tensor.shape[1] == 1:
            tensor = tensor.expand(-1, 3, -1, -1)
        if normalize:
            tensor = _normalized(tensor, value_range, scale_each)
        elif scale_each:
            raise ValueError("scale_each needs normalize=True")
        count, channels, height, width = tensor.shape
        if count == 1:
            return tensor[0].clone()
        columns = min(nrow, count)
        rows = math.ceil(count / columns)
        shape = (channels, rows * (height + padding) + padding, columns * (width + padding) + padding)
        grid = tensor.new_full(shape, pad_value)
        for i, image in enumerate(tensor):
            top, left = (i // columns) * (height + padding) + padding, (i % columns) * (width + padding) + padding
            grid[:, top : top + height, left : left + width] = image
        return grid


def _normalized(images: Tensor, value_range, scale_each: bool) -> Tensor:
    if value_range is not None and not isinstance(value_range, tuple):
        raise TypeError("value_range has to be a tuple (min, max) if specified. min and max are numbers")
    if scale_each:
        return rushlight.stack([_normalized(image, value_range, False) for image in images])
    low, high = value_range if value_range is not None else (float(images.min()), float(images.max()))
    return (images.clamp(low, high) - low) / max(high - low, 1e-5)


def save_image(
    tensor: Tensor | Sequence[Tensor], fp: str | os.PathLike | BinaryIO, format: str | None = None, **kwargs: Any
) -> None:
    """Writes images, their values from 0 to 1, as one picture. Needs Pillow.

    Args:
        tensor: as in make_grid, which also takes `kwargs`.
        fp: the file's name, or a file open for writing.
        format: "png", "jpeg" and so on; by the name if not given.

    >>> import rushlight as rl
    >>> from rushlight.vision import io, utils
    >>> utils.save_image(rl.rand(4, 1, 5, 5), "grid.png", nrow=2)
    >>> io.read_image("grid.png").shape
    torch.Size([3, 16, 16])
    """
    image_module = pillow("save_image")
    grid = make_grid(tensor, **kwargs)
    array = grid.mul(255).add_(0.5).clamp_(0, 255).permute(1, 2, 0).to("cpu", rushlight.uint8).contiguous().numpy()
    image_module.fromarray(array).save(fp, format=format)


__getattr__ = _only(__name__)
