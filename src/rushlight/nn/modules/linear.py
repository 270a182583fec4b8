"""Identity and Linear."""

from __future__ import annotations

import math

import rushlight as rl

from ... import Tensor
from .. import functional as F
from .. import init
from ..common_types import Device
from ..parameter import Parameter
from .module import Module


class Identity(Module):
    """Returns its input; any arguments to the constructor are ignored.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Identity()(rl.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, *args, **kwargs) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """input @ weight.T + bias, over the last dimension.

    Shapes:
        input (*, in_features), output (*, out_features);
        weight (out_features, in_features), bias (out_features), both uniform within 1 / sqrt(in_features) at first.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Linear(20, 30)(rl.ones(128, 20)).shape
        torch.Size([128, 30])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(rl.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(rl.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None and self.in_features > 0:
            bound = 1 / math.sqrt(self.in_features)
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """Linear under the name that the output layer of ``MultiheadAttention`` has when a model is printed.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.MultiheadAttention(4, 2).out_proj
        NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)
    """
