"""Names for layouts and memory formats."""

from __future__ import annotations


class memory_format:
    """How the dimensions of a tensor are ordered in memory."""

    __slots__ = ("_name", "_number")

    def __init__(self, name: str, number: int):
        self._name = name
        self._number = number

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self):
        return self._name


contiguous_format = memory_format("contiguous_format", 0)
preserve_format = memory_format("preserve_format", 1)
channels_last = memory_format("channels_last", 2)
channels_last_3d = memory_format("channels_last_3d", 3)


class layout:
    """How a tensor keeps its elements; ``strided`` is the only one there is."""

    __slots__ = ("_name",)

    def __init__(self, name: str):
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self):
        return self._name


strided = layout("strided")
