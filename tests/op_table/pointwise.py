"""Elementwise operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.special

from .core import ALL, BITS, FLOATS, INTS, NUMBERS, E, Error, Gen, N, Op, S, Sample

MATH = {"result": "float", "grad": True, "method": True, "inplace": True, "out": True, "dtypes": ALL}
SHAPES = [(5,), (2, 3), (), (1, 1), (2, 1, 3)]


def unary(
    name: str,
    ref: Callable,
    low: float = -3,
    high: float = 3,
    gap: float = 0.0,
    special: bool = True,
    **changes: Any,
) -> Op:
    """A row for a function of one tensor; ``low`` and ``high`` bound the samples that are differentiated, which keep
    ``gap`` away from a kink or a pole at zero. ``special``: try it at infinity and the like too."""

    def samples(g: Gen) -> Iterator[Sample]:
        for shape in SHAPES:
            yield S(g.away(*shape, gap=gap) if gap else g(*shape, low=low, high=high))
        yield S(g(0))
        yield N(g(2, 0, 3))
        yield N(g(67, low=low, high=high))  # several vectors and a remainder
        yield N(g(3, 41, low=low, high=high))
        if g.is_float and special:
            yield N(g.special())

    def errors(g: Gen) -> Iterator[Error]:
        yield E(TypeError, "text")
        yield E(TypeError)
        yield E(TypeError, g(2), nonsense=1)

    return Op(name, samples, ref, errors=errors, **(MATH | changes))


def binary_samples(g: Gen, a: Callable, b: Callable, scalar: bool = True) -> Iterator[Sample]:
    for left, right in [
        ((2, 3), (2, 3)),
        ((2, 3), (3,)),
        ((3,), (2, 1)),
        ((2, 1, 3), (4, 1)),
        ((), (2, 2)),
        ((2, 2), ()),
        ((), ()),
        ((1,), (3,)),
    ]:
        yield S(a(*left), b(*right))
    for left, right in [((0,), (1,)), ((2, 0), (2, 1)), ((0, 3), (3,)), ((67,), (67,)), ((3, 41), (3, 1))]:
        yield N(a(*left), b(*right))
    if scalar:
        yield S(a(2, 3), g.scalar())
        yield S(a(), g.scalar(0.5, 3))


def broadcast_errors(g: Gen) -> Iterator[Error]:
    yield Error(RuntimeError, S(g(2, 3), g(2)))
    yield Error(RuntimeError, S(g(2, 3), g(4, 2, 2)))
    yield E(TypeError, g(2), "text")
    yield E(TypeError, g(2))
    yield E(TypeError, g(2), None)
    yield E(TypeError, g(2), g(2), nonsense=1)


def binary(
    name: str,
    ref: Callable,
    left: Callable[[Gen], Callable] = lambda g: g,
    right: Callable[[Gen], Callable] = lambda g: g,
    scalar: bool = True,
    extra: Callable[[Gen], Iterator[Sample]] | None = None,
    special: bool = True,
    **changes: Any,
) -> Op:
    """A row for a function of two tensors, the second of which may be a number if ``scalar``."""

    def samples(g: Gen) -> Iterator[Sample]:
        yield from binary_samples(g, left(g), right(g), scalar)
        if g.is_float and special:
            yield N(g.special(), np.asarray([0.5], g.np_dtype))
            yield N(g.special(), g.special()[::-1].copy())
        if extra:
            yield from extra(g)

    return Op(name, samples, ref, errors=broadcast_errors, **(MATH | {"result": "promote"} | changes))


def arithmetic(name: str, ref: Callable, **changes: Any) -> Op:
    return binary(name, ref, **({"result": "promote"} | changes))


def comparison(name: str, ref: Callable) -> Op:
    def extra(g: Gen) -> Iterator[Sample]:
        same = g(4)
        yield N(same, same.copy())
        yield N(g(3), 0)
        yield N(g(3), 1.5)

    return binary(name, ref, extra=extra, result="bool", grad=False, inplace=True)


def scaled(ref: Callable) -> Callable:
    return lambda a, b, *, alpha=1: ref(a, b if alpha == 1 else b * alpha)


def alpha_samples(g: Gen) -> Iterator[Sample]:
    if g.dtype != "bool":
        yield S(g(2, 3), g(3), alpha=2)
        yield S(g(2, 3), g.scalar(), alpha=3)
    if g.is_float:
        yield S(g(2, 3), g(2, 1), alpha=-0.5)


def div_ref(a: Any, b: Any, *, rounding_mode: str | None = None) -> Any:
    if rounding_mode is None:
        return np.true_divide(a, b)
    exact = np.floor_divide(a, b) if np.result_type(a, b).kind in "iu" else np.true_divide(a, b)
    if rounding_mode == "floor":
        return exact if exact.dtype.kind in "iu" else np.floor(exact)
    if exact.dtype.kind in "iu":
        return np.trunc(np.true_divide(a, b)).astype(exact.dtype)
    return np.trunc(exact)


def div_samples(g: Gen) -> Iterator[Sample]:
    yield N(g.away(3), g.away(2, 1), rounding_mode=None)
    if g.dtype != "bool":
        for mode in ("floor", "trunc"):
            yield N(
                np.asarray([7, 1, 2, 5, 0], g.np_dtype), np.asarray([2, 3, 2, 3, 4], g.np_dtype), rounding_mode=mode
            )
            if g.dtype != "uint8":
                a, b = np.asarray([7, -7, -8, 5, 0], g.np_dtype), np.asarray([-2, 2, -3, 5, 4], g.np_dtype)
                yield N(a, b, rounding_mode=mode)


def div_result(sample: Sample, dtype: str) -> str:
    if sample.kwargs.get("rounding_mode"):
        return dtype
    return dtype if dtype in FLOATS else "float32"


def pow_samples(g: Gen) -> Iterator[Sample]:
    if g.is_float:
        for exponent in (0, 1, 2, 3, -1, 0.5, -2.5, 2.0):
            yield S(g(4, low=0.3, high=2.5), exponent)
        yield S(g(2, 2), 2)
        yield S(g(2, 2), 3)
        yield N(g.special(), 2)
        yield N(g.special(), 0)
        yield N(g.special(), -1)
        yield N(g.special(), 0.5)
        yield S(2.5, g(3))
    elif g.dtype != "bool":
        yield N(g(4), 2)
        yield N(g(4), 0)
        yield N(g(4), 3)
        yield N(2, g(3, low=0, high=4))


def activation(name: str, ref: Callable, parameters: tuple = ()) -> Op:
    """A row for a function of nn.functional, tried with its defaults and with ``parameters``."""

    def samples(g: Gen) -> Iterator[Sample]:
        for shape in SHAPES:
            yield S(g.away(*shape, gap=0.1))
            yield S(g.away(*shape, gap=0.1), *parameters)
        yield N(g(2, 0))
        yield N(g(67))

    return Op(f"nn.functional.{name}", samples, ref, grad=True)


def floor_divide_ref(a: Any, b: Any) -> Any:
    exact = np.floor_divide(a, b)
    return exact if exact.dtype.kind in "iu" else np.floor(np.true_divide(a, b))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return scipy.special.expit(x)


def gelu_ref(x: np.ndarray, approximate: str = "none") -> np.ndarray:
    if approximate == "tanh":
        # At minus infinity both forms have the limit 0, but PyTorch's tanh form multiplies it out to nan.
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * scipy.special.ndtr(x)


def gelu_samples(g: Gen) -> Iterator[Sample]:
    for shape in SHAPES:
        yield S(g(*shape))
        yield S(g(*shape), approximate="tanh")
    yield S(g(2, 0))
    yield N(g(67))
    yield N(g(67), approximate="tanh")


def softplus_ref(x: np.ndarray, beta: float = 1, threshold: float = 20) -> np.ndarray:
    return np.where(x * beta > threshold, x, np.logaddexp(0, x * beta) / beta)


def softplus_samples(g: Gen) -> Iterator[Sample]:
    for shape in SHAPES:
        yield S(g(*shape))
    yield S(g(4), beta=2)
    yield S(g(4), 0.5, 1.0)
    yield S(g(4, low=25, high=30), threshold=20)
    yield N(g(0, 3))
    yield N(g(67))


def clamp_ref(x: np.ndarray, min: Any = None, max: Any = None) -> np.ndarray:
    if min is not None:
        x = np.maximum(x, min)
    return x if max is None else np.minimum(x, max)


def clamp_samples(g: Gen) -> Iterator[Sample]:
    low, high = (-1.03, 1.21) if g.is_float else (1, 2)
    for shape in SHAPES:
        yield S(g(*shape), low, high)
    yield S(g(4), min=low)
    yield S(g(4), max=high)
    yield S(g(4), None, high)
    yield S(g(4), high, low)  # the upper bound wins
    yield S(g.distinct(2, 3), min=g.distinct(3))
    yield S(g.distinct(2, 3), g.distinct(2, 1), g.distinct(3))
    yield N(g(0), low, high)
    if g.is_float:
        yield N(g.special(), -1.0, 1.0)
        yield N(g(3), np.asarray([np.nan, 0, 1], g.np_dtype))
        yield N(np.asarray([-1.0, 0.0, 1.0], g.np_dtype), -1.0, 1.0)


def clamp_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2))
    yield E(TypeError, g(2), "text")
    yield Error(RuntimeError, S(g(2), g(3)))


def where_samples(g: Gen) -> Iterator[Sample]:
    yield S(g.mask(2, 3), g(2, 3), g(2, 3))
    yield S(g.mask(3), g(2, 1), g(2, 3))
    yield S(g.mask(2, 1), g(3), g())
    yield S(g.mask(), g(), g())
    yield S(g.mask(3), g(3), g.scalar())
    yield S(g.mask(3), g.scalar(), g(3))
    yield N(g.mask(0), g(1), g(0))
    yield N(g.mask(67), g(67), g(67))


def where_errors(g: Gen) -> Iterator[Error]:
    yield Error(RuntimeError, S(g.mask(2), g(3), g(3)))
    yield E(TypeError, g.mask(2), "text", g(2))
    yield Error(RuntimeError, S(g(2).astype("float32"), g(2), g(2)))


def lerp_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g(2, 3), 0.3)
    yield S(g(2, 3), g(3), 0.8)
    yield S(g(2, 3), g(2, 1), g(3))
    yield S(g(3), g(3), g())
    yield S(g(), g(), 0.5)
    yield S(g(), g(2), g(2))
    yield N(g(0), g(0), 0.5)
    yield N(g(67), g(67), g(67, low=0, high=1))
    yield N(g(4), g(4), 0.0)
    yield N(g(4), g(4), 1.0)


def lerp_errors(g: Gen) -> Iterator[Error]:
    yield Error(RuntimeError, S(g(2), g(3), 0.5))
    yield E(TypeError, g(2), g(2))
    yield E(RuntimeError, g(2), g(2).astype("int64"), 0.5)


def addcmul_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g(2, 3), g(2, 3))
    yield S(g(2, 3), g(3), g(2, 1))
    yield S(g(3), g(2, 1), g(3))
    yield S(g(2, 3), g(2, 3), g(3), value=2)
    yield S(g(), g(), g())
    yield N(g(0), g(0), g(1))
    yield N(g(67), g(67), g(67))
    if g.is_float:
        yield S(g(2, 3), g(3), g(2, 3), value=-0.5)


def addcdiv_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g(2, 3), g.away(2, 3))
    yield S(g(2, 3), g(3), g.away(2, 1))
    yield S(g(2, 3), g(2, 3), g.away(3), value=2)
    yield S(g(), g(), g.away())
    yield N(g(0), g(0), g(1))
    yield N(g(67), g(67), g.away(67))


def ternary_errors(g: Gen) -> Iterator[Error]:
    yield Error(RuntimeError, S(g(2), g(3), g(2)))
    yield E(TypeError, g(2), g(2))
    yield E(TypeError, g(2), g(2), "text")


def closeness_samples(g: Gen) -> Iterator[Sample]:
    a = g(4)
    yield N(a, a.copy())
    yield N(a, g(4))
    yield N(g(2, 3), g(3))
    yield N(np.asarray([1.0, np.inf, np.nan], g.np_dtype), np.asarray([1.000001, np.inf, np.nan], g.np_dtype))
    yield N(a, a + 0.01, rtol=0.0, atol=0.1)
    yield N(np.asarray([np.nan], g.np_dtype), np.asarray([np.nan], g.np_dtype), equal_nan=True)


def nan_to_num_samples(g: Gen) -> Iterator[Sample]:
    for shape in SHAPES:
        yield S(g(*shape))
    yield N(g.special())
    yield N(g.special(), nan=1.5, posinf=2.5, neginf=-3.5)
    yield N(g(0))


def logit_samples(g: Gen) -> Iterator[Sample]:
    for shape in SHAPES:
        yield S(g(*shape, low=0.1, high=0.9))
    yield S(g(4, low=0.3, high=0.7), eps=0.2)
    yield N(np.asarray([0.0, 0.5, 1.0, 2.0], g.np_dtype), 0.25)
    yield N(np.asarray([0.0, 0.5, 1.0, 2.0], g.np_dtype))
    yield N(g(0))


def logit_ref(x: np.ndarray, eps: float | None = None) -> np.ndarray:
    x = x if eps is None else np.clip(x, eps, 1 - eps)
    return np.log(x / (1 - x))


def one_sided_samples(g: Gen) -> Iterator[Sample]:
    for shape in SHAPES:
        yield S(g.distinct(*shape), 1)
    yield S(g.distinct(2, 3), g.distinct(3))
    yield S(g.distinct(), g.distinct(2, 1))
    yield N(g(0), 1)
    yield N(g(67), 1)


def rsub_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g(3))
    yield S(g(2, 3), 2)
    yield S(g(2, 3), g(2, 1), alpha=2)
    yield N(g(0), g(1))


def relu_samples(g: Gen) -> Iterator[Sample]:
    for shape in SHAPES:
        yield S(g.away(*shape, gap=0.1))
    yield N(g(2, 0))
    yield N(g(67))
    yield N(np.zeros(3, g.np_dtype))
    if g.is_float:
        yield N(g.special())


def logical(name: str, ref: Callable) -> Op:
    return binary(name, ref, scalar=False, result="bool", grad=False)


def shift_samples(g: Gen) -> Iterator[Sample]:
    yield N(g(2, 3, low=0), g(3, low=0, high=3))
    yield N(g(2, 3, low=0), 2)


def bitwise(name: str, ref: Callable) -> Op:
    def errors(g: Gen) -> Iterator[Error]:
        yield from broadcast_errors(g)
        yield Error((RuntimeError), S(np.ones(2, np.float32), np.ones(2, np.float32)))

    return binary(name, ref, result="promote", grad=False, dtypes=BITS).but(errors=errors)


def rsqrt(x: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt(x)


def away(gap: float = 0.4) -> Callable[[Gen], Callable]:
    return lambda g: lambda *shape: g.away(*shape, gap=gap)


def positive(g: Gen) -> Callable:
    return lambda *shape: g(*shape, low=0.4, high=2.5)


def small(g: Gen) -> Callable:
    return lambda *shape: g(*shape, low=0, high=2) if not g.is_float else g(*shape, low=-2, high=2)


def distinct_pair(g: Gen) -> Iterator[Sample]:
    same = g(4)
    yield N(same, same.copy())


def bitwise_not_samples(g: Gen) -> Iterator[Sample]:
    yield from (N(g(*shape)) for shape in [*SHAPES, (0,), (67,)])


def as_numpy(name: str) -> Callable:
    return lambda x, *args, **kwargs: getattr(np, name)(x, *args, **kwargs)


POINTWISE = [
    unary("abs", np.abs, gap=0.3, result="same", dtypes=NUMBERS),
    unary("neg", np.negative, result="same", dtypes=NUMBERS),
    unary("exp", np.exp),
    unary("log", np.log, 0.3, 4),
    unary("sqrt", np.sqrt, 0.3, 4),
    unary("rsqrt", rsqrt, 0.3, 4),
    unary("sin", np.sin),
    unary("cos", np.cos),
    unary("tanh", np.tanh),
    unary("sigmoid", sigmoid),
    unary("erf", scipy.special.erf),
    unary("sign", lambda x: np.nan_to_num(np.sign(x)), gap=0.3, result="same", dtypes=NUMBERS),
    unary("square", np.square, result="same", dtypes=NUMBERS),
    unary("reciprocal", np.reciprocal, gap=0.4),
    unary("exp2", np.exp2),
    unary("expm1", np.expm1),
    unary("log2", np.log2, 0.3, 4),
    unary("log10", np.log10, 0.3, 4),
    unary("log1p", np.log1p, -0.6, 4),
    unary("tan", np.tan, -1.2, 1.2),
    unary("asin", np.arcsin, -0.8, 0.8),
    unary("acos", np.arccos, -0.8, 0.8),
    unary("atan", np.arctan),
    unary("sinh", np.sinh),
    unary("cosh", np.cosh),
    unary("asinh", np.arcsinh),
    unary("acosh", np.arccosh, 1.3, 4),
    unary("atanh", np.arctanh, -0.8, 0.8),
    unary("erfc", scipy.special.erfc),
    unary("floor", np.floor, result="same", dtypes=NUMBERS),
    unary("ceil", np.ceil, result="same", dtypes=NUMBERS),
    unary("trunc", np.trunc, result="same", dtypes=NUMBERS),
    unary("round", np.round, result="same", dtypes=NUMBERS),
    unary("isnan", np.isnan, result="bool", grad=False, inplace=False, out=False),
    unary("isinf", np.isinf, result="bool", grad=False, inplace=False, out=False),
    unary("isfinite", np.isfinite, result="bool", grad=False, inplace=False, out=False),
    activation("silu", lambda x: x * scipy.special.expit(x)),
    activation("leaky_relu", lambda x, slope=0.01: np.where(x > 0, x, x * slope), (0.2,)),
    activation("elu", lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))), (0.5,)),
    activation("hardtanh", lambda x, low=-1.0, high=1.0: np.clip(x, low, high), (-0.53, 0.71)),
    unary("logical_not", np.logical_not, result="bool", grad=False),
    Op("bitwise_not", bitwise_not_samples, np.invert, dtypes=BITS, method=True, inplace=True, out=True),
    Op(
        "relu",
        relu_samples,
        lambda x: np.maximum(x, x.dtype.type(0)),
        dtypes=NUMBERS,
        grad=True,
        method=True,
        inplace=True,
    ),
    Op("nn.functional.gelu", gelu_samples, gelu_ref, grad=True),
    Op("nn.functional.softplus", softplus_samples, softplus_ref, grad=True),
    activation("softsign", lambda x: x / (1 + np.abs(x))).but(
        dtypes=NUMBERS, result="float", errors=lambda g: iter([E(NotImplementedError, g.mask(2))])
    ),
    Op(
        "clamp",
        clamp_samples,
        clamp_ref,
        dtypes=NUMBERS,
        grad=True,
        method=True,
        inplace=True,
        out=True,
        errors=clamp_errors,
    ),
    arithmetic("add", scaled(np.add), extra=alpha_samples),
    arithmetic("sub", scaled(np.subtract), extra=alpha_samples, dtypes=NUMBERS),
    arithmetic("mul", np.multiply),
    binary("div", div_ref, right=away(), extra=div_samples, result=div_result),
    binary("pow", np.power, positive, small, extra=pow_samples, scalar=False, special=False, dtypes=NUMBERS),
    binary("maximum", np.maximum, scalar=False, extra=distinct_pair, inplace=False),
    binary("minimum", np.minimum, scalar=False, extra=distinct_pair, inplace=False),
    binary("atan2", np.arctan2, away(), away(), scalar=False, result="promote_float"),
    binary("floor_divide", floor_divide_ref, right=away(), special=False, grad=False, dtypes=NUMBERS),
    binary("remainder", np.remainder, right=away(), special=False, dtypes=NUMBERS),
    binary("fmod", np.fmod, right=away(), special=False, dtypes=NUMBERS),
    comparison("eq", np.equal),
    comparison("ne", np.not_equal),
    comparison("lt", np.less),
    comparison("le", np.less_equal),
    comparison("gt", np.greater),
    comparison("ge", np.greater_equal),
    logical("logical_and", np.logical_and),
    logical("logical_or", np.logical_or),
    logical("logical_xor", np.logical_xor),
    bitwise("bitwise_and", np.bitwise_and),
    bitwise("bitwise_or", np.bitwise_or),
    bitwise("bitwise_xor", np.bitwise_xor),
    Op("bitwise_left_shift", shift_samples, np.left_shift, dtypes=INTS, method=True, inplace=True, out=True),
    Op("bitwise_right_shift", shift_samples, np.right_shift, dtypes=INTS, method=True, inplace=True, out=True),
    Op(
        "where",
        where_samples,
        np.where,
        dtypes=ALL,
        grad=True,
        out=lambda sample: all(isinstance(a, np.ndarray) for a in sample.args),
        errors=where_errors,
    ),
    Op("lerp", lerp_samples, lambda a, b, w: a + w * (b - a), grad=True, method=True, inplace=True, out=True).but(
        errors=lerp_errors
    ),
    Op(
        "addcmul",
        addcmul_samples,
        lambda x, a, b, *, value=1: x + value * a * b,
        dtypes=NUMBERS,
        grad=True,
        method=True,
        inplace=True,
        out=True,
        errors=ternary_errors,
    ),
    Op(
        "addcdiv",
        addcdiv_samples,
        lambda x, a, b, *, value=1: x + value * a / b,
        grad=True,
        method=True,
        inplace=True,
        out=True,
        errors=ternary_errors,
    ),
    activation("mish", lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    activation("hardsigmoid", lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    activation("hardswish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    activation("logsigmoid", lambda x: -np.logaddexp(0, -x)).but(registered=("log_sigmoid",)),
    activation("threshold", lambda x, t, v: np.where(x > t, x, v), (0.05, 2.0)).but(
        samples=lambda g: (S(g.away(*shape, gap=0.1), 0.05, 2.0) for shape in [*SHAPES, (2, 0)])
    ),
    binary("fmax", np.fmax, scalar=False, extra=distinct_pair, inplace=False),
    binary("fmin", np.fmin, scalar=False, extra=distinct_pair, inplace=False),
    binary("hypot", np.hypot, away(), away(), scalar=False, dtypes=FLOATS),
    binary("copysign", np.copysign, away(), away(), dtypes=FLOATS),
    binary("logaddexp", np.logaddexp, scalar=False, inplace=False, dtypes=FLOATS),
    binary("logaddexp2", np.logaddexp2, scalar=False, inplace=False, dtypes=FLOATS),
    binary("xlogy", scipy.special.xlogy, positive, positive, scalar=False, special=False, dtypes=FLOATS),
    Op("isclose", closeness_samples, np.isclose, result="bool", method=True).but(
        registered=("isclose", "allclose", "equal")  # the other two give a Python bool
    ),
    Op("clamp_min", one_sided_samples, np.maximum, dtypes=NUMBERS, grad=True, method=True, inplace=True, out=True),
    Op("clamp_max", one_sided_samples, np.minimum, dtypes=NUMBERS, grad=True, method=True, inplace=True, out=True),
    Op("nan_to_num", nan_to_num_samples, None, grad=True, method=True, inplace=True, out=True),
    Op("logit", logit_samples, logit_ref, grad=True, method=True, inplace=True, out=True),
    Op("rsub", rsub_samples, lambda a, b, *, alpha=1: b - alpha * a, dtypes=NUMBERS),
]
