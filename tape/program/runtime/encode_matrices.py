"""How products of matrices and systems of equations become rows: calls to BLAS and LAPACK."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from tape.program.ir.instructions import Instruction
from tape.program.plan.layouts import broadcast_strides
from tape.program.runtime.functions import blas_number
from tape.program.runtime.opcodes import REGISTERS, packed
from tape.program.runtime.signals import nanoseconds, portion
from tape.program.runtime.writer import Writer, rounded

__all__ = ["cholesky", "matmul", "matmul_add", "solve", "triangular_solve"]


def matmul(w: Writer, id: int, instruction: Instruction) -> None:
    """Products, by gemm."""
    _product(w, id, instruction, instruction.operands, 0.0)


def matmul_add(w: Writer, id: int, instruction: Instruction) -> None:
    """Products added to what is there."""
    total, *factors = instruction.operands
    w.copy_to(total, instruction, w.at(id))
    _product(w, id, instruction, factors, 1.0)


def _product(w: Writer, id: int, instruction: Instruction, factors: Sequence[int], beta: float) -> None:
    """A row-major product by BLAS: the transposes, in the other order."""
    a, b = factors
    width = instruction.dtype.itemsize
    rows, columns = instruction.shape[-2:]
    inner = w.plan.instructions[a].shape[-1]
    lda, a_turned = _leading(w, a, width)
    ldb, b_turned = _leading(w, b, width)
    ldc = max(columns, w.place(id).strides[-2] // width)
    alpha = instruction.attrs[0] if instruction.attrs else 1.0
    letters = [ord("T" if turned else "N") for turned in (b_turned, a_turned)]
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
    """Stacks that take no longer than it may be between two looks for signals, and where they begin."""
    outer, inner, *strides = stack
    axis = 0 if outer > 1 else 1
    length = (outer, inner)[axis]
    some = portion(length, time)
    for start in range(0, length, some):
        count = min(some, length - start)
        lengths = [count, inner] if axis == 0 else [1, count]
        yield [*lengths, *strides], [start * stride for stride in strides[axis::2]]


def _stack(w: Writer, lengths: tuple[int, ...], matrices: Sequence[int]) -> list[int]:
    """Two lengths, outer and inner, and the strides of each stack of matrices, from one to the next."""
    steps = []
    for id in matrices:
        shape, strides = w.plan.instructions[id].shape[:-2], w.place(id).strides[:-2]
        steps.append(broadcast_strides(shape, strides, lengths))
    missing = 2 - len(lengths)
    return [*(1,) * missing, *lengths, *[step for of in steps for step in (*(0,) * missing, *of)]]


def solve(w: Writer, id: int, instruction: Instruction) -> None:
    """Systems of equations, by gesv."""
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
    """Triangular factors, by potrf."""
    (a,), (is_upper,) = instruction.operands, instruction.attrs
    width, n = instruction.dtype.itemsize, instruction.shape[-1]
    w.copy_to(a, instruction, w.at(id))
    w.emit(
        "potrf", function=_lapack("potrf", width), batch=instruction.size // n**2, n=n,
        letter=ord("L" if is_upper else "U"), itemsize=width, x=w.at(id),
    )  # fmt: skip


def triangular_solve(w: Writer, id: int, instruction: Instruction) -> None:
    """Each row is a column to BLAS, and a matrix its transpose, unless that lies turned."""
    a, b = instruction.operands
    is_lower, is_transposed, is_unit = instruction.attrs
    width = instruction.dtype.itemsize
    columns, n = instruction.shape[-2:]
    leading, is_turned = _leading(w, a, width)
    letters = "L" + "UL"[is_lower == is_turned] + "TN"[is_transposed != is_turned] + "NU"[is_unit]
    w.copy_to(b, instruction, w.at(id))
    w.emit(
        "trsm", function=_lapack("trsm", width), batch=instruction.size // (columns * n), n=n,
        columns=columns, lda=leading, letters=int.from_bytes(letters.encode(), "little"),
        alpha=_bits(1.0, width), itemsize=width, stride_a=_batch_stride(w, a), a=w.at(a),
        x=w.at(id),
    )  # fmt: skip


def _batch_stride(w: Writer, id: int) -> int:
    strides = w.place(id).strides
    return strides[0] if len(strides) == 3 and w.plan.instructions[id].shape[0] > 1 else 0


def _leading(w: Writer, id: int, width: int) -> tuple[int, bool]:
    """The leading dimension of a matrix, and whether its columns have no gaps rather than its rows."""
    rows, columns = w.plan.instructions[id].shape[-2:]
    down, right = w.place(id).strides[-2:]
    if rows == 1:
        return (columns, False) if right == width or columns == 1 else (right // width, True)
    if columns == 1:
        return (rows, True) if down == width else (down // width, False)
    return (down // width, False) if right == width else (right // width, True)


def _lapack(name: str, width: int) -> int:
    """The number of a function of BLAS or LAPACK for elements of this many bytes."""
    return blas_number(("d" if width == 8 else "s") + name)


def _bits(number: float, width: int) -> int:
    """A float as the first bytes of an int64."""
    return int.from_bytes(struct.pack("<d" if width == 8 else "<f", number), "little", signed=width == 8)
