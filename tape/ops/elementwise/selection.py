"""Choosing between values and comparing them: piecewise functions and their masks.

Functions that are constant almost everywhere (comparisons, logic, argmax) are recorded without a derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tape.core import batch_rules, pattern_rules, series
from tape.core.batch_rules import along_axes
from tape.core.elementwise import elementwise
from tape.core.node import Handle
from tape.core.op import Op
from tape.core.record import recorder_of
from tape.core.table import implements
from tape.inspect.costs import declare_cost, passes
from tape.inspect.samples import declare_samples
from tape.kernels.choices import select, share
from tape.ops.number_axes import axis_of

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "copysign",
    "equal",
    "fmax",
    "fmin",
    "greater",
    "greater_equal",
    "heaviside",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "not_equal",
    "sign",
    "signbit",
    "where",
]

declare_samples(
    "np.all(mask * x)",
    "np.any(x > 0.5)",
    "np.argmax, np.argmin(x, axis=1)",
    "np.copysign(x, y - 0.5)",
    "np.heaviside(x - 0.5, 0.5)",
    "np.isclose(x, y)",
    "np.isneginf, np.isposinf(x)",
    "np.where(x > 0.5, x, y)",
)

equal = elementwise(np.equal)
not_equal = elementwise(np.not_equal)
less = elementwise(np.less)
less_equal = elementwise(np.less_equal)
greater = elementwise(np.greater)
greater_equal = elementwise(np.greater_equal)
logical_and = elementwise(np.logical_and)
logical_or = elementwise(np.logical_or)
logical_xor = elementwise(np.logical_xor)
logical_not = elementwise(np.logical_not)
isnan = elementwise(np.isnan)
isinf = elementwise(np.isinf)
isfinite = elementwise(np.isfinite)
signbit = elementwise(np.signbit)


def _equal_to(number: float) -> Callable[..., Any]:
    return lambda b, x: b.elementwise("equal", x, number)


isposinf = recorder_of(
    Op(np.isposinf, batch=batch_rules.elementwise, lower=_equal_to(np.inf)), 1, np.isposinf
)
isneginf = recorder_of(
    Op(np.isneginf, batch=batch_rules.elementwise, lower=_equal_to(-np.inf)), 1, np.isneginf
)

where: Callable[..., Any] = elementwise(
    select,
    None,
    lambda d, out, condition, x, y: where(condition, d, 0),
    lambda d, out, condition, x, y: where(condition, 0, d),
    taylor=series.linear,
    lower=lambda b, condition, x, y: b.where(condition, x, y),
    pattern=pattern_rules.choices,
    name="where",
    numpy=np.where,
    doc="``x`` where ``condition`` holds, else ``y``.",
)


def _choice(ufunc: np.ufunc, doc: str) -> Callable[..., Any]:
    def chosen(d: Any, out: Any, x: Any, y: Any) -> Any:
        """Return ``d`` where x alone is the result, and half of it where both are."""
        taken = share(d, x, y, ufunc.__name__)
        return where(x == y, 0.5 * d, where(x == out, d, 0)) if taken is None else taken

    return elementwise(
        ufunc,
        chosen,
        lambda d, out, x, y: chosen(d, out, y, x),
        taylor=series.linear,
        doc=doc,
    )


maximum = _choice(np.maximum, "The larger of two values; equal ones share the derivative.")
minimum = _choice(np.minimum, "The smaller of two values; equal ones share the derivative.")
fmax = _choice(np.fmax, "As `maximum`, but of a number and NaN the number.")
fmin = _choice(np.fmin, "As `minimum`, but of a number and NaN the number.")

heaviside = elementwise(
    np.heaviside,
    None,
    lambda d, out, x, y: where(x == 0, d, 0),
    taylor=series.linear,
    doc="The Heaviside step: 0 where the first is negative, 1 where positive, the second where it is 0.",
)


# The sign of a complex number is x / |x|, which rotates as x does.


def _sign_vjp(g: Any, out: Any, x: Any) -> Any:
    return _turn(g * out, out, x) * np.conjugate(out)


def _sign_jvp(t: Any, out: Any, x: Any) -> Any:
    return _turn(t * np.conjugate(out), out, x) * out


def _turn(product: Any, out: Any, x: Any) -> Any:
    return 1j * (np.imag(product) / where(out == 0, 1, np.absolute(x)))


_sign = elementwise(np.sign)
_complex_sign = recorder_of(
    Op(
        np.sign,
        vjp=[_sign_vjp],
        jvp=[_sign_jvp],
        batch=batch_rules.elementwise,
        name="sign",
        lower=lambda b, x: b.elementwise("sign", x),
    ),
    1,
)


@implements(np.sign)
def sign(x: Any, /) -> Any:
    """The sign of real numbers, -1, 0 or 1; ``x / abs(x)`` of complex ones, and 0 at 0.

    Parameters
    ----------
    x : array_like or Var
        Any shape.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape and dtype of ``x``; constant to derivatives if it is real. At 0 they are 0.

    Examples
    --------
    >>> import tape
    >>> complex(tape.ops.sign(3 + 4j))
    (0.6+0.8j)
    """
    return _complex_sign(x) if isinstance(x, Handle) and x.dtype.kind == "c" else _sign(x)  # type: ignore[attr-defined]


copysign = elementwise(
    np.copysign,
    lambda d, out, x, y: d * (sign(x) * sign(out)),
    None,
    taylor=series.linear,
    doc="The absolute value of the first with the sign of the second; the derivative at 0 is 0.",
)


def _lower_isclose(build: Any, a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    a, b = (_as_float(build, x) for x in (a, b))
    relative = build.elementwise("multiply", rtol, build.elementwise("absolute", b))
    tolerance = build.elementwise("add", atol, relative)
    if _is_python(b) and _is_python(rtol) and _is_python(atol):
        tolerance = tolerance.weakened()
    within = build.elementwise("absolute", a - b) <= tolerance
    is_finite = build.elementwise("logical_and", within, build.elementwise("isfinite", b))
    close = build.elementwise("logical_or", is_finite, build.elementwise("equal", a, b))
    if not equal_nan:
        return close
    both = build.elementwise("logical_and", *(build.elementwise("isnan", x) for x in (a, b)))
    return build.elementwise("logical_or", close, both)


def _as_float(build: Any, x: Any) -> Any:
    """Return a value as a float or complex number; a number of Python's stays one."""
    value = x if hasattr(x, "is_weak") else build.value(x)
    if value.dtype.kind not in "fc":
        value = build.cast(value, np.float64)
    return value.weakened() if _is_python(x) else value


def _is_python(x: Any) -> bool:
    """Return whether an operand of a rule is a Python number, which does not widen others."""
    return x.is_weak if hasattr(x, "is_weak") else type(x) in (bool, int, float, complex)


_isclose = Op(
    lambda a, b, rtol, atol, *, equal_nan: np.isclose(a, b, rtol, atol, equal_nan),
    name="isclose",
    batch=batch_rules.elementwise,
    lower=_lower_isclose,
)


def reducing(function: Callable[..., Any], batch: Callable[..., Any], lower: Any = None) -> Op:
    """Return the operation of a NumPy function that reduces axes, recorded without a derivative."""

    def forward(x: Any, *, axis: Any, keepdims: bool) -> Any:
        return function(x, axis=axis, keepdims=keepdims)

    return Op(forward, name=function.__name__, batch=batch, lower=lower)


def batch_positions(op: Op, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    """The batch rule of positions, which count elements where there is no axis."""
    (x,) = operands
    if attrs["axis"] is not None:
        return along_axes(op, operands, is_batched, attrs, size)
    found = op(x.reshape((size, prod(x.shape[1:]))), **{**attrs, "axis": 1})
    return found.reshape((size, *(1,) * (x.ndim - 1))) if attrs.get("keepdims") else found


def _truth(function: Callable[..., Any]) -> Op:
    def lower(b: Any, x: Any, axis: Any, keepdims: bool) -> Any:
        return b.fold(function.__name__, b.value(x, bool), axis, keepdims)

    return reducing(function, along_axes, lower)


def _position(function: Callable[..., Any]) -> Op:
    def lower(b: Any, x: Any, axis: Any, keepdims: bool) -> Any:
        return b.position(function.__name__, x, axis, keepdims)

    return reducing(function, batch_positions, lower)


_all, _any = _truth(np.all), _truth(np.any)
_argmax, _argmin = _position(np.argmax), _position(np.argmin)
declare_cost(passes(1), _all, _any, _argmax, _argmin)


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Return whether values are equal within a tolerance, as `numpy.isclose`; recorded without a derivative.

    Examples
    --------
    >>> import tape
    >>> bool(tape.ops.isclose(1.0, 1.0 + 1e-9))
    True
    """
    return _isclose(a, b, rtol, atol, equal_nan=equal_nan)


@implements(np.all)
def all(
    a: Any, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False, where: Any = True
) -> Any:
    """Return whether all elements are true, over axes, as `numpy.all`; recorded without a derivative.

    Examples
    --------
    >>> import tape
    >>> bool(tape.ops.all([True, False]))
    False
    """
    if where is not True:
        a = logical_or(a, logical_not(where))
    return _all(a, axis=axis_of(a, axis), keepdims=keepdims)


@implements(np.any)
def any(
    a: Any, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False, where: Any = True
) -> Any:
    """Return whether any element is true, over axes, as `numpy.any`; recorded without a derivative.

    Examples
    --------
    >>> import tape
    >>> bool(tape.ops.any([True, False]))
    True
    """
    if where is not True:
        a = logical_and(a, where)
    return _any(a, axis=axis_of(a, axis), keepdims=keepdims)


@implements(np.argmax)
def argmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Index of the largest element; recorded without a derivative.

    Parameters
    ----------
    a : array_like or Var
        Not empty along ``axis``.
    axis : int, optional
        None for the flattened array.
    keepdims : bool
        Keep ``axis`` with length one.

    Returns
    -------
    numpy.ndarray, numpy.integer or Var
        Array of an integer dtype.

    Raises
    ------
    ShapeError
        If there is no such axis, or no elements along it.

    Examples
    --------
    >>> import tape
    >>> int(tape.ops.argmax([1.0, 3.0, 2.0]))
    1
    """
    return _argmax(a, axis=axis_of(a, axis), keepdims=keepdims)


@implements(np.argmin)
def argmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Index of the smallest element; recorded without a derivative. Otherwise like `argmax`.

    Examples
    --------
    >>> import tape
    >>> int(tape.ops.argmin([1.0, 3.0, 2.0]))
    0
    """
    return _argmin(a, axis=axis_of(a, axis), keepdims=keepdims)
