"""Hostile expressions: nothing reaches Python; a text computes, or is refused at a place in it."""

import ast
import builtins
import re
import sys
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tape
from tape.errors import ExpressionError
from tape.expressions import expression
from tape.expressions.functions import FUNCTIONS
from tape.expressions.parse import Step
from tape.testing import check_grads
from tests.tiers import rounds, takes_long

# ---- nothing but the table -----------------------------------------------------------------------

ESCAPES = [
    "__import__('os').system('true')",
    "__builtins__",
    "__builtins__['eval']('1')",
    "eval('1')",
    "exec('import os')",
    "compile('1', '', 'eval')",
    "open('/etc/passwd').read()",
    "getattr(x, 'real')",
    "globals()",
    "locals()",
    "vars()",
    "breakpoint()",
    "input()",
    "print(x)",
    "type(x)",
    "object()",
    "().__class__.__bases__[0].__subclasses__()",
    "x.__class__.__mro__[1].__subclasses__()",
    "x.__array_interface__",
    "x.tofile('/tmp/x')",
    "x.dump('/tmp/x')",
    "np.load('x')",
    "numpy.fromfile('x')",
    "sin.__globals__",
    "sin.op.forward",
    "f''.__class__",
    "f'{x.__class__}'",
    "'{0.__class__}'.format(x)",
    "[c for c in ().__class__.__base__.__subclasses__()]",
    "(lambda: 0)()",
    "(lambda f: f(f))(lambda f: f(f))",
    "(yield)",
    "await x",
    "(x := sin)",
    "x = sin",
    "sin = cos; sin(x)",
    "import os",
    "from os import system",
    "del x",
    "global x",
    "assert x",
    "raise x",
    "return x",
    "pass",
    "while 1: x",
    "for x in y: x",
    "def f(x): x",
    "class A: x",
    "with x: y",
    "try: x",
    "match x: y",
    "@x\ndef f(): pass",
    "x if (lambda: 1)() else y",
    "{**x}",
    "{x: y}",
    "{x}",
    "[*x]",
    "x[()]",
    "x[::]",
    "x[..., 0]",
    "...",
    "None",
    "b'x'",
    "r'x'",
    "'''x'''",
    "`x`",
    "$x",
    "apply(x, sin, cos)",
    "ufunc_at(x, 1, 2)",
    "set_at(x, 1, 2)",
    "getitem(x, 0)",
    "apply_along_axis(sin, 0, x)",
    "piecewise(x, x > 0, sin)",
    "frompyfunc(sin, 1, 1)",
    "sin(x, out=x)",
    "sum(x, axis=0)",
    "zeros(1e9)",
    "outer(outer(x, x), outer(x, x))",
    "tile(x, 1e9)",
    "sin(x)(x)",
    "(sin)(x)(x)",
    "(sin if x else cos)(x)",
    "(sin, cos)(x)",
    "\N{MATHEMATICAL BOLD SMALL E}xec(x)",
    "ｅｖａｌ(x)",
    "x.\uff3f\uff3fclass\uff3f\uff3f",
    "\\N{LATIN SMALL LETTER A}",
    "x\\\n.real",
    "x;import os",
    "x\x00; import os",
    "# coding: utf-7\n+AGEAYg-",
    "x #\u2028import os",
    "x\rimport os",
    "x) + (__import__('os')",
    "x\n) + (\nopen('x')",
]
ESCAPES_THAT_ARE_VARIABLES = {"x = sin"}  # a variable of this name, and no function


@pytest.mark.parametrize("text", ESCAPES, ids=range(len(ESCAPES)))
def test_escapes_are_refused_with_a_place(text):
    if text in ESCAPES_THAT_ARE_VARIABLES:
        assert expression(text).variables == ("sin",)
        return
    with pytest.raises(ExpressionError) as caught:
        expression(text)
    assert_place_is_inside(caught.value, text)


@pytest.mark.parametrize("name", [name for name in dir(builtins) if name not in FUNCTIONS])
def test_no_builtin_can_be_called(name):
    with pytest.raises(ExpressionError):
        expression(f"{name}(x)")


@pytest.mark.parametrize("node", [kind for kind in vars(ast).values() if isinstance(kind, type)])
def test_the_walk_knows_what_it_allows(node):
    """Python's grammar may grow: a kind of expression that is not on the list is refused, whatever it is."""
    from tape.expressions.parse import _Writer

    allowed = (ast.BinOp, ast.Call, ast.Name, ast.Constant, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp)
    if not issubclass(node, ast.expr) or issubclass(node, allowed) or node is ast.expr:
        return
    place = {"lineno": 1, "col_offset": 1, "end_lineno": 1, "end_col_offset": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nodes that are deprecated, or whose fields are missing
        tree = node(**place)
    with pytest.raises(ExpressionError, match="no place"):
        _Writer("x").value(tree)


HEARD: list[str] | None = None


def hear(event, arguments):
    if HEARD is not None:
        HEARD.append(event)


def test_python_runs_no_code_and_touches_nothing():
    """Python tells audit hooks whenever it compiles, runs code from text, imports, or opens anything."""
    global HEARD
    sys.addaudithook(hear)  # there is no way to remove one
    text = "y = sin(a) if a < 1 else b\nmax(y**2, 0) + gamma(2)"
    expression(text)(0.5, 2)  # what is imported and loaded once, is
    HEARD = []
    try:
        f = expression(text)
        parsed, HEARD = HEARD, []
        f(0.5, 2)
        ran = HEARD
    finally:
        HEARD = None
    assert set(parsed) <= {"compile", "object.__getattr__", "sys._getframe"}
    assert parsed.count("compile") == 2  # one for each line: Python's parser, which makes a tree of it
    assert set(ran) <= {"object.__getattr__", "sys._getframe"}


def assert_is_straight_line(f):
    """Steps are variables, plain numbers, or functions of the table, over earlier steps."""
    for slot, step in enumerate(f.steps):
        assert type(step) is Step
        assert all(type(k) is int and 0 <= k < slot for k in step.operands)
        if step.function is None:
            assert type(step.leaf) in (str, int, float, complex)
            assert step.operands == ()
        else:
            assert FUNCTIONS[step.function].least <= len(step.operands) <= FUNCTIONS[step.function].most


def assert_place_is_inside(error, text):
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert 1 <= error.line <= len(lines)
    assert 1 <= error.column <= max(1, len(lines[error.line - 1]))
    assert error.text == lines[error.line - 1]
    assert error.reason
    assert str(error)


# ---- random texts --------------------------------------------------------------------------------

TOKENS = [
    *"+-*/%@<>=~&|^!()[]{},;:.#\\'\"$?` \t\n\r\f\0_",
    *["**", "//", "==", "!=", "<=", ">=", ":=", "->", "+=", "**=", "...", "\r\n", "f'", "\\N{DIGIT ONE}"],
    *["a", "b", "a1", "x_y", "e", "pi", "inf", "nan", "__class__", "__import__", "_", "os", "np"],
    *["0", "1", "2.", ".5", "1e3", "1e400", "1_0", "1__0", "007", "0x1f", "1j", "9" * 5000, "9**9**9"],
    *["sin(", "max(", "where(", "clip(", "gamma(", "sum(", "transpose(", "round(", "polygamma(", "eval("],
    *[" and ", " or ", " not ", " if ", " else ", " is ", " in ", "lambda ", "for ", "import ", "None"],
    *["ſ", "ｘ", "а", "é", "\u200b", "\u2028", "\ud800", "𝐱", "·", "a = ", "y = "],
    *["(" * 60, "-" * 90, "not " * 90, "a**" * 90, "+a" * 600, "a if a else " * 90, ")" * 60],
]  # fmt: skip


def check(text):
    """It is refused at a place in it, or runs; whatever else happens is a failure."""
    try:
        f = expression(text)
    except ExpressionError as error:
        assert_place_is_inside(error, text)
        return
    assert_is_straight_line(f)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = f(*[0.5] * len(f.variables))
        except tape.errors.TapeError:
            return  # such as a matrix product of numbers
    assert isinstance(result, (bool, int, float, complex, np.generic, np.ndarray))


@settings(max_examples=rounds(1500, plain=300))
@given(st.lists(st.sampled_from(TOKENS), max_size=12).map("".join))
@example("1if a else 2")
@example("a\n\n  b")
@example("1 if a else(2)")
@example("a;;b")
@example("y = ;a")
@example("(\n\n")
@example("1 .real")
@example("a = \n b")
def test_random_tokens(text):
    check(text)


VALID = """y = sin(a)**2 - 0.5*b @ b
z = (y if a < b <= 1 and not (a > 0) | (b != a) else max(a, -b, 2))
z / (y + 1e-3)"""


@settings(max_examples=rounds(600, plain=150))
@given(st.integers(0, len(VALID)), st.integers(0, 8), st.sampled_from(["", *TOKENS]))
def test_random_changes_of_a_valid_text(position, removed, token):
    check(VALID[:position] + token + VALID[position + removed :])


@settings(max_examples=rounds(300, plain=80))
@given(st.text(max_size=30))
def test_random_characters(text):
    check(text)


NUMBERS = [
    "0",
    "1",
    "-2.5",
    "1e300",
    "-1e-300",
    "inf",
    "nan",
    "1j",
    "(0.5 - 2j)",
    "(1 < 2)",
    "99",
    "101",
    "9" * 99,
    "x",
]


@settings(max_examples=rounds(800, plain=200))
@given(st.sampled_from(sorted(FUNCTIONS)), st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=4))
def test_any_function_of_any_numbers(name, numbers):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns of orders that are no whole numbers
        check(f"{name}({', '.join(numbers[: FUNCTIONS[name].most])})")


@takes_long
@settings(max_examples=rounds(150, plain=40))
@given(st.sampled_from(TOKENS), st.sampled_from(TOKENS), st.integers(0, 20_000))
@example("(", ")", 50_000)
@example("-", "a", 99_000)
@example("a+", "a", 49_000)
@example("sin(", "a", 20_000)
@example("a;", "a", 20_000)
@example("\n", "a", 99_000)
@example("a**-", "a", 20_000)
@example("not -", "a", 15_000)
@example("a<", "a", 40_000)
@example("a if a else ", "a", 8_000)
@example("max(a,", "a)", 8_000)
def test_long_repetitions(token, other, count):
    check(token * count + other)


def test_near_the_recursion_limit_it_is_refused():
    """Python's parser gives up where little of its stack is left: that is an error with a place too."""
    text = "(" * 99 + "x" + ")" * 99

    def outcome(levels):
        if levels:
            return outcome(levels - 1)
        try:
            return expression(text).text
        except (ExpressionError, RecursionError) as error:
            return type(error)

    outcomes = [outcome(levels) for levels in range(0, sys.getrecursionlimit() - 200, 20)]
    assert outcomes[0] == text
    assert set(outcomes) <= {text, ExpressionError, RecursionError}


# ---- random expressions agree with Python --------------------------------------------------------

NUMPY = {
    "sin": np.sin,
    "tanh": np.tanh,
    "exp": np.exp,
    "arctan2": np.arctan2,
    "maximum": np.maximum,
    "where": np.where,
}
NAMES = ["a", "b", "c"]


def joined(parts):
    operator = st.sampled_from(["+", "-", "*", "/"])
    pair = st.tuples(parts, operator, parts).map(lambda p: f"{p[0]} {p[1]} {p[2]}")
    comparison = st.tuples(parts, st.sampled_from(["<", ">", "<=", ">="]), parts).map(
        lambda p: f"({p[0]}) {p[1]} ({p[2]})"
    )
    return st.one_of(
        pair,
        pair.map(lambda text: f"({text})"),
        parts.map(lambda text: f"-({text})"),
        st.tuples(parts, st.sampled_from([2, 3])).map(lambda p: f"({p[0]})**{p[1]}"),
        st.tuples(st.sampled_from(["sin", "tanh"]), parts).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(st.sampled_from(["arctan2", "maximum"]), parts, parts).map(
            lambda p: f"{p[0]}({p[1]}, {p[2]})"
        ),
        st.tuples(comparison, parts, parts).map(lambda p: f"where({p[0]}, {p[1]}, {p[2]})"),
    )


TEXTS = st.recursive(st.sampled_from([*NAMES, "1", "2.5", "0.25"]), joined, max_leaves=12)
VALUES = {"a": 0.7, "b": np.array([1.3, -0.4]), "c": np.array([[0.9], [2.1], [-1.6]])}


@settings(max_examples=rounds(300, plain=80))
@given(TEXTS)
@example("-(arctan2(-(1 - 1), b))")
def test_values_agree_with_python(text):
    f = expression(text)
    assert_is_straight_line(f)
    arrays = {name: np.asarray(value) for name, value in VALUES.items()}
    with np.errstate(all="ignore"):
        floats = re.sub(r"(?<![\w.*])1(?![\w.])", "1.0", text)  # as in an expression: -(1 - 1) is -0.0
        expected = eval(floats, {"__builtins__": {}}, NUMPY | arrays)
        result = f(**{name: VALUES[name] for name in f.variables})
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-300)


@settings(max_examples=rounds(40))
@given(TEXTS)
def test_gradients_agree_with_differences(text):
    f = expression(f"tanh({text})")
    if not f.variables:
        return
    arguments = [VALUES[name] for name in f.variables]
    with np.errstate(all="ignore"):
        if not is_smooth(f, arguments):
            return
        check_grads(f, arguments, order=1, rtol=1e-4, atol=1e-4)


def is_smooth(f, arguments):
    """Whether second differences are small: differences tell nothing at a jump, or at a kink."""
    step = 1e-4
    values = [f(*[argument + shift for argument in arguments]) for shift in (-step, 0.0, step)]
    bend = np.abs(values[0] - 2 * values[1] + values[2]) / step**2
    return bool(np.all(np.isfinite(bend)) and np.max(bend) < 100)


@settings(max_examples=rounds(25, plain=10))
@given(TEXTS)
def test_compiled_it_agrees(text):
    f = expression(text)
    arguments = [VALUES[name] for name in f.variables]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(tape.compile(f)(*arguments), f(*arguments), rtol=1e-9)
