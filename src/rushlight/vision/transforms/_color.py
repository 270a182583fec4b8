"""Brightness, contrast, saturation, hue, and what else changes colours pixel by pixel."""

from __future__ import annotations

from typing import Any

import rushlight
from rushlight import Tensor

from ._images import by_kind, get_dimensions, pil_to_tensor, pillow, to_pil_image

# How bright red, green and blue appear (ITU-R BT.601).
_LUMA = (0.2989, 0.587, 0.114)


def rgb_to_grayscale(img, num_output_channels: int = 1):
    """An image in shades of grey, of one channel or of three equal ones.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.rgb_to_grayscale(rl.ones(3, 1, 2))
    tensor([[[0.9999, 0.9999]]])
    """
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels should be either 1 or 3, got {num_output_channels}")

    def on_pil(image):
        grey = image.convert("L")
        return grey if num_output_channels == 1 else pillow("rgb_to_grayscale").merge("RGB", [grey] * 3)

    def on_tensor(image):
        grey = _grey(image)
        return grey if num_output_channels == 1 else grey.expand(*image.shape[:-3], 3, *image.shape[-2:])

    return by_kind(img, on_pil, on_tensor)


def to_grayscale(img, num_output_channels: int = 1):
    """What rgb_to_grayscale does."""
    return rgb_to_grayscale(img, num_output_channels)


def _channels(image: Tensor) -> int:
    """1 or 3; a tensor (height, width) has one."""
    channels = get_dimensions(image)[0]
    if channels not in (1, 3):
        raise TypeError(
            f"Input image tensor permitted channel values are 1 or 3, got {channels} (shape {tuple(image.shape)})"
        )
    return channels


def _grey(image: Tensor) -> Tensor:
    """One channel, of the image's dtype."""
    if _channels(image) == 1:
        return image.clone()
    red, green, blue = image.unbind(-3)
    return (_LUMA[0] * red + _LUMA[1] * green + _LUMA[2] * blue).to(image.dtype).unsqueeze(-3)


def _bound(image: Tensor) -> float:
    """The value of white: 1, or the largest whole number."""
    return 1.0 if image.is_floating_point() else float(_largest(image.dtype))


def _largest(dtype) -> int:
    return 2 ** (8 * dtype.itemsize - dtype.is_signed) - 1


def _blend(image: Tensor, other: Any, share: float) -> Tensor:
    """`share` of the image and the rest of another; beyond 1 away from it."""
    return (share * image + (1 - share) * other).clamp(0, _bound(image)).to(image.dtype)


def _factor(name: str, value: float) -> float:
    if value < 0:
        raise ValueError(f"{name} ({value}) is not non-negative.")
    return float(value)


def _enhanced(image, kind: str, factor: float):
    from PIL import ImageEnhance

    return getattr(ImageEnhance, kind)(image).enhance(factor)


def adjust_brightness(img, brightness_factor: float):
    """0 gives black, 1 the image, 2 twice the brightness.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.adjust_brightness(rl.tensor([[[0.25, 0.75]]]), 2)
    tensor([[[0.5000, 1.0000]]])
    """
    factor = _factor("brightness_factor", brightness_factor)
    return by_kind(img, lambda image: _enhanced(image, "Brightness", factor), lambda image: _blend(image, 0.0, factor))


def adjust_contrast(img, contrast_factor: float):
    """0 gives one grey, 1 the image, 2 twice the contrast."""
    factor = _factor("contrast_factor", contrast_factor)

    def on_tensor(image):
        work = image.dtype if image.is_floating_point() else rushlight.float32
        of_one_image = tuple(range(-min(image.ndim, 3), 0))
        return _blend(image, _grey(image).to(work).mean(of_one_image, keepdim=True), factor)

    return by_kind(img, lambda image: _enhanced(image, "Contrast", factor), on_tensor)


def adjust_saturation(img, saturation_factor: float):
    """0 gives shades of grey, 1 the image, 2 twice the saturation."""
    factor = _factor("saturation_factor", saturation_factor)

    def on_tensor(image):
        return image if _channels(image) == 1 else _blend(image, _grey(image), factor)

    return by_kind(img, lambda image: _enhanced(image, "Color", factor), on_tensor)


def adjust_hue(img, hue_factor: float):
    """Turns the circle of colours: 0.5 and -0.5 give complementary ones, 0 the image."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")

    def on_pil(image):
        if image.mode in ("L", "1", "I", "F"):
            return image
        hue, saturation, value = image.convert("HSV").split()
        turned = hue.point([(i + int(hue_factor * 255)) % 256 for i in range(256)])
        return pillow("adjust_hue").merge("HSV", (turned, saturation, value)).convert(image.mode)

    def on_tensor(image):
        if _channels(image) == 1:
            return image
        hue, saturation, value = _to_hsv(convert_image_dtype(image, rushlight.float32))
        return convert_image_dtype(_from_hsv((hue + hue_factor) % 1.0, saturation, value), image.dtype)

    return by_kind(img, on_pil, on_tensor)


def _to_hsv(image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hue, saturation and value, all in [0, 1] (Smith, 1978)."""
    red, green, blue = image.unbind(-3)
    most, least = image.amax(-3), image.amin(-3)
    spread = most - least
    grey = spread == 0
    divisor = spread.masked_fill(grey, 1)
    sixths = rushlight.where(
        most == red,
        (green - blue) / divisor,
        rushlight.where(most == green, 2 + (blue - red) / divisor, 4 + (red - green) / divisor),
    )
    return (sixths / 6) % 1.0, spread / most.masked_fill(most == 0, 1), most


def _from_hsv(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    """Each channel is `value`, less `value * saturation` by how far its own colour lies on the circle of hues."""
    channels = []
    for colour in (5, 3, 1):  # red, green, blue
        away = (colour + hue * 6) % 6
        channels.append(value - value * saturation * rushlight.minimum(away, 4 - away).clamp(0, 1))
    return rushlight.stack(channels, -3)


def adjust_gamma(img, gamma: float, gain: float = 1):
    """gain * image ** gamma, of values in [0, 1]: above 1 shadows get darker, below 1 lighter."""
    _factor("gamma", gamma)

    def on_pil(image):
        return image.point(
            [int((255 + 1 - 1e-3) * gain * (i / 255.0) ** gamma) for i in range(256)] * len(image.getbands())
        )

    def on_tensor(image):
        work = image if image.is_floating_point() else convert_image_dtype(image, rushlight.float32)
        return convert_image_dtype((gain * work**gamma).clamp(0, 1), image.dtype)

    return by_kind(img, on_pil, on_tensor)


def invert(img):
    """The negative."""
    return by_kind(
        img, lambda image: _operation("invert")(image), lambda image: (_bound(image) - image).to(image.dtype)
    )


def posterize(img, bits: int):
    """Keeps only the `bits` highest of each value's eight bits."""
    if not 0 <= bits <= 8:
        raise ValueError(f"bits is from 0 to 8, got {bits}")

    def on_tensor(image):
        if image.dtype != rushlight.uint8:
            raise TypeError(f"Only torch.uint8 image tensors are supported, but found {image.dtype}")
        step = 2 ** (8 - bits)
        return image.int().div(step, rounding_mode="floor").mul(step).to(rushlight.uint8)

    return by_kind(img, lambda image: _operation("posterize")(image, bits), on_tensor)


def solarize(img, threshold: float):
    """Inverts what is as bright as `threshold` or brighter."""

    def on_tensor(image):
        if threshold > _bound(image):
            raise TypeError(f"Threshold should be less than bound of img, got {threshold}.")
        return rushlight.where(image >= threshold, (_bound(image) - image).to(image.dtype), image)

    return by_kind(img, lambda image: _operation("solarize")(image, threshold), on_tensor)


def autocontrast(img):
    """Stretches each channel, so that its darkest pixel is black and its brightest white."""

    def on_tensor(image):
        work = image if image.is_floating_point() else image.to(rushlight.float32)
        low, high = work.amin((-2, -1), keepdim=True), work.amax((-2, -1), keepdim=True)
        flat = high == low
        stretched = (work - low) * (_bound(image) / (high - low).masked_fill(flat, 1))
        return rushlight.where(flat, work, stretched).clamp(0, _bound(image)).to(image.dtype)

    return by_kind(img, lambda image: _operation("autocontrast")(image), on_tensor)


def equalize(img):
    """Maps each channel such that all brightnesses are equally frequent. Takes uint8; Pillow does the work."""

    def on_tensor(image):
        if image.dtype != rushlight.uint8:
            raise TypeError(f"Only torch.uint8 image tensors are supported, but found {image.dtype}")
        planes = image.reshape(-1, *image.shape[-2:])
        mapped = [pil_to_tensor(_operation("equalize")(to_pil_image(plane))) for plane in planes]
        return rushlight.cat(mapped).view(image.shape)

    return by_kind(img, lambda image: _operation("equalize")(image), on_tensor)


def _operation(name: str) -> Any:
    pillow(name)
    from PIL import ImageOps

    return getattr(ImageOps, name)


def convert_image_dtype(image: Tensor, dtype=None) -> Tensor:
    """A tensor as another dtype, scaled such that white stays white: 255 in uint8, 1.0 in floating point.

    Raises:
        RuntimeError: the dtype cannot hold the values: float32 as int32, say.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.convert_image_dtype(rl.tensor([0, 255], dtype=rl.uint8), rl.float32)
    tensor([0., 1.])
    """
    dtype = rushlight.get_default_dtype() if dtype is None else dtype
    if image.dtype == dtype:
        return image
    if image.is_floating_point():
        if dtype.is_floating_point:
            return image.to(dtype)
        if (image.dtype == rushlight.float32 and dtype.itemsize >= 4) or dtype.itemsize == 8:
            raise RuntimeError(f"The cast from {image.dtype} to {dtype} cannot be performed safely.")
        # Each whole number gets an equal share of [0, 1]; a hair less, lest 1.0 wrap around.
        return image.mul(_largest(dtype) + 1 - 1e-3).to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / _largest(image.dtype)
    ratio = (_largest(image.dtype) + 1) / (_largest(dtype) + 1)
    if ratio > 1:
        return image.div(int(ratio), rounding_mode="floor").to(dtype)
    return image.to(dtype) * int(1 / ratio)
