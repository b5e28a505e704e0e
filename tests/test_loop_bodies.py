"""What the body of a loop may do: write, read numbers, raise; compiled it is as in Python, or an error."""

from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest

import tape
from tape import errors, tree
from tests.naive_loops import PYTHON, TAPE
from tests.test_loops import NAMES, assert_alike, data, floats, has_loops, transformed
from tests.tiers import grid, some

RNG = tape.random.default_rng(0)

# ---- writing -------------------------------------------------------------------------------------------


def outcome(f, *args):
    try:
        return f(*args)
    except Exception as error:
        return error


def assert_the_same_or_an_error(f, *args):
    """Twice compiled; eagerly it must work."""
    copies = [np.array(x) for x in args]
    expected = f(*copies)
    compiled = tape.compile(f)
    for _ in range(2):
        copies = [np.array(x) for x in args]
        found = outcome(compiled, *copies)
        if isinstance(found, Exception):
            assert isinstance(found, (errors.TapeError, ValueError)), repr(found)
        else:
            assert_alike(found, expected)
            for before, after in zip(args, copies, strict=True):
                np.testing.assert_array_equal(before, after)
    return compiled


def add_to_carry(x, w):
    def step(c, e):
        c += e
        return c, c

    return tape.scan(step, w, x), np.sum(w)


def write_to_element(x, w):
    def step(c, e):
        e[0] = c[1]
        return c + e, e

    return tape.scan(step, w, x), np.sum(x)


def write_to_outer(x, w):
    total = w * 2

    def step(c, e):
        total[0] += e[0]
        return c + e * total, None

    return tape.scan(step, w, x)[0], total


def write_to_array(x, w):
    total = np.zeros(3)

    def step(c, e):
        total[0] += 1
        return c + e * total, None

    return tape.scan(step, w, x)[0], total


def write_element_to_array(x, w):
    total = np.zeros(3)

    def step(c, e):
        total[1] = e[0]
        return c + e * total, None

    return tape.scan(step, w, x)[0]


def count_calls(x, w):
    calls = []

    def step(c, e):
        calls.append(1)
        return c + e * len(calls), None

    return tape.scan(step, w, x)[0]


def keep_a_value(x, w):
    kept = [0]

    def step(c, e):
        kept[0] = c * e
        return c + e, None

    return tape.scan(step, w, x)[0] * kept[0]


WRITERS = [
    add_to_carry, write_to_element, write_to_outer, write_to_array, write_element_to_array, count_calls,
    keep_a_value,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::tape.errors.NotCompiledWarning")
@pytest.mark.parametrize("f", WRITERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("is_derivative", [False, True])
def test_writing_in_a_body_is_right_or_an_error(f, n, is_derivative):
    x, w = data(n)
    if not is_derivative:
        assert_the_same_or_an_error(f, x, w)
        return

    def loss(x, w):
        return sum([np.sum(np.sin(leaf)) for leaf in tree.flatten(f(x, w))[0]])

    if f is not write_element_to_array:  # a recorded value in a plain array
        assert_the_same_or_an_error(tape.grad(loss, (0, 1)), x, w)


@pytest.mark.parametrize("f", WRITERS[:2], ids=lambda f: f.__name__)
def test_a_body_may_write_to_its_carry_and_elements(f):
    x, w = data(3)
    before = x.copy(), w.copy()
    expected = f(x, w)
    np.testing.assert_array_equal((x[0], w), (before[0][0], before[1]))
    compiled = tape.compile(f)
    for _ in range(2):
        assert_alike(compiled(x, w), expected)
    assert has_loops(compiled)
    trace = tape.Trace()
    recorded = f(trace.param(x), trace.param(w))
    assert_alike([leaf.value for leaf in tree.flatten(recorded)[0]], tree.flatten(expected)[0])


M = np.arange(9.0).reshape(3, 3) / 9
DIFFERENT = {
    "a number": lambda k, c, x: c * (2.0 + k),
    "the type of a number": lambda k, c, x: c * (2 if k else 2.0),
    "the dtype of an array": lambda k, c, x: c * np.ones(3, np.int64 if k else np.float64),
    "the sign of zero": lambda k, c, x: c + (0.0 if k else -0.0),
    "an array": lambda k, c, x: c * np.array([1.0, 2.0, 3.0 + k]),
    "an operation": lambda k, c, x: (np.cos if k else np.sin)(c),
    "its order": lambda k, c, x: c - x if k else x - c,
    "how many": lambda k, c, x: np.sin(c) * x if k else np.sin(np.sin(c)) * x,
    "an axis": lambda k, c, x: np.sum(M * c, axis=k),
    "an index": lambda k, c, x: c * x[k],
    "a slice": lambda k, c, x: c * np.sum(x[k:]),
    "an option": lambda k, c, x: c + np.sum(M * x, axis=0, keepdims=bool(k)).reshape(3),
    "what it returns": lambda k, c, x: (np.sin(c), np.cos(c))[k],
    "a loop": lambda k, c, x: tape.fori_loop(0, 3, lambda i, c: np.sin(c) * (1.0 + k), c),
    "the steps of a loop": lambda k, c, x: tape.fori_loop(0, 3 + k, lambda i, c: np.sin(c), c),
    "the direction of a loop": lambda k, c, x: (
        tape.scan(lambda c, m: (c * m, None), c, M, reverse=bool(k))[0] + x
    ),
}


def scanned(step):
    return lambda x, w: tape.scan(lambda c, x: (step(c, x), None), w, x)[0]


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_from_call_to_call_is_refused(name):
    """In a loop of several steps: of one step, a single call says it all."""
    calls = Mock()  # whose state is not looked at

    def different(c, x):
        calls()
        return DIFFERENT[name](calls.call_count % 2, c, x)

    x, w = data(3)
    with pytest.raises(errors.UnsupportedError, match="each time"):
        tape.compile(scanned(different))(x, w)
    calls.reset_mock()
    assert_alike(tape.compile(scanned(different))(x[:1], w), DIFFERENT[name](1, w, x[0]))
    for k in (0, 1):
        f = scanned(partial(DIFFERENT[name], k))
        assert_alike(tape.compile(f)(x, w), f(x, w))


def test_what_is_written_after_a_loop_does_not_change_it():
    def f(x, w):
        outer = w * 2.0
        c, ys = tape.scan(lambda c, x: (c * outer + x, c), w, x)
        outer[0] = 5.0
        outer *= c
        return np.sum(c) + np.sum(ys * outer)

    x, w = data(4)
    for g in (f, tape.grad(f, (0, 1)), tape.grad(lambda x, w: np.sum(tape.grad(f, 1)(x, w) ** 2), 1)):
        expected = g(x.copy(), w.copy())
        compiled = tape.compile(g)
        for _ in range(2):
            assert_alike(compiled(x, w), expected)
        assert has_loops(compiled)


def test_writing_to_an_outer_variable_falls_back_to_python():
    x, w = data(3)
    compiled = tape.compile(write_to_outer)
    for _ in range(2):
        assert_alike(compiled(x, w), write_to_outer(x, w))
    assert not has_loops(compiled)


# ---- what cannot be recorded once ----------------------------------------------------------------------


def branch(x, w):
    return tape.scan(lambda c, x: (c + x if np.sum(c) > 0 else c - 2 * x, c[0] if c[1] > 0 else x[0]), w, x)


def read_int(x, w):
    return tape.map(lambda x: w * int(np.argmax(x)), x)


def masked_sum(x, w):
    return tape.scan(lambda c, x: (c * 0.5 + np.sum(x[x > 0]), c), w, x)


def short_circuit(x, w):
    return tape.scan(lambda c, x: (np.max(c) and c * x, not np.min(x)), w, x)


def comparison_of_arrays(x, w):
    return tape.map(lambda x: x * 2 if np.allclose(x, w) else x, x)


def loop_over_elements(x, w):
    def step(c, x):
        for e in x:
            if e > 0:
                c = c + e
        return c, None

    return tape.scan(step, w, x)[0]


def conditional(x, w):
    return tape.scan(lambda c, x: (tape.cond(x[0] > 0, np.sin, lambda c: c * w, c), None), w, x)[0]


def switched(x, w):
    return tape.map(lambda x: tape.switch(np.argmax(x), [np.sin, np.cos, np.tanh], x), x)


def inner_while(x, w):
    def goes_on(v):
        return np.sum(v * v) > 1 and v[0] < 5

    return tape.map(lambda x: tape.while_loop(goes_on, lambda v: v / 2, x), x)


def unrolled_inside(x, w):
    """The outer loop reads what the inner one does not."""

    def step(c, x):
        c = tape.fori_loop(0, 2, lambda i, c: np.sin(c) * x, c)
        return c if c[0] > 0 else -c, None

    return tape.scan(step, w, x)[0]


READERS = [
    branch, read_int, masked_sum, short_circuit, comparison_of_arrays, loop_over_elements, conditional,
    switched, inner_while, unrolled_inside,
]  # fmt: skip


@pytest.mark.parametrize("f", READERS, ids=lambda f: f.__name__)
def test_bodies_that_read_numbers_are_recorded_step_by_step(f):
    compiled = tape.compile(f)
    for seed in range(5):
        x, w = data(3, seed)
        assert_alike(compiled(x, w), f(x, w))
    programs = compiled.programs.values()
    assert not any(program.bodies for program in programs if f is not unrolled_inside)
    for program in programs:
        assert any("in the body of a loop" in note for note in program.notes)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int32])
def test_integers_that_python_reads_in_a_body_are_read_anew(dtype):
    """The counter, an element and the carry as indices of lists, in ranges and as keys."""
    table = [0.5, 1.5, 2.5, 3.5]

    def f(w, k):
        def step(c, k):
            c, n = c
            return (c * table[k] + len(range(n)) * {0: 1.0, 1: 2.0, 2: 3.0}[int(k)], k), c

        return tape.scan(step, (w, k[0]), k)

    compiled = tape.compile(f)
    for k in ([0, 1, 2], [2, 1, 1], [0, 1, 2]):
        k = np.array(k, dtype)
        assert_alike(compiled(np.ones(3), k), f(np.ones(3), k))


@pytest.mark.parametrize("read", [lambda x: range(x), lambda x: [1.0, 2.0][x], lambda x: "a" * x])
def test_floats_are_no_integers_in_a_body_either(read):
    def f(x):
        return tape.map(lambda x: x * len(read(x)), x)

    for g in (f, tape.compile(f)):
        with pytest.raises(TypeError):
            g(np.ones(2))


@pytest.mark.parametrize("f", some(READERS, every=4), ids=lambda f: f.__name__)
def test_derivatives_of_bodies_that_read_numbers(f):
    def loss(x, w):
        return sum([np.sum(np.sin(leaf)) for leaf in floats(f(x, w))])

    gradient = tape.grad(loss, (0, 1))
    compiled = tape.compile(gradient)
    for seed in range(3):
        x, w = data(3, seed)
        assert_alike(compiled(x, w), gradient(x, w))


def turned(x):
    return x * (1.0 if x[0] > 0 else -1.0)


READING_RULES = {
    "reverse": {"vjp": lambda g, out, x: [turned_like(g, x)]},
    "forward": {"jvp": lambda tangents, out, x: turned_like(tangents[0], x)},
    "both": {
        "vjp": lambda g, out, x: [turned_like(g, x)],
        "jvp": lambda tangents, out, x: turned_like(tangents[0], x),
    },
    "batches": {"vjp": lambda g, out, x: [np.where(x[0] > 0, g, -g)]},
}


def turned_like(derivative, x):
    """A rule of `turned` that reads a number."""
    return derivative * (1.0 if x[0] > 0 else -1.0)


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
@grid(rules=READING_RULES, name=NAMES, n=[0, 1, 3], reverse=[False, True])
def test_rules_that_read_numbers_are_recorded_step_by_step(rules, name, n, reverse):
    op = tape.Op(turned, name="turned", data_dependent=False, **READING_RULES[rules])

    def case(loops, x, w):
        def step(c, x):
            c, other = c
            return (np.tanh(op(c) * x + w), other), (op(x) * w, np.sum(op(c * w)), c, c)

        return loops.scan(step, (w, w), x, reverse=reverse)

    eager = transformed(name, case, TAPE)
    compiled = tape.compile(eager)
    for seed in range(3):
        x, w = data(n, seed)
        expected = outcome(eager, x, w)
        found = outcome(compiled, x, w)
        if isinstance(expected, Exception):  # a rule in the other mode
            assert type(found) is type(expected)
        else:
            assert_alike(tree.flatten(found)[0], tree.flatten(expected)[0])
            if n:
                python = transformed(name, case, PYTHON)
                assert_alike(tree.flatten(expected)[0], tree.flatten(python(x, w))[0])


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_batch_rules_that_read_numbers_run_step_by_step(mode, n):
    def batch(op, operands, is_batched, attrs, size):
        return np.stack([turned(operands[0][k]) for k in range(size)])

    rules = {"vjp": lambda g, out, x: [op(g)], "jvp": lambda tangents, out, x: op(tangents[0])}
    op = tape.Op(turned, name="turned", data_dependent=False, batch=batch, **rules)

    def f(loops, x, w):
        c, (ys, zs) = loops.scan(lambda c, x: (op(c) * np.sin(x), (op(c * x), op(x))), w, x)
        return [c, ys, zs]

    compiled = tape.compile(tape.jacobian(lambda x, w: f(TAPE, x, w), (0, 1), mode=mode))
    for seed in range(3):
        x, w = data(n, seed)
        expected = tape.jacobian(lambda x, w: f(PYTHON, x, w), (0, 1), mode=mode)(x, w)
        assert_alike(tree.flatten(compiled(x, w))[0], tree.flatten(expected)[0])


@pytest.mark.parametrize(
    "read",
    [
        lambda x: float(x[0]),
        lambda x: x.item(0),
        lambda x: x[0].value if isinstance(x, tape.Var) else x[0],
        lambda x: np.sum(np.arange(np.count_nonzero(x > 0))),
        lambda x: complex(x[0]),
    ],
)
def test_what_a_compiled_function_refuses_it_refuses_in_a_loop(read):
    x, w = data(3)

    def f(loops, x, w):
        return loops.scan(lambda c, x: (c * (1 + abs(read(x))), c), w, x)

    assert_alike(f(TAPE, x, w), f(PYTHON, x, w))
    for loops in (TAPE, PYTHON):
        with pytest.raises(errors.ConversionError):
            tape.compile(lambda x, w, loops=loops: f(loops, x, w))(x, w)


@pytest.mark.parametrize("text", ["{}", "{:d}", "{:>3}", "{!s}"])
def test_texts_of_integers_in_a_loop_are_those_of_each_step(text):
    def f(x):
        return tape.fori_loop(8, 12, lambda i, c: c * (1.0 + len(text.format(i).strip())), x)

    assert f(2.0) == 2.0 * 2 * 2 * 3 * 3
    assert tape.compile(f)(2.0) == f(2.0)
    assert tape.compile(tape.grad(f))(2.0) == 36.0


@pytest.mark.filterwarnings("ignore::tape.errors.NotCompiledWarning")
def test_a_body_that_catches_what_is_refused_does_what_it_does_in_python():
    def step(c, _):
        try:
            scale = 2.0 if float(c) > 3 else 3.0
        except errors.TapeError:
            scale = 5.0
        return c * scale, c

    compiled = tape.compile(lambda x: tape.scan(step, x, length=3)[0])
    assert compiled(2.0) == 24.0
    assert compiled(-2.0) == -54.0


def test_tangents_that_reach_one_part_of_the_carry_after_another():
    def f(x):
        def step(c, _):
            return (x * c[-1], *c[:-1]), np.stack(c)

        return tape.scan(step, tuple(np.arange(1.0, 10.0)), length=20)

    def by_hand(x):  # each part comes round after nine steps, times x
        first = [[(k + 9 - n) % 9 + 1 for k in range(9)] for n in range(21)]
        turns = [[(n + 8 - k) // 9 for k in range(9)] for n in range(21)]
        values = np.array(first) * x ** np.array(turns, float)
        slopes = np.array(first) * np.array(turns) * x ** (np.array(turns, float) - 1)
        return values, slopes

    for derive in (lambda x: tape.jvp(f, (x,), (1.0,)), tape.compile(lambda x: tape.jvp(f, (x,), (1.0,)))):
        for x in (2.0, 0.5):
            for (last, collected), expected in zip(derive(x), by_hand(x), strict=True):
                np.testing.assert_allclose(last, expected[-1])
                np.testing.assert_allclose(collected, expected[:-1])


_FACTORS = np.array([0.5, -0.3, 0.8])
weighed = tape.Op(
    lambda x: np.sin(x) * _FACTORS,
    name="weighed",
    vjp=[lambda g, out, x: g * np.cos(x) * _FACTORS],
    data_dependent=False,
)


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
@grid(name=NAMES, n=[1, 3])
def test_rules_may_close_over_arrays(name, n):
    def case(loops, x, w):
        return loops.scan(lambda c, x: (weighed(c * x) + w, weighed(x)), w, x)

    python, eager = transformed(name, case, PYTHON), transformed(name, case, TAPE)
    compiled = tape.compile(eager)
    for seed in range(2):
        x, w = data(n, seed)
        expected = outcome(python, x, w)
        if isinstance(expected, Exception):  # of series: it has no rule for them
            assert type(outcome(eager, x, w)) is type(outcome(compiled, x, w)) is type(expected)
            continue
        for f in (eager, compiled):
            assert_alike(tree.flatten(f(x, w))[0], [np.asarray(leaf) for leaf in tree.flatten(expected)[0]])


# ---- errors --------------------------------------------------------------------------------------------


class Refused(Exception):
    pass


def refuse(c, x):
    raise Refused("no")


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (refuse, Refused),
        (lambda c, x: (c[:2], None), errors.ShapeError),
        (lambda c, x: (c[None], None), errors.ShapeError),
        (lambda c, x: (c.astype(np.float32), None), errors.DTypeError),
        (lambda c, x: (c > 0, None), errors.DTypeError),
        (lambda c, x: ((c, c), None), errors.ShapeError),
        (lambda c, x: c, errors.ShapeError),
        (lambda c, x: (c, c, c), errors.ShapeError),
        (lambda c, x: None, errors.ShapeError),
        (lambda c, x: (c, "text"), errors.DTypeError),
        (lambda c, x: [c, c, RNG.normal() * c], errors.ShapeError),
        (lambda c, x: (c @ np.ones((4, 4)), None), errors.ShapeError),
        (lambda c, x: (c[7] * c, None), IndexError),
        (lambda c, x: (c * undefined, None), NameError),  # noqa: F821
        (lambda c, x: (np.linalg.inv(np.zeros((3, 3)) * c), None), np.linalg.LinAlgError),
    ],
)
@pytest.mark.parametrize("n", [1, 3])
def test_errors_in_a_body_are_the_same_eager_and_compiled(step, error, n):
    x, w = data(n)

    def f(x, w):
        return tape.scan(step, w, x)

    with pytest.raises((error, ValueError) if error is errors.ShapeError else error) as eager:
        f(x, w)
    with pytest.raises(type(eager.value)) as compiled:
        tape.compile(f)(x, w)
    if isinstance(eager.value, errors.TapeError) and isinstance(eager.value, error):
        assert str(eager.value).split("[at")[0][:60] == str(compiled.value).split("[at")[0][:60]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda w: tape.scan(None, w, w), errors.TapeError),
        (lambda w: tape.scan(lambda c, x: (c, x), w), errors.OptionError),
        (lambda w: tape.scan(lambda c, x: (c, x), w, length=-1), errors.OptionError),
        (lambda w: tape.scan(lambda c, x: (c, x), w, w, length=4), errors.ShapeError),
        (lambda w: tape.scan(lambda c, x: (c, x), w, (w, w[:2])), errors.ShapeError),
        (lambda w: tape.scan(lambda c, x: (c, x), w, (w, 1.0)), errors.ShapeError),
        (lambda w: tape.scan(lambda c, x: (c, x), "text", w), errors.DTypeError),
        (lambda w: tape.scan(lambda c, x: (c, x), w, np.array(["a"])), errors.TapeError),
        (lambda w: tape.fori_loop(0, 2, None, w), errors.TapeError),
        (lambda w: tape.fori_loop(0, 2.5, lambda i, c: c, w), TypeError),
        (lambda w: tape.fori_loop(0, 2, lambda i, c: c[:1], w), errors.ShapeError),
        (lambda w: tape.map(None, w), errors.TapeError),
        (lambda w: tape.map(np.sin, w[0]), errors.ShapeError),
        (lambda w: tape.map(np.sin, None), errors.OptionError),
        (lambda w: tape.cond(True, None, np.sin, w), errors.TapeError),
        (lambda w: tape.switch(0.5, [np.sin], w), TypeError),
        (lambda w: tape.switch(0, [], w), (errors.TapeError, IndexError)),
        (lambda w: tape.while_loop(None, np.sin, w), errors.TapeError),
    ],
)
def test_wrong_arguments_are_errors_at_the_call(call, error):
    w = np.ones(3)
    for f in (call, tape.compile(call)):
        with pytest.raises(error):
            f(w)


def test_a_singular_matrix_in_a_later_step_is_the_error_of_the_eager_call():
    def f(a):
        return tape.scan(lambda c, a: (c + np.linalg.solve(a, c), None), np.ones(2), a)[0]

    compiled = tape.compile(f)
    good = np.stack([np.eye(2), 2 * np.eye(2), 3 * np.eye(2)])
    expected = f(good)
    assert_alike(compiled(good), expected)
    bad = good.copy()
    bad[1] = 0
    with pytest.raises(np.linalg.LinAlgError) as eager:
        f(bad)
    for _ in range(2):
        with pytest.raises(type(eager.value)):
            compiled(bad)
        assert_alike(compiled(good), expected)
    assert has_loops(compiled)


@pytest.mark.parametrize("n", [10, 3000])
def test_the_error_of_a_step_is_raised_at_the_first_call_too(n):
    """Where long loops run as programs while they are recorded."""

    def f(a):
        return tape.scan(lambda c, a: (c + 0.1 * np.sin(np.linalg.solve(a, c)), None), np.ones(2), a)[0]

    a = np.stack([np.eye(2) * (1 + k % 3) for k in range(n)])
    compiled, good = tape.compile(f), a.copy()
    a[n // 2] = 0
    with pytest.raises(np.linalg.LinAlgError) as eager:
        f(a)
    with pytest.raises(type(eager.value)):
        compiled(a)
    for _ in range(2):
        assert_alike(compiled(good), f(good))


def test_an_error_in_a_callback_leaves_the_function_usable():
    limit = [5.0]

    def checked(x):
        if np.max(x) > limit[0]:
            raise Refused("too large")
        return np.sin(x)

    op = tape.Op(checked, name="checked", data_dependent=False)

    def f(x):
        return tape.scan(lambda c, x: (c * 0.5 + op(x), c), np.zeros(3), x)

    compiled = tape.compile(f)
    x, _ = data(6)
    expected = f(x)
    assert_alike(compiled(x), expected)
    wrong = x.copy()
    wrong[4, 1] = 9.0
    for _ in range(2):
        with pytest.raises(Refused):
            compiled(wrong)
        assert_alike(compiled(x), expected)
    assert has_loops(compiled)
