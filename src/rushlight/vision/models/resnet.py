"""Residual networks (He et al., 2015), also wide (Zagoruyko and Komodakis, 2016) and with groups (ResNeXt; Xie et al.,
2016)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rushlight import Tensor, nn

from ._registry import register_model
from ._weights import Weights, WeightsEnum, chosen, with_weights

__all__ = [
    "BasicBlock",
    "Bottleneck",
    "ResNet",
    "ResNet101_Weights",
    "ResNet152_Weights",
    "ResNet18_Weights",
    "ResNet34_Weights",
    "ResNet50_Weights",
    "ResNeXt50_32X4D_Weights",
    "Wide_ResNet50_2_Weights",
    "resnet101",
    "resnet152",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnext50_32x4d",
    "wide_resnet50_2",
]

Norm = Callable[[int], nn.Module]


def conv3x3(in_planes: int, out_planes: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> nn.Conv2d:
    """A convolution by 3x3 that keeps height and width, but for the stride."""
    return nn.Conv2d(in_planes, out_planes, 3, stride, padding=dilation, dilation=dilation, groups=groups, bias=False)


def conv1x1(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(in_planes, out_planes, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """Two convolutions by 3x3, with the input added to what they make of it."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("BasicBlock has no dilation\n  hint: models of Bottlenecks have: resnet50")
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """A convolution by 3x3 between two by 1x1, of which the first narrows and the second widens again.

    The stride is that of the one by 3x3, not of the first by 1x1 as in the paper: better by half a percent ("ResNet
    v1.5").
    """

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        width = int(planes * (base_width / 64)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """A residual network for images (N, 3, H, W); the result has shape (N, num_classes).

    Args:
        block: BasicBlock or Bottleneck.
        layers: how many blocks each of the four stages has.
        num_classes: the size of the output.
        zero_init_residual: starts every block as the identity (Goyal et al., 2017).
        groups, width_per_group: of the convolutions by 3x3 in Bottlenecks.
        replace_stride_with_dilation: for each of the last three stages, whether it keeps height and width, and widens
            its view by dilation instead.
        norm_layer: makes a normalization for a number of channels; BatchNorm2d if not given.
    """

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: Sequence[bool] | None = None,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        self._norm_layer = nn.BatchNorm2d if norm_layer is None else norm_layer
        dilate = (False,) * 3 if replace_stride_with_dilation is None else tuple(replace_stride_with_dilation)
        if len(dilate) != 3:
            raise ValueError(f"replace_stride_with_dilation should be None or 3 values, got {dilate}")
        self.inplanes = 64
        self.dilation = 1
        self.groups = groups
        self.base_width = width_per_group
        self.conv1 = nn.Conv2d(3, self.inplanes, 7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], 2, dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], 2, dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], 2, dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._initialize(zero_init_residual)

    def _initialize(self, zero_init_residual: bool) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
        if zero_init_residual:
            for module in self.modules():
                if isinstance(module, (BasicBlock, Bottleneck)):
                    last = module.bn3 if isinstance(module, Bottleneck) else module.bn2
                    nn.init.constant_(last.weight, 0)  # type: ignore[arg-type]

    def _make_layer(self, block, planes: int, blocks: int, stride: int = 1, dilate: bool = False) -> nn.Sequential:
        before = self.dilation
        if dilate:
            self.dilation *= stride
            stride = 1
        out_planes = planes * block.expansion
        downsample = None
        if stride != 1 or self.inplanes != out_planes:
            downsample = nn.Sequential(conv1x1(self.inplanes, out_planes, stride), self._norm_layer(out_planes))
        common: dict[str, Any] = {"groups": self.groups, "base_width": self.base_width, "norm_layer": self._norm_layer}
        made = [block(self.inplanes, planes, stride, downsample, dilation=before, **common)]
        self.inplanes = out_planes
        made += [block(out_planes, planes, dilation=self.dilation, **common) for _ in range(1, blocks)]
        return nn.Sequential(*made)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


class ResNet18_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("resnet18-f37072fd.pth")
    DEFAULT = IMAGENET1K_V1


class ResNet34_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("resnet34-b627a593.pth")
    DEFAULT = IMAGENET1K_V1


class ResNet50_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("resnet50-0676ba61.pth")
    IMAGENET1K_V2 = Weights("resnet50-11ad3fa6.pth", resize=232)
    DEFAULT = IMAGENET1K_V2


class ResNet101_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("resnet101-63fe2227.pth")
    IMAGENET1K_V2 = Weights("resnet101-cd907fc2.pth", resize=232)
    DEFAULT = IMAGENET1K_V2


class ResNet152_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("resnet152-394f9c45.pth")
    IMAGENET1K_V2 = Weights("resnet152-f82ba261.pth", resize=232)
    DEFAULT = IMAGENET1K_V2


class ResNeXt50_32X4D_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("resnext50_32x4d-7cdf4587.pth")
    IMAGENET1K_V2 = Weights("resnext50_32x4d-1a0047aa.pth", resize=232)
    DEFAULT = IMAGENET1K_V2


class Wide_ResNet50_2_Weights(WeightsEnum):
    IMAGENET1K_V1 = Weights("wide_resnet50_2-95faca4d.pth")
    IMAGENET1K_V2 = Weights("wide_resnet50_2-9ba9bcbe.pth", resize=232)
    DEFAULT = IMAGENET1K_V2


def _resnet(block, layers: Sequence[int], weights, kinds: type[WeightsEnum], progress: bool, options: dict) -> ResNet:
    found = chosen(weights, kinds, options)
    return with_weights(lambda **given: ResNet(block, layers, **given), found, options)  # type: ignore[return-value]


@register_model()
def resnet18(*, weights: ResNet18_Weights | str | None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-18: 11.7 million parameters.

    Args:
        weights: trained ones, ``ResNet18_Weights.DEFAULT`` or ``"DEFAULT"``. They are not downloaded: the error says
            where the file belongs. By default weights are drawn at random.
        progress: changes nothing.
        kwargs: go to ResNet.

    Raises:
        RuntimeError: the file of the weights is not there.

    >>> import rushlight as rl
    >>> from rushlight.vision.models import resnet18
    >>> model = resnet18(num_classes=10)
    >>> sum(p.numel() for p in model.parameters())
    11181642
    """
    return _resnet(BasicBlock, [2, 2, 2, 2], weights, ResNet18_Weights, progress, kwargs)


@register_model()
def resnet34(*, weights: ResNet34_Weights | str | None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-34: 21.8 million parameters. See resnet18."""
    return _resnet(BasicBlock, [3, 4, 6, 3], weights, ResNet34_Weights, progress, kwargs)


@register_model()
def resnet50(*, weights: ResNet50_Weights | str | None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-50: 25.6 million parameters. See resnet18."""
    return _resnet(Bottleneck, [3, 4, 6, 3], weights, ResNet50_Weights, progress, kwargs)


@register_model()
def resnet101(*, weights: ResNet101_Weights | str | None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-101: 44.5 million parameters. See resnet18."""
    return _resnet(Bottleneck, [3, 4, 23, 3], weights, ResNet101_Weights, progress, kwargs)


@register_model()
def resnet152(*, weights: ResNet152_Weights | str | None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-152: 60.2 million parameters. See resnet18."""
    return _resnet(Bottleneck, [3, 8, 36, 3], weights, ResNet152_Weights, progress, kwargs)


@register_model()
def resnext50_32x4d(
    *, weights: ResNeXt50_32X4D_Weights | str | None = None, progress: bool = True, **kwargs: Any
) -> ResNet:
    """ResNeXt-50 with 32 groups of width 4: 25.0 million parameters. See resnet18."""
    kwargs = {**kwargs, "groups": 32, "width_per_group": 4}
    return _resnet(Bottleneck, [3, 4, 6, 3], weights, ResNeXt50_32X4D_Weights, progress, kwargs)


@register_model()
def wide_resnet50_2(
    *, weights: Wide_ResNet50_2_Weights | str | None = None, progress: bool = True, **kwargs: Any
) -> ResNet:
    """ResNet-50 whose convolutions by 3x3 are twice as wide: 68.9 million parameters. See resnet18."""
    kwargs = {**kwargs, "width_per_group": 128}
    return _resnet(Bottleneck, [3, 4, 6, 3], weights, Wide_ResNet50_2_Weights, progress, kwargs)
