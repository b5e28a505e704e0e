"""Updates at an index, and NumPy's functions that write in place, as functions: equal to NumPy's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors, ops
from tape.ops.updates.at import At
from tape.ops.updates.overwriting import IN_PLACE, filled
from tests import naive
from tests.oracles import assert_close, assert_same, difference_gradient, record, vjp
from tests.tiers import grid, rounds

quick = settings(max_examples=rounds(60))
BINARY = (np.multiply, np.divide, np.power, np.subtract, np.maximum, np.minimum, np.hypot, np.arctan2)
EXACT = (np.multiply, np.divide, np.subtract, np.maximum, np.minimum)
UNARY = (np.sin, np.negative, np.sqrt, np.square)
RNG = np.random.default_rng(3)


def positive(*shape):
    return RNG.uniform(0.5, 2, shape)


def assert_close_in_dtype(actual, expected):
    assert actual.dtype == expected.dtype
    assert_close(actual, expected, 4 * np.finfo(expected.dtype).eps)


# ---- ufuncs --------------------------------------------------------------------------------------


@quick
@given(st.sampled_from(BINARY), st.lists(st.integers(-4, 3), max_size=6), st.sampled_from([4, 8]))
def test_values_are_those_of_ufunc_at(ufunc, places, width):
    """Powers of single numbers and of whole arrays differ in the last bit, in NumPy."""
    x, v = positive(4).astype(f"f{width}"), positive(len(places))
    index = np.array(places, int)
    expected = naive.ufunc_at(x, ufunc, index, v)
    check = assert_same if ufunc in EXACT else assert_close_in_dtype
    check(ops.ufunc_at(x, ufunc, index, v), expected)
    check(record(lambda x, v: ops.ufunc_at(x, ufunc, index, v), [x, v])[2].value, expected)
    check(ops.ufunc_at(x, ufunc, index, 1.7), naive.ufunc_at(x, ufunc, index, 1.7))


@quick
@given(st.sampled_from(UNARY), st.lists(st.integers(0, 2), max_size=6))
def test_functions_of_one_operand_are_applied_again_and_again(ufunc, places):
    x = positive(3, 2)
    index = (np.array(places, int), 1)
    with np.errstate(invalid="ignore"):
        assert_close(ops.ufunc_at(x, ufunc, index), naive.ufunc_at(x, ufunc, index), 1e-15)
        assert_close(At(x)[index].apply(ufunc), naive.ufunc_at(x, ufunc, index), 1e-15)


@pytest.mark.parametrize("ufunc", BINARY)
def test_derivatives_with_repetitions(ufunc):
    x, v, index = np.array([0.7, 1.1, 1.6]), np.array([1.3, 0.9, 0.5, 1.9]), [0, 2, 0, 0]
    seed = positive(3)
    f = lambda x, v: ops.ufunc_at(x, ufunc, index, v)  # noqa: E731
    to_x, to_v = vjp(f, [x, v], seed)
    assert_close(to_x, difference_gradient(lambda x: f(x, v), x, seed))
    assert_close(to_v, difference_gradient(lambda v: f(x, v), v, seed))


def test_an_index_var_may_change_as_long_as_repetitions_do_not_grow():
    trace = tape.Trace()
    x, i = trace.param(positive(3)), trace.input([0, 0, 1])
    y = ops.ufunc_at(x, np.multiply, i, np.array([2.0, 3.0, 5.0]))
    for index in ([0, 0, 1], [2, 1, 2], [2, 1, 0]):
        trace.set(i, index)
        trace.replay()
        assert_same(y.value, naive.ufunc_at(x.value, np.multiply, index, [2.0, 3.0, 5.0]))
    trace.set(i, [1, 1, 1])
    with pytest.raises(errors.UnsupportedError, match="3 times"):
        trace.replay()


def test_compiled_functions_follow_the_repetitions():
    compiled = tape.compile(lambda x, v, i: ops.ufunc_at(x, np.multiply, i, v))
    x, v = positive(3), positive(2)
    for index in ([0, 1], [0, 0], [1, 2], [2, 2]):
        assert_same(compiled(x, v, np.array(index)), naive.ufunc_at(x, np.multiply, index, v))


def test_what_does_not_fit_is_an_error_and_leaves_nothing_behind():
    trace = tape.Trace()
    x = trace.param(np.ones((3, 2)))
    for ufunc, index, v, error in (
        (np.multiply, 3, 1.0, errors.OutOfBoundsError),
        (np.multiply, [0, 0], np.ones(3), errors.ShapeError),
        (np.multiply, 0, 1j, errors.DTypeError),
        (np.multiply, 0, None, errors.UnsupportedError),
        (np.sin, 0, 1.0, errors.UnsupportedError),
        (np.modf, 0, None, errors.UnsupportedError),
        (np.greater, [0, 0], "a", errors.DTypeError),
    ):
        with pytest.raises(error):
            ops.ufunc_at(x, ufunc, index, v)
    assert len(trace.nodes) == 1
    with pytest.raises(errors.DTypeError):
        ops.ufunc_at(np.ones(2, int), np.divide, 0, 2)


# ---- the namespace -------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [1, slice(None, None, -1), [0, 0, 2], np.array([True, False, True])])
def test_the_methods_are_the_functions(index):
    x = positive(3)
    v = positive(*x[index].shape)
    for method, ufunc in (
        ("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply), ("divide", np.divide),
        ("power", np.power), ("min", np.minimum), ("max", np.maximum),
    ):  # fmt: skip
        expected = naive.ufunc_at(x, ufunc, index, v)
        assert_close(getattr(At(x)[index], method)(v), expected, 1e-15)
        _, _, out = record(lambda x, v, m=method: getattr(At(x)[index], m)(v), [x, v])
        assert_close(out.value, expected, 1e-15)
    assert_same(At(x)[index].set(v), naive.set_at(x, v, index))
    assert_same(At(x)[index].get(), x[index])


# ---- NumPy's functions that write in place -------------------------------------------------------

MASK = np.array([[True, False, True], [False, True, True]])
CALLS = [
    (np.copyto, (), {}),
    (np.copyto, (), {"where": MASK}),
    (np.copyto, ("unsafe", MASK[0]), {}),
    (np.putmask, (MASK,), {}),
    (np.putmask, (MASK.ravel(),), {}),
    (np.place, (MASK,), {}),
    (np.place, (~MASK.ravel(),), {}),
    (np.put, ([0, 5, 0, -2],), {}),
    (np.put, ([9, -9, 1],), {"mode": "wrap"}),
    (np.put, (np.array([[9], [-9]]),), {"mode": "clip"}),
    (np.fill_diagonal, (), {}),
    (np.fill_diagonal, (), {"wrap": True}),
    (np.put_along_axis, (np.array([[2, 0], [1, 1]]),), {"axis": 1}),
]


def in_order(function, a, v, rest, options):
    """A call with the values where the function has them."""
    first = function in (np.copyto, np.fill_diagonal)
    return function, (a, v, *rest) if first else (a, *rest, v), options


def left_behind(function, a, v, rest, options):
    """What NumPy leaves in its first argument."""
    out = np.array(a)
    function, args, options = in_order(function, out, v, rest, options)
    function(*args, **options)
    return out


def returned(function, a, v, rest, options):
    """What the counterpart returns."""
    function, args, options = in_order(function, a, v, rest, options)
    return IN_PLACE[function](*args, **options)


@grid(shape=[(2, 3), (3, 2), (6, 1), (2, 1, 3)], values=[(), (1,), (2,), (2, 3), (7,)], call=CALLS, times=5)
def test_in_place_functions_leave_what_ours_return(shape, values, call):
    """Elements are numbered, so that each takes back the adjoints of where it went."""
    function, rest, options = call
    a = np.arange(6.0).reshape(shape)
    v = np.asarray(6.0 + np.arange(np.prod(values, dtype=int))).reshape(values)
    try:
        expected = left_behind(function, a, v, rest, options)
    except (ValueError, IndexError):
        trace = tape.Trace()
        x = trace.param(a)
        with pytest.raises(errors.TapeError):
            returned(function, x, v, rest, options)
        assert len(trace.nodes) == 1
        return
    assert_same(returned(function, a, v, rest, options), expected)
    f = lambda a, v: returned(function, a, v, rest, options)  # noqa: E731
    assert_same(record(f, [a, v])[2].value, expected)
    seed = np.random.default_rng(0).normal(size=shape)
    gradient = np.zeros(a.size + v.size)
    np.add.at(gradient, expected.astype(int), seed)
    to_a, to_v = vjp(f, [a, v], seed)
    assert_close(np.concatenate([to_a.ravel(), to_v.ravel()]), gradient, 1e-14)


@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (3, 3, 3), (0, 2), (2, 0)])
@pytest.mark.parametrize("wrap", [False, True])
def test_diagonals_of_all_shapes(shape, wrap):
    for v in (1.0, np.arange(2.0), np.arange(9.0), np.zeros(0)):
        call = (np.fill_diagonal, np.ones(shape), v, (), {"wrap": wrap})
        assert_same(returned(*call), left_behind(*call))


@pytest.mark.parametrize("function", [np.put, np.putmask, np.place, np.copyto, np.fill_diagonal])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("v", [1.7, 2, np.float64(1.7), np.array([1.7]), np.array([2]), np.array([1j])])
def test_values_are_cast_as_numpy_casts_them(function, dtype, v):
    a = np.zeros((2, 2), dtype)
    rest = {np.put: ([1],), np.putmask: (a == 0,), np.place: (a == 0,)}.get(function, ())
    call = (function, a, v, rest, {})
    try:
        expected = left_behind(*call)
    except (TypeError, np.exceptions.ComplexWarning):
        with pytest.raises(errors.DTypeError):
            returned(*call)
        return
    assert_same(returned(*call), expected)


@pytest.mark.parametrize(
    ("function", "rest"), [(np.putmask, ([True, False, True],)), (np.place, ([False] * 3,))]
)
def test_no_values_are_written_nowhere(function, rest):
    a = np.array([1.0, 2.0, 3.0])
    call = (function, a, np.zeros(0), rest, {})
    assert_same(returned(*call), left_behind(*call))
    (gradient,) = vjp(lambda a: 2 * returned(function, a, np.zeros(0), rest, {}), [a], np.arange(3.0))
    assert_same(gradient, np.array([0.0, 2.0, 4.0]))


def test_bools_are_positions_to_put_at():
    call = (np.put, np.zeros(3), np.array([5.0, 6.0]), ([True, False],), {})
    assert_same(returned(*call), left_behind(*call))
    to_v = vjp(lambda v: returned(np.put, np.zeros(3), v, ([True, False],), {}), [call[2]], np.arange(3.0))
    assert_same(to_v[0], np.array([1.0, 0.0]))


def test_a_mask_that_is_a_var_says_where_on_replay():
    trace = tape.Trace()
    x, mask = trace.param(np.zeros(4)), trace.input([True, False, True, False])
    y = IN_PLACE[np.place](x, mask, np.array([1.0, 2.0]))
    z = IN_PLACE[np.copyto](x, np.arange(4.0), where=mask)
    trace.set(mask, [False, True, True, True])
    trace.replay()
    assert_same(y.value, np.array([0.0, 1.0, 2.0, 1.0]))
    assert_same(z.value, np.array([0.0, 1.0, 2.0, 3.0]))


def test_what_is_masked_out_has_no_derivative_whatever_it_is():
    f = lambda v: np.sum(IN_PLACE[np.copyto](np.zeros(2), v, where=[False, True]) ** 2)  # noqa: E731
    assert_same(record(f, [np.array([np.nan, 3.0])])[2].value, np.float64(9.0))
    assert_same(vjp(f, [np.array([np.nan, 3.0])])[0], np.array([0.0, 6.0]))


def test_fill_takes_a_number():
    assert_same(filled(np.zeros(2, np.float32), np.float64(0.1)), np.full(2, 0.1, np.float32))
    assert_same(vjp(lambda v: filled(np.zeros((2, 3)), v), [np.array(1.0)])[0], np.array(6.0))
    with pytest.raises(errors.ShapeError):
        filled(np.zeros(2), [1.0])


@grid(dtype=["u1", "u4", "i1", "i8"], v=[2, -1, 300, True, np.int64(2), np.array([2, 300]), np.uint64(3)],
      ufunc=[np.add, np.subtract, np.multiply])  # fmt: skip
def test_integers_of_other_kinds_wrap_as_in_numpy(dtype, v, ufunc):
    def f(x):
        y = x.copy()
        ufunc.at(y, [0, 0], v)
        return y

    x = np.array([3, 4], dtype)
    compiled = tape.compile(f)
    for _ in range(2):
        assert_same(compiled(x), f(x))
    with tape.Trace() as trace:
        assert_same(f(trace.input(x)).value, f(x))
