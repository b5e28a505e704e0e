"""The mirrored modules of SciPy as such: their names, and the way there from SciPy's own."""

import importlib
import inspect

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


OF_TREES = {"curve_fit", "least_squares", "minimize", "root"}
"""Of trees of parameters; `tests.test_scipy_optimize_errors` looks at their options."""
LEFT_OUT = {
    "logm": {"disp"},
    "sqrtm": {"disp", "blocksize"},
    "quad": {"weight", "wvar", "wopts", "maxp1", "limlst", "complex_func"},
    "nnls": {"atol"},
}
"""What SciPy has given up, or is passed on to it."""
OTHERWISE = {("nquad", "args"), *((name, "window") for name in ("csd", "istft", "stft", "welch"))}
"""Defaults that mean the same."""


@pytest.mark.parametrize("name", [*MODULES, "linalg", "optimize", "special", "stats"])
def test_parameters_are_those_of_scipy(name):
    """Names, kinds and defaults; classes are what they are in SciPy."""
    ours, theirs = (importlib.import_module(f"{package}.{name}") for package in ("tape.scipy", "scipy"))
    compared = 0
    for public in [each for each in dir(theirs) if not each.startswith("_")]:
        one, other = getattr(ours, public), getattr(theirs, public)
        assert isinstance(one, type) == isinstance(other, type), public
        if one is other or not callable(one) or public in OF_TREES:
            continue
        if name == "stats" and not isinstance(one, type):
            continue  # a distribution, whose parameters have tests of their own
        try:
            found, expected = (dict(inspect.signature(f).parameters) for f in (one, other))
        except ValueError:  # one that is written in C
            continue
        if set(expected) <= {"args", "kwargs"}:  # generalised ufuncs
            continue
        for missing in LEFT_OUT.get(public, ()):
            expected.pop(missing, None)
        found = {key: p for key, p in found.items() if p.kind is not p.VAR_KEYWORD}
        expected = {key: p for key, p in expected.items() if p.kind is not p.VAR_KEYWORD}
        assert [(key, p.kind) for key, p in found.items()] == [
            (key, p.kind) for key, p in expected.items()
        ], public
        for key, p in found.items():
            default = expected[key].default
            if (public, key) not in OTHERWISE and type(default) is not object:
                assert p.default is default or p.default == default, (public, key)
        compared += 1
    assert compared


@pytest.mark.parametrize("name", MODULES)
def test_counterparts_exist(name):
    ours = importlib.import_module(f"tape.scipy.{name}")
    for public in set(ours.__all__) - {"SparseData", "linalg", "with_data"}:
        assert counterpart_of(f"scipy.{name}.{public}") == f"Call tape.scipy.{name}.{public}, which records"
