"""Solvers of `scipy.optimize`, whose solutions are differentiable by what the caller's functions depend on.

`minimize`, `least_squares`, `root` and `curve_fit` take trees, and give SciPy exact derivatives. Of one
number `brentq`, `brenth`, `bisect`, `ridder`, `toms748`, `newton` and `root_scalar` find roots, of several
`fsolve` and `fixed_point`, as SciPy does; `minimize_scalar`, `linprog`, `lsq_linear` and `nnls` find minima,
`linear_sum_assignment` the cheapest assignment. All other names are SciPy's own, for plain numbers.

Each is in a file of its own. SciPy gets functions of one float64 vector, and their derivatives
(`_functions`); the caller's functions get trees (`_layout`). Solutions are differentiated by the implicit
function theorem (`_implicit`), whatever the solver has done. SciPy is imported when the first solver is
called. Derivatives are computed by `tape.transforms`, and not here.
"""

from typing import Any

from tape.scipy.optimize._assignment import linear_sum_assignment
from tape.scipy.optimize._curve_fit import curve_fit
from tape.scipy.optimize._least_squares import least_squares
from tape.scipy.optimize._linear import linprog, lsq_linear, nnls
from tape.scipy.optimize._minimize import minimize
from tape.scipy.optimize._minimize_scalar import minimize_scalar
from tape.scipy.optimize._root import root
from tape.scipy.optimize._scalar_roots import bisect, brenth, brentq, newton, ridder, root_scalar, toms748
from tape.scipy.optimize._systems import fixed_point, fsolve

__all__ = [
    "bisect",
    "brenth",
    "brentq",
    "curve_fit",
    "fixed_point",
    "fsolve",
    "least_squares",
    "linear_sum_assignment",
    "linprog",
    "lsq_linear",
    "minimize",
    "minimize_scalar",
    "newton",
    "nnls",
    "ridder",
    "root",
    "root_scalar",
    "toms748",
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scipy import optimize

    from tape.scipy._operands import refusing

    look_up, _ = refusing(
        optimize,
        globals(),
        "scipy.optimize",
        "minimize, minimize_scalar, least_squares, curve_fit, linprog, lsq_linear, nnls, root, root_scalar, "
        "brentq, newton, fsolve and fixed_point",
    )
    return look_up(name)


def __dir__() -> list[str]:
    from scipy import optimize

    return sorted({*dir(optimize), *__all__})
