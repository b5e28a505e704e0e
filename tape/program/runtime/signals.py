"""Where the machine stops so that Python can look for signals, such as Ctrl-C.

Python does that whenever it runs, so the machine has to come back to it now and then. Where, is decided when
a program is encoded, from how long its instructions take at most: short programs have no such place.
"""

from __future__ import annotations

from collections.abc import Sequence

from tape.program.ir.instructions import Instruction
from tape.program.ir.table import INSTRUCTIONS

__all__ = ["BETWEEN", "is_due", "nanoseconds", "portion"]

BETWEEN = 50e6
"""Nanoseconds from one look to the next, as far as instructions can be divided."""


def nanoseconds(instructions: Sequence[Instruction], id: int) -> float:
    """Return how long an instruction takes at most."""
    instruction = instructions[id]
    return INSTRUCTIONS[instruction.op].cost.longest(instruction, instructions)


def is_due(time: float) -> bool:
    """Return whether it is time to look, after so many nanoseconds."""
    return time > BETWEEN


def portion(count: int, time: float) -> int:
    """Return how many parts of an instruction are done between two looks.

    Parameters
    ----------
    count : int
        How many parts there are.
    time : float
        Nanoseconds that all of them take.
    """
    return max(1, min(count, int(count * BETWEEN / (1 + time))))
