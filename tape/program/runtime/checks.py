"""What a program's rows are checked with: what is known of the program, and the memory they claim."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tape.kernels.codes import DTYPE_CODES
from tape.program.native.functions import alignments, itemsizes
from tape.program.native.opcodes import FIELDS, REGISTERS, SLOT_BITS, WIDTH, opcode
from tape.program.runtime.extents import Claims, Column, Rows
from tape.program.runtime.slots import Body, Slot

MOST = 2**48  # elements or bytes: more than any memory has
MOST_INT32 = 2**31 - 1

NAMES = tuple(FIELDS)
LAST_ELEMENTWISE = opcode("load")

DTYPES: list[Any] = list(DTYPE_CODES)  # in the order of their codes
ITEMSIZES = np.array([dtype.itemsize for dtype in DTYPES])
INT64 = np.dtype(np.int64).itemsize
FLOATS = 1  # dtype codes up to here are those of float64 and float32
COPIED = 4  # bytes that copies need elements to be aligned to: they move words wherever these are


class Checks:
    """A program that is being verified.

    Parameters
    ----------
    code, rows, slots, callbacks, bodies
        As for `tape.program.runtime.verify.verify`.
    """

    def __init__(
        self,
        code: np.ndarray,
        rows: int,
        slots: Sequence[Slot],
        callbacks: Collection[int],
        bodies: Sequence[Body],
    ) -> None:
        self.code = code
        self.rows = rows
        self.words = code[: rows * WIDTH].reshape(-1, WIDTH)
        self.callbacks = np.array(sorted(callbacks), np.int64)
        self.bodies = bodies
        self.loops: dict[int, tuple[int, Body]] = {}  # length and body, by each row that belongs to a loop
        self.claims = Claims(slots)
        self.elements = np.zeros(rows)
        self.near = np.zeros(rows)  # elements of a row's operands that are in registers: those of one block

    def count(self, group: Rows, field: str) -> Column:
        """Return the number of elements of an operand: a register holds those of one block."""
        is_register = group[field] >> SLOT_BITS == REGISTERS
        return np.where(is_register, self.near[group.numbers], self.elements[group.numbers])


def need_spread(group: Rows, field: str, step: Column, part: Any) -> None:
    """Check that results do not overlap: so memory limits how many there are, and how long a row runs."""
    group.need((step >= part) | (step <= -part), field, "Parts of the result overlap")


_known_loops = np.zeros((0, 7), np.int64)


def ufunc_loops() -> np.ndarray:
    """Return, by number of each C function: arrays of a ufunc's loop, their itemsizes and alignments.

    Rows of functions that are no loops are zeros.
    """
    global _known_loops
    table = _known_loops
    new: list[tuple[int, ...]] = []
    with suppress(IndexError):
        while True:
            number = len(table) + len(new)
            sizes, units = itemsizes(number), alignments(number)
            is_loop = len(sizes) > 1
            new.append((len(sizes), *(*sizes, 0)[:3], *(*units, 0)[:3]) if is_loop else (0,) * 7)
    if new:
        _known_loops = table = np.concatenate([table, new])
    return table
