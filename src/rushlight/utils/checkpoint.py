"""Memory for time: what a part of a model saved for backward is dropped, and computed again when it is needed.

After Chen, Xu, Zhang and Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016.
"""

from __future__ import annotations

import contextlib

import rushlight as rl

from .._warnings import warn


class CheckpointError(RuntimeError):
    """The function gave something else when it was run again."""


def noop_context_fn():
    """Two contexts that change nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function,
    *args,
    use_reentrant: bool | None = None,
    context_fn=noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs,
):
    """``function(*args, **kwargs)``, run again in backward rather than saving what its operations need there.

    Args:
        function: what to run. It must do the same both times; random numbers are drawn from the same state. It must
            not write to tensors that it is given.
        use_reentrant: False is recommended. True has PyTorch's limits: no keyword arguments, and a warning and no
            gradients where none of the arguments requires grad. Gradients are computed in the same way.
        context_fn: gives two contexts, for the first run and for the second.
        determinism_check: "default" compares the shapes and dtypes of what both runs give, "none" does not.
        preserve_rng_state: whether the second run draws the numbers of the first.
        debug, early_stop: accepted; the second run always goes to its end.

    Returns:
        what the function gives; tensors in tuples, lists and dicts are differentiated as well.

    Raises:
        CheckpointError: in backward, where the second run gave other shapes or dtypes.
        RuntimeError: in backward with ``create_graph=True``: the second derivative is not offered.

    >>> import rushlight as rl
    >>> from rushlight.utils.checkpoint import checkpoint
    >>> x = rl.ones(2, requires_grad=True)
    >>> checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([-2.4783, -2.4783])
    """
    if use_reentrant is None:
        warn("checkpoint: use_reentrant should be given; False is recommended, and True is taken as in PyTorch")
        use_reentrant = True
    if determinism_check not in ("default", "none"):
        raise ValueError(f"checkpoint: determinism_check is 'default' or 'none', not {determinism_check!r}")
    inputs = _tensors((args, kwargs))
    if use_reentrant:
        if kwargs:
            raise ValueError(f"checkpoint: use_reentrant=True takes no keyword arguments: {', '.join(kwargs)}")
        if context_fn is not noop_context_fn:
            raise ValueError("checkpoint: context_fn needs use_reentrant=False")
        if rl.is_grad_enabled() and not any(x.requires_grad for x in inputs):
            warn("checkpoint: none of the inputs requires grad, so gradients will be None")
            with rl.no_grad():
                return function(*args, **kwargs)
    first, second = context_fn()
    if not rl.is_grad_enabled():
        with first:
            return function(*args, **kwargs)
    state = rl.get_rng_state() if preserve_rng_state else None
    precision = rl.autocast("cpu", enabled=rl.is_autocast_enabled("cpu"))

    def run(inputs):
        """The function's result for other inputs of the same structure, with a history that begins at them."""
        leaves = [x.detach().requires_grad_(x.requires_grad) for x in inputs]
        given, named = _replaced((args, kwargs), iter(leaves))
        return leaves, function(*given, **named)

    def again(inputs):
        with rl.random.fork_rng(enabled=state is not None), precision, second:
            if state is not None:
                rl.set_rng_state(state)
            return run(inputs)

    # The first run is recorded too, to find the parameters that it uses. What it saved goes when `result` does.
    with first:
        leaves, result = run(inputs)
    outputs = _tensors(result)
    used = _leaves([y for y in outputs if y.requires_grad], leaves)
    wanted = [y.requires_grad and y.is_floating_point() for y in outputs]
    if not any(wanted):
        return result
    shapes = None if determinism_check == "none" else [(y.shape, y.dtype) for y in outputs]
    plain = [y.detach() for y in outputs]
    differentiable = CheckpointFunction.apply(again, shapes, len(inputs), wanted, plain, *inputs, *used)
    differentiable = iter(differentiable if isinstance(differentiable, tuple) else (differentiable,))
    return _replaced(result, iter([next(differentiable) if want else y for want, y in zip(wanted, plain, strict=True)]))


class CheckpointFunction(rl.autograd.Function):
    """Its inputs are the tensors that the function was given and the leaves that it used besides."""

    @staticmethod
    def forward(ctx, again, shapes, count, wanted, plain, *tensors):
        ctx.again, ctx.shapes, ctx.count, ctx.wanted = again, shapes, count, wanted
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        return tuple(y for y, want in zip(plain, wanted, strict=True) if want)

    @staticmethod
    def backward(ctx, *grads):
        if rl.is_grad_enabled():
            raise RuntimeError(
                "checkpoint: its backward is not recorded, so there is no second derivative (create_graph=True)\n"
                "  hint: call the function without checkpoint"
            )
        tensors = ctx.saved_tensors
        inputs, used = tensors[: ctx.count], tensors[ctx.count :]
        with rl.enable_grad():
            leaves, result = ctx.again(inputs)
        outputs = _tensors(result)
        shapes = [(y.shape, y.dtype) for y in outputs]
        if ctx.shapes is not None and shapes != ctx.shapes or len(shapes) != len(ctx.wanted):
            raise CheckpointError(
                f"checkpoint: the function gave {ctx.shapes} at first and {shapes} when it was run again\n"
                "  hint: it must do the same both times, whatever else has changed meanwhile"
            )
        outputs = [y for y, want in zip(outputs, ctx.wanted, strict=True) if want]
        pairs = [(y, g) for y, g in zip(outputs, grads, strict=True) if g is not None and y.requires_grad]
        needed = [i for i, x in enumerate([*leaves, *used]) if x.requires_grad]
        results = [None] * len(tensors)
        if pairs:
            every = [*leaves, *used]
            # Whatever the function took from outside is part of a graph that others have yet to go through.
            found = rl.autograd.grad(
                [y for y, _ in pairs],
                [every[i] for i in needed],
                [g for _, g in pairs],
                retain_graph=True,
                allow_unused=True,
            )
            for i, g in zip(needed, found, strict=True):
                results[i] = g
        return (None, None, None, None, None, *results)


def checkpoint_sequential(functions, segments: int, input, use_reentrant: bool | None = None, **kwargs):
    """Runs modules one after another in ``segments`` parts, each but the last by :func:`checkpoint`.

    Args:
        functions: a Sequential, or a list of modules or functions.
        segments: how many parts to make of them.
        input: what the first is given.
        use_reentrant, preserve_rng_state: as in :func:`checkpoint`.
    """
    if use_reentrant is None:
        warn("checkpoint_sequential: use_reentrant should be given; False is recommended")
        use_reentrant = True
    functions = list(functions.children()) if isinstance(functions, rl.nn.Sequential) else list(functions)

    def chained(part):
        def run(x):
            for function in part:
                x = function(x)
            return x

        return run

    size = max(1, len(functions) // segments)
    starts = [size * i for i in range(segments - 1) if size * (i + 1) < len(functions)]
    for start in starts:
        part = chained(functions[start : start + size])
        input = checkpoint(part, input, use_reentrant=use_reentrant, **kwargs)
    return chained(functions[size * len(starts) :])(input)


def _tensors(tree) -> list:
    """The tensors in nested tuples, lists and dicts."""
    if isinstance(tree, rl.Tensor):
        return [tree]
    if isinstance(tree, dict):
        tree = tree.values()
    elif not isinstance(tree, (tuple, list)):
        return []
    return [tensor for part in tree for tensor in _tensors(part)]


def _replaced(tree, tensors):
    """The same structure with the next of ``tensors`` in place of each."""
    if isinstance(tree, rl.Tensor):
        return next(tensors)
    if type(tree) is dict:
        return {key: _replaced(value, tensors) for key, value in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(_replaced(part, tensors) for part in tree))
    if type(tree) in (tuple, list):
        return type(tree)(_replaced(part, tensors) for part in tree)
    return tree


def _leaves(outputs: list, known: list) -> list:
    """The leaves that the outputs were computed from, but for those known."""
    seen = set()
    found = {}
    todo = [y.grad_fn for y in outputs if y.grad_fn is not None]
    todo_leaves = [y for y in outputs if y.grad_fn is None]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            todo_leaves.append(leaf)
        todo += [after for after, _ in node.next_functions if after is not None]
    for leaf in todo_leaves:
        if not any(leaf is x for x in known):
            found[id(leaf)] = leaf
    return list(found.values())
