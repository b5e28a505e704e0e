"""How many programs a compiled function makes, and when: `tape.program.growth`."""

import time
import warnings
from unittest.mock import Mock

import numpy as np
import pytest

import tape
from tape import errors
from tape.program import growth

FEW, MANY, CALLS = 3, 16, 16


@pytest.fixture(autouse=True)
def as_users_have_it(monkeypatch):
    monkeypatch.setattr(growth, "AT_ONCE", FEW)
    monkeypatch.setattr(growth, "MANY", MANY)


def test_first_kinds_are_recorded_at_once_and_others_when_they_have_been_called_often():
    compiled = tape.compile(lambda x: 2 * x)
    for n in range(1, FEW + 4):
        assert (compiled(np.ones(n)) == 2).all()
    assert len(compiled.programs) == FEW
    for _ in range(CALLS - 1):
        compiled(np.ones(FEW + 1))
    assert len(compiled.programs) == FEW
    for _ in range(3):
        compiled(np.ones(FEW + 1))
    assert len(compiled.programs) == FEW + 1


def test_other_paths_of_a_kind_are_recorded_at_once():
    def halvings(x):
        count = 0
        while x > 1:
            x, count = x / 2, count + 1
        return count

    compiled = tape.compile(halvings)
    assert [compiled(2.0**k) for k in range(FEW + 5)] == list(range(FEW + 5))
    assert len(compiled.programs) == FEW + 5


def test_what_is_a_program_and_what_is_not_depends_on_no_clock():
    """Two runs alike have the same results, to the last digit, however long their calls take."""

    def run(pause):
        def f(x):
            sleep()
            return np.sum(np.sin(x) * x / 3.0)

        sleep = Mock(side_effect=lambda: time.sleep(pause * (time.perf_counter_ns() % 1000) / 1000))
        compiled = tape.compile(f)
        lengths = np.random.default_rng(1).integers(1, 12, 200)
        return [compiled(np.linspace(0, 1, n)) for n in lengths], len(compiled.programs)

    assert run(0.0) == run(1e-4)


def test_what_cannot_be_recorded_goes_on_as_plain_python_if_it_has_run_so():
    compiled = tape.compile(lambda x: x * float(x[0]) if len(x) > 5 else x)
    for n in range(1, FEW + 1):
        compiled(np.ones(n))
    with pytest.warns(errors.NotCompiledWarning, match="cannot be recorded.*float") as caught:
        results = [compiled(np.full(6, 2.0)) for _ in range(3 * CALLS)]
    assert (np.array(results) == 4.0).all()
    assert len(caught) == 1
    fresh = tape.compile(lambda x: x * float(x[0]))
    with pytest.raises(errors.ConversionError):
        fresh(np.ones(6))


def test_profile_records_at_once():
    compiled = tape.compile(lambda x: np.sin(x) * 2)
    for n in range(1, FEW + 2):
        compiled(np.ones(n))
    assert len(compiled.profile(np.ones(FEW + 1), repeats=1).timings) > 0


def test_what_runs_as_plain_python_has_no_profile():
    kept = []

    def f(x):
        kept.append(len(kept))
        return x * len(kept)

    compiled = tape.compile(f)
    with pytest.warns(errors.NotCompiledWarning, match="changes it in each call"):
        assert [compiled(2.0) for _ in range(12)] == [2.0 * k for k in range(1, 13)]
    with pytest.raises(errors.UnsupportedError, match="f has no program for these arguments"):
        compiled.profile(2.0)


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


def test_names_that_are_bound_to_many_numbers_warn(monkeypatch):
    monkeypatch.setattr(growth, "MANY", 2)
    scales = [0.0]
    compiled = tape.compile(lambda x: x * scales[0])

    def calls():
        for k in range(8):
            scales[0] = float(k)
            assert compiled(2.0) == 2.0 * k

    with pytest.warns(errors.PathLimitWarning, match="names that it reads are bound to other objects. Pass"):
        calls()


def test_many_paths_warn_with_the_line(monkeypatch):
    monkeypatch.setattr(growth, "AT_ONCE", 10**6)

    def count(x):
        if x < 0:  # which all numbers are alike in
            return 0
        n = 0
        while x > n:
            n += 1
        return n

    compiled = tape.compile(count)
    told = warned(compiled, [(float(k),) for k in range(30)])
    line = count.__code__.co_firstlineno + 4
    assert f"reads numbers at {__file__}:{line}, in 16 ways" in told


def test_of_several_lines_that_is_named_by_which_most_paths_part_first(monkeypatch):
    """Another line parts few of them, and a third one paths that have parted before."""
    monkeypatch.setattr(growth, "AT_ONCE", 10**6)

    def f(i):
        if i[0] > 0:
            i = i + 1
        n = int(i[1])
        return i * n * int(i[2])

    compiled = tape.compile(f)
    told = warned(compiled, [(np.array([k == 3, k, 2 * k]),) for k in range(30)])
    line = f.__code__.co_firstlineno + 3
    assert f"reads numbers at {__file__}:{line}, in 16 ways" in told


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        (
            [np.ones(2, kind) for kind in "fdefd"],
            r"args\[0\] has 3 types \(float32, float64, float16, \.\.\.\). Convert",
        ),
        ([2.0, np.ones(()), np.float32(2), 3j], r"args\[0\] has 3 types \(float, .*\). Convert"),
        (
            [[1.0] * n for n in (1, 2, 3)],
            r"the tree of arguments has 3 structures \(of 1 leaves, of 2 leaves, of 3 leaves, .*\). Pass",
        ),
        ([np.ones((1, n)) for n in (1, 2, 3)], r"args\[0\] has 3 shapes \(\[1, 1\], \[1, 2\], \[1, 3\], "),
    ],
)
def test_types_and_structures_that_differ_are_named(monkeypatch, calls, words):
    monkeypatch.setattr(growth, "MANY", 2)
    compiled = tape.compile(lambda x: x * 2)
    with pytest.warns(errors.PathLimitWarning, match=words):
        [compiled(x) for x in calls]


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
