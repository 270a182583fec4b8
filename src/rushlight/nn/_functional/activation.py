"""Activations."""

from __future__ import annotations

import rushlight as rl

from ... import _C
from ..._warnings import warn

gelu = _C.gelu
glu = _C.glu
hardshrink = _C.hardshrink
prelu = _C.prelu
sigmoid = _C.sigmoid
softplus = _C.softplus
softshrink = _C.softshrink
softsign = _C.softsign
tanh = _C.tanh

relu_ = _C.relu_
leaky_relu_ = _C.leaky_relu_
elu_ = _C.elu_
celu_ = _C.celu_
selu_ = _C.selu_
rrelu_ = _C.rrelu_
hardtanh_ = _C.hardtanh_
threshold_ = _C.threshold_


def relu(input, inplace=False):
    """max(x, 0) of each element; in place where asked.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.relu(rl.tensor([-1., 2.]))
        tensor([0., 2.])
    """
    return _C.relu_(input) if inplace else _C.relu(input)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x where positive, negative_slope * x elsewhere (Maas et al. 2013).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.leaky_relu(rl.tensor([-1., 0., 2.]))
        tensor([-0.0100,  0.0000,  2.0000])
    """
    return (_C.leaky_relu_ if inplace else _C.leaky_relu)(input, negative_slope)


def elu(input, alpha=1.0, inplace=False):
    """x where positive, alpha * (exp(x) - 1) elsewhere (Clevert et al. 2015).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.elu(rl.tensor([-1., 0., 2.]))
        tensor([-0.6321,  0.0000,  2.0000])
    """
    return (_C.elu_ if inplace else _C.elu)(input, alpha)


def celu(input, alpha=1.0, inplace=False):
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere (Barron 2017).

    Raises:
        RuntimeError: ``alpha`` is 0.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.celu(rl.tensor([-1., 0., 2.]), alpha=0.5)
        tensor([-0.4323,  0.0000,  2.0000])
    """
    return (_C.celu_ if inplace else _C.celu)(input, alpha)


def selu(input, inplace=False):
    """1.0507 * x where positive, 1.7581 * (exp(x) - 1) elsewhere; keeps mean 0, variance 1 (Klambauer et al. 2017).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.selu(rl.tensor([-1., 0., 2.]))
        tensor([-1.1113,  0.0000,  2.1014])
    """
    return (_C.selu_ if inplace else _C.selu)(input)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """x where positive, a * x elsewhere; a is drawn for each element in training, else the mean (Xu et al. 2015).

    Args:
        input: Tensor of any shape, floating point.
        lower, upper: the bounds between which a lies.
        training: draw it.

    Raises:
        RuntimeError: ``lower`` is above ``upper``.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.rrelu(rl.tensor([-1., 0., 2.]), 0.1, 0.3)
        tensor([-0.2000,  0.0000,  2.0000])
    """
    return (_C.rrelu_ if inplace else _C.rrelu)(input, lower, upper, training)


def tanhshrink(input):
    """x - tanh(x).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.tanhshrink(rl.tensor([-1., 0., 2.]))
        tensor([-0.2384,  0.0000,  1.0360])
    """
    return input - input.tanh()


def silu(input, inplace=False):
    """x * sigmoid(x) (Elfwing et al. 2017).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.silu(rl.tensor([-1., 0., 2.]))
        tensor([-0.2689,  0.0000,  1.7616])
    """
    return (_C.silu_ if inplace else _C.silu)(input)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x between min_val and max_val, the nearer bound elsewhere; no gradient at the bounds.

    Raises:
        ValueError: ``min_val`` is above ``max_val``.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.hardtanh(rl.tensor([-1., 0., 2.]))
        tensor([-1.,  0.,  1.])
    """
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val: {min_val} > {max_val}")
    return (_C.hardtanh_ if inplace else _C.hardtanh)(input, min_val, max_val)


def relu6(input, inplace=False):
    """min(max(x, 0), 6), as hardtanh.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.relu6(rl.tensor([-1., 2., 8.]))
        tensor([0., 2., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


def logsigmoid(input):
    """log(sigmoid(x)), without overflow.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.logsigmoid(rl.tensor([-1., 0., 2.]))
        tensor([-1.3133, -0.6931, -0.1269])
    """
    return _C.log_sigmoid(input)


def mish(input, inplace=False):
    """x * tanh(softplus(x)) (Misra, 2019).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.mish(rl.tensor([-1., 0., 2.]))
        tensor([-0.3034,  0.0000,  1.9440])
    """
    return (_C.mish_ if inplace else _C.mish)(input)


def hardsigmoid(input, inplace=False):
    """x / 6 + 1 / 2, held between 0 and 1.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.hardsigmoid(rl.tensor([-1., 0., 2.]))
        tensor([0.3333, 0.5000, 0.8333])
    """
    return (_C.hardsigmoid_ if inplace else _C.hardsigmoid)(input)


def hardswish(input, inplace=False):
    """x * hardsigmoid(x) (Howard et al., 2019).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.hardswish(rl.tensor([-1., 0., 2.]))
        tensor([-0.3333,  0.0000,  1.6667])
    """
    return (_C.hardswish_ if inplace else _C.hardswish)(input)


def threshold(input, threshold, value, inplace=False):
    """x where it is above the threshold, value elsewhere.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.threshold(rl.tensor([-1., 0., 2.]), 1, -5)
        tensor([-5., -5.,  2.])
    """
    return (_C.threshold_ if inplace else _C.threshold)(input, threshold, value)


def _implicit_dim(name, ndim):
    warn(
        f"{name} without dim chooses a dimension by the number of dimensions, which is deprecated\n"
        "  hint: say along which one, as dim=1 for (batch, classes)"
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) divided by its sum along a dimension.

    Args:
        input: Tensor of any shape, floating point.
        dim: along which dimension the results sum to 1.
        dtype: convert to it first.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.softmax(rl.zeros(1, 4), dim=1)
        tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """
    if dim is None:
        dim = _implicit_dim("softmax", input.dim())
    return _C.softmax(input if dtype is None else input.to(dtype), dim)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-x).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.softmin(rl.tensor([0., 1.]), dim=0)
        tensor([0.7311, 0.2689])
    """
    if dim is None:
        dim = _implicit_dim("softmin", input.dim())
    return softmax(-input, dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """log(softmax(x)), without overflow; arguments as for softmax.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.log_softmax(rl.zeros(1, 2), dim=1)
        tensor([[-0.6931, -0.6931]])
    """
    if dim is None:
        dim = _implicit_dim("log_softmax", input.dim())
    return _C.log_softmax(input if dtype is None else input.to(dtype), dim)


def gumbel_softmax(logits, tau=1.0, hard=False, eps=1e-10, dim=-1):
    """Draws from a categorical distribution so that gradients pass (Jang et al. 2017, Maddison et al. 2017).

    Args:
        logits: unnormalized log-probabilities, floating point, any shape.
        tau: the temperature: the lower, the nearer the result to one-hot.
        hard: give one-hot vectors, with the gradient of the soft ones.
        eps: not used; kept for old code.
        dim: along which dimension the results sum to 1.

    Returns:
        Of the shape of ``logits``.

    Example:
        >>> import rushlight as rl
        >>> y = rl.nn.functional.gumbel_softmax(rl.zeros(4, 3), hard=True)
        >>> y.sum(-1)
        tensor([1., 1., 1., 1.])
    """
    noise = -rl.empty_like(logits, memory_format=rl.contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    one_hot = rl.zeros_like(logits, memory_format=rl.contiguous_format).scatter_(dim, soft.argmax(dim, True), 1.0)
    return one_hot - soft.detach() + soft


__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]
