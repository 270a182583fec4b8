"""Special functions, under the names of PyTorch's ``torch.special``.

All take tensors of any shape, element by element; integers are computed in the default dtype.

>>> import rushlight as rl
>>> rl.special.expit(rl.tensor([0.0]))
tensor([0.5000])
"""

from __future__ import annotations

from . import _C
from ._C import digamma, erf, erfc, erfinv, exp2, expm1, i0, log1p, logit, logsumexp, round, sinc, xlogy
from ._C import digamma as psi
from ._C import lgamma as gammaln
from ._C import mvlgamma as multigammaln
from ._C import sigmoid as expit
from ._C import special_entr as entr
from ._C import special_erfcx as erfcx
from ._C import special_i0e as i0e
from ._C import special_i1 as i1
from ._C import special_i1e as i1e
from ._C import special_log_ndtr as log_ndtr
from ._C import special_ndtri as ndtri
from ._C import special_xlog1py as xlog1py
from ._C import special_zeta as zeta
from ._composites.products import polygamma
from ._composites.sets import _into
from .overrides import overridable


@overridable
def ndtr(input, *, out=None):
    """The normal distribution function: the chance that a standard normal number is below each element.

    >>> import rushlight as rl
    >>> rl.special.ndtr(rl.tensor([0.0]))
    tensor([0.5000])
    """
    x = input if input.is_floating_point() else input.to(_C.get_default_dtype())
    # Where erf is near -1, 1 + erf has lost what erfc still knows.
    z = x * 0.7071067811865476
    found = _C._mul_number(_C.where(z < -1, _C.erfc(-z), 1 + _C.erf(z)), 0.5)
    return _into(out, found)


@overridable
def softmax(input, dim, *, dtype=None):
    """exp(x) over its sum along ``dim``.

    >>> import rushlight as rl
    >>> rl.special.softmax(rl.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
    return _C.softmax(input, dim, dtype=dtype)


@overridable
def log_softmax(input, dim, *, dtype=None):
    """The logarithm of :func:`softmax`, without overflow.

    >>> import rushlight as rl
    >>> rl.special.log_softmax(rl.zeros(2), 0)
    tensor([-0.6931, -0.6931])
    """
    return _C.log_softmax(input, dim, dtype=dtype)


__all__ = [
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
    "zeta",
]
