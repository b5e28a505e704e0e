"""The rules of the verifier, one by one, on rows written by hand."""

from contextlib import suppress

import numpy as np
import pytest

from tape import errors
from tape.kernels.codes import BY_ROWS, DTYPE_CODES, FOLDS, MOST_SHORT, PAIRS, SCALARS, SCANS, SHORT
from tape.kernels.columns import convolution_parameters
from tape.kernels.windowed import pooling_parameters
from tape.program.native.functions import (
    blas_number,
    gufunc_number,
    kernel_number,
    loop_number,
    matmul_number,
)
from tape.program.native.opcodes import (
    ARENA,
    FIELDS,
    LITERALS,
    MOST_WORTH,
    REGISTERS,
    SLOT_BITS,
    WIDTH,
    opcode,
    packed,
)
from tape.program.runtime.slots import Slot
from tape.program.runtime.verify import verify
from tests.tiers import some

FLOAT64, FLOAT32, INT64, BOOLS, _ = DTYPE_CODES.values()

INPUT, OUTPUT, ODD = 3, 4, 5
MEMORY = [
    Slot(1024, 64, True),
    Slot(512, 64, True),
    Slot(64, 16, False),
    Slot(512, 8, False),
    Slot(512, 8, True),
    Slot(512, 1, True),  # memory of no particular alignment
]
IN, OUT, ARENA_AT, REGISTER = packed(INPUT, 64), packed(OUTPUT, 64), packed(ARENA, 128), packed(REGISTERS, 0)


def number(name, *dtypes):
    return loop_number(name, tuple(map(np.dtype, dtypes)))


STRIDED = {"count": 6, "ndim": 2, "lengths": (2, 3), "strides": (-32, 8)}
POOL = pooling_parameters((2, 3, 5), (2, 3), (2, 2), (1, 2), ((0, 0), (1, 1)), (1, 1))
CONV = convolution_parameters((2, 2, 3), (2, 2, 2), (2,), (1,), ((0, 0),), (1,), 1)
STACK = (2, 2, 32, 64, -96, 0, 48, 96)  # two of two matrices; from a to a, b to b and c to c
LOOP = (2, 2, 2, 3, 32, -48, 48, 8, 16, 24, 8, 24, 8)  # two of (2, 2) @ (2, 3): lengths, then strides
STEPS = (48, 0, 0, 16, 8, 4, 16, 16, 8, 8, 8, 8, 8, 8, 8)  # of least squares: a matrix a time, one right side
LETTERS = ord("N") | ord("T") << 8
RIGHT_LETTERS = int.from_bytes(b"LUTN", "little")
ROWS_BY_KIND = {
    "unary": lambda: {
        "function": number("sin", "d", "d"), "count": 8, "stride_x": -8, "stride_out": 8,
        "x": packed(INPUT, 56), "out": OUT,
    },
    "binary": lambda: {
        "function": number("less", "d", "d", "?"), "count": 8, "stride_x": 16, "stride_y": 0, "stride_out": 1,
        "x": IN, "y": packed(LITERALS, 56), "out": packed(OUTPUT, 504),
    },
    "cast": lambda: {"from": FLOAT64, "count": 8, "to": FLOAT32, "x": IN, "out": OUT},
    "select": lambda: {
        "itemsize": 8, "count": 8, "stride_x": 8, "stride_y": 0, "condition": packed(INPUT, 504), "x": IN,
        "y": packed(LITERALS, 0), "out": OUT,
    },
    "by_rows": lambda: {
        "kind": BY_ROWS["subtract", 0], "count": 6, "columns": 4, "itemsize": 8, "stride": -32,
        "x": packed(INPUT, 464), "y": packed(INPUT, 32), "out": packed(OUTPUT, 464),
    },
    "pair": lambda: {
        "kind": PAIRS["subtract", "subtract_from", "nan"], "count": 8, "itemsize": 8, "stride_x": 0,
        "stride_y": 8, "stride_z": 0, "x": packed(LITERALS, 56), "y": packed(INPUT, 448),
        "z": packed(LITERALS, 0), "out": OUT,
    },
    "load": lambda: {"itemsize": 8, **STRIDED, "x": packed(INPUT, 32), "out": OUT},
    "blocks": lambda: {"rows": 0, "count": 64, "block": 16, "portion": 32, "once": 0, "operations": 1},
    "scalar": lambda: {"kind": 3, "x": IN, "y": packed(LITERALS, 0), "out": OUT},
    "scalars": lambda: {"count": 2, "entries": (3, IN, packed(LITERALS, 0), OUT, 6, OUT, OUT, ARENA_AT)},
    "short": lambda: {
        "kind": SHORT["subtract", "s", "first"], "count": 5, "x": packed(LITERALS, 60), "y": IN, "out": OUT,
    },
    "shorts": lambda: {
        "count": 2, "entries": (
            SHORT["sqrt", "f", "arrays"], 8, 0, IN, OUT,
            SHORT["add", "f", "second"], 3, IN, packed(LITERALS, 56), ARENA_AT,
        ),
    },
    "fold": lambda: {
        "kind": FOLDS["argmax"], "dtype": FLOAT32, "before": 2, "reduced": 3, "after": 4, "x": IN, "out": OUT,
    },
    "copy": lambda: {"bytes": 33, "x": packed(INPUT, 1), "out": packed(OUTPUT, 3)},
    "store": lambda: {"itemsize": 8, **STRIDED, "x": IN, "out": packed(OUTPUT, 32)},
    "add_store": lambda: {"dtype": FLOAT64, **STRIDED, "x": IN, "out": packed(OUTPUT, 32)},
    "gemm": lambda: {
        "function": blas_number("dgemm"), "stack": STACK, "m": 2, "n": 3, "k": 4, "lda": 2, "ldb": 3,
        "ldc": 2, "transposed": LETTERS, "alpha": -1, "beta": 7, "a": IN, "b": packed(INPUT, 160),
        "c": ARENA_AT,
    },
    "gesv": lambda: {
        "function": blas_number("sgesv"), "batch": 2, "n": 3, "columns": 2, "itemsize": 4, "a": REGISTER,
        "pivots": packed(REGISTERS, 128), "x": OUT, "worth": 1,
    },
    "gufunc": lambda: {
        "function": gufunc_number("lstsq", "ddd->ddid"), "arguments": 7, "stops": 1,
        "lengths": (2, 3, 2, 1, 2), "strides": STEPS,
        "a": IN, "b": packed(INPUT, 160), "c": packed(INPUT, 208), "d": OUT,
        "e": packed(OUTPUT, 96), "f": packed(OUTPUT, 112), "g": ARENA_AT,
        "dimensions": 4, "worth": 2, "portion": 1,
    },
    "kernel": lambda: {
        "kernel": kernel_number("max_pool_jvp"), "blas": 0, "dtype": FLOAT32, "parameters": POOL, "tasks": 2,
        "worth": 2, "x": packed(INPUT, 0), "y": IN, "z": IN, "out": OUT, "portion": 1,
    },
    "take": lambda: {
        "itemsize": 4, "length": 3, "row": 2, "count": 5, "before": 2, "x": IN, "index": packed(INPUT, 0),
        "out": OUT,
    },
    "scatter_add": lambda: {
        "dtype": FLOAT32, "length": 3, "row": 2, "count": 5, "before": 2, "total": OUT,
        "index": packed(INPUT, 0), "x": IN,
    },
    "ravel_index": lambda: {"count": 5, "length": 3, "wraps": 3, "so_far": OUT, "index": IN, "out": OUT},
    "guard": lambda: {"kind": 1, "dtype": BOOLS, "expected": -3, "x": packed(INPUT, 511)},
    "callback": lambda: {"index": 4},
    "pause": dict,
    "sum_product": lambda: {
        "dtype": FLOAT32, "before": 2, "reduced": 3, "after": 4, "x": IN, "y": packed(INPUT, 416), "out": OUT,
    },
    "numpy_fold": lambda: {
        "function": number("add", "f", "f", "f"), "before": 2, "reduced": 3, "after": 4, "itemsize": 4,
        "start": 0, "x": IN, "out": OUT,
    },
    "numpy_matmul": lambda: {
        "function": matmul_number(np.dtype(float)), "stack": LOOP, "a": IN, "b": packed(INPUT, 256),
        "out": OUT,
    },
    "scan": lambda: {
        "kind": SCANS["linear"], "dtype": FLOAT32, "before": 2, "length": 3, "after": 4, "backwards": 1,
        "x": IN, "y": packed(INPUT, 416), "out": OUT,
    },
    "potrf": lambda: {
        "function": blas_number("dpotrf"), "batch": 2, "n": 3, "letter": ord("U"), "itemsize": 8, "x": OUT,
        "worth": 2,
    },
    "trsm": lambda: {
        "function": blas_number("dtrsm"), "batch": 2, "n": 3, "columns": 2, "lda": 4, "alpha": -1,
        "letters": RIGHT_LETTERS, "itemsize": 8, "stride_a": -88, "a": packed(INPUT, 160), "x": OUT,
        "worth": 2,
    },
}  # fmt: skip
LOOPS = ("loop", "binding", "stacking", "state", "kept_state", "collected_state")
"""Rows that belong together: `tests.test_loop_instructions` has them."""
KINDS = [name for name in FIELDS if name not in LOOPS]
WRITTEN = {"scatter_add": ["total"], "gemm": ["c"], "gesv": ["a", "pivots", "x"], "guard": [],
           "potrf": ["x"], "trsm": ["x"], "gufunc": ["d", "e", "f", "g"]}  # fmt: skip
OPERANDS = frozenset(["x", "y", "z", "out", "condition", *"abcdefg", "pivots", "index", "so_far", "total"])


def operands(name):
    return [field for field in FIELDS[name] if field in OPERANDS and name != "callback"]


def assembled(*rows):
    """An instruction array; tuples become tables."""
    code, tables = np.zeros(WIDTH * len(rows), np.int64), []
    for k, (name, fields) in enumerate(rows):
        assert set(fields) == set(FIELDS[name])
        values = [opcode(name)]
        for field in FIELDS[name]:
            value = fields[field]
            if isinstance(value, tuple):
                tables += value
                value = len(code) + len(tables) - len(value)
            values.append(value)
        code[k * WIDTH : k * WIDTH + len(values)] = values
    return np.concatenate([code, np.array(tables, np.int64)])


def check(*rows):
    verify(assembled(*rows), len(rows), MEMORY, [1, 4])


def row(name, **changes):
    return name, {**ROWS_BY_KIND[name](), **changes}


def refused(name, field, *, words="", **changes):
    is_entry = name in ("scalars", "shorts") and field in {*FIELDS[name[:-1]]} - {"count"}
    kind = name[:-1] if is_entry else name  # entries are such rows
    with pytest.raises(errors.ProgramError, match=rf"row 0 \({kind}\), {field}: .*{words}"):
        check(row(name, **changes))


@pytest.mark.parametrize("name", KINDS)
def test_rows_that_fit_exactly_are_accepted(name):
    check(row(name))
    check(row(name), row(name))


def test_products_may_sum_over_nothing_but_have_results():
    check(row("gemm", k=0))
    for side in ("m", "n"):
        refused("gemm", side, words="", **{side: 0})


def test_strides_of_results_along_axes_of_one_element_may_be_any():
    for axis in range(3):
        lengths = [1 if k == axis else 2 for k in range(3)]
        for stride in (0, 16, 80, -8):
            strides = [0 if lengths[0] == 1 else lengths[1] * lengths[2] * 8, lengths[2] * 8, 8]
            strides[axis] = stride
            out, rest = strides[0], strides[1:]
            check(row("numpy_matmul", stack=(*lengths[:2], 2, lengths[2], 0, 0, out, 16, 8, 16, 8, *rest)))


EACH_OPERAND = [(name, field) for name in KINDS for field in operands(name)]


@pytest.mark.parametrize(("name", "field"), EACH_OPERAND)
def test_an_operand_stays_in_its_slot(name, field):
    operand = ROWS_BY_KIND[name]()[field]
    slot = operand >> SLOT_BITS
    refused(name, field, words="reaches", **{field: packed(slot, MEMORY[slot].size)})
    refused(name, field, words="reaches", **{field: packed(slot, (1 << 40) - 64)})
    for nowhere in (len(MEMORY), 2**19, -1, -(2**20)):
        refused(name, field, words="slot", **{field: packed(nowhere, 0)})
    for extreme in (2**63 - 1, -(2**63)):
        refused(name, field, words="slot", **{field: extreme})


@pytest.mark.parametrize(("name", "field"), EACH_OPERAND)
def test_an_operand_is_aligned(name, field):
    if name == "copy" or field == "condition" or name == "guard" or (name == "binary" and field == "out"):
        return  # of bytes
    operand = ROWS_BY_KIND[name]()[field]
    refused(name, field, words="multiple", **{field: operand + 1})
    if field in WRITTEN.get(name, ["out"]):
        refused(name, field, words="multiple", **{field: packed(ODD, 64)})


@pytest.mark.parametrize(("name", "field"), EACH_OPERAND)
def test_results_go_where_they_may(name, field):
    if field in WRITTEN.get(name, ["out"]):
        refused(name, field, words="read-only", **{field: packed(INPUT, 256)})
        refused(name, field, words="read-only", **{field: packed(LITERALS, 0)})


@pytest.mark.parametrize("step", [8, -8, 16, -16])
def test_results_may_run_backwards_but_not_into_each_other(step):
    start = packed(OUTPUT, 7 * 16 if step < 0 else 0)
    check(row("unary", stride_out=step, out=start))
    for closer in range(-abs(step) + 1, abs(step)):
        if abs(closer) < 8:
            refused("unary", "stride_out", words="overlap", stride_out=closer, out=start)


FREE = frozenset(["alpha", "beta", "expected", "start"])  # they may be anything
HARMLESS = (
    ("ravel_index", "length"),
    ("blocks", "block"),
    ("blocks", "portion"),
    ("blocks", "operations"),
    ("by_rows", "columns"),
)  # large numbers touch nothing
NUMBERS = [
    (name, field)
    for name in KINDS
    for field in FIELDS[name]
    if field not in FREE and field not in operands(name) and (name, field) not in HARMLESS
]


@pytest.mark.parametrize(("name", "field"), [*NUMBERS, *HARMLESS])
def test_large_and_negative_numbers_do_not_wrap_around(name, field):
    values = [2**61, 2**62, 2**63 - 8, 2**63 - 1, -(2**40), -(2**62), -(2**63)]
    if (name, field) not in HARMLESS:
        values += [2**31, 2**32, 2**40]
    if not field.startswith("stride"):
        values.append(-1)
    for value in values:
        refused(name, "[a-z_]+", **{field: value})


@pytest.mark.parametrize("name", KINDS)
def test_products_of_large_numbers_do_not_wrap_around(name):
    large = [field for of, field in NUMBERS if of == name]
    for a in large:
        for b in large:
            for power in (16, 31, 32, 47):
                with pytest.raises(errors.ProgramError):
                    check(row(name, **{a: 2**power, b: 2 ** (64 - power - (a == b) * 2)}))


BAD = {
    "unary": [
        ("function", {"function": 0}), ("function", {"function": lambda: blas_number("dgemm")}),
        ("function", {"function": lambda: number("add", "d", "d", "d")}), ("function", {"function": 2047}),
        ("out", {"function": lambda: number("sin", "f", "f"), "count": 113, "stride_x": 0}),
        ("x", {"stride_x": 4}), ("stride_out", {"stride_out": 0}), ("x", {"count": 9}),
        ("count", {"count": 0}),
    ],
    "binary": [
        ("function", {"function": lambda: number("sin", "d", "d")}), ("out", {"count": 9}),
        ("out", {"function": lambda: number("add", "d", "d", "d"), "stride_out": 8}),
        ("y", {"stride_y": 8}),
    ],
    "cast": [
        ("from", {"from": 12}), ("to", {"to": -1}), ("to", {"from": 5, "to": 0}), ("x", {"count": 57}),
        ("out", {"from": FLOAT32, "to": FLOAT64, "count": 57}),
    ],
    "select": [
        ("itemsize", {"itemsize": 3}), ("itemsize", {"itemsize": 0}), ("stride_x", {"stride_x": 16}),
        ("stride_y", {"stride_y": -8}), ("condition", {"count": 9}),
    ],
    "by_rows": [
        ("kind", {"kind": 6}), ("itemsize", {"itemsize": 2}), ("columns", {"columns": 0}),
        ("x", {"count": 7}), ("y", {"columns": 2}), ("y", {"stride": 488}), ("y", {"stride": 4}),
        ("out", {"x": IN, "count": 7}),
    ],
    "pair": [
        ("kind", {"kind": len(PAIRS)}), ("itemsize", {"itemsize": 2}), ("y", {"count": 9}),
        ("stride_x", {"stride_x": 8}), ("stride_y", {"stride_y": 0}), ("stride_y", {"stride_y": 16}),
        ("stride_z", {"kind": PAIRS["subtract", "add", "naa"]}),
        ("stride_x", {"kind": PAIRS["add", "add", "ann"]}), ("stride_y", {"itemsize": 4}),
        ("out", {"out": packed(OUTPUT, 456)}), ("out", {"out": IN}),
    ],
    "load": [
        ("itemsize", {"itemsize": 3}), ("lengths", {"count": 5}), ("lengths", {"lengths": (2, 0)}),
        ("lengths", {"lengths": (-2, -3)}), ("lengths", {"lengths": 0}),
        ("strides", {"strides": WIDTH - 1}), ("strides", {"strides": WIDTH + 3}), ("ndim", {"ndim": 65}),
        ("ndim", {"ndim": -1}), ("x", {"x": IN - 40}), ("strides", {"strides": (8, 2)}),
        ("lengths", {"lengths": (2**32, 2**32)}), ("x", {"strides": (8, 240)}),
        ("strides", {"strides": (2**62, 8)}), ("lengths", {"ndim": 0}),
    ],
    "scalar": [
        ("kind", {"kind": len(SCALARS)}),
        ("x", {"kind": SCALARS["cast", "i->f"], "x": IN + 4}),
        ("y", {"kind": SCALARS["less", "ff->b"], "y": IN + 1}),
        ("out", {"kind": SCALARS["cast", "b->f"], "out": OUT + 4}),
        ("out", {"kind": SCALARS["logical_not", "b->b"], "out": IN}),
        ("x", {"kind": SCALARS["condition", "b->"], "x": packed(INPUT, 512)}),
    ],
    "scalars": [
        ("count", {"count": 0}), ("count", {"count": 2**61}), ("entries", {"count": 3}),
        ("entries", {"entries": WIDTH - 1}), ("entries", {"entries": -1}),
        ("kind", {"entries": (3, IN, IN, OUT, len(SCALARS), IN, IN, OUT)}),
        ("kind", {"entries": (-1, IN, IN, OUT, 3, IN, IN, OUT)}),
        ("x", {"entries": (3, IN, IN, OUT, 3, packed(INPUT, 512), IN, OUT)}),
        ("y", {"entries": (3, IN, packed(99, 0), OUT, 3, IN, IN, OUT)}),
        ("out", {"entries": (3, IN, IN, OUT, 3, IN, IN, IN)}),
        ("out", {"entries": (3, IN, IN, OUT + 4, 3, IN, IN, OUT)}),
    ],
    "short": [
        ("kind", {"kind": len(SHORT)}), ("kind", {"kind": -1}),
        ("count", {"count": 0}), ("count", {"count": MOST_SHORT + 1}),
        ("x", {"x": packed(LITERALS, 64)}), ("x", {"x": packed(LITERALS, 58)}),
        ("x", {"kind": SHORT["subtract", "s", "second"]}), ("x", {"kind": SHORT["subtract", "s", "arrays"]}),
        ("y", {"y": IN + 2}), ("y", {"y": packed(INPUT, 512 - 16)}), ("y", {"y": packed(99, 0)}),
        ("y", {"kind": SHORT["negative", "s", "arrays"], "y": packed(INPUT, 512 - 16)}),
        ("out", {"out": IN}), ("out", {"out": OUT + 2}), ("out", {"out": packed(OUTPUT, 512 - 16)}),
        ("out", {"kind": SHORT["subtract", "f", "first"], "x": packed(LITERALS, 56), "out": OUT + 4}),
    ],
    "shorts": [
        ("count", {"count": 0}), ("count", {"count": 2**61}), ("entries", {"count": 3}),
        ("entries", {"entries": WIDTH - 1}), ("entries", {"entries": -1}),
        ("kind", {"entries": (0, 1, IN, IN, OUT, len(SHORT), 1, IN, IN, OUT)}),
        ("y", {"entries": (0, 1, IN, IN, OUT, 0, 1, IN, packed(INPUT, 512), OUT)}),
        ("out", {"entries": (0, 1, IN, IN, OUT, 0, 2, IN, IN, packed(OUTPUT, 504))}),
    ],
    "fold": [
        ("kind", {"kind": 8}), ("dtype", {"dtype": BOOLS}), ("dtype", {"kind": FOLDS["any"]}),
        ("reduced", {"reduced": 0}), ("before", {"before": 0}), ("after", {"after": 0}),
        ("x", {"before": 10}), ("out", {"reduced": 1, "before": 15}),
    ],
    "copy": [
        ("bytes", {"bytes": -1}), ("x", {"bytes": 512}), ("out", {"bytes": 510}),
    ],
    "store": [
        ("x", {"x": packed(INPUT, 472)}), ("out", {"out": packed(OUTPUT, 24)}),
    ],
    "add_store": [
        ("dtype", {"dtype": INT64}), ("out", {"out": packed(OUTPUT, 496)}),
    ],
    "gemm": [
        ("function", {"function": lambda: blas_number("dgesv")}), ("function", {"function": 0}),
        ("function", {"function": lambda: number("sin", "d", "d")}), ("lda", {"lda": 1}),
        ("ldb", {"ldb": 2}), ("ldc", {"ldc": 1}), ("transposed", {"transposed": 0}),
        ("transposed", {"transposed": LETTERS | 1 << 16}), ("transposed", {"transposed": -1}),
        ("stack", {"stack": (0, *STACK[1:])}), ("stack", {"stack": (2, -1, *STACK[2:])}),
        ("stack", {"stack": (2**62, 2**62, 0, 0, 0, 0, 0, 0)}), ("stack", {"stack": 0}),
        ("stack", {"stack": (2, 11, 0, 0, 0, 0, 0, 0)}), ("stack", {"stack": STACK[:7]}),
        ("stack", {"stack": (2, 2, 32, 63, *STACK[4:])}),
        ("stack", {"stack": (*STACK[:4], -(2**63), 0, 0, 0)}),
        *(  # of one matrix, where no stride is ever taken
            ("stack", {"stack": (1, 1, *(stride if place == k else 0 for k in range(6)))})
            for place in range(6) for stride in (2**62, -(2**62), 4)
        ),
        ("c", {"stack": (2, 2, 0, 0, 0, 0, 48, 848)}), ("c", {"stack": (2, 2, 0, 0, 0, 0, 0, -144)}),
        ("a", {"stack": (2, 2, 32, 384, 0, 0, 0, 48)}), ("b", {"stack": (2, 2, 0, 0, -96, -96, 0, 48)}),
        ("lda", {"transposed": LETTERS ^ ord("N") ^ ord("T")}), ("c", {"a": packed(ARENA, 160)}),
        ("c", {"b": packed(ARENA, 128 + 96)}), ("m", {"m": 0}),
    ],
    "gesv": [
        ("function", {"function": lambda: blas_number("sgemm")}),
        ("pivots", {"pivots": packed(REGISTERS, 32)}), ("pivots", {"x": packed(REGISTERS, 136)}),
        ("x", {"x": packed(REGISTERS, 16)}), ("n", {"n": 0}),
        ("x", {"x": packed(REGISTERS, 256), "worth": 2}),
        ("pivots", {"pivots": packed(ARENA, 0), "worth": 2}),
        ("pivots", {"pivots": packed(REGISTERS, 496)}), ("worth", {"worth": MOST_WORTH + 1}),
        ("worth", {"worth": 0}),
        ("a", {"n": 12, "batch": 1}), ("a", {"batch": 15}), ("x", {"columns": 19}), ("batch", {"batch": 0}),
        ("itemsize", {"itemsize": 8}),
    ],
    "scan": [
        ("kind", {"kind": 5}), ("dtype", {"dtype": INT64}), ("dtype", {"dtype": BOOLS, "kind": SCANS["sum"]}),
        ("dtype", {"kind": SCANS["max"], "dtype": INT64}), ("length", {"length": 0}), ("y", {"length": 4}),
        ("backwards", {"backwards": 2}), ("before", {"before": 0}), ("after", {"after": 0}),
        ("x", {"before": 5, "y": IN, "x": packed(INPUT, 288)}), ("out", {"out": packed(OUTPUT, 420)}),
    ],
    "numpy_fold": [
        ("itemsize", {"function": lambda: number("add", "d", "d", "d")}), ("itemsize", {"itemsize": 2}),
        ("itemsize", {"itemsize": 8}), ("function", {"function": lambda: number("equal", "f", "f", "?")}),
        ("function", {"function": lambda: number("sin", "f", "f")}), ("before", {"before": 0}),
        ("function", {"function": lambda: matmul_number(np.dtype(float))}), ("function", {"function": 0}),
        ("after", {"after": 0}), ("x", {"reduced": 15}), ("out", {"reduced": 0, "after": 57}),
        ("out", {"x": packed(OUTPUT, 92)}), ("reduced", {"reduced": 0, "start": -1}),
    ],
    "numpy_matmul": [
        ("function", {"function": lambda: blas_number("dgemm")}), ("function", {"function": 0}),
        ("function", {"function": lambda: number("add", "d", "d", "d")}), ("stack", {"stack": LOOP[:12]}),
        ("stack", {"stack": 0}), ("stack", {"stack": (0, *LOOP[1:])}),
        ("stack", {"stack": (2, -2, *LOOP[2:])}), ("stack", {"stack": (2, 2, 0, *LOOP[3:])}),
        ("stack", {"stack": (2, 2, 2, 2**31, *LOOP[4:])}),
        ("stack", {"stack": (2**20, 2**20, 2, 2**20, *LOOP[4:])}),
        ("stack", {"stack": (*LOOP[:4], 33, *LOOP[5:])}),
        ("stack", {"stack": (*LOOP[:6], 0, *LOOP[7:])}), ("stack", {"stack": (*LOOP[:6], -48, *LOOP[7:])}),
        ("stack", {"stack": (*LOOP[:11], 0, 8)}), ("stack", {"stack": (*LOOP[:11], 8, 16)}),
        ("stack", {"stack": (*LOOP[:5], 2**62, *LOOP[6:])}), ("a", {"stack": (*LOOP[:4], 448, *LOOP[5:])}),
        ("b", {"stack": (*LOOP[:5], 256, *LOOP[6:])}), ("b", {"b": IN - 40}),
        ("out", {"a": packed(OUTPUT, 152)}), ("out", {"b": packed(OUTPUT, 104)}),
    ],
    "potrf": [
        ("function", {"function": lambda: blas_number("dgesv")}), ("itemsize", {"itemsize": 4}),
        ("letter", {"letter": ord("u")}), ("letter", {"letter": ord("U") | ord("L") << 8}),
        ("x", {"n": 6}), ("x", {"batch": 7}), ("n", {"n": 0}), ("batch", {"batch": 0}),
        ("worth", {"worth": MOST_WORTH + 1}), ("x", {"x": REGISTER}),
    ],
    "trsm": [
        ("worth", {"worth": MOST_WORTH + 1}), ("a", {"a": REGISTER, "stride_a": 0}), ("x", {"x": REGISTER}),
        ("function", {"function": lambda: blas_number("dgemm")}), ("itemsize", {"itemsize": 4}),
        ("lda", {"lda": 2}), ("columns", {"columns": 0}), ("n", {"n": 0}), ("batch", {"batch": 0}),
        ("letters", {"letters": int.from_bytes(b"RUTN", "little")}), ("letters", {"letters": 0}),
        ("letters", {"letters": int.from_bytes(b"LUCN", "little")}), ("x", {"columns": 10}),
        ("letters", {"letters": RIGHT_LETTERS | 1 << 32}), ("a", {"stride_a": -168}), ("a", {"lda": 21}),
        ("a", {"stride_a": 272}), ("a", {"batch": 3}), ("x", {"a": packed(OUTPUT, 152), "stride_a": 8}),
    ],
    "take": [
        ("itemsize", {"itemsize": 3}), ("out", {"index": packed(OUTPUT, 96)}), ("x", {"length": 29}),
        ("index", {"count": 65, "row": 1, "before": 1}), ("out", {"before": 12, "length": 0}),
        ("row", {"row": 0}),
    ],
    "kernel": [
        ("kernel", {"kernel": 0}), ("kernel", {"kernel": lambda: number("sin", "d", "d")}),
        ("blas", {"blas": lambda: blas_number("sgemm")}), ("dtype", {"dtype": INT64}),
        ("blas", {"kernel": lambda: kernel_number("conv"), "parameters": CONV, "tasks": 2}),
        ("blas", {"kernel": lambda: kernel_number("conv"), "parameters": CONV, "tasks": 2,
                  "blas": lambda: blas_number("dgemm")}),
        ("parameters", {"parameters": 0}), ("parameters", {"parameters": WIDTH + 1}),
        ("parameters", {"parameters": (0,) * 19}), ("parameters", {"parameters": (*POOL[:-1], 2**31)}),
        ("parameters", {"parameters": (2, 1, 1, 5, 1, 1, 99, 1, 1, 40, *POOL[10:])}),
        ("parameters", {"parameters": (2, 1, -3, -5, *POOL[4:])}), ("tasks", {"tasks": 1}),
        ("worth", {"worth": MOST_WORTH + 1}), ("worth", {"worth": 0}), ("x", {"x": REGISTER}),
        ("out", {"out": REGISTER}),
        ("x", {"parameters": (20, *POOL[1:]), "tasks": 20, "out": packed(ARENA, 0)}),
        ("out", {"x": packed(OUTPUT, 92)}), ("out", {"z": packed(OUTPUT, 64)}), ("y", {"dtype": FLOAT64,
         "y": packed(INPUT, 280)}), ("out", {"out": packed(OUTPUT, 484)}),
    ],
    "gufunc": [
        ("function", {"function": lambda: blas_number("dgesv")}), ("function", {"function": 0}),
        ("function", {"function": lambda: number("sin", "d", "d")}),
        ("function", {"function": lambda: matmul_number(np.dtype(float))}),
        ("arguments", {"function": lambda: gufunc_number("svd_s", "d->ddd")}),
        ("arguments", {"arguments": 6}), ("dimensions", {"dimensions": 5}),
        ("worth", {"worth": MOST_WORTH + 1}),
        ("worth", {"worth": 0}), ("portion", {"portion": 3}), ("portion", {"portion": 0}),
        ("stops", {"stops": 0}), ("lengths", {"lengths": 0}), ("lengths", {"lengths": (0, 3, 2, 1, 2)}),
        ("lengths", {"lengths": (2, 3, 2, 1, 3)}), ("lengths", {"lengths": (2, 3, 2, 0, 2)}),
        ("lengths", {"lengths": (2**62, 3, 2, 1, 2), "strides": (0,) * 7 + STEPS[7:]}),
        ("lengths", {"lengths": (1, 2**31, 2, 1, 2)}), ("strides", {"strides": STEPS[:14]}),
        ("strides", {"lengths": (2, 3, 2, 2, 2)}), ("strides", {"strides": (*STEPS[:14], 16)}),
        ("strides", {"strides": (-48, *STEPS[1:])}), ("strides", {"strides": (*STEPS[:6], 0, *STEPS[7:])}),
        ("a", {"a": packed(INPUT, 424)}), ("b", {"b": packed(INPUT, 496)}), ("g", {"g": packed(ARENA, 1000)}),
        ("d", {"a": packed(OUTPUT, 88)}), ("d", {"e": packed(OUTPUT, 88)}), ("e", {"f": packed(OUTPUT, 108)}),
        ("d", {"b": OUT}), ("e", {"c": packed(OUTPUT, 104)}), ("f", {"f": packed(OUTPUT, 510)}),
        ("a", {"a": REGISTER}), ("g", {"g": REGISTER}),
    ],
    "scatter_add": [
        ("dtype", {"dtype": INT64}), ("total", {"index": packed(OUTPUT, 72)}), ("total", {"length": 29}),
        ("index", {"count": 65, "row": 1, "before": 1}), ("x", {"before": 12, "length": 0}),
    ],
    "ravel_index": [
        ("wraps", {"wraps": 4}), ("so_far", {"count": 57}),
    ],
    "guard": [
        ("kind", {"kind": 2}), ("dtype", {"dtype": 5}), ("x", {"dtype": FLOAT64}),
    ],
    "callback": [
        ("index", {"index": 2}),
    ],
    "blocks": [
        ("rows", {"rows": 1}), ("block", {"block": 0}), ("count", {"count": 0}), ("count", {"count": 1025}),
        ("once", {"once": 1}),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "field", "changes"),
    [(name, field, changes) for name, rows in BAD.items() for field, changes in rows],
    ids=[f"{name}-{field}-{k}" for name, rows in BAD.items() for k, (field, _) in enumerate(rows)],
)
def test_a_row_that_breaks_a_rule_is_refused(name, field, changes):
    refused(name, field, **{key: value() if callable(value) else value for key, value in changes.items()})


@pytest.mark.parametrize(("name", "field"), [*NUMBERS, *HARMLESS])
def test_small_numbers_are_accepted_or_refused(name, field):
    """Those of kinds and of dtypes are looked up in tables, which end somewhere."""
    for value in [*range(-2, 20), *some(range(20, 100), every=10)]:
        with suppress(errors.ProgramError):
            check(row(name, **{field: value}))


def test_numbers_are_as_large_as_their_dtypes_and_a_condition_writes_nothing():
    check(row("scalar", kind=SCALARS["condition", "b->"], x=IN + 3, y=IN + 3, out=IN))
    check(row("scalar", kind=SCALARS["logical_and", "bb->b"], x=IN + 3, y=IN + 5, out=OUT + 1))
    check(row("scalar", kind=SCALARS["less", "ff->b"], out=OUT + 1))


def in_block(*rows, **changes):
    """A block of 64 elements, 16 at a time."""
    return row("blocks", **{"rows": len(rows), **changes}), *rows


def plain(x, out, count=64, **changes):
    return row("unary", count=count, stride_x=8, stride_out=8, x=x, out=out, **changes)


def test_in_a_block_registers_are_as_long_as_the_block_and_memory_as_the_whole():
    whole, register = packed(INPUT, 0), packed(REGISTERS, 384)
    check(*in_block(plain(whole, register), plain(register, packed(OUTPUT, 0))))
    beyond = [
        in_block(plain(whole, register + 8)),
        in_block(plain(whole, register), block=17),
        in_block(plain(whole + 8, register)),
        in_block(plain(register, packed(OUTPUT, 8))),
        (plain(whole, register),),  # outside of a block a register takes all
    ]
    for rows in beyond:
        with pytest.raises(errors.ProgramError, match="reaches"):
            check(*rows)


def test_a_block_holds_elementwise_rows_of_its_count_that_are_there():
    whole, register = packed(INPUT, 0), packed(REGISTERS, 0)
    inside = plain(whole, register)
    for rows, words in [
        (in_block(plain(whole, register, count=63)), "count"),
        (in_block(inside, row("scalar")), "elementwise"),
        (in_block(inside, row("blocks")), "elementwise"),
        (in_block(inside, rows=2), "not in the range 0 to 1"),
        (in_block(inside, rows=2**62), "not in the range 0 to 1"),
    ]:
        with pytest.raises(errors.ProgramError, match=words):
            check(*rows)


def test_a_strided_operand_is_read_whole_in_every_block():
    table = {"count": 64, "ndim": 2, "lengths": (8, 8), "strides": (8, 64)}
    check(*in_block(row("load", **table, x=packed(INPUT, 0), out=REGISTER)))
    with pytest.raises(errors.ProgramError, match="reaches"):
        check(*in_block(row("load", **table, x=packed(INPUT, 8), out=REGISTER)))


def test_numbers_of_rows_are_read_whole_in_every_block():
    numbers = {"count": 64, "columns": 8, "stride": 8, "x": REGISTER, "out": REGISTER}
    check(*in_block(row("by_rows", **numbers, y=packed(INPUT, 448))))
    for y in (packed(INPUT, 456), packed(REGISTERS, 456)):
        with pytest.raises(errors.ProgramError, match="reaches"):
            check(*in_block(row("by_rows", **numbers, y=y)))


def test_rows_that_run_once_for_all_blocks_are_among_those_of_the_block():
    inside = plain(packed(INPUT, 0), packed(REGISTERS, 0))
    check(*in_block(inside, inside, once=2))
    for once in (-1, 3):
        with pytest.raises(errors.ProgramError, match=r"once.*not in the range 0 to 2"):
            check(*in_block(inside, inside, once=once))


def test_unknown_opcodes_are_refused():
    for kind in (-1, len(FIELDS), 2**62, -(2**63)):
        code = assembled(row("copy"))
        code[0] = kind
        with pytest.raises(errors.ProgramError, match=f"row 0: no opcode {kind}"):
            verify(code, 1, MEMORY)


@pytest.mark.parametrize(
    "code",
    [
        np.zeros(WIDTH),
        np.zeros((1, WIDTH), int),
        np.zeros((WIDTH, WIDTH), int),
        np.zeros(2 * WIDTH, int)[::2],
        np.zeros(WIDTH - 1, int),
        np.zeros(WIDTH, np.int32),
        [0] * WIDTH,
    ],
)
def test_an_array_that_holds_no_rows_is_refused(code):
    with pytest.raises(errors.ProgramError, match="1 rows"):
        verify(code, 1, MEMORY)


@pytest.mark.parametrize("rows", [-1, 3, 2**62])
def test_no_more_rows_than_there_are(rows):
    code = assembled(row("copy"), row("copy"))
    with pytest.raises(errors.ProgramError, match=f"a program of {rows} rows cannot be in"):
        verify(code, rows, MEMORY)


def test_no_rows_need_no_slots():
    verify(np.zeros(0, np.int64), 0, [])
