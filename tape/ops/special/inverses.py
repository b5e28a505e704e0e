"""Parameters of distributions found from probabilities, by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import numpy as np

from tape.inspect.samples import declare_samples
from tape.ops.elementwise.elementary import exp
from tape.ops.elementwise.scipy_ufuncs import scipy_ufunc, truncated
from tape.ops.elementwise.selection import where
from tape.ops.special.binomial import free
from tape.ops.special.incomplete import beta_by, beta_density, gamma_by_parameter, gamma_density
from tape.ops.special.normal import ndtri
from tape.ops.special.probabilities import chi_by_v, chi_density, f_by_m, f_by_n, f_by_x
from tape.ops.special.student import student_by_df, student_density

__all__ = [
    "btdtria", "btdtrib", "chdtriv", "fdtridfd", "gdtria", "gdtrib", "nbdtri", "nrdtrimn", "nrdtrisd",
    "pdtrik", "stdtridf",
]  # fmt: skip

declare_samples(
    "scipy.special.btdtria(x / 9, 1.5, v)",
    "scipy.special.btdtrib(1.5, x / 9, v)",
    "scipy.special.chdtriv(x / 9, 1 + v)",
    "scipy.special.fdtridfd(2.5, 0.4, 1 + x)",
    "scipy.special.gdtria(x / 9, 1.5, 1 + v)",
    "scipy.special.gdtrib(1.5, x / 9, 1 + v)",
    "scipy.special.nbdtri(2, 5, x / 9)",
    "scipy.special.nrdtrimn(x / 9, 2.0, v)",
    "scipy.special.nrdtrisd(0.2, 0.8, 1 + x)",
    "scipy.special.pdtrik(0.3 + x / 9, 3 + v)",
    "scipy.special.stdtridf(0.8, 1 + x)",
)


def _found(out: Any, slope_at: Callable[[Any], Any]) -> Any:
    """Return the slope of degrees of freedom; none where none fits, and SciPy returns where it stops looking.

    That is at 1e10 for Student's distribution, at 1e100 for F, and for both at a number far below 1e-30. No
    digit of a probability changes beyond 1e30. The bounds are float64: narrower results cannot hold them all.
    """
    is_none = (out < np.float64(1e-30)) | (out == np.float64(1e10)) | (out > np.float64(1e30))
    return where(is_none, 0.0, slope_at(where(is_none, 1.0, out)))


btdtria = scipy_ufunc(
    "btdtria",
    "The a for which ``betainc(a, b, x)`` is p, of p, b and x.",
    lambda d, out, p, b, x: d / beta_by(1, 0)(out, b, x),
    lambda d, out, p, b, x: -(d * (beta_by(0, 1)(out, b, x) / beta_by(1, 0)(out, b, x))),
    lambda d, out, p, b, x: -(d * (beta_density(out, b, x) / beta_by(1, 0)(out, b, x))),
)
btdtrib = scipy_ufunc(
    "btdtrib",
    "The b for which ``betainc(a, b, x)`` is p, of a, p and x.",
    lambda d, out, a, p, x: -(d * (beta_by(1, 0)(a, out, x) / beta_by(0, 1)(a, out, x))),
    lambda d, out, a, p, x: d / beta_by(0, 1)(a, out, x),
    lambda d, out, a, p, x: -(d * (beta_density(a, out, x) / beta_by(0, 1)(a, out, x))),
)
chdtriv = scipy_ufunc(
    "chdtriv",
    "The v for which ``chdtr(v, x)`` is p, of p and x.",
    lambda d, out, p, x: d / chi_by_v(out, x),
    lambda d, out, p, x: -(d * (chi_density(out, x) / chi_by_v(out, x))),
)
gdtria = scipy_ufunc(
    "gdtria",
    "The rate a for which ``gdtr(a, b, x)`` is p, of p, b and x.",
    lambda d, out, p, b, x: d / (x * gamma_density(b, out * x)),
    lambda d, out, p, b, x: -(d * (gamma_by_parameter(b, out * x) / (x * gamma_density(b, out * x)))),
    lambda d, out, p, b, x: -(d * (out / x)),
)
gdtrib = scipy_ufunc(
    "gdtrib",
    "The shape b for which ``gdtr(a, b, x)`` is p, of a, p and x.",
    lambda d, out, a, p, x: -(d * (x * gamma_density(out, a * x) / gamma_by_parameter(out, a * x))),
    lambda d, out, a, p, x: d / gamma_by_parameter(out, a * x),
    lambda d, out, a, p, x: -(d * (a * gamma_density(out, a * x) / gamma_by_parameter(out, a * x))),
)
fdtridfd = scipy_ufunc(
    "fdtridfd",
    "The dfd for which ``fdtr(dfn, dfd, x)`` is p, of dfn, p and x.",
    lambda d, out, m, p, x: -(d * _found(out, lambda n: f_by_m(m, n, x) / f_by_n(m, n, x))),
    lambda d, out, m, p, x: d * _found(out, lambda n: 1 / f_by_n(m, n, x)),
    lambda d, out, m, p, x: -(d * _found(out, lambda n: f_by_x(m, n, x) / f_by_n(m, n, x))),
)
stdtridf = scipy_ufunc(
    "stdtridf",
    "The df for which ``stdtr(df, t)`` is p, of p and t.",
    lambda d, out, p, t: d * _found(out, lambda n: 1 / student_by_df(n, t)),
    lambda d, out, p, t: -(d * _found(out, lambda n: student_density(n, t) / student_by_df(n, t))),
)
pdtrik = scipy_ufunc(
    "pdtrik",
    "The k, not whole, for which ``gammaincc(k + 1, m)`` is p, of p and m.",
    lambda d, out, p, m: -(d * free(out, 1 / gamma_by_parameter(out + 1, m))),
    lambda d, out, p, m: -(d * free(out, gamma_density(out + 1, m) / gamma_by_parameter(out + 1, m))),
)
nbdtri = scipy_ufunc(
    "nbdtri",
    "The p for which ``nbdtr(k, n, p)`` is y, of k, n and y, differentiable by y.",
    None,
    None,
    lambda d, out, k, n, y: d / beta_density(truncated(n), truncated(k) + 1, out),
)


def _normal_quantile_slope(p: Any) -> Any:
    quantile = ndtri(p)
    return exp(quantile * quantile / 2) * sqrt(2 * pi)


nrdtrimn = scipy_ufunc(
    "nrdtrimn",
    "The mean of a normal distribution with p below x, of p, std and x.",
    lambda d, out, p, std, x: -(d * std * _normal_quantile_slope(p)),
    lambda d, out, p, std, x: -(d * ndtri(p)),
    lambda d, out, p, std, x: d,
)
nrdtrisd = scipy_ufunc(
    "nrdtrisd",
    "The standard deviation of a normal distribution with p below x, of mn, p and x.",
    lambda d, out, mn, p, x: -(d / ndtri(p)),
    lambda d, out, mn, p, x: -(d * out * _normal_quantile_slope(p) / ndtri(p)),
    lambda d, out, mn, p, x: d / ndtri(p),
)
