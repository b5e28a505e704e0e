"""``kmeans``: the cost of a clustering, and the step of Newton's method for the centroids.

The Hessian of the cost is diagonal, so that its product with a vector of ones is that diagonal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tape
from benchmarks.gradbench.evaluation import Function, Input

__all__ = ["FUNCTIONS", "cost", "direction", "example"]


def cost(centroids: Any, points: Any) -> Any:
    """Return the sum of the squared distances between points and nearest centroids."""
    distances = np.sum((points[:, None, :] - centroids) ** 2, axis=2)
    return np.sum(np.min(distances, axis=1))


def direction(centroids: Any, points: Any) -> Any:
    """Return the gradient by the centroids, divided by the diagonal of the Hessian."""
    gradient, diagonal = tape.jvp(
        lambda centroids: tape.grad(cost)(centroids, points), (centroids,), (np.ones_like(centroids),)
    )
    return gradient / diagonal


def example(seed: int = 0, k: int = 10, n: int = 1000, d: int = 8) -> Input:
    """Return an input: n points, of which the last k are the centroids."""
    points = np.random.default_rng(seed).random((n, d)).tolist()
    return {"points": points, "centroids": points[-k:]}


def _prepare(data: Input) -> tuple[np.ndarray, np.ndarray]:
    return np.array(data["centroids"], float), np.array(data["points"], float)


FUNCTIONS = {
    "cost": Function(_prepare, tape.compile(cost)),
    "dir": Function(_prepare, tape.compile(direction)),
}
