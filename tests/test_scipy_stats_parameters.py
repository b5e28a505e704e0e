"""Parameters that no distribution has: NaN, eagerly and in programs, whatever kind of number they are."""

import numpy as np
import pytest

import tape
from tape.scipy import stats

ZEROS = [
    ("pareto", "ppf", 0.3, (0.0,), (2.0,)),
    ("pareto", "isf", 0.3, (0.0,), (2.0,)),
    ("weibull_min", "ppf", 0.3, (0.0,), (2.0,)),
    ("weibull_min", "mean", None, (0.0,), (2.0,)),
    ("weibull_min", "var", None, (0.0,), (2.0,)),
    ("geom", "mean", None, (0.0,), (0.5,)),
    ("geom", "var", None, (0.0,), (0.5,)),
    ("nbinom", "mean", None, (3.0, 0.0), (3.0, 0.5)),
    ("beta", "mean", None, (-1.0, 1.0), (1.0, 2.0)),
    ("beta", "var", None, (-1.0, 0.0), (1.0, 2.0)),
]


@pytest.mark.parametrize("kind", [float, np.float64, lambda x: np.full(2, x)])
@pytest.mark.parametrize(("name", "method", "x", "wrong", "right"), ZEROS)
def test_a_division_by_zero_is_nan_and_no_error(name, method, x, wrong, right, kind):
    of = getattr(getattr(stats, name), method)
    f = of if x is None else lambda *shapes: of(x, *shapes)
    compiled = tape.compile(f)
    for shapes in (right, wrong, right, wrong):
        given = [kind(shape) for shape in shapes]
        np.testing.assert_allclose(compiled(*given), f(*given), rtol=1e-14)
        assert np.all(np.isnan(f(*given))) == (shapes is wrong)
