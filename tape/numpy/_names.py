"""Modules that forward the names of another one, and functions of NumPy that take lists of Vars."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from tape.conversion.numbers import tried
from tape.errors import ConversionError
from tape.numpy._conversion import array, holds_vars, numpy_like, starts_with_var

_DISPATCHER = type(np.sum)

_LISTS_FIRST: tuple[Any, ...] = (
    np.block, np.column_stack, np.concatenate, np.dstack, np.histogramdd, np.hstack, np.lexsort,
    np.linalg.multi_dot, np.ravel_multi_index, np.stack, np.vstack,
)  # fmt: skip
_OF_SEQUENCES: dict[Callable[..., Any], int] = {**dict.fromkeys(_LISTS_FIRST, 1), np.select: 2}
"""Functions whose first arguments, as many as given, are lists of arrays and not arrays."""


def names_of(source: Any, target: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a module that forwards the names of another one.

    Parameters
    ----------
    source : module or object
        What to look names up in.
    target : dict
        The ``globals()`` of the module that forwards them; names are stored there on first use.

    Returns
    -------
    tuple of callable

    Examples
    --------
    >>> import math
    >>> from tape.numpy._names import names_of
    >>> look_up, names = names_of(math, {})
    >>> look_up("pi") is math.pi
    True
    """

    def look_up(name: str) -> Any:
        if name == "__path__":  # with it, the module would be a package of the source's submodules
            raise AttributeError(name)
        found = getattr(source, name)
        if type(found) is _DISPATCHER:
            found = _taking_lists(found)
        elif found in _CREATION:
            found = _beside_numbers(found)
        if not name.startswith("__"):
            target[name] = found
        return found

    def names() -> list[str]:
        return [name for name in dir(source) if name != "__path__"]

    return look_up, names


_CREATION: tuple[Any, ...] = (np.empty, np.eye, np.frombuffer, np.fromfunction, np.identity, np.ones, np.tri,
                              np.zeros)  # fmt: skip


def _beside_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a creation function of NumPy to accept a number as ``like=``, which NumPy refuses.

    It returns a plain array, so that code with ``like=`` a Var runs on numbers too.
    """

    @wraps(function)
    def call(*args: Any, like: Any = None, **kwargs: Any) -> Any:
        return function(*args, **kwargs, like=numpy_like(like))

    return call


def _taking_lists(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of NumPy to take lists of Vars where it takes lists of numbers.

    Elements after the first are searched for Vars only when NumPy fails to convert them: a search of all
    would cost as much as many functions on plain lists.
    """
    count = _OF_SEQUENCES.get(function, 0)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not count and args and starts_with_var(args[0]):
            args = (array(args[0]), *args[1:])
        try:
            return tried(function, *args, **kwargs)
        except ConversionError:
            if not any(map(holds_vars, (*args, *kwargs.values()))):
                return function(*args, **kwargs)
        if count:
            args = (*(list(map(_joined, part)) for part in args[:count]), *args[count:])
        else:
            args, kwargs = tuple(map(_joined, args)), {key: _joined(part) for key, part in kwargs.items()}
        return function(*args, **kwargs)

    return call


def _joined(argument: Any) -> Any:
    return array(argument) if holds_vars(argument) else argument
