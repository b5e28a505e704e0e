"""Accumulated gradients: a step by their mean, in place, pure and compiled."""

import pickle
import tracemalloc

import numpy as np
import pytest

import tape
from tape import errors, optim


def batches(count, dtype=np.float64):
    rng = np.random.default_rng(0)
    return [{"w": rng.normal(size=(2, 3)).astype(dtype), "b": rng.normal(size=2)} for _ in range(count)]


def params():
    return {"w": np.ones((2, 3)), "b": np.zeros(2)}


def means(grads, every):
    groups = [grads[k : k + every] for k in range(0, len(grads) - every + 1, every)]
    return [tape.tree.map(lambda *rows: sum(rows) / every, *group) for group in groups]


@pytest.mark.parametrize("every", [1, 3])
def test_one_step_by_the_mean(every):
    grads = batches(8)
    expected, held, pure = params(), params(), params()
    reference = optim.Adam(expected, lr=0.1)
    optimizer = optim.Accumulated(optim.Adam(held, lr=0.1), every)
    rule = optim.accumulated(optim.adam(lr=0.1), every)
    state = rule.init(pure)
    step = tape.compile(lambda grads, state, params: rule.update(grads, state, params))
    for gradient in means(grads, every):
        reference.step(gradient)
    for k, gradient in enumerate(grads, 1):
        assert optimizer.step(gradient) is (k % every == 0)
        state, pure = step(gradient, state, pure)
        state, pure = pickle.loads(pickle.dumps((state, pure)))
        held, optimizer = pickle.loads(pickle.dumps((held, optimizer)))
    for name in expected:
        np.testing.assert_allclose(held[name], expected[name], rtol=1e-12)
        np.testing.assert_allclose(pure[name], expected[name], rtol=1e-12)
    assert len(step.programs) <= 2
    assert state.inner.step == 8 // every
    assert state.count == 8 % every


def test_in_a_loop_of_a_program():
    rule, stacked = optim.accumulated(optim.sgd(lr=0.1), 2), np.arange(6.0).reshape(6, 1)

    def body(carry, gradient):
        state, params = rule.update(gradient, *carry)
        return (state, params), params

    start = np.zeros(1)
    _, path = tape.compile(lambda start: tape.scan(body, (rule.init(start), start), stacked))(start)
    np.testing.assert_allclose(path.ravel(), -0.1 * np.cumsum([0, 0.5, 0, 2.5, 0, 4.5]))


def test_low_precision_is_summed_in_float32():
    grad = np.full(1, 1e-3, np.float16)
    held = np.zeros(1, np.float16)
    optimizer = optim.Accumulated(optim.SGD([held], lr=1.0), 4096)
    rule, pure = optim.accumulated(optim.sgd(lr=1.0), 4096), np.zeros(1, np.float16)
    state = rule.init(pure)
    for _ in range(4096):
        optimizer.step([grad])
        state, pure = rule.update(grad, state, pure)
    np.testing.assert_allclose(held, -grad, rtol=1e-3)
    np.testing.assert_allclose(pure, -grad, rtol=1e-3)


def test_frozen_leaves_have_no_sums():
    rule = optim.accumulated(optim.sgd(lr=1.0, frozen={"w": False, "b": True}), 2)
    held = params()
    optimizer = optim.Accumulated(optim.SGD(held, lr=1.0, frozen={"w": False, "b": True}), 2)
    state, pure = rule.init(held), params()
    assert state.sums["b"] is None
    for _ in range(2):
        gradient = {"w": np.ones((2, 3)), "b": None}
        state, pure = rule.update(gradient, state, pure)
        optimizer.step(gradient)
    np.testing.assert_array_equal(pure["w"], 0)
    np.testing.assert_array_equal(held["w"], 0)
    np.testing.assert_array_equal(held["b"], 0)


def test_a_step_allocates_no_array():
    held = np.ones(50_000)
    optimizer, grads = optim.Accumulated(optim.Adam([held]), 2), [np.ones(50_000)]
    optimizer.step(grads)
    optimizer.step(grads)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(4):
            optimizer.step(grads)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < 8_000


def test_errors():
    optimizer = optim.Accumulated(optim.SGD([np.ones(2)], lr=1.0), 2)
    with pytest.raises(errors.ShapeError, match=r"grads\[0\] has shape \[1\]"):
        optimizer.step([np.ones(1)])
    assert optimizer.step([np.ones(2)]) is False  # the refused one did not count
    rule = optim.accumulated(optim.sgd(lr=1.0), 2)
    with pytest.raises(errors.ShapeError, match=r"grads\[0\] has shape \[1\]"):
        rule.update([np.ones(1)], rule.init([np.ones(2)]), [np.ones(2)])
    for make, match in [
        (lambda: optim.accumulated(optim.sgd(lr=1.0), 0), "every is 0"),
        (
            lambda: optim.accumulated(optim.SGD([np.ones(1)], lr=1.0), 2),
            "place there is tape.optim.Accumulated",
        ),
        (lambda: optim.Accumulated(optim.sgd(lr=1.0), 2), r"Pass one such as tape.optim.Adam\(params\)"),
        (
            lambda: rule.update([np.ones(1)], rule.rule.init([np.ones(1)]), [np.ones(1)]),
            "not one of accumulated",
        ),
    ]:
        with pytest.raises(errors.OptionError, match=match):
            make()
    assert "every=2" in repr(optimizer)
