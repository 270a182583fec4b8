"""Tables of hooks, and handles that take a hook back off again."""

from __future__ import annotations

import itertools
import weakref

_ids = itertools.count()


class RemovableHandle:
    """Returned by every ``register_*_hook``; ``remove()`` takes the hook off. Also a context manager.

    Holds the table of hooks weakly, so that a handle kept around does not keep a module alive.
    ``extra_tables`` are further tables with an entry for the same hook.
    """

    def __init__(self, table, *, extra_tables=()):
        self.id = next(_ids)
        self._tables = tuple(weakref.ref(t) for t in (table, *extra_tables))

    def remove(self):
        for reference in self._tables:
            table = reference()
            if table is not None:
                table.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.remove()

    def __getstate__(self):
        return self.id, tuple(reference() for reference in self._tables)

    def __setstate__(self, state):
        from collections import OrderedDict

        self.id, tables = state
        self._tables = tuple(weakref.ref(t if t is not None else OrderedDict()) for t in tables)


def add_hook(table, hook, *, prepend=False, flags=()) -> RemovableHandle:
    """Puts hook into the table, and its id into the tables of flags; returns the handle."""
    handle = RemovableHandle(table, extra_tables=flags)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    for flag in flags:
        flag[handle.id] = True
    return handle
