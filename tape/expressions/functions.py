"""The functions and constants of expressions: one table of names, and entries for functions of the user's.

Every elementwise `Op` that takes floats is in the table by itself, so that a new one needs no line here.
Functions composed of operations, reductions and those of matrices are listed by name. Relies on `tape.ops`.
"""

from __future__ import annotations

import inspect
import keyword
import math
import operator
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tape import errors, ops
from tape.core import batch_rules
from tape.core.node import Handle

NAME = re.compile(r"[A-Za-z][A-Za-z_0-9]*", re.ASCII)
"""The pattern of names of variables and functions."""


class Function(NamedTuple):
    """A function that expressions can call.

    Attributes
    ----------
    name : str
        The name of the operation, which may have aliases.
    call : callable
        The function itself.
    least, most : int
        The number of arguments.
    integers : tuple of int
        The positions of arguments that must be integer literals.
    """

    name: str
    call: Callable[..., Any]
    least: int
    most: int
    integers: tuple[int, ...] = ()

    @property
    def is_boolean(self) -> bool:
        """Whether it returns truth values, the operands of ``&``, ``|`` and ``~``."""
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
"""Names that are numbers."""

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
    "leaky_relu", "polygamma", "prelu", "relu6", "round", "selu", "sign", "silu", "sinc", "softshrink",
    "softsign", "tanhshrink", "threshold", "zeta",
)  # fmt: skip
_OF_ARRAYS = (
    "all", "any", "det", "inv", "logsumexp", "matmul", "mean", "norm", "prod", "solve", "std", "sum", "trace",
    "transpose", "var",
)  # fmt: skip
_OF_ORDER = (
    "bdtr", "bdtrc", "bdtri", "eval_hermite", "eval_hermitenorm", "expn", "kn", "nbdtr", "nbdtrc", "nbdtri",
    "pdtri", "smirnov", "smirnovi", "spherical_in", "spherical_jn", "spherical_kn", "spherical_yn", "yn",
)  # fmt: skip
"""Functions whose first argument is an integer, that the running time of some grows with."""
_UNBOUNDED = 255
_ALIASES = {"ln": "log", "lgamma": "gammaln", "logistic": "sigmoid", "ceiling": "ceil", "sgn": "sign"}


def _arithmetic(function: Callable[..., Any], operator: Callable[..., Any]) -> Callable[..., Any]:
    """Return arithmetic that keeps Python numbers Python numbers, which do not widen float32."""

    def on(*operands: Any) -> Any:
        if any(isinstance(operand, Handle) for operand in operands):
            return operator(*operands)
        value = function(*operands)
        return value.item() if all(type(operand) in (float, complex, bool) for operand in operands) else value

    return on


def _dot(a: Any, b: Any) -> Any:
    for operand in (a, b):
        if np.ndim(operand) > 2:  # where np.dot makes ever more axes
            raise errors.ShapeError(
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
    """Return the entries of all elementwise operations on floats."""
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
                continue  # of integers only, and numbers in expressions are floats
            table[name] = Function(op.name, call, count, count)
    for name in _OF_ORDER:
        table[name] = table[name]._replace(integers=(0, 1) if "bd" in name else (0,))
    for name, symbol in _OPERATORS.items():
        table[name] = table[name]._replace(call=_arithmetic(table[name].call, symbol))
    return table


def _required(call: Callable[..., Any]) -> int:
    parameters = inspect.signature(call).parameters.values()
    return sum(parameter.default is parameter.empty for parameter in parameters)


def _by_signature(name: str) -> Function:
    """Return the entry of a function of arrays and options, up to the first argument that is no number."""
    call = next(
        getattr(place, name) for place in (ops, ops.special, ops.nn, ops.linalg) if hasattr(place, name)
    )
    if name in _OF_ARRAYS:
        count = 2 if name in ("matmul", "solve") else 1
        return Function(name, call, count, count)
    least, most, integers = 0, 0, [0] if name == "polygamma" else []
    for parameter in inspect.signature(call).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY or isinstance(parameter.default, (str, bool)):
            break
        least += parameter.default is parameter.empty
        if parameter.annotation == "int":
            integers.append(most)
        most += 1
    return Function(name, call, least, most, tuple(integers))


def _table() -> dict[str, Function]:
    table = _elementwise()
    table |= {name: _by_signature(name) for name in (*_AROUND_OPERATIONS, *_OF_ARRAYS)}
    table["dot"] = Function("dot", _dot, 2, 2)
    table["max"] = Function("max", _extreme(ops.max, ops.maximum), 1, _UNBOUNDED)
    table["min"] = Function("min", _extreme(ops.min, ops.minimum), 1, _UNBOUNDED)
    return table | {alias: table[name] for alias, name in _ALIASES.items()}


FUNCTIONS = _table()
"""Everything that every expression can call, by name."""


def own_function(name: Any, call: Any) -> Function:
    """Return the entry of a function of the user's.

    Parameters
    ----------
    name : str
        The name it is called by.
    call : callable
        A function of one or more positional arguments.

    Returns
    -------
    Function

    Raises
    ------
    OptionError
        If the name cannot be written in an expression or is taken, or if the function cannot be called with
        positional arguments.

    Examples
    --------
    >>> from tape.expressions.functions import own_function
    >>> own_function("f", lambda x, y=1.0: x * y)[2:4]
    (1, 2)
    """
    if not isinstance(name, str) or not NAME.fullmatch(name) or keyword.iskeyword(name):
        raise errors.OptionError(
            f"functions: {name!r} cannot be written in an expression. Names are ASCII letters, digits and _, "
            "and begin with a letter"
        )
    if name in CONSTANTS or name in FUNCTIONS:
        kind = "constant" if name in CONSTANTS else "function"
        raise errors.OptionError(
            f"functions: {name} is already a {kind} of every expression. Choose another name"
        )
    if not callable(call):
        raise errors.OptionError(f"functions: {name} is {errors.describe(call)}. It must be callable")
    least, most = _arguments(name, call)
    return Function(name, call, least, most)


def _arguments(name: str, call: Callable[..., Any]) -> tuple[int, int]:
    """Return the least and the greatest number of positional arguments."""
    if isinstance(call, np.ufunc):
        return call.nin, call.nin
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):  # written in C
        return 1, _UNBOUNDED
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if keywords:
        raise errors.OptionError(
            f"functions: {name} needs the keyword argument {keywords[0]}, and expressions pass arguments by "
            f"position. Bind it: functools.partial({name}, {keywords[0]}=...)"
        )
    most = _UNBOUNDED if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(positional)
    if not most:
        raise errors.OptionError(f"functions: {name} takes no argument. Pass its value as a variable")
    return max(sum(p.default is p.empty for p in positional), 1), most
