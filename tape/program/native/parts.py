"""Rows of many parts: blocks of elementwise rows, tasks of a kernel, matrices of a stack.

The parts are shared among threads, and a portion of them is run at a time: see `tape.program.native.workers`.
"""

from __future__ import annotations

from tape.kernels.codes import CAST_ITEMSIZES
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import (
    call1,
    call4,
    call5,
    call7,
    call8,
    call9,
    call10,
    int32_at,
    int32s,
    int64_at,
    set_int64,
)
from tape.program.native.frames import OFFSETS, ROW, address, field
from tape.program.native.opcodes import (
    CODE,
    DATA,
    DONE,
    FUNCTIONS,
    JOB_CHUNK,
    JOB_NUMBER,
    JOB_ROW,
    JOB_THREADS,
    LENGTHS,
    REGISTERS,
    SLOT_BITS,
    SLOTS,
    STARTING,
    THREADS,
    WORTH_SHARING,
    opcode,
)
from tape.program.native.workers import begin, finish, next_part, share

_UNARY, _BINARY, _SELECT, _LOAD = map(opcode, ("unary", "binary", "select", "load"))
_BY_ROWS, _PAIR = map(opcode, ("by_rows", "pair"))
_BLOCKS, _KERNEL, _GUFUNC = map(opcode, ("blocks", "kernel", "gufunc"))
_GESV, _POTRF = map(opcode, ("gesv", "potrf"))

_DO_LOAD, _DO_SELECT, _DO_CAST = OFFSETS["load"], OFFSETS["select"], OFFSETS["cast"]
_DO_BY_ROWS, _DO_PAIR = OFFSETS["by_rows"], OFFSETS["pair"]
_DO_SOLVE, _DO_CHOLESKY = OFFSETS["solve"], OFFSETS["cholesky"]
_DO_TRIANGULAR_SOLVE = OFFSETS["triangular_solve"]
_CLEAR_FLAG, _TEST_FLAG = OFFSETS["feclearexcept"], OFFSETS["fetestexcept"]
_INVALID = 1  # FE_INVALID, on x86 as on ARM
_UNWRITTEN = 0x7FA5A5A5  # the first bytes of a result that no loop has written; a rare one has them, too


@inner
def _moved(frame, operand, bytes):  # type: ignore[no-untyped-def]
    """Return the address of an operand in a block; that of a register is the same in all blocks."""
    start = address(frame, operand)
    return start if operand >> SLOT_BITS == REGISTERS else start + bytes


@inner
def _size(code):  # type: ignore[no-untyped-def]
    """Return the itemsize of a dtype code of `tape.kernels.codes`."""
    return CAST_ITEMSIZES[code]


@inner
def elementwise(row, frame, start, count):  # type: ignore[no-untyped-def]
    """Compute elements ``start`` to ``start + count`` of an elementwise row."""
    kind = field(row, 0)
    table = field(frame, FUNCTIONS)
    if kind == _BINARY:
        function = 8 * field(row, 1)
        set_int64(frame, _moved(frame, field(row, 6), start * field(row, 3)))
        set_int64(frame + 8, _moved(frame, field(row, 7), start * field(row, 4)))
        set_int64(frame + 16, _moved(frame, field(row, 8), start * field(row, 5)))
        set_int64(frame + 24, count)
        data = int64_at(field(frame, DATA) + function)
        call4(int64_at(table + function), (frame, frame + 24, row + 24, data))
    elif kind == _UNARY:
        function = 8 * field(row, 1)
        set_int64(frame, _moved(frame, field(row, 5), start * field(row, 3)))
        set_int64(frame + 8, _moved(frame, field(row, 6), start * field(row, 4)))
        set_int64(frame + 24, count)
        data = int64_at(field(frame, DATA) + function)
        call4(int64_at(table + function), (frame, frame + 24, row + 24, data))
    elif kind == _BY_ROWS:
        itemsize = field(row, 4)
        x = _moved(frame, field(row, 6), start * itemsize)
        y, out = address(frame, field(row, 7)), _moved(frame, field(row, 8), start * itemsize)
        call9(
            int64_at(table + _DO_BY_ROWS),
            (field(row, 1), itemsize, field(row, 3), start, count, x, y, field(row, 5), out),
        )
    elif kind == _PAIR:
        itemsize = field(row, 3)
        x = _moved(frame, field(row, 7), start * field(row, 4))
        y = _moved(frame, field(row, 8), start * field(row, 5))
        z = _moved(frame, field(row, 9), start * field(row, 6))
        out = _moved(frame, field(row, 10), start * itemsize)
        call7(int64_at(table + _DO_PAIR), (field(row, 1), itemsize, count, x, y, z, out))
    elif kind == _LOAD:
        width = field(row, 1)
        lengths = field(frame, CODE) + 8 * field(row, 4)
        strides = field(frame, CODE) + 8 * field(row, 5)
        out = _moved(frame, field(row, 7), start * width)
        source = address(frame, field(row, 6))
        call8(
            int64_at(table + _DO_LOAD),
            (source, width, field(row, 3), lengths, strides, start, count, out),
        )
    elif kind == _SELECT:
        width, x_step, y_step = field(row, 1), field(row, 3), field(row, 4)
        condition = _moved(frame, field(row, 5), start)
        x, y = _moved(frame, field(row, 6), start * x_step), _moved(frame, field(row, 7), start * y_step)
        out = _moved(frame, field(row, 8), start * width)
        call8(int64_at(table + _DO_SELECT), (width, condition, x, x_step, y, y_step, count, out))
    else:
        source, target = field(row, 1), field(row, 3)
        x = _moved(frame, field(row, 4), start * _size(source))
        out = _moved(frame, field(row, 5), start * _size(target))
        call5(int64_at(table + _DO_CAST), (source, target, x, count, out))


@inner
def _blocks(row, frame, start, stop):  # type: ignore[no-untyped-def]
    """Run the rows that follow block by block, so that intermediate results stay in the L1 cache."""
    rows, block, first = field(row, 1), field(row, 3), 1
    while start < stop:
        count = min(block, stop - start)
        for k in range(first, rows + 1):
            elementwise(row + k * ROW, frame, start, count)
        start += count
        first = 1 + field(row, 5)


@inner
def _tasks(row, frame, start, stop):  # type: ignore[no-untyped-def]
    """Run some tasks of a kernel, with the registers as its workspace; return 0 if it fails."""
    table = field(frame, FUNCTIONS)
    return call10(
        int64_at(table + 8 * field(row, 1)),
        (
            int64_at(table + 8 * field(row, 2)), field(row, 3), field(frame, CODE) + 8 * field(row, 4),
            start, stop, address(frame, field(row, 7)), address(frame, field(row, 8)),
            address(frame, field(row, 9)), field(frame, SLOTS + REGISTERS),
            address(frame, field(row, 10)),
        ),
    )  # fmt: skip


@inner
def matrices(row, frame, start, stop):  # type: ignore[no-untyped-def]
    """Run the loop of a generalised ufunc on some matrices; return 0 if it stops for one without result.

    A loop that finds no memory sets a Python exception, which is lost in a thread of the machine. It writes
    nothing then, and leaves what is written here before.
    """
    if start >= stop:
        return 1
    table, code, function = field(frame, FUNCTIONS), field(frame, CODE), 8 * field(row, 1)
    lengths, strides = code + 8 * field(row, 4), code + 8 * field(row, 5)
    for k in range(field(row, 2)):
        set_int64(frame + 8 * k, address(frame, field(row, 6 + k)) + start * int64_at(strides + 8 * k))
    here = frame + 8 * LENGTHS
    set_int64(here, stop - start)
    for k in range(1, field(row, 13) + 1):
        set_int64(here + 8 * k, int64_at(lengths + 8 * k))
    k, is_shared = field(row, 2) - 1, field(row, 14) > 1
    last = int64_at(frame + 8 * k) + (stop - start - 1) * int64_at(strides + 8 * k)
    if is_shared:
        int32s(last)[0] = _UNWRITTEN
    call1(int64_at(table + _CLEAR_FLAG), (_INVALID,))  # loops heed what is left of earlier ones
    call4(int64_at(table + function), (frame, here, strides, int64_at(field(frame, DATA) + function)))
    if is_shared and int32_at(last) == _UNWRITTEN:
        return 0
    if not field(row, 3):
        return 1
    return (call1(int64_at(table + _TEST_FLAG), (_INVALID,)) & _INVALID) ^ 1


@inner
def worth_of_systems(row):  # type: ignore[no-untyped-def]
    """Return the worth of sharing a row of gesv, potrf or trsm."""
    kind = field(row, 0)
    return field(row, 9) if kind == _GESV else field(row, 7) if kind == _POTRF else field(row, 12)


@inner
def systems(row, frame, start, stop):  # type: ignore[no-untyped-def]
    """Run some matrices of a row of gesv, potrf or trsm; return 0 if one has no result."""
    table = field(frame, FUNCTIONS)
    kind, function, count = field(row, 0), int64_at(table + 8 * field(row, 1)), stop - start
    info, n = frame + 32, field(row, 3)
    if count < 1:
        return 1
    if kind == _GESV:
        size = field(row, 5)
        a, pivots = int64_at(frame) + start * n * n * size, address(frame, field(row, 7))
        x = address(frame, field(row, 8)) + start * n * field(row, 4) * size
        return call8(int64_at(table + _DO_SOLVE), (function, count, row + 24, size, a, pivots, x, info))
    if kind == _POTRF:
        size = field(row, 5)
        x = address(frame, field(row, 6)) + start * n * n * size
        return call7(int64_at(table + _DO_CHOLESKY), (function, count, row + 24, row + 32, size, x, info))
    size, step = field(row, 8), field(row, 9)
    a = address(frame, field(row, 10)) + start * step
    x = address(frame, field(row, 11)) + start * n * field(row, 4) * size
    return call7(int64_at(table + _DO_TRIANGULAR_SOLVE), (function, count, row + 24, size, step, a, x))


@inner
def _part(row, frame, start, stop):  # type: ignore[no-untyped-def]
    """Run some blocks, some tasks of a kernel, or some matrices of a stack; return 0 if that fails."""
    kind = field(row, 0)
    if kind == _KERNEL:
        return _tasks(row, frame, start, stop)
    if kind == _GUFUNC:
        return matrices(row, frame, start, stop)
    if kind != _BLOCKS:
        return systems(row, frame, start, stop)
    _blocks(row, frame, start, stop)
    return 1


@inner
def work(frame):  # type: ignore[no-untyped-def]
    """Do a thread's part of a row, and then what others have left of theirs."""
    row, number, threads = field(frame, JOB_ROW), field(frame, JOB_NUMBER), field(frame, JOB_THREADS)
    is_done = 1
    begin(frame)
    for _ in range(threads):
        while True:
            start, stop = next_part(frame, number)
            if start >= stop:
                break
            if not _part(row, frame, start, min(start + field(frame, JOB_CHUNK), stop)):
                is_done = 0
        number = number + 1 if number + 1 < threads else 0
    finish(frame, is_done)
    return 0


@inner
def shared(row, frame):  # type: ignore[no-untyped-def]
    """Run a portion of all blocks, tasks of a kernel, or matrices, on as many threads as are worth it.

    Return whether none is left. If some are, the frame says how many are done, or 0 for a failure.
    """
    first, kind, block = field(frame, DONE), field(row, 0), 1
    if kind == _KERNEL:
        count, worth, portion = field(row, 5), field(row, 6), field(row, 11)
    elif kind == _BLOCKS:
        count, block, portion = field(row, 2), field(row, 3), field(row, 4)
        worth = field(row, 6) * count // WORTH_SHARING
    elif kind == _GUFUNC:
        count, worth, portion = (
            int64_at(field(frame, CODE) + 8 * field(row, 4)),
            field(row, 14),
            field(row, 15),
        )
    else:
        count, worth = field(row, 2), worth_of_systems(row)
        portion = count
    end = min(first + portion, count)
    threads = min(min(field(frame, THREADS), worth), (end - first + block - 1) // block)
    if threads > 1:
        is_done = share(row, frame, first, end, block, threads, worth >= field(frame, STARTING))
    else:
        is_done = _part(row, frame, first, end) != 0
    if portion < count:
        set_int64(frame + 8 * DONE, end if is_done and end < count else 0)
        return is_done and end == count
    return is_done
