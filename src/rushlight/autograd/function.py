"""Functions with a derivative of their own, written in Python."""

from __future__ import annotations

from .. import _C
from .._C import Tensor
from .._decorators import wraps


class FunctionCtx:
    """What a Function's ``forward`` leaves for its ``backward``. Any attribute may be set on it."""

    def save_for_backward(self, *tensors) -> None:
        """Keeps tensors for ``backward``, which finds them in ``ctx.saved_tensors``.

        Inputs, outputs and intermediate tensors may be kept; a tensor that is modified in place afterwards is noticed.
        """
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward takes Tensors and None, not {type(t).__name__}\n"
                    "  hint: keep other values as attributes: ctx.value = value"
                )
        self._to_save = tensors

    save_for_forward = save_for_backward

    def mark_dirty(self, *tensors) -> None:
        """Says which inputs ``forward`` modified in place; each must be returned."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors) -> None:
        """Says which outputs have no gradient."""
        self._plain = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that nobody computed reach ``backward`` as zeros (True) or as None."""
        self._materialize = bool(value)


class BackwardCFunction(FunctionCtx):
    """A ctx that is a node of the graph: what ``y.grad_fn`` gives for the result of a Function."""

    _function: type[Function]

    def __init__(self):
        self._link = _C._NodeLink()
        self._to_save = None
        self._dirty = self._plain = ()
        self._materialize = True
        self._n_args = 0
        self._tensor_positions: list[int] = []
        self.needs_input_grad: tuple = ()

    @property
    def saved_tensors(self) -> tuple:
        """The tensors given to ``save_for_backward``.

        Raises:
            RuntimeError: where one was modified since, or the graph was freed by an earlier backward.
        """
        if self._to_save is None and self._link:
            return self._link.saved()
        return self._to_save or ()  # inside forward, or not recorded

    saved_variables = saved_tensors

    @property
    def next_functions(self) -> tuple:
        """The nodes of the inputs, each with the number of its output."""
        return self._link.next_functions()

    @property
    def dirty_tensors(self):
        """What ``mark_dirty`` was given."""
        return self._dirty

    @property
    def metadata(self) -> dict:
        """A dictionary for whoever wants to note something on this node."""
        return self.__dict__.setdefault("_metadata", {})

    def name(self) -> str:
        """The name of the node."""
        return type(self).__name__

    def _sequence_nr(self) -> int:
        return self._link.sequence()

    def register_hook(self, hook):
        """Calls ``hook(grad_inputs, grad_outputs)`` after this node's backward; its result replaces grad_inputs."""
        return _add_hook(self._link.hooks(False), hook)

    def register_prehook(self, hook):
        """Calls ``hook(grad_outputs)`` before this node's backward; what it returns replaces grad_outputs."""
        return _add_hook(self._link.hooks(True), hook)

    def __call__(self, *grads):
        return self._link.run(*grads)

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} object at {hex(id(self))}>"

    def _run_backward(self, grads: tuple) -> list:
        """Gradients of the Tensor arguments alone, as the engine wants them."""
        function = self._function
        if function.backward is Function.backward and function.vjp is not Function.vjp:
            result = function.vjp(self, *grads)
        else:
            result = function.backward(self, *grads)
        if not isinstance(result, tuple):
            result = (result,)
        if len(result) > self._n_args and all(g is None for g in result[self._n_args :]):
            result = result[: self._n_args]
        if len(result) != self._n_args:
            raise RuntimeError(
                f"{function.__name__}.backward returned {len(result)} gradients, forward took "
                f"{self._n_args} arguments\n"
                "  hint: return one for each argument of forward, None for those that are no tensors"
            )
        return [result[i] for i in self._tensor_positions]


def _add_hook(table, hook):
    from ..utils.hooks import add_hook  # with the first hook, not with the package

    return add_hook(table, hook)


class FunctionMeta(type):
    """Gives every Function the class of its node, named after it."""

    def __init__(cls, name, bases, attrs):
        super().__init__(name, bases, attrs)
        backward = type(f"{name}Backward", (BackwardCFunction,), {"_function": cls})
        backward.__module__ = cls.__module__
        cls._backward_cls = backward


class Function(metaclass=FunctionMeta):
    """The base of functions with a derivative of their own.

    Define ``forward`` and ``backward`` as static methods, and call the function by ``apply``. ``forward`` takes
    ``ctx`` first, or leaves it to a third method, ``setup_context(ctx, inputs, output)``.

    >>> import rushlight as rl
    >>> class Cube(rl.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * 3 * x**2
    >>> x = rl.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    _backward_cls: type[BackwardCFunction]
    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        raise RuntimeError(
            f"{type(self).__name__} should not be instantiated\n  hint: call {type(self).__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args, **kwargs):
        """Computes the outputs. Must be overridden."""
        raise NotImplementedError("a Function must define forward()\n  hint: make it a @staticmethod")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Leaves in ``ctx`` what backward needs, where ``forward`` does not take ``ctx``."""
        raise NotImplementedError("setup_context is not defined")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Gradients of forward's arguments, given those of its outputs. Must be overridden to differentiate."""
        raise NotImplementedError(
            "a Function must define backward() to be differentiated\n  hint: make it a @staticmethod"
        )

    vjp = backward

    @classmethod
    def apply(cls, *args):
        """Runs ``forward`` and records it."""
        if _C._profiler_running():
            with _C._Profiled(cls.__name__, operation=True):
                return cls._apply(args)
        return cls._apply(args)

    @classmethod
    def _apply(cls, args):
        ctx = cls._backward_cls()
        positions, tensors, needs = [], [], []
        recording = False
        grad_mode = _C._is_grad_enabled()
        for i, a in enumerate(args):
            if isinstance(a, Tensor):
                positions.append(i)
                tensors.append(a)
                need = a.requires_grad
                recording |= need
                needs.append(need)
            else:
                needs.append(False)
        recording &= grad_mode
        ctx.needs_input_grad = tuple(needs)
        ctx._n_args = len(args)
        ctx._tensor_positions = positions
        handle = None
        if recording:
            handle = _C._begin_function(ctx, ctx._link, f"{cls.__name__}Backward", tensors)
        _C._set_grad_enabled(False)
        try:
            if cls.setup_context is Function.setup_context:
                result = cls.forward(ctx, *args)
            else:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
        finally:
            _C._set_grad_enabled(grad_mode)
        single = not isinstance(result, tuple)
        outputs = [result] if single else list(result)
        if handle is None:
            outputs = _C._end_unrecorded(outputs, tensors, ctx._dirty)
        else:
            outputs = _C._end_function(handle, outputs, tensors, ctx._dirty, ctx._plain, ctx._to_save, ctx._materialize)
        ctx._to_save = None
        return outputs[0] if single else tuple(outputs)


def once_differentiable(backward):
    """Decorates a ``backward`` that is not itself differentiable: differentiating twice raises an error.

    >>> import rushlight as rl
    >>> class Double(rl.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     @rl.autograd.function.once_differentiable
    ...     def backward(ctx, g):
    ...         return 2 * g
    >>> x = rl.tensor(1.0, requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    tensor(2.)
    """

    @wraps(backward)
    def wrapper(ctx, *grads):
        grad_mode = _C._is_grad_enabled()
        _C._set_grad_enabled(False)
        try:
            result = backward(ctx, *grads)
        finally:
            _C._set_grad_enabled(grad_mode)
        if not grad_mode or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return result
        single = not isinstance(result, tuple)
        outputs = (result,) if single else result
        name = type(ctx).__name__
        anchor = next(g for g in grads if isinstance(g, Tensor) and g.requires_grad)
        outputs = tuple(_Once.apply(o, anchor, name) if isinstance(o, Tensor) else o for o in outputs)
        return outputs[0] if single else outputs

    return wrapper


class _Once(Function):
    """Passes a gradient on and refuses to be differentiated."""

    @staticmethod
    def forward(ctx, x, anchor, name):
        ctx.name_of_function = name
        return x.detach()

    @staticmethod
    def backward(ctx, *grads):
        raise RuntimeError(f"{ctx.name_of_function} is marked @once_differentiable and cannot be differentiated twice")


class InplaceFunction(Function):
    """A Function whose instances once said whether they work in place; kept for old programs."""
