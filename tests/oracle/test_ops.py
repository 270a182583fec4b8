"""Every operation of the table against PyTorch: values, dtypes, shapes, strides, what shares memory, gradients, names
of graph nodes, and the types of errors."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import rushlight
from tests.helpers import (
    EPSILON,
    LAYOUTS,
    TOLERANCE,
    Call,
    dtype_name,
    outputs,
    resolve,
    storage_pointer,
    to_numpy,
    widened,
)
from tests.op_table import HALVES, OPS, SEED, Const, Op, Sample

CASES = [(op, dtype) for op in OPS for dtype in op.dtypes]
IDS = [f"{op.id}-{dtype}" for op, dtype in CASES]
cases = pytest.mark.parametrize(("op", "dtype"), CASES, ids=IDS)


def run(lib: Any, op: Op, call: Call) -> Any:
    if op.random:
        lib.manual_seed(SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return resolve(lib, op.name)(*call.args, **call.kwargs)


def both(op: Op, sample: Sample, layout: str = "contiguous", requires_grad: bool = False) -> Iterator[tuple[Call, Any]]:
    for lib in (rushlight, torch):
        call = Call(lib, sample, layout, requires_grad)
        yield call, run(lib, op, call)


def has_gradient(sample: Sample) -> bool:
    """PyTorch refuses to record a sum that is asked for as integers."""
    return sample.kwargs.get("dtype", "float64").startswith("float")


def describe(call: Call, result: Any) -> list[tuple]:
    """Everything about a result but its values."""
    return [
        (
            dtype_name(r.dtype),
            tuple(r.shape),
            tuple(r.stride()),
            r.storage_offset(),
            r.requires_grad,
            [i for i, t in enumerate(call.tensors) if t.numel() and storage_pointer(t) == storage_pointer(r)],
        )
        for r in outputs(result)
    ]


def close(
    actual: Any, expected: Any, what: str, exact: Callable[[], Any] | None = None, computed: str = "float64"
) -> None:
    """As assert_close has it. Long sums in float32 are rounded worse than that by PyTorch too: what is not near its
    result must be as near to what it gives in float64, ``exact()``, as its own result is. ``computed`` is the dtype
    that was rounded to before the result's."""
    for i, (a, e) in enumerate(zip(outputs(actual), outputs(expected), strict=True)):
        if a is None or e is None:
            assert a is None and e is None, what
            continue
        rtol, atol = TOLERANCE.get(dtype_name(e.dtype), (0, 0))
        if rtol:
            rtol, atol = max((rtol, atol), TOLERANCE.get(computed, (0, 0)))
        ours, theirs = to_numpy(a), to_numpy(e)
        near = np.isclose(ours, theirs, rtol, atol, equal_nan=True)
        if exact and dtype_name(e.dtype) == "float32" and not near.all():
            truth = to_numpy(outputs(exact())[i])
            errors = np.abs(np.subtract(theirs, truth, where=np.isfinite(theirs), out=np.zeros_like(truth)))
            theirs, atol = np.where(near, theirs, truth), max(atol, float(errors.max()))
        np.testing.assert_allclose(ours, theirs, rtol, atol, err_msg=what)


def gradients(lib: Any, call: Call, value: Any, dtype: str) -> list[Any] | None:
    """Of fixed incoming gradients; None where the library has no derivative."""
    results = [r for r in outputs(value) if r.requires_grad]
    rng = np.random.default_rng(0)
    incoming = [lib.from_numpy(np.asarray(rng.normal(size=tuple(r.shape))).astype(dtype)).to(r.dtype) for r in results]
    if not results:
        return []
    try:
        return list(lib.autograd.grad(results, call.leaves, incoming, allow_unused=True))
    except RuntimeError:
        return None


@pytest.mark.parametrize("layout", ["contiguous", *LAYOUTS])
@cases
def test_like_pytorch(op: Op, dtype: str, layout: str) -> None:
    if layout not in ("contiguous", *op.layouts):
        pytest.skip("the row does not allow it")
    for sample in op.calls(dtype):
        what = f"{op.id}{sample} {layout}"
        (ours, result), (theirs, expected) = both(op, sample, layout)
        assert isinstance(result, tuple) == isinstance(expected, tuple), what
        assert describe(ours, result) == describe(theirs, expected), what
        if "empty" not in op.name:
            close(result, expected, what, lambda sample=sample: run(torch, op, Call(torch, widened(sample), layout)))
        if isinstance(expected, tuple) and type(expected) is not tuple:
            for name in ("values", "indices"):
                assert hasattr(result, name) == hasattr(expected, name), f"{what}: {name}"


@pytest.mark.parametrize("op", [op for op in OPS if op.grad], ids=lambda op: op.id)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradient_like_pytorch(op: Op, dtype: str) -> None:
    if dtype not in op.dtypes:
        pytest.skip("not a dtype of the row")
    for sample in filter(has_gradient, op.calls(dtype)):
        what = f"{op.id}{sample}"
        (ours, result), (theirs, expected) = both(op, sample, requires_grad=True)
        actual, wanted = gradients(rushlight, ours, result, dtype), gradients(torch, theirs, expected, dtype)
        if wanted is None:  # PyTorch has no derivative here, we may
            continue
        assert describe(ours, result) == describe(theirs, expected), what
        assert actual is not None and len(actual) == len(wanted), what

        def read_only(gradients: Any, op: Op = op, sample: Sample = sample) -> Any:
            """PyTorch's, without those of elements that are never read."""
            if op.triangle is None:
                return gradients
            which, upper = op.triangle(sample)
            return [(g.triu() if upper else g.tril()) if i == which else g for i, g in enumerate(gradients)]

        def exact(sample: Sample = sample) -> Any:
            call = Call(torch, widened(sample), requires_grad=True)
            return read_only(gradients(torch, call, run(torch, op, call), dtype))

        wanted = read_only(wanted)
        close(actual, wanted, f"gradient of {what}", exact)
        for a, e in zip(actual, wanted, strict=True):
            assert (a is None) == (e is None) and (a is None or a.dtype == getattr(rushlight, dtype_name(e.dtype)))


def near(actual: Any, expected: Any, exact: Any, half: str, what: str) -> None:
    """Near PyTorch's, or nearer to the exact values than PyTorch's: some of its kernels add up in the half type."""
    for a, e, x in zip(actual, expected, exact, strict=True):
        assert (a is None) == (e is None), what
        if a is None:
            continue
        assert (dtype_name(a.dtype), tuple(a.shape)) == (dtype_name(e.dtype), tuple(e.shape)), what
        ours, theirs, truth = to_numpy(a), to_numpy(e), to_numpy(x)
        if ours.dtype.kind != "f":
            np.testing.assert_array_equal(ours, theirs, err_msg=what)
            continue
        with np.errstate(all="ignore"):
            scale = np.max(np.abs(theirs), where=np.isfinite(theirs), initial=1e-3)
            fine = np.isclose(ours, theirs, 2 * EPSILON[half], 2 * EPSILON[half] * scale, equal_nan=True)
            fine |= ~(np.abs(ours - truth) > np.abs(theirs - truth))
        assert fine.all(), f"{what}: {ours[~fine]} for {theirs[~fine]}, exactly {truth[~fine]}"


# signbit is left out: PyTorch's conversion to bfloat16 makes NaN negative.
IN_HALVES = [op for op in OPS if "float16" in op.all_dtypes and op.id != "signbit"]


@pytest.mark.parametrize("op", IN_HALVES, ids=lambda op: op.id)
@pytest.mark.parametrize("half", HALVES)
def test_halves_like_pytorch(op: Op, half: str) -> None:
    """Values, gradients and everything else in half types, where PyTorch takes them."""
    for sample in op.calls(half):
        what = f"{op.id}{sample}"
        ours, theirs, exact = (
            Call(lib, s, requires_grad=op.grad)
            for lib, s in ((rushlight, sample), (torch, sample), (torch, widened(sample)))
        )
        try:
            expected = run(torch, op, theirs)
        except (RuntimeError, NotImplementedError):
            continue
        result, truth = run(rushlight, op, ours), run(torch, op, exact)
        assert describe(ours, result) == describe(theirs, expected), what
        if "empty" in op.name or (op.random and not op.grad):
            continue
        near(outputs(result), outputs(expected), outputs(truth), half, what)
        if op.grad and sample.grad:
            wanted = gradients(torch, theirs, expected, "float32")
            if wanted is not None:
                actual, precise = (
                    gradients(rushlight, ours, result, "float32"),
                    gradients(torch, exact, truth, "float32"),
                )
                assert actual is not None and precise is not None, what
                near(actual, wanted, precise, half, f"gradient of {what}")


@pytest.mark.parametrize("op", [op for op in OPS if op.grad], ids=lambda op: op.id)
def test_names_of_nodes(op: Op) -> None:
    """grad_fn=<AddBackward0> is what users see when they print a tensor."""
    for sample in filter(has_gradient, op.calls("float64")):
        (_, result), (_, expected) = both(op, sample, requires_grad=True)
        names = [
            [type(r.grad_fn).__name__ if r.grad_fn is not None else None for r in outputs(value)]
            for value in (result, expected)
        ]
        assert names[0] == names[1], f"{op.id}{sample}"
        named = [[r.grad_fn.name() for r in outputs(v) if r.grad_fn is not None] for v in (result, expected)]
        assert named[0] == named[1], f"{op.id}{sample}"


@pytest.mark.parametrize("op", [op for op in OPS if op.inplace], ids=lambda op: op.id)
def test_in_place_like_pytorch(op: Op) -> None:
    for dtype in op.dtypes:
        for sample in op.calls(dtype):
            if not sample.args or not isinstance(sample.args[0], np.ndarray):
                continue
            for layout in ("contiguous", "transposed", "step"):
                what = f"{op.inplace_name}{sample} {layout}"
                seen = []
                for lib in (rushlight, torch):
                    call = Call(lib, sample, layout)
                    x = call.args[0]
                    try:
                        getattr(x, op.inplace_name)(*call.args[1:], **call.kwargs)
                    except Exception as error:
                        seen.append((type(error), None))
                    else:
                        seen.append((describe(call, x), x))
                assert seen[0][0] == seen[1][0], what
                if seen[1][1] is not None:
                    close(seen[0][1], seen[1][1], what)


@pytest.mark.parametrize("op", [op for op in OPS if op.errors], ids=lambda op: op.id)
def test_errors_are_of_pytorchs_types(op: Op) -> None:
    for dtype in op.dtypes:
        for error in op.errors(op.gen(dtype)):
            kinds = []
            for lib in (rushlight, torch):
                call = Call(lib, error.sample)
                try:
                    run(lib, op, call)
                except Exception as raised:
                    kinds.append(type(raised))
                else:
                    kinds.append(None)
            assert kinds[0] is kinds[1], f"{op.id}{error.sample}"


@pytest.mark.parametrize("op", [op for op in OPS if op.out], ids=lambda op: op.id)
def test_out_like_pytorch(op: Op) -> None:
    """Into a tensor of the wrong shape, of other strides, and of another dtype."""
    for dtype in op.dtypes:
        for sample in list(filter(op.has_out, op.calls(dtype)))[:4]:
            for make in (
                lambda lib, e: lib.zeros((3, 7), dtype=e.dtype),
                lambda lib, e: lib.zeros(0, dtype=e.dtype),
                lambda lib, e: lib.zeros(tuple(reversed(e.shape)), dtype=e.dtype).permute(tuple(range(e.dim()))[::-1]),
                lambda lib, e: lib.zeros(tuple(e.shape), dtype=lib.float64),
                lambda lib, e: lib.zeros(tuple(e.shape), dtype=lib.int32),
            ):
                seen = []
                for lib in (rushlight, torch):
                    expected = outputs(run(lib, op, Call(lib, sample)))
                    call = Call(lib, sample)
                    out = [make(lib, e) for e in expected]
                    call.kwargs["out"] = out[0] if len(out) == 1 else tuple(out)
                    try:
                        run(lib, op, call)
                    except Exception as raised:
                        seen.append((type(raised), None))
                    else:
                        facts = describe(call, tuple(out))
                        seen.append((facts if op.out_strides else [f[:2] for f in facts], out))
                assert seen[0][0] == seen[1][0], f"{op.id}{sample}"
                if seen[1][1] is not None and "empty" not in op.name:
                    close(
                        seen[0][1],
                        seen[1][1],
                        f"{op.id}{sample}",
                        computed=dtype if dtype.startswith("float") else "float32",
                    )


SMALL = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("source", SMALL)
def test_conversions_like_pytorch(source: str) -> None:
    """Every dtype to every other, with values that fit (what does not is undefined)."""
    values = [0.0, 1.0, 2.0, 3.7, 100.3, 0.1] + ([-1.0, -2.7, -100.6] if source not in ("bool", "uint8") else [])
    for target in SMALL:
        results = []
        for lib in (rushlight, torch):
            x = lib.tensor(values).to(getattr(lib, source))
            kept = x if target != "uint8" or source in ("bool", "uint8") else x[:6]
            results.append(kept.to(getattr(lib, target)))
        assert dtype_name(results[0].dtype) == target
        np.testing.assert_array_equal(to_numpy(results[0]), to_numpy(results[1]), err_msg=f"{source} to {target}")


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum", "eq", "where", "cat", "stack", "lerp"])
def test_promotion_like_pytorch(name: str) -> None:
    """Of all pairs of dtypes and ranks, the result's dtype or the error's type."""
    for left in SMALL:
        for right in SMALL:
            for a_shape, b_shape in [((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())]:
                seen = []
                for lib in (rushlight, torch):
                    a = lib.ones(a_shape).to(getattr(lib, left))
                    b = lib.ones(b_shape).to(getattr(lib, right))
                    try:
                        if name == "where":
                            result = lib.where(lib.tensor(True), a, b)
                        elif name in ("cat", "stack"):
                            result = getattr(lib, name)([a, b])
                        elif name == "lerp":
                            result = lib.lerp(a, b, 0.5)
                        else:
                            result = getattr(lib, name)(a, b)
                        seen.append((dtype_name(result.dtype), tuple(result.shape)))
                    except Exception as error:
                        seen.append(type(error))
                assert seen[0] == seen[1], f"{name} of {left}{a_shape} and {right}{b_shape}"


NUMBERS = [True, 2, -3, 1.5, float("inf"), 2**40]


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "//", "%", "**", "<", "==", "&", "|", "^", "<<", ">>"])
def test_operators_with_numbers_like_pytorch(operator: str) -> None:
    for dtype in SMALL:
        for number in NUMBERS:
            for expression in (f"x {operator} n", f"n {operator} x"):
                seen = []
                for lib in (rushlight, torch):
                    x = lib.tensor([1, 2, 3]).to(getattr(lib, dtype))
                    try:
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            result = eval(expression, {"x": x, "n": number})
                        seen.append((dtype_name(result.dtype), to_numpy(result).astype("float64").tolist()))
                    except Exception as error:
                        seen.append((type(error), []))
                assert seen[0][0] == seen[1][0], f"{expression}, {dtype}, {number!r}"
                np.testing.assert_allclose(seen[0][1], seen[1][1], 1e-3, err_msg=f"{expression}, {dtype}, {number!r}")


# Not there yet, as docs/differences.md says: PyTorch takes these, we refuse.
LACKING = {
    *((name, "bool") for name in ("mm", "bmm", "mv", "addr", "square")),
    *(
        (f"nn.functional.{name}{n}d", dtype)
        for name in ("conv", "conv_transpose", "max_pool", "avg_pool", "lp_pool")
        for n in (1, 2, 3)
        for dtype in ("uint8", "int32", "int64")
    ),
    *((f"nn.functional.lp_pool{n}d", "bool") for n in (1, 2, 3)),
    # exponential_ only of empty tensors, where PyTorch does not look
    *(
        (f"Tensor.{name}_", d)
        for name in ("normal", "log_normal", "exponential")
        for d in ("bool", "uint8", "int32", "int64")
    ),
}


def of_dtype(value: Any, old: str, new: str) -> Any:
    """The same arguments with arrays of another dtype."""
    if isinstance(value, Sample):
        kwargs = {k: of_dtype(v, old, new) for k, v in value.kwargs.items()}
        return dataclasses.replace(value, args=of_dtype(value.args, old, new), kwargs=kwargs)
    if isinstance(value, Const):
        return Const(of_dtype(value.array, old, new))
    if type(value) in (list, tuple):
        return type(value)(of_dtype(v, old, new) for v in value)
    if isinstance(value, np.ndarray) and value.dtype == old:
        return np.nan_to_num(value).clip(0, 100).astype(new)
    return value


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.id)
def test_dtypes_beside_those_of_the_row(op: Op) -> None:
    """What PyTorch takes gives its dtype; where it refuses, we refuse with its type of error or take more."""
    usual = op.dtypes[0]
    for dtype in ("bool", "uint8", "int32", "int64", "float32", "float64"):
        for sample in list(op.calls(usual))[:3] if dtype not in op.dtypes else ():
            given = []
            for lib in (rushlight, torch):
                try:
                    result = run(lib, op, Call(lib, of_dtype(sample, usual, dtype)))
                    given.append([r if r is None else dtype_name(r.dtype) for r in outputs(result)])
                except Exception as error:
                    given.append(type(error))
            ours, theirs = given
            what = f"{op.id}{sample} of {dtype}"
            if (op.id, dtype) in LACKING:
                assert ours is NotImplementedError or ours == theirs, what
            elif isinstance(theirs, list):
                assert ours == theirs, what
            else:
                assert isinstance(ours, list) or issubclass(ours, theirs), what
