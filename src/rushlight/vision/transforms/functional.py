"""Transforms as functions.

An image is a PIL image, a tensor of shape (..., height, width), or a NumPy array of shape (height, width) or
(height, width, channels); the geometric functions return the kind they are given. NumPy and Pillow are loaded only by
what needs them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import rushlight
from rushlight import Tensor

from ..._lazy import only as _only


class InterpolationMode(Enum):
    """How pixels between pixels are made."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


# --- Kinds of images -------------------------------------------------------------------------------------------------


def is_pil(image) -> bool:
    """Whether it is a PIL image; Pillow is not loaded to find out."""
    pil = sys.modules.get("PIL.Image")
    return pil is not None and isinstance(image, pil.Image)


def is_array(image) -> bool:
    """Whether it is a NumPy array; NumPy is not loaded to find out."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(image, numpy.ndarray)


def pillow(purpose: str):
    """The module PIL.Image."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(f"{purpose} needs Pillow\n  hint: pip install 'rushlight[vision]'") from error
    return Image


def _apply(image, on_pil: Callable, on_tensor: Callable):
    """Runs the form of a function that fits the image; arrays go through the one for tensors."""
    if is_pil(image):
        return on_pil(image)
    if isinstance(image, Tensor):
        if image.ndim < 2:
            raise TypeError(f"expected an image tensor of shape (..., height, width), got shape {tuple(image.shape)}")
        return on_tensor(image)
    if is_array(image):
        result = on_tensor(_tensor_of_array(image))
        return (result.movedim(0, -1) if image.ndim == 3 else result).numpy()
    raise TypeError(f"expected a PIL image, a Tensor or a NumPy array, got {type(image).__name__}")


def _tensor_of_array(array) -> Tensor:
    """A tensor (channels, height, width) or (height, width) on the memory of an array, where its strides allow."""
    if array.ndim not in (2, 3):
        raise ValueError(f"an image array has 2 or 3 dimensions, this one has shape {array.shape}")
    tensor = rushlight.as_tensor(array)
    return tensor.movedim(-1, 0) if array.ndim == 3 else tensor


def get_dimensions(image) -> list[int]:
    """[channels, height, width].

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.get_dimensions(rl.zeros(3, 8, 9))
    [3, 8, 9]
    """
    if is_pil(image):
        return [len(image.getbands()), image.height, image.width]
    if is_array(image):
        return [image.shape[2] if image.ndim == 3 else 1, image.shape[0], image.shape[1]]
    if isinstance(image, Tensor) and image.ndim >= 2:
        return [image.shape[-3] if image.ndim > 2 else 1, image.shape[-2], image.shape[-1]]
    raise TypeError(f"expected a PIL image, a Tensor or a NumPy array, got {type(image).__name__}")


def get_image_size(image) -> list[int]:
    """[width, height].

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.get_image_size(rl.zeros(3, 8, 9))
    [9, 8]
    """
    _, height, width = get_dimensions(image)
    return [width, height]


def get_image_num_channels(image) -> int:
    """How many channels an image has."""
    return get_dimensions(image)[0]


# --- To and from tensors ---------------------------------------------------------------------------------------------


def to_tensor(pic) -> Tensor:
    """An image as a tensor (channels, height, width); bytes become numbers of the default dtype in [0, 1].

    Takes a PIL image, an array (height, width) or (height, width, channels), or a tensor (height, width) or
    (channels, height, width). Of other dtypes than uint8 the values stay as they are.

    Raises:
        TypeError: for what is no image.
        ValueError: not two or three dimensions.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.to_tensor(rl.tensor([[0, 255]], dtype=rl.uint8))
    tensor([[[0., 1.]]])
    """
    if isinstance(pic, Tensor):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        tensor = pic if pic.ndim == 3 else pic.unsqueeze(0)
    elif is_pil(pic):
        tensor = pil_to_tensor(pic)
        if pic.mode == "1":
            return tensor.to(rushlight.get_default_dtype())
    elif is_array(pic):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        tensor = _tensor_of_array(pic)
        tensor = (tensor if pic.ndim == 3 else tensor.unsqueeze(0)).contiguous()
    else:
        raise TypeError(f"pic should be PIL Image, ndarray or Tensor. Got {type(pic)}")
    return bytes_to_unit(tensor)


def bytes_to_unit(tensor: Tensor) -> Tensor:
    """uint8 as numbers of the default dtype in [0, 1]; other dtypes as they are."""
    if tensor.dtype == rushlight.uint8:
        return tensor.to(rushlight.get_default_dtype()).div_(255)
    return tensor


_PIL_DTYPES = {"I": "int32", "F": "float32", "I;16": "uint16", "I;16L": "uint16", "1": "bool"}


def pil_to_tensor(pic) -> Tensor:
    """A PIL image as a tensor (channels, height, width) of its own dtype: uint8 for most modes."""
    if not is_pil(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    if pic.mode == "P":
        content, dtype, bands = pic.tobytes(), "uint8", 1
    elif pic.mode == "1":  # packed eight to a byte
        content, dtype, bands = pic.convert("L").point(bool).tobytes(), "bool", 1
    else:
        content, dtype, bands = pic.tobytes(), _PIL_DTYPES.get(pic.mode, "uint8"), len(pic.getbands())
    if pic.width == 0 or pic.height == 0:
        return rushlight.empty((bands, pic.height, pic.width), dtype=getattr(rushlight, dtype))
    # A bytearray, since bytes must not be written to.
    flat = rushlight.frombuffer(bytearray(content), dtype=getattr(rushlight, dtype))
    if bands == 1:
        return flat.view(1, pic.height, pic.width)
    return flat.view(pic.height, pic.width, bands).permute(2, 0, 1).contiguous()


def to_pil_image(pic, mode: str | None = None):
    """A tensor (channels, height, width) or (height, width), or an array, as a PIL image.

    Floating point tensors are taken as numbers in [0, 1], unless `mode` is "F". Without `mode` it follows from the
    number of channels and the dtype: L, LA, RGB, RGBA, I;16, I or F.
    """
    image_module = pillow("to_pil_image")
    if isinstance(pic, Tensor):
        if pic.ndim == 2:
            pic = pic.unsqueeze(0)
        if pic.ndim != 3:
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        if pic.is_floating_point() and mode != "F":
            pic = pic.mul(255).to(rushlight.uint8)
        array = pic.permute(1, 2, 0).cpu().numpy()
    elif is_array(pic):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        array = pic if pic.ndim == 3 else pic[:, :, None]
    else:
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    channels = array.shape[2]
    if channels not in (1, 2, 3, 4):
        raise ValueError(f"pic should have 1 to 4 channels. Got {channels} channels.")
    by_dtype = {"uint8": "L", "int16": "I;16", "uint16": "I;16", "int32": "I", "float32": "F", "bool": "1"}
    natural = by_dtype.get(str(array.dtype)) if channels == 1 else {2: "LA", 3: "RGB", 4: "RGBA"}[channels]
    if natural is None or (channels > 1 and array.dtype != "uint8"):
        raise TypeError(f"Input type {array.dtype} with {channels} channels is not supported")
    if natural == "1":
        array = array.astype("uint8") * 255
        natural = "L"
    if channels == 1:
        image = image_module.fromarray(array[:, :, 0])
    else:
        image = image_module.frombytes(natural, (array.shape[1], array.shape[0]), array.tobytes())
    return image if mode is None or mode == image.mode else image.convert(mode)


def normalize(tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """(tensor - mean) / std, for each channel of a floating point tensor (..., channels, height, width).

    Raises:
        TypeError: integers, or no tensor.
        ValueError: a std of 0, or a wrong number of values.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.normalize(rl.ones(1, 1, 2), [0.5], [0.25])
    tensor([[[2., 2.]]])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}\n  hint: ToTensor comes before Normalize")
    centre, scale = as_statistics(tensor, mean, std)
    return tensor.sub_(centre).div_(scale) if inplace else (tensor - centre).div_(scale)


def as_statistics(tensor: Tensor, mean, std) -> tuple[Tensor, Tensor]:
    """Mean and std as tensors that broadcast over the image, once they fit it."""
    if not tensor.is_floating_point():
        raise TypeError(
            f"Input tensor should be a float tensor. Got {tensor.dtype}.\n  hint: ToTensor comes before Normalize"
        )
    if tensor.ndim < 3:
        raise ValueError(
            f"Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = {tuple(tensor.shape)}"
        )
    mean = rushlight.as_tensor(mean, dtype=tensor.dtype, device=tensor.device)
    std = rushlight.as_tensor(std, dtype=tensor.dtype, device=tensor.device)
    if (std == 0).any().item():
        raise ValueError(f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero.")
    for name, values in (("mean", mean), ("std", std)):
        if values.ndim > 1 or values.numel() not in (1, tensor.shape[-3]):
            raise ValueError(
                f"{name} has {values.numel()} values for an image of {tensor.shape[-3]} channels "
                f"(shape {tuple(tensor.shape)})\n  hint: give one value per channel, or one for all"
            )
    return mean.view(-1, 1, 1), std.view(-1, 1, 1)


# --- Geometry --------------------------------------------------------------------------------------------------------


def hflip(img):
    """Mirrors left and right.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.hflip(rl.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    return _apply(img, lambda image: image.transpose(_transpose("FLIP_LEFT_RIGHT")), lambda image: image.flip(-1))


def vflip(img):
    """Mirrors top and bottom.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.vflip(rl.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    return _apply(img, lambda image: image.transpose(_transpose("FLIP_TOP_BOTTOM")), lambda image: image.flip(-2))


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

    return _apply(img, lambda image: image.crop((left, top, left + width, top + height)), on_tensor)


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

            colour = tuple(fill) if isinstance(fill, Sequence) else (fill,) * len(image.getbands())
            return ImageOps.expand(image, (left, top, right, bottom), colour[0] if len(colour) == 1 else colour)
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
        result = _filled(image, shape, fill)
        result[..., top : top + rows, left : left + columns] = image
        return result

    return _apply(img, on_pil, on_tensor)


def _filled(image: Tensor, shape: tuple, fill) -> Tensor:
    """A tensor of one colour, of the image's dtype."""
    if not isinstance(fill, Sequence):
        return image.new_full(shape, 0 if fill is None else fill)
    if len(fill) not in (1, image.shape[-3] if image.ndim > 2 else 1):
        raise ValueError(f"fill has {len(fill)} values for an image of shape {tuple(image.shape)}")
    colour = rushlight.tensor(list(fill), dtype=image.dtype, device=image.device).view(-1, 1, 1)
    return (colour if image.ndim > 2 else colour[0]).expand(shape).clone()


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
    resample = _resample(interpolation)

    def on_tensor(image):
        flat = image.reshape(-1, rows, columns)
        exact = image.dtype == rushlight.uint8
        planes = [plane if exact else plane.to(rushlight.float32) for plane in flat]
        resized = [
            pil_to_tensor(image_module.fromarray(plane.numpy()).resize((width, height), resample)) for plane in planes
        ]
        return rushlight.cat(resized).to(image.dtype).view(*image.shape[:-2], height, width)

    return _apply(img, lambda image: image.resize((width, height), resample), on_tensor)


def _resample(mode):
    names = {"nearest-exact": "NEAREST"}
    mode = InterpolationMode(mode) if isinstance(mode, str) else mode
    if not isinstance(mode, InterpolationMode):
        return mode  # one of Pillow's own constants
    return getattr(sys.modules["PIL.Image"].Resampling, names.get(mode.value, mode.value.upper()))


def rotate(
    img,
    angle: float,
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
):
    """Rotates by `angle` degrees, counter-clockwise, about `center` (x, y; the middle if not given).

    `expand` makes the image large enough to hold all of it, which supposes rotation about the middle. `fill` colours
    what comes from outside (0 if not given). Tensors and arrays know nearest and bilinear interpolation.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.rotate(rl.tensor([[1, 2], [3, 4]]), 90)
    tensor([[2, 4],
            [1, 3]])
    """
    if not isinstance(angle, (int, float)):
        raise TypeError(f"Argument angle should be int or float, got {type(angle).__name__}")
    if center is not None and (not isinstance(center, Sequence) or len(center) != 2):
        raise TypeError(f"Argument center should be a sequence of two numbers, got {center!r}")

    def on_pil(image):
        bands = len(image.getbands())
        colour: object = fill
        if fill is not None:
            colour = tuple(fill) if isinstance(fill, Sequence) else (fill,) * bands
            colour = colour[0] if len(colour) == 1 else colour
        return image.rotate(angle, _resample(interpolation), expand, center=center, fillcolor=colour)

    return _apply(img, on_pil, lambda image: _rotate_tensor(image, angle, interpolation, expand, center, fill))


def _rotate_tensor(image: Tensor, angle: float, interpolation, expand: bool, center, fill) -> Tensor:
    import numpy

    mode = InterpolationMode(interpolation) if isinstance(interpolation, str) else interpolation
    if mode not in (InterpolationMode.NEAREST, InterpolationMode.BILINEAR):
        raise ValueError(f"tensors are rotated with nearest or bilinear interpolation, not {mode}")
    rows, columns = image.shape[-2:]
    if center is None and angle % 180 == 0:
        return image.flip(-1, -2) if angle % 360 else image.clone()
    if center is None and angle % 90 == 0 and (expand or rows == columns):
        return image.transpose(-2, -1).flip(-2 if angle % 360 == 90 else -1)
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    height, width = rows, columns
    if expand:
        half_w = (abs(columns * cos) + abs(rows * sin)) / 2 - 1e-4  # a hair less, lest rounding add a pixel
        half_h = (abs(columns * sin) + abs(rows * cos)) / 2 - 1e-4
        width = math.ceil(columns / 2 + half_w) - math.floor(columns / 2 - half_w)
        height = math.ceil(rows / 2 + half_h) - math.floor(rows / 2 - half_h)
    # The centre of rotation, from the middle of the image.
    cx, cy = (0.0, 0.0) if center is None else (center[0] - columns / 2, center[1] - rows / 2)
    dx = numpy.arange(width) + (0.5 - width / 2 - cx)
    dy = (numpy.arange(height) + (0.5 - height / 2 - cy))[:, None]
    # Where in the image each pixel of the result comes from: rotated back, as an index.
    x = cos * dx - sin * dy + (cx + columns / 2 - 0.5)
    y = sin * dx + cos * dy + (cy + rows / 2 - 0.5)
    shape = (*image.shape[:-2], height, width)
    pixels = image.reshape(*image.shape[:-2], rows * columns)
    background = _filled(image, shape, fill)

    def at(x, y) -> Tensor:
        inside = (x >= 0) & (x < columns) & (y >= 0) & (y < rows)
        index = numpy.where(inside, y * columns + x, 0).ravel()
        found = pixels.index_select(-1, rushlight.from_numpy(index).to(image.device)).view(shape)
        return rushlight.where(rushlight.from_numpy(inside).to(image.device), found, background)

    if mode is InterpolationMode.NEAREST:
        return at(numpy.rint(x).astype("int64"), numpy.rint(y).astype("int64"))
    left, top = numpy.floor(x), numpy.floor(y)
    work = image.dtype if image.is_floating_point() else rushlight.float32
    blend: Any = None
    for i in (0, 1):
        for j in (0, 1):
            share = numpy.abs(1 - j - (x - left)) * numpy.abs(1 - i - (y - top))
            weight = rushlight.from_numpy(share).to(image.device).to(work)
            part = at(left.astype("int64") + j, top.astype("int64") + i).to(work) * weight
            blend = part if blend is None else blend + part
    return blend if image.is_floating_point() else (blend + 0.5).to(image.dtype)  # type: ignore[operator,return-value]


def size_pair(size: int | Sequence[int]) -> tuple[int, int]:
    """(height, width) from one number or two."""
    values = list(size) if isinstance(size, Sequence) else [size]
    if len(values) not in (1, 2):
        raise ValueError(f"Please provide only two dimensions (h, w) for size; got {size}")
    return int(values[0]), int(values[-1])


__getattr__ = _only(__name__)
