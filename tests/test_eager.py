"""Kernels that Python calls: whether they may be used, and that results do not depend on it."""

import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tape.kernels import eager, formulas, fused, loading, reduce, update
from tape.kernels.accumulate import Scattered
from tape.kernels.choices import extremes_share, select, share
from tape.kernels.cross_entropy import indexed_excess, indexed_losses
from tape.kernels.eager import AVOIDED, EAGER, avoided, is_avoided, is_loaded, machine_code
from tape.kernels.recurrences import products_share, recurrence
from tape.kernels.reduce import sum_to_shape, sums_between
from tests.oracles import LAYOUTS, laid_out
from tests.tiers import rounds
from tests.unloaded import unloaded

quick = settings(max_examples=rounds(300))
KERNEL_DTYPES = [np.float64, np.float32]
DTYPES = [*KERNEL_DTYPES, np.float16, np.int64, np.longdouble, np.complex128]
PLACES = [*LAYOUTS, "unaligned", "swapped", "read-only"]


def placed(x, place):
    """The same elements in a layout, at an odd address, in the other byte order, or read-only."""
    if place == "unaligned":
        return np.frombuffer(b"x" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)
    if place == "swapped":
        return x.astype(x.dtype.newbyteorder())
    if place == "read-only":
        x = x.copy()
        x.flags.writeable = False
        return x
    return laid_out(x, place)


def values(shape, dtype, salt=0):
    """Random numbers with all digits, and a few that are treated in a special way."""
    rng = np.random.default_rng(salt)
    x = rng.normal(size=shape).astype(dtype)
    if x.size > 3 and x.dtype.kind == "f":
        x.reshape(-1)[:: 7 + salt] = -0.0
    return x


@pytest.fixture(autouse=True, scope="module")
def kernels():
    assert loading.wait(EAGER)
    assert is_loaded(EAGER)


def both(call):
    """What a call returns with kernels and without."""
    assert not AVOIDED
    with_kernels = call()
    with avoided():
        return with_kernels, call()


def assert_same_bits(found, expected):
    assert (type(found), found.dtype, found.shape) == (type(expected), expected.dtype, expected.shape)
    if found.dtype.char in "gG":  # some bytes of which mean nothing
        np.testing.assert_array_equal(found, expected)
    else:
        assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()


# ---- sums --------------------------------------------------------------------------------------------


def test_a_sum_over_one_row_keeps_the_sign_of_zero():
    found = sum_to_shape(np.array([[-0.0, 1.0]]), (2,))
    assert np.signbit(found[0])


@quick
@given(st.data())
def test_sums_are_the_same_to_the_bit_with_and_without_kernels(data):
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=9))
    kept = [n if data.draw(st.booleans()) else 1 for n in shape]
    target = tuple(kept[data.draw(st.integers(0, len(shape))) :])
    dtype, place = data.draw(st.sampled_from(DTYPES)), data.draw(st.sampled_from(PLACES))
    x = placed(values(shape, dtype, 1), place)
    before = x.tobytes()
    found, expected = both(lambda: sum_to_shape(x, target))
    if len(sums_between(shape, target)) <= 1:
        assert_same_bits(found, expected)
    else:  # runs of axes one after the other, where NumPy adds over all of them at once
        np.testing.assert_allclose(found, expected, rtol=0, atol=100 * np.spacing(x.real.dtype.type(9)))
    assert x.tobytes() == before


@pytest.mark.parametrize("dtype", KERNEL_DTYPES)
@pytest.mark.parametrize("shape", [(257, 33), (1000, 2), (2, 5), (0, 3), (3, 130, 17), (2, 3, 4, 5)])
def test_sums_add_rows_in_order(shape, dtype):
    x = values(shape, dtype, 2)
    total = np.zeros(shape[-1], dtype)
    for row in x.reshape(-1, shape[-1]):
        total = total + row
    for target in ((shape[-1],), (1,) * (len(shape) - 1) + shape[-1:]):
        assert sum_to_shape(x, target).tobytes() == total.tobytes()


# ---- elementwise -------------------------------------------------------------------------------------


@quick
@given(st.data())
def test_fused_bodies_are_the_same_to_the_bit_with_and_without_kernels(data):
    body = data.draw(st.sampled_from(fused.BODIES))
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=9))
    x, y = (
        placed(values(shape, data.draw(st.sampled_from(DTYPES)), salt), data.draw(st.sampled_from(PLACES)))
        for salt in (1, 2)
    )
    call = fused.fused(body)
    found, expected = both(lambda: call(x, y))
    assert_same_bits(found, expected)
    assert_same_bits(np.asarray(found), np.asarray(body(x, y)))


@pytest.mark.parametrize("dtype", KERNEL_DTYPES)
def test_fused_bodies_keep_nan_infinity_and_signs_of_zero(dtype):
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-45, 3e38], dtype)
    x, y = (np.ascontiguousarray(a) for a in np.broadcast_arrays(special[:, None], special))
    for body in fused.BODIES:
        with np.errstate(all="ignore"):
            found, expected = both(lambda body=body: fused.fused(body)(x, y))
        np.testing.assert_array_equal(found, expected)
        number = ~np.isnan(found)
        np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])


def test_a_body_that_is_not_compiled_runs_as_it_is_whatever_its_name():
    """Kernels go by the names of their bodies: another function of that name is not one of them."""

    def share(x, y):
        return x - 3 * y

    def relu_partial(x, y):
        return x + y

    x, y = values((4, 5), np.float64, 1), values((4, 5), np.float64, 2)
    for body in (share, relu_partial, lambda x, y: x * x * y):
        assert_same_bits(fused.fused(body)(x, y), body(x, y))
        assert fused.fused(body, lambda x, y: "otherwise")(x, y) == "otherwise"
    assert fused.fused(fused.relu_partial, lambda x, y: "otherwise")(x, y).shape == (4, 5)


# ---- large arrays ------------------------------------------------------------------------------------

SHAPE = (4, 30, 17)  # more elements than NumPy is left to


@pytest.mark.parametrize("dtype", KERNEL_DTYPES)
@pytest.mark.parametrize("place", PLACES)
def test_choices_are_those_of_numpy_wherever_operands_lie(place, dtype):
    condition = placed(np.random.default_rng(0).random(SHAPE) < 0.5, place)
    x, y = placed(values(SHAPE, dtype, 1), place), placed(values(SHAPE, dtype, 2), place)
    for laid in (condition, condition.copy()):
        found, expected = both(lambda laid=laid: select(laid, x, y))
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(found, np.where(condition, x, y))
    plain, row = values(SHAPE, dtype, 3), placed(values(SHAPE[-1:], dtype, 4), place)
    for other in (x, row):
        found = share(plain, other, np.zeros(SHAPE, dtype), "maximum")
        if found is not None:
            equal = np.where(other == 0, dtype(0.5) * plain, np.where(other > 0, plain, dtype(0)))
            np.testing.assert_array_equal(found, equal)


@pytest.mark.parametrize("dtype", KERNEL_DTYPES)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_recurrences_and_shares_are_the_loops_wherever_operands_lie(place, axis, dtype):
    a, b = placed(0.5 * values(SHAPE, dtype, 1), place), placed(values(SHAPE, dtype, 2), place)
    exact = 2e-5 if dtype is np.float32 else 1e-13
    for backwards in (False, True):
        expected = np.array(b, dtype)
        order = range(SHAPE[axis])[:: -1 if backwards else 1]
        along_a, along = np.moveaxis(np.array(a, dtype), axis, 0), np.moveaxis(expected, axis, 0)
        for k, i in enumerate(order):
            if k:
                along[i] += along_a[i] * along[order[k - 1]]
        found = recurrence(a, b, axis, backwards)
        assert found is None or np.allclose(found, expected, rtol=exact, atol=exact)
    x = np.array(b, dtype)
    g = values([1 if k == axis else n for k, n in enumerate(SHAPE)], dtype, 3)
    found = products_share(placed(g, place), placed(x, place))
    if found is not None:
        others = np.stack([np.prod(np.delete(x, i, axis), axis) for i in range(SHAPE[axis])], axis)
        np.testing.assert_allclose(found, g * others, rtol=20 * exact, atol=1e-30)
    tops = x.max(axis=axis, keepdims=True)
    found = extremes_share(placed(g, place), placed(x, place), placed(tops, place))
    if found is not None:
        counts = (x == tops).sum(axis=axis, keepdims=True).astype(dtype)
        np.testing.assert_array_equal(found, np.where(x == tops, g / counts, 0))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64, np.float16])
@pytest.mark.parametrize("place", ["C", "F", "gaps", "backwards", "unaligned", "swapped"])
def test_elements_are_scattered_to_targets_wherever_they_lie(place, dtype):
    rows = np.array([3, 0, 3, -1])
    start = values((5, 12), np.float64, 1).astype(dtype)
    for index in ((rows,), (slice(None), rows)):
        added = values(np.shape(start[index]), np.float64, 2).astype(dtype)
        total = np.array(placed(start, place)) if place == "unaligned" else placed(start, place)
        if place == "unaligned":
            memory = np.zeros(start.nbytes + 1, np.uint8)
            total = memory[1:].view(dtype).reshape(start.shape)
            total[...] = start
        expected = start.copy()
        np.add.at(expected, index, added)
        with_kernels, _ = both(lambda index=index, added=added: Scattered(added, index, (5, 12)).dense())
        Scattered(placed(added, place), index, (5, 12)).add_to(total)
        close = {"rtol": 4e-3 if dtype is np.float16 else 1e-6, "atol": 1e-6}
        np.testing.assert_allclose(np.array(total, expected.dtype), expected, **close)
        assert with_kernels.dtype == dtype


@pytest.mark.parametrize("dtype", KERNEL_DTYPES)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("rows", [0, 1, 7])
def test_cross_entropy_does_not_depend_on_kernels(place, rows, dtype):
    logits = placed(values((rows, 5), dtype, 1), place)
    target = placed(np.arange(rows) % 5, place)
    (losses, total), (expected, expected_total) = both(lambda: indexed_losses(logits, target))
    close = {"rtol": 5e-6 if dtype is np.float32 else 1e-13}
    np.testing.assert_allclose(losses, expected, **close)
    np.testing.assert_allclose(total, expected_total, **close)
    found, expected = both(lambda: indexed_excess(logits, target, np.float32(0.25)))
    np.testing.assert_allclose(found, expected, atol=1e-6 if dtype is np.float32 else 1e-15)


# ---- optimizers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("formula", formulas.FORMULAS, ids=lambda formula: formula.__name__)
@pytest.mark.parametrize("dtype", [*KERNEL_DTYPES, np.float16, np.dtype(">f8")], ids=str)
@pytest.mark.parametrize("size", [0, 1, 130])
def test_formulas_are_the_same_with_and_without_kernels(formula, dtype, size):
    states, count = formulas.FORMULAS[formula]
    working = update.working_dtype(np.dtype(dtype))
    rng = np.random.default_rng(1)
    numbers = tuple(working.type(rng.uniform(0.1, 0.9)) for _ in range(count))
    results = []
    for place in ("C", "gaps", "unaligned", "C"):
        param = np.abs(values(size, np.float64, 1)).astype(dtype)
        gradient = placed(values(size, np.float64, 2).astype(dtype), place)
        state = [np.abs(values(size, working, 3 + k)) + working.type(0.5) for k in range(states)]
        compiled = update.loop(formula, param, states)
        with np.errstate(all="ignore"):
            if len(results) == 3:
                with avoided():
                    update.step(formula, compiled, param, gradient, state, numbers)
            else:
                update.step(formula, compiled, param, gradient, state, numbers)
        results.append((param, *state))
    exact = {"f": 2e-5, "d": 1e-12, "e": 4e-3}[np.dtype(dtype).char]
    for result in results[:-1]:
        for one, other in zip(result, results[-1], strict=True):
            np.testing.assert_allclose(one, other, rtol=exact, atol=exact)


# ---- whether they may be used ------------------------------------------------------------------------


def test_every_kernel_of_a_group_is_entered_when_the_group_is_loaded():
    with unloaded((EAGER,)):
        assert machine_code("sum_rows") == {}
        assert is_avoided() is False  # it is on disk: looking for it has loaded it
        assert set(machine_code("sum_rows")) == {"d", "f"}
        assert not AVOIDED


def test_numpy_computes_while_kernels_are_not_there(monkeypatch):
    monkeypatch.setattr(loading, "_objects", lambda group: None)
    x = values((7, 5), np.float64)
    expected = sum_to_shape(x, (5,))
    with unloaded((EAGER,)):
        assert is_avoided()
        assert not is_loaded(EAGER)
        assert_same_bits(sum_to_shape(x, (5,)), expected)
        assert machine_code("sum_rows") == {}


def test_only_the_thread_that_asks_for_it_does_without_kernels():
    """Whatever others do at that time."""
    found = {}
    assert not is_avoided()
    with avoided(), avoided():
        assert is_avoided()
        other = threading.Thread(target=lambda: found.update(other=is_avoided()))
        other.start()
        other.join()
    assert found == {"other": False}
    assert not AVOIDED


def test_kernels_run_in_other_threads_while_one_does_without(monkeypatch):
    calls = []
    kernel = lambda x, out: calls.append(threading.get_ident())  # noqa: E731
    monkeypatch.setattr(reduce, "_SUM_ROWS", {"d": kernel})
    with avoided():
        sum_to_shape(np.ones((3, 2)), (2,))
        assert not calls
        other = threading.Thread(target=sum_to_shape, args=(np.ones((3, 2)), (2,)))
        other.start()
        other.join()
    assert calls == [other.ident]


def test_threads_load_a_group_once_while_others_use_it():
    x = values((7, 5), np.float64)
    expected = sum_to_shape(x, (5,))
    errors = []

    def work():
        try:
            for _ in range(200):
                assert_same_bits(sum_to_shape(x, (5,)), expected)
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(5):
            with unloaded((EAGER,)):
                threads = [threading.Thread(target=work) for _ in range(4)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                assert not AVOIDED
    finally:
        sys.setswitchinterval(interval)
    assert not errors


def test_kernels_release_the_lock_of_python():
    """Another thread goes on while one is in a kernel."""
    x = np.ones((2000, 2000))
    ticks, ended = [], threading.Event()

    def tick():
        while not ended.is_set():
            ticks.append(1)
            time.sleep(1e-5)

    thread = threading.Thread(target=tick)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100.0)  # nobody has to let go of the lock
    try:
        thread.start()
        out = np.empty(2000)
        ticks.clear()
        for _ in range(1000):  # a busy computer may take its time to wake the other thread
            machine_code("sum_rows")["d"](x, out)
            if ticks:
                break
        assert ticks
    finally:
        ended.set()
        sys.setswitchinterval(interval)
        thread.join()


def test_references_are_kept_as_they_were():
    x, out = np.ones((5, 3)), np.empty(3)
    before = sys.getrefcount(x), sys.getrefcount(out)
    results = [eager.machine_code("sum_rows")["d"](x, out) for _ in range(1000)]
    assert set(results) == {0.0}
    assert (sys.getrefcount(x), sys.getrefcount(out)) == before
