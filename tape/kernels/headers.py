"""How CPython and NumPy lay out the objects that compiled code reads, as in their public headers.

The sizes of heads come from ``__basicsize__``, as tuples have grown in Python 3.14; the rest is tried out on
known objects. No pointer is followed for that: the system is asked for what is at an address, and says so if
there is no memory, where reading it would end the process.
"""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
from typing import Any

import numpy as np

REFERENCES, TYPE = 0, 8  # byte offsets in a 64-bit build
TUPLE_SIZE = SCALAR = object.__basicsize__  # what follows the head of PyVarObject, PyFloatObject, np.generic
TUPLE = tuple.__basicsize__  # from 3.14 on there is a hash before the items
ARRAY_DATA, ARRAY_NDIM, ARRAY_DIMS, ARRAY_DTYPE, ARRAY_FLAGS = 16, 24, 32, 56, 64
CONTIGUOUS_ALIGNED, WRITEABLE = 0x101, 0x400
OWN_ARRAY = CONTIGUOUS_ALIGNED | WRITEABLE | 4  # flags of an array as NumPy makes it


def is_plain(array: np.ndarray) -> bool:
    """Return whether the elements of an array lie side by side, each where the processor can load it."""
    return array.flags.num & CONTIGUOUS_ALIGNED == CONTIGUOUS_ALIGNED


def why_unknown() -> str | None:
    """Return what is not as compiled code takes it to be; None if all is."""
    if sys.implementation.name != "cpython":
        return f"this Python is {sys.implementation.name}, not CPython"
    if sys.maxsize < 2**62 or sys.byteorder != "little":
        return "this is not a 64-bit little-endian build of Python"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this build of Python has no global lock"
    if not _are_tuples_known():
        return "tuples are not laid out as in CPython's headers"
    if not _are_numbers_known():
        return "numbers are not laid out as in CPython's and NumPy's headers"
    if not _are_arrays_known():
        return "arrays are not laid out as in NumPy's headers"
    return None


def memory_at(address: int, size: int) -> bytes | None:
    """Return the bytes at an address; None if not all of them can be read.

    Parameters
    ----------
    address : int
        Any number.
    size : int
        At most 4096.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.headers import memory_at
    >>> memory_at(np.array([1, 2], np.int8).ctypes.data, 2), memory_at(8, 2)
    (b'\\x01\\x02', None)
    """
    try:
        source, sink = os.pipe()
    except OSError:
        return None
    try:
        written = os.write(sink, (ctypes.c_char * size).from_address(address & (1 << 64) - 1))
        return os.read(source, written) if written == size else None
    except OSError:  # EFAULT
        return None
    finally:
        os.close(source)
        os.close(sink)


def _are_tuples_known() -> bool:
    items = (np.zeros(3), 1.5, "text", None)
    address, lone = id(items), _number(id(items[0]) + REFERENCES)  # only the tuple refers to it
    held = items[0]
    return (
        _number(address + TYPE) == id(tuple)
        and _number(address + TUPLE_SIZE) == len(items)
        and [_number(address + TUPLE + 8 * k) for k in range(len(items))] == [id(item) for item in items]
        and (lone, _number(id(held) + REFERENCES)) == (1, 2)
    )


def _are_numbers_known() -> bool:
    numbers: tuple[Any, ...] = (
        1.5, np.float32(2.5), np.float64(3.5), np.int32(-3), np.int64(-4), np.bool_(True),
    )  # fmt: skip
    for number in numbers:
        content = np.asarray(number).tobytes()
        if (
            SCALAR + len(content) > type(number).__basicsize__
            or _number(id(number) + TYPE) != id(type(number))
            or memory_at(id(number) + SCALAR, len(content)) != content
        ):
            return False
    return True


def _are_arrays_known() -> bool:
    wide: Any = np.zeros((5, 7, 3), np.float32)[:, ::2]
    for array in (np.arange(6.0).reshape(2, 3), np.ones((), np.int64), wide, np.zeros((2, 0), bool)):
        address, ndim = id(array), array.ndim
        found = (
            _number(address + TYPE),
            _number(address + ARRAY_DATA),
            _number(address + ARRAY_DTYPE),
            _number(address + ARRAY_NDIM, np.int32),
            _number(address + ARRAY_FLAGS, np.int32),
        )
        if found != (id(np.ndarray), array.ctypes.data, id(array.dtype), ndim, array.flags.num):
            return False
        lengths = _number(address + ARRAY_DIMS) if ndim else 0
        if lengths is None or tuple([_number(lengths + 8 * k) for k in range(ndim)]) != array.shape:
            return False
    return np.ndarray.__basicsize__ >= ARRAY_FLAGS + 4 and np.zeros(3).flags.num & OWN_ARRAY == OWN_ARRAY


def _number(address: int, dtype: Any = np.int64) -> int | None:
    """The integer at an address; None if there is no memory."""
    found = memory_at(address, np.dtype(dtype).itemsize)
    return None if found is None else int(np.frombuffer(found, dtype)[0])
