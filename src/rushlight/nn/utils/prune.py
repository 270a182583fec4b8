"""Pruning: elements of a parameter are held at zero by a mask.

``module.weight`` becomes ``module.weight_orig * module.weight_mask``, computed before each forward by a hook.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any

import rushlight as rl

from ... import Tensor
from ..modules.module import Module


class BasePruningMethod(ABC):
    """The base of pruning methods, each of which is also the hook that applies its mask.

    A subclass defines ``compute_mask``, and PRUNING_TYPE: what it chooses from when something is pruned already:
    ``"unstructured"`` from the elements that are left, ``"structured"`` from the slices where any is left,
    ``"global"`` from everything.
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of a tensor.

        Args:
            t: what tells which elements matter, of any shape.
            default_mask: the mask so far, of the same shape.

        Returns:
            A new mask, 0 where an element is pruned.
        """

    def apply_mask(self, module: Module) -> Tensor:
        """The module's tensor with what is pruned set to 0."""
        mask, original = (getattr(module, f"{self._tensor_name}_{part}") for part in ("mask", "orig"))
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prunes a parameter, on top of what has pruned it before; ``args`` and ``kwargs`` are the method's own.

        Raises:
            AssertionError: importance_scores are not of the parameter's shape.
        """
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        before = _hook(module, name)
        if before is not None:
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method = container

        tensor = getattr(module, name)
        if before is None:
            original, mask = tensor, rl.ones_like(tensor, requires_grad=False)
        else:
            original, mask = getattr(module, f"{name}_orig"), getattr(module, f"{name}_mask").clone()
        scores = tensor.detach() if importance_scores is None else importance_scores
        _check_shape("importance_scores", scores, original)
        mask = method.compute_mask(scores, mask)  # before anything changes, as it may raise

        if before is None:
            delattr(module, name)
            module.register_parameter(f"{name}_orig", original)
        else:
            _remove_hook(module, before)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A pruned copy of a tensor that belongs to no module."""
        scores = t if importance_scores is None else importance_scores
        _check_shape("importance_scores", scores, t)
        return t * self.compute_mask(scores, rl.ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Makes the tensor a plain parameter again, zeros included."""
        name = self._tensor_name
        original = module._parameters[f"{name}_orig"]
        assert original is not None
        original.data = self.apply_mask(module).detach()
        for gone in (name, f"{name}_orig", f"{name}_mask"):
            delattr(module, gone)
        module.register_parameter(name, original)


def _check_shape(what, tensor, like):
    if tensor.shape != like.shape:
        raise AssertionError(f"{what} must be of the tensor's shape {tuple(like.shape)}, got {tuple(tensor.shape)}")


def _hook(module, name):
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return hook
    return None


def _remove_hook(module, hook):
    for key, other in list(module._forward_pre_hooks.items()):
        if other is hook:
            del module._forward_pre_hooks[key]


class PruningContainer(BasePruningMethod):
    """Several methods that have pruned the same tensor, one after another."""

    def __init__(self, *methods: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in methods:
            if not self._pruning_methods and hasattr(method, "_tensor_name"):
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Adds a method, which is applied last.

        Raises:
            TypeError: it is no pruning method.
            ValueError: it prunes a tensor of another name.
        """
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method).__name__} is no pruning method")
        ours, theirs = getattr(self, "_tensor_name", None), getattr(method, "_tensor_name", None)
        if ours != theirs:
            raise ValueError(f"a container for '{ours}' cannot take a method that prunes '{theirs}'")
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method, applied to what the others have left."""
        method = self._pruning_methods[-1]
        left = self._left(method, t, default_mask)
        mask = default_mask.detach().clone()
        mask[left] = method.compute_mask(t[left], default_mask[left]).to(mask.dtype)
        return mask

    @staticmethod
    def _left(method, t, mask):
        if method.PRUNING_TYPE == "unstructured":
            return mask == 1
        if method.PRUNING_TYPE == "global":
            return (slice(None),) * t.dim()
        if method.PRUNING_TYPE != "structured":
            raise ValueError(
                f"{type(method).__name__}: there is no PRUNING_TYPE {method.PRUNING_TYPE!r}\n"
                "  hint: 'unstructured', 'structured' or 'global'"
            )
        dim = method.dim % t.dim()
        others = [d for d in range(t.dim()) if d != dim]
        kept = (mask.sum(others) != 0).nonzero().flatten()
        return (*[slice(None)] * dim, kept)


class Identity(BasePruningMethod):
    """Prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        _check_shape("mask", self.mask, default_mask)
        return default_mask * self.mask.to(default_mask.dtype)


class _ByAmount(BasePruningMethod):
    """The base of methods that prune a number of elements or slices: so many, or this part of all."""

    def __init__(self, amount: float) -> None:
        if not isinstance(amount, Real):
            raise TypeError(f"amount is an integer or a part between 0 and 1, but got {amount!r}")
        if amount < 0 or (not isinstance(amount, Integral) and amount > 1):
            raise ValueError(f"amount is an integer of at least 0 or a part between 0 and 1, but got {amount}")
        self.amount = amount

    def _count(self, total, what):
        if not isinstance(self.amount, Integral):
            return round(self.amount * total)
        if self.amount > total:
            raise ValueError(f"amount is {self.amount}, but there are {total} {what} to prune")
        return int(self.amount)


class _Unstructured(_ByAmount):
    """Prunes the elements of the lowest scores."""

    PRUNING_TYPE = "unstructured"

    def _lowest(self, t, count):
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self._count(t.numel(), "elements")
        mask = default_mask.clone(memory_format=rl.contiguous_format)
        if count:
            mask.view(-1)[self._lowest(t.detach(), count)] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes elements at random."""

    def _lowest(self, t, count):
        return rl.topk(rl.rand_like(t).view(-1), count).indices


class L1Unstructured(_Unstructured):
    """Prunes the elements of the smallest magnitude."""

    def _lowest(self, t, count):
        return rl.topk(t.abs().reshape(-1), count, largest=False).indices


class _Structured(_ByAmount):
    """Prunes whole slices along a dimension, those of the lowest scores."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _kept(self, t, count):
        """The slices that are kept: a mask of them, or their indices."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.dim() < 2:
            raise ValueError(
                f"a tensor of shape {tuple(t.shape)} has no slices to prune\n  hint: prune its elements, unstructured"
            )
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"dim {self.dim} is out of range of a tensor of shape {tuple(t.shape)}")
        count = self._count(t.shape[self.dim], "slices")
        if not count:
            return default_mask
        kept = rl.zeros(t.shape[self.dim], dtype=default_mask.dtype, device=t.device)
        kept[self._kept(t.detach(), count)] = 1
        shape = [1] * t.dim()
        shape[self.dim] = -1
        return default_mask * kept.view(shape)


class RandomStructured(_Structured):
    """Prunes slices at random."""

    def _kept(self, t, count):
        scores = rl.rand(t.shape[self.dim])
        return scores > scores.sort().values[count - 1]


class LnStructured(_Structured):
    """Prunes the slices of the smallest n-norm."""

    def __init__(self, amount: float, n: float | str, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t, count):
        slices = t.movedim(self.dim, 0).reshape(t.shape[self.dim], -1)
        norms = slices.norm(2 if self.n == "fro" else self.n, 1)
        return rl.topk(norms, len(norms) - count).indices


def identity(module: Module, name: str) -> Module:
    """Prepares a parameter for pruning, with a mask of ones. Returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prunes elements of a parameter at random.

    Args:
        module: has the parameter.
        name: its name.
        amount: how many elements, an integer, or which part of them, a number between 0 and 1.

    Returns:
        The module.

    Raises:
        TypeError, ValueError: amount is neither, or more than there are.
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """Prunes the elements of a parameter that are smallest in magnitude; arguments as ``random_unstructured``.

    Args:
        importance_scores: what is compared in place of the parameter, of its shape.

    Example:
        >>> import rushlight as rl
        >>> from rushlight.nn.utils import prune
        >>> layer = rl.nn.Linear(3, 1)
        >>> _ = layer.weight.data.copy_(rl.tensor([[3.0, -1.0, 2.0]]))
        >>> prune.l1_unstructured(layer, "weight", amount=1).weight.detach()
        tensor([[3., -0., 2.]])
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prunes slices of a parameter along a dimension at random; arguments as ``random_unstructured``."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: float | str, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prunes the slices of a parameter along a dimension whose n-norm is smallest; arguments as ``l1_unstructured``."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prunes a parameter where a mask of its shape is 0. Returns the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: Mapping[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prunes several parameters as if they were one vector, so that some may lose more than others.

    Args:
        parameters: modules with names of their parameters.
        pruning_method: an unstructured one, such as ``L1Unstructured``.
        importance_scores: what is compared in place of some of the parameters.
        kwargs: the method's own arguments, such as ``amount``.

    Raises:
        TypeError: parameters are no iterable, importance_scores no dict, or the method is structured.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError(f"global_unstructured takes pairs of modules and names, but got {type(parameters).__name__}")
    if importance_scores is not None and not isinstance(importance_scores, Mapping):
        raise TypeError(f"importance_scores is a dict by (module, name), but got {type(importance_scores).__name__}")
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(f"{pruning_method.__name__} is {method.PRUNING_TYPE}: only unstructured pruning can be global")
    pairs = list(parameters)
    scores, masks = [], []
    for module, name in pairs:
        tensor = getattr(module, name)
        score = (importance_scores or {}).get((module, name), tensor)
        _check_shape("importance_scores", score, tensor)
        scores.append(score.detach().reshape(-1))
        masks.append(getattr(module, f"{name}_mask", rl.ones_like(tensor, requires_grad=False)).reshape(-1))
    method._tensor_name = "all"
    container = PruningContainer(method)
    mask = container.compute_mask(rl.cat(scores), rl.cat(masks))
    parts = mask.split([len(part) for part in masks])
    for (module, name), part in zip(pairs, parts, strict=True):
        custom_from_mask(module, name, part.view_as(getattr(module, name)))


def remove(module: Module, name: str) -> Module:
    """Makes a pruned parameter plain again; what was pruned stays 0 until it is trained. Returns the module.

    Raises:
        ValueError: the parameter is not pruned.
    """
    hook = _hook(module, name)
    if hook is None:
        raise ValueError(f"'{name}' of {type(module).__name__} is not pruned")
    hook.remove(module)
    _remove_hook(module, hook)
    return module


def is_pruned(module: Module) -> bool:
    """Whether any parameter of the module or of a module in it is pruned."""
    return any(isinstance(h, BasePruningMethod) for m in module.modules() for h in m._forward_pre_hooks.values())
