"""Distributions beside those of SciPy: in the tails, at ends of the support, for impossible parameters."""

import numpy as np
import pytest
from scipy import special
from scipy import stats as original

import tape
from tape import errors
from tape.scipy import stats
from tests.tiers import grid, some, takes_long

mpmath = pytest.importorskip("mpmath")

X = np.array([
    -np.inf, -1e3, -40, -3.2, -1, -0.5, -1e-8, 0, 1e-300, 1e-8, 0.2, 0.5, 1, 1.5, 2, 3.3, 7, 40, 1e3,
    np.inf, np.nan,
])  # fmt: skip
K = np.array([
    -np.inf, -3, -1, -0.5, 0, 0.5, 1, 2, 3, 4.2, 5, 10, 11, 50, 300, 1000, np.inf, np.nan,
])  # fmt: skip
Q = np.array([-0.1, 0, 1e-20, 1e-5, 0.1, 0.5, 0.9, 1 - 1e-9, 1, 1.1, np.nan])

CONTINUOUS = {
    "norm": [()],
    "t": [(0.5,), (3.0,), (60.0,), (-1.0,), (2.0,), (1.0,), (np.inf,)],
    "gamma": [(0.3,), (1.0,), (80.0,), (0.0,), (1e-3,)],
    "beta": [(0.4, 0.7), (1.0, 1.0), (30.0, 40.0), (1.0, -1.0)],
    "chi2": [(1.0,), (2.0,), (300.0,)],
    "expon": [()],
    "lognorm": [(0.2,), (3.0,)],
    "laplace": [()],
    "logistic": [()],
    "uniform": [()],
    "cauchy": [()],
    "weibull_min": [(0.5,), (1.0,), (3.0,)],
    "pareto": [(0.5,), (1.5,), (4.0,), (1.0,), (2.0,)],
    "truncnorm": [
        (-1.0, 2.0),
        (3.0, 5.0),
        (-5.0, -4.0),
        (-np.inf, 0.5),
        (1.0, np.inf),
        (2.0, 1.0),
        (-np.inf, np.inf),
        (0.0, 1.0),
        (-1.0, 0.0),
        (0.0, np.inf),
        (-np.inf, 0.0),
    ],
    "vonmises": [(0.5,), (4.0,), (0.0,)],
}
DISCRETE = {
    "poisson": [(0.0,), (0.5,), (300.0,), (-1.0,)],
    "binom": [(0, 0.5), (10, 0.3), (1000, 0.01), (7, 0.0), (7, 1.0), (7.5, 0.5), (0, 0.0), (0, 1.0)],
    "nbinom": [(5, 0.5), (0.5, 0.9), (100, 0.2), (5, 1.2), (5, 1.0)],
    "geom": [(0.1,), (0.9,), (0.0,), (1.0,)],
    "bernoulli": [(0.3,), (0.0,), (1.0,), (1.2,)],
}  # fmt: skip
MOMENTS = ("mean", "var", "std", "entropy", "median", "mode", "cov")
MOVED = [{}, {"loc": 0.3, "scale": 2.5}, {"loc": 1.0, "scale": -1.0}]


def exactly(name, method, x, shapes, loc=0, scale=1):
    """What the formulas give for one number, to 20 digits, where SciPy has lost some."""
    with mpmath.workdps(60):
        z = (mpmath.mpf(x) - loc) / scale
        complement = {
            "expon": lambda: mpmath.exp(-z),
            "laplace": lambda: mpmath.exp(-abs(z)) / 2,
            "pareto": lambda: z ** (-shapes[0]),
            "cauchy": lambda: mpmath.atan2(1, z) / mpmath.pi,
        }[name]()
        logs = {
            "logpdf": {
                "laplace": lambda: -abs(z) - mpmath.log(2),
                "pareto": lambda: mpmath.log(shapes[0]) - (shapes[0] + 1) * mpmath.log(z),
            }.get(name),
            "logcdf": lambda: mpmath.log1p(-complement) if z > 0 else mpmath.log(complement),
            "logsf": lambda: mpmath.log(complement) if z > 0 else mpmath.log1p(-complement),
        }
        return float(logs[method]() - (mpmath.log(scale) if method == "logpdf" else 0))


def agree(ours, theirs, tolerance=2e-12):
    """Which numbers are alike."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(all="ignore"):
        return same | (np.abs(ours - theirs) <= tolerance * np.abs(theirs))


@pytest.mark.parametrize("moved", MOVED, ids=["standard", "moved", "impossible"])
@pytest.mark.parametrize("method", ["pdf", "logpdf", "cdf", "sf", "ppf", "isf"])
@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_densities_probabilities_and_quantiles(name, method, moved):
    at = Q if method in ("ppf", "isf") else X
    for shapes in CONTINUOUS[name]:
        ours = getattr(getattr(stats, name), method)(at, *shapes, **moved)
        theirs = getattr(getattr(original, name), method)(at, *shapes, **moved)
        alike = agree(ours, theirs)
        if name == "laplace" and method == "logpdf":
            alike |= theirs == -np.inf  # the logarithm of 0; ours is looked at below
        if name == "vonmises":
            alike |= (
                np.abs(ours - theirs) < 1e-13
            )  # SciPy's series has lost the rest; ours is looked at below
        if name == "truncnorm":
            alike |= np.abs(ours - theirs) < 1e-15  # near 0, where both lose digits
        if name == "truncnorm" and method == "isf":
            alike |= at < 1e-4  # SciPy's is ppf(1 - q)
            alike |= (at > 0.99) & (np.abs(ours - theirs) < 1e-7)
        assert alike.all(), (shapes, at[~alike], ours[~alike], theirs[~alike])


@pytest.mark.parametrize("method", ["pmf", "logpmf", "cdf", "sf"])
@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_masses_and_probabilities(name, method):
    for shapes in DISCRETE[name]:
        for loc in (0, 3):
            ours = getattr(getattr(stats, name), method)(K, *shapes, loc=loc)
            theirs = getattr(getattr(original, name), method)(K, *shapes, loc=loc)
            alike = agree(ours, theirs, 1e-11 if method == "pmf" else 2e-12)
            alike |= np.isinf(K) & (ours == (0 if method == "pmf" else -np.inf))  # NaN in SciPy, now and then
            assert alike.all(), (shapes, loc, K[~alike], ours[~alike], theirs[~alike])


@pytest.mark.parametrize("moved", MOVED, ids=["standard", "moved", "impossible"])
@pytest.mark.parametrize("name", CONTINUOUS | DISCRETE)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::scipy.integrate.IntegrationWarning")
def test_moments(name, moved):
    moved = {key: value for key, value in moved.items() if key == "loc" or name in CONTINUOUS}
    for shapes in (CONTINUOUS | DISCRETE)[name]:
        for method in ("mean", "entropy", *(() if name == "vonmises" else ("var", "std"))):
            ours = getattr(getattr(stats, name), method)(*shapes, **moved)
            theirs = getattr(getattr(original, name), method)(*shapes, **moved)
            unknown = name == "truncnorm" and method == "entropy" and np.inf in np.abs(shapes)  # NaN in SciPy
            unknown |= name == "geom" and method == "entropy"
            assert unknown or agree(ours, theirs, 1e-10) or abs(ours - theirs) < 1e-14, (
                method,
                shapes,
                ours,
                theirs,
            )


@pytest.mark.parametrize("name", CONTINUOUS | DISCRETE)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_parameters_are_possible_where_they_are_in_scipy(name):
    """Elsewhere there is no support, nor anything else."""
    ours, theirs = getattr(stats, name), getattr(original, name)
    values = np.array([-np.inf, -1, -1e-300, -0.0, 1e-300, 0.5, 1 - 1e-16, 1, 1 + 1e-15, 2, np.inf, np.nan])
    shapes = np.meshgrid(*[values] * len(ours.shapes))
    scales = {"scale": values.reshape(-1, *[1] * len(shapes))} if name in CONTINUOUS else {}
    found, expected = ours.support(*shapes, **scales), theirs.support(*shapes, **scales)
    for end, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(*np.broadcast_arrays(end, other))
    impossible = list(zip(*(np.ravel(shape).tolist() for shape in shapes), strict=True))
    impossible = [row for row in impossible if np.isnan(ours.support(*row)[0])]
    for row in some(impossible, every=7):
        for method in ours._methods - {"support", "interval"}:
            at = () if method in MOMENTS else (0.5,)
            assert np.isnan(getattr(ours, method)(*at, *row)), (method, row)


@grid(name=CONTINUOUS, dtype=["u1", "i1", "u2", "i4", bool], times=2)
def test_integers_are_floats_as_in_scipy(name, dtype):
    """Small ones would wrap around when they are shifted, or squared."""
    shapes, x = CONTINUOUS[name][0], np.array([1, 2, 3, 0, 100], "i8").astype(dtype)
    for method in some(["logpdf", "sf", "pdf", "cdf", "logcdf", "logsf"], every=2):
        ours = getattr(getattr(stats, name), method)
        for loc in (0, 5, np.int8(1)):

            def f(x, ours=ours, loc=loc):
                return ours(x, *shapes, loc=loc)

            expected = f(x.astype(float))
            for found in (f(x), tape.compile(f)(x), tape.vmap(f)(x)):
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_logarithms_of_probabilities_keep_their_digits(name):
    """By the smaller of the two probabilities, whose digits are all there."""
    x = X if name in CONTINUOUS else K
    d = getattr(stats, name)
    for shapes in (CONTINUOUS | DISCRETE)[name]:
        cdf, sf = d.cdf(x, *shapes), d.sf(x, *shapes)
        for log, p, complement in ((d.logcdf, cdf, sf), (d.logsf, sf, cdf)):
            found = log(x, *shapes)
            with np.errstate(all="ignore"):
                expected = np.where(p > 0.5, np.log1p(-complement), np.log(p))
            alike = agree(found, expected, 1e-10) | (expected == -np.inf)
            assert alike.all(), (shapes, x[~alike], found[~alike], expected[~alike])


@pytest.mark.parametrize(
    ("name", "method", "x", "shapes"),
    [
        ("laplace", "logpdf", 1e4, ()), ("laplace", "logsf", 1e4, ()), ("laplace", "logcdf", 50.0, ()),
        ("expon", "logcdf", 60.0, ()), ("expon", "logcdf", 1e-9, ()), ("pareto", "logpdf", 1e200, (2.5,)),
        ("pareto", "logcdf", 1e6, (2.5,)), ("cauchy", "logcdf", 1e12, ()), ("cauchy", "logsf", 1e200, ()),
    ],
)  # fmt: skip
def test_digits_that_scipy_loses_are_here(name, method, x, shapes):
    found = getattr(getattr(stats, name), method)(x, *shapes)
    assert found == pytest.approx(exactly(name, method, x, shapes), rel=1e-13)


@pytest.mark.parametrize("df", [1e2, 1e5, 1e12])
def test_student_with_many_degrees_of_freedom(df):
    with mpmath.workdps(40):
        gammas = mpmath.loggamma((mpmath.mpf(df) + 1) / 2) - mpmath.loggamma(mpmath.mpf(df) / 2)
        expected = (
            gammas
            - mpmath.log(df * mpmath.pi) / 2
            - (mpmath.mpf(df) + 1) / 2 * mpmath.log1p(4 / mpmath.mpf(df))
        )
        half = mpmath.mpf(df) / 2
        entropy = (half + 0.5) * (mpmath.digamma(half + 0.5) - mpmath.digamma(half))
        entropy += mpmath.log(df) / 2 + mpmath.log(mpmath.beta(half, 0.5)) if df < 1e9 else 0
    assert stats.t.logpdf(2.0, df) == pytest.approx(float(expected), rel=1e-14)
    if df < 1e9:
        assert stats.t.entropy(df) == pytest.approx(float(entropy), rel=1e-14)


@pytest.mark.parametrize(("a", "b"), [(30.0, 31.0), (-9.0, -8.0), (5.0, np.inf), (-1.0, 40.0)])
def test_truncated_normal_in_the_tails(a, b):
    with mpmath.workdps(60):
        low, high = mpmath.mpf(a), mpmath.mpf(b)
        mass = mpmath.ncdf(-low) - mpmath.ncdf(-high)
        x = low + (min(high, low + 1) - low) / 4
        density = mpmath.npdf(x) / mass
        below = (mpmath.ncdf(-low) - mpmath.ncdf(-x)) / mass
    assert stats.truncnorm.pdf(float(x), a, b) == pytest.approx(float(density), rel=1e-12)
    assert stats.truncnorm.cdf(float(x), a, b) == pytest.approx(float(below), rel=1e-11)
    assert stats.truncnorm.ppf(float(below), a, b) == pytest.approx(float(x), rel=1e-12)
    assert stats.truncnorm.isf(float(1 - below), a, b) == pytest.approx(float(x), rel=1e-12)


@takes_long
@pytest.mark.parametrize(
    "at",
    some([
        (40.0, 20.0, np.inf), (-40.0, -np.inf, 1.0), (38.6, 38.5, np.inf), (40.0, -np.inf, np.inf),
        (50.0, 49.0, 60.0), (0.5, -1.0, 2.0), (3.0, 3.0, 5.0), (5.0, 3.0, 5.0), (-1.0, -1.0, 2.0),
        (2.0, -1.0, 2.0),
    ], every=3),
)  # fmt: skip
def test_probabilities_of_the_truncated_normal_have_slopes_far_out_and_at_the_ends(at):
    """By the point and by both ends, be they infinite; of logarithms where the probability is not 0."""
    for method in ("cdf", "sf", "logcdf", "logsf"):
        f = getattr(stats.truncnorm, method)
        with mpmath.workdps(800):
            x, a, b = map(mpmath.mpf, at)
            below, above = (
                mpmath.ncdf(high) - mpmath.ncdf(low) if high <= 0 else mpmath.ncdf(-low) - mpmath.ncdf(-high)
                for low, high in ((a, x), (x, b))
            )
            whole = below + above
            at_x, at_a, at_b = (mpmath.npdf(end) for end in (x, a, b))
            share = (below if method.endswith("cdf") else above) / whole
            signs = (1, -1, 0) if method.endswith("cdf") else (-1, 0, 1)
            size = max(at_x, at_a, at_b)  # of what nearly cancels where the share is nearly 1
            terms = [at_x * signs[0], at_a * (signs[1] + share), at_b * (signs[2] - share)]
            if method.startswith("log"):
                if share == 0:
                    continue
                terms = [term / share for term in terms]
                size = max(map(abs, terms))
            expected = [float(term / whole) for term in terms]
        with np.errstate(all="ignore"):
            gradient = tape.grad(f, (0, 1, 2))
            tolerance = 1e-11 * float(size / whole)
            np.testing.assert_allclose(gradient(*at), expected, rtol=1e-11, atol=tolerance)
            np.testing.assert_allclose(tape.compile(gradient)(*at), gradient(*at), rtol=1e-12)


@pytest.mark.parametrize(("x", "kappa"), [(2.0, 4.0), (-2.5, 4.0), (-3.0, 0.5), (-1.0, 40.0), (1.0, 0.0)])
def test_probabilities_of_angles(x, kappa):
    with mpmath.workdps(30):
        density = lambda x: mpmath.exp(kappa * mpmath.cos(x))  # noqa: E731
        expected = mpmath.quad(density, [-mpmath.pi, x]) / (2 * mpmath.pi * mpmath.besseli(0, kappa))
        rest = float(1 - expected)
    assert stats.vonmises.cdf(x, kappa) == pytest.approx(float(expected), rel=1e-13)
    assert stats.vonmises.sf(x, kappa) == pytest.approx(rest, rel=1e-13)


@pytest.mark.parametrize(
    ("x", "kappa"), [(-1.5, 100.0), (-0.9, 250.0), (-1.5, 1e4), (-3.1, 30.0), (-0.5, 4.0)]
)
def test_logarithms_of_tails_of_angles_and_their_slopes(x, kappa):
    """Far out, too, where the probability is less than the smallest number."""
    with mpmath.workdps(30):
        exact, width = mpmath.mpf(x), 1 / (kappa * mpmath.sin(-x))
        steps = [0, *(2**k for k in range(-2, 12))]
        ends = sorted({-mpmath.pi, *(max(exact - k * width, -mpmath.pi) for k in steps)})
        density = lambda x: mpmath.exp(kappa * (mpmath.cos(x) - mpmath.cos(exact)))  # noqa: E731
        below = mpmath.quad(density, ends)
        whole = 2 * mpmath.pi * mpmath.besseli(0, kappa) * mpmath.exp(-kappa * mpmath.cos(exact))
        mean = mpmath.quad(lambda x: density(x) * mpmath.cos(x), ends) / below
        expected = float(mpmath.log(below / whole))
        by_kappa = float(mean - mpmath.besseli(1, kappa) / mpmath.besseli(0, kappa))
        by_x = float(1 / below)
        bend = -by_x * float(kappa * mpmath.sin(exact) + by_x)
    for f, sign in ((stats.vonmises.logcdf, 1), (stats.vonmises.logsf, -1)):
        gradient = tape.grad(f, (0, 1))
        assert f(sign * x, kappa) == pytest.approx(expected, rel=1e-13)
        assert gradient(sign * x, kappa) == pytest.approx((sign * by_x, by_kappa), rel=1e-10)
        assert tape.compile(gradient)(sign * x, kappa) == pytest.approx(gradient(sign * x, kappa), rel=1e-13)
        curved = tape.grad(lambda x, f=f: tape.grad(f)(x, kappa))
        assert curved(sign * x) == pytest.approx(bend, rel=1e-6)
        assert f(np.array([-np.inf, np.inf]) * sign, kappa).tolist() == [-np.inf, 0]


@pytest.mark.parametrize(
    ("kappa", "variance"), [(0.0, np.pi**2 / 3), (0.5, None), (4.0, None), (1e4, 1.0000500075e-4)]
)
def test_variance_of_angles(kappa, variance):
    """SciPy's takes a second."""
    with mpmath.workdps(20):
        density = lambda x: mpmath.exp(kappa * (mpmath.cos(x) - 1))  # noqa: E731
        ends = [0, min(np.pi, 10 / np.sqrt(kappa + 1)), np.pi]
        expected = mpmath.quad(lambda x: x * x * density(x), ends) / mpmath.quad(density, ends)
    assert stats.vonmises.var(kappa) == pytest.approx(float(expected), rel=1e-12)
    if variance is not None:
        assert stats.vonmises.var(kappa) == pytest.approx(variance, rel=1e-7)


# ---- derivatives -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", some([name for name in CONTINUOUS if name != "vonmises"], every=2))
def test_nothing_flows_outside_of_the_support(name):
    """And what flows inside is finite beside elements that are outside."""
    shapes = CONTINUOUS[name][0]
    low, high = getattr(original, name).support(*shapes)
    if np.isinf(low):
        pytest.skip("the support is the whole line")
    x = np.array([low - 1, 0.6 * low + 0.4 * min(high, low + 2), high + 1 if np.isfinite(high) else low - 2])
    for method in ("logpdf", "pdf", "cdf"):
        slope = tape.elementwise_grad(lambda x, m=method: getattr(getattr(stats, name), m)(x, *shapes))(x)
        assert slope[0] == slope[2] == 0
        assert np.isfinite(slope[1])
        assert name == "uniform" or slope[1] != 0


@takes_long
@pytest.mark.parametrize("name", CONTINUOUS | DISCRETE)
def test_slopes_by_all_arguments_are_finite_and_nothing_outside_of_the_support_adds_to_them(name):
    """On either side of the middle, wherever the support is; and in forward mode as in reverse mode."""
    d, is_discrete = getattr(stats, name), name in DISCRETE
    methods = ("pmf", "logpmf") if is_discrete else ("pdf", "logpdf", "ppf", "isf")
    far_out = [(-400.0, -300.0), (300.0, 400.0)] if name == "truncnorm" else []
    for shapes in [*(CONTINUOUS | DISCRETE)[name], *far_out]:
        low, high = getattr(original, name).support(*shapes)
        if np.isnan(low):
            continue
        q = np.array([0.04, 0.3, 0.7, 0.96])
        with np.errstate(all="ignore"):
            inside = np.unique(getattr(original, name).ppf(q, *shapes)).astype(float)
        inside = inside if is_discrete else inside[inside > low + 1e-30]  # where slopes are finite
        outside = np.array([end for end in (low - 1.5, high + 1.5) if np.isfinite(end)])
        k = [i for i in range(is_discrete, 1 + len(shapes)) if i == 0 or np.isfinite(shapes[i - 1])]
        for method in (*methods, "cdf", "sf", "logcdf", "logsf"):
            if not k or (name == "vonmises" and method in ("ppf", "isf")):
                continue
            if name == "binom" and method == "pmf" and shapes[1] == 1:
                continue  # by n it is that of a power of 0

            def f(x, *shapes, method=method):
                return np.sum(getattr(d, method)(x, *shapes))

            gradient, args = tape.grad(f, tuple(k)), tuple(map(float, shapes))
            at = q if method in ("ppf", "isf") else inside
            with np.errstate(all="ignore"):
                if method in ("logpmf", "logcdf", "logsf") and set(args) & {0.0, 1.0}:
                    continue  # the slope of a logarithm of what is 0 by chance
                found = gradient(at, *args)
                whole = gradient(np.append(inside, outside), *args) if at is inside else found
                ones = [np.ones_like(at) if i == 0 else 1.0 for i in range(1 + len(args))]
                still = [one if i in k else 0 * one for i, one in enumerate(ones)]
                pushed = tape.jvp(f, (at, *args), tuple(still))[1]
            assert all(np.all(np.isfinite(part)) for part in found), (shapes, method, found)
            total = sum(np.sum(part) for part in found)
            size = sum(np.sum(np.abs(part)) for part in found)
            np.testing.assert_allclose(pushed, total, rtol=1e-9, atol=1e-9 * size, err_msg=method)
            for part, other, i in zip(found, whole, k, strict=True):
                rest = np.append(part, np.zeros_like(outside)) if i == 0 and at is inside else part
                np.testing.assert_allclose(other, rest, rtol=1e-12, err_msg=f"{shapes} {method} {i}")


CERTAIN = [
    ("poisson", 0.0, (), [-1, 1, 0, 0], [-1, 0, 0, 0]), ("binom", 0.0, (3.0,), [-3, 3, 0, 0], [-3, 0, 0, 0]),
    ("binom", 1.0, (3.0,), [0, 0, -3, 3], [0, 0, -3, 0]),
    ("nbinom", 1.0, (3.0,), [3, -3, 0, 0], [3, 0, 0, 0]),
    ("geom", 1.0, (), [0, 1, -1, 0], [0, 1, 0, 0]), ("bernoulli", 0.0, (), [-1, 1, 0, 0], [-1, 0, 0, 0]),
    ("bernoulli", 1.0, (), [-1, 1, 0, 0], [-1, 0, 0, 0]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "p", "before", "masses", "sums"), CERTAIN)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_probabilities_have_their_one_sided_slopes_where_the_result_is_certain(name, p, before, masses, sums):
    """By the last parameter, of 0, 1, 2 and 3; the product of 0 and infinity would be none."""
    d, k = getattr(stats, name), np.arange(4.0)
    for method, expected in (("pmf", masses), ("cdf", sums), ("sf", np.negative(sums))):
        slopes = tape.jacobian(lambda p, method=method: getattr(d, method)(k, *before, p))
        for found in (slopes(p), tape.compile(slopes)(p)):
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14, err_msg=method)


def test_rare_events_keep_their_digits():
    """Where the probability of none is hardly less than 1, and there are many trials."""
    p, k = 1e-10, 1e10
    share = float(mpmath.exp(k * mpmath.log1p(-p)))
    for found, expected in (
        (stats.geom.pmf(k + 1, p), p * share), (stats.geom.sf(k, p), share), (stats.geom.cdf(1.0, p), p),
        (stats.geom.cdf(k, p), 1 - share), (stats.binom.pmf(0.0, k, p), share),
        (stats.nbinom.pmf(k, 1.0, p), p * share), (stats.poisson.pmf(0.0, p), 1 - p),
    ):  # fmt: skip
        assert found == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("name", ["laplace", "norm", "logistic", "cauchy", "t", "vonmises"])
@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf"])
def test_probabilities_rise_by_the_density_also_at_the_middle(name, method):
    """Where some formulas turn from one tail to the other."""
    d, shapes = getattr(stats, name), {"t": (3.0,), "vonmises": (4.0,)}.get(name, ())
    x, loc, scale = np.array([2.0, 1.3, 2.0]), 2.0, 3.0
    f = getattr(d, method)
    slope = d.pdf(x, *shapes, loc, scale) * (1 if method.endswith("cdf") else -1)
    if method.startswith("log"):
        slope = slope / getattr(d, method[3:])(x, *shapes, loc, scale)
    by_x = tape.elementwise_grad(lambda x: f(x, *shapes, loc, scale))
    np.testing.assert_allclose(by_x(x), slope, rtol=1e-12)
    np.testing.assert_allclose(tape.compile(by_x)(x), slope, rtol=1e-12)
    by_loc = tape.jvp(lambda loc: f(x, *shapes, loc, scale), (loc,), (1.0,))[1]
    np.testing.assert_allclose(by_loc, -slope, rtol=1e-12)


AT_THE_END = [
    ("gamma", 0.0, (200.0,), 0, 0), ("gamma", 0.0, (3.0,), 0, 1), ("gamma", 0.0, (2.0,), 1, -2),
    ("gamma", 0.0, (1.5,), np.inf, None), ("gamma", 0.0, (1.0,), -1, 1),
    ("gamma", 0.0, (0.5,), -np.inf, None), ("chi2", 0.0, (6.0,), 0, 1 / 8),
    ("chi2", 0.0, (4.0,), 1 / 4, -1 / 4), ("chi2", 0.0, (2.0,), -1 / 4, 1 / 8),
    ("weibull_min", 0.0, (3.0,), 0, 6), ("weibull_min", 0.0, (2.0,), 2, 0),
    ("weibull_min", 0.0, (1.0,), -1, 1), ("beta", 0.0, (300.0, 200.0), 0, 0),
    ("beta", 1.0, (300.0, 200.0), 0, 0), ("beta", 0.0, (3e3, 2e3), 0, 0),
    ("beta", 0.0, (2.0, 3.0), 12, -48), ("beta", 1.0, (2.0, 3.0), 0, 24),
    ("beta", 1.0, (3.0, 2.0), -12, -48), ("beta", 1.0, (1.0, 1.5), -np.inf, None),
    ("beta", 0.0, (1.0, 3.0), -6, 6), ("beta", 1.0, (1.0, 1.0), 0, 0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "x", "shapes", "slope", "bend"), AT_THE_END)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_densities_have_their_one_sided_slopes_at_the_end_of_the_support(name, x, shapes, slope, bend):
    """And a shape changes no density of 0; nor a scale the probability up to the end."""
    d = getattr(stats, name)
    first = tape.grad(lambda x: d.pdf(x, *shapes))
    for found in (first(x), tape.compile(first)(x), tape.grad(lambda x: d.pdf(x, *shapes, 3.0))(x + 3)):
        assert found == pytest.approx(slope, rel=1e-13)
    if bend is not None:
        assert tape.grad(first)(x) == pytest.approx(bend, rel=1e-13)
        thrice = tape.grad(tape.grad(tape.grad(lambda x: d.cdf(x, *shapes))))
        assert thrice(x) == pytest.approx(bend, rel=1e-12)
        by_scale = tape.grad(lambda scale: d.cdf(x * scale, *shapes, scale=scale))
        assert by_scale(2.0) == pytest.approx(0, abs=1e-15)
    if d.pdf(x, *shapes) == 0:
        assert tape.grad(lambda shapes: d.pdf(x, *shapes))(list(shapes)) == [0] * len(shapes)


def binomial_by_mpmath(method, k, p):
    """A method of the binomial distribution as a function of n, a real number."""
    if method.endswith("pmf"):
        mass = lambda n: mpmath.binomial(n, k) * p**k * (1 - p) ** (n - k)  # noqa: E731
        return mass if method == "pmf" else lambda n: mpmath.log(mass(n))
    ends = (0, 1 - p) if method.endswith("cdf") else (1 - p, 1)
    probability = lambda n: mpmath.betainc(n - k, k + 1, *ends, regularized=True)  # noqa: E731
    return (lambda n: mpmath.log(probability(n))) if method.startswith("log") else probability


@pytest.mark.parametrize("method", ["pmf", "logpmf", "cdf", "sf", "logcdf", "logsf"])
def test_derivatives_by_the_number_of_trials(method):
    """They are those of gamma and incomplete beta functions of a real n, though n is a whole number."""
    f = getattr(stats.binom, method)
    slope = tape.grad(lambda n, k, p: f(k, n, p))
    bend = tape.grad(slope)
    forward = lambda n, k, p: tape.jvp(lambda n: f(k, n, p), (n,), (1.0,))[1]  # noqa: E731
    ways = (slope, forward, tape.compile(slope))
    for k, n, p in (
        (2.0, 6.0, 0.3),
        (0.0, 5.0, 0.2),
        (4.0, 5.0, 0.7),
        (30.0, 100.0, 0.25),
        (1.0, 40.0, 1e-3),
    ):
        exact = binomial_by_mpmath(method, k, mpmath.mpf(p))
        with mpmath.workdps(40):
            first, second = (float(mpmath.diff(exact, n, order)) for order in (1, 2))
        for way in ways:
            np.testing.assert_allclose(way(n, k, p), first, rtol=1e-9)
        for way in (bend, tape.compile(bend)):  # of the logarithm of a mass of nothing it is 0
            np.testing.assert_allclose(way(n, k, p), second, rtol=1e-8, atol=1e-15)


def test_derivatives_by_the_number_of_trials_at_the_ends_of_the_support():
    """A mass at n has one, a probability of all counts has none, and what is outside has none."""
    k = np.arange(-1.0, 6.0)
    for p in (0.3, 0.0, 1.0):
        for method in ("pmf", "cdf", "sf"):
            f = getattr(stats.binom, method)
            slopes = [float(tape.grad(lambda n, k=k, f=f, p=p: f(k, n, p))(4.0)) for k in k]
            assert slopes[0] == slopes[-1] == 0
            if p == 0.3:
                assert np.all(np.isfinite(slopes))
                assert (slopes[-2] == 0) == (method != "pmf")
    whole = tape.grad(lambda n: stats.binom.logpmf(4.0, n, 0.3))(4.0)
    np.testing.assert_allclose(whole, float(mpmath.digamma(5) - mpmath.digamma(1)) + np.log(0.7), rtol=1e-14)


def test_a_likelihood_of_the_number_of_trials_has_its_slope():
    """Of many numbers at once, in a program, and of a negative binomial distribution, whose n is real."""
    k = np.array([3.0, 5.0, 2.0, 4.0])
    for f in (stats.binom, stats.nbinom):
        slope = tape.grad(lambda n, f=f: np.sum(f.logpmf(k, n, 0.4)))
        at = np.array(9.0)
        psi = np.sum(special.digamma(at + 1) - special.digamma(at - k + 1)) + 4 * np.log(0.6)
        if f is stats.nbinom:
            psi = np.sum(special.digamma(at + k) - special.digamma(at)) + 4 * np.log(0.4)
        np.testing.assert_allclose(slope(at), psi, rtol=1e-13)
        np.testing.assert_allclose(tape.compile(slope)(at), psi, rtol=1e-13)


def test_fitting_a_distribution():
    """The gradient of a likelihood is zero where SciPy's fit has found its maximum."""
    x = original.gamma.rvs(2.5, scale=1.5, size=200, random_state=0)
    a, _, scale = original.gamma.fit(x, floc=0)
    gradient = tape.grad(lambda a, scale: np.sum(stats.gamma.logpdf(x, a, scale=scale)), argnums=(0, 1))
    np.testing.assert_allclose(gradient(a, scale), 0, atol=1e-3)
    compiled = tape.compile(gradient)
    np.testing.assert_allclose(compiled(a * 1.1, scale), gradient(a * 1.1, scale), rtol=1e-12)


# ---- arguments -------------------------------------------------------------------------------------------


def test_no_successes_are_no_distribution():
    assert np.isnan(stats.nbinom.pmf(0, 0, 0.5))


def test_arguments_are_those_of_scipy():
    x = [0.5, 1.5]
    for call in (
        lambda s: s.norm.pdf(x, 1, 2),
        lambda s: s.norm.pdf(x, loc=1, scale=[2, 3]),
        lambda s: s.gamma.logpdf(x, 2.0, 0.1, 3.0),
        lambda s: s.gamma.logpdf(x, a=2.0, scale=3),
        lambda s: s.gamma(2.0, scale=3).sf(x),
        lambda s: s.norm(1, 2).mean(),
        lambda s: s.beta.cdf(np.array([[0.1], [0.2]]), [1.0, 2.0], 3.0),
        lambda s: s.norm.interval(0.9, 1, 2),
        lambda s: s.expon.support(1, 2),
        lambda s: s.binom.pmf([1, 2], 5, 0.3, 1),
        lambda s: s.poisson(3).ppf(0.2),
        lambda s: s.norm.median(3.0),
        lambda s: s.multivariate_normal([1, 2], [2, 3]).logpdf([[0, 1], [1, 0]]),
        lambda s: s.multivariate_normal.pdf([0.1, 0.2]),
        lambda s: np.squeeze(s.multivariate_t.logpdf([1, 2], [1, 0], [[2, 0.3], [0.3, 1]], np.inf)),
        lambda s: s.dirichlet([1.0, 2.0]).mean(),
        lambda s: s.wishart.logpdf(np.stack([np.eye(2), 2 * np.eye(2)], axis=-1), 3, np.eye(2)),
        lambda s: s.wishart.mode(5, np.eye(2)),
        lambda s: s.skewnorm.pdf(x, 1.0),
    ):
        np.testing.assert_allclose(call(stats), call(original), rtol=1e-12)
        assert np.shape(call(stats)) == np.shape(call(original))


SMALL_ONES = {
    "vectors of one number": [
        lambda s, x=x, call=call: np.squeeze(call(s, x))
        for x in (1.5, [1.5], [1.5, 2.0, 0.3], [[1.5], [2.0]])
        for call in (
            lambda s, x: s.multivariate_normal.logpdf(x),
            lambda s, x: s.multivariate_normal.logpdf(x, 0.5, 2.0),
            lambda s, x: s.multivariate_normal.pdf(x, [0.5], [[2.0]]),
            lambda s, x: s.multivariate_t.logpdf(x, 0.5, 2.0, 3.0),
            lambda s, x: s.multivariate_t.pdf(x, [0.5], [[2.0]], 3.0),
        )
    ],
    "matrices of one number": [
        lambda s, x=x, scale=scale, call=call: call(s.wishart, x, scale)
        for x in (1.5, [1.5, 2.0, 0.3], [[1.5]], np.full((1, 1, 3), 2.0))
        for scale in (2.0, [2.0], [[2.0]])
        for call in (
            lambda w, x, scale: w.logpdf(x, 3, scale),
            lambda w, x, scale: w.mean(3, scale),
            lambda w, x, scale: w.var(3, scale),
            lambda w, x, scale: w.mode(3, scale),
            lambda w, x, scale: w.entropy(3, scale),
        )
    ],
    "matrices with and without a mode": [
        lambda s, df=df: s.wishart.mode(df, [[2.0, 0.3], [0.3, 1.0]]) for df in (1.5, 2, 3, 4)
    ],
    "shares at the ends": [
        lambda s, x=x, alpha=alpha: s.dirichlet.logpdf(x, alpha)
        for x in (
            [0.2, 0.3, 0.5], [0, 0.5, 0.5], [0, 0, 1], [0.2, 0.3], [0, 1], [0.2, 0.3, 0.5 + 1e-6], [0.7, 0.4],
            [0.2, 0.3, 0.5 + 1e-10], [-0.1, 0.6, 0.5], [[0.2, 0.3], [0.3, 0.3], [0.5, 0.4]],
        )
        for alpha in ([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], [0.5, 2.0, 3.0], [0.0, 1.0, 2.0], [-1.0, 1.0, 2.0])
    ],
    "shares without a distribution": [
        lambda s, alpha=alpha, method=method: getattr(s.dirichlet, method)(alpha)
        for alpha in ([1.0, 2.0], [[1.0, 2.0]], [0.0, 1.0], [-1.0, 2.0], [1e-300, 1.0])
        for method in ("mean", "var", "cov")
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL_ONES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_distributions_of_vectors_and_matrices_take_what_scipys_take(name):
    """Values and shapes are the same, and what is refused there is refused by name."""
    for k, call in enumerate(SMALL_ONES[name]):
        try:
            expected = call(original)
        except ValueError:
            with pytest.raises(errors.TapeError, match=r"^(dirichlet|wishart|multivariate)"):
                call(stats)
            continue
        found = call(stats)
        assert (found is None) == (expected is None), k
        if expected is not None:
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=str(k))
            assert np.shape(found) == np.shape(expected), k


MATRIX = np.array([[2.0, 0.3], [0.3, 1.0]])
OF_VECTORS = {
    "multivariate_normal": ([0.1, 0.2], ([0.0, 1.0], MATRIX)),
    "multivariate_t": ([0.1, 0.2], ([0.0, 1.0], MATRIX, 3.0)),
    "dirichlet": ([0.2, 0.3, 0.5], ([1.0, 2.0, 3.0],)),
    "multinomial": ([1.0, 2.0, 0.0], (3, [0.2, 0.3, 0.5])),
    "wishart": (2 * MATRIX, (MATRIX.shape[0] + 3.0, MATRIX)),
}


@pytest.mark.parametrize("name", CONTINUOUS | DISCRETE | OF_VECTORS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_methods_of_frozen_distributions_take_vars_and_have_scipys_values(name):
    """All that are written here, and have a derivative; the others are SciPy's own."""
    ours, theirs = getattr(stats, name), getattr(original, name)
    x, shapes = OF_VECTORS.get(name) or (1.0 if name in DISCRETE else 0.5, (CONTINUOUS | DISCRETE)[name][0])
    shapes = (1.5,) if name == "poisson" else (4.0, 0.5) if name == "binom" else shapes
    methods = {m for m in dir(type(ours)) if not m.startswith("_") and callable(getattr(ours, m))}
    assert {"entropy", "logpdf" if hasattr(theirs, "logpdf") else "logpmf"} <= methods
    slow = {"var", "std"} if name == "vonmises" else set()  # SciPy's take a second
    refused = {"ppf", "isf", "interval", "median"} if name == "vonmises" else {"median"} - ours._methods
    refused = refused | ({"entropy"} if name == "binom" else set())
    for method in sorted(methods - slow - refused):
        at = () if method in (*MOMENTS, "support") else (np.array(x),)
        expected = tape.tree.leaves(getattr(theirs(*shapes), method)(*at))
        with tape.Trace() as trace:
            args = [trace.param(arg) for arg in at]
            frozen = [ours(*[trace.param(np.array(shape, float)) for shape in shapes])]
            frozen += [ours(*shapes, loc=trace.param(0.0))] if name in CONTINUOUS | DISCRETE else []
            for each in frozen:
                found = tape.tree.leaves(getattr(each, method)(*args))
                assert any(isinstance(leaf, tape.Var) for leaf in found) or each.args == (), method
                for one, other in zip(found, expected, strict=True):
                    np.testing.assert_allclose(getattr(one, "value", one), other, rtol=1e-9, atol=1e-15)


def test_random_numbers_are_those_of_scipy():
    np.testing.assert_array_equal(
        stats.norm.rvs(size=3, random_state=1), original.norm.rvs(size=3, random_state=1)
    )
    frozen = stats.gamma(2.0).rvs(size=3, random_state=1)
    np.testing.assert_array_equal(frozen, original.gamma(2.0).rvs(size=3, random_state=1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.gamma.pdf(1.0), "gamma.pdf was called without a"),
        (lambda: stats.norm.pdf(1.0, 2, 3, 4), "norm.pdf was called with 3 numbers"),
        (lambda: stats.norm.pdf(1.0, 2, loc=3), "loc, scale, each once"),
        (lambda: stats.poisson.pmf(1, 2, scale=3), r"poisson.pmf was called with 1 numbers and \['scale'\]"),
    ],
)
def test_arguments_that_do_not_fit(call, message):
    with pytest.raises(errors.UnsupportedError, match=message):
        call()


def test_shapes_that_do_not_fit():
    with pytest.raises(errors.ShapeError, match="covariances of shape"):
        stats.multivariate_normal.logpdf([1.0, 2.0], [0.0, 0.0], np.eye(3))
    with pytest.raises(errors.ShapeError, match=r"dirichlet: x has shape \(4,\)"):
        stats.dirichlet.logpdf([0.25] * 4, [1.0, 2.0])
    with pytest.raises(errors.OptionError, match="sum to 1"):
        stats.dirichlet.logpdf([0.5, 0.6], [1.0, 2.0])


def test_derivatives_by_kappa_of_quantiles_are_refused():
    with pytest.raises(errors.UnsupportedError, match="kappa"):
        tape.grad(lambda kappa: stats.vonmises.ppf(0.6, kappa))(1.0)


EACH = {**CONTINUOUS, **DISCRETE}
METHODS = ("pdf", "pmf", "logpdf", "logpmf", "cdf", "sf", "ppf", "isf", *MOMENTS)


@pytest.mark.parametrize("name", EACH)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_parameters_are_those_of_each_call_and_of_each_element_of_a_batch(name):
    """How many terms a sum has, and which formula is taken, is decided anew."""
    for method in METHODS:
        function = getattr(getattr(stats, name), method, None)
        if function is None or not EACH[name][0]:
            continue
        if name in DISCRETE and method in (
            "ppf",
            "isf",
            "median",
        ):  # which are SciPy's, and no part of programs
            continue
        at = () if method in MOMENTS else (0.3,) if method in ("ppf", "isf") else (2.0,)
        each = [[np.float64(x) for x in shapes] for shapes in EACH[name]]
        expected = [function(*at, *shapes) for shapes in each]
        compiled = tape.compile(lambda *shapes, f=function, at=at: f(*at, *shapes))
        ours = [compiled(*shapes) for shapes in each]
        np.testing.assert_allclose(ours, expected, 1e-11, 1e-14, err_msg=method)
        batch = tape.vmap(lambda *shapes, f=function, at=at: f(*at, *shapes))(
            *map(np.array, zip(*each, strict=True))
        )
        np.testing.assert_allclose(batch, expected, 1e-11, 1e-14, err_msg=method)


def test_a_multinomial_entropy_is_of_the_number_of_each_call():
    compiled, p = tape.compile(stats.multinomial.entropy), np.array([0.2, 0.3, 0.5])
    for n in (np.int64(3), np.int64(6), np.int64(1)):
        np.testing.assert_allclose(compiled(n, p), original.multinomial.entropy(n, p), rtol=1e-12)
