"""The orthonormal factor of the polar decomposition.

With ``A = U P`` and ``K = U^H dA``, what U turns by, ``W = U^H dU``, is skew-Hermitian and solves
``W P + P W = K - K^H``; what leaves the space of a tall U is ``(1 - U U^H) dA P^-1``. (Higham 2008, section
8.2.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.op import Op
from tape.errors import SingularMatrixError
from tape.inspect.costs import declare_cost, per_matrix
from tape.ops.linalg.equations import solve
from tape.ops.linalg.packing import dagger, matrices, stacked
from tape.ops.linalg.sylvester import sylvester

__all__ = ["unitary_factor"]


def _forward(a: Any) -> Any:
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return u @ vh


def _checked(p: Any) -> Any:
    values = np.abs(np.linalg.eigvals(p))
    limit = 8 * p.shape[-1] * np.finfo(p.dtype).eps * np.max(values, axis=-1, initial=0)
    if np.any(np.min(values, axis=-1, initial=np.inf) <= limit):
        raise SingularMatrixError(
            "the orthonormal factor of a matrix that has not full rank is not unique, and has no derivative. "
            "Move the matrix away from there"
        )
    return p.copy()


_regular = Op(
    _checked,
    name="positive_factor",
    batch=stacked,
    vjp=[lambda g, out, p: g],
    jvp=[lambda t, out, p: t],
    explains_errors=False,
)


def _jvp(t: Any, out: Any, a: Any) -> Any:
    if a.shape[-2] < a.shape[-1]:
        return dagger(_jvp(dagger(t), dagger(out), dagger(a)))
    p = _regular(dagger(out) @ a)
    k = dagger(out) @ t
    turned = out @ sylvester(p, p, k - dagger(k))
    if a.shape[-2] == a.shape[-1]:
        return turned
    return turned + dagger(solve(dagger(p), dagger(t - out @ k)))


_unitary = Op(_forward, name="unitary_factor", batch=stacked, jvp=[_jvp])
declare_cost(per_matrix(lambda m, n: 6 * m * n**2 + 20 * n**3), _unitary)


def unitary_factor(a: Any) -> Any:
    """The nearest matrix with orthonormal columns, or rows of a wide one, to each matrix.

    Parameters
    ----------
    a : array_like or Var
        ``(..., m, n)``, of full rank where derivatives are needed.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., m, n)``.

    Raises
    ------
    ShapeError
        If ``a`` has fewer than two axes.
    SingularMatrixError
        In a sweep, if a matrix has not full rank.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.ops.linalg.polar import unitary_factor
    >>> unitary_factor(np.diag([3.0, -2.0])).round(12) + 0.0
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    return _unitary(matrices("unitary_factor", a))
