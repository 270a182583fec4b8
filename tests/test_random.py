"""Random numbers, held against the same draws in plain NumPy: the stream that PyTorch has for the same seed.

Normals in blocks of 16 are equal to 2e-6 + 1e-6 relative (float32) or a few units in the last place (float64), all
else bit for bit.
"""

import copy
import math
import pickle

import numpy as np
import pytest

import rushlight as rl

SEEDS = [0, 1, 12345, 2**32 + 7, 2**63]
LENGTHS = [0, 1, 15, 16, 17, 31, 100, 623, 624, 625, 5000]
FLOATS = [rl.float32, rl.float64]
HALVES = [rl.float16, rl.bfloat16]
NUMPY = {rl.float32: np.float32, rl.float64: np.float64}


class Stream:
    """MT19937 and what is made of it, draw by draw."""

    def __init__(self, seed):
        self.bits = np.random.MT19937()
        key = np.random.RandomState(seed % 2**32).get_state()[1]
        self.bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": 624}}
        self.spare = None

    def r32(self, n):
        return self.bits.random_raw(n).astype(np.uint64)

    def r64(self, n):
        words = self.r32(2 * n)
        return words[0::2] << np.uint64(32) | words[1::2]

    def uniform(self, n, dtype=rl.float64):
        if dtype is rl.float64:
            return (self.r64(n) & np.uint64(2**53 - 1)).astype(np.float64) * 2.0**-53
        return (self.r32(n) & np.uint64(2**24 - 1)).astype(np.float32) * np.float32(2.0**-24)

    def scalar_normal(self):
        if self.spare is not None:
            spare, self.spare = self.spare, None
            return spare
        u1, u2 = self.uniform(2)
        radius, angle = math.sqrt(-2 * math.log1p(-u2)), 2 * math.pi * u1
        self.spare = radius * math.sin(angle)
        return radius * math.cos(angle)

    def normal(self, n, dtype=rl.float32, contiguous=True):
        if n < 16 or not contiguous:
            return np.array([self.scalar_normal() for _ in range(n)], np.float64).astype(NUMPY[dtype])
        x = self.uniform(n, dtype)
        whole = x[: n - n % 16].reshape(-1, 16)
        x[: n - n % 16] = self._blocks(whole).ravel()
        if n % 16:
            x[-16:] = self._blocks(self.uniform(16, dtype).reshape(1, 16)).ravel()
        return x

    @staticmethod
    def _blocks(x):
        u1, u2 = 1 - x[:, :8], x[:, 8:]
        radius, angle = np.sqrt(-2 * np.log(u1)), x.dtype.type(2 * np.pi) * u2
        return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], 1)

    def integers(self, n, low, high):
        span = high - low
        draws = self.r32(n) if span < 2**28 else self.r64(n)
        return (draws % np.uint64(span)).astype(np.int64) + low

    def permutation(self, n):
        out = np.arange(n)
        for i, word in enumerate(self.r32(max(n - 1, 0)).tolist()):
            j = i + word % (n - i)
            out[i], out[j] = out[j], out[i]
        return out

    def exponential(self, n):
        return np.array([-math.log1p(-u) for u in self.uniform(n)])

    def poisson(self, rate):
        draw = lambda: self.uniform(1)[0]
        if rate == 0:
            return 0
        if rate < 10:
            k, product = 0, draw()
            while product > math.exp(-rate):
                k, product = k + 1, product * draw()
            return k
        b = 0.931 + 2.53 * math.sqrt(rate)
        a = -0.059 + 0.02483 * b
        inverse_alpha, v_r = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
        while True:
            u, v = draw() - 0.5, draw()
            s = 0.5 - abs(u)
            k = math.floor((2 * a / s + b) * u + rate + 0.43)
            if s >= 0.07 and v <= v_r:
                return k
            if k < 0 or (s < 0.013 and v > s):
                continue
            density = -rate + k * math.log(rate) - math.lgamma(k + 1)
            if math.log(v) + math.log(inverse_alpha) - math.log(a / s**2 + b) <= density:
                return k


@pytest.fixture(params=SEEDS)
def stream(request):
    rl.manual_seed(request.param)
    return Stream(request.param)


def same(got, want):
    got = got.numpy()
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want.astype(got.dtype))


def close(got, want):
    tolerance = {"atol": 2e-6, "rtol": 1e-6} if got.dtype is rl.float32 else {"atol": 4e-15, "rtol": 4e-15}
    np.testing.assert_allclose(got.numpy(), want, **tolerance)


# ------------------------------------------------------------------------------------------------ uniform and normal


@pytest.mark.parametrize("dtype", FLOATS)
def test_rand(stream, dtype):
    for n in LENGTHS:
        same(rl.rand(n, dtype=dtype), stream.uniform(n, dtype))
    same(rl.rand(3, 5, dtype=dtype), stream.uniform(15, dtype).reshape(3, 5))
    same(rl.rand_like(rl.empty(4, 2, dtype=dtype)), stream.uniform(8, dtype).reshape(4, 2))


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_between_bounds(stream, dtype):
    kind = NUMPY[dtype]
    low, high = kind(-1.3), kind(2.7)
    for n in LENGTHS:
        same(rl.empty(n, dtype=dtype).uniform_(-1.3, 2.7), stream.uniform(n, dtype) * (high - low) + low)


def test_uniform_never_gives_the_upper_bound(stream):
    x = stream.uniform(1000, rl.float32) * np.float32(2.0**-22) + np.float32(1)
    x[x == np.float32(1 + 2.0**-22)] = 1  # what rounds to the upper bound becomes the lower one
    same(rl.empty(1000).uniform_(1, 1 + 2**-22), x)


@pytest.mark.parametrize("dtype", HALVES)
def test_half_uniform_is_the_rounded_float(stream, dtype):
    x = rl.rand(5000, dtype=dtype)
    want = rl.from_numpy(stream.uniform(5000, rl.float32)).to(dtype)
    want[want == 1] = 0
    assert rl.equal(x, want)


@pytest.mark.parametrize("dtype", FLOATS)
def test_randn(stream, dtype):
    for n in LENGTHS:
        close(rl.randn(n, dtype=dtype), stream.normal(n, dtype))
    close(rl.randn(3, 7, dtype=dtype), stream.normal(21, dtype).reshape(3, 7))
    close(rl.randn_like(rl.empty(4, 2, dtype=dtype)), stream.normal(8, dtype).reshape(4, 2))


@pytest.mark.parametrize("n", [5, 40])
def test_normal_with_mean_and_std(stream, n):
    z = stream.normal(n).astype(np.float64)
    np.testing.assert_allclose(rl.empty(n).normal_(0.3, 2.5).numpy(), 0.3 + 2.5 * z, atol=5e-6, rtol=1e-6)
    z = stream.normal(n).astype(np.float64)
    np.testing.assert_allclose(rl.normal(0.3, 2.5, (n,)).numpy(), 0.3 + 2.5 * z, atol=5e-6, rtol=1e-6)
    mean = np.arange(n, dtype=np.float32)
    z = stream.normal(n).astype(np.float64)
    got = rl.normal(rl.from_numpy(mean), rl.full((n,), 2.0))
    np.testing.assert_allclose(got.numpy(), mean + 2 * z, atol=5e-6, rtol=1e-6)


def test_spare_normal_outlives_other_draws(stream):
    close(rl.randn(1), stream.normal(1))
    same(rl.rand(700), stream.uniform(700, rl.float32))
    close(rl.randn(64), stream.normal(64))  # in blocks: leaves the spare alone
    close(rl.randn(2), stream.normal(2))
    rl.randn(1)
    rl.manual_seed(3)  # forgets it
    close(rl.randn(3), Stream(3).normal(3))


@pytest.mark.parametrize("dtype", HALVES)
def test_short_half_normal_is_the_rounded_float(stream, dtype):
    assert rl.equal(rl.randn(15, dtype=dtype), rl.from_numpy(stream.normal(15)).to(dtype))


# -------------------------------------------------------------------------------------------------------- memory order


# how to make one, and its elements as they lie in memory
LAYOUTS = {
    "transposed": (lambda: rl.empty(4, 6).t(), lambda x: x.t()),
    "channels_last": (
        lambda: rl.empty(2, 3, 2, 4).to(memory_format=rl.channels_last),
        lambda x: x.permute(0, 2, 3, 1),
    ),
    "every other column": (lambda: rl.empty(4, 12)[:, ::2], lambda x: x),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fill", ["uniform_", "normal_", "random_", "exponential_", "bernoulli_"])
def test_fills_go_in_memory_order(layout, fill):
    make, in_memory = LAYOUTS[layout]
    rl.manual_seed(5)
    got = in_memory(getattr(make(), fill)()).reshape(-1)
    if fill == "normal_":  # one by one where not contiguous
        close(got, Stream(5).normal(got.numel(), contiguous=False))
    else:
        rl.manual_seed(5)
        assert rl.equal(got, getattr(rl.empty(got.numel()), fill)())


# ------------------------------------------------------------------------------------------------------------ integers


@pytest.mark.parametrize("low,high", [(0, 10), (-5, 7), (0, 2**28 - 1), (0, 2**28), (-(2**40), 2**50)])
def test_randint(stream, low, high):
    for n in (0, 1, 100, 1000):
        same(rl.randint(low, high, (n,)), stream.integers(n, low, high))
        same(rl.empty(n, dtype=rl.int64).random_(low, high), stream.integers(n, low, high))


def test_randint_forms(stream):
    same(rl.randint(10, (2, 3)), stream.integers(6, 0, 10).reshape(2, 3))
    same(rl.randint(3, 10, (4,), dtype=rl.float32), stream.integers(4, 3, 10))
    same(rl.randint_like(rl.empty(5), 100), stream.integers(5, 0, 100))
    assert rl.randint(10, (2,)).dtype is rl.int64


# dtype, the bits of one draw, the number of values
WHOLE = [
    (rl.int64, 64, 2**63),
    (rl.int32, 32, 2**31),
    (rl.int16, 32, 2**15),
    (rl.int8, 32, 2**7),
    (rl.uint8, 32, 2**8),
    (rl.bool, 32, 2),
    (rl.float64, 64, 2**53 + 1),
    (rl.float32, 32, 2**24 + 1),
    (rl.float16, 32, 2**11 + 1),
    (rl.bfloat16, 32, 2**8 + 1),
]


@pytest.mark.parametrize("dtype,bits,count", WHOLE)
def test_random_without_bounds(stream, dtype, bits, count):
    draws = (stream.r64(1000) if bits == 64 else stream.r32(1000)) % np.uint64(count)
    same(rl.empty(1000, dtype=dtype).random_().to(rl.float64), draws.astype(np.float64))


def test_random_over_all_int64(stream):
    same(rl.empty(100, dtype=rl.int64).random_(-(2**63), None), stream.r64(100).view(np.int64))


@pytest.mark.parametrize("n", [0, 1, 2, 10, 700, 3000])
def test_randperm(stream, n):
    same(rl.randperm(n), stream.permutation(n))


# ----------------------------------------------------------------------------------------------------- other families


@pytest.mark.parametrize("dtype", [*FLOATS, rl.int64, rl.uint8, rl.bool])
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_bernoulli_with_one_probability(stream, dtype, p):
    same(rl.empty(1000, dtype=dtype).bernoulli_(p), stream.uniform(1000) < p)


@pytest.mark.parametrize("dtype", FLOATS)
def test_bernoulli_of_a_tensor(stream, dtype):
    p = np.random.default_rng(0).random(1000).astype(NUMPY[dtype])
    same(rl.bernoulli(rl.from_numpy(p)), stream.uniform(1000, dtype) < p)
    same(rl.empty(1000).bernoulli_(rl.from_numpy(p)), stream.uniform(1000, dtype) < p)


@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout(stream, dtype):
    keep = stream.uniform(1000) < 0.7
    got = rl.nn.functional.dropout(rl.ones(1000, dtype=dtype), 0.3)
    np.testing.assert_allclose(got.numpy(), keep / 0.7, rtol=1e-6)
    assert ((got.numpy() != 0) == keep).all()


def test_exponential(stream):
    same(rl.empty(1000).exponential_(), stream.exponential(1000))
    np.testing.assert_allclose(
        rl.empty(1000, dtype=rl.float64).exponential_(1.7).numpy(), stream.exponential(1000) / 1.7, rtol=1e-15
    )


@pytest.mark.parametrize("dtype", [*FLOATS, rl.int64, rl.uint8])
def test_geometric(stream, dtype):
    want = [math.ceil(math.log(u) / math.log1p(-0.3)) for u in stream.uniform(1000)]
    same(rl.empty(1000, dtype=dtype).geometric_(0.3), np.array(want))


def test_cauchy(stream):
    want = [0.3 + 2.5 * math.tan(math.pi * (u - 0.5)) for u in stream.uniform(1000)]
    np.testing.assert_allclose(rl.empty(1000, dtype=rl.float64).cauchy_(0.3, 2.5).numpy(), want, rtol=1e-13, atol=1e-15)


def test_log_normal(stream):
    want = [math.exp(0.3 + 0.5 * stream.scalar_normal()) for _ in range(100)]
    np.testing.assert_allclose(rl.empty(100, dtype=rl.float64).log_normal_(0.3, 0.5).numpy(), want, rtol=1e-15)


def test_poisson(stream):
    rates = np.random.default_rng(0).random(500).astype(np.float32) * 30
    rates[::50] = 0
    same(rl.poisson(rl.from_numpy(rates)), np.array([stream.poisson(float(r)) for r in rates]))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("categories", [2, 7, 1000])
def test_multinomial(stream, dtype, categories):
    weights = np.random.default_rng(0).random((3, categories)).astype(NUMPY[dtype])
    w = rl.from_numpy(weights)

    def race(count):  # weight / exponential, the largest first
        key = weights / stream.exponential(weights.size).astype(weights.dtype).reshape(weights.shape)
        return np.argsort(-key, 1, kind="stable")[:, :count]

    same(rl.multinomial(w, 1), race(1))
    same(rl.multinomial(w, 1, replacement=True), race(1))
    few = min(categories, 20)
    same(rl.multinomial(w, few), race(few))
    below = np.cumsum(weights, 1, dtype=weights.dtype)
    below /= below[:, -1:]
    u = stream.uniform(300).reshape(3, 100)
    want = np.stack([np.searchsorted(b.astype(np.float64), v) for b, v in zip(below, u, strict=True)])
    same(rl.multinomial(w, 100, replacement=True), want)
    same(rl.multinomial(w[0], 1), np.argmax(weights[0] / stream.exponential(categories).astype(weights.dtype))[None])


# ---------------------------------------------------------------------------------------------------- generators, state


def test_generators_are_independent():
    g = rl.Generator()
    assert g.initial_seed() == 67280421310721
    assert g.manual_seed(7) is g
    rl.manual_seed(1)
    ours, theirs = Stream(1), Stream(7)
    for _ in range(3):
        same(rl.rand(5), ours.uniform(5, rl.float32))
        same(rl.rand(5, generator=g), theirs.uniform(5, rl.float32))
        close(rl.randn(20, generator=g), theirs.normal(20))
        same(rl.randint(9, (4,), generator=g), theirs.integers(4, 0, 9))
        same(rl.randperm(6, generator=g), theirs.permutation(6))
        same(rl.empty(3).uniform_(generator=g), theirs.uniform(3, rl.float32))
        same(rl.empty(3).bernoulli_(0.5, generator=g), theirs.uniform(3) < 0.5)
        close(rl.empty(3).normal_(generator=g), theirs.normal(3))


def test_seeds():
    rl.manual_seed(5)
    assert rl.initial_seed() == rl.default_generator.initial_seed() == 5
    for seed in (-1, -(2**63)):
        rl.manual_seed(seed)
        assert rl.initial_seed() == seed % 2**64
    assert rl.manual_seed(3) is rl.default_generator
    a, b = rl.seed(), rl.seed()
    assert a != b and rl.initial_seed() == b
    x = rl.rand(4)
    rl.manual_seed(b)
    assert rl.equal(rl.rand(4), x)
    g = rl.Generator()
    assert g.seed() == g.initial_seed()


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_seed_out_of_range(seed):
    with pytest.raises((ValueError, RuntimeError, OverflowError)):
        rl.manual_seed(seed)


def test_state_restores_everything():
    rl.manual_seed(11)
    for before in (0, 1, 623, 624, 700):
        rl.rand(before)
        rl.randn(1)  # leaves a spare
        state = rl.get_rng_state()
        again = [rl.randn(3), rl.rand(1000), rl.randperm(10)]
        rl.set_rng_state(state)
        assert all(rl.equal(x, y) for x, y in zip(again, [rl.randn(3), rl.rand(1000), rl.randperm(10)], strict=True))


def layout(stream, seed, drawn):
    """The bytes of a state, from their parts."""
    state = np.zeros(5056, np.uint8)
    key = stream.bits.state["state"]
    next_word = key["pos"] if drawn else 0
    state[:8] = np.array([seed], np.uint64).view(np.uint8)
    state[8:16] = np.array([625 - key["pos"], 1], np.int32).view(np.uint8)
    state[16:24] = np.array([next_word], np.uint64).view(np.uint8)
    state[24:5016] = key["key"].astype(np.uint64).view(np.uint8)
    if stream.spare is not None:
        state[5024:5032] = np.array([stream.spare]).view(np.uint8)
        state[5040:5044] = np.array([1], np.int32).view(np.uint8)
    return state


def test_state_has_the_layout_users_exchange():
    for seed in SEEDS:
        rl.manual_seed(seed)
        stream = Stream(seed)
        state = rl.get_rng_state()
        assert state.dtype is rl.uint8 and state.shape == (5056,)
        same(state, layout(stream, seed, drawn=False))
        for n in (1, 622, 1, 5, 1000):
            rl.rand(n)
            stream.r32(n)
            same(rl.get_rng_state(), layout(stream, seed, drawn=True))
        rl.randn(1)
        stream.scalar_normal()
        same(rl.get_rng_state(), layout(stream, seed, drawn=True))
        given = rl.from_numpy(layout(stream, seed, drawn=True))
        rl.manual_seed(0)
        rl.set_rng_state(given)
        assert rl.equal(rl.get_rng_state(), given)
        close(rl.randn(3), stream.normal(3))


def test_bad_states_are_refused():
    rl.manual_seed(1)
    state = rl.get_rng_state()
    wild = state.clone()
    wild[9] = 7  # more words left than there are
    for bad in (state[:10], rl.zeros(5056, dtype=rl.uint8), wild):
        with pytest.raises(RuntimeError):
            rl.set_rng_state(bad)
    with pytest.raises(TypeError):
        rl.set_rng_state(rl.zeros(5056))
    assert rl.equal(rl.get_rng_state(), state)


@pytest.mark.parametrize(
    "copied",
    [lambda g: g.clone_state(), copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))],
    ids=["clone", "deepcopy", "pickle"],
)
def test_copies_of_a_generator_go_on_alike(copied):
    g = rl.Generator().manual_seed(3)
    rl.randn(1, generator=g)
    h = copied(g)
    assert rl.equal(rl.randn(5, generator=g), rl.randn(5, generator=h))
    rl.rand(7, generator=h)
    assert not rl.equal(rl.rand(5, generator=g), rl.rand(5, generator=h))


def test_fork_rng_leaves_the_stream_alone():
    rl.manual_seed(2)
    with rl.random.fork_rng():
        rl.manual_seed(9)
        rl.rand(5)
    same(rl.rand(5), Stream(2).uniform(5, rl.float32))


# --------------------------------------------------------------------------------------------------------------- errors

ERRORS = [
    (RuntimeError, lambda: rl.empty(3).uniform_(2, 1)),
    (RuntimeError, lambda: rl.empty(3).uniform_(math.nan, 1)),
    (RuntimeError, lambda: rl.empty(3).normal_(0, -1)),
    (RuntimeError, lambda: rl.empty(3).random_(5, 5)),
    (RuntimeError, lambda: rl.empty(3).random_(0)),
    (RuntimeError, lambda: rl.empty(3, dtype=rl.uint8).random_(0, 300)),
    (RuntimeError, lambda: rl.empty(3).bernoulli_(1.5)),
    (RuntimeError, lambda: rl.bernoulli(rl.tensor([1.5]))),
    (RuntimeError, lambda: rl.empty(3).exponential_(0)),
    (RuntimeError, lambda: rl.empty(3, dtype=rl.int64).exponential_()),
    (RuntimeError, lambda: rl.empty(3).geometric_(1.0)),
    (RuntimeError, lambda: rl.empty(3).cauchy_(0, 0)),
    (RuntimeError, lambda: rl.empty(3).log_normal_(0, 0)),
    (RuntimeError, lambda: rl.poisson(rl.tensor([-1.0]))),
    (RuntimeError, lambda: rl.randint(5, 5, (2,))),
    (RuntimeError, lambda: rl.randperm(-1)),
    (RuntimeError, lambda: rl.multinomial(rl.tensor([-1.0, 2.0]), 1)),
    (RuntimeError, lambda: rl.multinomial(rl.tensor([0.0, 0.0]), 1)),
    (RuntimeError, lambda: rl.multinomial(rl.tensor([1.0, 2.0]), 3)),
    (RuntimeError, lambda: rl.multinomial(rl.tensor([1.0, 2.0]), 0)),
    (RuntimeError, lambda: rl.multinomial(rl.tensor([1, 2]), 1)),
    (NotImplementedError, lambda: rl.rand(3, dtype=rl.int64)),
    (NotImplementedError, lambda: rl.empty(3, dtype=rl.int64).normal_()),
    (NotImplementedError, lambda: rl.bernoulli(rl.tensor([1]))),
    (ValueError, lambda: rl.nn.functional.dropout(rl.ones(3), 1.5)),
]


@pytest.mark.parametrize("kind,call", ERRORS, ids=range(len(ERRORS)))
def test_errors_draw_nothing(kind, call):
    rl.manual_seed(4)
    with pytest.raises(kind):
        call()
    same(rl.rand(5), Stream(4).uniform(5, rl.float32))
