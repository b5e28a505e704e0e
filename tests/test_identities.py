"""Algebra in programs changes no number: known operands of any shape, in either place, beside any number.

Bit for bit, signs of zeros included, but where a quotient or power may be rounded in another way.
"""

import itertools
import operator

import numpy as np
import pytest

from tests.naive_program import compiled_for, counts
from tests.tiers import takes_long

NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0, 4.0, np.inf, -np.inf, np.nan, 5e-324, 1e300)
SHAPES = ((), (3,), (2, 3), (2, 1))
PAIRS = [
    (one, other)
    for one, other in itertools.product(SHAPES, SHAPES)
    if all(a == b or 1 in (a, b) for a, b in zip(one[::-1], other[::-1], strict=False))
]
OPERATIONS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
INEXACT = {"divide", "power", "chain"}
EITHER_ZERO = {"maximum", "minimum"}  # NumPy itself says nothing of the sign
SPECIAL = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-310])


def special(shape, offset=0):
    """Numbers of every kind, in a shape."""
    count = int(np.prod(shape))
    return np.roll(SPECIAL, offset)[np.arange(count) % SPECIAL.size].reshape(shape)[()]


def assert_identical(found, expected, name, what):
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype), what
    if name in INEXACT:
        np.testing.assert_allclose(found, expected, rtol=1e-14, err_msg=str(what))
    else:
        np.testing.assert_array_equal(found, expected, err_msg=str(what))
    zero = (expected == 0) & (name not in EITHER_ZERO)
    signs = np.signbit(found[zero]), np.signbit(expected[zero])
    np.testing.assert_array_equal(*signs, err_msg=f"signs of zeros: {what}")


def check(functions, *args):
    """Compare functions with what they return in a program, where all of them are together."""
    with np.errstate(all="ignore"):
        compiled, program = compiled_for(lambda *args: [f(*args) for _, _, f in functions], *args)
        found = compiled(*args)
        for (name, what, f), value in zip(functions, found, strict=True):
            assert_identical(value, f(*args), name, what)
    return program


@takes_long
@pytest.mark.parametrize("name", OPERATIONS)
def test_arrays_of_one_number_beside_others(name):
    """The number comes as an array of its own shape, made within the function, and as it is."""
    f = OPERATIONS[name]
    for shape, other in PAIRS:
        functions = []
        for number in NUMBERS:
            if name == "power" and (number < 0 or not np.isfinite(number)):
                continue
            what = f"{shape} {name} {number} of {other}"
            functions += [
                (name, what, lambda x, number=number, other=other: f(x, np.full(other, number))),
                (name, f"turned: {what}", lambda x, number=number, other=other: f(np.full(other, number), x)),
            ]
            if other == ():
                functions += [
                    (name, f"as it is: {what}", lambda x, number=number: f(x, number)),
                    (name, f"turned, as it is: {what}", lambda x, number=number: f(number, x)),
                ]
        x = special(shape, len(other))
        check(functions, np.abs(x) if name == "power" else x)


CHAINS = {
    "x + -y": lambda x, y: x + -y,
    "-x + y": lambda x, y: -x + y,
    "-x + -y": lambda x, y: -x + -y,
    "x - -y": lambda x, y: x - -y,
    "-x - y": lambda x, y: -x - y,
    "-x - -y": lambda x, y: -x - -y,
    "x * -y": lambda x, y: x * -y,
    "-x * y": lambda x, y: -x * y,
    "-x * -y": lambda x, y: -x * -y,
    "-x / y": lambda x, y: -x / y,
    "x / -y": lambda x, y: x / -y,
    "-x / -y": lambda x, y: -x / -y,
    "-(x - y)": lambda x, y: -(x - y),
    "-(x + y)": lambda x, y: -(x + y),
    "-(x * y)": lambda x, y: -(x * y),
    "-(x / y)": lambda x, y: -(x / y),
    "--(x * y)": lambda x, y: np.negative(-(x * y)),
    "-(2 * x) + y": lambda x, y: -(2 * x) + y,
    "-2 * -x - y": lambda x, y: -2 * -x - y,
    "x * y * 0.5 * 3": lambda x, y: x * y * 0.5 * 3,
    "2 * (3 * x) * y": lambda x, y: 2 * (3 * x) * y,
    "(1e300 * x) * 1e-300 + y": lambda x, y: (1e300 * x) * 1e-300 + y,
    "1e-200 * (1e-200 * x) * 1e300 + y": lambda x, y: 1e-200 * (1e-200 * x) * 1e300 + y,
    "x / 4 / y": lambda x, y: x / 4 / y,
    "x / 3 + y": lambda x, y: x / 3 + y,
    "(x + 0.0) * y": lambda x, y: (x + 0.0) * y,
    "(0.0 - x) + y": lambda x, y: (0.0 - x) + y,
    "(-0.0 - x) + y": lambda x, y: (-0.0 - x) + y,
    "x**2 - y**3": lambda x, y: x**2 - y**3,
    "x**4 + y**1": lambda x, y: x**4 + y**1,
    "x**-1 + y**0": lambda x, y: x**-1 + y**0,
    "square, reciprocal": lambda x, y: np.square(x) + np.reciprocal(y),
    "maximum of itself": lambda x, y: np.maximum(x, x) + np.minimum(y, y),
    "maximum of both": lambda x, y: np.maximum(x, y) + np.minimum(x, y),
    "where of it": lambda x, y: np.where(np.logical_or(x > y, x > y), x, np.where(x > y, y, -y)),
    "and of both": lambda x, y: np.where(np.logical_and(x > 0, y > 0), x, y),
    "or of both": lambda x, y: np.where(np.logical_or(x > 0, y > 0), x, y),
}
ORDINARY = np.array([0.3, -1.7, 2.2, -0.4, 5.1, 1.9, -3.3])


@pytest.mark.parametrize("numbers", ["special", "ordinary"])
def test_chains_of_operations(numbers):
    """What is turned into something simpler, in every pair of shapes; exactly, where it does not round."""
    for one, other in PAIRS:
        if numbers == "special":
            x, y = special(one), special(other, 3)
        else:
            x = np.resize(ORDINARY, one)[()]
            y = np.resize(ORDINARY[::-1], other)[()]
        check([("chain", f"{what} of {one} and {other}", f) for what, f in CHAINS.items()], x, y)


def test_special_numbers_in_every_pair():
    """Each kind of number beside each other one."""
    x, y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    check([("chain", what, f) for what, f in CHAINS.items()], x, y)


@pytest.mark.parametrize("dtype", [bool, np.int64, np.int8, np.float32])
def test_chains_of_other_dtypes(dtype):
    x, y = np.array([0, 1, 1, 0]).astype(dtype), np.array([1, 1, 0, 0]).astype(dtype)
    functions = {
        "0": lambda x, y: x + np.zeros(4, dtype),
        "turned 0": lambda x, y: np.zeros(4, dtype) + x,
        "1": lambda x, y: x * np.ones(4, dtype),
        "turned 1": lambda x, y: np.ones(4, dtype) * x,
        "sum": lambda x, y: x + y,
        "product": lambda x, y: x * y,
        "same": lambda x, y: np.maximum(x, x),
        "and": lambda x, y: np.logical_and(x, x),
        "or": lambda x, y: np.logical_or(x, y),
    }
    if dtype is not bool:
        functions |= {
            "difference": lambda x, y: x - np.zeros(4, dtype),
            "negative": lambda x, y: np.zeros(4, dtype) - x,
            "twice": lambda x, y: np.negative(-x) + -y,
            "square": lambda x, y: x**2 - np.square(y),
        }
    check([("exact", what, f) for what, f in functions.items()], x, y)


# ---- what becomes simpler ----------------------------------------------------------------------------

X, Y = np.linspace(0.5, 2.0, 6).reshape(2, 3), np.linspace(-1.0, 1.0, 3)
SIMPLER = {
    "x + -0": (lambda x, y: x + -0.0, {}),
    "-0 + x": (lambda x, y: -0.0 + x, {}),
    "x + zeros": (lambda x, y: x + -np.zeros(3), {}),
    "zeros + x": (lambda x, y: -np.zeros(3) + x, {}),
    "x + 0": (lambda x, y: x + 0.0, {"add": 1}),  # of -0 it is 0
    "x - 0": (lambda x, y: x - 0.0, {}),
    "-0 - x": (lambda x, y: -0.0 - x, {"negative": 1}),
    "0 - x": (lambda x, y: 0.0 - x, {"subtract": 1}),
    "y + -0 of a larger shape": (lambda x, y: y + -np.zeros((2, 3)), {}),
    "x + -y": (lambda x, y: x + -y, {"subtract": 1}),
    "-x + y": (lambda x, y: -x + y, {"subtract": 1}),
    "x - -y": (lambda x, y: x - -y, {"add": 1}),
    "x * 1": (lambda x, y: x * 1.0, {}),
    "1 * x": (lambda x, y: np.ones(3) * x, {}),
    "x * -1": (lambda x, y: x * -1.0, {"negative": 1}),
    "y * 1 of a larger shape": (lambda x, y: y * np.ones((2, 3)), {}),
    "2 * (3 * x)": (lambda x, y: 2.0 * (3.0 * x), {"multiply": 1}),
    "(x * 3) * 2": (lambda x, y: (x * 3.0) * 2.0, {"multiply": 1}),
    "-x * 2": (lambda x, y: -x * 2.0, {"multiply": 1}),
    "-(x * 2)": (lambda x, y: -(x * 2.0), {"multiply": 1}),
    "-(2 * x)": (lambda x, y: -(2.0 * x), {"multiply": 1}),
    "-(-x)": (lambda x, y: np.negative(-x), {}),
    "x / 1": (lambda x, y: x / 1.0, {}),
    "x / 4": (lambda x, y: x / 4.0, {"multiply": 1}),
    "x / -4": (lambda x, y: x / -4.0, {"multiply": 1}),
    "x / 3": (lambda x, y: x / 3.0, {"divide": 1}),
    "-x / -y": (lambda x, y: -x / -x, {"divide": 1}),
    "x**1": (lambda x, y: x**1.0, {}),
    "x**2": (lambda x, y: x**2.0, {"multiply": 1}),
    "x**3": (lambda x, y: x**3.0, {"multiply": 2}),
    "x**4": (lambda x, y: x**4.0, {"multiply": 2}),
    "x**5": (lambda x, y: x**5.0, {"power": 1}),
    "x**0.5": (lambda x, y: x**0.5, {"sqrt": 1}),
    "x**-1": (lambda x, y: x**-1.0, {"divide": 1}),
    "square": (lambda x, y: np.square(x), {"multiply": 1}),
    "reciprocal": (lambda x, y: np.reciprocal(x), {"divide": 1}),
    "maximum": (lambda x, y: np.maximum(x, x), {}),
    "minimum": (lambda x, y: np.minimum(y, y), {}),
}


@pytest.mark.parametrize("name", SIMPLER)
def test_what_is_left_of_an_expression(name):
    """One instruction more follows, as a program must make something."""
    f, expected = SIMPLER[name]
    _, program = compiled_for(lambda x, y: np.sin(f(x, y)), X, Y)
    assert counts(program.ir) == {**expected, "sin": 1}
