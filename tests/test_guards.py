"""Branches in compiled functions: no number that Python reads is frozen, however deep it was read."""

import io
import logging
import math
import operator
import pprint
import re
import warnings
from unittest.mock import Mock

import numpy as np
import pytest

import tape
from tape import errors
from tape.program.record.recording import record
from tests.tiers import rounds, takes_long

RNG = np.random.default_rng(5)


def same(compiled, f, calls):
    """Compiled equals eager for every call, in this order and once more turned round."""
    for args in (*calls, *calls[::-1]):
        for found, expected in zip(flat(compiled(*args)), flat(f(*args)), strict=True):
            assert np.shape(found) == np.shape(expected)
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def flat(result):
    return result if isinstance(result, tuple) else (result,)


# ---- ways of reading -------------------------------------------------------------------------------


def relu_by_branch(x):
    return x * x if x > 0 else 0.5 * x


def halvings(x):
    count = 0
    while abs(x) > 1:
        x, count = x / 2, count + 1
    return x * count


def clamped(x):
    return -1.0 * x if not x > -1 else x + 2 if x < 1 and x != 0.5 else x**2


def by_int(x):
    return sum((x * k for k in range(int(tape.stop_gradient(abs(x))))), 0.0 * x)


def by_list(x):
    return [x, 2 * x, 3 * x][int(x > 0) + bool(x > 1)]


def newton(x):
    guess = x * 0 + 1.0
    while not abs(guess**2 - abs(x)) < 1e-12 * (1 + abs(x)):
        guess = 0.5 * (guess + abs(x) / guess)
    return guess


SCALAR = [relu_by_branch, halvings, clamped, by_int, by_list, newton]
POINTS = [-3.5, -0.7, 0.0, 0.25, 0.5, 1.5, 2.5, 6.0]


@pytest.mark.parametrize("f", SCALAR)
@pytest.mark.parametrize("kind", [float, np.float64])
def test_branches_on_values(f, kind):
    same(tape.compile(f), f, [(kind(x),) for x in POINTS])


@pytest.mark.parametrize("f", SCALAR)
def test_branches_inside_of_derivatives(f):
    points = [(x,) for x in POINTS if x]
    for transform in (tape.grad, tape.value_and_grad, lambda f: tape.grad(lambda x: x * tape.grad(f)(x))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.ConstantResultWarning)
            same(tape.compile(transform(f)), transform(f), points)


def test_a_branch_that_reverse_diff_freezes():
    """ReverseDiff.jl replays the branch that was recorded, and returns the derivative of the other one."""

    @tape.compile
    @tape.grad
    def gradient(x):
        return np.sum(x**2) if np.sum(x) > 0 else -np.sum(x)

    up, down = np.array([1.0, 2.0]), np.array([-1.0, -2.0])
    for _ in range(2):
        np.testing.assert_array_equal(gradient(up), 2 * up)
        np.testing.assert_array_equal(gradient(down), [-1.0, -1.0])


def test_branches_on_arrays():
    def f(x, y):
        if np.allclose(x, y):
            return x * 0
        if np.array_equal(np.sign(x), np.sign(y)):
            return x * y
        if (x > y).any():
            return x - y if (x > y).all() else x + y
        return y

    x = RNG.normal(size=3)
    others = [x + 1e-12, 2 * x, x - 5, x + 5, x[::-1] * np.array([1, -1, 1])]
    same(tape.compile(f), f, [(x, y) for y in others])


@pytest.mark.parametrize("question", [
    lambda x, y: np.allclose(x, y, 0.1, atol=0.2),
    lambda x, y: np.allclose(2.0, y, equal_nan=True),
    lambda x, y: np.array_equal(x, y),
    lambda x, y: np.array_equal(x, [1.0, np.nan], equal_nan=True),
    lambda x, y: np.array_equal(x, np.ones(3)),
    lambda x, y: np.array_equal(x, y, equal_nan=True),
    lambda x, y: np.array_equal(x, y[None]),
    lambda x, y: np.array_equiv(x, y[None]),
    lambda x, y: np.array_equiv(x[:1], y),
    lambda x, y: bool(np.any(x == y)),
])  # fmt: skip
def test_questions_about_arrays(question):
    pairs = ([1.0, 2.0], [1.05, 2.1], [1.0, np.nan], [np.nan, 2.0], [2.0, 2.0])
    values = [np.array(pair) for pair in pairs]
    compiled = tape.compile(lambda x, y: (question(x, y), x + y))
    nested = tape.compile(tape.grad(lambda x, y: np.sum(x * y * (2 if question(x, y) else 3))))
    for _ in range(2):
        for x in values:
            for y in values:
                assert compiled(x, y)[0] is question(x, y)
                np.testing.assert_array_equal(nested(x, y), y * (2 if question(x, y) else 3))


def test_bools_and_ints_of_every_kind():
    def f(x):
        if x:
            x = x + 1
        for _ in range(int(x)):
            x = x + 2
        return x

    for values in (
        [0, 1, 3],
        [0.0, -0.5, 2.7, 1.2],
    ):
        for dtype in (np.float64, np.float32, np.int64, np.int32, np.uint8):
            if min(values) >= 0 or dtype in (np.float64, np.float32):
                same(tape.compile(f), f, [(dtype(value),) for value in values])
    ones = tape.compile(lambda x: x * int(x))  # of one element, and any number of axes
    for value in (2.5, 3.5, 2.1):
        np.testing.assert_array_equal(ones(np.full((1, 1), value)), np.full((1, 1), value * int(value)))
    flags = tape.compile(lambda mask, x: x if mask else -x)
    assert [flags(np.bool_(b), 1.0) for b in (True, False, True)] == [1.0, -1.0, 1.0]


def test_indices():
    names = ["sin", "cos", "tanh"]

    def f(x, i):
        return getattr(np, names[i])(x) * np.arange(5.0)[i] + x[i : i + 2].sum() + operator.index(i)

    calls = [(RNG.normal(size=6), np.int64(i)) for i in (0, 2, 1)]
    same(tape.compile(f), f, calls)
    same(
        tape.compile(tape.grad(lambda x, i: np.sum(f(x, i)))),
        tape.grad(lambda x, i: np.sum(f(x, i))),
        calls,
    )


def test_a_value_written_into_an_array_is_read():
    def f(x, n):
        counts = np.zeros(3, int)
        counts[1] = n
        return x * counts

    same(tape.compile(f), f, [(np.ones(3), np.int64(n)) for n in (1, 5, 1)])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_no_ints(bad):
    compiled = tape.compile(lambda x: x * int(x))
    assert compiled(2.5) == 5.0
    for _ in range(2):
        with pytest.raises((ValueError, OverflowError)) as expected:
            int(bad)
        with pytest.raises(type(expected.value)):
            compiled(bad)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -8.0, 1 / 3, 3.0, math.inf, -math.inf, math.nan, 1e300, -1e300, 5e-324]

ARITHMETIC = {
    "power": lambda a, b: a**b,
    "power of a number": lambda a, b: 2.0**a + b,
    "inverse": lambda a, b: a**-1 + b,
    "root": lambda a, b: abs(a) ** 0.5 * b,
    "quotient": lambda a, b: a / b,
    "floor": lambda a, b: a // b,
    "remainder": lambda a, b: a % b,
    "divmod": divmod,
    "int": lambda a, b: int(a) * b,
    "truth": lambda a, b: b if a else -b,
    "comparison": lambda a, b: b if a < b else a,
    "caught": lambda a, b: caught(lambda: a / b, b),
    "caught int": lambda a, b: caught(lambda: int(a) * b, b),
}


def caught(compute, otherwise):
    try:
        return compute()
    except (ArithmeticError, ValueError):
        return 2 * otherwise


def outcome(f, *args):
    """A result with its type, or the class of what was raised."""
    try:
        with np.errstate(all="ignore"):
            result = f(*args)
    except Exception as error:
        return type(error)
    return [(repr(part), type(part)) for part in flat(result)]


@pytest.mark.filterwarnings("ignore::tape.errors.NotCompiledWarning")
@pytest.mark.parametrize("kind", [float, np.float64])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_exceptional_numbers_take_no_path_of_others(name, kind):
    f = ARITHMETIC[name]
    rng = np.random.default_rng(0)
    for _ in range(rounds(20)):
        compiled = tape.compile(f, max_paths=1000)
        calls = [tuple(map(kind, rng.choice(SPECIAL, 2))) for _ in range(8)]
        for args in (*calls, *calls):
            found = outcome(compiled, *args)
            if found not in (errors.ConversionError, errors.UnsupportedError):  # what programs refuse
                assert found == outcome(f, *args), args


def test_a_power_that_python_refuses_after_one_that_is_infinite():
    power = tape.compile(lambda a, b: a**b)
    assert power(math.inf, 1.0) == math.inf
    with pytest.raises(ZeroDivisionError):
        power(0.0, -8.0)


def test_errors_that_are_caught_are_no_constants():
    def inverse(a):
        try:
            return np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return 0 * a

    compiled = tape.compile(inverse)
    with pytest.warns(errors.NotCompiledWarning, match="has caught"):
        np.testing.assert_array_equal(compiled(np.zeros((2, 2))), np.zeros((2, 2)))
    for a in (np.eye(2), np.zeros((2, 2)), 2 * np.eye(2)):
        np.testing.assert_array_equal(compiled(a), inverse(a))


def test_ints_beyond_64_bits_are_refused():
    compiled = tape.compile(lambda x: x * (int(x) % 7))
    assert compiled(2.0) == 4.0
    with pytest.raises(errors.ConversionError, match="64 bits"):
        compiled(1e20)


# ---- what is refused -------------------------------------------------------------------------------


def _values(x):
    """The number below all nesting."""
    while isinstance(x, tape.Var):
        x = x.value
    return x


@pytest.mark.parametrize("read", [
    float, math.sqrt, lambda x: x.item(), lambda x: x.tolist(), lambda x: f"{float(x)}", _values,
    lambda x: np.zeros(2).__setitem__(0, x),
])  # fmt: skip
def test_numbers_that_would_be_frozen_are_refused(read):
    for f in (
        lambda x: x * read(x),
        tape.grad(lambda x: x * read(x)),
        tape.grad(tape.grad(lambda x: x * read(x))),
    ):
        with pytest.raises((errors.ConversionError, ValueError)) as caught:
            tape.compile(f)(2.0)
        error = caught.value if isinstance(caught.value, errors.TapeError) else caught.value.__cause__
        assert re.search("frozen into the program|lose its derivative", str(error))
        assert "test_guards.py" in str(error)


@pytest.mark.parametrize("read", [lambda x: x.tolist(), lambda x: x.tobytes(), np.asarray, np.float64])
def test_arrays_that_would_be_frozen_are_refused(read):
    with pytest.raises(errors.TapeError):
        tape.compile(lambda x: x * np.size(read(x)))(np.ones(2))


@pytest.mark.parametrize(
    "ints",
    [
        [2**40, -(2**40), 5], [2**31 - 1, 0, 7], [3, 1, 2, 1], [-1], [[True, False], [False, False]],
        [7] * 70, np.zeros(0, int), np.zeros((0, 2), bool),
    ],
    ids=str,
)  # fmt: skip
def test_arrays_of_integers_that_python_reads_are_those_of_the_call(ints):
    ints = np.array(ints)
    f = lambda x, k: [x * sum(k.ravel().tolist()), k.tolist()]  # noqa: E731
    compiled, programs = tape.compile(f, max_paths=100), 1
    assert compiled(2.0, ints) == f(2.0, ints)
    for place in np.ndindex(ints.shape):
        other = ints.copy()
        other[place] = not other[place] if ints.dtype == bool else other[place] - 1
        assert compiled(2.0, other) == f(2.0, other)
        programs += 1
    assert compiled(2.0, ints) == f(2.0, ints)
    assert len(compiled.programs) == programs


def test_arrays_of_many_integers_are_read_by_operations_alone():
    compiled = tape.compile(lambda x, k: x * len(k.tolist()))
    assert compiled(2.0, np.zeros(1024, int)) == 2048.0
    with pytest.raises(errors.ConversionError, match=r"for 1024 elements at most\. To index, write"):
        compiled(2.0, np.zeros(1025, int))


def test_arrays_and_complex_numbers_are_rounded_as_by_numpy():
    x = np.array([0.25, 1.25, -1.75])
    rounded, to_digits, number = tape.compile(lambda x: [round(x), round(x, 1), round(x[1] * 1j, 1)])(x)
    np.testing.assert_array_equal(rounded, np.round(x))
    np.testing.assert_array_equal(to_digits, np.round(x, 1))
    assert number == np.round(1.25j, 1)


@pytest.mark.parametrize("read", [np.unique, np.flatnonzero, lambda x: x[x > 1]])
def test_results_whose_size_depends_on_data_are_recorded_anew(read):
    f = lambda x: x * np.size(read(x)) + np.sum(read(x))  # noqa: E731
    compiled = tape.compile(f)
    for x in ([1.0, 1.0, 2.0], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [5.0, 6.0, 5.0], [1.0, 1.0, 2.0]):
        np.testing.assert_array_equal(compiled(np.array(x)), f(np.array(x)))


def test_showing_a_value_is_no_reading(capsys):
    compiled = tape.compile(lambda x: print(f"{x} {x:.2f} {x!r}") or 2 * x)
    assert [compiled(1.0), compiled(2.0)] == [2.0, 4.0]
    assert capsys.readouterr().out.count("1.00") == 1


def test_an_array_is_neither_true_nor_false():
    for f in (lambda x: x if x > 0 else -x, tape.grad(lambda x: np.sum(x) if x > 0 else np.sum(-x))):
        with pytest.raises(errors.ConversionError, match="ambiguous"):
            tape.compile(f)(np.ones(2))


# ---- paths -----------------------------------------------------------------------------------------


def test_every_way_is_recorded_once():
    run = Mock()

    def f(x):
        run()
        for k in range(3):
            x = x + 1 if x[k] > 0 else x - 1
        return x

    compiled = tape.compile(f)
    points = RNG.normal(size=(40, 3))
    for point in (*points, *points):
        compiled(point)
    keys = list(compiled.programs)
    assert run.call_count == len(keys) == len({key.outcomes for key in keys}) <= 8
    assert len({str(key) for key in keys}) == len(keys)
    count = run.call_count
    for point in points:
        np.testing.assert_array_equal(compiled(point), f(point))
    assert run.call_count == count + len(points)


def test_a_path_that_raises_is_not_kept():
    def f(x):
        assert x > 0, "too low"
        return 2 * x

    compiled = tape.compile(f)
    for _ in range(3):
        with pytest.raises(AssertionError, match="too low"):
            compiled(-1.0)
        assert compiled(3.0) == 6.0
    assert len(compiled.programs) == 1


def test_more_paths_than_may_be_warn_once_and_stay_right():
    def f(x):
        return x * int(x)

    compiled = tape.compile(f, max_paths=3)
    values = [float(k) for k in range(1, 9)] * 2
    with pytest.warns(errors.PathLimitWarning, match="np.where") as caught:
        assert [compiled(x) for x in values] == [f(x) for x in values]
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert len(compiled.programs) == 3
    with pytest.warns(errors.PathLimitWarning):  # for other arguments anew
        assert [compiled(np.float32(x)) for x in values] == [f(np.float32(x)) for x in values]


def test_guards_are_told_in_order():
    def f(x, n):
        y = 3.0 if x[0] > 0 else 2.0
        return x * y * int(n)

    recorded = record(f, (np.ones(2), np.int64(4)), {}, "f")
    assert [(g.kind, g.outcome) for g in recorded.guards] == [("bool", True), ("int", 4)]
    for guard in recorded.guards:
        value = recorded.nodes[guard.node].value
        assert guard.node < guard.position <= len(recorded.nodes)
        assert value.shape == ()
        assert value.dtype == (bool if guard.kind == "bool" else np.int64)


# ---- transforms that run code of their own -----------------------------------------------------------

SOLVED = {
    "root": lambda a: tape.root(lambda x: x**2 - a, 1.0),
    "fixed_point": lambda a: tape.fixed_point(lambda x: np.cos(x) * a / 10, 1.0),
    "odeint": lambda a: tape.odeint(lambda y, t: -a * y, 1.0, np.array([0.0, 0.5]))[-1],
    "odeint over time": lambda a: tape.odeint(lambda y, t: -y, 1.0, np.array([0.0, 1.0]) * a)[-1],
    "checkpoint": tape.checkpoint(lambda a: np.sin(a) * a if a > 1 else a**2),
    "checkpoint_loop": lambda a: tape.checkpoint_loop(
        lambda s, k: s + a * np.sin(s), a, steps=5, snapshots=2
    ),
    "taylor": lambda a: tape.taylor(lambda x: np.sqrt(x + 1) * x**1.5, a, 1.0, order=2)[2],
    "apply": lambda a: tape.apply(a, np.cbrt, lambda x: x ** (-2 / 3) / 3),
    "no_grad": tape.no_grad()(lambda a: np.sin(a)),
    "stop_gradient": lambda a: a * tape.stop_gradient(a),
}


@takes_long
@pytest.mark.parametrize("name", SOLVED)
def test_solvers_are_solved_anew(name):
    f = SOLVED[name]
    points = [np.float64(a) for a in (2.0, 0.5, 3.0)]
    for g in (f, *([] if name == "no_grad" else [tape.grad(f)])):
        compiled = tape.compile(g)
        for a in (*points, *points):
            np.testing.assert_allclose(compiled(a), g(a), rtol=1e-7)


def test_solvers_begin_where_the_call_does():
    calls = [(np.float64(x),) for x in (1.0, -1.0, 3.0)]
    for f in (
        lambda x: tape.root(lambda z: z**2 - 4.0, x),
        lambda x: tape.fixed_point(lambda z: z**3 if abs(z) < 1 else z, x / 2),
    ):
        same(tape.compile(f), f, calls)


def test_a_series_looks_for_zeros_in_every_call():
    def f(x):
        return tape.taylor(lambda v: v**2.5, x, np.ones(2), order=2)[2]

    same(tape.compile(f), f, [(np.array([1.0, 2.0]),), (np.array([0.0, 2.0]),)])


def test_what_a_segment_returns_besides_floats_is_refused():
    for f in (
        lambda x: tape.checkpoint(lambda y: (y * 2, y > 0))(x),
        lambda x: tape.checkpoint_loop(lambda s, k: (s[0] * 2, s[1] + 1), (x, 0), steps=2, snapshots=1),
    ):
        with pytest.raises(errors.UnsupportedError, match="frozen"):
            tape.compile(f)(1.0)


def test_custom_rules():
    @tape.custom_vjp
    def norm(x):
        return np.linalg.norm(x) if x[0] > 0 else -np.linalg.norm(x)

    @norm.defvjp
    def _(g, out, x):
        return g * x / out

    xs = [np.array([3.0, 4.0]), np.array([-6.0, 8.0])]
    same(tape.compile(tape.grad(norm)), tape.grad(norm), [(x,) for x in xs])


def test_what_has_no_place_in_a_program_is_refused():
    weights = np.ones(2)
    optimizer = tape.optim.SGD([weights], lr=0.1)
    with pytest.raises(errors.TapeError):
        tape.compile(lambda x: optimizer.step([x]))(np.ones(2))
    np.testing.assert_array_equal(weights, 1)


# ---- texts -----------------------------------------------------------------------------------------


def best(x):
    return np.argmax(x)


TEXTS = {
    "str": lambda x: str(best(x)),
    "repr": lambda x: repr(best(x)),
    "f-string": lambda x: f"{best(x)} {best(x)!r} {best(x)!s:>4} {best(x)!a} {best(x):03d}",
    "percent": lambda x: "%d %s %r" % (best(x), best(x), best(x)),  # noqa: UP031
    "format": lambda x: "{:02d} {}".format(best(x), format(best(x))),  # noqa: UP032
    "in a list": lambda x: str([best(x), best(x) > 0]),
    "joined": lambda x: "".join(map(str, np.argsort(x))),
    "bool": lambda x: f"{x[0] > 2} {x[0] > 2!r} {x[0] > 2!s}",
    "array": lambda x: f"{np.argsort(x)} {np.argsort(x)!r} {x > 2}",
    "functions of NumPy": lambda x: np.array_str(np.argsort(x)) + np.array2string(x > 2, separator=";"),
    "functions of NumPy by names": lambda x: np.array_str(a=np.argsort(x)) + np.array_repr(arr=x > 2),
    "small ints": lambda x: repr(best(x).astype(np.uint8)),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_of_integers_and_bools_are_those_of_numpy(name):
    text = TEXTS[name]
    compiled = tape.compile(lambda x: {text(x): x * (2.0 if text(x) == text(np.array([5.0, 1.0])) else 3.0)})
    for x in ([1.0, 5.0], [5.0, 1.0], [1.0, 6.0], [5.0, 1.0]):
        found, expected = compiled(np.array(x)), compiled.__wrapped__(np.array(x))
        assert list(found) == list(expected)
        np.testing.assert_array_equal([*found.values()], [*expected.values()])
    assert len(compiled.programs) == 2


def test_texts_of_comparisons_of_numbers_are_those_of_python():
    compiled = tape.compile(lambda a: f"{a > 2} {a > 2!r} {a > 2:d}")
    assert [compiled(a) for a in (1.0, 3.0, 1.0)] == ["False False 0", "True True 1", "False False 0"]


def test_texts_within_derivatives_are_guards():
    def f(x):
        return np.sum(x) * len(f"{np.argmax(x)}{'' if '0' in str(np.argmax(x)) else 'more'}")

    compiled = tape.compile(tape.grad(f))
    for x in ([1.0, 5.0], [5.0, 1.0], [1.0, 6.0]):
        np.testing.assert_array_equal(compiled(np.array(x)), tape.grad(f)(np.array(x)))


def test_texts_in_loops_are_those_of_each_step():
    def f(x):
        def step(carry, i):
            return carry * (2.0 if str(i) in ("1", "3") else 1.0) + len(f"{i > 1}"), carry

        return tape.scan(step, x, np.arange(4))[0]

    compiled = tape.compile(f)
    for x in (1.0, 2.0):
        assert compiled(np.float64(x)) == f(np.float64(x))


def test_what_shows_integers_makes_no_guard(capsys):
    logger, logged = logging.getLogger("shown"), io.StringIO()
    logger.addHandler(logging.StreamHandler(logged))

    def f(x):
        print(np.argmax(x), x[0] > 2, np.argsort(x), x)
        logger.warning("%s", np.argmax(x))
        pprint.pprint([np.argmax(x)])
        return 2 * x

    compiled = tape.compile(f)
    for x in ([1.0, 5.0], [5.0, 1.0]):
        np.testing.assert_array_equal(compiled(np.array(x)), 2 * np.array(x))
    assert len(compiled.programs) == 1
    assert capsys.readouterr().out.count("Var(1") == 2
    assert "Var(1" in logged.getvalue()


def test_messages_about_integers_make_no_guard():
    def f(x):
        with pytest.raises(errors.ShapeError, match="reshape"):
            np.reshape(np.argsort(x), (3, 1))
        with pytest.raises(errors.MissingAttributeError):
            np.argmax(x).tobytes()
        return 2 * x

    assert not record(f, (np.ones(2),), {}, "f").guards


def test_arrays_are_compared_anew_in_each_call():
    compiled = tape.compile(lambda x, y: 1.0 if np.array_equiv(x, y) else 2.0)
    calls = [(np.ones(2), np.ones(2)), (np.ones(2), np.zeros(2)), (np.ones(2), 1.0), (np.ones(2), np.ones(3))]
    for args in calls * 2:
        assert compiled(*args) == compiled.__wrapped__(*args)


def test_the_least_type_of_an_integer_is_a_guard_and_of_a_float_is_refused():
    compiled = tape.compile(lambda i: str(np.min_scalar_type(i)))
    assert [compiled(np.int64(i)) for i in (3, 300, -3)] == ["uint8", "uint16", "int8"]
    with pytest.raises(errors.ConversionError, match="frozen"):
        tape.compile(lambda x: str(np.min_scalar_type(x)))(1.0)
