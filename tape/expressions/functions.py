"""What an expression can call: the one table of functions, and the constants.

Every elementwise operation is in it by what it is (an `Op` that works element by element and takes floats),
so a new one is as soon as it is declared. Functions around operations, reductions and those of matrices are
listed by name. Relies on `tape.ops`; nothing that an expression computes with comes from anywhere but here.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tape import ops
from tape.core import batch_rules
from tape.core.node import Handle
from tape.errors import ShapeError

__all__ = ["CONSTANTS", "FUNCTIONS", "Function"]


class Function(NamedTuple):
    """One function of the table: what runs, and with how many arguments."""

    name: str  # the operation's own, where it has several
    call: Callable[..., Any]
    least: int
    most: int
    whole: tuple[int, ...] = ()  # the arguments that must be written out as whole numbers

    @property
    def is_claim(self) -> bool:
        """Whether it gives truth values, which ``&``, ``|`` and ``~`` are for."""
        forward = getattr(getattr(self.call, "op", None), "forward", None)
        if isinstance(forward, np.ufunc):
            return all(loop.endswith("?") for loop in forward.types if "O" not in loop)
        return self.name.startswith("is") or self.name in ("any", "all")


CONSTANTS: dict[str, float] = {
    "pi": math.pi,
    "tau": math.tau,
    "e": math.e,
    "euler_gamma": float(np.euler_gamma),
    "inf": math.inf,
    "nan": math.nan,
}
"""The names that are numbers."""

_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "negative": operator.neg,
    "positive": operator.pos,
}

_AROUND_OPERATIONS = (
    "angle", "around", "celu", "clip", "elu", "fix", "gelu", "hardshrink", "hardtanh", "i0", "isclose",
    "leaky_relu", "polygamma", "prelu", "relu6", "round", "selu", "sign", "sinc", "softshrink", "tanhshrink",
    "threshold", "zeta",
)  # fmt: skip
_OF_ARRAYS = (
    "all", "any", "det", "inv", "logsumexp", "matmul", "mean", "norm", "prod", "solve", "std", "sum", "trace",
    "transpose", "var",
)  # fmt: skip
_OF_ORDER = ("kn", "yn")  # whose time grows with the order, which is a whole number
_ALIASES = {"ln": "log", "lgamma": "gammaln", "logistic": "sigmoid", "ceiling": "ceil", "sgn": "sign"}


def _arithmetic(function: Callable[..., Any], operator: Callable[..., Any]) -> Callable[..., Any]:
    """Arithmetic that leaves Python's numbers what they are, so that they do not widen float32."""

    def on(*operands: Any) -> Any:
        if any(isinstance(operand, Handle) for operand in operands):
            return operator(*operands)
        value = function(*operands)
        return value.item() if all(type(operand) in (float, complex, bool) for operand in operands) else value

    return on


def _dot(a: Any, b: Any) -> Any:
    for operand in (a, b):
        if np.ndim(operand) > 2:  # where np.dot makes ever more axes
            raise ShapeError(
                f"dot: an operand has {np.ndim(operand)} axes. It takes 2; write a @ b for stacks"
            )
    return ops.dot(a, b)


def _extreme(of_array: Callable[..., Any], of_two: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(*operands: Any) -> Any:
        if len(operands) == 1:
            return of_array(*operands)
        result = operands[0]
        for operand in operands[1:]:
            result = of_two(result, operand)
        return result

    return extreme


def _elementwise() -> dict[str, Function]:
    """Every operation that works element by element on floats."""
    table = {}
    for module in (ops.nn, ops.special, ops):
        for name, call in vars(module).items():
            op = getattr(call, "op", None)
            if name.startswith("_") or op is None or op.batch is not batch_rules.elementwise:
                continue
            if not isinstance(op.forward, np.ufunc):
                count = len(op.vjp) if op.vjp else _required(op.forward)
            elif any(set(loop.split("->")[0]) <= set("fd") for loop in op.forward.types):
                count = op.forward.nin
            else:
                continue  # of integers alone, which numbers in expressions never are
            table[name] = Function(op.name, call, count, count)
    for name in _OF_ORDER:
        table[name] = table[name]._replace(whole=(0,))
    for name, symbol in _OPERATORS.items():
        table[name] = table[name]._replace(call=_arithmetic(table[name].call, symbol))
    return table


def _required(call: Callable[..., Any]) -> int:
    parameters = inspect.signature(call).parameters.values()
    return sum(parameter.default is parameter.empty for parameter in parameters)


def _by_signature(name: str) -> Function:
    """A function of arrays and options, as far as its arguments are numbers."""
    call = next(
        getattr(place, name) for place in (ops, ops.special, ops.nn, ops.linalg) if hasattr(place, name)
    )
    if name in _OF_ARRAYS:
        count = 2 if name in ("matmul", "solve") else 1
        return Function(name, call, count, count)
    least, most, whole = 0, 0, [0] if name == "polygamma" else []
    for parameter in inspect.signature(call).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY or isinstance(parameter.default, (str, bool)):
            break
        least += parameter.default is parameter.empty
        if parameter.annotation == "int":
            whole.append(most)
        most += 1
    return Function(name, call, least, most, tuple(whole))


def _table() -> dict[str, Function]:
    table = _elementwise()
    table |= {name: _by_signature(name) for name in (*_AROUND_OPERATIONS, *_OF_ARRAYS)}
    table["dot"] = Function("dot", _dot, 2, 2)
    table["max"] = Function("max", _extreme(ops.max, ops.maximum), 1, 255)
    table["min"] = Function("min", _extreme(ops.min, ops.minimum), 1, 255)
    return table | {alias: table[name] for alias, name in _ALIASES.items()}


FUNCTIONS = _table()
"""Everything that can be called, by name."""
