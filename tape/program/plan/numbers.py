"""Instructions on few elements, which a program computes number by number: which these are.

The row "scalars" has an entry for each number. An entry takes 2 to 3 ns; a row with a loop of NumPy's over
the elements takes as long as three to eight of them, by processor. Longer arrays may be entries of "shorts",
which take as long as two, but read whole registers: these wait for numbers just written one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tape.kernels.codes import LETTERS, SCALARS
from tape.program.ir.instructions import Instruction

FEW = 4
"""The most elements of such an instruction."""
_DOUBLE = np.dtype(np.float64)
_HEAVY = ("power", "exp", "log", "sin", "cos", "tanh", "expm1", "log1p", "arctan", "tan")
_FEW_OF = {
    **dict.fromkeys(_HEAVY, 1),  # NumPy's loops compute several at a time
    **dict.fromkeys(("maximum", "minimum"), 1),  # and choose another one of two zeros
}
_DTYPES = {letter: dtype for dtype, letter in LETTERS.items()}


def _codes() -> dict[Any, int]:
    """Return the codes of elementwise instructions, by name and the dtypes of operands and result."""
    found: dict[Any, int] = {}
    for (name, signature), code in SCALARS.items():
        given, _, out = signature.partition("->")
        if out:
            condition = "b" if name == "where" else ""
            found[name, *[_DTYPES[letter] for letter in condition + given + out]] = code
    return found


_CODES = _codes()
_NAMES = {name for name, *_ in _CODES}


def code_of(instruction: Instruction, instructions: Sequence[Instruction]) -> int | None:
    """Return the code of an elementwise instruction on few elements; None for others.

    Parameters
    ----------
    instruction : Instruction
        Any.
    instructions : sequence of Instruction
        Where its operands are.
    """
    name = instruction.op
    if name not in _NAMES:
        return None
    shape = instruction.shape
    if shape and not 0 < prod(shape) <= _FEW_OF.get(name, FEW):
        return None
    return _CODES.get((name, *[instructions[x].dtype for x in instruction.operands], instruction.dtype))


def is_short_sum(instruction: Instruction, instructions: Sequence[Instruction]) -> bool:
    """Return whether an instruction adds up few floats, or products of them."""
    if instruction.op not in ("fold", "sum_product") or instruction.attrs[0] != "sum":
        return False
    source = instructions[instruction.operands[0]]
    return source.dtype == _DOUBLE and 0 < source.size <= FEW
