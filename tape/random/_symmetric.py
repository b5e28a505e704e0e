"""How samples of Student's t and the von Mises distribution move: see `tape.random._integrals`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from tape.random._integrals import Exponent, integral, reach

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

        length = np.ones_like(n) if sign < 0 else reach(exponent, np.ones_like(n))
        value, value_1 = integral(exponent, length, factors)
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
            length = reach(exponent, np.minimum(1 / np.sqrt(k + 1), length) + 1e-300, length)
        value, value_k = integral(exponent, length, factors)
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
