"""``gmm``: the posterior of a mixture of Gaussians, with a Wishart prior on their precisions.

The precision of component k is Q^T Q with a lower triangular Q: exp(q[k]) on the diagonal, and l[k] below it,
column by column. Up to constants, ``log p(x) = logsumexp_k(alpha + sum(q) - |Q (x - mu)|^2 / 2)``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import multigammaln

import tape
from benchmarks.gradbench.evaluation import Function, Input, floats

__all__ = ["FUNCTIONS", "example", "objective"]


def objective(params: dict[str, Any], x: Any, gamma: float, m: int) -> Any:
    """Return the logarithm of likelihood times prior.

    Parameters
    ----------
    params : dict
        ``alpha`` (k), ``mu`` (k, d), ``q`` (k, d) and ``l`` (k, d (d - 1) / 2).
    x : array
        The observations (n, d).
    gamma, m
        Parameters of the Wishart distribution.
    """
    alpha, mu, q, lower = params["alpha"], params["mu"], params["q"], params["l"]
    n, d = x.shape
    columns, rows = np.triu_indices(d, 1)
    diagonal = np.exp(q)
    factors = np.zeros((len(alpha), d, d), like=diagonal)
    factors[:, np.arange(d), np.arange(d)] = diagonal
    factors[:, rows, columns] = lower
    centred = x[:, None, :] - mu
    scaled = np.einsum("kij,nkj->nki", factors, centred)
    sums = np.sum(q, axis=1)
    inner = alpha + sums - np.sum(scaled**2, axis=2) / 2
    sharing = np.sum(tape.ops.logsumexp(inner, axis=1)) - n * tape.ops.logsumexp(alpha)
    return sharing - n * d / 2 * math.log(2 * math.pi) + _log_wishart(diagonal, lower, sums, gamma, m)


def _log_wishart(diagonal: Any, lower: Any, sums: Any, gamma: float, m: int) -> Any:
    k, d = diagonal.shape
    freedom = d + m + 1
    constant = freedom * d * np.log(gamma / math.sqrt(2)) - float(multigammaln(freedom / 2, d))
    squares = np.sum(diagonal**2) + np.sum(lower**2)
    return k * constant - gamma**2 / 2 * squares + m * np.sum(sums)


def example(seed: int = 0, d: int = 10, k: int = 25, n: int = 1000) -> Input:
    """Return an input: n points in d dimensions, k components."""
    rng = np.random.default_rng(seed)
    return {
        "d": d,
        "k": k,
        "n": n,
        "x": rng.standard_normal((n, d)).tolist(),
        "m": 0,
        "gamma": 1.0,
        "mu": rng.random((k, d)).tolist(),
        "q": rng.standard_normal((k, d)).tolist(),
        "l": rng.standard_normal((k, d * (d - 1) // 2)).tolist(),
        "alpha": rng.standard_normal(k).tolist(),
    }


def _prepare(data: Input) -> tuple[dict[str, np.ndarray], np.ndarray, float, int]:
    params = {name: np.array(data[name], float) for name in ("alpha", "mu", "q", "l")}
    return params, np.array(data["x"], float), float(data["gamma"]), int(data["m"])


FUNCTIONS = {
    "objective": Function(_prepare, tape.compile(objective)),
    "jacobian": Function(
        _prepare,
        tape.compile(tape.grad(objective)),
        lambda gradient: {name: floats(part) for name, part in gradient.items()},
    ),
}
