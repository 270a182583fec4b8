"""Module: the base of every layer and model."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Self

import rushlight as rl

from ... import Tensor
from ..._warnings import warn
from ...utils.gradients import zero_gradients
from ...utils.hooks import RemovableHandle, add_hook
from ..common_types import Device
from ..parameter import Buffer, Parameter, is_lazy
from . import _hooks, _state
from ._arguments import parse_to
from ._attributes import NoAttribute, Registered, type_name

Hook = Callable[..., Any]


class Module:
    """The base class of all neural network modules: your models derive from it too.

    Parameters, buffers and submodules set as attributes are registered: they appear in ``parameters()`` and
    ``state_dict()``, and move with ``to()``. A module is called like a function; the call runs ``forward`` and the
    registered hooks. An exception that leaves ``forward`` carries a note with the module's path in the model.

    Example:
        >>> import rushlight as rl
        >>> class Net(rl.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.fc = rl.nn.Linear(4, 2)
        ...     def forward(self, x):
        ...         return self.fc(x).relu()
        >>> Net()(rl.ones(3, 4)).shape
        torch.Size([3, 2])
    """

    dump_patches = False
    _version = 1  # written to state_dict metadata; raise it when the meaning of the state changes

    # True while a call means nothing but forward(): no hooks, and __call__ not overridden. Module's own value turns
    # False while there are hooks for all modules, an instance's while it has hooks of its own.
    _plain_call = True

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__call__" in cls.__dict__:
            cls._plain_call = False

    def __init__(self) -> None:
        put = super().__setattr__
        put("training", True)
        put("_parameters", {})
        put("_buffers", {})
        put("_non_persistent_buffers_set", set())
        put("_modules", {})
        put("_forward_hooks", OrderedDict())
        put("_forward_hooks_with_kwargs", OrderedDict())
        put("_forward_hooks_always_called", OrderedDict())
        put("_forward_pre_hooks", OrderedDict())
        put("_forward_pre_hooks_with_kwargs", OrderedDict())
        put("_backward_hooks", OrderedDict())
        put("_backward_pre_hooks", OrderedDict())
        put("_state_dict_hooks", OrderedDict())
        put("_state_dict_pre_hooks", OrderedDict())
        put("_load_state_dict_pre_hooks", OrderedDict())
        put("_load_state_dict_post_hooks", OrderedDict())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What a call computes; every subclass defines it."""
        raise NotImplementedError(
            f"{type(self).__name__} does not say what a call computes\n"
            f"  hint: define forward(self, ...) in class {type(self).__name__}"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._plain_call:
                return self.forward(*args, **kwargs)
            return self._call_with_hooks(args, kwargs)
        except Exception as error:
            _hooks.note_path(self, error)
            raise

    def _call_with_hooks(self, args, kwargs):
        own = self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
        if own or _hooks.any_global():
            return _hooks.call(self, args, kwargs)
        self.__dict__.pop("_plain_call", None)  # the last hook has been removed
        if not Module._plain_call:
            Module._plain_call = True
        return self.forward(*args, **kwargs)

    # Attributes

    def __getattr__(self, name: str) -> Any:
        attributes = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            if name in attributes.get(table, ()):
                cls = type(self)
                if cls.__getattr__ is Module.__getattr__ and not hasattr(cls, name):
                    setattr(cls, name, Registered(name, table))
                return attributes[table][name]
        raise NoAttribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            self._set_tensor(name, value)
        elif isinstance(value, Module):
            self._check_initialized("module")
            self._forget(name, keep=self._modules)
            self._modules[name] = _hooks.replaced_on_registration(_hooks.module_registration_hooks, self, name, value)
        else:
            self._set_other(name, value)

    def _set_tensor(self, name, value):
        if isinstance(value, Parameter):
            self._check_initialized("parameters")
            self._forget(name, keep=self._parameters)
            self.register_parameter(name, value)
            return
        buffers = self.__dict__.get("_buffers")
        if isinstance(value, Buffer) or (buffers is not None and name in buffers):
            self._check_initialized("buffers")
            self._refuse_replacing(name, value, but=self._buffers)
            if name in buffers:
                if isinstance(value, Buffer):
                    self._set_persistent(name, value.persistent)
            else:
                self._forget(name, keep=buffers)
                self.register_buffer(name, value, value.persistent)
                return
            buffers[name] = _hooks.replaced_on_registration(_hooks.buffer_registration_hooks, self, name, value)
            return
        self._set_other(name, value)

    def _set_other(self, name, value):
        attributes = self.__dict__
        if "_parameters" in attributes:
            for table in (attributes["_parameters"], attributes["_modules"], attributes["_buffers"]):
                if name in table:
                    self._refuse_replacing(name, value)
                    table[name] = value
                    return
        super().__setattr__(name, value)

    def _refuse_replacing(self, name, value, but=None):
        """Only None, or a value of the same kind, takes the place of something registered."""
        if value is None:
            return
        for table, kind, wanted in (
            (self._parameters, "parameter", "torch.nn.Parameter"),
            (self._modules, "child module", "torch.nn.Module"),
            (self._buffers, "buffer", "torch.Tensor"),
        ):
            if table is not but and name in table:
                raise TypeError(
                    f"cannot assign '{type_name(value)}' object to {kind} '{name}' ({wanted} or None expected)\n"
                    f"  hint: del self.{name} first to give the name another meaning"
                )

    def _check_initialized(self, what):
        if "_parameters" not in self.__dict__:
            raise AttributeError(
                f"cannot assign {what} before Module.__init__() call\n"
                f"  hint: call super().__init__() first in {type(self).__name__}.__init__"
            )

    def _forget(self, name, keep):
        """Takes the name out of everything but the table `keep`, before it is registered there."""
        self.__dict__.pop(name, None)
        for table in (self._parameters, self._buffers, self._modules):
            if table is not keep:
                table.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _set_persistent(self, name, persistent):
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self):
        cls = type(self)
        names = {n for n in dir(cls) if not isinstance(getattr(cls, n, None), Registered)}
        names.update(self.__dict__, self._parameters, self._modules, self._buffers)
        return sorted(n for n in names if not n[0].isdigit())

    def __setstate__(self, state):
        # A module pickled by an older version may lack tables that were added since.
        Module.__init__(self)
        self.__dict__.update(state)

    # Registration

    def _check_name(self, name, kind):
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a Tensor (or None) that is part of the module's state but not trained.

        Args:
            name: the attribute it is reached by.
            tensor: Tensor of any shape and dtype, or None, which leaves the name out of ``state_dict()``.
            persistent: whether ``state_dict()`` includes it.

        Raises:
            KeyError: the name is empty, has a dot, or is taken.
            TypeError: ``tensor`` is neither a Tensor nor None.
        """
        self._check_initialized("buffer")
        self._check_name(name, "buffer")
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        tensor = _hooks.replaced_on_registration(_hooks.buffer_registration_hooks, self, name, tensor)
        self._buffers[name] = tensor
        self._set_persistent(name, persistent)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a Parameter (or None) under the name; ``self.name = Parameter(...)`` does the same.

        Raises:
            KeyError: the name is empty, has a dot, or is taken.
            TypeError: ``param`` is neither a Parameter nor None.
            ValueError: ``param`` was computed from others, so it cannot be trained.
        """
        self._check_initialized("parameter")
        self._check_name(name, "parameter")
        if hasattr(self, name) and name not in self._parameters:
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{type_name(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"parameter '{name}' cannot be the result of an operation ({param.grad_fn.name()})\n"
                    f"  hint: compute '{name}' in forward(), from parameters that are leaves; or detach() it"
                )
            param = _hooks.replaced_on_registration(_hooks.parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a submodule (or None) under the name; ``self.name = module`` does the same.

        Raises:
            TypeError: ``module`` is neither a Module nor None.
            KeyError: the name is empty, has a dot, or is taken.
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type_name(module)} is not a Module subclass")
        self._check_name(name, "module")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        self._modules[name] = _hooks.replaced_on_registration(_hooks.module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Alias of ``add_module``."""
        self.add_module(name, module)

    def get_submodule(self, target: str) -> Module:
        """The submodule at a dotted path such as ``"encoder.layers.2"``; the module itself for the empty path.

        Raises:
            AttributeError: there is no such attribute on the way, or it is not a Module.
        """
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise NoAttribute(module, name)
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` of '{target}' is not an nn.Module but {type(module).__name__}")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts a module at a dotted path; with ``strict`` only where there is one already.

        Raises:
            ValueError: the path is empty, or ``module`` is not a Module.
            AttributeError: there is no such place.
        """
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module).__name__}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise NoAttribute(parent, name)
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The Parameter at a dotted path; AttributeError where there is none."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise NoAttribute(module, name)
        if not isinstance(getattr(module, name), Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return getattr(module, name)

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path; AttributeError where there is none."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise NoAttribute(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return module._buffers[name]

    # Walking the tree

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yields (path, module) for this module and all below it, each module once unless told otherwise."""
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """Yields this module and all below it, each once."""
        seen = set()
        to_visit = [self]
        while to_visit:
            module = to_visit.pop()
            if module is not None and module not in seen:
                seen.add(module)
                yield module
                to_visit.extend(reversed(module._modules.values()))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yields (name, module) of the direct submodules, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """Yields the direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield f"{path}.{name}" if path else name, member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yields (path, Parameter), in order of registration; shared ones once unless told otherwise."""
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yields the Parameters, in order of registration, shared ones once."""
        if type(self).named_parameters is not Module.named_parameters:
            yield from (parameter for _, parameter in self.named_parameters(recurse=recurse))
            return
        # Training loops ask often, to clip gradients: paths are not put together for nothing.
        seen = set()
        for module in self.modules() if recurse else (self,):
            for parameter in module._parameters.values():
                if parameter is not None and id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yields (path, Tensor) of the buffers, in order of registration."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yields the buffers, in order of registration, shared ones once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Calls fn with every submodule and then the module itself; returns the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Sets training mode (or evaluation, with False), which Dropout and BatchNorm heed; returns the module."""
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean, got {type(mode).__name__}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Same as ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Sets whether the parameters are trained; returns the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the parameters' gradients, or fills them with zeros where ``set_to_none`` is False."""
        zero_gradients(self.parameters(), set_to_none)

    # Moving and converting

    def _apply(self, fn, recurse=True):
        """Replaces every parameter, gradient and buffer t by fn(t); parameters keep their identity."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            if is_lazy(parameter):
                self._parameters[name] = parameter.converted(fn)
                continue
            with rl.no_grad():
                applied = fn(parameter)
                gradient = None if parameter.grad is None else fn(parameter.grad)
            if applied.is_meta == parameter.is_meta:
                if applied is not parameter:
                    parameter.grad = None  # for a moment it would not fit the data
                    parameter.data = applied
            else:
                parameter = Parameter(applied, parameter.requires_grad)
                self._parameters[name] = parameter
            if gradient is not None and gradient is not parameter.grad:
                parameter.grad = gradient
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = buffer.converted(fn) if is_lazy(buffer) else fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moves and converts the parameters and buffers, in place; returns the module.

        Called as ``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)``, each with ``non_blocking`` and
        ``memory_format``. The dtype applies to floating-point tensors only; others move but keep theirs.

        Raises:
            TypeError: the dtype is not a floating-point one.

        Example:
            >>> import rushlight as rl
            >>> rl.nn.Linear(2, 2).to(rl.float64).weight.dtype
            torch.float64
        """
        device, dtype, non_blocking, memory_format = parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(t):
            options = {"non_blocking": non_blocking}
            if memory_format is not None and t.dim() in (4, 5):
                options["memory_format"] = memory_format
            converts = dtype is not None and (t.is_floating_point() or t.is_complex())
            return t.to(device if device is not None else t.device, dtype if converts else t.dtype, **options)

        return self._apply(convert)

    def to_empty(self, *, device: Device, recurse: bool = True) -> Self:
        """Moves the parameters and buffers to a device without copying: their values are arbitrary afterwards."""
        return self._apply(lambda t: rl.empty_like(t, device=device), recurse=recurse)

    def _move(self, device_type, device):
        if isinstance(device, int):
            device = f"{device_type}:{device}"
        return self._apply(lambda t: t.to(device_type if device is None else device))

    def cpu(self) -> Self:
        """Moves the parameters and buffers to the CPU; returns the module."""
        return self._move("cpu", None)

    def cuda(self, device: Device = None) -> Self:
        """Moves the parameters and buffers to a CUDA device; returns the module."""
        return self._move("cuda", device)

    def type(self, dst_type: rl.dtype | str) -> Self:
        """Converts all parameters and buffers to dst_type; returns the module."""
        return self._apply(lambda t: t.type(dst_type))

    def _convert_floating(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self) -> Self:
        """Converts floating-point parameters and buffers to float32; returns the module."""
        return self._convert_floating(rl.float32)

    def double(self) -> Self:
        """Converts floating-point parameters and buffers to float64; returns the module."""
        return self._convert_floating(rl.float64)

    def half(self) -> Self:
        """Converts floating-point parameters and buffers to float16; returns the module."""
        return self._convert_floating(rl.float16)

    def bfloat16(self) -> Self:
        """Converts floating-point parameters and buffers to bfloat16; returns the module."""
        return self._convert_floating(rl.bfloat16)

    def share_memory(self) -> Self:
        """Moves the storage of parameters and buffers to shared memory, for other processes; returns the module."""
        return self._apply(lambda t: t.share_memory_())

    def compile(self, *args: Any, **kwargs: Any) -> Self:
        """Accepted so that scripts run: nothing is compiled, eager calls are fast already. Returns the module."""
        from ...compiler import say_so

        say_so("Module.compile()")
        return self

    # Saving and loading

    def _overrides(self, method):
        return getattr(type(self), method) is not getattr(Module, method)

    def get_extra_state(self):
        """Override, with set_extra_state, to keep more than tensors in ``state_dict()``; must be picklable."""
        raise RuntimeError("get_extra_state() was called on a Module that does not define it")

    def set_extra_state(self, state):
        """Takes what get_extra_state gave; called by load_state_dict."""
        raise RuntimeError("set_extra_state() was called on a Module that does not define it")

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Puts this module's own parameters and buffers into destination; submodules come after."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else parameter.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if self._overrides("get_extra_state"):
            destination[prefix + "_extra_state"] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """The parameters and persistent buffers by their paths, as an OrderedDict.

        Args:
            destination: a dict to fill instead of a new one.
            prefix: put before every name.
            keep_vars: give the Parameters themselves; by default tensors that share their memory, without history.

        Example:
            >>> import rushlight as rl
            >>> list(rl.nn.Sequential(rl.nn.Linear(2, 3)).state_dict())
            ['0.weight', '0.bias']
        """
        if args:
            warn("positional arguments of Module.state_dict are deprecated; name them", FutureWarning)
            given = [*args, *(destination, prefix, keep_vars)[len(args) :]]
            destination, prefix, keep_vars = given
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in list(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in list(self._state_dict_hooks.values()):
            result = hook(self, destination, prefix, metadata)
            if result is not None:
                destination = result
        return destination

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        """Loads this module's own parameters and buffers; a subclass overrides it to read older formats."""
        _state.load_one(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _state.IncompatibleKeys:
        """Copies parameters and buffers from a state_dict.

        Args:
            state_dict: mapping of paths to Tensors, as ``state_dict()`` gives.
            strict: raise if a name is missing or unknown; otherwise they are only returned.
            assign: put the given tensors in place of the module's, instead of copying values into those.

        Returns:
            a named tuple (missing_keys, unexpected_keys).

        Raises:
            TypeError: ``state_dict`` is not a mapping.
            RuntimeError: names (with ``strict``) or shapes do not match; the message lists all of them.
        """
        if not hasattr(state_dict, "items"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        return _state.load(self, state_dict, strict, assign)

    # Hooks

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Has ``hook(module, args)`` called before forward; what it returns, if not None, replaces the arguments.

        With ``with_kwargs`` it is called as ``hook(module, args, kwargs)`` and returns None or ``(args, kwargs)``.
        Returns a handle whose ``remove()`` takes it off.
        """
        self._plain_call = False
        flags = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return add_hook(self._forward_pre_hooks, hook, prepend=prepend, flags=flags)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Has ``hook(module, args, output)`` called after forward; what it returns, if not None, replaces the output.

        With ``with_kwargs`` it is called as ``hook(module, args, kwargs, output)``; with ``always_call`` also when
        forward raises, with output None. Returns a handle whose ``remove()`` takes it off.
        """
        self._plain_call = False
        flags = [self._forward_hooks_with_kwargs] if with_kwargs else []
        if always_call:
            flags.append(self._forward_hooks_always_called)
        return add_hook(self._forward_hooks, hook, prepend=prepend, flags=flags)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Has ``hook(module, grad_output)`` called in backward when the gradients of the outputs are known.

        What it returns, if not None, replaces them. Returns a handle whose ``remove()`` takes it off.
        """
        self._plain_call = False
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Has ``hook(module, grad_input, grad_output)`` called in backward when the inputs' gradients are known.

        Both are tuples with None for what is no Tensor. What the hook returns, if not None,
        replaces ``grad_input``. Inputs and outputs must not be modified in place while such a hook is there.
        Returns a handle whose ``remove()`` takes it off.
        """
        self._plain_call = False
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Deprecated in PyTorch; the same as ``register_full_backward_hook``."""
        return self.register_full_backward_hook(hook)

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Has ``hook(module, prefix, keep_vars)`` called before the module is put into a state_dict."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Has ``hook(module, state_dict, prefix, local_metadata)`` called after; it may change state_dict in place."""
        return add_hook(self._state_dict_hooks, partial(_hooks.returning_none, hook))

    def _register_state_dict_hook(self, hook):
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Has ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``
        called before the module loads its part of a state_dict."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return add_hook(self._load_state_dict_pre_hooks, partial(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Has ``hook(module, incompatible_keys)`` called after loading; it may change the lists of keys in place."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    # Printing

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self) -> str:
        """What the module prints between its parentheses; override to show settings."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()]
        lines = extra_lines + child_lines
        if not lines:
            return f"{self._get_name()}()"
        if len(extra_lines) == 1 and not child_lines:
            return f"{self._get_name()}({extra_lines[0]})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


def _indented(text):
    return text.replace("\n", "\n  ")


def _register_global(table, hook, *, flags=()):
    Module._plain_call = False
    return add_hook(table, hook, flags=flags)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Has ``hook(module, args)`` called before every module's forward; see Module.register_forward_pre_hook."""
    return _register_global(_hooks.forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Has ``hook(module, args, output)`` called after every module's forward; see Module.register_forward_hook."""
    flags = [_hooks.forward_hooks_with_kwargs] if with_kwargs else []
    if always_call:
        flags.append(_hooks.forward_hooks_always_called)
    return _register_global(_hooks.forward_hooks, hook, flags=flags)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """For every module; see Module.register_full_backward_pre_hook."""
    return _register_global(_hooks.backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """For every module; see Module.register_full_backward_hook."""
    return _register_global(_hooks.backward_hooks, hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Has ``hook(module, name, buffer)`` called for every buffer registered; what it returns replaces the buffer."""
    return add_hook(_hooks.buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Has ``hook(module, name, submodule)`` called for every module registered; what it returns replaces it."""
    return add_hook(_hooks.module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Has ``hook(module, name, param)`` called for every parameter registered; what it returns replaces it."""
    return add_hook(_hooks.parameter_registration_hooks, hook)
