"""Checks of products of matrices and of systems of equations: calls to BLAS, LAPACK and NumPy's loops."""

from __future__ import annotations

import numpy as np

from tape.program.native.functions import alignments, blas_number, gufunc_of, itemsizes, matmul_numbers
from tape.program.native.gufuncs import GUFUNCS, MOST_ARGUMENTS, require_lengths, size_of, strides_of
from tape.program.native.opcodes import FIELDS, MOST_WORTH, REGISTERS, SLOT_BITS, WIDTH
from tape.program.runtime.checks import INT64, MOST, MOST_INT32, Checks
from tape.program.runtime.extents import Column, Rows

__all__ = ["gemm", "gesv", "gufunc", "numpy_matmul", "potrf", "trsm"]

_INT32 = np.dtype(np.int32).itemsize
_LOOP = 13  # numbers in the table of a product by NumPy's loop
_ARGUMENTS = FIELDS["gufunc"][5 : 5 + MOST_ARGUMENTS]
_N, _T = ord("N"), ord("T")
_STACK = 8  # numbers in the table of a stack of matrices
_TRIANGLES = [ord("U"), ord("L")]
_TRIANGULAR = [
    int.from_bytes(f"L{triangle}{turned}{diagonal}".encode(), "little")
    for triangle in "UL"
    for turned in "NT"
    for diagonal in "UN"
]


def _blas(group: Rows, doubles: str, singles: str) -> Column:
    """Return the itemsize of a function of BLAS, which must be one of these two."""
    function, double, single = group["function"], blas_number(doubles), blas_number(singles)
    is_double = function == double
    group.need(is_double | (function == single), "function", f"It is neither {doubles} nor {singles}")
    size = np.where(is_double, itemsizes(double)[0], itemsizes(single)[0])
    if "itemsize" in FIELDS[group.name]:
        group.need(group["itemsize"] == size, "itemsize", "The function has another itemsize")
    return size


def gemm(v: Checks, group: Rows) -> None:
    size = _blas(group, "dgemm", "sgemm")
    # BLAS reads 32 bits of them.
    m, n = group.between("m", 1, MOST_INT32), group.between("n", 1, MOST_INT32)
    k = group.between("k", 0, MOST_INT32)
    letters = group.one_of("transposed", [a | b << 8 for a in (_N, _T) for b in (_N, _T)])
    at = group.between("stack", v.rows * WIDTH, len(v.code) - _STACK)
    outer, inner, *strides = (v.code[at + i] for i in range(_STACK))
    for count in (outer, inner):
        group.need((count >= 1) & (count <= MOST), "stack", "A length in the table is out of range")
    # Each element of a result takes memory, which limits how long a row runs.
    elements = outer * inner.astype(float) * m * n
    group.need(elements * size <= v.claims.sizes.max(initial=0), "stack", "It has too many matrices")
    touched = []
    for matrix, rows, columns, is_turned, steps in (
        ("a", m, k, letters & 0xFF == _T, strides[:2]),
        ("b", k, n, letters >> 8 == _T, strides[2:4]),
        ("c", m, n, np.zeros(len(group), bool), strides[4:]),
    ):
        height, width = np.where(is_turned, (columns, rows), (rows, columns))
        leading = group.between(f"ld{matrix}", np.maximum(height, 1), MOST_INT32)
        part = np.where(height * width > 0, ((width - 1.0) * leading + height) * size, 0)
        low = high = np.zeros(len(group))
        for count, step in zip((outer, inner), steps, strict=True):
            is_stride = (step >= -MOST) & (step <= MOST) & (step % size == 0)
            group.need(
                is_stride,
                "stack",
                f"A stride of {matrix} in the table is out of range, or not a multiple of the itemsize",
            )
            reach = (count - 1.0) * step
            low, high = low + np.minimum(reach, 0), high + np.maximum(reach, 0)
        touched.append(
            v.claims.add(group, matrix, size, part=part, low=low, high=high, is_written=matrix == "c")
        )
    for factor in touched[:2]:
        v.claims.keep_apart(touched[2], factor)


def numpy_matmul(v: Checks, group: Rows) -> None:
    functions = group.one_of("function", matmul_numbers() or [-1])
    size, unit = (np.array([of(number)[0] for number in functions]) for of in (itemsizes, alignments))
    at = group.between("stack", v.rows * WIDTH, len(v.code) - _LOOP)
    count, m, k, n, *strides = (v.code[at + i] for i in range(_LOOP))
    for length in (count, m, k, n):
        group.need((length >= 1) & (length <= MOST_INT32), "stack", "A length in the table is out of range")
    # Each element of a result takes memory, which limits how long a row runs.
    elements = count * m.astype(float) * n
    group.need(elements * size <= v.claims.sizes.max(initial=0), "stack", "It has too many matrices")
    dense = (np.where(count > 1, m * n * size, 0), n * size, size)
    touched = []
    for field, lengths, steps in (
        ("a", (count, m, k), (strides[0], strides[3], strides[4])),
        ("b", (count, k, n), (strides[1], strides[5], strides[6])),
        ("out", (count, m, n), (strides[2], strides[7], strides[8])),
    ):
        low = high = np.zeros(len(group))
        for length, step, wanted in zip(lengths, steps, dense, strict=True):
            is_stride = (step >= -MOST) & (step <= MOST) & (step % size == 0)
            if field == "out":
                is_stride = is_stride & ((step == wanted) | (length == 1))
            group.need(is_stride, "stack", f"A stride of {field} in the table is none that it may have")
            reach = (length - 1.0) * step
            low, high = low + np.minimum(reach, 0), high + np.maximum(reach, 0)
        touched.append(
            v.claims.add(group, field, unit, part=size, low=low, high=high, is_written=field == "out")
        )
    for factor in touched[:2]:
        v.claims.keep_apart(touched[2], factor)


def gufunc(v: Checks, group: Rows) -> None:
    for number in np.unique(group["function"]).tolist():
        rows = group.where(group["function"] == number)
        found = gufunc_of(number)
        if found is None:
            rows.refuse(0, "function", f"is {number}, which is no generalised ufunc")
        _calls(v, rows, *found)


def _calls(v: Checks, group: Rows, name: str, types: str) -> None:
    """Claim the memory of rows that call the same loop."""
    of, chars = GUFUNCS[name], types.replace("->", "")
    cores = [*of.operands, *of.results]
    group.one_of("arguments", [len(cores)])
    group.one_of("stops", [int(of.failure is not None)])
    group.one_of("dimensions", [len(of.dimensions)])
    inner = sum(map(len, cores))
    first, last = v.rows * WIDTH, len(v.code)
    at = group.between("lengths", first, last - 1 - len(of.dimensions))
    steps_at = group.between("strides", first, last - len(cores) - inner)
    counts, sizes, steps = np.zeros(len(group)), *np.zeros((2, len(cores), len(group)))
    for k in range(len(group)):
        counts[k], *lengths = v.code[at[k] : at[k] + 1 + len(of.dimensions)].tolist()
        strides = v.code[steps_at[k] : steps_at[k] + len(cores) + inner].tolist()
        by_name = dict(zip(of.dimensions, lengths, strict=True))
        try:
            require_lengths(of, by_name)
        except ValueError as error:
            group.refuse(k, "lengths", f"does not fit: {error}")
        if strides != strides_of(name, types, by_name, [step != 0 for step in strides[: len(cores)]]):
            group.refuse(k, "strides", "is not of arrays in C order without gaps")
        for x, core in enumerate(cores):
            sizes[x, k] = size_of(core, by_name) * np.dtype(chars[x]).itemsize
            steps[x, k] = strides[x]
    group.need((counts >= 1) & (counts <= MOST), "lengths", "It begins with no number of matrices")
    group.between("portion", 1, counts)
    # The machine marks the last result before threads share a row: see its `_matrices`.
    group.between("worth", 1, MOST_WORTH if np.dtype(chars[-1]).itemsize >= _INT32 else 1)
    claims, written = [], []
    for x, field in enumerate(_ARGUMENTS[: len(cores)]):
        if is_written := x >= len(of.operands) or (of.overwrites and not x):
            group.need((counts == 1) | (steps[x] != 0), "strides", "All matrices have the same result")
            written.append(x)
        claims.append(
            v.claims.add(
                group, field, np.dtype(chars[x]).alignment, counts,
                step=steps[x], part=sizes[x], is_written=is_written,
            )
        )  # fmt: skip
    _keep_shared_out_of_registers(group, *_ARGUMENTS[: len(cores)])
    for x in written:
        for other in claims[:x] + claims[x + 1 :]:
            v.claims.keep_apart(claims[x], other)


def _keep_shared_out_of_registers(group: Rows, *fields: str) -> None:
    """Check that what threads share is not in the registers, of which each thread has its own."""
    for field in fields:
        is_fine = (group["worth"] == 1) | (group[field] >> SLOT_BITS != REGISTERS)
        group.need(is_fine, field, "It is in the registers, and threads share the row")


def _systems(v: Checks, group: Rows, doubles: str, singles: str) -> tuple[Column, Column, Column]:
    """Return the itemsize, the number of matrices, and the number of rows of each."""
    size, batch = _blas(group, doubles, singles), group.between("batch", 1, MOST)
    group.between("worth", 1, MOST_WORTH)
    return size, batch, group.between("n", 1, MOST_INT32)


def gesv(v: Checks, group: Rows) -> None:
    size, batch, n = _systems(v, group, "dgesv", "sgesv")
    row = batch * n.astype(float)
    columns = group.between("columns", 0, MOST_INT32)
    a = v.claims.add(group, "a", size, row * n, is_written=True)
    x = v.claims.add(group, "x", size, row * columns, is_written=True)
    _keep_shared_out_of_registers(group, "x")
    is_own = (group["worth"] == 1) | (group["pivots"] >> SLOT_BITS == REGISTERS)
    group.need(is_own, "pivots", "Threads would share them")
    # LAPACK takes from the pivots which rows to exchange: nothing else may write there.
    pivots = v.claims.add(group, "pivots", INT64, n, is_written=True)
    v.claims.keep_apart(pivots, a)
    v.claims.keep_apart(pivots, x)
    v.claims.keep_apart(x, a)


def potrf(v: Checks, group: Rows) -> None:
    size, batch, n = _systems(v, group, "dpotrf", "spotrf")
    group.one_of("letter", _TRIANGLES)
    v.claims.add(group, "x", size, batch * n.astype(float) * n, is_written=True)
    _keep_shared_out_of_registers(group, "x")


def trsm(v: Checks, group: Rows) -> None:
    size, batch, n = _systems(v, group, "dtrsm", "strsm")
    columns = group.between("columns", 1, MOST_INT32)
    leading = group.between("lda", n, MOST_INT32)
    group.one_of("letters", _TRIANGULAR)
    part = ((n - 1.0) * leading + n) * size
    a = v.claims.add(group, "a", size, batch, step=group["stride_a"], part=part)
    x = v.claims.add(group, "x", size, batch * n.astype(float) * columns, is_written=True)
    v.claims.keep_apart(x, a)
    _keep_shared_out_of_registers(group, "a", "x")
