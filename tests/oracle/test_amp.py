"""Mixed precision against PyTorch: dtypes of operations and layers, GradScaler's scales, training curves."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import rushlight
from tests.helpers import Call, dtype_name, outputs, resolve
from tests.op_table import OPS, SEED, Op

LIBRARIES = (rushlight, torch)


@contextlib.contextmanager
def auto(lib: Any, half: str, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with lib.autocast("cpu", dtype=getattr(lib, half), **options):
            yield


@pytest.mark.parametrize("op", [op for op in OPS if "float32" in op.dtypes], ids=lambda op: op.id)
def test_dtypes_of_operations(op: Op) -> None:
    """Of all inputs under both lower precisions: the result's dtype, where PyTorch has one."""
    for half in ("bfloat16", "float16"):
        for dtype in ("float32", "float64", half):
            for sample in op.calls(dtype)[:6] if dtype in op.all_dtypes else ():
                chosen = []
                for lib in LIBRARIES:
                    call = Call(lib, sample)
                    if op.random:
                        lib.manual_seed(SEED)
                    with auto(lib, half):
                        try:
                            result = resolve(lib, op.name)(*call.args, **call.kwargs)
                        except Exception as error:
                            chosen.append(error)
                        else:
                            chosen.append([None if r is None else dtype_name(r.dtype) for r in outputs(result)])
                ours, theirs = chosen
                if (
                    isinstance(theirs, list) and op.id != "linalg.pinv"
                ):  # float32 like pinverse; PyTorch rounds at its end
                    assert ours == theirs, f"{op.id}{sample} in {half}"


def layers(nn: Any) -> dict[str, Any]:
    return {
        "Linear": nn.Linear(8, 4),
        "Bilinear": lambda x: nn.Bilinear(8, 8, 3)(x, x),
        "Conv1d": nn.Conv1d(2, 4, 3),
        "BatchNorm1d": nn.BatchNorm1d(2),
        "LayerNorm": nn.LayerNorm(8),
        "GroupNorm": nn.GroupNorm(1, 2),
        "RNN": nn.RNN(8, 5),
        "GRU": nn.GRU(8, 5),
        "RNNCell": lambda x: nn.RNNCell(8, 5)(x[0]),
        "GRUCell": lambda x: nn.GRUCell(8, 5)(x[0]),
        "LSTMCell": lambda x: nn.LSTMCell(8, 5)(x[0]),
        "PReLU": nn.PReLU(),
        "MultiheadAttention": lambda x: nn.MultiheadAttention(8, 2)(x, x, x),
        "TransformerEncoderLayer": nn.TransformerEncoderLayer(8, 2, 16),
    }


@pytest.mark.parametrize("half", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", layers(rushlight.nn))
def test_dtypes_of_layers(name: str, half: str) -> None:
    def flat(result: Any) -> list[str]:
        return sum(map(flat, result), []) if isinstance(result, (list, tuple)) else [dtype_name(result.dtype)]

    chosen = []
    for lib in LIBRARIES:
        x = lib.from_numpy(np.random.default_rng(0).normal(size=(3, 2, 8)).astype("float32"))
        layer = layers(lib.nn)[name]
        with auto(lib, half):
            inputs = [x] if name == "Bilinear" else [x, x.to(getattr(lib, half))]  # PyTorch's wants one dtype
            chosen.append([flat(layer(x)) for x in inputs])
    assert chosen[0] == chosen[1]


def test_scales() -> None:
    """Over a hundred steps of two optimizers, some of whose gradients are not finite."""
    rng = np.random.default_rng(1)
    factors = np.where(
        rng.random((100, 2)) < 0.1, rng.choice([np.inf, -np.inf, np.nan], (100, 2)), rng.normal(size=(100, 2))
    )
    seen = []
    for lib in LIBRARIES:
        weights = [lib.nn.Parameter(lib.ones(3)) for _ in range(2)]
        optimizers = [lib.optim.SGD([w], lr=0.01) for w in weights]
        scaler = lib.amp.GradScaler("cpu", init_scale=2.0**10, growth_factor=3.0, backoff_factor=0.3, growth_interval=4)
        trace = []
        for row in factors:
            for w, o, factor in zip(weights, optimizers, row, strict=True):
                o.zero_grad()
                scaler.scale((w * float(factor)).sum()).backward()
            scaler.unscale_(optimizers[0])
            for o in optimizers:
                scaler.step(o)
            scaler.update()
            trace.append([scaler.get_scale(), *(w[0].item() for w in weights)])
        trace.append([scaler.state_dict()["_growth_tracker"]] * 3)
        seen.append(trace)
    np.testing.assert_allclose(*seen, rtol=1e-6)


def curve(lib: Any, half: str, scaled: bool) -> list[float]:
    rng = np.random.default_rng(0)
    inputs = lib.from_numpy(rng.normal(size=(32, 6)).astype("float32"))
    targets = lib.from_numpy((rng.normal(size=(32, 6)) @ np.ones(6) > 0).astype("int64"))
    lib.manual_seed(0)
    net = lib.nn.Sequential(lib.nn.Linear(6, 16), lib.nn.LayerNorm(16), lib.nn.GELU(), lib.nn.Linear(16, 2))
    optimizer = lib.optim.AdamW(net.parameters(), lr=0.01)
    scaler = lib.amp.GradScaler("cpu", enabled=scaled)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        with auto(lib, half):
            loss = lib.nn.functional.cross_entropy(net(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("half", ["bfloat16", "float16"])
@pytest.mark.parametrize("scaled", [False, True])
def test_training_curves(half: str, scaled: bool) -> None:
    """Both round in the same places, so that curves stay within a hundredth of one another."""
    ours, theirs = (curve(lib, half, scaled) for lib in LIBRARIES)
    assert ours[-1] < 0.8 * ours[0]
    np.testing.assert_allclose(ours, theirs, rtol=0.01)
