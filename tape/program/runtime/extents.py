"""Claims: the memory that rows of a program touch, checked against their slots.

The rules of `tape.program.runtime.verify` look at rows of one kind together, and claim memory for their
operands; all claims are then checked at once. Bytes are counted in float64: that is exact for any size that
fits into memory, and sizes that do not fit stay large where integers would wrap around.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from tape import errors
from tape.program.native.opcodes import FIELDS, OFFSET_MASK, SLOT_BITS
from tape.program.runtime.slots import Slot

Column = np.ndarray[Any, np.dtype[Any]]

ADVICE = "The program is damaged: record it or load it again"

_POSITIONS = {name: {field: 1 + k for k, field in enumerate(fields)} for name, fields in FIELDS.items()}


class Rows:
    """The rows of one kind, with checks of their fields.

    Parameters
    ----------
    name : str
        The kind, as in `FIELDS`.
    numbers : numpy.ndarray
        int64, shape (rows,): their positions in the program.
    columns : numpy.ndarray
        int64, shape (WIDTH, rows): their contents.
    """

    def __init__(self, name: str, numbers: Column, columns: Column) -> None:
        self.name = name
        self.numbers = numbers
        self._columns = columns
        self._positions = _POSITIONS[name]

    def __getitem__(self, field: str) -> Column:
        return self._columns[self._positions[field]]

    def __len__(self) -> int:
        return len(self.numbers)

    def where(self, is_chosen: Column) -> Rows:
        """Return some of the rows."""
        return Rows(self.name, self.numbers[is_chosen], self._columns[:, is_chosen])

    def refuse(self, k: int, field: str, why: str) -> NoReturn:
        """Raise ProgramError for the ``k``-th row of this kind."""
        raise errors.ProgramError(f"row {self.numbers[k]} ({self.name}), {field}: it {why}. {ADVICE}")

    def need(self, is_right: Column, field: str, why: str) -> None:
        """Raise ProgramError unless all rows are right."""
        if not is_right.all():
            k = int(is_right.argmin())
            self.refuse(k, field, f"is {self[field][k]}. {why}")

    def between(self, field: str, low: Any, high: Any) -> Column:
        """Return a column whose numbers must be in a range."""
        column = self[field]
        is_right = (column >= low) & (column <= high)
        if not is_right.all():
            k = int(is_right.argmin())
            ends = [np.broadcast_to(end, column.shape)[k] for end in (low, high)]
            self.refuse(k, field, f"is {column[k]}, which is not in the range {ends[0]} to {ends[1]}")
        return column

    def one_of(self, field: str, choices: Sequence[int]) -> Column:
        """Return a column whose numbers must be among a few."""
        column = self[field]
        is_right = column == choices[0]
        for choice in choices[1:]:
            is_right |= column == choice
        self.need(is_right, field, f"It must be one of {', '.join(map(str, choices))}")
        return column


class Extent(NamedTuple):
    """The bytes of a slot that a row touches, from the first one to behind the last one."""

    row: int
    slot: int
    start: int
    stop: int
    is_written: bool
    is_dense: bool
    """Whether these are all between the two, and not parts with gaps."""


class Claims:
    """The parts of slots that rows read or write.

    Parameters
    ----------
    slots : sequence of Slot
        By number.
    """

    def __init__(self, slots: Sequence[Slot]) -> None:
        table = np.array(slots, np.int64).reshape(-1, len(Slot._fields))
        self.sizes, self._alignments, self._is_writable = table.T
        self._made: list[tuple[Rows, str, Any, Any]] = []
        self._ends: list[int] = []  # how many rows there are up to each claim
        self._apart: list[tuple[int, int]] = []

    def add(
        self,
        rows: Rows,
        field: str,
        unit: Any,
        count: Any = 1,
        *,
        step: Any = None,
        part: Any = None,
        low: Any = 0,
        high: Any = 0,
        is_written: Any = False,
    ) -> int:
        """Claim ``count`` parts, ``step`` bytes apart, from an operand's address on.

        Parameters
        ----------
        rows : Rows
            Whose operand it is.
        field : str
            The operand.
        unit : array_like
            Bytes that address and step must be multiples of.
        count : array_like
            How many parts.
        step, part : array_like
            Bytes from part to part, and of a part; ``unit`` if not given.
        low, high : array_like
            Bytes to add before the first part, negative, and after the last.
        is_written : array_like of bool
            Whether the slot must be writable.

        Returns
        -------
        int
            The number of the claim.
        """
        step = unit if step is None else step
        part = unit if part is None else part
        self._made.append((rows, field, (unit, step, is_written), (count, step, part, low, high)))
        self._ends.append(len(rows) + (self._ends[-1] if self._ends else 0))
        return len(self._ends) - 1

    def keep_apart(self, written: int, other: int) -> None:
        """Require that two claims of the same rows do not overlap."""
        self._apart.append((written, other))

    def _columns(self) -> tuple[Column, Column]:
        """Return the numbers of all claims: operand, unit, step and whether written; those of extents."""
        integers = np.empty((4, self._ends[-1]), np.int64)
        floats = np.empty((5, self._ends[-1]))
        start = 0
        for (rows, field, whole, real), stop in zip(self._made, self._ends, strict=True):
            integers[0, start:stop] = rows[field]
            for k, number in enumerate(whole, 1):
                integers[k, start:stop] = number
            for k, number in enumerate(real):
                floats[k, start:stop] = number
            start = stop
        return integers, floats

    def extents(self) -> list[Extent]:
        """Return what each claim touches, in no order."""
        if not self._made:
            return []
        integers, floats = self._columns()
        starts, stops = _extents(integers[0] & OFFSET_MASK, *floats)
        is_dense = (floats[0] <= 1) | (floats[1] == floats[2])
        rows = np.concatenate([rows.numbers for rows, *_ in self._made])
        columns = (rows, integers[0] >> SLOT_BITS, starts, stops, integers[3] != 0, is_dense)
        return [
            Extent(int(row), int(slot), int(start), int(stop), bool(is_written), bool(dense))
            for row, slot, start, stop, is_written, dense in zip(*columns, strict=True)
        ]

    def check(self) -> None:
        """Raise ProgramError unless all claims lie in slots that permit them."""
        if not self._made:
            return
        integers, floats = self._columns()
        operand, unit, step, is_written = integers
        slot, offset = operand >> SLOT_BITS, operand & OFFSET_MASK
        self._need(
            (slot >= 0) & (slot < len(self.sizes)),
            lambda k: f"refers to slot {slot[k]}, which does not exist",
        )
        self._need(
            (is_written == 0) | (self._is_writable[slot] != 0),
            lambda k: f"writes to slot {slot[k]}, which is read-only",
        )
        self._need(
            (offset % unit == 0) & (self._alignments[slot] % unit == 0) & (step % unit == 0),
            lambda k: f"has an address or a step that is not a multiple of {unit[k]} bytes",
        )
        starts, stops = _extents(offset, *floats)
        sizes = self.sizes[slot]
        self._need(
            (starts >= 0) & (stops <= sizes),
            lambda k: (
                f"reaches bytes {starts[k]:.0f} to {stops[k]:.0f} of slot {slot[k]}, which has {sizes[k]}"
            ),
        )
        for written, other in self._apart:
            here, there = self._rows_of(written), self._rows_of(other)
            is_apart = (slot[here] != slot[there]) | (stops[here] <= starts[there])
            self._need(
                is_apart | (stops[there] <= starts[here]),
                lambda k: f"overlaps {self._made[other][1]}",  # noqa: B023 - called at once
                here.start,
            )

    def _rows_of(self, claim: int) -> slice:
        return slice(self._ends[claim - 1] if claim else 0, self._ends[claim])

    def _need(self, is_right: Column, why: Any, first: int = 0) -> None:
        if is_right.all():
            return
        at = int(is_right.argmin())
        claim = bisect(self._ends, first + at)
        rows, field, *_ = self._made[claim]
        rows.refuse(first + at - self._rows_of(claim).start, field, why(at))


def _extents(offset: Any, count: Any, step: Any, part: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the first byte of each claim, and the one after its last."""
    reach = np.maximum(count - 1, 0) * step
    size = np.where(count > 0, part, 0)
    return offset + (low + np.minimum(reach, 0)), offset + (high + np.maximum(reach, 0) + size)
