"""Functional forms of NumPy's in-place functions: they return what the first argument would hold afterwards.

They take the arguments of NumPy's functions and leave the first one unchanged. `IN_PLACE` maps the functions
of NumPy's to them; the caller assigns the new value to the handle of the first argument.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tape import errors
from tape.core.nesting import traced
from tape.core.operands import as_operand
from tape.errors import DTypeError, OutOfBoundsError, ShapeError
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.selection import where as _where
from tape.ops.reduction.cumulative import cumsum
from tape.ops.structure.indexing import getitem
from tape.ops.structure.positions import checked_positions
from tape.ops.structure.shape import astype, broadcasts, ravel, reshape
from tape.ops.structure.taking import put_along_axis
from tape.ops.structure.writing import fitting, set_at

declare_samples(
    "np.copyto(x, y)",
    "np.fill_diagonal(s, c)",
    "np.place(x, mask, [1.0])",
    "np.put(x, [0], c)",
    "np.put_along_axis(x, columns, c, axis=1)",
    "np.putmask(x, mask, y)",
)


def _repeated(values: Any, places: Any) -> Any:
    """Return flat values at positions in an endless repetition of them."""
    size = np.size(values)
    return reshape(values, ()) if size == 1 else getitem(ravel(values), places % size)


def _as_mask(name: str, mask: Any, a: Any) -> Any:
    """Return a mask as bools of the shape of an array with the same number of elements."""
    mask = as_operand(mask)
    if np.size(mask) != np.size(a):
        raise ShapeError(
            f"{name}: the mask has {np.size(mask)} elements, the array has {np.size(a)}. They must have the "
            "same number"
        )
    return reshape(astype(mask, bool, copy=False), np.shape(a))


def _check_safe(name: str, a: Any, values: Any) -> None:
    if not hasattr(values, "dtype"):  # NumPy converts a list to what it writes to
        return
    to, given = np.result_type(a), np.result_type(values)
    if np.ndim(values) and not np.can_cast(given, to, "safe"):
        raise DTypeError(
            f"{name}: NumPy does not write {errors.describe(values)} into {errors.describe(a)}. Convert the "
            "values with astype, or use np.where"
        )


def putted(a: Any, ind: Any, v: Any, mode: str = "raise") -> Any:
    """Return ``a`` after ``np.put(a, ind, v, mode)``.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    ind : array_like or Var
        Ints: positions in the flattened array.
    v : array_like or Var
        Repeated if there are fewer than positions.
    mode : {"raise", "wrap", "clip"}
        Same as for `take`.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape and dtype of ``a``.

    Raises
    ------
    OutOfBoundsError
        If a position is out of range, or no int.
    DTypeError
        If values are complex and the array is not.
    OptionError
        If ``mode`` is another one.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.ops.updates.overwriting import putted
    >>> putted(np.zeros((2, 2)), [0, 3, 1], [1.0, 2.0])
    array([[1., 1.],
           [0., 2.]])
    """
    a, ind, v = as_operand(a), as_operand(ind), as_operand(v)
    v = fitting(v, np.result_type(a))
    size = np.size(a)
    if not size and np.size(ind):
        raise OutOfBoundsError("put: there is nothing to write to in an array without elements")
    if np.result_type(ind).kind == "b":
        ind = astype(ind, np.intp)
    ind = ravel(checked_positions("put", ind, -size, size, mode))
    if not np.size(v) or not np.size(ind):
        return a
    return reshape(set_at(ravel(a), _repeated(v, np.arange(np.size(ind))), ind), np.shape(a))


def put_masked(a: Any, mask: Any, values: Any) -> Any:
    """Return ``a`` after ``np.putmask(a, mask, values)``.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    mask : array_like or Var
        Array with as many elements as ``a``.
    values : array_like or Var
        Repeated if there are fewer than elements of ``a``; the one at the position of an element is
        written there.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape and dtype of ``a``.

    Raises
    ------
    ShapeError
        If the mask has another size.
    DTypeError
        If the values do not fit the dtype of ``a`` without loss.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.ops.updates.overwriting import put_masked
    >>> put_masked(np.zeros(4), [True, False, True, True], [1.0, 2.0])
    array([1., 0., 1., 2.])
    """
    a, values = as_operand(a), as_operand(values)
    mask = _as_mask("putmask", mask, a)
    _check_safe("putmask", a, values)
    if not np.size(values):
        return a
    if np.shape(values) != np.shape(a):
        values = _repeated(values, np.arange(np.size(a)).reshape(np.shape(a)))
    return _where(mask, set_at(a, values, ...), a)


def placed(arr: Any, mask: Any, vals: Any) -> Any:
    """Return ``arr`` after ``np.place(arr, mask, vals)``.

    Parameters
    ----------
    arr : array_like or Var
        Any shape.
    mask : array_like or Var
        Array with as many elements as ``arr``.
    vals : array_like or Var
        Written one after the other where the mask is True; they start over if there are fewer.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape and dtype of ``arr``.

    Raises
    ------
    ShapeError
        If the mask has another size, or if there are no values for it.
    DTypeError
        If the values do not fit the dtype of ``arr`` without loss.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.ops.updates.overwriting import placed
    >>> placed(np.zeros(4), [True, False, True, True], [1.0, 2.0])
    array([1., 0., 2., 1.])
    """
    arr, vals = as_operand(arr), as_operand(vals)
    mask = _as_mask("place", mask, arr)
    _check_safe("place", arr, vals)
    if not np.size(vals):
        if np.any(traced(mask)):
            raise ShapeError("place: there are no values to write. Give at least one")
        return arr
    order = reshape(cumsum(astype(mask, np.intp)), np.shape(arr)) - 1  # of each written element
    return _where(mask, set_at(arr, _repeated(vals, order), ...), arr)


def copied_to(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> Any:
    """Return ``dst`` after ``np.copyto(dst, src, casting, where)``.

    Parameters
    ----------
    dst : array_like or Var
        Any shape.
    src : array_like or Var
        Broadcasts to ``dst``.
    casting : str
        Same as for `numpy.can_cast`; Python numbers have no dtype of their own.
    where : array_like or Var
        Bools that broadcast to ``dst``: what is written to.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape and dtype of ``dst``.

    Raises
    ------
    ShapeError
        If something does not broadcast to ``dst``.
    DTypeError
        If ``src`` may not be cast like this, or is complex and ``dst`` is not.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.ops.updates.overwriting import copied_to
    >>> copied_to(np.zeros(3), [1.0, 2.0, 3.0], where=[True, False, True])
    array([1., 0., 3.])
    """
    dst, src, mask = as_operand(dst), as_operand(src), as_operand(where)
    dtype = np.result_type(dst)
    given = src.dtype if hasattr(src, "dtype") else np.result_type(dtype, src)
    if not np.can_cast(given, dtype, casting):  # type: ignore[arg-type]
        raise DTypeError(
            f"copyto: {errors.describe(src)} does not fit into {errors.describe(dst)} with "
            f"casting={casting!r}. Convert one with astype"
        )
    if not broadcasts(np.shape(mask), np.shape(dst)):
        raise ShapeError(
            f"copyto: where, of shape {list(np.shape(mask))}, does not broadcast to {list(np.shape(dst))}"
        )
    copied = set_at(dst, src, ...)
    return copied if where is True else _where(astype(mask, bool, copy=False), copied, dst)


def diagonal_filled(a: Any, val: Any, wrap: bool = False) -> Any:
    """Return ``a`` after ``np.fill_diagonal(a, val, wrap)``.

    Parameters
    ----------
    a : array_like or Var
        Two axes, or more of one length.
    val : array_like or Var
        Flattened, and repeated if there are fewer than elements of the diagonal.
    wrap : bool
        Whether the diagonal of a tall matrix starts over, with a row left out.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape and dtype of ``a``.

    Raises
    ------
    ShapeError
        If there are fewer than two axes, or more of different lengths.
    DTypeError
        If values are complex and the array is not.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.ops.updates.overwriting import diagonal_filled
    >>> diagonal_filled(np.zeros((2, 2)), [1.0, 2.0])
    array([[1., 0.],
           [0., 2.]])
    """
    a, val = as_operand(a), as_operand(val)
    shape = np.shape(a)
    if len(shape) < 2:
        raise ShapeError(f"fill_diagonal: {errors.describe(a)} has no diagonal. It needs two axes")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise ShapeError(f"fill_diagonal: the axes of {errors.describe(a)} must be of equal length")
    end = None
    if len(shape) == 2:
        step = shape[1] + 1
        end = None if wrap else shape[1] * shape[1]
    else:
        step = 1 + sum(prod(shape[:i]) for i in range(1, len(shape)))
    diagonal = slice(0, end, step)
    count = len(range(np.size(a))[diagonal])
    if not np.size(val):
        return a
    return reshape(set_at(ravel(a), _repeated(val, np.arange(count)), diagonal), shape)


def filled(a: Any, value: Any) -> Any:
    """Return ``a`` after ``a.fill(value)``.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    value : scalar or Var
        No axes.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape and dtype of ``a``.

    Raises
    ------
    ShapeError
        If the value has axes.
    DTypeError
        If the value is complex and the array is not.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.ops.updates.overwriting import filled
    >>> filled(np.zeros(2), 3.0)
    array([3., 3.])
    """
    if np.ndim(value):
        raise ShapeError(f"fill: the value is {errors.describe(value)}. It must be a number")
    return set_at(a, value, ...)


IN_PLACE: dict[Callable[..., Any], Callable[..., Any]] = {
    np.copyto: copied_to,
    np.fill_diagonal: diagonal_filled,
    np.place: placed,
    np.put: putted,
    np.put_along_axis: put_along_axis,
    np.putmask: put_masked,
}
"""NumPy's function that writes into its first argument -> the one that returns the new value."""
