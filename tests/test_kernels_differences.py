"""Kernels of the differences of pairs: lengths, dtypes, portions, memory, and what is not finite."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.kernels.differences import ROWS_OF_A_TASK
from tape.kernels.kernel import PARTIAL
from tape.kernels.registry import needs_of
from tests.kernel_calls import computed, naive

DTYPES = [np.float64, np.float32]
BOTH = pytest.mark.parametrize("dtype", DTYPES)
lengths = st.sampled_from([1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 65])


def integers(rng, size, dtype):
    """Small ones: sums of them are exact in any order."""
    return rng.integers(-3, 4, size).astype(dtype)


def of_squares(make, batch, rows, columns, length):
    return [make(batch * rows * length), make(batch * length * columns)]


def of_weighted(make, batch, rows, columns, length):
    return [make(batch * length * rows), make(batch * length * columns), make(batch * rows * columns)]


@given(
    dtype=st.sampled_from(DTYPES), batch=st.sampled_from([1, 3]), rows=lengths, columns=lengths,
    length=lengths | st.just(2 * PARTIAL + 1), is_turned=st.integers(0, 1), parts=st.integers(1, 4),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_kernels_are_exact_where_numpy_is(dtype, batch, rows, columns, length, is_turned, parts, seed):
    rng, shape = np.random.default_rng(seed), (batch, rows, columns, length)

    def make(size):
        return integers(rng, size, dtype)

    for name, operands, parameters in (
        ("squared_distances", of_squares(make, *shape), shape),
        ("weighted_differences", of_weighted(make, *shape), (*shape, is_turned)),
    ):
        expected = naive(name, operands, parameters)
        np.testing.assert_array_equal(computed(name, operands, parameters, parts), expected)


@given(
    dtype=st.sampled_from(DTYPES), rows=lengths, columns=lengths, length=lengths, is_turned=st.integers(0, 1),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_what_is_not_finite_stays_where_numpy_has_it(dtype, rows, columns, length, is_turned, seed):
    rng, shape = np.random.default_rng(seed), (1, rows, columns, length)

    def make(size):
        special = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], size)
        return np.where(rng.random(size) < 0.1, special, rng.standard_normal(size)).astype(dtype)

    for name, operands, parameters in (
        ("squared_distances", of_squares(make, *shape), shape),
        ("weighted_differences", of_weighted(make, *shape), (*shape, is_turned)),
    ):
        with np.errstate(invalid="ignore"):
            expected = naive(name, operands, parameters)
        tolerance = 100 * np.finfo(dtype).eps
        np.testing.assert_allclose(computed(name, operands, parameters), expected, tolerance, tolerance)


@BOTH
def test_bits_do_not_depend_on_portions_or_places(dtype):
    """Equal pairs have equal distances wherever they are, so that ties stay ties."""
    rng = np.random.default_rng(0)
    rows, columns, length = 3 * ROWS_OF_A_TASK + 5, 41, 150
    x, y = rng.standard_normal(length).astype(dtype), rng.standard_normal(length).astype(dtype)
    operands = [np.tile(x, rows), np.repeat(y, columns)]
    out = computed("squared_distances", operands, (1, rows, columns, length))
    assert len(set(out.tolist())) == 1
    operands = of_weighted(lambda n: rng.standard_normal(n).astype(dtype), 2, rows, columns, length)
    whole = computed("weighted_differences", operands, (2, rows, columns, length, 0))
    for parts in (2, 3, 8):
        found = computed("weighted_differences", operands, (2, rows, columns, length, 0), parts)
        np.testing.assert_array_equal(found, whole)


@BOTH
def test_close_points_far_from_zero_keep_all_digits(dtype):
    """No expansion that cancels: the differences themselves are exact here."""
    rng = np.random.default_rng(1)
    x, y = (1000 + rng.integers(0, 16, (n, 4)) / 256 for n in (9, 20))
    expected = np.sum((x[:, None] - y) ** 2, axis=2)
    operands = [x.astype(dtype).ravel(), y.T.astype(dtype).ravel()]
    found = computed("squared_distances", operands, (1, 9, 20, 4))
    np.testing.assert_array_equal(found.reshape(9, 20), expected)


def test_long_sums_of_float32_lose_no_digits():
    rng = np.random.default_rng(2)
    x, y = rng.random((2, 4096)).astype(np.float32)
    exact = np.sum((x.astype(float) - y) ** 2)
    np.testing.assert_allclose(computed("squared_distances", [x, y], (1, 1, 1, 4096)), exact, rtol=1e-6)
    exact = np.dot(x.astype(float), y.astype(float) - 2)
    found = computed("weighted_differences", [x, y, np.full(1, 2, np.float32)], (1, 1, 1, 4096, 0))
    np.testing.assert_allclose(found, exact, rtol=1e-6)


@pytest.mark.parametrize("name", ["squared_distances", "weighted_differences"])
def test_parameters_that_are_no_lengths_are_refused(name):
    good = (2, 3, 4, 5) if name == "squared_distances" else (2, 3, 4, 5, 1)
    assert needs_of(name, good).out == 24
    for k in range(4):
        with pytest.raises(ValueError, match="not positive"):
            needs_of(name, (*good[:k], 0, *good[k + 1 :]))
    if name == "weighted_differences":
        with pytest.raises(ValueError, match="neither 0 nor 1"):
            needs_of(name, (2, 3, 4, 5, 2))
