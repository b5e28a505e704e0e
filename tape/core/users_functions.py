"""Functions of users, as an `Op` calls them: forward functions and rules that are not of this library.

They may keep an array that they return, and use it again: then the caller gets a copy. If they write to an
array that they were given, which other operations and rules read as well, that is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dis import get_instructions
from functools import lru_cache, update_wrapper
from sys import getrefcount
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from tape import errors
from tape.core.failures import is_of_a_library
from tape.core.held import sample

Rules = TypeVar("Rules")

__all__ = ["as_own", "checked_rules", "own_parts", "unwritten"]

_SMALL = 1 << 12
"""Bytes of arrays that are compared as a whole; of larger ones, some elements are."""


def as_own(value: np.ndarray, holders: int = 1) -> np.ndarray:
    """Return an array that a function has returned: a copy, if something else holds it or its memory.

    Parameters
    ----------
    value : numpy.ndarray
        The array.
    holders : int
        How many references the caller has.
    """
    base, references = value.base, _references(value)
    if base is None:
        is_own = value.flags.owndata
    else:  # memory of something else than an array may be anyone's
        is_own = type(base) is np.ndarray and base.flags.owndata and _references(base) <= _OF_BASE
    return value if is_own and references < _OF_OWN + holders else value.copy()


def own_parts(found: Any) -> Any:
    """Return what a function has returned, an array or several, as arrays that nothing else holds.

    References are counted: the caller must have bound it to one name, and call this with that.
    """
    if type(found) is np.ndarray:
        return as_own(found, 2)
    if not isinstance(found, (list, tuple)):
        return found
    is_kept = _references(found) > _OF_OWN
    parts = [
        part if type(part) is not np.ndarray else part.copy() if is_kept else as_own(part, 2)
        for part in found
    ]
    return parts if isinstance(found, list) else tuple(parts)


def _references(value: Any) -> int:
    return getrefcount(value)


def _fresh() -> tuple[int, int]:
    """Return how many references `as_own` finds to an array that its caller alone has, and to its base."""

    def found(value: np.ndarray) -> tuple[int, int]:
        base, references = value.base, _references(value)
        return references, _references(base)

    value = np.empty(2)[:1]
    return found(value)


_OF_OWN, _OF_BASE = _fresh()


def unwritten(function: Callable[..., Any], what: str, given: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Call a function, and check that it has not written to the arrays that it was given.

    Raises
    ------
    InPlaceError
        If it has.
    """
    if type(function) is np.ufunc or (type(function) is FunctionType and not _may_write(function.__code__)):
        return function(*given, **attrs)
    arrays = _arrays(given)
    before = [*map(_content, arrays)]
    found = function(*given, **attrs)
    if [*map(_content, arrays)] != before:
        changed = next(array for array, print in zip(arrays, before, strict=True) if _content(array) != print)
        raise errors.InPlaceError(
            f"{what} wrote to an array that it was given, {errors.describe(changed)}: other operations and "
            "rules read that as well. Make a new array, as in `g = g * 2` in place of `g *= 2`"
        )
    return found


@lru_cache(maxsize=1024)
def _may_write(code: CodeType) -> bool:
    """Return whether code calls anything, or writes to what is not a variable of its own."""
    return any(
        one.opname.startswith(_CALLS_OR_WRITES) or (one.opname == "BINARY_OP" and one.argrepr.endswith("="))
        for one in get_instructions(code)
    )


_CALLS_OR_WRITES = (
    "CALL",
    "PRECALL",
    "STORE_S",
    "STORE_A",
    "DELETE_S",
    "DELETE_A",
    "BEFORE_WITH",
    "LOAD_SPECIAL",
)


def checked_rules(rules: Rules, mode: str, name: str) -> Rules:
    """Return rules of an operation: the same if all are of this library, else such that return own arrays."""
    given, what = cast("Any", rules), f"the {mode} rule of {name}"
    if all(rule is None or is_of_a_library(rule) for rule in ([given] if callable(given) else given or ())):
        return rules
    checked = _checked(given, what) if callable(given) else [rule and _checked(rule, what) for rule in given]
    return cast("Rules", checked)


class _Checked:
    """A rule of a user: what it returns is its own, and what it is given it may not write to."""

    def __init__(self, rule: Callable[..., Any], what: str) -> None:
        update_wrapper(self, rule)
        self._rule = rule
        self._what = what

    def __call__(self, *given: Any, **attrs: Any) -> Any:
        found = unwritten(self._rule, self._what, given, attrs)
        return found if _is_of(given[0], found) else own_parts(found)


def _checked(rule: Callable[..., Any], what: str) -> Callable[..., Any]:
    return rule if is_of_a_library(rule) or type(rule) is _Checked else _Checked(rule, what)


def _is_of(adjoint: Any, found: Any) -> bool:
    """Return whether a rule has returned the adjoint, or a view of it."""
    if type(found) is not np.ndarray or type(adjoint) is not np.ndarray:
        return False
    return found is adjoint or (
        found.base is not None and (found.base is adjoint or found.base is adjoint.base)
    )


def _arrays(given: Sequence[Any]) -> list[np.ndarray]:
    arrays = [value for value in given if type(value) is np.ndarray]
    for several in given if len(arrays) < len(given) else ():  # results, or tangents
        if isinstance(several, (tuple, list)):
            arrays += _arrays(several)
    return arrays


def _content(array: np.ndarray) -> bytes:
    """Return the elements of a small array, some of a larger one."""
    return (array if array.nbytes <= _SMALL else sample(array)).tobytes()
