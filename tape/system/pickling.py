"""Copying and pickling of functions that derive from other functions: by name, or by their parts.

A decorated function of a module is pickled by name. A function without a name is rebuilt from the function it
derives from, which pickle must find by name, and cloudpickle includes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from tape import errors


def reduced(
    made: Any, again: Callable[..., Any], *parts: Any
) -> str | tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the result of ``__reduce__`` for a function that derives from others.

    Parameters
    ----------
    made : Any
        The function.
    again : callable
        Rebuilds the function from its parts.
    *parts : Any
        The arguments of ``again``.

    Raises
    ------
    UnsupportedError
        If it is pickled, and a part is a function that pickle cannot find by name.
    """
    # pickle calls this through C: the second frame is that of the Python code that started it.
    who = sys._getframe(2).f_globals.get("__name__", "").rpartition(".")[2]
    if _is_found(made) and not (who == "cloudpickle" and made.__module__ == "__main__"):
        return made.__qualname__
    if who not in _BY_VALUE:
        for part in parts:
            if type(part) is FunctionType and not _is_found(part):
                raise errors.UnsupportedError(
                    f"{made!r} cannot be pickled: pickle would look for {part.__qualname__} in "
                    f"{part.__module__}, and does not find it. Define it with def at the top of a module and "
                    "decorate it under another name, or use cloudpickle"
                )
    return again, parts


_BY_VALUE = frozenset({"cloudpickle", "copy", "pickle", "_dill"})
"""Modules that copy functions by value, and the pure Python pickler that they derive from."""


def _is_found(function: Any) -> bool:
    """Return whether a function is what its module has under its name."""
    found: Any = sys.modules.get(function.__module__)
    for name in getattr(function, "__qualname__", "").split("."):
        found = getattr(found, name, None)
    return found is function
