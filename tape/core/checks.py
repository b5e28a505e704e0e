"""Checks of what a trace is given, before it does anything: leaves, roots, seeds and tangents.

Each function raises at the user's call and leaves the trace alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tape import errors
from tape.conversion.foreign import complaint
from tape.core.node import Handle, plain, snapshot

if TYPE_CHECKING:
    from tape.core.recording import Recording

_THREADED = 10_000  # elements from which BLAS wakes up threads, for less than it costs to wait for them


def check_root(trace: Recording, root: Any) -> None:
    """Check that ``root`` is a Var of ``trace``."""
    if not isinstance(root, Handle):
        raise errors.TraceMismatchError(
            f"the root is {errors.describe(root)}, not a Var: nothing recorded it. Compute it "
            f"from params of {trace!r}"
        )
    if root.trace_ref is not trace.ref:
        raise errors.TraceMismatchError(
            f"the root {root!r} is on {root.trace!r}, not on {trace!r}. Call the method of its own trace"
        )
    plain(root)  # which a stale view refuses


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


def check_cotangent(trace: Recording, given: Any, value: Any, what: str | Callable[[], str]) -> Any:
    """Return a seed or tangent for ``value``, in its shape and dtype; ``what`` names it in errors."""
    fits = type(given) is np.ndarray and given.shape == value.shape and given.dtype == value.dtype
    if fits and given.ndim and given.dtype.kind in "fc" and not _has_nan(given):
        return given
    if callable(what):
        what = what()
    if value.dtype.kind not in "fc":
        raise errors.SeedError(f"{what} cannot be: {value.dtype} has no derivative. Differentiate a float")
    if (wrong := complaint(given)) is not None:
        raise errors.SeedError(f"{what} is {wrong}")
    is_var = isinstance(given, Handle)
    if is_var and given.trace is trace:
        raise errors.TraceMismatchError(f"{what} is on the trace it is swept over. Pass its .value")
    cotangent = given if is_var else np.asarray(given)
    if cotangent.dtype.kind not in ("biufc" if value.dtype.kind == "c" else "biuf"):
        raise errors.SeedError(f"{what} is {cotangent.dtype}, which does not convert to {value.dtype}")
    if cotangent.shape != value.shape:
        raise errors.SeedError(
            f"{what} has shape {list(cotangent.shape)}; without broadcasting, it needs {list(value.shape)}"
        )
    if is_var:
        return snapshot(cotangent) if cotangent.dtype == value.dtype else cotangent.astype(value.dtype)
    if _has_nan(cotangent):
        raise errors.SeedError(f"{what} holds NaN, which would spread over every gradient")
    cotangent = cotangent.astype(value.dtype, copy=False)
    return cotangent if cotangent.ndim else cotangent[()]


def start_of(trace: Recording, root: Any, seed: Any) -> tuple[int, Any]:
    """Return where a reverse sweep starts: the root's id and its checked seed, ones by default."""
    check_root(trace, root)
    value = root.node.value
    dtype = value.dtype
    if dtype.kind not in "fc":
        raise errors.DTypeError(
            f"{root!r} is of dtype {dtype}, which has no derivative. Differentiate a float"
        )
    if seed is not None:
        return root.id, check_cotangent(trace, seed, value, partial("the seed for {!r}".format, root))
    if dtype.kind == "c":
        raise errors.DTypeError(
            f"{root!r} is complex, and has no gradient by itself. Differentiate its real or imaginary "
            "part or its absolute value, or pass a seed: you get the derivative of sum(real(seed * root))"
        )
    return root.id, np.ones(value.shape, dtype) if value.ndim else dtype.type(1)


def fail_unreached(root: Any, params: Sequence[Any], gradients: Sequence[Any]) -> NoReturn:
    """Raise an error that names the params without a gradient."""
    names = [repr(p) for p, gradient in zip(params, gradients, strict=True) if gradient is None]
    raise errors.UnreachableParamError(
        f"{root!r} does not depend on {', '.join(names)}. Leave such params out, use them, "
        'or pass unreached="zero"'
    )


def _has_nan(array: np.ndarray) -> bool:
    if array.dtype.kind not in "fc":
        return False
    if array.size > _THREADED:
        array = np.minimum.reduce(array, axis=None)
    total = np.vdot(array, array)  # no square is negative: NaN only where there is one
    return bool(total != total)


def leaf_value(trace: Recording, value: Any, is_param: bool) -> Any:
    """Return a leaf's value: an ndarray by reference, a NumPy scalar, or a Var of an enclosing trace."""
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
    return value[()] if is_scalar else value
