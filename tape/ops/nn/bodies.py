"""What activations and losses are made of: values and slopes, each written once.

A body is written in the names of NumPy's ufuncs, ``body(ns, x, **attrs)``. On arrays it computes, on values
of a program it makes instructions. Bends, the second derivatives, are written with operations, which take it
from there to all higher orders.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tape import batch_rules, series
from tape.errors import OptionError, UnsupportedError
from tape.kernels.choices import select
from tape.node import Handle
from tape.op import Op
from tape.ops.special.scipy_ufuncs import narrowed, ufunc_named

__all__ = ["NORMAL_END", "linear_in_pieces", "number", "on_arrays", "on_values", "smooth"]

Body = Callable[..., Any]


NORMAL_END = 40.0  # exp(-x**2 / 2) is 0 from here on

# SciPy's ndtr takes as long as fifteen exponentials, for want of vector instructions. In programs it is made
# of exp(-x**2 / 2), which the derivative needs too, and a polynomial in (s - x) / (s + x) as Schonfelder 1978
# has it for erfc: the one that equals erfcx(x / sqrt(2)) / 2 at Chebyshev points. It is off by 6e-16, with
# fewer terms by 1e-9. Highest powers first.
_MILLS_SCALE = 3.75
_MILLS = (
    2.4937895704232475e-09, -4.337428532342717e-09, -2.0596824222923824e-08, 5.040776769796889e-08,
    7.959380353703709e-08, -3.4592996998349024e-07, -1.3847527845000608e-07, 1.9928915181877478e-06,
    -5.066057771600793e-07, -1.161837200223312e-05, 6.286446035661689e-06, 7.827099881094145e-05,
    -1.8678659848304333e-05, -0.0006363705163500866, -0.0007108293166107486, 0.004842796456578091,
    0.0252008254432792, 0.06726089638745238, 0.12548377004197753, 0.1784643320136225,
    0.100039209635453,
)  # fmt: skip
_MILLS_SINGLE = (
    5.573128952036654e-05, -5.3846405315027825e-06, -0.0006182737565593402, -0.0007217617829159197,
    0.00483657860175084, 0.025204616790086832, 0.06726166013763148, 0.12548330253535128,
    0.1784643167897572, 0.10003921896115081,
)  # fmt: skip


class _Arrays:
    """NumPy, with what it lacks."""

    where = staticmethod(select)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def ndtr(self, x: Any) -> Any:
        return narrowed(ufunc_named("ndtr")(x), (x,))


class _Instructions:
    """The same names, as instructions of a program."""

    def __init__(self, b: Any) -> None:
        self._b = b
        self.where = b.where

    def __getattr__(self, name: str) -> Any:
        return partial(self._b.elementwise, name)

    def ndtr(self, x: Any) -> Any:
        held = self.minimum(self.maximum(x, -NORMAL_END), NORMAL_END)
        place = 2 * _MILLS_SCALE / (_MILLS_SCALE + self.absolute(held)) - 1
        first, *rest = _MILLS if x.dtype == np.float64 else _MILLS_SINGLE
        ratio: Any = first
        for coefficient in rest:
            ratio = ratio * place + coefficient
        tail = self.exp(held * held * -0.5) * ratio
        return self.where(x > 0, 1 - tail, tail)


_ARRAYS = _Arrays()


def on_arrays(name: str, body: Body) -> Callable[..., Any]:
    """A body as the forward function of an operation on real numbers."""

    def forward(*operands: Any, **attrs: Any) -> Any:
        if any(np.result_type(x).kind == "c" for x in operands):
            raise TypeError(f"{name} is a function of real numbers")
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # bodies do not choose what is
            out = body(_ARRAYS, *(_as_float(x) for x in operands), **attrs)
        return out if out.ndim else out[()]

    return forward


def _as_float(x: Any) -> Any:
    return np.asarray(x, np.float64)[()] if np.result_type(x).kind in "biu" else x


def on_values(body: Body) -> Callable[..., Any]:
    """A body as the ``lower`` rule of an operation."""

    def lower(b: Any, *operands: Any, **attrs: Any) -> Any:
        values = [b.value(x) for x in operands]
        values = [b.cast(x, np.float64) if x.dtype.kind in "biu" else x for x in values]
        return body(_Instructions(b), *values, **attrs)

    return lower


def _operation(
    name: str, body: Body, derivative: Callable[..., Any], *, taylor: Any = None, doc: str | None = None
) -> Op:
    """An operation of one operand; ``derivative(d, x, **attrs)`` is d times the derivative."""

    def rule(d: Any, out: Any, x: Any, **attrs: Any) -> Any:
        return derivative(d, x, **attrs)

    return Op(
        on_arrays(name, body),
        name=name,
        vjp=[rule],
        jvp=[rule],
        taylor=taylor,
        batch=batch_rules.elementwise,
        lower=on_values(body),
        doc=doc,
        widens=True,
    )


def smooth(name: str, body: Body, slope: Body, bend: Callable[..., Any], doc: str | None = None) -> Op:
    """An operation by its value, its derivative and ``bend(d, x)``, d times the second derivative."""
    slope_op = _operation(f"{name}_slope", slope, bend)
    return _operation(name, body, lambda d, x, **attrs: d * slope_op(x, **attrs), doc=doc)


def linear_in_pieces(name: str, body: Body, passed: Callable[..., Any], doc: str | None = None) -> Op:
    """An operation that is linear in pieces; ``passed(d, x)`` is d times the derivative."""
    return _operation(name, body, passed, taylor=series.linear, doc=doc)


def number(what: str, given: Any) -> float:
    """A setting, which is a plain number."""
    if isinstance(given, Handle):
        raise UnsupportedError(f"{what} is a Var. Pass a number")
    try:
        return float(given)
    except (TypeError, ValueError):
        raise OptionError(f"{what} is {given!r}. Pass a number") from None
