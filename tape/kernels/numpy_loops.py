"""Sums and products by NumPy's own inner loops, for compiled code: the same as NumPy's to the last bit.

Which digits a sum ends in depends on the order of its additions. NumPy's loop for ``add`` adds a row up
pairwise if its result is a single number, and columns one row after the other; `numpy.add.reduce` calls it
once for each innermost run of elements, in the order of memory. Here it is called in the same way.
"""

from __future__ import annotations

from numba import types

from tape.kernels._jit import inner
from tape.kernels.pointers import call4, pointer_to, set_int64

_int32 = pointer_to(types.int32)


@inner
def numpy_sum(loop, itemsize, before, reduced, after, x, out, scratch):  # type: ignore[no-untyped-def]
    """``out[a, b] = sum(x[a, :, b])``, in the order in which `numpy.add.reduce` adds.

    Parameters
    ----------
    loop : int64
        Address of NumPy's loop for ``add``, of float64 or float32.
    itemsize : int64
        Of these.
    before, reduced, after : int64
        Lengths.
    x, out : int64
        Addresses of ``before * reduced * after`` and of ``before * after`` elements.
    scratch : int64
        Address of seven numbers, for the arguments of the loop: addresses, count, strides.
    """
    zeros = _int32(out)
    for k in range(before * after * itemsize // 4):
        zeros[k] = 0
    strides = scratch + 32
    for k in range(3):
        set_int64(strides + 8 * k, itemsize)
    if after == 1:
        set_int64(strides, 0)
        set_int64(strides + 16, 0)
        runs, count = 1, reduced
    else:
        runs, count = reduced, after
    set_int64(scratch + 24, count)
    for a in range(before):
        target = out + a * after * itemsize
        for r in range(runs):
            set_int64(scratch, target)
            set_int64(scratch + 8, x + (a * runs + r) * count * itemsize)
            set_int64(scratch + 16, target)
            call4(loop, (scratch, scratch + 24, strides, 0))
