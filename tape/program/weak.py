"""`WeakFloat`: what an argument that is a Python float is on a tape."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["WeakFloat"]


def _exact(argument: Any) -> Any:
    """The same with Python's own floats."""
    if isinstance(argument, (list, tuple)):
        return type(argument)(map(_exact, argument))
    return float(argument) if type(argument) is WeakFloat else argument


def _on_numpy(arithmetic: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """An operator of a WeakFloat and its reflection, as NumPy computes."""

    def forward(self: WeakFloat, other: Any) -> Any:
        return arithmetic(_beside(self, other), _exact(other))

    def reflected(self: WeakFloat, other: Any) -> Any:
        return arithmetic(_exact(other), _beside(self, other))

    return forward, reflected


def _beside(weak: WeakFloat, other: Any) -> Any:
    is_number = type(other) in (WeakFloat, float, int, bool)
    return np.float64(weak) if is_number else float(weak)


class WeakFloat(float):
    """A Python float that answers as a value on a tape must, and that NumPy takes for a Python float.

    NumPy takes a subclass of float for a float64, unless it is told better by its two protocols. What
    operations make of Python's numbers alone is a float64, as everywhere; only the operators of `Traced`
    keep to Python's arithmetic.
    """

    __slots__ = ()

    shape: tuple[int, ...] = ()
    ndim = 0
    size = 1
    dtype = np.dtype(float)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(np.float64(self), name)

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(float(self))[index]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map(_exact, inputs), **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*map(_exact, args), **{name: _exact(value) for name, value in kwargs.items()})

    __add__, __radd__ = _on_numpy(operator.add)
    __sub__, __rsub__ = _on_numpy(operator.sub)
    __mul__, __rmul__ = _on_numpy(operator.mul)
    __truediv__, __rtruediv__ = _on_numpy(operator.truediv)
    __pow__, __rpow__ = _on_numpy(operator.pow)

    def __neg__(self) -> Any:
        return -np.float64(self)

    def __pos__(self) -> Any:
        return np.float64(self)

    def __abs__(self) -> Any:
        return abs(np.float64(self))
