"""Checks of what users pass to optimizers: settings, parameters, gradients, trees of them, masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any

import numpy as np

from tape import errors, tree
from tape.conversion.foreign import complaint
from tape.core.node import Handle

Mask = Any
"""None, a bool, a tree of bools as the parameters or their upper part, or a function of a leaf's name."""


def setting(name: str, number: Any, below: float = float("inf")) -> float:
    """Return a setting as a float, checked to be within ``0 <= number < below``."""
    converted = _as_float(name, number)
    if not 0 <= converted < below:
        limit = "finite" if below == float("inf") else f"below {below:g}"
        raise errors.OptionError(f"{name} is {converted}; it must be at least 0 and {limit}")
    return converted


def coefficient(name: str, number: Any) -> float:
    """Return a setting of either sign as a float, checked to be finite."""
    converted = _as_float(name, number)
    if not isfinite(converted):
        raise errors.OptionError(f"{name} is {converted}; it must be finite")
    return converted


def _as_float(name: str, number: Any) -> float:
    if isinstance(number, Handle):
        raise errors.ConversionError(
            f"{name} is {number!r}, and settings are fixed numbers. Pass its .value, or keep a learning rate "
            "that changes in the state"
        )
    try:
        return float(number)
    except (TypeError, ValueError):
        raise errors.OptionError(f"{name} must be a number, not {errors.describe(number)}") from None


def pair(name: str, numbers: Any) -> tuple[float, float]:
    """Return two factors, each at least 0 and below 1."""
    if not isinstance(numbers, (tuple, list)) or len(numbers) != 2:
        raise errors.OptionError(f"{name} must be a pair of numbers, not {errors.describe(numbers)}")
    return setting(f"{name}[0]", numbers[0], below=1.0), setting(f"{name}[1]", numbers[1], below=1.0)


def count(name: str, number: Any, least: int = 1) -> int:
    """Return a number as an int that is at least so large."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < least:
        raise errors.OptionError(
            f"{name} is {errors.describe(number)}; it must be an int of at least {least}"
        )
    return int(number)


def choice(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return a value that is one of these."""
    if not any(value is one or (isinstance(value, str) and value == one) for one in choices):
        known = " or ".join(map(repr, choices))
        raise errors.OptionError(f"{name} is {errors.describe(value)}; it must be {known}")
    return value


# ---- parameters and gradients ------------------------------------------------------------------------


def check_in_place_param(leaf: Any, name: str) -> None:
    """Check that a parameter is an array of floats that can be written to."""
    if isinstance(leaf, Handle):
        raise errors.ConversionError(
            f"{name} is {leaf!r}. An optimizer updates arrays: pass its .value, or in a compiled function "
            "use its pure form, such as tape.optim.adam"
        )
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "c":
        raise _complex(leaf, name)
    if not isinstance(leaf, np.ndarray) or complaint(leaf) is not None or leaf.dtype.kind != "f":
        raise errors.DTypeError(
            f"{name} is {type(leaf).__name__} {errors.describe(leaf)}. A parameter must be an array of "
            "floats, e.g. np.array(0.5)"
        )
    if not leaf.flags.writeable:
        raise errors.InPlaceError(f"{name} is read-only, and would be updated in place. Pass a copy")


def pure_param(leaf: Any, name: Callable[[], str]) -> Any:
    """Return a parameter as an array, a NumPy float or a Var: floats all."""
    if type(leaf) is float:
        leaf = np.float64(leaf)
    is_known = isinstance(leaf, Handle) or (
        isinstance(leaf, (np.ndarray, np.generic)) and complaint(leaf) is None
    )
    if is_known and leaf.dtype.kind == "c":
        raise _complex(leaf, name())
    if not is_known or leaf.dtype.kind != "f":
        raise errors.DTypeError(
            f"{name()} is {type(leaf).__name__} {errors.describe(leaf)}. A parameter must be an array of "
            "floats; declare what is no parameter static, or name it in frozen="
        )
    return leaf


def _complex(leaf: Any, name: str) -> errors.DTypeError:
    return errors.DTypeError(
        f"{name} is {errors.describe(leaf)}. Optimize the real and imaginary part as two arrays, and "
        "compute with re + 1j * im"
    )


def in_place_gradient(gradient: Any, name: str) -> np.ndarray:
    """Convert a gradient that is not an ndarray to one."""
    if isinstance(gradient, Handle):
        raise errors.ConversionError(
            f"{name} is {gradient!r}. Steps in place are not differentiable: pass its .value, or use the "
            "optimizer's pure form"
        )
    if isinstance(gradient, (np.ndarray, np.floating)) and complaint(gradient) is None:
        return np.asarray(gradient)
    raise errors.DTypeError(
        f"{name} is {type(gradient).__name__} {errors.describe(gradient)}. It must be an array of the "
        "shape and dtype of its parameter"
    )


def pure_gradient(gradient: Any, name: Callable[[], str]) -> Any:
    """Return a gradient as an array, a NumPy float or a Var."""
    if type(gradient) is float:
        return np.float64(gradient)
    if type(gradient) is np.ndarray or isinstance(gradient, Handle):
        return gradient
    return in_place_gradient(gradient, name())


def check_fits(gradient: Any, leaf: Any, name: Callable[[], str]) -> None:
    """Check that a gradient has the shape and dtype of its parameter."""
    if gradient.shape != leaf.shape:
        raise errors.ShapeError(
            f"{name()} has shape {list(gradient.shape)}, and its parameter "
            f"{list(leaf.shape)}. Check the order of the gradients"
        )
    if gradient.dtype != leaf.dtype:
        raise errors.DTypeError(
            f"{name()} is {gradient.dtype}, and its parameter {leaf.dtype}. "
            f"Convert it with astype({leaf.dtype.str!r})"
        )


def leaves_like(
    other: Any, structure: Any, free: Sequence[bool] = (), what: str = "the gradients"
) -> list[Any]:
    """Return what a tree has at each leaf of the parameters' structure; where that is free, anything."""
    leaves, found = tree.flatten(other)
    if found == structure:
        return leaves
    if any(free):
        with suppress(ValueError):
            parts = tree.flatten_up_to(structure, other)
            if all(
                is_free or tree.flatten(part)[1] is tree.LEAF
                for part, is_free in zip(parts, free, strict=True)
            ):
                return parts
    raise errors.ShapeError(
        f"{what} are {tree.describe(found)}, and the parameters {tree.describe(structure)}. Give both the "
        "same structure"
    )


# ---- masks -------------------------------------------------------------------------------------------


def selected(mask: Mask, params: Any, names: Callable[[], Sequence[str]], what: str, default: bool) -> list:
    """Return for each leaf of the parameters whether a mask selects it.

    Parameters
    ----------
    mask : None, bool, tree of bool or callable
        A tree has the structure of the parameters or that of their upper part. A function takes the name
        of a leaf, as in ``params['layers'][0]``.
    params : tree
        The parameters.
    names : callable
        Returns the names of all leaves.
    what : str
        The name of the argument, for messages.
    default : bool
        What None stands for.
    """
    if mask is None or isinstance(mask, (bool, np.bool)):
        return [default if mask is None else bool(mask)] * len(tree.flatten(params)[0])
    if callable(mask) and not isinstance(mask, Handle):
        found = [mask(name) for name in names()]
    else:
        try:
            found = tree.spread(mask, params)
        except ValueError:
            raise errors.ShapeError(
                f"{what} is {tree.describe(tree.flatten(mask)[1])}, and the parameters "
                f"{tree.describe(tree.flatten(params)[1])}. Give it their structure, or that of "
                "their upper part"
            ) from None
    for name, choice in zip(names(), found, strict=True):
        if not isinstance(choice, (bool, np.bool)):
            raise errors.OptionError(
                f"{what} says {errors.describe(choice)} of {name}; it must be True or False"
            )
    return [bool(choice) for choice in found]


def check_state(name: str, state: Any, like: dict[str, Any]) -> None:
    """Check that a state has the structure, shapes and dtypes of another one.

    Parameters
    ----------
    name : str
        Of the optimizer, in the message.
    state : Any
        What a user gave.
    like : dict
        A state of the optimizer that is to take it.

    Raises
    ------
    ShapeError
        If it has not.
    """
    found, structure = tree.flatten(state)
    expected, own = tree.flatten(like)
    if structure != own:
        raise errors.ShapeError(
            f"{name}: the state is {tree.describe(structure)}, and this optimizer's "
            f"{tree.describe(own)}. It belongs to other parameters, or to another kind of optimizer"
        )
    for place, one, other in zip(tree.names(own, "state"), found, expected, strict=True):
        kinds = [(np.shape(leaf), getattr(leaf, "dtype", None)) for leaf in (one, other)]
        if isinstance(other, np.ndarray) and kinds[0] != kinds[1]:
            raise errors.ShapeError(
                f"{name}: {place} is {errors.describe(one)}, and this optimizer's {errors.describe(other)}. "
                "The state belongs to other parameters"
            )
