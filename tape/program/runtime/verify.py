"""`verify`: proves that no row of a program touches memory outside its slots, whatever the array contains.

The machine checks nothing, so everything is checked here, before the first run: rows of one kind together,
each rule on whole columns of the instruction array. A compiled loop over the rows would be faster still, but
took six seconds to compile.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from tape import errors
from tape.kernels.convert import CAST_CODES, CAST_ITEMSIZES, has_cast
from tape.kernels.copies import COPY_ITEMSIZES
from tape.kernels.folds import DTYPE_CODES, FOLDS, has_fold
from tape.kernels.registry import REGISTRY, needs_of
from tape.kernels.scalars import SCALARS
from tape.kernels.scans import SCANS, has_scan
from tape.program.native.functions import (
    alignments,
    blas_number,
    called_number,
    gufunc_of,
    itemsizes,
    kernels_loaded,
    matmul_numbers,
)
from tape.program.native.gufuncs import GUFUNCS, require_lengths, size_of, strides_of
from tape.program.native.opcodes import (
    ARENA,
    BY_COUNT,
    BY_COUNT_BACK,
    BY_FLAG,
    FIELDS,
    LITERALS,
    OFFSET_BITS,
    REGISTERS,
    WIDTH,
    opcode,
)
from tape.program.plan.layouts import ALIGNMENT
from tape.program.plan.planner import Plan
from tape.program.runtime.extents import ADVICE, Claims, Column, Rows, Slot

_MOST = 2**48  # elements or bytes: more than any memory has
_MOST_INT32 = 2**31 - 1
_MOST_AXES = 64
_LITERAL_ALIGNMENT = 16

_NAMES = tuple(FIELDS)
_LAST_ELEMENTWISE = opcode("load")

_DTYPES: list[Any] = list(DTYPE_CODES)  # in the order of their codes
_ITEMSIZES = np.array([dtype.itemsize for dtype in _DTYPES])
_INT64 = np.dtype(np.int64).itemsize
_FOLDABLE = np.array([[has_fold(kind, dtype) for dtype in _DTYPES] for kind in FOLDS])
_MAY_FOLD_NOTHING = np.array([kind in ("sum", "prod", "any", "all") for kind in FOLDS])
_FINDS_POSITION = np.array([kind.startswith("arg") for kind in FOLDS])
_CASTABLE = np.array([[has_cast(source, target) for target in CAST_CODES] for source in CAST_CODES])
_COPIED = 4  # bytes that copies need elements to be aligned to: they move words wherever these are
_SCANNABLE = np.array([[has_scan(kind, dtype) for dtype in _DTYPES] for kind in SCANS])
_FLOATS = 1  # dtype codes up to here are those of float64 and float32
_N, _T = ord("N"), ord("T")
_LOOP = 13  # numbers in the table of a product by NumPy's loop
_ARGUMENTS = FIELDS["gufunc"][5:]
_STATES = ("state", "kept_state", "collected_state")
_STACK = 8  # numbers in the table of a stack of matrices
_TRIANGLES = [ord("U"), ord("L")]
_TRIANGULAR = [
    int.from_bytes(f"L{triangle}{turned}{diagonal}".encode(), "little")
    for triangle in "UL"
    for turned in "NT"
    for diagonal in "UN"
]


def slots_of(plan: Plan) -> list[Slot]:
    """Return the slots of a plan, as a run of its program provides them.

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


class Body(NamedTuple):
    """The slots of the body of a loop, which the loop binds in every step.

    Attributes
    ----------
    inputs, outputs : dict of int to Slot
        By number.
    """

    inputs: dict[int, Slot]
    outputs: dict[int, Slot]

    @classmethod
    def of(cls, plan: Plan) -> Body:
        """Return those of a plan."""
        slots = slots_of(plan)
        outputs = [number for k, number in enumerate(plan.output_slots) if k not in plan.donations]
        return cls(
            {number: slots[number] for number in plan.input_slots},
            {number: slots[number] for number in outputs},
        )


def verify(
    code: np.ndarray,
    rows: int,
    slots: Sequence[Slot],
    callbacks: Collection[int] = (),
    bodies: Sequence[Body] = (),
) -> None:
    """Raise unless a program stays in its memory.

    A program that passes reads and writes inside its slots, writes to no slot that is read-only, and
    terminates: memory limits how long a row runs.

    Parameters
    ----------
    code : numpy.ndarray
        int64, shape (numbers,): ``rows`` rows of `WIDTH` numbers, then tables.
    rows : int
        How many rows.
    slots : sequence of Slot
        By number.
    callbacks : collection of int
        Numbers that rows which call Python may have.
    bodies : sequence of Body
        Those of loops, by number: routines that have been verified.

    Raises
    ------
    ProgramError
        For the first flaw that is found, with row, field and reason.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.native.opcodes import WIDTH, opcode, packed
    >>> from tape.program.runtime.verify import Slot, verify
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
            f"a program of {rows} rows cannot be in {errors.describe(code)}: it takes an int64 array. "
            + ADVICE
        )
    _Verifier(code, rows, slots, callbacks, bodies).verify()


_known_loops = np.zeros((0, 7), np.int64)


def _loops() -> np.ndarray:
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


class _Verifier:
    def __init__(
        self,
        code: np.ndarray,
        rows: int,
        slots: Sequence[Slot],
        callbacks: Collection[int],
        bodies: Sequence[Body],
    ) -> None:
        self.code = code
        self.bodies = bodies
        self.loops: dict[int, tuple[int, Body]] = {}  # length and body, by each row that belongs to a loop
        self.rows = rows
        self.callbacks = np.array(sorted(callbacks), np.int64)
        self.claims = Claims(slots)
        self.elements = np.zeros(rows)
        self.near = np.zeros(rows)  # elements of a row's operands that are in registers: those of one block

    def verify(self) -> None:
        words = self.code[: self.rows * WIDTH].reshape(-1, WIDTH)
        kinds = words[:, 0]
        is_known = (kinds >= 0) & (kinds < len(_NAMES))
        if not is_known.all():
            row = int(np.argmin(is_known))
            raise errors.ProgramError(f"row {row}: no opcode {kinds[row]}. {ADVICE}")
        order = np.argsort(kinds, kind="stable")
        starts = np.searchsorted(kinds[order], range(len(_NAMES) + 1))
        columns = np.ascontiguousarray(words[order].T)
        groups = [
            Rows(name, order[start:stop], columns[:, start:stop])
            for name, start, stop in zip(_NAMES, starts[:-1], starts[1:], strict=True)
            if start < stop
        ]
        for group in groups:
            if opcode(group.name) <= _LAST_ELEMENTWISE:
                self.elements[group.numbers] = self.near[group.numbers] = group.between("count", 1, _MOST)
        for group in groups:
            if group.name in ("blocks", "loop"):
                getattr(self, f"_{group.name}")(group, words)
        for group in groups:
            if group.name not in ("blocks", "loop"):
                getattr(self, f"_{group.name}")(group)
        self.claims.check()

    # ---- elementwise ---------------------------------------------------------------------------------

    def _blocks(self, group: Rows, words: Column) -> None:
        kinds = words[:, 0]
        rows = group.between("rows", 0, self.rows - 1 - group.numbers)
        # A block may work in registers alone: no memory limits how long it runs.
        count = group.between("count", 1, self.claims.sizes.max(initial=0))
        block = group.between("block", 1, _MOST)
        group.between("portion", 1, _MOST)
        for k, at in enumerate(group.numbers + 1):
            inside = slice(at, at + rows[k])
            if (kinds[inside] > _LAST_ELEMENTWISE).any():
                group.refuse(k, "rows", "includes rows that are not elementwise")
            if (self.elements[inside] != count[k]).any():
                group.refuse(k, "count", f"is {count[k]}, but rows of the block have another count")
            self.near[inside] = min(count[k], block[k])

    def _count(self, group: Rows, field: str) -> Column:
        """Return the number of elements of an operand: a register holds those of one block."""
        is_register = group[field] >> OFFSET_BITS == REGISTERS
        return np.where(is_register, self.near[group.numbers], self.elements[group.numbers])

    def _ufunc(self, group: Rows, operands: str) -> None:
        loops = _loops()
        counts, *rest = loops[group.between("function", 0, len(loops) - 1)].T
        sizes, units = rest[:3], rest[3:]
        group.need(counts == len(operands.split()), "function", f"It is not a loop of a {group.name} row")
        for field, size, unit in zip(operands.split(), sizes, units, strict=False):
            step, is_out = group[f"stride_{field}"], field == "out"
            if is_out:
                self._need_spread(group, "stride_out", step, size)
            count = self._count(group, field)
            self.claims.add(group, field, unit, count, step=step, part=size, is_written=is_out)

    @staticmethod
    def _need_spread(group: Rows, field: str, step: Column, part: Any) -> None:
        """Check that results do not overlap: so memory limits how many there are, and how long a row runs."""
        group.need((step >= part) | (step <= -part), field, "Parts of the result overlap")

    def _unary(self, group: Rows) -> None:
        self._ufunc(group, "x out")

    def _binary(self, group: Rows) -> None:
        self._ufunc(group, "x y out")

    def _cast(self, group: Rows) -> None:
        first, last = (group.between(field, 0, len(CAST_ITEMSIZES) - 1) for field in ("from", "to"))
        group.need(_CASTABLE[first, last], "to", "No such conversion")
        source, target = CAST_ITEMSIZES[first], CAST_ITEMSIZES[last]
        self.claims.add(group, "x", source, self._count(group, "x"))
        self.claims.add(group, "out", target, self._count(group, "out"), is_written=True)

    def _select(self, group: Rows) -> None:
        size = group.one_of("itemsize", COPY_ITEMSIZES)
        unit = np.minimum(size, _COPIED)
        self.claims.add(group, "condition", 1, self._count(group, "condition"))
        for field in ("x", "y"):
            step = group[f"stride_{field}"]
            group.need((step == 0) | (step == size), f"stride_{field}", "It must be 0 or the itemsize")
            self.claims.add(group, field, unit, self._count(group, field), step=step, part=size)
        count = self._count(group, "out")
        self.claims.add(group, "out", unit, count, step=size, part=size, is_written=True)

    def _load(self, group: Rows) -> None:
        size = group.one_of("itemsize", COPY_ITEMSIZES)
        self._claim_part(group, "x", size)
        unit, count = np.minimum(size, _COPIED), self._count(group, "out")
        self.claims.add(group, "out", unit, count, step=size, part=size, is_written=True)

    # ---- parts of arrays -----------------------------------------------------------------------------

    def _claim_part(self, group: Rows, field: str, size: Column) -> None:
        """Claim the part of an array that a table describes."""
        count = group.between("count", 1, _MOST)
        ndim = group.between("ndim", 0, _MOST_AXES)
        tables = self.rows * WIDTH
        lengths = group.between("lengths", tables, len(self.code) - ndim)
        strides = group.between("strides", tables, len(self.code) - ndim)
        low, high, product = np.zeros(len(group)), np.zeros(len(group)), np.ones(len(group))
        for axis in range(ndim.max()):
            has_axis = axis < ndim
            length = np.where(has_axis, self.code[np.where(has_axis, lengths + axis, 0)], 1)
            step = np.where(has_axis, self.code[np.where(has_axis, strides + axis, 0)], 0)
            group.need(
                (length >= 1) & (length <= _MOST), "lengths", f"Length {axis} in the table is out of range"
            )
            group.need(
                step % np.minimum(size, _COPIED) == 0,  # complex numbers may be pairs out of longer rows
                "strides",
                f"Stride {axis} in the table is not a multiple of the itemsize",
            )
            group.need(
                (step >= -_MOST) & (step <= _MOST), "strides", f"Stride {axis} in the table is out of range"
            )
            reach = (length - 1.0) * step
            low, high, product = low + np.minimum(reach, 0), high + np.maximum(reach, 0), product * length
        group.need(product == count, "lengths", "The product of the lengths in the table is not the count")
        self.claims.add(
            group, field, np.minimum(size, _COPIED), part=size, low=low, high=high, is_written=field == "out"
        )

    def _store(self, group: Rows) -> None:
        self._put(group, group.one_of("itemsize", COPY_ITEMSIZES))

    def _add_store(self, group: Rows) -> None:
        self._put(group, _ITEMSIZES[group.between("dtype", 0, _FLOATS)])

    def _put(self, group: Rows, size: Column) -> None:
        self._claim_part(group, "out", size)
        self.claims.add(group, "x", np.minimum(size, _COPIED), group["count"], step=size, part=size)

    def _copy(self, group: Rows) -> None:
        size = group.between("bytes", 0, _MOST)
        self.claims.add(group, "x", 1, part=size)
        self.claims.add(group, "out", 1, part=size, is_written=True)

    # ---- numbers, folds, positions -------------------------------------------------------------------

    def _scalar(self, group: Rows) -> None:
        group.between("kind", 0, len(SCALARS) - 1)
        for field in ("x", "y", "out"):
            self.claims.add(group, field, 8, 1, is_written=field == "out")

    def _fold(self, group: Rows) -> None:
        kind = group.between("kind", 0, len(FOLDS) - 1)
        dtype = group.between("dtype", 0, len(_ITEMSIZES) - 1)
        group.need(_FOLDABLE[kind, dtype], "dtype", "No such reduction of this dtype")
        before = group.between("before", 1, _MOST)
        reduced = group.between("reduced", np.where(_MAY_FOLD_NOTHING[kind], 0, 1), _MOST)
        after = group.between("after", 1, _MOST)
        results, size = before * after.astype(float), _ITEMSIZES[dtype]
        self.claims.add(group, "x", size, results * reduced)
        self.claims.add(group, "out", np.where(_FINDS_POSITION[kind], _INT64, size), results, is_written=True)

    def _sum_product(self, group: Rows) -> None:
        size = _ITEMSIZES[group.between("dtype", 0, _FLOATS)]
        before, reduced = group.between("before", 1, _MOST), group.between("reduced", 0, _MOST)
        results = before * group.between("after", 1, _MOST).astype(float)
        self.claims.add(group, "x", size, results * reduced)
        self.claims.add(group, "y", size, results * reduced)
        self.claims.add(group, "out", size, results, is_written=True)

    def _numpy_fold(self, group: Rows) -> None:
        loops = _loops()
        counts, first, second, third, unit, *_ = loops[group.between("function", 0, len(loops) - 1)].T
        is_folding = (counts == 3) & (first == third) & (second == third)
        group.need(is_folding, "function", "It is no loop for two operands and a result of one dtype")
        size = group["itemsize"]
        group.need(size == first, "itemsize", "The function has another itemsize")
        least = np.where(group["start"] < 0, 1, 0)
        before, reduced = group.between("before", 1, _MOST), group.between("reduced", least, _MOST)
        results = before * group.between("after", 1, _MOST).astype(float)
        x = self.claims.add(group, "x", unit, results * reduced, step=size, part=size)
        out = self.claims.add(group, "out", unit, results, step=size, part=size, is_written=True)
        self.claims.keep_apart(out, x)

    def _scan(self, group: Rows) -> None:
        kind = group.between("kind", 0, len(SCANS) - 1)
        dtype = group.between("dtype", 0, len(_ITEMSIZES) - 1)
        group.need(_SCANNABLE[kind, dtype], "dtype", "No such scan of this dtype")
        group.between("backwards", 0, 1)
        elements = np.ones(len(group))
        for field in ("before", "length", "after"):
            elements = elements * group.between(field, 1, _MOST)
        for field in ("x", "y", "out"):
            self.claims.add(group, field, _ITEMSIZES[dtype], elements, is_written=field == "out")

    def _take(self, group: Rows) -> None:
        size = group.one_of("itemsize", COPY_ITEMSIZES)
        whole, chosen = self._indexed(group)
        unit = np.minimum(size, _COPIED)
        self.claims.add(group, "x", unit, whole, step=size, part=size)
        out = self.claims.add(group, "out", unit, chosen, step=size, part=size, is_written=True)
        self.claims.keep_apart(out, self.claims.add(group, "index", _INT64, group["count"]))

    def _scatter_add(self, group: Rows) -> None:
        size = _ITEMSIZES[group.between("dtype", 0, _FLOATS)]
        whole, chosen = self._indexed(group)
        self.claims.add(group, "x", size, chosen)
        total = self.claims.add(group, "total", size, whole, is_written=True)
        self.claims.keep_apart(total, self.claims.add(group, "index", _INT64, group["count"]))

    @staticmethod
    def _indexed(group: Rows) -> tuple[Column, Column]:
        """Return the number of elements of the array that is indexed, and of those that are taken from it."""
        length = group.between("length", 0, _MOST)
        row = group.between("row", 1, _MOST)
        count = group.between("count", 1, _MOST)
        rows = row * group.between("before", 1, _MOST).astype(float)
        return rows * length, rows * count

    def _ravel_index(self, group: Rows) -> None:
        count = group.between("count", 1, _MOST)
        group.between("length", 0, _MOST)
        group.between("wraps", 0, 3)
        for field in ("so_far", "index", "out"):
            self.claims.add(group, field, _INT64, count, is_written=field == "out")

    def _guard(self, group: Rows) -> None:
        group.between("kind", 0, 1)
        self.claims.add(group, "x", _ITEMSIZES[group.between("dtype", 0, len(_ITEMSIZES) - 1)], 1)

    def _callback(self, group: Rows) -> None:
        group.need(np.isin(group["index"], self.callbacks), "index", "It is not a callback")

    def _pause(self, group: Rows) -> None:
        """Accept a pause, which touches no memory."""

    def _kernel(self, group: Rows) -> None:
        loaded = kernels_loaded()
        group.need(np.isin(group["kernel"], list(loaded)), "kernel", "It is not a kernel that is loaded")
        names = [loaded[number] for number in group["kernel"].tolist()]
        dtypes = group.between("dtype", 0, len(_DTYPES) - 1)
        size = _ITEMSIZES[dtypes]
        counts = np.array([sum(REGISTRY[name].parameters.values()) for name in names])
        tables = group.between("parameters", self.rows * WIDTH, len(self.code) - counts)
        fields = ("out", "x", "y", "z")
        elements, units = np.zeros((len(fields), len(group))), np.tile(size, (len(fields), 1))
        for k, name in enumerate(names):
            entry, parameters = REGISTRY[name], self.code[tables[k] : tables[k] + counts[k]]
            try:
                needs = needs_of(name, tuple(parameters.tolist()))
            except ValueError as error:
                group.refuse(k, "parameters", f"does not fit {name}: {error}")
            if needs.workspace * size[k] > self.claims.sizes[REGISTERS]:
                group.refuse(k, "parameters", "needs a larger workspace than the registers have")
            if dtypes[k] not in entry.dtypes:
                group.refuse(k, "dtype", f"is none that {name} takes")
            blas = called_number(entry, _DTYPES[dtypes[k]])
            for field, wanted in (("blas", blas), ("tasks", needs.tasks)):
                if group[field][k] != wanted:
                    group.refuse(k, field, f"is {group[field][k]}, but {name} needs {wanted}")
            elements[: 1 + len(needs.operands), k] = needs.out, *needs.operands
            units[[1 + operand for operand in entry.indices], k] = _INT64
            if entry.finds:
                units[0, k] = _INT64
        group.between("threads", 1, group["tasks"])
        group.between("portion", 1, group["tasks"])
        for field in fields:
            is_apart = group[field] >> OFFSET_BITS != REGISTERS
            group.need(is_apart, field, "It is in the registers, which hold the workspace")
        out, *operands = [
            self.claims.add(group, field, units[k], elements[k], is_written=k == 0)
            for k, field in enumerate(fields)
        ]
        for operand in operands:
            self.claims.keep_apart(out, operand)

    # ---- loops ---------------------------------------------------------------------------------------

    def _loop(self, group: Rows, words: Column) -> None:
        numbers = group.between("body", 0, len(self.bodies) - 1)
        lengths = group.between("length", 0, _MOST)
        group.between("portion", 1, _MOST)
        left = self.rows - 1 - group.numbers
        bindings = group.between("bindings", 0, left)
        states = group.between("states", 0, left - bindings)
        ends = group.between("ends", 0, BY_COUNT_BACK)
        self.claims.add(group, "x", 8, (ends == BY_COUNT) | (ends == BY_COUNT_BACK))
        for k, at in enumerate(group.numbers):
            body = self.bodies[numbers[k]]
            middle, stop = at + 1 + bindings[k], at + 1 + bindings[k] + states[k]
            bound = []
            for row in range(at + 1, stop):
                self.loops[row] = (int(lengths[k]), body)
                name = _NAMES[words[row, 0]]
                if name not in (("binding", "stacking") if row < middle else _STATES):
                    group.refuse(k, "bindings", f"is followed by a row of {name}")
                slots = sum(field.startswith("slot") for field in FIELDS[name])
                bound += [int(number) for number in words[row, 1 : 1 + slots]]
            if sorted(bound) != sorted([*body.inputs, *body.outputs]):
                group.refuse(k, "bindings", "does not bind each slot of the body once")
            if ends[k] == BY_FLAG and not (states[k] and self._size_of_state(words[middle]) == 1):
                group.refuse(k, "ends", "is by the first state, which is not a bool")

    @staticmethod
    def _size_of_state(word: Column) -> int:
        return int(word[1 + FIELDS[_NAMES[word[0]]].index("bytes")])

    def _bound(
        self, group: Rows, field: str, *, is_written: bool, is_kept: bool = False
    ) -> tuple[Column, Column]:
        """Return the alignments of the slots of a body that are bound, and the lengths of the loops.

        A step writes to slots of outputs, and of inputs if these are the place of a state that is kept.
        """
        group.between("bytes", 0, _MOST)  # slots of 0 bytes leave that open
        alignments, lengths = np.ones(len(group), np.int64), np.zeros(len(group))
        for k, row in enumerate(group.numbers):
            if row not in self.loops:
                group.refuse(k, field, "belongs to no loop")
            lengths[k], body = self.loops[row]
            slot = (body.outputs if is_written else body.inputs).get(int(group[field][k]))
            if slot is None or (slot.size and slot.size != group["bytes"][k]):  # of 0 bytes, it is not read
                group.refuse(k, field, "is no slot of so many bytes, of this kind, of the body")
            assert slot is not None
            if slot.size and slot.is_writable != (is_written or is_kept):
                group.refuse(k, field, "is a slot that steps write to, or not, and should not, or should")
            alignments[k] = slot.alignment if slot.size else 1
        return alignments, lengths

    def _binding(self, group: Rows) -> None:
        units, lengths = self._bound(group, "slot", is_written=False)
        step, size = group.between("step", -_MOST, _MOST), group["bytes"]
        self.claims.add(group, "x", units, lengths, step=step, part=size)

    def _stacking(self, group: Rows) -> None:
        units, lengths = self._bound(group, "slot", is_written=True)
        step, size = group.between("step", -_MOST, _MOST), group["bytes"]
        self._need_spread(group, "step", step, size)
        self.claims.add(group, "out", units, lengths, step=step, part=size, is_written=True)

    def _state(self, group: Rows) -> None:
        units, _ = self._bound(group, "slot_out", is_written=True)
        readable, _ = self._bound(group, "slot_in", is_written=False)
        units, size = np.maximum(units, readable), group["bytes"]
        first = self.claims.add(group, "first", units, part=size)
        out = self.claims.add(group, "out", units, part=size, is_written=True)
        spare = self.claims.add(group, "spare", units, part=size, is_written=True)
        for other in (first, spare):
            self.claims.keep_apart(out, other)
        self.claims.keep_apart(spare, first)

    def _kept_state(self, group: Rows) -> None:
        units, _ = self._bound(group, "slot_in", is_written=False, is_kept=True)
        size = group.between("bytes", 0, _MOST)
        first = self.claims.add(group, "first", units, part=size)
        out = self.claims.add(group, "out", units, part=size, is_written=True)
        self.claims.keep_apart(out, first)

    def _collected_state(self, group: Rows) -> None:
        units, lengths = self._bound(group, "slot_out", is_written=True)
        readable, _ = self._bound(group, "slot_in", is_written=False)
        units, size = np.maximum(units, readable), group.between("bytes", 0, _MOST)
        group.between("before", 0, 1)
        step = group.between("step", -_MOST, _MOST)
        self._need_spread(group, "step", step, size)
        first = self.claims.add(group, "first", units, part=size)
        out = self.claims.add(group, "out", units, part=size, is_written=True)
        array = self.claims.add(group, "array", units, lengths, step=step, part=size, is_written=True)
        self.claims.keep_apart(out, first)
        self.claims.keep_apart(array, first)
        self.claims.keep_apart(array, out)

    # ---- BLAS and LAPACK -----------------------------------------------------------------------------

    @staticmethod
    def _blas(group: Rows, doubles: str, singles: str) -> Column:
        """Return the itemsize of a function of BLAS, which must be one of these two."""
        function, double, single = group["function"], blas_number(doubles), blas_number(singles)
        is_double = function == double
        group.need(is_double | (function == single), "function", f"It is neither {doubles} nor {singles}")
        size = np.where(is_double, itemsizes(double)[0], itemsizes(single)[0])
        if "itemsize" in FIELDS[group.name]:
            group.need(group["itemsize"] == size, "itemsize", "The function has another itemsize")
        return size

    def _gemm(self, group: Rows) -> None:
        size = self._blas(group, "dgemm", "sgemm")
        # BLAS reads 32 bits of them.
        m, n = group.between("m", 1, _MOST_INT32), group.between("n", 1, _MOST_INT32)
        k = group.between("k", 0, _MOST_INT32)
        letters = group.one_of("transposed", [a | b << 8 for a in (_N, _T) for b in (_N, _T)])
        at = group.between("stack", self.rows * WIDTH, len(self.code) - _STACK)
        outer, inner, *strides = (self.code[at + i] for i in range(_STACK))
        for count in (outer, inner):
            group.need((count >= 1) & (count <= _MOST), "stack", "A length in the table is out of range")
        # Each element of a result takes memory, which limits how long a row runs.
        elements = outer * inner.astype(float) * m * n
        group.need(elements * size <= self.claims.sizes.max(initial=0), "stack", "It has too many matrices")
        touched = []
        for matrix, rows, columns, is_turned, steps in (
            ("a", m, k, letters & 0xFF == _T, strides[:2]),
            ("b", k, n, letters >> 8 == _T, strides[2:4]),
            ("c", m, n, np.zeros(len(group), bool), strides[4:]),
        ):
            height, width = np.where(is_turned, (columns, rows), (rows, columns))
            leading = group.between(f"ld{matrix}", np.maximum(height, 1), _MOST_INT32)
            part = np.where(height * width > 0, ((width - 1.0) * leading + height) * size, 0)
            low = high = np.zeros(len(group))
            for count, step in zip((outer, inner), steps, strict=True):
                is_stride = (step >= -_MOST) & (step <= _MOST) & (step % size == 0)
                group.need(
                    is_stride,
                    "stack",
                    f"A stride of {matrix} in the table is out of range, or not a multiple of the itemsize",
                )
                reach = (count - 1.0) * step
                low, high = low + np.minimum(reach, 0), high + np.maximum(reach, 0)
            touched.append(
                self.claims.add(group, matrix, size, part=part, low=low, high=high, is_written=matrix == "c")
            )
        for factor in touched[:2]:
            self.claims.keep_apart(touched[2], factor)

    def _numpy_matmul(self, group: Rows) -> None:
        functions = group.one_of("function", matmul_numbers() or [-1])
        size, unit = (np.array([of(number)[0] for number in functions]) for of in (itemsizes, alignments))
        at = group.between("stack", self.rows * WIDTH, len(self.code) - _LOOP)
        count, m, k, n, *strides = (self.code[at + i] for i in range(_LOOP))
        for length in (count, m, k, n):
            group.need(
                (length >= 1) & (length <= _MOST_INT32), "stack", "A length in the table is out of range"
            )
        # Each element of a result takes memory, which limits how long a row runs.
        elements = count * m.astype(float) * n
        group.need(elements * size <= self.claims.sizes.max(initial=0), "stack", "It has too many matrices")
        dense = (np.where(count > 1, m * n * size, 0), n * size, size)
        touched = []
        for field, lengths, steps in (
            ("a", (count, m, k), (strides[0], strides[3], strides[4])),
            ("b", (count, k, n), (strides[1], strides[5], strides[6])),
            ("out", (count, m, n), (strides[2], strides[7], strides[8])),
        ):
            low = high = np.zeros(len(group))
            for length, step, wanted in zip(lengths, steps, dense, strict=True):
                is_stride = (step >= -_MOST) & (step <= _MOST) & (step % size == 0)
                if field == "out":
                    is_stride = is_stride & ((step == wanted) | (length == 1))
                group.need(is_stride, "stack", f"A stride of {field} in the table is none that it may have")
                reach = (length - 1.0) * step
                low, high = low + np.minimum(reach, 0), high + np.maximum(reach, 0)
            touched.append(
                self.claims.add(group, field, unit, part=size, low=low, high=high, is_written=field == "out")
            )
        for factor in touched[:2]:
            self.claims.keep_apart(touched[2], factor)

    def _gufunc(self, group: Rows) -> None:
        for number in np.unique(group["function"]).tolist():
            rows = group.where(group["function"] == number)
            found = gufunc_of(number)
            if found is None:
                rows.refuse(0, "function", f"is {number}, which is no generalised ufunc")
            self._calls(rows, *found)

    def _calls(self, group: Rows, name: str, types: str) -> None:
        """Claim the memory of rows that call the same loop."""
        of, chars = GUFUNCS[name], types.replace("->", "")
        cores = [*of.operands, *of.results]
        group.one_of("arguments", [len(cores)])
        group.one_of("stops", [int(of.failure is not None)])
        inner = sum(map(len, cores))
        first, last = self.rows * WIDTH, len(self.code)
        at = group.between("lengths", first, last - 1 - len(of.dimensions))
        steps_at = group.between("strides", first, last - len(cores) - inner)
        counts, sizes, steps = np.zeros(len(group)), *np.zeros((2, len(cores), len(group)))
        for k in range(len(group)):
            counts[k], *lengths = self.code[at[k] : at[k] + 1 + len(of.dimensions)].tolist()
            strides = self.code[steps_at[k] : steps_at[k] + len(cores) + inner].tolist()
            by_name = dict(zip(of.dimensions, lengths, strict=True))
            try:
                require_lengths(of, by_name)
            except ValueError as error:
                group.refuse(k, "lengths", f"does not fit: {error}")
            if strides != strides_of(name, types, by_name, [step != 0 for step in strides[: len(cores)]]):
                group.refuse(k, "strides", "is not of arrays in C order without gaps")
            for x, core in enumerate(cores):
                sizes[x, k] = size_of(core, by_name) * np.dtype(chars[x]).itemsize
                steps[x, k] = strides[x]
        group.need((counts >= 1) & (counts <= _MOST), "lengths", "It begins with no number of matrices")
        claims, written = [], []
        for x, field in enumerate(_ARGUMENTS[: len(cores)]):
            if is_written := x >= len(of.operands) or (of.overwrites and not x):
                group.need((counts == 1) | (steps[x] != 0), "strides", "All matrices have the same result")
                written.append(x)
            claims.append(
                self.claims.add(
                    group, field, np.dtype(chars[x]).alignment, counts,
                    step=steps[x], part=sizes[x], is_written=is_written,
                )
            )  # fmt: skip
        for x in written:
            for other in claims[:x] + claims[x + 1 :]:
                self.claims.keep_apart(claims[x], other)

    def _systems(self, group: Rows, doubles: str, singles: str) -> tuple[Column, Column, Column]:
        """Return the itemsize, the number of matrices, and the number of rows of each."""
        size = self._blas(group, doubles, singles)
        return size, group.between("batch", 1, _MOST), group.between("n", 1, _MOST_INT32)

    def _gesv(self, group: Rows) -> None:
        size, batch, n = self._systems(group, "dgesv", "sgesv")
        row = batch * n.astype(float)
        columns = group.between("columns", 0, _MOST_INT32)
        a = self.claims.add(group, "a", size, row * n, is_written=True)
        x = self.claims.add(group, "x", size, row * columns, is_written=True)
        # LAPACK takes from the pivots which rows to exchange: nothing else may write there.
        pivots = self.claims.add(group, "pivots", _INT64, n, is_written=True)
        self.claims.keep_apart(pivots, a)
        self.claims.keep_apart(pivots, x)
        self.claims.keep_apart(x, a)

    def _potrf(self, group: Rows) -> None:
        size, batch, n = self._systems(group, "dpotrf", "spotrf")
        group.one_of("letter", _TRIANGLES)
        self.claims.add(group, "x", size, batch * n.astype(float) * n, is_written=True)

    def _trsm(self, group: Rows) -> None:
        size, batch, n = self._systems(group, "dtrsm", "strsm")
        columns = group.between("columns", 1, _MOST_INT32)
        leading = group.between("lda", n, _MOST_INT32)
        group.one_of("letters", _TRIANGULAR)
        part = ((n - 1.0) * leading + n) * size
        a = self.claims.add(group, "a", size, batch, step=group["stride_a"], part=part)
        x = self.claims.add(group, "x", size, batch * n.astype(float) * columns, is_written=True)
        self.claims.keep_apart(x, a)
