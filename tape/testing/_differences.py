"""Derivatives by differences: central ones of order 8, and one-sided ones that detect kinks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tape.testing._subject import Arrays, Subject, scale

# Steps and weights from Fornberg, Generation of finite difference formulas, Math. Comp. 51 (1988).
CENTRAL = [
    (sign * k, sign * weight)
    for k, weight in ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
    for sign in (1, -1)
]
RIGHT = list(enumerate((-25 / 12, 4, -3, 4 / 3, -1 / 4)))  # of order 4
LEFT = [(-k, -weight) for k, weight in RIGHT]

_NOISE = 30.0  # rounding errors of the function allowed in a difference, in units of its epsilon


class Difference(NamedTuple):
    """The derivative of a leaf of the result, with its rounding error."""

    value: Any
    noise: float


def differences(
    subject: Subject, directions: Arrays, step: float, stencil: Sequence[tuple[int, float]] = CENTRAL
) -> list[Difference]:
    """Return the derivative of every leaf of the result along the directions."""
    with np.errstate(all="ignore"):  # a step may leave the domain; then a smaller one is taken
        points = [subject.at(directions, k * step) for k, _ in stencil]
        estimates = []
        for values in zip(*points, strict=True):
            value = sum(weight * value for (_, weight), value in zip(stencil, values, strict=True)) / step
            size = max(subject.magnitude, *map(scale, values))
            estimates.append(Difference(value, _NOISE * subject.epsilon * size / step))
    return estimates
