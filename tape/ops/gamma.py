"""The gamma function and what is made of it: beta, binomial coefficients, incomplete integrals.

Derivatives lead from the gamma function to `digamma` and on to `polygamma`: see `tape.ops.polygamma`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from tape import batch_rules
from tape.errors import OptionError
from tape.op import NUMPY_ERRORS, Op, as_operand
from tape.ops.complex import real
from tape.ops.elementary import cos, exp, sin
from tape.ops.losses import xlog1py, xlogy
from tape.ops.polygamma import psi
from tape.ops.scipy_ufuncs import narrowed, scipy_ufunc
from tape.ops.selection import where

__all__ = [
    "beta",
    "betainc",
    "betaincc",
    "betaincinv",
    "betaln",
    "binom",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammaln",
    "loggamma",
    "multigammaln",
    "poch",
    "rgamma",
]

gamma: Callable[..., Any] = scipy_ufunc("gamma", "The gamma function.", lambda d, out, x: d * (out * psi(x)))
gammaln = scipy_ufunc(
    "gammaln", "The logarithm of the absolute value of the gamma function.", lambda d, out, x: d * psi(x)
)
loggamma = scipy_ufunc(
    "loggamma",
    "The principal branch of the logarithm of the gamma function; NaN for negative real numbers.",
    lambda d, out, x: d * psi(x),
)


def _rgamma_slope(out: Any, x: Any) -> Any:
    """By reflection left of 1/2, where digamma has poles: ``1 / gamma(x) = gamma(1 - x) sin(pi x) / pi``."""
    is_left = real(x) < 0.5
    left, right = where(is_left, x, 0.0), where(is_left, 1.0, x)
    mirrored = 1 - left
    reflected = gamma(mirrored) * (cos(pi * left) - psi(mirrored) * sin(pi * left) / pi)
    return where(is_left, reflected, -(rgamma(right) * psi(right)))


rgamma: Callable[..., Any] = scipy_ufunc(
    "rgamma",
    "One over the gamma function; 0 at its poles, with the derivative there.",
    lambda d, out, x: d * _rgamma_slope(out, x),
)
poch = scipy_ufunc(
    "poch",
    "The rising factorial ``gamma(z + m) / gamma(z)``, of z and m.",
    lambda d, out, z, m: d * (out * (psi(z + m) - psi(z))),
    lambda d, out, z, m: d * (out * psi(z + m)),
)
beta = scipy_ufunc(
    "beta",
    "The beta function ``gamma(a) * gamma(b) / gamma(a + b)``.",
    lambda d, out, a, b: d * (out * (psi(a) - psi(a + b))),
    lambda d, out, a, b: d * (out * (psi(b) - psi(a + b))),
)
betaln: Callable[..., Any] = scipy_ufunc(
    "betaln",
    "The logarithm of the absolute value of the beta function.",
    lambda d, out, a, b: d * (psi(a) - psi(a + b)),
    lambda d, out, a, b: d * (psi(b) - psi(a + b)),
)
binom = scipy_ufunc(
    "binom",
    "The binomial coefficient, n over k; its derivatives are those for 0 <= k <= n.",
    lambda d, out, n, k: d * (out * (psi(n + 1) - psi(n - k + 1))),
    lambda d, out, n, k: d * (out * (psi(n - k + 1) - psi(k + 1))),
)


# Incomplete integrals: the derivative by the last argument is what is integrated.


def _gamma_density(a: Any, x: Any) -> Any:
    return exp(xlogy(a - 1, x) - x - gammaln(a))


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    return exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))


gammainc = scipy_ufunc(
    "gammainc",
    "The regularised lower incomplete gamma function of a and x, differentiable by x.",
    None,
    lambda d, out, a, x: d * _gamma_density(a, x),
)
gammaincc = scipy_ufunc(
    "gammaincc",
    "The regularised upper incomplete gamma function of a and x, differentiable by x.",
    None,
    lambda d, out, a, x: -(d * _gamma_density(a, x)),
)
gammaincinv = scipy_ufunc(
    "gammaincinv",
    "The x for which ``gammainc(a, x)`` is y, of a and y, differentiable by y.",
    None,
    lambda d, out, a, y: d / _gamma_density(a, out),
)
gammainccinv = scipy_ufunc(
    "gammainccinv",
    "The x for which ``gammaincc(a, x)`` is y, of a and y, differentiable by y.",
    None,
    lambda d, out, a, y: -(d / _gamma_density(a, out)),
)
betainc = scipy_ufunc(
    "betainc",
    "The regularised incomplete beta function of a, b and x, differentiable by x.",
    None,
    None,
    lambda d, out, a, b, x: d * _beta_density(a, b, x),
)
betaincc = scipy_ufunc(
    "betaincc",
    "One less `betainc`, of a, b and x, differentiable by x.",
    None,
    None,
    lambda d, out, a, b, x: -(d * _beta_density(a, b, x)),
)
betaincinv = scipy_ufunc(
    "betaincinv",
    "The x for which ``betainc(a, b, x)`` is y, of a, b and y, differentiable by y.",
    None,
    None,
    lambda d, out, a, b, y: d / _beta_density(a, b, out),
)


def _multigammaln_forward(a: Any, *, d: int) -> Any:
    from scipy.special import multigammaln  # late: see `tape.ops.scipy_ufuncs`

    return narrowed(multigammaln(a, d), (a,))[()]


def _multigammaln_partial(g: Any, out: Any, a: Any, d: int) -> Any:
    slope = psi(a)
    for j in range(1, d):
        slope = slope + psi(a - j / 2)
    return g * slope


def _lower_multigammaln(b: Any, a: Any, d: int) -> Any:
    total = b.elementwise("special.loggamma", a) + d * (d - 1) / 4 * np.log(np.pi).item()
    for j in range(1, d):
        total = total + b.elementwise("special.loggamma", a - j / 2)
    return total


_multigammaln = Op(
    _multigammaln_forward,
    name="multigammaln",
    vjp=[_multigammaln_partial],
    jvp=[_multigammaln_partial],
    batch=batch_rules.elementwise,
    lower=_lower_multigammaln,
)


def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the multivariate gamma function.

    Parameters
    ----------
    a : array_like or Var
        Any shape; larger than ``(d - 1) / 2``.
    d : int
        The dimension, at least 1.

    Returns
    -------
    numpy.ndarray, numpy.floating or Var
        Of the shape of ``a``.

    Raises
    ------
    OptionError
        If ``d`` is no positive whole number.
    ShapeError
        If an ``a`` is too small.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.special.multigammaln(1.5, 1)), float(tape.ops.special.gammaln(1.5))
    (-0.12078223763524..., -0.12078223763524...)
    """
    try:
        is_dimension = d >= 1 and d == int(d)
    except NUMPY_ERRORS:
        is_dimension = False
    if not is_dimension:
        raise OptionError(f"multigammaln: the dimension d is {d!r}. It must be a positive whole number")
    return _multigammaln(as_operand(a), d=int(d))
