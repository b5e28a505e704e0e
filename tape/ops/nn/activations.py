"""Smooth activations, with derivatives that stay accurate far out.

Where a function has a limit at infinity, operands are clipped where nothing more is added, so that no product
of infinity and 0 arises. Piecewise linear activations are in `tape.ops.nn.piecewise`.
"""

from __future__ import annotations

from math import inf, pi, sqrt
from typing import Any, Literal

import numpy as np

from tape.core.operands import as_operand, composed
from tape.core.record import recorder_of
from tape.errors import OptionError, ShapeError
from tape.ops.elementwise.bodies import number, smooth
from tape.ops.elementwise.complex import absolute
from tape.ops.elementwise.elementary import exp, sigmoid, tanh
from tape.ops.elementwise.elementary import softplus as plain_softplus
from tape.ops.elementwise.selection import maximum, minimum, sign, where
from tape.ops.nn.losses import reals
from tape.ops.reduction.softmax import softmax
from tape.ops.special.losses import logit as plain_logit
from tape.ops.structure.positions import checked_axis


def _held(x: Any, bound: float) -> Any:
    return minimum(maximum(x, -bound), bound)


def _is_complex(x: Any) -> bool:
    return x.dtype.kind == "c" if hasattr(x, "dtype") else type(x) is complex


# ---- gelu: x times the distribution function of the normal distribution ------------------------------

_DENSITY = 1 / sqrt(2 * pi)
_NORMAL_END = 40.0  # exp(-x**2 / 2) is 0 from here on


def _gelu(ns: Any, x: Any) -> Any:
    return ns.clip(x, -_NORMAL_END, np.inf) * ns.normal_cdf(x)


def _gelu_slope(ns: Any, x: Any) -> Any:
    return ns.normal_cdf(x) + ns.normal_moment(x)


def _gelu_bend(d: Any, x: Any) -> Any:
    square = _held(x, _NORMAL_END) ** 2
    return d * ((2 - square) * (_DENSITY * exp(square * -0.5)))


_erf_gelu = recorder_of(smooth("gelu", _gelu, _gelu_slope, _gelu_bend), 1)

# With tanh: x sigmoid(z), where z = 2 sqrt(2 / pi) (x + 0.044715 x**3), Hendrycks & Gimpel 2016.
_Z1 = 2 * sqrt(2 / pi)
_Z3 = _Z1 * 0.044715
_TANH_END = 30.0  # sigmoid(z) is 0 or 1 from here on


def _tanh_gelu_parts(ns: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """Return operands clipped below and on both sides, the square of the latter, and the divisor."""
    above = ns.clip(x, -_TANH_END, inf)
    held = ns.clip(x, -_TANH_END, _TANH_END)
    square = held * held
    return above, held, square, 1 + ns.exp(held * (-_Z1 - _Z3 * square))


def _tanh_gelu(ns: Any, x: Any) -> Any:
    above, _, _, divisor = _tanh_gelu_parts(ns, x)
    return above / divisor


def _tanh_gelu_slope(ns: Any, x: Any) -> Any:
    _, held, square, divisor = _tanh_gelu_parts(ns, x)
    share = 1 / divisor
    return share + share * (1 - share) * (held * (_Z1 + 3 * _Z3 * square))


def _tanh_gelu_bend(d: Any, x: Any) -> Any:
    held = _held(x, _TANH_END)
    square = held * held
    z, rate = held * (_Z1 + _Z3 * square), _Z1 + 3 * _Z3 * square
    turn = 2 * rate + held * (6 * _Z3 * held - rate * rate * tanh(0.5 * z))
    return d * (sigmoid(z) * sigmoid(-z) * turn)


_approximate_gelu = recorder_of(smooth("gelu_tanh", _tanh_gelu, _tanh_gelu_slope, _tanh_gelu_bend), 1)


def gelu(x: Any, approximate: Literal["none", "tanh"] = "none") -> Any:
    """``x * ndtr(x)``, with the distribution function of the normal distribution, as in PyTorch.

    Parameters
    ----------
    x : array_like or Var
        Any shape; ints become floats.
    approximate : {"none", "tanh"}
        Whether to take the approximation ``0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3)))``, which is
        off by up to 0.0005.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape of ``x``. At -inf it is 0, with derivative 0, at inf inf, with derivative 1.

    Raises
    ------
    OptionError
        If ``approximate`` is something else.
    DTypeError
        If ``x`` is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.gelu(np.array([-np.inf, 0.0, 1.0]))
    array([-0.        ,  0.        ,  0.84134475])
    """
    if approximate not in ("none", "tanh"):
        raise OptionError(f"gelu: approximate={approximate!r}. It must be 'none' or 'tanh'")
    return _erf_gelu(x) if approximate == "none" else _approximate_gelu(x)


# ---- silu and mish: x times a share --------------------------------------------------------------------

_SIGMOID_END = 750.0  # exp(-x) is 0 from here on


def _silu_share(ns: Any, x: Any) -> Any:
    return 1 / (1 + ns.exp(-x))  # the divisor may be inf


def _silu(ns: Any, x: Any) -> Any:
    return ns.clip(x, -_SIGMOID_END, inf) * _silu_share(ns, x)


def _silu_slope(ns: Any, x: Any) -> Any:
    share = _silu_share(ns, x)
    held = ns.clip(ns.clip(x, -_SIGMOID_END, inf) * share, -inf, _SIGMOID_END)
    return share + held * (1 - share)


def _silu_bend(d: Any, x: Any) -> Any:
    held = _held(x, _SIGMOID_END)
    return d * (sigmoid(held) * sigmoid(-held) * (2 - held * tanh(0.5 * held)))


_real_silu = recorder_of(smooth("silu", _silu, _silu_slope, _silu_bend), 1)


def silu(x: Any, /) -> Any:
    """``x * sigmoid(x)``, also known as swish; at -inf 0, with derivative 0. Of complex numbers too.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.silu(np.array([-np.inf, 0.0, np.inf]))
    array([-0.,  0., inf])
    """
    x = as_operand(x)
    return x * sigmoid(x) if _is_complex(x) else _real_silu(x)


def _mish_share(ns: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """Return tanh(softplus(x)) as ``n / (n + 2)``, ``n = e (e + 2)``, ``e = exp(x)``; x clipped, e and n."""
    held = ns.clip(x, -inf, 5.5 if x.dtype == np.float16 else 20.0)  # from here on the share is 1
    e = ns.exp(held)
    n = e * (e + 2)
    return held, e, n, n / (n + 2)


def _mish(ns: Any, x: Any) -> Any:
    return ns.clip(x, -_SIGMOID_END, inf) * _mish_share(ns, x)[-1]


def _mish_slope(ns: Any, x: Any) -> Any:
    held, e, n, share = _mish_share(ns, x)
    w = 2 / (n + 2)
    return share + ns.clip(held, -_SIGMOID_END, inf) * (e * (e + 1) * w * w)


def _mish_bend(d: Any, x: Any) -> Any:
    held = _held(x, _SIGMOID_END)
    share, rate = tanh(plain_softplus(held)), sigmoid(held)
    slope = (1 - share * share) * rate  # of the share
    return d * (slope * (2 + held * (sigmoid(-held) - 2 * share * rate)))


mish = recorder_of(
    smooth(
        "mish",
        _mish,
        _mish_slope,
        _mish_bend,
        doc="``x * tanh(plain_softplus(x))``; at -inf 0, with derivative 0.",
    ),
    1,
)


# ---- exponential units -----------------------------------------------------------------------------------


def _elu(ns: Any, x: Any, alpha: float, scale: float, rate: float) -> Any:
    return ns.where(x > 0, scale * x, scale * alpha * ns.expm1(rate * ns.clip(x, -inf, 0)))


def _elu_slope(ns: Any, x: Any, alpha: float, scale: float, rate: float) -> Any:
    return ns.where(x > 0, scale, scale * alpha * rate * ns.exp(rate * ns.clip(x, -inf, 0)))


def _elu_bend(d: Any, x: Any, alpha: float, scale: float, rate: float) -> Any:
    return where(x > 0, 0, d * (scale * alpha * rate * rate * exp(rate * minimum(x, 0))))


_elu_op = smooth("elu", _elu, _elu_slope, _elu_bend)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """``x`` where that is positive, else ``alpha * (exp(x) - 1)``.

    Parameters
    ----------
    x : array_like or Var
        Any shape; ints become floats.
    alpha : float
        Minus the limit for negative x. The derivative at 0 is alpha.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape of ``x``.

    Raises
    ------
    OptionError
        If ``alpha`` is not a number.
    UnsupportedError
        If ``alpha`` is a Var.
    DTypeError
        If ``x`` is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.elu(np.array([-np.inf, 0.0, 2.0]))
    array([-1.,  0.,  2.])
    """
    return _elu_op(x, alpha=number("elu: alpha", alpha), scale=1.0, rate=1.0)


def celu(x: Any, alpha: float = 1.0) -> Any:
    """``max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))``, which has no kink. Like `elu`, with alpha not 0.

    PyTorch rounds 1 / alpha to float32 in gradients of float64, which shows where that is not exact.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.celu(np.array([-np.inf, 2.0]), alpha=0.5)
    array([-0.5,  2. ])
    """
    alpha = number("celu: alpha", alpha)
    if alpha == 0:
        raise OptionError("celu: alpha is 0, and x is divided by it. Use relu, the limit")
    return _elu_op(x, alpha=alpha, scale=1.0, rate=1 / alpha)


_SELU_ALPHA = 1.6732632423543772  # Klambauer et al. 2017, equation 14: mean 0 and variance 1 are fixed points
_SELU_SCALE = 1.0507009873554805


def selu(x: Any) -> Any:
    """``scale * elu(x, alpha)`` with the constants that keep mean 0 and variance 1. Like `elu`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.selu(np.array([-np.inf, 1.0]))
    array([-1.75809934,  1.05070099])
    """
    return _elu_op(x, alpha=_SELU_ALPHA, scale=_SELU_SCALE, rate=1.0)


# ---- other smooth activations ------------------------------------------------------------------------------


def _logsigmoid(ns: Any, x: Any) -> Any:
    return ns.clip(x, -inf, 0) - ns.log1p(ns.exp(-ns.absolute(x)))


def _falling(ns: Any, x: Any) -> Any:
    return 1 / (1 + ns.exp(x))


logsigmoid = recorder_of(
    smooth(
        "logsigmoid",
        _logsigmoid,
        _falling,
        lambda d, x: -(d * (sigmoid(x) * sigmoid(-x))),
        doc="``log(sigmoid(x))``, accurate on both sides.",
    ),
    1,
)


def _softsign(ns: Any, x: Any) -> Any:
    return ns.where(ns.isinf(x), ns.sign(x), x / (1 + ns.absolute(x)))


def _softsign_slope(ns: Any, x: Any) -> Any:
    share = 1 / (1 + ns.absolute(x))
    return share * share


def _softsign_bend(d: Any, x: Any) -> Any:
    share = 1 / (1 + abs(x))
    return d * (-2 * sign(x) * (share * share * share))


_real_softsign = recorder_of(smooth("softsign", _softsign, _softsign_slope, _softsign_bend), 1)


def softsign(x: Any, /) -> Any:
    """``x / (1 + abs(x))``; the second derivative at 0 is 0. Of complex numbers too.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.softsign(np.array([-np.inf, 1.0])), tape.nn.softsign(np.array([3.0j]))
    (array([-1. ,  0.5]), array([0.+0.75j]))
    """
    x = as_operand(x)
    return x / (1 + absolute(x)) if _is_complex(x) else _real_softsign(x)


def tanhshrink(x: Any) -> Any:
    """``x - tanh(x)``, element by element.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.tanhshrink(np.array([0.0, np.inf]))
    array([ 0., inf])
    """
    x = as_operand(x)
    return x - tanh(x)


def glu(x: Any, axis: int = -1) -> Any:
    """The first half along an axis times the sigmoid of the second: a gated linear unit.

    Parameters
    ----------
    x : array_like or Var
        Floats, of even length along ``axis``.
    axis : int
        The axis to halve.

    Returns
    -------
    numpy.ndarray or Var
        With half the length along ``axis``.

    Raises
    ------
    ShapeError
        If there is no such axis, or its length is odd.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.glu(np.array([1.0, 2.0, 0.0, 100.0]))
    array([0.5, 2. ])
    """
    x = as_operand(x)
    shape = getattr(x, "shape", ())
    place = checked_axis("glu", shape, axis)
    half, is_odd = divmod(shape[place], 2)
    if is_odd:
        raise ShapeError(
            f"glu: axis {axis} of shape {list(shape)} has odd length, and does not split into halves"
        )
    before = (slice(None),) * place
    return x[(*before, slice(None, half))] * sigmoid(x[(*before, slice(half, None))])


# ---- softplus, softmin and logit, with PyTorch's arguments ---------------------------------------------


@composed
def softplus(x: Any, beta: float = 1.0, threshold: float = inf) -> Any:
    """``log(1 + exp(beta * x)) / beta``, without overflow: a smooth relu.

    Parameters
    ----------
    x : array_like or Var
        Any shape; ints become floats.
    beta : float
        How sharp the bend is.
    threshold : float
        Where ``beta * x`` is greater the result is x itself. PyTorch has 20; without a threshold no digit is
        lost.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape of ``x``.

    Raises
    ------
    OptionError
        If ``beta`` is zero, or a setting is not a number.
    DTypeError
        If ``x`` is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.softplus(np.array([-1000.0, 0.0]), beta=2.0)
    array([0.        , 0.34657359])
    """
    beta, threshold = number("softplus: beta", beta), number("softplus: threshold", threshold)
    if not beta:
        raise OptionError("softplus: beta is 0. It must not be: the result is divided by it")
    if beta == 1 and threshold == inf:
        return plain_softplus(x)
    (x,) = reals("softplus", x)
    smooth_ = plain_softplus(x * beta) / beta
    return smooth_ if threshold == inf else where(x * beta > threshold, x, smooth_)


@composed
def softmin(x: Any, axis: int | tuple[int, ...] | None = -1) -> Any:
    """`softmax` of ``-x``.

    Parameters
    ----------
    x : array_like or Var
        Real numbers.
    axis : int, tuple of int or None
        The axes that the shares are of.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``x``; it sums to 1 along the axis.

    Raises
    ------
    ShapeError
        If there is no such axis.
    DTypeError
        If ``x`` is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.softmin(np.log([1.0, 3.0]))
    array([0.75, 0.25])
    """
    (x,) = reals("softmin", x)
    return softmax(-x, axis)


@composed
def logit(x: Any, eps: float | None = None) -> Any:
    """``log(x / (1 - x))``, the inverse of `sigmoid`.

    Parameters
    ----------
    x : array_like or Var
        Real numbers from 0 to 1, at which the result is infinite; it is NaN beyond.
    eps : float, optional
        From 0 to 0.5: numbers nearer to 0 or 1 count as eps and ``1 - eps``, and have the derivative 0.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape of ``x``.

    Raises
    ------
    OptionError
        If ``eps`` is not such a number.
    DTypeError
        If ``x`` is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.logit(np.array([0.5, 0.75, 1.0]), eps=0.25)
    array([0.        , 1.09861229, 1.09861229])
    """
    (x,) = reals("logit", x)
    if eps is None:
        return plain_logit(x)
    eps = number("logit: eps", eps)
    if not 0 <= eps <= 0.5:
        raise OptionError(f"logit: eps is {eps}. It is a number from 0 to 0.5")
    return plain_logit(where(x < eps, eps, where(x > 1 - eps, 1 - eps, x)))
