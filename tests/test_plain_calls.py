"""Calls of compiled functions that run as plain Python: they mean what calls of programs mean."""

import itertools
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tape
from tape import errors, tree
from tape.program import compiled as module
from tape.program.python import Plain

pytestmark = [
    pytest.mark.filterwarnings("ignore::tape.errors.NotCompiledWarning"),
    pytest.mark.filterwarnings("ignore::tape.errors.PathLimitWarning"),
]

HELD, NUMBER = np.arange(3.0), np.array(1.5)


def writes(x, y):
    x[0] += 1
    y *= 2
    return x, y


def returns_views(x, y):
    return {"x": x, "even": x[::2], "again": x, "y": [y, y[::-1]]}


def returns_what_it_holds(x, y):
    return HELD, HELD[1:], x + y


def returns_numbers(x, y):
    return x[0], np.squeeze(x[:1]), np.sum(y), {"n": x[1:2].reshape(()), "m": NUMBER + 1}


def writes_to_what_it_returns(x, y):
    part = x[1:]
    part[...] = y[0]
    return x, part, y


# ---- reasons to run as plain Python --------------------------------------------------------------------


def no_machine_code(f, monkeypatch):
    monkeypatch.setattr(module, "is_ready", lambda *_: False)
    return tape.compile(f)


def many_kinds(f, monkeypatch):
    compiled = tape.compile(f)
    for dtype in ("f4", "c16", "c8", "f2"):
        compiled(np.ones(3, dtype), np.ones(3, dtype))
    return compiled


def many_paths(f, monkeypatch):
    limits = itertools.count()

    def branches(x, y, number):
        for limit in range(10):
            if number == limit:
                break
        return f(x, y)

    compiled = tape.compile(branches, max_paths=1)
    compiled(np.ones(3), np.ones(3), float(next(limits)))
    return lambda x, y: compiled(x, y, float(next(limits)))


def observes_errors(f, monkeypatch):
    def watchful(x, y):
        with np.errstate(over="raise"):
            return f(x, y)

    return tape.compile(watchful)


def catches_errors(f, monkeypatch):
    def careful(x, y):
        with suppress(errors.ConversionError):
            float(x[0])
        return f(x, y)

    return tape.compile(careful)


def changes_a_list(f, monkeypatch):
    log = []

    def logs(log, x, y):
        log.append(1)
        return f(x, y)

    compiled = tape.compile(logs)
    return lambda x, y: compiled(log, x, y)


def changes_a_name(f, monkeypatch):
    count = 0

    def counts(x, y):
        nonlocal count
        count += 1
        return f(x, y)

    compiled = tape.compile(counts)
    for _ in range(8):
        compiled(np.ones(3), np.ones(3))
    return compiled


FUNCTIONS = [writes, returns_views, returns_what_it_holds, returns_numbers, writes_to_what_it_returns]
REASONS = [
    no_machine_code, many_kinds, many_paths, observes_errors, catches_errors, changes_a_list, changes_a_name,
]  # fmt: skip


def arguments():
    x = np.array([1.0, -2.0, 4.0])
    yield x, np.array([3.0, 5.0, -1.0])
    yield x, x
    yield x, x[::-1]
    yield x[::-1], np.broadcast_to(2.0, 3).copy()
    wide = np.arange(6.0)
    yield wide[::2], wide[1::2]
    fixed = np.ones(3)
    fixed.flags.writeable = False
    yield fixed, x


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("reason", REASONS)
def test_arguments_and_results_are_values(reason, f, monkeypatch):
    """Callers found their arrays changed, or changed others through results, from the fourth kind on, say."""
    program = tape.compile(f)
    expected = [[program(*args) for _ in range(2)][1] for args in arguments()]
    assert program.programs
    compiled = reason(f, monkeypatch)
    for (x, y), wanted in zip(arguments(), expected, strict=True):
        before = x.copy(), y.copy()
        found = compiled(x, y)
        leaves = tree.leaves(found)
        tree.map(np.testing.assert_array_equal, found, wanted)
        np.testing.assert_array_equal([x, y], before)
        for one, other in itertools.combinations([*leaves, HELD, x], 2):
            assert not np.shares_memory(one, other)
        assert list(map(type, leaves)) == list(map(type, tree.leaves(wanted)))
        assert not any(np.shares_memory(leaf, y) for leaf in leaves)
        assert all(leaf.flags.writeable for leaf in leaves if isinstance(leaf, np.ndarray))
    np.testing.assert_array_equal(HELD, np.arange(3.0))


def test_vars_of_another_trace_are_values():
    f = tape.compile(lambda x: (x.__setitem__(0, 5.0), np.sum(x * x))[1])
    x = np.array([1.0, 2.0])
    assert tape.value_and_grad(lambda x: f(x) + 3 * np.sum(x))(x)[0] == 38.0
    np.testing.assert_array_equal(tape.grad(lambda x: f(x) + 3 * np.sum(x))(x), [3.0, 7.0])


def test_what_is_put_into_collections_is_there_for_the_caller(monkeypatch):
    """Of the first call on, while nobody has recorded what the function changes."""
    monkeypatch.setattr(module, "is_ready", lambda *_: False)

    @tape.compile
    def step(state, log, x):
        state["w"] = state["w"] - x
        state["inner"][0], state["inner"][1] = state["inner"][1], state["inner"][0]
        log.append(x)
        log.append(state["inner"])
        return x

    one, other, log = np.zeros(2), np.ones(2), []
    inner = [one, other]
    state = {"w": one, "inner": inner}
    step(state, log, np.full(2, 3.0))
    np.testing.assert_array_equal(state["w"], [-3.0, -3.0])
    assert state["inner"] is inner
    assert inner[0] is other
    assert inner[1] is one
    np.testing.assert_array_equal(one, [0.0, 0.0])
    np.testing.assert_array_equal(log[0], [3.0, 3.0])
    assert log[1] is inner


def test_collections_that_are_returned_are_new(monkeypatch):
    monkeypatch.setattr(module, "is_ready", lambda *_: False)
    compiled = tape.compile(lambda state, x: (state.update(w=x), state)[1])
    given = {"w": 1.0, "v": 2.0}
    assert compiled(given, 3.0) == {"w": 3.0, "v": 2.0}
    assert given == {"w": 1.0, "v": 2.0}


@given(st.data())
def test_copies_lie_in_memory_as_the_arrays_do(data):
    """The same views, and the same order of elements in memory."""
    shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    steps = [data.draw(st.sampled_from([1, 1, 2, -1, -2])) for _ in shape]
    whole = np.arange(float(np.prod([2 * n for n in shape]))).reshape([2 * n for n in shape])
    x = np.ascontiguousarray(whole.transpose(data.draw(st.permutations(range(whole.ndim)))))
    x = x.transpose(data.draw(st.permutations(range(x.ndim))))[tuple(slice(None, None, k) for k in steps)]

    def read(x):
        views = [x.reshape(-1), x.ravel("K"), x.ravel("F"), x.T.reshape(-1), x.reshape(x.shape[0], -1)]
        return [(view, np.shares_memory(view, x)) for view in views] + [((x * 1.0).strides, x.shape)]

    copied = []
    Plain(copied.append)((x,), {})
    (copied,) = copied
    assert not np.shares_memory(copied, x)
    for (found, is_view), (expected, was_view) in zip(read(copied), read(x), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert is_view == was_view


def test_copies_of_windows_are_windows():
    numbers = np.arange(8.0)
    windows = np.lib.stride_tricks.as_strided(numbers, (4, 3), (8, 8))
    found = Plain(lambda x: (x.__setitem__((1, 0), 9.0), x)[1])((windows,), {})
    assert found[0, 1] == 9.0
    np.testing.assert_array_equal(numbers, np.arange(8.0))


def test_arrays_within_another_recording_are_not_written_to():
    held = np.ones(3)

    @tape.compile
    def doubled(k):
        with np.errstate(divide="raise"):
            k *= 2
        return k

    assert np.sum(doubled(held)) == 6.0
    outer = tape.compile(lambda x: x * np.sum(doubled(held)))
    with pytest.raises(errors.InPlaceError, match=r"doubled runs as plain Python while .* is recorded"):
        outer(1.0)
    passing = tape.compile(lambda x: x * np.sum(doubled(held + 0 * x)))
    assert [passing(1.0) for _ in range(3)] == [6.0] * 3
    np.testing.assert_array_equal(held, 1.0)


@pytest.mark.parametrize(
    "make", [lambda: iter([1.0, 2.0]), lambda: (k for k in (1.0, 2.0)), lambda: map(abs, [1, 2])]
)
def test_iterators_are_used_once(make):
    """A call that is recorded in vain runs again."""

    @tape.compile
    def total(x, numbers):
        numbers = sum(numbers)
        with np.errstate(divide="raise"):
            return x * numbers

    assert [total(1.0, make()) for _ in range(3)] == [3.0] * 3
    held = make()
    compiled = tape.compile(lambda x: total.__wrapped__(x, held))
    assert compiled(1.0) == 3.0


@pytest.mark.parametrize("kind", ["f8", ">f8", ">i4", "memmap"])
def test_kinds_of_arrays(kind, tmp_path, monkeypatch):
    """Results of plain Python are of the types that programs return."""
    x = np.arange(3.0).astype(kind if kind != "memmap" else "f8")
    if kind == "memmap":
        x = np.memmap(tmp_path / "x", float, "w+", shape=3)
    program = tape.compile(lambda x: (x, x, x + x))
    expected = [program(x) for _ in range(2)][1]
    monkeypatch.setattr(module, "is_ready", lambda *_: False)
    found = tape.compile(lambda x: (x, x, x + x))(x)
    for one, other in zip(found, expected, strict=True):
        assert (type(one), one.dtype, one.dtype.isnative) == (type(other), other.dtype, True)
        np.testing.assert_array_equal(one, other)
    assert not np.shares_memory(found[0], found[1])


def test_arrays_with_another_arithmetic_are_refused(monkeypatch):
    monkeypatch.setattr(module, "is_ready", lambda *_: False)
    for other in (np.ma.array([1.0, 2.0, 3.0])[::2], np.eye(2).view(np.matrix).T):
        with pytest.raises(errors.DTypeError):
            tape.compile(lambda x: x.sum())(other)
