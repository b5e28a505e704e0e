"""Vars as plain numbers and arrays: allowed where no derivative is lost (`tape.conversion.numbers`)."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tape import errors
from tape.conversion.foreign import left_to_var
from tape.conversion.numbers import check_array, check_number
from tape.core.nesting import batch_below, traced
from tape.core.node import Handle, plain


class PlainNumbers(Handle):
    """A handle that becomes a plain number, bool or array where Python or NumPy asks for one."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return self.node.value.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the elements."""
        return self.node.value.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.node.value.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.node.value.size

    def item(self, *index: int) -> Any:
        """One element as a Python number, if no derivative is lost with it: see `tape.conversion.numbers`."""
        try:
            number = self.node.value.item(*index)
        except (ValueError, IndexError) as error:
            raise errors.ConversionError(f"item{index} of {self!r}: {error}") from error
        check_number(self, ".item()")
        return number

    def tolist(self) -> Any:
        """All elements as Python numbers in nested lists, if no derivative is lost with them."""
        numbers = self.node.value.tolist()
        check_number(self, ".tolist()")
        return numbers

    # A value that is a Var itself is asked in turn: it may have to know that it was read.

    def __bool__(self) -> bool:
        value = self.node.value
        if isinstance(value, Handle):
            return bool(value)
        try:
            return bool(value)
        except ValueError:
            raise errors.ConversionError(
                f"the truth of {self!r}, which has {self.size} elements, is ambiguous. "
                "Use np.where, or .value.any() or .value.all()"
            ) from None

    def __float__(self) -> float:
        value = self._scalar("float")
        check_number(self, "float()")
        return float(value)

    def __int__(self) -> int:
        value = self._scalar("int")
        check_number(self, "int()")
        return int(value)

    def __complex__(self) -> complex:
        value = self._scalar("complex")
        check_number(self, "complex()")
        return complex(value)

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.ndim:
            # NumPy asks this of arrays, too, and does not mind: a picture of the elements would take long.
            raise errors.ConversionError(
                f"a Var, {errors.describe(self)}, is no integer scalar, and cannot be an index"
            )
        return operator.index(self.node.value)

    def _scalar(self, target: str) -> Any:
        if self.size != 1:
            raise errors.ConversionError(f"{target}() of {self!r}: it has {self.size} elements, not one")
        if self.dtype.kind == "c" and target in ("float", "int"):
            raise errors.ConversionError(
                f"{target}() of {self!r}, which is complex. Take np.real(v), np.imag(v) or np.abs(v)"
            )
        value = self.node.value
        return value if isinstance(value, Handle) else value.reshape(())

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        self._scalar("format")
        below: Any = traced(self)
        is_traced = isinstance(below, Handle) and batch_below(self) is None
        return format((below.number if is_traced else plain(self)).item(), spec)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if (deferred := left_to_var(self)) is not None:
            return deferred
        check_array(self)
        array = np.array(self.node.value, dtype, copy=copy)
        if not copy:
            array = array.view()
            array.flags.writeable = False
        return array
