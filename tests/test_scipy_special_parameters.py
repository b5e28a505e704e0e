"""Derivatives of probabilities by parameters: beside high precision, in tails, at ends, of any order."""

import numpy as np
import pytest
from scipy import special, stats

import tape
from tape.ops.special.by_parameters import (
    bell,
    by_beta_parameters,
    by_degrees_of_freedom,
    by_gamma_parameter,
)
from tests.tiers import some

mpmath = pytest.importorskip("mpmath")

STEP = mpmath.mpf(10) ** -18


def slope(f):
    """The derivative at 0 of a function of one number, to 20 digits and more."""
    with mpmath.workdps(70):
        return float((f(STEP) - f(-STEP)) / (2 * STEP))


def exact(*numbers):
    return [mpmath.mpf(float(number)) for number in numbers]


def gammas(a, x, is_low):
    """The incomplete gamma function less a constant: on the side that is small."""
    if is_low:
        return mpmath.gammainc(a, 0, x, regularized=True)
    return -mpmath.gammainc(a, x, mpmath.inf, regularized=True)


def betas(a, b, x, is_low):
    if is_low:
        return mpmath.betainc(a, b, 0, x, regularized=True)
    return -mpmath.betainc(b, a, 0, 1 - x, regularized=True)


def students(df, t):
    """The distribution function of Student at -t."""
    return mpmath.betainc(df / 2, mpmath.mpf(0.5), 0, df / (df + t * t), regularized=True) / 2


SIZES = (1e-4, 0.3, 1.0, 7.5, 19.9, 20.0, 300.0, 2e3)


def around(center, spread):
    """Points from tail to tail, those where the way to integrate changes among them."""
    return center + spread * np.array([-30, -9, -3, -1, -0.01, 0, 0.2, 2, 8, 25])


@pytest.mark.parametrize("a", some(SIZES, every=2))
def test_gamma_by_its_parameter(a):
    x = np.concatenate([around(a, a**0.5), a * np.array([0.01, 0.3, 2]), [0.5, 0.50001, 1e-200]])
    x = x[x > 0]
    found = by_gamma_parameter(1, a, x)
    for one, at in zip(found, x, strict=True):
        of, point = exact(a, at)
        expected = slope(lambda s, of=of, point=point: gammas(of + s, point, is_low=point < of))
        assert one == pytest.approx(expected, rel=2e-12)


@pytest.mark.parametrize("a", some(SIZES, every=3))
@pytest.mark.parametrize("b", some(SIZES[::-1], every=3))
def test_beta_by_its_parameters(a, b):
    mean = a / (a + b)
    x = np.concatenate([around(mean, (mean * (1 - mean) / (a + b + 1)) ** 0.5), [1e-100, 0.5, 0.999]])
    x = x[(x > 0) & (x < 1)]
    by_a, by_b = by_beta_parameters(1, 0, a, b, x), by_beta_parameters(0, 1, a, b, x)
    for k, at in enumerate(x):
        first, second, point = exact(a, b, at)
        is_low = at < mean
        expected = slope(lambda s: betas(first + s, second, point, is_low))  # noqa: B023
        assert by_a[k] == pytest.approx(expected, rel=5e-12)
        expected = slope(lambda s: betas(first, second + s, point, is_low))  # noqa: B023
        assert by_b[k] == pytest.approx(expected, rel=5e-12)


@pytest.mark.parametrize("df", some((1e-3, 0.4, 1.0, 4.0, 19.0, 30.0, 400.0, 1e6), every=2))
def test_student_by_degrees_of_freedom(df):
    t = np.array([0.3, 1.0, 1.49, 1.6, 2.5, 4.4, 5.5, 19.0, 40.0, 1e5])
    found = by_degrees_of_freedom(1, df, -t)
    np.testing.assert_array_equal(by_degrees_of_freedom(1, df, t), -found)
    for one, at in zip(found, t, strict=True):
        of, point = exact(df, at)
        expected = slope(lambda s, of=of, point=point: students(of + s, point))
        assert abs(expected) < 1e-280 or one == pytest.approx(expected, rel=2e-12)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_each_order_is_the_derivative_of_the_one_below(order):
    """By differences of order 8, on both sides of where the way to integrate changes."""
    a = np.array([0.4, 3.0, 19.9, 20.1, 90.0])[:, None]
    step = 0.02 * np.minimum(a, a**0.5)
    weights = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))

    def check(f):
        below = lambda s: f(order - 1, a + s * step)  # noqa: E731
        expected = sum(w * (below(k) - below(-k)) for k, w in weights) / step
        scale = np.max(np.abs(expected), axis=1, keepdims=True)
        np.testing.assert_allclose(f(order, a) / scale, expected / scale, atol=1e-8, rtol=0)

    x = a * np.array([0.3, 0.9, 1.0, 1.3])
    check(lambda n, a: by_gamma_parameter(n, a, x))
    share = np.array([0.05, 0.5, 0.9])
    check(lambda n, a: by_beta_parameters(n, 0, a, 2.5, share))
    check(lambda n, a: by_beta_parameters(n - 1, 1, a, 2.5, share))
    t = np.array([-4.0, -1.0, 0.5, 2.0])
    check(lambda n, a: by_degrees_of_freedom(n, a, t))


def test_derivatives_are_symmetric():
    """Of beta with the parameters swapped, and of mixed ones."""
    a, b = np.array([0.3, 2.0, 50.0])[:, None], np.array([0.7, 4.0, 80.0])
    x = np.array([0.01, 0.25, 0.75])[:, None, None]
    for m, n in ((1, 0), (0, 1), (2, 1)):
        np.testing.assert_allclose(
            by_beta_parameters(m, n, a, b, x), -by_beta_parameters(n, m, b, a, 1 - x), rtol=1e-9, atol=1e-18
        )


MIXED = {
    "stdtr twice": (special.stdtr, [np.array([0.7, 3.3, 12.0]), np.array([-1.2, 0.4, 2.5])], (0, 0, 1)),
    "stdtr thrice": (special.stdtr, [np.array([0.7, 3.3, 12.0]), np.array([-1.2, 0.4, 2.5])], (0, 0, 0, 1)),
    "nctdtr": (special.nctdtr, [2.3, 0.4, np.array([0.9, -0.3])], (0, 1)),
    "nctdtr twice": (special.nctdtr, [2.3, 0.4, np.array([0.9, -0.3])], (0, 0, 1)),
    "ncfdtr twice by the first": (special.ncfdtr, [2.3, 3.4, 0.7, 1.2], (0, 0, 3)),
    "ncfdtr twice by the second": (special.ncfdtr, [2.3, 3.4, 0.7, 1.2], (1, 1, 3)),
    "ncfdtr by both": (special.ncfdtr, [2.3, 3.4, 0.7, 1.2], (0, 1, 3)),
}


@pytest.mark.parametrize("name", MIXED)
def test_derivatives_by_parameters_and_arguments_are_differences_and_know_no_order(name):
    f, args, order = MIXED[name]

    def derived(order):
        by = f
        for k in order:
            by = tape.elementwise_grad(by, k)
        return by

    found, last = derived(order)(*args), order[-1]
    np.testing.assert_allclose(found, derived(order[::-1])(*args), rtol=1e-9)

    def moved(step):
        return derived(order[:-1])(*args[:last], args[last] + step, *args[last + 1 :])

    weights = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
    expected = sum(w * (moved(k * 0.01) - moved(-k * 0.01)) for k, w in weights) / 0.01
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_there_is_no_derivative_where_there_is_no_probability():
    by_nc = tape.elementwise_grad(special.nctdtr, 0)
    assert np.isnan(by_nc(1e-12, 1.1, -0.3))  # whose scale has too many powers of ten
    assert np.isfinite(by_nc(1e-3, 1.1, -0.3))
    slopes = tape.elementwise_grad(special.smirnov, 1)(
        np.array([0, 3, 3, 3, 1]), np.array([0.3, -0.1, 1.2, 1.0, 0.4])
    )
    np.testing.assert_array_equal(slopes, [np.nan, np.nan, np.nan, 0, -1])


def test_ends_and_impossible_parameters():
    ends = np.array([0.0, np.inf, np.nan, -1.0])
    np.testing.assert_array_equal(by_gamma_parameter(1, 2.0, ends), [0, 0, np.nan, np.nan])
    np.testing.assert_array_equal(by_gamma_parameter(1, [-1.0, np.nan], 1.0), [np.nan, np.nan])
    np.testing.assert_array_equal(
        by_beta_parameters(1, 0, 2.0, 3.0, [0, 1, 1.5, np.nan]), [0, 0, np.nan, np.nan]
    )
    np.testing.assert_array_equal(by_degrees_of_freedom(1, 2.0, [-np.inf, 0, np.inf]), [0, 0, 0])
    np.testing.assert_array_equal(by_degrees_of_freedom(1, [-1.0, 0.0], 1.0), [np.nan, np.nan])
    for x in (0.0, np.inf):
        mixed = tape.grad(lambda x: tape.grad(lambda a: special.gammainc(a, x))(2.0))
        assert mixed(x) == 0
    for x in (0.0, 1.0):
        for parameter in (0, 1):
            assert tape.grad(tape.grad(special.betainc, parameter), 2)(2.0, 3.0, x) == 0
            assert tape.grad(tape.grad(special.betainc, 2), parameter)(2.0, 3.0, x) == 0


@pytest.mark.parametrize("orders", [(1, 0), (0, 1), (1, 1), (2, 0)])
def test_there_are_derivatives_inside_of_the_domain_alone(orders):
    """Its ends are inside: probabilities are 0 and 1 there, whatever the parameters are."""
    a = np.array([-1.0, -1e-300, 0.0, 1e-2, 0.5, 2.0, 30.0, np.nan])
    x = np.array([-np.inf, -1.0, -1e-300, 0.0, 0.3, 1.0, 1 + 1e-15, 2.0, np.inf, np.nan])
    a, b, x = np.meshgrid(a, a, x)
    found = by_beta_parameters(*orders, a, b, x)
    np.testing.assert_array_equal(~np.isnan(found), (a > 0) & (b > 0) & (x >= 0) & (x <= 1))
    assert np.all(found[(a > 0) & (b > 0) & ((x == 0) | (x == 1))] == 0)
    for by, is_there in (
        (by_gamma_parameter, (a > 0) & (x >= 0)),
        (by_degrees_of_freedom, (a > 0) & (x == x)),
    ):
        np.testing.assert_array_equal(~np.isnan(by(max(orders), a, x)), is_there)


def test_infinite_degrees_of_freedom_are_those_of_the_normal_distribution():
    """In all derivatives; those by the degrees of freedom are 0 there."""
    t, q = np.array([-1.5, 0.0, 0.4, 3.0]), np.array([0.1, 0.5, 0.8])
    for student, normal, x in (
        (special.stdtr, special.ndtr, t), (special.stdtrit, special.ndtri, q),
        (lambda df, x: tape.scipy.stats.t.logpdf(x, df), tape.scipy.stats.norm.logpdf, t),
    ):  # fmt: skip
        f, g = (lambda x, s=student: s(np.inf, x)), (lambda x, n=normal: n(x))
        np.testing.assert_allclose(f(x), g(x), rtol=1e-13, atol=1e-16)
        for _ in range(3):
            f, g = tape.elementwise_grad(f), tape.elementwise_grad(g)
            np.testing.assert_allclose(f(x), g(x), rtol=1e-9, atol=1e-13)
        by_df = tape.grad(lambda df, x, s=student: s(df, x))
        for each in x:
            assert by_df(np.inf, each) == tape.compile(by_df)(np.inf, each) == 0
            assert tape.grad(by_df)(np.inf, each) == 0
            assert tape.grad(lambda x, by_df=by_df: by_df(np.inf, x))(each) == 0
    for df in (2.0, 1.0, 0.5, np.inf):
        moments = tape.grad(tape.scipy.stats.t.entropy)(df), tape.grad(tape.scipy.stats.t.mean)(df)
        assert np.all(np.isfinite(moments))


def test_bell_polynomials_are_derivatives_of_exponentials():
    """Of ``exp(x y + x^2 / 2 + y^3 / 3)`` at 0.7, 0.4, whose derivatives by hand are known."""
    x, y = 0.7, 0.4
    table = {(1, 0): y + x, (0, 1): x + y * y, (2, 0): 1.0, (1, 1): 1.0, (0, 2): 2 * y, (0, 3): 2.0}
    kappa = lambda i, j: table.get((i, j), 0.0)  # noqa: E731
    first, second = y + x, x + y * y
    assert bell(kappa, 0) == 1
    assert bell(kappa, 2, 0) == pytest.approx(first**2 + 1)
    assert bell(kappa, 1, 1) == pytest.approx(first * second + 1)
    assert bell(kappa, 0, 3) == pytest.approx(second**3 + 3 * second * 2 * y + 2)
    assert bell(kappa, 1, 2) == pytest.approx(first * (second**2 + 2 * y) + 2 * second)


@pytest.mark.parametrize("name", ["gamma", "chi2", "t"])
def test_quantiles_follow_their_probabilities(name):
    """By a parameter: ``cdf(ppf(q, a), a)`` is q, whatever a is; in both tails."""
    ours = getattr(tape.scipy.stats, name)
    q = np.array([1e-30, 1e-3, 0.2, 0.5, 0.9, 0.999])
    for a in (0.7, 3.0, 60.0):
        moved = tape.jvp(lambda a: ours.cdf(ours.ppf(q, a), a), (a,), (1.0,))[1]
        apart = tape.jvp(lambda a: ours.cdf(tape.stop_gradient(ours.ppf(q, a)), a), (a,), (1.0,))[1]
        assert np.all(np.abs(moved) <= 1e-9 * np.abs(apart) + 1e-300), (a, moved, apart)


def test_quantiles_where_a_parameter_changes_nothing_still_have_mixed_derivatives():
    """At the median of Student's distribution, and at an end of beta's where the density is not 0."""

    def check(f, a, q, expected):
        one = tape.grad(lambda q: tape.grad(lambda a: f(a, q))(a))
        two = tape.grad(lambda a: tape.grad(lambda q: f(a, q))(q))
        assert one(q) == pytest.approx(expected, rel=1e-12)
        assert two(a) == pytest.approx(expected, rel=1e-12)
        whole = tape.hessian(lambda u: f(u[0], u[1]))
        for bend in (whole, tape.compile(whole)):
            np.testing.assert_allclose(bend(np.array([a, q]))[[0, 1], [1, 0]], expected, rtol=1e-12)

    df = mpmath.mpf(3)
    density = lambda df: mpmath.exp(  # noqa: E731
        mpmath.loggamma((df + 1) / 2) - mpmath.loggamma(df / 2) - mpmath.log(df * mpmath.pi) / 2
    )
    expected = float(mpmath.diff(lambda df: 1 / density(df), df))
    check(special.stdtrit, 3.0, 0.5, expected)
    check(lambda df, q: tape.scipy.stats.t.isf(q, df), 3.0, 0.5, -expected)
    check(lambda a, y: special.betaincinv(a, 1.0, y), 2.0, 1.0, -1 / 4)  # y^(1 / a)
    check(lambda b, y: special.betaincinv(1.0, b, y), 2.0, 0.0, -1 / 4)
    for f in (special.stdtrit, special.gammaincinv, special.gammainccinv):
        for p in (0.0, 1.0):
            with np.errstate(all="ignore"):
                assert tape.grad(f)(2.0, p) == 0


def test_maximum_of_a_censored_likelihood():
    """Probabilities in a likelihood: its gradient by all parameters is that of differences of SciPy's."""
    x = np.array([0.3, 0.9, 1.4, 2.2])

    def loss(s, p):
        return -np.sum(s.gamma.logsf(x, p[0], scale=p[1])) - np.sum(s.beta.logcdf(x / 4, p[0], p[1]))

    p, h = np.array([1.7, 0.8]), 1e-3
    gradient = tape.grad(lambda p: loss(tape.scipy.stats, p))(p)
    for k, unit in enumerate(np.eye(2)):
        near, far = (
            (loss(stats, p + n * h * unit) - loss(stats, p - n * h * unit)) / (2 * n * h) for n in (1, 2)
        )
        assert gradient[k] == pytest.approx((4 * near - far) / 3, rel=1e-8)
    compiled = tape.compile(tape.grad(lambda p: loss(tape.scipy.stats, p)))
    np.testing.assert_allclose(compiled(p), gradient, rtol=1e-12)
    np.testing.assert_allclose(
        compiled(p + 1), tape.grad(lambda p: loss(tape.scipy.stats, p))(p + 1), rtol=1e-12
    )
