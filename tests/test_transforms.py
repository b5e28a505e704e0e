"""Derivatives as functions: values, trees, dtypes, and what may be differentiated."""

import functools
import gc
import math
import weakref
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest

import tape
from tape import errors, ops
from tape.transforms import __all__ as TRANSFORMS
from tests.oracles import assert_close, assert_same, difference

jacobian_file = import_module("tape.transforms.jacobian")

RNG = np.random.default_rng(0)
X = RNG.uniform(0.5, 1.5, (2, 3))
V = RNG.normal(size=(2, 3))
A = RNG.normal(size=(3, 3))


def scalar(x: Any) -> Any:
    """A function without symmetries, of any array with rows of three."""
    return np.sum(np.sin(x @ A) * np.exp(0.3 * x)) + np.prod(x) ** 2


def vector(x: Any) -> Any:
    return np.tanh(x @ A)[0] * x[1] + np.log(x).sum()


def wide(x: Any) -> Any:
    return np.exp(x)[..., None] * np.sin(x)[:, None]


def difference_jacobian(f: Any, x: Any) -> Any:
    """The Jacobian of ``f`` at ``x``, ``(f.size, x.size)``, one difference a column."""
    columns = [np.ravel(difference(f, [x], [unit.reshape(x.shape)])) for unit in np.eye(x.size)]
    return np.stack(columns, axis=1)


# ---- values --------------------------------------------------------------------------------------


def exact_hessian(f, x):
    return difference_jacobian(tape.grad(f), x).reshape(x.shape + x.shape)


def test_grad_and_value_and_grad_equal_differences():
    expected = difference_jacobian(scalar, X).reshape(X.shape)
    assert_close(tape.grad(scalar)(X), expected)
    value, gradient = tape.value_and_grad(scalar)(X)
    assert value == scalar(X)
    assert_close(gradient, expected)


def test_elementwise_grad_is_the_derivative_of_each_element():
    assert_close(tape.elementwise_grad(np.tanh)(X), 1 - np.tanh(X) ** 2, 1e-15)
    second = tape.elementwise_grad(tape.elementwise_grad(np.tanh))(X)
    assert_close(second, -2 * np.tanh(X) * (1 - np.tanh(X) ** 2), 1e-15)
    assert_close(tape.elementwise_grad(vector)(X), difference_jacobian(vector, X).sum(0).reshape(X.shape))
    assert_close(tape.elementwise_grad(lambda x: {"a": x**2, "b": 3 * x})(X), 2 * X + 3, 1e-15)


def test_products_equal_the_jacobian_by_differences():
    jacobian = difference_jacobian(vector, X)
    out, pullback = tape.vjp(vector, X)
    w = np.array([1.0, -2.0, 0.5])
    assert_same(out, vector(X))
    assert_close(pullback(w)[0], (w @ jacobian).reshape(X.shape))
    assert_close(pullback(2 * w)[0], 2 * pullback(w)[0], 1e-14)
    out, tangent = tape.jvp(vector, (X,), (V,))
    assert_same(out, vector(X))
    assert_close(tangent, jacobian @ V.ravel())
    assert_close(tangent, difference(vector, [X], [V]))
    out, linear_map = tape.linearize(vector, X)
    assert_same(out, vector(X))
    assert_same(linear_map(V), tangent)
    assert_close(linear_map(3 * V), 3 * tangent, 1e-14)
    assert_same(tape.directional_derivative(vector)(X, V), tangent)
    assert_same(tape.rop(vector, X, V), tangent)
    assert_close(tape.rop(vector, X, V, method="double_lop"), tangent, 1e-14)


@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
@pytest.mark.parametrize("f", [scalar, vector, wide])
def test_the_jacobian_equals_differences_in_both_modes(f, mode):
    expected = difference_jacobian(f, X).reshape(np.shape(f(X)) + X.shape)
    assert_close(tape.jacobian(f, mode=mode)(X), expected)


def test_hessian_and_its_products_equal_differences():
    hessian = tape.hessian(scalar)(X)
    assert_close(hessian, exact_hessian(scalar, X))
    assert_close(tape.hvp(scalar)(X, V), np.tensordot(hessian, V), 1e-13)
    assert_close(tape.laplacian(scalar)(X), np.trace(hessian.reshape(6, 6)), 1e-13)
    field_jacobian = difference_jacobian(lambda x: np.sin(x @ A) * x, X)
    assert_close(tape.divergence(lambda x: np.sin(x @ A) * x)(X), np.trace(field_jacobian))


def test_the_gauss_newton_product_equals_its_definition():
    jacobian = difference_jacobian(vector, X)
    assert_close(tape.gnvp(vector)(X, V), (jacobian.T @ jacobian @ V.ravel()).reshape(X.shape))

    def loss(y):
        return ops.logsumexp(y) + np.prod(y)

    middle = exact_hessian(loss, vector(X))
    expected = jacobian.T @ middle @ jacobian @ V.ravel()
    assert_close(tape.gnvp(vector, loss)(X, V), expected.reshape(X.shape))


def test_the_hessian_is_exactly_symmetric():
    hessian = tape.hessian(scalar)(X).reshape(6, 6)
    np.testing.assert_array_equal(hessian, hessian.T)
    tree = {"a": X[0], "b": (X[1], np.array(0.3))}
    blocks = tape.hessian(lambda p: scalar(np.stack([p["a"], p["b"][0]])) * np.exp(p["b"][1] * p["a"][0]))(
        tree
    )
    rows = [blocks["a"], *blocks["b"]]
    grid = [[row["a"], *row["b"]] for row in rows]
    for i, j in product(range(3), repeat=2):
        ndim = [1, 1, 0][i]
        np.testing.assert_array_equal(grid[i][j], np.moveaxis(grid[j][i], range(-ndim, 0), range(ndim)))


@pytest.mark.parametrize("size", [1, 40, 200, 10**6])
def test_the_jacobian_is_the_same_in_pieces(monkeypatch, size):
    whole = [tape.jacobian(wide, mode=mode)(X) for mode in ("fwd", "rev")]
    hessian, laplacian = tape.hessian(scalar)(X), tape.laplacian(scalar)(X)

    def two(x, y):
        return (x[0] * y, {"z": x[:, None] * y})

    tree = tape.jacobian(two, argnums=(0, 1))(X[0], X[1])
    monkeypatch.setattr(jacobian_file, "_BATCH_ELEMENTS", size)
    for mode, expected in zip(("fwd", "rev"), whole, strict=True):
        assert_close(tape.jacobian(wide, mode=mode)(X), expected, 1e-14)
    assert_close(tape.hessian(scalar)(X), hessian, 1e-13)
    assert_close(tape.laplacian(scalar)(X), laplacian, 1e-13)
    for mode in ("fwd", "rev"):
        pieces = tape.jacobian(two, argnums=(0, 1), mode=mode)(X[0], X[1])
        for k in range(2):
            assert_close(pieces[0][k], tree[0][k], 1e-14)
            assert_close(pieces[1]["z"][k], tree[1]["z"][k], 1e-14)


def test_jacobians_of_jacobians_in_any_modes():
    expected = exact_hessian(scalar, X)
    for outer, inner in product(("fwd", "rev"), repeat=2):
        assert_close(tape.jacobian(tape.jacobian(scalar, mode=inner), mode=outer)(X), expected)
    third = np.zeros((3, 3, 3))
    third[range(3), range(3), range(3)] = 24 * X[0]

    def fourth(x):
        return np.sum(x**4)

    for modes in product(("fwd", "rev"), repeat=3):
        assert_close(
            functools.reduce(lambda f, mode: tape.jacobian(f, mode=mode), modes, fourth)(X[0]), third
        )


# ---- dtypes, shapes, memory ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_are_kept(dtype):
    x, y = X.astype(dtype), np.full(3, 0.5, dtype)

    def f(x, y):
        return np.sum(np.tanh(x * y)) * 2

    def g(x, y):
        return np.exp(x @ y) * 0.5

    results = [
        tape.grad(f, (0, 1))(x, y),
        tape.value_and_grad(f)(x, y),
        tape.elementwise_grad(g)(x, y),
        tape.vjp(g, x, y)[1](np.ones(2)),
        tape.jvp(g, (x, y), (np.ones((2, 3)), np.ones(3))),
        tape.linearize(g, x, y)[1](x, y),
        *(tape.jacobian(g, (0, 1), mode=mode)(x, y) for mode in ("fwd", "rev")),
        *tape.hessian(f, (0, 1))(x, y),
        tape.hvp(f)(x, y, x),
        tape.laplacian(lambda x: f(x, y))(x),
        tape.divergence(lambda x: x * y)(x),
        tape.gnvp(lambda x: g(x, y))(x, x),
        tape.gnvp(lambda x: g(x, y), np.sum)(x, x),
        tape.rop(lambda x: g(x, y), x, x, method="double_lop"),
    ]
    for result in results:
        for leaf in result if isinstance(result, tuple) else [result]:
            assert leaf.dtype == dtype


def test_dtypes_may_differ_between_arguments():
    x, y = np.ones(2, np.float32), np.full(2, 3.0)

    def f(x, y):
        return x * y

    for mode in ("fwd", "rev"):
        blocks = tape.jacobian(f, (0, 1), mode=mode)(x, y)
        assert [block.tolist() for block in blocks] == [[[3, 0], [0, 3]], [[1, 0], [0, 1]]]
    gx, gy = tape.vjp(f, x, y)[1](np.ones(2))
    assert (gx.dtype, gy.dtype) == (np.float32, np.float64)
    assert tape.jvp(f, (x, y), (y, x))[1].dtype == np.float64


@pytest.mark.parametrize("x", [2.0, np.float32(2), np.float64(2), np.array(2.0), np.array(2, np.float32)])
def test_scalars_have_scalar_derivatives(x):
    def f(x):
        return x * x * x

    for derivative, expected in (
        (tape.grad(f)(x), 12),
        (tape.elementwise_grad(f)(x), 12),
        (tape.vjp(f, x)[1](1.0)[0], 12),
        (tape.jvp(f, (x,), (1.0,))[1], 12),
        (tape.jacobian(f)(x), 12),
        (tape.hessian(f)(x), 12),
        (tape.hvp(f)(x, 1.0), 12),
        (tape.laplacian(f)(x), 12),
        (tape.divergence(f)(x), 12),
        (tape.gnvp(f)(x, 1.0), 144),
    ):
        assert_same(derivative, np.asarray(expected, np.asarray(x).dtype))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_empty_arrays_have_empty_derivatives(shape):
    x = np.zeros(shape)

    def f(x):
        return np.sum(np.exp(x) * x)

    assert_same(tape.grad(f)(x), x)
    for mode in ("fwd", "rev", "auto"):
        assert_same(tape.jacobian(np.exp, mode=mode)(x), np.zeros(shape + shape))
        assert_same(tape.jacobian(f, mode=mode)(x), x)
        assert_same(tape.jacobian(lambda y: y[0] * x, mode=mode)(np.ones(2)), np.zeros((*shape, 2)))
    assert_same(tape.hessian(f)(x), np.zeros(shape + shape))
    assert tape.laplacian(f)(x) == 0
    assert tape.divergence(np.exp)(x) == 0
    assert_same(tape.gnvp(np.exp)(x, x), x)
    assert_same(tape.jvp(f, (x,), (x,))[1], np.float64(0))


def test_nothing_given_is_written_to_or_given_back():
    x, v = np.array([1.0, 2.0]), np.array([3.0, 4.0])

    def same(x):
        return x

    def views(x):
        return (x, x.T, x.reshape(2, 1), x[:])

    results = [
        *tape.vjp(same, x)[1](v),
        *tape.vjp(views, x)[1]((v, v, v.reshape(2, 1), v)),
        tape.jvp(same, (x,), (v,))[1],
        *tape.jvp(views, (x,), (v,))[1],
        tape.linearize(same, x)[1](v),
        tape.gnvp(same)(x, v),
        tape.rop(same, x, v),
        tape.rop(same, x, v, method="double_lop"),
        tape.hvp(lambda x: 0.5 * (x @ x))(x, v),
    ]
    assert not [k for k, result in enumerate(results) if np.shares_memory(result, v)]
    np.testing.assert_array_equal([x, v], [[1, 2], [3, 4]])
    x.flags.writeable = v.flags.writeable = False
    np.testing.assert_array_equal(tape.hvp(lambda x: np.sum(x**3))(x, v), 6 * x * v)


# ---- callables ------------------------------------------------------------------------------------


def test_recursive_functions():
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    assert tape.grad(power)(2.0, 5) == 80

    def newton(x, n):
        return x if n == 0 else newton(x - (x * x - 2) / tape.grad(lambda y: y * y)(x), n - 1)

    def step(x):
        return x - (x * x - 2) / (2 * x)

    assert_close(tape.grad(newton)(1.9, 3), difference(lambda x: step(step(step(x))), [np.array(1.9)], [1.0]))

    def nth(n):
        return np.exp if n == 0 else tape.grad(nth(n - 1))

    assert nth(6)(1.0) == pytest.approx(math.e, rel=1e-15)


class Model:
    scale = 3.0

    def __call__(self, x):
        return self.scale * x**2

    def method(self, x):
        return self.scale * x**2

    @functools.partial(tape.grad, argnums=1)
    def slope(self, x):
        return self.scale * x**2


def test_any_callable_will_do():
    callables = [Model(), Model().method, functools.partial(Model.method, Model()), lambda x: 3 * x**2]
    for f in callables:
        assert tape.grad(f)(2.0) == 12
        assert tape.hessian(f)(2.0) == 6
        assert tape.hvp(f)(2.0, 1.0) == 6
        assert tape.gnvp(f)(2.0, 1.0) == 144
        assert "grad(" in tape.grad(f).__name__
    assert Model().slope(2.0) == 12
    assert tape.grad(Model.method, argnums=1)(Model(), 2.0) == 12
    assert tape.grad(np.sin)(0.0) == 1
    assert tape.grad(np.sin).__name__ == "grad(sin)"


def test_a_long_partial_has_a_short_name():
    f = functools.partial(lambda a, x: x * a, list(range(10_000)))
    with pytest.raises(errors.ShapeError) as caught:
        tape.grad(f)(np.ones(10_000))
    assert len(str(caught.value)) < 500


def test_all_transforms_are_public():
    assert not [name for name in TRANSFORMS if not hasattr(tape, name)]


def test_blocks_of_jacobians_and_hessians_share_memory_with_nothing():
    x = np.array([1.0, 2.0])
    jacobians = tape.jacobian(lambda x: {"a": x, "b": x})(x)
    hessians = tape.hessian(lambda p: np.sum(p["a"] ** 2 * p["b"]))({"a": x, "b": x})
    pairs = [
        (jacobians["a"], jacobians["b"]),
        (hessians["a"]["b"], hessians["b"]["a"]),
        (tape.jacobian(np.sum, mode="rev")(x), x),
    ]
    for one, other in pairs:
        assert not np.shares_memory(one, other)
        assert one.flags.writeable
        assert other.flags.writeable


@pytest.mark.parametrize(("inputs", "outputs", "mode"), [(2, 5, "jvp"), (5, 2, "vjp"), (3, 3, "jvp")])
def test_jacobians_are_taken_in_the_mode_that_takes_fewer_sweeps(inputs, outputs, mode):
    a, seen = np.ones((outputs, inputs)), set()
    product = tape.Op(
        lambda x: a @ x,
        name="product",
        vjp=[lambda g, out, x: seen.add("vjp") or g @ a],
        jvp=[lambda t, out, x: seen.add("jvp") or a @ t],
    )
    np.testing.assert_array_equal(tape.jacobian(product)(np.ones(inputs)), a)
    assert seen == {mode}


def test_a_linear_map_keeps_nothing_that_it_does_not_multiply_with():
    kept, x = [], np.linspace(0, 1, 100)

    def f(x):
        y = x + 1.0
        z = np.sin(y)
        kept.extend(weakref.ref(each.node.value) for each in (y, z))
        return 2.0 * (z + 3.0)

    _, linear_map = tape.linearize(f, x)
    gc.collect()
    assert [ref() is None for ref in kept] == [True, True]
    assert_close(linear_map(np.ones(100)), 2 * np.cos(x + 1), 1e-14)
