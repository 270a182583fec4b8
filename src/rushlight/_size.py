"""``Size``: the shape of a tensor, a tuple that knows how many elements it spans."""

from __future__ import annotations

from . import _C


class Size(tuple):
    """The sizes of a tensor's dimensions.

    >>> import rushlight as rl
    >>> rl.Size((2, 3)).numel()
    6
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(repr, self))}])"

    def numel(self) -> int:
        """The number of elements: the product of all sizes."""
        n = 1
        for size in self:
            n *= size
        return n

    def __getitem__(self, index):
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))

    def __mul__(self, n):
        return Size(tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __reduce__(self):
        return Size, (tuple(self),)


Size.__module__ = "rushlight"
_C._set_size_type(Size)
