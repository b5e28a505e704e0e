"""The names of `scipy.linalg`, differentiable: SciPy's arguments and defaults, stacks of matrices, and Vars.

Arguments for speed alone (``overwrite_a``, ``lapack_driver``, ``lwork``) change nothing, and ``check_finite``
neither: of what is not finite the results are not, or there is an error. What is determined up to signs (q,
vectors) or up to turns (bases of null spaces) has the derivatives of the choice that stays: results that do
not depend on it are differentiated right. ``qz``, ``ordqz`` and ``cossin`` have no rules: they refuse Vars.

Examples
--------
>>> import numpy as np, tape
>>> from tape.scipy import linalg
>>> a = np.array([[4.0, 1.0], [1.0, 3.0]])
>>> linalg.cholesky(a)  # upper, as in SciPy
array([[2.       , 0.5      ],
       [0.       , 1.6583124]])
>>> tape.grad(lambda a: np.sum(linalg.sqrtm(a)))(np.diag([1.0, 4.0])).round(6)
array([[0.5     , 0.333333],
       [0.333333, 0.25    ]])
"""

from scipy import linalg as _linalg

from tape.numpy._names import names_of
from tape.scipy.linalg._band_eigenvalues import *  # noqa: F403
from tape.scipy.linalg._building import *  # noqa: F403
from tape.scipy.linalg._companions import *  # noqa: F403
from tape.scipy.linalg._eigenvalues import *  # noqa: F403
from tape.scipy.linalg._factors import *  # noqa: F403
from tape.scipy.linalg._functions import *  # noqa: F403
from tape.scipy.linalg._matrix_equations import *  # noqa: F403
from tape.scipy.linalg._orthogonal import *  # noqa: F403
from tape.scipy.linalg._refused import REFUSED
from tape.scipy.linalg._schur import *  # noqa: F403
from tape.scipy.linalg._structured import *  # noqa: F403
from tape.scipy.linalg._subspaces import *  # noqa: F403
from tape.scipy.linalg._systems import *  # noqa: F403

globals().update(REFUSED)
__getattr__, __dir__ = names_of(_linalg, globals())
