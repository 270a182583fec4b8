"""What nodes keep under PyTorch's names is what PyTorch keeps under them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import rushlight
from tests.helpers import Call, outputs, resolve, to_numpy
from tests.op_table import OPS, SEED, Op

ELSEWISE = {
    "nn.functional.rms_norm": "one operation here; its name is that of the last of several",
    "linalg.matrix_power": "factors are multiplied in another order",
    "matrix_power": "factors are multiplied in another order",
    "linalg.svd": "vectors may have the other sign",
    "svd": "vectors may have the other sign",
    "linalg.svdvals": "vectors may have the other sign",
}


def nodes(lib: Any, op: Op, number: int, leaf: int | None) -> list[Any]:
    """The nodes of a sample's results, where all inputs require grad, or one alone."""
    call = Call(lib, op.calls(op.dtypes[-1] if "float64" not in op.dtypes else "float64")[number], requires_grad=True)
    for i, t in enumerate(call.leaves):
        t.requires_grad_(leaf is None or i == leaf)
    if op.random:
        lib.manual_seed(SEED)
    return [r.grad_fn for r in outputs(resolve(lib, op.name)(*call.args, **call.kwargs)) if hasattr(r, "grad_fn")]


def same(a: Any, b: Any) -> bool:
    x, y = to_numpy(a).squeeze(), to_numpy(b).squeeze()  # indices may have kept a dimension of one
    return x.shape == y.shape and np.allclose(x, y, rtol=1e-6, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("op", [op for op in OPS if op.grad], ids=lambda op: op.id)
def test_saved_tensors_like_pytorch(op: Op) -> None:
    if op.id in ELSEWISE:
        pytest.skip(ELSEWISE[op.id])
    warnings.simplefilter("ignore")
    for number, sample in enumerate(op.calls("float64" if "float64" in op.dtypes else op.dtypes[-1])):
        count = sum(1 for a in sample.args if hasattr(a, "dtype") and a.dtype.kind == "f")
        for leaf in [None, *range(count if count > 1 else 0)]:
            try:
                theirs = nodes(torch, op, number, leaf)
            except (RuntimeError, TypeError, NotImplementedError):
                continue  # compared elsewhere
            for ours, node in zip(nodes(rushlight, op, number, leaf), theirs, strict=True):
                if ours is None or node is None or type(ours).__name__ != type(node).__name__:
                    continue
                for name in (n for n in dir(ours) if n.startswith("_saved_") and n != "_saved_tensors"):
                    a, b = getattr(ours, name, None), getattr(node, name, None)
                    if a is not None and isinstance(b, torch.Tensor):
                        assert same(a, b), f"{type(ours).__name__}.{name} of {sample!r}, leaf {leaf}"
