"""Filters that are run forwards and then backwards, so that nothing is delayed."""

from __future__ import annotations

from typing import Any

from tape import errors, ops
from tape.ops.structure.indexing import part_along
from tape.scipy._operands import Array, axis_at, inexact
from tape.scipy.signal._filters import lfilter, lfilter_zi, sections, sosfilt, sosfilt_zi

__all__ = ["filtfilt", "sosfiltfilt"]


def _extended(x: Array, edge: int, axis: int, padtype: Any, what: str) -> Array:
    """Return a signal that goes on beyond both ends."""
    if padtype not in ("odd", "even", "constant", None):
        raise errors.OptionError(
            f"{what}: padtype is {padtype!r}. It must be 'odd', 'even', 'constant' or None"
        )
    if x.shape[axis] <= edge:
        raise errors.ShapeError(
            f"{what}: the signal has {x.shape[axis]} samples, and padlen is {edge}. It must be longer"
        )
    if padtype is None or not edge:
        return x
    widths = [(0, 0)] * x.ndim
    widths[axis] = (edge, edge)
    if padtype == "odd":
        return ops.pad(x, widths, mode="reflect", reflect_type="odd")
    return ops.pad(x, widths, mode="reflect" if padtype == "even" else "edge")


def filtfilt(
    b: Any, a: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None,
    method: str = "pad", irlen: int | None = None,
) -> Array:  # fmt: skip
    """Filter a signal forwards and backwards, without a delay, as `scipy.signal.filtfilt`.

    Parameters
    ----------
    b, a : array_like or Var
        The coefficients of numerator and denominator.
    x : array_like or Var
        The signal, of any shape.
    axis : int
        The axis.
    padtype : {"odd", "even", "constant", None}
        How the signal goes on beyond its ends.
    padlen : int, optional
        How far; by default three times the number of coefficients.
    method : "pad"
        Gustafsson's method is not available.
    irlen : None
        Of Gustafsson's method.

    Returns
    -------
    numpy.ndarray or Var
        In the shape of ``x``.

    Raises
    ------
    ShapeError
        If the signal is too short, or the shapes do not fit.
    OptionError
        If an option is unknown.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.signal.filtfilt([0.5, 0.5], [1.0], np.arange(8.0)).round(12)
    array([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    if method != "pad":
        raise errors.OptionError(f"filtfilt: method is {method!r}. Only 'pad' is available")
    b, a = (ops.reshape(c, (1,)) if not c.ndim else c for c in (inexact(b), inexact(a)))
    x = inexact(x)
    axis = axis_at(x, axis, "filtfilt")
    edge = 3 * max(b.shape[0], a.shape[0]) if padlen is None else padlen
    edge = 0 if padtype is None else edge
    extended = _extended(x, edge, axis, padtype, "filtfilt")
    shape = [1] * x.ndim
    shape[axis] = -1
    zi = ops.reshape(lfilter_zi(b, a), tuple(shape))
    y, _ = lfilter(b, a, extended, axis, zi * part_along(extended, axis, slice(0, 1)))
    back = ops.flip(y, axis=axis)
    y, _ = lfilter(b, a, back, axis, zi * part_along(back, axis, slice(0, 1)))
    return part_along(ops.flip(y, axis=axis), axis, slice(edge, y.shape[axis] - edge))


def sosfiltfilt(
    sos: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None
) -> Array:
    """Filter a signal forwards and backwards by sections of second order, as `scipy.signal.sosfiltfilt`.

    Parameters
    ----------
    sos : array_like or Var
        ``(sections, 6)``.
    x, axis, padtype, padlen
        As for `filtfilt`.

    Returns
    -------
    numpy.ndarray or Var
        In the shape of ``x``.

    Raises
    ------
    ShapeError, OptionError
        As `filtfilt` and `sosfilt`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.signal.sosfiltfilt([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]], np.arange(8.0)).round(12)
    array([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    sos, x = sections(sos, "sosfiltfilt"), inexact(x)
    axis = axis_at(x, axis, "sosfiltfilt")
    edge = padlen
    if padlen is None:
        zeros = ops.minimum(ops.count_nonzero(sos[:, 2] == 0), ops.count_nonzero(sos[:, 5] == 0))
        edge = 3 * (2 * sos.shape[0] + 1 - int(zeros))
    edge = 0 if padtype is None else int(edge or 0)
    extended = _extended(x, edge, axis, padtype, "sosfiltfilt")
    zi = ops.reshape(sosfilt_zi(sos), (sos.shape[0], *(1,) * axis, 2, *(1,) * (x.ndim - axis - 1)))
    y, _ = sosfilt(sos, extended, axis, zi * part_along(extended, axis, slice(0, 1)))
    back = ops.flip(y, axis=axis)
    y, _ = sosfilt(sos, back, axis, zi * part_along(back, axis, slice(0, 1)))
    return part_along(ops.flip(y, axis=axis), axis, slice(edge, y.shape[axis] - edge))
