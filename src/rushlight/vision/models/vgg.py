"""VGG networks (Simonyan and Zisserman, 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight import Tensor, nn

from ._registry import register_model
from ._weights import Weights, WeightsEnum, chosen, with_weights

__all__ = [
    "VGG",
    "VGG11_BN_Weights",
    "VGG11_Weights",
    "VGG13_BN_Weights",
    "VGG13_Weights",
    "VGG16_BN_Weights",
    "VGG16_Weights",
    "VGG19_BN_Weights",
    "VGG19_Weights",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]

# How many convolutions each of the five stages has; a stage halves height and width at its end.
_STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
_WIDTHS = (64, 128, 256, 512, 512)


class VGG(nn.Module):
    """A VGG network for images (N, 3, H, W) of 32 pixels a side or more; the result has shape (N, num_classes).

    Args:
        features: the convolutions, which give 512 channels; `make_layers` makes them.
        num_classes: the size of the output.
        init_weights: whether weights are drawn as in the paper's follow-ups, not by the layers' defaults.
        dropout: the probability of dropping an element before each of the last two layers.
    """

    def __init__(
        self, features: nn.Module, num_classes: int = 1000, init_weights: bool = True, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            self._initialize()

    def _initialize(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                nn.init.constant_(module.bias, 0)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def make_layers(stages: Sequence[int], batch_norm: bool = False) -> nn.Sequential:
    """The convolutions, so many for each stage."""
    layers: list[nn.Module] = []
    channels = 3
    for count, width in zip(stages, _WIDTHS, strict=True):
        for _ in range(count):
            layers.append(nn.Conv2d(channels, width, 3, padding=1))
            if batch_norm:
                layers.append(nn.BatchNorm2d(width))
            layers.append(nn.ReLU(inplace=True))
            channels = width
        layers.append(nn.MaxPool2d(2, stride=2))
    return nn.Sequential(*layers)


class VGG11_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("vgg11-8a719046.pth")
    DEFAULT = IMAGENET1K_V1


class VGG11_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("vgg11_bn-6002323d.pth")
    DEFAULT = IMAGENET1K_V1


class VGG13_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("vgg13-19584684.pth")
    DEFAULT = IMAGENET1K_V1


class VGG13_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("vgg13_bn-abd245e5.pth")
    DEFAULT = IMAGENET1K_V1


class VGG16_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("vgg16-397923af.pth")
    DEFAULT = IMAGENET1K_V1


class VGG16_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("vgg16_bn-6c64b313.pth")
    DEFAULT = IMAGENET1K_V1


class VGG19_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("vgg19-dcbb9e9d.pth")
    DEFAULT = IMAGENET1K_V1


class VGG19_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("vgg19_bn-c79401a0.pth")
    DEFAULT = IMAGENET1K_V1


def _vgg(depth: int, batch_norm: bool, weights, kinds: type[WeightsEnum], options: dict[str, Any]) -> VGG:
    found = chosen(weights, kinds, options)
    if found is not None:
        options["init_weights"] = False
    return with_weights(  # type: ignore[return-value]
        lambda **given: VGG(make_layers(_STAGES[depth], batch_norm), **given), found, options
    )


@register_model()
def vgg11(*, weights: VGG11_Weights | str | None = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-11: 132.9 million parameters. `weights` and `progress` as in resnet18; the rest goes to VGG."""
    return _vgg(11, False, weights, VGG11_Weights, kwargs)


@register_model()
def vgg11_bn(*, weights: VGG11_BN_Weights | str | None = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-11 with batch normalization. See vgg11."""
    return _vgg(11, True, weights, VGG11_BN_Weights, kwargs)


@register_model()
def vgg13(*, weights: VGG13_Weights | str | None = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-13: 133.0 million parameters. See vgg11."""
    return _vgg(13, False, weights, VGG13_Weights, kwargs)


@register_model()
def vgg13_bn(*, weights: VGG13_BN_Weights | str | None = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-13 with batch normalization. See vgg11."""
    return _vgg(13, True, weights, VGG13_BN_Weights, kwargs)


@register_model()
def vgg16(*, weights: VGG16_Weights | str | None = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-16: 138.4 million parameters. See vgg11."""
    return _vgg(16, False, weights, VGG16_Weights, kwargs)


@register_model()
def vgg16_bn(*, weights: VGG16_BN_Weights | str | None = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-16 with batch normalization. See vgg11."""
    return _vgg(16, True, weights, VGG16_BN_Weights, kwargs)


@register_model()
def vgg19(*, weights: VGG19_Weights | str | None = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-19: 143.7 million parameters. See vgg11."""
    return _vgg(19, False, weights, VGG19_Weights, kwargs)


@register_model()
def vgg19_bn(*, weights: VGG19_BN_Weights | str | None = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-19 with batch normalization. See vgg11."""
    return _vgg(19, True, weights, VGG19_BN_Weights, kwargs)
