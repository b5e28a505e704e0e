"""Operands of different precision: the derivative by each has all digits of its dtype."""

import itertools

import numpy as np
import pytest
import scipy.special as special

import tape
from tape.core.node import plain

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


BESIDE_NUMBERS = {
    "clip": lambda v: np.clip(2, v, 3.0),
    "clipped": lambda v: np.clip(v, 0, 1.0),
    "clip by one": lambda v: np.clip(2.5, v, None),
    "interp": lambda v: np.interp(0.5, [0.0, 1.0], [v, v]),
    "outer": lambda v: np.outer(2.0, v),
    "dot": lambda v: np.dot(2.0, v),
    "kron": lambda v: np.kron(2.0, v),
    "inner": lambda v: np.inner(2.0, v),
    "append": lambda v: np.append(2.0, v),
    "hypot": lambda v: np.hypot(2.0, v),
    "linspace": lambda v: np.linspace(0, v, 3),
    "convolve": lambda v: np.convolve([1.0, 2.0], np.atleast_1d(v)),
    "einsum": lambda v: np.einsum(",->", 2.0, v),
    "tensordot": lambda v: np.tensordot(2.0, v, 0),
    "multiply": lambda v: np.multiply(2.0, v),
    "where": lambda v: np.where(True, 2.0, v),
    "select": lambda v: np.select([True], [2.0], v),
    "choose": lambda v: np.choose(0, [2.0, v]),
    "power": lambda v: np.power(2.0, v),
    "operators": lambda v: 2.0 - 5.0 // v + 5 % v + 3 / v,
    "nan_to_num": lambda v: np.nan_to_num(v, nan=2.0),
    "average": lambda v: np.average(np.stack([v, v]), weights=[1.0, 2.0]),
    "stack": lambda v: np.stack([2.0, v]),
    "polyval": lambda v: np.polyval([1.0, 2.0], v),
    "polynomial": lambda v: np.polyval(np.stack([v, v]), 2.0),
    "fmax": lambda v: np.fmax(2.0, v),
    "cumsum": lambda v: np.cumsum([2.0, v]),
    "sum": lambda v: np.sum([2.0, v]),
    "quantile": lambda v: np.quantile(np.stack([v, v]), 0.5),
    "median": lambda v: np.median([v, 2.0]),
    "full_like": lambda v: np.full_like(v, 2.0),
    "trapezoid": lambda v: np.trapezoid([2.0, v], dx=0.1),
    "diff": lambda v: np.diff(np.stack([v, v]), prepend=1.0),
    "leaky_relu": lambda v: tape.nn.leaky_relu(2, v),
    "gradient": lambda v: np.gradient(np.stack([v, v, v]), 0.5),
}
OF_BOTH = {
    "dot": np.dot,
    "method": lambda v, s: v.dot(s),
    "reversed": lambda v, s: np.dot(s, v),
    "inner": np.inner,
    "vdot": lambda v, s: np.vdot(v[:1], s),
    "outer": np.outer,
    "multiply.outer": np.multiply.outer,
    "add.outer": lambda v, s: np.add.outer(s, v),
    "kron": np.kron,
    "tensordot": lambda v, s: np.tensordot(v, s, 0),
    "einsum": lambda v, s: np.einsum("i,->i", v, s),
    "clip": lambda v, s: np.clip(s, v, v + v),
    "operators": lambda v, s: v * s + s - v / (1 + s),
    "hypot": np.hypot,
    "where": lambda v, s: np.where(v > 0, v, s),
    "append": np.append,
    "linspace": lambda v, s: np.linspace(v, s, 3),
    "polyval": np.polyval,
    "power": lambda v, s: v**2 * s,
}
NUMBERS = [
    np.float16(0.4), np.float32(0.4), np.float64(0.4), np.complex64(1 + 1j), np.array([0.3, 0.4], np.float32),
    np.int8(3), np.array([1, 2], np.int16), np.bool_(True), 0.4, 3,
]  # fmt: skip


@pytest.mark.parametrize("name", BESIDE_NUMBERS)
def test_numbers_of_python_widen_on_tapes_what_they_widen_without(name):
    f = BESIDE_NUMBERS[name]
    for v in NUMBERS:
        try:
            expected = np.asarray(f(v))
            found = [tape.compile(f)(v)]
            if np.result_type(v).kind in "fc":
                found.append(plain(f(tape.Trace().param(v))))
        except (tape.errors.TapeError, TypeError, ValueError):
            continue
        for result in found:
            assert np.asarray(result).dtype == expected.dtype, v
            np.testing.assert_allclose(result, expected, rtol=1e-3 if expected.itemsize < 4 else 1e-6)


@pytest.mark.parametrize("name", OF_BOTH)
def test_arguments_that_are_numbers_of_python_widen_as_they_do_without_a_program(name):
    f = OF_BOTH[name]
    for v in (np.array([100, 100], np.int8), np.ones(2, np.float16), np.full(2, 0.1, np.float32), np.ones(2)):
        for s in (3, 1 / 3, 1e5, 1j):
            if name == "hypot" and s == 1j:
                continue
            with np.errstate(all="ignore"):
                expected, compiled = f(v, s), tape.compile(f)
                found = [compiled(v, s), compiled(v, s)]
            for result in found:
                assert np.result_type(result) == np.result_type(expected), (v.dtype, s)
                np.testing.assert_allclose(result, expected, rtol=2e-3 if expected.itemsize < 4 else 1e-6)


def test_ufuncs_cast_no_other_kinds():
    z, trace = np.array([1 + 2j]), tape.Trace()
    for f in (
        lambda x: np.multiply(x, 2, dtype="f4"),
        lambda x: np.add(x, x, dtype=float),
        lambda x: np.sin(x, dtype="f4"),
        lambda x: np.add(np.abs(x), 1.5, dtype=int),
    ):
        on_a_tape = lambda x, f=f: f(trace.param(x))  # noqa: E731
        for g in (f, tape.compile(f), on_a_tape, tape.jacobian(f)):
            with pytest.raises(TypeError):
                g(z)
