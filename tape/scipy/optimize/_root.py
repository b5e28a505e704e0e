"""`root`: solve as many equations as unknowns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape import errors
from tape.scipy.optimize._calls import check_options, refuse_vars, reporting, with_tree
from tape.scipy.optimize._functions import Latest, Residuals
from tape.scipy.optimize._implicit import checked_function
from tape.scipy.optimize._layout import Unknowns
from tape.scipy.optimize._roots import Found, Roots
from tape.transforms._record import name_of

_JACOBIAN = frozenset({"hybr", "lm"})
_METHODS = _JACOBIAN | {
    *("broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing"),
    *("krylov", "df-sane"),
}

_WIDTH, _REACH = 1e-8, 1e-4
"""How far from the solution the exact of SciPy's methods stop, and the others."""


def root(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    *,
    callback: Callable[..., Any] | None = None,
    progress: bool = False,
    **options: Any,
) -> Any:
    """Solve equations as `scipy.optimize.root` does, with trees, and the exact Jacobian for hybr and lm.

    Parameters
    ----------
    f : callable
        ``f(x, *args)``, plain NumPy code that returns as many residuals as there are unknowns: an array,
        or a tree.
    x0, args, callback, progress
        As for `minimize`.
    method : str
        One of SciPy's. hybr and lm get the Jacobian; the others approximate it themselves.
    **options
        ``tol`` and ``options`` of SciPy.

    Returns
    -------
    scipy.optimize.OptimizeResult
        With ``x`` as a tree like ``x0``, and ``fun`` as one like the residuals. Where they depend on Vars
        both are differentiable by these, and the counts are left out in programs and batches.

    Raises
    ------
    DTypeError, ShapeError, ConversionError, OptionError
        As `minimize`; ShapeError also if there are more or fewer residuals than unknowns.
    ConvergenceError
        If there is a Var and the solver has not converged.
    SingularMatrixError
        In a sweep, if the Jacobian is singular at the solution, which then has no derivative.

    Examples
    --------
    >>> import numpy as np, tape
    >>> found = tape.scipy.root(lambda p: {"u": p["u"] ** 2 - 2, "v": p["v"] - p["u"]}, {"u": 1.0, "v": 1.0})
    >>> float(found.x["v"].round(8))
    1.41421356
    """
    where = "tape.scipy.root"
    check_options(where, options, allowed=("tol", "options"), exact=("jac",))
    if not isinstance(method, str) or method.lower() not in _METHODS:
        raise errors.OptionError(
            f"{where}: unknown method {method!r}. Use one of {', '.join(sorted(_METHODS))}"
        )
    refuse_vars(where, options)
    unknowns = Unknowns(x0, where)
    f = checked_function(f, where)
    args = args if isinstance(args, tuple) else (args,)
    layouts = []
    from scipy import optimize

    def run(x0: Any, args: Any) -> Found:
        unknowns = Unknowns(x0, where)
        residuals = Residuals(f, unknowns, args, is_plain=True)
        values = Latest(residuals)
        count = values(unknowns.start).size
        if count != unknowns.size:
            raise errors.ShapeError(
                f"{where}: {residuals.__name__} returned {count} residuals for {unknowns.size} unknowns. "
                "Return as many, or use tape.scipy.least_squares"
            )
        layouts.append(residuals.layout)
        with reporting(progress, "root") as seen:
            found = optimize.root(
                lambda x: seen(values(x)),
                unknowns.start,
                method=method,
                jac=residuals.jacobian if method.lower() in _JACOBIAN else None,
                callback=with_tree(callback, unknowns),
                **options,
            )
        return Found(found.x, found.success, " ".join(str(found.message).split()), found)

    def values_at(x: Any, *args: Any) -> Any:
        return Residuals(f, unknowns, args)(x)

    values_at.__name__ = name_of(f)
    roots = Roots(where, values_at, x0, args, run, lambda x: _WIDTH * x, lambda x: _REACH * (x + 0.1))
    x, found, layout = roots.root(), roots.found.report, layouts[0]
    if roots.is_plain:
        found.fun = layout.restore(np.asarray(found.fun))
        return unknowns.with_trees(found)
    result = optimize.OptimizeResult(
        x=unknowns.restore(x), fun=layout.restore(values_at(x, *args)), success=True
    )
    if not roots.is_varying:
        kept = ("status", "message", "nit", "nfev", "njev")
        result.update({key: found[key] for key in kept if key in found})
    return result
