"""The operations of Fourier transforms, with their transposes.

Along one axis there are three transforms: of complex numbers to as many, forward and back (these are
symmetric, so that each is its own transpose), of real numbers to half a spectrum, and of half a spectrum back
to real numbers. Calls of `numpy.fft` become chains of these in `tape.ops.fft`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import log2, prod
from typing import Any

import numpy as np

from tape.core import pattern_rules
from tape.core.batch_rules import along_axes
from tape.core.op import Op
from tape.inspect.costs import Shape, declare_cost, free
from tape.ops.elementwise.complex import conjugate

OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The ``norm`` with which the transform back divides by what the one forth divides by."""


def _resized_forward(x: Any, *, length: int, axis: int) -> Any:
    axis %= x.ndim
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    common = (*(slice(None),) * axis, slice(min(length, x.shape[axis])))
    out = np.zeros_like(x, shape=shape)
    out[common] = x[common]
    return out


def _lower_resized(b: Any, x: Any, length: int, axis: int) -> Any:
    axis %= x.ndim
    missing = length - x.shape[axis]
    if missing <= 0:
        return b.read(x, (*(slice(None),) * axis, slice(length)))
    zeros = b.broadcast(b.literal(0, x.dtype), (*x.shape[:axis], missing, *x.shape[axis + 1 :]))
    return b.concatenate([x, zeros], axis)


resized: Op = Op(
    _resized_forward,
    name="resized",
    pattern=pattern_rules.moves,
    vjp=[lambda g, out, x, length, axis: resized(g, length=x.shape[axis], axis=axis)],
    linear=True,
    batch=along_axes,
    lower=_lower_resized,
    doc="Cropped or padded with zeros at the end of an axis.",
)


def _lower_along(name: str) -> Any:
    """Return the lowering of a transform between complex numbers; by NumPy's own loop."""

    def lower(b: Any, x: Any, *, axis: int, norm: str | None) -> Any:
        factor = _factor(norm if name == "fft" else OPPOSITE[norm], x.shape[axis], x.dtype)
        return _lowered(b, name, x, axis, x.shape[axis], factor, np.result_type(x.dtype, 1j))

    return lower


def _lower_to_half(b: Any, x: Any, *, axis: int, norm: str | None) -> Any:
    length = x.shape[axis]
    name, factor = "rfft_n_odd" if length % 2 else "rfft_n_even", _factor(norm, length, x.dtype)
    return _lowered(b, name, x, axis, length // 2 + 1, factor, np.result_type(x.dtype, 1j))


def _lower_from_half(b: Any, x: Any, *, length: int, axis: int, norm: str | None) -> Any:
    factor = _factor(OPPOSITE[norm], length, x.dtype)
    return _lowered(b, "irfft", x, axis, length, factor, _real_dtype(x.dtype))


def _lowered(b: Any, name: str, x: Any, axis: int, count: int, factor: Any, dtype: Any) -> Any:
    axis %= x.ndim
    order = (*[k for k in range(x.ndim) if k != axis], axis)
    x = b.transpose(x, order)
    if x.size:
        out = b.transform(name, x, factor, count, dtype)
    else:
        out = b.broadcast(b.literal(0, dtype), (*x.shape[:-1], count))
    return b.transpose(out, tuple(sorted(range(x.ndim), key=order.__getitem__)))


def _factor(norm: str | None, length: int, dtype: np.dtype[Any]) -> Any:
    """Return what NumPy multiplies with, rounded as it does."""
    if norm == "ortho":
        return np.reciprocal(np.sqrt(length, dtype=_real_dtype(dtype)))
    return np.reciprocal(length, dtype=_real_dtype(dtype)) if norm == "forward" else 1


def _real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.result_type(np.empty(0, dtype).real, 1.0)


def _between_complex(name: str, forward: Any) -> Op:
    """Return a transform between complex numbers; its matrix is symmetric."""
    op: Op = Op(
        lambda x, *, axis, norm: forward(x, axis=axis, norm=norm),
        name=name,
        pattern=pattern_rules.along_axis,
        vjp=[lambda g, out, x, axis, norm: op(g, axis=axis, norm=norm)],
        linear=True,
        batch=along_axes,
        lower=_lower_along(name),
    )
    return op


forth = _between_complex("fft", np.fft.fft)
back = _between_complex("ifft", np.fft.ifft)


def _weights(length: int, axis: int, ndim: int, dtype: Any, inner: float) -> Any:
    """Return 1 for frequencies that occur once, ``inner`` for those that also stand for a conjugate one."""
    weights = np.full(length // 2 + 1, inner, np.finfo(dtype).dtype)
    weights[0] = 1
    if length % 2 == 0:
        weights[-1] = 1
    return weights.reshape((-1, *(1,) * (ndim - 1 - axis % ndim)))


def _rfft_vjp(g: Any, out: Any, x: Any, axis: int, norm: str | None) -> Any:
    length = x.shape[axis]
    halved = conjugate(g) * _weights(length, axis, x.ndim, g.dtype, 0.5)
    return from_half(halved, length=length, axis=axis, norm=OPPOSITE[norm])


def _irfft_vjp(g: Any, out: Any, x: Any, length: int, axis: int, norm: str | None) -> Any:
    spectrum = to_half(g, axis=axis, norm=OPPOSITE[norm])
    return conjugate(spectrum) * _weights(length, axis, x.ndim, g.dtype, 2)


def _transform_cost(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    longer = max(out, shapes[0], key=prod)
    return 5 * prod(longer) * log2(max(longer[attrs["axis"]], 1))


to_half: Op = Op(
    lambda x, *, axis, norm: np.fft.rfft(x, axis=axis, norm=norm),
    name="rfft",
    pattern=pattern_rules.along_axis,
    vjp=[_rfft_vjp],
    linear=True,
    batch=along_axes,
    lower=_lower_to_half,
)

from_half: Op = Op(
    lambda x, *, length, axis, norm: np.fft.irfft(x, length, axis, norm),
    name="irfft",
    pattern=pattern_rules.along_axis,
    vjp=[_irfft_vjp],
    linear=True,
    batch=along_axes,
    lower=_lower_from_half,
)
declare_cost(_transform_cost, forth, back, to_half, from_half)


def _lower_shift(b: Any, x: Any, axis: tuple[int, ...], *, is_back: bool) -> Any:
    for i in axis:
        length = x.shape[i]
        cut = length // 2 if is_back else length - length // 2
        lead = (slice(None),) * (i % x.ndim)
        x = b.concatenate([b.read(x, (*lead, slice(cut, None))), b.read(x, (*lead, slice(cut)))], i % x.ndim)
    return x


shift = Op(
    lambda x, *, axis: np.fft.fftshift(x, axis),
    name="fftshift",
    pattern=pattern_rules.moves,
    vjp=[lambda g, out, x, axis: shift_back(g, axis=axis)],
    linear=True,
    batch=along_axes,
    lower=partial(_lower_shift, is_back=False),
)

shift_back: Op = Op(
    lambda x, *, axis: np.fft.ifftshift(x, axis),
    name="ifftshift",
    pattern=pattern_rules.moves,
    vjp=[lambda g, out, x, axis: shift(g, axis=axis)],
    linear=True,
    batch=along_axes,
    lower=partial(_lower_shift, is_back=True),
)
declare_cost(free, resized, shift, shift_back)
