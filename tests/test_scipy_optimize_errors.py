"""What the solvers over trees refuse, and how they say it."""

import inspect
import re

import numpy as np
import pytest
from scipy import optimize

import tape
from tape import errors, scipy
from tape.scipy.optimize import _curve_fit, _least_squares, curve_fit, least_squares, minimize, root
from tests.scipy_checks import refused
from tests.test_scipy_optimize import START, T, Y, circle, decay, flat_decay, quadratic


def test_integers_are_refused():
    with refused(errors.DTypeError, "x0['n']", "int64[2]", "dtype=float"):
        minimize(lambda p: p["n"].sum(), {"n": np.arange(2)})
    with refused(errors.DTypeError, "p0", "3"):
        curve_fit(lambda x, p: p * x, T, Y, 3)


def test_a_start_without_numbers_is_refused():
    with refused(errors.ShapeError, "x0 holds no numbers"):
        minimize(lambda p: 1.0, {})


def test_options_do_not_take_vars():
    for call in (
        lambda a: minimize(lambda x: x**2, 1.0, tol=a),
        lambda a: minimize(lambda x: x**2, 1.0, options={"gtol": a}),
        lambda a: least_squares(lambda x: x - 1, 1.0, f_scale=a),
        lambda a: root(lambda x: x - 1, 1.0, tol=a),
        lambda a: curve_fit(lambda x, p: p * x, T, Y, 1.0, gtol=a),
    ):
        with refused(errors.ConversionError, "options", "is Var", "do not depend on options", ".value"):
            tape.grad(lambda a, call=call: call(a) and a**2)(1e-3)


def test_values_may_be_closed_over():
    for method in ("Nelder-Mead", "BFGS", "trust-exact"):
        slope = tape.grad(lambda a, m=method: a * minimize(lambda x: (x - a.value) ** 2, 0.5, method=m).x)(
            2.0
        )
        assert slope == pytest.approx(2.0, abs=1e-4)


@pytest.mark.parametrize("method", ["BFGS", "Nelder-Mead"])
def test_what_is_no_scalar_is_refused_here(method):
    with refused(errors.ShapeError, "<lambda> returned float64[2], not a scalar", "optimize_errors.py"):
        minimize(lambda x: x * 2.0, np.ones(2), method=method)
    with refused(errors.ShapeError, "a tree (*, *), not a scalar"):
        minimize(lambda x: (x, x), 1.0, method=method)


def test_what_is_no_real_number_is_refused_here():
    with refused(errors.DTypeError, "minimize: <lambda> returned complex128[]", "a real number"):
        minimize(lambda x: 1j * x**2, 1.0)
    for other in (1j, "word"):
        with refused(
            errors.DTypeError, f"least_squares: the result['b'] of <lambda> is {other!r}", "numbers"
        ):
            least_squares(lambda x, other=other: {"a": x, "b": other}, np.ones(1))


@pytest.mark.parametrize(("solver", "method"), [(minimize, "Newton"), (root, "newton"), (minimize, 3)])
def test_unknown_methods_are_refused(solver, method):
    with refused(errors.OptionError, repr(method), "Use one of"):
        solver(lambda x: x**2, 1.0, method=method)


@pytest.mark.parametrize("name", ["jac", "hess", "hessp"])
def test_derivatives_are_not_asked_for(name):
    with refused(errors.OptionError, name, "exact already"):
        minimize(lambda x: x**2, 1.0, **{name: lambda x: 2 * x})


DERIVATIVES = [
    (root, ["jac"]),
    (least_squares, ["jac", "diff_step", "workers"]),
    (lambda f, start, **options: curve_fit(decay, T, Y, {"scale": 1.0, "rate": start}, **options),
     ["jac", "diff_step", "jac_sparsity", "workers", "Dfun"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("solver", "name"), [(solver, name) for solver, names in DERIVATIVES for name in names]
)
def test_nor_is_how_others_find_them(solver, name):
    with refused(errors.OptionError, f": {name} was given", "exact already"):
        solver(lambda x: x, np.ones(2), **{name: 1})


def test_all_other_options_of_least_squares_are_taken():
    """Those that SciPy has: if it has more, we take them or say why not."""
    ours = {"fun", "x0", "bounds", "args", "kwargs", "jac_sparsity", *DERIVATIVES[1][1]}
    theirs = set(inspect.signature(optimize.least_squares).parameters) - ours
    newer = {"callback"}
    assert theirs <= set(_least_squares.OPTIONS) <= theirs | newer
    of_leastsq = set(inspect.signature(optimize.leastsq).parameters)
    assert set(_curve_fit._OPTIONS) <= {*_least_squares.OPTIONS, *of_leastsq, "check_finite"}
    assert set(DERIVATIVES[2][1]) - set(DERIVATIVES[1][1]) <= of_leastsq | {"jac_sparsity"}
    for name in theirs - newer:
        default = inspect.signature(optimize.least_squares).parameters[name].default
        least_squares(lambda x: x - 1, np.ones(2), **{name: default})


SOLVE = {
    "minimize": lambda **options: minimize(quadratic, START, **options),
    "root": lambda **options: root(lambda x: x**2 - 2, np.ones(2), **options),
    "least_squares": lambda **options: least_squares(lambda x: x - 1, np.ones(2), **options),
    "curve_fit": lambda **options: curve_fit(flat_decay, T, Y, np.ones(3), **options),
}
REFUSED = {"jac", "hess", "hessp", "diff_step", "workers", "full_output", "nan_policy"}


@pytest.mark.parametrize("solver", SOLVE)
def test_options_of_scipy_are_taken_or_refused_by_name(solver):
    """Those that are taken may be given as what they are anyway."""
    for name, parameter in inspect.signature(getattr(optimize, solver)).parameters.items():
        if parameter.default is parameter.empty or name in ("p0", "kwargs"):
            continue
        if name in REFUSED:
            with refused(errors.OptionError, name):
                SOLVE[solver](**{name: parameter.default})
        else:
            SOLVE[solver](**{name: parameter.default})


OF_TREES = {
    "minimize": lambda f, x0=1.0, **options: minimize(f, x0, **options),
    "root": lambda f, x0=1.0, **options: root(f, x0, **options),
    "least_squares": lambda f, x0=1.0, **options: least_squares(f, x0, **options),
    "curve_fit": lambda f, x0=1.0, **options: curve_fit(lambda t, p: f(p) * t, T, Y, x0, **options),
}
OPTION = {"least_squares": "f_scale", "curve_fit": "gtol"}


@pytest.mark.parametrize("solver", OF_TREES)
def test_all_errors_of_a_solver_name_it(solver):
    solve, square, x = OF_TREES[solver], lambda x: x**2, tape.Trace().param(0.5)
    for error, said, call in (
        (errors.OptionError, ": no option 'unknown'", lambda: solve(square, unknown=1)),
        (errors.OptionError, ": jac was given", lambda: solve(square, jac=square)),
        (errors.ConversionError, ": options", lambda: solve(square, **{OPTION.get(solver, "tol"): x})),
        (errors.DTypeError, ": ", lambda: solve(square, 3)),
        (errors.DTypeError, ": ", lambda: solve(lambda x: 1j * x)),
        (errors.ShapeError, ": ", lambda: solve(square, {})),
    ):
        with pytest.raises(error, match=rf"^tape\.scipy\.{solver}{said}"):
            call()


WITH_FUNCTION = {
    **{name: lambda f, name=name: getattr(scipy.optimize, name)(f, 0.0, 3.0)
       for name in ("bisect", "brenth", "brentq", "ridder", "toms748")},
    "newton": lambda f: scipy.optimize.newton(f, 1.0),
    "fsolve": lambda f: scipy.optimize.fsolve(f, np.ones(2)),
    "fixed_point": lambda f: scipy.optimize.fixed_point(f, np.ones(2)),
    "root_scalar": lambda f: scipy.optimize.root_scalar(f, bracket=(0.0, 3.0)),
    "minimize_scalar": scipy.optimize.minimize_scalar,
    "tape.scipy.minimize": lambda f: minimize(f, 1.0),
    "tape.scipy.root": lambda f: root(f, 1.0),
    "tape.scipy.least_squares": lambda f: least_squares(f, 1.0),
    "tape.scipy.curve_fit": lambda f: curve_fit(f, T, Y, 1.0),
}  # fmt: skip


@pytest.mark.parametrize("solver", WITH_FUNCTION)
def test_what_is_no_function_is_an_error_that_names_the_solver(solver):
    with pytest.raises(
        errors.UnsupportedError, match=rf"^{re.escape(solver)} expects a function, and got 3,"
    ):
        WITH_FUNCTION[solver](3)


def test_derivatives_are_not_asked_for_elsewhere():
    constraint = {"type": "eq", "fun": circle, "jac": circle}
    for call in (
        lambda: least_squares(lambda x: x, np.ones(2), jac="2-point"),
        lambda: root(lambda x: x, np.ones(2), jac=lambda x: x),
        lambda: curve_fit(decay, T, Y, {"scale": 1.0, "rate": np.ones(2)}, jac="3-point"),
        lambda: minimize(quadratic, START, constraints=constraint),
        lambda: minimize(
            quadratic, START, constraints=optimize.NonlinearConstraint(circle, 0, 1, jac=lambda x: x)
        ),
    ):
        with refused(errors.OptionError, "exact already"):
            call()


def test_unknown_options_are_refused():
    with refused(errors.OptionError, "no option 'maxiter'", "pass options of the method as options="):
        minimize(lambda x: x**2, 1.0, maxiter=3)
    with refused(errors.OptionError, "no option 'full_output'", "maxfev"):
        curve_fit(decay, T, Y, {"scale": 1.0, "rate": np.ones(2)}, full_output=True)


@pytest.mark.parametrize(
    "bounds",
    [
        {"a": (0, 1)},
        {"a": 3, "b": [None]},
        {"a": None, "b": [(np.zeros(3), None)]},
        optimize.Bounds([0, 0], 1),
    ],
)
def test_bounds_that_do_not_fit_are_refused(bounds):
    with refused(errors.ShapeError, "bounds"):
        minimize(quadratic, START, bounds=bounds)


def test_constraints_that_are_none_are_refused():
    with refused(errors.OptionError, "is not a constraint"):
        minimize(quadratic, START, constraints=[circle])


def test_counts_that_do_not_fit_are_refused():
    with refused(errors.OptionError, "the number of parameters of max is unknown", "Pass p0"):
        curve_fit(max, T, Y)
    with refused(errors.ShapeError, "3 residuals for 2 unknowns", "least_squares"):
        root(lambda x: np.concatenate([x, x[:1]]), np.ones(2))
    with refused(errors.ShapeError, "shape ()", "float64[30]"):
        curve_fit(lambda x, p: p["scale"] ** 2, T, Y, {"scale": 1.0})


@pytest.mark.parametrize("solver", ["bisect", "brenth", "brentq", "ridder", "toms748", "minimize_scalar"])
def test_solvers_for_real_numbers_refuse_complex_functions(solver):
    trace = tape.Trace()
    for a in (2.0, trace.param(2.0)):
        with pytest.raises(errors.DTypeError, match=f"^{solver}: the function returned .*complex128"):
            WITH_FUNCTION[solver](lambda x, a=a: (x - 1.0) * (a + 1j))
