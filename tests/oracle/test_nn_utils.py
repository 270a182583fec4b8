"""nn.utils' parametrizations beside PyTorch's: values, gradients, state, random numbers, errors."""

import math
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.nn.utils.prune")
import rushlight as rl  # noqa: E402

FORMS = {
    "weight_norm": lambda u, m: u.parametrizations.weight_norm(m),
    "weight_norm 1": lambda u, m: u.parametrizations.weight_norm(m, dim=1),
    "weight_norm None": lambda u, m: u.parametrizations.weight_norm(m, dim=None),
    "weight_norm bias": lambda u, m: u.parametrizations.weight_norm(m, "bias"),
    "old weight_norm": lambda u, m: u.weight_norm(m),
    "old weight_norm -1": lambda u, m: u.weight_norm(m, dim=-1),
    "spectral_norm": lambda u, m: u.parametrizations.spectral_norm(m),
    "spectral_norm 1": lambda u, m: u.parametrizations.spectral_norm(m, n_power_iterations=3, dim=1),
    "spectral_norm bias": lambda u, m: u.parametrizations.spectral_norm(m, "bias"),
    "old spectral_norm": lambda u, m: u.spectral_norm(m),
    "old spectral_norm 1": lambda u, m: u.spectral_norm(m, n_power_iterations=3, dim=1),
}
LAYERS = {
    "linear": (lambda p: p.nn.Linear(5, 4), (3, 5)),
    "conv": (lambda p: p.nn.Conv2d(3, 4, 3), (2, 3, 6, 6)),
}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("form", FORMS)
def test_training(form, layer):
    make, shape = LAYERS[layer]
    results = []
    for package in (rl, torch):
        package.manual_seed(0)
        module = FORMS[form](package.nn.utils, make(package))
        names = list(module.state_dict())
        optimizer = package.optim.SGD(module.parameters(), lr=0.05)
        outputs = []
        for step in range(5):
            x = package.tensor(np.random.default_rng(step).standard_normal(shape), dtype=package.float32)
            optimizer.zero_grad()
            y = module(x)
            (y**2).mean().backward()
            optimizer.step()
            outputs.append(y.detach().numpy())
        module.eval()
        outputs.append(module(x).detach().numpy())
        outputs += [v.numpy() for v in module.state_dict().values()]
        results.append((names, [n for n, _ in module.named_parameters()], outputs))
    assert results[0][:2] == results[1][:2]
    for ours, theirs in zip(results[0][2], results[1][2], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("to, since", [(rl, torch), (torch, rl)], ids=["from_pytorch", "to_pytorch"])
@pytest.mark.parametrize("form", FORMS)
def test_state_is_exchanged(form, to, since):
    a, b = (FORMS[form](package.nn.utils, package.nn.Linear(5, 4)).eval() for package in (since, to))
    b.load_state_dict({k: to.from_numpy(v.numpy().copy()) for k, v in a.state_dict().items()})
    x = np.ones((1, 5), "float32")
    np.testing.assert_allclose(
        b(to.from_numpy(x)).detach().numpy(), a(since.from_numpy(x)).detach().numpy(), rtol=1e-5, atol=1e-6
    )


def wrong(package, forward=lambda x: x, inverse=lambda x: x):
    class Wrong(package.nn.Module):
        def forward(self, x):
            return forward(x)

        def right_inverse(self, x):
            return inverse(x)

    return Wrong()


def register(package, module, *args, **options):
    return package.nn.utils.parametrize.register_parametrization(module, "weight", wrong(package, *args, **options))


ERRORS = [
    lambda p, m: p.nn.utils.parametrize.register_parametrization(m, "weigh", wrong(p)),
    lambda p, m: register(p, m, lambda x: x[:1]),
    lambda p, m: register(p, m, lambda x: x.double()),
    lambda p, m: register(p, m, lambda x: 3),
    lambda p, m: register(p, m, inverse=lambda x: 3),
    lambda p, m: register(p, m, inverse=lambda x: x.double()),
    lambda p, m: register(p, register(p, m), lambda x: x[:1]),
    lambda p, m: register(p, register(p, m), lambda x: 3),
    lambda p, m: register(p, register(p, m), inverse=lambda x: x[0]),
    lambda p, m: setattr(register(p, m), "weight", p.nn.Parameter(p.ones(2, 3))),
    lambda p, m: setattr(register(p, m), "weight", p.ones(2, 3).double()),
    lambda p, m: p.nn.utils.parametrize.remove_parametrizations(m, "weight"),
    lambda p, m: p.nn.utils.parametrizations.weight_norm(m, dim=5),
    lambda p, m: p.nn.utils.parametrizations.spectral_norm(m, "x"),
    lambda p, m: p.nn.utils.parametrizations.spectral_norm(m, dim=5),
    lambda p, m: p.nn.utils.parametrizations.spectral_norm(m, n_power_iterations=0),
    lambda p, m: p.nn.utils.weight_norm(p.nn.utils.weight_norm(m)),
    lambda p, m: p.nn.utils.spectral_norm(p.nn.utils.spectral_norm(m)),
    lambda p, m: p.nn.utils.spectral_norm(m, "x"),
    lambda p, m: p.nn.utils.spectral_norm(m, n_power_iterations=0),
    lambda p, m: p.nn.utils.remove_weight_norm(m),
    lambda p, m: p.nn.utils.remove_spectral_norm(m),
    lambda p, m: p.nn.utils.skip_init(p.nn.Identity),
    lambda p, m: p.nn.utils.skip_init(3),
    lambda p, m: p.nn.utils.skip_init(int),
    lambda p, m: p.nn.utils.stateless.functional_call(m, {"weight": 3}, p.ones(3)),
    lambda p, m: p.nn.utils.stateless.functional_call(m, {"w": p.ones(2, 3)}, p.ones(3), strict=True),
    lambda p, m: p.nn.utils.stateless.functional_call(m, {}),
    lambda p, m: p.func.functional_call(m, 3, p.ones(3)),
    lambda p, m: p.func.functional_call(m, ({"bias": p.ones(2)}, {"bias": p.ones(2)}), p.ones(3)),
    lambda p, m: p.nn.utils.fuse_linear_bn_eval(m, p.nn.BatchNorm1d(2)),
]


@pytest.mark.parametrize("provoke", ERRORS)
def test_error_types(provoke):
    kinds = []
    for package in (rl, torch):
        with pytest.raises(Exception) as caught:
            provoke(package, package.nn.Linear(3, 2))
        kinds.append(type(caught.value))
    assert kinds[0] is kinds[1]


def prunings(p):
    """A few in a row, each on top of those before."""
    return [
        lambda m: p.random_unstructured(m, "weight", 3),
        lambda m: p.random_structured(m, "weight", 1, 0),
        lambda m: p.l1_unstructured(m, "weight", 0.2),
        lambda m: p.ln_structured(m, "weight", 0.3, 2, -1),
        lambda m: p.random_structured(m, "weight", 0.5, 1),
        lambda m: p.global_unstructured([(m, "weight"), (m, "bias")], p.RandomUnstructured, amount=0.25),
        lambda m: p.identity(m, "bias"),
        lambda m: p.remove(m, "weight"),
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("layer", LAYERS)
def test_pruning(layer, seed):
    make, shape = LAYERS[layer]
    results = []
    for package in (rl, torch):
        package.manual_seed(seed)
        module = make(package)
        states = []
        for apply in prunings(package.nn.utils.prune):
            apply(module)
            states.append({k: v.numpy().copy() for k, v in module.state_dict().items()})
            states[-1]["y"] = module(package.ones(shape)).detach().numpy()
        results.append(states)
    for ours, theirs in zip(*results, strict=True):
        assert list(ours) == list(theirs)
        for key, value in theirs.items():
            np.testing.assert_allclose(ours[key], value, rtol=1e-5, atol=1e-6, err_msg=key)


@pytest.mark.parametrize("kind", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("based", [True, False])
def test_orthogonal(kind, shape, based):
    results = []
    for lib in (torch, rl):
        lib.manual_seed(0)
        module = lib.nn.Module()
        module.weight = lib.nn.Parameter(lib.randn(*shape, dtype=lib.float64))
        lib.nn.utils.parametrizations.orthogonal(module, "weight", kind, use_trivialization=based)
        free = module.parametrizations.weight.original
        seen = [module.weight.detach().numpy().copy()]
        with lib.no_grad():
            step = lib.linspace(-0.3, 0.3, math.prod(shape), dtype=lib.float64).reshape(shape)
            free.add_(step.tril(-1) if shape[-2] >= shape[-1] else step.triu(1))
        (module.weight**3).sum().backward()
        seen += [module.weight.detach().numpy().copy(), free.grad.numpy().copy()]
        try:
            module.weight = module.weight.detach().clone()
        except NotImplementedError:
            seen.append(np.zeros(0))
        else:
            seen.append(module.weight.detach().numpy().copy())
        results.append((sorted(module.state_dict()), seen))
    assert results[0][0] == results[1][0]
    for want, got in zip(results[0][1], results[1][1], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
