"""Solutions of systems of equations, as in `scipy.optimize`: `fsolve` and `fixed_point`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tape import errors, ops
from tape.scipy._operands import operand
from tape.scipy.optimize._calls import Calls
from tape.scipy.optimize._implicit import checked_function
from tape.scipy.optimize._roots import Found, Roots

__all__ = ["fixed_point", "fsolve"]


def fsolve(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    fprime: Callable[..., Any] | None = None,
    full_output: Any = 0,
    col_deriv: Any = 0,
    xtol: float = 1.49012e-8,
    maxfev: int = 0,
    band: Any = None,
    epsfcn: float | None = None,
    factor: float = 100,
    diag: Any = None,
) -> Any:
    """Solve as many equations as unknowns by MINPACK's hybrid method, as `scipy.optimize.fsolve`.

    Parameters
    ----------
    func : callable
        ``func(x, *args)`` returns as many numbers as x has. The solution is differentiable by all Vars among
        ``args`` and those that ``func`` closes over.
    x0 : array or Var
        Where to start; the solution does not depend on it.
    args : tuple
        Further arguments of ``func`` and ``fprime``.
    fprime : callable, optional
        The Jacobian, called with the same arguments, for the iteration alone. Without it the iteration is
        SciPy's, with differences; `tape.scipy.optimize.root` has the exact one.
    full_output, col_deriv, xtol, maxfev, band, epsfcn, factor, diag
        As in SciPy.

    Returns
    -------
    x : array or Var, shape (n,)
        The solution.
    infodict, ier, mesg
        With ``full_output`` what SciPy returns. Where x is a Var, infodict has only how often functions were
        called, and in a program or a batch nothing.

    Raises
    ------
    ConvergenceError
        If there is a Var and the solver has not converged.
    OptionError
        If SciPy does not take the arguments.
    SingularMatrixError
        In a sweep, if the Jacobian is singular at the solution, which then has no derivative.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.scipy.optimize import fsolve
    >>> def meeting(radius):
    ...     return fsolve(lambda p: np.stack([p @ p - radius**2, p[0] - p[1]]), np.ones(2))
    >>> tape.jacobian(meeting)(2.0).round(8)
    array([0.70710678, 0.70710678])
    """
    from scipy import optimize

    args = args if isinstance(args, tuple) else (args,)
    f = checked_function(func, "fsolve")

    def run(start: Any, args: Any) -> Found:
        calls = Calls()
        with calls.translating("fsolve"):
            x, info, status, message = optimize.fsolve(
                calls.of(f), start, args, None if fprime is None else calls.of(fprime), True, col_deriv,
                xtol, maxfev, band, epsfcn, factor, diag,
            )  # fmt: skip
        return Found(x, status == 1, " ".join(message.split()), (info, status, message))

    roots = Roots("fsolve", f, operand(x0), args, run, lambda x: xtol * x, lambda x: 100 * xtol * x)
    x = roots.root()
    info, status, message = roots.found.report
    if not full_output:
        if roots.is_plain and status != 1:
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        return x
    if not roots.is_plain:
        info = {} if roots.is_varying else {key: info[key] for key in ("nfev", "njev") if key in info}
    return x, info, status, message


def fixed_point(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    xtol: float = 1e-8,
    maxiter: int = 500,
    method: str = "del2",
) -> Any:
    """Find the x for which ``func(x, *args)`` is x, as `scipy.optimize.fixed_point`.

    Parameters
    ----------
    func : callable
        ``func(x, *args)``, of the shape of x. The fixed point is differentiable by all Vars among ``args``
        and those that ``func`` closes over.
    x0 : array or Var
        Where to start; the fixed point does not depend on it.
    args, xtol, maxiter, method
        As in SciPy.

    Returns
    -------
    array or Var
        Of the shape of ``x0``.

    Raises
    ------
    ConvergenceError
        If it does not converge within ``maxiter`` steps.
    OptionError
        If there is no such method.
    SingularMatrixError
        In a sweep, if the Jacobian of ``func(x) - x`` is singular: the fixed point has no derivative.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.scipy.optimize import fixed_point
    >>> def crossing(a):
    ...     return fixed_point(lambda x: a * np.cos(x), 1.0)
    >>> float(tape.grad(crossing)(1.0).round(10))
    0.4416107917
    """
    from scipy import optimize

    if method not in ("del2", "iteration"):
        raise errors.OptionError(f"fixed_point: unknown method {method!r}. Use 'del2' or 'iteration'")
    args = args if isinstance(args, tuple) else (args,)
    f = checked_function(func, "fixed_point")

    def run(start: Any, args: Any) -> Found:
        calls = Calls()
        with calls.translating("fixed_point"):
            x = optimize.fixed_point(calls.of(f), start, args, xtol, maxiter, method)
        return Found(x, True, "", None)

    def residual(x: Any, *args: Any) -> Any:
        return ops.subtract(operand(f(x, *args)), x)

    residual.__name__ = getattr(func, "__name__", "f")
    roots = Roots(
        "fixed_point", residual, operand(x0), args, run, lambda x: xtol * x, lambda x: 1000 * xtol * x
    )
    return roots.root()
