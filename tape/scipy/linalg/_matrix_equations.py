"""Matrix equations: Sylvester's, Lyapunov's and Riccati's."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.errors import OptionError, ShapeError
from tape.ops import linalg as ops
from tape.ops.linalg.packing import dagger
from tape.ops.linalg.riccati import continuous_riccati, discrete_riccati
from tape.ops.linalg.sylvester import sylvester
from tape.scipy.linalg._arrays import matrix, square

__all__ = [
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_lyapunov",
    "solve_sylvester",
]


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solve ``a @ x + x @ b = q`` for x.

    Parameters
    ----------
    a, b, q : array_like or Var
        ``(..., m, m)``, ``(..., n, n)`` and ``(..., m, n)``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., m, n)``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    SingularMatrixError
        If there is no unique solution.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.solve_sylvester(np.eye(2), np.eye(1), np.ones((2, 1)))
    array([[0.5],
           [0.5]])
    """
    a, b, q = square("solve_sylvester", a), square("solve_sylvester", b), matrix("solve_sylvester", q)
    if q.shape[-2:] != (a.shape[-1], b.shape[-1]):
        raise ShapeError(
            f"solve_sylvester: q of shape {list(q.shape)} does not fit a of shape {list(a.shape)} and b of "
            f"shape {list(b.shape)}. It must be {[a.shape[-1], b.shape[-1]]}"
        )
    return sylvester(a, b, q)


def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Solve ``a @ x + x @ a.conj().T = q`` for x: see `solve_sylvester`."""
    a = square("solve_continuous_lyapunov", a)
    return solve_sylvester(a, dagger(a), q)


solve_lyapunov = solve_continuous_lyapunov


def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    """Solve ``a @ x @ a.conj().T - x + q = 0`` for x.

    Parameters
    ----------
    a, q : array_like or Var
        ``(n, n)``.
    method : {"direct", "bilinear"}, optional
        By one system of ``n**2`` equations, the way up to n = 9; or by a continuous equation.

    Returns
    -------
    numpy.ndarray or Var
        ``(n, n)``.

    Raises
    ------
    OptionError
        If there is no such method.
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.solve_discrete_lyapunov(np.array([[0.5]]), np.array([[3.0]]))
    array([[4.]])
    """
    a, q = square("solve_discrete_lyapunov", a), square("solve_discrete_lyapunov", q)
    n = a.shape[-1]
    if method not in (None, "direct", "bilinear"):
        raise OptionError(f"solve_discrete_lyapunov: method={method!r}. It must be 'direct' or 'bilinear'")
    if a.shape != q.shape or np.ndim(a) != 2:
        raise ShapeError(
            f"solve_discrete_lyapunov: shapes {list(a.shape)} and {list(q.shape)}. Give two (n, n)"
        )
    dtype = np.result_type(a)
    eye = np.eye(n, dtype=dtype)
    if method == "direct" or (method is None and n < 10):
        system = np.eye(n * n, dtype=dtype) - np.kron(a, np.conj(a))
        return ops.solve(system, q.reshape(n * n)).reshape(n, n)
    turned = dagger(a)
    inverse = ops.inv(turned + eye)
    b = dagger((turned - eye) @ inverse)
    return solve_continuous_lyapunov(b, -2 * (ops.solve(a + eye, q) @ inverse))


def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Solve Riccati's equation of continuous time for the x that stabilises.

    The equation is ``a^H x e + e^H x a - (e^H x b + s) r^-1 (b^H x e + s^H) + q = 0``.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``.
    b : array_like or Var
        ``(..., n, k)``.
    q, r : array_like or Var
        ``(..., n, n)`` and ``(..., k, k)``, Hermitian; their derivatives are those among Hermitian matrices.
    e, s : array_like or Var, optional
        ``(..., n, n)``, the identity by default, and ``(..., n, k)``, zeros by default.
    balanced : bool
        Whether the eigenvalue problem is balanced first. It is not if there is an e: SciPy 1.17 then returns
        what does not solve the equation.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, n)``, Hermitian.

    Raises
    ------
    OptionError
        If q or r is not Hermitian, or r or e is singular.
    ShapeError
        If a matrix is not square, or the shapes do not fit.
    SingularMatrixError
        If there is no solution.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.linalg.solve_continuous_are(np.eye(1), np.eye(1), 3 * np.eye(1), np.eye(1)).round(12)
    array([[3.]])
    """
    operands, given = _of_riccati("solve_continuous_are", a, b, q, r, e, s)
    return continuous_riccati(*operands, balanced=bool(balanced), given=given)


def solve_discrete_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Solve Riccati's equation of discrete time for the x that stabilises.

    The equation is ``a^H x a - e^H x e - (a^H x b + s) (r + b^H x b)^-1 (b^H x a + s^H) + q = 0``.
    Parameters, errors and result are those of `solve_continuous_are`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> one = np.eye(1)
    >>> tape.scipy.linalg.solve_discrete_are(one, one, 0.5 * one, one).round(12)
    array([[1.]])
    """
    operands, given = _of_riccati("solve_discrete_are", a, b, q, r, e, s)
    return discrete_riccati(*operands, balanced=bool(balanced), given=given)


def _of_riccati(
    name: str, a: Any, b: Any, q: Any, r: Any, e: Any, s: Any
) -> tuple[tuple[Any, Any, Any, Any, Any, Any], str]:
    """Return all matrices, the identity and zeros for those not given, and the letters of those given."""
    a, b, q, r = square(name, a), matrix(name, b), square(name, q), square(name, r)
    given = "".join(letter for letter, x in (("e", e), ("s", s)) if x is not None)
    n, k = b.shape[-2:]
    dtype = np.result_type(a, b, q, r)
    e = np.eye(n, dtype=dtype) if e is None else square(name, e)
    s = np.zeros((n, k), dtype) if s is None else matrix(name, s)
    shapes = [x.shape[-2:] for x in (a, q, e, r, s)]
    if shapes != [(n, n), (n, n), (n, n), (k, k), (n, k)]:
        raise ShapeError(
            f"{name}: with b of shape {list(b.shape)} a, q and e must be {[n, n]}, r {[k, k]}, s {[n, k]}; "
            f"they are {', '.join(str(list(shape)) for shape in shapes)}"
        )
    return (a, b, q, r, e, s), given
