"""`Trace.compile`: the program of a tape gives what the tape gives, for whatever leaves it has."""

import numpy as np
import pytest

import tape
from tape import errors
from tests.oracles import assert_close


@pytest.fixture
def network():
    rng = np.random.default_rng(0)
    trace = tape.Trace()
    w, b = trace.param(rng.normal(size=(3, 2))), trace.param(rng.normal(size=2))
    x = trace.input(rng.normal(size=(4, 3)))
    return trace, (w, b, x), np.sum(np.tanh(x @ w + b) ** 2, axis=1)


def agree(trace, root, program):
    value, gradients = program.run()
    assert_close(value, root.value)
    for got, wanted in zip(gradients, trace.backward_param_grads(root), strict=True):
        assert_close(got, wanted)
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)


def test_value_and_gradients(network):
    trace, _, root = network
    agree(trace, root, trace.compile(root))


def test_new_leaves_are_seen(network):
    trace, (w, _, x), root = network
    program = trace.compile(root)
    for rows in (4, 4, 7):  # other shapes run in Python
        trace.set(x, np.random.default_rng(rows).normal(size=(rows, 3)))
        trace.set(w, w.value * 1.5)
        trace.replay()
        agree(trace, root, program)


def test_params_changed_in_place_are_seen(network):
    trace, (w, _, _), root = network
    program = trace.compile(root)
    before, _ = program.run()
    w.value[...] = 0
    trace.replay()
    agree(trace, root, program)
    assert not np.array_equal(before, root.value)


def test_the_trace_stays_as_it_was(network):
    trace, _, root = network
    count = len(trace)
    trace.compile(root).run()
    assert len(trace) == count


def test_a_param_out_of_reach_is_named(network):
    trace, _, root = network
    trace.param(1.0, name="lonely")
    with pytest.raises(errors.UnreachableParamError, match="lonely"):
        trace.compile(root)


def test_a_root_of_another_trace_is_refused(network):
    trace, _, _ = network
    other = tape.Trace()
    with pytest.raises(errors.TraceMismatchError):
        trace.compile(other.param(1.0))


def test_leaves_of_an_enclosing_trace_are_refused():
    outer = tape.Trace()
    inner = tape.Trace()
    x = inner.param(outer.param(2.0))
    with pytest.raises(errors.UnsupportedError, match="enclosing trace"):
        inner.compile(x * x)


def test_another_count_of_a_mask_is_an_error_that_says_so():
    trace = tape.Trace()
    w = trace.param(np.array([1.0, 2.0, 3.0]))
    program = trace.compile(np.sum(w[w > 1.5] ** 2))
    trace.set(w, np.array([2.0, 2.0, 3.0]))
    with pytest.raises(errors.ShapeError, match=r"is float64\[3\] .* and float64\[2\] in the program"):
        program.run()
    trace.set(w, np.array([2.0, 1.0, 3.0]))
    value, (gradient,) = program.run()
    assert (value, gradient.tolist()) == (13.0, [4.0, 0.0, 6.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda w: w[np.argmin(w)],
        lambda w: w.reshape(2, 2)[np.argmin(w) // 2, np.argmin(w) % 2],
        lambda w: np.take(w, np.argmax(w)),
        lambda w: w[-1],
    ],
    ids=["argmin", "two axes", "take", "number"],
)
def test_a_root_that_is_one_element_has_a_program(f):
    trace = tape.Trace()
    w = trace.param(np.array([1.0, 3.0, 2.0, 5.0]))
    root = f(w)
    program = trace.compile(root)
    for value in ([1.0, 3.0, 2.0, 5.0], [5.0, 4.0, 1.0, 2.0]):
        trace.set(w, np.array(value))
        trace.replay()
        agree(trace, root, program)
