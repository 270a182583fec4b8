"""How losses turn the values of a batch into one."""

from __future__ import annotations

from .._warnings import warn

_CODES = {"none": 0, "mean": 1, "sum": 2}


def code(reduction, size_average=None, reduce=None) -> int:
    """The engine's number for 'none', 'mean' or 'sum'; the two older flags win where they are given."""
    if size_average is not None or reduce is not None:
        reduction = legacy_name(size_average, reduce)
    try:
        return _CODES[reduction]
    except (KeyError, TypeError):
        raise ValueError(
            f"{reduction!r} is not a valid value for reduction\n  hint: use 'none', 'mean' or 'sum'"
        ) from None


def legacy_name(size_average, reduce) -> str:
    """What PyTorch's older flags mean as a reduction."""
    if reduce is False:
        name = "none"
    else:
        name = "sum" if size_average is False else "mean"
    warn(f"size_average and reduce are deprecated: use reduction='{name}' instead")
    return name
