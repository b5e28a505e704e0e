"""Choosing between arrays, and what a choice passes back to them: one pass, where NumPy takes several.

NumPy's `where` branches at every element, which costs ten times what moving the memory does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.kernels.codes import KERNEL_DTYPES
from tape.kernels.eager import AVOIDED, is_avoided, machine_code
from tape.kernels.headers import is_plain
from tape.kernels.reduce import sums_between

_SELECT, _SHARE, _SHARE_EXTREMES = map(machine_code, ("select", "share", "share_extremes"))
_LARGE = 1024  # elements; below, NumPy is as fast


def select(condition: Any, x: Any, y: Any) -> Any:
    """``numpy.where(condition, x, y)``.

    Parameters
    ----------
    condition, x, y : array_like
        That broadcast. There is one pass for a large C-ordered array of bools and what broadcasts to its
        shape: C-ordered arrays, float32 or float64 both, or one of these and a number.

    Returns
    -------
    numpy.ndarray
        What NumPy returns.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.choices import select
    >>> select(np.array([True, False]), np.array([1.0, 2.0]), 0)
    array([1., 0.])
    """
    if type(condition) is np.ndarray and condition.size >= _LARGE and condition.dtype == bool:
        like = x if type(x) is np.ndarray else y
        if type(like) is np.ndarray and _is_for_kernels(condition, like.dtype):
            shape = condition.shape
            xs, ys = _flat(x, shape, like.dtype), _flat(y, shape, like.dtype)
            if xs is not None and ys is not None:
                out = np.empty(shape, like.dtype)
                _SELECT[out.dtype.char](condition.reshape(-1).view(np.int8), xs, ys, out.reshape(-1))
                return out
    return np.where(condition, x, y)


def share(d: Any, x: Any, y: Any, choice: str) -> np.ndarray | None:
    """What of ``d`` goes to ``x`` when one of x and y is chosen: all, half where they are equal, or nothing.

    Parameters
    ----------
    d : array_like
        What is shared.
    x, y : array_like
        That broadcast to the shape of ``d``.
    choice : {"maximum", "minimum", "fmax", "fmin"}
        The ufunc that chose.

    Returns
    -------
    numpy.ndarray or None
        Of the shape of ``d``. None unless this is for large C-ordered arrays, float32 or float64 all, and
        numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.choices import share
    >>> share(np.ones(2000), np.linspace(-1.0, 1.0, 2000), 0.0, "maximum")[[0, -1]]
    array([0., 1.])
    """
    if type(d) is not np.ndarray or not _is_for_kernels(d, d.dtype):
        return None
    xs, ys = _flat(x, d.shape, d.dtype), _flat(y, d.shape, d.dtype)
    if xs is None or ys is None or xs.size == ys.size == 1:
        return None
    out = np.empty(d.shape, d.dtype)
    sign, skips_nan = 1.0 if choice in ("maximum", "fmax") else -1.0, float(choice in ("fmax", "fmin"))
    _SHARE[d.dtype.char](d.reshape(-1), xs, ys, sign, skips_nan, out.reshape(-1))
    return out


def extremes_share(g: Any, x: Any, extremes: Any) -> np.ndarray | None:
    """What of ``g`` goes to each element of ``x``: all to the extreme one, equal ones share it.

    Parameters
    ----------
    g, extremes : array_like
        Of the shape of ``x``, with axes of length one in place of those along which extremes were sought.
    x : array_like
        Of any shape.

    Returns
    -------
    numpy.ndarray or None
        Of the shape of ``x``. None unless these are large C-ordered arrays, float32 or float64 all, and
        the axes are one run of axes.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.choices import extremes_share
    >>> x = np.arange(2000.0).reshape(2, 1000)
    >>> extremes_share(np.full((2, 1), 3.0), x, x.max(axis=1, keepdims=True))[:, -2:]
    array([[0., 3.],
           [0., 3.]])
    """
    if type(x) is not np.ndarray or not _is_for_kernels(x, x.dtype):
        return None
    steps = sums_between(x.shape, extremes.shape)
    tops, gs = (_flat(operand, extremes.shape, x.dtype) for operand in (extremes, g))
    if len(steps) != 1 or tops is None or gs is None:
        return None
    before, reduced, after = steps[0]
    out = np.empty(x.shape, x.dtype)
    each = (before, reduced, after)
    _SHARE_EXTREMES[x.dtype.char](
        gs.reshape(before, after), x.reshape(each), tops.reshape(before, after), np.empty(after, x.dtype),
        out.reshape(each),
    )  # fmt: skip
    return out


def _is_for_kernels(x: np.ndarray, dtype: np.dtype[Any]) -> bool:
    return x.size >= _LARGE and is_plain(x) and dtype in KERNEL_DTYPES and not (AVOIDED and is_avoided())


def _flat(operand: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray | None:
    """The elements of an operand, contiguous, repeated to fill a shape from the last axes on.

    None for what is not of the dtype, or does not broadcast to the shape.
    """
    if type(operand) in (int, float):  # these take the dtype of what they meet
        operand = np.array(operand, dtype)
    if not isinstance(operand, (np.ndarray, np.generic)) or operand.dtype != dtype:
        return None
    if operand.shape == shape:
        return operand.reshape(-1) if operand.flags.c_contiguous else None
    lengths = list(operand.shape)
    if len(lengths) > len(shape):
        return None
    while lengths and lengths[0] == 1:
        del lengths[0]
    if tuple(lengths) == shape[len(shape) - len(lengths) :]:
        return np.ascontiguousarray(operand).reshape(-1)
    try:
        return np.ascontiguousarray(np.broadcast_to(operand, shape)).reshape(-1)
    except ValueError:
        return None


# Operands go round and round while the result is filled, a stretch at a time: the shortest operand's
# elements once, but those of a single number. There is a loop for each combination of arrays and single
# numbers: LLVM does not tell them apart before the loop. Elements are read before they are chosen from,
# or there is a branch.


def stretch(size, x, y):  # type: ignore[no-untyped-def]
    return min(x.size if x.size > 1 else size, y.size if y.size > 1 else size)


def part(x, start, length):  # type: ignore[no-untyped-def]
    at = start % x.size
    return x[at : at + length]


def select_elements(condition, x, y, out):  # type: ignore[no-untyped-def]
    # Of bytes, any of which but 0 is True: of a bool numba looks at the lowest bit only.
    one, other, length = x[0], y[0], stretch(out.size, x, y)
    for start in range(0, out.size, length):
        chosen, result = condition[start : start + length], out[start : start + length]
        xs, ys = part(x, start, length), part(y, start, length)
        if x.size > 1 and y.size > 1:
            for i in range(length):
                p, q = xs[i], ys[i]
                result[i] = p if chosen[i] != 0 else q
        elif x.size > 1:
            for i in range(length):
                p = xs[i]
                result[i] = p if chosen[i] != 0 else other
        elif y.size > 1:
            for i in range(length):
                q = ys[i]
                result[i] = one if chosen[i] != 0 else q
        else:
            for i in range(length):
                result[i] = one if chosen[i] != 0 else other


def wins(p, q, sign, skips_nan):  # type: ignore[no-untyped-def]
    return (sign * p > sign * q) | (skips_nan & (q != q) & (p == p))


def share_elements(d, x, y, sign, skips_nan, out):  # type: ignore[no-untyped-def]
    half, nothing = d.dtype.type(0.5), d.dtype.type(0)
    one, other, length = x[0], y[0], stretch(out.size, x, y)
    for start in range(0, out.size, length):
        gs, result = d[start : start + length], out[start : start + length]
        xs, ys = part(x, start, length), part(y, start, length)
        if x.size == 1:
            for i in range(length):
                g, q = gs[i], ys[i]
                rest = half * g if one == q else nothing
                result[i] = g if wins(one, q, sign, skips_nan) else rest
        elif y.size == 1:
            for i in range(length):
                g, p = gs[i], xs[i]
                rest = half * g if p == other else nothing
                result[i] = g if wins(p, other, sign, skips_nan) else rest
        else:
            for i in range(length):
                g, p, q = gs[i], xs[i], ys[i]
                rest = half * g if p == q else nothing
                result[i] = g if wins(p, q, sign, skips_nan) else rest


def share_extremes(g, x, extremes, ties, out):  # type: ignore[no-untyped-def]
    before, reduced, after = x.shape
    nothing = g.dtype.type(0)
    for a in range(before):
        if after == 1:
            row, result, top, taken = x[a, :, 0], out[a, :, 0], extremes[a, 0], g[a, 0]
            count = 0
            for r in range(reduced):
                is_top = row[r] == top
                count += is_top
                result[r] = taken if is_top else nothing
            if count > 1:
                taken = g.dtype.type(taken / count)
                for r in range(reduced):
                    result[r] = taken if row[r] == top else nothing
        else:
            for b in range(after):
                ties[b] = nothing
            for r in range(reduced):
                for b in range(after):
                    is_top = x[a, r, b] == extremes[a, b]
                    ties[b] += is_top
                    out[a, r, b] = g[a, b] if is_top else nothing
            most = nothing
            for b in range(after):
                most = max(most, ties[b])
            if most > 1:
                for b in range(after):
                    ties[b] = g[a, b] / max(ties[b], g.dtype.type(1))
                for r in range(reduced):
                    for b in range(after):
                        out[a, r, b] = ties[b] if x[a, r, b] == extremes[a, b] else nothing
