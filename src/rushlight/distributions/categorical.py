"""The categorical distribution, over indices and over one-hot vectors."""

from __future__ import annotations

import rushlight
from rushlight import Size, Tensor
from rushlight._finfo import finfo

from . import constraints
from .distribution import Distribution
from .utils import lazy_property, logits_to_probs, one_of, probs_to_logits


class Categorical(Distribution):
    """An index from 0 to K - 1.

    Args:
        probs: (..., K): the probabilities; need not sum to 1, they are divided by their sum.
        logits: (..., K), instead: their logarithms, up to a constant.

    Samples are int64 of shape ``sample_shape + batch_shape``, where ``batch_shape`` is (...).

    >>> import rushlight as rl
    >>> from rushlight.distributions import Categorical
    >>> policy = Categorical(logits=rl.tensor([[0.0, 0.0, 9.0], [9.0, 0.0, 0.0]]))
    >>> action = policy.sample()
    >>> action.shape, policy.log_prob(action).shape
    (torch.Size([2]), torch.Size([2]))
    >>> policy.mode
    tensor([2, 0])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args: bool | None = None):
        one_of("Categorical", probs, logits)
        name, param = ("logits", logits) if probs is None else ("probs", probs)
        if not isinstance(param, Tensor) or param.dim() < 1:
            shape = tuple(param.shape) if isinstance(param, Tensor) else type(param).__name__
            raise ValueError(f"Categorical: {name} needs at least one dimension, that of the categories; got {shape}")
        if probs is None:
            self.__dict__["logits"] = param - param.logsumexp(-1, keepdim=True)
        else:
            self.__dict__["probs"] = param / param.sum(-1, keepdim=True)
        self._num_events = param.shape[-1]
        super().__init__(param.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def _param(self) -> Tensor:
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.logits

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs)

    @property
    def param_shape(self) -> Size:
        return self._param.size()

    @property
    def mean(self) -> Tensor:
        """NaN: indices have no mean."""
        return rushlight.full(self._batch_shape, rushlight.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        """NaN: indices have no variance."""
        return self.mean

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Categorical, _instance)
        new._num_events = self._num_events
        return self._expanded(batch_shape, new, ("probs", "logits"), event_dim=1)

    def sample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with rushlight.no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            drawn = rushlight.multinomial(rows, Size(sample_shape).numel(), replacement=True).T
            return drawn.reshape(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = value.long().unsqueeze(-1)
        value, log_pmf = rushlight.broadcast_tensors(value, self.logits)
        return log_pmf.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        # Where a probability is 0 its logarithm is -inf, and 0 * -inf would be NaN.
        return -(self.logits.clamp(min=finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = rushlight.arange(self._num_events, dtype=rushlight.int64, device=self._param.device)
        values = values.view(-1, *(1,) * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values


class OneHotCategorical(Distribution):
    """A one-hot vector of K elements; otherwise as :class:`Categorical`.

    >>> import rushlight as rl
    >>> from rushlight.distributions import OneHotCategorical
    >>> OneHotCategorical(probs=rl.tensor([0.0, 1.0, 0.0])).sample((2,))
    tensor([[0., 1., 0.],
            [0., 1., 0.]])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args: bool | None = None):
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._one_hot(self.probs.argmax(-1))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(OneHotCategorical, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return self._expanded(batch_shape, new, ())

    def sample(self, sample_shape=()) -> Tensor:
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        size = self._event_shape[0]
        values = rushlight.eye(size, dtype=self._param.dtype, device=self._param.device)
        values = values.view(size, *(1,) * len(self._batch_shape), size)
        return values.expand(size, *self._batch_shape, size) if expand else values

    def _one_hot(self, index: Tensor) -> Tensor:
        zeros = rushlight.zeros((*index.shape, *self._event_shape), dtype=self._param.dtype, device=index.device)
        return zeros.scatter_(-1, index.unsqueeze(-1), 1)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """As :class:`OneHotCategorical`, with gradients that pass to the probabilities as if samples were they (Bengio et
    al., 2013).

    >>> import rushlight as rl
    >>> from rushlight.distributions import OneHotCategoricalStraightThrough
    >>> OneHotCategoricalStraightThrough(logits=rl.zeros(3, requires_grad=True)).rsample().requires_grad
    True
    """

    has_rsample = True

    def rsample(self, sample_shape=()) -> Tensor:
        sample = self.sample(sample_shape)
        return sample + (self.probs - self.probs.detach())
