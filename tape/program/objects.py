"""Reads arrays and numbers where Python keeps them, without Python: how arguments get into a frame.

The layouts are those of CPython's and NumPy's public headers (PyTupleObject, PyFloatObject,
PyArrayObject_fields, the scalar objects). They are tried out on known objects when this is imported; if
anything is not as expected, `IS_KNOWN` is false and arguments are bound by slower ways.
"""

from __future__ import annotations

import ctypes
import math
import sys
import sysconfig
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "ARRAY_DATA",
    "ARRAY_DIMS",
    "ARRAY_DTYPE",
    "ARRAY_FLAGS",
    "ARRAY_NDIM",
    "IS_KNOWN",
    "OWN_ARRAY",
    "REFERENCES",
    "SCALAR",
    "TUPLE",
    "TUPLE_SIZE",
    "TYPE",
    "Leaf",
]

REFERENCES, TYPE = 0, 8  # byte offsets in a 64-bit build
TUPLE_SIZE, TUPLE = 16, 24
SCALAR = 16
ARRAY_DATA, ARRAY_NDIM, ARRAY_DIMS, ARRAY_DTYPE, ARRAY_FLAGS = 16, 24, 32, 56, 64
_CONTIGUOUS_ALIGNED, _WRITEABLE = 0x101, 0x400
OWN_ARRAY = _CONTIGUOUS_ALIGNED | _WRITEABLE | 4  # flags of an array as NumPy makes it


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a dynamic leaf must be: an array, a NumPy scalar or a Python float.

    Attributes
    ----------
    kind : type
        `numpy.ndarray`, a scalar type of NumPy's, or float.
    shape : tuple of int
    dtype : numpy.dtype
    """

    kind: type
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def like(cls, value: Any) -> Leaf:
        """What this value is."""
        if isinstance(value, np.ndarray) or np.result_type(value).itemsize > 8:
            return cls(np.ndarray, np.shape(value), np.dtype(np.result_type(value).str))
        kind = type(value) if isinstance(value, np.generic) else float
        return cls(kind, (), np.dtype(kind))

    @property
    def is_array(self) -> bool:
        """Whether it is an array."""
        return self.kind is np.ndarray

    def spec(self, slot: int, lengths_at: int, is_donated: bool) -> list[int]:
        """The same for the machine: see `tape.program.opcodes.LEAF`."""
        flags = _CONTIGUOUS_ALIGNED | (_WRITEABLE if is_donated else 0)
        numbers = [slot, int(self.is_array), id(self.kind), id(self.dtype), flags]
        return [*numbers, len(self.shape), lengths_at, math.prod(self.shape) * self.dtype.itemsize]

    def made_of(self, value: Any) -> Any:
        """A value as the machine can read it."""
        if self.is_array:
            return np.require(np.asarray(value, self.dtype), requirements=["C", "A"])
        return value if type(value) is self.kind else self.kind(value)


def _int64(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def _is_known() -> bool:
    if (
        sys.implementation.name != "cpython"
        or sys.maxsize < 2**62
        or sysconfig.get_config_var("Py_GIL_DISABLED")
        or sys.byteorder != "little"
    ):
        return False
    wide: Any = np.zeros((5, 7, 3), np.float32)[:, ::2]
    for array in (np.arange(6.0).reshape(2, 3), np.ones((), np.int64), wide, np.zeros((2, 0), bool)):
        base = id(array)
        found = (
            _int64(base + TYPE) == id(type(array)),
            _int64(base + ARRAY_DATA) == array.ctypes.data,
            ctypes.c_int32.from_address(base + ARRAY_NDIM).value == array.ndim,
            all(_int64(_int64(base + ARRAY_DIMS) + 8 * k) == length for k, length in enumerate(array.shape)),
            _int64(base + ARRAY_DTYPE) == id(array.dtype),
            (
                ctypes.c_int32.from_address(base + ARRAY_FLAGS).value & _CONTIGUOUS_ALIGNED
                == _CONTIGUOUS_ALIGNED
            )
            == (array.flags.c_contiguous and array.flags.aligned),
        )
        if not all(found):
            return False
    alone = (np.zeros(3),)
    if _int64(_int64(id(alone) + TUPLE) + REFERENCES) != 1 or alone[0].flags.num & OWN_ARRAY != OWN_ARRAY:
        return False
    pair = (1.5, np.float32(2.5), np.float64(3.5), np.int64(-4), np.bool_(True))
    address = id(pair)
    items = [_int64(address + TUPLE + 8 * k) for k in range(len(pair))]
    return (
        _int64(address + TUPLE_SIZE) == len(pair)
        and items == [id(item) for item in pair]
        and ctypes.c_double.from_address(items[0] + SCALAR).value == 1.5
        and ctypes.c_float.from_address(items[1] + SCALAR).value == 2.5
        and ctypes.c_double.from_address(items[2] + SCALAR).value == 3.5
        and _int64(items[3] + SCALAR) == -4
        and ctypes.c_uint8.from_address(items[4] + SCALAR).value == 1
    )


IS_KNOWN = _is_known()
