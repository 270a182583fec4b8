"""Parametrizations, weight and spectral normalization, and calling modules with other parameters."""

import copy
import pickle

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.nn.utils import norm_hooks, parametrizations, parametrize, stateless


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T

    def right_inverse(self, x):
        return x.triu()


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(rl.tensor(2.0))

    def forward(self, x):
        return x * self.factor


class OuterProduct(nn.Module):
    def forward(self, column, row):
        return column @ row

    def right_inverse(self, w):
        return w[:, :1], w[:1] / w[0, 0]


def symmetric():
    return parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())


def test_a_parameter_is_computed():
    layer = nn.Linear(3, 3)
    weight, upper = layer.weight, layer.weight.detach().triu()
    assert parametrize.register_parametrization(layer, "weight", Symmetric()) is layer
    assert layer.parametrizations.weight.original is weight  # what an optimizer has stays what is trained
    assert rl.equal(weight.detach(), upper) and rl.equal(layer.weight, layer.weight.T)
    assert isinstance(layer, nn.Linear) and type(layer).__name__ == "ParametrizedLinear"
    assert [n for n, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    x = rl.randn(2, 3)
    assert rl.equal(layer(x), nn.functional.linear(x, layer.weight, layer.bias))
    layer(x).sum().backward()
    assert weight.grad is not None
    with rl.no_grad():
        weight.mul_(2)
    assert rl.equal(layer.weight.triu(), 2 * upper)


def test_assignment_goes_to_the_original():
    layer = symmetric()
    layer.weight = rl.eye(3) * 4
    assert rl.equal(layer.weight, rl.eye(3) * 4)
    with pytest.raises(ValueError, match="must keep the dtype"):
        layer.weight = rl.eye(3, dtype=rl.float64)
    parametrize.register_parametrization(layer, "weight", Scaled())
    assert rl.equal(layer.weight, rl.eye(3) * 8)
    with pytest.raises(RuntimeError, match="Scaled.*\n  hint: Scaled.right_inverse"):
        layer.weight = rl.eye(3)


def test_several_originals():
    layer = nn.Linear(3, 2)
    parametrize.register_parametrization(layer, "weight", OuterProduct())
    parts = layer.parametrizations.weight
    assert parts.ntensors == 2 and not parts.is_tensor
    assert parts.original0.shape == (2, 1) and parts.original1.shape == (1, 3)
    assert all(isinstance(p, nn.Parameter) for p in parts.parameters())
    layer.weight = rl.ones(2, 3) * 3
    np.testing.assert_allclose(layer.weight.tolist(), 3)
    with pytest.raises(ValueError, match="2 tensors.*\n  hint"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    parametrize.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad and type(layer) is nn.Linear


@pytest.mark.parametrize("leave", [True, False])
def test_removal(leave):
    layer = symmetric()
    parametrize.register_parametrization(layer, "bias", Scaled())
    original, value = layer.parametrizations.weight.original, layer.weight.detach().clone()
    expected = value if leave else value.triu()
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=leave)
    assert layer.weight is original and rl.equal(layer.weight.detach(), expected)
    assert parametrize.is_parametrized(layer) and not parametrize.is_parametrized(layer, "weight")
    parametrize.remove_parametrizations(layer, "bias")
    assert type(layer) is nn.Linear and not hasattr(layer, "parametrizations")
    with pytest.raises(ValueError, match="'weight' of Linear is not parametrized"):
        parametrize.remove_parametrizations(layer, "weight")


def test_buffers():
    layer = nn.Module()
    layer.register_buffer("table", rl.tensor([[1.0, 2.0], [3.0, 4.0]]))
    parametrize.register_parametrization(layer, "table", Symmetric())
    assert layer.table.tolist() == [[1, 2], [2, 4]] and not list(layer.parameters())
    parametrize.remove_parametrizations(layer, "table")
    assert dict(layer.named_buffers())["table"].tolist() == [[1, 2], [2, 4]]


def test_state_dict_and_copies():
    layer, other = symmetric(), symmetric()
    other.load_state_dict(layer.state_dict())
    assert rl.equal(other.weight, layer.weight)
    twin = copy.deepcopy(layer)
    assert rl.equal(twin.weight, layer.weight)
    assert twin.parametrizations.weight.original is not layer.parametrizations.weight.original
    parametrize.remove_parametrizations(twin, "weight")
    assert type(twin) is nn.Linear and parametrize.is_parametrized(layer, "weight")
    assert rl.equal(layer.weight, layer.weight.T)
    with pytest.raises(RuntimeError, match="\n  hint: save module.state_dict"):
        pickle.dumps(layer)
    assert parametrize.type_before_parametrizations(layer) is nn.Linear


def test_cache():
    layer = symmetric()
    assert layer.weight is not layer.weight
    with parametrize.cached():
        first = layer.weight
        with parametrize.cached():
            assert layer.weight is first
        assert layer.weight is first
    assert layer.weight is not first
    assert not parametrize._cache


def test_transfer():
    layer, other = symmetric(), nn.Linear(3, 3)
    assert parametrize.transfer_parametrizations_and_params(layer, other) is other
    assert rl.equal(other.weight, layer.weight) and parametrize.is_parametrized(other, "weight")
    assert other.parametrizations.weight.original is not layer.parametrizations.weight.original


class Wrong(nn.Module):
    def __init__(self, forward=lambda x: x, inverse=lambda x: x):
        super().__init__()
        self.f, self.right_inverse = forward, inverse

    def forward(self, x):
        return self.f(x)


@pytest.mark.parametrize("make", [lambda: nn.Linear(3, 3), symmetric])
@pytest.mark.parametrize(
    "wrong, match",
    [
        (lambda: Wrong(lambda x: x[:1]), "forward must keep the shape.*\n  hint: .*unsafe=True"),
        (lambda: Wrong(lambda x: x.double()), "forward must keep the dtype.*\n  hint: .*unsafe=True"),
        (lambda: Wrong(lambda x: 3), "must return a Tensor, but returned int"),
        (lambda: Wrong(inverse=lambda x: 3), "right_inverse must return a Tensor.* but returned int"),
        (lambda: Wrong(inverse=lambda x: x.double()), "right_inverse must keep the dtype"),
    ],
)
def test_wrong_parametrizations(make, wrong, match):
    layer = make()
    before = layer.weight.detach().clone()
    with pytest.raises(ValueError, match=match):
        parametrize.register_parametrization(layer, "weight", wrong())
    assert rl.equal(layer.weight.detach(), before)
    with pytest.raises(ValueError, match="named 'weigh'"):
        parametrize.register_parametrization(layer, "weigh", Symmetric())


def lengths(w, dim):
    return np.sqrt((w**2).sum(tuple(d for d in range(w.ndim) if d != dim % w.ndim), keepdims=True))


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("form", [parametrizations.weight_norm, nn.utils.weight_norm])
@pytest.mark.parametrize("dim", [0, 1, -2, None])
def test_weight_norm(form, dim):
    layer = nn.Conv2d(2, 3, 3)
    weight = layer.weight.detach().numpy().copy()
    form(layer, dim=dim)
    np.testing.assert_allclose(layer.weight.detach().numpy(), weight, rtol=1e-5, atol=1e-7)
    g, v = [p for n, p in layer.named_parameters() if n != "bias"]
    expected = np.sqrt((weight**2).sum()) if dim is None else lengths(weight, dim)
    np.testing.assert_allclose(g.detach().numpy(), expected, rtol=1e-5)
    with rl.no_grad():
        g.mul_(2)
        v.mul_(3)
    y = layer(rl.ones(1, 2, 4, 4))
    np.testing.assert_allclose(layer.weight.detach().numpy(), 2 * weight, rtol=1e-5, atol=1e-7)
    y.sum().backward()
    assert g.grad is not None and v.grad is not None
    other = parametrizations.weight_norm(nn.Conv2d(2, 3, 3), dim=dim)
    other.load_state_dict(layer.state_dict())  # of either form
    assert rl.equal(other.weight, layer.weight)


@pytest.mark.parametrize("form", [parametrizations.spectral_norm, nn.utils.spectral_norm])
def test_spectral_norm(form):
    rl.manual_seed(0)
    layer = nn.Conv2d(2, 3, 3)
    weight = layer.weight.detach().numpy().reshape(3, -1).copy()
    form(layer, n_power_iterations=30)
    x = rl.randn(1, 2, 4, 4)
    layer(x)
    layer(x).sum().backward()
    np.testing.assert_allclose(
        layer.weight.detach().numpy().reshape(3, -1), weight / np.linalg.svd(weight)[1][0], rtol=1e-4, atol=1e-6
    )
    layer.eval()
    before = [b.clone() for b in layer.buffers()]
    layer(x)
    assert all(rl.equal(a, b) for a, b in zip(before, layer.buffers(), strict=True))


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    "put, take",
    [(nn.utils.weight_norm, nn.utils.remove_weight_norm), (nn.utils.spectral_norm, nn.utils.remove_spectral_norm)],
)
def test_hooks_come_and_go(put, take):
    layer = put(nn.Linear(3, 2))
    with pytest.raises(RuntimeError, match="'weight' of Linear has a .*_norm already"):
        put(layer)
    y = layer.eval()(rl.ones(3))
    assert take(layer) is layer and sorted(layer.state_dict()) == ["bias", "weight"]
    assert isinstance(layer.weight, nn.Parameter) and not layer._forward_pre_hooks
    np.testing.assert_allclose(layer(rl.ones(3)).tolist(), y.tolist(), rtol=1e-6)
    with pytest.raises(ValueError, match="'weight' of Linear has no .*_norm"):
        take(layer)
    with pytest.raises(ValueError, match="above 0"):
        norm_hooks.SpectralNorm("weight", 0, 0, 1e-12)


@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("based", [True, False])
def test_orthogonal(kind, shape, based):
    """The weight stays orthogonal under a step of the optimizer, and gradcheck agrees with how."""
    rl.manual_seed(0)
    module = nn.Module()
    module.weight = nn.Parameter(rl.randn(shape, dtype=rl.float64))
    parametrizations.orthogonal(module, "weight", kind, use_trivialization=based)
    free = module.parametrizations.weight.original
    for _ in range(2):
        w = module.weight
        product = w @ w.mT if shape[-2] < shape[-1] else w.mT @ w
        assert rl.allclose(product, rl.eye(min(shape[-2:]), dtype=rl.float64).expand_as(product))
        (w**3).sum().backward()
        with rl.no_grad():
            free -= 0.1 * free.grad
    if kind != "householder":  # whose signs on the diagonal have no derivative
        assert rl.autograd.gradcheck(module.parametrizations.weight[0], (free.detach().requires_grad_(),))
    if based or kind == "householder":
        given = w.detach().flip(-1)
        module.weight = given
        assert rl.allclose(module.weight, given)
    else:
        with pytest.raises(NotImplementedError, match=f"{kind} cannot be assigned.*\n  hint"):
            module.weight = w.detach()
    with pytest.raises(ValueError, match="has shape"):
        module.weight = rl.zeros(9, 9)


def test_orthogonal_refuses():
    with pytest.raises(ValueError, match="no parameter or buffer named 'w'"):
        parametrizations.orthogonal(nn.Linear(2, 2), "w")
    with pytest.raises(ValueError, match=r"'bias' has shape \(2,\)"):
        parametrizations.orthogonal(nn.Linear(2, 2), "bias")
    with pytest.raises(ValueError, match="got 'odd'"):
        parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="odd")


def test_functional_call():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)).eval()
    own = dict(net.named_parameters())
    new = {n: rl.randn_like(p).requires_grad_() for n, p in own.items()}
    x = rl.randn(4, 2)
    y = stateless.functional_call(net, {**new, "1.running_mean": rl.ones(3)}, (x,))
    twin = copy.deepcopy(net)
    twin.load_state_dict({**{n: p.detach() for n, p in new.items()}, "1.running_mean": rl.ones(3)}, strict=False)
    np.testing.assert_allclose(y.tolist(), twin(x).tolist(), rtol=1e-5, atol=1e-6)
    assert dict(net.named_parameters()) == own and net[1].running_mean.tolist() == [0, 0, 0]
    y.sum().backward()
    assert all(p.grad is not None for p in new.values()) and all(p.grad is None for p in own.values())
    # Second derivatives, as meta-learning takes them.
    layer, w = nn.Linear(1, 1, bias=False), rl.tensor([[2.0]], requires_grad=True)
    loss = stateless.functional_call(layer, {"weight": w}, rl.ones(1)).pow(2).sum()
    (g,) = rl.autograd.grad(loss, w, create_graph=True)
    loss = stateless.functional_call(layer, {"weight": w - 0.1 * g}, rl.ones(1)).pow(2).sum()
    loss.backward()
    np.testing.assert_allclose(w.grad.item(), 2 * 2.0 * (1 - 0.2) ** 2, rtol=1e-6)


def test_functional_call_of_tied_weights():
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    net[1].weight = net[0].weight
    x, w = rl.ones(2), rl.eye(2) * 3
    assert stateless.functional_call(net, {"0.weight": w}, x).tolist() == [9, 9]
    assert stateless.functional_call(net, {"1.weight": w}, x).tolist() == [9, 9]
    half = stateless.functional_call(net, {"1.weight": w}, x, tie_weights=False)
    assert rl.equal(half, 3 * net[0](x))
    with pytest.raises(ValueError, match="same parameter.*\n  hint"):
        stateless.functional_call(net, {"0.weight": w, "1.weight": w + 1}, x)


def test_functional_call_leaves_the_module_as_it_was_when_it_raises():
    layer = nn.Linear(2, 2)
    weight = layer.weight
    with pytest.raises(RuntimeError):
        stateless.functional_call(layer, {"weight": rl.ones(2, 2)}, rl.ones(3))
    assert layer.weight is weight
    with pytest.raises(TypeError, match="'weight' is int"):
        stateless.functional_call(layer, {"weight": 3}, rl.ones(2))
    with pytest.raises(RuntimeError, match="unknown \\['w'\\], missing \\['bias', 'weight'\\]"):
        stateless.functional_call(layer, {"w": rl.ones(2, 2)}, rl.ones(2), strict=True)
    assert stateless.functional_call(layer, {}, None, {"input": rl.ones(2)}).shape == (2,)


def test_functional_call_of_several_dicts():
    layer = nn.Linear(2, 1)
    weight, bias = rl.tensor([[2.0, 3.0]]), rl.tensor([1.0])
    assert rl.func.functional_call(layer, [{"weight": weight}, {"bias": bias}], rl.ones(2)).tolist() == [6]
    assert rl.func.functional_call(layer, {"weight": weight, "bias": bias}, (rl.ones(2),), strict=True).tolist() == [6]
    with pytest.raises(ValueError, match="weight in more than one dict"):
        rl.func.functional_call(layer, ({"weight": weight}, {"weight": weight}), rl.ones(2))
    with pytest.raises(ValueError, match="not int"):
        rl.func.functional_call(layer, 3, rl.ones(2))
    with pytest.raises(AttributeError, match="vmap.*\n  hint: docs/differences.md"):
        rl.func.vmap  # noqa: B018


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_fusion(bias, affine):
    rl.manual_seed(0)
    for layer, bn, x, fuse in (
        (
            nn.Conv2d(2, 3, 3, bias=bias),
            nn.BatchNorm2d(3, affine=affine),
            rl.randn(2, 2, 5, 5),
            nn.utils.fuse_conv_bn_eval,
        ),
        (nn.Linear(2, 3, bias=bias), nn.BatchNorm1d(3, affine=affine), rl.randn(4, 2), nn.utils.fuse_linear_bn_eval),
    ):
        bn(layer(x))
        if affine:
            nn.init.normal_(bn.weight), nn.init.normal_(bn.bias)
        with pytest.raises(AssertionError, match="\n  hint: call eval"):
            fuse(layer, bn)
        fused = fuse(layer.eval(), bn.eval())
        assert fused is not layer and type(fused) is type(layer)
        np.testing.assert_allclose(fused(x).tolist(), bn(layer(x)).tolist(), rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError, match="hint: track_running_stats=True"):
        nn.utils.fuse_linear_bn_eval(nn.Linear(2, 3).eval(), nn.BatchNorm1d(3, track_running_stats=False).eval())


def test_skip_init():
    layer = nn.utils.skip_init(nn.Linear, 3, out_features=2, dtype=rl.float64)
    assert layer.weight.shape == (2, 3) and layer.weight.device.type == "cpu" and layer.weight.dtype == rl.float64
    with pytest.raises(RuntimeError, match="Identity takes no argument 'device'\n  hint"):
        nn.utils.skip_init(nn.Identity)
    with pytest.raises(TypeError, match="got 3"):
        nn.utils.skip_init(3)


def test_memory_format():
    net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.Linear(2, 2))
    weight = net[0].weight
    assert nn.utils.convert_conv2d_weight_memory_format(net, rl.channels_last) is net
    assert net[0].weight is weight and weight.stride() == (18, 1, 6, 2)
    nn.utils.convert_conv2d_weight_memory_format(net, rl.contiguous_format)
    assert weight.is_contiguous()
