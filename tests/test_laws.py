"""Laws that hold for all derivatives, checked on random compositions of random operations."""

from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import ops
from tests.oracles import assert_close, difference
from tests.tiers import rounds

quick = settings(max_examples=rounds(40))
M = np.random.default_rng(7).normal(size=(4, 4)) / 2


# ---- random functions ------------------------------------------------------------------------------

# From four numbers in (-1, 1) to four such numbers; smooth, so that differences are exact.
STEPS = {
    "tanh": np.tanh,
    "sin": np.sin,
    "matmul": lambda x: np.tanh(M @ x),
    "vecmat": lambda x: np.sin(x @ M),
    "softmax": lambda x: ops.softmax(2 * x),
    "log_softmax": lambda x: 0.1 * ops.log_softmax(x),
    "normalise": lambda x: x / np.sqrt(1 + np.sum(x * x)),
    "divide": lambda x: x / (2 + x[::-1]),
    "power": lambda x: (2 + x) ** x[[1, 2, 3, 0]] / 4,
    "exp": lambda x: np.exp(x - 1.5),
    "log": lambda x: 0.5 * np.log(2 + x),
    "sigmoid": lambda x: ops.sigmoid(x),
    "softplus": lambda x: ops.softplus(x) / 2,
    "var": lambda x: x * np.var(x) + np.std(x + np.arange(4.0)) / 4,
    "prod": lambda x: x * np.prod(1 + x / 4) / 4,
    "mean": lambda x: x - np.mean(x),
    "logsumexp": lambda x: x - ops.logsumexp(x) / 4,
    "stack": lambda x: np.stack([x[0] * x[1], x[2], np.cos(x[3]), x[1]]),
    "concatenate": lambda x: np.concatenate([x[2:], x[:2] * x[1:3]]),
    "split": lambda x: np.concatenate(np.split(x, 2)[::-1]),
    "reshape": lambda x: np.tanh((np.reshape(x, (2, 2)) @ np.reshape(x, (2, 2)).T).ravel()),
    "broadcast": lambda x: np.mean(x[:, None] * np.cos(x), axis=0),
    "transpose": lambda x: np.sum(np.transpose(x[:, None] * np.sin(x)), axis=1) / 4,
    "gather": lambda x: x[np.array([0, 0, 3, 1])] * x,
    "mask": lambda x: np.where(np.arange(4) % 2 == 0, x * x, np.sin(x)),
    "grad": lambda x: tape.elementwise_grad(lambda y: np.tanh(y * x))(x),
    "hvp": lambda x: tape.hvp(lambda y: np.sum(np.sin(y) * y[::-1]))(x, np.cos(x)) / 4,
    "jvp": lambda x: tape.jvp(lambda y: np.tanh(M @ (y * x)), (x,), (np.cos(x),))[1] / 4,
    "jacobian": lambda x: np.tanh(tape.jacobian(lambda y: np.sin(M @ (y * x)))(x) @ x) / 2,
}


@dataclass
class Composed:
    """One step after the other."""

    names: list[str]

    def __call__(self, x: Any) -> Any:
        return reduce(lambda value, name: STEPS[name](value), self.names, x)


MAPS = st.lists(st.sampled_from(list(STEPS)), min_size=1, max_size=4).map(Composed)
PLAIN = [name for name in STEPS if name not in ("grad", "hvp", "jvp", "jacobian")]
PLAIN_MAPS = st.lists(st.sampled_from(PLAIN), min_size=1, max_size=3).map(Composed)
SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.9, 0.9, (count, 4))


def jvp(f, x, v):
    return tape.jvp(f, (x,), (v,))[1]


def vjp(f, x, w):
    return tape.vjp(f, x)[1](w)[0]


# ---- first order -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STEPS)
def test_each_step_equals_its_difference(name):
    x, v, _ = drawn(3, 3)
    assert np.max(np.abs(STEPS[name](x))) < 1.5
    assert_close(jvp(STEPS[name], x, v), difference(STEPS[name], [x], [v]))


@quick
@given(MAPS, SEEDS)
def test_forwards_and_backwards_are_transposes(f, seed):
    x, v, w = drawn(seed, 3)
    assert_close(w @ jvp(f, x, v), vjp(f, x, w) @ v, 1e-12)


@quick
@given(MAPS, SEEDS, st.floats(-3, 3))
def test_products_are_linear(f, seed, factor):
    x, a, b = drawn(seed, 3)
    for multiply in (jvp, vjp):
        both = multiply(f, x, a + factor * b)
        assert_close(both, multiply(f, x, a) + factor * multiply(f, x, b), 1e-12)
        np.testing.assert_array_equal(multiply(f, x, 0 * a), 0)


@quick
@given(MAPS, MAPS, SEEDS)
def test_the_chain_rule(f, g, seed):
    x, v, w = drawn(seed, 3)
    y = f(x)
    assert_close(jvp(lambda x: g(f(x)), x, v), jvp(g, y, jvp(f, x, v)), 1e-12)
    assert_close(vjp(lambda x: g(f(x)), x, w), vjp(f, x, vjp(g, y, w)), 1e-12)
    composed = tape.jacobian(lambda x: g(f(x)))(x)
    assert_close(composed, tape.jacobian(g)(y) @ tape.jacobian(f)(x), 1e-12)


@quick
@given(MAPS, MAPS, SEEDS)
def test_sums_and_products_of_functions(f, g, seed):
    x, v = drawn(seed, 2)
    assert_close(jvp(lambda x: f(x) + g(x), x, v), jvp(f, x, v) + jvp(g, x, v), 1e-12)
    assert_close(jvp(lambda x: f(x) * g(x), x, v), jvp(f, x, v) * g(x) + f(x) * jvp(g, x, v), 1e-12)
    product_rule = tape.grad(lambda x: f(x) @ g(x))(x)
    assert_close(product_rule, vjp(f, x, g(x)) + vjp(g, x, f(x)), 1e-12)


@quick
@given(MAPS, SEEDS)
def test_all_ways_to_the_jacobian_agree(f, seed):
    x, v, w = drawn(seed, 3)
    forwards, backwards = (tape.jacobian(f, mode=mode)(x) for mode in ("fwd", "rev"))
    assert_close(forwards, backwards, 1e-12)
    assert_close(forwards @ v, jvp(f, x, v), 1e-12)
    assert_close(w @ forwards, vjp(f, x, w), 1e-12)
    assert_close(tape.divergence(f)(x), np.trace(forwards), 1e-12)
    assert_close(tape.elementwise_grad(f)(x), forwards.sum(0), 1e-12)
    assert_close(tape.rop(f, x, v, method="double_lop"), forwards @ v, 1e-12)
    assert_close(tape.gnvp(f)(x, v), forwards.T @ forwards @ v, 1e-12)
    assert_close(tape.linearize(f, x)[1](v), forwards @ v, 1e-12)


@quick
@given(MAPS, SEEDS)
def test_first_derivatives_equal_differences(f, seed):
    x, v = drawn(seed, 2)
    # Compositions are less smooth than steps, and differences lose digits on them, derivatives do not.
    assert_close(jvp(f, x, v / 4), difference(f, [x], [v / 4]), 1e-7)


@quick
@given(MAPS, SEEDS)
def test_float32_gives_what_float64_gives_to_its_precision(f, seed):
    x, v = drawn(seed, 2)
    small = jvp(f, x.astype(np.float32), v.astype(np.float32))
    assert_close(small, jvp(f, x, v), 1e-4)
    back = vjp(f, x.astype(np.float32), v.astype(np.float32))
    assert back.dtype == np.float32
    assert_close(back, vjp(f, x, v), 1e-4)


# ---- higher orders -----------------------------------------------------------------------------------


def scalar_of(f):
    weights = np.array([1.0, -2.0, 0.5, 1.5])
    return lambda x: np.sum(weights * f(x))


def along_forwards(f, v):
    return lambda x: jvp(f, x, v)


def along_backwards(f, v):
    """The derivative along v by a reverse sweep, of a scalar function."""
    return lambda x: np.sum(tape.grad(f)(x) * v)


@quick
@given(MAPS, SEEDS)
def test_second_derivatives_agree_in_all_mixtures_of_modes(f, seed):
    x, u, v = drawn(seed, 3)
    s = scalar_of(f)
    hessian = tape.hessian(s)(x)
    np.testing.assert_array_equal(hessian, hessian.T)
    for inner, outer in product((along_forwards, along_backwards), repeat=2):
        assert_close(outer(inner(s, u), v)(x), u @ hessian @ v, 1e-11)
        assert_close(outer(inner(s, v), u)(x), u @ hessian @ v, 1e-11)
    assert_close(tape.hvp(s)(x, v), hessian @ v, 1e-11)
    assert_close(jvp(tape.grad(s), x, v), hessian @ v, 1e-11)
    assert_close(tape.grad(lambda x: tape.grad(s)(x) @ v)(x), hessian @ v, 1e-11)
    assert_close(tape.laplacian(s)(x), np.trace(hessian), 1e-11)


@settings(quick, max_examples=20)
@given(PLAIN_MAPS, SEEDS)
def test_third_derivatives_are_symmetric_in_all_mixtures_of_modes(f, seed):
    x, *directions = drawn(seed, 4)
    s = scalar_of(f)
    modes = (along_forwards, along_backwards)
    expected = along_forwards(along_forwards(along_forwards(s, directions[0]), directions[1]), directions[2])(
        x
    )
    for k, chosen in enumerate(product(modes, repeat=3)):
        order = [(k + i) % 3 for i in range(3)]
        derived = reduce(lambda g, step: step[0](g, directions[step[1]]), zip(chosen, order, strict=True), s)
        assert_close(derived(x), expected, 1e-10)


@quick
@given(PLAIN_MAPS, SEEDS)
def test_linearize_commutes_with_grad(f, seed):
    """The derivative of a gradient is the gradient of a derivative."""
    x, v = drawn(seed, 2)
    s = scalar_of(f)
    _, of_gradient = tape.linearize(tape.grad(s), x)
    assert_close(of_gradient(v), tape.grad(lambda x: tape.linearize(s, x)[1](v))(x), 1e-11)
    assert_close(tape.grad(lambda v: of_gradient(v) @ v)(v), 2 * of_gradient(v), 1e-11)


@quick
@given(PLAIN_MAPS, PLAIN_MAPS, SEEDS)
def test_mixed_partials_of_two_arguments_agree(f, g, seed):
    x, y = drawn(seed, 2)

    def h(x, y):
        return np.sum(np.sin(f(x) * g(y)))

    xy = tape.jacobian(tape.grad(h, 0), 1)(x, y)
    yx = tape.jacobian(tape.grad(h, 1), 0)(x, y)
    assert_close(xy, yx.T, 1e-12)
    blocks = tape.hessian(h, (0, 1))(x, y)
    assert_close(blocks[0][1], xy, 1e-12)
    np.testing.assert_array_equal(blocks[0][1], blocks[1][0].T)


@quick
@given(PLAIN_MAPS, SEEDS)
def test_a_function_of_its_own_derivative(f, seed):
    """Derivatives taken inside of a function, of a closure over its argument, are differentiated as well."""
    x, v, w = drawn(seed, 3)

    def inner(x):
        return vjp(lambda y: f(y) * f(x), x, w) + jvp(lambda y: f(0.5 * (x + y)), x, v)

    jacobians = [tape.jacobian(inner, mode=mode)(x) for mode in ("fwd", "rev")]
    assert_close(jacobians[0], jacobians[1], 1e-11)
    assert_close(jacobians[0] @ v, difference(inner, [x], [v / 4]) * 4, 1e-6)
