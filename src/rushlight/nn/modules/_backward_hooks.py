"""Backward hooks of modules: an identity in the graph before and after the module sees the gradients that pass."""

from __future__ import annotations

import rushlight as rl

from ... import Tensor
from ..._warnings import warn

_function = None


def _identity_function():
    """The autograd Function, made at first use: most programs never register a backward hook."""
    global _function
    if _function is None:

        class ModuleBackwardHook(rl.autograd.Function):
            @staticmethod
            def forward(ctx, see, *tensors):
                ctx.see = see
                ctx.mark_non_differentiable(*(t for t in tensors if not t.requires_grad))
                return tensors

            @staticmethod
            def backward(ctx, *gradients):
                return None, *ctx.see(gradients)

        _function = ModuleBackwardHook
    return _function


def _as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


class BackwardHooks:
    """The backward hooks of one call of one module.

    ``watch_inputs`` and ``watch_outputs`` pass values through the identity. Gradients of the outputs arrive first:
    pre-hooks may replace them. The hooks run once the gradients of the inputs are known, or at once where no input
    needs any.
    """

    def __init__(self, module, hooks, pre_hooks):
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.output_gradients = None
        self.inputs_watched = False
        self.num_inputs = 0

    def watch_inputs(self, args):
        self.num_inputs = len(args)
        watched = self._watch(args, self._see_input_gradients)
        self.inputs_watched = watched is not args
        return watched

    def watch_outputs(self, result):
        outputs = _as_tuple(result)
        if not any(isinstance(v, Tensor) for v in outputs):
            warn(
                f"backward hooks of {type(self.module).__name__} are not called: forward returned "
                f"{type(result).__name__}, not a Tensor or a tuple of Tensors"
            )
            return result
        watched = self._watch(outputs, self._see_output_gradients)
        return watched if isinstance(result, tuple) else watched[0]

    def _watch(self, values, see):
        places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
        if not rl.is_grad_enabled() or not any(values[i].requires_grad for i in places):
            return values

        def see_all(gradients):
            spread = [None] * len(values)
            for i, g in zip(places, gradients, strict=True):
                spread[i] = g
            seen = see(tuple(spread))
            return tuple(seen[i] for i in places)

        passed = _identity_function().apply(see_all, *(values[i] for i in places))
        result = list(values)
        for i, t in zip(places, _as_tuple(passed), strict=True):
            result[i] = t
        # A namedtuple is rebuilt field by field.
        return type(values)(*result) if hasattr(values, "_fields") else tuple(result)

    def _see_output_gradients(self, gradients):
        for hook in self.pre_hooks:
            gradients = self._replaced(hook(self.module, gradients), gradients, "pre-hook")
        self.output_gradients = gradients
        if not self.inputs_watched:
            nothing = (None,) * self.num_inputs
            for hook in self.hooks:
                returned = hook(self.module, nothing, gradients)
                if returned is not None and any(g is not None for g in _as_tuple(returned)):
                    raise RuntimeError(
                        f"a backward hook of {type(self.module).__name__} returned a gradient for its inputs, but no "
                        "input requires one.\n  hint: return None"
                    )
            self.output_gradients = None
        return gradients

    def _see_input_gradients(self, gradients):
        if self.output_gradients is None:
            return gradients  # a second derivative, which reaches the inputs by another way than through the outputs
        for hook in self.hooks:
            returned = hook(self.module, gradients, self.output_gradients)
            gradients = self._replaced(returned, gradients, "hook")
        self.output_gradients = None
        return gradients

    def _replaced(self, returned, gradients, kind):
        if returned is None:
            return gradients
        returned = _as_tuple(returned)
        if len(returned) != len(gradients):
            raise RuntimeError(
                f"a backward {kind} of {type(self.module).__name__} returned {len(returned)} gradients, "
                f"expected {len(gradients)}"
            )
        return returned
