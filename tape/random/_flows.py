"""How samples of the gamma, beta and von Mises distributions move with their parameters, as operations.

Each flow is an elementwise operation with a derivative: by the sample in closed form, by the parameters by
the integrals of `tape.random._integrals`. These have no further derivatives, and refuse them: samples have
two.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any, NoReturn

import numpy as np
from scipy import special

from tape.core.elementwise import elementwise
from tape.errors import UnsupportedError
from tape.ops.elementwise.elementary import cos, exp, log, sin
from tape.ops.special.losses import expit, log_expit
from tape.ops.special.normal import erfcx
from tape.ops.special.polygammas import psi
from tape.random._scores import beta_slopes, gamma_slopes
from tape.random._symmetric import t_slopes, vonmises_slopes

_BLOCK = 4096
"""Elements that are integrated together: their intermediate arrays stay in the cache."""

_TINY = 1e-300
_FARTHEST = 700.0


def _in_blocks(f: Callable[..., Any], *operands: Any) -> list[np.ndarray]:
    """Apply a function of float64[n] to operands that broadcast, block by block; NaN where one is."""
    arrays = np.broadcast_arrays(*[np.asarray(operand, float) for operand in operands])
    shape = arrays[0].shape
    flat = [array.ravel() for array in arrays]
    is_known = np.logical_and.reduce([np.isfinite(array) for array in flat])
    places = np.flatnonzero(is_known)
    found: list[np.ndarray] | None = None
    with np.errstate(all="ignore"):
        for start in range(0, max(len(places), 1), _BLOCK):
            block = places[start : start + _BLOCK]
            parts = f(*[array[block] for array in flat])
            if found is None:
                found = [np.full(len(is_known), np.nan) for _ in parts]
            for whole, part in zip(found, parts, strict=True):
                whole[block] = part
    assert found is not None
    return [whole.reshape(shape)[()] for whole in found]


def _one(name: str, k: int, f: Callable[..., Any], *partials: Any) -> Callable[..., Any]:
    """Declare result k of a function as an operation, in the dtype of its operands."""

    def forward(*operands: Any) -> Any:
        dtype = np.result_type(*operands, np.float32)
        return _in_blocks(f, *operands)[k].astype(dtype)

    return elementwise(forward, *partials, name=name)


def _last(name: str) -> Callable[..., NoReturn]:
    """Return a rule that refuses a third derivative."""

    def rule(d: Any, out: Any, *operands: Any) -> NoReturn:
        raise UnsupportedError(
            f"a sample of {name} has first and second derivatives by its parameters; a third one was asked "
            "for, which is not implemented. Sample a distribution that is a function of standard numbers, "
            "as normal is"
        )

    return rule


# ---- the gamma distribution ------------------------------------------------------------------------


def _gamma(a: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return dx/da, its derivative by a, and its derivative by x."""
    safe = np.maximum(x, _TINY)
    slope, by_a = gamma_slopes(a, safe)
    # by x: -(d log p / da) - (d log p / dx) dx/da
    by_x = special.digamma(a) - np.log(safe) - slope * (a - 1) + slope * x
    return x * slope, x * by_a, by_x


_gamma_by_a = _one("gamma_flow_by_shape", 1, _gamma, _last("gamma"), _last("gamma"))
_gamma_by_x = _one("gamma_flow_by_sample", 2, _gamma, _last("gamma"), _last("gamma"))
gamma_flow = _one(
    "gamma_flow",
    0,
    _gamma,
    lambda d, out, a, x: d * _gamma_by_a(a, x),
    lambda d, out, a, x: d * _gamma_by_x(a, x),
)
"""``dx/da`` of a sample x of the standard gamma distribution of shape a."""


# ---- the beta distribution -------------------------------------------------------------------------


def _logit_flow(a: np.ndarray, b: np.ndarray, logit: np.ndarray) -> tuple[np.ndarray, ...]:
    return beta_slopes(a, b, np.clip(logit, -_FARTHEST, _FARTHEST))


def _logit_by_logit(d: Any, out: Any, a: Any, b: Any, logit: Any) -> Any:
    """Apply the derivative by the logit: ``-(d log q / da) - (d log q / d logit) out``, of its density q."""
    x = expit(logit)
    return d * (psi(a) - psi(a + b) - log_expit(logit) - (a * (1 - x) - b * x) * out)


_logit_by_a = _one("logit_flow_by_a", 1, _logit_flow, *[_last("beta")] * 3)
_logit_by_b = _one("logit_flow_by_b", 2, _logit_flow, *[_last("beta")] * 3)
logit_flow = _one(
    "logit_flow",
    0,
    _logit_flow,
    lambda d, out, a, b, logit: d * _logit_by_a(a, b, logit),
    lambda d, out, a, b, logit: d * _logit_by_b(a, b, logit),
    _logit_by_logit,
)
"""``d logit / da`` of the logit of a sample of the beta distribution of shapes a and b.

By b it is ``-logit_flow(b, a, -logit)``.
"""


def _beta(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return dx/da, and its derivatives by a, b and x."""
    logit = np.clip(np.log(x) - np.log1p(-x), -_FARTHEST, _FARTHEST)
    slope, by_a, by_b = beta_slopes(a, b, logit)
    y = 1 - x
    score = -np.logaddexp(0, -logit) - special.digamma(a) + special.digamma(a + b)
    by_x = -score - ((a - 1) * y - (b - 1) * x) * slope
    return x * y * slope, x * y * by_a, x * y * by_b, by_x


def _mirrored(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return dx/db, and its derivatives by a, b and x."""
    logit = np.clip(np.log(x) - np.log1p(-x), -_FARTHEST, _FARTHEST)
    slope, by_b, by_a = beta_slopes(b, a, -logit)
    y = 1 - x
    score = -np.logaddexp(0, logit) - special.digamma(b) + special.digamma(a + b)
    by_x = -score + ((a - 1) * y - (b - 1) * x) * slope
    return -x * y * slope, -x * y * by_a, -x * y * by_b, by_x


def _beta_flow(name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    by_a, by_b, by_x = (_one(f"{name}_{k}", k, f, *[_last("beta")] * 3) for k in (1, 2, 3))
    return _one(
        name,
        0,
        f,
        lambda d, out, a, b, x: d * by_a(a, b, x),
        lambda d, out, a, b, x: d * by_b(a, b, x),
        lambda d, out, a, b, x: d * by_x(a, b, x),
    )


beta_flow_by_a = _beta_flow("beta_flow_by_a", _beta)
"""``dx/da`` of a sample x of the beta distribution of shapes a and b."""

beta_flow_by_b = _beta_flow("beta_flow_by_b", _mirrored)
"""``dx/db``."""


# ---- Student's t distribution ----------------------------------------------------------------------

_FEW = 4.0
"""Degrees of freedom below which tails are long: there df / t**2 has the odds of a beta sample."""


def _t(df: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return dt/ddf, its derivative by df, and its derivative by t."""
    t = np.where(np.abs(t) < _TINY, _TINY, t)
    slope, by_df, score = t_slopes(np.maximum(df, _FEW), t)
    k = np.flatnonzero(df < _FEW)
    n, x = df[k], t[k]
    a, logit = n / 2, np.clip(np.log(n) - 2 * np.log(np.abs(x)), -_FARTHEST, _FARTHEST)
    inner, inner_a, _ = beta_slopes(a, np.full_like(a, 0.5), logit)
    share = special.expit(logit)
    difference = special.digamma(a) - special.digamma(a + 0.5)
    inner_logit = difference - special.log_expit(logit) - (a * (1 - share) - share / 2) * inner
    slope[k] = x / 2 * (1 / n - inner / 2)
    by_df[k] = -x / 2 * (1 / (n * n) + inner_a / 4 + inner_logit / (2 * n))
    square = x * x / n
    rise = np.log1p(square) - square / (1 + square) * (1 + 1 / n)
    score[k] = -(difference + 1 / n + rise) / 2
    return slope, by_df, slope * (df + 1) * t / (df + t * t) - score


_t_by_df = _one("t_flow_by_df", 1, _t, *[_last("standard_t")] * 2)
_t_by_t = _one("t_flow_by_sample", 2, _t, *[_last("standard_t")] * 2)
t_flow = _one(
    "t_flow",
    0,
    _t,
    lambda d, out, df, t: d * _t_by_df(df, t),
    lambda d, out, df, t: d * _t_by_t(df, t),
)
"""``dt/ddf`` of a sample t of Student's t distribution."""


# ---- functions of them -----------------------------------------------------------------------------


def f_flows(dfnum: Any, dfden: Any, x: Any) -> tuple[Any, Any]:
    """Return those of a sample of the F distribution: x dfnum / dfden has the odds of a beta one."""
    logit = log(x) + log(dfnum) - log(dfden)
    a, b = dfnum / 2, dfden / 2
    return x * (logit_flow(a, b, logit) / 2 - 1 / dfnum), x * (1 / dfden - logit_flow(b, a, -logit) / 2)


def wald_flows(mean: Any, scale: Any, x: Any) -> tuple[Any, Any]:
    """Return the derivatives of a sample of the inverse Gaussian distribution, from its closed cdf."""
    ratio = exp((log(x) - log(scale)) / 2)
    z = (x / mean + 1) / ratio
    mills = sqrt(pi / 2) * erfcx(z / sqrt(2))
    moved = 2 * mills * x * ratio / mean
    return moved * scale / mean, x / scale - moved


# ---- the von Mises distribution --------------------------------------------------------------------


def _vonmises(kappa: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    return vonmises_slopes(kappa, x - 2 * np.pi * np.rint(x / (2 * np.pi)))


_vonmises_by_kappa = _one("vonmises_flow_by_kappa", 1, _vonmises, *[_last("vonmises")] * 2)
_bessel_ratio = elementwise(
    lambda kappa: special.i1e(kappa) / special.i0e(kappa), _last("vonmises"), name="bessel_ratio"
)
vonmises_flow = _one(
    "vonmises_flow",
    0,
    _vonmises,
    lambda d, out, kappa, x: d * _vonmises_by_kappa(kappa, x),
    lambda d, out, kappa, x: d * (_bessel_ratio(kappa) - cos(x) + kappa * sin(x) * out),
)
"""``dx/dkappa`` of a sample x of the von Mises distribution around 0."""
