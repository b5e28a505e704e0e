"""Solvers of `scipy.optimize` with exact derivatives: `minimize`, `least_squares`, `root`, `curve_fit`.

Each is in a file of its own. SciPy gets functions of one float64 vector, and their derivatives
(`_functions`); the caller's functions get trees (`_layout`). SciPy is imported when the first solver is
called. Derivatives are computed by `tape.transforms`, and not here.
"""

from tape.scipy.optimize._curve_fit import curve_fit
from tape.scipy.optimize._least_squares import least_squares
from tape.scipy.optimize._minimize import minimize
from tape.scipy.optimize._root import root

__all__ = ["curve_fit", "least_squares", "minimize", "root"]
