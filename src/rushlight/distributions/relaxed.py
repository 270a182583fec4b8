"""Continuous relaxations of discrete distributions (Maddison et al., 2016; Jang et al., 2016)."""

from __future__ import annotations

import math

import rushlight
from rushlight import Tensor
from rushlight.nn.functional import softplus

from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform, SigmoidTransform
from .utils import broadcast_all, clamp_probs, is_number, lazy_property, logits_to_probs, one_of, probs_to_logits


class LogitRelaxedBernoulli(Distribution):
    """The log odds of a relaxed Bernoulli number; see :class:`RelaxedBernoulli`."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args: bool | None = None):
        one_of("LogitRelaxedBernoulli", probs, logits)
        self.temperature = temperature
        given = logits if probs is None else probs
        (param,) = broadcast_all(given)
        self.__dict__["logits" if probs is None else "probs"] = param
        super().__init__(() if is_number(given) else param.shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LogitRelaxedBernoulli, _instance)
        new.temperature = self.temperature
        return self._expanded(batch_shape, new, ("probs", "logits"))

    def rsample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        noise = clamp_probs(rushlight.rand(shape, dtype=probs.dtype, device=probs.device))
        return (noise.log() - (-noise).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        off = logits - value * self.temperature
        return self.temperature.log() + off - 2 * softplus(off)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers between 0 and 1, near either end, whose samples have a derivative.

    Args:
        temperature: a tensor; the lower, the nearer to 0 and 1.
        probs, logits: as in ``Bernoulli``.

    >>> import rushlight as rl
    >>> from rushlight.distributions import RelaxedBernoulli
    >>> logits = rl.zeros(3, requires_grad=True)
    >>> RelaxedBernoulli(rl.tensor(0.5), logits=logits).rsample().requires_grad
    True
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    base_dist: LogitRelaxedBernoulli

    def __init__(self, temperature, probs=None, logits=None, validate_args: bool | None = None):
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(RelaxedBernoulli, _instance))


class ExpRelaxedCategorical(Distribution):
    """The logarithm of a relaxed one-hot vector; see :class:`RelaxedOneHotCategorical`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args: bool | None = None):
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(ExpRelaxedCategorical, _instance)
        new.temperature = self.temperature
        new._categorical = self._categorical.expand(batch_shape)
        return self._expanded(batch_shape, new, ())

    def rsample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = clamp_probs(rushlight.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-noise.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        count = self._event_shape[0]
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        log_scale = math.lgamma(count) + (count - 1) * self.temperature.log()
        score = logits - value * self.temperature
        return (score - score.logsumexp(-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors of numbers from 0 to 1 whose sum is 1, near to one-hot, whose samples have a derivative.

    Args:
        temperature: a tensor; the lower, the nearer to one-hot.
        probs, logits: as in ``Categorical``.

    >>> import rushlight as rl
    >>> from rushlight.distributions import RelaxedOneHotCategorical
    >>> RelaxedOneHotCategorical(rl.tensor(0.5), logits=rl.zeros(4)).rsample().sum()
    tensor(1.0000)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    base_dist: ExpRelaxedCategorical

    def __init__(self, temperature, probs=None, logits=None, validate_args: bool | None = None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(RelaxedOneHotCategorical, _instance))
