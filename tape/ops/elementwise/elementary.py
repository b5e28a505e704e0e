"""Elementary functions, element by element, and `apply` for functions of the user's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log as _log
from typing import Any

import numpy as np

from tape.core import batch_rules, series
from tape.core.elementwise import elementwise, fused_elementwise
from tape.core.linear import broadcast_to
from tape.core.op import Op
from tape.core.users_functions import unwritten
from tape.core.var import named
from tape.errors import OptionError, ShapeError
from tape.inspect.samples import declare_samples
from tape.kernels.choices import select
from tape.kernels.fused import minus_twice, relu_partial, sigmoid_bend, sigmoid_partial, tanh_partial
from tape.ops.elementwise.selection import isinf, logical_and, maximum, sign, where

__all__ = [
    "acos",
    "acosh",
    "apply",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "hypot",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "rad2deg",
    "radians",
    "reciprocal",
    "relu",
    "sigmoid",
    "sin",
    "sinh",
    "softplus",
    "sqrt",
    "square",
    "tan",
    "tanh",
]

declare_samples(
    "np.arccosh(1 + x)",
    "np.fabs, tape.ops.relu(x - 0.5)",
    "tape.apply(x, np.sin, np.cos)",
    "tape.ops.sigmoid, tape.ops.softplus, tape.ops.special.softplus(x)",
)

_LOG_2, _LOG_10 = _log(2), _log(10)

exp = elementwise(np.exp, lambda d, out, x: d * out, taylor=series.exp)
expm1 = elementwise(np.expm1, lambda d, out, x: d * exp(x), taylor=series.expm1)
exp2 = elementwise(np.exp2, lambda d, out, x: d * (out * _LOG_2))
log = elementwise(np.log, lambda d, out, x: d / x, taylor=series.log)
log1p = elementwise(np.log1p, lambda d, out, x: d / (x + 1), taylor=series.log1p)
log2 = elementwise(np.log2, lambda d, out, x: d / (x * _LOG_2))
log10 = elementwise(np.log10, lambda d, out, x: d / (x * _LOG_10))
sqrt = elementwise(np.sqrt, lambda d, out, x: 0.5 * d / out, taylor=series.square_root)
cbrt = elementwise(np.cbrt, lambda d, out, x: d / (3 * (out * out)))
square = elementwise(np.square, lambda d, out, x: d * (2 * x), taylor=series.square)
reciprocal = elementwise(np.reciprocal, lambda d, out, x: -(d * (out * out)), taylor=series.reciprocal)
fabs = elementwise(np.fabs, lambda d, out, x: d * sign(x), taylor=series.linear)
sin = elementwise(np.sin, lambda d, out, x: d * cos(x), taylor=series.sin)
cos: Callable[..., Any] = elementwise(np.cos, lambda d, out, x: -(d * sin(x)), taylor=series.cos)
tan = elementwise(np.tan, lambda d, out, x: d * (1 + out * out), taylor=series.tan)
arcsin = asin = elementwise(np.arcsin, lambda d, out, x: d / sqrt((1 - x) * (1 + x)))
arccos = acos = elementwise(np.arccos, lambda d, out, x: -(d / sqrt((1 - x) * (1 + x))))
arctan = atan = elementwise(np.arctan, lambda d, out, x: d / (1 + x * x), taylor=series.arctan)
sinh = elementwise(np.sinh, lambda d, out, x: d * cosh(x))
cosh: Callable[..., Any] = elementwise(np.cosh, lambda d, out, x: d * sinh(x))
arcsinh = asinh = elementwise(np.arcsinh, lambda d, out, x: d / sqrt(x * x + 1))
# A single square root is on the wrong branch for complex numbers left of 0.
arccosh = acosh = elementwise(np.arccosh, lambda d, out, x: d / (sqrt(x - 1) * sqrt(x + 1)))
arctanh = atanh = elementwise(np.arctanh, lambda d, out, x: d / ((1 - x) * (1 + x)))
degrees: Callable[..., Any] = elementwise(np.degrees, lambda d, out, x: degrees(d), taylor=series.linear)
radians: Callable[..., Any] = elementwise(np.radians, lambda d, out, x: radians(d), taylor=series.linear)
rad2deg: Callable[..., Any] = elementwise(np.rad2deg, lambda d, out, x: rad2deg(d), taylor=series.linear)
deg2rad: Callable[..., Any] = elementwise(np.deg2rad, lambda d, out, x: deg2rad(d), taylor=series.linear)


# Functions of two variables. Where both are 0, dividing by infinity makes all derivatives 0.


def _nonzero(x: Any) -> Any:
    return where(x == 0, np.inf, x)


hypot: Callable[..., Any] = elementwise(
    np.hypot,
    lambda d, out, x, y: d * (x / _nonzero(out)),
    lambda d, out, x, y: d * (y / _nonzero(out)),
    doc="``sqrt(x**2 + y**2)``, without overflow; where both are 0, the derivatives are 0.",
)


def _turned(d: Any, x: Any, y: Any) -> Any:
    if type(x) is type(y) is np.ndarray and x.dtype.kind == y.dtype.kind == "f":
        with np.errstate(all="ignore"):
            squares = x * x + y * y
        limits = np.finfo(squares.dtype)
        if squares.size and squares.min() > limits.tiny / limits.eps and squares.max() < np.inf:
            return d * (x / squares)  # the shorter way, where squares neither overflow nor underflow
    scale = maximum(abs(x), abs(y))  # squares would overflow or underflow; hypot takes much longer
    at_origin = scale == 0
    scale = scale + at_origin
    x, y = x / scale * ~at_origin, y / scale  # without a second derivative there, too
    return d * x / (scale * (x * x + y * y + at_origin))


arctan2 = atan2 = elementwise(
    np.arctan2,
    lambda d, out, y, x: _turned(d, x, y),
    lambda d, out, y, x: -_turned(d, y, x),
    doc="The angle of the point (x, y), given y and x; where both are 0, the derivatives are 0.",
)


def _lead(x: Any, y: Any) -> Any:
    """Return ``x - y``; of two equal infinities that infinity, since minus infinity adds nothing to a sum."""
    return x - where(logical_and(x == y, isinf(y)), 0, y)


def _lower_logaddexp(b: Any, x: Any, y: Any) -> Any:
    x, y = b.value(x), b.value(y)
    if np.result_type(x.dtype, y.dtype) != np.float64:
        return b.elementwise("logaddexp", x, y)
    tail = b.elementwise("log1p", b.elementwise("exp", -b.elementwise("absolute", x - y)))
    tail = b.where(b.elementwise("equal", x, y), b.literal(np.log(2.0)), tail)  # infinities too
    return b.elementwise("maximum", x, y) + tail


logaddexp = elementwise(
    np.logaddexp,
    lambda d, out, x, y: d * sigmoid(_lead(x, y)),
    lambda d, out, x, y: d * sigmoid(_lead(y, x)),
    lower=_lower_logaddexp,
    doc="``log(exp(x) + exp(y))``, without overflow; where both are -inf, the derivatives are 0.",
)

logaddexp2 = elementwise(
    np.logaddexp2,
    lambda d, out, x, y: d * sigmoid(_LOG_2 * _lead(x, y)),
    lambda d, out, x, y: d * sigmoid(_LOG_2 * _lead(y, x)),
    doc="``log2(2**x + 2**y)``, without overflow; where both are -inf, the derivatives are 0.",
)


# Rules of the most frequent activations are one pass each, and one node each when they are recorded.


_minus_twice_product: Any = fused_elementwise(
    minus_twice,
    lambda d, out, x, y: _minus_twice_product(d, y),
    lambda d, out, x, y: _minus_twice_product(d, x),
)


_tanh_rule: Any = fused_elementwise(
    tanh_partial,
    lambda g, _, d, out: _tanh_rule(g, out),
    lambda g, _, d, out: _minus_twice_product(g * d, out),
)

tanh = elementwise(np.tanh, lambda d, out, x: _tanh_rule(d, out), taylor=series.tanh)


def _sigmoid(x: Any) -> Any:
    if x.dtype.kind == "c":
        falls = x.real < 0
        decay = np.exp(select(falls, x, -x))
        return select(falls, decay, 1) / (1 + decay)
    if x.dtype.kind != "f":  # negatives of narrow and unsigned ints wrap around
        x = x.astype(np.result_type(x, np.float16))
    decay = np.exp(-np.abs(x))  # never overflows
    return select(x >= 0, 1, decay) / (1 + decay)


_sigmoid_rule: Any = fused_elementwise(
    sigmoid_partial,
    lambda g, _, d, out: _sigmoid_rule(g, out),
    lambda g, _, d, out: _sigmoid_bend_rule(g * d, out),
)

_sigmoid_bend_rule: Any = fused_elementwise(
    sigmoid_bend,
    lambda g, _, x, out: _sigmoid_bend_rule(g, out),
    lambda g, _, x, out: _minus_twice_product(g, x),
)


def _lower_sigmoid(b: Any, x: Any) -> Any:
    if x.dtype.kind == "c":  # a complex infinity would make NaN in the quotient
        falls = b.real(x) < 0
        decay = b.elementwise("exp", b.where(falls, x, -x))
        return b.where(falls, decay, 1) / (1 + decay)
    if x.dtype not in (np.float64, np.float32):
        x = b.cast(x, np.float32 if x.dtype == np.float16 else np.float64)
    return 1 / (1 + b.elementwise("exp", -x))  # 1 / inf is 0, and a program does not warn of the overflow


sigmoid: Callable[..., Any] = elementwise(
    _sigmoid,
    lambda d, out, x: _sigmoid_rule(d, out),
    taylor=series.sigmoid,
    lower=_lower_sigmoid,
    doc="The logistic function ``1 / (1 + exp(-x))``, without overflow; of complex numbers too.",
)


_relu_rule: Any = fused_elementwise(relu_partial, lambda g, _, d, out: _relu_rule(g, out), None)

relu = elementwise(
    lambda x: np.maximum(x, 0),
    lambda d, out, x: _relu_rule(d, out),
    taylor=series.linear,
    lower=lambda b, x: b.where(x <= 0, 0, x),  # NaN stays, -0.0 does not
    name="relu",
    doc="``maximum(x, 0)``; the derivative at 0 is 0.",
)

_logistic: Callable[..., Any] = elementwise(
    _sigmoid,
    lambda d, out, x: d * (out * _logistic(-x)),
    lower=_lower_sigmoid,
    name="logistic",
    doc="Like `sigmoid`, with derivatives that keep all digits where it is close to 1, in more passes.",
)


def _softplus(x: Any) -> Any:  # the formula of logaddexp, whose own loop is scalar
    if x.dtype.kind == "c":
        raise TypeError("softplus takes real numbers")
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    return np.maximum(x, 0) + np.log1p(np.exp(0.0 - np.abs(x)))


def _lower_softplus(b: Any, x: Any) -> Any:
    x = b.cast(x, np.float64) if x.dtype.kind in "biu" else x
    tail = b.elementwise("log1p", b.elementwise("exp", -b.elementwise("absolute", x)))
    return b.where(x < 0, 0, x) + tail


softplus = elementwise(
    _softplus,
    lambda d, out, x: d * _logistic(x),
    taylor=series.softplus,
    lower=_lower_softplus,
    doc="``log(1 + exp(x))``, without overflow.",
)


_NO_ATTRS: dict[str, Any] = {}


def _apply(x: Any, *, f: Callable[[Any], Any], df: Callable[[Any], Any]) -> Any:
    result = np.asarray(unwritten(f, "a function given to apply", (x,), _NO_ATTRS))
    if result.shape != x.shape:
        raise ShapeError(
            f"apply: f returned shape {list(result.shape)} for shape {list(x.shape)}. "
            "It must work element by element"
        )
    return result if result.ndim else result[()]


def _apply_partial(d: Any, out: Any, x: Any, f: Callable[[Any], Any], df: Callable[[Any], Any]) -> Any:
    slope = unwritten(df, "a derivative given to apply", (x,), _NO_ATTRS)
    if np.shape(slope) not in (x.shape, ()):
        raise ShapeError(
            f"apply: df returned shape {list(np.shape(slope))} for shape {list(x.shape)}. "
            "It must work element by element"
        )
    return d * slope


_apply_op = Op(
    _apply, vjp=[_apply_partial], jvp=[_apply_partial], batch=batch_rules.elementwise, explains_errors=False
)


def _apply_several(*xs: Any, f: Callable[..., Any], df: Any) -> Any:
    result = np.asarray(unwritten(f, "a function given to apply", xs, _NO_ATTRS))
    shape = np.broadcast_shapes(*map(np.shape, xs))
    if result.shape != shape:
        raise ShapeError(
            f"apply: f returned shape {list(result.shape)} for shapes {[list(np.shape(x)) for x in xs]}. "
            "It must work element by element"
        )
    return result if result.ndim else result[()]


def _partials_of_several(d: Any, k: int, out: Any, xs: Any, df: Any) -> Any:
    slope = unwritten(df[k], "a derivative given to apply", xs, _NO_ATTRS)
    if np.shape(slope) not in (out.shape, ()):
        raise ShapeError(
            f"apply: derivative {k} returned shape {list(np.shape(slope))} for shape {list(out.shape)}. "
            "It must work element by element"
        )
    return d * slope


def _apply_several_vjp(g: Any, out: Any, *xs: Any, f: Callable[..., Any], df: Any) -> list[Any]:
    return [None if df[k] is None else _partials_of_several(g, k, out, xs, df) for k in range(len(xs))]


def _apply_several_jvp(tangents: list[Any], out: Any, *xs: Any, f: Callable[..., Any], df: Any) -> Any:
    moved = None
    for k, t in enumerate(tangents):
        if t is not None and df[k] is not None:
            part = _partials_of_several(t, k, out, xs, df)
            moved = part if moved is None else moved + part
    return moved


def _apply_several_batch(
    op: Any, operands: Sequence[Any], is_batched: Sequence[bool], attrs: dict[str, Any], size: int
) -> Any:
    """Broadcast first: what a function makes of some operands only would have another shape than the rest."""
    ndim = max(np.ndim(x) - each for x, each in zip(operands, is_batched, strict=True))
    lifted = [batch_rules.lift(x, each, ndim) for x, each in zip(operands, is_batched, strict=True)]
    shape = np.broadcast_shapes(*map(np.shape, lifted))
    return op(*[x if np.shape(x) == shape else broadcast_to(x, shape=shape) for x in lifted], **attrs)


_apply_several_op = Op(
    _apply_several,
    name="apply",
    vjp=_apply_several_vjp,
    jvp=_apply_several_jvp,
    batch=_apply_several_batch,
    explains_errors=False,
)
_apply_op.is_users = _apply_several_op.is_users = True  # as the functions are that they are given


def apply(x: Any, f: Callable[..., Any], df: Any, name: str | None = None) -> Any:
    """Apply an elementwise function with a derivative given by the user.

    Parameters
    ----------
    x : array_like or Var, or tuple of these
        Any shape; several operands, in a tuple, broadcast.
    f : callable
        ``f(array)``: the function, applied element by element to a plain array; of several operands
        ``f(array, other, ...)``.
    df : callable, or tuple of callables
        ``df(array)``: its derivative. Written in NumPy calls or operations, it is itself
        differentiated for higher orders. For several operands a tuple with a function of all of them for
        each, None for one without derivative.
    name : str, optional
        Of the result, for messages, listings and pictures.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``x``.

    Raises
    ------
    ShapeError
        If ``f`` changes the shape; in a sweep, if ``df`` does.
    OptionError
        If ``df`` does not have a derivative for each of several operands.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x = tr.param(np.array([0.0, 1.0]))
    >>> y = tape.apply(x, lambda a: a**3, lambda a: 3 * a**2)
    >>> tr.backward_param_grads(y)
    [array([0., 3.])]
    >>> z = tape.apply((x, 2.0), lambda a, b: a * b, (lambda a, b: b, lambda a, b: a), name="double")
    >>> z
    Var([0. 2.], name='double', id=2)
    """
    if not callable(f):
        raise OptionError(f"apply: f is {f!r}, which is no function")
    slopes = [each for each in df if each is not None] if isinstance(df, tuple) else [df]
    if not all(map(callable, slopes)):
        raise OptionError(f"apply: df is {df!r}. It must be a function, or a tuple of functions and None")
    if not isinstance(x, tuple):
        out = _apply_op(x, f=f, df=df)
    elif not isinstance(df, tuple) or len(df) != len(x) or not x:
        raise OptionError(
            f"apply: df is {df!r} for {len(x)} operands. Give a tuple with a derivative for each"
        )
    else:
        out = _apply_several_op(*x, f=f, df=df)
    return out if name is None else named(out, name)
