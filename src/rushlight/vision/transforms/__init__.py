"""Transforms of images: PIL images, tensors (..., height, width), and NumPy arrays (height, width[, channels])."""

from ..._lazy import only as _only
from . import functional
from .augment import RandAugment, TrivialAugmentWide
from .colors import (
    ColorJitter,
    ConvertImageDtype,
    GaussianBlur,
    Grayscale,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
)
from .functional import InterpolationMode
from .regions import (
    FiveCrop,
    RandomAffine,
    RandomErasing,
    RandomPerspective,
    RandomResizedCrop,
    TenCrop,
)
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
    "RandAugment",
    "TrivialAugmentWide",
    "ColorJitter",
    "ConvertImageDtype",
    "GaussianBlur",
    "Grayscale",
    "RandomAdjustSharpness",
    "RandomAutocontrast",
    "RandomEqualize",
    "RandomGrayscale",
    "RandomInvert",
    "RandomPosterize",
    "RandomSolarize",
    "FiveCrop",
    "RandomAffine",
    "RandomErasing",
    "RandomPerspective",
    "RandomResizedCrop",
    "TenCrop",
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
