"""`tape.scipy.special` beside SciPy and mpmath: where formulas have gaps, and what is refused."""

import numpy as np
import pytest
from scipy import special as original

import tape
from tape import errors
from tape.ops.elementwise.scipy_ufuncs import counterpart
from tape.scipy import special
from tests.op_table.special import ORDERED
from tests.tiers import some

mpmath = pytest.importorskip("mpmath")


def slope(f):
    return tape.elementwise_grad(f)


def close(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found, [float(x) for x in expected], rtol=tolerance, atol=1e-300)


# ---- where formulas have gaps ----------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2, 3])
def test_complete_elliptic_integrals_have_no_gap_at_zero(order):
    m = np.array([-1e6, -3.0, 0.0, 1e-9, 0.3, 0.999])
    for name, exact in (("ellipk", mpmath.ellipk), ("ellipe", mpmath.ellipe)):
        f = getattr(special, name)
        for _ in range(order):
            f = slope(f)
        with mpmath.workdps(40):
            expected = [
                mpmath.diff(exact, mpmath.mpf(x), order, h=mpmath.mpf(10) ** -9 * max(1, abs(x))) for x in m
            ]
        close(f(m), expected, 1e-10)
    p = np.array([1e-300, 1e-9, 0.3, 1.0, 1.7])
    found = slope(special.ellipkm1)(p)
    np.testing.assert_allclose(found[0], -0.5e300, rtol=1e-12)
    np.testing.assert_allclose(found[2:], -slope(special.ellipk)(1 - p[2:]), rtol=1e-12)


@pytest.mark.parametrize("phi", [-7.0, -1.5, 0.0, 0.4, np.pi / 2, 2.0, 40.0])
def test_incomplete_elliptic_integrals_by_the_parameter(phi):
    m = np.array([-20.0, -0.5, 0.0, 0.3, 0.95])
    for name, exact in (("ellipkinc", mpmath.ellipf), ("ellipeinc", mpmath.ellipe)):
        f = getattr(special, name)
        with mpmath.workdps(40):
            expected = [
                mpmath.diff(
                    lambda m, exact=exact: exact(mpmath.mpf(phi), m), mpmath.mpf(x), h=mpmath.mpf(10) ** -9
                )
                for x in m
            ]
        np.testing.assert_allclose(
            slope(lambda m, f=f: f(phi, m))(m), [float(x) for x in expected], rtol=1e-11
        )
        second = tape.grad(lambda x, f=f: tape.grad(lambda x: f(x, 0.3))(x))(0.4)
        by_phi = 0.3 * np.sin(0.8) / 2 / (1 - 0.3 * np.sin(0.4) ** 2) ** (1.5 if name == "ellipkinc" else 0.5)
        assert second == pytest.approx(by_phi if name == "ellipkinc" else -by_phi, rel=1e-12)
        with pytest.raises(errors.UnsupportedError, match="twice by m"):
            tape.grad(lambda m, f=f: tape.grad(lambda m: f(0.4, m))(m))(0.3)


def test_functions_at_their_removable_singularities():
    """Where quotients are 0 / 0, values and derivatives are those of the power series."""
    x = np.array([0.0, 1e-12, 1e-5, 0.1])
    for f, second in (
        (lambda x: special.sici(x)[0], -1 / 9), (lambda x: special.shichi(x)[0], 1 / 9),
    ):  # fmt: skip
        assert slope(f)(x)[0] == 1
        thrice = slope(slope(slope(f)))(x)
        np.testing.assert_allclose(thrice[:3], 3 * second, rtol=1e-9)
    np.testing.assert_allclose(slope(special.spence)(1 + x), [-1, *(-np.log1p(x[1:]) / x[1:])], rtol=1e-12)
    np.testing.assert_allclose(slope(slope(special.spence))(1 + x)[:2], 0.5, rtol=1e-9)
    np.testing.assert_allclose(slope(special.berp)(x)[0], 0.0)
    np.testing.assert_allclose(slope(special.beip)(x)[:2], 0.5, rtol=1e-9)
    struve = slope(special.it2struve0)
    bend = -4 / (9 * np.pi)
    np.testing.assert_allclose(struve(x)[:2], -2 / np.pi, rtol=1e-14)
    np.testing.assert_allclose(slope(slope(struve))(x)[:3], -bend, rtol=1e-9)
    below = np.nextafter(1, 0)
    np.testing.assert_allclose(struve(np.array([below, -below])), struve(np.array([1.0, -1.0])), rtol=1e-14)
    assert slope(lambda x: special.spherical_jn(1, x))(x)[0] == pytest.approx(1 / 3, rel=1e-14)
    np.testing.assert_allclose(slope(lambda x: special.eval_legendre(4, x))(np.array([-1.0, 1.0])), [-10, 10])
    np.testing.assert_allclose(slope(lambda x: special.eval_chebyt(4, x))(np.array([-1.0, 1.0])), [-16, 16])


@pytest.mark.parametrize("x", [0.0, 1e-9, -0.5, 0.999, 3.0])
def test_kelvin_functions_have_all_derivatives_at_and_near_zero(x):
    """Beside those of the power series ``sum((1j * x**2 / 4)**k / k!**2)``, in all modes."""
    size, k = 7, np.arange(30)
    terms = (0.25j**k / original.factorial(k) ** 2)[None]
    powers = 2 * k - np.arange(size)[:, None]
    falling = [np.prod(2 * k[:, None] - np.arange(order), axis=1) for order in range(size)]
    exact = np.sum(np.where(powers >= 0, falling * terms * x ** np.maximum(powers, 0), 0), axis=1)
    for f, expected in (
        (special.ber, exact.real[:-1]), (special.bei, exact.imag[:-1]),
        (special.berp, exact.real[1:]), (special.beip, exact.imag[1:]),
        (lambda x: np.real(special.kelvin(x)[0]), exact.real[:-1]),
        (lambda x: np.real(special.kelvin(x)[2]), exact.real[1:]),
        (lambda x: np.imag(special.kelvin(x)[2]), exact.imag[1:]),
    ):  # fmt: skip
        with np.errstate(all="ignore"):  # of ker and kei at 0
            swept = tape.taylor(f, x, 1.0, order=size - 2)
        np.testing.assert_allclose(swept, expected, rtol=1e-11, atol=1e-11)
        order = f
        for n in range(1, 5):
            order = tape.grad(order)
            assert order(x) == pytest.approx(expected[n], rel=1e-11, abs=1e-11)
        assert tape.compile(order)(x) == pytest.approx(expected[4], rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("n", some([0, 3, 1, 2, 4], every=2))
@pytest.mark.parametrize("name", ORDERED)
def test_slopes_are_differences_at_every_order(name, n):
    """Orders from 0 on have cases of their own in recurrences."""
    x, step = np.array([0.3, 0.7, 1.6, 3.1, -0.4, -1.7]), 1e-3
    f, theirs = (lambda x: getattr(special, name)(n, x)), (lambda x: getattr(original, name)(n, x))
    for function, value in ((slope(f), theirs), (slope(slope(f)), slope(f))):
        with np.errstate(all="ignore"):
            found = function(x)
            one, half, quarter = ((value(x + h) - value(x - h)) / (2 * h) for h in (step, step / 2, step / 4))
        expected = (16 * (4 * quarter - half) - (4 * half - one)) / 45  # but for terms with step**6
        np.testing.assert_allclose(found, np.where(np.isnan(expected), found, expected), 1e-6, 1e-6)


def test_diric_where_the_sine_is_zero():
    x = np.array([0.0, 2 * np.pi, -4 * np.pi, 1.0])
    for n in (1, 4, 5):
        np.testing.assert_allclose(special.diric(x, n), original.diric(x, n), atol=1e-14)
        np.testing.assert_allclose(slope(lambda x, n=n: special.diric(x, n))(x)[:3], 0, atol=1e-12)
    assert np.isnan(special.diric(1.0, np.array([0.5, -1]))).all()


def test_diric_of_no_number_is_none():
    x = np.array([np.nan, np.inf, 1.0])
    with np.errstate(all="ignore"):
        for n in (1, np.array([1, 1, 1]), np.array([1, 2, 3])):
            np.testing.assert_array_equal(np.isnan(special.diric(x, n)), [True, True, False])


@pytest.mark.parametrize("name", ["pdtr", "pdtrc"])
@pytest.mark.parametrize("k", [2.0, 2.5, 2.999])
def test_counts_are_rounded_down_also_in_slopes(name, k):
    """By Poisson's probability of exactly floor(k)."""
    sign = -1 if name == "pdtr" else 1
    found = tape.grad(lambda m: getattr(special, name)(k, m))(1.7)
    assert found == pytest.approx(sign * np.exp(-1.7) * 1.7**2 / 2, rel=1e-14)


@pytest.mark.parametrize(
    ("name", "held", "free"),
    [
        ("pdtrik", (0.5, 0.3), (0.9, 2.0)),
        ("fdtridfd", (0.5, 0.7, 0.3), (2.5, 0.4, 1.5)),
        ("stdtridf", (0.5, 0.3), (0.8, 1.5)),
        ("stdtridf", (0.6, 0.2), (0.8, 1.4)),
    ],
)
def test_parameters_that_are_held_at_a_bound_have_no_slope(name, held, free):
    f, theirs, step = getattr(special, name), getattr(original, name), 1e-5
    for point, is_held in ((held, True), (free, False)):
        for k in range(len(point)):
            found = tape.grad(f, argnums=k)(*point)
            ends = [theirs(*point[:k], point[k] + h, *point[k + 1 :]) for h in (step, -step)]
            expected = 0.0 if is_held else (ends[0] - ends[1]) / (2 * step)
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            for narrow in (np.float32, np.float16) if is_held else ():
                with np.errstate(over="ignore"):  # 1e10 is more than a float16 holds
                    assert tape.grad(f, argnums=k)(*map(narrow, point)) == 0


def test_impossible_counts_are_none():
    n, k = np.array([5.0, 2.0, -1.0, 4.0]), np.array([2.0, 3.0, 1.0, -1.0])
    for name in ("comb", "perm"):
        f, theirs = getattr(special, name), getattr(original, name)
        with tape.Trace() as trace:
            found = f(trace.param(n), k)
        np.testing.assert_allclose(found.value, theirs(n, k), rtol=1e-14)
        gradient = slope(lambda n, f=f: f(n, k))(n)
        assert np.all(gradient[1:] == 0)
        assert gradient[0] > 0
    np.testing.assert_allclose(slope(special.factorial)(np.array([-2.5, 3.0])), [0, 6 * original.psi(4)])


def test_distribution_functions_by_all_that_is_no_count():
    x, h = 1.3, 1e-4
    for name, args in (
        ("chdtr", (2.4, x)), ("chdtrc", (0.4, x)), ("chdtri", (3.0, 0.3)), ("gdtr", (0.7, 2.2, x)),
        ("fdtr", (2.0, 3.5, x)), ("fdtri", (2.0, 3.5, 0.2)), ("owens_t", (0.5, x)), ("agm", (0.2, x)),
    ):  # fmt: skip
        f, theirs = getattr(special, name), getattr(original, name)
        gradient = tape.grad(lambda *args, f=f: f(*args), tuple(range(len(args))))(*args)
        for k, found in enumerate(gradient):
            moved = [theirs(*args[:k], args[k] + s * h, *args[k + 1 :]) for s in (-2, -1, 1, 2)]
            expected = (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * h)
            assert found == pytest.approx(expected, rel=1e-9), (name, k)


INVERSES = {
    "bdtrik": [(0.3, 7.2, 0.4), (0.85, 12.0, 0.15)], "bdtrin": [(1.6, 0.3, 0.35), (4.2, 0.7, 0.8)],
    "nbdtrik": [(0.3, 2.6, 0.35), (0.8, 5.5, 0.7)], "nbdtrin": [(1.6, 0.3, 0.35), (4.2, 0.6, 0.8)],
    "btdtria": [(0.3, 1.5, 0.6), (0.7, 4.0, 0.2)], "btdtrib": [(1.5, 0.3, 0.6), (0.6, 0.8, 0.3)],
    "fdtridfd": [(2.5, 0.4, 1.8)], "fdtri": [(2.0, 3.5, 0.2)], "gdtria": [(0.3, 1.7, 2.2)],
    "gdtrib": [(1.5, 0.4, 2.2)], "gdtrix": [(1.5, 2.4, 0.3)], "pdtrik": [(0.3, 4.2), (0.9, 1.7)],
    "stdtridf": [(0.8, 1.3), (0.3, -0.7)], "chdtriv": [(0.3, 2.2)], "nrdtrimn": [(0.3, 1.5, 0.7)],
    "nrdtrisd": [(0.2, 0.8, 0.3)], "betaincinv": [(1.5, 0.7, 0.3)], "betainccinv": [(1.5, 0.7, 0.3)],
    "gammaincinv": [(1.5, 0.3)], "gammainccinv": [(1.5, 0.3)], "stdtrit": [(2.5, 0.3)],
    "chndtrix": [(0.3, 3.0, 0.7)], "chndtridf": [(2.2, 0.3, 0.7)], "chndtrinc": [(2.2, 2.0, 0.3)],
    "ncfdtri": [(2.0, 3.0, 0.7, 0.4)], "nctdtrit": [(3.0, 0.7, 0.4)], "nctdtridf": [(0.3, 0.7, 1.4)],
}  # fmt: skip


@pytest.mark.parametrize("name", INVERSES)
def test_inverses_by_all_of_their_arguments(name):
    """Where no two parameters are alike, nor half a probability away from its complement."""
    f, theirs, h = getattr(special, name), getattr(original, name), 1e-3
    for args in INVERSES[name]:
        gradient = tape.grad(f, tuple(range(len(args))))(*args)
        for k, found in enumerate(gradient):
            moved = [theirs(*args[:k], args[k] + s * h, *args[k + 1 :]) for s in (-2, -1, 1, 2)]
            expected = (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * h)
            assert found == pytest.approx(expected, rel=2e-6), (args, k)


# ---- SciPy's own names and what is refused ---------------------------------------------------------------


def test_without_vars_functions_are_those_of_scipy():
    x = np.array([0.5, 1.5, 2.5])
    for call in (
        lambda s: s.comb(10, 3, exact=True),
        lambda s: s.factorial(5),
        lambda s: s.factorial(np.arange(4), exact=True),
        lambda s: s.perm(5, 2),
        lambda s: s.logsumexp(x, b=[1, 2, 3], keepdims=True),
        lambda s: s.softmax(x),
        lambda s: s.jvp(2, x, 2),
        lambda s: s.spherical_jn(2, x, True),
        lambda s: s.lambertw(x, -1),
        lambda s: s.polygamma([0, 1, 2], x),
        lambda s: s.multigammaln(x, 1),
        lambda s: s.sici(x)[1],
        lambda s: s.jn_zeros(0, 3),
        lambda s: s.roots_legendre(4)[0],
    ):
        found, expected = call(special), call(original)
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found, expected)


FEW = (
    ("multigammaln", 2), ("comb", 2), ("perm", 2), ("factorial",), ("sinc",), ("zeta",), ("diric", 3),
    ("softmax",), ("log_softmax",), ("logsumexp",), ("assoc_laguerre", 2),
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "rest"), [(name, rest) for name, *rest in FEW], ids=[name for name, *_ in FEW]
)
def test_lists_of_vars_are_arrays(name, rest):
    x, f = np.array([2.5, 3.25]), getattr(special, name)
    by_list = tape.grad(lambda x: np.sum(f([x[0], x[1]], *rest)))
    np.testing.assert_array_equal(by_list(x), tape.grad(lambda x: np.sum(f(x, *rest)))(x))


def test_scipys_own_functions_take_vars_through_their_ufuncs():
    assert tape.grad(lambda x: np.real(original.lambertw(x)))(1.0) == pytest.approx(
        tape.grad(lambda x: np.real(special.lambertw(x)))(1.0)
    )
    ai, aip, _, _ = original.airy(0.3)
    assert tape.grad(lambda x: original.airy(x)[0])(0.3) == aip
    assert tape.grad(lambda x: original.airy(x)[1])(0.3) == pytest.approx(0.3 * ai)


def test_softplus_of_arrays_takes_the_keywords_of_ufuncs():
    x, out = np.array([0.3, 1.2]), np.zeros(2)
    assert special.softplus(x, out=out) is out
    np.testing.assert_allclose(out, np.log1p(np.exp(x)), rtol=1e-14)


@pytest.mark.parametrize("n", [np.array([0, 1, 3]), 0, 1, 3], ids=str)
@pytest.mark.parametrize("name", ["spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"])
def test_derivatives_of_spherical_bessel_functions_of_several_orders_and_of_one(name, n):
    """The first order has no function below it."""
    value, moved = tape.jvp(lambda z: getattr(special, name)(n, z, True), (0.7,), (1.0,))
    of_scipy = lambda z: getattr(original, name)(n, z, True)  # noqa: E731
    np.testing.assert_allclose(value, of_scipy(0.7), rtol=1e-12)
    np.testing.assert_allclose(moved, (of_scipy(0.7 + 1e-5) - of_scipy(0.7 - 1e-5)) / 2e-5, rtol=1e-6)


def test_legendre_functions_of_complex_numbers_have_two_derivatives():
    f = lambda x: special.assoc_legendre_p(3, 1, x * (1 + 1j))[0].real  # noqa: E731
    slope = tape.grad(f)
    bend = tape.grad(slope)
    assert bend(0.3) == pytest.approx((slope(0.3 + 1e-5) - slope(0.3 - 1e-5)) / 2e-5, rel=1e-7)
    with pytest.raises(errors.UnsupportedError, match="complex numbers has no derivative of order 3"):
        tape.grad(bend)(0.3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda v: special.eval_legendre(v, 0.3), errors.UnsupportedError, "eval_legendre by its first"),
        (lambda v: special.hyp2f1(1.0, v, 2.0, 0.3), errors.UnsupportedError, "hyp2f1 by its second"),
        (lambda v: special.ellipj(0.3, v), errors.UnsupportedError, "ellipj by its second"),
        (lambda v: special.lambertw(0.3, v), errors.UnsupportedError, "branch"),
        (lambda v: special.struve(v, 0.3), errors.UnsupportedError, "struve by its first"),
        (lambda v: special.pdtr(v, 0.3), errors.UnsupportedError, "pdtr by its first"),
        (lambda v: special.mathieu_a(1, v), errors.UnsupportedError, "mathieu_a"),
        (lambda v: special.sph_harm_y(1, v, 0.3, 0.1), errors.UnsupportedError, "degree or order"),
        (lambda v: special.sph_harm_y(1, 0.5, v, 0.1), errors.OptionError, "no integer"),
        (lambda v: special.sph_legendre_p_all(2, 0.5, v), errors.OptionError, "must be integers"),
        (lambda v: special.legendre_p(1, v, diff_n=3), errors.OptionError, "diff_n"),
        (lambda v: special.assoc_legendre_p(1, 1, v, branch_cut=1), errors.OptionError, "branch_cut"),
        (lambda v: special.pro_cv(1, 2, v), errors.UnsupportedError, "pro_cv"),
        (lambda v: special.mathieu_cem(1, v, 0.3), errors.UnsupportedError, "mathieu_cem by anything but x"),
        (lambda v: special.obl_rad1(0, 1, v, 0.3), errors.UnsupportedError, "obl_rad1 by anything but x"),
        (lambda v: special.pro_ang1_cv(0, 1, 1.0, v, 0.3), errors.UnsupportedError, "anything but x"),
        (lambda v: special.besselpoly(0.3, v, 1.0), errors.UnsupportedError, "besselpoly by its second"),
        (lambda v: special.smirnov(v, 0.3), errors.UnsupportedError, "smirnov by its first"),
        (lambda v: special.tklmbda(0.3, v), errors.UnsupportedError, "tklmbda by its second"),
        (lambda v: special.pbdn_seq(2, v + 1j), errors.UnsupportedError, "phase"),
        (lambda v: special.pbdv_seq(-0.5, v), errors.OptionError, "from 0 on"),
        (lambda v: special.lqn(v, 0.3), errors.UnsupportedError, "lqn by its order"),
        (lambda v: special.lmbda(1, np.ones(2) * v), errors.ShapeError, "one number"),
        (lambda v: special.zeta(v, out=np.ones(())), errors.OptionError, "out="),
        (lambda v: special.comb(v, 1, exact=True), errors.OptionError, "exact"),
        (lambda v: special.factorial(v, extend="most"), errors.OptionError, "extend"),
        (lambda v: special.jvp(1, v, -1), errors.OptionError, "order of the derivative"),
        (lambda v: special.eval_hermite(1.5, v), errors.OptionError, "whole"),
        (lambda v: special.jvp(1, v, 1.5), errors.OptionError, "jvp: the order of the derivative is 1.5"),
        (lambda v: special.legendre_p(1, v, diff_n=1.5), errors.OptionError, "legendre_p: diff_n=1.5"),
        (
            lambda v: special.sph_harm_y(1, 0, 1j * v, 0.3),
            errors.DTypeError,
            "sph_harm_y: an angle is complex",
        ),
        (lambda v: special.sph_harm_y_all(1, 0, 0.3, 1j * v), errors.DTypeError, "sph_harm_y_all: an angle"),
        (lambda v: special.softplus(v, out=np.zeros(())), errors.OptionError, "softplus: .* without out="),
    ],
)
def test_what_has_no_rule_is_refused_at_the_call(call, error, message):
    with tape.Trace() as trace, pytest.raises(error, match=message):
        call(trace.param(0.7))


RARE = """
mathieu_a mathieu_b obl_cv pro_cv
"""
"""Ufuncs of SciPy without a rule: they are refused."""


SEQUENCES = {"lmbda": 1, "riccati_jn": 1, "riccati_yn": 1, "pbdn_seq": 1, "pbdv_seq": 1, "pbvv_seq": 1,
             "lqn": 1, "lqmn": 2}  # fmt: skip


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_of_functions_name_themselves_where_they_refuse(name):
    f, count = getattr(special, name), SEQUENCES[name]
    orders, x = [2, 3][:count], 0.3
    np.testing.assert_allclose(f(*orders, x), getattr(original, name)(*orders, x), rtol=1e-13)

    def slope(*orders):
        return tape.grad(lambda x: np.sum(f(*orders, x)[0]))(x)

    broken = [] if name in ("lmbda", "pbdv_seq", "pbvv_seq") else [1.5]
    for k in range(count):
        for wrong in (-1, *broken):
            with pytest.raises(errors.OptionError, match=rf"^{name}: an order is {wrong}"):
                slope(*orders[:k], wrong, *orders[k + 1 :])
        with pytest.raises(errors.UnsupportedError, match=rf"\b{name} by its order"):
            tape.grad(lambda v, k=k: np.sum(f(*orders[:k], v, *orders[k + 1 :], x)[0]))(2.0)
    if not name.startswith("lq"):
        with pytest.raises(errors.ShapeError, match=rf"^{name} takes one number"):
            tape.grad(lambda x: np.sum(f(*orders, x)[0]))(np.ones(2))


def test_ufuncs_without_a_rule_are_known():
    ufuncs = {name for name in original.__all__ if isinstance(getattr(original, name), np.ufunc)}
    lacking = {name for name in ufuncs if counterpart(getattr(original, name)) is None}
    assert lacking == set(RARE.split())


@pytest.mark.parametrize(
    "x", [[1.5, 0.75, np.inf], [-np.inf, 1.0], [-np.inf] * 2, [np.inf] * 2, [np.nan, 1.0]]
)
def test_softmax_of_what_is_not_finite_is_scipys(x):
    x = np.array(x)
    with np.errstate(invalid="ignore"), tape.Trace() as trace:
        expected = original.softmax(x)
        np.testing.assert_allclose(tape.nn.softmax(trace.param(x)).value, expected, rtol=1e-15)
        compiled = tape.compile(lambda x: tape.scipy.special.softmax(x))
        for _ in range(2):
            np.testing.assert_allclose(compiled(x), expected, rtol=1e-15)
