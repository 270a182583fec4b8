"""What of ``Tensor`` is written in Python: attached to the engine's type when the package is imported."""

from __future__ import annotations

from . import _C, _creation
from ._C import Tensor


def _legacy_new(*args, dtype=None, device=None):
    """``Tensor(2, 3)`` is uninitialised, ``Tensor([1, 2])`` holds the values, both of the default dtype."""
    if not args:
        return _C._empty((0,), dtype, device)
    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].detach()
    if len(args) == 1 and not isinstance(args[0], int):
        if type(args[0]).__name__ == "Size":
            return _C._empty(args[0], dtype, device)
        return _creation.tensor(args[0], dtype=dtype or _C.get_default_dtype(), device=device)
    return _C._empty(args, dtype, device)


def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None) -> None:
    """Adds the gradient of this tensor to the ``.grad`` of the leaves it was computed from.

    Args:
        gradient: the gradient of something by this tensor, of the same shape; 1 where it is a scalar.
        retain_graph, create_graph, inputs: as in :func:`rushlight.autograd.backward`.

    >>> import rushlight as rl
    >>> x = rl.tensor(2.0, requires_grad=True)
    >>> (x**2 + 3 * x).backward()
    >>> x.grad
    tensor(7.)
    """
    if retain_graph is None:
        retain_graph = create_graph
    if inputs is not None:
        inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
        if not inputs:
            raise RuntimeError("backward: inputs is empty\n  hint: leave it away to reach all leaves")
    _C._run_backward((self,), (gradient,), inputs, retain_graph, create_graph, True, True)


def _attach() -> None:
    for name, function in list(globals().items()):
        if callable(function) and not name.startswith("_") and getattr(function, "__module__", "") == __name__:
            function.__qualname__ = f"Tensor.{name}"
            setattr(Tensor, name, function)


_attach()
