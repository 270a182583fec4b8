"""The Laplace distribution."""

from __future__ import annotations

import math

import rushlight
from rushlight import Tensor
from rushlight._finfo import finfo

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, is_number


class Laplace(Distribution):
    """The Laplace distribution: two exponentials, back to back.

    Args:
        loc: the mean.
        scale: the mean distance from it, positive.

    >>> import rushlight as rl
    >>> from rushlight.distributions import Laplace
    >>> Laplace(0.0, 1.0).cdf(rl.tensor([-1.0, 0.0]))
    tensor([0.1839, 0.5000])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    loc: Tensor
    scale: Tensor

    def __init__(self, loc, scale, validate_args: bool | None = None):
        self.loc, self.scale = broadcast_all(loc, scale)
        shape = () if is_number(loc) and is_number(scale) else self.loc.shape
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Laplace, _instance)
        return self._expanded(batch_shape, new, ("loc", "scale"))

    def rsample(self, sample_shape=()) -> Tensor:
        shape, dtype = self._extended_shape(sample_shape), self.loc.dtype
        # From -1, left out since its logarithm below would be infinite, to 1.
        u = rushlight.empty(shape, dtype=dtype, device=self.loc.device).uniform_(finfo(dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        off = value - self.loc
        return 0.5 - 0.5 * off.sign() * (-off.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        off = value - 0.5
        return self.loc - self.scale * off.sign() * (-2 * off.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + math.log(2) + self.scale.log()
