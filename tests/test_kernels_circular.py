"""Sine and cosine made for SIMD: digits, angles far out, strides, and which programs use them."""

import mpmath
import numpy as np
import pytest

import tape
from tape.program.native.ufuncs import own_ufunc
from tests.naive_program import counts, program_of
from tests.tiers import rounds

BOTH = pytest.mark.parametrize("name", ["sin", "cos"])
UNITS = 0.8  # in the last place, by which results may be off


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def angles(count, rng):
    """Near multiples of pi/2 too, near and far from 0."""
    parts = (
        rng.uniform(-10, 10, count),
        rng.uniform(-1e6, 1e6, count),
        np.arange(count) * np.pi / 2,
        np.rint(rng.uniform(0, 6e5, count)) * -np.pi / 2,
        10 ** rng.uniform(-30, 0, count),
        rng.uniform(-1, 1, count) * 10 ** rng.uniform(6, 300, count),
    )
    return rng.permutation(np.concatenate(parts))


def errors(name, x):
    """In units in the last place, against 400 digits."""
    found, near = own_ufunc(f"vector_{name}")(x), getattr(np, name)(x)
    with mpmath.workdps(400):
        exact = [getattr(mpmath, name)(mpmath.mpf(float(angle))) for angle in x]
        return np.array([
            float(abs(mpmath.mpf(float(y)) - digits) / float(np.spacing(abs(size))))
            for y, digits, size in zip(found, exact, near, strict=True)
        ])  # fmt: skip


@BOTH
def test_all_digits_are_right(name, rng):
    assert errors(name, angles(rounds(5000, 50), rng)).max() <= UNITS


@BOTH
def test_zeros_infinity_and_nan_are_those_of_numpy(name):
    x = np.array([0.0, -0.0, 5e-324, -1e-310, 1e-9, 1e22, np.inf, -np.inf, np.nan, 1.0, np.pi])
    with np.errstate(invalid="ignore"):
        found, expected = own_ufunc(f"vector_{name}")(x), getattr(np, name)(x)
    np.testing.assert_allclose(found, expected, rtol=1e-16)
    np.testing.assert_array_equal(np.signbit(found[:2]), np.signbit(expected[:2]))


@BOTH
def test_results_are_never_larger_than_one(name):
    peaks = np.pi / 2 * np.arange(0, 600_000)
    near = np.concatenate([peaks, np.nextafter(peaks, 0), np.pi / 2 + np.linspace(-1e-7, 1e-7, 20_001)])
    assert np.abs(own_ufunc(f"vector_{name}")(near)).max() == 1


@BOTH
def test_results_depend_on_no_neighbour(name, rng):
    """Whatever the place in memory, and whether others are left to the C library."""
    function, x = own_ufunc(f"vector_{name}"), angles(10, rng)
    each = np.array([function(number) for number in x])
    for length in (1, 7, 8, 9, 24, 60):
        for step in (1, 3, -1, 0):
            part = (
                np.lib.stride_tricks.as_strided(x[24:], (length,), (0,)) if step == 0 else x[::step][:length]
            )
            expected = np.full(length, each[24]) if step == 0 else each[::step][:length]
            np.testing.assert_array_equal(function(part), expected)
    inside = np.full(62, 7.0)
    inside[1:-1] = x
    function(inside[1:-1], out=inside[1:-1])
    np.testing.assert_array_equal(inside, [7, *each, 7])


def test_programs_use_them_for_arrays_of_float64_and_save_them(rng, tmp_path):
    def f(x):
        return tape.value_and_grad(lambda x: (np.sin(x) * x).sum())(x)

    x = rng.standard_normal((5, 7))
    program = program_of(f, x)
    assert {"vector_sin", "vector_cos"} <= counts(program.ir).keys()
    for found, expected in zip(program(x), f(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    program.save(tmp_path / "waves")
    for found, expected in zip(tape.load(tmp_path / "waves")(x), program(x), strict=True):
        np.testing.assert_array_equal(found, expected)
    for other in (x.astype(np.float32), x[0], x[0, 0]):
        assert not {"vector_sin", "vector_cos"} & counts(program_of(f, other).ir).keys()


def test_loops_use_them_too(rng):
    def f(x):
        return tape.scan(lambda state, step: (np.sin(state) + step, None), x, np.arange(4.0))[0]

    x = rng.standard_normal(20)
    program = program_of(f, x)
    (loop,) = [instruction for instruction in program.ir.instructions if instruction.op == "loop"]
    assert "vector_sin" in counts(loop.attrs[0].body)
    np.testing.assert_allclose(program(x), f(x), rtol=1e-13)


def test_sweeps_round_as_numpy_does(rng):
    x = rng.standard_normal(200)
    for _ in range(6):  # until it is a program
        trace = tape.Trace()
        v = trace.param(x)
        (found,) = trace.backward_param_grads((np.sin(v) * np.cos(3 * v)).sum())
        np.testing.assert_array_equal(found, np.cos(x) * np.cos(3 * x) - np.sin(3 * x) * np.sin(x) * 3)
