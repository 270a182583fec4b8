"""Resizing images, and what lies between their pixels."""

from __future__ import annotations

import math

from ... import _C
from ..._warnings import warn
from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = ["affine_grid", "grid_sample", "interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

_SMOOTH = {"linear": 1, "bilinear": 2, "bicubic": 2, "lanczos": 2, "trilinear": 3}  # and for how many dimensions


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Resizes sequences, images or volumes.

    Args:
        input: (N, C, L), (N, C, H, W) or (N, C, D, H, W), floating point; uint8 too in the nearest modes.
        size: the output's size, a number or one for each dimension; or else
        scale_factor: by which sizes are multiplied, likewise.
        mode: "nearest"; "nearest-exact", whose pixels are where those of other libraries are; "linear" (of sequences),
            "bilinear", "bicubic" (of images), "trilinear" (of volumes); "area", the mean of what a pixel covers.
        align_corners: the outermost pixels' centers stay where they are, instead of their edges; in modes that
            interpolate only.
        recompute_scale_factor: reckon with the quotient of the sizes, not with the scale_factor given.
        antialias: let a pixel of a smaller image see all that it covers; for "bilinear" and "bicubic", and for
            "lanczos", which is nothing else.

    Returns:
        (N, C, *size), of input's dtype.

    Raises:
        ValueError: neither or both of size and scale_factor, or an option that the mode does not have.
        NotImplementedError: a mode that does not take input of this many dimensions.
        RuntimeError: a size below 1.

    Example:
        >>> import rushlight as rl
        >>> x = rl.tensor([[[[1., 2.], [3., 4.]]]])
        >>> rl.nn.functional.interpolate(x, scale_factor=2)
        tensor([[[[1., 1., 2., 2.],
                  [1., 1., 2., 2.],
                  [3., 3., 4., 4.],
                  [3., 3., 4., 4.]]]])
        >>> rl.nn.functional.interpolate(x, size=3, mode="bilinear", align_corners=True)
        tensor([[[[1.0000, 1.5000, 2.0000],
                  [2.0000, 2.5000, 3.0000],
                  [3.0000, 3.5000, 4.0000]]]])
    """
    if mode not in _SMOOTH and align_corners is not None:
        raise ValueError(f"align_corners is an option of modes that interpolate, not of '{mode}'")
    spatial = input.dim() - 2
    sizes, scales = _target(input, size, scale_factor, spatial, bool(recompute_scale_factor))
    if antialias and (mode not in ("bilinear", "bicubic", "lanczos") or spatial != 2):
        raise ValueError(
            f"antialias is for images (N, C, H, W) in the modes 'bilinear', 'bicubic' and 'lanczos', "
            f"got shape {tuple(input.shape)} and mode '{mode}'"
        )
    if mode == "lanczos" and not antialias:
        raise ValueError("mode 'lanczos' takes antialias=True")
    if mode not in ("nearest", "nearest-exact", "area", *_SMOOTH):
        raise NotImplementedError(
            f"interpolate: mode '{mode}' is not known\n  hint: use nearest, nearest-exact, linear, bilinear, bicubic, "
            "trilinear, lanczos or area"
        )
    if not 1 <= spatial <= 3 or _SMOOTH.get(mode, spatial) != spatial:
        wanted = f"{_SMOOTH[mode] + 2} dimensions" if mode in _SMOOTH else "3, 4 or 5 dimensions"
        raise NotImplementedError(f"interpolate: mode '{mode}' takes input of {wanted}, got shape {tuple(input.shape)}")
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[spatial - 1](input, sizes)
    return _C._interpolate(input, sizes, mode, bool(align_corners), antialias, *(None,) * (3 - spatial), *scales)


def _target(input, size, scale_factor, spatial, recompute):
    """The output's sizes, and the scales that say where its pixels are (None: the quotient of the sizes)."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    given, name = (size, "size") if size is not None else (scale_factor, "scale_factor")
    if isinstance(given, (tuple, list)):
        if len(given) != spatial:
            raise ValueError(
                f"{name} {tuple(given)} has {len(given)} elements, the input {tuple(input.shape)} has {spatial} "
                "dimensions beside batch and channels"
            )
        values = tuple(given)
    else:
        values = (given,) * spatial
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        if any(isinstance(v, float) or v is None for v in values):
            raise TypeError(f"expected size to be one of int or a tuple of ints, got {size}")
        return values, (None,) * spatial
    sizes = tuple(math.floor(float(n) * s) for n, s in zip(input.shape[2:], values, strict=True))
    return sizes, (None,) * spatial if recompute else tuple(float(s) for s in values)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """``interpolate``, which it is deprecated for.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.interpolate(rl.ones(1, 1, 2), scale_factor=2).shape
        torch.Size([1, 1, 4])
    """
    warn("nn.functional.upsample is deprecated. Use nn.functional.interpolate instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """``interpolate(..., mode="nearest")``, which it is deprecated for."""
    warn("nn.functional.upsample_nearest is deprecated. Use nn.functional.interpolate instead.")
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """``interpolate(..., mode="bilinear", align_corners=True)``, which it is deprecated for."""
    warn("nn.functional.upsample_bilinear is deprecated. Use nn.functional.interpolate instead.")
    return interpolate(input, size, scale_factor, "bilinear", True)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Values of images or volumes between their pixels (Jaderberg et al., "Spatial transformer networks", 2015).

    Args:
        input: (N, C, H, W) or (N, C, D, H, W), floating point.
        grid: (N, H', W', 2) or (N, D', H', W', 3), of input's dtype: where each output comes from, as (x, y) or
            (x, y, z), from -1 at the left, upper and front end to 1 at the other.
        mode: "bilinear" (of volumes: trilinear), "nearest" or "bicubic" (of images).
        padding_mode: what is beyond the ends: "zeros", the "border"'s value, or the image in a mirror, "reflection".
        align_corners: the ends are the outermost pixels' centers, instead of their edges.

    Returns:
        (N, C, H', W') or (N, C, D', H', W').

    Raises:
        ValueError: an unknown mode.
        RuntimeError: shapes or dtypes that do not fit.

    Example:
        >>> import rushlight as rl
        >>> grid = rl.tensor([[[[-1., 0.], [0., 0.], [0.5, 0.]]]])
        >>> rl.nn.functional.grid_sample(rl.tensor([[[[1., 2., 3.]]]]), grid, align_corners=True)
        tensor([[[[1.0000, 2.0000, 2.5000]]]])
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"grid_sample: mode must be 'bilinear', 'nearest' or 'bicubic', got '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"grid_sample: padding_mode must be 'zeros', 'border' or 'reflection', got '{padding_mode}'")
    if align_corners is None:
        warn(
            "grid_sample: align_corners is False unless given; it was True in PyTorch before 1.3\n"
            "  hint: say align_corners=False"
        )
    return _C.grid_sampler(
        input,
        grid,
        ("bilinear", "nearest", "bicubic").index(mode),
        ("zeros", "border", "reflection").index(padding_mode),
        bool(align_corners),
    )


def affine_grid(theta, size, align_corners=None):
    """A grid for ``grid_sample`` that moves images by affine maps.

    Args:
        theta: (N, 2, 3) or (N, 3, 4), floating point: maps of the output's coordinates to the input's.
        size: (N, C, H', W') or (N, C, D', H', W') of the output.
        align_corners: as for ``grid_sample``.

    Returns:
        (N, H', W', 2) or (N, D', H', W', 3).

    Raises:
        ValueError: theta's shape or dtype does not fit, or a size is not above 0.
        NotImplementedError: size has not 4 or 5 elements.

    Example:
        >>> import rushlight as rl
        >>> half = rl.tensor([[[0.5, 0., 0.], [0., 0.5, 0.]]])
        >>> rl.nn.functional.affine_grid(half, (1, 1, 1, 2), align_corners=False)
        tensor([[[[-0.2500,  0.0000],
                  [ 0.2500,  0.0000]]]])
    """
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid: theta must be floating point, got {theta.dtype}")
    size = tuple(size)
    if len(size) not in (4, 5):
        raise NotImplementedError(f"affine_grid: size must have 4 or 5 elements, (N, C, H, W) or more, got {size}")
    axes = len(size) - 2
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (axes, axes + 1):
        raise ValueError(
            f"affine_grid: theta must be (N, {axes}, {axes + 1}) for size {size}, got {tuple(theta.shape)}"
        )
    if min(size) <= 0:
        raise ValueError(f"affine_grid: sizes must be above 0, got {size}")
    if align_corners is None:
        warn(
            "affine_grid: align_corners is False unless given; it was True in PyTorch before 1.3\n"
            "  hint: say align_corners=False"
        )
    return _C.affine_grid_generator(theta, size, bool(align_corners))
