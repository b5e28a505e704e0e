"""Operands of elementwise rows that do not lie as the result does: read in place, or loaded into a block."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape.program.native.opcodes import FIELDS, WIDTH, opcode
from tape.program.plan.layouts import offsets, period
from tests.compiled import check
from tests.tiers import rounds

quick = settings(max_examples=rounds(40))
FUNCTIONS = {
    "arithmetic": lambda x, y: (x - y) * (y + x) - (y - x) * y,
    "conditions": lambda x, y: np.where(x < y, x * y, y - x) + np.where(y > 0, x, 2.0),
    "functions": lambda x, y: np.sqrt(np.abs(x - y)) * np.maximum(y, x),
    "quotients": lambda x, y: (-y) * x + y / (1.5 + x * x),
}
TYPES = ["f8", "f4", "i8", "c16"]


def rows_of(compiled, name):
    """The rows of this kind, field by field."""
    (program,) = compiled.programs.values()
    words = program.code[: program.rows * WIDTH].reshape(-1, WIDTH)
    return [dict(zip(FIELDS[name], row[1:], strict=False)) for row in words if row[0] == opcode(name)]


@st.composite
def shapes(draw):
    """A shape of so many elements that they are computed in blocks, and one that is broadcast to it."""
    columns = draw(st.sampled_from([1, 2, 7, 16, 31, 64, 100, 128, 333, 1024, 2048, 3000]))
    rows = draw(st.sampled_from([20_000 // columns + 1, 6000 // columns + 2]))
    planes = draw(st.sampled_from([1, 3]))
    shape = (planes, rows, columns)
    kept = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    small = tuple(n if is_kept else 1 for n, is_kept in zip(shape, kept, strict=True))
    return shape, small[draw(st.integers(0, 2)) if small[0] == 1 and draw(st.booleans()) else 0 :]


@pytest.mark.parametrize("threads", [1, 2])
@quick
@given(
    of=shapes(), name=st.sampled_from(sorted(FUNCTIONS)), dtype=st.sampled_from(TYPES), seed=st.integers(0, 9)
)
def test_programs_broadcast_as_numpy_does_to_the_last_bit(threads, of, name, dtype, seed):
    shape, small = of
    rng, function = np.random.default_rng(seed), FUNCTIONS["arithmetic" if dtype == "c16" else name]
    x, y = (5 * rng.standard_normal(n) for n in (shape, small))
    if dtype == "c16":  # whole numbers: products of others round as their loop adds up
        x, y = np.rint(x), np.rint(y)
    x, y = x.astype(dtype), y.astype(dtype)
    with patch.dict("os.environ", TAPE_NUM_THREADS=str(threads)):
        compiled = tape.compile(function)
        found = [compiled(x, y) for _ in range(2)]
    for result in found:
        assert result.dtype == function(x, y).dtype
        np.testing.assert_array_equal(result, function(x, y))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_numbers_of_long_rows_are_read_in_place(dtype):
    x, y = np.ones((300, 64), dtype), np.ones((300, 1), dtype)
    compiled = tape.compile(lambda x, y: (x - y) * y)
    compiled(x, y)
    (group,) = rows_of(compiled, "blocks")
    found = rows_of(compiled, "by_rows")
    assert not rows_of(compiled, "load")
    assert [row["columns"] for row in found] == [64, 64]
    assert group["block"] % 64 == 0


def test_what_repeats_in_every_block_is_loaded_once():
    x, bias, scale = np.ones((300, 100)), np.ones(100), np.ones((300, 1))
    compiled = tape.compile(lambda x, bias, scale: np.exp(x + bias) * np.maximum(scale, x) + bias)
    compiled(x, bias, scale)
    (group,) = rows_of(compiled, "blocks")
    assert group["once"] == 1
    assert len(rows_of(compiled, "load")) == 2
    assert group["block"] % 100 == 0


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: np.maximum(x, y),
        lambda x, y: (x > y) * 1.0,
        lambda x, y: x.T - y,
        lambda x, y: x.reshape(-1, 3) - x.reshape(-1, 1)[:30_000],
    ],
    ids=["operation", "comparison", "transposed", "short"],
)
def test_other_operations_and_layouts_are_not_read_by_rows(function):
    x, y = np.arange(90_000.0).reshape(300, 300), np.full((300, 1), 2.0)
    compiled = tape.compile(function)
    np.testing.assert_array_equal(compiled(x, y), function(x, y))
    assert not rows_of(compiled, "by_rows")


def test_numbers_that_lie_elsewhere_are_copied_once():
    """Three for each of 28 matrices, out of longer rows, for two functions of them."""
    x, rows = np.random.default_rng(0).normal(size=(28, 3, 100)), np.arange(28 * 26.0).reshape(28, 1, 26)

    def f(x, rows):
        numbers = rows[:, :, 2:5].transpose(0, 2, 1)
        return x + numbers, np.sqrt(x * x) / numbers

    compiled = tape.compile(f)
    for found, expected in zip(compiled(x, rows), f(x, rows), strict=True):
        np.testing.assert_array_equal(found, expected)
    (program,) = compiled.programs.values()
    assert [of.shape for of in program.plan.instructions if of.op == "copy"] == [(28, 3, 1)]
    assert not [row for row in rows_of(compiled, "load") if row["count"] == x.size]
    assert len(rows_of(compiled, "by_rows")) == 2


@st.composite
def parts(draw):
    """How an operand lies: which axes it has, in which order they are in memory, and what lies between."""
    kept = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    return kept, draw(st.permutations(range(3))), draw(st.sampled_from([1, 2, -1]))


@pytest.mark.parametrize("threads", [1, 2])
@quick
@given(
    lengths=st.sampled_from([(28, 3, 100), (3, 200, 40), (40, 40, 7), (2, 3, 2000), (1, 300, 33)]),
    of=st.lists(parts(), min_size=3, max_size=3),
    name=st.sampled_from(["arithmetic", "conditions", "functions"]),
    dtype=st.sampled_from(["f8", "f4"]),
)  # fmt: skip
def test_operands_that_lie_anywhere_are_read_as_numpy_reads_them(threads, lengths, of, name, dtype):
    rng, function = np.random.default_rng(0), FUNCTIONS[name]

    def array(kept, order, step):
        shape = [n if is_kept else 1 for n, is_kept in zip(lengths, kept, strict=True)]
        longer = [abs(step) * shape[axis] for axis in order]
        whole = (5 * rng.standard_normal(longer)).astype(dtype)
        return whole[tuple([slice(None, None, step)] * 3)].transpose(np.argsort(order))

    def f(x, y, z):
        return function(x, y), function(y, z), function(z, x)

    given = [array(*one) for one in of]
    with patch.dict("os.environ", TAPE_NUM_THREADS=str(threads)):
        compiled = tape.compile(f)
        found = [*compiled(*given), *compiled(*given)]
    for result, expected in zip(found, 2 * f(*given), strict=True):
        np.testing.assert_array_equal(result, expected)


def test_a_period_ends_where_elements_follow_again():
    for lengths, strides in [((4, 5), (0, 8)), ((4, 5), (8, 0)), ((3, 4, 5), (0, 8, 0)), ((6,), (0,))]:
        flat, n = np.array(offsets(lengths, strides)), period(lengths, strides)
        assert flat.size % n == 0
        assert (flat.reshape(-1, n) == flat[:n]).all()


def test_numbers_that_begin_where_the_rows_do():
    """Of one row that subtracts an array from its own column, another one follows with other addresses."""

    def f(x, z):
        return x[:, :1] - x, x[:, :1] - z, z[:, :1] / x, z[:, :1] / z, x[:, :1] / z

    rng = np.random.default_rng(0)
    for shape in ((4, 40), (100, 300), (700, 300)):
        check(f, tuple(rng.normal(size=(2, *shape))))
