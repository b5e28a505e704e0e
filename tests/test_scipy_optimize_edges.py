"""Solvers of `scipy.optimize` at the edges of their options: tolerances, lone arguments, names, reports."""

import numpy as np
import pytest
from scipy import optimize as original
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint
from scipy.sparse import csr_array

import tape
from tape import errors
from tape.scipy import optimize
from tape.scipy.optimize import _optimality, curve_fit, least_squares, minimize, root
from tape.scipy.optimize._curve_fit import _of_one_tree
from tape.scipy.optimize._functions import Latest
from tape.scipy.optimize._implicit import is_regular
from tape.scipy.optimize._layout import Unknowns, as_two_sides
from tape.scipy.optimize._linear import _box
from tape.scipy.optimize._minimize import _kind_of
from tape.scipy.optimize._optimality import Conditions, Limits
from tape.scipy.optimize._roots import NO_ROOT, VANISHING, certified_root
from tests.scipy_checks import refused

BRACKETING = ["brentq", "brenth", "bisect", "ridder", "toms748"]


# ---- roots of functions of one number -----------------------------------------------------------------


def cube(x, a):
    return x**3 - a


LONE = {
    **{name: lambda of, a, name=name: getattr(of, name)(cube, 0.0, 3.0, a) for name in BRACKETING},
    "newton": lambda of, a: of.newton(cube, 1.0, args=a),
    "root_scalar": lambda of, a: of.root_scalar(cube, a, bracket=(0.0, 3.0)).root,
    "fsolve": lambda of, a: of.fsolve(cube, 1.0, a)[0],
    "fixed_point": lambda of, a: of.fixed_point(lambda x, a: x - cube(x, a) / 12, 1.5, a),
    "minimize_scalar": lambda of, a: of.minimize_scalar(lambda x, a: x**4 / 4 - a * x, args=a).x,
    "root": lambda of, a: of.root(cube, np.array([1.0]), a).x[0],
}


@pytest.mark.parametrize("name", LONE)
def test_a_lone_argument_need_not_be_a_tuple(name):
    value, slope = tape.value_and_grad(lambda a: LONE[name](optimize, a))(8.0)
    assert value == pytest.approx(2.0, rel=1e-6)
    assert slope == pytest.approx(1 / 12, rel=1e-6)


COUNTED = {
    **{f"{name} xtol": (name, (0.0, 3.0), {"xtol": 1e-3}) for name in BRACKETING},
    **{f"{name} rtol": (name, (0.0, 3.0), {"rtol": 1e-3}) for name in BRACKETING},
    **{f"{name} maxiter": (name, (0.0, 3.0), {"maxiter": 3, "disp": False}) for name in BRACKETING},
    "toms748 k": ("toms748", (0.0, 3.0), {"k": 3}),
    "newton x1": ("newton", (1.0,), {"x1": 2.5}),
    "newton tol": ("newton", (1.0,), {"tol": 0.1}),
    "newton rtol": ("newton", (1.0,), {"rtol": 0.1}),
    "newton maxiter": ("newton", (1.0,), {"maxiter": 2, "disp": False}),
    "newton fprime": ("newton", (1.0,), {"fprime": lambda x: 3 * x**2}),
    "newton fprime2": ("newton", (1.0,), {"fprime": lambda x: 3 * x**2, "fprime2": lambda x: 6 * x}),
}


@pytest.mark.parametrize("name", COUNTED)
def test_options_of_root_finders_arrive_at_scipy(name):
    """As many calls as SciPy's with them, and other ones than without."""
    solver, where, options = COUNTED[name]

    def report(of, **options):
        return getattr(of, solver)(lambda x: x**3 - 2, *where, full_output=True, **options)[1]

    found = report(optimize, **options)
    assert repr(found) == repr(report(original, **options))
    assert repr(found) != repr(report(original))


@pytest.mark.parametrize("name", [*BRACKETING, "newton"])
def test_a_relative_tolerance_of_a_large_root_is_no_lack_of_one(name):
    """What is found is a millionth off, as was allowed."""

    def found(a):
        f = lambda x: np.exp(x / 1e6) - a  # noqa: E731
        if name == "newton":
            return optimize.newton(f, 1.8e6, tol=1e-9, rtol=0.3)
        return getattr(optimize, name)(f, 0.0, 3e6, xtol=1e-9, rtol=0.3)

    value, slope = tape.value_and_grad(found)(5.0)
    assert 0.3 > abs(value / (1e6 * np.log(5)) - 1) > 1e-8
    assert slope == pytest.approx(2e5, rel=1e-12)


CRUDE = {
    "of secants": {"x0": 1.0, "x1": 1.5},
    "of secants, given": {"x0": 1.0, "x1": 1.5, "xtol": 1e-8},
    "of options": {"bracket": (0.0, 3.0), "method": "bisect", "options": {"xtol": 1e-8}},
    "of options first": {"bracket": (0.0, 3.0), "method": "bisect", "xtol": 1e-13, "options": {"xtol": 1e-8}},
}


@pytest.mark.parametrize("name", CRUDE)
def test_the_tolerance_of_root_scalar_is_the_one_that_scipy_stops_at(name):
    """Of a root at 2e-8 it is found to a fourth, and derivatives are those of the exact one."""
    options = dict(CRUDE[name])
    for key in ("x0", "x1"):
        if key in options:
            options[key] *= 1e-8
    if "bracket" in options:
        options["bracket"] = (0.0, 3e-8)
    f = lambda a: optimize.root_scalar(lambda x: (x * 1e8) ** 3 - a, **options).root  # noqa: E731
    value, slope = tape.value_and_grad(f)(8.0)
    assert abs(value - 2e-8) > 1e-10
    assert slope == pytest.approx(1e-8 / 12, rel=1e-12)


def test_a_tolerance_by_its_other_name_counts_as_well():
    """It is a coarser one than the default."""
    options = {"x0": 1e-5, "x1": 1.5e-5, "options": {"tol": 1e-5}}
    f = lambda a: optimize.root_scalar(lambda x: (x * 1e5) ** 3 - a, **options).root  # noqa: E731
    value, slope = tape.value_and_grad(f)(8.0)
    assert abs(value - 2e-5) > 1e-7
    assert slope == pytest.approx(1e-5 / 12, rel=1e-12)


@pytest.mark.parametrize("name", [*BRACKETING, "root_scalar"])
def test_a_small_jump_beside_a_large_number_is_no_root(name):
    def crossing(a):
        f = lambda x: x - a + 0.05 * np.sign(x - 100.0)  # noqa: E731
        if name == "root_scalar":
            return optimize.root_scalar(f, bracket=(0.0, 201.0)).root
        return getattr(optimize, name)(f, 0.0, 201.0)

    with refused(errors.ConvergenceError, "what was found is no root"):
        tape.grad(crossing)(100.0)


def test_a_fine_bracket_is_not_taken_for_a_crude_one():
    """Of a bracket the tolerance is 2e-12, within which the slope hardly changes, and not that of secants."""
    f = lambda x, a: x + 1e9 * x**2 - a  # noqa: E731
    found = tape.grad(lambda a: optimize.root_scalar(f, (a,), bracket=(-4e-10, 1e-9)).root)
    assert found(0.0) == pytest.approx(1, rel=1e-9)
    with refused(errors.SingularMatrixError, "too small to be known"):
        tape.grad(lambda a: optimize.root_scalar(f, (a,), x0=1e-12, x1=2e-12).root)(0.0)


@pytest.mark.parametrize("given", ["functions", "tuple"])
def test_halleys_method_of_root_scalar(given):
    def solved(of, a):
        slopes = {"fprime": lambda x: 3 * x**2, "fprime2": lambda x: 6 * x}
        if given == "tuple":
            return of.root_scalar(
                lambda x: (x**3 - a, 3 * x**2, 6 * x), fprime=True, fprime2=True, x0=1.0, method="halley"
            )
        return of.root_scalar(lambda x: x**3 - a, x0=1.0, method="halley", **slopes)

    assert repr(solved(optimize, 8.0)) == repr(solved(original, 8.0))
    assert tape.grad(lambda a: solved(optimize, a).root)(8.0) == pytest.approx(1 / 12, rel=1e-12)


@pytest.mark.parametrize("name", ["brentq", "newton", "root_scalar"])
def test_reports_leave_out_counts_where_they_vary_and_only_there(name):
    def counts(a):
        f = lambda x: x**3 - a  # noqa: E731
        if name == "root_scalar":
            found = optimize.root_scalar(f, bracket=(0.5, 3.0))
        else:
            where = (1.0,) if name == "newton" else (0.5, 3.0)
            root, found = getattr(optimize, name)(f, *where, full_output=True)
            assert found.root is root
        seen.append((found.iterations, found.function_calls))
        return found.root

    seen = []
    tape.grad(counts)(2.0)
    assert None not in seen.pop()
    tape.compile(counts)(2.0)
    assert seen.pop() == (None, None)
    tape.vmap(counts)(np.array([2.0, 3.0]))
    assert seen.pop() == (None, None)


def test_some_of_several_roots_are_missing():
    """SciPy returns what it has, which is not differentiated."""
    find = lambda a: optimize.newton(  # noqa: E731
        lambda x: x**2 - a, np.array([1.4, 50.0]), lambda x: 2 * x, maxiter=4, full_output=True
    )
    with pytest.warns(RuntimeWarning, match="some failed"):
        found = find(np.full(2, 2.0))
    assert found.converged.tolist() == [True, False]
    with (
        pytest.warns(RuntimeWarning, match="some failed"),
        refused(errors.ConvergenceError, "newton(<lambda>): some roots have not been found. What was found"),
    ):
        tape.grad(lambda a: np.sum(find(a * np.ones(2)).root))(2.0)


@pytest.mark.parametrize("is_complex", [False, True])
def test_a_program_finds_out_anew_whether_there_is_a_root_to_differentiate(is_complex):
    def found(a):
        if is_complex:
            return np.sum(np.real(optimize.fixed_point(lambda x: np.where(a > 4, 1j, 1.0) * x**0 * a, 1.0)))
        return optimize.bisect(lambda x: x**3 - a, 0.0, 4.0, maxiter=3, disp=False)

    compiled = tape.compile(found)
    if is_complex:
        with refused(errors.DTypeError, "complex roots"):
            compiled(8.0)
    else:
        assert compiled(8.0) == 2.0
        with refused(errors.ConvergenceError, "would be differentiated as a root"):
            compiled(2.0)


def test_an_equation_for_each_unknown():
    f = lambda x, a: x**2 - a if isinstance(x, np.ndarray) else (x**2 - a)[:1]  # noqa: E731
    with refused(errors.ShapeError, "newton(<lambda>): the function returned shape [1] for x of shape [2]"):
        tape.grad(lambda a: np.sum(optimize.newton(f, np.array([1.0, 2.0]), args=(a,))))(np.array([2.0, 3.0]))


CERTIFIED = {
    # function, start, width, reach: fault, and the root
    "exact": (lambda x: x**2 - 4, 2.0, 0.0, 0.0, 0, 2.0),
    "near": (lambda x: x**2 - 4, 2.001, 0.0, 1e-2, 0, 2.0),
    "farther than allowed": (lambda x: x**2 - 4, 2.001, 0.0, 1e-4, NO_ROOT, 2.001),
    "large": (lambda x: x - 1e9, 1e9 + 0.5, 0.0, 0.0, 0, 1e9),
    "too large": (lambda x: x - 1e9, 1e9 + 5.0, 0.0, 0.0, NO_ROOT, 1e9 + 5.0),
    "small": (lambda x: x - 1e-13, 0.0, 0.0, 0.0, 0, 1e-13),
    "too small": (lambda x: x - 1.2e-13, 0.0, 0.0, 0.0, NO_ROOT, 0.0),
    "flat": (lambda x: x**3, 1e-3, 0.0, 1.0, VANISHING, 1e-3),
    "flat, exactly": (lambda x: x**2, 0.0, 0.0, 1.0, VANISHING, 0.0),
    "bent within the tolerance": (
        lambda x: x + 3e6 * x**2, 0.0, 1.0, 0.0, 0, 0.0),  # by 4 * 1e-10 * 6e6
    "bent more": (lambda x: x + 1e9 * x**2, 0.0, 1.0, 0.0, VANISHING, 0.0),
    "bent elsewhere": (lambda x: x + 1e9 * x**2, 0.0, 1e-12, 0.0, 0, 0.0),
    "bent on the right": (
        lambda x: x + 1e9 * np.maximum(x, 0.0) ** 2, 0.0, 1.0, 0.0, VANISHING, 0.0),
    "bent on the left": (lambda x: x + 1e9 * np.minimum(x, 0.0) ** 2, 0.0, 1.0, 0.0, VANISHING, 0.0),
    "unknown around": (lambda x: np.where(np.abs(x) < 1e-12, x, np.nan * x), 0.0, 1.0, 0.0, 0, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", CERTIFIED)
def test_certificates_of_roots(name):
    f, start, width, reach, fault, expected = CERTIFIED[name]
    found = certified_root(f, np.array([start]), np.array([width]), reach)
    assert found.fault == fault
    np.testing.assert_allclose(found.z, [expected], rtol=1e-15)
    assert found.data.shape == (0,)


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (np.diag([1.0, 1e-150]), True),
        ([[1.0, 1.0], [1.0, 1.0 + 1e-11]], True),
        ([[1.0, 1.0], [1.0, 1.0 + 1e-14]], False),
        ([[1.0, 0.0], [1.0, 0.0]], False),
        ([[1.0, 1.0], [0.0, 0.0]], False),
        ([[1.0, np.inf], [0.0, 1.0]], False),
    ],
)
def test_regular_matrices(matrix, expected):
    assert is_regular(np.array(matrix)) is expected


# ---- systems of equations -----------------------------------------------------------------------------


def rows(x):
    return np.stack([x[0] ** 2 + 3 * x[1] - 2, x[0] * x[1] - 0.1])


SYSTEMS = {
    "xtol": {"xtol": 1e-2},
    "maxfev": {"maxfev": 5},
    "band": {"band": (0, 0)},
    "epsfcn": {"epsfcn": 1e-2},
    "factor": {"factor": 0.1},
    "diag": {"diag": [1.0, 50.0]},
    "fprime": {"fprime": lambda x: np.array([[2 * x[0], 3.0], [x[1], x[0]]])},
    "col_deriv": {"fprime": lambda x: np.array([[2 * x[0], x[1]], [3.0, x[0]]]), "col_deriv": 1},
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_options_of_fsolve_arrive_at_scipy(name):
    def report(of, **options):
        x, info, status, message = of.fsolve(rows, np.array([1.5, 0.9]), full_output=True, **options)
        return x.tolist(), info["nfev"], info["fjac"].tolist(), status, message

    options = SYSTEMS[name]
    assert report(optimize, **options) == report(original, **options)
    assert report(optimize, **options) != report(optimize)


def test_reports_of_systems_in_sweeps_and_in_programs():
    def infos(a):
        x, info, status, message = optimize.fsolve(lambda x: rows(x) * a, [1.5, 0.9], full_output=True)
        seen.append((sorted(info), status, message))
        return x[0]

    seen = []
    slope = tape.grad(infos)(1.0)
    assert slope == pytest.approx(0, abs=1e-12)
    keys, status, message = seen.pop()
    assert (keys, status, message) == (["nfev"], 1, "The solution converged.")
    tape.compile(infos)(1.0)
    assert seen.pop()[0] == []


def test_what_fsolve_does_not_solve_is_told_once_and_only_without_a_report(recwarn):
    f = lambda x: x**2 + 1  # noqa: E731
    assert optimize.fsolve(f, 1.0, full_output=True)[2] != 1
    assert not recwarn.list
    optimize.fsolve(f, 1.0)
    assert [w.category for w in recwarn.list] == [RuntimeWarning]
    assert recwarn.list[0].filename == __file__


@pytest.mark.parametrize("method", ["del2", "iteration"])
def test_options_of_fixed_point_arrive_at_scipy(method):
    f = lambda x: np.cos(x)  # noqa: E731
    for options in ({}, {"xtol": 1e-1}):
        expected = original.fixed_point(f, 1.0, method=method, **options)
        assert optimize.fixed_point(f, 1.0, method=method, **options) == expected
    with refused(errors.ConvergenceError, "fixed_point: Failed to converge after 2 iterations"):
        optimize.fixed_point(f, 1.0, maxiter=2, method=method)


def test_how_far_from_a_solution_solvers_may_stop():
    """At a fixed point that steps of a two hundredth approach, two hundred tolerances off."""
    far = lambda a: optimize.fixed_point(  # noqa: E731
        lambda x: x + (a - x) / 200, 1.0, xtol=1e-3, maxiter=10**4, method="iteration"
    )
    assert abs(far(2.0) - 2) > 0.1
    assert tape.grad(far)(2.0) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(("start", "is_near"), [(8e-6, True), (12e-6, False), (-8e-6, True)])
def test_how_far_from_a_root_other_methods_may_stop(start, is_near):
    """A hundred thousandth, of a root that is zero."""
    stay = {"method": "df-sane", "options": {"fatol": 1.0}}
    slope = tape.grad(lambda a: root(lambda x: x - a, np.array([start]), **stay).x[0])
    assert root(lambda x: x, np.array([start]), **stay).x.tolist() == [start]
    if is_near:
        assert slope(0.0) == 1.0
    else:
        with refused(errors.ConvergenceError, "what was found is no root"):
            slope(0.0)


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_roots_have_counts_but_in_programs(method):
    def solved(a):
        found = root(lambda x: x**3 - a, np.ones(2), method=method)
        seen.append(set(found))
        return np.sum(found.x)

    seen = []
    slope = tape.grad(solved)
    assert slope(8.0) == pytest.approx(1 / 6)
    assert {"x", "fun", "success", "status", "message", "nfev", "njev"} == seen.pop()
    assert tape.compile(slope)(8.0) == pytest.approx(1 / 6)
    assert {"x", "fun", "success"} == seen.pop()


def test_names_of_methods_of_root_may_be_in_capitals():
    found = root(lambda x: x**2 - 2, np.ones(2), method="HYBR")
    assert found.x[0] == pytest.approx(2**0.5)
    assert found.nfev == root(lambda x: x**2 - 2, np.ones(2)).nfev
    with refused(errors.OptionError, "tape.scipy.root: unknown method None"):
        root(lambda x: x**2 - 2, np.ones(2), method=None)


def test_progress_of_roots_shows_half_the_sum_of_squares(capsys):
    root(lambda x: x * 0 + np.array([3.0, 4.0]), np.ones(2), options={"maxfev": 1}, progress=True)
    assert "value 12.5" in capsys.readouterr().err


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
