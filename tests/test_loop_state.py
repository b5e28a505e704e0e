"""State that the steps of loops, checkpoints and equations change, which a program would freeze."""

from contextlib import suppress

import numpy as np
import pytest

import tape
from tape import errors

LOOPS = {
    "scan": lambda step, x: tape.scan(lambda c, x: (step(c, x), None), 0.0, x)[0],
    "fori_loop": lambda step, x: tape.fori_loop(0, 9, lambda i, c: step(c, x[0]), 0.0),
    "while_loop": lambda step, x: tape.while_loop(lambda c: c < 3.0, lambda c: step(c, x[0]), 0.0),
    "condition": lambda step, x: tape.while_loop(lambda c: step(0.0, c) < 3.0, lambda c: c + x[0], 0.0),
    "map": lambda step, x: np.sum(tape.map(lambda x: step(0.0, x), x)),
    "checkpoint_loop": lambda step, x: tape.checkpoint_loop(lambda c, _: step(c, x[0]), 0.0, 12, 3),
    "checkpoint": lambda step, x: np.sum(tape.checkpoint(lambda x: step(0.0, x))(x)),
    "root": lambda step, x: tape.root(lambda z: step(0.0, z) ** 3 - x[2], 1.0),
    "fixed_point": lambda step, x: tape.fixed_point(lambda z: 0.5 * np.cos(step(0.0, z)), 1.0),
}


def counting(loop, x):
    count = 0

    def step(c, x):
        nonlocal count
        count += 1
        return c + x

    return LOOPS[loop](step, x) * count


def warming_up(loop, x):
    steps = []

    def step(c, x):
        steps.append(1)
        return c + x if len(steps) < 5 else c + 1.5 * x

    return LOOPS[loop](step, x)


def writing(loop, x):
    count = np.zeros(1)

    def step(c, x):
        np.add(count, 1, out=count)
        return c + x

    return LOOPS[loop](step, x) * count[0]


def drawing(loop, x):
    rng = np.random.default_rng(0)
    return LOOPS[loop](lambda c, x: c + (x if rng.random() < 0.95 else 0.5 * x), x)


class Counter:
    """An object with state."""

    calls = 0


def on_an_object(loop, x):
    counter = Counter()

    def step(c, x):
        counter.calls += 1
        return c + x

    return LOOPS[loop](step, x) * counter.calls


def filling(loop, x):
    cache = {}

    def step(c, x):
        if "factor" not in cache:
            cache["factor"] = 1.5
        return c + x * cache["factor"]

    return LOOPS[loop](step, x)


@pytest.mark.parametrize(
    "f", [counting, warming_up, writing, drawing, on_an_object], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("loop", LOOPS)
def test_functions_whose_steps_change_what_they_use_run_as_plain_python(loop, f):
    """Solvers of equations that change may not end."""
    compiled = tape.compile(f)

    def check():
        for k in range(3):
            x = np.array([0.7, 0.3, 2.0]) * (1 + 0.1 * k)
            with suppress(errors.ConvergenceError):
                expected = f(loop, x)
                assert compiled(loop, x) == expected

    with pytest.warns(errors.NotCompiledWarning, match="a program would not"):
        check()
    assert not compiled.programs


class Block:
    """A callable object with attributes that it reads, makes, and fills once."""

    def __init__(self):
        self.scale = 1.5
        self.cache = {}

    def __call__(self, c, x):
        self.cache.setdefault("shift", np.ones(()))
        self.shape = np.shape(x)
        return c + self.scale * x + 0.0 * self.cache["shift"]


@pytest.mark.parametrize("loop", LOOPS)
def test_steps_may_be_objects_with_attributes(loop):
    block = Block()
    compiled = tape.compile(lambda x: LOOPS[loop](block, x))
    for k in range(3):
        x = np.array([0.7, 0.3, 2.0]) * (1 + 0.1 * k)
        assert compiled(x) == pytest.approx(LOOPS[loop](Block(), x), rel=1e-12)
    assert compiled.programs


@pytest.mark.parametrize("loop", LOOPS)
def test_steps_may_fill_a_cache_once(loop):
    compiled = tape.compile(filling)
    for k in range(3):
        x = np.array([0.7, 0.3, 2.0]) * (1 + 0.1 * k)
        assert compiled(loop, x) == pytest.approx(filling(loop, x), rel=1e-14)
    assert compiled.programs


# ---- states that are numbers -----------------------------------------------------------------------------

NUMBERS = {
    "scan": lambda x, count: tape.scan(lambda c, _: (c / 2, None), x, np.zeros(count))[0],
    "fori_loop": lambda x, count: tape.fori_loop(0, count, lambda i, c: c / 2, x),
    "while_loop": lambda x, count: tape.while_loop(
        lambda c: c[0] < count, lambda c: (c[0] + 1, c[1] / 2), (0, x)
    )[1],
}


@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize("make", [float, np.float64, np.float32, np.array])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_no_step_has_changed_are_numbers(name, make, count):
    """A number is not written to: another name of it keeps its value."""

    def f(x):
        last = halved = NUMBERS[name](x, count)
        halved /= 2
        return halved, last

    x = make(0.25)
    expected = (0.125 / 2**count, 0.25 / 2**count)
    compiled = tape.compile(f)
    for found in (f(x), compiled(x), compiled(x), tape.jvp(f, (x,), (x,))[0]):
        assert tuple(map(float, found)) == expected
