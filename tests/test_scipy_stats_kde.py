"""Densities estimated by Gaussian kernels: gaussian_kde.pdf, gaussian_kde.logpdf, bandwidths, integrals."""

import mpmath
import numpy as np
import pytest
from scipy import stats as original

import tape
from tape import errors
from tape.scipy import stats
from tests import naive
from tests.op_table.case import Case, positive, real
from tests.op_table.case import grid as spaced
from tests.oracles import assert_close, difference, jvp, unit_directions, vjp
from tests.scipy_checks import check_compiled, check_derivatives
from tests.tiers import grid, some


def kde(ns, *args, **options):
    return (original if ns is naive else stats).gaussian_kde(*args, **options)


def total(ns, data, weights, points):
    return kde(ns, data, "silverman", weights).pdf(points)


class Narrow(stats.gaussian_kde):
    def covariance_factor(self):
        return 0.5 * self.scotts_factor()


CASES = [
    Case("gaussian_kde.pdf", lambda ns, data, x: kde(ns, data).pdf(x), spaced(6), real(4)),
    Case("gaussian_kde.pdf weights", total, spaced(2, 6), positive(6), real(2, 3)),
    Case("gaussian_kde.pdf a point", lambda ns, data, x: kde(ns, data)(x), spaced(2, 6), real(2)),
    Case("gaussian_kde.logpdf weights", lambda ns, data, w, x: kde(ns, data, weights=w).logpdf(x),
         spaced(2, 6), positive(6), real(2, 3)),
    Case("gaussian_kde.logpdf factor", lambda ns, data, h, x: kde(ns, data, h[()]).logpdf(x),
         spaced(6), positive(), real(4)),
    Case("gaussian_kde.logpdf function", lambda ns, data, x: kde(ns, data, lambda k: 2 / k.neff).logpdf(x),
         spaced(6), real(4)),
    Case("gaussian_kde.integrate_gaussian", lambda ns, data, w, mean, s: kde(ns, data, None, w)
         .integrate_gaussian(mean, s * np.eye(2)), spaced(2, 6), positive(6), real(2), positive()),
    Case("gaussian_kde.integrate_box_1d", lambda ns, data, w, low, high: kde(ns, data, weights=w)
         .integrate_box_1d(low, low + high), spaced(6), positive(6), real(), positive()),
    Case("gaussian_kde.integrate_box", lambda ns, data, low: kde(ns, data).integrate_box(
         np.reshape(low, (1,)), np.ones(1)), spaced(6), real()),
    Case("gaussian_kde.integrate_kde", lambda ns, data, w, other: kde(ns, data, weights=w).integrate_kde(
         kde(ns, other)), spaced(2, 6), positive(6), spaced(2, 5)),
    Case("gaussian_kde.marginal", lambda ns, data, w, x: kde(ns, data, weights=w).marginal(-1).pdf(x),
         spaced(2, 6), positive(6), real(3)),
    Case("gaussian_kde.inv_cov", lambda ns, data, w: kde(ns, data, weights=w).inv_cov,
         spaced(2, 6), positive(6)),
    Case("gaussian_kde.log_det", lambda ns, data, w: kde(ns, data, weights=w).log_det,
         spaced(2, 6), positive(6)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value_is_that_of_scipy(case):
    """Of arrays and of Vars."""
    args = case.args()
    expected = case.on(naive)(*args)
    found = case.on(tape.ops)(*args)
    assert not isinstance(found, tape.Var)
    trace = tape.Trace()
    recorded = case.on(tape.ops)(*map(trace.param, args))
    for value in (found, recorded.value):
        assert np.shape(value) == np.shape(expected)
        assert_close(value, expected, 1e-12)


@pytest.mark.parametrize("case", some(CASES, every=2), ids=str)
def test_derivatives_are_differences_of_scipys_values(case):
    check_derivatives(case)


@pytest.mark.parametrize("case", some(CASES, every=7), ids=str)
def test_second_derivatives(case):
    args = case.args()
    directions = unit_directions(case.rng(3), args)
    seed = np.cos(1.0 + np.arange(np.size(case.on(naive)(*args)))).reshape(np.shape(case.on(naive)(*args)))

    def slopes(*args):
        return np.concatenate([np.ravel(part) for part in vjp(case.on(tape.ops), args, seed)])

    assert_close(jvp(slopes, args, directions), difference(slopes, args, directions), 1e-8)


@pytest.mark.parametrize("case", some(CASES, every=5), ids=str)
def test_compiled_is_eager(case):
    check_compiled(case)


def test_logarithms_do_not_underflow():
    """Where the density is zero in double precision; beside mpmath."""
    data, x = np.array([-1.0, 0.2, 0.5, 2.0]), 60.0

    def density(x):
        spread = mpmath.mpf(float(stats.gaussian_kde(data).covariance[0, 0]))
        kernels = [mpmath.exp(-((x - mpmath.mpf(p)) ** 2) / 2 / spread) for p in data]
        return sum(kernels) / 4 / mpmath.sqrt(2 * mpmath.pi * spread)

    with mpmath.workdps(40):
        expected = mpmath.log(density(mpmath.mpf(x)))
        slope = mpmath.diff(lambda x: mpmath.log(density(x)), mpmath.mpf(x))
    value, found = tape.value_and_grad(lambda x: stats.gaussian_kde(data).logpdf(x)[0])(x)
    assert value == pytest.approx(float(expected), rel=1e-12)
    assert found == pytest.approx(float(slope), rel=1e-12)
    assert stats.gaussian_kde(data).pdf(x) == 0


@pytest.mark.parametrize("sign", [1, -1])
def test_integrals_far_to_the_right_keep_their_digits(sign):
    data = np.array([-1.0, 0.2, 0.5, 2.0])
    estimate = stats.gaussian_kde(sign * data)
    low, high = sorted((sign * 9.0, sign * 10.0))
    with mpmath.workdps(40):
        spread = mpmath.sqrt(mpmath.mpf(float(estimate.covariance[0, 0])))
        points = [mpmath.mpf(p) * sign for p in data]
        expected = sum(mpmath.ncdf((high - p) / spread) - mpmath.ncdf((low - p) / spread) for p in points) / 4
    assert estimate.integrate_box_1d(low, high) == pytest.approx(float(expected), rel=1e-12)
    assert estimate.integrate_box_1d(high, low) == pytest.approx(-float(expected), rel=1e-12)
    assert estimate.integrate_box_1d(-np.inf, np.inf) == pytest.approx(1, rel=1e-15)


def test_points_without_weight_have_a_derivative():
    """What a point would add if it got weight."""
    weights, x = np.array([1.0, 0.0, 2.0, 1.0]), np.array([0.3])

    def log_density(weights, ns=stats):
        return ns.gaussian_kde(np.array([-1.0, 0.2, 0.5, 2.0]), 0.5, weights).logpdf(x)[0]

    step = np.array([0.0, 1e-6, 0.0, 0.0])
    expected = (log_density(weights + step, original) - log_density(weights, original)) / 1e-6
    assert tape.grad(log_density)(weights)[1] == pytest.approx(expected, rel=1e-5)


def test_bandwidths_are_set_anew():
    data = np.random.default_rng(0).normal(size=(2, 9))
    ours, theirs = stats.gaussian_kde(data), original.gaussian_kde(data)
    for method in ("silverman", None, 0.7, "scott", lambda k: 1.5 * k.scotts_factor()):
        ours.set_bandwidth(method)
        theirs.set_bandwidth(method)
        assert_close(ours.factor, theirs.factor, 1e-14)
        assert_close(ours.covariance, theirs.covariance, 1e-14)
        assert_close(ours.pdf(np.ones(2)), theirs.pdf(np.ones(2)), 1e-14)
    assert_close(Narrow(data).factor, original.gaussian_kde(data).factor / 2, 1e-14)
    assert isinstance(ours, original.gaussian_kde)
    assert ours.resample(3, seed=0).shape == (2, 3)
    assert_close(
        ours.integrate_box(-np.ones(2), np.ones(2)), theirs.integrate_box(-np.ones(2), np.ones(2)), 1e-4
    )


@grid(fault=["one", "wide", "weights", "points", "method", "line", "box", "mean", "other", "marginal"])
def test_what_is_wrong_is_said(fault):
    data = np.random.default_rng(0).normal(size=(2, 9))
    calls = {
        "one": (lambda: stats.gaussian_kde([1.0]), errors.ShapeError, "one number"),
        "wide": (lambda: stats.gaussian_kde(data.T), errors.ShapeError, "transpose"),
        "weights": (lambda: stats.gaussian_kde(data, weights=np.ones(2)), errors.ShapeError, "9 points"),
        "points": (lambda: stats.gaussian_kde(data)(np.ones(3)), errors.ShapeError, "2 dimensions"),
        "method": (lambda: stats.gaussian_kde(data, "best"), errors.OptionError, "'silverman'"),
        "line": (lambda: stats.gaussian_kde(data[[0, 0]]), errors.SingularMatrixError, "lower-dimensional"),
        "box": (lambda: stats.gaussian_kde(data).integrate_box_1d(0, 1), errors.ShapeError, "integrate_box"),
        "mean": (lambda: stats.gaussian_kde(data).integrate_gaussian([0.0], 1), errors.ShapeError, "a mean"),
        "other": (lambda: stats.gaussian_kde(data).integrate_kde(stats.gaussian_kde(data[0])),
                  errors.ShapeError, "no product"),
        "marginal": (lambda: stats.gaussian_kde(data).marginal([0, 2]), errors.OptionError, "dimensions"),
    }  # fmt: skip
    call, error, text = calls[fault]
    with pytest.raises(error, match=text):
        call()


def test_datasets_of_few_points():
    """Two numbers are a dataset; as many points as dimensions lie in a space of one dimension less."""
    for data in ([1.0, 2.5], [[1.0, 2.5]], [[1.0, 2.0, 4.0], [0.5, 3.0, 1.0]]):
        x = np.zeros((np.ndim(data) and np.atleast_2d(data).shape[0], 2))
        assert_close(stats.gaussian_kde(data)(x), original.gaussian_kde(data)(x), 1e-13)
    with pytest.raises(errors.SingularMatrixError, match="lower-dimensional"):
        stats.gaussian_kde([[0.0, 2.0], [0.0, 0.0]])
    with pytest.raises(errors.ShapeError, match="2 points in 3 dimensions"):
        stats.gaussian_kde([[1.0, 2.0], [3.0, 5.0], [1.0, 1.0]])


def test_marginals_are_those_of_dimensions_that_are_there_each_once():
    data, points = np.random.default_rng(1).normal(size=(3, 9)), np.zeros((2, 1))
    ours, theirs = stats.gaussian_kde(data), original.gaussian_kde(data)
    for chosen in ([0, 1], [2, 0], [-1, 0], [1, -3], np.array([0, 2], "u1")):
        assert_close(ours.marginal(chosen)(points), theirs.marginal(chosen)(points), 1e-13)
    for chosen in (0, 2, -3):
        assert_close(ours.marginal(chosen)(points[:1]), theirs.marginal(chosen)(points[:1]), 1e-13)
    for chosen in (3, -4, [0, 3], [-4, 0], [1, 1], [1, -2], 0.5, [True, False]):
        with pytest.raises(errors.OptionError, match=r"gaussian_kde: dimensions"):
            ours.marginal(chosen)


def test_what_has_no_derivative_is_refused():
    data = np.random.default_rng(0).normal(size=(2, 9))
    for call in (
        lambda data: stats.gaussian_kde(data).resample(3),
        lambda data: stats.gaussian_kde(data).integrate_box(np.zeros(2), np.ones(2)),
    ):
        with pytest.raises(errors.UnsupportedError, match=r"gaussian_kde: .* no derivative"):
            tape.grad(lambda data, call=call: np.sum(call(data)))(data)
