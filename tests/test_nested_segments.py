"""Segments in segments: what they close over, or are given, is that of the call, however deep they are."""

import itertools

import numpy as np
import pytest

import tape
from tests.oracles import assert_close, jvp, vjp
from tests.tiers import some

X, W = np.array([0.5, 1.2]), np.array([0.7, 0.4])

# Each makes a function of x one that runs it again when derivatives are wanted; then the same by hand.
KINDS = {
    "checkpoint": (tape.checkpoint, lambda f: f),
    "loop": (
        lambda f: lambda x: tape.checkpoint_loop(lambda x, step: 0.5 * f(x), x, 2, 1),
        lambda f: lambda x: 0.5 * f(0.5 * f(x)),
    ),
    "fixed_point": (
        lambda f: lambda x: tape.fixed_point(lambda y, x: 0.1 * y + f(x), x, x, tol=1e-15),
        lambda f: lambda x: f(x) / 0.9,
    ),
    "root": (
        lambda f: lambda x: tape.root(lambda y, x: 2.0 * y - f(x), x, x),
        lambda f: lambda x: f(x) / 2.0,
    ),
    "odeint": (
        lambda f: lambda x: tape.odeint(lambda y, t, x: f(x), x, np.array([0.0, 0.5]), x)[-1],
        lambda f: lambda x: x + 0.5 * f(x),
    ),
}
QUICK = ("checkpoint", "loop", "fixed_point", "root")
PAIRS = [*itertools.product(QUICK, QUICK), ("checkpoint", "odeint"), ("odeint", "checkpoint")]
INSIDE = {
    "closed over": lambda w: lambda x: np.sin(w * x),
    "number": lambda w: lambda x: np.sin(np.sum(w) * x),
}


def nested(outer, inner, how, by_hand=False):
    """A function of x and w; the segments close over w, the inner one over something computed as well."""
    around, within = KINDS[outer][by_hand], KINDS[inner][by_hand]

    def f(x, w):
        def body(x):
            scale = 1.0 + w * w
            return within(lambda x: INSIDE[how](w)(x) * scale)(x) + w

        return around(body)(x)

    return f


def assert_alike(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, 1e-7)


@pytest.mark.parametrize(
    ("outer", "inner", "how"),
    [
        *((*pair, "closed over") for pair in PAIRS),
        ("checkpoint", "loop", "number"),
        ("loop", "root", "number"),
    ],
)
def test_values_and_derivatives_are_those_by_hand(outer, inner, how):
    f, by_hand = nested(outer, inner, how), nested(outer, inner, how, by_hand=True)
    assert_close(f(X, W), by_hand(X, W), 1e-7)
    seed = np.array([1.0, -0.3])
    assert_alike(vjp(f, [X, W], seed), vjp(by_hand, [X, W], seed))
    assert_close(jvp(f, [X, W], [seed, W]), jvp(by_hand, [X, W], [seed, W]), 1e-7)


@pytest.mark.parametrize(("outer", "inner"), some(PAIRS, every=2))
def test_programs_and_replays_use_the_values_of_each_call(outer, inner):
    f, by_hand = nested(outer, inner, "closed over"), nested(outer, inner, "closed over", by_hand=True)
    calls = [(X, W), (X, 2 * W), (2 * X, W), (X, W)]
    compiled, gradient = tape.compile(f), tape.compile(tape.grad(lambda x, w: np.sum(f(x, w)), (0, 1)))
    trace = tape.Trace()
    x, w = trace.param(X), trace.param(W)
    out = f(x, w)
    for call in calls:
        expected = by_hand(*call)
        assert_close(compiled(*call), expected, 1e-7)
        assert_alike(gradient(*call), vjp(by_hand, call, np.ones(2)))
        trace.set(x, call[0])
        trace.set(w, call[1])
        trace.replay()
        assert_close(out.value, expected, 1e-7)
        assert_alike(trace.backward_param_grads(out, np.ones(2)), vjp(by_hand, call, np.ones(2)))


@pytest.mark.parametrize("kind", ["checkpoint", "loop"])
def test_second_derivatives_through_two_levels(kind):
    f, by_hand = nested(kind, kind, "number"), nested(kind, kind, "number", by_hand=True)
    for order in (tape.hessian, lambda g, argnums: tape.grad(lambda *a: np.sum(tape.grad(g, 1)(*a) ** 2), 1)):
        found = order(lambda x, w: np.sum(f(x, w)), 1)(X, W)
        assert_close(found, order(lambda x, w: np.sum(by_hand(x, w)), 1)(X, W), 1e-7)


def test_what_is_given_to_an_inner_segment_is_that_of_the_call():
    """As an argument, not closed over; floats may be read there, as it runs in Python."""
    outer = tape.checkpoint(lambda x, k: tape.checkpoint(lambda x, k: x * float(k))(x, k) * k)
    closing = lambda x, k: tape.checkpoint(lambda x: tape.checkpoint(lambda x, k: x * float(k))(x, k))(x)  # noqa: E731
    for f, power in ((outer, 2), (closing, 1)):
        compiled = tape.compile(f)
        for k in (1.0, 2.0, 3.0, 1.0):
            assert_close(compiled(X, k), X * k**power)
