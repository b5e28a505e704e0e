"""What several distributions are made of."""

from __future__ import annotations

import math

import numpy as np

from tape.scipy.stats._distribution import Array

LOG_SQRT_2_PI = math.log(2 * math.pi) / 2
LOG_2 = math.log(2)


def log1mexp(x: Array) -> Array:
    """Return ``log(1 - exp(-x))`` of x >= 0, exact at both ends."""
    is_small = x < LOG_2
    small, large = np.where(is_small, x, 0.5), np.where(is_small, 1.0, x)
    return np.where(is_small, np.log(-np.expm1(-small)), np.log1p(-np.exp(-large)))
