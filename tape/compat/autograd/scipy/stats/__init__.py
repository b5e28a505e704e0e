"""The names of `autograd.scipy.stats`: those of `tape.scipy.stats`.

Eight distributions are modules, for ``import tape.compat.autograd.scipy.stats.norm as norm``.
"""

import tape.scipy.stats as _stats
from tape.compat.autograd.scipy.stats import (
    beta,
    chi2,
    dirichlet,
    gamma,
    multivariate_normal,
    norm,
    poisson,
    t,
)
from tape.numpy._names import names_of

__all__ = ["beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t"]

__getattr__, __dir__ = names_of(_stats, globals())
