"""The table of operations: what runs when a NumPy function, or a piece of Python's syntax, meets a Var.

Operations enter themselves where they are declared; `tape.core.var` and `tape.core.numpy_protocol` look them
up. That is all that the engine knows of them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

OPERATIONS: dict[Any, Callable[..., Any]] = {}
"""A NumPy function, a ufunc, or a function of `operator` that stands for syntax -> the operation."""

UFUNC_METHODS: dict[str, dict[Any, Callable[..., Any]]] = {}
"""A method such as "reduce" -> for each ufunc that has it, the operation."""

WRITERS: dict[Any, Callable[..., Any]] = {}
"""A NumPy function that writes into its first argument -> one that does it to a Var."""

_HOMES = {
    "tape.core.by_hand": "append",
    "tape.inplace.protocol": "write_at write_function write_ufunc",
    "tape.program": "compile lower_body lower_steps run_steps swept",
    "tape.transforms": "each no_grad scan",
    "tape.transforms.loops.catching_up": "catch_up",
    "tape.transforms.loops.deferring": "look_for_repeats",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


class _Internal(dict[str, Callable[..., Any]]):
    """Functions by name; a module that enters some of them is imported when one is first needed."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        import_module(_HOME_OF[name])
        return self[name]


INTERNAL = _Internal()
"""What the engine calls of the floors above it, where NumPy has no function to name it by -> by name."""


def implements(*functions: Any) -> Callable[[F], F]:
    """Make the decorated function what runs when one of these NumPy functions is given a Var.

    Parameters
    ----------
    *functions : callable
        NumPy functions, ufuncs, or functions of `operator`, which stand for the syntax.

    Returns
    -------
    callable
        The decorator, which returns the function as it is.
    """

    def register(function: F) -> F:
        OPERATIONS.update(dict.fromkeys(functions, function))
        return function

    return register
