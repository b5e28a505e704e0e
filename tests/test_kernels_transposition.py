"""The kernel that transposes a matrix: every shape, both dtypes, and no byte beside the result."""

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.kernels.codes import DTYPE_CODES
from tape.kernels.loading import native
from tape.kernels.registry import needs_of

MARGIN = 40  # numbers around the memory of a result
lengths = st.integers(1, 40) | st.sampled_from([64, 129, 353])


@given(rows=lengths, columns=lengths, dtype=st.sampled_from([np.float64, np.float32]))
def test_it_moves_the_bits_of_every_element(rows, columns, dtype):
    width = np.dtype(dtype).itemsize
    bits = np.random.default_rng(rows).integers(0, 256, rows * columns * width, np.uint8)  # NaN of all kinds
    x, parameters = bits.view(dtype), np.array([rows, columns])
    whole = np.full(rows * columns + 2 * MARGIN, 7, dtype)
    out = whole[MARGIN:-MARGIN]
    address = native("transposition").addresses["transposed"]
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 10)(address)
    code, table = DTYPE_CODES[np.dtype(dtype)], parameters.ctypes.data
    for stop in (0, 1):  # of no tasks, nothing is done
        assert (whole[:MARGIN] == 7).all()
        assert function(0, code, table, 0, stop, x.ctypes.data, 0, 0, 0, out.ctypes.data) == 1
        assert stop or (out == 7).all()
    assert (whole[:MARGIN] == 7).all()
    assert (whole[-MARGIN:] == 7).all()
    expected = np.ascontiguousarray(x.reshape(rows, columns).T)
    assert out.tobytes() == expected.tobytes()


def test_what_it_needs_is_as_many_elements_as_there_are():
    assert needs_of("transposed", (3, 5))[:4] == ((15,), 15, 0, 1)
    with pytest.raises(ValueError, match="positive"):
        needs_of("transposed", (0, 5))
