"""Distributions of vectors and of several results beside SciPy's: what may be left out, and their limits."""

import numpy as np
import pytest
from scipy import stats as original

import tape
from tape import errors
from tape.scipy import stats
from tests.test_scipy_stats import agree


@pytest.mark.parametrize("mean", [None, [0.5, -1.0]])
def test_entropies_of_vectors_do_not_depend_on_the_mean_which_may_be_left_out(mean):
    spread = np.array([[2.0, 0.5], [0.5, 1.0]])
    for name, more in (
        ("multivariate_normal", ()),
        ("multivariate_t", (3.0,)),
        ("multivariate_t", (np.inf,)),
    ):
        ours, theirs = (getattr(s, name).entropy(mean, spread, *more) for s in (stats, original))
        assert ours == pytest.approx(theirs, rel=1e-13)
    found = tape.grad(lambda c: stats.multivariate_t.entropy(mean, c, np.inf))(np.diag([2.0, 4.0]))
    np.testing.assert_allclose(found, np.diag([1 / 4, 1 / 8]), rtol=1e-12)


def test_distributions_are_shown_by_their_names_and_have_no_private_methods():
    assert repr(stats.norm) == "tape.scipy.stats.norm"
    assert repr(stats.multivariate_normal) == "tape.scipy.stats.multivariate_normal"
    for each in (stats.norm, stats.norm(0.0, 1.0)):
        with pytest.raises(AttributeError, match=r"^_unknown$"):
            _ = each._unknown


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_probability_above_one_by_rounding_is_none_as_in_scipy():
    p = np.array([np.nextafter(1, 2), 0.0])  # whose sum is 1 but for rounding
    for module in (stats, original):
        assert np.all(np.isnan(module.multinomial.cov(3, p)))
        assert np.isnan(module.multinomial.entropy(3, p))


def test_normal_vectors_of_lower_rank():
    """Outside of the space that singular covariances span there is nothing."""
    along = np.array([1.0, 2.0])
    cov = np.outer(along, along)
    for x in (along, 0 * along, np.array([1.0, -1.0])):
        ours = stats.multivariate_normal.logpdf(x, [0, 0], cov, allow_singular=True)
        assert agree(ours, original.multivariate_normal.logpdf(x, [0, 0], cov, allow_singular=True))
    with pytest.raises(errors.SingularMatrixError):
        stats.multivariate_normal.logpdf(along, [0, 0], cov)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_densities_within_the_space_of_singular_covariances_and_their_slopes(rank):
    rng = np.random.default_rng(rank)
    root, mean = rng.normal(size=(3, rank)), rng.normal(size=3)
    cov, weights = root @ root.T, rng.normal(size=(4, rank))
    x = np.concatenate([mean + weights @ root.T, rng.normal(size=(2, 3))])
    expected = original.multivariate_normal.logpdf(x, mean, cov, allow_singular=True)
    assert np.isfinite(expected).tolist() == [True] * 4 + [rank == 3] * 2
    np.testing.assert_allclose(stats.multivariate_normal.logpdf(x, mean, cov, True), expected, rtol=1e-10)
    total = lambda x: np.sum(stats.multivariate_normal.logpdf(x, mean, cov, True))  # noqa: E731
    np.testing.assert_allclose(tape.grad(total)(x[:4]), -(x[:4] - mean) @ np.linalg.pinv(cov), rtol=1e-8)


def test_variances_of_random_matrices():
    scale = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 3.0]])
    np.testing.assert_allclose(stats.wishart.var(5, scale), original.wishart.var(5, scale), rtol=1e-14)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_probabilities_of_several_results_may_be_0_and_1_and_no_less_or_more():
    """As of one result."""
    x = np.array([[2, 0, 3], [0, 0, 5], [1, 1, 3], [5, 0, 0], [2, 0, 2], [-1, 3, 3]])
    for p in ([0.4, 0, 0.6], [0, 0, 1], [1, 0, 0], [1.1, 0, -0.1], [0.2, 0.3, 0.5]):
        for method, shapes in (
            ("pmf", (x, 5)),
            ("pmf", (x, 0)),
            ("mean", (5,)),
            ("cov", (5,)),
            ("entropy", (5,)),
        ):
            found, expected = (getattr(s.multinomial, method)(*shapes, p) for s in (stats, original))
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=f"{method} {p}")
        with np.errstate(all="ignore"):
            found = np.exp(stats.multinomial.logpmf(x, 5, p))
        np.testing.assert_allclose(found, original.multinomial.pmf(x, 5, p), rtol=1e-12)
    assert np.isnan(stats.multinomial.pmf([0, 0, -1], -1, [0.2, 0.3, 0.5]))
