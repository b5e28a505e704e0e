"""``saddle``: where min over p of max over q of |p|^2 - |q|^2 is taken, by nested gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tape
from benchmarks.gradbench.descent import MODES, argmin
from benchmarks.gradbench.evaluation import Function, Input

__all__ = ["FUNCTIONS", "example", "saddle_point"]


def height(p: Any, q: Any) -> Any:
    """Return |p|^2 - |q|^2."""
    return np.sum(p**2) - np.sum(q**2)


def saddle_point(outer: Callable[..., Any], inner: Callable[..., Any], start: Any) -> Any:
    """Return p and q, concatenated; ``outer`` and ``inner`` make gradients by one of the `MODES`."""

    def highest(p: Any) -> Any:
        return argmin(inner(lambda q: -height(p, q)), start)

    p = argmin(outer(lambda p: height(p, highest(p))), start)
    return np.concatenate([p, highest(p)])


def example(seed: int = 0) -> Input:
    """Return the input; there is one."""
    return {"start": [1.0, 1.0]}


def _prepare(data: Input) -> tuple[np.ndarray]:
    return (np.array(data["start"], float),)


FUNCTIONS = {
    outer + inner: Function(_prepare, tape.compile(partial(saddle_point, MODES[outer], MODES[inner])))
    for outer in MODES
    for inner in MODES
}
