"""Pauses, in which Python handles signals such as Ctrl-C.

Python does that whenever it runs, so the machine has to return to it now and then. Where it does is decided
when a program is encoded, from upper bounds on the time of its instructions: short programs have no pauses.
"""

from __future__ import annotations

from collections.abc import Sequence

from tape.config import num_threads
from tape.program.ir.instructions import Instruction
from tape.program.ir.table import INSTRUCTIONS

BETWEEN = 50e6
"""Nanoseconds from one pause to the next, as far as instructions can be divided."""


def nanoseconds(instructions: Sequence[Instruction], id: int) -> float:
    """Return an upper bound on the time of an instruction."""
    instruction = instructions[id]
    return INSTRUCTIONS[instruction.op].cost.longest(instruction, instructions)


def is_due(time: float) -> bool:
    """Return whether a pause is due after so many nanoseconds."""
    return time > BETWEEN


def portion(count: int, time: float, is_shared: bool = False) -> int:
    """Return how many parts of an instruction run between two pauses.

    Parameters
    ----------
    count : int
        Number of parts.
    time : float
        Nanoseconds of all parts together.
    is_shared : bool
        Whether threads share them: each has one at least.
    """
    least = num_threads() if is_shared else 1
    return max(1, min(count, max(least, int(count * BETWEEN / (1 + time)))))
