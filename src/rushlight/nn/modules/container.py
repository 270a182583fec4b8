"""Modules that hold other modules or parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping

from ... import Tensor
from ..parameter import Parameter
from . import _hooks
from ._attributes import type_name
from .module import Module, _indented


def _position(index, length, what):
    """A list position, negative ones counted from the end, as a number from 0 to length - 1."""
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range: the {what} has {length} entries")
    return index % length


class _ModuleSequence(Module):
    """What Sequential and ModuleList share: modules under the names "0", "1", ..."""

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __contains__(self, module):
        return any(m is module for m in self._modules.values())

    def _key(self, index):
        position = _position(index, len(self), type(self).__name__)
        return next(k for i, k in enumerate(self._modules) if i == position)

    def _number(self, modules):
        """Holds these modules alone, named by their positions."""
        modules = list(modules)
        self._modules.clear()
        self._modules.update((str(i), m) for i, m in enumerate(modules))

    def __setitem__(self, index, module):
        setattr(self, self._key(index), module)

    def __delitem__(self, index):
        keys = list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]
        for key in keys:
            delattr(self, key)
        self._number(self)

    def append(self, module):
        """Adds a module at the end; returns self."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Adds the modules at the end; returns self."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"extend takes an iterable of modules, got {type_name(modules)}")
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, index):
        """Takes out the module at the position and returns it."""
        module = self[index]
        del self[index]
        return module

    def __iadd__(self, other):
        return self.extend(other)


class Sequential(_ModuleSequence):
    """Modules applied one after another.

    Args:
        *args: the modules, or one dict that names them.

    Example:
        >>> import rushlight as rl
        >>> model = rl.nn.Sequential(rl.nn.Linear(4, 8), rl.nn.ReLU(), rl.nn.Linear(8, 2))
        >>> model(rl.ones(3, 4)).shape
        torch.Size([3, 2])
        >>> model[:2]
        Sequential(
          (0): Linear(in_features=4, out_features=8, bias=True)
          (1): ReLU()
        )
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input):
        module = self
        try:
            for module in self._modules.values():
                # Where a call is nothing but forward, skip it: half the time of a deep nest.
                input = module.forward(input) if module._plain_call else module(input)
        except Exception as error:
            if module is not self:
                _hooks.note_path(module, error)
            raise
        return input

    def insert(self, index, module):
        """Puts a module before position index; returns self."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}, got {type_name(module)}")
        modules = list(self)
        if not -len(modules) <= index <= len(modules):
            raise IndexError(f"Index out of range: {index}, there are {len(modules)} modules")
        modules.insert(index, module)
        self._number(modules)
        return self

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._key(index)]

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __mul__(self, times):
        return Sequential(*(module for _ in range(self._checked_times(times)) for module in self))

    __rmul__ = __mul__

    def __imul__(self, times):
        modules = list(self)
        for _ in range(self._checked_times(times) - 1):
            self.extend(modules)
        return self

    @staticmethod
    def _checked_times(times):
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: 'Sequential' and '{type(times).__name__}'")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for Sequential")
        return times


class ModuleList(_ModuleSequence):
    """A list of modules, each registered. It has no forward of its own.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.ModuleList([rl.nn.Linear(2, 2) for _ in range(3)])
        ModuleList(
          (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
        )
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._key(index)]

    def __add__(self, other):
        return type(self)([*self, *other])

    def insert(self, index, module):
        """Puts a module before position index, as ``list.insert`` does."""
        modules = list(self)
        modules.insert(index, module)
        self._number(modules)

    def __repr__(self):
        """As Module's, with runs of modules that print alike on one line."""
        runs = []  # [first, last, text]
        for i, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(map(_indented, lines)) + "\n)"


class ModuleDict(Module):
    """A dict of modules, each registered, in order of insertion. It has no forward of its own.

    Example:
        >>> import rushlight as rl
        >>> d = rl.nn.ModuleDict({"act": rl.nn.ReLU()})
        >>> d["act"]
        ReLU()
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Takes out all modules."""
        self._modules.clear()

    def pop(self, key):
        """Takes out the module of that name and returns it."""
        return self._modules.pop(key)

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """(name, module) pairs."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Adds the modules of a mapping, or of an iterable of (name, module) pairs."""
        for key, module in _pairs(modules, "ModuleDict.update"):
            self[key] = module


def _pairs(entries, where):
    if not isinstance(entries, Iterable):
        raise TypeError(f"{where} should be called with an iterable of key/value pairs, but got {type_name(entries)}")
    if isinstance(entries, (Mapping, ModuleDict, ParameterDict)):
        return list(entries.items())
    pairs = [tuple(entry) if isinstance(entry, Iterable) else entry for entry in entries]
    for i, pair in enumerate(pairs):
        if not isinstance(pair, tuple):
            raise TypeError(f"{where}: element {i} should be a pair, but is {type_name(pair)}")
        if len(pair) != 2:
            raise ValueError(f"{where}: element {i} should be a pair, but has length {len(pair)}")
    return pairs


def _as_parameter(value):
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _parameter_line(key, value):
    if not isinstance(value, Tensor):
        return f"({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(map(str, value.shape))
    where = "" if value.device.type == "cpu" else f" ({value.device})"
    return f"({key}): {kind} containing: [{value.dtype} of size {size}{where}]"


class ParameterList(Module):
    """A list of parameters, each registered; Tensors put in become Parameters.

    Example:
        >>> import rushlight as rl
        >>> p = rl.nn.ParameterList([rl.zeros(2), rl.zeros(3)])
        >>> len(list(p.parameters()))
        2
    """

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(len(self)))])
        return getattr(self, str(_position(index, len(self), "ParameterList")))

    def __setitem__(self, index, value):
        setattr(self, str(_position(index, len(self), "ParameterList")), _as_parameter(value))

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, values):
        return self.extend(values)

    def append(self, value):
        """Adds a value at the end; returns self."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values):
        """Adds the values at the end; returns self."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type_name(values)}")
        for value in list(values):
            self.append(value)
        return self

    def pop(self, index=-1):
        """Takes out the value at the position and returns it."""
        values = list(self)
        value = values.pop(index)
        for i in range(len(self)):
            delattr(self, str(i))
        self._size = 0
        self.extend(values)
        return value

    def extra_repr(self):
        return "\n".join("  " + _parameter_line(i, value) for i, value in enumerate(self))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters, each registered, in order of insertion; Tensors put in become Parameters.

    Example:
        >>> import rushlight as rl
        >>> p = rl.nn.ParameterDict({"scale": rl.ones(1)})
        >>> [name for name, _ in p.named_parameters()]
        ['scale']
    """

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key, value):
        if not isinstance(key, str):
            raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string ({key!r})")
        if key not in self._keys and hasattr(self, key):
            raise KeyError(f"attribute '{key}' already exists")
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        """The names."""
        return self._keys.keys()

    def items(self):
        """(name, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """The values."""
        return (self[key] for key in self._keys)

    def get(self, key, default=None):
        """The value of that name, or the default."""
        return self[key] if key in self else default

    def setdefault(self, key, default=None):
        """The value of that name, put there first if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key):
        """Takes out the value of that name and returns it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Takes out the last (name, value) pair and returns it."""
        if not self._keys:
            raise KeyError("popitem(): the ParameterDict is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self):
        """Takes out all values."""
        for key in list(self._keys):
            del self[key]

    def copy(self):
        """A new ParameterDict with the same parameters."""
        return type(self)(OrderedDict(self.items()))

    def fromkeys(self, keys, default=None):
        """A new ParameterDict with these names, each with the default."""
        return type(self)((key, default) for key in keys)

    def update(self, parameters):
        """Adds the values of a mapping, or of an iterable of (name, value) pairs."""
        for key, value in _pairs(parameters, "ParameterDict.update"):
            self[key] = value

    def __or__(self, other):
        result = self.copy()
        result.update(other)
        return result

    def __ior__(self, other):
        self.update(other)
        return self

    def extra_repr(self):
        return "\n".join("  " + _parameter_line(key, value) for key, value in self.items())

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterDict should not be called.")
