"""`profile`: the time of each instruction of a program, run one by one.

Instructions run in order, each on the results of those before it, as in a whole run. The time of entering and
leaving the machine is measured as well, and subtracted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tape import errors, tree
from tape.inspect.listing import duration
from tape.program.calls.calling import fitting
from tape.program.calls.shortcuts import may_be_data
from tape.program.native.opcodes import AT, ROWS, WIDTH, opcode
from tape.program.record.recording import is_dynamic, native
from tape.program.report.describe import Names
from tape.program.runtime.run import Rerun
from tape.program.runtime.workspace import Workspace

if TYPE_CHECKING:
    from tape.program.program import Program

_BLOCKS, _CALLBACK = opcode("blocks"), opcode("callback")


@dataclass(frozen=True, slots=True)
class Timing:
    """The time of an instruction, or of a group that runs together.

    Attributes
    ----------
    ids : tuple of int
        The numbers of its instructions, as ``print(program)`` shows them.
    text : tuple of str
        Text of each instruction, with dtype and shape.
    rows : range
        Its rows in the machine.
    seconds : float
        The shortest time.
    is_callback : bool
        Whether Python runs it.
    """

    ids: tuple[int, ...]
    text: tuple[str, ...]
    rows: range
    seconds: float
    is_callback: bool


@dataclass(frozen=True)
class Profile:
    """The times of a program's instructions; printed, they are a table.

    Attributes
    ----------
    name : str
        Name of the function.
    timings : tuple of Timing
        In the order in which they run.
    whole : float
        Seconds of a whole run, binding of arguments and results included.
    """

    name: str
    timings: tuple[Timing, ...]
    whole: float

    @property
    def seconds(self) -> float:
        """Seconds of all instructions together."""
        return sum(timing.seconds for timing in self.timings)

    @property
    def callback_share(self) -> float:
        """The share of callbacks in `seconds`."""
        called = sum(timing.seconds for timing in self.timings if timing.is_callback)
        return called / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        total = self.seconds or 1.0
        rows = []
        for timing in self.timings:
            share = f"{timing.seconds / total:6.1%}"
            for k, (id, text) in enumerate(zip(timing.ids, timing.text, strict=True)):
                first = (duration(timing.seconds), share) if not k else ("", "")
                rows.append((*first, f"%{id}", text))
        widths = [max((len(row[k]) for row in rows), default=0) for k in range(3)]
        lines = [
            f"{took:>{widths[0]}}  {share:>{widths[1]}}  {name:<{widths[2]}}  {text}"
            for took, share, name, text in rows
        ]
        head = f"{self.name}: {duration(self.whole)} a run, {duration(self.seconds)} in instructions"
        called = f", {self.callback_share:.1%} of it in callbacks" if self.callback_share else ""
        return "\n".join([head + called, *lines])


def profile(program: Program, args: Sequence[Any], repeats: int) -> Profile:
    """Time each instruction.

    Parameters
    ----------
    program : Program
        Any.
    args : sequence
        Arguments, or their dynamic leaves alone. Donated ones are copied.
    repeats : int
        Number of runs of each instruction; the shortest time counts.

    Returns
    -------
    Profile

    Raises
    ------
    ShapeError, DTypeError
        If the program is for arguments of another kind.
    UnsupportedError
        If the arguments take another path.
    OptionError
        If ``repeats`` is less than 1.
    """
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise errors.OptionError(f"repeats is {repeats!r}. It is an int, 1 or more")
    program.need_machine()
    leaves = leaves_for(program, args)
    segments = list(_segments(program))
    best = [float("inf")] * len(segments)
    whole = overhead = float("inf")
    workspace = Workspace(program)
    for _ in range(repeats):
        own = tuple([np.array(leaf) if k in program.donated else leaf for k, leaf in enumerate(leaves)])
        workspace.frame[ROWS] = 0
        program._enter(workspace, own)
        overhead = min(overhead, _time(program, workspace, range(0)))
        for k, rows in enumerate(segments):
            best[k] = min(best[k], _run(program, workspace, own, rows))
        begin = time.perf_counter()
        program.run(own)
        whole = min(whole, time.perf_counter() - begin)
    names = Names(program)
    timings = [
        _timing(program, names, rows, seconds - overhead)
        for rows, seconds in zip(segments, best, strict=True)
    ]
    return Profile(program.name, tuple(timings), whole)


def leaves_for(program: Program, args: Sequence[Any]) -> tuple[Any, ...]:
    """Return the dynamic leaves of arguments, as a program takes them."""
    leaves = [native(leaf) for leaf in _dynamic(program, tree.flatten(tuple(args))[0])]
    if len(leaves) != len(program.leaves):
        raise errors.ShapeError(
            f"{program.name} takes {len(program.leaves)} arrays and numbers, and was given {len(leaves)}"
        )
    return tuple(
        [
            wanted.convert(fitting(leaf, wanted, partial("{}: leaf {}".format, program.name, k)))
            for k, (leaf, wanted) in enumerate(zip(leaves, program.leaves, strict=True))
        ]
    )


def _dynamic(program: Program, leaves: list[Any]) -> list[Any]:
    """Return the dynamic ones of all leaves of arguments, or all if there are no others."""
    form = program.calling.arguments
    places = [k for k in range(tree.size(form.structure)) if k not in form.fixed]
    if not form.ints or len(leaves) not in (len(places), tree.size(form.structure)):
        return [leaf for leaf in leaves if is_dynamic(leaf)]
    given = leaves if len(leaves) == len(places) else [leaves[k] for k in places]
    return [
        np.int64(leaf) if k in form.ints and may_be_data(leaf) else leaf
        for k, leaf in zip(places, given, strict=True)
    ]


def _segments(program: Program) -> Iterator[range]:
    """Yield the rows of each instruction, or of each group."""
    at = 0
    while at < program.rows:
        kind = program.code[at * WIDTH]
        stop = at + 1
        if kind == _BLOCKS:
            stop += int(program.code[at * WIDTH + 1])
        else:
            while (
                stop < program.rows
                and program.origins[stop] == program.origins[at]
                and program.code[stop * WIDTH] != _BLOCKS
            ):
                stop += 1
        yield range(at, stop)
        at = stop


def _time(program: Program, workspace: Workspace, rows: range) -> float:
    """Run some rows; return the seconds."""
    frame = workspace.frame
    frame[AT], frame[ROWS] = rows.start, rows.stop
    begin = time.perf_counter()
    program._call(frame)
    return time.perf_counter() - begin


def _run(program: Program, workspace: Workspace, leaves: Any, rows: range) -> float:
    seconds = _time(program, workspace, rows)
    frame = workspace.frame
    while (at := int(frame[AT])) < rows.stop:
        begin = time.perf_counter()
        try:
            flip = program.handle(program, workspace, leaves)
        except Rerun:
            raise errors.UnsupportedError(
                f"{program.name}: the machine stops at {Names(program).made(program.origins[at])}: an index "
                "is out of range, or a matrix singular. Give it other numbers"
            ) from None
        if flip is not None:
            raise errors.UnsupportedError(
                f"{program.name}: these arguments take another branch than this program, which has one path. "
                "Profile the program of the other path"
            )
        program._call(frame)
        seconds += time.perf_counter() - begin
    return seconds


def _timing(program: Program, names: Names, rows: range, seconds: float) -> Timing:
    ids = tuple(dict.fromkeys(program.origins[at] for at in rows))
    text = tuple([f"{names.made(id)}  {program.plan.instructions[id].type_text}" for id in ids])
    is_callback = program.code[rows.start * WIDTH] == _CALLBACK
    return Timing(ids, text, rows, max(seconds, 0.0), bool(is_callback))
