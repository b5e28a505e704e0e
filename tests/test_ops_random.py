"""Properties of operations over random shapes, indices and axes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tape import ops
from tests import naive
from tests.oracles import assert_close, assert_same, inner, jvp, record, vjp
from tests.tiers import rounds

SMALL = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)
quick = settings(max_examples=rounds(60))


def drawn(shape, offset=0.0):
    return np.random.default_rng(int(np.prod(shape)) + len(shape)).uniform(0.5, 2, shape) + offset


@quick
@given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, min_side=0, max_side=3))
def test_gradients_of_broadcast_operands_are_sums(shapes):
    x, y = (drawn(shape) for shape in shapes.input_shapes)
    seed = drawn(shapes.result_shape)
    for got, full in zip(vjp(lambda a, b: a * b, [x, y], seed), [seed * y, seed * x], strict=True):
        assert_close(got, naive.sum_to_shape(np.asarray(full), got.shape), 1e-13)


@quick
@given(st.data())
def test_where_broadcasts_all_three(data):
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, min_side=0, max_side=3))
    condition = drawn(shapes.input_shapes[0]) > 1.2
    x, y = (drawn(shape) for shape in shapes.input_shapes[1:])
    seed = drawn(shapes.result_shape)
    dx, dy = vjp(lambda a, b: np.where(condition, a, b), [x, y], seed)
    assert_close(dx, naive.sum_to_shape(np.asarray(seed * condition), x.shape), 1e-13)
    assert_close(dy, naive.sum_to_shape(np.asarray(seed * ~condition), y.shape), 1e-13)


@quick
@given(hnp.mutually_broadcastable_shapes(signature=np.matmul.signature, max_dims=2, min_side=0, max_side=3))
def test_matmul_of_all_ranks(shapes):
    x, y = (drawn(shape) for shape in shapes.input_shapes)
    seed, v, w = drawn(shapes.result_shape), drawn(x.shape, 1), drawn(y.shape, -1)
    assert_same(ops.matmul(x, y), np.matmul(x, y))
    tangent = jvp(np.matmul, [x, y], [v, w])
    assert_close(tangent, np.matmul(v, y) + np.matmul(x, w), 1e-13)
    pulled = inner(vjp(np.matmul, [x, y], seed), [v, w])
    assert_close(pulled, np.sum(seed * tangent), 1e-13)


@quick
@given(st.data())
def test_getitem_with_any_basic_index(data):
    x = drawn(data.draw(SMALL))
    index = data.draw(hnp.basic_indices(x.shape, allow_newaxis=True))
    check_getitem(x, index)


@quick
@given(st.data())
def test_getitem_with_any_integer_arrays(data):
    x = drawn(data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=3)))
    check_getitem(x, data.draw(hnp.integer_array_indices(x.shape)))


@quick
@given(st.data())
def test_getitem_with_any_mask(data):
    x = drawn(data.draw(SMALL))
    axes = data.draw(st.integers(0, x.ndim))
    check_getitem(x, data.draw(hnp.arrays(bool, x.shape[:axes])))


def check_getitem(x, index):
    expected = np.zeros(x.shape)
    seed = drawn(np.shape(x[index]))
    np.add.at(expected, index, seed)
    assert_same(record(lambda v: v[index], [x])[2].value, x[index])
    assert_close(vjp(lambda v: v[index], [x], seed)[0], expected, 1e-14)
    assert_same(jvp(lambda v: v[index], [x], [x]), x[index])


def axes_of(shape):
    some = st.lists(st.integers(-len(shape), len(shape) - 1), unique_by=lambda i: i % max(1, len(shape)))
    return st.none() | (some.map(tuple) if shape else st.just(()))


@quick
@given(st.data(), st.booleans())
def test_sums_and_products_over_any_axes(data, keepdims):
    x = drawn(data.draw(SMALL))
    axis = data.draw(axes_of(x.shape))
    for op, reference in ((ops.sum, np.sum), (ops.prod, np.prod)):
        value = record(lambda v, op=op: op(v, axis, keepdims=keepdims), [x])[2].value
        assert_same(value, reference(x, axis=axis, keepdims=keepdims))
        (grad,) = vjp(lambda v, op=op: op(v, axis, keepdims=keepdims), [x])
        partials = np.broadcast_to(reference(x, axis=axis, keepdims=True), x.shape) / x
        assert_close(grad, np.ones(x.shape) if op is ops.sum else partials, 1e-13)


@quick
@given(st.data(), st.booleans())
def test_extremes_over_any_axes(data, keepdims):
    x = data.draw(hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, max_dims=3, max_side=3),
                             elements=st.sampled_from([0.0, 1.0, 2.0])))  # fmt: skip
    axis = data.draw(axes_of(x.shape))
    for op, reference in ((ops.max, np.max), (ops.min, np.min)):
        chosen = x == reference(x, axis=axis, keepdims=True)
        (grad,) = vjp(lambda v, op=op: op(v, axis, keepdims=keepdims), [x])
        assert_close(grad, chosen / np.sum(chosen, axis=axis, keepdims=True), 1e-14)


@quick
@given(hnp.arrays(np.float64, st.integers(1, 9), elements=st.sampled_from([0.0, -1.0, 2.0, 3.0])))
def test_derivatives_of_products_with_any_zeros(x):
    others = [np.prod(np.delete(x, i)) for i in range(x.size)]
    assert_close(vjp(ops.prod, [x])[0], others, 1e-14)
    pairs = [[np.prod(np.delete(x, [i, j])) * (i != j) for j in range(x.size)] for i in range(x.size)]
    hessian = [jvp(lambda v: vjp(ops.prod, [v])[0], [x], [unit]) for unit in np.eye(x.size)]
    assert_close(hessian, pairs, 1e-13)


@quick
@given(st.data())
def test_transpose_by_any_permutation(data):
    x = drawn(data.draw(SMALL))
    axes = data.draw(st.permutations(range(x.ndim)))
    signed = [i - x.ndim * data.draw(st.integers(0, 1)) for i in axes]
    (grad,) = vjp(lambda v: np.transpose(v, signed) * np.transpose(x, axes), [x])
    assert_same(grad, x)
