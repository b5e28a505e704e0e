"""`root` and `fixed_point`: against closed forms and linear systems, whatever the solver."""

from typing import Any

import numpy as np
import pytest

import tape
from tape import errors, ops
from tape.core import interpreter
from tests.oracles import assert_close, assert_same
from tests.test_checkpoint import INNER, OUTER, TRANSFORMS, A, X
from tests.tiers import takes_long

M = np.random.default_rng(1).normal(size=(3, 3)) / 4 + 2 * np.eye(3)

# ---- solvers -------------------------------------------------------------------------------------


class BlackBox:
    """Finds a root in plain Python floats, and lets nothing but numbers in or out."""

    def __call__(self, g: Any, x0: Any) -> Any:
        x = [float(a) for a in np.ravel(x0)]
        shape = np.shape(x0)

        def value(x: list[float]) -> list[float]:
            out = g(np.array(x).reshape(shape) if shape else np.float64(x[0]))
            assert isinstance(out, (np.ndarray, np.float64))
            return [float(a) for a in np.ravel(out)]

        for _ in range(60):
            residual = value(x)
            columns = []
            for i in range(len(x)):
                h = 1e-7 * max(1.0, abs(x[i]))
                moved = [a + h * (i == k) for k, a in enumerate(x)]
                columns.append([(b - a) / h for a, b in zip(residual, value(moved), strict=True)])
            step = np.linalg.solve(np.array(columns).T, residual)
            x = [a - float(b) for a, b in zip(x, step, strict=True)]
        return np.array(x).reshape(shape) if shape else x[0]


def newton(g: Any, x: Any) -> Any:
    """With derivatives of its own."""
    for _ in range(40):
        x = x - np.linalg.solve(tape.jacobian(g)(x).reshape(x.size, x.size), np.ravel(g(x))).reshape(x.shape)
    return x


SOLVERS = {"default": None, "black box": BlackBox(), "newton": newton}


@pytest.fixture(params=SOLVERS)
def solver(request):
    return SOLVERS[request.param]


# ---- every transform -----------------------------------------------------------------------------


def linear(solver: Any) -> Any:
    """The solution of linear equations, of which the matrix depends on x too."""
    return lambda x: tape.root(
        lambda y, x: (M + x[:, None] * x) @ y - np.sin(x), np.zeros(3), x, solver=solver
    )


def linear_by_hand(x: Any) -> Any:
    return ops.solve(M + x[:, None] * x, np.sin(x))


def closed_over(solver: Any) -> Any:
    return lambda x: tape.root(lambda y: y**3 + y - x * np.cos(x), np.zeros(3), solver=solver)


def closed_over_by_hand(x: Any) -> Any:
    """Cardano's formula for y**3 + y = c."""
    c = x * np.cos(x) / 2
    q = np.sqrt(c * c + 1 / 27)
    return (q + c) ** (1 / 3) - (q - c) ** (1 / 3)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_transform_for_arguments(transform):
    derive = TRANSFORMS[transform]
    assert_close(derive(linear(None)), derive(linear_by_hand), 1e-9)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_transform_for_closures(transform):
    derive = TRANSFORMS[transform]
    assert_close(derive(closed_over(None)), derive(closed_over_by_hand), 1e-9)


@pytest.mark.parametrize("transform", ["value", "grad", "jvp", "jacobian rev", "hessian"])
def test_any_solver(transform, solver):
    derive = TRANSFORMS[transform]
    assert_close(derive(linear(solver)), derive(linear_by_hand), 1e-9)
    assert_close(derive(closed_over(solver)), derive(closed_over_by_hand), 1e-9)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_transform_for_fixed_points(transform):
    derive = TRANSFORMS[transform]

    def snapshot(x: Any) -> Any:
        return tape.fixed_point(lambda y, b: A @ y / 4 + b * x, np.zeros(3), np.sin(x), tol=1e-15)

    def by_hand(x: Any) -> Any:
        return ops.solve(np.eye(3) - A / 4, np.sin(x) * x)

    assert_close(derive(snapshot), derive(by_hand), 1e-11)


def test_scalars_to_third_order():
    def square_root(a: Any) -> Any:
        return tape.root(lambda x: x * x - a, 1.0)

    f = square_root
    for order in range(4):
        assert_close(f(4.0), tape.taylor(np.sqrt, 4.0, 1.0, order)[order], 1e-12)
        f = tape.grad(f)
    assert type(square_root(4.0)) is np.float64


def test_matrices():
    def inverse(m: Any) -> Any:
        return tape.root(lambda y: m @ y - np.eye(3), np.eye(3))

    def by_hand(m: Any) -> Any:
        return ops.solve(m, np.eye(3))

    for mode in ("fwd", "rev"):
        assert_close(tape.jacobian(inverse, mode=mode)(M), tape.jacobian(by_hand)(M), 1e-12)


def test_the_solution_does_not_depend_on_the_start():
    assert_close(tape.grad(lambda x: tape.root(lambda y: y * y - 9.0 * x / x, x) * x)(2.0), 3.0, 1e-12)
    assert_close(
        tape.grad(lambda x: tape.fixed_point(lambda y: np.cos(y) * 1.0, x) * x)(1.0), 0.739085133215, 1e-11
    )


def test_trees():
    def f(p: Any) -> Any:
        def equations(x: Any, n: int) -> Any:
            return {"a": x["a"] ** n - p["s"], "b": (x["b"][0] * x["a"] - p["v"], None)}

        found = tape.root(equations, {"a": 1.0, "b": (np.ones(2), None)}, 2)
        return found["a"] * np.sum(np.sin(found["b"][0]))

    def by_hand(p: Any) -> Any:
        return np.sqrt(p["s"]) * np.sum(np.sin(p["v"] / np.sqrt(p["s"])))

    at = {"s": 4.0, "v": np.array([1.0, 2.0])}
    found, expected = tape.grad(f)(at), tape.grad(by_hand)(at)
    assert_close(found["s"], expected["s"], 1e-12)
    assert_close(found["v"], expected["v"], 1e-12)


def test_trees_for_fixed_points():
    def f(c: Any) -> Any:
        a, b = tape.fixed_point(lambda x: (np.cos(x[1]) * c, x[0] / 2), (0.0, np.zeros(())), tol=1e-15)
        return a * b

    def by_root(c: Any) -> Any:
        a = tape.root(lambda a: np.cos(a / 2) * c - a, 0.5)
        return a * a / 2

    for derive in (tape.grad, tape.hessian):
        assert_close(derive(f)(0.8), derive(by_root)(0.8), 1e-11)


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("inner", [name for name in INNER if name != "taylor"])
def test_an_inner_derivative_of_a_closure_over_an_outer_var(inner, outer):
    """The solution is recorded for x, and depends on w, which belongs to a trace further out."""

    def slope(solve: Any) -> Any:
        return OUTER[outer](lambda w: INNER[inner](lambda x: solve(x * x, w)))

    found = slope(lambda b, w: tape.root(lambda y: w * y - b, 1.0))
    assert_close(found, slope(lambda b, w: b / w), 1e-10)


def test_a_solver_that_does_not_look_at_the_function():
    """It knows the answer, say, from a table; derivatives are those of the equation all the same."""

    def table(g: Any, x0: Any) -> Any:
        return 2.0

    by_argument = tape.grad(lambda a: tape.root(lambda x, a: x * x - a, 1.0, a, solver=table) + a)
    by_closure = tape.grad(lambda a: tape.root(lambda x: x * x - a, 1.0, solver=table) + a)
    assert by_argument(4.0) == 1.25
    assert by_closure(4.0) == 1.25


def test_the_solver_sees_plain_arrays():
    seen = []

    def spy(g: Any, x0: Any) -> Any:
        seen.extend([type(x0), type(g(x0))])
        return newton(g, x0)

    TRANSFORMS["hessian"](lambda x: tape.root(lambda y: y - x, x, solver=spy))
    assert set(seen) == {np.ndarray}


def test_it_is_one_node_and_can_be_replayed():
    trace = tape.Trace()
    a = trace.param(4.0)
    x = tape.root(lambda x: x * x - a, 1.0)
    assert len(trace) == 2
    trace.set(a, 9.0)
    trace.replay()
    assert_close(x.value, 3.0, 1e-12)
    assert_close(trace.backward_param_grads(x), [1 / 6], 1e-12)


@pytest.mark.parametrize("solve", [tape.root, tape.fixed_point])
def test_called_with_arrays_it_just_computes(solve):
    f = {tape.root: lambda x: 2 * x - X, tape.fixed_point: lambda x: x / 2 + X / 4}[solve]
    found = solve(f, np.zeros(3))
    assert type(found) is np.ndarray
    assert_close(found, X / 2, 1e-11)
    assert_same(tape.root(lambda x: x, np.zeros(0)), np.zeros(0))


# ---- dtypes --------------------------------------------------------------------------------------


def test_float32_roots():
    def f(a: Any) -> Any:
        return tape.root(lambda x: x * x - a, np.float32(1))

    found, slope = tape.value_and_grad(f)(np.float32(4))
    assert_same(found, np.float32(2))
    assert_same(slope, np.float32(0.25))


@pytest.mark.parametrize("factor", [0.1, 0.5, 0.7, 0.9, 1.1])
def test_float32_fixed_points(factor):
    """They settle as far as float32 goes, be it between two neighbours."""

    def f(a: Any) -> Any:
        return tape.fixed_point(lambda x: a * np.cos(x), np.float32(1), max_steps=500)

    wide = tape.fixed_point(lambda x: factor * np.cos(x), 1.0)
    found, slope = tape.value_and_grad(f)(np.float32(factor))
    assert found.dtype == slope.dtype == np.float32
    assert_close(found, wide, 1e-6)


def test_the_solution_has_the_dtype_of_the_start():
    found = tape.root(lambda x: x - 1, np.float32(0), solver=lambda g, x0: np.float64(1))
    assert found.dtype == np.float32


# ---- what goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: tape.root(lambda x: x * x + 1, 1.0),
            errors.ConvergenceError,
            "root: the solver .* residual",
        ),
        (
            lambda: tape.fixed_point(lambda x: x + 1, 1.0, max_steps=9),
            errors.ConvergenceError,
            "within 9 steps",
        ),
        (lambda: tape.fixed_point(lambda x: -x, 1.0, max_steps=9), errors.ConvergenceError, "give a solver"),
        (lambda: tape.fixed_point(lambda x: x * np.inf, 2.0), errors.ConvergenceError, "by inf"),
        (lambda: tape.root(lambda x: x, 1), errors.DTypeError, "root: x0 does not hold floats.*asarray"),
        (
            lambda: tape.root(lambda x: x, {"a": 1.0, "b": 2}),
            errors.DTypeError,
            r"x0\['b'\] does not hold floats",
        ),
        (
            lambda: tape.fixed_point(lambda x: x, ()),
            errors.DTypeError,
            "fixed_point: x0 does not hold floats",
        ),
        (lambda: tape.root(lambda x: (x, x), 1.0), errors.ShapeError, "returned a tree"),
        (lambda: tape.root(lambda x: np.ones(3) * x, 1.0), errors.ShapeError, r"shape \[3\]"),
        (lambda: tape.fixed_point(lambda x: (x, x), 1.0), errors.ShapeError, "tree"),
        (lambda: tape.fixed_point(lambda x: np.ones(3) * x / 2, 1.0), errors.ShapeError, "3"),
        (lambda: tape.root(np.sin, 1.0, solver=lambda g, x0: None), errors.ShapeError, "the solver returned"),
        (
            lambda: tape.root(np.sin, X, solver=lambda g, x0: list(x0)),
            errors.ShapeError,
            "the solver returned",
        ),
        (lambda: tape.root(np.sin, X, solver=lambda g, x0: x0[:2]), errors.ShapeError, "the solver returned"),
        (lambda: tape.root(np.sin, 1.0, solver=lambda g, x0: 0), errors.TapeError, "the solver returned"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()
    assert interpreter.innermost_open() is None
    assert not interpreter.OPEN


@pytest.mark.parametrize("derive", [tape.grad, lambda f: lambda x: tape.jvp(f, (x,), (x,))])
def test_singular_jacobians(derive):
    def f(a: Any) -> Any:
        return tape.root(lambda x, a: (x - a) ** 3, 1.0, a, solver=lambda g, x0: 2.0)

    with pytest.raises(errors.SingularMatrixError, match=r"(?i)singular"):
        derive(f)(2.0)


def test_what_function_and_solver_raise_comes_through():
    def fails(*args: Any) -> Any:
        raise KeyError("mine")

    for f in (lambda a: tape.root(fails, 1.0, a), lambda a: tape.root(np.subtract, 1.0, a, solver=fails)):
        with pytest.raises(KeyError, match="mine"):
            tape.grad(f)(1.0)
        assert interpreter.innermost_open() is None


def test_taylor_series():
    found = tape.taylor(lambda a: tape.root(lambda x: x * x - a, 1.0), 4.0, 1.0, 5)
    assert_close(found, tape.taylor(np.sqrt, 4.0, 1.0, 5), 1e-12)


@pytest.mark.parametrize("options", [{"tol": 0.0}, {"tol": "x"}, {"max_steps": 0}, {"max_steps": 1.5}])
def test_settings_of_the_iteration_are_checked(options):
    with pytest.raises(errors.OptionError, match=r"fixed_point: tol is .* and max_steps"):
        tape.fixed_point(np.cos, 1.0, **options)


def test_scalars_stay_scalars():
    for found in (
        tape.root(lambda p: {"a": p["a"] - 1, "b": p["b"] - 2}, {"a": 0.0, "b": 0.0}),
        tape.fixed_point(lambda p: {"a": 0 * p["a"] + 1, "b": 0 * p["b"] + 2}, {"a": 0.0, "b": 0.0}),
    ):
        assert {name: type(leaf) for name, leaf in found.items()} == {"a": np.float64, "b": np.float64}


@pytest.mark.parametrize(
    ("slope", "tol", "steps"), [(0.5, 0.5, 1), (0.5, 0.25, 2), (0.0, 1e-9, 2), (1.0, 1e-9, 1)]
)
def test_the_iteration_takes_as_many_steps_as_it_needs_and_no_fewer_are_enough(slope, tol, steps):
    """From 1.0; what changes as much as is allowed has converged."""
    found = tape.fixed_point(lambda x: slope * x, 1.0, tol=tol, max_steps=steps)
    assert found == slope**steps
    if steps > 1:
        with pytest.raises(errors.ConvergenceError, match=f"within {steps - 1} steps"):
            tape.fixed_point(lambda x: slope * x, 1.0, tol=tol, max_steps=steps - 1)


@pytest.mark.parametrize("solve", [tape.root, tape.fixed_point])
def test_a_solution_that_does_not_move_with_its_argument_has_a_tangent_of_zero(solve):
    whole = solve is tape.root
    f = lambda x, a: (x - np.cos(x) if whole else np.cos(x)) - np.floor(a)  # noqa: E731
    value, tangent = tape.jvp(lambda a: solve(f, np.ones(2), a), (np.array([0.3, 0.5]),), (np.ones(2),))
    assert_close(value, np.full(2, 0.7390851332151607))
    assert_same(tangent, np.zeros(2))


@pytest.mark.parametrize("shape", [(0,), (0, 2)])
@pytest.mark.parametrize("solve", [tape.root, tape.fixed_point])
def test_of_no_unknowns_there_is_no_solution_to_look_for(solve, shape):
    f = lambda x: solve(lambda y, x: y * 0.5 + x, np.zeros(shape), x)  # noqa: E731
    for run in (f, tape.compile(f), tape.grad(lambda x: np.sum(f(x)))):
        assert run(np.ones(shape)).shape == shape


def test_what_returns_another_structure_is_named():
    def widened(x):
        return x, x

    with pytest.raises(errors.ShapeError, match=r"^widened returned a tree \(\*, \*\)"):
        tape.fixed_point(widened, 1.0)


# ---- programs ------------------------------------------------------------------------------------


def by_loop(g: Any, x: Any) -> Any:
    """A solver that is a loop: a fixed number of Newton's steps, for one number."""
    return tape.while_loop(
        lambda s: np.abs(s[1]) > 1e-15 * (1 + np.abs(s[0])),
        lambda s: (s[0] - s[1], g(s[0] - s[1]) / tape.grad(g)(s[0] - s[1])),
        (x, g(x) / tape.grad(g)(x)),
    )[0]


COMPILED = {
    "argument": lambda a: np.sum(linear(None)(a * X)),
    "closure": lambda a: np.sum(closed_over(None)(a * X)),
    "tree": lambda a: tape.root(
        lambda x: {"u": x["u"] ** 2 - a, "v": x["u"] * x["v"] - 1.0}, {"u": 1.0, "v": np.ones(1)}
    )["v"][0],
    "fixed point": lambda a: tape.fixed_point(lambda x: np.cos(x) * a / 2, np.ones(2))[0],
    "narrow": lambda a: tape.fixed_point(lambda x: np.cos(x) / 2, np.float32(1)) * a,
    "solver": lambda a: tape.root(lambda x: x**3 + x - a, 1.0, solver=by_loop),
    "table": lambda a: tape.root(lambda x: x * x - 4.0 * a / a, 1.0, solver=lambda g, x: 2.0) * a,
    "in a loop": lambda a: tape.scan(
        lambda c, x: (tape.root(lambda y: y**3 + y - c * x, c), None), a, np.array([2.0, 1.5, 3.0])
    )[0],
}  # fmt: skip
DERIVED = {
    "value": lambda f: f,
    "grad": tape.grad,
    "grad of grad": lambda f: tape.grad(tape.grad(f)),
    "jvp": lambda f: lambda a: tape.jvp(f, (a,), (1.0,))[1],
    "jvp of grad": lambda f: lambda a: tape.jvp(tape.grad(f), (a,), (1.0,))[1],
}


@takes_long
@pytest.mark.parametrize("derive", DERIVED)
@pytest.mark.parametrize("name", COMPILED)
def test_they_are_rows_of_a_program_and_the_same(name, derive):
    f = DERIVED[derive](COMPILED[name])
    compiled = tape.compile(f)
    for a in (0.9, 1.3, 0.9):
        assert_close(compiled(a), f(a), 1e-6 if name == "narrow" else 1e-10)
    assert all(not program.explain().callbacks for program in compiled.programs.values())


@takes_long
@pytest.mark.parametrize(
    ("solve", "by_hand", "bad"),
    [
        (lambda a: tape.root(lambda x: x * x - a, 1.0), np.sqrt, -1.0),
        (lambda a: tape.fixed_point(lambda x: a * x + 1, 0.0, max_steps=500), lambda a: 1 / (1 - a), 2.0),
        (
            lambda a: tape.scan(lambda c, x: (tape.root(lambda y: y * y - c, 1.0), None), a, length=2)[0],
            lambda a: a**0.25,
            -1.0,
        ),
    ],
    ids=["root", "fixed point", "in a loop"],
)
def test_a_program_that_does_not_converge_raises_as_the_function_and_works_again(solve, by_hand, bad):
    for f in (solve, lambda a: tape.value_and_grad(solve)(a)[0]):
        compiled = tape.compile(f)
        for a in (0.25, bad, 0.5, bad, 0.25):
            if a == bad:
                with np.errstate(all="ignore"), pytest.raises(errors.ConvergenceError):
                    compiled(a)
            else:
                assert_close(compiled(a), by_hand(a), 1e-9)
        assert not interpreter.OPEN


def test_a_singular_jacobian_on_the_way_is_no_other_error_in_a_program():
    def solve(x0: Any) -> Any:
        return tape.root(lambda x: x**3 - 8.0, x0)

    compiled = tape.compile(solve)
    for _ in range(2):
        assert_close(compiled(1.0), 2.0, 1e-12)
        for f in (solve, compiled):
            with pytest.raises(errors.ConvergenceError):
                f(0.0)


def test_a_solver_that_reads_numbers_stays_a_callback():
    compiled = tape.compile(tape.grad(lambda a: tape.root(lambda x: x * x - a, 1.0, solver=BlackBox())))
    for a in (4.0, 9.0):
        assert_close(compiled(a), 0.5 / np.sqrt(a), 1e-7)
    (program,) = compiled.programs.values()
    assert list(program.explain().callbacks) == ["root(<lambda>)"]
