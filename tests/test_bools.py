"""Bools whose byte is neither 0 nor 1: as in NumPy, any but 0 is True, in programs and in kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape.kernels.choices import select
from tests.tiers import rounds

BYTES = st.lists(st.sampled_from([0, 1, 2, 3, 4, 127, 128, 254, 255]), min_size=1, max_size=70)


def mask(numbers):
    return np.array(numbers, np.uint8).view(bool)


def at(x, k):
    return x.reshape(-1)[k % x.size]


OPS = {
    "product": lambda m, n, x: m * x,
    "sum of a product": lambda m, n, x: np.sum(m * x),
    "sum": lambda m, n, x: np.sum(m) * x,
    "mean": lambda m, n, x: np.mean(m) + x,
    "sum of rows": lambda m, n, x: np.sum(m[:, None] * x, axis=0),
    "float64": lambda m, n, x: m.astype(np.float64) + x,
    "float32": lambda m, n, x: m.astype(np.float32),
    "int64": lambda m, n, x: m.astype(np.int64),
    "int32": lambda m, n, x: m.astype(np.int32),
    "bool": lambda m, n, x: m.astype(bool),
    "any": lambda m, n, x: np.any(m),
    "all": lambda m, n, x: np.all(m),
    "any of columns": lambda m, n, x: np.any(np.stack([m, n]), axis=0),
    "all of columns": lambda m, n, x: np.all(np.stack([m, n]), axis=0),
    "any of rows": lambda m, n, x: np.any(np.stack([m, n]), axis=1),
    "all of rows": lambda m, n, x: np.all(np.stack([m, n]), axis=1),
    "max": lambda m, n, x: np.max(m),
    "min": lambda m, n, x: np.min(m),
    "argmax": lambda m, n, x: np.argmax(m),
    "argmin": lambda m, n, x: np.argmin(m),
    "where": lambda m, n, x: np.where(m, x, -x),
    "where of bools": lambda m, n, x: np.where(m, n, x > 0),
    "and": lambda m, n, x: m & n,
    "or": lambda m, n, x: m | n,
    "xor": lambda m, n, x: m ^ n,
    "not": lambda m, n, x: ~m,
    "logical": lambda m, n, x: np.logical_and(m, np.logical_not(n)),
    "sum of bools": lambda m, n, x: m + n,
    "product of bools": lambda m, n, x: m * n,
    "equal": lambda m, n, x: m == n,
    "different": lambda m, n, x: m != n,
    "less": lambda m, n, x: m < n,
    "compared with a number": lambda m, n, x: m == 1,
    "maximum": lambda m, n, x: np.maximum(m, n),
    "cumulative": lambda m, n, x: np.cumsum(m),
    "copied": lambda m, n, x: m.copy(),
    "turned": lambda m, n, x: m[::-1],
    "taken": lambda m, n, x: m[np.arange(0, len(x), 2)],
    "one element": lambda m, n, x: at(m, 3) * x,
    "broadcast": lambda m, n, x: m[:, None] * np.ones(3),
    "concatenated": lambda m, n, x: np.concatenate([m, n]) * 1.0,
    "matmul": lambda m, n, x: m.astype(float) @ x,
    "gradient": lambda m, n, x: tape.grad(lambda x: np.sum(np.where(m, x * x, m * x)))(x),
}


@pytest.mark.parametrize("name", OPS)
@settings(max_examples=rounds(12))
@given(BYTES, st.randoms(use_true_random=False))
def test_any_byte_but_zero_is_true_in_programs(name, numbers, random):
    """Compiled, recorded with other numbers, as with bytes that are 0 and 1."""
    f = OPS[name]
    m, n = mask(numbers), mask(random.sample(numbers, len(numbers)))
    x = np.arange(1.0, 1 + len(m))
    compiled = tape.compile(f)
    compiled(~m, m, x)
    assert_same(compiled(m, n, x), f(m != 0, n != 0, x))
    assert_same(compiled(m, n, x), f(m, n, x))


def assert_same(found, expected):
    assert found.dtype == expected.dtype
    if expected.dtype == bool:
        np.testing.assert_array_equal(np.logical_not(found), np.logical_not(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_a_large_mask_is_multiplied_and_summed():
    """In blocks."""
    m = np.tile(mask([0, 255, 3]), 20_000)
    total = tape.compile(lambda m, x: np.sum(m * x))
    for x in (np.zeros(m.size), np.ones(m.size)):
        assert total(m, x) == np.sum((m != 0) * x)


def test_a_branch_on_a_mask_takes_the_path_of_true():
    f = tape.compile(lambda m, x: 2 * x if np.any(m) else int(np.max(m)) * x)
    for numbers in ([0, 0], [0, 255], [2, 0], [0, 0], [128, 254]):
        assert f(mask(numbers), 3.0) == (6.0 if any(numbers) else 0.0)
    (path, other) = f.programs
    assert path != other


def test_an_integer_read_from_a_mask_is_one_or_zero():
    f = tape.compile(lambda m, x: x * int(m[0]))
    for numbers in ([255], [0], [2], [1], [128]):
        assert f(mask(numbers), 3.0) == 3.0 * bool(numbers[0])
    assert len(f.programs) == 2


@given(BYTES)
@settings(max_examples=rounds(30))
def test_select_looks_at_the_whole_byte(numbers):
    """Of bools in arrays numba looks at the lowest bit."""
    m = np.resize(mask(numbers), 1500)
    x = np.arange(1500.0)
    for other in (-x, 0.0):
        np.testing.assert_array_equal(select(m, x, other), np.where(m != 0, x, other))
        np.testing.assert_array_equal(select(m, other, x), np.where(m != 0, other, x))


def test_a_gradient_through_a_mask_is_right_when_eager():
    m = np.resize(mask([2, 0, 255]), 3000)
    found = tape.grad(lambda x: np.sum(np.where(m, x, 0.0) + m * x))(np.ones(3000))
    np.testing.assert_array_equal(found, 2.0 * (m != 0))
