"""Pareto, Weibull and inverse gamma distributions: powers of an exponentially distributed number, of its exponential,
and of a gamma number."""

from __future__ import annotations

import math

import rushlight
from rushlight import Tensor

from . import constraints
from .exponential import Exponential
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform, PowerTransform
from .utils import broadcast_all, engine, euler_constant


class Pareto(TransformedDistribution):
    """The Pareto distribution (of the first kind).

    Args:
        scale: the smallest value, positive.
        alpha: how fast the tail falls, positive.

    >>> import rushlight as rl
    >>> from rushlight.distributions import Pareto
    >>> Pareto(1.0, 3.0).mean
    tensor(1.5000)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    scale: Tensor
    alpha: Tensor

    def __init__(self, scale, alpha, validate_args: bool | None = None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        steps = [ExpTransform(), AffineTransform(0, self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        """Infinite where alpha is 1 or less."""
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        """Infinite where alpha is 2 or less."""
        alpha = self.alpha.clamp(min=2)
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Pareto, _instance)
        new.scale, new.alpha = self.scale.expand(batch_shape), self.alpha.expand(batch_shape)
        return super().expand(batch_shape, new)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    """The Weibull distribution: times until something fails.

    Args:
        scale: positive.
        concentration: the shape, positive: above 1 failures get more frequent with age.

    >>> import rushlight as rl
    >>> from rushlight.distributions import Weibull
    >>> Weibull(2.0, 1.0).log_prob(rl.tensor(2.0))
    tensor(-1.6931)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    scale: Tensor
    concentration: Tensor

    def __init__(self, scale, concentration, validate_args: bool | None = None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(rushlight.ones_like(self.scale), validate_args=validate_args)
        steps = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    def _gamma(self, x: Tensor) -> Tensor:
        return engine("lgamma", "a moment of Weibull")(x).exp()

    @property
    def mean(self) -> Tensor:
        return self.scale * self._gamma(1 + self.concentration_reciprocal)

    @property
    def mode(self) -> Tensor:
        share = (self.concentration - 1) / self.concentration
        return self.scale * share.clamp(min=0) ** self.concentration_reciprocal

    @property
    def variance(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return self.scale.pow(2) * (self._gamma(1 + 2 * inverse) - self._gamma(1 + inverse).pow(2))

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Weibull, _instance)
        for name in ("scale", "concentration", "concentration_reciprocal"):
            setattr(new, name, getattr(self, name).expand(batch_shape))
        return super().expand(batch_shape, new)

    def entropy(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + (self.scale * inverse).log() + 1


class InverseGamma(TransformedDistribution):
    """One over a gamma number.

    Args:
        concentration: the shape, positive.
        rate: the scale of the result, positive: 1 / scale of the gamma number.

    >>> import rushlight as rl
    >>> from rushlight.distributions import InverseGamma
    >>> InverseGamma(rl.tensor(3.0), rl.tensor(4.0)).mean
    tensor(2.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive

    def __init__(self, concentration, rate, validate_args: bool | None = None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-rushlight.ones_like(base.rate)), validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        return (self.rate / (self.concentration - 1)).masked_fill(self.concentration <= 1, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return (self.rate.pow(2) / ((a - 1).pow(2) * (a - 2))).masked_fill(a <= 2, math.inf)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(InverseGamma, _instance))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + rushlight.lgamma(a) - (1 + a) * rushlight.digamma(a)
