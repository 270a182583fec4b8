"""Every operation of the table against its reference, in every dtype, layout and form."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from tests.helpers import (
    Call,
    assert_values,
    check_bounds,
    dtype_name,
    outputs,
    reference,
    resolve,
    storage_pointer,
    to_numpy,
)
from tests.op_table import ALL, FLOATS, OPS, PROMOTE, SEED, Op, Sample, promote, result_dtype
from tests.op_table.core import _CATEGORY as CATEGORY


def rows(*conditions: Any) -> Any:
    """Parametrize by the rows that fulfil all conditions."""
    chosen = [op for op in OPS if all(condition(op) for condition in conditions)]
    return pytest.mark.parametrize("op", chosen, ids=lambda op: op.id)


def rows_and_dtypes(*conditions: Any, halves: bool = True) -> Any:
    chosen = [
        (op, dtype)
        for op in OPS
        if all(condition(op) for condition in conditions)
        for dtype in (op.all_dtypes if halves else op.dtypes)
    ]
    return pytest.mark.parametrize(("op", "dtype"), chosen, ids=[f"{op.id}-{dtype}" for op, dtype in chosen])


def run(op: Op, call: Call) -> Any:
    if op.random:
        torch.manual_seed(SEED)
    return resolve(torch, op.name)(*call.args, **call.kwargs)


def first_array(sample: Sample) -> bool:
    return bool(sample.args) and isinstance(sample.args[0], np.ndarray)


def check(op: Op, sample: Sample, dtype: str, result: Any, layout: str = "contiguous") -> None:
    what = f"{op.id}{sample} {layout}"
    for part in outputs(result):
        check_bounds(part)
    expected = result_dtype(op, sample, dtype)
    names = tuple(dtype_name(part.dtype) for part in outputs(result))
    if expected is not None:
        # Rows with a number of results that varies with the sample give one name for all.
        wanted = expected if isinstance(expected, tuple) else (expected,) * len(names)
        assert names == wanted, f"{what}: dtype {names}, expected {wanted}"
    if op.ref is not None:
        value = reference(op, sample, layout)
        if value is not None:
            assert_values(result, value, what, dtype, op.rtol, op.atol)


@rows_and_dtypes()
def test_value(op: Op, dtype: str) -> None:
    for sample in op.calls(dtype):
        check(op, sample, dtype, run(op, Call(torch, sample)))


@pytest.mark.parametrize("layout", ["transposed", "step", "offset", "expanded"])
@rows_and_dtypes(lambda op: op.layouts)
def test_layout(op: Op, dtype: str, layout: str) -> None:
    if layout not in op.layouts:
        pytest.skip("the row does not allow it")
    for sample in op.calls(dtype):
        call = Call(torch, sample, layout)
        before = [to_numpy(t).copy() for t in call.tensors]
        if op.ref is not None:
            check(op, sample, dtype, run(op, call), layout)
        else:
            run(op, call)
        if not op.short.endswith("_"):
            for t, b in zip(call.tensors, before, strict=True):
                np.testing.assert_array_equal(to_numpy(t), b, err_msg=f"{op.id}{sample} changed its input")


@rows_and_dtypes(lambda op: op.method)
def test_method(op: Op, dtype: str) -> None:
    tried = 0
    for sample in filter(first_array, op.calls(dtype)):
        call, again = Call(torch, sample), Call(torch, sample)
        expected = run(op, call)
        if op.random:
            torch.manual_seed(SEED)
        actual = getattr(again.args[0], op.method_name)(*again.args[1:], **again.kwargs)
        for a, e in zip(outputs(actual), outputs(expected), strict=True):
            assert a.dtype == e.dtype and a.shape == e.shape
            np.testing.assert_array_equal(to_numpy(a), to_numpy(e))
        tried += 1
    assert tried


@rows_and_dtypes(lambda op: op.inplace)
def test_inplace(op: Op, dtype: str) -> None:
    for sample in filter(first_array, op.calls(dtype)):
        if "dtype" in sample.kwargs or (op.name, dtype) == ("cumsum", "bool"):
            continue
        for layout in ("contiguous", "transposed", "step"):
            expected = run(op, Call(torch, sample))
            call = Call(torch, sample, layout)
            x = call.args[0]
            pointer = x.data_ptr()
            function = getattr(x, op.inplace_name)
            what = f"{op.inplace_name}{sample} {layout}"
            castable = CATEGORY[dtype_name(expected.dtype)] <= CATEGORY[dtype_name(x.dtype)]
            if not castable or (expected.shape != x.shape and not op.view):
                with pytest.raises(RuntimeError):
                    function(*call.args[1:], **call.kwargs)
                continue
            result = function(*call.args[1:], **call.kwargs)
            assert result is x, what
            assert x.data_ptr() == pointer, what
            assert x.shape == expected.shape, what
            assert_values(x, to_numpy(expected.to(x.dtype)), what, dtype, op.rtol, op.atol)


def assert_same(op: Op, actual: Any, expected: Any, what: str) -> None:
    """Equal up to how another memory layout rounds."""
    if "empty" not in op.name:
        assert_values(actual, to_numpy(expected), what, dtype_name(expected.dtype), op.rtol, op.atol)
    assert actual.shape == expected.shape, what


def call_out(op: Op, sample: Sample, out: list[Any]) -> Any:
    call = Call(torch, sample)
    if op.random:
        torch.manual_seed(SEED)
    return resolve(torch, op.name)(*call.args, **call.kwargs, out=out[0] if len(out) == 1 else tuple(out))


@rows_and_dtypes(lambda op: op.out)
def test_out(op: Op, dtype: str) -> None:
    for sample in filter(op.has_out, op.calls(dtype)):
        expected = outputs(run(op, Call(torch, sample)))
        what = f"{op.id}{sample}"

        out = [torch.empty_like(e) for e in expected]
        pointers = [o.data_ptr() for o in out]
        result = outputs(call_out(op, sample, out))
        for r, o, e, pointer in zip(result, out, expected, pointers, strict=True):
            assert r is o and o.data_ptr() == pointer, what
            assert_same(op, o, e, what)

        out = [torch.empty(0, dtype=e.dtype) for e in expected]  # an empty one is resized
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*resized")
            call_out(op, sample, out)
        for o, e in zip(out, expected, strict=True):
            assert_same(op, o, e, what)


@rows(lambda op: op.out)
def test_out_of_wrong_kind(op: Op) -> None:
    dtype = op.dtypes[0]
    for sample in list(filter(op.has_out, op.calls(dtype)))[:3]:
        expected = outputs(run(op, Call(torch, sample)))
        what = f"{op.id}{sample}"
        # Another shape: resized, with a warning.
        out = [torch.ones((3, 7), dtype=e.dtype) for e in expected]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call_out(op, sample, out)
        for o, e in zip(out, expected, strict=True):
            assert_same(op, o, e, what)
        assert caught or op.random or not first_array(sample), f"{what}: resized a non-empty out without a warning"
        # Strides of a fitting out are kept.
        if len(expected) == 1 and expected[0].dim() == 2 and not op.random:  # random numbers fill in memory order
            out = [torch.empty((expected[0].shape[1], expected[0].shape[0]), dtype=expected[0].dtype).t()]
            strides = out[0].stride()
            call_out(op, sample, out)
            assert out[0].stride() == strides
            assert_same(op, out[0], expected[0], what)


@rows(lambda op: op.out, lambda op: op.grad, lambda op: "softmax" not in op.name)
def test_out_takes_no_gradient(op: Op) -> None:
    sample = next(filter(op.has_out, op.calls("float64")))
    call = Call(torch, sample, requires_grad=True)
    expected = outputs(resolve(torch, op.name)(*call.args, **call.kwargs))
    out = [torch.empty_like(e).detach() for e in expected]
    with pytest.raises(RuntimeError, match="out="):
        resolve(torch, op.name)(*call.args, **call.kwargs, out=out[0] if len(out) == 1 else tuple(out))
    with torch.no_grad():
        resolve(torch, op.name)(*call.args, **call.kwargs, out=out[0] if len(out) == 1 else tuple(out))


@rows_and_dtypes(lambda op: op.errors, halves=False)
def test_error(op: Op, dtype: str) -> None:
    function = resolve(torch, op.name)
    for error in op.errors(op.gen(dtype)):
        call = Call(torch, error.sample)
        try:
            result = function(*call.args, **call.kwargs)
        except error.type as raised:
            assert str(raised), f"{op.id}{error.sample}: an error without a message"
            if error.match:
                assert re.search(error.match, str(raised))
        except Exception as raised:
            pytest.fail(f"{op.id}{error.sample} raised {raised!r}, expected {error.type}")
        else:
            pytest.fail(f"{op.id}{error.sample} gave {result}, expected {error.type}")


def test_bools_of_any_byte() -> None:
    """What is not 0 is true, in whatever byte of memory it was found (by view(), frombuffer(), empty())."""
    tried = 0
    for op in OPS:
        for dtype, sample in [(d, s) for d in op.dtypes for s in op.calls(d)] if "empty" not in op.name else ():
            plain, odd = Call(torch, sample), Call(torch, sample)
            bools = [t for t in odd.tensors + odd.constants if t.dtype == torch.bool]
            for t in bools:
                bytes_of_true = torch.tensor([255, 2, 1, 128], dtype=torch.uint8)[torch.arange(t.numel()) % 4]
                t.view(torch.uint8).mul_(bytes_of_true.view(t.shape))
            if bools:
                tried += 1
                results = [[part.tolist() for part in outputs(run(op, call))] for call in (plain, odd)]
                assert repr(results[0]) == repr(results[1]), f"{op.id}{sample} {dtype}"
    assert tried > 300


@rows(lambda op: op.view is not None)
def test_memory(op: Op) -> None:
    """Views share their input's memory; other results have their own."""
    for sample in op.calls(op.dtypes[0]):
        call = Call(torch, sample)
        given = {storage_pointer(t) for t in call.tensors if t.numel()}
        for part in outputs(run(op, call)):
            if not part.numel():
                continue
            if op.view:
                assert storage_pointer(part) == storage_pointer(call.args[0]), f"{op.id}{sample} is a copy"
            else:
                assert storage_pointer(part) not in given, f"{op.id}{sample} shares memory with an input"


@rows(lambda op: op.view is True, lambda op: not op.short.endswith("_"))
def test_view_follows_base(op: Op) -> None:
    for sample in op.calls("float32" if "float32" in op.dtypes else op.dtypes[0]):
        call = Call(torch, sample)
        x = call.args[0]
        parts = outputs(run(op, call))
        version = x._version
        x.zero_()
        for part in parts:
            assert not to_numpy(part).any()
            assert part._version == version + 1


SHAPE_DEPENDS_ON_DATA = {
    "argwhere",
    "bincount",
    "repeat_interleave",
    "nonzero",
    "masked_select",
    "Tensor.__getitem__",
    "tensor",
    "as_tensor",
    "combinations",
    "histc",
    "histogram",
    "isin",
    "nanmedian",
    "quantile",
    "nanquantile",
    "scalar_tensor",
    "searchsorted",
    "tril_indices",
    "triu_indices",
    "unique",
    "unique_consecutive",
}


@rows(lambda op: op.name not in SHAPE_DEPENDS_ON_DATA, lambda op: op.layouts)
def test_meta(op: Op) -> None:
    """On the meta device: the shape and dtype, no values."""
    dtype = op.dtypes[0]
    for sample in op.calls(dtype):
        expected = outputs(run(op, Call(torch, sample)))
        call = Call(torch, sample, device="meta")
        for a, e in zip(outputs(run(op, call)), expected, strict=True):
            assert a.device.type == "meta", f"{op.id}{sample}"
            assert a.shape == e.shape and a.dtype == e.dtype, f"{op.id}{sample}"


@rows_and_dtypes(lambda op: op.random)
def test_same_seed_same_numbers(op: Op, dtype: str) -> None:
    for sample in op.calls(dtype):
        first, second = (run(op, Call(torch, sample)) for _ in range(2))
        np.testing.assert_array_equal(to_numpy(first), to_numpy(second))


def typed(name: str, shape: tuple) -> Any:
    return torch.ones(shape).to(getattr(torch, name))


PROMOTING = ["add", "sub", "mul", "maximum", "minimum", "where", "cat"]


@pytest.mark.parametrize("function", PROMOTING)
def test_promotion_of_tensors(function: str) -> None:
    for (left, right), expected in PROMOTE.items():
        if function == "sub" and "bool" in (left, right):
            continue
        a, b = typed(left, (2,)), typed(right, (2,))
        if function == "where":
            result = torch.where(torch.tensor([True, False]), a, b)
        elif function == "cat":
            result = torch.cat([a, b])
        else:
            result = getattr(torch, function)(a, b)
        assert dtype_name(result.dtype) == expected, (left, right)
        assert dtype_name(torch.promote_types(a.dtype, b.dtype)) == expected


@pytest.mark.parametrize("dtype", list(dict.fromkeys(left for left, _ in PROMOTE)))
@pytest.mark.parametrize("scalar", [True, 2, 1.5])
def test_promotion_with_numbers(dtype: str, scalar: Any) -> None:
    for shape in [(2,), ()]:
        x = typed(dtype, shape)
        array = np.empty(shape, "float32" if dtype == "bfloat16" else dtype)
        expected = promote(array, scalar)
        if dtype == "bfloat16":
            expected = dtype
        for result in (x + scalar, scalar + x, x * scalar, torch.mul(x, scalar)):
            assert dtype_name(result.dtype) == expected
        assert dtype_name(torch.result_type(x, scalar)) == expected


@pytest.mark.parametrize("left", ALL)
@pytest.mark.parametrize("right", ALL)
def test_promotion_of_zero_dimensional_tensors(left: str, right: str) -> None:
    for shape in [(2,), ()]:
        a, b = typed(left, shape), typed(right, ())
        expected = promote(np.empty(shape, left), np.empty((), right))
        assert dtype_name((a + b).dtype) == expected
        assert dtype_name((b * a).dtype) == expected
        assert dtype_name(torch.result_type(a, b)) == expected


@pytest.mark.parametrize("name", ["eq", "lt", "logical_and"])
def test_mixed_dtypes_compare(name: str) -> None:
    for left, right in PROMOTE:
        if {"int8", "int16", "float16", "bfloat16"} & {left, right}:
            continue
        assert getattr(torch, name)(typed(left, (2,)), typed(right, (2,))).dtype == torch.bool


def test_operators_are_the_functions() -> None:
    a, b = torch.tensor([7.0, -2.5, 3.0]), torch.tensor([2.0, 2.0, -3.0])
    i, j = torch.tensor([6, 5, 12]), torch.tensor([3, 1, 2])
    pairs = [
        (a + b, torch.add(a, b)),
        (a - b, torch.sub(a, b)),
        (a * b, torch.mul(a, b)),
        (a / b, torch.div(a, b)),
        (a**2, torch.pow(a, 2)),
        (2**b, torch.pow(2, b)),
        (1 - a, torch.sub(torch.tensor(1.0), a)),
        (1 / a, torch.div(torch.tensor(1.0), a)),
        (-a, torch.neg(a)),
        (abs(a), torch.abs(a)),
        (a == b, torch.eq(a, b)),
        (a != b, torch.ne(a, b)),
        (a < b, torch.lt(a, b)),
        (a <= b, torch.le(a, b)),
        (a > b, torch.gt(a, b)),
        (a >= b, torch.ge(a, b)),
        (i & j, torch.bitwise_and(i, j)),
        (i | j, torch.bitwise_or(i, j)),
        (i ^ j, torch.bitwise_xor(i, j)),
        (~i, torch.bitwise_not(i)),
        (i << j, torch.bitwise_left_shift(i, j)),
        (i >> j, torch.bitwise_right_shift(i, j)),
        (i // j, torch.div(i, j, rounding_mode="floor")),
        (a @ b, torch.matmul(a, b)),
        (a % b, a - torch.div(a, b, rounding_mode="floor") * b),
        (+a, a),
    ]
    for left, right in pairs:
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(to_numpy(left), to_numpy(right))


def test_flags_of_to_by_position() -> None:
    """After dtype or device comes non_blocking, then copy."""
    x = torch.ones(2)
    for start in ((torch.float32,), ("cpu",), ("cpu", torch.float32), (x,)):
        assert x.to(*start, True) is x and x.to(*start, True, False) is x
        assert x.to(*start, False, True) is not x


def test_operators_refuse_strangers() -> None:
    class Right:
        def __radd__(self, other: Any) -> str:
            return "right"

        __rmul__ = __rsub__ = __rmatmul__ = __radd__

    x = torch.ones(2)
    assert x + Right() == x * Right() == x - Right() == x @ Right() == "right"
    for stranger in ("text", None, {}, object()):
        with pytest.raises(TypeError):
            x + stranger
        with pytest.raises(TypeError):
            stranger * x


@pytest.mark.parametrize("half", ["float16", "bfloat16", "int8", "int16"])
@pytest.mark.parametrize("name", ["add", "mul"])
def test_small_types_compute_by_tiles(half: str, name: str) -> None:
    """Computed in float32, rounded once."""
    dtype = getattr(torch, half)
    rng = np.random.default_rng(0)
    for shape in [(), (5,), (3, 41), (1000,)]:
        a, b = (torch.from_numpy(rng.uniform(-9, 9, shape).astype("float32").copy()).to(dtype) for _ in range(2))
        function = getattr(torch, name)
        result = function(a, b)
        assert result.dtype == dtype
        wide = torch.float32 if half in ("float16", "bfloat16") else torch.int64
        assert torch.equal(result, function(a.to(wide), b.to(wide)).to(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_sum_is_accurate(dtype: str) -> None:
    """Within 1e-6 of the sum of absolute values in float32, however many summands."""
    rng = np.random.default_rng(0)
    for shape, dim in [((1_000_003,), None), ((1000, 1001), 0), ((1001, 1000), 1)]:
        array = rng.normal(size=shape).astype(dtype)
        x = torch.from_numpy(array)
        actual = to_numpy(x.sum() if dim is None else x.sum(dim))
        exact = array.astype(np.longdouble).sum(dim)
        scale = np.abs(array.astype(np.longdouble)).sum(dim)
        assert (np.abs(actual - exact) <= (1e-6 if dtype == "float32" else 1e-14) * scale).all()


def test_inputs_and_outputs_may_be_one_tensor() -> None:
    x = torch.arange(6.0)
    torch.add(x, x, out=x)
    assert x.tolist() == [0, 2, 4, 6, 8, 10]
    x.mul_(x)
    assert x.tolist() == [0, 4, 16, 36, 64, 100]


def test_overlapping_memory_is_refused_or_copied() -> None:
    x = torch.arange(6.0)
    with pytest.raises(RuntimeError):
        x[1:].add_(x[:-1])
    with pytest.raises(RuntimeError):
        torch.zeros(1).expand(3).add_(1)
    with pytest.raises(RuntimeError):
        torch.exp(x[:-1], out=x[1:])
    y = torch.zeros(1).expand(3).contiguous().add_(1)
    assert y.tolist() == [1, 1, 1]


@pytest.mark.skipif(not hasattr(getattr(torch, "_C", None), "_registered_ops"), reason="no engine")
def test_every_operation_has_a_row() -> None:
    """But for the parts that only other operations call: those named ``_...`` or ``..._backward``."""
    known = {name.rstrip("_") for op in OPS for name in (op.short, *op.registered_names)}
    registered = {schema.split("(", 1)[0].rstrip("_") for schema in torch._C._registered_ops()}
    missing = {name for name in registered - known if not name.startswith("_") and not name.endswith("_backward")}
    assert not missing, f"operations without a row in tests/op_table: {sorted(missing)}"
