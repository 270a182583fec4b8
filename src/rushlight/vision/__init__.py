"""Image datasets and transforms, with the names scripts know from torchvision."""

from . import datasets, transforms

__all__ = ["datasets", "transforms"]
