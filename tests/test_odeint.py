"""`odeint`: against closed forms, in both modes and at second order, by everything there is."""

from typing import Any

import numpy as np
import pytest

import tape
from tape import errors
from tape.core import interpreter
from tests.oracles import assert_close, assert_same
from tests.test_checkpoint import INNER

T = np.array([0.2, 0.5, 0.7, 1.3])
TIGHT = {"rtol": 1e-11, "atol": 1e-11, "method": "DOP853"}


# ---- closed forms --------------------------------------------------------------------------------
# Each is a pair of functions of (y0, t, p): by integration, and by hand.


def growth(y0: Any, t: Any, p: Any) -> Any:
    return tape.odeint(lambda y, t, p: p * y, y0, t, p, **TIGHT)


def growth_by_hand(y0: Any, t: Any, p: Any) -> Any:
    return y0 * np.exp(p * (t - t[0]))


def forced(y0: Any, t: Any, p: Any) -> Any:
    """Depends on time, and closes over p."""
    return tape.odeint(lambda y, t: -p * y * t, y0, t, **TIGHT)


def forced_by_hand(y0: Any, t: Any, p: Any) -> Any:
    return y0 * np.exp(-p * (t * t - t[0] * t[0]) / 2)


def logistic(y0: Any, t: Any, p: Any) -> Any:
    return tape.odeint(lambda y, t, p: p["rate"] * y * (1 - y), y0, t, {"rate": p}, **TIGHT)


def logistic_by_hand(y0: Any, t: Any, p: Any) -> Any:
    return 1 / (1 + (1 / y0 - 1) * np.exp(-p * (t - t[0])))


def oscillator(y0: Any, t: Any, p: Any) -> Any:
    """Position and speed, a tree; p is the frequency."""

    def slope(y: Any, t: Any) -> Any:
        return {"x": y["v"], "v": -(p**2) * y["x"]}

    return tape.odeint(slope, {"x": y0, "v": 2 * y0}, t, **TIGHT)["x"]


def oscillator_by_hand(y0: Any, t: Any, p: Any) -> Any:
    phase = p * (t - t[0])
    return y0 * np.cos(phase) + 2 * y0 / p * np.sin(phase)


def vector(y0: Any, t: Any, p: Any) -> Any:
    """The same as a system, with a matrix."""
    matrix = np.stack([np.stack([0 * p, 1 + 0 * p]), np.stack([-p * p, 0 * p])])
    start = np.stack([y0, 2 * y0])
    return tape.odeint(lambda y, t, m: m @ y, start, t, matrix, **TIGHT)[:, 0]


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


@pytest.mark.parametrize(
    "times", [T, T[::-1], T - 1, T[2:], T[:1]], ids=["up", "down", "negative", "two", "one"]
)
@pytest.mark.parametrize("name", EQUATIONS)
def test_values_gradients_and_tangents(name, times):
    f, by_hand = EQUATIONS[name]
    at = (0.4, times, 1.5)
    moved = (0.3, MOVED[1][: len(times)], -0.7)
    assert_close(f(*at), by_hand(*at), 1e-9)

    def total(f: Any) -> Any:
        return lambda *args: np.sum(np.sin(f(*args)) * WEIGHTS[: len(times)])

    found, expected = (tape.grad(total(g), (0, 1, 2))(*at) for g in EQUATIONS[name])
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
    for f, by_hand in EQUATIONS.values():
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


@pytest.mark.parametrize("derive", SECOND)
@pytest.mark.parametrize("name", ["forced", "logistic"])
def test_second_order_by_everything(name, derive):
    """By the first state, the parameter and both times together."""
    loose = {"rtol": 1e-9, "atol": 1e-9}

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


def test_one_time_is_the_start():
    out = tape.odeint(lambda y, t: -y, np.ones(2), [3.0])
    assert_same(out, np.ones((1, 2)))
    by_y, by_t = tape.grad(lambda y, t: np.sum(tape.odeint(lambda y, t: -y, y, t)), (0, 1))(2.0, np.ones(1))
    assert by_y == 1
    assert_same(by_t, np.zeros(1))


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


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
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
