"""Which results share memory with operands: exactly those that do in NumPy."""

import numpy as np
import pytest

import tape
from tape import ops
from tests import plain
from tests.op_table import CASES


def sharing(result, array):
    """Whether an array, or a Var, shares memory with another one."""
    if not isinstance(result, tape.Var):
        return isinstance(result, np.ndarray) and np.shares_memory(result, array)
    while result is not array and result.share is not None and result.share.source is not None:
        result = result.share.source
    return result is array


@pytest.mark.parametrize("case", [case for case in CASES if plain.has(case.op)], ids=repr)
def test_results_share_memory_with_operands_as_numpys_do(case):
    arrays = case.args()
    trace = tape.Trace()
    handles = [trace.param(a) if a.dtype.kind in "fc" else trace.input(a) for a in arrays]
    expected, result = case.on(plain)(*arrays), case.on(ops)(*handles)
    for array, handle in zip(arrays, handles, strict=True):
        if array.size and isinstance(result, tape.Var):
            assert sharing(result, handle) == sharing(expected, array)
