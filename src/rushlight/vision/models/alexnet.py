"""AlexNet, with one column (Krizhevsky, 2014)."""

from __future__ import annotations

from typing import Any

from rushlight import Tensor, nn

from ._registry import register_model
from ._weights import Weights, WeightsEnum, chosen, with_weights

__all__ = ["AlexNet", "AlexNet_Weights", "alexnet"]


class AlexNet(nn.Module):
    """AlexNet for images (N, 3, H, W) of 63 pixels a side or more; the result has shape (N, num_classes)."""

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(64, 192, 5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(192, 384, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout),
            nn.Linear(256 * 6 * 6, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


class AlexNet_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("alexnet-owt-7be5be79.pth")
    DEFAULT = IMAGENET1K_V1


@register_model()
def alexnet(*, weights: AlexNet_Weights | str | None = None, progress: bool = True, **kwargs: Any) -> AlexNet:
    """AlexNet: 61.1 million parameters. `weights` and `progress` as in resnet18; the rest goes to AlexNet."""
    return with_weights(AlexNet, chosen(weights, AlexNet_Weights, kwargs), kwargs)  # type: ignore[return-value]
