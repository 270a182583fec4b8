"""The same seed gives PyTorch's numbers, call after call, and leaves PyTorch's generator state."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import rushlight as rl  # noqa: E402

SHAPES = [(), (0,), (1,), (3, 5), (16,), (17,), (4, 4, 2), (1000,), (33, 41)]
FLOATS = ["float32", "float64"]
HALVES = ["float16", "bfloat16"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8"]
NUMBERS = [*FLOATS, *HALVES, *INTEGERS, "bool"]


def weights(t, dtype, shape=(3, 40)):
    return t.from_numpy(np.random.default_rng(0).random(shape)).to(getattr(t, dtype))


def probabilities(t, dtype, shape):
    return weights(t, dtype, shape) if shape else t.tensor(0.3, dtype=getattr(t, dtype))


# name, dtypes, call with the package, the dtype's name and a shape
CALLS = [
    ("rand", [*FLOATS, *HALVES], lambda t, d, s: t.rand(s, dtype=getattr(t, d))),
    ("randn", FLOATS, lambda t, d, s: t.randn(s, dtype=getattr(t, d))),
    ("randint", NUMBERS[:-1], lambda t, d, s: t.randint(0, 100, s, dtype=getattr(t, d))),
    ("randint wide", ["int64"], lambda t, d, s: t.randint(-(2**40), 2**60, s)),
    ("uniform_", [*FLOATS, *HALVES], lambda t, d, s: t.empty(s, dtype=getattr(t, d)).uniform_(-1.3, 2.7)),
    ("normal_", FLOATS, lambda t, d, s: t.empty(s, dtype=getattr(t, d)).normal_(0.3, 2.5)),
    ("random_", NUMBERS, lambda t, d, s: t.empty(s, dtype=getattr(t, d)).random_()),
    ("random_ to", NUMBERS[:-1], lambda t, d, s: t.empty(s, dtype=getattr(t, d)).random_(100)),
    ("bernoulli_", NUMBERS, lambda t, d, s: t.empty(s, dtype=getattr(t, d)).bernoulli_(0.3)),
    ("bernoulli", [*FLOATS, *HALVES], lambda t, d, s: t.bernoulli(probabilities(t, d, s))),
    ("bernoulli_ each", FLOATS, lambda t, d, s: t.empty(s).bernoulli_(probabilities(t, d, s))),
    ("exponential_", [*FLOATS, *HALVES], lambda t, d, s: t.empty(s, dtype=getattr(t, d)).exponential_(1.7)),
    ("geometric_", NUMBERS[:-1], lambda t, d, s: t.empty(s, dtype=getattr(t, d)).geometric_(0.3)),
    ("cauchy_", [*FLOATS, *HALVES], lambda t, d, s: t.empty(s, dtype=getattr(t, d)).cauchy_(0.3, 2.5)),
    ("log_normal_", FLOATS, lambda t, d, s: t.empty(s, dtype=getattr(t, d)).log_normal_(0.3, 0.5)),
    ("poisson", FLOATS, lambda t, d, s: t.poisson(probabilities(t, d, s) * 20)),
    ("randperm", ["int64"], lambda t, d, s: t.randperm(int(np.prod(s)))),
    ("multinomial one", FLOATS, lambda t, d, s: t.multinomial(weights(t, d), 1)),
    ("multinomial", FLOATS, lambda t, d, s: t.multinomial(weights(t, d), 20)),
    ("multinomial again", FLOATS, lambda t, d, s: t.multinomial(weights(t, d), 99, replacement=True)),
    ("dropout", FLOATS, lambda t, d, s: t.nn.functional.dropout(t.ones(s, dtype=getattr(t, d)), 0.3)),
    ("rand_like", FLOATS, lambda t, d, s: t.rand_like(t.empty(s, dtype=getattr(t, d)))),
    ("randn_like", FLOATS, lambda t, d, s: t.randn_like(t.empty(s, dtype=getattr(t, d)))),
    ("randint_like", FLOATS, lambda t, d, s: t.randint_like(t.empty(s, dtype=getattr(t, d)), 50)),
    ("normal each", FLOATS, lambda t, d, s: t.normal(probabilities(t, d, s), probabilities(t, d, s))),
]
NORMAL = {"randn", "normal_", "randn_like", "normal each"}
CASES = [pytest.param(name, d, call, id=f"{name}-{d}") for name, dtypes, call in CALLS for d in dtypes]


def state(t):
    return t.get_rng_state().numpy()


def results(package, seed, calls):
    """What each call gives in float64, and the generator's state after it."""
    package.manual_seed(seed)
    for call in calls:
        x = call(package)
        yield x.to(package.float64).numpy(), state(package)


def compare(seed, calls, atol=0.0, rtol=0.0):
    for want, got in zip(list(results(torch, seed, calls)), list(results(rl, seed, calls)), strict=True):
        assert got[0].shape == want[0].shape
        np.testing.assert_allclose(got[0], want[0], atol=atol, rtol=rtol)
        np.testing.assert_array_equal(got[1], want[1])


@pytest.mark.parametrize("name,dtype,call", CASES)
def test_same_numbers(name, dtype, call):
    tolerance = (0, 0) if name not in NORMAL else (5e-6, 1e-6) if dtype == "float32" else (1e-14, 1e-14)
    for seed in (0, 7, 2**40 + 3):
        compare(seed, [lambda t, s=s: call(t, dtype, s) for s in SHAPES], *tolerance)


@pytest.mark.parametrize("name,dtype,call", CASES)
def test_same_dtype(name, dtype, call):
    assert str(call(rl, dtype, (4,)).dtype).split(".")[-1] == str(call(torch, dtype, (4,)).dtype).split(".")[-1]


LAYOUTS = {
    "transposed": lambda t: t.empty(6, 7).t(),
    "channels_last": lambda t: t.empty(2, 3, 4, 5).to(memory_format=t.channels_last),
    "every other column": lambda t: t.empty(5, 12)[:, ::2],
    "flipped around": lambda t: t.empty(3, 4, 5).permute(2, 0, 1),
    "expanded later": lambda t: t.empty(3, 1, 5).transpose(0, 2),
}
FILLS = ["uniform_", "normal_", "random_", "exponential_", "bernoulli_", "cauchy_", "log_normal_"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fill", FILLS)
def test_same_order_in_memory(layout, fill):
    compare(3, [lambda t: getattr(LAYOUTS[layout](t), fill)()], 5e-6 if fill == "normal_" else 0, 1e-6)


def test_states_are_exchanged():
    torch.manual_seed(8)
    torch.randn(3)
    taken = rl.from_numpy(state(torch))
    want = torch.randn(3), torch.rand(1000)
    rl.set_rng_state(taken)
    np.testing.assert_allclose(rl.randn(3).numpy(), want[0].numpy(), atol=2e-6)
    given = torch.from_numpy(state(rl))
    np.testing.assert_array_equal(rl.rand(1000).numpy(), want[1].numpy())
    torch.set_rng_state(given)
    np.testing.assert_array_equal(torch.rand(1000).numpy(), want[1].numpy())


@pytest.mark.parametrize("dtype", HALVES)
def test_half_normals(dtype):
    """The same to within one rounding."""
    compare(8, [lambda t, n=n: t.randn(n, dtype=getattr(t, dtype)) for n in (15, 16, 100, 1000)], 1e-3, 0.01)
