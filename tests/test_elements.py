"""Elements of an array, in order, against slices and stacks of NumPy."""

import numpy as np
import pytest

import tape
from tape.core.node import plain
from tape.ops.structure.joining import stack_op
from tape.transforms.loops.elements import (
    MOST_BYTES,
    MOST_STACKED,
    Misfit,
    count_of_elements,
    elements_of,
    is_like,
    joined,
    slice_of,
)

LENGTH = 7


def progressions(least):
    """Every start, distance and count of indices in range."""
    for first in range(LENGTH):
        for step in range(-LENGTH, LENGTH + 1):
            for count in range(least, LENGTH + 1):
                numbers = [first + step * k for k in range(count)]
                if step and all(0 <= number < LENGTH for number in numbers):
                    yield first, step, count, numbers


TRACE, OTHER = tape.Trace(), tape.Trace()


def recorded(*shape, on=TRACE):
    return on.param(np.arange(float(np.prod([LENGTH, *shape]))).reshape(LENGTH, *shape))


def nodes(*values):
    return [value.node for value in values]


def test_a_slice_takes_the_elements_of_a_progression():
    x = np.arange(LENGTH)
    for first, step, count, numbers in progressions(1):
        assert x[slice_of(first, step, count)].tolist() == numbers


@pytest.mark.parametrize("is_from_the_end", [False, True])
def test_elements_at_regular_distances_are_found(is_from_the_end):
    x = recorded()
    for first, step, count, numbers in progressions(2):
        some = nodes(*[x[k - LENGTH * is_from_the_end] for k in numbers])
        assert elements_of(some) == (x.id, first, step)
        assert count_of_elements(some) == count


def test_the_first_elements_count_up_to_one_that_is_none():
    x, y = recorded(3), recorded(3)
    for k in range(2, 5):
        regular = [x[number] for number in range(k)]
        for other in (x[k - 1], x[k + 1], x[k, 1], x[k : k + 1], x[k] * 1.0, y[k], x[[k]], x[None, k], x):
            assert count_of_elements(nodes(*regular)) == k
            assert count_of_elements(nodes(*regular, other, *regular)) == k
            assert elements_of(nodes(*regular, other)) is None


@pytest.mark.parametrize(
    "chosen",
    [
        lambda x: [],
        lambda x: [x[1]],
        lambda x: [x[1], x[1]],
        lambda x: [x[1], x[1], x[1]],
        lambda x: [x, x],
        lambda x: [x, x[1]],
        lambda x: [x[1], x],
        lambda x: [2.0 * x, x[1]],
        lambda x: [x[0] * 1.0, x[1]],
        lambda x: [x[0], x[1] * 1.0],
        lambda x: [x[0], x[1, 0]],
        lambda x: [x[0, 0], x[1]],
        lambda x: [x[0:1], x[1:2]],
    ],
)
def test_what_is_no_progression_of_elements_is_none(chosen):
    some = nodes(*chosen(recorded(3)))
    assert elements_of(some) is None
    assert count_of_elements(some) == 0


def test_elements_of_two_arrays_are_none():
    x = recorded()
    y = x * 2.0
    assert elements_of(nodes(x[0], y[1])) is None
    assert elements_of(nodes(y[0], y[1])) == (y.id, 0, 1)


# ---- joining them --------------------------------------------------------------------------------------


def test_elements_join_to_a_slice_of_their_array():
    x = recorded(2)
    for _, _, _, numbers in progressions(2):
        some = [x[k] for k in numbers]
        whole = joined(some)
        np.testing.assert_array_equal(whole.value, x.value[numbers])
        assert whole.node.parents == (x.id,)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_others_join_to_a_stack(count):
    x = recorded(2)
    for values in ([x[k] * 2.0 for k in range(count)], [np.arange(3.0) + k for k in range(count)]):
        whole = joined(values)
        np.testing.assert_array_equal(plain(whole), np.stack([plain(value) for value in values]))
    assert joined([x[k] * 2.0 for k in range(count)]).node.op is stack_op


def test_too_many_separate_values_are_no_array():
    row = np.zeros(1)
    assert joined([row] * MOST_STACKED).shape == (MOST_STACKED, 1)
    with pytest.raises(Misfit):
        joined([row] * (MOST_STACKED + 1))


def test_values_are_like_each_other_in_kind_shape_dtype_and_trace():
    x, y = recorded(2), recorded(2, on=OTHER)
    a = np.zeros(2)
    assert is_like(a, a + 1)
    assert is_like(x[0], x[1])
    assert is_like(x[0, 0], x[1, 1])
    for other in (x[0], np.zeros(3), np.zeros((1, 2)), np.zeros(2, np.float32), 0.0):
        assert not is_like(a, other)
    for other in (y[0], a, x[0, 0], x[0].astype(np.float32)):
        assert not is_like(x[0], other)


def test_large_values_are_not_worth_joining():
    size = MOST_BYTES // 8
    assert is_like(np.zeros(size), np.zeros(size))
    assert not is_like(np.zeros(size + 1), np.zeros(size + 1))


def test_floats_of_python_are_not_joined():
    """They do not widen others, as the elements of an array do."""

    def f(a, b, x):
        assert not isinstance(plain(a), np.generic)
        assert is_like(x[0], x[1])
        assert not is_like(a, b)
        return a * b

    assert tape.compile(f)(2.0, 3.0, np.ones(2)) == 6.0
