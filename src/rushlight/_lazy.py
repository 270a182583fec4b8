"""Attributes of packages that are imported when they are first used, so that ``import rushlight`` stays quick."""

from __future__ import annotations

import sys


def lazily(package: str, namespace: dict, where: dict[str, str]):
    """A package's ``__getattr__`` and ``__dir__``.

    Args:
        package: its name.
        namespace: its ``globals()``, which keep what was once imported.
        where: for each attribute the module below the package that it is, or ``"module:attribute"``.
    """

    def __getattr__(name: str):
        if name not in where:
            raise missing(package, name)
        from importlib import import_module

        module, _, attribute = where[name].partition(":")
        value = import_module(f"{package}.{module}")
        if attribute:
            value = getattr(value, attribute)
        namespace[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*namespace, *where})

    return __getattr__, __dir__


def only(package: str, why: str = ""):
    """A module's ``__getattr__`` where everything it has is there already."""

    def __getattr__(name: str):
        raise missing(package, name, why)

    return __getattr__


def missing(package: str, name: str, why: str = "") -> AttributeError | ImportError:
    """The error of a module's ``__getattr__`` for what it does not have, to be raised there.

    ``from package import name`` would put a message of its own in place of an AttributeError's.
    """
    if name.startswith("__"):  # asked for by Python and its tools
        return AttributeError(f"module {package!r} has no attribute {name!r}")
    from opcode import opmap

    why = f": {why}" if why else ""
    hint = "\n  hint: docs/differences.md lists what Rushlight does not have of PyTorch"
    asking = sys._getframe(2)
    if asking.f_code.co_code[asking.f_lasti] == opmap["IMPORT_FROM"]:
        return ImportError(f"cannot import name {name!r} from {package!r}{why}{hint}", name=package)
    return AttributeError(f"module {package!r} has no attribute {name!r}{why}{hint}", name=name)
