"""The names of `scipy.special`: its ufuncs, which take Vars, and functions of Python written for Vars.

Functions that SciPy writes in Python are called with Vars here: `logsumexp`, `softmax`, `log_softmax`,
`polygamma`, `multigammaln`, `comb`, `perm`, `factorial`, `diric`, the derivatives `jvp` and its like, and the
spherical Bessel functions. Without a Var among the operands they are SciPy's own. Tables (zeros, nodes of
quadratures, coefficients) are functions of whole numbers, which have no derivative; what else has no rule is
refused at the call.

Examples
--------
>>> import numpy as np, tape
>>> from tape.scipy import special
>>> print(f"{tape.grad(lambda n: special.comb(n, 2))(5.0):.12f}")  # of n (n - 1) / 2
4.500000000000
"""

from scipy import special as _special

from tape.numpy._names import names_of
from tape.scipy.special._bessel import *  # noqa: F403
from tape.scipy.special._functions import *  # noqa: F403
from tape.scipy.special._legendre import *  # noqa: F403
from tape.scipy.special._sequences import *  # noqa: F403

__getattr__, __dir__ = names_of(_special, globals())
