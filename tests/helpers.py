"""Turning the table's NumPy samples into calls of a library, and comparing what comes back.

``lib`` is the package under test or, in tests/oracle, PyTorch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.op_table import Const, Dtype, Op, Sample
from tests.op_table.core import rounded

LAYOUTS = ("transposed", "step", "offset", "expanded")

# As in assert_close: relative, absolute.
TOLERANCE = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}


def dtype_name(dtype: Any) -> str:
    """``torch.float32`` to ``float32``."""
    return str(dtype).rsplit(".", 1)[-1]


def tensor(lib: Any, array: np.ndarray, layout: str = "contiguous", half: str = "") -> Any:
    """The array's values in a new tensor of the given memory layout (``expanded``: its first slice, repeated). float32
    becomes the half type, if one is given."""
    array = np.array(array, order="C")  # a copy; from_numpy shares memory

    def given(array: np.ndarray) -> Any:
        made = lib.from_numpy(array)
        return made.to(getattr(lib, half)) if half and array.dtype == np.float32 else made

    if layout == "transposed":
        return given(np.array(array.T, order="C")).permute(tuple(reversed(range(array.ndim))))
    if layout == "step":
        wide = np.ones((*array.shape[:-1], 2 * array.shape[-1] + 1) if array.ndim else (3,), array.dtype)
        wide[..., 1::2] = array
        return given(wide)[..., 1::2] if array.ndim else given(wide)[1:2].reshape(())
    if layout == "offset":
        long = np.ones(array.size + 5, array.dtype)
        long[3 : 3 + array.size] = array.reshape(-1)
        return given(long).narrow(0, 3, array.size).view(array.shape)
    if layout == "expanded" and array.ndim and array.shape[0]:
        return given(np.array(array[:1], order="C")).expand(array.shape)
    return given(array)


def laid_out(value: Any, layout: str) -> Any:
    """What ``tensor`` does to the values, for the reference: only ``expanded`` changes them."""
    if isinstance(value, Const):
        return laid_out(value.array, layout)
    if isinstance(value, np.ndarray):
        if layout == "expanded" and value.ndim and value.shape[0] and value.dtype.kind == "f":
            return np.broadcast_to(value[:1], value.shape).copy()
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(laid_out(v, layout) for v in value)
    return value


class Call:
    """A sample as a library's arguments; ``tensors`` are those made but for ``Const``, ``leaves``
    those that require grad."""

    def __init__(
        self,
        lib: Any,
        sample: Sample,
        layout: str = "contiguous",
        requires_grad: bool = False,
        device: str | None = None,
    ):
        self.lib, self.layout, self.requires_grad, self.device = lib, layout, requires_grad, device
        self.half = sample.half
        self.tensors: list[Any] = []
        self.constants: list[Any] = []
        self.leaves: list[Any] = []
        self.args = tuple(self._convert(a) for a in sample.args)
        self.kwargs = {k: self._convert(v) for k, v in sample.kwargs.items()}

    def _convert(self, value: Any) -> Any:
        if isinstance(value, (Const, np.ndarray)):
            array = value.array if isinstance(value, Const) else value
            # Indices and masks keep their values: an expanded layout is for what is computed with.
            layout = "contiguous" if self.layout == "expanded" and array.dtype.kind != "f" else self.layout
            made = tensor(self.lib, array, layout, self.half)
            if self.device:
                made = made.to(self.device)
            if self.requires_grad and array.dtype.kind == "f" and not isinstance(value, Const):
                made.requires_grad_()
                self.leaves.append(made)
            (self.constants if isinstance(value, Const) else self.tensors).append(made)
            return made
        if isinstance(value, Dtype):
            return getattr(self.lib, value)
        if isinstance(value, (list, tuple)):
            return type(value)(self._convert(v) for v in value)
        return value


def resolve(lib: Any, name: str) -> Callable:
    """The function of a dotted name; a property becomes a function of the tensor."""
    target = lib
    for part in name.split("."):
        target = getattr(target, part)
    if callable(target):
        return target
    attribute = name.rsplit(".", 1)[-1]
    return lambda self: getattr(self, attribute)


def reference(op: Op, sample: Sample, layout: str = "contiguous") -> Any:
    """What the row's reference gives, computed in float64."""

    def up(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            # The bits of a float32 are not those of a float64, so a view as another dtype takes the array as it is.
            widen = (value.dtype == np.float32 and op.test != "dtype") or op.result in ("float", "promote_float")
            return value.astype(np.float64) if widen else value.copy()
        if isinstance(value, (list, tuple)):
            return type(value)(up(v) for v in value)
        return value

    assert op.ref is not None
    args, kwargs = up(laid_out(sample.args, layout)), {k: up(laid_out(v, layout)) for k, v in sample.kwargs.items()}
    with np.errstate(all="ignore"):
        return op.ref(*args, **kwargs)


def widened(value: Any) -> Any:
    """The same arguments in float64."""
    if isinstance(value, Sample):
        kwargs = {k: widened(v) for k, v in value.kwargs.items()}
        return dataclasses.replace(value, args=widened(value.args), kwargs=kwargs, half="")
    if isinstance(value, Const):
        return Const(widened(value.array))
    if type(value) in (list, tuple):
        return type(value)(map(widened, value))
    return value.astype(np.float64) if isinstance(value, np.ndarray) and value.dtype == np.float32 else value


def outputs(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def to_numpy(value: Any) -> np.ndarray:
    """A tensor's values, half types widened."""
    value = value.detach()
    if dtype_name(value.dtype) in ("bfloat16", "float16"):
        value = value.float()
    return np.asarray(value.numpy())


# Of the half types: the distance from 1 to the next number.
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


def assert_values(actual: Any, expected: Any, what: str, dtype: str, rtol: float | None, atol: float | None) -> None:
    """Equal for integers and bool, close for floating point, nan equal to nan; also of the same shape.

    Half types are rounded at each step of a composed operation, so that only the largest element is sure to be near.
    """
    actual_parts, expected_parts = outputs(actual), outputs(expected)
    assert len(actual_parts) == len(expected_parts), f"{what}: {len(actual_parts)} results"
    for a, e in zip(actual_parts, expected_parts, strict=True):
        half = dtype_name(a.dtype)
        epsilon = EPSILON.get(half)
        a, e = to_numpy(a), np.asarray(e)
        assert a.shape == e.shape, f"{what}: shape {a.shape}, expected {e.shape}"
        if a.dtype.kind == "f":
            own = TOLERANCE.get(a.dtype.name, TOLERANCE["float32"])
            strict = dtype == "float64"
            r = own[0] if rtol is None or strict else max(rtol, own[0])
            t = own[1] if atol is None or strict else max(atol, own[1])
            with np.errstate(over="ignore"):
                e = e.astype(a.dtype)
            if epsilon:
                e = rounded(np.asarray(e), half)
                r, t = 2 * epsilon, epsilon * np.max(np.abs(e), where=np.isfinite(e), initial=1e-3)
            np.testing.assert_allclose(a, e, rtol=r, atol=t, err_msg=what)
        else:
            np.testing.assert_array_equal(a, e, err_msg=what)


def storage_pointer(value: Any) -> int:
    return value.untyped_storage().data_ptr()


def check_bounds(value: Any) -> None:
    """Shape, strides and offset describe memory within the storage."""
    assert value.numel() == int(np.prod(value.shape, dtype=object))
    assert value.dim() == len(value.shape) == len(value.stride())
    if str(value.device) == "meta" or not value.numel():
        return
    last = value.storage_offset() + sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True))
    assert value.storage_offset() >= 0
    assert (last + 1) * value.element_size() <= value.untyped_storage().nbytes()
