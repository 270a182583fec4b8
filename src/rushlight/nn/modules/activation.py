"""Activations: elementwise functions, and softmax."""

from __future__ import annotations

import rushlight as rl

from ... import Tensor
from .. import functional as F
from .. import init
from ..common_types import Device
from ..parameter import Parameter
from .module import Module


class _InPlace(Module):
    """An activation whose one setting is whether it overwrites its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """max(x, 0) of each element.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ReLU()(rl.tensor([-1., 2.]))
        tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class SiLU(_InPlace):
    """x * sigmoid(x) of each element (Elfwing et al. 2017).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.SiLU()(rl.tensor([-1., 0., 2.]))
        tensor([-0.2689,  0.0000,  1.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Hardtanh(Module):
    """Each element, but the nearer bound outside [min_val, max_val].

    Raises:
        ValueError: max_val is not above min_val.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Hardtanh()(rl.tensor([-1., 0., 2.]))
        tensor([-1.,  0.,  1.])
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if max_val <= min_val:
            raise ValueError(f"max_val must be larger than min_val: {max_val} <= {min_val}")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """min(max(x, 0), 6) of each element.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ReLU6()(rl.tensor([-1., 2., 8.]))
        tensor([0., 2., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class LeakyReLU(Module):
    """x where positive, negative_slope * x elsewhere (Maas et al. 2013).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LeakyReLU()(rl.tensor([-1., 0., 2.]))
        tensor([-0.0100,  0.0000,  2.0000])
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class ELU(Module):
    """x where positive, alpha * (exp(x) - 1) elsewhere (Clevert et al. 2015).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ELU()(rl.tensor([-1., 0., 2.]))
        tensor([-0.6321,  0.0000,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class GELU(Module):
    """x times the standard normal's distribution function at x (Hendrycks and Gimpel 2016).

    Args:
        approximate: "none", or "tanh" for the faster formula.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.GELU()(rl.tensor([-1., 0., 2.]))
        tensor([-0.1587,  0.0000,  1.9545])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Sigmoid(Module):
    """1 / (1 + exp(-x)) of each element.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Sigmoid()(rl.tensor([-1., 0., 2.]))
        tensor([0.2689, 0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class LogSigmoid(Module):
    """log(sigmoid(x)) of each element, without overflow.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LogSigmoid()(rl.tensor([-1., 0., 2.]))
        tensor([-1.3133, -0.6931, -0.1269])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Tanh(Module):
    """tanh(x) of each element.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Tanh()(rl.tensor([-1., 0., 2.]))
        tensor([-0.7616,  0.0000,  0.9640])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class Softplus(Module):
    """log(1 + exp(beta x)) / beta of each element; x itself where beta x is above the threshold.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Softplus()(rl.tensor([-1., 0., 2.]))
        tensor([0.3133, 0.6931, 2.1269])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softsign(Module):
    """x / (1 + abs(x)) of each element.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Softsign()(rl.tensor([-1., 0., 3.]))
        tensor([-0.5000,  0.0000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Softmax(Module):
    """exp(x) divided by its sum along a dimension.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Softmax(dim=1)(rl.zeros(1, 2))
        tensor([[0.5000, 0.5000]])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(Module):
    """softmax(-x) along a dimension.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Softmin(dim=0)(rl.tensor([0., 1.]))
        tensor([0.7311, 0.2689])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """log(softmax(x)) along a dimension, without overflow.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.LogSoftmax(dim=1)(rl.zeros(1, 2))
        tensor([[-0.6931, -0.6931]])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Hardsigmoid(_InPlace):
    """x / 6 + 1 / 2 of each element, held between 0 and 1.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Hardsigmoid()(rl.tensor([-1., 0., 2.]))
        tensor([0.3333, 0.5000, 0.8333])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardswish(_InPlace):
    """x * hardsigmoid(x) of each element (Howard et al. 2019).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Hardswish()(rl.tensor([-1., 0., 2.]))
        tensor([-0.3333,  0.0000,  1.6667])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Mish(_InPlace):
    """x * tanh(softplus(x)) of each element (Misra 2019).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Mish()(rl.tensor([-1., 0., 2.]))
        tensor([-0.3034,  0.0000,  1.9440])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class SELU(_InPlace):
    """1.0507 * x where positive, 1.7581 * (exp(x) - 1) elsewhere (Klambauer et al. 2017).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.SELU()(rl.tensor([-1., 0., 2.]))
        tensor([-1.1113,  0.0000,  2.1014])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class CELU(Module):
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere (Barron 2017).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.CELU(0.5)(rl.tensor([-1., 0., 2.]))
        tensor([-0.4323,  0.0000,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class GLU(Module):
    """a * sigmoid(b) for the two halves a and b along a dimension (Dauphin et al. 2016).

    Shapes:
        input (*, 2 n, *), output (*, n, *).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.GLU()(rl.tensor([1., 2., 0., 0.]))
        tensor([0.5000, 1.0000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class PReLU(Module):
    """x where positive, weight * x elsewhere; the weight is learned (He et al. 2015).

    Args:
        num_parameters: one weight for all, or one for each channel.
        init: its first value.

    Shapes:
        input and output (*), or (N, C, *) with C weights; weight (num_parameters).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.PReLU()(rl.tensor([-1., 0., 2.])).detach()
        tensor([-0.2500,  0.0000,  2.0000])
    """

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(rl.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weight to its first value."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class RReLU(Module):
    """x where positive, a * x elsewhere; a is drawn for each element in training, else the mean (Xu et al. 2015).

    Args:
        lower, upper: the bounds between which a lies.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.RReLU(0.1, 0.3).eval()(rl.tensor([-1., 0., 2.]))
        tensor([-0.2000,  0.0000,  2.0000])
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class Hardshrink(Module):
    """0 where abs(x) is at most lambd, x elsewhere.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Hardshrink()(rl.tensor([-1., 0.2, 2.]))
        tensor([-1.,  0.,  2.])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Module):
    """x moved toward 0 by lambd; 0 where abs(x) is less.

    Raises:
        RuntimeError: lambd is negative (when called).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Softshrink()(rl.tensor([-1., 0.2, 2.]))
        tensor([-0.5000,  0.0000,  1.5000])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Tanhshrink(Module):
    """x - tanh(x) of each element.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Tanhshrink()(rl.tensor([-1., 0., 2.]))
        tensor([-0.2384,  0.0000,  1.0360])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Threshold(Module):
    """x where it is above the threshold, value elsewhere.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Threshold(1, -5)(rl.tensor([-1., 0., 2.]))
        tensor([-5., -5.,  2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class Softmax2d(Module):
    """softmax over the channels at each place of an image.

    Shapes:
        input and output (N, C, H, W) or (C, H, W).

    Raises:
        ValueError: another number of dimensions.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.Softmax2d()(rl.zeros(2, 1, 1)).flatten()
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)
