"""The kernels against brute force, over ranks, dtypes and memory layouts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tape.kernels.accumulate import Scattered, accumulate
from tape.kernels.cross_entropy import indexed_excess, indexed_losses
from tape.kernels.fused import fused
from tape.kernels.reduce import sum_to_shape
from tests import naive
from tests.oracles import LAYOUTS, laid_out
from tests.tiers import rounds

FLOATS = [np.float64, np.float32, np.float16]
DTYPES = [*FLOATS, np.int64, np.int32]
quick = settings(max_examples=rounds(100))
small_shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)


layouts = st.sampled_from(LAYOUTS)


def arrays(shape, dtype=None):
    """Arrays of small integers, whose sums are exact in every dtype."""
    values = st.integers(-8, 8)
    dtypes = st.sampled_from(DTYPES) if dtype is None else st.just(dtype)
    return st.builds(
        lambda x, dtype, layout: laid_out(x.astype(dtype), layout),
        hnp.arrays(np.int64, shape, elements=values), dtypes, layouts,
    )  # fmt: skip


def precision(dtype):
    return {"f": 2e-6, "d": 1e-14, "e": 4e-3}[np.dtype(dtype).char]


# ---- fused -------------------------------------------------------------------------------------------


def shrunk(x, y):
    return x - x * y


@pytest.mark.parametrize(
    "operands", [(2.0, 0.25), (np.float32(2), 3), (np.arange(3), np.ones(3, np.float32))]
)
def test_what_no_kernel_is_for_is_the_body_or_what_is_given_instead(operands):
    np.testing.assert_array_equal(fused(shrunk)(*operands), shrunk(*operands))
    assert fused(shrunk, lambda x, y: "instead")(*operands) == "instead"


# ---- sum_to_shape --------------------------------------------------------------------------------


@quick
@given(st.data())
def test_sum_to_any_shape_that_broadcasts(data):
    x = data.draw(arrays(data.draw(small_shapes)))
    kept = [n if data.draw(st.booleans()) else 1 for n in x.shape]
    dropped = data.draw(st.integers(0, x.ndim))
    shape = tuple(kept[dropped:])
    copy = x.copy()
    out = sum_to_shape(x, shape)
    assert (np.shape(out), out.dtype) == (shape, x.dtype)
    np.testing.assert_array_equal(out, naive.sum_to_shape(x, shape))
    np.testing.assert_array_equal(x, copy)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("shape", "target"),
    [
        ((7, 5), (5,)), ((7, 5), (7, 1)), ((7, 5), ()), ((7, 5), (1, 5)), ((2, 3, 4), (3, 1)), ((3,), (1,)),
        ((2, 3, 4, 5), (3, 1, 5)), ((2, 3, 4, 5), (2, 1, 4, 1)), ((1, 4, 1), (1, 1)), ((0, 3), (3,)),
        ((0, 3), (1, 1)), ((3, 0), (3, 1)), ((2, 3), (2, 3)), ((), ()), ((1, 1), ()), ((1, 3), (3,)),
    ],
)  # fmt: skip
def test_sum_of_random_values(shape, target, dtype):
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    expected = naive.sum_to_shape(x.astype(np.float64), target)
    np.testing.assert_allclose(sum_to_shape(x, target), expected, rtol=0, atol=60 * precision(dtype))


@pytest.mark.parametrize(
    ("shape", "target", "tolerance"),
    [
        ((1_000_000,), (1,), 1.2e-7),  # to the last bit
        ((1, 1_000_000), (1, 1), 1.2e-7),
        ((3, 500_001), (3, 1), 1.2e-7),
        ((50_001, 3), (3,), 2e-5),  # rows added one by one, as NumPy does
    ],
)
def test_long_sums_in_float32_stay_accurate(shape, target, tolerance):
    x = np.random.default_rng(0).uniform(0.5, 1.5, shape).astype(np.float32)
    expected = sum_to_shape(x.astype(np.float64), target)
    np.testing.assert_allclose(sum_to_shape(x, target), expected, rtol=tolerance)


@pytest.mark.parametrize("wrong", [(2,), (3, 2), (1, 2, 3), (4, 2, 3), (0,), (2, 1, 1)])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_sum_refuses_a_shape_that_does_not_broadcast(wrong, dtype):
    with pytest.raises(ValueError, match="broadcast"):
        sum_to_shape(np.ones((2, 3), dtype), wrong)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("target", [(3,), (4, 1), (), (1, 1)])
def test_sums_propagate_nan_and_infinity(target, dtype):
    x = np.ones((4, 3), dtype)
    x[0, 0], x[1, 1], x[2, 2], x[3, 2] = np.nan, np.inf, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(sum_to_shape(x, target), naive.sum_to_shape(x, target))


def test_the_other_byte_order_is_only_slower():
    x = np.arange(6.0).reshape(2, 3).astype(np.dtype(np.float64).newbyteorder())
    np.testing.assert_array_equal(sum_to_shape(x, (3,)), [3, 5, 7])
    total = x.copy()
    accumulate(total, x)
    np.testing.assert_array_equal(total, 2 * x)
    classes = np.array([0, 2])
    np.testing.assert_allclose(indexed_losses(x, classes)[0], naive.softmax_cross_entropy(x, classes, "none"))
    np.testing.assert_allclose(indexed_excess(x, classes), naive.softmax_excess(x.astype(float), classes))


@pytest.mark.parametrize("offset", [1, 4])
def test_unaligned_arrays_are_read_as_they_are(offset):
    x = np.frombuffer(bytes(offset) + np.arange(6.0).tobytes(), offset=offset).reshape(2, 3)
    np.testing.assert_array_equal(sum_to_shape(x, (3,)), [3, 5, 7])
    total = np.zeros((2, 3))
    accumulate(total, x)
    np.testing.assert_array_equal(total, x)


# ---- accumulate ----------------------------------------------------------------------------------


@quick
@given(st.data())
def test_accumulate_is_addition_in_place(data):
    shape = data.draw(small_shapes)
    dtype = data.draw(st.sampled_from(DTYPES))
    total, contribution = data.draw(arrays(shape, dtype)), data.draw(arrays(shape, dtype))
    expected, copy = total + contribution, contribution.copy()
    accumulate(total, contribution)
    np.testing.assert_array_equal(total, expected)
    np.testing.assert_array_equal(contribution, copy)


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537])
def test_accumulate_on_both_sides_of_the_switch(size):
    total = np.arange(size, dtype=float)
    accumulate(total, total[::-1].copy())
    np.testing.assert_array_equal(total, np.full(size, size - 1.0))


def test_accumulating_an_array_onto_itself_doubles_it():
    total = np.arange(5.0)
    accumulate(total, total)
    np.testing.assert_array_equal(total, 2 * np.arange(5.0))


def test_accumulate_takes_what_broadcasting_made():
    total = np.zeros((2, 3))
    accumulate(total, np.broadcast_to(np.arange(3.0), (2, 3)))
    np.testing.assert_array_equal(total, [[0, 1, 2], [0, 1, 2]])


def test_accumulate_propagates_nan_and_infinity():
    total = np.array([np.nan, np.inf, 1.0, -0.0])
    accumulate(total, np.array([1.0, 1.0, np.nan, -0.0]))
    np.testing.assert_array_equal(total, [np.nan, np.inf, np.nan, -0.0])
    assert np.signbit(total[3])


# ---- Scattered -----------------------------------------------------------------------------------


def check_scattered(shape, index, dtype):
    rng = np.random.default_rng(0)
    start = rng.integers(-8, 8, shape).astype(dtype)
    values = rng.integers(-8, 8, np.shape(start[index])).astype(dtype)
    expected, total = start.copy(), start.copy()
    np.add.at(expected, index, values)
    scattered = Scattered(values, index if isinstance(index, tuple) else (index,), shape)
    accumulate(total, scattered)
    np.testing.assert_array_equal(total, expected)
    np.testing.assert_array_equal(scattered.dense(), expected - start)
    assert scattered.dense().dtype == scattered.dtype == dtype


@quick
@given(st.data(), st.sampled_from([*FLOATS, np.complex128, np.complex64]))
def test_scattering_is_np_add_at(data, dtype):
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=4))
    index = data.draw(
        hnp.integer_array_indices(shape)
        | hnp.basic_indices(shape, allow_newaxis=True)
        | hnp.arrays(bool, shape[:1])
    )
    check_scattered(shape, index, dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.complex64])
@pytest.mark.parametrize("times", [1, 20])
@pytest.mark.parametrize(
    "parts",
    [
        ":, rows", ":, :, rows", "..., rows", "..., rows, :", "rows, rows[::-1]", "rows, 1", "-1, rows",
        ":, rows, rows", "rows[:, None], rows", ":, rows, rows[:, None]", "rows, rows, rows", "plane,",
        ":, line", "plane, rows[:1]", "whole,", "..., plane", "rows, :, rows", "1:, rows", "None, rows",
        "rows, None", "True, rows", "rows, ..., 1", "line, rows[:2]", "0, line", ":, zero, rows",
    ],
)  # fmt: skip
def test_every_kind_of_index_scatters(parts, times, dtype):
    arrays = {
        "rows": np.tile([0, 2, 2, -1], times),
        "zero": np.array(0),
        "line": np.array([True, False, True]),
        "plane": np.eye(3, dtype=bool),
        "whole": np.ones((3, 3, 3), bool),
    }
    check_scattered((3, 3, 3), eval(f"np.s_[{parts}]", {"np": np, **arrays}), dtype)


@pytest.mark.parametrize(
    ("index", "shape"),
    [
        ((np.array([0, 3]), np.array([0, 0])), (2,)),
        ((np.arange(40), np.array([0])), (40,)),
        ((slice(None), np.array([-4])), (3, 1)),
        ((slice(None), np.arange(-40, 0)), (3, 40)),
    ],
)
def test_positions_that_no_longer_fit_are_refused(index, shape):
    total = np.zeros((3, 3))
    with pytest.raises(IndexError, match="changed in place"):
        Scattered(np.ones(shape), index, (3, 3)).add_to(total)
    assert not total.any()


@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 3, 2)])
@pytest.mark.parametrize("index", [[0, 0, 3, -1], [], [[1, 1], [-4, 1]]], ids=str)
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_rows_named_more_than_once_add_up(shape, index, dtype):
    rows = np.array(index, np.int64) % 4 if dtype is np.uint8 else np.array(index, np.int64)
    rows = rows.astype(dtype)
    check_scattered(shape, (rows,), np.float64)
    check_scattered(shape, (rows,), np.float32)


@pytest.mark.parametrize("shape", [(3,), (3, 2)])
@pytest.mark.parametrize("wrong", [3, 5, -4])
def test_scattering_outside_the_array_is_refused(shape, wrong):
    """An index array is the user's, who may have changed it since."""
    around = np.zeros((12, *shape[1:]))
    total = around[4:7]
    with pytest.raises(IndexError):
        Scattered(np.ones((1, *shape[1:])), (np.array([wrong]),), shape).add_to(total)
    assert not around.any()


# ---- cross-entropy -------------------------------------------------------------------------------


@quick
@given(st.data())
def test_cross_entropy_kernels_are_the_formulas(data):
    lead = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
    count = data.draw(st.integers(1, 5))
    dtype = data.draw(st.sampled_from(FLOATS))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    logits = laid_out(rng.normal(size=(*lead, count)).astype(dtype), data.draw(layouts))
    classes = rng.integers(0, count, lead).astype(data.draw(st.sampled_from([np.int64, np.int32, np.uint8])))
    classes = laid_out(classes, data.draw(layouts))
    copies = logits.copy(), classes.copy()
    (losses, total), excess = indexed_losses(logits, classes), indexed_excess(logits, classes, 0.5)
    wide = logits.astype(np.float64)
    assert losses.dtype == excess.dtype == dtype
    close = {"rtol": 0, "atol": 20 * precision(dtype)}
    np.testing.assert_allclose(losses, naive.softmax_cross_entropy(wide, classes, "none"), **close)
    np.testing.assert_allclose(total, np.sum(losses, dtype=float), rtol=0, atol=60 * precision(dtype))
    np.testing.assert_allclose(excess, 0.5 * naive.softmax_excess(wide, classes), **close)
    np.testing.assert_array_equal(logits, copies[0])
    np.testing.assert_array_equal(classes, copies[1])


both_paths = pytest.mark.parametrize("layout", ["C", "F"])  # the kernel; NumPy


@both_paths
@pytest.mark.parametrize("wrong", [-1, 4, 2**40])
def test_a_class_that_does_not_exist_is_refused(layout, wrong):
    with pytest.raises(IndexError, match="there are 4 classes"):
        indexed_losses(laid_out(np.zeros((3, 4)), layout), np.array([0, 3, wrong]))


@both_paths
def test_classes_that_changed_since_the_losses_are_refused(layout):
    """They are the user's array: a buffer for the next batch may have overwritten it."""
    with pytest.raises(IndexError):
        indexed_excess(laid_out(np.zeros((3, 4)), layout), np.array([0, 3, -1]))


@both_paths
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_extremes_neither_overflow_nor_turn_into_nan(layout, dtype):
    logits = laid_out(np.array([[1e4, -1e4, 0], [-np.inf, 0, 0], [0, 0, 0]], dtype), layout)
    classes = np.array([1, 0, 0])
    (losses, total), excess = indexed_losses(logits, classes), indexed_excess(logits, classes)
    assert total == np.inf
    np.testing.assert_allclose(losses, [2e4, np.inf, np.log(3)], rtol=1e-6)
    np.testing.assert_allclose(excess[:2], [[1, -1, 0], [-1, 0.5, 0.5]], rtol=1e-6)


@both_paths
@pytest.mark.parametrize("place", [0, 1, 2])
def test_nan_in_a_row_makes_its_loss_and_gradient_nan(layout, place):
    logits = np.zeros((3, 3))
    logits[1, place] = np.nan
    logits, classes = laid_out(logits, layout), np.zeros(3, np.int64)
    (losses, total), excess = indexed_losses(logits, classes), indexed_excess(logits, classes)
    assert np.isnan(total)
    np.testing.assert_array_equal(np.isnan(losses), [False, True, False])
    np.testing.assert_array_equal(np.isnan(excess), np.arange(3)[:, None] == [1, 1, 1])


@quick
@given(hnp.arrays(np.float64, (4, 3), elements=st.floats(-50, 50)), st.floats(-1e3, 1e3))
def test_a_constant_added_to_all_logits_changes_nothing(logits, shift):
    classes = np.array([0, 1, 2, 0])
    np.testing.assert_allclose(
        indexed_losses(logits + shift, classes)[0], indexed_losses(logits, classes)[0], rtol=0, atol=1e-11
    )
    np.testing.assert_allclose(indexed_excess(logits, classes).sum(axis=1), 0, atol=1e-14)
