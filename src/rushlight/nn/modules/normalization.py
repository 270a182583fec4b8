"""Layer normalization."""

from __future__ import annotations

from collections.abc import Sequence

import rushlight as rl

from ... import Tensor
from .. import functional as F
from .. import init
from ..common_types import Device
from ..parameter import Parameter
from .module import Module


class LayerNorm(Module):
    """Brings the last dimensions of each sample to mean 0 and variance 1 (Ba et al. 2016).

    Args:
        normalized_shape: the sizes of those dimensions, or one number for the last alone.
        eps: added to the variance.
        elementwise_affine: learn a weight for each position, and with ``bias`` a bias.

    Shapes:
        input and output (*, *normalized_shape).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LayerNorm(10)(rl.ones(20, 5, 10)).shape
        torch.Size([20, 5, 10])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        for name, wanted in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            value = Parameter(rl.empty(self.normalized_shape, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets weight to 1 and bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )
