"""Numbers of successes: binomial and negative binomial."""

from __future__ import annotations

import rushlight
from rushlight import Tensor
from rushlight.nn.functional import softplus

from . import constraints
from .distribution import Distribution
from .draws import binomial_draws
from .gamma import Gamma
from .utils import broadcast_all, lazy_property, logits_to_probs, one_of, probs_to_logits


class _Successes(Distribution):
    """What has a total_count and the probability of a success, or its log odds."""

    def __init__(self, total_count, probs, logits, validate_args):
        one_of(type(self).__name__, probs, logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        self.total_count, self.__dict__[name] = broadcast_all(total_count, given)
        self.total_count = self.total_count.type_as(self.__dict__[name])
        super().__init__(self.total_count.shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @property
    def param_shape(self):
        return self.total_count.shape

    def expand(self, batch_shape, _instance=None):
        own = Binomial if isinstance(self, Binomial) else NegativeBinomial
        new = self._get_checked_instance(own, _instance)
        return self._expanded(batch_shape, new, ("total_count", "probs", "logits"))


def _log_choose(n: Tensor, k: Tensor) -> Tensor:
    return rushlight.lgamma(n + 1) - rushlight.lgamma(k + 1) - rushlight.lgamma(n - k + 1)


class Binomial(_Successes):
    """How many of `total_count` tries succeed.

    Args:
        total_count: how many tries there are, 0 or more.
        probs: the probability that one succeeds.
        logits: its log odds, instead.

    >>> import rushlight as rl
    >>> from rushlight.distributions import Binomial
    >>> Binomial(3, rl.tensor(0.5)).log_prob(rl.tensor(1.0)).exp()
    tensor(0.3750)
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args: bool | None = None):
        super().__init__(total_count, probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with rushlight.no_grad():
            return binomial_draws(self.total_count.expand(shape), self.probs.expand(shape)).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # k log p + (n - k) log(1 - p) is k logits - n softplus(logits).
        odds = value * self.logits - self.total_count * softplus(self.logits)
        return odds + _log_choose(self.total_count, value)

    def entropy(self) -> Tensor:
        """The sum over all values; only where `total_count` is the same everywhere."""
        count = _one_count(self, "entropy")
        terms = self.log_prob(self.enumerate_support(expand=False)) if count else rushlight.zeros(1, *self.batch_shape)
        return -(terms.exp() * terms).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = _one_count(self, "enumerate_support")
        values = rushlight.arange(1 + count, dtype=self.probs.dtype, device=self.probs.device)
        values = values.reshape(-1, *(1 for _ in self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


def _one_count(d: Binomial, purpose: str) -> int:
    count = int(d.total_count.max())
    if d.total_count.min() != count:
        raise NotImplementedError(f"Binomial.{purpose} needs the same total_count everywhere")
    return count


class NegativeBinomial(_Successes):
    """How many tries succeed before `total_count` of them have failed.

    Args:
        total_count: failures until the end, 0 or more; need not be a whole number.
        probs: the probability that a try succeeds, in [0, 1).
        logits: its log odds, instead.

    >>> import rushlight as rl
    >>> from rushlight.distributions import NegativeBinomial
    >>> NegativeBinomial(3, rl.tensor(0.5)).mean
    tensor(3.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args: bool | None = None):
        super().__init__(total_count, probs, logits, validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape=()) -> Tensor:
        """A Poisson number whose rate is a gamma number."""
        with rushlight.no_grad():
            rate = Gamma(self.total_count, (-self.logits).exp(), validate_args=False).sample(sample_shape)
            return rushlight.poisson(rate.masked_fill(self.total_count == 0, 0))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        odds = -n * softplus(self.logits) - value * softplus(-self.logits)
        ways = rushlight.lgamma(n + value) - rushlight.lgamma(1 + value) - rushlight.lgamma(n)
        return odds + ways.masked_fill(n + value == 0, 0)
