"""Histograms, in one and in more dimensions.

Counts have no derivative. Sums of weights are differentiated by the weights; the edges are those of
`tape.ops.reduction.bins`.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.core import series
from tape.core.node import Handle
from tape.core.op import Op
from tape.core.operands import as_operand, composed
from tape.core.table import implements
from tape.errors import ShapeError, describe
from tape.inspect.costs import declare_cost, passes
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.arithmetic import divide
from tape.ops.reduction.bins import (
    as_range,
    bin_edges,
    check_count,
    edges_along,
    is_estimated,
    is_list,
    lower_bins,
    lower_edges,
    lower_histogram,
    split_bins,
)
from tape.ops.reduction.differences import diff_along
from tape.ops.reduction.primitives import sum_along
from tape.ops.structure.indexing import getitem
from tape.ops.structure.joining import concatenate, stack
from tape.ops.structure.shape import astype, ravel, reshape, transpose

__all__ = ["histogram", "histogram2d", "histogramdd"]

declare_samples(
    "np.histogram(x, 3, (0.0, 1.0))",
    "np.histogram2d(v, v, 2)",
    "np.histogramdd((u, w), 2)",
)


def _bins_forward(sample: Any, *edges: Any) -> Any:
    """Return the bin of a flattened histogram that each row falls into; one past the last, if into none."""
    columns = sample[:, None] if sample.ndim == 1 else sample
    counts = tuple(len(bounds) - 1 for bounds in edges)
    index = [np.searchsorted(bounds, x, side="right") - 1 for bounds, x in zip(edges, columns.T, strict=True)]
    is_inside = np.ones(len(columns), bool)
    for k, (bounds, x) in enumerate(zip(edges, columns.T, strict=True)):
        index[k] -= x == bounds[-1]  # the last bin has both of its edges
        is_inside &= (index[k] >= 0) & (index[k] < counts[k])
    places = np.ravel_multi_index(index, counts, mode="clip")
    return np.where(is_inside, places, np.prod(counts, dtype=int))


_bins_of = Op(
    _bins_forward,
    name="bins_of",
    data_dependent=False,
    lower=lambda b, sample, *edges: lower_bins(b, b.value(sample), *map(b.value, edges)),
)


def _pulled(g: Any, sample: Any, edges: Sequence[Any]) -> Any:
    """Return the adjoint of the bin of each row."""
    padded = concatenate([ravel(g), np.zeros(1, g.dtype)])
    return getitem(padded, _bins_of(sample, *edges))


def _histogram_forward(a: Any, *bins: Any, count: Any, range: Any, weights: Any = None) -> Any:
    return np.histogram(a, bins[0] if bins else count, range, weights=weights)[0]


def _lower_histogram(b: Any, a: Any, weights: Any, *bins: Any, count: Any, range: Any) -> Any:
    a = b.value(a)
    flat = b.reshape(a, (a.size,))
    parts = None if weights is None else b.reshape(b.value(weights), (a.size,))
    return lower_histogram(b, flat, parts, lower_edges(b, flat, *bins, count=count, range=range))


_histogram = Op(
    _histogram_forward,
    name="histogram",
    data_dependent=is_estimated,
    lower=lambda b, a, *bins, **attrs: _lower_histogram(b, a, None, *bins, **attrs),
)


def _weighed_histogram_vjp(
    g: Any, out: Any, a: Any, weights: Any, *bins: Any, count: Any, range: Any
) -> list[Any]:
    edges = bin_edges(a, *bins, count=count, range=range)
    return [None, reshape(_pulled(g, ravel(a), [edges]), weights.shape), *(None for _ in bins)]


_weighed_histogram: Op = Op(
    lambda a, weights, *bins, count, range: _histogram_forward(
        a, *bins, count=count, range=range, weights=weights
    ),
    name="histogram",
    data_dependent=is_estimated,
    vjp=_weighed_histogram_vjp,
    jvp=[
        None,
        lambda t, out, a, weights, *bins, count, range: _weighed_histogram(
            a, t, *bins, count=count, range=range
        ),
        None,
    ],
    taylor=series.linear,
    lower=_lower_histogram,
)
declare_cost(passes(1), _histogram, _weighed_histogram)


@implements(np.histogram)
@composed
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Any, Any]:
    """Count the elements in each bin, or sum their weights.

    Parameters
    ----------
    a : array_like or Var
        Real numbers, of any shape.
    bins : int, str or array_like
        The number of bins, a rule to choose it, or the edges themselves.
    range : tuple of two floats, optional
        The outermost edges; by default the smallest and the largest element.
    density : bool, optional
        Whether to divide by the total and by the widths of the bins.
    weights : array_like or Var, optional
        A number for each element.

    Returns
    -------
    tuple of two numpy.ndarray or Var
        The histogram, which is differentiated by the weights, and by the widths of the bins if it is a
        density; and the edges, as `histogram_bin_edges` makes them.

    Raises
    ------
    ShapeError
        If the bins, the range or the weights make no sense.
    UnsupportedError
        If an end of the range is a Var.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.histogram([0.0, 1.0, 4.0], bins=2)
    (array([2, 1]), array([0., 2., 4.]))
    >>> tr = tape.Trace()
    >>> hist, _ = np.histogram([0.0, 1.0, 4.0], bins=2, weights=tr.param([1.0, 2.0, 3.0]))
    >>> tr.backward_param_grads(hist, [1.0, 10.0])
    [array([ 1.,  1., 10.])]
    """
    bounds, count = split_bins(bins)
    options = {"count": count, "range": as_range(range)}
    weighed = [] if weights is None else [weights]
    op = _weighed_histogram if weighed else _histogram
    hist = op(a, *weighed, *bounds, **options)
    edges = bin_edges(a, *bounds, **options)
    return (_density(hist, [edges]) if density else hist), edges


def _density(hist: Any, edges: Sequence[Any]) -> Any:
    """Return a histogram divided by the widths of its bins, and by its total."""
    total = sum_along(hist, axis=None, keepdims=False)
    for k, bounds in enumerate(edges):
        widths = astype(diff_along(bounds, n=1, axis=0), float)
        hist = divide(hist, reshape(widths, tuple(-1 if i == k else 1 for i in builtins.range(hist.ndim))))
    return divide(hist, total)


def _lower_histogramdd(b: Any, sample: Any, weights: Any, *edges: Any) -> Any:
    bounds = [lower_edges(b, sample, part, count=None, range=None) for part in edges]
    return lower_histogram(b, b.value(sample), None if weights is None else b.value(weights), *bounds)


_histogramdd = Op(
    lambda sample, *edges: np.histogramdd(sample, edges)[0],
    name="histogramdd",
    data_dependent=False,
    lower=lambda b, sample, *edges: lower_histogram(
        b,
        b.value(sample),
        None,
        *[lower_edges(b, sample, bounds, count=None, range=None) for bounds in edges],
    ),
)
_weighed_histogramdd: Op = Op(
    lambda sample, weights, *edges: np.histogramdd(sample, edges, weights=weights)[0],
    name="histogramdd",
    data_dependent=False,
    vjp=lambda g, out, sample, weights, *edges: [
        None, _pulled(g, sample, edges), *(None for _ in edges)
    ],
    jvp=lambda tangents, out, sample, weights, *edges: (
        None if tangents[1] is None else _weighed_histogramdd(sample, tangents[1], *edges)
    ),
    taylor=series.linear,
    lower=_lower_histogramdd,
)  # fmt: skip


def _each(name: str, given: Any, count: int) -> list[Any]:
    """Return a setting for each axis."""
    if len(given) != count:
        raise ShapeError(f"histogramdd: {len(given)} {name} for {count} axes. Give one for each")
    return list(given)


@implements(np.histogramdd)
@composed
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Any, list[Any]]:
    """Count the points in each box of a grid, or sum their weights.

    Parameters
    ----------
    sample : array_like or Var, or a sequence of them
        ``(N, D)``: a point in each row; or its D coordinates one after the other.
    bins : int or sequence of int or array_like
        The number of bins along each axis, or their edges.
    range : sequence of tuples of two floats, optional
        The outermost edges along each axis; by default, or for None, the smallest and largest coordinate.
    density : bool, optional
        Whether to divide by the total and by the volumes of the boxes.
    weights : array_like or Var, optional
        A real number for each point.

    Returns
    -------
    histogram : numpy.ndarray or Var
        With D axes, of float64; differentiated as that of `histogram`.
    edges : list of numpy.ndarray or Var
        Along each axis.

    Raises
    ------
    ShapeError
        If the bins, ranges or weights are not as many as they should be, or make no sense.
    UnsupportedError
        If an end of a range is a Var.

    Examples
    --------
    >>> import tape
    >>> hist, edges = tape.ops.histogramdd(([0.0, 1.0, 1.0], [0.0, 4.0, 3.0]), bins=2)
    >>> hist
    array([[1., 0.],
           [0., 2.]])
    """
    if isinstance(sample, (list, tuple)) and any(isinstance(x, Handle) for x in sample):
        sample = transpose(stack(sample))
    elif isinstance(sample, (list, tuple)):
        sample = np.atleast_2d(sample).T
    sample = as_operand(sample)
    if np.ndim(sample) < 2:
        sample = reshape(sample, (-1, 1))
    dims = sample.shape[1]
    chosen = _each("bins", bins, dims) if is_list(bins) else [bins] * dims
    for each in chosen:
        check_count(each)
    ranges = [None] * dims if range is None else _each("ranges", range, dims)
    edges = [
        as_operand(bounds)
        if is_list(bounds)
        else edges_along(getitem(sample, (slice(None), k)), count=bounds, range=as_range(ranges[k]))
        for k, bounds in enumerate(chosen)
    ]
    weighed = [] if weights is None else [weights]
    op = _weighed_histogramdd if weighed else _histogramdd
    hist = op(sample, *weighed, *edges)
    return (_density(hist, edges) if density else hist), edges


@implements(np.histogram2d)
@composed
def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Any, Any, Any]:
    """Count the points of the plane in each box of a grid, or sum their weights.

    Parameters
    ----------
    x, y : array_like or Var
        Coordinates, one axis each.
    bins : int, array_like, or a pair of these
        The number of bins along both axes, or their edges; or one of these for each axis.
    range : pair of tuples of two floats, optional
        The outermost edges along each axis.
    density, weights
        Same as for `histogramdd`.

    Returns
    -------
    tuple of three numpy.ndarray or Var
        The histogram, the edges along x and those along y.

    Raises
    ------
    ShapeError
        If there are not as many x as y. Otherwise like `histogramdd`.

    Examples
    --------
    >>> import tape
    >>> tape.ops.histogram2d([0.0, 1.0, 1.0], [0.0, 4.0, 3.0], bins=2)[0]
    array([[1., 0.],
           [0., 2.]])
    """
    x, y = as_operand(x), as_operand(y)
    if np.shape(x) != np.shape(y) or np.ndim(x) != 1:
        raise ShapeError(
            f"histogram2d: coordinates are {describe(x)} and {describe(y)}. Give the same number of both"
        )
    if is_list(bins) and len(bins) not in (1, 2):
        bins = [bins, bins]
    hist, edges = histogramdd([x, y], bins, range, density, weights)
    return hist, edges[0], edges[1]
