"""Switches set for a while."""

from __future__ import annotations

import contextlib


@contextlib.contextmanager
def switched(namespace: dict, **values):
    """Sets names of a module to those values that are not None, and back."""
    values = {name: value for name, value in values.items() if value is not None}
    before = {name: namespace[name] for name in values}
    namespace.update(values)
    try:
        yield
    finally:
        namespace.update(before)
