"""Student's t distribution."""

from __future__ import annotations

import math

import rushlight
from rushlight import Tensor

from . import constraints
from .distribution import Distribution
from .gamma import Chi2
from .utils import broadcast_all, is_number, standard_normal


class StudentT(Distribution):
    """Student's t distribution, moved and scaled.

    Args:
        df: degrees of freedom, positive.
        loc: the middle.
        scale: how wide it is, positive.

    >>> import rushlight as rl
    >>> from rushlight.distributions import StudentT
    >>> StudentT(rl.tensor([1.0, 3.0])).variance
    tensor([nan, 3.])
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    df: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(self, df, loc=0.0, scale=1.0, validate_args: bool | None = None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df, validate_args=False)
        shape = () if all(map(is_number, (df, loc, scale))) else self.df.shape
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """NaN where there is none: up to one degree of freedom."""
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Infinite up to two degrees of freedom, NaN up to one."""
        variance = self.scale.pow(2) * self.df / (self.df - 2)
        return variance.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(StudentT, _instance)
        new._chi2 = self._chi2.expand(batch_shape)
        return self._expanded(batch_shape, new, ("df", "loc", "scale"))

    def rsample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = standard_normal(shape, self.df.dtype, self.df.device)
        return self.loc + self.scale * normal * (self._chi2.rsample(sample_shape) / self.df).rsqrt()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        off = (value - self.loc) / self.scale
        norm = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
        norm = norm + rushlight.lgamma(0.5 * self.df) - rushlight.lgamma(0.5 * (self.df + 1))
        return -0.5 * (self.df + 1) * (off.pow(2) / self.df).log1p() - norm

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = rushlight.lgamma(half) + math.lgamma(0.5) - rushlight.lgamma(more)
        spread = more * (rushlight.digamma(more) - rushlight.digamma(half))
        return self.scale.log() + spread + 0.5 * self.df.log() + log_beta
