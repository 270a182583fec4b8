"""Derivatives of functions: Jacobians and Hessians, whole or times a vector.

``func`` takes one tensor for each of ``inputs`` (a tensor or a tuple of them) and gives a tensor or a tuple. What is
given back has the structure of what was given: a tensor for a tensor, a tuple for a tuple. ``create_graph`` makes
results differentiable themselves; ``strict`` raises RuntimeError, instead of giving zeros, where an output does not
depend on an input.
"""

from __future__ import annotations

from .. import _C
from .._creation import ones_like, zeros_like
from .grad_mode import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """The outputs, and ``v`` times the Jacobian.

    Args:
        func, inputs, create_graph, strict: as the module says.
        v: of the outputs' shapes; may be left away where there is one output of one element.

    Raises:
        RuntimeError: ``v`` does not fit the outputs.

    >>> import rushlight as rl
    >>> from rushlight.autograd.functional import vjp
    >>> vjp(lambda x: x**2, rl.tensor([1.0, 2.0]), rl.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        inputs, single = _inputs("vjp", inputs, create_graph)
        outputs, single_output = _outputs("vjp", func(*inputs))
        v = _vectors("vjp", v, outputs, "outputs")
        result = _gradients("vjp", outputs, inputs, v, create_graph, strict)
    return _given_back(outputs, single_output, create_graph), _given_back(result, single, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """The outputs, and the Jacobian times ``v``: how the outputs move when the inputs move along ``v``.

    Args:
        func, inputs, create_graph, strict: as the module says.
        v: of the inputs' shapes; may be left away where there is one input of one element.

    Raises:
        RuntimeError: ``v`` does not fit the inputs.

    The gradient of ``w @ J`` by w, times v, is ``J @ v``: a backward through the backward, so that ``func`` has to be
    twice differentiable.

    >>> import rushlight as rl
    >>> from rushlight.autograd.functional import jvp
    >>> jvp(lambda x: x**2, rl.tensor([1.0, 2.0]), rl.tensor([1.0, 0.0]))[1]
    tensor([2., 0.])
    """
    with enable_grad():
        inputs, _ = _inputs("jvp", inputs, create_graph)
        v = _vectors("jvp", v, inputs, "inputs")
        outputs, single = _outputs("jvp", func(*inputs))
        w = tuple(zeros_like(y).requires_grad_() for y in outputs)
        back = _gradients("jvp", outputs, inputs, w, True, strict)
        result = _gradients("jvp", back, w, v, create_graph, strict)
    return _given_back(outputs, single, create_graph), _given_back(result, single, create_graph)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The derivative of every element of the outputs by every element of the inputs.

    Args:
        func, inputs, create_graph, strict: as the module says.
        vectorize, strategy: accepted; there is one backward for each element of the outputs.

    Returns:
        Of shape ``output.shape + input.shape``; for several outputs a tuple over them, for several inputs a tuple over
        these, innermost.

    >>> import rushlight as rl
    >>> from rushlight.autograd.functional import jacobian
    >>> jacobian(lambda x: x.cumsum(0), rl.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [1., 1.]])
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(f"jacobian: strategy is 'reverse-mode' or 'forward-mode', got {strategy!r}")
    with enable_grad():
        inputs, single = _inputs("jacobian", inputs, create_graph)
        outputs, single_output = _outputs("jacobian", func(*inputs))
        whole = []
        for y in outputs:
            rows = [
                _gradients("jacobian", (e,), inputs, (ones_like(e),), create_graph, strict)
                for e in y.reshape(-1).unbind()
            ]
            columns = zip(*rows, strict=True) if rows else [()] * len(inputs)
            parts = [
                _C.stack(list(column)).reshape((*y.shape, *x.shape)) if column else x.new_zeros((*y.shape, *x.shape))
                for column, x in zip(columns, inputs, strict=True)
            ]
            whole.append(_given_back(tuple(parts), single, create_graph))
    return whole[0] if single_output else tuple(whole)


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a function whose output is one element.

    Args:
        func, inputs, create_graph, strict: as the module says.
        vectorize, outer_jacobian_strategy: as in :func:`jacobian`.

    Returns:
        Of shape ``input.shape + input.shape``; for several inputs a tuple of tuples.

    Raises:
        RuntimeError: the output has not one element.

    >>> import rushlight as rl
    >>> from rushlight.autograd.functional import hessian
    >>> hessian(lambda x: x[0] ** 2 * x[1], rl.tensor([1.0, 2.0]))
    tensor([[4., 2.],
            [2., 0.]])
    """

    def gradient(*xs):
        # Where the outer Jacobian does not need these recorded, the gradient still has to be.
        xs = tuple(x if x.requires_grad else x.requires_grad_() for x in xs)
        outputs, _ = _outputs("hessian", func(*xs))
        return _gradients("hessian", (_one_element("hessian", outputs),), xs, (None,), True, strict)

    whole = jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return whole[0] if isinstance(inputs, _C.Tensor) else whole


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """The output, and ``v`` times the Hessian; arguments as :func:`hessian`'s, ``v`` of the inputs' shapes.

    >>> import rushlight as rl
    >>> from rushlight.autograd.functional import vhp
    >>> vhp(lambda x: (x**3).sum(), rl.tensor([1.0, 2.0]), rl.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        inputs, single = _inputs("vhp", inputs, create_graph)
        v = _vectors("vhp", v, inputs, "inputs")
        outputs, single_output = _outputs("vhp", func(*inputs))
        first = _gradients("vhp", (_one_element("vhp", outputs),), inputs, (None,), True, strict)
        result = _gradients("vhp", first, inputs, v, create_graph, strict)
    return _given_back(outputs, single_output, create_graph), _given_back(result, single, create_graph)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """The output, and the Hessian times ``v``: the same as :func:`vhp`, for a Hessian is symmetric.

    >>> import rushlight as rl
    >>> from rushlight.autograd.functional import hvp
    >>> hvp(lambda x: (x**3).sum(), rl.tensor([1.0, 2.0]), rl.tensor([1.0, 0.0]))[1]
    tensor([6., 0.])
    """
    return vhp(func, inputs, v, create_graph, strict)


def _tensors(name: str, what: str, given) -> tuple[tuple, bool]:
    """As a tuple, and whether it was a tensor by itself."""
    single = isinstance(given, _C.Tensor)
    tensors = (given,) if single else tuple(given) if isinstance(given, (tuple, list)) else (given,)
    for x in tensors:
        if not isinstance(x, _C.Tensor):
            raise TypeError(f"{name}: {what} must be a Tensor or a tuple of Tensors, got {type(x).__name__}")
    return tensors, single


def _inputs(name: str, inputs, create_graph: bool) -> tuple[tuple, bool]:
    """New tensors to differentiate by, connected to the user's if results are to be."""
    inputs, single = _tensors(name, "inputs", inputs)
    if create_graph:
        return tuple(x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in inputs), single
    return tuple(x.detach().requires_grad_() for x in inputs), single


def _outputs(name: str, outputs) -> tuple[tuple, bool]:
    return _tensors(name, "what func gives", outputs)


def _one_element(name: str, outputs: tuple):
    if len(outputs) != 1 or outputs[0].numel() != 1:
        shapes = ", ".join(str(tuple(y.shape)) for y in outputs)
        raise RuntimeError(f"{name}: func must give one tensor of one element, got {shapes}\n  hint: sum it up")
    return outputs[0].reshape(())


def _vectors(name: str, v, like: tuple, what: str) -> tuple:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"{name}: v may be left away only where the {what} are one tensor of one element")
        return (ones_like(like[0]).detach(),)
    v, _ = _tensors(name, "v", v)
    if len(v) != len(like):
        raise RuntimeError(f"{name}: v has {len(v)} tensors, the {what} have {len(like)}")
    for a, b in zip(v, like, strict=True):
        if a.shape != b.shape:
            raise RuntimeError(f"{name}: v of shape {tuple(a.shape)} does not fit the {what}' {tuple(b.shape)}")
    return v


def _gradients(name: str, outputs: tuple, inputs: tuple, v: tuple, create_graph: bool, strict: bool) -> tuple:
    """Zeros where there is no dependence, or an error if strict."""
    live = [(y, w) for y, w in zip(outputs, v, strict=True) if y.requires_grad]
    if strict and len(live) < len(outputs):
        raise RuntimeError(f"{name}: an output does not depend on the inputs, which strict=True forbids")
    found = (None,) * len(inputs)
    if live:
        ys, ws = zip(*live, strict=True)
        found = _C._run_backward(ys, ws, inputs, True, create_graph, False, True)
    if strict and any(g is None for g in found):
        which = [i for i, g in enumerate(found) if g is None]
        raise RuntimeError(f"{name}: the outputs do not depend on input {which[0]}, which strict=True forbids")
    return tuple(zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True))


def _given_back(tensors: tuple, single: bool, create_graph: bool):
    tensors = tensors if create_graph else tuple(t.detach() for t in tensors)
    return tensors[0] if single else tensors
