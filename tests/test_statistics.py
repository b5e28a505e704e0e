"""Quantiles, averages, covariances and histograms: exact values, degenerate points, errors."""

import numpy as np
import pytest

import tape
from tape import errors, ops
from tests.op_table.quantiles import METHODS
from tests.oracles import assert_close, assert_same, difference, difference_gradient, jvp, record, vjp
from tests.tiers import takes_long

RNG = np.random.default_rng(9)
X = RNG.normal(size=(30, 41))
HOLES = np.where(RNG.random(X.shape) < 0.7, X, np.nan)


# ---- quantiles -----------------------------------------------------------------------------------


@takes_long
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("method", METHODS)
def test_quantiles_are_exactly_those_of_numpy(method, dtype):
    for q in (0, 0.3, 1.0, np.float64(0.6), np.array([0.1, 0.5]), np.array([[0.2], [0.9]], dtype)):
        for name, x in (("quantile", X), ("nanquantile", HOLES)):
            mine, theirs = (
                getattr(ns, name)(x.astype(dtype), q, axis=1, method=method, keepdims=True)
                for ns in (ops, np)
            )
            assert_same(mine, theirs)
    assert_same(
        ops.percentile(X.astype(dtype), 37, method=method), np.percentile(X.astype(dtype), 37, method=method)
    )


@takes_long
@pytest.mark.parametrize("count", [1, 2, 3, 10, 21])
@pytest.mark.parametrize("method", METHODS)
def test_a_quantile_is_the_sum_of_its_elements_times_its_gradient(method, count):
    """Which two elements, and with what weights, at many shares and at the jumps between elements."""
    x = RNG.permutation(count) * 1.5
    shares = np.unique(np.concatenate([np.linspace(0, 1, 13), np.arange(count + 1) / count, RNG.random(5)]))
    for q in shares:
        trace, _, out = record(lambda x, q=q: np.quantile(x, q, method=method), [x])
        (gradient,) = trace.backward_param_grads(out)
        assert_close(np.sum(gradient), 1, 1e-12)
        assert np.count_nonzero(gradient) <= 2
        if (
            method in ("midpoint", "nearest", "higher", "lower", "closest_observation")
            or "inverted" in method
        ):
            on_step = abs(count * q - round(count * q)) < 1e-6 or abs(2 * (count - 1) * q % 1) < 1e-6
            if on_step:  # rounding decides, here and in NumPy
                continue
        assert_close(np.sum(gradient * x), out.value, 1e-12)


@pytest.mark.parametrize("f", [np.median, np.nanmedian, lambda x: np.quantile(x, 0.4)])
def test_equal_elements_have_one_derivative_between_them(f):
    for x in (np.ones(5), np.ones(6), np.array([1.0, 2, 2, 2, 3])):
        gradient = vjp(f, [x])[0]
        assert_close(np.sum(gradient), 1, 1e-15)
        assert_close(jvp(f, [x], [np.arange(x.size)]), np.sum(gradient * np.arange(x.size)), 1e-15)


def test_a_share_has_the_slope_of_the_line_between_two_elements():
    x = np.array([1.0, 2.0, 4.0, 8.0])
    slopes = [vjp(lambda q: np.quantile(x, q), [np.array(q)])[0] for q in (0.0, 0.2, 1 / 2, 0.9, 1.0)]
    assert_close(slopes, [3, 3, 6, 12, 0], 1e-14)  # at an element that of the next line; none after the last
    assert_close(vjp(lambda q: np.quantile(x, q, method="weibull"), [np.array(0.01)])[0], 0, 0)
    assert_close(vjp(lambda q: np.quantile(x, q, method="nearest"), [np.array(0.4)])[0], 0, 0)
    assert_close(vjp(lambda q: np.percentile(x, q), [np.array(20.0)])[0], 0.03, 1e-15)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("q", [0.5, [0.5, 0.2], [[0.5, 0.6]]], ids=str)
@pytest.mark.parametrize("axis", [None, 0, -1, ()])
@pytest.mark.parametrize("shape", [(0,), (0, 2), (2, 0)])
def test_quantiles_of_no_elements_have_no_derivative(shape, axis, q):
    x, q = np.zeros(shape), np.array(q)
    if axis == () and q.ndim > 1:
        with pytest.raises(errors.UnsupportedError, match="mixes up"):
            ops.nanquantile(x, q, axis=axis)
        return
    expected = np.nanquantile(x, q, axis=axis)  # of the shape of a mean

    def f(x, q):
        return np.nanquantile(x, q, axis=axis)

    assert_same(record(f, [x, q])[2].value, expected)
    assert_same(jvp(f, [x, q], [x, q]), np.zeros_like(expected))
    by_x, by_q = vjp(f, [x, q], np.ones_like(expected))
    assert_same(by_x, x)
    assert_same(by_q, np.zeros_like(q))


@pytest.mark.parametrize(
    ("f", "kind", "message"),
    [
        (lambda x: np.quantile(x, 1.5), errors.OptionError, "between 0 and 1"),
        (lambda x: np.percentile(x, [50, -1]), errors.OptionError, "between 0 and 100"),
        (lambda x: np.quantile(x, np.nan), errors.OptionError, "between"),
        (lambda x: np.quantile(x, 0.5, method="fish"), errors.OptionError, "hazen"),
        (lambda x: np.quantile(x, 0.5, weights=np.ones(6)), errors.UnsupportedError, "weights"),
        (lambda x: np.quantile(x, 0.5, axis=3), errors.ShapeError, "axis 3"),
        (lambda x: np.median(x, axis=(0, 0)), errors.ShapeError, "twice"),
        (lambda x: np.average(x, weights=np.ones(3)), errors.ShapeError, "need an axis"),
        (lambda x: np.average(x, axis=1, weights=np.ones(2)), errors.ShapeError, "do not go along"),
        (lambda x: np.average(x, axis=1, weights=[1, 1, -2]), errors.OptionError, "zero"),
        (lambda x: np.average(x, axis=1, weights=x * 0), errors.OptionError, "zero"),
        (lambda x: np.cov(x[None]), errors.ShapeError, "two axes"),
        (lambda x: np.cov(x, ddof=0.5), errors.OptionError, "ddof"),
        (lambda x: np.cov(x, np.ones(4)), errors.ShapeError, "observations"),
        (lambda x: np.cov(x, aweights=np.ones(4)), errors.ShapeError, "aweights"),
        (lambda x: np.cov(x, aweights=[1, 1, -1]), errors.OptionError, "negative"),
        (lambda x: np.cov(x, fweights=[1, 1, 0.5]), errors.OptionError, "whole"),
        (lambda x: np.cov(x, fweights=[0, 0, 0]), errors.OptionError, "cov: weights add up to zero"),
        (lambda x: np.cov(x, fweights=[1, 0, 2], aweights=[0, 3, 0]), errors.OptionError, "add up to zero"),
        (lambda x: np.cov(x, fweights=np.ones(2, int)), errors.ShapeError, r"fweights of shape \[2\] for 3"),
        (lambda x: np.cov(x, fweights=[1, -1, 1]), errors.OptionError, "some fweights are negative"),
        (lambda x: np.cov(x, aweights=[1, 1, 1j]), errors.OptionError, "aweights are .*must be real"),
        (lambda x: np.cov(x, aweights=np.ones(4), y=x), errors.ShapeError, "aweights"),
        (lambda x: np.cov(x, dtype="fish"), errors.DTypeError, "fish"),
        (lambda x: np.corrcoef(x, np.ones((3, 2)), rowvar=False), errors.ShapeError, "observations"),
        (lambda x: np.histogram(x, range=(0, x[0, 0])), errors.UnsupportedError, "value"),
        (lambda x: np.histogram(x, bins=0), errors.ShapeError, "bins"),
        (lambda x: np.histogramdd(x, bins=[2, 2]), errors.ShapeError, "bins"),
        (lambda x: np.histogramdd(x, range=[(0, 1)]), errors.ShapeError, "ranges"),
        (lambda x: np.histogram2d(x[0], x[0, :2]), errors.ShapeError, "coordinates"),
        (lambda x: np.digitize(x, [0, 2, 1]), errors.ShapeError, "monotonic"),
        (lambda x: np.bincount([0, 1], x[0]), errors.ShapeError, "bincount"),
    ],
)  # fmt: skip
def test_errors_come_at_the_call(f, kind, message):
    trace = tape.Trace()
    x = trace.param(np.ones((2, 3)))
    with pytest.raises(kind, match=message):
        f(x)
    assert all(node.op.name in ("getitem", "multiply") for node in trace.nodes[1:])  # of the call itself


# ---- averages and covariances ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
def test_averages_and_covariances_are_exactly_those_of_numpy(dtype):
    x = (10 * X[:4]).astype(dtype)
    w, n = np.abs(X[4]), np.arange(41) % 3 + 1
    calls = [
        lambda ns: ns.average(x),
        lambda ns: ns.average(x, 1, w, keepdims=True),
        lambda ns: ns.average(x.T, weights=w.astype(np.float32), axis=0),
        lambda ns: ns.average(x, 1, n, returned=True)[1],
        lambda ns: ns.cov(x),
        lambda ns: ns.cov(x.T, x[0], rowvar=False, bias=True),
        lambda ns: ns.cov(x, dtype=np.result_type(x, np.float32)),
        lambda ns: ns.cov(x, fweights=n, aweights=w),
        lambda ns: ns.cov(x, fweights=n, ddof=3),
        lambda ns: ns.cov(x[0]),
        lambda ns: ns.corrcoef(x),
        lambda ns: ns.corrcoef(x[0], x[1]),
        lambda ns: ns.corrcoef(x[0]),
    ]
    for f in calls:
        assert_same(f(ops), f(np))


def test_too_few_observations_warn_as_numpy_does():
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"), np.errstate(all="ignore"):
        value = ops.cov(np.ones((2, 1)))
    assert not np.isfinite(value).any()
    assert ops.cov(np.ones((0, 3))).shape == (0, 0)


def test_perfect_correlation_is_an_extreme():
    x = RNG.normal(size=5)
    for sign in (1, -1):
        pair = np.stack([x, sign * 2 * x])
        value = ops.corrcoef(pair)
        assert np.all(np.abs(value) <= 1)
        assert_close(vjp(np.corrcoef, [pair], np.ones((2, 2)))[0], np.zeros((2, 5)), 1e-13)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_correlation_of_one_observation_is_nan_and_so_is_its_derivative():
    x = np.array([[1.0], [2.0]])
    assert np.isnan(vjp(np.corrcoef, [x], np.ones((2, 2)))[0]).all()
    assert np.isnan(jvp(np.corrcoef, [x], [np.ones((2, 1))])).all()


# ---- counts and histograms -------------------------------------------------------------------------


@pytest.mark.parametrize("bins", [5, "auto", [-1.0, 0.0, 0.5, 1.5], np.array([0, 1, 2])], ids=str)
def test_histograms_are_exactly_those_of_numpy(bins):
    x, w = X[0], X[1]
    for options in (
        {},
        {"density": True},
        {"range": (-1, 1)},
        {"weights": w},
        {"weights": w + 3, "density": True},
    ):
        if isinstance(bins, str) and "weights" in options:
            continue
        for mine, theirs in zip(
            ops.histogram(x, bins, **options), np.histogram(x, bins, **options), strict=True
        ):
            assert_same(mine, theirs)


@pytest.mark.parametrize("bins", [4, [2, 3], [np.array([-1.0, 0, 1]), 2]], ids=str)
def test_histograms_of_points_are_exactly_those_of_numpy(bins):
    x, w = X[:2].T, X[2]
    for options in ({}, {"density": True}, {"range": [(-1, 1), None]}, {"weights": w}):
        mine, edges = ops.histogramdd(x, bins, **options)
        expected, expected_edges = np.histogramdd(x, bins, **options)
        assert_same(mine, expected)
        for one, other in zip(edges, expected_edges, strict=True):
            assert_same(one, other)
        for one, other in zip(ops.histogram2d(*X[:2], bins), np.histogram2d(*X[:2], bins), strict=True):
            assert_same(one, other)


def test_each_weight_counts_in_the_bin_of_its_element():
    """Those on an edge, those outside, and those on the last edge, which belongs to the last bin."""
    x = np.array([-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
    for bins in ([0.0, 1.0, 2.0], 2):
        options = {"bins": bins, "range": (0, 2)}
        for k in range(2):
            gradient = vjp(
                lambda w, options=options: np.histogram(x, weights=w, **options)[0], [x], np.eye(2)[k]
            )[0]
            expected = [np.histogram(x, weights=unit, **options)[0][k] for unit in np.eye(7)]
            assert_same(gradient, np.array(expected))
    y = x[::-1].copy()
    gradient = vjp(lambda w: np.histogram2d(x, y, 3, weights=w)[0], [x], np.arange(9.0).reshape(3, 3))[0]
    places = np.histogram2d(x, y, 3, weights=None)[0]
    assert np.sum(gradient) == np.sum(places * np.arange(9.0).reshape(3, 3))


def test_weighed_counts_are_linear():
    x, w = np.array([0, 3, 3, 1]), RNG.normal(size=4)
    seed = RNG.normal(size=4)
    assert_same(vjp(lambda w: np.bincount(x, w), [w], seed)[0], seed[x])
    assert_close(
        vjp(lambda w: np.histogram(x, 3, weights=w, density=True)[0], [w + 3], seed[:3])[0],
        difference_gradient(lambda w: np.histogram(x, 3, weights=w, density=True)[0], w + 3, seed[:3]),
    )


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.histogram_bin_edges(x, 3) ** 2,
        lambda x: np.histogram(x, "auto")[1] ** 2,
        lambda x: np.histogram(x, 3, density=True)[0],
        lambda x: np.histogram(x, 3, density=True, weights=x**2)[0],
        lambda x: np.histogram([0.1, 0.2, 0.9], np.cumsum(np.exp(x)) - 2, density=True)[0],
        lambda x: np.histogram(x, 3, (-3, 3), density=True, weights=x**2)[0],
        lambda x: np.histogramdd([x, x**3], (3, [-9, 0, 9]), density=True)[0],
    ],
)
def test_edges_that_the_elements_choose_are_differentiated(f):
    x, *directions = np.array([0.3, -0.7, 1.1, 1.23]), *RNG.uniform(-1, 1, size=(2, 4))
    assert_same(record(f, [x])[2].value, f(x))
    seed = RNG.normal(size=f(x).shape)
    assert_close(jvp(f, [x], directions[:1]), difference(f, [x], directions[:1]), 1e-8)
    assert_close(vjp(f, [x], seed)[0], difference_gradient(f, x, seed), 1e-8)

    def slope(x):
        return np.sum(vjp(f, [x], seed)[0] * directions[0])

    second = tape.jvp(lambda x: tape.vjp(f, x)[1](seed), (x,), (directions[1],))[1]
    assert_close(np.sum(second * directions[0]), difference(slope, [x], directions[1:]), 1e-7)


def test_edges_around_equal_elements_share_their_derivative():
    assert_close(vjp(lambda x: np.histogram(x, 2)[1], [np.ones(4)])[0], np.full(4, 0.75), 1e-15)
    assert vjp(lambda x: np.histogram(x, 2)[1], [np.ones(0)])[0].shape == (0,)


def test_counts_of_vars_are_recorded_without_derivative():
    for f in (
        lambda x: np.histogram(x)[0],
        lambda x: np.histogramdd([x, x], 3)[0],
        lambda x: np.digitize(x, [0.0]),
        np.count_nonzero,
    ):
        _, _, out = record(f, [X[0]])
        assert isinstance(out, tape.Var)
        assert out.node.vjp is None
        assert_same(out.value, f(X[0]))
