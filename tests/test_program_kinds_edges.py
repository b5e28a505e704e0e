"""Calls with static arguments in programs: which ones are alike, and record without running the function."""

import numpy as np
import pytest

import tape
from tape.core import program_kinds
from tape.core.op import Op
from tape.core.program_kinds import _note, places_of
from tape.core.specialise import specialised
from tests.oracles import assert_close

X = np.array([1.0, 2.0, 3.0])

DECIDED = {"data_dependent": False}
scaled = Op(lambda x, k: x * k, vjp=[lambda g, out, x, k: g * k], name="scaled", **DECIDED)
less = Op(
    lambda x, y, k: x - k * y, vjp=[lambda g, *_, k: g, lambda g, *_, k: -k * g], name="less", **DECIDED
)


@pytest.fixture
def appended(monkeypatch):
    """A function that returns how many calls a program has recorded without running the function."""
    counts = []

    def counted(kind, traces, depth, operands):
        counts.append(depth == 0)
        return original(kind, traces, depth, operands)

    original = program_kinds._appended
    monkeypatch.setattr(program_kinds, "_appended", counted)

    def of(f, *args):
        expected = f(*args)
        counts.clear()
        compiled = tape.compile(f)
        for _ in range(2):
            assert_close(compiled(*args), expected)
        assert len(compiled.programs) == 1
        return sum(counts)

    return of


SCALE = lambda x, k=2, *more, **options: scaled(x, k=k)  # noqa: E731
ALIKE = {
    # and how many of these calls find that there was one alike
    "the same": (lambda f, x: f(x, 2) + f(x, 2), 1),
    "of results": (lambda f, x: f(f(f(x, 2), 2), 2), 2),
    "by keyword": (lambda f, x: f(x, k=2) + f(x, k=2), 1),
    "another number": (lambda f, x: f(x, 2) + f(x, 3) + f(x, 2) + f(x, 3), 2),
    "by keyword and by position": (lambda f, x: f(x, k=2) + f(x, 2), 0),
    "another keyword": (lambda f, x: f(x, k=2, a=2) + f(x, k=2, b=2), 0),
    "another dtype": (lambda f, x: f(x, 2) + f(x.astype(np.float32), 2) + f(x.astype("f4"), 2), 1),
    "a bool for a number": (lambda f, x: f(x, 1) + f(x, True) + f(x, 1), 1),
    "tuples of numbers": (lambda f, x: f(x, 2, (1, 2)) + f(x, 2, (1, 2)), 1),
    "other tuples": (lambda f, x: f(x, 2, (1, 2)) + f(x, 2, (1, 3)) + f(x, 2, (1,)) + f(x, 2, (1, (2,))), 0),
    "lists for tuples": (lambda f, x: f(x, 2, (1, 2)) + f(x, 2, [1, 2]), 0),
    "bools for numbers in tuples": (lambda f, x: f(x, 2, (1, 1)) + f(x, 2, (1, True)) + f(x, 2, (1.0, 1)), 0),
    "sets in tuples are not known": (lambda f, x: f(x, 2, (frozenset(),)) + f(x, 2, (frozenset(),)), 0),
    "tuples and lists": (lambda f, x: f(x, 2, (1, x)) + f(x, 2, [1, x]) + f(x, 2, (1, x)), 0),
    "empty tuples and lists": (lambda f, x: f(x, 2, ()) + f(x, 2, ()) + f(x, 2, []), 1),
    "none": (lambda f, x: f(x, 2, None) + f(x, 2) + f(x, 2, None), 1),
    "slices": (lambda f, x: sum(f(x, 2, slice(*s)) for s in ((1,), (1, None), (0, 1), (1,))), 1),
    "dtypes and texts": (lambda f, x: f(x, 2, "a") + f(x, 2, np.dtype(float)) + f(x, 2, "a"), 1),
    "other texts": (lambda f, x: f(x, 2, "a") + f(x, 2, "b"), 0),
    "other steps": (lambda f, x: f(x, 2, slice(0, 4, 1)) + f(x, 2, slice(0, 4, 2)), 0),
    "sets are not known": (lambda f, x: f(x, 2, frozenset()) + f(x, 2, frozenset()), 0),
    "slices of other things": (lambda f, x: f(x, 2, slice("a")) + f(x, 2, slice("a")), 0),
}


@pytest.mark.parametrize("name", ALIKE)
def test_calls_that_are_alike_are_recorded_without_running_the_function(appended, name):
    make, expected = ALIKE[name]
    call = specialised()(SCALE)
    assert appended(lambda x: make(call, x), X) == expected


ORDERS = {
    "turned round": (lambda x, y, k: less(y, x, k=k), 3),
    "as they are": (lambda x, y, k: less(x, y, k=k), 3),
    "one twice": (lambda x, y, k: less(x, x, k=k), 0),  # the other one is not an operand
    "two operations": (lambda x, y, k: less(less(x, y, k=k), y, k=k), 0),
    "none": (lambda x, y, k: x, 0),
    "an operand of its own": (lambda x, y, k: less(x, 2.0, k=k), 0),
}


@pytest.mark.parametrize("name", ORDERS)
def test_operands_have_the_places_that_the_function_gives_them(appended, name):
    """What records anything but one operation on all operands runs each time."""
    f, expected = ORDERS[name]
    call = specialised()(f)

    def four(x, y):
        return call(x, y, 2) + call(3 * y, x, 2) + call(y, 5.0 * x, 2) + call(x * y, x, 2)

    assert appended(four, X, X[::-1].copy()) == expected


def test_numbers_of_python_are_operands(appended):
    call = specialised()(lambda x, y, k: less(x, y, k=k))
    assert appended(lambda x: call(x, 0.5, 2) + call(x, 1.5, 2) + call(0.5, x, 2) + call(2.5, x, 2), X) == 2


def test_kinds_are_forgotten_where_there_are_very_many(appended, monkeypatch):
    """The third kind drops two, so that the first one is learned again."""
    monkeypatch.setattr(program_kinds, "_MOST", 2)
    call = specialised()(SCALE)
    assert appended(lambda x: sum(call(x, k) for k in (1, 2, 1, 2, 3, 1, 3, 2)), X) == 3


def test_what_depends_on_data_runs_each_time(appended):
    asks = Op(lambda x, k: x * k, name="asks", data_dependent=lambda x, k: k > 2)
    call = specialised()(lambda x, k: asks(x, k=k))
    assert appended(lambda x: call(x, 2) + call(x, 2) + call(x, 3) + call(x, 3), X) == 1
    always = specialised()(lambda x, k: Op(lambda x, k: x * k, name="always")(x, k=k))
    assert appended(lambda x: always(x, 2) + always(x, 2), X) == 0


@pytest.mark.parametrize("order", [1, 2])
def test_calls_in_gradients_of_programs(appended, order):
    """On each of the traces one operation is appended."""
    call = specialised()(SCALE)

    def total(x):
        return np.sum(call(call(x * x * x, 2), 2))

    f = tape.grad(total) if order == 1 else tape.grad(lambda x: np.sum(tape.grad(total)(x)))
    assert appended(f, X) >= 1


@pytest.mark.parametrize("layout", [False, True])
def test_strides_tell_calls_apart_where_the_layout_counts(appended, layout):
    call = specialised(layout=layout)(SCALE)
    f = lambda x, y: call(x, 2) + call(y, 2)  # noqa: E731
    assert appended(f, np.ones((3, 3)), np.asfortranarray(np.ones((3, 3)))) == (not layout)
    assert appended(f, np.ones((3, 3)), np.ones((3, 3))) == 2


def test_an_error_is_that_of_the_function(appended):
    """Shapes are part of what is alike, numbers are not."""

    def picky(x, k):
        if x[0] > 2:
            raise ValueError("too large")
        return x * k

    op = Op(picky, name="picky", data_dependent=False)
    call = specialised()(lambda x, k: op(x, k=k))
    with pytest.raises(ValueError, match="too large"):
        tape.compile(lambda x: call(x, 2) + call(3 * x, 2))(X)


# ---- piece by piece -------------------------------------------------------------------------------------


A, B = np.ones(2), np.ones(2)


@pytest.mark.parametrize(
    ("inputs", "given", "expected"),
    [
        ([0, A], [0, A], [0]),
        ([0, A, 1, B], [0, A, 1, B], [0, 1]),
        ([1, B, 0, A], [0, A, 1, B], [1, 0]),
        ([0, A, 0, A], [0, A, 0, A], [0, 1]),
        ([0, A, 0, A], [0, A], [0, 0]),
        ([0, A], [0, A, 0, A], None),
        ([0, A], [0, A, 1, B], None),
        ([0, A, 2, B], [0, A, 1, B], None),
        ([0, B], [0, A], None),
        ([None, A], [0, A], None),
        ([None, A, None, B], [None, B, None, A], [1, 0]),
        ([], [], []),
        ([], [0, A], None),
    ],
)
def test_places_of_operands(inputs, given, expected):
    assert places_of(inputs, given) == expected


@pytest.mark.parametrize(
    ("part", "is_known"),
    [
        (3, True),
        (None, True),
        (slice(1, None, 2), True),
        (slice(1.0), False),
        (slice(None, "a"), False),
        (slice(None, None, True), False),
        ("text", True),
        (True, False),
        (b"", False),
        (np.float64(1), False),
        (np.ones(1), False),
        ((1, (2, [None])), True),
        ((1, "text"), True),
        ((1, (2, [b""])), False),
        ((), True),
    ],
)
def test_what_calls_depend_on(part, is_known):
    trace = tape.Trace()
    var = trace.param(np.ones((2, 3)))
    key, operands, refs = [], [], []
    depth = _note((var, part), key, operands, refs, frozenset([str]), False)
    assert depth == (1 if is_known else -1)
    if is_known:
        assert operands == [var]
        assert refs == [var.trace_ref]
        assert key[:4] == [0, True, (2, 3), np.dtype(float)]


def test_floats_are_operands_and_nested_vars_are_deeper():
    outer = tape.Trace()
    x = outer.param(np.ones(2))
    inner = tape.Trace()
    y = inner.param(x)
    key, operands, refs = [], [], []
    assert _note((0.5, x, (y, 2.5)), key, operands, refs, frozenset(), False) == 2
    assert [type(one) for one in operands] == [float, tape.Var, tape.Var, float]
    assert refs == [x.trace_ref, y.trace_ref]
    assert key[0] is float
    assert key[-1] is float
    assert _note((0.5, 2), [], [], [], frozenset(), False) == 0
