"""`WeakFloat`, `WeakComplex`, `WeakInt`, `WeakBool`: Python numbers as values on a tape."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

_NUMBERS = (float, complex, int, bool)


def weak(number: Any) -> Any:
    """Return a Python number or a NumPy scalar as a value on a tape that does not widen other dtypes."""
    if isinstance(number, (bool, np.bool_)):
        return WeakBool(number)
    if isinstance(number, (int, np.integer)):
        return WeakInt(number)
    kind = WeakComplex if isinstance(number, (complex, np.complexfloating)) else WeakFloat
    return kind(number)


def exact(argument: Any) -> Any:
    """Return the Python number of a weak one; other values are returned as they are."""
    if isinstance(argument, (list, tuple)):
        return type(argument)(map(exact, argument))
    return argument.number if isinstance(argument, Weak) else argument


def _on_numpy(arithmetic: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """Return an operator of weak numbers and its reflection, computed by NumPy."""

    def forward(self: Weak, other: Any) -> Any:
        return arithmetic(_beside(self, other), exact(other))

    def reflected(self: Weak, other: Any) -> Any:
        return arithmetic(exact(other), _beside(self, other))

    return forward, reflected


def _beside(weak: Weak, other: Any) -> Any:
    is_number = isinstance(other, Weak) or type(other) in _NUMBERS
    return weak.scalar if is_number else weak.number


class Weak:
    """A Python number with the attributes of a value on a tape, which NumPy promotes as a Python number.

    NumPy takes a subclass of float for a float64, which its two protocols prevent. Operations on weak numbers
    alone return a float64, as in NumPy; only the operators of `Traced` keep to Python's arithmetic. Likewise
    complex.
    """

    __slots__ = ()

    shape: tuple[int, ...] = ()
    ndim = 0
    size = 1
    dtype: np.dtype[Any]

    @property
    def number(self) -> Any:
        """The number as a Python number."""
        raise NotImplementedError

    @property
    def scalar(self) -> Any:
        """The number as a NumPy scalar."""
        return self.dtype.type(self.number)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.scalar, name)

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(self.number)[index]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map(exact, inputs), **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*map(exact, args), **{name: exact(value) for name, value in kwargs.items()})

    __add__, __radd__ = _on_numpy(operator.add)
    __sub__, __rsub__ = _on_numpy(operator.sub)
    __mul__, __rmul__ = _on_numpy(operator.mul)
    __truediv__, __rtruediv__ = _on_numpy(operator.truediv)
    __floordiv__, __rfloordiv__ = _on_numpy(operator.floordiv)
    __mod__, __rmod__ = _on_numpy(operator.mod)
    __pow__, __rpow__ = _on_numpy(operator.pow)

    def __neg__(self) -> Any:
        return -self.scalar

    def __pos__(self) -> Any:
        return self.scalar

    def __abs__(self) -> Any:
        return abs(self.scalar)


class WeakFloat(Weak, float):
    """A Python float on a tape."""

    __slots__ = ()

    dtype = np.dtype(float)
    number = property(float)


class WeakComplex(Weak, complex):
    """A Python complex number on a tape."""

    __slots__ = ()

    dtype = np.dtype(complex)
    number = property(complex)


class WeakInt(Weak, int):
    """A Python int on a tape, of 64 bits."""

    __slots__ = ()

    dtype = np.dtype(np.int64)
    number = property(int)


class WeakBool(Weak, int):
    """A Python bool on a tape: the result of comparing Python numbers."""

    __slots__ = ()

    dtype = np.dtype(bool)
    number = property(int.__bool__)
