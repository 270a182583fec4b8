"""Norms and choice under the names and arguments of PyTorch's Python functions."""

from __future__ import annotations

from .. import _C
from .._C import Tensor
from ..overrides import overridable


@overridable
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The norm ``sum(|x| ** p) ** (1 / p)`` of all elements, or over ``dim``.

    Args:
        input: of floating point dtype.
        p: a number, ``inf``, ``-inf``, or "fro", which is 2; "nuc", the sum of a matrix' singular values.
        dim: an int or several; None for all.
        keepdim: leave reduced dimensions at size 1.
        dtype: convert to it first.

    Raises:
        RuntimeError: ``input`` is of an integer dtype.

    >>> import rushlight as rl
    >>> rl.norm(rl.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if p == "nuc":
        from .. import linalg

        x = input if dtype is None else input.to(dtype)
        return linalg.matrix_norm(x, "nuc", (-2, -1) if dim is None else dim, keepdim, out=out)
    if isinstance(p, str) and p != "fro":
        raise ValueError(f"norm: p is {p!r}\n  hint: give a number, 'fro' or 'nuc'")
    order = 2 if p is None or p == "fro" else p
    return _C.linalg_vector_norm(input, order, dim, keepdim, dtype=dtype, out=out)


def _method_norm(self, p="fro", dim=None, keepdim=False, dtype=None):
    """See :func:`rushlight.norm`."""
    return norm(self, p, dim, keepdim, dtype=dtype)


def _method_where(self, condition, other):
    """``self`` where ``condition`` is true, ``other`` elsewhere; as ``rushlight.where(condition, self, other)``."""
    return _C.where(condition, self, other)


for _name, _method in {"norm": _method_norm, "where": _method_where}.items():
    setattr(Tensor, _name, _method)

__all__ = ["norm"]
