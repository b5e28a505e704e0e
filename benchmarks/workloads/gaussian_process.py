"""A Gaussian process: the logarithm of its marginal likelihood, by the parameters of the kernel.

``log p(y) = -y K^-1 y / 2 - sum(log diag(L)) - n log(2 pi) / 2`` with the Cholesky factor L of K (Rasmussen
and Williams 2006, algorithm 2.1; by hand, eq. 5.9).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from benchmarks.contenders import gradients_by
from benchmarks.harness import Case
from benchmarks.registry import workload

_POINTS, _FEATURES = 200, 3


@workload("gaussian-process")
def gaussian_process(seed: int) -> list[Case]:
    """Gaussian process of 200 points, float64: log marginal likelihood and gradient by 5 parameters."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((_POINTS, _FEATURES))
    y = np.sin(x).sum(axis=1) + 0.1 * rng.standard_normal(_POINTS)
    params, data = [rng.standard_normal(_FEATURES) * 0.1, np.array(0.2), np.array(-2.0)], [x, y]
    losses = {
        "tape compiled": lambda tape, *a: _loss(np, tape.ops.linalg.solve_triangular, *a),
        "torch": _torch_loss,
        "jax": lambda jax, *a: _loss(jax.numpy, jax.scipy.linalg.solve_triangular, *a),
    }
    contenders = {"numpy": lambda: partial(_by_hand, *params, *data), **gradients_by(losses, params, data)}
    return [Case("", contenders, tolerance=1e-9, baseline="tape compiled")]


def _loss(numpy: Any, solve_triangular: Any, scales: Any, size: Any, noise: Any, x: Any, y: Any) -> Any:
    scaled = x * numpy.exp(-scales)
    squares = numpy.sum(scaled**2, axis=1)
    distances = squares[:, None] + squares - 2 * scaled @ scaled.T
    kernel = numpy.exp(size - 0.5 * distances) + numpy.exp(noise) * np.eye(len(y))
    factor = numpy.linalg.cholesky(kernel)
    white = solve_triangular(factor, y, lower=True)
    logdet = numpy.sum(numpy.log(numpy.diag(factor)))
    return 0.5 * numpy.sum(white**2) + logdet + 0.5 * len(y) * math.log(2 * math.pi)


def _torch_loss(torch: Any, scales: Any, size: Any, noise: Any, x: Any, y: Any) -> Any:
    scaled = x * torch.exp(-scales)
    squares = (scaled**2).sum(1)
    distances = squares[:, None] + squares - 2 * scaled @ scaled.T
    kernel = torch.exp(size - 0.5 * distances) + torch.exp(noise) * torch.eye(len(y), dtype=y.dtype)
    factor = torch.linalg.cholesky(kernel)
    white = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
    logdet = torch.log(torch.diagonal(factor)).sum()
    return 0.5 * (white**2).sum() + logdet + 0.5 * len(y) * math.log(2 * math.pi)


def _by_hand(scales: Any, size: Any, noise: Any, x: Any, y: Any) -> list[Any]:
    scaled = x * np.exp(-scales)
    squares = (scaled**2).sum(axis=1)
    smooth = np.exp(size - 0.5 * (squares[:, None] + squares - 2 * scaled @ scaled.T))
    kernel = smooth.copy()
    kernel.flat[:: len(y) + 1] += np.exp(noise)
    factor = cho_factor(kernel, lower=True, check_finite=False)
    weights = cho_solve(factor, y, check_finite=False)
    value = 0.5 * y @ weights + np.log(np.diagonal(factor[0])).sum() + 0.5 * len(y) * math.log(2 * math.pi)
    by_kernel = 0.5 * (cho_solve(factor, np.eye(len(y)), check_finite=False) - np.outer(weights, weights))
    by_smooth = by_kernel * smooth
    by_scales = 2 * by_smooth.sum(axis=1) @ scaled**2 - 2 * ((by_smooth @ scaled) * scaled).sum(axis=0)
    return [value, by_scales, by_smooth.sum(), np.trace(by_kernel) * np.exp(noise)]
