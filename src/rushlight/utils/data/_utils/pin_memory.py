"""Copying batches to page-locked memory, for faster transfer to an accelerator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import rushlight
from rushlight import Tensor

from .collate import _like


def pin_memory(data, device=None):
    """Pins every tensor inside mappings, named tuples and sequences, and whatever has a `pin_memory()` method."""
    if isinstance(data, Tensor):
        return data.pin_memory()
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return _like(data, {key: pin_memory(value, device) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(value, device) for value in data))
    if isinstance(data, tuple):
        return [pin_memory(value, device) for value in data]
    if isinstance(data, Sequence):
        return _like(data, [pin_memory(value, device) for value in data])
    return data


def have_accelerator() -> bool:
    cuda = getattr(rushlight, "cuda", None)
    return cuda is not None and cuda.is_available()
