"""Functions of the user's in expressions: values, derivatives, programs, and what is refused."""

import builtins
import functools
import pickle

import numpy as np
import pytest

import tape
from tape import errors
from tape.expressions import Expression, expression
from tape.testing import check_grads

X = np.array([0.2, 0.7, 1.3])


def gauss(x, width=1.0):
    return np.exp(-((x / width) ** 2))


def blend(x, y, /, *more):
    return x * np.tanh(y) + sum(np.sin(other) for other in more)


@tape.custom_vjp
def norm_of(x):
    return np.linalg.norm(x)


@norm_of.defvjp
def _(g, out, x):
    return g * x / out


# A text, its functions, and the same function in NumPy.
VALUES = {
    "gauss(x)": ({"gauss": gauss}, lambda x: gauss(x)),
    "a = gauss(x, 2); a * x + gauss(a)": (
        {"gauss": gauss},
        lambda x: gauss(x, 2) * x + gauss(gauss(x, 2)),
    ),
    "blend(x, sin(x), x**2) / (1 + f(x))": (
        {"blend": blend, "f": lambda x: x**2},
        lambda x: blend(x, np.sin(x), x**2) / (1 + x**2),
    ),
    "h(x) if x < 1 else g(x)": (
        {"h": tape.ops.tanh, "g": np.cosh},
        lambda x: np.where(x < 1, np.tanh(x), np.cosh(x)),
    ),
    "d(x) + size(x) * x": (
        {"d": tape.elementwise_grad(np.sin), "size": norm_of},
        lambda x: np.cos(x) + np.linalg.norm(x) * x,
    ),
    "half(x) + inner(3)": (
        {"half": functools.partial(np.multiply, 0.5), "inner": expression("2*z")},
        lambda x: 0.5 * x + 6,
    ),
}
every_value = pytest.mark.parametrize("text", VALUES)


@every_value
def test_values_and_derivatives_are_those_of_the_functions(text):
    functions, reference = VALUES[text]
    f = expression(text, functions=functions)
    np.testing.assert_allclose(f(X), reference(X), rtol=1e-14)
    check_grads(f, [X], order=2)


@every_value
def test_compiled_it_is_the_same(text):
    functions, reference = VALUES[text]
    f = tape.compile(expression(text, functions))
    derivative = tape.compile(tape.grad(lambda x: np.sum(f(x))))
    expected = tape.grad(lambda x: np.sum(reference(x)))
    for x in (X, 2 * X):
        np.testing.assert_allclose(f(x), reference(x), rtol=1e-13)
        np.testing.assert_allclose(derivative(x), expected(x), rtol=1e-12)


def test_numbers_in_are_numbers_out_and_float32_stays_float32():
    f = expression("2*gauss(x) + gauss(1)", {"gauss": gauss})
    assert type(f(0.5)) is float
    assert type(f(1)) is float
    assert f(np.float32(0.5)).dtype == np.float32
    assert tape.grad(f)(np.float32(0.5)).dtype == np.float32
    assert expression("g(2)", {"g": lambda x: 3})() == 3.0
    assert expression("1 if g(x) else 2", {"g": lambda x: x > 1})(3.0) == 1.0


def test_arguments_are_floats_arrays_and_vars():
    seen = []
    f = expression("f(x) + f(2) + f(y)", {"f": lambda x: seen.append(x) or x})
    trace = tape.Trace()
    x = trace.param(X)
    f(x, 3)
    assert seen[0] is x
    assert seen[1:] == [2.0, 3.0]
    assert [type(value) for value in seen[1:]] == [float, float]


def test_functions_are_called_each_time_and_may_close_over_vars():
    counter = iter(range(10))
    f = expression("f(0)", {"f": lambda x: x + next(counter)})
    assert [f(), f(), f()] == [0.0, 1.0, 2.0]
    gradient = tape.grad(lambda w: expression("x*f(2)", {"f": lambda x: w * x})(3.0))
    assert gradient(5.0) == 6.0
    assert tape.grad(tape.grad(lambda w: expression("f(1)**2", {"f": lambda x: w * x})()))(5.0) == 2.0


SCALE = 2.0


def test_a_program_notices_what_functions_read(monkeypatch):
    scale = [10.0]
    f = expression("g(x) + h(x)", {"g": lambda x: SCALE * x, "h": lambda x: scale[0] * x})
    direct, closed_over = tape.compile(f), tape.compile(lambda x: f(x))
    assert direct(1.0) == closed_over(1.0) == 12.0
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert direct(1.0) == closed_over(1.0) == 13.0
    scale[0] = 20.0
    assert direct(1.0) == closed_over(1.0) == 23.0


def test_functions_are_part_of_what_an_expression_is():
    f = expression("gauss(x)", {"gauss": gauss})
    assert f == expression("gauss(x)", {"gauss": gauss})
    assert hash(f) == hash(expression("gauss(x)", {"gauss": gauss}))
    assert f != expression("gauss(x)", {"gauss": np.square})
    assert repr(f) == "expression('gauss(x)', functions={'gauss'})"
    copied = pickle.loads(pickle.dumps(f))
    assert (copied, copied(0.5)) == (f, f(0.5))
    assert f.functions == {"gauss": gauss}
    assert f.variables == ("x",)


def test_a_dict_that_changes_later_changes_nothing():
    functions = {"f": np.square}
    f = expression("f(x)", functions)
    functions["f"] = np.sqrt
    assert f(3.0) == 9.0


def test_assigned_names_tell_their_steps():
    f = expression("r = x**2\ny = f(r); y + r", {"f": np.sqrt})
    assert {name: f.steps[slot].function for name, slot in f.assigned.items()} == {"r": "power", "y": "f"}


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        ({"sin": np.cos}, "sin is already a function of every expression. Choose another name"),
        ({"pi": np.cos}, "pi is already a constant"),
        ({"f g": np.cos}, "'f g' cannot be written"),
        ({"_f": np.cos}, "'_f' cannot be written"),
        ({"caf\u00e9": np.cos}, "cannot be written"),
        ({"lambda": np.cos}, "'lambda' cannot be written"),
        ({3: np.cos}, "3 cannot be written"),
        ({"f": 3.0}, r"f is 3\.0\. It must be callable"),
        ({"f": None}, r"f is None\. It must be callable"),
        ({"f": lambda: 1.0}, "f takes no argument"),
        ({"f": lambda x, *, k: x}, r"f needs the keyword argument k.*functools\.partial\(f, k=\.\.\.\)"),
        ([("f", np.cos)], "functions maps names to functions"),
        (np.cos, "functions maps names to functions"),
    ],
)
def test_functions_that_cannot_be(functions, words):
    with pytest.raises(errors.OptionError, match=words):
        expression("x + 1", functions)


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("gauss(x, 1, 2)", 1, "gauss takes 1 to 2 arguments, not 3"),
        ("x + gauss()", 5, "gauss takes 1 to 2 arguments, not 0"),
        ("x + gaus(x)", 5, "no function gaus. Did you mean gauss"),
        ("x * gauss", 5, "gauss is a function here, and cannot be a variable"),
        ("gauss = 2; gauss*x", 1, "gauss is a function here: choose another name"),
        ("gauss(x) & gauss(x)", 1, "write and"),
        ("gauss.real", 6, "attributes"),
        ("gauss(x, width=2)", 15, "arguments have no names"),
    ],
)
def test_misuse_of_functions_is_refused_with_a_place(text, column, words):
    with pytest.raises(errors.ExpressionError) as caught:
        expression(text, {"gauss": gauss})
    assert words in str(caught.value)
    assert caught.value.column == column


@pytest.mark.parametrize("result", [None, "1", {"a": 1}, [1, [2, 3]], object()])
def test_results_that_are_no_numbers_are_refused(result):
    with pytest.raises(errors.DTypeError, match=r"f returned .* returns a number or an array") as caught:
        expression("1 + f(x)", {"f": lambda x: result})(1.0)
    assert caught.value.__notes__ == ["in the expression, line 1, column 5: f(x)"]


def test_errors_of_functions_stay_what_they_are_and_tell_the_place():
    def fails(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught:
        expression("y = x\n2*f(y)", {"f": fails})(1.0)
    assert caught.value.__notes__ == ["in the expression, line 2, column 3: f(y)"]


def test_functions_without_a_signature_take_any_number_of_arguments_but_none():
    f = expression("most(x, 2, 3*x)", {"most": builtins.max})
    assert f(5.0) == 15.0
    assert f(-5.0) == 2.0
    with pytest.raises(errors.ExpressionError, match="most takes 1 to 255 arguments, not 0"):
        expression("x + most()", {"most": builtins.max})


def test_sympy_gets_undefined_functions():
    sympy = pytest.importorskip("sympy")
    f = expression("2*f(x, y) + sin(x)", {"f": lambda x, y: x})
    x, y = sympy.symbols("x y")
    assert f.to_sympy() == 2 * sympy.Function("f")(x, y) + sympy.sin(x)
    assert isinstance(Expression.from_sympy(sympy.sin(x)), Expression)
