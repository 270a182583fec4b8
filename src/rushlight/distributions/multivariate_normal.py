"""The normal distribution of vectors."""

from __future__ import annotations

import math

import rushlight
from rushlight import Tensor

from . import constraints
from .distribution import Distribution
from .utils import lazy_property, standard_normal


class MultivariateNormal(Distribution):
    """Normal vectors, whose elements may depend on each other.

    Args:
        loc: the mean, (..., N).
        covariance_matrix: (..., N, N), positive definite.
        precision_matrix: its inverse, instead.
        scale_tril: its Cholesky factor, instead: lower triangular with a positive diagonal. All else is computed from
            this one, so that it is the quickest to give.

    Raises:
        ValueError: a loc without dimensions; not just one of the three matrices; a matrix that is not as it has to be.

    >>> import rushlight as rl
    >>> from rushlight.distributions import MultivariateNormal
    >>> d = MultivariateNormal(rl.zeros(2), rl.tensor([[1.0, 0.5], [0.5, 1.0]]))
    >>> d.log_prob(rl.tensor([[0.0, 0.0], [1.0, 1.0]]))
    tensor([-1.6940, -2.3607])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args: bool | None = None
    ):
        given = {
            name: matrix
            for name, matrix in (
                ("covariance_matrix", covariance_matrix),
                ("precision_matrix", precision_matrix),
                ("scale_tril", scale_tril),
            )
            if matrix is not None
        }
        if loc.dim() < 1:
            raise ValueError("MultivariateNormal: loc needs at least one dimension, that of the vectors; got ()")
        if len(given) != 1:
            raise ValueError(
                "MultivariateNormal takes one of covariance_matrix, precision_matrix and scale_tril; "
                f"got {', '.join(given) or 'none'}"
            )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(f"MultivariateNormal: {name} must be (..., N, N), got {tuple(matrix.shape)}")
        batch = rushlight.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._tril = matrix  # not expanded: what is solved with it need not be, either
        elif name == "covariance_matrix":
            self._tril = rushlight.linalg.cholesky(matrix)
        else:
            self._tril = _tril_of_precision(matrix)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._tril.expand((*self._batch_shape, -1, -1))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return (self._tril @ self._tril.mT).expand((*self._batch_shape, -1, -1))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return rushlight.cholesky_inverse(self._tril).expand((*self._batch_shape, -1, -1))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._tril.pow(2).sum(-1).expand(self._extended_shape())

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MultivariateNormal, _instance)
        new._tril = self._tril
        for name in ("covariance_matrix", "precision_matrix", "scale_tril"):
            if name in self.__dict__:
                new.__dict__[name] = self.__dict__[name].expand((*batch_shape, -1, -1))
        return self._expanded(batch_shape, new, ("loc",), event_dim=1)

    def rsample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + (self._tril @ normal.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        off = value - self.loc
        tril = self._tril.expand((*off.shape[:-1], -1, -1))
        white = rushlight.linalg.solve_triangular(tril, off.unsqueeze(-1), upper=False).squeeze(-1)
        return -0.5 * (off.shape[-1] * math.log(2 * math.pi) + white.pow(2).sum(-1)) - _half_log_det(self._tril)

    def entropy(self) -> Tensor:
        n = self._event_shape[0]
        entropy = 0.5 * n * (1.0 + math.log(2 * math.pi)) + _half_log_det(self._tril)
        return entropy.expand(self._batch_shape)


def _half_log_det(tril: Tensor) -> Tensor:
    """Half the logarithm of the determinant of the covariance."""
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _tril_of_precision(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse: with rows and columns turned round, the factor of P is upper triangular, and
    its inverse lower."""
    turned = rushlight.linalg.cholesky(precision.flip((-2, -1))).flip((-2, -1)).mT  # P = turned.mT @ turned, lower
    one = rushlight.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return rushlight.linalg.solve_triangular(turned, one.expand_as(turned), upper=False)
