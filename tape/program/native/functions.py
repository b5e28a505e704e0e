"""The table of C functions that the machine calls: inner loops of ufuncs, BLAS and LAPACK, kernels.

Rows refer to them by number; the addresses are a table of the process. A ufunc's loops are read from the
`PyUFuncObject`, whose layout is in NumPy's public C header: its name and types are checked before an address
is trusted.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np

from tape.kernels.availability import Unavailable
from tape.kernels.headers import memory_at
from tape.kernels.kernel import Kernel
from tape.kernels.loading import Native, native
from tape.kernels.registry import GROUPS, REGISTRY
from tape.program.native.gufuncs import GUFUNCS
from tape.program.native.opcodes import KERNELS
from tape.program.native.routines import routine
from tape.program.native.threads import immortal, seats
from tape.program.native.ufuncs import UFUNCS
from tape.system.blas import blas_function, lapack_function, openblas_function
from tape.system.locks import lock_across_forks

_CAPACITY = 2048
_LAPACK = ("gesv", "potrf", "getrf")

FUNCTION_TABLE = immortal(np.zeros(_CAPACITY, np.int64))
"""Addresses, by number."""
DATA_TABLE = immortal(np.zeros(_CAPACITY, np.int64))
"""The last argument of each, by number."""


class _UFunc(ctypes.Structure):
    """The beginning of PyUFuncObject in numpy/ufuncobject.h."""

    _fields_ = (
        ("references", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_void_p),
    )


_lock = lock_across_forks()
_numbers: dict[tuple[str, str], int] = {}
_itemsizes: list[tuple[int, ...]] = [()] * len(KERNELS)
_alignments: list[tuple[int, ...]] = [()] * len(KERNELS)
_gufuncs: dict[int, tuple[str, str]] = {}
_matmuls: dict[int, tuple[str, str]] = {}

FOLDING = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}
"""The ufunc of a reduction."""


def prepare() -> Native:
    """Load the machine, and enter the functions that every program needs into the table."""
    code = native()
    _enter_all(code)
    return code


@lru_cache(maxsize=1)
def _enter_all(code: Native) -> None:
    """Enter the functions that every program needs: the machine's, Python's and the C library's; once."""
    for number, name in enumerate(KERNELS):
        if name in code.addresses:
            FUNCTION_TABLE[number] = code.addresses[name]
        elif name in REGISTRY:  # filled in once a program needs it
            continue
        elif name == "memmove":
            FUNCTION_TABLE[number] = ctypes.cast(ctypes.memmove, ctypes.c_void_p).value or 0
        elif name == "seats":
            FUNCTION_TABLE[number] = seats()
        elif name.startswith("openblas_"):
            FUNCTION_TABLE[number] = openblas_function(name.removeprefix("openblas_"))
        elif name in ("Py_True", "Py_False"):
            FUNCTION_TABLE[number] = id(name == "Py_True")
        else:
            FUNCTION_TABLE[number] = _c_function(name)


def _c_function(name: str) -> int:
    """Return the address of a function of Python, or of the C library; 0 if there is none."""
    library = ctypes.pythonapi if name.startswith("Py") else ctypes.CDLL(None)
    found = getattr(library, name, None)
    return (ctypes.cast(found, ctypes.c_void_p).value if found else 0) or 0


def loop_number(name: str, dtypes: tuple[np.dtype[Any], ...]) -> int | None:
    """Return the number of a ufunc's inner loop for these dtypes of operands and result, or None.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.native.functions import itemsizes, loop_number
    >>> double = np.dtype(float)
    >>> itemsizes(loop_number("less", (double, double, np.dtype(bool))))
    (8, 8, 1)
    """
    chars = "".join([dtype.char for dtype in dtypes])
    key = (name, chars)
    number = _numbers.get(key)
    if number is None:
        signature = f"{chars[:-1]}->{chars[-1]}"
        try:
            found = _inner_loop(UFUNCS[name], signature)
        except Unavailable:  # one of our own
            return None
        number = _enter(key, found, dtypes)
    return None if number < 0 else number


def blas_number(name: str) -> int:
    """Return the number of a function of BLAS or LAPACK."""
    key = ("blas", name)
    number = _numbers.get(key)
    if number is None:
        address = (lapack_function if name[1:] in _LAPACK else blas_function)(name)
        number = _enter(key, (address, 0), (np.dtype("f8" if name[0] == "d" else "f4"),))
    return number


def fold_number(kind: str, dtype: np.dtype[Any]) -> int | None:
    """Return the number of the loop that reduces elements of a dtype to one of the same, or None."""
    return loop_number(FOLDING[kind], (dtype, dtype, dtype))


def matmul_number(dtype: np.dtype[Any]) -> int | None:
    """Return the number of NumPy's loop for products of matrices of this dtype, or None."""
    char = dtype.char
    key = ("matmul", char)
    number = _numbers.get(key)
    if number is None:
        found = _inner_loop(np.matmul, f"{char}{char}->{char}")
        number = _enter(key, found, (dtype,), _matmuls)
    return None if number < 0 else number


def matmul_numbers() -> list[int]:
    """Return the numbers of all loops for products of matrices that have been asked for."""
    return list(_matmuls)


def gufunc_number(name: str, types: str) -> int | None:
    """Return the number of a loop of `tape.program.native.gufuncs`, or None."""
    key = (name, types)
    number = _numbers.get(key)
    if number is None:
        ufunc = GUFUNCS[name].ufunc
        has_flags = all(map(_c_function, ("feclearexcept", "fetestexcept")))
        found = None if ufunc is None or not has_flags else _inner_loop(ufunc, types)
        number = _enter(key, found, (), _gufuncs)
    return None if number < 0 else number


def gufunc_of(number: int) -> tuple[str, str] | None:
    """Return name and types of a loop, by its number; None if it is another function."""
    return _gufuncs.get(number)


_NOT_BLAS = 1
"""The last argument of a function that a kernel calls and that is not of BLAS, which has its own threads."""


def called_number(kernel: Kernel, dtype: np.dtype[Any]) -> int | None:
    """Return the number of the function that a kernel calls for a dtype: 0 for none, None if unknown."""
    if kernel.blas:
        return blas_number(("d" if dtype.itemsize == 8 else "s") + kernel.blas)
    if not kernel.sorting:
        return 0
    key = (kernel.sorting, dtype.str)
    number = _numbers.get(key)
    if number is None:
        address = routine(kernel.sorting, dtype)
        number = _enter(key, (address, _NOT_BLAS) if address else None, (dtype,))
    return None if number < 0 else number


def kernel_number(name: str) -> int:
    """Return the number of a kernel of the registry, whose group is compiled if necessary."""
    number = KERNELS.index(name)
    if not FUNCTION_TABLE[number]:
        group = next(group for group, kernels in GROUPS.items() if name in kernels)
        for other, address in native(group).addresses.items():
            FUNCTION_TABLE[KERNELS.index(other)] = address
    return number


def kernels_loaded() -> dict[int, str]:
    """Return the kernels of the registry that are loaded, by number."""
    return {
        number: name for number, name in enumerate(KERNELS) if name in REGISTRY and FUNCTION_TABLE[number]
    }


def itemsizes(number: int) -> tuple[int, ...]:
    """Return the itemsize of each argument of a function."""
    return _itemsizes[number]


def alignments(number: int) -> tuple[int, ...]:
    """Return how each argument of a function must be aligned, in bytes."""
    return _alignments[number]


def _enter(
    key: tuple[str, str],
    found: tuple[int, int] | None,
    dtypes: tuple[np.dtype[Any], ...],
    among: dict[int, tuple[str, str]] | None = None,
) -> int:
    """Enter a function, address and data, into the table; return its number, -1 if there is none.

    Threads that look for a function at the same time all get the number that the first one has entered:
    programs are checked by number.
    """
    with _lock:
        number = _numbers.get(key)
        if number is not None:
            return number
        number = -1
        if found is not None:
            number = len(_itemsizes)
            FUNCTION_TABLE[number], DATA_TABLE[number] = found
            _itemsizes.append(tuple([dtype.itemsize for dtype in dtypes]))
            _alignments.append(tuple([dtype.alignment for dtype in dtypes]))
            if among is not None:
                among[number] = key
        _numbers[key] = number  # at last: others look here without the lock
        return number


def _inner_loop(ufunc: np.ufunc, signature: str) -> tuple[int, int] | None:
    """Return address and data of a loop ``void(char **args, intp *count, intp *strides, void *data)``."""
    if signature not in ufunc.types:
        return None
    head = memory_at(id(ufunc), ctypes.sizeof(_UFunc))
    if head is None:
        return None
    fields = _UFunc.from_buffer_copy(head)
    if (fields.nin, fields.nout, fields.nargs, fields.ntypes) != (
        ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes,
    ):  # fmt: skip
        return None
    name = ufunc.__name__.encode() + b"\0"
    k = ufunc.types.index(signature)
    address = _pointer_in(fields.functions, k)
    if memory_at(fields.name or 0, len(name)) != name or not address:
        return None
    data = _pointer_in(fields.data, k) if fields.data else 0
    return None if data is None else (address, data)


def _pointer_in(table: int | None, k: int) -> int | None:
    """Return an element of an array of pointers; None if there is no such memory."""
    size = ctypes.sizeof(ctypes.c_void_p)
    found = memory_at((table or 0) + k * size, size)
    return None if found is None else int.from_bytes(found, "little")
