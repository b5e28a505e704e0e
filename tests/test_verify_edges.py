"""The verifier where its rules begin and end: the ends of each range, and what just fits."""

from itertools import product

import numpy as np
import pytest

from tape import errors
from tape.kernels.codes import (
    BY_ROWS,
    COPY_ITEMSIZES,
    DTYPE_CODES,
    FOLDS,
    MOST_SHORT,
    PAIRS,
    SCALARS,
    SCANS,
    SHORT,
)
from tape.kernels.registry import needs_of
from tape.kernels.windowed import pooling_parameters
from tape.program.native.functions import blas_number, gufunc_number, kernel_number, matmul_number
from tape.program.native.opcodes import (
    ARENA,
    BY_FLAG,
    FIELDS,
    MOST_WORTH,
    REGISTERS,
    SLOT_BITS,
    WIDTH,
    opcode,
    packed,
)
from tape.program.runtime.slots import Body, Slot
from tape.program.runtime.verify import verify
from tests import test_verify_loops as loops
from tests.test_verify import IN, INPUT, LOOP, MEMORY, OUT, OUTPUT, assembled, check, number, refused, row

MOST, MOST_INT32 = 2**48, 2**31 - 1
DTYPES, FLOATS = len(DTYPE_CODES) - 1, 1
REGISTER = packed(REGISTERS, 0)

STRIDED = {"count": (1, MOST), "ndim": (0, 64)}
FOLDED = {"before": (1, MOST), "reduced": (0, MOST), "after": (1, MOST)}
INDEXED = {"length": (0, MOST), "row": (1, MOST), "count": (1, MOST), "before": (1, MOST)}
STACK_AT = {"worth": (1, MOST_WORTH), "batch": (1, MOST), "n": (1, MOST_INT32)}
RANGES = {
    "unary": {"count": (1, MOST)},
    "cast": {"from": (0, 11), "to": (0, 11)},
    "blocks": {"rows": (0, 0), "count": (1, 1024), "block": (1, MOST), "portion": (1, MOST), "once": (0, 0),
               "operations": (0, MOST)},
    "by_rows": {"kind": (0, max(BY_ROWS.values())), "columns": (1, MOST)},
    "pair": {"kind": (0, len(PAIRS) - 1)},
    "load": STRIDED,
    "store": STRIDED,
    "add_store": {**STRIDED, "dtype": (0, FLOATS)},
    "copy": {"bytes": (0, MOST)},
    "scalar": {"kind": (0, len(SCALARS) - 1)},
    "scalars": {"count": (1, 7)},
    "short": {"kind": (0, len(SHORT) - 1), "count": (1, MOST_SHORT)},
    "shorts": {"count": (1, 6)},
    "fold": {**FOLDED, "reduced": (1, MOST), "kind": (0, len(FOLDS) - 1), "dtype": (0, DTYPES)},
    "sum_product": {**FOLDED, "dtype": (0, FLOATS)},
    "numpy_fold": FOLDED,
    "scan": {
        "kind": (0, len(SCANS) - 1), "dtype": (0, DTYPES), "backwards": (0, 1), "before": (1, MOST),
        "length": (1, MOST), "after": (1, MOST),
    },
    "take": INDEXED,
    "scatter_add": {**INDEXED, "dtype": (0, FLOATS)},
    "ravel_index": {"count": (1, MOST), "length": (0, MOST), "wraps": (0, 3)},
    "guard": {"kind": (0, 1), "dtype": (0, DTYPES)},
    "kernel": {"dtype": (0, DTYPES), "worth": (1, MOST_WORTH), "portion": (1, 2)},
    "gemm": {
        "m": (1, MOST_INT32), "n": (1, MOST_INT32), "k": (0, MOST_INT32), "lda": (2, MOST_INT32),
        "ldb": (3, MOST_INT32), "ldc": (2, MOST_INT32),
    },
    "gufunc": {"portion": (1, 2), "worth": (1, MOST_WORTH)},
    "gesv": {**STACK_AT, "worth": (1, MOST_WORTH), "columns": (0, MOST_INT32)},
    "potrf": STACK_AT,
    "trsm": {**STACK_AT, "columns": (1, MOST_INT32), "lda": (3, MOST_INT32)},
}  # fmt: skip
EACH_RANGE = [(name, field, *ends) for name, fields in RANGES.items() for field, ends in fields.items()]


def told(value, low, high):
    return rf"is {value}, which is not in the range {low} to {high}\."


@pytest.mark.parametrize(("name", "field", "low", "high"), EACH_RANGE)
def test_numbers_of_a_row_are_in_their_ranges(name, field, low, high):
    for value in (low - 1, high + 1):
        refused(name, field, words=told(value, low, high), **{field: value})


TABLES = {
    "load": {"lengths": 2, "strides": 2}, "store": {"lengths": 2, "strides": 2}, "scalars": {"entries": 8},
    "shorts": {"entries": 10},
    "add_store": {"lengths": 2, "strides": 2}, "kernel": {"parameters": 19}, "gemm": {"stack": 8},
    "numpy_matmul": {"stack": 13}, "gufunc": {"lengths": 5, "strides": 15},
}  # fmt: skip
"""How many numbers of each are in the table."""


@pytest.mark.parametrize(
    ("name", "field", "size"), [(name, *each) for name, sizes in TABLES.items() for each in sizes.items()]
)
def test_tables_lie_behind_the_rows(name, field, size):
    code = assembled(row(name), row("pause"))
    last = len(code) - size
    for value in (2 * WIDTH - 1, last + 1):
        code[1 + FIELDS[name].index(field)] = value
        with pytest.raises(errors.ProgramError, match=rf"{field}: it {told(value, 2 * WIDTH, last)}"):
            verify(code, 2, MEMORY)


LOOP_RANGES = [
    (0, "body", 0, 1), (0, "length", 0, MOST), (0, "portion", 1, MOST), (0, "bindings", 0, 6),
    (0, "states", 0, 3), (0, "ends", 0, 3), (1, "bytes", 0, MOST), (1, "step", -MOST, MOST),
    (2, "bytes", 0, MOST), (2, "step", -MOST, MOST), (0, "moving", 0, 3), (4, "bytes", 0, MOST),
    (5, "bytes", 0, MOST), (6, "bytes", 0, MOST), (6, "step", -MOST, MOST), (6, "before", 0, 1),
]  # fmt: skip


@pytest.mark.parametrize(("k", "field", "low", "high"), LOOP_RANGES)
def test_numbers_of_the_rows_of_loops_are_in_their_ranges(k, field, low, high):
    for value in (low - 1, high + 1):
        with pytest.raises(errors.ProgramError, match=rf", {field}: it {told(value, low, high)}"):
            loops.verified(*loops.changed(k, **{field: value}))


LEAST = [
    ("load", {"count": 1, "ndim": 0}), ("load", {"count": 1, "ndim": 1, "lengths": (1,), "strides": (0,)}),
    ("store", {"count": 1, "ndim": 0}), ("add_store", {"count": 1, "ndim": 0}),
    ("copy", {"bytes": 0, "x": packed(INPUT, 512), "out": packed(OUTPUT, 512)}),
    ("take", {"length": 0, "x": packed(INPUT, 512)}), ("take", {"row": 1, "count": 1, "before": 1}),
    ("scatter_add", {"length": 0, "total": packed(OUTPUT, 512)}), ("ravel_index", {"length": 0, "count": 1}),
    ("sum_product", {"reduced": 0, "x": packed(INPUT, 512), "y": packed(INPUT, 512)}),
    ("numpy_fold", {"reduced": 0, "x": packed(INPUT, 512)}), ("numpy_fold", {"reduced": 1, "start": -1}),
    ("fold", {"before": 1, "reduced": 1, "after": 1}), ("scan", {"before": 1, "length": 1, "after": 1}),
    ("gesv", {"columns": 0, "x": packed(OUTPUT, 512)}), ("gesv", {"batch": 1, "n": 1, "columns": 1}),
    ("potrf", {"batch": 1, "n": 1, "worth": 1}), ("trsm", {"batch": 1, "n": 1, "columns": 1, "worth": 1}),
    ("blocks", {"count": 1, "block": 1, "portion": 1}), ("blocks", {"count": 1024, "block": MOST}),
    ("kernel", {"worth": 1, "portion": 2}), ("gufunc", {"worth": 1, "portion": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "changes"), LEAST)
def test_the_least_that_a_row_does_is_accepted(name, changes):
    check(row(name, **changes))


@pytest.mark.parametrize("kind", FOLDS)
def test_sums_and_products_of_nothing_have_results_and_others_have_not(kind):
    dtype = DTYPE_CODES[np.dtype(bool if kind in ("any", "all") else float)]
    nothing = {"kind": FOLDS[kind], "dtype": dtype, "reduced": 0, "before": 1, "after": 1}
    nothing["x"] = packed(INPUT, 512)
    if kind in ("sum", "prod", "any", "all"):
        check(row("fold", **nothing))
    else:
        refused("fold", "reduced", words=told(0, 1, MOST), **nothing)


@pytest.mark.parametrize(
    ("kind", "dtype", "size"),
    [
        ("sum", "f4", 4), ("max", "f4", 4), ("argmax", "f4", 8), ("argmin", "f4", 8), ("sum", "?", 8),
        ("any", "?", 1),
    ],
)  # fmt: skip
def test_positions_and_counts_that_a_reduction_finds_are_of_eight_bytes(kind, dtype, size):
    place = packed(OUTPUT, 512 - 8 * size)
    fields = {"kind": FOLDS[kind], "dtype": DTYPE_CODES[np.dtype(dtype)]}
    check(row("fold", **fields, out=place))
    refused("fold", "out", words="reaches", **fields, out=place + size)


# ---- elements of any size ------------------------------------------------------------------------------

COPIES = {
    "load": ("x", "out"), "store": ("x", "out"), "take": ("x", "out"), "select": ("x", "y", "out"),
}  # fmt: skip
ONE = {"count": 1, "ndim": 1, "lengths": (1,), "strides": (0,)}


@pytest.mark.parametrize("size", COPY_ITEMSIZES)
@pytest.mark.parametrize("name", COPIES)
def test_copies_move_words_of_four_bytes_at_most(name, size):
    """Elements of sixteen bytes may lie at multiples of four; narrower ones at multiples of their size."""
    fields = {"itemsize": size, **(ONE if name in ("load", "store") else {"count": 1})}
    if name == "select":
        fields.update(stride_x=0, stride_y=size)
    if name == "take":
        fields.update(row=1, before=1, length=1)
    places = {"x": packed(INPUT, 64), "out": packed(OUTPUT, 64), "y": packed(INPUT, 128)}
    fields.update({field: places[field] for field in COPIES[name]})
    unit = min(size, 4)
    for field in COPIES[name]:
        check(row(name, **{**fields, field: places[field] + unit}))
        end = packed(places[field] >> SLOT_BITS, 512)
        check(row(name, **{**fields, field: end - size}))
        refused(name, field, words="reaches", **{**fields, field: end - size + unit})
        if unit > 1:
            words = f"not a multiple of {unit} bytes"
            refused(name, field, words=words, **{**fields, field: places[field] + unit // 2})


@pytest.mark.parametrize("size", COPY_ITEMSIZES)
def test_steps_of_strided_operands_are_multiples_of_four_bytes_at_most(size):
    unit = min(size, 4)
    changes = {"itemsize": size, "count": 3, "ndim": 1, "lengths": (3,), "x": packed(INPUT, 128)}
    for step in (unit, -unit, 3 * unit):
        check(row("load", **changes, strides=(step,)))
    if unit > 1:
        words = "Stride 0 in the table is not a multiple"
        refused("load", "strides", words=words, **changes, strides=(unit // 2,))


def test_the_ends_of_lengths_and_strides_in_a_table():
    long = {"count": MOST, "ndim": 1, "strides": (0,)}
    refused("load", "out", words="reaches", **long, lengths=(MOST,))
    refused("load", "lengths", words="Length 0 in the table is out of range", **long, lengths=(MOST + 1,))
    wide = {"count": 1, "ndim": 1, "lengths": (1,)}
    for sign in (1, -1):
        check(row("load", **wide, strides=(sign * MOST,)))
        words = "Stride 0 in the table is out of range"
        refused("load", "strides", words=words, **wide, strides=(sign * (MOST + 8),))


def test_rows_with_and_without_axes_are_checked_together():
    short = {"count": 2, "ndim": 1, "lengths": (2,), "strides": (8,)}
    end = packed(INPUT, 512)
    rows = row("load"), row("load", **short, x=end - 16), row("load", count=1, ndim=0, x=end - 8)
    for order in (rows, rows[::-1]):
        check(*order)
    for at, late in ((1, row("load", **short, x=end - 8)), (2, row("load", count=1, ndim=0, x=end))):
        with pytest.raises(errors.ProgramError, match=rf"row {at} \(load\), x: it reaches"):
            check(*rows[:at], late, *rows[at + 1 :])


# ---- folds by NumPy's loops, kernels -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "is_one"),
    [(("add", "f", "f", "f"), True), (("less", "f", "f", "?"), False), (("ldexp", "d", "i", "d"), False)],
)
def test_folds_take_operands_and_results_of_one_size(function, is_one):
    fields = {"function": number(*function), "itemsize": np.dtype(function[1]).itemsize}
    if is_one:
        check(row("numpy_fold", **fields))
    else:
        words = "It is no loop for two operands and a result of one dtype"
        refused("numpy_fold", "function", words=words, **fields)


def test_what_a_kernel_touches_is_not_in_the_registers_and_not_its_result():
    for field in ("x", "y", "z", "out"):
        refused("kernel", field, words="in the registers", **{field: REGISTER})
    for field in ("x", "y", "z"):
        refused("kernel", "out", words=f"overlaps {field}", **{field: OUT})


# ---- products of matrices ------------------------------------------------------------------------------

N, T = ord("N"), ord("T")
ONE_PRODUCT = (1, 1, 0, 0, 0, 0, 0, 0)


def test_products_of_no_columns_read_nothing():
    nothing = {"k": 0, "stack": ONE_PRODUCT, "transposed": N | N << 8, "ldb": 1}
    check(row("gemm", **nothing, b=packed(INPUT, 512)))
    check(row("gemm", **{**nothing, "transposed": T | N << 8}, lda=1, a=packed(INPUT, 512)))
    refused("gemm", "ldb", words=told(0, 1, MOST_INT32), **{**nothing, "ldb": 0})
    refused("gemm", "b", words="reaches", **{**nothing, "k": 1}, b=packed(INPUT, 512))


# Of a (2, 4), b (4, 3) and c (2, 3): the bytes that one of them takes with this leading dimension.
PARTS = {
    "a": [("N", 2, 64), ("N", 5, 136), ("T", 4, 64), ("T", 6, 80)],
    "b": [("N", 4, 96), ("N", 5, 112), ("T", 3, 96), ("T", 9, 240)],
    "c": [("", 2, 48), ("", 7, 128)],
}
EACH_PART = [(name, *part) for name, parts in PARTS.items() for part in parts]


@pytest.mark.parametrize("is_double", [True, False])
@pytest.mark.parametrize(("name", "letter", "leading", "size"), EACH_PART)
def test_a_matrix_ends_with_its_last_column(name, letter, leading, size, is_double):
    turned = {"a": "N", "b": "N", name: letter or "N"}
    fields = {"lda": 2, "ldb": 4, "ldc": 2, f"ld{name}": leading, "stack": ONE_PRODUCT}
    fields["transposed"] = ord(turned["a"]) | ord(turned["b"]) << 8
    fields["function"] = blas_number("dgemm" if is_double else "sgemm")
    slot, whole = (OUTPUT if name == "c" else INPUT), 8 if is_double else 4
    place = packed(slot, 512 - size * whole // 8)
    check(row("gemm", **{**fields, name: place}))
    refused("gemm", name, words="reaches", **{**fields, name: place + whole})


def test_products_are_as_many_as_fit_into_the_largest_slot():
    for stack, is_fine in [((4, 4), True), ((2, 8), True), ((4, 5), False), ((17, 1), False)]:
        changes = {"n": 4, "ldb": 4, "stack": (*stack, 0, 0, 0, 0, 0, 0)}  # of 64 bytes each
        if is_fine:
            check(row("gemm", **changes))
        else:
            refused("gemm", "stack", words="too many matrices", **changes)
    for count, words in [(MOST, "too many matrices"), (MOST + 1, "length in the table is out of range")]:
        refused("gemm", "stack", words=words, stack=(count, *ONE_PRODUCT[1:]))
        refused("gemm", "stack", words=words, stack=(1, count, *ONE_PRODUCT[2:]))
    stack = (2, 1, 4, 0, 0, 64, 8, 8, 8, 8, 32, 8)
    check(row("numpy_matmul", stack=(16, *stack), out=packed(ARENA, 0)))
    refused("numpy_matmul", "stack", words="too many matrices", stack=(17, *stack))


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("sign", [1, -1])
def test_the_longest_stride_of_a_stack(place, sign):
    def stack(step):
        return (1, 1, *[sign * step if k == place else 0 for k in range(6)])

    check(row("gemm", stack=stack(MOST)))
    words = f"A stride of {'aabbcc'[place]} in the table is out of range"
    refused("gemm", "stack", words=words, stack=stack(MOST + 8))


def test_single_products_have_strides_of_four_bytes():
    fields = {"function": blas_number("sgemm"), "stack": (1, 1, 4, 0, -4, 0, 0, 4)}
    check(row("gemm", **fields))
    refused("gemm", "stack", words="not a multiple", **{**fields, "stack": (1, 1, 6, 0, 0, 0, 0, 0)})


@pytest.mark.parametrize("at", range(4))
def test_lengths_of_products_by_numpy_are_of_32_bits(at):
    """Along the inner axis, of which a row may read one element again and again, there may be as many."""
    for length in (0, -1, MOST_INT32 + 1):
        stack = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 8, 8]
        stack[at] = length
        words = "length in the table is out of range"
        refused("numpy_matmul", "stack", words=words, stack=tuple(stack))
    check(row("numpy_matmul", stack=(1, 1, MOST_INT32, 1, 0, 0, 0, 0, 0, 0, 0, 8, 8)))


@pytest.mark.parametrize("place", range(4, 13))
def test_the_longest_stride_of_a_product_by_numpy(place):
    """Along axes of one element, where none is taken."""
    for sign in (1, -1):
        stack = [1, 1, 1, 1, *[0] * 9]
        stack[place] = sign * MOST
        check(row("numpy_matmul", stack=tuple(stack)))
        stack[place] += sign * 8
        field = "a" if place in (4, 7, 8) else "b" if place in (5, 9, 10) else "out"
        words = f"A stride of {field} in the table is none that it may have"
        refused("numpy_matmul", "stack", words=words, stack=tuple(stack))


def test_products_by_numpy_in_single_precision_take_half_the_memory():
    stack = (*LOOP[:4], *[step // 2 for step in LOOP[4:]])
    fields = {"function": matmul_number(np.dtype(np.float32)), "stack": stack}
    for field, slot, size in (("a", INPUT, 32), ("out", OUTPUT, 48)):
        check(row("numpy_matmul", **fields, **{field: packed(slot, 512 - size)}))
        refused("numpy_matmul", field, words="reaches", **fields, **{field: packed(slot, 516 - size)})


# ---- systems of equations and decompositions -----------------------------------------------------------

SOLVERS = {"gesv": ("dgesv", "sgesv"), "potrf": ("dpotrf", "spotrf"), "trsm": ("dtrsm", "strsm")}


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_take_elements_of_their_own_size(name):
    for function, size in zip(SOLVERS[name], (8, 4), strict=True):
        columns = {"potrf": 3, "trsm": 2, "gesv": 2}[name]
        fields = {"function": blas_number(function), "itemsize": size, "pivots": packed(REGISTERS, 256)}
        fields = {key: value for key, value in fields.items() if key in FIELDS[name]}
        place = packed(OUTPUT, 512 - 2 * 3 * columns * size)
        check(row(name, **fields, x=place))
        refused(name, "x", words="reaches", **fields, x=place + size)
        refused(name, "itemsize", words="another itemsize", **{**fields, "itemsize": 12 - size})


def test_triangles_are_those_that_blas_knows():
    for letters in product("LR", "ULX", "NTC", "UNX"):
        code = int.from_bytes("".join(letters).encode(), "little")
        side, triangle, turned, diagonal = letters
        if side == "L" and triangle in "UL" and turned in "NT" and diagonal in "UN":
            check(row("trsm", letters=code))
        else:
            refused("trsm", "letters", letters=code)
    check(row("potrf", letter=ord("L")))


def test_a_row_of_one_thread_may_work_in_the_registers():
    check(row("potrf", x=REGISTER, worth=1))
    check(row("trsm", a=REGISTER, stride_a=0, worth=1))
    check(row("trsm", x=REGISTER, worth=1))
    check(row("gesv", x=packed(REGISTERS, 256), worth=1))
    check(row("gesv", pivots=packed(ARENA, 0), worth=1))
    check(row("gufunc", a=REGISTER, worth=1))
    for field in "abcdefg":
        refused("gufunc", field, words="threads share the row", **{field: REGISTER})


def test_a_matrix_for_all_right_sides_is_read_once():
    size = (2 * 4 + 3) * 8
    check(row("trsm", stride_a=0, a=packed(INPUT, 512 - size)))
    refused("trsm", "a", words="reaches", stride_a=0, a=packed(INPUT, 512 - size + 8))
    refused("trsm", "a", words="multiple", stride_a=4, a=IN)


def numbers_of(name, types, count, **changes):
    """A row of a function of numbers, of so many elements."""
    chars = types.replace("->", "")
    sizes = [np.dtype(char).itemsize for char in chars]
    fields = {
        "function": gufunc_number(name, types), "arguments": len(chars), "stops": 0, "lengths": (count,),
        "strides": tuple(sizes), "dimensions": 0, "worth": 1, "portion": 1,
    }  # fmt: skip
    outs = len(types.split("->")[1])
    for k, field in enumerate("abcdefg"):
        is_out = len(chars) - outs <= k < len(chars)
        fields[field] = packed(OUTPUT if is_out else INPUT, 64 * (k % 6))
    return row("gufunc", **{**fields, **changes})


def test_threads_share_functions_whose_last_results_have_room_for_a_mark():
    check(numbers_of("frexp", "f->fi", 2, worth=2))
    check(numbers_of("frexp", "d->di", 2, worth=2))
    with pytest.raises(errors.ProgramError, match=rf"worth: it {told(MOST_WORTH + 1, 1, MOST_WORTH)}"):
        check(numbers_of("frexp", "f->fi", 2, worth=MOST_WORTH + 1))
    narrow = {"lengths": (2, 1), "strides": (2, 2, 2, 2, 2), "dimensions": 1}
    check(numbers_of("vecdot", "ee->e", 2, **narrow))
    with pytest.raises(errors.ProgramError, match=rf"worth: it {told(2, 1, 1)}"):
        check(numbers_of("vecdot", "ee->e", 2, **narrow, worth=2))


def test_results_of_several_numbers_have_places_of_their_own():
    same = {"strides": (4, 0, 4)}
    check(numbers_of("frexp", "f->fi", 1, **same))
    with pytest.raises(errors.ProgramError, match=r"strides: .*All matrices have the same result"):
        check(numbers_of("frexp", "f->fi", 2, **same))
    check(numbers_of("frexp", "f->fi", 2, strides=(0, 4, 4)))  # an operand may be one for all
    for changes, pair in [
        ({"b": packed(OUTPUT, 132)}, "b: it overlaps c"),
        ({"a": packed(OUTPUT, 68)}, "b: it overlaps a"),
        ({"a": packed(OUTPUT, 132)}, "c: it overlaps a"),
    ]:
        with pytest.raises(errors.ProgramError, match=pair):
            check(numbers_of("frexp", "f->fi", 2, **changes))
    with pytest.raises(errors.ProgramError, match=r"lengths: .*begins with no number of matrices"):
        check(numbers_of("frexp", "f->fi", 0, strides=(4, 4, 4)))


def test_a_decomposition_in_place_writes_to_its_operand():
    fields = {
        "lengths": (1, 3, 2, 2), "strides": (48, 16, 16, 8, 8), "dimensions": 3, "stops": 1, "a": OUT,
        "b": packed(ARENA, 0),
    }  # fmt: skip
    check(numbers_of("qr_r_raw", "d->d", 1, **fields))
    with pytest.raises(errors.ProgramError, match="a: it writes to slot 3, which is read-only"):
        check(numbers_of("qr_r_raw", "d->d", 1, **{**fields, "a": IN}))
    many = {**fields, "lengths": (2, 3, 2, 2)}
    check(numbers_of("qr_r_raw", "d->d", 2, **many))
    with pytest.raises(errors.ProgramError, match="All matrices have the same result"):
        check(numbers_of("qr_r_raw", "d->d", 2, **{**many, "strides": (0, 16, 16, 8, 8)}))


def test_rows_of_two_functions_are_checked_each_by_its_own():
    two = numbers_of("frexp", "f->fi", 2), row("gufunc")
    check(*two)
    check(*two[::-1])
    with pytest.raises(errors.ProgramError, match=r"row 1 \(gufunc\), stops"):
        check(two[0], row("gufunc", stops=0))
    with pytest.raises(errors.ProgramError, match=r"row 0 \(gufunc\), function: .* no generalised ufunc"):
        check(row("gufunc", function=0), two[0])


# ---- loops -----------------------------------------------------------------------------------------------


def looped(rows, inputs, outputs, **head):
    """Verify a loop of one state or binding."""
    code = np.zeros(WIDTH * (1 + len(rows)), np.int64)
    moving = sum(fields.get("step", 0) != 0 for _, fields in rows[: head.get("bindings", 0)])
    given = {
        "body": 0, "length": 2, "bindings": 0, "states": 0, "portion": 1, "ends": 0, "x": 0, "moving": moving,
        "left": 0, "compiled": 0,
        **head,
    }  # fmt: skip
    for k, (name, fields) in enumerate([("loop", given), *rows]):
        values = [opcode(name), *[fields[field] for field in FIELDS[name]]]
        code[k * WIDTH : k * WIDTH + len(values)] = values
    verify(code, 1 + len(rows), MEMORY, [], [Body(inputs, outputs)])


def test_only_a_count_is_read():
    beyond = packed(INPUT, 512)
    looped([], {}, {}, x=beyond)
    state = {"slot_in": 3, "slot_out": 4, "bytes": 1, "first": IN, "out": OUT, "spare": packed(ARENA, 0)}
    flag = [("state", state)]
    looped(flag, {3: Slot(1, 1, False)}, {4: Slot(1, 1, True)}, states=1, ends=BY_FLAG, x=beyond)
    for ends in (2, 3):
        looped([], {}, {}, ends=ends, x=beyond - 8)
        with pytest.raises(errors.ProgramError, match=r"\(loop\), x: it reaches"):
            looped([], {}, {}, ends=ends, x=beyond)


@pytest.mark.parametrize(("size", "alignment"), [(8, 8), (8, 4), (8, 1), (0, 8)])
def test_what_a_body_reads_is_aligned_as_its_slot_is(size, alignment):
    """Nothing is read from slots of no bytes."""
    unit = alignment if size else 1
    binding = {"slot": 3, "step": unit, "bytes": 8, "x": packed(INPUT, 64 + unit)}
    looped([("binding", binding)], {3: Slot(size, alignment, False)}, {}, bindings=1)
    if unit > 1:
        changed = {**binding, "x": packed(INPUT, 64 + unit // 2)}
        with pytest.raises(errors.ProgramError, match=rf"x: it has .* multiple of {unit} bytes"):
            looped([("binding", changed)], {3: Slot(size, alignment, False)}, {}, bindings=1)


@pytest.mark.parametrize(("wide", "narrow"), [("first", 4), ("last", 8)])
@pytest.mark.parametrize("kind", ["state", "collected_state"])
def test_a_state_is_aligned_as_both_of_its_slots_are(kind, wide, narrow):
    alignments = (8, 4) if wide == "first" else (4, 8)
    inputs, outputs = {3: Slot(8, alignments[0], False)}, {4: Slot(8, alignments[1], True)}
    fields = {"slot_in": 3, "slot_out": 4, "bytes": 8, "first": IN, "out": OUT}
    if kind == "state":
        fields["spare"] = packed(ARENA, 0)
    else:
        fields.update(array=packed(ARENA, 0), step=8, before=0)
    looped([(kind, fields)], inputs, outputs, states=1)
    for field in fields.keys() & {"first", "out", "spare", "array"}:
        with pytest.raises(errors.ProgramError, match=rf"{field}: it has .* multiple of 8 bytes"):
            looped([(kind, {**fields, field: fields[field] + 4})], inputs, outputs, states=1)


@pytest.mark.parametrize("size", [0, 8])
def test_a_body_writes_only_to_slots_that_are_for_it(size):
    """Those of no bytes are not written to, whatever they say."""
    stacking = {"slot": 4, "step": 8, "bytes": 8, "out": OUT}
    rows = [("stacking", stacking)]
    looped(rows, {}, {4: Slot(size, 8, True)}, bindings=1)
    if size:
        with pytest.raises(errors.ProgramError, match="should not, or should"):
            looped(rows, {}, {4: Slot(size, 8, False)}, bindings=1)
        binding = {"slot": 3, "step": 0, "bytes": 8, "x": IN}
        with pytest.raises(errors.ProgramError, match="should not, or should"):
            looped([("binding", binding)], {3: Slot(size, 8, True)}, {}, bindings=1)
    else:
        looped(rows, {}, {4: Slot(size, 8, False)}, bindings=1)


@pytest.mark.parametrize(("dtype", "columns"), [(np.float64, 31), (np.float32, 63)])
def test_the_workspace_of_a_kernel_may_be_as_large_as_the_registers(dtype, columns):
    """Of pooling in one plane: twice the windows of a row, and the lengths of the window."""
    for length, is_fine in ((columns, True), (columns + 1, False)):
        parameters = pooling_parameters((1, length), (2,), (length - 1,), (1,), ((0, 0),), (1,))
        size = np.dtype(dtype).itemsize
        assert needs_of("max_pool", parameters).workspace * size == 512 + (0 if is_fine else 2 * size)
        fields = {
            "kernel": kernel_number("max_pool"), "dtype": DTYPE_CODES[np.dtype(dtype)], "tasks": 1,
            "worth": 1, "blas": 0, "portion": 1, "y": 0, "z": 0, "parameters": parameters,
            "x": packed(INPUT, 0), "out": packed(OUTPUT, 0),
        }  # fmt: skip
        if is_fine:
            check(row("kernel", **fields))
        else:
            refused("kernel", "parameters", words="a larger workspace than the registers have", **fields)
