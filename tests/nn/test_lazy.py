"""Lazy modules: shapes from the first input, or from a state_dict."""

import copy
import pickle

import pytest

import rushlight as rl
from rushlight import nn

LAYERS = [
    (lambda: nn.LazyLinear(3), nn.Linear(5, 3), (2, 5)),
    (lambda: nn.LazyLinear(3, bias=False), nn.Linear(5, 3, bias=False), (5,)),
    (lambda: nn.LazyConv2d(4, 3, padding=1, groups=2), nn.Conv2d(6, 4, 3, padding=1, groups=2), (2, 6, 5, 5)),
    (lambda: nn.LazyConv1d(4, 3), nn.Conv1d(6, 4, 3), (2, 6, 5)),
    (lambda: nn.LazyConv3d(2, 2, bias=False), nn.Conv3d(3, 2, 2, bias=False), (1, 3, 3, 3, 3)),
    (lambda: nn.LazyConvTranspose1d(4, 3), nn.ConvTranspose1d(6, 4, 3), (6, 5)),
    (lambda: nn.LazyConvTranspose2d(4, 3, 2, groups=2), nn.ConvTranspose2d(6, 4, 3, 2, groups=2), (2, 6, 5, 5)),
    (lambda: nn.LazyConvTranspose3d(2, 2), nn.ConvTranspose3d(3, 2, 2), (1, 3, 3, 3, 3)),
    (lambda: nn.LazyConv2d(4, 3), nn.Conv2d(6, 4, 3), (6, 5, 5)),
    (lambda: nn.LazyBatchNorm1d(), nn.BatchNorm1d(5), (3, 5)),
    (lambda: nn.LazyBatchNorm2d(affine=False), nn.BatchNorm2d(5, affine=False), (3, 5, 2, 2)),
    (lambda: nn.LazyBatchNorm3d(bias=False), nn.BatchNorm3d(5, bias=False), (3, 5, 2, 2, 2)),
    (lambda: nn.LazyInstanceNorm1d(), nn.InstanceNorm1d(5, affine=True, track_running_stats=True), (5, 4)),
    (lambda: nn.LazyInstanceNorm2d(affine=False, track_running_stats=False), nn.InstanceNorm2d(5), (3, 5, 2, 2)),
    (lambda: nn.LazyInstanceNorm3d(track_running_stats=False), nn.InstanceNorm3d(5, affine=True), (3, 5, 2, 2, 2)),
]


@pytest.mark.parametrize("build, plain, shape", LAYERS, ids=lambda v: type(v).__name__)
def test_becomes_the_plain_layer(build, plain, shape):
    x = rl.randn(shape)
    for made in (build(), copy.deepcopy(build()), pickle.loads(pickle.dumps(build())), build().to(rl.float32)):
        rl.manual_seed(1)
        y = made(x)
        assert type(made) is type(plain) and repr(made) == repr(plain)
        rl.manual_seed(1)
        fresh = copy.deepcopy(plain)
        fresh.reset_parameters()
        assert rl.equal(y, fresh(x)) and y.shape == made(x).shape
        assert all(type(p) is nn.Parameter for p in made.parameters()) and not made._forward_pre_hooks
        assert {k: v.shape for k, v in made.state_dict().items()} == {k: v.shape for k, v in plain.state_dict().items()}


@pytest.mark.parametrize("build, plain, shape", LAYERS, ids=lambda v: type(v).__name__)
def test_shapes_from_a_state_dict(build, plain, shape):
    x = rl.randn(shape)
    lazy = build()
    lazy.load_state_dict(plain.state_dict())
    assert not lazy.has_uninitialized_params()
    assert rl.equal(lazy.eval()(x), copy.deepcopy(plain).eval()(x)) and repr(lazy) == repr(plain)


def test_in_a_model():
    model = nn.Sequential(nn.LazyConv2d(3, 2), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(2))
    model(rl.ones(2, 3, 4, 4))
    assert [type(m).__name__ for m in model] == ["Conv2d", "BatchNorm2d", "ReLU", "Flatten", "Linear"]
    model(rl.ones(2, 3, 4, 4)).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_before_it_has_a_shape():
    layer = nn.LazyLinear(3)
    assert nn.parameter.is_lazy(layer.weight) and isinstance(layer.weight, nn.Parameter)
    assert repr(layer.weight) == "<UninitializedParameter>" and list(layer.state_dict()) == ["weight", "bias"]
    with pytest.raises(RuntimeError, match="no shape yet\n  hint: run the module"):
        layer.weight.shape  # noqa: B018
    for use in (lambda p: p + 1, lambda p: p.sum(), lambda p: p.numel(), lambda p: nn.init.zeros_(p)):
        with pytest.raises(ValueError, match="no elements yet\n  hint: run the module"):
            use(layer.weight)
    assert layer.to(rl.float64).weight.dtype == rl.float64 and layer.to("meta").bias.is_meta
    assert str(nn.LazyLinear(3).load_state_dict(layer.state_dict())) == "<All keys matched successfully>"
    with pytest.raises(RuntimeError, match="lazy module"):
        nn.Linear(2, 3).load_state_dict(layer.state_dict())


def test_errors():
    with pytest.raises(RuntimeError, match="3D .* or 4D"):
        nn.LazyConv2d(3, 2)(rl.ones(2, 3))
    with pytest.raises(ValueError, match="divisible by groups: 3 by 2"):
        nn.LazyConv2d(4, 2, groups=2)(rl.ones(2, 3, 4, 4))
    with pytest.raises(ValueError, match="2D or 3D"):
        nn.LazyBatchNorm1d()(rl.ones(3))


def test_own_module():
    class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self, fill=True):
            super().__init__()
            self.fill = fill
            self.weight = nn.UninitializedParameter()
            self.register_buffer("seen", nn.UninitializedBuffer())

        def initialize_parameters(self, x):
            self.weight.materialize(x.shape)
            if self.fill:
                self.seen.materialize(x.shape)
                nn.init.ones_(self.weight)

        def forward(self, x):
            return x * self.weight

    layer = Scale()
    assert layer(rl.ones(3)).tolist() == [1, 1, 1] and layer(rl.ones(3)).shape == (3,)
    assert type(layer) is Scale and type(layer.seen) is rl.Tensor and list(layer.buffers())[0] is layer.seen
    with pytest.raises(RuntimeError, match="without a shape"):
        Scale(fill=False)(rl.ones(3))
