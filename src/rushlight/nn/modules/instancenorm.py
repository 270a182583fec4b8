"""Instance normalization."""

from __future__ import annotations

import rushlight as rl

from ... import Tensor
from ..._warnings import warn
from .. import functional as F
from ..common_types import Device
from .batchnorm import _BatchNorm


class _InstanceNorm(_BatchNorm):
    _is_batch_norm = False
    _without_batch: int  # the number of dimensions of a single sample

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Device = None,
        dtype: rl.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        single = input.dim() == self._without_batch
        channels = input.shape[0 if single else 1]
        if channels != self.num_features:
            text = f"expected input's size at dim={0 if single else 1} to match num_features ({self.num_features}), "
            if self.affine:
                raise ValueError(f"{text}but got: {channels}.")
            warn(f"{text}but got: {channels}; without affine parameters that makes no difference")
        by_input = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        result = F.instance_norm(
            input.unsqueeze(0) if single else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            by_input,
            momentum,
            self.eps,
        )
        return result.squeeze(0) if single else result


class InstanceNorm1d(_InstanceNorm):
    """Brings each channel of each sample to mean 0 and variance 1 (Ulyanov et al. 2016).

    Args:
        num_features: C.
        eps: added to the variance.
        momentum: the share of a new batch in the running statistics.
        affine: learn a weight and, unless ``bias`` is False, a bias for each channel.
        track_running_stats: keep running statistics, which evaluation uses; otherwise it uses the sample's own.

    Shapes:
        input and output (N, C, L) or (C, L).

    Raises:
        ValueError: wrong number of dimensions or channels, or one value per channel.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.InstanceNorm1d(2)(rl.tensor([[[1., 3.], [0., 8.]]]))
        tensor([[[-1.0000,  1.0000],
                 [-1.0000,  1.0000]]])
    """

    _dims = (2, 3)
    _without_batch = 2


class InstanceNorm2d(_InstanceNorm):
    """As InstanceNorm1d, for inputs (N, C, H, W) or (C, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.InstanceNorm2d(3)(rl.rand(2, 3, 4, 4)).shape
        torch.Size([2, 3, 4, 4])
    """

    _dims = (3, 4)
    _without_batch = 3


class InstanceNorm3d(_InstanceNorm):
    """As InstanceNorm1d, for inputs (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.InstanceNorm3d(3)(rl.rand(2, 3, 4, 4, 4)).shape
        torch.Size([2, 3, 4, 4, 4])
    """

    _dims = (4, 5)
    _without_batch = 4
