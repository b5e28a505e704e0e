"""Reports of wrong derivatives: the elements, the error, and whether differences are reliable there."""

from __future__ import annotations

import numpy as np

from tape.testing._comparisons import Comparison, Slot, Transposed, place, settled
from tape.testing._differences import LEFT, RIGHT, differences
from tape.testing._subject import Arrays, Subject, largest

_LOOK_AT = 64  # the most elements of an argument that a report checks


def report(comparison: Comparison, what: str) -> str | None:
    """Return a report of what is wrong, or None."""
    subject = comparison.subject
    directions = comparison.directions()
    by_leaf = [
        max(slot.excess for slot in settled(comparison, _only(directions, k))) for k in range(len(directions))
    ]
    worst = int(np.argmax(by_leaf))
    if by_leaf[worst] <= 1:
        return None
    elements = _elements(comparison, directions, worst)
    off = np.array([[largest(slot.off) for slot in slots] for slots in elements.values()])
    allowed = np.array([[slot.tolerance for slot in slots] for slots in elements.values()]).max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.where(off <= allowed, 0.0, off / allowed)
    row, column = np.unravel_index(int(np.argmax(excess)), off.shape)
    element, slots = list(elements.items())[row]
    slot = slots[column]
    inside = np.unravel_index(int(np.argmax(slot.off)), np.shape(slot.expected))
    name, leaf = subject.names[worst], np.asarray(subject.leaves[worst])
    by = place(name, np.unravel_index(element, leaf.shape))
    wrong = int(np.sum((off > allowed).any(axis=1)))
    looked = f" ({len(elements)} of its {leaf.size} were checked)" if len(elements) < leaf.size else ""
    lines = [
        f"{subject.title}: {what}: the derivative by {name} is wrong",
        f"  worst: by {by}, of {comparison.of(int(column), inside)}",
        f"  expected {slot.expected[inside]:.10g} (by {comparison.source}), got {slot.got[inside]:.10g}: "
        f"off by {slot.off[inside]:.3g}, allowed is {allowed[column]:.3g}",
        f"  {name}: {wrong} of {len(elements)} elements off{looked}, by {largest(off):.3g} or less",
    ]
    lines += [
        f"  {other}: " + ("agrees" if value <= 1 else f"off, by {value:.3g} times what is allowed")
        for k, (other, value) in enumerate(zip(subject.names, by_leaf, strict=True))
        if k != worst
    ]
    if not isinstance(comparison, Transposed):
        lines += _doubts(subject, subject.unit(worst, element)[0])
    return "\n".join(lines)


def _elements(comparison: Comparison, directions: Arrays, k: int) -> dict[int, list[Slot]]:
    """Return the slots along single elements of a leaf; a large one is bisected to its worst part."""
    start, stop = 0, directions[k].size
    while stop - start > _LOOK_AT:
        middle = (start + stop) // 2
        first, second = (
            max(largest(slot.off) for slot in settled(comparison, _only(directions, k, part)))
            for part in (slice(start, middle), slice(middle, stop))
        )
        start, stop = (start, middle) if first >= second else (middle, stop)
    elements = {}
    for element in range(start, stop):
        unit, length = comparison.subject.unit(k, element)
        elements[element] = [slot.by_length(length) for slot in settled(comparison, unit)]
    return elements


def _only(directions: Arrays, k: int, part: slice = slice(None)) -> Arrays:
    """Return directions that are zero but for one leaf, or some of its elements."""
    kept = [np.zeros_like(direction) for direction in directions]
    kept[k].flat[part] = directions[k].flat[part]
    return kept


def _doubts(subject: Subject, directions: Arrays) -> list[str]:
    """Return the reasons to doubt the differences themselves."""
    first, second = subject.at(directions, 0.0), subject.at(directions, 0.0)
    if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(first, second, strict=True)):
        return ["  two calls with the same arguments gave different results: fix its random numbers"]
    *_, long, short = subject.steps
    coarse, fine = (differences(subject, directions, step) for step in (long, short))
    right, left = (differences(subject, directions, short, stencil) for stencil in (RIGHT, LEFT))
    doubts = []
    for k, name in enumerate(subject.out_names):
        a, b, after, before = (found[k].value for found in (coarse, fine, right, left))
        room = 1e-3 * max(largest(a), largest(b)) + 10 * (coarse[k].noise + fine[k].noise)
        if not largest(a - b) <= room:
            doubts.append(
                f"  these differences cannot be trusted: steps of {long:.2g} and {short:.2g} disagree by "
                f"{largest(a - b):.3g} for {name}; it is not smooth here, or too steep"
            )
        if not largest(after - before) <= max(room, 0.01 * max(largest(after), largest(before))):
            doubts.append(
                "  these differences cannot be trusted: the slopes to the right and the left differ by "
                f"{largest(after - before):.3g} for {name}; there is a kink or a jump. Try another point"
            )
    return doubts
