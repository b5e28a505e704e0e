"""The kernel that shares what goes to the largest or smallest elements: lengths, ties, portions, NaN."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.kernels.extremes import LONGEST
from tape.kernels.registry import needs_of
from tests.kernel_calls import computed, naive

lengths = st.integers(1, 40) | st.sampled_from([100, 600])


@given(
    rows=lengths, length=lengths, is_one=st.booleans(), dtype=st.sampled_from(["f8", "f4"]),
    values=st.sampled_from([1, 3, 10**6]), parts=st.integers(1, 4), seed=st.integers(0, 99),
)  # fmt: skip
def test_equal_elements_share_and_others_get_nothing(rows, length, is_one, dtype, values, parts, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, values, (rows, length)).astype(dtype)
    x[rng.random(x.shape) < 0.01] = np.nan
    extremes = x.max(axis=1)
    shared = rng.choice([1.0, -0.1, np.inf, np.nan, 0.0, -0.0], 1 if is_one else extremes.size).astype(dtype)
    operands, parameters = (shared, x, extremes), (rows, length, int(is_one))
    found, expected = (
        call("share_extremes", operands, parameters) for call in (partial(computed, parts=parts), naive)
    )
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(expected[expected == 0]))


@pytest.mark.parametrize("parameters", [(0, 1, 0), (1, LONGEST + 1, 0), (1, 2, 2), (1, -1, 1)])
def test_other_parameters_are_refused(parameters):
    with pytest.raises(ValueError, match=r"positive|too long"):
        needs_of("share_extremes", parameters)
