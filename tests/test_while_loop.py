"""Loops that data end: the number of steps, room for them, and what falls back to Python."""

import threading
from unittest.mock import Mock

import numpy as np
import pytest

import tape
from tape import errors, tree
from tests.test_loops import assert_alike
from tests.tiers import some, takes_long


def shrunk(x, rate):
    """About log(x) / log(1 / rate) steps."""
    return tape.while_loop(lambda v: v > 1.0, lambda v: v * rate, x)


def steps_of(x, rate):
    return tape.while_loop(lambda s: s[0] > 1.0, lambda s: (s[0] * rate, s[1] + 1), (x, 0))[1]


def shrunk_rows(x, rate):
    """A loop in a loop: rows take different numbers of steps."""
    return tape.map(lambda v: shrunk(v, rate) * v, x)


def shrunk_twice(x, rate):
    return tape.while_loop(lambda v: v > 1e-3, lambda v: shrunk(v + 5, rate) * v * 0.1, x)


SIZES = [3.0, 1e3, 0.5, 1e100, 1.0, 1e9, 1e300, 2.0]
RATES = [0.5, 0.999, 0.9, 0.7]


@takes_long
@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
@pytest.mark.parametrize(
    "transform",
    some([tape.value_and_grad, lambda f: f, lambda f: tape.grad(tape.grad(f, 1), 1), tape.grad], every=2),
)
def test_steps_from_none_to_a_million_run_in_few_programs(transform):
    compiled = tape.compile(transform(shrunk))
    for rate in RATES:
        for x in SIZES:
            expected = transform(shrunk)(x, rate) if rate != 0.999 else None
            found = compiled(x, rate)
            if expected is not None:
                assert_alike(found, expected, 1e-10)
    assert tape.compile(steps_of)(1e300, 0.999) > 690_000
    assert np.all(np.isfinite(tree.flatten(compiled(1e300, 0.999))[0]))
    assert len(compiled.programs) <= 8  # with room for 64 steps, four times as many, and so on


@takes_long
@pytest.mark.parametrize("order", some([1, -1], every=2))
def test_room_grows_in_loops_within_loops(order):
    """What one row, or one step, takes is not known from the first."""
    sizes = np.array([2.0, 1e20, 0.1, 1e100, 7.0])[::order]
    f = tape.grad(lambda x, rate: np.sum(np.log(shrunk_rows(x, rate))))
    compiled = tape.compile(f)
    for rate in (0.5, 0.9, 0.3, 0.95, 0.9):
        for scale in (1.0, 1e-3, 1e5):
            assert_alike(compiled(sizes * scale, rate), f(sizes * scale, rate), 1e-9)
    assert len(compiled.programs) <= 4


def test_room_grows_in_a_while_in_a_while():
    f = tape.value_and_grad(shrunk_twice)
    compiled = tape.compile(f)
    for x, rate in [(0.5, 0.5), (3.0, 0.9), (0.2, 0.99), (40.0, 0.5), (1e-9, 0.5), (2.0, 0.998)]:
        assert_alike(compiled(x, rate), f(x, rate), 1e-8)
    assert len(compiled.programs) <= 4


def test_numbers_of_steps_and_dtypes_are_those_of_the_eager_loop():
    compiled = tape.compile(steps_of)
    for x in SIZES:
        found, expected = compiled(x, 0.9), steps_of(x, 0.9)
        assert (found, type(found)) == (expected, type(expected))
    x = np.float32(100.0)
    assert tape.compile(shrunk)(x, 0.5).dtype == shrunk(x, 0.5).dtype == np.float32


@takes_long
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 63, 64, 65])
@pytest.mark.parametrize("body", ["overwritten", "swapped", "read later"])
def test_the_last_state_is_the_last_for_every_number_of_steps(count, body):
    """Even, odd, none, and as many as there is room for; states that lie in one, two and all places."""
    step = {
        "overwritten": lambda s: (s[0] + 1, s[1] * 0.99, s[2] + s[1]),
        "swapped": lambda s: (s[0] + 1, s[2] * 0.99, s[1] + 0.1),
        "read later": lambda s: (s[0] + 1, np.sin(s[1]) + s[2] * s[1], np.cos(s[2])),
    }[body]

    def f(x, n):
        return tape.while_loop(lambda s: s[0] < n, step, (0, x, x * 2))

    def loss(x, n):
        _, a, b = f(x, n)
        return np.sum(a * b)

    x = np.linspace(0.1, 1.0, 3)
    compiled, gradient, tangent = (
        tape.compile(g)
        for g in (f, tape.grad(loss), lambda x, n: tape.jvp(lambda x: f(x, n)[1:], (x,), (x,)))
    )
    for n in (np.int64(7), np.int64(count), np.int64(2)):
        assert_alike(compiled(x, n), f(x, n))
        assert_alike(gradient(x, n), tape.grad(loss)(x, n))
        assert_alike(tangent(x, n), tape.jvp(lambda x, n=n: f(x, n)[1:], (x,), (x,)))


# ---- conditions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "goes_on",
    [
        lambda s: s[0] < 5,
        lambda s: 5 - s[0],
        lambda s: (s[0] < 5) & (s[1] > 0),
        lambda s: np.logical_and(s[0] < 5, True),
        lambda s: np.float32(5) - s[0],
        lambda s: np.sum(s[2]) < 15,
        lambda s: np.any(s[2] < 5),
    ],
)
def test_conditions_are_bools_or_numbers(goes_on):
    def f(x):
        return tape.while_loop(goes_on, lambda s: (s[0] + 1, s[1] * 1.5, s[2] + 1), (0, x, np.zeros(3)))

    compiled = tape.compile(f)
    for x in (1.0, 3.0):
        assert_alike(compiled(x), f(x))
    (program,) = compiled.programs.values()
    assert program.bodies


@pytest.mark.parametrize(
    "goes_on", [lambda s: s[0] < 5 and s[1] < 9, lambda s: bool(s[0] < 5), lambda s: s[2][:1] < 5]
)
def test_conditions_that_python_reads_are_guards(goes_on):
    def f(x):
        return tape.while_loop(goes_on, lambda s: (s[0] + 1, s[1] * 1.5, s[2] + 1), (0, x, np.zeros(3)))

    compiled = tape.compile(f)
    for x in (1.0, 3.0, 100.0):
        assert_alike(compiled(x), f(x))
    assert "in the body of a loop" in str(compiled.explain())


def test_a_loop_whose_condition_is_known():
    compiled = tape.compile(lambda x: tape.while_loop(lambda v: False, lambda v: v / 0, x))
    assert compiled(np.ones(2)).tolist() == [1.0, 1.0]
    compiled = tape.compile(lambda x: x * tape.while_loop(lambda n: n < 5, lambda n: n + 1, 0))
    assert [compiled(x) for x in (1.0, 2.0)] == [5.0, 10.0]


def test_a_step_that_fails_where_none_is_taken():
    """It is recorded when the first call that takes it fails, or does not."""

    def f(x, table):
        return tape.while_loop(lambda v: v > 0, lambda v: v - table[int(v)], x)

    compiled = tape.compile(f)
    assert compiled(-1.0, np.ones(0)) == -1.0
    assert compiled(2.0, np.ones(3)) == 0.0
    with pytest.raises(IndexError):
        compiled(2.0, np.ones(0))


# ---- errors --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (lambda s: (s[0] + 1, s[1] * 1j), errors.DTypeError),
        (lambda s: (s[0] + 0.5, s[1]), errors.DTypeError),
        (lambda s: (s[0] + 1, s[1][:1]), errors.ShapeError),
        (lambda s: (s[0] + 1, s[1], 0), errors.ShapeError),
        (lambda s: [s[0] + 1, s[1]], errors.ShapeError),
        (lambda s: (s[0] + 1, "x"), errors.DTypeError),
    ],
)
def test_a_state_keeps_its_types(step, error):
    def f(x):
        return tape.while_loop(lambda s: s[0] < 3, step, (0, x))

    for call in (f, tape.compile(f), tape.compile(tape.grad(lambda x: np.sum(f(x)[1])))):
        with pytest.raises(error, match="while_loop"):
            call(np.ones(2))


def test_steps_that_do_something_else_each_time_are_refused():
    number = Mock(side_effect=[0.5, 0.25, 0.5, 0.25])
    f = tape.compile(lambda x: tape.while_loop(lambda v: v < 3, lambda v: v + number(), x))
    with pytest.raises(errors.UnsupportedError, match="something else each time"):
        f(0.0)


@takes_long
def test_threads_run_one_loop_at_once():
    f = tape.compile(tape.value_and_grad(shrunk))
    expected = {x: tape.value_and_grad(shrunk)(x, 0.9) for x in SIZES}
    f(2.0, 0.9)
    wrong = []

    def call():
        for _ in range(30):
            wrong.extend(x for x in SIZES if not np.allclose(f(x, 0.9), expected[x], rtol=1e-10))

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
