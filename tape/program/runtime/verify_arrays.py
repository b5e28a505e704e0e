"""Checks of rows that copy, reduce, scan and index arrays, and of those that call kernels and Python."""

from __future__ import annotations

import numpy as np

from tape.kernels.codes import (
    COPY_ITEMSIZES,
    FOLDS,
    LETTERS,
    MOST_SHORT,
    SCALARS,
    SCANS,
    SHORT,
    has_fold,
    has_scan,
)
from tape.kernels.registry import REGISTRY, needs_of
from tape.program.native.functions import called_number, kernels_loaded
from tape.program.native.opcodes import FIELDS, MOST_WORTH, REGISTERS, SLOT_BITS, WIDTH
from tape.program.runtime.checks import COPIED, DTYPES, FLOATS, INT64, ITEMSIZES, MOST, Checks, ufunc_loops
from tape.program.runtime.extents import Column, Rows

__all__ = [
    "add_store",
    "callback",
    "copy",
    "fold",
    "guard",
    "kernel",
    "load",
    "numpy_fold",
    "pause",
    "ravel_index",
    "scalar",
    "scalars",
    "scan",
    "scatter_add",
    "short",
    "shorts",
    "store",
    "sum_product",
    "take",
]

_MOST_AXES = 64
_FOLDABLE = np.array([[has_fold(kind, dtype) for dtype in DTYPES] for kind in FOLDS])
_MAY_FOLD_NOTHING = np.array([kind in ("sum", "prod", "any", "all") for kind in FOLDS])
_MAKES_INT64 = np.array(
    [[kind.startswith("arg") or (kind == "sum" and dtype.kind == "b") for dtype in DTYPES] for kind in FOLDS]
)
_SCANNABLE = np.array([[has_scan(kind, dtype) for dtype in DTYPES] for kind in SCANS])
_SIZE_OF = {letter: dtype.itemsize for dtype, letter in LETTERS.items()}


def _scalar_sizes(signature: str) -> tuple[int, int, int]:
    """Return the bytes at the addresses of a number's operands and of its result, where there is one."""
    given, _, out = signature.partition("->")
    return _SIZE_OF[given[0]], _SIZE_OF[given[-1]], _SIZE_OF.get(out, 0)


_SCALAR_SIZES = np.array([_scalar_sizes(signature) for _, signature in SCALARS]).T
_SHORT_SIZES = np.array([8 if letter == "f" else 4 for _, letter, _ in SHORT])
_IS_SINGLE = {field: np.array([form == field for *_, form in SHORT]) for field in ("first", "second")}
_OF_TWO = np.array([(name, letter, "first") in SHORT for name, letter, _ in SHORT])


def load(v: Checks, group: Rows) -> None:
    size = group.one_of("itemsize", COPY_ITEMSIZES)
    _claim_part(v, group, "x", size)
    unit, count = np.minimum(size, COPIED), v.count(group, "out")
    v.claims.add(group, "out", unit, count, step=size, part=size, is_written=True)


def _claim_part(v: Checks, group: Rows, field: str, size: Column) -> None:
    """Claim the part of an array that a table describes."""
    count = group.between("count", 1, MOST)
    ndim = group.between("ndim", 0, _MOST_AXES)
    tables = v.rows * WIDTH
    lengths = group.between("lengths", tables, len(v.code) - ndim)
    strides = group.between("strides", tables, len(v.code) - ndim)
    low, high, product = np.zeros(len(group)), np.zeros(len(group)), np.ones(len(group))
    for axis in range(ndim.max()):
        has_axis = axis < ndim
        length = np.where(has_axis, v.code[np.where(has_axis, lengths + axis, 0)], 1)
        step = np.where(has_axis, v.code[np.where(has_axis, strides + axis, 0)], 0)
        group.need((length >= 1) & (length <= MOST), "lengths", f"Length {axis} in the table is out of range")
        group.need(
            step % np.minimum(size, COPIED) == 0,  # complex numbers may be pairs out of longer rows
            "strides",
            f"Stride {axis} in the table is not a multiple of the itemsize",
        )
        group.need((step >= -MOST) & (step <= MOST), "strides", f"Stride {axis} in the table is out of range")
        reach = (length - 1.0) * step
        low, high, product = low + np.minimum(reach, 0), high + np.maximum(reach, 0), product * length
    group.need(product == count, "lengths", "The product of the lengths in the table is not the count")
    v.claims.add(
        group, field, np.minimum(size, COPIED), part=size, low=low, high=high, is_written=field == "out"
    )


def store(v: Checks, group: Rows) -> None:
    _put(v, group, group.one_of("itemsize", COPY_ITEMSIZES))


def add_store(v: Checks, group: Rows) -> None:
    _put(v, group, ITEMSIZES[group.between("dtype", 0, FLOATS)])


def _put(v: Checks, group: Rows, size: Column) -> None:
    _claim_part(v, group, "out", size)
    v.claims.add(group, "x", np.minimum(size, COPIED), group["count"], step=size, part=size)


def copy(v: Checks, group: Rows) -> None:
    size = group.between("bytes", 0, MOST)
    v.claims.add(group, "x", 1, part=size)
    v.claims.add(group, "out", 1, part=size, is_written=True)


def scalar(v: Checks, group: Rows) -> None:
    kind = group.between("kind", 0, len(SCALARS) - 1)
    x, y, out = _SCALAR_SIZES[:, kind]
    v.claims.add(group, "x", x)
    v.claims.add(group, "y", y)
    has_result = out > 0
    v.claims.add(group, "out", np.maximum(out, 1), has_result, is_written=has_result)


def scalars(v: Checks, group: Rows) -> None:
    scalar(v, _entries(v, group, "scalar"))


def short(v: Checks, group: Rows) -> None:
    kind = group.between("kind", 0, len(SHORT) - 1)
    count, size = group.between("count", 1, MOST_SHORT), _SHORT_SIZES[kind]
    v.claims.add(group, "x", size, np.where(_IS_SINGLE["first"][kind], 1, count) * _OF_TWO[kind])
    v.claims.add(group, "y", size, np.where(_IS_SINGLE["second"][kind], 1, count))
    v.claims.add(group, "out", size, count, is_written=True)


def shorts(v: Checks, group: Rows) -> None:
    short(v, _entries(v, group, "short"))


def _entries(v: Checks, group: Rows, name: str) -> Rows:
    """Return the entries of the tables of rows, as rows of a kind."""
    width = len(FIELDS[name])
    count = group.between("count", 1, len(v.code) // width)
    at = group.between("entries", v.rows * WIDTH, len(v.code) - width * count)
    entries = np.concatenate(
        [v.code[start : start + width * n].reshape(n, width) for start, n in zip(at, count, strict=True)]
    )
    columns = np.concatenate([np.zeros((1, len(entries)), np.int64), entries.T])
    return Rows(name, np.repeat(group.numbers, count), columns)


def fold(v: Checks, group: Rows) -> None:
    kind = group.between("kind", 0, len(FOLDS) - 1)
    dtype = group.between("dtype", 0, len(ITEMSIZES) - 1)
    group.need(_FOLDABLE[kind, dtype], "dtype", "No such reduction of this dtype")
    before = group.between("before", 1, MOST)
    reduced = group.between("reduced", np.where(_MAY_FOLD_NOTHING[kind], 0, 1), MOST)
    after = group.between("after", 1, MOST)
    results, size = before * after.astype(float), ITEMSIZES[dtype]
    v.claims.add(group, "x", size, results * reduced)
    v.claims.add(group, "out", np.where(_MAKES_INT64[kind, dtype], INT64, size), results, is_written=True)


def sum_product(v: Checks, group: Rows) -> None:
    size = ITEMSIZES[group.between("dtype", 0, FLOATS)]
    before, reduced = group.between("before", 1, MOST), group.between("reduced", 0, MOST)
    results = before * group.between("after", 1, MOST).astype(float)
    v.claims.add(group, "x", size, results * reduced)
    v.claims.add(group, "y", size, results * reduced)
    v.claims.add(group, "out", size, results, is_written=True)


def numpy_fold(v: Checks, group: Rows) -> None:
    loops = ufunc_loops()
    counts, first, second, third, unit, *_ = loops[group.between("function", 0, len(loops) - 1)].T
    is_folding = (counts == 3) & (first == third) & (second == third)
    group.need(is_folding, "function", "It is no loop for two operands and a result of one dtype")
    size = group["itemsize"]
    group.need(size == first, "itemsize", "The function has another itemsize")
    least = np.where(group["start"] < 0, 1, 0)
    before, reduced = group.between("before", 1, MOST), group.between("reduced", least, MOST)
    results = before * group.between("after", 1, MOST).astype(float)
    x = v.claims.add(group, "x", unit, results * reduced, step=size, part=size)
    out = v.claims.add(group, "out", unit, results, step=size, part=size, is_written=True)
    v.claims.keep_apart(out, x)


def scan(v: Checks, group: Rows) -> None:
    kind = group.between("kind", 0, len(SCANS) - 1)
    dtype = group.between("dtype", 0, len(ITEMSIZES) - 1)
    group.need(_SCANNABLE[kind, dtype], "dtype", "No such scan of this dtype")
    group.between("backwards", 0, 1)
    elements = np.ones(len(group))
    for field in ("before", "length", "after"):
        elements = elements * group.between(field, 1, MOST)
    for field in ("x", "y", "out"):
        v.claims.add(group, field, ITEMSIZES[dtype], elements, is_written=field == "out")


def take(v: Checks, group: Rows) -> None:
    size = group.one_of("itemsize", COPY_ITEMSIZES)
    whole, chosen = _indexed(group)
    unit = np.minimum(size, COPIED)
    v.claims.add(group, "x", unit, whole, step=size, part=size)
    out = v.claims.add(group, "out", unit, chosen, step=size, part=size, is_written=True)
    v.claims.keep_apart(out, v.claims.add(group, "index", INT64, group["count"]))


def scatter_add(v: Checks, group: Rows) -> None:
    size = ITEMSIZES[group.between("dtype", 0, FLOATS)]
    whole, chosen = _indexed(group)
    v.claims.add(group, "x", size, chosen)
    total = v.claims.add(group, "total", size, whole, is_written=True)
    v.claims.keep_apart(total, v.claims.add(group, "index", INT64, group["count"]))


def _indexed(group: Rows) -> tuple[Column, Column]:
    """Return the number of elements of the array that is indexed, and of those that are taken from it."""
    length = group.between("length", 0, MOST)
    row = group.between("row", 1, MOST)
    count = group.between("count", 1, MOST)
    rows = row * group.between("before", 1, MOST).astype(float)
    return rows * length, rows * count


def ravel_index(v: Checks, group: Rows) -> None:
    count = group.between("count", 1, MOST)
    group.between("length", 0, MOST)
    group.between("wraps", 0, 3)
    for field in ("so_far", "index", "out"):
        v.claims.add(group, field, INT64, count, is_written=field == "out")


def guard(v: Checks, group: Rows) -> None:
    group.between("kind", 0, 1)
    v.claims.add(group, "x", ITEMSIZES[group.between("dtype", 0, len(ITEMSIZES) - 1)], 1)


def callback(v: Checks, group: Rows) -> None:
    group.need(np.isin(group["index"], v.callbacks), "index", "It is not a callback")


def pause(v: Checks, group: Rows) -> None:
    """Accept a pause, which touches no memory."""


def kernel(v: Checks, group: Rows) -> None:
    loaded = kernels_loaded()
    group.need(np.isin(group["kernel"], list(loaded)), "kernel", "It is not a kernel that is loaded")
    names = [loaded[number] for number in group["kernel"].tolist()]
    dtypes = group.between("dtype", 0, len(DTYPES) - 1)
    size = ITEMSIZES[dtypes]
    counts = np.array([sum(REGISTRY[name].parameters.values()) for name in names])
    tables = group.between("parameters", v.rows * WIDTH, len(v.code) - counts)
    fields = ("out", "x", "y", "z")
    elements, units = np.zeros((len(fields), len(group))), np.tile(size, (len(fields), 1))
    for k, name in enumerate(names):
        entry, parameters = REGISTRY[name], v.code[tables[k] : tables[k] + counts[k]]
        try:
            needs = needs_of(name, tuple(parameters.tolist()))
        except ValueError as error:
            group.refuse(k, "parameters", f"does not fit {name}: {error}")
        if needs.workspace * size[k] > v.claims.sizes[REGISTERS]:
            group.refuse(k, "parameters", "needs a larger workspace than the registers have")
        if dtypes[k] not in entry.dtypes:
            group.refuse(k, "dtype", f"is none that {name} takes")
        blas = called_number(entry, DTYPES[dtypes[k]])
        for field, wanted in (("blas", blas), ("tasks", needs.tasks)):
            if group[field][k] != wanted:
                group.refuse(k, field, f"is {group[field][k]}, but {name} needs {wanted}")
        elements[: 1 + len(needs.operands), k] = needs.out, *needs.operands
        units[[1 + operand for operand in entry.indices], k] = INT64
        if entry.finds:
            units[0, k] = INT64
    group.between("worth", 1, MOST_WORTH)
    group.between("portion", 1, group["tasks"])
    for field in fields:
        is_apart = group[field] >> SLOT_BITS != REGISTERS
        group.need(is_apart, field, "It is in the registers, which hold the workspace")
    out, *operands = [
        v.claims.add(group, field, units[k], elements[k], is_written=k == 0) for k, field in enumerate(fields)
    ]
    for operand in operands:
        v.claims.keep_apart(out, operand)
