"""Random parts of images, and random maps of the plane, as objects."""

from __future__ import annotations

import math
from collections.abc import Sequence

import rushlight
from rushlight import Tensor
from rushlight._warnings import warn

from . import functional as F
from .colors import _AtRandom, _uniform
from .functional import InterpolationMode
from .transforms import _name, _Transform


def _whole(low: int, high: int) -> int:
    """A whole number from `low` to `high` - 1."""
    return int(rushlight.randint(low, high, size=(1,)).item())


def _area_and_aspect(area: float, scale: Sequence[float], log_ratio: Tensor) -> tuple[float, float]:
    """Draws a share of the area, then an aspect ratio, evenly in its logarithm."""
    target = area * _uniform(scale[0], scale[1])
    return target, float(rushlight.exp(rushlight.empty(1).uniform_(log_ratio[0].item(), log_ratio[1].item())).item())


def _check_ranges(scale, ratio) -> None:
    for name, value in (("Scale", scale), ("Ratio", ratio)):
        if not isinstance(value, Sequence):
            raise TypeError(f"{name} should be a sequence")
    if scale[0] > scale[1] or ratio[0] > ratio[1]:
        warn("Scale and ratio should be of kind (min, max)")


class RandomResizedCrop(_Transform):
    """A part of random size, shape and place, resized to `size`.

    Args:
        size: (height, width), or one number for both.
        scale: least and greatest share of the image's area.
        ratio: least and greatest width / height.
        interpolation, antialias: as in functional.resize.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.RandomResizedCrop(4)(rl.rand(3, 8, 8)).shape
    torch.Size([3, 4, 4])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ):
        super().__init__()
        _check_ranges(scale, ratio)
        self.size = F.size_pair(size)
        self.scale, self.ratio = scale, ratio
        self.interpolation, self.antialias = interpolation, antialias

    @staticmethod
    def get_params(img, scale: Sequence[float], ratio: Sequence[float]) -> tuple[int, int, int, int]:
        """Draws (top, left, height, width). After ten that do not fit, the largest part in the middle that does."""
        _, rows, columns = F.get_dimensions(img)
        log_ratio = rushlight.log(rushlight.tensor(ratio, dtype=rushlight.float32))
        for _ in range(10):
            area, aspect = _area_and_aspect(rows * columns, scale, log_ratio)
            width, height = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if 0 < width <= columns and 0 < height <= rows:
                return _whole(0, rows - height + 1), _whole(0, columns - width + 1), height, width
        height, width = rows, columns
        if columns / rows < min(ratio):
            height = round(width / min(ratio))
        elif columns / rows > max(ratio):
            width = round(height * max(ratio))
        return (rows - height) // 2, (columns - width) // 2, height, width

    def forward(self, img):
        part = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *part, self.size, self.interpolation, self.antialias)

    def extra_repr(self) -> str:
        scale, ratio = (tuple(round(value, 4) for value in pair) for pair in (self.scale, self.ratio))
        return (
            f"size={self.size}, scale={scale}, ratio={ratio}, interpolation={_name(self.interpolation)}, "
            f"antialias={self.antialias}"
        )


class RandomErasing(_Transform):
    """Erases a random rectangle of a tensor (..., height, width) with probability `p` (Zhong et al., 2017).

    Args:
        p: the probability.
        scale: least and greatest share of the image's area.
        ratio: least and greatest height / width.
        value: what takes its place: a number, one for each channel, or "random" for normal noise.
        inplace: writes into the image that is given.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> bool((transforms.RandomErasing(p=1)(rl.ones(3, 8, 8)) == 0).any())
    True
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: float | str | Sequence[float] = 0,
        inplace: bool = False,
    ):
        super().__init__()
        if not isinstance(value, (int, float, str, tuple, list)):
            raise TypeError("Argument value should be either a number or str or a sequence")
        if isinstance(value, str) and value != "random":
            raise ValueError("If value is str, it should be 'random'")
        _check_ranges(scale, ratio)
        if not 0 <= scale[0] <= scale[1] <= 1:
            raise ValueError(f"Scale should be between 0 and 1, got {scale}")
        if not 0 <= p <= 1:
            raise ValueError(f"Random erasing probability should be between 0 and 1, got {p}")
        self.p, self.scale, self.ratio, self.value, self.inplace = p, scale, ratio, value, inplace

    @staticmethod
    def get_params(img: Tensor, scale, ratio, value: list[float] | None = None) -> tuple[int, int, int, int, Tensor]:
        """Draws (top, left, height, width, new values); the image itself after ten that do not fit."""
        channels, rows, columns = img.shape[-3], img.shape[-2], img.shape[-1]
        log_ratio = rushlight.log(rushlight.tensor(ratio, dtype=rushlight.float32))
        for _ in range(10):
            area, aspect = _area_and_aspect(rows * columns, scale, log_ratio)
            height, width = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if height >= rows or width >= columns:
                continue
            if value is None:
                new = rushlight.empty((channels, height, width), dtype=rushlight.float32).normal_()
            else:
                new = rushlight.tensor(value)[:, None, None]
            return _whole(0, rows - height + 1), _whole(0, columns - width + 1), height, width, new
        return 0, 0, rows, columns, img

    def forward(self, img):
        if rushlight.rand(1).item() >= self.p:
            return img
        if not isinstance(img, Tensor):
            raise TypeError(f"img should be Tensor. Got {type(img)}\n  hint: ToTensor comes before RandomErasing")
        value: list[float] | None = None
        if isinstance(self.value, (int, float)):
            value = [float(self.value)]
        elif not isinstance(self.value, str):
            value = [float(number) for number in self.value]
            if len(value) not in (1, img.shape[-3]):
                raise ValueError(
                    f"value should be one number or one per channel ({img.shape[-3]}), got {len(value)} of them"
                )
        return F.erase(img, *self.get_params(img, self.scale, self.ratio, value), self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, scale={self.scale}, ratio={self.ratio}, value={self.value}, inplace={self.inplace}"


class FiveCrop(_Transform):
    """The four corners and the middle, as a tuple; see functional.five_crop."""

    def __init__(self, size: int | Sequence[int]):
        super().__init__()
        self.size = F.size_pair(size)

    def forward(self, img):
        return F.five_crop(img, self.size)

    def extra_repr(self) -> str:
        return f"size={self.size}"


class TenCrop(FiveCrop):
    """What FiveCrop gives, of the image and of its mirror image."""

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False):
        super().__init__(size)
        self.vertical_flip = vertical_flip

    def forward(self, img):
        return F.ten_crop(img, self.size, self.vertical_flip)

    def extra_repr(self) -> str:
        return f"size={self.size}, vertical_flip={self.vertical_flip}"


def _angles(name: str, value, sizes: Sequence[int] = (2,)) -> list[float]:
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be positive.")
        return [-float(value), float(value)]
    if len(value) not in sizes:
        raise ValueError(
            f"{name} should be a number or a sequence of length {' or '.join(map(str, sizes))}, got {value}"
        )
    return [float(angle) for angle in value]


class RandomAffine(_Transform):
    """Rotates, shifts, scales and shears at random about the middle.

    Args:
        degrees: the rotation, from (least, most) or (-degrees, degrees).
        translate: how far to shift at most, as shares of width and height.
        scale: (least, most).
        shear: degrees along x: (least, most) or (-shear, shear); four numbers shear along y too.
        interpolation, fill, center: as in functional.rotate.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.RandomAffine(10, translate=(0.1, 0.1))(rl.rand(3, 8, 8)).shape
    torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: float | Sequence[float] = 0,
        center: Sequence[float] | None = None,
    ):
        super().__init__()
        self.degrees = _angles("degrees", degrees)
        if translate is not None and not (len(translate) == 2 and all(0.0 <= share <= 1.0 for share in translate)):
            raise ValueError(f"translation values should be two numbers between 0 and 1, got {translate}")
        if scale is not None and not (len(scale) == 2 and all(factor > 0 for factor in scale)):
            raise ValueError(f"scale values should be two positive numbers, got {scale}")
        if center is not None and len(center) != 2:
            raise ValueError(f"center should be a sequence of two, got {center}")
        self.translate, self.scale = translate, scale
        self.shear = None if shear is None else _angles("shear", shear, (2, 4))
        self.interpolation, self.fill, self.center = interpolation, fill, center

    @staticmethod
    def get_params(
        degrees: Sequence[float],
        translate: Sequence[float] | None,
        scale_ranges: Sequence[float] | None,
        shears: Sequence[float] | None,
        img_size: Sequence[int],
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """Draws angle, shift, scale and shear for an image of `img_size` (width, height)."""
        angle = _uniform(float(degrees[0]), float(degrees[1]))
        shift = (0, 0)
        if translate is not None:
            most = [float(share * size) for share, size in zip(translate, img_size, strict=True)]
            shift = (round(_uniform(-most[0], most[0])), round(_uniform(-most[1], most[1])))
        scale = _uniform(scale_ranges[0], scale_ranges[1]) if scale_ranges is not None else 1.0
        shear = (0.0, 0.0)
        if shears is not None:
            shear = (_uniform(shears[0], shears[1]), _uniform(shears[2], shears[3]) if len(shears) == 4 else 0.0)
        return angle, shift, scale, shear

    def forward(self, img):
        drawn = self.get_params(self.degrees, self.translate, self.scale, self.shear, F.get_image_size(img))
        return F.affine(img, *drawn, self.interpolation, self.fill, self.center)

    def extra_repr(self) -> str:
        given = [("degrees", self.degrees), ("translate", self.translate), ("scale", self.scale), ("shear", self.shear)]
        return ", ".join(f"{name}={value}" for name, value in given if value is not None)


class RandomPerspective(_AtRandom):
    """Shows the image as if from another side, with probability `p`.

    Args:
        distortion_scale: how far corners may move towards the middle, from 0 to 1.

    >>> import rushlight as rl
    >>> from rushlight.vision import transforms
    >>> transforms.RandomPerspective(p=1)(rl.rand(3, 8, 8)).shape
    torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        fill: float | Sequence[float] = 0,
    ):
        super().__init__(p)
        self.distortion_scale, self.interpolation, self.fill = distortion_scale, interpolation, fill

    @staticmethod
    def get_params(width: int, height: int, distortion_scale: float) -> tuple[list[list[int]], list[list[int]]]:
        """The corners (x, y), clockwise from the top left, and where they move to."""
        dx, dy = int(distortion_scale * (width // 2)), int(distortion_scale * (height // 2))

        def near(low: bool, move: int, size: int) -> int:
            return _whole(0, move + 1) if low else _whole(size - move - 1, size)

        ends = [
            [near(left, dx, width), near(top, dy, height)]
            for left, top in ((True, True), (False, True), (False, False), (True, False))
        ]
        return [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], ends

    def change(self, img):
        width, height = F.get_image_size(img)
        corners = self.get_params(width, height, self.distortion_scale)
        return F.perspective(img, *corners, self.interpolation, self.fill)
