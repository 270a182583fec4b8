"""Odd calls at every operation of the table.

Whatever is thrown at it, an operation returns a value or raises one of the documented exceptions: it does not crash,
hang, or touch memory outside a tensor (run under the address sanitizer to see the last, see CONTRIBUTING).

RUSHLIGHT_FUZZ_EXAMPLES sets how many examples each operation gets (200 unless given), of four calls each; with it, they
differ from run to run. The call under way is written to a file in the temporary directory first, so that a crash can be
told.
"""

from __future__ import annotations

import contextlib
import faulthandler
import itertools
import os
import tempfile
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as for_all
from hypothesis import strategies as st

import rushlight as torch
from tests.helpers import check_bounds, resolve, tensor
from tests.op_table import OPS, Const, Dtype, Op, Sample

DOCUMENTED = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, OverflowError, MemoryError)
HANG = 120  # seconds that all calls of one operation may take beyond reason
SLOW = 5  # seconds of computing that one call may take: sizes are small
WAYS = 4  # calls made of one example
EXAMPLES = int(os.environ.get("RUSHLIGHT_FUZZ_EXAMPLES", 200))
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")
LOG = Path(tempfile.gettempdir()) / f"rushlight-fuzz-{os.getuid()}-{WORKER}.txt"

# Sizes are small or more than any machine has, so that none is merely slow.
SIZES = [0, 1, 2, 3, 5]
HUGE = [2**50, 2**62, 2**63 - 1]
INTEGERS = [*range(-5, 6), 25, -(2**63), -(2**50), *HUGE, 2**63, 2**64, 2**70, -(2**70)]
FLOATS = [0.0, -0.0, 1.0, 0.5, -1.5, 1e-310, 1e308, float("inf"), float("-inf"), float("nan")]
DTYPES = ["float32", "float64", "int64", "int32", "uint8", "bool", "float16", "bfloat16", "int8", "int16"]
LAYOUTS = ["contiguous", "transposed", "step", "offset", "expanded", "overlapping", "meta"]
KEYWORDS = ["dim", "keepdim", "dtype", "out", "alpha", "value", "input", "other", "size", "reduction", "nonsense"]
# A count of pieces is not a size: that many views would be made.
COUNTS_PIECES = {"chunk", "tensor_split", "hsplit", "vsplit", "dsplit"}


@dataclass(frozen=True)
class Odd:
    """A tensor to be made: what hypothesis prints when a call fails."""

    shape: tuple[int, ...]
    dtype: str
    layout: str
    fill: float
    requires_grad: bool

    def make(self) -> Any:
        array = np.full(self.shape, 1.0)
        array.reshape(-1)[1::2] = np.nan_to_num(self.fill, posinf=3, neginf=-3) if "int" in self.dtype else self.fill
        if self.dtype in ("uint8", "bool"):
            array = np.nan_to_num(np.clip(array, 0, 200))
        elif "int" in self.dtype:
            array = np.clip(array, -100, 100)
        dtype = getattr(torch, self.dtype)
        if self.layout == "meta":
            made = torch.empty(self.shape, dtype=dtype, device="meta")
        elif self.layout == "overlapping" and self.shape:
            base = torch.from_numpy(np.full(sum(self.shape) + 1, self.fill if "float" in self.dtype else 1.0))
            made = base.to(dtype).as_strided(self.shape, (1,) * len(self.shape))
        else:
            layout = self.layout if self.layout != "overlapping" else "contiguous"
            name = self.dtype if self.dtype != "bfloat16" else "float32"
            made = tensor(torch, array.astype(name), layout)
            made = made if name == self.dtype else made.to(dtype)
        if self.requires_grad and "float" in self.dtype:
            made.requires_grad_()
        return made


# Most of a run's time is spent in drawing, so one draw picks all that needs no shrinking of its own.
shapes = st.one_of(
    *(st.sampled_from(list(itertools.product(SIZES, repeat=n))) for n in range(5)),
    st.sampled_from(
        [(1,) * n for n in range(5, 26)]
        + [(2,) + (1,) * n for n in range(5, 25)]
        + [(1,) * n + (0,) for n in range(5, 25)]
    ),
)
tensors = st.builds(
    lambda shape, rest: Odd(shape, *rest),
    shapes,
    st.sampled_from(list(itertools.product(DTYPES, LAYOUTS, FLOATS, [False, True]))),
)
plain = st.sampled_from([*INTEGERS, *FLOATS, True, False, None])
strangers = st.sampled_from(
    ["", "text", "sum", "none", b"bytes", 1j, [], (), {}, {"a": 1}, set(), object(), Ellipsis, int, np.float32(1)]
    + [slice(None), slice(0, 2), slice(5, 1, 2), range(3), np.ones(2), np.ones(0), len, "\0", "é"]
)
sequences = st.lists(st.one_of(st.sampled_from(INTEGERS), tensors, st.none(), st.just("text")), max_size=4)
odd_values = st.one_of(
    tensors, tensors, plain, sequences, sequences.map(tuple), strangers, st.sampled_from(DTYPES).map(Dtype)
)


@dataclass(frozen=True)
class Change:
    what: str
    where: int
    integer: int
    tensor: Odd
    value: Any


WHAT = ["alike"] * 6 + ["replace", "replace", "drop", "append", "keyword", "swap", "nest"]
changes = st.lists(
    st.builds(
        lambda choice, tensor, value: Change(*choice, tensor, value),
        st.sampled_from(list(itertools.product(WHAT, range(6), INTEGERS))),
        tensors,
        odd_values,
    ),
    max_size=3,
)


@dataclass(frozen=True)
class OddCall:
    sample: int
    dtype: int
    form: str
    backward: bool
    changes: list[Change]

    def ways(self) -> list[OddCall]:
        """This call, and the same changes made to other samples, dtypes and forms: drawing takes most of the time."""
        first = FORMS.index(self.form)
        return [
            replace(
                self,
                sample=self.sample + k,
                dtype=self.dtype + k // 2,
                form=FORMS[(first + k) % len(FORMS)],
                backward=self.backward ^ (k % 2 == 1),
            )
            for k in range(WAYS)
        ]


FORMS = ["function", "function", "function", "method", "inplace"]
calls = st.builds(
    lambda choice, changes: OddCall(*choice, changes),
    st.sampled_from(list(itertools.product(range(41), range(10), FORMS, [False, True]))),
    changes,
)


def alike(value: Any, change: Change) -> Any:
    """An odd value of the same type, which gets past the first check."""
    if isinstance(value, (np.ndarray, Const)):
        same = value.dtype.name if isinstance(value, np.ndarray) and change.where % 2 else change.tensor.dtype
        return replace(change.tensor, dtype=same)
    if type(value) is int:
        return change.integer
    if type(value) is float:
        return change.tensor.fill
    if type(value) in (list, tuple) and value:
        at = change.where % len(value)
        return type(value)(alike(v, change) if i == at else v for i, v in enumerate(value))
    return change.value


def changed(sample: Sample, made: list[Change]) -> tuple[list[Any], dict[str, Any]]:
    args, kwargs = list(sample.args), dict(sample.kwargs)
    for change in made:
        at = change.where % len(args) if args else 0
        match change.what:
            case "append":
                args.append(change.value)
            case "keyword":
                kwargs[KEYWORDS[change.where * 2 % len(KEYWORDS)]] = change.value
            case "alike" if kwargs and change.where > 3:
                name = list(kwargs)[change.where % len(kwargs)]
                kwargs[name] = alike(kwargs[name], change)
            case "alike" if args:
                args[at] = alike(args[at], change)
            case "replace" if kwargs and change.where > 3:
                kwargs[list(kwargs)[change.where % len(kwargs)]] = change.value
            case "replace" if args:
                args[at] = change.value
            case "drop" if args:
                del args[at]
            case "swap" if args:
                args[at], args[0] = args[0], args[at]
            case "nest" if args:
                args[at] = [args[at]]
    return args, kwargs


def build(op: Op, value: Any) -> Any:
    if isinstance(value, Odd):
        return value.make()
    if isinstance(value, Dtype):
        return getattr(torch, value)
    if isinstance(value, Const):
        return tensor(torch, value.array)
    if isinstance(value, np.ndarray):
        return tensor(torch, value)
    if type(value) in (list, tuple):
        return type(value)(build(op, v) for v in value)
    if type(value) is int and value > 1000 and op.short in COUNTS_PIECES:
        return 1000
    return value


def look(result: Any, depth: int = 0) -> None:
    """Read what came back: its metadata agree with each other, and its elements can be read."""
    if isinstance(result, torch.Tensor):
        check_bounds(result)
        # An empty tensor of 2**50 rows would be as many lists.
        if result.device.type == "cpu" and result.numel() <= 1000 and max(result.shape, default=0) <= 1000:
            result.detach().tolist()
    elif isinstance(result, (list, tuple)) and depth < 3:
        for part in result[:10]:
            look(part, depth + 1)


def given(value: Any, within: Any) -> bool:
    """Whether a value is among the arguments, or in a list among them."""
    if value is within:
        return True
    parts = within.values() if isinstance(within, dict) else within if isinstance(within, (list, tuple)) else ()
    return any(given(value, v) for v in parts)


def attempt(op: Op, odd: OddCall, log: TextIO) -> None:
    dtype = op.dtypes[odd.dtype % len(op.dtypes)]
    samples = op.calls(dtype)
    args, kwargs = changed(samples[odd.sample % len(samples)], odd.changes)
    log.seek(0)  # over the last call, as making a file takes longer than most calls
    log.write(f"{op.id} {odd.form} {args!r} {kwargs!r}\n")
    log.truncate()
    args, kwargs = [build(op, a) for a in args], {k: build(op, v) for k, v in kwargs.items()}
    name = {"method": op.method_name, "inplace": op.inplace_name}.get(odd.form)
    try:
        if name and args and isinstance(args[0], torch.Tensor):
            result = getattr(args[0], name)(*args[1:], **kwargs)
        else:
            result = resolve(torch, op.name)(*args, **kwargs)
        parts = result if isinstance(result, (list, tuple)) else [result]
        first = parts[0] if parts and isinstance(parts[0], torch.Tensor) else None
        # Not of a view that shows one element 2**50 times.
        if odd.backward and first is not None and first.requires_grad and first.numel() <= 10**6:
            first.sum().backward()
    except DOCUMENTED as error:
        str(error), repr(error)
    except AttributeError as error:
        # What is written in Python finds that an argument lacks what tensors have, or what it has lacks it.
        stranger = op.name.startswith("Tensor.") and not isinstance([*args, None][0], torch.Tensor)  # as self
        if isinstance(error.obj, torch.Tensor) or not (stranger or given(error.obj, [args, kwargs])):
            raise
    except AssertionError as error:
        if "padding_idx" not in str(error):  # where PyTorch asserts
            raise
    else:
        look(result)
    for value in [*args, *kwargs.values()]:
        look(value)
        if isinstance(value, torch.Tensor) and value.grad is not None:
            look(value.grad)


@contextlib.contextmanager
def watched() -> Any:
    """A hang ends the process with a traceback, instead of holding up the suite."""
    faulthandler.dump_traceback_later(HANG + EXAMPLES, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.id)
def test_odd_calls(op: Op) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize="RUSHLIGHT_FUZZ_EXAMPLES" not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    @for_all(calls)
    def run(odd: OddCall) -> None:
        for way in odd.ways():
            start = time.process_time()
            attempt(op, way, log)
            assert time.process_time() - start < SLOW, "a call of small tensors took long"

    with LOG.open("w") as log, watched(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run()
    LOG.unlink(missing_ok=True)
