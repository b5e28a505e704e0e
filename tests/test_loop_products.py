"""Weights of a loop whose gradient is a sum of products: one product after the loop, not a sum within it."""

import re

import numpy as np
import pytest

import tape
from tests.oracles import assert_close
from tests.tiers import grid

WIDTH, OUT = 5, 7


def arrays(rows, length, dtype=np.float64):
    rng = np.random.default_rng(rows + length)
    w, u = rng.normal(size=(WIDTH, WIDTH)), rng.normal(size=(OUT, WIDTH))
    return [a.astype(dtype) for a in (w, u, rng.normal(size=(length, rows, WIDTH)))]


def loss_of(reverse=False, checkpoint=None):
    """Of both layouts of weights, one of them used twice, and of all hidden states."""

    def loss(w, u, xs):
        def step(h, x):
            out = np.tanh(h @ w + x) + 0.1 * (x @ w)
            return out, np.sin(out @ u.T)

        h, ys = tape.scan(step, xs[0] * 0 + 0.5, xs, reverse=reverse, checkpoint=checkpoint)
        return np.mean(ys**2) + np.sum(h * h)

    return loss


def matrices_in_loops(compiled):
    """Which instructions of loops have results of the shape of a weight."""
    (program,) = compiled.programs.values()
    weights = rf"\[({WIDTH}, {WIDTH}|{WIDTH}, {OUT}|{OUT}, {WIDTH})\]"
    lines = [line for line in str(program).splitlines() if re.match(r"  .*" + weights, line)]
    return [line for line in lines if "view of" not in line]


@grid(
    rows=[1, 3, 64, 65], length=[1, 2, 3, 9], reverse=[False, True], checkpoint=[None, "sqrt"],
    dtype=[np.float64, np.float32],
)  # fmt: skip
def test_gradients_are_those_of_the_python_loop(rows, length, reverse, checkpoint, dtype):
    given = arrays(rows, length, dtype)
    gradient = tape.grad(loss_of(reverse, checkpoint), (0, 1, 2))
    compiled = tape.compile(gradient)
    for _ in range(2):
        found = compiled(*given)
    for a, b in zip(found, gradient(*given), strict=True):
        assert a.dtype == b.dtype == dtype
        assert_close(a, b, 1e-10 if dtype == np.float64 else 1e-3)


@pytest.mark.parametrize(("rows", "is_collected"), [(3, True), (64, True), (65, False)])
def test_no_step_adds_to_a_sum_of_the_size_of_a_weight(rows, is_collected):
    compiled = tape.compile(tape.grad(loss_of(), (0, 1)))
    compiled(*arrays(rows, 9))
    assert (not matrices_in_loops(compiled)) is is_collected


def test_loops_that_save_memory_or_end_by_data_add_in_each_step():
    given = arrays(3, 9)
    saving = tape.compile(tape.grad(loss_of(checkpoint="sqrt"), (0, 1)))
    saving(*given)
    w, _, xs = given

    def until(w):
        carry = tape.while_loop(
            lambda c: np.sum(c[0] ** 2) > 1e-2,
            lambda c: (0.5 * np.tanh(c[0] @ w) * 0.9, c[1] + 1),
            (xs[0], 0),
        )
        return np.sum(carry[0] ** 2)

    w = w / np.linalg.norm(w)
    assert_close(tape.compile(tape.grad(until))(w), tape.grad(until)(w), 1e-10)


def test_all_orders_modes_and_batches():
    w, u, xs = arrays(2, 4)
    loss = loss_of()
    of_w = lambda w: loss(w, u, xs)  # noqa: E731
    v = np.cos(np.arange(w.size, dtype=float)).reshape(w.shape)
    for f in (
        lambda w: tape.hvp(of_w)(w, v),
        lambda w: tape.grad(lambda w: np.sum(tape.grad(of_w)(w) * v))(w),
        lambda w: tape.jvp(tape.grad(of_w), (w,), (v,))[1],
        lambda w: tape.vmap(tape.grad(of_w))(np.stack([w, 2 * w, v])),
        lambda w: tape.grad(lambda w: np.sum(tape.vmap(lambda x: loss(w, u, x), in_axes=1)(xs[:, None])))(w),
    ):
        assert_close(tape.compile(f)(w), f(w), 1e-9)
    curvature = tape.compile(lambda w: tape.hvp(of_w)(w, v))(w)
    assert_close(curvature, np.tensordot(tape.hessian(of_w)(w), v, 2), 1e-9)


def test_a_loop_without_steps_has_no_gradient():
    w = arrays(3, 1)[0]

    def loss(w):
        h, _ = tape.scan(lambda h, x: (h @ w + x, None), np.ones((3, WIDTH)), np.zeros((0, 3, WIDTH)))
        return np.sum(h) + 0 * np.sum(w)

    assert_close(tape.compile(tape.grad(loss))(w), np.zeros_like(w))


def test_an_lstm_has_the_gradient_of_its_cells():
    layer = tape.nn.LSTM(3, 4, rng=np.random.default_rng(0), dtype=np.float64)
    x = np.random.default_rng(1).normal(size=(6, 2, 3))
    gradient = tape.grad(lambda layer: np.sum(np.sin(layer(x)[0])))
    found, expected = tape.compile(gradient)(layer), gradient(layer)
    for a, b in zip(tape.tree.leaves(found), tape.tree.leaves(expected), strict=True):
        assert_close(a, b, 1e-10)
