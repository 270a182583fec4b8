"""Versions that compare as versions."""

from __future__ import annotations

import re


class TorchVersion(str):
    """A version that is text and is ordered by its numbers, against text or a tuple.

    >>> from rushlight.torch_version import TorchVersion
    >>> version = TorchVersion("2.13.0+rushlight")
    >>> version >= "2.4", version >= (2, 4), version < "2.13.1", version > "2.13.0"
    (True, True, True, True)
    """

    __slots__ = ()

    def __lt__(self, other):
        return _key(self) < _key(other)

    def __le__(self, other):
        return _key(self) <= _key(other)

    def __gt__(self, other):
        return _key(self) > _key(other)

    def __ge__(self, other):
        return _key(self) >= _key(other)


def _key(version) -> tuple:
    """Sorts as versions do: by numbers of which trailing zeros do not count, "2.0a1" before "2.0" before "2.0+cpu"."""
    if isinstance(version, (tuple, list)):
        version = ".".join(map(str, version))
    parts = re.match(r"v?(\d+(?:\.\d+)*)(.*)", str(version))
    if parts is None:
        raise ValueError(f"not a version: {version!r}\n  hint: numbers separated by dots, such as '2.13.0' or (2, 13)")
    numbers = [int(part) for part in parts[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    rank = 1 if not parts[2] else 2 if parts[2][0] in "+.-" else 0
    return tuple(numbers), rank, parts[2]
