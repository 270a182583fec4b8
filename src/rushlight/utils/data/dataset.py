"""Datasets: what a DataLoader reads from, and the ways to combine them."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from types import GenericAlias
from typing import Any

import rushlight

from ..._warnings import warn
from ._utils.fetch import collated, fetch_list


class Dataset:
    """A map from keys to samples. Subclasses define `__getitem__`, and usually `__len__`.

    A subclass may also define `__getitems__(indices) -> list of samples`; the DataLoader then reads a batch at once.

    >>> import rushlight as rl
    >>> class Squares(rl.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 10
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> Squares()[3], len(Squares())
    (9, 10)
    """

    __class_getitem__: Any = classmethod(GenericAlias)

    def __getitem__(self, index) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__(self, index)")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """A stream of samples. Subclasses define `__iter__`.

    Every DataLoader worker iterates a copy of its own; `get_worker_info()` tells it which share of the stream is its.

    >>> import rushlight as rl
    >>> class Stream(rl.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(rl.utils.data.DataLoader(Stream(), batch_size=2))
    [tensor([0, 1]), tensor([2])]
    """

    def __iter__(self) -> Iterator:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__(self)")

    def __add__(self, other: Dataset) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Samples are tuples of the rows of the given tensors, which must agree in their first dimension.

    >>> import rushlight
    >>> from rushlight.utils.data import TensorDataset
    >>> TensorDataset(rushlight.arange(6).view(3, 2), rushlight.arange(3))[2]
    (tensor([4, 5]), tensor(2))
    """

    def __init__(self, *tensors):
        for i, tensor in enumerate(tensors):
            if tensor.size(0) != tensors[0].size(0):
                # PyTorch raises AssertionError here.
                raise AssertionError(
                    f"Size mismatch between tensors: tensor 0 has {tensors[0].size(0)} rows, "
                    f"tensor {i} has {tensor.size(0)} (shapes {tuple(tensors[0].shape)} and {tuple(tensor.shape)})."
                )
        self.tensors = tensors

    def __getitem__(self, index) -> tuple:
        return tuple(tensor[index] for tensor in self.tensors)

    def __getitems__(self, indices: Sequence[int]) -> list[tuple]:
        return list(zip(*(rows.unbind(0) for rows in self._collated(indices)), strict=True))

    def _collated(self, indices: Sequence[int]) -> list:
        """The rows at `indices` already stacked: what default_collate makes of them, in one read per tensor."""
        index = rushlight.tensor(indices, dtype=rushlight.int64)
        return [tensor[index] for tensor in self.tensors]

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Zips datasets of one length: samples are tuples, or dicts when the datasets are given by keyword.

    Raises:
        ValueError: no dataset, datasets of different lengths, or both kinds of arguments.

    >>> import rushlight as rl
    >>> rl.utils.data.StackDataset(x=[1, 2], y=[3, 4])[0]
    {'x': 1, 'y': 3}
    """

    def __init__(self, *args: Any, **kwargs: Any):
        if args and kwargs:
            raise ValueError("StackDataset takes datasets by position (tuples) or by keyword (dicts), not both")
        if not args and not kwargs:
            raise ValueError("StackDataset needs at least one dataset")
        self.datasets: Any = kwargs or args
        parts = list(kwargs.values() if kwargs else args)
        self._length = len(parts[0])
        for i, part in enumerate(parts):
            if len(part) != self._length:
                raise ValueError(f"Size mismatch between datasets: {self._length} in the first, {len(part)} at {i}")

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {key: dataset[index] for key, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: Sequence) -> list:
        if isinstance(self.datasets, dict):
            columns = [fetch_list(dataset, indices) for dataset in self.datasets.values()]
            return [dict(zip(self.datasets, row, strict=True)) for row in zip(*columns, strict=True)]
        return list(zip(*(fetch_list(dataset, indices) for dataset in self.datasets), strict=True))

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset):
    """One dataset after another.

    Raises:
        AssertionError: no dataset, or an IterableDataset.

    >>> import rushlight as rl
    >>> rl.utils.data.ConcatDataset([[1, 2], [3]])[2]
    3
    """

    def __init__(self, datasets: Iterable[Dataset]):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise AssertionError("ConcatDataset does not support IterableDataset\n  hint: use ChainDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable) -> list[int]:
        return list(accumulate(len(part) for part in sequence))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int):
        size = len(self)
        if not -size <= index < size:
            # PyTorch's types: ValueError below, IndexError above (which also ends a plain `for` over the dataset).
            kind = ValueError if index < 0 else IndexError
            raise kind(f"index {index} is out of range for a ConcatDataset of {size} samples")
        index %= size
        which = bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset):
    """One iterable dataset after another."""

    def __init__(self, datasets: Iterable[Dataset]):
        self.datasets = datasets

    def __iter__(self) -> Iterator:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(
                    f"ChainDataset only supports IterableDataset, got {type(dataset).__name__}\n"
                    "  hint: use ConcatDataset for datasets with __getitem__"
                )
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)  # type: ignore[arg-type,misc]


class Subset(Dataset):
    """The samples of `dataset` at `indices`, in that order.

    >>> import rushlight as rl
    >>> list(rl.utils.data.Subset([5, 6, 7], [2, 0]))
    [7, 5]
    """

    def __init__(self, dataset: Dataset, indices: Sequence[int]):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list:
        return fetch_list(self.dataset, [self.indices[i] for i in indices])

    def _collated(self, indices: list[int]):
        return collated(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Dataset, lengths: Sequence[int | float], generator=None) -> list[Subset]:
    """Splits a dataset at random into parts of the given lengths, or of the given fractions (which sum to 1).

    With fractions each part gets floor(fraction * len(dataset)) samples; what is left is dealt out one each, in turn.

    >>> import rushlight
    >>> from rushlight.utils.data import random_split
    >>> [len(part) for part in random_split(range(10), [0.75, 0.25], generator=rushlight.Generator().manual_seed(0))]
    [8, 2]
    """
    size = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1: {fraction}")
        counts = [math.floor(size * fraction) for fraction in lengths]
        for i in range(size - sum(counts)):
            counts[i % len(counts)] += 1
        for i, count in enumerate(counts):
            if count == 0:
                warn(f"Length of split at index {i} is 0: an empty dataset.")
    else:
        counts = list(lengths)  # type: ignore[arg-type]
    if sum(counts) != size:
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset! "
            f"Got lengths {list(lengths)} with sum {sum(counts)}, and {size} samples."
        )
    generator = rushlight.default_generator if generator is None else generator
    order = rushlight.randperm(size, generator=generator).tolist()
    ends = list(accumulate(counts))
    return [Subset(dataset, order[end - count : end]) for end, count in zip(ends, counts, strict=True)]
