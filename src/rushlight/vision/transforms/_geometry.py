"""Cutting, mirroring, padding and resizing."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import rushlight
from rushlight import Tensor

from ._images import (
    InterpolationMode,
    by_kind,
    colour,
    filled,
    get_dimensions,
    pil_to_tensor,
    pillow,
    resampling,
    size_pair,
)


def hflip(img):
    """Mirrors left and right.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.hflip(rl.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    return by_kind(img, lambda image: image.transpose(_transpose("FLIP_LEFT_RIGHT")), lambda image: image.flip(-1))


def vflip(img):
    """Mirrors top and bottom.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.vflip(rl.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    return by_kind(img, lambda image: image.transpose(_transpose("FLIP_TOP_BOTTOM")), lambda image: image.flip(-2))


def _transpose(name: str):
    return getattr(sys.modules["PIL.Image"].Transpose, name)


def crop(img, top: int, left: int, height: int, width: int):
    """The rectangle of the given size at (top, left); what lies outside the image is zero.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.crop(rl.arange(9).view(3, 3), 1, 1, 2, 2)
    tensor([[4, 5],
            [7, 8]])
    """

    def on_tensor(image):
        rows, columns = image.shape[-2:]
        inside = image[..., max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
        if top >= 0 and left >= 0 and top + height <= rows and left + width <= columns:
            return inside
        beyond = [
            min(max(-left, 0), width),
            min(max(-top, 0), height),
            min(max(left + width - columns, 0), width),
            min(max(top + height - rows, 0), height),
        ]
        return pad(inside, beyond)

    return by_kind(img, lambda image: image.crop((left, top, left + width, top + height)), on_tensor)


def center_crop(img, output_size: int | Sequence[int]):
    """The middle of an image, (height, width); an image that is smaller is padded with zeros first.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.center_crop(rl.arange(9).view(3, 3), 1)
    tensor([[4]])
    """
    height, width = size_pair(output_size)
    _, rows, columns = get_dimensions(img)
    if height > rows or width > columns:
        extra_w, extra_h = max(width - columns, 0), max(height - rows, 0)
        img = pad(img, [extra_w // 2, extra_h // 2, (extra_w + 1) // 2, (extra_h + 1) // 2])
        _, rows, columns = get_dimensions(img)
    return crop(img, round((rows - height) / 2), round((columns - width) / 2), height, width)


_PAD_MODES = ("constant", "edge", "reflect", "symmetric")


def pad(img, padding: int | Sequence[int], fill: float | Sequence[float] = 0, padding_mode: str = "constant"):
    """Adds a border: one width for all sides, (left and right, top and bottom), or (left, top, right, bottom).

    `padding_mode`: "constant" (of `fill`), "edge" (repeats the last pixel), "reflect" (mirrors without repeating it) or
    "symmetric" (mirrors with it).

    Raises:
        ValueError: an unknown mode, negative widths, or ("reflect") widths that the image is too small for.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.pad(rl.tensor([[1, 2, 3]]), (1, 0), padding_mode='reflect')
    tensor([[2, 1, 2, 3, 2]])
    """
    left, top, right, bottom = _sides(padding)
    if padding_mode not in _PAD_MODES:
        raise ValueError(f"Padding mode should be either {', '.join(_PAD_MODES)}; got {padding_mode!r}")

    def on_pil(image):
        if padding_mode == "constant":
            from PIL import ImageOps

            return ImageOps.expand(image, (left, top, right, bottom), colour(image, fill))
        pixels = pil_to_tensor(image)
        padded = on_tensor(pixels).permute(1, 2, 0).contiguous().numpy()
        size = (image.width + left + right, image.height + top + bottom)
        result = sys.modules["PIL.Image"].frombytes("L" if image.mode == "1" else image.mode, size, padded.tobytes())
        if image.mode == "1":
            return result.point(lambda value: 255 * value).convert("1")
        if image.palette is not None:
            result.putpalette(image.palette)
        return result

    def on_tensor(image):
        rows, columns = image.shape[-2:]
        if padding_mode != "constant":
            image = image.index_select(-2, _mirrored(rows, top, bottom, padding_mode, image.device))
            return image.index_select(-1, _mirrored(columns, left, right, padding_mode, image.device))
        shape = (*image.shape[:-2], rows + top + bottom, columns + left + right)
        result = filled(image, shape, fill)
        result[..., top : top + rows, left : left + columns] = image
        return result

    return by_kind(img, on_pil, on_tensor)


def _mirrored(size: int, before: int, after: int, mode: str, device) -> Tensor:
    """Which row each row of the padded image comes from."""
    if size == 0 or (mode == "reflect" and max(before, after) >= size):
        raise ValueError(f"padding {before}, {after} by mode {mode!r} needs more than {size} pixels along that side")
    period = {"edge": 1, "reflect": 2 * size - 2, "symmetric": 2 * size}[mode]
    indices = []
    for i in range(-before, size + after):
        if mode == "edge":
            i = min(max(i, 0), size - 1)
        else:
            i %= max(period, 1)
            if i >= size:
                i = period - i - (mode == "symmetric")
        indices.append(i)
    return rushlight.tensor(indices, dtype=rushlight.int64, device=device)


def _sides(padding) -> tuple[int, int, int, int]:
    values = list(padding) if isinstance(padding, Sequence) else [padding]
    if len(values) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(values)} element tuple")
    if any(not isinstance(value, int) or value < 0 for value in values):
        raise ValueError(f"padding should be non-negative integers, got {padding}")
    if len(values) == 1:
        values *= 4
    elif len(values) == 2:
        values *= 2
    return tuple(values)  # type: ignore[return-value]


def resize(
    img,
    size: int | Sequence[int],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
):
    """Resizes to (height, width); one number gives the shorter side, and `max_size` bounds the longer one.

    Pillow does the work, on tensors and arrays channel by channel, and always with antialiasing, as for PIL images in
    torchvision: `antialias` changes nothing.
    """
    image_module = pillow("resize")
    _, rows, columns = get_dimensions(img)
    if isinstance(size, int) or len(size) == 1:
        short = size if isinstance(size, int) else size[0]
        scale = short / min(rows, columns)
        height, width = (short, int(columns * scale)) if rows <= columns else (int(rows * scale), short)
        if max_size is not None:
            if max_size <= short:
                raise ValueError(f"max_size = {max_size} must be strictly greater than the requested size {short}")
            if max(height, width) > max_size:
                shrink = max_size / max(height, width)
                height, width = int(height * shrink), int(width * shrink)
    else:
        if max_size is not None:
            raise ValueError("max_size should only be passed if size specifies the length of the smaller edge")
        height, width = size
    resample = resampling(interpolation)

    def on_tensor(image):
        flat = image.reshape(-1, rows, columns)
        exact = image.dtype == rushlight.uint8
        planes = [plane if exact else plane.to(rushlight.float32) for plane in flat]
        resized = [
            pil_to_tensor(image_module.fromarray(plane.numpy()).resize((width, height), resample)) for plane in planes
        ]
        return rushlight.cat(resized).to(image.dtype).view(*image.shape[:-2], height, width)

    return by_kind(img, lambda image: image.resize((width, height), resample), on_tensor)


def resized_crop(
    img,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
):
    """The rectangle of the given size at (top, left), resized to `size`; see crop and resize."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def five_crop(img, size: int | Sequence[int]) -> tuple:
    """The four corners, (height, width) each, and the middle.

    Raises:
        ValueError: the image is smaller.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> [part.item() for part in functional.five_crop(rl.arange(9).view(3, 3), 1)]
    [0, 2, 6, 8, 4]
    """
    height, width = size_pair(size)
    _, rows, columns = get_dimensions(img)
    if width > columns or height > rows:
        raise ValueError(f"Requested crop size {(height, width)} is bigger than input size {(rows, columns)}")
    bottom, right = rows - height, columns - width
    corners = [crop(img, top, left, height, width) for top in (0, bottom) for left in (0, right)]
    return (*corners, center_crop(img, (height, width)))


def ten_crop(img, size: int | Sequence[int], vertical_flip: bool = False) -> tuple:
    """What five_crop gives, of the image and of its mirror image."""
    return five_crop(img, size) + five_crop(vflip(img) if vertical_flip else hflip(img), size)


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Tensor:
    """A tensor (..., height, width) with the rectangle h by w at (i, j) set to `v`.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.erase(rl.ones(1, 2, 3), 0, 1, 2, 1, rl.tensor(0.0))
    tensor([[[1., 0., 1.],
             [1., 0., 1.]]])
    """
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be Tensor. Got {type(img)}\n  hint: ToTensor comes before RandomErasing")
    if not inplace:
        img = img.clone()
    img[..., i : i + h, j : j + w] = v
    return img
