"""What the mirrored modules share: arguments as operands, checks of their content, names that refuse Vars."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from operator import index
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tape import errors, ops, tree
from tape.conversion.numbers import is_free
from tape.core.dispatch import lift, resolve
from tape.core.node import Handle
from tape.core.operands import as_operand, lift_all, lifted
from tape.numpy._conversion import array, holds_vars
from tape.numpy._names import names_of
from tape.transforms.loops.capacity import is_met

Array = Any  # an array, or a Var


def operand(x: Any) -> Array:
    """Return an argument as an array or a Var; lists of Vars are joined.

    An array becomes a Var of the program that is being recorded, if one is, and follows its changes.
    """
    x = lifted(x)
    if isinstance(x, Handle):
        return x
    return lift(array(x) if holds_vars(x) else np.asarray(as_operand(x)))


def inexact(x: Any) -> Array:
    """Return an argument as floats or complex numbers, in their own precision; others as float64."""
    x = operand(x)
    return x if x.dtype.kind in "fc" else ops.astype(x, np.float64)


def inside(x: Any) -> Array:
    """Return what a function of the user returned, Vars that it closes over as their values in a segment."""
    return resolve(operand(x))


def double(x: Any) -> Array:
    """Return an argument in double precision, as SciPy's compiled routines compute."""
    x = operand(x)
    dtype = np.complex128 if x.dtype.kind == "c" else np.float64
    return x if x.dtype == dtype else ops.astype(x, dtype)


def real_double(x: Any, what: str) -> Array:
    """Return an argument as float64.

    Raises
    ------
    DTypeError
        If it is complex.
    """
    x = double(x)
    if x.dtype.kind == "c":
        raise errors.DTypeError(f"{what} must be real, not {errors.describe(x)}. Take its np.real")
    return x


def require(condition: Any, message: str) -> None:
    """Check that a condition on the content of arrays holds; in a program that is a guard.

    Raises
    ------
    OptionError
        If it does not.
    """
    if not is_met(condition):
        raise errors.OptionError(message)


def quiet() -> np.errstate:
    """Return a block without warnings of NumPy, for numbers that are not used."""
    return np.errstate(all="ignore")


def trailing(x: Array, count: int) -> Array:
    """Return an array with so many axes of length 1 behind its own."""
    return ops.reshape(x, (*x.shape, *(1,) * count)) if count else x


def whole(value: Any, what: str) -> int:
    """Return a whole number as an int; raise for anything else, ``what`` says of what."""
    try:
        return index(value)
    except TypeError:
        raise errors.OptionError(f"{what} is {errors.describe(value)}. It must be an int") from None


def axis_at(x: Array, axis: int, what: str) -> int:
    """Return an axis, counted from the first one.

    Raises
    ------
    ShapeError
        If there is no such axis.
    """
    try:
        number = index(axis)
    except TypeError:  # no whole number
        number = x.ndim
    if not -x.ndim <= number < x.ndim:
        raise errors.ShapeError(f"{what}: there is no axis {axis} in shape {list(x.shape)}")
    return number % x.ndim


def has_vars(*arguments: Any) -> bool:
    """Return whether there is a Var among arguments, which may be nested."""
    leaves, _ = tree.flatten(arguments)
    return any(isinstance(leaf, Handle) for leaf in leaves)


def is_recorded(*arguments: Any) -> bool:
    """Return whether there is a Var among arguments, which may be nested, or what becomes one.

    While a program is recorded that is any array: what is computed from one that is closed over follows its
    changes.
    """
    leaves, _ = tree.flatten(arguments)
    return any(isinstance(leaf, Handle) for leaf in leaves) or lift_all(leaves) is not None


def refusing(
    source: ModuleType, target: dict[str, Any], title: str, offered: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a module that forwards the names of one of SciPy's.

    Functions get plain numbers only: a Var with a derivative is refused.

    Parameters
    ----------
    source : module
        SciPy's.
    target : dict
        The ``globals()`` of the module that forwards its names.
    title : str
        Its name, for messages.
    offered : str
        What takes Vars, for messages.

    Returns
    -------
    tuple of callable
    """
    look_up, names = names_of(source, target)

    def guarded(name: str) -> Any:
        found = look_up(name)
        if isinstance(found, FunctionType):
            found = target[name] = refusing_vars(found, f"{title}.{name}", offered)
        return found

    return guarded, names


def refusing_vars(function: Callable[..., Any], title: str, offered: str) -> Callable[..., Any]:
    """Wrap a function to refuse Vars with a derivative among its arguments."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, _ = tree.flatten((args, kwargs))
        for leaf in leaves:
            if isinstance(leaf, Handle) and not leaf.is_traced and not is_free(resolve(leaf)):
                raise errors.UnsupportedError(
                    f"{title} has no derivative: it is SciPy's own, for plain numbers, and got {leaf!r}. "
                    f"Differentiable are {offered}. Use one of these, or tape.stop_gradient(v) if only the "
                    "number is needed"
                )
        return function(*args, **kwargs)

    return call
