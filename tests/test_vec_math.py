"""Vector math in every instruction set, in units in the last place (ULP).

float32 is held against float64 NumPy and SciPy on random bit patterns, all exponents and kinds of number included;
float64 against mpmath. The set is chosen when the engine loads, so each runs in a process of its own.
More float32 patterns than a test run has time for:
`RUSHLIGHT_ISA=avx2 python tests/test_vec_math.py 5000000 [NAME...]`.
"""

import math
import os
import subprocess
import sys

import mpmath
import numpy as np
import pytest
import scipy.special as sp

SETS = ["portable", "avx2", "avx512"]


def _sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def _round_trip(f):
    return lambda *a: mpmath.mpf(float(f(*(np.float64(float(v)) for v in a))))


def _erfinv(x):
    return np.copysign(sp.erfinv(x), x)


@np.vectorize
def _lgamma(x):
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):  # at poles, and where the result is too large
        return np.inf


def _lgamma_mp(x):
    return mpmath.log(abs(mpmath.gamma(x)))


def _digamma(x):
    return np.where(x == 0, np.copysign(np.inf, -x), np.where((x < 0) & (x == np.floor(x)), np.nan, sp.psi(x)))


# Judged by 1 where smaller: near their roots they are differences of larger terms.
NEAR_ROOTS = {"lgamma", "digamma"}

# name: float64 reference, mpmath reference, domain that float64 samples come from, ULP allowed in float32, in float64
ONE = {
    "exp": (np.exp, mpmath.exp, (-745, 710), 2, 2),
    "exp2": (np.exp2, lambda x: mpmath.mpf(2) ** x, (-1074, 1024), 2, 2),
    "expm1": (np.expm1, mpmath.expm1, (-40, 709), 2, 2),
    "sinh": (np.sinh, mpmath.sinh, (-710, 710), 2, 4),
    "cosh": (np.cosh, mpmath.cosh, (-710, 710), 2, 4),
    "tanh": (np.tanh, mpmath.tanh, (-20, 20), 2, 2),
    "sigmoid": (_sigmoid, lambda x: 1 / (1 + mpmath.exp(-x)), (-740, 40), 2, 2),
    "log": (np.log, mpmath.log, (0, 10), 2, 2),
    "log2": (np.log2, lambda x: mpmath.log(x, 2), (0, 10), 2, 4),
    "log10": (np.log10, mpmath.log10, (0, 10), 2, 4),
    "log1p": (np.log1p, mpmath.log1p, (-1, 10), 2, 2),
    "asinh": (np.arcsinh, mpmath.asinh, (-100, 100), 2, 4),
    "acosh": (np.arccosh, mpmath.acosh, (1, 100), 2, 4),
    "atanh": (np.arctanh, mpmath.atanh, (-1, 1), 2, 4),
    "sin": (np.sin, mpmath.sin, (-1e6, 1e6), 2, 2),
    "cos": (np.cos, mpmath.cos, (-1e6, 1e6), 2, 2),
    "tan": (np.tan, mpmath.tan, (-1e6, 1e6), 2, 4),
    "asin": (np.arcsin, mpmath.asin, (-1, 1), 2, 4),
    "acos": (np.arccos, mpmath.acos, (-1, 1), 2, 4),
    "atan": (np.arctan, mpmath.atan, (-10, 10), 2, 4),
    "erf": (sp.erf, mpmath.erf, (-6, 6), 2, 2),
    "erfc": (sp.erfc, mpmath.erfc, (-6, 27), 2, 4),
    "erfinv": (_erfinv, mpmath.erfinv, (-1, 1), 2, 64),
    "lgamma": (_lgamma, _lgamma_mp, (-0.9, 50), 2, 64),
    "digamma": (_digamma, mpmath.digamma, (-0.9, 50), 2, 64),
    "sqrt": (np.sqrt, mpmath.sqrt, (0, 100), 0.5, 0.5),
    "rsqrt": (lambda x: 1 / np.sqrt(x), lambda x: 1 / mpmath.sqrt(x), (0, 100), 1.5, 1.5),
    "reciprocal": (lambda x: 1 / x, lambda x: 1 / x, (-10, 10), 0.5, 0.5),
    "square": (np.square, lambda x: x * x, (-10, 10), 0.5, 0.5),
    "abs": (np.abs, abs, (-10, 10), 0, 0),
    "sign": (lambda x: np.where(np.isnan(x), 0, np.sign(x)) + 0.0, mpmath.sign, (-10, 10), 0, 0),
    "floor": (np.floor, mpmath.floor, (-10, 10), 0, 0),
    "ceil": (np.ceil, mpmath.ceil, (-10, 10), 0, 0),
    "trunc": (np.trunc, _round_trip(np.trunc), (-10, 10), 0, 0),
    "round": (np.rint, mpmath.nint, (-10, 10), 0, 0),
}
TWO = {
    "pow": (np.power, mpmath.power, (0, 20), 2, 2),
    "atan2": (np.arctan2, mpmath.atan2, (-10, 10), 2, 4),
    "hypot": (np.hypot, mpmath.hypot, (-10, 10), 2, 2),
    "fmod": (np.fmod, _round_trip(np.fmod), (-50, 50), 0, 0),
    "remainder": (None, None, (-50, 50), 0, 0),  # see exact()
    "maximum": (np.maximum, max, (-10, 10), 0, 0),
    "minimum": (np.minimum, min, (-10, 10), 0, 0),
    "fmax": (np.fmax, max, (-10, 10), 0, 0),
    "fmin": (np.fmin, min, (-10, 10), 0, 0),
    "copysign": (np.copysign, _round_trip(np.copysign), (-10, 10), 0, 0),
}
SIGNED_ZERO_FREE = {"maximum", "minimum", "fmax", "fmin"}  # which zero wins is nobody's promise


def exact(name, x, y):
    """The remainder as torch.remainder defines it, in the type of x: fmod's, moved to the sign of y with a rounding."""
    r = np.fmod(x, y)
    return np.where((r != 0) & (np.signbit(r) != np.signbit(y)), r + y, r)


def samples32(n, rng):
    special = [
        0,
        1,
        2,
        0.5,
        1 / 3,
        2 / 3,
        0.75,
        1.5,
        4 / 3,
        10,
        88.72283,
        88.72284,
        87.33,
        103.97,
        104,
        9.01,
        9.1,
        3.92,
    ]
    special += [3.95, 127.99999, 128, 149, 150, 2**22, 2**23, 2**24, 1e5, 131072, 1e10, 3.4028235e38, 2**-126, 2**-149]
    special += [np.inf, np.nan, *(np.arange(1, 600) * (np.pi / 2)), *range(3, 40), *(np.arange(0, 20) + 0.5)]
    special = np.array(special, np.float32)
    special = np.concatenate([special, np.nextafter(special, np.float32(np.inf)), np.nextafter(special, np.float32(0))])
    bits = rng.integers(0, 2**32, n // 2, dtype=np.uint32).view(np.float32)
    usual = (rng.standard_normal(n // 4) * np.exp(rng.uniform(-3, 5, n // 4))).astype(np.float32)
    near_one = (
        1 + rng.standard_normal(n - n // 2 - n // 4) * np.exp2(-rng.uniform(0, 24, n - n // 2 - n // 4))
    ).astype(np.float32)
    return np.concatenate([special, -special, bits, usual, near_one])


def ulps(got, want, kind):
    """Distance in ULP of the type `kind`, infinite where only one is NaN or infinite; where zeros differ in sign."""
    info = np.finfo(kind)
    want_rounded = want.astype(kind)
    with np.errstate(all="ignore"):
        spacing = np.spacing(np.minimum(np.abs(want_rounded), info.max)).astype(np.float64)
        distance = np.abs(got.astype(np.float64) - want.astype(np.float64)) / spacing
    same = (got == want_rounded) | (np.isnan(got) & np.isnan(want))
    infinite = ~same & (np.isinf(got) | np.isinf(want_rounded) | np.isnan(got) | np.isnan(want))
    # the largest finite number beside infinity is as near as neighbours are
    edge = infinite & (np.abs(want) < 2.0**info.maxexp * (1 + info.eps)) & (np.abs(want) > info.max * (1 - info.eps))
    distance = np.where(edge, 1, np.where(infinite, np.inf, np.where(same & ~np.isfinite(want_rounded), 0, distance)))
    zeros = (got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want))
    return distance, zeros


def worst32(probe, name, n, seed=0):
    rng = np.random.default_rng(seed)
    x = samples32(n, rng)
    y = samples32(n, rng) if name in TWO else None
    if y is not None:
        y = rng.permutation(y)
        if name == "pow":  # many integers, and exponents that leave the result in range
            y[: n // 2] = np.round(y[: n // 2] % 40)
            with np.errstate(all="ignore"):
                y[n // 2 :: 2] = (rng.uniform(-104, 89, y[n // 2 :: 2].size) / np.log(np.abs(x[n // 2 :: 2]))).astype(
                    "f"
                )
        grid = np.array([0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, np.inf, -np.inf, np.nan], np.float32)
        x, y = np.concatenate([x, np.repeat(grid, grid.size)]), np.concatenate([y, np.tile(grid, grid.size)])
    got = probe(name, x, y)
    with np.errstate(all="ignore"):
        if name == "remainder":
            want = exact(name, x, y)
        elif name == "fmod":
            want = np.fmod(x, y)
        else:
            want = (ONE | TWO)[name][0](*(a.astype(np.float64) for a in (x, y) if a is not None))
    distance, zeros = ulps(got, want, np.float32)
    if name not in SIGNED_ZERO_FREE:
        distance = np.where(zeros, np.inf, distance)
    i = int(np.argmax(distance))
    return float(distance[i]), f"x={x[i]!r} y={None if y is None else y[i]!r} got={got[i]!r} want={want[i]!r}"


def worst64(probe, name, n=400, seed=1):
    rng = np.random.default_rng(seed)
    _, reference, (low, high), _, _ = (ONE | TWO)[name]
    x = rng.uniform(low, high, n)
    x[: n // 4] = rng.uniform(max(low, -1.5), min(high, 1.5), n // 4)
    x[: n // 8] *= np.exp2(-rng.uniform(0, 50, n // 8))
    if high >= 1000 and low < 0:
        x[n // 2 : n // 2 + 20] = np.round(np.arange(20) * 997) * (np.pi / 2)
    y = rng.permutation(rng.uniform(low, high, n)) if name in TWO else None
    got = probe(name, x, y)
    if name == "remainder":
        want = exact(name, x, y)
        return float(np.abs(got - want).max()), ""
    with mpmath.workprec(200):
        worst, where = 0.0, ""
        for i in range(n):
            want = reference(*(mpmath.mpf(float(a[i])) for a in (x, y) if a is not None))
            if mpmath.im(want):
                continue
            if abs(want) > np.finfo(np.float64).max:
                distance = 0.0 if np.isinf(got[i]) else np.inf
            else:
                size = max(abs(float(want)), 1.0 if name in NEAR_ROOTS else 0.0)
                distance = float(abs(mpmath.mpf(float(got[i])) - want) / mpmath.mpf(float(np.spacing(size))))
            if not distance <= worst:
                worst, where = (
                    distance,
                    f"x={x[i]!r} y={None if y is None else y[i]!r} got={got[i]!r} want={float(want)!r}",
                )
    return worst, where


def special64(probe):
    """Infinities, NaN, zeros and subnormal numbers of float64, where a wrong result is wrong by far more than ULPs."""
    grid = np.array(
        [0, 1, 5e-324, 1e-310, 2.3e-308, 1e-20, 0.3, 1.5, 40, 711, 1e5, 1e15, 1e200, 1.79e308, np.inf, np.nan]
    )
    grid = np.concatenate([grid, -grid])
    for name in [*ONE, *TWO]:
        x, y = (np.repeat(grid, grid.size), np.tile(grid, grid.size)) if name in TWO else (grid, None)
        got = probe(name, x, y)
        with np.errstate(all="ignore"):
            want = (
                exact(name, x, y)
                if name == "remainder"
                else (ONE | TWO)[name][0](*(a for a in (x, y) if a is not None))
            )
            close = np.isclose(got, want, rtol=1e-13, atol=1e-322, equal_nan=True)
        if name not in SIGNED_ZERO_FREE:
            close &= ~((got == 0) & (want == 0)) | (np.signbit(got) == np.signbit(want))
        if not close.all():
            i = int(np.argmin(close))
            yield f"{name} float64: x={x[i]!r} y={None if y is None else y[i]!r} got={got[i]!r} want={want[i]!r}"


def partial(probe):
    """Every length short of and just beyond a vector reads and writes what it should and no more."""
    for kind in (np.float32, np.float64):
        x = np.linspace(0.1, 2, 40).astype(kind)
        for n in range(40):
            got, want = probe("square", x[:n].copy(), None), x[:n] * x[:n]
            if not np.array_equal(got, want):
                yield f"square of {n} {kind.__name__}: {got} instead of {want}"


def bases(probe, isa):
    """What vec.h does: comparisons and masks, operators, reductions; for integers the wrapping and undefined cases."""
    rng = np.random.default_rng(2)
    top = 2**63 - 1
    grid = np.array([0, 1, -1, 2, -2, 3, -7, 63, 64, 65, 2**31, 2**32 + 5, top, -top, -top - 1], np.int64)
    ints = np.repeat(grid, grid.size), np.tile(grid, grid.size)
    ints = [np.concatenate([a, rng.integers(-top, top, 200, dtype=np.int64)]) for a in ints]
    grid = np.array([0.0, -0.0, 1, -1, 2.5, np.inf, -np.inf, np.nan])
    floats = np.repeat(grid, grid.size), np.tile(grid, grid.size)

    def divide(x, y):
        by = np.where((y == 0) | (y == -1), 1, y)
        toward_zero = np.array(
            [int(a) // int(b) if (a < 0) == (b < 0) else -(-int(a) // int(b)) for a, b in zip(x, by, strict=True)]
        )
        return np.where(y == 0, 0, np.where(y == -1, -x, toward_zero))

    def out_of_word(y):
        return (y < 0) | (y > 63)

    both = {
        "add": np.add,
        "subtract": np.subtract,
        "multiply": np.multiply,
        "less": np.less,
        "less_equal": np.less_equal,
        "greater": np.greater,
        "greater_equal": np.greater_equal,
        "equal": np.equal,
        "not_equal": np.not_equal,
        "maximum": np.maximum,
        "minimum": np.minimum,
    }
    only_int = {
        "divide": divide,
        "bitwise_and": np.bitwise_and,
        "bitwise_or": np.bitwise_or,
        "bitwise_xor": np.bitwise_xor,
        "left_shift": lambda x, y: np.where(out_of_word(y), 0, x << (y & 63)),
        "right_shift": lambda x, y: x >> np.where(out_of_word(y), 63, y),
    }
    only_float = {"divide": np.divide}
    one = {"abs": np.abs, "square": np.square, "sign": np.sign}
    one_float = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "signbit": np.signbit}
    for kind, (x, y), functions, singles in (
        (np.int64, ints, both | only_int, one),
        (np.float32, floats, both | only_float, one_float),
        (np.float64, floats, both | only_float, one_float),
    ):
        x, y = x.astype(kind), y.astype(kind)
        for name, reference in (functions | singles).items():
            arguments = (x,) if name in singles else (x, y)
            got, want = probe(name, x, None if name in singles else y), reference(*arguments).astype(kind)
            if not np.array_equal(got, want, equal_nan=kind != np.int64):
                i = int(np.argmin((got == want) | (got != got)))
                yield f"{name} {kind.__name__}: x={x[i]} y={y[i]} got={got[i]} want={want[i]}"
        width = {"portable": 16, "avx2": 32, "avx512": 64}[isa] // np.dtype(kind).itemsize
        x = rng.integers(-1000, 1000, 20 * width).astype(kind)
        for name in ("add", "max", "min"):
            want = np.repeat(getattr(np, {"add": "sum"}.get(name, name))(x.reshape(-1, width), axis=1), width)
            if not np.array_equal(probe(f"reduce_{name}", x, None), want):
                yield f"reduce_{name} {kind.__name__}"


def check(probe, n32, names=None):
    for name in names or [*ONE, *TWO]:
        _, _, _, limit32, limit64 = (ONE | TWO)[name]
        for bits, limit, (worst, where) in (
            (32, limit32, worst32(probe, name, n32)),
            (64, limit64, worst64(probe, name)),
        ):
            verdict = "ok  " if worst <= limit else "FAIL"
            print(f"{verdict} {name} float{bits}: {worst:.3f} of {limit} ULP at {where}")
    for complaint in [*special64(probe), *partial(probe), *bases(probe, _C._instruction_set())]:
        print("FAIL", complaint)


@pytest.mark.parametrize("isa", SETS)
def test_accuracy(isa):
    run = subprocess.run(
        [sys.executable, __file__, "60000"], env={**os.environ, "RUSHLIGHT_ISA": isa}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
    if not run.stdout:
        pytest.skip(f"this processor has no {isa}")
    failures = [line for line in run.stdout.splitlines() if line.startswith("FAIL")]
    assert not failures, "\n".join(failures)
    assert run.stdout.count("ok  ") == 2 * len(ONE | TWO)


def test_unknown_name():
    from rushlight import _C

    with pytest.raises((ValueError, RuntimeError)):
        _C._vec_math_probe("frobnicate", np.zeros(1, np.float32), None)


if __name__ == "__main__":
    np.seterr(all="ignore")
    from rushlight import _C

    if _C._instruction_set() == os.environ.get("RUSHLIGHT_ISA", _C._instruction_set()):  # the processor has it
        check(_C._vec_math_probe, int(sys.argv[1]), sys.argv[2:])


def test_gelu_of_float32():
    """It has a formula of its own for float32, good to an absolute error."""
    import rushlight as rl

    x = np.linspace(-12, 12, 400_001).astype(np.float32)
    got = rl.nn.functional.gelu(rl.from_numpy(x)).numpy()
    want = x.astype(np.float64) * sp.ndtr(x.astype(np.float64))
    error = np.abs(got - want)
    assert error.max() < 8e-7
    assert (error[x > 0] / want[x > 0]).max() < 7e-7
    ends = rl.nn.functional.gelu(rl.tensor([-1e30, -6.0, -0.0, 1e30, math.inf, math.nan])).tolist()
    assert ends[:5] == [0, 0, 0, np.float32(1e30), math.inf] and math.isnan(ends[5])
