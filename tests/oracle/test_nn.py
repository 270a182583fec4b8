"""nn beside PyTorch's: text, state, values, gradients, first values of parameters."""

import builtins
import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import rushlight as rl  # noqa: E402

f32 = lambda *shape: np.random.default_rng(0).standard_normal(shape).astype("float32")


def unit(*shape):
    return np.random.default_rng(1).random(shape).astype("float32")


def ints(high, *shape):
    return np.random.default_rng(2).integers(0, high, shape)


# name, how to build it from a package's nn, inputs
LAYERS = [
    ("Identity", lambda nn: nn.Identity(3, x=1), [f32(2, 3)]),
    ("Linear", lambda nn: nn.Linear(5, 3), [f32(2, 4, 5)]),
    ("Linear no bias", lambda nn: nn.Linear(5, 3, bias=False), [f32(5)]),
    ("Conv2d", lambda nn: nn.Conv2d(3, 4, 3), [f32(2, 3, 7, 6)]),
    ("Conv2d unbatched", lambda nn: nn.Conv2d(3, 4, 3), [f32(3, 7, 6)]),
    ("Conv2d all", lambda nn: nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 2), (2, 1), 2, False), [f32(2, 4, 9, 8)]),
    ("Conv2d same", lambda nn: nn.Conv2d(3, 4, 3, padding="same", dilation=2), [f32(2, 3, 7, 6)]),
    ("Conv2d same even", lambda nn: nn.Conv2d(3, 4, (4, 3), padding="same"), [f32(2, 3, 7, 6)]),
    ("Conv2d valid", lambda nn: nn.Conv2d(3, 4, 2, padding="valid"), [f32(2, 3, 7, 6)]),
    ("Conv1d", lambda nn: nn.Conv1d(3, 4, 3), [f32(2, 3, 9)]),
    ("Conv1d all", lambda nn: nn.Conv1d(4, 6, 3, 2, 1, 2, 2, False), [f32(2, 4, 19)]),
    ("Conv1d same even", lambda nn: nn.Conv1d(3, 4, 4, padding="same"), [f32(3, 9)]),
    ("Conv3d", lambda nn: nn.Conv3d(3, 4, 2), [f32(2, 3, 4, 5, 3)]),
    (
        "Conv3d all",
        lambda nn: nn.Conv3d(4, 6, (2, 3, 1), (2, 1, 1), (1, 2, 0), (2, 1, 1), 2, False),
        [f32(2, 4, 5, 4, 3)],
    ),
    ("ConvTranspose1d", lambda nn: nn.ConvTranspose1d(3, 4, 3), [f32(2, 3, 9)]),
    ("ConvTranspose2d", lambda nn: nn.ConvTranspose2d(3, 4, 3), [f32(2, 3, 5, 4)]),
    ("ConvTranspose2d unbatched", lambda nn: nn.ConvTranspose2d(3, 4, 3, bias=False), [f32(3, 5, 4)]),
    (
        "ConvTranspose2d all",
        lambda nn: nn.ConvTranspose2d(4, 6, (3, 2), (2, 1), (1, 0), (1, 0), 2, True, (2, 1)),
        [f32(2, 4, 5, 4)],
    ),
    ("ConvTranspose3d", lambda nn: nn.ConvTranspose3d(2, 3, 2, 2, output_padding=1), [f32(2, 2, 3, 4, 2)]),
    ("MaxPool2d", lambda nn: nn.MaxPool2d(2), [f32(2, 3, 7, 6)]),
    ("MaxPool2d all", lambda nn: nn.MaxPool2d((3, 2), (2, 1), (1, 0), (1, 2), ceil_mode=True), [f32(2, 3, 8, 8)]),
    ("MaxPool1d", lambda nn: nn.MaxPool1d(2), [f32(2, 3, 9)]),
    ("MaxPool1d all", lambda nn: nn.MaxPool1d(3, 2, 1, 2, ceil_mode=True), [f32(3, 9)]),
    ("MaxPool3d", lambda nn: nn.MaxPool3d((2, 3, 1), (2, 1, 1), 0, (1, 2, 1)), [f32(2, 3, 5, 6, 4)]),
    ("AvgPool1d", lambda nn: nn.AvgPool1d(3, 2, 1, True, False), [f32(2, 3, 9)]),
    ("AvgPool3d", lambda nn: nn.AvgPool3d(3, 2, 1, divisor_override=3), [f32(2, 3, 5, 6, 4)]),
    ("FractionalMaxPool2d", lambda nn: nn.FractionalMaxPool2d((2, 3), (5, 3)), [f32(2, 3, 9, 8)]),
    ("FractionalMaxPool2d ratio", lambda nn: nn.FractionalMaxPool2d(2, output_ratio=0.6), [f32(3, 9, 8)]),
    ("FractionalMaxPool3d", lambda nn: nn.FractionalMaxPool3d(2, (3, 1, 4)), [f32(2, 3, 5, 4, 6)]),
    ("LPPool1d", lambda nn: nn.LPPool1d(2, 3, 2), [f32(2, 3, 9)]),
    ("LPPool2d", lambda nn: nn.LPPool2d(2, (3, 2), stride=(2, 1), ceil_mode=True), [f32(2, 3, 7, 6)]),
    ("LPPool3d", lambda nn: nn.LPPool3d(2, 2), [f32(2, 3, 5, 6, 4)]),
    ("AvgPool2d", lambda nn: nn.AvgPool2d(2), [f32(2, 3, 7, 6)]),
    ("AvgPool2d all", lambda nn: nn.AvgPool2d(3, 2, 1, True, False), [f32(2, 3, 7, 6)]),
    ("AvgPool2d divisor", lambda nn: nn.AvgPool2d(2, divisor_override=3), [f32(2, 3, 4, 4)]),
    ("AdaptiveAvgPool1d", lambda nn: nn.AdaptiveAvgPool1d(4), [f32(2, 3, 9)]),
    ("AdaptiveAvgPool2d", lambda nn: nn.AdaptiveAvgPool2d((3, None)), [f32(2, 3, 7, 6)]),
    ("AdaptiveAvgPool2d 1", lambda nn: nn.AdaptiveAvgPool2d(1), [f32(2, 3, 7, 6)]),
    ("AdaptiveAvgPool3d", lambda nn: nn.AdaptiveAvgPool3d((3, None, 2)), [f32(2, 3, 4, 5, 3)]),
    ("AdaptiveMaxPool1d", lambda nn: nn.AdaptiveMaxPool1d(4), [f32(2, 3, 9)]),
    ("AdaptiveMaxPool2d", lambda nn: nn.AdaptiveMaxPool2d((3, None)), [f32(2, 3, 7, 6)]),
    ("AdaptiveMaxPool3d", lambda nn: nn.AdaptiveMaxPool3d((3, None, 2)), [f32(2, 3, 4, 5, 3)]),
    ("Upsample", lambda nn: nn.Upsample(scale_factor=2), [f32(2, 3, 4)]),
    ("Upsample bilinear", lambda nn: nn.Upsample((5, 7), mode="bilinear", align_corners=True), [f32(2, 3, 4, 5)]),
    ("Upsample trilinear", lambda nn: nn.Upsample(None, (1.5, 2, 1.2), "trilinear"), [f32(2, 3, 4, 5, 3)]),
    ("UpsamplingNearest2d", lambda nn: nn.UpsamplingNearest2d(scale_factor=2), [f32(2, 3, 4, 5)]),
    ("UpsamplingBilinear2d", lambda nn: nn.UpsamplingBilinear2d(7), [f32(2, 3, 4, 5)]),
    ("BatchNorm1d", lambda nn: nn.BatchNorm1d(4), [f32(6, 4)]),
    ("BatchNorm1d 3d", lambda nn: nn.BatchNorm1d(4, eps=1e-3, affine=False), [f32(6, 4, 5)]),
    ("BatchNorm2d", lambda nn: nn.BatchNorm2d(3, momentum=0.3), [f32(2, 3, 4, 5)]),
    ("BatchNorm2d cumulative", lambda nn: nn.BatchNorm2d(3, momentum=None), [f32(2, 3, 4, 5)]),
    ("BatchNorm2d no bias", lambda nn: nn.BatchNorm2d(3, bias=False), [f32(2, 3, 4, 5)]),
    ("BatchNorm3d", lambda nn: nn.BatchNorm3d(3, track_running_stats=False), [f32(2, 3, 2, 4, 5)]),
    ("LayerNorm", lambda nn: nn.LayerNorm(5), [f32(2, 4, 5)]),
    ("LayerNorm 2d", lambda nn: nn.LayerNorm((4, 5), bias=False), [f32(2, 4, 5)]),
    ("LayerNorm plain", lambda nn: nn.LayerNorm([5], elementwise_affine=False), [f32(4, 5)]),
    ("Embedding", lambda nn: nn.Embedding(10, 4), [ints(10, 2, 3)]),
    ("Embedding padded", lambda nn: nn.Embedding(10, 4, padding_idx=-2), [ints(10, 5, 5)]),
    ("Dropout", lambda nn: nn.Dropout(0.3), [f32(30, 4)]),
    ("Dropout2d", lambda nn: nn.Dropout2d(0.3), [f32(3, 4, 2, 2)]),
    ("Unfold", lambda nn: nn.Unfold((2, 3), padding=1, stride=2), [f32(2, 3, 7, 6)]),
    ("Fold", lambda nn: nn.Fold((4, 3), 2), [f32(2, 8, 6)]),
    ("Flatten", lambda nn: nn.Flatten(), [f32(2, 3, 4)]),
    ("Unflatten", lambda nn: nn.Unflatten(1, (2, -1)), [f32(2, 6)]),
    ("ReLU", lambda nn: nn.ReLU(), [f32(4, 5)]),
    ("ReLU inplace", lambda nn: nn.ReLU(inplace=True), [f32(4, 5)]),
    ("ReLU6", lambda nn: nn.ReLU6(), [8 * f32(4, 5)]),
    ("GELU", lambda nn: nn.GELU(), [f32(4, 5)]),
    ("GELU tanh", lambda nn: nn.GELU("tanh"), [f32(4, 5)]),
    ("Sigmoid", lambda nn: nn.Sigmoid(), [f32(4, 5)]),
    ("LogSigmoid", lambda nn: nn.LogSigmoid(), [f32(4, 5)]),
    ("Tanh", lambda nn: nn.Tanh(), [f32(4, 5)]),
    ("Softplus", lambda nn: nn.Softplus(2, 1), [f32(4, 5)]),
    ("Softsign", lambda nn: nn.Softsign(), [f32(4, 5)]),
    ("Softmax", lambda nn: nn.Softmax(dim=1), [f32(4, 5)]),
    ("Softmin", lambda nn: nn.Softmin(dim=1), [f32(4, 5)]),
    ("LogSoftmax", lambda nn: nn.LogSoftmax(dim=-1), [f32(4, 5)]),
    ("SiLU", lambda nn: nn.SiLU(), [f32(4, 5)]),
    ("LeakyReLU", lambda nn: nn.LeakyReLU(0.2), [f32(4, 5)]),
    ("ELU", lambda nn: nn.ELU(0.7), [200 * f32(4, 5)]),
    ("Hardtanh", lambda nn: nn.Hardtanh(-0.5, 0.7), [np.array([-1, -0.5, 0, 0.7, 1], "float32")]),
    ("CrossEntropyLoss", lambda nn: nn.CrossEntropyLoss(), [f32(4, 5), ints(5, 4)]),
    ("CrossEntropyLoss sum", lambda nn: nn.CrossEntropyLoss(reduction="sum", ignore_index=1), [f32(4, 5), ints(5, 4)]),
    ("CrossEntropyLoss smooth", lambda nn: nn.CrossEntropyLoss(label_smoothing=0.1), [f32(4, 5, 2), ints(5, 4, 2)]),
    ("NLLLoss", lambda nn: nn.NLLLoss(reduction="none"), [f32(4, 5), ints(5, 4)]),
    ("MSELoss", lambda nn: nn.MSELoss(), [f32(4, 5), unit(4, 5)]),
    ("L1Loss", lambda nn: nn.L1Loss(reduction="sum"), [f32(4, 5), unit(4, 5)]),
    ("SmoothL1Loss", lambda nn: nn.SmoothL1Loss(beta=0.5), [f32(4, 5), unit(4, 5)]),
    ("HuberLoss", lambda nn: nn.HuberLoss(delta=0.5), [f32(4, 5), unit(4, 5)]),
    ("BCELoss", lambda nn: nn.BCELoss(), [unit(4, 5), unit(4, 5)]),
    ("BCEWithLogitsLoss", lambda nn: nn.BCEWithLogitsLoss(), [9 * f32(4, 5), unit(4, 5)]),
]


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_max_pool(n):
    """The same seed gives the same windows."""
    x = f32(2, 3, *[11] * n)
    results = []
    for package in (rl, torch):
        package.manual_seed(5)
        pool = getattr(package.nn.functional, f"fractional_max_pool{n}d")
        results.append(pool(package.from_numpy(x), 2, output_ratio=(0.7,) * n, return_indices=True))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("n", [1, 2, 3])
def test_max_unpool(n):
    x = f32(2, 3, *[5] * n)
    results = []
    for package in (rl, torch):
        pool = getattr(package.nn, f"MaxPool{n}d")(2, return_indices=True)
        unpool = getattr(package.nn, f"MaxUnpool{n}d")(2)
        y = unpool(*pool(package.from_numpy(x)), output_size=[5] * n)
        results.append((repr(unpool), y))
    assert results[0][0] == results[1][0]
    close(results[0][1], results[1][1], 0, 0)


def tensors(package, arrays):
    result = [package.from_numpy(a.copy()) for a in arrays]
    if result[0].is_floating_point():
        result[0].requires_grad_()
    return result


def close(ours, theirs, rtol=1.3e-6, atol=1e-5):
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=rtol, atol=atol)
    assert str(ours.dtype) == str(theirs.dtype)


def build_both(build):
    rl.manual_seed(3)
    ours = build(rl.nn)
    torch.manual_seed(3)
    return ours, build(torch.nn)


@pytest.mark.parametrize("name, build, inputs", LAYERS, ids=[row[0] for row in LAYERS])
def test_layer(name, build, inputs):
    ours, theirs = build_both(build)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    for a, b in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True):
        assert tuple(a.shape) == tuple(b.shape)
        close(a, b, 1e-6, 2e-6)
    for training in (True, True, False):
        ours.train(training)
        theirs.train(training)
        x, y = tensors(rl, inputs), tensors(torch, inputs)
        keep = "inplace" in name  # a leaf may not be overwritten
        rl.manual_seed(4)
        a = ours(*([x[0] * 1] if keep else x))
        torch.manual_seed(4)
        b = theirs(*([y[0] * 1] if keep else y))
        close(a, b)
        if a.requires_grad:
            (a * a).sum().backward()
            (b * b).sum().backward()
            if x[0].requires_grad:
                close(x[0].grad, y[0].grad, 1e-5, 1e-5)
            for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
                close(p.grad, q.grad, 1e-5, 2e-5)
        for p, q in zip(ours.buffers(), theirs.buffers(), strict=True):
            close(p, q)


def nested(nn):
    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.fc = nn.Linear(width, width)
            self.norms = nn.ModuleDict({"a": nn.LayerNorm(width), "b": nn.Identity()})
            self.scale = nn.Parameter(self.fc.weight.new_ones(1))
            self.register_buffer("seen", self.fc.weight.new_zeros(2, 1))
            self.register_buffer("scratch", None)
            self.register_buffer("hidden", self.fc.weight.new_zeros(3), persistent=False)

        def extra_repr(self):
            return "first\nsecond"

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
            self.blocks = nn.ModuleList([Block(4), Block(4), nn.Sequential(Block(4)), nn.ReLU(), nn.ReLU()])
            self.tied = self.blocks[0]
            self.params = nn.ParameterList([nn.Parameter(self.stem[0].weight.new_ones(2)), "text"])
            self.table = nn.ParameterDict({"k": nn.Parameter(self.stem[0].weight.new_ones(2, 3))})
            self.empty = nn.ModuleList()
            self.nothing = None

    return Model()


def test_tree():
    ours, theirs = build_both(nested)
    expected = repr(theirs).replace("torch.FloatTensor", "torch.float32")
    assert repr(ours) == expected
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert ours.state_dict()._metadata == theirs.state_dict()._metadata
    assert list(ours.state_dict(prefix="p.")) == list(theirs.state_dict(prefix="p."))
    for options in ({}, {"prefix": "m"}, {"recurse": False}, {"remove_duplicate": False}):
        for walk in ("named_parameters", "named_buffers"):
            assert [n for n, _ in getattr(ours, walk)(**options)] == [n for n, _ in getattr(theirs, walk)(**options)]
    for duplicates in (True, False):
        assert [n for n, _ in ours.named_modules(remove_duplicate=duplicates)] == [
            n for n, _ in theirs.named_modules(remove_duplicate=duplicates)
        ]
    assert [n for n, _ in ours.named_children()] == [n for n, _ in theirs.named_children()]


def test_exchange_of_state():
    ours, theirs = nested(rl.nn), nested(torch.nn)
    as_arrays = {k: v.numpy() for k, v in theirs.state_dict().items()}
    assert (
        str(ours.load_state_dict({k: rl.from_numpy(v) for k, v in as_arrays.items()}))
        == "<All keys matched successfully>"
    )
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        close(a, b, 0, 0)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.pop("stem.0.weight"),
        lambda s: s.update({"unknown.x": s["stem.0.bias"], "stem.0.extra": s["stem.0.bias"]}),
        lambda s: s.update({"stem.0.bias": s["stem.0.weight"]}),
        lambda s: s.update({"stem.0.bias": 3}),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_state_that_does_not_fit(change, strict):
    results = []
    for package in (rl, torch):
        model = nested(package.nn)
        state = model.state_dict()
        change(state)
        try:
            results.append(str(model.load_state_dict(state, strict=strict)).replace("_Inc", "Inc"))
        except Exception as error:
            keys = sorted({*state, *model.state_dict()})
            results.append((type(error).__name__, [key for key in keys if key in str(error)]))
    assert results[0] == results[1]


INITS = [
    ("uniform_", (5, 7), {}),
    ("uniform_", (5, 7), {"a": -2, "b": 3}),
    ("normal_", (5, 7), {"mean": 1, "std": 2}),
    ("normal_", (3,), {}),
    ("trunc_normal_", (5, 7), {}),
    ("trunc_normal_", (5, 7), {"mean": 0.5, "std": 2, "a": -2, "b": 1}),
    ("trunc_normal_", (5, 7), {"a": 1, "b": 2}),
    ("constant_", (5, 7), {"val": 3}),
    ("ones_", (5, 7), {}),
    ("zeros_", (5, 7), {}),
    ("eye_", (5, 7), {}),
    ("dirac_", (6, 2, 3, 4), {"groups": 3}),
    ("xavier_uniform_", (5, 7, 3), {"gain": 2}),
    ("xavier_normal_", (5, 7), {}),
    ("kaiming_uniform_", (5, 7), {"a": 2}),
    ("kaiming_uniform_", (5, 7, 2), {"mode": "fan_out", "nonlinearity": "relu"}),
    ("kaiming_normal_", (5, 7), {"nonlinearity": "tanh"}),
    ("sparse_", (5, 7), {"sparsity": 0.3}),
    ("orthogonal_", (5, 5), {}),
    ("orthogonal_", (3, 7), {"gain": 2}),
    ("orthogonal_", (7, 2, 2), {}),
    ("orthogonal_", (0, 2), {}),
]


@pytest.mark.parametrize("name, shape, options", INITS)
def test_init(name, shape, options):
    results = []
    for package in (rl, torch):
        package.manual_seed(5)
        t = package.empty(shape)
        result = getattr(package.nn.init, name)(t, **options)
        assert result is t
        results.append(t.numpy())
    exact = "normal" not in name and name not in ("sparse_", "orthogonal_")
    np.testing.assert_allclose(*results, rtol=0 if exact else 2e-6, atol=0 if exact else 5e-6)


@pytest.mark.parametrize(
    "name, args",
    [("linear", ()), ("conv2d", ()), ("sigmoid", ()), ("tanh", ()), ("relu", ()), ("leaky_relu", (0.3,)), ("selu", ())],
)
def test_gain(name, args):
    assert rl.nn.init.calculate_gain(name, *args) == torch.nn.init.calculate_gain(name, *args)


FUNCTIONS = [
    ("pad", [f32(2, 3)], ((1, 2, 0, -1),), {"value": 3.5}),
    ("pad", [f32(2, 3)], ((-1, 1),), {}),
    ("one_hot", [ints(4, 3, 2)], (), {}),
    ("one_hot", [ints(4, 3)], (6,), {}),
    ("normalize", [f32(3, 4)], (), {}),
    ("normalize", [np.zeros((2, 2), "float32")], (), {}),
    ("normalize", [f32(3, 4)], (), {"p": 3, "dim": 0}),
    ("normalize", [f32(3, 4)], (float("inf"),), {}),
    ("huber_loss", [f32(3, 4), unit(3, 4)], (), {"delta": 0.3, "reduction": "none"}),
    ("smooth_l1_loss", [f32(3, 4), unit(3, 4)], (), {"beta": 0}),
    ("mse_loss", [f32(3, 4), unit(3, 4)], (), {"reduction": "none"}),
    ("mse_loss", [f32(3, 4), unit(3, 4), unit(3, 4)], (None, None), {}),
    (
        "binary_cross_entropy",
        [np.array([0, 1, 0, 1, 1e-39, 0.5], "float32"), np.array([0, 1, 1, 0, 1, 1], "float32")],
        (),
        {},
    ),
    ("softmax", [f32(3, 4)], (), {"dim": 0, "dtype": "float64"}),
    ("dropout", [f32(3, 4)], (0.0,), {}),
    ("dropout", [f32(3, 4)], (1.0,), {}),
]


@pytest.mark.parametrize("name, arrays, args, options", FUNCTIONS, ids=[row[0] for row in FUNCTIONS])
def test_function(name, arrays, args, options):
    results = []
    for package in (rl, torch):
        given = {k: getattr(package, v) if k == "dtype" else v for k, v in options.items()}
        first, *rest = tensors(package, arrays)
        if name == "mse_loss" and len(rest) == 2:
            given["weight"] = rest.pop()
        y = getattr(package.nn.functional, name)(first, *rest, *args, **given)
        if y.requires_grad and name != "binary_cross_entropy":
            y.sum().backward()
            results.append((y, first.grad))
        else:
            results.append((y, None))
    (a, g), (b, h) = results
    close(a, b)
    if g is not None:
        close(g, h, 1e-5, 1e-5)


ERRORS = [
    lambda p: p.nn.Conv2d(3, 4, 3, groups=2),
    lambda p: p.nn.Conv2d(3, 4, 3, padding="same", stride=2),
    lambda p: p.nn.Conv2d(3, 4, 3, padding="full"),
    lambda p: p.nn.Conv2d(3, 4, 3, padding_mode="odd"),
    lambda p: p.nn.Dropout(1.5),
    lambda p: p.nn.functional.dropout(p.ones(2), -0.1),
    lambda p: p.nn.Embedding(3, 2, padding_idx=3),
    lambda p: p.nn.BatchNorm2d(3)(p.ones(2, 3)),
    lambda p: p.nn.BatchNorm1d(3)(p.ones(1, 3)),
    lambda p: p.nn.functional.one_hot(p.ones(2)),
    lambda p: p.nn.functional.one_hot(p.tensor([3]), 2),
    lambda p: p.nn.functional.one_hot(p.tensor([-1])),
    lambda p: p.nn.functional.cross_entropy(p.ones(2, 3), p.tensor([0, 1]), reduction="all"),
    lambda p: p.nn.functional.binary_cross_entropy(p.ones(2), p.ones(3)),
    lambda p: p.nn.functional.pad(p.ones(2), (1,)),
    lambda p: p.nn.init.calculate_gain("odd"),
    lambda p: p.nn.init.kaiming_uniform_(p.ones(2)),
    lambda p: p.nn.init.eye_(p.ones(2)),
    lambda p: p.nn.Linear(2, 2).to(p.int64),
    lambda p: p.nn.Linear(2, 2).absent,
    lambda p: setattr(p.nn.Linear(2, 2), "weight", 3),
    lambda p: setattr(p.nn.Linear(2, 2), "weight", p.ones(2)),
    lambda p: setattr(p.nn.Sequential(p.nn.ReLU()), "0", 3),
    lambda p: p.nn.Linear(2, 2).register_buffer("weight", None),
    lambda p: p.nn.Linear(2, 2).register_buffer("a.b", None),
    lambda p: p.nn.Linear(2, 2).register_buffer("a", 3),
    lambda p: p.nn.Linear(2, 2).register_parameter("a", p.ones(2)),
    lambda p: p.nn.Linear(2, 2).register_parameter("", None),
    lambda p: p.nn.Linear(2, 2).add_module("a", 3),
    lambda p: p.nn.Linear(2, 2).add_module("weight", p.nn.ReLU()),
    lambda p: p.nn.Linear(2, 2).train(3),
    lambda p: p.nn.Linear(2, 2).load_state_dict(3),
    lambda p: p.nn.Module()(),
    lambda p: p.nn.Sequential(p.nn.ReLU())[1],
    lambda p: p.nn.Sequential(3),
    lambda p: p.nn.ModuleList()[0],
    lambda p: p.nn.ModuleDict()["a"],
    lambda p: p.nn.ModuleList([p.nn.ReLU()])(p.ones(2)),
    lambda p: p.nn.Linear(2, 2).get_submodule("a.b"),
    lambda p: p.nn.Linear(2, 2).get_parameter("in_features"),
]


@pytest.mark.parametrize("provoke", ERRORS)
def test_error_types(provoke):
    kinds = []
    for package in (rl, torch):
        with pytest.raises(Exception) as caught:
            provoke(package)
        kinds.append(next(k for k in type(caught.value).__mro__ if getattr(builtins, k.__name__, None) is k))
    assert kinds[0] is kinds[1]


def grads(model):
    return [copy.copy(p.grad.numpy()) for p in model.parameters()]


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 0.5, 3, float("inf")])
@pytest.mark.parametrize("max_norm", [0.1, 100.0])
def test_clip_grad_norm(norm_type, max_norm):
    results = []
    for package in (rl, torch):
        model = package.nn.Sequential(package.nn.Linear(3, 4), package.nn.Linear(4, 2))
        for p in model.parameters():
            p.grad = package.from_numpy(f32(*p.shape) + 1)
        total = package.nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type)
        results.append((total.numpy(), grads(model)))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=2e-6)
    for a, b in zip(results[0][1], results[1][1], strict=True):
        np.testing.assert_allclose(a, b, rtol=3e-6)


def test_clip_grad_value():
    results = []
    for package in (rl, torch):
        model = package.nn.Linear(3, 4)
        for p in model.parameters():
            p.grad = package.from_numpy(f32(*p.shape))
        package.nn.utils.clip_grad_value_(model.parameters(), 0.3)
        results.append(grads(model))
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)


def test_backward_hooks():
    logs = []
    for package in (rl, torch):
        log = []
        model = package.nn.Sequential(package.nn.Linear(2, 2), package.nn.Tanh(), package.nn.Linear(2, 1))
        with package.no_grad():
            for p in model.parameters():
                p.fill_(0.5)
        show = lambda ts: [None if t is None else t.numpy().round(5).tolist() for t in ts]
        for i, layer in enumerate(model):
            layer.register_full_backward_pre_hook(lambda m, g, i=i, s=show, log=log: log.append(("pre", i, s(g))))
            layer.register_full_backward_hook(
                lambda m, gi, go, i=i, s=show, log=log: log.append(("full", i, s(gi), s(go)))
            )
        model[1].register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))
        for needs in (False, True):
            x = package.ones(3, 2, requires_grad=needs)
            model(x).sum().backward()
            log.append(("grad", show([p.grad for p in model.parameters()]), show([x.grad])))
        logs.append(log)
    assert logs[0] == logs[1]
