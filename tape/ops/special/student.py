"""Student's distribution function and its inverse, and steps of the logarithm of the gamma function."""

from __future__ import annotations

from functools import cache
from math import factorial, pi
from math import log as _log
from typing import Any

from tape.core.elementwise import elementwise
from tape.ops.elementwise.elementary import exp, log, log1p
from tape.ops.elementwise.scipy_ufuncs import narrowed, scipy_ufunc
from tape.ops.elementwise.selection import isinf, logical_or, where
from tape.ops.special.by_parameters import bell, by_degrees_of_freedom
from tape.ops.special.gammas import gammaln
from tape.ops.special.incomplete import Operation, quotient, valid
from tape.ops.special.polygammas import polygamma, psi

__all__ = ["stdtr", "stdtrit"]

_LARGE = 25.0
"""From here on the series of `log_gamma_step` has all digits of a double."""


def log_gamma_step(x: Any) -> Any:
    """Return ``log(Gamma(x + 1 / 2) / Gamma(x))``; by an asymptotic series where the two cancel.

    The series is that of Fields (1966) for ratios of gamma functions.

    Examples
    --------
    >>> from tape.ops.special.student import log_gamma_step
    >>> round(float(log_gamma_step(0.5)), 12)  # -log(pi) / 2
    -0.572364942925
    """
    is_large = x > _LARGE
    small, large = where(is_large, 1.0, x), where(is_large, x, _LARGE)
    y = 1 / large
    y2 = y * y
    series = log(large) / 2 - y * (
        1 / 8 - y2 * (1 / 192 - y2 * (1 / 640 - y2 * (17 / 14336 - y2 * (31 / 18432))))
    )
    return where(is_large, series, gammaln(small + 0.5) - gammaln(small))


def digamma_step(x: Any) -> Any:
    """Return ``digamma(x + 1 / 2) - digamma(x)``, the derivative of `log_gamma_step`.

    Examples
    --------
    >>> from tape.ops.special.student import digamma_step
    >>> round(float(digamma_step(0.5)), 12)  # 2 log(2)
    1.38629436112
    """
    is_large = x > _LARGE
    small, large = where(is_large, 1.0, x), where(is_large, x, _LARGE)
    y = 1 / large
    y2 = y * y
    series = y / 2 + y2 * (1 / 8 - y2 * (1 / 64 - y2 * (1 / 128 - y2 * (17 / 2048 - y2 * (31 / 2048)))))
    return where(is_large, series, psi(small + 0.5) - psi(small))


def student_density(df: Any, t: Any) -> Any:
    """Return ``(1 + t^2 / df)^(-(df + 1) / 2) / (sqrt(df) B(1 / 2, df / 2))``; of infinite df its limit.

    Examples
    --------
    >>> from tape.ops.special.student import student_density
    >>> round(float(student_density(1.0, 0.0)), 12)  # 1 / pi
    0.318309886184
    """
    is_normal = isinf(df)
    df = where(is_normal, 1.0, df)
    constant = log_gamma_step(df / 2) - log(df) / 2 - _log(pi) / 2
    exponent = constant - (df + 1) / 2 * log1p(t * t / df)
    return exp(where(is_normal, -(t * t) / 2 - _log(2 * pi) / 2, exponent))


@cache
def _by_df(order: int) -> Operation:
    """Return the operation that is the derivative of `stdtr` by df, of this order."""

    def by_t(d: Any, out: Any, df: Any, t: Any) -> Any:
        is_nothing = logical_or(isinf(t), isinf(df))
        inside, finite = where(is_nothing, 1.0, t), where(is_nothing, 1.0, df)
        slope = student_density(finite, inside) * bell(lambda i, j: _cumulant(i, finite, inside), order)
        return d * valid(out, where(is_nothing, 0.0, slope))

    return elementwise(
        lambda df, t: narrowed(by_degrees_of_freedom(order, df, t)[()], (df, t)),
        lambda d, out, df, t: d * _by_df(order + 1)(df, t),
        by_t,
        name="student_by_df",
        doc=f"The derivative of order {order} of `stdtr` by df.",
    )


def _cumulant(i: int, df: Any, t: Any) -> Any:
    """Return the derivative of order i by df of the logarithm of the density."""
    square = t * t
    r = df / (df + square)
    c = square / (df + square)
    if i == 1:
        return (digamma_step(df / 2) - 1 / df - log1p(square / df) + (1 + 1 / df) * c) / 2
    sign = (-1.0) ** i
    factor = factorial(i - 2)
    first: Any = 0.0
    second: Any = 0.0
    for k in range(i):
        first = first + r**k
        second = second + (k + 1) * r**k if k < i - 1 else second
    by_power = sign * factor / (2 * df**i) * (df * c * c * second - (i - 1) * c * first)
    step = polygamma(i - 1, (df + 1) / 2) - polygamma(i - 1, df / 2)
    return by_power + step / 2**i + sign * factor * (i - 1) / (2 * df**i)


def student_by_df(df: Any, t: Any) -> Any:
    """Return the derivative of ``stdtr(df, t)`` by df."""
    return _by_df(1)(df, t)


stdtr: Operation = scipy_ufunc(
    "stdtr",
    "Student's distribution function, of df and t.",
    lambda d, out, df, t: d * _by_df(1)(df, t),
    lambda d, out, df, t: d * valid(out, student_density(df, t)),
)


def _quantile_by_df(d: Any, out: Any, df: Any, p: Any) -> Any:
    is_end = isinf(out)
    inside = where(is_end, 0.0, out)
    slope = quotient(_by_df(1)(df, inside), student_density(df, inside))
    return -(d * where(is_end, 0.0, slope))


stdtrit: Operation = scipy_ufunc(
    "stdtrit",
    "The t for which ``stdtr(df, t)`` is p, of df and p.",
    _quantile_by_df,
    lambda d, out, df, p: d / student_density(df, out),
)
