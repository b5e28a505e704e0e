"""Binding: the machine writes the addresses of arguments and results into its frame before it runs.

Arrays and numbers are read from Python objects without Python: see `tape.kernels.headers`.
"""

from __future__ import annotations

from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import int32_at, int64_at, int64s, set_int64
from tape.kernels.headers import (
    ARRAY_DATA,
    ARRAY_DIMS,
    ARRAY_DTYPE,
    ARRAY_FLAGS,
    ARRAY_NDIM,
    OWN_ARRAY,
    REFERENCES,
    SCALAR,
    TUPLE,
    TUPLE_SIZE,
    TYPE,
)
from tape.program.native.opcodes import HEADER, LEAF, RESULT, SLOTS


@inner
def bind(frame, leaves, spec):  # type: ignore[no-untyped-def]
    """Write the addresses of the leaves into the frame; return the number of one that does not fit, or -1.

    A leaf that is overwritten must not share memory with anything else that is read.
    """
    count = int64_at(spec)
    if int64_at(leaves + TUPLE_SIZE) != count:
        return 0
    at = spec + 8 * HEADER
    for k in range(count):
        leaf = int64_at(leaves + TUPLE + 8 * k)
        if int64_at(leaf + TYPE) != int64_at(at + 16):
            return k
        slot = frame + 8 * (SLOTS + int64_at(at))
        if int64_at(at + 8):
            flags, ndim = int64_at(at + 32), int64_at(at + 40)
            if (
                int64_at(leaf + ARRAY_DTYPE) != int64_at(at + 24)
                or int32_at(leaf + ARRAY_NDIM) != ndim
                or int32_at(leaf + ARRAY_FLAGS) & flags != flags
            ):
                return k
            given, wanted = int64_at(leaf + ARRAY_DIMS), spec + 8 * int64_at(at + 48)
            for axis in range(ndim):
                if int64_at(given + 8 * axis) != int64_at(wanted + 8 * axis):
                    return k
            set_int64(slot, int64_at(leaf + ARRAY_DATA))
        else:
            set_int64(int64_at(slot), int64_at(leaf + SCALAR))  # of a shorter number, whatever follows
        at += 8 * LEAF
    return _overlapping(frame, spec)


@inner
def _overlapping(frame, spec):  # type: ignore[no-untyped-def]
    """Return the number of a leaf that is overwritten but shares memory with what is read, or -1.

    Slots of leaves follow one another, and so do their sizes, that of a number being 0: LLVM makes SIMD of
    comparing them, of which there may be many.
    """
    count, donated, held = int64_at(spec), int64_at(spec + 24), int64_at(spec + 32)
    if donated == 0:
        return -1
    table = spec + 8 * int64_at(spec + 40)
    starts, sizes = int64s(frame + 8 * (SLOTS + int64_at(spec + 8 * HEADER))), int64s(table + 8 * donated)
    for d in range(donated):
        k = int64_at(table + 8 * d)
        start, stop, sharing = starts[k], starts[k] + sizes[k], 0
        for j in range(count):
            sharing += _is_shared(start, stop, starts[j], starts[j] + sizes[j])
        if sharing > 1:  # not with itself alone
            return k
        for j in range(held):
            other = table + 8 * (donated + count + 2 * j)
            if _is_shared(start, stop, int64_at(other), int64_at(other + 8)):
                return k
    return -1


@inner
def _is_shared(start, stop, begin, end):  # type: ignore[no-untyped-def]
    """Return whether two ranges of addresses overlap."""
    return max(start, begin) < min(stop, end)


@inner
def bind_results(frame, arrays, spec):  # type: ignore[no-untyped-def]
    """Write the addresses of arrays for results into the frame, unless they are changed or in use."""
    first = spec + 8 * (HEADER + LEAF * int64_at(spec))
    for k in range(int64_at(spec + 8)):
        array, at = int64_at(arrays + TUPLE + 8 * k), first + 8 * RESULT * k
        ndim = int64_at(at + 16)
        if (
            int64_at(array + REFERENCES) != 1
            or int64_at(array + ARRAY_DTYPE) != int64_at(at + 8)
            or int32_at(array + ARRAY_NDIM) != ndim
            or int32_at(array + ARRAY_FLAGS) & OWN_ARRAY != OWN_ARRAY
        ):
            return False
        given, wanted = int64_at(array + ARRAY_DIMS), spec + 8 * int64_at(at + 24)
        for axis in range(ndim):
            if int64_at(given + 8 * axis) != int64_at(wanted + 8 * axis):
                return False
        set_int64(frame + 8 * (SLOTS + int64_at(at)), int64_at(array + ARRAY_DATA))
    return True
