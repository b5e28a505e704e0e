"""Polynomials fitted to parts of a signal, and the analytic signal."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tape import errors, ops
from tape.ops.structure.indexing import part_along
from tape.scipy._operands import Array, axis_at, inexact, whole
from tape.scipy.ndimage._filters import convolve1d

__all__ = ["detrend", "hilbert", "savgol_filter"]


def savgol_filter(
    x: Any, window_length: int, polyorder: int, deriv: int = 0, delta: Any = 1.0, axis: int = -1,
    mode: str = "interp", cval: float = 0.0,
) -> Array:  # fmt: skip
    """Smooth a signal by polynomials fitted within a window, as `scipy.signal.savgol_filter`.

    Parameters
    ----------
    x : array_like or Var
        The signal, of any shape.
    window_length, polyorder, deriv : int
        The length of the window, the degree of the polynomials, and the order of the derivative.
    delta : scalar or Var
        The distance of samples.
    axis : int
        The axis.
    mode : {"interp", "mirror", "constant", "nearest", "wrap"}
        Whether polynomials are fitted to the ends, too, or how the signal is extended.
    cval : float
        The value outside for a constant extension.

    Returns
    -------
    numpy.ndarray or Var
        In the shape of ``x``.

    Raises
    ------
    OptionError
        If the degree is not less than the length of the window, or the mode unknown.
    ShapeError
        If the signal is shorter than the window, for "interp".

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.signal.savgol_filter(np.arange(5.0) ** 2, 5, 2).round(9) + 0.0
    array([ 0.,  1.,  4.,  9., 16.])
    """
    from scipy import signal

    x = inexact(x)
    axis = axis_at(x, axis, "savgol_filter")
    if mode not in ("interp", "mirror", "constant", "nearest", "wrap"):
        raise errors.OptionError(
            f"savgol_filter: mode is {mode!r}. Take interp, mirror, constant, nearest or wrap"
        )
    if not 0 <= polyorder < window_length:
        raise errors.OptionError(
            f"savgol_filter: the degree {polyorder} must be less than the length of the window "
            f"{window_length}"
        )
    weights = signal.savgol_coeffs(window_length, polyorder, deriv).astype(np.finfo(x.dtype).dtype)
    if mode != "interp":
        return convolve1d(x, weights, axis, None, mode, cval) / delta**deriv
    count = x.shape[axis]
    if window_length > count:
        raise errors.ShapeError(
            f"savgol_filter: {count} samples are fewer than the window of {window_length}. Take another mode"
        )
    half = window_length // 2
    out = convolve1d(x, weights, axis, None, "constant")
    if not half:
        return out / delta**deriv
    positions = np.arange(window_length)
    fit = np.linalg.pinv(np.vander(positions - half, polyorder + 1))
    powers = [np.polyder(row, deriv) if deriv else row for row in np.eye(polyorder + 1)]
    at = np.stack([np.polyval(row, positions - half) for row in powers], axis=-1) @ fit
    first, last = at[:half], at[window_length - half :]
    ends = [
        _applied(matrix, part_along(x, axis, part), axis)
        for matrix, part in (
            (first, slice(0, window_length)),
            (last, slice(count - window_length, None)),
        )
    ]
    middle = part_along(out, axis, slice(half, count - half))
    return ops.concatenate([ends[0], middle, ends[1]], axis=axis) / delta**deriv


def _applied(matrix: np.ndarray, x: Array, axis: int) -> Array:
    """Return a matrix applied to the vectors along an axis."""
    matrix = matrix.astype(np.finfo(x.dtype).dtype)
    return ops.moveaxis(ops.tensordot(matrix, x, axes=(1, axis)), 0, axis)


def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Array:
    """Take the mean or a linear trend out of a signal, as `scipy.signal.detrend`.

    Parameters
    ----------
    data : array_like or Var
        The signal, of any shape.
    axis : int
        The axis.
    type : {"linear", "constant"}
        The trend: lines of least squares between breakpoints, or the mean.
    bp : int or sequence of int
        Where lines start anew.
    overwrite_data : bool
        Has no effect.

    Returns
    -------
    numpy.ndarray or Var
        In the shape of ``data``.

    Raises
    ------
    OptionError
        If the type is unknown, or a breakpoint outside of the signal.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.signal.detrend([1.0, 2.0, 3.0, 5.0], type="constant")
    array([-1.75, -0.75,  0.25,  2.25])
    """
    x = inexact(data)
    axis = axis_at(x, axis, "detrend")
    if type in ("constant", "c"):
        return x - ops.mean(x, axis=axis, keepdims=True)
    if type not in ("linear", "l"):
        raise errors.OptionError(f"detrend: type is {type!r}. It must be 'linear' or 'constant'")
    count = x.shape[axis]
    breaks = sorted({0, count, *(whole(k, "detrend: a breakpoint") for k in np.atleast_1d(bp))})
    if breaks[0] < 0 or breaks[-1] > count:
        raise errors.OptionError(f"detrend: breakpoints {bp!r} must be within the {count} samples")
    parts = []
    for start, stop in pairwise(breaks):
        size = stop - start
        lines = np.stack([np.arange(1.0, size + 1) / size, np.ones(size)], axis=1)
        basis, sizes, _ = np.linalg.svd(lines, full_matrices=False)
        basis = basis[:, sizes > 1e-13 * sizes[0]]
        part = part_along(x, axis, slice(start, stop))
        along = _applied(basis.T, part, axis)
        parts.append(part - _applied(basis, along, axis))
    return ops.concatenate(parts, axis=axis)


def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Array:
    """Return the analytic signal, whose imaginary part is the Hilbert transform, as `scipy.signal.hilbert`.

    Parameters
    ----------
    x : array_like or Var
        The signal, real, of any shape.
    N : int, optional
        The number of Fourier components; by default as many as there are samples.
    axis : int
        The axis.

    Returns
    -------
    numpy.ndarray or Var
        Complex.

    Raises
    ------
    DTypeError
        If the signal is complex.
    OptionError
        If ``N`` is not positive.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.signal.hilbert(np.cos(np.arange(4) * np.pi / 2)).imag.round(12) + 0.0
    array([ 0.,  1.,  0., -1.])
    """
    x = inexact(x)
    if x.dtype.kind == "c":
        raise errors.DTypeError(f"hilbert: the signal is {errors.describe(x)}. It must be real")
    axis = axis_at(x, axis, "hilbert")
    count = x.shape[axis] if N is None else N
    if count <= 0:
        raise errors.OptionError(f"hilbert: N is {count}. It must be positive")
    weights = np.zeros(count, x.dtype)
    weights[0] = 1
    weights[1 : (count + 1) // 2] = 2
    if count % 2 == 0:
        weights[count // 2] = 1
    shape = [1] * x.ndim
    shape[axis] = count
    return ops.fft.ifft(ops.fft.fft(x, count, axis) * weights.reshape(shape), axis=axis)
