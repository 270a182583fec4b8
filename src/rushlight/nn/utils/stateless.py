"""Calling a module with other parameters than its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import Tensor
from ..modules.module import Module


def functional_call(
    module: Module,
    parameters_and_buffers: Mapping[str, Tensor],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls a module with other tensors in place of its parameters and buffers; gradients flow to them.

    Args:
        module: what is called; it is as before afterwards.
        parameters_and_buffers: tensors by their names in ``named_parameters()`` and ``named_buffers()``.
        args: the module's argument, or a tuple of them.
        kwargs: its keyword arguments.
        tie_weights: a parameter that the module holds under several names is replaced under all of them.
        strict: refuse names that are missing or that the module does not have.

    Returns:
        What the module returned.

    Raises:
        TypeError: something in the mapping is no Tensor.
        RuntimeError: with ``strict``, names that do not match.
        ValueError: one parameter is given different tensors by two of its names.

    Example:
        >>> import rushlight as rl
        >>> from rushlight.nn.utils.stateless import functional_call
        >>> layer = rl.nn.Linear(2, 1, bias=False)
        >>> w = rl.tensor([[2.0, 3.0]], requires_grad=True)
        >>> functional_call(layer, {"weight": w}, rl.ones(2)).backward()
        >>> w.grad
        tensor([[1., 1.]])
    """
    places = dict(_places(module))
    new = dict(parameters_and_buffers)
    for name, tensor in new.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"functional_call: '{name}' is {type(tensor).__name__}, not a Tensor")
    if tie_weights:
        new.update(_tied(places, new))
    if strict:
        unknown, missing = sorted(new.keys() - places.keys()), sorted(places.keys() - new.keys())
        if unknown or missing:
            raise RuntimeError(
                f"functional_call: names do not match those of {type(module).__name__}: "
                f"unknown {unknown}, missing {missing}\n  hint: strict=False takes the module's own for those missing"
            )
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)

    replaced = []
    try:
        for name, tensor in new.items():
            if name in places:
                table, key = places[name]
                replaced.append((table, key, table[key]))
                table[key] = tensor
        return module(*args, **(kwargs or {}))
    finally:
        for table, key, tensor in reversed(replaced):
            table[key] = tensor


def _places(module):
    """Each name of a parameter or buffer, with the table that holds it and the key there."""
    for prefix, part in module.named_modules(remove_duplicate=False):
        for table in (part._parameters, part._buffers):
            for key, tensor in table.items():
                if tensor is not None:
                    yield (f"{prefix}.{key}" if prefix else key), (table, key)


def _tied(places, new):
    """The other names of the parameters that are given."""
    names: dict[int, list[str]] = {}
    for name, (table, key) in places.items():
        names.setdefault(id(table[key]), []).append(name)
    others = {}
    for group in names.values():
        given = [name for name in group if name in new]
        if len({id(new[name]) for name in given}) > 1:
            raise ValueError(
                f"functional_call: {' and '.join(given)} are the same parameter, but were given different tensors\n"
                "  hint: give one of them, or tie_weights=False"
            )
        others.update({name: new[given[0]] for name in group if given})
    return others
