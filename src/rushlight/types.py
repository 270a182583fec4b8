"""Types for annotations."""

from __future__ import annotations

from . import _C
from ._C import Tensor
from ._size import Size
from .storage import UntypedStorage as Storage

__all__ = ["Device", "Number", "Size", "Storage", "Tensor"]

Device = _C.device | str | int | None
Number = int | float | bool
