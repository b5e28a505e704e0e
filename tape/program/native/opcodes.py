"""The format of the instruction array: opcodes, the fields of a row, and the machine's frame.

A program is an array of int64 with `WIDTH` numbers a row. The first number of a row is the opcode; the others
depend on it, and `FIELDS` names them. Operands are packed as slot and byte offset; the machine finds the
address of each slot in its frame. Tables of lengths and strides follow the last row.
"""

from __future__ import annotations

from tape.kernels.registry import REGISTRY

WIDTH = 20
# Cycles of work, of elementwise rows elements times operations: what is worth sharing with a thread that
# waits for work; how many times as much is worth starting one.
WORTH_SHARING, WORTH_A_THREAD, MOST_WORTH = 1 << 14, 8, 1 << 14
# An operand is the number of its slot times 8, which is where the slot's address is among those in a frame,
# and above it the offset: less than that has bits for.
OFFSET_BITS, SLOT_BITS = 40, 43
OFFSET_MASK = (1 << SLOT_BITS) - 1

# Slots that every program has; those of inputs, constants and outputs follow.
ARENA, REGISTERS, LITERALS, FIRST_SLOT = 0, 1, 2, 3

# Numbers in the frame, before the addresses of the slots: first what the machine writes arguments of C
# functions to.
SCRATCH, CODE, FUNCTIONS, DATA, ROWS, SPEC, AT, RING = 0, 7, 8, 9, 10, 11, 12, 13
# How many threads there are, where the frames of the others are, their size, where threads may start (see
# `tape.program.native.threads`), and the worth from which on a row starts them.
THREADS, OTHERS, FRAME_BYTES, PLACES, STARTING = range(14, 19)
# What a thread is to do: the row, the frame of the caller, the thread's number, how many there are, how much
# it takes at a time; from where to where its own part is; its seat; the floating-point exceptions that it has
# raised; whether it could, -1 until it is done.
(
    JOB_ROW, JOB_CALLER, JOB_NUMBER, JOB_THREADS, JOB_CHUNK, JOB_NEXT, JOB_STOP, JOB_SEAT, JOB_FLAGS,
    JOB_DONE,
) = range(19, 29)  # fmt: skip
# Elements or tasks that are done of the row in AT, if the machine has stopped in the middle of it.
# Of a loop, that is one more than twice the steps that are done, and one more inside of the next one.
DONE = 29
# Where the addresses of the frames of the bodies of loops are.
BODIES = 30
# What a thread writes the lengths for a loop of a generalised ufunc to: matrices, and core dimensions.
LENGTHS, MOST_DIMENSIONS = 31, 5
# The floating-point environment of the caller, a fenv_t, which threads that work for it take over.
ENVIRONMENT = LENGTHS + 1 + MOST_DIMENSIONS
SLOTS = ENVIRONMENT + 8
BY_FLAG, BY_COUNT, BY_COUNT_BACK = 1, 2, 3  # how a loop ends: see its row
# From here on, a number in the place of an opcode is the address of a function of the frame: see
# `tape.program.hot.lanes`. No array that is verified has one.
COMPILED_FROM = 4096
BETWEEN_STEPS = -1  # in AT of such a frame: the machine has paused before the next step
PLACE_BYTES = 64  # of what a thread is started with

# The seat of a thread: its state, the table of functions, its handle, whether it is to be started, where it
# may run. Two cache lines, as processors read these by twos. Work that is posted is a state of its own: the
# address of the thread's frame, so that nobody takes back what another caller has posted.
SEAT_TABLE, SEAT_THREAD, SEAT_IS_NEW, SEAT_PLACES = range(1, 5)
MOST_THREADS, SEAT_BYTES = 64, 128
EMPTY, LEFT, CLAIMED, BUSY, WAITING, LEAVING = range(6)
# In the table of seats, behind the last one: how many rows keep BLAS to one thread now, how many it had
# before, and a lock for both.
BLAS_USERS, BLAS_THREADS, BLAS_LOCK = range(3)
NO_ARRAYS = -(1 << 40)  # in AT: no set of arrays for results is free

# A specification of arguments: how many leaves, how many arrays for results, whether to run without Python's
# lock, how many leaves are overwritten, how many other arrays are read, and where both are; for each leaf its
# slot, whether it is an array, type, dtype, flags, ndim and where its lengths are; for each array for results
# its slot, dtype, ndim and where its lengths are; the lengths; the numbers of leaves that are overwritten;
# the bytes of each leaf, 0 for a number; of each other array the addresses of its first byte and of the one
# after its last. Slots of leaves follow one another.
HEADER, LEAF, RESULT = 6, 7, 4

KERNELS = (
    "load", "store", "add_store", "cast", "select", "by_rows", "pair", "fold", "take", "scatter_add",
    "ravel_index", "read_integer", "memmove", "run", "work", "serve", "seats", "pthread_create",
    "pthread_join", "pthread_self", "sched_getcpu", "sched_setaffinity", "sched_yield", "fegetenv",
    "fesetenv", "feraiseexcept",
    "Py_True", "Py_False", "Py_IncRef", "PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_Occurred",
    "openblas_get_num_threads", "openblas_set_num_threads", "feclearexcept", "fetestexcept", "scalars",
    "shorts", "sum_product", "numpy_fold", "scan", "solve", "cholesky", "triangular_solve", *REGISTRY,
)  # fmt: skip
"""The first entries of the table of functions."""

FIELDS: dict[str, tuple[str, ...]] = {
    # elementwise; their first three fields after the opcode have the same meaning for all of them
    "unary": ("function", "count", "stride_x", "stride_out", "x", "out"),
    "binary": ("function", "count", "stride_x", "stride_y", "stride_out", "x", "y", "out"),
    "cast": ("from", "count", "to", "x", "out"),
    "select": ("itemsize", "count", "stride_x", "stride_y", "condition", "x", "y", "out"),
    # operands x with a number y for each row of so many columns, y being read in place
    "by_rows": ("kind", "count", "columns", "itemsize", "stride", "x", "y", "out"),
    # the strides of operands are those that the kind implies, 0 for a number
    "pair": ("kind", "count", "itemsize", "stride_x", "stride_y", "stride_z", "x", "y", "z", "out"),
    "load": ("itemsize", "count", "ndim", "lengths", "strides", "x", "out"),
    # the first rows of blocks may be such whose results all blocks share: they run for the first one only;
    # operations: on each element, two of a pair
    "blocks": ("rows", "count", "block", "portion", "once", "operations"),
    # the rest
    "scalar": ("kind", "x", "y", "out"),
    "scalars": ("count", "entries"),  # many of them: its table has the fields of each
    "short": ("kind", "count", "x", "y", "out"),  # x is 0 if there is one operand
    "shorts": ("count", "entries"),
    "fold": ("kind", "dtype", "before", "reduced", "after", "x", "out"),
    "copy": ("bytes", "x", "out"),
    "store": ("itemsize", "count", "ndim", "lengths", "strides", "x", "out"),
    "add_store": ("dtype", "count", "ndim", "lengths", "strides", "x", "out"),
    # its stack is a table: two lengths, then the strides of a, b and c from matrix to matrix, two of each
    "gemm": (
        "function", "stack", "m", "n", "k", "lda", "ldb", "ldc", "transposed", "alpha", "beta", "a", "b", "c",
    ),
    # worth: its work in units of WORTH_SHARING; 1 if it is not to be shared
    "gesv": ("function", "batch", "n", "columns", "itemsize", "a", "pivots", "x", "worth"),
    "take": ("itemsize", "length", "row", "count", "before", "x", "index", "out"),
    "scatter_add": ("dtype", "length", "row", "count", "before", "total", "index", "x"),
    "ravel_index": ("count", "length", "wraps", "so_far", "index", "out"),
    "guard": ("kind", "dtype", "expected", "x"),
    "callback": ("index",),
    "sum_product": ("dtype", "before", "reduced", "after", "x", "y", "out"),
    # by the loops of NumPy's ufuncs; this stack has the lengths and strides that the loop of matmul takes
    "numpy_fold": ("function", "before", "reduced", "after", "itemsize", "start", "x", "out"),
    "numpy_matmul": ("function", "stack", "a", "b", "out"),
    "scan": ("kind", "dtype", "before", "length", "after", "backwards", "x", "y", "out"),
    "potrf": ("function", "batch", "n", "letter", "itemsize", "x", "worth"),
    "trsm": (
        "function", "batch", "n", "columns", "lda", "letters", "alpha", "itemsize", "stride_a", "a", "x",
        "worth",
    ),
    # of tape.program.native.gufuncs; the lengths begin with the number of matrices, the strides with those
    # from one to the next; it stops for a matrix without result (stops is 1), or does not
    "gufunc": (
        "function", "arguments", "stops", "lengths", "strides", "a", "b", "c", "d", "e", "f", "g",
        "dimensions", "worth", "portion",
    ),
    "kernel": ("kernel", "blas", "dtype", "parameters", "tasks", "worth", "x", "y", "z", "out", "portion"),
    "pause": (),
    # A loop is followed by the rows that say where its body finds its inputs and puts its outputs: the
    # address of a slot in a step is x + step times the number of the step. A state is read from one place
    # and written to the other; or it is overwritten; or it is read from and written to an array that collects
    # it, as it is before each step (before is 1) or after it. The last one goes to out.
    # What moves from step to step comes first; all else is bound once, before the first one.
    # It ends after its length (0), or before a step in which its first state is False (BY_FLAG), or after as
    # many steps as x says (BY_COUNT; BY_COUNT_BACK if these are the last ones of its length).
    # After so many steps in all runs as left says, if that is not 0, it pauses once, and left is 0: its steps
    # are worth compiling. Where they are then is in compiled, or 0: see `tape.program.hot`.
    "loop": ("body", "length", "bindings", "states", "portion", "ends", "x", "moving", "left", "compiled"),
    "binding": ("slot", "step", "bytes", "x"),
    "stacking": ("slot", "step", "bytes", "out"),
    "state": ("slot_in", "slot_out", "bytes", "first", "out", "spare"),
    "kept_state": ("slot_in", "bytes", "first", "out"),
    "collected_state": ("slot_in", "slot_out", "bytes", "first", "out", "array", "step", "before"),
}  # fmt: skip

_CODES = {name: code for code, name in enumerate(FIELDS)}


def opcode(name: str) -> int:
    """Return the opcode of a kind of row."""
    return _CODES[name]


def worth_of(cycles: int) -> int:
    """Return what a row of so much work says that it is worth: see `FIELDS`."""
    return max(1, min(cycles // WORTH_SHARING, MOST_WORTH))


def packed(slot: int, offset: int) -> int:
    """Return an operand as it is in a row."""
    return slot << SLOT_BITS | offset
