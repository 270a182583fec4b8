"""Distributions of numbers of events: geometric and Poisson."""

from __future__ import annotations

import rushlight
from rushlight import Tensor
from rushlight._finfo import finfo
from rushlight.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, engine, is_number, lazy_property, logits_to_probs, one_of, probs_to_logits


class Geometric(Distribution):
    """How many tries fail before the first that succeeds.

    Args:
        probs: the probability that a try succeeds, in (0, 1].
        logits: its log odds, instead.

    >>> import rushlight as rl
    >>> from rushlight.distributions import Geometric
    >>> Geometric(rl.tensor(0.25)).mean
    tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args: bool | None = None):
        one_of("Geometric", probs, logits)
        given = logits if probs is None else probs
        (param,) = broadcast_all(given)
        self.__dict__["logits" if probs is None else "probs"] = param
        super().__init__(() if is_number(given) else param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not (param > 0).all():
            raise ValueError(f"Geometric: probs must be above 0, or no try ever succeeds; got {param}")

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return rushlight.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Geometric, _instance)
        return self._expanded(batch_shape, new, ("probs", "logits"))

    def sample(self, sample_shape=()) -> Tensor:
        shape, dtype = self._extended_shape(sample_shape), self.probs.dtype
        with rushlight.no_grad():
            u = rushlight.empty(shape, dtype=dtype, device=self.probs.device).uniform_(finfo(dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        # Where success is certain, 0 failures have the probability 1: 0 * log(0) is 0 there.
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs


class Poisson(Distribution):
    """How many events come in a unit of time, at a constant rate.

    Args:
        rate: events per unit of time, from 0 on.

    >>> import rushlight as rl
    >>> from rushlight.distributions import Poisson
    >>> Poisson(rl.tensor(4.0)).stddev
    tensor(2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Tensor

    def __init__(self, rate, validate_args: bool | None = None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(() if is_number(rate) else self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Poisson, _instance)
        return self._expanded(batch_shape, new, ("rate",))

    def sample(self, sample_shape=()) -> Tensor:
        with rushlight.no_grad():
            return rushlight.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return rushlight.xlogy(value, rate) - rate - engine("lgamma", "Poisson.log_prob")(value + 1)
