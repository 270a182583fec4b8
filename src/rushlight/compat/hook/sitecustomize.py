"""Run by every Python that starts with this folder in PYTHONPATH: gives `torch` to Rushlight before all else.

That is how `rushlight run` and `rushlight.compat.install()` reach processes that are started afresh: those of
multiprocessing's methods spawn and forkserver, and those that a program starts itself.
"""

import os
import sys


def _install():
    from importlib.util import module_from_spec, spec_from_file_location

    hook = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if path != hook]
    compat = os.path.dirname(hook)
    spec = spec_from_file_location("rushlight.compat._finder", os.path.join(compat, "_finder.py"))
    finder = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(finder)
    finder.install()


def _run_the_next():
    """This file stands before another of its name that the system or the user may have."""
    this = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", this)


if __name__ == "sitecustomize":
    _install()
    _run_the_next()
