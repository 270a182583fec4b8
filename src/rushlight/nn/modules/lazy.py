"""Layers that take the sizes they are not told from their first input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rushlight as rl

from ... import Tensor
from ..common_types import Device
from ..parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .linear import Linear
from .module import Module


class LazyModuleMixin:
    """Makes a lazy class of a Module; comes before it among the bases.

    Its constructor makes parameters and buffers of unknown shape as ``UninitializedParameter`` and
    ``UninitializedBuffer``; ``initialize_parameters``, which a subclass defines, is called with the first input and
    gives them one (``materialize``). The module then becomes an ordinary one, of the class ``cls_to_become``.

    Optimizers should be made after that, as should copies of the parameters.

    Example:
        >>> import rushlight as rl
        >>> layer = rl.nn.LazyLinear(3)
        >>> layer.has_uninitialized_params()
        True
        >>> layer(rl.ones(2, 5)).shape, layer
        (torch.Size([2, 3]), Linear(in_features=5, out_features=3, bias=True))
    """

    cls_to_become: type[Module] | None = None

    if TYPE_CHECKING:  # what the Module beside it has

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._until_inferred = self.register_forward_pre_hook(_infer, with_kwargs=True)

    def initialize_parameters(self, *args, **kwargs) -> None:
        """Gives parameters and buffers their shapes, from what ``forward`` is called with."""
        raise NotImplementedError(f"{type(self).__name__} must define initialize_parameters()")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer of the module itself has no shape yet."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def _make_lazy(self):
        """Replaces the parameters and buffers that the constructor made without knowing their sizes."""
        for name, tensor in self._parameters.items():
            if tensor is not None:
                setattr(self, name, UninitializedParameter(device=tensor.device, dtype=tensor.dtype))
        for name, tensor in self._buffers.items():
            if tensor is not None and tensor.dim():
                setattr(self, name, UninitializedBuffer(device=tensor.device, dtype=tensor.dtype))

    def _materialize(self, **shapes):
        """Gives those of the named parameters and buffers that have no shape yet one."""
        with rl.no_grad():
            for name, shape in shapes.items():
                if is_lazy(getattr(self, name)):
                    getattr(self, name).materialize(shape)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for table in (self._parameters, self._buffers):
            for name, tensor in table.items():
                if is_lazy(tensor) and prefix + name in destination:
                    destination[prefix + name] = tensor

    def _load_from_state_dict(self, state_dict, prefix, *args):
        for table in (self._parameters, self._buffers):
            for name, tensor in table.items():
                value = state_dict.get(prefix + name)
                if is_lazy(tensor) and isinstance(value, Tensor) and not is_lazy(value):
                    with rl.no_grad():
                        tensor.materialize(value.shape)
        super()._load_from_state_dict(state_dict, prefix, *args)


def _infer(module, args, kwargs):
    """The hook that runs before the first forward."""
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(
            f"{type(module).__name__}.initialize_parameters left parameters or buffers without a shape\n"
            "  hint: call materialize(shape) of each"
        )
    module._until_inferred.remove()
    del module._until_inferred
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear that takes ``in_features`` from its first input.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LazyLinear(30)(rl.ones(128, 20)).shape
        torch.Size([128, 30])
    """

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Device = None, dtype: rl.dtype | None = None
    ) -> None:
        super().__init__(0, out_features, bias, device, dtype)
        self._make_lazy()

    def reset_parameters(self) -> None:
        """Draws weight and bias anew, if they have a shape."""
        if self.in_features:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Gives weight and bias the shapes that the input needs."""
        self.in_features = input.shape[-1]
        if not self.has_uninitialized_params():  # loaded
            return
        self._materialize(weight=(self.out_features, self.in_features), bias=(self.out_features,))
        self.reset_parameters()


class _LazyConv(LazyModuleMixin):
    def __init__(self, out_channels: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, out_channels, *args, **kwargs)
        self._make_lazy()

    def reset_parameters(self) -> None:
        """Draws weight and bias anew, if they have a shape."""
        if self.in_channels:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input, *rest, **options) -> None:
        """Gives weight and bias the shapes that the input needs."""
        spatial = len(self.kernel_size)
        if input.dim() not in (spatial + 1, spatial + 2):
            raise RuntimeError(
                f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {type(self).__name__}, "
                f"but got input of size: {tuple(input.shape)}"
            )
        channels = input.shape[-spatial - 1]
        if channels % self.groups:
            raise ValueError(f"in_channels must be divisible by groups: {channels} by {self.groups}")
        self.in_channels = channels
        if not self.has_uninitialized_params():  # loaded
            return
        ends = (channels, self.out_channels) if self.transposed else (self.out_channels, channels)
        self._materialize(weight=(ends[0], ends[1] // self.groups, *self.kernel_size), bias=(self.out_channels,))
        self.reset_parameters()


class LazyConv1d(_LazyConv, Conv1d):
    """A Conv1d that takes ``in_channels`` from its first input; the other arguments are Conv1d's.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LazyConv1d(33, 3)(rl.ones(20, 16, 50)).shape
        torch.Size([20, 33, 48])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A Conv2d that takes ``in_channels`` from its first input; the other arguments are Conv2d's.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LazyConv2d(33, 3, stride=2)(rl.ones(20, 16, 50, 100)).shape
        torch.Size([20, 33, 24, 49])
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A Conv3d that takes ``in_channels`` from its first input; the other arguments are Conv3d's.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LazyConv3d(4, 3)(rl.ones(2, 3, 5, 6, 7)).shape
        torch.Size([2, 4, 3, 4, 5])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    """A ConvTranspose1d that takes ``in_channels`` from its first input; the other arguments are ConvTranspose1d's.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LazyConvTranspose1d(33, 3)(rl.ones(20, 16, 50)).shape
        torch.Size([20, 33, 52])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    """A ConvTranspose2d that takes ``in_channels`` from its first input; the other arguments are ConvTranspose2d's.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LazyConvTranspose2d(4, 3, stride=2)(rl.ones(2, 3, 5, 6)).shape
        torch.Size([2, 4, 11, 13])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d):
    """A ConvTranspose3d that takes ``in_channels`` from its first input; the other arguments are ConvTranspose3d's.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LazyConvTranspose3d(4, 3)(rl.ones(2, 3, 5, 6, 7)).shape
        torch.Size([2, 4, 7, 8, 9])
    """

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin):
    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: rl.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self._make_lazy()

    def reset_parameters(self) -> None:
        """Sets weight to 1 and bias to 0 and forgets running statistics, if they have a shape."""
        if self.num_features:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input) -> None:
        """Gives parameters and running statistics the shape that the input needs."""
        self._check_input_dim(input)
        single = input.dim() == getattr(self, "_without_batch", 0)
        self.num_features = input.shape[0 if single else 1]
        if not self.has_uninitialized_params():  # loaded, or there are none
            return
        self._materialize(**dict.fromkeys(("weight", "bias", "running_mean", "running_var"), (self.num_features,)))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A BatchNorm1d that takes ``num_features`` from its first input; the other arguments are BatchNorm1d's.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LazyBatchNorm1d()(rl.rand(6, 3, 4)).shape
        torch.Size([6, 3, 4])
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A BatchNorm2d that takes ``num_features`` from its first input; the other arguments are BatchNorm2d's.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LazyBatchNorm2d()(rl.rand(6, 3, 4, 4)).shape
        torch.Size([6, 3, 4, 4])
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A BatchNorm3d that takes ``num_features`` from its first input; the other arguments are BatchNorm3d's.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LazyBatchNorm3d()(rl.rand(6, 3, 4, 4, 4)).shape
        torch.Size([6, 3, 4, 4, 4])
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """A InstanceNorm1d that takes ``num_features`` from its first input; the other arguments are its,
    but affine and track_running_stats are True unless given.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LazyInstanceNorm1d()(rl.rand(6, 3, 4)).shape
        torch.Size([6, 3, 4])
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """A InstanceNorm2d that takes ``num_features`` from its first input; the other arguments are its,
    but affine and track_running_stats are True unless given.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LazyInstanceNorm2d()(rl.rand(6, 3, 4, 4)).shape
        torch.Size([6, 3, 4, 4])
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """A InstanceNorm3d that takes ``num_features`` from its first input; the other arguments are its,
    but affine and track_running_stats are True unless given.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LazyInstanceNorm3d()(rl.rand(6, 3, 4, 4, 4)).shape
        torch.Size([6, 3, 4, 4, 4])
    """

    cls_to_become = InstanceNorm3d
