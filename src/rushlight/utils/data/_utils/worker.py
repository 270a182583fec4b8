"""What runs in a DataLoader worker process."""

from __future__ import annotations

import os
import pickle
import random
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import rushlight

from .fetch import IterableFetcher, MapFetcher


class WorkerInfo:
    """Facts about the worker this runs in: `id` (0 to num_workers - 1), `num_workers`, `seed`, `dataset`."""

    def __init__(self, id: int, num_workers: int, seed: int, dataset):
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed}, dataset={self.dataset!r})"


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a DataLoader worker, its WorkerInfo; in the main process, None.

    An IterableDataset uses it to stream only its share: `islice(stream, info.id, None, info.num_workers)`.
    """
    return _info


class Task(NamedTuple):
    epoch: int
    number: int
    key: Any  # an index, or a list of them


class Result(NamedTuple):
    epoch: int
    number: int
    kind: str  # "batch", "error", or "end" when this worker's share of an iterable dataset is used up
    content: Any


class Restart(NamedTuple):
    epoch: int


class Failure:
    """An exception on its way from a worker to the main process, with the worker's traceback as text."""

    def __init__(self, error: BaseException, where: str):
        import traceback

        self.kind: type[BaseException] = type(error)
        trace = "".join(traceback.format_exception(error)).rstrip()
        self.message = f"{self.kind.__name__} {where}:\n{trace}"
        try:
            pickle.dumps(self.kind)
        except (pickle.PicklingError, AttributeError):  # a local class cannot travel; its name is in the message
            self.kind = RuntimeError

    def reraise(self):
        raise self.build() from None

    def build(self) -> BaseException:
        if issubclass(self.kind, StopIteration):  # would end the caller's loop without a word
            return RuntimeError(self.message)
        message = _Verbatim(self.message) if issubclass(self.kind, KeyError) else self.message
        try:
            error = self.kind(message)
            if self.message in str(error):
                return error
        except Exception:  # a constructor that wants other arguments
            pass
        try:
            error = self.kind.__new__(self.kind, message)
            error.args = (message,)
            if self.message in str(error):
                return error
        except Exception:
            pass
        return RuntimeError(self.message)


class _Verbatim(str):
    """KeyError shows the repr of its argument, which would put the traceback on one line."""

    __repr__ = str.__str__


class WorkerConfig(NamedTuple):
    dataset: Any
    iterable: bool
    batched: bool
    collate_fn: Callable
    drop_last: bool
    base_seed: int
    num_workers: int
    init_fn: Callable | None


def main(config: WorkerConfig, worker_id: int, sock, parent: int) -> None:
    """Serves tasks until the main process closes the channel or dies."""
    import signal

    from .channel import Channel

    global _info
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the main process decides
    _exit_with_parent(sock, parent)
    rushlight.set_num_threads(1)
    seed = config.base_seed + worker_id
    random.seed(seed)
    rushlight.manual_seed(seed)
    seeded_numpy = _seed_numpy(config.base_seed, worker_id)
    _info = WorkerInfo(worker_id, config.num_workers, seed, config.dataset)
    channel = Channel(sock)
    where = f"in DataLoader worker process {worker_id}"

    broken: Failure | None = None  # by worker_init_fn, for good
    try:
        if config.init_fn is not None:
            config.init_fn(worker_id)
    except Exception as error:
        broken = Failure(error, where)

    def start() -> MapFetcher | IterableFetcher | Failure:
        """What the tasks of one pass are done with, or answered with."""
        make = IterableFetcher if config.iterable else MapFetcher
        try:
            return broken or make(config.dataset, config.batched, config.collate_fn, config.drop_last)
        except Exception as error:
            return Failure(error, where)

    fetcher = start()

    while True:
        try:
            message = channel.recv()
        except (EOFError, ConnectionError):
            return
        # NumPy may be imported by the dataset's first read; its global state is seeded before the second.
        seeded_numpy = seeded_numpy or _seed_numpy(config.base_seed, worker_id)
        if isinstance(message, Restart):
            fetcher = start()
            continue
        epoch, number, key = message
        if isinstance(fetcher, Failure):
            result = Result(epoch, number, "error", fetcher)
        else:
            try:
                result = Result(epoch, number, "batch", fetcher.fetch(key))
            except StopIteration:
                result = Result(epoch, number, "end", None)
            except Exception as error:
                result = Result(epoch, number, "error", Failure(error, where))
        try:
            try:
                channel.send(result)
            except ConnectionError:
                raise
            except Exception as error:  # it could not be pickled, or found no memory
                channel.send(Result(epoch, number, "error", Failure(error, f"{where}, which could not send its batch")))
        except ConnectionError:
            return
        del result, message, key  # holds no batch while waiting


def _exit_with_parent(sock, parent: int) -> None:
    """Ends this process soon after the main one, even when user code hangs or a sibling keeps the socket open."""
    import select
    import threading
    import time

    def watch():
        poll = select.poll()
        poll.register(sock.fileno(), 0)  # reports a hang-up only
        while not poll.poll(500) and os.getppid() == parent:
            pass
        time.sleep(1)  # the main loop normally sees the end itself and leaves in order
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="rushlight-exit-with-parent").start()


def _seed_numpy(base_seed: int, worker_id: int) -> bool:
    """Seeds NumPy's global generator as PyTorch does in its workers, if NumPy is loaded."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "random"):
        return False
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    numpy.random.seed(numpy.random.SeedSequence(entropy).generate_state(4))
    return True
