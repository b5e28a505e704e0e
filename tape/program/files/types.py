"""Dtypes, shapes and numbers in files of programs: their names, and checks of what was read."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors
from tape.program.files.structures import is_short, list_of, require

_DTYPES = {
    np.dtype(name).newbyteorder("<").str: np.dtype(name)
    for name in ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
}
"""Dtypes by their names in files."""


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the name of a dtype in files.

    Raises
    ------
    UnsupportedError
        If files cannot hold it.
    """
    name = dtype.newbyteorder("<").str
    if name not in _DTYPES:
        raise errors.UnsupportedError(
            f"numbers of {dtype} are not the same everywhere, and cannot be saved. Use float64 instead"
        )
    return name


def dtype_of(name: Any) -> np.dtype[Any]:
    """Return the dtype of a name that was read."""
    require(isinstance(name, str) and name in _DTYPES, f"no dtype {errors.describe(name)}")
    return _DTYPES[name]


def is_index(number: Any, count: int) -> bool:
    """Return whether something that was read is an int that is less than ``count``, and not negative."""
    return type(number) is int and 0 <= number < count


def shape_of(lengths: Any) -> tuple[int, ...]:
    """Return a shape that was read."""
    require(all(is_index(length, 1 << 40) for length in list_of(lengths)), "a shape is not a list of lengths")
    return tuple(lengths)


def number_entry(number: Any) -> list[Any]:
    """Describe a number of Python's or NumPy's.

    Raises
    ------
    UnsupportedError
        If it is something else.
    """
    if isinstance(number, np.generic) and number.dtype.kind in "biufc":
        name = dtype_name(number.dtype)
        return [name, np.asarray(number, name).tobytes().hex()]
    if type(number) in (bool, int, float) and is_short(number):
        return ["python", number]
    raise errors.UnsupportedError(f"{errors.describe(number)} is no number that files can hold")


def number_of(entry: Any) -> Any:
    """Return the number of a description that was read."""
    kind, value = list_of(entry, 2)
    if kind == "python":
        require(type(value) in (bool, int, float), "a number is malformed")
        return value
    dtype = dtype_of(kind)
    require(type(value) is str and len(value) == 2 * dtype.itemsize, "a number is malformed")
    return np.frombuffer(bytes.fromhex(value), kind).astype(dtype)[0]
