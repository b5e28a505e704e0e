"""Writing to a Var, as to an ndarray: its handle moves on to another node (`tape.inplace`)."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import numpy as np

from tape import errors
from tape.core.table import INTERNAL, OPERATIONS
from tape.core.var_methods import ArrayMethods, binary


class InPlaceMethods(ArrayMethods):
    """A handle with the syntax and the methods of an ndarray that write to it."""

    __slots__ = ()

    def __setitem__(self, index: Any, value: Any) -> None:
        OPERATIONS[operator.setitem](self, index, value)

    def __delitem__(self, index: Any) -> NoReturn:
        raise errors.InPlaceError(f"{self!r} keeps its shape. Use np.delete, which makes a new array")

    __iadd__ = binary(operator.iadd)
    __isub__ = binary(operator.isub)
    __imul__ = binary(operator.imul)
    __itruediv__ = binary(operator.itruediv)
    __ifloordiv__ = binary(operator.ifloordiv)
    __imod__ = binary(operator.imod)
    __ipow__ = binary(operator.ipow)
    __imatmul__ = binary(operator.imatmul)
    __iand__ = binary(operator.iand)
    __ior__ = binary(operator.ior)
    __ixor__ = binary(operator.ixor)
    __ilshift__ = binary(operator.ilshift)
    __irshift__ = binary(operator.irshift)

    @property
    def at(self) -> Any:
        """Updates that return a new array: ``x.at[index].set(v)``, and ``add``, ``multiply``, ``min``, ..."""
        return OPERATIONS[np.ufunc.at](self)

    def fill(self, value: Any) -> None:
        """Write one number over all elements."""
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
        """Write the elements over themselves in the order of `numpy.sort`."""
        INTERNAL["write_function"](self, np.sort, (self, axis, kind, order), {"stable": stable})

    def partition(self, kth: Any, axis: int = -1, kind: Any = "introselect", order: Any = None) -> None:
        """Write the elements over themselves in the order of `numpy.partition`."""
        INTERNAL["write_function"](self, np.partition, (self, kth, axis, kind, order), {})

    def put(self, indices: Any, values: Any, mode: Any = "raise") -> None:
        """Write at positions counted in C order, as `numpy.put` does."""
        np.put(self, indices, values, mode)  # type: ignore[arg-type]

    def resize(self, *shape: Any, refcheck: bool = True) -> NoReturn:
        """Refuse: a Var keeps its shape."""
        raise errors.InPlaceError(f"{self!r} keeps its shape. Use np.resize, which makes a new array")
