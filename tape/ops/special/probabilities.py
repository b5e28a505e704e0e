"""Distribution functions of `scipy.special`: chi-squared, gamma, F, Poisson and negative binomial.

Each is an incomplete gamma or beta function of its arguments. Counts have no derivative.
"""

from __future__ import annotations

from typing import Any

from tape.inspect.samples import declare_samples
from tape.ops.elementwise.rounding import floor
from tape.ops.elementwise.scipy_ufuncs import scipy_ufunc, truncated
from tape.ops.special.incomplete import beta_by, beta_density, gamma_by_parameter, gamma_density, valid

__all__ = [
    "chdtr", "chdtrc", "chdtri", "fdtr", "fdtrc", "fdtri", "gdtr", "gdtrc",
    "gdtrix", "nbdtr", "nbdtrc", "pdtr", "pdtrc", "pdtri",
]  # fmt: skip

declare_samples(
    "scipy.special.nbdtr, scipy.special.nbdtrc(2, 5, x / 9)",
    "scipy.special.chdtr, scipy.special.chdtrc(v, x)",
    "scipy.special.chdtri(v, x / 9)",
    "scipy.special.gdtr, scipy.special.gdtrc, scipy.special.fdtr, scipy.special.fdtrc(v, 1.5, x)",
    "scipy.special.gdtrix, scipy.special.fdtri(v, 1.5, x / 9)",
    "scipy.special.pdtr, scipy.special.pdtrc(2, x)",
    "scipy.special.pdtri(2, x / 9)",
)

# ---- chi-squared and gamma -------------------------------------------------------------------------------


def chi_by_v(v: Any, x: Any) -> Any:
    """Return the derivative of `chdtr` by v."""
    return gamma_by_parameter(v / 2, x / 2) / 2


def chi_density(v: Any, x: Any) -> Any:
    """Return the derivative of `chdtr` by x."""
    return gamma_density(v / 2, x / 2) / 2


chdtr = scipy_ufunc(
    "chdtr",
    "The chi-squared distribution function of v and x.",
    lambda d, out, v, x: d * chi_by_v(v, x),
    lambda d, out, v, x: d * valid(out, chi_density(v, x)),
)
chdtrc = scipy_ufunc(
    "chdtrc",
    "One less `chdtr`.",
    lambda d, out, v, x: -(d * chi_by_v(v, x)),
    lambda d, out, v, x: -(d * valid(out, chi_density(v, x))),
)
chdtri = scipy_ufunc(
    "chdtri",
    "The x for which ``chdtrc(v, x)`` is p, of v and p.",
    lambda d, out, v, p: -(d * (chi_by_v(v, out) / chi_density(v, out))),
    lambda d, out, v, p: -(d / chi_density(v, out)),
)
gdtr = scipy_ufunc(
    "gdtr",
    "The gamma distribution function, of rate a, shape b and x.",
    lambda d, out, a, b, x: d * (x * gamma_density(b, a * x)),
    lambda d, out, a, b, x: d * gamma_by_parameter(b, a * x),
    lambda d, out, a, b, x: d * (a * gamma_density(b, a * x)),
)
gdtrc = scipy_ufunc(
    "gdtrc",
    "One less `gdtr`.",
    lambda d, out, a, b, x: -(d * (x * gamma_density(b, a * x))),
    lambda d, out, a, b, x: -(d * gamma_by_parameter(b, a * x)),
    lambda d, out, a, b, x: -(d * (a * gamma_density(b, a * x))),
)
gdtrix = scipy_ufunc(
    "gdtrix",
    "The x for which ``gdtr(a, b, x)`` is p, of a, b and p.",
    lambda d, out, a, b, p: -(d * (out / a)),
    lambda d, out, a, b, p: -(d * (gamma_by_parameter(b, a * out) / (a * gamma_density(b, a * out)))),
    lambda d, out, a, b, p: d / (a * gamma_density(b, a * out)),
)

# ---- F: the incomplete beta function of m / 2, n / 2 and m x / (m x + n) ---------------------------------


def _share(m: Any, n: Any, x: Any) -> Any:
    return m * x / (m * x + n)


def _share_density(m: Any, n: Any, x: Any) -> Any:
    """Return the density of the share, times the share and what it lacks to 1."""
    w = _share(m, n, x)
    return beta_density(m / 2, n / 2, w) * w * (n / (m * x + n))


def f_by_m(m: Any, n: Any, x: Any) -> Any:
    """Return the derivative of `fdtr` by its first argument."""
    return beta_by(1, 0)(m / 2, n / 2, _share(m, n, x)) / 2 + _share_density(m, n, x) / m


def f_by_n(m: Any, n: Any, x: Any) -> Any:
    """Return the derivative of `fdtr` by its second argument."""
    return beta_by(0, 1)(m / 2, n / 2, _share(m, n, x)) / 2 - _share_density(m, n, x) / n


def f_by_x(m: Any, n: Any, x: Any) -> Any:
    """Return the derivative of `fdtr` by x."""
    scale = m * n / ((m * x + n) * (m * x + n))
    return beta_density(m / 2, n / 2, _share(m, n, x)) * scale


fdtr = scipy_ufunc(
    "fdtr",
    "The F distribution function, of both degrees of freedom and x.",
    lambda d, out, m, n, x: d * f_by_m(m, n, x),
    lambda d, out, m, n, x: d * f_by_n(m, n, x),
    lambda d, out, m, n, x: d * valid(out, f_by_x(m, n, x)),
)
fdtrc = scipy_ufunc(
    "fdtrc",
    "One less `fdtr`.",
    lambda d, out, m, n, x: -(d * f_by_m(m, n, x)),
    lambda d, out, m, n, x: -(d * f_by_n(m, n, x)),
    lambda d, out, m, n, x: -(d * valid(out, f_by_x(m, n, x))),
)
fdtri = scipy_ufunc(
    "fdtri",
    "The x for which ``fdtr(dfn, dfd, x)`` is p, of dfn, dfd and p.",
    lambda d, out, m, n, p: -(d * (f_by_m(m, n, out) / f_by_x(m, n, out))),
    lambda d, out, m, n, p: -(d * (f_by_n(m, n, out) / f_by_x(m, n, out))),
    lambda d, out, m, n, p: d / f_by_x(m, n, out),
)

# ---- counts ----------------------------------------------------------------------------------------------

pdtr = scipy_ufunc(
    "pdtr",
    "The Poisson distribution function, of k and m, differentiable by m.",
    None,
    lambda d, out, k, m: -(d * valid(out, gamma_density(floor(k) + 1, m))),
)
pdtrc = scipy_ufunc(
    "pdtrc",
    "One less `pdtr`, differentiable by m.",
    None,
    lambda d, out, k, m: d * valid(out, gamma_density(floor(k) + 1, m)),
)
pdtri = scipy_ufunc(
    "pdtri",
    "The m for which ``pdtr(k, m)`` is p, of k and p, differentiable by p.",
    None,
    lambda d, out, k, p: -(d / gamma_density(truncated(k) + 1, out)),
)


nbdtr = scipy_ufunc(
    "nbdtr",
    "The negative binomial distribution function, of k, n and p, differentiable by p.",
    None,
    None,
    lambda d, out, k, n, p: d * valid(out, beta_density(truncated(n), truncated(k) + 1, p)),
)
nbdtrc = scipy_ufunc(
    "nbdtrc",
    "One less `nbdtr`, differentiable by p.",
    None,
    None,
    lambda d, out, k, n, p: -(d * valid(out, beta_density(truncated(n), truncated(k) + 1, p))),
)
