"""Floats that a function puts into variables, collections and attributes around it.

One that runs on plain arrays, and again for its derivatives, puts plain arrays there: in place of returning
them, so that no derivative passes through.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from types import CellType, MethodType
from typing import Any

import numpy as np

from tape import errors
from tape.core.closures import Bound
from tape.core.reached import assigned_globals, content

_MOST_ITEMS = 64


class Leaks:
    """What a function may put numbers into, as it is before a run.

    Lists and dicts, and attributes of the object of a method, are looked at as far as variables and globals
    lead to them, and no deeper; of long ones the last 64 items.

    Parameters
    ----------
    f : Bound
        The function.
    """

    def __init__(self, f: Bound) -> None:
        self._places = [(place, read, read()) for place, read in _places(f)]

    def warn(self, name: str) -> None:
        """Warn of an array or number of floats that a run of the function has put somewhere."""
        for place, read, before in self._places:
            known = {id(part) for part in before}
            for part in read():
                if id(part) not in known and isinstance(part, _ARRAYS) and part.dtype.kind in "fc":
                    errors.warn(
                        f"{name} has put {errors.describe(part)} into {place}, where it has no derivative: "
                        "what a function that runs again for its derivatives computes takes part in them if "
                        "it is returned. Return it as well",
                        errors.LostDerivativeWarning,
                    )
                    return


_ARRAYS = (np.ndarray, np.generic)
_Read = Callable[[], list[Any]]


def _places(f: Bound) -> Iterator[tuple[str, _Read]]:
    """Yield the variables around a function, and collections that names are bound to: what is in them."""
    for function in f.functions():
        if isinstance(function, MethodType):
            own = getattr(function.__self__, "__dict__", None)
            if type(own) is dict:
                yield f"an attribute of {type(function.__self__).__name__}", _reader(own)
                yield from _collections(own)
            continue
        code, space = function.__code__, function.__globals__
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        for name, cell in cells.items():
            yield name, partial(_in_cell, cell)
        for name in assigned_globals(function):
            yield name, partial(_in_globals, space, name)
        yield from _collections({name: content(cell) for name, cell in cells.items()})
        yield from _collections({name: space[name] for name in code.co_names if name in space})


def _collections(named: dict[str, Any]) -> Iterator[tuple[str, _Read]]:
    return ((name, _reader(one)) for name, one in named.items() if isinstance(one, (list, dict, deque)))


def _reader(collection: Any) -> _Read:
    return lambda: [*(collection.values() if isinstance(collection, dict) else collection)][-_MOST_ITEMS:]


def _in_cell(cell: CellType) -> list[Any]:
    return [content(cell)]


def _in_globals(space: dict[str, Any], name: str) -> list[Any]:
    return [space.get(name)]
