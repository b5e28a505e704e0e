"""Large intermediate arrays, computed a few rows at a time.

Where a program makes large arrays that only sums, minima or products of rows are asked of, most of its time
goes into writing them to memory and reading them again. A loop over tiles, so many rows along the first axis
that its values stay in the cache, computes the same and needs no memory for the whole arrays. Sums over the
rows add up from tile to tile, those of float32 in float64; everything else is the same, but for the order of
the sums in products of matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tape.config import num_threads
from tape.program.ir.instructions import IR, Instruction
from tape.program.ir.kernel_rows import rows_of_kernel
from tape.program.ir.parts import join_nested
from tape.program.ir.table import ELEMENTWISE, VIEWS
from tape.program.ir.tile_loops import TileLoops

__all__ = ["tile"]

_WORTH_IT = 4 << 20
"""Bytes of intermediate arrays from which on a loop is worth it."""
_TILE_BYTES = 1 << 18
"""Of all values of a tile, which stay in the second level of the cache: few are needed at a time."""
_MEMBER_BYTES = 1 << 13  # of each value: below that, a row of the machine takes as long as its work
_MOST_BYTES = 1 << 20  # of a single row and its values: a loop over rows would not keep them in the cache
_MOST_FACTOR_BYTES = 1 << 15  # of a matrix that the rows of a tile are multiplied with
_FEWEST_STEPS = 4
_MOST_THREADS = 2  # a loop runs in one: with more, whole arrays that are shared among them may take less

NO, ROWS, TOTAL = range(3)
"""What an instruction makes: neither of these, rows, or a total over rows."""


def tile(ir: IR) -> tuple[int, int]:
    """Replace instructions on large arrays by loops over tiles of them, where that is worth it.

    Parameters
    ----------
    ir : IR
        Changed in place. IR with branches or calls of Python, whose order matters, stays as it is.

    Returns
    -------
    added, moved : int
        Number of instructions added outside of the loops, and of those that are in their bodies now.
    """
    instructions = ir.instructions
    if all(_bytes(i) < _WORTH_IT // 4 or i.op in VIEWS for i in instructions):
        return 0, 0
    if any(i.guard is not None or i.op in ("callback", "again") for i in instructions):
        return 0, 0
    if num_threads() > _MOST_THREADS:
        return 0, 0
    found = [Tiling(ir, count) for count in _lengths(instructions)]
    best = max(found, key=lambda tiling: tiling.saved, default=None)
    if best is None or not best.loops:
        return 0, 0
    made = TileLoops(best)
    made.build()
    ir.replace(made.new, made.place)
    join_nested(ir)  # rows of tiles, and what was left over
    ir.drop_dead()
    moved = sum(map(len, best.loops.values()))
    added = max(len(ir.instructions) - len(instructions) + moved, 0)
    return added, len(instructions) + added - len(ir.instructions)


def _lengths(instructions: list[Instruction]) -> list[int]:
    """Return the lengths of the first axis of large arrays: what tiles may be cut along."""
    lengths = {i.shape[0] for i in instructions if _bytes(i) >= _WORTH_IT // 4 and i.shape}
    return sorted(length for length in lengths if length >= _FEWEST_STEPS)


def _bytes(instruction: Instruction) -> int:
    return instruction.size * instruction.dtype.itemsize


class Tiling:
    """What can be computed in tiles of arrays whose first axis has ``count`` rows, or a multiple of that.

    An instruction is in tiles if each row of its result depends on the same row of its operands, and on
    others as a whole. Where an instruction needs a whole array that tiles make, what follows is in a later
    loop: that is its level.
    """

    def __init__(self, ir: IR, count: int) -> None:
        self.ir, self.count, self.old = ir, count, ir.instructions
        self.kinds = bytearray(len(self.old))
        self.levels = [0] * len(self.old)
        for id, instruction in enumerate(self.old):
            kind = self._kind(instruction)
            self.kinds[id] = kind
            self.levels[id] = max([self._level_of(x, kind) for x in instruction.operands], default=0)
        self.loops: dict[int, list[int]] = {}
        self.saved = 0
        regions: dict[int, list[int]] = {}
        for id, kind in enumerate(self.kinds):
            if kind:
                regions.setdefault(self.levels[id], []).append(id)
        for level, members in regions.items():
            saved = self._saved(members)
            if saved >= _WORTH_IT and self.items(members):
                self.loops[level] = members
                self.saved += saved

    # ---- which instructions ------------------------------------------------------------------------------

    def _kind(self, of: Instruction) -> int:
        """Return whether an instruction makes rows, a total over rows, or neither."""
        op, attrs = of.op, of.attrs
        lead = of.shape[0] if of.shape else 0
        if op in ("fold", "sum_product"):
            if not all(map(self._has_rows, of.operands)):
                return NO
            if 0 not in attrs[1]:
                return ROWS
            return TOTAL if attrs[0] == "sum" and of.dtype.kind == "f" and any(self._made(of)) else NO
        if op == "kernel":
            return self._kind_of_kernel(of)
        if not self._divides(lead):
            return NO
        if op in ELEMENTWISE:
            rows = [len(self.old[x].shape) == len(of.shape) and self._has_rows(x, lead) for x in of.operands]
            fits = all(
                one or self._is_whole(x, len(of.shape)) for one, x in zip(rows, of.operands, strict=True)
            )
            return ROWS if fits and any(rows) else NO
        if op in ("concatenate", "put") and not (op == "concatenate" and attrs == (0,)):
            fits = all(self._has_rows(x, lead) for x in of.operands)
            fits = fits and (op == "concatenate" or (attrs[0][0] == 0 and attrs[1][0] == 1))
            return ROWS if fits and any(self._made(of)) else NO
        if op in ("matmul", "matmul_add"):
            return ROWS if self._is_product_of_rows(of) else NO
        if op == "take":
            return ROWS if self._is_taken_of_rows(of) else NO
        if op in VIEWS and op in _KEEPS_ROWS:
            (x,) = of.operands
            return ROWS if self.kinds[x] == ROWS and _KEEPS_ROWS[op](of, self.old[x]) else NO
        return NO

    def _kind_of_kernel(self, of: Instruction) -> int:
        rows = rows_of_kernel(of)
        if rows is None:
            return NO
        of_each = list(zip(of.operands, rows.operands, strict=True))
        (lead, *others) = {self.old[x].shape[0] for x, has_rows in of_each if has_rows}
        if others or not all(self._has_rows(x) if rows else self.kinds[x] != ROWS for x, rows in of_each):
            return NO
        if rows.are_summed:
            return TOTAL if any(self._made(of)) else NO
        return ROWS if of.shape[0] == lead else NO

    def _divides(self, length: int) -> bool:
        return length >= self.count and not length % self.count

    def _made(self, of: Instruction) -> Iterator[bool]:
        return (self.kinds[x] == ROWS for x in of.operands)

    def _has_rows(self, x: int, lead: int | None = None) -> bool:
        """Return whether rows of a value can be taken: it is computed in tiles, in C order, or broadcast."""
        of = self.old[x]
        if not of.shape or not self._divides(of.shape[0]) or (lead is not None and of.shape[0] != lead):
            return False
        return self.kinds[x] == ROWS or self.is_in_order(x) or self.is_spread(x) or self.is_view_of_rows(x)

    def is_view_of_rows(self, x: int) -> bool:
        """Return whether a value from outside is a view whose rows are views of rows."""
        of = self.old[x]
        if of.op not in _KEEPS_ROWS:
            return False
        (source,) = of.operands
        is_row_by_row = self.kinds[source] == NO and self._has_rows(source)
        return is_row_by_row and bool(_KEEPS_ROWS[of.op](of, self.old[source]))

    def is_in_order(self, x: int) -> bool:
        of = self.old[x]
        while of.op == "reshape":
            of = self.old[of.operands[0]]
        if of.op == "constant":
            return self.ir.constants[of.attrs[0]].flags.c_contiguous
        return of.op not in VIEWS or of.op == "part"

    def is_spread(self, x: int) -> bool:
        """Return whether all rows of a value are the same."""
        of = self.old[x]
        if of.op != "broadcast":
            return False
        core = self.old[of.operands[0]]
        return self.kinds[of.operands[0]] == NO and (len(core.shape) < len(of.shape) or core.shape[0] == 1)

    def _is_whole(self, x: int, ndim: int) -> bool:
        """Return whether an operand of an elementwise instruction is the same for all rows."""
        of = self.old[x]
        return (len(of.shape) < ndim or of.shape[0] == 1) and self.kinds[x] != ROWS

    def _is_product_of_rows(self, of: Instruction) -> bool:
        """Return whether a product has a factor with rows, matrices or rows of one, and one as a whole."""
        *total, a, b = of.operands
        ndim, lead = len(of.shape), of.shape[0]
        rows = [len(self.old[x].shape) == ndim and self._has_rows(x, lead) for x in (*total, a, b)]
        if ndim == 2:  # all of b is read for each tile
            if not rows[-2] or self.kinds[b] == ROWS or _bytes(self.old[b]) > _MOST_FACTOR_BYTES:
                return False
            rows, operands = rows[:-1], of.operands[:-1]
        else:
            operands = of.operands
        fits = zip(rows, operands, strict=True)
        return any(rows[len(total) :]) and all(one or self._is_whole(x, ndim) for one, x in fits)

    def _is_taken_of_rows(self, of: Instruction) -> bool:
        x, index = of.operands
        if of.attrs[0] > 0:
            return self.kinds[x] == ROWS and self.kinds[index] != ROWS
        return self.kinds[x] != ROWS and self.kinds[index] == ROWS

    def _level_of(self, x: int, kind: int) -> int:
        """Return the level from which on an operand is there, for rows of it or as a whole."""
        is_late = self.kinds[x] == TOTAL or (self.kinds[x] == ROWS and not kind)
        return self.levels[x] + is_late

    # ---- whether that is worth it ------------------------------------------------------------------------

    def _saved(self, members: list[int]) -> int:
        """Return the bytes of arrays that would be written to memory and read by another group of blocks."""
        inside = set(members)
        stays = inside - self.escaping(members)
        read = {
            x
            for id in members
            for x in self.old[id].operands
            if self.old[id].op not in ELEMENTWISE or self.old[x].op not in ELEMENTWISE
        }
        return sum(_bytes(self.old[id]) for id in stays & read if self.old[id].op not in VIEWS)

    def escaping(self, members: list[int]) -> set[int]:
        """Return the members that make rows which something outside reads."""
        inside = set(members)
        read = {x for id, of in enumerate(self.old) if id not in inside for x in of.operands}
        return {id for id in inside if self.kinds[id] == ROWS and (id in read or id in self.ir.outputs)}

    def items(self, members: list[int], share: int = 1) -> int:
        """Return how many rows a tile has, or a share of so many; 0 if there is no good number."""
        computed = [id for id in members if self.kinds[id] == ROWS and self.old[id].op not in VIEWS]
        each = sum(_bytes(self.old[id]) for id in computed) // self.count
        if not 0 < each <= _MOST_BYTES:
            return 0
        wanted = max(_TILE_BYTES, _MEMBER_BYTES * len(computed)) // share
        most = min(max(wanted // each, 1), self.count // _FEWEST_STEPS)
        return next((items for items in range(most, most // 2, -1) if self.count % items == 0), most)

    # ---- what its loops read ----------------------------------------------------------------------------

    def outside(self, members: list[int]) -> tuple[list[int], list[int]]:
        """Return the values that a region reads by rows, and those that it reads as a whole."""
        inside = set(members)
        arrays: dict[int, None] = {}
        whole: dict[int, None] = {}
        for id in members:
            for k, x in enumerate(self.old[id].operands):
                if x in inside:
                    continue
                by_rows = self.is_read_by_rows(id, k)
                while by_rows and not (self.is_in_order(x) or self.is_spread(x)):
                    if self.kinds[x] != NO:
                        break
                    (x,) = self.old[x].operands
                if by_rows and not self.is_spread(x):
                    arrays[x] = None
                    continue
                core = self.old[x].operands[0] if by_rows else x
                if self.old[core].op != "literal":
                    whole[core] = None
        return list(arrays), list(whole)

    def is_read_by_rows(self, id: int, k: int) -> bool:
        """Return whether rows of an instruction in tiles need the same rows of its operand ``k``."""
        of = self.old[id]
        operand = self.old[of.operands[k]]
        if of.op in ("fold", "sum_product"):
            return True
        if of.op == "kernel":
            rows = rows_of_kernel(of)
            return rows is not None and rows.operands[k]
        if of.op == "take":
            return (of.attrs[0] > 0) == (k == 0)
        if of.op in ("matmul", "matmul_add") and len(of.shape) == 2 and k == len(of.operands) - 1:
            return False
        return len(operand.shape) == len(of.shape) and operand.shape[0] == of.shape[0]

    def is_total(self, id: int) -> bool:
        """Return whether an instruction makes a total over rows."""
        return self.kinds[id] == TOTAL

    def attrs_of(self, id: int, items: int) -> tuple[Any, ...]:
        """Return the attributes of an instruction for so many rows."""
        of = self.old[id]
        rows = rows_of_kernel(of) if of.op == "kernel" else None
        if rows is None:
            return of.attrs
        name, parameters = of.attrs
        k = rows.parameter
        return name, (*parameters[:k], parameters[k] // self.count * items, *parameters[k + 1 :])

    def rows_of(self, x: int, items: int) -> tuple[int, ...]:
        """Return the shape of so many rows of a value."""
        first, *rest = self.old[x].shape
        return (first // self.count * items, *rest)


def _is_same_first(of: Instruction, x: Instruction) -> bool:
    return len(of.shape) == len(x.shape) and of.shape[0] == x.shape[0]


_KEEPS_ROWS: dict[str, Any] = {
    "reshape": lambda of, x: True,  # of whole rows, as the length of the first axis tells
    "transpose": lambda of, x: of.attrs[0][0] == 0,
    "broadcast": _is_same_first,
    "slice": lambda of, x: of.attrs[0][0] == 0 and of.attrs[1][0] == 1 and of.shape[0] == x.shape[0],
}
"""The views that each row of is made of one row of their operand."""
