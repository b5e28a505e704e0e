"""Writing elements at NumPy's indices of all kinds: NumPy's values, and what is written flows back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tape
from tape import errors, ops
from tape.interpreters.batching import Lanes
from tests import naive
from tests.oracles import LAYOUTS, assert_close, assert_same, inner, jvp, laid_out, record, uniform, vjp
from tests.tiers import rounds

quick = settings(max_examples=rounds(60))
OPS = ["set_at", "add_at"]

each_op = pytest.mark.parametrize("op", OPS)


@st.composite
def indices(draw, shape):
    """An index of any kind for an array of this shape."""
    ints = hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(min_dims=0, max_dims=2, max_side=3))
    masks = hnp.arrays(bool, shape[: draw(st.integers(1, len(shape)))])
    kinds = [hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True), masks]
    if 0 not in shape:
        kinds += [ints, st.builds(_mixed, st.just(shape), st.randoms(use_true_random=False))]
    return draw(st.one_of(kinds))


def _mixed(shape, random):
    """Ints, slices and arrays of ints beside each other."""
    return tuple(
        random.choice(
            [
                random.randrange(-n, n),
                slice(None, None, random.choice([-1, 1, 2])),
                np.array([random.randrange(-n, n) for _ in range(3)]),
                np.array([[random.randrange(-n, n)] for _ in range(2)]),
            ]
        )
        for n in shape[: random.randrange(1, len(shape) + 1)]
    )


@st.composite
def calls(draw):
    """An array, an index, and values that broadcast to the elements there."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3))
    index = draw(indices(shape))
    read = np.zeros(shape)[index].shape
    spread = tuple(draw(st.sampled_from([n, n, 1])) for n in read)[draw(st.integers(0, len(read))) :]
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return rng.normal(size=shape), np.asarray(rng.normal(size=spread)), index


# ---- values and derivatives ----------------------------------------------------------------------


@each_op
@quick
@given(call=calls(), layout=st.sampled_from(LAYOUTS))
def test_values_are_those_numpy_leaves_behind(op, call, layout):
    x, v, index = call
    x = laid_out(x, layout)
    before = x.copy()
    expected = getattr(naive, op)(x, v, index)
    assert_same(getattr(ops, op)(x, v, index), expected)
    assert_same(record(lambda x, v: getattr(ops, op)(x, v, index), [x, v])[2].value, expected)
    assert_same(x, before)


@each_op
@quick
@given(call=calls())
def test_each_element_takes_back_the_adjoint_of_what_became_of_it(op, call):
    """What is linear is what it makes of each unit vector, by NumPy."""
    x, v, index = call
    rng = np.random.default_rng(0)
    seed = rng.normal(size=x.shape)
    expected = []
    for k, operand in enumerate((x, v)):
        units = np.eye(operand.size).reshape(operand.size, *operand.shape)
        zeros = (np.zeros(x.shape), np.zeros(v.shape))
        made = [getattr(naive, op)(*zeros[:k], unit, *zeros[k + 1 :], index) for unit in units]
        expected.append(np.array([np.sum(seed * m) for m in made]).reshape(operand.shape))
    f = lambda x, v: getattr(ops, op)(x, v, index)  # noqa: E731
    for found, by_numpy in zip(vjp(f, [x, v], seed), expected, strict=True):
        assert_close(found, by_numpy, 1e-13)
    directions = [rng.normal(size=x.shape), rng.normal(size=v.shape)]
    assert_close(inner([seed], [jvp(f, [x, v], directions)]), inner(expected, directions), 1e-12)


@quick
@given(st.permutations([0, 0, 1, 1, 2, 2]), st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS))
def test_of_elements_written_to_one_place_the_last_in_c_order_stays(places, of_index, of_values):
    index = laid_out(np.array(places).reshape(2, 3), of_index)
    values = laid_out(np.arange(6.0).reshape(2, 3), of_values)
    expected, winners = np.zeros(4), np.zeros((2, 3))
    for at in np.ndindex(2, 3):
        expected[index[at]] = values[at]
    for at in np.ndindex(2, 3):
        winners[at] = expected[index[at]] == values[at]
    assert_same(ops.set_at(np.zeros(4), values, index), expected)
    assert_same(vjp(lambda v: ops.set_at(np.zeros(4), v, index), [values])[0], winners)


@each_op
@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_order_stays(op, layout):
    x = laid_out(np.ones((3, 4)), layout)
    assert getattr(ops, op)(x, 1.0, 0).flags.f_contiguous == (layout == "F")


@each_op
def test_read_only_and_broadcast_arrays_are_written_to_as_copies(op):
    x = np.broadcast_to(np.float32(1), (2, 3))
    assert_same(getattr(ops, op)(x, np.float32(2), (0, 1)), getattr(naive, op)(x, np.float32(2), (0, 1)))


def test_values_take_the_dtype_of_the_array():
    x = np.zeros(2, np.float32)
    assert_same(ops.set_at(x, np.float64(0.1), 0), np.array([0.1, 0], np.float32))
    assert_same(ops.add_at(x, np.float64(0.1), 0), np.array([0.1, 0], np.float32))
    (grad,) = vjp(lambda v: ops.set_at(x, v, 0), [np.float64(0.1)])
    assert grad.dtype == np.float64
    assert_same(ops.set_at(np.zeros(2, int), 1.7, 0), np.array([1, 0]))
    assert_same(ops.set_at(np.zeros(2, bool), 1.7, 0), np.array([True, False]))


def test_a_float_written_among_ints_is_constant_to_derivatives():
    _, _, out = record(lambda v: ops.set_at(np.zeros(2, int), v, 0), [np.array(1.7)])
    assert_same(out.value, np.array([1, 0]))
    assert not out.node.is_active


def test_what_is_not_finite_is_written_over_without_a_trace():
    x = np.array([np.nan, np.inf, 1.0])
    f = lambda x, v: np.sum(ops.set_at(x, v, slice(0, 2)) ** 2)  # noqa: E731
    assert_same(vjp(f, [x, np.array(2.0)])[0], np.array([0.0, 0.0, 2.0]))
    assert_same(vjp(f, [x, np.array(2.0)])[1], np.array(8.0))


def test_second_order_through_what_is_written():
    f = lambda v: np.sum(ops.set_at(v**2, v[0] ** 3, [1, 1]) ** 2)  # noqa: E731
    x = np.array([1.5, 2.0])
    np.testing.assert_allclose(tape.hessian(f)(x), [[12 * x[0] ** 2 + 30 * x[0] ** 4, 0], [0, 0]])


def test_a_loop_that_writes_and_reads_what_it_wrote():
    def f(v):
        x = np.zeros(5)
        x = ops.set_at(x, v, 0)
        for i in range(1, 5):
            x = ops.set_at(x, np.sin(ops.getitem(x, i - 1)), i)
        return np.sum(x)

    def by_hand(v):
        total = v
        for _ in range(4):
            v = np.sin(v)
            total = total + v
        return total

    v = np.array(0.7)
    assert_same(record(f, [v])[2].value, by_hand(v))
    assert_close(vjp(f, [v])[0], vjp(by_hand, [v])[0], 1e-14)


# ---- data that changes ---------------------------------------------------------------------------


@each_op
def test_replay_with_another_index_and_other_repetitions(op):
    trace = tape.Trace()
    x, v, i = trace.param(np.zeros(3)), trace.param([1.0, 2.0]), trace.input([0, 1])
    y = getattr(ops, op)(x, v, i)
    trace.set(i, [2, 2])
    trace.replay()
    assert_same(y.value, getattr(naive, op)(np.zeros(3), [1.0, 2.0], [2, 2]))
    grads = trace.backward_param_grads(y)
    assert_same(grads[1], np.array([0.0, 1.0] if op == "set_at" else [1.0, 1.0]))


@each_op
def test_a_mask_that_is_a_var(op):
    mask = np.array([True, False, True])
    f = lambda x, v, mask: getattr(ops, op)(x, v, mask)  # noqa: E731
    x, v = np.arange(3.0), np.array([5.0, 6.0])
    assert_same(record(f, [x, v, mask])[2].value, getattr(naive, op)(x, v, mask))
    assert_same(vjp(f, [x, v, mask])[1], np.ones(2))


@each_op
@quick
@given(call=calls(), which=st.sampled_from([(True, False), (False, True), (True, True)]))
def test_batches_equal_the_loop(op, call, which):
    *operands, index = call
    several = [
        [a, a + 1, 2 * a] if is_batch else [a] * 3 for a, is_batch in zip(operands, which, strict=True)
    ]
    loop = np.stack([getattr(naive, op)(x, v, index) for x, v in zip(*several, strict=True)])
    with Lanes(3) as lanes:
        many = [
            lanes.batch(np.stack(s)) if is_batch else s[0] for s, is_batch in zip(several, which, strict=True)
        ]
        assert_same(lanes.values(getattr(ops, op)(*many, index)), loop)


# ---- what does not fit ---------------------------------------------------------------------------


@each_op
def test_what_does_not_fit_is_an_error_and_leaves_nothing_behind(op):
    trace = tape.Trace()
    x = trace.param(np.zeros((3, 2)))
    f = getattr(ops, op)
    for v, index, error in (
        (1.0, 3, errors.OutOfBoundsError),
        (1.0, [0, -4], errors.OutOfBoundsError),
        (1.0, (0, 0, 0), errors.OutOfBoundsError),
        (1.0, np.ones(2, bool), errors.OutOfBoundsError),
        (1.0, 0.5, errors.OutOfBoundsError),
        (1.0, np.array([0.5]), errors.OutOfBoundsError),
        (np.ones(3), 0, errors.ShapeError),
        (np.ones((2, 3)), [0, 1], errors.ShapeError),
        (1j, 0, errors.DTypeError),
        (np.ones(2, complex), 0, errors.DTypeError),
        ("a", 0, errors.DTypeError),
    ):
        with pytest.raises(error):
            f(x, v, index)
    assert len(trace.nodes) == 1


def test_floats_are_not_added_to_ints():
    with pytest.raises(errors.DTypeError):
        ops.add_at(np.zeros(2, int), 0.5, 0)


def test_complex_arrays_take_reals():
    rng = np.random.default_rng(1)
    z, v = rng.normal(size=3) + 1j, rng.normal(size=2)
    f = lambda z, v: ops.set_at(z, v, [2, 0])  # noqa: E731
    seed = uniform(rng, z)
    to_z, to_v = vjp(f, [z, v], seed)
    assert_same(to_z, np.array([0, seed[1], 0]))
    assert_same(to_v, seed[[2, 0]].real)


INTO_INTS = {
    "number": lambda k, x: k.__setitem__(0, x[0]),
    "slice": lambda k, x: k.__setitem__(slice(2), x[0]),
    "all": lambda k, x: k.__setitem__(..., x[0]),
    "fill": lambda k, x: k.fill(x[0]),
    "mask": lambda k, x: k.__setitem__(k == 0, x[0]),
}


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int16, np.uint8])
@pytest.mark.parametrize("write", INTO_INTS.values(), ids=INTO_INTS)
def test_a_float_written_among_ints_is_refused_where_numpy_refuses_it(write, dtype):
    def f(x):
        k = np.zeros(3, dtype, like=x)
        write(k, x)
        return k

    compiled = tape.compile(f)
    compiled(np.array([1.5]))
    for value in (np.nan, np.inf, 1e30, -1e30, 2.0**63, -(2.0**63), 2.0**40, 300.0, -1.5, 127.9):
        x = np.array([value])
        with np.errstate(all="ignore"):
            try:
                expected = f(x)
            except (ValueError, OverflowError) as error:
                expected = error
        if isinstance(expected, Exception):
            with pytest.raises((type(expected), errors.TapeError)):
                compiled(x)
        elif np.all(np.abs(value) < 2.0**31):  # others are whatever C makes of them
            np.testing.assert_array_equal(compiled(x), expected)


WAYS_OF_PYTHON = {
    "slice": lambda a, k: a.__setitem__(slice(1, None), k),
    "mask": lambda a, k: a.__setitem__(a > 0, k),
    "list": lambda a, k: a.__setitem__([0, 2], k),
    "put": lambda a, k: np.put(a, [1], k),
    "where": lambda a, k: np.add(a, k, out=a, where=a > 0, casting="unsafe"),
}


@pytest.mark.parametrize("way", WAYS_OF_PYTHON)
@pytest.mark.parametrize("kind", [int, float])
def test_a_python_number_that_does_not_fit_among_integers_is_refused_however_it_is_written(way, kind):
    def f(a, k):
        a = a.copy()
        WAYS_OF_PYTHON[way](a, k)
        return a

    compiled, a = tape.compile(f), np.array([1, 0, 5], np.int8)
    for k in map(kind, (2, 3, 300, 2, -200)):
        with np.errstate(all="ignore"):
            try:
                expected = f(a, k)
            except OverflowError:
                with pytest.raises((OverflowError, errors.TapeError)):
                    compiled(a, k)
            else:
                np.testing.assert_array_equal(compiled(a, k), expected)


def test_a_compiled_count_of_a_float_that_is_none_raises():
    def f(x):
        k = np.zeros(3, int)
        k[0] = x[0]
        return k

    compiled = tape.compile(f)
    assert compiled(np.array([2.5])).tolist() == [2, 0, 0]
    for value, error in ((np.nan, ValueError), (1e30, (OverflowError, errors.TapeError))):
        with pytest.raises(error):
            compiled(np.array([value]))
