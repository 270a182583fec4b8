"""Tensors that a module owns: Parameter (trained) and Buffer (kept, not trained)."""

from __future__ import annotations

import rushlight as rl

from .. import _C, Tensor


class _Marked(_C._TensorMeta):
    """Of a class whose instances may keep another class, and then bear the attribute that ``_mark`` names.

    A tensor of a custom subclass stays of its type when made a Parameter, and so does every tensor made a Buffer.
    """

    def __instancecheck__(cls, instance):
        if type.__instancecheck__(cls, instance):
            return True
        mark = cls.__dict__.get("_mark")  # a subclass has none
        return mark is not None and isinstance(instance, Tensor) and getattr(instance, mark, False)


def _check_tensor(data, kind):
    if not isinstance(data, Tensor):
        raise TypeError(
            f"{kind}() takes a Tensor, got {type(data).__name__}\n  hint: wrap it first: {kind}(rl.tensor(data))"
        )


class Parameter(Tensor, metaclass=_Marked):
    """A Tensor that, set as an attribute of a Module, is listed in ``module.parameters()``.

    Args:
        data: Tensor of any shape, floating point if it is to be trained. Shared, not copied.
        requires_grad: whether it is trained (default True).

    Raises:
        TypeError: ``data`` is not a Tensor.

    Example:
        >>> import rushlight as rl
        >>> w = rl.nn.Parameter(rl.zeros(2))
        >>> w.requires_grad, w.is_leaf
        (True, True)
    """

    _mark = "_is_param"

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = rl.empty(0)
        _check_tensor(data, "Parameter")
        if type(data) is Tensor or isinstance(data, cls):
            return _C._make_subclass(cls, data, requires_grad)
        result = data.detach().requires_grad_(requires_grad)
        result._is_param = True
        return result

    def __repr__(self):
        plain = _C._make_subclass(Tensor, self, self.requires_grad)
        return "Parameter containing:\n" + Tensor.__repr__(plain)

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        copy = type(self)(self.data.clone(memory_format=rl.preserve_format), self.requires_grad)
        memo[id(self)] = copy
        return copy


_C._set_parameter_type(Parameter)  # on which operations are as fast as on a Tensor, and give one


class Buffer(Tensor, metaclass=_Marked):
    """A Tensor that, set as an attribute of a Module, becomes one of its buffers: moved and saved, not trained.

    Args:
        data: Tensor of any shape and dtype. Shared, not copied.
        persistent: whether ``state_dict()`` includes it (default True).

    Raises:
        TypeError: ``data`` is not a Tensor.

    Example:
        >>> import rushlight as rl
        >>> m = rl.nn.Module()
        >>> m.mean = rl.nn.Buffer(rl.zeros(3))
        >>> list(m.state_dict())
        ['mean']
    """

    _mark = "_is_buffer"

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = rl.empty(0)
        _check_tensor(data, "Buffer")
        result = data.detach().requires_grad_(data.requires_grad)
        result.persistent = persistent
        result._is_buffer = True
        return result


class UninitializedParameter(Parameter):
    """Not supported: lazy modules infer shapes from the first input; state the shapes instead."""

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        raise NotImplementedError(
            "UninitializedParameter and the Lazy modules are not supported.\n"
            "  hint: give the layer its input size, for example Linear(in_features, out_features)"
        )


def is_lazy(parameter) -> bool:
    """Whether the parameter still waits for its shape; always False here."""
    return False
