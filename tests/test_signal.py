"""Signals and polynomials: modes and lengths, knots and ends, periods, what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors, ops
from tests.oracles import assert_close, assert_same, inner, jvp, record, uniform, vjp
from tests.tiers import rounds

NAMES = ["convolve", "correlate"]
MODES = ["full", "same", "valid"]


def drawn(*shape, is_complex=False, seed=0):
    return uniform(np.random.default_rng(seed), np.empty(shape, complex if is_complex else float))


# ---- convolution -----------------------------------------------------------------------------------


@settings(max_examples=rounds(80))
@given(st.sampled_from(NAMES), st.sampled_from(MODES), st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_any_convolution_is_that_of_numpy_and_its_modes_are_transposes(name, mode, n, m, is_complex):
    args = [drawn(n, is_complex=is_complex), drawn(m, is_complex=is_complex, seed=1)]

    def f(a, v):
        return getattr(np, name)(a, v, mode)

    _, _, out = record(f, args)
    assert_same(out.value, f(*args))
    seed, directions = drawn(len(out), is_complex=is_complex, seed=2), [drawn(n, seed=3), drawn(m, seed=4)]
    directions = [t.astype(a.dtype) for t, a in zip(directions, args, strict=True)]
    pushed = jvp(f, args, directions)
    assert_close(pushed, f(directions[0], args[1]) + f(args[0], directions[1]), 1e-13)
    assert_close(inner([seed], [pushed]), inner(vjp(f, args, seed), directions), 1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.convolve(x, []),
        lambda x: np.convolve(x, np.ones((2, 2))),
        lambda x: np.correlate(x, 1.0),
        lambda x: np.convolve(x, x, "some"),
        lambda x: np.interp(x, [], []),
        lambda x: np.interp(x, [1.0], [1.0, 2.0]),
        lambda x: np.interp(x, [[1.0]], [[1.0]]),
        lambda x: np.interp(x, [1.0, 2.0], [1.0, 2.0], period=0),
        lambda x: np.unwrap(x, axis=1),
        lambda x: np.polyder(x, -1),
        lambda x: np.polyint(x, 3, [1.0, 2.0]),
        lambda x: np.polyadd(x, np.ones((2, 2))),
        lambda x: np.polydiv(x, []),
        lambda x: np.polyval(np.poly1d([1.0, 2.0]), x),
        lambda x: np.polymul(x, np.poly1d([1.0, 2.0])),
        lambda x: np.polyfit(x, np.ones(2), 1),
        lambda x: np.polyfit(x, np.ones(3), -1),
        lambda x: np.polyfit(x, np.ones(3), 2, cov=True),
        lambda x: np.polyfit(x, np.ones(3), 1, w=np.ones(2)),
    ],
)
def test_what_makes_no_sense_is_refused_at_the_call(call):
    trace = tape.Trace()
    x = trace.param(np.array([1.0, 2.0, 3.0]))
    with pytest.raises((errors.ShapeError, errors.OptionError, errors.UnsupportedError)):
        call(x)
    assert len(trace.nodes) == 1


# ---- interpolation ---------------------------------------------------------------------------------

XP, FP = np.array([0.0, 1.0, 3.0]), np.array([2.0, 5.0, 4.0])


@pytest.mark.parametrize("f", [np.convolve, np.correlate])
@pytest.mark.parametrize("mode", ["fu", "f", "Same", "", None, 1])
def test_modes_are_named_in_full(f, mode):
    with pytest.raises(
        errors.OptionError, match=f"{f.__name__}: mode is {mode!r}. It must be 'full', 'same' or"
    ):
        f(tape.Trace().param(np.ones(3)), np.ones(2), mode)


def test_the_slope_at_a_knot_is_that_to_its_right_and_at_the_last_one_to_its_left():
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0])
    (by_x,) = vjp(lambda x: np.interp(x, XP, FP), [x])
    assert_same(by_x, np.array([0.0, 3.0, 3.0, -0.5, -0.5, -0.5, 0.0]))
    (by_fp,) = vjp(lambda fp: np.interp(x, XP, fp), [FP])
    assert_same(by_fp, np.array([2.5, 2.0, 2.5]))
    (by_xp,) = vjp(lambda xp: np.interp(x, xp, FP), [XP])
    assert_close(by_xp, [-3 * 1.5, -3 * 0.5 + 0.5 * 1.5, 0.5 * 1.5], 1e-15)


def test_values_beyond_the_ends_are_operands():
    x = np.array([-1.0, 0.5, 4.0])

    def f(left, right, fp):
        return np.interp(x, XP, fp, left, right)

    left, right, fp = vjp(f, [np.array(7.0), np.array(8.0), FP])
    assert (float(left), float(right)) == (1.0, 1.0)
    assert_same(fp, np.array([0.5, 0.5, 0.0]))
    assert_same(record(f, [np.array(7.0), np.array(8.0), FP])[2].value, np.interp(x, XP, FP, 7.0, 8.0))


def test_positions_a_period_apart_are_the_same():
    x = np.array([0.2, 1.7, 2.9])

    def f(x, xp, fp):
        return np.interp(x, xp, fp, period=4.0)

    here, there = (vjp(f, [x + shift, XP - 2 * shift, FP]) for shift in (0.0, 4.0))
    for a, b in zip(here, there, strict=True):
        assert_close(a, b, 1e-13)


def test_repeated_knots_and_nan_positions_do_no_harm():
    """At a jump the value is that to its right, and so is the derivative."""
    xp, fp = np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 1.0, 3.0, 4.0])
    gradients = vjp(lambda x, xp, fp: np.interp(x, xp, fp), [np.array([0.5, 1.0, 1.5]), xp, fp])
    for gradient in gradients:
        assert np.isfinite(gradient).all()
    assert_same(gradients[0], np.ones(3))
    _, _, out = record(lambda x: np.interp(x, xp, fp), [np.array([np.nan, 0.5])])
    assert_same(out.value, np.array([np.nan, 0.5]))


# ---- polynomials -----------------------------------------------------------------------------------


def test_a_polynomial_and_its_derivative_are_told_by_the_gradient():
    p, x = drawn(5), drawn(3, seed=1)
    (by_x,) = vjp(lambda x: np.polyval(p, x), [x])
    assert_close(by_x, np.polyval(np.polyder(p), x), 1e-14)
    (by_p,) = vjp(lambda p: np.polyval(p, x), [p])
    assert_close(by_p, np.vander(x, 5).sum(0), 1e-14)


def test_coefficients_may_be_a_list_of_vars():
    trace = tape.Trace()
    a = trace.param(2.0)
    out = np.polyval([a, 1.0, a], trace.input(3.0))
    assert float(out.value) == 23.0
    assert_same(trace.backward_param_grads(out)[0], np.array(10.0))


def test_leading_zeros_are_dropped_and_get_no_gradient():
    zeros = np.array([0.0, 0.0, 1.0, 2.0])
    _, _, out = record(np.polymul, [zeros, np.array([1.0, 1.0])])
    assert_same(out.value, np.polymul(zeros, [1.0, 1.0]))
    gradient, _ = vjp(np.polymul, [zeros, np.array([1.0, 1.0])])
    assert_same(gradient, np.array([0.0, 0.0, 2.0, 2.0]))


def test_the_remainder_of_a_division_without_one():
    u, v = np.polymul([1.0, 2.0, 3.0], [2.0, -1.0]), np.array([2.0, -1.0])
    trace = tape.Trace()
    quotient, remainder = np.polydiv(trace.param(u), trace.param(v))
    assert_same(quotient.value, np.polydiv(u, v)[0])
    assert_same(remainder.value, np.polydiv(u, v)[1])


def test_roots_and_coefficients_undo_each_other():
    zeros = np.array([3.0, 1.0, -2.0])
    (gradient,) = vjp(lambda z: np.sort(np.roots(np.poly(z)))[::-1], [zeros], np.array([1.0, 10.0, 100.0]))
    assert_close(gradient, [1.0, 10.0, 100.0], 1e-12)


def test_the_characteristic_polynomial_has_the_determinant_as_its_last_coefficient():
    a = drawn(3, 3) + 2 * np.diag([1.0, 2.0, 3.0])
    (gradient,) = vjp(lambda a: np.poly(a)[-1], [a])
    assert_close(gradient, -np.linalg.det(a) * np.linalg.inv(a).T, 1e-11)


def test_the_polynomial_of_one_root():
    """Which NumPy takes from arrays alone."""
    assert_close(ops.poly(3.0), np.array([1.0, -3.0]))
    (gradient,) = vjp(lambda z: ops.poly(z)[1], [np.array(3.0)])
    assert_close(gradient, -1.0)
    assert ops.poly([]) == 1.0


@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (2, 3), (2, 2, 2), (3, 2, 3), (1, 1, 1)])
def test_poly_takes_a_vector_or_a_square_matrix(shape):
    with pytest.raises(errors.ShapeError, match="poly of shape"):
        ops.poly(np.ones(shape))


@pytest.mark.parametrize("p", [[], [0.0], [0.0, 0.0], [2.0], [0.0, 3.0, 0.0, 0.0]])
def test_polynomials_without_roots_of_their_own(p):
    p, trace = np.array(p), tape.Trace()
    out = np.roots(trace.param(p))
    assert_same(getattr(out, "value", out), np.roots(p))


def test_polyfit_returns_what_numpy_does_and_warns_as_it_does():
    x, y = np.arange(5.0), drawn(5)
    for options in ({}, {"full": True}, {"cov": True}, {"cov": "unscaled"}, {"w": np.arange(1.0, 6.0)}):
        trace = tape.Trace()
        made = np.polyfit(trace.param(x), trace.param(y), 2, **options)
        expected = np.polyfit(x, y, 2, **options)
        if not isinstance(expected, tuple):
            made, expected = (made,), (expected,)
        for a, b in zip(made, expected, strict=True):
            assert_close(getattr(a, "value", a), b, 1e-12)
    with pytest.warns(np.exceptions.RankWarning, match="degree"):
        np.polyfit(trace.param(np.ones(3)), np.arange(3.0), 1)


def test_unwrapped_phases_have_the_derivative_of_the_phases():
    x = np.array([0.0, 3.0, 6.5, 1.0])
    _, _, out = record(np.unwrap, [x])
    assert_same(out.value, np.unwrap(x))
    assert_same(vjp(np.unwrap, [x], np.arange(4.0))[0], np.arange(4.0))
    assert_same(np.asarray(ops.unwrap(np.array([0, 3, 6, 1]), period=8)), np.unwrap([0, 3, 6, 1], period=8))
