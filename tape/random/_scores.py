"""Integrals of scores: how a sample moves with a parameter of its distribution, at a fixed probability.

A sample x with the distribution function F(x; a) and the density p follows ``F(x(a); a) = u``, so that
``dx/da = -F_a / p``: implicit reparametrisation (Figurnov, Mohamed, Mnih, "Implicit Reparameterization
Gradients", 2018, equation 7). With the score ``s(t) = d log p(t) / da``, that is an integral of ``s(t) p(t) /
p(x)`` over all t below x, times -1, or over all t above x, as both together are zero. Where the score is
monotonic, one of the two has an integrand of one sign: the one on the side where ``s(x)`` has the sign of the
tail. So nothing cancels, and Gauss-Legendre quadrature over the range where the integrand is larger than
rounding is exact to about 1e-13.

The derivative of such an integral by a parameter, x being held, is that of the integrand:
``s_i(t) (s_j(t) - s_j(x)) + d s_i / d a_j``.

Everything here is for plain arrays of one axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2
_NEGLIGIBLE = 42.0
"""Where a logarithm has fallen by so much, e**-42, the integrand is less than rounding."""

_LEAST = 4.0
"""Parameters smaller than this are raised by recurrences first: integrands have long tails otherwise."""

Exponent = Callable[[np.ndarray], np.ndarray]


def _reach(exponent: Exponent, guess: np.ndarray, most: np.ndarray | float = np.inf) -> np.ndarray:
    """Return v > 0 where a concave falling exponent is about ``-_NEGLIGIBLE``; at most ``most``."""
    high = np.minimum(guess, most)
    for _ in range(60):
        is_short = (exponent(high) > -_NEGLIGIBLE) & (high < most)
        if not is_short.any():
            break
        high = np.where(is_short, np.minimum(2 * high, most), high)
    low = np.zeros_like(high)
    for _ in range(12):  # halving: twice the range needed is no harm
        middle = (low + high) / 2
        is_enough = exponent(middle) <= -_NEGLIGIBLE
        low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
    return high


def _integral(
    exponent: Exponent, length: np.ndarray, factors: Callable[[np.ndarray], tuple[np.ndarray, ...]]
) -> list[np.ndarray]:
    """Return integrals of several factors times ``exp(exponent(v))`` over v from 0 to a length."""
    totals: list[np.ndarray] = []
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        v = node * length
        mass = weight * length * np.exp(exponent(v))
        parts = [mass * factor for factor in factors(v)]
        totals = [a + b for a, b in zip(totals, parts, strict=True)] if totals else parts
    return totals


# ---- the gamma distribution ------------------------------------------------------------------------


def gamma_slopes(a: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(dx/da) / x`` of a sample of the standard gamma distribution, and its derivative by a, x being
    held.

    Parameters
    ----------
    a, x : numpy.ndarray
        Shape and sample, positive; float64[n].

    Returns
    -------
    slope, curvature : numpy.ndarray
        float64[n].
    """
    log = np.log(x)
    total, total_a = np.zeros_like(x), np.zeros_like(x)
    rate, rate_a = np.ones_like(x), np.zeros_like(x)  # what the slope of the raised shape is multiplied by
    a = a.copy()
    while True:
        is_low = (a < _LEAST) & (log < special.digamma(a + 1))
        if not is_low.any():
            break
        # slope(a) = (digamma(a + 1) - log x) / a + x / a slope(a + 1): terms of one sign
        k = np.flatnonzero(is_low)
        b, first = a[k], special.digamma(a[k] + 1) - log[k]
        term, term_a = first / b, special.polygamma(1, b + 1) / b - first / (b * b)
        total[k] += rate[k] * term
        total_a[k] += rate_a[k] * term + rate[k] * term_a
        rate_a[k] = rate_a[k] * x[k] / b - rate[k] * x[k] / (b * b)
        rate[k] *= x[k] / b
        a[k] += 1
    psi, psi_1 = special.digamma(a), special.polygamma(1, a)
    slope, slope_a = np.empty_like(x), np.empty_like(x)
    is_below = log < psi
    for side, sign in ((is_below, -1.0), (~is_below, 1.0)):
        if not side.any():
            continue
        b, y, start = a[side], x[side], log[side] - psi[side]
        trigamma = psi_1[side]

        def exponent(v: np.ndarray, b: np.ndarray = b, y: np.ndarray = y, sign: float = sign) -> np.ndarray:
            return sign * b * v - y * np.expm1(sign * v)

        def factors(
            v: np.ndarray, start: np.ndarray = start, trigamma: np.ndarray = trigamma, sign: float = sign
        ) -> tuple[np.ndarray, ...]:
            score = start + sign * v
            return score, score * sign * v - trigamma

        length = _reach(exponent, 1 / np.sqrt(np.maximum(b, y)) + 1e-3)
        value, value_a = _integral(exponent, length, factors)
        slope[side], slope_a[side] = sign * value, sign * value_a
    return total + rate * slope, total_a + rate_a * slope + rate * slope_a


# ---- the beta distribution -------------------------------------------------------------------------


def beta_slopes(a: np.ndarray, b: np.ndarray, logit: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``d logit / da`` of a sample of the beta distribution, and its derivatives by a and by b.

    Parameters
    ----------
    a, b : numpy.ndarray
        The two shapes, positive; float64[n].
    logit : numpy.ndarray
        ``log(x / (1 - x))`` of the sample; float64[n]. It is held in the derivatives.

    Returns
    -------
    slope, by_a, by_b : numpy.ndarray
        float64[n].
    """
    log_x, log_y = -np.logaddexp(0, -logit), -np.logaddexp(0, logit)
    x, y = np.exp(log_x), np.exp(log_y)
    a, b = a.copy(), b.copy()
    total, rate = _Jet.zeros(a), _Jet.ones(a)
    while True:  # I_x(a, b) = I_x(a + 1, b) + x^a y^b / (a B(a, b)), DLMF 8.17.20
        is_low = (a < _LEAST) & (log_x < special.digamma(a + 1) - special.digamma(a + b))
        if not is_low.any():
            break
        k = np.flatnonzero(is_low)
        p, q = a[k], b[k]
        sum_1 = special.polygamma(1, p + q)
        term = special.digamma(p + 1) - special.digamma(p + q) - log_x[k]
        by_a = (special.polygamma(1, p + 1) - sum_1) / p - term / (p * p)
        total.add(k, rate, term / p, by_a, -sum_1 / p)
        rate.scale(k, x[k] * (p + q) / p, -x[k] * q / (p * p), x[k] / p)
        a[k] += 1
    is_below = log_x < special.digamma(a) - special.digamma(a + b)
    while True:  # I_x(a, b) = I_x(a, b + 1) - x^a y^b / (b B(a, b)), DLMF 8.17.21
        is_low = (b < _LEAST) & ~is_below
        if not is_low.any():
            break
        k = np.flatnonzero(is_low)
        p, q = a[k], b[k]
        sum_1 = special.polygamma(1, p + q)
        term = log_x[k] - special.digamma(p) + special.digamma(p + q)
        total.add(k, rate, term / q, (sum_1 - special.polygamma(1, p)) / q, sum_1 / q - term / (q * q))
        rate.scale(k, y[k] * (p + q) / q, y[k] / q, -y[k] * p / (q * q))
        b[k] += 1
    rest = _Jet(*(np.empty_like(a) for _ in range(3)))
    for side, sign in ((is_below, -1.0), (~is_below, 1.0)):
        if not side.any():
            continue
        rest.put(
            side, sign, *_beta_integrals(a[side], b[side], logit[side], log_x[side], x[side], y[side], sign)
        )
    value = total.value + rate.value * rest.value
    by_a = total.by_a + rate.by_a * rest.value + rate.value * rest.by_a
    return value, by_a, total.by_b + rate.by_b * rest.value + rate.value * rest.by_b


def _beta_integrals(
    a: np.ndarray,
    b: np.ndarray,
    logit: np.ndarray,
    log_x: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    sign: float,
) -> list[np.ndarray]:
    """Return the integrals over logits on one side: of the score by a, and of its derivatives."""
    psi_sum, sum_1 = special.digamma(a + b), special.polygamma(1, a + b)
    start = log_x - special.digamma(a) + psi_sum
    a_1 = special.polygamma(1, a)

    def moved(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # log t - log x and log (1 - t) - log (1 - x) at the logit plus or minus v
        step = sign * v
        fall = np.log1p(x * np.expm1(step)) if sign < 0 else step + np.log1p(y * np.expm1(-step))
        return step - fall, -fall

    def exponent(v: np.ndarray) -> np.ndarray:
        by_x, by_y = moved(v)
        return a * by_x + b * by_y

    def factors(v: np.ndarray) -> tuple[np.ndarray, ...]:
        by_x, by_y = moved(v)
        score = start + by_x
        return score, score * by_x + sum_1 - a_1, score * by_y + sum_1

    length = _reach(exponent, 1 / np.sqrt(1 + np.minimum(a, b)) + 1e-3)
    return _integral(exponent, length, factors)


class _Jet:
    """A value with its derivatives by two parameters."""

    def __init__(self, value: np.ndarray, by_a: np.ndarray, by_b: np.ndarray) -> None:
        self.value, self.by_a, self.by_b = value, by_a, by_b

    @classmethod
    def zeros(cls, like: np.ndarray) -> _Jet:
        return cls(*(np.zeros_like(like) for _ in range(3)))

    @classmethod
    def ones(cls, like: np.ndarray) -> _Jet:
        return cls(np.ones_like(like), np.zeros_like(like), np.zeros_like(like))

    def add(self, k: np.ndarray, rate: _Jet, value: np.ndarray, by_a: np.ndarray, by_b: np.ndarray) -> None:
        """Add the product of a rate and a value at some elements."""
        self.value[k] += rate.value[k] * value
        self.by_a[k] += rate.by_a[k] * value + rate.value[k] * by_a
        self.by_b[k] += rate.by_b[k] * value + rate.value[k] * by_b

    def scale(self, k: np.ndarray, value: np.ndarray, by_a: np.ndarray, by_b: np.ndarray) -> None:
        """Multiply some elements."""
        self.by_a[k] = self.by_a[k] * value + self.value[k] * by_a
        self.by_b[k] = self.by_b[k] * value + self.value[k] * by_b
        self.value[k] *= value

    def put(self, k: np.ndarray, sign: float, *parts: np.ndarray) -> None:
        """Set some elements."""
        self.value[k], self.by_a[k], self.by_b[k] = (sign * part for part in parts)


# ---- Student's t distribution ----------------------------------------------------------------------


def t_slopes(df: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``dt/ddf`` of a sample of Student's t distribution, its derivative by df, and the score.

    Parameters
    ----------
    df : numpy.ndarray
        Degrees of freedom, 4 or more; float64[n]. For fewer, tails are long: see `beta_slopes`.
    t : numpy.ndarray
        The sample, not 0; float64[n]. It is held in the derivative.

    Returns
    -------
    slope, curvature, score : numpy.ndarray
        float64[n]; for large df all are of the size of df**-2, or less.
    """
    size = np.abs(t)
    level, level_1 = _t_level(df)
    slope, slope_1 = np.empty_like(t), np.empty_like(t)

    def score_at(w: np.ndarray, n: np.ndarray, level: np.ndarray) -> np.ndarray:
        # d log p / dn at t**2 = n w; log1p(w) - w / (1 + w) is of second order
        near = w < 0.05
        small = np.where(near, w, 0.0)
        series = np.zeros_like(w)
        for k in range(14, 1, -1):  # (-1)**k (k - 1) / k w**k
            series = small * series + (-1) ** k * (k - 1) / k
        rise = np.where(near, small * small * series, np.log1p(w) - w / (1 + w))
        return (level - rise + w / (n * (1 + w))) / 2

    score = score_at(size * size / df, df, level)
    is_below = score > 0
    for side, sign in ((is_below, -1.0), (~is_below, 1.0)):
        if not side.any():
            continue
        n, start, first = df[side], size[side], score[side]
        base, base_1 = level[side], level_1[side]
        square = start * start / n

        def ratio(v: np.ndarray, sign: float = sign) -> np.ndarray:
            # of t**2 to that of the sample: from it to 0, or to infinity
            return (1 - v) ** 2 if sign < 0 else np.exp(2 * v)

        def exponent(
            v: np.ndarray,
            n: np.ndarray = n,
            square: np.ndarray = square,
            sign: float = sign,
            ratio: Any = ratio,
        ) -> np.ndarray:
            fall = (n + 1) / 2 * np.log1p(square / (1 + square) * (ratio(v) - 1))
            return -fall if sign < 0 else v - fall

        def factors(
            v: np.ndarray,
            n: np.ndarray = n,
            square: np.ndarray = square,
            first: np.ndarray = first,
            base: np.ndarray = base,
            base_1: np.ndarray = base_1,
            ratio: Any = ratio,
        ) -> tuple[np.ndarray, ...]:
            w = square * ratio(v)
            here = score_at(w, n, base)
            by_df = (base_1 + (w * w / n - w * (2 + w) / (n * n)) / (1 + w) ** 2) / 2
            return here, here * (here - first) + by_df

        length = np.ones_like(n) if sign < 0 else _reach(exponent, np.ones_like(n))
        value, value_1 = _integral(exponent, length, factors)
        slope[side], slope_1[side] = sign * start * value, sign * start * value_1
    return np.sign(t) * slope, np.sign(t) * slope_1, score


def _t_level(df: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``digamma((df + 1) / 2) - digamma(df / 2) - 1 / df``, and its derivative.

    Far out from the series of the difference in 1 / df, DLMF 5.11.2 and 24.4.27: it is of the size of df**-2.
    """
    is_far = df > 40.0
    near = np.where(is_far, 4.0, df)
    value = special.digamma((near + 1) / 2) - special.digamma(near / 2) - 1 / near
    slope = (special.polygamma(1, (near + 1) / 2) - special.polygamma(1, near / 2)) / 2 + 1 / near**2
    r = 1 / np.where(is_far, df, 40.0)
    far, far_1 = np.zeros_like(r), np.zeros_like(r)
    for k, c in enumerate(_LEVELS, 1):  # c_k df**(-2 k)
        far += c * r ** (2 * k)
        far_1 -= 2 * k * c * r ** (2 * k + 1)
    return np.where(is_far, far, value), np.where(is_far, far_1, slope)


_LEVELS = [float((4**k - 1) * b / k) for k, b in enumerate(special.bernoulli(20)[2::2], 1)]


# ---- the von Mises distribution --------------------------------------------------------------------


def vonmises_slopes(kappa: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``dx/dkappa`` of a sample of the von Mises distribution around 0, and its derivative by kappa.

    Parameters
    ----------
    kappa : numpy.ndarray
        The concentration, 0 or more; float64[n].
    x : numpy.ndarray
        The sample, from -pi to pi; float64[n]. It is held in the derivative.

    Returns
    -------
    slope, curvature : numpy.ndarray
        float64[n].
    """
    angle = np.abs(x)
    gap, variance = _mean_direction(kappa)
    half = 2 * np.sin(angle / 2) ** 2  # 1 - cos
    slope, slope_k = np.empty_like(x), np.empty_like(x)
    is_below = half < gap  # there the score, cos - mean, is positive from 0 on
    for side, sign in ((is_below, -1.0), (~is_below, 1.0)):
        if not side.any():
            continue
        k, start, one_minus = kappa[side], angle[side], half[side]
        mean_gap, spread = gap[side], variance[side]

        def apart(v: np.ndarray, start: np.ndarray = start, sign: float = sign) -> np.ndarray:
            # cos of what is v further minus cos of the start
            return -sign * 2 * np.sin(start + sign * v / 2) * np.sin(v / 2)

        def exponent(v: np.ndarray, k: np.ndarray = k, apart: Exponent = apart) -> np.ndarray:
            return k * apart(v)

        def factors(
            v: np.ndarray,
            apart: Exponent = apart,
            distance: np.ndarray = mean_gap - one_minus,
            spread: np.ndarray = spread,
        ) -> tuple[np.ndarray, ...]:
            score = distance + apart(v)
            return score, score * apart(v) - spread

        length = start if sign < 0 else np.pi - start
        if sign > 0:
            length = _reach(exponent, np.minimum(1 / np.sqrt(k + 1), length) + 1e-300, length)
        value, value_k = _integral(exponent, length, factors)
        slope[side], slope_k[side] = sign * value, sign * value_k
    return np.sign(x) * slope, np.sign(x) * slope_k


def _mean_direction(kappa: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return one minus the mean of the cosine, and the variance of the cosine.

    That is 1 - A and A' with A = I1 / I0; far out by series in 1 / kappa, where differences would cancel.
    """
    is_far = kappa > 60.0
    near = np.where(is_far, 1.0, kappa)
    mean = special.i1e(near) / special.i0e(near)
    ratio = np.where(near > 1e-8, mean / np.where(near > 0, near, 1.0), 0.5)
    gap, variance = 1 - mean, 1 - ratio - mean * mean
    r = 1 / np.where(is_far, kappa, 1e3)
    # 1 - A = sum c_n r^n, from A' = 1 - A / kappa - A^2
    far = r * (_FAR[0] + r * 0)
    slope = _FAR[0] * r * r
    for n, c in enumerate(_FAR[1:], 2):
        far = far + c * r**n
        slope = slope + n * c * r ** (n + 1)
    return np.where(is_far, far, gap), np.where(is_far, slope, variance)


def _far_coefficients(count: int) -> list[float]:
    """Return c_1, c_2, ... of ``1 - I1(k) / I0(k) = sum c_n k^-n``, by Riccati's equation for it."""
    # G = 1 - A: -G' = 1 - (1 - G) / k - (1 - G)^2, so 2 G = 1 / k - G / k + G^2 - G'
    c = [0.0]
    for n in range(1, count + 1):
        total = 1.0 if n == 1 else 0.0
        if n > 1:
            total += -c[n - 1] + (n - 1) * c[n - 1]
        total += sum(c[i] * c[n - i] for i in range(1, n))
        c.append(total / 2)
    return c[1:]


_FAR = _far_coefficients(14)
