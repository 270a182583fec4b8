"""From a list of samples to one batch."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence

import rushlight
from rushlight import Tensor


def collate(batch: list, *, collate_fn_map: dict | None = None):
    """Merges a list of samples into a batch, container by container.

    `collate_fn_map` maps a type, or a tuple of types, to `fn(batch, *, collate_fn_map)`; exact types are looked up
    first, then subclasses in the map's order. default_collate is this function with the default map.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        if (function := collate_fn_map.get(kind)) is not None:
            return function(batch, collate_fn_map=collate_fn_map)
        for types, function in collate_fn_map.items():
            if isinstance(first, types):
                return function(batch, collate_fn_map=collate_fn_map)
    if kind.__module__ == "numpy" and sys.modules.get("numpy"):
        return _collate_numpy(batch)

    def recurse(samples):
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        try:
            fields = {key: recurse([sample[key] for sample in batch]) for key in first}
        except KeyError as error:
            at = next(i for i, sample in enumerate(batch) if error.args[0] not in sample)
            raise KeyError(f"sample 0 of the batch has the key {error}, sample {at} has not") from None
        return _like(first, fields)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(recurse(column) for column in _columns(batch)))
    if isinstance(first, Sequence):
        merged = [recurse(column) for column in _columns(batch)]
        # Tuples become lists, as PyTorch has always had it; other sequences keep their type where they can.
        return merged if isinstance(first, (tuple, list)) and kind in (tuple, list) else _like(first, merged)
    raise TypeError(_unsupported(kind))


def default_collate(batch: list):
    """Merges a list of samples into a batch: what a DataLoader does unless given a `collate_fn`.

    Tensors and NumPy arrays are stacked along a new first dimension; numbers become a tensor (int64, float64, bool);
    strings and bytes stay as they are; mappings, named tuples and sequences are merged field by field and keep their
    type (a plain tuple becomes a list).

    >>> from rushlight.utils.data import default_collate
    >>> default_collate([(0, "a"), (1, "b")])
    [tensor([0, 1]), ('a', 'b')]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


_PLAIN = {bool, int, float, str, bytes}  # the commonest, known at a glance


def default_convert(data):
    """Turns NumPy arrays and scalars into tensors, inside mappings, named tuples and sequences too; the rest stays.

    What a DataLoader with `batch_size=None` does to each sample unless given a `collate_fn`.
    """
    kind = type(data)
    if kind in _PLAIN or isinstance(data, (Tensor, str, bytes)):
        return data
    if kind.__module__ == "numpy" and sys.modules.get("numpy"):
        return data if data.dtype.kind in "SUOV" else rushlight.as_tensor(data)
    return inside(default_convert, data)


def inside(function: Callable, data):
    """The mapping, named tuple or sequence with the function applied to what it holds; anything else as it is."""
    kind = type(data)
    if isinstance(data, Mapping):
        return _like(data, {key: function(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*map(function, data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        content = [function(value) for value in data]
        return content if kind is tuple else _like(data, content)
    return data


def collate_tensor_fn(batch, *, collate_fn_map=None):
    try:
        return rushlight.stack(batch, 0)
    except (RuntimeError, TypeError) as error:
        for i, sample in enumerate(batch):
            if not isinstance(sample, Tensor):
                raise TypeError(
                    f"cannot collate: sample 0 is a Tensor and sample {i} is a {type(sample).__name__}"
                ) from error
            if sample.shape != batch[0].shape:
                raise RuntimeError(_shapes(batch[0].shape, sample.shape, i)) from error
        raise


def collate_float_fn(batch, *, collate_fn_map=None):
    return rushlight.tensor(batch, dtype=rushlight.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    return rushlight.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    return batch


default_collate_fn_map: dict[type | tuple[type, ...], Callable] = {
    Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    bool: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def _collate_numpy(batch):
    import numpy

    first = batch[0]
    if not isinstance(first, (numpy.ndarray, numpy.generic)) or first.dtype.kind in "SUOV":
        detail = f" of dtype {first.dtype}" if hasattr(first, "dtype") else ""
        raise TypeError(_unsupported(type(first), detail))
    try:
        return rushlight.from_numpy(numpy.stack(batch))
    except ValueError as error:
        for i, sample in enumerate(batch):
            if numpy.shape(sample) != first.shape:
                raise RuntimeError(_shapes(first.shape, numpy.shape(sample), i)) from error
        raise


def _columns(batch) -> list[tuple]:
    """The batch turned on its side: all first elements, all second elements, ..."""
    size = len(batch[0])
    for i, sample in enumerate(batch):
        if len(sample) != size:
            raise RuntimeError(
                f"each element in list of batch should be of equal size: sample 0 of the batch is a "
                f"{type(batch[0]).__name__} of {size}, sample {i} one of {len(sample)}\n"
                "  hint: pad them to one length, or give the DataLoader a collate_fn"
            )
    return list(zip(*batch, strict=True))


def _like(original, content):
    """`content` (a dict or list) as the type of `original`, or as it is where that type cannot be built so."""
    kind = type(original)
    if kind in (dict, list):
        return content
    try:
        if isinstance(original, MutableMapping):
            clone = copy.copy(original)  # keeps what the constructor would not: a default factory, attributes
            clone.update(content)
            return clone
        if isinstance(original, MutableSequence):
            clone = copy.copy(original)
            for i, value in enumerate(content):
                clone[i] = value
            return clone
        return kind(content)
    except TypeError:
        return content


def _shapes(first, other, index: int) -> str:
    return (
        f"stack expects each tensor to be equal size, but sample 0 of the batch has shape {tuple(first)} "
        f"and sample {index} has {tuple(other)}\n"
        "  hint: bring samples to one shape in a transform, or pad them in a collate_fn"
    )


def _unsupported(kind: type, detail: str = "") -> str:
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    hint = "a collate_fn"
    if kind.__module__.startswith("PIL."):
        hint = "the dataset transform=ToTensor(), or the DataLoader a collate_fn"
    return (
        "default_collate: batch must contain tensors, numpy arrays, numbers, strings, mappings or sequences; "
        f"found {name}{detail}\n  hint: give {hint}"
    )
