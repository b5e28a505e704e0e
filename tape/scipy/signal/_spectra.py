"""Spectra of signals by Fourier transforms of segments: Welch's method, the short-time transform and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors, ops
from tape.core.operands import composed
from tape.scipy._operands import Array, axis_at, inexact, operand
from tape.scipy.signal._smoothing import detrend as without_trend

__all__ = ["csd", "istft", "periodogram", "stft", "welch"]


class _Segments:
    """How a signal is cut into overlapping segments, each times a window."""

    def __init__(self, count: int, window: Any, nperseg: Any, noverlap: Any, nfft: Any, what: str) -> None:
        from scipy import signal

        if not count:
            raise errors.ShapeError(f"{what}: the signal has no samples. Give at least one")
        if isinstance(window, (str, tuple)):
            nperseg = min(256 if nperseg is None else int(nperseg), count)
            window = signal.get_window(window, nperseg)
        self.window = operand(window)
        if self.window.ndim != 1 or (nperseg is not None and self.window.shape[0] != nperseg):
            raise errors.ShapeError(f"{what}: the window must be a vector of nperseg numbers")
        self.size = self.window.shape[0]
        self.overlap = self.size // 2 if noverlap is None else int(noverlap)
        self.nfft = self.size if nfft is None else int(nfft)
        if self.size < 1 or self.overlap >= self.size or self.nfft < self.size or self.size > count:
            raise errors.OptionError(
                f"{what}: segments of {self.size} of {count} samples, that overlap by {self.overlap}, with "
                f"nfft={self.nfft}. noverlap must be less than nperseg, and nfft not less"
            )
        self.step = self.size - self.overlap

    def scale(self, scaling: Any, fs: Any, dtype: Any, what: str) -> Any:
        """Return what squares of transforms of a dtype are multiplied by."""
        if scaling == "density":
            return ops.astype(1.0 / (fs * ops.sum(self.window**2)), np.finfo(dtype).dtype)
        if scaling == "spectrum":
            return ops.astype(1.0 / ops.sum(self.window) ** 2, np.finfo(dtype).dtype)
        raise errors.OptionError(f"{what}: scaling is {scaling!r}. It must be 'density' or 'spectrum'")

    def transformed(self, x: Array, detrend: Any, is_onesided: bool) -> Array:
        """Return the transforms of segments along the last axis, ``(..., segments, frequencies)``."""
        starts = np.arange(0, x.shape[-1] - self.size + 1, self.step)
        parts = ops.getitem(x, (Ellipsis, starts[:, None] + np.arange(self.size)))
        if callable(detrend):
            parts = detrend(parts)
        elif detrend:
            parts = without_trend(parts, type=detrend)
        parts = parts * ops.astype(self.window, np.finfo(x.dtype).dtype)
        return (ops.fft.rfft if is_onesided else ops.fft.fft)(parts, self.nfft)

    def frequencies(self, fs: Any, is_onesided: bool) -> Any:
        return (np.fft.rfftfreq if is_onesided else np.fft.fftfreq)(self.nfft) * fs


@composed
def csd(
    x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None,
    noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, average: str = "mean",
) -> tuple[Any, Array]:  # fmt: skip
    """Return the cross spectral density of two signals by Welch's method, as `scipy.signal.csd`.

    Parameters
    ----------
    x, y : array_like or Var
        The signals, of one length along the axis. Other axes broadcast.
    fs : scalar
        The frequency of samples.
    window : str, tuple or array_like
        The window.
    nperseg, noverlap, nfft : int, optional
        The number of samples in a segment, in two of them, and of Fourier components.
    detrend : str, callable or False
        "constant", "linear", a function of segments, or nothing.
    return_onesided : bool
        Whether spectra of real signals are of positive frequencies alone.
    scaling : {"density", "spectrum"}
        Per unit of frequency, or not.
    axis : int
        The axis.
    average : {"mean"}
        Of segments.

    Returns
    -------
    tuple
        The frequencies, and the spectrum along the axis.

    Raises
    ------
    ShapeError
        If the signals do not broadcast, or have other lengths along the axis.
    OptionError
        If an option is unknown or out of range.

    Examples
    --------
    >>> import numpy as np, tape
    >>> f, p = tape.scipy.signal.csd(np.ones(8), np.ones(8), nperseg=4, detrend=False, window="boxcar")
    >>> p.real.round(12)
    array([4., 0., 0.])
    """
    a, b = inexact(x), inexact(y)
    if a.shape != b.shape:
        a, b = _broadcast(a, b, axis)
    options = window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average
    return _spectrum(a, b, fs, options, "csd")


@composed
def welch(
    x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
    nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True,
    scaling: str = "density", axis: int = -1, average: str = "mean",
) -> tuple[Any, Array]:  # fmt: skip
    """Return the power spectral density of a signal by Welch's method, as `scipy.signal.welch`.

    Parameters, result and errors are those of `csd`, for one signal.

    Examples
    --------
    >>> import numpy as np, tape
    >>> f, p = tape.scipy.signal.welch(np.cos(np.arange(16) * np.pi / 2), nperseg=8, window="boxcar")
    >>> p.round(12)
    array([0., 0., 4., 0., 0.])
    """
    a = inexact(x)
    options = window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average
    return _spectrum(a, a, fs, options, "welch")


@composed
def periodogram(
    x: Any, fs: Any = 1.0, window: Any = "boxcar", nfft: int | None = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1,
) -> tuple[Any, Array]:  # fmt: skip
    """Return the power spectral density of a whole signal, as `scipy.signal.periodogram`.

    Parameters, result and errors are those of `welch`; of more samples than ``nfft`` the first ones count.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.signal.periodogram(np.cos(np.arange(8) * np.pi / 2))[1].round(12)
    array([0., 0., 4., 0., 0.])
    """
    a = inexact(x)
    count = a.shape[axis_at(a, axis, "periodogram")]
    if nfft is not None and nfft < count:
        a, count = ops.take(a, np.arange(nfft), axis), nfft
    if window is None:
        window = "boxcar"
    options = window, count, 0, nfft, detrend, return_onesided, scaling, axis, "mean"
    return _spectrum(a, a, fs, options, "periodogram")


def _broadcast(a: Array, b: Array, axis: int) -> tuple[Array, Array]:
    """Return two signals, of one shape, along the last axis."""
    ends = [x.shape[axis_at(x, axis, "csd")] for x in (a, b)]
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        shape = ()
    if ends[0] != ends[1] or not shape:
        raise errors.ShapeError(
            f"csd: signals of shapes {list(a.shape)} and {list(b.shape)}, which do not broadcast, or have "
            "other lengths along the axis"
        )
    return ops.broadcast_to(a, shape), ops.broadcast_to(b, shape)


def _spectrum(a: Array, b: Array, fs: Any, options: Any, what: str) -> tuple[Any, Array]:
    window, nperseg, noverlap, nfft, detrend, is_onesided, scaling, axis, average = options
    axis = axis_at(a, axis, what)
    if average != "mean":
        raise errors.OptionError(f"{what}: average is {average!r}. Only 'mean' is available")
    segments = _Segments(a.shape[axis], window, nperseg, noverlap, nfft, what)
    is_onesided = bool(is_onesided) and a.dtype.kind != "c" and b.dtype.kind != "c"
    is_same = a is b
    a = ops.moveaxis(a, axis, -1)
    of_a = segments.transformed(a, detrend, is_onesided)
    if is_same:
        powers = ops.real(of_a) ** 2 + ops.imag(of_a) ** 2
    else:
        of_b = segments.transformed(ops.moveaxis(b, axis, -1), detrend, is_onesided)
        powers = ops.conjugate(of_a) * of_b
    weights = np.ones(powers.shape[-1])
    if is_onesided:
        weights[1 : None if segments.nfft % 2 else -1] = 2.0
    weights = weights.astype(np.finfo(powers.dtype).dtype)
    found = ops.mean(powers * weights * segments.scale(scaling, fs, powers.dtype, what), axis=-2)
    return segments.frequencies(fs, is_onesided), ops.moveaxis(found, -1, axis)


@composed
def stft(
    x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = 256, noverlap: int | None = None,
    nfft: int | None = None, detrend: Any = False, return_onesided: bool = True, boundary: Any = "zeros",
    padded: bool = True, axis: int = -1, scaling: str = "spectrum",
) -> tuple[Any, Any, Array]:  # fmt: skip
    """Return the short-time Fourier transform of a signal, as `scipy.signal.stft`.

    Parameters
    ----------
    x : array_like or Var
        The signal, of any shape.
    fs, window, nperseg, noverlap, nfft, detrend, return_onesided, axis
        As for `csd`.
    boundary : {"zeros", "even", "odd", "constant", None}
        How the signal goes on beyond its ends, by half a segment.
    padded : bool
        Whether zeros are appended so that the last segment is a whole one.
    scaling : {"spectrum", "psd"}
        Of the transform.

    Returns
    -------
    tuple
        The frequencies, the times, and the transform: frequencies along the axis, times along the last one.

    Raises
    ------
    OptionError
        If an option is unknown or out of range.

    Examples
    --------
    >>> import numpy as np, tape
    >>> f, t, z = tape.scipy.signal.stft(np.ones(8), nperseg=4)
    >>> z.shape, abs(z[0, 2]).round(12).item()
    ((3, 5), 1.0)
    """
    a = inexact(x)
    axis = axis_at(a, axis, "stft")
    segments = _Segments(a.shape[axis], window, nperseg, noverlap, nfft, "stft")
    is_onesided = bool(return_onesided) and a.dtype.kind != "c"
    modes = {"zeros": {"mode": "constant"}, "even": {"mode": "reflect"}, "constant": {"mode": "edge"},
             "odd": {"mode": "reflect", "reflect_type": "odd"}}  # fmt: skip
    a = ops.moveaxis(a, axis, -1)
    lead = [(0, 0)] * (a.ndim - 1)
    if boundary is not None:
        if boundary not in modes:
            raise errors.OptionError(f"stft: boundary is {boundary!r}. Take {', '.join(modes)} or None")
        half = segments.size // 2
        a = ops.pad(a, [*lead, (half, half)], **modes[boundary])
    if padded:
        missing = (-(a.shape[-1] - segments.size) % segments.step) % segments.size
        a = ops.pad(a, [*lead, (0, missing)])
    scale = segments.scale({"psd": "density"}.get(scaling, scaling), fs, a.dtype, "stft") ** 0.5
    found = segments.transformed(a, detrend, is_onesided) * scale
    times = np.arange(segments.size / 2, a.shape[-1] - segments.size / 2 + 1, segments.step) / fs
    times = times if boundary is None else times - (segments.size / 2) / fs
    return segments.frequencies(fs, is_onesided), times, ops.moveaxis(found, -1, axis)


@composed
def istft(
    Zxx: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
    nfft: int | None = None, input_onesided: bool = True, boundary: bool = True, time_axis: int = -1,
    freq_axis: int = -2, scaling: str = "spectrum",
) -> tuple[Any, Array]:  # fmt: skip
    """Return the signal of a short-time Fourier transform, as `scipy.signal.istft`.

    Parameters
    ----------
    Zxx : array_like or Var
        The transform.
    fs, window, nperseg, noverlap, nfft, scaling
        As they were for `stft`.
    input_onesided : bool
        Whether there are positive frequencies alone.
    boundary : bool
        Whether the signal was extended by half a segment.
    time_axis, freq_axis : int
        The axes of times and frequencies.

    Returns
    -------
    tuple
        The times, and the signal along the axis of times, without that of frequencies.

    Raises
    ------
    OptionError
        If an option is out of range.

    Examples
    --------
    >>> import numpy as np, tape
    >>> _, _, z = tape.scipy.signal.stft(np.arange(8.0), nperseg=4)
    >>> tape.scipy.signal.istft(z, nperseg=4)[1].round(12)
    array([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    z = inexact(Zxx)
    z = ops.moveaxis(z, (time_axis, freq_axis), (-2, -1))
    count = 2 * (z.shape[-1] - 1) if input_onesided else z.shape[-1]
    size = count if nperseg is None else int(nperseg)
    length = count if nfft is None and not (input_onesided and size == count + 1) else (nfft or size)
    segments = _Segments(max(size, 1), window, size, noverlap, length, "istft")
    back = ops.fft.irfft(z, length) if input_onesided else ops.fft.ifft(z, length)
    parts = ops.getitem(back, (Ellipsis, slice(0, size))) * ops.astype(
        segments.window, np.finfo(z.dtype).dtype
    )
    total = size + (z.shape[-2] - 1) * segments.step
    places = np.arange(z.shape[-2])[:, None] * segments.step + np.arange(size)
    zeros = np.zeros((*parts.shape[:-2], total), parts.dtype)
    found = ops.add_at(zeros, parts, (Ellipsis, places))
    weights = ops.add_at(np.zeros(total), ops.broadcast_to(segments.window**2, places.shape), places)
    scale = segments.scale({"psd": "density"}.get(scaling, scaling), fs, z.dtype, "istft") ** -0.5
    if boundary:
        half = size // 2
        found, weights = (
            ops.getitem(found, (Ellipsis, slice(half, total - half))),
            weights[half : total - half],
        )
    weights = ops.astype(ops.where(weights > 1e-10, weights, 1.0), np.finfo(z.dtype).dtype)
    found = found * scale / weights
    axes = [axis % z.ndim for axis in (time_axis, freq_axis)]
    at = axes[0] - (axes[1] < axes[0])  # what is left of the axes
    return np.arange(found.shape[-1]) / fs, ops.moveaxis(found, -1, at)
