"""`root`: solve as many equations as unknowns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape import errors
from tape.scipy.optimize._calls import check_options, reporting, with_tree
from tape.scipy.optimize._functions import Latest, Residuals
from tape.scipy.optimize._layout import Unknowns

_JACOBIAN = frozenset({"hybr", "lm"})
_METHODS = _JACOBIAN | {
    *("broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing"),
    *("krylov", "df-sane"),
}


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
        With ``x`` as a tree like ``x0``, and ``fun`` as one like the residuals.

    Raises
    ------
    DTypeError, ShapeError, ConversionError, OptionError
        As `minimize`; ShapeError also if there are more or fewer residuals than unknowns.

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
    unknowns = Unknowns(x0, where)
    from scipy import optimize

    residuals = Residuals(f, unknowns, args)
    values = Latest(residuals)
    count = values(unknowns.start).size
    if count != unknowns.size:
        raise errors.ShapeError(
            f"{where}: {residuals.__name__} returned {count} residuals for {unknowns.size} unknowns. Return "
            "as many, or use tape.scipy.least_squares"
        )
    with reporting(progress, "root") as seen:
        found = optimize.root(
            lambda x: seen(values(x)),
            unknowns.start,
            method=method,
            jac=residuals.jacobian if method.lower() in _JACOBIAN else None,
            callback=with_tree(callback, unknowns),
            **options,
        )
    found.fun = residuals.layout.restore(np.asarray(found.fun))
    return unknowns.with_trees(found)
