"""`profile`: the time of each row of a program, of its groups and loops, and of what lies between.

The times add up to that of a call. `tape.program.report.timing` measures those of rows, and
`tape.program.report.parts` those of their parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tape import errors, tree
from tape.inspect.words import duration
from tape.program.calls.calling import fitting
from tape.program.calls.shortcuts import may_be_data
from tape.program.native.opcodes import WIDTH, opcode
from tape.program.record.recording import is_dynamic, native
from tape.program.report.describe import Names
from tape.program.report.parts import Part, parts_of
from tape.program.report.timing import Runs, segments_of, timed_rows

if TYPE_CHECKING:
    from tape.program.program import Program
    from tape.program.runtime.routine import Routine

_CALLBACK, _LOOP, _PAUSE = map(opcode, ("callback", "loop", "pause"))


@dataclass(frozen=True, slots=True)
class Timing:
    """The time of an instruction, of a group that runs together, or of a part of these.

    Attributes
    ----------
    ids : tuple of int
        The numbers of its instructions, as ``print(program)`` shows them.
    names : tuple of str
        Their names, as ``print(program)`` shows them.
    text : tuple of str
        Text of each instruction, with dtype and shape.
    rows : range
        Its rows in the machine; none for going from step to step of a loop.
    seconds : float
        The shortest time; in a loop, of all steps together.
    is_callback : bool
        Whether Python runs it.
    is_share : bool
        Whether it was timed together with others, which share the time: short rows in proportion to the
        average of their kind, parts by what they add to those before. Printed, these have a ``~``.
    steps : int
        How often a call runs it; in a loop that data end, how often a step does.
    parts : tuple of Timing
        The members of a group, or the rows of the body of a loop, whose times add up to this one.
    """

    ids: tuple[int, ...]
    names: tuple[str, ...]
    text: tuple[str, ...]
    rows: range
    seconds: float
    is_callback: bool = False
    is_share: bool = False
    steps: int = 1
    parts: tuple[Timing, ...] = ()


@dataclass(frozen=True, repr=False)
class Profile:
    """The times of a program's rows; printed, they are a table.

    Attributes
    ----------
    name : str
        Name of the function.
    timings : tuple of Timing
        In the order in which they run.
    whole : float
        Seconds of a whole run, binding of arguments and results included.
    entry : float
        Seconds of a run without its rows: of binding arguments and returning results.
    """

    name: str
    timings: tuple[Timing, ...]
    whole: float
    entry: float

    @property
    def seconds(self) -> float:
        """Seconds of all rows together."""
        return sum(timing.seconds for timing in self.timings)

    @property
    def between(self) -> float:
        """Seconds of a whole run that are in none of these; less than 0 if rows were slower one by one."""
        return self.whole - self.entry - self.seconds

    @property
    def callback_share(self) -> float:
        """The share of callbacks in `seconds`."""
        called = sum(timing.seconds for timing in self.timings if timing.is_callback)
        return called / self.seconds if self.seconds else 0.0

    def __repr__(self) -> str:
        return str(self)  # where it is the result of a cell

    def __str__(self) -> str:
        lines = [*_lines(self.timings, "")]
        lines += [(_took(self.entry), self.entry, "", "", "arguments and results")]
        lines += [(_took(self.between), self.between, "", "", "between rows")]
        table = [
            (took, f"{seconds / self.whole:6.1%}" if self.whole else "", *rest)
            for took, seconds, *rest in lines
        ]
        widths = [max(len(row[k]) for row in table) for k in range(4)]
        text = [
            f"{took:>{widths[0]}}  {share:>{widths[1]}}  {times:>{widths[2]}}  {name:<{widths[3]}}  {made}"
            for took, share, times, name, made in table
        ]
        head = f"{self.name}: {duration(self.whole)} a run, {duration(self.seconds)} in instructions"
        called = f", {self.callback_share:.1%} of it in callbacks" if self.callback_share else ""
        return "\n".join([head + called, *text])


def _took(seconds: float) -> str:
    return duration(seconds) if seconds >= 0 else f"-{duration(-seconds)}"


def _lines(timings: Sequence[Timing], margin: str) -> Iterator[tuple[str, float, str, str, str]]:
    """Yield time, seconds, how often, name and text of each line."""
    for timing in timings:
        took = ("~" if timing.is_share else "") + _took(timing.seconds)
        times = f"{timing.steps:,}x" if timing.steps > 1 else ""
        name, text = "", f"{len(timing.ids)} {'in blocks:' if timing.parts else 'on a few numbers'}"
        if len(timing.ids) < 2:
            (name,), (text,) = timing.names, timing.text
        yield took, timing.seconds, times, f"{margin}{name}", text
        yield from _lines(timing.parts, margin + "  ")


def profile(program: Program, args: Sequence[Any], repeats: int) -> Profile:
    """Time each row, and the parts of those that have some.

    Parameters
    ----------
    program : Program
        Any.
    args : sequence
        Arguments, or their dynamic leaves alone. Donated ones are copied.
    repeats : int
        Number of runs; the shortest time of each row counts.

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
    runs = Runs(program, leaves_for(program, args))
    segments = list(segments_of(program))
    seconds, is_share, whole, entry = timed_rows(runs, segments, repeats)
    names = Names(program)
    timings = []
    runs.start()
    for rows, took, shared in zip(segments, seconds, is_share, strict=True):
        parts = parts_of(runs, rows)
        runs.seconds(rows)
        timings.append(_timing(program, names, Part(rows, took, parts), 1, took, shared))
    runs.release()
    return Profile(program.name, tuple(timings), whole, entry)


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


def _timing(routine: Routine, names: Names, part: Part, steps: int, seconds: float, is_share: bool) -> Timing:
    """Return the time of a part, and of its own parts, which share it by their weights."""
    rows, origins, instructions = part.rows, routine.origins, routine.plan.instructions
    if not rows or routine.code[rows.start * WIDTH] == _PAUSE:
        text = "a pause for signals" if rows else "from step to step"
        return Timing((), ("",), (text,), rows, seconds, is_share=is_share, steps=steps)
    ids = tuple(dict.fromkeys(id for at in rows for id in routine.joined.get(at, (origins[at],))))
    inside, names_inside, times = routine, names, steps
    if part.parts and routine.code[rows.start * WIDTH] == _LOOP:
        inside = routine.bodies[int(routine.code[rows.start * WIDTH + 1])]
        names_inside = names.of_body(ids[0], inside)
        (loop,) = instructions[ids[0]].attrs
        times = steps * loop.length if loop.ends_by == "length" else steps
    total = sum(one.weight for one in part.parts)
    # Where the clock does not see any of them, each has the same share.
    shares = [one.weight / total if total else 1 / len(part.parts) for one in part.parts]
    return Timing(
        ids,
        tuple([names.value(id) for id in ids]),
        tuple([f"{names.made(id)}  {instructions[id].type_text}" for id in ids]),
        rows,
        seconds,
        bool(routine.code[rows.start * WIDTH] == _CALLBACK),
        is_share,
        steps,
        tuple(
            [
                _timing(inside, names_inside, one, times, seconds * share, True)
                for one, share in zip(part.parts, shares, strict=True)
            ]
        ),
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
