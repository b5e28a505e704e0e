"""Rules of Taylor series one by one, with coefficients that are left out, against contour integrals."""

from itertools import product
from math import pi

import numpy as np
import pytest
from scipy import special

from tape.core import series as rules

ORDER = 4
POINTS = 32
RADIUS = 0.2


def coefficients(f, *given):
    """Of powers of t of f along curves that are polynomials: by Cauchy's formula on a circle around 0."""
    t = RADIUS * np.exp(2j * pi * np.arange(POINTS) / POINTS)
    curves = [np.sum([0 * t if c is None else c * t**k for k, c in enumerate(s)], axis=0) for s in given]
    values = f(*curves)
    return [np.mean(values * t**-k) for k in range(ORDER + 1)]


def left_out(first, *rest):
    """The series with each choice of later coefficients left out."""
    for kept in product((True, False), repeat=len(rest)):
        yield [first, *[c if keep else None for c, keep in zip(rest, kept, strict=True)]]


def check(name, f, *given):
    """A rule as the contour integral; what is left out of a result is zero."""
    values = [np.asarray(s[0])[()] for s in given]
    given = [[value, *s[1:]] for value, s in zip(values, given, strict=True)]
    out = f(*values)
    found = getattr(rules, name)(None, out, given, {})
    assert len(found) == ORDER + 1
    assert found[0] is out
    expected = coefficients(f, *given)
    for k in range(1, ORDER + 1):
        part = 0.0 if found[k] is None else found[k]
        assert abs(part - expected[k]) < 1e-8 + 1e-7 * abs(part)
    return found


ONE = {
    # the rule, the function, and points to be at
    "square": (np.square, (0.0, 1.5, -2.0)),
    "reciprocal": (np.reciprocal, (1.5, -2.0)),
    "exp": (np.exp, (0.0, 1.5, -2.0)),
    "expm1": (np.expm1, (0.0, 1.5, -2.0)),
    "log": (np.log, (1.5, 4.0)),
    "log1p": (np.log1p, (0.0, 1.5)),
    "square_root": (np.sqrt, (1.5, 4.0)),
    "tanh": (np.tanh, (0.0, 0.7, -0.4)),
    "tan": (np.tan, (0.0, 0.7, -0.4)),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), (0.0, 1.5, -2.0)),
    "sin": (np.sin, (0.0, 1.5, -2.0)),
    "cos": (np.cos, (0.0, 1.5, -2.0)),
    "arctan": (np.arctan, (0.0, 0.5, -2.0)),
    "erf": (special.erf, (0.0, 0.5, -1.0)),
    "softplus": (lambda x: np.log(1 + np.exp(x)), (0.0, 1.5, -2.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_operand(name):
    f, points = ONE[name]
    for point in points:
        for given in left_out(point, 0.7, -0.4, 0.3, 0.2):
            found = check(name, f, given)
            if not any(given[1:]):
                assert found[1:] == [None] * ORDER


@pytest.mark.parametrize("name", ["multiply", "divide"])
def test_products_and_quotients(name):
    f = getattr(np, name)
    for a in left_out(1.5, 0.7, -0.4, None, 0.2):
        for b in [*left_out(-2.0, None, 0.6, -0.1, 0.3)][::3]:
            check(name, f, a, b)
    for a in left_out(0.0, 0.7, -0.4, None, 0.2):
        check(name, f, a, [1.5, 0.2, None, None, None])


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 5, 7, 2.0, -1, -2, 0.5, -1.5, 2.5, np.float64(3.0)])
def test_powers_with_constant_exponents(exponent):
    is_whole = float(exponent).is_integer()
    for point in (1.5, 4.0, *((-2.0, 0.0) if is_whole and exponent >= 0 else (-2.0,) if is_whole else ())):
        for a in left_out(point, 0.7, -0.4, None, 0.2):
            out = np.float64(point) ** exponent
            found = rules.power(None, out, [[np.float64(point), *a[1:]], [exponent, *[None] * ORDER]], {})
            expected = coefficients(lambda x: x**exponent, a)
            for k in range(1, ORDER + 1):
                part = 0.0 if found[k] is None else found[k]
                np.testing.assert_allclose(part, expected[k], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("exponents", [[2.0, 3.0, 1.0], [2.0, 0.5, -1.0], [0.0, 4.0, 2.0]])
@pytest.mark.parametrize("base", [[0.0, 1.5, 2.0], [1.2, 1.5, 2.0], [0.0, 0.9, 1.1]])
def test_powers_with_an_exponent_for_each_element(base, exponents):
    """Of a base that is zero, too."""
    base, exponents = np.array(base), np.array(exponents)
    for a in left_out(base, np.array([0.7, -0.4, 0.3]), np.array([0.2, 0.1, -0.1]), None, np.full(3, 0.1)):
        found = rules.power(None, base**exponents, [a, [exponents, *[None] * ORDER]], {})
        for i in range(3):
            one = [None if c is None else c[i] for c in a]
            expected = coefficients(lambda x: x ** exponents[i], one)  # noqa: B023
            for k in range(1, ORDER + 1):
                part = 0.0 if found[k] is None else found[k][i]
                np.testing.assert_allclose(part, expected[k], rtol=1e-7, atol=1e-8)


def test_powers_with_moving_exponents():
    for a in left_out(1.5, 0.2, -0.1, None, 0.1):
        for b in [*left_out(2.0, 0.7, None, 0.3, -0.2)][::3]:
            check("power", lambda x, y: x**y, a, b)
            check("power", lambda x, y: x**y, [np.complex128(-1.5 + 0.5j), *a[1:]], b)


def test_powers_of_negative_numbers_with_complex_exponents():
    a, b = [np.float64(-1.5), None, None], [np.complex128(2 + 0.5j), -0.2, 0.3]
    found = rules.power(None, (a[0] + 0j) ** b[0], [a, b], {})
    expected = coefficients(lambda x, y: x**y, a, b)
    np.testing.assert_allclose(found[1:], expected[1:3], rtol=1e-8)


def test_powers_of_zero_with_moving_exponents_move_with_the_base_alone():
    base, exponent = np.array([0.0, 1.5]), np.array([2.0, 2.0])
    a, b = [base, np.array([1.0, 0.2]), None], [exponent, np.array([0.5, 0.7]), None]
    found = rules.power(None, base**exponent, [a, b], {})
    np.testing.assert_allclose([found[1][0], found[2][0]], [0.0, 1.0], atol=1e-14)
    expected = coefficients(lambda x, y: x**y, [1.5, 0.2], [2.0, 0.7])
    np.testing.assert_allclose([found[1][1], found[2][1]], expected[1:3], rtol=1e-8)


class Op:
    """Stands for an operation that is linear in each operand, with an attribute."""

    def __init__(self, f):
        self.f = f

    def __call__(self, *operands, factor):
        return factor * self.f(*operands)

    def tangent(self, out, operands, tangents, attrs):
        assert out is not None
        if tangents[0] is None:
            return None
        return attrs["factor"] * self.f(tangents[0]) * operands[0].size


def test_rules_of_linear_operations():
    a, b = (
        [np.arange(3.0), None, np.ones(3), None],
        [np.array([1.0, 2, 4]), np.full(3, 0.5), None, np.ones(3)],
    )
    attrs = {"factor": 3.0}
    found = rules.linear(Op(np.sum), 9.0, [a], attrs)
    assert found == [9.0, None, 27.0, None]
    found = rules.multilinear(Op(np.sum), 9.0, [a], attrs)
    assert found == [9.0, None, 9.0, None]
    found = rules.multilinear(Op(np.dot), 30.0, [a, b], attrs)
    assert found == [30.0, 3 * 1.5, 3 * 7.0, 3 * (1.5 + 3.0)]
    assert rules.multilinear(Op(np.dot), 30.0, [[a[0], None], [b[0], None]], attrs) == [30.0, None]
    assert rules.constant(None, 5.0, [a], {}) == [5.0, None, None, None]


def test_sums_and_scales_of_what_is_left_out():
    assert rules.total(()) is None
    assert rules.total((None, None)) is None
    assert rules.total((None, 2.0, None, 3.0)) == 5.0
    assert rules.scaled(2.0, None) is None
    assert rules.scaled(0, np.inf) is None
    assert rules.scaled(-1.0, 3.0) == -3.0
    x = np.ones(2)
    assert rules.scaled(1, x) is x
    a, b = [1.0, 2.0, None, 4.0], [10.0, None, 30.0, 40.0]
    assert rules.convolved(a, b, 3, 0, 3) == 1 * 40 + 2 * 30 + 4 * 10
    assert rules.convolved(a, b, 3, 1, 2) == 60.0
    assert rules.convolved(a, b, 3, 2, 2) is None


def test_arithmetic_that_is_written_once():
    body = lambda x, y: (x * y - x) + (-y) - (x > 0.5) * y  # noqa: E731
    a, b = [1.5, 0.7, None, 0.1, None], [-2.0, None, 0.6, None, 0.3]
    found = rules.of_body(body)(None, 7.0, [a, b], {})
    expected = coefficients(lambda x, y: x * y - x - y - y, a, b)
    assert found[0] == 7.0
    np.testing.assert_allclose(found[1:], expected[1:], atol=1e-12)
    found = rules.of_body(lambda x, y: (x > 1.5) * y)(None, 0.0, [a, b], {})
    assert not any(found[1:])
