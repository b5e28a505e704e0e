"""Derivatives of rare special functions beside high precision; ends, and where SciPy's values are wrong."""

import numpy as np
import pytest
from scipy import special as original

import tape
from tape import errors
from tape.ops.special.by_parameters.numbers import log_less_psi
from tape.scipy import special
from tape.scipy.special._legendre_operations import harmonic_by_angles
from tests.tiers import some, takes_long

mpmath = pytest.importorskip("mpmath")
mpf = mpmath.mpf


def slope_of(f, k, args, order=1, digits=40):
    """The derivative of a function of numbers by one of them, in high precision."""
    with mpmath.workdps(digits):
        exact = [mpf(float(a)) for a in args]
        step = mpf(10) ** -(digits // 4) * max(abs(exact[k]), mpf(10) ** -3)

        def moved(n):
            return f(*exact[:k], exact[k] + n * step, *exact[k + 1 :])

        if order == 1:
            return float((moved(1) - moved(-1)) / (2 * step))
        return float((moved(1) - 2 * moved(0) + moved(-1)) / step**2)


def check(f, exact, args, tolerance, digits=40):
    """The value, and all first and second derivatives by a single operand."""
    with mpmath.workdps(digits):
        assert float(f(*args)) == pytest.approx(float(exact(*(mpf(a) for a in args))), rel=1e-12)
    for k in range(len(args)):
        one = tape.grad(f, k)
        assert one(*args) == pytest.approx(slope_of(exact, k, args, 1, digits), rel=tolerance), k
        found = tape.grad(one, k)(*args)
        assert found == pytest.approx(slope_of(exact, k, args, 2, digits), rel=100 * tolerance), k


# ---- elliptic integrals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("args", [(0.3, 0.5, 2.0), (1e-6, 1.0, 1e7), (1.0, 1.0, 1.0)])
def test_carlson_by_every_argument(args):
    check(tape.ops.special.elliprf, mpmath.elliprf, args, 1e-13)
    check(tape.ops.special.elliprd, mpmath.elliprd, args, 1e-13)
    check(tape.ops.special.elliprg, mpmath.elliprg, args, 1e-13)
    check(tape.ops.special.elliprc, mpmath.elliprc, args[:2], 1e-13)
    check(tape.ops.special.elliprj, mpmath.elliprj, (*args, 0.7), 1e-13)


def test_carlson_at_zero_and_at_negative_numbers():
    by_x, by_y = tape.grad(special.elliprf, (0, 1))(0.0, 1.0, 2.0)
    assert by_x == -np.inf
    assert by_y == pytest.approx(-original.elliprd(0.0, 2.0, 1.0) / 6, rel=1e-14)
    assert np.isnan(tape.grad(special.elliprf)(np.nan, 1.0, 2.0))
    for f in (lambda y: special.elliprc(1.0, y), lambda p: special.elliprj(1.0, 2.0, 3.0, p)):
        with pytest.raises(errors.UnsupportedError, match="principal value"):
            tape.grad(f)(-0.5)


# ---- distributions ---------------------------------------------------------------------------------------


def chi_squared(x, df, nc):
    return mpmath.fsum(
        mpmath.exp(-nc / 2) * (nc / 2) ** j / mpmath.factorial(j)
        * mpmath.gammainc(df / 2 + j, 0, x / 2, regularized=True)
        for j in range(90)
    )  # fmt: skip


def variance_ratio(m, n, nc, f):
    return mpmath.fsum(
        mpmath.exp(-nc / 2) * (nc / 2) ** j / mpmath.factorial(j)
        * mpmath.betainc(m / 2 + j, n / 2, 0, m * f / (m * f + n), regularized=True)
        for j in range(70)
    )  # fmt: skip


def student(df, nc, t):
    def density(w):
        scale = 2 * (df / 2) ** (df / 2) / mpmath.gamma(df / 2)
        return mpmath.ncdf(t * mpmath.exp(w) - nc) * scale * mpmath.exp(df * w - df * mpmath.exp(2 * w) / 2)

    return mpmath.quad(density, [-40, -15, -6, -3, -1.5, -0.5, 0, 0.5, 1, 2])


@pytest.mark.parametrize(
    "args", some([(1.3, 2.5, 1.5), (20.0, 5.0, 15.0), (0.1, 0.4, 3.0), (30.0, 2.5, 1.5)], every=2)
)
def test_noncentral_chi_squared(args):
    check(tape.ops.special.chndtr, chi_squared, args, 1e-11)


@pytest.mark.parametrize(
    "args", some([(2.5, 3.5, 1.5, 0.7), (1.0, 8.0, 6.0, 0.1), (4.0, 3.0, 2.0, 20.0)], every=3)
)
def test_noncentral_f(args):
    check(tape.ops.special.ncfdtr, variance_ratio, args, 1e-11)


@takes_long
@pytest.mark.parametrize("args", some([(5.0, 2.0, -1.0), (2.5, 0.5, 0.7), (3.0, 4.0, 9.0)], every=3))
def test_noncentral_student(args):
    check(tape.ops.special.nctdtr, student, args, 1e-11, digits=24)


def test_noncentral_distributions_without_noncentrality_are_the_central_ones():
    x, df = np.array([0.4, 2.0, 9.0]), 3.0
    for ours, central in (
        (lambda x, df: special.chndtr(x, df, 0.0), lambda x, df: special.chdtr(df, x)),
        (lambda x, df: special.ncfdtr(df, 4.0, 0.0, x), lambda x, df: special.fdtr(df, 4.0, x)),
        (lambda x, df: special.nctdtr(df, 0.0, x), lambda x, df: special.stdtr(df, x)),
    ):
        for k in (0, 1):
            found, expected = (
                tape.grad(lambda *args, f=f: np.sum(f(*args)), k)(x, df) for f in (ours, central)
            )
            np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_what_is_no_solution_has_no_derivative():
    """SciPy's searches stop at an end; there is nothing to differentiate."""
    assert original.ncfdtridfd(3.5, 0.65, 2.0, 5.0) < 1e-90
    assert np.isnan(tape.grad(lambda p: special.ncfdtridfd(3.5, p, 2.0, 5.0))(0.65))
    assert tape.grad(lambda y: special.bdtrik(y, 7.0, 0.3))(1e-9) == 0  # held at 0


def test_kolmogorov_and_smirnov():
    x = np.array([0.3, 0.79, 0.81, 1.5, 3.0])

    def exact(x):
        return 2 * mpmath.nsum(lambda k: -((-1) ** k) * mpmath.exp(-2 * k * k * x * x), [1, 200])

    slopes = tape.elementwise_grad(special.kolmogorov)
    np.testing.assert_allclose(slopes(x), [slope_of(exact, 0, [a]) for a in x], rtol=1e-11)
    assert slopes(np.array([0.0, 1e-3]))[0] == 0
    for n in (1, 7, 300):

        def survival(d, n=n):
            return (1 - d) ** n + mpmath.fsum(
                mpmath.binomial(n, j) * d * (d + mpf(j) / n) ** (j - 1) * (1 - d - mpf(j) / n) ** (n - j)
                for j in range(1, int(mpmath.ceil(n * (1 - d))))
            )

        for d in (1e-3, 0.05, 0.31):
            found = tape.grad(lambda d, n=n: special.smirnov(n, d))(d)
            assert found == pytest.approx(slope_of(survival, 0, [d]), rel=1e-10)


# ---- Legendre --------------------------------------------------------------------------------------------


def test_legendre_functions_at_their_ends():
    """SciPy's own second derivative has the wrong sign at -1; those of order 1 are infinite at both ends."""
    ends = np.array([-1.0, 1.0])
    for m, first, second in (
        (0, [6, 6], [-15, 15]),
        (2, [-30, -30], [90, -90]),
        (1, [-np.inf, np.inf], None),
    ):
        f = tape.elementwise_grad(lambda z, m=m: special.assoc_legendre_p(3, m, z)[0])
        np.testing.assert_allclose(f(ends), first, rtol=1e-13)
        if second is not None:
            np.testing.assert_allclose(tape.elementwise_grad(f)(ends), second, rtol=1e-13)


def test_derivatives_of_spherical_harmonics_have_no_gap_at_the_poles():
    for theta in (0.0, np.pi):
        found = tape.jvp(lambda t: special.sph_harm_y(3, 1, t, 0.4), (theta,), (1.0,))[1]
        wanted = original.sph_harm_y(3, 1, theta, 0.4, diff_n=1)[1][0]
        assert found == pytest.approx(wanted, rel=1e-13)


@pytest.mark.parametrize("m", [-3, 0, 2])
def test_second_derivatives_of_spherical_harmonics_by_the_azimuth_bend_by_the_polar_angle(m):
    """Each derivative by phi is a factor ``1j * m``."""
    theta, phi = np.array([0.7, 2.1]), np.array([0.4, -1.0])
    twice = harmonic_by_angles(0, 2)
    found = tape.jvp(lambda t: twice(3, m, t, phi), (theta,), (np.ones(2),))[1]
    wanted = (1j * m) ** 2 * original.sph_harm_y(3, m, theta, phi, diff_n=1)[1][..., 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-15)


def test_degrees_above_what_factorials_reach():
    for n, m in ((250, 200), (300, 3)):
        wanted = original.assoc_legendre_p(n, m, 0.4, norm=True, diff_n=1)[1]
        found = tape.grad(lambda z, n=n, m=m: special.assoc_legendre_p(n, m, z, norm=True)[0])(0.4)
        assert found == pytest.approx(wanted, rel=1e-10)


# ---- where SciPy's values are wrong ----------------------------------------------------------------------


def test_values_of_vars_are_right_where_those_of_scipy_are_not():
    for x in (-2.0, -0.5):
        with mpmath.workdps(20):
            half_line = mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(0.25j * mpmath.pi)
            wanted = complex(mpmath.quad(lambda t: mpmath.exp(1j * t * t), [x, 0]) + half_line)
        assert tape.ops.special.modfresnelp(x)[0] == pytest.approx(wanted, rel=1e-13)
        assert tape.ops.special.modfresnelm(x)[0] == pytest.approx(np.conj(wanted), rel=1e-13)
    for x in (8.0, 40.0):
        with mpmath.workdps(20):
            wanted = mpmath.quad(
                lambda u, x=x: mpmath.e1(x * mpmath.cosh(u)) * mpmath.exp(x), mpmath.linspace(0, 3, 9)
            )
        assert tape.ops.special.it2i0k0(x)[1] * np.exp(x) == pytest.approx(float(wanted), rel=1e-12)
    for x in (-9.0, 1.7, 5.0):
        wanted = mpmath.quad(mpmath.airyai, [0, x / 2, x])
        assert tape.ops.special.itairy(x)[0] == pytest.approx(float(wanted), rel=1e-12)


def test_what_the_digamma_function_is_below_the_logarithm():
    mpmath = pytest.importorskip("mpmath")
    z = np.array([0.5, 3.0, 14.9, 15.0, 15.5, 20.0, 40.0, 1e3, 1e8])
    with mpmath.workdps(40):
        exact = [float(mpmath.log(v) - mpmath.psi(0, v)) for v in map(mpmath.mpf, z)]
    np.testing.assert_allclose(log_less_psi(z)[3:], exact[3:], rtol=1e-15)
    np.testing.assert_allclose(log_less_psi(z), exact, rtol=1e-13)
