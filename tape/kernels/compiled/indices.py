"""Reading, adding and writing at positions given by integer arrays, for compiled code.

Positions are the only numbers here that nobody has checked before: an index out of range makes a
kernel return False, with nothing added or written anywhere. Negative ones count from the end.

Another thread may change positions meanwhile. So each is checked again where it is used, in a variable that
was read once; what such a thread changes decides what is computed, never which memory is touched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tape.kernels.codes import BOOL, FLOAT64, INT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import float32s, float64s, int8s, int32s, int64_at, int64s, pointer_to

_SOME = 256  # places that are checked before any of them is used


@inner
def _fits(positions, count, length):  # type: ignore[no-untyped-def]
    outside = 0
    for k in range(count):
        outside |= (positions[k] < -length) | (positions[k] >= length)
    return outside == 0


@inner
def _place(position, length):  # type: ignore[no-untyped-def]
    """A position, counted from the beginning."""
    return position + (length if position < 0 else 0)


@inner
def _is_outside(place, length):  # type: ignore[no-untyped-def]
    return np.uint64(place) >= np.uint64(length)  # below 0 it is a large one


@intrinsic
def _own_memory(typing_context):  # type: ignore[no-untyped-def]
    """The address of memory of the function's own, for some places."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        kind = ir.ArrayType(ir.IntType(64), _SOME)
        return builder.ptrtoint(cgutils.alloca_once(builder, kind), ir.IntType(64))

    return types.int64(), generate


@inner
def take(itemsize, source, length, row_items, index, count, before, out):  # type: ignore[no-untyped-def]
    """``out[b, k, :] = source[b, index[k], :]``; False if an index is out of range.

    Parameters
    ----------
    itemsize : int64
        One of `COPY_ITEMSIZES`.
    source : int64
        Address of ``before * length * row_items`` elements.
    length, row_items, count, before : int64
        Lengths.
    index : int64
        Address of ``count`` int64.
    out : int64
        Address of ``before * count * row_items`` elements.
    """
    if not _fits(int64s(index), count, length):
        return False
    if itemsize == 8:
        return _take64(source, length, row_items, int64s(index), count, before, out)
    if itemsize == 4:
        return _take32(source, length, row_items, int64s(index), count, before, out)
    if itemsize == 2:
        return _take16(source, length, row_items, int64s(index), count, before, out)
    if itemsize == 16:
        return _take64(source, length, 2 * row_items, int64s(index), count, before, out)
    return _take8(source, length, row_items, int64s(index), count, before, out)


def _taker(kind: Any) -> Callable[..., bool]:
    """`take` for elements of the size of this type."""
    view, itemsize = pointer_to(kind), kind.bitwidth // 8

    @inner
    def copy(source, length, row_items, positions, count, before, out):  # type: ignore[no-untyped-def]
        for b in range(before):
            block, out_block = (
                source + b * length * row_items * itemsize,
                out + b * count * row_items * itemsize,
            )
            if row_items == 1:
                elements, outs, places, first = view(block), view(out_block), int64s(_own_memory()), 0
                while first < count:  # checked by SIMD, where nobody else writes
                    some, outside = min(_SOME, count - first), 0
                    for k in range(some):
                        places[k] = _place(positions[first + k], length)
                        outside |= _is_outside(places[k], length)
                    if outside:
                        return False
                    for k in range(some):
                        outs[first + k] = elements[places[k]]
                    first += some
                continue
            for k in range(count):
                place = _place(positions[k], length)
                if _is_outside(place, length):
                    return False
                row = view(block + place * row_items * itemsize)
                out_row = view(out_block + k * row_items * itemsize)
                for j in range(row_items):
                    out_row[j] = row[j]
        return True

    return copy


_take64, _take32, _take16, _take8 = map(_taker, (types.int64, types.int32, types.int16, types.int8))


@inner
def scatter_add(dtype, total, length, row_items, index, count, before, values):  # type: ignore[no-untyped-def]
    """``total[b, index[k], :] += values[b, k, :]``; False, and nothing added, if an index is out of range.

    Parameters
    ----------
    dtype : int64
        That of float64 or float32 in `DTYPE_CODES`.
    total : int64
        Address of ``before * length * row_items`` elements.
    length, row_items, count, before : int64
        Lengths.
    index : int64
        Address of ``count`` int64; a row named more than once takes all that is added to it.
    values : int64
        Address of ``before * count * row_items`` elements.
    """
    positions = int64s(index)
    if not _fits(positions, count, length):
        return False
    if dtype == FLOAT64:
        return _add_rows(float64s(total), length, row_items, positions, count, before, float64s(values))
    return _add_rows(float32s(total), length, row_items, positions, count, before, float32s(values))


@inner
def _add_rows(total, length, row_items, positions, count, before, values):  # type: ignore[no-untyped-def]
    for b in range(before):
        if row_items == 1:
            for k in range(count):
                place = _place(positions[k], length)
                if _is_outside(place, length):
                    return False
                total[b * length + place] += values[b * count + k]
            continue
        for k in range(count):
            place = _place(positions[k], length)
            if _is_outside(place, length):
                return False
            row, value_row = (b * length + place) * row_items, (b * count + k) * row_items
            for j in range(row_items):
                total[row + j] += values[value_row + j]
    return True


# ---- writing: a kernel of the registry ---------------------------------------------------------------


@inner
def _put_rows(blas, dtype, parameters, start, stop, total, values, index, workspace, out):  # type: ignore[no-untyped-def]
    """``out[b] = total[b]``, then ``out[b, index[k], :] = values[b, k, :]`` for all k in order; 0 or 1."""
    length, row_items, count = (
        int64_at(parameters + 8), int64_at(parameters + 16), int64_at(parameters + 24)
    )  # fmt: skip
    positions = int64s(index)
    if not _fits(positions, count, length):
        return 0
    if dtype == FLOAT64 or dtype == INT64:  # noqa: SIM109
        return _write_rows(
            int64s(total), int64s(values), positions, start, stop, length, row_items, count, int64s(out)
        )
    if dtype == BOOL:
        return _write_rows(
            int8s(total), int8s(values), positions, start, stop, length, row_items, count, int8s(out)
        )
    return _write_rows(
        int32s(total), int32s(values), positions, start, stop, length, row_items, count, int32s(out)
    )


@inner
def _write_rows(total, values, positions, start, stop, length, row_items, count, out):  # type: ignore[no-untyped-def]
    block = length * row_items
    for b in range(start, stop):
        for j in range(block):
            out[b * block + j] = total[b * block + j]
        for k in range(count):
            place = _place(positions[k], length)
            if _is_outside(place, length):
                return 0
            row, value_row = b * block + place * row_items, (b * count + k) * row_items
            for j in range(row_items):
                out[row + j] = values[value_row + j]
    return 1


KERNELS = {"put_rows": _put_rows}
"""The functions of `tape.kernels.indices.KERNELS`."""
