"""Mixtures."""

from __future__ import annotations

import rushlight
from rushlight import Tensor

from . import constraints
from .categorical import Categorical
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """A mixture of distributions of one kind.

    Args:
        mixture_distribution: a Categorical that chooses among K components.
        component_distribution: has batch shape (..., K).

    >>> import rushlight as rl
    >>> from rushlight.distributions import Categorical, MixtureSameFamily, Normal
    >>> two = MixtureSameFamily(Categorical(rl.tensor([1.0, 1.0])), Normal(rl.tensor([-3.0, 3.0]), 1.0))
    >>> two.mean, two.variance
    (tensor(0.), tensor(10.))
    """

    arg_constraints: dict = {}

    def __init__(self, mixture_distribution, component_distribution, validate_args: bool | None = None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(f"the mixture must be a Categorical, got {type(mixture_distribution).__name__}")
        if not isinstance(component_distribution, Distribution):
            raise ValueError(f"the components must be a Distribution, got {type(component_distribution).__name__}")
        count, batch = mixture_distribution.param_shape[-1], component_distribution.batch_shape
        if not batch or batch[-1] != count:
            raise ValueError(
                f"the mixture chooses among {count} components, so the components' batch shape must end in {count}; it "
                f"is {tuple(batch)}"
            )
        for ours, theirs in zip(reversed(mixture_distribution.batch_shape), reversed(batch[:-1]), strict=False):
            if ours != 1 and theirs != 1 and ours != theirs:
                raise ValueError(
                    f"the mixture's batch shape {tuple(mixture_distribution.batch_shape)} does not fit the components' "
                    f"{tuple(batch[:-1])}"
                )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = count
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self):
        return self._component_distribution.support

    @property
    def mixture_distribution(self) -> Categorical:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        return self._component_distribution

    def _weights(self) -> Tensor:
        """The components' probabilities, as they stand beside their means."""
        probs = self._mixture_distribution.probs
        return probs.reshape(*probs.shape, *(1,) * len(self._event_shape))

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self._component_distribution.mean).sum(-1 - len(self._event_shape))

    @property
    def variance(self) -> Tensor:
        """The mean of the components' variances and the variance of their means."""
        dim = -1 - len(self._event_shape)
        components = self._component_distribution
        off = components.mean - self.mean.unsqueeze(dim)
        return (self._weights() * (components.variance + off.pow(2))).sum(dim)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        new._num_component = self._num_component
        return self._expanded(batch_shape, new, ())

    def sample(self, sample_shape=()) -> Tensor:
        with rushlight.no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            dim = drawn.dim() - 1 - len(self._event_shape)
            index = chosen.reshape(*chosen.shape, *(1,) * (1 + len(self._event_shape)))
            index = index.expand(*drawn.shape[:dim], 1, *self._event_shape)
            return drawn.gather(dim, index).squeeze(dim)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = value.unsqueeze(-1 - len(self._event_shape))
        return (
            self._component_distribution.log_prob(value) + self._mixture_distribution.logits.log_softmax(-1)
        ).logsumexp(-1)

    def cdf(self, value: Tensor) -> Tensor:
        value = value.unsqueeze(-1 - len(self._event_shape))
        return (self._component_distribution.cdf(value) * self._mixture_distribution.probs).sum(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
