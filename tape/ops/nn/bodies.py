"""What activations are made of: a value and a slope, each written once.

A body is written in the names of NumPy's ufuncs, ``body(ns, x, **attrs)``. On arrays it computes, on values of
a program it makes instructions. Bends, the second derivatives, are written with operations, which take it
from there to all higher orders.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from tape import batch_rules, series
from tape.errors import OptionError, UnsupportedError
from tape.kernels.choices import select
from tape.node import Handle
from tape.op import Op
from tape.ops.special.scipy_ufuncs import PREFIX, narrowed, ufunc_named

__all__ = ["linear_in_pieces", "number", "smooth"]

Body = Callable[..., Any]  # (ns, x, **attrs), with NumPy's ufuncs in the namespace

_ARRAYS = SimpleNamespace(
    **{name: getattr(np, name) for name in "absolute exp expm1 isinf log1p maximum minimum sign".split()},
    where=select,
    ndtr=lambda x: narrowed(ufunc_named("ndtr")(x), (x,)),
)


class _Instructions:
    """The same names, as instructions of a program."""

    def __init__(self, b: Any) -> None:
        self._b = b
        self.where = b.where

    def __getattr__(self, name: str) -> Any:
        return partial(self._b.elementwise, name)

    def ndtr(self, x: Any) -> Any:
        return self._b.cast(self._b.elementwise(PREFIX + "ndtr", x), x.dtype)


def _operation(
    name: str,
    body: Body,
    partial_derivative: Callable[..., Any] | None,
    *,
    taylor: Any = None,
    doc: str | None = None,
) -> Op:
    def forward(x: Any, **attrs: Any) -> Any:
        if x.dtype.kind == "c":
            raise TypeError(f"{name} is a function of real numbers")
        if x.dtype.kind in "biu":
            x = x.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is divided by, or not chosen
            return body(_ARRAYS, x, **attrs)[()]

    def lower(b: Any, x: Any, **attrs: Any) -> Any:
        return body(_Instructions(b), b.cast(x, np.float64) if x.dtype.kind in "biu" else x, **attrs)

    rules = None if partial_derivative is None else [partial_derivative]
    return Op(
        forward,
        name=name,
        vjp=rules,
        jvp=rules,
        taylor=taylor,
        batch=batch_rules.elementwise,
        lower=lower,
        doc=doc,
        widens=True,
    )


def smooth(name: str, body: Body, slope: Body, bend: Callable[..., Any], doc: str | None = None) -> Op:
    """An operation by its value, its derivative and ``bend(d, x)``, d times the second derivative.

    The bend is written with operations, which take it from there to all higher orders.
    """
    slope_op = _operation(f"{name}_slope", slope, lambda d, out, x, **attrs: bend(d, x, **attrs))
    return _operation(name, body, lambda d, out, x, **attrs: d * slope_op(x, **attrs), doc=doc)


def linear_in_pieces(name: str, body: Body, passed: Callable[..., Any], doc: str | None = None) -> Op:
    """An operation that is linear in pieces; ``passed(d, x)`` is d times the derivative."""
    return _operation(
        name, body, lambda d, out, x, **attrs: passed(d, x, **attrs), taylor=series.linear, doc=doc
    )


def number(what: str, given: Any) -> float:
    """A setting, which is a plain number."""
    if isinstance(given, Handle):
        raise UnsupportedError(f"{what} is a Var. Pass a number, or multiply by the Var outside")
    try:
        return float(given)
    except (TypeError, ValueError):
        raise OptionError(f"{what} is {given!r}. Pass a number") from None
