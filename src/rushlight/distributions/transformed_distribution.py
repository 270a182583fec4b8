"""Distributions made from others by transforms."""

from __future__ import annotations

from typing import Any

import rushlight
from rushlight import Size, Tensor

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost


class TransformedDistribution(Distribution):
    """The distribution of ``transforms(x)`` where x comes from a base distribution.

    Args:
        base_distribution: where x comes from.
        transforms: one transform or a list, applied in order.

    >>> import rushlight as rl
    >>> from rushlight.distributions import Normal, TransformedDistribution
    >>> from rushlight.distributions.transforms import TanhTransform
    >>> squashed = TransformedDistribution(Normal(rl.zeros(2), 1.0), [TanhTransform(cache_size=1)])
    >>> action = squashed.rsample()
    >>> squashed.log_prob(action).shape
    torch.Size([2])
    """

    arg_constraints: dict = {}

    def __init__(self, base_distribution, transforms, validate_args: bool | None = None):
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError(f"transforms must be a Transform or a list of Transforms, got {transforms!r}")
        whole = ComposeTransform(self.transforms)
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event = len(base_distribution.event_shape)
        if len(base_shape) < whole.domain.event_dim:
            raise ValueError(
                f"the transforms take values of {whole.domain.event_dim} dimensions, but the base distribution's have "
                f"shape {tuple(base_shape)}"
            )
        # Parameters of the transforms may be larger than the base distribution.
        shape = whole.forward_shape(base_shape)
        wanted = whole.inverse_shape(shape)
        if base_shape != wanted:
            base_distribution = base_distribution.expand(wanted[: len(wanted) - base_event])
        if (more := whole.domain.event_dim - base_event) > 0:
            base_distribution = Independent(base_distribution, more)
        self.base_dist = base_distribution
        event_dim = whole.codomain.event_dim + max(base_event - whole.domain.event_dim, 0)
        cut = len(shape) - event_dim
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self._event_shape) - support.event_dim
        return constraints.independent(support, more) if more else support

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(TransformedDistribution, _instance)
        new.transforms = self.transforms
        whole = ComposeTransform(self.transforms)
        shape = whole.inverse_shape(Size((*batch_shape, *self._event_shape)))
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return self._expanded(batch_shape, new, ())

    def sample(self, sample_shape=()) -> Tensor:
        with rushlight.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def _forward(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        dims = len(self._event_shape)
        total: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            total = total - sum_rightmost(transform.log_abs_det_jacobian(x, y), dims - transform.domain.event_dim)
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def cdf(self, value: Tensor) -> Tensor:
        """Where the transforms are monotonic."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._upside_down(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """Where the transforms are monotonic."""
        return self._forward(self.base_dist.icdf(self._upside_down(value)))

    def _upside_down(self, value: Tensor) -> Tensor:
        """1 - value where the transforms fall: what was smaller is then larger."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5
