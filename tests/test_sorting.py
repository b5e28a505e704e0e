"""Sorting and sets: NumPy's values for every kind of element, stable ties, and bad calls."""

from inspect import signature

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
import tape.numpy
from tape import errors, ops
from tests import compiled
from tests.oracles import assert_same, jvp, record, vjp
from tests.tiers import rounds

quick = settings(max_examples=rounds(60))
KINDS = ["float64", "float32", "float16", "int64", "int32", "uint8", "bool", "complex128"]
few = st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.5, -1.0, np.inf, -np.inf, np.nan]), max_size=12).map(
    lambda numbers: np.array(numbers, float)
)
arrays_of_few = pytest.mark.parametrize("dtype", KINDS)


def with_ties(dtype, *shape):
    rng = np.random.default_rng(len(shape))
    x = rng.integers(0, 4, shape)
    return (x + 1j * rng.integers(0, 2, shape) if dtype == "complex128" else x).astype(dtype)


@pytest.mark.parametrize("shape", [(0,), (0, 2), (2, 0)])
def test_to_partition_nothing_is_to_leave_it(shape):
    x = np.zeros(shape)
    for axis in (None, 0, -1):
        assert_same(ops.partition(x, 0, axis), np.partition(x, 0, axis))
        assert_same(ops.argpartition(x, 0, axis), np.argpartition(x, 0, axis))


def test_what_is_told_of_unique_elements_has_the_names_of_numpy():
    for name in ("unique_all", "unique_counts", "unique_inverse"):
        mine, theirs = getattr(ops, name)([2, 1, 2]), getattr(np, name)([2, 1, 2])
        assert (type(mine).__name__, mine._fields) == (type(theirs).__name__, theirs._fields)


# ---- sorting -------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@arrays_of_few
def test_sorting_is_that_of_numpy_for_every_kind_of_element(dtype, axis):
    x = with_ties(dtype, 3, 5)
    assert_same(ops.sort(x, axis), np.sort(x, axis))
    assert_same(ops.argsort(x, axis), np.argsort(x, axis))
    assert_same(ops.argsort(x, axis, "stable"), np.argsort(x, axis, "stable"))
    assert_same(ops.sort(x, axis, stable=True), np.sort(x, axis, stable=True))


@quick
@given(few)
def test_the_stable_permutation_is_that_of_numpy(x):
    assert_same(ops.argsort(x, stable=True), np.argsort(x, stable=True))
    rows = np.stack([x, x[::-1]], axis=1)
    assert_same(ops.argsort(rows, 0, "mergesort"), np.argsort(rows, 0, "mergesort"))
    np.testing.assert_array_equal(ops.sort(x), np.sort(x))


@quick
@given(few)
def test_a_derivative_goes_where_the_stable_permutation_puts_it(x):
    order = np.argsort(x, stable=True)
    weights = np.arange(1.0, x.size + 1)
    expected = np.empty(x.size)
    expected[order] = weights
    assert_same(vjp(np.sort, [x], weights)[0], expected)
    assert_same(jvp(np.sort, [x], [weights]), weights[order])


@quick
@given(few.filter(len), st.data())
def test_a_partition_has_the_kth_in_its_place(x, data):
    k = data.draw(st.integers(-x.size, x.size - 1))
    parted = ops.partition(x, k)
    np.testing.assert_array_equal(parted[k], np.sort(x)[k])
    np.testing.assert_array_equal(np.sort(parted), np.sort(x))
    assert_same(parted, x[ops.argpartition(x, k)])


def test_the_largest_few_have_the_derivative():
    x = np.random.default_rng(0).normal(size=50)
    largest = (x >= np.sort(x)[-5]).astype(float)
    for top in (
        lambda v: v[np.argpartition(v, -5)[-5:]],
        lambda v: np.partition(v, -5)[-5:],
        lambda v: np.sort(v)[-5:],
        lambda v: np.take_along_axis(v, np.argsort(-v)[:5]),
    ):
        assert_same(vjp(top, [x])[0], largest)


def test_numbers_that_are_sorted_as_complex_ones():
    for dtype in "?bBhHiIlLefdgFDG":
        x = np.array([2, 0, 1, 1]).astype(dtype)
        assert_same(ops.sort_complex(x), np.sort_complex(x))
    assert_same(
        vjp(ops.sort_complex, [np.array([2.0, 1.0])], np.array([1.0, 2.0 + 1j]))[0], np.array([2.0, 1.0])
    )


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("count", [32, 33])
def test_many_elements_are_sorted_as_few(count, axis):
    """Of so many, the permutation is recorded; of a few, it is not."""
    x = np.random.default_rng(0).integers(50, size=(32, count)).astype(float)
    weights = np.random.default_rng(1).normal(size=x.shape if axis is not None else x.size)
    order = np.argsort(x, axis, kind="stable")
    expected = np.empty(weights.shape)
    np.put_along_axis(expected, order, weights, axis)
    assert_same(ops.sort(x, axis), np.sort(x, axis))
    assert_same(vjp(lambda v: np.sort(v, axis), [x], weights)[0], expected.reshape(x.shape))
    moves = weights.reshape(x.shape)
    found = jvp(lambda v: np.sort(v, axis), [x], [moves])
    assert_same(found, np.take_along_axis(moves, order, axis))


def test_replay_sorts_anew():
    trace = tape.Trace()
    x = trace.param([1.0, 2.0, 3.0])
    y = np.sort(x)
    trace.set(x, [3.0, 1.0, 2.0])
    trace.replay()
    assert_same(y.value, np.array([1.0, 2.0, 3.0]))
    assert_same(trace.backward_param_grads(y, np.array([1.0, 2.0, 3.0]))[0], np.array([3.0, 1.0, 2.0]))


# ---- sets ----------------------------------------------------------------------------------------


@quick
@given(few, st.booleans())
def test_distinct_elements_are_those_of_numpy(x, equal_nan):
    wanted = {"return_index": True, "return_inverse": True, "return_counts": True, "equal_nan": equal_nan}
    for mine, theirs in zip(ops.unique(x, **wanted), np.unique(x, **wanted), strict=True):
        assert_same(mine, theirs)
    assert_same(ops.unique(x), np.unique(x))
    for mine, theirs in zip(ops.unique_all(x), np.unique_all(x), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@arrays_of_few
def test_distinct_slices_are_those_of_numpy(dtype, axis):
    x = with_ties(dtype, 4, 2)
    for mine, theirs in zip(
        ops.unique(x, True, True, True, axis), np.unique(x, True, True, True, axis), strict=True
    ):
        assert_same(mine, theirs)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_a_program_finds_distinct_slices(axis):
    program = tape.compile(lambda x: ops.unique(x, axis=axis))
    for dtype in (float, int):
        for salt in range(3):
            x = np.random.default_rng(salt).integers(0, 2, (4, 2)).astype(dtype)
            assert_same(program(x), np.unique(x, axis=axis))


@quick
@given(few, few)
def test_sets_are_those_of_numpy(x, y):
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d", "isin"):
        assert_same(getattr(ops, name)(x, y), getattr(np, name)(x, y))
    indices = ops.intersect1d(x, y, return_indices=True), np.intersect1d(x, y, return_indices=True)
    for mine, theirs in zip(*indices, strict=True):
        assert_same(mine, theirs)


@pytest.mark.parametrize("options", [{}, {"kind": "sort"}, {"invert": True}])
def test_elements_are_looked_for_among_many_that_repeat_themselves(options):
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 30, 40) / 2, rng.integers(0, 20, 60) / 2
    for find in (ops.isin, tape.compile(ops.isin)):
        assert_same(find(x, y, **options), np.isin(x, y, **options))
    assert_same(ops.isin(x, y, **options), np.isin(x, y.tolist(), **options))


def test_elements_of_two_precisions_have_a_common_dtype():
    x, y = np.array([1.0, 2.0], np.float32), np.array([2.0, 3.0])
    assert_same(ops.intersect1d(x, y), np.intersect1d(x, y))
    assert vjp(ops.intersect1d, [x, y])[0].dtype == np.float32


def test_the_first_of_equal_elements_has_the_derivative():
    x, y = np.array([2.0, 1.0, 2.0]), np.array([2.0, 5.0])
    assert_same(vjp(np.unique, [x], np.array([10.0, 20.0]))[0], np.array([20.0, 10.0, 0.0]))
    of_x, of_y = vjp(np.intersect1d, [x, y])
    assert_same(of_x, np.array([1.0, 0.0, 0.0]))
    assert_same(of_y, np.zeros(2))


def test_replay_finds_another_number_of_elements():
    trace = tape.Trace()
    x = trace.param([1.0, 1.0, 2.0])
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    trace.set(x, [3.0, 1.0, 2.0])
    trace.replay()
    assert_same(values.value, np.array([1.0, 2.0, 3.0]))
    assert_same(inverse.value, np.array([2, 0, 1]))
    assert_same(counts.value, np.array([1, 1, 1]))


def test_a_compiled_function_may_find_another_number_of_elements():
    def f(x):
        values, counts = np.unique(x, return_counts=True)
        return values * counts, x[np.nonzero(x > 1)]

    compiled.check(f, (np.array([1.0, 2.0, 1.0]),), (np.array([1.0, 2.0, 3.0]),))


# ---- bad calls -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda x: np.sort(x, axis=2), errors.ShapeError, "no axis 2"),
        (lambda x: np.sort(x[0, 0]), errors.ShapeError, "no axis -1"),
        (lambda x: np.sort(x, kind="bubble"), errors.OptionError, "'bubble'"),
        (lambda x: np.sort(x, order="name"), errors.UnsupportedError, "fields"),
        (lambda x: np.argsort(x, kind="stable", stable=True), errors.OptionError, "one of them"),
        (lambda x: np.argsort(x, axis=-3), errors.ShapeError, "no axis -3"),
        (lambda x: np.partition(x, 3, axis=1), errors.ShapeError, "kth=3"),
        (lambda x: np.partition(x, 6, axis=None), errors.ShapeError, "6 elements"),
        (lambda x: np.partition(x, 1.5), errors.DTypeError, "1.5"),
        (lambda x: np.argpartition(x, 0, kind="other"), errors.OptionError, "'other'"),
        (lambda x: np.searchsorted(x, 1.0), errors.ShapeError, "one axis"),
        (lambda x: np.searchsorted([1.0], x, "middle"), errors.OptionError, "'middle'"),
        (lambda x: np.lexsort((x, x), axis=4), errors.ShapeError, "axis"),
        (lambda x: ops.lexsort(()), errors.ShapeError, "no keys"),
        (lambda x: np.unique(x, axis=2), errors.ShapeError, "axis"),
        (lambda x: np.isin(x, [1.0], kind="guess"), errors.OptionError, "'guess'"),
    ],
)
def test_a_bad_call_is_told_and_leaves_nothing_behind(call, error, told):
    trace = tape.Trace()
    x = trace.param(np.arange(6.0).reshape(2, 3))
    count = len(trace.nodes)
    with pytest.raises(error, match=told):
        call(x)
    assert all(node.op.name == "getitem" for node in trace.nodes[count:])  # that of the test itself


NANS = np.array([np.nan, 2.0, 1.0, np.nan, 2.0, np.inf, -0.0, 0.0])
OF_SETS = {
    **{f"unique, {equal}, {what}":
       lambda np, x, what=what, equal=equal: np.unique(x, equal_nan=equal, **{what: True})
       for what in ("return_index", "return_inverse", "return_counts") for equal in (True, False)},
    "unique_all": lambda np, x: tuple(np.unique_all(x)),
    "unique_counts": lambda np, x: tuple(np.unique_counts(x)),
    "unique_inverse": lambda np, x: tuple(np.unique_inverse(x)),
    "unique_values": lambda np, x: np.unique_values(x),
    "union1d": lambda np, x: np.union1d(x, x[:2]),
    "intersect1d": lambda np, x: np.intersect1d(x, x[:3]),
    "setdiff1d": lambda np, x: np.setdiff1d(x, x[:2]),
    "setxor1d": lambda np, x: np.setxor1d(x, x[:3]),
    "isin": lambda np, x: np.isin(x, x[:3]),
    "sort": lambda np, x: np.sort(x),
    "argsort": lambda np, x: np.argsort(x, kind="stable"),
    "partition": lambda np, x: np.partition(x, 3)[3],
}  # fmt: skip


@pytest.mark.parametrize("name", OF_SETS)
def test_nan_is_where_numpy_has_it_and_as_often(name):
    expected = OF_SETS[name](np, NANS)
    found = record(lambda x: OF_SETS[name](tape.numpy, x), [NANS])[2]
    parts = found if isinstance(found, tuple) else (found,)
    for part, wanted in zip(parts, expected if isinstance(expected, tuple) else (expected,), strict=True):
        np.testing.assert_array_equal(getattr(part, "value", part), wanted)


@pytest.mark.skipif("sorted" not in signature(np.unique).parameters, reason="this NumPy always sorts")
@pytest.mark.parametrize("equal_nan", [True, False])
def test_unsorted_unique_elements_are_those_of_numpy_with_nan_among_them(equal_nan):
    for x in (np.array([2.0, np.nan, 1.0, np.nan, 2.0]), np.array([np.nan, np.nan]), np.arange(40.0) % 7):
        out = record(lambda x: np.unique(x, sorted=False, equal_nan=equal_nan), [x])[2]
        assert_same(out.value, np.unique(x, sorted=False, equal_nan=equal_nan))
