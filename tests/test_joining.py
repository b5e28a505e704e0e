"""Joining, taking apart and editing: equal to NumPy, undone in reverse, and what does not fit."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors, ops
from tests.oracles import assert_close, assert_same, record, vjp
from tests.tiers import rounds

quick = settings(max_examples=rounds(60))


def numbered(*shapes):
    """Arrays whose elements are numbered throughout."""
    ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes])
    return [
        np.arange(end - np.prod(s), end, dtype=float).reshape(s) for s, end in zip(shapes, ends, strict=True)
    ]


def check(f, *arrays):
    """A function that only moves numbered elements: NumPy's values on Vars, moved back in reverse."""
    expected = np.asarray(f(*arrays))
    assert_same(record(f, arrays)[2].value, expected)
    seed = np.random.default_rng(0).normal(size=expected.shape)
    gradient = np.zeros(sum(array.size for array in arrays))
    np.add.at(gradient, expected.astype(int), seed)
    found = vjp(f, arrays, seed)
    assert_close(np.concatenate([np.ravel(part) for part in found]), gradient, 1e-14)


# ---- joining -------------------------------------------------------------------------------------


@quick
@given(st.data())
def test_stacks_of_any_number_of_axes(data):
    side = st.integers(0, 3)
    rows = data.draw(st.lists(side, min_size=1, max_size=3))
    width = data.draw(side)
    check(lambda *v: np.vstack(v), *numbered(*[(n, width) for n in rows], (width,)))
    check(lambda *v: np.hstack(v), *numbered(*[(width, n) for n in rows]))
    check(lambda *v: np.hstack(v), *numbered(*[(n,) for n in rows], ()))
    check(lambda *v: np.dstack(v), *numbered(*[(width, 2, n) for n in rows], (width, 2)))
    check(lambda *v: np.column_stack(v), *numbered(*[(width, n) for n in rows], (width,)))
    check(lambda *v: np.concatenate(v, axis=None), *numbered(*[(n, width) for n in rows], ()))
    check(lambda *v: np.append(*v), *numbered((2, width), (rows[0],)))


@quick
@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=2), st.lists(st.integers(0, 3), min_size=3, max_size=3)
)
def test_blocks_of_any_size(heights, widths):
    def blocks(*v):
        return np.block([list(v[:3]), list(v[3:])])

    check(blocks, *numbered(*[(height, width) for height in heights for width in widths]))


def test_a_large_block_is_what_numpy_makes():
    x, y = np.ones((800, 400)), np.zeros((800, 500))
    assert_same(record(lambda v: np.block([[v, y], [y, v]]), [x])[2].value, np.block([[x, y], [y, x]]))


@pytest.mark.parametrize("join", [np.concatenate, np.stack, np.hstack, np.vstack])
def test_the_dtype_that_is_asked_for(join):
    x, n = np.array([0.1, 0.2]), np.array([1, 2])
    for dtype, casting in (
        (np.float32, "same_kind"),
        (np.int64, "unsafe"),
        (complex, "safe"),
        (None, "safe"),
    ):
        joined = record(lambda v, d=dtype, c=casting: join([v, n], dtype=d, casting=c), [x])[2]
        assert_same(joined.value, join([x, n], dtype=dtype, casting=casting))
    assert vjp(lambda v: join([v, n], dtype=np.float32), [x])[0].dtype == x.dtype
    with pytest.raises(errors.DTypeError, match="same_kind"):
        record(lambda v: join([v, n], dtype=int), [x])


# ---- taking apart --------------------------------------------------------------------------------


@quick
@given(st.integers(0, 7), st.integers(1, 4), st.lists(st.integers(-8, 8), max_size=3))
def test_parts_are_those_of_numpy(length, sections, cuts):
    for how, axis in product((sections, cuts), (0, -1)):
        (x,) = numbered((length, 2) if axis == 0 else (2, length))
        for k, part in enumerate(np.array_split(x, how, axis)):
            assert_same(ops.array_split(x, how, axis)[k], part)
            check(lambda v, k=k, how=how, axis=axis: np.array_split(v, how, axis)[k], x)


def test_unstack_undoes_stack():
    arrays = numbered((2, 3), (2, 3))
    for axis in (0, 1, 2, -1):
        for back, array in zip(ops.unstack(ops.stack(arrays, axis), axis=axis), arrays, strict=True):
            assert_same(back, array)


# ---- putting in between and leaving out ----------------------------------------------------------


def positions(length, *, end):
    """Any way of naming positions along an axis."""
    if not length and not end:
        return st.just([])
    one = st.integers(-length, length if end else length - 1)
    bound = st.none() | st.integers(-length - 1, length + 1)
    return (
        one
        | st.lists(one, max_size=4)
        | st.builds(np.array, st.lists(one, min_size=1, max_size=4))
        | st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, -1, -2]))
        | st.builds(lambda b: np.array(b, bool), st.lists(st.booleans(), min_size=length, max_size=length))
    )


@quick
@given(st.data(), st.tuples(st.integers(0, 3), st.integers(1, 3)), st.sampled_from([0, 1, -1, None]))
def test_insert_anywhere(data, shape, axis):
    length = shape[axis] if axis is not None else shape[0] * shape[1]
    obj = data.draw(positions(length, end=True))
    check(lambda x, v: np.insert(x, obj, v, axis), *numbered(shape, ()))
    grown = np.insert(np.zeros(shape), obj, 0.0, axis)
    count = grown.shape[axis or 0] - length
    if axis is not None and np.ndim(obj) and count > 1:
        block = (count, shape[1]) if axis == 0 else (shape[0], count)
        check(lambda x, v: np.insert(x, obj, v, axis), *numbered(shape, block))


def test_insert_before_one_place():
    for axis, obj, block in ((0, 1, (2,)), (1, -1, (3,)), (1, 0, (2, 3)), (1, [1], (3, 2)), (0, [1], (2,))):
        check(lambda x, v, axis=axis, obj=obj: np.insert(x, obj, v, axis), *numbered((3, 2), block))


@quick
@given(st.data(), st.tuples(st.integers(0, 3), st.integers(1, 3)), st.sampled_from([0, 1, -1, None]))
def test_delete_anything(data, shape, axis):
    length = shape[axis] if axis is not None else shape[0] * shape[1]
    obj = data.draw(positions(length, end=False))
    check(lambda x: np.delete(x, obj, axis), *numbered(shape))


@pytest.mark.parametrize(("shape", "axis"), [((13,), 0), ((2, 13), 1), ((13, 2), 0), ((2, 13), -1)])
def test_delete_leaves_many_pieces(shape, axis):
    check(lambda x: np.delete(x, np.s_[1::2], axis), *numbered(shape))


KINDS = {
    "one": 0,
    "one in a list": [0],
    "two": [0, -1],
    "slice": np.s_[::2],
    "mask": lambda length: np.arange(length) % 2 == 1,
    "nothing": [],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", ["delete", "insert"])
def test_edited_arrays_lie_in_memory_as_numpys_do(kind, change):
    """Along each axis, in each order of the axes, also of one element."""
    for shape, order in product([(3, 2, 4, 2), (2, 1, 3, 2)], permutations(range(4))):
        x = np.arange(float(np.prod(shape))).reshape([shape[k] for k in order]).transpose(np.argsort(order))
        for axis in range(4):
            obj = KINDS[kind](shape[axis]) if callable(KINDS[kind]) else KINDS[kind]
            rest = (0.5,) if change == "insert" else ()

            def f(x, obj=obj, rest=rest, axis=axis):
                return getattr(np, change)(x, obj, *rest, axis=axis)

            expected, found = f(x), record(f, [x])[2].value
            assert_same(found, expected)
            long = [k for k in range(4) if expected.shape[k] > 1 and expected.size]
            assert [found.strides[k] for k in long] == [expected.strides[k] for k in long], (axis, order)


def test_an_integer_var_names_one_position():
    trace = tape.Trace()
    x, i = trace.param([1.0, 2.0, 3.0]), trace.input(1)
    assert_same(np.delete(x, i).value, np.array([1.0, 3.0]))
    assert_same(np.insert(x, i, 5.0).value, np.array([1.0, 5.0, 2.0, 3.0]))


# ---- what does not fit ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "error", "told"),
    [
        (lambda v: ops.concatenate([]), errors.ShapeError, "nothing to join"),
        (lambda v: ops.hstack(x for x in [v]), errors.DTypeError, "list"),
        (lambda v: np.concatenate([v, np.ones(3)]), errors.ShapeError, "concatenate"),
        (
            lambda v: np.concatenate([v, np.ones(3)], dtype=np.float32),
            errors.ShapeError,
            "alike in all others",
        ),
        (lambda v: np.concatenate([v, v], axis=2), errors.ShapeError, "concatenate"),
        (lambda v: np.stack([v, np.ones(3)], dtype=complex), errors.ShapeError, "one shape"),
        (lambda v: np.vstack([v, np.ones(2)]), errors.ShapeError, "vstack"),
        (lambda v: np.dstack([np.ones(3), v]), errors.ShapeError, "dstack"),
        (lambda v: np.append(v, 1.0, axis=0), errors.ShapeError, "concatenate"),
        (lambda v: np.block([[v, v], [v]]), errors.ShapeError, "block"),
        (lambda v: np.block([[v], v]), errors.ShapeError, "deep"),
        (lambda v: np.block([[v, v], []]), errors.ShapeError, "empty"),
        (lambda v: ops.block([(v, v)]), errors.DTypeError, "tuple"),
        (lambda v: np.split(v, 2, axis=1), errors.ShapeError, "array_split"),
        (lambda v: np.array_split(v, 0), errors.ShapeError, "0 parts"),
        (lambda v: np.split(v, [1.5]), errors.DTypeError, "split"),
        (lambda v: np.dsplit(v, 2), errors.ShapeError, "3 axes"),
        (lambda v: np.unstack(v, axis=2), errors.ShapeError, "unstack"),
        (lambda v: np.insert(v, 3, 0.0, axis=0), errors.OutOfBoundsError, "2 elements"),
        (lambda v: np.insert(v, [0, 9], 0.0, axis=0), errors.OutOfBoundsError, "2 elements"),
        (lambda v: np.insert(v, [0, 1], np.ones(4), axis=0), errors.ShapeError, "2 places"),
        (lambda v: np.insert(v, [[0]], 0.0), errors.ShapeError, "insert"),
        (lambda v: np.delete(v, 6), errors.OutOfBoundsError, "6 elements"),
        (lambda v: np.delete(v, np.array([True]), axis=1), errors.ShapeError, "delete"),
        (lambda v: np.delete(v, 0, axis=2), errors.ShapeError, "delete"),
    ],
)
def test_what_does_not_fit_is_told_and_leaves_nothing_behind(f, error, told):
    trace = tape.Trace()
    v = trace.param(np.ones((2, 3)))
    with pytest.raises(error, match=told):
        f(v)
    assert len(trace.nodes) == 1


@pytest.mark.parametrize("axis", [0, -1])
def test_numbers_are_stacked_as_arrays_without_axes(axis):
    trace = tape.Trace()
    x = trace.param(1.5)
    for other in (2.0, 2, np.float32(2), True):
        found, expected = np.stack([x, other], axis), np.stack([1.5, other], axis)
        np.testing.assert_array_equal(found.value, expected)
        assert found.dtype == expected.dtype
