"""``__torch_function__``: classes that see every operation on them, and may do it otherwise."""

from __future__ import annotations

from _thread import _local  # what threading.local is, without that import

from . import _C
from ._C import Tensor
from ._decorators import wraps

TYPE_CHECKING = False  # typing's own would have to be imported
if TYPE_CHECKING:
    from typing import Any, TypeVar

    _Function = TypeVar("_Function", bound=Any)


class _OfThread(_local):
    """The modes that this thread has entered, the innermost last."""

    def __init__(self):
        self.modes: list = []


_here = _OfThread()


def is_tensor_like(obj) -> bool:
    """Whether operations treat ``obj`` as a tensor: it is one, or defines ``__torch_function__``.

    >>> import rushlight as rl
    >>> rl.overrides.is_tensor_like(rl.ones(1)), rl.overrides.is_tensor_like([1])
    (True, False)
    """
    return isinstance(obj, Tensor) or hasattr(type(obj), "__torch_function__")


def has_torch_function(relevant_args) -> bool:
    """Whether one of the arguments wants ``__torch_function__`` called."""
    if _here.modes:
        return True
    return any(_overrides(type(a)) for a in relevant_args)


def _overrides(kind: type) -> bool:
    if kind is Tensor:
        return False
    method = getattr(kind, "__torch_function__", None)
    return method is not None and method is not _C._disabled_torch_function_impl


def _overloaded(args) -> list:
    """One argument of each overriding class, subclasses before their bases, else from left to right."""
    found: list = []
    for a in args:
        kind = type(a)
        if not _overrides(kind) or any(type(f) is kind for f in found):
            continue
        at = next((i for i, f in enumerate(found) if issubclass(kind, type(f))), len(found))
        found.insert(at, a)
    return found


def _flat(args, kwargs):
    for a in (*args, *kwargs.values()):
        if isinstance(a, (list, tuple)):
            yield from a
        else:
            yield a


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Calls the ``__torch_function__`` of the arguments in turn until one answers."""
    overloaded = _overloaded(relevant_args)
    types = tuple(map(type, overloaded))
    if modes := _here.modes:
        mode = modes.pop()
        _C._torch_function_mode(bool(modes))
        try:
            result = mode.__torch_function__(public_api, types, args, kwargs)
        finally:
            modes.append(mode)
            _C._torch_function_mode(True)
        if result is not NotImplemented:
            return result
    if not overloaded:
        with DisableTorchFunction():
            return public_api(*args, **kwargs)
    for a in overloaded:
        result = type(a).__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(
        f"no implementation of {getattr(public_api, '__name__', public_api)} for "
        f"{', '.join(k.__name__ for k in types)}: every __torch_function__ returned NotImplemented"
    )


def _dispatch(func, args, kwargs):
    return handle_torch_function(func, list(_flat(args, kwargs)), *args, **kwargs)


def _default(cls, func, types, args, kwargs):
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    if func in get_default_nowrap_functions():
        return result
    return _as_class(result, cls)


def _as_class(result, cls):
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) or cls is Tensor else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        items = [_as_class(r, cls) for r in result]
        return result if all(a is b for a, b in zip(items, result, strict=True)) else type(result)(items)
    return result


def get_default_nowrap_functions() -> set:
    """Functions whose results stay plain whatever the class of their arguments."""
    return set()


class DisableTorchFunctionSubclass:
    """Inside, operations treat subclasses as plain tensors."""

    def __enter__(self):
        self._before = _C._torch_function_off(True)

    def __exit__(self, *exc) -> None:
        _C._torch_function_off(self._before)


DisableTorchFunction = DisableTorchFunctionSubclass
for _name in ("DisableTorchFunction", "DisableTorchFunctionSubclass"):  # where PyTorch has them
    setattr(_C, _name, DisableTorchFunctionSubclass)


class TorchFunctionMode:
    """A context in which ``__torch_function__`` of this object sees every operation of the thread.

    >>> import rushlight as rl
    >>> class Count(rl.overrides.TorchFunctionMode):
    ...     calls = 0
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         self.calls += 1
    ...         return func(*args, **(kwargs or {}))
    >>> with Count() as count:
    ...     _ = rl.ones(2).exp().neg()
    >>> count.calls
    3
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__} must define __torch_function__")

    def __enter__(self):
        _here.modes.append(self)
        _C._torch_function_mode(True)
        return self

    def __exit__(self, *exc) -> None:
        _here.modes.pop()
        _C._torch_function_mode(bool(_here.modes))


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _seen(wrapper, function, args, kwargs):
    """Calls a function that ``__torch_function__`` or the profiler wants to see."""
    overridden = any(map(_C._overrides_torch_function, args)) and not _C._torch_function_is_off()
    if overridden or _C._in_torch_function_mode():
        return handle_torch_function(wrapper, list(_flat(args, kwargs)), *args, **kwargs)
    name, home = wrapper.__name__.lstrip("_"), function.__module__.rpartition(".")[2]
    with _C._Profiled(f"{home}_{name}" if home in ("linalg", "special") else name, args, kwargs):
        return function(*args, **kwargs)


def overridable(function: _Function) -> _Function:
    """Decorates a function written in Python over tensors, so that ``__torch_function__`` and the profiler see it
    as one operation."""

    @wraps(function)
    def wrapper(*args, **kwargs):
        if _C._functions_are_seen() or (
            any(map(_C._overrides_torch_function, args)) and not _C._torch_function_is_off()
        ):
            return _seen(wrapper, function, args, kwargs)
        return function(*args, **kwargs)

    return wrapper  # type: ignore[return-value]
