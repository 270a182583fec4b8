"""What ``functools.wraps`` does, without the import that would take a fifth of ``import rushlight``'s time."""

from __future__ import annotations


def wraps(wrapped):
    """Decorates a function that stands for ``wrapped``: it takes over name, docstring and attributes."""

    def decorate(wrapper):
        for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
            if hasattr(wrapped, name):
                setattr(wrapper, name, getattr(wrapped, name))
        wrapper.__dict__.update(getattr(wrapped, "__dict__", {}))
        wrapper.__wrapped__ = wrapped
        return wrapper

    return decorate
