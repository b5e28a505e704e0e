"""Distributions at the edges: slopes of quantiles, guards beside NaN, thresholds of formulas, names."""

import numpy as np
import pytest
from scipy import stats as original

import tape
from tape import errors
from tape.scipy import stats
from tests.test_scipy_stats import CONTINUOUS, DISCRETE, OF_VECTORS

mpmath = pytest.importorskip("mpmath")

POSSIBLE = [
    (name, shapes)
    for name, every in (CONTINUOUS | DISCRETE).items()
    for shapes in every
    if not np.isnan(getattr(original, name).support(*shapes)[0])
]
SMOOTH = [(name, shapes) for name, shapes in POSSIBLE if name in CONTINUOUS]
NAMES = CONTINUOUS | DISCRETE | OF_VECTORS


def finite(shapes):
    return all(np.isfinite(shapes))


# ---- quantiles ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "shapes"), SMOOTH)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_quantiles_rise_by_one_over_the_density(name, shapes):
    d, q, loc, scale = getattr(stats, name), np.array([0.07, 0.3, 0.5, 0.8, 0.97]), 0.0, 2.0
    q = q[-1:] if name == "gamma" and shapes == (1e-3,) else q  # the others are at the end of the support
    for method, sign in (("ppf", 1), ("isf", -1)):
        f = getattr(d, method)
        x = f(q, *shapes, loc, scale)
        expected = sign / d.pdf(x, *shapes, loc, scale)
        slopes = tape.elementwise_grad(lambda q, f=f: f(q, *shapes, loc, scale))
        for found in (slopes(q), tape.compile(slopes)(q)):
            np.testing.assert_allclose(found, expected, rtol=1e-8)
        moved = tape.jvp(lambda loc, f=f: f(q, *shapes, loc, scale), (loc,), (1.0,))[1]
        np.testing.assert_allclose(moved, np.ones_like(q), rtol=1e-13)
        moved = tape.jvp(lambda scale, f=f: f(q, *shapes, loc, scale), (scale,), (1.0,))[1]
        np.testing.assert_allclose(moved, (x - loc) / scale, rtol=1e-12)


@pytest.mark.parametrize(("name", "shapes"), SMOOTH)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_probabilities_that_are_none_have_no_quantile_and_add_nothing_to_slopes(name, shapes):
    """Nor do those at both ends, but for the ends of the support themselves."""
    d, inner, outer = getattr(stats, name), np.array([0.2, 0.9]), np.array([-0.1, 0.0, 1.0, 1.1, np.nan])
    low, high = original_support = getattr(original, name).support(*shapes)
    for method in ("ppf", "isf"):
        ends = original_support if method == "ppf" else (high, low)
        f = getattr(d, method)
        np.testing.assert_array_equal(f(outer, *shapes), [np.nan, *ends, np.nan, np.nan])
        k = (0, *(1 + i for i in range(len(shapes)))) if finite(shapes) and name != "vonmises" else (0,)
        gradient = tape.grad(lambda q, *shapes, f=f: np.sum(f(q, *shapes)), k)
        whole, part = (gradient(q, *map(float, shapes)) for q in (np.concatenate([inner, outer]), inner))
        np.testing.assert_array_equal(whole[0], [*part[0], 0, 0, 0, 0, 0])
        at_ends = 1 if name == "truncnorm" else 0  # whose ends are its parameters
        for one, other in zip(whole[1:], part[1:], strict=True):
            np.testing.assert_allclose(one, other + at_ends, rtol=1e-13)


@pytest.mark.parametrize("confidence", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("name", ["norm", "gamma", "uniform", "pareto", "t"])
def test_intervals_hold_a_share_around_the_median(name, confidence):
    shapes = {"gamma": (2.0,), "pareto": (3.0,), "t": (4.0,)}.get(name, ())
    ours, theirs = getattr(stats, name), getattr(original, name)
    found = ours.interval(confidence, *shapes, 0.5, 2.0)
    np.testing.assert_allclose(found, theirs.interval(confidence, *shapes, 0.5, 2.0), rtol=1e-12)
    np.testing.assert_allclose(ours.median(*shapes, 0.5, 2.0), theirs.median(*shapes, 0.5, 2.0), rtol=1e-12)
    if 0 < confidence < 1:
        slopes = tape.jacobian(lambda c: np.stack(ours.interval(c, *shapes, 0.5, 2.0)))(confidence)
        densities = ours.pdf(np.array(found), *shapes, 0.5, 2.0)
        np.testing.assert_allclose(slopes, [-0.5, 0.5] / densities, rtol=1e-10)


# ---- outside of the support, and parameters that are none ------------------------------------------------


@pytest.mark.parametrize(("name", "shapes"), POSSIBLE)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_on_either_side_of_the_support_are_constants_and_nan_stays(name, shapes):
    """Of all methods, moved or not; an infinite end is inside of none."""
    d, is_discrete = getattr(stats, name), name in DISCRETE
    low, high = getattr(original, name).support(*shapes)
    density = ("pmf", "logpmf") if is_discrete else ("pdf", "logpdf")
    sides = {
        density[0]: (0, 0), density[1]: (-np.inf, -np.inf), "cdf": (0, 1), "logcdf": (-np.inf, 0),
        "sf": (1, 0), "logsf": (0, -np.inf),
    }  # fmt: skip
    for loc in (0, 3):
        for method, (below, above) in sides.items():
            if name == "vonmises" and method in density:
                continue  # which is periodic
            f = getattr(d, method)
            if np.isfinite(low):
                assert f(loc + low - 1.0, *shapes, loc=loc) == below
                assert f(-np.inf, *shapes, loc=loc) == below
            if np.isfinite(high):
                assert f(loc + high + 1.0, *shapes, loc=loc) == above
                assert f(np.inf, *shapes, loc=loc) == above
            assert np.isnan(f(np.nan, *shapes, loc=loc))


@pytest.mark.parametrize("name", NAMES)
def test_names_are_those_of_scipy_in_errors_and_prints(name):
    d = getattr(stats, name)
    assert repr(d) == f"tape.scipy.stats.{name}"
    assert d.name == name
    shapes = OF_VECTORS[name][1] if name in OF_VECTORS else NAMES[name][0]
    x = OF_VECTORS[name][0] if name in OF_VECTORS else 1.0
    density = "logpmf" if name in DISCRETE or name == "multinomial" else "logpdf"
    wrong = np.asarray(x, complex)
    with pytest.raises(errors.TapeError, match=rf"^{name}\b"):
        getattr(d, density)(wrong, *shapes)
    with pytest.raises(AttributeError):
        _ = d._none
    with pytest.raises(AttributeError):
        _ = d(*shapes)._none
    with pytest.raises(AttributeError):
        _ = d.none
    assert d(*shapes).dist is d


@pytest.mark.parametrize("name", CONTINUOUS | DISCRETE)
def test_parameters_are_named_and_each_is_given_once(name):
    d, shapes = getattr(stats, name), (CONTINUOUS | DISCRETE)[name][0]
    method = "pmf" if name in DISCRETE else "pdf"
    f = getattr(d, method)
    more = {} if name in DISCRETE else {"scale": 2.0}
    by_name = dict(zip(d.shapes, shapes, strict=True)) | {"loc": 1.0} | more
    found = f(2.0, **by_name)
    np.testing.assert_array_equal(found, f(2.0, *shapes, 1.0, *more.values()))
    np.testing.assert_allclose(found, getattr(getattr(original, name), method)(2.0, **by_name), rtol=1e-12)
    for parameter in d.shapes:
        lacking = {key: value for key, value in by_name.items() if key != parameter}
        with pytest.raises(
            errors.UnsupportedError, match=rf"^{name}\.{method} was called without {parameter}\."
        ):
            f(2.0, **lacking)
    for moment in ("mean", "var", "std", "entropy", "support"):
        with pytest.raises(errors.UnsupportedError, match=rf"^{name}\.(var|{moment}) was called with"):
            getattr(d, moment)(*shapes, nothing=1.0)
    with pytest.raises(
        errors.UnsupportedError, match=rf"^{name}\.{method} was called with {len(shapes) + 1}"
    ):
        f(2.0, *shapes, 1.0, loc=1.0)


@pytest.mark.parametrize(
    ("x", "expected"),
    [(True, 1.0), (3, 3.0), ([1, 2], [1.0, 2.0]), ((1.5,), [1.5]), (np.int8(2), 2.0), (np.array(2), 2.0),
     (np.array([True, False]), [1.0, 0.0]), (np.float32(1.5), np.float32(1.5))],
)  # fmt: skip
def test_numbers_of_all_kinds_are_arguments(x, expected):
    found = stats.norm.logpdf(x, 1, 2)
    np.testing.assert_allclose(found, original.norm.logpdf(expected, 1, 2), rtol=1e-6)
    assert np.shape(found) == np.shape(expected)
    assert isinstance(found, np.generic) == (np.ndim(expected) == 0)
    for wrong in (None, "1", 1j, np.array(["a"]), np.array([1j]), np.array([None])):
        for call in (stats.norm.logpdf, stats.poisson.logpmf):
            with pytest.raises(
                errors.DTypeError, match=r"^(norm|poisson) is a distribution of (real )?numbers"
            ):
                call(wrong, 1.0)
        with pytest.raises(errors.DTypeError, match=r"^norm is"):
            stats.norm.mean(wrong)


# ---- thresholds between two formulas -----------------------------------------------------------------


@pytest.mark.parametrize("a", [0.5, 20.0, 199.0, 200.0, np.nextafter(200.0, 300), 201.0, 900.0, 1e6])
def test_entropies_of_gamma_distributions_are_exact_on_both_sides_of_their_series(a):
    with mpmath.workdps(40):
        exact = lambda a: a + mpmath.loggamma(a) + (1 - a) * mpmath.digamma(a)  # noqa: E731
        expected, slope = float(exact(mpmath.mpf(a))), float(mpmath.diff(exact, a))
        bend = float(mpmath.diff(exact, a, 2))
    of_a = tape.grad(stats.gamma.entropy)
    assert stats.gamma.entropy(a) == pytest.approx(expected, rel=1e-12)
    assert of_a(a) == pytest.approx(slope, rel=1e-9)
    assert tape.grad(of_a)(a) == pytest.approx(bend, rel=1e-7 if a < 200.5 else 1e-9)
    assert stats.chi2.entropy(2 * a) == pytest.approx(expected + np.log(2), rel=1e-12)


@pytest.mark.parametrize("x", [1e-12, 0.3, np.log(2), np.nextafter(np.log(2), 0), 0.8, 5.0, 45.0])
def test_logarithms_of_one_minus_an_exponential_are_exact_on_both_sides(x):
    """Of the exponential distribution, whose probability this is, with two derivatives."""
    with mpmath.workdps(40):
        f = lambda x: mpmath.log1p(-mpmath.exp(-x))  # noqa: E731
        expected = [float(mpmath.diff(f, mpmath.mpf(x), order)) for order in (1, 2)]
        value = float(f(mpmath.mpf(x)))
    slope = tape.grad(stats.expon.logcdf)
    assert stats.expon.logcdf(x) == pytest.approx(value, rel=1e-14)
    assert slope(x) == pytest.approx(expected[0], rel=1e-13)
    assert tape.grad(slope)(x) == pytest.approx(expected[1], rel=1e-12)


@pytest.mark.parametrize(
    ("name", "shapes", "x"),
    [
        ("cauchy", (), 0.0), ("cauchy", (), 1.0), ("cauchy", (), -1.0), ("uniform", (), 0.25),
        ("gamma", (3.0,), 2.674), ("logistic", (), 0.0), ("t", (3.0,), 0.0), ("beta", (2.0, 2.0), 0.5),
    ],
)  # fmt: skip
def test_logarithms_of_probabilities_agree_where_one_formula_takes_over_from_another(name, shapes, x):
    """At a probability of about one half: with slopes that are those of the ratio of density to it."""
    d = getattr(stats, name)
    at = x + np.array([-1e-3, -1e-9, 0.0, 1e-9, 1e-3])
    for method, sign in (("logcdf", 1), ("logsf", -1)):
        f, p = getattr(d, method), getattr(d, method[3:])
        np.testing.assert_allclose(f(at, *shapes), np.log(p(at, *shapes)), rtol=1e-13)
        expected = sign * d.pdf(at, *shapes) / p(at, *shapes)
        np.testing.assert_allclose(
            tape.elementwise_grad(lambda x, f=f: f(x, *shapes))(at), expected, rtol=1e-9
        )


@pytest.mark.parametrize("q", [0.25, 0.75, np.nextafter(0.25, 0), 0.5, 0.2, 0.8, 1e-10, 1 - 1e-10])
def test_quantiles_of_cauchy_are_exact_from_the_middle_to_the_ends(q):
    with mpmath.workdps(40):
        expected = float(mpmath.tan(mpmath.pi * (mpmath.mpf(q) - 0.5)))
        slope = float(mpmath.pi / mpmath.sin(mpmath.pi * mpmath.mpf(q)) ** 2)
    assert stats.cauchy.ppf(q) == pytest.approx(expected, rel=1e-13, abs=1e-15)
    assert stats.cauchy.isf(q) == pytest.approx(-expected, rel=1e-13, abs=1e-15)
    assert tape.grad(stats.cauchy.ppf)(q) == pytest.approx(slope, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "at"), [("pareto", [0.5, 1.0, 1.5, 2.0, 2.5]), ("t", [0.5, 1.0, 1.5, 2.0, 2.5])]
)
def test_moments_that_are_infinite_up_to_a_parameter_have_no_slope_there(name, at):
    at = np.array(at)
    for method in ("mean", "var"):
        f = getattr(getattr(stats, name), method)
        np.testing.assert_allclose(f(at), getattr(getattr(original, name), method)(at), rtol=1e-13)
        slopes = tape.elementwise_grad(f)(at)
        is_finite = np.isfinite(f(at))
        assert np.all(slopes[~is_finite] == 0)
        for x, slope in zip(at[is_finite], slopes[is_finite], strict=True):
            assert slope == pytest.approx((f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rel=1e-6, abs=1e-9)


# ---- sums, turns, names --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("poisson", (1e-3,)), ("poisson", (3.0,)), ("poisson", (400.0,)), ("binom", (40.0, 0.3)),
        ("binom", (1.0, 0.5)), ("nbinom", (2.5, 0.1)), ("nbinom", (300.0, 0.5)),
    ],
)  # fmt: skip
def test_entropies_of_counts_are_sums_over_all_that_matter(name, shapes):
    d = getattr(original, name)
    k = np.arange(0, 20 + 4 * d.isf(1e-15, *shapes))
    p = d.pmf(k, *shapes)
    expected = -np.sum(p[p > 0] * np.log(p[p > 0]))
    assert getattr(stats, name).entropy(*shapes) == pytest.approx(expected, rel=1e-11)
    rows = [np.array([[shape], [shape]]) for shape in shapes]
    np.testing.assert_allclose(getattr(stats, name).entropy(*rows), np.full((2, 1), expected), rtol=1e-11)


@pytest.mark.parametrize("kappa", [0.0, 0.3, 1.0, 5.0, 300.0])
@pytest.mark.parametrize("x", [-9.0, -3.2, -np.pi, -0.5, 0.0, 0.5, 2.0, np.pi, 7.0, 20.0])
def test_angles_beyond_a_turn_count_the_turns(x, kappa):
    turns = np.round(x / (2 * np.pi))
    inside = original.vonmises.cdf(x - 2 * np.pi * turns, kappa)
    assert stats.vonmises.cdf(x, kappa) == pytest.approx(inside + turns, abs=1e-12)
    assert stats.vonmises.sf(x, kappa) == pytest.approx(1 - inside - turns, abs=1e-12)
    assert stats.vonmises.pdf(x, kappa) == pytest.approx(original.vonmises.pdf(x, kappa), rel=1e-12)
    slope = tape.grad(lambda x: stats.vonmises.cdf(x, kappa))(x)
    assert slope == pytest.approx(stats.vonmises.pdf(x, kappa), rel=1e-9, abs=1e-13)


def test_what_is_not_a_name_of_scipys_is_none_here():
    assert "skewnorm" in dir(stats)
    with pytest.raises(AttributeError):
        _ = stats.no_distribution
    assert stats.norm.expect(lambda x: x**2) == pytest.approx(1.0, rel=1e-6)
