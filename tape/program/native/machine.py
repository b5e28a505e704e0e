"""The machine: one compiled loop over an instruction array, and the way into it from Python.

The loop allocates nothing and checks nothing: `tape.program.runtime.verify` has proved that every row stays
within its slots. C functions do the work of a row, found by number in a table: NumPy's loops, BLAS, and the
kernels of `tape.kernels`. Callbacks, and guards with another outcome, end the loop; the caller handles the
row, and resumes the loop after it. Pauses, and portions of rows that take long, end it too: Python handles
signals, and resumes it in the same row.

`tape.program.native.compiling` compiles these functions, and `tape.kernels.loading` makes one Python's.
"""

from __future__ import annotations

from tape.kernels.codes import CAST_ITEMSIZES
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import (
    call1,
    call2,
    call3,
    call4,
    call5,
    call6,
    call7,
    call8,
    call9,
    call10,
    call13,
    int32_at,
    int32s,
    int64_at,
    set_int64,
    uint8_at,
)
from tape.kernels.compiled.scalars import scalar
from tape.kernels.headers import ARRAY_DATA, TUPLE, TUPLE_SIZE
from tape.kernels.matrices import ONE_THREAD_FROM, ONE_THREAD_TO
from tape.program.native.binding import bind, bind_results
from tape.program.native.opcodes import (
    AT,
    BETWEEN_STEPS,
    BODIES,
    BY_COUNT,
    BY_FLAG,
    CODE,
    DATA,
    DONE,
    FIELDS,
    FUNCTIONS,
    JOB_CHUNK,
    JOB_NUMBER,
    JOB_ROW,
    JOB_THREADS,
    KERNELS,
    LENGTHS,
    NO_ARRAYS,
    OFFSET_BITS,
    OFFSET_MASK,
    REGISTERS,
    RING,
    ROWS,
    SLOTS,
    SPEC,
    STARTING,
    THREADS,
    WIDTH,
    WORTH_SHARING,
    opcode,
)
from tape.program.native.workers import (
    begin,
    finish,
    give_blas_its_threads,
    keep_blas_to_one_thread,
    next_part,
    send_away,
    share,
)

_ROW = 8 * WIDTH
_SLOTS = 8 * SLOTS
_ENTRY = 8 * len(FIELDS["scalar"])
_UNARY, _BINARY, _CAST, _SELECT, _LOAD = map(opcode, ("unary", "binary", "cast", "select", "load"))
_SUM_PRODUCT, _NUMPY_FOLD, _NUMPY_MATMUL = map(opcode, ("sum_product", "numpy_fold", "numpy_matmul"))
_BLOCKS, _SCALAR, _FOLD, _COPY = map(opcode, ("blocks", "scalar", "fold", "copy"))
_SCALARS = opcode("scalars")
_STORE, _ADD_STORE, _GEMM, _GESV = map(opcode, ("store", "add_store", "gemm", "gesv"))
_SCAN, _POTRF, _TRSM, _GUFUNC = map(opcode, ("scan", "potrf", "trsm", "gufunc"))
_TAKE, _SCATTER_ADD, _RAVEL_INDEX, _GUARD = map(opcode, ("take", "scatter_add", "ravel_index", "guard"))
_KERNEL, _LOOP, _STATE = opcode("kernel"), opcode("loop"), opcode("state")
_KEPT_STATE, _COLLECTED_STATE = opcode("kept_state"), opcode("collected_state")

_NUMBER = {name: 8 * number for number, name in enumerate(KERNELS)}
_DO_CAST, _DO_SELECT, _DO_LOAD = _NUMBER["cast"], _NUMBER["select"], _NUMBER["load"]
_DO_STORE, _DO_ADD_STORE, _DO_FOLD = _NUMBER["store"], _NUMBER["add_store"], _NUMBER["fold"]
_DO_TAKE, _DO_SCATTER_ADD = _NUMBER["take"], _NUMBER["scatter_add"]
_DO_RAVEL_INDEX, _DO_READ_INTEGER = _NUMBER["ravel_index"], _NUMBER["read_integer"]
_DO_SCALARS, _DO_MOVE = _NUMBER["scalars"], _NUMBER["memmove"]
_DO_SUM_PRODUCT, _DO_SCAN = _NUMBER["sum_product"], _NUMBER["scan"]
_DO_NUMPY_FOLD = _NUMBER["numpy_fold"]
_DO_SOLVE, _DO_CHOLESKY = _NUMBER["solve"], _NUMBER["cholesky"]
_DO_TRIANGULAR_SOLVE = _NUMBER["triangular_solve"]
_DO_RUN = _NUMBER["run"]
_TRUE, _FALSE, _INCREF = _NUMBER["Py_True"], _NUMBER["Py_False"], _NUMBER["Py_IncRef"]
_RELEASE, _ACQUIRE = _NUMBER["PyEval_SaveThread"], _NUMBER["PyEval_RestoreThread"]
_ERROR = _NUMBER["PyErr_Occurred"]
_CLEAR_FLAG, _TEST_FLAG = _NUMBER["feclearexcept"], _NUMBER["fetestexcept"]
_INVALID = 1  # FE_INVALID, on x86 as on ARM
_UNWRITTEN = 0x7FA5A5A5  # the first bytes of a result that no loop has written; a rare one has them, too


@inner
def _field(row, k):  # type: ignore[no-untyped-def]
    return int64_at(row + 8 * k)


@inner
def _address(frame, operand):  # type: ignore[no-untyped-def]
    return int64_at(frame + _SLOTS + 8 * (operand >> OFFSET_BITS)) + (operand & OFFSET_MASK)


@inner
def _moved(frame, operand, bytes):  # type: ignore[no-untyped-def]
    """Return the address of an operand in a block; that of a register is the same in all blocks."""
    address = _address(frame, operand)
    return address if operand >> OFFSET_BITS == REGISTERS else address + bytes


@inner
def _size(code):  # type: ignore[no-untyped-def]
    """Return the itemsize of a dtype code of `tape.kernels.codes`."""
    return CAST_ITEMSIZES[code]


@inner
def _elementwise(row, frame, start, count):  # type: ignore[no-untyped-def]
    """Compute elements ``start`` to ``start + count`` of an elementwise row."""
    kind = _field(row, 0)
    table = _field(frame, FUNCTIONS)
    if kind == _BINARY:
        function = 8 * _field(row, 1)
        set_int64(frame, _moved(frame, _field(row, 6), start * _field(row, 3)))
        set_int64(frame + 8, _moved(frame, _field(row, 7), start * _field(row, 4)))
        set_int64(frame + 16, _moved(frame, _field(row, 8), start * _field(row, 5)))
        set_int64(frame + 24, count)
        data = int64_at(_field(frame, DATA) + function)
        call4(int64_at(table + function), (frame, frame + 24, row + 24, data))
    elif kind == _UNARY:
        function = 8 * _field(row, 1)
        set_int64(frame, _moved(frame, _field(row, 5), start * _field(row, 3)))
        set_int64(frame + 8, _moved(frame, _field(row, 6), start * _field(row, 4)))
        set_int64(frame + 24, count)
        data = int64_at(_field(frame, DATA) + function)
        call4(int64_at(table + function), (frame, frame + 24, row + 24, data))
    elif kind == _LOAD:
        width = _field(row, 1)
        lengths = _field(frame, CODE) + 8 * _field(row, 4)
        strides = _field(frame, CODE) + 8 * _field(row, 5)
        out = _moved(frame, _field(row, 7), start * width)
        source = _address(frame, _field(row, 6))
        call8(
            int64_at(table + _DO_LOAD),
            (source, width, _field(row, 3), lengths, strides, start, count, out),
        )
    elif kind == _SELECT:
        width, x_step, y_step = _field(row, 1), _field(row, 3), _field(row, 4)
        condition = _moved(frame, _field(row, 5), start)
        x, y = _moved(frame, _field(row, 6), start * x_step), _moved(frame, _field(row, 7), start * y_step)
        out = _moved(frame, _field(row, 8), start * width)
        call8(int64_at(table + _DO_SELECT), (width, condition, x, x_step, y, y_step, count, out))
    else:
        source, target = _field(row, 1), _field(row, 3)
        x = _moved(frame, _field(row, 4), start * _size(source))
        out = _moved(frame, _field(row, 5), start * _size(target))
        call5(int64_at(table + _DO_CAST), (source, target, x, count, out))


@inner
def _blocks(row, frame, start, stop):  # type: ignore[no-untyped-def]
    """Run the rows that follow block by block, so that intermediate results stay in the L1 cache."""
    rows, block = _field(row, 1), _field(row, 3)
    while start < stop:
        count = min(block, stop - start)
        for k in range(1, rows + 1):
            _elementwise(row + k * _ROW, frame, start, count)
        start += count


@inner
def _tasks(row, frame, start, stop):  # type: ignore[no-untyped-def]
    """Run some tasks of a kernel, with the registers as its workspace; return 0 if it fails."""
    table = _field(frame, FUNCTIONS)
    return call10(
        int64_at(table + 8 * _field(row, 1)),
        (
            int64_at(table + 8 * _field(row, 2)), _field(row, 3), _field(frame, CODE) + 8 * _field(row, 4),
            start, stop, _address(frame, _field(row, 7)), _address(frame, _field(row, 8)),
            _address(frame, _field(row, 9)), _field(frame, SLOTS + REGISTERS),
            _address(frame, _field(row, 10)),
        ),
    )  # fmt: skip


@inner
def scalars(frame, entry, count):  # type: ignore[no-untyped-def]
    """Compute with single numbers, one entry after the other.

    What an entry costs is mostly finding out its kind, unless it is that of the one before. The beginning of
    the frame keeps the last condition.
    """
    for _ in range(count):
        x, y = _address(frame, int64_at(entry + 8)), _address(frame, int64_at(entry + 16))
        scalar(int64_at(entry), x, y, _address(frame, int64_at(entry + 24)), frame)
        entry += _ENTRY


@inner
def _matrices(row, frame, start, stop):  # type: ignore[no-untyped-def]
    """Run the loop of a generalised ufunc on some matrices; return 0 if it stops for one without result.

    A loop that finds no memory sets a Python exception, which is lost in a thread of the machine. It writes
    nothing then, and leaves what is written here before.
    """
    if start >= stop:
        return 1
    table, code, function = _field(frame, FUNCTIONS), _field(frame, CODE), 8 * _field(row, 1)
    lengths, strides = code + 8 * _field(row, 4), code + 8 * _field(row, 5)
    for k in range(_field(row, 2)):
        set_int64(frame + 8 * k, _address(frame, _field(row, 6 + k)) + start * int64_at(strides + 8 * k))
    here = frame + 8 * LENGTHS
    set_int64(here, stop - start)
    for k in range(1, _field(row, 13) + 1):
        set_int64(here + 8 * k, int64_at(lengths + 8 * k))
    k, is_shared = _field(row, 2) - 1, _field(row, 14) > 1
    last = int64_at(frame + 8 * k) + (stop - start - 1) * int64_at(strides + 8 * k)
    if is_shared:
        int32s(last)[0] = _UNWRITTEN
    call1(int64_at(table + _CLEAR_FLAG), (_INVALID,))  # loops heed what is left of earlier ones
    call4(int64_at(table + function), (frame, here, strides, int64_at(_field(frame, DATA) + function)))
    if is_shared and int32_at(last) == _UNWRITTEN:
        return 0
    if not _field(row, 3):
        return 1
    return (call1(int64_at(table + _TEST_FLAG), (_INVALID,)) & _INVALID) ^ 1


@inner
def _worth_of_systems(row):  # type: ignore[no-untyped-def]
    """Return the worth of sharing a row of gesv, potrf or trsm."""
    kind = _field(row, 0)
    return _field(row, 9) if kind == _GESV else _field(row, 7) if kind == _POTRF else _field(row, 12)


@inner
def _systems(row, frame, start, stop):  # type: ignore[no-untyped-def]
    """Run some matrices of a row of gesv, potrf or trsm; return 0 if one has no result."""
    table = _field(frame, FUNCTIONS)
    kind, function, count = _field(row, 0), int64_at(table + 8 * _field(row, 1)), stop - start
    info, n = frame + 32, _field(row, 3)
    if count < 1:
        return 1
    if kind == _GESV:
        size = _field(row, 5)
        a, pivots = int64_at(frame) + start * n * n * size, _address(frame, _field(row, 7))
        x = _address(frame, _field(row, 8)) + start * n * _field(row, 4) * size
        return call8(int64_at(table + _DO_SOLVE), (function, count, row + 24, size, a, pivots, x, info))
    if kind == _POTRF:
        size = _field(row, 5)
        x = _address(frame, _field(row, 6)) + start * n * n * size
        return call7(int64_at(table + _DO_CHOLESKY), (function, count, row + 24, row + 32, size, x, info))
    size, step = _field(row, 8), _field(row, 9)
    a = _address(frame, _field(row, 10)) + start * step
    x = _address(frame, _field(row, 11)) + start * n * _field(row, 4) * size
    return call7(int64_at(table + _DO_TRIANGULAR_SOLVE), (function, count, row + 24, size, step, a, x))


@inner
def _part(row, frame, start, stop):  # type: ignore[no-untyped-def]
    """Run some blocks, some tasks of a kernel, or some matrices of a stack; return 0 if that fails."""
    kind = _field(row, 0)
    if kind == _KERNEL:
        return _tasks(row, frame, start, stop)
    if kind == _GUFUNC:
        return _matrices(row, frame, start, stop)
    if kind != _BLOCKS:
        return _systems(row, frame, start, stop)
    _blocks(row, frame, start, stop)
    return 1


@inner
def work(frame):  # type: ignore[no-untyped-def]
    """Do a thread's part of a row, and then what others have left of theirs."""
    row, number, threads = _field(frame, JOB_ROW), _field(frame, JOB_NUMBER), _field(frame, JOB_THREADS)
    is_done = 1
    begin(frame)
    for _ in range(threads):
        while True:
            start, stop = next_part(frame, number)
            if start >= stop:
                break
            if not _part(row, frame, start, min(start + _field(frame, JOB_CHUNK), stop)):
                is_done = 0
        number = number + 1 if number + 1 < threads else 0
    finish(frame, is_done)
    return 0


@inner
def _shared(row, frame):  # type: ignore[no-untyped-def]
    """Run a portion of all blocks, tasks of a kernel, or matrices, on as many threads as are worth it.

    Return whether none is left. If some are, the frame says how many are done, or 0 for a failure.
    """
    first, kind, block = _field(frame, DONE), _field(row, 0), 1
    if kind == _KERNEL:
        count, worth, portion = _field(row, 5), _field(row, 6), _field(row, 11)
    elif kind == _BLOCKS:
        count, block, portion = _field(row, 2), _field(row, 3), _field(row, 4)
        worth = _field(row, 1) * count // WORTH_SHARING
    elif kind == _GUFUNC:
        count, worth, portion = (
            int64_at(_field(frame, CODE) + 8 * _field(row, 4)),
            _field(row, 14),
            _field(row, 15),
        )
    else:
        count, worth = _field(row, 2), _worth_of_systems(row)
        portion = count
    end = min(first + portion, count)
    threads = min(min(_field(frame, THREADS), worth), (end - first + block - 1) // block)
    if threads > 1:
        is_done = share(row, frame, first, end, block, threads, worth >= _field(frame, STARTING))
    else:
        is_done = _part(row, frame, first, end) != 0
    if portion < count:
        set_int64(frame + 8 * DONE, end if is_done and end < count else 0)
        return is_done and end == count
    return is_done


@inner
def _gemm(row, frame):  # type: ignore[no-untyped-def]
    """Compute a stack of products."""
    table, size = _field(frame, FUNCTIONS), _field(row, 3) * _field(row, 4) * _field(row, 5)
    if ONE_THREAD_FROM < size < ONE_THREAD_TO:
        keep_blas_to_one_thread(table)
        _products(row, frame)
        give_blas_its_threads(table)
        return
    if size >= ONE_THREAD_TO:
        send_away(frame)
    _products(row, frame)


@inner
def _kernel(row, frame):  # type: ignore[no-untyped-def]
    """Run a portion of a kernel, whose tasks are shared among threads of the machine and not of BLAS."""
    table, function = _field(frame, FUNCTIONS), _field(row, 2)
    is_of_blas = function and not int64_at(_field(frame, DATA) + 8 * function)
    if is_of_blas:
        keep_blas_to_one_thread(table)
    is_done = _shared(row, frame)
    if is_of_blas:
        give_blas_its_threads(table)
    return is_done


@inner
def _products(row, frame):  # type: ignore[no-untyped-def]
    function = int64_at(_field(frame, FUNCTIONS) + 8 * _field(row, 1))
    stack = _field(frame, CODE) + 8 * _field(row, 2)
    outer_a, outer_b = _address(frame, _field(row, 12)), _address(frame, _field(row, 13))
    outer_c = _address(frame, _field(row, 14))
    # Fortran takes all by address: letters, sizes and numbers are read where they stand in the row.
    letters, sizes, leading, scales = row + 72, row + 24, row + 48, row + 80
    for _ in range(_field(stack, 0)):
        a, b, c = outer_a, outer_b, outer_c
        for _ in range(_field(stack, 1)):
            call13(
                function,
                (
                    letters, letters + 1, sizes, sizes + 8, sizes + 16, scales, a, leading, b, leading + 8,
                    scales + 8, c, leading + 16,
                ),
            )  # fmt: skip
            a += _field(stack, 3)
            b += _field(stack, 5)
            c += _field(stack, 7)
        outer_a += _field(stack, 2)
        outer_b += _field(stack, 4)
        outer_c += _field(stack, 6)


@inner
def _solve(row, frame):  # type: ignore[no-untyped-def]
    """Run a row of gesv, potrf or trsm; return 0 if a matrix has no result."""
    if _field(row, 0) == _GESV:  # in the registers of this thread
        set_int64(frame, _address(frame, _field(row, 6)))
    if _worth_of_systems(row) == 1:
        return _systems(row, frame, 0, _field(row, 2))
    table = _field(frame, FUNCTIONS)
    keep_blas_to_one_thread(table)
    is_done = _shared(row, frame)
    give_blas_its_threads(table)
    return is_done


@inner
def _gufunc(row, frame):  # type: ignore[no-untyped-def]
    """Run a portion of a generalised ufunc; return 0 if some is left, or a matrix has no result."""
    if _field(row, 14) > 1 or _field(frame, DONE):
        return _shared(row, frame)
    count = int64_at(_field(frame, CODE) + 8 * _field(row, 4))
    return _matrices(row, frame, 0, count) if _field(row, 15) == count else _shared(row, frame)


@inner
def _write_part(row, frame, kernel):  # type: ignore[no-untyped-def]
    """Run a row of store or add_store: write a contiguous operand to a part of the result."""
    code = _field(frame, CODE)
    x, out = _address(frame, _field(row, 6)), _address(frame, _field(row, 7))
    lengths, strides = code + 8 * _field(row, 4), code + 8 * _field(row, 5)
    call7(kernel, (x, _field(row, 1), _field(row, 3), lengths, strides, _field(row, 2), out))


@inner
def _by_index(row, frame, kernel, first, second, third):  # type: ignore[no-untyped-def]
    """Run a row of take or scatter_add; return 0 if an index is out of range."""
    return call8(
        kernel,
        (
            _field(row, 1), _address(frame, first), _field(row, 2), _field(row, 3), _address(frame, second),
            _field(row, 4), _field(row, 5), _address(frame, third),
        ),
    )  # fmt: skip


@inner
def _bind_step(row, frame, body, step, first, stop):  # type: ignore[no-untyped-def]
    """Write the addresses of what the body of a loop reads and writes in a step into its frame."""
    bindings, states = _field(row, 3), _field(row, 4)
    other = row + _ROW
    for _ in range(bindings if step == first else _field(row, 8)):
        slot = body + _SLOTS + 8 * _field(other, 1)
        set_int64(slot, _address(frame, _field(other, 4)) + step * _field(other, 2))
        other += _ROW
    other = row + _ROW * (1 + bindings)
    do_move = int64_at(_field(frame, FUNCTIONS) + _DO_MOVE)
    for _ in range(states):
        kind = _field(other, 0)
        if kind == _KEPT_STATE:
            if step == first:
                target = _address(frame, _field(other, 4))
                call3(do_move, (target, _address(frame, _field(other, 3)), _field(other, 2)))
                set_int64(body + _SLOTS + 8 * _field(other, 1), target)
            other += _ROW
            continue
        if kind == _STATE:
            # What the last step writes is the result; from there back, it and the spare one take turns.
            source, target = _address(frame, _field(other, 5)), _address(frame, _field(other, 6))
            if (stop - step) % 2:
                source, target = target, source
            if step == first:
                source = _address(frame, _field(other, 4))
        else:
            here = _address(frame, _field(other, 6)) + step * _field(other, 7)
            if _field(other, 8):
                source, target = here, here + _field(other, 7)
                if step == stop - 1:
                    target = _address(frame, _field(other, 5))
                if step == first:
                    call3(do_move, (source, _address(frame, _field(other, 4)), _field(other, 3)))
            else:
                source, target = here - _field(other, 7), here
                if step == first:
                    source = _address(frame, _field(other, 4))
        set_int64(body + _SLOTS + 8 * _field(other, 1), source)
        set_int64(body + _SLOTS + 8 * _field(other, 2), target)
        other += _ROW


@inner
def _finish_state(other, frame, first, step, stop):  # type: ignore[no-untyped-def]
    """Put the last state where the result is, if it is not there."""
    kind, do_move = _field(other, 0), int64_at(_field(frame, FUNCTIONS) + _DO_MOVE)
    if kind == _KEPT_STATE:
        if step == first:
            out = _address(frame, _field(other, 4))
            call3(do_move, (out, _address(frame, _field(other, 3)), _field(other, 2)))
        return
    source = _address(frame, _field(other, 4))
    is_elsewhere = True
    if step != first:
        if kind == _STATE:
            source = _address(frame, _field(other, 6))
            is_elsewhere = (stop - step) % 2 != 0
        else:
            is_before = _field(other, 8)
            source = _address(frame, _field(other, 6)) + (step - 1 + is_before) * _field(other, 7)
            is_elsewhere = not is_before or step != stop
    if is_elsewhere:
        call3(do_move, (_address(frame, _field(other, 5)), source, _field(other, 3)))


@inner
def _goes_on(row, body):  # type: ignore[no-untyped-def]
    """Return whether the first state of a loop says that there is a next step."""
    slot = _field(row + _ROW * (1 + _field(row, 3)), 1)
    return uint8_at(int64_at(body + _SLOTS + 8 * slot)) != 0


@inner
def _loop(row, frame):  # type: ignore[no-untyped-def]
    """Run a portion of the steps of a loop; return whether none is left.

    If some are, the body's frame says where its run ended: in a row that Python must handle, or between
    steps.
    """
    table = _field(frame, FUNCTIONS)
    body = int64_at(_field(frame, BODIES) + 8 * _field(row, 1))
    last, bindings, states, ends = _field(row, 2), _field(row, 3), _field(row, 4), _field(row, 6)
    first = 0
    if ends > BY_FLAG:
        count = min(max(int64_at(_address(frame, _field(row, 7))), 0), last)
        first, last = (0, count) if ends == BY_COUNT else (last - count, last)
    begun = _field(frame, DONE)
    step, at, is_inside = first, 0, 0
    if begun:
        step, at, is_inside = (begun - 1) // 2, _field(body, AT), (begun - 1) % 2
    stop = min(step + _field(row, 5), last)
    do_run = int64_at(table + _DO_RUN)  # by address, as it runs this very function
    while step < stop:
        if not is_inside:  # else that was done before the machine stopped
            _bind_step(row, frame, body, step, first, last)
            if ends == BY_FLAG and not _goes_on(row, body):
                break
        at = call2(do_run, (body, at))
        if at != _field(body, ROWS):
            set_int64(body + 8 * AT, at)
            set_int64(frame + 8 * DONE, 2 * step + 2)
            return False
        at, is_inside = 0, 0
        step += 1
    if step == stop and step < last:
        set_int64(body + 8 * AT, BETWEEN_STEPS)
        set_int64(frame + 8 * DONE, 2 * step + 1)
        return False
    set_int64(frame + 8 * DONE, 0)
    other = row + _ROW * (1 + bindings)
    for _ in range(states):
        _finish_state(other, frame, first, step, last)
        other += _ROW
    return True


@inner
def run(frame, at):  # type: ignore[no-untyped-def]
    """Run from a row on; return the row that ended the run, or the number of rows."""
    code, stop, table = _field(frame, CODE), _field(frame, ROWS), _field(frame, FUNCTIONS)
    while at < stop:
        row = code + at * _ROW
        kind = _field(row, 0)
        if kind <= _LOAD:
            _elementwise(row, frame, 0, _field(row, 2))
        elif kind == _GEMM:
            _gemm(row, frame)
        elif kind == _SCALAR:
            call3(int64_at(table + _DO_SCALARS), (frame, row + 8, 1))
        elif kind == _SCALARS:
            call3(int64_at(table + _DO_SCALARS), (frame, code + 8 * _field(row, 2), _field(row, 1)))
        elif kind == _BLOCKS:
            if not _shared(row, frame):
                return at
            at += _field(row, 1)
        elif kind == _KERNEL:
            if not _kernel(row, frame):
                return at
        elif kind == _FOLD:
            x, out = _address(frame, _field(row, 6)), _address(frame, _field(row, 7))
            before, reduced, after = _field(row, 3), _field(row, 4), _field(row, 5)
            call7(
                int64_at(table + _DO_FOLD), (_field(row, 1), _field(row, 2), x, before, reduced, after, out)
            )
        elif kind == _SUM_PRODUCT:
            x, y, out = (
                _address(frame, _field(row, 5)),
                _address(frame, _field(row, 6)),
                _address(frame, _field(row, 7)),
            )
            call7(
                int64_at(table + _DO_SUM_PRODUCT),
                (_field(row, 1), _field(row, 2), _field(row, 3), _field(row, 4), x, y, out),
            )
        elif kind == _NUMPY_FOLD:
            function = 8 * _field(row, 1)
            loop, data = int64_at(table + function), int64_at(_field(frame, DATA) + function)
            x, out = _address(frame, _field(row, 7)), _address(frame, _field(row, 8))
            before, reduced, after = _field(row, 2), _field(row, 3), _field(row, 4)
            call10(
                int64_at(table + _DO_NUMPY_FOLD),
                (loop, data, _field(row, 6), _field(row, 5), before, reduced, after, x, out, frame),
            )
        elif kind == _NUMPY_MATMUL:
            function, lengths = 8 * _field(row, 1), code + 8 * _field(row, 2)
            for k in range(3):
                set_int64(frame + 8 * k, _address(frame, _field(row, 3 + k)))
            data = int64_at(_field(frame, DATA) + function)
            call4(int64_at(table + function), (frame, lengths, lengths + 32, data))
        elif kind == _SCAN:
            x, y, out = (
                _address(frame, _field(row, 7)),
                _address(frame, _field(row, 8)),
                _address(frame, _field(row, 9)),
            )
            before, length, after = _field(row, 3), _field(row, 4), _field(row, 5)
            call9(
                int64_at(table + _DO_SCAN),
                (_field(row, 1), _field(row, 2), before, length, after, _field(row, 6), x, y, out),
            )
        elif kind == _COPY:
            x, out = _address(frame, _field(row, 2)), _address(frame, _field(row, 3))
            call3(int64_at(table + _DO_MOVE), (out, x, _field(row, 1)))
        elif kind == _GESV or kind == _POTRF or kind == _TRSM:  # noqa: SIM109
            if not _solve(row, frame):
                return at
        elif kind == _GUFUNC:
            if not _gufunc(row, frame):
                return at
        elif kind == _STORE:
            _write_part(row, frame, int64_at(table + _DO_STORE))
        elif kind == _ADD_STORE:
            _write_part(row, frame, int64_at(table + _DO_ADD_STORE))
        elif kind == _TAKE:
            kernel = int64_at(table + _DO_TAKE)
            if not _by_index(row, frame, kernel, _field(row, 6), _field(row, 7), _field(row, 8)):
                return at
        elif kind == _SCATTER_ADD:
            kernel = int64_at(table + _DO_SCATTER_ADD)
            if not _by_index(row, frame, kernel, _field(row, 6), _field(row, 7), _field(row, 8)):
                return at
        elif kind == _RAVEL_INDEX:
            so_far, index = _address(frame, _field(row, 4)), _address(frame, _field(row, 5))
            out = _address(frame, _field(row, 6))
            if not call6(
                int64_at(table + _DO_RAVEL_INDEX),
                (_field(row, 1), _field(row, 2), _field(row, 3), so_far, index, out),
            ):
                return at
        elif kind == _GUARD:
            x = _address(frame, _field(row, 4))
            found = call4(int64_at(table + _DO_READ_INTEGER), (_field(row, 2), _field(row, 1), x, 0))
            if found != _field(row, 3):
                return at
        elif kind == _LOOP:
            if not _loop(row, frame):
                return at
            at += _field(row, 3) + _field(row, 4)
        else:
            return at
        at += 1
    return at


@inner
def _has_raised(frame):  # type: ignore[no-untyped-def]
    """Return whether a function has set an exception, as SciPy's do inside of `scipy.special.errstate`."""
    return call1(int64_at(_field(frame, FUNCTIONS) + _ERROR), (0,)) != 0


@inner
def _answer(frame, at):  # type: ignore[no-untyped-def]
    """Store where the run ended; return Python's True at the end, False before it, 0 for an exception."""
    set_int64(frame + 8 * AT, at)
    if _has_raised(frame):
        return 0
    table = _field(frame, FUNCTIONS)
    result = int64_at(table + (_TRUE if at == _field(frame, ROWS) else _FALSE))
    call1(int64_at(table + _INCREF), (result,))
    return result


@inner
def _run_released(frame, at):  # type: ignore[no-untyped-def]
    """Run, without Python's lock if it takes long enough to be worth it."""
    table = _field(frame, FUNCTIONS)
    do_run = int64_at(table + _DO_RUN)
    if not int64_at(_field(frame, SPEC) + 16):
        return call2(do_run, (frame, at))
    state = call1(int64_at(table + _RELEASE), (0,))
    at = call2(do_run, (frame, at))
    call1(int64_at(table + _ACQUIRE), (state,))
    return at


@inner
def call(itself, arguments, count):  # type: ignore[no-untyped-def]
    """``call(frame, leaves, ring)`` in Python: bind dynamic leaves and arrays for results, and run.

    ``call(frame)`` resumes at the row that the frame says.

    Python objects are passed as addresses. The ring is a tuple of tuples of arrays; the first of them that
    nothing else refers to takes the results, and is returned if all rows have run. Otherwise False is
    returned, and the frame says which row Python must handle; for a leaf that does not fit that is -1 less
    its number. An exception that a function has set is raised at the end of the run.
    """
    frame = int64_at(int64_at(arguments) + ARRAY_DATA)
    if count == 1:
        return _answer(frame, _run_released(frame, _field(frame, AT)))
    leaves, ring = int64_at(arguments + 8), int64_at(arguments + 16)
    wrong = bind(frame, leaves, _field(frame, SPEC))
    if wrong >= 0:
        return _answer(frame, -1 - wrong)
    for k in range(int64_at(ring + TUPLE_SIZE)):
        arrays = int64_at(ring + TUPLE + 8 * k)
        if bind_results(frame, arrays, _field(frame, SPEC)):
            set_int64(frame + 8 * RING, k)
            at = _run_released(frame, 0)
            if at != _field(frame, ROWS) or _has_raised(frame):
                return _answer(frame, at)
            call1(int64_at(_field(frame, FUNCTIONS) + _INCREF), (arrays,))
            return arrays
    return _answer(frame, NO_ARRAYS)
