"""How elementwise instructions read operands whose elements do not lie as those of the result do.

Planning counts the registers that take, and encoding writes the rows: both ask here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tape.kernels.codes import BY_ROWS, KERNEL_DTYPES
from tape.program.ir.instructions import Instruction
from tape.program.plan.layouts import Shape, broadcast_strides, collapsed

__all__ = ["ByRows", "by_rows", "loaded", "run"]

_FEWEST_BYTES = 32
"""Of a row that is combined with its number in place: a vector. With shorter ones that takes longer."""


def run(source: Instruction, strides: Shape, reader: Instruction) -> tuple[Shape, Shape]:
    """Return the lengths and strides of an operand in the order of the result, neighbouring axes merged."""
    return collapsed(reader.shape, broadcast_strides(source.shape, strides, reader.shape))


def loaded(
    source: Instruction, strides: Shape, operand: int, reader: Instruction
) -> tuple[Shape, Shape] | None:
    """Return the lengths and strides of an operand that must be made contiguous; None if it need not be."""
    if source.size == 1:  # a single condition is repeated, see the encoder
        is_repeated = reader.op == "where" and operand == reader.operands[0] and reader.size > 1
        return ((reader.size,), (0,)) if is_repeated else None
    lengths, steps = run(source, strides, reader)
    takes_steps = reader.op not in ("where", "cast", "copy")
    is_run = len(lengths) == 1 and (takes_steps or steps[0] == source.dtype.itemsize)
    return None if is_run or not lengths else (lengths, steps)


class ByRows(NamedTuple):
    """How an instruction reads a number for each row of its result.

    Attributes
    ----------
    position : int
        Which operand has the numbers.
    lengths, strides : tuple of int
        Rows and columns of the result, and the strides of that operand in bytes.
    """

    position: int
    lengths: Shape
    strides: Shape


def by_rows(reader: Instruction, operands: Sequence[Instruction], strides: Sequence[Shape]) -> ByRows | None:
    """Return how the machine combines an array with a number for each of its rows; None if it cannot.

    Parameters
    ----------
    reader : Instruction
        Elementwise.
    operands : sequence of Instruction
        Its operands.
    strides : sequence of tuple of int
        Theirs.
    """
    width = reader.dtype.itemsize
    if len(operands) != 2 or any(x.dtype != reader.dtype or x.dtype not in KERNEL_DTYPES for x in operands):
        return None
    runs = [run(x, steps, reader) for x, steps in zip(operands, strides, strict=True)]
    for k in (0, 1):
        lengths, steps = runs[k]
        if (
            (reader.op, k) in BY_ROWS
            and len(lengths) == 2
            and steps[1] == 0
            and lengths[1] * width >= _FEWEST_BYTES
            and runs[1 - k] == ((reader.size,), (width,))
        ):
            return ByRows(k, lengths, steps)
    return None
