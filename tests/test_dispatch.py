"""What NumPy functions do when they meet a Var and there is no operation for them, or not for all of it."""

import numpy as np
import pytest

import tape
from tape import errors
from tests.oracles import assert_close, assert_same, record, vjp


@pytest.fixture
def v():
    with tape.Trace() as trace:
        yield trace.param(np.arange(1.0, 7.0).reshape(2, 3))


UNKNOWN = {
    "np.packbits": lambda x: np.packbits(x),
    "np.datetime_as_string": lambda x: np.datetime_as_string(x),
    "np.is_busday": lambda x: np.is_busday(x),
    "np.subtract.reduce": lambda x: np.subtract.reduce(x),
    "np.isnat": lambda x: np.isnat(x),
    "np.divide.accumulate": lambda x: np.divide.accumulate(x),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_functions_without_a_rule_are_refused_by_name(v, name):
    """At the call, with the nearest function that has a rule, and how one is added."""
    with pytest.raises(errors.UnsupportedError, match=name.replace(".", r"\.")) as caught:
        UNKNOWN[name](v)
    assert isinstance(caught.value, TypeError)
    assert "nearest" in str(caught.value)
    assert "tape.op.Op(" in str(caught.value)
    assert "test_dispatch.py" in str(caught.value)
    assert len(v.trace) <= 2


def test_the_three_lines_of_advice_work():
    """The rule that the error proposes, for a function that NumPy has no rule for."""
    slope = np.cos
    lost = tape.op.Op(np.sin, vjp=[lambda g, out, x: g * slope(x)], jvp=[lambda t, out, x: t * slope(x)])
    assert_close(vjp(lost, [np.array([0.3])])[0], np.cos([0.3]))


IN_PLACE = {
    "np.copyto": lambda x: np.copyto(x, 1.0),
    "np.fill_diagonal": lambda x: np.fill_diagonal(x, 1.0),
    "np.place": lambda x: np.place(x, x.value > 1, [1.0]),
    "np.put": lambda x: np.put(x, [0], 1.0),
    "np.putmask": lambda x: np.putmask(x, x.value > 1, 1.0),
    "np.put_along_axis": lambda x: np.put_along_axis(x, np.array([[0], [1]]), 1.0, axis=1),
    "np.add.at": lambda x: np.add.at(x, [0], 1.0),
    "np.multiply.at": lambda x: np.multiply.at(np.ones(3), [0], x[0, 0]),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_functions_that_write_are_refused_and_say_what_to_write_instead(v, name):
    before = v.value.copy()
    with pytest.raises(errors.InPlaceError, match=name.replace(".", r"\.") + ".*[Uu]se"):
        IN_PLACE[name](v)
    np.testing.assert_array_equal(v.value, before)


REFUSED_OPTIONS = {
    ("np.add", "where"): lambda x: np.add(x, 1, where=x.value > 1),
    ("np.exp", "signature"): lambda x: np.exp(x, signature="d->d"),
    ("np.exp", "casting"): lambda x: np.exp(x, casting="unsafe"),
}


@pytest.mark.parametrize(("name", "option"), REFUSED_OPTIONS)
def test_options_without_a_rule_are_refused_by_name(v, name, option):
    with pytest.raises(errors.UnsupportedError, match=name.replace(".", r"\.") + f".*{option}"):
        REFUSED_OPTIONS[name, option](v)
    assert len(v.trace) == 1


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.add(x, 1, casting="same_kind", order="K", subok=True, where=True),
        lambda x: np.add(x, 1, dtype=np.float32),
        lambda x: np.exp(x, dtype=np.float32),
        lambda x: np.multiply.outer(x, x[0]),
        lambda x: np.subtract.outer(2.0, x),
        lambda x: np.add.reduce(x),
        lambda x: np.add.reduce(x, axis=None),
        lambda x: np.add.reduce(x, axis=1, keepdims=True),
        lambda x: np.multiply.reduce(x, axis=1),
        lambda x: np.maximum.reduce(x),
        lambda x: np.add.accumulate(x, axis=1),
        lambda x: np.multiply.accumulate(x),
        lambda x: np.maximum.accumulate(x, axis=1),
        lambda x: np.add.reduceat(x, [0, 1], axis=1),
        lambda x: np.logaddexp.reduce(x, axis=1),
    ],
)
def test_keywords_and_methods_of_ufuncs_compute_what_they_do_in_numpy(f):
    x = np.array([[0.5, 1.5, 1.0], [2.0, 0.7, 0.9]])
    assert_same(record(f, [x])[2].value, f(x))
    along = np.cos(x)
    moved = (np.sum(f(x + 1e-6 * along)) - np.sum(f(x - 1e-6 * along))) / 2e-6
    if f(x).dtype == np.float64:
        assert_close(np.sum(vjp(f, [x])[0] * along), moved, 1e-8)
