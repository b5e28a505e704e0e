"""Proves that no row of a program touches memory outside its slots, whatever numbers the array holds.

The machine checks nothing, so everything is checked here, before the first run: rows of one kind together,
each rule on whole columns of the instruction array. Bytes are counted in float64. That is exact for all that
fits into a memory, and what does not stays large, where integers would wrap around.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from tape import errors
from tape.kernels.copies import COPY_ITEMSIZES
from tape.kernels.folds import DTYPE_CODES, FOLDS, has_fold
from tape.kernels.scalars import SCALARS
from tape.program.functions import blas_number, itemsizes
from tape.program.opcodes import (
    ARENA,
    FIELDS,
    LITERALS,
    OFFSET_BITS,
    OFFSET_MASK,
    REGISTERS,
    WIDTH,
    opcode,
)
from tape.program.plan import ALIGNMENT, Plan

__all__ = ["Slot", "slots_of", "verify"]

_Column = np.ndarray[Any, np.dtype[Any]]

_MOST = 2**48  # elements or bytes: more than any memory has
_MOST_INT32 = 2**31 - 1
_MOST_AXES = 64
_LITERAL_ALIGNMENT = 16

_POSITIONS = {name: {field: 1 + k for k, field in enumerate(fields)} for name, fields in FIELDS.items()}
_NAMES = tuple(FIELDS)
_LAST_ELEMENTWISE = opcode("load")

_ITEMSIZES = np.array([dtype.itemsize for dtype in DTYPE_CODES])
_INT64 = np.dtype(np.int64).itemsize
_FOLDABLE = np.array([[has_fold(kind, dtype) for dtype in DTYPE_CODES] for kind in FOLDS])
_MAY_FOLD_NOTHING = np.array([kind in ("sum", "prod") for kind in FOLDS])
_FINDS_POSITION = np.array([kind.startswith("arg") for kind in FOLDS])
_FLOATS = 1  # dtype codes up to here are those of float64 and float32
_N, _T = ord("N"), ord("T")


class Slot(NamedTuple):
    """A part of memory that operands lie in.

    Attributes
    ----------
    size : int
        In bytes.
    alignment : int
        In bytes: its address is a multiple of that.
    is_writable : bool
        Whether rows may write to it.
    """

    size: int
    alignment: int
    is_writable: bool


def slots_of(plan: Plan) -> list[Slot]:
    """The slots of a plan, as a run of its program provides them.

    Parameters
    ----------
    plan : Plan
        After encoding, which may make registers larger.

    Returns
    -------
    list of Slot
    """
    slots = [Slot(0, ALIGNMENT, False)] * len(plan.slots)
    slots[ARENA] = Slot(plan.slots[ARENA], ALIGNMENT, True)
    slots[REGISTERS] = Slot(plan.slots[REGISTERS], ALIGNMENT, True)
    slots[LITERALS] = Slot(plan.slots[LITERALS], _LITERAL_ALIGNMENT, False)
    donated = set(plan.donations.values())
    for leaf, (id, slot) in enumerate(zip(plan.inputs, plan.input_slots, strict=True)):
        if id is not None:
            dtype = plan.instructions[id].dtype
            slots[slot] = Slot(plan.slots[slot], dtype.alignment, leaf in donated)
    for array, slot in zip(plan.constants, plan.constant_slots, strict=True):
        address = array.ctypes.data
        slots[slot] = Slot(plan.slots[slot], address & -address or ALIGNMENT, False)
    for k, (id, slot) in enumerate(zip(plan.outputs, plan.output_slots, strict=True)):
        if k not in plan.donations:  # those have no memory of their own
            slots[slot] = Slot(plan.slots[slot], plan.instructions[id].dtype.alignment, True)
    return slots


def verify(code: np.ndarray, rows: int, slots: Sequence[Slot], callbacks: Collection[int] = ()) -> None:
    """Refuse a program that could touch memory that is not its own.

    What is accepted reads and writes inside its slots only, writes to no slot that must not be written to, and
    ends: each row takes time in proportion to memory.

    Parameters
    ----------
    code : numpy.ndarray
        int64, shape (numbers,): ``rows`` rows of `WIDTH` numbers, then tables.
    rows : int
        How many rows.
    slots : sequence of Slot
        By number.
    callbacks : collection of int
        What rows that call Python may name.

    Raises
    ------
    ProgramError
        At the first flaw that is found, naming row, field and what is wrong with it.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.opcodes import WIDTH, opcode, packed
    >>> from tape.program.verify import Slot, verify
    >>> slots = [Slot(64, 64, True), Slot(0, 64, True), Slot(16, 16, False)]
    >>> code = np.zeros(WIDTH, np.int64)
    >>> code[:4] = opcode("copy"), 16, packed(2, 0), packed(0, 48)
    >>> verify(code, 1, slots)
    >>> code[3] = packed(0, 56)
    >>> verify(code, 1, slots)
    Traceback (most recent call last):
        ...
    tape.errors.ProgramError: row 0 (copy), out: it reaches bytes 56 to 72 of slot 0, which has 64. ...
    """
    is_array = isinstance(code, np.ndarray) and code.dtype == np.int64 and code.ndim == 1
    if not is_array or not code.flags.c_contiguous or not 0 <= rows <= len(code) // WIDTH:
        raise errors.ProgramError(
            f"a program of {rows} rows in {errors.describe(code)}: it must be an int64 array that holds them. {_ADVICE}"
        )
    _Verifier(code, rows, slots, callbacks).verify()


_ADVICE = "The program is damaged: record or load it anew"

_known_loops = np.zeros((0, 4), np.int64)


def _loops() -> np.ndarray:
    """By number of each C function: how many operands and results a ufunc's loop has, and bytes of an element.

    There are zeros for functions that are no loops.
    """
    global _known_loops
    table, new = _known_loops, []
    with suppress(IndexError):
        while True:
            sizes = itemsizes(len(table) + len(new))
            new.append((len(sizes), *sizes, 0, 0)[:4] if len(sizes) > 1 else (0, 0, 0, 0))
    if new:
        _known_loops = table = np.concatenate([table, new])
    return table


class _Rows:
    """The rows of one kind, and the words for what is wrong with one."""

    def __init__(self, name: str, numbers: _Column, words: _Column) -> None:
        self.name = name
        self.numbers = numbers
        self._columns = words
        self._positions = _POSITIONS[name]

    def __getitem__(self, field: str) -> _Column:
        return self._columns[self._positions[field]]

    def __len__(self) -> int:
        return len(self.numbers)

    def need(self, is_right: _Column, field: str, why: str) -> None:
        """Raise if a row is not right."""
        if not is_right.all():
            k = int(np.argmin(is_right))
            self.refuse(k, field, f"is {self[field][k]}. {why}")

    def refuse(self, k: int, field: str, why: str) -> None:
        """Raise because of the row that is ``k``-th of its kind."""
        raise errors.ProgramError(f"row {self.numbers[k]} ({self.name}), {field}: it {why}. {_ADVICE}")

    def need_between(self, field: str, low: Any, high: Any) -> _Column:
        """A column whose numbers are in a range, as integers."""
        column = self[field]
        if (column < low).any() or (column > high).any():
            k = int(np.argmax((column < low) | (column > high)))
            ends = [np.broadcast_to(end, column.shape)[k] for end in (low, high)]
            self.refuse(k, field, f"is {column[k]}, which is not from {ends[0]} to {ends[1]}")
        return column

    def need_one_of(self, field: str, choices: Sequence[int]) -> _Column:
        """A column whose numbers are among a few."""
        column = self[field]
        self.need(np.isin(column, choices), field, f"It must be one of {', '.join(map(str, choices))}")
        return column


class _Verifier:
    def __init__(
        self, code: np.ndarray, rows: int, slots: Sequence[Slot], callbacks: Collection[int]
    ) -> None:
        self.code = code
        self.rows = rows
        self.callbacks = np.array(sorted(callbacks), np.int64)
        table = np.array(slots, np.int64).reshape(-1, len(Slot._fields))
        self.sizes, self.alignments, self.is_writable = table.T
        self.elements = np.zeros(rows)
        self.near = np.zeros(rows)  # elements of a row's operands that are in registers: those of one block

    def verify(self) -> None:
        words = self.code[: self.rows * WIDTH].reshape(-1, WIDTH)
        kinds = words[:, 0]
        is_known = (kinds >= 0) & (kinds < len(_NAMES))
        if not is_known.all():
            row = int(np.argmin(is_known))
            raise errors.ProgramError(f"row {row}: there is no opcode {kinds[row]}. {_ADVICE}")
        order = np.argsort(kinds, kind="stable")
        starts = np.searchsorted(kinds[order], range(len(_NAMES) + 1))
        columns = np.ascontiguousarray(words[order].T)
        groups = [
            _Rows(name, order[start:stop], columns[:, start:stop])
            for name, start, stop in zip(_NAMES, starts[:-1], starts[1:], strict=True)
            if start < stop
        ]
        for group in groups:
            if opcode(group.name) <= _LAST_ELEMENTWISE:
                self.elements[group.numbers] = self.near[group.numbers] = group.need_between(
                    "count", 1, _MOST
                )
        for group in groups:
            if group.name == "blocks":
                self._blocks(group, kinds)
        for group in groups:
            if group.name != "blocks":
                getattr(self, f"_{group.name}")(group)

    # ---- memory --------------------------------------------------------------------------------------

    def _touched(
        self,
        group: _Rows,
        field: str,
        unit: Any,
        low: Any,
        high: Any,
        step: Any = 0,
        is_written: bool = False,
    ) -> tuple[_Column, _Column, _Column]:
        """Slot, first byte, and the byte behind the last of an operand: all in its slot, and aligned.

        ``low`` and ``high`` count from the operand's address; ``unit`` is what addresses and steps are multiples of.
        """
        operand = group[field]
        slot, offset = operand >> OFFSET_BITS, operand & OFFSET_MASK
        group.need((slot >= 0) & (slot < len(self.sizes)), field, f"There are {len(self.sizes)} slots")
        if is_written and not (is_right := self.is_writable[slot] != 0).all():
            k = int(np.argmin(is_right))
            group.refuse(k, field, f"writes to slot {slot[k]}, which may only be read")
        remainder = offset % unit + self.alignments[slot] % unit + step % unit
        if remainder.any():
            k = int(np.argmax(remainder != 0))
            size = np.broadcast_to(unit, slot.shape)[k]
            group.refuse(k, field, f"has an address or a step that is no multiple of {size} bytes")
        start, stop = offset + low, offset + high
        is_inside = (start >= 0) & (stop <= self.sizes[slot])
        if not is_inside.all():
            k = int(np.argmin(is_inside))
            size = self.sizes[slot[k]]
            group.refuse(
                k, field, f"reaches bytes {start[k]:.0f} to {stop[k]:.0f} of slot {slot[k]}, which has {size}"
            )
        return slot, start, stop

    def _run(
        self,
        group: _Rows,
        field: str,
        unit: Any,
        count: Any,
        step: Any = None,
        part: Any = None,
        is_written: bool = False,
    ) -> tuple[_Column, _Column, _Column]:
        """An operand that consists of ``count`` parts, ``step`` bytes apart."""
        part = unit if part is None else part
        step = unit if step is None else step
        reach = np.maximum(count - 1.0, 0) * step
        size = np.where((count > 0) & (part > 0), part, 0)
        return self._touched(
            group, field, unit, np.minimum(reach, 0), np.maximum(reach, 0) + size, step, is_written
        )

    @staticmethod
    def _keep_apart(group: _Rows, field: str, written: Any, other: Any) -> None:
        """Refuse a row that writes to an operand while it needs another one there."""
        slot, start, stop = written
        other_slot, other_start, other_stop = other
        is_apart = (slot != other_slot) | (stop <= other_start) | (other_stop <= start)
        group.need(is_apart, field, "It overlaps an operand that must stay as it is")

    # ---- elementwise ---------------------------------------------------------------------------------

    def _blocks(self, group: _Rows, kinds: _Column) -> None:
        rows = group.need_between("rows", 0, self.rows - 1 - group.numbers)
        # A block may work in registers alone: no memory limits how long it runs.
        count = group.need_between("count", 1, self.sizes.max(initial=0))
        block = group.need_between("block", 1, _MOST)
        for k, at in enumerate(group.numbers + 1):
            inside = slice(at, at + rows[k])
            if (kinds[inside] > _LAST_ELEMENTWISE).any():
                group.refuse(k, "rows", "takes in rows that are not elementwise")
            if (self.elements[inside] != count[k]).any():
                group.refuse(k, "count", f"is {count[k]}, and rows of the block have another one")
            self.near[inside] = min(count[k], block[k])

    def _count(self, group: _Rows, field: str) -> _Column:
        """Elements of an operand: registers begin anew with every block."""
        is_register = group[field] >> OFFSET_BITS == REGISTERS
        return np.where(is_register, self.near[group.numbers], self.elements[group.numbers])

    def _loop(self, group: _Rows, operands: str) -> None:
        loops = _loops()
        counts, *sizes = loops[group.need_between("function", 0, len(loops) - 1)].T
        group.need(counts == len(operands.split()), "function", f"That is no loop for a {group.name} row")
        for field, size in zip(operands.split(), sizes, strict=False):
            step = group[f"stride_{field}"]
            if field == "out":
                self._need_spread(group, "stride_out", step, size)
            self._run(
                group,
                field,
                np.minimum(size, 8),
                self._count(group, field),
                step,
                size,
                is_written=field == "out",
            )

    @staticmethod
    def _need_spread(group: _Rows, field: str, step: _Column, part: Any) -> None:
        """Results lie apart: memory limits how many there are, and how long a row runs."""
        group.need((step >= part) | (step <= -part), field, "Parts of the result lie upon each other")

    def _unary(self, group: _Rows) -> None:
        self._loop(group, "x out")

    def _binary(self, group: _Rows) -> None:
        self._loop(group, "x y out")

    def _cast(self, group: _Rows) -> None:
        source = _ITEMSIZES[group.need_between("from", 0, len(_ITEMSIZES) - 1)]
        target = _ITEMSIZES[group.need_between("to", 0, len(_ITEMSIZES) - 1)]
        self._run(group, "x", source, self._count(group, "x"))
        self._run(group, "out", target, self._count(group, "out"), is_written=True)

    def _select(self, group: _Rows) -> None:
        size = group.need_one_of("itemsize", COPY_ITEMSIZES)
        self._run(group, "condition", 1, self._count(group, "condition"))
        for field in ("x", "y"):
            step = group[f"stride_{field}"]
            group.need((step == 0) | (step == size), f"stride_{field}", "It must be 0 or the itemsize")
            self._run(group, field, size, self._count(group, field), step)
        self._run(group, "out", size, self._count(group, "out"), is_written=True)

    def _load(self, group: _Rows) -> None:
        size = group.need_one_of("itemsize", COPY_ITEMSIZES)
        self._touched(group, "x", size, *self._reach(group, size))
        self._run(group, "out", size, self._count(group, "out"), is_written=True)

    # ---- parts of arrays -----------------------------------------------------------------------------

    def _reach(self, group: _Rows, size: _Column) -> tuple[_Column, _Column]:
        """How far a strided operand goes below and above its address."""
        count = group.need_between("count", 1, _MOST)
        ndim = group.need_between("ndim", 0, _MOST_AXES)
        tables = self.rows * WIDTH
        lengths = group.need_between("lengths", tables, len(self.code) - ndim)
        strides = group.need_between("strides", tables, len(self.code) - ndim)
        low, high, product = np.zeros(len(group)), size.astype(float), np.ones(len(group))
        for axis in range(ndim.max()):
            has_axis = axis < ndim
            length = np.where(has_axis, self.code[np.where(has_axis, lengths + axis, 0)], 1)
            step = np.where(has_axis, self.code[np.where(has_axis, strides + axis, 0)], 0)
            group.need((length >= 1) & (length <= _MOST), "lengths", f"Length {axis} there is out of range")
            group.need(step % size == 0, "strides", f"Stride {axis} there is no multiple of the itemsize")
            group.need((step >= -_MOST) & (step <= _MOST), "strides", f"Stride {axis} there is out of range")
            reach = (length - 1.0) * step
            low, high, product = low + np.minimum(reach, 0), high + np.maximum(reach, 0), product * length
        group.need(product == count, "lengths", "The lengths there do not make the count")
        return low, high

    def _store(self, group: _Rows) -> None:
        self._put(group, group.need_one_of("itemsize", COPY_ITEMSIZES))

    def _add_store(self, group: _Rows) -> None:
        self._put(group, _ITEMSIZES[group.need_between("dtype", 0, _FLOATS)])

    def _put(self, group: _Rows, size: _Column) -> None:
        low, high = self._reach(group, size)
        self._run(group, "x", size, group["count"])
        self._touched(group, "out", size, low, high, is_written=True)

    def _copy(self, group: _Rows) -> None:
        size = group.need_between("bytes", 0, _MOST)
        self._touched(group, "x", 1, 0, size)
        self._touched(group, "out", 1, 0, size, is_written=True)

    # ---- numbers, folds, positions -------------------------------------------------------------------

    def _scalar(self, group: _Rows) -> None:
        group.need_between("kind", 0, len(SCALARS) - 1)
        for field in ("x", "y", "out"):
            self._run(group, field, 8, 1, is_written=field == "out")

    def _fold(self, group: _Rows) -> None:
        kind = group.need_between("kind", 0, len(FOLDS) - 1)
        dtype = group.need_between("dtype", 0, len(_ITEMSIZES) - 1)
        group.need(_FOLDABLE[kind, dtype], "dtype", "There is no such fold of this dtype")
        before = group.need_between("before", 1, _MOST)
        reduced = group.need_between("reduced", np.where(_MAY_FOLD_NOTHING[kind], 0, 1), _MOST)
        after = group.need_between("after", 1, _MOST)
        results, size = before * after.astype(float), _ITEMSIZES[dtype]
        self._run(group, "x", size, results * reduced)
        self._run(group, "out", np.where(_FINDS_POSITION[kind], _INT64, size), results, is_written=True)

    def _take(self, group: _Rows) -> None:
        size = group.need_one_of("itemsize", COPY_ITEMSIZES)
        whole, chosen = self._indexed(group)
        self._run(group, "x", size, whole)
        out = self._run(group, "out", size, chosen, is_written=True)
        self._keep_apart(group, "out", out, self._run(group, "index", _INT64, group["count"]))

    def _scatter_add(self, group: _Rows) -> None:
        size = _ITEMSIZES[group.need_between("dtype", 0, _FLOATS)]
        whole, chosen = self._indexed(group)
        self._run(group, "x", size, chosen)
        total = self._run(group, "total", size, whole, is_written=True)
        self._keep_apart(group, "total", total, self._run(group, "index", _INT64, group["count"]))

    @staticmethod
    def _indexed(group: _Rows) -> tuple[_Column, _Column]:
        """Elements of the array that is indexed, and of those that are chosen from it."""
        length = group.need_between("length", 0, _MOST)
        row = group.need_between("row", 1, _MOST)
        count = group.need_between("count", 1, _MOST)
        rows = row * group.need_between("before", 1, _MOST).astype(float)
        return rows * length, rows * count

    def _ravel_index(self, group: _Rows) -> None:
        count = group.need_between("count", 1, _MOST)
        group.need_between("length", 0, _MOST)
        group.need_between("wraps", 0, 3)
        for field in ("so_far", "index", "out"):
            self._run(group, field, _INT64, count, is_written=field == "out")

    def _guard(self, group: _Rows) -> None:
        group.need_between("kind", 0, 1)
        self._run(group, "x", _ITEMSIZES[group.need_between("dtype", 0, len(_ITEMSIZES) - 1)], 1)

    def _callback(self, group: _Rows) -> None:
        group.need(np.isin(group["index"], self.callbacks), "index", "That is no callback")

    # ---- BLAS and LAPACK -----------------------------------------------------------------------------

    @staticmethod
    def _blas(group: _Rows, doubles: str, singles: str) -> _Column:
        """The itemsize that a function of BLAS's works on; other functions are refused."""
        function, double, single = group["function"], blas_number(doubles), blas_number(singles)
        is_double = function == double
        group.need(is_double | (function == single), "function", f"That is neither {doubles} nor {singles}")
        return np.where(is_double, itemsizes(double)[0], itemsizes(single)[0])

    def _gemm(self, group: _Rows) -> None:
        size = self._blas(group, "dgemm", "sgemm")
        batch = group.need_between("batch", 0, _MOST)
        # BLAS reads 32 bits of them.
        m, n = group.need_between("m", 1, _MOST_INT32), group.need_between("n", 1, _MOST_INT32)
        k = group.need_between("k", 0, _MOST_INT32)
        letters = group.need_one_of("transposed", [a | b << 8 for a in (_N, _T) for b in (_N, _T)])
        touched = []
        for matrix, rows, columns, is_turned in (
            ("a", m, k, letters & 0xFF == _T),
            ("b", k, n, letters >> 8 == _T),
            ("c", m, n, np.zeros(len(group), bool)),
        ):
            height, width = np.where(is_turned, (columns, rows), (rows, columns))
            leading = group.need_between(f"ld{matrix}", np.maximum(height, 1), _MOST_INT32)
            part = np.where(height * width > 0, ((width - 1.0) * leading + height) * size, 0)
            step = group[f"stride_{matrix}"]
            if matrix == "c":
                self._need_spread(group, "stride_c", step, part)
            touched.append(self._run(group, matrix, size, batch, step, part, is_written=matrix == "c"))
        for factor in touched[:2]:
            self._keep_apart(group, "c", touched[2], factor)

    def _gesv(self, group: _Rows) -> None:
        size = self._blas(group, "dgesv", "sgesv")
        n = group.need_between("n", 1, _MOST_INT32)
        columns = group.need_between("columns", 0, _MOST_INT32)
        a = self._run(group, "a", size, n * n.astype(float), is_written=True)
        x = self._run(group, "x", size, n * columns.astype(float), is_written=True)
        # LAPACK takes from the pivots which rows to exchange: nothing else may write there.
        pivots = self._run(group, "pivots", 4, n, is_written=True)
        self._keep_apart(group, "pivots", pivots, a)
        self._keep_apart(group, "pivots", pivots, x)
        self._keep_apart(group, "x", x, a)
