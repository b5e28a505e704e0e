"""The instructions for rows that stand for those of batches, see `tape.program.ir.compression`.

Where something reads all rows of a batch, these are spread: each element is taken from the row of its colour,
or from the common one. A sum over an axis of which each row has a range of its own is computed range by
range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.program.ir.instructions import Appending, Instruction
from tape.program.ir.table import ELEMENTWISE

if TYPE_CHECKING:
    from tape.program.ir.compression import Batches

__all__ = ["Compressing"]

_DEPTH = 50  # instructions that are computed range by range

Shape = tuple[int, ...]
Axis = tuple[int, int]
"""How many elements of a row there are before an axis, and behind it."""


class Compressing(Appending):
    """IR in which fewer rows stand for those of batches.

    Parameters
    ----------
    batches : Batches
        Which values they are of.
    """

    def __init__(self, batches: Batches) -> None:
        super().__init__()
        self.batches, self.old, self.ir, self.count = batches, batches.old, batches.ir, batches.count
        self.uses = self.ir.uses()
        self.place: dict[int, int] = {}  # of values that are no batches, and of batches that are spread
        self.rows: dict[int, int] = {}  # of the rows that stand for those of a batch

    def build(self) -> None:
        """Append all instructions, and let them be those of the IR."""
        for id, of in enumerate(self.old):
            if id in self.batches.places:
                self.rows[id] = self._rows_of(id, self.batches.length_of(id))
                if of.op != "constant":
                    continue
            ranges = self.batches.ranges_of(of)
            if ranges is not None:
                self.place[id] = self._sum_of_ranges(of, *ranges)
            else:
                operands = [self._whole(x) for x in of.operands]
                self.place[id] = self.push(of.op, operands, of.attrs, of.shape, of.dtype)
        for id in self.ir.outputs:
            self._whole(id)
        self.ir.replace(self.new, self.place)
        self.ir.drop_dead()

    def _constant(self, array: np.ndarray) -> int:
        constants = self.ir.constants
        constants.append(array)
        return self.push("constant", (), (len(constants) - 1,), array.shape, array.dtype)

    # ---- rows that stand for others --------------------------------------------------------------------

    def _shape(self, id: int, length: int) -> Shape:
        """Return the shape of so many rows of a value."""
        first, *rest = self.old[id].shape
        return (first // self.count * length, *rest)

    def _rows_of(self, id: int, length: int) -> int:
        """Append so many rows that stand for all those of a value; return where they are."""
        of = self.old[id]
        if of.op == "constant":
            return self._rows_of_constant(id, length)
        operands = [self._operand(of, k, length) for k in range(len(of.operands))]
        return self.push(of.op, operands, of.attrs, self._shape(id, length), of.dtype)

    def _operand(self, of: Instruction, k: int, length: int) -> int:
        """Return where an operand of so many rows is: rows of it, or a value that is the same for all."""
        x = of.operands[k]
        if x in self.rows:
            return self.rows[x]
        return self._rows_of(x, length) if self.batches.is_by_rows(of, k) else self.place[x]

    def _rows_of_constant(self, id: int, length: int) -> int:
        array = self.ir.constants[self.old[id].attrs[0]]
        given = array.reshape(self.count, -1)
        rows = np.zeros((length, given.shape[1]), array.dtype)
        for values, colour in zip(given, self.batches.colours_of(id), strict=True):
            (has,) = values.nonzero()
            rows[colour, has] = values[has]
        return self._constant(rows.reshape(self._shape(id, length)))

    # ---- all rows ----------------------------------------------------------------------------------------

    def _whole(self, id: int) -> int:
        """Return where a value is, all rows of it if it is a batch."""
        if id not in self.place:
            self.place[id] = self._spread(id)
        return self.place[id]

    def _spread(self, id: int) -> int:
        """Append all rows of a batch, given those that stand for them."""
        of, count = self.old[id], self.count
        colours, length = self.batches.colours_of(id), self.batches.length_of(id)
        row = (of.shape[0] // count, *of.shape[1:])
        rows = self.push("reshape", (self.rows[id],), (), (length, *row), of.dtype)
        found = self.push("take", (rows, self._constant(colours)), (0,), (count, *row), of.dtype)
        if not self.batches.are_rows_alone(id):
            places = self._constant(self.batches.places[id].reshape(count, *row).copy())
            common = self._some(rows, 0, 1, row, of.dtype)
            found = self.push("where", (places, found, common), (), (count, *row), of.dtype)
        return self.push("reshape", (found,), (), of.shape, of.dtype)

    def _some(self, at: int, start: int, length: int, row: Shape, dtype: Any) -> int:
        """Append a view of some rows."""
        attrs = ((start, *(0,) * len(row)), (1,) * (1 + len(row)))
        return self.push("slice", (at,), attrs, (length, *row), dtype)

    # ---- sums over ranges of an axis ---------------------------------------------------------------------

    def _sum_of_ranges(self, of: Instruction, bounds: Sequence[int], numbers: Sequence[int]) -> int:
        """Append a sum: for each row that of its range, and of the common row elsewhere.

        Parameters
        ----------
        of : Instruction
            The sum.
        bounds, numbers : sequence of int
            The ranges, see `Batches.ranges_of`.
        """
        (x,), ((_, axes), row, dtype) = of.operands, (of.attrs, of.shape[1:], of.dtype)
        shape, colours = self.old[x].shape, self.batches.colours_of(x)
        length = self.batches.length_of(x)
        axis = prod(shape[1 : axes[0]]), prod(shape[axes[0] + 1 :])
        sums = []
        for start, stop in pairwise(bounds):
            part = self._part(x, axis, start, stop, _DEPTH)
            sums.append(self.push("fold", (part,), of.attrs, (length, *row), dtype))

        def added(x: int, y: int, length: int = 1) -> int:
            return self.push("add", (x, y), (), (length, *row), dtype)

        common = [self._some(at, 0, 1, row, dtype) for at in sums]
        before, behind = list(accumulate(common, added)), list(accumulate(common[::-1], added))
        inner = range(1, len(sums) - 1)
        elsewhere = [behind[-2], *[added(before[k - 1], behind[-2 - k]) for k in inner], before[-2]]
        pieces = []
        for number, colour, count in _runs(numbers, colours.tolist()):
            if number < 0:
                pieces.append(self.push("broadcast", (before[-1],), (), (count, *row), dtype))
            else:
                own = self._some(sums[number], colour, count, row, dtype)
                pieces.append(added(own, elsewhere[number], count))
        return self.push("concatenate", pieces, (0,), of.shape, dtype)

    def _part(self, id: int, axis: Axis, start: int, stop: int, depth: int) -> int:
        """Append a range along an axis of the rows that stand for those of a batch."""
        of, (before, behind) = self.old[id], axis
        length, rows = of.size // self.count // before // behind, self.batches.length_of(id)
        shape = self._shape_of_part(id, axis, length, stop - start)
        assert shape is not None
        if depth and self.uses[id] == 1:
            operands = self._operands_of_part(of, rows, axis, length, start, stop, depth - 1)
            if operands is not None:
                return self.push(of.op, operands, of.attrs, shape, of.dtype)
        at = self.push("reshape", (self.rows[id],), (), (rows, before, length, behind), of.dtype)
        part = (rows, before, stop - start, behind)
        at = self.push("slice", (at,), ((0, 0, start, 0), (1, 1, 1, 1)), part, of.dtype)
        return self.push("reshape", (at,), (), shape, of.dtype)

    def _shape_of_part(self, id: int, axis: Axis, length: int, count: int) -> Shape | None:
        """Return the shape of a range along an axis; None if that is not part of one axis."""
        shape = list(self.old[id].shape)
        shape[0] //= self.count
        inner = 1
        for k in reversed(range(len(shape))):
            if axis[1] < inner * shape[k]:
                if axis[1] % inner or shape[k] % (axis[1] // inner * length):
                    return None
                shape[k] = shape[k] // length * count
                break
            inner *= shape[k]
        return (shape[0] * self.batches.length_of(id), *shape[1:])

    def _operands_of_part(
        self, of: Instruction, rows: int, axis: Axis, length: int, start: int, stop: int, depth: int
    ) -> list[int] | None:
        """Append the ranges of operands that a range of a result is computed from; None if it cannot be."""
        along = self._along(of, axis, length)
        if along is None:
            return None
        for x, one in zip(of.operands, along, strict=True):
            if isinstance(one, tuple) and self._shape_of_part(x, one, length, stop - start) is None:
                return None
        parts = []
        for k, (x, one) in enumerate(zip(of.operands, along, strict=True)):
            if one is None:
                parts.append(self._operand(of, k, rows))
            elif isinstance(one, int):
                parts.append(self._slice(x, one, start, stop))
            else:
                parts.append(self._part(x, one, start, stop, depth))
        return parts

    def _along(self, of: Instruction, axis: Axis, length: int) -> list[Axis | int | None] | None:
        """Return along what a range of each operand is read: of a batch, of another value, or all of it.

        Returns None if a range of the result is not computed from such ranges.
        """
        before, behind = axis
        if of.op == "reshape":
            return [axis]
        if of.op == "matmul" and len(of.shape) == 2 and not behind % of.shape[1]:
            return [(before, behind // of.shape[1] * self.old[of.operands[0]].shape[1]), None]
        if of.op not in ELEMENTWISE:
            return None
        axes = [k for k, n in enumerate(of.shape) if k and n == length and prod(of.shape[k + 1 :]) == behind]
        if not axes:
            return None
        along: list[Axis | int | None] = []
        for x in of.operands:
            shape = self.old[x].shape
            k = axes[0] - len(of.shape) + len(shape)
            if k < 0 or shape[k] == 1:
                along.append(None)
            elif x in self.rows:
                inner = prod(shape[k + 1 :])
                along.append((prod(shape) // self.count // length // inner, inner))
            elif x in self.batches.spread:
                return None
            else:
                along.append(k)
        return along

    def _slice(self, x: int, axis: int, start: int, stop: int) -> int:
        """Append a view of a range along an axis of a value that is no batch."""
        shape, ndim = self.old[x].shape, len(self.old[x].shape)
        starts = (*(0,) * axis, start, *(0,) * (ndim - axis - 1))
        part = (*shape[:axis], stop - start, *shape[axis + 1 :])
        return self.push("slice", (self.place[x],), (starts, (1,) * ndim), part, self.old[x].dtype)


def _runs(numbers: Sequence[int], colours: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the range, the first colour and the count of rows whose colours follow each other."""
    first = 0
    for row in range(1, len(numbers) + 1):
        number = numbers[first]
        goes_on = row < len(numbers) and numbers[row] == number
        if goes_on and (number < 0 or colours[row] == colours[first] + row - first):
            continue
        yield number, colours[first], row - first
        first = row
