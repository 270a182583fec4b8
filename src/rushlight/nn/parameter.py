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


_NEEDS_SHAPE = "hint: run the module on an input first (a dummy will do), from which lazy modules take their shapes"


class UninitializedTensorMixin:
    """A tensor that has a dtype and a device but no shape yet, until ``materialize`` gives it one."""

    # What can be done before: converted, moved, filled from another one.
    _allowed = frozenset(("to", "_to_copy", "copy_", "is_floating_point", "requires_grad_"))
    _becomes: type

    def materialize(self, shape, device=None, dtype=None):
        """Gives it memory, whose values are arbitrary, and makes it an ordinary tensor."""
        data = self.data  # type: ignore[has-type]
        self.data = rl.empty(shape, device=device or data.device, dtype=dtype or data.dtype)
        self.__class__ = self._becomes

    def converted(self, fn):
        """What ``fn`` makes of its dtype and device: itself, unless it goes to the meta device or comes from there."""
        made = fn(self.data)  # type: ignore[has-type]
        if made.is_meta != self.is_meta:  # type: ignore[has-type]
            return type(self)(self.requires_grad, made.device, made.dtype)  # type: ignore[has-type]
        self.data = made
        return self

    @property
    def shape(self):
        raise RuntimeError(f"an uninitialized parameter or buffer has no shape yet\n  {_NEEDS_SHAPE}")

    def _refuse(self, *args, **kwargs):
        raise ValueError(f"an uninitialized parameter or buffer has no elements yet\n  {_NEEDS_SHAPE}")

    numel = nelement = size = dim = stride = _refuse

    def share_memory_(self):
        """Refused: there is no memory to share."""
        raise RuntimeError(f"an uninitialized parameter or buffer has no memory to share yet\n  {_NEEDS_SHAPE}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = self._again()
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, self.data.device, self.data.dtype)

    def _again(self):
        return type(self)(self.requires_grad, self.data.device, self.data.dtype)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", str(func))
        if name not in cls._allowed:
            raise ValueError(f"{name}: an uninitialized parameter or buffer has no elements yet\n  {_NEEDS_SHAPE}")
        with rl.overrides.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A Parameter of a lazy module before its first input: without a shape, and nothing can be computed with it.

    Args:
        requires_grad: whether it will be trained.
        device, dtype: of the parameter that it will be.

    Raises:
        ValueError: it is used in an operation.
        RuntimeError: its shape is asked for.

    Example:
        >>> import rushlight as rl
        >>> p = rl.nn.UninitializedParameter()
        >>> p.materialize((2, 3))
        >>> type(p).__name__, p.shape
        ('Parameter', torch.Size([2, 3]))
    """

    _becomes = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return _C._make_subclass(cls, rl.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]
    """A buffer of a lazy module before its first input; as UninitializedParameter, but not trained.

    Example:
        >>> import rushlight as rl
        >>> b = rl.nn.UninitializedBuffer()
        >>> b.materialize(3)
        >>> b.shape
        torch.Size([3])
    """

    _becomes = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        result = _C._make_subclass(cls, rl.empty(0, device=device, dtype=dtype), requires_grad)
        result.persistent = persistent
        result._is_buffer = True
        return result


def is_lazy(parameter) -> bool:
    """Whether the parameter or buffer still waits for its shape."""
    return isinstance(parameter, UninitializedTensorMixin)
