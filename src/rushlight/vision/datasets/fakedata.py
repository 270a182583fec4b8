"""Images of noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight
from rushlight.random import fork_rng
from rushlight.vision.transforms.functional import to_pil_image

from .vision import VisionDataset


class FakeData(VisionDataset):
    """Noise, always the same at the same index, to try a program with.

    Args:
        size: how many images.
        image_size: (channels, height, width).
        num_classes: how many classes.
        transform: applied to each image; gets a PIL image.
        target_transform: applied to each label.
        random_offset: added to the index to make the image's seed.

    >>> from rushlight.vision import datasets, transforms
    >>> image, label = datasets.FakeData(10, (3, 8, 8), transform=transforms.ToTensor())[0]
    >>> image.shape, label
    (torch.Size([3, 8, 8]), 6)
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: Sequence[int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        random_offset: int = 0,
    ):
        super().__init__(None, transform=transform, target_transform=target_transform)
        self.size = size
        self.image_size = image_size
        self.num_classes = num_classes
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not 0 <= index < self.size:
            raise IndexError(f"{type(self).__name__} index {index} is out of range: it has {self.size} images")
        with fork_rng():
            rushlight.manual_seed(index + self.random_offset)
            pixels = rushlight.randn(*self.image_size)
            target: Any = int(rushlight.randint(0, self.num_classes, size=(1,), dtype=rushlight.int64).item())
        image = to_pil_image(pixels)
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def __len__(self) -> int:
        return self.size
