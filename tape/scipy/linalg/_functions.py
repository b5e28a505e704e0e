"""Functions of matrices: exponentials, logarithms, roots, determinants and norms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape.errors import OptionError, ShapeError, UnsupportedError
from tape.ops import linalg as ops
from tape.ops.linalg import sylvester
from tape.ops.linalg.eigenvalues import inverse_of_basis
from tape.scipy.linalg._arrays import operand, or_scipy, square

__all__ = [
    "coshm",
    "cosm",
    "det",
    "expm",
    "expm_cond",
    "expm_frechet",
    "fractional_matrix_power",
    "funm",
    "logm",
    "norm",
    "signm",
    "sinhm",
    "sinm",
    "sqrtm",
    "tanhm",
    "tanm",
]


def expm(A: Any) -> Any:
    """Return the exponential of square matrices: `tape.ops.linalg.expm`."""
    return ops.expm(square("expm", A))


def expm_frechet(
    A: Any, E: Any, method: str | None = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """Return the exponential of square matrices, and its derivative along others.

    Parameters
    ----------
    A, E : array_like or Var
        ``(..., n, n)``: the matrices and the directions.
    method : {"SPS", "blockEnlarge"}, optional
        Without effect: the derivative is a block of the exponential of ``[[A, E], [0, A]]``.
    compute_expm : bool
        Whether to return the exponential, too.
    check_finite : bool
        Without effect.

    Returns
    -------
    tuple of numpy.ndarray or Var, or the derivative alone
        ``(..., n, n)`` each.

    Raises
    ------
    OptionError
        If there is no such method.
    ShapeError
        If the shapes differ.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.expm_frechet(np.zeros((1, 1)), np.ones((1, 1)))
    (array([[1.]]), array([[1.]]))
    """
    if method not in (None, "SPS", "blockEnlarge"):
        raise OptionError(f"expm_frechet: method={method!r}. It must be 'SPS' or 'blockEnlarge'")
    A, E = square("expm_frechet", A), square("expm_frechet", E)
    if A.shape != E.shape:
        raise ShapeError(f"expm_frechet: shapes {list(A.shape)} and {list(E.shape)}. Give equal ones")
    along = _along(A, E)
    return (ops.expm(A), along) if compute_expm else along


def _along(a: Any, e: Any) -> Any:
    n = a.shape[-1]
    zeros = np.zeros(np.broadcast_shapes(a.shape, e.shape), np.result_type(a, e))
    a, e = a + zeros, e + zeros
    above, below = np.concatenate([a, e], axis=-1), np.concatenate([zeros, a], axis=-1)
    return ops.expm(np.concatenate([above, below], axis=-2))[..., :n, n:]


def expm_cond(A: Any, check_finite: bool = True) -> Any:
    """Return the condition numbers of the exponential of square matrices, by relative Frobenius norms.

    Parameters
    ----------
    A : array_like or Var
        ``(..., n, n)``. The work is that of ``n**2`` exponentials.
    check_finite : bool
        Without effect.

    Returns
    -------
    float, numpy.ndarray or Var
        ``(...,)``.

    Examples
    --------
    >>> import numpy as np, tape
    >>> round(float(tape.scipy.linalg.expm_cond(np.array([[2.0]]))), 12)
    2.0
    """
    A = square("expm_cond", A)
    n = A.shape[-1]
    if n == 0:
        raise ShapeError("expm_cond: an empty matrix has no condition number. Give one with elements")
    along = _along(A[..., None, :, :], np.eye(n * n, dtype=A.dtype).reshape(n * n, n, n))
    largest = ops.svdvals(along.reshape(*A.shape[:-2], n * n, n * n))[..., 0]
    return largest * ops.matrix_norm(A) / ops.matrix_norm(ops.expm(A))


@or_scipy
def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """Return a function of a square matrix.

    Parameters
    ----------
    A : array_like or Var
        ``(n, n)``; plain arrays may be stacks. A Var must have a basis of eigenvectors, and its derivatives
        distinct eigenvalues.
    func : callable
        ``func(w)`` of vectors of complex eigenvalues, elementwise, in NumPy calls that take Vars; it may
        close over Vars.
    disp : bool
        False, which returns an estimate of the error too, is refused for Vars.

    Returns
    -------
    numpy.ndarray or Var
        ``(n, n)``; real for a real matrix if imaginary parts are rounding errors.

    Raises
    ------
    ShapeError
        If a Var is a stack of matrices.
    SingularMatrixError
        If there is no basis of eigenvectors; in a sweep, if eigenvalues are equal.
    UnsupportedError
        With ``disp=False``.

    Notes
    -----
    By eigenvectors V, as ``V @ diag(func(w)) @ inv(V)``, where SciPy has Schur vectors: digits are lost as
    eigenvectors come near each other. `expm`, `logm`, `sqrtm`, `signm` and `cosm` lose none.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.grad(lambda a: tape.scipy.linalg.funm(a, np.exp)[0, 0])(np.diag([0.0, 1.0])).round(12)
    array([[1., 0.],
           [0., 0.]])
    """
    if not disp:
        raise UnsupportedError("funm: disp=False has no derivative rule. Leave it out")
    A = square("funm", A)
    if np.ndim(A) != 2:
        raise ShapeError(f"funm: a stack of matrices of shape {list(A.shape)}. Call it for each matrix")
    w, v = ops.eig(A)
    values = func(w + 0j)
    if np.shape(values) != w.shape:
        raise ShapeError(
            f"funm: func made shape {list(np.shape(values))} of {list(w.shape)}. It must keep it"
        )
    result = (v * values) @ inverse_of_basis(v)
    if result.dtype.kind != "c" or A.dtype.kind == "c":
        return result
    tolerance = 1e6 * np.finfo(float).eps if A.dtype.char == "d" else 1e3 * np.finfo(np.float32).eps
    return result.real if np.all(np.abs(result.imag) <= tolerance) else result


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


def signm(A: Any, disp: bool = True) -> Any:
    """Return the sign of square matrices: that of the real part of each eigenvalue.

    Parameters
    ----------
    A : array_like or Var
        ``(..., n, n)``, without eigenvalues on the imaginary axis.
    disp : bool
        False is refused: SciPy is about to remove it.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, n)``.

    Raises
    ------
    SingularMatrixError
        In a sweep, if an eigenvalue is on the imaginary axis.
    UnsupportedError
        With ``disp=False``.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.signm(np.array([[2.0, 1.0], [0.0, -1.0]])).round(12)
    array([[ 1.        ,  0.66666667],
           [ 0.        , -1.        ]])
    """
    if not disp:
        raise UnsupportedError("signm: disp=False is not there. Compare the square of the result with 1")
    return sylvester.signm(square("signm", A))


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
    t = t.item() if isinstance(t, np.generic) else t
    if isinstance(t, (int, float)) and t == int(t):
        return ops.matrix_power(A, int(t))
    return ops.expm((t if isinstance(t, float) else operand(t)) * logm(A))


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
