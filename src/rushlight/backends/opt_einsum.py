"""Whether the package opt_einsum plans ``einsum``: it does not."""

from __future__ import annotations


def is_available() -> bool:
    """False: it is not used."""
    return False


enabled = False
strategy = None
