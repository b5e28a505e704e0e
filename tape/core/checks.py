"""Checks of what a sweep is given, before it does anything: roots, seeds and tangents.

Each function raises at the user's call and leaves the trace alone. `tape.core.leaves` checks leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
