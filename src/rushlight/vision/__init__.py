"""Image datasets and transforms, with the names scripts know from torchvision."""

from .._lazy import only as _only
from . import datasets, transforms

__all__ = ["datasets", "transforms"]

__getattr__ = _only(__name__)
