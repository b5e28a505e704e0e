"""Figures printed by the systems this project is built from, reproduced."""

import numpy as np
import pytest

import tape
from tests.oracles import derivative, vjp


def as_arrays(*values):
    return [np.array(value, dtype=float) for value in values]


def descend(loss, params: list[np.ndarray], rate: float, steps: int):
    """Gradient descent; yields the loss a step started from and the params it led to."""
    for _ in range(steps):
        trace = tape.Trace()
        root = loss(*(trace.param(p) for p in params))
        params = [p - rate * g for p, g in zip(params, trace.backward_param_grads(root), strict=True)]
        yield float(root), params


# ---- rustograd -----------------------------------------------------------------------------------


def test_partials_of_a_sum_times_a_factor():
    trace = tape.Trace()
    a, b, c = (trace.param(value) for value in (123.0, 321.0, 42.0))
    y = (a + b) * c
    assert float(y) == 444 * 42
    assert [float(g) for g in trace.backward_param_grads(y)] == [42, 42, 444]
    assert [float(trace.jvp(y, {leaf: 1.0})) for leaf in (a, b, c)] == [42, 42, 444]


@pytest.mark.parametrize(
    ("order", "terms"), [(1, [(-2, 1)]), (2, [(4, 2), (-2, 0)]), (3, [(-8, 3), (12, 1)])]
)
def test_derivatives_of_a_gaussian_are_exact_to_rounding(order, terms):
    x = np.arange(-50, 50) / 10
    exact, bell = x.astype(np.longdouble), np.exp(-(x.astype(np.longdouble) ** 2))
    expected = sum(factor * exact**power for factor, power in terms) * bell
    size = sum(abs(factor * exact**power) for factor, power in terms) * bell  # before they cancel
    actual = derivative(lambda v: np.exp(-(v**2)), order)(x)
    assert np.max(np.abs(actual - expected) / np.maximum(1, size)) <= 4e-16


def test_curve_fit():
    x = np.arange(80) * 0.1 - 4.0
    truth = 0.75 * np.exp(-((x - 1.2) ** 2) / 0.35)

    def loss(mu, sigma, scale):
        residuals = scale * np.exp(-((x - mu) ** 2) / sigma / sigma) - truth
        return np.sum(residuals**2)

    epochs = list(descend(loss, as_arrays(0, 1, 1), 0.01, 100))
    for (found, params), printed, loss_before in (
        (epochs[0], [0.08282536514288522, 0.9603698321454733, 0.7959264404297721], 12.044986950543212),
        (epochs[-1], [1.1999999630566605, 0.5957563205013943, 0.7452019038775677], 1.57807541308e-4),
    ):
        np.testing.assert_allclose(params, printed, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found, loss_before, rtol=1e-11)  # printed: before the update


def test_peak_separation():
    x = np.arange(80) * 0.1 - 4.0
    truth = 0.75 * np.exp(-((x - 0.8) ** 2) / 0.35) + 0.5 * np.exp(-((x + 0.3) ** 2) / 0.5)

    def loss(mu, sigma, scale):
        peaks = scale[:, None] * np.exp(-(((x - mu[:, None]) / sigma[:, None]) ** 2))
        return np.sum((peaks.sum(axis=0) - truth) ** 2)

    *_, (_, (mu, sigma, scale)) = descend(loss, as_arrays([-1, 1], [1, 1], [1, 1]), 0.01, 500)
    np.testing.assert_allclose(mu, [-0.33595, 0.77987], atol=5e-6)
    np.testing.assert_allclose(sigma, [0.67166, 0.60915], atol=5e-6)
    np.testing.assert_allclose(scale, [0.49179, 0.76597], atol=5e-6)


def test_path_smoothing():
    points = np.array([(0, 0), (0.5, 0), (1, 0), (1.5, 0.5), (2, 1), (2, 1.5), (2, 2)])

    def loss(free):
        path = np.concatenate([points[:1], free, points[-1:]])
        to_obstacle = np.sum((path - np.array([1.0, 1.0])) ** 2, axis=1)
        return np.sum((path[1:] - path[:-1]) ** 2) + 1.25 * np.sum(np.exp(-to_obstacle / 4))

    *_, (found, _) = descend(loss, [points[1:-1]], 0.1, 1000)
    assert found == pytest.approx(8.288466481, abs=5e-10)


# ---- DeZero --------------------------------------------------------------------------------------


def test_square_of_exp_of_square():
    (grad,) = vjp(lambda x: np.square(np.exp(np.square(x))), [np.array(0.5)])
    assert float(grad) == pytest.approx(3.297442541400256, rel=1e-15)


def test_goldstein_price():
    def f(x, y):
        return (
            1 + (x + y + 1) ** 2 * (19 - 14 * x + 3 * x**2 - 14 * y + 6 * x * y + 3 * y**2)
        ) * (
            30 + (2 * x - 3 * y) ** 2 * (18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2)
        )  # fmt: skip

    at = as_arrays(1, 1)
    assert f(*at) == 1876
    assert [float(g) for g in vjp(f, at)] == [-5376, 8064]


def test_rosenbrock():
    *_, (_, found) = descend(lambda x, y: 100 * (y - x**2) ** 2 + (x - 1) ** 2, as_arrays(0, 2), 0.001, 1000)
    np.testing.assert_allclose(found, [0.6837118569, 0.4659526837], rtol=0, atol=5e-11)


def test_newton_by_nested_traces():
    def f(x):
        return x**4 - 2 * x**2

    first, second = derivative(f, 1), derivative(f, 2)
    x = np.array(2.0)
    found = []
    for _ in range(7):
        x = np.asarray(x - first(x) / second(x))
        found.append(float(x))
    printed = [1.4545, 1.1510, 1.0253, 1.00091, 1.0000012, 1.0000000000023, 1]
    digits = [5e-5, 5e-5, 5e-5, 5e-6, 5e-8, 5e-14, 0]
    for value, expected, tolerance in zip(found, printed, digits, strict=True):
        assert value == pytest.approx(expected, rel=0, abs=tolerance)


# ---- Rop: a Jacobian times a vector by two Lops --------------------------------------------------


@pytest.mark.parametrize(
    ("f", "size"),
    [
        (lambda x: np.sin(np.sin(np.sin(x))), 3),
        (lambda x: np.tanh(x @ np.linspace(-1, 1, 15).reshape(5, 3)), 5),
    ],
)
def test_two_lops_make_a_rop(f, size):
    rng = np.random.default_rng(0)
    x, v = rng.normal(size=(2, size))
    trace = tape.Trace()
    leaf = trace.param(x)
    y = f(leaf)
    direct = trace.jvp(y, {leaf: v})
    outer = tape.Trace()
    w = outer.param(np.zeros(y.shape))  # the dummy: the result does not depend on its value
    (pulled,) = trace.backward_param_grads(y, seed=w)
    (twice,) = outer.backward_param_grads(pulled, seed=v)
    np.testing.assert_allclose(twice, direct, rtol=1e-14)


# ---- the same by transforms ----------------------------------------------------------------------


def goldstein_price(x, y):
    return (
        1 + (x + y + 1) ** 2 * (19 - 14 * x + 3 * x**2 - 14 * y + 6 * x * y + 3 * y**2)
    ) * (
        30 + (2 * x - 3 * y) ** 2 * (18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2)
    )  # fmt: skip


def test_goldstein_price_by_grad_and_taylor():
    value, gradient = tape.value_and_grad(goldstein_price, (0, 1))(1.0, 1.0)
    assert value == 1876
    assert gradient == (-5376, 8064)
    along = tape.taylor(lambda p: goldstein_price(*p), [1.0, 1.0], [0.0, 1.0], order=1)
    assert list(along) == [1876, 8064]


def bell(x):
    return np.exp(-(x**2))


def elementwise_derivative(f, order):
    return elementwise_derivative(tape.elementwise_grad(f), order - 1) if order else f


@pytest.mark.parametrize(
    "derive",
    [
        lambda x, order: elementwise_derivative(bell, order)(x),
        lambda x, order: tape.taylor(bell, x, np.ones_like(x), order)[order],
    ],
    ids=["elementwise_grad", "taylor"],
)
@pytest.mark.parametrize(
    ("order", "terms"), [(1, [(-2, 1)]), (2, [(4, 2), (-2, 0)]), (3, [(-8, 3), (12, 1)])]
)
def test_derivatives_of_a_gaussian_by_transforms_are_exact_to_rounding(order, terms, derive):
    x = np.arange(-50, 50) / 10
    exact, curve = x.astype(np.longdouble), bell(x.astype(np.longdouble))
    expected = sum(factor * exact**power for factor, power in terms) * curve
    size = sum(abs(factor * exact**power) for factor, power in terms) * curve  # before they cancel
    assert np.max(np.abs(derive(x, order) - expected) / np.maximum(1, size)) <= 4e-16


@pytest.mark.parametrize(("order", "printed"), [(4, 0.6650910448), (8, -277.062135603)])
def test_high_derivatives_of_tanh(order, printed):
    """4 and 8 sweeps there, with 2,571 nodes; one sweep here."""
    assert tape.taylor(np.tanh, 1.0, 1.0, order)[order] == pytest.approx(printed, rel=1e-10)
