"""Rows and frames, as compiled code reads them: numbers, addresses of operands, C functions."""

from __future__ import annotations

from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import int64_at, set_int64
from tape.program.native.opcodes import KERNELS, OFFSET_BITS, OFFSET_MASK, SLOTS, WIDTH

ROW = 8 * WIDTH
"""Bytes of a row."""
ADDRESSES = 8 * SLOTS
"""Where the addresses of slots begin in a frame, in bytes."""
OFFSETS = {name: 8 * number for number, name in enumerate(KERNELS)}
"""Where the address of each C function is in the table of functions, in bytes."""


@inner
def field(row, k):  # type: ignore[no-untyped-def]
    """Return a number of a row, a frame, a seat or a table."""
    return int64_at(row + 8 * k)


@inner
def put(row, k, value):  # type: ignore[no-untyped-def]
    """Write a number that `field` reads."""
    set_int64(row + 8 * k, value)


@inner
def address(frame, operand):  # type: ignore[no-untyped-def]
    """Return the address of an operand, which is packed as slot and byte offset."""
    return int64_at(frame + ADDRESSES + (operand >> OFFSET_BITS)) + (operand & OFFSET_MASK)
