"""Reductions at the edges of their arguments: NumPy's values, derivatives, programs and batches."""

import numpy as np
import pytest

from tape import ops
from tests.edges import check
from tests.tiers import takes_long

X = np.array([[0.3, -1.2, 2.5, 0.9], [1.7, 0.4, -0.6, 2.2], [-0.8, 1.1, 0.7, -1.9]])
CUBE = np.random.default_rng(4).permutation(24).reshape(2, 3, 4) * 0.15 - 1.7
MANY = np.random.default_rng(4).permutation(70) * 0.15
ROW = np.array([0.5, -1.5, 2.5, 3.6, 1.2])
ONE = np.array([1.5])
NUMBER = np.array(1.5)
ZEROS = np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 4.0]])
HOLES = np.array([[0.3, np.nan, 2.5, 0.9], [1.7, 0.4, -0.6, np.nan], [np.nan, 1.1, 0.7, -1.9]])
Z = X + 1j * np.cos(X)
N = np.array([[3, 0, -2, 1], [0, 5, 0, 7], [1, 1, 2, -4]])
MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, True, True]])
W = np.array([0.5, 1.5, 2.0, 1.0])
NONE, THIN = np.zeros(0), np.zeros((2, 0))


def cases(name, x, *options, **settings):
    """Rows of a table: a function of NumPy with each of some options."""
    return {
        f"{name} {chosen}": (lambda x, name=name, chosen=chosen: getattr(np, name)(x, **chosen), x, settings)
        for chosen in options
    }


AXES = ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 2)}, {"axis": (-1, 1),
    "keepdims": True},
        {"axis": ()})  # fmt: skip

FOLDS = {
    **{key: row for name in ("sum", "prod", "mean", "max", "min", "ptp", "var", "std", "median")
       for key, row in cases(name, CUBE, *(AXES[3:5] if name in ("mean", "ptp") else AXES[3:])).items()
       if name not in ("var", "std") or "()" not in key},
    **cases("sum", X, {"where": MASK, "axis": 1}, {"initial": 2.0, "axis": 0}, {"dtype": complex}),
    **cases("prod", X, {"where": MASK, "axis": 1}, {"initial": 2.0, "axis": 0, "where": MASK}),
    **cases("mean", X, {"where": MASK, "axis": 1, "keepdims": True}, {"where": MASK[:1]}, {"dtype": complex}),
    **cases("max", X, {"where": MASK, "initial": -9.0, "axis": 1}, {"initial": 1.0, "axis": 0},
            {"initial": 9.0}),
    **cases("min", X, {"where": MASK, "initial": 9.0, "axis": 1}, {"initial": 0.0, "axis": 0},
            {"initial": -9.0}),
    **cases("var", X, {"ddof": 1, "axis": 0}, {"correction": 1.5}, {"where": MASK, "axis": 1, "ddof": 1},
            {"mean": np.full((3, 1), 0.25), "axis": 1}),
    **cases("std", X, {"ddof": 1, "axis": 0}, {"correction": 1.5}, {"where": MASK, "axis": 1, "ddof": 1},
            {"mean": np.full((1, 4), 0.25), "axis": 0, "keepdims": True}),
    **cases("var", Z, {}, {"axis": 0, "ddof": 1}),
    **cases("std", Z, {"axis": 1, "keepdims": True}),
    **cases("prod", ZEROS, {}, {"axis": 0}, {"axis": 1}, {"axis": 1, "keepdims": True}),
    **cases("prod", ROW, {}), **cases("prod", ROW[:3], {"axis": 0}), **cases("prod", ONE, {"axis": -1}),
    **cases("prod", Z, {"axis": 1}), **cases("sum", Z, {"axis": 0}), **cases("mean", Z, {"axis": (0, 1)}),
    **{f"{name} of a number {axis}": (lambda x, name=name, axis=axis: getattr(np, name)(x, axis=axis), NUMBER)
       for name in ("sum", "prod", "max", "min", "ptp") for axis in (None, 0, -1)},
    **{f"{name} of nothing": (
        lambda x, name=name: getattr(np, name)(x, axis=0), THIN) for name in ("sum", "prod", "mean")},
    **{f"{name} of no elements": (
        lambda x, name=name: getattr(np, name)(x, axis=1), THIN) for name in ("sum", "prod")},
    **{f"{name} of nothing from": (lambda x, name=name: getattr(np, name)(x, axis=1, initial=3.0), THIN)
       for name in ("sum", "prod", "max", "min")},
    "sum from a number": (lambda x, a: np.sum(x, axis=1, initial=a), X, NUMBER),
    "prod from a number": (lambda x, a: np.prod(x, axis=1, initial=a, where=MASK), X, NUMBER),
    "max from a number": (lambda x, a: np.max(x, axis=1, initial=a), X, NUMBER),
    "min from a number": (lambda x, a: np.min(x, axis=1, initial=a, where=MASK), X, np.array(-0.1)),
    "var about a mean": (lambda x, m: np.var(x, axis=1, mean=m), X, X[:, :1] + 0.1),
    "std about a mean": (lambda x, m: np.std(x, axis=0, mean=m, ddof=1), X, X[:1] + 0.1),
    "trace": (lambda x: np.trace(x, 1), X), "trace of planes": (lambda x: np.trace(x, -1, 2, 1), CUBE),
    "trace in a dtype": (lambda x: np.trace(x, dtype=complex), X),
    "linalg.trace": (lambda x: np.linalg.trace(x, offset=1), CUBE),
    "count_nonzero": (lambda x: np.count_nonzero(x, axis=1, keepdims=True), ZEROS),
    "count_nonzero of all": (lambda x: np.count_nonzero(x), ZEROS),
    "ptp of ints": (lambda x, n: np.ptp(n, axis=1) * x[:, 0], X, N),
    "add.reduce": (lambda x: np.add.reduce(x), X), "multiply.reduce": (lambda x: np.multiply.reduce(x, 1), X),
    "maximum.reduce": (lambda x: np.maximum.reduce(x, axis=1, keepdims=True), X),
    "minimum.reduce": (lambda x: np.minimum.reduce(x, axis=None), X),
    "logaddexp.reduce": (lambda x: np.logaddexp.reduce(x, axis=1), X),
    "logaddexp.reduce of all": (lambda x: np.logaddexp.reduce(x, axis=None, keepdims=True), X),
    "add.accumulate": (lambda x: np.add.accumulate(x, 1), X),
    "multiply.accumulate": (lambda x: np.multiply.accumulate(x), X),
    "maximum.accumulate": (lambda x: np.maximum.accumulate(x, 1), X),
    "minimum.accumulate": (lambda x: np.minimum.accumulate(x, -1), X),
    "logaddexp.accumulate": (lambda x: np.logaddexp.accumulate(x, 1), X),
    "add.reduceat": (lambda x: np.add.reduceat(x, [0, 2, 1, 3]), ROW),
    "add.reduceat along 1": (lambda x: np.add.reduceat(x, [1, 1, 3], 1), X),
    "add.reduceat from behind": (lambda x: np.add.reduceat(x, [0, 2], -2), CUBE),
}  # fmt: skip

NAN = {
    **{key: row for name in ("nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd",
        "nanmedian")
       for key, row in cases(name, HOLES, {}, {"axis": 0}, {"axis": -1, "keepdims": True}).items()},
    **cases("nansum", HOLES, {"initial": 2.0, "where": MASK, "axis": 1}),
    **cases("nanprod", HOLES, {"initial": 2.0, "where": MASK, "axis": 1}),
    **cases("nanmean", HOLES, {"where": MASK, "axis": 1}),
    **cases("nanmax", HOLES, {"where": MASK, "initial": 0.5, "axis": 1}),
    **cases("nanmin", HOLES, {"where": MASK, "initial": 0.5, "axis": 1}, {"axis": (0, 1), "keepdims": True}),
    **cases("nanvar", HOLES, {"ddof": 1, "axis": 1}, {"where": MASK, "axis": 1}, {"correction": 0.5}),
    **cases("nanstd", HOLES, {"ddof": 1, "axis": 1}, {"mean": np.full((3, 1), 0.5), "axis": 1}),
    **cases("nancumsum", HOLES, {}, {"axis": 0}, {"axis": -1}),
    **cases("nancumprod", HOLES, {}, {"axis": 0}, {"axis": -1}),
    **{f"{name} of ints": (lambda x, n, name=name: getattr(np, name)(n, axis=1) * x[:, 0], X, N)
       for name in ("nansum", "nanprod", "nanmax", "nanmin", "nanmean")},
    **{f"{name} {axis}": (lambda x, name=name, axis=axis: getattr(np, name)(x, axis=axis), HOLES)
       for name in ("nanargmax", "nanargmin") for axis in (None, 0, -1)},
    **{f"{name} {q} {method}": (
        lambda x, name=name, q=q, method=method: getattr(np, name)(x, q, axis=1, method=method), HOLES,
        {"batch": False})
       for name, q in (("nanquantile", 0.37), ("nanpercentile", 62.0)) for method in ("linear", "hazen",
           "lower")},
}  # fmt: skip

METHODS = ("averaged_inverted_cdf", "closest_observation", "hazen", "higher", "interpolated_inverted_cdf",
           "inverted_cdf", "linear", "lower", "median_unbiased", "midpoint", "nearest", "normal_unbiased",
           "weibull")  # fmt: skip
QUANTILES = {
    **{f"{method} {q}": (lambda x, q=q, method=method: np.quantile(x, q, method=method), ROW)
       for method in METHODS for q in (0.43,)},
    **{f"shares {method}": (lambda x, q, method=method: np.quantile(x, q, axis=1, method=method), X,
                            np.array([[0.13], [0.71]]))
       for method in ("linear", "weibull", "midpoint", "inverted_cdf")},
    "keeping axes": (
        lambda x, q: np.quantile(x, q, axis=(0, 2), keepdims=True), CUBE, np.array([1.5, 4.5]) / 7),
    "keeping all axes": (lambda x: np.quantile(x, 0.3, keepdims=True), X),
    "percentile": (lambda x, q: np.percentile(x, q, axis=0), X, np.array([13.0, 71.0])),
    "percentile of ints": (lambda x, n: np.percentile(n, 30, axis=1) * x[:, 0], X, N),
    "nanquantile of shares": (
        lambda x, q: np.nanquantile(x, q, axis=0), HOLES, np.array([0.23, 0.71]), {"batch": False}),
    "median of an even number": (lambda x: np.median(x, axis=1), X),
    "median of an odd number": (lambda x: np.median(x, axis=0, keepdims=True), X),
    "median of one": (lambda x: np.median(x), ONE),
    "median of ints": (lambda x, n: np.median(n, axis=1) * x[:, 0], X, N),
    "of one": (lambda x: np.quantile(x, 0.3), ONE),
    "of two": (lambda x: np.quantile(x, 0.3, method="weibull"), ROW[:2]),
    "of more than are sorted": (lambda x: np.quantile(x, 0.3), MANY),
    "of more than are sorted, shares": (lambda x: np.quantile(x, (np.arange(17) + 0.4) / 17.5), MANY),
}  # fmt: skip

RUNNING = {
    **{key: row for name in ("cumsum", "cumprod")
       for key, row in cases(name, X, {}, {"axis": 0}, {"axis": -1}, {"axis": 1, "dtype": complex}).items()},
    **{key: row for name in ("cumulative_sum", "cumulative_prod")
       for key, row in cases(name, X, {"axis": 0}, {"axis": 1, "include_initial": True},
                             {"axis": -2, "include_initial": True}).items()},
    **cases("cumulative_sum", ROW, {}, {"include_initial": True}),
    **cases("cumulative_prod", ROW, {}, {"include_initial": True}),
    **cases("cumprod", ZEROS, {}, {"axis": 0}, {"axis": 1}), **cases("cumprod", np.linspace(0.5, 1.5, 21),
        {}),
    **{f"{name} of a number": (
        lambda x, name=name: getattr(np, name)(x), NUMBER) for name in ("cumsum", "cumprod")},
    **{f"{name} of nothing": (
        lambda x, name=name: getattr(np, name)(x, axis=1), THIN) for name in ("cumsum", "cumprod")},
    **{f"{name} {axis}": (lambda x, name=name, axis=axis: getattr(ops, name)(x, axis), X, {
        "oracle": lambda x, f=f, axis=axis: f.accumulate(x if axis is not None else np.ravel(x), axis or 0)})
       for name, f in (("cummax", np.maximum), ("cummin", np.minimum), ("logcumsumexp", np.logaddexp))
       for axis in (None, 0, -1)},
    **{f"diff {n} {axis}": (lambda x, n=n, axis=axis: np.diff(x, n, axis), CUBE)
       for n, axis in ((0, 0), (1, 0), (2, 1), (3, -1), (4, -1), (3, 0), (1, -2))},
    "diff continued": (lambda x, a, b: np.diff(x, axis=0, prepend=a, append=b), X, X[:1], X[:2] * 2),
    "diff continued by numbers": (lambda x, a: np.diff(x, n=2, prepend=a, append=3.0), X, NUMBER),
    "diff behind alone": (lambda x, a: np.diff(x, axis=-2, append=a), X, X[1:2]),
    "diff of ints": (lambda x, n: np.diff(n, axis=0) * x[:2], X, N),
    "diff of bools": (lambda x, m: np.diff(m, axis=1) * x[:, 1:], X, MASK),
    "ediff1d": (lambda x: np.ediff1d(x), X), "ediff1d of nothing": (lambda x: np.ediff1d(x), NONE),
    "ediff1d continued": (lambda x, a, b: np.ediff1d(x, to_end=b, to_begin=a), ROW, NUMBER, X[:2, :2]),
    "ediff1d continued in front": (lambda x, a: np.ediff1d(x, to_begin=a), ROW, NUMBER),
    "ediff1d of one": (lambda x: np.ediff1d(x, to_end=2.0), ONE),
    **{f"gradient {order} {axis}": (
        lambda x, order=order, axis=axis: np.gradient(x, axis=axis, edge_order=order), CUBE)
       for order, axis in ((1, 0), (1, -1), (2, 1), (2, 2), (1, (0, 2)), (2, (2, 1)))},
    "gradient of all": (lambda x: np.gradient(x), X), "gradient of a row": (lambda x: np.gradient(x), ROW),
    "gradient with a distance": (lambda x, h: np.gradient(x, h, edge_order=2), X, NUMBER),
    "gradient with distances": (lambda x, h: np.gradient(x, h, 0.5), X, NUMBER),
    "gradient with positions": (lambda x, p: np.gradient(x, p), ROW, np.array([0.0, 0.5, 1.5, 1.75, 3.0])),
    "gradient with positions, second order": (
        lambda x, p: np.gradient(x, p, edge_order=2), ROW, np.array([0.0, 0.5, 1.5, 1.75, 3.0])),
    "gradient with positions along 1": (
        lambda x, p: np.gradient(x, p, axis=1, edge_order=2), X, np.array([0.0, 0.5, 1.5, 1.75])),
    "gradient with a distance and positions": (
        lambda x, h, p: np.gradient(x, h, p), X, NUMBER, np.array([0.0, 0.5, 1.5, 2.0]),
        {"tolerance": 1e-10}),
    "gradient with equal positions": (lambda x: np.gradient(x, np.arange(5.0)), ROW),
    "gradient with positions of ints": (lambda x: np.gradient(x, np.array([1, 2, 4, 7, 8], np.uint8)), ROW),
    "gradient of ints": (lambda x, n: np.gradient(n, axis=1) * x, X, N),
    "gradient of the fewest": (lambda x: np.gradient(x, axis=0, edge_order=2), X),
    "gradient of two": (lambda x: np.gradient(x), ROW[:2]),
    "trapezoid": (lambda y: np.trapezoid(y), X), "trapezoid first": (lambda y: np.trapezoid(y, axis=0), CUBE),
    "trapezoid with a distance": (lambda y, h: np.trapezoid(y, dx=h, axis=1), CUBE, NUMBER),
    "trapezoid at points": (
        lambda y, x: np.trapezoid(y, x), X, W), "trapezoid of one": (lambda y: np.trapezoid(y), ONE),
    "trapezoid at points in the middle": (lambda y, x: np.trapezoid(y, x, axis=1), CUBE, W[:3]),
    "trapezoid at points of their own": (lambda y, x: np.trapezoid(y, x, axis=0), X, X * X),
    "trapezoid at points of their own last": (lambda y, x: np.trapezoid(y, x, axis=-1), CUBE, X),
    "trapezoid of nothing": (lambda y: np.trapezoid(y), THIN),
}  # fmt: skip

STATISTICS = {
    "average": (
        lambda x: np.average(x, axis=1), X), "average of all": (lambda x: np.average(x, keepdims=True), X),
    "average with weights": (lambda x, w: np.average(x, axis=1, weights=w), X, W),
    "average with weights from behind": (lambda x, w: np.average(x, axis=-1, weights=w, keepdims=True), X, W),
    "average with weights first": (lambda x, w: np.average(x, axis=0, weights=w), X, W[:3]),
    "average with weights for each": (lambda x, w: np.average(x, weights=w), X, X * X + 0.5),
    "average with weights for each along 1": (lambda x, w: np.average(x, axis=1, weights=w), X, X * X + 0.5),
    "average with weights along two": (
        lambda x, w: np.average(x, axis=(0, 2), weights=w), CUBE, np.array([W, W * W])),
    "average with weights along two turned": (
        lambda x, w: np.average(x, axis=(2, 0), weights=w), CUBE, np.array([W, W * W]).T.copy()),
    "average with its weights": (lambda x, w: np.average(x, axis=1, weights=w, returned=True), X, W),
    "average with its count": (lambda x: np.average(x, axis=1, returned=True), X),
    "average with its count of all": (lambda x: np.average(x, returned=True), X),
    "average of ints": (lambda w, n: np.average(n, axis=1, weights=w), W, N),
    "average by ints": (lambda x: np.average(x, axis=1, weights=np.array([1, 2, 0, 1])), X),
    "cov": (lambda x: np.cov(x), X), "cov of a row": (lambda x: np.cov(x), ROW),
    "cov of columns": (
        lambda x: np.cov(x, rowvar=False), X), "cov biased": (lambda x: np.cov(x, bias=True), X),
    "cov with ddof": (
        lambda x: np.cov(x, ddof=2), X), "cov with ddof 0": (lambda x: np.cov(x, bias=False, ddof=0), X),
    "cov of two": (lambda x, y: np.cov(x, y), X, X * X), "cov of rows": (lambda x, y: np.cov(x, y), W, X[0]),
    "cov of two by columns": (lambda x, y: np.cov(x, y, rowvar=False), X, X[:, :2] ** 2),
    "cov counted": (lambda x: np.cov(x, fweights=[1, 2, 0, 3]), X),
    "cov weighed": (lambda x, w: np.cov(x, aweights=w), X, W),
    "cov counted and weighed": (lambda x, w: np.cov(x, fweights=[1, 2, 1, 3], aweights=w), X, W),
    "cov weighed biased": (lambda x, w: np.cov(x, aweights=w, bias=True), X, W),
    "cov weighed with ddof": (lambda x, w: np.cov(x, aweights=w, ddof=2), X, W),
    "cov counted with ddof": (lambda x: np.cov(x, fweights=[1, 2, 1, 3], ddof=3), X),
    "cov complex": (
        lambda z: np.cov(z), Z), "cov of nothing": (lambda x: np.cov(x), np.zeros((0, 3)), {"slopes": False}),
    "cov in single precision": (
        lambda x: np.cov(x, dtype=np.float32), X, {"slopes": False, "tolerance": 1e-6}),
    "corrcoef": (lambda x: np.corrcoef(x), X), "corrcoef of two": (lambda x, y: np.corrcoef(x, y), W, X[0]),
    "corrcoef of columns": (lambda x: np.corrcoef(x, rowvar=False), X),
    "corrcoef complex": (lambda z: np.corrcoef(z), Z),
    "bincount with weights": (lambda w, n: np.bincount(n, w), W, np.array([0, 3, 1, 3]), {"batch": False}),
    "bincount with more bins": (
        lambda w, n: np.bincount(n, w, 6), W, np.array([0, 3, 1, 3]), {"batch": False}),
    "digitize": (lambda x: np.digitize(x, [-1.0, 0.4, 2.2]), X),
    "digitize right": (lambda x: np.digitize(x, [-1.0, 0.4, 2.2], right=True), X),
    "digitize down": (lambda x: np.digitize(x, [2.2, 0.4, -1.0]), X),
}  # fmt: skip

APART = np.array([0.3, 0.0, 0.7, 1.3, 2.0])
EDGES = np.array([-1.0, 0.3, 0.5, 2.5])
HISTOGRAMS = {
    "ten bins": (lambda x: np.histogram_bin_edges(x), X), "bins": (lambda x: np.histogram_bin_edges(x, 3), X),
    "bins of one number": (lambda x: np.histogram_bin_edges(x, 4), ONE * np.ones(2), {"slopes": False}),
    "bins of ints": (lambda x, n: np.histogram_bin_edges(n, 3) * x[0], X, N),
    "bins in a range": (lambda x: np.histogram_bin_edges(x, 4, (-2, 3)), X, {"slopes": False}),
    "bins of nothing": (lambda x: np.histogram_bin_edges(x, 4), NONE),
    "given bins": (lambda x, e: np.histogram_bin_edges(x, e), X, EDGES),
    "counts": (lambda x, e: np.histogram(x, e)[0], X, EDGES, {"batch": False}),
    "counts of bins": (lambda x: np.histogram(x, 3)[0], X, {"batch": False}),
    "counts in a range": (lambda x: np.histogram(x, 4, (-1, 1))[0], X, {"batch": False}),
    "density": (lambda x: np.histogram(x, 2, density=True), APART, {"batch": False}),
    "density in bins": (
        lambda x, e: np.histogram(x, e, density=True), APART, np.array([-0.5, 0.5, 1.0, 2.5]),
        {"batch": False}),
    "weights": (lambda w: np.histogram(X, EDGES, weights=w)[0], X, {"batch": False}),
    "weights with density": (
        lambda w: np.histogram(X, EDGES, weights=w, density=True)[0], X + 4, {"batch": False}),
    "weights in a range": (lambda w: np.histogram(X, 4, (-1, 2.2), weights=w)[0], X, {"batch": False}),
    "weights at points": (
        lambda x, w: np.histogram(x, 4, weights=w)[0], ROW, ROW[::-1].copy(), {"batch": False}),
    "two": (lambda w: np.histogram2d(X[0], X[1], [3, EDGES], weights=w)[0], W, {"batch": False}),
    "two in ranges": (
        lambda w: np.histogram2d(X[0], X[1], 2, [(-1, 1), (0, 3)], weights=w)[0], W, {"batch": False}),
    "two with one list": (
        lambda w: np.histogram2d(X[0], X[1], EDGES, weights=w, density=True)[0], W, {"batch": False}),
    "two with edges": (lambda x, y: np.histogram2d(x, y, (2, 3)), X[0], X[1], {"batch": False}),
    "three": (lambda w: np.histogramdd(X.T, (2, 1, 3), weights=w)[0], W, {"batch": False}),
    "three with edges": (lambda x: np.histogramdd(x, 2)[1], X.T.copy(), {"batch": False}),
    "three in ranges": (
        lambda w: np.histogramdd(X.T, (2, 1, 3), [(-1, 2), (-2, 2), None], weights=w, density=True)[0], W,
        {"batch": False}),
    "one column": (lambda w: np.histogramdd(X[0], 3, weights=w)[0], W, {"batch": False}),
}  # fmt: skip

SOFT = {
    **{f"{name} {options}": (
        lambda x, name=name, options=options: getattr(ops, name)(x, **options), CUBE,
        {"oracle": lambda x, f=f, options=options: f(x, **options)})
       for name, f in (
           ("softmax", lambda x, axis=-1: np.exp(x) / np.exp(x).sum(axis, keepdims=True)),
           ("log_softmax", lambda x, axis=-1: x - np.log(np.exp(x).sum(axis, keepdims=True))),
           ("logsumexp", lambda x, axis=None, keepdims=False: np.log(np.exp(x).sum(axis, keepdims=keepdims))))
       for options in ({}, {"axis": 0}, {"axis": (0, -1)}, {"axis": None})},
    **{f"logsumexp {options}": (
        lambda x, options=options: ops.logsumexp(x, **options), CUBE,
        {"oracle": lambda x, options=options: np.log(np.exp(x).sum(**options))})
       for options in ({"axis": 1, "keepdims": True}, {"axis": None, "keepdims": True}, {"axis": (-1, 0),
           "keepdims": True})},
    **{f"logsumexp weighed {axis} {keep}": (
        lambda x, b, axis=axis, keep=keep: ops.logsumexp(x, axis, b, keep), X, W,
        {"oracle": lambda x, b, axis=axis, keep=keep: np.log((b * np.exp(x)).sum(axis, keepdims=keep))})
       for axis, keep in ((None, False), (0, False), (-1, True))},
    "logsumexp with its sign": (
        lambda x, b: ops.logsumexp(x, 1, b, return_sign=True), X, np.array([2.0, -0.5, 1.5, -0.25]),
        {"oracle": lambda x, b: (np.log(np.abs((b * np.exp(x)).sum(1))), np.sign((b * np.exp(x)).sum(1)))}),
    "logsumexp with its sign, without weights": (
        lambda x: ops.logsumexp(x, 1, return_sign=True), X,
        {"oracle": lambda x: (np.log(np.exp(x).sum(1)), np.ones(3))}),
    "logsumexp of ints": (
        lambda x, n: ops.logsumexp(n, 1) * x[:, 0], X, N,
        {"oracle": lambda x, n: np.log(np.exp(n).sum(1)) * x[:, 0]}),
    "logsumexp complex": (
        lambda z: ops.logsumexp(z, 1), Z, {"oracle": lambda z: np.log(np.exp(z).sum(1)), "program": False}),
    "softmax of ints": (
        lambda x, n: ops.softmax(n) * x, X, N,
        {"oracle": lambda x, n: np.exp(n) / np.exp(n).sum(-1, keepdims=True) * x}),
    **{f"cross entropy {reduction}": (
        lambda x, reduction=reduction: ops.softmax_cross_entropy(x, np.array([1, 0, 3]), reduction), X,
        {"oracle": lambda x, f=f: f(np.log(np.exp(x).sum(1)) - x[[0, 1, 2], [1, 0, 3]])})
       for reduction, f in (("mean", np.mean), ("sum", np.sum), ("none", np.asarray))},
    **{f"cross entropy with shares {reduction}": (
        lambda x, t, reduction=reduction: ops.softmax_cross_entropy(x, t, reduction), X, X * X,
        {"oracle": lambda x, t, f=f: f(-(t * (x - np.log(np.exp(x).sum(1, keepdims=True)))).sum(1))})
       for reduction, f in (("mean", np.mean), ("sum", np.sum), ("none", np.asarray))},
    "cross entropy of more axes": (
        lambda x: ops.softmax_cross_entropy(x, np.array([[1, 0, 3], [2, 2, 0]])), CUBE,
        {"oracle": lambda x: np.mean(np.log(np.exp(x).sum(-1)) - np.take_along_axis(
            x, np.array([[1, 0, 3], [2, 2, 0]])[..., None], -1)[..., 0])}),
    "cross entropy of one": (
        lambda x: ops.softmax_cross_entropy(x, np.array(2), "sum"), W,
        {"oracle": lambda x: np.log(np.exp(x).sum()) - x[2]}),
}  # fmt: skip

ALL = {
    f"{family}: {name}": call
    for family, calls in {
        "folds": FOLDS, "nan": NAN, "quantiles": QUANTILES, "running": RUNNING, "statistics": STATISTICS,
        "histograms": HISTOGRAMS, "soft": SOFT,
    }.items()
    for name, call in calls.items()
}  # fmt: skip


ONE_BY_ONE = {
    "interpolation",
    "quantile",
    "percentile",
    "extreme_positions",
    "histogram_bin_edges",
    "add_reduceat",
}
"""Operations without a rule for batches."""
IN_PYTHON = {"logaddexp_reduce", "add_reduceat"}
"""Operations without instructions."""
OTHERWISE = {
    "folds: max of nothing from": {"max"},
    "folds: min of nothing from": {"min"},
    **{f"folds: {name} from a number": {f"each {name}"} for name in ("sum", "prod", "max", "min")},
    **{f"folds: {name} about a mean": {f"each {name}"} for name in ("var", "std")},
    "running: cumprod {'axis': 1, 'dtype': <class 'complex'>}": {"cumprod", "recurrence"},
}
"""Other calls of which programs have no instructions, or batches no rule, for some operations."""


@takes_long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ALL)
def test_edges_of_reductions(name):
    f, *args = ALL[name]
    options = args.pop() if isinstance(args[-1], dict) else {}
    usual = IN_PYTHON | {f"each {operation}" for operation in ONE_BY_ONE}
    assert check(f, *args, **options) <= usual | OTHERWISE.get(name, set())
