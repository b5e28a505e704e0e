"""Spherical Bessel functions, by the argument (DLMF 10.51), and Lambert's W function."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import pi
from typing import Any

import numpy as np

from tape.core.elementwise import elementwise
from tape.core.operands import as_operand
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.elementary import exp
from tape.ops.elementwise.scipy_ufuncs import (
    PREFIX,
    Function,
    declare_several,
    narrowed,
    refuse_derivative,
    scipy_ufunc,
    ufunc_named,
)
from tape.ops.elementwise.selection import less, where

__all__ = ["lambertw", "spherical_in", "spherical_jn", "spherical_kn", "spherical_yn"]

declare_samples(
    "tape.ops.special.spherical_in, tape.ops.special.spherical_jn, tape.ops.special.spherical_kn, "
    "tape.ops.special.spherical_yn(2, x)",
    "tape.ops.special.lambertw(x)",
)


def _spherical(name: str, kind: str, below: int, above: int) -> Function:
    """Declare a function of whole order n: ``(2 n + 1) f' = below n f_(n - 1) + above (n + 1) f_(n + 1)``."""
    found: list[Function] = []

    def slope(n: Any, z: Any) -> Any:
        (function,) = found
        is_first = n == 0
        lower = n * function(where(is_first, 1, n) - 1, z)
        return (below * lower + above * (n + 1) * function(n + 1, z)) / (2 * n + 1)

    function = scipy_ufunc(
        name,
        f"The {kind} spherical Bessel function of whole order n, differentiable by z.",
        None,
        lambda d, out, n, z: d * slope(n, z),
        is_whole=True,
    )
    found.append(function)
    return function


_jn = _spherical("spherical_jn", "first", 1, -1)
_in = _spherical("spherical_in", "first modified", 1, 1)
_kn = _spherical("spherical_kn", "second modified", -1, -1)


def _sign(n: Any, z: Any) -> Any:
    """Return 1 for even orders, and -1 for odd ones, of the dtype of the argument."""
    return np.asarray(1 - 2 * (np.asarray(n) % 2), np.result_type(z, np.float16))[()]


def _reflected(function: Function, of_opposite: Callable[[Any, Any], Any]) -> Function:
    """Return a function that takes negative numbers ``z``, too: ``of_opposite(n, -z)`` is its value there.

    SciPy's ufuncs return NaN for these, and its functions reflect them, as DLMF 10.47(v) says.
    """

    @wraps(function)
    def extended(n: Any, z: Any) -> Any:
        n, z = as_operand(n), as_operand(z)
        if np.result_type(z).kind == "c":
            return function(n, z)
        is_negative = less(z, 0)
        found = function(n, where(is_negative, 1, z))
        return where(is_negative, of_opposite(n, where(is_negative, -1 * z, 1)), found)

    return extended


spherical_jn = _reflected(_jn, lambda n, z: _sign(n, z) * _jn(n, z))
spherical_yn = _spherical("spherical_yn", "second", 1, -1)
spherical_in = _reflected(_in, lambda n, z: _sign(n, z) * _in(n, z))
spherical_kn = _reflected(_kn, lambda n, z: -pi * _in(n, z) - _sign(n, z) * _kn(n, z))

_lambertw = elementwise(
    lambda z, k, tol: narrowed(ufunc_named("lambertw")(z, k, tol), (z,)),
    lambda d, out, z, k, tol: d * (exp(-out) / (1 + out)),
    None,
    None,
    lower=lambda b, *operands: b.numbers(f"{PREFIX}lambertw", *operands)[0],
    name="lambertw",
    doc="A branch of Lambert's W function, of z, k and tol.",
)


def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """A branch of Lambert's W function: the w for which ``w exp(w)`` is z.

    Parameters
    ----------
    z : array_like or Var
        Any shape.
    k : array_like of int
        Which branch.
    tol : float
        How exact it is.

    Returns
    -------
    numpy.ndarray, numpy.complexfloating or Var
        Complex.

    Raises
    ------
    UnsupportedError
        If ``k`` or ``tol`` is a Var that carries a derivative.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> (slope,) = tr.backward_param_grads(np.real(tape.ops.special.lambertw(tr.param(np.e))))
    >>> round(float(slope), 12) == round(0.5 / np.e, 12)
    True
    """
    for operand in (k, tol):
        refuse_derivative(operand, "lambertw by its branch or tolerance", "Pass a number there")
    return _lambertw(z, k, tol)


declare_several("lambertw", lambertw)
