"""From a plan to the instruction array that the machine runs."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tape.kernels.folds import DTYPE_CODES, FOLDS
from tape.kernels.scalars import SCALARS
from tape.kernels.scans import SCANS
from tape.program.functions import blas_number, loop_number
from tape.program.instructions import ELEMENTWISE, Instruction
from tape.program.layouts import ALIGNMENT, Place, broadcast_strides, c_strides, collapsed
from tape.program.opcodes import FIELDS, REGISTERS, WIDTH, opcode, packed
from tape.program.pause import collector_paused
from tape.program.plan import Plan, Step

__all__ = ["Encoded", "encode"]

_TABLES = {opcode(name) for name in ("load", "store", "add_store")}
_ELEMENTWISE = frozenset({*ELEMENTWISE, "where", "cast"})
_SCALAR = opcode("scalar")
_ROWS = [struct.Struct(f"{length}q") for length in range(WIDTH + 1)]  # by how many numbers are in a row
_DOUBLE = np.dtype(np.float64)


@dataclass
class Encoded:
    """An instruction array.

    Attributes
    ----------
    code : numpy.ndarray
        int64: the rows, then the tables.
    rows : int
        How many rows.
    origins : list of int
        The instruction of the plan that each row belongs to.
    """

    code: np.ndarray
    rows: int
    origins: list[int]


@collector_paused()
def encode(plan: Plan) -> Encoded:
    """Encode a plan.

    Parameters
    ----------
    plan : Plan
        Complete; it learns how large the slot of registers must be for operands that are put in order.

    Returns
    -------
    Encoded
    """
    return _Encoder(plan).encode()


class _Encoder:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.rows: list[list[int]] = []
        self.origins: list[int] = []
        self.tables: list[int] = []
        self._known_tables: dict[tuple[int, ...], int] = {}
        self._addresses = [0 if place is None else packed(place.slot, place.offset) for place in plan.places]
        self._kinds: list[int] = [-1] * len(plan.places)
        self._known_kinds: dict[Any, int] = {}
        self._heads: dict[Any, list[int]] = {}
        self._spare = 0  # the next free byte of the registers
        self._width = 0  # of a register in the group that is being encoded

    def encode(self) -> Encoded:
        for step in self.plan.steps:
            self._step(step)
        count = len(self.rows)
        code = np.zeros(count * WIDTH + len(self.tables), np.int64)
        for k, row in enumerate(self.rows):
            if row[0] in _TABLES:
                row[4] += count * WIDTH
                row[5] += count * WIDTH
            _ROWS[len(row)].pack_into(code.data, 8 * k * WIDTH, *row)
        code[count * WIDTH :] = self.tables
        return Encoded(code, count, self.origins)

    def _step(self, step: Step) -> None:
        instructions = self.plan.instructions
        if not step.block:
            (id,) = step.members
            instruction = instructions[id]
            self._origin = id
            self._spare = self._width = 0
            if instruction.op in _ELEMENTWISE:
                self._elementwise(id, instruction, {})
            else:
                getattr(self, f"_{instruction.op}")(id, instruction)
            return
        first = step.members[0]
        self._origin = first
        self._spare = self.plan.scalars[first]
        self._width = 8 * step.block + ALIGNMENT - (8 * step.block) % ALIGNMENT
        head = len(self.rows)
        size = instructions[first].size
        self._emit("blocks", rows=0, count=size, block=step.block)
        loaded: dict[int, Place] = {}
        for id in step.members:
            self._origin = id
            if instructions[id].op == "copy":
                self._copy_in_blocks(id, instructions[id], loaded)
            else:
                self._elementwise(id, instructions[id], loaded)
        self.rows[head][1] = len(self.rows) - head - 1

    # ---- rows ----------------------------------------------------------------------------------------

    def _emit(self, name: str, **fields: int) -> None:
        self.rows.append([opcode(name), *[fields[key] for key in FIELDS[name]]])
        self.origins.append(self._origin)

    def _table(self, numbers: Sequence[int]) -> int:
        key = tuple(numbers)
        at = self._known_tables.get(key)
        if at is None:
            at = self._known_tables[key] = len(self.tables)
            self.tables += key
        return at

    def _place(self, id: int) -> Place:
        place = self.plan.places[id]
        assert place is not None
        return place

    def _at(self, id: int) -> int:
        return self._addresses[id]

    # ---- elementwise -----------------------------------------------------------------------------------

    def _elementwise(self, id: int, instruction: Instruction, loaded: dict[int, Place]) -> None:
        """One row, for most instructions the same as for another one but for the addresses at its end."""
        kinds, addresses = self._kinds, self._addresses
        operands = instruction.operands
        key = (instruction.op, *[kinds[x] if kinds[x] >= 0 else self._kind(x) for x in (id, *operands)])
        head = self._heads.get(key)
        if head is not None:
            self.rows.append(head + [addresses[x] for x in operands] + [addresses[id]])
            self.origins.append(self._origin)
            return
        count = len(self.rows)
        self._worked_out(id, instruction, loaded)
        if len(self.rows) == count + 1:
            row, tail = self.rows[count], [addresses[x] for x in (*operands, id)]
            is_as_it_is = row[0] != _SCALAR or len(operands) == 2  # one operand stands there twice
            if is_as_it_is and row[-len(tail) :] == tail:  # nothing had to be put in order
                self._heads[key] = row[: -len(tail)]

    def _kind(self, id: int) -> int:
        """A number for all values of one shape, dtype and order."""
        value, place = self.plan.instructions[id], self.plan.places[id]
        assert place is not None
        slot, _, strides = place
        key = (value.shape, value.dtype, strides, slot == REGISTERS)
        kind = self._kinds[id] = self._known_kinds.setdefault(key, len(self._known_kinds))
        return kind

    def _worked_out(self, id: int, instruction: Instruction, loaded: dict[int, Place]) -> None:
        """The row of an elementwise instruction, and what must come before it."""
        out = self._at(id)
        count = instruction.size
        if not count:
            return
        if count == 1 and self._scalar(instruction, out):
            return
        operands = [self._operand(x, instruction, loaded) for x in instruction.operands]
        width = instruction.dtype.itemsize
        if instruction.op == "cast":
            source = self.plan.instructions[instruction.operands[0]].dtype
            self._emit(
                "cast", **{"from": DTYPE_CODES[source]}, count=count, to=DTYPE_CODES[instruction.dtype],
                x=operands[0][0], out=out,
            )  # fmt: skip
        elif instruction.op == "where":
            condition, x, y = operands
            if condition[1] == 0 and count > 1:
                condition = self._spread(instruction.operands[0], instruction, loaded)
            self._emit(
                "select", itemsize=width, count=count, stride_x=x[1], stride_y=y[1],
                condition=condition[0], x=x[0], y=y[0], out=out,
            )  # fmt: skip
        else:
            dtypes = [self.plan.instructions[x].dtype for x in instruction.operands]
            number = loop_number(instruction.op, (*dtypes, instruction.dtype))
            assert number is not None
            if len(operands) == 1:
                (x,) = operands
                self._emit(
                    "unary", function=number, count=count, stride_x=x[1], stride_out=width, x=x[0], out=out
                )
            else:
                x, y = operands
                self._emit(
                    "binary", function=number, count=count, stride_x=x[1], stride_y=y[1], stride_out=width,
                    x=x[0], y=y[0], out=out,
                )  # fmt: skip

    def _scalar(self, instruction: Instruction, out: int) -> bool:
        """A single double: no loop needed."""
        kind = SCALARS.get(instruction.op)
        if kind is None or instruction.dtype != _DOUBLE:
            return False
        operands = [self._at(x) for x in instruction.operands]
        self._emit("scalar", kind=kind, x=operands[0], y=operands[-1], out=out)
        return True

    def _operand(self, id: int, reader: Instruction, loaded: dict[int, Place]) -> tuple[int, int]:
        """Where an elementwise instruction finds an operand, and the bytes from element to element."""
        source = self.plan.instructions[id]
        place = self._place(id)
        if place.slot == REGISTERS:
            return packed(place.slot, place.offset), source.dtype.itemsize
        if source.size == 1:
            return packed(place.slot, place.offset), 0
        strides = place.strides
        if source.shape != reader.shape:
            strides = broadcast_strides(source.shape, strides, reader.shape)
        lengths, steps = collapsed(reader.shape, strides)
        takes_steps = reader.op in ELEMENTWISE
        if len(lengths) == 1 and (takes_steps or steps[0] == source.dtype.itemsize):
            return packed(place.slot, place.offset), steps[0]
        return self._loaded(id, reader, loaded, lengths, steps)

    def _spread(self, id: int, reader: Instruction, loaded: dict[int, Place]) -> tuple[int, int]:
        """A single element repeated."""
        return self._loaded(id, reader, loaded, (reader.size,), (0,))

    def _loaded(
        self, id: int, reader: Instruction, loaded: dict[int, Place], lengths: Any, steps: Any
    ) -> tuple[int, int]:
        """An operand in the order of the result, in a register."""
        source = self.plan.instructions[id]
        width = source.dtype.itemsize
        register = loaded.get(id)
        if register is None:
            register = loaded[id] = Place(REGISTERS, self._spare, ())
            self._spare += self._width or _rounded(reader.size * width)
            if not self._width:
                slots = self.plan.slots
                slots[REGISTERS] = max(slots[REGISTERS], self._spare)
            self._load(id, reader.size, lengths, steps, packed(REGISTERS, register.offset))
        return packed(REGISTERS, register.offset), width

    def _load(self, id: int, count: int, lengths: Any, steps: Any, out: int) -> None:
        self._emit(
            "load", itemsize=self.plan.instructions[id].dtype.itemsize, count=count, ndim=len(lengths),
            lengths=self._table(lengths), strides=self._table(steps), x=self._at(id), out=out,
        )  # fmt: skip

    # ---- the rest ----------------------------------------------------------------------------------------

    def _copy(self, id: int, instruction: Instruction) -> None:
        self._copy_to(instruction.operands[0], instruction, self._at(id))

    def _copy_in_blocks(self, id: int, instruction: Instruction, loaded: dict[int, Place]) -> None:
        (source,) = instruction.operands
        lengths, steps = self._run_of(source, instruction)
        self._load(source, instruction.size, lengths, steps, self._at(id))

    def _run_of(self, source: int, instruction: Instruction) -> tuple[Any, Any]:
        strides = self._place(source).strides
        if self.plan.instructions[source].shape != instruction.shape:
            strides = broadcast_strides(self.plan.instructions[source].shape, strides, instruction.shape)
        lengths, steps = collapsed(instruction.shape, strides)
        return lengths or (1,), steps or (instruction.dtype.itemsize,)

    def _copy_to(self, source: int, instruction: Instruction, out: int) -> None:
        """Fill a result with an operand, repeated where that is smaller."""
        if not instruction.size or self._at(source) == out:
            return
        lengths, steps = self._run_of(source, instruction)
        width = instruction.dtype.itemsize
        if len(lengths) == 1 and (steps[0] == width or lengths[0] == 1):
            self._emit("copy", bytes=instruction.size * width, x=self._at(source), out=out)
        else:
            self._load(source, instruction.size, lengths, steps, out)

    def _fold(self, id: int, instruction: Instruction) -> None:
        (x,) = instruction.operands
        source = self.plan.instructions[x]
        if instruction.size:
            self._emit(
                "fold", kind=FOLDS[instruction.attrs[0]], dtype=DTYPE_CODES[source.dtype],
                **_lengths(source, instruction), x=self._at(x), out=self._at(id),
            )  # fmt: skip

    def _sum_product(self, id: int, instruction: Instruction) -> None:
        x, y = instruction.operands
        source = self.plan.instructions[x]
        if instruction.size:
            self._emit(
                "sum_product", dtype=DTYPE_CODES[source.dtype], **_lengths(source, instruction),
                x=self._at(x), y=self._at(y), out=self._at(id),
            )  # fmt: skip

    def _scan(self, id: int, instruction: Instruction) -> None:
        x, *factors = instruction.operands
        (kind, axis, is_backwards), shape = instruction.attrs, instruction.shape
        if instruction.size:
            self._emit(
                "scan", kind=SCANS[kind], dtype=DTYPE_CODES[instruction.dtype], before=prod(shape[:axis]),
                length=shape[axis], after=prod(shape[axis + 1 :]), backwards=int(is_backwards), x=self._at(x),
                y=self._at(factors[0] if factors else x), out=self._at(id),
            )  # fmt: skip

    def _matmul(self, id: int, instruction: Instruction) -> None:
        self._product(id, instruction, instruction.operands, 0.0)

    def _matmul_add(self, id: int, instruction: Instruction) -> None:
        total, *factors = instruction.operands
        self._copy_to(total, instruction, self._at(id))
        self._product(id, instruction, factors, 1.0)

    def _product(self, id: int, instruction: Instruction, factors: Sequence[int], beta: float) -> None:
        """A row-major product by BLAS: the transposes, in the other order."""
        a, b = factors
        width = instruction.dtype.itemsize
        rows, columns = instruction.shape[-2:]
        inner = self.plan.instructions[a].shape[-1]
        batch = instruction.size // (rows * columns)
        lda, a_turned = self._leading(a, width)
        ldb, b_turned = self._leading(b, width)
        alpha = instruction.attrs[0] if instruction.attrs else 1.0
        letters = [ord("T" if turned else "N") for turned in (b_turned, a_turned)]
        self._emit(
            "gemm", function=_lapack("gemm", width), batch=batch, m=columns, n=rows,
            k=inner, lda=ldb, ldb=lda, ldc=columns, transposed=letters[0] | letters[1] << 8,
            alpha=_bits(alpha, width), beta=_bits(beta, width),
            stride_a=self._batch_stride(b), stride_b=self._batch_stride(a), stride_c=rows * columns * width,
            a=self._at(b), b=self._at(a), c=self._at(id),
        )  # fmt: skip

    def _solve(self, id: int, instruction: Instruction) -> None:
        a, b = instruction.operands
        width = instruction.dtype.itemsize
        columns, n = instruction.shape[-2:]
        batch = instruction.size // (columns * n)
        down, right = self._place(a).strides[-2:]
        size = _rounded(batch * n * n * width)
        slots = self.plan.slots
        slots[REGISTERS] = max(slots[REGISTERS], size + _rounded(8 * n))
        matrices = (self._batch_stride(a), right, down)  # LAPACK's matrices are the transposes of NumPy's
        self._load(a, batch * n * n, (batch, n, n), matrices, packed(REGISTERS, 0))
        self._copy_to(b, instruction, self._at(id))
        self._emit(
            "gesv", function=_lapack("gesv", width), batch=batch, n=n, columns=columns, itemsize=width,
            a=packed(REGISTERS, 0), pivots=packed(REGISTERS, size), x=self._at(id),
        )  # fmt: skip

    def _cholesky(self, id: int, instruction: Instruction) -> None:
        (a,), (is_upper,) = instruction.operands, instruction.attrs
        width, n = instruction.dtype.itemsize, instruction.shape[-1]
        self._copy_to(a, instruction, self._at(id))
        self._emit(
            "potrf", function=_lapack("potrf", width), batch=instruction.size // n**2, n=n,
            letter=ord("L" if is_upper else "U"), itemsize=width, x=self._at(id),
        )  # fmt: skip

    def _triangular_solve(self, id: int, instruction: Instruction) -> None:
        """Each row is a column to BLAS, and a matrix its transpose, unless that lies turned."""
        a, b = instruction.operands
        is_lower, is_transposed, is_unit = instruction.attrs
        width = instruction.dtype.itemsize
        columns, n = instruction.shape[-2:]
        leading, is_turned = self._leading(a, width)
        letters = "L" + "UL"[is_lower == is_turned] + "TN"[is_transposed != is_turned] + "NU"[is_unit]
        self._copy_to(b, instruction, self._at(id))
        self._emit(
            "trsm", function=_lapack("trsm", width), batch=instruction.size // (columns * n), n=n,
            columns=columns, lda=leading, letters=int.from_bytes(letters.encode(), "little"),
            alpha=_bits(1.0, width), itemsize=width, stride_a=self._batch_stride(a), a=self._at(a),
            x=self._at(id),
        )  # fmt: skip

    def _batch_stride(self, id: int) -> int:
        strides = self._place(id).strides
        return strides[0] if len(strides) == 3 and self.plan.instructions[id].shape[0] > 1 else 0

    def _leading(self, id: int, width: int) -> tuple[int, bool]:
        """The leading dimension of a matrix, and whether its columns have no gaps rather than its rows."""
        rows, columns = self.plan.instructions[id].shape[-2:]
        down, right = self._place(id).strides[-2:]
        if rows == 1:
            return (columns, False) if right == width or columns == 1 else (right // width, True)
        if columns == 1:
            return (rows, True) if down == width else (down // width, False)
        return (down // width, False) if right == width else (right // width, True)

    def _take(self, id: int, instruction: Instruction) -> None:
        x, index = instruction.operands
        (axis,) = instruction.attrs
        shape = self.plan.instructions[x].shape
        if instruction.size:
            self._emit(
                "take", itemsize=instruction.dtype.itemsize, length=shape[axis], row=prod(shape[axis + 1 :]),
                count=self.plan.instructions[index].size, before=prod(shape[:axis]), x=self._at(x),
                index=self._at(index), out=self._at(id),
            )  # fmt: skip

    def _ravel_index(self, id: int, instruction: Instruction) -> None:
        lengths, wraps = instruction.attrs
        if not instruction.size:
            return
        for k, (x, length) in enumerate(zip(instruction.operands, lengths, strict=True)):
            so_far = self._at(id) if k else packed(0, 0)
            self._emit(
                "ravel_index", count=instruction.size, length=length, wraps=int(wraps) | (2 if k else 0),
                so_far=so_far if k else self._at(id), index=self._at(x), out=self._at(id),
            )  # fmt: skip

    def _add_at(self, id: int, instruction: Instruction) -> None:
        total, values, *index = instruction.operands
        self._copy_to(total, instruction, self._at(id))
        size = self.plan.instructions[values].size
        if not size:
            return
        width = instruction.dtype.itemsize
        dtype = DTYPE_CODES[instruction.dtype]
        if index:
            (axis,) = instruction.attrs
            shape = instruction.shape
            self._emit(
                "scatter_add", dtype=dtype, length=shape[axis], row=prod(shape[axis + 1 :]),
                count=self.plan.instructions[index[0]].size, before=prod(shape[:axis]), total=self._at(id),
                index=self._at(index[0]), x=self._at(values),
            )  # fmt: skip
            return
        starts, steps = instruction.attrs
        strides = c_strides(instruction.shape, width)
        offset = sum(start * stride for start, stride in zip(starts, strides, strict=True))
        inner = tuple([step * stride for step, stride in zip(steps, strides, strict=True)])
        self._write_view("add_store", dtype, values, id, offset, inner)

    def _concatenate(self, id: int, instruction: Instruction) -> None:
        (axis,) = instruction.attrs
        strides = c_strides(instruction.shape, instruction.dtype.itemsize)
        offset = 0
        for x in instruction.operands:
            self._write_view("store", instruction.dtype.itemsize, x, id, offset, strides)
            offset += self.plan.instructions[x].shape[axis] * strides[axis]

    def _write_view(self, name: str, kind: int, x: int, id: int, offset: int, strides: Any) -> None:
        """Write an operand to a part of the result."""
        source = self.plan.instructions[x]
        if not source.size:
            return
        lengths, steps = collapsed(source.shape, strides)
        place = self._place(id)
        fields: dict[str, int] = {"itemsize" if name == "store" else "dtype": kind}
        self._emit(
            name, **fields, count=source.size, ndim=len(lengths), lengths=self._table(lengths),
            strides=self._table(steps), x=self._at(x), out=packed(place.slot, place.offset + offset),
        )  # fmt: skip

    def _guard(self, id: int, instruction: Instruction) -> None:
        (x,) = instruction.operands
        guard = self.plan.guards[instruction.attrs[0]]
        self._emit(
            "guard", kind=int(guard.kind == "bool"), dtype=DTYPE_CODES[self.plan.instructions[x].dtype],
            expected=int(guard.outcome), x=self._at(x),
        )  # fmt: skip

    def _callback(self, id: int, instruction: Instruction) -> None:
        self._emit("callback", index=id)


def _lengths(source: Instruction, fold: Instruction) -> dict[str, int]:
    """How many elements there are before the axes that are summed, along them, and after them."""
    axes = fold.attrs[1]
    before, reduced = prod(source.shape[: axes[0]]), prod(source.shape[axes[0] : axes[-1] + 1])
    return {"before": before, "reduced": reduced, "after": prod(source.shape[axes[-1] + 1 :])}


def _lapack(name: str, width: int) -> int:
    """The number of a function of BLAS or LAPACK for elements of this many bytes."""
    return blas_number(("d" if width == 8 else "s") + name)


def _bits(number: float, width: int) -> int:
    """A float as the first bytes of an int64."""
    return int.from_bytes(struct.pack("<d" if width == 8 else "<f", number), "little", signed=width == 8)


def _rounded(size: int) -> int:
    return size + -size % ALIGNMENT
