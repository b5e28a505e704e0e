"""`Rebuilt`: what a function does to copies of collections is done to those of the caller."""

import numpy as np
import pytest

from tape.program.record.collections import Rebuilt
from tests.oracles import LAYOUTS, laid_out


@pytest.mark.parametrize("dtype", [float, np.float32, complex, np.longdouble, bool])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("number", [None, 1.0, -0.0])
def test_an_array_that_a_function_has_written_to_replaces_that_of_the_caller(dtype, layout, number):
    array = laid_out(np.zeros((3, 4), dtype), layout)
    given = [array, array]
    rebuilt = Rebuilt(given, np.copy)
    rebuilt.tree.append("new")
    if number is not None:
        rebuilt.tree[0][-1, -1] = number
    assert rebuilt.carry_over(None)
    is_written = number == 1.0 or (number == 0.0 and dtype is not bool)
    assert [given[0] is array, given[1] is array, given[2]] == [not is_written, True, "new"]
    np.testing.assert_array_equal(given[0][-1, -1], array.dtype.type(number or 0.0))
