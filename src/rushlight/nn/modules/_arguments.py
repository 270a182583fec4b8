"""The overloads of Module.to()."""

from __future__ import annotations

import rushlight as rl

from ... import Tensor


def parse_to(*args, dtype=None, device=None, non_blocking=False, memory_format=None, copy=False):
    """The overloads of to(): gives device, dtype, non_blocking, memory_format."""
    rest = list(args)
    if rest:
        first = rest.pop(0)
        if isinstance(first, Tensor):
            device, dtype = first.device, first.dtype
        elif isinstance(first, rl.dtype):
            dtype = first
        elif first is None or isinstance(first, (str, int, rl.device)):
            device = first
            if rest and (rest[0] is None or isinstance(rest[0], rl.dtype)):
                dtype = rest.pop(0)
        else:
            raise TypeError(
                f"to() received an invalid argument of type {type(first).__name__}; expected a device, dtype or Tensor"
            )
    if rest:
        non_blocking = rest.pop(0)
    if isinstance(device, str):
        device = rl.device(device)
    elif isinstance(device, int):
        device = rl.device("cuda", device)
    return device, dtype, non_blocking, memory_format
