"""How functions that were made of functions are copied and pickled: by name as others are, or by their parts.

A decorated function of a module is found again under its name. What has no name is made again out of the
function it was made of, which pickle must then find by name, and cloudpickle takes along.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from tape import errors

__all__ = ["reduced"]


def reduced(
    made: Any, again: Callable[..., Any], *parts: Any
) -> str | tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the result of ``__reduce__`` for a function that was made of others.

    Parameters
    ----------
    made : Any
        The function.
    again : callable
        Makes another one of the parts.
    *parts : Any
        What it was made of.

    Raises
    ------
    UnsupportedError
        If it is pickled, and a part is a function that cannot be found by name.
    """
    # Whoever pickles calls this through C: the second frame is that of the Python code that began.
    who = sys._getframe(2).f_globals.get("__name__", "").rpartition(".")[2]
    if _is_found(made) and not (who == "cloudpickle" and made.__module__ == "__main__"):
        return made.__qualname__
    if who not in _BY_VALUE:
        for part in parts:
            if type(part) is FunctionType and not _is_found(part):
                raise errors.UnsupportedError(
                    f"{made!r} cannot be pickled: pickle would look for {part.__qualname__} in "
                    f"{part.__module__}, and it is not there. Define it with def at the top of a module and "
                    "decorate it under another name, or use cloudpickle"
                )
    return again, parts


_BY_VALUE = frozenset({"cloudpickle", "copy", "pickle", "_dill"})
"""Modules that copy functions, or that others are derived from which do: pickle written in Python."""


def _is_found(function: Any) -> bool:
    """Whether this is what its module has under its name."""
    found: Any = sys.modules.get(function.__module__)
    for name in getattr(function, "__qualname__", "").split("."):
        found = getattr(found, name, None)
    return found is function
