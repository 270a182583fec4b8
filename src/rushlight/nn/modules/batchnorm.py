"""Batch normalization."""

from __future__ import annotations

import rushlight as rl

from ... import Tensor
from .. import functional as F
from .. import init
from ..common_types import Device
from ..parameter import Parameter
from .module import Module


class _BatchNorm(Module):
    # Version 2 added num_batches_tracked.
    _version = 2
    _is_batch_norm = True  # of a subclass: statistics are over the batch

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: rl.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(rl.empty(num_features, **options)) if wanted else None)
        if track_running_stats:
            self.register_buffer("running_mean", rl.zeros(num_features, **options))
            self.register_buffer("running_var", rl.ones(num_features, **options))
            self.register_buffer("num_batches_tracked", rl.tensor(0, dtype=rl.int64, device=device))
        else:
            self.register_buffer("running_mean", None)
            self.register_buffer("running_var", None)
            self.register_buffer("num_batches_tracked", None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forgets the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Sets weight to 1 and bias to 0, and forgets the running statistics."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input):
        if input.dim() not in self._dims:
            expected = " or ".join(f"{d}D" for d in self._dims)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        mean, var = self.running_mean, self.running_var
        training = self.training
        momentum = 0.0 if self.momentum is None else self.momentum
        if training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean over all batches so far
                momentum = 1.0 / float(self.num_batches_tracked)
        if training and not self.track_running_stats:
            mean = var = None
        by_batch = training or (mean is None and var is None)
        return F.batch_norm(input, mean, var, self.weight, self.bias, by_batch, momentum, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        key = prefix + "num_batches_tracked"
        if local_metadata.get("version", 1) < 2 and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked if self._counts() else rl.tensor(0, dtype=rl.int64)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def _counts(self):
        return self.num_batches_tracked is not None and not self.num_batches_tracked.is_meta


class BatchNorm1d(_BatchNorm):
    """Brings each channel to mean 0 and variance 1 over the batch; in evaluation by running statistics.

    Args:
        num_features: C.
        eps: added to the variance.
        momentum: the share of a new batch in the running statistics; None for the plain mean over all batches.
        affine: learn a weight and, unless ``bias`` is False, a bias for each channel.
        track_running_stats: keep running statistics; otherwise evaluation uses the batch's own.

    Shapes:
        input and output (N, C) or (N, C, L).

    Raises:
        ValueError: wrong number of dimensions, or one value per channel in training.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.BatchNorm1d(2)(rl.tensor([[1., 2.], [3., 6.]])).shape
        torch.Size([2, 2])
    """

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """As BatchNorm1d, for inputs (N, C, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.BatchNorm2d(3)(rl.rand(2, 3, 4, 4)).shape
        torch.Size([2, 3, 4, 4])
    """

    _dims = (4,)


class BatchNorm3d(_BatchNorm):
    """As BatchNorm1d, for inputs (N, C, D, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.BatchNorm3d(3)(rl.rand(2, 3, 4, 4, 4)).shape
        torch.Size([2, 3, 4, 4, 4])
    """

    _dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over all processes of a training; with one process, which is all there is here, BatchNorm.

    Args:
        process_group: None; anything else needs distributed training.
        others: as for BatchNorm1d.

    Shapes:
        input and output (N, C, *).

    Raises:
        NotImplementedError: a process group is given.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.SyncBatchNorm(3)(rl.rand(2, 3, 4, 4)).shape
        torch.Size([2, 3, 4, 4])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group=None,
        device: Device = None,
        dtype: rl.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        if process_group is not None:
            raise NotImplementedError(
                "SyncBatchNorm: process_group needs torch.distributed, which is not supported\n"
                "  hint: leave it out to train in one process"
            )
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = None

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group=None) -> Module:
        """Every BatchNorm within ``module`` replaced by a SyncBatchNorm with its very parameters and statistics."""
        result = module
        if isinstance(module, _BatchNorm) and module._is_batch_norm:
            converted = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            converted.weight, converted.bias = module.weight, module.bias
            converted.running_mean, converted.running_var = module.running_mean, module.running_var
            converted.num_batches_tracked = module.num_batches_tracked
            converted.training = module.training
            result = converted
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result
