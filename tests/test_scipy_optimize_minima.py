"""Minima as functions of their data: derivatives beside closed forms, programs, and where there are none."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, OptimizeResult
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

import tape
from tape import errors
from tape.scipy.optimize import (
    curve_fit,
    least_squares,
    linprog,
    lsq_linear,
    minimize,
    minimize_scalar,
    nnls,
    root,
)
from tests.oracles import assert_close
from tests.scipy_checks import assert_same_derivatives, refused
from tests.test_scipy_optimize import FREE, GRADIENT, HESS, HESSP
from tests.tiers import grid, some, takes_long

BOUNDED = ["Nelder-Mead", "Powell", "COBYLA", "COBYQA", "L-BFGS-B", "TNC", "SLSQP", "trust-constr"]
CONSTRAINED = ["COBYLA", "COBYQA", "SLSQP", "trust-constr"]
A = np.array([1.5, -0.5])


# ---- minima without limits ---------------------------------------------------------------------------


def quartic(x, a):
    return np.sum((x - a) ** 2) + np.sum(x**4)


@grid(method=some([None, *GRADIENT, *FREE, *HESSP, *HESS], every=3), how=["closed over", "args"])
def test_whatever_the_method_derivatives_are_those_of_the_minimum(method, how):
    """Solvers stop within 1e-4 or so of it, and derivatives are exact."""

    def lowest(a):
        if how == "args":
            return minimize(quartic, np.zeros(2), (a,), method)
        return minimize(lambda x: quartic(x, a), np.zeros(2), method=method)

    expected = minimize(quartic, np.zeros(2), (A,), "trust-exact", tol=1e-14).x
    np.testing.assert_array_equal(lowest(A).x, minimize(quartic, np.zeros(2), (A,), method).x)
    assert_close(tape.jacobian(lambda a: lowest(a).x)(A), np.diag(2 / (2 + 12 * expected**2)), 1e-11)
    assert_close(tape.grad(lambda a: lowest(a).fun)(A), 2 * (A - lowest(A).x), 1e-3)


def test_second_order():
    a = np.array(0.7)
    assert_same_derivatives(
        lambda a: minimize(lambda x: np.exp(x - a) - a * x, 1.0).x, lambda a: a + np.log(a), a
    )


def test_trees_in_and_out():
    start = {"u": np.float32(0.5), "v": np.ones((2, 1))}

    def lowest(p, start=start):
        def f(x, q):
            return (x["u"] - q["a"]) ** 2 + np.sum((x["v"] - q["a"] * p["b"]) ** 2)

        return minimize(f, start, ({"a": p["a"]},))

    p = {"a": 2.0, "b": np.array([[1.0], [3.0]])}
    found = tape.jacobian(lambda p: lowest(p).x)(p)
    assert found["u"]["a"].dtype == np.float32
    assert_close(found["u"]["a"], 1.0, 1e-6)
    assert_close(found["v"]["a"], p["b"], 1e-10)
    assert_close(found["v"]["b"].reshape(2, 2), 2 * np.eye(2), 1e-10)
    trace = tape.Trace()
    result = lowest({"a": trace.param(2.0), "b": 1.0})
    assert result.x["u"].dtype == np.float32
    assert result.success is True
    assert {"x", "fun", "success", "nit", "nfev", "status", "message"} <= set(result) <= {*result, "njev"}
    assert "hess_inv" not in result  # a constant where it is none


def test_the_start_is_no_argument():
    assert tape.grad(lambda start: minimize(lambda x: (x - 2) ** 2, start).x)(0.5) == 0
    assert tape.compile(lambda start: minimize(lambda x: (x - 2) ** 2, start).x)(0.5) == pytest.approx(2)


@takes_long
def test_minima_of_minima():
    """The inner one is at log(a), and so the outer one at exp(b)."""

    def inner(a):
        return minimize(lambda y: np.exp(y) - a * y, 0.0, method="trust-exact", tol=1e-12).x

    outer = tape.grad(lambda b: minimize(lambda a: (inner(a) - b) ** 2, 1.3, method="BFGS").x)(0.3)
    assert outer == pytest.approx(np.exp(0.3), rel=1e-9)


# ---- limits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", some(BOUNDED, every=4))
def test_bounds(method):
    """The nearest point of a box: a bound that is active, and its Var, or the point itself."""

    def nearest(a, low, high):
        return minimize(lambda x: np.sum((x - a) ** 2), np.full(3, 0.2), method=method, bounds=(low, high)).x

    a, low, high = np.array([-1.0, 0.3, 2.0]), np.array([0.0, -0.5, -1.0]), 0.9
    assert_same_derivatives(nearest, lambda a, low, high: np.minimum(np.maximum(a, low), high), a, low, high)


@grid(method=some(reversed(CONSTRAINED), every=3), kind=["eq", "ineq", "nonlinear", "two"])
def test_constraints(method, kind):
    """The nearest point of a circle or a disc, and of a disc behind a wall."""
    a = np.array([1.2, 0.9])

    def constraint(r):
        if kind == "nonlinear":
            return NonlinearConstraint(lambda x: {"size": x @ x}, -np.inf, r**2)
        if kind == "two":
            disc = {"type": "ineq", "fun": lambda x, r: r**2 - x @ x, "args": (r,)}
            return [disc, LinearConstraint(np.array([[1.0, 0.0]]), 0.1, r)]
        return {"type": kind, "fun": lambda x: r**2 - x @ x}

    def nearest(a, r):
        found = minimize(
            lambda x: np.sum((x - a) ** 2), np.array([0.3, 0.5]), method=method, constraints=constraint(r)
        )
        return np.append(found.x, found.fun)

    def closed_form(a, r):
        x = a * r / np.sqrt(a @ a)
        return np.append(x, np.sum((x - a) ** 2))

    # SciPy's x and value are as exact as the solver; derivatives of x are exact
    assert_close(nearest(a, 0.9), closed_form(a, 0.9), 1e-2)
    found = tape.jacobian(lambda *args: nearest(*args)[:2], (0, 1))(a, 0.9)
    expected = tape.jacobian(lambda *args: closed_form(*args)[:2], (0, 1))(a, 0.9)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, 1e-10)


@pytest.mark.parametrize(
    ("bounds", "slope"),
    [
        (lambda v: {"a": (v, None), "b": None}, [[1, 1, 1, 1], [0]]),
        (lambda v: {"a": (v * np.ones(2), None), "b": (None, -v)}, [[1, 1, 1, 1], [-1]]),
        (lambda v: {"a": (v * np.ones((2, 1)), None), "b": (-3.0, -v)}, [[1, 1, 1, 1], [-1]]),
        (lambda v: {"a": ([v, -5.0, None, v], None), "b": (None, None)}, [[1, 0, 0, 1], [0]]),
        (
            lambda v: {"a": [(v, None), (None, 9.0), (-5.0, None), (None, None)], "b": None},
            [[1, 0, 0, 0], [0]],
        ),
    ],
)
def test_bounds_of_leaves_that_hold_vars_are_for_each_element_or_for_all(bounds, slope):
    start = {"a": np.full((2, 2), 2.0), "b": -2.0}

    def found(v):
        return minimize(lambda p: np.sum((p["a"] + 1) ** 2) + (p["b"] + 0.5) ** 2, start, bounds=bounds(v)).x

    value, moved = tape.jvp(found, (1.0,), (1.0,))
    assert_close(value["a"], np.where(np.reshape(slope[0], (2, 2)), 1.0, -1.0), 1e-5)
    assert_close(value["b"], -1.0 if slope[1][0] else -0.5, 1e-5)
    assert_close(moved["a"], np.reshape(slope[0], (2, 2)), 1e-6)
    assert_close(moved["b"], slope[1][0], 1e-6)


def test_bounds_as_an_object_hold_vars():
    def nearest(low, high):
        bounds = Bounds(low, high)
        return minimize(lambda x: np.sum((x - A) ** 2), np.zeros(2), bounds=bounds).x

    by_low, by_high = tape.jacobian(nearest, (0, 1))(np.array([-1.0, -0.1]), np.array([0.5, 2.0]))
    assert_close(by_low, [[0, 0], [0, 1]], 1e-12)
    assert_close(by_high, [[1, 0], [0, 0]], 1e-12)


def test_a_quadratic_program_in_all_of_its_data():
    """Minimise ``x @ Q @ x / 2 - q @ x``, where ``A @ x = b``: a system of linear equations."""
    rng = np.random.default_rng(3)
    half, q, matrix, b = (
        rng.normal(size=(4, 4)),
        rng.normal(size=4),
        rng.normal(size=(2, 4)),
        rng.normal(size=2),
    )

    def solved(half, q, matrix, b):
        square = half.T @ half + np.eye(4)
        return minimize(
            lambda x: x @ square @ x / 2 - q @ x, np.zeros(4), method="SLSQP",
            constraints=LinearConstraint(matrix, b, b),
        ).x  # fmt: skip

    def closed_form(half, q, matrix, b):
        square = half.T @ half + np.eye(4)
        system = np.block([[square, matrix.T], [matrix, np.zeros((2, 2))]])
        return np.linalg.solve(system, np.concatenate([q, b]))[:4]

    assert_same_derivatives(solved, closed_form, half, q, matrix, b, tolerance=1e-8)


def test_programs_follow_what_is_active():
    """Which bounds are active is found anew in each call; the program need not be recorded again for it."""

    def total(a, high):
        found = minimize(lambda x: np.sum((x - a) ** 2), np.zeros(3), bounds=(-1.0, high))
        return np.sum(np.arange(1.0, 4.0) * found.x) + found.fun

    eager, rng = tape.value_and_grad(total, (0, 1)), np.random.default_rng(1)
    compiled = tape.compile(eager)
    for _ in range(5):
        a, high = rng.uniform(-3, 3, 3), rng.uniform(0.5, 2)
        (value, slopes), (wanted, expected) = compiled(a, high), eager(a, high)
        assert_close(value, wanted, 1e-12)
        for one, other in zip(slopes, expected, strict=True):
            assert_close(one, other, 1e-12)
    assert len(compiled.programs) == 1


def test_batches_are_their_examples():
    def nearest(a):
        return minimize(lambda x: np.sum((x - a) ** 2), np.zeros(2), bounds=(-1.0, 1.0)).x

    batch = np.array([[0.5, 2.0], [-3.0, 0.2], [-2.0, 4.0]])
    assert_close(tape.vmap(nearest)(batch), np.clip(batch, -1, 1), 1e-6)
    slopes = tape.vmap(tape.jacobian(nearest))(batch)
    assert_close(slopes, [np.diag(np.abs(a) < 1).astype(float) for a in batch], 1e-12)


def test_sparse_derivatives_of_arguments():
    def nearest(a):
        return minimize(
            lambda x, a: np.sum((x - a) ** 2), np.full(2, 0.1), (a,), method="trust-constr", sparse=True,
            constraints=NonlinearConstraint(lambda x: x @ x, 0.0, 1.0),
        ).x  # fmt: skip

    assert_close(tape.jacobian(nearest)(A), tape.jacobian(lambda a: a / np.sqrt(a @ a))(A), 1e-10)
    with refused(errors.UnsupportedError, "Pass it as an argument"):
        options = {"method": "trust-constr", "sparse": True}
        tape.jacobian(lambda a: minimize(lambda x: np.sum((x - a) ** 2), np.zeros(2), **options).x)(A)


# ---- least squares, fits, roots, one number -----------------------------------------------------------

T = np.linspace(0.0, 1.0, 8)
Y = 2 * np.exp(-T) + 0.1 * np.cos(9 * T)
LOSSES = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1),
    "huber": lambda z: np.where(z <= 1, z, 2 * np.sqrt(z) - 1),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}


@grid(
    loss=some(LOSSES, every=2),
    options=[{}, {"tr_solver": "lsmr"}, {"method": "dogbox"}, {"jac_sparsity": "auto"}],
)
def test_least_squares_of_every_loss(loss, options):
    """The derivative is that of where the gradient of the cost vanishes, the cost being written here."""

    def residuals(p, y):
        return p[0] * np.exp(p[1] * T) - y

    def cost(p, y):
        return np.sum(LOSSES[loss]((residuals(p, y) / 0.1) ** 2)) * 0.1**2 / 2

    def fit(y):
        return least_squares(residuals, np.array([1.0, 0.0]), (y,), loss=loss, f_scale=0.1, **options)

    def stationary(y):
        return tape.root(lambda p: tape.grad(cost)(p, y), fit(Y).x)

    assert_close(fit(Y).cost, cost(fit(Y).x, Y), 1e-12)
    assert_close(tape.jacobian(lambda y: fit(y).x)(Y), tape.jacobian(stationary)(Y), 1e-8)
    expected = tape.grad(lambda y: cost(stationary(Y), y))(Y)
    assert_close(tape.grad(lambda y: fit(y).cost)(Y), expected, 1e-4)
    assert_close(tape.grad(lambda y: np.sum(fit(y).fun ** 2))(Y).shape, Y.shape, 0)


def test_least_squares_in_bounds():
    def fit(y, high):
        return least_squares(lambda p: p["s"] * (1 + T) - y, {"s": 0.1}, bounds={"s": (0.0, high)}).x["s"]

    assert_close(tape.grad(fit, (0, 1))(Y, 0.5)[0], np.zeros(8), 1e-12)
    assert tape.grad(fit, 1)(Y, 0.5) == pytest.approx(1)
    assert_close(tape.grad(fit)(Y, 5.0), (1 + T) / np.sum((1 + T) ** 2), 1e-10)


@grid(sigma=some(["each", None, "matrix", "one"], every=2), absolute=[False, True])
def test_curve_fit_of_a_line_is_the_closed_form(sigma, absolute):
    """Parameters and covariance, by data and by their standard deviations."""
    rows = np.stack([T, np.ones_like(T)], axis=1)
    spread = {None: None, "one": np.array(0.3), "each": 0.2 + 0.1 * T, "matrix": 0.2 + T}[sigma]

    def both(p, covariance):
        return np.concatenate([np.ravel(p), np.ravel(covariance)])

    def fit(y, *spread):
        spread = [np.diag(spread[0]) + 0.1] if sigma == "matrix" else spread
        p, covariance = curve_fit(
            lambda t, p: p[0] * t + p[1], T, y, np.zeros(2), *spread, absolute_sigma=absolute
        )
        return both(p, covariance)

    def closed_form(y, *spread):
        square = np.eye(8)
        if spread:
            square = np.diag(spread[0]) + 0.1 if sigma == "matrix" else np.eye(8) * spread[0] ** 2
        weights = np.linalg.inv(square)
        covariance = np.linalg.inv(rows.T @ weights @ rows)
        p = covariance @ rows.T @ weights @ y
        missed = rows @ p - y
        return both(p, covariance if absolute else covariance * (missed @ weights @ missed) / 6)

    args = (Y,) if spread is None else (Y, spread)
    assert_close(fit(*args), closed_form(*args), 1e-7)
    assert_same_derivatives(fit, closed_form, *args, tolerance=1e-7)


def test_a_fit_depends_on_the_model():
    def fit(x, a):
        return curve_fit(lambda x, p: a * p["s"] * x, x, Y, {"s": 1.0})[0]["s"]

    x = 1 + T
    assert_same_derivatives(fit, lambda x, a: x @ Y / (x @ x) / a, x, np.array(2.0), tolerance=1e-8)


@pytest.mark.parametrize("method", some(["hybr", "lm", "broyden1", "krylov", "df-sane"], every=3))
def test_roots_of_systems(method):
    def solved(a):
        start = {"u": 1.4, "v": np.ones((1, 1))}
        found = root(lambda p, q: {"u": p["u"] ** 2 - a, "v": p["v"] - q * p["u"]}, start, (a,), method)
        return np.append(found.x["v"], found.fun["u"])

    assert_same_derivatives(solved, lambda a: np.append(a**1.5, a - a), np.array(2.0), tolerance=1e-4)
    slope = tape.grad(lambda a: solved(a)[0])
    assert slope(2.0) == pytest.approx(1.5 * 2**0.5, rel=1e-10)
    assert tape.compile(slope)(3.0) == pytest.approx(1.5 * 3**0.5, rel=1e-10)


@pytest.mark.parametrize("method", [None, "golden", "bounded"])
@pytest.mark.parametrize("compiled", [False, True])
def test_minima_of_functions_of_one_number(method, compiled):
    def lowest(a, high):
        bounds = (0.0, high) if method == "bounded" else None
        found = minimize_scalar(lambda x, b: x**4 / 4 - b * x, args=(a,), bounds=bounds, method=method)
        return found.x + found.fun

    slope = tape.grad(lowest, (0, 1))
    slope = tape.compile(slope) if compiled else slope
    by_a, by_high = slope(2.0, 3.0)
    assert by_a == pytest.approx(2 ** (-2 / 3) / 3 - 2 ** (1 / 3), rel=1e-5)
    assert by_high == 0
    if method == "bounded":
        by_a, by_high = slope(2.0, 0.5)
        assert (by_a, by_high) == (pytest.approx(-0.5, rel=1e-4), pytest.approx(1 + 0.125 - 2, rel=1e-4))


def stopping_at(*x):
    """A method that stops there, whatever the function is."""
    return lambda fun, x0, args=(), **options: OptimizeResult(x=np.array(x), success=True, fun=0.0)


@pytest.mark.parametrize(
    ("stop", "target", "slopes"),
    [
        (1e-10, 5e-4, (1, 0, 0)),  # at the bound, of which the minimum is just inside
        (1 - 1e-10, 1 - 5e-4, (1, 0, 0)),
        (2e-4, -3e-4, (0, 1, 0)),  # inside, and the minimum is at the bound
        (1 - 2e-4, 1 + 3e-4, (0, 0, 1)),
        (0.5, 0.5004, (1, 0, 0)),
    ],
)
def test_which_bounds_are_active_is_corrected_near_to_where_the_solver_stopped(stop, target, slopes):
    def lowest(a, low, high):
        return minimize(lambda x: (x - a) ** 2, 0.5, bounds=(low, high), method=stopping_at(stop)).x

    found = tape.grad(lowest, argnums=(0, 1, 2))(target, 0.0, 1.0)
    assert_close(found, slopes, 1e-12)


@pytest.mark.parametrize(("stop", "target", "slopes"), [(0.99, 1.01, (0, 0, 1)), (0.01, -0.01, (0, 1, 0))])
def test_a_minimum_beyond_a_bound_is_looked_for_at_that_bound(stop, target, slopes):
    """A large element makes near what is a hundredth away."""

    def lowest(a, low, high):
        sides = np.stack([-500.0, low]), np.stack([500.0, high])
        far = lambda x: (x[0] - 100) ** 2 + (x[1] - a) ** 2  # noqa: E731
        return minimize(far, np.ones(2), bounds=sides, method=stopping_at(100.0, stop)).x[1]

    found = tape.grad(lowest, argnums=(0, 1, 2))(target, 0.0, 1.0)
    assert_close(found, slopes, 1e-12)


@pytest.mark.parametrize(
    ("f", "stop", "error", "message"),
    [
        (lambda x: x**2, np.nan, errors.ConvergenceError, "no minimum is where"),
        (lambda x: x**2, 0.01, errors.ConvergenceError, "no minimum is where"),
        (lambda x: (x**2) ** 0.75, 1e-4, errors.ConvergenceError, "no minimum is where"),
        (lambda x: x**4, 5e-4, errors.SingularMatrixError, "second derivatives vanish"),
        (lambda x: np.abs(x) ** 1.5, 0.0, errors.SingularMatrixError, "second derivatives vanish"),
        (lambda x: -(x**2), 0.0, errors.ConvergenceError, "no minimum is where"),
    ],
)
def test_what_newtons_method_does_not_reach_is_no_minimum(f, stop, error, message):
    slope = tape.grad(lambda a: minimize(lambda x: f(x - a), 0.5, method=stopping_at(stop)).x)
    for each in (slope, tape.vmap(slope)):
        with refused(error, message):
            each(0.0 if each is slope else np.zeros(2))


def test_linear_least_squares_of_sparse_matrices_and_with_bounds_as_an_object():
    matrix, b = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]), np.array([1.0, 2.0, 0.5])
    dense = tape.jacobian(lambda b: lsq_linear(matrix, b, (0.0, 0.9)).x)(b)
    found = tape.jacobian(lambda b: lsq_linear(csr_array(matrix), b, Bounds([0.0, 0.0], [0.9, 0.9])).x)(b)
    assert_close(found, dense, 1e-9)
    by_high = tape.grad(lambda high: lsq_linear(matrix, b, Bounds([0.0, 0.0], np.stack([high, 2.0]))).x[0])(
        0.9
    )
    assert by_high == pytest.approx(1, rel=1e-9)


# ---- where there are no derivatives -------------------------------------------------------------------


AT_ZERO = {
    "bound": (
        lambda a: minimize(lambda x: np.sum((x["p"] - a) ** 2), {"p": np.full((1, 2), 0.3)},
                           bounds={"p": (np.array([[-1.0, 0.0]]), 1.0)}).x["p"],
        errors.UnsupportedError, ["the bound of x0['p'][0, 1] is active", "no force"],
    ),
    "constraint": (
        lambda a: minimize(lambda x: np.sum((x - a) ** 2), np.full(2, 0.3), constraints=[
            {"type": "ineq", "fun": lambda x: x + 1}, {"type": "ineq", "fun": lambda x: x[::-1]}]).x,
        errors.UnsupportedError, ["element 0 of constraints[1] is active", "no force"],
    ),
    "dependent": (
        lambda a: minimize(lambda x: np.sum((x - a - 1) ** 2), np.full(2, 0.3), method="SLSQP", constraints=[
            LinearConstraint(np.eye(2), -np.inf, 0.5), LinearConstraint(np.ones((1, 2)), 1.0, 1.0)]).x,
        errors.UnsupportedError, ["the gradient of element 0 of constraints[1] depends linearly"],
    ),
    "flat": (lambda a: minimize(lambda x: (x[0] - x[1] - a) ** 2, np.zeros(2)).x,
             errors.SingularMatrixError, ["singular", "not the only one"]),
    "flat at the minimum": (lambda a: minimize(lambda x: (x - a) ** 4, 0.5).x,
                            errors.SingularMatrixError, ["second derivatives vanish"]),
    "kink": (lambda a: minimize(lambda x: np.abs(x - a), 0.5, method="Nelder-Mead").x,
             errors.SingularMatrixError, ["singular"]),
    "saddle": (lambda a: minimize(lambda x: x[0] ** 2 - (x[1] - a) ** 2, np.zeros(2), method="BFGS").x,
               errors.ConvergenceError, ["no minimum is where the solver stopped"]),
    "unfinished": (lambda a: minimize(lambda x: np.cosh(x - a), 3.0, options={"maxiter": 1}).x,
                   errors.ConvergenceError, ["no minimum is where the solver stopped"]),
    "vertex": (lambda a: linprog([-1.0, -1.0], [[1.0, 1.0]], [1 + a]).x,
               errors.UnsupportedError, ["the bound of x[", "no force"]),
    "corner": (lambda a: linprog([-1.0, -2.0], [[1.0, 1.0], [1.0, 2.0], [0.0, 1.0]],
                                 np.stack([1 + a, 2.0, 1.0])).x,
               errors.UnsupportedError, ["A_ub depends linearly"]),
    "columns": (lambda a: lsq_linear(np.ones((3, 2)), np.array([1.0, 2.0, 3.0]) + a).x,
                errors.SingularMatrixError, ["singular"]),
    "idle": (lambda a: nnls(np.eye(2), np.stack([1.0, a]))[0],
             errors.UnsupportedError, ["the bound of x[1]", "no force"]),
    "scalar": (lambda a: minimize_scalar(lambda x: (x - a) ** 2, bounds=(0.0, 1.0), method="bounded").x,
               errors.UnsupportedError, ["the bound of x is active"]),
    "line": (lambda a: curve_fit(lambda x, p: p[0] * x + p[1] * x, T, Y + a, np.zeros(2), method="trf")[0],
             errors.SingularMatrixError, ["curve_fit", "covariance are not differentiable"]),
}  # fmt: skip


@grid(name=AT_ZERO, compiled=[False, True])
def test_where_there_is_no_derivative_the_limit_is_named(name, compiled):
    f, error, parts = AT_ZERO[name]
    slope = tape.grad(lambda a: np.sum(f(a)))
    slope = tape.compile(slope) if compiled else slope
    with refused(error, *parts):
        slope(0.0)
    assert np.all(np.isfinite(f(0.0)))


def test_a_program_notices_where_there_is_none():
    slope = tape.compile(tape.grad(lambda a: minimize(lambda x: (x - a) ** 2, 0.5, bounds=(0.0, 1.0)).x))
    assert slope(0.5) == pytest.approx(1)
    assert slope(1.5) == 0
    with refused(errors.UnsupportedError, "the bound of x0", "no force"):
        slope(1.0)
    assert slope(0.25) == pytest.approx(1)


def test_powers_of_other_modes():
    """Taylor series and replays go through the same rules."""
    series = tape.taylor(lambda a: minimize(lambda x: np.exp(x) - a * x, 0.1).x, 2.0, 1.0, order=3)
    assert_close(series[1:], [1 / 2, -1 / 4, 2 / 8], 1e-9)
    trace = tape.Trace()
    a = trace.param(2.0)
    found = minimize(lambda x: np.exp(x) - a * x, 0.1)
    trace.set(a, 3.0)
    trace.replay()
    assert found.x.value == pytest.approx(np.log(3), abs=1e-5)
    assert trace.backward_param_grads(found.x)[0] == pytest.approx(1 / 3, rel=1e-12)


def test_what_else_is_refused():
    with refused(errors.UnsupportedError, "integrality"):
        tape.grad(lambda b: linprog([-1.0], [[1.0]], [b], integrality=1).fun)(1.5)
    with refused(errors.UnsupportedError, "a loss that is a function"):
        tape.grad(lambda a: least_squares(lambda x: x - a, 0.0, loss=lambda z: np.stack([z, z**0, 0 * z])).x)(
            1.0
        )
    rng = tape.random.default_rng(0)
    with refused(errors.UnsupportedError, "drew random numbers"):
        minimize(lambda x: (x - rng.normal()) ** 2, 0.0)
    for solve in (nnls, lsq_linear):
        with refused(errors.ShapeError, f"{solve.__name__}: A is", "must be a matrix"):
            solve(3.0, np.ones(1))
    operator = aslinearoperator(np.eye(2))
    with refused(errors.UnsupportedError, "lsq_linear: with a LinearOperator there are no derivatives"):
        tape.grad(lambda b: np.sum(lsq_linear(operator, b).x))(np.ones(2))
    with refused(errors.OptionError, "nnls", "Expected a 2D array"):
        nnls(np.ones(3), np.ones(3))
    with refused(errors.DTypeError, "lsq_linear", "complex"):
        tape.grad(lambda b: lsq_linear(1j * np.eye(2), b).cost)(np.ones(2))
