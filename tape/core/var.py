"""Var: what makes a handle behave like an ndarray.

Operators, methods and NumPy's protocols are syntax here: each looks up its operation in the table
(`tape.core.table`). Nothing is computed here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, NoReturn

import numpy as np

from tape import errors
from tape.conversion.numbers import check_array, check_hash, check_number
from tape.core.node import Handle, plain, settled
from tape.core.numpy_protocol import call_function, call_ufunc, create, is_creation
from tape.core.operands import other_operand
from tape.core.table import INTERNAL, OPERATIONS
from tape.inplace.aliases import Stale, is_array
from tape.inspect.listing import short

__all__ = ["Var"]


def _operator(key: Any) -> Callable[[Any, Any], Any]:
    """Return a method for an operator of two operands."""

    def method(self: Any, other: Any) -> Any:
        return OPERATIONS[key](self, other)

    return method


def _reflected(key: Any) -> Callable[[Any, Any], Any]:
    """Return a method for an operator of two operands, the Var being the right one."""

    def method(self: Any, other: Any) -> Any:
        return OPERATIONS[key](other, self)

    return method


def _unary(key: Any) -> Callable[[Any], Any]:
    """Return a method for an operator of one operand."""

    def method(self: Any) -> Any:
        return OPERATIONS[key](self)

    return method


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method that does what a NumPy function does with this as its first argument."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            return call_function(function, (self, *args), kwargs)
        return OPERATIONS[function](self, *args, **kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"As `numpy.{function.__name__}` of this."
    return method


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
        return settled(self.node.value)

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
        return OPERATIONS[np.transpose](self)

    @property
    def mT(self) -> Var:
        """The last two axes exchanged."""
        return OPERATIONS[np.matrix_transpose](self)

    @property
    def real(self) -> Var:
        """The real part."""
        return OPERATIONS[np.real](self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Var:
        """The imaginary part."""
        return OPERATIONS[np.imag](self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    def __repr__(self) -> str:
        if isinstance(self.node, Stale):
            return f"Var({self.node!r}, id={self.id})"
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
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Var:
        return self.copy()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise errors.ConversionError(f"{self!r} belongs to its trace and cannot be pickled. Save its .value")

    def __iter__(self) -> Iterator[Var]:
        return (self[i] for i in range(len(self)))

    def __hash__(self) -> int:  # by identity, so that Vars can be keys
        check_hash(self)
        return object.__hash__(self)

    # ---- the Python Array API ------------------------------------------------------------------

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        """`tape.numpy`: what code written for any array library computes with.

        Raises
        ------
        OptionError
            If there is no such version of the standard here.
        """
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise errors.OptionError(
                f"the Array API has no version {api_version!r} here. The latest is '2024.12'"
            )
        return import_module("tape.numpy")

    @property
    def device(self) -> str:
        """Where the elements are: always "cpu"."""
        return "cpu"

    def to_device(self, device: str, /, *, stream: None = None) -> Var:
        """Itself: there is one device.

        Raises
        ------
        OptionError
            If another one is asked for.
        """
        if device != "cpu" or stream is not None:
            raise errors.OptionError(f"there is no device {device!r}, or no stream on it. It is 'cpu'")
        return self

    def __dlpack__(self, **options: Any) -> Any:
        return self.__array__(copy=True).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    # ---- becoming a plain number ---------------------------------------------------------------

    def item(self, *index: int) -> Any:
        """One element as a Python number, if no derivative is lost with it: see `tape.conversion.numbers`."""
        try:
            number = self.node.value.item(*index)
        except (ValueError, IndexError) as error:
            raise errors.ConversionError(f"item{index} of {self!r}: {error}") from error
        check_number(self, ".item()")
        return number

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
        return format(plain(self).item(), spec)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        check_array(self)
        array = np.array(self.node.value, dtype, copy=copy)
        if not copy:
            array = array.view()
            array.flags.writeable = False
        return array

    # ---- operators -----------------------------------------------------------------------------

    # What the table has for a ufunc returns NotImplemented where the other operand is to compute.
    __add__, __radd__ = _operator(np.add), _reflected(np.add)
    __sub__, __rsub__ = _operator(np.subtract), _reflected(np.subtract)
    __mul__, __rmul__ = _operator(np.multiply), _reflected(np.multiply)
    __truediv__, __rtruediv__ = _operator(np.divide), _reflected(np.divide)
    __floordiv__, __rfloordiv__ = _operator(np.floor_divide), _reflected(np.floor_divide)
    __mod__, __rmod__ = _operator(np.remainder), _reflected(np.remainder)
    __pow__, __rpow__ = _operator(np.power), _reflected(np.power)
    __matmul__, __rmatmul__ = _operator(np.matmul), _reflected(np.matmul)
    __and__, __rand__ = _operator(np.bitwise_and), _reflected(np.bitwise_and)
    __or__, __ror__ = _operator(np.bitwise_or), _reflected(np.bitwise_or)
    __xor__, __rxor__ = _operator(np.bitwise_xor), _reflected(np.bitwise_xor)
    __lshift__, __rlshift__ = _operator(np.left_shift), _reflected(np.left_shift)
    __rshift__, __rrshift__ = _operator(np.right_shift), _reflected(np.right_shift)

    __lt__ = _operator(np.less)
    __le__ = _operator(np.less_equal)
    __gt__ = _operator(np.greater)
    __ge__ = _operator(np.greater_equal)

    __neg__ = _unary(np.negative)
    __pos__ = _unary(np.positive)
    __abs__ = _unary(np.absolute)
    __invert__ = _unary(np.invert)

    def __round__(self, ndigits: int = 0) -> Var:
        return OPERATIONS[np.round](self, ndigits)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        is_theirs = other_operand(other) is NotImplemented
        return NotImplemented if is_theirs else OPERATIONS[np.divmod](self, other)

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        is_theirs = other_operand(other) is NotImplemented
        return NotImplemented if is_theirs else OPERATIONS[np.divmod](other, self)

    def __eq__(self, other: object) -> Var:  # type: ignore[override]
        is_theirs = other is None or isinstance(other, str)
        return NotImplemented if is_theirs else OPERATIONS[np.equal](self, other)

    def __ne__(self, other: object) -> Var:  # type: ignore[override]
        is_theirs = other is None or isinstance(other, str)
        return NotImplemented if is_theirs else OPERATIONS[np.not_equal](self, other)

    def __getitem__(self, index: Any) -> Var:
        return OPERATIONS[operator.getitem](self, index)

    # ---- writing: the handle moves on to another node ----------------------------------------------

    def __setitem__(self, index: Any, value: Any) -> None:
        OPERATIONS[operator.setitem](self, index, value)

    def __delitem__(self, index: Any) -> NoReturn:
        raise errors.InPlaceError(f"{self!r} keeps its shape. Use np.delete, which makes a new array")

    __iadd__ = _operator(operator.iadd)
    __isub__ = _operator(operator.isub)
    __imul__ = _operator(operator.imul)
    __itruediv__ = _operator(operator.itruediv)
    __ifloordiv__ = _operator(operator.ifloordiv)
    __imod__ = _operator(operator.imod)
    __ipow__ = _operator(operator.ipow)
    __imatmul__ = _operator(operator.imatmul)
    __iand__ = _operator(operator.iand)
    __ior__ = _operator(operator.ior)
    __ixor__ = _operator(operator.ixor)
    __ilshift__ = _operator(operator.ilshift)
    __irshift__ = _operator(operator.irshift)

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

    # ---- methods: NumPy's functions whose first argument this is -----------------------------------

    all = _method(np.all)
    any = _method(np.any)
    argmax = _method(np.argmax)
    argmin = _method(np.argmin)
    argpartition = _method(np.argpartition)
    argsort = _method(np.argsort)
    astype = _method(np.astype)
    choose = _method(np.choose)
    cumprod = _method(np.cumprod)
    cumsum = _method(np.cumsum)
    diagonal = _method(np.diagonal)
    dot = _method(np.dot)
    max = _method(np.max)
    mean = _method(np.mean)
    min = _method(np.min)
    nonzero = _method(np.nonzero)
    prod = _method(np.prod)
    ravel = _method(np.ravel)
    repeat = _method(np.repeat)
    round = _method(np.round)
    searchsorted = _method(np.searchsorted)
    squeeze = _method(np.squeeze)
    std = _method(np.std)
    sum = _method(np.sum)
    swapaxes = _method(np.swapaxes)
    take = _method(np.take)
    var = _method(np.var)

    def conjugate(self) -> Var:
        """As `numpy.conjugate` of this; of real numbers it is this itself."""
        return OPERATIONS[np.conjugate](self) if self.dtype.kind == "c" else self

    conj = conjugate

    def copy(self, order: str = "C") -> Var:
        """As `numpy.copy` of this; of a number, that number."""
        return OPERATIONS[np.copy](self, order) if is_array(self) else self.again()

    def flatten(self, order: str = "C") -> Var:
        """As `numpy.ravel` of this, as an array of its own."""
        return OPERATIONS[np.ravel](self, order).again()

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Var:
        """As `numpy.clip` of this."""
        if out is None:
            return OPERATIONS[np.clip](self, min, max)
        return np.clip(self, min, max, out=out)

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Var:
        """As `numpy.compress` of this."""
        return np.compress(condition, self, axis, out)

    def reshape(self, *shape: int | Sequence[int], order: str = "C", copy: bool | None = None) -> Var:
        """As `numpy.reshape` of this; the shape as one tuple or as several ints."""
        wanted: Any = shape[0] if len(shape) == 1 else shape
        if order == "C" and copy is None:
            return OPERATIONS[np.reshape](self, wanted)
        return OPERATIONS[np.reshape](self, wanted, order, copy=copy)

    def transpose(self, *axes: int | Sequence[int] | None) -> Var:
        """As `numpy.transpose` of this; the axes as one tuple or as several ints."""
        if len(axes) == 1 and not isinstance(axes[0], int):
            return OPERATIONS[np.transpose](self, axes[0])
        return OPERATIONS[np.transpose](self, axes or None)

    def resize(self, *shape: Any, refcheck: bool = True) -> NoReturn:
        """Refuse: a Var keeps its shape."""
        raise errors.InPlaceError(f"{self!r} keeps its shape. Use np.resize, which makes a new array")

    # ---- NumPy's protocols -----------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = OPERATIONS.get(ufunc)
        if function is not None and method == "__call__" and not kwargs:
            return function(*inputs)
        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        function = OPERATIONS.get(func)
        if function is None and is_creation(func):  # with ``like=self``
            return create(self, func, args, kwargs)
        return call_function(func, args, kwargs)
