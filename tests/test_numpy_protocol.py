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
    """At the call, with how a rule is added."""
    with pytest.raises(errors.UnsupportedError, match=name.replace(".", r"\.")) as caught:
        UNKNOWN[name](v)
    assert isinstance(caught.value, TypeError)
    assert "tape.Op(" in str(caught.value)
    assert "test_numpy_protocol.py" in str(caught.value)
    assert len(v.trace) <= 2


@pytest.mark.parametrize("name", ["sqrt", "log", "power", "arccos"])
def test_a_function_without_a_rule_names_its_namesake_and_nothing_else(v, name):
    with pytest.raises(errors.UnsupportedError, match=rf"rule\. np\.{name} has one\.") as caught:
        getattr(np.emath, name)(v, *[2] * (name == "power"))
    assert "linalg" not in str(caught.value)
    with pytest.raises(errors.UnsupportedError) as caught:
        np.packbits(v)
    assert "has one" not in str(caught.value)


def test_the_three_lines_of_advice_work():
    """The rule that the error proposes, for a function that NumPy has no rule for."""
    slope = np.cos
    lost = tape.Op(np.sin, vjp=[lambda g, out, x: g * slope(x)], jvp=[lambda t, out, x: t * slope(x)])
    assert_close(vjp(lost, [np.array([0.3])])[0], np.cos([0.3]))


IN_PLACE = {
    "np.copyto": lambda x, v: np.copyto(x, v),
    "np.fill_diagonal": lambda x, v: np.fill_diagonal(x, v),
    "np.place": lambda x, v: np.place(x, np.ones((2, 3), bool), np.stack([v, v])),
    "np.put": lambda x, v: np.put(x, [0], v),
    "np.putmask": lambda x, v: np.putmask(x, np.ones((2, 3), bool), v),
    "np.put_along_axis": lambda x, v: np.put_along_axis(x, np.array([[0], [1]]), v, axis=1),
    "np.add.at": lambda x, v: np.add.at(x, [0], v),
    "np.multiply.at": lambda x, v: np.multiply.at(x, [0], v),
    "np.exp(..., out=...)": lambda x, v: np.exp(v, out=x),
    "np.sum(..., out=...)": lambda x, v: np.sum(np.ones((4, 2, 3)) * v, axis=0, out=x),
    "np.add.reduce(..., out=...)": lambda x, v: np.add.reduce(np.ones((4, 2, 3)) * v, axis=0, out=x),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_functions_that_write_let_vars_move_on_and_refuse_plain_arrays(v, name):
    plain, x, number = np.ones((2, 3)), v * 1, v[0, 1]
    before = x.node
    with pytest.raises((errors.TapeError, ValueError)) as caught:
        IN_PLACE[name](plain, number)
    assert isinstance(caught.value, errors.TapeError) or isinstance(caught.value.__cause__, errors.TapeError)
    np.testing.assert_array_equal(plain, np.ones((2, 3)))
    IN_PLACE[name](x, number)
    IN_PLACE[name](expected := v.value * 1, number.value)
    assert_close(x.value, expected)
    assert_close(before.value, v.value)


def test_ufuncs_write_where_they_are_asked_to_and_ask_nothing_elsewhere():
    def f(x):
        out = x * 3
        np.divide(1.0, x, out=out, where=x > 0)
        np.log(x[1:], where=x[1:] > 0, out=out[1:])
        return out

    tape.testing.check_grads(f, (np.array([-0.3, 2.0, -1.0, 0.5]),), order=2)


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
