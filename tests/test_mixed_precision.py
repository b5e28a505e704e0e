"""Operands of different precision: the derivative by each has all digits of its dtype."""

import itertools

import numpy as np
import pytest
import scipy.special as special

import tape

FUNCTIONS = {
    "power": np.power, "float_power": np.float_power, "arctan2": np.arctan2, "hypot": np.hypot,
    "divide": np.divide, "logaddexp": np.logaddexp, "boxcox": special.boxcox, "powm1": special.powm1,
    "pseudo_huber": special.pseudo_huber, "betaln": special.betaln, "xlogy": special.xlogy,
}  # fmt: skip
DTYPES = [np.float64, np.float32, np.float16]
RNG = np.random.default_rng(0)
X, Y = RNG.uniform(0.1, 3.0, (2, 40)).astype(np.float16)


def both_modes(f):
    reverse = tape.elementwise_grad(f, (0, 1))

    def forward(x, y):
        sides = (np.ones_like(x), np.zeros_like(y)), (np.zeros_like(x), np.ones_like(y))
        return [tape.jvp(f, (x, y), side)[1] for side in sides]

    return {"reverse": reverse, "compiled": tape.compile(reverse), "forward": forward}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_have_the_digits_of_their_dtype(name):
    """All numbers are in half precision, so that they are the same in every dtype."""
    modes = both_modes(FUNCTIONS[name])
    expected = modes["reverse"](X.astype(np.float64), Y.astype(np.float64))
    for kinds in itertools.permutations(DTYPES, 2):
        operands = X.astype(kinds[0]), Y.astype(kinds[1])
        for mode, derivatives in modes.items():
            for found, exact in zip(derivatives(*operands), expected, strict=True):
                roundings = np.abs(found - exact) / np.finfo(found.dtype).eps
                scale = np.abs(exact) + 1e-2 * np.max(np.abs(exact))
                assert np.max(roundings / scale) < 60, (kinds, mode, found.dtype)


def test_squares_of_halves_do_not_overflow():
    x, y = np.array([300.0], np.float32), np.array([300.0], np.float16)
    np.testing.assert_allclose(tape.elementwise_grad(np.arctan2)(x, y), [1 / 600], rtol=1e-6)


def test_a_scalar_of_single_precision():
    x, y = np.float32(0.7), np.array([1.5, 2.5])
    exact = np.float64(x) ** y * np.log(np.float64(x))
    np.testing.assert_allclose(tape.elementwise_grad(lambda y: x**y)(y), exact, rtol=1e-15)


def test_derivatives_have_the_dtype_of_what_they_are_for():
    narrow, wide = np.array([1.5, -2.0], np.float32), np.array([0.5, 1.0])
    for f in (
        lambda x: np.sum(np.where(x > 0, x, wide)),
        lambda x: np.sum(np.where(x > 0, wide, x)) + np.sum(np.sort(x)),
        lambda x: np.sum(np.clip(wide, x, 3.0)) + np.sum(x * wide),
        lambda x: np.sum(np.maximum(x, wide) + x),
    ):
        for gradient in (tape.grad(f), tape.compile(tape.grad(f))):
            assert gradient(narrow).dtype == np.float32
