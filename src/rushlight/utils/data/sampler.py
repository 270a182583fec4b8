"""Samplers: the order in which a dataset is read. Draws are PyTorch's, so equal seeds give equal orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from types import GenericAlias
from typing import Any

import rushlight


class Sampler:
    """Base class: an iterable of indices. Subclasses define `__iter__`, and `__len__` where the length is known.

    >>> import rushlight as rl
    >>> class Backwards(rl.utils.data.Sampler):
    ...     def __init__(self, count):
    ...         self.count = count
    ...     def __iter__(self):
    ...         return iter(range(self.count - 1, -1, -1))
    >>> list(Backwards(3))
    [2, 1, 0]
    """

    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(self, data_source=None):
        pass

    def __iter__(self) -> Iterator:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__(self)")


class SequentialSampler(Sampler):
    """0, 1, 2, ...

    >>> import rushlight as rl
    >>> list(rl.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """A random order, without replacement unless asked.

    `num_samples` may exceed the dataset's length; the dataset is then shuffled and read again as often as needed.
    Without a `generator`, each pass draws the seed of one of its own from the global generator.

    Raises:
        TypeError: ``replacement`` or ``num_samples`` of another type.
        ValueError: ``num_samples`` is not above 0.

    >>> import rushlight as rl
    >>> sorted(rl.utils.data.RandomSampler(range(4)))
    [0, 1, 2, 3]
    """

    _block = 32  # how many indices PyTorch draws at a time with replacement; part of the sequence of draws

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator=None):
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement!r}")
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if num_samples is not None and (isinstance(num_samples, bool) or not isinstance(num_samples, int)):
            raise TypeError(f"num_samples should be an integer, but got num_samples={num_samples!r}")
        if num_samples is not None and num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")

    @property
    def num_samples(self) -> int:
        # Looked up each time: the dataset may grow.
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = rushlight.Generator()
            generator.manual_seed(draw_seed())
        whole, rest = divmod(self.num_samples, self._block if self.replacement else max(n, 1))
        if self.replacement:
            for _ in range(whole):
                yield from _randint(n, self._block, generator)
            yield from _randint(n, rest, generator)
        else:
            for _ in range(whole):
                yield from rushlight.randperm(n, generator=generator).tolist()
            yield from rushlight.randperm(n, generator=generator).tolist()[:rest]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The given indices in a random order.

    >>> import rushlight as rl
    >>> sorted(rl.utils.data.SubsetRandomSampler([2, 5]))
    [2, 5]
    """

    def __init__(self, indices: Sequence[int], generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in rushlight.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Draws `num_samples` indices with the given weights, which need not sum to 1.

    Raises:
        ValueError: weights of more than one dimension, or ``num_samples`` is not above 0.

    >>> import rushlight as rl
    >>> list(rl.utils.data.WeightedRandomSampler([0, 1, 0], num_samples=3))
    [1, 1, 1]
    """

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator=None):
        if isinstance(num_samples, bool) or not isinstance(num_samples, int) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples!r}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement!r}")
        self.weights = rushlight.as_tensor(weights, dtype=rushlight.float64)
        if self.weights.ndim != 1:
            raise ValueError(f"weights should be one-dimensional, but have shape {tuple(self.weights.shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = rushlight.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Groups another sampler's indices into lists of `batch_size`.

    >>> from rushlight.utils.data import BatchSampler
    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool):
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size!r}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last!r}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        n = len(self.sampler)  # type: ignore[arg-type]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


def draw_seed(generator=None) -> int:
    """A fresh seed, drawn as PyTorch draws it (one int64 of `random_`)."""
    return int(rushlight.empty((), dtype=rushlight.int64).random_(generator=generator).item())


def _randint(high: int, count: int, generator) -> list[int]:
    return rushlight.randint(0, high, (count,), dtype=rushlight.int64, generator=generator).tolist()
