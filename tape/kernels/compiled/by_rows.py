"""Arithmetic between the rows of an array and a number for each row, read in place.

NumPy's loops take one number, or as many as there are elements: a call for each row takes longer than its
elements, and so does writing the numbers out. Each operation rounds once, as NumPy's do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types

from tape.kernels.codes import BY_ROWS
from tape.kernels.compiled import vectors
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import pointer_to


@inner
def by_rows(kind, itemsize, columns, start, count, x, y, stride, out):  # type: ignore[no-untyped-def]
    """Combine elements of rows with the number of each row.

    Parameters
    ----------
    kind : int64
        One of `BY_ROWS`.
    itemsize : int64
        8 for float64, 4 for float32.
    columns : int64
        Elements of a row.
    start, count : int64
        Which elements, in C order.
    x : int64
        Address of the first of them.
    y, stride : int64
        Address of the number of the first of all rows, and bytes from one to the next.
    out : int64
        Address of ``count`` elements; it may be ``x``.
    """
    row = start // columns
    width = (row + 1) * columns - start
    y += row * stride
    while count > 0:
        width = min(width, count)
        if itemsize == 8:
            _doubles(kind, width, x, y, out)
        else:
            _singles(kind, width, x, y, out)
        x += width * itemsize
        out += width * itemsize
        y += stride
        count -= width
        width = columns


def _row(number: Any) -> Callable[..., None]:
    """Combine a row of elements of this type with its number."""
    view = pointer_to(number)

    def operation(combine: Any, is_first: bool) -> Any:
        @inner
        def each(width, x, y, out):  # type: ignore[no-untyped-def]
            elements, results, one, at = view(x), view(out), view(y)[0], 0
            lanes, several = vectors.lanes(elements), vectors.spread(one)
            while at + lanes <= width:
                some = vectors.load(elements, at)
                vectors.store(results, at, combine(several, some) if is_first else combine(some, several))
                at += lanes
            while at < width:
                results[at] = combine(one, elements[at]) if is_first else combine(elements[at], one)
                at += 1

        return each

    add, multiply = operation(vectors.add, False), operation(vectors.multiply, False)
    subtract, subtract_from = (operation(vectors.subtract, is_first) for is_first in (False, True))
    divide, divide_by = (operation(vectors.divide, is_first) for is_first in (False, True))

    @inner
    def row(kind, width, x, y, out):  # type: ignore[no-untyped-def]
        if kind == _ADD:
            add(width, x, y, out)
        elif kind == _MULTIPLY:
            multiply(width, x, y, out)
        elif kind == _SUBTRACT:
            subtract(width, x, y, out)
        elif kind == _SUBTRACT_FROM:
            subtract_from(width, x, y, out)
        elif kind == _DIVIDE:
            divide(width, x, y, out)
        else:
            divide_by(width, x, y, out)

    return row


_ADD, _MULTIPLY = BY_ROWS["add", 1], BY_ROWS["multiply", 1]
_SUBTRACT, _SUBTRACT_FROM = BY_ROWS["subtract", 1], BY_ROWS["subtract", 0]
_DIVIDE = BY_ROWS["divide", 1]
_doubles, _singles = _row(types.float64), _row(types.float32)
