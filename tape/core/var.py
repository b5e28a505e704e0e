"""Var: what makes a handle behave like an ndarray.

Operators, attributes and methods each call the operation of that name; what NumPy's two protocols do is
in `tape.core.dispatch`. Nothing is computed here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, NoReturn

import numpy as np

from tape import errors, ops
from tape.conversion.numbers import check_array, check_hash, check_number
from tape.core.dispatch import call_function, call_ufunc
from tape.core.node import Handle, plain, settled
from tape.core.op import NUMPY
from tape.core.operands import other_operand
from tape.core.trace import Trace
from tape.inplace.aliases import Stale, is_array
from tape.inplace.writing import augmented, overwrite, write, writing
from tape.inspect.listing import short
from tape.ops.structure.creation import beside
from tape.ops.updates.at import At

__all__ = ["Var"]

_CREATION: dict[Any, str] = {
    getattr(np, name): name
    for name in (
        "arange", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "eye",
        "frombuffer", "fromfunction", "fromiter", "full", "identity", "ones", "require", "tri", "zeros",
    )
}  # fmt: skip
_CREATION[np.empty] = "zeros"  # what lies in memory by chance must not get into programs
"""What makes arrays, beside a Var if it is given one as ``like=``: the name in `tape.numpy`."""


def _reflected(op: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """An operator of two operands, for a Var on its right."""

    def reflected(self: Any, other: Any) -> Any:
        return op(other, self)

    return reflected


def _or_into(op: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """A method: the operation, or NumPy's function where the result is to be written over another array."""

    @wraps(op)
    def method(self: Any, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is None:
            return op(self, *args, **kwargs)
        return function(self, *args, out=out, **kwargs)

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
        return ops.transpose(self)

    @property
    def mT(self) -> Var:
        """The last two axes exchanged."""
        return ops.matrix_transpose(self)

    @property
    def real(self) -> Var:
        """The real part."""
        return ops.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        write(self.real, ..., value)

    @property
    def imag(self) -> Var:
        """The imaginary part."""
        return ops.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        write(self.imag, ..., value)

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
        from tape import numpy

        return numpy

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

    # Operations of one or two operands are plain functions, and become methods as they are. What NumPy
    # calls returns NotImplemented where the other operand is to compute.
    __add__ = NUMPY[np.add]
    __sub__ = NUMPY[np.subtract]
    __mul__ = NUMPY[np.multiply]
    __truediv__ = NUMPY[np.divide]
    __pow__ = NUMPY[np.power]
    __matmul__ = NUMPY[np.matmul]
    __lt__ = NUMPY[np.less]
    __le__ = NUMPY[np.less_equal]
    __gt__ = NUMPY[np.greater]
    __ge__ = NUMPY[np.greater_equal]
    __neg__ = ops.negative
    __pos__ = ops.positive
    __abs__ = ops.absolute
    __invert__ = ops.invert
    __and__ = NUMPY[np.bitwise_and]
    __or__ = NUMPY[np.bitwise_or]
    __xor__ = NUMPY[np.bitwise_xor]

    __floordiv__ = NUMPY[np.floor_divide]
    __mod__ = NUMPY[np.remainder]
    __lshift__ = NUMPY[np.left_shift]
    __rshift__ = NUMPY[np.right_shift]
    __round__ = ops.round

    __radd__ = _reflected(NUMPY[np.add])
    __rsub__ = _reflected(NUMPY[np.subtract])
    __rmul__ = _reflected(NUMPY[np.multiply])
    __rtruediv__ = _reflected(NUMPY[np.divide])
    __rpow__ = _reflected(NUMPY[np.power])
    __rmatmul__ = _reflected(NUMPY[np.matmul])
    __rand__ = _reflected(NUMPY[np.bitwise_and])
    __ror__ = _reflected(NUMPY[np.bitwise_or])
    __rxor__ = _reflected(NUMPY[np.bitwise_xor])
    __rfloordiv__ = _reflected(NUMPY[np.floor_divide])
    __rmod__ = _reflected(NUMPY[np.remainder])
    __rlshift__ = _reflected(NUMPY[np.left_shift])
    __rrshift__ = _reflected(NUMPY[np.right_shift])

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return NotImplemented if other_operand(other) is NotImplemented else ops.divmod(self, other)

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return NotImplemented if other_operand(other) is NotImplemented else ops.divmod(other, self)

    def __eq__(self, other: object) -> Var:  # type: ignore[override]
        return NotImplemented if other is None or isinstance(other, str) else NUMPY[np.equal](self, other)

    def __ne__(self, other: object) -> Var:  # type: ignore[override]
        return NotImplemented if other is None or isinstance(other, str) else NUMPY[np.not_equal](self, other)

    def __getitem__(self, index: Any) -> Var:
        return ops.getitem(self, index)

    # ---- writing: the handle moves on to another node ----------------------------------------------

    def __delitem__(self, index: Any) -> NoReturn:
        raise errors.InPlaceError(f"{self!r} keeps its shape. Use np.delete, which makes a new array")

    @property
    def at(self) -> At:
        """Updates that return a new array: ``x.at[index].set(v)``, and ``add``, ``multiply``, ``min``, ..."""
        return At(self)

    def __setitem__(self, index: Any, value: Any) -> None:
        write(self, index, value)

    __iadd__ = augmented(ops.add, added=lambda y: y)
    __isub__ = augmented(ops.subtract, added=ops.negative)
    __imul__ = augmented(ops.multiply)
    __itruediv__ = augmented(ops.divide)
    __ifloordiv__ = augmented(ops.floor_divide)
    __imod__ = augmented(ops.remainder)
    __ipow__ = augmented(ops.power)
    __imatmul__ = augmented(ops.matmul)
    __iand__ = augmented(ops.bitwise_and)
    __ior__ = augmented(ops.bitwise_or)
    __ixor__ = augmented(ops.bitwise_xor)
    __ilshift__ = augmented(ops.left_shift)
    __irshift__ = augmented(ops.right_shift)

    def fill(self, value: Any) -> None:
        """Write one number over all elements."""
        write(self, ..., value)

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
        """Write the elements over themselves in the order of `tape.ops.sort`."""
        with writing(self):
            overwrite(self, ops.sort(self, axis, kind, order, stable=stable))

    def partition(self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
        """Write the elements over themselves in the order of `tape.ops.partition`."""
        with writing(self):
            overwrite(self, ops.partition(self, kth, axis, kind, order))

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Write at positions counted in C order, as `numpy.put` does."""
        np.put(self, indices, values, mode)  # type: ignore[arg-type]

    # ---- methods: the operations whose first argument this is ------------------------------------

    all = _or_into(ops.all, np.all)
    any = _or_into(ops.any, np.any)
    argmax = _or_into(ops.argmax, np.argmax)
    argmin = _or_into(ops.argmin, np.argmin)
    argpartition = ops.argpartition
    argsort = ops.argsort
    astype = ops.astype
    choose = _or_into(ops.choose, np.choose)
    cumprod = _or_into(ops.cumprod, np.cumprod)
    cumsum = _or_into(ops.cumsum, np.cumsum)
    diagonal = ops.diagonal
    dot = _or_into(ops.dot, np.dot)
    max = _or_into(ops.max, np.max)
    mean = _or_into(ops.mean, np.mean)
    min = _or_into(ops.min, np.min)
    nonzero = ops.nonzero
    prod = _or_into(ops.prod, np.prod)
    ravel = ops.ravel
    repeat = ops.repeat
    round = _or_into(ops.round, np.round)
    searchsorted = ops.searchsorted
    squeeze = ops.squeeze
    std = _or_into(ops.std, np.std)
    sum = _or_into(ops.sum, np.sum)
    swapaxes = ops.swapaxes
    take = _or_into(ops.take, np.take)
    var = _or_into(ops.var, np.var)

    def conjugate(self) -> Var:
        """`tape.ops.conjugate` of this; of real numbers it is this itself."""
        return ops.conjugate(self) if self.dtype.kind == "c" else self

    conj = conjugate

    def copy(self, order: str = "C") -> Var:
        """`tape.ops.copy` of this; of a number, that number."""
        return ops.copy(self, order) if is_array(self) else self.again()

    def flatten(self, order: str = "C") -> Var:
        """`tape.ops.ravel` of this, as an array of its own."""
        return ops.ravel(self, order).again()

    clip = _or_into(lambda self, min=None, max=None: ops.clip(self, min, max), np.clip)
    compress = _or_into(
        lambda self, condition, axis=None: ops.compress(condition, self, axis),
        lambda self, condition, axis=None, *, out: np.compress(condition, self, axis, out),
    )

    def reshape(self, *shape: int | Sequence[int], order: str = "C", copy: bool | None = None) -> Var:
        """`tape.ops.reshape` of this; the shape as one tuple or as several ints."""
        wanted: Any = shape[0] if len(shape) == 1 else shape
        return ops.reshape(self, wanted, order, copy=copy)

    def transpose(self, *axes: int | Sequence[int] | None) -> Var:
        """`tape.ops.transpose` of this; the axes as one tuple or as several ints."""
        if len(axes) == 1 and not isinstance(axes[0], int):
            return ops.transpose(self, axes[0])
        return ops.transpose(self, axes or None)  # type: ignore[arg-type]

    def resize(self, *shape: Any, refcheck: bool = True) -> NoReturn:
        """Refuse: a Var keeps its shape."""
        raise errors.InPlaceError(f"{self!r} keeps its shape. Use np.resize, which makes a new array")

    # ---- NumPy's protocols -----------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = NUMPY.get(ufunc)
        if function is not None and method == "__call__" and not kwargs:
            return function(*inputs)
        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in _CREATION:  # with ``like=self``
            from tape import numpy

            made = getattr(numpy, _CREATION[func])(*args, **kwargs)
            return made if isinstance(made, Handle) else beside(self, made)
        return call_function(func, args, kwargs)


Trace.handle = Var
