"""Encoders of products of matrices and systems of equations: calls to BLAS and LAPACK."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from math import prod

from tape.config import num_threads
from tape.kernels import matrices, stacks
from tape.kernels.availability import Unavailable
from tape.kernels.codes import DTYPE_CODES
from tape.kernels.registry import REGISTRY, needs_of
from tape.program.ir.contract import is_of_vectors
from tape.program.ir.instructions import Instruction
from tape.program.ir.loops import Block
from tape.program.native.functions import (
    blas_number,
    called_number,
    gufunc_number,
    kernel_number,
    matmul_number,
)
from tape.program.native.gufuncs import GUFUNCS, LINALG, MOST_ARGUMENTS, layout_of, strides_of
from tape.program.native.opcodes import ARENA, REGISTERS, packed, worth_of
from tape.program.plan.layouts import broadcast_strides
from tape.program.runtime.pauses import nanoseconds, portion
from tape.program.runtime.writer import Writer, rounded

__all__ = ["cholesky", "matmul", "matmul_add", "numpy_matmul", "solve", "triangular_solve"]


def matmul(w: Writer, id: int, instruction: Instruction) -> None:
    """Multiply: matrices and vectors by NumPy's loop, which calls gemv, others by a kernel or by gemm."""
    factor = instruction.attrs[0] if instruction.attrs else 1.0
    if is_of_vectors(instruction) and factor == 1 and matmul_number(instruction.dtype) is not None:
        numpy_matmul(w, id, instruction)
    elif not _by_kernel(w, id, instruction, instruction.operands):
        _product(w, id, instruction, instruction.operands, 0.0)


def matmul_add(w: Writer, id: int, instruction: Instruction) -> None:
    """Multiply, and add to the total."""
    total, *factors = instruction.operands
    if not _by_kernel(w, id, instruction, factors, total):
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


def _by_kernel(
    w: Writer, id: int, instruction: Instruction, factors: Sequence[int], total: int | None = None
) -> bool:
    """Write a product for a kernel of `tape.kernels.matrices`, if that is faster; return whether.

    Tiles compute it, or BLAS some rows at a time.
    """
    *stack, m, n = instruction.shape
    inner = w.plan.instructions[factors[0]].shape[-1]
    width, threads = instruction.dtype.itemsize, num_threads()
    is_turned = w.place(factors[1]).strides[-1] != width
    missing = (1,) * (2 - len(stack))
    strides = [_steps(w, x, instruction.shape[:-2]) for x in (*factors, id)]
    is_divided = n * width >= matrices.WIDEST_VECTOR and not any(strides[0][:2])
    columns = n * prod(stack) if is_divided else n  # of one factor, of which the stack has panels
    shared = prod(stack) if threads > 1 and not is_divided else 1
    name = "product_of_doubles" if width == 8 else "product_of_singles"
    rows: tuple[int, ...] = ()
    adds = matrices.NOTHING if total is None else matrices.IN_PLACE
    if stacks.are_tiny(prod(stack), m, n, inner) and strides[1][3] == width:
        name = "products_of_stack"
    elif not matrices.are_worth(m, columns, inner, width, is_turned, shared):
        name, rows = "product_by_rows", (matrices.rows_to_share(m, n, inner, threads),)
        if not any(rows):
            return False
    if not rows and total is not None and w.at(total) != w.at(id):
        wide = broadcast_strides(w.plan.instructions[total].shape, w.place(total).strides, instruction.shape)
        steps = [*(0,) * len(missing), *wide]
        if steps[-1] in (0, width):
            adds = matrices.APART
            strides.append(steps)
    if any(step < 0 or step % width for steps in strides for step in steps):
        return False
    parameters = (*matrices.product_parameters(
        (*missing, *stack, m, n, inner), instruction.attrs[0] if instruction.attrs else 1.0, adds,
        *[[step // width for step in steps] for steps in strides],
    ), *rows)  # fmt: skip
    try:
        needs = needs_of(name, parameters)
    except ValueError:  # a result in another order, or lengths that are too large
        return False
    if adds == matrices.IN_PLACE:
        assert total is not None
        w.copy_to(total, instruction, w.at(id))
    w.reserve(needs.workspace * width)
    time = nanoseconds(w.plan.instructions, id)
    z = w.at(total) if adds == matrices.APART and total is not None else packed(ARENA, 0)
    w.emit(
        "kernel", kernel=kernel_number(name), blas=called_number(REGISTRY[name], instruction.dtype) or 0,
        dtype=DTYPE_CODES[instruction.dtype], parameters=w.table(parameters), tasks=needs.tasks,
        worth=worth_of(needs.work), x=w.at(factors[0]), y=w.at(factors[1]), z=z, out=w.at(id),
        portion=portion(needs.tasks, time, is_shared=True),
    )  # fmt: skip
    return True


def _steps(w: Writer, id: int, lengths: tuple[int, ...]) -> list[int]:
    """Return the strides of a stack of matrices, the two of the stack first."""
    shape, strides = w.plan.instructions[id].shape, w.place(id).strides
    outer = broadcast_strides(shape[:-2], strides[:-2], lengths)
    return [*(0,) * (2 - len(lengths)), *outer, *strides[-2:]]


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
        worth=_worth_of_systems(batch, n, n * n * (0.7 * n + 2 * columns)),
    )  # fmt: skip


def cholesky(w: Writer, id: int, instruction: Instruction) -> None:
    """Factor, by potrf."""
    (a,), (is_upper,) = instruction.operands, instruction.attrs
    width, n = instruction.dtype.itemsize, instruction.shape[-1]
    w.copy_to(a, instruction, w.at(id))
    batch = instruction.size // n**2
    w.emit(
        "potrf", function=_lapack("potrf", width), batch=batch, n=n, letter=ord("L" if is_upper else "U"),
        itemsize=width, x=w.at(id), worth=_worth_of_systems(batch, n, n**3 / 3),
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
    batch = instruction.size // (columns * n)
    w.emit(
        "trsm", function=_lapack("trsm", width), batch=batch, n=n,
        columns=columns, lda=leading, letters=int.from_bytes(letters.encode(), "little"),
        alpha=_bits(1.0, width), itemsize=width, stride_a=_batch_stride(w, a), a=w.at(a),
        x=w.at(id), worth=_worth_of_systems(batch, n, n * n * columns),
    )  # fmt: skip


def gufunc(w: Writer, id: int, instruction: Instruction) -> None:
    """Call the loop of a generalised ufunc."""
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
    at += [packed(ARENA, 0)] * (MOST_ARGUMENTS - len(at))
    of = GUFUNCS[name]
    is_lapack = of.module == LINALG
    rows, most = max(layout.lengths.values(), default=1), _MOST_ROWS if name in _BY_LU else _FEW_ROWS
    can_share = not is_lapack or rows <= most
    w.emit(
        "gufunc", function=number, arguments=len(of.operands + of.results), stops=int(of.failure is not None),
        lengths=w.table([count, *layout.lengths.values()]), strides=w.table(strides),
        **dict(zip("abcdefg", at, strict=True)), dimensions=len(layout.lengths),
        worth=_worth(count, of.flops(layout.lengths)) if can_share else 1,
        portion=portion(count, nanoseconds(instructions, id), is_shared=True),
    )  # fmt: skip


_MOST_ROWS, _FEW_ROWS = 63, 25
"""Rows of matrices up to which OpenBLAS uses no threads of its own: in LU factorizations, and in all others.

Of larger ones a stack is left to these: threads that wait for each other's take many times as long, and with
fewer of them results might not be NumPy's to the last bit."""
_BY_LU = frozenset(["det", "slogdet", "inv"])
_CALL, _FLOP = 500, 0.2
"""Nanoseconds of a call to LAPACK, and of an operation of arithmetic in it."""
_CYCLES = 3
"""In a nanosecond, about."""


def _worth(batch: int, flops: float) -> int:
    """Return how much work a stack of matrices is, of so much arithmetic each, for sharing it."""
    return worth_of(int(_CYCLES * batch * (_CALL + _FLOP * flops)))


def _worth_of_systems(batch: int, n: int, flops: float) -> int:
    """Return the same for functions of LAPACK and BLAS themselves, which the machine keeps to one thread."""
    return _worth(batch, flops) if n <= _MOST_ROWS else 1


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
