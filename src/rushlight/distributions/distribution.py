"""The base of distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight
from rushlight import Size, Tensor
from rushlight._warnings import warn

from . import constraints
from .utils import lazy_property


class Distribution:
    """A probability distribution, or many of one kind side by side.

    A sample has shape ``sample_shape + batch_shape + event_shape``: ``sample_shape`` is what :meth:`sample` is asked
    for, ``batch_shape`` the shape of independent distributions with parameters of their own, ``event_shape`` that of
    one draw from one of them. ``log_prob`` and ``entropy`` leave the event's dimensions out.

    Args:
        batch_shape, event_shape: see above.
        validate_args: whether parameters and values are checked, at some cost; :meth:`set_default_validate_args` where
            it is None. They are by default, unless Python runs with -O.

    Raises:
        ValueError: a parameter does not satisfy its constraint.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    _batch_shape: Size
    _event_shape: Size

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Says whether distributions made from now on check parameters and values, unless told otherwise."""
        if value not in (True, False):
            raise ValueError(f"validate_args is True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()

    def _validate_parameters(self) -> None:
        try:
            allowed = self.arg_constraints
        except NotImplementedError:
            warn(f"{type(self).__name__} defines no arg_constraints, so its parameters are not checked")
            return
        for name, constraint in allowed.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property):
                continue  # computed from another parameter, which is checked
            value = getattr(self, name)
            fits = constraint.check(value)
            if not fits.all():
                what = f"{type(self).__name__}: parameter {name}"
                raise ValueError(_complaint(what, "satisfy the constraint", value, fits, constraint, _PARAMETER_HINTS))

    # --- What a distribution is like ---------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> Size:
        """The shape of the independent distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw."""
        return self._event_shape

    @property
    def arg_constraints(self) -> Any:
        """For each parameter the constraint that it has to satisfy."""
        raise NotImplementedError(f"{type(self).__name__} does not define arg_constraints")

    @property
    def support(self) -> Any:
        """The constraint that all samples satisfy."""
        raise NotImplementedError(f"{type(self).__name__} does not define support")

    @property
    def mean(self) -> Tensor:
        """The mean, of shape ``batch_shape + event_shape``."""
        raise NotImplementedError(f"{type(self).__name__} has no mean")

    @property
    def mode(self) -> Tensor:
        """The most probable value, of shape ``batch_shape + event_shape``."""
        raise NotImplementedError(f"{type(self).__name__} has no mode")

    @property
    def variance(self) -> Tensor:
        """The variance, of shape ``batch_shape + event_shape``."""
        raise NotImplementedError(f"{type(self).__name__} has no variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation, of shape ``batch_shape + event_shape``."""
        return self.variance.sqrt()

    def expand(self, batch_shape: Sequence[int], _instance=None) -> Distribution:
        """The same distribution with its parameters expanded to a larger batch shape; no memory is copied."""
        raise NotImplementedError(f"{type(self).__name__} does not define expand")

    # --- Samples -----------------------------------------------------------------------------------------------------

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws without gradients; the result has shape ``sample_shape + batch_shape + event_shape``."""
        with rushlight.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws such that gradients pass through to the parameters; ``has_rsample`` tells where there is one."""
        raise NotImplementedError(
            f"{type(self).__name__} has no rsample: its samples have no derivative\n"
            "  hint: sample(), and the gradient of log_prob(sample) times what is to be maximized (REINFORCE)"
        )

    def sample_n(self, n: int) -> Tensor:
        """`n` samples; deprecated in favour of ``sample((n,))``."""
        warn("sample_n(n) is deprecated: use sample((n,))", UserWarning)
        return self.sample((n,))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values that a discrete distribution may take, along a new first dimension.

        With ``expand=False`` the batch dimensions have size 1.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot list all of its values")

    # --- Probabilities -----------------------------------------------------------------------------------------------

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability, or of its density, at the value."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of drawing at most the value."""
        raise NotImplementedError(f"{type(self).__name__} does not define cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """The value below which the given probability lies: the inverse of :meth:`cdf`."""
        raise NotImplementedError(f"{type(self).__name__} does not define icdf")

    def entropy(self) -> Tensor:
        """The entropy in nats, of shape ``batch_shape``."""
        raise NotImplementedError(f"{type(self).__name__} does not define entropy")

    def perplexity(self) -> Tensor:
        """``exp(entropy())``."""
        return self.entropy().exp()

    # --- For subclasses ----------------------------------------------------------------------------------------------

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        """``sample_shape + batch_shape + event_shape``."""
        if isinstance(sample_shape, int):
            raise TypeError(f"sample_shape must be a tuple, got {sample_shape}\n  hint: ({sample_shape},)")
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _expanded(self, batch_shape: Sequence[int], instance, names: Sequence[str], event_dim: int = 0) -> Any:
        """A new instance whose named parameters, where this one has them, are expanded to the batch shape.

        Parameters were checked when this instance was made, so that they are not checked again. `event_dim` is how many
        of their last dimensions belong to the event.
        """
        new = type(self).__new__(type(self)) if instance is None else instance
        batch_shape = Size(batch_shape)
        for name in names:
            value = self.__dict__.get(name)
            if value is not None:
                event = value.shape[value.dim() - event_dim :]
                new.__dict__[name] = value.expand((*batch_shape, *event))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _validate_sample(self, value: Tensor) -> None:
        """Raises ValueError if the value could not have been drawn from this distribution."""
        if not isinstance(value, Tensor):
            raise ValueError(
                f"{type(self).__name__}: the value must be a Tensor, got {type(value).__name__}\n"
                "  hint: torch.tensor(...) makes one"
            )
        own = self._extended_shape()
        event_at = value.dim() - len(self._event_shape)
        if event_at < 0 or value.shape[event_at:] != self._event_shape:
            raise ValueError(
                f"{type(self).__name__}: a value of shape {tuple(value.shape)} does not end in the event's shape "
                f"{tuple(self._event_shape)}"
            )
        for a, b in zip(reversed(value.shape), reversed(own), strict=False):
            if a != b and a != 1 and b != 1:
                raise ValueError(
                    f"{type(self).__name__}: a value of shape {tuple(value.shape)} does not broadcast with the "
                    f"distribution's shape {tuple(own)} (batch {tuple(self._batch_shape)}, event "
                    f"{tuple(self._event_shape)})"
                )
        try:
            support = self.support
        except NotImplementedError:
            warn(f"{type(self).__name__} defines no support, so values are not checked")
            return
        fits = support.check(value)
        if not fits.all():
            what = f"{type(self).__name__}: the value"
            raise ValueError(_complaint(what, "lie within the support", value, fits, support, {}))

    def _get_checked_instance(self, cls: type, _instance=None) -> Any:
        """A bare instance for ``expand``; a subclass with another ``__init__`` has to define ``expand`` itself."""
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"{type(self).__name__} has an __init__ of its own, so it needs an expand(batch_shape) of its own too"
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                shown.append(f"{name}: {value if value.numel() == 1 else value.shape}")
        return f"{type(self).__name__}({', '.join(shown)})"


_PARAMETER_HINTS = {
    "GreaterThan(lower_bound=0.0)": "exp(x) or nn.functional.softplus(x) makes any number positive",
    "Interval(lower_bound=0.0, upper_bound=1.0)": "sigmoid(x) is a probability; or give x itself as logits",
    "Simplex()": "softmax(x, -1) sums to 1; or give x itself as logits, where the distribution takes them",
}


def _complaint(what: str, demand: str, value: Tensor, fits: Tensor, constraint, hints: dict[str, str]) -> str:
    """Says which values do not fit and, where it is known, how to mend it."""
    bad = (~fits).nonzero()
    first = tuple(bad[0].tolist())
    found = value.detach()[first] if first else value.detach()
    shown = str(found.item() if found.dim() == 0 else found)
    which = f"{len(bad)} of {fits.numel()} do not, the first is {shown} at {list(first)}" if first else f"it is {shown}"
    text = f"{what} of shape {tuple(value.shape)} must {demand} {constraint!r}; {which}"
    if found.is_floating_point() and found.isnan().any():
        hint: str | None = (
            "NaN comes from the computation before: look for a division by 0, a log or sqrt below 0, overflow"
        )
    else:
        hint = hints.get(repr(constraint))
    return text if hint is None else f"{text}\n  hint: {hint}"
