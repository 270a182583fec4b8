"""What image datasets share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from rushlight.utils.data import Dataset


class StandardTransform:
    """Applies one transform to the image and one to the target."""

    def __init__(self, transform: Callable | None = None, target_transform: Callable | None = None):
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, image, target) -> tuple[Any, Any]:
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def __repr__(self) -> str:
        lines = [type(self).__name__]
        for label, transform in (("Transform: ", self.transform), ("Target transform: ", self.target_transform)):
            if transform is not None:
                lines.append(label + repr(transform).replace("\n", "\n" + " " * len(label)))
        return "\n".join(lines)


class VisionDataset(Dataset):
    """Base of image datasets: keeps the folder and the transforms. Subclasses define `__getitem__` and `__len__`.

    Give either `transforms`, which takes and returns (image, target), or `transform` and `target_transform`.
    """

    def __init__(
        self,
        root: str | os.PathLike | None = None,
        transforms: Callable | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
    ):
        self.root = os.path.expanduser(os.fspath(root)) if root is not None else ""
        if transforms is not None and (transform is not None or target_transform is not None):
            raise ValueError("Only transforms or transform/target_transform can be passed as argument")
        self.transform = transform
        self.target_transform = target_transform
        if transforms is None and (transform is not None or target_transform is not None):
            transforms = StandardTransform(transform, target_transform)
        self.transforms = transforms

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} does not define __len__(self)")

    def __repr__(self) -> str:
        lines = [f"Number of datapoints: {len(self)}"]
        if self.root:
            lines.append(f"Root location: {self.root}")
        lines += self.extra_repr().splitlines()
        if self.transforms is not None:
            lines += repr(self.transforms).splitlines()
        return "\n    ".join([f"Dataset {type(self).__name__}", *lines])

    def extra_repr(self) -> str:
        return ""
