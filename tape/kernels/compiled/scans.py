"""Running sums, products and the like along the middle axis of a (before, length, after) view.

Every step waits for the one before it, in NumPy's order: results are those of ``ufunc.accumulate``. What is
known of one row stays in a register; columns side by side go in step with each other, by vectors.

All is for compiled code, and nothing is checked here: `has_scan` says what there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tape.kernels.codes import FLOAT32, FLOAT64, SCANS
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import float32s, float64s, int64s

_SUM, _PROD, _MAX, _LINEAR, _LOGADDEXP = SCANS.values()


def _scanning(step: Callable[..., Any]) -> Callable[..., None]:
    """The compiled function that goes along the axis with ``step(so_far, x, y)``."""

    @inner
    def scan_along(before, length, after, backwards, x, y, out):  # type: ignore[no-untyped-def]
        stride = -after if backwards else after
        for a in range(before):
            i = (a * length + (length - 1 if backwards else 0)) * after
            if after == 1:
                so_far = x[i]
                out[i] = so_far
                for _ in range(length - 1):
                    i += stride
                    so_far = step(so_far, x[i], y[i])
                    out[i] = so_far
            else:
                for b in range(i, i + after):
                    out[b] = x[b]
                for _ in range(length - 1):
                    i += stride
                    for b in range(i, i + after):
                        out[b] = step(out[b - stride], x[b], y[b])

    return scan_along


@inner
def _sum(so_far, x, y):  # type: ignore[no-untyped-def]
    return so_far + x


@inner
def _product(so_far, x, y):  # type: ignore[no-untyped-def]
    return so_far * x


@inner
def _larger(so_far, x, y):  # type: ignore[no-untyped-def]
    return so_far if so_far > x or so_far != so_far else x  # NaN stays, of two zeros the later one


@inner
def _log_of_sum(so_far, x, y):  # type: ignore[no-untyped-def]
    """As npy_logaddexp in NumPy's npymath."""
    if so_far == x:  # infinities among them
        return so_far + math.log(2.0)
    larger, difference = max(so_far, x), so_far - x
    if difference != difference:  # NaN
        return difference
    return larger + math.log1p(math.exp(-abs(difference)))


@inner
def _linear(so_far, x, factor):  # type: ignore[no-untyped-def]
    return factor * so_far + x


_sums, _products, _maxima = map(_scanning, (_sum, _product, _larger))
_recurrences, _logs_of_sums = map(_scanning, (_linear, _log_of_sum))


@inner
def _floats(kind, before, length, after, backwards, x, y, out):  # type: ignore[no-untyped-def]
    if kind == _SUM:
        _sums(before, length, after, backwards, x, y, out)
    elif kind == _PROD:
        _products(before, length, after, backwards, x, y, out)
    elif kind == _MAX:
        _maxima(before, length, after, backwards, x, y, out)
    else:
        _recurrences(before, length, after, backwards, x, y, out)


@inner
def scan(kind, dtype, before, length, after, backwards, x, factors, out):  # type: ignore[no-untyped-def]
    """``out[:, i] = step(out[:, i - 1], x[:, i])``, from the first element, or from the last one back.

    Parameters
    ----------
    kind, dtype : int64
        Of `SCANS` and `DTYPE_CODES`, a pair for which `has_scan` is true.
    before, length, after : int64
        Lengths; that of the axis is 1 or more.
    backwards : int64
        1 to start from the last element, else 0.
    x, factors, out : int64
        Addresses of ``before * length * after`` elements; factors are any address unless the kind is linear.
    """
    if kind == _LOGADDEXP:
        _logs_of_sums(before, length, after, backwards, float64s(x), float64s(factors), float64s(out))
    elif dtype == FLOAT64:
        _floats(kind, before, length, after, backwards, float64s(x), float64s(factors), float64s(out))
    elif dtype == FLOAT32:
        _floats(kind, before, length, after, backwards, float32s(x), float32s(factors), float32s(out))
    else:
        _sums(before, length, after, backwards, int64s(x), int64s(factors), int64s(out))
