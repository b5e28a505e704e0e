"""``particle``: where to put a charge so that the particle that it deflects hits the origin.

The force on the particle is a gradient, its path is a loop of Euler's method until it meets the axis, and the
place is found by gradient descent through all of that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tape
from benchmarks.gradbench.descent import MODES, argmin
from benchmarks.gradbench.evaluation import Function, Input

__all__ = ["FUNCTIONS", "control", "example", "miss"]


def potential(x: Any, w: Any) -> Any:
    """Return the electric potential of charges at (10, 10 - w) and (10, 0)."""
    distance = np.sqrt((x[0] - 10.0) ** 2 + (x[1] - (10.0 - w)) ** 2)
    other = np.sqrt((x[0] - 10.0) ** 2 + x[1] ** 2)
    return 1.0 / distance + 1.0 / other


def miss(inner: Callable[..., Any], w: Any) -> Any:
    """Return the square of the particle's place on the axis; ``inner`` makes the gradient for its force."""
    dt = 0.1

    def is_above(state: tuple[Any, Any]) -> Any:
        x, v = state
        return x[1] + dt * v[1] > 0

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        x, v = state
        _, gradient = inner(lambda x: potential(x, w))(x)
        return x + dt * v, v - dt * gradient

    x, v = tape.while_loop(is_above, step, (np.array([0.0, 8.0]), np.array([0.75, 0.0])))
    return (x[0] - x[1] / v[1] * v[0]) ** 2


def control(outer: Callable[..., Any], inner: Callable[..., Any], w: Any) -> Any:
    """Return the best w; ``outer`` and ``inner`` make gradients by one of the `MODES`."""
    return argmin(outer(lambda w: miss(inner, w[0])), w)[0]


def example(seed: int = 0) -> Input:
    """Return the input; there is one."""
    return {"w": 0.0}


def _prepare(data: Input) -> tuple[np.ndarray]:
    return (np.array([data["w"]], float),)


FUNCTIONS = {
    outer + inner: Function(_prepare, tape.compile(partial(control, MODES[outer], MODES[inner])))
    for outer in MODES
    for inner in MODES
}
