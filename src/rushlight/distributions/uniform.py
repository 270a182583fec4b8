"""The uniform distribution."""

from __future__ import annotations

import rushlight
from rushlight import Tensor

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, is_number


class Uniform(Distribution):
    """The uniform distribution over [low, high).

    Raises:
        ValueError: ``low < high`` does not hold.

    >>> import rushlight as rl
    >>> from rushlight.distributions import Uniform
    >>> Uniform(0.0, 4.0).log_prob(rl.tensor([1.0, 3.0])).exp()
    tensor([0.2500, 0.2500])
    """

    arg_constraints = {
        "low": constraints.dependent(is_discrete=False, event_dim=0),
        "high": constraints.dependent(is_discrete=False, event_dim=0),
    }
    has_rsample = True
    low: Tensor
    high: Tensor

    def __init__(self, low, high, validate_args: bool | None = None):
        self.low, self.high = broadcast_all(low, high)
        shape = () if is_number(low) and is_number(high) else self.low.shape
        super().__init__(shape, validate_args=validate_args)
        if self._validate_args and not (self.low < self.high).all():
            raise ValueError(f"Uniform needs low < high everywhere, got {self.low} and {self.high}")

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        """NaN: all values are equally probable."""
        return rushlight.full_like(self.high, rushlight.nan)

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Uniform, _instance)
        return self._expanded(batch_shape, new, ("low", "high"))

    def rsample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        share = rushlight.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + share * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        """-inf outside of [low, high)."""
        if self._validate_args:
            self._validate_sample(value)
        inside = ((self.low <= value) & (value < self.high)).to(self.low.dtype)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()
