"""A part of a dataset for each of several processes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import rushlight

from .sampler import Sampler


class DistributedSampler(Sampler):
    """The indices of one process among ``num_replicas``, which together have all; each has equally many.

    Args:
        dataset: has a length.
        num_replicas: how many processes.
        rank: the number of this one, from 0.
        shuffle: in an order drawn from ``seed`` and the epoch, the same in all processes.
        drop_last: leaves indices out so that they can be shared equally; otherwise some are given twice.

    Raises:
        NotImplementedError: without ``num_replicas`` and ``rank``: there is no process group that knows them.
        ValueError: ``rank`` is not below ``num_replicas``.

    >>> from rushlight.utils.data import DistributedSampler
    >>> [list(DistributedSampler(range(5), num_replicas=2, rank=rank, shuffle=False)) for rank in (0, 1)]
    [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(
        self,
        dataset,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ):
        if num_replicas is None or rank is None:
            raise NotImplementedError(
                "DistributedSampler: there is no process group to ask for num_replicas and rank\n  hint: give both"
            )
        if not 0 <= rank < num_replicas:
            raise ValueError(f"DistributedSampler: rank is from 0 to {num_replicas - 1}, not {rank}")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self.epoch = 0
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            generator = rushlight.Generator().manual_seed(self.seed + self.epoch)
            indices = rushlight.randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        if count:
            indices *= math.ceil(self.total_size / count) or 1
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Says which epoch it is, before it begins, so that each has an order of its own."""
        self.epoch = epoch
