"""Functions and layers against NumPy; PyTorch's own values are compared in tests/oracle."""

import math

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F

X = np.array([-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 4.0], "float32")
T = np.array([0.0, 1.0, 0.5, 1.0, 0.0, 0.25, 1.0], "float32")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def smooth(beta):
    d = np.abs(X - T)
    return np.where(d < beta, d * d / (2 * beta), d - beta / 2)


ACTIVATIONS = [
    (nn.ReLU(), np.maximum(X, 0)),
    (nn.ReLU6(), np.clip(X, 0, 6)),
    (nn.Hardtanh(-1, 2), np.clip(X, -1, 2)),
    (nn.LeakyReLU(0.1), np.where(X > 0, X, 0.1 * X)),
    (nn.ELU(0.5), np.where(X > 0, X, 0.5 * np.expm1(X))),
    (nn.SiLU(), X * sigmoid(X)),
    (nn.Sigmoid(), sigmoid(X)),
    (nn.LogSigmoid(), np.log(sigmoid(X))),
    (nn.Tanh(), np.tanh(X)),
    (nn.GELU(), X * np.array([0.5 * (1 + math.erf(x / math.sqrt(2))) for x in X])),
    (nn.Softplus(2.0), np.log1p(np.exp(2 * X)) / 2),
    (nn.Softsign(), X / (1 + np.abs(X))),
    (nn.Softmax(0), np.exp(X) / np.exp(X).sum()),
    (nn.Softmin(0), np.exp(-X) / np.exp(-X).sum()),
    (nn.LogSoftmax(0), X - np.log(np.exp(X).sum())),
    (nn.Hardsigmoid(), np.clip(X / 6 + 0.5, 0, 1)),
    (nn.Hardswish(), X * np.clip(X / 6 + 0.5, 0, 1)),
    (nn.Mish(), X * np.tanh(np.log1p(np.exp(X)))),
    (nn.SELU(), 1.05070098 * np.where(X > 0, X, 1.67326324 * np.expm1(X))),
    (nn.CELU(0.5), np.where(X > 0, X, 0.5 * np.expm1(X / 0.5))),
    (nn.Hardshrink(0.3), np.where(np.abs(X) <= 0.3, 0, X)),
    (nn.Softshrink(0.3), np.sign(X) * np.maximum(np.abs(X) - 0.3, 0)),
    (nn.Tanhshrink(), X - np.tanh(X)),
    (nn.Threshold(0.1, 2), np.where(X > 0.1, X, 2)),
    (nn.RReLU(0.1, 0.3).eval(), np.where(X > 0, X, 0.2 * X)),
    (nn.Flatten(0), X),
    (nn.Unflatten(0, (7, 1)), X[:, None]),
]


@pytest.mark.parametrize("layer, expected", ACTIVATIONS, ids=lambda v: type(v).__name__)
def test_activation(layer, expected):
    x = rl.from_numpy(X.copy())
    np.testing.assert_allclose(layer(x).numpy(), expected, rtol=2e-6, atol=1e-6)
    if getattr(layer, "inplace", None) is False:
        layer.inplace = True
        assert layer(x) is x
        np.testing.assert_allclose(x.numpy(), expected, rtol=2e-6, atol=1e-6)


LOSSES = [
    (nn.MSELoss, (X - T) ** 2),
    (nn.L1Loss, np.abs(X - T)),
    (lambda **k: nn.SmoothL1Loss(beta=0.5, **k), smooth(0.5)),
    (lambda **k: nn.HuberLoss(delta=0.5, **k), 0.5 * smooth(0.5)),
    (nn.BCEWithLogitsLoss, np.log1p(np.exp(X)) - X * T),
    (
        lambda **k: nn.BCEWithLogitsLoss(pos_weight=rl.tensor(3.0), **k),
        3 * T * np.log1p(np.exp(-X)) + (1 - T) * np.log1p(np.exp(X)),
    ),
]


@pytest.mark.parametrize("build, each", LOSSES)
def test_loss(build, each):
    x, t = rl.from_numpy(X), rl.from_numpy(T)
    np.testing.assert_allclose(build(reduction="none")(x, t).numpy(), each, rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(float(build()(x, t)), each.mean(), rtol=2e-6)
    np.testing.assert_allclose(float(build(reduction="sum")(x, t)), each.sum(), rtol=2e-6)
    with pytest.raises(ValueError, match="hint: use 'none', 'mean' or 'sum'"):
        build(reduction="total")(x, t)


def test_bce():
    p = rl.tensor([0.0, 1.0, 0.3, 1.0], requires_grad=True)
    loss = F.binary_cross_entropy(p, rl.tensor([0.0, 0.0, 1.0, 1.0]), reduction="none")
    np.testing.assert_allclose(loss.detach().numpy(), [0, 100, -math.log(0.3), 0], rtol=1e-6)
    loss.sum().backward()
    assert np.isfinite(p.grad.numpy()).all()
    for wrong in (-0.5, 1.5, math.nan):
        with pytest.raises(RuntimeError, match="between 0 and 1"):
            F.binary_cross_entropy(rl.tensor([wrong, 0.5]), rl.ones(2))
    assert F.binary_cross_entropy(rl.ones(2, device="meta"), rl.ones(2, device="meta")).is_meta


def test_cross_entropy():
    x = rl.from_numpy(np.stack([X, X[::-1]]).copy())
    logp = X - np.log(np.exp(X).sum())
    np.testing.assert_allclose(float(F.cross_entropy(x, rl.tensor([1, 2]))), -(logp[1] + logp[-3]) / 2, rtol=1e-6)
    np.testing.assert_allclose(float(F.cross_entropy(x, rl.tensor([1, -100]))), -logp[1], rtol=1e-6)


@pytest.mark.parametrize("x, expected", [([[3.0, 4.0]], [[0.6, 0.8]]), ([[0.0, 0.0]], [[0.0, 0.0]])])
def test_normalize(x, expected):
    t = rl.tensor(x, requires_grad=True)
    y = F.normalize(t)
    np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-6)
    y.sum().backward()
    assert np.isfinite(t.grad.numpy()).all()


@pytest.mark.parametrize("widths", [(1, 2), (0, 1, 2, 0), (-1, 1), (-1, -1, 0, -1), (0, 0)])
def test_pad(widths):
    x = np.arange(12, dtype="float32").reshape(3, 4)
    pairs = [(widths[i], widths[i + 1]) for i in range(0, len(widths), 2)][::-1]
    pairs = [(0, 0)] * (2 - len(pairs)) + pairs
    expected = np.pad(x, [(max(a, 0), max(b, 0)) for a, b in pairs], constant_values=9)
    crop = tuple(slice(max(-a, 0), expected.shape[i] - max(-b, 0)) for i, (a, b) in enumerate(pairs))
    t = rl.from_numpy(x).requires_grad_()
    y = F.pad(t, widths, value=9)
    np.testing.assert_array_equal(y.detach().numpy(), expected[crop])
    y.sum().backward()
    kept = np.pad(np.ones_like(x), [(max(a, 0), max(b, 0)) for a, b in pairs])[crop].sum()
    assert float(t.grad.sum()) == kept


def test_pad_errors():
    with pytest.raises(NotImplementedError, match="hint"):
        F.pad(rl.ones(2), (1, 1), mode="reflect")
    with pytest.raises(RuntimeError):
        F.pad(rl.ones(2), (-3, 0))
    with pytest.raises(RuntimeError):
        F.pad(rl.ones(2), (0, 0, 1, 1))
    with pytest.raises(TypeError, match="widths come as a tuple, got 1\n  hint"):
        F.pad(rl.ones(2), 1)


def test_one_hot():
    assert F.one_hot(rl.tensor([[1], [0]]), 3).tolist() == [[[0, 1, 0]], [[1, 0, 0]]]
    assert F.one_hot(rl.tensor([2])).tolist() == [[0, 0, 1]]
    assert F.one_hot(rl.zeros(0, dtype=rl.int64), 3).shape == (0, 3)


def test_batch_norm():
    x = np.random.default_rng(0).standard_normal((8, 3, 5)).astype("float32")
    layer = nn.BatchNorm1d(3, momentum=0.2)
    y = layer(rl.from_numpy(x)).detach().numpy()
    mean, var = x.mean((0, 2)), x.var((0, 2))
    np.testing.assert_allclose(y, (x - mean[:, None]) / np.sqrt(var[:, None] + 1e-5), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer.running_mean.numpy(), 0.2 * mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(layer.running_var.numpy(), 0.8 + 0.2 * var * 40 / 39, rtol=1e-5)
    assert int(layer.num_batches_tracked) == 1
    layer.eval()
    y = layer(rl.from_numpy(x)).detach().numpy()
    m, v = layer.running_mean.numpy()[:, None], layer.running_var.numpy()[:, None]
    np.testing.assert_allclose(y, (x - m) / np.sqrt(v + 1e-5), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="hint: use a larger batch"):
        layer.train()(rl.ones(1, 3))
    old = {k: v for k, v in layer.state_dict().items() if k != "num_batches_tracked"}
    layer.load_state_dict(old)  # written before num_batches_tracked was there


def test_embedding():
    table = rl.from_numpy(np.arange(6, dtype="float32").reshape(3, 2))
    layer = nn.Embedding.from_pretrained(table, freeze=False, padding_idx=1)
    y = layer(rl.tensor([[2, 1], [2, 0]]))
    assert y.tolist() == [[[4, 5], [2, 3]], [[4, 5], [0, 1]]]
    y.sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1], [0, 0], [2, 2]]
    assert nn.Embedding(4, 2, padding_idx=-1).weight[3].tolist() == [0, 0]
    for options in ({"max_norm": 1.0}, {"sparse": True}):
        with pytest.raises(NotImplementedError, match="hint"):
            nn.Embedding(3, 2, **options)


def test_dropout():
    x = rl.ones(10000)
    layer = nn.Dropout(0.25)
    y = layer(x).numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)} and abs((y == 0).mean() - 0.25) < 0.03
    assert layer.eval()(x).tolist() == x.tolist()
    channels = nn.Dropout2d(0.5)(rl.ones(64, 4, 3, 3)).numpy().reshape(256, 9)
    assert (channels == channels[:, :1]).all() and 64 < (channels[:, 0] == 0).sum() < 192
    y = rl.ones(10)
    assert nn.Dropout(1.0, inplace=True)(y) is y and float(y.sum()) == 0


def test_conv_and_pool():
    x = np.random.default_rng(0).standard_normal((1, 1, 4, 4)).astype("float32")
    w = np.random.default_rng(1).standard_normal((1, 1, 3, 3)).astype("float32")
    padded = np.pad(x[0, 0], 1)
    expected = [[(padded[i : i + 3, j : j + 3] * w[0, 0]).sum() for j in range(4)] for i in range(4)]
    layer = nn.Conv2d(1, 1, 3, padding="same", bias=False)
    layer.load_state_dict({"weight": rl.from_numpy(w)})
    np.testing.assert_allclose(layer(rl.from_numpy(x)).detach().numpy()[0, 0], expected, rtol=1e-4, atol=1e-5)
    blocks = x[0, 0].reshape(2, 2, 2, 2).transpose(0, 2, 1, 3).reshape(2, 2, 4)
    np.testing.assert_allclose(nn.MaxPool2d(2)(rl.from_numpy(x)).numpy()[0, 0], blocks.max(-1))
    np.testing.assert_allclose(nn.AvgPool2d(2)(rl.from_numpy(x)).numpy()[0, 0], blocks.mean(-1), rtol=1e-5)
    values, places = nn.MaxPool2d(2, return_indices=True)(rl.from_numpy(x))
    np.testing.assert_array_equal(x.ravel()[places.numpy().ravel()], values.numpy().ravel())
