"""The machine: one compiled loop over an instruction array, and the way into it from Python.

The loop allocates nothing and checks nothing: `tape.program.runtime.verify` has proved that every row stays
within its slots. C functions do the work of a row, found by number in a table: NumPy's loops, BLAS, and the
kernels of `tape.kernels`. Callbacks, and guards with another outcome, end the loop; the caller handles the
row, and resumes the loop after it. Pauses, and portions of rows that take long, end it too: Python handles
signals, and resumes it in the same row.

`tape.program.native.compiling` compiles these functions, and `tape.kernels.loading` makes one Python's.
"""

from __future__ import annotations

from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import (
    call1,
    call2,
    call3,
    call4,
    call6,
    call7,
    call8,
    call9,
    call10,
    call13,
    int64_at,
    set_int64,
)
from tape.kernels.compiled.scalars import scalar
from tape.kernels.compiled.short import short
from tape.kernels.headers import ARRAY_DATA, TUPLE, TUPLE_SIZE
from tape.kernels.matrices import ONE_THREAD_FROM, ONE_THREAD_TO
from tape.program.native.binding import bind, bind_results
from tape.program.native.frames import OFFSETS, ROW, address, field
from tape.program.native.loops import loop
from tape.program.native.opcodes import (
    AT,
    CODE,
    COMPILED_FROM,
    DATA,
    DONE,
    FIELDS,
    FUNCTIONS,
    NO_ARRAYS,
    RING,
    ROWS,
    SPEC,
    opcode,
)
from tape.program.native.parts import elementwise, matrices, shared, systems, worth_of_systems
from tape.program.native.workers import give_blas_its_threads, keep_blas_to_one_thread, send_away

_LOAD, _COPY, _STORE, _ADD_STORE = map(opcode, ("load", "copy", "store", "add_store"))
_SCALAR, _SCALARS, _SHORT, _SHORTS = map(opcode, ("scalar", "scalars", "short", "shorts"))
_BLOCKS, _KERNEL = map(opcode, ("blocks", "kernel"))
_FOLD, _NUMPY_FOLD, _SCAN, _SUM_PRODUCT = map(opcode, ("fold", "numpy_fold", "scan", "sum_product"))
_GEMM, _NUMPY_MATMUL, _GUFUNC = map(opcode, ("gemm", "numpy_matmul", "gufunc"))
_GESV, _POTRF, _TRSM = map(opcode, ("gesv", "potrf", "trsm"))
_TAKE, _SCATTER_ADD, _RAVEL_INDEX = map(opcode, ("take", "scatter_add", "ravel_index"))
_GUARD, _LOOP = map(opcode, ("guard", "loop"))

_DO_MOVE, _DO_STORE, _DO_ADD_STORE = OFFSETS["memmove"], OFFSETS["store"], OFFSETS["add_store"]
_DO_FOLD, _DO_NUMPY_FOLD = OFFSETS["fold"], OFFSETS["numpy_fold"]
_DO_SCAN, _DO_SUM_PRODUCT = OFFSETS["scan"], OFFSETS["sum_product"]
_DO_TAKE, _DO_SCATTER_ADD = OFFSETS["take"], OFFSETS["scatter_add"]
_DO_RAVEL_INDEX, _DO_READ_INTEGER = OFFSETS["ravel_index"], OFFSETS["read_integer"]
_DO_SCALARS, _DO_SHORTS, _DO_RUN = OFFSETS["scalars"], OFFSETS["shorts"], OFFSETS["run"]
_TRUE, _FALSE, _INCREF = OFFSETS["Py_True"], OFFSETS["Py_False"], OFFSETS["Py_IncRef"]
_RELEASE, _ACQUIRE = OFFSETS["PyEval_SaveThread"], OFFSETS["PyEval_RestoreThread"]
_ERROR = OFFSETS["PyErr_Occurred"]
_ENTRY, _SHORT_ENTRY = (8 * len(FIELDS[name]) for name in ("scalar", "short"))


@inner
def scalars(frame, entry, count):  # type: ignore[no-untyped-def]
    """Compute with single numbers, one entry after the other.

    What an entry costs is mostly finding out its kind, unless it is that of the one before. The beginning of
    the frame keeps the last condition.
    """
    for _ in range(count):
        x, y = address(frame, int64_at(entry + 8)), address(frame, int64_at(entry + 16))
        scalar(int64_at(entry), x, y, address(frame, int64_at(entry + 24)), frame)
        entry += _ENTRY


@inner
def shorts(frame, entry, count):  # type: ignore[no-untyped-def]
    """Compute with short arrays, one entry after the other."""
    for _ in range(count):
        x, y = address(frame, int64_at(entry + 16)), address(frame, int64_at(entry + 24))
        short(int64_at(entry), int64_at(entry + 8), x, y, address(frame, int64_at(entry + 32)))
        entry += _SHORT_ENTRY


@inner
def _gemm(row, frame):  # type: ignore[no-untyped-def]
    """Compute a stack of products."""
    table, size = field(frame, FUNCTIONS), field(row, 3) * field(row, 4) * field(row, 5)
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
    table, function = field(frame, FUNCTIONS), field(row, 2)
    is_of_blas = function and not int64_at(field(frame, DATA) + 8 * function)
    if is_of_blas:
        keep_blas_to_one_thread(table)
    is_done = shared(row, frame)
    if is_of_blas:
        give_blas_its_threads(table)
    return is_done


@inner
def _products(row, frame):  # type: ignore[no-untyped-def]
    function = int64_at(field(frame, FUNCTIONS) + 8 * field(row, 1))
    stack = field(frame, CODE) + 8 * field(row, 2)
    outer_a, outer_b = address(frame, field(row, 12)), address(frame, field(row, 13))
    outer_c = address(frame, field(row, 14))
    # Fortran takes all by address: letters, sizes and numbers are read where they stand in the row.
    letters, sizes, leading, scales = row + 72, row + 24, row + 48, row + 80
    for _ in range(field(stack, 0)):
        a, b, c = outer_a, outer_b, outer_c
        for _ in range(field(stack, 1)):
            call13(
                function,
                (
                    letters, letters + 1, sizes, sizes + 8, sizes + 16, scales, a, leading, b, leading + 8,
                    scales + 8, c, leading + 16,
                ),
            )  # fmt: skip
            a += field(stack, 3)
            b += field(stack, 5)
            c += field(stack, 7)
        outer_a += field(stack, 2)
        outer_b += field(stack, 4)
        outer_c += field(stack, 6)


@inner
def _solve(row, frame):  # type: ignore[no-untyped-def]
    """Run a row of gesv, potrf or trsm; return 0 if a matrix has no result."""
    if field(row, 0) == _GESV:  # in the registers of this thread
        set_int64(frame, address(frame, field(row, 6)))
    if worth_of_systems(row) == 1:
        return systems(row, frame, 0, field(row, 2))
    table = field(frame, FUNCTIONS)
    keep_blas_to_one_thread(table)
    is_done = shared(row, frame)
    give_blas_its_threads(table)
    return is_done


@inner
def _gufunc(row, frame):  # type: ignore[no-untyped-def]
    """Run a portion of a generalised ufunc; return 0 if some is left, or a matrix has no result."""
    if field(row, 14) > 1 or field(frame, DONE):
        return shared(row, frame)
    count = int64_at(field(frame, CODE) + 8 * field(row, 4))
    return matrices(row, frame, 0, count) if field(row, 15) == count else shared(row, frame)


@inner
def _write_part(row, frame, kernel):  # type: ignore[no-untyped-def]
    """Run a row of store or add_store: write a contiguous operand to a part of the result."""
    code = field(frame, CODE)
    x, out = address(frame, field(row, 6)), address(frame, field(row, 7))
    lengths, strides = code + 8 * field(row, 4), code + 8 * field(row, 5)
    call7(kernel, (x, field(row, 1), field(row, 3), lengths, strides, field(row, 2), out))


@inner
def _by_index(row, frame, kernel, first, second, third):  # type: ignore[no-untyped-def]
    """Run a row of take or scatter_add; return 0 if an index is out of range."""
    return call8(
        kernel,
        (
            field(row, 1), address(frame, first), field(row, 2), field(row, 3), address(frame, second),
            field(row, 4), field(row, 5), address(frame, third),
        ),
    )  # fmt: skip


@inner
def run(frame, at):  # type: ignore[no-untyped-def]
    """Run from a row on; return the row that ended the run, or the number of rows."""
    code, stop, table = field(frame, CODE), field(frame, ROWS), field(frame, FUNCTIONS)
    while at < stop:
        row = code + at * ROW
        kind = field(row, 0)
        if kind <= _LOAD:
            elementwise(row, frame, 0, field(row, 2))
        elif kind == _GEMM:
            _gemm(row, frame)
        elif kind == _SCALAR:
            call3(int64_at(table + _DO_SCALARS), (frame, row + 8, 1))
        elif kind == _SCALARS:
            call3(int64_at(table + _DO_SCALARS), (frame, code + 8 * field(row, 2), field(row, 1)))
        elif kind == _SHORT:
            call3(int64_at(table + _DO_SHORTS), (frame, row + 8, 1))
        elif kind == _SHORTS:
            call3(int64_at(table + _DO_SHORTS), (frame, code + 8 * field(row, 2), field(row, 1)))
        elif kind == _BLOCKS:
            if not shared(row, frame):
                return at
            at += field(row, 1)
        elif kind == _KERNEL:
            if not _kernel(row, frame):
                return at
        elif kind == _FOLD:
            x, out = address(frame, field(row, 6)), address(frame, field(row, 7))
            before, reduced, after = field(row, 3), field(row, 4), field(row, 5)
            call7(int64_at(table + _DO_FOLD), (field(row, 1), field(row, 2), x, before, reduced, after, out))
        elif kind == _SUM_PRODUCT:
            x, y, out = (
                address(frame, field(row, 5)),
                address(frame, field(row, 6)),
                address(frame, field(row, 7)),
            )
            call7(
                int64_at(table + _DO_SUM_PRODUCT),
                (field(row, 1), field(row, 2), field(row, 3), field(row, 4), x, y, out),
            )
        elif kind == _NUMPY_FOLD:
            function = 8 * field(row, 1)
            folding, data = int64_at(table + function), int64_at(field(frame, DATA) + function)
            x, out = address(frame, field(row, 7)), address(frame, field(row, 8))
            before, reduced, after = field(row, 2), field(row, 3), field(row, 4)
            call10(
                int64_at(table + _DO_NUMPY_FOLD),
                (folding, data, field(row, 6), field(row, 5), before, reduced, after, x, out, frame),
            )
        elif kind == _NUMPY_MATMUL:
            function, lengths = 8 * field(row, 1), code + 8 * field(row, 2)
            for k in range(3):
                set_int64(frame + 8 * k, address(frame, field(row, 3 + k)))
            data = int64_at(field(frame, DATA) + function)
            call4(int64_at(table + function), (frame, lengths, lengths + 32, data))
        elif kind == _SCAN:
            x, y, out = (
                address(frame, field(row, 7)),
                address(frame, field(row, 8)),
                address(frame, field(row, 9)),
            )
            before, length, after = field(row, 3), field(row, 4), field(row, 5)
            call9(
                int64_at(table + _DO_SCAN),
                (field(row, 1), field(row, 2), before, length, after, field(row, 6), x, y, out),
            )
        elif kind == _COPY:
            x, out = address(frame, field(row, 2)), address(frame, field(row, 3))
            call3(int64_at(table + _DO_MOVE), (out, x, field(row, 1)))
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
            if not _by_index(row, frame, kernel, field(row, 6), field(row, 7), field(row, 8)):
                return at
        elif kind == _SCATTER_ADD:
            kernel = int64_at(table + _DO_SCATTER_ADD)
            if not _by_index(row, frame, kernel, field(row, 6), field(row, 7), field(row, 8)):
                return at
        elif kind == _RAVEL_INDEX:
            so_far, index = address(frame, field(row, 4)), address(frame, field(row, 5))
            out = address(frame, field(row, 6))
            if not call6(
                int64_at(table + _DO_RAVEL_INDEX),
                (field(row, 1), field(row, 2), field(row, 3), so_far, index, out),
            ):
                return at
        elif kind == _GUARD:
            x = address(frame, field(row, 4))
            found = call4(int64_at(table + _DO_READ_INTEGER), (field(row, 2), field(row, 1), x, 0))
            if found != field(row, 3):
                return at
        elif kind == _LOOP:
            if not loop(row, frame):
                return at
            at += field(row, 3) + field(row, 4)
        elif kind >= COMPILED_FROM:  # the address of what does the same as this row and some behind it
            at += call1(kind, (frame,))
        else:
            return at
        at += 1
    return at


@inner
def _has_raised(frame):  # type: ignore[no-untyped-def]
    """Return whether a function has set an exception, as SciPy's do inside of `scipy.special.errstate`."""
    return call1(int64_at(field(frame, FUNCTIONS) + _ERROR), (0,)) != 0


@inner
def _answer(frame, at):  # type: ignore[no-untyped-def]
    """Store where the run ended; return Python's True at the end, False before it, 0 for an exception."""
    set_int64(frame + 8 * AT, at)
    if _has_raised(frame):
        return 0
    table = field(frame, FUNCTIONS)
    result = int64_at(table + (_TRUE if at == field(frame, ROWS) else _FALSE))
    call1(int64_at(table + _INCREF), (result,))
    return result


@inner
def _run_released(frame, at):  # type: ignore[no-untyped-def]
    """Run, without Python's lock if it takes long enough to be worth it."""
    table = field(frame, FUNCTIONS)
    do_run = int64_at(table + _DO_RUN)
    if not int64_at(field(frame, SPEC) + 16):
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
        return _answer(frame, _run_released(frame, field(frame, AT)))
    leaves, ring = int64_at(arguments + 8), int64_at(arguments + 16)
    wrong = bind(frame, leaves, field(frame, SPEC))
    if wrong >= 0:
        return _answer(frame, -1 - wrong)
    for k in range(int64_at(ring + TUPLE_SIZE)):
        arrays = int64_at(ring + TUPLE + 8 * k)
        if bind_results(frame, arrays, field(frame, SPEC)):
            set_int64(frame + 8 * RING, k)
            at = _run_released(frame, 0)
            if at != field(frame, ROWS) or _has_raised(frame):
                return _answer(frame, at)
            call1(int64_at(field(frame, FUNCTIONS) + _INCREF), (arrays,))
            return arrays
    return _answer(frame, NO_ARRAYS)
