"""``hello``: a square, and twice its argument as the derivative of the square."""

from __future__ import annotations

import tape
from benchmarks.gradbench.evaluation import Function

__all__ = ["FUNCTIONS", "example", "square"]


def square(x: float) -> float:
    """Return the square of a number."""
    return x * x


def example(seed: int = 0) -> float:
    """Return an input: the first that GradBench sends."""
    return 1.0 + seed


def _prepare(x: float) -> tuple[float]:
    return (float(x),)


FUNCTIONS = {
    "square": Function(_prepare, square),
    "double": Function(_prepare, tape.compile(tape.grad(square))),
}
