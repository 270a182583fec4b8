"""Datasets, samplers and collation."""

import collections
import sys
import types

import numpy as np
import pytest

import rushlight as rl
from rushlight.utils import data

Point = collections.namedtuple("Point", "x y")


class Squares(data.Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return i * i


class Stream(data.IterableDataset):
    def __init__(self, *items):
        self.items = items

    def __iter__(self):
        return iter(self.items)

    def __len__(self):
        return len(self.items)


def equal(a, b):
    """Whether nested containers of tensors are the same, types included."""
    if isinstance(a, rl.Tensor):
        return isinstance(b, rl.Tensor) and a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())
    if type(a) is not type(b):
        return False
    if isinstance(a, collections.abc.Mapping):
        return list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    return a == b


# ---- datasets


def test_tensor_dataset():
    x, y = rl.arange(6).view(3, 2), rl.arange(3)
    dataset = data.TensorDataset(x, y)
    assert len(dataset) == 3
    assert equal(dataset[1], (x[1], y[1]))
    assert equal(dataset.__getitems__([2, 0]), [dataset[2], dataset[0]])
    batch = next(iter(data.DataLoader(dataset, batch_size=2)))
    assert equal(batch, [x[:2], y[:2]])


def test_a_redefined_getitem_is_not_bypassed():
    class Doubled(data.TensorDataset):
        def __getitem__(self, i):
            return tuple(2 * t for t in super().__getitem__(i))

    dataset = Doubled(rl.arange(4))
    for source in (dataset, data.Subset(dataset, [0, 1, 2, 3]), data.StackDataset(dataset)):
        (batch,) = data.DataLoader(source, batch_size=4)
        while isinstance(batch, list):
            (batch,) = batch
        assert batch.tolist() == [0, 2, 4, 6]


def test_getitems_is_used_and_checked():
    class Batched(data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            raise AssertionError

        def __getitems__(self, indices):
            return [10 * i for i in indices][: 4 if len(indices) == 2 else 2]

    assert [b.tolist() for b in data.DataLoader(Batched(), batch_size=2)] == [[0, 10], [20, 30]]
    with pytest.raises(RuntimeError, match="asked for 3 samples, returned 2"):
        next(iter(data.DataLoader(Batched(), batch_size=3)))


def test_combinations():
    squares = Squares()
    both = squares + data.Subset(squares, [9, 8])
    assert len(both) == 12 and [both[i] for i in (0, 9, 10, 11, -1)] == [0, 81, 81, 64, 64]
    assert list(Stream(1, 2) + Stream(3)) == [1, 2, 3] and len(Stream(1, 2) + Stream(3)) == 3
    assert data.StackDataset(squares, squares)[2] == (4, 4)
    assert data.StackDataset(a=squares, b=range(10)).__getitems__([2, 3]) == [{"a": 4, "b": 2}, {"a": 9, "b": 3}]
    assert data.Subset(both, [11, 0]).__getitems__([0, 1]) == [64, 0]
    assert isinstance(data.Dataset[int], types.GenericAlias)


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: data.TensorDataset(rl.zeros(2), rl.zeros(3)), AssertionError, "Size mismatch"),
        (lambda: data.StackDataset(), ValueError, "at least one"),
        (lambda: data.StackDataset(Squares(), a=Squares()), ValueError, "not both"),
        (lambda: data.StackDataset(Squares(), range(3)), ValueError, "Size mismatch"),
        (lambda: data.ConcatDataset([]), AssertionError, "empty"),
        (lambda: data.ConcatDataset([Stream()]), AssertionError, "ChainDataset"),
        (lambda: list(data.ChainDataset([Squares()])), AssertionError, "ConcatDataset"),
        (lambda: data.ConcatDataset([Squares()])[10], IndexError, "out of range"),
        (lambda: data.ConcatDataset([Squares()])[-11], ValueError, "out of range"),
        (lambda: data.Dataset()[0], NotImplementedError, "__getitem__"),
        (lambda: data.random_split(range(3), [1, 1]), ValueError, "Sum of input lengths"),
        (lambda: data.random_split(range(3), [1.5, -0.5]), ValueError, "not between 0 and 1"),
        (lambda: data.BatchSampler(range(3), 0, False), ValueError, "batch_size"),
        (lambda: data.BatchSampler(range(3), 2, None), ValueError, "drop_last"),
        (lambda: data.RandomSampler(range(3), num_samples=0), ValueError, "num_samples"),
        (lambda: data.RandomSampler(range(3), replacement=1), TypeError, "replacement"),
        (lambda: data.WeightedRandomSampler([1.0], -1), ValueError, "num_samples"),
        (lambda: data.WeightedRandomSampler([[1.0]], 1), ValueError, "one-dimensional"),
    ],
)
def test_wrong_use(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_random_split():
    parts = data.random_split(range(10), [0.5, 0.25, 0.25], generator=rl.Generator().manual_seed(1))
    assert [len(p) for p in parts] == [6, 2, 2]
    assert sorted(i for p in parts for i in p) == list(range(10))
    with pytest.warns(UserWarning, match="index 1 is 0"):
        data.random_split(range(1), [0.5, 0.5])


# ---- samplers


def test_samplers():
    generator = rl.Generator().manual_seed(0)
    assert list(data.SequentialSampler(range(3))) == [0, 1, 2]
    shuffled = data.RandomSampler(range(100), generator=generator)
    assert len(shuffled) == 100 and sorted(shuffled) == list(range(100)) and list(shuffled) != list(shuffled)
    assert len(list(data.RandomSampler(range(3), num_samples=8))) == 8
    drawn = list(data.RandomSampler(range(3), replacement=True, num_samples=70))
    assert len(drawn) == 70 and set(drawn) == {0, 1, 2}
    assert sorted(data.SubsetRandomSampler([5, 7, 9])) == [5, 7, 9]
    assert list(data.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert [len(data.BatchSampler(range(5), 2, drop)) for drop in (True, False)] == [2, 3]


@pytest.mark.skipif(not hasattr(rl, "multinomial"), reason="needs rushlight.multinomial")
def test_weighted_sampler():
    sampler = data.WeightedRandomSampler([0.0, 1.0, 0.0, 3.0], 50)
    assert set(sampler) == {1, 3} and len(list(sampler)) == len(sampler) == 50
    assert sorted(data.WeightedRandomSampler([1, 1, 1], 3, replacement=False)) == [0, 1, 2]


# ---- collation

COLLATE = [
    ([rl.ones(2), rl.zeros(2)], rl.tensor([[1.0, 1.0], [0.0, 0.0]])),
    ([1, 2], rl.tensor([1, 2])),
    ([1.5, 2.5], rl.tensor([1.5, 2.5], dtype=rl.float64)),
    ([True, False], rl.tensor([True, False])),
    (["a", "b"], ["a", "b"]),
    ([b"a", b"b"], [b"a", b"b"]),
    ([(1, "a"), (2, "b")], [rl.tensor([1, 2]), ("a", "b")]),
    ([[1, 2], [3, 4]], [rl.tensor([1, 3]), rl.tensor([2, 4])]),
    ([{"k": 1}, {"k": 2}], {"k": rl.tensor([1, 2])}),
    ([Point(1, 2.0), Point(3, 4.0)], Point(rl.tensor([1, 3]), rl.tensor([2.0, 4.0], dtype=rl.float64))),
    ([np.ones(2, "float32"), np.zeros(2, "float32")], rl.tensor([[1.0, 1.0], [0.0, 0.0]])),
    ([np.int32(1), np.int32(2)], rl.tensor([1, 2], dtype=rl.int32)),
    ([np.array(1.5), np.array(2.5)], rl.tensor([1.5, 2.5], dtype=rl.float64)),
    ([collections.OrderedDict(a=1), collections.OrderedDict(a=2)], collections.OrderedDict(a=rl.tensor([1, 2]))),
]


@pytest.mark.parametrize("samples, expected", COLLATE, ids=range(len(COLLATE)))
def test_default_collate(samples, expected):
    assert equal(data.default_collate(samples), expected)


def test_collate_keeps_a_default_factory():
    batch = data.default_collate([collections.defaultdict(list, a=1), collections.defaultdict(list, a=2)])
    assert batch["missing"] == [] and batch["a"].tolist() == [1, 2]


@pytest.mark.parametrize(
    "samples, error, words",
    [
        ([rl.ones(2), rl.ones(2), rl.ones(3)], RuntimeError, r"sample 0 .* shape \(2,\) and sample 2 has \(3,\)"),
        ([np.ones(2), np.ones((2, 1))], RuntimeError, r"\(2,\) and sample 1 has \(2, 1\)"),
        ([(1, 2), (1,)], RuntimeError, "equal size: sample 0 .* 2, sample 1 one of 1"),
        ([rl.ones(1), 3], TypeError, "sample 1 is a int"),
        ([object(), object()], TypeError, "found object"),
        ([None, None], TypeError, "found NoneType"),
        ([np.array(["a"])], TypeError, "dtype <U1"),
        ([{"a": 1}, {"b": 1}], KeyError, "sample 1 has not"),
    ],
)
def test_collate_errors(samples, error, words):
    with pytest.raises(error, match=words):
        data.default_collate(samples)


def test_collate_fn_map():
    from rushlight.utils.data._utils.collate import collate, default_collate_fn_map

    own = {Point: lambda batch, *, collate_fn_map: len(batch), **default_collate_fn_map}
    assert collate([(Point(1, 2), 1)], collate_fn_map=own)[0] == 1


def test_default_convert():
    converted = data.default_convert(
        {"a": np.ones(2), "b": ("s", 1, np.float32(2)), "c": np.array(["s"]), "d": Point(1, np.zeros(1))}
    )
    assert converted["a"].dtype == rl.float64 and converted["b"][:2] == ["s", 1] and converted["b"][2].item() == 2
    assert isinstance(converted["c"], np.ndarray) and isinstance(converted["d"], Point)


def test_import_is_light():
    import subprocess

    code = (
        "import sys, rushlight; before = set(sys.modules); import rushlight.utils.data;"
        "print([m for m in ('numpy', 'multiprocessing', 'PIL') if m in set(sys.modules) - before])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"
