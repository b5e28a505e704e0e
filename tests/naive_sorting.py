"""Naive oracles of the kernels that sort, search, count and slide: plain NumPy, or loops."""

from collections.abc import Callable
from typing import Any

import numpy as np


def _in_rows(function: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda x, parameters: function(x.reshape(parameters))


def _stable_order(x: Any, order: Any, parameters: Any) -> Any:
    return np.argsort(x.reshape(parameters), axis=1, kind="stable")


def _refined_order(x: Any, order: Any, parameters: Any) -> Any:
    rows = []
    for row, places in zip(x.reshape(parameters), order.reshape(parameters), strict=True):
        rows.append(sorted(places, key=lambda place: (np.isnan(row[place]), np.nan_to_num(row[place]))))
    return np.array(rows, np.int64)


def _wanted(at: Any, parameters: Any) -> Any:
    rows, _, count, has_each = parameters
    return np.broadcast_to(at.reshape((rows if has_each else 1), count), (rows, count))


def _ranked(x: Any, at: Any, parameters: Any) -> Any:
    rows = x.reshape(parameters[:2])
    found = np.take_along_axis(np.sort(rows, axis=1), _wanted(at, parameters), 1)
    nan = np.where((rows != rows).any(axis=1), np.nan if x.dtype.kind == "f" else 0, 0).astype(x.dtype)
    return np.column_stack([found, nan])


def _ranked_places(x: Any, at: Any, parameters: Any) -> Any:
    order = np.argsort(x.reshape(parameters[:2]), axis=1, kind="stable")
    return np.take_along_axis(order, _wanted(at, parameters), 1)


def _partition_order(x: Any, pivots: Any, parameters: Any) -> Any:
    """By how many pivots are below an element, and at it or below; NaN last."""
    rows, length, count = parameters
    out = []
    for row, those in zip(x.reshape(rows, length), pivots.reshape(rows, count), strict=True):
        below = [(np.sum(those < v) + np.sum(those <= v)) if v == v else 2 * count + 1 for v in row]
        out.append(sorted(range(length), key=below.__getitem__))
    return np.array(out, np.int64)


def _search(x: Any, keys: Any, parameters: Any) -> Any:
    return np.searchsorted(x.ravel(), keys.ravel(), "right" if parameters[2] else "left")


def _digitize(x: Any, keys: Any, parameters: Any) -> Any:
    return np.digitize(keys.ravel(), x.ravel(), bool(parameters[2]))


def _count(x: Any, parameters: Any) -> Any:
    return np.array([np.sum(x == number) for number in range(parameters[1])])


def _weigh(weights: Any, x: Any, parameters: Any) -> Any:
    out = np.zeros(parameters[1])
    for number, weight in zip(x.ravel(), weights.ravel(), strict=True):
        if number < len(out):
            out[number] += weight
    return out


def _places(x: Any, parameters: Any) -> Any:
    _, length, is_strict = parameters
    found = np.flatnonzero(x)
    assert not is_strict or len(found) == length
    return np.concatenate([found, np.zeros(length, int)])[:length]


def _runs(x: Any, order: Any, parameters: Any) -> Any:
    size, merges = parameters
    number, firsts, counts = np.zeros((3, size), np.int64)
    at = -1
    before = None
    for place in order.ravel():
        here = x.ravel()[place]
        is_same = before is not None and (here == before or (merges and here != here and before != before))
        if not is_same:
            at += 1
            firsts[at] = place
        number[place] = at
        counts[at] += 1
        before = here
    return np.concatenate([[at + 1], number, firsts, counts])


def _correlate(x: Any, y: Any, parameters: Any) -> Any:
    return np.correlate(x.ravel(), y.ravel(), "full" if parameters[2] else "valid")


KERNELS: dict[str, Callable[..., Any]] = {
    "sort": _in_rows(np.sort),
    "argsort": _in_rows(np.argsort),
    "stable_argsort": _in_rows(lambda x: np.argsort(x, kind="stable")),
    "stable_order": _stable_order,
    "refined_order": _refined_order,
    "ranked": _ranked,
    "ranked_places": _ranked_places,
    "partition_order": _partition_order,
    "search": _search,
    "digitize": _digitize,
    "interp": lambda x, xp, fp, parameters: np.interp(x.ravel(), xp.ravel(), fp.ravel()),
    "count": _count,
    "weigh": _weigh,
    "places": _places,
    "runs": _runs,
    "correlate": _correlate,
}
