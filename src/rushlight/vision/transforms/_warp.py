"""Rotation and other maps of the plane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rushlight
from rushlight import Tensor

from ._images import InterpolationMode, by_kind, colour, filled, get_dimensions, pillow, resampling


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
        return image.rotate(angle, resampling(interpolation), expand, center=center, fillcolor=colour(image, fill))

    return by_kind(img, on_pil, lambda image: _rotate_tensor(image, angle, interpolation, expand, center, fill))


def _rotate_tensor(image: Tensor, angle: float, interpolation, expand: bool, center, fill) -> Tensor:
    import numpy

    mode = _mode_of_tensors(interpolation)
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
    # Rotated back, as an index.
    x = cos * dx - sin * dy + (cx + columns / 2 - 0.5)
    y = sin * dx + cos * dy + (cy + rows / 2 - 0.5)
    return _sampled(image, x, y, mode, fill)


def affine(
    img,
    angle: float,
    translate: Sequence[int],
    scale: float,
    shear: float | Sequence[float],
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    fill: float | Sequence[float] | None = None,
    center: Sequence[float] | None = None,
):
    """Shears, rotates, scales and shifts; the size stays.

    Args:
        angle: in degrees, clockwise.
        translate: how far to the right and down, in pixels.
        scale: how many times as large, above 0.
        shear: degrees along x, or along x and y.
        interpolation, fill: as in rotate.
        center: (x, y) of what stays in place but for the shift; the middle if not given.

    >>> import rushlight as rl
    >>> from rushlight.vision.transforms import functional
    >>> functional.affine(rl.tensor([[1, 2, 3], [4, 5, 6]]), 0, (1, 0), 1.0, 0)
    tensor([[0, 1, 2],
            [0, 4, 5]])
    """
    if scale <= 0.0:
        raise ValueError(f"Argument scale should be positive, got {scale}")
    if len(translate) != 2:
        raise ValueError(f"Argument translate should be a sequence of length 2, got {translate}")
    shears = [shear, 0.0] if isinstance(shear, (int, float)) else [*shear, 0.0][:2]
    _, rows, columns = get_dimensions(img)
    middle = (columns / 2, rows / 2) if center is None else (center[0], center[1])
    back = _affine_back(middle, angle, translate, scale, shears)

    def on_pil(image):
        image_module = pillow("affine")
        method = image_module.Transform.AFFINE
        return image.transform(image.size, method, back, resampling(interpolation), fillcolor=colour(image, fill))

    def on_tensor(image):
        import numpy

        u, v = numpy.arange(columns) + 0.5, (numpy.arange(rows) + 0.5)[:, None]
        x = back[0] * u + back[1] * v + (back[2] - 0.5)
        y = back[3] * u + back[4] * v + (back[5] - 0.5)
        return _sampled(image, x, y, _mode_of_tensors(interpolation), fill)

    return by_kind(img, on_pil, on_tensor)


def _affine_back(middle, angle: float, translate, scale: float, shear) -> list[float]:
    """(a, b, c, d, e, f) such that the pixel at (u, v) comes from (a u + b v + c, d u + e v + f).

    Forwards it is shift, move to the middle, rotate, shear along y, shear along x, scale, move back.
    """
    rotation, sx, sy = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    # Rotation times both shears, over cos(sy).
    a = math.cos(rotation - sy) / math.cos(sy)
    b = -a * math.tan(sx) - math.sin(rotation)
    c = math.sin(rotation - sy) / math.cos(sy)
    d = -c * math.tan(sx) + math.cos(rotation)
    # Its determinant is 1, so this is the inverse.
    m = [d / scale, -b / scale, -c / scale, a / scale]
    dx, dy = -middle[0] - translate[0], -middle[1] - translate[1]
    return [m[0], m[1], m[0] * dx + m[1] * dy + middle[0], m[2], m[3], m[2] * dx + m[3] * dy + middle[1]]


def perspective(
    img,
    startpoints: Sequence[Sequence[int]],
    endpoints: Sequence[Sequence[int]],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: float | Sequence[float] | None = None,
):
    """Moves four points (x, y) of the image, `startpoints`, to `endpoints`, as if it were seen from another side."""
    import numpy

    if len(startpoints) != 4 or len(endpoints) != 4:
        raise ValueError("perspective takes four points (x, y) before and four after")
    # Eight equations for the map back: x = (a u + b v + c) / (g u + h v + 1), y = (d u + e v + f) / (g u + h v + 1).
    rows, right = [], []
    for (x, y), (u, v) in zip(startpoints, endpoints, strict=True):
        rows += [[u, v, 1, 0, 0, 0, -x * u, -x * v], [0, 0, 0, u, v, 1, -y * u, -y * v]]
        right += [x, y]
    back = numpy.linalg.lstsq(numpy.array(rows, float), numpy.array(right, float), rcond=None)[0].tolist()

    def on_pil(image):
        method = pillow("perspective").Transform.PERSPECTIVE
        return image.transform(image.size, method, back, resampling(interpolation), fillcolor=colour(image, fill))

    def on_tensor(image):
        height, width = image.shape[-2:]
        u, v = numpy.arange(width) + 0.5, (numpy.arange(height) + 0.5)[:, None]
        depth = back[6] * u + back[7] * v + 1
        x = (back[0] * u + back[1] * v + back[2]) / depth - 0.5
        y = (back[3] * u + back[4] * v + back[5]) / depth - 0.5
        return _sampled(image, x, y, _mode_of_tensors(interpolation), fill)

    return by_kind(img, on_pil, on_tensor)


def _mode_of_tensors(interpolation) -> InterpolationMode:
    mode = InterpolationMode(interpolation) if isinstance(interpolation, str) else interpolation
    if mode not in (InterpolationMode.NEAREST, InterpolationMode.BILINEAR):
        raise ValueError(f"tensors are warped with nearest or bilinear interpolation, not {mode}")
    return mode


def _sampled(image: Tensor, x, y, mode: InterpolationMode, fill) -> Tensor:
    """The image's values at the indices in the arrays x and y, which need not be whole; `fill` outside of it."""
    import numpy

    rows, columns = image.shape[-2:]
    shape = (*image.shape[:-2], *x.shape)
    pixels = image.reshape(*image.shape[:-2], rows * columns)
    background = filled(image, shape, fill)

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
