"""Leaves: what may become one, what may take its place, and which of them a forward sweep moves.

Each function raises at the user's call, before it changes anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tape import errors
from tape.conversion.foreign import complaint
from tape.core.cotangents import check_cotangent
from tape.core.dispatch import lift, resolve
from tape.core.interpreter import OPEN
from tape.core.node import Handle

if TYPE_CHECKING:
    from tape.core.recording import Recording


def admit(trace: Recording, value: Any, is_param: bool) -> Any:
    """Return the value that a leaf gets, as `leaf_value`; if it is a Var, nest the trace in that of this."""
    value = leaf_value(trace, resolve(value), is_param)
    if type(value) is np.ndarray and trace not in OPEN:
        value = lift(value)
    if isinstance(value, Handle):
        trace.nest_in(value.trace)
    return value


def leaf_value(trace: Recording, value: Any, is_param: bool) -> Any:
    """Return a leaf's value: an ndarray by reference, a NumPy scalar, or a Var of an enclosing trace.

    Arrays in another byte order are copied: no derivative would be of their dtype.
    """
    kind = "a param" if is_param else "an input"
    is_scalar = False
    if isinstance(value, Handle):
        if value.trace is trace:
            raise errors.TraceMismatchError(
                f"{value!r} is on {trace!r} already, and {kind} is a new leaf. Use the Var as it is"
            )
        inner = value.node.value
        if isinstance(inner, float) and not isinstance(inner, np.generic):
            value = value.astype(np.float64)  # type: ignore[attr-defined]  # as a Python float becomes one
        else:
            value = value.again()
    elif (wrong := complaint(value)) is not None:
        raise errors.DTypeError(f"{kind} cannot be {wrong}")
    elif type(value) is not np.ndarray:
        try:
            value = np.asarray(value)
        except ValueError as error:  # ragged lists
            raise errors.ShapeError(f"{kind} must be array-like: {error}") from error
        is_scalar = value.ndim == 0
    if value.dtype.kind not in ("fc" if is_param else "biufc"):
        wanted = "a float or complex dtype" if is_param else "numbers or bools"
        raise errors.DTypeError(
            f"{kind} needs {wanted}, not {errors.describe(value)}. "
            "Convert it, e.g. np.asarray(value, dtype=float)"
        )
    value = in_native_order(value)
    return value[()] if is_scalar else value


def in_native_order(array: Any) -> Any:
    """Return an array or a Var in the byte order of this machine: itself, or a copy."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def check_leaf(trace: Recording, leaf: Any, what: str) -> None:
    """Check that ``leaf`` is a param or input of ``trace``."""
    if not isinstance(leaf, Handle) or leaf.trace is not trace or leaf.node.op is not None:
        given = repr(leaf) if isinstance(leaf, Handle) else errors.describe(leaf)
        raise errors.TraceMismatchError(
            f"{what} is {given}, which is no leaf of {trace!r}. Leaves come from param and input"
        )


def check_replacement(leaf: Any, value: Any) -> None:
    """Check that a leaf can become another value: of the same kind of numbers."""
    if value.dtype.kind != leaf.node.value.dtype.kind:
        raise errors.DTypeError(
            f"{leaf!r} is {leaf.node.value.dtype} and cannot become {value.dtype}: what was recorded "
            "depends on the kind of number. Convert the value, or record again"
        )


def checked_tangents(trace: Recording, tangents: Mapping[Any, Any]) -> dict[int, Any]:
    """Return the checked tangent of each leaf that moves, by node id."""
    if not isinstance(tangents, Mapping):
        raise errors.SeedError(
            f"tangents is {errors.describe(tangents)}. Give a dict with a tangent for each leaf that moves"
        )
    checked: dict[int, Any] = {}
    for leaf, tangent in tangents.items():
        check_leaf(trace, leaf, "a key of tangents")
        if leaf.id in checked:
            raise errors.SeedError(f"two of the tangents are for {leaf!r}. Give their sum")
        name = partial("the tangent of {!r}".format, leaf)
        checked[leaf.id] = check_cotangent(trace, tangent, leaf.node.value, name)
    return checked
