"""The binomial distribution, and the counts of it and of the negative binomial one, from probabilities.

All are incomplete beta functions. Of the distribution functions the counts are rounded down and have no
derivative; those found from probabilities are real numbers, differentiated by the implicit function theorem.
"""

from __future__ import annotations

from typing import Any

from tape.inspect.samples import declare_samples
from tape.ops.elementwise.rounding import floor
from tape.ops.elementwise.scipy_ufuncs import scipy_ufunc, truncated
from tape.ops.elementwise.selection import where
from tape.ops.special.incomplete import beta_by, beta_density, valid

__all__ = ["bdtr", "bdtrc", "bdtri", "bdtrik", "bdtrin", "nbdtrik", "nbdtrin"]

declare_samples(
    "scipy.special.bdtr, scipy.special.bdtrc, scipy.special.bdtri(2, 5, x / 9)",
    "scipy.special.bdtrik(0.4, 5 + v, x / 9)",
    "scipy.special.bdtrin(2.5, 0.4, x / 9)",
    "scipy.special.nbdtrik(0.4, 5 + v, x / 9)",
    "scipy.special.nbdtrin(2.5, 0.4, x / 9)",
)


def _density(k: Any, n: Any, p: Any) -> Any:
    """Return what `bdtr` loses with p; nothing of all counts."""
    whole, n = floor(k), truncated(n)
    is_all = whole >= n
    return where(is_all, 0.0, beta_density(where(is_all, 0.0, whole) + 1, n - where(is_all, n - 1, whole), p))


bdtr = scipy_ufunc(
    "bdtr",
    "The binomial distribution function, of k, n and p, differentiable by p.",
    None,
    None,
    lambda d, out, k, n, p: -(d * valid(out, _density(k, n, p))),
    is_wide=True,
)
bdtrc = scipy_ufunc(
    "bdtrc",
    "One less `bdtr`, differentiable by p.",
    None,
    None,
    lambda d, out, k, n, p: d * valid(out, _density(k, n, p)),
    is_wide=True,
)
bdtri = scipy_ufunc(
    "bdtri",
    "The p for which ``bdtr(k, n, p)`` is y, of k, n and y, differentiable by y.",
    None,
    None,
    lambda d, out, k, n, y: -(d / _density(k, n, out)),
    is_wide=True,
)

# ---- counts: bdtr(k, n, p) is 1 - betainc(k + 1, n - k, p), nbdtr(k, n, p) is betainc(n, k + 1, p) --------


def free(out: Any, slope: Any) -> Any:
    """Return the slope of a count; none where it is held at 0, as the probability is less than that of 0."""
    return where(out == 0, 0.0, slope)


def _by_k(k: Any, n: Any, p: Any) -> Any:
    return beta_by(0, 1)(k + 1, n - k, p) - beta_by(1, 0)(k + 1, n - k, p)


def _by_n(k: Any, n: Any, p: Any) -> Any:
    return -beta_by(0, 1)(k + 1, n - k, p)


def _by_p(k: Any, n: Any, p: Any) -> Any:
    return -beta_density(k + 1, n - k, p)


bdtrik = scipy_ufunc(
    "bdtrik",
    "The k, not whole, for which ``bdtr(k, n, p)`` is y, of y, n and p.",
    lambda d, out, y, n, p: d * free(out, 1 / _by_k(out, n, p)),
    lambda d, out, y, n, p: -(d * free(out, _by_n(out, n, p) / _by_k(out, n, p))),
    lambda d, out, y, n, p: -(d * free(out, _by_p(out, n, p) / _by_k(out, n, p))),
)
bdtrin = scipy_ufunc(
    "bdtrin",
    "The n, not whole, for which ``bdtr(k, n, p)`` is y, of k, y and p.",
    lambda d, out, k, y, p: -(d * (_by_k(k, out, p) / _by_n(k, out, p))),
    lambda d, out, k, y, p: d / _by_n(k, out, p),
    lambda d, out, k, y, p: -(d * (_by_p(k, out, p) / _by_n(k, out, p))),
)
nbdtrik = scipy_ufunc(
    "nbdtrik",
    "The k, not whole, for which ``nbdtr(k, n, p)`` is y, of y, n and p.",
    lambda d, out, y, n, p: d * free(out, 1 / beta_by(0, 1)(n, out + 1, p)),
    lambda d, out, y, n, p: -(d * free(out, beta_by(1, 0)(n, out + 1, p) / beta_by(0, 1)(n, out + 1, p))),
    lambda d, out, y, n, p: -(d * free(out, beta_density(n, out + 1, p) / beta_by(0, 1)(n, out + 1, p))),
)
nbdtrin = scipy_ufunc(
    "nbdtrin",
    "The n, not whole, for which ``nbdtr(k, n, p)`` is y, of k, y and p.",
    lambda d, out, k, y, p: -(d * (beta_by(0, 1)(out, k + 1, p) / beta_by(1, 0)(out, k + 1, p))),
    lambda d, out, k, y, p: d / beta_by(1, 0)(out, k + 1, p),
    lambda d, out, k, y, p: -(d * (beta_density(out, k + 1, p) / beta_by(1, 0)(out, k + 1, p))),
)
