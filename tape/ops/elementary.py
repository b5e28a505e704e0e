"""Functions of one variable, element by element, and `apply` for the user's own."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from tape import batch_rules, series
from tape.errors import ShapeError
from tape.functions import elementwise, fused_elementwise
from tape.op import Op
from tape.ops.selection import sign

__all__ = [
    "absolute",
    "apply",
    "arctan",
    "cos",
    "erf",
    "exp",
    "expm1",
    "log",
    "log1p",
    "reciprocal",
    "relu",
    "sigmoid",
    "sin",
    "softplus",
    "sqrt",
    "square",
    "tan",
    "tanh",
]

exp = elementwise(np.exp, lambda d, out, x: d * out, taylor=series.exp)
expm1 = elementwise(np.expm1, lambda d, out, x: d * (out + 1), taylor=series.expm1)
log = elementwise(np.log, lambda d, out, x: d / x, taylor=series.log)
log1p = elementwise(np.log1p, lambda d, out, x: d / (x + 1), taylor=series.log1p)
sqrt = elementwise(np.sqrt, lambda d, out, x: 0.5 * d / out, taylor=series.square_root)
square = elementwise(np.square, lambda d, out, x: d * (2 * x), taylor=series.square)
reciprocal = elementwise(np.reciprocal, lambda d, out, x: -(d * (out * out)), taylor=series.reciprocal)
absolute = elementwise(np.absolute, lambda d, out, x: d * sign(x), taylor=series.linear)
sin = elementwise(np.sin, lambda d, out, x: d * cos(x), taylor=series.sin)
cos: Callable[..., Any] = elementwise(np.cos, lambda d, out, x: -(d * sin(x)), taylor=series.cos)
tan = elementwise(np.tan, lambda d, out, x: d * (1 + out * out), taylor=series.tan)
arctan = elementwise(np.arctan, lambda d, out, x: d / (1 + x * x), taylor=series.arctan)


_ERF_SLOPE = 2 / pi**0.5


def _erf(x: Any) -> Any:
    from scipy.special import erf  # late: it takes half as long to import as all the rest

    return erf(x).astype(x.dtype)


erf = elementwise(
    _erf,
    lambda d, out, x: d * (_ERF_SLOPE * exp(-(x * x))),
    taylor=series.erf,
    doc="The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to x.",
)


# Rules of the most frequent activations are one pass each, and one node each when they are recorded.


def _minus_twice(x: Any, y: Any) -> Any:
    return -(x * y + x * y)


_minus_twice_product: Any = fused_elementwise(
    _minus_twice,
    lambda d, out, x, y: _minus_twice_product(d, y),
    lambda d, out, x, y: _minus_twice_product(d, x),
)


def _tanh_partial(d: Any, out: Any) -> Any:
    return d - d * out * out


_tanh_rule: Any = fused_elementwise(
    _tanh_partial,
    lambda g, _, d, out: _tanh_rule(g, out),
    lambda g, _, d, out: _minus_twice_product(g * d, out),
)

tanh = elementwise(np.tanh, lambda d, out, x: _tanh_rule(d, out), taylor=series.tanh)


def _sigmoid(x: Any) -> Any:
    decay = np.exp(-np.abs(x))  # never overflows
    return np.where(x >= 0, 1, decay) / (1 + decay)


def _sigmoid_partial(d: Any, out: Any) -> Any:
    return d * (out - out * out)


def _sigmoid_bend(x: Any, out: Any) -> Any:
    return x - x * out - x * out


_sigmoid_rule: Any = fused_elementwise(
    _sigmoid_partial,
    lambda g, _, d, out: _sigmoid_rule(g, out),
    lambda g, _, d, out: _sigmoid_bend_rule(g * d, out),
)

_sigmoid_bend_rule: Any = fused_elementwise(
    _sigmoid_bend,
    lambda g, _, x, out: _sigmoid_bend_rule(g, out),
    lambda g, _, x, out: _minus_twice_product(g, x),
)


def _lower_sigmoid(b: Any, x: Any) -> Any:
    return 1 / (1 + b.elementwise("exp", -x))  # 1 / inf is 0, and a program does not warn of the overflow


sigmoid = elementwise(
    _sigmoid,
    lambda d, out, x: _sigmoid_rule(d, out),
    taylor=series.sigmoid,
    lower=_lower_sigmoid,
    doc="The logistic function ``1 / (1 + exp(-x))``, without overflow.",
)


def _relu_partial(d: Any, out: Any) -> Any:
    return d * (out > 0)


_relu_rule: Any = fused_elementwise(_relu_partial, lambda g, _, d, out: _relu_rule(g, out), None)

relu = elementwise(
    lambda x: np.maximum(x, 0),
    lambda d, out, x: _relu_rule(d, out),
    taylor=series.linear,
    lower=lambda b, x: b.elementwise("maximum", x, 0),
    name="relu",
    doc="``maximum(x, 0)``; the derivative at 0 is 0.",
)

softplus = elementwise(
    lambda x: np.logaddexp(x, 0),
    lambda d, out, x: d * sigmoid(x),
    taylor=series.softplus,
    lower=lambda b, x: b.elementwise("logaddexp", x, 0),
    name="softplus",
    doc="``log(1 + exp(x))``, without overflow.",
)


def _apply(x: Any, *, f: Callable[[Any], Any], df: Callable[[Any], Any]) -> Any:
    result = np.asarray(f(x))
    if result.shape != x.shape:
        raise ShapeError(
            f"apply: f made {list(result.shape)} of {list(x.shape)}. It must work element by element"
        )
    return result if result.ndim else result[()]


def _apply_partial(d: Any, out: Any, x: Any, f: Callable[[Any], Any], df: Callable[[Any], Any]) -> Any:
    slope = df(x)
    if np.shape(slope) not in (x.shape, ()):
        raise ShapeError(
            f"apply: df made {list(np.shape(slope))} of {list(x.shape)}. It must work element by element"
        )
    return d * slope


_apply_op = Op(
    _apply, vjp=[_apply_partial], jvp=[_apply_partial], batch=batch_rules.elementwise, explains_errors=False
)


def apply(x: Any, f: Callable[[Any], Any], df: Callable[[Any], Any]) -> Any:
    """An elementwise function with a derivative given by the user.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    f : callable
        ``f(array)``: the function, applied element by element to a plain array.
    df : callable
        ``df(array)``: its derivative. Written in NumPy calls or operations, it is itself
        differentiated for higher orders.

    Returns
    -------
    numpy.ndarray or Var
        Of the shape of ``x``.

    Raises
    ------
    ShapeError
        If ``f`` changes the shape; in a sweep, if ``df`` does.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x = tr.param(np.array([0.0, 1.0]))
    >>> y = tape.apply(x, lambda a: a**3, lambda a: 3 * a**2)
    >>> tr.backward_param_grads(y)
    [array([0., 3.])]
    """
    return _apply_op(x, f=f, df=df)
