"""``llsq``: least squares fit of a polynomial to the sign function, at n points between -1 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np

import tape
from benchmarks.gradbench.evaluation import Function, Input

__all__ = ["FUNCTIONS", "example", "objective"]


def objective(x: Any, n: int) -> Any:
    """Return half the sum of squares of sign(t) - x[0] - x[1] t - x[2] t**2 - ..."""
    t = np.linspace(-1.0, 1.0, n)
    polynomial = t[:, None] ** np.arange(len(x)) @ x
    return np.sum((np.sign(t) - polynomial) ** 2) / 2


def example(seed: int = 0, n: int = 1024, m: int = 128) -> Input:
    """Return an input: m coefficients, n points."""
    return {"x": np.random.default_rng(seed).random(m).tolist(), "n": n}


def _prepare(data: Input) -> tuple[np.ndarray, int]:
    return np.array(data["x"], float), int(data["n"])


FUNCTIONS = {
    "primal": Function(_prepare, tape.compile(objective)),
    "gradient": Function(_prepare, tape.compile(tape.grad(objective))),
}
