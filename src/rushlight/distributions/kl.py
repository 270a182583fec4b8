"""The Kullback-Leibler divergence between distributions."""

from __future__ import annotations

import math
from collections.abc import Callable

import rushlight
from rushlight import Tensor

from .bernoulli import Bernoulli
from .binomial import Binomial
from .categorical import Categorical, OneHotCategorical
from .counts import Geometric, Poisson
from .distribution import Distribution
from .exponential import Exponential
from .gamma import Beta, Dirichlet, Gamma
from .heavy_tails import Cauchy, Gumbel, HalfNormal
from .independent import Independent
from .laplace import Laplace
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import engine, euler_constant, sum_rightmost

_formulas: dict[tuple[type, type], Callable] = {}


def register_kl(type_p: type, type_q: type) -> Callable:
    """Decorates a function ``(p, q)`` that gives the divergence between instances of two distributions.

    It serves subclasses too, unless there is a function for closer ones.

    Raises:
        TypeError: one of the two is no class of distributions.

    >>> import rushlight as rl
    >>> from rushlight.distributions import Normal, kl_divergence, register_kl
    >>> class Fixed(Normal): pass
    >>> @register_kl(Fixed, Fixed)
    ... def _(p, q):
    ...     return rl.zeros(())
    >>> kl_divergence(Fixed(0.0, 1.0), Fixed(5.0, 1.0))
    tensor(0.)
    """
    for kind in (type_p, type_q):
        if not isinstance(kind, type) or not issubclass(kind, Distribution):
            raise TypeError(f"register_kl takes two classes derived from Distribution, got {kind!r}")

    def register(function: Callable) -> Callable:
        _formulas[type_p, type_q] = function
        return function

    return register


def _formula(type_p: type, type_q: type) -> Callable | None:
    """The function for the closest classes: `p`'s decide before `q`'s do."""
    for p in type_p.__mro__:
        for q in type_q.__mro__:
            if (p, q) in _formulas:
                return _formulas[p, q]
    return None


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence of `q` from `p`: the mean over p of ``log p(x) - log q(x)``.

    The result has the batch shape that those of p and q broadcast to.

    Raises:
        NotImplementedError: no formula is known for the two; :func:`register_kl` adds one.

    >>> import rushlight as rl
    >>> from rushlight.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(rl.zeros(2), 1.0), Normal(rl.tensor([0.0, 1.0]), 1.0))
    tensor([0.0000, 0.5000])
    """
    formula = _formula(type(p), type(q))
    if formula is None:
        raise NotImplementedError(
            f"no KL divergence is known between {type(p).__name__} and {type(q).__name__}\n"
            "  hint: register_kl adds a formula; or average p.log_prob(x) - q.log_prob(x) over x = p.rsample((n,))"
        )
    return formula(p, q)


@register_kl(Independent, Independent)
def _(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("no KL divergence is known between Independents of different event dimensions")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _(p, q):
    # A one-to-one function of both changes nothing.
    if p.transforms != q.transforms:
        raise NotImplementedError("no KL divergence is known between distributions that are transformed differently")
    if p.event_shape != q.event_shape:
        raise NotImplementedError(f"events of different shapes: {tuple(p.event_shape)} and {tuple(q.event_shape)}")
    more = len(p.event_shape) - len(p.base_dist.event_shape)
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), more)


@register_kl(HalfNormal, HalfNormal)
def _(p, q):
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Normal, Normal)
def _(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Bernoulli, Bernoulli)
def _(p, q):
    a, b = rushlight.broadcast_tensors(p.probs, q.probs)
    certain = a * (a.log() - b.log()), (1 - a) * ((-a).log1p() - (-b).log1p())
    return certain[0].masked_fill(a == 0, 0) + certain[1].masked_fill(a == 1, 0)


@register_kl(Categorical, Categorical)
def _(p, q):
    terms = p.probs * (p.logits - q.logits)
    terms = terms.masked_fill((q.probs == 0).expand_as(terms), math.inf)
    return terms.masked_fill((p.probs == 0).expand_as(terms), 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _(p, q):
    return kl_divergence(p._categorical, q._categorical)


@register_kl(Uniform, Uniform)
def _(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(Exponential, Exponential)
def _(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Laplace, Laplace)
def _(p, q):
    ratio, off = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + off / q.scale + ratio * (-off / p.scale).exp() - 1


@register_kl(Cauchy, Cauchy)
def _(p, q):
    # Chyzak and Nielsen, 2019.
    return (((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)) / (4 * p.scale * q.scale)).log()


@register_kl(Gumbel, Gumbel)
def _(p, q):
    ratio, off = p.scale / q.scale, (p.loc - q.loc) / q.scale
    tail = (engine("lgamma", "kl_divergence(Gumbel)")(ratio + 1) - off).exp()
    return tail - ratio.log() + off + euler_constant * ratio - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _(p, q):
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Gamma, Gamma)
def _(p, q):
    lgamma, digamma = engine("lgamma", "kl_divergence(Gamma)"), engine("digamma", "kl_divergence(Gamma)")
    a, b = p.concentration, q.concentration
    scaled = b * (p.rate / q.rate).log() + a * (q.rate / p.rate - 1)
    return scaled + lgamma(b) - lgamma(a) + (a - b) * digamma(a)


@register_kl(Dirichlet, Dirichlet)
def _(p, q):
    lgamma, digamma = engine("lgamma", "kl_divergence(Dirichlet)"), engine("digamma", "kl_divergence(Dirichlet)")
    a, b = p.concentration, q.concentration
    normalizers = lgamma(a.sum(-1)) - lgamma(b.sum(-1)) + (lgamma(b) - lgamma(a)).sum(-1)
    return normalizers + ((a - b) * (digamma(a) - digamma(a.sum(-1, keepdim=True)))).sum(-1)


@register_kl(Beta, Beta)
def _(p, q):
    return kl_divergence(p._dirichlet, q._dirichlet)


@register_kl(Binomial, Binomial)
def _(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("no KL divergence is known between Binomials where the second has more tries")
    divergence = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return divergence.masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(MultivariateNormal, MultivariateNormal)
def _(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(f"events of different shapes: {tuple(p.event_shape)} and {tuple(q.event_shape)}")
    # Whitened by q: the trace of what remains of p's covariance, and the length of what remains between the means.
    batch = rushlight.broadcast_shapes(p.batch_shape, q.batch_shape)
    tril, other = (d.scale_tril.expand((*batch, -1, -1)) for d in (q, p))
    white = rushlight.linalg.solve_triangular(tril, other, upper=False)
    off = rushlight.linalg.solve_triangular(tril, (q.loc - p.loc).expand((*batch, -1)).unsqueeze(-1), upper=False)
    logs = [d.diagonal(dim1=-2, dim2=-1).log().sum(-1) for d in (tril, other)]
    square = white.pow(2).sum((-2, -1)) + off.pow(2).sum((-2, -1))
    return logs[0] - logs[1] + 0.5 * (square - p.event_shape[0])


@register_kl(Normal, Laplace)
def _(p, q):
    off = (p.loc - q.loc) / p.scale
    # The mean distance of a normal number from q's middle.
    spread = math.sqrt(2 / math.pi) * (-0.5 * off.pow(2)).exp() + off * rushlight.erf(off / math.sqrt(2))
    return p.scale / q.scale * spread + (2 * q.scale / p.scale).log() - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Laplace, Normal)
def _(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return ratio + 0.5 * ((p.loc - q.loc) / q.scale).pow(2) - 0.5 * (2 * ratio / math.pi).log() - 1


@register_kl(Uniform, Normal)
def _(p, q):
    width, off = p.high - p.low, (p.high + p.low - 2 * q.loc) / 2
    return (math.sqrt(2 * math.pi) * q.scale / width).log() + (width.pow(2) / 12 + off.pow(2)) / (2 * q.scale.pow(2))


@register_kl(Exponential, Normal)
def _(p, q):
    mean = 1 / p.rate
    second = 2 * mean.pow(2) - 2 * mean * q.loc + q.loc.pow(2)
    return p.rate.log() - 1 + q.scale.log() + 0.5 * math.log(2 * math.pi) + second / (2 * q.scale.pow(2))


@register_kl(Normal, Uniform)
@register_kl(Normal, Exponential)
@register_kl(Normal, Gamma)
@register_kl(Laplace, Uniform)
@register_kl(Laplace, Exponential)
@register_kl(Laplace, Gamma)
@register_kl(Exponential, Uniform)
@register_kl(Cauchy, Normal)
def _(p, q):
    """Values that p may take are impossible under q, or p's tails are too heavy for the mean to exist."""
    return _full(p, q, math.inf)


def _full(p, q, value: float) -> Tensor:
    like = p.mean
    shape = rushlight.broadcast_shapes(p.batch_shape, q.batch_shape)
    return rushlight.full(shape, value, dtype=like.dtype, device=like.device)
