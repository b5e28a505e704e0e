"""How samples of the gamma and beta distributions move: integrals of scores, see `tape.random._integrals`."""

from __future__ import annotations

import numpy as np
from scipy import special

from tape.random._integrals import integral, reach

_LEAST = 4.0
"""Parameters smaller than this are raised by recurrences first: integrands have long tails otherwise."""


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

        length = reach(exponent, 1 / np.sqrt(np.maximum(b, y)) + 1e-3)
        value, value_a = integral(exponent, length, factors)
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

    length = reach(exponent, 1 / np.sqrt(1 + np.minimum(a, b)) + 1e-3)
    return integral(exponent, length, factors)


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
