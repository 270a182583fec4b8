"""What tests of values do not see: errors, in-place forms, conversions."""

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F

X = np.array([-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 4.0], "float32")


@pytest.mark.parametrize("name", ["relu", "leaky_relu", "elu", "celu", "selu", "hardtanh", "rrelu"])
def test_in_place_forms(name):
    expected = getattr(F, name)(rl.from_numpy(X))
    for change in (getattr(F, name + "_"), lambda x: getattr(F, name)(x, inplace=True)):
        x = rl.from_numpy(X.copy())
        assert change(x) is x
        np.testing.assert_array_equal(x.numpy(), expected.numpy())
    x = rl.from_numpy(X.copy())
    assert F.threshold_(x, 0.1, 9) is x and x.tolist() == [9, 9, 9, 9, 0.25, 1, 4]


def test_gradient_of_in_place_forms():
    for layer in (nn.SELU(True), nn.CELU(0.5, True), nn.RReLU(inplace=True).eval(), nn.RReLU(0.2, 0.2, True)):
        x = rl.from_numpy(X).requires_grad_()
        y = rl.from_numpy(X).requires_grad_()
        layer(x * 1).sum().backward()
        layer.inplace = False
        layer(y).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-6)


def test_hard_samples_pass_the_soft_gradient():
    x = rl.from_numpy(X).requires_grad_()
    y = F.gumbel_softmax(x, hard=True)
    assert sorted(y.tolist()) == [0] * 6 + [1]
    (y * rl.arange(7.0)).sum().backward()
    assert float(x.grad.abs().sum()) > 0 and abs(float(x.grad.sum())) < 1e-5


def test_alpha_dropout_keeps_mean_and_variance():
    x = rl.randn(200, 500)
    for drop in (nn.AlphaDropout(0.3), nn.FeatureAlphaDropout(0.3)):
        y = drop(x)
        assert abs(float(y.mean())) < 0.02 and abs(float(y.std()) - 1) < 0.02
        assert drop.eval()(x) is x


def test_channels_are_dropped_whole():
    for drop, shape in ((F.dropout1d, (64, 4, 9)), (F.dropout3d, (64, 4, 3, 3, 1))):
        y = drop(rl.ones(shape)).numpy().reshape(256, 9)
        assert (y == y[:, :1]).all() and 64 < (y[:, 0] == 0).sum() < 192
    x = rl.ones(8, 3)
    assert F.dropout1d(x, 0.5, inplace=True) is x and x.shape == (8, 3)


def test_convert_sync_batchnorm():
    model = nn.Sequential(nn.BatchNorm2d(3), nn.Sequential(nn.InstanceNorm2d(3), nn.BatchNorm1d(2, bias=False).eval()))
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert converted is model
    kinds = [type(m).__name__ for m in model.modules()]
    assert kinds == ["Sequential", "SyncBatchNorm", "Sequential", "InstanceNorm2d", "SyncBatchNorm"]
    assert not model[1][1].training and model[1][1].bias is None
    weight = nn.BatchNorm2d(3).weight
    plain = nn.BatchNorm2d(3)
    plain.weight = weight
    assert nn.SyncBatchNorm.convert_sync_batchnorm(plain).weight is weight
    with pytest.raises(NotImplementedError, match="distributed"):
        nn.SyncBatchNorm(3, process_group="all")


REFUSED = [
    (ValueError, "divisible", lambda: nn.GroupNorm(2, 3)),
    (ValueError, "hint: use fewer groups", lambda: F.group_norm(rl.ones(1, 4), 4)),
    (ValueError, "hint: the variance of one value", lambda: nn.InstanceNorm1d(2)(rl.ones(1, 2, 1))),
    (ValueError, "num_features", lambda: nn.InstanceNorm1d(4, affine=True)(rl.ones(2, 3, 3))),
    (ValueError, "2D or 3D", lambda: nn.InstanceNorm1d(4)(rl.ones(4))),
    (ValueError, "3D or 4D", lambda: nn.Softmax2d()(rl.ones(2, 3))),
    (ValueError, "greater than 0", lambda: nn.TripletMarginLoss(margin=-1)),
    (ValueError, "greater than 0", lambda: nn.TripletMarginWithDistanceLoss(margin=0)),
    (ValueError, "p == 1", lambda: nn.MultiMarginLoss(p=3)),
    (ValueError, "1D", lambda: nn.MultiMarginLoss(weight=rl.ones(2, 2))),
    (ValueError, "in1_features", lambda: nn.Bilinear(0, 1, 1)),
    (ValueError, "takes one number or 4", lambda: nn.ReflectionPad2d((1, 2))),
    (ValueError, "between 0 and 1", lambda: nn.AlphaDropout(2)),
    (AssertionError, "padding_idx", lambda: nn.EmbeddingBag(3, 2, padding_idx=4)),
    (NotImplementedError, "hint", lambda: nn.EmbeddingBag(3, 2, max_norm=1.0)),
    (NotImplementedError, "hint", lambda: nn.EmbeddingBag(3, 2, sparse=True)),
    (NotImplementedError, "hint: use 'constant'", lambda: F.pad(rl.ones(1, 2), (1, 1), "mirror")),
    (RuntimeError, "hint: add the missing dimension", lambda: F.feature_alpha_dropout(rl.ones(3), training=True)),
    (RuntimeError, "hint: dropout2d", lambda: F.dropout1d(rl.ones(3))),
    (RuntimeError, "none of the 3 classes", lambda: F.ctc_loss(rl.zeros(4, 1, 3), rl.tensor([[7]]), (4,), (1,))),
]


@pytest.mark.parametrize("kind, text, call", REFUSED)
def test_refused(kind, text, call):
    with pytest.raises(kind, match=text):
        call()


def test_embedding_bag():
    table = rl.from_numpy(np.arange(6, dtype="float32").reshape(3, 2))
    bag = nn.EmbeddingBag.from_pretrained(table, mode="sum")
    assert not bag.weight.requires_grad
    assert bag(rl.tensor([0, 2, 1]), rl.tensor([0, 2])).tolist() == [[4, 6], [2, 3]]
    assert nn.EmbeddingBag(4, 2, padding_idx=-1).weight[3].tolist() == [0, 0]
    # Each row's gradient is divided by how often that row was looked up.
    weight = table.clone().requires_grad_()
    F.embedding_bag(rl.tensor([0, 0, 1]), weight, rl.tensor([0]), mode="sum", scale_grad_by_freq=True).sum().backward()
    assert weight.grad.tolist() == [[1, 1], [1, 1], [0, 0]]
    weights = rl.ones(2, requires_grad=True)
    F.embedding_bag(rl.tensor([1, 2]), table, rl.tensor([0]), mode="sum", per_sample_weights=weights).sum().backward()
    assert weights.grad.tolist() == [5, 9]


def test_gradient_of_ctc_loss():
    """It is the derivative, also of what has not been through log_softmax."""
    x = rl.from_numpy(np.random.default_rng(0).standard_normal((4, 2, 3))).requires_grad_()
    targets = rl.tensor([[1, 2], [2, 2]])

    def loss(x):
        return F.ctc_loss(x, targets, (4, 3), (2, 2), reduction="none")

    assert rl.autograd.gradcheck(loss, (x,))
    with pytest.raises(NotImplementedError, match="second derivative"):
        rl.autograd.grad(loss(x).sum(), x, create_graph=True)
    impossible = F.ctc_loss(x, targets, (1, 1), (2, 2), zero_infinity=True)
    impossible.backward()
    assert float(impossible) == 0 and not x.grad.any()


def test_soft_margin_loss_does_not_overflow():
    x = rl.tensor([-1000.0, 1000.0], requires_grad=True)
    y = F.soft_margin_loss(x, rl.ones(2), reduction="none")
    y.sum().backward()
    assert y.tolist() == [1000, 0] and x.grad.tolist() == [-1, 0]
