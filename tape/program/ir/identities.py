"""Algebraic identities: simpler instructions in place of an elementwise one.

An identity takes the builder, the operands, and the number that each is known to be everywhere, or None. It
returns a simpler value, or None. Results may differ in rounding, never in NaN, infinity or the sign of zero;
that rules out ``x + 0`` and ``-(x - y)``. The exception is a quotient by few numbers, which becomes a product
with their reciprocals: infinite for divisors below 5.6e-309 (3e-39 in float32).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.kernels.codes import KERNEL_DTYPES
from tape.program.ir.values import Value

if TYPE_CHECKING:
    from tape.program.ir.builder import Builder

Identity = Callable[["Builder", tuple[Value, ...], list[Any]], "Value | None"]


def _negated(b: Builder, value: Value) -> Value | None:
    """Return the x of a value that is -x, else None."""
    return b.operands_of(b.ir.instructions[value.id])[0] if value.op == "negative" else None


def _add(b: Builder, values: tuple[Value, ...], numbers: list[Any]) -> Value | None:
    x, y = values
    if x.dtype.kind == "b":
        return None
    for one, other, number in ((x, y, numbers[1]), (y, x, numbers[0])):
        if _is_zero(number, one, is_negative=True) and _fills(one, other):
            return one
        if (opposite := _negated(b, other)) is not None:
            return b.elementwise("subtract", one, opposite)
    if x.id == y.id and x.dtype.kind == "f" and not b.as_numpy:  # a scale, which may move on
        return x * b.literal(2, x.dtype)
    made = (way(b, *pair) for pair in ((x, y), (y, x)) for way in (_accumulated, _added_to_rows))
    return next((value for value in made if value is not None), None)


def _added_to_rows(b: Builder, x: Value, y: Value) -> Value | None:
    return _to_rows(b, x, y, is_taken=False)


def _to_rows(b: Builder, x: Value, y: Value, is_taken: bool) -> Value | None:
    """Add a number to each row of a product, or take it, before that is reshaped: there it costs nothing."""
    source = b.operands_if(x, "reshape")
    product = x if source is None else source[0]
    if b.as_numpy or product.op != "matmul" or product.ndim != 2 or x.ndim < 2:
        return None
    if product.shape[-1] != x.shape[-1] or x.shape[-1] == 1 or y.shape != (*x.shape[:-1], 1):
        return None
    rows = b.reshape(y, (product.shape[0], 1))
    return b.reshape(b.push("add", (product, -rows if is_taken else rows)), x.shape)


def _accumulated(b: Builder, total: Value, part: Value) -> Value | None:
    """Add only the elements that are not zero, if they were added to zeros at an index; else return None."""
    if part.op != "add_at" or total.shape != part.shape:
        return None
    instruction = b.ir.instructions[part.id]
    zeros, values, *index = b.operands_of(instruction)
    if b.known(zeros) != 0 or b.known(zeros) is None:
        return None
    return b.add_at(total, values, index[0] if index else None, instruction.attrs)


def _subtract(b: Builder, values: tuple[Value, ...], numbers: list[Any]) -> Value | None:
    x, y = values
    if _is_zero(numbers[1], x, is_negative=False) and _fills(x, y):
        return x
    if _is_zero(numbers[0], y, is_negative=True) and _fills(y, x):
        return -y
    if (opposite := _negated(b, y)) is not None:
        return x + opposite
    return _to_rows(b, x, y, True)


def _is_zero(number: Any, beside: Value, *, is_negative: bool) -> bool:
    """Return whether a number is known to be the zero of this sign; integers and bools have one zero."""
    if number != 0:
        return False
    return beside.dtype.kind != "f" or bool(np.signbit(number)) is is_negative


def _multiply(b: Builder, values: tuple[Value, ...], numbers: list[Any]) -> Value | None:
    x, y = values
    if x.dtype.kind != "f":
        return None
    for one, other, number in ((x, y, numbers[1]), (y, x, numbers[0])):
        if number is not None and _fills(one, other):
            if number == 1:
                return one
            if number == -1:
                return -one
            scaled = None if b.as_numpy else b.operands_if(one, "multiply")
            for factor, rest in (scaled, scaled[::-1]) if scaled else ():
                known = b.known(factor)
                if known is not None and (abs(known) <= 1) == (abs(number) <= 1):  # no less overflows then
                    together = _normal(np.multiply, known, number)
                    if together is not None:
                        return b.elementwise("multiply", rest, b.literal(together, x.dtype))
        if (opposite := _negated(b, one)) is not None:
            if number is not None:
                return b.elementwise("multiply", opposite, b.literal(-number, x.dtype))
            if one.size >= other.size:  # where it costs least, a sign stays
                return -b.elementwise("multiply", opposite, other)
    return None


def _divide(b: Builder, values: tuple[Value, ...], numbers: list[Any]) -> Value | None:
    x, y = values
    number = numbers[1]
    if number is not None and number != 0 and np.isfinite(number):
        if number == 1:
            return x
        if np.frexp(number)[0] in (0.5, -0.5):  # a power of two: exact
            inverse = _normal(np.divide, x.dtype.type(1), number)
            if inverse is not None:
                return x * b.literal(inverse, x.dtype)
    if (
        0 < y.size < x.size and x.dtype.kind == "f" and number is None and not b.as_numpy
    ):  # one division instead of many
        return x * (b.literal(1, x.dtype) / y)
    if (opposite := _negated(b, x)) is not None:
        return -(opposite / y)
    if (opposite := _negated(b, y)) is not None:
        return -(x / opposite)
    return None


def _normal(ufunc: np.ufunc, x: Any, y: Any) -> Any:
    """Return the result for two numbers; None if it overflows or underflows."""
    with np.errstate(all="ignore"):
        result = ufunc(x, y)
    return result if np.isfinite(result) and abs(result) >= np.finfo(result.dtype).tiny else None


def _negative(b: Builder, values: tuple[Value, ...], numbers: list[Any]) -> Value | None:
    (x,) = values
    if (opposite := _negated(b, x)) is not None:
        return opposite
    if x.dtype.kind == "f":
        for factor, rest in both_ways(b.operands_if(x, "multiply")):
            if (known := b.known(factor)) is not None:
                return rest * b.literal(-known, x.dtype)
            if factor.size < rest.size:
                return rest * -factor
    return None


def _absolute(b: Builder, values: tuple[Value, ...], numbers: list[Any]) -> Value | None:
    (x,) = values
    opposite = _negated(b, x)
    pair = b.operands_if(x, "subtract")
    if opposite is None and pair is not None and pair[1].shape == x.shape and b.known(pair[0]) == 0:
        opposite = pair[1]
    return None if opposite is None else b.elementwise("absolute", opposite)


def _power(b: Builder, values: tuple[Value, ...], numbers: list[Any]) -> Value | None:
    x, number = values[0], numbers[1]
    if x.dtype.kind != "f" or number is None:
        return None
    if number == 1:
        return x
    if number in (2, 3, 4):
        square = x * x
        return square if number == 2 else square * (x if number == 3 else square)
    if number == 0.5 and x.shape:  # of single numbers, the power of -0.0 is 0, and that of -inf is inf
        return b.elementwise("sqrt", x)
    if number == -1:
        return b.literal(1, x.dtype) / x
    return None


def _square(b: Builder, values: tuple[Value, ...], numbers: list[Any]) -> Value | None:
    return values[0] * values[0]


def _reciprocal(b: Builder, values: tuple[Value, ...], numbers: list[Any]) -> Value | None:
    (x,) = values
    return b.literal(1, x.dtype) / x if x.dtype.kind == "f" else None


def _same(b: Builder, values: tuple[Value, ...], numbers: list[Any]) -> Value | None:
    return values[0] if values[0].id == values[1].id else None


def _compare(name: str) -> Identity:
    """Return the identity of a comparison: a root is above a number where its square is above another one.

    That is exact: roots are rounded correctly, so that they do not change places.
    """
    is_above, takes_equal = name.startswith("greater"), name.endswith("equal")

    def rule(b: Builder, values: tuple[Value, ...], numbers: list[Any]) -> Value | None:
        root, number = values[0], numbers[1]
        of = b.operands_if(root, "sqrt")
        if of is None or number is None or root.dtype not in KERNEL_DTYPES or not _fills(root, values[1]):
            return None
        if not is_above and not _is_no_less_than_zero(b, of[0]):
            return None
        last = _last_with_root(number if is_above is not takes_equal else np.nextafter(number, number * 0))
        if last is None:
            return None
        return b.elementwise("greater" if is_above else "less_equal", of[0], b.literal(last, root.dtype))

    return rule


def _last_with_root(most: Any) -> Any:
    """Return the largest number whose root is not above this one; None where squares are not normal."""
    square = _normal(np.multiply, most, most)
    zero, infinity = most.dtype.type(0), most.dtype.type(np.inf)
    if square is None or most < 0 or not np.isfinite(np.nextafter(square, infinity)):
        return None
    while np.sqrt(after := np.nextafter(square, infinity)) <= most:
        square = after
    while np.sqrt(square) > most:
        square = np.nextafter(square, zero)
    return square


def _is_no_less_than_zero(b: Builder, value: Value) -> bool:
    """Return whether a value is a square, or a sum of some, which may be NaN."""
    factors, terms = b.operands_if(value, "multiply"), b.operands_if(value, "add")
    if factors is not None:
        return factors[0].id == factors[1].id
    if terms is not None:
        return all(_is_no_less_than_zero(b, term) for term in terms)
    fold = b.ir.instructions[value.id]
    return value.op == "fold" and fold.attrs[0] == "sum" and _is_no_less_than_zero(b, b.operands_of(fold)[0])


def both_ways(pair: tuple[Value, ...] | None) -> tuple[tuple[Value, ...], ...]:
    return () if pair is None else (pair, pair[::-1])


def _fills(one: Value, other: Value) -> bool:
    """Return whether the first has the shape that both broadcast to."""
    return one.shape == other.shape or (other.size == 1 and other.ndim <= one.ndim)


IDENTITIES: dict[str, Identity] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "absolute": _absolute,
    "negative": _negative,
    "power": _power,
    "square": _square,
    "reciprocal": _reciprocal,
    "maximum": _same,
    "minimum": _same,
    "logical_and": _same,
    "logical_or": _same,
    **{name: _compare(name) for name in ("greater", "greater_equal", "less", "less_equal")},
}


def _special_power(b: Builder, values: tuple[Value, ...], numbers: list[Any]) -> Value | None:
    """Return what Python's operator makes of a power of an array: other digits than `numpy.power`."""
    x, number = values[0], numbers[1]
    name = _POWERS.get(complex(number)) if number is not None and x.shape and x.dtype.kind in "fc" else None
    if name is None:
        return None
    return x if name == "positive" else b.elementwise(name, x)


_POWERS: dict[complex, str] = {-1: "reciprocal", 0.5: "sqrt", 1: "positive", 2: "square"}
SPECIAL_IDENTITIES: dict[str, Identity] = {"power": _special_power}
"""Those for halves and complex numbers, whose zeros and infinities go by other rules."""
