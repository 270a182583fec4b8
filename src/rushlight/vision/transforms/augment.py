"""Changes drawn at random from a list: RandAugment (Cubuk et al., 2019), TrivialAugment (Mueller and Hutter, 2021)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import rushlight

from . import functional as F
from .functional import InterpolationMode
from .transforms import _name, _Transform


class _Augment(_Transform):
    """What both share: a list of changes, each with its strengths from the least to the greatest."""

    def __init__(self, num_magnitude_bins: int, interpolation: InterpolationMode, fill: float | Sequence[float] | None):
        super().__init__()
        self.num_magnitude_bins = num_magnitude_bins
        self.interpolation = interpolation
        self.fill = fill

    def _strengths(self, shear: float, shift: tuple[float, float], turn: float, colour: float, bits: int) -> list:
        """(function of image and strength, strengths or None, whether they may be negated) for each change."""
        bins = self.num_magnitude_bins

        def evenly(last: float, first: float = 0.0) -> list[float]:
            return rushlight.linspace(first, last, bins).tolist()

        kept = (8 - (rushlight.arange(bins) / ((bins - 1) / bits)).round().int()).tolist()
        top_left = [0.0, 0.0]

        def affine(img, translate=(0, 0), shear=(0.0, 0.0), center=None):
            return F.affine(img, 0.0, translate, 1.0, shear, self.interpolation, self.fill, center)

        def degrees(slope: float) -> float:
            return math.degrees(math.atan(slope))

        def enhance(adjust: Callable) -> Callable:
            return lambda img, s: adjust(img, 1.0 + s)

        return [
            (lambda img, s: img, None, False),
            (lambda img, s: affine(img, shear=(degrees(s), 0.0), center=top_left), evenly(shear), True),
            (lambda img, s: affine(img, shear=(0.0, degrees(s)), center=top_left), evenly(shear), True),
            (lambda img, s: affine(img, (int(s), 0)), evenly(shift[0]), True),
            (lambda img, s: affine(img, (0, int(s))), evenly(shift[1]), True),
            (lambda img, s: F.rotate(img, s, self.interpolation, fill=self.fill), evenly(turn), True),
            (enhance(F.adjust_brightness), evenly(colour), True),
            (enhance(F.adjust_saturation), evenly(colour), True),
            (enhance(F.adjust_contrast), evenly(colour), True),
            (enhance(F.adjust_sharpness), evenly(colour), True),
            (lambda img, s: F.posterize(img, int(s)), kept, False),
            (lambda img, s: F.solarize(img, s), evenly(0.0, first=255.0), False),
            (lambda img, s: F.autocontrast(img), None, False),
            (lambda img, s: F.equalize(img), None, False),
        ]


def _index(count: int) -> int:
    return int(rushlight.randint(count, (1,)).item())


class RandAugment(_Augment):
    """Several changes of one strength, drawn from a list of fourteen.

    Takes PIL images and tensors or arrays of uint8.

    Args:
        num_ops: how many changes.
        magnitude: how strong, from 0 to `num_magnitude_bins` - 1.
        num_magnitude_bins: how many strengths there are.
        interpolation, fill: as in functional.rotate.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.RandAugment()(rl.zeros(3, 8, 8, dtype=rl.uint8)).shape
    torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: float | Sequence[float] | None = None,
    ):
        super().__init__(num_magnitude_bins, interpolation, fill)
        if not 0 <= magnitude < num_magnitude_bins:
            raise ValueError(f"magnitude is from 0 to {num_magnitude_bins - 1}, got {magnitude}")
        self.num_ops = num_ops
        self.magnitude = magnitude

    def forward(self, img) -> Any:
        width, height = F.get_image_size(img)
        # Shifts of at most 150 pixels in an image of 331, and as much in proportion in others.
        changes = self._strengths(0.3, (150.0 / 331.0 * width, 150.0 / 331.0 * height), 30.0, 0.9, bits=4)
        for _ in range(self.num_ops):
            change, strengths, signed = changes[_index(len(changes))]
            strength = 0.0 if strengths is None else strengths[self.magnitude]
            if signed and _index(2):
                strength = -strength
            img = change(img, strength)
        return img

    def extra_repr(self) -> str:
        return (
            f"num_ops={self.num_ops}, magnitude={self.magnitude}, num_magnitude_bins={self.num_magnitude_bins}, "
            f"interpolation={_name(self.interpolation)}, fill={self.fill}"
        )


class TrivialAugmentWide(_Augment):
    """One change of random strength, drawn from a list of fourteen; the strengths reach far.

    Takes PIL images and tensors or arrays of uint8.

    Args:
        num_magnitude_bins: how many strengths there are.
        interpolation, fill: as in functional.rotate.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.TrivialAugmentWide()(rl.zeros(3, 8, 8, dtype=rl.uint8)).shape
    torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: float | Sequence[float] | None = None,
    ):
        super().__init__(num_magnitude_bins, interpolation, fill)

    def forward(self, img) -> Any:
        changes = self._strengths(0.99, (32.0, 32.0), 135.0, 0.99, bits=6)
        change, strengths, signed = changes[_index(len(changes))]
        strength = 0.0 if strengths is None else strengths[_index(len(strengths))]
        if signed and _index(2):
            strength = -strength
        return change(img, strength)

    def extra_repr(self) -> str:
        return (
            f"num_magnitude_bins={self.num_magnitude_bins}, interpolation={_name(self.interpolation)}, fill={self.fill}"
        )
