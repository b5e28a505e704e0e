"""The parts of a row: members of a group, and the rows of the body of a loop.

They run inside of the machine, where no clock is read. A group runs with its first member alone, then with
the first two, and so on; a loop with nothing in its body, then with the first row in all steps, and so on.
Each part takes the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.program.native.opcodes import BY_FLAG, CODE, FIELDS, REGISTERS, ROWS, THREADS, WIDTH, opcode
from tape.program.report.timing import BLOCKS, Runs, segments_of

if TYPE_CHECKING:
    from tape.program.runtime.routine import Routine
    from tape.program.runtime.workspace import Frame

_LOOP = opcode("loop")
_LENGTH, _ENDS = 1 + FIELDS["loop"].index("length"), 1 + FIELDS["loop"].index("ends")
_COUNT = 1 + FIELDS["blocks"].index("count")
_REPEATS = 9
_LONGEST = 5e-4
"""Seconds from which on a group runs on fewer elements, and a loop takes fewer steps."""
_LEAST = {_LOOP: 16, BLOCKS: 1 << 14}
"""Steps and elements that they run on at least."""
_MOST = 100
"""Parts of a body that are timed; those of a longer one are timed together with the next ones."""


@dataclass
class Part:
    """A part of a row.

    Attributes
    ----------
    rows : range
        Its rows in the routine; none for going from step to step.
    weight : float
        Its share of the time of all parts, up to a common factor.
    parts : list of Part
        Its own parts.
    """

    rows: range
    weight: float
    parts: list[Part] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Cut:
    """Rows, before the end of which a run may end; in a group, the row that begins it."""

    rows: range
    head: int | None = None


def parts_of(runs: Runs, segment: range) -> list[Part]:
    """Return the parts of a group or a loop, which is what a program runs next; of other rows none.

    What it writes is put back.
    """
    program, workspace = runs.program, runs.workspace
    at = segment.start
    kind = program.code[at * WIDTH]
    members = list(_members(program, segment)) if kind == BLOCKS else []
    if len(members) < 2 and kind != _LOOP:
        return []
    places, ids = program.plan.places, dict.fromkeys(program.origins[row] for row in segment)
    kept = [id for id in ids if (place := places[id]) is not None and place.slot != REGISTERS]
    memory = [program._view(program, workspace, id, runs.own) for id in kept]
    before = [array.copy() for array in memory]

    def timed(stop: int) -> float:
        seconds = float("inf")
        for _ in range(_REPEATS):
            for array, content in zip(memory, before, strict=True):
                np.copyto(array, content)
            seconds = min(seconds, runs.seconds(range(at, stop)))
        return seconds

    frame = workspace.frame
    threads, frame[THREADS] = int(frame[THREADS]), 1  # fewer members would be worth fewer
    with _patched(program, workspace) as code:
        count, ends = at * WIDTH + (_LENGTH if kind == _LOOP else _COUNT), at * WIDTH + _ENDS
        if kind != _LOOP or code[ends] <= BY_FLAG:  # others run as far as something has been collected
            enough = int(code[count] * _LONGEST / max(timed(segment.stop), _LONGEST))
            code[count] = min(int(code[count]), max(_LEAST[kind], enough))
        if kind == _LOOP:
            if code[ends] == BY_FLAG:
                code[ends] = 0  # by its length, as parts of the body would not end it
            found = _parts_of_body(program, workspace, at, lambda: timed(segment.stop))
        else:
            found = _differences(code, members, timed, 0.0)
    frame[THREADS] = threads
    for array, content in zip(memory, before, strict=True):
        np.copyto(array, content)
    return found


def _parts_of_body(routine: Routine, memory: Frame, at: int, run: Callable[[], float]) -> list[Part]:
    """Return the parts of the loop in a row; ``run`` times the row of the program that it is in."""
    number = int(routine.code[at * WIDTH + 1])
    body, inside = routine.bodies[number], memory.bodies[number]

    def timed(stop: int) -> float:
        inside.frame[ROWS] = stop
        try:
            return run()
        finally:
            inside.frame[ROWS] = body.rows

    with _patched(body, inside) as code:
        without = timed(0)
        found = _differences(code, list(_cuts(body)), timed, without)
        for part in found:
            if body.code[part.rows.start * WIDTH] == _LOOP:
                part.parts = _parts_of_body(body, inside, part.rows.start, run)
    return [Part(range(0), without), *found]


def _differences(
    code: np.ndarray, cuts: Sequence[_Cut], timed: Callable[[int], float], before: float
) -> list[Part]:
    """Return what each cut adds to the time of those before it."""
    together = max(1, -(-len(cuts) // _MOST))
    found = []
    for first in range(0, len(cuts), together):
        some = cuts[first : first + together]
        last = some[-1]
        if last.head is None:
            total = timed(last.rows.stop)
        else:
            members = last.head * WIDTH + 1
            kept, code[members] = int(code[members]), last.rows.stop - last.head - 1
            total = timed(last.rows.stop)
            code[members] = kept
        found += [Part(cut.rows, max(0.0, total - before) / len(some)) for cut in some]
        before = max(before, total)
    return found


def _cuts(routine: Routine) -> Iterator[_Cut]:
    """Yield the rows of each instruction of the body of a loop, members of groups one by one."""
    for segment in segments_of(routine):
        if routine.code[segment.start * WIDTH] == BLOCKS:
            yield from _members(routine, segment)
        else:
            yield _Cut(segment)


def _members(routine: Routine, group: range) -> Iterator[_Cut]:
    """Yield the rows of each member of a group."""
    at = group.start + 1
    while at < group.stop:
        stop = at + 1
        while stop < group.stop and routine.origins[stop] == routine.origins[at]:
            stop += 1
        yield _Cut(range(at, stop), group.start)
        at = stop


@contextmanager
def _patched(routine: Routine, memory: Frame) -> Iterator[Any]:
    """Let the machine read a copy of the rows of a routine, which may be changed."""
    code = routine.code.copy()
    memory.frame[CODE] = code.ctypes.data
    try:
        yield code
    finally:
        memory.frame[CODE] = routine.running.ctypes.data
