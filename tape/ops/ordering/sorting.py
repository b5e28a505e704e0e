"""Sorting, and searching in sorted arrays.

The derivative follows the permutation: equal elements keep their order, and each result has the derivative of
the element it is. The permutation is recorded before that, as an operation without a derivative; for a few
elements it is left to the rules.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tape import errors
from tape.core import series
from tape.core.batch_rules import along_axes
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.specialise import specialised
from tape.core.table import implements
from tape.errors import DTypeError, OptionError, ShapeError, UnsupportedError
from tape.inspect.costs import declare_cost, searching, sorting
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.selection import batch_positions
from tape.ops.number_axes import axis_of
from tape.ops.structure.layout import own, slowest_first
from tape.ops.structure.positions import checked_axis
from tape.ops.structure.shape import astype, ravel
from tape.ops.structure.taking import add_along_axis, take_along_axis

__all__ = ["argpartition", "argsort", "lexsort", "partition", "searchsorted", "sort", "sort_complex"]

declare_samples(
    "np.argpartition, np.partition(x, 2, axis=1)",
    "np.argsort, np.sort(x, axis=1)",
    "np.lexsort((x[0], x[1]))",
    "np.searchsorted([0.4, 0.6], x)",
    "np.sort_complex(v)",
)

_FEW = 1024
"""Elements up to which the rules find the permutation anew in less time than it takes to record it."""

_KINDS = {"q": "quicksort", "h": "heapsort", "m": "stable", "s": "stable"}
"""NumPy goes by the first letter."""


def stable_argsort(x: Any, axis: int | None) -> Any:
    """Return the permutation of NumPy's stable sort, from the faster unstable one if there are no ties.

    NumPy sorts floats with vector instructions, but not stably: four times faster at 10**5 elements.
    """
    x = np.asarray(x)
    if x.dtype not in (np.float64, np.float32) or x.ndim == 0:
        return np.argsort(x, axis=axis, kind="stable")
    rows = x.ravel() if axis is None else np.moveaxis(x, axis, -1)
    order = np.argsort(rows, axis=-1)
    ordered = np.take_along_axis(rows, order, axis=-1)
    if not np.all(ordered[..., :-1] < ordered[..., 1:]):  # ties, or NaN
        order = np.argsort(rows, axis=-1, kind="stable")
    return order if axis is None else np.asarray(np.moveaxis(order, -1, axis), order="C")


def _order(x: Any, *, axis: int | None, kind: Any) -> Any:
    return stable_argsort(x, axis) if kind == "stable" else np.argsort(x, axis=axis, kind=kind)


def _lower_argsort(b: Any, x: Any, axis: int | None, kind: Any) -> Any:
    if axis is None:
        x, axis = b.reshape(x, (x.size,)), 0
    return b.argsort(x, axis, kind)


_argsort = Op(_order, name="argsort", batch=batch_positions, lower=_lower_argsort)

_argpartition = Op(
    lambda x, *, kth, axis: np.argpartition(x, kth, axis), name="argpartition", batch=batch_positions
)

# The order in which `partition` puts elements, which is undefined but for the k-th: programs have another.
_partition_order = Op(
    _argpartition.forward,
    name="argpartition",
    batch=batch_positions,
    lower=lambda b, x, kth, axis: b.partition(x, kth if type(kth) is tuple else (kth,), axis),
)


def _lower_lexsort(b: Any, *keys: Any, axis: int) -> Any:
    keys = tuple([b.value(key) for key in keys])
    order = b.argsort(keys[0], axis, "stable")
    for key in keys[1:]:
        order = b.refined_order(key, order, axis)
    return order


def _lower_lexsort_rows(b: Any, keys: Any, axis: int) -> Any:
    return _lower_lexsort(b, *[b.read(keys, (k,)) for k in range(keys.shape[0])], axis=axis)


_lexsort = Op(
    lambda *keys, axis: np.lexsort(keys, axis), name="lexsort", data_dependent=False, lower=_lower_lexsort
)

_lexsort_rows = Op(
    lambda keys, *, axis: np.lexsort(keys, axis),
    name="lexsort",
    data_dependent=False,
    lower=_lower_lexsort_rows,
)


def _sorted(x: Any, *, axis: int) -> Any:
    out = np.array(x, order="K")
    out.sort(axis)
    return out


def _taylor_sort(op: Op, out: Any, operands: Any, attrs: dict[str, Any]) -> series.Series:
    (a,), axis = operands, attrs["axis"]
    order = _argsort(a[0], axis=axis, kind="stable")
    return [out, *(None if part is None else take_along_axis(part, order, axis) for part in a[1:])]


_sort = Op(
    _sorted,
    name="sort",
    vjp=[
        lambda g, out, x, axis: add_along_axis(
            g, _argsort(x, axis=axis, kind="stable"), shape=x.shape, axis=axis % x.ndim
        )
    ],
    jvp=[lambda t, out, x, axis: take_along_axis(t, _argsort(x, axis=axis, kind="stable"), axis)],
    taylor=_taylor_sort,
    batch=along_axes,
    lower=lambda b, x, axis: b.sort(x, axis),
)
declare_cost(sorting, _argsort, _argpartition, _lexsort, _lexsort_rows, _sort)


def batch_first(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    """The batch rule of operations element by element in the first operand, for one second operand."""
    return NotImplemented if is_batched[1] else op(*operands, **attrs)


def _batch_search(op: Op, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    return op(*operands, **attrs) if list(is_batched[:2]) == [False, True] else NotImplemented


def _lower_search(b: Any, a: Any, v: Any, *sorter: Any, side: str) -> Any:
    a, v = b.value(a), b.value(v)
    if sorter:
        at = b.push("ravel_index", [b.value(*sorter, np.int64)], ((a.size,), False))  # none from the end
        a = b.take(a, at, 0)
    return b.search(a, v, side)


_searchsorted = Op(
    lambda a, v, *sorter, side: np.searchsorted(a, v, side, *sorter),
    name="searchsorted",
    batch=_batch_search,
    lower=_lower_search,
)
declare_cost(searching, _searchsorted)


def _checked_kind(name: str, kind: Any, order: Any, stable: bool | None) -> str | None:
    """Return the kind of sort; the other names of a stable sort as "stable"."""
    if order is not None:
        raise UnsupportedError(
            f"{name}: order= names fields, and the array has none. Sort by the argsort of an array"
        )
    if kind is not None and stable is not None:
        raise OptionError(f"{name}: kind={kind!r} and stable={stable}. Give one of them")
    if kind is None:
        return "stable" if stable else None
    if not isinstance(kind, str) or kind[:1].lower() not in _KINDS:
        raise OptionError(
            f"{name}: kind={kind!r}. It must be 'quicksort', 'heapsort', 'mergesort' or 'stable'"
        )
    return _KINDS[kind[0].lower()]


def _checked_axis(name: str, a: Any, axis: Any) -> int:
    """Return the number of elements along an axis; of all elements if None."""
    shape = np.shape(a)
    return np.size(a) if axis is None else shape[checked_axis(name, shape, axis)]


def _checked_kth(name: str, kth: Any, a: Any, length: int) -> int | tuple[int, ...]:
    try:
        positions = tuple(map(operator.index, kth)) if np.ndim(kth) else operator.index(kth)
    except TypeError as error:
        raise DTypeError(f"{name}: kth={kth!r}. It must be an int or a sequence of ints") from error
    if not np.size(a):
        return positions  # NumPy accepts any there
    for k in positions if isinstance(positions, tuple) else (positions,):
        if not -length <= k < length:
            raise ShapeError(f"{name}: kth={k} is out of bounds: there are {length} elements along the axis")
    return positions


def _permuted(a: Any, order: Op, axis: int | None, **attrs: Any) -> Any:
    """Return the elements along an axis, flat if it is None, in the order that an operation finds."""
    if axis is None:
        a, axis = a if np.ndim(a) == 1 else ravel(a), -1
    if order is _argsort and np.size(a) <= _FEW:
        return own(_sort(a, axis=axis), slowest_first(a))
    return own(take_along_axis(a, order(a, axis=axis, **attrs), axis), slowest_first(a))


@implements(np.sort)
@specialised(layout=True)
def sort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
) -> Any:
    """Sort elements along an axis in ascending order, NaN last.

    Parameters
    ----------
    a : array_like or Var
        At least one axis, or ``axis=None``. Complex numbers are compared by real part first.
    axis : int, optional
        None for the flattened array.
    kind : {"quicksort", "heapsort", "mergesort", "stable"}, optional
        All give the same result.
    order : None
        Not supported: structured arrays have fields, and there are none here.
    stable : bool, optional
        Same as for ``kind``.

    Returns
    -------
    numpy.ndarray or Var
        Among equal elements derivatives keep their order.

    Raises
    ------
    ShapeError
        If there is no such axis.
    OptionError
        If ``kind`` is another one, or both ``kind`` and ``stable`` are given.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x = tr.param([3.0, 1.0, 2.0])
    >>> tr.backward_param_grads(np.sum(np.sort(x) * [10.0, 20.0, 30.0]))
    [array([30., 10., 20.])]
    """
    _checked_kind("sort", kind, order, stable)
    a = as_operand(a)
    _checked_axis("sort", a, axis)
    return _permuted(a, _argsort, axis, kind="stable")


@implements(np.argsort)
def argsort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
) -> Any:
    """Return the permutation that sorts, without a derivative. Parameters and errors are those of `sort`.

    Returns
    -------
    numpy.ndarray or Var
        Ints. Only with ``kind="stable"`` or ``stable=True`` do equal elements keep their order.

    Examples
    --------
    >>> import tape
    >>> tape.ops.argsort([3.0, 1.0, 2.0])
    array([1, 2, 0])
    """
    kind = _checked_kind("argsort", kind, order, stable)
    a = as_operand(a)
    axis = axis_of(a, axis)
    _checked_axis("argsort", a, axis)
    return _argsort(a, axis=axis, kind=kind)


@implements(np.partition)
def partition(
    a: Any, kth: int | Sequence[int], axis: int | None = -1, kind: str = "introselect", order: None = None
) -> Any:
    """Partition elements along an axis: the k-th where sorting puts it, smaller before and larger after it.

    Parameters
    ----------
    a : array_like or Var
        At least one axis, or ``axis=None``.
    kth : int or sequence of int
        One position or several.
    axis : int, optional
        None for the flattened array.
    kind : {"introselect"}
        There is one.
    order : None
        Not supported: structured arrays have fields, and there are none here.

    Returns
    -------
    numpy.ndarray or Var
        ``a`` as `argpartition` orders it. In which order elements are among those before, and among
        those after, is undefined, in NumPy as here.

    Raises
    ------
    ShapeError
        If there is no such axis, or no such position along it.
    OptionError
        If ``kind`` is another one.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.partition([3.0, 1.0, 4.0, 2.0], 2)[2])
    3.0
    """
    a, kth = _partition_arguments("partition", a, kth, axis, kind, order)
    return _permuted(a, _partition_order, axis, kth=kth)


@implements(np.argpartition)
def argpartition(
    a: Any, kth: int | Sequence[int], axis: int | None = -1, kind: str = "introselect", order: None = None
) -> Any:
    """Return the permutation that partitions, without a derivative. Parameters and errors as of `partition`.

    Returns
    -------
    numpy.ndarray or Var
        Array of ints.

    Examples
    --------
    >>> import tape
    >>> int(tape.ops.argpartition([3.0, 1.0, 4.0, 2.0], 2)[2])
    0
    """
    axis = axis_of(a, axis)
    a, kth = _partition_arguments("argpartition", a, kth, axis, kind, order)
    return _argpartition(a, kth=kth, axis=axis)


def _partition_arguments(name: str, a: Any, kth: Any, axis: Any, kind: Any, order: Any) -> tuple[Any, Any]:
    if kind != "introselect":
        raise OptionError(f"{name}: kind={kind!r}. It must be 'introselect'")
    _checked_kind(name, None, order, None)
    a = as_operand(a)
    return a, _checked_kth(name, kth, a, _checked_axis(name, a, axis))


@implements(np.sort_complex)
def sort_complex(a: Any) -> Any:
    """Sort along the last axis, as complex numbers.

    Examples
    --------
    >>> import tape
    >>> tape.ops.sort_complex([2.0, 1.0])
    array([1.+0.j, 2.+0.j])
    """
    a = sort(a)
    if a.dtype.kind == "c":
        return a
    return astype(a, {**dict.fromkeys("bhBH", "F"), "g": "G"}.get(a.dtype.char, "D"))  # NumPy's choice


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """Return the permutation that sorts by several keys, the last one first; recorded without a derivative.

    Parameters
    ----------
    keys : sequence of array_like or Var, or one with an axis more
        Arrays of one shape.
    axis : int
        The axis to sort along.

    Returns
    -------
    numpy.ndarray or Var
        Ints; equal elements keep their order.

    Raises
    ------
    ShapeError
        If there are no keys, the shapes differ, or there is no such axis.

    Examples
    --------
    >>> import tape
    >>> tape.ops.lexsort(([2.0, 1.0, 1.0], [0.0, 1.0, 0.0]))
    array([2, 0, 1])
    """
    if not isinstance(keys, (list, tuple)):
        return _lexsort_rows(keys, axis=axis)
    if not len(keys):
        raise ShapeError("lexsort: there are no keys")
    return _lexsort(*keys, axis=axis)


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Return where elements would be inserted to keep an array sorted; recorded without a derivative.

    Parameters
    ----------
    a : array_like or Var
        One axis, in ascending order, or sorted by ``sorter``.
    v : array_like or Var
        Any shape.
    side : {"left", "right"}
        Before elements of ``a`` that are equal, or after them.
    sorter : array_like or Var, optional
        The result of ``argsort(a)``.

    Returns
    -------
    numpy.ndarray, numpy.integer or Var
        Ints, of the shape of ``v``.

    Raises
    ------
    ShapeError
        If ``a`` must have one axis, or ``sorter`` has another length or does not fit.
    OptionError
        If ``side`` is another one.

    Examples
    --------
    >>> import tape
    >>> tape.ops.searchsorted([1.0, 2.0, 3.0], [0.0, 2.0, 5.0])
    array([0, 1, 3])
    """
    if side not in ("left", "right"):
        raise OptionError(f"searchsorted: side={side!r}. It must be 'left' or 'right'")
    a = as_operand(a)
    if np.ndim(a) != 1:
        raise ShapeError(f"searchsorted: {errors.describe(a)} must have one axis")
    return _searchsorted(a, v, *(() if sorter is None else (sorter,)), side=side)
