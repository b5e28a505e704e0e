"""Conversion of expressions to and from SymPy: tables of names, and a walk over the steps or SymPy's tree.

SymPy is imported when one of the two is called, and is optional. Relies on `functions` for names.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from tape.errors import UnsupportedError
from tape.expressions.functions import CONSTANTS, FUNCTIONS, NAME
from tape.system.extras import need

if TYPE_CHECKING:
    from tape.expressions.parse import Step

__all__ = ["from_sympy", "to_sympy"]

_SAME = {
    "absolute": "Abs",
    "angle": "arg",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "beta": "beta",
    "ceil": "ceiling",
    "conjugate": "conjugate",
    "cos": "cos",
    "cosh": "cosh",
    "digamma": "digamma",
    "equal": "Eq",
    "erf": "erf",
    "erfc": "erfc",
    "erfcinv": "erfcinv",
    "erfi": "erfi",
    "erfinv": "erfinv",
    "exp": "exp",
    "floor": "floor",
    "gamma": "gamma",
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
    "log": "log",
    "logical_and": "And",
    "logical_not": "Not",
    "logical_or": "Or",
    "logical_xor": "Xor",
    "max": "Max",
    "maximum": "Max",
    "min": "Min",
    "minimum": "Min",
    "not_equal": "Ne",
    "polygamma": "polygamma",
    "psi": "digamma",
    "real": "re",
    "remainder": "Mod",
    "sign": "sign",
    "sin": "sin",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "tan": "tan",
    "tanh": "tanh",
    "yv": "bessely",
    "zeta": "zeta",
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

_CALLED = {
    "acot": "arctan(1/{})",
    "acsc": "arcsin(1/{})",
    "asec": "arccos(1/{})",
    "factorial": "gamma({} + 1)",
    "sinc": "sinc({}/pi)",
}
_INVERSE = {
    "cot": "1/tan({})",
    "coth": "1/tanh({})",
    "csc": "1/sin({})",
    "csch": "1/sinh({})",
    "sec": "1/cos({})",
    "sech": "1/cosh({})",
}
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
    "BooleanTrue": "1 > 0",
    "BooleanFalse": "1 < 0",
}
_HEADS = frozenset({*_NAMED, *_COMPARED, *_JOINED, *_CALLED, *_INVERSE, *_HERE, "Not", "Mod"})
_DEPTH = 20  # of one line: more would not be read, and texts have a limit
_CHOICE, _LOGIC, _COMPARISON, _SUM, _PRODUCT, _POWER, _ATOM = range(7)  # how tightly the text of a part binds


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
    return _Printer(sympy, sympy.sympify(expr)).text


class _Part(NamedTuple):
    """The text of a subexpression, its precedence and its depth."""

    text: str
    binding: int
    depth: int = 0

    def within(self, binding: int) -> str:
        """Return the text, in parentheses unless it binds as tightly as this."""
        return self.text if self.binding >= binding else f"({self.text})"


class _Printer:
    """Prints subexpressions before what contains them; deep ones get lines of their own."""

    def __init__(self, sympy: Any, expr: Any) -> None:
        self.sympy = sympy
        self.lines: list[str] = []
        self.taken = {symbol.name for symbol in expr.free_symbols}
        written: dict[Any, _Part] = {}
        pending = [expr]
        while pending:  # no recursion: what SymPy derives may be deep
            part = pending[-1]
            missing = [] if part in written else [arg for arg in self.parts(part) if arg not in written]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            if part not in written:
                written[part] = self.line([written[arg] for arg in self.parts(part)], part)
        self.text = "\n".join([*self.lines, written[expr].text])

    def parts(self, part: Any) -> tuple[Any, ...]:
        """Return the subexpressions to print first: the arguments, with pieces flattened."""
        head = type(part).__name__
        is_known = part.is_Symbol or part.is_Rational or part.is_Float or part.is_Add or part.is_Mul
        if not (is_known or part.is_Pow or part.is_Piecewise or head in _HEADS):
            raise UnsupportedError(f"{head} of SymPy's has no counterpart here. Write it in other functions")
        if isinstance(part, self.sympy.Piecewise):
            return tuple(each for piece in part.args for each in piece.args)
        if part.is_Add:
            return tuple(part.as_ordered_terms())  # as SymPy prints them
        return tuple(part.as_ordered_factors()) if part.is_Mul else part.args

    def line(self, arguments: list[_Part], part: Any) -> _Part:
        """Return the text of a subexpression, or the name of the line it was printed in."""
        written = self.write(part, arguments)
        depth = 1 + max((argument.depth for argument in arguments), default=0)
        if depth <= _DEPTH:
            return written._replace(depth=depth)
        name = next(name for k in count() if (name := f"t{k}") not in self.taken)
        self.taken.add(name)
        self.lines.append(f"{name} = {written.text}")
        return _Part(name, _ATOM)

    def write(self, part: Any, arguments: list[_Part]) -> _Part:
        head = type(part).__name__
        texts = [argument.text for argument in arguments]
        if part.is_Symbol:
            return _Part(_variable(part.name), _ATOM)
        if head in _NAMED:
            return _Part(_NAMED[head], _ATOM if _NAMED[head].isalnum() else _LOGIC)
        if part.is_Rational or part.is_Float:
            text = str(part) if part.is_Rational else repr(float(part))
            return _Part(text, _SUM if part < 0 else _PRODUCT if "/" in text else _ATOM)
        if part.is_Add:
            terms = [argument.within(_SUM) for argument in arguments]
            return _Part(" + ".join(terms).replace(" + -", " - "), _SUM)
        if part.is_Mul:
            return _product(self.parts(part), arguments)
        if part.is_Pow:
            return _power(part.exp, *arguments)
        if part.is_Piecewise:
            return self.choice(part, arguments)
        if head in _COMPARED:
            left, right = (argument.within(_SUM) for argument in arguments)
            return _Part(f"{left} {_COMPARED[head]} {right}", _COMPARISON)
        if head in _JOINED:
            return _Part(_JOINED[head].join(argument.within(_COMPARISON) for argument in arguments), _LOGIC)
        if head == "Not":
            return _Part(f"not {arguments[0].within(_COMPARISON)}", _LOGIC)
        if head == "Mod":
            return _Part(f"{arguments[0].within(_ATOM)} % {arguments[1].within(_ATOM)}", _SUM)
        if head in _CALLED:
            return _Part(_CALLED[head].format(*(argument.within(_POWER) for argument in arguments)), _ATOM)
        if head in _INVERSE:
            return _Part(_INVERSE[head].format(*texts), _PRODUCT)
        return _Part(f"{_HERE[head]}({', '.join(texts)})", _ATOM)

    def choice(self, part: Any, arguments: list[_Part]) -> _Part:
        """Print a piecewise expression: ``a if c else b if d else nan``."""
        pieces = list(zip(arguments[::2], arguments[1::2], strict=True))
        last = "nan"
        if part.args[-1].cond == self.sympy.true:
            last = pieces.pop()[0].within(_LOGIC)
        text = [f"{value.within(_LOGIC)} if {condition.within(_LOGIC)} else" for value, condition in pieces]
        return _Part(" ".join([*text, last]), _CHOICE)


def _product(factors: Sequence[Any], arguments: list[_Part]) -> _Part:
    """Print a product: factors in order, over one denominator."""
    above, below, is_negative = [], [], False
    for factor, argument in zip(factors, arguments, strict=True):
        if factor.is_Rational:
            is_negative ^= bool(factor < 0)
            above += [str(abs(factor.p))] if abs(factor.p) != 1 else []
            below += [str(factor.q)] if factor.q != 1 else []
        elif argument.text.startswith("1/") and argument.binding == _PRODUCT:  # and not a sum, 1/3 - x
            below.append(argument.text[2:])
        else:
            above.append(argument.within(_POWER))
    text = ("-" if is_negative else "") + ("*".join(above) or "1")
    if below:
        text += f"/{below[0]}" if len(below) == 1 else f"/({'*'.join(below)})"
    return _Part(text, _SUM if is_negative else _PRODUCT)


def _power(exponent: Any, base: _Part, power: _Part) -> _Part:
    if not exponent.is_Rational:
        return _Part(f"{base.within(_ATOM)}**{power.within(_ATOM)}", _POWER)
    size = abs(exponent)
    if size == 1:
        text = base.within(_POWER)
    elif size.q == 2 and size.p == 1:
        text = f"sqrt({base.text})"
    else:
        text = f"{base.within(_ATOM)}**{size if size.q == 1 else f'({size})'}"
    return _Part(f"1/{text}", _PRODUCT) if exponent < 0 else _Part(text, _POWER)


def _variable(name: str) -> str:
    if NAME.fullmatch(name) and name not in CONSTANTS and not keyword.iskeyword(name):
        return name
    raise UnsupportedError(
        f"a symbol is called {name!r}, which cannot be the name of a variable. Substitute another symbol"
    )
