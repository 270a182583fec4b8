"""CIFAR-10 and CIFAR-100 (Krizhevsky, 2009)."""

from __future__ import annotations

import os
import sys
import tarfile
from collections.abc import Callable, Sequence
from typing import Any

import rushlight
from rushlight.vision.transforms.transforms import batch_form, takes_pixels

from .array_pickle import read_arrays
from .download import download, file_digest
from .vision import VisionDataset


class CIFAR10(VisionDataset):
    """Small photographs: 50,000 for training and 10,000 for testing, 32x32 pixels in colour, 10 classes.

    Args:
        root: the folder for the data: files lie in `root/cifar-10-batches-py`.
        train: the training or the test images.
        transform: applied to each image; gets a PIL image (without Pillow an array of 32x32x3).
        target_transform: applied to each label.
        download: fetches what is missing from the first of `mirrors` that has it, and checks it. An archive that lies
            in `root` already is used.

    Samples are (image, label). `data` holds all images as one array (N, 32, 32, 3) of uint8, `targets` the labels as a
    list. Raises RuntimeError if files are missing or damaged, or no mirror gives them.
    """

    base_folder = "cifar-10-batches-py"
    mirrors: Sequence[str] = ("https://cave.cs.toronto.edu/kriz/", "https://www.cs.toronto.edu/~kriz/")
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list: Sequence[tuple[str, str]] = (  # file and MD5, as published
        ("data_batch_1", "c99cafc152244af753f735de768cd75f"),
        ("data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"),
        ("data_batch_3", "54ebc095f3ab1f0389bbae665268c751"),
        ("data_batch_4", "634d18415352ddfa80567beed471001a"),
        ("data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"),
    )
    test_list: Sequence[tuple[str, str]] = (("test_batch", "40351d587109b95175f43aff81a1287e"),)
    meta = {"filename": "batches.meta", "key": "label_names", "md5": "5ff9c542aee3614f3951f8cda6e48888"}

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
        self._load()

    def _path(self, name: str) -> str:
        return os.path.join(self.root, self.base_folder, name)

    def _files(self) -> list[tuple[str, str]]:
        return [*self.train_list, *self.test_list, (self.meta["filename"], self.meta["md5"])]

    def _check(self, name: str, digest: str) -> str:
        """The path of a file that is there and whole."""
        path = self._path(name)
        if not os.path.isfile(path):
            raise RuntimeError(f"Dataset not found: there is no {path}\n  hint: download=True fetches it")
        if (found := file_digest(path, "md5")) != digest:
            raise RuntimeError(
                f"Dataset corrupted: {path} has the checksum {found}, not {digest}\n"
                "  hint: delete it; download=True then fetches it again"
            )
        return path

    def _load(self) -> None:
        import numpy

        images, self.targets = [], []
        for name, digest in self.train_list if self.train else self.test_list:
            path = self._check(name, digest)
            entry = read_arrays(path)
            labels = entry.get("labels", entry.get("fine_labels"))
            if labels is None or entry["data"].shape != (len(labels), 3072):
                raise RuntimeError(f"{path} does not hold images of 3x32x32 and as many labels")
            images.append(entry["data"])
            self.targets += labels
        self.data = numpy.vstack(images).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        self.classes = read_arrays(self._check(self.meta["filename"], self.meta["md5"]))[self.meta["key"]]
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}

    def download(self) -> None:
        """Fetches the archive, unless all its files are there, and unpacks it."""
        missing = [file for file in self._files() if not os.path.isfile(self._path(file[0]))]
        if not missing:
            return
        archive = os.path.join(self.root, self.filename)
        urls = [mirror + self.filename for mirror in self.mirrors]
        download(urls, archive, self.tgz_md5, progress=sys.stderr.isatty())
        os.makedirs(os.path.join(self.root, self.base_folder), exist_ok=True)
        try:
            with tarfile.open(archive) as tar:
                for name, _ in missing:
                    self._unpack(tar, name)
        except (tarfile.TarError, EOFError, OSError, KeyError) as error:
            raise RuntimeError(f"{archive} cannot be unpacked: {error}\n  hint: delete it and try again") from error

    def _unpack(self, tar: tarfile.TarFile, name: str) -> None:
        """Writes one file, whole or not at all, under the name that it has to have."""
        content = tar.extractfile(f"{self.base_folder}/{name}")
        if content is None:
            raise KeyError(f"{name} is no file")
        part = f"{self._path(name)}.{os.getpid()}"
        try:
            with content, open(part, "wb") as file:
                while chunk := content.read(1 << 20):
                    file.write(chunk)
            os.replace(part, self._path(name))
        finally:
            if os.path.exists(part):
                os.unlink(part)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image, target = self.data[index], self.targets[index]
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
        if self.target_transform is not None or apply is None or not takes_pixels(self.transform):
            return None
        pixels = rushlight.from_numpy(self.data[list(indices)]).permute(0, 3, 1, 2).contiguous()
        return [apply(pixels), rushlight.tensor([self.targets[i] for i in indices], dtype=rushlight.int64)]

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


class CIFAR100(CIFAR10):
    """As CIFAR10, with 100 classes of 600 images each."""

    base_folder = "cifar-100-python"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list = (("train", "16019d7e3df5f24257cddd939b257f8d"),)
    test_list = (("test", "f0ef6b0ae62326f3e7ffdfab6717acfc"),)
    meta = {"filename": "meta", "key": "fine_label_names", "md5": "7973b15100ade9c7d40fb424638fde48"}


def _pil_image(pixels):
    try:
        from PIL import Image
    except ImportError:
        return pixels
    return Image.fromarray(pixels)
