"""Operators of traced Python numbers, with Python's types, rounding and exceptions.

A number that was a Python float is weak: it does not widen float32, nor do results of arithmetic among weak
numbers. Exceptions that Python raises for such numbers are raised here, too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tape import errors, ops
from tape.core.dispatch import resolve
from tape.core.nesting import is_number, traced
from tape.core.node import Handle, plain
from tape.core.op import Op
from tape.core.weak import WeakBool, exact, weak
from tape.program.record.proxies import Proxy


def weakly(function: Callable[..., Any], arithmetic: Callable[[Any, Any], Any]) -> Any:
    """Return an operator whose result is weak if both operands are, and the reflected one."""

    def method(self: Any, other: Any) -> Any:
        if type(other) is Proxy:
            return NotImplemented
        if _is_weak(self) and _is_weak(other):
            x, y = _inside(self), _inside(other)
            if x is not self or y is not other:
                return arithmetic(x, y)
            return _among_numbers(function, arithmetic, self, other)
        return function(self, other)

    return method, lambda self, other: method(other, self)


def weakly_compared(function: Callable[..., Any], comparison: Callable[[Any, Any], Any]) -> Any:
    """Return a comparison whose result is a Python bool if both operands are Python numbers."""

    def method(self: Any, other: Any) -> Any:
        if _is_weak(self) and _is_weak(other):
            x, y = _inside(self), _inside(other)
            if x is not self or y is not other:
                return comparison(x, y)
            number = comparison(exact(plain(self)), exact(plain(other)))
            return _weakened(_exactly_compared(function, self, other), number)
        if (other is None or isinstance(other, str)) and comparison in (operator.eq, operator.ne):
            # NumPy compares a string with each element, and None with those of arrays: none is equal.
            if _is_weak(self) or (other is None and not self.ndim):
                return NotImplemented
            return np.full(self.shape, comparison is operator.ne)[()]
        is_theirs = other is None or type(other) is Proxy or isinstance(other, str)
        return NotImplemented if is_theirs else function(self, other)

    return method


def _exactly_compared(function: Callable[..., Any], x: Any, y: Any) -> Any:
    """Compare numbers as Python does; NumPy rounds an integer that it compares with a float."""
    kinds = [_kind(x), _kind(y)]
    if kinds not in (["i", "f"], ["f", "i"]):
        return function(x, y)
    integer, number = (x, y) if kinds[0] == "i" else (y, x)
    if type(integer) is int and not 2**53 < abs(integer) < 2**63:  # up to 2**53 every integer is a float
        return function(x, y)

    def compared(integer: Any, number: Any) -> Any:
        return function(*((integer, number) if kinds[0] == "i" else (number, integer)))

    is_tie = ops.equal(ops.astype(integer, np.float64), number)
    fits = ops.less(number, 2.0**63)  # which is larger than any integer of 64 bits, and may be a tie
    whole = ops.astype(ops.where(ops.logical_and(is_tie, fits), number, 0.0), np.int64)
    in_ties = ops.where(fits, compared(integer, whole), compared(-1, 0))
    return ops.where(is_tie, in_ties, function(x, y))


def _kind(number: Any) -> str:
    return (
        plain(number).dtype.kind
        if isinstance(number, Handle)
        else {int: "i", float: "f"}.get(type(number), "")
    )


def weakly_logical(function: Callable[..., Any], operation: Callable[[Any, Any], Any]) -> Any:
    """Return such an operator for ``&``, ``|`` and ``^``."""

    def method(self: Any, other: Any) -> Any:
        if type(other) is Proxy:
            return NotImplemented
        if _is_weak(self) and _is_weak(other):
            x, y = _inside(self), _inside(other)
            if x is not self or y is not other:
                return operation(x, y)
            numbers = exact(plain(self)), exact(plain(other))
            operands = _unless_bool(self), _unless_bool(other)
            has_bool = operands[0] is not self or operands[1] is not other
            if has_bool and not all(isinstance(number, bool) for number in numbers):
                return operation(*operands)
            with self.trace.raising():
                number = operation(*numbers)  # raises what Python raises for floats
            return _weakened(function(self, other), number)
        return function(self, other)

    return method


def weakly_unary(function: Callable[..., Any], operation: Callable[[Any], Any]) -> Any:
    """Return an operator of one operand whose result is weak if the operand is."""

    def method(self: Any) -> Any:
        if not _is_weak(self):
            return function(self)
        number = _unless_bool(_inside(self))
        if number is not self:
            return operation(number)
        return _weakened(function(self), operation(exact(plain(self))))

    return method


def weakly_rounded(number: Any, ndigits: int) -> Any:
    """Round to a number of digits, as Python does for a Python number."""
    if not _is_weak(number):
        return ops.round(number, ndigits)
    unless_bool = _unless_bool(_inside(number))
    if unless_bool is not number:
        return round(unless_bool, ndigits)
    return _weakened(_round(number, ndigits=ndigits), round(exact(plain(number)), ndigits))


def _inside(number: Any) -> Any:
    """Return what a number is where code runs again with others in its place, as the function of a solver."""
    found = resolve(number)
    return number if found is number or isinstance(found, Handle) else np.asarray(found).item()


def _is_weak(operand: Any) -> bool:
    """Return whether this is a Python number, or was one before it was traced."""
    return type(operand) in _NUMBERS or is_number(operand)


def _unless_bool(operand: Any) -> Any:
    """Return an operand; a traced Python bool is read, since Python computes with it as an int."""
    is_bool = isinstance(operand, Handle) and isinstance(operand.node.value, WeakBool)
    return bool(operand) if is_bool else operand


_NUMBERS = frozenset({float, complex, int, bool})
_round = Op(
    lambda x, *, ndigits: np.float64(round(float(x), ndigits)),  # np.round may differ in the last digit
    name="round",
    explains_errors=False,
)
_DIVISIONS = (operator.truediv, operator.floordiv, operator.mod)


def _among_numbers(
    function: Callable[..., Any], arithmetic: Callable[[Any, Any], Any], x: Any, y: Any
) -> Any:
    """Compute with Python numbers, and raise what Python raises where NumPy does not."""
    x, y = _unless_bool(x), _unless_bool(y)
    if not isinstance(x, Handle) and not isinstance(y, Handle):
        return arithmetic(x, y)
    numbers = [exact(z.number) if isinstance(z, Handle) else z for z in (x, y)]  # type: ignore[attr-defined]
    recorder: Any = next(z for z in (x, y) if isinstance(z, Handle)).trace
    with recorder.raising():
        number = arithmetic(*numbers)
    if isinstance(number, complex) and not any(isinstance(z, complex) for z in numbers):
        raise errors.UnsupportedError(
            f"{x!r} ** {y!r} is complex, and with other numbers it would be real. Take the power of the "
            "absolute value, or of a complex number"
        )
    if arithmetic in _DIVISIONS and isinstance(y, Handle):
        bool(y != 0)  # a guard: a call with zero must get here, and raise as Python does
    out = function(x, y)
    if arithmetic is operator.pow and not ops.isfinite(out):  # likewise: of finite numbers, Python raises
        bool(ops.logical_and(ops.isfinite(x), ops.isfinite(y)))
    return _weakened(out, number)


def _weakened(out: Any, number: Any) -> Any:
    """Make the result of an operation weak."""
    found = traced(out)
    if isinstance(found, Handle):
        found.node.value = weak(number)
    return out
