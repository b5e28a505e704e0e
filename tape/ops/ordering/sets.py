"""Set operations: the distinct elements of arrays, and membership in one, both, or only one of two arrays.

An operation without a derivative finds which elements these are, and they are read at its positions: of equal
elements, the first one has the derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.node import snapshot
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.table import implements
from tape.errors import OptionError
from tape.inspect.costs import declare_cost, sorting
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.selection import logical_and, not_equal
from tape.ops.named_results import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from tape.ops.ordering.sorting import batch_first, sort, stable_argsort
from tape.ops.structure.axes import moveaxis
from tape.ops.structure.indexing import getitem
from tape.ops.structure.joining import concatenate
from tape.ops.structure.shape import astype, ravel, reshape
from tape.ops.structure.taking import take

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

declare_samples(
    "np.intersect1d, np.isin, np.setdiff1d, np.setxor1d, np.union1d(x, y)",
    "np.unique, np.unique_all, np.unique_counts, np.unique_inverse(x)",
    "np.unique_values(x).sum()",
)


def _unique_parts(x: Any, *, axis: int | None, equal_nan: bool) -> Any:
    if axis is None:
        index, inverse, counts = _runs(np.ravel(x), equal_nan)
    else:
        _, index, inverse, counts = np.unique(x, True, True, True, axis, equal_nan=equal_nan)
    return np.concatenate([inverse.ravel(), index, counts])


def _runs(x: np.ndarray, equal_nan: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what NumPy's unique finds, in a third of the time: see `stable_argsort`."""
    order = stable_argsort(x, 0)
    ordered = x[order]
    is_first = np.ones(x.size, bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    if equal_nan and x.dtype.kind in "fc":
        is_first[1:] &= ~(np.isnan(ordered[1:]) & np.isnan(ordered[:-1]))  # NaNs come last, together
    starts = np.flatnonzero(is_first)
    inverse = np.empty(x.size, np.intp)
    inverse[order] = np.cumsum(is_first) - 1
    return order[starts], inverse, np.diff(starts, append=x.size)


# All results at once, in one array: for each element its number, then the first position of each number, and
# its count.
def _lower_unique(b: Any, x: Any, axis: int | None, equal_nan: bool) -> Any:
    size = x.size
    if axis is not None or not size:
        b.refuse("rows, or nothing")
    flat = b.reshape(x, (size,))
    found = b.runs(flat, b.argsort(flat, 0, "stable"), equal_nan)
    number = b.read(found, (0,))
    b.guard_length(number * 2 + size, 0)
    count = (b.shape[0] - size) // 2
    starts = (1, size), (1 + size, count), (1 + 2 * size, count)
    return b.concatenate([b.slice(found, (at,), (1,), (n,)) for at, n in starts], 0)


_unique = Op(_unique_parts, name="unique", lower=_lower_unique, data_dependent=True)


def _hashing_order(x: Any, *, equal_nan: bool) -> Any:
    """Return where, among the sorted elements, those are that NumPy finds by hashing, in its order."""
    found = np.unique(x, sorted=False) if equal_nan else np.unique_values(x)
    return np.searchsorted(np.unique(x, equal_nan=equal_nan), found)


_hashed = Op(_hashing_order, name="hashing_order")


def _lower_common(b: Any, x: Any, y: Any, assume_unique: bool) -> Any:
    x, y = (b.reshape(b.value(array), (b.value(array).size,)) for array in (x, y))
    if assume_unique or not x.size or not y.size:
        b.refuse("elements that may not be distinct after all, or none")
    dtype = np.promote_types(x.dtype, y.dtype)
    x, y = b.value(x, dtype), b.value(y, dtype)
    orders = [b.argsort(array, 0, "stable") for array in (x, y)]
    ordered, others = b.sort(x, 0), b.sort(y, 0)
    differs = b.elementwise("not_equal", b.read(ordered, (slice(1, None),)), b.read(ordered, (slice(-1),)))
    is_first = b.concatenate([b.broadcast(b.literal(True), (1,)), differs], 0)
    at = b.elementwise("minimum", b.search(others, ordered, "left"), y.size - 1)
    is_common = b.elementwise("logical_and", is_first, b.elementwise("equal", b.take(others, at, 0), ordered))
    places = b.flatnonzero(is_common, 1)
    found = [b.take(orders[0], places, 0), b.take(orders[1], b.take(at, places, 0), 0)]
    return b.concatenate([b.reshape(part, (1, *part.shape)) for part in found], 0)


_common = Op(
    lambda a, b, *, assume_unique: np.stack(np.intersect1d(a, b, assume_unique, return_indices=True)[1:]),
    name="intersect1d",
    lower=_lower_common,
    data_dependent=True,
)


def _lower_isin(b: Any, x: Any, tests: Any, invert: bool, **how: Any) -> Any:
    x, tests = b.value(x), b.value(tests)
    if not tests.size:
        return b.broadcast(b.literal(invert), x.shape)
    dtype = np.promote_types(x.dtype, tests.dtype)
    x = b.value(x, dtype)
    ordered = b.sort(b.value(b.reshape(tests, (tests.size,)), dtype), 0)
    at = b.elementwise("minimum", b.search(ordered, x, "left"), tests.size - 1)
    return b.elementwise("not_equal" if invert else "equal", b.take(ordered, at, 0), x)


_isin = Op(
    lambda x, tests, *, assume_unique, invert, kind: np.isin(
        x, tests, assume_unique=assume_unique, invert=invert, kind=kind
    ),
    name="isin",
    batch=batch_first,
    lower=_lower_isin,
)
declare_cost(sorting, _unique, _common, _isin)


@implements(np.unique)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Return the distinct elements, in ascending order, or the distinct slices along an axis.

    Parameters
    ----------
    ar : array_like or Var
        Any shape.
    return_index : bool
        Whether to return where each is first, along the axis or in the flattened array.
    return_inverse : bool
        Whether to return which one every element is.
    return_counts : bool
        Whether to return how often each is there.
    axis : int, optional
        By default the array is flattened.
    equal_nan : bool
        Whether all NaN are one.
    sorted : bool
        Whether the elements, if nothing else is asked for, may be in no order but NumPy's own.

    Returns
    -------
    numpy.ndarray or Var, or tuple of these
        The elements, then what was asked for, in this order. The first of equal elements has the
        derivative.

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x = tr.param([2.0, 1.0, 2.0])
    >>> values, counts = np.unique(x, return_counts=True)
    >>> tr.backward_param_grads(np.sum(values * [10.0, 20.0]))
    [array([20., 10.,  0.])]
    """
    ar = as_operand(ar)
    shape = np.shape(ar)
    parts = _unique(ar, axis=axis, equal_nan=equal_nan)
    count = np.size(ar) if axis is None else shape[axis]
    inverse = getitem(parts, slice(None, count))
    index, counts = reshape(getitem(parts, slice(count, None)), (2, -1))
    values = take(ar, index) if axis is None else _rows(ar, index, axis)
    if not (sorted or return_index or return_inverse or return_counts or axis is not None):
        return take(values, _hashed(ar, equal_nan=equal_nan))
    if axis is None and len(shape) != 1:
        inverse = reshape(inverse, shape)
    extra = zip((return_index, return_inverse, return_counts), (index, inverse, counts), strict=True)
    wanted = [part for is_wanted, part in extra if is_wanted]
    return (values, *wanted) if wanted else values


def _rows(x: Any, index: Any, axis: int) -> Any:
    """Return slices along an axis; in memory one after the other, as those that NumPy has sorted."""
    if axis % np.ndim(x) == 0:
        return take(x, index, 0)
    return snapshot(moveaxis(take(moveaxis(x, axis, 0), index, 0), 0, axis))


@implements(np.unique_all)
def unique_all(x: Any) -> UniqueAllResult:
    """Return the distinct elements with all further results of `unique`; every NaN is distinct.

    Examples
    --------
    >>> import tape
    >>> tape.ops.unique_all([2.0, 1.0, 2.0]).counts
    array([1, 2])
    """
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


@implements(np.unique_counts)
def unique_counts(x: Any) -> UniqueCountsResult:
    """Return the distinct elements and their counts. Otherwise like `unique_all`.

    Examples
    --------
    >>> import tape
    >>> tape.ops.unique_counts([2.0, 1.0, 2.0]).values
    array([1., 2.])
    """
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


@implements(np.unique_inverse)
def unique_inverse(x: Any) -> UniqueInverseResult:
    """Return the distinct elements, and the index of every element among them. Otherwise like `unique_all`.

    Examples
    --------
    >>> import tape
    >>> tape.ops.unique_inverse([2.0, 1.0, 2.0]).inverse_indices
    array([1, 0, 1])
    """
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


@implements(np.unique_values)
def unique_values(x: Any) -> Any:
    """Return the distinct elements, in NumPy's order. Otherwise like `unique_all`.

    Examples
    --------
    >>> import tape
    >>> tape.ops.unique_values([2.0, 1.0, 2.0])
    array([1., 2.])
    """
    return unique(x, equal_nan=False, sorted=False)


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    """Return the distinct elements of two arrays together, in ascending order. Otherwise like `unique`.

    Examples
    --------
    >>> import tape
    >>> tape.ops.union1d([2.0, 1.0], [2.0, 3.0])
    array([1., 2., 3.])
    """
    return unique(concatenate((ar1, ar2), axis=None))


@implements(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Return the distinct elements that two arrays have in common, in ascending order.

    Parameters
    ----------
    ar1, ar2 : array_like or Var
        Any shape; flattened.
    assume_unique : bool
        Whether the elements of each are known to be distinct.
    return_indices : bool
        Whether to return where each is first in the two arrays.

    Returns
    -------
    numpy.ndarray or Var, or tuple of three
        Elements of ``ar1``: they have the derivative.

    Examples
    --------
    >>> import tape
    >>> tape.ops.intersect1d([3.0, 1.0, 2.0], [2.0, 3.0, 5.0])
    array([2., 3.])
    """
    ar1, ar2 = as_operand(ar1), as_operand(ar2)
    first, second = _common(ar1, ar2, assume_unique=assume_unique)
    dtype = np.result_type(*(np.asarray(ar).dtype if np.isscalar(ar) else ar.dtype for ar in (ar1, ar2)))
    values = take(ar1, first)
    if values.dtype != dtype:
        values = astype(values, dtype)
    return (values, first, second) if return_indices else values


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """Return the distinct elements of one array that are not in another, in ascending order.

    Parameters
    ----------
    ar1, ar2 : array_like or Var
        Any shape; flattened.
    assume_unique : bool
        Whether the elements of each are known to be distinct: then those of ``ar1`` keep their order.

    Returns
    -------
    numpy.ndarray or Var

    Examples
    --------
    >>> import tape
    >>> tape.ops.setdiff1d([3.0, 1.0, 2.0], [2.0])
    array([1., 3.])
    """
    elements = ravel(ar1) if assume_unique else unique(ar1)
    return getitem(elements, isin(elements, ar2, invert=True))


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """Return the distinct elements of only one of two arrays, ascending. Otherwise like `intersect1d`.

    Examples
    --------
    >>> import tape
    >>> tape.ops.setxor1d([3.0, 1.0, 2.0], [2.0, 5.0])
    array([1., 3., 5.])
    """
    parts = [ar1, ar2] if assume_unique else [unique(ar1), unique(ar2)]
    elements = sort(concatenate(parts, axis=None))
    if not elements.size:
        return elements
    edge = np.array([True])
    differs = not_equal(getitem(elements, slice(1, None)), getitem(elements, slice(None, -1)))
    flags = concatenate([edge, differs, edge])
    return getitem(elements, logical_and(getitem(flags, slice(1, None)), getitem(flags, slice(None, -1))))


@implements(np.isin)
def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Any:
    """Return whether each element is in another array; recorded without a derivative.

    Parameters
    ----------
    element : array_like or Var
        Any shape.
    test_elements : array_like or Var
        Any shape; flattened.
    assume_unique : bool
        Whether the elements of each are known to be distinct.
    invert : bool
        Whether to tell which are not.
    kind : {"sort", "table"}, optional
        The algorithm, which changes nothing else.

    Returns
    -------
    numpy.ndarray, numpy.bool or Var
        Array of the shape of ``element``.

    Raises
    ------
    OptionError
        If ``kind`` is another one.

    Examples
    --------
    >>> import tape
    >>> tape.ops.isin([1.0, 2.0], [2.0, 3.0])
    array([False,  True])
    """
    if kind not in (None, "sort", "table"):
        raise OptionError(f"isin: kind={kind!r}. It must be 'sort', 'table' or None")
    return _isin(element, test_elements, assume_unique=assume_unique, invert=invert, kind=kind)
