"""Integration as in `scipy.integrate`, differentiable by samples, limits, arguments and what is closed over.

`trapezoid`, `simpson`, `cumulative_trapezoid`, `cumulative_simpson` and `romb` of samples; `quad`,
`quad_vec`, `fixed_quad`, `dblquad`, `tplquad` and `nquad` of functions; `solve_ivp` and `odeint` of
differential equations. All other names are SciPy's own, for plain numbers.

Examples
--------
>>> import numpy as np, tape
>>> from tape.scipy.integrate import quad
>>> def perimeter(a):
...     return quad(lambda t: np.sqrt((a * np.sin(t)) ** 2 + np.cos(t) ** 2), 0.0, 2 * np.pi)[0]
>>> float(tape.grad(perimeter)(1.0).round(10)), np.pi.__round__(10)
(3.1415926536, 3.1415926536)
"""

from scipy import integrate as _integrate

from tape.ops import trapezoid
from tape.scipy._operands import refusing
from tape.scipy.integrate._equations import odeint, solve_ivp
from tape.scipy.integrate._nested import dblquad, nquad, tplquad
from tape.scipy.integrate._quadrature import quad, quad_vec
from tape.scipy.integrate._samples import (
    cumulative_simpson,
    cumulative_trapezoid,
    fixed_quad,
    romb,
    simpson,
)

__all__ = [
    "cumulative_simpson",
    "cumulative_trapezoid",
    "dblquad",
    "fixed_quad",
    "nquad",
    "odeint",
    "quad",
    "quad_vec",
    "romb",
    "simpson",
    "solve_ivp",
    "tplquad",
    "trapezoid",
]

__getattr__, __dir__ = refusing(
    _integrate,
    globals(),
    "scipy.integrate",
    "trapezoid, simpson, cumulative_trapezoid, cumulative_simpson, romb, quad, quad_vec, nquad, fixed_quad, "
    "solve_ivp and odeint",
)
