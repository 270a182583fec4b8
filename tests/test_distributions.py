"""Distributions against scipy.stats: densities, cumulative functions, moments, entropies, and samples' moments."""

import math
import pickle

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats as st

import rushlight as rl
from rushlight import distributions as D
from rushlight.distributions import draws
from rushlight.distributions.draws import log_gamma_draws

# Parameters, and the distribution of ours and of SciPy's for them.
CONTINUOUS = {
    "Normal": ((0.3, 2.0), D.Normal, lambda m, s: st.norm(m, s)),
    "Uniform": ((-1.0, 2.5), D.Uniform, lambda a, b: st.uniform(a, b - a)),
    "Exponential": ((1.7,), D.Exponential, lambda r: st.expon(scale=1 / r)),
    "Laplace": ((0.3, 2.0), D.Laplace, lambda m, s: st.laplace(m, s)),
    "LogNormal": ((0.3, 0.5), D.LogNormal, lambda m, s: st.lognorm(s, scale=math.exp(m))),
    "HalfNormal": ((1.5,), D.HalfNormal, lambda s: st.halfnorm(scale=s)),
    "HalfCauchy": ((1.5,), D.HalfCauchy, lambda s: st.halfcauchy(scale=s)),
    "Cauchy": ((0.3, 2.0), D.Cauchy, lambda m, s: st.cauchy(m, s)),
    "Pareto": ((1.5, 3.0), D.Pareto, lambda s, a: st.pareto(a, scale=s)),
    "Weibull": ((1.5, 2.5), D.Weibull, lambda s, k: st.weibull_min(k, scale=s)),
    "Gumbel": ((0.3, 2.0), D.Gumbel, lambda m, s: st.gumbel_r(m, s)),
    "Gamma": ((3.0, 2.0), D.Gamma, lambda a, b: st.gamma(a, scale=1 / b)),
    "Chi2": ((3.0,), D.Chi2, lambda k: st.chi2(k)),
    "Beta": ((2.0, 3.0), D.Beta, lambda a, b: st.beta(a, b)),
    "InverseGamma": ((3.0, 2.0), D.InverseGamma, lambda a, b: st.invgamma(a, scale=b)),
    "StudentT": ((5.0, 0.3, 2.0), D.StudentT, lambda k, m, s: st.t(k, m, s)),
}
DISCRETE = {
    "Bernoulli": ((0.3,), D.Bernoulli, lambda p: st.bernoulli(p)),
    "Geometric": ((0.3,), D.Geometric, lambda p: st.geom(p, loc=-1)),
    "Poisson": ((3.5,), D.Poisson, lambda r: st.poisson(r)),
    "Binomial": ((12.0, 0.3), D.Binomial, lambda n, p: st.binom(n, p)),
    "NegativeBinomial": ((2.5, 0.3), D.NegativeBinomial, lambda n, p: st.nbinom(n, 1 - p)),
}
BOTH = {**CONTINUOUS, **DISCRETE}


def ours(name):
    params, kind, _ = BOTH[name]
    return kind(*(rl.tensor(p, dtype=rl.float64) for p in params))


def scipys(name):
    params, _, kind = BOTH[name]
    return kind(*params)


def quietly(function, *args):
    """What a function gives; skips the test where the engine lacks what it needs."""
    try:
        return function(*args)
    except NotImplementedError as error:
        if "does not have yet" not in str(error):
            raise
        pytest.skip(str(error).splitlines()[0])


def close(got, want, **tolerance):
    np.testing.assert_allclose(got.detach().numpy(), want, **{"rtol": 1e-6, "atol": 1e-9, **tolerance})


@pytest.mark.parametrize("name", BOTH)
def test_log_prob(name):
    reference = scipys(name)
    points = reference.ppf(np.linspace(0.05, 0.95, 7)) if name in CONTINUOUS else np.array([0.0, 1.0])
    want = reference.logpdf(points) if name in CONTINUOUS else reference.logpmf(points)
    close(quietly(ours(name).log_prob, rl.from_numpy(points)), want)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_cdf_and_its_inverse(name):
    reference, probabilities = scipys(name), np.linspace(0.05, 0.95, 7)
    if name in ("Beta", "StudentT"):
        with pytest.raises(NotImplementedError, match=f"{name} does not define cdf"):
            ours(name).cdf(rl.tensor(0.5))
        return
    close(quietly(ours(name).cdf, rl.from_numpy(reference.ppf(probabilities))), probabilities)
    if name not in ("Gamma", "Chi2", "InverseGamma"):
        close(quietly(ours(name).icdf, rl.from_numpy(probabilities)), reference.ppf(probabilities))


@pytest.mark.parametrize("name", BOTH)
def test_moments(name):
    if "Cauchy" in name:
        assert name == "HalfCauchy" or ours(name).mean.isnan() and ours(name).variance == math.inf
        return
    close(quietly(lambda: ours(name).mean), scipys(name).mean())
    close(ours(name).variance, scipys(name).var())
    close(ours(name).stddev, scipys(name).std())


@pytest.mark.parametrize("name", sorted(set(BOTH) - {"Poisson", "NegativeBinomial"}))
def test_entropy(name):
    close(quietly(ours(name).entropy), scipys(name).entropy(), rtol=1e-5)
    close(ours(name).perplexity(), np.exp(scipys(name).entropy()), rtol=1e-5)


@pytest.mark.parametrize("name", BOTH)
def test_samples_are_distributed_so(name):
    """By Kolmogorov and Smirnov's test, where there is a density; else by mean and variance."""
    drawn = quietly(ours(name).sample, (20_000,)).numpy()
    if name in CONTINUOUS:
        assert st.kstest(drawn, scipys(name).cdf).pvalue > 1e-3
    else:
        assert abs(drawn.mean() - scipys(name).mean()) < 4 * scipys(name).std() / math.sqrt(len(drawn))
        assert drawn.var() == pytest.approx(scipys(name).var(), rel=0.05)


KNOWN = {
    "Normal": ["Normal", "Laplace"],
    "Laplace": ["Laplace", "Normal"],
    "Uniform": ["Uniform", "Normal"],
    "Exponential": ["Exponential", "Normal"],
    "Gamma": ["Gamma"],
    "Beta": ["Beta"],
    "Cauchy": ["Cauchy"],
    "Gumbel": ["Gumbel"],
    "HalfNormal": ["HalfNormal"],
    "LogNormal": ["LogNormal"],
}
IMPOSSIBLE = {"Normal": ["Uniform", "Exponential", "Gamma"], "Laplace": ["Exponential"], "Cauchy": ["Normal"]}
OTHER = {"Uniform": (-9.0, 8.0), "Exponential": (0.7,), "HalfNormal": (0.7,)}


def other(name):
    """Of the same name with other parameters, ours and SciPy's."""
    params = OTHER.get(name, (1.1, 0.8))
    _, kind, scipys_kind = CONTINUOUS[name]
    return kind(*(rl.tensor(x, dtype=rl.float64) for x in params)), scipys_kind(*params)


@pytest.mark.parametrize("p, q", [(p, q) for p in KNOWN for q in KNOWN[p]])
def test_kl_by_integration(p, q):
    a, (ours_q, b) = scipys(p), other(q)

    def difference(share):
        x = a.ppf(share)
        return a.logpdf(x) - b.logpdf(x)

    want = scipy.integrate.quad(difference, 0, 1, limit=500)[0]
    assert quietly(D.kl_divergence, ours(p), ours_q).item() == pytest.approx(want, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("p, q", [(p, q) for p in IMPOSSIBLE for q in IMPOSSIBLE[p]])
def test_kl_is_infinite(p, q):
    assert D.kl_divergence(ours(p), other(q)[0]) == math.inf


# ---- shapes


def test_shapes():
    d = D.Independent(D.Normal(rl.zeros(5, 3, 2), 1.0), 2)
    assert d.batch_shape == (5,) and d.event_shape == (3, 2)
    assert d.sample((7,)).shape == (7, 5, 3, 2) and d.entropy().shape == (5,)
    assert d.log_prob(rl.zeros(7, 1, 3, 2)).shape == (7, 5)
    assert D.Categorical(rl.ones(5, 4)).sample((2, 3)).shape == (2, 3, 5)
    assert D.OneHotCategorical(rl.ones(5, 4)).sample((2,)).shape == (2, 5, 4)


def test_expanding_shares_memory():
    d = D.Normal(rl.zeros(3), 1.0).expand((100, 3))
    assert d.loc.stride() == (0, 1) and d.sample().shape == (100, 3)


# ---- others


def test_multinomial():
    probs = np.array([0.2, 0.3, 0.5])
    d = D.Multinomial(7, rl.from_numpy(probs))
    close(d.entropy(), st.multinomial(7, probs).entropy(), rtol=1e-6)
    drawn = d.sample((5000,))
    assert (drawn.sum(-1) == 7).all()
    np.testing.assert_allclose(drawn.mean(0).numpy(), 7 * probs, atol=0.1)
    np.testing.assert_allclose(drawn.var(0).numpy(), d.variance.numpy(), rtol=0.1)
    close(quietly(d.log_prob, rl.tensor([1.0, 2.0, 4.0])), st.multinomial(7, probs).logpmf([1, 2, 4]))


def test_mixture():
    d = D.MixtureSameFamily(
        D.Categorical(rl.tensor([0.25, 0.75])), D.Normal(rl.tensor([-2.0, 1.0]), rl.tensor([0.5, 1.0]))
    )
    points = np.linspace(-4, 4, 9)
    parts = st.norm(-2, 0.5), st.norm(1, 1)
    close(
        d.log_prob(rl.from_numpy(points)), np.log(0.25 * parts[0].pdf(points) + 0.75 * parts[1].pdf(points)), rtol=1e-5
    )
    close(d.cdf(rl.from_numpy(points)), 0.25 * parts[0].cdf(points) + 0.75 * parts[1].cdf(points), rtol=1e-4, atol=1e-6)
    drawn = d.sample((20_000,))
    assert drawn.mean().item() == pytest.approx(d.mean.item(), abs=0.05)
    assert drawn.var().item() == pytest.approx(d.variance.item(), rel=0.05)
    with pytest.raises(ValueError, match="3 components.*must end in 3"):
        D.MixtureSameFamily(D.Categorical(rl.ones(3)), D.Normal(rl.zeros(2), 1.0))


def test_relaxed():
    """At a low temperature they are what they relax."""
    d = D.RelaxedOneHotCategorical(rl.tensor(0.05), rl.tensor([0.2, 0.8]))
    drawn = d.rsample((4000,))
    assert rl.allclose(drawn.sum(-1), rl.ones(4000)) and (drawn.amax(-1) > 0.9).float().mean() > 0.9
    assert drawn.mean(0)[1].item() == pytest.approx(0.8, abs=0.03)
    bits = D.RelaxedBernoulli(rl.tensor(0.05), rl.tensor(0.3)).rsample((4000,))
    assert bits.mean().item() == pytest.approx(0.3, abs=0.03) and ((bits < 0.1) | (bits > 0.9)).float().mean() > 0.85
    density = D.RelaxedBernoulli(rl.tensor(0.7, dtype=rl.float64), rl.tensor(0.3, dtype=rl.float64))
    total = scipy.integrate.quad(lambda x: density.log_prob(rl.tensor(x, dtype=rl.float64)).exp().item(), 0, 1)[0]
    assert total == pytest.approx(1, abs=1e-3)


# ---- categorical


def test_categorical():
    weights = rl.tensor([1.0, 3.0, 0.0, 4.0])
    d = D.Categorical(weights)
    close(d.probs, [0.125, 0.375, 0, 0.5])
    counts = np.bincount(d.sample((8000,)).numpy(), minlength=4) / 8000
    np.testing.assert_allclose(counts, d.probs.numpy(), atol=0.02)
    close(d.entropy(), st.entropy([1, 3, 0, 4]))
    close(d.log_prob(d.enumerate_support())[[0, 1, 3]], np.log([0.125, 0.375, 0.5]))
    close(D.Categorical(logits=weights.log()).probs, d.probs.numpy())
    close(D.kl_divergence(d, D.Categorical(rl.tensor([1.0, 1.0, 1.0, 1.0]))), st.entropy([1, 3, 0, 4], [1, 1, 1, 1]))
    assert D.kl_divergence(D.Categorical(rl.ones(4)), d) == math.inf


def test_policy_gradient():
    """The gradient of the log probability of an action is one-hot minus the probabilities."""
    scores = rl.tensor([[0.5, -1.0, 2.0]], requires_grad=True)
    policy = D.Categorical(logits=scores)
    policy.log_prob(rl.tensor([1])).sum().backward()
    close(scores.grad, (rl.tensor([[0.0, 1.0, 0.0]]) - scores.softmax(-1)).detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("a", [1e-3, 0.05, 0.3, 0.9, 1.0, 2.5, 30.0, 1e3, 2e4, 1e6])
def test_gamma_draws_and_their_gradient(a):
    """By Kolmogorov and Smirnov's test; and the derivative of the quantile that a draw is, by differences."""
    drawn = log_gamma_draws(rl.full((4000,), a)).numpy()
    assert drawn.dtype == "float64" and st.kstest(drawn, st.loggamma(a).cdf).pvalue > 1e-3
    shares = np.array([1e-8, 1e-4, 0.01, 0.3, 0.5, 0.9, 0.999, 1 - 1e-6])
    shares = shares[st.gamma.ppf(shares, a) > 0]
    step, log = 1e-5 * a, lambda a: np.log(scipy.special.gammaincinv(a, shares))
    want = (log(a + step) - log(a - step)) / (2 * step)
    close(draws._slope(rl.full((len(shares),), a, dtype=rl.float64), rl.from_numpy(log(a))), want, rtol=1e-6)


@pytest.mark.parametrize("kind", ["Gamma", "Beta", "Dirichlet", "StudentT", "InverseGamma"])
@pytest.mark.parametrize("scale", [0.3, 6.0])
def test_gradients_of_draws_by_gamma_numbers(kind, scale):
    """The mean of a function of draws has the gradient that the function's mean has, here known in closed form."""
    a = rl.tensor([1.2, 2.0], dtype=rl.float64).mul(scale).requires_grad_()
    if kind == "Dirichlet":
        drawn, mean = D.Dirichlet(a).rsample((40_000,))[:, 0], D.Dirichlet(a).mean[0]
    elif kind == "StudentT":  # E|t| would have no variance for few degrees of freedom; the logarithm of 1 + t^2 / k has
        drawn = (D.StudentT(a[0]).rsample((40_000,)).square() / a[0]).log1p()
        mean = rl.digamma((a[0] + 1) / 2) - rl.digamma(a[0] / 2)
    elif kind == "InverseGamma":
        drawn, mean = D.InverseGamma(a[0], a[1]).rsample((40_000,)).log(), a[1].log() - rl.digamma(a[0])
    else:
        d = getattr(D, kind)(a[0], a[1])
        drawn, mean = d.rsample((40_000,)), d.mean
    (want,) = rl.autograd.grad(mean, a)
    for i in range(2):
        (each,) = rl.autograd.grad(drawn[: len(drawn) // 2].mean(), a, retain_graph=True)
        (rest,) = rl.autograd.grad(drawn[len(drawn) // 2 :].mean(), a, retain_graph=True)
        noise = 1e-3 + 0.05 * abs(want[i].item())
        assert ((each + rest) / 2)[i].item() == pytest.approx(want[i].item(), abs=noise)


@pytest.mark.parametrize(
    "n, p",
    [(0, 0.5), (7, 0.0), (7, 1.0), (5, 0.3), (40, 0.2), (40, 0.9), (1000, 1e-3), (1000, 0.3), (10**6, 0.5)],
)
def test_binomial_draws(n, p):
    drawn = draws.binomial_draws(rl.full((4000,), n), rl.full((4000,), p, dtype=rl.float64)).numpy()
    assert (drawn == np.floor(drawn)).all() and (drawn >= 0).all() and (drawn <= n).all()
    if n * p * (1 - p) == 0:
        assert (drawn == n * p).all()
    elif n <= 1000:
        values, counts = np.unique(drawn, return_counts=True)
        expected = 4000 * st.binom.pmf(values, n, p)
        often = expected > 5
        assert st.chi2.sf(((counts - expected)[often] ** 2 / expected[often]).sum(), often.sum() - 1) > 1e-3
    else:
        assert (
            st.kstest(drawn + np.random.default_rng(0).random(4000), st.norm(n * p + 0.5, st.binom.std(n, p)).cdf)[1]
            > 1e-3
        )


@pytest.mark.parametrize("given", ["covariance_matrix", "precision_matrix", "scale_tril"])
def test_multivariate_normal(given):
    tril = np.array([[1, 0, 0], [0.5, 2, 0], [0.1, -0.3, 0.7]])
    covariance, loc = tril @ tril.T, np.array([0.3, -1.0, 2.0])
    matrices = {"covariance_matrix": covariance, "precision_matrix": np.linalg.inv(covariance), "scale_tril": tril}
    d = D.MultivariateNormal(rl.from_numpy(loc), **{given: rl.from_numpy(matrices[given])})
    reference = st.multivariate_normal(loc, covariance)
    for name, want in matrices.items():
        close(getattr(d, name), want)
    close(d.entropy(), reference.entropy())
    points = np.random.default_rng(0).normal(size=(4, 5, 3))
    close(d.log_prob(rl.from_numpy(points)), reference.logpdf(points))
    drawn = d.sample((20_000,)).numpy()
    np.testing.assert_allclose(drawn.mean(0), loc, atol=0.06)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.15)
    far = D.MultivariateNormal(rl.zeros(3, dtype=rl.float64), rl.diag(rl.tensor([1.0, 2, 3], dtype=rl.float64)))
    share = covariance / np.array([1, 2, 3])
    want = 0.5 * (np.trace(share) + (loc**2 / [1, 2, 3]).sum() - 3 + math.log(6 / np.linalg.det(covariance)))
    close(D.kl_divergence(d, far), want)


def test_a_broken_stick():
    """The determinant of its derivative, by the derivative itself."""
    x = rl.tensor([0.3, -1.2, 2.0, 0.1], dtype=rl.float64)
    f = D.StickBreakingTransform()
    y = f(x)
    assert y.sum().item() == pytest.approx(1) and f(rl.zeros(3)).tolist() == [0.25] * 4
    close(f.inv(y), x.numpy())
    rows = []
    for i in range(4):
        leaf = x.clone().requires_grad_()
        rows.append(rl.autograd.grad(f(leaf)[i], leaf)[0].numpy())
    close(f.log_abs_det_jacobian(x, y), np.linalg.slogdet(rows)[1])


def test_reparameterized_gradient():
    loc, scale = rl.zeros(1, requires_grad=True), rl.ones(1, requires_grad=True)
    sample = D.Normal(loc, scale).rsample((1000,))
    sample.sum().backward()
    assert loc.grad.item() == 1000 and scale.grad.item() == pytest.approx(sample.sum().item(), rel=1e-5)
    assert not D.Normal(loc, scale).sample().requires_grad


# ---- errors


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: D.Normal(0, rl.tensor([1.0, -2.0])), r"scale.*Greater.*1 of 2 do not.*-2.0 at \[1\](.|\n)*hint: exp"),
        (lambda: D.Normal(rl.tensor(math.nan), 1.0), r"parameter loc.*it is nan(.|\n)*hint: NaN comes from"),
        (lambda: D.Bernoulli(rl.tensor([0.5, 1.5])), r"probs.*1.5 at \[1\](.|\n)*hint: sigmoid.*logits"),
        (lambda: D.Categorical(rl.tensor([2.0, -1.0])), r"parameter probs.*Simplex(.|\n)*logits"),
        (lambda: D.Bernoulli(0.5, 0.5), "either probs or logits, got both"),
        (lambda: D.Categorical(), "either probs or logits, got neither"),
        (lambda: D.Normal(0.0, 1.0).log_prob(3.0), "must be a Tensor, got float"),
        (lambda: D.Normal(rl.zeros(3), 1.0).log_prob(rl.zeros(2)), r"shape \(2,\) does not broadcast.*\(3,\)"),
        (lambda: D.Normal(0.0, 1.0).expand((2, 1)).log_prob(rl.tensor([1, math.nan, 2])), r"1 of 3.*nan at \[1\]"),
        (lambda: D.Uniform(0.0, 1.0).log_prob(rl.tensor([0.5, 3.0])), r"support Interval.*3.0 at \[1\]"),
        (lambda: D.Uniform(1.0, 1.0), "low < high"),
        (lambda: D.Normal("0", 1.0), "numbers or tensors, got str"),
    ],
)  # fmt: skip
def test_value_errors(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_hints_mend():
    raw = rl.tensor([-3.0, 0.2])
    assert D.Normal(0.0, rl.nn.functional.softplus(raw)).sample().shape == (2,)
    assert D.Normal(0.0, raw.exp()).sample().shape == (2,)
    assert D.Bernoulli(raw.sigmoid()).probs.equal(D.Bernoulli(logits=raw).probs)
    assert D.Categorical(raw.softmax(-1)).sample().shape == ()
    with pytest.raises(TypeError, match=r"hint: \(5,\)"):
        D.Categorical(logits=raw).sample(5)
    with pytest.raises(NotImplementedError, match="REINFORCE"):
        D.Categorical(logits=raw).rsample()


def test_checks_can_be_left_out():
    D.Normal(0.0, -1.0, validate_args=False)
    D.Distribution.set_default_validate_args(False)
    try:
        D.Normal(0.0, -1.0)
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError):
        D.Normal(0.0, -1.0)


# ---- users' own


class Triangular(D.Distribution):
    """With density 2x on [0, 1]."""

    arg_constraints = {}
    support = D.constraints.unit_interval
    has_rsample = True

    def rsample(self, sample_shape=()):
        return rl.rand(self._extended_shape(sample_shape)).sqrt()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return (2 * value).log()


def test_a_distribution_of_the_users():
    d = Triangular()
    assert d.sample((3,)).shape == (3,) and d.log_prob(rl.tensor(0.5)).item() == 0
    with pytest.raises(ValueError, match="Triangular"):
        d.log_prob(rl.tensor(2.0))
    moved = D.TransformedDistribution(d, D.AffineTransform(1.0, 2.0))
    close(moved.log_prob(rl.tensor(2.0)), math.log(0.5))
    with pytest.raises(NotImplementedError, match="Triangular has no mean"):
        d.mean  # noqa: B018
    with pytest.raises(NotImplementedError, match="register_kl"):
        D.kl_divergence(d, D.Normal(0.0, 1.0))


def test_subclass_with_an_init_of_its_own():
    class Standard(D.Normal):
        def __init__(self):
            super().__init__(0.0, 1.0)

    with pytest.raises(NotImplementedError, match="Standard has an __init__ of its own"):
        Standard().expand((2,))
    assert D.kl_divergence(Standard(), D.Normal(0.0, 1.0)).item() == 0


@pytest.mark.parametrize("name", BOTH)
def test_pickled(name):
    d = ours(name)
    again = pickle.loads(pickle.dumps(d))
    assert type(again) is type(d) and repr(again) == repr(d) and again.mode.equal(d.mode) or name == "Uniform"
