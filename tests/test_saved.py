"""What a node keeps for its backward can be looked at, by PyTorch's names."""

from __future__ import annotations

import warnings

import pytest

import rushlight as rl
from rushlight.autograd._saved import _NAMES, kept
from tests.helpers import Call, outputs, resolve
from tests.op_table import OPS


def test_names_of_every_node_in_the_table() -> None:
    seen = {}
    warnings.simplefilter("ignore")
    for op in OPS:
        for sample in op.calls("float64" if "float64" in op.dtypes else op.dtypes[-1]):
            call = Call(rl, sample, requires_grad=True)
            try:
                results = outputs(resolve(rl, op.name)(*call.args, **call.kwargs))
            except RuntimeError:  # it writes to its argument, or has no derivative
                continue
            for result in results:
                node = getattr(result, "grad_fn", None)
                if node is not None and type(node).__name__ in _NAMES:
                    names = kept(node)
                    seen.setdefault(type(node).__name__, set()).update(n for n, t in names.items() if t is not None)
    never = {n: set(names) - {"-"} - seen.get(n, set()) for n, names in _NAMES.items()}
    assert {n: names for n, names in never.items() if names} == {}


CASES = [
    (lambda x, w: (x - 1).exp(), {"result": [1]}),
    (lambda x, w: x.log(), {"self": [1]}),
    (lambda x, w: x**2, {"self": [1]}),
    (lambda x, w: x * w, {"self": None, "other": [3]}),
    (lambda x, w: w * x, {"self": [3], "other": None}),
    (lambda x, w: x / w, {"self": None, "other": [3]}),
    (lambda x, w: w / x, {"self": [3], "other": [1]}),
    (lambda x, w: x * x, {"self": [1], "other": [1]}),
    (lambda x, w: x + w, {}),
]


@pytest.mark.parametrize(("function", "expected"), CASES)
def test_values(function, expected) -> None:
    x = rl.tensor([1.0], dtype=rl.float64, requires_grad=True)
    node = function(x, rl.tensor([3.0], dtype=rl.float64)).grad_fn
    names = {n.removeprefix("_saved_") for n in dir(node) if n.startswith("_saved_") and n != "_saved_tensors"}
    assert names == set(expected)
    for name, value in expected.items():
        kept = getattr(node, f"_saved_{name}")
        assert (None if kept is None else kept.tolist()) == value


def test_after_they_were_freed() -> None:
    x = rl.ones(1, requires_grad=True)
    y = x.exp()
    y.backward()
    with pytest.raises(RuntimeError, match="freed by a backward"):
        y.grad_fn._saved_result  # noqa: B018


@pytest.mark.parametrize("name", ["_saved_other", "_saved_nothing", "nothing"])
def test_no_such_name(name: str) -> None:
    node = rl.ones(1, requires_grad=True).exp().grad_fn
    assert not hasattr(node, name)
    with pytest.raises(AttributeError, match=f"'ExpBackward0' object has no attribute '{name}'"):
        getattr(node, name)
