"""Solvers of SciPy over trees: they converge, with exact derivatives, and give trees back."""

import inspect
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from scipy import optimize
from scipy.sparse.linalg import LinearOperator

import tape
from tape import errors
from tape.scipy.optimize import curve_fit, least_squares, minimize, root
from tape.scipy.optimize._functions import Residuals
from tape.scipy.optimize._layout import Unknowns

FREE = ["Nelder-Mead", "Powell", "COBYLA", "COBYQA"]
GRADIENT = ["CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP"]
HESSP = ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"]
HESS = ["dogleg", "trust-exact"]
MORE = {
    "SLSQP": {"tol": 1e-12},
    "TNC": {"tol": 1e-12},
}
START = {"a": 0.8, "b": [np.array([[0.7], [0.6]])]}
FLAT = np.array([0.8, 0.7, 0.6])
NEAR = {"a": 1.05, "b": [np.array([[1.1], [1.2]])]}  # where the Hessian is positive definite, as dogleg needs


def joined(p):
    return np.concatenate([np.ravel(p["a"]), np.ravel(p["b"][0])])


def rosenbrock(p):
    v = joined(p)
    return np.sum(100 * (v[1:] - v[:-1] ** 2) ** 2 + (1 - v[:-1]) ** 2)


def rosenbrock_residuals(p):
    v = joined(p)
    return {"valley": 10 * (v[1:] - v[:-1] ** 2), "slope": [1 - v[:-1]]}


def quadratic(p):
    return (p["a"] - 1) ** 2 + np.sum((p["b"][0] - p["a"]) ** 2)


def assert_tree_near(found, expected, tolerance):
    assert list(found) == list(expected)
    np.testing.assert_allclose(joined(found), joined(expected), rtol=0, atol=tolerance)
    assert np.shape(found["a"]) == ()
    assert found["b"][0].shape == (2, 1)


ONES = {"a": 1.0, "b": [np.ones((2, 1))]}


# ---- minimize ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [None, "Nelder-Mead", "Powell", "COBYQA", *GRADIENT, *HESSP, *HESS])
def test_every_method_finds_the_minimum(method):
    found = minimize(rosenbrock, NEAR if method == "dogleg" else START, method=method, **MORE.get(method, {}))
    assert found.success
    assert_tree_near(found.x, ONES, 1e-3)


@pytest.mark.parametrize("method", FREE)
def test_methods_without_derivatives_run_as_in_scipy(method):
    """COBYLA, too: it creeps along the valley, and would need ten thousands of evaluations to the end."""
    options = {"maxiter": 100}
    ours = minimize(rosenbrock, START, method=method, options=options)
    theirs = optimize.minimize(optimize.rosen, FLAT, method=method, options=options)
    assert ours.nfev == theirs.nfev
    np.testing.assert_allclose(joined(ours.x), theirs.x, rtol=1e-6)
    assert_tree_near(minimize(quadratic, START, method=method, tol=1e-6).x, ONES, 1e-3)


@pytest.mark.parametrize("method", [*GRADIENT, "trust-constr"])
def test_no_more_evaluations_than_with_differences(method):
    options = MORE.get(method, {})
    ours = minimize(rosenbrock, START, method=method, **options)
    theirs = optimize.minimize(optimize.rosen, FLAT, method=method, **options)
    assert ours.nfev <= theirs.nfev


def test_one_recording_gives_value_and_gradient():
    calls = []

    def counted(p):
        calls.append(type(p["a"]))
        return rosenbrock(p)

    found = minimize(counted, START, method="BFGS")
    assert len(calls) == found.nfev
    assert all(issubclass(kind, tape.Var) for kind in calls)


@pytest.mark.parametrize("method", HESS)
def test_the_hessian_is_exact(method):
    """Steps are those that SciPy takes with its own exact derivatives."""
    theirs = optimize.minimize(
        optimize.rosen, joined(NEAR), method=method, jac=optimize.rosen_der, hess=optimize.rosen_hess
    )
    ours = minimize(rosenbrock, NEAR, method=method)
    assert (ours.nit, ours.nhev) == (theirs.nit, theirs.nhev)
    np.testing.assert_allclose(joined(ours.x), theirs.x, rtol=1e-9)
    np.testing.assert_allclose(ours.hess, theirs.hess, rtol=1e-9)


@pytest.mark.parametrize("method", HESSP)
def test_products_with_the_hessian_are_exact(method):
    theirs = optimize.minimize(
        optimize.rosen, FLAT, method=method, jac=optimize.rosen_der, hessp=optimize.rosen_hess_prod
    )
    ours = minimize(rosenbrock, START, method=method)
    assert (ours.nit, ours.nhev) == (theirs.nit, theirs.nhev)
    np.testing.assert_allclose(joined(ours.x), theirs.x, rtol=1e-7)


@pytest.mark.parametrize("method", ["trust-exact", "trust-krylov"])
def test_newton_needs_few_steps_on_a_quadratic(method):
    found = minimize(quadratic, START, method=method)
    assert found.nit <= 3
    assert_tree_near(found.x, ONES, 1e-12)


def test_results_have_structure_shape_and_dtype_of_the_start():
    start = {"a": np.float32(0.8), "b": (np.full((2, 1), 0.7, np.float32), np.zeros(()))}
    found = minimize(lambda p: (p["a"] - 1) ** 2 + np.sum((p["b"][0] - 2) ** 2) + p["b"][1] ** 2, start)
    assert found.success
    for result in (found.x, found.jac):
        assert list(result) == ["a", "b"]
        kinds = [(type(leaf), leaf.dtype, leaf.shape) for leaf in (result["a"], *result["b"])]
        assert kinds == [
            (np.float32, np.float32, ()),
            (np.ndarray, np.float32, (2, 1)),
            (np.ndarray, np.float64, ()),
        ]


def test_a_lone_array_keeps_its_shape():
    found = minimize(lambda x: np.sum((x - 3) ** 2), np.zeros((2, 2)))
    np.testing.assert_allclose(found.x, np.full((2, 2), 3.0))
    assert found.jac.shape == (2, 2)


def test_further_arguments():
    assert minimize(lambda x, a, b: (x - a) ** 2 + b, 0.0, args=(3, 1.0)).x == pytest.approx(3.0)
    assert minimize(lambda x, a: (x - a) ** 2, 0.0, args=3).x == pytest.approx(3.0)


@pytest.mark.parametrize("method", ["L-BFGS-B", "TNC", "SLSQP", "trust-constr", "Nelder-Mead"])
@pytest.mark.parametrize(
    "bounds",
    [
        {"a": (None, 0.5), "b": [(2.0, np.array([[np.inf], [2.5]]))]},
        {"a": (None, 0.5), "b": [[(2, None), (2, 2.5)]]},
        optimize.Bounds([-np.inf, 2, 2], [0.5, np.inf, 2.5]),
    ],
    ids=["pairs", "a pair an element", "Bounds"],
)
def test_bounds(method, bounds):
    start = {"a": 0.2, "b": [np.array([[2.2], [2.3]])]}
    found = minimize(quadratic, start, method=method, bounds=bounds)
    assert_tree_near(found.x, {"a": 0.5, "b": [np.full((2, 1), 2.0)]}, 1e-3)


def test_bounds_choose_the_method_and_none_is_no_bound():
    found = minimize(quadratic, START, bounds={"a": None, "b": [(None, None)]})
    assert_tree_near(found.x, ONES, 1e-5)
    assert minimize(lambda x: np.sum(x), np.zeros(2), bounds=[(-1, 1), (-2, 1)]).x.tolist() == [-1, -2]


def circle(p):
    return {"radius": p["a"] ** 2 + np.sum(p["b"][0] ** 2)}


@pytest.mark.parametrize(
    ("method", "constraint"),
    [
        ("SLSQP", {"type": "eq", "fun": lambda p, r: circle(p)["radius"] - r, "args": (1.0,)}),
        (None, optimize.NonlinearConstraint(circle, 1.0, 1.0)),
        ("trust-constr", optimize.NonlinearConstraint(circle, 1.0, 1.0)),
        ("COBYQA", optimize.NonlinearConstraint(circle, 1.0, 1.0)),
    ],
    ids=["dict, SLSQP", "default", "trust-constr", "COBYQA"],
)
def test_constraints(method, constraint):
    found = minimize(lambda p: p["a"] + 2 * np.sum(p["b"][0]), START, method=method, constraints=constraint)
    assert_tree_near(found.x, {"a": -1 / 3, "b": [np.full((2, 1), -2 / 3)]}, 1e-4)


def test_derivatives_of_constraints_are_exact():
    calls = []

    def counted(p):
        calls.append(isinstance(p["a"], tape.Var))
        return circle(p)

    constraint = optimize.NonlinearConstraint(counted, 1.0, 1.0)
    found = minimize(quadratic, START, method="trust-constr", constraints=[constraint])
    plain = len(calls) - sum(calls)
    assert plain <= found.nit + 2  # values only: differences would take three more for each
    assert np.linalg.norm(joined(found.x)) == pytest.approx(1.0)


def test_a_linear_constraint_is_for_the_elements_in_order():
    constraint = optimize.LinearConstraint([[1, 1, 1]], 1, 1)
    found = minimize(lambda p: p["a"] ** 2 + np.sum(p["b"][0] ** 2), START, constraints=(constraint,))
    np.testing.assert_allclose(joined(found.x), np.full(3, 1 / 3), atol=1e-6)


@pytest.mark.parametrize("method", [*GRADIENT, *FREE, *HESSP, "trust-exact"])
def test_callbacks_get_the_tree(method):
    seen = []
    minimize(quadratic, START, method=method, callback=lambda p: seen.append(p["b"][0].shape) and None)
    assert seen
    assert set(seen) == {(2, 1)}


@pytest.mark.skipif(
    "callback" not in inspect.signature(optimize.least_squares).parameters, reason="this SciPy has none"
)
def test_callbacks_of_least_squares_get_the_tree():
    seen = []
    for solve in (
        lambda callback: least_squares(rosenbrock_residuals, NEAR, callback=callback),
        lambda callback: curve_fit(
            lambda x, p: p["a"] * np.exp(-p["b"][0] * x), np.arange(4.0), np.ones(4),
            {"a": 0.5, "b": [0.1]}, method="trf", callback=callback,
        ),
    ):  # fmt: skip
        seen.clear()
        solve(lambda p: seen.append([*p, len(p["b"])]) and None)
        assert seen
        assert all(each == ["a", "b", 1] for each in seen)


def test_callbacks_get_what_else_there_is():
    states, results = [], []
    minimize(quadratic, START, method="trust-constr", callback=lambda p, state: states.append(state.nit))
    minimize(quadratic, START, callback=lambda intermediate_result: results.append(intermediate_result))
    assert states == sorted(states)
    assert states
    assert all(result.x["b"][0].shape == (2, 1) for result in results)
    assert results


def test_a_method_of_ones_own():
    def steepest(fun, x0, jac, hessp, **rest):
        x = x0
        for _ in range(200):
            g = jac(x)
            x = x - g * (g @ g) / (g @ hessp(x, g) + 1e-300)
        return optimize.OptimizeResult(x=x, fun=fun(x), success=True)

    assert_tree_near(minimize(quadratic, START, method=steepest).x, ONES, 1e-6)


@pytest.mark.parametrize("name", ["operator", "curvature"])
def test_operators_multiply_when_they_are_asked_to_and_not_before(name):
    """SciPy would multiply once more, to see of which dtype the products are."""
    calls = []

    def f(p):
        calls.append(1)
        return np.stack([p["a"] ** 3, p["a"] * p["b"]])

    unknowns = Unknowns({"a": 1.0, "b": 2.0}, "a test")
    residuals = Residuals(f, unknowns)
    x, weights, v = unknowns.start, np.array([1.0, 10.0]), np.array([3.0, 5.0])
    made = residuals.operator(x) if name == "operator" else residuals.curvature(x, weights)
    assert made.dtype == np.float64
    before = len(calls)
    assert name == "operator" or before == 0
    matrix = [[3.0, 0.0], [2.0, 1.0]] if name == "operator" else [[6.0, 10.0], [10.0, 0.0]]
    np.testing.assert_allclose(made.matvec(v), matrix @ v)
    np.testing.assert_allclose(made.matvec(v[:, None])[:, 0], matrix @ v)
    if name == "operator":
        np.testing.assert_allclose(made.rmatvec(v), v @ matrix)
        assert len(calls) == before


# ---- least squares and roots -------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"method": "dogbox"}, {"method": "lm"}, {"tr_solver": "lsmr"}])
def test_least_squares(options):
    found = least_squares(rosenbrock_residuals, START, **options)
    assert found.success
    assert_tree_near(found.x, ONES, 1e-6)
    assert found.fun["valley"].shape == (2,)
    assert found.grad["b"][0].shape == found.active_mask["b"][0].shape == (2, 1)
    if "tr_solver" in options:
        assert isinstance(found.jac, LinearOperator)
    else:
        assert found.jac["slope"][0]["b"][0].shape == (2, 2, 1)
        exact = tape.jacobian(rosenbrock_residuals)(found.x)
        np.testing.assert_allclose(found.jac["valley"]["a"], exact["valley"]["a"], rtol=1e-12)
        np.testing.assert_allclose(found.jac["slope"][0]["b"][0], exact["slope"][0]["b"][0], rtol=1e-12)


def test_least_squares_with_bounds_and_a_loss():
    bounds = {"a": (None, 0.9), "b": [None]}
    found = least_squares(rosenbrock_residuals, START, bounds=bounds, loss="soft_l1")
    assert found.x["a"] == pytest.approx(0.9)
    assert found.active_mask["a"] == 1


def test_products_are_those_of_the_jacobian():
    dense = least_squares(rosenbrock_residuals, START, max_nfev=1)
    lazy = least_squares(rosenbrock_residuals, START, max_nfev=1, tr_solver="lsmr")
    np.testing.assert_allclose(lazy.jac @ np.eye(3), lazy.jac.H.__matmul__(np.eye(4)).T, rtol=1e-12)
    np.testing.assert_allclose((lazy.jac @ np.eye(3))[:2, 0], dense.jac["slope"][0]["a"], rtol=1e-12)


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "krylov", "df-sane"])
def test_root(method):
    def f(p):
        return {"u": p["u"] ** 2 - 2, "v": p["v"] - p["u"]}

    found = root(f, {"u": np.float32(1.2), "v": np.ones((1, 1))}, method=method)
    assert found.success
    assert found.x["u"].dtype == np.float32
    assert found.x["v"].shape == found.fun["v"].shape == (1, 1)
    np.testing.assert_allclose([found.x["u"], found.x["v"][0, 0]], np.sqrt([2, 2]), atol=1e-4)


def test_the_jacobian_of_root_saves_evaluations():
    def f(x):
        return np.cos(x) - x * np.arange(1.0, 6.0)

    plain = optimize.root(f, np.ones(5))
    assert root(f, np.ones(5)).nfev < plain.nfev
    np.testing.assert_allclose(root(f, np.ones(5)).x, plain.x, rtol=1e-9)


@pytest.mark.parametrize("scalar", [float, np.float64, np.float32, np.array], ids=lambda kind: kind.__name__)
def test_blocks_are_of_the_types_of_tape_jacobian(scalar):
    def f(p):
        return {"one": p["a"] * p["b"][0], "some": p["a"] ** 2 - p["b"]}

    a = scalar(0.5)
    found = least_squares(f, {"a": a, "b": np.ones(2, np.result_type(a))}, max_nfev=1)
    exact = tape.jacobian(f)(found.x)
    for row, column in product(("one", "some"), ("a", "b")):
        block, expected = found.jac[row][column], exact[row][column]
        assert (type(block), block.shape, block.dtype) == (type(expected), expected.shape, expected.dtype)
        np.testing.assert_allclose(block, expected, rtol=1e-6)


# ---- curve_fit ---------------------------------------------------------------------------------------

T = np.linspace(0.0, 2.0, 30)
NOISE = np.random.default_rng(0).normal(size=T.size)
Y = 2 * np.exp(-1.5 * T) + 0.5 + 0.05 * NOISE
SPREAD = 0.05 + 0.02 * T


def decay(t, p):
    return p["scale"] * np.exp(-p["rate"][0] * t) + p["rate"][1]


def flat_decay(t, scale, rate, offset):
    return scale * np.exp(-rate * t) + offset


@pytest.mark.parametrize("sigma", [None, SPREAD, np.diag(SPREAD**2)], ids=["none", "each", "matrix"])
@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("method", [None, "trf", "dogbox"])
def test_curve_fit_is_that_of_scipy(sigma, absolute, method):
    start = {"scale": 1.0, "rate": np.array([1.0, 0.0])}
    p, covariance = curve_fit(decay, T, Y, start, sigma, absolute, method=method)
    expected, matrix = optimize.curve_fit(flat_decay, T, Y, [1, 1, 0], sigma, absolute, method=method)
    np.testing.assert_allclose([p["scale"], *p["rate"]], expected, rtol=1e-5)
    assert covariance["scale"]["rate"].shape == (2,)
    assert covariance["rate"]["rate"].shape == (2, 2)
    np.testing.assert_allclose(covariance["rate"]["rate"], matrix[1:, 1:], rtol=1e-4)
    np.testing.assert_allclose(covariance["rate"]["scale"], matrix[1:, 0], rtol=1e-4)
    np.testing.assert_allclose(covariance["scale"]["scale"], matrix[0, 0], rtol=1e-4)


def test_curve_fit_takes_models_of_numbers_as_scipy_does():
    x = np.linspace(0, 4, 30)
    y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.01 * np.cos(40 * x)

    def three(x, a, b, c):
        return a * np.exp(-b * x) + c

    def any_number(x, *p):
        return three(x, *p)

    def some_by_default(x, a, b, c, more=0.0):
        return three(x, a, b, c) + more

    for model, p0 in (
        (three, None),
        (three, [1, 1, 0]),
        (any_number, (1, 1, 0)),
        (some_by_default, [1, 1, 0]),
    ):
        expected = optimize.curve_fit(three, x, y, p0)
        for found, theirs in zip(tape.scipy.curve_fit(model, x, y, p0), expected, strict=True):
            np.testing.assert_allclose(found, theirs, rtol=1e-4)
    (one,), _ = tape.scipy.curve_fit(lambda x, a: a * x, x, y)
    np.testing.assert_allclose(one, x @ y / (x @ x))
    tape.testing.check_grads(lambda y: tape.scipy.curve_fit(three, x, y)[0], (y,), order=1, rtol=1e-4)
    for p0, error in ((None, errors.OptionError), ({"a": 1.0}, errors.ShapeError), (1.0, errors.ShapeError)):
        with pytest.raises(error, match="any_number"):
            tape.scipy.curve_fit(any_number, x, y, p0)


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("sigma", [0.2, [0.2], np.array([[0.2]])], ids=["number", "one", "matrix of one"])
def test_one_deviation_is_that_of_all_data(sigma, absolute):
    ours = curve_fit(flat_decay, T, Y, np.array([1.0, 1.0, 0.0]), sigma, absolute)
    theirs = optimize.curve_fit(flat_decay, T, Y, [1, 1, 0], np.full(len(T), 0.2), absolute)
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.filterwarnings("ignore::scipy.optimize.OptimizeWarning")
def test_as_many_data_as_parameters_say_nothing_of_the_errors():
    for count in (3, 4):
        x, y = T[::9][:count], Y[::9][:count]
        ours, theirs = (
            fit(flat_decay, x, y, np.array([2.0, 1.0, 0.5]))[1] for fit in (curve_fit, optimize.curve_fit)
        )
        np.testing.assert_allclose(ours, theirs, rtol=1e-3)


def test_curve_fit_takes_lists_of_data():
    start = {"scale": 1.0, "rate": np.ones(2)}
    expected = curve_fit(decay, T, Y, start, SPREAD)
    found = curve_fit(decay, T, list(Y), start, list(SPREAD))
    for p, q in zip(*(tape.tree.flatten(one)[0] for one in (found, expected)), strict=True):
        np.testing.assert_allclose(p, q, rtol=1e-12)


def test_curve_fit_with_bounds_and_data_of_any_shape():
    grid, start = T.reshape(5, 6), {"scale": np.float32(1.0), "rate": np.array([1.0, 0.0])}
    bounds = {"scale": (0, 1.5), "rate": None}
    p, _ = curve_fit(decay, grid, Y.reshape(5, 6), start, SPREAD.reshape(5, 6), bounds=bounds)
    assert p["scale"] == pytest.approx(1.5)
    assert p["scale"].dtype == np.float32


# ---- progress and imports ----------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [minimize, least_squares, root, curve_fit])
def test_progress_is_shown(solver, capsys):
    if solver is curve_fit:
        curve_fit(decay, T, Y, {"scale": 1.0, "rate": np.ones(2)}, progress=True)
    else:
        solver(lambda x: (x - 1) ** 2, 0.5, progress=True)
    shown = capsys.readouterr().err
    assert solver.__name__ in shown
    assert "evaluations" in shown


def test_progress_without_tqdm_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(errors.UnsupportedError, match="tqdm, which is not installed"):
        minimize(lambda x: x**2, 1.0, progress=True)


def test_importing_tape_does_not_import_solvers():
    code = "import sys, tape; print([m for m in ('scipy.optimize', 'optree', 'tqdm') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def differentiated(solve):
    """Whether a solver has called its function with Vars, whose derivatives are exact."""
    kinds = set()

    def spied(f):
        def call(*args):
            kinds.update(type(leaf) for leaf in tape.tree.flatten(args)[0])
            return f(*args)

        return call

    solve(spied)
    return tape.Var in kinds


SCALES = {"scale": 1.0, "rate": np.ones(2)}
SOLVERS = {
    "minimize": lambda spied: minimize(
        spied(lambda p: np.sum((p["rate"] - p["scale"]) ** 2)), SCALES, method="BFGS"
    ),
    "least_squares": lambda spied: least_squares(spied(lambda p: p["rate"] - p["scale"]), SCALES),
    "root": lambda spied: root(spied(lambda x: x**3 - np.array([1.0, 8.0])), np.array([0.9, 1.9])),
    "curve_fit": lambda spied: curve_fit(spied(decay), T, Y, SCALES),
    "curve_fit in bounds": lambda spied: curve_fit(
        spied(decay), T, Y, SCALES, bounds={"scale": (0, 9), "rate": None}
    ),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_get_exact_derivatives(name):
    assert differentiated(SOLVERS[name])


@pytest.mark.parametrize(
    "bounds",
    [
        ([0.0, 0.5], [3.0, 5.0]), [[0.0, 0.5], [3.0, 5.0]], ((0.0, 0.5), (3.0, 5.0)), ([0.0, 0.5], np.inf),
        (0.0, [3.0, 0.9]), (np.array([0.0, 0.5]), np.array([3.0, 0.9])), optimize.Bounds([0, 0.5], [3, 0.9]),
    ],
)  # fmt: skip
def test_bounds_of_an_array_are_a_pair_of_sides_as_in_scipy(bounds):
    """With two unknowns they could be taken for a pair for each."""
    x = np.linspace(0.0, 2.0, 9)
    y = 2 * np.exp(-x)

    def model(x, a, c):
        return a * np.exp(-c * x)

    start = [0.4, 0.8]
    expected = optimize.curve_fit(model, x, y, start, bounds=bounds)[0]
    np.testing.assert_allclose(curve_fit(model, x, y, start, bounds=bounds)[0], expected, rtol=1e-4)

    def residuals(z):
        return [z[0] - 2.0, z[1] - 1.0]

    expected = optimize.least_squares(residuals, start, bounds=bounds).x
    np.testing.assert_allclose(least_squares(residuals, start, bounds=bounds).x, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("sides", "expected"),
    [
        (lambda a: ((0.0, 0.0, 0.0), (None, a, None)), (7.5, 5.0)),
        (lambda a: ((None, 3 * a, None), (99.0, 99.0, 99.0)), (10.5, 7.0)),
    ],
)
def test_a_side_of_bounds_holds_vars_numbers_and_none(sides, expected):
    """Elements without a bound are where the target is."""

    def total(a):
        return np.sum(minimize(lambda x: np.sum((x - 2 * a) ** 2), np.full(3, 5.0), bounds=sides(a)).x)

    assert tape.value_and_grad(total)(1.5) == pytest.approx(expected, rel=1e-6)


def test_models_written_in_c_take_one_tree():
    x = np.array([1.0, 2.0, 3.0])
    exponent, _ = curve_fit(np.power, x, x**2, 1.5)
    assert exponent == pytest.approx(2)
