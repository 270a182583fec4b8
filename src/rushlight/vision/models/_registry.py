"""Models by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any

_builders: dict[str, Callable[..., Any]] = {}


def register_model(name: str | None = None) -> Callable:
    """Decorates a function that makes a model, so that :func:`get_model` finds it: under `name`, or the function's.

    >>> import rushlight as rl
    >>> from rushlight.vision import models
    >>> @models.register_model()
    ... def tiny(**options):
    ...     return rl.nn.Linear(2, 1)
    >>> models.get_model("tiny")
    Linear(in_features=2, out_features=1, bias=True)
    """

    def register(builder: Callable) -> Callable:
        key = builder.__name__ if name is None else name
        if _builders.get(key, builder).__module__ != builder.__module__:
            raise ValueError(f"a model named {key!r} is registered already")
        _builders[key] = builder
        return builder

    return register


def get_model_builder(name: str) -> Callable[..., Any]:
    """The function that makes the model of that name.

    Raises:
        ValueError: there is none.
    """
    try:
        return _builders[name.lower()] if name.lower() in _builders else _builders[name]
    except KeyError:
        from difflib import get_close_matches

        near = get_close_matches(name.lower(), _builders, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(list_models())}"
        raise ValueError(f"Unknown model {name}\n  hint: {hint}") from None


def get_model(name: str, **config: Any) -> Any:
    """Makes the model of that name; `config` goes to its function.

    >>> from rushlight.vision import models
    >>> models.get_model("resnet18", num_classes=10).fc
    Linear(in_features=512, out_features=10, bias=True)
    """
    return get_model_builder(name)(**config)


def list_models(
    module: Any = None, include: str | Iterable[str] | None = None, exclude: str | Iterable[str] | None = None
) -> list[str]:
    """The models' names, sorted.

    Args:
        module: only those defined in this module.
        include, exclude: patterns as in file names, one or several.

    >>> from rushlight.vision import models
    >>> models.list_models(include="resnet?8")
    ['resnet18']
    """
    names = {name for name, builder in _builders.items() if module is None or builder.__module__ == module.__name__}
    if include:
        names = {name for name in names if _fits(name, include)}
    if exclude:
        names = {name for name in names if not _fits(name, exclude)}
    return sorted(names)


def _fits(name: str, patterns: str | Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in ([patterns] if isinstance(patterns, str) else patterns))
