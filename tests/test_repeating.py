"""Repeating: equal to NumPy for all counts, sums in reverse, and what does not fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tape
from tape import errors, ops
from tests.oracles import assert_same, record, vjp
from tests.tiers import rounds

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
quick = settings(max_examples=rounds(60))


def check(f, shape, dtype=np.float64):
    """A function that only repeats: NumPy's on plain arrays and Vars, and the sum of what came of each."""
    x = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    expected = np.asarray(f(x))
    assert_same(record(f, [x])[2].value, expected)
    seed = np.random.default_rng(0).normal(size=expected.shape).astype(dtype)
    gradient = np.zeros(x.size)
    np.add.at(gradient, expected.astype(int), seed)
    found = vjp(f, [x], seed)[0]
    assert found.dtype == dtype
    np.testing.assert_allclose(found, gradient.reshape(shape), atol=1e-14 if dtype == np.float64 else 1e-5)


@quick
@given(SHAPES, st.integers(0, 3), st.data(), st.sampled_from([np.float64, np.float32]))
def test_repeat_by_any_counts(shape, count, data, dtype):
    check(lambda x: np.repeat(x, count), shape, dtype)
    each = data.draw(st.lists(st.integers(0, 3), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    if each:
        check(lambda x: np.repeat(x, each), shape, dtype)
    if shape:
        axis = data.draw(st.integers(-len(shape), len(shape) - 1))
        check(lambda x: np.repeat(x, count, axis), shape, dtype)
        each = data.draw(st.lists(st.integers(0, 3), min_size=shape[axis], max_size=shape[axis]))
        if each:
            check(lambda x: np.repeat(x, np.array(each), axis=axis), shape, dtype)


@quick
@given(SHAPES, st.lists(st.integers(0, 3), max_size=4))
def test_tile_by_any_counts(shape, counts):
    check(lambda x: np.tile(x, counts), shape)


@quick
@given(hnp.array_shapes(min_dims=0, max_dims=3, max_side=3), SHAPES)
def test_resize_to_any_shape(shape, target):
    check(lambda x: np.resize(x, target), shape)


@quick
@given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3))
def test_arrays_broadcast_to_one_shape(shapes):
    other = np.zeros(shapes.input_shapes[1])
    check(lambda x: np.broadcast_arrays(x, other)[0], shapes.input_shapes[0])
    assert [x.shape for x in ops.broadcast_arrays(other, 1.0)] == [other.shape] * 2


def test_resizing_nothing_gives_zeros():
    assert_same(ops.resize(np.zeros((0, 2)), (2, 2)), np.resize(np.zeros((0, 2)), (2, 2)))


def test_a_tiled_plain_array_shares_no_memory():
    x = np.ones((2, 3))
    assert not any(np.shares_memory(ops.tile(x, reps), x) for reps in (1, (1, 1), (1, 1, 1), 2))


@pytest.mark.parametrize(
    ("f", "error", "told"),
    [
        (lambda v: np.repeat(v, -1), errors.ShapeError, "repeat.*negative"),
        (lambda v: np.repeat(v, [1, 2], axis=1), errors.ShapeError, "length 3"),
        (lambda v: np.repeat(v, [[1, 2]]), errors.ShapeError, "repeat"),
        (lambda v: np.repeat(v, 1.5), errors.DTypeError, "repeat"),
        (lambda v: np.repeat(v, 2, axis=2), errors.ShapeError, "repeat"),
        (lambda v: np.tile(v, (2, -1)), errors.ShapeError, "tile"),
        (lambda v: np.tile(v, 1.5), errors.ShapeError, "1.5"),
        (lambda v: np.resize(v, (-1, 2)), errors.ShapeError, "resize"),
    ],
)
def test_what_does_not_fit_is_told_and_leaves_nothing_behind(f, error, told):
    trace = tape.Trace()
    v = trace.param(np.ones((2, 3)))
    with pytest.raises(error, match=told):
        f(v)
    assert len(trace.nodes) == 1


def test_counts_may_be_recorded():
    trace = tape.Trace()
    x, n = trace.param([1.0, 2.0]), trace.input([1, 2])
    assert_same(np.repeat(x, n).value, np.array([1.0, 2.0, 2.0]))
    with pytest.raises(errors.ConversionError, match="value"):
        np.repeat(x, x)
    compiled = tape.compile(tape.grad(lambda x, n: np.sum(np.repeat(x, n) ** 2)))
    for counts in ([1, 2], [3, 0], [1, 2]):
        assert_same(compiled(np.array([1.0, 2.0]), np.array(counts)), np.array([2.0, 4.0]) * counts)
