"""A mixture of Gaussians, as in ADBench and GradBench: log-likelihood and prior, by all parameters.

The formulas are those of ``src/python/modules/PyTorch/gmm_objective.py`` in
https://github.com/microsoft/ADBench, with the sign of the prior as GradBench corrected it
(https://github.com/gradbench/gradbench, ``evals/gmm``). With lower triangular Q of a component, exp(q) on
its diagonal, ``log p(x) = logsumexp_k(alpha + sum(q) - |Q (x - mean)|^2 / 2)`` up to terms
independent of x.

Every contender computes Q x - Q mean instead of Q (x - mean), with the points on the last axis: the
fastest of the forms that were tried, in NumPy, JAX and PyTorch alike.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp, multigammaln

from benchmarks.contenders import gradients_by
from benchmarks.harness import Case
from benchmarks.registry import workload

_GAMMA, _M = 1.0, 0  # of the Wishart prior


@workload("gmm")
def gmm(seed: int) -> list[Case]:
    """Mixture of Gaussians of GradBench, d = 10, k = 25, n = 1,000, float64: value and gradient."""
    d, k, n = 10, 25, 1000
    rng = np.random.default_rng(seed)
    params = [rng.standard_normal(k), rng.random((k, d)), rng.standard_normal((k, d * (d + 1) // 2))]
    x = rng.standard_normal((n, d))
    losses = {
        "tape compiled": lambda tape, *a: _objective(np, tape.ops.logsumexp, *a),
        "tape": lambda tape, *a: _objective(np, tape.ops.logsumexp, *a),
        "torch": _torch_objective,
        "jax": lambda jax, *a: _objective(jax.numpy, jax.scipy.special.logsumexp, *a),
        "autograd": lambda autograd, *a: _objective(autograd.numpy, autograd.scipy.special.logsumexp, *a),
    }
    contenders = {"numpy": lambda: partial(_by_hand, *params, x), **gradients_by(losses, params, [x])}
    return [Case("", contenders, tolerance=1e-11, baseline="tape compiled")]


def _entries(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the position in a row of icf of each element of Q, and a mask of those below the diagonal."""
    columns, rows = np.triu_indices(d, 1)
    index, is_below = np.zeros((d, d), int), np.zeros((d, d))
    index[rows, columns] = d + np.arange(len(rows))
    is_below[rows, columns] = 1
    return index, is_below


def _constant(n: int, k: int, d: int) -> float:
    """Return the terms that depend on no parameter."""
    freedom = d + _M + 1
    prior = freedom * d * math.log(_GAMMA / math.sqrt(2)) - multigammaln(freedom / 2, d)
    return -n * d / 2 * math.log(2 * math.pi) + k * float(prior)


def _objective(numpy: Any, logsumexp: Any, alphas: Any, means: Any, icf: Any, x: Any) -> Any:
    (n, d), k = x.shape, len(means)
    index, is_below = _entries(d)
    logs, below = icf[:, :d], icf[:, d:]
    diagonal = numpy.exp(logs)
    factors = icf[:, index] * is_below + diagonal[:, :, None] * np.eye(d)
    scaled = (factors.reshape(k * d, d) @ x.T).reshape(k, d, n) - factors @ means[:, :, None]
    sums = numpy.sum(logs, axis=1)
    inner = (alphas + sums)[:, None] - 0.5 * numpy.sum(scaled * scaled, axis=1)
    likelihood = numpy.sum(logsumexp(inner, axis=0)) - n * logsumexp(alphas)
    penalty = 0.5 * _GAMMA**2 * (numpy.sum(diagonal**2) + numpy.sum(below**2)) - _M * numpy.sum(sums)
    return likelihood - penalty + _constant(n, k, d)


def _torch_objective(torch: Any, alphas: Any, means: Any, icf: Any, x: Any) -> Any:
    (n, d), k = x.shape, len(means)
    index, is_below = map(torch.from_numpy, _entries(d))
    logs, below = icf[:, :d], icf[:, d:]
    diagonal = torch.exp(logs)
    factors = icf[:, index] * is_below + torch.diag_embed(diagonal)
    shifts = torch.bmm(factors, means[:, :, None]).view(k * d, 1)
    scaled = torch.addmm(-shifts, factors.view(k * d, d), x.T).view(k, d, n)
    sums = logs.sum(1)
    inner = (alphas + sums)[:, None] - 0.5 * (scaled * scaled).sum(1)
    likelihood = torch.logsumexp(inner, 0).sum() - n * torch.logsumexp(alphas, 0)
    penalty = 0.5 * _GAMMA**2 * ((diagonal**2).sum() + (below**2).sum()) - _M * sums.sum()
    return likelihood - penalty + _constant(n, k, d)


def _by_hand(alphas: Any, means: Any, icf: Any, x: Any) -> list[Any]:
    (n, d), k = x.shape, len(means)
    index, is_below = _entries(d)
    logs, below = icf[:, :d], icf[:, d:]
    diagonal = np.exp(logs)
    factors = icf[:, index] * is_below
    factors[:, np.arange(d), np.arange(d)] = diagonal
    rows = factors.reshape(k * d, d) @ x.T
    scaled = rows.reshape(k, d, n)
    scaled -= np.matmul(factors, means[:, :, None])
    sums = logs.sum(axis=1)
    shares = (scaled * scaled).sum(axis=1)
    shares *= -0.5
    shares += (alphas + sums)[:, None]
    largest = shares.max(axis=0)
    shares -= largest
    np.exp(shares, out=shares)
    total = shares.sum(axis=0)
    shares /= total
    likelihood = np.log(total).sum() + largest.sum() - n * logsumexp(alphas)
    penalty = 0.5 * _GAMMA**2 * ((diagonal**2).sum() + (below**2).sum()) - _M * sums.sum()

    counts = shares.sum(axis=1)
    scaled *= shares[:, None, :]  # now minus the derivative by itself
    d_shifts = scaled.sum(axis=2)
    d_factors = d_shifts[:, :, None] * means[:, None, :] - (rows @ x).reshape(k, d, d)
    d_icf = np.empty_like(icf)
    d_icf[:, :d] = np.einsum("kii->ki", d_factors) * diagonal
    d_icf[:, :d] += counts[:, None] - _GAMMA**2 * diagonal**2 + _M
    d_icf[:, d:] = d_factors.swapaxes(1, 2)[:, *np.triu_indices(d, 1)] - _GAMMA**2 * below
    d_alphas = counts - n * np.exp(alphas - logsumexp(alphas))
    d_means = np.matmul(d_shifts[:, None, :], factors)[:, 0]
    return [likelihood - penalty + _constant(n, k, d), d_alphas, d_means, d_icf]
