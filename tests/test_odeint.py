"""`odeint`: against closed forms, in both modes and at second order, by everything there is."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import tape
from tape import errors
from tape.core import interpreter
from tape.transforms.ode.runge_kutta import _stages
from tape.transforms.ode.tableaus import TABLEAUS
from tests.oracles import assert_close, assert_same
from tests.test_checkpoint import INNER
from tests.tiers import grid, rounds, some, takes_long

T = np.array([0.2, 0.5, 0.7, 1.3])
TIGHT = {"rtol": 1e-11, "atol": 1e-11, "method": "DOP853"}
OWN = ("Tsit5", "Dopri5")
WAYS = {
    "SciPy": TIGHT,
    **{method: {"rtol": 1e-11, "atol": 1e-11, "method": method} for method in OWN},
    "Tsit5, adjoint": {"rtol": 1e-11, "atol": 1e-11, "method": "Tsit5", "gradient": "adjoint"},
}


# ---- closed forms --------------------------------------------------------------------------------
# Each is a pair of functions of (y0, t, p): by integration, and by hand.


def growth(y0: Any, t: Any, p: Any, **options: Any) -> Any:
    return tape.odeint(lambda y, t, p: p * y, y0, t, p, **(options or TIGHT))


def growth_by_hand(y0: Any, t: Any, p: Any) -> Any:
    return y0 * np.exp(p * (t - t[0]))


def forced(y0: Any, t: Any, p: Any, **options: Any) -> Any:
    """Depends on time, and closes over p."""
    return tape.odeint(lambda y, t: -p * y * t, y0, t, **(options or TIGHT))


def forced_by_hand(y0: Any, t: Any, p: Any) -> Any:
    return y0 * np.exp(-p * (t * t - t[0] * t[0]) / 2)


def logistic(y0: Any, t: Any, p: Any, **options: Any) -> Any:
    return tape.odeint(lambda y, t, p: p["rate"] * y * (1 - y), y0, t, {"rate": p}, **(options or TIGHT))


def logistic_by_hand(y0: Any, t: Any, p: Any) -> Any:
    return 1 / (1 + (1 / y0 - 1) * np.exp(-p * (t - t[0])))


def oscillator(y0: Any, t: Any, p: Any, **options: Any) -> Any:
    """Position and speed, a tree; p is the frequency."""

    def slope(y: Any, t: Any) -> Any:
        return {"x": y["v"], "v": -(p**2) * y["x"]}

    return tape.odeint(slope, {"x": y0, "v": 2 * y0}, t, **(options or TIGHT))["x"]


def oscillator_by_hand(y0: Any, t: Any, p: Any) -> Any:
    phase = p * (t - t[0])
    return y0 * np.cos(phase) + 2 * y0 / p * np.sin(phase)


def vector(y0: Any, t: Any, p: Any, **options: Any) -> Any:
    """The same as a system, with a matrix."""
    matrix = np.stack([np.stack([0 * p, 1 + 0 * p]), np.stack([-p * p, 0 * p])])
    start = np.stack([y0, 2 * y0])
    return tape.odeint(lambda y, t, m: m @ y, start, t, matrix, **(options or TIGHT))[:, 0]


EQUATIONS = {
    "growth": (growth, growth_by_hand),
    "forced": (forced, forced_by_hand),
    "logistic": (logistic, logistic_by_hand),
    "oscillator": (oscillator, oscillator_by_hand),
    "vector": (vector, oscillator_by_hand),
}
AT = (0.4, T, 1.5)
MOVED = (0.3, np.array([0.1, -0.2, 0.3, 0.5]), -0.7)
WEIGHTS = np.array([0.5, -1.0, 2.0, 1.0])


TIMES = {"up": T, "down": T[::-1], "negative": T - 1, "two": T[2:], "one": T[:1]}


@takes_long
@grid(name=EQUATIONS, way=WAYS, over=TIMES, times=1)
def test_values_gradients_and_tangents(name, way, over):
    times = TIMES[over]
    solve, by_hand = EQUATIONS[name]
    f = partial(solve, **WAYS[way])
    at = (0.4, times, 1.5)
    moved = (0.3, MOVED[1][: len(times)], -0.7)
    assert_close(f(*at), by_hand(*at), 1e-9)

    def total(f: Any) -> Any:
        return lambda *args: np.sum(np.sin(f(*args)) * WEIGHTS[: len(times)])

    found, expected = (tape.grad(total(g), (0, 1, 2))(*at) for g in (f, by_hand))
    for by_one, expected_by_one in zip(found, expected, strict=True):
        assert_close(by_one, expected_by_one, 1e-8)
    assert_close(tape.jvp(f, at, moved)[1], tape.jvp(by_hand, at, moved)[1], 1e-8)


@pytest.mark.parametrize("name", ["growth", "forced", "logistic"])
def test_tangents_by_each_argument_alone(name):
    f, by_hand = EQUATIONS[name]
    for k in range(3):

        def one(x: Any, f: Any, k: int = k) -> Any:
            return f(*AT[:k], x, *AT[k + 1 :])

        found, expected = (
            tape.jvp(lambda x, g=g, one=one: one(x, g), (AT[k],), (MOVED[k],))[1] for g in (f, by_hand)
        )
        assert_close(found, expected, 1e-8)
        found, expected = (
            tape.vjp(lambda x, g=g, one=one: one(x, g), AT[k])[1](WEIGHTS)[0] for g in (f, by_hand)
        )
        assert_close(found, expected, 1e-8)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_jacobians(mode):
    for f, by_hand in some(EQUATIONS.values(), every=2):
        assert_close(tape.jacobian(f, 1, mode=mode)(*AT), tape.jacobian(by_hand, 1)(*AT), 1e-8)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
@pytest.mark.parametrize("size", [1, 2])
def test_jacobians_of_few_unknowns(mode, size):
    """Of one, too: a batch of one."""
    y0, t = np.linspace(0.5, 1.0, size), np.array([0.0, 0.3])

    def end(y0, rate):
        return tape.odeint(lambda y, t: -rate * y, y0, t)[-1]

    by_y0, by_rate = tape.jacobian(end, (0, 1), mode=mode)(y0, np.array([2.0]))
    assert_close(by_y0, np.exp(-0.6) * np.eye(size), 1e-6)
    assert_close(by_rate, -0.3 * np.exp(-0.6) * y0[:, None], 1e-6)


# ---- second order --------------------------------------------------------------------------------

SECOND = {
    "hessian": lambda f: tape.hessian(f)(np.array([0.4, 1.5, 0.2, 0.9])),
    "grad of grad": lambda f: tape.grad(lambda q: tape.grad(f)(q) @ WEIGHTS)(np.array([0.4, 1.5, 0.2, 0.9])),
    "hvp": lambda f: tape.hvp(f)(np.array([0.4, 1.5, 0.2, 0.9]), WEIGHTS),
    "jvp of jvp": lambda f: tape.jvp(
        lambda q: tape.jvp(f, (q,), (WEIGHTS,))[1], (np.array([0.4, 1.5, 0.2, 0.9]),), (WEIGHTS,)
    )[1],
}


@takes_long
@grid(method=["RK45", *OWN], derive=SECOND, name=["forced", "logistic"])
def test_second_order_by_everything(name, derive, method):
    """By the first state, the parameter and both times together."""
    loose = {"rtol": 1e-9, "atol": 1e-9, "method": method}

    def forced(y0: Any, t: Any, p: Any) -> Any:
        return tape.odeint(lambda y, t: -p * y * t, y0, t, **loose)

    def logistic(y0: Any, t: Any, p: Any) -> Any:
        return tape.odeint(lambda y, t, p: p * y * (1 - y), y0, t, p, **loose)

    def packed(f: Any) -> Any:
        return lambda q: np.sin(f(q[0], q[2:], q[1])[-1])

    f = {"forced": forced, "logistic": logistic}[name]
    found, expected = SECOND[derive](packed(f)), SECOND[derive](packed(EQUATIONS[name][1]))
    assert_close(found, expected, 1e-6)


def test_the_hessian_of_the_harmonic_oscillator():
    def end(y: Any) -> Any:
        out = tape.odeint(lambda y, t: np.stack([y[1], -y[0]]), y, np.array([0.0, 0.7]))[-1]
        return np.sum(out**2)  # the energy, which stays

    assert_close(tape.hessian(end)(np.array([1.0, 0.5])), 2 * np.eye(2), 1e-6)


# ---- closures, trees, dtypes ---------------------------------------------------------------------


@takes_long
@pytest.mark.parametrize("inner", ["grad", "vjp", "jvp"])
@pytest.mark.parametrize("outer", ["value", "grad", "jvp"])
def test_an_inner_derivative_of_a_closure_over_an_outer_var(inner, outer):
    """The solution is recorded for x, and depends on w, which belongs to a trace further out."""
    derive = {
        "value": lambda f: f(0.7),
        "grad": lambda f: tape.grad(f)(0.7),
        "jvp": lambda f: tape.jvp(f, (0.7,), (1.0,))[1],
    }[outer]
    t = np.array([0.0, 0.5])
    found = derive(lambda w: INNER[inner](lambda x: tape.odeint(lambda y, t: -w * y * x, x, t)[-1]))
    expected = derive(lambda w: INNER[inner](lambda x: x * np.exp(-w * x * 0.5)))
    assert_close(found, expected, 1e-6)


def test_trees_of_several_shapes_and_dtypes():
    y0 = {"a": np.float32(1), "b": [np.ones((2, 2)), None]}

    def slope(y: Any, t: Any, p: Any) -> Any:
        return {"a": -y["a"] * p, "b": [y["b"][0] * p, None]}

    def solve(y: Any, p: Any) -> Any:
        return tape.odeint(slope, y, [0.0, 0.5, 1.0], p)

    out = solve(y0, 1.0)
    assert (out["a"].shape, out["a"].dtype) == ((3,), np.float32)
    assert (out["b"][0].shape, out["b"][0].dtype) == ((3, 2, 2), np.float64)
    assert_close(out["b"][0][-1], np.full((2, 2), np.e), 1e-7)
    by_y, by_p = tape.grad(lambda y, p: np.sum(solve(y, p)["b"][0][-1]) + solve(y, p)["a"][-1], (0, 1))(
        y0, 1.0
    )
    assert by_y["a"].dtype == np.float32
    assert_close(by_y["a"], np.exp(-1), 1e-6)
    assert_close(by_y["b"][0], np.full((2, 2), np.e), 1e-6)
    assert_close(by_p, 4 * np.e - np.exp(-1), 1e-6)


def test_shapes():
    for shape in ((), (3,), (2, 3), (0,), (2, 0)):
        out = tape.odeint(lambda y, t: -y, np.ones(shape), [0, 1, 2])
        assert_close(out, np.exp(-np.arange(3)).reshape(3, *[1] * len(shape)) * np.ones(shape), 1e-6)


def test_float32_stays_float32():
    y0 = np.ones(2, np.float32)
    out, pullback = tape.vjp(lambda y: tape.odeint(lambda y, t: -y, y, [0.0, 1.0]), y0)
    (gradient,) = pullback(np.ones((2, 2), np.float32))
    assert out.dtype == gradient.dtype == np.float32
    assert_close(gradient, np.full(2, 1 + np.exp(-1)), 1e-6)


def test_slopes_that_do_not_depend_on_anything():
    def solve(y: Any) -> Any:
        return tape.odeint(lambda y, t: np.ones(2) * t, y, [0.0, 1.0])[-1]

    assert_close(solve(np.zeros(2)), [0.5, 0.5])
    for mode in ("fwd", "rev"):
        assert_close(tape.jacobian(solve, mode=mode)(np.zeros(2)), np.eye(2))


@pytest.mark.parametrize(
    ("method", "gradient"),
    [("RK45", "adjoint"), *[(method, gradient) for method in OWN for gradient in ("adjoint", "discrete")]],
)
def test_a_slope_of_the_time_alone_moves_the_start_along(method, gradient):
    """A number that it is given and does not use has derivative zero."""

    def solved(start, rate, unused):
        times, options = [0.0, 1.0, 2.0], {"method": method, "gradient": gradient}
        slope = lambda y, t, rate, unused: rate * t * np.ones(2)  # noqa: E731
        return tape.odeint(slope, start, times, rate, unused, **options)

    args = np.array([1.0, -2.0]), 3.0, 4.0
    by_start, by_rate, by_unused = tape.jacobian(solved, argnums=(0, 1, 2), mode="rev")(*args)
    assert not by_unused.any()
    assert_close(by_start, np.broadcast_to(np.eye(2), (3, 2, 2)), 1e-9)
    assert_close(by_rate, [[0.0] * 2, [0.5] * 2, [2.0] * 2], 1e-6)


@pytest.mark.parametrize("method", ["RK45", *OWN])
def test_one_time_is_the_start_and_of_nothing_there_is_nothing_at_all_times(method):
    solve = partial(tape.odeint, method=method)
    assert_same(solve(lambda y, t: -y, np.array([2.0, 3.0]), [3.0]), np.array([[2.0, 3.0]]))
    assert solve(lambda y, t: -y, np.ones((0, 2)), [0.0, 1.0, 2.0]).shape == (3, 0, 2)
    by_y, by_t, by_p = tape.grad(lambda y, t, p: np.sum(solve(lambda y, t: -p * y, 3 * y, t)), (0, 1, 2))(
        2.0, np.ones(1), 4.0
    )
    assert by_y == 3
    assert_same(by_t, np.zeros(1))
    assert by_p == 0


def test_it_is_one_node_for_all_times_and_can_be_replayed():
    trace = tape.Trace()
    y0, p = trace.param(np.ones(2)), trace.param(2.0)
    out = tape.odeint(lambda y, t: -p * y, y0, [0.0, 1.0], **TIGHT)
    assert sum(node.op is not None and node.op.name.startswith("odeint") for node in trace.nodes) == 1
    trace.set(p, 0.5)
    trace.replay()
    assert_close(out.value[-1], np.full(2, np.exp(-0.5)), 1e-9)
    by_y0, by_p = trace.backward_param_grads(out, [[0, 0], [1, 1]])
    assert_close(by_y0, np.full(2, np.exp(-0.5)), 1e-9)
    assert_close(by_p, -2 * np.exp(-0.5), 1e-9)


def test_inside_of_a_checkpoint():
    def f(w: Any) -> Any:
        solve = tape.checkpoint(lambda: tape.odeint(lambda y, t: -y * w, 1.0, [0.0, 1.0])[-1] * w)
        return solve()

    assert_close(tape.grad(f)(0.5), 0.5 * np.exp(-0.5), 1e-7)


# ---- methods -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA", *OWN])
def test_every_method(method):
    def end(p: Any) -> Any:
        return tape.odeint(lambda y, t: -p * y, 1.0, [0.0, 1.0], rtol=1e-7, atol=1e-9, method=method)[-1]

    assert_close(end(0.5), np.exp(-0.5), 1e-5)
    assert_close(tape.grad(end)(0.5), -np.exp(-0.5), 1e-5)
    assert_close(tape.jvp(end, (0.5,), (1.0,))[1], -np.exp(-0.5), 1e-5)


def stiff(a: Any) -> Any:
    """Soon follows ``a * cos(t)`` closely."""
    return tape.odeint(lambda y, t: -1000.0 * (y - a * np.cos(t)), 0.0, [0.0, 1.0], method="Radau")[-1]


def test_stiff_equations():
    expected = 1000 * (1000 * np.cos(1) + np.sin(1)) / (1000**2 + 1)
    value, slope = tape.jvp(stiff, (2.0,), (1.0,))
    assert_close(value, 2 * expected, 1e-6)
    assert_close(slope, expected, 1e-6)


def snapshot(a: Any) -> Any:
    """Soon the cube root of a; run backwards in time, it would not stay there."""
    return tape.odeint(lambda y, t: -30 * (y**3 - a), 2.0, [0.0, 1.0])[-1]


@takes_long
def test_equations_that_are_unstable_backwards_in_time():
    assert_close(tape.jvp(snapshot, (1.0,), (1.0,))[1], 1 / 3, 1e-6)
    assert_close(tape.grad(snapshot)(1.0), 1 / 3, 1e-6)


# ---- what goes wrong -----------------------------------------------------------------------------


def decay(y: Any, t: Any) -> Any:
    return -y


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tape.odeint(decay, 1.0, 1.0), errors.ShapeError, r"t has shape \[\]. It must be a vector"),
        (lambda: tape.odeint(decay, 1.0, np.ones((2, 2))), errors.ShapeError, r"t has shape \[2, 2\]"),
        (lambda: tape.odeint(decay, 1.0, []), errors.ShapeError, r"t has shape \[0\]"),
        (lambda: tape.odeint(decay, 1.0, [0, 0, 1]), errors.OptionError, "strictly increasing"),
        (lambda: tape.odeint(decay, 1.0, [0, 2, 1]), errors.OptionError, "strictly increasing"),
        (lambda: tape.odeint(decay, 1.0, [0, np.nan]), errors.OptionError, "strictly increasing"),
        (lambda: tape.odeint(decay, 1, [0, 1]), errors.DTypeError, "odeint: y0 must be floats.*asarray"),
        (lambda: tape.odeint(decay, {"a": 1.0, "b": 1}, [0, 1]), errors.DTypeError, "y0 must be floats"),
        (lambda: tape.odeint(decay, (), [0, 1]), errors.DTypeError, "y0 must be floats"),
        (lambda: tape.odeint(lambda y, t: np.ones(2), 1.0, [0, 1]), errors.ShapeError, r"shape \[2\]"),
        (lambda: tape.odeint(lambda y, t: (y, y), 1.0, [0, 1]), errors.ShapeError, "returned a tree"),
        (lambda: tape.odeint(lambda y, t: y * y, 1.0, [0, 2]), errors.ConvergenceError, "Try another method"),
        (lambda: tape.odeint(decay, 1.0, [0, 1], method="no"), errors.OptionError, "method"),
        (
            lambda: tape.odeint(decay, 1.0, [0, 1], rtol=0),
            errors.OptionError,
            "rtol is 0. It must be a positive number",
        ),
        (lambda: tape.odeint(decay, 1.0, [0, 1], atol="small"), errors.OptionError, "atol is 'small'"),
        (lambda: tape.odeint(decay, 1.0, [0, 1], atol=np.nan), errors.OptionError, "atol is nan"),
        (lambda: tape.odeint(decay, 1.0, [0, 1], gradient="discrete"), errors.OptionError, "gradient is"),
        (lambda: tape.odeint(decay, 1.0, [0, 1], gradient="no"), errors.OptionError, "gradient is 'no'"),
        (lambda: tape.odeint(decay, 1.0, [0, 1], max_steps=9), errors.OptionError, "max_steps is 9"),
        *[
            (
                partial(tape.odeint, decay, 1.0, [0, 1], method="Tsit5", max_steps=most),
                errors.OptionError,
                "max",
            )
            for most in (0, 1.5, True)
        ],
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()
    assert interpreter.innermost_open() is None
    assert not interpreter.OPEN


def test_a_failure_says_how_far_it_got():
    with pytest.raises(errors.ConvergenceError, match=r"reached t = (0.9|1)"):
        tape.odeint(lambda y, t: y * y, 1.0, [0, 2])  # infinite at t = 1


def test_what_the_function_raises_comes_through():
    def f(w: Any) -> Any:
        def slope(y: Any, t: Any) -> Any:
            dy = -y * w
            if isinstance(dy, tape.Var):
                raise KeyError("mine")
            return dy

        return tape.odeint(slope, 1.0, [0.0, 1.0])[-1]

    for derive in (tape.grad, lambda f: lambda x: tape.jvp(f, (x,), (x,))):
        with pytest.raises(KeyError, match="mine"):
            derive(f)(1.0)
        assert interpreter.innermost_open() is None
        assert not interpreter.OPEN


@takes_long
def test_taylor_series():
    """By its initial value the logistic solution is ``y e / (1 + (e - 1) y)`` at t = 1."""
    found = tape.taylor(lambda y: tape.odeint(lambda y, t: y * (1 - y), y, [0.0, 1.0])[1], 0.5, 1.0, 3)
    expected = tape.taylor(lambda y: y * np.e / (1 + (np.e - 1) * y), 0.5, 1.0, 3)
    assert_close(found, expected, 1e-6)


# ---- what is integrated ----------------------------------------------------------------------------


@pytest.fixture
def integrated(monkeypatch):
    """How many numbers each call of SciPy's integrates, and over which times."""
    import scipy.integrate

    calls = []
    solve = scipy.integrate.solve_ivp

    def counting(f, span, y0, *args, **kwargs):
        calls.append((len(y0), span))
        return solve(f, span, y0, *args, **kwargs)

    monkeypatch.setattr(scipy.integrate, "solve_ivp", counting)
    return calls


def test_what_an_equation_does_not_read_decides_no_step_of_its_adjoint():
    """In a program all arrays are operands, tables of the method included: steps are as long all the same."""

    def end(a: Any) -> Any:
        y = tape.odeint(lambda y, t: -np.tanh(a * y), 1.0, [0.0, 0.4], method="Tsit5", gradient="adjoint")
        return y[-1]

    eager, compiled = tape.grad(end), tape.compile(tape.grad(end))
    for a in (-0.5, -2.0, -4.0, -8.0):
        assert_close(
            compiled(a), eager(a), 1e-7
        )  # a mean over more numbers gave other digits from the third on


@takes_long
def test_what_is_read_later_only_has_a_gradient_of_its_adjoint():
    def end(p: Any, **options: Any) -> Any:
        rate = lambda y, t: -p[0] * y if t > 0.3 else -p[1] * y  # noqa: E731
        return tape.odeint(rate, 1.0, [0.0, 0.3, 0.6], **options)[-1]

    p = [np.array(0.7), np.array(1.1)]
    found = tape.grad(partial(end, **TIGHT))(p)
    for one in found:
        assert_close(one, -0.3 * np.exp(-0.3 * 1.8), 1e-7)


def test_a_gradient_integrates_the_solution_once_and_then_adjoints_alone(integrated):
    """Three numbers; backwards, between each two times, their adjoints and those of all that is known."""

    def loss(y0, p, t):
        return np.sum(tape.odeint(lambda y, t, p: p * y, y0, t, p)[-1])

    t = np.array([0.0, 0.5, 0.7])
    tape.grad(loss, (0, 1))(np.ones(3), np.array([0.1]), t)
    forward, again, *back = integrated
    assert forward == again == (3, (0.0, 0.7))
    sizes, spans = zip(*back, strict=True)
    assert spans == ((-0.7, -0.5), (-0.5, 0.0))
    assert len(set(sizes)) == 1
    assert sizes[0] < 3 + 3 + 3 + 1 + 3  # adjoints, start, times and p, and no y again


def test_one_time_and_no_numbers_need_no_integration(integrated):
    slope = lambda y, t: -y  # noqa: E731
    np.testing.assert_array_equal(tape.odeint(slope, np.ones(2), [0.3]), np.ones((1, 2)))
    assert tape.odeint(slope, np.ones((0, 2)), [0.0, 1.0, 2.0]).shape == (3, 0, 2)
    found = tape.grad(lambda y: np.sum(tape.odeint(slope, y, [0.0, 1.0])))(np.ones((0, 2)))
    assert found.shape == (0, 2)
    found = tape.jacobian(lambda y: tape.odeint(slope, y, [0.3]))(np.array([2.0]))
    np.testing.assert_array_equal(found, np.ones((1, 1, 1)))
    assert integrated == []


def test_derivatives_by_the_only_time_and_of_nothing_are_zero():
    found = tape.grad(lambda t: np.sum(tape.odeint(lambda y, t: t * y, np.ones(2), t)))(np.array([0.3]))
    np.testing.assert_array_equal(found, np.zeros(1))
    found = tape.grad(lambda t: np.sum(tape.odeint(lambda y, t: t * y, np.ones(0), t)))(np.array([0.0, 1.0]))
    np.testing.assert_array_equal(found, np.zeros(2))


# ---- methods of ours -------------------------------------------------------------------------------


def test_they_agree_with_scipy_to_the_tolerance():
    y0, p, t = np.array([10.0, 5.0]), np.array([1.1, 0.4, 0.4, 0.1]), np.linspace(0.0, 20.0, 50)
    reference = tape.odeint(lotka_volterra, y0, t, p, **{**TIGHT, "rtol": 1e-12, "atol": 1e-12})
    for method in OWN:
        for tolerance in (1e-6, 1e-8, 1e-10):
            found = tape.odeint(lotka_volterra, y0, t, p, rtol=tolerance, atol=tolerance, method=method)
            assert np.max(np.abs(found - reference)) < 100 * tolerance


def lotka_volterra(y: Any, t: Any, p: Any) -> Any:
    a, b, c, d = p
    prey, hunters = y
    return np.stack([a * prey - b * prey * hunters, -c * hunters + d * prey * hunters])


@takes_long
@pytest.mark.parametrize("method", OWN)
def test_a_compiled_fit_holds_no_callback_and_is_as_the_plain_one(method):
    y0, t = np.array([10.0, 5.0]), np.linspace(0.0, rounds(20), rounds(50))

    def loss(p: Any) -> Any:
        return np.mean(tape.odeint(lotka_volterra, y0, t, p, method=method) ** 2)

    compiled = tape.compile(tape.value_and_grad(loss))
    for p in (np.array([1.1, 0.4, 0.4, 0.1]), np.array([0.9, 0.3, 0.5, 0.2])):
        (value, gradient), (found, by_p) = tape.value_and_grad(loss)(p), compiled(p)
        assert_close(found, value, 1e-12)
        assert_close(by_p, gradient, 1e-10)
    assert all(not program.explain().callbacks for program in compiled.programs.values())
    adjoint = tape.grad(lambda p: np.mean(tape.odeint(lotka_volterra, y0, t, p, **TIGHT) ** 2))(p)
    assert_close(gradient, adjoint, 1e-5)


@takes_long
@pytest.mark.parametrize("gradient", some(["discrete", "adjoint"], every=2))
def test_compiled_second_derivatives_are_the_plain_ones(gradient):
    options = {"rtol": 1e-7, "method": "Tsit5", "gradient": gradient}

    def end(q: Any) -> Any:
        return np.sin(tape.odeint(lambda y, t: q[1] * y * (1 - y), q[0], q[2:], **options)[-1])

    q = np.array([0.4, 1.5, 0.2, 0.9])
    for f in (tape.hessian(end), lambda q: tape.hvp(end)(q, WEIGHTS), tape.jacobian(end, mode="fwd")):
        compiled = tape.compile(f)
        for at in (q, 1.1 * q):
            # The equations for adjoints are solved up to their tolerance.
            assert_close(compiled(at), f(at), 1e-9 if gradient == "discrete" else 1e-7)
        if gradient == "discrete":
            (program,) = compiled.programs.values()
            assert not program.explain().callbacks


@pytest.mark.parametrize("times", [[0.0, 0.3, 0.5], [0.5, 0.3, 0.0], [-1.0, 0.0]])
def test_times_may_change_between_calls_of_a_program(times):
    solve = tape.compile(lambda t: tape.odeint(lambda y, t: -y * t, 1.0, t, method="Tsit5"))
    for t in (np.array(times), 2 * np.array(times)):
        assert_close(solve(t), np.exp((t[0] ** 2 - t**2) / 2), 1e-6)


@takes_long
def test_in_the_body_of_a_loop():
    def run(x: Any) -> Any:
        def step(y: Any, rate: Any) -> Any:
            out = tape.odeint(lambda y, t: rate * y, y, np.array([0.0, 0.3, 0.5]), method="Tsit5")
            return out[-1], out[1]

        return tape.scan(step, x, np.array([1.0, 2.0, -1.0, 0.5]))

    compiled = tape.compile(tape.grad(lambda x: run(x)[0] * np.sum(run(x)[1])))
    assert_close(compiled(2.0), tape.grad(lambda x: run(x)[0] * np.sum(run(x)[1]))(2.0), 1e-12)
    (program,) = compiled.programs.values()
    assert not program.explain().callbacks


@takes_long
def test_a_program_raises_where_a_later_call_fails_and_works_again():
    def end(y0: Any) -> Any:
        return tape.odeint(lambda y, t: y * y, y0, [0.0, 0.5], method="Tsit5")[-1]

    def several(y0: Any) -> Any:
        return tape.scan(lambda y, _: (end(y), None), y0, length=2)[0]

    for f, by_hand, bad in ((end, lambda y: y / (1 - y / 2), 3.0), (several, lambda y: y / (1 - y), 1.5)):
        solve = tape.compile(f)
        assert_close(solve(0.5), by_hand(0.5), 1e-7)
        with pytest.raises(errors.ConvergenceError, match="the state is not finite, or the step"):
            solve(bad)
        assert_close(solve(0.25), by_hand(0.25), 1e-7)
        assert not interpreter.OPEN


@takes_long
@pytest.mark.parametrize("wrap", [lambda f: f, tape.compile], ids=["plain", "compiled"])
@pytest.mark.parametrize("method", OWN)
@pytest.mark.parametrize(
    ("slope", "y0", "t", "most", "words"),
    [
        (lambda y, t: -y, 1.0, [0, 1e3], 5, "max_steps = 5 steps were not enough. It reached t = 0"),
        (
            lambda y, t: y * y,
            1.0,
            [0, 2],
            None,
            "not finite, or the step has become too small. It reached t = 1",
        ),
        (lambda y, t: y * y, -1.0, [0, -2], None, "the step has become too small. It reached t = -1"),
        (lambda y, t: -y, np.nan, [0, 1], None, "reached t = 0"),
        (lambda y, t: np.sqrt(0.5 + 0 * y - t), 1.0, [0, 1], None, "reached t = 0.5"),
        (lambda y, t: y * np.inf, 1.0, [1, 0], None, "reached t = 1"),
    ],
    ids=["too many", "pole", "pole before", "nan", "undefined", "infinite"],
)
def test_what_cannot_be_integrated_ends_with_an_error(slope, y0, t, most, words, method, wrap):
    with np.errstate(all="ignore"), pytest.raises(errors.ConvergenceError, match=words):
        wrap(lambda y0: tape.odeint(slope, y0, t, method=method, max_steps=most))(y0)
    assert not interpreter.OPEN


def test_a_rejected_step_where_the_slope_is_undefined_is_repeated():
    with np.errstate(invalid="ignore"):
        found = tape.odeint(lambda y, t: -1 - 0 * np.sqrt(y), 100.0, [0, 99.9], atol=1e3, method="Tsit5")
    assert_close(found, np.array([100.0, 0.1]), 1e-12)


@pytest.mark.parametrize("method", OWN)
def test_orders_of_convergence(method):
    """Of steps of one size, and of the interpolant in the middle of them, whose local error it is."""
    tableau = TABLEAUS[method]

    def slope(y: Any, t: Any) -> Any:
        return np.stack([y[1], -y[0] * (1 + t)])

    exact = partial(tape.odeint, slope, np.array([1.0, 0.5]), **{**TIGHT, "rtol": 1e-13, "atol": 1e-13})
    by_steps, between = [], []
    for count in (8, 16, 32):
        h, y = 1.0 / count, np.array([1.0, 0.5])
        for k in range(count):
            after, stages = _stages(slope, k * h, h, y, slope(y, k * h), tableau)
            if k == 0:
                weights = tableau.between @ 0.4 ** np.arange(1, 5)
                middle = y + h * weights @ np.stack(stages)
                between.append(np.max(np.abs(middle - exact([0.0, 0.4 * h])[-1])))
            y = after
        by_steps.append(np.max(np.abs(y - exact([0.0, 1.0])[-1])))
    assert np.all(np.abs(np.log2(np.divide(by_steps[:-1], by_steps[1:])) - 5) < 0.5)
    assert np.all(np.abs(np.log2(np.divide(between[:-1], between[1:])) - 5) < 0.5)


@pytest.mark.parametrize("method", OWN)
def test_order_conditions(method):
    """One for each rooted tree of up to five nodes (Hairer, Norsett and Wanner I, table II.2.2)."""
    tableau = TABLEAUS[method]
    a = np.zeros((7, 7))
    for i, row in enumerate(tableau.a, 1):
        a[i, : len(row)] = row
    c = np.array([0.0, *tableau.c])
    weights = np.array([*tableau.a[-1], 0.0])
    trees = [
        (1, 1, c**0), (2, 2, c), (3, 3, c**2), (3, 6, a @ c), (4, 4, c**3), (4, 8, c * (a @ c)),
        (4, 12, a @ c**2), (4, 24, a @ a @ c), (5, 5, c**4), (5, 10, c**2 * (a @ c)), (5, 15, c * (a @ c**2)),
        (5, 20, a @ c**3), (5, 20, (a @ c) ** 2), (5, 30, c * (a @ a @ c)), (5, 40, a @ (c * (a @ c))),
        (5, 60, a @ a @ c**2), (5, 120, a @ a @ a @ c),
    ]  # fmt: skip
    assert_close(a @ np.ones(7), c, 1e-14)
    for order, density, phi in trees:
        assert_close(weights @ phi, 1 / density, 1e-13)
        embedded = (weights - tableau.error) @ phi - 1 / density
        assert order == 5 or abs(embedded) < 1e-13
        for x in (0.0, 0.2, 0.5, 0.9, 1.0):
            between = tableau.between @ x ** np.arange(1, 5)
            assert order == 5 or abs(between @ phi - x**order / density) < 1e-13
    assert_close(tableau.between[:, 0], np.eye(7)[0], 1e-14)  # slopes at both ends: it is smooth
    assert_close(tableau.between @ np.arange(1, 5), np.eye(7)[6], 1e-13)
    assert any(abs((weights - tableau.error) @ phi - 1 / d) > 1e-5 for order, d, phi in trees if order == 5)


# ---- stiff equations: SciPy's methods ----------------------------------------------------------------


def test_van_der_pol():
    """At mu = 1000 (Hairer and Wanner II, IV.10); reference by another method and tolerance."""

    def end(mu: Any, **options: Any) -> Any:
        def slope(y: Any, t: Any) -> Any:
            return np.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

        return tape.odeint(slope, np.array([2.0, 0.0]), [0.0, 500.0], **options)[-1]

    found = end(1e3, method="Radau", rtol=1e-8, atol=1e-10)
    assert_close(found, end(1e3, method="LSODA", rtol=1e-11, atol=1e-12), 1e-5)


def test_robertson():
    """The values at t = 40 are those of the test set for initial value problems, to six digits."""

    def slope(y: Any, t: Any, k: Any) -> Any:
        a, b, c = y
        made, lost = k[2] * b * c, k[1] * b * b
        return np.stack([made - k[0] * a, k[0] * a - made - lost, lost])

    k = np.array([0.04, 3e7, 1e4])
    for method in ("Radau", "BDF", "LSODA"):
        found = tape.odeint(slope, np.array([1.0, 0.0, 0.0]), [0.0, 40.0], k, method=method, atol=1e-12)[-1]
        assert_close(found, np.array([0.7158271, 9.185535e-6, 0.2841637]), 1e-6)
