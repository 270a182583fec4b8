"""Reading a pickle that is not trusted.

A pickle is a program. Here it may build numbers, strings and containers, fetch names through a look-up that the caller
provides, and call only what that look-up marks as a constructor. Instructions not needed for that are refused, and so
is what would cost more than the file is long: huge allocations, and keys that take for ever to hash.
"""

from __future__ import annotations

import pickle
import struct
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

_INSTRUCTIONS = """
    PROTO FRAME STOP MARK POP POP_MARK DUP NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 LONG4 BINFLOAT
    BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINSTRING SHORT_BINSTRING BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8
    EMPTY_LIST APPEND APPENDS EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_DICT SETITEM SETITEMS EMPTY_SET ADDITEMS
    FROZENSET BINGET LONG_BINGET BINPUT LONG_BINPUT MEMOIZE GLOBAL STACK_GLOBAL REDUCE NEWOBJ BUILD BINPERSID
""".split()
_KEY_PARTS = 10_000  # a tuple used as a key may have so many elements, nested ones counted as often as they occur
_KEY_DEPTH = 50

_PYTHON_2 = {"__builtin__": "builtins", "copy_reg": "copyreg"}  # protocol 2 spells modules so


class RestrictedUnpickler(pickle._Unpickler):  # type: ignore[name-defined]  # the one in Python: its steps can be checked
    """Reads one object.

    `look_up(module, name)` returns an object for a name and the function to call where the pickle calls that object
    (None if it may not be called), or raises pickle.UnpicklingError. `users` are classes the user vouches for: their
    instances may be made and filled as any pickle would.
    """

    dispatch = {
        code: pickle._Unpickler.dispatch[code]  # type: ignore[attr-defined]
        for code in (getattr(pickle, name)[0] for name in _INSTRUCTIONS)
    }

    stack: Any
    append: Callable
    read: Callable
    pop_mark: Callable

    def __init__(self, file, look_up: Callable, persistent_load: Callable, users: tuple = (), **args):
        super().__init__(file, **args)
        self._storage = persistent_load
        self._look_up = look_up
        self._users = tuple(user for user in users if isinstance(user, type))
        self._callables: list[tuple[Any, Callable]] = []

    def load(self):
        try:
            return super().load()
        except pickle.UnpicklingError:
            raise
        except (EOFError, struct.error):
            raise pickle.UnpicklingError("the pickle ends too early: the file is cut short") from None
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError, AssertionError) as error:
            # Among them an instruction that is unknown or refused: a KeyError of `dispatch`.
            what = f"it uses instruction {error}" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
            raise pickle.UnpicklingError(f"the pickle is damaged, or asks for what is not allowed: {what}") from error

    def find_class(self, module: str, name: str):
        obj, constructor = self._look_up(_PYTHON_2.get(module, module), name)
        if constructor is not None:
            self._callables.append((obj, constructor))
        return obj

    def persistent_load(self, reference):
        return self._storage(reference)

    def _constructor(self, function) -> Callable:
        for obj, constructor in self._callables:
            if obj is function:
                return constructor
        raise pickle.UnpicklingError(f"the pickle calls {function!r}, which is not allowed")

    def load_reduce(self):
        args = self.stack.pop()
        function = self.stack[-1]
        if type(args) is not tuple:
            raise pickle.UnpicklingError("the pickle calls a function with no tuple of arguments")
        self.stack[-1] = self._constructor(function)(*args)

    def load_newobj(self):
        args = self.stack.pop()
        kind = self.stack.pop()
        self._constructor(kind)
        if kind not in self._users:
            raise pickle.UnpicklingError(f"the pickle makes a bare {kind!r}, which is not allowed")
        self.append(kind.__new__(kind, *args))

    def load_build(self):
        state = self.stack.pop()
        obj = self.stack[-1]
        if type(obj) in self._users:
            self.append(state)
            super().load_build()
        elif type(obj) is OrderedDict and type(state) is dict:  # a state_dict's _metadata
            for name in state:
                if type(name) is not str or name.startswith("__"):
                    raise pickle.UnpicklingError(f"the pickle sets the attribute {name!r}, which is not allowed")
            obj.__dict__.update(state)
        else:
            raise pickle.UnpicklingError(f"the pickle sets attributes of a {type(obj).__name__}, which is not allowed")

    def load_setitem(self):
        value = self.stack.pop()
        key = self.stack.pop()
        self._set_items([key, value])

    def load_setitems(self):
        self._set_items(self.pop_mark())

    def _set_items(self, items: list) -> None:
        target = self.stack[-1]
        if type(target) not in (dict, OrderedDict, Counter, *self._users):
            raise pickle.UnpicklingError(f"the pickle sets items of a {type(target).__name__}, which is not allowed")
        for i in range(0, len(items), 2):
            _check_key(items[i])
            target[items[i]] = items[i + 1]

    def load_append(self):
        self._extend([self.stack.pop()])

    def load_appends(self):
        self._extend(self.pop_mark())

    def _extend(self, items: list) -> None:
        target = self.stack[-1]
        if type(target) not in (list, *self._users):
            raise pickle.UnpicklingError(f"the pickle appends to a {type(target).__name__}, which is not allowed")
        target.extend(items)

    def load_additems(self):
        items = self.pop_mark()
        target = self.stack[-1]
        if type(target) is not set:
            raise pickle.UnpicklingError(f"the pickle adds elements to a {type(target).__name__}, which is not allowed")
        target.update(checked(items))

    def load_frozenset(self):
        items = self.pop_mark()  # which also replaces self.append
        self.append(frozenset(checked(items)))

    def load_bytearray8(self):
        length = int.from_bytes(self.read(8), "little")
        content = self.read(min(length, sys.maxsize))  # not allocated before it is there
        if len(content) != length:
            raise pickle.UnpicklingError("the pickle ends too early: the file is cut short")
        self.append(bytearray(content))

    for _name in "REDUCE NEWOBJ BUILD SETITEM SETITEMS APPEND APPENDS ADDITEMS FROZENSET BYTEARRAY8".split():
        dispatch[getattr(pickle, _name)[0]] = locals()[f"load_{_name.lower()}"]


def checked(items) -> list:
    """The items as a list, each fit to be hashed."""
    items = list(items)
    for item in items:
        _check_key(item)
    return items


def _check_key(key) -> None:
    """Refuses nested tuples so deep that hashing overflows the C stack, or that share parts until it never ends."""
    if type(key) not in (tuple, frozenset):
        return
    left = _KEY_PARTS
    level = [key]
    for _ in range(_KEY_DEPTH):
        nested = []
        for part in level:
            left -= len(part)
            if left < 0:
                break
            nested += [item for item in part if isinstance(item, tuple)]
        if left < 0:
            break
        if not nested:
            return
        level = nested
    raise pickle.UnpicklingError("the pickle uses a tuple as a key that is nested too deep or too large")
