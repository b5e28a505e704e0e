"""Sums over the middle axis of a (before, reduced, after) view, of elements or of what is made of them.

Short rows keep several sums going at once, so that none waits for another; narrow columns stay in
registers from row to row. In float32 each partial sum has at most 64 elements before others join it, and
at most 2048 together before a total in float64 takes them up; sums of columns are taken four rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.vectors import add, behind, lanes, load, spread, store, total

NARROW = 64
"""Up to so many columns are reduced a few at a time, all rows; more of them row by row, as memory lies."""

_BLOCK = 2048


def summation(number: Callable[..., Any], vector: Callable[..., Any]) -> Callable[..., None]:
    """The compiled function that sums what is made of two arrays.

    Parameters
    ----------
    number, vector : callable
        Compiled functions of ``(x, y, i)``, two pointers and a position: the term there, and a vector of
        the terms from there on.

    Returns
    -------
    callable
        ``sum_terms(x, y, before, reduced, after, out, zero, wide_zero)``: pointers, lengths, and zeros of the
        dtype and of what long sums are made in.
    """

    @inner
    def sum_terms(x, y, before, reduced, after, out, zero, wide_zero):  # type: ignore[no-untyped-def]
        if after == 1:
            if reduced < lanes(x):
                short_rows(x, y, before, reduced, out, zero)
            elif reduced <= _BLOCK:
                for a in range(before):
                    out[a] = sum_run(x, y, a * reduced, (a + 1) * reduced, zero)
            else:
                for a in range(before):
                    start, end, whole = a * reduced, (a + 1) * reduced, wide_zero
                    while start < end:
                        stop = min(start + _BLOCK, end)
                        whole += sum_run(x, y, start, stop, zero)
                        start = stop
                    out[a] = whole
        elif lanes(x) <= after <= NARROW:
            narrow_columns(x, y, before, reduced, after, out, zero)
        else:
            columns(x, y, before, reduced, after, out, zero)

    @inner
    def sum_run(x, y, start, stop, zero):  # type: ignore[no-untyped-def]
        """Of a part of a row that is at least as long as a vector, as the row itself is."""
        width = lanes(x)
        p = spread(zero)
        if start + 4 * width <= stop:
            q = r = s = p
            while start + 4 * width <= stop:
                p = add(p, vector(x, y, start))
                q = add(q, vector(x, y, start + width))
                r = add(r, vector(x, y, start + 2 * width))
                s = add(s, vector(x, y, start + 3 * width))
                start += 4 * width
            p = add(add(p, q), add(r, s))
        while start + width <= stop:
            p = add(p, vector(x, y, start))
            start += width
        if start < stop:  # what is left over ends a vector, most of which has been added
            p = add(p, behind(vector(x, y, stop - width), stop - start))
        return total(p)

    @inner
    def short_rows(x, y, before, reduced, out, zero):  # type: ignore[no-untyped-def]
        for a in range(0, before, 4):  # the last row more than once, rather than a loop of its own
            b, c, d = min(a + 1, before - 1), min(a + 2, before - 1), min(a + 3, before - 1)
            p = q = r = s = zero
            for i in range(reduced):
                p += number(x, y, a * reduced + i)
                q += number(x, y, b * reduced + i)
                r += number(x, y, c * reduced + i)
                s += number(x, y, d * reduced + i)
            out[a], out[b], out[c], out[d] = p, q, r, s

    @inner
    def narrow_columns(x, y, before, reduced, after, out, zero):  # type: ignore[no-untyped-def]
        for a in range(before):
            column = 0
            while column < after:
                column = min(column, after - lanes(x))  # the last vector may hold what another had
                i = a * reduced * after + column
                end = i + reduced * after
                p = q = r = s = spread(zero)
                for _ in range(reduced % 4):
                    p = add(p, vector(x, y, i))
                    i += after
                while i < end:
                    p = add(p, vector(x, y, i))
                    q = add(q, vector(x, y, i + after))
                    r = add(r, vector(x, y, i + 2 * after))
                    s = add(s, vector(x, y, i + 3 * after))
                    i += 4 * after
                store(out, a * after + column, add(add(p, q), add(r, s)))
                column += lanes(x)

    @inner
    def columns(x, y, before, reduced, after, out, zero):  # type: ignore[no-untyped-def]
        for a in range(before):
            for b in range(a * after, (a + 1) * after):
                out[b] = zero
            i = a * reduced * after
            end = i + reduced * after
            for _ in range(reduced % 4):
                for b in range(after):
                    out[a * after + b] += number(x, y, i + b)
                i += after
            while i < end:
                for b in range(after):
                    first = number(x, y, i + b) + number(x, y, i + after + b)
                    second = number(x, y, i + 2 * after + b) + number(x, y, i + 3 * after + b)
                    out[a * after + b] += first + second
                i += 4 * after

    return sum_terms


@inner
def _element(x, y, i):  # type: ignore[no-untyped-def]
    return x[i]


@inner
def _elements(x, y, i):  # type: ignore[no-untyped-def]
    return load(x, i)


sum_elements = summation(_element, _elements)
"""Of ``x`` alone; ``y`` is any pointer."""
