"""The kernels of the registry by NumPy, or by loops: one line of `KERNELS` each.

They take the operands and a tuple of parameters as the compiled ones do, and refuse the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tape.kernels import convolution, pooling
from tape.kernels.counting import MOST
from tape.kernels.registry import GROUPS


class Refused(Exception):
    """Raised where a kernel has no result, or an instruction stops the machine."""


# ---- sorting, searching, counting and sliding ---


def _in_rows(function: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda x, parameters: function(x.reshape(parameters))


def _stable_order(x: Any, order: Any, parameters: Any) -> Any:
    return np.argsort(x.reshape(parameters), axis=1, kind="stable")


def _refined_order(x: Any, order: Any, parameters: Any) -> Any:
    rows = []
    for row, places in zip(x.reshape(parameters), order.reshape(parameters), strict=True):
        rows.append(sorted(places, key=lambda place: (np.isnan(row[place]), np.nan_to_num(row[place]))))
    return np.array(rows, np.int64)


def _within(places: Any, length: int) -> None:
    """Refuse places that are not those of a row, counted from its beginning."""
    if np.any(places < 0) or np.any(places >= length):
        raise Refused


def _wanted(at: Any, parameters: Any) -> Any:
    rows, length, count, has_each = parameters
    _within(at, length)
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
    """Order by how many pivots are below an element, and at it or below; NaN last."""
    rows, length, count = parameters
    out = []
    for row, those in zip(x.reshape(rows, length), pivots.reshape(rows, count), strict=True):
        below = [(np.sum(those < v) + np.sum(those <= v)) if v == v else 2 * count + 1 for v in row]
        out.append(sorted(range(length), key=below.__getitem__))
    return np.array(out, np.int64)


def _search(x: Any, keys: Any, parameters: Any) -> Any:
    return np.searchsorted(x.ravel(), keys.ravel(), "right" if parameters[2] else "left")


def _digitize(x: Any, keys: Any, parameters: Any) -> Any:
    try:
        return np.digitize(keys.ravel(), x.ravel(), bool(parameters[2]))
    except ValueError:  # the bins go up and down
        raise Refused from None


def _count(x: Any, parameters: Any) -> Any:
    return np.bincount(_countable(x), minlength=parameters[1])[: parameters[1]]


def _weigh(weights: Any, x: Any, parameters: Any) -> Any:
    return np.bincount(_countable(x), weights.ravel(), parameters[1])[: parameters[1]]


def _countable(x: Any) -> Any:
    """Return integers without axes, none of which is negative or so large that one counts by mistake."""
    if np.any(x < 0) or np.any(x > MOST):
        raise Refused
    return x.ravel()


def _places(x: Any, parameters: Any) -> Any:
    _, length, is_strict = parameters
    found = np.flatnonzero(x)
    if is_strict and len(found) != length:
        raise Refused
    return np.concatenate([found, np.zeros(length, int)])[:length]


def _runs(x: Any, order: Any, parameters: Any) -> Any:
    size, merges = parameters
    _within(order, size)
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


# ---- writing, windows, matrices ---


def _put_rows(total: Any, values: Any, index: Any, parameters: Any) -> Any:
    before, length, row, count = parameters
    out = total.reshape(before, length, row).copy()
    for k, place in enumerate(index.reshape(count)):
        out[:, place] = values.reshape(before, count, row)[:, k]
    return out


def _geometry(parameters: Any) -> Any:
    """Return lengths and window, and stride, padding and dilation as `tape.kernels.pooling` takes them."""
    spatial, kernel, windows, stride, low, dilation = (parameters[k : k + 3] for k in range(0, 18, 3))
    last = [(n - 1) * s + (k - 1) * d for n, s, k, d in zip(windows, stride, kernel, dilation, strict=True)]
    padding = [(a, b + 1 - n - a) for a, b, n in zip(low, last, spatial, strict=True)]
    return spatial, kernel, windows, (stride, padding, dilation)


def _convolution(name: str) -> Callable[..., Any]:
    def convolved(a: Any, b: Any, parameters: Any) -> Any:
        (images, groups, channels, kernels), rest = parameters[:4], parameters[4:]
        spatial, kernel, windows, geometry = _geometry(rest)
        x, y = (images, groups * channels, *spatial), (images, groups * kernels, *windows)
        w = (groups * kernels, channels, *kernel)
        if name == "conv":
            return convolution.conv(a.reshape(x), b.reshape(w), *(*geometry, groups))
        if name == "conv_input":
            return convolution.conv_input(a.reshape(y), b.reshape(w), spatial, *(*geometry, groups))
        return convolution.conv_weight(a.reshape(x), b.reshape(y), kernel, *(*geometry, groups))

    return convolved


def _pooling(name: str) -> Callable[..., Any]:
    def pooled(*operands: Any) -> Any:
        *arrays, parameters = operands
        spatial, kernel, windows, geometry = _geometry(parameters[1:])
        x, y = (parameters[0], *spatial), (parameters[0], *windows)
        shapes = {"max_pool_vjp": (y, x, y), "max_pool_jvp": (x, x, y), "sum_pool_vjp": (y,)}.get(name, (x,))
        arrays = [a.reshape(shape) for a, shape in zip(arrays, shapes, strict=True)]
        if name == "sum_pool_vjp":
            return pooling.sum_pool_vjp(*arrays, *(spatial, kernel, *geometry))
        return getattr(pooling, name)(*arrays, kernel, *geometry)

    return pooled


def _cholesky_pullback(factor: Any, adjoint: Any, parameters: Any) -> Any:
    count, n = parameters
    factor, adjoint = factor.reshape(count, n, n), adjoint.reshape(count, n, n)

    def half(x: Any) -> Any:
        return np.tril(x) * (1 - np.eye(n, dtype=x.dtype) / 2)

    turned = np.linalg.inv(factor).swapaxes(1, 2)
    pulled = turned @ half(factor.swapaxes(1, 2) @ adjoint) @ turned.swapaxes(1, 2)
    return half(pulled + pulled.swapaxes(1, 2))


def _stack(a: Any, parameters: Any) -> Any:
    return a.reshape(parameters[0], parameters[1], parameters[1])


def _stored(index: Any, parameters: Any) -> tuple[Any, Any, Any]:
    """Return the row, the column and the number of each stored element that a row has."""
    rows, columns, count, _ = parameters
    starts, members = index[: rows + 1], index[rows + 1 : rows + 1 + count]
    if starts[0] or np.any(starts[:-1] < 0) or np.any(starts[1:] > count):
        raise Refused
    row = np.repeat(np.arange(rows), np.maximum(np.diff(starts), 0))
    before = np.cumsum(np.bincount(row, minlength=rows)) - np.bincount(row, minlength=rows)
    number = starts[row] + np.arange(len(row)) - before[row]
    _within(members[number], columns)
    return row, members[number], number


def _sparse_product(data: Any, index: Any, x: Any, parameters: Any, turned: bool = False) -> Any:
    dense = np.zeros(parameters[:2], data.dtype)
    row, column, number = _stored(index, parameters)
    np.add.at(dense, (row, column), data.ravel()[number])
    return (dense.T if turned else dense) @ x.reshape(-1, parameters[3])


def _sampled_product(index: Any, left: Any, right: Any, parameters: Any) -> Any:
    width = parameters[3]
    row, column, number = _stored(index, parameters)
    if not np.array_equal(number, np.arange(parameters[2])):
        raise Refused
    return (left.reshape(-1, width) @ right.reshape(-1, width).T)[row, column]


def _squared_distances(x: Any, y: Any, parameters: Any) -> Any:
    batch, rows, columns, length = parameters
    differences = (
        x.reshape(batch, rows, 1, length) - y.reshape(batch, length, columns).swapaxes(1, 2)[:, None]
    )
    return np.sum(differences**2, axis=3)


def _weighted_differences(weights: Any, x: Any, y: Any, parameters: Any) -> Any:
    batch, rows, columns, length, is_turned = parameters
    if is_turned:
        weights = weights.reshape(batch, rows, length).swapaxes(1, 2)
    differences = x.reshape(batch, length, 1, columns) - y.reshape(batch, 1, rows, columns)
    return np.sum(weights.reshape(batch, length, rows, 1) * differences, axis=1)


def _weighted_sums(x: Any, weights: Any, parameters: Any) -> Any:
    batch, _, length, _, columns = parameters
    return np.sum(x.reshape(parameters) * weights.reshape(batch, 1, length, 1, columns), axis=2)


def _weighted_products(x: Any, y: Any, weights: Any, parameters: Any) -> Any:
    length, rows, shared, columns = parameters
    products = x.reshape(length, rows, shared) @ y.reshape(shared, columns)
    return np.sum(products * weights.reshape(length, 1, columns), axis=0)


def _share_extremes(given: Any, x: Any, extremes: Any, parameters: Any) -> Any:
    rows, length, _ = parameters
    are_extreme = x.reshape(rows, length) == extremes.reshape(rows, 1)
    ties = np.maximum(are_extreme.sum(axis=1, keepdims=True), 1).astype(x.dtype)
    return np.where(are_extreme, given.reshape(-1, 1) / ties, x.dtype.type(0))


KERNELS: dict[str, Callable[..., Any]] = {
    "sparse_product": _sparse_product,
    "sparse_turned_product": partial(_sparse_product, turned=True),
    "sampled_product": _sampled_product,
    "cholesky_pullback": _cholesky_pullback,
    "small_det": lambda a, parameters: np.linalg.det(_stack(a, parameters)),
    "small_inv": lambda a, parameters: np.linalg.inv(_stack(a, parameters)),
    "small_solve": lambda a, b, parameters: np.linalg.solve(
        _stack(a, parameters), b.reshape(parameters[0], parameters[1], parameters[2])
    ),
    "small_cholesky": lambda a, parameters: np.linalg.cholesky(
        _stack(a, parameters), upper=bool(parameters[2])
    ),
    "put_rows": _put_rows,
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
    "squared_distances": _squared_distances,
    "weighted_differences": _weighted_differences,
    "share_extremes": _share_extremes,
    "weighted_sums": _weighted_sums,
    "weighted_products": _weighted_products,
    "transposed": lambda x, parameters: x.reshape(parameters).T,
    **{name: _convolution(name) for name in GROUPS["convolution"]},
    **{name: _pooling(name) for name in GROUPS["pooling"]},
}
"""All of them, by name."""
