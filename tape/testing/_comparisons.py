"""Comparisons of a sweep with differences, or with the sweep in the other mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tape.testing._differences import Difference, differences
from tape.testing._subject import Arrays, Subject, largest, scale, widened
from tape.transforms.jvp import jvp
from tape.transforms.vjp import vjp


class Slot(NamedTuple):
    """Part of a derivative: the expected and the actual values."""

    expected: Any
    got: Any
    tolerance: float  # includes the uncertainty of the differences
    noise: float  # from rounding of the differences alone

    @property
    def off(self) -> Any:
        """The error of each element; infinite if one of the two is NaN."""
        with np.errstate(invalid="ignore"):
            distance = np.abs(self.expected - self.got)
        return np.where(self.expected == self.got, 0.0, np.where(np.isnan(distance), np.inf, distance))

    @property
    def excess(self) -> float:
        """The largest error in units of the tolerance; more than one is wrong."""
        off = largest(self.off)
        return off / self.tolerance if off and self.tolerance else (np.inf if off else 0.0)

    def by_length(self, length: float) -> Slot:
        """Return the slot of a direction of length one, from that of a longer one."""
        return Slot(self.expected / length, self.got / length, self.tolerance / length, self.noise / length)


class Comparison:
    """A comparison of a sweep with a reference, along one direction at a time."""

    source = "differences"  # describes the reference

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.steps = subject.steps  # steps to try in turn

    def directions(self) -> Arrays:
        """Return a direction for every leaf."""
        return self.subject.directions()

    def slots(self, directions: Arrays, step: float) -> list[Slot]:
        """Return the derivative along a direction."""
        raise NotImplementedError

    def of(self, column: int, index: Sequence[Any]) -> str:
        """Return a description of what an element of a slot is the derivative of."""
        raise NotImplementedError


class Forward(Comparison):
    """Compares a forward sweep with differences: every leaf of the result is a slot."""

    def slots(self, directions: Arrays, step: float) -> list[Slot]:
        subject = self.subject
        tangents = jvp(subject.function, subject.leaves, directions)[1]
        slots = []
        for (expected, noise), tangent in zip(differences(subject, directions, step), tangents, strict=True):
            tolerance = subject.rtol * scale(expected) + noise + subject.atol
            slots.append(Slot(expected, widened(tangent), tolerance, noise))
        return slots

    def of(self, column: int, index: Sequence[Any]) -> str:
        return place(self.subject.out_names[column], index)


class Reverse(Comparison):
    """Compares a reverse sweep with differences: its only slot is the product of gradient and direction."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.rtol = subject.rtol
        self.weights = subject.weights()
        self.gradients = vjp(subject.function, *subject.leaves)[1](self.weights)

    def directions(self) -> Arrays:
        """Return a direction for every leaf, with the signs of the gradient, to avoid cancellation."""
        pairs = zip(self.subject.directions(), self.gradients, strict=True)
        return [np.copysign(direction, widened(gradient)) for direction, gradient in pairs]

    def reference(self, directions: Arrays, step: float) -> list[Difference]:
        """Return the derivatives of the results along a direction."""
        return differences(self.subject, directions, step)

    def slots(self, directions: Arrays, step: float) -> list[Slot]:
        moved = self.reference(directions, step)
        theirs = [widened(w) * value for w, (value, _) in zip(self.weights, moved, strict=True)]
        ours = [widened(g) * d for g, d in zip(self.gradients, directions, strict=True)]
        noise = _norm([_norm([w]) * noise for w, (_, noise) in zip(self.weights, moved, strict=True)])
        tolerance = self.rtol * max(_norm(theirs), _norm(ours)) + noise + self.subject.atol
        return [Slot(_total(theirs), _total(ours), tolerance, noise)]

    def of(self, column: int, index: Sequence[Any]) -> str:
        names = ", ".join(self.subject.out_names)
        return names if self.subject.is_scalar else f"the sum of random weights times {names}"


class Transposed(Reverse):
    """Compares a reverse sweep with a forward one: equal up to rounding."""

    source = "the forward mode"

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.steps = subject.steps[:1]  # it does not matter which
        self.rtol = min(subject.rtol, 1e4 * subject.epsilon)

    def reference(self, directions: Arrays, step: float) -> list[Difference]:
        tangents = jvp(self.subject.function, self.subject.leaves, directions)[1]
        return [Difference(widened(tangent), 0.0) for tangent in tangents]


def settled(comparison: Comparison, directions: Arrays) -> list[Slot]:
    """Return every slot at the step where it fits best; smaller steps are tried only if needed."""
    best: list[Slot] = []
    for step in comparison.steps:
        slots = comparison.slots(directions, step)
        best = best or slots
        for k, slot in enumerate(slots):
            # Rounding grows as steps shrink: it must stay far below the errors to detect.
            hidden = max(scale(slot.expected), scale(best[k].off))
            is_first = not np.isfinite(best[k].expected).all()  # as larger steps left the domain
            if (is_first or slot.noise <= 0.01 * hidden) and slot.excess < best[k].excess:
                best[k] = slot
        if all(slot.excess <= 1 for slot in best):
            break
    return best


def place(name: str, index: Sequence[Any]) -> str:
    """Return the name of an element of an array."""
    return name + (f"[{', '.join(str(int(i)) for i in index)}]" if len(index) else "")


def _norm(arrays: Sequence[Any]) -> float:
    return float(np.sqrt(sum(scale(np.sum(np.square(widened(array)))) for array in arrays)))


def _total(arrays: Sequence[Any]) -> Any:
    return np.asarray(sum(np.sum(array) for array in arrays))
