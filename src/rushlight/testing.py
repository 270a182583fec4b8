"""Comparing results in tests, and making tensors to test with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _C, random
from ._C import Tensor

__path__: list[str] = []  # a package in PyTorch: a module below it is missing, and is said to be
__all__ = ["assert_allclose", "assert_close", "make_tensor"]

# By the dtypes of both: relative and absolute tolerance. Others are compared exactly.
_TOLERANCES = {
    _C.float16: (1e-3, 1e-5),
    _C.bfloat16: (1.6e-2, 1e-5),
    _C.float32: (1.3e-6, 1e-5),
    _C.float64: (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises AssertionError unless |actual - expected| <= atol + rtol * |expected| for each element.

    Args:
        actual, expected: tensors, arrays, numbers, or sequences and mappings of these, alike on both sides.
        allow_subclasses: whether a subclass may stand against another.
        rtol, atol: both or neither; by default those of the dtypes: 1.3e-6 and 1e-5 for float32, 1e-7 and 1e-7 for
            float64, 1e-3 and 1e-5 for float16, 1.6e-2 and 1e-5 for bfloat16, 0 for others.
        equal_nan: whether NaN equals NaN.
        check_device, check_dtype, check_layout, check_stride: whether tensors have to agree in that as well.
        msg: words in place of the error's, or a function of those that gives others.

    Raises:
        AssertionError: they differ; the message says where most, and by how much.
        TypeError: they are not of comparable types.
        ValueError: one of rtol and atol is given, and not the other.

    >>> import rushlight as rl
    >>> rl.testing.assert_close(rl.ones(2), rl.ones(2) + 1e-6)
    >>> rl.testing.assert_close({"a": 1}, {"a": 2})
    Traceback (most recent call last):
    AssertionError: Scalars are not equal!
    ...
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"assert_close: rtol and atol are given both or not at all; {missing} is missing")
    checks = {"device": check_device, "dtype": check_dtype, "layout": check_layout, "stride": check_stride}
    tolerance = None if rtol is None or atol is None else (rtol, atol)
    __tracebackhide__ = True  # pytest shows the caller's line
    text = _difference(actual, expected, tolerance, equal_nan, checks, allow_subclasses)
    if text is not None:
        raise AssertionError(msg(text) if callable(msg) else msg or text)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan: bool = True, msg: str = "") -> None:
    """The older :func:`assert_close`, which looks at values alone and takes NaN for equal to NaN."""
    actual, expected = _as_tensor(actual), _as_tensor(expected)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def _difference(actual, expected, tolerance, equal_nan, checks, subclasses) -> str | None:
    """What differs, or None."""
    rest = (tolerance, equal_nan, checks, subclasses)
    if not subclasses and type(actual) is not type(expected):
        raise TypeError(f"assert_close: a {_kind(actual)} and a {_kind(expected)}, and allow_subclasses is False")
    if actual is None or expected is None:
        return None if actual is expected else f"None mismatch: {actual!r} is not {expected!r}"
    if isinstance(actual, bool) and isinstance(expected, bool):
        return None if actual == expected else f"Booleans mismatch: {actual} is not {expected}"
    if isinstance(actual, (int, float)) and isinstance(expected, (int, float)):
        return _numbers(actual, expected, tolerance, equal_nan, checks)
    if _is_array(actual) and _is_array(expected):
        return _arrays(_as_tensor(actual), _as_tensor(expected), tolerance, equal_nan, checks)
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing = [key for key in expected if key not in actual]
        extra = [key for key in actual if key not in expected]
        if missing or extra:
            return (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {extra}"
            )
        pairs = [(key, actual[key], expected[key]) for key in actual]
    elif all(isinstance(v, Sequence) and not isinstance(v, (str, bytes)) for v in (actual, expected)):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
        pairs = [(i, a, e) for i, (a, e) in enumerate(zip(actual, expected, strict=True))]
    else:
        raise TypeError(f"assert_close: does not compare a {_kind(actual)} with a {_kind(expected)}")
    for key, a, e in pairs:
        text = _difference(a, e, *rest)
        if text is not None:
            head, marker, path = text.rpartition("\n\nThe failure occurred for item ")
            return f"{head or text}\n\nThe failure occurred for item [{key!r}]{path if marker else ''}"
    return None


def _kind(value) -> str:
    return type(value).__qualname__


def _is_array(value) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "__array_interface__")


def _as_tensor(value) -> Tensor:
    from ._creation import as_tensor

    return value if isinstance(value, Tensor) else as_tensor(value)


def _numbers(actual, expected, tolerance, equal_nan, checks) -> str | None:
    if checks["dtype"] and type(actual) is not type(expected):
        return f"The types of the scalars do not match: {_kind(actual)} != {_kind(expected)}"
    exact = isinstance(actual, int) and isinstance(expected, int)
    rtol, atol = tolerance or ((0, 0) if exact else (1e-7, 1e-7))
    if actual == expected or equal_nan and actual != actual and expected != expected:
        return None
    difference = abs(actual - expected)
    if difference <= atol + rtol * abs(expected) < float("inf"):
        return None
    relative = difference / abs(expected) if expected else float("inf")
    return (
        f"Scalars are not {'close' if rtol or atol else 'equal'}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{f' (up to {atol} allowed)' if rtol or atol else ''}\n"
        f"Relative difference: {relative}{f' (up to {rtol} allowed)' if rtol or atol else ''}"
    )


def _arrays(actual: Tensor, expected: Tensor, tolerance, equal_nan, checks) -> str | None:
    for attribute in ("shape", "device", "dtype", "layout"):
        a, e = getattr(actual, attribute), getattr(expected, attribute)
        if checks.get(attribute, True) and a != e:
            return f"The values for attribute '{attribute}' do not match: {a} != {e}."
    if checks["stride"] and actual.stride() != expected.stride():
        return f"The values for attribute 'stride()' do not match: {actual.stride()} != {expected.stride()}."
    actual, expected = actual.detach(), expected.detach()
    if actual.is_meta or expected.is_meta:
        return None
    given = [_TOLERANCES.get(x.dtype, (0.0, 0.0)) for x in (actual, expected)]
    rtol, atol = tolerance or (max(r for r, _ in given), max(a for _, a in given))
    common = _C.promote_types(actual.dtype, expected.dtype)
    a, e = actual.to(common), expected.to(common)
    close = _C.isclose(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan)
    wrong = close.numel() - int(close.sum().item())
    if not wrong:
        return None
    # Integers are subtracted as such, halves in a width that holds the difference.
    wide = _C.float64 if common.is_floating_point else _C.int64
    difference = (a.to(wide) - e.to(wide)).abs()
    relative = difference.to(_C.float64) / e.to(wide).abs()
    difference, relative = (d.masked_fill(close, 0) for d in (difference, relative))
    limits = (f" (up to {atol} allowed)", f" (up to {rtol} allowed)") if rtol or atol else ("", "")
    if not actual.dim():
        return (
            f"Scalars are not {'close' if rtol or atol else 'equal'}!\n\n"
            f"Expected {expected.item()} but got {actual.item()}.\n"
            f"Absolute difference: {difference.item()}{limits[0]}\nRelative difference: {relative.item()}{limits[1]}"
        )
    lines = [f"Tensor-likes are not {'close' if rtol or atol else 'equal'}!", ""]
    lines.append(f"Mismatched elements: {wrong} / {close.numel()} ({100 * wrong / close.numel():.1f}%)")
    for name, values, limit in (("absolute", difference, limits[0]), ("relative", relative, limits[1])):
        at = int(values.argmax().item())
        index, left = [], at
        for size in reversed(values.shape):
            left, position = divmod(left, size)
            index.append(position)
        value = values.reshape(-1)[at].item()
        lines.append(f"Greatest {name} difference: {value} at index {tuple(reversed(index))}{limit}")
    return "\n".join(lines)


def make_tensor(
    *shape,
    dtype: _C.dtype,
    device,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format=None,
) -> Tensor:
    """A tensor of random values from ``low`` to ``high``, exclusive: -9 to 9 by default, less where dtypes hold less.

    Args:
        shape: sizes, or a sequence of them.
        noncontiguous: whether elements lie apart in memory.
        exclude_zero: whether zeros are replaced: by 1, or by the smallest positive number.
        memory_format: as in ``contiguous``.

    >>> import rushlight as rl
    >>> rl.testing.make_tensor(2, 3, dtype=rl.float32, device="cpu").shape
    torch.Size([2, 3])
    """
    from ._finfo import finfo

    sizes = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
    if noncontiguous and memory_format is not None:
        raise ValueError("make_tensor: noncontiguous and memory_format exclude each other")
    if noncontiguous and sizes:
        sizes[-1] *= 2
    if dtype == _C.bool:
        result = random.randint(0, 2, sizes, device=device).to(dtype)
    elif dtype.is_floating_point:
        lowest, highest = (-9.0 if low is None else low), (9.0 if high is None else high)
        result = (random.rand(sizes, dtype=_C.float64, device=device) * (highest - lowest) + lowest).to(dtype)
    else:
        lowest = (-9 if dtype.is_signed else 0) if low is None else int(low)
        result = random.randint(lowest, 10 if high is None else int(high), sizes, device=device).to(dtype)
    if noncontiguous and sizes:
        result = result[..., ::2]
    if memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = finfo(dtype).tiny if dtype.is_floating_point else 1
    return result.requires_grad_(requires_grad)
