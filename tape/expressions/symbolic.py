"""Conversion of expressions to and from SymPy: tables of names, a walk over steps, and a printer of SymPy's.

SymPy is imported when one of the two is called, and is optional. Relies on `functions` for names.
"""

from __future__ import annotations

import importlib
import keyword
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from tape.errors import UnsupportedError
from tape.expressions.functions import CONSTANTS, FUNCTIONS, NAME
from tape.system.extras import need

if TYPE_CHECKING:
    from tape.expressions.parse import Step

_UNCHANGED = (
    "beta", "conjugate", "cos", "cosh", "digamma", "erf", "erfc", "erfcinv", "erfi", "erfinv", "exp",
    "floor", "gamma", "log", "polygamma", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "zeta",
)  # fmt: skip
_SAME = dict(zip(_UNCHANGED, _UNCHANGED, strict=True)) | {
    "absolute": "Abs",
    "angle": "arg",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "ceil": "ceiling",
    "equal": "Eq",
    "gammaln": "loggamma",
    "greater": "Gt",
    "greater_equal": "Ge",
    "heaviside": "Heaviside",
    "imag": "im",
    "iv": "besseli",
    "jv": "besselj",
    "kv": "besselk",
    "less": "Lt",
    "less_equal": "Le",
    "logical_and": "And",
    "logical_not": "Not",
    "logical_or": "Or",
    "logical_xor": "Xor",
    "max": "Max",
    "maximum": "Max",
    "min": "Min",
    "minimum": "Min",
    "not_equal": "Ne",
    "psi": "digamma",
    "real": "re",
    "remainder": "Mod",
    "yv": "bessely",
}
"""Functions that SymPy has, by their names here."""

_COMPOSED: dict[str, Callable[..., Any]] = {
    "add": lambda s, x, y: x + y,
    "cbrt": lambda s, x: s.sign(x) * s.Abs(x) ** s.Rational(1, 3),
    "clip": lambda s, x, low, high: s.Min(s.Max(x, low), high),
    "deg2rad": lambda s, x: x * s.pi / 180,
    "degrees": lambda s, x: x * 180 / s.pi,
    "divide": lambda s, x, y: x / y,
    "exp10": lambda s, x: 10**x,
    "exp2": lambda s, x: 2**x,
    "expit": lambda s, x: 1 / (1 + s.exp(-x)),
    "expm1": lambda s, x: s.exp(x) - 1,
    "fabs": lambda s, x: s.Abs(x),
    "floor_divide": lambda s, x, y: s.floor(x / y),
    "gelu": lambda s, x: x * (1 + s.erf(x / s.sqrt(2))) / 2,
    "hypot": lambda s, x, y: s.sqrt(x**2 + y**2),
    "log10": lambda s, x: s.log(x) / s.log(10),
    "log1p": lambda s, x: s.log(1 + x),
    "log2": lambda s, x: s.log(x) / s.log(2),
    "logaddexp": lambda s, x, y: s.log(s.exp(x) + s.exp(y)),
    "logit": lambda s, x: s.log(x / (1 - x)),
    "logsigmoid": lambda s, x: -s.log(1 + s.exp(-x)),
    "multiply": lambda s, x, y: x * y,
    "ndtr": lambda s, x: (1 + s.erf(x / s.sqrt(2))) / 2,
    "negative": lambda s, x: -x,
    "positive": lambda s, x: x,
    "power": lambda s, x, y: x**y,
    "rad2deg": lambda s, x: x * 180 / s.pi,
    "radians": lambda s, x: x * s.pi / 180,
    "reciprocal": lambda s, x: 1 / x,
    "relu": lambda s, x: s.Max(x, 0),
    "sigmoid": lambda s, x: 1 / (1 + s.exp(-x)),
    "silu": lambda s, x: x / (1 + s.exp(-x)),
    "sinc": lambda s, x: s.sinc(s.pi * x),
    "softplus": lambda s, x: s.log(1 + s.exp(x)),
    "softsign": lambda s, x: x / (1 + s.Abs(x)),
    "square": lambda s, x: x**2,
    "subtract": lambda s, x, y: x - y,
    "where": lambda s, c, x, y: s.Piecewise((x, c), (y, True)),
    "xlogy": lambda s, x, y: x * s.log(y),
}
"""Functions that are formulas in SymPy."""

_REWRITTEN: dict[str, Callable[..., Any]] = {
    "acot": lambda s, x: s.atan(1 / x),
    "acsc": lambda s, x: s.asin(1 / x),
    "asec": lambda s, x: s.acos(1 / x),
    "cot": lambda s, x: 1 / s.tan(x),
    "coth": lambda s, x: 1 / s.tanh(x),
    "csc": lambda s, x: 1 / s.sin(x),
    "csch": lambda s, x: 1 / s.sinh(x),
    "factorial": lambda s, x: s.gamma(x + 1),
    "sec": lambda s, x: 1 / s.cos(x),
    "sech": lambda s, x: 1 / s.cosh(x),
}
"""Functions of SymPy's in terms of others."""

_COMPARED = {
    "Equality": "==",
    "GreaterThan": ">=",
    "LessThan": "<=",
    "StrictGreaterThan": ">",
    "StrictLessThan": "<",
    "Unequality": "!=",
}
_JOINED = {"And": " and ", "Or": " or "}
_HERE = {theirs: ours for ours, theirs in reversed(_SAME.items())} | {"Max": "max", "Min": "min"}
_NAMED = {
    "Pi": "pi",
    "Exp1": "e",
    "EulerGamma": "euler_gamma",
    "Infinity": "inf",
    "NegativeInfinity": "-inf",
    "NaN": "nan",
    "ImaginaryUnit": "1j",
    "BooleanTrue": "(1 > 0)",
    "BooleanFalse": "(1 < 0)",
}
_LINE, _SHORT = 100, 10  # parts of a line, which has limits, and of what is not worth a line of its own


def to_sympy(steps: Sequence[Step], result: int) -> Any:
    """Return the value of steps as an expression of SymPy's: see `Expression.to_sympy`."""
    sympy = need("sympy", "conversions to and from SymPy")
    values: list[Any] = []
    for step in steps:
        operands = [values[k] for k in step.operands]
        if step.function is None:
            values.append(_symbol_or_number(sympy, step.leaf))
        else:
            known = FUNCTIONS.get(step.function)  # a function of the user's stays a symbol
            values.append(
                sympy.Function(step.function)(*operands)
                if known is None
                else _applied(sympy, known.name, operands)
            )
    return values[result]


def _symbol_or_number(sympy: Any, leaf: Any) -> Any:
    """Return a symbol for a variable, and exact numbers where they are known to be exact."""
    if isinstance(leaf, str):
        return sympy.Symbol(leaf)
    if isinstance(leaf, complex):
        return sympy.I * _symbol_or_number(sympy, leaf.imag)
    names = {"pi": sympy.pi, "tau": 2 * sympy.pi, "e": sympy.E, "euler_gamma": sympy.EulerGamma}
    for name, number in names.items():
        if leaf == CONSTANTS[name]:
            return number
    return sympy.Integer(int(leaf)) if float(leaf).is_integer() else sympy.sympify(leaf)


def _applied(sympy: Any, name: str, operands: list[Any]) -> Any:
    try:
        if name in _COMPOSED:
            return _COMPOSED[name](sympy, *operands)
        if name in _SAME and not (name in ("max", "min") and len(operands) == 1):
            return getattr(sympy, _SAME[name])(*operands)
    except (TypeError, ValueError) as error:  # SymPy tells truth values from numbers
        raise UnsupportedError(
            f"SymPy refuses {name} of {operands}: {error}. Write it in another way"
        ) from error
    raise UnsupportedError(
        f"SymPy has no counterpart of {name} with {len(operands)} operands. Write it in other functions"
    )


def from_sympy(expr: Any) -> str:
    """Return the text of an expression of SymPy's: see `Expression.from_sympy`."""
    sympy = need("sympy", "conversions to and from SymPy")
    if isinstance(expr, str):
        raise UnsupportedError(
            "SymPy evaluates text as Python. Write expression(text), or parse it there yourself"
        )
    expr = sympy.sympify(expr)
    for name, rewritten in _REWRITTEN.items():
        if expr.has(getattr(sympy, name)):
            expr = expr.replace(getattr(sympy, name), partial(rewritten, sympy))
    names: dict[Any, str] = {}  # of subexpressions on lines of their own
    sizes: dict[Any, int] = {}
    lines: list[str] = []
    taken = {symbol.name for symbol in expr.free_symbols}
    printer = _printer(sympy, names)
    for part in sympy.postorder_traversal(expr):
        if part in sizes:
            continue
        if 1 + sum(sizes[arg] for arg in part.args) > _LINE:
            for arg in part.args:
                inner = arg.base if part.is_Mul and arg.is_Pow else arg  # 1/x is printed as /x in a product
                if sizes[inner] > _SHORT and isinstance(inner, sympy.Expr):
                    name = next(name for k in count() if (name := f"t{k}") not in taken)
                    lines.append(f"{name} = {printer.doprint(inner)}")
                    taken.add(name)
                    names[inner], sizes[inner] = name, 1
                    sizes[arg] = 1 if inner is arg else 1 + sum(sizes[of] for of in arg.args)
        sizes[part] = 1 + sum(sizes[arg] for arg in part.args)
    return "\n".join([*lines, printer.doprint(expr)])


def _printer(sympy: Any, names: Mapping[Any, str]) -> Any:
    """Return a printer of SymPy's for the syntax of expressions; some subexpressions have ``names``."""
    level = importlib.import_module("sympy.printing.precedence").PRECEDENCE
    wrapped = (sympy.Mod, sympy.Piecewise)  # always in parentheses, which SymPy knows as calls

    class Printer(sympy.printing.str.StrPrinter):
        def doprint(self, expr: Any) -> str:
            text = str(super().doprint(expr))
            return text[1:-1] if isinstance(expr, wrapped) and expr not in names else text

        def parenthesize(self, item: Any, level: int, strict: bool = False) -> str:
            if isinstance(item, wrapped):
                return self._print(item)
            return str(super().parenthesize(item, level, strict))

        def _print(self, expr: Any, **settings: Any) -> str:
            head = type(expr).__name__
            if expr in names:
                return names[expr]
            if head in _NAMED:
                return _NAMED[head]
            if expr.is_Symbol:
                return _variable(expr.name)
            if expr.is_Float:
                return repr(float(expr))
            if expr.is_Rational or expr.is_Add or expr.is_Mul or expr.is_Pow:
                return str(super()._print(expr, **settings))
            if head in _COMPARED:
                left, right = (self.parenthesize(x, level["Add"], strict=True) for x in expr.args)
                return f"{left} {_COMPARED[head]} {right}"
            if head in _JOINED:
                return str(self.stringify(expr.args, _JOINED[head], level["And"]))
            if head == "Not":
                return f"not {self.parenthesize(expr.args[0], level['Relational'], strict=True)}"
            if head == "Mod":
                left, right = (self.parenthesize(x, level["Func"], strict=True) for x in expr.args)
                return f"({left} % {right})"
            if head == "Piecewise":
                return self._choice(expr)
            if head == "sinc":
                return f"sinc({self._print(expr.args[0] / sympy.pi)})"
            if head in _HERE:
                return f"{_HERE[head]}({self.stringify(expr.args, ', ')})"
            raise UnsupportedError(f"{head} of SymPy's has no counterpart here. Write it in other functions")

        def _print_Pow(self, expr: Any, rational: bool = False) -> str:
            if expr.exp.is_Rational and expr.exp < 0:
                return f"1/{self.parenthesize(expr.base**-expr.exp, level['Pow'], strict=True)}"
            return str(super()._print_Pow(expr, rational))

        def _choice(self, expr: Any) -> str:
            """Print a piecewise expression: ``(a if c else b if d else nan)``."""
            *pieces, (last, condition) = expr.args
            if condition != sympy.true:
                pieces, last = [*pieces, (last, condition)], sympy.nan
            parts = [f"{self._print(value)} if {self._print(test)} else" for value, test in pieces]
            return f"({' '.join([*parts, self._print(last)])})"

    return Printer()


def _variable(name: str) -> str:
    if NAME.fullmatch(name) and name not in CONSTANTS and not keyword.iskeyword(name):
        return name
    raise UnsupportedError(
        f"a symbol is called {name!r}, which cannot be the name of a variable. Substitute another symbol"
    )
