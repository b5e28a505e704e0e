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
    width = (start // columns + 1) * columns - start
    y += start // columns * stride
    if itemsize == 8:
        _doubles(kind, columns, width, count, x, y, stride, out)
    else:
        _singles(kind, columns, width, count, x, y, stride, out)


def _rows(number: Any) -> Callable[..., None]:
    """Combine rows of elements of this type with their numbers; the first row may have begun before."""
    view, itemsize = pointer_to(number), number.bitwidth // 8

    def operation(combine: Any, is_first: bool) -> Any:
        @inner
        def of_two(a, b):  # type: ignore[no-untyped-def]
            return combine(b, a) if is_first else combine(a, b)

        @inner
        def each(columns, width, count, x, y, stride, out):  # type: ignore[no-untyped-def]
            while count > 0:
                width = min(width, count)
                elements, results, one = view(x), view(out), view(y)[0]
                lanes, several = vectors.lanes(elements), vectors.spread(one)
                last = width - lanes
                if last < 0:
                    for at in range(width):
                        results[at] = of_two(elements[at], one)
                else:  # the last vector may hold what another one has: it is read before that is overwritten
                    found, at = of_two(vectors.load(elements, last), several), 0
                    while at < last:
                        vectors.store(results, at, of_two(vectors.load(elements, at), several))
                        at += lanes
                    vectors.store(results, last, found)
                x += width * itemsize
                out += width * itemsize
                y += stride
                count -= width
                width = columns

        return each

    add, multiply = operation(vectors.add, False), operation(vectors.multiply, False)
    subtract, subtract_from = (operation(vectors.subtract, is_first) for is_first in (False, True))
    divide, divide_by = (operation(vectors.divide, is_first) for is_first in (False, True))

    @inner
    def rows(kind, columns, width, count, x, y, stride, out):  # type: ignore[no-untyped-def]
        if kind == _ADD:
            add(columns, width, count, x, y, stride, out)
        elif kind == _MULTIPLY:
            multiply(columns, width, count, x, y, stride, out)
        elif kind == _SUBTRACT:
            subtract(columns, width, count, x, y, stride, out)
        elif kind == _SUBTRACT_FROM:
            subtract_from(columns, width, count, x, y, stride, out)
        elif kind == _DIVIDE:
            divide(columns, width, count, x, y, stride, out)
        else:
            divide_by(columns, width, count, x, y, stride, out)

    return rows


_ADD, _MULTIPLY = BY_ROWS["add", 1], BY_ROWS["multiply", 1]
_SUBTRACT, _SUBTRACT_FROM = BY_ROWS["subtract", 1], BY_ROWS["subtract", 0]
_DIVIDE = BY_ROWS["divide", 1]
_doubles, _singles = _rows(types.float64), _rows(types.float32)
