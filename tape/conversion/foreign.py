"""Arrays of other libraries and subclasses: those that are refused, and those that operators defer to.

Operations compute with the plain ndarray inside of an array. For a subclass with an arithmetic or methods of
its own, such as `numpy.matrix` and masked arrays, that would differ from its own results.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np

_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "lshift", "rshift",
           "and", "or", "xor")  # fmt: skip
ARITHMETIC = (
    "__array_ufunc__",
    "__array_function__",
    *(f"__{name}__" for name in ("neg", "pos", "abs", "invert", "eq", "ne", "lt", "le", "gt", "ge")),
    *(f"__{side}{name}__" for name in _BINARY for side in ("", "r", "i") if side + name != "idivmod"),
)


_READ = ("__getitem__", "__len__", "__iter__", "__contains__", "__array__")
_METHODS = (*_READ, *(name for name in dir(np.ndarray) if not name.startswith("_")))
"""What code reads of an array, beside its arithmetic; NumPy's own subclasses have theirs."""

_TABLES = frozenset({"pandas", "polars"})


def complaint(value: Any) -> str | None:
    """Describe an array whose arithmetic is not that of ndarrays, with a remedy; None for others.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.conversion.foreign import complaint
    >>> complaint(np.ma.masked_array([1.0, 2.0], [0, 1]))
    'a masked array. Fill it, and multiply by the mask'
    >>> complaint(np.array([1.0])) is None
    True
    """
    kind: Any = type(value)
    if is_sparse(value):
        return "a sparse array. Multiply by it with @, or convert it with .toarray()"
    if kind is np.ndarray or not issubclass(kind, np.ndarray):
        return None
    if isinstance(value, np.ma.MaskedArray):
        return "a masked array. Fill it, and multiply by the mask"
    if _has_own_arithmetic(kind):
        name = f"{kind.__module__}.{kind.__qualname__}"
        return f"a {name}, which has an arithmetic or methods of its own. Pass np.asarray(...) of it"
    return None


@cache
def _has_own_arithmetic(kind: type) -> bool:
    def has_own(base: type, name: str) -> bool:
        return name in vars(base) and vars(base)[name] is not vars(np.ndarray).get(name)

    if any(getattr(kind, name) is not getattr(np.ndarray, name) for name in ARITHMETIC):
        return True
    bases = [base for base in kind.__mro__ if issubclass(base, np.ndarray) and base is not np.ndarray]
    theirs = [base for base in bases if module_of(base).partition(".")[0] != "numpy"]
    return any(has_own(base, name) for base in theirs for name in _METHODS)


def defers_to(other: Any) -> bool:
    """Return whether an operator defers to the other operand, which has an ``__array_ufunc__`` of its own.

    Columns and tables of pandas and polars have one, but cannot hold Vars: they count as arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.conversion.foreign import defers_to
    >>> class Length:
    ...     __array_ufunc__ = None
    >>> defers_to(Length()), defers_to(np.ones(2)), defers_to([1.0, 2.0])
    (True, False, False)
    """
    kind = type(other)
    protocol = getattr(kind, "__array_ufunc__", np.ndarray.__array_ufunc__)
    return protocol is not np.ndarray.__array_ufunc__ and module_of(kind).partition(".")[0] not in _TABLES


def copies(thing: Any, array: np.ndarray) -> bool:
    """Return whether a later change of an object would not show in the array that it was converted to.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.conversion.foreign import copies
    >>> shared = memoryview(bytearray(2))
    >>> copies(shared, np.asarray(shared)), copies(range(2), np.asarray(range(2)))
    (False, True)
    """
    if module_of(type(thing)).startswith("polars"):  # it moves to other memory when it is written to
        return True
    return not np.may_share_memory(array, np.asarray(thing))


def module_of(kind: type) -> str:
    """Return the name of the module of a class; of some compiled ones it is no string."""
    return str(kind.__module__)


def is_sparse(value: Any) -> bool:
    """Return whether a value is a sparse array or matrix of SciPy, or one with Vars as elements.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from tape.conversion.foreign import is_sparse
    >>> is_sparse(scipy.sparse.eye_array(2)), is_sparse(np.eye(2))
    (True, False)
    """
    kind: Any = type(value)
    if module_of(kind).startswith("scipy.sparse"):
        return hasattr(kind, "tocsr")
    return module_of(kind).startswith("tape.scipy.sparse") and hasattr(kind, "parts")


def left_to_var(var: Any) -> np.ndarray | None:
    """Return what a Var converts to in the product ``sparse @ var``, so that SciPy leaves it to the Var.

    SciPy takes an object array without axes for something that computes the product itself; None elsewhere.
    """
    caller = sys._getframe(1).f_back
    if caller is None or caller.f_code.co_name != "_matmul_dispatch":
        return None
    found = np.empty((), object)
    found[()] = var
    return found
