"""Special functions, and pointwise functions that few programs use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.special

from .core import ALL, FLOATS, INTS, NUMBERS, E, Error, Gen, N, Op, S, Sample
from .pointwise import SHAPES, binary, unary

SPECIAL_FORMS = {"method": False, "inplace": False, "grad_atol": 1e-4}


def special(name: str, ref: Callable, low: float = -3, high: float = 3, **changes: Any) -> Op:
    """A row for a function of rushlight.special, which has no method."""
    changes = {"registered": (f"special_{name}",)} | SPECIAL_FORMS | changes
    return unary(f"special.{name}", ref, low, high, **changes)


def gammaln(x: np.ndarray) -> np.ndarray:
    return np.where(x == -np.inf, np.inf, scipy.special.gammaln(x))


def whole(name: str, ref: Callable) -> Op:
    return binary(name, ref, scalar=False, grad=False, result="promote", dtypes=INTS)


def heaviside_samples(g: Gen) -> Iterator[Sample]:
    yield N(g(2, 3), g(3))
    yield N(np.asarray([-1, 0, 2]).astype(g.np_dtype), g(3))
    yield N(g(0), g(1))
    yield N(g(), g(2, 2))


def heaviside_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2), g(3))
    yield E(TypeError, g(2), 1.0)
    yield E(RuntimeError, g(2), g(2).astype("float16"))


def polygamma_samples(g: Gen) -> Iterator[Sample]:
    for n in (0, 1, 2, 4):
        for shape in SHAPES:
            yield S(n, g(*shape, low=0.5, high=4))
    yield N(1, g(67, low=-3.3, high=9))
    yield N(3, g(67, low=0.1, high=40))
    yield N(2, g(0))


def mvlgamma_samples(g: Gen) -> Iterator[Sample]:
    for shape in SHAPES:
        yield S(g(*shape, low=2.3, high=5), 1)
        yield S(g(*shape, low=2.3, high=5), 3)
    yield N(g(67, low=3, high=50), 5)


def ldexp_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g(3))
    yield S(g(2, 3), np.asarray([1, 2, 3]))
    yield N(g(0), g(1))


def float_power_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3, low=0.4, high=2.5), 2)
    yield S(g(2, 3, low=0.4, high=2.5), 0.5)
    yield S(g(2, 3, low=0.4, high=2.5), g(3))
    yield S(2, g(3))
    yield N(g(0), 2)


def xlog1py_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g(3, low=-0.5, high=3))
    yield S(g(4), g(4, low=-0.5, high=3))
    yield N(np.asarray([0.0, 0.0, 1.0], g.np_dtype), np.asarray([-1.0, np.nan, -1.0], g.np_dtype))


def zeta_samples(g: Gen) -> Iterator[Sample]:
    yield N(g(2, 3, low=1.1, high=9), g(3, low=0.1, high=20))
    yield N(2, g(67, low=0.1, high=20))
    yield N(g(3, low=1.1, high=3), 1.5)
    yield N(np.asarray([1.0, 0.5, 2.0, 2.0], g.np_dtype), np.asarray([1.0, 1.0, 0.0, -1.0], g.np_dtype))


def sinc_gap(**changes: Any) -> Op:
    return unary("sinc", np.sinc, gap=0.2, special=False, **changes)


SPECIAL = [
    unary("frac", lambda x: x - np.trunc(x), gap=0.1, dtypes=FLOATS).but(
        samples=lambda g: (S(g(*shape, low=0.1, high=0.9)) for shape in [*SHAPES, (0,), (41,)])
    ),
    unary("deg2rad", np.deg2rad),
    unary("rad2deg", np.rad2deg),
    sinc_gap(),
    unary("lgamma", gammaln, 0.3, 6),
    unary("digamma", scipy.special.digamma, 0.3, 6, grad_atol=1e-4, special=False),
    unary("erfinv", scipy.special.erfinv, -0.8, 0.8),
    unary("i0", scipy.special.i0),
    unary("signbit", lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0, result="bool", grad=False).but(
        inplace=False
    ),
    unary("isposinf", lambda x: x == np.inf, result="bool", grad=False, inplace=False),
    unary("isneginf", lambda x: x == -np.inf, result="bool", grad=False, inplace=False),
    unary("isreal", np.isreal, result="bool", grad=False, inplace=False, out=False).but(errors=None),
    Op("polygamma", polygamma_samples, scipy.special.polygamma, grad=True, out=True, registered=("_polygamma",)).but(
        grad_atol=1e-3, rtol=1e-5
    ),
    Op("mvlgamma", mvlgamma_samples, scipy.special.multigammaln, grad=True, method=True, inplace=True, out=True).but(
        ref=lambda x, p: sum(scipy.special.gammaln(x - j / 2) for j in range(p)) + p * (p - 1) / 4 * np.log(np.pi)
    ),
    Op("heaviside", heaviside_samples, np.heaviside, dtypes=ALL, method=True, inplace=True, out=True).but(
        ref=lambda x, v: np.where(x == 0, v, np.where(x > 0, np.ones_like(x), np.zeros_like(x))),
        errors=heaviside_errors,
        dtypes=NUMBERS,
    ),
    binary("nextafter", None, scalar=False, special=False, grad=False, dtypes=FLOATS, result="promote"),
    whole("gcd", np.gcd),
    whole("lcm", np.lcm),
    Op(
        "ldexp",
        ldexp_samples,
        lambda a, b: a * 2.0**b,
        grad=True,
        method=True,
        inplace=True,
        out=lambda sample: sample.args[1].dtype.kind == "f",
    ),
    Op("float_power", float_power_samples, lambda a, b: np.power(np.float64(a), b), result="float64", grad=True).but(
        method=True, out=True
    ),
    special("i0e", scipy.special.i0e),
    special("i1", scipy.special.i1, special=False),
    special("i1e", scipy.special.i1e, special=False),
    special("erfcx", scipy.special.erfcx),
    special("ndtri", scipy.special.ndtri, 0.1, 0.9),
    special("log_ndtr", scipy.special.log_ndtr, special=False),
    special("entr", scipy.special.entr, 0.2, 3),
    special("ndtr", scipy.special.ndtr, registered=("ndtr",)).but(errors=None),
    special("expit", scipy.special.expit, registered=("sigmoid",)),
    special("gammaln", gammaln, 0.3, 6, registered=("lgamma",)),
    Op("special.xlog1py", xlog1py_samples, scipy.special.xlog1py, grad=True, out=True).but(
        registered=("special_xlog1py",)
    ),
    Op("special.zeta", zeta_samples, scipy.special.zeta, out=True, registered=("special_zeta",), rtol=1e-5),
]
