"""Fourier transforms: the names of `numpy.fft`.

Transforms over several axes go from one axis to the next, as NumPy's do. Arrays are cropped or padded to
``n`` or ``s`` before. The operations themselves are in `tape.ops.fft.spectra`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.table import implements
from tape.errors import OptionError, ShapeError
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.complex import conjugate
from tape.ops.fft.spectra import OPPOSITE, back, forth, from_half, resized, shift, shift_back, to_half
from tape.ops.structure.positions import checked_axis

__all__ = [
    "fft",
    "fft2",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftn",
]

declare_samples(*(f"np.fft.{name}(x)" for name in __all__))

# ---- arguments -------------------------------------------------------------------------------------


def _checked(name: str, a: Any, axis: int, norm: str | None) -> Any:
    a = as_operand(a)
    checked_axis(name, np.shape(a), axis)
    if norm not in OPPOSITE:
        raise OptionError(f"{name}: norm is {norm!r}. It must be 'backward', 'ortho' or 'forward'")
    return a


def _length(name: str, n: Any, default: int) -> int:
    length = default if n is None else operator.index(n)
    if length < 1:
        raise ShapeError(f"{name} of {length} points. Give at least one")
    return length


def _fitted(a: Any, length: int, axis: int) -> Any:
    return a if a.shape[axis] == length else resized(a, length=length, axis=axis)


def _along(op: Op, a: Any, n: Any, axis: int, norm: str | None) -> Any:
    """Run a transform that keeps the length."""
    a = _checked(op.name, a, axis, norm)
    length = _length(op.name, n, a.shape[axis])
    return op(_fitted(a, length, axis), axis=axis, norm=norm)


def _back_to_real(name: str, a: Any, n: Any, axis: int, norm: str | None) -> Any:
    length = _length(name, n, 2 * (a.shape[axis] - 1))
    return from_half(_fitted(a, length // 2 + 1, axis), length=length, axis=axis, norm=norm)


def _sides(name: str, a: Any, s: Any, axes: Any, norm: str | None) -> list[tuple[int, int]]:
    """Return the length and the axis of each transform, checked."""
    shape = np.shape(a)
    if axes is None:
        axes = range(-len(shape if s is None else s), 0)
    axes = [operator.index(axis) for axis in axes]
    lengths = [None] * len(axes) if s is None else [None if n == -1 else n for n in s]
    if len(lengths) != len(axes):
        raise ShapeError(f"{name}: {len(lengths)} lengths for {len(axes)} axes")
    for axis in axes:
        _checked(name, a, axis, norm)
    return [(_length(name, n, shape[axis]), axis) for n, axis in zip(lengths, axes, strict=True)]


def _sides_of_half(name: str, a: Any, s: Any, axes: Any, norm: str | None) -> list[tuple[int, int]]:
    sides = _sides(name, a, s, axes, norm)
    if not sides:
        raise ShapeError(f"{name} over no axes. Give at least one")
    return sides


def _over_axes(name: str, op: Op, a: Any, s: Any, axes: Any, norm: str | None) -> Any:
    a = as_operand(a)
    for n, axis in reversed(_sides(name, a, s, axes, norm)):
        a = _along(op, a, n, axis, norm)
    return a


def _over_axes_to_half(name: str, a: Any, s: Any, axes: Any, norm: str | None) -> Any:
    a = as_operand(a)
    *others, (length, last) = _sides_of_half(name, a, s, axes, norm)
    a = _along(to_half, a, length, last, norm)
    for n, axis in reversed(others):
        a = _along(forth, a, n, axis, norm)
    return a


def _over_axes_from_half(name: str, a: Any, s: Any, axes: Any, norm: str | None) -> Any:
    a = as_operand(a)
    *others, (length, last) = _sides_of_half(name, a, s, axes, norm)
    if s is None:
        length = _length(name, None, 2 * (length - 1))
    for n, axis in others:
        a = _along(back, a, n, axis, norm)
    return _back_to_real(name, a, length, last, norm)


def _shifted(op: Op, x: Any, axes: Any) -> Any:
    x = as_operand(x)
    axis = tuple(range(np.ndim(x))) if axes is None else tuple(np.atleast_1d(axes).tolist())
    if any(not -np.ndim(x) <= i < np.ndim(x) for i in axis):
        raise ShapeError(f"{op.name}: there are no axes {axes} in shape {list(np.shape(x))}")
    return op(x, axis=axis)


# ---- along one axis --------------------------------------------------------------------------------


@implements(np.fft.fft)
def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The discrete Fourier transform along an axis.

    Parameters
    ----------
    a : array_like or Var
        Real or complex, one axis at least.
    n : int, optional
        Its length: what is longer is cropped, what is shorter padded with zeros.
    axis : int
        The axis.
    norm : {"backward", "ortho", "forward"}, optional
        The direction that divides by ``n``, or both by its root; by default the inverse.

    Returns
    -------
    numpy.ndarray or Var
        Complex.

    Raises
    ------
    ShapeError
        If there is no such axis, or no points.
    OptionError
        If ``norm`` is something else.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.fft.fft(np.array([1.0, 0.0]))
    array([1.+0.j, 1.+0.j])
    """
    return _along(forth, a, n, axis, norm)


@implements(np.fft.ifft)
def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `fft`. Parameters, result and errors are the same."""
    return _along(back, a, n, axis, norm)


@implements(np.fft.rfft)
def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The Fourier transform of real numbers: ``n // 2 + 1`` frequencies; the others are their conjugates.

    Parameters and errors are those of `fft`; ``a`` must be real.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.fft.rfft(np.array([1.0, 0.0, 0.0])).shape
    (2,)
    """
    return _along(to_half, a, n, axis, norm)


@implements(np.fft.irfft)
def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `rfft`. Parameters and errors are those of `fft`.

    Parameters
    ----------
    a : array_like or Var
        Half a spectrum. Imaginary parts of the frequency 0, and of the last one if ``n`` is even, do not
        matter.
    n : int, optional
        The length of the result, by default ``2 * (m - 1)`` for ``m`` frequencies.
    axis, norm
        Same as for `fft`.

    Returns
    -------
    numpy.ndarray or Var
        Real.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.fft.irfft(np.array([1.0, 1.0]), 3)
    array([1., 0., 0.])
    """
    return _back_to_real("irfft", _checked("irfft", a, axis, norm), n, axis, norm)


@implements(np.fft.hfft)
def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The real transform of a signal of which half is given. Parameters and errors are those of `irfft`."""
    a = _checked("hfft", a, axis, norm)
    _length("hfft", n, 2 * (a.shape[axis] - 1))
    return _back_to_real("hfft", conjugate(a), n, axis, OPPOSITE[norm])


@implements(np.fft.ihfft)
def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `hfft`. Parameters and errors are those of `rfft`."""
    a = _checked("ihfft", a, axis, norm)
    return conjugate(_along(to_half, a, n, axis, OPPOSITE[norm]))


# ---- over several axes -----------------------------------------------------------------------------

Sides = Sequence[int] | None


@implements(np.fft.fftn)
def fftn(a: Any, s: Sides = None, axes: Sides = None, norm: str | None = None) -> Any:
    """The Fourier transform over several axes.

    Parameters
    ----------
    a : array_like or Var
        Real or complex.
    s : sequence of int, optional
        The length of each transform, -1 for that of ``a``: cropped or padded with zeros as in `fft`.
    axes : sequence of int, optional
        Over which; by default all, or as many last ones as ``s`` says.
    norm : {"backward", "ortho", "forward"}, optional
        Same as for `fft`.

    Returns
    -------
    numpy.ndarray or Var
        Complex.

    Raises
    ------
    ShapeError
        If there are no such axes or no points, or as many lengths as axes are not given.
    OptionError
        If ``norm`` is something else.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.fft.fftn(np.eye(2))
    array([[2.+0.j, 0.+0.j],
           [0.+0.j, 2.+0.j]])
    """
    return _over_axes("fftn", forth, a, s, axes, norm)


@implements(np.fft.ifftn)
def ifftn(a: Any, s: Sides = None, axes: Sides = None, norm: str | None = None) -> Any:
    """The inverse of `fftn`. Parameters, result and errors are the same."""
    return _over_axes("ifftn", back, a, s, axes, norm)


@implements(np.fft.fft2)
def fft2(a: Any, s: Sides = None, axes: Sides = (-2, -1), norm: str | None = None) -> Any:
    """The Fourier transform over two axes, as `fftn`."""
    return _over_axes("fft2", forth, a, s, axes, norm)


@implements(np.fft.ifft2)
def ifft2(a: Any, s: Sides = None, axes: Sides = (-2, -1), norm: str | None = None) -> Any:
    """The inverse of `fft2`. Parameters, result and errors are those of `fftn`."""
    return _over_axes("ifft2", back, a, s, axes, norm)


@implements(np.fft.rfftn)
def rfftn(a: Any, s: Sides = None, axes: Sides = None, norm: str | None = None) -> Any:
    """The Fourier transform of real numbers over several axes: half of the frequencies along the last.

    Parameters and errors are those of `fftn`; ``a`` must be real, and there must be an axis.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.fft.rfftn(np.ones((2, 4))).shape
    (2, 3)
    """
    return _over_axes_to_half("rfftn", a, s, axes, norm)


@implements(np.fft.irfftn)
def irfftn(a: Any, s: Sides = None, axes: Sides = None, norm: str | None = None) -> Any:
    """The inverse of `rfftn`, which is real. Parameters and errors are the same.

    The default length along the last axis is that of `irfft`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.fft.irfftn(np.ones((2, 3))).shape
    (2, 4)
    """
    return _over_axes_from_half("irfftn", a, s, axes, norm)


@implements(np.fft.rfft2)
def rfft2(a: Any, s: Sides = None, axes: Sides = (-2, -1), norm: str | None = None) -> Any:
    """The Fourier transform of real numbers over two axes, as `rfftn`."""
    return _over_axes_to_half("rfft2", a, s, axes, norm)


@implements(np.fft.irfft2)
def irfft2(a: Any, s: Sides = None, axes: Sides = (-2, -1), norm: str | None = None) -> Any:
    """The inverse of `rfft2`. Parameters, result and errors are those of `irfftn`."""
    return _over_axes_from_half("irfft2", a, s, axes, norm)


# ---- shifts ----------------------------------------------------------------------------------------


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """Shift axes so that the frequency 0 is in the middle.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    axes : int or sequence of int, optional
        Which; by default all.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If there are no such axes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.fft.fftshift(np.array([0.0, 1.0, 2.0]))
    array([2., 0., 1.])
    """
    return _shifted(shift, x, axes)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """The inverse of `fftshift`. Parameters, result and errors are the same."""
    return _shifted(shift_back, x, axes)
