"""A tape made shorter before a program sweeps it: merged, and with loops in place of what repeats itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tape.core.node import Node
from tape.core.trace import Trace
from tape.transforms._merge import merged, moved
from tape.transforms.loops import rolling
from tape.transforms.loops.columns import Columns
from tape.transforms.loops.trimming import trimmed


def shortened(trace: Trace, params: Sequence[Any], roots: Sequence[Any], notes: list[str]) -> Sequence[Any]:
    """Make the tape of a trace shorter.

    Parameters
    ----------
    trace : Trace
        Nothing records on it any more.
    params, roots : sequence of Var
        Its leaves that stay, and the nodes that are asked for.
    notes : list of str
        To which the reason is added why something that repeats itself is no loop.

    Returns
    -------
    sequence of Var
        The params, and then the roots, where they are now.
    """
    tape = _Tape(trace, [*params, *roots])
    count = len(params)
    whole = tape.columns
    shorter = merged(whole, tape.ids)
    # Otherwise loops first: what a step shares with the one before would become a state of the loop.
    if shorter is not None and 2 * len(shorter[0]) < len(trace):
        tape.move(shorter)
    tape.move(rolling.rolled(tape.columns, tape.ids[:count], tape.ids[count:], notes))
    tape.move(rolling.gathered(tape.columns, tape.ids))
    tape.move(trimmed(tape.columns, tape.ids[:count], tape.ids[count:]))
    tape.move(shorter if tape.columns is whole else merged(tape.columns, tape.ids))
    return tape.handles


class _Tape:
    """The tape of a trace, and where some of its Vars are on it."""

    def __init__(self, trace: Trace, handles: Sequence[Any]) -> None:
        self.trace = trace
        self.handles = handles
        self.columns = Columns(trace.nodes)

    @property
    def ids(self) -> list[int]:
        """The nodes of the Vars."""
        return [handle.id for handle in self.handles]

    def move(self, shorter: tuple[list[Node], dict[int, int]] | None) -> None:
        """Let the trace have a shorter tape, if there is one."""
        if shorter is not None:
            self.handles = moved(self.trace, self.handles, shorter)
            self.columns = Columns(self.trace.nodes)
