"""Roots as in `scipy.optimize`: SciPy's numbers, their derivatives, programs, and what is no root."""

import numpy as np
import pytest
from scipy import optimize as original

import tape
from tape import errors
from tape.scipy import optimize
from tape.scipy.optimize._implicit import is_regular
from tests import naive
from tests.op_table.case import Case, positive, real
from tests.scipy_checks import check_compiled, check_derivatives, check_value, refused
from tests.tiers import grid, some

BRACKETING = ["brentq", "brenth", "bisect", "ridder", "toms748"]
FINE = {"xtol": 1e-14, "rtol": 1e-14}


def module(ns):
    return original if ns is naive else optimize


def kepler(x, a, b):
    return x - a * np.sin(x) / 3 - b


def kepler_slope(x, a, b):
    return 1 - a * np.cos(x) / 3


def pair(x, a):
    return [x[0] ** 2 + x[1] - 2 * a[0], x[0] * x[1] - a[1]]


def pair_slopes(x, a):
    return np.array([[2 * x[0], 1.0], [x[1], x[0]]])


CASES = [
    *(
        Case(f"scipy.optimize.{name}",
             lambda ns, a, b, name=name: getattr(module(ns), name)(kepler, -1.0, 4.0, (a, b), **FINE),
             real(), positive())
        for name in BRACKETING
    ),
    Case("scipy.optimize.newton secant", lambda ns, a, b: module(ns).newton(
        kepler, 1.0, args=(a, b), tol=1e-13), real(), positive()),
    Case("scipy.optimize.newton array", lambda ns, a, b: module(ns).newton(
        lambda x: kepler(x, a, b), np.ones((2, 3)), lambda x: 1 - a * np.cos(x) / 3),
        real(3), positive(2, 1)),
    Case("scipy.optimize.newton halley", lambda ns, a, b: module(ns).newton(
        kepler, 1.0, kepler_slope, (a, b), fprime2=lambda x, a, b: a * np.sin(x) / 3), real(), positive()),
    Case("scipy.optimize.root_scalar", lambda ns, a, b: module(ns).root_scalar(
        kepler, (a, b), bracket=(-1.0, 4.0), **FINE).root, real(), positive()),
    Case("scipy.optimize.root_scalar pair", lambda ns, a, b: module(ns).root_scalar(
        lambda x: (kepler(x, a, b), kepler_slope(x, a, b)), x0=1.0, fprime=True, xtol=1e-13).root,
        real(), positive()),
    Case("scipy.optimize.fsolve", lambda ns, a: module(ns).fsolve(
        pair, np.array([1.5, 0.5]), (a,), xtol=1e-13), positive(2)),
    Case("scipy.optimize.fsolve fprime", lambda ns, a: module(ns).fsolve(
        pair, np.array([1.5, 0.5]), a, pair_slopes, xtol=1e-13), positive(2)),
    Case("scipy.optimize.fixed_point", lambda ns, a: module(ns).fixed_point(
        lambda x: np.cos(a * x) / 2, np.full(3, 0.5), xtol=1e-13), real(3)),
    Case("scipy.optimize.fixed_point iteration", lambda ns, a: module(ns).fixed_point(
        lambda x, a: np.cos(a * x) / 2, 0.5, (a,), xtol=1e-14, method="iteration"), real()),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value_is_that_of_scipy(case):
    check_value(case, 0.0)


@pytest.mark.parametrize("case", some(CASES, every=2), ids=str)
def test_derivatives_are_differences_of_scipys_values(case):
    check_derivatives(case)


@pytest.mark.parametrize("case", some(CASES, every=8), ids=str)
def test_second_derivatives(case):
    tape.testing.check_grads(case.on(tape.ops), tuple(case.args()), order=2)


@pytest.mark.parametrize("case", some(CASES, every=3), ids=str)
def test_compiled_is_eager(case):
    check_compiled(case)


@pytest.mark.parametrize("case", some(CASES, every=4), ids=str)
def test_batches_are_their_examples(case):
    batch = [np.stack(pair) for pair in zip(case.args(), case.args(salt=1), strict=True)]
    for f in (case.on(tape.ops), tape.grad(lambda *args: np.sum(case.on(tape.ops)(*args)))):
        each = [f(*(arg[i] for arg in batch)) for i in range(2)]
        np.testing.assert_allclose(tape.vmap(f)(*batch), each, rtol=1e-12)
        np.testing.assert_allclose(tape.compile(tape.vmap(f))(*batch), each, rtol=1e-12)


# ---- what the root depends on ------------------------------------------------------------------------


@grid(name=BRACKETING, compiled=[False, True])
def test_the_root_depends_on_the_function_and_not_on_the_bracket(name, compiled):
    """The function may take trees, and close over Vars of several transforms."""

    def root(p, low, high):
        def f(x, q):
            return q["a"] * np.exp(x) - tape.grad(lambda y: y**2 * p["b"])(1.0)

        return getattr(optimize, name)(f, low, high, ({"a": p["a"]},))

    f = tape.grad(root, (0, 1, 2))
    f = tape.compile(f) if compiled else f
    for low, high in ((-2.0, 3.0), (-1.0, 2.5)):
        slopes, by_low, by_high = f({"a": 2.0, "b": 3.0}, low, high)
        assert slopes["a"] == pytest.approx(-1 / 2, rel=1e-12)
        assert slopes["b"] == pytest.approx(1 / 3, rel=1e-12)
        assert by_low == by_high == 0


def test_gradients_are_of_the_dtype_of_the_arguments():
    for dtype in (np.float32, np.float64):
        slope = tape.grad(lambda a: optimize.brentq(lambda x: x**3 - a, 0.0, 3.0))(dtype(8))
        assert slope.dtype == dtype
        assert slope == pytest.approx(1 / 12, rel=1e-6)


def test_a_crude_root_is_differentiated_at_the_exact_one():
    """The tolerance of the solver is not one of the derivative."""
    for f in (
        lambda a: optimize.bisect(lambda x: x**2 - a, 0.0, 3.0, xtol=1e-5),
        lambda a: optimize.fixed_point(lambda x: x - (x - a / x) / 5, 1.0, xtol=1e-5, method="iteration"),
    ):
        assert abs(f(2.0) - 2**0.5) > 1e-9
        assert tape.grad(f)(2.0) == pytest.approx(8**-0.5, rel=1e-12)
        assert tape.grad(tape.grad(f))(2.0) == pytest.approx(-(2**-1.5) / 4, rel=1e-12)


@pytest.mark.parametrize("a", [1e10, 1e-6])
def test_a_relative_tolerance_is_a_share_of_the_root(a):
    """Of a large root and of a small one, which are found to a hundredth."""
    options = {"bracket": (0.0, 3 * a**0.5), "method": "bisect", "xtol": 1e-12, "rtol": 1e-2}
    f = lambda a: optimize.root_scalar(lambda x: x**2 - a, **options).root  # noqa: E731
    assert 1e-2 > abs(f(a) / a**0.5 - 1) > 1e-6
    assert tape.grad(f)(a) == pytest.approx(0.5 * a**-0.5, rel=1e-12)


def test_the_exact_root_is_the_one_that_was_found():
    """With a coarse tolerance Newton's method must not lead to another root."""

    def crossing(a):
        return optimize.bisect(lambda x: np.sin(10 * x) - a, 3.0, 3.4, xtol=0.05)

    assert crossing(0.0) == pytest.approx(np.pi, abs=0.05)
    assert tape.grad(crossing)(0.0) == pytest.approx(0.1, rel=1e-12)
    with refused(errors.ConvergenceError, "no root", "smaller"):
        tape.grad(lambda a: optimize.bisect(lambda x: x**3 - 2 * x + 2 - a, -3.0, 3.0, xtol=4.0))(0.0)


def test_arguments_without_vars_are_passed_as_they_are():
    """They may be written to, and be lists that the function appends to."""
    seen, scratch = [], np.zeros(1)

    def f(x, seen, scratch):
        seen.append(x)
        scratch[0] += 1
        return x**2 - 2

    optimize.brentq(f, 0.0, 2.0, (seen, scratch))
    optimize.root(lambda x, *args: f(x, *args), np.ones(1), (seen, scratch))
    assert len(seen) == scratch[0] > 10


@pytest.mark.parametrize("name", [*BRACKETING, "newton", "root_scalar"])
def test_reports_are_those_of_scipy(name):
    def report(module, a):
        if name == "root_scalar":
            return module.root_scalar(lambda x: x**3 - a, x0=1.0, x1=1.5)
        where = (1.0,) if name == "newton" else (0.5, 3.0)
        root, found = getattr(module, name)(lambda x: x**3 - a, *where, full_output=True)
        assert root is found.root
        return found

    expected, found = report(original, 2.0), report(optimize, 2.0)
    assert repr(found) == repr(expected)
    with tape.Trace() as trace:
        found = report(optimize, trace.param(2.0))
    assert isinstance(found.root, tape.Var)
    for key in ("iterations", "function_calls", "converged", "flag", "method"):
        assert found[key] == expected[key]


def test_reports_of_several_roots():
    trace = tape.Trace()
    for given in (np.array([2.0, 3.0]), trace.param(np.array([2.0, 3.0]))):
        found = optimize.newton(lambda x, a=given: x**2 - a, np.ones(2), full_output=True)
        assert found.converged.tolist() == [True, True]
        assert found.zero_der.tolist() == [False, False]
        x, info, status, message = optimize.fsolve(lambda x, a=given: x**2 - a, np.ones(2), full_output=True)
        expected = original.fsolve(lambda x: x**2 - np.array([2.0, 3.0]), np.ones(2), full_output=True)
        assert (status, message, info["nfev"]) == (1, expected[3], expected[1]["nfev"])
        np.testing.assert_array_equal(np.array(tape.stop_gradient(x)), expected[0])


def test_reports_of_several_roots_in_programs_and_batches_have_no_counts():
    f = lambda a: optimize.newton(lambda x: x**2 - a, np.array([1.0, 2.0]), full_output=True)  # noqa: E731
    batch = tape.vmap(f)(np.array([4.0, 9.0]))
    np.testing.assert_allclose(batch.root, [[2.0, 2.0], [3.0, 3.0]], rtol=1e-12)
    assert batch.converged.tolist() == [[True, True]] * 2
    assert batch.zero_der.tolist() == [[False, False]] * 2
    assert tape.compile(f)(4.0).converged.tolist() == [True, True]


def test_a_system_that_is_not_solved_is_told_as_in_scipy():
    with pytest.warns(RuntimeWarning, match="not making good progress"):
        found = optimize.fsolve(lambda x: x**2 + 1, 1.0)
    with pytest.warns(RuntimeWarning, match="not making good progress"):
        assert found == original.fsolve(lambda x: x**2 + 1, 1.0)


def test_names_are_all_of_scipys():
    assert {"brentq", "minimize", "fmin", "OptimizeResult"} <= set(dir(optimize))
    assert dir(optimize) == sorted(dir(optimize))


# ---- what is no root, and what has no derivative ----------------------------------------------------


VANISHING = {
    "brentq": lambda a: optimize.brentq(lambda x: (x - 1) ** 3 - a, 0.0, 3.0, xtol=1e-6, rtol=1e-6),
    "exact": lambda a: optimize.bisect(lambda x: x**3 - a, -1.0, 1.0),
    "newton": lambda a: optimize.newton(lambda x: x**2 - a, 1.0),
    "fixed_point": lambda a: optimize.fixed_point(lambda x: x - x**3 + a, 0.1, xtol=1e-3, maxiter=10**5),
    "singular matrix": lambda a: optimize.fsolve(lambda x: np.stack([x[0] - a, (x[0] + 1) * x[1] ** 3]),
                                                 np.array([1.0, 0.0]))[0],
    "kink": lambda a: optimize.brentq(lambda x: np.maximum(x, 3 * x) - a, -1.0, 2.0),
}  # fmt: skip


@grid(name=VANISHING, mode=["grad", "jvp", "compiled"])
def test_a_vanishing_derivative_is_an_error(name, mode):
    """The theorem gives no number there, and what comes out of a division would be any."""
    f = VANISHING[name]
    differentiated = {
        "grad": tape.grad(f),
        "jvp": lambda a: tape.jvp(f, (a,), (1.0,)),
        "compiled": tape.compile(tape.grad(f)),
    }[mode]
    with refused(errors.SingularMatrixError, "the derivative of the function vanishes", "double root"):
        differentiated(0.0)
    assert np.isfinite(f(0.0))


def test_a_program_notices_a_vanishing_derivative():
    slope = tape.compile(tape.grad(lambda a: optimize.bisect(lambda x: x**3 - a, -1.0, 1.0)))
    assert slope(0.125) == pytest.approx(4 / 3)
    with refused(errors.SingularMatrixError, "vanishes"):
        slope(0.0)
    assert slope(-0.125) == pytest.approx(4 / 3)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, a: np.sign(x - 0.3) + 0.1 * x - a,
        lambda x, a: np.where(x > 1.5, 1.0, -1.0) + 0.1 * x * (1 + a),
    ],
)
def test_a_jump_is_no_root(f):
    with refused(errors.ConvergenceError, "no root", "jumps"):
        tape.grad(lambda a: optimize.brentq(f, -1.0, 2.0, (a,)))(0.0)


def test_what_has_not_converged_is_not_differentiated():
    for call in (
        lambda a: optimize.brentq(lambda x: x**3 - a, 0.0, 3.0, maxiter=2, disp=False),
        lambda a: optimize.root_scalar(lambda x: x**3 - a, bracket=(0.0, 3.0), maxiter=2).root,
        lambda a: optimize.fsolve(lambda x: x**3 - a, 1.0, maxfev=2, full_output=True)[0][0],
    ):
        call(2.0)
        with refused(errors.ConvergenceError, "would be differentiated as a root"):
            tape.grad(call)(2.0)
    with refused(errors.ConvergenceError, "brentq: Failed to converge after 2 iterations", "maxiter"):
        optimize.brentq(lambda x: x**3 - 2, 0.0, 3.0, maxiter=2)


@pytest.mark.parametrize("name", [*BRACKETING, "root_scalar"])
@pytest.mark.parametrize("given", ["plain", "Var"])
def test_errors_of_scipy_and_of_the_function(name, given):
    """SciPy's are ours; those of the caller's function stay what they are."""

    def solve(f, *where):
        if name == "root_scalar":
            return optimize.root_scalar(f, bracket=where)
        return getattr(optimize, name)(f, *where)

    trace = tape.Trace()
    a = 1.0 if given == "plain" else trace.param(1.0)
    with refused(errors.OptionError, f"{name}: ", "Plot the function", "optimize_roots.py"):
        solve(lambda x: x**2 + a, -1.0, 2.0)

    def failing(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$") as found:
        solve(failing, 0.0, 1.0)
    assert not isinstance(found.value, errors.TapeError)


def test_complex_roots_are_scipys_and_are_not_differentiated():
    assert optimize.newton(lambda x: x**2 + 1, 0.5 + 1j) == original.newton(lambda x: x**2 + 1, 0.5 + 1j)
    with refused(errors.DTypeError, "complex roots", "tape.root"):
        tape.grad(lambda a: np.real(optimize.newton(lambda x: x**2 + a, 0.5 + 1j)))(1.0)


@pytest.mark.parametrize(
    "solve",
    [
        lambda start, a: optimize.newton(lambda x: x**2 - a, start),
        lambda start, a: optimize.minimize(lambda x: (x - a**0.5) ** 2, start).x,
        lambda start, a: optimize.brentq(lambda x: x**2 - a, start, 9.0),
    ],
)
def test_nothing_flows_forwards_from_the_start_alone(solve):
    value, moved = tape.jvp(lambda start: solve(start, 4.0), (1.5,), (1.0,))
    assert value == pytest.approx(2.0)
    assert moved == 0
    assert tape.jvp(solve, (1.5, 4.0), (1.0, 1.0))[1] == pytest.approx(1 / 4)


def test_methods_that_do_not_exist_are_refused():
    with refused(errors.OptionError, "fixed_point: unknown method 'newton'", "iteration"):
        optimize.fixed_point(np.cos, 1.0, method="newton")
    with refused(errors.OptionError, "minimize_scalar: bounds are", "a pair"):
        optimize.minimize_scalar(np.cos, bounds=(0.0, 1.0, 2.0))


def test_the_least_of_several_numbers_is_no_minimum():
    """The solver has seen one of plain numbers."""
    several = lambda x, a: (x - a) ** 2 * (1.0 if isinstance(x, float) else np.ones(2))  # noqa: E731
    with refused(errors.ShapeError, "minimize_scalar: the function returned shape [2]", "a number"):
        tape.grad(lambda a: optimize.minimize_scalar(several, args=(a,)).x)(1.0)


def test_random_functions_are_refused():
    rng = tape.random.default_rng(0)
    with refused(errors.UnsupportedError, "drew random numbers", "brentq"):
        optimize.brentq(lambda x: x - rng.normal(), -9.0, 9.0)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e6])
def test_units_of_equations_and_unknowns_make_no_matrix_singular(size, unit):
    rng = np.random.default_rng(size)
    rows, columns = (np.diag(unit ** rng.permutation(size).astype(float)) for _ in range(2))
    matrix = rng.normal(size=(size, size))
    assert is_regular(rows @ matrix @ columns)
    matrix[-1] = matrix[:-1].sum(axis=0)
    assert not is_regular(rows @ matrix @ columns)
    assert not is_regular(np.full((size, size), np.nan))
    assert not is_regular(np.diag(np.arange(float(size))))
