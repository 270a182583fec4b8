"""Invertible functions with the logarithm of their derivative's determinant, for ``TransformedDistribution``."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import Any

import rushlight
from rushlight import Size, Tensor
from rushlight._finfo import finfo
from rushlight.nn.functional import softplus

from . import constraints
from .utils import sum_rightmost

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "ComposeTransform",
    "ExpTransform",
    "IndependentTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class Transform:
    """Base of transforms: ``t(x)`` is the value, ``t.inv(y)`` the inverse, ``t.log_abs_det_jacobian(x, y)`` the
    logarithm of the volume's growth.

    Subclasses define ``domain``, ``codomain``, ``bijective``, ``_call``, ``_inverse`` and ``log_abs_det_jacobian``, and
    ``sign`` (1 or -1) where they are monotonic.

    Args:
        cache_size: 1 keeps the last pair of values, so that the inverse of a value just computed is exactly what it was
            computed from. Needed where the inverse loses digits, as tanh's does.

    >>> import rushlight as rl
    >>> from rushlight.distributions.transforms import AffineTransform, ExpTransform
    >>> t = ExpTransform()
    >>> t.inv(t(rl.tensor([1.0])))
    tensor([1.])
    """

    bijective = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size is 0 or 1, got {cache_size}")
        self._cache_size = cache_size
        self._cached: tuple[Any, Any] = (None, None)
        self._inverse_of: Any = None  # a weak reference, since the inverse keeps this transform

    def __getstate__(self):
        return {**self.__dict__, "_inverse_of": None, "_cached": (None, None)}

    @property
    def event_dim(self) -> int:
        """How many dimensions a value of the domain has, where the codomain's has as many."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("the domain's values and the codomain's differ in dimensions: use .domain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self) -> Transform:
        """The inverse."""
        inverse = self._inverse_of and self._inverse_of()
        if inverse is None:
            inverse = _Inverse(self)
            self._inverse_of = weakref.ref(inverse)
        return inverse

    @property
    def sign(self):
        """1 where the function rises, -1 where it falls."""
        raise NotImplementedError(f"{type(self).__name__} does not tell whether it rises or falls")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform with another cache size."""
        if self._cache_size == cache_size:
            return self
        raise NotImplementedError(f"{type(self).__name__} does not define with_cache")

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._call(x)
        if x is self._cached[0]:
            return self._cached[1]
        y = self._call(x)
        self._cached = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        if y is self._cached[1]:
            return self._cached[0]
        x = self._inverse(y)
        self._cached = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define _call")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define _inverse: it has no inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |dy/dx|, given both."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_abs_det_jacobian")

    def forward_shape(self, shape):
        """The shape of the result for an input's."""
        return shape

    def inverse_shape(self, shape):
        """The shape of the input for a result's."""
        return shape

    def __eq__(self, other) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Inverse(Transform):
    """Another transform the other way round."""

    def __init__(self, transform: Transform):
        super().__init__(transform._cache_size)
        self._inv = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._inv.bijective

    @property
    def sign(self):
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inv.with_cache(cache_size).inv

    def __call__(self, x):
        return self._inv._inv_call(x)

    def _inv_call(self, y):
        return self._inv(y)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)

    def __eq__(self, other) -> bool:
        return isinstance(other, _Inverse) and self._inv == other._inv

    __hash__ = Transform.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__.lstrip('_')}({self._inv!r})"


class ComposeTransform(Transform):
    """One transform after another.

    >>> import rushlight as rl
    >>> from rushlight.distributions.transforms import AffineTransform, ComposeTransform, ExpTransform
    >>> ComposeTransform([AffineTransform(0.0, 2.0), ExpTransform()])(rl.zeros(2))
    tensor([1., 1.])
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0):
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)
        super().__init__(cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        if not self.parts:
            return constraints.real
        # Dimensions that a later part needs in its values are needed in the first one's too.
        need = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            need = max(need + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        own = self.parts[0].domain
        return constraints.independent(own, need - own.event_dim) if need > own.event_dim else own

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        if not self.parts:
            return constraints.real
        need = self.parts[0].domain.event_dim
        for part in self.parts:
            need = max(need + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        own = self.parts[-1].codomain
        return constraints.independent(own, need - own.event_dim) if need > own.event_dim else own

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(part.bijective for part in self.parts)

    @property
    def sign(self):
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Transform:
        inverse = self._inverse_of and self._inverse_of()
        if inverse is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inverse_of, inverse._inverse_of = weakref.ref(inverse), weakref.ref(self)
        return inverse

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y):
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return rushlight.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        total: Any = 0
        dims = self.domain.event_dim
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            term = part.log_abs_det_jacobian(before, after)
            total = total + sum_rightmost(term, dims - part.domain.event_dim)
            dims += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __eq__(self, other) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = Transform.__hash__

    def __repr__(self) -> str:
        inner = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {inner}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """Another transform whose last batch dimensions belong to the event."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0):
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size) if cache_size else base_transform
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self.base_transform.bijective

    @property
    def sign(self):
        return self.base_transform.sign

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    def _call(self, x):
        return self.base_transform(x)

    def _inverse(self, y):
        return self.base_transform._inv_call(y)

    def log_abs_det_jacobian(self, x, y):
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Gives events another shape with as many elements.

    >>> import rushlight as rl
    >>> from rushlight.distributions.transforms import ReshapeTransform
    >>> ReshapeTransform((6,), (2, 3))(rl.zeros(5, 6)).shape
    torch.Size([5, 2, 3])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0):
        super().__init__(cache_size)
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                f"ReshapeTransform: {tuple(self.in_shape)} has {self.in_shape.numel()} elements, "
                f"{tuple(self.out_shape)} has {self.out_shape.numel()}"
            )

    @constraints.dependent_property
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else type(self)(self.in_shape, self.out_shape, cache_size)

    def _call(self, x):
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y):
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape):
        return _with_tail(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return _with_tail(shape, self.out_shape, self.in_shape)


def _with_tail(shape, old: Size, new: Size) -> Size:
    cut = len(shape) - len(old)
    if cut < 0 or tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"ReshapeTransform: shape {tuple(shape)} does not end in {tuple(old)}")
    return Size((*shape[:cut], *new))


class _Elementwise(Transform):
    """Base of transforms without parameters: two of a kind are equal."""

    bijective = True
    sign = 1

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else type(self)(cache_size)

    def __eq__(self, other) -> bool:
        return type(other) is type(self)

    __hash__ = Transform.__hash__


class ExpTransform(_Elementwise):
    """exp(x)."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """x to a power, for positive x."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent, cache_size: int = 0):
        super().__init__(cache_size)
        self.exponent = exponent if isinstance(exponent, Tensor) else rushlight.tensor(float(exponent))

    @property
    def sign(self):
        return self.exponent.sign()

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size)

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return rushlight.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape

    def __eq__(self, other) -> bool:
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    __hash__ = Transform.__hash__


class SigmoidTransform(_Elementwise):
    """1 / (1 + exp(-x))."""

    domain = constraints.real
    codomain = constraints.unit_interval

    def _call(self, x):
        return x.sigmoid().clamp(min=finfo(x.dtype).tiny, max=1 - finfo(x.dtype).eps)

    def _inverse(self, y):
        y = y.clamp(min=finfo(y.dtype).tiny, max=1 - finfo(y.dtype).eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Elementwise):
    """log(1 + exp(x)); x itself above 20."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x)


class TanhTransform(_Elementwise):
    """tanh(x). The inverse is infinite where tanh has rounded to 1: ``cache_size=1`` keeps what it came from."""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        # log(1 - tanh(x)^2), in a form that does not cancel.
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Elementwise):
    """|x|, whose inverse is taken to be the positive one."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = False

    @property
    def sign(self):  # type: ignore[override]
        raise NotImplementedError("AbsTransform neither rises nor falls")

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """loc + scale * x.

    Args:
        loc, scale: numbers or tensors.
        event_dim: how many of the last dimensions belong to the event.

    >>> import rushlight as rl
    >>> from rushlight.distributions.transforms import AffineTransform
    >>> AffineTransform(1.0, 2.0)(rl.ones(2))
    tensor([3., 3.])
    """

    bijective = True

    def __init__(self, loc, scale, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size)
        self.loc, self.scale = loc, scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    @property
    def sign(self):
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self._event_dim, cache_size)

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        if isinstance(self.scale, Tensor):
            result = self.scale.abs().log()
        else:
            result = rushlight.full_like(x, math.log(abs(self.scale)))
        if self._event_dim:
            result = result.expand(rushlight.broadcast_shapes(result.shape, x.shape))
        result = sum_rightmost(result, self._event_dim)
        return result.expand(x.shape[: x.dim() - self._event_dim])

    def forward_shape(self, shape):
        return rushlight.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape

    def __eq__(self, other) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = ((self.loc, other.loc), (self.scale, other.scale))
        return all(bool((a == b).all()) if isinstance(a == b, Tensor) else a == b for a, b in pairs)

    __hash__ = Transform.__hash__


class SoftmaxTransform(Transform):
    """softmax(x) over the last dimension: probabilities. Not one to one, so that it has no determinant."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = Transform.__hash__

    def _call(self, x):
        return x.softmax(-1)

    def _inverse(self, y):
        return y.log()

    def with_cache(self, cache_size=1):
        return SoftmaxTransform(cache_size)


class StickBreakingTransform(Transform):
    """K - 1 numbers to K probabilities: each takes its share, the sigmoid, of the stick that those before it left.

    The numbers are shifted so that 0 everywhere gives equal probabilities (Stan's reference manual, "Unit simplex").
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = Transform.__hash__

    def _shifted(self, x):
        after = rushlight.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device)
        return x - after.log()

    def _call(self, x):
        x = self._shifted(x)
        left = (-softplus(x)).cumsum(-1)  # the logarithm of what is left after each
        share = -softplus(-x)
        before = rushlight.nn.functional.pad(left[..., :-1], (1, 0))
        return rushlight.cat([share + before, left[..., -1:]], -1).exp()

    def _inverse(self, y):
        left = y.flip(-1).cumsum(-1).flip(-1)[..., 1:].clamp(min=finfo(y.dtype).tiny)
        after = rushlight.arange(left.shape[-1], 0, -1, dtype=y.dtype, device=y.device)
        return y[..., :-1].log() - left.log() + after.log()

    def log_abs_det_jacobian(self, x, y):
        # dy_i / dx_i is y_i times what of the stick the i-th did not take; the matrix is triangular.
        return (y[..., :-1].log() - softplus(self._shifted(x))).sum(-1)

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("StickBreakingTransform: a value needs at least one dimension; got ()")
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("StickBreakingTransform: a value needs at least one dimension; got ()")
        return Size((*shape[:-1], shape[-1] - 1))

    def with_cache(self, cache_size=1):
        return StickBreakingTransform(cache_size)
