"""The edges of the bins of histograms.

Edges that are computed from the elements are differentiated by the smallest and the largest of them.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tape.core import series
from tape.core.node import Handle
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.table import implements
from tape.errors import UnsupportedError
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.selection import where
from tape.ops.reduction.primitives import max_along, min_along, share_of_ties, sum_along

__all__ = ["histogram_bin_edges"]

declare_samples("np.histogram_bin_edges(x, 3)")


def is_estimated(*operands: Any, count: Any, range: Any) -> bool:
    """Return whether the number of bins is estimated from the data."""
    return isinstance(count, str)


# ---- in instructions: ``b`` is the builder of a program -----------------------------------------------


def lower_edges(b: Any, x: Any, *bins: Any, count: Any, range: Any) -> Any:
    """Lower `numpy.histogram_bin_edges`."""
    if bins:
        edges = b.value(*bins)
        if edges.size < 2:
            return edges
        return b.unless(b.fold("any", b.elementwise("greater", *_neighbours(b, edges))), edges)
    if isinstance(count, str):
        b.refuse("how many bins there are depends on data")
    if range is not None or not x.size:
        return b.fixed(np.histogram_bin_edges(np.zeros(0, x.dtype), count, range))
    low, high = (b.fold(kind, x) for kind in ("min", "max"))
    if x.dtype.kind != "f":
        low, high = b.cast(low, np.float64), b.cast(high, np.float64)
    dtype = low.dtype
    is_one = b.elementwise("equal", low, high)
    low, high = b.where(is_one, low - 0.5, low), b.where(is_one, high + 0.5, high)
    width = high - low
    step = width / count
    ways = b.value(np.arange(count, dtype=dtype))
    spread = b.where(b.elementwise("equal", step, 0), ways / count * width, ways * step) + low
    edges = b.concatenate([spread, b.reshape(high, (1,))], 0)
    is_finite = b.elementwise("isfinite", width)
    goes_up = b.fold("all", b.elementwise("less", *_neighbours(b, edges)))
    return b.unless(b.elementwise("logical_not", b.elementwise("logical_and", is_finite, goes_up)), edges)


def _neighbours(b: Any, edges: Any) -> list[Any]:
    return [b.read(edges, (part,)) for part in (slice(-1), slice(1, None))]


def lower_bins(b: Any, sample: Any, *edges: Any) -> Any:
    """Return the bin of a flattened histogram for each row; one past the last for those outside."""
    counts = tuple(bounds.size - 1 for bounds in edges)
    columns = (
        [sample]
        if sample.ndim == 1
        else [b.read(sample, (slice(None), k)) for k in builtins.range(sample.shape[1])]
    )
    is_inside, place = None, b.literal(0, np.int64)
    for bounds, x, count in zip(edges, columns, counts, strict=True):
        is_last = b.elementwise("equal", x, b.read(bounds, (-1,)))  # the last bin has both of its edges
        index = b.search(bounds, x, "right") - 1 - b.cast(is_last, np.int64)
        is_in = b.elementwise(
            "logical_and", b.elementwise("greater_equal", index, 0), b.elementwise("less", index, count)
        )
        is_inside = is_in if is_inside is None else b.elementwise("logical_and", is_inside, is_in)
        place = place * count + index
    return b.where(is_inside, place, prod(counts))


def lower_histogram(b: Any, sample: Any, weights: Any, *edges: Any) -> Any:
    """Return how many rows are in each bin, or the sums of their weights."""
    if not sample.size or min(bounds.size for bounds in edges) < 2:
        b.refuse("nothing to count, or no bins")
    shape = tuple(bounds.size - 1 for bounds in edges)
    place = lower_bins(b, sample, *edges)
    counts = b.count(place, weights, prod(shape) + 1)
    return b.reshape(b.read(counts, (slice(prod(shape)),)), shape)


def _ends(x: Any) -> list[Any]:
    """Return the derivatives of the smallest and of the largest element; equal elements share it."""
    extremes = (op(x, axis=None, keepdims=True) for op in (min_along, max_along))
    return [where(x == end, share_of_ties(x == end, 0, x.dtype, None), 0) for end in extremes]


def _edges_vjp(g: Any, out: Any, x: Any, **attrs: Any) -> Any:
    if not x.size:
        return np.zeros(x.shape, x.dtype)
    way = np.linspace(0, 1, out.size)  # from one end to the other
    low, high = _ends(x)
    totals = [sum_along(g * part, axis=None, keepdims=False) for part in (1 - way, way)]
    return low * totals[0] + high * totals[1]


def _edges_jvp(t: Any, out: Any, x: Any, **attrs: Any) -> Any:
    if not x.size:
        return None
    way = np.linspace(0, 1, out.size)
    low, high = (sum_along(end * t, axis=None, keepdims=False) for end in _ends(x))
    return low * (1 - way) + high * way


def _edges_op(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operation for the edges of bins of equal widths, between given or computed ends."""
    op = Op(
        forward,
        name="histogram_bin_edges",
        vjp=[_edges_vjp],
        jvp=[_edges_jvp],
        taylor=series.linear,
        data_dependent=is_estimated,
        lower=lower_edges,
    )

    def edges(x: Any, *, count: Any, range: Any) -> Any:
        return (op if range is None else op.without_rules())(x, count=count, range=range)

    return edges


_edges_between = _edges_op(lambda a, *, count, range: np.histogram_bin_edges(a, count, range))
edges_along = _edges_op(lambda x, *, count, range: np.histogramdd(x[:, None], (count,), (range,))[1][0])
_edges_given = Op(
    np.histogram_bin_edges,
    vjp=[None, lambda g, out, a, bins: g],
    jvp=[None, lambda t, out, a, bins: t],
    taylor=series.linear,
    data_dependent=False,
    lower=lambda b, a, bins: lower_edges(b, a, bins, count=None, range=None),
)


def bin_edges(a: Any, *bins: Any, count: Any, range: Any) -> Any:
    return _edges_given(a, *bins) if bins else _edges_between(a, count=count, range=range)


def is_list(bins: Any) -> bool:
    """Return whether it is a list of edges, or of settings for several axes, and not a number."""
    return isinstance(bins, (list, tuple)) or np.ndim(bins) > 0


def check_count(bins: Any) -> None:
    """Raise if the number of bins is a Var."""
    if isinstance(bins, Handle) and not is_list(bins):
        raise UnsupportedError("the number of bins of a histogram is static. Give its .value, or edges")


def split_bins(bins: Any) -> tuple[list[Any], Any]:
    """Return edges, which are an operand, and the static number of bins or name of a rule for it."""
    check_count(bins)
    return ([], bins) if isinstance(bins, str) or not is_list(bins) else ([as_operand(bins)], None)


def as_range(range: Any) -> Any:
    if range is None:
        return None
    if any(isinstance(end, Handle) for end in range):
        raise UnsupportedError("the range of a histogram is static. Give the .value of its ends, or edges")
    return tuple(range)


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """Return the edges of the bins of a histogram.

    Those computed from the elements have the derivative of the smallest and of the largest one.

    Parameters
    ----------
    a : array_like or Var
        Real numbers, of any shape.
    bins : int, str or array_like
        The number of bins, a rule to choose it, or the edges themselves.
    range : tuple of two floats, optional
        The outermost edges; by default the smallest and the largest element.
    weights : array_like or Var, optional
        Ignored.

    Returns
    -------
    numpy.ndarray or Var
        One more than there are bins.

    Raises
    ------
    ShapeError
        If the bins or the range make no sense.
    UnsupportedError
        If an end of the range is a Var.

    Examples
    --------
    >>> import tape
    >>> tape.ops.histogram_bin_edges([0.0, 1.0, 4.0], bins=2)
    array([0., 2., 4.])
    """
    edges, count = split_bins(bins)
    return bin_edges(a, *edges, count=count, range=as_range(range))
