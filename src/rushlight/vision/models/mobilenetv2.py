"""MobileNetV2 (Sandler et al., 2018)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rushlight import Tensor, nn

from ._registry import register_model
from ._weights import Weights, WeightsEnum, chosen, with_weights

__all__ = ["MobileNetV2", "MobileNet_V2_Weights", "mobilenet_v2"]

Norm = Callable[[int], nn.Module]

# For each stage: by how much its blocks widen inside, their channels, how many there are, the first one's stride.
_STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def _make_divisible(value: float, divisor: int, least: int | None = None) -> int:
    """The multiple of the divisor nearest to a number of channels, but not below nine tenths of it."""
    rounded = max(divisor if least is None else least, int(value + divisor / 2) // divisor * divisor)
    return rounded if rounded >= 0.9 * value else rounded + divisor


def _conv(in_planes: int, out_planes: int, size: int, norm: Norm, stride: int = 1, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(in_planes, out_planes, size, stride, padding=(size - 1) // 2, groups=groups, bias=False),
        norm(out_planes),
        nn.ReLU6(inplace=True),
    )


class InvertedResidual(nn.Module):
    """Widens by a convolution by 1x1, filters each channel for itself, narrows again; adds the input if it fits."""

    def __init__(self, inp: int, oup: int, stride: int, expand_ratio: int, norm_layer: Norm | None = None) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        hidden = round(inp * expand_ratio)
        layers: list[nn.Module] = [] if expand_ratio == 1 else [_conv(inp, hidden, 1, norm)]
        layers += [
            _conv(hidden, hidden, 3, norm, stride, groups=hidden),
            nn.Conv2d(hidden, oup, 1, bias=False),
            norm(oup),
        ]
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        self.conv = nn.Sequential(*layers)
        self.out_channels = oup

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """MobileNetV2 for images (N, 3, H, W); the result has shape (N, num_classes).

    Args:
        num_classes: the size of the output.
        width_mult: how many times as many channels as in the paper.
        inverted_residual_setting: for each stage (widening, channels, blocks, stride); the paper's if not given.
        round_nearest: numbers of channels are multiples of this.
        block: makes a block.
        norm_layer: makes a normalization for a number of channels; BatchNorm2d if not given.
        dropout: the probability of dropping an element before the last layer.
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: Sequence[Sequence[int]] | None = None,
        round_nearest: int = 8,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Norm | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        block = InvertedResidual if block is None else block
        norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        stages = _STAGES if inverted_residual_setting is None else inverted_residual_setting
        if not stages or any(len(stage) != 4 for stage in stages):
            raise ValueError(f"inverted_residual_setting should be a list of 4-element lists, got {stages}")
        channels = _make_divisible(32 * width_mult, round_nearest)
        self.last_channel = _make_divisible(1280 * max(1.0, width_mult), round_nearest)
        features: list[nn.Module] = [_conv(3, channels, 3, norm, stride=2)]
        for widening, width, count, stride in stages:
            out = _make_divisible(width * width_mult, round_nearest)
            for i in range(count):
                features.append(block(channels, out, stride if i == 0 else 1, expand_ratio=widening, norm_layer=norm))
                channels = out
        features.append(_conv(channels, self.last_channel, 1, norm))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes))
        self._initialize()

    def _initialize(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(x.flatten(1))


class MobileNet_V2_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("mobilenet_v2-b0353104.pth")
    IMAGENET1K_V2 = Weights("mobilenet_v2-7ebf99e0.pth", resize=232)
    DEFAULT = IMAGENET1K_V2


@register_model()
def mobilenet_v2(
    *, weights: MobileNet_V2_Weights | str | None = None, progress: bool = True, **kwargs: Any
) -> MobileNetV2:
    """MobileNetV2: 3.5 million parameters. `weights` and `progress` as in resnet18; the rest goes to MobileNetV2."""
    found = chosen(weights, MobileNet_V2_Weights, kwargs)
    return with_weights(MobileNetV2, found, kwargs)  # type: ignore[return-value]
