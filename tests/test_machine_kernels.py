"""The kernels that only compiled code can call, against NumPy; none writes beside what it should."""

import ctypes
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tape.kernels.codes import (
    BY_ROWS,
    DTYPE_CODES,
    FOLDS,
    LETTERS,
    MOST_SHORT,
    PAIRS,
    SCALARS,
    SCANS,
    SHORT,
    has_fold,
    has_scan,
)
from tape.kernels.loading import native
from tape.program.native.opcodes import SLOTS, packed
from tests.tiers import rounds, takes_long

quick = settings(max_examples=rounds(100))
FLOATS = [np.float64, np.float32]
DTYPES = [np.float64, np.float32, np.int64, np.int32, np.bool_]
ITEMSIZES = {8: np.float64, 4: np.float32, 1: np.bool_}
SPECIAL = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e30, -1e30, 1e-45, -1e-45]


ARGUMENTS = {
    "fold": 7, "load": 8, "store": 7, "cast": 5, "select": 8, "by_rows": 9, "pair": 7, "take": 8,
    "scatter_add": 8, "scalars": 3, "shorts": 3, "sum_product": 7, "scan": 9, "solve": 8, "cholesky": 7,
    "triangular_solve": 7,
}  # fmt: skip
RETURNING = {"take", "scatter_add", "solve", "cholesky", "triangular_solve"}


def kernel(name):
    """The machine's own code: all arguments and the result, if there is one, are int64."""
    result = ctypes.c_int64 if name in RETURNING else None
    signature = ctypes.CFUNCTYPE(result, *[ctypes.c_int64] * ARGUMENTS[name])
    return signature(native().addresses[name])


_fold, _load, _store, _cast = map(kernel, ("fold", "load", "store", "cast"))
_select, _take, _scatter_add = map(kernel, ("select", "take", "scatter_add"))
_by_rows, _pair = map(kernel, ("by_rows", "pair"))
_scalars, _shorts, _sum_product, _scan = map(kernel, ("scalars", "shorts", "sum_product", "scan"))


def address(x):
    return x.__array_interface__["data"][0]


def code(dtype):
    return DTYPE_CODES[np.dtype(dtype)]


class Fenced:
    """Memory for an array, between memory that nobody may write to."""

    def __init__(self, shape, dtype):
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        self.memory = np.full(size + 128, 0x5A, np.uint8)
        self.array = self.memory[64 : 64 + size].view(dtype).reshape(shape)

    def done(self):
        assert (self.memory[:64] == 0x5A).all()
        assert (self.memory[len(self.memory) - 64 :] == 0x5A).all()
        return self.array


def special(dtype, shape, seed):
    """Random values among which are all that are treated in a special way."""
    rng = np.random.default_rng(seed)
    if dtype is np.bool_:
        return rng.random(shape) < rng.choice([0, 0.1, 0.5, 1])
    if np.dtype(dtype).kind == "i":
        return rng.choice(np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, -2, -1, 0, 1, 2], dtype), shape)
    values = rng.choice(np.array(SPECIAL[rng.choice([0, 2, 4, 6]) :], np.float64), shape)
    return values.astype(dtype)


# ---- folds ---------------------------------------------------------------------------------------


def run_fold(kind, x):
    before, reduced, after = x.shape
    dtype = {"any": bool, "all": bool, "argmax": np.int64, "argmin": np.int64}.get(kind, x.dtype)
    dtype = np.dtype(np.int64) if (kind, x.dtype) == ("sum", bool) else dtype
    out = Fenced((before, after), dtype)
    copy = x.copy()
    _fold(FOLDS[kind], code(x.dtype), address(x), before, reduced, after, address(out.array))
    np.testing.assert_array_equal(x, copy)
    return out.done()


def by_numpy(kind, x):
    with np.errstate(all="ignore"):
        return getattr(np, kind)(x, axis=1)


# Around what is done by vectors, by fours of them or of rows, and in blocks.
reduced_lengths = st.integers(0, 20) | st.sampled_from([31, 33, 63, 128, 513, 2048, 2049, 2055])
before_lengths = st.integers(0, 9)
after_lengths = st.integers(0, 9) | st.sampled_from([15, 16, 17, 64, 65])


@quick
@given(
    kind=st.sampled_from(sorted(FOLDS)), dtype=st.sampled_from(DTYPES), before=before_lengths,
    reduced=reduced_lengths, after=st.just(1) | after_lengths, seed=st.integers(0, 99),
)  # fmt: skip
def test_folds_are_numpys(kind, dtype, before, reduced, after, seed):
    if not has_fold(kind, dtype):
        return
    if kind in ("sum", "prod"):  # of small integers: exact in any order
        x = np.random.default_rng(seed).integers(-1, 2, (before, reduced, after)).astype(dtype)
    else:
        reduced = max(reduced, 1)
        x = special(dtype, (before, reduced, after), seed)
    out, expected = run_fold(kind, x), by_numpy(kind, x)
    assert out.dtype == expected.dtype
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("after", [1, 3])
def test_bytes_other_than_one_count_once(after):
    x = np.random.default_rng(0).integers(0, 256, (3, 500, after)).astype(np.uint8)
    np.testing.assert_array_equal(run_fold("sum", x.view(bool)), np.count_nonzero(x, axis=1))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(3, 4, 1), (2, 37, 1), (2, 9, 3)])
def test_products_are_taken_in_order(dtype, shape):
    """In another one some overflow that NumPy's do not, and infinity times zero is NaN."""
    rng, large = np.random.default_rng(0), np.finfo(dtype).max / 2
    for _ in range(rounds(60, 20)):
        x = rng.choice(np.array([0.0, 1.5, -1.0, large, -large, 1 / large], dtype), shape)
        in_order = np.ones((shape[0], shape[2]), dtype)
        with np.errstate(all="ignore"):
            for k in range(shape[1]):
                in_order *= x[:, k]
            np.testing.assert_array_equal(run_fold("prod", x), in_order)


def test_every_fold_that_is_promised_is_tried():
    assert {kind for kind in FOLDS for dtype in DTYPES if has_fold(kind, dtype)} == set(FOLDS)
    assert not any(has_fold(kind, dtype) for kind in FOLDS for dtype in (np.complex128, np.float16, np.uint8))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("shape", [(2, 700, 1), (5, 7, 1), (6, 3, 1), (3, 21, 1), (1, 7, 5), (2, 9, 11)])
def test_folds_propagate_nan_and_infinity_from_anywhere(kind, dtype, shape):
    for at in range(min(shape[1], 40)):
        x = np.ones(shape, dtype)
        x[:, -at] = np.inf
        np.testing.assert_array_equal(run_fold(kind, x), by_numpy(kind, x))
        x[1:, -1 - at, 0] = np.nan
        np.testing.assert_array_equal(run_fold(kind, x), by_numpy(kind, x))
        x[0, -1 - at, -1] = -np.inf
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(run_fold(kind, x), by_numpy(kind, x))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("shape", [(1, 3, 1), (2, 9, 1), (1, 3, 9), (1, 2, 3)])
def test_the_sign_of_a_zero_is_kept(kind, dtype, shape):
    x = np.full(shape, -0.0, dtype)
    assert np.signbit(run_fold(kind, x)).all()


@pytest.mark.parametrize("size", [1_000, 1_000_000])
def test_long_sums_in_float32_are_right_to_the_last_bits(size):
    x = np.random.default_rng(0).uniform(0.5, 1.5, (1, size, 1)).astype(np.float32)
    np.testing.assert_allclose(run_fold("sum", x)[0, 0], x.sum(dtype=float), rtol=1.2e-7)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3, 500, 1), (2, 100, 7)])
def test_sums_and_products_of_random_values(dtype, shape):
    x = np.random.default_rng(0).uniform(0.9, 1.1, shape).astype(dtype)
    wide = x.astype(np.longdouble)
    rtol = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(run_fold("sum", x), by_numpy("sum", wide).astype(float), rtol=rtol)
    np.testing.assert_allclose(run_fold("prod", x), by_numpy("prod", wide).astype(float), rtol=rtol)


# ---- products ------------------------------------------------------------------------------------


def run_sum_product(x, y):
    before, reduced, after = x.shape
    out = Fenced((before, after), x.dtype)
    _sum_product(code(x.dtype), before, reduced, after, address(x), address(y), address(out.array))
    return out.done()


@quick
@given(
    dtype=st.sampled_from(FLOATS), before=before_lengths, reduced=reduced_lengths,
    after=st.just(1) | after_lengths, seed=st.integers(0, 99),
)  # fmt: skip
def test_sum_product_is_the_sum_of_the_products(dtype, before, reduced, after, seed):
    rng = np.random.default_rng(seed)  # small integers: exact in any order
    x, y = (rng.integers(-3, 4, (before, reduced, after)).astype(dtype) for _ in range(2))
    np.testing.assert_array_equal(run_sum_product(x, y), (x * y).sum(axis=1))
    special_x = special(dtype, x.shape, seed) if reduced else x
    with np.errstate(all="ignore"):
        expected = np.isnan((special_x * y).sum(axis=1, dtype=float))
        np.testing.assert_array_equal(np.isnan(run_sum_product(special_x, y)), expected)


def test_long_products_in_float32_are_right_to_the_last_bits():
    x, y = np.random.default_rng(0).uniform(0.5, 1.5, (2, 1, 1_000_000, 1)).astype(np.float32)
    expected = np.vdot(x.astype(float), y.astype(float))
    np.testing.assert_allclose(run_sum_product(x, y)[0, 0], expected, rtol=1.2e-7)


# ---- scans ---------------------------------------------------------------------------------------


def run_scan(kind, x, factors=None, backwards=False):
    out = Fenced(x.shape, x.dtype)
    y = x if factors is None else factors
    _scan(SCANS[kind], code(x.dtype), *x.shape, backwards, address(x), address(y), address(out.array))
    return out.done()


def accumulated(kind, x):
    ufunc = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "logaddexp": np.logaddexp}[kind]
    with np.errstate(all="ignore"):
        return ufunc.accumulate(x, axis=1, dtype=x.dtype)


scanned_shapes = st.tuples(
    st.integers(0, 4), st.integers(1, 20) | st.just(300), st.integers(0, 9) | st.just(1)
)


@quick
@given(
    kind=st.sampled_from(sorted(SCANS.keys() - {"linear"})), dtype=st.sampled_from(DTYPES),
    shape=scanned_shapes, backwards=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_scans_are_numpys(kind, dtype, shape, backwards, seed):
    """Sums, products and extremes in the same order, to the last bit."""
    if not has_scan(kind, dtype):
        return
    for x in (np.random.default_rng(seed).normal(size=shape).astype(dtype), special(dtype, shape, seed)):
        turn = slice(None, None, -1 if backwards else 1)
        found, expected = run_scan(kind, x, backwards=backwards), accumulated(kind, x[:, turn])[:, turn]
        if kind == "logaddexp":
            np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps)
        else:
            np.testing.assert_array_equal(found, expected)


@quick
@given(st.sampled_from(FLOATS), scanned_shapes, st.booleans(), st.integers(0, 99))
def test_recurrences_are_done_step_by_step(dtype, shape, backwards, seed):
    x, factors = np.random.default_rng(seed).normal(size=(2, *shape)).astype(dtype)
    expected = x.copy()
    order = range(shape[1])[:: -1 if backwards else 1]
    for before, at in pairwise(order):
        expected[:, at] += factors[:, at] * expected[:, before]
    np.testing.assert_array_equal(run_scan("linear", x, factors, backwards), expected)


# ---- copies --------------------------------------------------------------------------------------


@st.composite
def strided_views(draw, can_repeat):
    """A view of an array: sliced with any step, axes exchanged, repeated."""
    dtype = draw(st.sampled_from([np.float64, np.float32, np.bool_, np.int64]))
    lengths = draw(st.lists(st.integers(1, 5) | st.just(19), max_size=4))
    steps = [draw(st.sampled_from([1, 1, 2, -1, -3])) for _ in lengths]
    base = np.random.default_rng(0).integers(
        0, 100, [n * abs(s) for n, s in zip(lengths, steps, strict=True)]
    )
    base = base.astype(dtype)
    view = base[(*(slice(None, None, step) for step in steps), ...)]
    view = view.transpose(draw(st.permutations(range(view.ndim))))
    if can_repeat:
        shape = [n if draw(st.booleans()) else 1 for n in view.shape]
        view = np.broadcast_to(view[(*(slice(n) for n in shape), ...)], view.shape)
    return base, view


def table(numbers):
    return np.array(numbers, np.int64)


@quick
@given(strided_views(can_repeat=True), st.data())
def test_load_reads_any_part_of_any_layout(views, data):
    _, x = views
    start = data.draw(st.integers(0, x.size))
    count = data.draw(st.sampled_from([x.size - start, data.draw(st.integers(0, x.size - start))]))
    out, dims, strides = Fenced(count, x.dtype), table(x.shape), table(x.strides)
    _load(address(x), x.itemsize, x.ndim, address(dims), address(strides), start, count, address(out.array))
    np.testing.assert_array_equal(out.done(), x.reshape(-1)[start : start + count])


def test_load_reads_every_part_of_blocks_of_planes():
    for shape in ((4, 2, 1, 1), (3, 3, 2, 2), (2, 2, 3, 1, 2)):
        x = np.arange(float(2 ** len(shape) * np.prod(shape))).reshape([2 * n for n in shape])
        x = x[(slice(None, None, 2),) * len(shape)]
        dims, strides, flat = table(x.shape), table(x.strides), x.reshape(-1)
        for start, stop in combinations(range(x.size + 1), 2):
            out = Fenced(stop - start, x.dtype)
            where, to = (address(x), x.itemsize, x.ndim, address(dims), address(strides)), address(out.array)
            _load(*where, start, stop - start, to)
            np.testing.assert_array_equal(out.done(), flat[start:stop])


@quick
@given(strided_views(can_repeat=False))
def test_store_writes_to_the_view_and_nowhere_else(views):
    base, view = views
    x = np.random.default_rng(1).integers(0, 2, view.shape).astype(view.dtype)
    expected = base.copy()
    before = address(base)
    expected_view = np.lib.stride_tricks.as_strided(
        expected.reshape(-1)[(address(view) - before) // base.itemsize :], view.shape, view.strides
    )
    expected_view[...] = x
    dims, strides = table(view.shape), table(view.strides)
    _store(address(x), x.itemsize, x.ndim, address(dims), address(strides), x.size, address(view))
    np.testing.assert_array_equal(base, expected)


@quick
@given(
    dtype=st.sampled_from([np.float64, np.float32, np.bool_]), rows=st.integers(1, 5),
    columns=st.integers(1, 45) | st.sampled_from([63, 64, 65, 128, 129, 300]), seed=st.integers(0, 99),
)  # fmt: skip
def test_rows_of_any_length_are_read_and_written(dtype, rows, columns, seed):
    whole = special(dtype, (rows, columns + 3), seed)
    part = whole[:, 1 : columns + 1]
    shape = part.shape
    repeated = [np.broadcast_to(piece, shape) for piece in (part[:1], part[:, :1], part[0, 0])]
    for x in (part, part[::-1], *repeated):
        out, dims, strides = Fenced(shape, dtype), table(x.shape), table(x.strides)
        _load(address(x), x.itemsize, 2, address(dims), address(strides), 0, x.size, address(out.array))
        assert out.done().tobytes() == x.tobytes()
    expected, x = whole.copy(), special(dtype, shape, seed + 1)
    expected[:, 1 : columns + 1] = x
    dims, strides = table(shape), table(part.strides)
    _store(address(x), x.itemsize, 2, address(dims), address(strides), x.size, address(part))
    assert whole.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.bool_])
@pytest.mark.parametrize(
    "shape", [(100, 130), (3, 1000), (1000, 3), (999, 2), (70, 4), (40, 40, 40), (60, 10, 3), (60, 2, 3)]
)
def test_large_transposes_and_repeats(shape, dtype):
    x = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    first, each = x[:1], x[..., :1]
    repeated = [np.broadcast_to(part, shape) for part in (first, each, each.copy(), x[:, :1])]
    for view in (x.T, x.swapaxes(0, 1), *repeated):
        out, dims, strides = Fenced(view.shape, dtype), table(view.shape), table(view.strides)
        _load(
            address(view), x.itemsize, x.ndim, address(dims), address(strides), 0, x.size, address(out.array)
        )
        np.testing.assert_array_equal(out.done(), view)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "shape", [(100, 130), (3, 1000), (1000, 3), (999, 2), (17, 5), (6, 40, 3), (60, 2, 5)]
)
def test_large_transposes_are_written_to_nowhere_else(shape, dtype):
    whole = np.zeros((*shape[:-1], shape[-1] + 1), dtype)
    for part in (np.zeros(shape, dtype), whole[..., :-1]):
        view = part.swapaxes(-1, -2)
        x = np.random.default_rng(0).normal(size=view.shape).astype(dtype)
        dims, strides = table(view.shape), table(view.strides)
        _store(address(x), x.itemsize, x.ndim, address(dims), address(strides), x.size, address(view))
        np.testing.assert_array_equal(view, x)
    assert not whole[..., -1].any()


# ---- casts and choices ---------------------------------------------------------------------------


@quick
@given(st.sampled_from(DTYPES), st.sampled_from(DTYPES), st.integers(0, 70), st.integers(0, 99))
def test_casts_are_numpys(source_dtype, dtype, count, seed):
    x = np.random.default_rng(seed).normal(0, 1e3, count).astype(source_dtype)
    if np.dtype(dtype).kind in "bf":
        x = special(source_dtype, count, seed)
    out = Fenced(count, dtype)
    _cast(code(source_dtype), code(dtype), address(x), count, address(out.array))
    with np.errstate(all="ignore"):
        expected = x.astype(dtype)
    np.testing.assert_array_equal(out.done(), expected)
    if dtype is np.bool_:
        np.testing.assert_array_equal(out.array.view(np.uint8), expected.view(np.uint8))


@quick
@given(
    itemsize=st.sampled_from(sorted(ITEMSIZES)), count=st.integers(0, 300), x_is_one=st.booleans(),
    y_is_one=st.booleans(), place=st.sampled_from(["apart", "in x", "in y"]), seed=st.integers(0, 99),
)  # fmt: skip
def test_select_is_where(itemsize, count, x_is_one, y_is_one, place, seed):
    dtype = ITEMSIZES[itemsize]
    condition, out = special(np.bool_, count, seed), Fenced(count, dtype)
    x, y = (
        special(dtype, 1 if x_is_one else count, seed + 1),
        special(dtype, 1 if y_is_one else count, seed + 2),
    )
    expected = np.where(condition, x, y)
    if place == "in x" and not x_is_one:
        out.array[...] = x
        x = out.array
    elif place == "in y" and not y_is_one:
        out.array[...] = y
        y = out.array
    x_stride, y_stride = (0 if is_one else itemsize for is_one in (x_is_one, y_is_one))
    _select(
        itemsize, address(condition), address(x), x_stride, address(y), y_stride, count, address(out.array)
    )
    np.testing.assert_array_equal(out.done(), expected)


@quick
@given(
    data=st.data(), key=st.sampled_from(sorted(BY_ROWS)), dtype=st.sampled_from(FLOATS),
    rows=st.integers(1, 9), columns=st.integers(1, 70), step=st.integers(-2, 3), in_place=st.booleans(),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_rows_are_combined_with_their_numbers_as_numpy_combines_them(
    data, key, dtype, rows, columns, step, in_place, seed
):
    """Any elements that follow one another, the numbers of their rows being any distance apart."""
    (name, position), size = key, np.dtype(dtype).itemsize
    x, spread = special(dtype, (rows, columns), seed), special(dtype, rows * max(abs(step), 1), seed + 1)
    first = (rows - 1) * -step if step < 0 else 0
    numbers = spread[[first + k * step for k in range(rows)]][:, None]
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(*((numbers, x) if position == 0 else (x, numbers))).reshape(-1)
    start = data.draw(st.integers(0, x.size - 1))
    count = data.draw(st.integers(0, x.size - start))
    out, some = Fenced(count, dtype), x.reshape(-1)[start : start + count]
    if in_place:
        out.array[...] = some
        some = out.array
    y = address(spread) + first * size
    _by_rows(BY_ROWS[key], size, columns, start, count, address(some), y, step * size, address(out.array))
    np.testing.assert_array_equal(out.done(), expected[start : start + count])
    is_number = ~np.isnan(out.array)
    signs = np.signbit(out.array), np.signbit(expected[start : start + count])
    np.testing.assert_array_equal(signs[0][is_number], signs[1][is_number])


@quick
@given(
    key=st.sampled_from(sorted(PAIRS)), dtype=st.sampled_from(FLOATS), count=st.integers(1, 150),
    written=st.sampled_from(["out", "x", "y", "z"]), seed=st.integers(0, 99),
)  # fmt: skip
def test_two_operations_at_once_are_those_of_numpy_one_after_the_other(key, dtype, count, written, seed):
    """Each rounds, zeros have the same signs, and the result may be where an array is."""
    first, second, form = key
    given = [
        special(dtype, 1 if letter == "n" else count, seed + k) * [1, 1.1, 0.7][k]
        for k, letter in enumerate(form)
    ]
    given = [array.astype(dtype) for array in given]
    with np.errstate(all="ignore"):
        between, z = getattr(np, first)(*given[:2]), given[2]
        pair = (z, between) if second == "subtract_from" else (between, z)
        expected = getattr(np, second.removesuffix("_from"))(*pair)
    out = Fenced(count, dtype)
    k = "xyz".find(written)
    if k >= 0 and form[k] == "a":
        out.array[...] = given[k]
        given[k] = out.array
    _pair(PAIRS[key], np.dtype(dtype).itemsize, count, *map(address, given), address(out.array))
    np.testing.assert_array_equal(out.done(), expected)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(out.array)[is_number], np.signbit(expected)[is_number])


# ---- positions -----------------------------------------------------------------------------------

lengths = st.integers(0, 4)


@st.composite
def positions(draw, count, length):
    """Positions along an axis, now and then one that is not there."""
    inside = st.integers(-length, length - 1) if length else st.nothing()
    outside = st.sampled_from([length, -length - 1, 2**62, -(2**63)])
    is_bad = draw(st.sampled_from([False, False, True])) or (count > 0 and length == 0)
    index = [draw(outside if length == 0 else inside) for _ in range(count)]
    if is_bad and count:
        index[draw(st.integers(0, count - 1))] = draw(outside)
    return np.array(index, np.int64), not (is_bad and count)


@quick
@given(
    st.data(),
    st.sampled_from(sorted(ITEMSIZES)),
    lengths,
    lengths,
    st.integers(0, 20),
    st.sampled_from([0, 1, 1, 3]),
)
def test_take_is_numpys(data, itemsize, before, length, count, row_items):
    index, is_good = data.draw(positions(count, length))
    x = special(ITEMSIZES[itemsize], (before, length, row_items), 0)
    out = Fenced((before, count, row_items), x.dtype)
    done = _take(itemsize, address(x), length, row_items, address(index), count, before, address(out.array))
    assert done == is_good
    out.done()
    if is_good:
        np.testing.assert_array_equal(out.array, x[:, index])
    else:
        assert (out.memory == 0x5A).all()


@quick
@given(
    st.data(), st.sampled_from(FLOATS), lengths, lengths, st.integers(0, 20), st.sampled_from([0, 1, 1, 3])
)
def test_scatter_add_is_add_at(data, dtype, before, length, count, row_items):
    index, is_good = data.draw(positions(count, length))
    rng = np.random.default_rng(0)
    total = Fenced((before, length, row_items), dtype)
    total.array[...] = rng.integers(-8, 8, total.array.shape)
    values = rng.integers(-8, 8, (before, count, row_items)).astype(dtype)
    expected = total.array.copy()
    done = _scatter_add(
        code(dtype), address(total.array), length, row_items, address(index), count, before, address(values)
    )
    assert done == is_good
    if is_good:
        np.add.at(expected, (slice(None), index), values)
    np.testing.assert_array_equal(total.done(), expected)


@pytest.mark.parametrize("itemsize", [8, 4])
@pytest.mark.parametrize("row_items", [1, 2])
@pytest.mark.parametrize("value", [2**40 + 2**8, -(2**40) - 2**8])
def test_indices_that_change_while_they_are_read_name_no_other_memory(itemsize, row_items, value):
    """As another thread may change them: here what is taken or added lands in the indices that come later."""
    count, later, source = 1200, 600, np.full(8, value)
    index = np.zeros(count + later + count * row_items, np.int64)
    assert not _take(
        itemsize, address(source), 3, row_items, address(index), count, 1, address(index) + 8 * later
    )
    index = np.zeros(count, np.int64)
    values = np.full(count * row_items, value, np.int64)
    kind = FLOATS[itemsize == 4]
    assert not _scatter_add(
        code(kind), address(index) + 8 * later, 3, row_items, address(index), count, 1, address(values)
    )


# ---- single numbers ------------------------------------------------------------------------------

SPECIAL_INTS = [0, 1, -1, 2**63 - 1, -(2**63)]
NUMBERS = {
    "f": st.floats() | st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 1e-300, 710.0, -745.0]),
    "i": st.integers(-(2**63), 2**63 - 1) | st.sampled_from(SPECIAL_INTS),
    "b": st.booleans(),
}
OF_LETTER = {letter: dtype for dtype, letter in LETTERS.items()}
OWN = {  # not ufuncs; of two operands, what was there before, and whether the first one is chosen
    "where": lambda x, y, before, is_chosen: x if is_chosen else y,
    "cast": lambda x, y, before, is_chosen: x,
    "plus_zero": lambda x, y, before, is_chosen: x + 0.0,
    "multiply_plus_zero": lambda x, y, before, is_chosen: x * y + 0.0,
    "multiply_add": lambda x, y, before, is_chosen: before + x * y,
    "positive": lambda x, y, before, is_chosen: x,
}


def run_scalars(entries, memory):
    """Run entries whose operands are distances in bytes from the beginning of memory."""
    frame, entries = np.zeros(SLOTS + 1, np.int64), np.array(entries, np.int64)
    frame[SLOTS] = address(memory)
    _scalars(address(frame), address(entries), len(entries))


@takes_long
@pytest.mark.parametrize(
    ("name", "signature"), [key for key in SCALARS if key[0] != "condition"], ids=lambda part: part
)
def test_scalar_code_is_numpys(name, signature):
    letters, letter = signature.split("->")
    kind, out, two = OF_LETTER[letters[0]], OF_LETTER[letter], len(letters) == 2

    @settings(max_examples=rounds(60))
    @given(NUMBERS[signature[0]], NUMBERS[signature[0]], NUMBERS[signature[-1]], st.sampled_from([0, 1, 255]))
    def check(a, b, before, condition):
        memory = np.full(64, 0x5A, np.uint8)
        x, y = (memory[at : at + kind.itemsize].view(kind) for at in (8, 16))
        result = memory[24 : 24 + out.itemsize].view(out)
        x[0], y[0], result[0], memory[40] = a, b, before, condition
        expected_memory = memory.copy()
        entries = [
            (SCALARS["condition", "b->"], 40, 40, 40),
            (SCALARS[name, signature], 8, 16 if two else 8, 24),
        ]
        with np.errstate(all="ignore"):
            if name in OWN:
                expected = OWN[name](x[0], y[0], result[0], condition != 0)
            else:
                expected = getattr(np, name)(x[0], *([y[0]] if two else []))
        run_scalars(entries, memory)
        found = result.copy()
        expected_memory[24 : 24 + out.itemsize] = memory[24 : 24 + out.itemsize]
        np.testing.assert_array_equal(memory, expected_memory)  # nothing else is written
        expected = np.array([expected], out)
        if out.kind == "f" and np.isfinite(expected[0]):
            np.testing.assert_array_max_ulp(found, expected, maxulp=4)
        else:
            np.testing.assert_array_equal(found, expected)
        if out.kind == "f" and name not in ("maximum", "minimum", "power"):
            np.testing.assert_array_equal(
                np.signbit(found) | np.isnan(found), np.signbit(expected) | np.isnan(expected)
            )

    check()


@pytest.mark.parametrize(("name", "letter", "form"), SHORT, ids=lambda part: part)
def test_code_of_short_arrays_is_numpys(name, letter, form):
    """To the last bit, whatever is left after whole registers, in place, and beside each other."""
    dtype = np.dtype({"f": np.float64, "s": np.float32}[letter])
    two = (name, letter, "first") in SHORT

    @settings(max_examples=rounds(40))
    @given(st.integers(1, MOST_SHORT), st.integers(0, 2**32 - 1), st.sampled_from(["apart", "x", "y"]))
    def check(count, seed, place):
        rng = np.random.default_rng(seed)
        x, y, out = (Fenced(count, dtype) for _ in range(3))
        for fenced in (x, y):
            fenced.array[...] = rng.choice([*SPECIAL, *rng.normal(size=20)], count)
        place = "y" if place == "x" and not two else place
        if form == {"x": "first", "y": "second"}.get(place):  # where results go is as long as they are
            place = "apart"
        target = {"apart": out, "x": x, "y": y}[place]
        first = x.array[:1] if form == "first" else x.array
        second = y.array[:1] if form == "second" else y.array
        with np.errstate(all="ignore"):
            expected = np.array(getattr(np, name)(*([first, second] if two else [second])))
        kept = [fenced.array.copy() for fenced in (x, y)]
        frame, entries = np.zeros(SLOTS + 3, np.int64), np.zeros((1, 5), np.int64)
        frame[SLOTS:] = [address(x.array), address(y.array), address(target.array)]
        entries[0] = SHORT[name, letter, form], count, packed(0, 0), packed(1, 0), packed(2, 0)
        _shorts(address(frame), address(entries), 1)
        np.testing.assert_array_equal(target.array, expected)
        is_number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(target.array) & is_number, np.signbit(expected) & is_number)
        for fenced, before in zip((x, y), kept, strict=True):
            if fenced is not target:
                np.testing.assert_array_equal(fenced.array, before)
        for fenced in (x, y, out):
            fenced.done()

    check()


def test_a_condition_holds_until_the_next_one_in_its_row_and_bytes_are_copied_as_they_are():
    memory = np.zeros(64, np.uint8)
    floats = memory.view(np.float64)
    floats[:2] = 1.0, 2.0
    memory[40:42] = 0, 7
    condition, where, move = (
        SCALARS["condition", "b->"],
        SCALARS["where", "ff->f"],
        SCALARS["positive", "b->b"],
    )
    run_scalars(
        [
            (condition, 40, 40, 40),
            (where, 0, 8, 16),
            (where, 0, 8, 24),
            (condition, 41, 41, 41),
            (where, 0, 8, 32),
            (move, 41, 41, 42),
        ],
        memory,
    )
    assert floats[2:5].tolist() == [2.0, 2.0, 1.0]
    assert memory[40:43].tolist() == [0, 7, 7]
