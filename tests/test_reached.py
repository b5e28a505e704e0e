"""Functions that derivatives run again: what they change themselves, and functions of many kinds."""

import itertools
import tracemalloc

import numpy as np
import pytest

import tape
from tape import errors
from tape.core.closures import Bound, rerun
from tape.scipy import integrate
from tests.tiers import takes_long

X = np.array([0.1, 0.2, 0.3])


def test_a_function_is_itself_until_something_has_changed():
    """Functions compare by identity, and count their calls among their attributes."""

    def relu(x):
        relu.calls += 1
        return np.maximum(x, 0.0)

    def f(x, act=relu, table={"relu": relu}):  # noqa: B006
        gain = {relu: 5.0}.get(table["relu"], 1.0)
        return np.sum((gain if act is relu else 0.0) * relu(x))

    relu.calls = 0
    np.testing.assert_array_equal(tape.grad(tape.checkpoint(f))(X), np.full(3, 5.0))
    assert relu.calls == 2


def test_globals_that_others_set_meanwhile():
    namespace = {}
    exec(
        "import contextlib\n"
        "mode = 1.0\n"
        "@contextlib.contextmanager\n"
        "def setting(value):\n"
        "    global mode\n"
        "    before, mode = mode, value\n"
        "    try: yield\n"
        "    finally: mode = before\n"
        "def prepare():\n"
        "    global table\n"
        "    table = 2.0\n"
        "def scaled(x): return mode * x\n"
        "def f(x):\n"
        "    prepare()\n"
        "    with setting(3.0): return table * scaled(x) * factor\n",
        namespace,
    )
    namespace["factor"] = 1.0

    def loss(x):
        y = tape.checkpoint(namespace["f"])(x)
        namespace["factor"] = 100.0  # so that the functions are copied
        return np.sum(y)

    np.testing.assert_array_equal(tape.grad(loss)(X), np.full(3, 6.0))
    assert namespace["mode"] == 1.0


def test_attributes_of_a_function_that_is_given_to_a_solver():
    level = np.array([0.5])

    def event(t, y):
        return y[0] - level[0]

    event.terminal = True
    found = integrate.solve_ivp(lambda t, y: -y, (0.0, 3.0), np.ones(1), events=event)
    assert found.t[-1] == pytest.approx(np.log(2), rel=1e-3)


def test_rules_that_count_and_collect():
    total, log = np.zeros(3), np.zeros(1)

    @tape.custom_vjp
    def probe(x):
        return x

    @probe.defvjp
    def _(adjoint, out, x):
        total[:] += adjoint
        log[0] += 1
        return adjoint * log[0]

    def loss(x):
        for _ in range(3):
            x = probe(2 * x)
        return np.sum(x)

    np.testing.assert_array_equal(tape.grad(loss)(X), np.full(3, 8.0 * 6))
    np.testing.assert_array_equal(total, np.full(3, 1.0 + 2 + 8))
    assert log[0] == 3


def test_an_array_and_a_view_of_it():
    mask = np.zeros(2, bool)
    first = mask[:1]

    def f(r, a):
        mask[:] = float(getattr(r, "value", r)) > 0.5
        return r**3 - a * (1 + 0.5 * first[0])

    solver = lambda g, x: tape.value_and_grad(g)(x)[0] and 1.1447142425533319  # noqa: E731
    assert tape.root(f, 1.0, 1.0, solver=solver) == pytest.approx(1.5 ** (1 / 3))
    data = np.ones(4)
    part = data[:2]

    def loss(x):
        y = tape.checkpoint(lambda x: x * data[0] * part[1])(x)
        data[:] = 2
        return np.sum(y)

    with pytest.raises(errors.InPlaceError, match="closes over it"):
        tape.grad(loss)(X)


def test_vars_that_are_written_in_place_later():
    def loss(x, wrap):
        scale = x.copy()
        y = wrap(lambda z: np.sin(z * scale))(x)
        scale *= 2
        return np.sum(y * scale)

    expected = tape.grad(lambda x: loss(x, lambda f: f))(X)
    for derive in (tape.grad, lambda f: tape.compile(tape.grad(f))):
        np.testing.assert_allclose(derive(lambda x: loss(x, tape.checkpoint))(X), expected)


CHANGED = {
    "assigns another global": "def f(x):\n    global count\n    count = 1\n    return c * x",
    "evaluates": "def f(x): return c * x * eval('1.0')",
    "class": "class Eq: k = c\nf = lambda x: Eq.k * x",
    "a tuple": "parts = (lambda x: c * x,)\nf = lambda x: parts[0](x)",
    "callable": "class Model:\n    def __call__(self, x): return c * x\nf = Model()",
    "decorated": "import functools\n"
    "def same(g):\n    @functools.wraps(g)\n    def h(x): return g(x)\n    return h\n"
    "@same\ndef f(x): return c * x",
    "default": "f = lambda x, g=(lambda x: c * x): g(x)",
    "recursive": "def f(x, n=2): return c * x if n == 0 else f(x, n - 1)",
    "mutually recursive": "def f(x, n=2): return g(x, n) if n else c * x\ndef g(x, n): return f(x, n - 1)",
    "a generator": "def rows(x):\n    for _ in range(2): yield c * x / 2\nf = lambda x: sum(rows(x))",
    "comprehension": "f = lambda x: sum([c * x / 2 for _ in range(2)])",
    "class body": "def f(x):\n    class P:\n        v: float = c\n    return P().v * x",
    "evaluated": "def f(x): return eval('c') * x * (c / c)",
    "import inside": "def f(x):\n    from math import pi\n    return c * x * (pi / pi)",
}


@pytest.mark.parametrize("name", CHANGED)
def test_functions_of_many_kinds_find_globals_as_they_were(name):
    def loss(x):
        namespace, total = {"__name__": "user"}, 0.0
        for c in (2.0, 3.0):
            namespace["c"] = c
            exec(CHANGED[name], namespace)
            total = total + np.sum(tape.checkpoint(namespace["f"])(x))
        namespace["c"] = 100.0
        return total

    np.testing.assert_allclose(tape.grad(loss)(X), np.full(3, 5.0))


def test_variables_that_are_assigned_to_by_code_out_of_sight():
    last = 1.0

    class Store:
        def keep(self, value):
            nonlocal last
            last = value

    store = Store()

    def f(x):
        store.keep(3.0)
        return last * x * factor

    factor = 2.0

    def loss(x):
        nonlocal factor
        y = tape.checkpoint(f)(x)
        factor = 100.0  # so that the function is copied
        return np.sum(y)

    np.testing.assert_array_equal(tape.grad(loss)(X), np.full(3, 6.0))


def test_objects_that_can_be_called_stay_what_they_are():
    class Model:
        scale = 1.0

        def __call__(self, x):
            return self.scaled(x)

        def scaled(self, x):
            return self.scale * x

    model, factor = Model(), 2.0

    def loss(x):
        nonlocal factor
        y = tape.checkpoint(lambda x: model.scaled(x) * model(x) * factor)(x)
        factor = 100.0
        return np.sum(y)

    np.testing.assert_allclose(tape.grad(loss)(X), 4 * X)


def test_arrays_of_other_classes_are_an_error():
    class Table(np.ndarray):
        pass

    table = np.ones(3).view(Table)

    def loss(x):
        y = tape.checkpoint(lambda x: x * table.sum())(x)
        table[:] = 2
        return np.sum(y)

    with pytest.raises(errors.InPlaceError, match="closes over it"):
        tape.grad(loss)(X)


class Model:
    def __init__(self, factor):
        self.factor = factor

    def read(self):
        return float(self.factor[0])


@takes_long
@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("first", [0.0, -1.0])
def test_scratch_arrays_that_objects_know_by_other_names(first, is_nested):
    """The first write may change nothing."""
    scratch = np.full(1, first)
    model = Model(scratch)

    def slope(t, y, k):
        scratch[0] = t
        return -k * y * model.read()

    def solved(k):
        return integrate.solve_ivp(slope, (0.0, 1.0), np.ones(1), args=(k,), rtol=1e-9, atol=1e-10).y[0, -1]

    f = tape.checkpoint(solved) if is_nested else solved
    assert tape.grad(f)(0.5) == pytest.approx(-0.5 * np.exp(-0.25), rel=1e-6)


@pytest.mark.parametrize("is_nested", [False, True])
def test_variables_that_objects_assign_to_later(is_nested):
    phase = 0

    class Clock:
        def tick(self, t):
            nonlocal phase
            phase = int(t > 0.5)

    clock = Clock()

    def slope(t, y, k):
        clock.tick(t)
        return -k * y * (3.0 if phase else 1.0)

    def solved(k):
        return integrate.solve_ivp(slope, (0.0, 1.0), np.ones(1), args=(k,), rtol=1e-9, atol=1e-10).y[0, -1]

    f = tape.checkpoint(solved) if is_nested else solved
    assert tape.grad(f)(0.5) == pytest.approx(-2 * np.exp(-1.0), rel=1e-5)


def test_a_large_log_that_a_function_keeps():
    log, count = np.zeros((9000, 4)), 0

    def slope(t, y, k):
        nonlocal count
        log[count % 9000, 1] = t
        count += 1
        return -k * y

    solved = lambda k: integrate.solve_ivp(slope, (0.0, 30.0), np.ones(1), args=(k,)).y[0, -1]  # noqa: E731
    assert np.isfinite(tape.grad(solved)(0.5))


def test_columns_of_an_array_are_restored_apart():
    table = np.zeros((5, 2))
    first, second = table[:, 0], table[:, 1]

    def loss(x):
        total = 0.0
        for k in range(2):
            table[:] = k + 1
            total = total + tape.checkpoint(lambda x: np.sum(x**2 * first * second))(x)
        return total

    np.testing.assert_array_equal(tape.grad(loss)(np.ones(5)), np.full(5, 10.0))


def test_an_array_that_a_function_only_writes_into_when_it_runs_again():
    scale, is_first = np.full(1, 2.0), True

    def f(x):
        if not is_first:
            scale[0] = 100.0
        return x * scale[0]

    def loss(x):
        nonlocal is_first
        y = tape.checkpoint(f)(x)
        scale[0] = 3.0
        is_first = None
        return np.sum(y)

    np.testing.assert_array_equal(tape.grad(loss)(X), np.full(3, 2.0))


def test_globals_that_a_copy_assigns_to():
    namespace = {"factor": 2.0, "calls": 0}
    exec("def f(x):\n    global calls\n    calls += 1\n    return factor * x**2", namespace)
    trace = tape.Trace()
    y = np.sum(tape.checkpoint(namespace["f"])(trace.param(X)))
    namespace["factor"] = 5.0
    for _ in range(3):
        np.testing.assert_allclose(trace.backward_param_grads(y), [4 * X])
    assert namespace["calls"] == 4


def test_objects_with_methods_of_any_name():
    class Odd(type):
        def __getattr__(cls, name):
            return None

    class Config(metaclass=Odd):
        def with_functions(self, change):
            raise RuntimeError

    config = Config()
    f = tape.checkpoint(lambda x: np.sum(x**2) if config and Config else 0.0)
    np.testing.assert_allclose(tape.grad(f)(X), 2 * X)


def test_a_global_that_was_none_and_is_gone():
    namespace = {"scale": None}
    exec("def f(x): return x * 2 if scale is None else x", namespace)

    def loss(x):
        y = tape.checkpoint(namespace["f"])(x)
        del namespace["scale"]
        return np.sum(y)

    np.testing.assert_array_equal(tape.grad(loss)(X), np.full(3, 2.0))


def test_memory_of_an_array_that_many_calls_close_over():
    table = np.ones(8000)

    def loss(x):
        for _ in range(200):
            x = x + tape.checkpoint(lambda x: x * table[0])(x)
        return np.sum(x)

    tape.grad(loss)(np.full(3, 1e-3))  # so that what is imported then is not counted
    tracemalloc.start()
    try:
        tape.grad(loss)(np.full(3, 1e-3))
        assert tracemalloc.get_traced_memory()[1] < 50 * table.nbytes
    finally:
        tracemalloc.stop()


def test_generators_and_iterators_are_shared():
    counter = itertools.count()
    f = Bound(lambda: next(counter))
    assert [f(), rerun(f), next(counter)] == [0, 1, 2]
