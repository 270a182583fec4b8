"""TorchScript, which Rushlight does not have: what would compile raises, what only marks code for it does nothing."""

from __future__ import annotations

from ._lazy import only
from ._settings import unavailable

__path__: list[str] = []  # a package in PyTorch: a module below it is missing, and is said to be
_WHY = "TorchScript is not there; functions and modules run as they are"

script = unavailable("torch.jit.script", _WHY)
trace = unavailable("torch.jit.trace", _WHY)
trace_module = unavailable("torch.jit.trace_module", _WHY)
load = unavailable("torch.jit.load", _WHY)
save = unavailable("torch.jit.save", _WHY)
freeze = unavailable("torch.jit.freeze", _WHY)
optimize_for_inference = unavailable("torch.jit.optimize_for_inference", _WHY)
script_if_tracing = unavailable("torch.jit.script_if_tracing", _WHY)
fork = unavailable("torch.jit.fork", _WHY)
wait = unavailable("torch.jit.wait", _WHY)


class ScriptModule:
    """What ``jit.script`` would make of a module: nothing is an instance."""

    def __init__(self, *args, **kwargs):
        script()


class ScriptFunction(ScriptModule):
    """What ``jit.script`` would make of a function: nothing is an instance."""


def is_scripting() -> bool:
    """False: nothing is compiled."""
    return False


def is_tracing() -> bool:
    """False: nothing is traced."""
    return False


def annotate(the_type, the_value):
    """The value."""
    return the_value


def ignore(drop=False, **options):
    """A decorator that leaves a function as it is."""
    return drop if callable(drop) else lambda function: function


def unused(function):
    """Gives back the function."""
    return function


export = interface = unused


def isinstance(obj, target_type) -> bool:
    """Python's ``isinstance``."""
    import builtins

    return builtins.isinstance(obj, target_type)


__getattr__ = only(__name__, _WHY)
