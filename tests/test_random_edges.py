"""Derivatives of samples of several axes, of small shapes beside large ones, and relaxations of choices."""

import numpy as np
import pytest

import tape
from tape.random._scores import beta_slopes, gamma_slopes


@pytest.mark.parametrize("size", [None, 2, (2, 3), (2, 1, 3)])
def test_samples_of_shares_have_one_derivative_in_both_modes(size):
    """Along the last axis of however many."""
    alpha, moved = np.array([0.3, 2.0, 5.0, 1.0]), np.array([0.5, -1.0, 0.25, 2.0])

    def draw(alpha):
        return tape.random.default_rng(3).dirichlet(alpha, size)

    out, pushed = tape.jvp(draw, (alpha,), (moved,))
    seed = np.cos(np.arange(out.size)).reshape(out.shape)
    (pulled,) = tape.vjp(draw, alpha)[1](seed)
    np.testing.assert_allclose(np.sum(pulled * moved), np.sum(seed * pushed), rtol=1e-10)
    np.testing.assert_allclose(np.sum(pushed, axis=-1), 0, atol=1e-12)  # their sum stays 1
    np.testing.assert_array_equal(out, np.random.default_rng(3).dirichlet(alpha, size))


def test_slopes_of_many_samples_are_those_of_each():
    """Whatever branch each of them takes: small shapes beside large ones, low samples beside high ones."""
    a = np.array([1e-3, 0.3, 0.9, 1.0, 4.0, 50.0, 300.0])
    x = np.array([1e-8, 0.1, 0.5, 1.0, 2.0, 10.0, 60.0, 400.0])
    a, x = (grid.ravel() for grid in np.meshgrid(a, x))
    together = gamma_slopes(a, x)
    alone = [gamma_slopes(a[k : k + 1], x[k : k + 1]) for k in range(len(a))]
    for part, each in zip(together, zip(*alone, strict=True), strict=True):
        np.testing.assert_allclose(part, np.concatenate(each), rtol=1e-12)
    shapes, logits = np.array([0.02, 0.5, 3.0, 40.0]), np.array([-20.0, -2.0, 0.0, 1.0, 15.0])
    a, b, logit = (grid.ravel() for grid in np.meshgrid(shapes, shapes, logits))
    together = beta_slopes(a, b, logit)
    alone = [beta_slopes(a[k : k + 1], b[k : k + 1], logit[k : k + 1]) for k in range(len(a))]
    for part, each in zip(together, zip(*alone, strict=True), strict=True):
        np.testing.assert_allclose(part, np.concatenate(each), rtol=1e-12)
    mirrored = beta_slopes(b, a, -logit)  # of 1 - x the shapes change places
    h = 1e-5
    inside = (a > 1) & (b > 1) & (np.abs(logit) < 3)
    raised, lowered = beta_slopes(a + h, b, logit), beta_slopes(a - h, b, logit)
    np.testing.assert_allclose(together[1][inside], ((raised[0] - lowered[0]) / (2 * h))[inside], rtol=1e-5)
    raised, lowered = beta_slopes(a, b + h, logit), beta_slopes(a, b - h, logit)
    np.testing.assert_allclose(together[2][inside], ((raised[0] - lowered[0]) / (2 * h))[inside], rtol=1e-5)
    assert np.all(together[0] > 0)
    assert np.all(mirrored[0] > 0)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_relaxed_choices_are_softmax_of_logits_with_gumbels_noise(axis, temperature):
    logits = np.random.default_rng(1).normal(size=(3, 4))
    noise = np.random.default_rng(7).gumbel(size=(3, 4))
    powers = np.exp((logits + noise) / temperature)
    expected = powers / powers.sum(axis=axis, keepdims=True)
    found = tape.random.default_rng(7).gumbel_softmax(logits, temperature, axis)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    if temperature == 1 and axis == -1:
        np.testing.assert_array_equal(tape.random.default_rng(7).gumbel_softmax(logits), found)


@pytest.mark.parametrize("shape", [0.7, np.array([0.5, 3.0])])
def test_numbers_are_drawn_into_arrays_of_their_size(shape):
    out = np.empty(2)
    found = tape.random.default_rng(5).standard_gamma(shape, size=2, out=out)
    assert found is out
    np.testing.assert_array_equal(out, np.random.default_rng(5).standard_gamma(shape, size=2))
    with pytest.raises(ValueError, match="size"):
        tape.random.default_rng(5).standard_gamma(shape, size=3, out=out)
