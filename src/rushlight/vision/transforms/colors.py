"""Random changes of colour and sharpness as objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight

from . import functional as F
from .transforms import _Transform


def _uniform(low: float, high: float) -> float:
    return float(rushlight.empty(1).uniform_(low, high).item())


class ColorJitter(_Transform):
    """Changes brightness, contrast, saturation and hue at random, in random order.

    Args:
        brightness, contrast, saturation: a factor is drawn from [max(0, 1 - x), 1 + x], or from (least, most).
        hue: a turn is drawn from [-x, x], or from (least, most), within [-0.5, 0.5].

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.ColorJitter(brightness=0.5, hue=0.3)(rl.rand(3, 8, 8)).shape
    torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        brightness: float | Sequence[float] = 0,
        contrast: float | Sequence[float] = 0,
        saturation: float | Sequence[float] = 0,
        hue: float | Sequence[float] = 0,
    ):
        super().__init__()
        self.brightness = _range("brightness", brightness)
        self.contrast = _range("contrast", contrast)
        self.saturation = _range("saturation", saturation)
        self.hue = _range("hue", hue, centre=0, least=-0.5, most=0.5)

    @staticmethod
    def get_params(brightness, contrast, saturation, hue) -> tuple:
        """Draws the order of the four, and a factor for each, or None where there is no range."""
        order = rushlight.randperm(4)
        ranges = (brightness, contrast, saturation, hue)
        return order, *(None if bounds is None else _uniform(*bounds) for bounds in ranges)

    def forward(self, img):
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        functions = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for i in order.tolist():
            if factors[i] is not None:
                img = functions[i](img, factors[i])
        return img

    def extra_repr(self) -> str:
        return f"brightness={self.brightness}, contrast={self.contrast}, saturation={self.saturation}, hue={self.hue}"


def _range(name: str, value, centre: float = 1, least: float = 0, most: float = float("inf")) -> tuple | None:
    """(low, high); None where that leaves the image as it is."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        low, high = centre - value, centre + value
        if name != "hue":
            low = max(low, 0.0)
    elif isinstance(value, Sequence) and len(value) == 2:
        low, high = float(value[0]), float(value[1])
    else:
        raise TypeError(f"{name} should be a single number or a list/tuple with length 2.")
    if not least <= low <= high <= most:
        raise ValueError(f"{name} values should be between {(least, most)}, but got {(low, high)}.")
    return None if low == high == centre else (float(low), float(high))


class Grayscale(_Transform):
    """Shades of grey, of one channel or of three equal ones.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.Grayscale()(rl.rand(3, 8, 8)).shape
    torch.Size([1, 8, 8])
    """

    def __init__(self, num_output_channels: int = 1):
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img):
        return F.rgb_to_grayscale(img, self.num_output_channels)

    def extra_repr(self) -> str:
        return f"num_output_channels={self.num_output_channels}"


class _AtRandom(_Transform):
    """Base of what happens with probability `p`."""

    def __init__(self, p: float = 0.5):
        super().__init__()
        self.p = p

    def change(self, img) -> Any:
        raise NotImplementedError

    def forward(self, img):
        return self.change(img) if rushlight.rand(1).item() < self.p else img

    def extra_repr(self) -> str:
        return f"p={self.p}"


class RandomGrayscale(_AtRandom):
    """Shades of grey with probability `p`; as many channels as before."""

    def __init__(self, p: float = 0.1):
        super().__init__(p)

    def change(self, img):
        return F.rgb_to_grayscale(img, num_output_channels=F.get_image_num_channels(img))


class RandomInvert(_AtRandom):
    """The negative, with probability `p`.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.RandomInvert(p=1)(rl.tensor([[[0.25, 1.0]]]))
    tensor([[[0.7500, 0.0000]]])
    """

    def change(self, img):
        return F.invert(img)


class RandomPosterize(_AtRandom):
    """Keeps only the `bits` highest of each value's eight bits, with probability `p`."""

    def __init__(self, bits: int, p: float = 0.5):
        super().__init__(p)
        self.bits = bits

    def change(self, img):
        return F.posterize(img, self.bits)

    def extra_repr(self) -> str:
        return f"bits={self.bits}, p={self.p}"


class RandomSolarize(_AtRandom):
    """Inverts what is as bright as `threshold` or brighter, with probability `p`."""

    def __init__(self, threshold: float, p: float = 0.5):
        super().__init__(p)
        self.threshold = threshold

    def change(self, img):
        return F.solarize(img, self.threshold)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, p={self.p}"


class RandomAdjustSharpness(_AtRandom):
    """Changes the sharpness by a factor, with probability `p`; see functional.adjust_sharpness."""

    def __init__(self, sharpness_factor: float, p: float = 0.5):
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def change(self, img):
        return F.adjust_sharpness(img, self.sharpness_factor)

    def extra_repr(self) -> str:
        return f"sharpness_factor={self.sharpness_factor}, p={self.p}"


class RandomAutocontrast(_AtRandom):
    """Stretches each channel's brightness to the full range, with probability `p`."""

    def change(self, img):
        return F.autocontrast(img)


class RandomEqualize(_AtRandom):
    """Makes all brightnesses equally frequent, with probability `p`."""

    def change(self, img):
        return F.equalize(img)


class GaussianBlur(_Transform):
    """Blurs by a Gaussian whose standard deviation is drawn at random.

    Args:
        kernel_size: the width and height of the window, odd.
        sigma: the standard deviation, or (least, most).

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.GaussianBlur(3)(rl.rand(3, 8, 8)).shape
    torch.Size([3, 8, 8])
    """

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)):
        super().__init__()
        height, width = F.size_pair(kernel_size)
        if any(size <= 0 or size % 2 == 0 for size in (height, width)):
            raise ValueError(f"Kernel size value should be an odd and positive number. Got {kernel_size}")
        self.kernel_size = (height, width)
        if isinstance(sigma, (int, float)):
            sigma = (sigma, sigma)
        if len(sigma) != 2 or not 0.0 < sigma[0] <= sigma[1]:
            raise ValueError(f"sigma values should be positive and of the form (min, max). Got {sigma}")
        self.sigma = (float(sigma[0]), float(sigma[1]))

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """Draws the standard deviation."""
        return _uniform(sigma_min, sigma_max)

    def forward(self, img):
        sigma = self.get_params(*self.sigma)
        return F.gaussian_blur(img, self.kernel_size, [sigma, sigma])

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, sigma={self.sigma}"


class ConvertImageDtype(_Transform):
    """A tensor as another dtype, scaled such that white stays white; see functional.convert_image_dtype."""

    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def forward(self, image):
        return F.convert_image_dtype(image, self.dtype)

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}"
