"""Transforms of images: PIL images, tensors (..., height, width), and NumPy arrays (height, width[, channels])."""

from ..._lazy import only as _only
from . import functional
from .functional import InterpolationMode
from .transforms import (
    CenterCrop,
    Compose,
    Lambda,
    Normalize,
    Pad,
    PILToTensor,
    RandomApply,
    RandomChoice,
    RandomCrop,
    RandomHorizontalFlip,
    RandomOrder,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
    ToPILImage,
    ToTensor,
)

__all__ = [
    "CenterCrop",
    "Compose",
    "InterpolationMode",
    "Lambda",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandomApply",
    "RandomChoice",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomOrder",
    "RandomRotation",
    "RandomVerticalFlip",
    "Resize",
    "ToPILImage",
    "ToTensor",
    "functional",
]

__getattr__ = _only(__name__)
