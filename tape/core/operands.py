"""Operands: arrays of numbers or bools, numbers and Vars. Anything else is converted, or refused.

Knows nothing of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from numbers import Number
from typing import Any, TypeVar

import numpy as np

from tape import errors
from tape.conversion.foreign import complaint, copies, defers_to
from tape.core.dispatch import lift, recorder
from tape.core.interpreter import OPEN
from tape.core.node import Handle
from tape.core.results import Results

_PYTHON_SCALARS = (float, int, bool, complex)
FAST = frozenset({*_PYTHON_SCALARS, np.float64, np.float32, np.complex128, np.complex64})
"""Types of scalars that are good operands without a check, and adjoints without fitting."""


def as_operand(operand: Any) -> Any:
    """Return an operand as rules rely on it: a Var, an ndarray, or a Python or NumPy scalar.

    Python scalars stay what they are, so that they do not widen float32.
    """
    if type(operand) is np.ndarray:
        if operand.dtype.kind in "fiubc":
            return operand
    elif type(operand) in FAST or isinstance(operand, Handle) or type(operand) is Results:
        return operand
    elif (wrong := complaint(operand)) is not None:
        raise errors.DTypeError(f"an operand is {wrong}")
    else:
        operand = _converted(operand)
    kind = operand.dtype.kind
    if kind not in "biufc":
        raise errors.DTypeError(
            f"an operand is {errors.describe(operand)}. It must hold numbers or bools; for a list of Vars "
            "use np.stack or np.concatenate"
        )
    return operand if operand.ndim else operand[()]


def _converted(thing: Any) -> np.ndarray:
    """Return an array of what is none, such as a list or a column of a table."""
    try:
        array = np.asarray(thing)
    except ValueError as error:
        raise errors.ShapeError(f"an operand is no regular array: {error}") from error
    except errors.TapeError:  # of a Var within it
        raise
    except Exception as error:  # whatever an object raises that is asked whether it is an array
        raise errors.DTypeError(f"an operand is {errors.describe(thing)}, which is no array") from error
    is_read_anew = isinstance(thing, (list, tuple, range, np.generic, Number)) or not array.size
    if OPEN and not is_read_anew and recorder() is not None and copies(thing, array):
        raise errors.ConversionError(
            f"an operand is of {type(thing)}, whose numbers are copied when it becomes an array: a program "
            "would not see them change. Make an array of it outside, by np.asarray(...), and close over that"
        )
    return array


def lift_all(operands: Sequence[Any]) -> Sequence[Any] | None:
    """Return plain operands, arrays as Vars of the program that is being recorded; None if none is."""
    if any(type(operand) is np.ndarray and operand.dtype.kind in "fiubc" for operand in operands):
        seen = [lift(operand) if type(operand) is np.ndarray else operand for operand in operands]
        return seen if any(isinstance(operand, Handle) for operand in seen) else None
    return None


def lifted(value: Any) -> Any:
    """Return a value with all arrays in it as Vars of the program that is being recorded, if one is.

    Looks into lists and tuples.
    """
    if type(value) is np.ndarray:
        return lift(value) if value.dtype.kind in "fiubc" else value
    if type(value) in (list, tuple):
        parts = [lifted(part) for part in value]
        if any(part is not one for part, one in zip(parts, value, strict=True)):
            return type(value)(parts)
    return value


F = TypeVar("F", bound=Callable[..., Any])


def composed(function: F) -> F:
    """Decorate a function of users that computes with its arguments before the first operation sees them.

    Without it a program would keep what was computed from the content of an array that is closed over: while
    a program is recorded, arrays are Vars to the function.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.core.operands import composed
    >>> @composed
    ... def distance(x, y):
    ...     return abs(x - y)
    >>> y = np.array([1.0, 2.0])
    >>> f = tape.compile(lambda x: x * distance(y, 0.0))
    >>> f(1.0)
    array([1., 2.])
    >>> y *= 2
    >>> f(1.0)
    array([2., 4.])
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if OPEN and recorder() is not None:
            return function(*map(lifted, args), **{key: lifted(value) for key, value in kwargs.items()})
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def other_operand(operand: Any) -> Any:
    """Return the other operand of an operator, as `as_operand`; NotImplemented if that one is to compute."""
    if type(operand) is np.ndarray and operand.dtype.kind in "fiubc":
        return operand
    return as_operand(operand) if isinstance(operand, Handle) or not defers_to(operand) else NotImplemented


def plain_operands(operands: Sequence[Any]) -> Sequence[Any]:
    """Return the operands of a call without Vars; Python scalars among themselves become NumPy's."""
    for operand in operands:
        if type(operand) not in _PYTHON_SCALARS:
            return [as_operand(operand) for operand in operands]
    return [np.asarray(operand)[()] for operand in operands]


def tell_places(error: Exception, operands: Sequence[Any]) -> None:
    """Add to an error where its operands were recorded, as far as their traces know."""
    for k, operand in enumerate(operands):
        site = operand.node.site if isinstance(operand, Handle) else None
        if site is not None:
            shown = errors.describe(operand.node.value)
            error.add_note(f"operand {k}, {shown}, is node %{operand.id}, recorded at {site}: {site.text}")
