"""Loops that are rolled up compute what they computed step by step, in every transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tape
from tape import tree
from tape.program.ir.loops import all_ir
from tape.transforms.loops import rolling


@pytest.fixture(autouse=True)
def short_loops(monkeypatch):
    """Roll up loops that are too short to be worth it."""
    monkeypatch.setattr(rolling, "LEAST_NODES", 64)


def assert_alike(
    f: Callable[..., Any], *args: Any, loops: int | None = None, tolerance: float = 1e-9
) -> None:
    """Check that a function computes the same when it is compiled, for other numbers as well."""
    others = tree.map_leaves(lambda leaf: leaf * 1.1 + 0.01, args)
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


@pytest.mark.parametrize("f", _ALL, ids=named)
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


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_other_dtypes(dtype):
    x = dtype(0.3)
    assert_alike(numbers, x, tolerance=1e-5)
    assert_alike(lambda x: np.real(numbers(x)), x, tolerance=1e-5)


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

    compiled = tape.compile(tape.grad(lambda x: sum(x[k % 7] * x[(k * k) % 5] for k in range(60))))
    assert_alike(f, _H[:3])
    compiled(np.arange(8.0))
    (program,) = compiled.programs.values()
    assert any("operations:" in note for note in program.notes)
    assert "no loops" in str(program.explain())


# ---- what is no loop -----------------------------------------------------------------------------------


def large_arrays(x):
    y = x * np.ones(4000)
    for _ in range(60):
        y = np.tanh(y + 0.5)
    return np.sum(y)


def other_shapes(x):
    parts = [x * np.ones(k % 3 + 1) for k in range(60)]
    for part in parts:
        x = np.tanh(x + np.sum(part))
    return x


def large_parts(x):
    parts = [np.sin(x * np.ones(600) + k) for k in range(60)]
    for part, other in zip(parts, parts[::-1], strict=True):
        x = np.tanh(x + np.sum(part * other))
    return x


def flags(x):
    for k in range(60):
        x = np.tanh(x + (k % 7 == 3))
    return x


def floats_in_another_order(x):
    factors = [x * float(k) for k in range(60)]
    for k in range(60):
        x = np.tanh(x * factors[k * 7 % 60])
    return x


def arrays_made_anew(x):
    for k in range(60):
        x = np.tanh(x + np.sum(np.arange(700.0 + k % 2)[:600] * x))
    return x


_REFUSED = {
    large_arrays: "large arrays",
    other_shapes: "shape or dtype",
    large_parts: "another large array",
    flags: "another number or plain array",
    floats_in_another_order: "another float",
    arrays_made_anew: "another number or plain array",
}


@pytest.mark.parametrize("f", _REFUSED, ids=named)
def test_what_is_no_loop_stays_as_it_is_and_says_why(f):
    assert_alike(f, 0.3, loops=0)
    assert_alike(tape.value_and_grad(f), 0.3)
    assert_alike(tape.grad(tape.grad(f)), 0.3, tolerance=1e-7)
    assert_alike(lambda x: tape.jvp(f, (x,), (1.0,)), 0.3)
    compiled = tape.compile(f)
    compiled(0.3)
    (program,) = compiled.programs.values()
    assert any(_REFUSED[f] in note for note in program.notes)


# ---- indices -------------------------------------------------------------------------------------------

_INDICES = {
    "two values": lambda k: k % 2,
    "a second index of two values": lambda k: (k, k % 2),
    "a second index that moves as well": lambda k: (k, k),
    "the second index alone": lambda k: (0, k),
    "the second index backwards": lambda k: (k, 40 - k),
    "another one in the middle": lambda k: 1 if k == 20 else 0,
    "another second index in the middle": lambda k: (k, int(k == 20)),
    "one is left out": lambda k: k + (k > 20),
    "there and back": lambda k: min(k, 40 - k),
    "squares": lambda k: k * k % 41,
    "from the end in the middle": lambda k: k - 41 * (k == 20),
    "from the end": lambda k: k - 41,
    "negative, then positive": lambda k: k - 20,
    "slices": lambda k: (slice(k, k + 1), 0),
    "a slice and the counter": lambda k: (slice(3, 7), k),
    "the counter and a slice": lambda k: (k, slice(3, 7)),
    "a new axis": lambda k: (None, k, 3),
    "arrays": lambda k: (k, np.array([0, 3, 3])),
    "other arrays": lambda k: (k, np.array([0, k % 2])),
}


@pytest.mark.parametrize("name", _INDICES)
def test_whatever_moves_in_an_index_is_what_is_read(name):
    """Of an argument, of what is computed before the loop, and of what its first step computes."""
    index = _INDICES[name]

    def f(x, m):
        before, first = np.sin(m), None
        for k in range(41):
            x = np.tanh(x + np.sum(m[index(k)]) * np.sum(before[index(k)]))
            computed = m * x
            first = computed if first is None else first
            x = x + np.sum(first[index(k)]) * 0.1
        return x

    m = np.random.default_rng(0).normal(size=(42, 42)) / 4
    assert_alike(f, 0.3, m)
    assert_alike(tape.value_and_grad(f, (0, 1)), 0.3, m)


def test_recorded_arrays_in_an_index_beside_the_counter():
    def f(x, m, i):
        for k in range(41):
            x = np.tanh(x + np.sum(m[k, i]))
        return x

    m = np.random.default_rng(0).normal(size=(42, 42)) / 4
    compiled = tape.compile(tape.value_and_grad(f, (0, 1)))
    for i in (np.array([1, 3]), np.array([7, 0])):
        found, expected = compiled(0.3, m, i), tape.value_and_grad(f, (0, 1))(0.3, m, i)
        for a, b in zip(tree.flatten(found)[0], tree.flatten(expected)[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


# ---- how much of a loop is rolled up -------------------------------------------------------------------


def lists_of_states(n):
    def f(w, u, h, xs):
        states, sums = [h], []
        for k in range(n):
            states.append(np.tanh(w @ states[-1] + u @ xs[k]))
            sums.append(np.sum(states[-1]))
        return np.sum(np.stack(states[1:]) ** 2) + np.sum(np.array(sums[:-1], like=h) * xs[1:, 0])

    return f


def plain_rows(n):
    rows = np.random.default_rng(1).normal(size=(n, 4))

    def f(w, u, h, xs):
        for k in range(n):
            h = np.tanh(w @ h + rows[k]) * xs[0, 0]
        return np.sum(h)

    return f


def separate_rows(n):
    rows = list(np.random.default_rng(1).normal(size=(n, 4)))
    numbers = np.random.default_rng(2).normal(size=n).tolist()

    def f(w, u, h, xs):
        for row, number in zip(rows, numbers, strict=True):
            h = np.tanh(w @ h + row) * number
        return np.sum(h)

    return f


def computed_before(n):
    def f(w, u, h, xs):
        ys = xs @ u.T
        for y, x in zip(np.sin(ys), xs[::-1], strict=True):
            h = np.tanh(w @ h + y * x[1])
        return np.sum(h)

    return f


def every_second_of_a_column(n):
    def f(w, u, h, xs):
        for k in range(n // 2 - 1, -1, -1):
            h = np.tanh(w @ h) * xs[2 * k + 1, 2] + xs[2 * k, 0]
        return np.sum(h)

    return f


def lags(n):
    def f(w, u, h, xs):
        states = [h, h * 2, h * 3]
        for k in range(n):
            states = [*states[1:], np.tanh(w @ states[0] + states[2] * xs[k, 1])]
        return np.sum(states[0] + states[1] * states[2])

    return f


def loops_within(n):
    def f(w, u, h, xs):
        for k in range(n // 4):
            for _ in range(12):
                h = np.sin(w @ h) + 0.1 * h
            h = h + u @ xs[k]
        return np.sum(h)

    return f


def one_loop_after_another(n):
    return lambda w, u, h, xs: recurrent(w, u, h, xs[:n]) * by_index_in_a_list(w, u, np.cos(h), xs[:n])


_DIFFERENTIATED = [
    lists_of_states, computed_before, every_second_of_a_column, lags, loops_within, one_loop_after_another,
]  # fmt: skip


@pytest.mark.parametrize(
    ("made", "is_gradient"),
    [(made, is_gradient) for made in _DIFFERENTIATED for is_gradient in (False, True)]
    + [(plain_rows, False), (separate_rows, False)],
    ids=named,
)
def test_programs_do_not_grow_with_the_steps_of_a_loop(made, is_gradient):
    """All steps are rolled up, with all that is read and kept in them."""
    sizes = []
    for n in (48, 96):
        f = made(n)
        xs = np.random.default_rng(3).normal(size=(n, 3))
        if is_gradient:
            f = tape.value_and_grad(f, (0, 1, 2, 3))
        compiled = tape.compile(f)
        found, expected = (tree.flatten(g(_W, _U, _H, xs))[0] for g in (compiled, f))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        (program,) = compiled.programs.values()
        sizes.append(sum(len(ir.instructions) for ir in all_ir(program.ir)))
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("first", range(5))
def test_a_loop_begins_where_the_fewest_values_are_carried(first):
    """Wherever Python's loop begins: between four of its five operations several values are."""

    def f(x):
        v = [x, np.exp(x), np.tanh(x), x * x, x + 0.5][: first + 1]
        step = [
            lambda: v.append(np.sin(v[0])),
            lambda: v.append(np.cos(v[0])),
            lambda: v.append(v[1] + v[2]),
            lambda: v.append(v[3] * v[1]),
            lambda: v.__setitem__(slice(None), [v[4] * v[2]]),
        ]
        for k in range(first, first + 200):
            step[k % 5]()
        return sum(v)

    compiled = tape.compile(f)
    np.testing.assert_allclose(compiled(0.3), f(0.3), rtol=1e-12)
    (program,) = compiled.programs.values()
    (loop,) = [i.attrs[0] for i in program.ir.instructions if i.op == "loop"]
    assert loop.states == 1
    assert loop.length >= 38


def test_loops_alike_have_one_body():
    def f(x, y):
        for _ in range(60):
            x = np.sin(x) * np.sum(x, axis=0) + 0.1
        y = np.arctan(y)
        for _ in range(60):
            y = np.sin(y) * np.sum(y, axis=0) + 0.1
        x = np.arctan(x)
        for _ in range(60):
            x = np.sin(x) * np.sum(x, axis=0) + 0.2
        return x * y

    x = np.linspace(-1, 1, 3)
    compiled = tape.compile(f)
    np.testing.assert_allclose(compiled(x, x + 1), f(x, x + 1), rtol=1e-12)
    (program,) = compiled.programs.values()
    first, second, other = [i.attrs[0] for i in program.ir.instructions if i.op == "loop"]
    assert first is second is not other


def test_reports_count_what_was_recorded():
    def effects(steps):
        def f(x):
            for _ in range(steps):
                x = np.sin(x) + 0.5 * x
            return x

        compiled = tape.compile(f)
        compiled(0.3)
        (program,) = compiled.programs.values()
        return program.explain().effects

    few, more = effects(40), effects(100)
    assert more["recorded"] - few["recorded"] == 60 * 3
    assert more["needed"] == few["needed"] < 20


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


@pytest.mark.parametrize("seed", range(25))
def test_random_loops(seed):
    rng = np.random.default_rng(seed)
    f = random_loop(rng)
    args = rng.normal(), rng.normal(size=3), rng.normal(size=(30, 3))
    assert_alike(f, *args)
    assert_alike(tape.value_and_grad(f, argnums=(0, 1, 2)), *args, tolerance=1e-8)
