"""Floats that a checkpointed function puts elsewhere than into its result: a warning."""

import numpy as np
import pytest

import tape
from tape import errors

X = np.array([0.5, -1.2, 0.8])


class Layer:
    """A layer that keeps what it has computed."""

    def __init__(self):
        self.calls, self.losses, self.penalty = 0, [], 0.0

    def sets(self, x):
        self.penalty = np.sum(x**2)
        return np.sin(x)

    def appends(self, x):
        self.losses.append(np.sum(x**2))
        return np.sin(x)

    def counts(self, x):
        self.calls += 1
        self.losses.append(self.calls)
        self.losses[:0] = [None]
        return np.sin(x)


PENALTY, LOSSES = 0.0, []


def assigns(x):
    global PENALTY
    PENALTY = np.sum(x**2)
    return np.sin(x)


def appends(x):
    LOSSES.append(np.sum(x**2))
    return np.sin(x)


def stores():
    held, known = {}, {"k": 2.0}

    def f(x):
        held["penalty"] = known["k"] * x
        return np.sin(x)

    return f


def rebinds():
    penalty = 0.0

    def f(x):
        nonlocal penalty
        penalty = penalty + np.sum(x**2)
        return np.sin(x)

    return f


@pytest.mark.parametrize(
    ("f", "place"),
    [
        (Layer().sets, "an attribute of Layer"),
        (Layer().appends, "losses"),
        (assigns, "PENALTY"),
        (appends, "LOSSES"),
        (lambda x: appends(x), "LOSSES"),
        (stores(), "held"),
        (rebinds(), "penalty"),
    ],
)
def test_floats_that_are_put_elsewhere_have_no_derivative(f, place):
    np.testing.assert_array_equal(tape.checkpoint(f)(X), np.sin(X))  # here no derivative is lost
    with pytest.warns(errors.LostDerivativeWarning, match=f"has put float64.* into {place}, where"):
        found = tape.grad(lambda x: np.sum(tape.checkpoint(f)(x)))(X)
    np.testing.assert_allclose(found, np.cos(X))


def test_counts_and_what_was_there_before_are_no_floats_that_are_put_elsewhere():
    layer, table = Layer(), [X, np.sum(X)]

    def caches(x, known={}):  # noqa: B006
        known.setdefault("k", 2.0)
        table.reverse()
        return known["k"] * x

    for f, slope in ((layer.counts, np.cos(X)), (caches, 2.0)):
        for _ in range(2):
            found = tape.grad(lambda x, f=f: np.sum(tape.checkpoint(f)(x)))(X)
            np.testing.assert_allclose(found, np.full(X.shape, slope))
