"""Padding."""

from __future__ import annotations

from collections.abc import Sequence

from ... import Tensor
from .. import functional as F
from .module import Module


class _Pad(Module):
    _dims: int  # how many dimensions are padded
    _mode: str

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self._dims) if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != 2 * self._dims:
            raise ValueError(
                f"{type(self).__name__} takes one number or {2 * self._dims} of them, got {self.padding}\n"
                "  hint: they are (before, after) of the last dimension, then of the one before it, and so on"
            )

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    _mode = "constant"

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ReflectionPad(_Pad):
    _mode = "reflect"


class _ReplicationPad(_Pad):
    _mode = "replicate"


class _CircularPad(_Pad):
    _mode = "circular"


class ConstantPad1d(_ConstantPad):
    """Surrounds the last dimension with a constant.

    Args:
        padding: one width for all sides, or (before, after) of the last dimension; negative ones crop.
        value: the constant.

    Shapes:
        input and output of any number of dimensions.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ConstantPad1d((1, 2), 9.)(rl.tensor([[1., 2., 3.]]))
        tensor([[9., 1., 2., 3., 9., 9.]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """Surrounds the last two dimensions with a constant.

    Args:
        padding: one width for all sides, or (before, after) of the last dimension, then of those before it; negative
            ones crop.
        value: the constant.

    Shapes:
        input and output of any number of dimensions.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ConstantPad2d(1, 9.)(rl.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """Surrounds the last three dimensions with a constant.

    Args:
        padding: one width for all sides, or (before, after) of the last dimension, then of those before it; negative
            ones crop.
        value: the constant.

    Shapes:
        input and output of any number of dimensions.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ConstantPad3d(1, 9.)(rl.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 4, 4, 4])
    """

    _dims = 3


class ZeroPad1d(_ZeroPad):
    """Surrounds the last dimension with zeros.

    Args:
        padding: one width for all sides, or (before, after) of the last dimension; negative ones crop.

    Shapes:
        input and output of any number of dimensions.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ZeroPad1d((1, 2))(rl.tensor([[1., 2., 3.]]))
        tensor([[0., 1., 2., 3., 0., 0.]])
    """

    _dims = 1


class ZeroPad2d(_ZeroPad):
    """Surrounds the last two dimensions with zeros.

    Args:
        padding: one width for all sides, or (before, after) of the last dimension, then of those before it; negative
            ones crop.

    Shapes:
        input and output of any number of dimensions.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ZeroPad2d(1)(rl.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """

    _dims = 2


class ZeroPad3d(_ZeroPad):
    """Surrounds the last three dimensions with zeros.

    Args:
        padding: one width for all sides, or (before, after) of the last dimension, then of those before it; negative
            ones crop.

    Shapes:
        input and output of any number of dimensions.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ZeroPad3d(1)(rl.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 4, 4, 4])
    """

    _dims = 3


class ReflectionPad1d(_ReflectionPad):
    """Continues the last dimension by the mirror image, without the edge itself.

    Args:
        padding: one width for all sides, or (before, after) of the last dimension; negative ones crop.

    Shapes:
        input and output (N, C, W) or (C, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ReflectionPad1d((1, 2))(rl.tensor([[1., 2., 3.]]))
        tensor([[2., 1., 2., 3., 2., 1.]])
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPad):
    """Continues the last two dimensions by the mirror image, without the edge itself.

    Args:
        padding: one width for all sides, or (before, after) of the last dimension, then of those before it; negative
            ones crop.

    Shapes:
        input and output (N, C, H, W) or (C, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ReflectionPad2d(1)(rl.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPad):
    """Continues the last three dimensions by the mirror image, without the edge itself.

    Args:
        padding: one width for all sides, or (before, after) of the last dimension, then of those before it; negative
            ones crop.

    Shapes:
        input and output (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ReflectionPad3d(1)(rl.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 4, 4, 4])
    """

    _dims = 3


class ReplicationPad1d(_ReplicationPad):
    """Continues the last dimension by the edge.

    Args:
        padding: one width for all sides, or (before, after) of the last dimension; negative ones crop.

    Shapes:
        input and output (N, C, W) or (C, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ReplicationPad1d((1, 2))(rl.tensor([[1., 2., 3.]]))
        tensor([[1., 1., 2., 3., 3., 3.]])
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPad):
    """Continues the last two dimensions by the edge.

    Args:
        padding: one width for all sides, or (before, after) of the last dimension, then of those before it; negative
            ones crop.

    Shapes:
        input and output (N, C, H, W) or (C, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ReplicationPad2d(1)(rl.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPad):
    """Continues the last three dimensions by the edge.

    Args:
        padding: one width for all sides, or (before, after) of the last dimension, then of those before it; negative
            ones crop.

    Shapes:
        input and output (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ReplicationPad3d(1)(rl.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 4, 4, 4])
    """

    _dims = 3


class CircularPad1d(_CircularPad):
    """Continues the last dimension from the other end.

    Args:
        padding: one width for all sides, or (before, after) of the last dimension; negative ones crop.

    Shapes:
        input and output (N, C, W) or (C, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.CircularPad1d((1, 2))(rl.tensor([[1., 2., 3.]]))
        tensor([[3., 1., 2., 3., 1., 2.]])
    """

    _dims = 1


class CircularPad2d(_CircularPad):
    """Continues the last two dimensions from the other end.

    Args:
        padding: one width for all sides, or (before, after) of the last dimension, then of those before it; negative
            ones crop.

    Shapes:
        input and output (N, C, H, W) or (C, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.CircularPad2d(1)(rl.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """

    _dims = 2


class CircularPad3d(_CircularPad):
    """Continues the last three dimensions from the other end.

    Args:
        padding: one width for all sides, or (before, after) of the last dimension, then of those before it; negative
            ones crop.

    Shapes:
        input and output (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.CircularPad3d(1)(rl.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 4, 4, 4])
    """

    _dims = 3
