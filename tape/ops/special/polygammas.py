"""`digamma`, the derivative of the logarithm of the gamma function, and its derivatives `polygamma`."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, pi
from typing import Any

import numpy as np

from tape.core.elementwise import elementwise
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.scipy_ufuncs import PREFIX, narrowed, refuse_derivative, scipy_ufunc

declare_samples(
    "scipy.special.digamma(x)",
    "tape.ops.special.polygamma(1, x)",
)

BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798)
"""The Bernoulli numbers of even order, from B2 on."""

digamma = psi = scipy_ufunc(
    "psi",
    "The digamma function, the derivative of the logarithm of the gamma function.",
    lambda d, out, x: d * polygamma(1, x),
)


def _forward(n: Any, x: Any) -> Any:
    from scipy import special  # imported late: see `tape.ops.elementwise.scipy_ufuncs`

    if not np.iscomplexobj(x):
        return narrowed(special.polygamma(n, x)[()], (x,))
    if np.ndim(n):
        raise TypeError("polygamma of complex numbers takes one order")
    return special.psi(x) if n == 0 else narrowed(_of_complex(int(n), np.asarray(x))[()], (x,))


def _of_complex(n: int, z: np.ndarray) -> np.ndarray:
    """Complex arguments: Abramowitz and Stegun 6.4.6 (recurrence), 6.4.7 (reflection), 6.4.11 (far out)."""
    is_left = z.real < 0.5
    w = np.where(is_left, 1 - z, z)
    sign = (-1.0) ** (n + 1)
    total = np.zeros_like(w)
    while (is_near := w.real < 15 + n).any():
        total += np.where(is_near, sign * factorial(n) / w ** (n + 1), 0)
        w = np.where(is_near, w + 1, w)
    total += sign * (factorial(n - 1) / w**n + factorial(n) / (2 * w ** (n + 1)))
    for k, number in enumerate(BERNOULLI, 1):
        total += sign * number * factorial(2 * k + n - 1) / factorial(2 * k) / w ** (2 * k + n)
    if not is_left.any():
        return total
    cotangent = 1 / np.tan(pi * np.where(is_left, z, 0.25))
    waves = np.polynomial.Polynomial([0, 1])  # derivatives of cot(pi z), as polynomials in it
    for _ in range(n):
        waves = waves.deriv() * np.polynomial.Polynomial([-pi, 0, -pi])
    return np.where(is_left, (-1) ** n * total - pi * waves(cotangent), total)


def _lower(b: Any, n: Any, x: Any) -> Any:
    x = b.value(x)
    x = x if x.dtype.kind == "f" else b.cast(x, np.float64)
    n = b.value(n, x.dtype)
    sign = b.elementwise("power", b.literal(-1, x.dtype), n + 1)  # NaN for other orders than whole ones
    higher = sign * b.elementwise(f"{PREFIX}gamma", n + 1) * b.elementwise(f"{PREFIX}zeta", n + 1, x)
    return b.where(b.elementwise("equal", n, 0), b.elementwise(f"{PREFIX}psi", x), higher)


_polygamma: Callable[..., Any] = elementwise(
    _forward,
    None,
    lambda d, out, n, x: d * _polygamma(n + 1, x),
    lower=_lower,
    name="polygamma",
)


def polygamma(n: Any, x: Any) -> Any:
    """The derivative of order n of `digamma`.

    Parameters
    ----------
    n : array_like of int
        Zero or positive.
    x : array_like or Var
        Array of a shape that broadcasts with that of ``n``; complex for a single ``n``.

    Returns
    -------
    numpy.ndarray, numpy.number or Var

    Raises
    ------
    UnsupportedError
        If ``n`` is a Var that carries a derivative.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace()
    >>> (slope,) = tr.backward_param_grads(tape.ops.special.digamma(tr.param(1.0)))
    >>> float(slope) == float(tape.ops.special.polygamma(1, 1.0))
    True
    """
    refuse_derivative(n, "polygamma by its order", "Pass whole numbers")
    return _polygamma(n, x)
