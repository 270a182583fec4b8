"""Blurring and sharpening."""

from __future__ import annotations

from collections.abc import Sequence

import rushlight
from rushlight import Tensor
from rushlight.nn.functional import conv2d

from ._geometry import pad
from ._images import by_kind, pil_to_tensor, to_pil_image


def gaussian_blur(img, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None):
    """Blurs by a Gaussian.

    Args:
        kernel_size: the width and height of the window, odd.
        sigma: the standard deviation, along x and y if there are two; by default one that suits the window.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.gaussian_blur(rl.ones(3, 5, 5), 3).shape
    torch.Size([3, 5, 5])
    """
    sizes = _pair("kernel_size", kernel_size)
    if any(size % 2 == 0 or size < 0 for size in sizes):
        raise ValueError(f"kernel_size should have odd and positive integers. Got {kernel_size}")
    sigmas = [size * 0.15 + 0.35 for size in sizes] if sigma is None else _pair("sigma", sigma)
    if any(value <= 0 for value in sigmas):
        raise ValueError(f"sigma should have positive values. Got {sigma}")

    def on_tensor(image: Tensor) -> Tensor:
        work = image.dtype if image.is_floating_point() else rushlight.float32
        across, down = (_gaussian(n, s, work) for n, s in zip(sizes, sigmas, strict=True))
        return _filtered(image, down[:, None] * across)

    return by_kind(img, lambda image: to_pil_image(on_tensor(pil_to_tensor(image)), image.mode), on_tensor)


def _pair(name: str, value) -> list:
    values = list(value) if isinstance(value, Sequence) else [value]
    if len(values) not in (1, 2):
        raise ValueError(f"{name} should be a number or a sequence of two, got {value}")
    return values * 2 if len(values) == 1 else values


def _gaussian(size: int, sigma: float, dtype) -> Tensor:
    half = (size - 1) * 0.5
    weights = (rushlight.linspace(-half, half, size, dtype=dtype) / sigma).pow(2).mul(-0.5).exp()
    return weights / weights.sum()


def _filtered(image: Tensor, kernel: Tensor, border: bool = True) -> Tensor:
    """Every channel convolved with the kernel, in floating point; borders mirrored, or left away."""
    rows, columns = kernel.shape
    work = image.to(kernel.dtype)
    planes = work.reshape(-1, 1, *work.shape[-2:])
    if border:
        planes = pad(planes, [columns // 2, rows // 2], padding_mode="reflect")
    result = conv2d(planes, kernel.view(1, 1, rows, columns))
    result = result.view(*image.shape[:-2], *result.shape[-2:])
    return result if image.is_floating_point() else result.round().clamp(0, 255).to(image.dtype)


def adjust_sharpness(img, sharpness_factor: float):
    """0 gives a blurred image, 1 the image, 2 twice the sharpness."""
    if sharpness_factor < 0:
        raise ValueError(f"sharpness_factor ({sharpness_factor}) is not non-negative.")

    def on_pil(image):
        from PIL import ImageEnhance

        return ImageEnhance.Sharpness(image).enhance(sharpness_factor)

    def on_tensor(image):
        from ._color import _blend

        if min(image.shape[-2:]) <= 2:
            return image
        work = image.dtype if image.is_floating_point() else rushlight.float32
        kernel = rushlight.ones(3, 3, dtype=work)
        kernel[1, 1] = 5
        smooth = image.clone()
        smooth[..., 1:-1, 1:-1] = _filtered(image, kernel / 13, border=False)
        return _blend(image, smooth, sharpness_factor)

    return by_kind(img, on_pil, on_tensor)
