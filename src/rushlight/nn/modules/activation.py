"""Activations: elementwise functions, and softmax."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F
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
