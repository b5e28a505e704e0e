"""`minimize_scalar`: minima of functions of one number, as in `scipy.optimize`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape import errors, ops
from tape.scipy._operands import inside, operand
from tape.scipy.optimize._calls import Calls, refuse_vars
from tape.scipy.optimize._implicit import checked_function
from tape.scipy.optimize._minimum import Minimum, Reached
from tape.scipy.optimize._optimality import Conditions
from tape.transforms._record import name_of

__all__ = ["minimize_scalar"]


def minimize_scalar(
    fun: Callable[..., Any],
    bracket: Any = None,
    bounds: Any = None,
    args: Any = (),
    method: Any = None,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Minimise a function of one number, as `scipy.optimize.minimize_scalar`.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)``, a number. The minimum is differentiable by all Vars among ``args`` and those that
        ``fun`` closes over.
    bracket : sequence, optional
        Where to look, as in SciPy; the minimum does not depend on it.
    bounds : pair, optional
        Numbers or Vars, for the method "bounded". A minimum at a bound is differentiable by it.
    args, method, tol, options
        As in SciPy.

    Returns
    -------
    scipy.optimize.OptimizeResult
        ``x`` and ``fun`` are Vars if anything is; then there are besides them ``success`` and, but for
        programs and batches, ``message`` and counts.

    Raises
    ------
    OptionError
        If SciPy does not take the arguments.
    DTypeError
        If the function is complex.
    ConversionError
        If an option is a Var.
    UnsupportedError, SingularMatrixError, ConvergenceError
        In a sweep, where the minimum has no derivative, as those of `minimize`.

    Examples
    --------
    >>> import tape
    >>> from tape.scipy.optimize import minimize_scalar
    >>> def lowest(a):
    ...     return minimize_scalar(lambda x: x**4 / 4 - a * x).x
    >>> float(tape.grad(lowest)(8.0).round(10))
    0.0833333333
    """
    from scipy import optimize

    f = checked_function(fun, "minimize_scalar")
    args = args if isinstance(args, tuple) else (args,)
    refuse_vars("minimize_scalar", (tol, options))
    if bounds is not None and len(bounds) != 2:
        raise errors.OptionError(
            f"minimize_scalar: bounds are {errors.describe(bounds)}. Give a pair (low, high)"
        )

    def run(bracket: Any, bounds: Any, args: Any) -> Reached:
        calls = Calls()
        with calls.translating("minimize_scalar"):
            found = optimize.minimize_scalar(
                calls.real_of(f, "minimize_scalar"),
                bracket,
                bounds,
                args,
                method,
                tol,
                None if options is None else dict(options),
            )
        return Reached(np.ravel(found.x).astype(np.float64), bool(found.success), found)

    def value(x: Any, bracket: Any, bounds: Any, args: Any) -> Any:
        found = operand(f(x[0], *args))
        if found.size != 1:
            raise errors.ShapeError(
                f"minimize_scalar: the function returned shape {list(found.shape)}. It must be a number"
            )
        return ops.reshape(inside(found), ())

    def sides(bracket: Any, bounds: Any, args: Any) -> tuple[Any, Any]:
        low, high = (-np.inf, np.inf) if bounds is None else bounds
        return ops.reshape(operand(low), (1,)), ops.reshape(operand(high), (1,))

    given = (bracket, bounds, args)
    minimum = Minimum(
        f"minimize_scalar({name_of(fun)})",
        Conditions(1, value, sides),
        run,
        given,
        lambda k: "the bound of x",
    )
    if minimum.is_plain:
        return minimum.report
    x, success = minimum.solution()
    return minimum.result(x[0], success, fun=value(x, *given))
