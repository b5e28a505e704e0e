"""The attributes and methods of ndarrays, for Vars: each is what NumPy's function of that name does.

Also what all methods for operators are made by: they look operations up in the table.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tape import errors
from tape.core.interpreter import OPEN
from tape.core.node import plain
from tape.core.numpy_protocol import call_function, note_options
from tape.core.results import is_several, unpack
from tape.core.table import OPERATIONS
from tape.core.var_numbers import PlainNumbers
from tape.inplace.aliases import is_array

if TYPE_CHECKING:
    from tape.core.var import Var


def binary(key: Any) -> Callable[[Any, Any], Any]:
    """Return a method for an operator of two operands."""

    def method(self: Any, other: Any) -> Any:
        return OPERATIONS[key](self, other)

    return method


def reflected(key: Any) -> Callable[[Any, Any], Any]:
    """Return a method for an operator of two operands, the Var being the right one."""

    def method(self: Any, other: Any) -> Any:
        return OPERATIONS[key](other, self)

    return method


def unary(key: Any) -> Callable[[Any], Any]:
    """Return a method for an operator of one operand."""

    def method(self: Any) -> Any:
        return OPERATIONS[key](self)

    return method


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method that does what a NumPy function does with this as its first argument."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if OPEN:
            note_options(*args, **kwargs)
        operation = OPERATIONS.get(function)
        if operation is None or "out" in kwargs:  # it may be imported only now
            return call_function(function, (self, *args), kwargs)
        return operation(self, *args, **kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"As `numpy.{function.__name__}` of this."
    return method


class ArrayMethods(PlainNumbers):
    """A handle with the attributes and methods of an ndarray, and those of the Python Array API."""

    __slots__ = ()

    @property
    def T(self) -> Any:
        """The axes in reverse order."""
        return OPERATIONS[np.transpose](self)

    @property
    def mT(self) -> Any:
        """The last two axes exchanged."""
        return OPERATIONS[np.matrix_transpose](self)

    @property
    def real(self) -> Any:
        """The real part."""
        return OPERATIONS[np.real](self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
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

    # ---- as a sequence, and as an object -------------------------------------------------------------

    def __len__(self) -> int:
        if not self.ndim:
            if is_several(self):
                return len(plain(self))
            raise errors.ConversionError(f"{self!r} has no axes, and so no length and no elements")
        return self.shape[0]

    def __iter__(self) -> Iterator[Var]:
        if is_several(self):
            return iter(unpack(self))
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Var:
        if type(self.node.value) is not np.ndarray:
            trace: Any = self.trace_ref()
            if trace is not None and trace.is_deferring and type(index) is int:
                return trace.element(self, index)
            if is_several(self):
                return unpack(self)[index]
        return OPERATIONS[operator.getitem](self, index)

    def __copy__(self) -> Var:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Var:
        return self.copy()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise errors.ConversionError(f"{self!r} belongs to its trace and cannot be pickled. Save its .value")

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

    def conjugate(self) -> Any:
        """As `numpy.conjugate` of this; of real numbers it is this itself."""
        return OPERATIONS[np.conjugate](self) if self.dtype.kind == "c" else self

    conj = conjugate

    def copy(self, order: str = "C") -> Any:
        """As `numpy.copy` of this; of a number, that number."""
        return OPERATIONS[np.copy](self, order) if is_array(self) else self.again()

    def flatten(self, order: str = "C") -> Any:
        """As `numpy.ravel` of this, as an array of its own."""
        return OPERATIONS[np.ravel](self, order).again()

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        """As `numpy.clip` of this."""
        if out is None:
            return OPERATIONS[np.clip](self, min, max)
        return call_function(np.clip, (self, min, max), {"out": out})

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """As `numpy.compress` of this."""
        return call_function(np.compress, (condition, self, axis), {} if out is None else {"out": out})

    def reshape(self, *shape: int | Sequence[int], order: str = "C", copy: bool | None = None) -> Any:
        """As `numpy.reshape` of this; the shape as one tuple or as several ints."""
        wanted: Any = shape[0] if len(shape) == 1 else shape
        if order == "C" and copy is None:
            return OPERATIONS[np.reshape](self, wanted)
        return OPERATIONS[np.reshape](self, wanted, order, copy=copy)

    def transpose(self, *axes: int | Sequence[int] | None) -> Any:
        """As `numpy.transpose` of this; the axes as one tuple or as several ints."""
        if len(axes) == 1 and not isinstance(axes[0], int):
            return OPERATIONS[np.transpose](self, axes[0])
        return OPERATIONS[np.transpose](self, axes or None)

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

    def to_device(self, device: str, /, *, stream: None = None) -> Any:
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
