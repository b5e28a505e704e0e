"""Traces inside traces: higher orders, levels, no confusion of perturbations."""

import math
import threading

import numpy as np
import pytest

import tape
from tape import errors
from tape.core import interpreter
from tests.oracles import assert_close, assert_same, derivative, jvp, scalar, vjp

# ---- nesting -------------------------------------------------------------------------------------


def test_gradient_of_the_gradient_of_the_gradient():
    x = np.array([0.3, -1.2])
    for order in range(5):
        assert_close(derivative(np.exp, order)(x), np.exp(x), 1e-15)


@pytest.mark.parametrize(
    ("order", "expected"), [(1, 1 - math.tanh(1) ** 2), (4, 0.6650910448), (8, -277.062135603)]
)
def test_high_derivatives_of_tanh(order, expected):
    assert float(derivative(np.tanh, order)(np.array(1.0))) == pytest.approx(expected, rel=1e-10)


def test_forward_mode_nests_to_any_order():
    def pushed(f, order):
        return f if order == 0 else lambda x: jvp(pushed(f, order - 1), [x], [np.ones(())])

    for order in range(1, 5):
        expected = derivative(np.tanh, order)(np.array(1.0))
        assert float(pushed(np.tanh, order)(np.array(1.0))) == pytest.approx(float(expected), rel=1e-12)


def test_levels_follow_nesting():
    outer = tape.Trace()
    x = outer.param(2.0)
    inner = tape.Trace()
    y = inner.param(x)
    innermost = tape.Trace()
    innermost.param(y)
    assert (outer.level, inner.level, innermost.level) == (0, 1, 2)
    with outer, tape.Trace() as opened:
        assert opened.level > outer.level
    early = tape.Trace()
    with tape.Trace() as opened, early:
        assert early.level > opened.level > innermost.level
    assert tape.Trace().level == 0


def test_a_with_block_nests_closures_over_outer_vars():
    """d/dx of (d/dy of x*y*y at y=3), where the inner trace never saw x as a leaf."""
    with tape.Trace() as outer:
        x = outer.param(2.0)
        with tape.Trace() as inner:
            y = inner.param(3.0)
            (dy,) = inner.backward_param_grads(x * y * y)
        assert isinstance(dy, tape.Var)
        assert dy.trace is outer
        assert float(dy) == 12
        assert scalar(outer.backward_param_grads(dy)) == 6


def test_perturbations_are_not_confused():
    """The classic: d/dx (x * d/dy (x + y)) at 1 is 1, not 2 (Siskind and Pearlmutter 2005)."""
    with tape.Trace() as outer:
        x = outer.param(1.0)
        with tape.Trace() as inner:
            y = inner.param(1.0)
            (slope,) = inner.backward_param_grads(x + y)
            pushed = inner.jvp(x + y, {y: 1.0})
        assert scalar(outer.backward_param_grads(x * slope)) == 1
        assert scalar(outer.backward_param_grads(x * pushed)) == 1
        assert outer.jvp(x * slope, {x: 1.0}) == 1


def test_levels_mix_in_one_expression():
    """f(x) = d/dy (x**2 * sin(x*y)) at y = x, which is x**3 cos(x**2)."""

    def f(x):
        trace = tape.Trace()
        y = trace.param(x)
        return trace.backward_param_grads(x * x * np.sin(x * y))[0]

    x = np.array(0.7)
    expected = 3 * x**2 * np.cos(x**2) - 2 * x**4 * np.sin(x**2)
    assert_close(vjp(f, [x])[0], expected, 1e-14)
    assert_close(jvp(f, [x], [np.array(1.0)]), expected, 1e-14)


def test_an_inner_sweep_lands_on_the_outer_tape():
    outer = tape.Trace()
    x = outer.param(np.array([1.0, 2.0]))
    inner = tape.Trace()
    y = inner.param(x)
    length = len(outer)
    (grad,) = inner.backward_param_grads(np.exp(y).sum())
    assert len(outer) > length
    assert grad.trace is outer
    inner_length = len(inner)
    (second,) = outer.backward_param_grads(grad)
    assert len(inner) == inner_length
    assert_close(second, np.exp([1.0, 2.0]), 1e-15)


def test_seeds_and_tangents_may_be_vars_of_the_outer_trace():
    outer = tape.Trace()
    s = outer.param(np.array([1.0, 2.0]))
    inner = tape.Trace()
    x = inner.param(np.array([3.0, 4.0]))
    (grad,) = inner.backward_param_grads(x * x, seed=s)
    assert_close(outer.backward_param_grads(grad)[0], [6, 8], 1e-15)
    pushed = inner.jvp(x * x, {x: s})
    assert_close(outer.backward_param_grads(pushed)[0], [6, 8], 1e-15)


def test_replay_of_an_inner_trace_records_on_the_outer_one():
    outer = tape.Trace()
    x = outer.param(2.0)
    inner = tape.Trace()
    y = inner.param(x)
    z = y * y
    inner.set(y, x * 3.0)
    inner.replay()
    assert z.value.trace is outer
    assert float(z) == 36
    assert scalar(outer.backward_param_grads(z.value)) == 36


def test_traces_in_threads_do_not_nest_into_each_other():
    around = []

    def open_one():
        around.append(interpreter.innermost_open())
        with tape.Trace():
            around.append(interpreter.innermost_open())

    with tape.Trace() as outermost:
        thread = threading.Thread(target=open_one)
        thread.start()
        thread.join()
    assert around[0] is None
    assert around[1] is not outermost


def test_a_with_block_left_by_an_exception_restores_the_level():
    with pytest.raises(ZeroDivisionError), tape.Trace():
        _ = 1 / 0
    assert tape.Trace().level == 0


def test_a_trace_others_are_nested_in_stays_where_it_is():
    outer = tape.Trace("outer")
    x = outer.param(3.0)
    inner = tape.Trace("inner")
    y = inner.param(x)
    with tape.Trace(), tape.Trace(), pytest.raises(errors.TraceMismatchError, match="outer"):
        outer.__enter__()
    with pytest.raises(errors.TraceMismatchError, match="outer"):
        outer.param(y)
    assert (x * y).trace is inner


def test_a_trace_does_not_take_vars_of_those_opened_in_it():
    with tape.Trace("outer") as outer, tape.Trace("inner") as inner:
        y = inner.param(2.0)
        with pytest.raises(errors.TraceMismatchError):
            outer.param(y)


def test_an_open_trace_cannot_be_opened_again():
    with tape.Trace() as outer:
        x = outer.param(3.0)
        with pytest.raises(errors.TraceMismatchError, match="open already"):
            outer.__enter__()
        with tape.Trace() as inner:
            assert (x * inner.param(2.0)).trace is inner


def test_derivatives_that_become_constant_are_zero_on_request():
    def grad(f):
        def df(x):
            with tape.Trace() as trace:
                return trace.backward_param_grads(f(trace.param(x)), unreached="zero")[0]

        return df

    for f in (lambda x: 3.0 * x, np.abs, lambda x: np.maximum(x, 0.0)):
        assert_same(grad(grad(f))(2.0), np.array(0.0))
    assert_same(grad(lambda x: 3.0)(2.0), np.array(0.0))


def test_a_seed_var_takes_the_dtype_of_the_root():
    outer, inner = tape.Trace(), tape.Trace()
    w = inner.param(np.ones(2, np.float32))
    seed = outer.param(np.ones(2))
    (gradient,) = inner.backward_param_grads(w, seed)
    assert gradient.dtype == np.float32
