"""Calls of compiled functions that run the user's code more than once: what it changes, it changes once."""

import math
import warnings
from array import array
from collections import deque
from contextlib import suppress

import numpy as np
import pytest

import tape
from tape import errors
from tests.oracles import assert_close
from tests.random_state import differences
from tests.tiers import rounds, takes_long


def read_by_range(count, x, n):
    return sum(x * count for _ in range(n))


def refused(count, x, n):
    return x * count * float(np.sum(x)) * n


def caught(count, x, n):
    try:
        return x * count * n + math.sqrt(x[0])
    except errors.TapeError:
        return x * count


@pytest.mark.parametrize("f", [read_by_range, refused, caught])
def test_a_function_that_runs_twice_in_a_call_changes_what_it_uses_once(f):
    """It runs again, with ints that are static, or as plain Python; its state is that of before."""

    class Model:
        count, x = 0, np.zeros(2)

        def step(self, x, n):
            self.count += 1
            self.x = self.x + x
            return f(self.count, self.x, n)

    plain, model = Model(), Model()
    compiled = tape.compile(model.step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotCompiledWarning)
        for n in (1, 2, 3, 2):
            expected = plain.step(np.ones(2), n)
            try:
                found = compiled(np.ones(2), n)
            except errors.ConversionError:
                assert (model.count, model.x[0]) == (plain.count - 1, plain.x[0] - 1)
                model.step(np.ones(2), n)
            else:
                np.testing.assert_allclose(found, expected)
            assert model.count == plain.count
            np.testing.assert_array_equal(model.x, plain.x)


class Counting:
    """State of numbers and arrays, traced ones among them, and a log."""

    def __init__(self):
        self.count, self.total, self.log = 0, 0.0, []
        self.rng = tape.random.default_rng(0)

    def note(self, number):
        self.count += 1
        self.total = self.total + number
        self.log.append(number * 2)

    def flat(self, x):
        elements = x.ravel("K")
        if np.sum(x) > 0:
            self.note(elements[1])
            return elements * self.total
        self.log.append(elements[2])
        return elements

    def reading(self, x):
        elements = x.ravel("K")
        if np.sum(x) < 0:
            self.note(elements[1])
        return elements * 2

    def drawn(self, x):
        self.note(x[0, 1])
        out = x * self.rng.normal(size=3)
        self.note(out[0, 1])
        return out

    def state(self):
        return self.count, float(self.total), list(map(float, self.log))


@pytest.mark.filterwarnings("ignore::tape.errors.NotCompiledWarning")
@pytest.mark.parametrize("signs", ["++++++", "+-+-+-", "----++", "++--++"])
@pytest.mark.parametrize("orders", ["CCCCCC", "FFFFFF", "CFFCFC", "FCFCFC", "CCFFFF"])
@pytest.mark.parametrize("name", ["flat", "reading", "drawn"])
def test_state_is_that_of_plain_python_in_any_layout_and_on_any_path(name, orders, signs):
    """A call is recorded for C order, too, and again with the states of generators that it draws from."""
    plain, counting = Counting(), Counting()
    f, compiled = getattr(plain, name), tape.compile(getattr(counting, name))
    for k, (order, sign) in enumerate(zip(orders, signs, strict=True)):
        x = np.asarray(np.arange(6.0).reshape(2, 3) + k, order=order) * (1 if sign == "+" else -1)
        np.testing.assert_array_equal(compiled(x), f(x))
        assert counting.state() == plain.state()
        assert type(counting.total) in (float, np.float64)


@takes_long
@pytest.mark.filterwarnings("ignore::tape.errors.NotCompiledWarning")
def test_random_models_are_left_as_plain_calls_leave_them():
    found = [difference for seed in range(rounds(60)) for difference in differences(seed)]
    assert not found, found[0]


@pytest.mark.filterwarnings("ignore::tape.errors.NotCompiledWarning")
def test_a_generator_that_only_a_plain_call_draws_from_moves_on_once():
    """A call that runs as plain Python may draw from generators that no recording has met."""

    def made(wrap):
        first, second, log = tape.random.default_rng(0), tape.random.default_rng(1), []

        def f(x):
            log.append(x)
            out = x * first.normal()
            return out + (second.normal() if x > 2 else 0.0) + tape.checkpoint(second.normal)() * (x > 3)

        return wrap(f), log, second

    (f, plain_log, plain), (compiled, log, second) = made(lambda f: f), made(tape.compile)
    for k in range(8):
        assert_close(compiled(float(k)), f(float(k)), 1e-12)
        assert log == plain_log
        assert second.normal() == plain.normal()


def test_what_an_interrupt_leaves_is_no_traced_value():
    total = [0.0]
    is_interrupted = True

    @tape.compile
    def f(x):
        total[0] = total[0] + x
        if is_interrupted:
            raise KeyboardInterrupt
        return x * 2

    with pytest.raises(KeyboardInterrupt):
        f(1.5)
    assert total == [1.5]
    assert type(total[0]) in (float, np.float64)


@pytest.mark.parametrize("again", [range, str, float])
def test_a_log_has_one_entry_of_a_call_that_runs_twice(again):
    log = []

    @tape.compile
    def f(x, n):
        log.append(x * 2)
        return len(str(again(n))) * x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotCompiledWarning)
        for k in range(5):
            f(k / 2, k)
    assert log == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert all(isinstance(entry, float) for entry in log)


COLLECTIONS = {
    "dict": lambda: {"n": 0},
    "large dict": lambda: dict.fromkeys(range(100), 0),
    "list": lambda: [0, 0],
    "large list": lambda: [0] * 100,
    "set": lambda: {0},
    "deque": lambda: deque([1, 2, 3], maxlen=5),
    "large deque": lambda: deque([0.0] * 100, maxlen=100),
    "array": lambda: np.zeros(2),
    "bytes": lambda: bytearray(4),
    "numbers": lambda: array("d", [0.0, 1.0]),
}


def changed(collection, x):
    """Change a collection, and return a number of it."""
    if isinstance(collection, set):
        collection.add(len(collection))
    elif isinstance(collection, deque):
        collection.rotate(1)
        collection.append(x if len(collection) > 10 else len(collection))
    elif isinstance(collection, dict):
        collection[next(iter(collection))] += 1
        collection[len(collection)] = 1
    else:
        collection[0] += 1
    return len(collection) if isinstance(collection, (dict, set)) else collection[0]


@pytest.mark.parametrize("again", ["not", "int", "errstate", "error"])
@pytest.mark.parametrize("make", COLLECTIONS.values(), ids=COLLECTIONS)
def test_collections_are_changed_once_in_each_call(make, again):
    def function(collection):
        def f(x, n):
            by = changed(collection, np.sum(x))
            if again == "int":
                return np.sum(x[:n]) * by
            if again == "errstate":
                with np.errstate(divide="raise"):
                    return x * by
            if again == "error":
                with suppress(errors.TapeError):
                    return x * float(np.sum(x)) * by
            return x * by

        return f

    found, expected = make(), make()
    compiled, plain = tape.compile(function(found)), function(expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotCompiledWarning)
        for k in range(7):
            x, n = np.full(3, k + 1.0), k % 2 + 1
            np.testing.assert_array_equal(compiled(x, n), plain(x, n))
            assert str(found) == str(expected)
