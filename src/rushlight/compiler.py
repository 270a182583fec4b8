"""``compile`` and its relatives. Nothing is compiled: what they are given runs as before, and as fast."""

from __future__ import annotations

from ._warnings import warn

_said = False


def compile(model=None, **options):
    """Gives back the function or module as it is, and says once that it does not compile.

    Called without one it is a decorator, which may have options.

    Raises:
        TypeError: ``model`` is not callable.

    >>> import rushlight as rl
    >>> @rl.compile(mode="reduce-overhead")
    ... def double(x):
    ...     return 2 * x
    >>> double(rl.ones(2))
    tensor([2., 2.])
    """
    unknown = sorted(options.keys() - _OPTIONS)
    if unknown:
        raise TypeError(f"compile() has no argument {unknown[0]!r}\n  hint: it has {', '.join(sorted(_OPTIONS))}")
    if model is None:
        return lambda function: compile(function, **options)
    if not callable(model):
        raise TypeError(f"compile: expects a function or a module, not {type(model).__name__}")
    if not options.get("disable"):
        say_so("compile()")
    return model


_OPTIONS = {
    *("fullgraph", "dynamic", "backend", "mode", "options", "name", "disable"),
    *("recompile_limit", "isolate_recompiles", "shapes_spec"),
}


def say_so(what: str) -> None:
    """Warns at the first call that nothing is compiled."""
    global _said
    if not _said:
        _said = True
        warn(f"{what} does not compile: what it is given runs as before, without being compiled")


def disable(fn=None, recursive=True, *, reason=None):
    """A decorator that leaves a function as it is."""
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn):
    """Gives back the function."""
    return fn


substitute_in_graph = assume_constant_result = allow_in_graph


def reset() -> None:
    """There is nothing to forget."""


def cudagraph_mark_step_begin() -> None:
    """There are no CUDA graphs."""


def is_compiling() -> bool:
    """False: nothing is compiled."""
    return False


def is_dynamo_compiling() -> bool:
    """False: nothing is compiled."""
    return False


def is_exporting() -> bool:
    """False: nothing is exported."""
    return False


def list_backends(exclude_tags=()) -> list[str]:
    """No backends: nothing is compiled."""
    return []


class set_stance:
    """Changes nothing, as a function, a context or a decorator."""

    def __init__(self, stance: str = "default", **options):
        pass

    def __call__(self, function):
        return function

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False
