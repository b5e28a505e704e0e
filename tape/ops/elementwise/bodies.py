"""Bodies of activations and losses: values and slopes, each written once.

A body is written in the names of NumPy's ufuncs, ``body(ns, x, **attrs)``. On arrays it computes, on values
of a program it makes instructions. In ``ns.clip`` an infinite bound means no bound. Bends, the second
derivatives, are written with operations, which give all higher orders.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from tape.core import series
from tape.core.elementwise import elementwise
from tape.core.node import Handle
from tape.core.op import Op
from tape.errors import OptionError, UnsupportedError
from tape.kernels.choices import select

Body = Callable[..., Any]


class Arrays:
    """The namespace of bodies on arrays: NumPy, and ufuncs that `tape.program.native.ufuncs` adds to it."""

    where = staticmethod(select)

    def __getattr__(self, name: str) -> Any:
        if not hasattr(np, name):
            import_module("tape.program.native.ufuncs")
            return object.__getattribute__(self, name)
        found = self.__dict__[name] = getattr(np, name)
        return found

    def clip(self, x: Any, low: float, high: float) -> Any:
        return x.clip(low, high)  # np.clip makes three calls before this one


class _Instructions:
    """The namespace of bodies on values of a program."""

    def __init__(self, b: Any) -> None:
        self._b = b
        self.where = b.where

    def __getattr__(self, name: str) -> Any:
        return partial(self._b.elementwise, name)

    def clip(self, x: Any, low: float, high: float) -> Any:
        # Loops of maximum and minimum with a scalar are not vectorized: four times slower than a choice.
        if low > -np.inf:
            x = self.where(x < low, low, x)
        return self.where(x > high, high, x) if high < np.inf else x


_ARRAYS = Arrays()


def _on_arrays(name: str, body: Body) -> Callable[..., Any]:
    """Return a body as the forward function of an operation on real numbers."""

    def forward(*operands: Any, **attrs: Any) -> Any:
        floats = [_as_float(name, x) for x in operands]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # bodies do not choose what is
            out = body(_ARRAYS, *floats, **attrs)
        return out if out.ndim else out[()]

    return forward


def _as_float(name: str, x: Any) -> Any:
    kind = x.dtype.kind if hasattr(x, "dtype") else np.result_type(x).kind
    if kind == "c":
        raise TypeError(f"{name} takes real numbers")
    return x if kind == "f" else np.asarray(x, np.float64)[()]


def _on_values(body: Body) -> Callable[..., Any]:
    """Return a body as the ``lower`` rule of an operation."""

    def lower(b: Any, *operands: Any, **attrs: Any) -> Any:
        values = [b.value(x) for x in operands]
        values = [b.cast(x, np.float64) if x.dtype.kind in "biu" else x for x in values]
        return body(_Instructions(b), *values, **attrs)

    return lower


def pointwise(name: str, body: Body, *partials: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Return an elementwise function by its value and its partial derivatives."""
    return elementwise(_on_arrays(name, body), *partials, lower=_on_values(body), name=name, **options)


def _operation(
    name: str, body: Body, derivative: Callable[..., Any], *, taylor: Any = None, doc: str | None = None
) -> Op:
    """Return an operation of one operand; ``derivative(d, x, **attrs)`` is d times the derivative."""

    def rule(d: Any, out: Any, x: Any, **attrs: Any) -> Any:
        return derivative(d, x, **attrs)

    recorder: Any = pointwise(name, body, rule, taylor=taylor, doc=doc)
    return recorder.op


def smooth(name: str, body: Body, slope: Body, bend: Callable[..., Any], doc: str | None = None) -> Op:
    """Return an operation by its value, its derivative and ``bend(d, x)``, d times the second derivative."""
    slope_op = _operation(f"{name}_slope", slope, bend)
    return _operation(name, body, lambda d, x, **attrs: d * slope_op(x, **attrs), doc=doc)


def linear_in_pieces(name: str, body: Body, passed: Callable[..., Any], doc: str | None = None) -> Op:
    """Return a piecewise linear operation; ``passed(d, x)`` is d times the derivative."""
    return _operation(name, body, passed, taylor=series.linear, doc=doc)


def number(what: str, given: Any) -> float:
    """Return a setting, which must be a plain number."""
    if isinstance(given, Handle):
        raise UnsupportedError(f"{what} is a Var. Pass a number")
    try:
        return float(given)
    except (TypeError, ValueError):
        raise OptionError(f"{what} is {given!r}. Pass a number") from None
