"""Incomplete gamma and beta functions, and their inverses, differentiable by every argument.

By the last argument the derivative is the integrand, a density. By the parameters it is an integral (see
`tape.ops.special.by_parameters`) and an operation of its own, whose derivatives are the integrals of the next
order. An inverse is differentiated by the implicit function theorem.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tape.core.elementwise import elementwise
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.elementary import exp, log, log1p
from tape.ops.elementwise.scipy_ufuncs import narrowed, scipy_ufunc
from tape.ops.elementwise.selection import isnan, logical_and, logical_not, logical_or, minimum, where
from tape.ops.special.by_parameters import bell, by_beta_parameters, by_gamma_parameter
from tape.ops.special.gammas import betaln, gammaln
from tape.ops.special.losses import xlog1py, xlogy
from tape.ops.special.polygammas import polygamma, psi

__all__ = [
    "betainc",
    "betaincc",
    "betainccinv",
    "betaincinv",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
]

declare_samples(
    "scipy.special.betainc, scipy.special.betaincc(v, 1.5, x / 9)",
    "scipy.special.betainccinv, scipy.special.betaincinv(v, 1.5, x / 9)",
    "scipy.special.gammaincinv, scipy.special.gammainccinv(v, x / 9)",
)

Operation = Callable[..., Any]


def valid(out: Any, density: Any) -> Any:
    """Return a density; NaN outside of the domain.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.ops.special.incomplete import valid
    >>> valid(np.array([0.5, np.nan]), 2.0)
    array([ 2., nan])
    """
    return where(isnan(out), np.nan, density)


def power_times(x: Any, y: Any, exponent: Any) -> Any:
    """Return ``x**y * exp(exponent)`` for x >= 0.

    By logarithms, which may be far larger than what they cancel to; of a positive power at 0 without, as
    their slopes are infinite.

    Examples
    --------
    >>> from tape.ops.special.incomplete import power_times
    >>> float(power_times(1e3, 200.0, -1e3)) > 0, float(power_times(0.0, 2.0, 1e3))
    (True, 0.0)
    """
    is_end = logical_and(x == 0, y > 0)
    by_logarithms = exp(xlogy(y, where(is_end, 1.0, x)) + where(is_end, 0.0, exponent))
    factor = exp(where(is_end, minimum(exponent, _FINITE), 0.0))
    return where(is_end, where(is_end, x, 1.0) ** where(is_end, y, 1.0) * factor, by_logarithms)


_FINITE = 80.0
"""Its exponential is finite in single precision, too; a density with a slope at its end has a smaller one."""


# ---- gamma -----------------------------------------------------------------------------------------------


def gamma_density(a: Any, x: Any) -> Any:
    """Return ``x^(a - 1) exp(-x) / Gamma(a)``.

    Examples
    --------
    >>> from tape.ops.special.incomplete import gamma_density
    >>> float(gamma_density(1.0, 0.0))
    1.0
    """
    return power_times(x, a - 1, -x - gammaln(a))


@cache
def _gamma_by_a(order: int) -> Operation:
    """Return the operation that is the derivative of `gammainc` by a, of this order."""

    def by_x(d: Any, out: Any, a: Any, x: Any) -> Any:
        is_nothing = logical_or(logical_and(x == 0, a > 1), x == np.inf)
        inside = where(is_nothing, 1.0, x)

        def cumulant(i: int, j: int) -> Any:
            return log(inside) - psi(a) if i == 1 else -polygamma(i - 1, a)

        slope = gamma_density(a, inside) * bell(cumulant, order)
        return d * valid(out, where(is_nothing, 0.0, slope))

    return elementwise(
        lambda a, x: _of_width(by_gamma_parameter(order, a, x), a, x),
        lambda d, out, a, x: d * _gamma_by_a(order + 1)(a, x),
        by_x,
        name="gamma_by_parameter",
        doc=f"The derivative of order {order} of `gammainc` by a.",
    )


def _of_width(out: Any, *operands: Any) -> Any:
    return narrowed(out[()], operands)


def gamma_by_parameter(a: Any, x: Any) -> Any:
    """Return the derivative of ``gammainc(a, x)`` by a.

    Examples
    --------
    >>> from tape.ops.special.incomplete import gamma_by_parameter
    >>> round(float(gamma_by_parameter(2.0, 1.0)), 12)
    -0.276196045703
    """
    return _gamma_by_a(1)(a, x)


gammainc = scipy_ufunc(
    "gammainc",
    "The regularised lower incomplete gamma function of a and x.",
    lambda d, out, a, x: d * gamma_by_parameter(a, x),
    lambda d, out, a, x: d * valid(out, gamma_density(a, x)),
)
gammaincc = scipy_ufunc(
    "gammaincc",
    "The regularised upper incomplete gamma function of a and x.",
    lambda d, out, a, x: -(d * gamma_by_parameter(a, x)),
    lambda d, out, a, x: -(d * valid(out, gamma_density(a, x))),
)


def _gamma_quantile_by_a(d: Any, out: Any, a: Any, y: Any) -> Any:
    return -(d * quotient(gamma_by_parameter(a, out), gamma_density(a, out)))


def quotient(change: Any, density: Any) -> Any:
    """Return a change of probability by the density; 0 at an end, where there is neither.

    A change that is 0 elsewhere, as at the median of Student's distribution, has derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.ops.special.incomplete import quotient
    >>> quotient(np.array([-1.0, 0.0]), np.array([2.0, 0.0]))
    array([-0.5,  0. ])
    """
    is_regular = logical_and(density > 0, density < np.inf)
    is_nothing = logical_and(change == 0, logical_not(is_regular))
    return where(is_nothing, 0.0, change / where(is_nothing, 1.0, density))


gammaincinv = scipy_ufunc(
    "gammaincinv",
    "The x for which ``gammainc(a, x)`` is y, of a and y.",
    _gamma_quantile_by_a,
    lambda d, out, a, y: d / gamma_density(a, out),
)
gammainccinv = scipy_ufunc(
    "gammainccinv",
    "The x for which ``gammaincc(a, x)`` is y, of a and y.",
    _gamma_quantile_by_a,
    lambda d, out, a, y: -(d / gamma_density(a, out)),
)


# ---- beta ------------------------------------------------------------------------------------------------


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """Return ``x^(a - 1) (1 - x)^(b - 1) / B(a, b)``.

    Examples
    --------
    >>> from tape.ops.special.incomplete import beta_density
    >>> float(beta_density(1.0, 1.0, 0.5))
    1.0
    """
    is_right = logical_and(x == 1, b > 1)
    left, right = where(is_right, 0.5, x), where(is_right, x, 0.5)
    constant = betaln(a, b)
    from_left = power_times(left, a - 1, xlog1py(b - 1, -left) - constant)
    return where(is_right, power_times(1 - right, b - 1, xlogy(a - 1, right) - constant), from_left)


@cache
def beta_by(order_a: int, order_b: int) -> Operation:
    """Return the operation that is the derivative of `betainc` by a and b, of these orders."""

    def by_x(d: Any, out: Any, a: Any, b: Any, x: Any) -> Any:
        is_nothing = logical_or(logical_and(x == 0, a > 1), logical_and(x == 1, b > 1))
        inside = where(is_nothing, 0.5, x)
        total = a + b

        def cumulant(i: int, j: int) -> Any:
            if i + j > 1:
                shared = polygamma(i + j - 1, total)
                return shared if i and j else shared - polygamma(i + j - 1, a if i else b)
            return (log(inside) - psi(a) if i else log1p(-inside) - psi(b)) + psi(total)

        slope = beta_density(a, b, inside) * bell(cumulant, order_a, order_b)
        return d * valid(out, where(is_nothing, 0.0, slope))

    return elementwise(
        lambda a, b, x: _of_width(by_beta_parameters(order_a, order_b, a, b, x), a, b, x),
        lambda d, out, a, b, x: d * beta_by(order_a + 1, order_b)(a, b, x),
        lambda d, out, a, b, x: d * beta_by(order_a, order_b + 1)(a, b, x),
        by_x,
        name="beta_by_parameters",
        doc=f"The derivative of `betainc`, {order_a} times by a and {order_b} times by b.",
    )


betainc = scipy_ufunc(
    "betainc",
    "The regularised incomplete beta function of a, b and x.",
    lambda d, out, a, b, x: d * beta_by(1, 0)(a, b, x),
    lambda d, out, a, b, x: d * beta_by(0, 1)(a, b, x),
    lambda d, out, a, b, x: d * valid(out, beta_density(a, b, x)),
)
betaincc = scipy_ufunc(
    "betaincc",
    "One less `betainc`, of a, b and x.",
    lambda d, out, a, b, x: -(d * beta_by(1, 0)(a, b, x)),
    lambda d, out, a, b, x: -(d * beta_by(0, 1)(a, b, x)),
    lambda d, out, a, b, x: -(d * valid(out, beta_density(a, b, x))),
)


def _beta_quantile_by_a(d: Any, out: Any, a: Any, b: Any, y: Any) -> Any:
    return -(d * quotient(beta_by(1, 0)(a, b, out), beta_density(a, b, out)))


def _beta_quantile_by_b(d: Any, out: Any, a: Any, b: Any, y: Any) -> Any:
    return -(d * quotient(beta_by(0, 1)(a, b, out), beta_density(a, b, out)))


betaincinv = scipy_ufunc(
    "betaincinv",
    "The x for which ``betainc(a, b, x)`` is y, of a, b and y.",
    _beta_quantile_by_a,
    _beta_quantile_by_b,
    lambda d, out, a, b, y: d / beta_density(a, b, out),
)
betainccinv = scipy_ufunc(
    "betainccinv",
    "The x for which ``betaincc(a, b, x)`` is y, of a, b and y.",
    _beta_quantile_by_a,
    _beta_quantile_by_b,
    lambda d, out, a, b, y: -(d / beta_density(a, b, out)),
)
