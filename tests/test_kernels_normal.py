"""The normal distribution, made for SIMD: digits, tails, strides, lengths, and gelu."""

import numpy as np
import pytest
from scipy import special

import tape
from tape.ops import nn
from tape.program.native.ufuncs import own_ufunc
from tests.oracles import pytorch

UNITS = {np.float64: 4.0, np.float32: 3.0}  # in the last place, by which results may be off
UNDERFLOW = {np.float64: -38.5, np.float32: -14.2}
BOTH = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@pytest.fixture(scope="module")
def normal_cdf():
    return own_ufunc("normal_cdf")


@pytest.fixture(scope="module")
def normal_moment():
    return own_ufunc("normal_moment")


def density(x):
    """Of float64 numbers, without its factor, with all digits."""
    upper = x.astype(np.float32).astype(float)  # its square is exact
    return np.exp(-upper * upper / 2) * np.exp(-(x - upper) * (x + upper) / 2)


def from_tail(x):
    """Float64 numbers, by way of erfcx, which has all digits."""
    return special.erfcx(np.abs(x) / np.sqrt(2)) / 2 * density(x)


def test_float32_has_all_digits(normal_cdf):
    """Against SciPy's in float64, whose tail is off by 1e-13."""
    x = np.linspace(UNDERFLOW[np.float32], 10, 200_001).astype(np.float32)
    expected = special.ndtr(x.astype(np.float64))
    error = np.abs(normal_cdf(x) - expected) / np.spacing(expected.astype(np.float32))
    assert error.max() <= UNITS[np.float32]


def test_float64_has_all_digits_as_far_as_scipy_has(normal_cdf):
    """Where SciPy's functions agree, they are off by a few units themselves."""
    middle = np.linspace(-1, 10, 100_001)
    np.testing.assert_allclose(normal_cdf(middle), special.ndtr(middle), rtol=9e-16)
    tail = np.linspace(-37, -1, 100_001)
    np.testing.assert_allclose(normal_cdf(tail), from_tail(tail), rtol=2e-15)
    np.testing.assert_allclose(np.log(normal_cdf(tail)), special.log_ndtr(tail), rtol=1e-14)


# Of mpmath.ncdf with 40 digits.
DIGITS = {
    -38.0: 2.88542835e-316, -37.0: 5.725571222524577e-300, -25.125: 1.325958550847443e-139,
    -10.0: 7.619853024160525e-24, -3.3137026272817836: 0.00046034684693680697, -1.0: 0.15865525393145705,
    -0.7091388138715993: 0.23911916932339752, -1e-3: 0.49960105778608893, 2.5: 0.9937903346742238,
}  # fmt: skip


def test_numbers_known_to_all_digits(normal_cdf):
    x, expected = np.array(list(DIGITS)), np.array(list(DIGITS.values()))
    assert (np.abs(normal_cdf(x) - expected) <= UNITS[np.float64] * np.spacing(expected)).all()


@BOTH
def test_the_density_times_x_has_all_digits(normal_moment, dtype):
    x = np.linspace(0.9 * UNDERFLOW[dtype], 6, 100_001).astype(dtype)
    expected = x * density(x.astype(float)) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(normal_moment(x), expected, rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(normal_moment(-x), -normal_moment(x))
    far = np.array([-np.inf, -100, 0, np.finfo(dtype).max, np.inf], dtype)
    np.testing.assert_array_equal(normal_moment(far), np.zeros(5))
    with np.errstate(invalid="ignore"):
        assert np.isnan(normal_moment(dtype(np.nan)))


@BOTH
def test_both_sides_together_are_one_and_nothing_decreases(normal_cdf, dtype):
    x = np.linspace(UNDERFLOW[dtype] - 1, -UNDERFLOW[dtype] + 1, 100_001).astype(dtype)
    y = normal_cdf(x)
    np.testing.assert_array_equal(normal_cdf(np.abs(x)), 1 - normal_cdf(-np.abs(x)))
    assert ((y >= 0) & (y <= 1)).all()
    slack = 2 * UNITS[dtype] * np.spacing(y[:-1])
    assert (np.diff(y) >= -slack).all()


@BOTH
def test_far_out_at_zero_and_of_nan(normal_cdf, dtype):
    tiny, largest = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    x = np.array([-np.inf, -largest, -100, -0.0, 0.0, tiny, -tiny, 100, largest, np.inf], dtype)
    np.testing.assert_array_equal(normal_cdf(x), [0, 0, 0, 0.5, 0.5, 0.5, 0.5, 1, 1, 1])
    with np.errstate(invalid="ignore"):
        assert np.isnan(normal_cdf(np.array([np.nan, -np.nan, 1], dtype))).tolist() == [True, True, False]


@BOTH
def test_the_tail_underflows_gradually(normal_cdf, dtype):
    tiny = np.finfo(dtype).tiny
    x = np.linspace(UNDERFLOW[dtype], 0.96 * UNDERFLOW[dtype], 50).astype(dtype)
    expected = from_tail(x.astype(float)) if dtype == np.float64 else special.ndtr(x.astype(float))
    y = normal_cdf(x)
    assert ((y > 0) & (y < tiny)).any()
    np.testing.assert_allclose(
        y.astype(float), expected, rtol=UNITS[dtype] * np.finfo(dtype).eps, atol=np.spacing(dtype(0))
    )


@BOTH
def test_lengths_strides_and_results_in_place(normal_cdf, dtype):
    """Whatever the place in memory, and whatever is computed at the same time."""
    x = np.linspace(-5, 5, 300).astype(dtype)
    each = np.array([normal_cdf(number) for number in x])
    assert each.dtype == dtype
    for length in range(71):
        for first in (0, 1, 3):
            for step in (1, 2, 3, -1, -2):
                part = slice(first, first + length * abs(step))
                y, expected = x[part][::step], each[part][::step]
                np.testing.assert_array_equal(normal_cdf(y), expected)
        inside = np.full(length + 2, 7, dtype)
        inside[1:-1] = x[:length]
        normal_cdf(inside[1:-1], out=inside[1:-1])
        np.testing.assert_array_equal(inside, [7, *each[:length], 7])
        apart = np.full(2 * length, 7, dtype)
        normal_cdf(x[:length], out=apart[::2])
        np.testing.assert_array_equal(apart[::2], each[:length])
        assert (apart[1::2] == 7).all()


def test_other_dtypes_are_converted(normal_cdf):
    ints = np.arange(-3, 4)
    np.testing.assert_array_equal(normal_cdf(ints), normal_cdf(ints.astype(float)))
    swapped = ints.astype(">f4")
    np.testing.assert_array_equal(normal_cdf(swapped), normal_cdf(ints.astype(np.float32)))
    half = nn.gelu(np.array([[-1.0, 0.5, 2.0]], np.float16))
    assert half.dtype == np.float16
    np.testing.assert_allclose(half, [[-0.15865525, 0.34573123, 1.95449974]], rtol=1e-3)


@BOTH
def test_programs_compute_the_same_and_save_it(normal_cdf, dtype, tmp_path):
    """As one instruction, which value and gradient share."""
    x = np.linspace(-6, 6, 200).astype(dtype).reshape(20, 10)

    def f(x):
        return nn.gelu(x), tape.grad(lambda x: nn.gelu(x).sum())(x)

    compiled = tape.compile(f)
    for operand in (x, x[::-1, ::3], x.T, x[0, 0]):
        for found, expected in zip(compiled(operand), f(operand), strict=True):
            np.testing.assert_allclose(found, expected, rtol=8 * np.finfo(dtype).eps, atol=1e-300)
    program = compiled.programs[next(iter(compiled.programs))]
    assert str(program).count("normal_cdf") == 1
    assert "callbacks     0" in str(program.explain())
    program.save(tmp_path / "gelu")
    for found, expected in zip(tape.load(tmp_path / "gelu")(x), program(x), strict=True):
        np.testing.assert_array_equal(found, expected)


@BOTH
def test_gelu_is_that_of_pytorch_relative_to_its_size(dtype):
    torch = pytorch()
    x = np.linspace(-4, 8, 5000).astype(dtype)
    operand = torch.tensor(x, requires_grad=True)
    value = torch.nn.functional.gelu(operand)
    value.sum().backward()
    # Theirs has 1 + erf, which is off by some eps however small it is.
    close = {"rtol": {np.float64: 1e-10, np.float32: 1e-5}[dtype], "atol": 16 * np.finfo(dtype).eps}
    np.testing.assert_allclose(nn.gelu(x), value.detach().numpy(), **close)
    np.testing.assert_allclose(tape.grad(lambda x: nn.gelu(x).sum())(x), operand.grad.numpy(), **close)
