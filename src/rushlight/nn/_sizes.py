"""Sizes given as one number for all dimensions or one for each."""

from __future__ import annotations


def several(value, n) -> tuple:
    """One number for each of n dimensions, from one for all or from a sequence.

    >>> from rushlight.nn._sizes import several
    >>> several(3, 2), several((3,), 2), several([1, 2], 2)
    ((3, 3), (3, 3), (1, 2))
    """
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    return values * n if len(values) == 1 else values
