"""Defaults of functions, classes and methods of `tape.scipy` are those of their namesakes in SciPy."""

import importlib
import inspect

import pytest

from tests.test_defaults import differences

MODULES = [
    "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "sparse.linalg",
    "spatial.distance", "special", "stats",
]  # fmt: skip


def both(module):
    """Functions, classes and their methods that are written here, beside those of SciPy, by name."""
    ours, theirs = (importlib.import_module(f"{of}.{module}") for of in ("tape.scipy", "scipy"))
    for name, function in sorted(vars(ours).items()):
        original = getattr(theirs, name, None)
        if name.startswith("_") or function is original or not callable(original):
            continue
        if inspect.isclass(function) and inspect.isclass(original):
            for method in sorted(vars(function).keys() & dir(original)):
                if method == "__init__" or not method.startswith("_"):
                    yield f"{name}.{method}", getattr(function, method), getattr(original, method)
        elif callable(function):
            yield name, function, original


OTHERS = {
    "nquad": {"args": ()}, "signm": {"disp": True}, "curve_fit": {"bounds": None},
    "least_squares": {"bounds": None},
    **{name: {"window": "hann"} for name in ("csd", "istft", "stft", "welch")},
}  # fmt: skip
"""Defaults that say the same in other words, or by which versions of SciPy differ."""
_IN_CLASSES = ("root", "minimize")
"""Functions of SciPy's whose keyword arguments are one here."""


def found(module):
    """The differences of all that can be compared."""
    pairs = {}
    for name, function, original in both(module):
        try:
            differing = differences(function, original)
        except (TypeError, ValueError):  # without a signature
            continue
        kept = {
            parameter: pair
            for parameter, pair in differing.items()
            if not (isinstance(pair[0], float) and pair[0] == pair[1])  # of Python's or NumPy's
            and not (parameter in OTHERS.get(name, {}) and OTHERS[name][parameter] == pair[0])
            and not (name in _IN_CLASSES and parameter == "options")
        }
        pairs[name] = kept
    return pairs


@pytest.mark.parametrize("module", MODULES)
def test_defaults_are_those_of_scipy(module):
    differing = found(module)
    assert {name: pair for name, pair in differing.items() if pair} == {}
    assert differing or module == "sparse"
