"""Loops that are rolled up compute what they computed step by step, in every transform."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tape
from tape import tree
from tape.program import steps
from tape.transforms.loops import rolling
from tests.tiers import rounds, some


@pytest.fixture(autouse=True)
def short_loops(monkeypatch):
    """Roll up loops that are too short to be worth it."""
    monkeypatch.setattr(rolling, "LEAST_NODES", 64)


def assert_alike(
    f: Callable[..., Any], *args: Any, loops: int | None = None, tolerance: float = 1e-9
) -> None:
    """Check that a function computes the same when it is compiled, for other numbers as well."""
    others = tree.map(lambda leaf: leaf * 1.1 + 0.01, args)
    compiled = tape.compile(f)
    for numbers in (args, others, args):
        found, expected = (tree.flatten(g(*numbers))[0] for g in (compiled, f))
        for a, b in zip(found, expected, strict=True):
            assert np.shape(a) == np.shape(b)
            assert np.result_type(a) == np.result_type(b)
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    if loops is not None:
        assert [len(program.bodies) for program in compiled.programs.values()] == [loops]


_RNG = np.random.default_rng(0)
_W, _U = _RNG.normal(size=(4, 4)) / 2, _RNG.normal(size=(4, 3))
_H, _XS = _RNG.normal(size=4), _RNG.normal(size=(40, 3))


def pendulum(angle):
    speed = 0.0 * angle
    for _ in range(100):
        speed = speed - 0.01 * np.sin(angle)
        angle = angle + 0.01 * speed
    return angle


def last_of_several(x):
    """Numbers of the last step, of other shapes, that no step reads from the one before."""
    for _ in range(60):
        x = 0.9 * x + 0.1 * np.cos(x)
        total, pair, whole = np.sum(x * x), np.sin(x[:2]), np.exp(x)
    return total * np.sum(pair * whole[1:3]) + np.sum(whole)


def recurrent(w, u, h, xs):
    loss = 0.0
    for x in xs:
        h = np.tanh(w @ h + u @ x)
        loss = loss + np.sum(h * h)
    return loss


def by_index_in_a_list(w, u, h, xs):
    states = []
    for k in range(len(xs)):
        h = np.tanh(w @ h + u @ xs[k])
        states.append(h)
    return np.sum(np.stack(states) ** 2)


def there_and_back(w, u, h, xs):
    states = []
    for x in xs[::-1]:
        h = np.tanh(w @ h + u @ x)
        states.append(h)
    loss = 0.0
    for k, h in enumerate(reversed(states)):
        loss = loss * 0.9 + np.sum(h * h) * (k + 1.0)
    return loss


def every_second(w, u, h, xs):
    for k in range(len(xs) - 1, 0, -2):
        h = np.tanh(w @ h + u @ xs[k]) + xs[k - 1, 0]
    return np.sum(h)


def two_steps_back(a, b):
    for _ in range(60):
        a, b = b, np.sin(a + b)
    return b


def three_steps_back(a):
    last = [a, 2 * a, 3 * a]
    for _ in range(60):
        last.append(np.cos(last[-1] + 0.5 * last[-3]))
    return last[-1] + last[10]


def nested(x):
    s = x
    for _ in range(12):
        for _ in range(15):
            s = np.sin(s) * 1.1 + 0.01 * x
        s = s * s + 0.1
    return s


def numbers(x):
    for k in range(40):
        x = x + np.sin(x * k) * 0.01 / (k + 1)
    return x


_CLOSED_OVER = _RNG.normal(size=(40, 3))


def rows_of_an_array(x):
    for k in range(40):
        x = np.tanh(x + _CLOSED_OVER[k] * 0.1)
    return np.sum(x)


def branches(x):
    for _ in range(40):
        x = np.sin(x) + 0.5
        if x > 0.2:
            x = x * 1.01
    return x


def powers_of_a_matrix(a):
    p = a
    for _ in range(40):
        p = p @ a
        p = p / np.sqrt(np.sum(p * p))
    return np.sum(p)


def in_place(x):
    y = np.zeros_like(x)
    for k in range(len(x)):
        y[k] = np.sin(x[k]) * 2
    return np.sum(y * y)


def used_in_the_middle(x):
    kept = []
    for k in range(50):
        x = np.cos(x) + 0.1 * x
        if k in (3, 20, 49):
            kept.append(x)
    return kept[0] * kept[1] + kept[2]


def by_floats_of_python(a):
    x = a
    for _ in range(50):
        x = 0.5 * (x + a / x)
    return x


def only_two_steps_back(x):
    states = [x, 2 * x]
    for _ in range(60):
        states.append(np.sin(states[-2]) * 1.1)
    return states[-1] + states[-2]


def a_number_becomes_an_array(x):
    y = x
    for _ in range(60):
        y = np.tanh(y * _H + 0.5)
    return np.sum(y)


def made_and_written_to(x):
    y = x * _H
    for _ in range(60):
        z = np.zeros(4, like=y)
        z[1] = np.sum(y)
        y = np.tanh(y + z)
    return np.sum(y)


def descent(x):
    y = x
    for _ in range(60):
        y = y - 0.1 * tape.grad(lambda z: np.sin(z * x) * z)(y)
    return y


def counters(x):
    y = x * _H
    for k in range(60):
        y = np.tanh(y + k)
    return np.sum(y)


def some_of_an_array(x):
    y = x
    for _ in range(60):
        y = np.tanh(y + np.sum(_H[_H > 0] * y))
    return y


_ROLLED = {
    last_of_several: (_H,),
    pendulum: (1.0,),
    recurrent: (_W, _U, _H, _XS),
    by_index_in_a_list: (_W, _U, _H, _XS),
    there_and_back: (_W, _U, _H, _XS),
    every_second: (_W, _U, _H, _XS),
    two_steps_back: (0.3, 0.4),
    three_steps_back: (0.3,),
    nested: (0.3,),
    numbers: (0.3,),
    powers_of_a_matrix: (_W,),
    used_in_the_middle: (0.7,),
    only_two_steps_back: (0.3,),
    a_number_becomes_an_array: (0.3,),
    made_and_written_to: (0.3,),
    descent: (0.3,),
    counters: (0.3,),
    some_of_an_array: (0.3,),
}
_OTHERS = {
    rows_of_an_array: (_H[:3],),
    branches: (0.3,),
    in_place: (_H,),
    by_floats_of_python: (3.0,),
}
_ALL = _ROLLED | _OTHERS


def named(value: Any) -> str:
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize("f", _ALL, ids=named)
def test_values_and_gradients_are_those_of_the_steps(f):
    args = _ALL[f]
    assert_alike(f, *args)
    assert_alike(tape.value_and_grad(f, argnums=tuple(range(len(args)))), *args)


@pytest.mark.parametrize("f", _ROLLED, ids=named)
def test_a_gradient_has_loops(f):
    compiled = tape.compile(tape.grad(f))
    compiled(*_ROLLED[f])
    (program,) = compiled.programs.values()
    assert program.bodies
    assert len(program) < 120
    assert program.explain().loops


@pytest.mark.parametrize("f", some(_ALL, every=3), ids=named)
def test_second_derivatives_and_both_modes(f):
    args = _ALL[f]
    first, rest = args[0], args[1:]
    assert_alike(lambda x: tape.jvp(lambda x: f(x, *rest), (x,), (np.ones_like(x),)), first)
    assert_alike(tape.grad(lambda x: np.sum(tape.grad(f)(x, *rest) ** 2)), first, tolerance=1e-7)
    assert_alike(lambda x: tape.hvp(lambda x: f(x, *rest))(x, x), first, tolerance=1e-7)


@pytest.mark.parametrize("f", [pendulum, recurrent, nested], ids=named)
def test_jacobians_and_series(f):
    args = _ALL[f]
    place = 2 if f is recurrent else 0
    assert_alike(tape.hessian(f, argnums=place), *args, tolerance=1e-7)
    assert_alike(tape.jacobian(tape.grad(f, argnums=place), argnums=place, mode="rev"), *args, tolerance=1e-7)

    def along(x):
        return f(*args[:place], x, *args[place + 1 :])

    assert_alike(lambda x: tape.taylor(along, x, np.ones_like(x), order=3), args[place], tolerance=1e-7)


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_other_dtypes(dtype, shape, monkeypatch):
    monkeypatch.setattr(steps, "_WORTH_A_PROGRAM", 1)  # also while it is recorded
    monkeypatch.setattr(steps, "Runner", partial(steps.Runner, is_patient=True))
    x = np.full(shape, dtype(0.3))[()]
    assert_alike(numbers, x, tolerance=1e-5)
    assert_alike(lambda x: np.real(numbers(x)), x, tolerance=1e-5)
    assert_alike(lambda x: numbers(x * dtype(0.5 + 0.5j if x.dtype.kind == "c" else 0.5)), x, tolerance=1e-5)
    assert_alike(tape.grad(lambda x: np.sum(np.real(numbers(x)))), x, tolerance=1e-4)


def test_results_may_be_constants_and_come_twice():
    table = np.arange(3.0)

    def f(x):
        kept = x
        for _ in range(60):
            x = np.sin(x) + 0.1 * kept
        return {"end": x, "again": x, "start": kept, "number": 3.0, "array": table, "none": None}

    compiled = tape.compile(f)
    for x in (0.3, 0.7):
        found, expected = compiled(x), f(x)
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value)
    (program,) = compiled.programs.values()
    assert program.bodies


def test_an_array_closed_over_is_read_anew():
    rows = np.array(_CLOSED_OVER)

    def f(x):
        for k in range(40):
            x = np.tanh(x + np.asarray(rows, like=x)[k])
        return np.sum(x)

    compiled = tape.compile(tape.grad(f))
    compiled(_H[:3])
    rows *= 2
    np.testing.assert_allclose(compiled(_H[:3]), tape.grad(f)(_H[:3]))


def made_in_every_step(x):
    for _ in range(40):
        x = x - 0.1 * np.sin(x * np.array([1.0, 2.0, 3.0])) + np.zeros(3)
    return np.sum(x)


@pytest.mark.parametrize("transform", [lambda f: f, tape.grad, tape.hessian])
def test_arrays_made_in_every_step_are_one(transform):
    compiled = tape.compile(transform(made_in_every_step))
    for k in range(3):
        x = np.linspace(0.1, 1.0, 3) + k
        np.testing.assert_allclose(compiled(x), transform(made_in_every_step)(x), rtol=1e-12, atol=1e-14)
    (program,) = compiled.programs.values()
    assert program.bodies


@pytest.mark.parametrize("is_view", [False, True])
def test_equal_arrays_that_somebody_owns_are_not_one(is_view):
    """Each may be written to later."""
    whole = np.ones((40, 3))
    arrays = [row if is_view else row.copy() for row in whole]

    def f(x):
        for k in range(40):
            x = x - 0.1 * np.sin(x * arrays[k])
        return np.sum(x)

    compiled, x = tape.compile(tape.grad(f)), np.linspace(0.1, 1.0, 3)
    for k in (0, 7, 39, 20):
        np.testing.assert_allclose(compiled(x), tape.grad(f)(x), rtol=1e-12)
        arrays[k] *= 1.5
    np.testing.assert_allclose(compiled(x), tape.grad(f)(x), rtol=1e-12)


def test_guards_in_every_step_are_in_loops():
    """What ends a loop of Python depends on data; the steps are one loop all the same."""

    def f(x):
        count = 0
        while np.sum(x * x) > 1e-3:
            x, count = x - 0.1 * np.sin(x), count + 1
        return np.sum(np.cos(x)) * count

    compiled = tape.compile(tape.value_and_grad(f))
    for scale in (1.0, 0.5, 1.5, 0.01):
        x = np.linspace(0.1, 1.0, 3) * scale
        np.testing.assert_allclose(compiled(x)[0], f(x), rtol=1e-12)
        np.testing.assert_allclose(compiled(x)[1], tape.grad(f)(x), rtol=1e-10)
    assert any(program.bodies for program in compiled.programs.values())


def test_numbers_of_python_do_not_widen_others():
    def f(a, v):
        x, kept = a, []
        for _ in range(40):
            x = 0.5 * (x + a / x)
            kept.append(x)
        return sum(y * v for y in kept)

    assert_alike(f, 3.0, np.ones(3, np.float32), tolerance=1e-6)


def test_what_is_no_loop_is_explained():
    def f(x):
        for k in range(40):
            x = np.tanh(x[::-1] * np.ones(3)[k % 3] + np.full(3, float(k)))
        return np.sum(x)

    compiled = tape.compile(tape.grad(lambda x: sum(k * x[k % 7] * x[(k * k) % 5] for k in range(60))))
    assert_alike(f, _H[:3])
    compiled(np.arange(8.0))
    (program,) = compiled.programs.values()
    assert any("operations:" in note for note in program.notes)
    assert "no loops" in str(program.explain())


# ---- random loops ----------------------------------------------------------------------------------------

_UNARY = (np.sin, np.cos, np.tanh, lambda x: x * 0.5, lambda x: 1.0 / (2.0 + x * x), np.square)
_BINARY = (np.add, np.subtract, np.multiply, np.maximum, lambda x, y: np.where(x > y, x, 0.5 * y), np.arctan2)


def random_loop(rng: np.random.Generator) -> Callable[..., Any]:
    """Return a function of numbers, an array and rows of an array, with a loop of random steps."""
    states = int(rng.integers(1, 4))
    plan = [
        (
            int(rng.integers(len(_UNARY) + len(_BINARY))),
            rng.integers(1 << 30, size=2).tolist(),
        )
        for _ in range(int(rng.integers(2, 9)))
    ]
    following = rng.integers(1 << 30, size=states).tolist()
    collected = rng.integers(1 << 30, size=int(rng.integers(0, 3))).tolist()
    steps = int(rng.integers(9, 30))
    reads_back = bool(rng.integers(2))
    in_lists = bool(rng.integers(2))
    last_read = int(rng.integers(steps))

    def f(c, v, xs):
        values = [v * (k + 1.0) for k in range(states)]
        former = list(values)
        lists: list[list[Any]] = [[] for _ in collected]
        total = 0.0
        for k in range(steps):
            x = xs[steps - 1 - k] if reads_back else xs[k]
            pool = [*values, *former, x, v, c, c * (k + 1.0)]
            for kind, (i, j) in plan:
                a, b = pool[i % len(pool)], pool[j % len(pool)]
                if kind < len(_UNARY):
                    pool.append(np.tanh(_UNARY[kind](a)))
                else:
                    pool.append(np.tanh(_BINARY[kind - len(_UNARY)](a, b)))
            former = values
            values = [v * 0.0 + pool[i % len(pool)] for i in following]
            for items, i in zip(lists, collected, strict=True):
                items.append(pool[i % len(pool)] * np.ones(3))
            total = total + np.sum(values[0])
        result = total + sum(np.sum(value) for value in values)
        for items in lists:
            if in_lists:
                result = result + np.sum(np.stack(items) * xs[:steps]) + np.sum(items[last_read])
            else:
                for item in items:
                    result = result * 0.9 + np.sum(item * item)
        return result

    return f


@pytest.mark.parametrize("seed", range(rounds(25)))
def test_random_loops(seed):
    rng = np.random.default_rng(seed)
    f = random_loop(rng)
    args = rng.normal(), rng.normal(size=3), rng.normal(size=(30, 3))
    assert_alike(f, *args)
    assert_alike(tape.value_and_grad(f, argnums=(0, 1, 2)), *args, tolerance=1e-8)
