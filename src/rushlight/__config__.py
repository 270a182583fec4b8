"""How Rushlight was built, in words."""

from __future__ import annotations


def show() -> str:
    """Versions, vector instructions and threads.

    >>> import rushlight as rl
    >>> rl.__config__.show().startswith("Rushlight")
    True
    """
    import rushlight

    capability = rushlight.backends.cpu.get_cpu_capability()
    return f"Rushlight {rushlight.__version__}, C++20\n  - CPU capability usage: {capability}\n  - no CUDA\n"


def parallel_info() -> str:
    """How many threads operations run on."""
    import os

    from . import _C

    return f"threads of an operation: {_C.get_num_threads()}\nprocessors: {os.cpu_count()}\n"
