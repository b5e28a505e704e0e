"""Convolution and correlation of signals of any number of axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors, ops
from tape.core.node import Handle
from tape.scipy._operands import Array, axis_at, operand
from tape.scipy._sliding import slid

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve", "oaconvolve"]

_MODES = ("full", "same", "valid")


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Array:
    """Convolve two arrays, as `scipy.signal.convolve`.

    Parameters
    ----------
    in1, in2 : array_like or Var
        Arrays of the same number of axes.
    mode : {"full", "same", "valid"}
        All sums of products, as many from the middle as ``in1`` has elements, or those where one array lies
        within the other.
    method : {"auto", "direct", "fft"}
        How they are computed: by default what SciPy takes to be faster.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If the numbers of axes differ, or in mode "valid" if neither array fits into the other.
    OptionError
        If the mode or the method is unknown.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.signal.convolve([1.0, 2.0, 3.0], [0.5, 0.5], mode="same")
    array([0.5, 1.5, 2.5])
    >>> tape.grad(lambda w: tape.scipy.signal.convolve(np.arange(3.0), w, "valid")[0])(np.ones(2))
    array([1., 0.])
    """
    a, v = _pair(in1, in2, mode, "convolve")
    if method not in ("auto", "direct", "fft"):
        raise errors.OptionError(f"convolve: method is {method!r}. It must be 'auto', 'direct' or 'fft'")
    if not a.ndim:
        return a * v
    if (found := _of_ints("convolve", a, v, mode, method)) is not None:
        return found
    if not a.size or not v.size:
        return np.array([])
    if method == "auto":
        from scipy import signal

        likes = (np.broadcast_to(np.zeros((), x.dtype), x.shape) for x in (a, v))
        method = signal.choose_conv_method(*likes, mode)
    if method == "fft":
        return _by_transforms(a, v, mode, None, "convolve")
    return _directly(a, v, mode, "convolve")


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Array:
    """Correlate two arrays, as `scipy.signal.correlate`: sums of ``in1[n + k] * conj(in2[n])``.

    Parameters, result and errors are those of `convolve`.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.signal.correlate([1.0, 2.0, 3.0], [0.0, 1.0], mode="same")
    array([1., 2., 3.])
    """
    a, v = _pair(in1, in2, mode, "correlate")
    if not a.ndim:
        return a * ops.conjugate(v)
    if (found := _of_ints("correlate", a, v, mode, method)) is not None:
        return found
    return convolve(a, _turned(v), mode, method)


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Array:
    """Convolve two arrays by Fourier transforms, as `scipy.signal.fftconvolve`.

    Parameters
    ----------
    in1, in2 : array_like or Var
        Arrays of the same number of axes.
    mode : {"full", "same", "valid"}
        As for `convolve`.
    axes : int or sequence of int, optional
        The axes; by default all. Along others the arrays broadcast.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If the mode is unknown.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.signal.fftconvolve([1.0, 2.0], [1.0, 3.0]).round(12)
    array([1., 5., 6.])
    """
    a, v = _pair(in1, in2, mode, "fftconvolve")
    if not a.ndim:
        return a * v
    if not a.size or not v.size:
        return np.array([])
    a, v = (x if x.dtype.kind in "fc" else ops.astype(x, np.float64) for x in (a, v))
    return _by_transforms(a, v, mode, axes, "fftconvolve")


def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Array:
    """Convolve two arrays as `scipy.signal.oaconvolve`, by one Fourier transform of each.

    Parameters, result and errors are those of `fftconvolve`.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.signal.oaconvolve([1.0, 2.0], [1.0, 3.0]).round(12)
    array([1., 5., 6.])
    """
    return fftconvolve(in1, in2, mode, axes)


def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Array:
    """Convolve two matrices, as `scipy.signal.convolve2d`.

    Parameters
    ----------
    in1, in2 : array_like or Var
        ``(n, m)``.
    mode : {"full", "same", "valid"}
        As for `convolve`.
    boundary : {"fill", "wrap", "symm"}
        How ``in1`` goes on: with a value, periodically, or as in a mirror.
    fillvalue : scalar
        The value outside.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there are other than two axes, or neither array fits into the other.
    OptionError
        If the mode or the boundary is unknown.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.signal.convolve2d(np.eye(2), np.ones((2, 2)), boundary="wrap", mode="same")
    array([[2., 2.],
           [2., 2.]])
    """
    a, v = _matrices(in1, in2, mode, boundary, "convolve2d")
    if (found := _of_ints("convolve2d", a, v, mode, boundary, fillvalue)) is not None:
        return found
    return _bounded(a, v, mode, boundary, fillvalue, "convolve2d")


def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Array:
    """Correlate two matrices, as `scipy.signal.correlate2d`.

    Parameters, result and errors are those of `convolve2d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.signal.correlate2d(np.eye(2), np.ones((2, 2)), mode="valid")
    array([[2.]])
    """
    a, v = _matrices(in1, in2, mode, boundary, "correlate2d")
    if (found := _of_ints("correlate2d", a, v, mode, boundary, fillvalue)) is not None:
        return found
    out = _bounded(a, _turned(v), mode, boundary, fillvalue, "correlate2d", is_late=True)
    is_swapped = any(n < m for n, m in zip(a.shape, v.shape, strict=True))
    return ops.conjugate(out) if mode == "valid" and is_swapped and out.dtype.kind == "c" else out


# ---- how -------------------------------------------------------------------------------------------


def _pair(in1: Any, in2: Any, mode: Any, what: str) -> tuple[Array, Array]:
    a, v = operand(in1), operand(in2)
    if a.ndim != v.ndim:
        raise errors.ShapeError(
            f"{what} of shapes {list(a.shape)} and {list(v.shape)}. Both must have the same number of axes"
        )
    if mode not in _MODES:
        raise errors.OptionError(f"{what}: mode is {mode!r}. It must be 'full', 'same' or 'valid'")
    return a, v


def _matrices(in1: Any, in2: Any, mode: Any, boundary: Any, what: str) -> tuple[Array, Array]:
    a, v = _pair(in1, in2, mode, what)
    if a.ndim != 2:
        raise errors.ShapeError(
            f"{what}: arrays of {a.ndim} axes. Both must be matrices; convolve takes others"
        )
    if boundary not in ("fill", "wrap", "symm"):
        raise errors.OptionError(f"{what}: boundary is {boundary!r}. It must be 'fill', 'wrap' or 'symm'")
    return a, v


def _of_ints(name: str, a: Array, v: Array, *options: Any) -> Any:
    """Return SciPy's result for arrays of ints, which is one of ints; None for others."""
    if np.result_type(a.dtype, v.dtype).kind in "fc":
        return None
    from scipy import signal

    if isinstance(a, Handle) or isinstance(v, Handle):
        raise errors.DTypeError(f"{name}: of ints, {a.dtype} and {v.dtype}. Convert them by astype(float)")
    return getattr(signal, name)(a, v, *options)


def _turned(v: Array) -> Array:
    turned = ops.flip(v)
    return ops.conjugate(turned) if turned.dtype.kind == "c" else turned


def _ordered(a: Array, v: Array, what: str) -> tuple[Array, Array]:
    """Return the array that the other one fits into first."""
    if all(n >= m for n, m in zip(a.shape, v.shape, strict=True)):
        return a, v
    if all(n <= m for n, m in zip(a.shape, v.shape, strict=True)):
        return v, a
    raise errors.ShapeError(
        f"{what}: of shapes {list(a.shape)} and {list(v.shape)} neither fits into the other. Take mode='full'"
    )


def _common(a: Array, v: Array) -> tuple[Array, Array]:
    """Return both in one precision; each stays real or complex."""
    width = np.finfo(np.result_type(a.dtype, v.dtype)).dtype
    found = []
    for x in (a, v):
        wanted = np.result_type(width, np.complex64) if x.dtype.kind == "c" else width
        found.append(x if x.dtype == wanted else ops.astype(x, wanted))
    return found[0], found[1]


def _directly(a: Array, v: Array, mode: str, what: str) -> Array:
    a, v = _common(a, v)
    if mode == "valid":
        a, v = _ordered(a, v, what)
        return slid(a, ops.flip(v))
    shape = a.shape
    if v.size > a.size:
        a, v = v, a
    if mode == "full":
        starts, counts = [0] * a.ndim, [n + m - 1 for n, m in zip(a.shape, v.shape, strict=True)]
    else:
        counts = list(shape)
        starts = [(n + m - 1 - c) // 2 for n, m, c in zip(a.shape, v.shape, counts, strict=True)]
    widths = []
    for n, m, start, count in zip(a.shape, v.shape, starts, counts, strict=True):
        widths.append((m - 1 - start, start + count - n))
    return slid(_resized(a, widths), ops.flip(v))


def _resized(a: Array, widths: list[tuple[int, int]]) -> Array:
    """Return an array with so many zeros before and after it, or without so many elements."""
    cut = tuple(
        slice(max(-before, 0), n - max(-after, 0)) for n, (before, after) in zip(a.shape, widths, strict=True)
    )
    padded = [(max(before, 0), max(after, 0)) for before, after in widths]
    return ops.pad(ops.getitem(a, cut), padded)


def _by_transforms(a: Array, v: Array, mode: str, axes: Any, what: str) -> Array:
    from scipy import fft

    ndim = a.ndim
    given = np.atleast_1d(range(ndim) if axes is None else axes).tolist()
    chosen = sorted({axis_at(a, axis, what) for axis in given})
    if len(chosen) < len(given):
        raise errors.ShapeError(f"{what}: axes {axes} name one twice")
    if any(
        a.shape[k] != v.shape[k] and 1 not in (a.shape[k], v.shape[k]) for k in range(ndim) if k not in chosen
    ):
        raise errors.ShapeError(
            f"{what}: shapes {list(a.shape)} and {list(v.shape)} do not broadcast beside axes {chosen}"
        )
    if mode == "valid":
        parts = [[x.shape[k] for k in chosen] for x in (a, v)]
        if not (all(map(int.__ge__, *parts)) or all(map(int.__le__, *parts))):
            _ordered(a, v, what)
    is_complex = a.dtype.kind == "c" or v.dtype.kind == "c"
    counts = [a.shape[k] + v.shape[k] - 1 for k in chosen]
    lengths = [fft.next_fast_len(count, not is_complex) for count in counts]
    if is_complex:
        out = ops.fft.ifftn(
            ops.fft.fftn(a, lengths, chosen) * ops.fft.fftn(v, lengths, chosen), lengths, chosen
        )
    else:
        product = ops.fft.rfftn(a, lengths, chosen) * ops.fft.rfftn(v, lengths, chosen)
        out = ops.fft.irfftn(product, lengths, chosen)
    cut: list[Any] = [slice(None)] * ndim
    for k, count in zip(chosen, counts, strict=True):
        size = count
        if mode == "same":
            size = a.shape[k]
        elif mode == "valid":
            size = abs(a.shape[k] - v.shape[k]) + 1
        start = (count - size) // 2
        cut[k] = slice(start, start + size)
    out = ops.getitem(out, tuple(cut))
    dtype = np.result_type(a.dtype, v.dtype)
    return out if out.dtype == dtype else ops.astype(out, dtype)


def _bounded(
    a: Array, v: Array, mode: str, boundary: str, fillvalue: Any, what: str, is_late: bool = False
) -> Array:
    a, v = _common(a, v)
    if mode == "valid":
        a, v = _ordered(a, v, what)
        return slid(a, ops.flip(v))
    starts = [(m - 1 + is_late) // 2 if mode == "same" else 0 for m in v.shape]
    widths = [
        (m - 1 - start, start if mode == "same" else m - 1) for m, start in zip(v.shape, starts, strict=True)
    ]
    if boundary == "fill":
        x = ops.pad(a, widths, constant_values=fillvalue)
    else:
        x = ops.pad(a, widths, mode="wrap" if boundary == "wrap" else "symmetric")
    return slid(x, ops.flip(v))
