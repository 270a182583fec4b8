"""Image datasets."""

from ..._lazy import only as _only
from .cifar import CIFAR10, CIFAR100
from .fakedata import FakeData
from .folder import DatasetFolder, ImageFolder
from .mnist import MNIST, Digits, FashionMNIST, read_idx
from .vision import VisionDataset

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "MNIST",
    "DatasetFolder",
    "Digits",
    "FakeData",
    "FashionMNIST",
    "ImageFolder",
    "VisionDataset",
    "read_idx",
]

__getattr__ = _only(__name__)
