"""Datasets of files, in a folder for each class."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from rushlight.vision.transforms.functional import pillow

from .vision import VisionDataset

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Whether the file's name ends in one of the extensions, in small letters or capitals."""
    return filename.lower().endswith(extensions if isinstance(extensions, str) else tuple(extensions))


def is_image_file(filename: str) -> bool:
    """Whether the file's name ends as those of images do."""
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def find_classes(directory: str | os.PathLike[str]) -> tuple[list[str], dict[str, int]]:
    """The names of the folders in a folder, sorted, and their numbers.

    Raises:
        FileNotFoundError: there are none.
    """
    classes = sorted(entry.name for entry in os.scandir(os.fspath(directory)) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(
            f"Couldn't find any class folder in {os.fspath(directory)}.\n"
            "  hint: files lie in a folder for each class: root/cat/1.png, root/dog/2.png"
        )
    return classes, {name: i for i, name in enumerate(classes)}


def make_dataset(
    directory: str | os.PathLike,
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: Callable[[str], bool] | None = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """Path and class number of every file, in the order of classes and names.

    Args:
        class_to_idx: the folders and their numbers; found by find_classes if not given.
        extensions, is_valid_file: one of the two says which files count.
        allow_empty: whether a class may have no file.

    Raises:
        ValueError: both or neither of `extensions` and `is_valid_file`, or no classes.
        FileNotFoundError: a class has no file.
    """
    if class_to_idx is None:
        _, class_to_idx = find_classes(directory)
    elif not class_to_idx:
        raise ValueError("class_to_idx must have at least one class")
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("make_dataset takes either extensions or is_valid_file")
    counts = is_valid_file or (lambda path: has_file_allowed_extension(path, extensions))  # type: ignore[arg-type]
    found, empty = [], []
    for name in sorted(class_to_idx):
        folder = os.path.join(os.path.expanduser(directory), name)
        paths = [
            os.path.join(place, file)
            for place, _, files in sorted(os.walk(folder, followlinks=True))
            for file in sorted(files)
        ]
        paths = [path for path in paths if counts(path)]
        found += [(path, class_to_idx[name]) for path in paths]
        if not paths:
            empty.append(name)
    if empty and not allow_empty:
        text = f"Found no valid file for the classes {', '.join(empty)} in {os.fspath(directory)}."
        if extensions is not None:
            supported = extensions if isinstance(extensions, str) else ", ".join(extensions)
            text += f" Supported extensions are: {supported}"
        raise FileNotFoundError(f"{text}\n  hint: allow_empty=True accepts that")
    return found


class DatasetFolder(VisionDataset):
    """Files of any kind, in a folder for each class: `root/class/.../file`.

    Args:
        root: the folder of the classes' folders.
        loader: makes a sample of a file's path.
        extensions, is_valid_file: one of the two says which files count.
        transform, target_transform: applied to each sample and class number.
        allow_empty: whether a class may have no file.

    `classes` lists the classes' names, `class_to_idx` their numbers, `samples` path and number of every file, `targets`
    the numbers.
    """

    def __init__(
        self,
        root: str | os.PathLike,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(self.root, self.class_to_idx, extensions, is_valid_file, allow_empty)
        self.targets = [target for _, target in self.samples]
        self.loader = loader
        self.extensions = extensions

    @staticmethod
    def make_dataset(
        directory: str | os.PathLike,
        class_to_idx: dict[str, int],
        extensions: tuple[str, ...] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> list[tuple[str, int]]:
        """The function make_dataset; subclasses may list files in another way."""
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def find_classes(self, directory: str | os.PathLike) -> tuple[list[str], dict[str, int]]:
        """The function find_classes; subclasses may name classes in another way."""
        return find_classes(directory)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        sample = self.loader(path)
        if self.transform is not None:
            sample = self.transform(sample)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return sample, target

    def __len__(self) -> int:
        return len(self.samples)


def pil_loader(path: str):
    """The image in a file as a PIL image in colour (RGB). Needs Pillow."""
    image_module = pillow("reading an image file")
    with open(path, "rb") as file, image_module.open(file) as image:
        return image.convert("RGB")


def default_loader(path: str):
    """What ImageFolder reads files with: pil_loader."""
    return pil_loader(path)


class ImageFolder(DatasetFolder):
    """Images in a folder for each class: `root/dog/1.png`, `root/cat/2.jpg`.

    Samples are (image, class number), where images are PIL images in colour before `transform`. The other arguments
    and the attributes are DatasetFolder's; `imgs` is `samples`.

    >>> import rushlight as rl
    >>> from rushlight.vision import datasets, transforms, utils
    >>> import os
    >>> for name in ("cat", "dog"):
    ...     os.makedirs(f"pets/{name}")
    ...     utils.save_image(rl.rand(3, 8, 8), f"pets/{name}/1.png")
    >>> pets = datasets.ImageFolder("pets", transforms.ToTensor())
    >>> pets.classes, pets[1][0].shape, pets[1][1]
    (['cat', 'dog'], torch.Size([3, 8, 8]), 1)
    """

    def __init__(
        self,
        root: str | os.PathLike,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ):
        extensions: Sequence[str] | None = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(root, loader, extensions, transform, target_transform, is_valid_file, allow_empty)  # type: ignore[arg-type]
        self.imgs = self.samples
