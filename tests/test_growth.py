"""How many programs a compiled function makes, and when: `tape.program.growth`."""

import time
import warnings

import numpy as np
import pytest

import tape
from tape import errors
from tape.program import growth

FEW, MANY, MOST_CALLS = 2, 16, 16


@pytest.fixture(autouse=True)
def as_users_have_it(monkeypatch):
    monkeypatch.setattr(growth, "AT_ONCE", FEW)
    monkeypatch.setattr(growth, "MANY", MANY)


@pytest.fixture
def slow_to_record(monkeypatch):
    """As if plain calls took no time: only their number counts."""
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    original = growth.Growth.add
    monkeypatch.setattr(growth.Growth, "add", lambda self, seconds: original(self, 1.0))


def test_first_kinds_are_recorded_at_once_and_others_when_they_have_been_called_often(slow_to_record):
    compiled = tape.compile(lambda x: 2 * x)
    for n in range(1, FEW + 4):
        assert (compiled(np.ones(n)) == 2).all()
    assert len(compiled.programs) == FEW
    for _ in range(MOST_CALLS - 1):
        compiled(np.ones(FEW + 1))
    assert len(compiled.programs) == FEW
    for _ in range(3):
        compiled(np.ones(FEW + 1))
    assert len(compiled.programs) == FEW + 1


def test_a_kind_is_recorded_when_its_calls_have_taken_as_long_as_recording(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def f(x):
        now[0] += 1.0 if type(x) is np.ndarray else 3.0  # that recording takes three times as long
        return 2 * x

    compiled = tape.compile(f)
    for n in range(1, FEW + 1):
        compiled(np.ones(n))
    counts = []
    for _ in range(5):
        compiled(np.ones(9))
        counts.append(len(compiled.programs) - FEW)
    assert counts == [0, 0, 0, 1, 1]


def test_paths_wait_like_kinds_of_arguments(slow_to_record):
    def halvings(x):
        count = 0
        while x > 1:
            x, count = x / 2, count + 1
        return count

    compiled = tape.compile(halvings)
    for _ in range(2):
        assert [compiled(2.0**k) for k in range(8)] == list(range(8))
    assert len(compiled.programs) == FEW
    for _ in range(MOST_CALLS):
        compiled(2.0**5)
    assert len(compiled.programs) == FEW + 1


def test_what_cannot_be_recorded_goes_on_as_plain_python_if_it_has_run_so(slow_to_record):
    compiled = tape.compile(lambda x: x * float(x[0]) if len(x) > 5 else x)
    for n in range(1, FEW + 1):
        compiled(np.ones(n))
    with pytest.warns(errors.NotCompiledWarning, match="cannot be recorded.*float") as caught:
        results = [compiled(np.full(6, 2.0)) for _ in range(3 * MOST_CALLS)]
    assert (np.array(results) == 4.0).all()
    assert len(caught) == 1
    fresh = tape.compile(lambda x: x * float(x[0]))
    with pytest.raises(errors.ConversionError):
        fresh(np.ones(6))


def test_profile_records_at_once(slow_to_record):
    compiled = tape.compile(lambda x: np.sin(x) * 2)
    for n in range(1, FEW + 2):
        compiled(np.ones(n))
    assert len(compiled.profile(np.ones(FEW + 1), repeats=1).timings) > 0


def warned(compiled, calls):
    """The text of the one warning, which tells of more programs than there should be."""
    with pytest.warns(errors.PathLimitWarning, match="more than 16 programs") as caught:
        [compiled(*args) for args in calls]
    assert len(caught) == 1
    assert caught[0].filename == __file__
    return str(caught[0].message)


def test_many_shapes_warn_once_with_the_argument():
    compiled = tape.compile(lambda p, x: p["a"] * np.sum(x))
    told = warned(compiled, [({"a": 1.0}, np.ones(n)) for n in range(60)])
    assert "args[1] has 17 shapes ([0], [1], [2], ...). Pad" in told


def test_many_values_warn_with_the_argument():
    compiled = tape.compile(lambda x, mode, n: x * len(range(n)))
    told = warned(compiled, [(2.0, "fast", n) for n in range(40)])
    assert "args[2] has 17 values (0, 1, 2, ...). Python reads it" in told


def test_many_keyword_values_warn_with_their_name():
    compiled = tape.compile(lambda x, mode: x)
    with pytest.warns(errors.PathLimitWarning, match=r"kwargs\['mode'\] has 17 values \('a', 'aa', 'aaa'"):
        [compiled(2.0, mode="a" * n) for n in range(1, 30)]


def test_many_paths_warn_with_the_line(monkeypatch):
    monkeypatch.setattr(growth, "AT_ONCE", 10**6)

    def count(x):
        n = 0
        while x > n:
            n += 1
        return n

    compiled = tape.compile(count)
    told = warned(compiled, [(float(k),) for k in range(30)])
    line = count.__code__.co_firstlineno + 2
    assert f"reads numbers at {__file__}:{line}, in 16 ways" in told


def test_as_many_programs_as_are_allowed_do_not_warn():
    compiled = tape.compile(lambda x: 2 * x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(MANY):
            for _ in range(3):
                compiled(np.ones(n))


def test_calls_that_raise_are_no_programs():
    def f(x, n):
        if n > 3:
            raise ValueError(n)
        return x * n

    compiled = tape.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(1, 60):
            try:
                compiled(2.0, n)
            except ValueError as error:
                assert error.args == (n,)  # noqa: PT017
    assert len(compiled.programs) == 1


def test_sixty_lengths_take_at_most_twice_as_long_as_plain_python():
    """Of a training loop whose episodes all have another length."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(4, 4)) / 4

    def step(w, xs):
        def loss(w):
            state, total = np.zeros(4), 0.0
            for x in xs:
                state = np.tanh(state @ w + x)
                total = total + np.sum(state**2)
            return total

        return w - 0.01 * tape.grad(loss)(w)

    def timed(f, xs):
        start = time.perf_counter()
        found = f(weights, xs)
        return time.perf_counter() - start, found

    episodes = [rng.normal(size=(n, 4)) for n in range(20, 80)] * 2
    compiled = tape.compile(step)
    step(weights, episodes[0]), tape.compile(step)(weights, episodes[0])  # loads the machine
    with pytest.warns(errors.PathLimitWarning, match=r"args\[1\] has 17 shapes"):
        calls = [(timed(step, xs), timed(compiled, xs)) for xs in episodes]
    for (_, wanted), (_, found) in calls:
        np.testing.assert_allclose(found, wanted, rtol=1e-9)
    assert sum(seconds for _, (seconds, _) in calls) < 2 * sum(seconds for (seconds, _), _ in calls)
