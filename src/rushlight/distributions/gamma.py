"""The gamma distribution and what is drawn by way of it."""

from __future__ import annotations

from numbers import Real

import rushlight
from rushlight import Tensor
from rushlight._finfo import finfo

from . import constraints
from .distribution import Distribution
from .draws import log_gamma_draws
from .utils import broadcast_all, engine, is_number


class Gamma(Distribution):
    """The gamma distribution.

    Args:
        concentration: the shape, positive.
        rate: 1 / scale, positive.

    >>> import rushlight as rl
    >>> from rushlight.distributions import Gamma
    >>> Gamma(3.0, 2.0).mean
    tensor(1.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    concentration: Tensor
    rate: Tensor

    def __init__(self, concentration, rate, validate_args: bool | None = None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        shape = () if is_number(concentration) and is_number(rate) else self.concentration.shape
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Gamma, _instance)
        return self._expanded(batch_shape, new, ("concentration", "rate"))

    def rsample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = log_gamma_draws(self.concentration.expand(shape)).exp().to(self.concentration.dtype)
        # A draw that rounded to 0 would have no logarithm.
        return (drawn / self.rate.expand(shape)).clamp(min=finfo(self.rate.dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b = self.concentration, self.rate
        return rushlight.xlogy(a, b) + rushlight.xlogy(a - 1, value) - b * value - engine("lgamma", "Gamma.log_prob")(a)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return engine("igamma", "Gamma.cdf")(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        lgamma, digamma = engine("lgamma", "Gamma.entropy"), engine("digamma", "Gamma.entropy")
        return a - self.rate.log() + lgamma(a) + (1 - a) * digamma(a)


class Chi2(Gamma):
    """The sum of the squares of `df` standard normal numbers.

    >>> import rushlight as rl
    >>> from rushlight.distributions import Chi2
    >>> Chi2(rl.tensor(3.0)).variance
    tensor(6.)
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df, validate_args: bool | None = None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        return self.concentration * 2

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(Chi2, _instance))


class Dirichlet(Distribution):
    """Vectors of probabilities.

    Args:
        concentration: (..., K), positive.

    >>> import rushlight as rl
    >>> from rushlight.distributions import Dirichlet
    >>> Dirichlet(rl.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None):
        if concentration.dim() < 1:
            raise ValueError("Dirichlet: concentration needs at least one dimension, that of the probabilities; got ()")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self) -> Tensor:
        """Where all concentrations are below 1 the density grows towards the corners: one of them is the mode."""
        above = (self.concentration - 1).clamp(min=0)
        mode = above / above.sum(-1, keepdim=True)
        flat = (self.concentration < 1).all(-1, keepdim=True)
        corner = rushlight.zeros_like(mode).scatter_(-1, self.concentration.argmax(-1, keepdim=True), 1)
        return rushlight.where(flat, corner, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Dirichlet, _instance)
        return self._expanded(batch_shape, new, ("concentration",), event_dim=1)

    def rsample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        # Gamma draws over their sum.
        return log_gamma_draws(self.concentration.expand(shape)).softmax(-1).to(self.concentration.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, lgamma = self.concentration, engine("lgamma", "Dirichlet.log_prob")
        return rushlight.xlogy(a - 1, value).sum(-1) + lgamma(a.sum(-1)) - lgamma(a).sum(-1)

    def entropy(self) -> Tensor:
        a, total, k = self.concentration, self.concentration.sum(-1), self.concentration.shape[-1]
        lgamma, digamma = engine("lgamma", "Dirichlet.entropy"), engine("digamma", "Dirichlet.entropy")
        return lgamma(a).sum(-1) - lgamma(total) - (k - total) * digamma(total) - ((a - 1) * digamma(a)).sum(-1)


class Beta(Distribution):
    """A probability, with a beta distribution.

    Args:
        concentration1, concentration0: the two shapes (alpha and beta), positive.

    >>> import rushlight as rl
    >>> from rushlight.distributions import Beta
    >>> Beta(3.0, 1.0).mean
    tensor(0.7500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args: bool | None = None):
        if isinstance(concentration1, Real) and isinstance(concentration0, Real):
            both = rushlight.tensor([float(concentration1), float(concentration0)])
        else:
            both = rushlight.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    @property
    def concentration1(self) -> Tensor:
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Beta, _instance)
        new._dirichlet = self._dirichlet.expand(batch_shape)
        return self._expanded(batch_shape, new, ())

    def rsample(self, sample_shape=()) -> Tensor:
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._dirichlet.log_prob(rushlight.stack([value, 1 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()
