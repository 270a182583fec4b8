"""Probability distributions: samples, densities, entropies, divergences.

>>> import rushlight as rl
>>> from rushlight.distributions import Categorical
>>> policy = Categorical(logits=rl.zeros(2, requires_grad=True))
>>> action = policy.sample()
>>> loss = -policy.log_prob(action) * 1.5  # what REINFORCE minimizes for a reward of 1.5
>>> loss.backward()
"""

from .._lazy import only as _only
from . import constraints, transforms
from .bernoulli import Bernoulli
from .binomial import Binomial, NegativeBinomial
from .categorical import Categorical, OneHotCategorical, OneHotCategoricalStraightThrough
from .counts import Geometric, Poisson
from .distribution import Distribution
from .exponential import Exponential
from .gamma import Beta, Chi2, Dirichlet, Gamma
from .heavy_tails import Cauchy, Gumbel, HalfCauchy, HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .log_normal import LogisticNormal, LogNormal
from .mixture_same_family import MixtureSameFamily
from .multinomial import Multinomial
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .power_laws import InverseGamma, Pareto, Weibull
from .relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from .student_t import StudentT
from .transformed_distribution import TransformedDistribution
from .transforms import *
from .uniform import Uniform

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "Gamma",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "InverseGamma",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "StudentT",
    "TransformedDistribution",
    "Uniform",
    "Weibull",
    "constraints",
    "kl_divergence",
    "register_kl",
    "transforms",
]
__all__ += transforms.__all__

__getattr__ = _only(__name__)
