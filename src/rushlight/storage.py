"""The memory behind tensors."""

from __future__ import annotations

from . import _C


class UntypedStorage:
    """The bytes that one or more tensors share.

    >>> import rushlight as rl
    >>> rl.tensor([1, 2], dtype=rl.int16).untyped_storage().tolist()
    [1, 0, 2, 0]
    """

    __slots__ = ("_tensor",)

    def __init__(self, tensor):
        self._tensor = tensor if isinstance(tensor, _C.Tensor) else _C._empty((int(tensor),), _C.uint8, None)

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return _C._storage_data_ptr(self._tensor)

    def nbytes(self) -> int:
        """How many bytes there are."""
        return _C._storage_nbytes(self._tensor)

    size = __len__ = nbytes

    def untyped(self) -> UntypedStorage:
        """The memory as bytes: this."""
        return self

    @property
    def device(self):
        """Where the bytes are."""
        return self._tensor.device

    def share_memory_(self):
        """Shares the memory with other processes; see ``Tensor.share_memory_``."""
        self._tensor.share_memory_()
        return self

    def is_shared(self) -> bool:
        """Whether the memory is shared with other processes."""
        return self._tensor.is_shared()

    def _as(self, dtype):
        """All of the memory as a flat tensor."""
        base = self._tensor.detach()
        whole = base.as_strided((self.nbytes() // base.element_size(),), (1,), 0)
        return whole if whole.dtype == dtype else whole.view(dtype)

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """The first bytes of a file, read when they are first touched.

        Args:
            filename: the file's path.
            shared: whether writing to the memory changes the file; this makes or lengthens the file where need be.
            nbytes: how many bytes; all of them unless given.

        Raises:
            RuntimeError: the file is shorter than `nbytes`, or cannot be opened.
        """
        import mmap
        import os

        try:
            with open(filename, ("r+b" if os.path.exists(filename) else "w+b") if shared else "rb") as file:
                length = os.fstat(file.fileno()).st_size
                count = nbytes or length
                if shared and length < count:
                    file.truncate(count)
                    length = count
                if length < count or count < 0:
                    raise RuntimeError(f"from_file: {filename} has {length} bytes, not {count}")
                if count == 0:
                    return cls(0)
                access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
                mapping = mmap.mmap(file.fileno(), count, access=access)
        except OSError as error:
            raise RuntimeError(f"from_file: {error}") from error
        from ._creation import frombuffer

        return cls(frombuffer(mapping, dtype=_C.uint8))

    def __getitem__(self, index):
        """One byte as an integer; of a slice a storage over the same memory."""
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError(f"a slice of a storage has step 1, got {index.step}")
            from ._creation import from_numpy

            # Over an array, so that it begins where the slice does.
            return UntypedStorage(from_numpy(self._as(_C.uint8).numpy()[index]))
        return self._as(_C.uint8)[index].item()

    def tolist(self) -> list:
        """The bytes as integers."""
        return self._as(_C.uint8).tolist()

    def __eq__(self, other):
        return (
            isinstance(other, UntypedStorage)
            and self.data_ptr() == other.data_ptr()
            and self.nbytes() == other.nbytes()
        )

    def __hash__(self):
        return hash(self.data_ptr())


class TypedStorage(UntypedStorage):
    """The same memory counted in elements of a dtype.

    >>> import rushlight as rl
    >>> rl.tensor([[1, 2], [3, 4]])[1].storage().tolist()
    [1, 2, 3, 4]
    """

    __slots__ = ()

    @property
    def dtype(self):
        """The type of the elements."""
        return self._tensor.dtype

    def size(self) -> int:
        """How many elements there are."""
        return self.nbytes() // self._tensor.element_size()

    __len__ = size

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage(self._tensor)

    def __getitem__(self, index):
        return self._as(self._tensor.dtype)[index].item()

    def tolist(self) -> list:
        """The elements as Python numbers."""
        return self._as(self._tensor.dtype).tolist()


def is_storage(obj) -> bool:
    """Whether ``obj`` is the memory behind tensors.

    >>> import rushlight as rl
    >>> rl.is_storage(rl.ones(2).untyped_storage())
    True
    """
    return isinstance(obj, UntypedStorage)
