"""Attributes of packages that are imported when they are first used, so that ``import rushlight`` stays quick."""

from __future__ import annotations


def lazily(package: str, namespace: dict, where: dict[str, str]):
    """A package's ``__getattr__`` and ``__dir__``.

    Args:
        package: its name.
        namespace: its ``globals()``, which keep what was once imported.
        where: for each attribute the module below the package that it is, or ``"module:attribute"``.
    """

    def __getattr__(name: str):
        if name not in where:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
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
