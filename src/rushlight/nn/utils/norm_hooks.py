"""Weight and spectral normalization in their older form: a hook computes the weight before each forward."""

from __future__ import annotations

from typing import Any

import rushlight as rl

from ... import Tensor
from ..._warnings import warn
from .. import functional as F
from ..modules.module import Module
from ..parameter import Parameter
from .parametrizations import as_matrix, norm_except, output_dim, power_iterations


class _WeightHook:
    """The base of both: takes a weight out of a module's parameters, computes it, and puts it back."""

    kind: str
    name: str

    def compute_weight(self, module: Module) -> Tensor:
        raise NotImplementedError

    def refuse_second(self, module):
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, type(self)) and hook.name == self.name:
                raise RuntimeError(f"'{self.name}' of {type(module).__name__} has a {self.kind} already")

    @classmethod
    def take_out(cls, module, name):
        """Removes the hook of a weight from a module and returns it."""
        for key, hook in module._forward_pre_hooks.items():
            if isinstance(hook, cls) and hook.name == name:
                del module._forward_pre_hooks[key]
                return hook
        raise ValueError(f"'{name}' of {type(module).__name__} has no {cls.kind}")

    def restore(self, module, weight, names):
        """Registers the weight in place of what it was computed from."""
        for name in (self.name, *names):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight.detach()))


class WeightNorm(_WeightHook):
    """The hook of ``weight_norm``."""

    kind = "weight_norm"

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = dim

    def compute_weight(self, module: Module) -> Tensor:
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return v * (g / norm_except(v, self.dim))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Trains the lengths (``weight_g``) and the directions (``weight_v``) of a weight's vectors apart.

    Deprecated in favor of ``nn.utils.parametrizations.weight_norm``, which loads this one's state_dicts.

    Raises:
        RuntimeError: the weight has this already.
    """
    warn("nn.utils.weight_norm is deprecated: use nn.utils.parametrizations.weight_norm", FutureWarning)
    hook = WeightNorm(name, dim)
    hook.refuse_second(module)
    weight = getattr(module, name)
    module.register_forward_pre_hook(hook)
    delattr(module, name)
    module.register_parameter(f"{name}_g", Parameter(norm_except(weight, dim).detach()))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Makes a weight a plain parameter again, with the value it has.

    Raises:
        ValueError: the weight has no such hook.
    """
    hook = WeightNorm.take_out(module, name)
    hook.restore(module, hook.compute_weight(module), (f"{name}_g", f"{name}_v"))
    return module


class SpectralNorm(_WeightHook):
    """The hook of ``spectral_norm``."""

    kind = "spectral_norm"

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(f"n_power_iterations must be above 0, but got {n_power_iterations}")
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def compute_weight(self, module: Module, iterate: bool = False) -> Tensor:
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = as_matrix(weight, self.dim)
        if iterate:
            with rl.no_grad():
                new_v, new_u = power_iterations(matrix.t(), v, u, self.n_power_iterations, self.eps)
                u.copy_(new_u)
                v.copy_(new_v)
        # Clones, for the next step writes to these before a backward of this one may have come.
        return weight / u.clone().dot(rl.mv(matrix, v.clone()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divides a weight (``weight_orig``) by its largest singular value before each forward (Miyato et al. 2018).

    ``nn.utils.parametrizations.spectral_norm`` is the newer form. Buffers ``weight_u`` and ``weight_v`` hold the first
    singular vectors, each training step brings them closer.

    Args:
        module: has the weight.
        name: its name.
        n_power_iterations: iterations each forward in training.
        eps: the least norm to divide by.
        dim: the weight's dimension of outputs; unless given 0, or 1 for transposed convolutions.

    Returns:
        The module.

    Raises:
        KeyError: there is no such parameter.
        RuntimeError: the weight has this already.
        ValueError: n_power_iterations is not above 0.

    Example:
        >>> from rushlight import nn
        >>> layer = nn.utils.spectral_norm(nn.Linear(20, 40))
        >>> sorted(layer.state_dict())
        ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    hook = SpectralNorm(name, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    hook.refuse_second(module)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"'{name}' of {type(module).__name__} is None")
    module.register_forward_pre_hook(hook)
    matrix = as_matrix(weight.detach(), hook.dim)
    u, v = (F.normalize(matrix.new_empty(n).normal_(), dim=0, eps=eps) for n in matrix.shape)
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.detach())  # until the first forward
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Makes a weight a plain parameter again, with the value it has.

    Raises:
        ValueError: the weight has no such hook.
    """
    hook = SpectralNorm.take_out(module, name)
    with rl.no_grad():
        weight = hook.compute_weight(module)
    hook.restore(module, weight, (f"{name}_orig", f"{name}_u", f"{name}_v"))
    return module
