"""`Variable`, which tensors once had to be wrapped in to have gradients (PyTorch before 0.4)."""

from __future__ import annotations

import warnings
from typing import Any

from .._C import Tensor

__all__ = ["Variable"]


class _IsTensor(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_IsTensor):
    """The tensor's values in a new leaf, on the same memory; every tensor is an instance. Kept for old programs.

    Raises:
        TypeError: `data` is no tensor.
        RuntimeError: `requires_grad` for values that are not floating point.

    >>> from rushlight.autograd import Variable
    >>> x = rl.ones(2)
    >>> Variable(x, requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    >>> isinstance(x, Variable)
    True
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = False, volatile: object = None) -> Any:
        if volatile is not None:
            warnings.warn("volatile has no effect\n  hint: use `with torch.no_grad():`", stacklevel=2)
        if data is None:
            data = Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable takes a tensor, not {type(data).__name__}\n  hint: use torch.tensor(...)")
        return data.detach().requires_grad_(requires_grad)
