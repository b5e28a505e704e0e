"""``ode``: s steps of the Runge-Kutta method for y[0]' = x[0] and y[i]' = x[i] y[i - 1], from 0 to 2."""

from __future__ import annotations

from typing import Any

import numpy as np

import tape
from benchmarks.gradbench.evaluation import Function, Input

__all__ = ["FUNCTIONS", "example", "last", "solution"]


def solution(x: Any, s: int) -> Any:
    """Return y(2)."""
    h = 2.0 / s

    def slope(y: Any) -> Any:
        return x * np.concatenate([np.ones(1), y[:-1]])

    def step(_: Any, y: Any) -> Any:
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return tape.fori_loop(0, s, step, np.zeros(len(x)))


def last(x: Any, s: int) -> Any:
    """Return the last element of y(2)."""
    return solution(x, s)[-1]


def example(seed: int = 0, n: int = 1000, s: int = 100) -> Input:
    """Return an input: n equations, s steps."""
    return {"x": np.random.default_rng(seed).random(n).tolist(), "s": s}


def _prepare(data: Input) -> tuple[np.ndarray, int]:
    return np.array(data["x"], float), int(data["s"])


FUNCTIONS = {
    "primal": Function(_prepare, tape.compile(solution)),
    "gradient": Function(_prepare, tape.compile(tape.grad(last))),
}
