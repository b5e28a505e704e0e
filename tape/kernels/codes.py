"""Numbers by which compiled code knows dtypes and operations, and which of them it has.

Programs are made, checked and saved with these. The code itself is in `tape.kernels.compiled`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# ---- dtypes --------------------------------------------------------------------------------------------

FLOAT64, FLOAT32, INT64, BOOL, INT32 = range(5)
DTYPE_CODES = {
    np.dtype(np.float64): FLOAT64,
    np.dtype(np.float32): FLOAT32,
    np.dtype(np.int64): INT64,
    np.dtype(np.bool_): BOOL,
    np.dtype(np.int32): INT32,
}
"""What kernels call the dtypes they know."""

KERNEL_DTYPES = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
"""What kernels that Python calls are compiled for; not the other byte order."""

INT8, INT16, UINT8, UINT16, UINT32, UINT64, FLOAT16 = range(len(DTYPE_CODES), len(DTYPE_CODES) + 7)
_NARROW = (np.int8, np.int16, np.uint8, np.uint16, np.uint32, np.uint64)
CAST_CODES: dict[Any, int] = {
    **DTYPE_CODES,
    **{np.dtype(kind): INT8 + k for k, kind in enumerate((*_NARROW, np.float16))},
}
"""What `cast` calls the dtypes it knows: those of other kernels, and more."""
CAST_ITEMSIZES = np.array([dtype.itemsize for dtype in CAST_CODES])
"""By code."""

COPY_ITEMSIZES = (1, 2, 4, 8, 16)
"""Sizes of elements there are copies for, in bytes."""

NO_INTEGER = -(2**63)
"""Stands for the integer of NaN, of infinity and of numbers with more than 64 bits."""

# ---- operations, by the names of NumPy's functions ----------------------------------------------------

_FOLDS = "sum prod max min any all argmax argmin"
FOLDS = {name: code for code, name in enumerate(_FOLDS.split())}
"""Reductions: the first argument of `tape.kernels.compiled.folds.fold`."""
_FOLDED = {
    "sum": (np.float64, np.float32, np.int64, np.bool_),
    "prod": (np.float64, np.float32),
    "max": (np.float64, np.float32, np.int64, np.int32),
    "min": (np.float64, np.float32, np.int64, np.int32),
    "any": (np.bool_,),
    "all": (np.bool_,),
    "argmax": (np.float64, np.float32),
    "argmin": (np.float64, np.float32),
}
SCANS = {name: code for code, name in enumerate(("sum", "prod", "max", "linear", "logaddexp"))}
"""Cumulative functions: the first argument of `tape.kernels.compiled.scans.scan`; "linear" has factors,
``out[i] = factors[i] * out[i - 1] + x[i]``."""
_SCANNED = {
    "sum": (np.float64, np.float32, np.int64),
    "prod": (np.float64, np.float32),
    "max": (np.float64, np.float32),
    "linear": (np.float64, np.float32),
    "logaddexp": (np.float64,),
}  # each more takes half a second to compile
_ARITHMETIC = [("add", 1), ("multiply", 1), ("subtract", 1), ("subtract", 0), ("divide", 1), ("divide", 0)]
BY_ROWS = {key: code for code, key in enumerate(_ARITHMETIC)}
BY_ROWS.update({("add", 0): BY_ROWS["add", 1], ("multiply", 0): BY_ROWS["multiply", 1]})
"""Operations on an array and a number for each of its rows, by name and the position of the numbers: the
first argument of `tape.kernels.compiled.by_rows.by_rows`."""
_PAIR_FORMS = {"add": "aaa ana aan ann", "multiply": "aaa ana aan ann", "subtract": "aaa ana aan ann naa nan"}
PAIRS = {
    key: code
    for code, key in enumerate(
        (first, second, form)
        for first, forms in _PAIR_FORMS.items()
        for second in ("add", "subtract", "subtract_from", "multiply")
        for form in forms.split()
    )
}
"""Two operations at once, the second on what the first gives and a third operand, which comes first in
"subtract_from", and which operands are arrays (a) or single numbers (n): the first argument of
`tape.kernels.compiled.pairs.pair`."""
LETTERS = {np.dtype(np.float64): "f", np.dtype(np.int64): "i", np.dtype(np.bool_): "b"}
"""Dtypes of the single numbers that there is code for, as signatures write them."""
_COMPARISONS = "less less_equal greater greater_equal equal not_equal"
_OF_NUMBERS = {
    "ff->f": "add subtract multiply divide power maximum minimum where multiply_plus_zero multiply_add",
    "f->f": """
        negative exp log sin cos tanh sqrt square absolute reciprocal expm1 log1p arctan tan sign positive
        plus_zero
    """,
    "ff->b": _COMPARISONS,
    "ii->b": _COMPARISONS,
    "ii->i": "add subtract multiply maximum minimum where",
    "i->i": "negative absolute positive",
    "i->f": "cast",
    "b->f": "cast",
    "b->i": "cast",
    "bb->b": "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor where",
    "b->b": "logical_not invert positive",
    "b->": "condition",
}
_NUMBER_CODES = [(name, signature) for signature, names in _OF_NUMBERS.items() for name in names.split()]
SCALARS = {key: code for code, key in enumerate(_NUMBER_CODES)}
"""Operations of single numbers by name and signature: the first argument of
`tape.kernels.compiled.scalars.scalar`. "where" chooses by the "condition" before it; "multiply_add" adds to
the result that is there; "plus_zero" and "multiply_plus_zero" begin sums, in which no zero is negative."""
_FORMS = {
    "arrays first second": "add subtract multiply divide",  # either operand may be a single number
    "arrays": "negative square reciprocal sqrt absolute",
}
SHORT = {
    key: code
    for code, key in enumerate(
        (name, letter, form)
        for letter in "fs"
        for forms, names in _FORMS.items()
        for name in names.split()
        for form in forms.split()
    )
}
"""Operations on short arrays by name, dtype ("s" is float32), and which operand is a single number: the first
argument of `tape.kernels.compiled.short.short`."""
MOST_SHORT = 128
"""The most elements of a short array: with more of them NumPy's loops are as fast."""


# ---- which there are --------------------------------------------------------------------------------

_CASTS = {
    *[(source, target) for source in DTYPE_CODES for target in DTYPE_CODES],
    *[(np.dtype(kind), np.dtype(np.int64)) for kind in _NARROW],
    *[(np.dtype(np.int64), np.dtype(kind)) for kind in _NARROW],
    *[
        (np.dtype(source), np.dtype(target))
        for source, target in (
            ("u8", "f8"), ("u8", "f4"), ("f8", "u8"), ("f2", "f4"), ("f4", "f2"), ("f8", "f2"),
        )
    ],
}  # fmt: skip


def has_fold(kind: str, dtype: Any) -> bool:
    """Whether `fold` does this reduction of this dtype.

    Parameters
    ----------
    kind : str
        A NumPy function: "sum", "max", "argmax", ...
    dtype : dtype_like
        Of the elements. "sum", "prod", "max" and "min" keep it, "any" and "all" are of bool, "argmax"
        and "argmin" make int64, and so does a "sum" of bools.

    Examples
    --------
    >>> from tape.kernels.codes import has_fold
    >>> has_fold("sum", "float32"), has_fold("sum", "float16"), has_fold("median", "float32")
    (True, False, False)
    """
    return np.dtype(dtype) in _FOLDED.get(kind, ())


def has_scan(kind: str, dtype: Any) -> bool:
    """Whether `scan` does this to elements of this dtype, which the result has, too.

    Parameters
    ----------
    kind : str
        Of `SCANS`.
    dtype : dtype_like
        Of the elements.

    Examples
    --------
    >>> from tape.kernels.codes import has_scan
    >>> has_scan("sum", "int64"), has_scan("max", "int64"), has_scan("median", "float64")
    (True, False, False)
    """
    return np.dtype(dtype) in _SCANNED.get(kind, ())


def has_cast(source: Any, target: Any) -> bool:
    """Whether `cast` converts between these dtypes.

    All others of `CAST_CODES` are converted in steps, by way of int64 or of a wider float: see
    `tape.program.ir.conversions`.

    Parameters
    ----------
    source, target : numpy.dtype
        Any.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.codes import has_cast
    >>> half, single, byte = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.int8)
    >>> has_cast(half, single), has_cast(byte, half)
    (True, False)
    """
    return (source, target) in _CASTS
