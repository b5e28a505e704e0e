"""Taking, putting and choosing: NumPy's values for every form of call, duplicates, branches, bad calls."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors, ops
from tape.interpreters.batching import Lanes
from tests import compiled, naive
from tests.oracles import assert_close, assert_same, difference_gradient, inner, jvp, record, vjp
from tests.tiers import rounds

quick = settings(max_examples=rounds(60))

# ---- taking and putting --------------------------------------------------------------------------


@st.composite
def takes(draw):
    """An array, indices into one of its axes, and that axis."""
    shape = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    axis = draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    length = np.prod(shape) if axis is None else shape[axis]
    index_shape = draw(st.lists(st.integers(0, 3), max_size=2))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return rng.normal(size=shape), rng.integers(-length, length, index_shape), axis


@quick
@given(takes())
def test_taking_is_that_of_numpy_and_its_two_modes_are_transposes(drawn):
    x, indices, axis = drawn
    expected = np.take(x, indices, axis)
    rng = np.random.default_rng(1)
    seed, direction = rng.normal(size=expected.shape), rng.normal(size=x.shape)
    for f in (lambda v: np.take(v, indices, axis), lambda v: ops.take(v, indices, axis)):
        assert_same(record(f, [x])[2].value, expected)
        assert_close(inner([seed], [jvp(f, [x], [direction])]), inner(vjp(f, [x], seed), [direction]), 1e-13)


@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_indices_out_of_range_are_brought_inside(mode):
    x = np.arange(6.0).reshape(2, 3)
    for dtype in (np.int8, np.int64):
        indices = np.arange(-7, 8).astype(dtype)
        for axis in (None, 0, 1):
            assert_same(ops.take(x, indices, axis, mode=mode), np.take(x, indices, axis, mode=mode))
        assert_same(
            ops.choose(indices, [1.0, 2.0, 3.0], mode=mode), np.choose(indices, [1.0, 2.0, 3.0], mode=mode)
        )
    assert_same(vjp(lambda v: np.take(v, [-1, 7], 0, None, "wrap"), [x])[0], np.array([[0.0] * 3, [2.0] * 3]))


def test_bools_are_ints_to_take_as_in_numpy():
    mask = np.array([True, False, True])
    assert_same(ops.take(np.arange(3.0), mask), np.take(np.arange(3.0), mask))


def test_indices_are_data_that_replay_may_change():
    trace = tape.Trace()
    x, i = trace.param([[1.0, 2.0, 3.0]]), trace.input([[0, 0]])
    y = np.take_along_axis(x, i, 1)
    trace.set(i, [[2, 1]])
    trace.replay()
    assert_same(y.value, np.array([[3.0, 2.0]]))
    assert_same(trace.backward_param_grads(y)[0], np.array([[0.0, 1.0, 1.0]]))


@quick
@given(st.lists(st.integers(-3, 2), max_size=8), st.booleans())
def test_of_values_written_to_one_place_the_last_stays(indices, is_flat):
    x, values = np.arange(3.0), np.arange(1.0, len(indices) + 1)
    indices = np.array(indices, int)
    axis = None if is_flat else 0
    expected = naive.put_along_axis(x, indices, values, axis)
    assert_same(ops.put_along_axis(x, indices, values, axis), expected)
    of_x, of_values = vjp(lambda x, v: ops.put_along_axis(x, indices, v, axis), [x, values])
    last = {i % 3: k for k, i in enumerate(indices.tolist())}
    assert_same(of_x, np.array([0.0 if i in last else 1.0 for i in range(3)]))
    assert_same(of_values, np.array([float(last[i % 3] == k) for k, i in enumerate(indices.tolist())]))


@pytest.mark.parametrize("layouts", ["CC", "CF", "FC", "FF"])
def test_which_value_stays_does_not_depend_on_how_values_and_indices_lie_in_memory(layouts):
    places = np.array([[0, 1, 2], [2, 0, 1], [1, 2, 0]])
    values = np.arange(1.0, 10.0).reshape(3, 3)
    v, i = (np.asarray(x, order=layout) for x, layout in zip((values, places), layouts, strict=True))
    for found in (ops.set_at(np.zeros(3), v, (i,)), tape.compile(ops.set_at)(np.zeros(3), v, i)):
        np.testing.assert_array_equal(found, [9.0, 7.0, 8.0])
    slope = tape.grad(lambda v: np.sum(ops.set_at(np.zeros(3), v, (i,)) * [1.0, 2.0, 3.0]))(v)
    np.testing.assert_array_equal(slope, [[0, 0, 0], [0, 0, 0], [2.0, 3.0, 1.0]])


def test_a_batch_of_values_is_put_where_each_one_is():
    rng = np.random.default_rng(0)
    x, values, indices = rng.normal(size=(3, 4)), rng.normal(size=(3, 2)), rng.integers(0, 4, (3, 2))

    def f(x, v):
        return ops.put_along_axis(x, indices, v, 1)

    for k in (0, 1):
        jacobian = tape.jacobian(f, argnums=k)(x, values)
        rows = [vjp(f, [x, values], unit.reshape(3, 4))[k] for unit in np.eye(12)]
        assert_same(jacobian, np.array(rows).reshape(jacobian.shape))


def test_put_along_axis_leaves_its_argument_alone():
    x = np.zeros(3)
    x.flags.writeable = False
    assert_same(ops.put_along_axis(x, [1], 2.0, 0), np.array([0.0, 2.0, 0.0]))


# ---- choosing ------------------------------------------------------------------------------------


def test_select_keeps_the_dtype_of_numpy():
    c = np.array([True, False])
    for choices, default in (
        ([np.float32([1, 2])], 0),
        ([np.float32([1, 2]), 2.0], 1.5),
        ([np.int8([1, 2]), np.uint8([1, 2])], np.float16(2)),
        ([True, np.array([False, True])], False),
        ([np.complex64([1, 2]), 1.0], 1),
    ):
        conditions = [c, ~c][: len(choices)]
        assert_same(ops.select(conditions, choices, default), np.select(conditions, choices, default))


def test_what_was_not_selected_has_derivative_zero():
    x = np.array([-1.0, 0.0, 4.0])

    def f(v):
        return np.select([v > 0], [np.sqrt(np.where(v > 0, v, 1.0))], 0.0)

    assert_same(vjp(f, [x])[0], np.array([0.0, 0.0, 0.25]))


def test_pieces_do_not_see_the_elements_of_others():
    x = np.array([[-1.0, 0.0], [4.0, 9.0]])

    def f(v):
        return np.piecewise(v, [v > 0], [np.sqrt, lambda rest: rest])

    assert_same(record(f, [x])[2].value, np.piecewise(x, [x > 0], [np.sqrt, lambda rest: rest]))
    assert_same(vjp(f, [x])[0], np.array([[1.0, 1.0], [0.25, 1 / 6]]))
    assert_same(jvp(f, [x], [np.ones((2, 2))]), np.array([[1.0, 1.0], [0.25, 1 / 6]]))


@pytest.mark.parametrize(
    "arguments",
    [
        ([[True, False, True]], [5.0]),
        ([True, False, True], [5.0, 7.0]),
        (np.array([[True, False, True], [False, True, True]]), [lambda v: -v, np.exp]),
        ([[1, 0, 1], [0, 0, 0]], [1.5, lambda v: v / 0]),
        ([[1, 0, 1], [0, 0, 0]], [1.5, lambda v: v.max()]),  # which has no answer for nothing
        ([1, 0, 1], [2.0]),
        (np.array([True, False, True]), [np.mean]),
        ([True, False, True], [lambda v: [5, 7]]),
        ([True, False, True], [lambda v: (5.0, True), [3.0]]),
        ([True, False, True], [np.float32(0.5), 2**40]),
    ],
)
def test_conditions_may_take_every_form(arguments):
    for x in (np.array([1.0, 2.0, 3.0]), np.array([1, 2, 3])):
        assert_same(ops.piecewise(x, *arguments), np.piecewise(x, *arguments))


def test_a_bound_is_rounded_to_the_dtype_of_the_result_alone():
    x, above = np.array([-1.0, 0.2], np.float32), np.array([1.0, 0.1])
    for upper in (above, np.float32(0.1), 1.0, None):
        assert_same(ops.clip(x, -0.4, upper), np.clip(x, -0.4, upper))
    assert_same(vjp(lambda x: np.clip(x, -0.4, above), [x])[0], np.zeros(2, np.float32))


def test_single_conditions_and_stacked_choices_record():
    x = np.array([[-1.0, 2.0], [3.0, -4.0]])
    for f in (
        lambda v: np.piecewise(v[0], v[0] > 0, [np.sqrt]),
        lambda v: np.choose([1, 0], v),
        lambda v: np.choose([1, 3], v, mode="clip"),
    ):
        assert_same(record(f, [x])[2].value, f(x))
        assert_close(
            vjp(lambda v, f=f: np.sum(f(v)), [x])[0], difference_gradient(lambda v, f=f: np.sum(f(v)), x, 1.0)
        )


def test_a_compiled_piece_may_change_in_size():
    def f(x):
        return np.piecewise(x, [x < 0, x > 1], [np.negative, np.sqrt, 1.0])

    compiled.check(f, (np.array([-1.0, 0.5, 4.0]),), (np.array([-1.0, -2.0, 0.5]),))


@quick
@given(st.lists(st.sampled_from([0.0, 1.0]), max_size=6), st.sampled_from(["fb", "f", "b", "BF"]))
def test_trimming_is_that_of_numpy(row, trim):
    x = np.array(row, float)
    assert_same(ops.trim_zeros(x, trim), np.trim_zeros(x, trim))
    rows = np.outer([0.0, 1.0, 0.0], x)
    for axis in (None, 0, -1, (0, 1)):
        assert_same(ops.trim_zeros(rows, trim, axis), np.trim_zeros(rows, trim, axis))


# ---- diagonals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(-4, 5))
def test_diagonals_and_triangles_are_those_of_numpy(k):
    x = np.arange(12.0).reshape(3, 4)
    for name in ("diag", "diagonal", "trace", "tril", "triu", "diagflat"):
        assert_same(getattr(ops, name)(x, k), getattr(np, name)(x, k))
    assert_same(ops.tril(x, k) + ops.triu(x, k + 1), x)
    assert_same(ops.diag(ops.diag(x[0], k), k), x[0])
    assert_same(vjp(lambda v: np.trace(v, k), [x])[0], np.eye(3, 4, k))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.float16, np.float32, complex])
def test_every_dtype_is_kept_or_promoted_as_in_numpy(dtype):
    x = np.ones((2, 3, 3), dtype)
    assert_same(ops.trace(x, axis1=1, axis2=2), np.trace(x, axis1=1, axis2=2))
    assert_same(ops.trace(x, dtype=complex), np.trace(x, dtype=complex))
    assert_same(ops.tril(x), np.tril(x))
    assert_same(ops.triu(x), np.triu(x))


def test_stacks_of_matrices_have_their_last_axes_traced_by_linalg():
    x = np.arange(24.0).reshape(2, 3, 4)
    for f in (np.linalg.diagonal, np.linalg.trace):
        for offset in (0, 1):
            assert_same(record(lambda v, f=f, o=offset: f(v, offset=o), [x])[2].value, f(x, offset=offset))


# ---- functions on rows ---------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("f", [np.sum, np.cumsum, lambda v: np.outer(v, v), lambda v: 1.0])
def test_results_are_where_the_rows_were(f, axis):
    x = np.arange(24.0).reshape(2, 3, 4)
    assert_same(ops.apply_along_axis(f, axis, x), np.apply_along_axis(f, axis, x))


# ---- bad calls -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda x: np.take(x, [[0, 1], [6, 0]]), errors.OutOfBoundsError, r"6 at position \(1, 0\).*-6 to 5"),
        (lambda x: np.take(x, [0, 3], axis=1), errors.OutOfBoundsError, "3 at position 1 .*-3 to 2"),
        (lambda x: np.take(x, -3, axis=0), errors.OutOfBoundsError, "index -3 is out"),
        (lambda x: np.take(x, [0.5]), errors.OutOfBoundsError, "Use ints"),
        (lambda x: np.take(x, 0, axis=2), errors.ShapeError, "no axis 2"),
        (lambda x: np.take(x, 0, mode="guess"), errors.OptionError, "'guess'"),
        (lambda x: np.take(x[:, :0], [0], mode="clip"), errors.OutOfBoundsError, "length 0"),
        (lambda x: np.take_along_axis(x, np.array([[3], [0]]), 1), errors.OutOfBoundsError, r"\(0, 0\)"),
        (lambda x: np.take_along_axis(x, np.array([6]), None), errors.OutOfBoundsError, "position 0"),
        (lambda x: np.take_along_axis(x, np.array([0]), 1), errors.ShapeError, "as many axes"),
        (lambda x: np.take_along_axis(x, np.zeros((3, 1), int), 1), errors.ShapeError, "broadcast"),
        (lambda x: np.take_along_axis(x, x > 0, 1), errors.OutOfBoundsError, "Use ints"),
        (lambda x: ops.put_along_axis(x, [[0]], 1j, 1), errors.DTypeError, "astype"),
        (lambda x: ops.put_along_axis(x, [0], np.ones(2), None), errors.ShapeError, "do not broadcast"),
        (lambda x: ops.put_along_axis(x, [[0]], x, 3), errors.ShapeError, "no axis 3"),
        (lambda x: np.choose([0, 2, 1], x), errors.OutOfBoundsError, "2 at position 1 .*0 to 1"),
        (lambda x: np.choose([0, -1, 1], x), errors.OutOfBoundsError, "0 to 1"),
        (lambda x: np.choose([0, 1], x), errors.ShapeError, "broadcast"),
        (lambda x: np.choose([0], [x] * 65), errors.ShapeError, "65 choices"),
        (lambda x: np.select([x > 0], []), errors.ShapeError, "1 conditions and 0"),
        (lambda x: np.select([[1, 0, 1]], [x]), errors.DTypeError, "bools"),
        (lambda x: np.select([[True] * 4], [x]), errors.ShapeError, r"^select\(.*broadcast"),
        (lambda x: np.compress([True] * 4, x, axis=1), errors.OutOfBoundsError, "index 3"),
        (lambda x: np.compress([[True]], x), errors.ShapeError, "one axis"),
        (lambda x: np.extract([True] * 7, x), errors.OutOfBoundsError, "index 6"),
        (lambda x: np.trim_zeros(x, "x"), errors.OptionError, "'x'"),
        (lambda x: np.trim_zeros(x, axis=2), errors.ShapeError, "no axis 2"),
        (lambda x: np.piecewise(x, np.zeros((0, 2, 3), bool), [1]), errors.ShapeError, "0 conditions"),
        (lambda x: np.piecewise(x, [[True, False]], [1]), errors.ShapeError, "same shape"),
        (lambda x: np.piecewise(x, np.ones((2, 3), bool), [1, 2]), errors.ShapeError, "in a list"),
        (lambda x: np.piecewise(x, [np.ones((2, 3), bool)], []), errors.ShapeError, "0 functions"),
        (lambda x: np.apply_along_axis(np.sum, 2, x), errors.ShapeError, "no axis 2"),
        (lambda x: np.apply_along_axis(np.sum, 0, x[:, :0]), errors.ShapeError, "no rows"),
        (lambda x: np.diagonal(x, axis1=0, axis2=0), errors.ShapeError, "diagonal"),
        (lambda x: np.trace(x[0]), errors.ShapeError, "diagonal"),
        (lambda x: np.diag(x[None]), errors.ShapeError, "neither one axis nor two"),
        (lambda x: np.tril(x[0, 0]), errors.ShapeError, "no axes"),
        (lambda x: np.nonzero(x[0, 0]), errors.ShapeError, "no axes"),
        (lambda x: ops.unravel_index([0], (2, 3), "K"), errors.OptionError, "'K'"),
        (lambda x: ops.unravel_index([6], (2, 3)), errors.ShapeError, "out of bounds"),
        (lambda x: ops.ravel_multi_index(([2], [0]), (2, 3)), errors.ShapeError, "invalid entry"),
        (lambda x: np.ix_(x, [0]), errors.ShapeError, "one axis"),
    ],
)
def test_a_bad_call_is_told_and_leaves_nothing_behind(call, error, told):
    trace = tape.Trace()
    x = trace.param(np.arange(6.0).reshape(2, 3))
    with pytest.raises(error, match=told):
        call(x)
    assert all(node.op.name in ("getitem", "greater") for node in trace.nodes[1:])  # those of the test itself


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_a_complex_constant_is_no_element_of_a_real_array(dtype):
    with pytest.raises(errors.DTypeError, match="piecewise: 1j is no element of"):
        ops.piecewise(np.arange(3).astype(dtype), [[True, False, True]], [1j])


def test_an_axis_may_be_taken_away_but_no_more():
    with pytest.raises(errors.ShapeError, match="remove one axis"):
        ops.apply_over_axes(lambda a, axis: np.sum(a), np.ones((2, 2, 2)), [0])


@pytest.mark.parametrize("choose", [ops.compress, ops.extract])
@pytest.mark.parametrize("beyond", [0, 1, 5])
def test_each_condition_of_a_batch_may_reach_beyond_the_end_where_it_does_not_hold(choose, beyond):
    x = np.arange(12.0).reshape(3, 4)
    conditions = np.zeros((3, 4 + beyond), bool)
    conditions[[0, 0, 1, 1, 2, 2], [0, 2, 1, 3, 2, 3]] = True
    with Lanes(3) as lanes:
        found = lanes.values(choose(lanes.batch(conditions), lanes.batch(x)))
        assert_close(found, np.array([[0.0, 2.0], [5.0, 7.0], [10.0, 11.0]]), 0)
        found = lanes.values(choose(lanes.batch(conditions), x[1]))
        assert_close(found, np.array([[4.0, 6.0], [5.0, 7.0], [6.0, 7.0]]), 0)
    for row, place in product(range(3), range(4, 4 + beyond)):
        one_beyond = conditions.copy()
        one_beyond[row, place] = True
        with Lanes(3) as lanes, pytest.raises(errors.OutOfBoundsError, match=f"index {place} .* 0 to 3"):
            choose(lanes.batch(one_beyond), lanes.batch(x))


def test_functions_over_axes_are_called_with_the_axes_that_numpy_calls_them_with():
    for apply in (np.apply_over_axes, ops.apply_over_axes):
        seen = []
        apply(
            lambda a, axis, seen=seen: seen.append(axis) or np.sum(a, axis), np.ones((2, 3, 4)), [0, -1, -2]
        )
        assert seen == [0, 2, 1]


@pytest.mark.parametrize("index", [1, np.int64(1), np.asarray(1)], ids=["int", "int64", "array"])
def test_numbers_of_any_kind_are_taken_in_programs(index):
    compiled = tape.compile(lambda x: np.take(x, index))
    assert_same(compiled(np.arange(3.0)), np.float64(1.0))


@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_positions_outside_are_brought_inside_where_they_are_data(mode):
    x, places = np.arange(12.0).reshape(4, 3), np.array([[-9, -5, -4, -1], [0, 3, 4, 11]])
    functions = {axis: lambda x, i, axis=axis: np.take(x, i, axis, mode=mode) for axis in (None, 0, 1)}
    functions["choose"] = lambda x, i: np.choose(i[..., :3], x, mode=mode)
    for f in functions.values():
        compiled = tape.compile(f)
        for i in (np.zeros_like(places), places, places[::-1, ::-1]):
            assert_same(compiled(x, i), f(x, i))
        assert len(compiled.programs) == 1
