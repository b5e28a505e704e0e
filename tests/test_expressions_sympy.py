"""Expressions to SymPy and back: the same values, and derivatives equal to those SymPy derives."""

import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tape
from tape.errors import UnsupportedError
from tape.expressions import Expression, expression
from tape.expressions.functions import FUNCTIONS
from tape.expressions.symbolic import _COMPOSED, _REWRITTEN, _SAME
from tests.tiers import rounds, takes_long

sympy = pytest.importorskip("sympy", reason="SymPy is not installed")
x, y = sympy.symbols("x y")
POINTS = {"x": 0.7, "y": 0.4}

CORPUS = [
    "sin(x) + 0.2*sin(5*x)",
    "exp(-x**2/2) / sqrt(2*pi)",
    "x**y + y**x",
    "x**3 - 2*x**-1 + 1/3",
    "log(x*y) / (x + y)",
    "ln(1 + x**2) * arctan2(y, x)",
    "arcsin(x)*arccos(y)/arctan(x*y)",
    "sinh(x) - cosh(y)*tanh(x*y)",
    "arcsinh(x) + arctanh(y) + arccosh(2 + x)",
    "sigmoid(x) * softplus(y) + silu(x) - logsigmoid(x)",
    "expm1(x) + log1p(y) + log2(x) + log10(y) + exp2(x)",
    "hypot(x, y) + square(x) + reciprocal(y) + cbrt(x)",
    "erf(x) + erfc(y) + gammaln(2 + x) + digamma(1 + y)",
    "gamma(1 + x) * beta(x, y)",
    "polygamma(1, x)",
    "maximum(x, y) - minimum(x, 2*y) + relu(x) + max(x, y, x*y)",
    "abs(x - y) * sign(y - x)",
    "x if x < y else x*y",
    "x**2 if 0 < x < 1 and not y > 1 else y",
    "r = sqrt(x**2 + y**2); sin(r)/r",
    "jv(0, x) + iv(1, y)",
    "degrees(x) + radians(y) + sinc(x)",
    "clip(x, 0, 1/2) + tau*e + euler_gamma",
    "logaddexp(x, y) + logit(y) + ndtr(x) + gelu(y) + xlogy(x, y)",
    "5*x % (2*y) + 5*x // y + floor(x) + ceil(y)",
    "softsign(x) - positive(y) + -x",
]


def at_points(f):
    return [POINTS[name] for name in f.variables]


def number(expr):
    values = {symbol: POINTS[symbol.name] for symbol in expr.free_symbols}
    return float(sympy.N(expr.subs(values), 20))


@pytest.mark.parametrize("text", CORPUS)
def test_values_and_derivatives_are_those_of_sympy(text):
    f = expression(text)
    symbolic = f.to_sympy()
    assert {symbol.name for symbol in symbolic.free_symbols} == set(f.variables)
    np.testing.assert_allclose(f(*at_points(f)), number(symbolic), rtol=1e-12)
    if "floor" not in text:  # whose derivative SymPy leaves open
        real = {sympy.Symbol(name): sympy.Symbol(name, real=True) for name in f.variables}
        for argnum, name in enumerate(f.variables):
            expected = number(sympy.diff(symbolic.subs(real), sympy.Symbol(name, real=True)))
            np.testing.assert_allclose(tape.grad(f, argnum)(*at_points(f)), expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("text", CORPUS)
def test_there_and_back(text):
    f = expression(text)
    back = Expression.from_sympy(f.to_sympy())
    assert set(back.variables) == set(f.variables)
    np.testing.assert_allclose(
        back(**{name: POINTS[name] for name in f.variables}), f(*at_points(f)), rtol=1e-12
    )


@pytest.mark.parametrize("text", CORPUS[:10])
def test_derivatives_of_sympy_can_be_read(text):
    f = expression(text)
    derivative = sympy.diff(f.to_sympy(), x)
    g = Expression.from_sympy(derivative)
    expected = tape.grad(f, f.variables.index("x"))(*at_points(f))
    np.testing.assert_allclose(g(**{name: POINTS[name] for name in g.variables}), expected, rtol=1e-10)


TEXTS = {
    "x/3 - 2*x**2": "-2*x**2 + x/3",
    "x/(y*(x + 1))": "x/(y*(x + 1))",
    "-(x + y)*3/2": "-3*x/2 - 3*y/2",
    "sec(x)*exp(-x**2/2)": "exp(-x**2/2)/cos(x)",
    "Piecewise((x, x < 0), (x**2, x < y), (3, True))": "x if x < 0 else x**2 if x < y else 3",
    "Piecewise((x, Not(Or(x < 1, Eq(x, y)))))": "x if not (x == y or x < 1) else nan",
    "x**Rational(-1, 2)": "1/sqrt(x)",
    "(x + y)**(-2)": "1/(x + y)**2",
    "Max(x, y, 1)": "max(1, x, y)",
    "Mod(x + 1, y)*2": "2*((x + 1) % y)",
    "-Mod(x, y) + 1": "1 - (x % y)",
    "Mod(x, y)**2/3": "(x % y)**2/3",
    "2**(-x)": "2**(-x)",
    "E**x + pi*I": "exp(x) + 1j*pi",
    "Abs(x)*oo": "inf*absolute(x)",
}


@pytest.mark.parametrize("source", TEXTS)
def test_texts_read_well(source):
    assert Expression.from_sympy(sympy.sympify(source)).text == TEXTS[source]


def test_numbers_are_exact_where_they_can_be():
    assert expression("x**2/3 + pi").to_sympy() == x**2 / 3 + sympy.pi
    assert expression("0.1*x").to_sympy() == sympy.Float(0.1) * x
    assert Expression.from_sympy(sympy.Rational(1, 3))() == 1 / 3
    assert Expression.from_sympy(sympy.Float(0.1))() == 0.1
    assert Expression.from_sympy(2)() == 2
    assert expression("2j*x").to_sympy() == 2 * sympy.I * x


def test_deep_ones_get_lines():
    deep = x
    for k in range(50):
        deep = sympy.sin(deep) + k
    f = Expression.from_sympy(deep)
    assert "t0 = " in f.text
    assert f.variables == ("x",)
    np.testing.assert_allclose(f(0.3), float(deep.subs(x, 0.3)))


@takes_long
def test_long_ones_stay_within_the_limits():
    long = sympy.sin(x * y) * sympy.exp(-(x**2)) / (1 + sympy.log(x + y) ** 2)
    for _ in range(5):
        long = sympy.diff(long, x)
    f = Expression.from_sympy(long)
    np.testing.assert_allclose(f(x=0.7, y=0.4), number(long), rtol=1e-9)


@settings(max_examples=rounds(40))
@given(
    st.recursive(
        st.sampled_from([x, y, sympy.Integer(2), sympy.Rational(1, 3), sympy.Float(0.5)]),
        lambda parts: st.one_of(
            st.tuples(parts, parts).map(lambda p: p[0] + p[1]),
            st.tuples(parts, parts).map(lambda p: p[0] - p[1]),
            st.tuples(parts, parts).map(lambda p: p[0] * p[1]),
            parts.map(sympy.sin),
            parts.map(lambda part: sympy.exp(-(part**2))),
            parts.map(lambda part: 1 / (2 + sympy.cos(part))),
            parts.map(lambda part: (1 + part**2) ** sympy.Rational(-3, 2)),
            parts.map(lambda part: -sympy.Mod(part, sympy.Rational(7, 3))),
            st.tuples(parts, parts).map(lambda p: p[0] / sympy.cot(2 + sympy.cos(p[1]) / 9)),
            st.tuples(parts, parts).map(lambda p: sympy.Piecewise((p[0], x < y), (-p[1], True)) * y),
        ),
        max_leaves=8,
    )
)
@example(sympy.sin(x * (sympy.Rational(1, 3) - x)))
def test_random_ones_keep_their_value(expr):
    f = Expression.from_sympy(expr)
    np.testing.assert_allclose(
        f(**{name: POINTS[name] for name in f.variables}), number(expr), rtol=1e-9, atol=1e-12
    )
    g = expression(f.text).to_sympy()
    np.testing.assert_allclose(number(g), number(expr), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: expression("A @ b").to_sympy(), "matmul"),
        (lambda: expression("sum(x)").to_sympy(), "sum"),
        (lambda: expression("max(x)").to_sympy(), "max"),
        (lambda: expression("hardswish(x)").to_sympy(), "hardswish"),
        (lambda: expression("2 * (x > 1)").to_sympy(), "multiply"),
        (lambda: Expression.from_sympy(sympy.Function("mystery")(x)), "mystery"),
        (lambda: Expression.from_sympy(sympy.Integral(sympy.sin(x**x), x)), "Integral"),
        (lambda: Expression.from_sympy(sympy.Derivative(sympy.Function("g")(x), x)), "Derivative"),
        (lambda: Expression.from_sympy(sympy.LambertW(x)), "LambertW"),
        (lambda: Expression.from_sympy(sympy.Symbol("lambda")), "lambda"),
        (lambda: Expression.from_sympy(sympy.Symbol("x; y")), "x; y"),
        (lambda: Expression.from_sympy(sympy.Symbol("pi")), "pi"),
        (lambda: Expression.from_sympy("__import__('os')"), "text"),
    ],
)
def test_what_has_no_counterpart_is_named(call, word):
    with pytest.raises(UnsupportedError, match=word):
        call()


def test_without_sympy_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(UnsupportedError, match="pip install sympy"):
        expression("x").to_sympy()


# ---- every entry of the tables -------------------------------------------------------------------------

ARGUMENTS = {
    "arccosh": "1 + x", "clip": "x, y, 0.6", "iv": "1, x", "jv": "1, x", "kv": "1, x", "yv": "1, x",
    "logical_and": "x < y, y < 1", "logical_or": "x < y, y < 0", "logical_xor": "x < y, y < 0.5",
    "logical_not": "x < y", "max": "x, y", "min": "x, y", "polygamma": "1, x", "where": "x < y, x, y",
    "zeta": "2 + x",
}  # fmt: skip
"""Where two numbers between 0 and 1 are not what a function takes."""


@pytest.mark.parametrize("name", sorted({*_SAME, *_COMPOSED}))
def test_every_function_is_that_of_sympy(name):
    arguments = ARGUMENTS.get(name, ", ".join("xy"[: FUNCTIONS[name].least]))
    f = expression(f"{name}({arguments})")
    symbolic = f.to_sympy()
    back = Expression.from_sympy(symbolic)
    for point in ({"x": 0.7, "y": 0.4}, {"x": 0.4, "y": 0.7}):
        expected = f(**{variable: point[variable] for variable in f.variables})
        if name != "erfcinv":  # which SymPy does not evaluate
            value = symbolic.subs({sympy.Symbol(variable): sympy.Float(x) for variable, x in point.items()})
            value = bool(value) if value in (sympy.true, sympy.false) else complex(value)
            np.testing.assert_allclose(value, expected, rtol=1e-12)
        again = back(**{variable: point[variable] for variable in back.variables})
        np.testing.assert_allclose(again, expected, rtol=1e-12)


@pytest.mark.parametrize("name", sorted(_REWRITTEN))
def test_every_function_that_only_sympy_has_is_rewritten(name):
    symbolic = getattr(sympy, name)(x)
    f = Expression.from_sympy(symbolic)
    for point in (1.3, 2.7):
        np.testing.assert_allclose(f(point), complex(symbolic.subs(x, point)), rtol=1e-12)


@pytest.mark.parametrize(
    ("constant", "text", "value"),
    [
        (sympy.oo, "inf", np.inf),
        (-sympy.oo, "-inf", -np.inf),
        (sympy.nan, "nan", np.nan),
        (sympy.I, "1j", 1j),
        (sympy.true, "(1 > 0)", True),
        (sympy.false, "(1 < 0)", False),
        (sympy.pi, "pi", np.pi),
        (sympy.E, "e", np.e),
        (sympy.EulerGamma, "euler_gamma", np.euler_gamma),
    ],
)
def test_constants_have_their_names_and_values(constant, text, value):
    f = Expression.from_sympy(constant)
    assert f.text == text
    np.testing.assert_equal(f(), value)


@pytest.mark.parametrize("relation", [sympy.Eq, sympy.Ne, sympy.Lt, sympy.Le, sympy.Gt, sympy.Ge])
def test_every_relation(relation):
    f = Expression.from_sympy(sympy.Piecewise((1, relation(x, y)), (2, True)))
    for a, b in ((1.0, 1.0), (1.0, 2.0), (2.0, 1.0)):
        assert f(x=a, y=b) == (1 if relation(a, b) else 2)
