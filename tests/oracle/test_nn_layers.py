"""Layers and losses beside those of test_nn.py, in the same way beside PyTorch's."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import rushlight as rl  # noqa: E402
from tests.oracle.test_nn import build_both, close, f32, ints, unit  # noqa: E402
from tests.oracle.test_nn import test_layer as check_layer  # noqa: E402

signs = np.where(unit(4, 5) < 0.5, 1, -1).astype("float32")
labels = np.asarray([[0, 3, -1, 1, 0], [2, -1, 0, 0, 0], [-1, 0, 0, 0, 0], [4, 3, 2, 1, 0]])

# name, how to build it from a package's nn, inputs
LAYERS = [
    ("Hardsigmoid", lambda nn: nn.Hardsigmoid(), [3 * f32(4, 5)]),
    ("Hardswish inplace", lambda nn: nn.Hardswish(True), [3 * f32(4, 5)]),
    ("Mish", lambda nn: nn.Mish(), [f32(4, 5)]),
    ("Mish inplace", lambda nn: nn.Mish(True), [f32(4, 5)]),
    ("GLU", lambda nn: nn.GLU(), [f32(4, 6)]),
    ("GLU 0", lambda nn: nn.GLU(0), [f32(4, 5)]),
    ("PReLU", lambda nn: nn.PReLU(), [f32(4, 5)]),
    ("PReLU channels", lambda nn: nn.PReLU(5, 0.1), [f32(4, 5, 2)]),
    ("RReLU", lambda nn: nn.RReLU(), [f32(4, 5)]),
    ("RReLU inplace", lambda nn: nn.RReLU(0.1, 0.2, True), [f32(4, 5)]),
    ("SELU", lambda nn: nn.SELU(), [f32(4, 5)]),
    ("SELU inplace", lambda nn: nn.SELU(True), [f32(4, 5)]),
    ("CELU", lambda nn: nn.CELU(0.5), [f32(4, 5)]),
    ("CELU inplace", lambda nn: nn.CELU(2.0, True), [f32(4, 5)]),
    ("Hardshrink", lambda nn: nn.Hardshrink(), [f32(4, 5)]),
    ("Softshrink", lambda nn: nn.Softshrink(0.2), [f32(4, 5)]),
    ("Tanhshrink", lambda nn: nn.Tanhshrink(), [f32(4, 5)]),
    ("Threshold", lambda nn: nn.Threshold(0.1, 2), [f32(4, 5)]),
    ("Threshold inplace", lambda nn: nn.Threshold(0.1, 2, True), [f32(4, 5)]),
    ("LeakyReLU inplace", lambda nn: nn.LeakyReLU(0.2, True), [f32(4, 5)]),
    ("ELU inplace", lambda nn: nn.ELU(0.7, True), [f32(4, 5)]),
    ("Hardtanh inplace", lambda nn: nn.Hardtanh(-0.5, 0.7, True), [f32(4, 5)]),
    ("Softmax2d", lambda nn: nn.Softmax2d(), [f32(2, 3, 2, 2)]),
    ("Softmax2d unbatched", lambda nn: nn.Softmax2d(), [f32(3, 2, 2)]),
    ("Dropout1d", lambda nn: nn.Dropout1d(0.3), [f32(3, 4, 2)]),
    ("Dropout1d unbatched", lambda nn: nn.Dropout1d(0.3), [f32(3, 4)]),
    ("Dropout2d inplace", lambda nn: nn.Dropout2d(0.3, True), [f32(3, 4, 2, 2)]),
    ("Dropout3d", lambda nn: nn.Dropout3d(0.3), [f32(3, 4, 2, 2, 1)]),
    ("AlphaDropout", lambda nn: nn.AlphaDropout(0.3), [f32(30, 4)]),
    ("AlphaDropout inplace", lambda nn: nn.AlphaDropout(0.3, True), [f32(30, 4)]),
    ("FeatureAlphaDropout", lambda nn: nn.FeatureAlphaDropout(0.3), [f32(3, 4, 2)]),
    ("GroupNorm", lambda nn: nn.GroupNorm(2, 4), [f32(3, 4, 5)]),
    ("GroupNorm plain", lambda nn: nn.GroupNorm(2, 4, 1e-3, affine=False), [f32(3, 4, 5, 2)]),
    ("GroupNorm no bias", lambda nn: nn.GroupNorm(4, 4, bias=False), [f32(3, 4, 5, 2, 2)]),
    ("GroupNorm 2d", lambda nn: nn.GroupNorm(1, 4), [f32(3, 4)]),
    ("RMSNorm", lambda nn: nn.RMSNorm(5), [f32(2, 4, 5)]),
    ("RMSNorm plain", lambda nn: nn.RMSNorm((4, 5), 1e-3, False), [f32(2, 4, 5)]),
    ("LocalResponseNorm", lambda nn: nn.LocalResponseNorm(3, 0.1), [f32(2, 4, 5, 5)]),
    ("InstanceNorm1d", lambda nn: nn.InstanceNorm1d(4), [f32(3, 4, 5)]),
    ("InstanceNorm1d unbatched", lambda nn: nn.InstanceNorm1d(4, affine=True), [f32(4, 5)]),
    ("InstanceNorm2d running", lambda nn: nn.InstanceNorm2d(3, 1e-3, 0.3, True, True), [f32(2, 3, 4, 5)]),
    ("InstanceNorm3d", lambda nn: nn.InstanceNorm3d(3, affine=True, bias=False), [f32(2, 3, 2, 4, 5)]),
    ("Bilinear", lambda nn: nn.Bilinear(3, 4, 5), [f32(2, 3), f32(2, 4)]),
    ("Bilinear no bias", lambda nn: nn.Bilinear(3, 4, 5, bias=False), [f32(2, 2, 3), f32(2, 2, 4)]),
    ("EmbeddingBag", lambda nn: nn.EmbeddingBag(10, 4), [ints(10, 2, 3)]),
    (
        "EmbeddingBag sum",
        lambda nn: nn.EmbeddingBag(10, 4, mode="sum", padding_idx=-2),
        [ints(10, 9), np.asarray([0, 4])],
    ),
    ("EmbeddingBag max", lambda nn: nn.EmbeddingBag(10, 4, mode="max"), [ints(10, 9), np.asarray([0, 4, 4])]),
    ("ConstantPad1d", lambda nn: nn.ConstantPad1d(2, 1.5), [f32(2, 3, 4)]),
    ("ConstantPad2d", lambda nn: nn.ConstantPad2d((1, 2, -1, 0), 3), [f32(2, 3, 4)]),
    ("ConstantPad3d", lambda nn: nn.ConstantPad3d(1, 3), [f32(2, 3, 4, 2)]),
    ("ZeroPad1d", lambda nn: nn.ZeroPad1d(1), [f32(2, 4)]),
    ("ZeroPad2d", lambda nn: nn.ZeroPad2d((1, 0, 2, 1)), [f32(2, 3, 4, 2)]),
    ("ZeroPad3d", lambda nn: nn.ZeroPad3d(1), [f32(2, 3, 4, 2)]),
    ("ReflectionPad1d", lambda nn: nn.ReflectionPad1d((2, 1)), [f32(2, 3, 4)]),
    ("ReflectionPad2d", lambda nn: nn.ReflectionPad2d(2), [f32(2, 3, 4, 5)]),
    ("ReflectionPad3d", lambda nn: nn.ReflectionPad3d(1), [f32(2, 3, 4, 5, 2)]),
    ("ReplicationPad1d", lambda nn: nn.ReplicationPad1d((2, 5)), [f32(2, 3)]),
    ("ReplicationPad2d", lambda nn: nn.ReplicationPad2d((-1, 2, 1, 1)), [f32(3, 4, 5)]),
    ("ReplicationPad3d", lambda nn: nn.ReplicationPad3d(1), [f32(2, 3, 4, 5, 2)]),
    ("CircularPad1d", lambda nn: nn.CircularPad1d((2, 3)), [f32(2, 3)]),
    ("CircularPad2d", lambda nn: nn.CircularPad2d((1, 2, 0, 1)), [f32(2, 3, 4, 5)]),
    ("CircularPad3d", lambda nn: nn.CircularPad3d(1), [f32(2, 3, 4, 5, 2)]),
    ("PixelShuffle", lambda nn: nn.PixelShuffle(2), [f32(2, 8, 3, 2)]),
    ("PixelUnshuffle", lambda nn: nn.PixelUnshuffle(2), [f32(2, 3, 4, 6)]),
    ("ChannelShuffle", lambda nn: nn.ChannelShuffle(2), [f32(2, 4, 3)]),
    ("CosineSimilarity", lambda nn: nn.CosineSimilarity(0, 1e-3), [f32(4, 5), unit(4, 5)]),
    ("PairwiseDistance", lambda nn: nn.PairwiseDistance(3, keepdim=True), [f32(4, 5), unit(4, 5)]),
    ("KLDivLoss", lambda nn: nn.KLDivLoss(reduction="batchmean"), [f32(4, 5), unit(4, 5)]),
    ("KLDivLoss log", lambda nn: nn.KLDivLoss(reduction="sum", log_target=True), [f32(4, 5), unit(4, 5)]),
    ("NLLLoss2d", lambda nn: nn.NLLLoss2d(), [f32(2, 3, 4, 5), ints(3, 2, 4, 5)]),
    ("CosineEmbeddingLoss", lambda nn: nn.CosineEmbeddingLoss(0.1), [f32(4, 5), unit(4, 5), signs[:, 0]]),
    ("HingeEmbeddingLoss", lambda nn: nn.HingeEmbeddingLoss(0.5), [f32(4, 5), signs]),
    ("MarginRankingLoss", lambda nn: nn.MarginRankingLoss(0.2), [f32(4, 5), unit(4, 5), signs]),
    ("GaussianNLLLoss", lambda nn: nn.GaussianNLLLoss(full=True), [f32(4, 5), unit(4, 5), 0.1 + unit(4, 5)]),
    ("PoissonNLLLoss", lambda nn: nn.PoissonNLLLoss(full=True), [f32(4, 5), 5 * unit(4, 5)]),
    ("SoftMarginLoss", lambda nn: nn.SoftMarginLoss(reduction="sum"), [f32(4, 5), signs]),
    ("MultiMarginLoss", lambda nn: nn.MultiMarginLoss(2, 0.5), [f32(4, 5), ints(5, 4)]),
    ("MultiLabelMarginLoss", lambda nn: nn.MultiLabelMarginLoss(), [f32(4, 5), labels]),
    ("MultiLabelSoftMarginLoss", lambda nn: nn.MultiLabelSoftMarginLoss(), [f32(4, 5), unit(4, 5)]),
    ("TripletMarginLoss", lambda nn: nn.TripletMarginLoss(2.0, swap=True), [f32(4, 5), unit(4, 5), -unit(4, 5)]),
    (
        "TripletMarginWithDistanceLoss",
        lambda nn: nn.TripletMarginWithDistanceLoss(distance_function=nn.PairwiseDistance(1), reduction="none"),
        [f32(4, 5), unit(4, 5), -unit(4, 5)],
    ),
    ("SyncBatchNorm eval", lambda nn: nn.SyncBatchNorm(3, momentum=0.3).eval(), [f32(2, 3, 4, 5)]),
]


@pytest.mark.parametrize("name, build, inputs", LAYERS, ids=[row[0] for row in LAYERS])
def test_layer(name, build, inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_layer(name, build, inputs)


@pytest.mark.parametrize("shape", [(6, 2, 5), (6, 5)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_gradient_of_ctc_loss(shape, reduction):
    """Through log_softmax, as it is meant to be used."""
    scores = f32(*shape)
    targets = np.asarray([[1, 2, 2], [3, 1, 0]][: 2 if len(shape) == 3 else 1])
    lengths = ([6, 5], [3, 2]) if len(shape) == 3 else ([6], [3])
    grads = []
    for package in (rl, torch):
        x = package.from_numpy(scores.copy()).requires_grad_()
        t = package.from_numpy(targets if len(shape) == 3 else targets[0])
        loss = package.nn.CTCLoss(reduction=reduction)(x.log_softmax(-1), t, *map(package.tensor, lengths))
        (loss * loss).sum().backward()
        grads.append(x.grad)
    close(*grads, rtol=1e-5)


def test_channels_last():
    """Layout follows the input's, as in PyTorch."""
    image = f32(2, 4, 6, 6)
    for call in (
        lambda F, x: F.group_norm(x, 2),
        lambda F, x: F.pad(x, (1, 2)),
        lambda F, x: F.pad(x, (1, 1, 2, 1), "reflect"),
        lambda F, x: F.pad(x, (1, 1, 2, 1), "replicate"),
        lambda F, x: F.pixel_shuffle(x, 2),
        lambda F, x: F.pixel_unshuffle(x, 2),
        lambda F, x: F.channel_shuffle(x, 2),
        lambda F, x: F.prelu(x, x.new_ones(4) * 0.2),
        lambda F, x: F.glu(x, 1),
    ):
        results = []
        for package in (rl, torch):
            x = package.from_numpy(image.copy()).to(memory_format=package.channels_last).requires_grad_()
            y = call(package.nn.functional, x)
            (y * y).sum().backward()
            results.append((y, x.grad))
        (ours, our_grad), (theirs, their_grad) = results
        close(ours, theirs)
        close(our_grad, their_grad, 1e-5)
        assert ours.stride() == theirs.stride()


def test_running_statistics_of_instance_norm():
    ours, theirs = (
        rl.nn.InstanceNorm1d(2, track_running_stats=True),
        torch.nn.InstanceNorm1d(2, track_running_stats=True),
    )
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((3, 2, 5)).astype("float32")
        close(ours(rl.from_numpy(x)), theirs(torch.from_numpy(x)))
    ours.eval(), theirs.eval()
    close(ours(rl.from_numpy(x)), theirs(torch.from_numpy(x)))
    for name in ("running_mean", "running_var"):
        close(getattr(ours, name), getattr(theirs, name))


@pytest.mark.parametrize("name", ["GroupNorm", "RMSNorm", "InstanceNorm1d"])
def test_half_types(name):
    build = {"GroupNorm": lambda nn: nn.GroupNorm(2, 4), "RMSNorm": lambda nn: nn.RMSNorm(8)}.get(
        name, lambda nn: nn.InstanceNorm1d(4, affine=True)
    )
    for dtype in ("float16", "bfloat16"):
        ours = build(rl.nn).to(getattr(rl, dtype))(rl.from_numpy(f32(3, 4, 8)).to(getattr(rl, dtype)))
        theirs = build(torch.nn).to(getattr(torch, dtype))(torch.from_numpy(f32(3, 4, 8)).to(getattr(torch, dtype)))
        assert str(ours.dtype) == str(theirs.dtype)
        tolerance = 2e-3 if dtype == "float16" else 2e-2
        np.testing.assert_allclose(
            ours.detach().float().numpy(), theirs.detach().float().numpy(), rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize("bias", [False, True])
def test_adaptive_log_softmax(bias):
    ours, theirs = build_both(lambda nn: nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 11], 2.0, bias))
    assert repr(ours) == repr(theirs) and list(ours.state_dict()) == list(theirs.state_dict())
    x, target = f32(7, 8), np.asarray([0, 4, 5, 10, 11, 19, 3])
    a, b = rl.from_numpy(x).requires_grad_(), torch.from_numpy(x).requires_grad_()
    left, right = ours(a, rl.from_numpy(target)), theirs(b, torch.from_numpy(target))
    close(left.output, right.output), close(left.loss, right.loss)
    left.loss.backward(), right.loss.backward()
    close(a.grad, b.grad)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        close(p.grad, q.grad)
    close(ours.log_prob(a), theirs.log_prob(b))
    assert ours.predict(a).tolist() == theirs.predict(b).tolist() == ours.log_prob(a).argmax(1).tolist()
    close(ours(a[2], rl.tensor(7)).output, theirs(b[2], torch.tensor(7)).output)
    for package, layer in ((rl, ours), (torch, theirs)):
        for shape, wrong in (((2, 8), [0, 20]), ((2, 8), [0]), ((2, 8), [[0], [1]])):
            with pytest.raises(RuntimeError):
                layer(package.ones(shape), package.tensor(wrong))
        for cutoffs in ([], [5, 3], [0, 3], [20], [3, 3]):
            with pytest.raises(ValueError):
                package.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs)
