"""`IndexSets`: sets of inputs, each with a number, that elements of arrays stand for.

An array of set numbers has an integer for each element of a value: 0 is the empty set, 1 to n are those of
one input, and further ones are unions, whose members stand in one compressed table. Operations that move
elements move the numbers. This file knows nothing of tapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tape import errors

_MOST = 2**27
"""How many members all sets may have together: they take 4 bytes each."""

_FEW = 16


class _Growing:
    """An array that others are appended to, with room to spare."""

    def __init__(self, values: np.ndarray) -> None:
        self._room = self.values = values

    def append(self, values: np.ndarray) -> None:
        size, total = len(self.values), len(self.values) + len(values)
        if total > len(self._room):
            self._room = np.empty(2 * total, self._room.dtype)
            self._room[:size] = self.values
        self._room[size:total] = values
        self.values = self._room[:total]


class IndexSets:
    """A table of sets of the numbers from 0 to ``size - 1``.

    Parameters
    ----------
    size : int
        The number of inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.sparse.sets import IndexSets
    >>> sets = IndexSets(3)
    >>> both = sets.union(np.array([1, 2]), np.array([2, 0]))
    >>> sets.matrix(both).toarray().astype(int)
    array([[1, 1, 0],
           [0, 1, 0]])
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._members = _Growing(np.arange(size, dtype=np.int32))
        self._starts = _Growing(np.concatenate([[0], np.arange(size + 1)]))

    def singletons(self, start: int, shape: tuple[int, ...]) -> np.ndarray:
        """Return the set of each input itself, for the inputs from ``start`` on, as an array."""
        return np.arange(start + 1, start + 1 + prod(shape)).reshape(shape)

    def union(self, *arrays: Any) -> np.ndarray:
        """Return the unions of sets, element by element, with broadcasting."""
        return reduce(self._both, arrays)

    def over(self, array: Any, axis: int | Sequence[int] | None, keepdims: bool) -> np.ndarray:
        """Return the unions of sets along axes, or along all of them."""
        array = np.asarray(array)
        axes = range(array.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
        gone = [i % array.ndim for i in axes]
        kept = [i for i in range(array.ndim) if i not in gone]
        shape = [array.shape[i] for i in kept]
        rows = np.transpose(array, [*kept, *gone]).reshape(prod(shape), prod(array.shape[i] for i in gone))
        found = self._of_rows(rows).reshape(shape)
        return np.expand_dims(found, tuple(gone)) if keepdims else found

    def grouped(self, targets: Any, array: Any, count: int) -> np.ndarray:
        """Return, for each number below ``count``, the union of the sets whose target it is."""
        flat, sets = np.ravel(targets), np.ravel(array)
        flat, sets = flat[sets > 0], sets[sets > 0]
        found = np.zeros(count, np.int64)
        found[flat] = sets
        is_shared = found[flat] != sets
        if not np.any(is_shared):
            return found
        several = np.unique(flat[is_shared])
        row = np.full(count, -1)
        row[several] = np.arange(several.size)
        inside = row[flat] >= 0
        found[several] = self._made(row[flat[inside]], sets[inside], several.size)
        return found

    def matrix(self, array: Any) -> csr_array:
        """Return which inputs the elements of an array depend on: a row of bools for each."""
        numbers = np.ravel(array)
        starts = self._starts.values
        first, lengths = starts[numbers], starts[numbers + 1] - starts[numbers]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        self.check_room(ends[-1])
        places = np.repeat(first - ends[:-1], lengths) + np.arange(ends[-1])
        members = self._members.values[places]
        return csr_array((np.ones(len(members), bool), members, ends), (len(numbers), self.size))

    def sizes(self, array: Any) -> np.ndarray:
        """Return how many inputs each element of an array depends on."""
        starts, numbers = self._starts.values, np.asarray(array)
        return starts[numbers + 1] - starts[numbers]

    # ---- unions ----------------------------------------------------------------------------------

    def _both(self, a: Any, b: Any) -> np.ndarray:
        a, b = np.broadcast_arrays(a, b)
        found = np.where(a == 0, b, a)
        differ = (a != b) & (a != 0) & (b != 0)
        if np.any(differ):
            count = len(self._starts.values)
            pairs, inverse = np.unique(a[differ] * count + b[differ], return_inverse=True)
            members = np.stack(np.divmod(pairs, count), -1)
            rows = np.repeat(np.arange(len(pairs)), 2)
            found[differ] = self._made(rows, members.ravel(), len(pairs))[inverse]
        return found

    def _of_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return the union of each row of a matrix."""
        if not rows.size:
            return np.zeros(len(rows), np.int64)
        found = rows.max(-1)
        differ = np.any((rows != found[:, None]) & (rows != 0), -1)
        if np.any(differ):
            several = rows[differ]
            number, column = np.nonzero(several)
            found[differ] = self._made(number, several[number, column], len(several))
        return found

    def _made(self, rows: np.ndarray, sets: np.ndarray, count: int) -> np.ndarray:
        """Add the unions of sets, each named by the number of its row, to the table; return their numbers."""
        starts = self._starts.values
        self.check_room(starts[-1] + (starts[sets + 1] - starts[sets]).sum())
        if count == 1 and len(sets) <= _FEW:  # of numbers one by one, where building matrices would dominate
            parts = [self._members.values[starts[k] : starts[k + 1]] for k in sets.tolist()]
            members = np.unique(np.concatenate(parts))
            self._members.append(members)
            self._starts.append(starts[-1:] + len(members))
            return np.array([len(starts) - 1])
        used, column = np.unique(sets, return_inverse=True)
        chosen = csr_array((np.ones(len(sets), bool), (rows, column)), (count, len(used)))
        made = chosen @ self.matrix(used)
        self._members.append(made.indices)
        self._starts.append(made.indptr[1:] + starts[-1])
        return np.arange(count) + (len(starts) - 1)

    def check_room(self, needed: Any) -> None:
        """Raise if sets would have too many members."""
        if needed > _MOST:
            raise errors.UnsupportedError(
                f"elements and the inputs they depend on make {needed:.1e} pairs: the derivative of this "
                "function, or of a part of it, is not sparse. Use tape.jacobian, tape.hessian or products "
                "(tape.jvp, tape.vjp, tape.hvp)"
            )
