"""MNIST and datasets in its format."""

from __future__ import annotations

import gzip
import math
import os
import sys
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import rushlight
from rushlight import Tensor
from rushlight.vision.transforms.transforms import batch_form, takes_pixels

from .download import download
from .vision import VisionDataset

_IDX_DTYPES = {8: "uint8", 9: "int8", 11: "int16", 12: "int32", 13: "float32", 14: "float64"}


def read_idx(path: str | os.PathLike) -> Tensor:
    """Reads a file in the IDX format of MNIST's authors, gzipped or not, as a tensor.

    Raises RuntimeError if the file is damaged, cut short or in another format.

    >>> import rushlight as rl
    >>> import pathlib
    >>> _ = pathlib.Path("pixels").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 5, 6, 7]))
    >>> rl.vision.datasets.read_idx("pixels")
    tensor([5, 6, 7], dtype=torch.uint8)
    """
    path = os.fspath(path)
    with open(path, "rb") as file:
        content: Any = file.read()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise RuntimeError(f"{path} is damaged: {error}\n  hint: delete it and download it again") from None
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _IDX_DTYPES:
        raise RuntimeError(f"{path} is not an IDX file (it begins with {bytes(content[:4])!r})")
    dtype = getattr(rushlight, _IDX_DTYPES[content[2]])
    start = 4 + 4 * content[3]
    shape = [int.from_bytes(content[i : i + 4], "big") for i in range(4, start, 4)]
    count = math.prod(shape)
    if len(content) != start + count * dtype.itemsize:
        raise RuntimeError(
            f"{path} is damaged: shape {tuple(shape)} of {dtype} takes {count * dtype.itemsize} bytes, "
            f"it has {len(content) - start}\n  hint: delete it and download it again"
        )
    if not count:
        return rushlight.empty(shape, dtype=dtype)
    content = bytearray(memoryview(content)[start:])
    if dtype.itemsize > 1 and sys.byteorder == "little":
        import numpy

        numpy.frombuffer(content, dtype=f"u{dtype.itemsize}").byteswap(inplace=True)
    return rushlight.frombuffer(content, dtype=dtype).view(shape)


class MNIST(VisionDataset):
    """Handwritten digits: 60,000 images for training and 10,000 for testing, 28x28 pixels, 10 classes.

    Args:
        root: the folder for the data: files lie in `root/MNIST/raw`. A folder that already holds the files, gzipped or
            not, there, in `root/raw` or in `root` itself, is used as it is.
        train: the training or the test images.
        transform: applied to each image; gets a PIL image (without Pillow a uint8 tensor of 28x28).
        target_transform: applied to each label.
        download: fetches what is missing from the first of `mirrors` that has it, and checks it.

    Samples are (image, label). `data` holds all images as one uint8 tensor, `targets` the labels as int64.
    Raises RuntimeError if files are missing or damaged, or no mirror gives them.
    """

    mirrors: Sequence[str] = (
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    )
    resources: Sequence[tuple[str, str]] = (  # file and MD5, as published
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    )
    classes: Sequence[str] = (
        "0 - zero",
        "1 - one",
        "2 - two",
        "3 - three",
        "4 - four",
        "5 - five",
        "6 - six",
        "7 - seven",
        "8 - eight",
        "9 - nine",
    )

    def __init__(
        self,
        root: str | os.PathLike,
        train: bool = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        self.data, self.targets = self._load_data()

    @property
    def raw_folder(self) -> str:
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def class_to_idx(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.classes)}

    def _find(self, resource: str) -> str | None:
        """Where a file lies, unpacked or as it was published."""
        for folder in (self.raw_folder, os.path.join(self.root, "raw"), self.root):
            for name in (resource.removesuffix(".gz"), resource):
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    return path
        return None

    def _check_exists(self) -> bool:
        return all(self._find(name) for name, _ in self.resources)

    def download(self) -> None:
        """Fetches the files that are missing."""
        for name, digest in self.resources:
            if self._find(name) is None:
                target = os.path.join(self.raw_folder, name)
                download([mirror + name for mirror in self.mirrors], target, digest, progress=sys.stderr.isatty())

    def _load_data(self) -> tuple[Tensor, Tensor]:
        pair = self.resources[:2] if self.train else self.resources[2:]
        paths = [self._find(name) for name, _ in pair]
        missing = [name for (name, _), path in zip(pair, paths, strict=True) if path is None]
        if missing:
            raise RuntimeError(
                f"Dataset not found: {', '.join(missing)} is neither in {self.raw_folder} nor in {self.root or '.'}\n"
                "  hint: download=True fetches it"
            )
        images, labels = (read_idx(path) for path in paths)  # type: ignore[arg-type]
        if images.dtype != rushlight.uint8 or images.ndim != 3 or tuple(labels.shape) != (len(images),):
            raise RuntimeError(
                f"{paths[0]} and {paths[1]} do not hold images and their labels: they have shapes "
                f"{tuple(images.shape)} and {tuple(labels.shape)}"
            )
        return images, labels.to(rushlight.int64)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image, target = self.data[index], int(self.targets[index])
        if not takes_pixels(self.transform):
            image = _pil_image(image)
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def _collated(self, indices: Sequence[int]):
        """The batch at `indices`, transformed as one, where the transform treats all images alike; else None."""
        apply = batch_form(self.transform)
        if self.target_transform is not None or apply is None:
            return None
        index = rushlight.tensor(indices, dtype=rushlight.int64)
        return [apply(self.data[index].unsqueeze(1)), self.targets[index]]

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


class FashionMNIST(MNIST):
    """Zalando's article images: a drop-in for MNIST, with 10 classes of clothing. See MNIST for the arguments."""

    mirrors = (
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    )
    resources = (
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    )
    classes = (
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    )


class Digits(MNIST):
    """10,000 of MNIST's training digits, bundled with Rushlight: 8,000 for training and 2,000 for testing.

    Needs no download; `root` and `download` are accepted for MNIST's sake. datasets/digits/README.md says where the
    images come from.

    >>> from rushlight.vision.datasets import Digits
    >>> len(Digits()), len(Digits(train=False))
    (8000, 2000)
    """

    resources = tuple((name, "") for name, _ in MNIST.resources)
    mirrors = ()

    def __init__(
        self,
        root: str | os.PathLike | None = None,
        train: bool = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ):
        super().__init__(os.path.join(os.path.dirname(__file__), "digits"), train, transform, target_transform)


def _pil_image(pixels: Tensor):
    try:
        from PIL import Image
    except ImportError:
        return pixels
    height, width = pixels.shape
    return Image.frombytes("L", (width, height), pixels.numpy().tobytes())
