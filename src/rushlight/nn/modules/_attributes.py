"""How attributes of modules are looked up, and how modules name what is missing or of the wrong kind."""

from __future__ import annotations


class Registered:
    """Looks a name up among what is registered; put on a class when the name was first asked for.

    A quarter of the time of a lookup that fails and then comes to __getattr__. Where an instance lacks the name, the
    AttributeError leads there all the same. Has no __set__: an instance's own attribute of that name goes first.
    """

    __slots__ = ("name", "table")

    def __init__(self, name, table):
        self.name = name
        self.table = table

    def __get__(self, module, owner=None):
        if module is None:
            return self
        try:
            return module.__dict__[self.table][self.name]
        except KeyError:
            raise AttributeError(self.name) from None


class NoAttribute(AttributeError):
    """Looks for similar names only when printed: hasattr() asks for names that are not there all the time."""

    __module__, __qualname__ = "builtins", "AttributeError"  # what a traceback calls it

    def __init__(self, module, name):
        # Without obj Python does not append a suggestion of its own.
        super().__init__(f"'{type(module).__name__}' object has no attribute '{name}'", name=name, obj=None)
        self._module = module

    def __str__(self):
        message = super().__str__()
        if "_parameters" not in self._module.__dict__:
            return f"{message}\n  hint: call super().__init__() first in {type(self._module).__name__}.__init__"
        from difflib import get_close_matches

        similar = get_close_matches(self.name, dir(self._module), n=1)
        return f"{message}\n  hint: did you mean '{similar[0]}'?" if similar else message

    def __reduce__(self):
        return AttributeError, (str(self),)


def type_name(value):
    t = type(value)
    return t.__name__ if t.__module__ == "builtins" else f"{t.__module__}.{t.__qualname__}"
