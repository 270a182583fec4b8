"""Hooks of modules: those for all modules, and the way a module with hooks is called."""

from __future__ import annotations

import sys
from collections import OrderedDict

from ..._warnings import warn

# Hooks that every module runs, before its own.
forward_pre_hooks: OrderedDict = OrderedDict()
forward_hooks: OrderedDict = OrderedDict()
forward_hooks_with_kwargs: OrderedDict = OrderedDict()
forward_hooks_always_called: OrderedDict = OrderedDict()
backward_pre_hooks: OrderedDict = OrderedDict()
backward_hooks: OrderedDict = OrderedDict()
# Hooks called as hook(module, name, value) when something is registered; what they return replaces the value.
buffer_registration_hooks: OrderedDict = OrderedDict()
module_registration_hooks: OrderedDict = OrderedDict()
parameter_registration_hooks: OrderedDict = OrderedDict()


def any_global() -> bool:
    return bool(forward_pre_hooks or forward_hooks or backward_pre_hooks or backward_hooks)


def returning_none(hook, *args):
    """Calls a hook that may change its arguments but not replace them."""
    if hook(*args) is not None:
        raise RuntimeError("state_dict post-hook must return None")


def replaced_on_registration(table, module, name, value):
    for hook in table.values():
        result = hook(module, name, value)
        if result is not None:
            value = result
    return value


def call(module, args, kwargs):
    """Runs forward with the hooks around it: all modules' first, then the module's own."""
    finished = set()
    try:
        return _call(module, args, kwargs, finished)
    except Exception:
        _run_always_called(module, args, kwargs, finished)
        raise


def _call(module, args, kwargs, finished):
    for hook in list(forward_pre_hooks.values()):
        args = _new_args(hook(module, args), args)
    for key, hook in list(module._forward_pre_hooks.items()):
        if key in module._forward_pre_hooks_with_kwargs:
            returned = hook(module, args, kwargs)
            if returned is None:
                continue
            if not (isinstance(returned, tuple) and len(returned) == 2):
                raise RuntimeError(
                    f"a forward pre-hook of {type(module).__name__} registered with_kwargs must return None or "
                    f"(args, kwargs), got {type(returned).__name__}"
                )
            args, kwargs = returned
        else:
            args = _new_args(hook(module, args), args)

    backward = None
    if module._backward_hooks or module._backward_pre_hooks or backward_hooks or backward_pre_hooks:
        from ._backward_hooks import BackwardHooks

        backward = BackwardHooks(
            module,
            [*backward_hooks.values(), *module._backward_hooks.values()],
            [*backward_pre_hooks.values(), *module._backward_pre_hooks.values()],
        )
        args = backward.watch_inputs(args)

    result = module.forward(*args, **kwargs)

    for key, hook, with_kwargs, _ in _forward_hooks(module):
        finished.add(key)
        returned = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
        if returned is not None:
            result = returned

    return result if backward is None else backward.watch_outputs(result)


def _new_args(returned, args):
    if returned is None:
        return args
    return returned if isinstance(returned, tuple) else (returned,)


def _forward_hooks(module):
    """(key, hook, with_kwargs, always_call) of every forward hook, in the order they run."""
    hooks = [
        (key, hook, key in forward_hooks_with_kwargs, key in forward_hooks_always_called)
        for key, hook in forward_hooks.items()
    ]
    hooks += [
        (key, hook, key in module._forward_hooks_with_kwargs, key in module._forward_hooks_always_called)
        for key, hook in module._forward_hooks.items()
    ]
    return hooks


def _run_always_called(module, args, kwargs, finished):
    for key, hook, with_kwargs, always in _forward_hooks(module):
        if not always or key in finished:
            continue
        try:
            hook(module, args, kwargs, None) if with_kwargs else hook(module, args, None)
        except Exception as error:
            warn(
                f"a forward hook of {type(module).__name__} registered with always_call raised {error!r} while "
                "another exception was on its way; the first one is raised"
            )


def note_path(module, error):
    """Adds to the error a note that says where in the model it arose, such as ``in model.layers[2].fc (Linear)``.

    Called by each module that the error passes on its way out, innermost first; each puts its part in front.
    """
    trail = getattr(error, "_rushlight_trail", None)
    if trail is None:
        origin, inner, path, old_note = type(module).__name__, module, "", None
    else:
        origin, inner, path, old_note = trail
        if inner is module:
            return
        path = _path_from(module, inner) + path
    note = f"in {_name_in_caller(module)}{path} ({origin})"
    try:
        error._rushlight_trail = (origin, module, path, note)
        if old_note is not None:
            error.__notes__.remove(old_note)
    except (AttributeError, TypeError, ValueError):
        pass  # an exception without a __dict__, or one whose notes someone has changed
    error.add_note(note)


def _path_from(outer, inner):
    for name, module in outer.named_modules(remove_duplicate=False):
        if module is inner:
            return "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in name.split("."))
    return f" > {type(inner).__name__}"  # called by outer, but not one of its submodules


def _name_in_caller(module):
    # Frames up from here: note_path, Module.__call__, the caller.
    frame = sys._getframe(3)
    for name, value in list(frame.f_locals.items()):
        if value is module and name != "self" and not name.startswith("_"):
            return name
    return type(module).__name__
