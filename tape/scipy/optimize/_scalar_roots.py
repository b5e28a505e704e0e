"""Roots of functions of one number, as in `scipy.optimize`: bracketing methods, `newton`, `root_scalar`.

SciPy finds them on plain numbers. They are differentiable by what the function depends on, and by neither
bracket nor start: see `tape.scipy.optimize._implicit`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape import ops
from tape.scipy.optimize._calls import Calls
from tape.scipy.optimize._implicit import checked_function
from tape.scipy.optimize._roots import Found, Roots

__all__ = ["bisect", "brenth", "brentq", "newton", "ridder", "root_scalar", "toms748"]

_XTOL, _RTOL = 2e-12, float(4 * np.finfo(float).eps)
_NEWTON_TOL = 1.48e-8


def brentq(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    xtol: float = _XTOL,
    rtol: float = _RTOL,
    maxiter: int = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Find a root between a and b by Brent's method, as `scipy.optimize.brentq`.

    Parameters
    ----------
    f : callable
        ``f(x, *args)``, a continuous function of one number. The root is differentiable by all Vars among
        ``args`` and those that ``f`` closes over.
    a, b : float or Var
        The bracket, where f has different signs. The root does not depend on it.
    args : tuple
        Further arguments of ``f``.
    xtol, rtol, maxiter, full_output, disp
        As in SciPy.

    Returns
    -------
    float or Var
        The root; with ``full_output`` also SciPy's RootResults, of which a program or a batch leaves out how
        often f was called.

    Raises
    ------
    OptionError
        If the signs at a and b are the same, or an option is out of range.
    DTypeError
        If f is complex.
    ConvergenceError
        If it does not converge within ``maxiter`` steps; without ``disp`` only if there is a Var. In a sweep,
        if f jumps over zero at what was found.
    SingularMatrixError
        In a sweep, if the derivative of f vanishes at the root, which then has none.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.scipy.optimize import brentq
    >>> def crossing(a):
    ...     return brentq(lambda x: x * np.exp(x) - a, 0.0, 2.0)
    >>> float(crossing(1.0).__round__(10)), float(tape.grad(crossing)(1.0).round(10))
    (0.5671432904, 0.3618962566)
    """
    options = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter}
    return _bracketed("brentq", f, a, b, args, options, full_output, disp)


def brenth(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    xtol: float = _XTOL,
    rtol: float = _RTOL,
    maxiter: int = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Find a root between a and b by Brent's method with hyperbolas, as `scipy.optimize.brenth`.

    Arguments, result and errors are those of `brentq`.

    Examples
    --------
    >>> import tape
    >>> from tape.scipy.optimize import brenth
    >>> float(tape.grad(lambda a: brenth(lambda x: x**3 - a, 0.0, 3.0))(8.0).round(10))
    0.0833333333
    """
    options = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter}
    return _bracketed("brenth", f, a, b, args, options, full_output, disp)


def bisect(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    xtol: float = _XTOL,
    rtol: float = _RTOL,
    maxiter: int = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Find a root between a and b by bisection, as `scipy.optimize.bisect`.

    Arguments, result and errors are those of `brentq`.

    Examples
    --------
    >>> import tape
    >>> from tape.scipy.optimize import bisect
    >>> float(tape.grad(lambda a: bisect(lambda x: x**3 - a, 0.0, 3.0))(8.0).round(10))
    0.0833333333
    """
    options = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter}
    return _bracketed("bisect", f, a, b, args, options, full_output, disp)


def ridder(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    xtol: float = _XTOL,
    rtol: float = _RTOL,
    maxiter: int = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Find a root between a and b by Ridder's method, as `scipy.optimize.ridder`.

    Arguments, result and errors are those of `brentq`.

    Examples
    --------
    >>> import tape
    >>> from tape.scipy.optimize import ridder
    >>> float(tape.grad(lambda a: ridder(lambda x: x**3 - a, 0.0, 3.0))(8.0).round(10))
    0.0833333333
    """
    options = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter}
    return _bracketed("ridder", f, a, b, args, options, full_output, disp)


def toms748(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    k: int = 1,
    xtol: float = _XTOL,
    rtol: float = _RTOL,
    maxiter: int = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Find a root between a and b by Alefeld, Potra and Shi's method, as `scipy.optimize.toms748`.

    Arguments, result and errors are those of `brentq`; ``k`` is SciPy's.

    Examples
    --------
    >>> import tape
    >>> from tape.scipy.optimize import toms748
    >>> float(tape.grad(lambda a: toms748(lambda x: x**3 - a, 0.0, 3.0))(8.0).round(10))
    0.0833333333
    """
    options = {"k": k, "xtol": xtol, "rtol": rtol, "maxiter": maxiter}
    return _bracketed("toms748", f, a, b, args, options, full_output, disp)


def newton(
    func: Callable[..., Any],
    x0: Any,
    fprime: Callable[..., Any] | None = None,
    args: Any = (),
    tol: float = _NEWTON_TOL,
    maxiter: int = 50,
    fprime2: Callable[..., Any] | None = None,
    x1: Any = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Find roots near x0 by the methods of Newton, Halley or secants, as `scipy.optimize.newton`.

    Parameters
    ----------
    func : callable
        ``func(x, *args)``, of the shape of x. The roots are differentiable by all Vars among ``args`` and
        those that ``func`` closes over.
    x0, x1 : float, array or Var
        Where to start; the roots do not depend on it.
    fprime, fprime2 : callable, optional
        The first two derivatives, called with the same arguments, for the iteration alone. Without them it
        is that of secants.
    args : tuple
        Further arguments of ``func``, ``fprime`` and ``fprime2``.
    tol, maxiter, rtol, full_output, disp
        As in SciPy.

    Returns
    -------
    float, array or Var
        The roots, of the shape of ``x0``; with ``full_output`` what SciPy returns.

    Raises
    ------
    ConvergenceError
        If it does not converge; of several roots, or without ``disp``, only if there is a Var, or SciPy
        raises.
    SingularMatrixError
        In a sweep, if the derivative of func vanishes at a root, which then has none.
    DTypeError
        If complex roots depend on a Var: `tape.root` differentiates these.

    Notes
    -----
    Derivatives of an array of roots solve with its dense Jacobian.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.scipy.optimize import newton
    >>> start = np.array([1.0, 2.0])
    >>> tape.elementwise_grad(lambda a: newton(lambda x: x**2 - a, start))(np.array([1.0, 16.0])).round(10)
    array([0.5  , 0.125])
    """
    from scipy import optimize

    args = args if isinstance(args, tuple) else (args,)
    f = checked_function(func, "newton")

    def run(start: Any, args: Any) -> Found:
        x0, x1 = start
        calls = Calls()
        first, second = (None if g is None else calls.of(g) for g in (fprime, fprime2))
        with calls.translating("newton"):
            found = optimize.newton(
                calls.of(f), x0, first, args, tol, maxiter, second, x1, rtol, full_output=True, disp=disp
            )
        if len(found) == 2:
            return Found(found[0], found[1].converged, found[1].flag, found[1])
        return Found(found[0], found[1], "some roots have not been found", found)

    roots = Roots("newton", f, (x0, x1), args, run, lambda x: tol + rtol * x)
    root = roots.root()
    report: Any = roots.found.report
    if not full_output:
        return root
    if hasattr(report, "method"):  # of one root
        return root, _reported(roots, root)
    if roots.is_varying:
        return type(report)(root, ops.ones_like(root, dtype=bool), ops.zeros_like(root, dtype=bool))
    return type(report)(root, *report[1:])


def root_scalar(
    f: Callable[..., Any],
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Find a root of a function of one number by any of the methods here, as `scipy.optimize.root_scalar`.

    Parameters
    ----------
    f : callable
        ``f(x, *args)``. The root is differentiable by all Vars among ``args`` and those that ``f`` closes
        over.
    bracket, x0, x1
        As in SciPy, numbers or Vars; the root does not depend on them.
    args, method, fprime, fprime2, xtol, rtol, maxiter, options
        As in SciPy; ``fprime`` and ``fprime2`` serve the iteration alone. Where the derivative is needed and
        not given, it is SciPy's difference.

    Returns
    -------
    scipy.optimize.RootResults
        ``root`` is a Var if anything is; a program or a batch leaves out how often f was called.

    Raises
    ------
    OptionError, ConvergenceError, SingularMatrixError
        As `brentq`; ConvergenceError only if there is a Var.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.scipy.optimize import root_scalar
    >>> def angle(a):
    ...     return root_scalar(lambda x: np.cos(x) - a * x, bracket=(0.0, 2.0)).root
    >>> float(tape.grad(angle)(1.0).round(10))
    -0.4416107917
    """
    from scipy import optimize

    args = args if isinstance(args, tuple) else (args,)
    checked = checked_function(f, "root_scalar")

    has_pair = bool(fprime) and not callable(fprime)

    def run(start: Any, args: Any) -> Found:
        bracket, x0, x1 = start
        calls = Calls()
        first, second = (calls.of(g) if callable(g) else g for g in (fprime, fprime2))
        with calls.translating("root_scalar"):
            found = optimize.root_scalar(
                calls.tuple_of(checked) if has_pair else calls.of(checked),
                args, method, bracket, first, second, x0, x1, xtol, rtol, maxiter, options,
            )  # fmt: skip
        return Found(found.root, found.converged, found.flag, found)

    chosen = {"xtol": xtol, "rtol": rtol, **(options or {})}
    absolute, relative = chosen.get("tol") or chosen["xtol"], chosen["rtol"]
    if absolute is None:
        absolute = _NEWTON_TOL if bracket is None else _XTOL
    if relative is None:
        relative = 0.0 if bracket is None else _RTOL
    values = (lambda x, *args: checked(x, *args)[0]) if has_pair else checked
    roots = Roots("root_scalar", values, (bracket, x0, x1), args, run, lambda x: absolute + relative * x)
    return _reported(roots, roots.root())


def _bracketed(
    what: str,
    f: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any,
    options: dict[str, Any],
    is_full: bool,
    disp: bool,
) -> Any:
    from scipy import optimize

    args = args if isinstance(args, tuple) else (args,)
    f = checked_function(f, what)

    def run(start: Any, args: Any) -> Found:
        calls = Calls()
        with calls.translating(what):
            root, report = getattr(optimize, what)(
                calls.real_of(f, what), *start, args, **options, full_output=True, disp=disp
            )
        return Found(root, report.converged, report.flag, report)

    roots = Roots(what, f, (a, b), args, run, lambda x: options["xtol"] + options["rtol"] * x)
    root = roots.root()
    return (root, _reported(roots, root)) if is_full else root


def _reported(roots: Roots, root: Any) -> Any:
    """Return SciPy's RootResults with a root that may be a Var."""
    report = roots.found.report
    report.root = root
    if roots.is_varying:
        report.iterations = report.function_calls = None
    return report
