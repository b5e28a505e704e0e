"""The mirrored modules of SciPy as such: their names, and the way there from SciPy's own."""

import importlib

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.ndimage
import scipy.signal
import scipy.sparse.linalg
import scipy.spatial.distance

import tape
from tape import errors
from tape.conversion.callers import counterpart_of

MODULES = ["integrate", "interpolate", "ndimage", "signal", "sparse", "sparse.linalg", "spatial.distance"]


@pytest.mark.parametrize("name", MODULES)
def test_names_are_those_of_scipy(name):
    ours, theirs = (importlib.import_module(f"{package}.{name}") for package in ("tape.scipy", "scipy"))
    added = {"SparseData", "with_data"}
    assert set(ours.__all__) - added <= set(dir(theirs))
    assert set(dir(theirs)) - {"__path__"} <= set(dir(ours))
    for public in ours.__all__:
        assert getattr(ours, public).__doc__
    with pytest.raises(AttributeError):
        _ = ours.no_such_name


@pytest.mark.parametrize(
    ("call", "counterpart"),
    [
        (lambda x: scipy.signal.lfilter([1.0], [1.0, 0.5], x), "tape.scipy.signal.lfilter"),
        (lambda x: scipy.ndimage.sobel(x), "tape.scipy.ndimage.sobel"),
        (lambda x: scipy.spatial.distance.pdist(x[:, None]), "tape.scipy.spatial.distance.pdist"),
        (lambda x: scipy.interpolate.CubicSpline(np.arange(5), x), "tape.scipy.interpolate.CubicSpline"),
        (lambda x: scipy.interpolate.RectBivariateSpline(np.arange(5), np.arange(5), np.outer(x, x)),
         "RegularGridInterpolator of tape.scipy.interpolate"),
    ],
)  # fmt: skip
def test_scipys_own_functions_name_their_counterparts(call, counterpart):
    with pytest.raises(errors.ConversionError, match=counterpart.replace(".", r"\.")):
        tape.grad(lambda x: np.sum(call(x)))(np.arange(5.0))


@pytest.mark.parametrize("name", MODULES)
def test_counterparts_exist(name):
    ours = importlib.import_module(f"tape.scipy.{name}")
    for public in set(ours.__all__) - {"SparseData", "linalg", "with_data"}:
        assert counterpart_of(f"scipy.{name}.{public}") == f"Call tape.scipy.{name}.{public}, which records"
