"""The distributions of `scipy.stats`, differentiable by their arguments and parameters.

`norm`, `t`, `gamma`, `beta`, `chi2`, `expon`, `lognorm`, `laplace`, `logistic`, `uniform`, `cauchy`,
`weibull_min`, `pareto`, `truncnorm`, `vonmises`; `poisson`, `binom`, `nbinom`, `geom`, `bernoulli`;
`multivariate_normal`, `multivariate_t`, `dirichlet`, `multinomial`, `wishart`. Their methods have SciPy's
names, arguments and values: densities, probabilities, quantiles, moments, entropies. `gaussian_kde` estimates
densities. What draws, fits or integrates, and all other names, are SciPy's own, for plain numbers.

Examples
--------
>>> import numpy as np, tape
>>> from tape.scipy import stats
>>> x = np.array([1.0, 2.0, 4.0])
>>> stats.norm.logpdf(x, 2.0, 1.0).round(3)
array([-1.419, -0.919, -2.919])
>>> tape.elementwise_grad(stats.norm.logpdf)(x, 2.5, 1.0)
array([ 1.5,  0.5, -1.5])
"""

from scipy import stats as _stats

from tape.numpy._names import names_of
from tape.scipy.stats._discrete import Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson
from tape.scipy.stats._elementary import (
    Cauchy,
    Exponential,
    Laplace,
    Logistic,
    LogNormal,
    Normal,
    Pareto,
    Uniform,
    WeibullMin,
)
from tape.scipy.stats._gamma_family import Beta, ChiSquared, Gamma, StudentT
from tape.scipy.stats._kde import gaussian_kde as gaussian_kde
from tape.scipy.stats._multivariate import (
    Dirichlet,
    Multinomial,
    MultivariateNormal,
    MultivariateT,
    Wishart,
)
from tape.scipy.stats._truncated_normal import TruncatedNormal
from tape.scipy.stats._von_mises import VonMises

bernoulli = Bernoulli("bernoulli")
beta = Beta("beta")
binom = Binomial("binom")
cauchy = Cauchy("cauchy")
chi2 = ChiSquared("chi2")
dirichlet = Dirichlet("dirichlet")
expon = Exponential("expon")
gamma = Gamma("gamma")
geom = Geometric("geom")
laplace = Laplace("laplace")
logistic = Logistic("logistic")
lognorm = LogNormal("lognorm")
multinomial = Multinomial("multinomial")
multivariate_normal = MultivariateNormal("multivariate_normal")
multivariate_t = MultivariateT("multivariate_t")
nbinom = NegativeBinomial("nbinom")
norm = Normal("norm")
pareto = Pareto("pareto")
poisson = Poisson("poisson")
t = StudentT("t")
truncnorm = TruncatedNormal("truncnorm")
uniform = Uniform("uniform")
vonmises = VonMises("vonmises")
weibull_min = WeibullMin("weibull_min")
wishart = Wishart("wishart")

__getattr__, __dir__ = names_of(_stats, globals())
