"""Recurrent layers, cells and packed sequences against NumPy."""

import copy
import io
import itertools
import pickle

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.nn.utils import rnn as R

MODES = {"RNN": nn.RNN, "LSTM": nn.LSTM, "GRU": nn.GRU}
CELLS = {"RNN": nn.RNNCell, "LSTM": nn.LSTMCell, "GRU": nn.GRUCell}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(kind, x, state, w, relu=False):
    """One step in NumPy; w holds weight_ih, weight_hh and perhaps biases and weight_hr."""
    a, b = x @ w["weight_ih"].T, state[0] @ w["weight_hh"].T
    if "bias_ih" in w:
        a, b = a + w["bias_ih"], b + w["bias_hh"]
    if kind == "RNN":
        return [np.maximum(a + b, 0) if relu else np.tanh(a + b)]
    if kind == "LSTM":
        i, f, g, o = np.split(a + b, 4, -1)
        c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        return [h @ w["weight_hr"].T if "weight_hr" in w else h, c]
    (ar, az, an), (br, bz, bn) = np.split(a, 3, -1), np.split(b, 3, -1)
    z = sigmoid(az + bz)
    return [(1 - z) * np.tanh(an + sigmoid(ar + br) * bn) + z * state[0]]


def reference(layer, x, state):
    """Outputs of all steps of one sequence (L, features), and its state after the last one."""
    kind = type(layer).__name__
    directions = 2 if layer.bidirectional else 1
    finals = []
    for k, names in enumerate(layer._all_weights):
        w = {name.split("_l")[0]: getattr(layer, name).detach().numpy() for name in names}
        now, outputs = [s[k] for s in state], []
        backward = k % directions == 1
        for row in x[::-1] if backward else x:
            now = step(kind, row, now, w, getattr(layer, "nonlinearity", "") == "relu")
            outputs.append(now[0])
        finals.append(now)
        outputs = np.stack(outputs[::-1] if backward else outputs)
        if not backward:
            forward = outputs
        if k % directions == directions - 1:
            x = np.concatenate([forward, outputs], -1) if backward else outputs
    return x, [np.stack(parts) for parts in zip(*finals, strict=True)]


OPTIONS = [
    {},
    {"num_layers": 2, "bias": False},
    {"bidirectional": True, "batch_first": True},
    {"num_layers": 2, "bidirectional": True, "dropout": 0.5},
    {"nonlinearity": "relu", "num_layers": 2},
    {"proj_size": 2, "num_layers": 2, "bidirectional": True},
    {"proj_size": 3, "bias": False, "batch_first": True},
]
LAYERS = [
    (kind, options)
    for kind, options in itertools.product(MODES, OPTIONS)
    if (kind == "RNN" or "nonlinearity" not in options) and (kind == "LSTM" or "proj_size" not in options)
]
ROWS = pytest.mark.parametrize("kind, options", LAYERS, ids=lambda v: v if isinstance(v, str) else "-".join(v))


def build(kind, options, features=3, hidden=4):
    return MODES[kind](features, hidden, dtype=rl.float64, **options).eval()


def states(layer, batch, rng):
    count = layer.num_layers * (2 if layer.bidirectional else 1)
    sizes = [layer.proj_size or layer.hidden_size, layer.hidden_size][: 2 if layer.mode == "LSTM" else 1]
    return [rng.standard_normal((count, batch, size)) for size in sizes]


def as_hx(arrays):
    tensors = tuple(rl.tensor(a) for a in arrays)
    return tensors if len(tensors) == 2 else tensors[0]


def as_list(hx):
    return [t.detach().numpy() for t in (hx if isinstance(hx, tuple) else (hx,))]


def close(a, b):
    np.testing.assert_allclose(a.detach().numpy() if isinstance(a, rl.Tensor) else a, b, rtol=1e-10, atol=1e-12)


@ROWS
@pytest.mark.parametrize("given", [True, False])
def test_layer(kind, options, given):
    layer, rng = build(kind, options), np.random.default_rng(0)
    x, state = rng.standard_normal((5, 2, 3)), states(layer, 2, rng)
    if not given:
        state = [np.zeros_like(s) for s in state]
    expected = [reference(layer, x[:, i], [s[:, i] for s in state]) for i in range(2)]
    turned = lambda a: np.swapaxes(a, 0, 1) if layer.batch_first else a

    output, hx = layer(rl.tensor(turned(x)), as_hx(state) if given else None)
    close(output, turned(np.stack([y for y, _ in expected], 1)))
    for part, s in enumerate(as_list(hx)):
        close(s, np.stack([final[part] for _, final in expected], 1))
    # Without a batch.
    output, hx = layer(rl.tensor(x[:, 0]), as_hx([s[:, 0] for s in state]) if given else None)
    close(output, expected[0][0])
    for s, wanted in zip(as_list(hx), expected[0][1], strict=True):
        close(s, wanted)


@ROWS
def test_packed(kind, options):
    layer, rng = build(kind, options), np.random.default_rng(0)
    lengths = [2, 5, 5, 1]
    x, state = rng.standard_normal((5, 4, 3)), states(layer, 4, rng)
    packed = R.pack_padded_sequence(rl.tensor(x), lengths, enforce_sorted=False)
    output, hx = layer(packed, as_hx(state))
    assert isinstance(output, R.PackedSequence)
    output, back = R.pad_packed_sequence(output)
    assert back.tolist() == lengths
    for i, length in enumerate(lengths):
        y, final = reference(layer, x[:length, i], [s[:, i] for s in state])
        close(output[:length, i], y)
        assert not output[length:, i].any()
        for s, wanted in zip(as_list(hx), final, strict=True):
            close(s[:, i], wanted)


@pytest.mark.parametrize("kind", MODES)
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}, {"proj_size": 1}])
@pytest.mark.parametrize("packed", [False, True])
def test_gradients(kind, options, packed):
    if "proj_size" in options and kind != "LSTM":
        pytest.skip("only an LSTM projects")
    layer, rng = build(kind, options, 2, 2), np.random.default_rng(0)
    names = [n for n, _ in layer.named_parameters()]
    hx = as_hx(states(layer, 2, rng))

    def run(x, *tensors):
        state, weights = tensors[: len(as_list(hx))], tensors[len(as_list(hx)) :]
        state = state if len(state) == 2 else state[0]
        if packed:
            x = R.pack_padded_sequence(x, [3, 2])
        layer._parameters.update(zip(names, weights, strict=True))
        output, final = layer(x, state)
        return (output.data if packed else output, *(final if isinstance(final, tuple) else (final,)))

    parts = [rl.tensor(rng.standard_normal((3, 2, 2))), *(hx if isinstance(hx, tuple) else (hx,)), *layer.parameters()]
    inputs = [p.detach().clone().requires_grad_() for p in parts]
    assert rl.autograd.gradcheck(run, inputs)
    if not options:
        assert rl.autograd.gradgradcheck(run, inputs)


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("relu", [True, False])
def test_cell(kind, bias, relu):
    if relu and kind != "RNN":
        pytest.skip("only an RNN has a choice")
    options = {"nonlinearity": "relu"} if relu else {}
    cell, rng = CELLS[kind](3, 4, bias, dtype=rl.float64, **options), np.random.default_rng(0)
    w = {name: p.detach().numpy() for name, p in cell.named_parameters()}
    x, state = rng.standard_normal((2, 3)), [rng.standard_normal((2, 4)) for _ in range(2 if kind == "LSTM" else 1)]
    for got, wanted in zip(as_list(cell(rl.tensor(x), as_hx(state))), step(kind, x, state, w, relu), strict=True):
        close(got, wanted)
    zeros = [np.zeros(4) for _ in state]
    for got, wanted in zip(as_list(cell(rl.tensor(x[0]))), step(kind, x[0], zeros, w, relu), strict=True):
        close(got, wanted)


STEPS = {"LSTM": (rl._C._lstm_cell, [(3, 20), (3, 5)]), "GRU": (rl._C._gru_cell, [(3, 15), (3, 15), (3, 5)])}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("cell, shapes", STEPS.values(), ids=STEPS)
def test_fused_step(cell, shapes, dtype):
    """Like NumPy; and the gradient that will be differentiated again is the fused one."""
    kind = next(k for k, v in STEPS.items() if v[0] is cell)
    exact = [rl.randn(s, dtype=rl.float64).to(getattr(rl, dtype)) for s in shapes]
    inputs = [t.detach().requires_grad_() for t in exact]
    results = cell(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    x, *rest = (t.double().numpy() for t in exact)
    eye = np.eye(20 if kind == "LSTM" else 15)
    if kind == "LSTM":
        expected = step(kind, x, [np.zeros((3, 20)), rest[0]], {"weight_ih": eye, "weight_hh": eye})
    else:
        z = sigmoid(x[:, 5:10] + rest[0][:, 5:10])
        n = np.tanh(x[:, 10:] + sigmoid(x[:, :5] + rest[0][:, :5]) * rest[0][:, 10:])
        expected = [(1 - z) * n + z * rest[1]]
    tolerance = {"float64": 1e-12, "float32": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
    for a, b in zip(results, expected, strict=True):
        assert a.dtype == inputs[0].dtype
        np.testing.assert_allclose(a.double().detach().numpy(), b, rtol=tolerance, atol=tolerance)
    for result in results:
        fused = rl.autograd.grad(result.sum(), inputs, retain_graph=True)
        composed = rl.autograd.grad(result.sum(), inputs, create_graph=True)
        for a, b in zip(fused, composed, strict=True):
            np.testing.assert_allclose(
                a.double().numpy(), b.double().detach().numpy(), rtol=2 * tolerance, atol=2 * tolerance
            )
    wide = [t.t().contiguous().t() for t in exact]
    for a, b in zip(results, cell(*wide) if kind == "LSTM" else (cell(*wide),), strict=True):
        assert a.equal(b)
    meta = cell(*(t.to("meta") for t in exact))
    assert (meta[0] if kind == "LSTM" else meta).shape == (3, 5)
    with pytest.raises(RuntimeError, match=rf"\(3, {shapes[0][1]}\) do not fit a state of shape \(2, 5\)"):
        cell(*exact[:-1], exact[-1][:2])
    with pytest.raises(RuntimeError, match="dtypes differ"):
        cell(*exact[:-1], exact[-1].to(rl.float32 if dtype != "float32" else rl.float64))


def test_a_cell_is_one_step_of_its_layer():
    for kind in MODES:
        layer, cell = MODES[kind](3, 4), CELLS[kind](3, 4)
        for name, p in cell.named_parameters():
            p.data = getattr(layer, f"{name}_l0").data
        x = rl.randn(5, 2, 3)
        state = None
        for row in x:
            state = cell(row, state)
        _, final = layer(x)
        for a, b in zip(as_list(state), as_list(final), strict=True):
            np.testing.assert_allclose(a, b[0], rtol=1e-6, atol=1e-6)


def test_dropout_between_layers_in_training_alone():
    layer = nn.GRU(3, 8, 2, dropout=0.5)
    x = rl.randn(4, 2, 3)
    assert not layer(x)[0].equal(layer(x)[0])
    layer.eval()
    assert layer(x)[0].equal(layer(x)[0])
    with pytest.warns(UserWarning, match="dropout=0.5 and num_layers=1"):
        nn.GRU(3, 8, dropout=0.5)


def test_parameters():
    layer = nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)
    layer.flatten_parameters()
    assert [tuple(p.shape) for p in layer.all_weights[3]] == [(16, 4), (16, 2), (16,), (16,), (2, 4)]
    assert layer.all_weights[3][4] is layer.weight_hr_l1_reverse
    assert all(a is b for a, b in zip(layer._flat_weights, layer.parameters(), strict=True))
    assert all(float(p.abs().max()) <= 0.5 for p in layer.parameters())
    other = copy.deepcopy(layer)
    x = rl.randn(5, 2, 3)
    assert other(x)[0].equal(layer(x)[0])
    assert pickle.loads(pickle.dumps(layer))(x)[0].equal(layer(x)[0])
    assert layer.double()(x.double())[0].dtype == rl.float64


LSTM, GRU, CELL = nn.LSTM(3, 4, 2), nn.GRU(3, 4), nn.LSTMCell(3, 4)
X, H = rl.ones(5, 2, 3), rl.ones(2, 2, 4)
ERRORS = [
    (lambda: nn.RNN(3, 4, nonlinearity="selu"), ValueError, "Unknown nonlinearity 'selu'"),
    (lambda: nn.RNNBase("CNN", 3, 4), ValueError, "Unrecognized RNN mode: CNN"),
    (lambda: nn.GRU(3, 4, proj_size=2), ValueError, "only supported for LSTM"),
    (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, "below hidden_size=4, got 4"),
    (lambda: nn.LSTM(3, 4.0), TypeError, "of type int, got: float"),
    (lambda: nn.LSTM(3, 0), ValueError, "hidden_size must be greater than zero, got 0"),
    (lambda: nn.LSTM(3, 4, 2, dropout=2), ValueError, r"range \[0, 1\].*got 2"),
    (lambda: LSTM(rl.ones(3)), ValueError, r"2D or 3D, got 1D instead: \(3,\)"),
    (lambda: LSTM(rl.ones(5, 2, 4)), RuntimeError, "Expected 3, got 4"),
    (lambda: LSTM(rl.ones(0, 2, 3)), RuntimeError, "sequence length to be larger than 0"),
    (lambda: LSTM(X.double()), ValueError, r"float64.*float32.*\n.*hint: convert the input"),
    (lambda: LSTM(X, H), TypeError, r"pair \(h_0, c_0\), got Tensor"),
    (lambda: LSTM(X, (H,)), TypeError, "got 1 values"),
    (lambda: GRU(X, (H, H)), TypeError, "one tensor h_0, got 2 values"),
    (lambda: LSTM(X, (H[0], H[0])), RuntimeError, "should also be 3-D but got 2-D"),
    (lambda: LSTM(X[0], (H, H)), RuntimeError, "should also be 2-D but got 3-D"),
    (lambda: LSTM(X, (H, H[:, :1])), RuntimeError, r"Expected hidden\[1\] size \(2, 2, 4\), got \[2, 1, 4\]"),
    (lambda: GRU(X, H), RuntimeError, r"Expected hidden size \(1, 2, 4\), got \[2, 2, 4\]"),
    (lambda: GRU(X[0], H[:, 0]), RuntimeError, r"Expected hidden size \(1, 4\), got \[2, 4\]"),
    (lambda: GRU(X, H[:1].double()), RuntimeError, "float32, but the given state of torch.float64"),
    (lambda: CELL(X), ValueError, "hint: a cell takes one step"),
    (lambda: CELL(rl.ones(2, 4)), RuntimeError, "got 4 expected 3"),
    (lambda: CELL(X[0], (H, H)), ValueError, "hidden to be 1D or 2D"),
    (lambda: CELL(X[0], H[0]), TypeError, "a pair .h_0, c_0., got Tensor"),
    (lambda: nn.GRUCell(3, 4)(X[0], (H, H)), TypeError, "one tensor, got tuple"),
    (lambda: CELL(X[0], (rl.ones(3, 4),) * 2), RuntimeError, "Input batch size 2 doesn't match hidden0 batch size 3"),
    (lambda: CELL(X[0], (rl.ones(2, 5),) * 2), RuntimeError, "got 5, expected 4"),
    (lambda: CELL(X[0], (rl.ones(4),) * 2), RuntimeError, r"\(2, 3\) and \(4,\)"),
    (lambda: CELL(X[0], (rl.ones(2, 4),)), TypeError, "got 1 values"),
    (lambda: nn.RNNCell(3, 4, nonlinearity="selu")(X[0]), RuntimeError, "Unknown nonlinearity: selu"),
    (lambda: R.pack_padded_sequence(X, [5, 4, 3]), RuntimeError, r"got 3 \(batch_size=2\)\n.*hint"),
    (lambda: R.pack_padded_sequence(X, [4, 5]), RuntimeError, r"got \[4, 5\]\n.*hint: pass enforce_sorted=False"),
    (lambda: R.pack_padded_sequence(X, [5, 0]), RuntimeError, "greater than 0"),
    (lambda: R.pack_padded_sequence(X, [6, 5]), RuntimeError, "a length is 6, but there are 5 steps"),
    (lambda: R.pack_padded_sequence(X, 5), RuntimeError, "one-dimensional"),
    (lambda: R.pack_padded_sequence(X[:0], [5, 5]), RuntimeError, "Cannot pack empty"),
    (lambda: R.pack_padded_sequence(rl.ones(5), [5]), IndexError, "range"),
    (lambda: R.pad_packed_sequence(R.pack_sequence([X]), total_length=4), ValueError, "total_length=4"),
    (lambda: R.pad_sequence([X, H]), RuntimeError, r"number 0 has shape \(5, 2, 3\) and number 1 \(2, 2, 4\)"),
    (lambda: R.pad_sequence([]), RuntimeError, "empty list"),
    (lambda: R.pad_sequence(3), RuntimeError, "a list of tensors, but got int"),
    (lambda: R.pad_sequence([X], padding_side="top"), RuntimeError, "got top"),
    (lambda: R.PackedSequence(X), AssertionError, "hint: pack_sequence"),
]


@pytest.mark.parametrize("call, kind, message", ERRORS)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("rest", [(), (3,), (2, 3)])
def test_pad_and_pack(batch_first, rest):
    rng = np.random.default_rng(0)
    lengths = [2, 4, 1]
    arrays = [rng.standard_normal((n, *rest)) for n in lengths]
    tensors = [rl.tensor(a, requires_grad=True) for a in arrays]
    expected = np.full((3, 4, *rest), 7.0)
    for row, a in zip(expected, arrays, strict=True):
        row[: len(a)] = a
    turned = lambda a: a if batch_first else np.swapaxes(a, 0, 1)

    padded = R.pad_sequence(tensors, batch_first, 7.0)
    close(padded, turned(expected))
    left = R.pad_sequence(tensors, batch_first, 7.0, "left")
    close(left, turned(np.stack([np.roll(row, 4 - n, 0) for row, n in zip(expected, lengths, strict=True)])))
    for part, a in zip(R.unpad_sequence(padded, rl.tensor(lengths), batch_first), arrays, strict=True):
        close(part, a)

    packed = R.pack_padded_sequence(padded, lengths, batch_first, enforce_sorted=False)
    close(
        packed.data,
        np.concatenate([np.stack([a[t] for a in (arrays[1], arrays[0], arrays[2]) if t < len(a)]) for t in range(4)]),
    )
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2]
    back, n = R.pad_packed_sequence(packed, batch_first, 7.0, total_length=6)
    close(back if batch_first else back.transpose(0, 1), np.concatenate([expected, np.full((3, 2, *rest), 7.0)], 1))
    assert n.tolist() == lengths
    for part, a in zip(R.unpack_sequence(R.pack_sequence(tensors, enforce_sorted=False)), arrays, strict=True):
        close(part, a)
    (back * rl.arange(float(back.numel())).view(back.shape)).sum().backward()
    weights = np.arange(float(back.numel())).reshape(back.shape)
    weights = weights if batch_first else np.swapaxes(weights, 0, 1)
    for i, t in enumerate(tensors):
        close(t.grad, weights[i, : lengths[i]])


def test_packed_sequence_converts():
    p = R.pack_sequence([rl.tensor([1.0, 2.0]), rl.tensor([3.0, 4.0, 5.0])], enforce_sorted=False)
    assert p.to(rl.float32) is p and p.cpu() is p and not p.is_cuda
    assert p.double().data.dtype == rl.float64 and p.long().data.dtype == rl.int64
    assert p.double().unsorted_indices.tolist() == [1, 0]
    for other in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert type(other) is R.PackedSequence and other.data.equal(p.data)
    file = io.BytesIO()
    rl.save(p, file)
    file.seek(0)
    assert rl.load(file, weights_only=False).data.equal(p.data)
    assert repr(p).startswith("PackedSequence(data=tensor([3., 1., 4., 2., 5.]), batch_sizes=tensor([2, 2, 1]),")
