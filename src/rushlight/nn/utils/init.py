"""Modules whose parameters are not initialized."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..modules.module import Module


def skip_init(module_cls: Callable[..., Module], *args: Any, **kwargs: Any) -> Module:
    """Makes a module without the work of initializing its parameters, whose values are whatever the memory holds.

    Args:
        module_cls: the class; its constructor takes ``device``.
        args, kwargs: the constructor's arguments.

    Raises:
        TypeError: it is no class.
        RuntimeError: it is no class of modules, or takes no ``device``.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.utils.skip_init(rl.nn.Linear, 5, 1).weight.shape
        torch.Size([1, 5])
    """
    if not isinstance(module_cls, type):
        raise TypeError(f"skip_init takes a class of modules, but got {module_cls!r}")
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"skip_init takes a class of modules, but {module_cls.__name__} is none")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(
            f"skip_init: {getattr(module_cls, '__name__', module_cls)} takes no argument 'device'\n"
            "  hint: pass device= on to the parameters it makes"
        )
    device = kwargs.pop("device", "cpu")
    kwargs["device"] = "meta"
    return module_cls(*args, **kwargs).to_empty(device=device)
