"""Joining and aligning tensors of different shapes."""

from __future__ import annotations

from .. import _C
from .._C import Tensor
from .._size import Size
from ..overrides import overridable


def _listed(tensors):
    """What ``f(*tensors)`` was given: several tensors, or one sequence of them."""
    return tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


def _each(function, tensors):
    """One result for one tensor, a tuple for several or for a list of them."""
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return function(tensors[0])
    return tuple(map(function, _listed(tensors)))


@overridable
def atleast_1d(*tensors):
    """Tensors without dimensions as vectors of one element; others as they are.

    Args:
        tensors: one tensor, several, or a sequence of them.

    Returns:
        A view of each: a tensor for one tensor, a tuple otherwise.

    >>> import rushlight as rl
    >>> rl.atleast_1d(rl.tensor(2.0))
    tensor([2.])
    """
    return _each(lambda t: t if t.dim() else t.reshape(1), tensors)


@overridable
def atleast_2d(*tensors):
    """As :func:`atleast_1d`, with at least two dimensions: a vector becomes a row.

    >>> import rushlight as rl
    >>> rl.atleast_2d(rl.tensor([1.0, 2.0]))
    tensor([[1., 2.]])
    """

    def two(t):
        return t.reshape(1, 1) if t.dim() == 0 else t.unsqueeze(0) if t.dim() == 1 else t

    return _each(two, tensors)


@overridable
def atleast_3d(*tensors):
    """As :func:`atleast_1d`, with at least three dimensions: (n) becomes (1, n, 1) and (m, n) becomes (m, n, 1).

    >>> import rushlight as rl
    >>> rl.atleast_3d(rl.zeros(2, 3)).shape
    torch.Size([2, 3, 1])
    """

    def three(t):
        if t.dim() == 0:
            return t.reshape(1, 1, 1)
        if t.dim() == 1:
            return t.unsqueeze(0).unsqueeze(-1)
        return t.unsqueeze(-1) if t.dim() == 2 else t

    return _each(three, tensors)


def _sequence(name, tensors):
    if isinstance(tensors, Tensor) or not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}(): expects a tuple or list of Tensors, not {type(tensors).__name__}")
    if not tensors:
        raise RuntimeError(f"{name}: expected a non-empty list of tensors")
    return tensors


def hstack(tensors, *, out=None):
    """Tensors side by side: joined along the second dimension, vectors along their only one.

    >>> import rushlight as rl
    >>> rl.hstack([rl.tensor([1, 2]), rl.tensor([3])])
    tensor([1, 2, 3])
    """
    parts = [atleast_1d(t) for t in _sequence("hstack", tensors)]
    return _C.cat(parts, 0 if parts[0].dim() == 1 else 1, out=out)


def vstack(tensors, *, out=None):
    """Tensors below each other: joined along the first dimension, vectors as rows.

    >>> import rushlight as rl
    >>> rl.vstack([rl.tensor([1, 2]), rl.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return _C.cat([atleast_2d(t) for t in _sequence("vstack", tensors)], 0, out=out)


def row_stack(tensors, *, out=None):
    """:func:`vstack` by another name."""
    return vstack(tensors, out=out)


def dstack(tensors, *, out=None):
    """Tensors behind each other: joined along the third dimension.

    >>> import rushlight as rl
    >>> rl.dstack([rl.tensor([1, 2]), rl.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
    return _C.cat([atleast_3d(t) for t in _sequence("dstack", tensors)], 2, out=out)


def column_stack(tensors, *, out=None):
    """Tensors side by side, vectors as columns.

    >>> import rushlight as rl
    >>> rl.column_stack([rl.tensor([1, 2]), rl.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    parts = [t.reshape(t.numel(), 1) if t.dim() <= 1 else t for t in _sequence("column_stack", tensors)]
    return _C.cat(parts, 1, out=out)


@overridable
def broadcast_tensors(*tensors):
    """Tensors seen in the one shape that they broadcast to.

    Args:
        tensors: tensors whose shapes broadcast together, or one sequence of them.

    Returns:
        A tuple of views; several elements of a view may share memory, so clone before writing.

    Raises:
        RuntimeError: the shapes do not broadcast.

    >>> import rushlight as rl
    >>> a, b = rl.broadcast_tensors(rl.zeros(2, 1), rl.zeros(3))
    >>> a.shape, b.shape
    (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    tensors = _listed(tensors)
    shape = broadcast_shapes(*(t.shape for t in tensors))
    return tuple(t if t.shape == shape else t.expand(shape) for t in tensors)


def broadcast_shapes(*shapes):
    """The shape that tensors of the given shapes broadcast to.

    >>> import rushlight as rl
    >>> rl.broadcast_shapes((2, 1), (3,), ())
    torch.Size([2, 3])
    """
    result: list[int] = []
    for shape in shapes:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        for size in shape:
            if size < 0:
                raise RuntimeError(f"broadcast_shapes: a size must not be negative, got {shape}")
        result = [1] * (len(shape) - len(result)) + result
        for i in range(1, len(shape) + 1):
            if shape[-i] != 1 and result[-i] not in (1, shape[-i]):
                raise RuntimeError(
                    f"cannot broadcast {', '.join(str(tuple(s) if not isinstance(s, int) else s) for s in shapes)}: "
                    f"dimension -{i} is {result[-i]} and {shape[-i]}"
                )
            if shape[-i] != 1:
                result[-i] = shape[-i]
    return Size(result)


@overridable
def meshgrid(*tensors, indexing=None):
    """The coordinates of a grid spanned by vectors: one tensor of the grid's shape for each vector.

    Args:
        tensors: vectors (or tensors without dimensions) of one dtype, or one sequence of them.
        indexing: ``"ij"`` (the default): the i-th vector varies along dimension i. ``"xy"``: the first two dimensions
            exchanged, as plotting libraries want it.

    Returns:
        A tuple of views of the vectors.

    Raises:
        RuntimeError: a tensor has more than one dimension, or dtypes differ, or ``indexing`` is neither.

    >>> import rushlight as rl
    >>> x, y = rl.meshgrid(rl.tensor([1, 2]), rl.tensor([3, 4, 5]), indexing="ij")
    >>> x
    tensor([[1, 1, 1],
            [2, 2, 2]])
    >>> y
    tensor([[3, 4, 5],
            [3, 4, 5]])
    """
    tensors = _listed(tensors)
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'meshgrid: indexing must be "ij" or "xy", got {indexing!r}')
    if not tensors:
        raise RuntimeError("meshgrid: expects at least one tensor")
    for i, t in enumerate(tensors):
        if t.dim() > 1:
            raise RuntimeError(f"meshgrid: expects vectors, but tensor {i} has shape {tuple(t.shape)}")
        if t.dtype != tensors[0].dtype:
            raise RuntimeError(f"meshgrid: all tensors must have one dtype, got {tensors[0].dtype} and {t.dtype}")
    swap = indexing == "xy" and len(tensors) >= 2
    if swap:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = [t.numel() for t in tensors]
    grids = []
    for i, t in enumerate(tensors):
        own = [1] * len(shape)
        own[i] = -1
        grids.append(t.reshape(own).expand(shape))
    if swap:
        grids[:2] = grids[1], grids[0]
    return tuple(grids)


@overridable
def nonzero(input, *, out=None, as_tuple=False):
    """The indices of all elements that are not zero (or are true), in order.

    Args:
        input: a tensor of any shape and dtype.
        as_tuple: one index tensor for each dimension instead, which together index ``input``.

    Returns:
        An int64 tensor of shape (count, input.dim()), or a tuple of input.dim() vectors.

    >>> import rushlight as rl
    >>> rl.nonzero(rl.tensor([[0, 5], [7, 0]]))
    tensor([[0, 1],
            [1, 0]])
    >>> rl.nonzero(rl.tensor([0, 5, 7]), as_tuple=True)
    (tensor([1, 2]),)
    """
    if as_tuple:
        return _C.where(input)
    return _C.nonzero(input, out=out)


def _reversed(self):
    return self.flip(0) if self.dim() else self


for _name, _method in {"nonzero": nonzero, "__reversed__": _reversed}.items():
    setattr(Tensor, _name, _method)

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_shapes",
    "broadcast_tensors",
    "column_stack",
    "dstack",
    "hstack",
    "meshgrid",
    "nonzero",
    "row_stack",
    "vstack",
]
