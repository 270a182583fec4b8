"""Distributions against PyTorch's: values, shapes, gradients, samples of the same seed."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import rushlight as rl  # noqa: E402

A = np.random.default_rng(0).uniform(0.2, 2.5, (3, 4)).astype("float32")
B = np.random.default_rng(1).uniform(0.2, 2.5, (3, 4)).astype("float32")
P = np.random.default_rng(2).uniform(0.1, 0.9, (3, 4)).astype("float32")


def of(lib, array):
    return lib.from_numpy(array.copy())


# name, how to make one with a library's tensors, values to ask the log_prob of
MADE = {
    "Normal": (lambda t, a, b, p: t.distributions.Normal(a, b), B - 1),
    "Normal of numbers": (lambda t, a, b, p: t.distributions.Normal(1, 2.5), B - 1),
    "Normal mixed": (lambda t, a, b, p: t.distributions.Normal(a, 0.5), B - 1),
    "Normal broadcast": (lambda t, a, b, p: t.distributions.Normal(a[:, :1], b[0]), B - 1),
    "Normal double": (lambda t, a, b, p: t.distributions.Normal(a.double(), b.double()), B - 1),
    "Bernoulli": (lambda t, a, b, p: t.distributions.Bernoulli(p), P.round()),
    "Bernoulli logits": (lambda t, a, b, p: t.distributions.Bernoulli(logits=a - b), P.round()),
    "Bernoulli number": (lambda t, a, b, p: t.distributions.Bernoulli(0.3), P.round()),
    "Bernoulli edges": (lambda t, a, b, p: t.distributions.Bernoulli(t.tensor([0.0, 0.5, 1.0])), P.round()[:, :3]),
    "Categorical": (lambda t, a, b, p: t.distributions.Categorical(a), np.array([0, 3, 2])),
    "Categorical logits": (lambda t, a, b, p: t.distributions.Categorical(logits=a - b), np.array([[0, 3, 2]] * 2)),
    "Categorical one": (lambda t, a, b, p: t.distributions.Categorical(a[0]), np.array([3.0, 1.0])),
    "Categorical zero": (lambda t, a, b, p: t.distributions.Categorical(t.tensor([0.0, 2.0, 1.0])), np.array([1, 2])),
    "OneHotCategorical": (lambda t, a, b, p: t.distributions.OneHotCategorical(p), np.eye(4, dtype="float32")[:3]),
    "Straight through": (
        lambda t, a, b, p: t.distributions.OneHotCategoricalStraightThrough(logits=a),
        np.eye(4, dtype="float32")[:3],
    ),
    "Uniform": (lambda t, a, b, p: t.distributions.Uniform(a - 3, a + b), A),
    "Exponential": (lambda t, a, b, p: t.distributions.Exponential(a), B),
    "Laplace": (lambda t, a, b, p: t.distributions.Laplace(a, b), B - 1),
    "LogNormal": (lambda t, a, b, p: t.distributions.LogNormal(a, b), B),
    "HalfNormal": (lambda t, a, b, p: t.distributions.HalfNormal(b), A),
    "Cauchy": (lambda t, a, b, p: t.distributions.Cauchy(a, b), B - 1),
    "Gumbel": (lambda t, a, b, p: t.distributions.Gumbel(a, b), B - 1),
    "Gumbel of numbers": (lambda t, a, b, p: t.distributions.Gumbel(0.5, 2), B - 1),
    "Geometric": (lambda t, a, b, p: t.distributions.Geometric(p), np.floor(2 * B)),
    "Geometric logits": (lambda t, a, b, p: t.distributions.Geometric(logits=a), np.floor(2 * B)),
    "Poisson": (lambda t, a, b, p: t.distributions.Poisson(a), np.floor(2 * B)),
    "Gamma": (lambda t, a, b, p: t.distributions.Gamma(a, b), B),
    "Chi2": (lambda t, a, b, p: t.distributions.Chi2(a), B),
    "Beta": (lambda t, a, b, p: t.distributions.Beta(a + 1, b + 1), P),
    "Beta of numbers": (lambda t, a, b, p: t.distributions.Beta(2.0, 3), P),
    "Dirichlet": (lambda t, a, b, p: t.distributions.Dirichlet(a), P / P.sum(-1, keepdims=True)),
    "StudentT": (lambda t, a, b, p: t.distributions.StudentT(a + 1, b, p), B),
    "StudentT of numbers": (lambda t, a, b, p: t.distributions.StudentT(3), B),
    "InverseGamma": (lambda t, a, b, p: t.distributions.InverseGamma(a + 1, b), B),
    "Binomial": (lambda t, a, b, p: t.distributions.Binomial(4, p), np.floor(2 * B)),
    "Binomial logits": (
        lambda t, a, b, p: t.distributions.Binomial(t.tensor([2.0, 4, 7, 9]), logits=a - b),
        P.round(),
    ),
    "NegativeBinomial": (lambda t, a, b, p: t.distributions.NegativeBinomial(a, p), np.floor(2 * B)),
    "NegativeBinomial logits": (lambda t, a, b, p: t.distributions.NegativeBinomial(3, logits=a - b), np.floor(2 * B)),
    "LogisticNormal": (
        lambda t, a, b, p: t.distributions.LogisticNormal(a[:, :3], b[:, :3]),
        P / P.sum(-1, keepdims=True),
    ),
    "MultivariateNormal": (
        lambda t, a, b, p: t.distributions.MultivariateNormal(a, t.diag_embed(b) + 0.5),
        B,
    ),
    "MultivariateNormal precision": (
        lambda t, a, b, p: t.distributions.MultivariateNormal(a, precision_matrix=t.diag_embed(b) + 0.5),
        B,
    ),
    "MultivariateNormal factor": (
        lambda t, a, b, p: t.distributions.MultivariateNormal(a[0], scale_tril=t.diag_embed(b) + t.ones(4, 4).tril(-1)),
        B[0],
    ),
    "Independent": (lambda t, a, b, p: t.distributions.Independent(t.distributions.Normal(a, b), 1), B - 1),
    "Independent of 2": (lambda t, a, b, p: t.distributions.Independent(t.distributions.Bernoulli(p), 2), P.round()),
    "Independent of 0": (lambda t, a, b, p: t.distributions.Independent(t.distributions.Bernoulli(p), 0), P.round()),
    "tanh": (
        lambda t, a, b, p: t.distributions.TransformedDistribution(
            t.distributions.Normal(a, b), [t.distributions.TanhTransform(cache_size=1)]
        ),
        P,
    ),
    "logistic": (
        lambda t, a, b, p: t.distributions.TransformedDistribution(
            t.distributions.Uniform(t.zeros(4), t.ones(4)),
            [t.distributions.SigmoidTransform().inv, t.distributions.AffineTransform(a, b)],
        ),
        B,
    ),
    "affine of events": (
        lambda t, a, b, p: t.distributions.TransformedDistribution(
            t.distributions.Normal(t.zeros(4), 1.0), [t.distributions.AffineTransform(a, b, event_dim=1)]
        ),
        B,
    ),
    "reshaped": (
        lambda t, a, b, p: t.distributions.TransformedDistribution(
            t.distributions.Independent(t.distributions.Normal(a, b), 1),
            [t.distributions.ReshapeTransform((4,), (2, 2)), t.distributions.SoftplusTransform()],
        ),
        B.reshape(3, 2, 2),
    ),
    "falling": (
        lambda t, a, b, p: t.distributions.TransformedDistribution(
            t.distributions.Normal(a, b), [t.distributions.AffineTransform(1.0, -2.0), t.distributions.ExpTransform()]
        ),
        B,
    ),
    "HalfCauchy": (lambda t, a, b, p: t.distributions.HalfCauchy(b), A),
    "Pareto": (lambda t, a, b, p: t.distributions.Pareto(b, a), A + B),
    "Weibull": (lambda t, a, b, p: t.distributions.Weibull(b, a + 1), A),
    "Multinomial": (lambda t, a, b, p: t.distributions.Multinomial(6, a), np.array([[1, 2, 0, 3]] * 3, "float32")),
    "Multinomial zero": (
        lambda t, a, b, p: t.distributions.Multinomial(3, logits=t.tensor([0.0, -np.inf, 1.0])),
        np.array([1, 0, 2], "float32"),
    ),
    "RelaxedBernoulli": (lambda t, a, b, p: t.distributions.RelaxedBernoulli(t.tensor(0.7), p), P),
    "RelaxedBernoulli logits": (lambda t, a, b, p: t.distributions.RelaxedBernoulli(t.tensor(0.7), logits=a), P),
    "RelaxedOneHotCategorical": (
        lambda t, a, b, p: t.distributions.RelaxedOneHotCategorical(t.tensor(0.7), a),
        P / P.sum(-1, keepdims=True),
    ),
    "MixtureSameFamily": (
        lambda t, a, b, p: t.distributions.MixtureSameFamily(
            t.distributions.Categorical(p), t.distributions.Normal(a, b)
        ),
        B[:, 0],
    ),
    "MixtureSameFamily of vectors": (
        lambda t, a, b, p: t.distributions.MixtureSameFamily(
            t.distributions.Categorical(p[:, 0]),
            t.distributions.Independent(t.distributions.Normal(a, b), 1),
        ),
        B[0],
    ),
    "power": (
        lambda t, a, b, p: t.distributions.TransformedDistribution(
            t.distributions.Exponential(a), [t.distributions.PowerTransform(t.tensor(1.5))]
        ),
        B,
    ),
}
# Normal numbers agree but for the last bits.
CLOSE = dict(rtol=2e-5, atol=5e-6)


def parameters(lib, grad=False):
    return [of(lib, x).requires_grad_(grad) for x in (A, B, P)]


# Drawn by other algorithms than PyTorch's: tests/test_distributions.py tests how their samples are distributed.
OWN_DRAWS = ("Gamma", "Chi2", "Beta", "Dirichlet", "StudentT", "InverseGamma", "Binomial", "NegativeBinomial")


def both(name, grad=False):
    """The distribution and its parameters, of PyTorch and of the package."""
    made = []
    for lib in (torch, rl):
        params = parameters(lib, grad)
        made.append((MADE[name][0](lib, *params), params))
    return made


def answer(function):
    """What a function gives, as arrays, or the type of the error."""
    try:
        value = function()
    except NotImplementedError as error:
        return "missing", str(error)
    except Exception as error:
        return type(error).__name__, str(error)
    if hasattr(value, "detach"):
        return str(value.dtype), value.detach().double().numpy()
    return "", value


def same(want, got, what):
    if got[0] == "missing" and "not have yet" in str(got[1]):
        pytest.skip(str(got[1]).splitlines()[0])
    assert got[0] == want[0], (what, want, got)
    if isinstance(want[1], np.ndarray):
        assert got[1].shape == want[1].shape, what
        np.testing.assert_allclose(got[1], want[1], **CLOSE, err_msg=what)
    elif got[0] == "":
        assert got[1] == want[1], what


@pytest.mark.parametrize("name", MADE)
def test_shape_and_moments(name):
    (p, _), (q, _) = both(name)
    for attribute in ("batch_shape", "event_shape", "has_rsample", "has_enumerate_support"):
        want, got = getattr(p, attribute), getattr(q, attribute)
        assert (tuple(want) == tuple(got)) if attribute.endswith("shape") else want == got, attribute
    for attribute in ("mean", "mode", "variance", "stddev"):
        same(answer(lambda a=attribute: getattr(p, a)), answer(lambda a=attribute: getattr(q, a)), attribute)
    assert p.support.event_dim == q.support.event_dim and p.support.is_discrete == q.support.is_discrete


@pytest.mark.parametrize("method", ["entropy", "perplexity", "enumerate_support", "enumerate_support()", "cdf", "icdf"])
@pytest.mark.parametrize("name", MADE)
def test_methods(name, method):
    (p, _), (q, _) = both(name)
    values = {"cdf": MADE[name][1], "icdf": P}.get(method)

    def call(lib, d):
        if method == "enumerate_support()":
            return d.enumerate_support(expand=False)
        return getattr(d, method)(*([] if values is None else [of(lib, values)]))

    same(answer(lambda: call(torch, p)), answer(lambda: call(rl, q)), method)


@pytest.mark.parametrize("name", MADE)
def test_log_prob_and_its_gradient(name):
    results = []
    for (d, params), lib in zip(both(name, grad=True), (torch, rl), strict=True):
        value = of(lib, MADE[name][1])
        kind, log_prob = answer(lambda d=d, value=value: d.log_prob(value))
        results.append((kind, log_prob))
        if isinstance(log_prob, np.ndarray) and any(p.requires_grad for p in [d.log_prob(value)]):
            d.log_prob(value).sum().backward()
            results[-1] = kind, np.concatenate([log_prob.ravel(), *gradients(params)])
    same(*results, "log_prob")


def gradients(params):
    return [p.grad.double().numpy().ravel() for p in params if p.grad is not None]


@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
@pytest.mark.parametrize("name", MADE)
def test_samples(name, shape):
    """The same numbers from the same seed, and the generator left alike."""
    results, states = [], []
    for (d, _), lib in zip(both(name), (torch, rl), strict=True):
        lib.manual_seed(3)
        results.append(answer(lambda d=d: d.sample(shape)))
        results.append(answer(lambda d=d, lib=lib: d.sample(lib.Size(shape))))
        states.append(lib.get_rng_state().numpy())
    if name.split()[0] in OWN_DRAWS:
        assert results[0][0] == results[2][0] and results[0][1].shape == results[2][1].shape
        return
    same(results[0], results[2], "sample")
    same(results[1], results[3], "second sample")
    np.testing.assert_array_equal(*states)


@pytest.mark.parametrize("name", MADE)
def test_reparameterized_samples(name):
    results = []
    for (d, params), lib in zip(both(name, grad=True), (torch, rl), strict=True):
        lib.manual_seed(3)
        kind, drawn = answer(lambda d=d: d.rsample((6,)))
        if isinstance(drawn, np.ndarray):
            lib.manual_seed(3)
            sample = d.rsample((6,))
            if sample.requires_grad:
                (sample * sample).sum().backward()
                drawn = np.concatenate([drawn.ravel(), *gradients(params)])
        if name.split()[0] in OWN_DRAWS:
            drawn = None if drawn is None else np.shape(drawn)
        results.append((kind, drawn))
    same(*results, "rsample")


@pytest.mark.parametrize("name", MADE)
def test_expand(name):
    made = both(name)
    batch = tuple(made[0][0].batch_shape)
    wide = [d.expand((2, *batch)) for d, _ in made]
    for want, got in (wide, [d.expand((5, 2, *batch)) for d in wide]):
        assert tuple(got.batch_shape) == tuple(want.batch_shape) and tuple(got.event_shape) == tuple(want.event_shape)
        assert type(got).__name__ == type(want).__name__
        value = MADE[name][1]
        answers = [
            answer(lambda d=d, lib=lib, value=value: d.log_prob(of(lib, value)))
            for d, lib in ((want, torch), (got, rl))
        ]
        same(*answers, "log_prob")
        torch.manual_seed(1), rl.manual_seed(1)
        if name.split()[0] in OWN_DRAWS:
            assert want.sample().shape == tuple(got.sample().shape)
        else:
            same(answer(want.sample), answer(got.sample), "sample")


PAIRS = [
    (a, b)
    for a in MADE
    for b in MADE
    if a.split()[0] == b.split()[0] or {a, b} <= {"Normal", "Laplace", "Uniform", "Exponential", "Cauchy", "Gamma"}
]


@pytest.mark.parametrize("a, b", PAIRS)
def test_kl_divergence(a, b):
    (p, _), (q, _) = both(a)
    (r, _), (s, _) = both(b)
    # Of another place, where both are of a kind.
    if a == b and a in ("Normal", "Laplace", "Cauchy", "Gamma", "Beta", "Bernoulli", "Geometric", "MultivariateNormal"):
        r, s = (MADE[b][0](lib, of(lib, B), of(lib, A), of(lib, 1 - P / 2)) for lib in (torch, rl))
    want = answer(lambda: torch.distributions.kl_divergence(p, r))
    got = answer(lambda: rl.distributions.kl_divergence(q, s))
    if want[0] == "missing" and got[0] != "missing":
        return  # more than PyTorch knows; tests/test_distributions.py checks them by integration
    if got[0] == "missing" and {a, b} <= {"Uniform", "Gamma", "Exponential", "Laplace", "Normal", "Cauchy"}:
        return  # fewer mixed pairs
    same(want, got, f"{a} {b}")


@pytest.mark.parametrize(
    "text",
    [
        "Normal(0.0, -1.0)",
        "Normal('a', 1.0)",
        "Bernoulli()",
        "Bernoulli(0.5, logits=0.0)",
        "Bernoulli(1.5)",
        "Categorical(lib.tensor(1.0))",
        "Categorical(lib.tensor([-1.0, 2.0]))",
        "Categorical(lib.tensor([float('nan'), 2.0]))",
        "Categorical(lib.ones(3)).log_prob(lib.tensor(3))",
        "Categorical(lib.ones(3)).log_prob(lib.tensor(0.5))",
        "Categorical(lib.ones(2, 3)).log_prob(lib.zeros(3))",
        "Categorical(lib.ones(3)).rsample()",
        "Normal(0.0, 1.0).log_prob(1.0)",
        "Normal(lib.zeros(3), 1.0).log_prob(lib.zeros(4))",
        "Normal(lib.zeros(3), 1.0).expand((2, 2))",
        "Uniform(1.0, 0.0)",
        "Uniform(0.0, 1.0).log_prob(lib.tensor(2.0))",
        "Geometric(0.0)",
        "Independent(Normal(0.0, 1.0), 1)",
        "Exponential(1.0).enumerate_support()",
        "kl_divergence(Normal(0.0, 1.0), Bernoulli(0.5))",
        "OneHotCategorical(lib.ones(3)).log_prob(lib.ones(3))",
        "TransformedDistribution(Normal(0.0, 1.0), 3)",
        "ReshapeTransform((2,), (3,))",
        "Distribution.set_default_validate_args(3)",
    ],
)
def test_errors_have_the_same_type(text):
    kinds = []
    for lib in (torch, rl):
        with pytest.raises(Exception) as caught:
            eval(text, {"lib": lib, **vars(lib.distributions)})
        kinds.append(type(caught.value).__name__)
    assert kinds[0] == kinds[1]


def test_unchecked():
    for lib in (torch, rl):
        d = lib.distributions.Uniform(0.0, 1.0, validate_args=False)
        assert d.log_prob(lib.tensor(2.0)).item() == -np.inf
        assert not d.expand((2,))._validate_args


@pytest.mark.parametrize("text", ["Normal(0.0, 1.0)", "Normal(lib.zeros(2), 1.0)", "Categorical(lib.ones(3))",
                                  "Bernoulli(logits=lib.zeros(2, 3))", "Independent(Normal(lib.zeros(2), 1.0), 1)",
                                  "LogNormal(0.0, 1.0)", "Uniform(lib.zeros(1), 2.0)", "constraints.positive",
                                  "constraints.unit_interval"])  # fmt: skip
def test_repr(text):
    want, got = (repr(eval(text, {"lib": lib, **vars(lib.distributions)})) for lib in (torch, rl))
    assert got == want


@pytest.mark.parametrize(
    "name, value",
    [
        ("real", [0.0, np.nan, np.inf]),
        ("positive", [-1.0, 0.0, 1.0]),
        ("nonnegative", [-1.0, 0.0, 1.0]),
        ("boolean", [0.0, 0.5, 1.0]),
        ("nonnegative_integer", [-1.0, 0.0, 0.5, 2.0]),
        ("positive_integer", [0.0, 1.0, 1.5]),
        ("unit_interval", [-0.1, 0.0, 1.0, 1.1]),
        ("simplex", [[0.5, 0.5], [0.5, 0.6], [-0.5, 1.5]]),
        ("one_hot", [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]),
        ("positive_definite", [[[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]]),
        ("positive_semidefinite", [[[2.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]]),
        ("real_vector", [[0.0, 1.0], [np.nan, 1.0]]),
        ("lower_triangular", [[[1.0, 0.0], [2.0, 0.0]], [[1.0, 3.0], [0.0, 1.0]]]),
        ("lower_cholesky", [[[1.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [2.0, 1.0]]]),
        ("symmetric", [[[1.0, 2.0], [2.0, 0.0]], [[1.0, 0.0], [2.0, 1.0]]]),
        ("interval(0.0, 2.0)", [-1.0, 0.0, 2.0, 3.0]),
        ("half_open_interval(0.0, 2.0)", [-1.0, 0.0, 2.0]),
        ("greater_than(1)", [1.0, 2.0]),
        ("greater_than_eq(1)", [0.5, 1.0, 2.0]),
        ("less_than(1)", [0.5, 1.0, 2.0]),
        ("integer_interval(1, 3)", [0.0, 1.0, 2.5, 3.0]),
        ("multinomial(3)", [[1.0, 1.0], [2.0, 2.0]]),
        ("independent(positive, 1)", [[1.0, 1.0], [2.0, -2.0]]),
        ("cat([positive, real], -1)", [[1.0, -1.0], [-2.0, -2.0]]),
        ("stack([positive, real], -1)", [[1.0, -1.0], [-2.0, -2.0]]),
    ],
)
def test_constraints(name, value):
    want, got = (eval(name, vars(lib.distributions.constraints)) for lib in (torch, rl))
    assert got.event_dim == want.event_dim and got.is_discrete == want.is_discrete
    assert got.check(rl.tensor(value)).tolist() == want.check(torch.tensor(value)).tolist()


TRANSFORMS = [
    "ExpTransform()",
    "SigmoidTransform()",
    "TanhTransform()",
    "SoftplusTransform()",
    "AbsTransform()",
    "AffineTransform(1.0, -2.0)",
    "AffineTransform(lib.tensor([1.0, 2.0]), lib.tensor([3.0, -2.0]), event_dim=1)",
    "PowerTransform(lib.tensor(2.0))",
    "ExpTransform().inv",
    "ComposeTransform([AffineTransform(0.0, 2.0), TanhTransform()])",
    "identity_transform",
    "StickBreakingTransform()",
    "IndependentTransform(ExpTransform(), 1)",
    "ComposeTransform([ReshapeTransform((2,), (1, 2)), IndependentTransform(ExpTransform(), 2)])",
]


@pytest.mark.parametrize("text", TRANSFORMS)
def test_transforms(text):
    results = []
    for lib in (torch, rl):
        f = eval(text, {"lib": lib, **vars(lib.distributions.transforms)})
        x = lib.tensor([[0.3, 1.2], [2.0, 0.7], [0.1, 0.9]])
        y = f(x)
        np.testing.assert_allclose(f(f.inv(y)).numpy(), y.numpy(), **CLOSE)
        results.append(
            [
                f.domain.event_dim,
                f.codomain.event_dim,
                f.bijective,
                tuple(f.forward_shape((3, 2))),
                tuple(f.inverse_shape(tuple(y.shape))),
                answer(lambda f=f: f.sign)[0],
                answer(lambda f=f, x=x, y=y: f.log_abs_det_jacobian(x, y)),
                answer(lambda f=f, x=x, y=y: f.inv.log_abs_det_jacobian(y, x)),
                ("", y.double().numpy()),
            ]
        )
        assert (
            f == eval(text, {"lib": lib, **vars(lib.distributions.transforms)}) or "Reshape" in text or "Indep" in text
        )
    for want, got in zip(*results, strict=True):
        if isinstance(want, tuple) and len(want) == 2 and isinstance(want[1], np.ndarray):
            same(want, got, text)
        elif isinstance(want, tuple) and want and want[0] == "missing":
            assert got[0] == "missing"
        else:
            assert np.array_equal(want, got) if isinstance(want, np.ndarray) else want == got


def test_cache():
    for lib in (torch, rl):
        f = lib.distributions.TanhTransform(cache_size=1)
        x = lib.tensor([20.0])
        assert f.inv(f(x)) is x
        plain = lib.distributions.TanhTransform()
        assert plain.inv(plain(x)).item() == np.inf
