"""The Bernoulli distribution."""

from __future__ import annotations

import rushlight
from rushlight import Size, Tensor
from rushlight.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, is_number, lazy_property, logits_to_probs, one_of, probs_to_logits


class Bernoulli(Distribution):
    """1 with a probability, else 0.

    Args:
        probs: the probability of 1.
        logits: its log odds, instead: ``log(p / (1 - p))``.

    >>> import rushlight as rl
    >>> from rushlight.distributions import Bernoulli
    >>> coin = Bernoulli(probs=rl.tensor([0.3, 1.0]))
    >>> coin.sample()[1]
    tensor(1.)
    >>> coin.mean
    tensor([0.3000, 1.0000])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args: bool | None = None):
        one_of("Bernoulli", probs, logits)
        given = logits if probs is None else probs
        (param,) = broadcast_all(given)
        self.__dict__["logits" if probs is None else "probs"] = param
        super().__init__(() if is_number(given) else param.shape, validate_args=validate_args)

    @property
    def _param(self) -> Tensor:
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.logits

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @property
    def param_shape(self) -> Size:
        return self._param.size()

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        """1 where it is the more probable, NaN where both are equally so."""
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return mode.masked_fill(self.probs == 0.5, rushlight.nan)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Bernoulli, _instance)
        return self._expanded(batch_shape, new, ("probs", "logits"))

    def sample(self, sample_shape=()) -> Tensor:
        with rushlight.no_grad():
            return rushlight.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = rushlight.arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.view(-1, *(1,) * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values
