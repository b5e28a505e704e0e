"""Expressions: what a text computes, its derivatives and dtypes, how it is called, what errors say."""

import copy
import gc
import inspect
import keyword
import linecache
import pickle
import re
import traceback

import numpy as np
import pytest

import tape
from tape import errors, ops
from tape.core import batch_rules
from tape.expressions import Expression, expression
from tape.expressions.functions import CONSTANTS, FUNCTIONS
from tape.testing import check_grads
from tests.tiers import takes_long

X = np.array([0.2, 0.7, 1.3])
Y = np.array([[0.5], [1.1]])

# What a text computes, and the same function in NumPy.
VALUES = {
    "x": lambda x: x,
    "-x + +y*2": lambda x, y: -x + y * 2,
    "x - y - 1": lambda x, y: x - y - 1,
    "x / y / 2": lambda x, y: x / y / 2,
    "2**x**y": lambda x, y: 2 ** (x**y),
    "-x**2": lambda x: -(x**2),
    "x**-2": lambda x: x**-2.0,
    "5*x // y": lambda x, y: 5 * x // y,
    "5*x % y": lambda x, y: 5 * x % y,
    "sin(x) + 0.2*sin(5*x)": lambda x: np.sin(x) + 0.2 * np.sin(5 * x),
    "exp(-(x**2 + y**2)/2) / (2*pi)": lambda x, y: np.exp(-(x**2 + y**2) / 2) / (2 * np.pi),
    "arctan2(y, x) + hypot(x, y)": lambda y, x: np.arctan2(y, x) + np.hypot(x, y),
    "ln(x) + asin(x/2) + atan2(x, y)": lambda x, y: np.log(x) + np.arcsin(x / 2) + np.arctan2(x, y),
    "max(x, y, 1) - min(x, y)": lambda x, y: np.maximum(np.maximum(x, y), 1) - np.minimum(x, y),
    "max(x) + min(y)": lambda x, y: np.max(x) + np.min(y),
    "x if x < y else -x": lambda x, y: np.where(x < y, x, -x),
    "1 if x < 0.5 else 2 if x < 1 else x": lambda x: np.where(x < 0.5, 1, np.where(x < 1, 2, x)),
    "where(0.5 < x < 1 and y > 1, x, y)": lambda x, y: np.where((x > 0.5) & (x < 1) & (y > 1), x, y),
    "x if (x > y) | ~(y > 1) else 0*x": lambda x, y: np.where((x > y) | ~(y > 1), x, 0 * x),
    "x if not x == 0.7 or y != 0.5 else y": lambda x, y: np.where(~(x == 0.7) | (y != 0.5), x, y),
    "r2 = x**2 + y**2\nr = sqrt(r2)\nr2 * exp(-r)": lambda x, y: (x**2 + y**2) * np.exp(-np.hypot(x, y)),
    "x = 2; x*y": lambda y: 2 * y,
    "s = x; s = s*s; s = s*s": lambda x: x**4,
    "(x\n  + # a comment\n y)": lambda x, y: x + y,
    "    a = 2*x  \r\n\r\n    a + 1  # one more\r\n": lambda x: 2 * x + 1,
    "clip(x, 0.5, 1) + relu(x - 1) + sigmoid(x)": lambda x: (
        np.clip(x, 0.5, 1) + np.maximum(x - 1, 0) + 1 / (1 + np.exp(-x))
    ),
    "gamma*x + gamma": lambda gamma, x: gamma * x + gamma,
    "sum(x**2) + mean(y) + prod(x) + norm(x)": lambda x, y: (
        np.sum(x**2) + np.mean(y) + np.prod(x) + np.linalg.norm(x)
    ),
    "dot(x, x) + trace(transpose(x*y) @ (x*y))": lambda x, y: x @ x + np.trace((x * y).T @ (x * y)),
    ".5*x + 1e-3 + 1_000 + 2.": lambda x: 0.5 * x + 1e-3 + 1000 + 2.0,
    "abs(x - 1) ** 3": lambda x: np.abs(x - 1) ** 3,
}
SMOOTH = [text for text in VALUES if not any(jump in text for jump in ("//", "%", "=="))]


@pytest.mark.parametrize("text", VALUES)
def test_values_are_those_of_numpy(text):
    f, reference = expression(text), VALUES[text]
    arguments = {"x": X, "y": Y, "gamma": Y}
    expected = reference(**{name: arguments[name] for name in f.variables})
    np.testing.assert_allclose(f(**{name: arguments[name] for name in f.variables}), expected, rtol=1e-14)


@pytest.mark.parametrize("text", SMOOTH)
def test_derivatives_agree_with_differences(text):
    f = expression(text)
    arguments = {"x": X, "y": Y, "gamma": Y}
    check_grads(f, [arguments[name] for name in f.variables], order=2)


@pytest.mark.parametrize("text", VALUES)
def test_compiled_it_is_the_same(text):
    f = expression(text)
    arguments = [{"x": X, "y": Y, "gamma": Y}[name] for name in f.variables]
    np.testing.assert_allclose(tape.compile(f)(*arguments), f(*arguments), rtol=1e-13)


@pytest.mark.parametrize("text", VALUES)
def test_float32_stays_float32(text):
    f = expression(text)
    arguments = [{"x": X, "y": Y, "gamma": Y}[name].astype(np.float32) for name in f.variables]
    assert f(*arguments).dtype == np.float32
    if "//" not in text:
        assert tape.grad(lambda *a: np.sum(f(*a)))(*arguments).dtype == np.float32


def test_constants_do_not_widen():
    f = expression("sqrt(2)*pi/3*x + exp(1)")
    assert f(np.float32(1)).dtype == np.float32
    assert expression("a*2*x")(0.5, X.astype(np.float32)).dtype == np.float32


def test_batches():
    f = expression("tanh(x) + x*y")
    x = np.array([[0.1, 0.5], [1.0, -2.0]])
    np.testing.assert_allclose(tape.vmap(f)(x, x), f(x, x))
    np.testing.assert_allclose(tape.compile(tape.vmap(f, in_axes=(0, None)))(x, x[0]), f(x, x[0]))


def test_any_order():
    f = expression("sin(a) + 0.2*sin(5*a)")
    derivative = f
    for _ in range(3):
        derivative = tape.grad(derivative)
    np.testing.assert_allclose(derivative(0.3), -np.cos(0.3) - 25 * np.cos(1.5), rtol=1e-12)
    np.testing.assert_allclose(tape.taylor(f, 0.3, 1.0, order=3)[-1], derivative(0.3), rtol=1e-12)
    _, moved = tape.jvp(f, (0.3,), (1.0,))
    np.testing.assert_allclose(moved, tape.grad(f)(0.3))


def test_what_is_recorded_is_what_is_written():
    tr = tape.Trace()
    a = tr.param(0.3, name="a")
    expression("sin(a) + sqrt(4)*sin(5*a)")(a)
    assert [node.op.name for node in tr.nodes if node.op] == ["sin", "multiply", "sin", "multiply", "add"]


# ---- the table -----------------------------------------------------------------------------------


def test_every_elementwise_operation_can_be_called():
    integers_only = {"gcd", "lcm", "ldexp", "invert", "left_shift", "right_shift"}
    for module in (ops, ops.special, ops.nn):
        for name, function in vars(module).items():
            op = getattr(function, "op", None)
            if name.startswith(("_", "bitwise")) or op is None or op.batch is not batch_rules.elementwise:
                continue
            assert (name in FUNCTIONS) != (name in integers_only), name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_runs_with_the_arguments_it_says(name):
    function = FUNCTIONS[name]
    needs_matrix = name in ("det", "inv", "trace", "solve", "matmul", "dot")
    value = np.array([[0.5, 0.25], [0.1, 0.75]]) if needs_matrix else 0.5
    names = [f"v{k}" for k in range(function.least)]
    written = ["1" if k in function.integers else name for k, name in enumerate(names)]
    f = expression(f"{name}({', '.join(written)})")
    with np.errstate(all="ignore"):
        result = f(*[value] * len(f.variables))
    assert np.asarray(result).dtype.kind in "fcb"
    if function.is_boolean:
        assert np.asarray(result).dtype == bool


@pytest.mark.parametrize("axes", [(3, 1), (1, 3), (4, 2), (2, 5)])
def test_products_of_stacks_are_written_as_such(axes):
    """Where np.dot would make more axes with each product; up to two it is np.dot."""
    a, b = (np.ones((2,) * ndim) for ndim in axes)
    message = f"dot: an operand has {max(axes)} axes. It takes 2; write a @ b for stacks"
    with pytest.raises(errors.ShapeError, match=re.escape(message)):
        expression("dot(a, b)")(a, b)
    for one in (1.5, X, np.outer(X, X)):
        np.testing.assert_array_equal(expression("dot(a, b)")(one, X), np.dot(one, X))


def test_constants():
    for name, number in CONSTANTS.items():
        np.testing.assert_equal(expression(name)(), number)


def test_numbers_are_floats_of_ieee_arithmetic():
    assert expression("7//2")() == 3.0
    assert expression("9**9**9**9")() == np.inf
    assert expression("1/0")() == np.inf
    assert np.isnan(expression("(-8)**(1/3)")())
    assert expression("(1 + 2j)*1j")() == -2 + 1j
    for text in ("2", "10**400", "1 < 2", "7 // 2", "1j**2", "sqrt(4)", "x*2", "sin(x)", "x"):
        f = expression(text)
        assert type(f(*[3] * len(f.variables))) in (float, complex, bool)


# ---- how it is called ----------------------------------------------------------------------------


def test_variables_are_in_order_of_first_appearance():
    assert expression("b*a if c else a*d").variables == ("b", "a", "c", "d")
    assert expression("y = z*a; x + y + z").variables == ("z", "a", "x")
    assert expression("pi*e").variables == ()


def test_positions_and_names():
    f = expression("a - 2*b")
    assert f(5, 1) == f(5, b=1) == f(b=1, a=5) == f(*[5, 1]) == 3
    assert list(inspect.signature(f).parameters) == ["a", "b"]
    assert tape.grad(f, argnums=1)(5.0, 1.0) == -2
    assert expression("self + positions*values")(self=1, positions=2, values=3) == 7


@pytest.mark.parametrize(
    ("positions", "values", "words"),
    [
        ((1,), {}, ["value for scale", "offset, scale"]),
        ((), {}, ["value for offset, scale"]),
        ((1, 2, 3), {}, ["takes 2 values, not 3"]),
        ((1,), {"offset": 2}, ["offset twice"]),
        ((1,), {"scal": 2}, ["no variable scal", "Did you mean scale?"]),
        ((1, 2), {"q": 2}, ["no variable q", "offset, scale"]),
    ],
)
def test_bad_calls(positions, values, words):
    with pytest.raises(errors.OptionError) as caught:
        expression("offset + scale")(*positions, **values)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("value", ["1", None, object(), [1, [2, 3]], 10**400])
def test_arguments_are_numbers(value):
    with pytest.raises((errors.DTypeError, errors.ShapeError)):
        expression("a + 1")(value)


def test_lists_are_arrays():
    np.testing.assert_array_equal(expression("2*a")([1.0, 2.0]), [2, 4])
    np.testing.assert_array_equal(expression("a")([1.0, 2.0]), [1, 2])


def test_no_text_is_refused():
    for value in (None, b"x", 3, ["x"]):
        with pytest.raises(errors.DTypeError, match="takes text"):
            expression(value)


def test_it_is_its_text():
    f, same, other = expression("x + 1"), expression("x + 1"), expression("x+1")
    assert f == same
    assert hash(f) == hash(same)
    assert f != other
    assert f != "x + 1"
    assert repr(f) == "expression('x + 1')"
    assert eval(repr(f)) == f
    assert len(repr(expression("+".join(["x"] * 900)))) < 80
    for copied in (copy.copy(f), copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        assert copied == f
        assert copied(1) == 2
    assert f.__name__ == "expression"
    assert isinstance(f, Expression)


def test_errors_of_operations_tell_the_place_in_the_text():
    with pytest.raises(errors.ShapeError) as caught:
        expression("y = 2*x\n1 + A @ y")(np.ones(2), np.ones((3, 3)))
    assert caught.value.__notes__ == ["in the expression, line 2, column 5: A @ y"]


# ---- what is refused, where, and what is said ----------------------------------------------------

REFUSED = [
    ("sni(a)", 1, 1, "no function sni. Did you mean sin"),
    ("1 + ArcTan(a)", 1, 5, "Did you mean arctan"),
    ("foo_bar_baz(a)", 1, 1, "no function foo_bar_baz"),
    ("a^2", 1, 2, "write ** for powers"),
    ("np.sin(x)", 1, 3, "attributes"),
    ("A.T", 1, 2, "transpose(a)"),
    ("2x", 1, 2, "write 2*x"),
    ("a b", 1, 3, "write a*b"),
    ("2(x)", 1, 2, "a number is not a function: write 2*(...)"),
    ("(a)(b)", 1, 4, "only names can be called"),
    ("sin(x)(y)", 1, 7, "only names can be called"),
    ("x[0]", 1, 2, "subscripts"),
    ("[1, 2]", 1, 1, "lists"),
    ("lambda x: x", 1, 1, "lambda"),
    ("sum(x for x in y)", 1, 7, "comprehensions"),
    ("f'{a}'", 1, 2, "strings"),
    ("'a'", 1, 1, "strings"),
    ("(a := 1)", 1, 4, "line of its own"),
    ("sin(*a)", 1, 5, "starred"),
    ("sin(**a)", 1, 5, "starred"),
    ("clip(x, a_min=1)", 1, 14, "arguments have no names"),
    ("import os", 1, 1, "imports"),
    ("__import__('os')", 1, 1, "begin with a letter"),
    ("_x", 1, 1, "begin with a letter"),
    ("a + 1e400", 1, 5, "too large"),
    ("a if b", 1, 1, "else"),
    ("a, b", 1, 2, "comma"),
    ("(a,)", 1, 3, "comma"),
    ("sin(a,)", 1, 7, "something is missing before )"),
    ("()", 1, 2, "something is missing before )"),
    ("sin()", 1, 1, "sin takes 1 argument, not 0"),
    ("1 + clip(x, 1, 2, 3)", 1, 5, "clip takes 1 to 3 arguments, not 4"),
    ("round(x, 1.5)", 1, 10, "literal integer"),
    ("", 1, 1, "nothing to compute"),
    ("\n  # only this\n", 1, 1, "nothing to compute"),
    ("a =", 1, 3, "something is missing after ="),
    ("a +", 1, 3, "something is missing after +"),
    ("* a", 1, 1, "something is missing before *"),
    ("(a + b", 1, 1, "never closed"),
    ("a)", 1, 2, "no parenthesis to close"),
    ("a; b", 1, 1, "nothing uses this value"),
    ("y = x\nz = y + x1 x2", 2, 12, "an operator is missing"),
    ("y = x\n  w = sni(x)\nw", 2, 7, "no function sni"),
    ("y = (x +\n  sni(x))", 2, 3, "no function sni"),
    ("b = a; a = 2; b", 1, 8, "a is used in line 1 before"),
    ("pi = 3", 1, 1, "pi is a constant"),
    ("y = sin(x); sin = 2", 1, 13, "sin is a function here"),
    ("gamma * gamma(x)", 1, 9, "gamma is a variable here"),
    ("gamma(x) * gamma", 1, 12, "gamma is a function here"),
    ("pi(x)", 1, 1, "write pi*(...)"),
    ("x*x(2)", 1, 3, "write x*(...)"),
    ("a = b = 1", 1, 7, "one name, once"),
    ("a + b = 1", 1, 7, "one name, once"),
    ("a += 1", 1, 3, "write y = y + ..."),
    ("a > 0 & b > 0", 1, 5, "write and"),
    ("~a", 1, 1, "~ is for comparisons in parentheses, ~(a > 0): write not"),
    ("a & b", 1, 1, "& is for comparisons in parentheses, (a > 0) & (b > 0): write and"),
    ("y = x\n1 + (x |\n  y)", 2, 6, "| is for comparisons"),
    ("1 + [x,\n y]", 1, 5, "lists are not supported"),
    ("a | b", 1, 1, "| is for comparisons in parentheses, (a > 0) | (b > 0): write or"),
    ("a is b", 1, 3, "write == for numbers"),
    ("a > 0 ? a : b", 1, 7, "? is not supported: write x if c else y"),
    ("$a$", 1, 1, "plain text, not LaTeX"),
    ("a -> b", 1, 3, "no annotations"),
    ("a in b", 1, 3, "compare with each value"),
    ("True", 1, 1, "True is not a number"),
    ("1if a else 2", 1, 2, "a blank is missing"),
    ("0x1F", 1, 2, "decimals"),
    ("007", 1, 1, "leading zeros"),
    ("1__0", 1, 2, "decimal"),
    ("n!", 1, 2, "gamma(n + 1)"),
    ("a << 2", 1, 3, "shifts"),
    ("a\\\n+ b", 1, 2, "backslash"),
    ("a\0", 1, 2, "U+0000"),
    ("a\fb", 1, 2, "U+000C"),
    ("\ufb01(x)", 1, 1, "LATIN SMALL LIGATURE FI"),
    ("1 + \u017fin(x)", 1, 5, "LATIN SMALL LETTER LONG S, is not supported: only ASCII is read: write s"),
    ("x + \u0430", 1, 5, "CYRILLIC SMALL LETTER A"),
    ("x # caf\u00e9", 1, 8, "only ASCII"),
    ("x\u200b", 1, 2, "ZERO WIDTH SPACE"),
    ("\ud800", 1, 1, "U+D800"),
    ("(" * 10**6 + "x" + ")" * 10**6, 1, 100_001, "the limit is 100000"),
    ("(" * 50_000 + "x" + ")" * 49_999, 1, 101, "nested more than 100 deep"),
    ("-" * 99_999 + "x", 1, 101, "nested more than 100 deep"),
    ("not " * 20_000 + "x", 1, 401, "nested more than 100 deep"),
    ("**".join(["x"] * 30_000), 1, 302, "nested more than 100 deep"),
    (" if 1 else ".join(["x"] * 8_000), 1, 1208, "nested more than 100 deep"),
    ("sin(" * 20_000 + "x", 1, 404, "nested more than 100 deep"),
    ("+".join(["x"] * 50_000), 1, 2002, "more than 1000 operators"),
    ("<".join(["x"] * 50_000), 1, 2002, "more than 1000 operators"),
    (" and ".join(["x"] * 15_000), 1, 6003, "more than 1000 operators"),
    ("9" * 5000, 1, 1, "5000 characters"),
    ("x + 1 @ 2", 1, 5, "cannot be computed: matmul"),
    ("yn(10*10, x)", 1, 4, "literal integer, up to 100"),
    ("round(x, 1000)", 1, 10, "literal integer, up to 100"),
]


def test_only_numbers_have_a_limited_length():
    name = "a" * 400
    np.testing.assert_array_equal(expression(f"{name} + 1")(X), X + 1)
    number = "1." + "0" * 298
    assert expression(number)() == 1.0
    with pytest.raises(errors.ExpressionError, match="301 characters"):
        expression(number + "0")


KEYWORDS = set(keyword.kwlist) - {"and", "else", "if", "not", "or"}


@pytest.mark.parametrize("word", sorted(KEYWORDS))
@pytest.mark.parametrize("text", ["{}", "x + {} y", "x {} y"])
def test_words_of_python_have_no_place(text, word):
    with pytest.raises(errors.ExpressionError) as caught:
        expression(text.format(word))
    told = str(caught.value)
    assert word in told
    assert "write y = y" not in told
    assert "Did you mean" not in told


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "//", "**", "%", "@", "&", "|", "^", "<<", ">>"])
def test_assignments_with_an_operator_are_told_how_to_write_them(operator):
    told = re.escape(f"{operator}= is not supported: write y = y {operator} ...")
    with pytest.raises(errors.ExpressionError, match=told):
        expression(f"x {operator}= 2")


BOOLEAN = [
    "all", "any", "equal", "greater", "greater_equal", "isclose", "iscomplex", "isfinite", "isinf", "isnan",
    "isneginf", "isposinf", "isreal", "less", "less_equal", "logical_and", "logical_not", "logical_or",
    "logical_xor", "not_equal", "signbit",
]  # fmt: skip


@pytest.mark.parametrize("name", BOOLEAN)
def test_what_is_true_or_false_can_be_negated(name):
    values = [np.array([0.3, 0.7])] * FUNCTIONS[name].least
    arguments = ", ".join("xy"[: len(values)])
    expected = np.where(FUNCTIONS[name].call(*values), 2, 1)
    np.testing.assert_array_equal(expression(f"where(~{name}({arguments}), 1, 2)")(*values), expected)


@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {*BOOLEAN}))
def test_what_is_a_number_cannot(name):
    function = FUNCTIONS[name]
    arguments = ["1" if k in function.integers else "xyzuvw"[k] for k in range(function.least)]
    with pytest.raises(errors.ExpressionError, match="~ is for comparisons"):
        expression(f"~{name}({', '.join(arguments)})")


@pytest.mark.parametrize(
    ("text", "line", "column", "words"), REFUSED, ids=[repr(row[0])[1:25] for row in REFUSED]
)
def test_refused_with_a_place(text, line, column, words):
    with pytest.raises(errors.ExpressionError) as caught:
        expression(text)
    error = caught.value
    assert words in str(error)
    assert (error.line, error.column) == (line, column) == (error.lineno, error.offset)
    assert len(str(error)) < 700


def test_the_message_shows_the_place():
    text = "y = 2*x\n1 + sni(y)"
    with pytest.raises(errors.ExpressionError) as caught:
        expression(text)
    *_, shown, carets = str(caught.value).split("\n")
    assert shown == "    1 + sni(y)"
    assert carets == "        ^^^"
    assert "test_expressions.py" in str(caught.value)
    report = "".join(traceback.format_exception(caught.value))
    assert 'File "<expression>", line 2' in report
    assert report.count("1 + sni(y)") == 1
    assert "^^^" in report


def test_the_message_shows_the_first_line_of_several():
    with pytest.raises(errors.ExpressionError) as caught:
        expression("y = 2*x\n1 + (x |\n  y)")
    *_, shown, carets = str(caught.value).split("\n")
    assert (shown, carets) == ("    1 + (x |", "         ^^^")


def test_the_message_of_a_long_line_is_short():
    with pytest.raises(errors.ExpressionError) as caught:
        expression("x + " * 500 + "sni(x)" + " + x" * 100)
    *_, shown, carets = str(caught.value).split("\n")
    assert shown[carets.index("^") :].startswith("sni(x)")
    assert len(shown) <= 104


def test_the_error_can_be_pickled():
    with pytest.raises(errors.ExpressionError) as caught:
        expression("a +\n")
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.reason == caught.value.reason
    assert (error.line, error.column, error.text) == (1, 3, "a +")


@takes_long
def test_what_is_within_the_limits_is_read():
    assert expression("(" * 100 + "x" + ")" * 100)(2) == 2
    assert expression("-" * 100 + "x")(2) == 2
    assert expression("+".join(["x"] * 1001))(1) == 1001
    assert expression("+".join(["(-x)**2"] * 300))(1) == 300
    assert expression("\n".join(["y = x", *["y = y + x**2"] * 6000, "y"]))(1) == 6001
    assert expression("\t x \t")(2) == 2
    assert expression("-(" * 50 + "x" + ")" * 50)(2) == 2


def test_nodes_know_the_part_of_the_text_that_they_come_from():
    f = expression("r = x**2 + y\n  sqrt(r) * 2 + sin(x)")
    trace = tape.Trace(sites=True)
    x, y = trace.param(1.0), trace.param(2.0)
    f(x, y)
    sites = [node.site for node in trace.nodes[2:]]
    parts = [site.text[slice(*(column - site.indent for column in site.columns))] for site in sites]
    assert parts == ["x**2", "x**2 + y", "sqrt(r)", "sqrt(r) * 2", "sin(x)", "sqrt(r) * 2 + sin(x)"]
    assert [site.line for site in sites] == [1, 1, 2, 2, 2, 2]
    assert x.node.site.filename == __file__
    assert np.sin(x).node.site.filename == __file__  # after the call, places are those of Python again


def test_a_failing_expression_leaves_places_alone_and_lines_are_freed_with_it():
    f = expression("x @ x")
    trace = tape.Trace(sites=True)
    x = trace.param(1.0)
    with pytest.raises(errors.TapeError):
        f(x)
    assert np.sin(x).node.site.filename == __file__
    filename = f._site.co_filename
    assert linecache.getline(filename, 1) == "x @ x"
    del f
    gc.collect()
    assert filename not in linecache.cache


def test_not_finite_is_underlined_in_the_text():
    found = tape.find_nonfinite(expression("1 + log(x)*2"), 0.0)
    assert found.origin.site.excerpt == ["1 + log(x)*2", "    ^^^^^^"]
