"""Adding contributions to an adjoint that is ours, in place.

A contribution to an array of which only some elements were read is a `Scattered`: the elements and
their index. Reading an array piece by piece in a loop would otherwise take an array of zeros for
each piece, time quadratic in their number. Elements are added by the kernel of programs, `scatter_add`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tape.errors import OutOfBoundsError
from tape.kernels.codes import KERNEL_DTYPES
from tape.kernels.eager import AVOIDED, is_avoided, machine_code
from tape.kernels.headers import is_plain

_ADD_ROWS = machine_code("add_rows")
_WHOLE = slice(None)
_FEW = 32  # elements that NumPy has added sooner than an index of several parts is understood
_CHANGED = "it was changed in place after it had been used"


class Scattered:
    """An array that is zero but for ``values`` added at ``index``.

    Parameters
    ----------
    values : numpy.ndarray or numpy.generic
        Of the shape of ``array[index]``.
    index : tuple
        Any index of NumPy's; elements named more than once add up.
    shape : tuple of int
        Of the array.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.accumulate import Scattered
    >>> Scattered(np.array([1.0, 2.0]), (np.array([0, 0]),), (3,)).dense()
    array([3., 0., 0.])
    """

    __slots__ = ("index", "shape", "values")

    def __init__(self, values: Any, index: tuple[Any, ...], shape: tuple[int, ...]) -> None:
        self.values = values
        self.index = index
        self.shape = shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the array."""
        return self.values.dtype

    def dense(self) -> np.ndarray:
        """The array itself."""
        total = np.zeros(self.shape, self.values.dtype)
        self.add_to(total)
        return total

    def add_to(self, total: np.ndarray) -> None:
        """Do ``total += self``."""
        index, values = self.index, self.values
        if not any(isinstance(part, np.ndarray) for part in index):  # no element is named twice
            total[index] += values
        elif not self._add_rows_to(total):
            try:
                np.add.at(total, index, values)
            except IndexError as error:
                raise OutOfBoundsError(f"{error}: {_CHANGED}") from error

    def _add_rows_to(self, total: np.ndarray) -> bool:
        """The same by a kernel; False if there is none for this."""
        dtype: np.dtype[Any] = total.dtype
        rows: np.ndarray = total
        values: np.ndarray = np.ascontiguousarray(self.values)
        if (AVOIDED and is_avoided()) or values.dtype != dtype or not (values.size and is_plain(total)):
            return False
        if len(self.index) > 1 and values.size < _FEW:
            return False
        if dtype.kind == "c":  # two floats each
            dtype = total.real.dtype
            values, rows = values.reshape(-1).view(dtype), total.reshape(-1).view(dtype)
        found = _positions(self.index, total.shape) if dtype in KERNEL_DTYPES else None
        if found is None:
            return False
        positions, before, length = found
        rows, values = rows.reshape(before, length, -1), values.reshape(before, positions.size, -1)
        if not _ADD_ROWS[dtype.char](rows, positions, values):
            _check(positions, length)
        return True


def _positions(index: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[np.ndarray, int, int] | None:
    """An index as positions along the middle axis of an array reshaped to (before, length, rest).

    Returns these with ``before`` and ``length``; None unless the index is one run of arrays and ints, with
    whole axes around it.
    """
    if len(index) == 1 and not _is_mask(index[0]):
        return _along_one(index, shape), 1, shape[0]
    left = len(shape) - sum(map(_axes, index))
    parts: list[Any] = []
    for part in index:
        parts += [_WHOLE] * left if part is Ellipsis else [part]
    chosen = [k for k, part in enumerate(parts) if not (isinstance(part, slice) and part == _WHOLE)]
    run = parts[chosen[0] : chosen[-1] + 1]
    if not all(isinstance(part, (int, np.ndarray)) and _axes(part) for part in run):
        return None
    first = axis = chosen[0]
    found, lengths = [], []
    for part in run:
        stop = axis + _axes(part)
        found.append(np.flatnonzero(part) if _is_mask(part) else part)
        lengths.append(prod(shape[axis:stop]))
        axis = stop
    return _along_one(found, lengths), prod(shape[:first]), prod(lengths)


def _is_mask(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.dtype == bool


def _axes(part: Any) -> int:
    """How many axes a part of an index takes up."""
    if _is_mask(part):
        return part.ndim
    return 0 if part is Ellipsis or part is None or isinstance(part, (bool, np.bool_)) else 1


def _along_one(positions: Sequence[Any], lengths: Sequence[int]) -> np.ndarray:
    """Positions along several axes, which broadcast, as flat positions along all of them."""
    if len(positions) == 1:
        return np.ascontiguousarray(positions[0], np.int64).reshape(-1)
    counted = []
    for position, length in zip(positions, lengths, strict=True):
        _check(np.asarray(position), length)
        counted.append(np.where(position < 0, position + length, position))
    return np.ascontiguousarray(np.ravel_multi_index(tuple(counted), lengths)).reshape(-1)


def _check(positions: np.ndarray, length: int) -> None:
    least, most = positions.min(), positions.max()
    if least < -length or most >= length:
        raise OutOfBoundsError(
            f"an index runs from {least} to {most} and no longer fits {length} elements: {_CHANGED}"
        )


def accumulate(total: np.ndarray, contribution: np.ndarray | Scattered) -> None:
    """Do ``total += contribution`` for arrays of one shape.

    Parameters
    ----------
    total : numpy.ndarray
        Written to.
    contribution : numpy.ndarray or Scattered
        Of the shape of ``total``, any layout.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.accumulate import Scattered, accumulate
    >>> total = np.ones(3)
    >>> accumulate(total, np.arange(3.0))
    >>> accumulate(total, Scattered(np.float64(10.0), (0,), (3,)))
    >>> total
    array([11.,  2.,  3.])
    """
    if isinstance(contribution, Scattered):
        contribution.add_to(total)
    else:
        # A kernel of our own is no faster at any size: the call costs as much, then memory decides.
        np.add(total, contribution, out=total)
