"""Seeds and tangents that are given for a value: in its shape and dtype, without NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tape import errors
from tape.conversion.foreign import complaint
from tape.core.node import Handle, snapshot

if TYPE_CHECKING:
    from tape.core.recording import Recording

_THREADED = 10_000  # elements from which BLAS wakes up threads, for less than it costs to wait for them


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


def _has_nan(array: np.ndarray) -> bool:
    if array.dtype.kind not in "fc":
        return False
    if array.size > _THREADED:
        array = np.minimum.reduce(array, axis=None)
    total = np.vdot(array, array)  # no square is negative: NaN only where there is one, or a complex infinity
    return bool(total != total) and bool(np.isnan(array).any())
