"""Running along an axis, element by element: linear recurrences, and products of all factors but one.

NumPy has no loop for either, and needs O(log n) operations on ever shorter arrays. The recurrence has a loop
of its own: that of programs, `tape.kernels.compiled.scans`, takes four times as long on columns side by side.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tape.kernels.codes import KERNEL_DTYPES
from tape.kernels.eager import AVOIDED, is_avoided, machine_code
from tape.kernels.reduce import sums_between

_RECUR, _MULTIPLY_OTHERS = map(machine_code, ("recur", "multiply_others"))
_LARGE = 1024  # elements of a recurrence; below, NumPy is as fast


def recurrence(a: np.ndarray, b: np.ndarray, axis: int, backwards: bool) -> np.ndarray | None:
    """``y[i] = a[i] * y[i - 1] + b[i]`` along an axis; ``y[0]`` is ``b[0]``.

    Parameters
    ----------
    a, b : numpy.ndarray
        Of one shape.
    axis : int
        Which.
    backwards : bool
        Whether it runs from the last element to the first.

    Returns
    -------
    numpy.ndarray or None
        Of that shape. None unless these are large arrays, float32 or float64 both.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.recurrences import recurrence
    >>> recurrence(np.full(2000, 0.5), np.ones(2000), 0, False)[:3]
    array([1.  , 1.5 , 1.75])
    """
    if a.dtype != b.dtype or b.size < _LARGE or not _has_kernels(b):
        return None
    axis %= b.ndim
    each = (prod(b.shape[:axis]), b.shape[axis], prod(b.shape[axis + 1 :]))
    out = np.empty(b.shape, b.dtype)
    a, b = (np.ascontiguousarray(x).reshape(each) for x in (a, b))
    _RECUR[out.dtype.char](a, b, float(backwards), out.reshape(each))
    return out


def products_share(g: np.ndarray, x: np.ndarray) -> np.ndarray | None:
    """For each element ``g`` times the product of the others in its reduction; exact where some are zero.

    Parameters
    ----------
    g : numpy.ndarray
        Of the shape of ``x``, with axes of length one in place of those that products are taken over.
    x : numpy.ndarray
        Of any shape.

    Returns
    -------
    numpy.ndarray or None
        Of the shape of ``x``, the same to the last bit with and without machine code. None for anything but
        arrays of one dtype, without elements, and for axes that are not one run of axes.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.recurrences import products_share
    >>> x = np.ones((2, 1000))
    >>> x[:, :2] = [[2.0, 3.0], [0.0, 5.0]]
    >>> products_share(np.ones((2, 1)), x)[:, :3]
    array([[3., 2., 6.],
           [5., 0., 0.]])
    """
    if type(g) is not np.ndarray or type(x) is not np.ndarray or g.dtype != x.dtype or not x.size:
        return None
    steps = sums_between(x.shape, g.shape)
    if len(steps) != 1:
        return None
    before, _, after = steps[0]
    shape, g, x = x.shape, np.ascontiguousarray(g).reshape(before, after), x.reshape(steps[0])
    if _has_kernels(x):
        out = np.empty(x.shape, x.dtype)
        _MULTIPLY_OTHERS[x.dtype.char](g, np.ascontiguousarray(x), np.empty(after, x.dtype), out)
    else:
        ahead = np.ones_like(x, order="C")
        np.multiply.accumulate(x[:, :-1], axis=1, out=ahead[:, 1:])
        behind = np.ones_like(x, order="C")
        np.multiply.accumulate(x[:, :0:-1], axis=1, out=behind[:, -2::-1])
        out = np.multiply(g[:, None], np.multiply(ahead, behind, out=ahead), out=ahead)
    return out.reshape(shape)


def _has_kernels(x: np.ndarray) -> bool:
    return x.dtype in KERNEL_DTYPES and not (AVOIDED and is_avoided())


# Where there is nothing after the axis, what is carried along stays in a register.


def recur(a, b, backwards, out):  # type: ignore[no-untyped-def]
    before, length, after = b.shape
    first, step = (length - 1, -1) if backwards else (0, 1)
    for p in range(before):
        if after == 1:
            y = b[p, first, 0]
            out[p, first, 0] = y
            for k in range(1, length):
                i = first + k * step
                y = a[p, i, 0] * y + b[p, i, 0]
                out[p, i, 0] = y
        else:
            for q in range(after):
                out[p, first, q] = b[p, first, q]
            for k in range(1, length):
                i = first + k * step
                for q in range(after):
                    out[p, i, q] = a[p, i, q] * out[p, i - step, q] + b[p, i, q]


def multiply_others(g, x, products, out):  # type: ignore[no-untyped-def]
    before, length, after = x.shape
    for p in range(before):
        if after == 1:
            product = x.dtype.type(1)
            for i in range(length):
                out[p, i, 0] = product
                product *= x[p, i, 0]
            product = x.dtype.type(1)
            for i in range(length - 1, -1, -1):
                out[p, i, 0] = g[p, 0] * (out[p, i, 0] * product)
                product *= x[p, i, 0]
        else:
            for q in range(after):
                products[q] = 1
            for i in range(length):
                for q in range(after):
                    out[p, i, q] = products[q]
                    products[q] *= x[p, i, q]
            for q in range(after):
                products[q] = 1
            for i in range(length - 1, -1, -1):
                for q in range(after):
                    out[p, i, q] = g[p, q] * (out[p, i, q] * products[q])
                    products[q] *= x[p, i, q]
