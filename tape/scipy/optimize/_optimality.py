"""Conditions of optimality, as equations that a minimum solves, and the certificate of a minimum.

A problem is to minimise f(x), where ``low <= x <= high`` and ``bottom <= c(x) <= top``. At a minimum the
gradient of the Lagrangian ``f(x) + multipliers @ c(x)`` vanishes, but where x is at a bound; and constraints
that are not active have no multiplier (Karush, Kuhn and Tucker). Given which ones are active, these are as
many equations as unknowns, and the minimum is differentiated by the implicit function theorem; see Fiacco,
"Introduction to Sensitivity and Stability Analysis in Nonlinear Programming", 1983, chapter 3.

For this gradients of active constraints must be linearly independent, multipliers of active constraints not
zero (strict complementarity), and the equations regular. The certificate finds what is active, and checks
all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tape import ops
from tape.scipy._operands import inside
from tape.scipy.optimize._functions import linear_is_fine
from tape.scipy.optimize._implicit import Certificate, is_regular
from tape.transforms.grad import grad
from tape.transforms.jacobian import jacobian

__all__ = ["DEGENERATE", "DEPENDENT", "NO_MINIMUM", "SINGULAR", "Conditions", "Limits"]

DEGENERATE, DEPENDENT, SINGULAR, NO_MINIMUM = 1, 2, 3, 4
"""Faults; the number of what is at fault, bounds before constraints, is added ten times."""

_CLOSENESS = (1e-9, 1e-7, 1e-5, 1e-4, 1e-3)
"""How close to a limit solvers may end that reach it only in the limit, relative to it or one."""

_FARTHEST = 1e-3  # from what the solver found to the minimum, relative to the largest element or one
_MOST_STEPS = 12
_MOST_CHANGES = 4
_ZERO = 1e-8  # what counts as no multiplier, no slack and no independence, relative


class Limits(NamedTuple):
    """Values, and the limits between which they have to be: vectors of one length."""

    values: Any
    low: Any
    high: Any


class Conditions:
    """The conditions of optimality of a problem.

    Parameters
    ----------
    size : int
        The number of unknowns.
    objective : callable
        ``objective(x, *given)`` returns a number.
    bounds : callable
        ``bounds(*given)`` returns the lower and upper bounds of x.
    constraints : callable, optional
        ``constraints(x, *given)`` returns `Limits`.
    """

    def __init__(
        self,
        size: int,
        objective: Callable[..., Any],
        bounds: Callable[..., tuple[Any, Any]],
        constraints: Callable[..., Limits] | None = None,
    ) -> None:
        self._size = size
        self._objective, self._bounds, self._constraints = objective, bounds, constraints

    def equations(self, z: Any, data: Any, *given: Any) -> Any:
        """Return what vanishes at a minimum: for the unknowns x, then for the multipliers.

        Parameters
        ----------
        z : array or Var, shape (n + m,)
            The unknowns and the multipliers.
        data : array or Var, shape (n + m,)
            Which limits are active: -1 the lower one, 1 the upper one, 0 neither.
        *given
            The arguments.
        """
        size = self._size
        x, multipliers = z[:size], z[size:]
        sides, active = data[:size], data[size:]

        def lagrangian(x: Any) -> Any:
            value = self._objective(x, *given)
            if self._constraints is None:
                return value
            return value + ops.sum(multipliers * self._constraints(x, *given).values)

        with linear_is_fine():
            slope = grad(lagrangian)(x)
        first = ops.where(sides != 0, x - _side(sides, *self._bounds(*given)), slope)
        if self._constraints is None:
            return first
        values, low, high = self._constraints(x, *given)
        second = ops.where(active != 0, values - _side(active, low, high), multipliers)
        return ops.concatenate([first, second])

    # ---- the certificate ---------------------------------------------------------------------------

    def certify(self, x: np.ndarray, *given: Any) -> Certificate:
        """Return the minimum near what a solver found, all numbers being plain."""
        low, high = (np.asarray(side, float) for side in self._bounds(*given))
        values, bottom, top = self._limits(x, given)
        if not np.all(np.isfinite(x)):
            return Certificate(np.append(x, values), np.append(x, values) * 0, NO_MINIMUM)
        trial = _Trial(self, x, given)
        fault = 0
        tried: list[np.ndarray] = []
        all_values, all_low, all_high = (
            np.concatenate(pair) for pair in ((x, values), (low, bottom), (high, top))
        )
        is_equality = all_low == all_high
        with np.errstate(all="ignore"):
            for closeness in _CLOSENESS:
                sides = _near(all_values, all_low, all_high, closeness)
                for _ in range(_MOST_CHANGES):
                    if any(np.array_equal(sides, other) for other in tried):
                        break
                    tried.append(sides)
                    found = trial.outcome(sides, is_equality, all_low, all_high)
                    if found.sides is None:
                        if found.fault == 0:
                            return Certificate(found.z, sides, 0)
                        fault = fault or found.fault
                        break
                    sides = found.sides
        return Certificate(np.concatenate([x, np.zeros(len(values))]), all_values * 0, fault or NO_MINIMUM)

    def _limits(self, x: np.ndarray, given: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self._constraints is None:
            return np.zeros(0), np.zeros(0), np.zeros(0)
        limits = self._constraints(x, *given)
        values, low, high = (np.asarray(inside(part), float) for part in limits)
        return values, low, high

    def slopes(self, x: np.ndarray, given: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient of f and the Jacobian of c, of plain numbers."""
        with linear_is_fine():
            gradient = np.asarray(grad(lambda x: inside(self._objective(x, *given)))(x), float)
            if self._constraints is None:
                return gradient, np.zeros((0, len(x)))
            constraints = self._constraints
            matrix = jacobian(lambda x: inside(constraints(x, *given).values))(x)
        return gradient, np.asarray(matrix, float)


class _Outcome(NamedTuple):
    """What comes of taking some limits as active: a minimum, a fault, or which ones to take instead."""

    z: Any
    fault: int
    sides: Any


class _Trial:
    """Newton's method from what a solver found, with limits taken as active."""

    def __init__(self, conditions: Conditions, x: np.ndarray, given: Any) -> None:
        self._conditions, self._x, self._given = conditions, x, given
        self._gradient, self._matrix = conditions.slopes(x, given)

    def outcome(
        self, sides: np.ndarray, is_equality: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> _Outcome:
        """Return what comes of it."""
        size = len(self._x)
        rows = np.flatnonzero(sides[size:])
        free = sides[:size] == 0
        if (culprit := _dependent(self._matrix[rows], free)) is not None:
            return _Outcome(None, DEPENDENT + 10 * (size + int(rows[culprit])), None)
        multipliers = np.zeros(len(sides) - size)
        if len(rows):
            matrix = self._matrix[rows][:, free]
            multipliers[rows] = np.linalg.lstsq(matrix.T, -self._gradient[free], rcond=None)[0]
        fault, z, slopes = self._newton(np.concatenate([self._x, multipliers]), sides)
        if fault:
            return _Outcome(None, fault, None)
        x, multipliers = z[:size], z[size:]
        gradient, matrix = self._conditions.slopes(x, self._given)
        pull = -(gradient + multipliers @ matrix)  # of the limits on x: positive at the upper one
        pulls = np.concatenate([pull, multipliers]) * sides
        largest = max(
            np.max(np.abs(gradient)), np.max(np.abs(multipliers[:, None] * matrix), initial=0.0),
            np.max(np.abs(slopes[:size, :size] * np.maximum(np.abs(x), 1.0)), initial=0.0),
        )  # fmt: skip
        weights = np.concatenate(
            [np.ones(size), np.maximum(np.max(np.abs(matrix), axis=1, initial=0.0), 1e-300)]
        )
        strength = pulls * weights / max(largest, 1e-300)
        values = np.concatenate([x, self._conditions._limits(x, self._given)[0]])
        slack_low, slack_high = _slack(values, low), _slack(high, values, high)
        is_active, is_weak = (sides != 0) & ~is_equality, np.abs(strength) <= _ZERO
        is_idle = sides == 0
        slack = np.minimum(slack_low, slack_high)
        wrong = (is_active & ~is_weak & (strength < 0)) | (is_idle & (slack < -_ZERO))
        if np.any(wrong):
            other = np.where(slack_low < slack_high, -1.0, 1.0)
            return _Outcome(None, 0, np.where(wrong, np.where(is_idle, other, 0.0), sides))
        weak = (is_active & is_weak) | (is_idle & (slack <= _ZERO))
        if np.any(weak):
            return _Outcome(None, DEGENERATE + 10 * int(np.argmax(weak)), None)
        if not _is_convex(slopes[:size, :size][np.ix_(free, free)], matrix[rows][:, free]):
            return _Outcome(None, NO_MINIMUM, None)
        return _Outcome(z, 0, None)

    def _newton(self, z: np.ndarray, sides: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
        """Return a fault, the solution of the conditions, and their Jacobian there."""
        conditions, given, start = self._conditions, self._given, z
        size = len(self._x)

        def equations(z: Any) -> Any:
            return inside(conditions.equations(z, sides, *given))

        def slopes_at(z: np.ndarray) -> np.ndarray:
            with linear_is_fine():
                return np.asarray(jacobian(equations)(z), float)

        least, best = np.inf, z
        reach = max(1.0, float(np.max(np.abs(self._x))))
        for _ in range(_MOST_STEPS):
            matrix = slopes_at(z)
            if not is_regular(matrix):
                return SINGULAR, z, matrix
            step = np.linalg.solve(matrix, np.asarray(equations(z), float))
            length = float(np.max(np.abs(step[:size])))
            if not length < least:
                break
            least, best = length, z
            z = z - step
            if np.max(np.abs(z[:size] - start[:size])) > _FARTHEST * reach:
                return NO_MINIMUM, z, matrix
            if length == 0:
                break
        else:
            if least > 1e-11 * reach:
                return SINGULAR, z, matrix  # converges linearly
        if least > 1e-9 * reach:
            return NO_MINIMUM, z, matrix
        return 0, best, slopes_at(best)


def _side(sides: Any, low: Any, high: Any) -> Any:
    """Return the limit that is active, zero where none is."""
    return ops.where(sides > 0, high, ops.where(sides < 0, low, 0.0))


def _slack(upper: np.ndarray, lower: np.ndarray, limit: np.ndarray | None = None) -> np.ndarray:
    """Return how far a value is from its limit, relative to that or one; infinite if there is none."""
    limit = lower if limit is None else limit
    found = (upper - lower) / np.maximum(np.abs(limit), 1.0)
    return np.where(np.isfinite(limit), found, np.inf)


def _near(values: np.ndarray, low: np.ndarray, high: np.ndarray, closeness: float) -> np.ndarray:
    """Return at which limits values are; equalities count as upper ones."""
    below, above = _slack(values, low), _slack(high, values, high)
    side = np.where(below < above, -1.0, 1.0)
    return np.where(low == high, 1.0, np.where(np.minimum(below, above) <= closeness, side, 0.0))


def _is_convex(second: np.ndarray, rows: np.ndarray) -> bool:
    """Return whether second derivatives are positive in all directions that leave constraints as they are."""
    _, _, basis = np.linalg.svd(rows)
    along = basis[len(rows) :]
    return not len(along) or bool(np.linalg.eigvalsh(along @ second @ along.T)[0] > 0)


def _dependent(rows: np.ndarray, free: np.ndarray) -> int | None:
    """Return the first of the rows that depends on those before it, where x is free to move."""
    sizes = np.maximum(np.max(np.abs(rows), axis=1, initial=0.0), 1e-300)[:, None]
    rows = np.where(free, rows / sizes, 0.0)
    basis: list[np.ndarray] = []
    for i, row in enumerate(rows):
        for _ in range(2):
            for one in basis:
                row = row - (one @ row) * one
        length = np.linalg.norm(row)
        if not length > _ZERO:
            return i
        basis.append(row / length)
    return None
