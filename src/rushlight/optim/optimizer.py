"""Optimizer: the base of all optimizers."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from numbers import Real
from typing import Any

import rushlight as rl

from .. import _C, Tensor
from .._warnings import warn
from ..utils.gradients import zero_gradients
from ..utils.hooks import RemovableHandle, add_hook

_global_pre_hooks: OrderedDict = OrderedDict()
_global_post_hooks: OrderedDict = OrderedDict()

Params = Iterable[Tensor] | Iterable[tuple[str, Tensor]] | Iterable[dict[str, Any]]
ParamsT = Params


class _Required:
    def __repr__(self):
        return "<required parameter>"


required = _Required()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Has ``hook(optimizer, args, kwargs)`` called before every optimizer's step; returns a removable handle."""
    return add_hook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Has ``hook(optimizer, args, kwargs)`` called after every optimizer's step; returns a removable handle."""
    return add_hook(_global_post_hooks, hook)


def _with_hooks(step):
    """A class's step with the hooks around it, and a mark that schedulers look for."""

    @functools.wraps(step)
    def hooked_step(self, *args, **kwargs):
        self._opt_called = True
        if not _C._profiler_running():
            return run(self, args, kwargs)
        with _C._Profiled(f"Optimizer.step#{type(self).__name__}.step"):
            return run(self, args, kwargs)

    def run(self, args, kwargs):
        pre, post = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        if not (pre or post or _global_pre_hooks or _global_post_hooks):
            return step(self, *args, **kwargs)
        for hook in [*_global_pre_hooks.values(), *pre.values()]:
            replaced = hook(self, args, kwargs)
            if replaced is not None:
                if not (isinstance(replaced, tuple) and len(replaced) == 2):
                    raise RuntimeError(
                        f"a step pre-hook of {type(self).__name__} returned {replaced!r}\n"
                        "  hint: return None, or a tuple (new_args, new_kwargs)"
                    )
                args, kwargs = replaced
        result = step(self, *args, **kwargs)
        for hook in [*post.values(), *_global_post_hooks.values()]:
            hook(self, args, kwargs)
        return result

    return hooked_step


class Optimizer:
    """The base class of all optimizers.

    Args:
        params: an iterable of Tensors, of (name, Tensor) pairs, or of dicts, one for each group of parameters: a dict
            has ``"params"`` and any options that differ from the defaults.
        defaults: the options of groups that do not set their own.

    Raises:
        TypeError: ``params`` is no such iterable.
        ValueError: it is empty, or has a tensor that is not a leaf, or one in two groups.

    Subclasses define ``step``.
    """

    _opt_called = False  # set by step; schedulers warn where it has not run yet

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.step)

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._add_hook_tables()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {params.type()}\n  hint: put it in a list"
            )
        if not hasattr(params, "__iter__"):
            raise TypeError(
                f"an optimizer takes an iterable of Tensors or dicts, not {type(params).__name__}\n"
                "  hint: of a module, pass model.parameters()"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError(
                "optimizer got an empty parameter list\n"
                "  hint: model.parameters() can be walked once only; or the model has registered none"
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _add_hook_tables(self):
        self._optimizer_step_pre_hooks = OrderedDict()
        self._optimizer_step_post_hooks = OrderedDict()
        self._optimizer_state_dict_pre_hooks = OrderedDict()
        self._optimizer_state_dict_post_hooks = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks = OrderedDict()
        self._optimizer_load_state_dict_post_hooks = OrderedDict()

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._add_hook_tables()
        for group in self.param_groups:  # options that did not exist when it was saved
            for name, value in self.defaults.items():
                group.setdefault(name, value)

    def __repr__(self):
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group, as to train more of a model later on.

        Args:
            param_group: a dict with ``"params"`` (a Tensor or an ordered iterable of them, or of (name, Tensor) pairs)
                and options; those left out are the defaults.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, (set, frozenset)):
            raise TypeError(
                "the parameters came in a set, whose order changes from run to run\n  hint: pass a list of them"
            )
        else:
            params = list(params)
        param_group["params"] = params
        named = [isinstance(p, tuple) for p in params]
        if any(named):
            if not all(named):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = [name for name, _ in params]
            param_group["params"] = params = [p for _, p in params]
        for i, p in enumerate(params):
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not (p.is_leaf or p.retains_grad):
                raise ValueError(
                    f"parameter {i} ({p.dtype}, shape {tuple(p.shape)}) is not a leaf: it is computed from others\n"
                    "  hint: pass those; or cut it off from them with p.detach().requires_grad_()"
                )
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len({id(p) for p in params}) != len(params):
            warn(
                f"group {len(self.param_groups)} has a parameter more than once: a step changes it as often"
                "\n  hint: pass each parameter once"
            )
        taken = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in taken for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups and ("param_names" in param_group) != ("param_names" in self.param_groups[0]):
            raise ValueError("all optimizer param groups should be with/without names.")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters, or fills them with zeros where ``set_to_none`` is False."""
        with _C._Profiled(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"):
            for group in self.param_groups:
                zero_gradients(group["params"], set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Changes the parameters by one step.

        Args:
            closure: a function that computes the loss anew and calls backward; its result is returned.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define step()")

    @staticmethod
    def _evaluate(closure):
        if closure is None:
            return None
        with rl.enable_grad():
            return closure()

    # State

    def state_dict(self) -> dict[str, Any]:
        """What is needed to go on later: ``"state"`` by parameter number, and ``"param_groups"``.

        Parameters are numbered in the order of groups; the tensors are those of the optimizer, not copies.
        """
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {(numbers[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            replaced = hook(self, result)
            if replaced is not None:
                result = replaced
        return result

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes what ``state_dict()`` gave, for parameters in the same order.

        Raises:
            ValueError: the groups, or their numbers of parameters, do not match.
        """
        state_dict = dict(state_dict)
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            replaced = hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        groups, saved_groups = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved_groups):
            raise ValueError(
                "loaded state dict has a different number of parameter groups: "
                f"{len(saved_groups)}, the optimizer has {len(groups)}"
            )
        params: dict[int, Tensor] = {}
        for i, (group, saved) in enumerate(zip(groups, saved_groups, strict=True)):
            if len(group["params"]) != len(saved["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group: "
                    f"group {i} has {len(saved['params'])} parameters, the optimizer's {len(group['params'])}"
                )
            params.update(zip(saved["params"], group["params"], strict=True))
            saved["params"] = group["params"]
            if "param_names" in group and "param_names" not in saved:
                saved["param_names"] = group["param_names"]

        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = {name: _fitted(name, v, params[key]) for name, v in value.items()}
            else:
                state[key] = value
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    # Hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Has ``hook(optimizer, args, kwargs)`` called before step; it may return new (args, kwargs)."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Has ``hook(optimizer, args, kwargs)`` called after step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Has ``hook(optimizer)`` called before a state_dict is made."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend=prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Has ``hook(optimizer, state_dict)`` called after; what it returns, if not None, is the state_dict."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend=prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Has ``hook(optimizer, state_dict)`` called before loading; what it returns, if not None, is loaded."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend=prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Has ``hook(optimizer)`` called after loading."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend=prepend)


def _fitted(name, value, parameter):
    """A loaded piece of state in the parameter's dtype and on its device; step counts stay as they are."""
    if isinstance(value, Tensor):
        if name == "step":
            return value
        if parameter.is_floating_point():
            return value.to(dtype=parameter.dtype, device=parameter.device)
        return value.to(device=parameter.device)
    if isinstance(value, dict):
        return {k: _fitted(name, v, parameter) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_fitted(name, v, parameter) for v in value)
    return value


def check_at_least_zero(name, value):
    """Raises ValueError where an option is negative or NaN, TypeError where it is no number."""
    if not isinstance(value, Real) and not (isinstance(value, Tensor) and value.numel() == 1):
        shown = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else repr(value)
        raise (ValueError if isinstance(value, Tensor) else TypeError)(
            f"Invalid {name}: {shown}\n  hint: give a number, or a tensor of one element"
        )
    if not value >= 0.0:
        raise ValueError(f"Invalid {name}: {value}")


def check_betas(betas):
    """Raises where beta1 and beta2 are not two numbers in [0, 1)."""
    if not isinstance(betas, (tuple, list)) or len(betas) != 2:
        raise TypeError(f"betas are two numbers, got {betas!r}\n  hint: betas=(0.9, 0.999)")
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def refuse_differentiable(differentiable):
    """Steps run below autograd."""
    if differentiable:
        raise NotImplementedError(
            "differentiable=True is not supported: a step is not recorded\n"
            "  hint: write the update with tensor operations to differentiate through it"
        )


def with_gradients(params):
    """The parameters that have a gradient, and the gradients."""
    gradients = [g for p in params if (g := p.grad) is not None]
    if len(gradients) != len(params):
        params = [p for p in params if p.grad is not None]
    return params, gradients


def new_count(value=0.0):
    """A number of the state that PyTorch, too, keeps in a tensor, such as the count of steps."""
    return rl.tensor(value, dtype=rl.float64 if rl.get_default_dtype() == rl.float64 else rl.float32)


def counts_as_tensors(optimizer, names=("step",)):
    """Old checkpoints count steps in numbers."""
    for state in optimizer.state.values():
        for name in names:
            if name in state and not isinstance(state[name], Tensor):
                state[name] = new_count(float(state[name]))
