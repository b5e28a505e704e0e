"""Distances beside SciPy's: each metric with its options, distance zero, functions of one's own, errors."""

import numpy as np
import pytest
from scipy.spatial import distance as original

import tape
from tape import errors
from tape.scipy import spatial
from tape.scipy.spatial import _metrics, distance
from tests.op_table.scipy_spatial import ALL
from tests.oracles import assert_close
from tests.scipy_checks import check_compiled, check_derivatives, check_value
from tests.tiers import some

WEIGHTED = [
    "braycurtis", "canberra", "chebyshev", "cityblock", "cosine", "correlation", "euclidean", "hamming",
    "sqeuclidean",
]  # fmt: skip


@pytest.mark.parametrize("case", ALL, ids=str)
def test_value_is_that_of_scipy(case):
    check_value(case)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_derivatives_are_differences_of_scipys_values(case):
    check_derivatives(case)


@pytest.mark.parametrize("case", some(ALL, every=3), ids=str)
def test_compiled_is_eager(case):
    check_compiled(case)


def both(name, *args, **options):
    ours, theirs = (getattr(module, name)(*args, **options) for module in (distance, original))
    assert np.result_type(ours) == np.result_type(theirs)
    assert_close(ours, theirs, 1e-13)


@pytest.mark.parametrize("metric", WEIGHTED)
def test_metrics_with_weights(metric):
    rng = np.random.default_rng(0)
    a, b, w = rng.normal(size=(5, 4)).round(1), rng.normal(size=(3, 4)).round(1), rng.uniform(0, 1, 4)
    a[0] = b[0]
    a[1, :2] = b[1, :2] = 0
    w[2] = 0
    if metric == "braycurtis":  # sums that are not zero
        a, b = np.abs(a) + 0.5, np.abs(b)
    for options in ({}, {"w": w}):
        both("cdist", a, b, metric, **options)
        both("pdist", a, metric, **options)
        both(metric, a[0] + 1, b[1] + 1, **options)
    both("cdist", a.astype(np.float32), b.astype(int) + 1, metric)


def test_metrics_with_options():
    a, b = np.random.default_rng(1).uniform(0.1, 1, (2, 6, 3))
    w, V, VI = np.array([0.5, 2.0, 0.0]), np.array([1.0, 2.0, 0.5]), np.diag([1.0, 2.0, 3.0]) + 0.1
    for p in (0.7, 1, 2, 2.5, np.inf):
        for options in ({"p": p}, {"p": p, "w": w}):
            both("cdist", a, b, "minkowski", **options)
            both("pdist", a, "minkowski", **options)
            both("minkowski", a[0], b[0], **options)
    for metric, options in (("seuclidean", {"V": V}), ("mahalanobis", {"VI": VI})):
        both("cdist", a, b, metric, **options)
        both("cdist", a, b, metric)
        both("pdist", a, metric)
        both(metric, a[0], b[0], **options)
    both("cdist", a, b, "jensenshannon")
    both("pdist", a, "js")
    both("jensenshannon", a, b, 2.0, keepdims=True)
    both("correlation", a[0], b[0], centered=False)
    for alias, name in (("cb", "cityblock"), ("e", "euclidean"), ("cheby", "chebyshev"), ("mi", "minkowski")):
        np.testing.assert_array_equal(distance.cdist(a, b, alias), distance.cdist(a, b, name))
    both("cdist", a, b, original.cityblock)


def test_short_names_of_metrics_are_those_of_scipy():
    """Of those that are here; capitals count as in SciPy."""
    a, b = np.random.default_rng(1).uniform(0.1, 1, (2, 6, 3))
    known = {short: info.canonical_name for info in original._METRICS.values() for short in info.aka}
    assert len(known) > 30
    here = {short for short, name in known.items() if name in _metrics.METRICS}
    assert set(_metrics.ALIASES) | set(_metrics.METRICS) == here | set(_metrics.METRICS)
    for short in here:
        for name in (short, short.upper()):
            both("cdist", a, b, name)
            with tape.Trace() as trace:
                found = distance.pdist(trace.param(a), name)
            assert_close(found.value, original.pdist(a, known[short]), 1e-12)


def test_vectors_become_matrices_and_back():
    x = np.random.default_rng(2).uniform(size=6)
    both("squareform", x)
    both("squareform", original.squareform(x))
    both("squareform", np.zeros(0))
    both("squareform", np.zeros((1, 1)))
    m = tape.jacobian(lambda x: distance.squareform(distance.squareform(x)))(x)
    np.testing.assert_array_equal(m, np.eye(6))


# ---- distance zero ---------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev", "minkowski", "seuclidean",
                                    "mahalanobis", "canberra", "sqeuclidean", "jensenshannon"])  # fmt: skip
def test_nothing_flows_at_distance_zero(metric):
    x = np.array([[0.5, 2.0, 1.0]])
    options = {"seuclidean": {"V": np.ones(3)}, "mahalanobis": {"VI": np.eye(3)}, "minkowski": {"p": 3.5}}
    f = lambda a: np.sum(distance.cdist(a, x, metric, **options.get(metric, {})))  # noqa: E731
    assert f(x) == 0.0
    np.testing.assert_array_equal(tape.grad(f)(x), np.zeros((1, 3)))
    np.testing.assert_array_equal(tape.jvp(f, (x,), (np.ones((1, 3)),)), (0.0, 0.0))


def test_distributions_are_farther_apart_by_the_root_of_the_inverse_logarithm_of_the_base():
    p, q = np.random.default_rng(5).uniform(0.1, 1, (2, 4))
    nats = original.jensenshannon(p, q)
    value, slope = tape.value_and_grad(lambda base: distance.jensenshannon(p, q, base))(3.0)
    assert value == pytest.approx(nats / np.sqrt(np.log(3.0)), rel=1e-13)
    assert slope == pytest.approx(-nats / 2 / np.log(3.0) ** 1.5 / 3.0, rel=1e-12)


def test_distances_within_a_set_have_finite_derivatives():
    x = np.random.default_rng(3).normal(size=(5, 3))
    gradient = tape.grad(lambda x: np.sum(distance.cdist(x, x)))
    expected = sum(2 * (x - row) / np.maximum(np.linalg.norm(x - row, axis=1), 1e-300)[:, None] for row in x)
    assert_close(gradient(x), expected, 1e-13)
    assert_close(tape.vmap(gradient)(np.stack([x, 2 * x])), [gradient(x), gradient(2 * x)], 1e-13)


# ---- functions of one's own, and errors ------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", lambda u, v: np.sum(np.abs(u - v))])
def test_few_vectors_have_no_distances(metric):
    for x in (np.ones((1, 3)), np.ones((0, 3))):
        both("pdist", x, metric)
        both("cdist", x, np.ones((0, 3)), metric)


def test_a_function_of_two_vectors_is_a_metric():
    a, b = np.random.default_rng(4).normal(size=(2, 3, 2))
    metric = lambda u, v, scale=1.0: np.sum(np.tanh(scale * (u - v)) ** 2)  # noqa: E731
    both("cdist", a, b, metric, scale=2.0)
    both("pdist", a, metric)
    out = np.zeros((3, 3))
    assert distance.cdist(a, b, metric, out=out) is out
    assert_close(out, distance.cdist(a, b, metric), 1e-15)
    out = np.zeros(3)
    assert distance.pdist(a, metric, out=out) is out
    assert_close(out, distance.pdist(a, metric), 1e-15)
    found = tape.grad(lambda a: np.sum(distance.cdist(a, b, metric)))(a)
    expected = tape.grad(lambda a: np.sum(np.tanh(a[:, None] - b) ** 2))(a)
    assert_close(found, expected, 1e-13)


def test_other_metrics_are_scipys_and_refuse_vars():
    x = np.array([[1.0, 0.0], [1.0, 1.0]])
    assert_close(distance.cdist(x, x, "jaccard"), original.cdist(x, x, "jaccard"), 0)
    assert_close(distance.pdist(x, "jaccard"), original.pdist(x, "jaccard"), 0)
    out = np.zeros(1)
    assert distance.pdist(x, out=out) is out
    assert out[0] == 1
    out = np.zeros((2, 2))
    assert distance.cdist(x, x, out=out) is out
    assert spatial.cKDTree(x).n == 2
    with pytest.raises(errors.UnsupportedError, match=r"jaccard.*euclidean"):
        tape.grad(lambda x: np.sum(distance.cdist(x, x, "jaccard")))(x)
    with pytest.raises(errors.UnsupportedError, match=r"directed_hausdorff.*cdist"):
        tape.grad(lambda x: distance.directed_hausdorff(x, x)[0])(x)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: distance.cdist(x, x[0]), errors.ShapeError, "cdist"),
        (lambda x: distance.pdist(x[0]), errors.ShapeError, "pdist"),
        (lambda x: distance.cdist(x, x, "cityblock", p=2), errors.OptionError, "no option p"),
        (lambda x: distance.cdist(x, x, w=np.ones(3)), errors.ShapeError, "w has shape"),
        (lambda x: distance.cdist(x, x, w=-np.ones(2)), errors.OptionError, "negative"),
        (lambda x: distance.cdist(x, x, "minkowski", p=-1), errors.OptionError, "greater than 0"),
        (lambda x: distance.pdist(x, "mahalanobis"), errors.ShapeError, "singular"),
        (lambda x: distance.euclidean(x[0], np.ones(3)), errors.ShapeError, "one length"),
        (lambda x: distance.squareform(x[0, :1] * np.ones(2)), errors.ShapeError, "for any m"),
        (lambda x: distance.squareform(x), errors.OptionError, "symmetric"),
        (lambda x: distance.squareform(x, "tomatrix"), errors.ShapeError, "force"),
        (lambda x: distance.squareform(x[:1]), errors.ShapeError, r"shape \[1, 2\]. It must be square"),
        (lambda x: distance.minkowski(x[0], x[1], p=[1, 2]), errors.ShapeError, r"p has shape \[2\]"),
        (lambda x: distance.jensenshannon(x[0], x[1], base=-1), errors.OptionError, "base=-1"),
        (lambda x: distance.jensenshannon(x[0], x[1], base=0.0), errors.OptionError, "base=0.0"),
        (lambda x: distance.euclidean(1j * x[0], x[1]), errors.DTypeError, "an operand is .*complex"),
        (lambda x: distance.jensenshannon(1j * x[0], x[1]), errors.DTypeError, "jensenshannon: .*complex"),
    ],
)
def test_errors_say_what_to_do(call, kind, message):
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(kind, match=message):
        call(x)
    with pytest.raises(kind, match=message):
        tape.grad(lambda x: np.sum(call(x)))(x)
