"""Parametrizations that are in use: weight and spectral normalization."""

from __future__ import annotations

from typing import Any

import rushlight as rl

from ... import Tensor
from .. import functional as F
from ..modules.module import Module
from .parametrize import register_parametrization


def norm_except(tensor: Tensor, dim: int | None) -> Tensor:
    """The 2-norm over all dimensions but one, which keeps its place; over all of them where dim is None or -1."""
    if dim is None or dim == -1:
        return tensor.norm()
    front = tensor.movedim(dim, 0)
    return front.reshape(len(front), -1).norm(2, 1).view(-1, *[1] * (tensor.dim() - 1)).movedim(0, dim)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, length: Tensor, direction: Tensor) -> Tensor:
        return direction * (length / norm_except(direction, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Trains the lengths and the directions of a weight's vectors apart (Salimans and Kingma 2016).

    The weight becomes ``g * v / |v|``; g is ``parametrizations.weight.original0``, v is ``original1``.

    Args:
        module: has the weight.
        name: its name.
        dim: along which there is one length each; None for a single one.

    Returns:
        The module.

    Example:
        >>> from rushlight import nn
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(20, 40))
        >>> layer.parametrizations.weight.original0.shape
        torch.Size([40, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_older_names(state_dict, prefix, *_):
        """Checkpoints of ``nn.utils.weight_norm``."""
        for part, suffix in (("original0", "_g"), ("original1", "_v")):
            if f"{prefix}{name}{suffix}" in state_dict:
                state_dict[f"{prefix}parametrizations.{name}.{part}"] = state_dict.pop(f"{prefix}{name}{suffix}")

    module._register_load_state_dict_pre_hook(take_older_names)
    return module


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight as a matrix whose rows are dimension dim."""
    front = weight.movedim(dim, 0)
    return front.reshape(len(front), -1)


def output_dim(module: Module) -> int:
    """Which dimension of a module's weight its outputs are."""
    return 1 if getattr(module, "transposed", False) else 0


def power_iterations(matrix: Tensor, u: Tensor, v: Tensor, steps: int, eps: float) -> tuple[Tensor, Tensor]:
    """Closer approximations of the first left and right singular vectors, u from v and then v from u."""
    for _ in range(steps):
        u = F.normalize(rl.mv(matrix, v), dim=0, eps=eps)
        v = F.normalize(rl.mv(matrix.t(), u), dim=0, eps=eps)
    return u, v


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        if not -weight.dim() <= dim < weight.dim():
            raise IndexError(f"spectral_norm: dim {dim} is out of range of a weight of shape {tuple(weight.shape)}")
        if n_power_iterations <= 0:
            raise ValueError(f"n_power_iterations must be above 0, but got {n_power_iterations}")
        self.dim = dim
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if weight.dim() > 1:
            with rl.no_grad():
                matrix = as_matrix(weight.detach(), dim)
                u, v = (F.normalize(matrix.new_empty(n).normal_(), dim=0, eps=eps) for n in matrix.shape)
                u, v = power_iterations(matrix, u, v, 15, eps)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            with rl.no_grad():
                u, v = power_iterations(matrix, self._u, self._v, self.n_power_iterations, self.eps)
                self._u.copy_(u)
                self._v.copy_(v)
        # Clones, for the next step writes to these before a backward of this one may have come.
        return weight / self._u.clone().dot(rl.mv(matrix, self._v.clone()))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value  # the weight is divided by its norm; one of norm 1 stays


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divides a weight by its largest singular value (Miyato et al. 2018), found by power iteration.

    Args:
        module: has the weight.
        name: its name.
        n_power_iterations: iterations each time the weight is computed in training.
        eps: the least norm to divide by.
        dim: the weight's dimension of outputs; unless given 0, or 1 for transposed convolutions.

    Returns:
        The module.

    Raises:
        ValueError: there is no such weight, or n_power_iterations is not above 0.

    Example:
        >>> import rushlight as rl
        >>> layer = rl.nn.Linear(2, 1, bias=False)
        >>> _ = layer.weight.data.copy_(rl.tensor([[3.0, 4.0]]))
        >>> rl.nn.utils.parametrizations.spectral_norm(layer).weight
        tensor([[0.6000, 0.8000]], grad_fn=<DivBackward0>)
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"{type(module).__name__} has no parameter or buffer named '{name}'")
    if dim is None:
        dim = output_dim(module)
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def orthogonal(module: Module, name: str = "weight", *args: Any, **kwargs: Any) -> Module:
    """Not there: needs decompositions of linear algebra.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "nn.utils.parametrizations.orthogonal is not supported: it needs linalg, see docs/differences.md\n"
        "  hint: add a penalty on W @ W.T - I to the loss"
    )
