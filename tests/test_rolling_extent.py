"""What of a loop is rolled up: programs do not grow with its steps, and say why where they do."""

from __future__ import annotations

import numpy as np
import pytest

import tape
from tape import tree
from tape.program.ir.loops import all_ir
from tests.test_rolling import (
    _H,
    _U,
    _W,
    assert_alike,
    by_index_in_a_list,
    named,
    recurrent,
    short_loops,  # noqa: F401 - it is used by all tests
)
from tests.tiers import some

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


@pytest.mark.parametrize("name", some(_INDICES, every=2))
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
