"""Distances at their edges: weights, zeros, opposite vectors, names of metrics, options, errors."""

import numpy as np
import pytest
from scipy.spatial import distance as original

import tape
from tape import errors
from tape.scipy.spatial import distance

WEIGHTED = (
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "hamming",
    "sqeuclidean", "minkowski",
)  # fmt: skip
OPTIONS = {
    "mahalanobis": {"VI": np.array([[2.0, 0.3, 0.1], [0.1, 1.0, 0.2], [0.0, 0.4, 1.5]])},
    "seuclidean": {"V": np.array([0.5, 2.0, 1.0])},
}
VECTORS = [
    np.array([1.0, 2.0, -3.0]), np.array([0.0, 0.0, 0.0]), np.array([0.1, 0.2, -0.3]),
    np.array([-0.1, -0.2, 0.3]), np.array([1.0, 2.0, 4.0]), np.array([5.0, 5.0, 5.0]),
]  # fmt: skip
RNG = np.random.default_rng(0)


def assert_same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    assert np.shape(found) == np.shape(expected)


@pytest.mark.parametrize("w", [None, [1.0, 2.0, 0.5], [1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [1, 1, 3]], ids=str)
@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_metrics_of_two_vectors_with_and_without_weights(name, w):
    f, g = getattr(distance, name), getattr(original, name)
    for u in VECTORS:
        for v in VECTORS:
            try:
                expected = g(u, v, w=w)
            except (ValueError, ZeroDivisionError):
                continue
            if name == "correlation" and w is not None and not np.any(w):
                continue
            found = f(u, v, w=w)
            if np.isfinite(expected):
                assert_same(found, expected)
                assert found >= 0
            slope = tape.grad(lambda u, v=v: f(u, v, w=w))(u) if np.isfinite(found) and found > 1e-9 else 0.0
            assert np.all(np.isfinite(slope))
    if name not in ("correlation", "minkowski"):
        with pytest.raises(errors.OptionError, match=rf"^{name}: weights must not be negative"):
            f(VECTORS[0], VECTORS[4], w=[1.0, -1.0, 1.0])
    for bad in (VECTORS[0][:2], np.stack(VECTORS[:2]), 1j * VECTORS[0]):
        with pytest.raises(errors.TapeError, match=rf"^{name}: "):
            f(bad, VECTORS[0])
    assert_same(f([1, 2, 4], [3, 1, 1]), g([1, 2, 4], [3, 1, 1]))
    assert_same(f(2.0, 3.0), g([2.0], [3.0])) if name not in ("correlation", "cosine") else None


@pytest.mark.parametrize("p", [0.5, 1, 1.0, 1.5, 2, 3, np.inf])
@pytest.mark.parametrize("w", [None, [1.0, 0.0, 2.0]], ids=str)
def test_minkowskis_of_all_powers(p, w):
    u, v = VECTORS[0], VECTORS[4] + np.array([0.5, 0.0, 0.0])
    assert_same(distance.minkowski(u, v, p, w), original.minkowski(u, v, p, w))
    assert distance.minkowski(u, u, p, w) == 0
    for wrong in (0, -1.0, np.nan):
        with pytest.raises(errors.OptionError, match="minkowski: p must be greater than 0"):
            distance.minkowski(u, v, wrong)
    if np.isfinite(p) and p >= 1:
        by_p = tape.grad(lambda p: distance.minkowski(u, v, p, w))(float(p))
        h = 1e-5
        expected = original.minkowski(u, v, p + h, w) - original.minkowski(u, v, max(p - h, 1.0), w)
        assert by_p == pytest.approx(expected / (h if p == 1 else 2 * h), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("base", [None, 2.0, 10])
def test_divergences_of_distributions_are_roots_in_any_base(base):
    u, v = np.array([0.2, 0.3, 0.5]), np.array([1.0, 0.0, 3.0])
    assert_same(distance.jensenshannon(u, v, base), original.jensenshannon(u, v, base))
    assert_same(distance.jensenshannon(u, u, base), 0.0)
    for wrong in (0, -2.0):
        with pytest.raises(errors.OptionError, match=rf"jensenshannon: base={wrong}"):
            distance.jensenshannon(u, v, wrong)


def test_vectors_that_point_the_same_or_the_opposite_way_are_0_or_2_apart():
    """Whatever rounding makes of their cosines."""
    for seed in range(60):
        u = np.random.default_rng(seed).normal(size=5)
        for f in (distance.cosine, distance.correlation):
            assert 0 <= f(u, 3 * u) <= 1e-15
            assert all(2 - 1e-15 <= f(u[:n], c * u[:n]) <= 2 for n in (2, 3, 5) for c in (-0.7, -1, -3))
    assert_same(distance.correlation(u, u**2, centered=False), original.cosine(u, u**2))
    w = np.array([1.0, 2.0, 0.5, 0.0, 3.0])
    assert_same(distance.correlation(u, u**2, w, False), original.correlation(u, u**2, w, False))


# ---- sets ----------------------------------------------------------------------------------------------

METRICS = (*WEIGHTED, "mahalanobis", "seuclidean", "jensenshannon")


@pytest.mark.parametrize("name", METRICS)
def test_sets_of_vectors_have_the_distances_of_each_pair(name):
    """By name in any case, by function of either library, and with options."""
    a, b = RNG.uniform(0.1, 2, (5, 3)), RNG.uniform(0.1, 2, (4, 3))
    given = OPTIONS.get(name, {})
    expected = original.cdist(a, b, name, **given), original.pdist(a, name, **given)
    for metric in (name, name.upper(), getattr(distance, name), getattr(original, name)):
        assert_same(distance.cdist(a, b, metric, **given), expected[0])
        assert_same(distance.pdist(a, metric, **given), expected[1])
    if name in WEIGHTED:
        w = np.array([0.5, 0.0, 2.0])
        assert_same(distance.cdist(a, b, name, w=w), original.cdist(a, b, name, w=w))
        assert_same(distance.pdist(a, name, w=w), original.pdist(a, name, w=w))
        for f, sets in ((distance.cdist, (a, b)), (distance.pdist, (a,))):
            with pytest.raises(errors.OptionError, match=rf"^{f.__name__}: weights must not be negative"):
                f(*sets, name, w=-w)
            with pytest.raises(errors.ShapeError, match=rf"^{f.__name__}: w has shape \[2\]"):
                f(*sets, name, w=w[:2])
    elif name != "jensenshannon":
        assert_same(distance.cdist(a, b, name), original.cdist(a, b, name))
        assert_same(distance.pdist(a, name), original.pdist(a, name))
        ((key, value),) = given.items()
        for f, sets in ((distance.cdist, (a, b)), (distance.pdist, (a,))):
            with pytest.raises(errors.ShapeError, match=rf"^{f.__name__}: {key} has shape"):
                f(*sets, name, **{key: value[:2]})
    for f, sets in ((distance.cdist, (a, b)), (distance.pdist, (a,))):
        with pytest.raises(errors.OptionError, match=rf"^{f.__name__}: {name} has no option none"):
            f(*sets, name, none=1.0)
        complex_ones = tuple(1j * x for x in sets)
        with pytest.raises(errors.DTypeError, match=rf"^{f.__name__}: X"):
            f(*complex_ones, name, **given)


@pytest.mark.parametrize(
    "short", ["cheb", "cb", "c", "eu", "e", "matching", "h", "mi", "pnorm", "se", "sqe", "co", "cos"]
)
def test_short_names_are_those_of_scipy(short):
    a = RNG.normal(size=(4, 3))
    assert_same(distance.pdist(a, short), original.pdist(a, short))


def test_covariances_need_more_observations_than_features():
    a = RNG.normal(size=(3, 3))
    for call in (lambda s: s.pdist(a, "mahalanobis"), lambda s: s.cdist(a[:1], a[1:], "mahalanobis")):
        with pytest.raises(
            errors.ShapeError, match="3 observations of 3 features have a singular covariance"
        ):
            call(distance)
    b = RNG.normal(size=(4, 3))
    assert_same(distance.pdist(b, "mahalanobis"), original.pdist(b, "mahalanobis"))


def test_other_metrics_are_scipys_or_functions_of_two_vectors():
    a, b = RNG.normal(size=(3, 2)), RNG.normal(size=(2, 2))
    out = np.zeros((3, 2))
    assert distance.cdist(a, b, out=out) is out
    assert_same(out, original.cdist(a, b))
    of_pairs = np.zeros(3)
    assert distance.pdist(a, out=of_pairs) is of_pairs
    assert_same(distance.cdist(a > 0, b > 0, "jaccard"), original.cdist(a > 0, b > 0, "jaccard"))
    with pytest.raises(errors.UnsupportedError, match="cdist: the metric 'jaccard' has no derivative"):
        tape.grad(lambda a: np.sum(distance.cdist(a, b, "jaccard")))(a)

    def lopsided(u, v, scale=1.0):
        return np.sum(scale * u * u - v)

    assert_same(distance.cdist(a, b, lopsided, scale=2.0), original.cdist(a, b, lopsided, scale=2.0))
    assert_same(distance.pdist(a, lopsided, scale=2.0), original.pdist(a, lopsided, scale=2.0))
    assert distance.pdist(a[:1], lopsided).shape == (0,)
    assert distance.cdist(a[:0], b, lopsided).shape == (0, 2)

    def euclidean(u, v):  # of a name that is a metric's
        return np.sum(u - v)

    assert_same(distance.cdist(a, b, euclidean), original.cdist(a, b, euclidean))
    for rows in (0, 1, 2):
        assert_same(distance.pdist(a[:rows]), original.pdist(a[:rows]) if rows else np.zeros(0))


@pytest.mark.parametrize("name", ["minkowski", "correlation"])
def test_weights_are_not_negative(name):
    u, v, w = np.array([1.0, 2.0, 4.0]), np.array([3.0, 5.0, 1.0]), np.array([1.0, -0.5, 1.0])
    with pytest.raises(errors.OptionError, match=f"{name}: weights must not be negative"):
        getattr(distance, name)(u, v, w=w)
    assert np.isclose(getattr(distance, name)(u, v, w=abs(w)), getattr(original, name)(u, v, w=abs(w)))
