"""`checkpoint_loop`: the same as the loop, in as few steps as can be, and with few states in memory."""

import weakref
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import tape
from tape import errors
from tape.core import interpreter
from tape.transforms import checkpoint_loop
from tape.transforms._revolve import forward_steps, repetitions, split
from tests.oracles import assert_close, assert_same
from tests.test_checkpoint import INNER, OUTER, TRANSFORMS, A, X, peak
from tests.tiers import rounds, takes_long


def plain_loop(body: Any, state: Any, steps: int, snapshots: int = 0) -> Any:
    for step in range(steps):
        state = body(state, step)
    return state


# ---- every transform -----------------------------------------------------------------------------


def vector_state(loop: Any, steps: int, snapshots: int) -> Any:
    return lambda x: loop(lambda s, step: np.tanh(A @ s) + s / (2 + step), x, steps, snapshots)


def tree_state(loop: Any, steps: int, snapshots: int) -> Any:
    """Floats of several shapes, an integer that counts, and what does not move."""

    def body(state: Any, step: int) -> Any:
        x = state["x"] * np.cos(state["y"]) + state["n"] * step
        return {
            "x": np.sin(x),
            "y": (state["y"] + np.sum(x)) / 2,
            "n": state["n"] + 1,
            "fixed": state["fixed"],
        }

    def f(x: Any) -> Any:
        out = loop(body, {"x": x, "y": x[0] * 2, "n": 1, "fixed": np.ones(2)}, steps, snapshots)
        assert out["n"] == 1 + steps
        return out["x"] * out["y"] * out["fixed"][0]

    return f


def closures(loop: Any, steps: int, snapshots: int) -> Any:
    def f(x: Any) -> Any:
        inside = {"w": x * x}
        return loop(lambda s, step: np.sin(s * inside["w"] + x) + x[step % 3], np.cos(x), steps, snapshots)

    return f


def constant_start(loop: Any, steps: int, snapshots: int) -> Any:
    """All derivatives come through what the body closes over."""
    return lambda x: loop(lambda s, step: np.sin(s + x * s), np.ones(3), steps, snapshots)


PROGRAMS = {
    "vector": vector_state,
    "tree": tree_state,
    "closures": closures,
    "constant start": constant_start,
}


@takes_long
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_equals_the_loop(program, transform):
    derive, make = TRANSFORMS[transform], PROGRAMS[program]
    assert_close(derive(make(checkpoint_loop, 5, 2)), derive(make(plain_loop, 5, 0)), 1e-11)


@pytest.mark.parametrize("snapshots", [1, 2, 3, 20])
@pytest.mark.parametrize("steps", [1, 2, 3, 10, 23])
@pytest.mark.parametrize("transform", ["value", "grad", "jvp", "jacobian rev"])
def test_it_equals_the_loop_for_any_number_of_steps_and_snapshots(steps, snapshots, transform):
    derive = TRANSFORMS[transform]
    found, expected = (derive(tree_state(loop, steps, snapshots)) for loop in (checkpoint_loop, plain_loop))
    assert_close(found, expected, 1e-12)


def test_no_steps():
    def never(state, step):
        raise AssertionError

    assert_same(checkpoint_loop(never, X, 0, 1), X)
    by_x = tape.grad(lambda x: checkpoint_loop(never, (x, 2 * x), 0, 3)[1])(1.0)
    assert by_x == 2
    assert tape.jvp(lambda x: checkpoint_loop(never, x, 0, 1), (1.0,), (3.0,)) == (1, 3)


def test_descent_is_differentiated_through():
    def f(loop: Any) -> Any:
        def end(x: Any) -> Any:
            slope = tape.grad(lambda y: np.sum((y - x) ** 4 + (y - 1) ** 2))
            return loop(lambda s, step: s - 0.02 * slope(s), np.zeros(3), 4, 2)

        return end

    for transform in ("grad", "jvp", "hessian"):
        assert_close(TRANSFORMS[transform](f(checkpoint_loop)), TRANSFORMS[transform](f(plain_loop)), 1e-12)


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("inner", [name for name in INNER if name != "taylor"])
def test_an_inner_derivative_of_a_closure_over_an_outer_var(inner, outer):
    """The loop is recorded for x, and closes over w, which belongs to a trace further out."""

    def slope(loop: Any) -> Any:
        return OUTER[outer](lambda w: INNER[inner](lambda x: loop(lambda s, k: np.sin(s * w) * w, x, 3, 2)))

    assert_close(slope(checkpoint_loop), slope(plain_loop), 1e-13)


def test_taylor_series():
    found = tape.taylor(lambda x: checkpoint_loop(lambda s, step: s * s, x, 2, 1), 1.5, 1.0, 5)
    assert_close(found, tape.taylor(lambda x: x**4, 1.5, 1.0, 5), 1e-14)


def test_a_state_that_does_not_move_with_the_first_has_a_tangent_of_zero():
    f = lambda x: checkpoint_loop(lambda s, step: np.floor(s) + 2.0, x, 3, 2)  # noqa: E731
    value, tangent = tape.jvp(f, (np.array([0.3, 1.7]),), (np.ones(2),))
    np.testing.assert_array_equal(value, [6.0, 7.0])
    np.testing.assert_array_equal(tangent, np.zeros(2))


def test_replay():
    trace = tape.Trace()
    x, w = trace.param(1.0), trace.param(2.0)
    y = checkpoint_loop(lambda s, step: np.sin(s * w), x, 9, 2)
    trace.set(x, 0.5)
    trace.set(w, 0.7)
    trace.replay()
    expected = tape.value_and_grad(lambda x, w: plain_loop(lambda s, step: np.sin(s * w), x, 9), (0, 1))
    value, slopes = expected(0.5, 0.7)
    assert_close(y.value, value, 1e-14)
    assert_close(trace.backward_param_grads(y), slopes, 1e-14)


def test_dtypes_are_kept():
    x = np.ones(2, np.float32)
    out, pullback = tape.vjp(lambda x: checkpoint_loop(lambda s, step: (s[0] * 0.5, s[1]), (x, 2.0), 5, 2), x)
    assert (out[0].dtype, out[1].dtype) == (np.float32, np.float64)
    assert pullback((x, 1.0))[0].dtype == np.float32


def test_a_state_that_passes_through_is_not_the_callers():
    x, seed = np.ones(2), np.ones(2)
    _, pullback = tape.vjp(lambda x: checkpoint_loop(lambda s, step: s, x, 5, 2), x)
    (gradient,) = pullback(seed)
    assert not np.shares_memory(gradient, seed)


# ---- how many steps ------------------------------------------------------------------------------


@pytest.mark.parametrize("snapshots", [1, 2, 5])
def test_a_body_may_return_one_buffer_again_and_again(snapshots):
    """Snapshots are copies: otherwise all of them would be the last state."""
    buffer = np.zeros(3)

    def body(state: Any, step: int) -> Any:
        state = np.sin(state) * 1.3
        if type(state) is np.ndarray:
            buffer[:] = state
            return buffer
        return state

    gradient = tape.grad(lambda x: np.sum(checkpoint_loop(body, x, 7, snapshots)))
    assert_close(gradient(X), tape.grad(lambda x: np.sum(plain_loop(lambda s, _: np.sin(s) * 1.3, x, 7)))(X))


@lru_cache(None)
def fewest(steps: int, states: int) -> int:
    """The fewest steps forwards, by trying every place for the next snapshot."""
    if steps <= 1:
        return 0
    if states == 1:
        return steps * (steps - 1) // 2
    return min(m + fewest(m, states) + fewest(steps - m, states - 1) for m in range(1, steps))


@pytest.mark.parametrize("states", range(1, 10))
def test_the_schedule_is_optimal(states):
    for steps in range(80):
        assert forward_steps(steps, states) == fewest(steps, states)
        if steps > 1 < states:
            m = split(steps, states)
            assert 0 < m < steps
            assert m + fewest(m, states) + fewest(steps - m, states - 1) == fewest(steps, states)


def test_known_figures():
    """Griewank and Walther, table 1, and the docstring."""
    assert repetitions(10_000, 20) == 4
    assert forward_steps(10, 3) == 15
    assert forward_steps(100, 99) == forward_steps(100, 1000) == 99


class Counted:
    """A body that counts its calls, apart for each step."""

    def __init__(self, steps: int) -> None:
        self.calls = np.zeros(steps, int)

    def __call__(self, x: Any, step: int) -> Any:
        self.calls[step] += 1
        return np.sin(x)


PAIRS = [
    (steps, states) for steps in (1, 2, 3, 4, 5, 7, 10, 11, 20, 35, 36, 60) for states in (1, 2, 3, 4, 7, 60)
]


@pytest.mark.parametrize(("steps", "snapshots"), PAIRS)
def test_the_number_of_calls_is_that_of_binomial_checkpointing(steps, snapshots):
    body = Counted(steps)
    tape.grad(lambda x: checkpoint_loop(body, x, steps, snapshots))(1.0)
    assert sum(body.calls) == forward_steps(steps, snapshots) + 1 + steps
    assert max(body.calls) <= repetitions(steps, snapshots) + 2  # the first pass, and the recording


def test_forward_mode_runs_every_step_once_more():
    body = Counted(30)
    tape.jvp(lambda x: checkpoint_loop(body, x, 30, 2), (1.0,), (1.0,))
    assert set(body.calls) == {2}


def test_a_second_pullback_gives_the_same_at_no_more_than_a_whole_reversal():
    body = Counted(30)
    _, pullback = tape.vjp(lambda x: checkpoint_loop(body, x, 30, 3), 1.0)
    assert sum(body.calls) == 30
    first = pullback(1.0)
    body.calls[:] = 0
    assert pullback(1.0) == first
    assert sum(body.calls) <= forward_steps(30, 3) + 30


# ---- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("steps", "snapshots"), [(35, 3), (50, 1), (100, 5), (200, 10)])
def test_no_more_states_are_held_than_snapshots(steps, snapshots):
    """The first one included, besides the one in use."""
    alive: list[Any] = []
    most = 0

    def body(x: Any, step: int) -> Any:
        nonlocal alive, most
        alive = [ref for ref in alive if ref() is not None]
        most = max(most, len(alive))
        y = np.sin(x)
        if isinstance(y, np.ndarray):  # not one that is being recorded
            alive.append(weakref.ref(y))
        return y

    tape.grad(lambda x: np.sum(checkpoint_loop(body, x, steps, snapshots)))(np.ones(2))
    # The first one is the caller's, and not counted here; the one in use and the result are.
    assert most <= snapshots - 1 + 2


@takes_long
def test_peak_memory_of_many_steps():
    def run(loop: Any) -> Any:
        return lambda x: np.sum(loop(lambda s, step: np.sin(s) + s, x, 2000, 10))

    x = np.ones(200)
    plain, saved = (peak(tape.grad(run(loop)), x) for loop in (plain_loop, checkpoint_loop))
    assert saved < plain / 40


@takes_long
def test_peak_memory_does_not_grow_with_closures():
    w = np.ones(rounds(20_000, plain=5_000))

    def run(steps: int) -> Any:
        return lambda w: np.sum(checkpoint_loop(lambda s, step: np.sin(s * w), np.ones(w.shape), steps, 5))

    few, many = (peak(tape.grad(run(steps)), w) for steps in (50, rounds(400, plain=200)))
    assert many < 1.5 * few


# ---- bad input -----------------------------------------------------------------------------------


def bad_body(after: Any, state: Any = 1.0) -> Any:
    return lambda: checkpoint_loop(lambda s, step: after(s), state, 3, 2)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            bad_body(lambda s: (s, s)),
            errors.ShapeError,
            "in step 0, returned a state .* must keep the structure",
        ),
        (bad_body(lambda s: None), errors.ShapeError, "in step 0, returned a state"),
        (
            bad_body(lambda s: np.ones(2)),
            errors.ShapeError,
            r"returned float64\[2\] for state, .*must keep the shapes",
        ),
        (bad_body(lambda s: np.float32(1)), errors.DTypeError, r"returned float32\[\] for state, .*astype"),
        (bad_body(lambda s: 1), errors.DTypeError, "returned 1 for state"),
        (bad_body(lambda s: 0.5 * s, 1), errors.DTypeError, "returned 0.5 for state, .*Start with a float"),
        (
            bad_body(lambda s: {"a": [s["a"][0][:1]]}, {"a": [np.ones(2)]}),
            errors.ShapeError,
            r"for state\['a'\]\[0\], which is float64\[2\]",
        ),
        (lambda: checkpoint_loop(np.add, 1.0, -1, 1), errors.OptionError, "steps is -1"),
        (lambda: checkpoint_loop(np.add, 1.0, 2.0, 1), errors.OptionError, "steps is 2.0. It must be an int"),
        (lambda: checkpoint_loop(np.add, 1.0, 2, 0), errors.OptionError, "snapshots is 0. .* 1 or more"),
        (lambda: checkpoint_loop(np.add, 1.0, 2, None), errors.OptionError, "snapshots is None"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()
    assert interpreter.innermost_open() is None
    assert not interpreter.OPEN


@pytest.mark.parametrize("recording", [False, True])
@pytest.mark.parametrize("derive", [tape.grad, lambda f: lambda x: tape.jvp(f, (x,), (x,)), tape.hessian])
def test_what_the_body_raises_comes_through(derive, recording):
    def f(w: Any) -> Any:
        def body(x: Any, step: int) -> Any:
            y = x * w
            if step == 5 and isinstance(y, tape.Var) == recording:
                raise KeyError("mine")
            return y

        return checkpoint_loop(body, w, 10, 3)

    with pytest.raises(KeyError, match="mine"):
        derive(f)(1.0)
    assert interpreter.innermost_open() is None
    assert not interpreter.OPEN


# ---- in programs ---------------------------------------------------------------------------------

TABLE = np.linspace(0.5, 1.0, 6)
BODIES = {
    "state alone": lambda s, step: np.sin(s) * 0.9,
    "number of the step": lambda s, step: s * 0.5**step + step % 2 - 0.1 * step,
    "elements": lambda s, step: s * np.asarray(TABLE, like=s)[step + 0],
}
IN_PYTHON = {
    "reads": lambda s, step: s if step % 2 else s * 0.5,
    "large ints": lambda s, step: s * (0.5 + 1 / (1 + 2**step)),
    "divides": lambda s, step: s / (step + 1),
    "a root": lambda s, step: s * (step + 1) ** 0.5,
    "a computed exponent": lambda s, step: s * 0.5 ** (step + 1),
    "float32": lambda s, step: s.astype(np.float32).astype(float) * 0.5 + step,
}


@pytest.mark.parametrize("name", [*BODIES, *IN_PYTHON])
def test_in_a_program_it_is_rows_if_numbers_mean_there_what_they_mean_in_python(name):
    body = BODIES.get(name) or IN_PYTHON[name]

    def f(x):
        return np.sum(tape.checkpoint_loop(lambda s, k: body(s, k) * x, x, 6, 2) ** 2)

    for derived in (f, tape.grad(f), tape.grad(lambda x: np.sum(tape.grad(f)(x) ** 2))):
        compiled = tape.compile(derived)
        compiled(X)
        assert_close(compiled(X / 2), derived(X / 2))
        (program,) = compiled.programs.values()
        assert bool(program.explain().callbacks) == (name in IN_PYTHON)


def test_in_a_program_a_body_that_writes_to_its_state_raises():
    def body(s, step):
        s += 1
        return s

    compiled = tape.compile(lambda x: tape.checkpoint_loop(body, x, 3, 2))
    with pytest.raises(errors.InPlaceError):
        compiled(X)
