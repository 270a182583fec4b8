"""DataLoader: its arguments, and what it hands out, with and without workers."""

import random
import time
import warnings

import numpy as np
import pytest

import rushlight as rl
from rushlight.utils import data

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


class Count(data.Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        return i


class Stream(data.IterableDataset):
    """Each worker streams its share."""

    def __init__(self, size, share=True):
        self.size, self.share = size, share

    def __iter__(self):
        info = data.get_worker_info()
        start, step = (info.id, info.num_workers) if info and self.share else (0, 1)
        return iter(range(start, self.size, step))


class Draws(Count):
    """What a worker's generators give."""

    def __getitem__(self, i):
        info = data.get_worker_info()
        return i, info.id, info.seed, random.random(), rl.rand(()).item(), np.random.rand()


def lists(loader):
    return [batch.tolist() if isinstance(batch, rl.Tensor) else batch for batch in loader]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    "size, options, expected",
    [
        (5, {}, [[0], [1], [2], [3], [4]]),
        (5, {"batch_size": 2}, [[0, 1], [2, 3], [4]]),
        (5, {"batch_size": 2, "drop_last": True}, [[0, 1], [2, 3]]),
        (3, {"batch_size": None}, [0, 1, 2]),
        (0, {"batch_size": 2}, []),
        (5, {"batch_size": 2, "sampler": [4, 0, 1]}, [[4, 0], [1]]),
        (5, {"batch_sampler": [[4, 0], [1]]}, [[4, 0], [1]]),
        (4, {"batch_size": 2, "collate_fn": sum}, [1, 5]),
    ],
)
def test_batches(workers, size, options, expected):
    loader = data.DataLoader(Count(size), num_workers=workers, **options)
    assert lists(loader) == expected
    assert len(loader) == len(expected)
    assert lists(loader) == expected


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
@pytest.mark.parametrize("batch_size", [None, 2])
def test_iterable(workers, batch_size):
    loader = data.DataLoader(Stream(11), batch_size=batch_size, num_workers=workers)
    batches = lists(loader)
    assert sorted(np.hstack(batches).tolist()) == list(range(11))
    assert lists(data.DataLoader(Stream(3), 2, drop_last=True, num_workers=workers and 1)) == [[0, 1]]


@pytest.mark.parametrize("workers", [0, 2])
def test_shuffle_draws(workers):
    def order(seed):
        rl.manual_seed(seed)
        return sum(lists(data.DataLoader(Count(50), 8, shuffle=True, num_workers=workers)), [])

    assert order(0) == order(0) != order(1)
    generator = rl.Generator().manual_seed(3)
    before = rl.get_rng_state().tolist()
    loader = data.DataLoader(Count(50), 8, shuffle=True, num_workers=workers, generator=generator)
    assert sorted(sum(lists(loader), [])) == list(range(50))
    assert rl.get_rng_state().tolist() == before


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_contexts_and_seeds(context):
    rl.manual_seed(5)
    options = {"num_workers": 2, "multiprocessing_context": context, "batch_size": None}
    first = list(data.DataLoader(Draws(4), **options))
    rl.manual_seed(5)
    again = list(data.DataLoader(Draws(4), **options))
    assert first == again
    assert [(i, worker) for i, worker, *_ in first] == [(0, 0), (1, 1), (2, 0), (3, 1)]
    base = first[0][2]
    assert first[1][2] == base + 1
    assert len({draws for _, _, _, *rest in first for draws in rest}) == 12
    assert first[0][4] == rl.rand((), generator=rl.Generator().manual_seed(base)).item()
    assert data.get_worker_info() is None


def test_worker_init_fn_and_persistence():
    class Pids(Count):
        def __getitem__(self, i):
            import os

            return os.getpid(), self.mark

    dataset = Pids(6)

    def init(worker):
        data.get_worker_info().dataset.mark = worker

    for persistent, distinct in ((True, 2), (False, 4)):
        loader = data.DataLoader(
            dataset, batch_size=None, num_workers=2, persistent_workers=persistent, worker_init_fn=init
        )
        samples = list(loader) + list(loader)
        assert len({pid for pid, _ in samples}) == distinct and {mark for _, mark in samples} == {0, 1}


def test_persistent_workers_after_a_break():
    loader = data.DataLoader(Count(40), 2, num_workers=2, persistent_workers=True, prefetch_factor=4)
    for _ in range(3):
        for i, batch in enumerate(loader):
            assert batch.tolist() == [2 * i, 2 * i + 1]
            if i == 5:
                break
    assert len(lists(loader)) == 20
    stream = data.DataLoader(Stream(9), 2, num_workers=2, persistent_workers=True)
    assert lists(stream) == lists(stream)


def test_out_of_order():
    class Slow(Count):
        def __getitem__(self, i):
            if i == 0:
                time.sleep(0.5)
            return i

    batches = lists(data.DataLoader(Slow(8), batch_size=None, num_workers=2, in_order=False))
    assert sorted(batches) == list(range(8)) and batches[0] != 0
    assert sorted(np.hstack(lists(data.DataLoader(Stream(9), 2, num_workers=2, in_order=False)))) == list(range(9))


@pytest.mark.parametrize("in_order", [True, False])
def test_an_end_that_comes_late(in_order):
    """Tasks given to a worker whose stream is used up are struck off, whenever it answers them."""

    class LateEnd(data.IterableDataset):
        """Worker 0 gives four numbers, the last slowly; worker 1 none, and takes its time to say so again."""

        def __iter__(self):
            class Numbers:
                id, asked = data.get_worker_info().id, 0

                def __iter__(self):
                    return self

                def __next__(self):
                    self.asked += 1
                    if self.asked > 1 and self.asked == (4, 2)[self.id]:
                        time.sleep((0.4, 0.1)[self.id])
                    if self.asked > (4, 0)[self.id]:
                        raise StopIteration
                    return self.asked

            return Numbers()

    loader = data.DataLoader(LateEnd(), batch_size=None, num_workers=2, in_order=in_order, persistent_workers=True)
    for _ in range(2):
        assert list(loader) == [1, 2, 3, 4]


@pytest.mark.parametrize("size", [3, 5000, 2_000_000])
def test_what_travels(size):
    """Small messages, shared memory that is read, shared memory that is mapped."""

    class Mixed(data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return {
                "x": rl.full((size,), float(i)),
                "half": rl.ones(size, dtype=rl.bfloat16),
                "np": np.full(size, i),
                "empty": rl.empty(0, 3),
                "leaf": rl.ones(2, requires_grad=True),
                "text": "a" * size,
                "strided": rl.arange(6).view(2, 3).t(),
            }

    kept = list(data.DataLoader(Mixed(), batch_size=None, num_workers=2, collate_fn=lambda x: x))
    for i, sample in enumerate(kept):
        assert (sample["x"] == i).all() and sample["half"].dtype == rl.bfloat16 and (sample["np"] == i).all()
        assert sample["empty"].shape == (0, 3) and sample["leaf"].requires_grad and len(sample["text"]) == size
        assert sample["strided"].tolist() == [[0, 3], [1, 4], [2, 5]]
        sample["x"].add_(1)  # it can be written to
        assert (sample["x"] == i + 1).all()


def test_many_batches_are_kept():
    """Holding every batch does not hold a file descriptor for each."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(400, hard), hard))
    try:

        class Large(Count):
            def __getitem__(self, i):
                return rl.full((1 << 18,), float(i))

        batches = list(data.DataLoader(Large(500), batch_size=None, num_workers=2))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert [int(batch[-1]) for batch in batches] == list(range(500))


def test_long_messages_both_ways():
    """Neither side waits for the other to read: long lists of indices meet long results."""
    batches = [list(range(200_000))] * 8
    loader = data.DataLoader(
        Count(200_000),
        batch_sampler=batches,
        num_workers=1,
        prefetch_factor=8,
        collate_fn=lambda x: [str(x)[:60_000]] * 2,
    )
    assert len(list(loader)) == 8


def test_pin_memory_warns_once():
    from rushlight.utils.data.dataloader import _BaseDataLoaderIter

    _BaseDataLoaderIter._warned = False
    with pytest.warns(UserWarning, match="no accelerator"):
        list(data.DataLoader(Count(2), pin_memory=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(data.DataLoader(Count(2), pin_memory=True))


def test_a_wrong_length_is_warned_of():
    class Wrong(Stream):
        def __len__(self):
            return self.size

    with pytest.warns(UserWarning, match="promises 3 batches(.|\n)*share it out"):
        list(data.DataLoader(Wrong(3, share=False), num_workers=2))


@pytest.mark.parametrize(
    "options, error",
    [
        ({"num_workers": -1}, ValueError),
        ({"timeout": -1}, ValueError),
        ({"prefetch_factor": 2}, ValueError),
        ({"num_workers": 1, "prefetch_factor": 0}, ValueError),
        ({"persistent_workers": True}, ValueError),
        ({"multiprocessing_context": "fork"}, ValueError),
        ({"multiprocessing_context": "thread", "num_workers": 1}, ValueError),
        ({"multiprocessing_context": 3, "num_workers": 1}, TypeError),
        ({"shuffle": True, "sampler": [0]}, ValueError),
        ({"batch_sampler": [[0]], "batch_size": 2}, ValueError),
        ({"batch_sampler": [[0]], "shuffle": True}, ValueError),
        ({"batch_size": None, "drop_last": True}, ValueError),
        ({"batch_size": 0}, ValueError),
    ],
)
def test_wrong_arguments(options, error):
    with pytest.raises(error):
        data.DataLoader(Count(3), **options)


@pytest.mark.parametrize("option", [{"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}])
def test_a_stream_has_its_own_order(option):
    with pytest.raises(ValueError, match="IterableDataset"):
        data.DataLoader(Stream(3), **option)


def test_attributes_are_fixed():
    loader = data.DataLoader(Count(3), batch_size=2)
    with pytest.raises(ValueError, match="batch_size"):
        loader.batch_size = 3
    loader.num_workers = 1
    assert lists(loader) == [[0, 1], [2]]
