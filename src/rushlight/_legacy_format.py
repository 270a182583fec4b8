"""Reading files in PyTorch's format before 1.6, in which many published weights still come.

Such a file is a row of pickles, a magic number, a version, sizes of types, the object, the keys of its storages, and
after them the bytes of each storage behind their number.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from typing import IO, Any

import rushlight
from rushlight import Tensor

from ._restricted_pickle import RestrictedUnpickler
from ._tensor_pickle import Storage, StorageName, memory_of

_MAGIC = 0x1950A86A20F9469CFC6C
_HEAD = pickle.dumps(_MAGIC, 2)
_VERSION = 1001


def is_legacy(head: bytes) -> bool:
    """Whether a file that begins with these bytes is in this format."""
    return head.startswith(_HEAD)


class LegacyFile:
    """A file being read. Its object is unpickled from `file` at first, with `storage`; then `fill` reads the bytes.

    Args:
        place: takes a storage and the name of the device it was saved from; returns it where it is wanted.
    """

    def __init__(self, file: IO[bytes], name: str, place: Callable[[Storage, str], Storage]):
        self.file, self.name, self.place = file, name, place
        self.storages: dict[str, tuple[Storage, Storage, StorageName]] = {}  # as read, and as placed
        start = file.tell()
        file.seek(0, os.SEEK_END)
        self.left = file.tell() - start  # bytes that storages may have
        file.seek(start)
        self._plain()  # the magic number
        version, sizes = self._plain(), self._plain()
        if version != _VERSION or not isinstance(sizes, dict):
            raise RuntimeError(f"{name} is damaged, or of a version that Rushlight does not know: {version!r}")
        if sizes.get("little_endian", True) != (sys.byteorder == "little"):
            raise RuntimeError(f"{name} was written by a machine with another order of bytes\n  hint: re-save it there")

    def _plain(self) -> Any:
        """The next pickle, which holds numbers and strings only."""

        def refuse(*what):
            raise pickle.UnpicklingError(f"it names {what[-1]!r} where a number or a string belongs")

        try:
            return RestrictedUnpickler(self.file, refuse, refuse).load()
        except pickle.UnpicklingError as error:
            raise pickle.UnpicklingError(f"{self.name} is damaged or truncated: {error}") from None

    def storage(self, reference) -> Any:
        """The storage that a persistent id of the pickle refers to; its bytes are read later."""
        if isinstance(reference, tuple) and len(reference) > 1 and reference[0] == "module":
            return reference[1]  # a class, which comes with its source code
        if not isinstance(reference, tuple) or len(reference) != 6 or reference[0] != "storage":
            raise pickle.UnpicklingError(f"{self.name} refers to {reference!r}, which is no storage")
        _, kind, key, location, count, view = reference
        if not (isinstance(kind, StorageName) and isinstance(key, str) and isinstance(location, str)):
            raise pickle.UnpicklingError(f"{self.name} refers to {reference!r}, which is no storage")
        if view is not None:
            raise RuntimeError(
                f"{self.name} holds views of storages, as PyTorch before 0.4 wrote them\n"
                "  hint: re-save it with a newer PyTorch: torch.save(torch.load(file), file)"
            )
        if key in self.storages:
            _, placed, known = self.storages[key]
            if known is not kind:
                raise pickle.UnpicklingError(f"{self.name} gives storage {key} two types: {known.name}, {kind.name}")
            return placed
        dtype = kind.kind or rushlight.uint8
        if type(count) is not int or count < 0 or count * dtype.itemsize > self.left:
            raise RuntimeError(f"{self.name} is damaged or truncated: storage {key} has {count} elements of {dtype}")
        self.left -= count * dtype.itemsize
        storage = Storage(rushlight.empty(count, dtype=dtype))
        placed = self.place(storage, location)
        self.storages[key] = storage, placed, kind
        return placed

    def fill(self) -> None:
        """Reads all storages' bytes, which follow the object."""
        keys = self._plain()
        if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(self.storages):
            raise RuntimeError(f"{self.name} is damaged: its storages are not those that it refers to")
        for key in keys:
            storage, placed, _ = self.storages[key]
            self._read(storage.flat, key)
            if placed is not storage and placed.flat.device.type != "meta":
                placed.flat.copy_(storage.flat)

    def _read(self, flat: Tensor, key: str) -> None:
        count = int.from_bytes(self.file.read(8), "little")
        content = self.file.read(flat.numel() * flat.element_size())
        if count != flat.numel() or len(content) != flat.numel() * flat.element_size():
            raise RuntimeError(f"{self.name} is damaged or truncated: storage {key} is not whole")
        if content:
            memoryview(memory_of(flat)).cast("B")[:] = content
