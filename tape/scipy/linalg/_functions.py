"""Functions of matrices: exponentials, logarithms, roots, determinants and norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.ops import linalg as ops
from tape.ops.linalg import sylvester
from tape.scipy.linalg._arrays import operand, square

__all__ = [
    "coshm",
    "cosm",
    "det",
    "expm",
    "fractional_matrix_power",
    "logm",
    "norm",
    "sinhm",
    "sinm",
    "sqrtm",
    "tanhm",
    "tanm",
]


def expm(A: Any) -> Any:
    """Return the exponential of square matrices: `tape.ops.linalg.expm`."""
    return ops.expm(square("expm", A))


def logm(A: Any) -> Any:
    """Return the principal logarithm of square matrices.

    Parameters
    ----------
    A : array_like or Var
        ``(..., n, n)``; real ones without negative eigenvalues.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, n)``, real for real ones.

    Raises
    ------
    UnsupportedError
        If that of a real matrix is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.logm(np.eye(2))
    array([[0., 0.],
           [0., 0.]])
    """
    return sylvester.logm(square("logm", A))


def sqrtm(A: Any) -> Any:
    """Return the principal square root of square matrices.

    Parameters
    ----------
    A : array_like or Var
        ``(..., n, n)``; real ones without negative eigenvalues.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, n)``, real for real ones.

    Raises
    ------
    UnsupportedError
        If that of a real matrix is complex.
    SingularMatrixError
        In a sweep, if the matrix is singular.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.sqrtm(np.diag([4.0, 9.0]))
    array([[2., 0.],
           [0., 3.]])
    """
    return sylvester.sqrtm(square("sqrtm", A))


def fractional_matrix_power(A: Any, t: float) -> Any:
    """Return a power of square matrices: ``expm(t * logm(A))``, of whole numbers by multiplication.

    Parameters
    ----------
    A : array_like or Var
        ``(..., n, n)``.
    t : float or Var
        A number.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, n)``.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.fractional_matrix_power(np.diag([4.0, 9.0]), 0.5).round(12)
    array([[2., 0.],
           [0., 3.]])
    """
    A = square("fractional_matrix_power", A)
    if isinstance(t, (int, float)) and t == int(t):
        return ops.matrix_power(A, int(t))
    return ops.expm(t * logm(A))


def cosm(A: Any) -> Any:
    """Return the cosine of square matrices, by exponentials."""
    A = square("cosm", A)
    if np.result_type(A).kind == "c":
        return (ops.expm(1j * A) + ops.expm(-1j * A)) / 2
    return np.real(ops.expm(1j * A))


def sinm(A: Any) -> Any:
    """Return the sine of square matrices, by exponentials."""
    A = square("sinm", A)
    if np.result_type(A).kind == "c":
        return -0.5j * (ops.expm(1j * A) - ops.expm(-1j * A))
    return np.imag(ops.expm(1j * A))


def tanm(A: Any) -> Any:
    """Return the tangent of square matrices, by cosine and sine."""
    return ops.solve(cosm(A), sinm(A))


def coshm(A: Any) -> Any:
    """Return the hyperbolic cosine of square matrices, by exponentials."""
    A = square("coshm", A)
    return (ops.expm(A) + ops.expm(-A)) / 2


def sinhm(A: Any) -> Any:
    """Return the hyperbolic sine of square matrices, by exponentials."""
    A = square("sinhm", A)
    return (ops.expm(A) - ops.expm(-A)) / 2


def tanhm(A: Any) -> Any:
    """Return the hyperbolic tangent of square matrices, by cosine and sine."""
    return ops.solve(coshm(A), sinhm(A))


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the determinants of matrices, with derivatives where they are zero, too."""
    return ops.det(square("det", a))


def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """Return the norm of vectors or matrices: `tape.ops.linalg.norm`."""
    return ops.norm(operand(a), ord, axis, keepdims)
