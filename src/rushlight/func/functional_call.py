"""Calling a module with other parameters than its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import Tensor
from ..nn import Module
from ..nn.utils import stateless


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls a module with other tensors in place of its parameters and buffers; gradients flow to them.

    Args:
        module: what is called; it is as before afterwards.
        parameter_and_buffer_dicts: tensors by their names in ``named_parameters()`` and ``named_buffers()``, in one
            dict or in several.
        args: the module's argument, or a tuple of them.
        kwargs: its keyword arguments.
        tie_weights: a parameter that the module holds under several names is replaced under all of them.
        strict: refuse names that are missing or that the module does not have.

    Returns:
        What the module returned.

    Raises:
        TypeError: something in the dicts is no Tensor.
        RuntimeError: with ``strict``, names that do not match.
        ValueError: a name in two dicts, or one parameter that is given different tensors by two of its names.

    Example:
        >>> import rushlight as rl
        >>> layer = rl.nn.Linear(2, 1)
        >>> weights, biases = {"weight": rl.tensor([[2.0, 3.0]])}, {"bias": rl.tensor([1.0])}
        >>> rl.func.functional_call(layer, (weights, biases), rl.ones(2))
        tensor([6.])
    """
    dicts = parameter_and_buffer_dicts
    if isinstance(dicts, Mapping):
        dicts = (dicts,)
    if not isinstance(dicts, (list, tuple)) or not all(isinstance(d, Mapping) for d in dicts):
        raise ValueError(f"functional_call takes a dict or several of tensors by name, not {type(dicts).__name__}")
    merged: dict[str, Tensor] = {}
    for tensors in dicts:
        if twice := sorted(merged.keys() & tensors.keys()):
            raise ValueError(f"functional_call: {', '.join(twice)} in more than one dict")
        merged.update(tensors)
    return stateless.functional_call(module, merged, args, kwargs, tie_weights=tie_weights, strict=strict)
