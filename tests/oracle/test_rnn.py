"""Recurrent layers beside PyTorch's: text, state, first values, values, gradients, packed sequences."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import rushlight as rl  # noqa: E402

from .test_nn import build_both, close  # noqa: E402

f32 = lambda *shape: np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")

LAYERS = {
    "RNN": lambda nn: nn.RNN(3, 4),
    "RNN relu": lambda nn: nn.RNN(3, 4, 2, "relu", False, True),
    "LSTM": lambda nn: nn.LSTM(3, 4),
    "LSTM all": lambda nn: nn.LSTM(3, 4, 2, bias=True, batch_first=True, dropout=0.5, bidirectional=True),
    "LSTM projected": lambda nn: nn.LSTM(3, 5, 2, bidirectional=True, proj_size=2),
    "LSTM no bias": lambda nn: nn.LSTM(3, 5, bias=False, proj_size=3),
    "GRU": lambda nn: nn.GRU(3, 4),
    "GRU all": lambda nn: nn.GRU(3, 4, 3, bias=False, batch_first=True, dropout=0.3, bidirectional=True),
}


def flat(value):
    return [t for v in value for t in flat(v)] if isinstance(value, (tuple, list)) else [value]


def same_module(ours, theirs):
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert tuple(a.shape) == tuple(b.shape)
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def same_results(ours, theirs, arrays, run, atol=1e-5):
    """Results of run(lib, module, *tensors), and the gradients of tensors and parameters."""
    seen = []
    for lib, module in ((rl, ours), (torch, theirs)):
        tensors = [lib.from_numpy(a.copy()).requires_grad_() for a in arrays]
        module.zero_grad()
        lib.manual_seed(4)
        results = flat(run(lib, module, *tensors))
        sum((r * r).sum() for r in results if r.is_floating_point()).backward()
        seen.append((results, [*(t.grad for t in tensors), *(p.grad for p in module.parameters())]))
    for part in range(2):
        for a, b in zip(seen[0][part], seen[1][part], strict=True):
            assert tuple(a.shape) == tuple(b.shape) and (part or a.stride() == b.stride())
            close(a, b, 1e-5, atol)


@pytest.mark.parametrize("build", LAYERS.values(), ids=LAYERS)
def test_layer(build):
    ours, theirs = build_both(build)
    same_module(ours, theirs)
    assert [len(w) for w in ours.all_weights] == [len(w) for w in theirs.all_weights]
    assert ours._all_weights == theirs._all_weights and ours._flat_weights_names == theirs._flat_weights_names
    for training in (True, False):
        ours.train(training), theirs.train(training)
        same_results(ours, theirs, [f32(5, 2, 3)], lambda lib, m, x: m(x))
        same_results(ours, theirs, [f32(5, 3)], lambda lib, m, x: m(x))


@pytest.mark.parametrize("build", LAYERS.values(), ids=LAYERS)
@pytest.mark.parametrize("packed", [False, True])
def test_with_state(build, packed):
    ours, theirs = build_both(build)
    count = len(ours.all_weights)
    arrays = [f32(4, 4, 3), f32(count, 4, ours.proj_size or ours.hidden_size)]
    if ours.mode == "LSTM":
        arrays.append(f32(count, 4, ours.hidden_size))

    def run(lib, module, x, *hx):
        if packed:
            pack = lib.nn.utils.rnn.pack_padded_sequence
            x = pack(x, [2, 4, 1, 4], batch_first=module.batch_first, enforce_sorted=False)
        output, final = module(x, hx if len(hx) == 2 else hx[0])
        if packed:
            output = (output.data, *lib.nn.utils.rnn.pad_packed_sequence(output, batch_first=module.batch_first))
        return output, final

    for training in (True, False):
        ours.train(training), theirs.train(training)
        same_results(ours, theirs, arrays, run)


CELLS = {
    "RNNCell": lambda nn: nn.RNNCell(3, 4),
    "RNNCell relu": lambda nn: nn.RNNCell(3, 4, False, "relu"),
    "LSTMCell": lambda nn: nn.LSTMCell(3, 4),
    "LSTMCell no bias": lambda nn: nn.LSTMCell(3, 4, bias=False),
    "GRUCell": lambda nn: nn.GRUCell(3, 4),
    "GRUCell no bias": lambda nn: nn.GRUCell(3, 4, bias=False),
}


@pytest.mark.parametrize("name, build", CELLS.items(), ids=CELLS)
def test_cell(name, build):
    ours, theirs = build_both(build)
    same_module(ours, theirs)
    state = [f32(2, 4)] * (2 if "LSTM" in name else 1)
    same_results(ours, theirs, [f32(2, 3)], lambda lib, m, x: m(x))
    same_results(ours, theirs, [f32(2, 3), *state], lambda lib, m, x, *hx: m(x, hx if len(hx) == 2 else hx[0]))
    same_results(ours, theirs, [f32(3)], lambda lib, m, x: m(x))


def test_exchange_of_state():
    ours, theirs = rl.nn.LSTM(3, 4, 2, proj_size=2), torch.nn.LSTM(3, 4, 2, proj_size=2)
    ours.load_state_dict({k: rl.from_numpy(v.numpy()) for k, v in theirs.state_dict().items()})
    same_module(ours, theirs)


CALLS = {
    "sorted": lambda R, x, n: R.pack_padded_sequence(x, n.sort(descending=True)[0]),
    "unsorted": lambda R, x, n: R.pack_padded_sequence(x, n, enforce_sorted=False),
    "batch first": lambda R, x, n: R.pack_padded_sequence(x.transpose(0, 1), n, True, False),
    "padded": lambda R, x, n: R.pad_packed_sequence(R.pack_padded_sequence(x, n, enforce_sorted=False), True, 3.0, 9),
    "pad": lambda R, x, n: R.pad_sequence([x[:3, 0], x[:1, 1], x[:, 2]], padding_value=1.5),
    "pad left": lambda R, x, n: R.pad_sequence([x[:3, 0], x[:1, 1]], True, padding_side="left"),
    "pad tensor": lambda R, x, n: R.pad_sequence(x),
    "unpad": lambda R, x, n: R.unpad_sequence(x, n),
    "pack": lambda R, x, n: R.pack_sequence([x[:2, 0], x[:1, 1], x[:, 2]], enforce_sorted=False),
    "unpack": lambda R, x, n: R.unpack_sequence(R.pack_sequence([x[:3, 0], x[:1, 1]])),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_sequences(call):
    results = []
    for lib in (rl, torch):
        x = lib.from_numpy(f32(4, 3, 2))
        results.append([t for t in flat(call(lib.nn.utils.rnn, x, lib.tensor([2, 4, 1]))) if t is not None])
    for a, b in zip(*results, strict=True):
        assert 1 in a.shape or a.stride() == b.stride()
        close(a, b)
