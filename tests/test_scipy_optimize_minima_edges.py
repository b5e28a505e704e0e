"""Minima of `scipy.optimize` at the edges: conditions of optimality, bounds, constraints, trees, reports."""

import numpy as np
import pytest
from scipy import optimize as original
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

import tape
from tape import errors
from tape.scipy import optimize
from tape.scipy.optimize import _optimality, minimize
from tape.scipy.optimize._functions import Latest
from tape.scipy.optimize._layout import Unknowns, as_two_sides
from tape.scipy.optimize._minimize import _kind_of
from tape.scipy.optimize._optimality import Conditions, Limits
from tests.scipy_checks import refused

# ---- conditions of optimality -------------------------------------------------------------------------


def test_limits_that_values_are_at():
    inf = np.inf
    values = np.array([0.0, 1e-3, 1.0, 0.5, 5.0, 7.0, 1e3 - 1.0, 0.5])
    low = np.array([0.0, 0.0, 0.0, -inf, 5.0, 0.0, 0.0, 0.4995])
    high = np.array([1.0, 1.0, 1.0, inf, 5.0, inf, 1e3, 0.5005])
    with np.errstate(invalid="ignore"):
        for closeness, expected in {
            1e-3: [-1, -1, 1, 0, 1, 0, 1, 1],
            0.99e-3: [-1, 0, 1, 0, 1, 0, 0, 1],
            0.4e-3: [-1, 0, 1, 0, 1, 0, 0, 0],
        }.items():
            assert _optimality._near(values, low, high, closeness).tolist() == expected
        assert _optimality._slack(values, low).tolist()[3:6] == [inf, 0.0, 7.0]
        assert _optimality._slack(high, values, high)[6] == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("second", "matrix", "expected"),
    [
        (np.eye(2), np.zeros((0, 2)), True),
        (np.diag([1.0, 0.0]), np.zeros((0, 2)), False),
        (np.diag([1.0, -1.0]), np.zeros((0, 2)), False),
        (np.diag([1.0, -1.0]), [[0.0, 2.0]], True),
        (np.diag([1.0, -1.0]), [[2.0, 0.0]], False),
        (-np.eye(2), [[2.0, 0.0], [0.0, 1.0]], True),
        (np.zeros((0, 0)), np.zeros((0, 0)), True),
    ],
)
def test_convexity_in_directions_that_leave_constraints_as_they_are(second, matrix, expected):
    assert _optimality._is_convex(np.asarray(second), np.asarray(matrix)) is expected


@pytest.mark.parametrize(
    ("matrix", "free", "expected"),
    [
        (np.eye(3), [1, 1, 1], None),
        (np.eye(3), [1, 0, 1], 1),
        ([[1, 0, 0], [1, 1, 0], [2, 1, 0]], [1, 1, 1], 2),
        ([[0, 0, 0], [1, 1, 0]], [1, 1, 1], 0),
        ([[1e-200, 0, 0], [0, 1e200, 0]], [1, 1, 1], None),
        ([[1, 0, 0], [1, 1e-7, 0]], [1, 1, 1], None),
        ([[1, 0, 0], [1, 1e-9, 0]], [1, 1, 1], 1),
        (np.zeros((0, 3)), [1, 1, 1], None),
    ],
)
def test_the_first_gradient_that_depends_on_those_before_it(matrix, free, expected):
    assert _optimality._dependent(np.asarray(matrix, float), np.array(free, bool)) == expected


def disc(bottom=-np.inf, top=1.0):
    """The nearest point of a disc in a box."""
    return Conditions(
        2,
        lambda x, a: np.sum((x - a) ** 2),
        lambda a: (np.array([-2.0, -1.0]), np.array([2.0, 0.5])),
        lambda x, a: Limits(np.stack([x @ x]), np.array([bottom]), np.array([top])),
    )


def test_equations_of_a_minimum():
    a, z = np.array([2.0, 3.0]), np.array([0.5, 0.25, 4.0])
    slope = 2 * (z[:2] - a) + 4.0 * 2 * z[:2]
    for data, expected in {
        (0, 0, 0): [*slope, 4.0],
        (-1, 1, 0): [0.5 + 2.0, 0.25 - 0.5, 4.0],
        (1, -1, 1): [0.5 - 2.0, 0.25 + 1.0, z[:2] @ z[:2] - 1.0],
        (0, 0, -1): [*slope, z[:2] @ z[:2] - 0.1],
    }.items():
        found = disc(0.1).equations(z, np.array(data, float), a)
        np.testing.assert_allclose(found, expected, rtol=1e-14)


RIM, CORNER = 0.5**0.5, 0.75**0.5
CERTIFICATES = {
    # nearest to, where the solver stopped: unknowns and multiplier, what is active, fault
    "inside": ((0.3, 0.2), (0.3, 0.2), (0.3, 0.2, 0.0), (0, 0, 0), 0),
    "at the rim": ((0.9, -0.9), (RIM, -RIM), (RIM, -RIM, 0.9 / RIM - 1), (0, 0, 1), 0),
    "at a side": ((0.0, 5.0), (0.0, 0.5), (0.0, 0.5, 0.0), (0, 1, 0), 0),
    "at both": ((3.0, 5.0), (CORNER, 0.5), (CORNER, 0.5, 3 / CORNER - 1), (0, 1, 1), 0),
    "taken for a side": ((0.3, 0.5 - 1e-4), (0.3, 0.5), (0.3, 0.5 - 1e-4, 0.0), (0, 0, 0), 0),
    "just at a side": ((0.3, 0.5), (0.3, 0.5), (0.3, 0.5, 0.0), (0, 0, 0), 11),
    "hardly pressed to a side": ((0.3, 0.5 + 1e-10), (0.3, 0.5), (0.3, 0.5, 0.0), (0, 0, 0), 11),
    "pressed to a side": ((0.3, 0.5 + 1e-7), (0.3, 0.5), (0.3, 0.5, 0.0), (0, 1, 0), 0),
    "hardly away from a side": ((0.3, 0.5 - 1e-9), (0.3, 0.5), (0.3, 0.5, 0.0), (0, 0, 0), 11),
    "found to be at a side": ((0.3, 0.5 - 2e-9), (0.3, 0.4997), (0.3, 0.4997, 0.0), (0, 0, 0), 11),
    "found to be beside it": ((0.3, 0.5 - 2e-7), (0.3, 0.4997), (0.3, 0.5 - 2e-7, 0.0), (0, 0, 0), 0),
    "just at the rim": ((0.6, -0.8), (0.6, -0.8), (0.6, -0.8, 0.0), (0, 0, 0), 21),
    "elsewhere": ((0.3, 0.2), (0.9, -0.2), (0.9, -0.2, 0.0), (0, 0, 0), 4),
    "not finite": ((0.3, 0.2), (np.nan, 0.2), (np.nan, 0.2, np.nan), (np.nan, 0, np.nan), 4),
}  # fmt: skip


@pytest.mark.parametrize("name", CERTIFICATES)
def test_certificates_of_minima(name):
    a, x, z, data, fault = CERTIFICATES[name]
    found = disc().certify(np.array(x), np.array(a))
    assert found.fault == fault
    np.testing.assert_allclose(found.z, z, atol=1e-12)
    np.testing.assert_allclose(found.data, data, atol=0)


def test_the_first_fault_is_the_one_that_is_told():
    """With the bound that is near taken as active there would be another one."""
    flat = Conditions(2, lambda x: (x[0] - 0.3) ** 2, lambda: (np.array([-2.0, 0.0]), np.array([2.0, 9.0])))
    assert flat.certify(np.array([0.3, 5e-4])).fault == 3
    assert flat.certify(np.array([0.3, 0.0])).fault == 11


def test_a_saddle_is_no_minimum_but_along_a_limit():
    """Newton's method finds it as well; at the bound nothing moves in the direction that falls."""

    def certified(objective, low):
        bounds = np.array([low, -9.0]), np.array([9.0, 9.0])
        return Conditions(2, objective, lambda: bounds).certify(np.array([0.0, 0.0])).fault

    assert certified(lambda x: x[1] ** 2 - x[0] ** 2, -9.0) == 4
    assert certified(lambda x: x[1] ** 2 - x[0] ** 2 + x[0], 0.0) == 0


def test_limits_become_active_one_after_the_other():
    """Each of three drives the next one to its bound, which is a hundredth away, beside a large element."""

    def residuals(x):
        return np.stack([x[0] - 100.0, x[1] - 1.01, x[2] + x[1] - 2.005, x[3] + x[2] + x[1] - 3.003])

    bounds = np.array([-500.0, 0.0, 0.0, 0.0]), np.array([500.0, 1.0, 1.0, 1.0])
    found = Conditions(4, lambda x: np.sum(residuals(x) ** 2), lambda: bounds).certify(
        np.array([100.0, 0.99, 0.99, 0.99])
    )
    assert found.fault == 0
    assert found.data.tolist() == [0, 1, 1, 1]
    np.testing.assert_allclose(found.z, [100.0, 1.0, 1.0, 1.0], rtol=1e-14)


def test_equalities_may_pull_either_way():
    """And inequalities only outwards."""
    for a, multiplier in (((2.0, 0.0), 1.0), ((0.5, 0.0), -0.5)):
        found = disc(1.0, 1.0).certify(np.array([1.0, 0.0]), np.array(a))
        np.testing.assert_allclose(found.z, [1.0, 0.0, multiplier], atol=1e-12)
        assert (found.fault, found.data.tolist()) == (0, [0, 0, 1])
    found = disc(1.0, np.inf).certify(np.array([1.0, 0.0]), np.array([0.5, 0.0]))
    assert (found.fault, found.data.tolist()) == (0, [0, 0, -1])


def test_a_function_is_called_once_for_each_new_point():
    calls = []
    latest = Latest(lambda x: calls.append(x.tolist()) or len(calls))
    x = np.array([1.0, 2.0])
    assert [latest(x), latest(x.copy())] == [1, 1]
    x[0] = 3.0
    assert [latest(x), latest(np.array([3.0, 2.0]))] == [2, 2]
    assert calls == [[1.0, 2.0], [3.0, 2.0]]


# ---- minima -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "has_bounds", "has_constraints", "expected"),
    [
        (None, False, False, "bfgs"),
        (None, True, False, "l-bfgs-b"),
        (None, False, True, "slsqp"),
        (None, True, True, "slsqp"),
        ("Trust-NCG", True, True, "trust-ncg"),
        (min, True, True, None),
    ],
)
def test_methods_that_are_chosen(method, has_bounds, has_constraints, expected):
    assert _kind_of(method, has_bounds, has_constraints, "here") == expected


@pytest.mark.parametrize("method", [None, "BFGS", min])
def test_sparse_derivatives_are_for_one_method(method):
    with refused(errors.OptionError, "sparse=True is for the method 'trust-constr', not"):
        minimize(lambda x: x @ x, np.ones(2), method=method, sparse=True)
    assert minimize(lambda x: x @ x, np.ones(2), method="Trust-Constr", sparse=True).success


def test_elements_of_constraints_are_counted_apart():
    """Each of three is the one that has no force, and the other ones are not active."""
    names = {
        (0, 9, 9): "element 0 of constraints[0]",
        (9, 0, 9): "element 1 of constraints[0]",
        (9, 9, 0): "element 0 of constraints[1]",
    }
    for limits, name in names.items():

        def nearest(a, limits=limits):
            constraints = [
                {"type": "ineq", "fun": lambda x: np.stack([x[0] + limits[0], x[1] + limits[1]])},
                {"type": "ineq", "fun": lambda x: x[0] + x[1] + limits[2]},
            ]
            return minimize(lambda x: np.sum((x - a) ** 2), np.full(2, 0.3), constraints=constraints).x

        with refused(errors.UnsupportedError, f"minimize of <lambda>: {name} is active"):
            tape.jacobian(nearest)(0.0)


ALONG = np.array([[1.0, -1.0], [-1.0, 1.0]]) / 2**0.5


@pytest.mark.parametrize(
    ("kind", "expected"), [("eq", ALONG), ("EQ", ALONG), ("ineq", np.eye(2)), ("Ineq", np.eye(2))]
)
def test_kinds_of_constraints_may_be_in_capitals(kind, expected):
    """The nearest point of the circle, or of the disc, of a point inside."""
    constraint = {"type": kind, "fun": lambda x, r: r**2 - x @ x, "args": (2.0,)}

    def nearest(a):
        return minimize(lambda x: np.sum((x - a) ** 2), np.array([1.0, 1.0]), constraints=constraint).x

    slope = tape.jacobian(nearest)(np.array([1.0, 1.0]))
    np.testing.assert_allclose(slope, expected, atol=1e-6)


@pytest.mark.parametrize("kind", [LinearConstraint, NonlinearConstraint])
@pytest.mark.parametrize("keep", [False, True])
def test_constraints_are_kept_feasible_if_asked(kind, keep):
    first = np.array([[1.0, 0.0]]) if kind is LinearConstraint else (lambda x: x[:1])
    constraint = kind(first, 0.0, 9.0, keep_feasible=keep)
    seen = []

    def f(x):
        seen.append(float(tape.stop_gradient(x)[0]))
        return np.sum((x + 1.0) ** 2)

    start = np.array([-1.0, 0.0])
    if keep:
        with pytest.raises(ValueError, match="feasible"):
            minimize(f, start, method="trust-constr", constraints=constraint, options={"maxiter": 3})
    else:
        minimize(f, start, method="trust-constr", constraints=constraint, options={"maxiter": 3})
        assert seen[0] == -1.0


@pytest.mark.parametrize("given", [{"type": "eq"}, {"fun": lambda x: x}, {}, None, 3.0])
def test_what_is_no_constraint(given):
    with refused(errors.OptionError, "tape.scipy.minimize:", "is not a constraint. Give a dict with 'type'"):
        minimize(lambda x: x @ x, np.ones(2), constraints=[given])


def test_derivatives_of_constraints_that_are_names_are_no_functions():
    constraint = NonlinearConstraint(lambda x: x[0], 0.5, 1.0, jac="3-point", hess="cs")
    assert minimize(lambda x: x @ x, np.ones(2), constraints=constraint).x[0] == pytest.approx(0.5)
    for name in ("jac", "hess"):
        with refused(errors.OptionError, f"{name} was given"):
            minimize(lambda x: x @ x, np.ones(2), constraints=NonlinearConstraint(
                lambda x: x[0], 0.5, 1.0, **{name: lambda *args: np.ones((1, 2))}))  # fmt: skip


@pytest.mark.parametrize("method", ["Nelder-Mead", "BFGS"])
def test_progress_of_minima_shows_values(method, capsys):
    minimize(lambda x: np.sum(x**2) + 12.5, np.zeros(2), method=method, progress=True)
    assert "value 12.5" in capsys.readouterr().err


def test_callbacks_that_take_more_than_a_result_get_the_tree():
    seen = []
    minimize(
        lambda p: (p["a"] - 1) ** 2, {"a": 0.0}, callback=lambda intermediate_result, more=None: seen.append(
            intermediate_result))  # fmt: skip
    assert seen[-1] == {"a": pytest.approx(1.0)}


@pytest.mark.parametrize("method", ["L-BFGS-B", "trust-constr"])
def test_counts_of_minima_are_left_out_in_programs(method):
    def lowest(a):
        found = minimize(lambda x: (x - a) ** 2, 0.0, method=method)
        seen.append(found)
        return found.x

    seen = []
    assert tape.grad(lowest)(2.0) == pytest.approx(1)
    assert {"status", "message", "nit", "nfev", "njev"} <= set(seen[-1])
    assert seen[-1].success is True
    tape.compile(lowest)(2.0)
    assert set(seen[-1]) == {"x", "fun", "success"}


def test_a_program_says_whether_the_solver_has_ended():
    f = lambda a: minimize(lambda x: np.cosh(x - a), 0.1, options={"maxiter": 2}).success  # noqa: E731
    compiled = tape.compile(f)
    for a, expected in ((0.1, True), (30.0, False), (0.1, True)):
        assert bool(f(a)) is expected
        assert bool(compiled(a)) is expected


def test_functions_of_one_number_have_lone_options():
    f = lambda x: x**4 / 4 - 2 * x  # noqa: E731
    for options in (
        {"bracket": (0.1, 0.2)},
        {"tol": 1e-2},
        {"options": {"maxiter": 3}},
        {"bounds": (0.0, 1.0)},
        {"method": "golden"},
    ):
        ours, theirs = (of.minimize_scalar(f, **options) for of in (optimize, original))
        assert repr(ours) == repr(theirs)
        assert repr(ours) != repr(original.minimize_scalar(f))
    given = {"maxiter": 9}
    optimize.minimize_scalar(f, options=given)
    assert given == {"maxiter": 9}


def test_bounds_of_one_number_are_sides():
    """The upper one, and the lower one."""
    for low, high, slopes in ((0.0, 1.0, (0, 1)), (3.0, 5.0, (1, 0)), (0.0, 5.0, (0, 0))):
        found = tape.grad(
            lambda low, high: (
                optimize.minimize_scalar(lambda x: (x - 2.0) ** 2, bounds=(low, high), method="bounded").x
            ),
            (0, 1),
        )(low, high)
        np.testing.assert_allclose(found, slopes, atol=1e-9)
    for bounds in ((), (1.0,), (0.0, 1.0, 2.0)):
        with refused(errors.OptionError, "Give a pair (low, high)"):
            optimize.minimize_scalar(np.cos, bounds=bounds)


# ---- trees and bounds -------------------------------------------------------------------------------


def test_names_of_elements():
    unknowns = Unknowns({"a": 1.0, "b": [np.ones((2, 2)), np.ones(1)]}, "here")
    names = ["x0['a']", *(f"x0['b'][0][{i}, {j}]" for i in (0, 1) for j in (0, 1)), "x0['b'][1][0]"]
    assert [unknowns.element_name(k) for k in range(6)] == names


@pytest.mark.parametrize(
    ("x0", "bounds", "are_sides"),
    [
        (np.ones(2), (0.0, 1.0), True),
        (np.ones(2), [0.0, 1.0], True),
        ([1.0, 2.0], (0.0, 1.0), True),
        ((1.0, 2.0), ([0.0, 0.0], [1.0, 1.0]), True),
        (1.0, (0.0, 1.0), True),
        ([1.0, np.ones(1)], (0.0, 1.0), False),
        ([[1.0, 3.0], 2.0], (0.0, 1.0), False),
        ({"a": 1.0, "b": 1.0}, (0.0, 1.0), False),
        (np.ones(3), [(0.0, 1.0)] * 3, False),
        (np.ones(2), None, False),
    ],
)
def test_bounds_that_are_a_pair_of_sides(x0, bounds, are_sides):
    found = as_two_sides(bounds, x0)
    if are_sides:
        assert found == (*bounds, False)
    else:
        assert found is bounds


def test_bounds_as_an_object_are_kept_feasible_if_asked():
    for keep in (False, True):
        found = as_two_sides(Bounds([0.0, 0.0], 1.0, keep), np.ones(2))
        assert bool(np.all(found.keep_feasible)) is keep
        assert np.all(Unknowns(np.ones(2), "here").bounds(found).keep_feasible) == keep


def test_values_of_trees_of_other_dtypes_stay_what_they_are():
    """Masks are whole numbers, and what is of floats is as at the start."""
    unknowns = Unknowns({"a": np.float32(1), "b": np.ones(2)}, "here")
    restored = unknowns.restore(np.array([0, 1, -1]))
    assert [restored["a"].dtype.kind, restored["b"].dtype.kind] == ["i", "i"]
    restored = unknowns.restore(np.array([0.5, 1.5, -1.0]))
    assert [restored["a"].dtype, restored["b"].dtype] == [np.float32, np.float64]
