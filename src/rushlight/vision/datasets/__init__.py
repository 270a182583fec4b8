"""Image datasets."""

from .mnist import MNIST, Digits, FashionMNIST, read_idx
from .vision import VisionDataset

__all__ = ["MNIST", "Digits", "FashionMNIST", "VisionDataset", "read_idx"]
