"""Reductions and scans by NumPy's own inner loops, for compiled code: the same as NumPy's to the last bit.

Which digits a sum ends in depends on the order of its additions. NumPy's loop for ``add`` adds a row up
pairwise if its result is a single number, and columns one row after the other; `numpy.add.reduce` calls it
once for each innermost run of elements, in the order of memory. Here it is called in the same way.
"""

from __future__ import annotations

from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import call4, int8s, int64s, set_int64


@inner
def numpy_fold(loop, data, start, itemsize, before, reduced, after, x, out, scratch):  # type: ignore[no-untyped-def]
    """``out[a, b] = ufunc.reduce(x[a, :, b])``, in the order in which NumPy goes.

    Parameters
    ----------
    loop, data : int64
        Address of a loop of two operands of one dtype, which the result has too; and its last argument.
    start : int64
        What results begin with: the bits of a number, in complex ones of the real part; or -1 for the first
        elements.
    itemsize : int64
        Of the elements.
    before, reduced, after : int64
        Lengths.
    x, out : int64
        Addresses of ``before * reduced * after`` and of ``before * after`` elements.
    scratch : int64
        Address of seven numbers, for the arguments of the loop: addresses, count, strides.
    """
    strides = scratch + 32
    for k in range(3):
        set_int64(strides + 8 * k, itemsize)
    runs, count, step = reduced, after, after * itemsize
    if after == 1:
        set_int64(strides, 0)
        set_int64(strides + 16, 0)
        runs, count, step = 1, reduced, itemsize
    first = 0
    if start < 0:
        first = 1
        if after == 1:
            count -= 1
    else:
        _fill(start, itemsize, before * after, out)
    set_int64(scratch + 24, count)
    for a in range(before):
        target, source = out + a * after * itemsize, x + a * reduced * after * itemsize
        if start < 0:
            for k in range(after * itemsize):
                int8s(target)[k] = int8s(source)[k]
            source += step
        for _ in range(runs - first if after > 1 else (count > 0) * 1):
            set_int64(scratch, target)
            set_int64(scratch + 8, source)
            set_int64(scratch + 16, target)
            call4(loop, (scratch, scratch + 24, strides, data))
            source += step


@inner
def _fill(bits, itemsize, count, out):  # type: ignore[no-untyped-def]
    """Set elements to a number."""
    if itemsize >= 8:
        words, width = int64s(out), itemsize >> 3
        for k in range(count):
            for part in range(width):
                words[k * width + part] = bits if part == 0 else 0
    else:
        for k in range(count):
            for part in range(itemsize):
                int8s(out)[k * itemsize + part] = (bits >> (8 * part)) & 0xFF
