"""Noncentral chi-squared, F and Student's t: distribution functions, quantiles and parameters.

All are differentiated by every argument, to any order: by the argument and the noncentrality through
densities of neighbouring degrees of freedom (Johnson, Kotz and Balakrishnan 1995, chapters 29 to 31), by the
degrees of freedom as in `tape.ops.special.by_parameters.mixtures`. What is found from a probability is
differentiated by the implicit function theorem. SciPy finds some with five digits: these are improved. Where
it stops at the end of its search there is no solution, and derivatives are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from tape.core.elementwise import elementwise
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.scipy_ufuncs import (
    DECLARED,
    Function,
    in_float64,
    narrowed,
    scipy_ufunc,
    ufunc_named,
)
from tape.ops.elementwise.selection import minimum, where
from tape.ops.special.by_parameters.mixtures import (
    beta_density_mixture,
    beta_mixture,
    gamma_density_mixture,
    gamma_mixture,
    student_mean,
)
from tape.ops.special.incomplete import valid

__all__ = [
    "chndtr", "chndtridf", "chndtrinc", "chndtrix", "ncfdtr", "ncfdtri", "ncfdtridfd", "ncfdtridfn",
    "ncfdtrinc", "nctdtr", "nctdtridf", "nctdtrinc", "nctdtrit",
]  # fmt: skip

declare_samples(
    "scipy.special.chndtr(x, v, 1.5)",
    "tape.ops.special.chndtridf(3 + x, 0.3, 2.5)",
    "tape.ops.special.chndtrinc(3 + x, 2.5, 0.3)",
    "scipy.special.chndtrix(x / 9, v, 1.5)",
    "scipy.special.ncfdtr(2.5, v, 1.5, x)",
    "scipy.special.ncfdtri(2.5, v, 1.5, x / 9)",
    "tape.ops.special.ncfdtridfn(0.3, 3.5, 0.5, x / 2)",
    "tape.ops.special.ncfdtridfd(3.5, 0.3, 2.0, 1 + x / 9)",
    "tape.ops.special.ncfdtrinc(2.0, 2.5, 0.5, 3 + x)",
    "scipy.special.nctdtr(v, 0.5, x)",
    "tape.ops.special.nctdtridf(0.8, 0.2, 2 + x)",
    "tape.ops.special.nctdtrinc(2.5, 0.5, x)",
    "scipy.special.nctdtrit(v, 0.5, x / 9)",
)


def _operation(kernel: Callable[..., Any], name: str, *rules: Function) -> Function:
    return elementwise(
        lambda *operands: narrowed(kernel(*operands)[()], operands), *rules, name=name, doc=f"See `{name}`."
    )


# ---- chi-squared: of a = df / 2, half = nc / 2 and y = x / 2 -----------------------------------------------


@cache
def _gamma_density(k: int) -> Function:
    """Return the operation that is the density, derived k times by a."""

    def by_y(d: Any, out: Any, a: Any, half: Any, y: Any) -> Any:
        lower = k * _gamma_density(k - 1)(a, half, y) if k else 0.0
        return d * ((((a - 1) * out + lower) + half * _gamma_density(k)(a + 1, half, y)) / y - out)

    return _operation(
        lambda a, half, y: gamma_density_mixture(k, a, half, y),
        "gamma_density_mixture",
        lambda d, out, a, half, y: d * _gamma_density(k + 1)(a, half, y),
        lambda d, out, a, half, y: d * (_gamma_density(k)(a + 1, half, y) - out),
        by_y,
    )


@cache
def _gamma(k: int) -> Function:
    """Return the operation that is the distribution function, derived k times by a."""
    return _operation(
        lambda a, half, y: gamma_mixture(k, a, half, y),
        "gamma_mixture",
        lambda d, out, a, half, y: d * _gamma(k + 1)(a, half, y),
        lambda d, out, a, half, y: -(d * _gamma_density(k)(a + 1, half, y)),
        lambda d, out, a, half, y: d * _gamma_density(k)(a, half, y),
    )


_CHI: Sequence[Function] = (
    lambda x, df, nc: _gamma_density(0)(df / 2, nc / 2, x / 2) / 2,
    lambda x, df, nc: _gamma(1)(df / 2, nc / 2, x / 2) / 2,
    lambda x, df, nc: -_gamma_density(0)(df / 2 + 1, nc / 2, x / 2) / 2,
)

# ---- F: of a = dfn / 2, b = dfd / 2, half = nc / 2 and the share of the numerator --------------------------


@cache
def _beta_density(m: int, n: int, lift: int) -> Function:
    """Return the operation that is the density, derived m times by a and n times by b."""

    def by_y(d: Any, out: Any, a: Any, b: Any, half: Any, y: Any) -> Any:
        left = (a - 1) * out + half * _beta_density(m, n, lift)(a + 1, b, half, y)
        left = left + m * _beta_density(m - 1, n, lift)(a, b, half, y) if m else left
        right = (b - 1) * out
        right = right + n * _beta_density(m, n - 1, lift)(a, b, half, y) if n else right
        return d * (left / y - right / (1 - y))

    return _operation(
        lambda a, b, half, y: beta_density_mixture(m, n, lift, a, b, half, y),
        "beta_density_mixture",
        lambda d, out, a, b, half, y: d * _beta_density(m + 1, n, lift)(a, b, half, y),
        lambda d, out, a, b, half, y: d * _beta_density(m, n + 1, lift)(a, b, half, y),
        lambda d, out, a, b, half, y: d * (_beta_density(m, n, lift)(a + 1, b, half, y) - out),
        by_y,
    )


@cache
def _beta(m: int, n: int) -> Function:
    """Return the operation that is the distribution function, derived m times by a and n times by b."""
    return _operation(
        lambda a, b, half, y: beta_mixture(m, n, a, b, half, y),
        "beta_mixture",
        lambda d, out, a, b, half, y: d * _beta(m + 1, n)(a, b, half, y),
        lambda d, out, a, b, half, y: d * _beta(m, n + 1)(a, b, half, y),
        lambda d, out, a, b, half, y: -(d * ((1 - y) * _beta_density(m, n, -1)(a + 1, b, half, y))),
        lambda d, out, a, b, half, y: d * _beta_density(m, n, 0)(a, b, half, y),
    )


def _share(m: Any, n: Any, f: Any) -> Any:
    return m * f / (m * f + n)


def _share_density(m: Any, n: Any, nc: Any, f: Any) -> Any:
    """Return the density of the share, times the share and what it lacks to 1."""
    y = _share(m, n, f)
    return _beta_density(0, 0, 0)(m / 2, n / 2, nc / 2, y) * y * (n / (m * f + n))


def _f_by_x(m: Any, n: Any, nc: Any, f: Any) -> Any:
    scale = m * n / ((m * f + n) * (m * f + n))
    return _beta_density(0, 0, 0)(m / 2, n / 2, nc / 2, _share(m, n, f)) * scale


def _f_by_nc(m: Any, n: Any, nc: Any, f: Any) -> Any:
    density = _beta_density(0, 0, -1)(m / 2 + 1, n / 2, nc / 2, _share(m, n, f))
    return -(density * (n / (m * f + n))) / 2


_F: Sequence[Function] = (
    lambda m, n, nc, f: (
        _beta(1, 0)(m / 2, n / 2, nc / 2, _share(m, n, f)) / 2 + _share_density(m, n, nc, f) / m
    ),
    lambda m, n, nc, f: (
        _beta(0, 1)(m / 2, n / 2, nc / 2, _share(m, n, f)) / 2 - _share_density(m, n, nc, f) / n
    ),
    _f_by_nc,
    _f_by_x,
)

# ---- Student -----------------------------------------------------------------------------------------------


@cache
def _student(k: int, power: int | None) -> Function:
    """Return the operation that is `student_mean`, derived k times by df."""

    def higher(step: int) -> Function:
        return _student(k, (power or 0) + step)

    def by_nc(d: Any, out: Any, df: Any, nc: Any, t: Any) -> Any:
        if power is None:
            return -(d * _student(k, 0)(df, nc, t))
        return d * (t * higher(1)(df, nc, t) - nc * out)

    def by_t(d: Any, out: Any, df: Any, nc: Any, t: Any) -> Any:
        if power is None:
            return d * _student(k, 1)(df, nc, t)
        return d * (nc * higher(1)(df, nc, t) - t * higher(2)(df, nc, t))

    return _operation(
        lambda df, nc, t: student_mean(k, power, df, nc, t),
        "student_mean",
        lambda d, out, df, nc, t: d * _student(k + 1, power)(df, nc, t),
        by_nc,
        by_t,
    )


_STUDENT: Sequence[Function] = (
    lambda df, nc, t: _student(1, None)(df, nc, t),
    lambda df, nc, t: -_student(0, 0)(df, nc, t),
    lambda df, nc, t: _student(0, 1)(df, nc, t),
)

# ---- functions of SciPy's ----------------------------------------------------------------------------------


def _distribution(name: str, doc: str, partials: Sequence[Function]) -> Function:
    def rule(partial: Function) -> Function:
        return lambda d, out, *operands: d * valid(out, partial(*operands))

    return scipy_ufunc(name, doc, *map(rule, partials))


def _inverse(
    name: str, doc: str, function: Function, partials: Sequence[Function], place: int, is_rough: bool = True
) -> Function:
    """Declare the function whose operand at a place is the probability, and whose result was there."""

    def error(out: Any, operands: Sequence[Any]) -> tuple[Any, list[Any]]:
        at = [*operands[:place], out, *operands[place + 1 :]]
        return function(*at) - operands[place], at

    def improved(*operands: Any) -> Any:
        """Return SciPy's result after two steps of Newton's method, where these are small."""
        out = ufunc_named(name)(*operands)
        if not is_rough:
            return narrowed(out, operands)
        wide = list(map(in_float64, operands))
        found = np.asarray(out, np.float64)
        with np.errstate(all="ignore"):
            for _ in range(2):
                residual, at = error(found, wide)
                step = residual / partials[place](*at)
                found = np.where(np.abs(step) <= 1e-3 * np.abs(found), found - step, found)
        return narrowed(found[()], operands)

    def rule(k: int) -> Function:
        def apply(d: Any, out: Any, *operands: Any) -> Any:
            residual, at = error(out, operands)
            p = operands[place]
            tolerance = np.finfo(out.dtype).eps ** 0.4
            slope = where(abs(residual) <= tolerance * minimum(p, 1 - p), partials[place](*at), np.nan)
            return d / slope if k == place else -(d * (partials[k](*at) / slope))

        return apply

    operation = elementwise(improved, *map(rule, range(len(partials))), name=name, doc=doc)
    DECLARED[name] = operation
    return operation


chndtr = _distribution("chndtr", "The noncentral chi-squared distribution function, of x, df and nc.", _CHI)
chndtrix = _inverse(
    "chndtrix",
    "The x for which ``chndtr(x, df, nc)`` is p, of p, df and nc.",
    chndtr,
    _CHI,
    0,
    is_rough=False,
)
chndtridf = _inverse(
    "chndtridf", "The df for which ``chndtr(x, df, nc)`` is p, of x, p and nc.", chndtr, _CHI, 1
)
chndtrinc = _inverse(
    "chndtrinc", "The nc for which ``chndtr(x, df, nc)`` is p, of x, df and p.", chndtr, _CHI, 2
)
ncfdtr = _distribution("ncfdtr", "The noncentral F distribution function, of dfn, dfd, nc and f.", _F)
ncfdtridfn = _inverse(
    "ncfdtridfn", "The dfn for which ``ncfdtr(dfn, dfd, nc, f)`` is p, of p, dfd, nc and f.", ncfdtr, _F, 0
)
ncfdtridfd = _inverse(
    "ncfdtridfd", "The dfd for which ``ncfdtr(dfn, dfd, nc, f)`` is p, of dfn, p, nc and f.", ncfdtr, _F, 1
)
ncfdtrinc = _inverse(
    "ncfdtrinc", "The nc for which ``ncfdtr(dfn, dfd, nc, f)`` is p, of dfn, dfd, p and f.", ncfdtr, _F, 2
)
ncfdtri = _inverse(
    "ncfdtri",
    "The f for which ``ncfdtr(dfn, dfd, nc, f)`` is p, of dfn, dfd, nc and p.",
    ncfdtr,
    _F,
    3,
    is_rough=False,
)
nctdtr = _distribution("nctdtr", "Student's noncentral distribution function, of df, nc and t.", _STUDENT)
nctdtridf = _inverse(
    "nctdtridf", "The df for which ``nctdtr(df, nc, t)`` is p, of p, nc and t.", nctdtr, _STUDENT, 0
)
nctdtrinc = _inverse(
    "nctdtrinc", "The nc for which ``nctdtr(df, nc, t)`` is p, of df, p and t.", nctdtr, _STUDENT, 1
)
nctdtrit = _inverse(
    "nctdtrit",
    "The t for which ``nctdtr(df, nc, t)`` is p, of df, nc and p.",
    nctdtr,
    _STUDENT,
    2,
    is_rough=False,
)
