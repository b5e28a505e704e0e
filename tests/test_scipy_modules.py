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


def test_modules_are_listed():
    assert {name.split(".")[0] for name in MODULES} <= set(dir(tape.scipy))
    assert dir(tape.scipy) == sorted(tape.scipy.__all__)


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


B, A = [0.5, 0.2], [1.0, 0.3]
ALONG = {
    "integrate.trapezoid": lambda f, x, axis: f(x, axis=axis),
    "integrate.simpson": lambda f, x, axis: f(x, axis=axis),
    "integrate.romb": lambda f, x, axis: f(x, axis=axis),
    "integrate.cumulative_trapezoid": lambda f, x, axis: f(x, axis=axis),
    "integrate.cumulative_simpson": lambda f, x, axis: f(x, axis=axis),
    "signal.detrend": lambda f, x, axis: f(x, axis=axis),
    "signal.hilbert": lambda f, x, axis: f(x, axis=axis),
    "signal.lfilter": lambda f, x, axis: f(B, A, x, axis=axis),
    "signal.filtfilt": lambda f, x, axis: f(B, A, x, axis=axis, padlen=1),
    "signal.sosfilt": lambda f, x, axis: f([[*B, 0.1, *A, 0.2]], x, axis=axis),
    "signal.sosfiltfilt": lambda f, x, axis: f([[*B, 0.1, *A, 0.2]], x, axis=axis, padlen=1),
    "signal.savgol_filter": lambda f, x, axis: f(x, 3, 1, axis=axis),
    "signal.welch": lambda f, x, axis: f(x, nperseg=3, axis=axis)[1],
    "signal.csd": lambda f, x, axis: f(x, 1 + x * x, nperseg=3, axis=axis)[1],
    "signal.periodogram": lambda f, x, axis: f(x, axis=axis)[1],
    "signal.stft": lambda f, x, axis: f(x, nperseg=3, axis=axis)[2],
    "signal.fftconvolve": lambda f, x, axis: f(x, x, axes=axis),
    "signal.oaconvolve": lambda f, x, axis: f(x, x, axes=axis),
    "spatial.distance.jensenshannon": lambda f, x, axis: f(x * x, 1 + x * x, axis=axis),
    "special.softmax": lambda f, x, axis: f(x, axis=axis),
    "special.log_softmax": lambda f, x, axis: f(x, axis=axis),
    "special.logsumexp": lambda f, x, axis: f(x, axis=axis),
}


@pytest.mark.parametrize("name", ALONG)
def test_axes_count_from_either_end_and_others_are_refused(name):
    """None wraps around, and none is rounded."""
    module, _, short = name.rpartition(".")
    ours, theirs = (getattr(importlib.import_module(f"{p}.{module}"), short) for p in ("tape.scipy", "scipy"))
    x = np.random.default_rng(0).normal(size=(5, 5, 5))
    for axis in (0, 1, -1, -3):
        np.testing.assert_allclose(
            ALONG[name](ours, x, axis), ALONG[name](theirs, x, axis), rtol=1e-9, atol=1e-12
        )
    for axis in (3, -4, 0.5):
        call = lambda x, axis=axis: np.sum(abs(ALONG[name](ours, x, axis)))  # noqa: E731
        for each in (call, tape.grad(call)):
            with pytest.raises((errors.TapeError, ValueError, IndexError, TypeError)):
                each(x)


@pytest.mark.parametrize("name", MODULES)
def test_counterparts_exist(name):
    ours = importlib.import_module(f"tape.scipy.{name}")
    for public in set(ours.__all__) - {"SparseData", "linalg", "with_data"}:
        assert counterpart_of(f"scipy.{name}.{public}") == f"Call tape.scipy.{name}.{public}, which records"
