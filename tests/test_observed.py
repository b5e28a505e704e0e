"""Floating-point errors that a compiled function lets NumPy raise or report: it does what it does without."""

import warnings

import numpy as np
import pytest

import tape
from tape import errors


def raising(x):
    try:
        with np.errstate(all="raise"):
            return np.log(x)
    except FloatingPointError:
        return np.zeros(2)


def set_and_reset(x):
    before = np.seterr(divide="raise")
    try:
        return 1 / x
    except FloatingPointError:
        return np.zeros(2)
    finally:
        np.seterr(**before)


def calling(x):
    found = []
    with np.errstate(divide="call", call=lambda *args: found.append(args)):
        y = np.log(x)
    return y if not found else np.zeros(2)


def warning(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.log(x)
        except RuntimeWarning:
            return np.zeros(2)


def filtering(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="divide by zero")
        try:
            return np.log(x)
        except RuntimeWarning:
            return np.zeros(2)


def collecting(x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        y = np.log(x)
    return np.zeros(2) if found else y


def helping(x):
    return raising(2 * x)


def differentiating(x):
    def loss(x):
        with np.errstate(divide="raise"):
            return np.sum(np.log(x))

    try:
        return tape.grad(loss)(x)
    except FloatingPointError:
        return np.zeros(2)


def looping(x):
    def step(carry, _):
        with np.errstate(divide="raise"):
            return np.log(carry) + 2, carry

    try:
        return tape.scan(step, x, None, 3)[0]
    except FloatingPointError:
        return np.zeros(2)


OBSERVING = [
    raising,
    set_and_reset,
    calling,
    warning,
    filtering,
    collecting,
    helping,
    differentiating,
    looping,
]


@pytest.mark.parametrize("f", OBSERVING)
def test_functions_that_observe_errors_do_what_they_do_without(f):
    compiled = tape.compile(f)
    with pytest.warns(errors.NotCompiledWarning, match="plain Python") as found:
        first = compiled(np.ones(2))
    assert "test_observed.py" in str(found[0].message)
    np.testing.assert_allclose(first, f(np.ones(2)))
    for x in (np.zeros(2), np.full(2, 3.0), np.zeros(2)):
        np.testing.assert_allclose(compiled(x), f(x))
    assert not compiled.programs
    assert "floating-point errors" in compiled.explain()


@pytest.mark.parametrize(
    "f", [np.errstate(divide="raise")(np.log), np.errstate(all="raise")(lambda x: 1 / x)]
)
def test_functions_that_raise_raise(f):
    compiled = tape.compile(lambda x: f(x))
    with pytest.warns(errors.NotCompiledWarning):
        compiled(np.ones(2))
    with pytest.raises(FloatingPointError):
        compiled(np.zeros(2))


def ignoring(x):
    with np.errstate(all="ignore"):
        return np.log(x)


def warning_of_others(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", DeprecationWarning)
        return np.log(x)


def collecting_others(x):
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.log(x)


def raising_elsewhere(x):
    with np.errstate(all="raise"):
        scale = float(np.log(np.float64(2.0)))
    return np.log(x) * scale


@pytest.mark.parametrize("f", [ignoring, warning_of_others, collecting_others, raising_elsewhere])
def test_functions_that_ignore_errors_get_programs(f):
    compiled = tape.compile(f)
    for x in (np.ones(2), np.zeros(2)):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(compiled(x), f(x))
    assert len(compiled.programs) == 1


def test_what_is_set_outside_has_no_effect_on_programs():
    compiled = tape.compile(np.log)
    with np.errstate(all="raise"):
        assert compiled(np.ones(2)).tolist() == [0.0, 0.0]
        assert np.all(compiled(np.zeros(2)) == -np.inf)
    assert len(compiled.programs) == 1
