"""Encoders of instructions on whole arrays: reductions, scans, indexing, joining, kernels, branches."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tape.kernels.codes import DTYPE_CODES, FOLDS, SCANS
from tape.kernels.registry import REGISTRY, needs_of
from tape.program.ir.conversions import PARTS
from tape.program.ir.instructions import Instruction
from tape.program.native.functions import called_number, fold_number, kernel_number
from tape.program.native.opcodes import ARENA, packed, worth_of
from tape.program.plan.layouts import c_strides
from tape.program.plan.numbers import is_short_sum
from tape.program.runtime.encode_numbers import add_up
from tape.program.runtime.pauses import nanoseconds, portion
from tape.program.runtime.writer import Writer

__all__ = [
    "add_at",
    "callback",
    "concatenate",
    "copy",
    "fold",
    "guard",
    "kernel",
    "numpy_fold",
    "pair_at",
    "put",
    "ravel_index",
    "require",
    "scan",
    "sum_product",
    "take",
]


def copy(w: Writer, id: int, instruction: Instruction) -> None:
    """Copy a value into C order."""
    w.copy_to(instruction.operands[0], instruction, w.at(id))


def fold(w: Writer, id: int, instruction: Instruction) -> None:
    """Reduce."""
    (x,) = instruction.operands
    source = w.plan.instructions[x]
    if is_short_sum(instruction, w.plan.instructions):
        add_up(w, id, instruction, **_lengths(source, instruction.attrs[1]))
    elif instruction.size:
        w.emit(
            "fold", kind=FOLDS[instruction.attrs[0]], dtype=DTYPE_CODES[source.dtype],
            **_lengths(source, instruction.attrs[1]), x=w.at(x), out=w.at(id),
        )  # fmt: skip


def sum_product(w: Writer, id: int, instruction: Instruction) -> None:
    """Sum a product."""
    x, y = instruction.operands
    source = w.plan.instructions[x]
    if is_short_sum(instruction, w.plan.instructions):
        add_up(w, id, instruction, **_lengths(source, instruction.attrs[1]))
    elif instruction.size:
        w.emit(
            "sum_product", dtype=DTYPE_CODES[source.dtype], **_lengths(source, instruction.attrs[1]),
            x=w.at(x), y=w.at(y), out=w.at(id),
        )  # fmt: skip


def numpy_fold(w: Writer, id: int, instruction: Instruction) -> None:
    """Reduce in NumPy's order."""
    (x,), (kind, axes) = instruction.operands, instruction.attrs
    dtype = instruction.dtype
    start = -1
    if kind in ("sum", "prod"):
        part = PARTS.get(dtype, dtype).type(kind == "prod")
        start = int.from_bytes(part.tobytes(), "little")
    if instruction.size:
        function = fold_number(kind, dtype)
        assert function is not None
        w.emit(
            "numpy_fold", function=function, **_lengths(w.plan.instructions[x], axes),
            itemsize=dtype.itemsize, start=start, x=w.at(x), out=w.at(id),
        )  # fmt: skip


def scan(w: Writer, id: int, instruction: Instruction) -> None:
    """Accumulate along an axis."""
    x, *factors = instruction.operands
    (kind, axis, is_backwards), shape = instruction.attrs, instruction.shape
    if instruction.size:
        w.emit(
            "scan", kind=SCANS[kind], dtype=DTYPE_CODES[instruction.dtype], before=prod(shape[:axis]),
            length=shape[axis], after=prod(shape[axis + 1 :]), backwards=int(is_backwards), x=w.at(x),
            y=w.at(factors[0] if factors else x), out=w.at(id),
        )  # fmt: skip


def take(w: Writer, id: int, instruction: Instruction) -> None:
    """Take elements by index."""
    x, index = instruction.operands
    (axis,) = instruction.attrs
    shape = w.plan.instructions[x].shape
    if instruction.size:
        w.emit(
            "take", itemsize=instruction.dtype.itemsize, length=shape[axis], row=prod(shape[axis + 1 :]),
            count=w.plan.instructions[index].size, before=prod(shape[:axis]), x=w.at(x),
            index=w.at(index), out=w.at(id),
        )  # fmt: skip


def ravel_index(w: Writer, id: int, instruction: Instruction) -> None:
    """Combine one index of each axis into one, axis after axis."""
    lengths, wraps = instruction.attrs
    if not instruction.size:
        return
    for k, (x, length) in enumerate(zip(instruction.operands, lengths, strict=True)):
        so_far = w.at(id) if k else packed(0, 0)
        w.emit(
            "ravel_index", count=instruction.size, length=length, wraps=int(wraps) | (2 if k else 0),
            so_far=so_far if k else w.at(id), index=w.at(x), out=w.at(id),
        )  # fmt: skip


def add_at(w: Writer, id: int, instruction: Instruction) -> None:
    """Add values to a part, or by index."""
    total, values, *index = instruction.operands
    w.copy_to(total, instruction, w.at(id))
    size = w.plan.instructions[values].size
    if not size:
        return
    dtype = DTYPE_CODES[instruction.dtype]
    if index:
        (axis,) = instruction.attrs
        shape = instruction.shape
        w.emit(
            "scatter_add", dtype=dtype, length=shape[axis], row=prod(shape[axis + 1 :]),
            count=w.plan.instructions[index[0]].size, before=prod(shape[:axis]), total=w.at(id),
            index=w.at(index[0]), x=w.at(values),
        )  # fmt: skip
        return
    w.write_view("add_store", dtype, values, id, *_part(instruction.attrs, instruction))


def pair_at(w: Writer, id: int, instruction: Instruction) -> None:
    """Add what an operation gives to a part, which lies side by side."""
    total, *others = instruction.operands
    first, *place = instruction.attrs
    w.copy_to(total, instruction, w.at(id))
    sizes, width = [w.plan.instructions[x].size for x in others], instruction.dtype.itemsize
    operands = [(w.at(x), width if size > 1 else 0) for x, size in zip(others, sizes, strict=True)]
    slot, start, _ = w.place(id)
    part = packed(slot, start + _part(place, instruction)[0])
    w.pair((first, "add"), width, max(sizes), [*operands, (part, width)], part)


def put(w: Writer, id: int, instruction: Instruction) -> None:
    """Write values to a part."""
    total, values = instruction.operands
    w.copy_to(total, instruction, w.at(id))
    w.write_view("store", instruction.dtype.itemsize, values, id, *_part(instruction.attrs, instruction))


def _part(place: Sequence[Any], instruction: Instruction) -> tuple[int, tuple[int, ...]]:
    """Return the offset in bytes of a part of a result, and its strides."""
    starts, steps = place
    strides = c_strides(instruction.shape, instruction.dtype.itemsize)
    offset = sum(start * stride for start, stride in zip(starts, strides, strict=True))
    return offset, tuple([step * stride for step, stride in zip(steps, strides, strict=True)])


def concatenate(w: Writer, id: int, instruction: Instruction) -> None:
    """Write one operand after the other."""
    (axis,) = instruction.attrs
    slot, start, strides = w.place(id)
    offset = 0
    for x in instruction.operands:
        if w.at(x) != packed(slot, start + offset):  # where a loop has stacked it
            w.write_view("store", instruction.dtype.itemsize, x, id, offset, strides)
        offset += w.plan.instructions[x].shape[axis] * strides[axis]


def kernel(w: Writer, id: int, instruction: Instruction) -> None:
    """Call a kernel of the registry, with its workspace in the registers."""
    name, parameters = instruction.attrs
    entry, needs = REGISTRY[name], needs_of(name, parameters)
    first = next(k for k in range(len(needs.operands)) if k not in entry.indices)
    dtype = w.plan.instructions[instruction.operands[first]].dtype
    function = called_number(entry, dtype)
    assert function is not None
    operands = [w.at(x) for x in instruction.operands]
    x, y, z = (*operands, *[packed(ARENA, 0)] * (3 - len(operands)))
    w.reserve(needs.workspace * dtype.itemsize)
    w.emit(
        "kernel", kernel=kernel_number(name), blas=function, dtype=DTYPE_CODES[dtype],
        parameters=w.table(parameters), tasks=needs.tasks,
        worth=worth_of(needs.work), x=x, y=y, z=z, out=w.at(id),
        portion=portion(needs.tasks, nanoseconds(w.plan.instructions, id), is_shared=True),
    )  # fmt: skip


def guard(w: Writer, id: int, instruction: Instruction) -> None:
    """Check a branch."""
    (x,) = instruction.operands
    number, *axis = instruction.attrs
    guard = w.plan.guards[number]
    expected = guard.outcome[1 + axis[0]] if axis else guard.outcome
    w.emit(
        "guard", kind=int(guard.kind == "bool"), dtype=DTYPE_CODES[w.plan.instructions[x].dtype],
        expected=int(expected), x=w.at(x),
    )  # fmt: skip


def require(w: Writer, id: int, instruction: Instruction) -> None:
    """Copy a value if something holds, else stop."""
    x, is_right = instruction.operands
    w.emit("guard", kind=1, dtype=DTYPE_CODES[np.dtype(bool)], expected=1, x=w.at(is_right))
    w.copy_to(x, instruction, w.at(id))


def callback(w: Writer, id: int, instruction: Instruction) -> None:
    """Return to Python, which runs an operation."""
    w.emit("callback", index=id)


def _lengths(source: Instruction, axes: tuple[int, ...]) -> dict[str, int]:
    """Return the number of elements before the reduced axes, along them, and after them."""
    before, reduced = prod(source.shape[: axes[0]]), prod(source.shape[axes[0] : axes[-1] + 1])
    return {"before": before, "reduced": reduced, "after": prod(source.shape[axes[-1] + 1 :])}
