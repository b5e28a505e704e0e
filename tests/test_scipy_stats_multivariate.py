"""Distributions of vectors and of several results beside SciPy's: what may be left out, and their limits."""

import numpy as np
import pytest
from scipy import stats as original

import tape
from tape.scipy import stats


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
