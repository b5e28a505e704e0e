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
from tape.scipy.stats import (
    _discrete,
    _elementary,
    _gamma_family,
    _multivariate,
    _truncated_normal,
    _von_mises,
)
from tape.scipy.stats._kde import gaussian_kde as gaussian_kde

bernoulli = _discrete.Bernoulli("bernoulli")
beta = _gamma_family.Beta("beta")
binom = _discrete.Binomial("binom")
cauchy = _elementary.Cauchy("cauchy")
chi2 = _gamma_family.ChiSquared("chi2")
dirichlet = _multivariate.Dirichlet("dirichlet")
expon = _elementary.Exponential("expon")
gamma = _gamma_family.Gamma("gamma")
geom = _discrete.Geometric("geom")
laplace = _elementary.Laplace("laplace")
logistic = _elementary.Logistic("logistic")
lognorm = _elementary.LogNormal("lognorm")
multinomial = _multivariate.Multinomial("multinomial")
multivariate_normal = _multivariate.MultivariateNormal("multivariate_normal")
multivariate_t = _multivariate.MultivariateT("multivariate_t")
nbinom = _discrete.NegativeBinomial("nbinom")
norm = _elementary.Normal("norm")
pareto = _elementary.Pareto("pareto")
poisson = _discrete.Poisson("poisson")
t = _gamma_family.StudentT("t")
truncnorm = _truncated_normal.TruncatedNormal("truncnorm")
uniform = _elementary.Uniform("uniform")
vonmises = _von_mises.VonMises("vonmises")
weibull_min = _elementary.WeibullMin("weibull_min")
wishart = _multivariate.Wishart("wishart")

__getattr__, __dir__ = names_of(_stats, globals())
