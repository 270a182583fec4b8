"""The CPU asked in the words of other devices.

>>> import rushlight as rl
>>> rl.cpu.is_available(), rl.cpu.device_count()
(True, 1)
"""

from __future__ import annotations

import contextlib

from .._lazy import lazily


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1: all of its cores are one device."""
    return 1


def current_device() -> str:
    """'cpu'."""
    return "cpu"


def set_device(device) -> None:
    """There is but one."""


def synchronize(device=None) -> None:
    """There is nothing to wait for: an operation is done when it returns."""


class Stream:
    """Operations run one after another, so a stream has nothing to order."""

    def __init__(self, device=None, priority: int = -1):
        pass

    def wait_stream(self, stream) -> None:
        """There is nothing to wait for."""

    def synchronize(self) -> None:
        """There is nothing to wait for."""


_stream = Stream()


def current_stream(device=None) -> Stream:
    """The one stream there is."""
    return _stream


@contextlib.contextmanager
def stream(stream):
    """Changes nothing."""
    yield


__getattr__, __dir__ = lazily(__name__, globals(), {"amp": "amp"})
