"""Rushlight's modules under the names of PyTorch's.

This file needs nothing of the package, for it runs in every Python that a program under ``rushlight run`` starts, also
in those that never import torch.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGES = {"torch": "rushlight", "torchvision": "rushlight.vision"}
# Modules that lie elsewhere than in PyTorch.
ELSEWHERE = {"torch._utils": "rushlight._tensor_pickle", "torch._tensor": "rushlight._tensor_pickle"}

_HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook")  # holds a sitecustomize.py
_HINT = "\n  hint: docs/differences.md lists what Rushlight does not have of PyTorch"


class Finder:
    """Finds ``torch``, ``torchvision`` and all below them, and nothing else, before any other finder is asked."""

    def find_spec(self, name: str, path=None, target=None) -> ModuleSpec | None:
        if name.partition(".")[0] not in PACKAGES:
            return None
        from importlib.util import find_spec

        ours = real_name(name)
        _reach_rushlight()
        try:
            found = find_spec(ours)
        except ModuleNotFoundError as error:  # of its package
            if not ours.startswith(f"{error.name}."):
                raise
            found = None
        if found is None:
            # Who only asks (importlib.util.find_spec) gets None; who imports is told more.
            if sys._getframe(1).f_back.f_code.co_name != "_find_and_load_unlocked":  # type: ignore[union-attr]
                return None
            raise ModuleNotFoundError(f"No module named {name!r} in Rushlight{_HINT}", name=name)
        loader: Any = Loader(found)
        spec = ModuleSpec(name, loader, origin=found.origin, is_package=loader.is_package(name))
        spec.has_location = found.has_location
        spec.cached = found.cached
        return spec

    def find_distributions(self, context=None):
        """What ``importlib.metadata`` says of torch, which packages look up before they import it."""
        from importlib.metadata import Distribution

        class Described(Distribution):
            def __init__(self, name: str):
                self.text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {_version(name)}\n"

            def read_text(self, filename):
                return self.text if filename == "METADATA" else None

            def locate_file(self, path):
                return path

        wanted = getattr(context, "name", None)
        return [Described(name) for name in PACKAGES if wanted is None or wanted.lower() == name]

    def invalidate_caches(self) -> None:
        pass


class Loader:
    """Puts Rushlight's module itself in the place of the one that the import system has made."""

    def __init__(self, found: ModuleSpec):
        self.found = found
        self.source: Any = found.loader

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        spec: Any = module.__spec__
        real = import_module(self.found.name)
        # The import system takes what stands here when this method returns.
        sys.modules[spec.name] = Alias(spec, real) if spec.name in PACKAGES else real

    # For `python -m torch.utils.collect_env` and for readers of source code.

    def get_code(self, name: str):
        return self.source.get_code(self.found.name)

    def get_source(self, name: str):
        return self.source.get_source(self.found.name)

    def is_package(self, name: str) -> bool:
        return self.found.submodule_search_locations is not None


class Alias(ModuleType):
    """A package under its other name: it has a name and a version of its own, all else is the package's.

    What was read once is kept, so that reading it again costs what it costs of any module. Writing goes to both.
    """

    def __init__(self, spec: ModuleSpec, real: ModuleType):
        super().__init__(spec.name, real.__doc__)
        kept = {key: value for key, value in vars(real).items() if not key.startswith("__")}
        self.__dict__.update(
            kept,
            __real__=real,
            __spec__=spec,
            __loader__=spec.loader,
            __package__=spec.name,
            __path__=real.__path__,
            __file__=real.__file__,
            __version__=_version(spec.name),
        )

    def __getattr__(self, name: str):
        if name.startswith("__") and name not in ("__all__", "__config__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name == "__all__":  # for `from torch import *`
            return [key for key in dir(self) if not key.startswith("_")]
        from rushlight._lazy import missing

        try:
            value = getattr(self.__real__, name)
        except AttributeError:
            if name in dir(self.__real__):
                raise
            raise missing(self.__name__, name) from None
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value) -> None:
        self.__dict__[name] = value
        if not name.startswith("__"):
            setattr(self.__real__, name, value)

    def __delattr__(self, name: str) -> None:
        del self.__dict__[name]
        if not name.startswith("__"):
            delattr(self.__real__, name)

    def __dir__(self):
        return sorted({*self.__dict__, *dir(self.__real__)})

    def __reduce__(self):
        return import_module, (self.__name__,)


def real_name(name: str) -> str:
    """``torch.nn.functional`` to ``rushlight.nn.functional``."""
    for other, ours in ELSEWHERE.items():
        if name == other or name.startswith(other + "."):
            return ours + name[len(other) :]
    top, dot, rest = name.partition(".")
    return PACKAGES[top] + dot + rest


def _version(name: str) -> str:
    return getattr(import_module("rushlight.version"), name)


def _reach_rushlight() -> None:
    """A program may run in another folder than the one from which Rushlight was found."""
    from importlib.util import find_spec

    if "rushlight" not in sys.modules and find_spec("rushlight") is None:
        sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


_finder = Finder()


def install() -> None:
    """Has ``import torch`` and ``import torchvision`` give Rushlight, here and in Python processes started from now on.

    PyTorch's own modules are not imported then, whether they are installed or not. Calling it again changes nothing.

    Raises:
        ImportError: PyTorch, or torchvision, is imported already: what holds its objects could not be changed over.
    """
    if _finder in sys.meta_path:
        return
    for name in PACKAGES:
        there = sys.modules.get(name)
        if there is not None and not isinstance(there, Alias):
            raise ImportError(
                f"{name!r} is imported already, from {getattr(there, '__file__', None) or 'somewhere'}\n"
                "  hint: call rushlight.compat.install() before anything imports it (in a notebook, after a restart of "
                "its kernel), or use `rushlight run script.py`",
                name=name,
            )
    sys.meta_path.insert(0, _finder)  # type: ignore[arg-type]
    paths = _python_path()
    if _HOOK not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([_HOOK, *paths])


def uninstall() -> None:
    """Takes back what :func:`install` did. What was imported stays with those who hold it."""
    if _finder not in sys.meta_path:
        return
    sys.meta_path.remove(_finder)  # type: ignore[arg-type]
    for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
        del sys.modules[name]
    paths = [path for path in _python_path() if path != _HOOK]
    if paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    else:
        os.environ.pop("PYTHONPATH", None)


def is_installed() -> bool:
    """Whether ``import torch`` gives Rushlight."""
    return _finder in sys.meta_path


def _python_path() -> list[str]:
    value = os.environ.get("PYTHONPATH")
    return value.split(os.pathsep) if value else []
