"""Running parts of a program with a clock: from one row to another, in the order of a whole run.

A clock that takes 30 ns to read cannot time a row of 10 ns. Short rows are timed together with those next to
them, ten microseconds or more, and share that time in proportion to what rows of their kind take one by one,
on average. What it takes to read the clock and to enter the machine is measured on no rows at all, and
subtracted.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tape import errors
from tape.program.native.opcodes import AT, ROWS, WIDTH, opcode
from tape.program.report.describe import Names
from tape.program.runtime.run import Rerun

if TYPE_CHECKING:
    from tape.program.program import Program
    from tape.program.runtime.routine import Routine

BLOCKS = opcode("blocks")
_TOGETHER, _OF_ALL = 10e-6, 0.02
"""Seconds that rows take at least which are timed together, and their share of all: to begin costs time."""
_ALONE = 5e-6
"""Seconds from which on a row is timed alone."""
_LONGEST = 1.0
"""Seconds after which short rows are not timed one by one any more: the average is good enough."""
_LEAST = 2e-9
"""Seconds that a row is taken to take at least, where the clock says nothing."""


def segments_of(routine: Routine) -> Iterator[range]:
    """Yield the rows of each instruction, or of each group."""
    code, origins, at = routine.code, routine.origins, 0
    while at < routine.rows:
        stop = at + 1
        if code[at * WIDTH] == BLOCKS:
            stop += int(code[at * WIDTH + 1])
        else:
            while stop < routine.rows and origins[stop] == origins[at] and code[stop * WIDTH] != BLOCKS:
                stop += 1
        yield range(at, stop)
        at = stop


class Runs:
    """A program that runs some of its rows at a time.

    Parameters
    ----------
    program : Program
    leaves : tuple
        Its dynamic leaves; donated ones are copied for each run.

    Attributes
    ----------
    workspace : Workspace
    own : tuple
        The leaves of this run.
    overhead : float
        Seconds of running no row.
    """

    def __init__(self, program: Program, leaves: tuple[Any, ...]) -> None:
        self.program = program
        self.workspace = program._workspace()  # that of other runs, too: memory that is in cache or is not
        self._leaves = leaves
        self.own = leaves
        self.overhead = float("inf")

    def start(self) -> None:
        """Bind the arguments, for a run from the first row on."""
        arrays = {k for k in self.program.donated if isinstance(self._leaves[k], np.ndarray)}
        self.own = tuple([np.array(x) if k in arrays else x for k, x in enumerate(self._leaves)])
        self.workspace.frame[ROWS] = 0
        self.program._enter(self.workspace, self.own)
        for _ in range(3):
            self.overhead = min(self.overhead, self._timed(range(0)))

    def seconds(self, rows: range) -> float:
        """Run some rows; return the seconds that they take, with Python's share in callbacks."""
        seconds, frame, program = self._timed(rows), self.workspace.frame, self.program
        while (at := int(frame[AT])) < rows.stop:
            begin = time.perf_counter()
            try:
                flip = program.handle(program, self.workspace, self.own)
            except Rerun:
                made = Names(program).made(program.origins[at])
                raise errors.UnsupportedError(
                    f"{program.name}: the machine stops at {made}: an index is out of range, or a matrix "
                    "singular. Give it other numbers"
                ) from None
            if flip is not None:
                raise errors.UnsupportedError(
                    f"{program.name}: these arguments take another branch than this program, which has one "
                    "path. Profile the program of the other path"
                )
            program._call(frame)
            seconds += time.perf_counter() - begin
        return max(0.0, seconds - self.overhead)

    def _timed(self, rows: range) -> float:
        frame, call = self.workspace.frame, self.program._call
        frame[AT], frame[ROWS] = rows.start, rows.stop
        begin = time.perf_counter()
        call(frame)
        return time.perf_counter() - begin

    def whole(self) -> float:
        """Run the program; return the seconds."""
        self.release()
        begin = time.perf_counter()
        self.program.run(self.own)
        seconds = time.perf_counter() - begin
        self.workspace = self.program._workspace()
        return seconds

    def entry(self) -> float:
        """Bind the arguments and collect the results, but run no row; return the seconds."""
        workspace, program = self.workspace, self.program
        workspace.frame[ROWS] = 0
        begin = time.perf_counter()
        program._enter(workspace, self.own)
        entered = time.perf_counter()
        workspace.frame[ROWS] = program.rows  # before others may have it
        resumed = time.perf_counter()
        program._collected(workspace, self.own)
        seconds = time.perf_counter() - resumed + entered - begin
        self.workspace = program._workspace()
        return seconds

    def release(self) -> None:
        """Let other runs have the memory."""
        self.workspace.frame[ROWS] = self.program.rows
        self.program._pool.append(self.workspace)


def timed_rows(
    runs: Runs, segments: Sequence[range], repeats: int
) -> tuple[list[float], list[bool], float, float]:
    """Time all rows of a program.

    Returns
    -------
    list of float
        The seconds of each segment.
    list of bool
        Whether they are its share of what it takes together with others.
    float
        Seconds of a whole run.
    float
        Seconds of a run without its rows.
    """
    program = runs.program
    apart, begun = [float("inf")] * len(segments), time.perf_counter()
    for k in range(repeats):
        if k and time.perf_counter() - begun > _LONGEST:
            break
        runs.start()
        for k, rows in enumerate(segments):
            apart[k] = min(apart[k], runs.seconds(rows))
    weights = _averaged(program, segments, apart)
    blocks = list(_together(weights))
    found = [float("inf")] * len(blocks)
    fastest = whole = entry = clock = float("inf")
    for _ in range(repeats):
        runs.start()
        times = [runs.seconds(range(segments[block[0]].start, segments[block[-1]].stop)) for block in blocks]
        found = list(map(min, found, times))
        fastest = min(fastest, sum(times))
        begin = time.perf_counter()
        clock = min(clock, time.perf_counter() - begin)
        whole = min(whole, runs.whole())
        entry = min(entry, runs.entry())
    # All rows are rarely at their fastest in one run, as it is for a whole run that the shortest time counts.
    slower = fastest / total if (total := sum(found)) else 1.0
    seconds: list[float] = []
    for block, took in zip(blocks, found, strict=True):
        sum_of_weights = sum([weights[k] for k in block])
        seconds += [slower * took * weights[k] / sum_of_weights for k in block]
    is_share = [len(block) > 1 for block in blocks for _ in block]
    return seconds, is_share, max(0.0, whole - clock), max(0.0, entry - 2 * clock)


def _averaged(program: Program, segments: Sequence[range], apart: Sequence[float]) -> list[float]:
    """Return the times of rows one by one, for short ones the average of those of their kind."""
    instructions, kinds = program.plan.instructions, []
    alike: dict[Any, list[float]] = defaultdict(list)
    for rows, seconds in zip(segments, apart, strict=True):
        instruction = instructions[program.origins[rows.start]]
        joined = len(program.joined.get(rows.start, ()))
        kinds.append((instruction.op, instruction.shape, instruction.dtype, len(rows), joined))
        if seconds < _ALONE:
            alike[kinds[-1]].append(seconds)
    average = {kind: max(_LEAST, float(np.mean(found))) for kind, found in alike.items()}
    return [
        seconds if seconds >= _ALONE else average[kind] for kind, seconds in zip(kinds, apart, strict=True)
    ]


def _together(weights: Sequence[float]) -> Iterator[list[int]]:
    """Yield the numbers of segments that are timed together."""
    enough = max(_TOGETHER, _OF_ALL * sum(weights))
    block: list[int] = []
    total = 0.0
    for k, seconds in enumerate(weights):
        if block and (seconds >= _ALONE or total >= enough):
            yield block
            block, total = [], 0.0
        block.append(k)
        total += enough if seconds >= _ALONE else seconds
    if block:
        yield block
