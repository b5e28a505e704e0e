"""Rows of data: trees of arrays by their first axis, and rows of a data set put together to arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import errors
from tape import tree as trees
from tape.conversion.foreign import complaint
from tape.core.node import Handle


class Columns:
    """A tree of arrays with one row for each example.

    Parameters
    ----------
    data : tree of numpy.ndarray
        All of the same first axis.

    Raises
    ------
    ShapeError
        If lengths differ, or an array has no axis.
    DTypeError
        If a leaf is no plain array of numbers or strings.
    """

    def __init__(self, data: Any, what: str) -> None:
        leaves, self._structure = trees.flatten(data)
        if not leaves:
            raise errors.ShapeError(f"{what}: the tree of data is empty. Pass at least one array")
        names = trees.names(self._structure, "data")
        self._arrays = [checked_array(leaf, name, what) for leaf, name in zip(leaves, names, strict=True)]
        for array, name in zip(self._arrays, names, strict=True):
            if not array.ndim:
                raise errors.ShapeError(f"{what}: {name} is one number. Rows are along the first axis")
            if len(array) != len(self._arrays[0]):
                short, long = sorted((len(array), len(self._arrays[0])))
                raise errors.ShapeError(
                    f"{what}: {name} has {len(array)} rows, and {names[0]} {len(self._arrays[0])}: row "
                    f"{short} to "
                    f"{long - 1} have no partner. Cut the arrays to one length"
                )

    def __len__(self) -> int:
        return len(self._arrays[0])

    def batch(self, rows: slice | np.ndarray) -> Any:
        """Return new contiguous arrays of some rows, as a tree."""
        return trees.unflatten(self._structure, [np.array(array[rows], order="C") for array in self._arrays])


class Rows:
    """A data set of ``len(data)`` rows ``data[i]``, each a tree of arrays and numbers, or for ``collate``."""

    def __init__(self, data: Any, collate: Callable[[list[Any]], Any] | None) -> None:
        self._data, self._collate = data, collate

    def __len__(self) -> int:
        return len(self._data)

    def batch(self, rows: slice | np.ndarray) -> Any:
        """Return some rows, put together."""
        numbers = range(len(self))[rows] if isinstance(rows, slice) else rows.tolist()
        found = [self._row(i) for i in numbers]
        return stack(found, numbers) if self._collate is None else self._collate(found)

    def _row(self, i: int) -> Any:
        try:
            return self._data[i]
        except Exception as error:
            error.add_note(f"raised for row {i} of the data set {type(self._data).__name__}")
            raise


def rows_or_columns(data: Any, collate: Callable[[list[Any]], Any] | None, what: str) -> Columns | Rows:
    """Return data as rows: arrays, dicts, tuples and dataclasses are columns, other things data sets.

    Raises
    ------
    DTypeError
        If it is neither.
    """
    if isinstance(data, (np.ndarray, dict, tuple)):
        return Columns(data, what)
    if hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, Handle)):
        return Rows(data, collate)
    if hasattr(data, "__dataclass_fields__") and not isinstance(data, type):
        return Columns(data, what)
    raise errors.DTypeError(
        f"{what}: data is {type(data).__name__} {errors.describe(data)}. Pass an array, a dict, tuple or "
        "dataclass of "
        "arrays, a list of rows, or an object with __len__ and __getitem__"
    )


def checked_array(leaf: Any, name: str, what: str) -> np.ndarray:
    """Return a leaf as a plain ndarray that shares its memory; memory maps stay on the disk.

    Raises
    ------
    DTypeError
        If it is none, or holds Python objects.
    ConversionError
        If it is a Var.
    """
    if isinstance(leaf, Handle):
        raise errors.ConversionError(f"{what}: {name} is {leaf!r}. Data are arrays: pass its .value")
    if not isinstance(leaf, np.ndarray):
        raise errors.DTypeError(f"{what}: {name} is {errors.describe(leaf)}. Pass np.asarray(...) of it")
    if (reason := complaint(leaf)) is not None:
        raise errors.DTypeError(f"{what}: {name} is {reason}")
    if leaf.dtype.hasobject:
        raise errors.DTypeError(
            f"{what}: {name} holds Python objects, as arrays of rows of different lengths do. Pad the rows "
            "to one "
            "length, or pass a list of rows and collate= a function that does"
        )
    return np.asarray(leaf)


def stack(rows: Sequence[Any], numbers: Sequence[int]) -> Any:
    """Return rows put together: the tree of a row, with a new first axis on every leaf.

    Parameters
    ----------
    rows : sequence of trees
        At least one.
    numbers : sequence of int
        Their numbers in the data set, for messages.

    Raises
    ------
    ShapeError
        If a row has another structure or shape than the first one.
    DTypeError
        If a row has another dtype, or holds something else than numbers and strings.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.train._columns import stack
    >>> stack([(np.zeros(2), 1), (np.ones(2), 5)], [0, 1])
    (array([[0., 0.],
           [1., 1.]]), array([1, 5]))
    """
    first, structure = trees.flatten(rows[0])
    names = trees.names(structure, "")
    expected = [_row_array(leaf, name, numbers[0]) for leaf, name in zip(first, names, strict=True)]
    columns: list[list[np.ndarray]] = [[array] for array in expected]
    for row, number in zip(rows[1:], numbers[1:], strict=True):
        leaves, found = trees.flatten(row)
        if found != structure:
            raise errors.ShapeError(
                f"row {number} is {trees.describe(found)}, and row {numbers[0]} "
                f"{trees.describe(structure)}. Give all "
                "rows one structure"
            )
        for leaf, name, column in zip(leaves, names, columns, strict=True):
            array, like = _row_array(leaf, name, number), column[0]
            if array.shape != like.shape:
                raise errors.ShapeError(
                    f"row {number}{name and ': '}{name} has shape {list(array.shape)}, and row {numbers[0]} "
                    f"{list(like.shape)}. Pad or cut them to one shape, or pass collate= a function that does"
                )
            if array.dtype != like.dtype and not (
                array.dtype.kind == like.dtype.kind and like.dtype.kind in "US"
            ):
                raise errors.DTypeError(
                    f"row {number}{name and ': '}{name} is {array.dtype}, and row {numbers[0]} "
                    f"{like.dtype}. Convert "
                    "all rows to one dtype"
                )
            column.append(array)
    return trees.unflatten(structure, [np.stack(column) for column in columns])


def _row_array(leaf: Any, name: str, number: int) -> np.ndarray:
    if isinstance(leaf, np.ndarray):
        return checked_array(leaf, f"row {number}{name and ': '}{name}", "DataLoader")
    if isinstance(leaf, (bool, int, float, complex, str, bytes, np.generic)):
        return np.asarray(leaf)
    raise errors.DTypeError(
        f"row {number}{name and ': '}{name} is {type(leaf).__name__} {errors.describe(leaf)}. A row is a "
        "tree of "
        "arrays, numbers and strings; pass collate= a function for others"
    )
