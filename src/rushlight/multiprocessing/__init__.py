"""Python's ``multiprocessing``, where tensors that are sent share their memory, and ``spawn`` for one function in many.

All of the standard module is here, and so are its contexts: importing this one changes how tensors are pickled by all
of its queues, pipes and processes. A tensor that is sent is moved to shared memory first, as by ``share_memory_()``;
what either side writes to it the other sees. Each storage that is shared takes an open file in each process. The
process that sent a tensor has to live until it is received.
"""

from __future__ import annotations

import multiprocessing as _standard
from multiprocessing import *  # noqa: F403

from .. import _sharing
from .._lazy import only as _only
from .spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

_sharing.register()

_strategies = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """Names that :func:`set_sharing_strategy` takes."""
    return set(_strategies)


def get_sharing_strategy() -> str:
    """What :func:`set_sharing_strategy` was given; "file_descriptor" at first."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Remembered: memory is shared by files without a name, which nobody has to remove, whatever is asked here.

    Raises:
        ValueError: for an unknown name.
    """
    global _strategy
    if new_strategy not in _strategies:
        raise ValueError(f"set_sharing_strategy: expects one of {sorted(_strategies)}, not {new_strategy!r}")
    _strategy = new_strategy


_more = _only(__name__)


def __getattr__(name: str):
    # Submodules of the standard module (queues, pool, connection), as far as they are loaded there.
    return getattr(_standard, name) if not name.startswith("__") and hasattr(_standard, name) else _more(name)
