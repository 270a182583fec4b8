"""Image datasets."""

from ..._lazy import only as _only
from .mnist import MNIST, Digits, FashionMNIST, read_idx
from .vision import VisionDataset

__all__ = ["MNIST", "Digits", "FashionMNIST", "VisionDataset", "read_idx"]

__getattr__ = _only(__name__)
