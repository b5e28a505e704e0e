"""Var: what makes a handle behave like an ndarray.

Operators, attributes and methods each call the operation of that name; what NumPy's two protocols do is
in `tape.dispatch`. Nothing is computed here.
"""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from tape import errors, ops
from tape.dispatch import call_function, call_ufunc
from tape.listing import short
from tape.node import Handle, plain
from tape.op import NUMPY
from tape.ops.scipy_ufuncs import counterpart
from tape.ops.shape import Axes
from tape.trace import Trace

__all__ = ["Var"]

_STORE_SUBSCR = dis.opmap["STORE_SUBSCR"]


class Var(Handle):
    """A recorded value: a handle to one node of a `Trace` that behaves like an ndarray.

    Vars come from `Trace.param`, `Trace.input` and every operation on them. Operators, NumPy
    functions and the usual ndarray methods record; ``==`` and its like compare element by element,
    as arrays do. A Var keeps its value but not its trace alive.

    Attributes
    ----------
    id : int
        The position of the node on the tape.
    node : Node
        The node itself.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x = tr.param(np.array([1.0, 4.0]), name="x")
    >>> np.sqrt(x) + 1
    Var([2. 3.], id=2)
    """

    __slots__ = ()

    # ---- what it is --------------------------------------------------------------------------

    @property
    def value(self) -> Any:
        """The number or array itself, by reference; a Var of the enclosing trace when nested."""
        return self.node.value

    @property
    def name(self) -> str | None:
        """The name it was given."""
        return self.node.name

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

    @property
    def T(self) -> Var:
        """The axes in reverse order."""
        return ops.transpose(self)

    def __repr__(self) -> str:
        name = f", name={self.name!r}" if self.name else ""
        return f"Var({short(self.node.value)}{name}, id={self.id})"

    def __len__(self) -> int:
        if not self.ndim:
            raise errors.ConversionError(f"{self!r} has no axes, and so no length and no elements")
        return self.shape[0]

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(np.ndarray, name) and not name.startswith("_"):
            raise errors.MissingAttributeError(
                f"a Var has no {name!r}. Write it with what tape.ops has, or use .value.{name} where no "
                "derivative is needed"
            )
        raise AttributeError(f"a Var has no {name!r}")

    def __copy__(self) -> Var:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Var:
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise errors.ConversionError(f"{self!r} belongs to its trace and cannot be pickled. Save its .value")

    def __iter__(self) -> Iterator[Var]:
        return (self[i] for i in range(len(self)))

    __hash__ = object.__hash__  # by identity, so that Vars can be keys

    # ---- becoming a plain number ---------------------------------------------------------------

    def item(self, *index: int) -> Any:
        """One element as a Python number, without its derivative."""
        return self.node.value.item(*index)

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
        self._refuse_to_be_stored()
        return float(self._scalar("float"))

    def __int__(self) -> int:
        self._refuse_to_be_stored()
        return int(self._scalar("int"))

    def _refuse_to_be_stored(self) -> None:
        """Raise if the user's line is ``array[index] = self``, for which NumPy asks for a float.

        NumPy chains a ValueError of its own to it; either way nothing is lost in silence.
        """
        frame = sys._getframe(2)
        if self.node.is_active and frame.f_code.co_code[frame.f_lasti] == _STORE_SUBSCR:
            raise errors.InPlaceError(
                f"{self!r} was about to be written into a plain array, which would lose its derivative. "
                "Collect the Vars in a list and np.stack or np.concatenate them"
            )

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.ndim:
            raise errors.ConversionError(f"{self!r} is no integer scalar, and cannot be an index")
        return operator.index(self.node.value)

    def _scalar(self, target: str) -> Any:
        if self.size != 1:
            raise errors.ConversionError(f"{target}() of {self!r}: it has {self.size} elements, not one")
        value = self.node.value
        return value if isinstance(value, Handle) else value.reshape(())

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        self._scalar("format")
        return format(plain(self).item(), spec)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise errors.ConversionError(
            f"{self!r} was about to become a plain array, which would lose its derivative. "
            "Use np.stack or np.concatenate to join Vars, tape.ops.getitem to index an array by a Var; "
            ".value for the plain array"
        )

    # ---- operators -----------------------------------------------------------------------------

    # Elementwise operations are plain functions, and become methods as they are.
    __add__ = ops.add
    __sub__ = ops.subtract
    __mul__ = ops.multiply
    __truediv__ = ops.divide
    __pow__ = ops.power
    __matmul__ = ops.matmul
    __lt__ = ops.less
    __le__ = ops.less_equal
    __gt__ = ops.greater
    __ge__ = ops.greater_equal
    __neg__ = ops.negative
    __pos__ = ops.positive
    __abs__ = ops.absolute
    __invert__ = ops.invert
    __and__ = ops.bitwise_and
    __or__ = ops.bitwise_or
    __xor__ = ops.bitwise_xor

    def __radd__(self, other: Any) -> Var:
        return ops.add(other, self)

    def __rsub__(self, other: Any) -> Var:
        return ops.subtract(other, self)

    def __rmul__(self, other: Any) -> Var:
        return ops.multiply(other, self)

    def __rtruediv__(self, other: Any) -> Var:
        return ops.divide(other, self)

    def __rpow__(self, other: Any) -> Var:
        return ops.power(other, self)

    def __rmatmul__(self, other: Any) -> Var:
        return ops.matmul(other, self)

    def __rand__(self, other: Any) -> Var:
        return ops.bitwise_and(other, self)

    def __ror__(self, other: Any) -> Var:
        return ops.bitwise_or(other, self)

    def __rxor__(self, other: Any) -> Var:
        return ops.bitwise_xor(other, self)

    def __eq__(self, other: object) -> Var:  # type: ignore[override]
        return NotImplemented if other is None or isinstance(other, str) else ops.equal(self, other)

    def __ne__(self, other: object) -> Var:  # type: ignore[override]
        return NotImplemented if other is None or isinstance(other, str) else ops.not_equal(self, other)

    def __getitem__(self, index: Any) -> Var:
        return ops.getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise errors.InPlaceError(
            f"{self!r} is recorded and cannot be written to. Build the result with np.where, "
            "np.concatenate or np.stack"
        )

    # ---- methods -------------------------------------------------------------------------------

    def sum(self, axis: Axes = None, *, keepdims: bool = False) -> Var:
        """`tape.ops.sum` of this."""
        return ops.sum(self, axis, keepdims=keepdims)

    def mean(self, axis: Axes = None, *, keepdims: bool = False) -> Var:
        """`tape.ops.mean` of this."""
        return ops.mean(self, axis, keepdims=keepdims)

    def max(self, axis: Axes = None, *, keepdims: bool = False) -> Var:
        """`tape.ops.max` of this."""
        return ops.max(self, axis, keepdims=keepdims)

    def min(self, axis: Axes = None, *, keepdims: bool = False) -> Var:
        """`tape.ops.min` of this."""
        return ops.min(self, axis, keepdims=keepdims)

    def prod(self, axis: Axes = None, *, keepdims: bool = False) -> Var:
        """`tape.ops.prod` of this."""
        return ops.prod(self, axis, keepdims=keepdims)

    def var(self, axis: Axes = None, *, ddof: float = 0, keepdims: bool = False) -> Var:
        """`tape.ops.var` of this."""
        return ops.var(self, axis, ddof=ddof, keepdims=keepdims)

    def std(self, axis: Axes = None, *, ddof: float = 0, keepdims: bool = False) -> Var:
        """`tape.ops.std` of this."""
        return ops.std(self, axis, ddof=ddof, keepdims=keepdims)

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Var:
        """`tape.ops.argmax` of this."""
        return ops.argmax(self, axis, keepdims=keepdims)

    def all(self, axis: Axes = None, *, keepdims: bool = False) -> Var:
        """`tape.ops.all` of this."""
        return ops.all(self, axis, keepdims=keepdims)

    def any(self, axis: Axes = None, *, keepdims: bool = False) -> Var:
        """`tape.ops.any` of this."""
        return ops.any(self, axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Var:
        """`tape.ops.argmin` of this."""
        return ops.argmin(self, axis, keepdims=keepdims)

    def reshape(self, *shape: int | Sequence[int]) -> Var:
        """`tape.ops.reshape` of this; the shape as one tuple or as several ints."""
        return ops.reshape(self, shape[0] if len(shape) == 1 else shape)  # type: ignore[arg-type]

    def ravel(self) -> Var:
        """`tape.ops.ravel` of this."""
        return ops.ravel(self)

    flatten = ravel

    def transpose(self, *axes: int | Sequence[int] | None) -> Var:
        """`tape.ops.transpose` of this; the axes as one tuple or as several ints."""
        if len(axes) == 1 and not isinstance(axes[0], int):
            return ops.transpose(self, axes[0])
        return ops.transpose(self, axes or None)  # type: ignore[arg-type]

    def swapaxes(self, axis1: int, axis2: int) -> Var:
        """`tape.ops.swapaxes` of this."""
        return ops.swapaxes(self, axis1, axis2)

    def squeeze(self, axis: Axes = None) -> Var:
        """`tape.ops.squeeze` of this."""
        return ops.squeeze(self, axis)

    def astype(self, dtype: Any) -> Var:
        """`tape.ops.astype` of this."""
        return ops.astype(self, dtype)

    def clip(self, min: Any = None, max: Any = None) -> Var:
        """`tape.ops.clip` of this."""
        return ops.clip(self, min, max)

    def dot(self, other: Any) -> Var:
        """`tape.ops.dot` of this and another."""
        return ops.dot(self, other)

    # ---- NumPy's protocols -----------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = NUMPY.get(ufunc) or counterpart(ufunc)
        if function is not None and method == "__call__" and not kwargs:
            return function(*inputs)
        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return call_function(func, args, kwargs)


Trace.handle = Var
