"""Are gradients right? Compare them with finite differences."""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import rushlight as rl

from .. import Tensor
from .._warnings import warn

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A gradient differs from finite differences."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    fast_mode: bool = False,
) -> bool:
    """Check gradients of ``func`` at ``inputs`` against central finite differences.

    For every floating-point output and every input that requires grad the whole Jacobian is computed twice: a column
    at a time by moving one input element by ``eps`` both ways, and a row at a time by backward. They must agree
    element by element: ``|numerical - analytical| <= atol + rtol * |numerical|``.

    Args:
        func: takes ``inputs`` and returns a Tensor or a tuple of Tensors. It must be deterministic and must not change
            its inputs.
        inputs: a Tensor or a sequence of arguments, Tensors or not. Those that require grad should be float64, away
            from kinks, and must not overlap themselves in memory (as expanded tensors do).
        eps: step of the finite differences.
        atol, rtol: tolerances.
        raise_exception: whether to raise when the check fails; if not, the function returns False.
        nondet_tol: by how much two runs of backward may differ.
        check_undefined_grad: also check, where there are several outputs, that an output without gradient counts like
            one whose gradient is zero.
        check_grad_dtypes: also check that gradients have their inputs' dtypes.
        fast_mode: compare one random projection of each Jacobian instead of all elements. Much faster for large
            inputs; may miss an error, and cannot say where it is.

    Returns:
        True if all agree.

    Raises:
        ValueError: no input requires grad, or one overlaps itself in memory.
        GradcheckError (a RuntimeError): the check failed and ``raise_exception`` is set.

    Example:
        >>> import rushlight as rl
        >>> x = rl.linspace(0.5, 2.0, 4, dtype=rl.float64, requires_grad=True)
        >>> rl.autograd.gradcheck(rl.log, x)
        True
    """
    arguments = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    leaves = _differentiable(arguments)
    try:
        outputs = _outputs(func(*arguments))
        compare = _compare_projection if fast_mode else _compare_jacobian
        for number, output in enumerate(outputs):
            for position in leaves:
                compare(func, arguments, position, output, number, eps, atol, rtol, nondet_tol)
            if check_grad_dtypes:
                _check_dtypes(output, number, arguments, leaves)
        if check_undefined_grad:
            _check_undefined(outputs, arguments, leaves)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    fast_mode: bool = False,
) -> bool:
    """Check second derivatives of ``func``: :func:`gradcheck` of its gradient.

    The gradient is taken as a function of ``inputs`` and of the incoming gradients ``grad_outputs``, one for each
    differentiable output. By default these are made up, the same each time. The other arguments are those of
    :func:`gradcheck`.

    Example:
        >>> import rushlight as rl
        >>> x = rl.linspace(0.5, 2.0, 4, dtype=rl.float64, requires_grad=True)
        >>> rl.autograd.gradgradcheck(rl.log, x)
        True
    """
    arguments = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    leaves = _differentiable(arguments)
    outputs = [o for o in _outputs(func(*arguments)) if o.requires_grad]
    if not outputs:
        raise ValueError("gradgradcheck: no output of the function requires grad")
    if grad_outputs is None:
        given = tuple(_made_up(o).requires_grad_() for o in outputs)
    else:
        given = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
        if len(given) != len(outputs):
            raise ValueError(
                f"gradgradcheck: {len(given)} grad_outputs were given for {len(outputs)} differentiable outputs"
            )

    def gradient(*values: Any) -> tuple[Tensor, ...]:
        first, incoming = values[: len(arguments)], values[len(arguments) :]
        # Finite differences hand in detached copies, and a gradient needs inputs that require grad.
        first = tuple(_requiring_grad(v) if i in leaves else v for i, v in enumerate(first))
        results = [o for o in _outputs(func(*first)) if o.requires_grad]
        wanted = [first[i] for i in leaves]
        grads = rl.autograd.grad(results, wanted, incoming, create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    return gradcheck(
        gradient,
        (*arguments, *given),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        fast_mode=fast_mode,
    )


def _differentiable(arguments: Sequence[Any]) -> list[int]:
    """Positions of the inputs to differentiate by."""
    leaves = [i for i, a in enumerate(arguments) if isinstance(a, Tensor) and a.requires_grad]
    if not leaves:
        raise ValueError("gradcheck: no input requires grad\n  hint: call x.requires_grad_() on at least one")
    for i in leaves:
        x = arguments[i]
        if x.dtype != rl.float64:
            warn(f"gradcheck: input {i} is {x.dtype}; finite differences need float64 to be accurate")
        if x.numel() and any(size > 1 and stride == 0 for size, stride in zip(x.shape, x.stride(), strict=True)):
            raise ValueError(
                f"gradcheck: input {i} of shape {tuple(x.shape)} and strides {x.stride()} overlaps itself in memory, "
                "so its elements cannot be moved one by one\n  hint: call .contiguous() on it first"
            )
    return leaves


def _outputs(result: Any) -> list[Tensor]:
    results = (result,) if isinstance(result, Tensor) else tuple(result)
    return [r for r in results if isinstance(r, Tensor) and r.is_floating_point()]


def _requiring_grad(x: Tensor) -> Tensor:
    return x if x.requires_grad else x.detach().requires_grad_()


def _made_up(like: Tensor, start: float = 1.0) -> Tensor:
    """Values without pattern that do not draw from the generator."""
    values = rl.cos(rl.arange(like.numel(), dtype=like.dtype) * 1.7 + start)
    return values.reshape(like.shape).to(like.device)


def _moved(arguments: Sequence[Any], position: int, step: Callable[[Tensor], None]) -> tuple[Any, ...]:
    """The arguments, detached, with one of them changed by ``step``. The others keep requiring grad, since functions
    may look at it."""
    copy = arguments[position].detach().clone()
    step(copy)
    copy.requires_grad_()
    return tuple(copy if i == position else a for i, a in enumerate(arguments))


def _difference(
    func: Callable, arguments: Sequence[Any], position: int, number: int, eps: float, direction: Callable
) -> Tensor:
    """(f(x + eps v) - f(x - eps v)) / (2 eps) for one output."""

    def at(sign: float) -> Tensor:
        values = _outputs(func(*_moved(arguments, position, lambda copy: direction(copy, sign * eps))))
        return values[number].detach().clone()

    return (at(1.0) - at(-1.0)) / (2 * eps)


def _indices(x: Tensor) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(size) for size in x.shape))


def _gradient(output: Tensor, x: Tensor, incoming: Tensor) -> Tensor:
    if not output.requires_grad:
        return rl.zeros_like(x)
    (grad,) = rl.autograd.grad([output], [x], [incoming], retain_graph=True, allow_unused=True)
    if grad is None:
        return rl.zeros_like(x)
    if grad.shape != x.shape:
        raise GradcheckError(f"the gradient has shape {tuple(grad.shape)}, its input {tuple(x.shape)}")
    return grad.detach()


def _deterministic(output: Tensor, x: Tensor, incoming: Tensor, nondet_tol: float) -> Tensor:
    first, second = (_gradient(output, x, incoming) for _ in range(2))
    if x.numel() and not bool(((first - second).abs() <= nondet_tol).all() | (first != first).any()):
        raise GradcheckError(
            f"backward gave two different gradients for the same input:\n{first}\n{second}\n"
            "  hint: nondet_tol allows for a difference"
        )
    return first


def _compare_jacobian(func, arguments, position, output, number, eps, atol, rtol, nondet_tol) -> None:
    x = arguments[position]
    if not x.numel() or not output.numel():
        if output.requires_grad:
            _gradient(output, x, rl.zeros_like(output))  # nothing to compare, but it must run
        return
    columns = []
    for index in _indices(x):

        def step(copy: Tensor, by: float, index: tuple[int, ...] = index) -> None:
            copy[index] = copy[index] + by

        columns.append(_difference(func, arguments, position, number, eps, step).reshape(-1))
    numerical = rl.stack(columns)
    rows = []
    for index in _indices(output):
        incoming = rl.zeros_like(output).detach()
        incoming[index] = 1
        rows.append(_deterministic(output, x, incoming, nondet_tol).reshape(-1))
    analytical = rl.stack(rows, 1)
    _compare(numerical, analytical, number, position, atol, rtol)


def _compare_projection(func, arguments, position, output, number, eps, atol, rtol, nondet_tol) -> None:
    x = arguments[position]
    incoming, direction = _made_up(output), _made_up(x, 2.0)
    analytical = (_deterministic(output, x, incoming, nondet_tol) * direction).sum()
    moved = _difference(func, arguments, position, number, eps, lambda copy, by: copy.add_(direction * by))
    _compare((moved * incoming).sum(), analytical, number, position, atol * max(1, x.numel()) ** 0.5, rtol)


def _compare(numerical: Tensor, analytical: Tensor, number: int, position: int, atol: float, rtol: float) -> None:
    error = (numerical - analytical).abs()
    close = error <= atol + rtol * numerical.abs()
    if not bool(close.all()):  # a nan is not close to anything
        raise GradcheckError(
            f"the Jacobian of output {number} by input {position} (a row for each input element, a column for each "
            f"output element) differs from finite differences.\nnumerical:\n{numerical}\nanalytical:\n{analytical}\n"
            f"largest difference: {error.max().item()}"
        )


def _check_dtypes(output: Tensor, number: int, arguments: Sequence[Any], leaves: list[int]) -> None:
    if not output.requires_grad:
        return
    inputs = [arguments[i] for i in leaves]
    incoming = rl.ones_like(output)
    grads = rl.autograd.grad([output], inputs, [incoming], retain_graph=True, allow_unused=True)
    for position, grad in zip(leaves, grads, strict=True):
        if grad is not None and grad.dtype != arguments[position].dtype:
            raise GradcheckError(
                f"the gradient of output {number} by input {position} is {grad.dtype}, the input "
                f"{arguments[position].dtype}"
            )


def _check_undefined(outputs: list[Tensor], arguments: Sequence[Any], leaves: list[int]) -> None:
    outputs = [o for o in outputs if o.requires_grad]
    if len(outputs) < 2:
        return
    inputs = [arguments[i] for i in leaves]
    for number, output in enumerate(outputs):
        incoming = [_made_up(o) if i == number else rl.zeros_like(o) for i, o in enumerate(outputs)]
        alone = rl.autograd.grad([output], inputs, [incoming[number]], retain_graph=True, allow_unused=True)
        zeros = rl.autograd.grad(outputs, inputs, incoming, retain_graph=True, allow_unused=True)
        for position, a, z in zip(leaves, alone, zeros, strict=True):
            a = rl.zeros_like(arguments[position]) if a is None else a
            z = rl.zeros_like(arguments[position]) if z is None else z
            if a.numel() and not bool((a == z).all() | (a != a).any()):
                raise GradcheckError(
                    f"the gradient by input {position} depends on whether the other outputs than output {number} "
                    f"have no gradient or a zero one:\n{a}\n{z}"
                )


class _CallableModule(types.ModuleType):
    # Importing this module puts it where autograd.gradcheck, the function, was.
    __call__ = staticmethod(gradcheck)


sys.modules[__name__].__class__ = _CallableModule
