"""Draws that the engine has no kernel for: gamma and binomial numbers, by rejection.

All that is asked for is tried at once, then what was rejected again; computed in float64 whatever the dtype.
"""

from __future__ import annotations

import math

import rushlight
from rushlight import Tensor
from rushlight.autograd import Function


def log_gamma_draws(concentration: Tensor) -> Tensor:
    """The logarithms of one draw from Gamma(concentration, 1) for each element, with a gradient; float64.

    In logarithms, since draws for small concentrations are often too small for any dtype.
    """
    return _LogGamma.apply(concentration.double())


class _LogGamma(Function):
    @staticmethod
    def forward(ctx, a):
        drawn = _log_gamma(a)
        ctx.save_for_backward(a, drawn)
        return drawn

    @staticmethod
    def backward(ctx, grad):
        return grad * _slope(*ctx.saved_tensors)


def _log_gamma(a: Tensor) -> Tensor:
    """Marsaglia and Tsang, "A simple method for generating gamma variables", 2000."""
    flat = a.reshape(-1)
    small = flat < 1
    d = rushlight.where(small, flat + 1, flat) - 1 / 3
    c = (9 * d).rsqrt()
    result = rushlight.empty_like(d)
    left = rushlight.arange(len(d))
    result.fill_(math.nan)  # what a concentration of NaN gives
    left = left[d > 0]
    while len(left):
        dl = d[left]
        x = rushlight.empty_like(dl).normal_()
        cube = (1 + c[left] * x) ** 3
        u = rushlight.empty_like(dl).uniform_()
        log = cube.clamp(min=1e-300).log()
        fits = (cube > 0) & (u.log() < 0.5 * x * x + dl * (1 - cube + log))
        result[left[fits]] = (dl.log() + log)[fits]
        left = left[~fits]
    # Gamma(a) is Gamma(a + 1) times the a-th root of a uniform number, from (0, 1].
    root = (1 - rushlight.empty_like(d).uniform_()).log() / flat
    return rushlight.where(small, result + root, result).reshape(a.shape)


LARGE = 1e4  # from where on the gamma distribution is taken for that of a normal number's cube


def _slope(a: Tensor, log_z: Tensor) -> Tensor:
    """d log z / d a along which the probability P(a, z) of a smaller draw stays what it is.

    It is -(dP/da) / (z p(z)) (Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018), with
    P(a, z) = sum of z**(a + n) exp(-z) / Gamma(a + n + 1) over n from 0 on, term by term.
    """
    shape, a, log_z = a.shape, a.reshape(-1), log_z.reshape(-1)
    # Of the cube of a normal number (Wilson and Hilferty, 1931), for which the series were long.
    third = 1 / (9 * a)
    root = (log_z - a.log()).div(3).exp()
    x = (root - 1 + third) * third.rsqrt()
    result = 1 / a + (3 * third - 1.5 * x * third.sqrt()) / (a * root)
    part = (a <= LARGE).nonzero()[:, 0]
    result[part] = _series(a[part], log_z[part])
    return result.reshape(shape)


def _series(a: Tensor, log_z: Tensor) -> Tensor:
    z = log_z.exp()
    term = 1 / a
    digamma = rushlight.digamma(a) + term  # of a + n + 1
    total = rushlight.zeros_like(a)
    n = 0
    while True:
        more = term * (digamma - log_z)
        total = total + more
        n += 1
        if n % 16 == 0 and bool(((more.abs() <= 1e-17 * total.abs()) & (a + n > z) | ~more.isfinite()).all()):
            return total
        step = 1 / (a + n)
        term = term * z * step
        digamma = digamma + step


def binomial_draws(count: Tensor, probs: Tensor) -> Tensor:
    """How many of `count` tries succeed, each with the probability `probs`, of the same shape; float64."""
    n, p = count.double().reshape(-1), probs.double().reshape(-1)
    flipped = p > 0.5
    p = rushlight.where(flipped, 1 - p, p)
    result = rushlight.full_like(n, math.nan)
    few = n * p < 10
    for which, draw in ((few, _binomial_by_inversion), (n * p >= 10, _binomial_by_rejection)):
        at = which.nonzero()[:, 0]
        if len(at):
            result[at] = draw(n[at], p[at])
    return rushlight.where(flipped, n - result, result).reshape(count.shape)


def _binomial_by_inversion(n: Tensor, p: Tensor) -> Tensor:
    """Goes up from 0 until the probabilities passed exceed a uniform number."""
    chance = (n * (-p).log1p()).exp()  # of the value k
    ratio = p / (1 - p)
    u = rushlight.empty_like(n).uniform_()
    value = rushlight.zeros_like(n)
    going = rushlight.ones_like(n, dtype=rushlight.bool)
    k = 0
    while True:
        u = u - chance
        going = going & (u >= 0) & (k < n)
        if not going.any():
            return value
        value = value + going
        chance = chance * ratio * (n - k) / (k + 1)
        k += 1


def _binomial_by_rejection(n: Tensor, p: Tensor) -> Tensor:
    """The algorithm BTRS of Hoermann, "The generation of binomial random variates", 1993."""
    spread = (n * p * (1 - p)).sqrt()
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha, easy = (2.83 + 5.1 / b) * spread, 0.92 - 4.2 / b
    log_odds = p.log() - (-p).log1p()
    m = ((n + 1) * p).floor()
    lgamma = rushlight.lgamma
    at_mode = lgamma(m + 1) + lgamma(n - m + 1)
    result = rushlight.empty_like(n)
    left = rushlight.arange(len(n))
    while len(left):
        nl, bl, al, ml = n[left], b[left], a[left], m[left]
        u = rushlight.empty_like(nl).uniform_() - 0.5
        v = rushlight.empty_like(nl).uniform_()
        near = 0.5 - u.abs()
        k = ((2 * al / near + bl) * u + nl * p[left] + 0.43).floor()
        inside = (k >= 0) & (k <= nl)
        kc = k.clamp(min=0).minimum(nl)
        chance = at_mode[left] - lgamma(kc + 1) - lgamma(nl - kc + 1) + (kc - ml) * log_odds[left]
        fits = inside & (
            ((near >= 0.07) & (v <= easy[left])) | ((v * alpha[left] / (al / (near * near) + bl)).log() <= chance)
        )
        result[left[fits]] = k[fits]
        left = left[~fits]
    return result
