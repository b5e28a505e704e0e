"""Adding contributions to an adjoint that is ours, in place.

A contribution to an array of which only some elements were read is a `Scattered`: the elements and
their index. Reading an array piece by piece in a loop would otherwise take an array of zeros for
each piece, time quadratic in their number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.errors import OutOfBoundsError
from tape.kernels._jit import AVOIDED, KERNEL_DTYPES, kernel

__all__ = ["Scattered", "accumulate"]


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
        arrays = [part for part in index if isinstance(part, np.ndarray)]
        if all(array.dtype.kind == "b" for array in arrays):  # no element is named twice
            total[index] += values
        elif (
            len(index) == 1
            and arrays[0].ndim == 1
            and arrays[0].dtype == np.int64
            and 1 <= total.ndim <= 2
            and total.dtype == values.dtype
            and total.dtype in KERNEL_DTYPES
            and not AVOIDED
        ):
            add = (_add_elements, _add_rows)[total.ndim - 1]
            if not add(total, arrays[0], np.ascontiguousarray(values)):
                raise OutOfBoundsError(
                    f"an index runs from {arrays[0].min()} to {arrays[0].max()} and no longer fits "
                    f"{len(total)} elements: it was changed in place after it had been used"
                )
        else:
            np.add.at(total, index, values)


@kernel
def _fits(index, length):  # type: ignore[no-untyped-def]
    return index.size == 0 or (index.min() >= -length and index.max() < length)


@kernel
def _add_elements(total, index, values):  # type: ignore[no-untyped-def]
    if not _fits(index, total.size):
        return False
    for k in range(index.size):
        i = index[k]
        total[i if i >= 0 else i + total.size] += values[k]
    return True


@kernel
def _add_rows(total, index, values):  # type: ignore[no-untyped-def]
    if not _fits(index, total.shape[0]):
        return False
    for k in range(index.size):
        i = index[k]
        row = total[i if i >= 0 else i + total.shape[0]]
        for j in range(row.size):
            row[j] += values[k, j]
    return True


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
