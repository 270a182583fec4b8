"""Random numbers. Values come from a generator seeded before each call; tests/test_ops.py checks that the same seed
gives the same numbers and tests/oracle that they are PyTorch's. References in NumPy, where given, are written after
the generator's definition (MT19937 with NumPy's legacy seeding, ``SEED``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .core import FLOATS, INTS, Dtype, E, Error, Gen, N, Op, Sample

SEED = 12345
RANDOM = {"random": True, "layouts": ()}


def words(count: int) -> np.ndarray:
    """The generator's first 32-bit outputs."""
    state = np.random.RandomState(SEED)
    return state.randint(0, 2**32, count, dtype=np.uint64).astype(np.uint64)


def uniform(shape: tuple, dtype: str) -> np.ndarray:
    count = int(np.prod(shape))
    if dtype == "float32":
        return ((words(count) & np.uint64(2**24 - 1)) * 2.0**-24).reshape(shape)
    pairs = words(2 * count).reshape(-1, 2)
    return ((((pairs[:, 0] << np.uint64(32)) | pairs[:, 1]) & np.uint64(2**53 - 1)) * 2.0**-53).reshape(shape)


def rand_ref(*size: Any, dtype: str) -> np.ndarray:
    return uniform(tuple(size[0]) if size and isinstance(size[0], (tuple, list)) else size, dtype)


def randint_ref(low: int, high: int, size: Any, dtype: Any = None) -> np.ndarray:
    count = int(np.prod(size))
    return (words(count) % np.uint64(high - low)).astype(np.int64).reshape(size) + low


def randperm_ref(n: int, dtype: Any = None) -> np.ndarray:
    order, draws = np.arange(n), words(max(0, n - 1))
    for i in range(n - 1):
        j = i + int(draws[i]) % (n - i)
        order[i], order[j] = order[j], order[i]
    return order


def size_samples(g: Gen) -> Iterator[Sample]:
    dtype = Dtype(g.dtype)
    yield N(2, 3, dtype=dtype)
    yield N((4,), dtype=dtype)
    yield N((), dtype=dtype)
    yield N((0, 2), dtype=dtype)
    yield N(100, dtype=dtype)
    yield N([7, 1000], dtype=dtype)


def size_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, (-1,))
    yield E(TypeError, "text")


def like_samples(g: Gen) -> Iterator[Sample]:
    yield N(g(2, 3))
    yield N(g())
    yield N(g(20))


def randint_samples(g: Gen) -> Iterator[Sample]:
    yield N(0, 10, (2, 3), dtype=Dtype(g.dtype))
    yield N(3, 7, (700,), dtype=Dtype(g.dtype))
    yield N(0, 1, (), dtype=Dtype(g.dtype))


def randint_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, 3, 3, (2,))
    yield E(RuntimeError, 5, 3, (2,))
    yield E(TypeError, 5)


def filled(*args: Any) -> Callable[[Gen], Iterator[Sample]]:
    def samples(g: Gen) -> Iterator[Sample]:
        for shape in [(2, 3), (), (0,), (16,), (100,)]:
            yield N(g(*shape), *args)

    return samples


def probabilities(g: Gen) -> Iterator[Sample]:
    yield N(g(2, 3, low=0, high=1))
    yield N(g(50, low=0, high=1))
    yield N(np.zeros(3, g.np_dtype))
    yield N(np.ones(3, g.np_dtype))


def multinomial_samples(g: Gen) -> Iterator[Sample]:
    yield N(g(5, low=0.1, high=1), 3)
    yield N(g(2, 4, low=0.1, high=1), 2)
    yield N(g(5, low=0.1, high=1), 20, replacement=True)


def multinomial_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(3, low=0.1, high=1), 4)
    yield E(RuntimeError, g(3, low=0.1, high=1), 0)
    yield E(RuntimeError, g(2, 2, 2, low=0.1, high=1), 1)
    yield E(RuntimeError, np.full(3, -1.0, g.np_dtype), 1)
    yield E(RuntimeError, np.zeros(3, g.np_dtype), 1, replacement=True)


def named_dtype(sample: Sample, dtype: str) -> str:
    return str(sample.kwargs.get("dtype", dtype))


FILL = {"random": True, "view": True, "layouts": ()}

RANDOM_OPS = [
    Op("rand", size_samples, rand_ref, result=named_dtype, out=True, errors=size_errors, halves=False, **RANDOM),
    Op("randn", size_samples, None, result=named_dtype, out=True, errors=size_errors, halves=False, **RANDOM),
    Op(
        "randint",
        randint_samples,
        randint_ref,
        dtypes=(*FLOATS, *INTS),
        result=named_dtype,
        out=True,
        halves=False,
        **RANDOM,
    ).but(errors=randint_errors),
    Op(
        "randperm",
        lambda g: iter([N(n) for n in (0, 1, 2, 10, 300)]),
        randperm_ref,
        dtypes=("int64",),
        out=True,
        errors=lambda g: iter([E(RuntimeError, -1), E(TypeError, "text")]),
        **RANDOM,
    ),
    Op("rand_like", like_samples, lambda x: uniform(x.shape, "float64"), dtypes=("float64",), **RANDOM),
    Op("rand_like", like_samples, None, dtypes=("float32",), test="float32", **RANDOM),
    Op("randn_like", like_samples, None, **RANDOM),
    Op("randint_like", lambda g: iter([N(g(2, 3), 10), N(g(2, 3), 2, 10)]), None, dtypes=(*FLOATS, *INTS), **RANDOM),
    Op("bernoulli", probabilities, None, out=True, method=True, **RANDOM).but(
        errors=lambda g: iter([E(RuntimeError, np.full(2, 1.5, g.np_dtype)), E(RuntimeError, np.zeros(2, np.int64))])
    ),
    Op(
        "normal",
        lambda g: iter([N(0.0, 1.0, (3,)), N(1.0, 2.0, (20,))]),
        None,
        dtypes=("float32",),
        halves=False,
        **RANDOM,
    ),
    Op("Tensor.uniform_", filled(-1, 2), None, errors=lambda g: iter([E(RuntimeError, g(2), 2, 1)]), **FILL),
    Op("Tensor.normal_", filled(1, 2), None, errors=lambda g: iter([E(RuntimeError, g(2), 0, -1)]), **FILL),
    Op("Tensor.bernoulli_", filled(0.3), None, errors=lambda g: iter([E(RuntimeError, g(2), 1.5)]), **FILL),
    Op("Tensor.exponential_", filled(1.5), None, errors=lambda g: iter([E(RuntimeError, g(2), -1.0)]), **FILL),
    Op("Tensor.log_normal_", filled(0.5, 0.75), None, errors=lambda g: iter([E(RuntimeError, g(2), 0, -1)]), **FILL),
    Op("Tensor.cauchy_", filled(0.5, 2), None, errors=lambda g: iter([E(RuntimeError, g(2), 0, -1)]), **FILL),
    Op("Tensor.geometric_", filled(0.3), None, errors=lambda g: iter([E(RuntimeError, g(2), 1.5)]), **FILL),
    Op("poisson", lambda g: iter([N(g(2, 3, low=0)), N(g(100, low=0, high=20)), N(g(0))]), None, **RANDOM).but(
        errors=lambda g: iter([E(RuntimeError, np.full(2, -1.0, g.np_dtype))])
    ),
    Op("multinomial", multinomial_samples, None, result="int64", out=True, method=True, **RANDOM).but(
        errors=multinomial_errors
    ),
    Op("Tensor.random_", filled(), None, dtypes=("float32", "int32", "int64"), **FILL),
    Op("Tensor.random_", filled(2, 10), None, dtypes=(*FLOATS, *INTS), test="range", **FILL),
]
