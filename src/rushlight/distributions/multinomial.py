"""The multinomial distribution."""

from __future__ import annotations

import math

import rushlight
from rushlight import Tensor

from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .utils import engine


class Multinomial(Distribution):
    """How often each of K outcomes comes up in a number of trials.

    Args:
        total_count: the number of trials.
        probs, logits: as in ``Categorical``.

    >>> import rushlight as rl
    >>> from rushlight.distributions import Multinomial
    >>> Multinomial(10, rl.tensor([1.0, 1.0, 3.0])).sample().sum()
    tensor(10.)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count: int = 1, probs=None, logits=None, validate_args: bool | None = None):
        if not isinstance(total_count, int):
            raise NotImplementedError("Multinomial: total_count must be one number for all, not a tensor")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def param_shape(self):
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Multinomial, _instance)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        return self._expanded(batch_shape, new, ())

    def sample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = rushlight.zeros(shape, dtype=self.logits.dtype, device=drawn.device)
        return counts.scatter_add_(-1, drawn, rushlight.ones_like(drawn, dtype=counts.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        lgamma = engine("lgamma", "Multinomial.log_prob")
        logits, value = rushlight.broadcast_tensors(self.logits, value)
        # Where a probability is 0 its logarithm is -inf, and 0 * -inf would be NaN.
        logits = logits.masked_fill((value == 0) & (logits == -rushlight.inf), 0)
        return lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        n, probs = self.total_count, self.probs
        # Every outcome's count has a binomial distribution; the mean of log(count!) is taken over it.
        counts = rushlight.arange(n + 1, dtype=probs.dtype, device=probs.device).view(-1, *(1,) * probs.dim())
        factorials = [math.lgamma(k + 1) for k in range(n + 1)]
        log_factorial = rushlight.tensor(factorials, dtype=probs.dtype, device=probs.device).view(counts.shape)
        chance = rushlight.xlogy(counts, probs) + rushlight.xlogy(n - counts, 1 - probs)
        log_binomial = factorials[n] - log_factorial - log_factorial.flip(0) + chance
        mean = (log_binomial.exp() * log_factorial).sum((0, -1))
        return n * self._categorical.entropy() - factorials[n] + mean
