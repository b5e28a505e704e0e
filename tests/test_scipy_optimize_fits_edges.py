"""Least squares, fits and linear programs of `scipy.optimize` at the edges of their options."""

import numpy as np
import pytest
from scipy import optimize as original
from scipy.sparse import csr_array

import tape
from tape import errors
from tape.scipy import optimize
from tape.scipy.optimize import curve_fit, least_squares
from tape.scipy.optimize._curve_fit import _of_one_tree
from tape.scipy.optimize._linear import _box
from tests.scipy_checks import refused

# ---- least squares and fits ---------------------------------------------------------------------------


T = np.linspace(0.0, 1.0, 6)


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_costs_of_losses_at_and_beside_the_bend(loss):
    """Squared residuals of 0.9999, one, 1.0001 and four scales."""

    def fit(of, a):
        given = np.array([0.99995, -1.0, 1.00005, 2.0]) * 3.0
        return of(lambda x: (given + 0.0 * x) * a, np.zeros(1), loss=loss, f_scale=3.0).cost

    with tape.Trace() as trace:
        found = fit(least_squares, trace.param(1.0))
    assert found.value == pytest.approx(fit(original.least_squares, 1.0), rel=1e-12)


@pytest.mark.parametrize(
    ("loss", "weight"),
    [("soft_l1", 1.25**-0.5), ("huber", 1.0), ("cauchy", 1 / 1.25), ("arctan", 1 / 1.0625)],
)
def test_residuals_that_vanish_have_derivatives_of_their_loss(loss, weight):
    residuals = lambda x, a: np.stack([0.0 * x[0], x[0] - a, x[0] + a])  # noqa: E731
    slope = tape.grad(lambda a: least_squares(residuals, np.zeros(1), (a,), loss=loss).cost)
    assert slope(0.5) == pytest.approx(weight, rel=1e-9)


def test_a_fit_of_the_default_scale_and_loss():
    y = np.sin(3 * T)
    with tape.Trace() as trace:
        found = least_squares(lambda p: p[0] * T - y, trace.param(np.ones(1)), (), loss="cauchy")
        default = least_squares(lambda p: p[0] * T - y, trace.param(np.ones(1)))
    slope = T @ y / (T @ T)
    np.testing.assert_allclose(default.cost.value, 0.5 * np.sum((slope * T - y) ** 2), rtol=1e-9)
    np.testing.assert_allclose(
        found.cost.value, original.least_squares(lambda p: p[0] * T - y, [1.0], loss="cauchy").cost, rtol=1e-9
    )


def model_of_one_tree(x, p):
    return p * x


def model_of_numbers(x, a, b):
    return a * x + b


def model_with_default(x, a, b=0.5):
    return a * x + b


def model_of_any(x, *p):
    return sum(p) * x


def model_of_two_and_any(x, a, b, *p):
    return a * x + b + sum(p)


def model_of_any_args(*args):
    return args[1] * args[0]


def model_of_keywords(x, a, b, *, c=1.0):
    return a * x + b * c


@pytest.mark.parametrize(
    ("model", "p0", "expected"),
    [
        (model_of_one_tree, 2.0, "tree"),
        (model_of_one_tree, {"a": 2.0}, "tree"),
        (model_of_one_tree, None, [1.0]),
        (model_of_numbers, None, [1.0, 1.0]),
        (model_of_numbers, (2, 3), [2.0, 3.0]),
        (model_with_default, np.ones(3), "tree"),
        (model_with_default, None, [1.0]),
        (model_of_any, [2.0, 3.0], [2.0, 3.0]),
        (model_of_any, None, "is unknown"),
        (model_of_two_and_any, None, "is unknown"),
        (model_of_two_and_any, [2.0, 3.0], [2.0, 3.0]),
        (model_of_any, 2.0, "one by one"),
        (model_of_any_args, [2.0, 3.0], "tree"),
        (model_of_any_args, None, "is unknown"),
        (model_of_keywords, None, [1.0, 1.0]),
        (model_of_numbers, {"a": 1.0}, "one by one"),
        (model_of_numbers, np.ones((1, 2)), "one by one"),
        (lambda x: x, None, "is unknown"),
        (lambda x: x, 1.0, "tree"),
        (np.power, 1.5, "tree"),
    ],
)
def test_models_of_a_tree_and_of_numbers(model, p0, expected):
    if isinstance(expected, str) and expected != "tree":
        with pytest.raises(errors.TapeError, match=expected):
            _of_one_tree(model, p0, "here")
        return
    given, start = _of_one_tree(model, p0, "here")
    if expected == "tree":
        assert given is model
        assert start is p0
    else:
        assert start.tolist() == expected
        assert start.dtype == np.float64
        assert given.__name__ == model.__name__
        np.testing.assert_array_equal(given(T, start + 1.0), model(T, *(start + 1.0)))


@pytest.mark.parametrize("size", [1, 2])
def test_a_matrix_of_one_datum_is_a_deviation_and_that_of_two_a_covariance(size):
    x, y = np.arange(1.0, 1 + size), np.array([3.0, 5.0])[:size]
    sigma = np.array([[4.0]]) if size == 1 else np.array([[4.0, 1.0], [1.0, 2.0]])

    def fit(y):
        return curve_fit(lambda x, p: p * x, x, y, 1.0, sigma, absolute_sigma=True)

    expected = original.curve_fit(
        lambda x, p: p * x, x, y, 1.0, np.array([4.0]) if size == 1 else sigma, absolute_sigma=True
    )
    with tape.Trace() as trace:
        found = fit(trace.param(y))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.value, np.reshape(other, ()), rtol=1e-6)
    weights = np.linalg.inv(sigma if size == 2 else sigma**2)
    slope = tape.grad(lambda y: fit(y)[0])(y)
    np.testing.assert_allclose(slope, weights @ x / (x @ weights @ x), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::scipy.optimize.OptimizeWarning")
@pytest.mark.parametrize("count", [2, 3])
def test_covariances_where_no_datum_is_left_over(count):
    """SciPy's are infinite, as those with Vars are; of one datum more they are finite."""
    x, y = np.arange(float(count)), np.array([1.0, 2.0, 4.0])[:count]
    f = lambda x, a, b: a * x + b  # noqa: E731
    expected = original.curve_fit(f, x, y)[1]
    with tape.Trace() as trace:
        found = curve_fit(f, x, trace.param(y))[1]
    np.testing.assert_allclose(np.array(getattr(found, "value", found)), expected, rtol=1e-6)
    assert np.all(np.isfinite(expected)) == (count == 3)


# ---- linear problems ----------------------------------------------------------------------------------


def test_no_bounds_of_linear_programs_are_those_of_scipy():
    """Neither an empty sequence nor None means that there are none."""
    f = lambda b, bounds: optimize.linprog([1.0, 2.0], [[-1.0, -1.0]], b, bounds=bounds).fun  # noqa: E731
    for bounds in ([], (), None, (0, None), [[0, np.inf]], [(np.float64(0), None)] * 2):
        assert tape.grad(f)(np.array([-1.0]), bounds) == pytest.approx([-1.0])


@pytest.mark.parametrize(
    ("bounds", "slopes"),
    [
        (lambda low, high: (low, high), (1.0, -2.0)),
        (lambda low, high: [(low, high)], (1.0, -2.0)),
        (lambda low, high: [(low, None), (None, high)], (1.0, -2.0)),
        (lambda low, high: np.stack([np.stack([low, 9.0]), np.stack([-9.0, high])]), (1.0, -2.0)),
        (lambda low, high: np.stack([np.stack([low, np.nan]), np.stack([np.nan, high])]), (1.0, -2.0)),
        (lambda low, high: [(low, 9.0), (-9.0, 5.0)], (1.0, 0.0)),
    ],
)
def test_bounds_of_linear_programs_hold_vars(bounds, slopes):
    def value(low, high):
        return optimize.linprog([1.0, -2.0], bounds=bounds(low, high)).fun

    np.testing.assert_allclose(tape.grad(value, (0, 1))(1.0, 3.0), slopes, atol=1e-9)


def test_sides_of_linear_programs():
    """A pair, an array and None are those of all elements; NaN is no limit, and neither is None."""
    inf, nan = np.inf, np.nan
    for bounds, low, high in (
        (None, [0, 0], [inf, inf]),
        ((), [0, 0], [inf, inf]),
        ((None, None), [-inf, -inf], [inf, inf]),
        ((-1, None), [-1, -1], [inf, inf]),
        ([(None, 2)], [-inf, -inf], [2, 2]),
        ([(-1, 2), (None, 3)], [-1, -inf], [2, 3]),
        (np.array([-1.0, nan]), [-1, -1], [inf, inf]),
        (np.array([[nan, 2], [-1, nan]]), [-inf, -1], [2, inf]),
        (((np.int64(1), np.float32(2)), [3, 4]), [1, 3], [2, 4]),
    ):
        found = _box(bounds, 2)
        assert [side.tolist() for side in found] == [low, high]


def test_the_first_rows_of_linear_programs_are_named():
    """What follows from the bounds of all elements."""
    c, row = [1.0, 1.0], [[1.0, 1.0]]
    for above, below, name in ((None, None, "A_eq"), (row, [9.0], "A_eq"), ([[-1.0, -1.0]], None, "A_ub")):

        def value(b, above=above, below=below, name=name):
            equal = (row, np.stack([b])) if name == "A_eq" else (None, None)
            limits = np.stack([-b]) if name == "A_ub" else below
            return optimize.linprog(c, above, limits, *equal, bounds=(1, None)).fun

        with refused(errors.UnsupportedError, f"linprog: the gradient of row 0 of {name} depends linearly"):
            tape.grad(value)(2.0)


def test_rows_of_linear_programs_are_named():
    """What follows from others: the second of two rows, of inequalities and of equations after these."""
    ones, twice = [[1.0, 1.0], [-1.0, -1.0]], [[1.0, 2.0], [2.0, 4.0]]
    with refused(errors.UnsupportedError, "linprog: the gradient of row 1 of A_ub depends linearly"):
        tape.grad(lambda b: optimize.linprog([1, 1], ones, np.stack([9.0, b]), bounds=(1, None)).fun)(-2.0)
    for above, below in ((None, None), (ones, [9.0, 9.0])):
        with refused(errors.UnsupportedError, "linprog: the gradient of row 1 of A_eq depends linearly"):
            tape.grad(
                lambda b, above=above, below=below: (
                    optimize.linprog([1.0, 1.0], above, below, twice, np.stack([b, 2 * b])).fun
                )
            )(2.0)


def test_no_whole_numbers_are_no_obstacle():
    f = lambda b, whole: optimize.linprog([-1.0], [[1.0]], [b], integrality=whole).fun  # noqa: E731
    assert [tape.grad(f)(1.5, whole) for whole in (None, 0, [0])] == [-1.0] * 3
    assert f(1.5, [1]) == -1.0
    with refused(errors.UnsupportedError, "with integrality the solution jumps"):
        tape.grad(f)(1.5, [1])


def test_sparse_matrices_of_linear_programs():
    c, A, E = [-1.0, -2.0], np.array([[1.0, 1.0], [1.0, 3.0]]), np.array([[1.0, -1.0]])
    f = lambda b, e, of=np.array: optimize.linprog(c, of(A), b, of(E), np.stack([e])).fun  # noqa: E731
    dense = tape.grad(f, (0, 1))(np.array([4.0, 6.0]), 1.0)
    sparse = tape.grad(lambda b, e: f(b, e, csr_array), (0, 1))(np.array([4.0, 6.0]), 1.0)
    for one, other in zip(sparse, dense, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("place", range(5))
def test_complex_numbers_in_linear_programs(place):
    args = [np.array([1.0, 2.0]), -np.eye(2), -np.ones(2), np.ones((1, 2)), np.array([4.0])]

    def value(s):
        given = [arg * (s + 0j) if k == place else arg for k, arg in enumerate(args)]
        return np.real(optimize.linprog(*given).fun)

    with refused(errors.DTypeError, "linprog:", "is complex. Pass real numbers"):
        tape.grad(value)(1.0)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "bvls"},
        {"tol": 1e-1},
        {"max_iter": 1},
        {"lsq_solver": "lsmr"},
        {"lsq_solver": "lsmr", "lsmr_tol": 1e-1},
        {"lsq_solver": "lsmr", "lsmr_maxiter": 1},
    ],
    ids=str,
)
def test_options_of_linear_least_squares_arrive_at_scipy(options):
    rng = np.random.default_rng(3)
    A, b, bounds = rng.normal(size=(6, 4)), rng.normal(size=6), (0.0, 0.3)
    reports = [of.lsq_linear(A, b, bounds, **options) for of in (optimize, original)]
    assert repr(reports[0]) == repr(reports[1])
    assert repr(reports[0]) != repr(original.lsq_linear(A, b, bounds))


def test_results_of_linear_least_squares():
    A, b = np.array([[1.0, 0.0], [1.0, 2.0], [0.0, 1.0]]), np.array([1.0, 2.5, 0.0])
    theirs = original.lsq_linear(A, b)
    with tape.Trace() as trace:
        ours = optimize.lsq_linear(A, trace.param(b))
    assert set(ours) == {"x", "cost", "fun", "success", "status", "message", "nit"}
    for name in ("x", "cost", "fun"):
        np.testing.assert_allclose(ours[name].value, theirs[name], rtol=1e-12)
    missed = tape.grad(lambda b: optimize.lsq_linear(A, b).cost)(b)
    np.testing.assert_allclose(missed, -theirs.fun, atol=1e-12)
    with refused(errors.ConversionError, "lsq_linear: options"):
        tape.grad(lambda tol: optimize.lsq_linear(A, b, tol=tol).cost)(1e-9)


def test_options_and_limits_of_non_negative_least_squares():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(9, 6)), rng.normal(size=9)
    with refused(errors.ConvergenceError, "nnls: Maximum number of iterations"):
        optimize.nnls(A, b, maxiter=1)
    for complex_one in ((A + 0j, b), (A, b + 0j)):
        with refused(errors.DTypeError, "nnls:", "is complex"):
            tape.grad(lambda s, one=complex_one: np.real(optimize.nnls(one[0] * s, one[1])[1]))(1.0)
