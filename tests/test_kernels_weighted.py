"""The kernel of weighted sums: lengths, dtypes, portions, memory, and what is not finite."""

import ctypes
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tape.kernels.codes import DTYPE_CODES
from tape.kernels.loading import native
from tape.kernels.registry import needs_of
from tape.program.runtime import plain_kernels

MARGIN = 40  # numbers around the memory of a result
DTYPES = [np.float64, np.float32]
few = st.sampled_from([1, 2, 3, 4, 5, 9])
lengths = st.tuples(
    st.sampled_from([1, 3]), few, few | st.sampled_from([64, 65, 130]), few,
    st.sampled_from([1, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50]),
)  # fmt: skip


def computed(x, weights, parameters, parts=1):
    """Run the kernel, its tasks in so many portions from the last to the first."""
    needs = needs_of("weighted_sums", parameters)
    assert needs.operands == (x.size, weights.size)
    whole = np.full(needs.out + 2 * MARGIN, 7, x.dtype)
    out, table = whole[MARGIN:-MARGIN], np.array(parameters)
    address = native("weighted sums").addresses["weighted_sums"]
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 10)(address)
    pointers = (x.ctypes.data, weights.ctypes.data, 0, 0, out.ctypes.data)
    ends = np.linspace(0, needs.tasks, parts + 1).astype(int)
    for start, stop in reversed(list(pairwise(ends))):
        assert function(0, DTYPE_CODES[x.dtype], table.ctypes.data, start, stop, *pointers) == 1
    assert (whole[:MARGIN] == 7).all()
    assert (whole[-MARGIN:] == 7).all()
    return out


def operands(make, parameters):
    batch, _, length, _, columns = parameters
    return make(int(np.prod(parameters))), make(batch * length * columns)


def naive(x, weights, parameters):
    return plain_kernels.KERNELS["weighted_sums"](x, weights, parameters).ravel()


@settings(deadline=None)
@given(dtype=st.sampled_from(DTYPES), parameters=lengths, parts=st.integers(1, 4), seed=st.integers(0, 99))
def test_weighted_sums_are_exact_where_numpys_are(dtype, parameters, parts, seed):
    rng = np.random.default_rng(seed)  # small integers: exact in any order
    x, weights = operands(lambda size: rng.integers(-3, 4, size).astype(dtype), parameters)
    np.testing.assert_array_equal(computed(x, weights, parameters, parts), naive(x, weights, parameters))


@settings(deadline=None)
@given(dtype=st.sampled_from(DTYPES), parameters=lengths, seed=st.integers(0, 99))
def test_what_is_not_finite_stays_where_numpy_has_it(dtype, parameters, seed):
    rng = np.random.default_rng(seed)

    def make(size):
        special = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], size)
        return np.where(rng.random(size) < 0.1, special, rng.standard_normal(size)).astype(dtype)

    x, weights = operands(make, parameters)
    with np.errstate(invalid="ignore"):
        expected = naive(x, weights, parameters)
    tolerance = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(computed(x, weights, parameters), expected, tolerance, tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_do_not_depend_on_portions(dtype):
    rng = np.random.default_rng(0)
    for parameters in ((2, 11, 70, 1, 19), (3, 5, 9, 7, 40)):
        x, weights = operands(lambda size: rng.standard_normal(size).astype(dtype), parameters)
        whole = computed(x, weights, parameters)
        for parts in (2, 3, 8):
            np.testing.assert_array_equal(computed(x, weights, parameters, parts), whole)


def test_parameters_that_are_no_lengths_are_refused():
    assert needs_of("weighted_sums", (2, 3, 4, 5, 6)).out == 180
    for k in range(5):
        with pytest.raises(ValueError, match="not positive"):
            needs_of("weighted_sums", tuple(0 if i == k else 3 for i in range(5)))
