"""Conversions of a Var to a plain number or array: those that are allowed, refused, or reported.

Values without a derivative convert freely: integers, bools, and Vars that depend on no param. Any other
conversion loses the derivative. A strict trace, as transforms open, refuses it; another one stores the line,
and its sweeps warn if their root was computed later. `Var` calls the checks here; `Trace` keeps the `Taken`
numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from tape import errors
from tape.conversion.callers import Caller
from tape.core.dispatch import interceptor
from tape.core.interpreter import OPEN
from tape.core.node import Handle

_INTEGERS = "biu"
_CURE = "if only the number is needed, convert tape.stop_gradient(v)"


class Taken:
    """The plain numbers that were taken out of a trace: the places, and the number of nodes by then.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace()
    >>> x = tr.param(3.0)
    >>> y = x * float(x)
    >>> tr.taken.before(y.id)
    ['float() at ...']
    """

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, bool], int] = {}

    def add(self, how: str, count: int, is_active: bool) -> None:
        """Store that the user's line took a number, when there were ``count`` nodes."""
        self._counts.setdefault((how, errors.user_place(), is_active), count)

    def before(self, root: int, *, inactive: bool = False) -> list[str]:
        """List conversions before a node was recorded, with ``inactive`` also those without a derivative."""
        return [
            f"{how} at {place}"
            for (how, place, is_active), count in self._counts.items()
            if count <= root and (is_active or inactive)
        ]

    def warn(self, doing: str, root: int, *, inactive: bool = False) -> None:
        """Warn about numbers that were taken before a root was computed: a sweep cannot see them."""
        found = self.before(root, inactive=inactive)
        if found:
            what = "the root was computed" if doing != "replay" else "all was recorded"
            more = f" and {len(found) - 3} more" if len(found) > 3 else ""
            errors.warn(
                f"{doing}: before {what}, plain numbers were taken out of the trace by "
                f"{', '.join(found[:3])}{more}. Results computed with them have no derivative. Compute "
                "with the Var itself, np.log(v) for math.log(v); or use .value in place of float() if only "
                "the number is needed",
                errors.LostDerivativeWarning,
            )


def is_free(var: Any) -> bool:
    """Return whether a Var has no derivative to lose, at any depth of nesting.

    Examples
    --------
    >>> import tape
    >>> from tape.conversion.numbers import is_free
    >>> tr = tape.Trace()
    >>> x = tr.param(3.0)
    >>> is_free(x), is_free(x > 2), is_free(tape.stop_gradient(x))
    (False, True, True)
    """
    while isinstance(var, Handle):
        value = var.node.value
        trace = var.trace_ref()
        if trace is not None and trace.is_batch:
            return False
        if not isinstance(value, Handle) and value.dtype.kind in _INTEGERS:
            return True
        if has_derivative(var) or var.is_traced:
            return False
        var = value
    return True


def has_derivative(var: Any) -> bool:
    """Return whether a Var depends on a param of its own trace, outside of `tape.no_grad`."""
    trace = var.trace_ref()
    if trace is None or not var.node.is_active:  # a freed trace has no sweeps
        return False
    over = interceptor(trace.level) if OPEN else None
    return over is None or not over.is_constant


def check_number(var: Any, how: str) -> None:
    """Check that a conversion to a number loses no derivative; store it if the trace is not strict.

    Parameters
    ----------
    var : Var
        A Var of one element.
    how : str
        The conversion: ``float()``, ...

    Raises
    ------
    ConversionError
        On a strict trace; on others in a NumPy function that does not dispatch on this argument.
    InPlaceError
        If it is written to a plain array.
    """
    if var.node.value.dtype.kind in _INTEGERS:
        return
    trace = var.trace_ref()
    if trace is None:
        return
    caller = Caller()
    if caller.is_formatting:
        return
    is_active = has_derivative(var)
    if is_active:
        if caller.is_numpy and not trace.is_strict:
            raise errors.ConversionError(
                f"{var!r} was about to become a plain number{_within(caller)}, which does not dispatch on "
                "this argument: its derivative would be lost. "
                f"{_advice(caller, 'Call the function in tape.ops')}"
            )
        if caller.is_storing:
            raise _written(var)
        if trace.is_strict:
            advice = _advice(caller, _OTHERWISE.get(how, "Compute with the Var itself"))
            within = how if how.startswith(f"{caller.name}(") else caller.name or how
            raise errors.ConversionError(
                f"{var!r} was about to become a plain number in {within}, which would lose its "
                f"derivative. {advice}; {_CURE} or .value"
            )
    trace.take(how, is_active)


WRITTEN = (
    "Make the array with np.zeros_like(x) of a Var x, or np.zeros(shape, like=x); or collect the Vars in a "
    "list and np.stack them"
)
"""What to do instead of writing a Var to a plain array."""


def _written(var: Any) -> errors.InPlaceError:
    return errors.InPlaceError(
        f"{var!r} was about to be written to a plain array, which would lose its derivative. {WRITTEN}"
    )


_OTHERWISE = {
    "int()": "Write int(tape.stop_gradient(v)), or np.floor(v).astype(int) of whole arrays",
    ".item()": "Compute with the Var itself, v[i] for v.item(i)",
}


def check_array(var: Any) -> None:
    """Check that converting a Var to an array loses no derivative.

    Raises
    ------
    ConversionError
        If it has a derivative.
    InPlaceError
        If it is written to a plain array.
    """
    refuse_tried()
    if var.node.value.dtype.kind in _INTEGERS:
        return
    if has_derivative(var):
        caller = Caller()
        if caller.is_storing:
            raise _written(var)
        otherwise = (
            "Use np.stack or np.concatenate to join Vars; in place of the call use NumPy's own functions, "
            "or those of tape.ops"
        )
        raise errors.ConversionError(
            f"{var!r} was about to become a plain array{_within(caller)}, which would lose its derivative. "
            f"{_advice(caller, otherwise)}; {_CURE}, or .value for the plain array"
        )
    trace = var.trace_ref()
    if trace is not None:
        trace.take("a conversion to an array", False)


class _InList(errors.ConversionError):
    """What a function that is called by `tried` raises, for each list of Vars: without a place."""

    def __init__(self) -> None:
        Exception.__init__(self, "a Var is in a list. Use tape.numpy.array, or np.stack")


def tried(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function, and raise if it converts a Var to a plain array; for callers that then join Vars.

    Raises
    ------
    ConversionError
        If it converts a Var, whether that has a derivative or not.
    """
    return function(*args, **kwargs)


def refuse_tried() -> None:
    """Raise if a function that is called by `tried` converts a Var to a plain array."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and errors.is_foreign(frame.f_code.co_filename):
        if frame.f_code is tried.__code__:
            raise _InList
        frame = frame.f_back


def check_hash(var: Any) -> None:
    """Check that a Var on a strict trace is not used as a key or an element of a set in place of a number.

    Raises
    ------
    ConversionError
        If it is a scalar on a strict trace: a transform calls code that was written for plain numbers, where
        equal ones are one key.
    """
    trace = var.trace_ref()
    if trace is not None and trace.is_strict and not var.ndim:
        raise errors.ConversionError(
            f"{var!r} was about to be a key of a dict or an element of a set, where it would differ from "
            "equal numbers. Use float(tape.stop_gradient(v)) as the key, int(v) of an integer, or id(v) for "
            "the Var itself"
        )


def freed(argument: Any) -> Any:
    """Return an argument with plain arrays in place of its Vars, if none of these has a derivative.

    Raises
    ------
    NotFree
        If any Var has a derivative.
    """
    if isinstance(argument, (list, tuple)):
        parts = [freed(part) for part in argument]
        return parts if isinstance(argument, list) else tuple(parts)
    if not isinstance(argument, Handle):
        return argument
    if not is_free(argument):
        raise NotFree
    return np.asarray(argument)


class NotFree(Exception):
    """Raised by `freed` if a Var has a derivative; callers handle it."""


def _within(caller: Caller) -> str:
    return f" in {caller.name}" if caller.name else ""


def _advice(caller: Caller, otherwise: str) -> str:
    return caller.counterpart or otherwise
