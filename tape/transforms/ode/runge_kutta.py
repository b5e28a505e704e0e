"""Explicit Runge-Kutta integration with adaptive steps, written for arrays and Vars alike.

The steps are one `while_loop`, which collects the stages of each. Between steps the solution is interpolated,
after the loop and at all times at once. Sizes of steps are data: derivatives are those of the accepted steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tape import errors, ops
from tape.core.node import Handle, plain
from tape.transforms.loops.capacity import is_met
from tape.transforms.loops.scan import scan
from tape.transforms.loops.while_loop import while_collecting
from tape.transforms.ode.tableaus import Tableau
from tape.transforms.stop import stop_gradient

Slope = Callable[[Any, Any], Any]

_SAFETY, _LEAST, _MOST = 0.9, 0.2, 10.0
_BETA = 0.04
_SMALLEST_ERROR = 1e-4
"""Control of steps as in DOPRI5 (Hairer, Norsett and Wanner, "Solving Ordinary Differential Equations I",
section II.4, and "II", section IV.2, after Gustafsson): the next step is larger by a factor of
``safety * error**-(1/5 - 3/4 beta) * error_before**beta``."""
_UNDERFLOW = 16 * np.finfo(float).eps


class Tolerances(NamedTuple):
    """When a step is accepted, and how many there may be."""

    rtol: float
    atol: float
    max_steps: int


def integrate(slope: Slope, start: Any, t: Any, tableau: Tableau, tolerances: Tolerances, name: str) -> Any:
    """Return the solution at all times, ``(times, size)``.

    Parameters
    ----------
    slope : callable
        From a vector of doubles and a time to the derivative of the vector.
    start : array or Var
        The vector at the first time.
    t : array or Var
        Two times at least, increasing or decreasing.
    tableau : Tableau
        The method.
    tolerances : Tolerances
        Of steps.
    name : str
        Of the equation, in messages.
    """
    times, initial = stop_gradient(t), start
    is_moving = isinstance(t, Handle) and not t.trace.is_program
    if is_moving:  # a step of size zero, whose derivative is the slope
        start = _stepped(slope, start, t[0], times[0] - t[0], tableau)
    reached, steps, collected = _run(slope, start, times, tableau, tolerances)
    if not is_met(ops.equal(reached, times[-1])):
        raise _failure(name, plain(reached), int(plain(steps)), tolerances.max_steps)
    after = _between(times[1:], times[-1] > times[0], steps, collected, tableau)
    if is_moving:

        def moved(_: Any, x: Any) -> tuple[tuple[()], Any]:
            y, time, fixed = x
            return (), _stepped(slope, y, fixed, time - fixed, tableau)

        after = scan(moved, (), (after, t[1:], times[1:]))[1]
    return ops.concatenate([initial[None], after])


def _failure(name: str, reached: Any, steps: int, most: int) -> errors.ConvergenceError:
    why = (
        f"max_steps = {most} steps were not enough"
        if steps >= most
        else "the state is not finite, or the step has become too small"
    )
    return errors.ConvergenceError(
        f"{name}: {why}. It reached t = {float(reached):.6g}. Try other tolerances, or Radau, BDF or LSODA "
        "for stiff equations"
    )


# ---- steps ---------------------------------------------------------------------------------------------


def _run(slope: Slope, start: Any, times: Any, tableau: Tableau, tolerances: Tolerances) -> tuple[Any, ...]:
    """Return the time that was reached, the number of steps, and what they have collected."""
    first, last = times[0], times[-1]

    def goes_on(state: Any) -> Any:
        t, h, _, _, _, _, steps = state
        is_large = np.abs(h) > _UNDERFLOW * np.abs(t)
        return (t != last) & is_large & (steps < tolerances.max_steps)

    def step(state: Any) -> tuple[Any, Any]:
        t, h, y, k, error_before, most, steps = state
        t, h = stop_gradient(t), stop_gradient(h)
        after, stages = _stages(slope, t, h, y, k, tableau)
        missed = stop_gradient(h * _combined(tableau.error, stages))
        error = _norm(missed, stop_gradient(y), stop_gradient(after), tolerances)
        is_accepted = error <= 1.0
        safe = np.maximum(error, 1e-12)
        factor = _SAFETY * safe ** (0.75 * _BETA - 0.2) * error_before**_BETA
        factor = np.fmin(np.fmax(factor, _LEAST), most)  # of NaN, the least
        end = np.where(h == last - t, last, t + h)
        time = np.where(is_accepted, end, t)
        nexts = (
            time,
            _ending_at(last, time, h * factor),
            np.where(is_accepted, after, y),
            np.where(is_accepted, stages[-1], k),
            np.where(is_accepted, np.maximum(error, _SMALLEST_ERROR), error_before),
            np.where(is_accepted, _MOST, 1.0),  # no larger one after a rejected step
            steps + 1,
        )
        return nexts, (time, h, y, tuple(stages))

    k = slope(start, first)
    h = _ending_at(last, first, _first_size(slope, start, k, first, last, tolerances))
    init = (first, h, start, k, _SMALLEST_ERROR, _MOST, 0)
    state, collected = while_collecting(goes_on, step, init)
    return state[0], state[-1], collected


def _stages(slope: Slope, t: Any, h: Any, y: Any, k: Any, tableau: Tableau) -> tuple[Any, list[Any]]:
    """Return the solution after a step, and the slopes at all stages, of which the first one is known."""
    stages = [k]
    after = y
    for c, row in zip(tableau.c, tableau.a, strict=True):
        after = y + h * _combined(row, stages)
        stages.append(slope(after, t + c * h))
    return after, stages


def _stepped(slope: Slope, y: Any, t: Any, h: Any, tableau: Tableau) -> Any:
    """Return the solution after a step."""
    return _stages(slope, t, h, y, slope(y, t), tableau)[0]


def _combined(weights: Sequence[float], stages: Sequence[Any]) -> Any:
    total = None
    for weight, stage in zip(weights, stages, strict=False):
        if weight:
            total = weight * stage if total is None else total + weight * stage
    return total


def _norm(missed: Any, y: Any, after: Any, tolerances: Tolerances) -> Any:
    """Return the error of a step, 1 for what is tolerated: the root of the mean of squares, as SciPy's."""
    scale = tolerances.atol + tolerances.rtol * np.maximum(np.abs(y), np.abs(after))
    return np.sqrt(np.mean(np.square(missed / scale)))


def _ending_at(last: Any, t: Any, h: Any) -> Any:
    """Return the size of a step, or of one that ends at the last time if that is near."""
    left = last - t
    return np.where(np.abs(left) <= 1.01 * np.abs(h), left, h)


def _first_size(slope: Slope, y: Any, k: Any, first: Any, last: Any, tolerances: Tolerances) -> Any:
    """Return the size of the first step (Hairer, Norsett and Wanner, II.4, "starting step size")."""
    y, k = stop_gradient(y), stop_gradient(k)
    of_y, of_k = _norm(y, y, y, tolerances), _norm(k, y, y, tolerances)
    is_small = (of_y < 1e-5) | (of_k < 1e-5)
    size = np.where(is_small, 1e-6, 0.01 * of_y / np.where(is_small, 1.0, of_k))
    size = np.minimum(size, np.abs(last - first))
    step = size * np.sign(last - first)
    bend = stop_gradient(slope(y + step * k, first + step)) - k
    largest = np.maximum(_norm(bend, y, y, tolerances) / size, of_k)
    other = np.where(
        largest <= 1e-15, np.maximum(1e-6, 1e-3 * size), (0.01 / np.maximum(largest, 1e-15)) ** 0.2
    )
    return np.minimum(100 * size, other) * np.sign(last - first)


# ---- between steps -------------------------------------------------------------------------------------


def _between(times: Any, is_up: Any, steps: Any, collected: Any, tableau: Tableau) -> Any:
    """Return the solution at times that the steps have reached."""
    ends, sizes, starts, stages = collected
    sign = np.where(is_up, 1.0, -1.0)
    count = len(ends)
    reached = np.where(np.arange(count) < steps, sign * ends, np.inf)
    place = np.minimum(ops.searchsorted(reached, sign * times), count - 1)
    h = sizes[place]
    x = (1.0 + (times - ends[place]) / h)[:, None]
    weights = np.concatenate([x, x**2, x**3, x**4], axis=1) @ tableau.between.T
    total = None
    for k, row in enumerate(tableau.between):
        if row.any():
            part = weights[:, k : k + 1] * stages[k][place]
            total = part if total is None else total + part
    return starts[place] + h[:, None] * total
