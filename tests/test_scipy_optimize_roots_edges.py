"""Root finders of `scipy.optimize` at the edges of their options: tolerances, lone arguments, reports."""

import numpy as np
import pytest
from scipy import optimize as original

import tape
from tape import errors
from tape.scipy import optimize
from tape.scipy.optimize import root
from tape.scipy.optimize._implicit import is_regular
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


def test_a_fixed_point_of_no_elements_has_a_derivative_of_none():
    def f(a):
        return np.sum(optimize.fixed_point(lambda x, a: np.cos(a * x), np.ones(0), args=(a,)))

    assert tape.grad(f)(np.ones(0)).shape == (0,)
