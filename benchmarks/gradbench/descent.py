"""The gradient descent of ``particle`` and ``saddle``, as GradBench specifies it, by either mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tape

__all__ = ["MODES", "argmin"]

Objective = Callable[[Any], Any]


def forward(f: Objective) -> Callable[[Any], tuple[Any, Any]]:
    """Return a function for the value and the gradient of ``f``, by forward mode."""

    def value_and_grad(x: Any) -> tuple[Any, Any]:
        along = tape.vmap(lambda direction: tape.jvp(f, (x,), (direction,)), out_axes=(None, 0))
        return along(np.eye(len(x)))

    return value_and_grad


MODES: dict[str, Callable[[Objective], Callable[[Any], tuple[Any, Any]]]] = {
    "r": tape.value_and_grad,
    "f": forward,
}
"""Value and gradient by reverse and by forward mode."""


def length(x: Any) -> Any:
    """Return the norm of a vector."""
    return np.sqrt(np.sum(x * x))


def argmin(value_and_grad: Callable[[Any], tuple[Any, Any]], start: Any) -> Any:
    """Return where a function is smallest.

    The step grows after ten successes and halves after each failure; the search ends when the gradient or the
    step is below 1e-5.
    """

    def is_searching(state: tuple[Any, ...]) -> Any:
        _, _, gradient, _, _, is_done = state
        return (length(gradient) > 1e-5) & ~is_done

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        x, value, gradient, rate, successes, _ = state
        grows = successes == 10
        moved = x - rate * gradient
        moved_value, moved_gradient = value_and_grad(moved)
        is_done = ~grows & (length(x - moved) <= 1e-5)
        is_better = ~grows & ~is_done & (moved_value < value)
        is_worse = ~grows & ~is_done & ~is_better
        return (
            np.where(is_better, moved, x),
            np.where(is_better, moved_value, value),
            np.where(is_better, moved_gradient, gradient),
            np.where(grows, 2 * rate, np.where(is_worse, rate / 2, rate)),
            np.where(is_better, successes + 1, 0),
            is_done,
        )

    return tape.while_loop(is_searching, step, (start, *value_and_grad(start), 1e-5, 0, False))[0]
