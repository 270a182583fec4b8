"""The order in memory of convolutions' weights."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Brings the weights of the two-dimensional convolutions in a module into an order, such as channels_last.

    Returns:
        The module.

    Example:
        >>> import rushlight as rl
        >>> conv = rl.nn.utils.convert_conv2d_weight_memory_format(rl.nn.Conv2d(2, 4, 3), rl.channels_last)
        >>> conv.weight.stride()
        (18, 1, 6, 2)
    """
    return _convert(module, memory_format, 4, ("Conv2d", "ConvTranspose2d"))


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Brings the weights of the three-dimensional convolutions in a module into an order, such as channels_last_3d.

    Returns:
        The module.
    """
    return _convert(module, memory_format, 5, ("Conv3d", "ConvTranspose3d"))


def _convert(module, memory_format, dims, names):
    for part in module.modules():
        if any(cls.__name__ in names for cls in type(part).__mro__) and part.weight.dim() == dims:
            part.weight.data = part.weight.detach().clone(memory_format=memory_format)
    return module
