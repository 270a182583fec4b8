"""Resizing."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F
from .module import Module

Size = int | tuple[int, ...]
Scale = float | tuple[float, ...]


class Upsample(Module):
    """Resizes sequences, images or volumes; see ``nn.functional.interpolate``.

    Args:
        size, scale_factor, mode, align_corners, recompute_scale_factor: those of ``interpolate``.

    Shapes:
        input (N, C, L), (N, C, H, W) or (N, C, D, H, W); output likewise.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Upsample(scale_factor=2, mode="bilinear")(rl.ones(1, 3, 4, 5)).shape
        torch.Size([1, 3, 8, 10])
    """

    def __init__(
        self,
        size: Size | None = None,
        scale_factor: Scale | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Scale | None = tuple(float(s) for s in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        what = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{what}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """``Upsample`` of images by repeating pixels.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.UpsamplingNearest2d(scale_factor=2)(rl.tensor([[[[1., 2.]]]]))
        tensor([[[[1., 1., 2., 2.],
                  [1., 1., 2., 2.]]]])
    """

    def __init__(self, size: Size | None = None, scale_factor: Scale | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """``Upsample`` of images in mode "bilinear" with align_corners.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.UpsamplingBilinear2d(size=(1, 3))(rl.tensor([[[[1., 2.]]]]))
        tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """

    def __init__(self, size: Size | None = None, scale_factor: Scale | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
