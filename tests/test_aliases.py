"""Which results share memory with operands: exactly those that do in NumPy."""

import numpy as np
import pytest

import tape
from tape import errors, ops
from tape.aliases import memory_of
from tests import plain
from tests.op_table import CASES


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("case", [case for case in CASES if plain.has(case.op)], ids=repr)
def test_results_lie_in_memory_as_numpys_do(case, order):
    arrays = [np.array(a, order=order) for a in case.args()]
    trace = tape.Trace()
    handles = [trace.param(a) if a.dtype.kind in "fc" else trace.input(a) for a in arrays]
    expected, result = case.on(plain)(*arrays), case.on(ops)(*handles)
    if isinstance(expected, np.ndarray) and isinstance(result, tape.Var) and expected.size:
        flags = memory_of(result).flags
        assert (flags.c_contiguous, flags.f_contiguous) == (
            expected.flags.c_contiguous,
            expected.flags.f_contiguous,
        )


@pytest.mark.parametrize("case", [case for case in CASES if plain.has(case.op)], ids=repr)
def test_writing_to_a_result_reaches_the_operands_that_it_reaches_in_numpy(case):
    arrays = case.args()
    trace = tape.Trace()
    handles = [trace.param(a.copy("K")) if a.dtype.kind in "fc" else trace.input(a.copy("K")) for a in arrays]
    expected, result = case.on(plain)(*arrays), case.on(ops)(*handles)
    if not isinstance(expected, np.ndarray) or not isinstance(result, tape.Var):
        return
    if expected.flags.writeable:
        expected[...] = result[...] = 1
        assert (result.value == 1).all()
    elif any(np.shares_memory(expected, array) for array in arrays):
        with pytest.raises(errors.InPlaceError):
            result[...] = 1
    for array, handle in zip(arrays, handles, strict=True):
        np.testing.assert_array_equal(handle.value, array)
