"""Parametrization: a parameter computed by modules from the tensors that are trained in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import rushlight as rl

from ... import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

_cache_depth = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Within, each parametrized tensor is computed when it is first asked for, and then kept.

    For modules that use a weight many times in a forward, as recurrent layers do.

    Example:
        >>> from rushlight import nn
        >>> from rushlight.nn.utils import parametrize, parametrizations
        >>> layer = parametrizations.weight_norm(nn.Linear(2, 2))
        >>> with parametrize.cached():
        ...     layer.weight is layer.weight
        True
    """
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if not _cache_depth:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in the order in which they are applied, and what they are applied to.

    ``original`` is what is trained, a Parameter or buffer; where the first parametrization takes several tensors,
    they are ``original0``, ``original1`` and so on.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList needs at least one parametrization")
        super().__init__(modules)
        self.unsafe = unsafe
        value = self._inverted(original)
        self.is_tensor = isinstance(value, Tensor)
        self.ntensors = 1 if self.is_tensor else len(value)
        if self.is_tensor:
            _check_unchanged("right_inverse", original, value, ("dtype", "device"))
            with rl.no_grad():
                _replace(original, value)
            self._register("original", original)
        else:
            for i, part in enumerate(value):
                if not isinstance(part, Tensor):
                    raise ValueError(f"right_inverse returned {type(part).__name__} as number {i}, which is no Tensor")
                if isinstance(original, Parameter):
                    part = Parameter(part.detach(), requires_grad=original.requires_grad)
                self._register(f"original{i}", part)
        if not unsafe:
            _check_unchanged("forward", original, self(), ("dtype", "device", "shape"))

    def _register(self, name, tensor):
        if isinstance(tensor, Parameter):
            self.register_parameter(name, tensor)
        else:
            self.register_buffer(name, tensor)

    def _inverted(self, original):
        """What the parametrizations have to be applied to, where they say so, to give the original."""
        value = original
        with rl.no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    continue
                try:
                    value = module.right_inverse(value)
                except NotImplementedError:
                    pass
        if not isinstance(value, (Tensor, Sequence)):
            raise ValueError(f"right_inverse must return a Tensor or several, but returned {type(value).__name__}")
        return value

    def right_inverse(self, value: Tensor) -> None:
        """Sets the originals so that the parametrized tensor is ``value``: what assigning to it does.

        Raises:
            RuntimeError: a parametrization has no ``right_inverse``.
            ValueError: one returns something of another kind, number or dtype than the originals.
        """
        parts: Any = value
        with rl.no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"cannot assign to a tensor parametrized by {type(module).__name__}\n"
                        f"  hint: {type(module).__name__}.right_inverse(value) would tell what to set the original to"
                    )
                parts = module.right_inverse(parts)
            if self.is_tensor:
                parts = [parts]
            elif not isinstance(parts, Sequence) or len(parts) != self.ntensors:
                raise ValueError(f"right_inverse must return {self.ntensors} tensors, as it did at registration")
            for name, part in zip(self._original_names(), parts, strict=True):
                if not isinstance(part, Tensor):
                    raise ValueError(f"right_inverse must return Tensors, but returned {type(part).__name__}")
                original = getattr(self, name)
                _check_unchanged("right_inverse", original, part, ("dtype",))
                _replace(original, part)

    def _original_names(self):
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]

    def forward(self) -> Tensor:
        """The parametrized tensor."""
        first, *others = self
        x = first(*(getattr(self, name) for name in self._original_names()))
        for module in others:
            x = module(x)
        return x


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Has a parameter or buffer computed by ``parametrization`` from what is trained in its place.

    ``module.weight`` is then ``parametrization(module.parametrizations.weight.original)``. A parametrization may define
    ``right_inverse(value)``, which returns what it has to be applied to to give the value, or several tensors, which
    its forward then takes; with it, ``module.weight = value`` works, and the weight is kept at registration. More
    parametrizations of one tensor are applied one after another.

    Args:
        module: has the tensor. Its class becomes a subclass of its own, with a property of the tensor's name.
        tensor_name: the attribute.
        parametrization: a module whose forward takes a tensor and returns one.
        unsafe: do not check that shape and dtype stay.

    Returns:
        The module.

    Raises:
        ValueError: there is no such tensor, or the parametrization changes its shape or dtype.

    Example:
        >>> import rushlight as rl
        >>> from rushlight import nn
        >>> from rushlight.nn.utils import parametrize
        >>> class Symmetric(nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).T
        >>> layer = nn.Linear(3, 3)
        >>> _ = parametrize.register_parametrization(layer, "weight", Symmetric())
        >>> rl.equal(layer.weight, layer.weight.T)
        True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        before = module.parametrizations[tensor_name]
        if not unsafe:
            _check_one_more(getattr(module, tensor_name), parametrization)
        before.append(parametrization)
        before.unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"{type(module).__name__} has no parameter, buffer or parametrized tensor named '{tensor_name}'\n"
            "  hint: of a submodule, pass the submodule and the name within it"
        )
    parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _give_own_class(module)
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = parametrizations
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of the module, or any at all, is parametrized."""
    parametrizations = module._modules.get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes a tensor a plain parameter or buffer again.

    Args:
        module, tensor_name: whose and which.
        leave_parametrized: keep the value that it has, rather than that of the original.

    Returns:
        The module.

    Raises:
        ValueError: it is not parametrized, or an original in several tensors is to be left.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"'{tensor_name}' of {type(module).__name__} is not parametrized")
    parametrizations = module.parametrizations[tensor_name]
    if leave_parametrized:
        with rl.no_grad():
            value = getattr(module, tensor_name).detach()
    if parametrizations.is_tensor:
        tensor = parametrizations.original
        if leave_parametrized:
            with rl.no_grad():
                _replace(tensor, value)
    elif leave_parametrized:
        originals = [getattr(parametrizations, name) for name in parametrizations._original_names()]
        trained = any(o.requires_grad for o in originals)
        tensor = Parameter(value, requires_grad=trained) if isinstance(originals[0], Parameter) else value
    else:
        raise ValueError(
            f"the original of '{tensor_name}' is {parametrizations.ntensors} tensors, which cannot take its place\n"
            "  hint: remove_parametrizations(..., leave_parametrized=True)"
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type_before_parametrizations(module)
    if isinstance(tensor, Parameter):
        module.register_parameter(tensor_name, tensor)
    else:
        module.register_buffer(tensor_name, tensor)
    return module


def type_before_parametrizations(module: Module) -> type:
    """The module's class as it was before tensors of it were parametrized."""
    cls = type(module)
    return cls.__bases__[0] if "_parametrized_class" in vars(cls) else cls


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Gives a module copies of another's parametrizations, of all tensors or of one, with their originals.

    Returns:
        ``to_module``.
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not is_parametrized(from_module, name):
            raise ValueError(f"'{name}' of {type(from_module).__name__} is not parametrized")
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, deepcopy(parametrization), unsafe=source.unsafe)
        target = to_module.parametrizations[name]
        with rl.no_grad():
            for original in source._original_names():
                _replace(getattr(target, original), getattr(source, original))
    return to_module


def _check_one_more(tensor, parametrization):
    """What one more parametrization makes of a parametrized tensor must be like it, and go back."""
    with rl.no_grad():
        value = parametrization(tensor)
        _check_unchanged("forward", tensor, value, ("dtype", "shape"))
        if hasattr(parametrization, "right_inverse"):
            try:
                _check_unchanged("right_inverse", tensor, parametrization.right_inverse(value), ("dtype", "shape"))
            except NotImplementedError:
                pass


def _check_unchanged(method, before, after, properties):
    if not isinstance(after, Tensor):
        raise ValueError(f"a parametrization's {method} must return a Tensor, but returned {type(after).__name__}")
    for name in properties:
        was, became = getattr(before, name), getattr(after, name)
        if was != became:
            shown = (tuple(was), tuple(became)) if name == "shape" else (was, became)
            mend = "convert what it returns"
            if method == "forward":
                mend = "register_parametrization(..., unsafe=True) allows it, if what uses the tensor does"
            raise ValueError(
                f"a parametrization's {method} must keep the {name}, but made {shown[1]} of {shown[0]}\n  hint: {mend}"
            )


def _replace(tensor, value):
    """Gives a tensor another value, of any shape; it stays the same object, which an optimizer may hold."""
    if value is tensor:
        return
    value = value.detach()
    if value.shape == tensor.shape:
        tensor.detach().copy_(value)
    else:
        tensor.data = value.clone()


def _property(name):
    def get(module):
        if not _cache_depth:
            return module.parametrizations[name]()
        key = (id(module), name)
        if key not in _cache:
            _cache[key] = module.parametrizations[name]()
        return _cache[key]

    def put(module, value):
        module.parametrizations[name].right_inverse(value)

    return property(get, put)


def _give_own_class(module):
    """A subclass for this module alone, which has room for properties."""
    cls = type(module)

    def copy(self, memo):
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        twin.__dict__.update(deepcopy(self.__dict__, memo))
        twin.__class__ = cls
        _give_own_class(twin)  # else removing a parametrization of one would take the property from both
        for name in self._modules["parametrizations"]:
            setattr(type(twin), name, _property(name))
        return twin

    def refuse(self, protocol):
        raise RuntimeError(
            f"a parametrized {cls.__name__} cannot be pickled: its class exists in this process alone\n"
            "  hint: save module.state_dict(), and load it into a module parametrized in the same way"
        )

    names = {"_parametrized_class": True, "__deepcopy__": copy, "__reduce_ex__": refuse, "__module__": __name__}
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), names)
