"""Shapes and axes: memory order, views, and what does not fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tape
from tape import errors, ops
from tests.oracles import LAYOUTS, assert_same, laid_out, record, vjp
from tests.tiers import rounds

SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=3)
quick = settings(max_examples=rounds(60))


def numbered(shape):
    return np.arange(float(np.prod(shape))).reshape(shape)


def check(f, x):
    """A function of NumPy's that moves elements, which are numbered: moved back in reverse."""
    expected = f(x)
    assert_same(record(f, [x])[2].value, expected)
    seed = np.random.default_rng(0).normal(size=np.shape(expected))
    gradient = np.zeros(x.size)
    np.add.at(gradient, expected.astype(int), seed)
    np.testing.assert_allclose(vjp(f, [x], seed)[0], gradient.reshape(x.shape), atol=1e-14)


# ---- memory order --------------------------------------------------------------------------------


@quick
@given(SHAPES, st.sampled_from(LAYOUTS), st.sampled_from("CFA"), st.randoms(use_true_random=False))
def test_reshape_takes_elements_in_the_order_numpy_does(shape, layout, order, random):
    x = laid_out(numbered(shape), layout)
    target = list(shape)
    random.shuffle(target)
    check(lambda v: np.reshape(v, target, order=order), x)
    check(lambda v: np.reshape(v, -1, order=order) if np.size(v) else np.ravel(v, order), x)


@quick
@given(SHAPES, st.sampled_from(LAYOUTS), st.data())
def test_ravel_as_it_lies_in_memory(shape, layout, data):
    x = laid_out(numbered(shape), layout).transpose(data.draw(st.permutations(range(len(shape)))))
    x[...] = numbered(x.shape)
    check(lambda v: np.ravel(v, "K"), x)


def test_views_where_numpy_gives_views():
    x = numbered((2, 3, 4))
    views = [
        lambda v: np.reshape(v, (6, 4)),
        lambda v: np.reshape(v, (3, 8), order="C"),
        lambda v: np.reshape(np.transpose(v), (12, 2), order="F"),
        np.ravel,
        lambda v: np.flip(v, 1),
        np.rot90,
        lambda v: np.moveaxis(v, 0, -1),
        np.atleast_3d,
        lambda v: np.split(v, 2, axis=1)[0] if np.shape(v)[1] == 2 else np.array_split(v, 2, axis=1)[0],
        lambda v: np.unstack(v)[1],
        lambda v: np.broadcast_arrays(v, np.ones((5, 1, 1, 1)))[0],
        np.copy,
    ]
    for view in views:
        assert np.shares_memory(record(view, [x])[2].value, x)


def test_a_copy_of_a_plain_array_is_its_own():
    x = numbered((2, 3))
    assert not np.shares_memory(ops.copy(x), x)
    assert not np.shares_memory(ops.reshape(x, (3, 2), copy=True), x)
    assert not np.shares_memory(ops.astype(x, float), x)
    assert np.shares_memory(ops.astype(x, float, copy=False), x)
    assert ops.copy(x, order="F").flags.f_contiguous
    trace = tape.Trace()
    var = trace.param(x)
    assert np.copy(var).node is var.node
    assert ops.astype(var, float, copy=False) is var


def test_reshape_without_a_copy_where_one_is_needed():
    trace = tape.Trace()
    var = trace.param(numbered((2, 3)).T)
    assert np.reshape(var, (1, 3, 2), copy=False).shape == (1, 3, 2)
    with pytest.raises(errors.ShapeError, match="copy"):
        np.reshape(var, 6, copy=False)


# ---- axes ----------------------------------------------------------------------------------------


@quick
@given(SHAPES, st.data())
def test_axes_are_moved_as_numpy_moves_them(shape, data):
    x = numbered(shape)
    axis = st.integers(-x.ndim, x.ndim - 1)
    some = data.draw(st.lists(axis, unique_by=lambda i: i % x.ndim))
    others = data.draw(st.permutations(range(x.ndim)))[: len(some)]
    check(lambda v: np.moveaxis(v, some, others), x)
    one, start = data.draw(axis), data.draw(st.integers(-x.ndim, x.ndim))
    check(lambda v: np.rollaxis(v, one, start), x)
    check(lambda v: np.flip(v, some), x)
    shifts = data.draw(st.lists(st.integers(-9, 9), min_size=len(some), max_size=len(some)))
    check(lambda v: np.roll(v, shifts, some), x)
    check(lambda v: np.roll(v, 5), x)


@quick
@given(hnp.array_shapes(min_dims=2, max_dims=4, max_side=3), st.integers(-5, 5), st.data())
def test_any_rotation(shape, k, data):
    x = numbered(shape)
    axes = data.draw(st.permutations(range(x.ndim)))[:2]
    check(lambda v: np.rot90(v, k, axes), x)
    check(lambda v: np.rot90(v, k, [axis - x.ndim for axis in axes]), x)


# ---- what does not fit ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "error", "told"),
    [
        (lambda v: np.reshape(v, 6, order="K"), errors.OptionError, "'K'"),
        (lambda v: np.ravel(v, order="X"), errors.OptionError, "'X'"),
        (lambda v: np.reshape(v, (5, -1), order="F"), errors.ShapeError, "reshape"),
        (lambda v: np.moveaxis(v, 2, 0), errors.ShapeError, "moveaxis"),
        (lambda v: np.moveaxis(v, (0, 1), 0), errors.ShapeError, "same number"),
        (lambda v: np.rollaxis(v, 0, 5), errors.ShapeError, "rollaxis"),
        (lambda v: np.flip(v, 2), errors.ShapeError, "flip"),
        (lambda v: np.fliplr(v[0]), errors.ShapeError, "fliplr.*2 axes"),
        (lambda v: np.flipud(v[0, 0]), errors.ShapeError, "flipud.*1 axes"),
        (lambda v: np.rot90(v, axes=(0, 0)), errors.ShapeError, "rot90"),
        (lambda v: np.rot90(v, axes=(0,)), errors.ShapeError, "two axes"),
        (lambda v: np.roll(v, 1, axis=3), errors.ShapeError, "roll"),
        (lambda v: np.roll(v, (1, 2, 3), axis=(0, 1)), errors.ShapeError, "roll"),
        (lambda v: np.roll(v, [[1]], axis=0), errors.ShapeError, "roll.*ints"),
        (lambda v: np.matrix_transpose(v[0]), errors.ShapeError, "neither a matrix"),
        (lambda v: np.astype(v, "U3"), errors.DTypeError, "astype"),
        (lambda v: np.broadcast_arrays(v, np.ones(5)), errors.ShapeError, "broadcast_arrays"),
    ],
)
def test_what_does_not_fit_is_told_and_leaves_nothing_behind(f, error, told):
    trace = tape.Trace()
    v = trace.param(numbered((2, 3)))
    count = len(trace.nodes)
    with pytest.raises(error, match=told):
        f(v)
    assert len([node for node in trace.nodes[count:] if node.op.name != "getitem"]) == 0
