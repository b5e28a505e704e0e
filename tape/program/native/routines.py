"""The addresses of NumPy's sorting routines, which kernels of `tape.kernels.sorting` call.

They are in a table of functions that each dtype has, `PyArray_ArrFuncs`; NumPy's public C interface returns
it, and its header lays it out. An address is trusted once the routine has sorted as `numpy.sort` does.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from tape.kernels.headers import memory_at

_GET_TABLE = 365  # where `_PyDataType_GetArrFuncs` is in the interface: see numpy/__multiarray_api.h
_GET_VERSION = 0  # `PyArray_GetNDArrayCVersion`, which extension modules check
_VERSION = 0x02000000  # NPY_ABI_VERSION of NumPy 2: the layout below changes with it only
ROUTINES = {"sort": 33, "argsort": 36, "stable argsort": 38}
"""Where each is in the table: behind 21 casts and 12 other functions; there are three of each, by kind."""


@cache
def routine(name: str, dtype: np.dtype[Any]) -> int:
    """Return the address of a routine for a dtype; 0 if it is not what the headers say.

    Parameters
    ----------
    name : str
        One of `ROUTINES`.
    dtype : numpy.dtype
        Of numbers or bools.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.native.routines import routine
    >>> routine("sort", np.dtype(float)) > 0
    True
    """
    table = _table_of(dtype)
    address = _code_at(table + 8 * ROUTINES[name]) if table else 0
    return address if address and _sorts(address, name, dtype) else 0


def _table_of(dtype: np.dtype[Any]) -> int:
    capsule = getattr(import_module("numpy._core._multiarray_umath"), "_ARRAY_API", None)
    if capsule is None:
        return 0
    find = ctypes.pythonapi.PyCapsule_GetPointer
    find.restype = ctypes.c_void_p
    find.argtypes = (ctypes.py_object, ctypes.c_char_p)
    interface = find(capsule, None)
    version, table = (_code_at(interface + 8 * index) for index in (_GET_VERSION, _GET_TABLE))
    if not version or not table or ctypes.PYFUNCTYPE(ctypes.c_uint)(version)() != _VERSION:
        return 0
    return ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(table)(dtype) or 0


def _code_at(place: int) -> int:
    """Return the address of a function that is written somewhere; 0 if it is none of NumPy's core."""
    found = memory_at(place, 8)
    address = 0 if found is None else int.from_bytes(found, "little")
    return address if _is_code(address) else 0


class _About(ctypes.Structure):
    """Dl_info in dlfcn.h."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def _is_code(address: int) -> bool:
    """Return whether an address lies in the library that NumPy's core is."""
    try:
        find = ctypes.CDLL(None).dladdr
    except (AttributeError, OSError):
        return False
    find.argtypes = (ctypes.c_void_p, ctypes.POINTER(_About))
    about = _About()
    if not address or not find(address, ctypes.byref(about)):
        return False
    return b"_multiarray_umath" in (about.file or b"")


def _sorts(address: int, name: str, dtype: np.dtype[Any]) -> bool:
    """Return whether a routine does what NumPy does, to vectors of several lengths with many ties."""
    kind: Any = "stable" if name.startswith("stable") else None
    for size in (1, 2, 5, 17, 100, 1000):
        x = (np.sin(np.arange(size) ** 2.0) * (7 if size < 20 else 60)).astype(int).astype(dtype)
        if dtype.kind == "f":
            x[::7], x[1::9] = np.nan, -0.0
        if name.endswith("argsort"):
            found, expected = np.arange(size), np.argsort(x, kind=kind)
            arguments: tuple[Any, ...] = (x.ctypes.data, found.ctypes.data, size, 0)
        else:
            found, expected = x.copy(), np.sort(x, kind=kind)
            arguments = (found.ctypes.data, size, 0)
        function = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_int64] * len(arguments))(address)
        if function(*arguments) or found.tobytes() != expected.tobytes():
            return False
    return True
