"""Transforms as functions.

An image is a PIL image, a tensor of shape (..., height, width), or a NumPy array of shape (height, width) or
(height, width, channels); functions return the kind they are given. NumPy and Pillow are loaded only by what needs
them.
"""

from ..._lazy import only as _only
from ._color import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    autocontrast,
    convert_image_dtype,
    equalize,
    invert,
    posterize,
    rgb_to_grayscale,
    solarize,
    to_grayscale,
)
from ._filters import adjust_sharpness, gaussian_blur
from ._geometry import (
    center_crop,
    crop,
    erase,
    five_crop,
    hflip,
    pad,
    resize,
    resized_crop,
    ten_crop,
    vflip,
)
from ._images import (
    InterpolationMode,
    as_statistics,
    bytes_to_unit,
    get_dimensions,
    get_image_num_channels,
    get_image_size,
    is_array,
    is_pil,
    normalize,
    pil_to_tensor,
    pillow,
    size_pair,
    to_pil_image,
    to_tensor,
)
from ._warp import affine, perspective, rotate

__all__ = [
    "InterpolationMode",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "affine",
    "as_statistics",
    "autocontrast",
    "bytes_to_unit",
    "center_crop",
    "convert_image_dtype",
    "crop",
    "equalize",
    "erase",
    "five_crop",
    "gaussian_blur",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "hflip",
    "invert",
    "is_array",
    "is_pil",
    "normalize",
    "pad",
    "perspective",
    "pil_to_tensor",
    "pillow",
    "posterize",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "rotate",
    "size_pair",
    "solarize",
    "ten_crop",
    "to_grayscale",
    "to_pil_image",
    "to_tensor",
    "vflip",
]

__getattr__ = _only(__name__)
