"""The default solvers of `root` and `fixed_point` in a program: loops that data end.

Each requires that it has converged. A call in which it has not is recorded anew, with the solver that a
plain call has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import ops
from tape.transforms.jacobian import jacobian
from tape.transforms.loops.capacity import is_met
from tape.transforms.loops.while_loop import while_loop

_MOST_STEPS = 200


def newton(f: Callable[[Any], Any], x: Any) -> Any:
    """Return the x for which ``f(x)`` is zero, both vectors.

    The method is that of Levenberg and Marquardt: a step solves ``(J.T @ J + m * I) @ step = J.T @ f(x)``,
    where m is proportional to ``f(x) @ f(x)``. It is Newton's near the root, converges quadratically there if
    the Jacobian J is regular (Yamashita and Fukushima, "On the rate of convergence of the Levenberg-Marquardt
    method", 2001), and reduces ``f(x) @ f(x)`` elsewhere.
    """
    eps = float(np.finfo(x.dtype).eps)
    number = x.dtype.type
    unit = np.eye(len(x), dtype=x.dtype)

    def goes_on(state: Any) -> Any:
        _, residual, _, move, steps = state
        return (move > 4 * eps) & np.isfinite(move) & (np.max(np.abs(residual)) > 0) & (steps < _MOST_STEPS)

    def step(state: Any) -> Any:
        x, residual, damping, _, steps = state
        slopes = _matrix(f, x)
        size = residual @ residual
        normal = slopes.T @ slopes + damping * size * unit
        moved = ops.solve(normal + (np.max(np.abs(normal)) == 0) * unit, slopes.T @ residual)
        after = x - moved
        other = f(after)
        is_better = other @ other < size
        move = np.max(np.abs(moved)) / np.maximum(np.max(np.abs(after)), number(1))
        return (
            np.where(is_better, after, x),
            np.where(is_better, other, residual),
            damping * np.where(is_better, number(0.1), number(10)),
            move,
            steps + 1,
        )

    init = (x, f(x), number(1e-3), number(1), 0)
    with np.errstate(all="ignore"):  # where it leads does not matter before it has converged
        x, residual, damping, move, _ = while_loop(goes_on, step, init)
    missed = np.max(np.abs(residual))
    smallest = 1e3 * eps * np.max(np.abs(_matrix(f, x)) @ np.abs(x))
    has_stopped = ((move <= 4 * eps) & (damping <= 1)) | (missed == 0)
    _require(has_stopped & (missed <= np.maximum(smallest, number(eps))))
    return x


def _matrix(f: Callable[[Any], Any], x: Any) -> Any:
    return ops.reshape(jacobian(f)(x), (len(x), len(x)))


def repeat(f: Callable[[Any], Any], x: Sequence[Any], enough: float, max_steps: int) -> Sequence[Any]:
    """Apply a function of a list of arrays until none of them changes by more than ``enough``."""

    def goes_on(state: Any) -> Any:
        _, change, steps = state
        return (change > enough) & np.isfinite(change) & (steps < max_steps)

    def step(state: Any) -> Any:
        x, _, steps = state
        after = f(x)
        changes = [_relative_change(a, b) for a, b in zip(x, after, strict=True)]
        return after, np.max(np.stack(changes)), steps + 1

    with np.errstate(all="ignore"):
        x, change, _ = while_loop(goes_on, step, (list(x), np.finfo(float).max, 0))
    _require(change <= enough)
    return x


def _relative_change(before: Any, after: Any) -> Any:
    """Return the largest change of an element, relative to the largest or one."""
    if not np.size(after):
        return np.float64(0.0)
    largest = np.maximum(np.max(np.abs(after)), 1.0)
    return ops.astype(np.max(np.abs(after - before)) / largest, np.float64)


def _require(condition: Any) -> None:
    if not is_met(condition):
        raise ArithmeticError("the iteration has not converged")
