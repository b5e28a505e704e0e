"""The kernels of weighted sums: lengths, dtypes, portions, memory, and what is not finite."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.kernels.registry import needs_of
from tests.kernel_calls import computed, naive

DTYPES = [np.float64, np.float32]
few = st.sampled_from([1, 2, 3, 4, 5, 9])
widths = st.sampled_from([1, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50])
kernels = st.one_of(
    st.tuples(
        st.just("weighted_sums"),
        st.tuples(st.sampled_from([1, 3]), few, few | st.sampled_from([64, 65, 130]), few, widths),
    ),
    st.tuples(st.just("weighted_products"), st.tuples(few | st.just(64), few | st.just(16), few, widths)),
)


def made(make, name, parameters):
    """Return operands of the sizes that a kernel needs."""
    return [make(size) for size in needs_of(name, parameters).operands]


@given(dtype=st.sampled_from(DTYPES), kernel=kernels, parts=st.integers(1, 4), seed=st.integers(0, 99))
def test_weighted_sums_are_exact_where_numpys_are(dtype, kernel, parts, seed):
    name, parameters = kernel
    rng = np.random.default_rng(seed)  # small integers: exact in any order
    operands = made(lambda size: rng.integers(-3, 4, size).astype(dtype), name, parameters)
    found = computed(name, operands, parameters, parts)
    np.testing.assert_array_equal(found, naive(name, operands, parameters))


@given(dtype=st.sampled_from(DTYPES), kernel=kernels, seed=st.integers(0, 99))
def test_what_is_not_finite_stays_where_numpy_has_it(dtype, kernel, seed):
    name, parameters = kernel
    rng = np.random.default_rng(seed)

    def make(size):
        special = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], size)
        return np.where(rng.random(size) < 0.1, special, rng.standard_normal(size)).astype(dtype)

    operands = made(make, name, parameters)
    with np.errstate(invalid="ignore"):
        expected = naive(name, operands, parameters)
    tolerance = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(computed(name, operands, parameters), expected, tolerance, tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_do_not_depend_on_portions(dtype):
    rng = np.random.default_rng(0)
    for name, parameters in (
        ("weighted_sums", (2, 11, 70, 1, 19)),
        ("weighted_sums", (3, 5, 9, 7, 40)),
        ("weighted_products", (9, 17, 4, 40)),
    ):
        operands = made(lambda size: rng.standard_normal(size).astype(dtype), name, parameters)
        whole = computed(name, operands, parameters)
        for parts in (2, 3, 8):
            np.testing.assert_array_equal(computed(name, operands, parameters, parts), whole)


def test_parameters_that_are_no_lengths_are_refused():
    assert needs_of("weighted_sums", (2, 3, 4, 5, 6)).out == 180
    for k in range(5):
        with pytest.raises(ValueError, match="not positive"):
            needs_of("weighted_sums", tuple(0 if i == k else 3 for i in range(5)))
    for k in range(4):
        with pytest.raises(ValueError, match="not positive"):
            needs_of("weighted_products", tuple(0 if i == k else 3 for i in range(4)))
    with pytest.raises(ValueError, match="partial sums"):
        needs_of("weighted_products", (65, 3, 3, 3))
