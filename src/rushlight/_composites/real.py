"""What asks about complex numbers, which there are none of: every tensor is its own conjugate."""

from __future__ import annotations

from .. import _C
from .._C import Tensor
from .._types import contiguous_format
from ..overrides import overridable


@overridable
def is_conj(input) -> bool:
    """Whether the tensor is to be conjugated when it is read: never."""
    return False


@overridable
def is_neg(input) -> bool:
    """Whether the tensor is to be negated when it is read: never."""
    return False


@overridable
def is_signed(input) -> bool:
    """Whether the dtype has negative numbers.

    >>> import rushlight as rl
    >>> rl.is_signed(rl.ones(1, dtype=rl.uint8))
    False
    """
    return input.dtype.is_signed


@overridable
def is_nonzero(input) -> bool:
    """Whether the one element of a tensor is not zero.

    Raises:
        RuntimeError: it has not just one element.

    >>> import rushlight as rl
    >>> rl.is_nonzero(rl.tensor([0.0]))
    False
    """
    if input.numel() != 1:
        raise RuntimeError(f"is_nonzero: the tensor has {input.numel()} elements\n  hint: use x.any() or x.all()")
    return bool(input.item())


@overridable
def is_same_size(input, other) -> bool:
    """Whether two tensors have the same shape."""
    return input.shape == other.shape


@overridable
def real(input):
    """The real part: the tensor itself."""
    return input


@overridable
def conj(input):
    """The conjugate: the tensor itself."""
    return input


@overridable
def conj_physical(input, *, out=None):
    """The conjugate as a tensor of its own: the tensor itself, unless there is ``out``."""
    return input if out is None else _C._written(input, out=out)


@overridable
def resolve_conj(input):
    """The tensor with its conjugation done: itself."""
    return input


@overridable
def resolve_neg(input):
    """The tensor with its negation done: itself."""
    return input


@overridable
def narrow_copy(input, dim, start, length):
    """As ``narrow()``, copied.

    >>> import rushlight as rl
    >>> rl.narrow_copy(rl.arange(5), 0, 1, 2)
    tensor([1, 2])
    """
    return input.narrow(dim, start, length).clone(memory_format=contiguous_format)


def _sum_to_size(self, *size):
    """The tensor summed over the dimensions that broadcasting from ``size`` would add or repeat.

    >>> import rushlight as rl
    >>> rl.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    size = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    extra = self.dim() - len(size)
    fits = extra >= 0 and all(s in (1, n) for s, n in zip(size, self.shape[max(extra, 0) :], strict=False))
    if not fits:
        raise RuntimeError(f"sum_to_size: {tuple(size)} does not broadcast to {tuple(self.shape)}")
    dims = [*range(extra), *(extra + d for d, s in enumerate(size) if s == 1 and self.shape[extra + d] != 1)]
    return (self.sum(dims, keepdim=True) if dims else self).view(size)


_METHODS = {
    "is_conj": is_conj,
    "is_neg": is_neg,
    "is_nonzero": is_nonzero,
    "is_same_size": is_same_size,
    "is_signed": is_signed,
    "conj": conj,
    "conj_physical": conj_physical,
    "narrow_copy": narrow_copy,
    "resolve_conj": resolve_conj,
    "resolve_neg": resolve_neg,
}
for _name, _method in (_METHODS | {"sum_to_size": _sum_to_size}).items():
    if not hasattr(Tensor, _name):
        setattr(Tensor, _name, _method)

__all__ = [*_METHODS, "real"]
