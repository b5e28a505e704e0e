"""Runs of a sequence that repeats itself, against what was repeated."""

from itertools import pairwise

import numpy as np
import pytest

from tape.transforms.loops.periods import Run, runs


def test_runs_are_found_whatever_is_around():
    codes = np.array([7, 8, *[1, 2, 2, 3] * 9, 9, 9, 1, *[4, 5] * 20, 6])
    found = runs(codes, 4, 16)
    assert Run(2, 4, 9) in found
    assert any(run.period == 2 and run.steps == 20 for run in found)


@pytest.mark.parametrize("seed", range(20))
def test_runs_repeat_and_do_not_overlap(seed):
    rng = np.random.default_rng(seed)
    parts = [np.tile(rng.integers(0, 4, size=rng.integers(1, 12)), rng.integers(1, 15)) for _ in range(8)]
    codes = np.concatenate(parts)
    found = runs(codes, 3, 9)
    assert found == sorted(found)
    for before, after in pairwise([Run(0, 0, 0), *found]):
        assert before.stop <= after.start
    for run in found:
        assert run.stop <= len(codes)
        rows = codes[run.start : run.stop].reshape(run.steps, run.period)
        assert (rows == rows[0]).all()
        assert run.steps >= 3
        assert run.steps * run.period >= 9
        following = codes[run.stop : run.stop + run.period]
        is_taken = any(other.start < run.stop + run.period and other.start >= run.stop for other in found)
        assert is_taken or not np.array_equal(following, rows[0])  # it is as long as it can be


def test_run_ends_after_its_last_number():
    assert Run(3, 4, 5).stop == 23


@pytest.mark.parametrize("period", [1, 2, 3, 5, 17, 70, 300])
@pytest.mark.parametrize("steps", [4, 5, 9])
@pytest.mark.parametrize(("before", "after"), [(0, 0), (1, 0), (0, 1), (5, 7)])
def test_one_word_that_is_repeated_is_one_run(period, steps, before, after):
    """All its numbers differ, and so do those around."""
    word = np.arange(period)
    codes = np.concatenate([1000 + np.arange(before), *[word] * steps, 2000 + np.arange(after)])
    assert runs(codes, 4, 4) == [Run(before, period, steps)]
    assert runs(codes, steps, period * steps) == [Run(before, period, steps)]
    assert runs(codes, steps + 1, 1) == []
    assert runs(codes, 2, period * steps + 1) == []


@pytest.mark.parametrize("least", [2, 3, 4, 8])
def test_part_of_another_step_does_not_count(least):
    word = np.arange(5)
    codes = np.concatenate([*[word] * least, word[:4]])
    assert runs(codes, least, 1) == [Run(0, 5, least)]
    assert runs(codes[1:], least, 1) == [Run(0, 5, least)]
    assert runs(codes[5:], least, 1) == []


@pytest.mark.parametrize("width", [3, 10, 40, 100])
def test_words_of_few_different_numbers_are_told_apart(width):
    """Of ones, but for a two: most numbers come again at once, but the word does only as a whole."""
    word = [*[1] * width, 2]
    codes = np.array([3, *word * 12, 4])
    (run, *rest) = [run for run in runs(codes, 4, 4 * len(word)) if run.period == len(word)]
    assert not rest
    assert (run.steps, run.start) == (12, 1)


def test_shortest_periods_are_chosen_first():
    codes = np.array([1, 2] * 12)
    assert runs(codes, 4, 8) == [Run(0, 2, 12)]
    assert runs(np.array([1] * 12), 4, 8) == [Run(0, 1, 12)]


@pytest.mark.parametrize("codes", [[], [1], [1, 2, 3], [1, 1]])
def test_nothing_repeats_itself_in_short_sequences(codes):
    assert runs(np.array(codes, np.int64), 3, 3) == []


def test_negative_codes_are_like_others():
    """Those of nodes that are like no other."""
    codes = np.array([-7, *[-1, 5] * 6, -20])
    assert runs(codes, 3, 6) == [Run(1, 2, 6)]
