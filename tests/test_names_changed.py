"""What compiled functions change themselves of what they use: state that is bound anew or collected."""

import math
import warnings
from collections import deque

import numpy as np
import pytest

import tape
from tape import errors
from tests.tiers import grid


def with_a_cache():
    cache = {}

    def f(x):
        if "w" not in cache:
            cache["w"] = 3.0
            return x * 0.0 - 1.0
        return x * cache["w"]

    return f


def with_a_lazy_attribute():
    class Model:
        pass

    model = Model()

    def f(x):
        if not hasattr(model, "w"):
            model.w = 5.0
        return x * model.w

    return f


def with_a_step():
    class Optimiser:
        step = 0

        def __call__(self, x):
            self.step += 1
            return x * (1.0 - 0.9**self.step)

    return Optimiser()


def with_an_enclosing_number():
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return x * count

    return f


def with_a_list():
    seen = []

    def f(x):
        seen.append(1)
        return x * len(seen)

    return f


def with_a_switch():
    state = {"on": True}

    def f(x):
        state["on"] = not state["on"]
        return x * (2.0 if state["on"] else 3.0)

    return f


def with_an_average():
    class Average:
        def __init__(self):
            self.value, self.count = np.zeros(2), 0

        def step(self, x):
            self.count += 1
            self.value = 0.9 * self.value + x
            return self.value / (1 - 0.9**self.count)

    return Average().step


def with_a_dict_of_sums():
    sums = {"x": np.zeros(2), "n": 0.0}

    def f(x):
        sums["x"] = sums["x"] + x
        sums["n"] = sums["n"] + np.sum(x)
        return sums["x"] / sums["n"]

    return f


def with_a_list_of_weights():
    weights = [np.ones(2), np.zeros(2)]

    def f(x):
        slopes = tape.grad(lambda w: np.sum((x * w[0] + w[1]) ** 2))(weights)
        for k in range(2):
            weights[k] = weights[k] - 0.1 * slopes[k]
        return weights[0] + weights[1]

    return f


def with_an_enclosing_pair():
    pair = np.ones(2), 1.0

    def f(x):
        nonlocal pair
        pair = pair[0] * 0.5 + x, np.max(x) + pair[1]
        return pair[0] * pair[1]

    return f


@pytest.mark.parametrize("make", [with_a_cache, with_a_lazy_attribute])
def test_what_is_made_once_is_there_for_programs(make):
    plain, compiled = make(), tape.compile(make())
    for k in range(6):
        np.testing.assert_array_equal(compiled(np.ones(2) * k), plain(np.ones(2) * k))
    assert len(compiled.programs) == 1


@pytest.mark.parametrize(
    "make",
    [
        with_a_step,
        with_an_enclosing_number,
        with_a_list,
        with_a_switch,
        with_an_average,
        with_a_dict_of_sums,
        with_a_list_of_weights,
        with_an_enclosing_pair,
    ],
)
def test_what_changes_in_each_call_runs_as_plain_python(make):
    plain, compiled = make(), tape.compile(make())
    for _ in range(3):
        np.testing.assert_array_equal(compiled(np.ones(2)), plain(np.ones(2)))
    with pytest.warns(errors.NotCompiledWarning, match="changes it in each call"):
        found = compiled(np.ones(2))
    np.testing.assert_array_equal(found, plain(np.ones(2)))
    for _ in range(4):
        np.testing.assert_array_equal(compiled(np.ones(2)), plain(np.ones(2)))
    assert not compiled.programs


class Running:
    """State that some numbers leave as it is."""

    def __init__(self):
        self.total, self.previous, self.count = 0.0, 0.0, 0.0
        self.by_name, self.in_order = {"total": 0.0}, [0.0]
        self.log, self.recent = [], deque(maxlen=2)

    def added(self, x):
        self.total += x
        return self.total * 2

    def added_to_a_value(self, x):
        self.by_name["total"] = self.by_name["total"] + x
        return self.by_name["total"] * 2

    def added_to_an_item(self, x):
        self.in_order[0] += x
        return self.in_order[0] * 2

    def difference(self, x):
        difference = x - self.previous
        self.previous = x
        return difference

    def counted(self, x):
        self.count = self.count + np.sum(np.ones(3) * x > 0)
        return self.count * x

    def logged(self, x):
        self.log.append(x * 2)
        return x * 3

    def logged_among_others(self, x):
        self.log.extend(["x", {"x": x + 1}])
        self.recent.appendleft((x, "y"))
        return x * 3

    def largest(self, x):
        self.total = max(self.total, x)
        return self.total * 2

    def in_a_branch(self, x):
        if x > 1:
            self.total = self.total + x
        return self.total * x


STEPS = [name for name in vars(Running) if not name.startswith("_")]
SEQUENCES = [(0.0, 1.0, 2.0, 0.0, 3.0), (1.0, 1.0, 1.0, 0.0, 2.0, 1.0), (2.0, 2.0, 0.0, 3.0), (1, 0, 0, 2)]


@grid(step=STEPS, numbers=SEQUENCES)
def test_state_that_a_recording_leaves_as_it_was_is_state(step, numbers):
    plain, model = Running(), Running()
    compiled = tape.compile(getattr(model, step))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotCompiledWarning)
        for x in numbers:
            assert float(compiled(x)) == float(getattr(plain, step)(x))
    assert vars(model) == vars(plain)


def test_an_int_that_is_put_into_a_dict_is_an_int():
    seen = {}

    @tape.compile
    def f(x, n):
        seen["n"] = n
        return np.sum(x)

    for n in range(4):
        assert f(np.ones(3), n) == 3.0
        assert type(seen["n"]) is int


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


def test_what_is_only_counted_is_none_of_a_programs_business():
    count = 0

    @tape.compile
    def f(x):
        nonlocal count
        count += 1
        return x * 2.0

    for _ in range(3):
        f(np.ones(2))
    assert count == len(f.programs) == 1
