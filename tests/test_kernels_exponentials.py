"""exp, tanh, log and log1p made for SIMD: digits, limits, strides, and that programs use them."""

import mpmath
import numpy as np
import pytest

import tape
from tape.program.native.ufuncs import own_ufunc
from tests.naive_program import counts, program_of
from tests.tiers import rounds

UNITS = {"exp": 0.86, "tanh": 2.4, "log": 0.8, "log1p": 0.88}
"""In the last place, by which results may be off."""
each = pytest.mark.parametrize("name", UNITS)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def numbers(name, count, rng):
    """Where something may go wrong: near 0 and 1, at bounds of the reduction, subnormal and very large."""
    signs = rng.choice([-1.0, 1.0], count)
    tiny, wide = 10 ** rng.uniform(-320, -1, count), 10 ** rng.uniform(-2, 307, count)
    unit, halves = rng.uniform(-1, 1, count), (np.arange(count) - count // 2 + 0.5) * np.log(2)
    parts = {
        "exp": (unit, rng.uniform(-745, 709, count), np.clip(halves, -745, 709), signs * tiny),
        "tanh": (unit, rng.uniform(-25, 25, count), halves / 2, signs * tiny, signs * wide),
        "log": (np.abs(unit), tiny, wide, 1 + 1e-3 * unit, 2.0 ** np.clip(halves, -1070, 1000)),
        "log1p": (unit, signs * tiny, wide, 2.0 ** np.clip(halves, -50, 60) - 1, 1e-9 * unit - 0.293),
    }  # fmt: skip
    return rng.permutation(np.concatenate(parts[name]))


def errors(name, x):
    """In units in the last place, against 50 digits."""
    with np.errstate(all="ignore"):
        found = own_ufunc(f"vector_{name}")(x)
    function = getattr(mpmath, name)
    with mpmath.workdps(50):
        exact = [function(mpmath.mpf(float(number))) for number in x]
        return np.array([
            float(abs(mpmath.mpf(float(y)) - digits) / float(np.spacing(abs(float(digits)))))
            for y, digits in zip(found, exact, strict=True)
            if float(digits) != 0
        ])  # fmt: skip


@each
def test_all_digits_are_right(name, rng):
    assert errors(name, numbers(name, rounds(3000, 30), rng)).max() <= UNITS[name]


@each
def test_limits_are_those_of_numpy(name):
    x = np.array([
        0.0, -0.0, 5e-324, -5e-324, -1e-310, 1e-9, 1.0, -1.0, -2.0, np.nextafter(-1, 0), 709.7827128933840,
        709.7827128933841, 710.0, -745.13, -746.0, 1e22, -1e22, 1e308, -1e308, np.inf, -np.inf, np.nan,
    ])  # fmt: skip
    with np.errstate(all="ignore"):
        found, expected = own_ufunc(f"vector_{name}")(x), getattr(np, name)(x)
    np.testing.assert_allclose(found, expected, rtol=4e-16)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[is_number]), np.signbit(expected[is_number]))


def test_values_never_leave_the_range(rng):
    x = np.concatenate([numbers("tanh", 2000, rng), np.linspace(15, 25, 20_001)])
    assert np.abs(own_ufunc("vector_tanh")(x)).max() == 1
    rising = own_ufunc("vector_exp")(np.sort(rng.uniform(-1, 1, 20_000)))
    assert np.all(np.diff(rising) >= 0)


@each
def test_results_depend_on_no_neighbour(name, rng):
    function = own_ufunc(f"vector_{name}")
    x = numbers(name, 10, rng)
    with np.errstate(all="ignore"):
        one_by_one = np.array([function(number) for number in x])
        for length in (1, 7, 8, 9, 30):
            for step in (1, 3, -1):
                part = x[::step][:length]
                np.testing.assert_array_equal(function(part), one_by_one[::step][:length])
        held = x.copy()
        function(held, out=held)
    np.testing.assert_array_equal(held, one_by_one)


@each
def test_programs_use_them_for_arrays_of_float64(name, rng):
    function = getattr(np, name)

    def f(x):
        return tape.value_and_grad(lambda x: np.sum(function(x)))(x)

    x = rng.uniform(0.1, 2, 100)
    program = program_of(f, x)
    assert counts(program.ir)[f"vector_{name}"] == 1
    for found, expected in zip(program(x), f(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    for other in (x.astype(np.float32), x[:4], x[0]):
        assert f"vector_{name}" not in counts(program_of(f, other).ir)
