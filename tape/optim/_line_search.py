"""A line search for the strong Wolfe conditions: enough of a fall, and a slope that has flattened.

Algorithms 3.5 and 3.6 of Nocedal and Wright, "Numerical optimization" (2006), with the safeguards of
`torch.optim.LBFGS`, so that both take the same steps. Points where the loss is not finite count as infinitely
high. This file knows numbers and vectors, and nothing of parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np

_FALL = 1e-4  # of what the slope promises
_FLATTENING = 0.9
_MARGIN = 0.1  # of the bracket, at either end, where interpolation is not trusted twice


@dataclass(frozen=True)
class Point:
    """What is known of a point on the line: how far along, the loss, its gradient and its slope."""

    t: float
    loss: float
    gradient: np.ndarray
    slope: float


def strong_wolfe(
    at: Callable[[float], Point], start: Point, t: float, length: float, tolerance: float, most: int
) -> tuple[Point, int]:
    """Return a point that satisfies the strong Wolfe conditions, or the best one found.

    Parameters
    ----------
    at : callable
        Evaluates the point at ``t``.
    start : Point
        At zero; its slope is negative.
    t : float
        The first step to try.
    length : float
        The largest element of the direction: a bracket shorter than ``tolerance / length`` is not divided.
    tolerance : float
        The smallest change of an element that matters.
    most : int
        How often the loss may be evaluated beyond the first time.

    Returns
    -------
    Point, int
        The point, and how often the loss was evaluated.
    """
    evaluations = 1
    before, here = start, at(t)
    while evaluations <= most:
        if here.loss > start.loss + _FALL * here.t * start.slope or (
            evaluations > 2 and here.loss >= before.loss
        ):
            break
        if abs(here.slope) <= -_FLATTENING * start.slope:
            return here, evaluations
        if here.slope >= 0:
            break
        t = _minimum(before, here, (here.t + 0.01 * (here.t - before.t), 10 * here.t))
        before, here = here, at(t)
        evaluations += 1
    else:
        return (start if start.loss <= here.loss else here), evaluations
    return _zoom(at, start, [before, here], length, tolerance, evaluations, most)


def _zoom(
    at: Callable[[float], Point],
    start: Point,
    bracket: list[Point],
    length: float,
    tolerance: float,
    evaluations: int,
    most: int,
) -> tuple[Point, int]:
    """Shrink a bracket until its lower end satisfies the conditions."""
    was_near = False
    low = 0 if bracket[0].loss <= bracket[1].loss else 1
    while evaluations <= most:
        left, right = sorted((bracket[0].t, bracket[1].t))
        if left == right or (right - left) * length < tolerance:  # equal once no number lies between
            break
        t = _minimum(bracket[0], bracket[1], (left, right))
        margin = _MARGIN * (right - left)
        is_near = min(right - t, t - left) < margin
        if is_near and (was_near or t >= right or t <= left):
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            is_near = False
        was_near = is_near
        here = at(t)
        evaluations += 1
        if here.loss > start.loss + _FALL * t * start.slope or here.loss >= bracket[low].loss:
            bracket[1 - low] = here
            low = 0 if bracket[0].loss <= bracket[1].loss else 1
            continue
        is_flat = abs(here.slope) <= -_FLATTENING * start.slope
        if not is_flat and here.slope * (bracket[1 - low].t - bracket[low].t) >= 0:
            bracket[1 - low] = bracket[low]
        bracket[low] = here
        if is_flat:
            break
    return bracket[low], evaluations


def _minimum(a: Point, b: Point, bounds: tuple[float, float]) -> float:
    """Return where the cubic through two points and their slopes is least, within bounds."""
    least, most = bounds
    if isfinite(a.loss) and isfinite(b.loss) and isfinite(a.slope) and isfinite(b.slope):
        first, second = (a, b) if a.t <= b.t else (b, a)
        mean = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
        square = mean**2 - a.slope * b.slope
        if square >= 0:
            root = sqrt(square)
            share = second.slope - first.slope + 2 * root
            if share:
                t = second.t - (second.t - first.t) * ((second.slope + root - mean) / share)
                return min(max(t, least), most)
    return (least + most) / 2
