"""Encoders of products of matrices and systems of equations: calls to BLAS and LAPACK."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from math import prod

from tape.kernels.availability import Unavailable
from tape.program.ir.instructions import Instruction
from tape.program.ir.loops import Block
from tape.program.native.functions import blas_number, gufunc_number, matmul_number
from tape.program.native.gufuncs import GUFUNCS, MOST_ARGUMENTS, layout_of, strides_of
from tape.program.native.opcodes import ARENA, REGISTERS, packed
from tape.program.plan.layouts import broadcast_strides
from tape.program.runtime.pauses import nanoseconds, portion
from tape.program.runtime.writer import Writer, rounded

__all__ = ["cholesky", "matmul", "matmul_add", "numpy_matmul", "solve", "triangular_solve"]


def matmul(w: Writer, id: int, instruction: Instruction) -> None:
    """Multiply, by gemm."""
    _product(w, id, instruction, instruction.operands, 0.0)


def matmul_add(w: Writer, id: int, instruction: Instruction) -> None:
    """Multiply, and add to the total."""
    total, *factors = instruction.operands
    w.copy_to(total, instruction, w.at(id))
    _product(w, id, instruction, factors, 1.0)


def numpy_matmul(w: Writer, id: int, instruction: Instruction) -> None:
    """Multiply, by NumPy's own loop."""
    a, b = instruction.operands
    shape = instruction.shape
    function = matmul_number(instruction.dtype)
    if function is None:
        raise Unavailable("NumPy's loop of matmul is not found")
    inner = w.plan.instructions[a].shape[-1]
    lengths = [prod(shape[:-2]), shape[-2], inner, shape[-1]]
    steps, matrices = [], []
    for x in (a, b, id):
        *stack, down, right = w.place(x).strides
        steps += stack if stack and w.plan.instructions[x].shape[0] > 1 else [0]
        matrices += [down, right]
    w.emit(
        "numpy_matmul", function=function, stack=w.table([*lengths, *steps, *matrices]), a=w.at(a), b=w.at(b),
        out=w.at(id),
    )  # fmt: skip


def _product(w: Writer, id: int, instruction: Instruction, factors: Sequence[int], beta: float) -> None:
    """Write a row-major product, which is the column-major product of the transposes in reverse order."""
    a, b = factors
    width = instruction.dtype.itemsize
    rows, columns = instruction.shape[-2:]
    inner = w.plan.instructions[a].shape[-1]
    lda, a_is_transposed = _leading(w, a, width)
    ldb, b_is_transposed = _leading(w, b, width)
    ldc = max(columns, w.place(id).strides[-2] // width)
    alpha = instruction.attrs[0] if instruction.attrs else 1.0
    letters = [ord("T" if is_transposed else "N") for is_transposed in (b_is_transposed, a_is_transposed)]
    function, matrices = _lapack("gemm", width), (b, a, id)
    stack, time = _stack(w, instruction.shape[:-2], matrices), nanoseconds(w.plan.instructions, id)
    for k, (part, offsets) in enumerate(_portions(stack, time)):
        if k:
            w.emit("pause")
        first, second, out = [w.at(x) + offset for x, offset in zip(matrices, offsets, strict=True)]
        w.emit(
            "gemm", function=function, stack=w.table(part), m=columns, n=rows, k=inner, lda=ldb, ldb=lda,
            ldc=ldc, transposed=letters[0] | letters[1] << 8, alpha=_bits(alpha, width),
            beta=_bits(beta, width), a=first, b=second, c=out,
        )  # fmt: skip


def _portions(stack: list[int], time: float) -> Iterator[tuple[list[int], list[int]]]:
    """Yield stacks that are short enough for the time between two pauses, and their offsets."""
    outer, inner, *strides = stack
    axis = 0 if outer > 1 else 1
    length = (outer, inner)[axis]
    some = portion(length, time)
    for start in range(0, length, some):
        count = min(some, length - start)
        lengths = [count, inner] if axis == 0 else [1, count]
        yield [*lengths, *strides], [start * stride for stride in strides[axis::2]]


def _stack(w: Writer, lengths: tuple[int, ...], matrices: Sequence[int]) -> list[int]:
    """Return two lengths, outer and inner, and the two strides of each stack of matrices."""
    steps = []
    for id in matrices:
        shape, strides = w.plan.instructions[id].shape[:-2], w.place(id).strides[:-2]
        steps.append(broadcast_strides(shape, strides, lengths))
    missing = 2 - len(lengths)
    return [*(1,) * missing, *lengths, *[step for of in steps for step in (*(0,) * missing, *of)]]


def solve(w: Writer, id: int, instruction: Instruction) -> None:
    """Solve systems of equations, by gesv."""
    a, b = instruction.operands
    width = instruction.dtype.itemsize
    columns, n = instruction.shape[-2:]
    batch = instruction.size // (columns * n)
    down, right = w.place(a).strides[-2:]
    size = rounded(batch * n * n * width)
    w.reserve(size + rounded(8 * n))
    matrices = (_batch_stride(w, a), right, down)  # LAPACK's matrices are the transposes of NumPy's
    w.load(a, batch * n * n, (batch, n, n), matrices, packed(REGISTERS, 0))
    w.copy_to(b, instruction, w.at(id))
    w.emit(
        "gesv", function=_lapack("gesv", width), batch=batch, n=n, columns=columns, itemsize=width,
        a=packed(REGISTERS, 0), pivots=packed(REGISTERS, size), x=w.at(id),
    )  # fmt: skip


def cholesky(w: Writer, id: int, instruction: Instruction) -> None:
    """Factor, by potrf."""
    (a,), (is_upper,) = instruction.operands, instruction.attrs
    width, n = instruction.dtype.itemsize, instruction.shape[-1]
    w.copy_to(a, instruction, w.at(id))
    w.emit(
        "potrf", function=_lapack("potrf", width), batch=instruction.size // n**2, n=n,
        letter=ord("L" if is_upper else "U"), itemsize=width, x=w.at(id),
    )  # fmt: skip


def triangular_solve(w: Writer, id: int, instruction: Instruction) -> None:
    """Solve triangular systems, by trsm: rows are columns to BLAS, a row-major matrix its transpose."""
    a, b = instruction.operands
    is_lower, is_transposed, is_unit = instruction.attrs
    width = instruction.dtype.itemsize
    columns, n = instruction.shape[-2:]
    leading, is_transposed_in_memory = _leading(w, a, width)
    letters = (
        "L"
        + "UL"[is_lower == is_transposed_in_memory]
        + "TN"[is_transposed != is_transposed_in_memory]
        + "NU"[is_unit]
    )
    w.copy_to(b, instruction, w.at(id))
    w.emit(
        "trsm", function=_lapack("trsm", width), batch=instruction.size // (columns * n), n=n,
        columns=columns, lda=leading, letters=int.from_bytes(letters.encode(), "little"),
        alpha=_bits(1.0, width), itemsize=width, stride_a=_batch_stride(w, a), a=w.at(a),
        x=w.at(id),
    )  # fmt: skip


def gufunc(w: Writer, id: int, instruction: Instruction) -> None:
    """Call the loop of a generalised ufunc, for a portion of the matrices at a time."""
    name, instructions = instruction.op, w.plan.instructions
    operands = [instructions[x] for x in instruction.operands]
    chars = "".join([x.dtype.char for x in operands])
    layout = layout_of(name, [x.shape for x in operands], chars, instruction.attrs)
    number = gufunc_number(name, layout.types)
    if number is None:
        raise Unavailable(f"this NumPy has no such loop of {name}")
    offsets = [0] if len(layout.results) == 1 else [part.offset for part in Block(layout.results).parts]
    at = [*[w.at(x) for x in instruction.operands], *[w.at(id) + offset for offset in offsets]]
    if GUFUNCS[name].overwrites:  # works on a copy
        w.copy_to(instruction.operands[0], operands[0], at.pop(len(operands)))
        at[0] = w.at(id)
    strides = strides_of(name, layout.types, layout.lengths, layout.is_stacked)
    count = prod(layout.stack)
    some = portion(count, nanoseconds(instructions, id))
    for start in range(0, count, some):
        if start:
            w.emit("pause")
        lengths = [min(some, count - start), *layout.lengths.values()]
        here = [x + start * step for x, step in zip(at, strides, strict=False)]
        here += [packed(ARENA, 0)] * (MOST_ARGUMENTS - len(at))
        w.emit(
            "gufunc", function=number, arguments=len(at), stops=int(GUFUNCS[name].failure is not None),
            lengths=w.table(lengths), strides=w.table(strides), **dict(zip("abcdefg", here, strict=True)),
        )  # fmt: skip


def _batch_stride(w: Writer, id: int) -> int:
    strides = w.place(id).strides
    return strides[0] if len(strides) == 3 and w.plan.instructions[id].shape[0] > 1 else 0


def _leading(w: Writer, id: int, width: int) -> tuple[int, bool]:
    """Return the leading dimension of a matrix, and whether it is column-major."""
    rows, columns = w.plan.instructions[id].shape[-2:]
    down, right = w.place(id).strides[-2:]
    if rows == 1:
        return (columns, False) if right == width or columns == 1 else (right // width, True)
    if columns == 1:
        return (rows, True) if down == width else (down // width, False)
    return (down // width, False) if right == width else (right // width, True)


def _lapack(name: str, width: int) -> int:
    """Return the number of a function of BLAS or LAPACK for elements of this size."""
    return blas_number(("d" if width == 8 else "s") + name)


def _bits(number: float, width: int) -> int:
    """Return an int64 whose first bytes are a float."""
    return int.from_bytes(struct.pack("<d" if width == 8 else "<f", number), "little", signed=width == 8)
