"""Linear problems with limits, as in `scipy.optimize`: `linprog`, `lsq_linear` and `nnls`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors, ops
from tape.ops.linalg import norm
from tape.scipy._operands import has_vars, operand
from tape.scipy.optimize._calls import Calls, refuse_vars
from tape.scipy.optimize._layout import Sides, as_tree
from tape.scipy.optimize._minimum import Minimum, Reached
from tape.scipy.optimize._optimality import Conditions, Limits

__all__ = ["linprog", "lsq_linear", "nnls"]


def linprog(
    c: Any,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    method: str = "highs",
    callback: Any = None,
    options: dict[str, Any] | None = None,
    x0: Any = None,
    integrality: Any = None,
) -> Any:
    """Minimise ``c @ x``, where ``A_ub @ x <= b_ub``, ``A_eq @ x == b_eq`` and x is within bounds.

    Parameters
    ----------
    c : array or Var, shape (n,)
        The costs.
    A_ub, A_eq : array, sparse array or Var, shape (m, n), optional
        The constraints.
    b_ub, b_eq : array or Var, shape (m,), optional
        Their limits.
    bounds : pair, sequence of pairs, array or Var
        As in SciPy: one pair (low, high) for all, or one for each; None for no limit.
    method, callback, options, x0, integrality
        As in SciPy.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As SciPy's. If anything is a Var, so are ``x``, ``fun``, ``slack`` and ``con``, and there are besides
        them ``success`` and, but for programs and batches, ``status``, ``message`` and ``nit``. Without a
        solution ``x`` is None, in programs and batches NaN.

    Raises
    ------
    OptionError
        If SciPy does not take the arguments.
    UnsupportedError
        If there is a Var, and some x are whole numbers. In a sweep, if the solution has no derivative since a
        limit is active without force or depends on others: it is named.
    SingularMatrixError, ConvergenceError
        In a sweep, if there is more than one solution, or none.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.scipy.optimize import linprog
    >>> def income(hours):
    ...     return -linprog([-3.0, -5.0], [[1.0, 2.0], [3.0, 2.0]], hours).fun
    >>> tape.grad(income)(np.array([4.0, 6.0]))
    array([2.25, 0.25])
    """
    from scipy import optimize

    refuse_vars("linprog", (options, x0, integrality))
    c = operand(c)
    A_ub, b_ub, A_eq, b_eq = (None if one is None else _matrix(one) for one in (A_ub, b_ub, A_eq, b_eq))
    size = int(np.size(c))
    _refuse_complex("linprog", c, A_ub, b_ub, A_eq, b_eq, bounds)

    def run(c: Any, A_ub: Any, b_ub: Any, A_eq: Any, b_eq: Any, bounds: Any) -> Reached:
        calls = Calls()
        with calls.translating("linprog"):
            found = optimize.linprog(
                c, A_ub, b_ub, A_eq, b_eq, bounds, method, callback, options, x0, integrality
            )
        x = np.full(size, np.nan) if found.x is None else np.asarray(found.x, float)
        return Reached(x, bool(found.success), found)

    def limits(x: Any, c: Any, A_ub: Any, b_ub: Any, A_eq: Any, b_eq: Any, bounds: Any) -> Limits:
        values, low, high = [], [], []
        if A_ub is not None:
            values.append(_dense(A_ub) @ x)
            low.append(np.full(values[-1].shape, -np.inf))
            high.append(ops.ravel(b_ub))
        if A_eq is not None:
            values.append(_dense(A_eq) @ x)
            low.append(ops.ravel(b_eq))
            high.append(low[-1])
        return Limits(*(ops.concatenate(parts) for parts in (values, low, high)))

    has_rows = A_ub is not None or A_eq is not None
    count = 0 if A_ub is None else A_ub.shape[0]

    def name_of(k: int) -> str:
        if k < size:
            return f"the bound of x[{k}]"
        k -= size
        return f"row {k} of A_ub" if k < count else f"row {k - count} of A_eq"

    conditions = Conditions(
        size,
        lambda x, c, *rest: ops.sum(ops.ravel(c) * x),
        lambda *given: _box(given[-1], size),
        limits if has_rows else None,
    )
    given = (c, A_ub, b_ub, A_eq, b_eq, bounds)
    minimum = Minimum("linprog", conditions, run, given, name_of)
    if minimum.is_plain or (not minimum.is_varying and minimum.report.x is None):
        return minimum.report
    if np.any(integrality):
        raise errors.UnsupportedError(
            "linprog: with integrality the solution jumps, and is not differentiable. Leave it out, or use "
            "tape.stop_gradient on the arguments"
        )
    x, success = minimum.solution()
    slack = np.zeros(0) if A_ub is None else ops.ravel(b_ub) - _dense(A_ub) @ x
    con = np.zeros(0) if A_eq is None else ops.ravel(b_eq) - _dense(A_eq) @ x
    return minimum.result(x, success, fun=ops.sum(ops.ravel(c) * x), slack=slack, con=con)


def lsq_linear(
    A: Any,
    b: Any,
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    tol: float = 1e-10,
    lsq_solver: str | None = None,
    lsmr_tol: Any = None,
    max_iter: int | None = None,
    verbose: int = 0,
    *,
    lsmr_maxiter: int | None = None,
) -> Any:
    """Minimise ``0.5 * sum((A @ x - b)**2)``, where x is within bounds, as `scipy.optimize.lsq_linear`.

    Parameters
    ----------
    A : array, sparse array or Var, shape (m, n)
        The matrix.
    b : array or Var, shape (m,)
        The right-hand side.
    bounds : pair or scipy.optimize.Bounds
        The lower and the upper bounds, numbers, arrays or Vars.
    method, tol, lsq_solver, lsmr_tol, max_iter, verbose, lsmr_maxiter
        As in SciPy.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As SciPy's. If anything is a Var, so are ``x``, ``cost`` and ``fun``, the residuals, and there are
        besides them ``success`` and, but for programs and batches, ``status``, ``message`` and ``nit``.

    Raises
    ------
    OptionError
        If SciPy does not take the arguments.
    UnsupportedError
        If there is a Var, and ``A`` is a LinearOperator. In a sweep, if a bound is active without force.
    SingularMatrixError
        In a sweep, if columns of the matrix that are not at a bound are linearly dependent.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.scipy.optimize import lsq_linear
    >>> matrix = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> found = tape.jacobian(lambda b: lsq_linear(matrix, b, (0.0, 1.0)).x)(np.array([2.0, 1.5, 0.0]))
    >>> (found + 0.0).round(8)
    array([[0. , 0. , 0. ],
           [0. , 0.5, 0.5]])
    """
    from scipy import optimize

    options = (tol, lsmr_tol, max_iter, lsmr_maxiter)
    refuse_vars("lsq_linear", options)
    A, b, bounds = _matrix(A), operand(b), as_tree(bounds)
    _check_rank("lsq_linear", A)
    _refuse_complex("lsq_linear", A, b)
    if isinstance(bounds, Sides):
        bounds = (bounds.low, bounds.high)

    def run(A: Any, b: Any, bounds: Any) -> Reached:
        calls = Calls()
        with calls.translating("lsq_linear"):
            found = optimize.lsq_linear(
                A, b, bounds, method, tol, lsq_solver, lsmr_tol, max_iter, verbose, lsmr_maxiter=lsmr_maxiter
            )
        return Reached(np.asarray(found.x), bool(found.success), found)

    def sides(A: Any, b: Any, bounds: Any) -> Any:
        return tuple(
            ops.broadcast_to(ops.astype(operand(side), np.float64), (A.shape[-1],)) for side in bounds
        )

    minimum = _least_squares("lsq_linear", run, sides, (A, b, bounds))
    if minimum.is_plain:
        return minimum.report
    x, success = minimum.solution()
    missed = _dense(A) @ x - ops.ravel(b)
    return minimum.result(x, success, cost=0.5 * ops.sum(missed**2), fun=missed)


def nnls(A: Any, b: Any, *, maxiter: int | None = None, **options: Any) -> tuple[Any, Any]:
    """Minimise the norm of ``A @ x - b``, where x is not negative, as `scipy.optimize.nnls`.

    Parameters
    ----------
    A : array or Var, shape (m, n)
        The matrix.
    b : array or Var, shape (m,)
        The right-hand side.
    maxiter, **options
        As in SciPy.

    Returns
    -------
    x : array or Var, shape (n,)
        The solution.
    rnorm : float or Var
        The norm; its derivative is zero where it is.

    Raises
    ------
    OptionError
        If SciPy does not take the arguments.
    ConvergenceError
        If it does not converge.
    UnsupportedError
        In a sweep, if an element is zero without force, so that the solution has a kink.
    SingularMatrixError
        In a sweep, if columns of the matrix for positive elements are linearly dependent.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.scipy.optimize import nnls
    >>> matrix = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> tape.jacobian(lambda b: nnls(matrix, b)[0])(np.array([2.0, 1.0, -2.0])).round(8) + 0.0
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 0. ]])
    """
    from scipy import optimize

    A, b = _matrix(A), operand(b)
    _check_rank("nnls", A)
    _refuse_complex("nnls", A, b)

    def run(A: Any, b: Any) -> Reached:
        calls = Calls()
        with calls.translating("nnls"):
            found = optimize.nnls(A, b, maxiter=maxiter, **options)
        return Reached(found[0], True, found)

    def sides(A: Any, b: Any) -> Any:
        return np.zeros(A.shape[-1]), np.full(A.shape[-1], np.inf)

    minimum = _least_squares("nnls", run, sides, (A, b))
    x = minimum.report[0] if minimum.is_plain else minimum.solution()[0]
    return x, norm(_dense(A) @ x - ops.ravel(b))


def _least_squares(what: str, run: Any, sides: Any, given: tuple[Any, ...]) -> Minimum:
    """Return the minimum of ``0.5 * sum((A @ x - b)**2)``, where A and b are the first arguments."""

    def value(x: Any, A: Any, b: Any, *rest: Any) -> Any:
        return 0.5 * ops.sum((_dense(A) @ x - ops.ravel(b)) ** 2)

    conditions = Conditions(int(given[0].shape[-1]), value, sides)
    return Minimum(what, conditions, run, given, lambda k: f"the bound of x[{k}]")


def _matrix(x: Any) -> Any:
    """Return an argument as an array, a Var, or the sparse array or operator that it is."""
    return x if hasattr(x, "toarray") or hasattr(x, "rmatvec") else operand(x)


def _check_rank(what: str, A: Any) -> None:
    if not A.shape:
        raise errors.ShapeError(f"{what}: A is {errors.describe(A)}. It must be a matrix")


def _refuse_complex(what: str, *arguments: Any) -> None:
    for x in arguments if has_vars(*arguments) else ():
        if getattr(x, "dtype", np.dtype(float)).kind == "c":
            raise errors.DTypeError(f"{what}: {errors.describe(x)} is complex. Pass real numbers")


def _dense(x: Any) -> Any:
    """Return a matrix as an array or a Var."""
    if hasattr(x, "toarray"):
        return x.toarray()
    if hasattr(x, "rmatvec"):
        raise errors.UnsupportedError(
            "lsq_linear: with a LinearOperator there are no derivatives. Pass the matrix as an array"
        )
    return x


def _box(bounds: Any, size: int) -> tuple[Any, Any]:
    """Return the bounds of linprog, one for each element."""
    if bounds is None or len(bounds) == 0:
        return np.zeros(size), np.full(size, np.inf)
    if not hasattr(bounds, "shape"):
        is_single = not isinstance(bounds[0], (tuple, list)) and np.ndim(bounds[0]) == 0
        pairs = [bounds] if is_single else bounds
        rows = [
            [free if x is None else x for x, free in zip(pair, (-np.inf, np.inf), strict=True)]
            for pair in pairs
        ]
        bounds = operand(rows) if has_vars(rows) else np.array(rows, float)
    pairs = ops.reshape(ops.astype(bounds, np.float64), (-1, 2))
    low, high = (ops.broadcast_to(pairs[:, k], (size,)) for k in (0, 1))
    return ops.where(ops.isnan(low), -np.inf, low), ops.where(ops.isnan(high), np.inf, high)
