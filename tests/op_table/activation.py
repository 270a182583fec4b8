"""Activations beside the plain ones, and what is rearranged or padded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.special

from .core import E, Error, Gen, N, Op, S, Sample
from .pointwise import activation


def refuses_integers(g: Gen) -> Iterator[Error]:
    yield E(NotImplementedError, g.index(2, n=3))
    yield E(TypeError, "text")


def selu_ref(x):
    return 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543773 * np.expm1(np.minimum(x, 0)))


def celu_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2), 0.0)


def shrink_samples(g: Gen) -> Iterator[Sample]:
    for shape in [(5,), (2, 3), (), (2, 1, 3)]:
        x = g.away(*shape, gap=0.7)
        yield S(x)
        yield S(np.asarray(x * x.dtype.type(0.1)), 0.3)
    yield N(g(2, 0))
    yield N(g(67), 1.0)
    yield N(np.asarray([0.5, -0.5, 0.0, -0.0, np.inf, -np.inf, np.nan], g.np_dtype))


def glu_ref(x, dim=-1):
    a, b = np.split(x, 2, dim)
    return a * scipy.special.expit(b)


def glu_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(4))
    yield S(g(2, 6))
    yield S(g(4, 3), 0)
    yield S(g(2, 4, 3), -2)
    yield N(g(2, 0))
    yield N(g(3, 134))


def glu_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(3))
    yield E(RuntimeError, g())
    yield E(IndexError, g(2, 2), 2)


def prelu_ref(x, weight):
    shape = [1] * x.ndim
    if weight.size > 1:
        shape[min(1, x.ndim - 1)] = weight.size
    return np.where(x > 0, x, weight.reshape(shape) * x)


def prelu_samples(g: Gen) -> Iterator[Sample]:
    yield S(g.away(2, 3, gap=0.1), g(3))
    yield S(g.away(2, 3, gap=0.1), g(1))
    yield S(g.away(2, 3, 2, 2, gap=0.1), g(3))
    yield S(g.away(4, gap=0.1), g(1))
    yield S(g.away(4, gap=0.1), g())
    yield S(g.away(gap=0.1), g(1))
    yield N(g(5, 3, 41), g(3))


def prelu_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2, 3), g(2))
    yield E(RuntimeError, g(2, 3), g(2, 1))
    yield E(RuntimeError, g(3), g(3))
    yield E(RuntimeError, g(2, 3), g.index(3, n=2))
    yield E(TypeError, g(2))


def rrelu_samples(g: Gen) -> Iterator[Sample]:
    yield S(g.away(2, 3, gap=0.1))
    yield S(g.away(5, gap=0.1), 0.1, 0.3)
    yield S(g.away(2, 3, gap=0.1), 0.1, 0.3, True)
    yield S(g.away(gap=0.1), 0.2, 0.2, training=True)
    yield N(g(0), training=True)
    yield N(g(67), training=True)


def rrelu_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2), 0.5, 0.2)
    yield E(RuntimeError, g(2), 0.5, 0.2, True)


def gumbel_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(4))
    yield S(g(2, 3), 0.7)
    yield S(g(2, 3), tau=2.0, dim=0)
    yield N(g(2, 3), hard=True)
    yield N(g(0, 3))


def gumbel_errors(g: Gen) -> Iterator[Error]:
    yield E(IndexError, g(2, 3), dim=2)


def channel_dropout_samples(*shapes: tuple) -> object:
    def samples(g: Gen) -> Iterator[Sample]:
        for shape in shapes:
            yield N(g(*shape), 0.5)
            yield N(g(*shape), 0.25, True)
        yield S(g(2, 3, 1, 1, 1)[(..., *(0,) * (5 - len(shapes[0])))], 0.0)
        yield S(g(*shapes[0]), 0.5, False)
        yield N(g(*shapes[0]), 1.0, True)

    return samples


def alpha_dropout_samples(g: Gen) -> Iterator[Sample]:
    yield N(g(3, 4), 0.25, True)
    yield N(g(30, 4), 0.5, training=True)
    yield N(g(3, 4, 2), 0.5, True)
    yield N(g(2, 0), 0.5, True)
    yield S(g(3, 4), 0.0, True)
    yield S(g(3, 4), 0.5)
    yield N(g(3, 2), 1.0, True)


def probability_errors(g: Gen) -> Iterator[Error]:
    yield E(ValueError, g(2, 2, 2), 1.5)
    yield E(ValueError, g(2, 2, 2), -0.1)


def few_dimensions(g: Gen) -> Iterator[Error]:
    yield from probability_errors(g)
    yield E(RuntimeError, g(2), 0.5, True)


def pixel_shuffle_ref(x, r):
    *lead, c, h, w = x.shape
    y = x.reshape(-1, c // (r * r), r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
    return y.reshape(*lead, c // (r * r), h * r, w * r)


def pixel_unshuffle_ref(x, r):
    *lead, c, h, w = x.shape
    y = x.reshape(-1, c, h // r, r, w // r, r).transpose(0, 1, 3, 5, 2, 4)
    return y.reshape(*lead, c * r * r, h // r, w // r)


def pixel_shuffle_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(1, 4, 2, 3), 2)
    yield S(g(9, 1, 2), 3)
    yield S(g(2, 2, 1, 2), 1)
    yield S(g(1, 2, 4, 1, 1), 2)
    yield N(g(0, 4, 2, 2), 2)
    yield N(g(2, 8, 5, 7), 2)


def pixel_unshuffle_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(1, 1, 4, 6), 2)
    yield S(g(2, 3, 6), 3)
    yield S(g(2, 2, 1, 2), 1)
    yield S(g(1, 2, 1, 2, 2), 2)
    yield N(g(2, 3, 10, 6), 2)


def pixel_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(3, 3, 3), 2)
    yield E(RuntimeError, g(4, 4), 1)
    yield E(RuntimeError, g(4, 4, 4), 0)
    yield E(TypeError, g(4, 4, 4))


def channel_shuffle_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(1, 4, 2), 2)
    yield S(g(2, 6, 2, 2), 3)
    yield S(g(2, 3, 1), 1)
    yield S(g(1, 3, 2), 3)
    yield N(g(2, 12, 5, 7), 4)


def channel_shuffle_ref(x, groups):
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, -1).swapaxes(1, 2).reshape(x.shape)


def channel_shuffle_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2, 3, 1), 2)
    yield E(RuntimeError, g(2, 4), 2)
    yield E(RuntimeError, g(2, 4, 1), 0)
    yield E(TypeError, g(2, 4, 1))


MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad_ref(x, pad, mode="constant", value=None):
    if not pad:
        return x
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    grown = [(max(a, 0), max(b, 0)) for a, b in pairs]
    if mode == "constant":
        y = np.pad(x, grown, constant_values=0 if value is None else value)
    elif mode == "circular":  # around what is left
        kept = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, pairs, strict=True))]
        return np.pad(kept, grown, "wrap")
    else:
        y = np.pad(x, grown, MODES[mode])
    return y[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(y.shape, pairs, strict=True))]


def constant_pad_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(3), (1, 2))
    yield S(g(2, 3), (1, 0, 0, 2), "constant", 1.5 if g.is_float else 1)
    yield S(g(2, 3), (-1, 1), value=2)
    yield S(g(2, 3), (-1, -1, 0, -1))
    yield S(g(2, 3), (0, 0))
    yield S(g(2, 1, 2, 2), (1, 1, 1, 1))
    yield S(g(), ())
    yield N(g(0, 3), (1, 1))
    yield N(g(3), (-2, -1))
    yield N(g(3, 5, 7), (2, 3, 4, 1, 0, 1))


def continued_samples(g: Gen) -> Iterator[Sample]:
    for mode in ("reflect", "replicate", "circular"):
        yield S(g(2, 4), (1, 3), mode)
        yield S(g(1, 2, 3), (2, 0), mode)
        yield S(g(1, 2, 4), (-1, 2), mode=mode)
        yield S(g(1, 1, 3, 4), (1, 2, 2, 0), mode)
        yield S(g(2, 3, 4), (0, 1, 1, 1), mode)
        yield S(g(1, 1, 2, 3, 2), (1, 1, 0, 2, 1, 1), mode)
        yield N(g(2, 3, 9, 11), (4, 5, 3, 2), mode)
        yield N(g(0, 2, 3), (1, 1), mode)
    yield S(g(2, 3), (5, 4), "replicate")


def pad_errors(g: Gen) -> Iterator[Error]:
    yield E(TypeError, g(3), 1)
    yield E(RuntimeError, g(3), (1, 1, 1))
    yield E(RuntimeError, g(3), (1, 1, 1, 1))
    yield E(RuntimeError, g(3), (-3, -1))
    yield E(NotImplementedError, g(2, 3), (1, 1), "text")
    yield E(NotImplementedError, g(3), (1, 1), "reflect")
    yield E(NotImplementedError, g(2, 3, 3, 3), (1, 1), "circular")
    yield E(RuntimeError, g(2, 3), (3, 1), "reflect")
    yield E(RuntimeError, g(2, 3), (-2, -1), "replicate")
    yield E(RuntimeError, g(2, 3), (4, 1), "circular")
    yield E(RuntimeError, g(2, 0), (1, 1), "replicate")
    yield E(RuntimeError, g(2, 3), (1, 1), "reflect", 1.0)


PLAIN = ("transposed", "step", "offset")
DROPOUT = {"grad": True, "random": True, "view": None}
MOVED = {"dtypes": ("float32", "float64", "uint8", "int64"), "grad": True}

ACTIVATION = [
    activation("celu", lambda x, a=1.0: np.where(x > 0, x, a * np.expm1(np.minimum(x, 0) / a)), (0.7,)).but(
        errors=celu_errors
    ),
    activation("selu", selu_ref).but(errors=lambda g: iter([E(TypeError, "text")])),
    Op("hardshrink", shrink_samples, lambda x, b=0.5: np.where(np.abs(x) <= b, 0, x), grad=True, method=True, out=True),
    Op(
        "nn.functional.softshrink",
        shrink_samples,
        lambda x, b=0.5: np.where(np.abs(x) > b, x - b * np.sign(x), x * np.where(np.isfinite(x), 0, 1)),
        grad=True,
        errors=lambda g: iter([E(RuntimeError, g(2), -1.0)]),
    ),
    activation("tanhshrink", lambda x: x - np.tanh(x)).but(registered=("tanhshrink",), halves=False),
    Op("nn.functional.glu", glu_samples, glu_ref, grad=True, errors=glu_errors),
    Op("prelu", prelu_samples, prelu_ref, grad=True, method=True, errors=prelu_errors),
    Op("rrelu", rrelu_samples, None, grad=True, random=True, errors=rrelu_errors),
    Op(
        "nn.functional.gumbel_softmax",
        gumbel_samples,
        None,
        random=True,
        errors=gumbel_errors,
        grad=True,
        gradgrad=True,
    ),
    Op("nn.functional.alpha_dropout", alpha_dropout_samples, None, errors=probability_errors, **DROPOUT),
    Op("nn.functional.feature_alpha_dropout", alpha_dropout_samples, None, errors=few_dimensions, **DROPOUT),
    Op("nn.functional.dropout1d", channel_dropout_samples((2, 3, 2), (3, 4)), None, errors=few_dimensions, **DROPOUT),
    Op("nn.functional.dropout2d", channel_dropout_samples((2, 3, 2, 2)), None, errors=probability_errors, **DROPOUT),
    Op("nn.functional.dropout3d", channel_dropout_samples((2, 3, 2, 2, 1)), None, errors=probability_errors, **DROPOUT),
    Op("pixel_shuffle", pixel_shuffle_samples, pixel_shuffle_ref, errors=pixel_errors, **MOVED),
    Op("pixel_unshuffle", pixel_unshuffle_samples, pixel_unshuffle_ref, errors=pixel_errors, **MOVED),
    Op("channel_shuffle", channel_shuffle_samples, channel_shuffle_ref, errors=channel_shuffle_errors, **MOVED),
    Op(
        "nn.functional.pad",
        constant_pad_samples,
        pad_ref,
        errors=pad_errors,
        registered=("constant_pad_nd",),
        **(MOVED | {"dtypes": ("float32", "float64", "uint8", "int64", "bool")}),
    ),
    Op(
        "nn.functional.pad",
        continued_samples,
        pad_ref,
        test="continued",
        registered=tuple(f"{kind}_pad{n}d" for kind in ("reflection", "replication") for n in (1, 2, 3)),
        **MOVED,
    ),
]
