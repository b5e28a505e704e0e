"""Complex numbers: their parts, conjugates and angles.

Convention of derivative rules: adjoints and tangents pair without conjugation, so the change of a real result
is ``real(sum(g * t))``. A rule may return a complex number for a real operand, or for a real result: the
caller takes its real part, and converts to complex where the operand is. So one expression serves both modes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape.core import batch_rules, series
from tape.core.elementwise import elementwise
from tape.core.op import Op
from tape.core.operands import as_operand, composed
from tape.core.record import recorder_of
from tape.core.table import implements
from tape.inspect.costs import declare_cost, free
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.arithmetic import multiply
from tape.ops.elementwise.selection import sign, where

__all__ = [
    "abs",
    "absolute",
    "angle",
    "conj",
    "conjugate",
    "imag",
    "iscomplex",
    "isreal",
    "real",
    "real_if_close",
]

declare_samples(
    "np.abs, np.angle(x - 0.5)",
    "np.imag, np.iscomplex, np.isreal, np.real, np.real_if_close(x)",
)


def _joined(re: Any, im: Any) -> Any:
    shape = np.broadcast_shapes(np.shape(re), np.shape(im))
    out = np.empty(shape, np.result_type(re, im, np.complex64))
    out.real, out.imag = re, im  # where re + 1j * im would make NaN of infinities
    return out[()]


def _lower_of_parts(b: Any, re: Any, im: Any) -> Any:
    re, im = b.value(re), b.value(im)
    part = np.empty(0, np.result_type(re.dtype, im.dtype, np.complex64)).real.dtype
    return b.joined(b.cast(re, part), b.cast(im, part))


_of_parts = elementwise(
    _joined,
    lambda d, out, re, im: d,
    lambda d, out, re, im: multiply(d, 1j),
    taylor=lambda op, out, series, attrs: [
        None if re is None and im is None else op(0.0 if re is None else re, 0.0 if im is None else im)
        for re, im in zip(*series, strict=True)
    ],
    lower=_lower_of_parts,
    name="of_parts",
    doc="The complex number with a given real and imaginary part.",
)

real: Callable[..., Any] = elementwise(
    np.real,
    lambda d, out, x: d,
    taylor=series.linear,
    lower=lambda b, x: b.real(b.value(x)),
    name="real",
    numpy=np.real,
    view=lambda x, part: _of_parts(part, imag(x)) if x.dtype.kind == "c" else part,
    doc="The real part.",
)

imag: Callable[..., Any] = elementwise(
    np.imag,
    lambda d, out, x: multiply(d, -1j) if x.dtype.kind == "c" else d * 0.0,
    taylor=series.linear,
    lower=lambda b, x: b.imag(b.value(x)),
    name="imag",
    numpy=np.imag,
    view=lambda x, part: _of_parts(real(x), part),
    doc="The imaginary part; 0 for real numbers.",
)
declare_cost(free, real, imag, _of_parts)


def _lower_conjugate(b: Any, x: Any) -> Any:
    x = b.value(x)
    return b.elementwise("conjugate", x) if x.dtype.kind == "c" else x


conjugate: Callable[..., Any] = elementwise(
    np.conjugate,
    lambda d, out, x: conjugate(d) if x.dtype.kind == "c" else d,
    taylor=series.linear,
    lower=_lower_conjugate,
    name="conjugate",
    doc="The complex conjugate.",
)


def conjugated(x: Any) -> Any:
    """Return the complex conjugate; of real numbers the array itself, without a copy."""
    return conjugate(x) if x.dtype.kind == "c" else x


conj = conjugate


def _absolute_partial(d: Any, out: Any, x: Any) -> Any:
    if x.dtype.kind != "c":
        return d * sign(x)
    return d * (conjugate(x) / where(out == 0, np.inf, out))  # dividing by infinity makes it 0 at 0


def _taylor_absolute(op: Any, out: Any, parts: Any, attrs: dict[str, Any]) -> series.Series:
    """Taylor rule: real numbers coefficient by coefficient; complex ones by ``c c = real(a conj(a))``."""
    (a,) = parts
    if a[0].dtype.kind != "c":
        return series.linear(op, out, parts, attrs)
    mirrored = [None if part is None else conjugate(part) for part in a]
    products = [series.convolved(a, mirrored, k, 0, k) for k in range(len(a))]
    squares = [None if part is None else real(part) for part in products]
    divisor = where(out == 0, np.inf, out)  # as above
    return [out, *series.square_root(op, divisor, [squares], attrs)[1:]]


absolute = elementwise(np.absolute, _absolute_partial, taylor=_taylor_absolute)
abs = absolute


def _angle_partial(d: Any, out: Any, z: Any, deg: bool) -> Any:
    if z.dtype.kind != "c":
        return d * 0.0
    # The angle is the imaginary part of the logarithm.
    return multiply(d, (-180j / np.pi if deg else -1j) / where(z == 0, np.inf, z))


def _lower_angle(b: Any, z: Any, deg: bool) -> Any:
    z = b.value(z)
    radians = b.elementwise("arctan2", b.imag(z) if z.dtype.kind == "c" else 0.0, b.real(z))
    return radians * (180 / np.pi) if deg else radians


_angle = Op(
    lambda z, *, deg: np.angle(z, deg),
    name="angle",
    vjp=[_angle_partial],
    jvp=[_angle_partial],
    batch=batch_rules.elementwise,
    lower=_lower_angle,
)


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    """The angle between complex numbers and the positive real axis.

    Parameters
    ----------
    z : array_like or Var
        Any shape. Of real numbers the angle is 0 or pi, and constant.
    deg : bool
        In degrees instead of radians.

    Returns
    -------
    numpy.ndarray, numpy.floating or Var
        Array of the shape of ``z``, between -pi and pi. At 0 the derivative is taken as 0.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.angle(2j, deg=True))
    90.0
    """
    return _angle(z, deg=bool(deg))


def _lower_compared(ufunc: str) -> Any:
    return lambda b, x: b.elementwise(ufunc, b.imag(b.value(x)), 0)


iscomplex = recorder_of(
    Op(np.iscomplex, batch=batch_rules.elementwise, lower=_lower_compared("not_equal")), 1, np.iscomplex
)
isreal = recorder_of(
    Op(np.isreal, batch=batch_rules.elementwise, lower=_lower_compared("equal")), 1, np.isreal
)


@implements(np.real_if_close)
@composed
def real_if_close(a: Any, tol: float = 100) -> Any:
    """The real part, if all imaginary parts are close to 0; otherwise the argument itself.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    tol : float
        The largest imaginary part that counts as 0; in machine epsilons if larger than 1.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape of ``a``. Which of the two it is depends on the values and has no derivative.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.real_if_close(np.array([2.0 + 1e-16j]))
    array([2.])
    """
    a = as_operand(a)
    if isinstance(a, complex):
        a = np.complex128(a)
    if getattr(a, "dtype", np.dtype(float)).kind != "c":
        return a
    bound = np.finfo(a.dtype).eps * tol if tol > 1 else tol
    return real(a) if np.all(absolute(imag(a)) < bound) else a
