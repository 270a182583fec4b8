"""DataLoader: batches of a dataset, in order, made here or by worker processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, repeat
from types import GenericAlias
from typing import Any

from ... import _C
from ..._warnings import warn
from ._utils.collate import default_collate, default_convert
from ._utils.fetch import IterableFetcher, MapFetcher
from ._utils.pin_memory import have_accelerator, pin_memory
from ._utils.worker import Restart, Result, Task, WorkerConfig
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed


class DataLoader:
    """Iterates over a dataset in batches.

    Args:
        dataset: a map-style dataset (`__getitem__`, `__len__`) or an IterableDataset.
        batch_size: samples per batch; None passes samples on one by one, uncollated.
        shuffle: reads in a new random order each time.
        sampler: an iterable of indices, instead of `shuffle`.
        batch_sampler: an iterable of lists of indices, instead of `batch_size`, `shuffle`, `sampler` and `drop_last`.
        num_workers: processes that read ahead; with 0 the loop itself reads.
        collate_fn: makes a batch of a list of samples; default_collate if not given.
        pin_memory: hands out batches in page-locked memory, where there is an accelerator.
        drop_last: leaves out a last batch that is not full.
        timeout: seconds to wait for a batch from the workers before raising RuntimeError; 0 waits for ever.
        worker_init_fn: called in each worker with its id, after seeding and before reading.
        multiprocessing_context: how workers start: "fork" (the default on Linux), "spawn", "forkserver", or a context.
        generator: draws the order and the workers' seeds, instead of the global generator.
        prefetch_factor: batches each worker reads ahead; 2 if not given.
        persistent_workers: keeps the workers from one pass to the next.
        in_order: hands out batches in the order of the sampler; False takes whichever is ready.

    Worker `i` starts with rushlight, random and (where loaded) NumPy seeded from `base_seed + i`, as in PyTorch.
    A worker's exception is raised here with the worker's traceback; a worker's death raises RuntimeError.

    >>> import rushlight
    >>> from rushlight.utils.data import DataLoader, TensorDataset
    >>> for (x,) in DataLoader(TensorDataset(rushlight.arange(5)), batch_size=2):
    ...     print(x)
    tensor([0, 1])
    tensor([2, 3])
    tensor([4])
    """

    __class_getitem__: Any = classmethod(GenericAlias)
    _frozen = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
    _iterator: _MultiProcessingDataLoaderIter | None = None
    _initialized = False

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler | Iterable | None = None,
        batch_sampler: Sampler | Iterable | None = None,
        num_workers: int = 0,
        collate_fn: Callable | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ):
        if num_workers < 0:
            raise ValueError(f"num_workers should be non-negative, got {num_workers}; 0 reads in the main process")
        if timeout < 0:
            raise ValueError(f"timeout should be non-negative, got {timeout}")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(f"prefetch_factor={prefetch_factor} needs workers\n  hint: set num_workers > 0")
        if prefetch_factor is not None and prefetch_factor <= 0:
            raise ValueError(f"prefetch_factor should be positive, got {prefetch_factor}")
        if num_workers == 0 and persistent_workers:
            raise ValueError("persistent_workers needs workers\n  hint: set num_workers > 0")

        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self.multiprocessing_context = multiprocessing_context

        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            for name, value in (("shuffle", shuffle), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value not in (None, False):
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}\n"
                        "  hint: the stream sets its own order"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None disables batching, so drop_last=True has no meaning")

        if sampler is None:
            if self._iterable:
                sampler = _Endless()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)  # type: ignore[arg-type]
            else:
                sampler = SequentialSampler(dataset)  # type: ignore[arg-type]
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self._initialized = True

    def __setattr__(self, name: str, value) -> None:
        if self._initialized and name in self._frozen:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self):
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context) -> None:
        if context is not None:
            import multiprocessing
            from multiprocessing.context import BaseContext

            if self.num_workers == 0:
                raise ValueError(
                    f"multiprocessing_context={context!r} needs workers, but num_workers={self.num_workers}\n"
                    "  hint: set num_workers > 0"
                )
            if isinstance(context, str):
                if context not in multiprocessing.get_all_start_methods():
                    raise ValueError(
                        f"multiprocessing_context={context!r} is not one of {multiprocessing.get_all_start_methods()}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, BaseContext):
                raise TypeError(
                    "multiprocessing_context should be a start method's name or a multiprocessing context, "
                    f"got {type(context).__name__}"
                )
        self._multiprocessing_context = context

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def __iter__(self) -> Iterator:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        if not self.persistent_workers:
            return _MultiProcessingDataLoaderIter(self)
        if self._iterator is None or self._iterator.broken:
            self._iterator = _MultiProcessingDataLoaderIter(self)
        else:
            self._iterator.restart()
        return self._iterator

    def __len__(self) -> int:
        """The number of batches. For an IterableDataset an estimate: workers may split the stream unevenly."""
        if not self._iterable:
            return len(self._index_sampler)
        size = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return size
        return size // self.batch_size if self.drop_last else -(-size // self.batch_size)


class _Endless(Sampler):
    """Stands in for the indices of an iterable dataset."""

    def __iter__(self):
        return repeat(None)


class _BaseDataLoaderIter:
    """What iterators with and without workers share."""

    _warned = False
    _workers = 0

    def __init__(self, loader: DataLoader):
        self._loader = loader
        self._batches = iter(loader._index_sampler)
        self._base_seed = draw_seed(loader.generator)  # before the sampler draws, as in PyTorch
        self._yielded = 0
        self._pin = bool(loader.pin_memory) and have_accelerator()
        if loader.pin_memory and not self._pin and not _BaseDataLoaderIter._warned:
            _BaseDataLoaderIter._warned = True
            warn("pin_memory=True has no effect: there is no accelerator")

    def __iter__(self):
        return self

    def __len__(self) -> int:
        return len(self._loader._index_sampler)

    def _next(self):
        raise NotImplementedError

    def __next__(self):
        with _C._Profiled(f"enumerate(DataLoader)#{type(self).__name__}.__next__"):
            batch = self._next()
        self._yielded += 1
        if self._loader._iterable:
            self._check_length()
        return pin_memory(batch) if self._pin else batch

    def _check_length(self) -> None:
        try:
            expected = len(self._loader)
        except (TypeError, NotImplementedError):  # a stream of unknown length
            return
        if self._yielded == expected + 1:
            warn(
                f"the length of {type(self._loader.dataset).__name__} promises {expected} batches, and more have come"
                + ("\n  hint: every worker streams the whole; share it out by get_worker_info()" * (self._workers > 1))
            )


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: DataLoader):
        super().__init__(loader)
        make = IterableFetcher if loader._iterable else MapFetcher
        self._fetcher = make(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def _next(self):
        return self._fetcher.fetch(next(self._batches))


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Hands batches to workers in turn, as PyTorch does, so that each worker's random draws meet the same samples."""

    def __init__(self, loader: DataLoader):
        super().__init__(loader)
        from ._utils.pool import WorkerPool

        self._workers = loader.num_workers
        self._epoch = 0
        config = WorkerConfig(
            dataset=loader.dataset,
            iterable=loader._iterable,
            batched=loader._auto_collation,
            collate_fn=loader.collate_fn,
            drop_last=loader.drop_last,
            base_seed=self._base_seed,
            num_workers=loader.num_workers,
            init_fn=loader.worker_init_fn,
        )
        self._pool = WorkerPool(config, loader.multiprocessing_context)
        self._error: str | None = None
        self._begin()

    @property
    def broken(self) -> bool:
        return self._error is not None

    def restart(self) -> None:
        """Begins the next pass with the same workers; what is left of the last pass is thrown away."""
        self._batches = iter(self._loader._index_sampler)
        self._yielded = 0
        self._epoch += 1
        for worker in range(self._workers):
            self._pool.backlog[worker].clear()
            self._pool.send(worker, Restart(self._epoch))
        self._begin()

    def _begin(self) -> None:
        self._sent = 0  # tasks handed out in this pass
        self._next_index = 0  # the task whose batch is to be handed out next
        self._tasks: dict[int, int] = {}  # outstanding or not yet handed out: task -> worker
        self._ready: dict[int, Result] = {}
        self._active = [True] * self._workers
        self._turn = cycle(range(self._workers))
        for _ in range((self._loader.prefetch_factor or 2) * self._workers):
            self._assign()

    def _assign(self) -> None:
        """Gives the next batch's indices to the next worker in turn."""
        try:
            key = next(self._batches)
        except StopIteration:
            return
        load = None
        if not self._loader.in_order:  # spread what is outstanding evenly
            counts = [0] * self._workers
            for index, worker in self._tasks.items():
                counts[worker] += index not in self._ready
            load = min((n for n, active in zip(counts, self._active, strict=True) if active), default=0)
        for _ in range(self._workers):
            worker = next(self._turn)
            if self._active[worker] and (load is None or counts[worker] <= load):
                break
        else:
            return
        self._tasks[self._sent] = worker
        self._pool.send(worker, Task(self._epoch, self._sent, key))
        self._sent += 1

    def _next(self):
        if self._error is not None:
            raise RuntimeError(self._error)
        while True:
            index = self._choose()
            if index is None:
                if not self._loader.persistent_workers:
                    self._pool.close()
                raise StopIteration
            if index in self._ready:
                result = self._ready.pop(index)
                del self._tasks[index]
                self._assign()
                if result.kind == "error":
                    result.content.reraise()
                return result.content
            self._receive()

    def _choose(self) -> int | None:
        """The task to hand out next: in order, or any that is ready. None at the end of the pass."""
        if not self._loader.in_order:
            if self._ready:
                return next(iter(self._ready))
            return next((i for i, worker in self._tasks.items() if self._active[worker]), None)
        while self._next_index < self._sent:
            worker = self._tasks.get(self._next_index)
            # Tasks given to a worker before it said that its stream is used up come to nothing.
            if worker is not None and (self._next_index in self._ready or self._active[worker]):
                return self._next_index
            self._tasks.pop(self._next_index, None)
            self._next_index += 1
        return None

    def _receive(self) -> None:
        from ._utils.pool import PoolClosedError

        timeout = self._loader.timeout
        try:
            result = self._pool.receive(timeout or None)
        except PoolClosedError:
            raise StopIteration from None
        except RuntimeError as error:
            self._error = str(error)
            self._pool.close()
            raise
        if result is None:
            worker = self._tasks[self._next_index] if self._loader.in_order else min(self._tasks.values())
            self._error = (
                f"DataLoader timed out after {timeout} seconds, "
                f"waiting for batch {self._yielded} from worker {worker}\n"
                "  hint: raise timeout, or find what keeps the dataset waiting"
            )
            self._pool.close()
            raise RuntimeError(self._error)
        if result.epoch != self._epoch:
            return
        if result.kind == "end":
            # Of a worker known to be at its end, _choose() may have struck this task off already.
            ended = self._tasks.pop(result.number, None)
            if ended is not None:
                self._active[ended] = False
            self._assign()
        else:
            self._ready[result.number] = result
