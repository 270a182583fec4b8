"""Channels rearranged: among themselves, or into pixels and back."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F
from .module import Module


class PixelShuffle(Module):
    """Each r * r channels as the pixels of an r x r square, r the factor (Shi et al. 2016).

    Shapes:
        input (*, C * r * r, H, W), output (*, C, H * r, W * r).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.PixelShuffle(2)(rl.arange(4.).view(4, 1, 1))
        tensor([[[0., 1.],
                 [2., 3.]]])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """The pixels of each r x r square as channels, r the factor; undoes PixelShuffle.

    Shapes:
        input (*, C, H * r, W * r), output (*, C * r * r, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.PixelUnshuffle(2)(rl.arange(4.).view(1, 2, 2)).flatten()
        tensor([0., 1., 2., 3.])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Channels dealt out anew: the first of each group, then the second of each, and so on (Zhang et al. 2017).

    Shapes:
        input and output (N, C, *), C divisible by groups.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ChannelShuffle(2)(rl.arange(4.).view(1, 4, 1)).flatten()
        tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
