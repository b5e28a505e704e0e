"""What compiled functions change themselves of what they use: names, attributes, collections and arrays."""

import functools
import itertools
import random
import warnings
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

import tape
from tape import errors, tree
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


def with_a_class_attribute():
    class Count:
        count = 0

    def f(x):
        Count.count += 1
        return x * Count.count

    return f


def with_a_late_attribute_of_a_class():
    class Count:
        pass

    def f(x):
        Count.count = getattr(Count, "count", 0) + 1
        return x * Count.count

    return f


def with_a_slot():
    class Count:
        __slots__ = ("count",)

    held = Count()

    def f(x):
        held.count = getattr(held, "count", 0) + 1
        return x * held.count

    return f


def with_bytes():
    log = bytearray()

    def f(x):
        log.append(1)
        return x * len(log)

    return f


def with_an_enclosing_number():
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return x * count

    return f


def with_a_generator_of_numpy():
    rng = np.random.default_rng(0)
    return lambda x: x * rng.normal()


def with_an_old_generator_of_numpy():
    rng = np.random.RandomState(0)
    return lambda x: x * rng.normal()


def with_a_generator_of_python():
    rng = random.Random(0)
    return lambda x: x * rng.gauss(0.0, 1.0)


def with_a_late_global():
    space = {}
    exec(
        "def f(x):\n"
        "    global count\n"
        "    count = count + 1 if 'count' in globals() else 1\n"
        "    return x * count\n",
        space,
    )
    return space["f"]


def with_a_global_that_is_tried():
    space = {}
    exec(
        "def f(x):\n"
        "    global total\n"
        "    try:\n"
        "        total = total + x\n"
        "    except NameError:\n"
        "        total = x\n"
        "    return total * 2.0\n",
        space,
    )
    return space["f"]


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
        with_a_class_attribute,
        with_a_late_attribute_of_a_class,
        with_a_slot,
        with_bytes,
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
        self.visits, self.kept = np.zeros(2), SimpleNamespace(number=0)
        self.shape = self.last = None

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

    def logged_if_large(self, x):
        self.log.append("large" if x > 1 else "small")
        return x * 3

    def counted_only(self, x):
        self.count += 1
        return x * 3

    def counted_elsewhere(self, x):
        self.kept.number += x
        return x * 3

    def counted_in_an_array(self, x):
        self.visits[0] += 1
        return x * 3

    def written_to_only(self, x):
        self.visits[:] = 4.0
        return x * 3

    def kept_only(self, x):
        self.last = x * 2
        return x * 3

    def kept_in_a_pair(self, x):
        self.last = (x, {"y": x * x})
        return x * 3

    def kept_in_an_object(self, x):
        self.kept.record = SimpleNamespace(x=x * 2, inner=[SimpleNamespace(y=x)])
        self.number = self.kept.record.x
        return x * 3

    def kept_by_a_new_name(self, x):
        self.newest = x * 2
        return x * 3

    def kept_in_a_loss(self, x):
        def loss(w):
            self.last = x
            return w * w

        return tape.grad(loss)(x * 1.0)

    def kept_without_change(self, x):
        self.shape = np.ones((2, 3)).shape
        return x * 3

    def largest(self, x):
        self.total = max(self.total, x)
        return self.total * 2

    def in_a_branch(self, x):
        if x > 1:
            self.total = self.total + x
        return self.total * x


def state_of(model):
    """Everything that a model holds."""
    kept = vars(model.kept).copy()
    record = kept.pop("record", SimpleNamespace(x=0, inner=[SimpleNamespace(y=0)]))
    leaves = tree.leaves([{**vars(model), "kept": kept}, record.x, record.inner[0].y])
    return [leaf.tolist() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]


STEPS = [name for name in vars(Running) if not name.startswith("_")]
OUTSIDE = {"visits": lambda of: of.visits.__setitem__(0, 7.0), "count": lambda of: setattr(of, "count", 2.0)}
SEQUENCES = [(0.0, 1.0, 2.0, 0.0, 3.0), (1.0, 1.0, 1.0, 0.0, 2.0, 1.0), (2.0, 2.0, 0.0, 3.0), (1, 0, 0, 2)]


@grid(step=STEPS, numbers=SEQUENCES)
def test_state_that_a_recording_leaves_as_it_was_is_state(step, numbers):
    plain, model = Running(), Running()
    compiled = tape.compile(getattr(model, step))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotCompiledWarning)
        for k, x in enumerate(numbers):
            assert float(compiled(x)) == float(getattr(plain, step)(x))
            assert state_of(model) == state_of(plain)
            if k == 2:  # somebody else changes it
                for change in OUTSIDE.values():
                    change(model), change(plain)


def test_what_stays_as_it_is_costs_no_program():
    model = Running()
    compiled = tape.compile(model.kept_without_change)
    for _ in range(5):
        assert compiled(1.0) == 3.0
    assert len(compiled.programs) == 1


@pytest.mark.parametrize("make", [iter, enumerate, itertools.cycle, lambda of: (x for x in of)])
@pytest.mark.parametrize("wrap", [lambda it: it, lambda it: {"it": it}])
def test_iterators_among_the_arguments_go_on(make, wrap):
    def f(x, it):
        return x * np.sum(next(it["it"] if isinstance(it, dict) else it))

    compiled = tape.compile(f)
    found, expected = wrap(make([0.5, 2.0, 3.0, 4.0])), wrap(make([0.5, 2.0, 3.0, 4.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotCompiledWarning)
        for x in (1.0, 2.0, 3.0, 4.0):
            assert compiled(x, found) == f(x, expected)


def test_an_int_that_is_put_into_a_dict_is_an_int():
    seen = {}

    @tape.compile
    def f(x, n):
        seen["n"] = n
        return np.sum(x)

    for n in range(4):
        assert f(np.ones(3), n) == 3.0
        assert type(seen["n"]) is int


def test_a_class_of_code_without_a_module_is_the_users():
    """As `exec` makes them in a namespace without a ``__name__``, whose module is called "builtins"."""
    space = {"tape": tape}
    exec(
        "class Model:\n"
        "    n = 0\n"
        "    def loss(self, x):\n"
        "        self.n += 1\n"
        "        return x * x\n"
        "    def step(self, x):\n"
        "        return tape.grad(self.loss)(x)\n",
        space,
    )
    assert space["Model"].__module__ == "builtins"
    model = space["Model"]()
    step = tape.compile(model.step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotCompiledWarning)
        assert [(float(step(2.0)), model.n) for _ in range(6)] == [(4.0, n) for n in range(1, 7)]


def copied_and_written(w):
    def f(x):
        u = w.copy()
        u[0] = 1.0
        u += x.shape[0]
        return x * u

    return f


def held_by_what_writes_when_it_is_made(w):
    class Mesh:
        def __init__(self):
            self.w = np.zeros(3)
            self.w[:] = w

    mesh = Mesh()
    return lambda x: mesh.w * x


def of_a_compiled_type(w):
    make = np.random.default_rng
    return lambda x: w * x + make(0).normal(size=3)


@pytest.mark.parametrize(
    "make", [copied_and_written, held_by_what_writes_when_it_is_made, of_a_compiled_type]
)
def test_what_changes_nothing_has_a_program(make):
    plain, compiled = make(np.arange(3.0)), tape.compile(make(np.arange(3.0)))
    for k in range(4):
        np.testing.assert_allclose(compiled(np.ones(3) * k), plain(np.ones(3) * k), rtol=1e-14)
    assert len(compiled.programs) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda it: (lambda its: lambda x: x * next(its[0]))((it,)),
        lambda it: (lambda draw: lambda x: x * draw())(it.__next__),
        lambda it: (lambda draw: lambda x: x * draw())(functools.partial(next, it)),
    ],
)
def test_iterators_that_are_held_go_on(make):
    compiled = tape.compile(make(iter([1.0, 2.0, 3.0, 4.0])))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotCompiledWarning)
        assert [compiled(2.0) for _ in range(4)] == [2.0, 4.0, 6.0, 8.0]


def test_what_is_counted_in_an_enclosing_function_or_module():
    count = 0
    space = {"np": np}
    exec(
        "total = last = 0.0\ndef g(x):\n    global total, last\n    total += np.sum(x)\n    last = x\n", space
    )

    def f(x):
        nonlocal count
        count += 1
        space["g"](x)
        return x * 2.0

    compiled = tape.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotCompiledWarning)
        for k in range(6):
            compiled(np.ones(2) * k)
            assert count == k + 1
            assert space["total"] == k * (k + 1)
            np.testing.assert_array_equal(space["last"], [k, k])


def test_two_functions_share_what_one_of_them_counts():
    class Optimiser:
        steps = 0

        def gradient(self, w):
            self.steps += 1
            return tape.grad(lambda w: np.sum(w**2))(w)

        def update(self, w, g):
            return w - g * 0.1 / (1 + self.steps)

    def trained(wrap):
        optimiser, w = Optimiser(), np.ones(2)
        gradient, update = wrap(optimiser.gradient), wrap(optimiser.update)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.NotCompiledWarning)
            for _ in range(6):
                w = update(w, gradient(w))
        return w

    np.testing.assert_allclose(trained(tape.compile), trained(lambda f: f), rtol=1e-14)


@pytest.mark.filterwarnings("ignore::tape.errors.NotCompiledWarning")
@pytest.mark.parametrize(
    "make",
    [
        with_a_class_attribute,
        with_a_late_attribute_of_a_class,
        with_a_slot,
        with_a_step,
        with_a_list,
        with_bytes,
        with_an_enclosing_number,
        with_a_late_global,
        with_a_global_that_is_tried,
        with_a_generator_of_numpy,
        with_an_old_generator_of_numpy,
        with_a_generator_of_python,
    ],
)
def test_what_changes_in_a_call_that_runs_again_changes_once(make):
    f, plain = make(), make()

    @tape.compile
    def observed(x):
        with np.errstate(divide="raise"):  # for which the recording is given up
            return f(x)

    for _ in range(4):
        np.testing.assert_array_equal(observed(np.ones(2)), plain(np.ones(2)))
