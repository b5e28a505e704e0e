"""Sorting, searching, quantiles, counts and masks in programs: NumPy's results, without callbacks."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors, tree
from tape.kernels.registry import GROUPS
from tape.program.native.functions import called_number
from tape.program.native.routines import ROUTINES, routine
from tests.naive_program import run as run_naively
from tests.naive_program import verified
from tests.op_table.quantiles import METHODS
from tests.tiers import grid, rounds, takes_long

DTYPES = [np.float64, np.float32, np.int64, np.int32, np.bool_]
FLOATS = DTYPES[:2]
NUMBERS = DTYPES[:4]
every_dtype = pytest.mark.parametrize("dtype", DTYPES)
every_number = pytest.mark.parametrize("dtype", NUMBERS)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def numbers(dtype, *shape, salt=0):
    """Whole numbers with ties, and with NaN, infinity and zeros of both signs among floats."""
    x = np.round(np.random.default_rng(salt + sum(shape)).normal(size=shape) * 5)
    if np.dtype(dtype).kind == "f" and x.size > 2:
        x.flat[::7], x.flat[1::9], x.flat[2::11] = np.nan, -0.0, np.inf
    with np.errstate(invalid="ignore"):
        return x.astype(dtype)


def smooth(*shape, salt=0):
    return np.random.default_rng(salt + sum(shape)).normal(size=shape)


def same(found, expected, tolerance=0.0):
    """The same tree of the same dtypes, with the same numbers."""
    (found, structure), (expected, same_structure) = tree.flatten(found), tree.flatten(expected)
    assert structure == same_structure
    for a, b in zip(map(np.asarray, found), map(np.asarray, expected), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def check(f, *calls, tolerance=0.0, callbacks=()):
    """Compiled equals eager, the machine equals plain NumPy, and nothing else runs in Python."""
    compiled = tape.compile(f)
    for args in (*calls, *calls):
        same(compiled(*args), f(*args), tolerance)
    for program in compiled.programs.values():
        verified(program)
        assert set(program.explain().callbacks) <= set(callbacks)
    return compiled


# ---- the routines of NumPy -----------------------------------------------------------------------


@every_dtype
@pytest.mark.parametrize("name", ROUTINES)
def test_routines_are_found(name, dtype):
    assert routine(name, np.dtype(dtype))


def test_what_is_no_routine_is_not_trusted(monkeypatch):
    find, double = routine.__wrapped__, np.dtype(np.float64)
    monkeypatch.setitem(ROUTINES, "argsort", ROUTINES["stable argsort"])  # which sorts ties otherwise
    assert not find("argsort", double)
    monkeypatch.setitem(ROUTINES, "sort", 39)  # a dict
    assert not find("sort", double)
    assert find("stable argsort", double)
    monkeypatch.setattr("tape.program.native.routines._VERSION", 0x03000000)
    assert not find("stable argsort", double)


def test_without_routines_programs_call_back(monkeypatch):
    real = called_number
    refused = lambda kernel, dtype: None if kernel.sorting else real(kernel, dtype)  # noqa: E731
    monkeypatch.setattr("tape.program.ir.rules.called_number", refused)
    check(np.sort, (numbers(np.float64, 30),), callbacks=["sort"])


# ---- sorting -------------------------------------------------------------------------------------


@grid(dtype=DTYPES, shape=[(1,), (2,), (17,), (5000,), (3, 5), (7, 0), (40, 50), (2, 3, 4)], times=2)
def test_sorting(dtype, shape):
    calls = [(numbers(dtype, *shape, salt=salt),) for salt in (0, 1)]
    for axis in (None, *range(-len(shape), len(shape))):
        check(lambda x, axis=axis: np.sort(x, axis), *calls)
        check(lambda x, axis=axis: np.argsort(x, axis), *calls)
        check(lambda x, axis=axis: np.argsort(x, axis, kind="stable"), *calls)
    check(lambda x: np.sort(x.T, 0)[::-1], *calls)


def test_a_heapsort_is_left_to_numpy():
    check(lambda x: np.argsort(x, kind="heapsort"), (numbers(np.float64, 50),), callbacks=["argsort"])


@pytest.mark.parametrize("size", [10, 5000])
def test_stable_orders_of_long_and_short_rows(size):
    for x in (smooth(size), np.zeros(size), numbers(np.float64, size)):
        check(lambda x: np.argsort(x, stable=True), (x,), (x[::-1].copy(),))


def test_sorted_values_are_not_looked_up_by_their_order():
    x = smooth(3000)
    (program,) = check(np.sort, (x,)).programs.values()
    assert [i.attrs[0] for i in program.ir.instructions if i.op == "kernel"] == ["sort"]


@every_dtype
def test_lexsort(dtype):
    keys = [numbers(dtype, 60, salt=salt) for salt in range(3)]
    check(lambda *keys: np.lexsort(keys), keys, keys[::-1])
    check(lambda x: np.lexsort(x, axis=0), (numbers(dtype, 2, 30, 4),))


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_partitions(axis):
    x = smooth(7, 8)
    check(lambda x: np.sort(np.partition(x, 2, axis), axis), (x,))
    check(lambda x: np.take(np.partition(x, 2, axis), 2, axis), (x,), (-x,))
    check(tape.grad(lambda x: np.sum(np.take(np.partition(x, 2, axis), 2, axis) ** 2)), (x,), (-x,))


def test_many_rows_are_the_same_for_any_number_of_threads(monkeypatch):
    x = smooth(4000, 100)
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("TAPE_NUM_THREADS", threads)
        check(lambda x: (np.sort(x), np.argsort(x), np.argsort(x, stable=True)), (x,))


# ---- searching -----------------------------------------------------------------------------------


@every_dtype
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("size", [1, 5, 32, 33, 500])
def test_searches(dtype, side, size):
    x, keys = numbers(dtype, size), numbers(dtype, 5, 40)
    check(lambda x, v: np.searchsorted(np.sort(x), v, side), (x, keys), (x[::-1].copy(), keys))
    check(lambda x, v: np.searchsorted(x, v, side, np.argsort(x)), (x, keys))


def test_searches_among_other_dtypes():
    x = np.arange(-5, 6)
    for dtype in NUMBERS:
        keys = numbers(np.float64, 50).astype(np.float32)
        check(lambda x, v: np.searchsorted(x, v), (x.astype(dtype), keys))
    check(lambda x: np.searchsorted(x.astype(np.float32), 0.1), (np.array([0.0, 0.1, 0.2]),))


def test_a_sorter_counts_from_the_front():
    compiled = tape.compile(lambda x, v, sorter: np.searchsorted(x, v, sorter=sorter))
    args = np.array([2.0, 1.0]), np.array([1.5]), np.array([1, 0])
    same(compiled(*args), np.searchsorted(*args[:2], sorter=args[2]))
    with pytest.raises(ValueError, match=r"[sS]orter"):
        compiled(*args[:2], np.array([-1, 0]))


@every_number
@pytest.mark.parametrize("right", [False, True])
def test_digits(dtype, right):
    x = numbers(dtype, 5, 40)
    for edges in ([-3, 0, 0, 4], [4, 0, 0, -2], [1], [2, 2]):
        check(lambda x, edges=edges: np.digitize(x, np.array(edges, dtype), right), (x,))
    compiled = check(lambda x, e: np.digitize(x, e), (x, np.array([1, 2, 3], dtype)))
    with pytest.raises(ValueError, match="monotonic"):
        compiled(x, np.array([1, 3, 2], dtype))


@pytest.mark.parametrize(
    ("f", "operands", "callback"),
    [
        (np.digitize, ([True, False], [False, True]), "digitize"),
        (np.digitize, ([0.0, 1.0, 2.0], [False, True]), "digitize"),
        (np.digitize, ([True, False], [0.5, 1.5]), "digitize"),
        (np.digitize, ([0.0, 1.0, 2.0], np.zeros(0)), None),
        (np.digitize, (np.zeros((0, 2)), [0.0, 1.0]), None),
        (np.searchsorted, (np.zeros(0), [0.0, 1.0, 2.0]), None),
        (np.bincount, (np.zeros(0, int),), "bincount"),
        (lambda x, w: np.bincount(x, w, minlength=3), (np.zeros(0, int), np.zeros(0)), "bincount"),
        (lambda x: np.median(x, axis=0), ([[True, False], [True, False], [False, False]],), None),
        (lambda x, m, i: x[m, i], (np.arange(9.0).reshape(3, 3), [True, False, True], [2, 0]), "getitem"),
        (lambda x, i, m: x[i, m], (np.arange(9.0).reshape(3, 3), [2, 0], [True, False, True]), "getitem"),
        (lambda x, m: x[m, m], (np.arange(9.0).reshape(3, 3), [True, False, True]), "getitem"),
    ],
)
def test_bools_and_nothing_are_ordered_counted_and_read_as_by_numpy(f, operands, callback):
    check(f, tuple(map(np.array, operands)), callbacks=[callback])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("right", [False, True])
def test_digits_among_edges_with_nan(dtype, right):
    """NumPy takes edges for falling that are followed by NaN, and searches them step by step."""
    rng = np.random.default_rng(0)
    compiled = tape.compile(lambda x, edges: np.digitize(x, edges, right))
    for length in (2, 3, 5, 40):
        for _ in range(rounds(60)):
            edges = np.where(rng.random(length) < 0.3, np.nan, rng.integers(-3, 4, length)).astype(dtype)
            edges = np.sort(edges)[:: rng.choice([-1, 1])] if rng.random() < 0.7 else edges
            x = np.append(rng.integers(-4, 5, 30), np.nan).astype(dtype)
            x = np.tile(x, 600) if length == 3 else x  # so many that several tasks share them
            try:
                expected = np.digitize(x, edges, right)
            except ValueError:
                with pytest.raises(ValueError, match="monotonic"):
                    compiled(x, edges)
            else:
                same(compiled(x, edges), expected)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_interpolation(size):
    xp, fp = np.sort(smooth(size)), smooth(size, salt=1)
    x = np.concatenate([smooth(50), xp, [np.nan, np.inf, -np.inf]])
    infinite = np.where(np.arange(size) % 3, fp, np.inf)
    check(np.interp, (x, xp, fp), (x, xp, infinite))
    check(np.interp, (x[0], xp, fp))
    check(lambda *args: np.interp(*args, left=-1.0, right=2), (x, xp, fp))
    if size > 1:
        slopes = tape.grad(lambda *args: np.sum(np.interp(*args) ** 2), argnums=(0, 1, 2))
        check(slopes, (x[:50], xp, fp), tolerance=1e-12)


@every_dtype
def test_membership(dtype):
    for count in (1, 15, 100):
        args = numbers(dtype, 20, 3), numbers(dtype, count)
        check(np.isin, args)
        check(lambda x, tests: np.isin(x, tests, invert=True), args)


# ---- quantiles -----------------------------------------------------------------------------------

SHAPES = [((7,), None), ((8,), None), ((1,), None), ((5, 6), 0), ((5, 6), -1), ((2, 5, 3), (2, 0))]


@every_number
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_medians(dtype, shape, axis):
    for x in (numbers(dtype, *shape), (9 * smooth(*shape)).astype(dtype)):
        for keepdims in (False, True):
            check(lambda x, keep=keepdims: np.median(x, axis, keepdims=keep), (x,))
            if np.dtype(dtype).kind == "f":
                check(lambda x, keep=keepdims: np.nanmedian(x, axis, keepdims=keep), (x,))


@takes_long
@grid(dtype=NUMBERS, method=METHODS)
def test_quantiles(dtype, method):
    shares = [0.3, 0, 1, 0.5, [0.0, 0.25, 1.0], np.float32(0.3), np.array([[0.1, 0.5], [0.7, 1]])]
    for shape, axis in SHAPES:
        chosen = shares[:: 1 if shape == (5, 6) else 3]
        flat = [q for q in chosen if np.ndim(q) < 2]
        percents = [np.multiply(q, 100.0) for q in flat]

        def all_of_them(x, percents, axis=axis, chosen=chosen, flat=flat):
            found = [np.quantile(x, q, axis, method=method) for q in chosen]
            found += [np.percentile(x, p, axis, method=method) for p in percents]
            if x.dtype.kind == "f":
                found += [np.nanquantile(x, q, axis, method=method) for q in flat]
            return found

        for x in (numbers(dtype, *shape), (9 * smooth(*shape)).astype(dtype)):
            check(all_of_them, (x, percents))  # NumPy's dtype depends on whether there are NaN


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("function", [np.quantile, np.nanquantile])
def test_quantiles_between_equal_zeros_have_the_sign_that_numpy_gives_them(function, method):
    compiled = tape.compile(lambda x, q: function(x, q, method=method))
    for count in (1, 2, 5):
        for zero in (-0.0, 0.0):
            x = np.full(count, zero)
            for q in (0.0, 0.25, 0.5, 0.8, 1.0):
                found = [compiled(x, np.array([q])) for _ in range(2)][-1]
                assert np.signbit(found) == np.signbit(function(x, np.array([q]), method=method)), (x, q)


QUANTILES = [np.quantile, np.percentile, np.nanquantile, np.nanpercentile, np.median, np.nanmedian]


@pytest.mark.parametrize("function", QUANTILES, ids=lambda f: f.__name__)
def test_nan_is_the_result_or_left_out(function):
    x = np.array([[3.0, np.nan, 1.0, 2.0], [4.0, 3.0, 2.0, 1.0]])
    q = () if "median" in function.__name__ else (0.25,)
    check(lambda x: function(x, *q, axis=1), (x,))


def test_quantiles_out_of_range():
    compiled = tape.compile(lambda x, q: np.quantile(x, q))
    x = smooth(5)
    compiled(x, np.array([0.5]))
    for bad in (1.5, -0.1, np.nan):
        with pytest.raises(ValueError, match=r"range \[0, 1\]"):
            compiled(x, np.array([bad]))


def _long(kind):
    x = np.random.default_rng(3).normal(size=(2, 6001))
    if kind == "ties":
        return np.round(x)
    if kind == "two values":
        return (x > 0).astype(float)
    if kind == "equal":
        return np.full_like(x, 2.0)
    if kind == "sorted":
        return np.sort(x)
    if kind == "few numbers":
        x[:, 5:] = np.nan
    if "inf" in kind:
        x[:, 1::4], x[:, 2::4] = np.inf, -np.inf
    if "NaN" in kind:
        x[0, ::3] = x[1, ::7] = np.nan
    return x


LONG = ("random", "ties", "two values", "equal", "sorted", "few numbers", "NaN", "inf", "NaN and inf")


@grid(kind=LONG, dtype=[np.float64, np.float32, np.int64, np.int32])
def test_long_rows_are_selected_from_as_sorting_would(kind, dtype):
    x = _long(kind)
    if np.dtype(dtype).kind == "i":
        x = np.nan_to_num(100 * x, posinf=2e9, neginf=-2e9)
    x, q = x.astype(dtype), [0.0, 0.001, 0.3, 0.301, 0.5, 0.9, 1.0]
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore")
        for axis in (None, 1):
            check(lambda x, axis=axis: (np.median(x, axis), np.quantile(x, q, axis)), (x,))
        check(lambda x: np.nanquantile(x, q, axis=1, method="lower"), (x,))
        check(lambda x: np.quantile(x, np.linspace(0, 1, 40), axis=1, method="higher"), (x,))
        check(lambda x: (np.quantile(x, [], axis=1), np.argsort(x, stable=True)), (x,))
    for k in (7, 5999, (5999, 10, 2)):
        compiled = tape.compile(lambda x, k=k: np.partition(x, k))
        compiled(x)
        found, ends = compiled(x), np.sort(np.atleast_1d(k))
        np.testing.assert_array_equal(found[:, ends], np.sort(x)[:, ends])
        for start, stop in zip([0, *ends], [*ends, 6001], strict=True):
            np.testing.assert_array_equal(np.sort(found[:, start:stop]), np.sort(x)[:, start:stop])


@grid(method=METHODS, f=[np.quantile, np.nanquantile])
def test_derivatives_of_quantiles(f, method):
    x, q = smooth(4, 5), np.array([0.2, 0.7])
    holes = x.copy()
    holes[1:3, 2] = holes[1, 0] = holes[:, 4] = np.nan
    for axis in (None, 0, (0, 1)):

        def total(x, q, axis=axis):
            return np.nansum(f(x, q, axis=axis, method=method) ** 2)

        calls = [(x, q)] if f is np.quantile else [(x, q), (holes, q)]
        check(lambda x, q, total=total: tape.grad(total, argnums=(0, 1))(x, q), *calls, tolerance=1e-12)
        check(lambda x, q, total=total: tape.jvp(total, (x, q), (x + 1, q)), (x, q), tolerance=1e-12)


# ---- other functions of one axis -----------------------------------------------------------------


@every_number
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_sliding_products(dtype, mode):
    for n, m in ((5, 3), (3, 5), (1, 1), (300, 17), (17, 300), (3000, 12), (1, 9), (40, 40)):
        a, v = ((9 * smooth(k, salt=n)).astype(dtype) for k in (n, m))
        eps = 0 if np.dtype(dtype).kind == "i" else 500 * np.finfo(dtype).eps
        check(lambda a, v: np.convolve(a, v, mode), (a, v), tolerance=eps)
        check(lambda a, v: np.correlate(a, v, mode), (a, v), tolerance=eps)


def test_derivatives_of_sliding_products():
    for f in (np.convolve, np.correlate):
        for n, m, mode in ((5, 3, "full"), (3, 5, "same"), (4, 6, "valid")):
            hessian = tape.hessian(lambda x, v, f=f, mode=mode: np.sum(f(x, v, mode) ** 2))
            check(hessian, (smooth(n), smooth(m)), tolerance=1e-12)


@pytest.mark.parametrize("dtype", FLOATS)
def test_unwrapping(dtype):
    check(lambda p: np.unwrap(7 * p), (numbers(dtype, 30),))
    check(
        lambda p: np.unwrap(p, 3.5, 0, period=8.0), (numbers(dtype, 30, 3),), (numbers(dtype, 30, 3, salt=1),)
    )
    check(lambda p: np.unwrap(p, period=8), (numbers(np.int64, 30),))


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_positions_of_extremes(axis):
    for f in (np.nanargmax, np.nanargmin):
        x = numbers(np.float64, 6, 5)
        compiled = check(lambda x, f=f: f(x, axis), (x,), (-x,))
        with pytest.raises(ValueError, match="All-NaN"):
            compiled(np.full((6, 5), np.nan))


def test_positions_along_axes():
    x = np.array([[0, 59], [7, 30]])
    for order in "CF":
        compiled = check(lambda x, order=order: np.unravel_index(x, (3, 4, 5), order), (x,))
        with pytest.raises(ValueError, match="out of bounds"):
            compiled(x + 1)


@every_dtype
def test_writing_along_an_axis(dtype):
    x, index, values = numbers(dtype, 5, 4), np.array([[3, -1, 3]] * 5), numbers(dtype, 5, 3, salt=1)
    check(lambda *args: tape.ops.put_along_axis(*args, axis=1), (x, index, values), (x, index - 1, values))


def test_derivatives_of_writing_along_an_axis():
    x, index, values = smooth(5, 4), np.array([[3, -1, 3]] * 5), smooth(5, 3)

    def total(x, values, index):
        return np.sum(tape.ops.put_along_axis(x, index, values, axis=1) ** 3)

    check(tape.grad(total, argnums=(0, 1)), (x, values, index), tolerance=1e-14)


# ---- indices -------------------------------------------------------------------------------------

MIXED = ["i, :, j", "i, 0, j", "0, :, j", "i, None, j", ":, 0, j", "..., i, :, j", "i, 1:, j, ::2",
         "0, i, :, j", "::-1, i, None, :, j"]  # fmt: skip


@pytest.mark.parametrize("index", MIXED)
def test_arrays_and_slices_in_an_index(index):
    read = eval(f"lambda x, i, j: x[{index}]")
    arrays = np.array([[1, -2, 0, 2], [0, 0, 1, -1]]), np.array([0, 2, -1, 1])
    for dtype in DTYPES:
        check(read, (numbers(dtype, 3, 4, 3, 5), *arrays), (numbers(dtype, 3, 4, 3, 5, salt=1), *arrays))
    x = smooth(3, 4, 3, 5)
    check(tape.grad(lambda *args: np.sum(read(*args) ** 3)), (x, *arrays), tolerance=1e-12)

    def written(x, v, i, j):
        return tape.ops.set_at(x, v, eval(f"np.index_exp[{index}]", {"np": np, "i": i, "j": j}))

    v = smooth(*read(x, *arrays).shape, salt=1)
    check(written, (x, v, *arrays))
    check(
        tape.grad(lambda *args: np.sum(written(*args) ** 3), argnums=(0, 1)), (x, v, *arrays), tolerance=1e-12
    )


MASKS = [
    "m",
    "0, m[1]",
    ":, m[:, :, 0][0]",
    "m[:, :, 0], 1:",
    "..., m[0, 0]",
    "m[:, 0, 0], ..., 0",
    "m[:, 0, 0], :, 0",
    "None, m[:, 0, 0], None",
]


@pytest.mark.parametrize("index", MASKS)
def test_masks_in_an_index(index):
    """Each count has a program; none of them calls Python."""
    read = eval(f"lambda x, m: x[{index}]", {"np": np})
    rng = np.random.default_rng(0)
    masks = [rng.uniform(size=(3, 4, 5)) < share for share in (0.5, 0.4, 0.0, 1.0, 0.6)]
    for dtype in DTYPES:
        check(read, *[(numbers(dtype, 3, 4, 5), mask) for mask in masks])
    gradient = tape.grad(lambda x, m: np.sum(read(x, m) ** 3))
    check(gradient, *[(smooth(3, 4, 5), mask) for mask in masks], tolerance=1e-14, callbacks=["scatter"])


WRITTEN = {
    "m": (3, 4, 5), "0, m": (4, 5), "m, 1:": (3, 4), "m, 0": (3, 4), ":, m": (4,), ":, m, ::2": (4,),
    ":, 0, m": (5,), "..., m": (5,), "m, ..., 0": (3,), "m, :, 0": (3,), "0, :, m": (5,), ":, m, 1": (4,),
    "None, m": (3,), "None, m, :, 0": (3,), ":, None, m, ::-1": (4,),
}  # fmt: skip
"""Indices of (3, 4, 5), with the shapes of their masks."""


@pytest.mark.parametrize("write", [tape.ops.set_at, tape.ops.add_at])
@pytest.mark.parametrize("index", WRITTEN)
def test_a_program_writes_by_a_mask_anywhere_in_an_index(write, index):
    """For all masks that are True as often, without Python."""

    def written(x, v, m):
        return write(x, v, eval(f"np.index_exp[{index}]", {"np": np, "m": m}))

    rng, size = np.random.default_rng(0), np.prod(WRITTEN[index])
    x = smooth(3, 4, 5)
    masks = [rng.permutation(np.arange(size) < max(size // 2, 2)).reshape(WRITTEN[index]) for _ in range(4)]
    v = smooth(*eval(f"x[{index}]", {"x": x, "m": masks[0]}).shape, salt=1)
    (program,) = check(written, *[(x, v, m) for m in masks]).programs.values()
    for m in masks:
        same(program(x, v, m), written(x, v, m))
    gradient = tape.grad(lambda x, v, m: np.sum(written(x, v, m) ** 3), argnums=(0, 1))
    check(gradient, *[(x, v, m) for m in masks[:2]], tolerance=1e-14, callbacks=["set_at"])


def test_values_written_to_a_mask_are_as_many_as_it_has():
    compiled = tape.compile(lambda x, m, v: tape.ops.set_at(x, v, m))
    x, mask, values = np.zeros(4), np.array([True, False, True, False]), np.array([1.0, 2.0])
    same(compiled(x, mask, values), np.array([1.0, 0.0, 2.0, 0.0]))
    same(compiled(x, ~mask, values), np.array([0.0, 1.0, 0.0, 2.0]))
    with pytest.raises((ValueError, errors.TapeError)):
        compiled(x, np.ones(4, bool), values)


# ---- results whose length depends on data --------------------------------------------------------

LENGTHS = {
    "flatnonzero": np.flatnonzero,
    "argwhere": np.argwhere,
    "nonzero": lambda x: np.nonzero(x)[-1],
    "extract": lambda x: np.extract(x > 0, x),
    "compress": lambda x: np.compress(x[0] > 0, x, axis=1),
    "unique": np.unique,
    "unique counts": lambda x: np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    ),
    "union1d": lambda x: np.union1d(x, [1, 2]),
    "setdiff1d": lambda x: np.setdiff1d(x, [1, 2.0]),
    "setxor1d": lambda x: np.setxor1d(x, [1.0, 2]),
    "intersect1d": lambda x: np.intersect1d(x, [1.0, 2, 2, np.nan], return_indices=True),
    "bincount": lambda x: np.bincount(np.nan_to_num(np.abs(x), posinf=3).astype(int).ravel(), minlength=2),
    "weights": lambda x: np.bincount(
        np.nan_to_num(np.abs(x), posinf=3).astype(int).ravel(), weights=np.nan_to_num(x).ravel()
    ),
    "trim_zeros": lambda x: np.trim_zeros(x.ravel()),
    "polymul": lambda x: np.polymul(np.nan_to_num(x[0]), [0, 1, 2]),
}


@every_number
@pytest.mark.parametrize("name", LENGTHS)
def test_lengths_that_data_decide(name, dtype):
    f = LENGTHS[name]
    calls = [(numbers(dtype, 4, 5, salt=salt),) for salt in range(3)] + [(np.zeros((4, 5), dtype),)]
    check(f, *calls, tolerance=1e-12 if name == "polymul" else 0)


@settings(max_examples=rounds(40))
@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 1.0, -1.0, np.nan]), min_size=4, max_size=4), min_size=5, max_size=5
    )
)
def test_what_follows_a_length_is_that_of_the_length(rows):
    def f(x):
        kept = x[x > 0]
        return np.sum(x) / (1 + kept.size), np.unique(x).size * x, np.sort(kept)

    check(f, *[(np.array(row),) for row in rows])


def test_counted_numbers_are_not_negative():
    compiled = tape.compile(np.bincount)
    compiled(np.array([1, 2]))
    with pytest.raises(ValueError, match="negative"):
        compiled(np.array([-1, 2]))


# ---- histograms ----------------------------------------------------------------------------------


@every_number
@pytest.mark.parametrize("size", [1, 20, 3000])
def test_histograms(dtype, size):
    x, weights = (5 * smooth(size)).astype(dtype), smooth(size, salt=1)
    other = (5 * smooth(size, salt=2)).astype(dtype)
    for bins in (1, 5, 37):
        check(lambda x, n=bins: np.histogram(x, n), (x,), (other,))
        check(lambda x, n=bins: np.histogram(x, n, (-2.0, 3.1)), (x,), (other,))
    check(lambda x: np.histogram(x, 5, (-2.0, 3.1), density=True), (x,), tolerance=1e-14)
    check(lambda x: np.histogram(x, [-4, -1.0, -1.0, 0.5, 3]), (x,), (other,))
    check(lambda x, w: np.histogram(x, 5, weights=w), (x, weights), tolerance=1e-12)
    check(lambda x, y: np.histogram2d(x, y, [3, 4]), (x, other))
    check(
        lambda x, y, w: np.histogramdd((x, y), (3, [-1.0, 0, 1]), weights=w),
        (x, other, weights),
        tolerance=1e-12,
    )


def test_derivatives_of_histograms():
    x, weights = smooth(30), smooth(30, salt=1)
    check(
        tape.grad(lambda w, x: np.sum(np.histogram(x, 4, weights=w)[0] ** 2)), (weights, x), tolerance=1e-12
    )
    check(tape.grad(lambda x: np.sum(np.histogram_bin_edges(x, 4) ** 2)), (x,), (-x,), tolerance=1e-12)


@pytest.mark.parametrize(
    ("f", "good", "bad"),
    [
        (lambda x, e: np.histogram(x, 4)[0], np.arange(3.0), np.arange(3.0)),
        (lambda x, e: np.histogram(x, e)[0], np.arange(3.0), np.array([1.0, 0.0, 2.0])),
    ],
)
def test_histograms_that_numpy_refuses(f, good, bad):
    compiled = tape.compile(f)
    compiled(np.arange(4.0), good)
    with pytest.raises(ValueError, match=r"finite|monotonic"):
        compiled(np.array([1.0, np.nan, 2.0, 3.0]), bad)


# ---- in loops, in batches, in files --------------------------------------------------------------


def _steps(x):
    def step(carry, row):
        ordered, order = np.sort(row + carry), np.argsort(row)
        found = np.searchsorted(ordered, carry), np.interp(carry, np.arange(5.0), ordered)
        return np.median(ordered) + 0.1 * carry, (ordered, order, *found, np.quantile(row, [0.2, 0.6]))

    return tape.scan(step, 0.5, x)


def test_bodies_of_loops():
    x = smooth(20, 5)
    check(_steps, (x,), (-x,), tolerance=1e-13)

    def total(x):
        last, (ordered, *_, shares) = _steps(x)
        return last + np.sum(ordered**2) + np.sum(shares**3)

    check(tape.grad(total), (x,), (-x,), tolerance=1e-12)
    check(tape.hessian(total), (x[:3],), tolerance=1e-12)


def test_batches():
    x = smooth(4, 3)
    for mode in ("fwd", "rev"):
        check(tape.jacobian(lambda x: np.sort(x, 0) * np.median(x, 0), mode=mode), (x,), tolerance=1e-13)
        check(tape.jacobian(lambda x: np.sort(x) * np.quantile(x, 0.3), mode=mode), (x,), tolerance=1e-13)


def test_files(tmp_path):
    f = tape.compile(lambda x: (np.sort(x), np.median(x), x[x > 0], np.histogram(x, 3)[0], np.unique(x)))
    x = smooth(50)
    f(x)
    (program,) = f.programs.values()
    program.save(tmp_path / "ordered.tape")
    loaded = tape.load(tmp_path / "ordered.tape")
    same(loaded(x), f(x))
    with pytest.raises(errors.UnsupportedError, match="one path only"):
        loaded(-np.abs(x))


# ---- the machine against plain NumPy -------------------------------------------------------------


def test_each_kernel_against_its_naive_oracle():
    """Programs that between them call all of these kernels, run by an interpreter in plain NumPy too."""
    x, w = smooth(12), np.array([2, 0, 1, 1, 2, 3, 0, 5, 4, 4, 1, 1])
    big = smooth(5000)

    def everything(x, w):
        ordered = np.sort(x)
        return (
            np.argsort(x), np.argsort(w, stable=True), np.lexsort((x, w)), np.searchsorted(ordered, x + 0.1),
            np.digitize(x, [-1.0, 0.0, 1.0]), np.interp(x, ordered, x), np.bincount(w),
            np.bincount(w, weights=x), x[x > 0], np.unique(w, return_counts=True), np.convolve(x, x[:3]),
            np.median(x), tape.grad(np.median)(x),
        )  # fmt: skip

    called = set()
    for f, args in (
        (everything, (x, w)),
        (lambda x: (np.argsort(x, stable=True), np.partition(x, 3)[3]), (big,)),
    ):
        compiled = tape.compile(f)
        expected = compiled(*args)
        (program,) = compiled.programs.values()
        naive = run_naively(program.ir, args)
        for a, b in zip(naive, tree.flatten(expected)[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)
        called |= {i.attrs[0] for i in program.ir.instructions if i.op == "kernel"}
    assert called == {
        name
        for group in ("sorting", "selection", "searching", "counting", "sliding")
        for name in GROUPS[group]
    }


@pytest.mark.parametrize("length", [4, 90])
def test_equal_elements_have_derivatives_of_quantiles_in_the_order_of_eager(length):
    x = np.round(np.sin(np.arange(float(length))), 1)
    x[::7] = x[0]
    for f in (
        lambda v: np.median(v) * np.quantile(v, 0.3),
        lambda v: np.sum(np.percentile(v, [20, 70]) ** 2),
    ):
        compiled = tape.compile(tape.grad(f))
        compiled(x + 1)
        np.testing.assert_allclose(compiled(x), tape.grad(f)(x), rtol=1e-12)


def test_equal_elements_have_derivatives_of_quantiles_by_their_order():
    """As after sorting, whether few elements are sorted or many are partitioned."""
    x = np.tile([0.5, 0.25, 0.5], 40)
    expected = np.argsort(x, kind="stable")[:42][-1]
    assert np.flatnonzero(tape.grad(lambda v: np.quantile(v, 41 / 119, method="lower"))(x)) == expected


def test_densities_of_single_numbers_are_doubles():
    x = np.array([-1.75, -0.5], np.float32)

    def f(x):
        return np.histogram(x, 4, (-2.0, 2.0), weights=x, density=True)[0]

    compiled = tape.compile(f)
    compiled(x)
    assert compiled(x).dtype == f(x).dtype == np.float64
    np.testing.assert_allclose(compiled(x), f(x), rtol=1e-6)


@pytest.mark.parametrize("function", [np.argmax, np.argmin])
@pytest.mark.parametrize("dtype", [bool, np.int32])
def test_positions_of_the_largest_bool_and_integer_are_rows_of_a_program(function, dtype):
    """Among equal ones it is the first; integers that float32 does not tell apart are told apart."""
    for axis in (None, 0, -1):
        compiled = tape.compile(lambda x, axis=axis: function(x, axis))
        for x in (np.eye(3, 4), np.zeros((3, 4)), 2**30 + np.arange(12).reshape(3, 4) % 5):
            x = x.astype(dtype)
            for _ in range(2):
                np.testing.assert_array_equal(compiled(x), function(x, axis))
        (program,) = compiled.programs.values()
        assert not program.explain().callbacks
