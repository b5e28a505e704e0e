"""Ways from a Var to a plain number or array: which are open, and what is remembered or said where not.

What has no derivative converts freely: integers, bools, and what depends on no param. Any other number would
take no derivative along. A strict trace, as transforms open, refuses; another one remembers the line, and its
sweeps warn if what they start from was computed later. `Var` asks here; `Trace` keeps what is `Taken`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from tape import errors
from tape.conversion.callers import Caller
from tape.core.interpreter import OPEN, interceptor
from tape.core.node import Handle

__all__ = [
    "NotFree",
    "Taken",
    "check_array",
    "check_hash",
    "check_number",
    "freed",
    "is_free",
    "refuse_tried",
    "tried",
]

_INTEGERS = "biu"
_CURE = "where the number alone is wanted, take it from tape.stop_gradient(v)"


class Taken:
    """The numbers that were taken out of a trace: where, and how much was recorded by then.

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
        """Remember that the user's line took a number, when there were ``count`` nodes."""
        self._counts.setdefault((how, errors.user_place(), is_active), count)

    def before(self, root: int, *, inactive: bool = False) -> list[str]:
        """List conversions before a node was recorded; on request also those without a derivative."""
        return [
            f"{how} at {place}"
            for (how, place, is_active), count in self._counts.items()
            if count <= root and (is_active or inactive)
        ]

    def warn(self, doing: str, root: int, *, inactive: bool = False) -> None:
        """Warn about numbers that what is done to a root does not see as depending on anything."""
        found = self.before(root, inactive=inactive)
        if found:
            what = "the root was computed" if doing != "replay" else "all was recorded"
            more = f" and {len(found) - 3} more" if len(found) > 3 else ""
            warnings.warn(
                f"{doing}: before {what}, plain numbers were taken out of the trace by "
                f"{', '.join(found[:3])}{more}. What was computed with them does not depend on anything any "
                "more. Compute with the Var itself, np.log(v) for math.log(v); .value in place of float() "
                f"says that the number alone is meant [at {errors.user_place()}]",
                errors.LostDerivativeWarning,
                stacklevel=errors.user_depth(),
            )


def is_free(var: Any) -> bool:
    """Whether a Var has no derivative to lose, at any depth of nesting.

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
    """Whether a Var depends on a param of its own trace, and nobody has said that this shall not be seen."""
    trace = var.trace_ref()
    if trace is None or not var.node.is_active:  # nobody can sweep over a trace that is gone
        return False
    over = interceptor(trace.level) if OPEN else None
    return over is None or not over.is_constant


def check_number(var: Any, how: str) -> None:
    """Raise if a number that is taken from a Var would lose its derivative, or let its trace remember.

    Parameters
    ----------
    var : Var
        Of one element.
    how : str
        What takes it: ``float()``, ...

    Raises
    ------
    ConversionError
        On a strict trace; on any other in a function of NumPy's that does not ask about this argument.
    InPlaceError
        If it is written into a plain array.
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
                f"{var!r} was about to become a plain number{_within(caller)}, which does not ask about this "
                f"argument: its derivative would be lost. {_advice(caller, 'Call the function in tape.ops')}"
            )
        if caller.is_storing:
            raise errors.InPlaceError(
                f"{var!r} was about to be written into a plain array, which would lose its derivative. "
                "Make the array with np.zeros_like(x) of a Var x, or np.zeros(shape, like=x); or collect the "
                "Vars in a list and np.stack them"
            )
        if trace.is_strict:
            advice = _advice(caller, _OTHERWISE.get(how, "Compute with the Var itself"))
            within = how if how.startswith(f"{caller.name}(") else caller.name or how
            raise errors.ConversionError(
                f"{var!r} was about to become a plain number in {within}, which would lose its "
                f"derivative. {advice}; {_CURE} or .value"
            )
    trace.take(how, is_active)


_OTHERWISE = {
    "int()": "Write int(tape.stop_gradient(v)), or np.floor(v).astype(int) of whole arrays",
    ".item()": "Compute with the Var itself, v[i] for v.item(i)",
}


def check_array(var: Any) -> None:
    """Raise if a Var that becomes a plain array would lose its derivative, or let its trace remember.

    Raises
    ------
    ConversionError
        If it has one.
    """
    refuse_tried(var)
    if var.node.value.dtype.kind in _INTEGERS:
        return
    if has_derivative(var):
        caller = Caller()
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


def tried(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function in which no Var may become a plain array, for those who can join Vars themselves.

    Raises
    ------
    ConversionError
        If one was about to, whether it has a derivative or not.
    """
    return function(*args, **kwargs)


def refuse_tried(var: Any) -> None:
    """Raise if a Var is about to become a plain array in a function that is only `tried`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and errors.is_foreign(frame.f_code.co_filename):
        if frame.f_code is tried.__code__:
            raise errors.ConversionError(f"{var!r} is in a list. Use tape.numpy.array, or np.stack")
        frame = frame.f_back


def check_hash(var: Any) -> None:
    """Raise if a Var becomes a key or an element of a set where numbers are meant.

    Raises
    ------
    ConversionError
        If it is a number on a strict trace: a transform calls code that was written for plain numbers, of
        which equal ones are one key.
    """
    trace = var.trace_ref()
    if trace is not None and trace.is_strict and not var.ndim:
        raise errors.ConversionError(
            f"{var!r} was about to be a key of a dict or an element of a set, where it would differ from "
            "equal numbers. Use float(tape.stop_gradient(v)) as the key, int(v) of an integer, or id(v) for "
            "the Var itself"
        )


def freed(argument: Any) -> Any:
    """An argument with plain arrays in place of the Vars in it, if none of these has a derivative.

    Raises
    ------
    NotFree
        If one has.
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
    """A Var has a derivative: for those who would go on without it."""


def _within(caller: Caller) -> str:
    return f" in {caller.name}" if caller.name else ""


def _advice(caller: Caller, otherwise: str) -> str:
    return caller.counterpart or otherwise
