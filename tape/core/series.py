"""Truncated power series: how operations act on all Taylor coefficients of a curve at once.

A series is a list of coefficients ``[c0, c1, ..., cK]`` of powers of t, arrays of one shape, with None
for zeros; ``c0`` is the value. A rule is ``rule(op, out, series, attrs)``: from the series of every
operand, and the value ``out``, it makes that of the result. Rules are written with operators, so that
they work on Vars. The recurrences are those of Griewank and Walther, "Evaluating Derivatives" (2nd
edition, 2008), tables 13.1 and 13.2; all of them cost O(K**2) operations.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import pi, sqrt
from typing import Any

import numpy as np

from tape.core.nesting import traced

Series = list[Any]
TaylorRule = Callable[[Any, Any, Sequence[Series], dict[str, Any]], Series]


def total(terms: Any) -> Any:
    """The sum of what is not None; None if nothing is left."""
    result = None
    for term in terms:
        if term is not None:
            result = term if result is None else result + term
    return result


def scaled(factor: float, x: Any) -> Any:
    """A number times a coefficient; 0 times one that is infinite is none all the same."""
    return None if x is None or factor == 0 else x if factor == 1 else factor * x


def convolved(
    a: Series, b: Series, k: int, first: int, last: int, multiply: Callable[..., Any] = operator.mul
) -> Any:
    """The sum of ``a[j] * b[k - j]`` for j from ``first`` to ``last``."""
    return total(
        multiply(a[j], b[k - j]) for j in range(first, last + 1) if a[j] is not None and b[k - j] is not None
    )


# ---- rules that need no formula of their own -----------------------------------------------------


def linear(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """For what is linear, in all operands together, and be it piece by piece: each coefficient for itself."""
    operands = [s[0] for s in series]
    rest = [op.tangent(out, operands, list(parts), attrs) for parts in list(zip(*series, strict=True))[1:]]
    return [out, *rest]


def multilinear(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """For what is linear in one operand, or in each of two."""
    if len(series) == 1:
        return [out, *(None if part is None else op(part, **attrs) for part in series[0][1:])]
    a, b = series
    return [
        out,
        *(convolved(a, b, k, 0, k, lambda x, y: op(x, y, **attrs)) for k in range(1, len(a))),
    ]


def constant(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """For what has no derivative."""
    return [out, *(None for _ in series[0][1:])]


# ---- arithmetic ----------------------------------------------------------------------------------


def multiply(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """The product of two."""
    a, b = series
    return [out, *(convolved(a, b, k, 0, k) for k in range(1, len(a)))]


def divide(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """The quotient of two: ``c b = a``."""
    a, b = series
    c = [out]
    for k in range(1, len(a)):
        lower = convolved(c, b, k, 0, k - 1)
        rest = total((a[k], scaled(-1.0, lower)))
        c.append(None if rest is None else rest / b[0])
    return c


def _product(a: Series, b: Series) -> Series:
    return [convolved(a, b, k, 0, k) for k in range(len(a))]


def square(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """A series times itself."""
    return [out, *_product(*series, *series)[1:]]


def reciprocal(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """One over a series."""
    one = [np.ones_like(series[0][0]), *(None for _ in series[0][1:])]
    return divide(op, out, [one, *series], attrs)


def power(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """``a ** b``: by squaring for whole numbers, by ``c' a = b a' c`` for other constant exponents."""
    a, b = series
    is_zero = a[0] == 0
    has_zeros = bool(np.any(traced(is_zero)))
    exponent = b[0]
    if any(part is not None for part in b[1:]):
        safe = [np.where(is_zero, 1, a[0]), *a[1:]] if has_zeros else a
        by_both = _exp_of_log(out if not has_zeros else safe[0] ** exponent, safe, b)
        if not has_zeros:
            return by_both
        by_base = _composed(out, a, exponent)  # by the exponent, the derivative is 0 where the base is
        pairs = list(zip(by_base, by_both, strict=True))[1:]
        return [out, *(np.where(is_zero, _or_zero(x), _or_zero(y)) for x, y in pairs)]
    if isinstance(exponent, (int, float, np.number)) and exponent >= 0 and float(exponent).is_integer():
        return [out, *_whole_power(a, int(exponent))[1:]]
    if has_zeros:
        return _composed(out, a, exponent)
    c = [out]
    for k in range(1, len(a)):
        terms = (
            (exponent * j - (k - j)) * a[j] * c[k - j]
            for j in range(1, k + 1)
            if a[j] is not None and c[k - j] is not None
        )
        rest = total(terms)
        c.append(None if rest is None else rest / (k * a[0]))
    return c


def _exp_of_log(out: Any, a: Series, b: Series) -> Series:
    """``exp(b log(a))``."""
    base = a[0] + 0j if out.dtype.kind == "c" else a[0]  # which may be negative
    log_a = log(None, np.log(base), [[base, *a[1:]]], {})
    return exp(None, out, [_product(b, log_a)], {})


def _or_zero(part: Any) -> Any:
    return 0.0 if part is None else part


def _whole_power(a: Series, exponent: int) -> Series:
    result: Series = [np.ones_like(a[0]), *(None for _ in a[1:])]
    while exponent:
        if exponent & 1:
            result = _product(result, a)
        exponent >>= 1
        if exponent:
            a = _product(a, a)
    return result


def _composed(out: Any, a: Series, exponent: Any) -> Series:
    """``a ** exponent`` by Horner's rule on its Taylor polynomial at ``a[0]``: right where that is 0."""
    x, order = a[0], len(a) - 1
    outer, factor = [out], exponent * 0 + 1.0
    for m in range(1, order + 1):
        factor = factor * (exponent - m + 1) / m
        outer.append(factor * x ** np.where(factor == 0, 1, exponent - m))
    step: Series = [None, *a[1:]]
    result: Series = [outer[order], *(None for _ in step[1:])]
    for m in range(order - 1, -1, -1):
        result = [convolved(result, step, k, 0, k) for k in range(len(a))]
        result[0] = outer[m]
    return result


# ---- functions, by their differential equations --------------------------------------------------


def chained(out: Any, a: Series, slope: Callable[[Series, int], Any]) -> Series:
    """``c' = d a'``, where ``slope(c, k)`` gives coefficient k of d from those of c up to k."""
    c, d = [out], []
    for k in range(1, len(a)):
        d.append(slope(c, k - 1))
        moved = convolved([scaled(j, part) for j, part in enumerate(a)], d, k, 1, k)
        c.append(scaled(1 / k, moved))
    return c


def exp(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """``c' = c a'``."""
    return chained(out, series[0], lambda c, k: c[k])


def expm1(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """``c' = exp(a) a'``, whose first coefficient is not taken from c: that cancels."""
    return chained(out, series[0], lambda c, k: c[k] if k else np.exp(series[0][0]))


def log(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """``c' a = a'``."""
    a = series[0]
    c: Series = [out]
    moved: Series = [None]  # j c[j]
    for k in range(1, len(a)):
        rest = total((scaled(k, a[k]), scaled(-1.0, convolved(moved, a, k, 1, k - 1))))
        moved.append(None if rest is None else rest / a[0])
        c.append(scaled(1 / k, moved[k]))
    return c


def log1p(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """``c' (a + 1) = a'``."""
    a = series[0]
    return log(op, out, [[a[0] + 1, *a[1:]]], attrs)


def square_root(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """``c c = a``."""
    a = series[0]
    c = [out]
    for k in range(1, len(a)):
        rest = total((a[k], scaled(-1.0, convolved(c, c, k, 1, k - 1))))
        c.append(None if rest is None else rest / (2 * c[0]))
    return c


def _polynomial_slope(constant: float, first: float, second: float) -> Callable[[Series, int], Any]:
    """The slope ``constant + first c + second c**2``."""

    def slope(c: Series, k: int) -> Any:
        quadratic = scaled(second, convolved(c, c, k, 0, k))
        lower = scaled(first, c[k]) if first else None
        d = total((quadratic, lower))
        return constant + d if k == 0 and constant else d

    return slope


def tanh(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """``c' = (1 - c**2) a'``."""
    return chained(out, series[0], _polynomial_slope(1.0, 0.0, -1.0))


def tan(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """``c' = (1 + c**2) a'``."""
    return chained(out, series[0], _polynomial_slope(1.0, 0.0, 1.0))


def sigmoid(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """``c' = (c - c**2) a'``."""
    return chained(out, series[0], _polynomial_slope(0.0, 1.0, -1.0))


def sine_and_cosine(sine: Any, cosine: Any, a: Series) -> tuple[Series, Series]:
    """``s' = c a'`` and ``c' = -s a'``, which need each other."""
    s, c = [sine], [cosine]
    moved = [scaled(j, part) for j, part in enumerate(a)]
    for k in range(1, len(a)):
        s_k, c_k = convolved(moved, c, k, 1, k), convolved(moved, s, k, 1, k)
        s.append(scaled(1 / k, s_k))
        c.append(scaled(-1 / k, c_k))
    return s, c


def sin(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """The sine of a series."""
    a = series[0]
    return sine_and_cosine(out, np.cos(a[0]), a)[0]


def cos(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """The cosine of a series."""
    a = series[0]
    return sine_and_cosine(np.sin(a[0]), out, a)[1]


def arctan(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """``c' (1 + a**2) = a'``."""
    a = series[0]
    squared = _product(a, a)
    d = reciprocal(op, 1 / (1 + squared[0]), [[1 + squared[0], *squared[1:]]], attrs)
    return chained(out, a, lambda c, k: d[k])


def erf(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """``c' = 2 / sqrt(pi) exp(-a**2) a'``."""
    a = series[0]
    exponent = [scaled(-1.0, part) for part in _product(a, a)]
    d = exp(op, 2 / sqrt(pi) * np.exp(exponent[0]), [exponent], attrs)
    return chained(out, a, lambda c, k: d[k])


def softplus(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
    """``c' = sigmoid(a) a'``; ``sigmoid(a)`` is ``exp(a - c)``."""
    a = series[0]
    d = sigmoid(op, np.exp(a[0] - out), [a], attrs)
    return chained(out, a, lambda c, k: d[k])


# ---- arithmetic that is written once -------------------------------------------------------------


class _Power:
    """A series with the operators that fused bodies use."""

    def __init__(self, coefficients: Series) -> None:
        self.coefficients = coefficients

    def _joined(self, other: _Power, sign: float) -> _Power:
        pairs = zip(self.coefficients, other.coefficients, strict=True)
        return _Power([total((a, scaled(sign, b))) for a, b in pairs])

    def __add__(self, other: _Power) -> _Power:
        return self._joined(other, 1)

    def __sub__(self, other: _Power) -> _Power:
        return self._joined(other, -1)

    def __neg__(self) -> _Power:
        return _Power([scaled(-1, a) for a in self.coefficients])

    def __mul__(self, other: _Power) -> _Power:
        return _Power(_product(self.coefficients, other.coefficients))

    def __gt__(self, number: float) -> _Power:
        first, *rest = self.coefficients
        return _Power([first > number, *(None for _ in rest)])


def of_body(body: Callable[..., Any]) -> TaylorRule:
    """The rule of elementwise arithmetic: the same body, run on series."""

    def rule(op: Any, out: Any, series: Sequence[Series], attrs: dict[str, Any]) -> Series:
        return [out, *body(*map(_Power, series)).coefficients[1:]]

    return rule
