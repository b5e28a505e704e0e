"""Taylor series: against nested derivatives, closed forms, and what they cost."""

import warnings
from fractions import Fraction
from math import factorial, pi, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import polynomial
from numpy.polynomial.hermite import Hermite

import tape
from tape import errors, ops
from tape.core.op import Op
from tests.op_table import CASES, a_third, by_operation, lightly, two_of_each
from tests.oracles import assert_close, assert_same, is_float, unit_directions
from tests.tiers import some


def is_complex(case: Any) -> bool:
    return "complex" in case.name.split()


COMPLEX = {case.op: case for case in lightly(CASES) if is_complex(case) and "empty" not in case.name}
DIFFERENTIABLE = [case for case in lightly(CASES) if case.has_derivative]
TWICE_COMPLEX = {"scipy.special.legendre_p", "scipy.special.assoc_legendre_p"}
"""Functions whose third derivative by complex numbers is refused."""
OFTEN = [case for case in DIFFERENTIABLE if not (is_complex(case) and case.op in TWICE_COMPLEX)]
EXPANDED = list(dict.fromkeys([*two_of_each(OFTEN), *(case for case in COMPLEX.values() if case in OFTEN)]))


def of_floats(case: Any, args: list[Any]) -> tuple[Any, list[Any]]:
    """A case as a function of the list of its differentiated arguments, and that list."""
    places = [i for i, a in enumerate(args) if is_float(a)]

    def f(xs: list[Any]) -> Any:
        full = list(args)
        for place, x in zip(places, xs, strict=True):
            full[place] = x
        return case.on(ops)(*full)

    return f, [args[place] for place in places]


def along(f: Any, v: Any) -> Any:
    """The derivative of a function along a fixed direction, as a function."""
    return lambda x: tape.directional_derivative(f)(x, v)


def nested(f: Any, x: Any, v: Any, order: int) -> np.ndarray:
    """All derivatives along ``v``, each by one more nested forward sweep."""
    found = [f(x)]
    for _ in range(order):
        f = along(f, v)
        found.append(f(x))
    return np.stack(found)


@pytest.fixture
def constants_are_fine():
    """High derivatives of polynomials do not depend on anything, which is no mistake here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.ConstantResultWarning)
        yield


# ---- against nested derivatives ------------------------------------------------------------------


@pytest.mark.usefixtures("constants_are_fine")
@by_operation(a_third(EXPANDED, 2))
def test_series_of_every_operation_equal_nested_derivatives(case):
    args = case.args()
    f, x = of_floats(case, args)
    v = unit_directions(case.rng(1), args)
    found, expected = tape.taylor(f, x, v, order=3), nested(f, x, v, 3)
    assert_close(found, expected, 1e-12)
    assert found.dtype == expected.dtype


ONE_EACH = {(case.op, is_complex(case)): case for case in EXPANDED if "(0,3)" not in case.name}


@pytest.mark.usefixtures("constants_are_fine")
@by_operation(some(ONE_EACH.values(), every=12))
def test_series_of_gradients_equal_nested_derivatives(case):
    """What reverse rules record has recurrences too."""
    args = case.args()
    f, x = of_floats(case, args)
    v = unit_directions(case.rng(1), args)

    def slopes(x: Any) -> Any:
        by_argument = tape.elementwise_grad(lambda x: np.real(np.sin(f(x))))(x)
        return np.concatenate([np.ravel(part) for part in by_argument])

    found, expected = tape.taylor(slopes, x, v, order=3), nested(slopes, x, v, 3)
    assert_close(found, expected, 1e-11)
    assert found.dtype == expected.dtype


COMPOSITIONS = {
    "chain": lambda x: np.exp(np.sin(x) * np.tanh(x * x)),
    "quotient": lambda x: np.log(2 + x) / np.sqrt(1 + x * x) - np.arctan(x) ** 3,
    "reused": lambda x: sum((ops.sigmoid(x) ** k for k in range(1, 5)), start=x),
    "arrays": lambda x: np.tanh(np.outer(X, X) @ x) @ np.concatenate([x[1:], x[:1]]),
    "branches": lambda x: np.where(x > 0, np.exp(x), np.abs(x)) * ops.softplus(x),
    "exponents": lambda x: (2 + x) ** np.sin(x) + 1.5**x,
    "shares": lambda x: ops.log_softmax(np.stack([x, x * x, np.sin(x)]), axis=0),
    "spreads": lambda x: np.std(np.stack([x, x * x, np.sin(x)]), axis=1, ddof=1),
    "grad": lambda x: tape.elementwise_grad(lambda y: np.tanh(y * x))(x),
    "jvp": lambda x: tape.jvp(lambda y: np.sin(y * x), (x,), (x,))[1],
    "taylor": lambda x: tape.taylor(lambda y: np.sin(y * x), x, x, order=2)[2],
}
X = np.array([0.3, -0.7, 0.5])
V = np.array([1.0, 0.4, -0.8])


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_series_of_compositions_equal_nested_derivatives(name):
    f = COMPOSITIONS[name]
    found, expected = tape.taylor(f, X, V, order=4), nested(f, X, V, 4)
    assert_close(found, expected, 1e-12)


def test_series_of_one_number_times_a_complex_one():
    """Of Python's, which makes a complex number of Python's of a float64."""
    found = tape.taylor(lambda x: np.imag(1j * np.sin(x)) + np.real(np.exp(1j * x) / 1j), 0.3, 1.0, ORDER)
    np.testing.assert_allclose(found, 2 * np.stack(tape.taylor(np.sin, 0.3, 1.0, ORDER)), rtol=1e-13)


# ---- closed forms --------------------------------------------------------------------------------

ORDER = 10


def falling(power: float, n: int) -> float:
    return float(np.prod([power - k for k in range(n)]))


def by_slope(value: float, slope: list[int], n: int) -> float:
    """Derivative n of a function whose derivative is a polynomial in itself; exact but for the value."""
    form = [Fraction(0), Fraction(1)]
    for _ in range(n):
        form = list(polynomial.polymul(polynomial.polyder(np.array(form, object)), np.array(slope, object)))
    return float(sum(c * Fraction(float(value)) ** k for k, c in enumerate(form)))


def arctan_derivative(x: float, n: int) -> float:
    y = np.arctan(x)
    return factorial(n - 1) * np.cos(y) ** n * np.sin(n * (y + pi / 2)) if n else y


def erf_derivative(x: float, n: int) -> float:
    if not n:
        return ops.erf(x)
    return 2 / sqrt(pi) * (-1) ** (n - 1) * Hermite.basis(n - 1)(x) * np.exp(-x * x)


def log_derivative(x: float, n: int) -> float:
    return (-1) ** (n - 1) * factorial(n - 1) / x**n if n else np.log(x)


def sigmoid_derivative(x: float, n: int) -> float:
    return by_slope(ops.sigmoid(x), [0, 1, -1], n)


CLOSED_FORMS = {
    "add": (lambda x: np.exp(x) + np.sin(x), lambda x, n: np.exp(x) + np.sin(x + n * pi / 2)),
    "subtract": (lambda x: np.exp(x) - x, lambda x, n: np.exp(x) - (x, 1, *[0] * ORDER)[n]),
    "multiply": (lambda x: x * x * np.exp(x), lambda x, n: np.exp(x) * (x * x + 2 * n * x + n * (n - 1))),
    "divide": (lambda x: np.sin(x) / np.exp(x), lambda x, n: ((1j - 1) ** n * np.exp((1j - 1) * x)).imag),
    "reciprocal": (np.reciprocal, lambda x, n: falling(-1, n) * x ** (-1 - n)),
    "power 7": (lambda x: x**7, lambda x, n: falling(7, n) * x ** (7.0 - n)),
    "power 70": (lambda x: x**70, lambda x, n: falling(70, n) * x ** (70.0 - n)),
    "power -3": (lambda x: x**-3, lambda x, n: falling(-3, n) * x ** (-3.0 - n)),
    "power 2.5": (lambda x: x**2.5, lambda x, n: falling(2.5, n) * x ** (2.5 - n)),
    "power of 3": (lambda x: 3.0**x, lambda x, n: np.log(3) ** n * 3.0**x),
    "square": (lambda x: np.square(np.exp(x)), lambda x, n: 2**n * np.exp(2 * x)),
    "sqrt": (np.sqrt, lambda x, n: falling(0.5, n) * x ** (0.5 - n)),
    "exp": (np.exp, lambda x, n: np.exp(x)),
    "expm1": (np.expm1, lambda x, n: np.exp(x) if n else np.expm1(x)),
    "log": (np.log, log_derivative),
    "log1p": (np.log1p, lambda x, n: log_derivative(1 + x, n)),
    "sin": (np.sin, lambda x, n: np.sin(x + n * pi / 2)),
    "cos": (np.cos, lambda x, n: np.cos(x + n * pi / 2)),
    "tan": (np.tan, lambda x, n: by_slope(np.tan(x), [1, 0, 1], n)),
    "tanh": (np.tanh, lambda x, n: by_slope(np.tanh(x), [1, 0, -1], n)),
    "sigmoid": (ops.sigmoid, sigmoid_derivative),
    "softplus": (
        ops.softplus,
        lambda x, n: sigmoid_derivative(x, n - 1) if n else np.log1p(np.exp(x)),
    ),
    "arctan": (np.arctan, arctan_derivative),
    "erf": (ops.erf, erf_derivative),
}


@pytest.mark.parametrize("speed", [1.0, -0.5])
@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_derivatives_have_their_closed_forms(name, speed):
    f, closed_form = CLOSED_FORMS[name]
    x = np.array([0.4, 1.0, 1.3])
    found = tape.taylor(f, x, np.full(3, speed), ORDER)
    for n, derivatives in enumerate(found):
        expected = [speed**n * closed_form(float(a), n) for a in x]
        assert_close(derivatives, expected, 1e-12)


def test_products_and_sums_are_polynomials():
    a, b, da, db = np.random.default_rng(0).normal(size=(4, 3, 3))
    zeros = np.zeros((ORDER - 2, 3, 3))
    product = tape.taylor(lambda p: p[0] @ p[1], [a, b], [da, db], ORDER)
    assert_close(product, np.stack([a @ b, da @ b + a @ db, 2 * da @ db, *zeros]), 1e-14)
    dot = tape.taylor(lambda p: np.dot(p[0][0], p[1][0]), [a, b], [da, db], ORDER)
    first = da[0] @ b[0] + a[0] @ db[0]
    assert_close(dot, [a[0] @ b[0], first, 2 * da[0] @ db[0], *[0] * (ORDER - 2)], 1e-14)
    total = tape.taylor(lambda x: np.sum(np.exp(x), axis=0), a, np.ones((3, 3)), ORDER)
    assert_close(total, np.stack([np.sum(np.exp(a), axis=0)] * (ORDER + 1)), 1e-13)


def test_the_series_is_that_of_the_curve():
    t, order = 0.05, 12
    f = COMPOSITIONS["chain"]
    derivatives = tape.taylor(f, X, V, order)
    summed = sum(d * t**n / factorial(n) for n, d in enumerate(derivatives))
    assert_close(summed, f(X + t * V), 1e-14)


def test_derivatives_along_a_multiple_of_the_direction_are_multiplied_by_its_powers():
    once, thrice = (tape.taylor(COMPOSITIONS["quotient"], X, s * V, 6) for s in (1.0, 3.0))
    for n in range(7):
        assert_close(thrice[n], 3.0**n * once[n], 1e-12)


# ---- powers at zero ------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 5, 2.0, 3.0, 64, 65, 100])
def test_whole_powers_at_zero(exponent):
    expected = [float(factorial(n)) if n == exponent else 0.0 for n in range(6)]

    def f(x):
        return 1 * x**exponent + 0 * x

    np.testing.assert_array_equal(tape.taylor(f, 0.0, 1.0, 5), expected)
    found = tape.taylor(f, np.array([0.0, 1.0]), np.ones(2), 5)
    np.testing.assert_array_equal(found[:, 0], expected)
    assert_close(found[:, 1], [falling(exponent, n) for n in range(6)], 1e-14)


def test_powers_at_zero_with_an_array_of_exponents():
    found = tape.taylor(lambda x: x ** np.arange(4), np.zeros(4), np.ones(4), 4)
    assert_close(found[:4], np.diag([1.0, 1.0, 2.0, 6.0]))
    assert_close(found[4], np.zeros(4))
    found = tape.taylor(lambda x: x ** np.array(2), 0.0, 3.0, 3)
    assert_close(found, [0, 0, 18, 0])


def test_fractional_powers_at_zero_as_far_as_they_are_finite():
    assert_close(tape.taylor(lambda x: x**2.5, np.array([0.0, 4.0]), np.ones(2), 2)[:, 0], [0, 0, 0])
    with np.errstate(divide="ignore"):
        assert tape.taylor(lambda x: x**1.5, 0.0, 1.0, 2)[2] == np.inf


def test_powers_of_zero_by_large_exponents_overflow_nowhere():
    exponents = np.array([5000.0, 5000.0])
    with np.errstate(all="raise"):
        found = tape.taylor(lambda b: np.array([0.0, 1.0]) ** b, exponents, np.ones(2), 2)
    np.testing.assert_array_equal(found, [[0, 1], [0, 0], [0, 0]])


def test_powers_of_negative_numbers():
    found = tape.taylor(lambda x: x ** np.array([2, 3]), np.array([-1.5, -0.5]), np.ones(2), 4)
    expected = [[2.25, -0.125], [-3, 0.75], [2, -3], [0, 6], [0, 0]]
    assert_close(found, expected, 1e-13)


def test_operations_with_static_arguments_that_have_no_hash():
    op = Op(lambda x, *, t: x * x * t[0], name="op", vjp=[lambda g, out, x, t: 2 * g * x * t[0]])
    found = tape.taylor(lambda x: op(x, t=[3.0]) + op(x, t=[4.0]) * x + op(x, t=(5.0,)), 2.0, 1.0, 4)
    np.testing.assert_allclose(found, [64.0, 80.0, 64.0, 24.0, 0.0])  # of 8 x^2 + 4 x^3


def test_complex_powers_of_negative_numbers_lie_above_the_cut():
    """As those of NumPy, which takes the logarithm of a negative number with zero above it."""
    base, exponent = np.array([-2.0, 3.0, -0.5]), np.array([1.5 + 0.5j, -0.5j, -1.0 + 2.0j])
    found = tape.taylor(lambda b: base**b, exponent, np.ones(3) + 0j, 4)
    expected = [base**exponent * np.log(base + 0j) ** k for k in range(5)]
    assert_close(found, np.stack(expected), 1e-13)


def test_powers_of_zero_by_their_exponent():
    """By convention zero, as for all other derivatives."""
    assert tape.grad(lambda p: 0.0**p)(2.0) == 0
    np.testing.assert_array_equal(tape.taylor(lambda p: 0.0**p, 2.0, 1.0, 3), np.zeros(4))


def test_powers_of_zero_by_base_and_exponent():
    first = tape.directional_derivative(lambda v: v[0] ** v[1])([0.0, 2.0], [1.0, 1.0])
    assert tape.taylor(lambda v: v[0] ** v[1], [0.0, 2.0], [1.0, 1.0], 1)[1] == first == 0


# ---- what comes back -----------------------------------------------------------------------------


def test_trees():
    x = {"a": 0.5, "b": (np.array([1.0, 2.0]), None)}
    v = {"a": 1.0, "b": (np.array([0.0, 1.0]), None)}
    found = tape.taylor(lambda x: [x["a"] * x["b"][0], {"c": x["a"] ** 3}], x, v, order=3)
    # (0.5 + t) * (1, 2 + t), (0.5 + t)**3
    assert_close(found[0], [[0.5, 1.0], [1.0, 2.5], [0.0, 2.0], [0.0, 0.0]])
    assert_close(found[1]["c"], [0.125, 0.75, 3.0, 6.0])
    assert tape.taylor(lambda x: x, {}, {}, order=2) == {}


def test_what_is_returned_as_it_was_given():
    x = np.array([1.0, 2.0])
    found = tape.taylor(lambda x: (x, x), x, V[:2], order=2)
    for part in found:
        assert_same(part, np.stack([x, V[:2], np.zeros(2)]))
        assert not np.shares_memory(part, x)
    assert not np.shares_memory(*found)


@pytest.mark.parametrize("order", [0, 1, np.int64(2)])
def test_low_orders(order):
    assert_same(tape.taylor(np.sin, 0.0, 1.0, order), np.array([0.0, 1.0, 0.0])[: order + 1])


def test_a_constant_result_has_zero_derivatives_and_a_warning():
    with pytest.warns(errors.ConstantResultWarning):
        found = tape.taylor(lambda x: np.ones(2), 1.0, 1.0, order=2)
    assert_same(found, np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]))


@pytest.mark.usefixtures("constants_are_fine")
@by_operation(some(ONE_EACH.values(), every=6))
def test_float32_stays_float32(case):
    args = case.args(np.float32)
    f, x = of_floats(case, args)
    v = unit_directions(case.rng(1), args)
    found = tape.taylor(f, x, v, order=3)
    assert found.dtype == f(x).dtype  # float32, unless there are integers among the arguments
    wide, x = of_floats(case, widened(args))
    assert_close(found, tape.taylor(wide, x, widened(v), order=3), 1e-4)


def widened(args: list[Any]) -> list[Any]:
    """The same numbers in double precision."""
    return [a.astype(np.result_type(a, float)) if is_float(a) else a for a in args]


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_float32_stays_float32_at_high_order(name):
    f, _ = CLOSED_FORMS[name]
    x = np.array([0.8, 1.0], np.float32)
    assert tape.taylor(f, x, np.ones(2, np.float32), ORDER).dtype == np.float32


# ---- derivatives of derivatives ------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["grad", "jvp", "hessian", "taylor"])
@pytest.mark.parametrize("name", ["tanh", "sqrt", "erf", "divide", "arctan", "power 2.5", "log1p", "tan"])
def test_the_derivative_of_a_derivative_is_the_next_one(name, mode):
    f, _ = CLOSED_FORMS[name]
    expected = tape.taylor(f, 0.7, 1.0, 5)

    def third(x):
        return tape.taylor(f, x, 1.0, 3)[3]

    if mode == "grad":
        assert_close(tape.grad(third)(0.7), expected[4], 1e-11)
    elif mode == "jvp":
        assert_close(tape.jvp(third, (0.7,), (2.0,))[1], 2 * expected[4], 1e-11)
    elif mode == "hessian":
        assert_close(tape.hessian(third)(0.7), expected[5], 1e-11)
    else:
        assert_close(tape.taylor(third, 0.7, 1.0, 2), expected[3:], 1e-11)


def test_derivatives_by_the_direction():
    """They are homogeneous of degree n in it (Euler)."""
    f = COMPOSITIONS["arrays"]
    for n in range(1, 5):
        value, slope = tape.value_and_grad(lambda v, n=n: tape.taylor(f, X, v, n)[n])(V)
        assert_close(slope @ V, n * value, 1e-12)


def test_closures_over_vars():
    by_exponent = tape.grad(lambda p: tape.taylor(lambda x: x**p, 2.0, 1.0, 2)[2])
    assert_close(by_exponent(3.0), tape.grad(lambda p: p * (p - 1) * 2.0 ** (p - 2))(3.0), 1e-13)
    trace = tape.Trace()
    w = trace.param(2.0)
    found = tape.taylor(lambda x: np.exp(w * x), 0.0, 1.0, 4)
    assert_close(found.value, 2.0 ** np.arange(5))
    assert_close(trace.backward_param_grads(found, [0, 0, 0, 0, 1]), [32.0])


def test_what_is_stopped_stands_still():
    found = tape.taylor(lambda x: x * tape.stop_gradient(np.exp(x)), 1.0, 1.0, 3)
    assert_close(found, [np.e, np.e, 0, 0])


# ---- cost ----------------------------------------------------------------------------------------


def operations(f: Any, order: int) -> int:
    """How many operations a Taylor series runs, counted by recording it."""
    with tape.Trace() as trace:
        tape.taylor(f, trace.param(0.3), 1.0, order)
    return len(trace)


def nested_operations(f: Any, order: int) -> int:
    for _ in range(order):
        f = along(f, 1.0)
    with tape.Trace() as trace:
        f(trace.param(0.3))
    return len(trace)


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_the_cost_is_quadratic_in_the_order(name):
    f, _ = CLOSED_FORMS[name]
    costs = [operations(f, order) for order in (8, 16, 32)]
    assert costs[1] <= 4 * costs[0]
    assert costs[2] <= 4 * costs[1]


def test_nested_derivatives_would_cost_exponentially_more():
    def f(x: Any) -> Any:
        return np.tanh(np.sin(x) * x)

    series, towers = ([count(f, n) for n in (2, 4, 6)] for count in (operations, nested_operations))
    assert min(towers[2] / towers[1], towers[1] / towers[0]) > 4  # at least twice as many an order
    assert series[2] / series[1] < series[1] / series[0] < 4
    assert series[2] < towers[2] / 5


def test_the_cost_of_a_chain_is_linear_in_its_length():
    def chain(length: int) -> Any:
        def f(x: Any) -> Any:
            for _ in range(length):
                x = np.sin(x)
            return x

        return f

    short, long, longer = (operations(chain(n), 5) for n in (10, 20, 30))
    assert longer - long == long - short


# ---- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tape.taylor(np.sin, 1.0, 1.0, -1), errors.OptionError, "order is -1.*zero or positive"),
        (lambda: tape.taylor(np.sin, 1.0, 1.0, 2.0), errors.OptionError, "order is 2.0. It must be an int"),
        (lambda: tape.taylor(np.sin, 1, 1.0, 2), errors.DTypeError, "taylor: .*asarray"),
        (lambda: tape.taylor(np.sin, 1.0, np.nan, 2), errors.SeedError, "direction .* NaN"),
        (lambda: tape.taylor(np.sin, 1.0, np.ones(2), 2), errors.SeedError, "direction .* shape"),
        (lambda: tape.taylor(np.sin, 1.0, (1.0,), 2), errors.ShapeError, "direction is a tree"),
        (lambda: tape.taylor(np.argmax, np.ones(3), np.ones(3), 2), errors.DTypeError, "taylor: argmax"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_an_op_brings_its_own_rule():
    def rule(op: Any, out: Any, series: Any, attrs: Any) -> Any:
        (a,) = series
        return [out, *(None if part is None else 2 * part for part in a[1:])]

    slopes = {"vjp": [lambda g, out, x: 2 * g], "jvp": [lambda t, out, x: 2 * t]}
    doubled = Op(lambda x: 2 * x, name="doubled", taylor=rule, **slopes)
    assert_close(tape.taylor(lambda x: np.exp(doubled(x)), 0.0, 1.0, 4), 2.0 ** np.arange(5))


@pytest.mark.parametrize(("dtype", "most"), [(np.float64, 170), (np.float32, 34)])
def test_orders_whose_factorial_does_not_fit_are_refused(dtype, most):
    x = np.ones(1, dtype)
    assert np.isfinite(tape.taylor(np.exp, x, x, most)).all()
    with pytest.raises(errors.OptionError, match=f"order of at most {most}"):
        tape.taylor(np.exp, x, x, most + 1)


@pytest.mark.parametrize("ddof", [3, 4])
def test_variances_without_freedom_are_nan_in_every_order(ddof):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = tape.taylor(lambda x: np.var(x, ddof=ddof), np.array([1.0, 2.0, 4.0]), np.ones(3), 2)
    assert not np.isfinite(found).any()


STEP = Op(np.floor, name="step", jvp=[lambda t, out, x: np.zeros(np.shape(x))])
TWICE = Op(lambda x: 2.0 * x, name="twice", jvp=[lambda t, out, x: 2.0 * t])


@pytest.mark.parametrize(("op", "expected"), [(STEP, [1.25, 1.0, 0.0, 0.0]), (TWICE, [2.5, 4.5, 4.0, 0.0])])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_series_are_as_long_whether_or_not_a_rule_follows_the_tangent(op, expected, order):
    found = tape.taylor(lambda x: op(x) * (x + 0.25), np.ones(2), np.ones(2), order)
    assert found.shape == (order + 1, 2)
    assert_close(found[:, 0], expected[: order + 1], 1e-14)


def test_the_absolute_value_of_a_complex_zero_has_the_derivative_zero():
    np.testing.assert_array_equal(tape.taylor(lambda t: np.abs(t * 1j) ** 2, 0.0, 1.0, 2), [0.0, 0.0, 0.0])
    found = tape.taylor(lambda t: np.abs(np.stack([t * 1j, t + 2j])), 0.0, 1.0, 1)
    np.testing.assert_array_equal(found, [[0.0, 2.0], [0.0, 0.0]])
