"""Medians and quantiles in instructions: elements of rows by rank, and NumPy's arithmetic on the ranks.

Each function takes the builder ``b`` of a program, as ``lower`` rules do; values are those of NumPy to the
last bit. The elements to be reduced are rows: shape (R, n) for R results. Positions have the shape (K, R) or
(K, 1), for K quantiles. A quantile that is out of range gets a position that is out of range too, where a
program stops.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

LINES = {
    "linear": (0.0, -1.0),
    "interpolated_inverted_cdf": (-1.0, 0.0),
    "hazen": (-0.5, 0.0),
    "weibull": (-1.0, 1.0),
    "median_unbiased": (-2 / 3, 1 / 3),
    "normal_unbiased": (-5 / 8, 1 / 4),
}
"""Methods by which the position among n elements is ``a + (n + b) * q``, if that is among them: a and b.

From Hyndman and Fan, "Sample quantiles in statistical packages" (1996)."""
_ALPHA_BETA = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}
"""The same as `numpy.quantile` writes it, which rounds in another way."""


class _Rows(NamedTuple):
    """The elements that are reduced, and the shape of the results."""

    values: Any
    counts: Any
    """How many elements of each row are no NaN, shape (R,), if these are left out; else None."""
    places: np.ndarray
    """Where each element is in the flattened operand."""
    left: tuple[int, ...]


def _rows(b: Any, x: Any, axis: tuple[int, ...] | None, keepdims: bool, skips_nan: bool) -> _Rows:
    gone = [i % x.ndim for i in (range(x.ndim) if axis is None else axis)]
    order = [*[i for i in range(x.ndim) if i not in gone], *gone]
    length = prod(x.shape[i] for i in gone)
    shape = (x.size // length if length else 0, length)
    values = b.reshape(b.transpose(x, order) if order else x, shape)
    places = np.arange(x.size).reshape(x.shape).transpose(order).reshape(shape)
    left = tuple(1 if i in gone else n for i, n in enumerate(x.shape) if keepdims or i not in gone)
    counts = None
    if skips_nan and x.dtype.kind == "f":
        is_number = b.elementwise("logical_not", b.elementwise("isnan", values))
        counts = b.fold("sum", b.cast(is_number, np.int64), 1)
    return _Rows(values, counts, places, left)


def _ranked(b: Any, name: str, rows: Any, *ranks: Any) -> tuple[list[Any], Any]:
    """Return what is at positions among the sorted elements of rows, and NaN where a row has one.

    Each of the positions has the shape (K, R) or (K, 1), and what is there the shape (K, R).
    """
    number, each = rows.shape[0], max(rank.shape[1] for rank in ranks)
    count = ranks[0].shape[0]
    at = [b.broadcast(b.cast(rank, np.int64), (count, each)) for rank in ranks]
    at = b.concatenate([b.reshape(b.transpose(rank, (1, 0)), (each, count, 1)) for rank in at], 2)
    found, nan = b.ranked(name, rows, b.reshape(at, (each, count * len(ranks))))
    found = b.reshape(found, (number, count, len(ranks)))
    parts = [b.slice(found, (0, 0, k), (1, 1, 1), (number, count, 1)) for k in range(len(ranks))]
    return [b.transpose(b.reshape(part, (number, count)), (1, 0)) for part in parts], nan


def _where_nan(b: Any, condition: Any, result: Any) -> Any:
    return b.where(condition, b.literal(np.nan, result.dtype), result) if result.dtype.kind == "f" else result


# ---- medians -----------------------------------------------------------------------------------------------


def lower_median(b: Any, x: Any, axis: Any, keepdims: bool, skips_nan: bool) -> Any:
    """Lower `numpy.median` and `numpy.nanmedian`."""
    rows = _rows(b, x, axis, keepdims, skips_nan)
    values, counts = rows.values, rows.counts
    number, length = values.shape
    if not values.size:
        return b.broadcast(b.literal(np.nan), rows.left)
    is_float = x.dtype.kind == "f"
    if counts is None:
        halves = [b.constant(np.array([[k]])) for k in ((length - 1) // 2, length // 2)]
        is_odd: Any = length % 2 == 1
    else:
        most = b.elementwise("maximum", counts, 1)
        halves = [b.elementwise("floor_divide", n, 2) for n in (most - 1, most)]
        is_odd = b.elementwise("equal", *halves)
        halves = [b.reshape(k, (1, number)) for k in halves]
    found, nan = _ranked(b, "ranked", values, *halves)
    low, high = (b.reshape(part if is_float else b.cast(part, np.float64), (number,)) for part in found)
    middle = b.where(is_odd, low, (low + high) / 2)
    if is_float:
        is_nan = b.elementwise("isnan", nan) if counts is None else b.elementwise("equal", counts, 0)
        middle = _where_nan(b, is_nan, middle + 0.0)  # NumPy takes their mean, in which -0.0 becomes 0.0
    return b.reshape(middle, rows.left)


# ---- quantiles ---------------------------------------------------------------------------------------------


def lower_quantile(
    b: Any, x: Any, q: Any, axis: Any, method: str, keepdims: bool, scale: float, skips_nan: bool
) -> Any:
    """Lower `numpy.quantile`, `numpy.percentile` and those that leave NaN out."""
    x, is_weak = b.value(x), type(q) in (int, float) or getattr(q, "is_weak", False)
    q = b.value(b.value(q).dtype.type(q) if type(q) in (int, float) else q)
    rows = _rows(b, x, axis, keepdims, skips_nan)
    if not rows.values.size:
        return b.broadcast(b.literal(np.nan), (*q.shape, *rows.left))
    shape = (*q.shape, *rows.left)
    q = b.reshape(b.cast(q, q.dtype), (q.size, 1))
    if scale != 1:
        q = b.elementwise("divide", q, 100)
    is_whole = q.dtype.kind in "biu"
    q = b.cast(q, np.float64) if is_whole else q
    count = rows.values.shape[1] if rows.counts is None else b.cast(rows.counts, q.dtype)
    below, above, gamma = _neighbours(b, q, count, method)
    if b.known(q) is None:  # those that are known have been looked at while recording
        is_share = b.elementwise(
            "logical_and", b.elementwise("greater_equal", q, 0), b.elementwise("less_equal", q, 1)
        )
        below = b.where(is_share, below, rows.values.shape[1])
    is_between = gamma is not None and not (is_whole and method == "linear")
    (result, *after), nan = _ranked(b, "ranked", rows.values, below, *([above] if is_between else []))
    if after:
        result = _between(b, result, after[0], gamma, is_weak)
    if rows.counts is not None:
        result = _where_nan(b, b.elementwise("equal", rows.counts, 0), result)
    elif x.dtype.kind == "f":
        result = _where_nan(b, b.elementwise("isnan", nan), result)
    return b.reshape(result, shape)


def _neighbours(b: Any, q: Any, count: Any, method: str) -> tuple[Any, Any, Any]:
    """Return the positions of the elements before and after a quantile, and the share of the one after.

    There is no share, which is None, for methods that choose one of them.
    """
    last = count - 1
    if method in ("lower", "higher", "nearest"):
        name = {"lower": "floor", "higher": "ceil", "nearest": "rint"}[method]
        at = _inside(b, b.elementwise(name, q * last), last)
        return at, at, None
    if method in ("inverted_cdf", "closest_observation"):
        virtual = q * count - 1
        if method == "closest_observation":
            virtual = virtual - 0.5
        below = b.elementwise("floor", virtual)
        takes_below = b.elementwise("equal", virtual - below, 0)
        if method == "closest_observation":
            is_odd = b.elementwise("equal", b.elementwise("remainder", below, 2), 1)
            takes_below = b.elementwise("logical_and", takes_below, is_odd)
        at = _inside(b, b.where(takes_below, below, below + 1), last)
        return at, at, None
    virtual = _virtual(b, q, count, method)
    below = b.elementwise("floor", virtual)
    above = below + 1
    is_before, is_last = b.elementwise("less", virtual, 0), b.elementwise("greater_equal", virtual, last)
    # NumPy writes -1 for the last one, and has a share of that: between equal zeros it decides their sign.
    gamma = virtual - b.where(is_before, 0, b.where(is_last, -1, below))
    for is_outside, end in ((is_last, last), (is_before, 0)):
        below, above = b.where(is_outside, end, below), b.where(is_outside, end, above)
    if method == "averaged_inverted_cdf":
        gamma = b.where(b.elementwise("equal", gamma, 0), 0.5, b.literal(1.0, gamma.dtype))
    elif method == "midpoint":
        is_position = b.elementwise("equal", b.elementwise("remainder", virtual, 1), 0)
        gamma = b.where(is_position, 0.0, b.literal(0.5, gamma.dtype))
    return _inside(b, below, last), _inside(b, above, last), gamma


def _virtual(b: Any, q: Any, count: Any, method: str) -> Any:
    last = count - 1
    if method == "linear":
        return q * last
    if method == "averaged_inverted_cdf":
        return q * count - 1
    if method == "midpoint":
        exact = q * last
        return (b.elementwise("floor", exact) + b.elementwise("ceil", exact)) * 0.5
    alpha, beta = _ALPHA_BETA[method]
    return q * count + (q * (1 - alpha - beta) + alpha) - 1


def _inside(b: Any, at: Any, last: Any) -> Any:
    """Return positions that are among the elements; 0 if there are none."""
    return b.elementwise("maximum", b.elementwise("minimum", at, last), 0)


def _between(b: Any, before: Any, after: Any, gamma: Any, is_weak: bool) -> Any:
    """Return what lies between elements, as NumPy computes it."""
    change, rest = after - before, 1 - gamma
    is_near_end = b.elementwise("greater_equal", gamma, 0.5)
    if is_weak and before.dtype.kind == "f":
        gamma, rest = b.cast(gamma, before.dtype), b.cast(rest, before.dtype)
    return b.where(is_near_end, after - change * rest, before + change * gamma)


# ---- which elements, with which weights --------------------------------------------------------------------


def lower_interpolation(
    b: Any, x: Any, q: Any, scale: float, axis: Any, method: str, keepdims: bool, skips_nan: bool
) -> Any:
    """Lower what the derivative rules of quantiles want to know: see `tape.ops.reduction.quantiles`."""
    x = b.value(x)
    rows = _rows(b, x, axis, keepdims, skips_nan)
    number, length = rows.values.shape
    shares = b.cast(b.value(q), np.float64)
    shape = (5, *shares.shape, *rows.left)
    q = b.reshape(shares / scale, (shares.size, 1))
    count = length if rows.counts is None else b.cast(rows.counts, np.float64)
    if method in LINES:
        start, extra = LINES[method]
        line, slope = q * (count + extra) + start, count + extra
        position = b.elementwise("minimum", b.elementwise("maximum", line, 0.0), count - 1)
        growth = b.where(b.elementwise("greater_equal", line, 0), slope, b.literal(0.0))
    else:
        below, above, gamma = _neighbours(b, q, count, method)
        position = below if gamma is None else _between(b, below, above, gamma, is_weak=False)
        growth = b.literal(0.0)
    position = _inside(b, position, count - 1)
    below = b.elementwise("floor", position)
    above = b.elementwise("minimum", below + 1, b.elementwise("maximum", b.value(count - 1, np.float64), 0))
    found, _ = _ranked(b, "ranked_places", rows.values, below, above)
    ranks = [b.transpose(rank, (1, 0)) for rank in found]
    weight = position - below
    parts = [b.cast(_places_of(b, rows, rank), np.float64) for rank in ranks]
    parts += [1 - weight, weight, growth / scale]
    if rows.counts is not None:
        has_any = b.cast(b.elementwise("greater", rows.counts, 0), np.float64)
        parts[2:4] = [part * has_any for part in parts[2:4]]
    whole = (1, shares.size, number)
    return b.reshape(b.concatenate([b.reshape(b.broadcast(p, whole[1:]), whole) for p in parts], 0), shape)


def _places_of(b: Any, rows: _Rows, ranks: Any) -> Any:
    """Return the places of elements in the flattened operand, shape (K, R), by positions in the rows."""
    number, length = rows.places.shape
    every = b.transpose(b.broadcast(b.positions((number,), 0), (ranks.shape[1], number)), (1, 0))
    at = b.push("ravel_index", [every, ranks], ((number, length), False))
    return b.transpose(b.take(b.constant(rows.places.reshape(-1)), at, 0), (1, 0))
