"""Bad input to derivatives: the class of the error, what its message names, and nothing left open."""

from collections import UserList
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import tape
from tape import errors
from tape.core import interpreter


@dataclass
class Layer:
    w: Any
    b: Any
    name: str = field(default="layer", metadata={"static": True})


def place_of(function):
    """``test_transforms_errors.py:line`` for a function written on one line."""
    return f"test_transforms_errors.py:{function.__code__.co_firstlineno}"


def named(x):
    return x * 2.0


def two(x):
    return x, x


def counts(x):
    return np.argmax(x)


def generate(x):
    yield x


def boxes(x):
    box = np.empty(1, object)
    box[0] = x
    return box


ONES, TREE = np.ones(3), {"w": [1.0, np.ones(2)]}

BAD_INPUT = [
    # no scalar
    (lambda: tape.grad(named)(ONES), errors.ShapeError, ["named", "float64[3]", "scalar", "jacobian"]),
    (lambda: tape.value_and_grad(named)(ONES), errors.ShapeError, ["named", "float64[3]", "Sum"]),
    (lambda: tape.grad(two)(1.0), errors.ShapeError, ["two", "one scalar", "has_aux"]),
    (lambda: tape.grad(lambda x: None)(1.0), errors.ShapeError, ["<lambda>", "None", "scalar"]),
    (lambda: tape.hessian(named)(ONES), errors.ShapeError, ["hessian", "named", "float64[3]", "scalar"]),
    (lambda: tape.laplacian(named)(ONES), errors.ShapeError, ["laplacian", "named", "float64[3]", "scalar"]),
    (lambda: tape.hvp(named)(ONES, ONES), errors.ShapeError, ["hvp", "named", "float64[3]", "scalar"]),
    (lambda: tape.gnvp(named, named)(ONES, ONES), errors.ShapeError, ["named", "float64[3]", "scalar"]),
    # results that are no floats
    (lambda: tape.grad(counts)(ONES), errors.DTypeError, ["counts", "int64[]", "has_aux"]),
    (lambda: tape.vjp(counts, ONES), errors.DTypeError, ["vjp", "counts", "int64[]"]),
    (lambda: tape.jvp(counts, (ONES,), (ONES,)), errors.DTypeError, ["jvp", "counts", "int64[]"]),
    (lambda: tape.jacobian(lambda x: x > 0)(ONES), errors.DTypeError, ["jacobian", "bool[3]"]),
    (lambda: tape.elementwise_grad(counts)(ONES), errors.DTypeError, ["elementwise", "counts"]),
    (lambda: tape.grad(generate)(1.0), errors.DTypeError, ["generate", "generator"]),
    (lambda: tape.jacobian(generate)(1.0), errors.DTypeError, ["generate", "generator"]),
    (lambda: tape.vjp(generate, 1.0), errors.DTypeError, ["generate", "generator"]),
    (lambda: tape.grad(lambda x: "abc")(1.0), errors.DTypeError, ["<lambda>", "'abc'"]),
    (lambda: tape.jacobian(boxes)(1.0), errors.DTypeError, ["boxes", "object[1]"]),
    # argnums
    (lambda: tape.grad(named, 1)(1.0), errors.OutOfBoundsError, ["argnums is 1", "named", "1 positional"]),
    (lambda: tape.grad(named, -2)(1.0), errors.OutOfBoundsError, ["argnums is -2", "named"]),
    (lambda: tape.hessian(named, (0, 3))(1.0), errors.OutOfBoundsError, ["argnums is 3", "1 positional"]),
    (lambda: tape.jacobian(named)(), errors.OutOfBoundsError, ["argnums is 0", "named", "0 positional"]),
    (lambda: tape.grad(named)(x=1.0), errors.OutOfBoundsError, ["argnums is 0", "keyword"]),
    (lambda: tape.grad(named, "x")(1.0), errors.OptionError, ["argnums", "'x'", "int"]),
    (lambda: tape.grad(named, True)(1.0), errors.OptionError, ["argnums", "True"]),
    (lambda: tape.grad(named, 0.0)(1.0), errors.OptionError, ["argnums", "0.0"]),
    (lambda: tape.grad(named, (0, 0))(1.0), errors.TapeError, ["argnums", "named", "twice"]),
    (lambda: tape.grad(named, (0, -1))(1.0), errors.TapeError, ["argnums", "named", "twice"]),
    # arguments that are no floats
    (lambda: tape.grad(named)(3), errors.DTypeError, ["argument 0 of named", "3", "float"]),
    (lambda: tape.grad(lambda x, n: x * n, 1)(1.0, 3), errors.DTypeError, ["argument 1", "3", "argnums"]),
    (lambda: tape.grad(named)(np.arange(3)), errors.DTypeError, ["argument 0 of named", "int64[3]"]),
    (lambda: tape.vjp(named, True), errors.DTypeError, ["argument 0 of named", "True"]),
    (lambda: tape.jvp(named, ("x",), (1.0,)), errors.DTypeError, ["argument 0 of named", "'x'"]),
    (lambda: tape.hessian(named)(3), errors.DTypeError, ["argument 0 of named", "3", "float"]),
    (lambda: tape.grad(named)({"w": [1.0, 2]}), errors.DTypeError, ["argument 0 of named['w'][1]", "2"]),
    (lambda: tape.grad(named)(Layer(1.0, "b")), errors.DTypeError, ["argument 0 of named.b", "'b'"]),
    (lambda: tape.grad(named)(np.ma.array([1.0])), errors.DTypeError, ["masked"]),
    (lambda: tape.grad(named)(UserList([[1.0, 2.0], [3.0]])), errors.ShapeError,
     ["argument 0 of named is not a regular array: setting an array element with a sequence"]),
    (lambda: tape.grad(lambda x, y: x, 1)(1.0, {"w": UserList([[1.0], []])}), errors.ShapeError,
     ["argument 1 of", "['w'] is not a regular array"]),
    (lambda: tape.grad(lambda y: tape.grad(named)(UserList([y, y])))(1.0), errors.ConversionError,
     ["about to become a plain array", "np.stack"]),
    # trees and shapes that do not fit
    (lambda: tape.vjp(named, ONES)[1](1.0), errors.SeedError, ["result of named", "[3]", "[]"]),
    (lambda: tape.vjp(two, ONES)[1](ONES), errors.ShapeError, ["cotangent", "two", "structure"]),
    (lambda: tape.vjp(two, ONES)[1]([ONES, ONES]), errors.ShapeError, ["cotangent", "two", "structure"]),
    (lambda: tape.vjp(two, 1.0)[1]((1.0, ONES)), errors.SeedError, ["the result of two[1]", "[3]"]),
    (lambda: tape.vjp(named, 1.0)[1](np.nan), errors.SeedError, ["cotangent", "named", "NaN"]),
    (lambda: tape.vjp(named, 1.0)[1]("a"), errors.SeedError, ["cotangent", "named"]),
    (lambda: tape.jvp(named, (ONES,), (1.0,)), errors.SeedError, ["tangent", "argument 0 of named", "[3]"]),
    (lambda: tape.jvp(named, (ONES,), (ONES, ONES)), errors.ShapeError, ["named", "1 argument", "tangents"]),
    (lambda: tape.jvp(named, (ONES,), ONES), errors.ShapeError, ["named", "tuple"]),
    (lambda: tape.jvp(named, ONES, ONES), errors.ShapeError, ["primals", "tuple"]),
    (lambda: tape.jvp(named, 1.0, 1.0), errors.ShapeError, ["primals", "tuple"]),
    (lambda: tape.linearize(named, 1.0)[1](), errors.ShapeError, ["named", "1 argument"]),
    (lambda: tape.jvp(two, (TREE,), ({"w": [1.0]},)), errors.ShapeError, ["tangent", "structure", "'w'"]),
    (lambda: tape.jvp(two, (TREE,), (TREE["w"],)), errors.ShapeError, ["tangent", "structure"]),
    (lambda: tape.jvp(two, (TREE,), ({"w": [1.0, 1.0]},)), errors.SeedError, ["argument 0 of two['w'][1]"]),
    (lambda: tape.jvp(two, (Layer(1.0, 2.0),), (Layer(1.0, 2.0, "b"),)), errors.ShapeError, ["structure"]),
    (lambda: tape.hvp(lambda x: x @ x)(ONES, 1.0), errors.SeedError, ["tangent", "[3]"]),
    (lambda: tape.hvp(lambda x: x @ x)(), errors.TapeError, ["hvp"]),
    (lambda: tape.gnvp(named)(ONES, np.ones(4)), errors.SeedError, ["tangent", "argument 0 of named", "[4]"]),
    (lambda: tape.divergence(lambda x: x[0])(ONES), errors.ShapeError, ["divergence", "(3,)", "()"]),
    (lambda: tape.divergence(two)(ONES), errors.ShapeError, ["divergence", "two", "the same structure"]),
    # options and pairs
    (lambda: tape.jacobian(named, mode="forward"), errors.OptionError, ["mode", "'forward'", "'fwd'"]),
    (lambda: tape.rop(named, 1.0, 1.0, method="lop"), errors.OptionError, ["method", "'lop'", "double_lop"]),
    (lambda: tape.grad(named, has_aux=True)(1.0), errors.ShapeError, ["named", "pair", "has_aux"]),
    (lambda: tape.grad(lambda x: [x, x], has_aux=True)(1.0), errors.ShapeError, ["pair", "has_aux"]),
    (lambda: tape.vjp(lambda x: (x, x, x), 1.0, has_aux=True), errors.ShapeError, ["pair", "has_aux"]),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")  # not what is told here
@pytest.mark.parametrize(("call", "error", "words"), BAD_INPUT, ids=[place_of(row[0]) for row in BAD_INPUT])
def test_bad_input(call, error, words):
    before = interpreter.innermost_open()
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, errors.TapeError)
    message = str(caught.value)
    for word in words:
        assert word in message
    assert message.endswith(f"{place_of(call)}]")
    assert interpreter.innermost_open() is before


INTS = np.array([1, 2])
TRANSFORMS = {
    "grad": lambda f, x: tape.grad(f)(x),
    "value_and_grad": lambda f, x: tape.value_and_grad(f)(x),
    "elementwise_grad": lambda f, x: tape.elementwise_grad(f)(x),
    "jacobian": lambda f, x: tape.jacobian(f)(x),
    "jacobian forwards": lambda f, x: tape.jacobian(f, mode="fwd")(x),
    "jacobian backwards": lambda f, x: tape.jacobian(f, mode="rev")(x),
    "hessian": lambda f, x: tape.hessian(f)(x),
    "divergence": lambda f, x: tape.divergence(f)(x),
    "laplacian": lambda f, x: tape.laplacian(f)(x),
    "hvp": lambda f, x: tape.hvp(f)(x, x),
    "gnvp": lambda f, x: tape.gnvp(f)(x, x),
    "rop": lambda f, x: tape.rop(f, x, x),
    "rop by two sweeps": lambda f, x: tape.rop(f, x, x, method="double_lop"),
    "vjp": lambda f, x: tape.vjp(f, x),
    "jvp": lambda f, x: tape.jvp(f, (x,), (x,)),
    "directional_derivative": lambda f, x: tape.directional_derivative(f)(x, x),
    "linearize": lambda f, x: tape.linearize(f, x),
    "taylor": lambda f, x: tape.taylor(f, x, x, 2),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_errors_name_the_transform_that_was_called(name):
    with pytest.raises(errors.DTypeError, match=rf"^{name.split()[0]}: argument 0 of named is int64\[2\]"):
        TRANSFORMS[name](named, INTS)


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
@pytest.mark.parametrize(
    ("f", "what"),
    [
        (counts, r"int64\[\], which has no derivative"),
        (lambda x: x > 0, r"bool\[3\], which has no derivative"),
        (lambda x: "abc", "'abc', which is not an array of numbers"),
        (generate, "<generator object .*, which is not an array of numbers"),
        (boxes, r"object\[1\], which is not an array of numbers"),
    ],
    ids=["integers", "bools", "text", "generator", "objects"],
)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_refuses_results_without_derivative(name, f, what):
    with pytest.raises(errors.DTypeError, match=rf"^{name.split()[0]}: {f.__name__} returned {what}"):
        TRANSFORMS[name](f, ONES)


@pytest.mark.parametrize("name", ["grad", "value_and_grad", "hessian", "hvp", "laplacian"])
@pytest.mark.parametrize(
    ("f", "error", "what"),
    [
        (
            lambda x: np.sum(x) * 1j,
            errors.DTypeError,
            r"complex128\[\], and a complex result has no gradient",
        ),
        (lambda x: None, errors.ShapeError, "None. It must return one scalar"),
        (two, errors.ShapeError, r"\(\*, \*\). It must return one scalar"),
        (named, errors.ShapeError, r"float64\[3\], not a scalar"),
    ],
    ids=["complex", "nothing", "several", "array"],
)
def test_every_gradient_is_that_of_one_real_scalar(name, f, error, what):
    with pytest.raises(error, match=rf"^{name}: {f.__name__} returned {what}"):
        TRANSFORMS[name](f, ONES)


@pytest.mark.parametrize(
    "name",
    [
        "grad", "value_and_grad", "elementwise_grad", "jacobian", "hessian", "divergence", "laplacian", "hvp",
        "gnvp", "directional_derivative",
    ],
)  # fmt: skip
def test_what_a_transform_returns_is_named_after_it_and_the_function(name):
    assert getattr(tape, name)(named).__name__ == f"{name}(named)"
