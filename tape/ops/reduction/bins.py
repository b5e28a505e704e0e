"""The edges of the bins of histograms.

Edges that are computed from the elements are differentiated by the smallest and the largest of them.
"""

from __future__ import annotations

from collections.abc import Callable
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
)


def bin_edges(a: Any, *bins: Any, count: Any, range: Any) -> Any:
    return _edges_given(a, *bins) if bins else _edges_between(a, count=count, range=range)


def is_list(bins: Any) -> bool:
    """Return whether it is a list of edges, or of settings for several axes, and not a number."""
    return isinstance(bins, (list, tuple)) or np.ndim(bins) > 0


def split_bins(bins: Any) -> tuple[list[Any], Any]:
    """Return edges, which are an operand, and the static number of bins or name of a rule for it."""
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
