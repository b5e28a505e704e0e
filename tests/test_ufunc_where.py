"""Ufuncs that write into a Var where they are asked to: as NumPy does, and with no derivative elsewhere."""

import numpy as np
import pytest

import tape
from tape.core.table import OPERATIONS

MASK = np.array([True, False, True, False])
INSIDE = {np.arccosh: 2.5}
"""Arguments that functions have a value at; 0.5 for all others."""
UNARY = [f for f in OPERATIONS if isinstance(f, np.ufunc) and (f.nin, f.nout) == (1, 1) and "d->d" in f.types]
BINARY = [
    f
    for f in OPERATIONS
    if isinstance(f, np.ufunc) and (f.nin, f.nout, f.signature) == (2, 1, None) and "dd->d" in f.types
]
OUTSIDE = [np.nan, -5.0, 0.0, 7.0]
"""Some of them are outside of the domain of each function that has one."""
quietly = pytest.mark.filterwarnings("ignore")


def recorded_and_plain(f, inputs, traced):
    """What a ufunc leaves in an array of its own, of a Var and of NumPy, and the gradients by the inputs."""
    expected = np.arange(4.0)
    f(*inputs, out=expected, where=MASK)
    trace = tape.Trace()
    start = trace.param(np.arange(4.0))
    out = start + 0.0
    params = [trace.param(np.asarray(x, float)) if k in traced else x for k, x in enumerate(inputs)]
    returned = f(*params, out=out, where=MASK)
    assert returned is out
    gradients = trace.backward_param_grads(out, np.ones(4), unreached="zero")
    return out.value, expected, gradients


@quietly
@pytest.mark.parametrize("f", UNARY, ids=lambda f: f.__name__)
def test_what_is_not_asked_for_stays_and_has_no_derivative(f):
    inside = INSIDE.get(f, 0.5)
    for other in OUTSIDE:
        x = np.where(MASK, inside, other)
        found, expected, (by_start, by_x) = recorded_and_plain(f, [x], {0})
        np.testing.assert_allclose(found, expected, rtol=1e-14)
        np.testing.assert_array_equal(by_start, ~MASK)
        np.testing.assert_array_equal(by_x[~MASK], 0.0)
        assert np.isfinite(by_x).all()
        found, expected, _ = recorded_and_plain(f, [list(x)], set())
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("f", [np.add, np.multiply, np.maximum])
def test_reductions_of_some_elements_into_a_var(f):
    start, x = np.zeros(2), np.array([[2.0, 3.0, 5.0], [7.0, 9.0, 4.0]])
    mask = np.array([[True, False, True], [False, True, True]])
    expected = f.reduce(x, axis=1, where=mask, initial=1.0)

    def reduced(x, like):
        out = np.zeros(2) + like
        assert f.reduce(x, axis=1, out=out, where=mask, initial=1.0) is out
        return out

    np.testing.assert_array_equal(reduced(x, start), expected)
    found, (by_x, by_like) = tape.value_and_grad(lambda x, like: np.sum(reduced(x, like)), (0, 1))(x, start)
    assert found == expected.sum()
    np.testing.assert_array_equal(by_like, 0.0)
    one_by_one = [x * 0 + 1, expected[:, None] / x, x == expected[:, None]]
    np.testing.assert_allclose(by_x, mask * one_by_one[[np.add, np.multiply, np.maximum].index(f)])


@quietly
@pytest.mark.parametrize("f", BINARY, ids=lambda f: f.__name__)
def test_both_operands_may_be_anything(f):
    for other in OUTSIDE:
        x = np.where(MASK, 0.5, other)
        for inputs, traced in (
            ([x, x + 1], {0, 1}),
            ([x, x + 1], {1}),
            ([list(x), 2.0], {0}),
            ([2.0, list(x)], set()),
            ([3, x], {1}),
        ):
            found, expected, gradients = recorded_and_plain(f, inputs, traced)
            np.testing.assert_allclose(found, expected, rtol=1e-14)
            for gradient in gradients[1:]:
                assert np.isfinite(gradient).all()
                np.testing.assert_array_equal(np.broadcast_to(gradient, 4)[~MASK] * (gradient.size > 1), 0.0)
