"""Loading a state_dict into a tree of modules, and the reports about it."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import rushlight as rl

from ... import Tensor
from ..._warnings import warn
from ..parameter import Parameter, is_lazy


class IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What ``load_state_dict`` returns: the names it looked for in vain, and the ones it had no use for."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def load(module, state_dict, strict, assign):
    """Copies state_dict into the module and its submodules; see Module.load_state_dict."""
    missing, unexpected, errors = [], [], []
    metadata = getattr(state_dict, "_metadata", None)
    state_dict = OrderedDict(state_dict)
    if metadata is not None:
        state_dict._metadata = metadata

    def visit(module, state, prefix):
        local = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
        if assign:
            local["assign_to_params_buffers"] = True
        module._load_from_state_dict(state, prefix, local, True, missing, unexpected, errors)
        for name, child in module._modules.items():
            if child is not None:
                child_prefix = f"{prefix}{name}."
                visit(child, {k: v for k, v in state.items() if k.startswith(child_prefix)}, child_prefix)
        result = IncompatibleKeys(missing, unexpected)
        for hook in list(module._load_state_dict_post_hooks.values()):
            if hook(module, result) is not None:
                raise AssertionError("a load_state_dict post-hook returned a value; it may only change its argument")

    visit(module, state_dict, "")
    if strict:
        if unexpected:
            errors.insert(0, "unknown: " + ", ".join(f'"{k}"' for k in unexpected))
        if missing:
            errors.insert(0, "missing: " + ", ".join(f'"{k}"' for k in missing))
    if errors:
        lines = "\n\t".join(errors)
        raise RuntimeError(
            f"{type(module).__name__} cannot load this state_dict:\n\t{lines}{_hint(missing, unexpected)}"
        )
    return IncompatibleKeys(missing, unexpected)


def _hint(missing, unexpected):
    for wrapper in ("module.", "_orig_mod."):
        if unexpected and all(k.startswith(wrapper) for k in unexpected):
            return (
                f'\n  hint: the checkpoint was saved from a wrapped model; strip "{wrapper}" from its keys:\n'
                f'  {{k.removeprefix("{wrapper}"): v for k, v in state_dict.items()}}'
            )
    if missing or unexpected:
        return "\n  hint: load_state_dict(..., strict=False) loads what matches and returns the rest"
    return ""


def load_one(module, state_dict, prefix, metadata, strict, missing, unexpected, errors):
    """Module._load_from_state_dict: the parameters, buffers and extra state of this module alone."""
    for hook in list(module._load_state_dict_pre_hooks.values()):
        hook(state_dict, prefix, metadata, strict, missing, unexpected, errors)

    assign = metadata.get("assign_to_params_buffers", False)
    persistent = {k: v for k, v in module._buffers.items() if k not in module._non_persistent_buffers_set}
    own = {k: v for k, v in {**module._parameters, **persistent}.items() if v is not None}
    for name, current in own.items():
        key = prefix + name
        if key not in state_dict:
            if strict:
                missing.append(key)
            continue
        error = _load_tensor(module, name, key, current, state_dict[key], assign)
        if error is not None:
            errors.append(error)

    extra_key = prefix + "_extra_state"
    if module._overrides("set_extra_state"):
        if extra_key in state_dict:
            module.set_extra_state(state_dict[extra_key])
        elif strict:
            missing.append(extra_key)
    elif strict and extra_key in state_dict:
        unexpected.append(extra_key)

    if strict:
        for key in state_dict:
            if key.startswith(prefix) and key != extra_key:
                name, _, rest = key[len(prefix) :].partition(".")
                if not (name in module._modules if rest else name in own):
                    unexpected.append(key)


def _load_tensor(module, name, key, current, value, assign):
    """Puts value where the tensor `current` is; returns what is wrong, or None."""
    if not isinstance(value, Tensor):
        return f"{key}: the checkpoint holds no tensor but {type(value).__name__}"
    if is_lazy(value):
        return None if is_lazy(current) else f"{key}: the checkpoint's has no shape yet, it comes from a lazy module"
    if value.dim() == 1 and current.dim() == 0 and len(value) == 1:
        value = value[0]  # very old checkpoints keep scalars as one-element vectors
    if value.shape != current.shape:
        return f"{key}: the checkpoint has shape {tuple(value.shape)}, the module {tuple(current.shape)}"
    if current.is_meta and not value.is_meta and not assign:
        warn(
            f"{key}: copying to a parameter on the meta device has no effect; pass assign=True to take the "
            "checkpoint's tensors as they are"
        )
    try:
        with rl.no_grad():
            if not assign:
                current.copy_(value)
                return None
            if isinstance(current, Parameter):
                if not isinstance(value, Parameter):
                    value = Parameter(value, requires_grad=current.requires_grad)
                else:
                    value.requires_grad_(current.requires_grad)
            setattr(module, name, value)
    except Exception as error:
        action = "swapping" if assign else "copying"
        return (
            f'While {action} the parameter named "{key}", whose dimensions in the model are {current.shape} and whose '
            f"dimensions in the checkpoint are {value.shape}, an exception occurred: {error.args}."
        )
    return None
