"""Weights trained by others.

None are bundled, and none are downloaded: a file that torchvision or you have put into the folder of checkpoints is
used; without one, the error says where it belongs.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

import rushlight
from rushlight.nn import Module
from rushlight.vision.datasets.download import file_digest


@dataclass(frozen=True)
class Weights:
    """A file of weights, and how its images were prepared: resized to `resize`, then cropped to `crop`."""

    file: str
    resize: int = 256
    crop: int = 224


class WeightsEnum(Enum):
    """Base of the lists of a model's weights."""

    @property
    def file(self) -> str:
        """The file's name; it ends in the beginning of its SHA-256 sum."""
        return self.value.file

    def transforms(self):
        """What prepares an image as the weights expect it: a PIL image in, (3, crop, crop) out."""
        from rushlight.vision.transforms import CenterCrop, Compose, Normalize, Resize, ToTensor

        mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
        return Compose([Resize(self.value.resize), CenterCrop(self.value.crop), ToTensor(), Normalize(mean, std)])

    def get_state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Reads the file from the folder of checkpoints.

        Raises:
            RuntimeError: it is not there, or is damaged.
        """
        path = os.path.join(checkpoints(), self.file)
        if not os.path.isfile(path):
            raise RuntimeError(
                f"the weights {self} are not on this machine, and Rushlight downloads none\n"
                f"  hint: put {self.file} (https://download.pytorch.org/models/{self.file}) into {checkpoints()}; "
                "or, with a file of your own, make the model with weights=None and then "
                "model.load_state_dict(torch.load('weights.pth'))"
            )
        wanted = re.fullmatch(r".*-([0-9a-f]{8,})\.pth", self.file)
        if wanted and not (found := file_digest(path, "sha256")).startswith(wanted[1]):
            raise RuntimeError(
                f"{path} is damaged: its SHA-256 sum begins with {found[:8]}, not {wanted[1]}\n  hint: fetch it again"
            )
        return rushlight.load(path, map_location="cpu", weights_only=True)


def checkpoints() -> str:
    """The folder where files of weights lie, the one that PyTorch uses: $TORCH_HOME/hub/checkpoints."""
    cache = os.environ.get("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return os.path.join(os.path.expanduser(home), "hub", "checkpoints")


def chosen(weights, kinds: type[WeightsEnum] | None, options: dict[str, Any]) -> WeightsEnum | None:
    """What a model's `weights` argument, or the older `pretrained`, means.

    Raises:
        ValueError: no weights of that name.
        TypeError: weights of another model.
    """
    if options.pop("pretrained", False) and weights is None:
        weights = "DEFAULT"
    if weights is None or weights is False:
        return None
    if kinds is None:
        raise ValueError("there are no weights for this model\n  hint: weights=None")
    if isinstance(weights, str):
        name = weights.rpartition(".")[2]
        if name not in kinds.__members__:
            raise ValueError(f"{kinds.__name__} has no weights {weights!r}\n  hint: {', '.join(kinds.__members__)}")
        return kinds[name]
    if not isinstance(weights, kinds):
        raise TypeError(f"expected weights of {kinds.__name__}, got {weights!r}")
    return weights


def with_weights(build, weights: WeightsEnum | None, options: dict[str, Any]) -> Module:
    """``build(**options)``, with the weights if there are any.

    They were trained on ImageNet's 1000 classes; for another number, load them first and replace the last layer.
    """
    if weights is None:
        return build(**options)
    if options.setdefault("num_classes", 1000) != 1000:
        raise ValueError(
            f"{weights} has 1000 classes, but num_classes={options['num_classes']} was asked for\n"
            "  hint: leave num_classes out, then replace the model's last layer"
        )
    state = weights.get_state_dict()
    model = build(**options)
    model.load_state_dict(state)
    return model
