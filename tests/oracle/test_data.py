"""utils.data beside PyTorch's: the order of samples, the draws of workers, what collation makes, exception types."""

import collections
import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import rushlight as rl  # noqa: E402
from rushlight.utils import data  # noqa: E402
from rushlight.vision.transforms import InterpolationMode  # noqa: E402
from rushlight.vision.transforms import functional as F  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
SIDES = ((rl, data), (torch, torch.utils.data))


def plain(value):
    """Tensors as (dtype, values), containers by their type."""
    if isinstance(value, (rl.Tensor, torch.Tensor)):
        return str(value.dtype).split(".")[-1], tuple(value.shape), value.tolist()
    if isinstance(value, collections.abc.Mapping):
        return type(value).__name__, {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(v) for v in value]
    return repr(value) if isinstance(value, np.ndarray) else value


def outcome(function, *args):
    """What a call gives, or the type of what it raises."""
    try:
        return plain(function(*args))
    except Exception as error:
        return type(error)


class Numbers:
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        return i


def iterable(side, size):
    class Stream(side.IterableDataset):
        """Unequal shares, with draws."""

        def __iter__(self):
            info = side.get_worker_info()
            start, step = (info.id, info.num_workers) if info else (0, 1)
            yield from range(start * 3, size, step)

    return Stream()


LOADERS = {
    "in order": dict(batch_size=3),
    "shuffled": dict(batch_size=3, shuffle=True),
    "drop_last": dict(batch_size=3, shuffle=True, drop_last=True),
    "single": dict(batch_size=None, shuffle=True),
}
SAMPLERS = {
    "random": lambda side, rl, n: side.RandomSampler(range(n)),
    "longer": lambda side, rl, n: side.RandomSampler(range(n), num_samples=2 * n + 3),
    "shorter": lambda side, rl, n: side.RandomSampler(range(n), num_samples=3),
    "replacement": lambda side, rl, n: side.RandomSampler(range(n), replacement=True, num_samples=71),
    "32 with replacement": lambda side, rl, n: side.RandomSampler(range(n), replacement=True, num_samples=32),
    "subset": lambda side, rl, n: side.SubsetRandomSampler(range(5, n)),
    "own generator": lambda side, rl, n: side.RandomSampler(range(n), generator=rl.Generator().manual_seed(7)),
    "batches": lambda side, rl, n: side.BatchSampler(side.RandomSampler(range(n)), 4, False),
    "weighted": lambda side, rl, n: side.WeightedRandomSampler([1.0 + i for i in range(n)], 15),
    "weighted once": lambda side, rl, n: side.WeightedRandomSampler([1.0 + i for i in range(n)], 5, False),
}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", LOADERS)
def test_order_of_batches(name, workers):
    """Two passes, what else the global generator gives after them, and a loader with a generator of its own."""
    results = []
    for package, side in SIDES:
        package.manual_seed(4)
        loader = side.DataLoader(Numbers(20), num_workers=workers, **LOADERS[name])
        seen = [plain(batch) for _ in range(2) for batch in loader] + [package.rand(3).tolist()]
        generator = package.Generator().manual_seed(5)
        loader = side.DataLoader(Numbers(20), num_workers=workers, generator=generator, **LOADERS[name])
        seen += [plain(batch) for _ in range(2) for batch in loader]
        seen += [package.rand(3, generator=generator).tolist(), package.rand(3).tolist()]
        results.append(seen)
    assert results[0] == results[1]


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers(name):
    if "weighted" in name and not hasattr(rl, "multinomial"):
        pytest.skip("needs rushlight.multinomial")
    results = []
    for package, side in SIDES:
        package.manual_seed(6)
        sampler = SAMPLERS[name](side, package, 20)
        results.append([list(sampler), list(sampler), len(sampler), package.rand(2).tolist()])
    assert results[0] == results[1]


@pytest.mark.parametrize("lengths", [[10, 13], [0.5, 0.5], [0.7, 0.2, 0.1], [0.3, 0.3, 0.3], [23], [1.0], [5, 5]])
def test_random_split(lengths):
    results = []
    for package, side in SIDES:
        package.manual_seed(8)
        results.append(outcome(lambda: [list(part) for part in side.random_split(range(23), lengths)]))  # noqa: B023
    assert results[0] == results[1]


@pytest.mark.parametrize("persistent", [False, True])
def test_draws_of_workers(persistent):
    """Python's, NumPy's and the package's generators in workers; which worker gets which sample."""
    results = []
    for package, side in SIDES:

        class Draws(Numbers):
            def __getitem__(self, i, package=package, side=side):
                info = side.get_worker_info()
                draws = random.random(), np.random.rand(), package.rand(1).item(), package.initial_seed()
                return i, info.id, info.seed, info.num_workers, *draws

        package.manual_seed(9)
        loader = side.DataLoader(
            Draws(12), batch_size=None, shuffle=True, num_workers=3, persistent_workers=persistent, prefetch_factor=1
        )
        results.append([list(loader), list(loader)])
    assert results[0] == results[1]


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
@pytest.mark.parametrize("size", [0, 7, 20])
@pytest.mark.parametrize("options", [{"batch_size": 3}, {"batch_size": None}, {"batch_size": 3, "drop_last": True}])
def test_iterable_order(workers, size, options):
    results = []
    for _, side in SIDES:
        loader = side.DataLoader(iterable(side, size), num_workers=workers, **options)
        results.append([plain(batch) for batch in loader])
    assert results[0] == results[1]


Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "make",
    [
        lambda p: [1, 2],
        lambda p: [True, False],
        lambda p: [1, 2.5],
        lambda p: [2.5, 1],
        lambda p: ["a", "b"],
        lambda p: [(1, "a"), (2, "b")],
        lambda p: [[1, 2], [3, 4]],
        lambda p: [{"a": 1, "b": [2]}, {"a": 3, "b": [4]}],
        lambda p: [collections.OrderedDict(a=1), collections.OrderedDict(a=2)],
        lambda p: [Point(1, 2.0), Point(3, 4.0)],
        lambda p: [p.ones(2), p.zeros(2)],
        lambda p: [p.ones(2), p.zeros(3)],
        lambda p: [p.tensor(1), p.tensor(2)],
        lambda p: [np.ones(2), np.zeros(2)],
        lambda p: [np.ones(2), np.zeros(3)],
        lambda p: [np.float32(1), np.float32(2)],
        lambda p: [np.int16(1), np.int16(2)],
        lambda p: [np.bool_(True)],
        lambda p: [np.array("a")],
        lambda p: [np.array([None])],
        lambda p: [None],
        lambda p: [...],
        lambda p: [range(3), range(3)],
        lambda p: [(1, 2), (3,)],
        lambda p: [(), ()],
        lambda p: [{"a": 1}, {}],
        lambda p: [],
    ],
)
def test_collation(make):
    for name in ("default_collate", "default_convert"):
        ours, theirs = (outcome(getattr(side, name), make(package)) for package, side in SIDES)
        assert ours == theirs, name


@pytest.mark.parametrize(
    "options",
    [
        dict(num_workers=-1),
        dict(timeout=-1),
        dict(prefetch_factor=2),
        dict(persistent_workers=True),
        dict(batch_size=0),
        dict(batch_size=-1),
        dict(sampler=[0], shuffle=True),
        dict(batch_sampler=[[0]], drop_last=True),
        dict(batch_size=None, drop_last=True),
        dict(num_workers=1, multiprocessing_context="nonsense"),
        dict(num_workers=1, multiprocessing_context=3),
        dict(num_workers=0, multiprocessing_context="fork"),
    ],
)
def test_types_of_errors(options):
    kinds = []
    for _, side in SIDES:
        with pytest.raises(Exception) as caught:
            list(side.DataLoader(Numbers(3), **options))
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), OSError(2, "x"), ZeroDivisionError()])
def test_types_of_workers_errors(error):
    class Failing(Numbers):
        def __getitem__(self, i):
            raise error

    for _, side in SIDES:
        with pytest.raises(type(error), match="in DataLoader worker process 0"):
            list(side.DataLoader(Failing(3), num_workers=1))


@pytest.mark.parametrize("angle", [10.0, -33.3, 123.4])
@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_rotation_is_that_of_grid_sample(angle, mode):
    """What torchvision documents for tensors: an affine grid, sampled with zeros outside."""
    image = np.random.default_rng(0).random((2, 15, 20)).astype("float32")
    cos, sin = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    # Pixels to the grid's unit square and back: only the ratio of the sides matters.
    theta = torch.tensor([[[cos, -sin * 15 / 20, 0], [sin * 20 / 15, cos, 0]]], dtype=torch.float32)
    grid = torch.nn.functional.affine_grid(theta, [1, 2, 15, 20], align_corners=False)
    expected = torch.nn.functional.grid_sample(
        torch.from_numpy(image)[None], grid, mode=mode, padding_mode="zeros", align_corners=False
    )[0].numpy()
    ours = F.rotate(rl.from_numpy(image), angle, InterpolationMode(mode)).numpy()
    differ = np.abs(ours - expected) > 1e-4
    assert differ.mean() < (0.01 if mode == "nearest" else 1e-9)
