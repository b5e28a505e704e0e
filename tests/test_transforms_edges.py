"""Transforms where little is left to differentiate: results that depend on nothing, trees, orders, dtypes."""

from math import factorial

import numpy as np
import pytest

import tape
from tape import errors
from tape.transforms._iterations import newton, repeat
from tests.naive_program import compiled_for

X = np.array([0.3, -1.2, 0.7])
V = np.array([1.0, 0.5, -2.0])
SLOPES = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 3.0]])


# Of a vector, to a tree: leaves that are linear, curved, the argument itself, a part of it, and constants.
def tree_of(x):
    """Leaves whose derivatives are known."""
    return {
        "constant": np.array([1.0, 2.0]), "itself": x, "linear": SLOPES @ x, "number": np.sum(x**3),
        "part": x[1], "fixed": 2.5, "square": [x * x, np.float32(1.5)], "empty": x[:0],
    }  # fmt: skip


COEFFICIENTS = {
    # of powers of t, for x + t v
    "constant": [np.array([1.0, 2.0])],
    "itself": [X, V],
    "linear": [SLOPES @ X, SLOPES @ V],
    "number": [np.sum(X**3), np.sum(3 * X**2 * V), np.sum(3 * X * V**2), np.sum(V**3)],
    "part": [X[1], V[1]],
    "fixed": [2.5],
    "empty": [X[:0]],
}


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
@pytest.mark.parametrize("order", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("derive", ["taylor", "compiled"])
def test_series_of_a_tree_of_results(order, derive):
    f = lambda x, v: tape.taylor(tree_of, x, v, order)  # noqa: E731
    found = (f if derive == "taylor" else compiled_for(f, X, V)[0])(X, V)
    square, constant = found.pop("square")
    assert found.keys() == COEFFICIENTS.keys()
    every = {**COEFFICIENTS, "square": [X * X, 2 * X * V, V * V]}
    for name, part in {**found, "square": square}.items():
        for k in range(order + 1):
            coefficient = every[name][k] * factorial(k) if k < len(every[name]) else 0 * every[name][0]
            np.testing.assert_allclose(part[k], coefficient, rtol=1e-13, atol=1e-13, err_msg=name)
        assert part.shape == (order + 1, *np.shape(every[name][0]))
    assert constant.dtype == np.float32
    np.testing.assert_array_equal(constant, [1.5] + [0.0] * order)


@pytest.mark.parametrize(
    ("dtype", "most"), [(np.float64, 170), (np.float32, 34), (np.complex128, 170), (np.complex64, 34)]
)
def test_the_largest_order_of_a_dtype(dtype, most):
    x = np.ones((), dtype)
    assert tape.taylor(lambda x: x * x, x, x, order=most).shape == (most + 1,)
    for order in (most + 1, most + 5):
        with pytest.raises(errors.OptionError, match=f"taylor: {order}! overflows .* at most {most} "):
            tape.taylor(lambda x: x * x, x, x, order=order)


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
@pytest.mark.parametrize("method", ["forward", "double_lop"])
def test_products_with_the_jacobian_of_a_tree(method):
    found = tape.rop(tree_of, X, V, method)
    expected = {name: parts[1] if len(parts) > 1 else 0 * parts[0] for name, parts in COEFFICIENTS.items()}
    square, constant = found.pop("square")
    for name, part in found.items():
        np.testing.assert_allclose(part, expected[name], rtol=1e-13, err_msg=name)
        assert np.shape(part) == np.shape(expected[name])
    np.testing.assert_allclose(square, 2 * X * V, rtol=1e-14)
    assert constant == 0
    assert constant.dtype == np.float32


LOSSES = {
    "default": (None, np.diag([1.0, 1.0, 1.0, 1.0])),
    "scaled": (
        lambda out: 1.5 * np.sum(out["a"] ** 2) + np.sum(out["b"][0] ** 2), np.diag([3.0, 3.0, 2.0, 2.0])),
    "of one": (lambda out: np.sum(out["a"]) ** 2, np.array([[2.0, 2, 0, 0], [2, 2, 0, 0], [0] * 4, [0] * 4])),
    "linear": (lambda out: np.sum(out["a"]), np.zeros((4, 4))),
    "mixed": (lambda out: out["a"][0] * out["b"][0][1], np.eye(4)[[3, 2, 1, 0]] * [[1], [0], [0], [1]]),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_gauss_newton_products_of_trees(name):
    loss, hessian = LOSSES[name]
    f = lambda x: {"a": SLOPES @ x, "b": [x[:2] ** 2]}  # noqa: E731
    jacobian = np.concatenate([SLOPES, [[2 * X[0], 0, 0], [0, 2 * X[1], 0]]])
    found = tape.gnvp(f, loss)(X, V)
    np.testing.assert_allclose(found, jacobian.T @ hessian @ jacobian @ V, rtol=1e-12, atol=1e-14)


def test_gauss_newton_products_of_complex_results():
    """Half the sum of squared absolute values."""
    slopes = SLOPES + 1j * SLOPES[::-1]
    found = tape.gnvp(lambda x: (slopes @ x, x[:1]))(X, V)
    expected = np.real(np.conj(slopes).T @ slopes) @ V + [V[0], 0, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


# ---- holomorphic functions -------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "is_one"), [(0.0, True), (1e-9, True), (1e-7, False), (1e-3, False)])
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_holomorphic_functions_are_told_from_others_up_to_rounding(share, is_one, shape):
    z = (np.arange(1.0, 1 + np.prod(shape)).reshape(shape) + 0.5j)[()]
    f = lambda z: 2j * z + share * np.conj(z)  # noqa: E731
    if not is_one:
        with pytest.raises(errors.DTypeError, match="is not holomorphic"):
            tape.jacobian(f, holomorphic=True)(z)
        return
    n = np.size(z)
    for mode in ("fwd", "rev", "auto"):
        found = tape.jacobian(f, holomorphic=True, mode=mode)(z)
        np.testing.assert_allclose(np.reshape(found, (n, n)), 2j * np.eye(n), atol=4e-9)


def test_holomorphic_functions_of_single_precision_and_of_nothing():
    z = np.array([1 + 2j, 3j], np.complex64)
    f = lambda z: z * z + np.complex64(1e-5) * np.conj(z)  # noqa: E731
    assert tape.jacobian(f, holomorphic=True)(z).dtype == np.complex64
    with pytest.raises(errors.DTypeError, match="is not holomorphic"):
        tape.jacobian(lambda z: z + np.complex64(1e-2) * np.conj(z), holomorphic=True)(z)
    assert tape.jacobian(lambda z: z * 2, holomorphic=True)(z[:0]).shape == (0, 0)
    with pytest.raises(errors.DTypeError, match="is not holomorphic"):  # in one of several arguments
        tape.jacobian(lambda z, w: z + np.conj(w), argnums=(0, 1), holomorphic=True)(z, z)


# ---- iterations of programs --------------------------------------------------------------------------------


ROOTS = {
    "near": (lambda x: x**3 - 2, [1.0], [2 ** (1 / 3)]),
    "far": (lambda x: np.arctan(x), [3.0], [0.0]),
    "farther": (lambda x: np.arctan(x), [20.0], [0.0]),
    "at it": (lambda x: x**3 - 8, [2.0], [2.0]),
    "at it, and flat": (lambda x: x**2, [0.0], [0.0]),
    "linear": (lambda x: np.array([[2.0, 1.0], [0.0, 4.0]]) @ x - 1.0, [9.0, -9.0], [0.375, 0.25]),
    "of two": (lambda x: np.stack([x[0] * x[1] - 6, x[0] - x[1] + 1]), [1.0, 1.0], [2.0, 3.0]),
    "large": (lambda x: x - 1e4, [1.0], [1e4]),
    "small": (lambda x: 1e-8 * x - 1e-12, [1.0], [1e-4]),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", ROOTS)
def test_roots_that_are_found(name, dtype):
    f, start, expected = ROOTS[name]
    g = lambda x: f(x).astype(dtype)  # noqa: E731
    x = newton(g, np.array(start, dtype))
    assert x.dtype == dtype
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(x, expected, rtol=64 * eps, atol=64 * eps)


@pytest.mark.parametrize(
    ("f", "start"),
    [
        (lambda x: x**2 + 1, 3.0), (lambda x: x**2 - 1, 0.0), (lambda x: np.exp(x), 0.0),
        (lambda x: x * np.nan, 1.0), (lambda x: np.sqrt(x - 2.0), 1.0), (lambda x: x**2 + 1e-9, 1.0),
        (lambda x: x, np.inf),
    ],
)  # fmt: skip
def test_roots_that_are_not_found(f, start):
    with np.errstate(all="ignore"), pytest.raises(ArithmeticError, match="has not converged"):
        newton(f, np.array([start]))


@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_an_iteration_takes_the_steps_that_it_needs(count):
    calls = []

    def halved(x):
        calls.append(1)
        return [x[0] / 2, x[1] * 1]

    x = [np.array([1.0, -0.5]), np.float32(7)]
    found = repeat(halved, x, 2.0**-count, count)  # a step changes elements that are below one by half
    np.testing.assert_array_equal(found[0], x[0] * 2.0**-count)
    assert found[1].dtype == np.float32
    with pytest.raises(ArithmeticError):
        repeat(halved, x, 2.0**-count, count - 1)
    with pytest.raises(ArithmeticError):
        repeat(halved, x, np.nextafter(2.0**-count, 0), count)


@pytest.mark.parametrize(
    ("f", "start", "enough", "steps"),
    [
        (lambda x: x + 1.0, 10.0, 0.05, 10), (lambda x: x * 1.01, 1e6, 0.01, 1),
        (lambda x: -x, 1.0, 1.9, None), (lambda x: -x, 1.0, 2.0, 1), (lambda x: x * np.nan, 1.0, 1.0, None),
        (lambda x: x * 0 + 5, 1.0, 0.1, 2), (lambda x: x * 1e200, 1e200, 2.0, None),
    ],
)  # fmt: skip
def test_changes_are_relative_to_the_largest_element_or_one(f, start, enough, steps):
    given = lambda x: [f(x[0]), x[1]]  # noqa: E731
    x = [np.array([start, 0.0]), np.zeros(0)]
    if steps is None:
        with np.errstate(all="ignore"), pytest.raises(ArithmeticError):
            repeat(given, x, enough, 30)
        return
    expected = x[0]
    for _ in range(steps):
        expected = f(expected)
    np.testing.assert_array_equal(repeat(given, x, enough, steps)[0], expected)
    with pytest.raises(ArithmeticError):
        repeat(given, x, enough, steps - 1)


@pytest.mark.parametrize("name", ["near", "far", "linear", "of two"])
def test_programs_find_roots_themselves(name):
    f, start, expected = ROOTS[name]
    compiled, program = compiled_for(lambda x: tape.root(f, x), np.array(start))
    for shift in (0.0, 0.1, -0.2):
        np.testing.assert_allclose(compiled(np.array(start) + shift), expected, rtol=1e-12, atol=1e-12)
    assert not program.explain().callbacks
    assert len(compiled.programs) == 1


# ---- rules of derivatives in programs ----------------------------------------------------------------------


RULES = {
    # what a rule makes of an adjoint, and whether that is linear
    "scales": (lambda g, out, x: 3 * g, True),
    "multiplies": (lambda g, out, x: g * np.cos(x), True),
    "turns": (lambda g, out, x: g[::-1] * 2, True),
    "sums": (lambda g, out, x: np.sum(g) * np.ones(3), True),
    "of nothing": (lambda g, out, x: 0 * g, True),
    "clips": (lambda g, out, x: np.clip(g, -1, 1), False),
    "absolute": (lambda g, out, x: abs(g), False),
    "relu": (lambda g, out, x: np.maximum(g, 0), False),
    "adds": (lambda g, out, x: g + 1, False),
    "squares": (lambda g, out, x: g * g, False),
    "normalises": (lambda g, out, x: g / np.sqrt(np.sum(g * g)), False),
    "largest": (lambda g, out, x: np.max(g) * np.ones(3), False),
    "sorts": (lambda g, out, x: np.sort(g), False),
    "sign": (lambda g, out, x: np.sign(g), False),
    "odd": (lambda g, out, x: g * abs(g) / np.max(abs(g)), False),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_rules_that_are_not_linear_are_applied_where_python_applies_them(name, dtype):
    rule, is_linear = RULES[name]

    @tape.custom_vjp
    def f(x):
        return np.sin(x)

    f.defvjp(lambda g, out, x: rule(g, out, x).astype(dtype))
    x, w = X.astype(dtype), np.array([3.0, -4.0, 0.5], dtype)
    loss = lambda x: np.sum(w * f(x)) - np.sum((w * w) * f(x)[::-1])  # noqa: E731
    compiled, program = compiled_for(tape.grad(loss), x)
    found, expected = compiled(x), tape.grad(loss)(x)
    assert found.dtype == expected.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == "f4" else 1e-13)
    assert bool(program.explain().callbacks) is not is_linear


@pytest.mark.parametrize("is_linear", [True, False])
def test_rules_of_several_results_that_are_not_linear(is_linear):
    @tape.custom_vjp
    def f(x):
        return {"a": np.sin(x), "b": np.sum(x), "n": 3.0}

    change = (lambda g: 2 * g) if is_linear else (lambda g: np.clip(g, -1, 1))
    f.defvjp(lambda g, out, x: change(g["a"]) + change(g["b"]))

    def loss(x):
        out = f(x)
        return np.sum(5 * out["a"]) + 3 * out["b"]

    compiled, program = compiled_for(tape.grad(loss), X)
    np.testing.assert_allclose(compiled(X), tape.grad(loss)(X), rtol=1e-14)
    assert bool(program.explain().callbacks) is not is_linear
