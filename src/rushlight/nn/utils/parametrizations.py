"""Parametrizations that are in use: weight and spectral normalization, and orthogonal weights."""

from __future__ import annotations

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


class _Orthogonal(Module):
    """A free matrix to one with orthonormal columns, or rows where these are fewer; base @ that, if there is a base."""

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.orthogonal_map = orthogonal_map
        self.shape = weight.shape
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        x = x.mT if wide else x
        rows, columns = x.shape[-2:]
        if self.orthogonal_map == "householder":
            q = _product_of_reflections(x.tril(-1)) * x.diagonal(dim1=-2, dim2=-1).trunc().unsqueeze(-2)
        else:
            lower = F.pad(x.tril(), (0, rows - columns))
            skew = lower - lower.mT
            if self.orthogonal_map == "matrix_exp":
                q = rl.matrix_exp(skew)
            else:
                one = rl.eye(rows, dtype=x.dtype, device=x.device)
                q = rl.linalg.solve(one - 0.5 * skew, one + 0.5 * skew)
            q = q[..., :columns]
        if getattr(self, "base", None) is not None:
            q = self.base @ q
        return q.mT if wide else q

    def right_inverse(self, weight: Tensor) -> Tensor:
        if weight.shape != self.shape:
            raise ValueError(f"orthogonal: the weight has shape {tuple(self.shape)}, not {tuple(weight.shape)}")
        wide = weight.shape[-2] < weight.shape[-1]
        with rl.no_grad():
            tall = weight.mT if wide else weight
            if hasattr(self, "base"):
                more = tall.shape[-2] - tall.shape[-1]
                if more or not _is_orthogonal(tall):
                    free = rl.randn(*tall.shape[:-1], more, dtype=tall.dtype, device=tall.device)
                    q, r = rl.linalg.qr(rl.cat([tall, free], -1))
                    tall = q * r.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)
                self.base = tall.clone()
                # What any of the maps takes to the identity.
                return -rl.eye(*weight.shape[-2:], dtype=weight.dtype, device=weight.device).expand(self.shape).clone()
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    f"a weight made by {self.orthogonal_map} cannot be assigned to without a base\n"
                    "  hint: use_trivialization=True, or orthogonal_map='householder'"
                )
            result = _reflections(tall)
            return result.mT if wide else result


def _is_orthogonal(q: Tensor) -> bool:
    one = rl.eye(q.shape[-1], dtype=q.dtype, device=q.device)
    return rl.allclose(q.mT @ q, one.expand_as(q), atol=10 * q.shape[-1] * rl.finfo(q.dtype).eps)


def _product_of_reflections(below: Tensor) -> Tensor:
    """The first columns of H0 H1 ..., where each H reflects along a column of below with 1 on the diagonal."""
    rows, columns = below.shape[-2:]
    q = rl.eye(rows, columns, dtype=below.dtype, device=below.device)
    along = below + q
    scale = 2 / (1 + below.square().sum(-2, keepdim=True))
    for i in reversed(range(columns)):
        v = along[..., i : i + 1]
        q = q - scale[..., i : i + 1] * v @ (v.mT @ q)
    return q


def _reflections(a: Tensor) -> Tensor:
    """What :func:`_product_of_reflections` makes a's orthonormal columns from, up to the signs on the diagonal.

    QR by Householder's reflections (Golub and Van Loan, "Matrix Computations", section 5.2).
    """
    a = a.clone()
    for i in range(a.shape[-1]):
        x = a[..., i:, i]
        first, below = x[..., :1].clone(), x[..., 1:].clone()
        size = x.norm(dim=-1, keepdim=True)
        beta = -rl.copysign(size, first)
        still = below.norm(dim=-1, keepdim=True) == 0  # nothing to reflect
        v = rl.cat([rl.ones_like(first), below / (first - beta).masked_fill(still, 1)], -1).unsqueeze(-1)
        tau = ((beta - first) / beta.masked_fill(still, 1)).masked_fill(still, 0).unsqueeze(-1)
        a[..., i:, i:] -= tau * v @ (v.mT @ a[..., i:, i:])
        a[..., i + 1 :, i : i + 1] = v[..., 1:, :]
        # With nothing below the diagonal, the map reflects nevertheless.
        a[..., i, i] = a[..., i, i].sign() * (1 - 2 * still[..., 0].to(a.dtype))
    return a


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keeps a weight's columns orthonormal, or its rows where these are fewer, whatever the optimizer does.

    Args:
        module: has the weight, a matrix or a batch of them.
        name: its name.
        orthogonal_map: how a free matrix becomes an orthogonal one: "matrix_exp" or "cayley", of its lower triangle
            made skew symmetric, or "householder", a product of reflections. Unless given, matrix_exp for square weights
            and householder for others.
        use_trivialization: moves from a fixed orthogonal matrix, kept as a buffer (Lezcano-Casado 2019); it makes
            training better conditioned, and lets the weight be assigned to with each of the maps.

    Returns:
        The module. Its weight becomes an orthogonal one near what it was, if it can be assigned to.

    Raises:
        ValueError: there is no such weight, it has fewer than two dimensions, or the map is another.

    Example:
        >>> import rushlight as rl
        >>> layer = rl.nn.utils.parametrizations.orthogonal(rl.nn.Linear(4, 3))
        >>> rl.allclose(layer.weight @ layer.weight.T, rl.eye(3), atol=1e-6)
        True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"{type(module).__name__} has no parameter or buffer named '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"orthogonal takes a matrix or a batch of them; '{name}' has shape {tuple(weight.shape)}")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(f"orthogonal_map is 'matrix_exp', 'cayley' or 'householder', got {orthogonal_map!r}")
    return register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True)
