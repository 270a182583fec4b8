"""Normalization of each sample by itself: over its last dimensions, groups of channels, or neighbouring channels."""

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


class GroupNorm(Module):
    """Brings each group of channels of each sample to mean 0 and variance 1 (Wu and He 2018).

    Args:
        num_groups: into how many groups the channels are divided.
        num_channels: C.
        eps: added to the variance.
        affine: learn a weight and, unless ``bias`` is False, a bias for each channel.

    Shapes:
        input and output (N, C, *).

    Raises:
        ValueError: the channels are not divisible into that many groups.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.GroupNorm(3, 6)(rl.rand(20, 6, 10, 10)).shape
        torch.Size([20, 6, 10, 10])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Device = None,
        dtype: rl.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            value = Parameter(rl.empty(num_channels, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets weight to 1 and bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides by the root of the mean square over the last dimensions of each sample (Zhang and Sennrich 2019).

    Args:
        normalized_shape: the sizes of those dimensions, or one number for the last alone.
        eps: added to the mean square; the dtype's own unless given.
        elementwise_affine: learn a weight for each position.

    Shapes:
        input and output (*, *normalized_shape).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.RMSNorm(2)(rl.tensor([[1., 7.]])).detach()
        tensor([[0.2000, 1.4000]])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = Parameter(rl.empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weight to 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(Module):
    """Divides by (k + alpha * m) ** beta, m the mean square over neighbouring channels (Krizhevsky et al. 2012).

    Args:
        size: over how many channels.

    Shapes:
        input and output (N, C, *).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LocalResponseNorm(2, alpha=1., beta=1.)(rl.ones(1, 2, 1)).flatten()
        tensor([0.6667, 0.5000])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
