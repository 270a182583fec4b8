"""Switching the recording of operations off and on, for the current thread."""

from __future__ import annotations

from .. import _C
from .._decorators import wraps

_generator_flags = 0x20  # inspect.CO_GENERATOR, without importing inspect


class _GradMode:
    """A context manager that is a decorator too: of functions, generators and classes' methods."""

    def __enter__(self):
        # A stack, since one object may be entered again before it is left.
        if not hasattr(self, "_before"):
            self._before = []
        self._before.append(_C._is_grad_enabled())
        _C._set_grad_enabled(self._mode())

    def __exit__(self, *exc) -> None:
        _C._set_grad_enabled(self._before.pop())

    def _mode(self) -> bool:
        raise NotImplementedError

    def _clone(self):
        return type(self)()

    def __call__(self, function):
        code = getattr(function, "__code__", None)
        if code is not None and code.co_flags & _generator_flags:
            return self._wrap_generator(function)

        @wraps(function)
        def wrapped(*args, **kwargs):
            with self._clone():
                return function(*args, **kwargs)

        return wrapped

    def _wrap_generator(self, function):
        @wraps(function)
        def wrapped(*args, **kwargs):
            # The mode holds only while the generator runs, not while its consumer does.
            generator = function(*args, **kwargs)
            try:
                with self._clone():
                    value = generator.send(None)
                while True:
                    try:
                        request = yield value
                    except GeneratorExit:
                        with self._clone():
                            generator.close()
                        raise
                    except BaseException as error:
                        with self._clone():
                            value = generator.throw(error)
                    else:
                        with self._clone():
                            value = generator.send(request)
            except StopIteration as stop:
                return stop.value

        return wrapped


class no_grad(_GradMode):
    """Operations inside are not recorded, which saves memory and time where no gradient is wanted.

    >>> import rushlight as rl
    >>> x = rl.ones(2, requires_grad=True)
    >>> with rl.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __new__(cls, function=None):
        self = super().__new__(cls)
        return self if function is None else self(function)

    def _mode(self) -> bool:
        return False


class enable_grad(_GradMode):
    """Operations inside are recorded, also within :class:`no_grad`.

    >>> import rushlight as rl
    >>> x = rl.ones(2, requires_grad=True)
    >>> with rl.no_grad(), rl.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    def __new__(cls, function=None):
        self = super().__new__(cls)
        return self if function is None else self(function)

    def _mode(self) -> bool:
        return True


class set_grad_enabled(_GradMode):
    """Switches recording on or off, at once and, as a context manager, until its end.

    Args:
        mode: whether operations are recorded.

    >>> import rushlight as rl
    >>> x = rl.ones(2, requires_grad=True)
    >>> with rl.set_grad_enabled(False):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool):
        self._wanted = bool(mode)
        self._before = [_C._is_grad_enabled()]
        _C._set_grad_enabled(self._wanted)

    def __enter__(self):
        # What held before the call is restored at the end.
        _C._set_grad_enabled(self._wanted)

    def __exit__(self, *exc) -> None:
        _C._set_grad_enabled(self._before[0])

    def __call__(self, function):
        _C._set_grad_enabled(self._before[0])  # as a decorator it acts in calls only
        return super().__call__(function)

    def _mode(self) -> bool:
        return self._wanted

    def _clone(self):
        return set_grad_enabled(self._wanted)


class inference_mode(_GradMode):
    """As :class:`no_grad`, and what is made inside can never take part in autograd; ``mode=False`` changes nothing.

    A tensor made inside cannot require gradients, be saved for a backward or be written in place outside.

    >>> import rushlight as rl
    >>> with rl.inference_mode():
    ...     x = rl.ones(2)
    >>> x.is_inference()
    True
    """

    def __new__(cls, mode=True):
        self = super().__new__(cls)
        self._on = mode if isinstance(mode, bool) else True
        return self if isinstance(mode, bool) else self(mode)

    def __enter__(self):
        if not hasattr(self, "_before"):
            self._before = []
        self._before.append((_C._is_grad_enabled(), _C._is_inference_mode()))
        if self._on:
            _C._set_grad_enabled(False)
            _C._set_inference_mode(True)

    def __exit__(self, *exc) -> None:
        grad, inference = self._before.pop()
        _C._set_grad_enabled(grad)
        _C._set_inference_mode(inference)

    def _clone(self):
        return inference_mode(self._on)


def is_grad_enabled() -> bool:
    """Whether operations are recorded in this thread."""
    return _C._is_grad_enabled()


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside :class:`inference_mode`."""
    return _C._is_inference_mode()
