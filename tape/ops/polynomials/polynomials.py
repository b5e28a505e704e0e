"""Polynomials as vectors of coefficients, that of the highest power first."""

from __future__ import annotations

import operator
from math import prod
from typing import Any

import numpy as np

from tape.core import series
from tape.core.linear import sum_to
from tape.core.node import Handle
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.table import implements
from tape.errors import OptionError, ShapeError, UnsupportedError
from tape.inspect.costs import declare_cost
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.arithmetic import add, divide, multiply, subtract
from tape.ops.products.signal import convolve
from tape.ops.structure.indexing import getitem
from tape.ops.structure.joining import concatenate, stack
from tape.ops.structure.shape import astype, ravel, reshape

__all__ = [
    "polyadd",
    "polyder",
    "polydiv",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
]

declare_samples(
    "np.polyadd, np.polymul, np.polysub(u, v)",
    "np.polyder, np.polyint(v)",
    "np.polydiv(v, u)",
    "np.polyval(v, x)",
)


# ---- values ----------------------------------------------------------------------------------------


def _falling(p: Any) -> Any:
    """Return the exponents of coefficients, except the last, in a shape that multiplies them."""
    dtype = p.dtype if p.dtype.kind in "fc" else int
    return np.arange(len(p) - 1, 0, -1).astype(dtype).reshape((-1, *(1,) * (p.ndim - 1)))


def _polyval_slope(d: Any, out: Any, p: Any, x: Any) -> Any:
    return d * _polyval(multiply(getitem(p, slice(-1)), _falling(p)), x)


def _polyval_coefficients(g: Any, out: Any, p: Any, x: Any) -> Any:
    parts = []
    for k in range(len(p)):
        parts.append(sum_to(g, shape=p.shape[1:]))
        g = g * x if k < len(p) - 1 else g
    return stack(parts[::-1]) if parts else np.zeros(p.shape, p.dtype)


def _batch_polyval(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    p, x = operands
    if is_batched[0]:
        if p.ndim > 2 or not p.shape[1]:
            return NotImplemented
        ndim = np.ndim(x) - is_batched[1]
        p = reshape(p.T, (p.shape[1], size, *(1,) * ndim))  # each coefficient broadcasts against x
    elif p.ndim > 1:
        return NotImplemented
    return op(p, x)


def _lower_polyval(b: Any, p: Any, x: Any) -> Any:
    y = b.value(x) * 0
    for k in range(p.shape[0]):
        y = y * x + b.read(p, (k,))
    return y


_polyval: Op = Op(
    lambda p, x: np.polyval(p, x),
    name="polyval",
    vjp=[_polyval_coefficients, _polyval_slope],
    jvp=[lambda t, out, p, x: _polyval(t, x), _polyval_slope],
    batch=_batch_polyval,
    lower=_lower_polyval,
)
declare_cost(lambda out, shapes, attrs: 2 * prod(out) * prod(shapes[0]), _polyval)


def of_numbers(p: Any) -> Any:
    """Return a vector as an operand; a list may have Vars in it."""
    if isinstance(p, (list, tuple)) and any(isinstance(part, Handle) for part in p):
        return stack(p)
    return as_operand(p)


def coefficients(name: str, p: Any) -> Any:
    """Return a polynomial as an operand with one axis."""
    if isinstance(p, np.poly1d):
        raise UnsupportedError(f"{name} of a poly1d has no rule. Pass its coefficients, p.coeffs")
    p = of_numbers(p)
    if np.ndim(p) > 1:
        raise ShapeError(f"{name}: coefficients of shape {list(np.shape(p))}. They must have one axis")
    return p if np.ndim(p) else ravel(p)


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """Evaluate a polynomial.

    Parameters
    ----------
    p : array_like or Var
        Coefficients along the first axis, that of the highest power first.
    x : array_like or Var
        Where; further axes of ``p`` broadcast against it.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var

    Raises
    ------
    ShapeError
        If ``p`` is a scalar, or its further axes do not broadcast.
    UnsupportedError
        If either is a `numpy.poly1d`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x = tr.param(2.0)
    >>> tr.backward_param_grads(np.polyval([3.0, 0.0, 1.0], x))
    [array(12.)]
    """
    if isinstance(x, np.poly1d) or isinstance(p, np.poly1d):
        raise UnsupportedError("polyval of a poly1d has no rule. Pass coefficients, p.coeffs, and numbers")
    p = of_numbers(p)
    if not np.ndim(p):
        raise ShapeError("polyval: the coefficients are a scalar. They must have an axis")
    return _polyval(p, x)


# ---- derivatives and integrals ---------------------------------------------------------------------


def _order(name: str, m: Any) -> int:
    try:
        order = operator.index(m)
    except TypeError:
        order = -1
    if order < 0:
        raise OptionError(f"{name}: m is {m!r}. It must be an int, and not negative")
    return order


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    """Differentiate a polynomial: its coefficients.

    Parameters
    ----------
    p : array_like or Var
        ``(n,)``, that of the highest power first.
    m : int
        The order of the derivative.

    Returns
    -------
    numpy.ndarray or Var
        ``(n - m,)``.

    Raises
    ------
    ShapeError
        If ``p`` is not a vector.
    OptionError
        If ``m`` is negative.

    Examples
    --------
    >>> import tape
    >>> tape.ops.polyder([3.0, 2.0, 1.0])
    array([6., 2.])
    """
    p = coefficients("polyder", p)
    for _ in range(_order("polyder", m)):
        p = multiply(getitem(p, slice(-1)), np.arange(len(p) - 1, 0, -1))
    return p


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """Integrate a polynomial: its coefficients.

    Parameters
    ----------
    p : array_like or Var
        ``(n,)``, that of the highest power first.
    m : int
        The number of integrations.
    k : array_like or Var, optional
        The constants of integration, in the order they come; one for all, or as many. By default 0.

    Returns
    -------
    numpy.ndarray or Var
        ``(n + m,)``.

    Raises
    ------
    ShapeError
        If ``p`` is not a vector, or there are too few constants.
    OptionError
        If ``m`` is negative.

    Examples
    --------
    >>> import tape
    >>> tape.ops.polyint([6.0, 2.0], k=1.0)
    array([3., 2., 1.])
    """
    p, m = coefficients("polyint", p), _order("polyint", m)
    k = coefficients("polyint", np.zeros(max(m, 1)) if k is None else k)
    if len(k) < m and len(k) != 1:
        raise ShapeError(f"polyint: {len(k)} constants for {m} integrations. Give one, or as many")
    for i in range(m):
        constant = getitem(k, slice(i, i + 1) if len(k) > 1 else slice(1))
        p = concatenate([divide(p, np.arange(len(p), 0, -1)), constant])
    return p


# ---- arithmetic ------------------------------------------------------------------------------------


def _aligned(name: str, a1: Any, a2: Any) -> tuple[Any, Any]:
    """Return both with the same number of coefficients: zeros in front of the shorter one."""
    a1, a2 = coefficients(name, a1), coefficients(name, a2)
    length = max(len(a1), len(a2))
    a1, a2 = (
        a if len(a) == length else concatenate([np.zeros(length - len(a), a.dtype), a]) for a in (a1, a2)
    )
    return a1, a2


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials.

    Parameters
    ----------
    a1, a2 : array_like or Var
        ``(n,)`` and ``(m,)``: coefficients, that of the highest power first.

    Returns
    -------
    numpy.ndarray or Var
        ``(max(n, m),)``.

    Raises
    ------
    ShapeError
        If an operand is not a vector.
    UnsupportedError
        If one is a `numpy.poly1d`.

    Examples
    --------
    >>> import tape
    >>> tape.ops.polyadd([1.0, 2.0], [3.0])
    array([1., 5.])
    """
    return add(*_aligned("polyadd", a1, a2))


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials. Otherwise like `polyadd`."""
    return subtract(*_aligned("polysub", a1, a2))


def _trimmed_forward(p: Any, *, tolerance: float, least: int) -> Any:
    counts = np.flatnonzero(~(np.abs(p) <= tolerance))
    return p[min(counts[0] if counts.size else len(p), len(p) - least) :]


def _trimmed_vjp(g: Any, out: Any, p: Any, tolerance: float, least: int) -> Any:
    return concatenate([np.zeros(len(p) - len(out), p.dtype), g])


def _lower_trimmed(b: Any, p: Any, tolerance: float, least: int) -> Any:
    if not p.size:
        b.refuse("no coefficients")
    is_kept = b.elementwise(
        "logical_not", b.elementwise("less_equal", b.elementwise("absolute", p), tolerance)
    )
    first = b.where(b.fold("any", is_kept), b.fold("argmax", b.cast(is_kept, np.float64)), p.size)
    b.guard_length(p.size - b.elementwise("minimum", first, p.size - least), 0)
    (count,) = b.shape
    return b.slice(p, (p.size - count,), (1,), (count,))


trimmed = Op(
    _trimmed_forward,
    name="trimmed",
    lower=_lower_trimmed,
    data_dependent=True,
    vjp=[_trimmed_vjp],
    jvp=[lambda t, out, p, tolerance, least: getitem(t, slice(len(p) - len(out), None))],
    taylor=series.linear,
    doc="The coefficients without leading zeros: their number depends on the values.",
)


def _without_leading_zeros(p: Any) -> Any:
    return trimmed(p, tolerance=0.0, least=1) if len(p) else np.zeros(1, p.dtype)


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials, without their leading zeros.

    Parameters
    ----------
    a1, a2 : array_like or Var
        Coefficients, that of the highest power first.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If an operand is not a vector.
    UnsupportedError
        If one is a `numpy.poly1d`.

    Examples
    --------
    >>> import tape
    >>> tape.ops.polymul([1.0, 1.0], [1.0, -1.0])
    array([ 1.,  0., -1.])
    """
    a1, a2 = coefficients("polymul", a1), coefficients("polymul", a2)
    return convolve(_without_leading_zeros(a1), _without_leading_zeros(a2))


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """The quotient and the remainder of a division of polynomials.

    Parameters
    ----------
    u, v : array_like or Var
        ``(n,)`` and ``(m,)``: coefficients, that of the highest power first; the first of ``v`` is not 0.

    Returns
    -------
    quotient, remainder : numpy.ndarray or Var
        The remainder without coefficients in front that vanish.

    Raises
    ------
    ShapeError
        If an operand is not a vector, or empty.
    UnsupportedError
        If one is a `numpy.poly1d`.

    Examples
    --------
    >>> import tape
    >>> tape.ops.polydiv([1.0, 0.0, 1.0], [1.0, 1.0])
    (array([ 1., -1.]), array([2.]))
    """
    u, v = coefficients("polydiv", u), coefficients("polydiv", v)
    if not len(u) or not len(v):
        raise ShapeError(f"polydiv of {len(u)} and {len(v)} coefficients. Give at least one each")
    u, v = add(u, 0.0), add(v, 0.0)
    dtype = np.result_type(u.dtype, v.dtype)
    rest = u if u.dtype == dtype else astype(u, dtype)
    scale = divide(1.0, getitem(v, 0))
    quotient = []
    for k in range(len(u) - len(v) + 1):
        factor = multiply(scale, getitem(rest, k))
        quotient.append(factor)
        after = k + len(v)
        reduced = subtract(getitem(rest, slice(k, after)), multiply(factor, v))
        rest = concatenate([getitem(rest, slice(k)), reduced, getitem(rest, slice(after, None))])
    rest = trimmed(rest, tolerance=1e-8, least=1)
    return stack(quotient) if quotient else np.zeros(1, dtype), rest
