"""Elementwise instructions on operands that are broadcast or have steps: a row for each long run, no copy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.program.native.opcodes import WIDTH, opcode
from tape.program.plan.layouts import collapsed, collapsed_together, offsets
from tests.naive_program import compiled_for

OPERANDS = {
    "one of the first axis": lambda x: x[:1],
    "one of the second axis": lambda x: x[:, 1:2],
    "a vector": lambda x: x[0, 0],
    "backwards": lambda x: x[::-1, :, ::-1],
    "transposed": lambda x: x.transpose(1, 0, 2).reshape(x.shape) if x.shape[0] == x.shape[1] else x,
    "every other": lambda x: np.concatenate([x, x], axis=1)[:, ::2],
    "a column": lambda x: x[:, :, :1],
}


def rows_of(program, name):
    return np.count_nonzero(program.code[: program.rows * WIDTH : WIDTH] == opcode(name))


@given(
    shape=st.tuples(st.integers(1, 4), st.integers(2, 4), st.sampled_from([1, 5, 127, 128, 150])),
    one=st.sampled_from(sorted(OPERANDS)), other=st.sampled_from(sorted(OPERANDS)),
    dtype=st.sampled_from([np.float64, np.float32, np.int64]), seed=st.integers(0, 99),
)  # fmt: skip
def test_runs_compute_what_numpy_does(shape, one, other, dtype, seed):
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(-9, 9, shape).astype(dtype) for _ in range(2))

    def f(x, y):
        x, y = x * dtype(2), y - dtype(1)
        z = OPERANDS[one](x) * y
        return z, z + OPERANDS[other](x), -OPERANDS[other](x)

    compiled, _ = compiled_for(f, x, y)
    for result, expected in zip(compiled(x, y), f(x, y), strict=True):
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    "name", ["one of the first axis", "one of the second axis", "a vector", "every other"]
)
def test_long_runs_are_read_where_they_are_and_short_ones_are_copied(name):
    def f(x, y):
        return OPERANDS[name](x) * y

    for columns in (4, 150):
        x, y = np.ones((2, 3, columns)), np.ones((2, 3, columns))
        _, program = compiled_for(f, x, y)
        assert rows_of(program, "load") == (columns == 4)
        assert rows_of(program, "short") == (columns == 4)
        assert rows_of(program, "binary") == (
            0 if columns == 4 else 2 if name == "one of the first axis" else 6
        )


@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple),
    count=st.integers(1, 3),
    data=st.data(),
)
def test_views_that_are_collapsed_together_have_the_same_elements(shape, count, data):
    steps = st.tuples(*[st.sampled_from([0, 8, 16, 32, 64, -8]) for _ in shape])
    strides = tuple(data.draw(st.lists(steps, min_size=count, max_size=count)))
    lengths, together = collapsed_together(shape, strides)
    for before, after in zip(strides, together, strict=True):
        assert offsets(lengths, after) == offsets(shape, before)
        assert len(lengths) >= len(collapsed(shape, before)[0])
