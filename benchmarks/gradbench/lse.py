"""``lse``: the logarithm of a sum of exponentials, from its elements rather than by one function."""

from __future__ import annotations

from typing import Any

import numpy as np

import tape
from benchmarks.gradbench.evaluation import Function, Input

__all__ = ["FUNCTIONS", "example", "logsumexp"]


def logsumexp(x: Any) -> Any:
    """Return log(sum(exp(x))), without overflow."""
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))


def example(seed: int = 0, n: int = 100_000) -> Input:
    """Return an input: n numbers."""
    return {"x": np.random.default_rng(seed).random(n).tolist()}


def _prepare(data: Input) -> tuple[np.ndarray]:
    return (np.array(data["x"], float),)


FUNCTIONS = {
    "primal": Function(_prepare, tape.compile(logsumexp)),
    "gradient": Function(_prepare, tape.compile(tape.grad(logsumexp))),
}
