"""Special functions where they are special: tails, boundaries, orders, and how SciPy's names find them."""

import subprocess
import sys
import threading
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import special

import tape
from tape import errors
from tape.ops.elementwise.scipy_ufuncs import DECLARED, ufunc_named
from tape.ops.special.normal import _HAZARD as HAZARD
from tape.ops.special.polygammas import BERNOULLI
from tests.naive_program import compiled_for, program_of
from tests.op_table.special import CASES
from tests.oracles import assert_close, assert_same, derivative, difference, jvp, record, vjp
from tests.test_lowering import WITHOUT_INSTRUCTIONS
from tests.tiers import some, takes_long

ops = tape.ops.special
slope = tape.elementwise_grad


# ---- boundaries ----------------------------------------------------------------------------------

AT_THE_BOUNDARY = {
    "xlogy (0, 0)": (ops.xlogy, (0.0, 0.0), 0, (-np.inf, 0)),
    "xlogy (0, 2)": (ops.xlogy, (0.0, 2.0), 0, (np.log(2), 0)),
    "xlog1py (0, -1)": (ops.xlog1py, (0.0, -1.0), 0, (-np.inf, 0)),
    "entr 0": (ops.entr, (0.0,), 0, (np.inf,)),
    "entr -1": (ops.entr, (-1.0,), -np.inf, (0,)),
    "rel_entr (0, 2)": (ops.rel_entr, (0.0, 2.0), 0, (-np.inf, 0)),
    "rel_entr (0, 0)": (ops.rel_entr, (0.0, 0.0), 0, (0, 0)),
    "rel_entr (1, 0)": (ops.rel_entr, (1.0, 0.0), np.inf, (0, 0)),
    "kl_div (0, 2)": (ops.kl_div, (0.0, 2.0), 2, (-np.inf, 1)),
    "kl_div (0, 0)": (ops.kl_div, (0.0, 0.0), 0, (0, 1)),
    "pseudo_huber (0, 0)": (ops.pseudo_huber, (0.0, 0.0), 0, (0, 0)),
    "pseudo_huber (0, 3)": (ops.pseudo_huber, (0.0, 3.0), 0, (3, 0)),
    "i0e 0": (ops.i0e, (0.0,), 1, (0,)),
    "i1e 0": (ops.i1e, (0.0,), 0, (0.5,)),
    "i1e far": (ops.i1e, (-1e10,), -3.989422804014327e-06, (-1.9947114017827584e-16,)),
    "j1 0": (ops.j1, (0.0,), 0, (0.5,)),
    "exprel 0": (ops.exprel, (0.0,), 1, (0.5,)),
    "rgamma 0": (ops.rgamma, (0.0,), 0, (1,)),
    "rgamma -3": (ops.rgamma, (-3.0,), 0, (-6,)),
    "gammainc (1, 0)": (lambda x: ops.gammainc(1.0, x), (0.0,), 0, (1,)),
    "gammainc (2, 0)": (lambda x: ops.gammainc(2.0, x), (0.0,), 0, (0,)),
    "betainc (1, 2, 0)": (lambda x: ops.betainc(1.0, 2.0, x), (0.0,), 0, (2,)),
    "boxcox (2, 0)": (ops.boxcox, (2.0, 0.0), np.log(2), (0.5, np.log(2) ** 2 / 2)),
    "boxcox (0, 1)": (ops.boxcox, (0.0, 1.0), -1, (1, 1)),
    "boxcox (0, 2)": (ops.boxcox, (0.0, 2.0), -0.5, (0, 0.25)),
    "boxcox1p (-1, 2)": (ops.boxcox1p, (-1.0, 2.0), -0.5, (0, 0.25)),
    "poch (0, 2)": (ops.poch, (0.0, 2.0), 0, (1, 0)),  # z * (z + 1)
    "poch (-2, 3)": (ops.poch, (-2.0, 3.0), 0, (2, 0)),
    "poch (-2, 1)": (lambda z: ops.poch(z, 1.0), (-2.0,), -2, (1,)),
    "binom (5, 7)": (ops.binom, (5.0, 7.0), 0, (-1 / 42, 1 / 42)),
    "binom (5, 5)": (ops.binom, (5.0, 5.0), 1, (137 / 60, -137 / 60)),
    "binom (5, 6)": (ops.binom, (5.0, 6.0), 0, (1 / 6, -1 / 6)),
    "binom (5, 0)": (ops.binom, (5.0, 0.0), 1, (0, 137 / 60)),
    "binom (5, -1)": (ops.binom, (5.0, -1.0), 0, (0, 1 / 6)),
    "binom (5, -7)": (ops.binom, (5.0, -7.0), 0, (0, 1 / 5544)),
    "binom (5, -2)": (ops.binom, (5.0, -2.0), 0, (0, -1 / 42)),
    "beta (-1/2, -1/2)": (ops.beta, (-0.5, -0.5), 0, (-4 * np.pi, -4 * np.pi)),
    "beta (-3/2, 1/2)": (ops.beta, (-1.5, 0.5), 0, (-4 * np.pi / 3, -4 * np.pi / 3)),
    "inv_boxcox (1, 0)": (ops.inv_boxcox, (1.0, 0.0), np.e, (np.e, -np.e / 2)),
    "logsumexp -inf": (ops.logsumexp, ([-np.inf, -np.inf],), -np.inf, ([0, 0],)),
    "logsumexp inf": (ops.logsumexp, ([np.inf, 1.0],), np.inf, ([1, 0],)),
    "logsumexp inf twice": (ops.logsumexp, ([np.inf, -np.inf, np.inf],), np.inf, ([0.5, 0, 0.5],)),
    "logsumexp no weight": (lambda a: ops.logsumexp(a, b=[0.0, 1.0]), ([9e9, 1.0],), 1, ([0, 1],)),
    "logsumexp cancelled": (lambda a: ops.logsumexp(a, b=[-1.0, 1.0]), ([1.0, 1.0],), -np.inf, ([0, 0],)),
}


@pytest.mark.parametrize("name", AT_THE_BOUNDARY)
def test_boundaries_have_the_documented_values_and_what_does_not_move_adds_nothing(name):
    f, args, value, slopes = AT_THE_BOUNDARY[name]
    args = [np.array(arg) for arg in args]
    assert_close(f(*args), value, 1e-14) if np.isfinite(value) else assert_same(f(*args), np.float64(value))
    for found, expected in zip(vjp(f, args), slopes, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    still = [np.zeros(arg.shape) for arg in args]
    assert jvp(f, args, still) == 0
    for k, expected in enumerate(slopes):
        along = [
            np.ones(arg.shape) if i == k else zeros
            for i, (arg, zeros) in enumerate(zip(args, still, strict=True))
        ]
        np.testing.assert_allclose(jvp(f, args, along), np.sum(expected), rtol=1e-14)


@pytest.mark.parametrize(
    ("f", "x"),
    [(ops.logit, 0), (ops.logit, 1), (ops.erfinv, -1), (ops.erfinv, 1), (ops.erfcinv, 0), (ops.erfcinv, 2),
     (ops.ndtri, 0), (ops.ndtri, 1)],
)  # fmt: skip
def test_inverses_are_infinite_at_the_ends(f, x):
    with np.errstate(divide="ignore"):
        assert abs(f(float(x))) == abs(slope(f)(float(x))) == np.inf


INFINITE = {"y0": 1, "y1": 1, "k0": -1, "k1": -1, "k0e": -1, "k1e": -1, "yv 1": 1, "yn 2": 1, "yv 0.5": 1,
            "kve 0": -1, "kve 1": -1, "iv 0.5": 1, "ive 0.5": 1, "jve 0.5": 1}  # fmt: skip


@pytest.mark.parametrize("name", INFINITE)
def test_bessel_functions_that_rise_or_fall_without_end_at_zero_say_which(name):
    name, *order = name.split()
    f = slope(lambda x: getattr(ops, name)(*map(float, order), x))
    with np.errstate(all="ignore"):
        assert f(0.0) == INFINITE[" ".join([name, *order])] * np.inf
        assert not np.any(np.isnan(f(np.array([0.0, 1.0]))))


OUTSIDE = {
    "gammainc": (lambda x: ops.gammainc(1.0, x), -1.0),
    "gammaincc": (lambda x: ops.gammaincc(1.0, x), -1.0),
    "betainc": (lambda x: ops.betainc(1.0, 1.0, x), 2.0),
    "betaincc": (lambda x: ops.betaincc(1.0, 1.0, x), 2.0),
    "huber": (lambda r: ops.huber(-1.0, r), 0.5),
    "huber by delta": (lambda delta: ops.huber(delta, 0.5), -1.0),
    "pseudo_huber": (lambda r: ops.pseudo_huber(-1.0, r), 0.5),
    "logsumexp": (lambda x: ops.logsumexp(np.ones(2) * x), np.nan),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_there_is_no_derivative_outside_of_the_domain(name):
    f, x = OUTSIDE[name]
    assert not np.isfinite(f(x))
    assert np.isnan(slope(f)(x))


# ---- far out -------------------------------------------------------------------------------------


def mills(t):
    """The density over the upper tail of the normal distribution: Laplace's continued fraction."""
    fraction = t
    for k in range(200, 0, -1):
        fraction = t + k / fraction
    return fraction


@pytest.mark.parametrize("x", [-5.0, -40.0, -1e4, -1e7])
def test_log_ndtr_has_all_digits_in_its_derivatives_far_out(x):
    assert slope(ops.log_ndtr)(x) == pytest.approx(mills(-x), rel=1e-14)
    assert slope(ops.ndtri_exp)(special.log_ndtr(x)) == pytest.approx(1 / mills(-x), rel=1e-10)
    if x > -1e3:
        h = mills(-x)
        assert derivative(ops.log_ndtr, 2)(np.array(x)) == pytest.approx(-h * (x + h), rel=1e-9)
    else:  # -1 + 1 / x**2 - 6 / x**4 ...
        assert derivative(ops.log_ndtr, 2)(np.array(x)) == pytest.approx(-1 + x**-2, rel=1e-14)
        assert derivative(ops.log_ndtr, 3)(np.array(x)) == pytest.approx(-2 * x**-3, rel=1e-7)


def test_the_series_of_log_ndtr_meets_what_is_near():
    for order, precision in ((2, 1e-11), (3, 1e-7)):
        near, far = (derivative(ops.log_ndtr, order)(np.array(x)) for x in (-19.9999999999, -20.0000000001))
        assert near == pytest.approx(far, rel=precision)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_log_ndtr_ends_without_nan(order):
    assert abs(derivative(ops.log_ndtr, order)(np.array(60.0))) < 1e-300
    assert abs(derivative(ops.log_expit, order)(np.array(800.0))) < 1e-300


def test_the_logistic_function_has_all_digits_in_both_tails():
    x = np.array([-500.0, -40.0, 40.0, 500.0])
    np.testing.assert_allclose(slope(ops.expit)(x), np.exp(-np.abs(x)), rtol=1e-13)


def test_exponentials_have_all_digits_in_their_derivatives_far_out():
    x = np.array([-700.0, -40.0, -20.0, 1.0])
    for f in (np.expm1, ops.expm1):
        np.testing.assert_allclose(slope(f)(x), np.exp(x), rtol=1e-14)
        np.testing.assert_allclose(derivative(f, 2)(x), np.exp(x), rtol=1e-14)
    x = np.array([-40.0, 40.0, 200.0])
    bend = np.exp(-np.abs(x))
    np.testing.assert_allclose(derivative(ops.softplus, 2)(x), bend, rtol=1e-13)
    np.testing.assert_allclose(derivative(ops.softplus, 3)(x), -np.sign(x) * bend, rtol=1e-13)


@pytest.mark.parametrize("z", [-2.3, -1e5 + 0.25, 0.6, 39.5, 1e3, 1e6, 1e15])
@pytest.mark.parametrize("m", [1, 2, 5])
def test_products_of_gamma_functions_are_polynomials_in_what_they_differ_by(z, m):
    """Rising factorials, binomial coefficients and the beta function of whole m, from their factors."""
    rise = np.sum(1 / (z + np.arange(m)))
    assert slope(lambda z: ops.poch(z, m))(z) == pytest.approx(special.poch(z, m) * rise, rel=1e-12)
    if z > 0:
        assert slope(lambda z: ops.betaln(z, m))(z) == pytest.approx(-rise, rel=1e-12)
        assert slope(lambda z: ops.beta(m, z))(z) == pytest.approx(-rise * special.beta(m, z), rel=1e-12)
        n = z + m - 1
        n_rise = np.sum(1 / (n - np.arange(m)))
        found = slope(lambda n: ops.binom(n, float(m)))(n)
        assert found == pytest.approx(special.binom(n, m) * n_rise, rel=1e-10)


def test_rising_factorials_bend_by_both_where_they_are_zero_and_left_of_it():
    z = -2.3
    rise = special.psi(z + 2) - special.psi(z)
    mixed = special.poch(z, 2.0) * (rise * special.psi(z + 2) + special.zeta(2, 5 - 0.3))
    mixed += special.poch(z, 2.0) * np.sum(1 / (np.arange(5) - 0.3) ** 2)  # the rest of polygamma(1, z + 2)
    for at, expected in ((0.0, (2, 1 - np.euler_gamma)), (z, (2, mixed))):
        found = tape.grad(tape.grad(ops.poch), (0, 1))(at, 2.0)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@takes_long
@pytest.mark.parametrize(
    ("f", "x"),
    some(
        [
            (ops.binom, x)
            for x in [(2.0, 4.0), (60.0, 90.0), (5.0, -3.0), (0.0, 1.0), (-2.5, -1.0), (3.3, 1.2)]
        ]
        + [(ops.beta, x) for x in [(-0.5, -0.5), (-2.5, -2.5), (-1.5, 0.5), (2.5, -3.5), (1.5, 2.5)]],
        every=3,
    ),
)
def test_binomial_coefficients_and_beta_bend_where_they_are_zero_as_elsewhere(f, x):
    """All derivatives of order 1 to 3 beside those of products of gamma functions, in high precision."""
    mpmath = pytest.importorskip("mpmath")

    def exact(a, b):
        if f is ops.beta:
            return mpmath.gamma(a) * mpmath.gamma(b) * mpmath.rgamma(a + b)
        return mpmath.gamma(a + 1) * mpmath.rgamma(b + 1) * mpmath.rgamma(a - b + 1)

    gradient = tape.grad(lambda u: f(u[0], u[1]))
    hessian = tape.jacobian(gradient)
    for order, found in enumerate((gradient, hessian, tape.jacobian(hessian)), 1):
        with mpmath.workdps(60):
            numbers = [float(mpmath.diff(exact, x, (order - k, k))) for k in range(order + 1)]
        expected = np.array(numbers)[np.sum(np.indices((2,) * order), axis=0)]
        for derivative_of in (found, tape.compile(found)):
            scale = np.max(np.abs(expected))
            np.testing.assert_allclose(derivative_of(np.array(x)), expected, rtol=0, atol=1e-13 * scale)


@pytest.mark.parametrize(("f", "sign"), [(ops.erfcx, -1), (ops.dawsn, 1)])
def test_scaled_error_functions_have_all_digits_in_their_derivatives_far_out(f, sign):
    scale = -1 / np.sqrt(np.pi) if f is ops.erfcx else -0.5
    for x in (30.0, 1e3, 1e6):
        step = sign / (2 * x * x)
        series = 1 + 3 * step * (1 + 5 * step * (1 + 7 * step * (1 + 9 * step)))
        assert slope(f)(x) == pytest.approx(scale / x**2 * series, rel=1e-11)
    near, far = slope(f)(np.array([19.999999999, 20.000000001]))
    assert near == pytest.approx(far, rel=1e-9)


@pytest.mark.parametrize("f", [ops.erfinv, ops.ndtri])
def test_inverses_undo_the_derivative_near_their_ends(f):
    y = np.array([1e-9, 1e-3, 0.5, 1 - 1e-9])
    inverse = ops.erf if f is ops.erfinv else ops.ndtr
    np.testing.assert_allclose(slope(f)(y) * slope(inverse)(f(y)), 1, rtol=1e-12)


def test_polygamma_of_orders_that_are_data():
    compiled = tape.compile(lambda n, x: tape.ops.special.polygamma(n, x))
    for n in (1.0, 0.4, 2.0, 2.5, 0.0, -1.0, np.nan, np.inf):
        with np.errstate(invalid="ignore"):
            expected = special.polygamma(n, 0.3)
        np.testing.assert_allclose(compiled(n, 0.3), expected, rtol=1e-13)


def test_huge_complex_and_negative_arguments_of_polygamma():
    """Recurrence and reflection, DLMF 5.15.5 and 5.15.6, and digits near the real axis."""
    z = np.array([0.3 + 0.2j, -3.3 + 0.4j, 20 - 3j, -50.5 + 0.1j, 1e3 - 1e3j])
    for n in (1, 2, 5):
        step = (-1) ** n * special.factorial(n) / z ** (n + 1)
        np.testing.assert_allclose(ops.polygamma(n, z + 1), ops.polygamma(n, z) + step, rtol=1e-12)
        np.testing.assert_allclose(ops.polygamma(n, z.conj()), ops.polygamma(n, z).conj(), rtol=1e-12)
        x = np.array([0.1, 0.7, -2.3, 30.0])
        np.testing.assert_allclose(ops.polygamma(n, x + 0j), special.polygamma(n, x), rtol=1e-12)
        for order in (float(n), np.float64(n), np.array(n), np.array(float(n))):
            assert_close(ops.polygamma(order, z), ops.polygamma(n, z), 0)
    (along,) = [np.exp(1j * np.arange(5))]
    assert_close(jvp(ops.digamma, [z[:3]], [along[:3]]) / along[:3], ops.polygamma(1, z[:3]), 1e-14)
    with pytest.raises(errors.DTypeError, match="one order"):
        ops.polygamma([1, 2], 1j)


# ---- orders --------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize(
    "name", ["gammaln", "expit", "erfcx", "log_ndtr", "j0", "k1e", "exprel", "loggamma", "erfinv"]
)
def test_derivatives_of_every_order_are_those_of_the_order_below(name, order):
    f, x, one = getattr(ops, name), np.array([0.4, 0.6]), np.ones(2)
    expected = difference(derivative(f, order - 1), [x], [one])
    assert_close(derivative(f, order)(x), expected, 1e-8)


@pytest.mark.parametrize("x", [0.05, 0.7, 9.0])
def test_derivatives_of_exponential_integrals_are_those_of_the_order_below(x):
    """DLMF 8.19.13, 8.19.2: that of order 0 is ``exp(-x) / x``."""
    below = np.exp(-x) * np.array([1 / x, 1 / x + 1 / x**2, 1 / x + 2 / x**2 + 2 / x**3])
    values = [below[0], special.exp1(x), special.expn(2, x)]
    by_x = [lambda x, n=n: ops.expn(n, x) for n in range(3)]
    found = [[derivative(f, order)(np.array(x)) for f in by_x] for order in range(3)]
    np.testing.assert_allclose(found[0], values, rtol=1e-14)
    np.testing.assert_allclose(found[1], [-below[1], -below[0], -special.exp1(x)], rtol=1e-14)
    np.testing.assert_allclose(found[2], [below[2], below[1], below[0]], rtol=1e-14)


BY_ORDER = {
    "jv": lambda v: ops.jv(v, 1.0),
    "scipy's jv": lambda v: special.jv(v, 1.0),
    "kn": lambda v: ops.kn(v, np.ones(3)),
    "polygamma": lambda v: ops.polygamma(v, 1.0),
}


@pytest.mark.parametrize("name", BY_ORDER)
def test_derivatives_by_an_order_are_refused_at_the_call(name):
    with tape.Trace() as trace:
        v = trace.param(2.0)
        with pytest.raises(errors.UnsupportedError, match=f"{name.split()[-1]} by its"):
            BY_ORDER[name](v)
        with tape.Trace() as inner, pytest.raises(errors.UnsupportedError):
            BY_ORDER[name](inner.input(v))
        assert len(trace) == 1


NOT_WHOLE = {
    "kn": [(0.5,), (-0.5,), (2.7,), (-1.5,)], "yn": [(0.5,), (-0.5,), (2.7,), (-1.5,)],
    "expn": [(0.5,), (1.7,), (3.2,)], "smirnov": [(3.5,), (7.9,)], "smirnovi": [(3.5,), (7.9,)],
    "bdtr": [(1.0, 5.5), (1.7, 5.5), (5.2, 5.7)], "bdtrc": [(1.0, 5.5)], "bdtri": [(1.0, 5.7), (1.7, 5.7)],
    "nbdtr": [(1.0, 3.5), (1.7, 3.0), (-0.5, 3.5)], "nbdtrc": [(1.0, 3.5), (-0.5, 3.5)],
    "nbdtri": [(1.0, 3.5), (-0.5, 3.5)], "pdtri": [(1.7,), (-0.5,)],
}  # fmt: skip


@pytest.mark.parametrize(("name", "given"), [(f, each) for f in NOT_WHOLE for each in NOT_WHOLE[f]])
@pytest.mark.filterwarnings("ignore:floating point number truncated:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:non-integer arg n is deprecated:DeprecationWarning")
def test_orders_and_counts_that_scipy_truncates_have_derivatives_of_what_is_left(name, given):
    f, x = getattr(ops, name), np.array(0.3)
    whole = [int(n) for n in given]
    assert f(*given, x) == f(*whole, x)
    for order in (1, 2):
        expected = derivative(lambda x: f(*whole, x), order)(x)
        found = derivative(lambda x: f(*given, x), order)
        assert_close(found(x), expected, 1e-14)
    assert_close(tape.compile(found)(x), expected, 1e-14)
    program = tape.compile(tape.grad(lambda n, x: f(*n, x), 1))  # the orders are data
    assert_close(program(np.array(given), x), derivative(lambda x: f(*whole, x), 1)(x), 1e-14)


def test_orders_may_be_data():
    with tape.Trace() as trace:
        v, x = trace.input([0, 1, 2]), trace.param([0.5, 1.0, 1.5])
        trace.backward_param_grads(special.jv(v, x))
        special.jv(tape.stop_gradient(trace.param(2.0)), x)
    compiled, _ = compiled_for(lambda v, x: tape.grad(lambda x: np.sum(special.jv(v, x)))(x), 1.5, np.ones(3))
    assert_close(compiled(0.5, np.ones(3)), special.jvp(0.5, np.ones(3)), 1e-14)


def test_slopes_of_the_zeta_functions():
    """DLMF 25.6.11 and after, 25.11.18; differences where there is no formula."""
    assert slope(ops.zeta)(0.0) == pytest.approx(-np.log(2 * np.pi) / 2, rel=1e-13)
    assert slope(ops.zeta)(-2.0) == pytest.approx(-special.zeta(3) / (4 * np.pi**2), rel=1e-13)
    assert slope(lambda x: ops.zeta(x, 1.0))(2.0) == pytest.approx(slope(ops.zeta)(2.0), rel=1e-14)
    x = np.array([-20.2, -5.5, -0.5, 0.5, 3.0, 60.0])
    found, expected = slope(ops.zeta)(x), difference(special.zeta, [x], [np.ones(6)])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-14)


@takes_long
@pytest.mark.parametrize("x", some([-1e-2, -2.5, -0.6, -0.4, -1e-6, -1e-10, 0.0, 1e-8, 0.5], every=3))
def test_derivatives_of_zeta_have_all_digits_on_both_sides_of_zero(x):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(40):
        exact = [float(mpmath.zeta(mpmath.mpf(x), 1, n)) for n in range(5)]
    for f in (ops.zeta, ops.zetac):
        np.testing.assert_allclose(tape.taylor(f, x, 1.0, order=4)[1:], exact[1:], rtol=1e-12)
        for order in (1, 2, 4):
            found = derivative(f, order)
            at = np.array(x)
            assert found(at) == pytest.approx(exact[order], rel=1e-12)
    assert tape.compile(found)(at) == pytest.approx(exact[4], rel=1e-12)


@pytest.mark.parametrize("d", [0, -1, 1.5, "two", None])
def test_multigammaln_refuses_what_is_no_dimension(d):
    with pytest.raises(errors.OptionError, match="dimension"):
        ops.multigammaln(3.0, d)


def test_multigammaln_refuses_what_is_too_small():
    with pytest.raises(errors.TapeError, match="multigammaln"):
        record(lambda a: ops.multigammaln(a, 4), [np.array(1.0)])
    compiled = tape.compile(lambda a: ops.multigammaln(a, 4))
    compiled(np.array(3.0))
    assert np.isnan(compiled(np.array(1.0)))


# ---- logsumexp -----------------------------------------------------------------------------------


def test_weighted_logsumexp_is_that_of_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    for options in ({}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}):
        for x in (a, a + 1j * b):
            both = zip(
                ops.logsumexp(x, b=b, return_sign=True, **options),
                special.logsumexp(x, b=b, return_sign=True, **options),
                strict=True,
            )
            for found, expected in both:
                assert_close(found, expected, 1e-14)
                assert type(found) is type(expected)
    assert np.isnan(ops.logsumexp([0.0, 0.0], b=[1.0, -2.0]))
    assert ops.logsumexp([np.nan, 1.0], b=[0.0, 1.0]) == 1
    with pytest.raises(errors.ShapeError, match="logsumexp"):
        ops.logsumexp(a, b=np.ones(3))


# ---- SciPy's own names ---------------------------------------------------------------------------


def test_every_ufunc_finds_its_operation():
    for name, function in DECLARED.items():
        rules = function.op.vjp or (True,)
        place = max(k for k, rule in enumerate(rules) if rule)
        operands: list = [2] * len(rules)
        with tape.Trace() as trace:
            operands[place] = trace.param(0.4)
            out = ufunc_named(name)(*operands)
            assert out.node.op is function.op


def test_ufuncs_without_a_rule_and_arrays_to_write_to_are_refused():
    with tape.Trace() as trace:
        x = trace.param([0.5])
        with pytest.raises(errors.UnsupportedError, match=r"scipy\.special\.mathieu_a"):
            special.mathieu_a(x, 0.5)
        with pytest.raises(errors.InPlaceError, match="gammaln"):
            special.gammaln(x, out=np.ones(1))


def test_float16_and_whole_orders_do_not_widen():
    for dtype in (np.float16, np.float32):
        x = np.array([0.5, 1.5], dtype)
        assert ops.gammaln(x).dtype == ops.yn(2, x).dtype == ops.polygamma(1, x).dtype == dtype
    assert ops.gammaln(3).dtype == ops.jv(1, 2).dtype == np.float64


# ---- programs ------------------------------------------------------------------------------------

CALLED = WITHOUT_INSTRUCTIONS | {"erf", "wofz"}
"""What has no loop of two operands at most."""


@takes_long
@pytest.mark.parametrize(
    "case", some([c for c in CASES if not any(a.dtype.kind == "c" for a in c.args())], every=3), ids=repr
)
def test_programs_have_loops_for_all_but_few(case):
    def both(*args):
        chosen = tuple(k for k, a in enumerate(args) if a.dtype.kind == "f")
        return case.on(tape.ops)(*args), tape.grad(
            lambda *args: tape.ops.sum(tape.ops.real(case.on(tape.ops)(*args))), chosen
        )(*args)

    program = program_of(both, *case.args())
    assert {op.name for op, *_ in program.ir.callbacks} <= CALLED


@takes_long
def test_loops_run_in_all_threads_at_once():
    x = np.linspace(0.1, 9, 300_000)
    compiled = tape.compile(lambda x: ops.gammaln(x) + ops.jv(1.5, x) * ops.log_ndtr(-x))
    expected = compiled(x)
    found = {}

    def run(k):
        found[k] = compiled(x)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        assert_close(found[k], expected, 1e-15)


def test_loops_are_silent_unless_scipy_was_told_otherwise():
    compiled = tape.compile(lambda x: ops.gammaln(x) + 1)
    x = np.array([-1.0, 2.0])
    assert_same(compiled(x), compiled(x))
    with special.errstate(singular="warn"), pytest.warns(special.SpecialFunctionWarning):
        compiled(x)


def test_a_file_with_special_functions_runs_in_another_process(tmp_path):
    """Where scipy.special was not even imported; it is not by importing tape."""
    program = program_of(lambda x: ops.gammaln(x) * ops.xlogy(x, x) + ops.polygamma(1, x), np.ones(3))
    program.save(tmp_path / "f.tape")
    code = (
        "import sys, numpy as np, tape\n"
        "assert 'scipy.special' not in sys.modules\n"
        f"f = tape.load({str(tmp_path / 'f.tape')!r})\n"
        "print(*f(np.array([0.5, 1.5, 2.5])).tolist())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    x = np.array([0.5, 1.5, 2.5])
    expected = special.gammaln(x) * special.xlogy(x, x) + special.polygamma(1, x)
    assert_close([float(word) for word in run.stdout.split()], expected, 1e-14)


@pytest.mark.parametrize("name", ["gammasgn", "round"])
def test_piecewise_constants_record_with_derivative_zero(name):
    ufunc, x = getattr(special, name), np.array([-1.7, -0.4, 0.4, 2.6])

    def f(x):
        return np.sum(ufunc(x) * x)

    assert_same(tape.grad(f)(x), ufunc(x))
    assert_same(tape.compile(tape.grad(f))(x), ufunc(x))
    assert_same(tape.hessian(f)(x), np.zeros((4, 4)))


@pytest.mark.parametrize("function", ["boxcox", "boxcox1p"])
def test_the_derivative_by_the_power_at_the_end_of_the_domain(function):
    """It is ``log(x)**2 / 2`` where the power is 0, infinite at 0; of others ``1 / power**2`` is left."""
    f = getattr(tape.ops.special, function)
    x = {"boxcox": 0.0, "boxcox1p": -1.0}[function]
    with np.errstate(all="ignore"):
        assert tape.grad(f, 1)(x, 0.0) == np.inf
        assert tape.grad(f, 1)(x, 2.0) == 0.25
        assert tape.grad(f, 1)(x + 1.0, 0.0) == 0.0
        assert tape.jvp(lambda p: f(x, p), (2.0,), (1.0,))[1] == 0.25


def test_the_coefficients_of_the_hazard_far_out():
    """By the series that they are the inverse of, exactly: of products of odd numbers."""
    odd = [1]
    for n in range(1, len(HAZARD) + 1):
        odd.append(odd[-1] * (2 * n - 1))
    for n, found in enumerate(HAZARD, 1):
        assert found == odd[n] - sum(odd[k] * HAZARD[n - k - 1] for k in range(1, n))


def test_the_bernoulli_numbers():
    """By the recurrence that they are the solution of, exactly."""
    numbers = [Fraction(1)]
    for n in range(1, 2 * len(BERNOULLI) + 1):
        numbers.append(-sum(comb(n + 1, k) * numbers[k] for k in range(n)) / (n + 1))
    assert tuple(float(number) for number in numbers[2::2]) == BERNOULLI
